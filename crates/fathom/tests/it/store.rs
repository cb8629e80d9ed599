//! Stored results: when and where they are stored, and the commands for them.

use crate::common;
use std::path::Path;

use crate::common::{Completed, fathom, program, start, wait_until};
use fathom_testkit::Scratch;
use rustix::process::Signal;
use serde_json::Value;

/// A directory with a target, and a store of its own.
struct Fixture(Scratch);

impl Fixture {
    fn new() -> Fixture {
        let scratch = Scratch::new().expect("a directory");
        std::fs::write(scratch.join("target"), vec![7; 1 << 20]).expect("a file");
        std::fs::write(
            scratch.join("job.fio"),
            "[reads]\nrw=randread\nbs=4k\nfilename=target\nnumber_ios=64\n",
        )
        .expect("a job file");
        Fixture(scratch)
    }

    fn run(&self, line: &str) -> Completed {
        self.run_with(line, &[("FATHOM_STORE", &self.0.join("store.db"))])
    }

    fn run_with(&self, line: &str, variables: &[(&str, &Path)]) -> Completed {
        let mut command = program(line.split_whitespace());
        command
            .current_dir(self.0.path())
            .env_remove("FATHOM_STORE");
        variables.iter().for_each(|(name, value)| {
            command.env(name, value);
        });
        start(command).finish()
    }
}

/// Whether the run printed a result.
fn has_result(ran: &Completed) -> bool {
    ran.code() == 0 && !ran.out.is_empty()
}

fn json(ran: &Completed) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out))
}

#[test]
fn show_prints_the_original_result() {
    let fixture = Fixture::new();
    let text = fixture.run("run job.fio");
    assert!(has_result(&text));
    assert_eq!(
        text.err, "fathom run: stored as r1: fathom show r1\n",
        "{}",
        text.out
    );
    let document = fixture.run("run --output-format=json job.fio");
    assert_eq!(fixture.run("show r1").out, text.out);
    assert_eq!(fixture.run("show latest --json").out, document.out);
    assert_eq!(fixture.run("show r2.1 --json").out, document.out);
    assert!(fixture.run("show 1 --plan").out.contains("--rw=randread"));
    let list = json(&fixture.run("runs --json"));
    let of = |run: usize, name: &str| list["runs"][run][name].clone();
    assert_eq!(
        (of(0, "run"), of(0, "kind"), of(0, "name"), of(0, "state")),
        (
            "r1".into(),
            "run".into(),
            "job.fio".into(),
            "finished".into()
        )
    );
    assert_eq!(of(1, "facts")["fathom"], env!("CARGO_PKG_VERSION"));
    let lines = fixture.run("runs job.fio --newest=1").out;
    assert!(
        lines.lines().count() == 2 && lines.contains("\nr2 "),
        "{lines}"
    );
    assert!(
        fixture
            .run("runs nothing-like-it")
            .out
            .starts_with("No stored run matches.")
    );
}

/// What a person wrote is kept, and what fathom knows is added.
#[test]
fn runs_are_found_by_their_labels() {
    let fixture = Fixture::new();
    assert!(has_result(
        &fixture.run("run job.fio --label=project=apollo --label host=mine")
    ));
    assert!(has_result(&fixture.run("run job.fio")));
    let found = json(&fixture.run("runs --label project=apollo --json"));
    assert_eq!(found["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["runs"][0]["run"], "r1");
    assert_eq!(found["runs"][0]["labels"]["host"], "mine");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
    assert_eq!(found["runs"][0]["labels"]["kernel"], kernel.trim());
    let set = fixture.run("store label r2 ticket=OPS-1 kernel=");
    assert!(
        set.out.contains("ticket=OPS-1\n") && !set.out.contains("kernel"),
        "{}{}",
        set.out,
        set.err
    );
    let lines = fixture.run("runs --label ticket=OPS-1").out;
    assert!(
        lines.lines().count() == 2 && lines.contains("\nr2 "),
        "{lines}"
    );
    for wrong in [
        "store label r2 x",
        "store label r2 a'b=c",
        "store label r3 a=b",
    ] {
        assert_eq!(fixture.run(wrong).code(), 2, "{wrong}");
    }
    assert_eq!(fixture.run("run job.fio --label=project").code(), 2);
}

/// Regression 0403: `export -o x.xlsx` wrote CSV under that name.
#[test]
fn an_unknown_extension_is_refused_by_export() {
    let scratch = Scratch::new().expect("a directory");
    let file = scratch.join("x.xlsx");
    let refused = fathom(["export", "latest", "-o", &file.display().to_string()]).expect(2);
    assert!(
        refused.err.contains("unknown extension 'xlsx'") && refused.err.contains(".parquet"),
        "{}",
        refused.err
    );
    assert!(!file.exists());
}

#[test]
fn figures_are_exported() {
    let fixture = Fixture::new();
    let result = json(&fixture.run("run --output-format=json job.fio"));
    let csv = fixture.run("export r1").out;
    let (header, row) = csv.split_once("\r\n").expect("two lines");
    let column = header
        .split(',')
        .position(|name| name == "read iops")
        .expect("it read");
    let iops: f64 = row
        .split(',')
        .nth(column)
        .and_then(|text| text.parse().ok())
        .expect("a number");
    let reported = result["jobs"][0]["read"]["iops"]
        .as_f64()
        .expect("a number");
    assert!((iops - reported).abs() < 1e-3, "{iops} {reported}");
    assert_eq!(fixture.run("export r1 --format json -o out.json").code(), 0);
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(fixture.0.join("out.json")).expect("a file"))
            .expect("JSON");
    assert_eq!(
        document["runs"][0]["cells"][0]["figures"]["read iops"].as_f64(),
        Some(iops)
    );
    assert_eq!(
        fixture.run("export r1 -o out.parquet").code(),
        0,
        "the format is that of the name"
    );
    let parquet = std::fs::read(fixture.0.join("out.parquet")).expect("a file");
    // An uncompressed value is stored as the same double, little-endian.
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    assert!(
        parquet
            .windows(8)
            .any(|window| window == iops.to_le_bytes()),
        "it contains {iops}"
    );
    assert_eq!(fixture.run("export r1 --format=xls").code(), 2);
    assert_eq!(fixture.run("export").code(), 2);
}

#[test]
fn fio_and_no_store_leave_no_store() {
    let fixture = Fixture::new();
    let data = fixture.0.join("data");
    let home: [(&str, &Path); 2] = [("XDG_DATA_HOME", &data), ("HOME", &data)];
    let as_fio = fixture.run_with("fio job.fio", &home);
    assert_eq!((as_fio.code(), as_fio.err.as_str()), (0, ""));
    assert_eq!(fixture.run_with("run --no-store job.fio", &home).err, "");
    assert_eq!(fixture.run_with("run --parse-only job.fio", &home).err, "");
    assert_eq!(fixture.run_with("run --explain job.fio", &home).err, "");
    assert!(!data.exists());
    assert_eq!(
        fixture.run_with("fio --store=x job.fio", &home).code(),
        1,
        "fio has no such option"
    );
    let none = fixture.run_with("runs", &home);
    assert!(
        none.code() == 2 && none.err.contains("fathom/store.db yet"),
        "{}",
        none.err
    );
    assert!(!data.exists());
}

#[test]
fn the_store_is_in_the_data_directory_by_default() {
    let fixture = Fixture::new();
    let (data, home) = (fixture.0.join("data"), fixture.0.join("home"));
    assert!(has_result(&fixture.run_with(
        "run job.fio",
        &[("XDG_DATA_HOME", &data), ("HOME", &home)]
    )));
    assert!(data.join("fathom/store.db").exists() && !home.exists());
    assert!(has_result(&fixture.run_with(
        "run job.fio",
        &[("XDG_DATA_HOME", Path::new("relative")), ("HOME", &home)]
    )));
    assert!(home.join(".local/share/fathom/store.db").exists());
    assert!(has_result(&fixture.run_with(
        "run --store mine.db job.fio",
        &[("FATHOM_STORE", Path::new("none"))]
    )));
    assert!(fixture.run("runs --store=mine.db").out.contains("r1 "));
}

#[test]
fn an_unwritable_store_is_reported_in_one_line_and_the_run_succeeds() {
    let fixture = Fixture::new();
    std::fs::write(fixture.0.join("damaged.db"), vec![b'x'; 8192]).expect("a file");
    std::fs::create_dir(fixture.0.join("folder.db")).expect("a directory");
    for path in [
        "damaged.db",
        "folder.db",
        "job.fio/under/a/file.db",
        "/proc/store.db",
    ] {
        let ran = fixture.run(&format!("run --store={path} job.fio"));
        let plain = fixture.run("run --no-store job.fio");
        assert!(
            has_result(&ran) && has_result(&plain),
            "{path}: {}",
            ran.err
        );
        assert_eq!(ran.err.lines().count(), 1, "{path}: {}", ran.err);
        assert!(
            ran.err
                .starts_with("fathom run: the result is not stored: ")
                && ran.err.contains(path),
            "{path}: {}",
            ran.err
        );
        assert!(ran.out.contains("Verdict"), "{}", ran.out);
    }
    assert_eq!(
        std::fs::read(fixture.0.join("damaged.db")).expect("it exists"),
        vec![b'x'; 8192],
        "unchanged"
    );
    let nowhere = fixture.run_with("run job.fio", &[("HOME", Path::new(""))]);
    assert!(
        has_result(&nowhere) && nowhere.err.contains("--no-store"),
        "{}",
        nowhere.err
    );
}

/// The number of I/Os in the journal of the only cell.
fn journalled(path: &Path) -> u64 {
    let mut store = fathom_store::Store::open_existing(path).expect("a store");
    let run = store.run("r1").expect("it was started").id;
    let jobs = store.journal(run, 1).expect("readable");
    jobs.iter()
        .flatten()
        .map(|interval| interval.directions.0[0].ios)
        .sum()
}

#[test]
fn a_killed_run_shows_its_journalled_part() {
    let fixture = Fixture::new();
    let path = fixture.0.join("store.db");
    let mut command = program("run --name=long --rw=randread --bs=4k --filename=target --rate_iops=200 --time_based --runtime=60".split(' '));
    command
        .current_dir(fixture.0.path())
        .env("FATHOM_STORE", &path);
    let running = start(command);
    wait_until("its cell is stored", || {
        fixture.run("show").err.contains("is being measured now")
    });
    assert!(fixture.run("runs").out.contains("running"));
    assert_eq!(fixture.run("rm r1 --yes").code(), 2, "it is running");
    wait_until("two seconds are stored", || journalled(&path) > 200);
    let before = journalled(&path);
    running.signal(Signal::KILL);
    drop(running);
    assert!(
        fixture.run("runs").out.contains("killed"),
        "{}",
        fixture.run("runs").out
    );
    let document = json(&fixture.run("show --json"));
    let read = &document["jobs"][0]["read"];
    let (ios, iops) = (
        read["total_ios"].as_u64().expect("a count"),
        read["iops"].as_f64().expect("a rate"),
    );
    assert!(ios >= before && ios == journalled(&path), "{ios}, {before}");
    assert!(iops > 0.0, "{iops}");
    assert!(fixture.run("show").out.contains("killed"));
    assert_eq!(fixture.run("rm r1 --yes").code(), 0);
}

#[test]
fn a_run_that_cannot_start_is_not_stored() {
    let fixture = Fixture::new();
    assert!(has_result(&fixture.run("run job.fio")));
    assert_ne!(
        fixture
            .run("run --name=a --rw=read --filename=target/under/a/file --size=1m")
            .code(),
        0
    );
    assert_eq!(
        json(&fixture.run("runs --json"))["runs"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[test]
fn runs_are_removed_only_when_confirmed() {
    let fixture = Fixture::new();
    (0..2).for_each(|_| drop(fixture.run("run job.fio")));
    let unconfirmed = fixture.run("rm r1");
    assert!(
        unconfirmed.code() == 2 && unconfirmed.err.contains("--yes"),
        "{}",
        unconfirmed.err
    );
    assert_eq!(
        fixture.run("rm r1 r7 --yes").code(),
        2,
        "one of them does not exist"
    );
    assert!(fixture.run("runs").out.contains("r1 "));
    assert_eq!(fixture.run("rm r1 --yes").out, "Removed r1.\n");
    assert!(!fixture.run("runs").out.contains("r1 "));
    assert_eq!(fixture.run("show r1").code(), 2);
    assert_eq!(
        fixture.run("run job.fio").err,
        "fathom run: stored as r3: fathom show r3\n"
    );
}

/// On a terminal the prompt names the run, and only yes removes it.
#[test]
fn runs_are_removed_after_a_prompt() {
    let fixture = Fixture::new();
    if std::process::Command::new("script")
        .arg("--version")
        .output()
        .is_err()
    {
        return fathom_testkit::skip("script of util-linux is not installed");
    }
    drop(fixture.run("run job.fio"));
    for (answer, expected, remains) in [
        ("no", "Nothing was removed.", true),
        ("y", "Removed r1.", false),
    ] {
        let mut command = std::process::Command::new("sh");
        let line = format!(
            "(echo {answer}; sleep 1) | script -qec '{} rm r1' /dev/null",
            common::FATHOM
        );
        command
            .args(["-c", &line])
            .current_dir(fixture.0.path())
            .env("FATHOM_STORE", fixture.0.join("store.db"));
        let ran = start(command).finish();
        assert!(
            ran.out.contains("Remove r1 (run job.fio, cells: 1)? [y/N]")
                && ran.out.contains(expected),
            "{}",
            ran.out
        );
        assert_eq!(fixture.run("runs").out.contains("r1 "), remains);
    }
}

/// Regression 0279: a run that was started by another host, in a store that was moved, could never
/// be removed.
#[test]
fn a_run_of_another_host_is_removed_with_force() {
    let fixture = Fixture::new();
    let mut store = fathom_store::Store::open(&fixture.0.join("store.db")).expect("a store");
    let owner = "another-host boot 1 2".to_owned();
    store
        .begin(&fathom_store::Experiment {
            kind: "sweep".into(),
            owner,
            ..Default::default()
        })
        .expect("space");
    drop(store);
    let refused = fixture.run("rm r1");
    assert!(
        refused.code() == 2 && refused.err.contains("started on another-host"),
        "{}",
        refused.err
    );
    assert_eq!(fixture.run("rm r1 --yes").out, "Removed r1.\n");
}
