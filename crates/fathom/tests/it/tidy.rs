//! Checks of the source tree itself: crate edges, `unsafe`, the register of regressions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All Rust files below `directory`, by name relative to the root, in order.
fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("directory entry").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                sources(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Crates of the workspace that `manifest` lists in `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && line.starts_with("fathom-") {
            let end = line.find(['.', ' ', '=']).unwrap_or(line.len());
            found.push(line[..end].to_owned());
        }
    }
    found.sort();
    found
}

/// The crate edges that ARCHITECTURE.md lists are those of the manifests.
#[test]
fn crate_edges_match_the_architecture_page() {
    let page = read(&root().join("ARCHITECTURE.md"));
    let list = page
        .split_once("```edges\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .expect("ARCHITECTURE.md has a block ```edges")
        .0;
    let documented: BTreeMap<String, Vec<String>> = list
        .lines()
        .map(|line| {
            let (name, uses) = line
                .split_once(':')
                .expect("a line 'crate: crates it may use'");
            let mut uses: Vec<String> = uses.split_whitespace().map(str::to_owned).collect();
            uses.sort();
            (name.to_owned(), uses)
        })
        .collect();
    let mut actual = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).expect("crates/") {
        let directory = entry.expect("directory entry");
        let manifest = read(&directory.path().join("Cargo.toml"));
        actual.insert(
            directory.file_name().into_string().expect("UTF-8"),
            dependencies(&manifest),
        );
    }
    assert_eq!(
        documented, actual,
        "left: ARCHITECTURE.md, right: the manifests"
    );
}

/// `unsafe` code is allowed in fathom-linux only.
#[test]
fn unsafe_code_is_in_one_crate() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let allowing: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| {
            let text = read(path);
            text.lines().any(|line| {
                line.starts_with("#![allow(unsafe_code") || line.starts_with("#[allow(unsafe_code")
            })
        })
        .filter(|path| {
            !path
                .components()
                .any(|part| part.as_os_str() == "fathom-linux")
        })
        .collect();
    assert_eq!(allowing, Vec::<PathBuf>::new());
}

/// Crates that never ship. They write only what a developer asks them to write.
const NEVER_SHIPPED: [&str; 3] = ["fathom-bench", "fathom-testkit", "xtask"];

/// Ways to create a file, or to open one for writing.
const WAYS_TO_WRITE: [&str; 11] = [
    "File::create",
    "fs::write(",
    "fs::copy(",
    ".write(true)",
    ".append(true)",
    ".create(true)",
    ".create_new(",
    "O_CREAT",
    "O_TMPFILE",
    "OFlags::CREATE",
    "OFlags::TMPFILE",
];

/// Where files are created or opened for writing, each with the reason why it is not an output of the user.
const WRITERS: [(&str, &str, &str); 25] = [
    (
        "fathom/src/app/streams.rs",
        ".write(true)",
        "named pipes in the private folder that it created",
    ),
    (
        "fathom/src/durable/linux.rs",
        ".write(true)",
        "the files of the power-cut test, in a directory that it created",
    ),
    (
        "fathom/src/durable/linux.rs",
        ".create_new(",
        "the files of the power-cut test replace no file",
    ),
    (
        "fathom/src/durable/linux.rs",
        ".create(true)",
        "the recorder's log; another file is refused before it is written",
    ),
    (
        "fathom/src/durable/record.rs",
        ".write(true)",
        "a new token",
    ),
    (
        "fathom/src/durable/record.rs",
        ".create_new(",
        "a token replaces no file",
    ),
    (
        "fathom-linux/src/io_max.rs",
        "fs::write(",
        "sets limits of control groups that it created",
    ),
    (
        "fathom-linux/src/witness/groups.rs",
        "fs::write(",
        "moves processes to control groups that it created",
    ),
    (
        "fathom-trace/src/session.rs",
        ".write(true)",
        "opens files of a tracefs instance that it created",
    ),
    (
        "fathom-trace/src/session.rs",
        "fs::write(",
        "sets up a tracefs instance that it created",
    ),
    (
        "fathom-linux/src/probe/owner.rs",
        "OFlags::TMPFILE",
        "reserves space in a file without a name",
    ),
    (
        "fathom-linux/src/output_file.rs",
        "OFlags::CREATE",
        "opens every output",
    ),
    (
        "fathom-linux/src/output_file.rs",
        ".write(true)",
        "opens every output",
    ),
    (
        "fathom-linux/src/output_file.rs",
        ".create_new(",
        "opens every output",
    ),
    (
        "fathom-linux/src/probe/backup.rs",
        ".write(true)",
        "the ends of a device before its first write",
    ),
    (
        "fathom-linux/src/probe/backup.rs",
        ".create_new(",
        "a backup replaces no file",
    ),
    (
        "fathom-linux/src/probe/hold.rs",
        "OFlags::CREATE",
        "a target, with a permit and O_EXCL",
    ),
    (
        "fathom-linux/src/probe/hold.rs",
        "OFlags::TMPFILE",
        "removes the flag from what engines ask for",
    ),
    (
        "fathom-linux/src/probe/owner.rs",
        "OFlags::CREATE",
        "the manifest of fathom's files in a directory",
    ),
    (
        "fathom-linux/src/engines/operation.rs",
        "OFlags::CREATE",
        "ioengine=filecreate, for checked names",
    ),
    (
        "fathom-linux/src/host/scratch.rs",
        ".write(true)",
        "data of a long run",
    ),
    (
        "fathom-linux/src/host/scratch.rs",
        "O_TMPFILE",
        "data of a long run has no name",
    ),
    (
        "fathom-linux/src/host/scratch.rs",
        ".create_new(",
        "or one that no file has, for an instant",
    ),
    (
        "fathom-linux/src/host/temporary.rs",
        "fs::write(",
        "the I/O scheduler in /sys, which is put back",
    ),
    (
        "fathom/src/logs.rs",
        "OFlags::TMPFILE",
        "a log from standard input has no name",
    ),
];

/// Lines of a file before its test module, without comments.
fn shipped_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let end = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests"))
        .unwrap_or(lines.len());
    lines
        .into_iter()
        .take(end)
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// An option that names an output accepts any path, also a block device. So every output is opened in one place, which
/// refuses devices and targets, and no other code creates files or opens them for writing, except where `WRITERS` says why.
#[test]
fn outputs_are_opened_in_one_place() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut unexpected = Vec::new();
    let mut used = [false; WRITERS.len()];
    for file in files {
        let name = file
            .strip_prefix(root().join("crates"))
            .unwrap_or(&file)
            .to_owned();
        let parts: Vec<&str> = name.iter().filter_map(|part| part.to_str()).collect();
        let is_test = parts.contains(&"tests")
            || parts.last().is_some_and(|file| file.ends_with("tests.rs"))
            || parts.last() == Some(&"build.rs")
            || parts.get(1) == Some(&"build");
        if is_test || NEVER_SHIPPED.contains(&parts[0]) {
            continue;
        }
        let text = read(&file);
        for (number, line) in shipped_lines(&text) {
            for way in WAYS_TO_WRITE.iter().filter(|way| line.contains(**way)) {
                let known = WRITERS
                    .iter()
                    .position(|(place, allowed, _)| name == Path::new(place) && allowed == way);
                match known {
                    Some(known) => used[known] = true,
                    None => unexpected.push(format!("{}:{}: {way}", name.display(), number + 1)),
                }
            }
        }
    }
    assert!(
        unexpected.is_empty(),
        "open outputs with fathom_linux::Outputs: {unexpected:#?}"
    );
    let unused: Vec<_> = WRITERS.iter().zip(used).filter(|(_, used)| !used).collect();
    assert!(unused.is_empty(), "remove from WRITERS: {unused:?}");
}

/// One mention of a regression in the tests.
struct Mention {
    text: String,
    /// Whether the comment has the form `Regression NNNN: what was wrong`.
    is_description: bool,
    test: String,
}

/// Text of a comment line without its marker.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///")
        .or_else(|| line.strip_prefix("//"))
        .map(str::trim)
}

fn function(line: &str) -> Option<&str> {
    let line = line
        .trim_start()
        .trim_start_matches("pub ")
        .trim_start_matches("async ");
    let rest = line.strip_prefix("fn ")?;
    rest.split(['(', '<']).next()
}

/// Numbers of four digits after the word "regression" or "regressions", also several: `regressions
/// 0050 and 0051`.
fn numbers(text: &str) -> Vec<u32> {
    let lower = text.to_lowercase();
    let mut found = Vec::new();
    for (at, _) in lower.match_indices("regression") {
        let rest = lower[at + "regression".len()..].trim_start_matches('s');
        for word in rest.split_whitespace() {
            let digits = word.trim_matches(|c: char| !c.is_ascii_digit());
            match digits.parse() {
                Ok(number) if digits.len() == 4 => found.push(number),
                _ if matches!(word, "and" | "to" | ",") => {}
                _ => break,
            }
        }
    }
    found
}

/// The sentence of a comment without `Regression NNNN:`.
fn described(block: &str) -> String {
    let lower = block.to_lowercase();
    let Some(at) = lower.find("regression") else {
        return block.to_owned();
    };
    let (before, after) = block.split_at(at);
    let after = after
        .split_once(':')
        .map_or("", |(head, tail)| if head.len() < 40 { tail } else { "" })
        .trim();
    let before = before.trim().trim_end_matches('(').trim();
    let text = if after.is_empty() { before } else { after };
    let mut text = text.replace('|', "\\|");
    let first_word = text.split([' ', '\'']).next().unwrap_or_default();
    let is_name = first_word.contains(['_', '+']) || ["fio", "btrfs", "lfsr"].contains(&first_word);
    if let Some(first) = text.get(..1).filter(|_| !is_name) {
        text.replace_range(..1, &first.to_uppercase());
    }
    text
}

fn mentions(file: &Path, text: &str, found: &mut BTreeMap<u32, Vec<Mention>>) {
    let lines: Vec<&str> = text.lines().collect();
    let name = file
        .strip_prefix(root())
        .unwrap_or(file)
        .display()
        .to_string();
    let mut at = 0;
    while at < lines.len() {
        let start = at;
        let mut block = String::new();
        while let Some(part) = lines.get(at).and_then(|line| comment(line)) {
            block += part;
            block.push(' ');
            at += 1;
        }
        if at == start {
            at += 1;
            continue;
        }
        let all = numbers(&block);
        if all.is_empty() {
            continue;
        }
        let is_doc = lines[start].trim_start().starts_with("///");
        let own = if is_doc {
            lines[at..].iter().find_map(|line| function(line))
        } else {
            lines[..start].iter().rev().find_map(|line| function(line))
        };
        let test = own.map_or_else(|| format!("`{name}`"), |own| format!("`{name}`: `{own}`"));
        for number in all {
            found.entry(number).or_default().push(Mention {
                text: described(block.trim()),
                is_description: block.to_lowercase().starts_with("regression"),
                test: test.clone(),
            });
        }
    }
}

/// `docs/regressions.md` lists every numbered regression with its test. `UPDATE_GOLDEN=1` writes
/// it.
#[test]
fn the_register_of_regressions_is_current() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut found = BTreeMap::new();
    for file in files {
        let text = read(&file);
        let is_test =
            file.components().any(|part| part.as_os_str() == "tests") || text.contains("#[test]");
        if is_test && !file.ends_with("tidy.rs") {
            mentions(&file, &text, &mut found);
        }
    }
    let mut page = String::from(
        "# Regressions\n\nEvery bug that was fixed has a number and a test that fails without the fix. This page is generated from the \
         comments of the tests\n(`UPDATE_GOLDEN=1 cargo test -p fathom --test it tidy`).\n\n| number | what was wrong | test |\n| --- | --- | --- |\n",
    );
    for (number, mentions) in &found {
        let text = mentions
            .iter()
            .max_by_key(|mention| (mention.is_description, mention.text.len()))
            .map(|mention| mention.text.as_str());
        let mut tests: Vec<&str> = mentions
            .iter()
            .map(|mention| mention.test.as_str())
            .collect();
        tests.dedup();
        let _ = writeln!(
            page,
            "| {number:04} | {} | {} |",
            text.unwrap_or_default(),
            tests.join(", ")
        );
    }
    let path = root().join("docs/regressions.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).expect("docs/regressions.md");
    }
    assert!(
        found.len() >= 70,
        "only {} regressions found: is the pattern still right?",
        found.len()
    );
    // Both texts are long: only the advice is printed.
    assert!(
        read(&path) == page,
        "docs/regressions.md is out of date: UPDATE_GOLDEN=1 cargo test -p fathom --test it tidy"
    );
}

/// Which machine is measured is decided in one file: no other code knows a simulated machine by name.
#[test]
fn only_the_session_knows_which_machines_there_are() {
    const NAMES: [&str; 4] = ["SimMachine", "SimHost", "LinuxMachine", "MachineFile"];
    const WIRING: [&str; 2] = ["crates/fathom/src/session.rs", "crates/fathom/src/machine/"];
    let mut files = Vec::new();
    sources(&root().join("crates/fathom/src"), &mut files);
    let mut found = Vec::new();
    for path in files {
        let name = path
            .strip_prefix(root())
            .expect("below the root")
            .to_owned();
        if WIRING.iter().any(|place| name.starts_with(place)) {
            continue;
        }
        let text = read(&path);
        for (line, number) in text.lines().zip(1..) {
            if NAMES.iter().any(|forbidden| line.contains(forbidden)) {
                found.push(format!("{}:{number}", name.display()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}
