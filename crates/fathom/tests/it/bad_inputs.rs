//! Bad inputs: the program's exact answer to each, and a check that it leaves no files behind. The
//! tables are in `bad_inputs/`.
//!
//! A case is `=== title`, an optional line `$ arguments` (split at spaces; without it, `run
//! job.fio`), the text of `job.fio` if there is any, then `--- exit code` and the output.
//! `FATHOM_BLESS=1` rewrites the answers; review the diff.

use crate::common;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::common::{FATHOM, program, start};
use fathom_testkit::{Need, Scratch, all_met};

/// A refusal is immediate.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Marks a changed file in an answer; no answer may contain it.
const CHANGED: &str = "THIS WROTE ";

struct Case {
    title: String,
    input: String,
    answer: String,
}

fn cases(table: &str) -> Vec<Case> {
    let of = |block: &str| {
        let (title, rest) = block
            .split_once('\n')
            .expect("a title has a line of its own");
        let (input, answer) = rest.split_once("--- ").unwrap_or((rest, ""));
        Case {
            title: title.into(),
            input: input.into(),
            answer: answer.into(),
        }
    };
    table.split("=== ").skip(1).map(of).collect()
}

/// Creates the files that every case finds in its directory.
fn create_files(directory: &Path) {
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(directory.join(name), bytes).expect("written");
    std::fs::create_dir(directory.join("folder")).expect("created");
    common::sh(&format!("mkfifo '{}/pipe'", directory.display()));
    write("empty.fio", b"");
    write("comments.fio", b"# only\n; comments\n\n");
    write(
        "binary.fio",
        &(0..=255_u8)
            .cycle()
            .skip(128)
            .take(4096)
            .collect::<Vec<_>>(),
    );
    write("nul.fio", b"[a]\nsize=1m\nrw=re\0ad\n");
    write("latin.fio", b"[a]\nsize=1m\nfilename=caf\xe9\n");
    write("utf16.fio", b"\xff\xfe[\0a\0]\0\n\0s\0i\0z\0e\0=\x001\0m\0");
    write(
        "long.fio",
        format!("[a]\nsize={}\n", "1".repeat(1 << 20)).as_bytes(),
    );
    write(
        "longer.fio",
        format!("[a]\n{}=1\n", "x".repeat(1 << 20)).as_bytes(),
    );
    for included in ["loop", "ping", "deep0"] {
        write(
            &format!("{included}.fio"),
            format!("[a]\ninclude {included}.inc\n").as_bytes(),
        );
    }
    write("loop.inc", b"include loop.inc\n");
    write("ping.inc", b"include pong.inc\n");
    write("pong.inc", b"include ping.inc\n");
    for depth in 0..64 {
        write(
            &format!("deep{depth}.inc"),
            format!("include deep{}.inc\n", depth + 1).as_bytes(),
        );
    }
    write("deep64.inc", b"size=1m\n");
    write(
        "good.fio",
        b"[reader]\nrw=read\nsize=1m\nfilename=x\n[writer]\nrw=write\nsize=1m\nfilename=x\n",
    );
    write("foreign.txt", "someone's letters\n".repeat(4096).as_bytes());
    write("tiny.txt", b"tiny");
}

/// Names and contents.
type Listing = BTreeMap<String, Option<Vec<u8>>>;

fn listing(directory: &Path) -> Listing {
    let entries = std::fs::read_dir(directory)
        .expect("readable")
        .map(|entry| entry.expect("readable").path());
    let content = |path: &Path| {
        if path.is_file() {
            std::fs::read(path).ok()
        } else {
            None
        }
    };
    entries
        .map(|path| {
            (
                path.file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned(),
                content(&path),
            )
        })
        .collect()
}

/// `code`, then the standard error, then the standard output.
fn answer(case: &Case) -> String {
    let scratch = Scratch::new().expect("a directory on a disk");
    create_files(scratch.path());
    let (arguments, job) = match case.input.strip_prefix("$ ") {
        Some(rest) => rest.split_once('\n').unwrap_or((rest, "")),
        None => ("run job.fio", case.input.as_str()),
    };
    if !job.is_empty() {
        std::fs::write(scratch.join("job.fio"), job).expect("written");
    }
    let before = listing(scratch.path());
    let mut command = program(arguments.split_whitespace());
    command.current_dir(scratch.path());
    let ran = start(command).finish_within(TIMEOUT);
    let message = masked(
        format!("{}{}", ran.err, ran.out).replace(&scratch.path().display().to_string(), "@"),
    );
    format!(
        "{}\n{message}{}",
        ran.code(),
        changes(&before, &listing(scratch.path()))
    )
}

/// Masks the parts that differ between machines or directories.
fn masked(mut text: String) -> String {
    let parts = [
        ("inode ", ","),
        ("--destroy=", "\n"),
        ("but this process can use ", " MiB"),
        ("has CPUs ", ")"),
        ("more, but ", " are free"),
        ("at most ", " more"),
        ("more, free ", " there"),
    ];
    for (from, to) in parts {
        let Some((before, rest)) = text.split_once(from) else {
            continue;
        };
        if let Some(end) = rest.find(to) {
            text = format!("{before}{from}...{}", &rest[end..]);
        }
    }
    text
}

/// A line about files that a refusal changed; empty if there are none.
fn changes(before: &Listing, after: &Listing) -> String {
    let changed = after
        .iter()
        .filter(|(name, content)| before.get(*name) != Some(content))
        .map(|(name, _)| name.as_str());
    let gone = before
        .keys()
        .filter(|name| !after.contains_key(*name))
        .map(String::as_str);
    let all: Vec<_> = changed.chain(gone).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!("{CHANGED}{all:?}\n")
    }
}

fn check(name: &str) -> usize {
    let path = format!("{}/tests/bad_inputs/{name}", env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(&path).expect("the table can be read");
    let (head, _) = table.split_once("=== ").expect("a case");
    let cases = cases(&table);
    assert!(!table.contains("panicked"), "{name} keeps a panic");
    if std::env::var_os("FATHOM_BLESS").is_some() {
        let render =
            |case: &Case| format!("=== {}\n{}--- {}", case.title, case.input, answer(case));
        std::fs::write(
            &path,
            head.to_owned() + &cases.iter().map(render).collect::<String>(),
        )
        .expect("written");
        return cases.len();
    }
    let wrong = |case: &Case| {
        let now = answer(case);
        (now != case.answer || now.contains(CHANGED))
            .then(|| format!("=== {}\n--- was {}--- is {now}", case.title, case.answer))
    };
    let wrong: Vec<_> = cases.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{name}\n{}", wrong.join("\n"));
    cases.len()
}

#[test]
fn bad_inputs_are_refused_with_a_message_and_leave_no_files() {
    let tables = [
        "command_line.txt",
        "job_files.txt",
        "values.txt",
        "targets.txt",
        "size.txt",
    ];
    let count: usize = tables.into_iter().map(check).sum();
    assert!(count >= 100, "{count} cases");
}

/// Paths that the user may not read or write are refused with their name and the reason.
#[test]
fn unreadable_and_unwritable_paths_are_reported() {
    if !all_met(&[Need::Root]) {
        return;
    }
    let scratch = Scratch::new().expect("a directory on a disk");
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
    };
    open(scratch.path(), 0o755);
    let locked = scratch.join("locked");
    std::fs::write(&locked, "[a]\nsize=1m\n").expect("written");
    open(&locked, 0o600);
    let copy = scratch.join("fathom");
    std::fs::copy(FATHOM, &copy).expect("a copy that anyone may run");
    let as_nobody = |arguments: &str| {
        let mut command = std::process::Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&copy);
        command
            .args(arguments.split_whitespace())
            .current_dir(scratch.path());
        start(command).finish_within(TIMEOUT).expect(2).err
    };
    let denied = "Permission denied";
    for (arguments, named) in [
        ("run locked", "locked"),
        ("run --name=a --size=1m --filename=locked", "locked"),
        ("run --name=a --size=1m --rw=write --filename=new", "new"),
        ("run --name=a --size=1m --ioengine=null --output=out", "out"),
    ] {
        let message = as_nobody(arguments);
        assert!(
            message.contains(named) && message.contains(denied),
            "{arguments}: {message}"
        );
    }
}

/// Regression 0009: a file name in Latin-1 was written under another name, with U+FFFD in it.
#[test]
fn non_utf8_arguments_are_refused() {
    let scratch = Scratch::new().expect("a directory on a disk");
    let mut command = program(["run", "--name=a", "--size=4k", "--rw=write"]);
    command
        .arg(OsStr::from_bytes(b"--filename=caf\xe9"))
        .current_dir(scratch.path());
    let ran = start(command).finish_within(TIMEOUT).expect(2);
    assert!(ran.err.contains("is not valid UTF-8"), "{}", ran.err);
    assert!(listing(scratch.path()).is_empty());
}

/// Regression 0315: names and messages with control characters or bidirectional overrides reached the terminal.
#[test]
fn messages_and_reports_have_no_invisible_characters() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    let evil = "a\u{1b}[2J\u{202e}b\u{9b}c\rd";
    let job = format!("[{evil}]\nioengine=null\nsize=1m\n");
    std::fs::write(scratch.join("job.fio"), &job).expect("a job file");
    let store = format!("--store={}", scratch.join("store.db").display());
    let here = |arguments: &[&str]| {
        let mut command = common::program(arguments);
        command.current_dir(scratch.path());
        common::start(command).finish()
    };
    let mut shown = Vec::new();
    for arguments in [
        &["run", "job.fio", store.as_str()][..],
        &["run", "--explain", "job.fio"],
        &["runs", &store],
        &["show", &store],
        &["show", evil, &store],
        &["run", evil],
        &["run", "--name=x", &format!("--{evil}=1")],
        &[
            "run",
            "--name=x",
            "--rw=read",
            "--size=1m",
            &format!("--filename={}/{evil}", scratch.path().display()),
        ],
        &["fio", "--name=x", &format!("--ioengine={evil}")],
        &["devices", evil],
        &["quick", evil],
        &["limits", evil],
        &["sweep", evil],
        &["sweep", "job.fio", &format!("--axis={evil}=1,2")],
        &["compare", evil, evil],
        &["check", evil],
        &["import", evil],
        &["plot", evil],
        &["fit", evil],
        &["profile", evil],
        &["fidelity", evil, evil],
        &["report", evil],
        &["spec", evil],
        &["spec", &format!("--sheet={evil}")],
        &["explain", evil],
        &["export", evil, &store],
        &["rm", evil, &store],
        &["help", evil],
        &[evil],
    ] {
        let ran = here(arguments);
        let text = format!("{}{}", ran.out, ran.err);
        for c in ['\u{1b}', '\u{202e}', '\u{9b}', '\r'] {
            assert!(
                !text.contains(c),
                "{c:?} in the output of {arguments:?}: {text:?}"
            );
        }
        shown.push(text);
    }
    assert!(
        shown.iter().any(|text| text.contains("\\u{202e}")),
        "escaped"
    );
    let csv = here(&["export", "latest", "--format=csv", &store]);
    assert!(
        !csv.out
            .replace("\r\n", "\n")
            .contains(['\u{1b}', '\u{202e}', '\u{9b}', '\r']),
        "{:?}",
        csv.out
    );
}

/// Regression 0316: a name that a spreadsheet takes for a formula was exported as it is.
#[test]
fn names_in_csv_are_no_formulas() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    let store = format!("--store={}", scratch.join("store.db").display());
    for name in ["=HYPERLINK(1)", "@SUM(1)"] {
        let job = "[x]\nioengine=null\nsize=1m\n";
        let file = format!("{name}.fio");
        std::fs::write(scratch.join(&file), job).expect("a job file");
        let mut command = common::program(["run", &file, store.as_str()]);
        command.current_dir(scratch.path());
        common::start(command).finish().expect(0);
        let csv = common::fathom(["export", "latest", "--format=csv", store.as_str()])
            .expect(0)
            .out;
        assert!(csv.contains(&format!(",'{name}")), "{csv}");
    }
}

/// Regression 0317: `spec --sheet=nonsense` listed all sheets.
#[test]
fn an_unknown_data_sheet_is_an_error() {
    for arguments in [
        &["spec", "--sheet=nonsense"][..],
        &["spec", "--sheet=nonsense", "/tmp"],
    ] {
        let ran = common::fathom(arguments).expect(2);
        assert!(
            ran.err.contains("unknown data sheet 'nonsense'"),
            "{}",
            ran.err
        );
        assert_eq!(ran.out, "");
    }
    let all = common::fathom(["spec"]).expect(0).out;
    let first = all.split_whitespace().next().expect("a sheet").to_owned();
    let one = common::fathom(["spec", &format!("--sheet={first}")])
        .expect(0)
        .out;
    assert_eq!(one.lines().count(), 1, "{one}");
    assert!(one.starts_with(&first));
}
