//! The documentation: every link points to an existing file, and fathom accepts every command line
//! shown.

use std::fs;
use std::path::{Path, PathBuf};

use fathom_model::Personality;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a directory whose names end in this extension.
fn find_files(directory: &Path, extension: &str, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("directory entry").path();
        if path.is_dir() {
            find_files(&path, extension, into);
        } else if path.extension().is_some_and(|found| found == extension) {
            into.push(path);
        }
    }
}

/// All pages: those of the book and those at the root.
fn all_pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    find_files(&root().join("docs"), "md", &mut found);
    for entry in fs::read_dir(root()).expect("the root") {
        let path = entry.expect("directory entry").path();
        if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    for name in ["jobs/README.md", "specs/README.md", "fuzz/README.md"] {
        found.push(root().join(name));
    }
    found.sort();
    found
}

/// Targets of Markdown links outside of code blocks.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            if let Some(target) = line[at + 2..].split(')').next() {
                found.push(target.to_owned());
            }
        }
    }
    found
}

#[test]
fn every_link_points_to_a_file() {
    let mut broken = Vec::new();
    let mut seen = 0;
    for page in all_pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for link in links(&text) {
            if link.starts_with("http") || link.starts_with('#') || link.starts_with('<') {
                continue;
            }
            seen += 1;
            let file = link.split('#').next().unwrap_or_default();
            if !page.parent().expect("a directory").join(file).exists() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(seen >= 40, "only {seen} links found");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let book = root().join("docs");
    let summary = links(&fs::read_to_string(book.join("SUMMARY.md")).expect("SUMMARY.md"));
    let mut found = Vec::new();
    find_files(&book, "md", &mut found);
    for page in found {
        let name = page
            .strip_prefix(&book)
            .expect("below docs")
            .display()
            .to_string();
        assert!(
            name == "SUMMARY.md" || summary.contains(&name),
            "SUMMARY.md does not list {name}"
        );
    }
}

/// `text` with this number in place of each part from `open` to `close`.
fn replace_enclosed(text: &str, (open, close): (&str, char), number: char) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let (_, end) = after.split_once(close).unwrap_or((after, ""));
        done += before;
        done.push(number);
        rest = end;
    }
    done + rest
}

/// Words of a simple shell command: single and double quotes, and commands whose output is a number.
fn shell_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The fathom command lines of a page: the arguments after `fathom`.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut in_console = false;
    for line in text.lines() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            in_console = kind == "console";
            continue;
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| in_console) else {
            continue;
        };
        let command = command.split("  #").next().unwrap_or_default();
        for part in command.split([';', '|']) {
            let words = shell_words(&replace_enclosed(part, ("$(", ')'), '1'));
            let start = match words
                .iter()
                .position(|word| word == "fathom" || word == "--")
            {
                Some(at)
                    if words[at] == "fathom" && words[..at].iter().all(|word| word == "do") =>
                {
                    at + 1
                }
                Some(at) if words.starts_with(&["cargo".to_owned(), "run".to_owned()]) => at + 1,
                _ => continue,
            };
            let end = words
                .iter()
                .position(|word| word == ">")
                .unwrap_or(words.len());
            found.push(words[start..end].to_vec());
        }
    }
    found
}

/// Why fathom does not accept these arguments.
fn refusal(line: &[String]) -> Option<String> {
    let (first, rest) = line.split_first().expect("a command");
    match first.as_str() {
        "run" => fathom_plan::parse_args(rest, Personality::Fathom)
            .err()
            .map(|all| format!("{all:?}")),
        "fio" => fathom_plan::parse_args(rest, Personality::Fio)
            .err()
            .map(|all| format!("{all:?}")),
        _ => fathom_cli::program()
            .try_get_matches_from(std::iter::once("fathom").chain(line.iter().map(String::as_str)))
            .err()
            .map(|error| error.to_string()),
    }
}

#[test]
fn every_command_line_shown_is_accepted() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in all_pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for line in command_lines(&text) {
            seen += 1;
            let problem = refusal(&line);
            wrong.extend(
                problem.map(|problem| format!("{}: {}: {problem}", page.display(), line.join(" "))),
            );
        }
    }
    assert!(seen >= 30, "only {seen} command lines found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The commands between backquotes, without `fathom`.
fn quoted_commands(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("`fathom ").skip(1);
    parts.filter_map(|part| part.split_once('`').map(|(command, _)| command))
}

/// Messages name commands and options, and some write a whole command line. What stands for a value is an argument as well, and what is
/// missing is for the reader to add; everything else must be there as it is named.
#[test]
fn commands_in_messages_are_accepted() {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("crates") {
        let directory = entry.expect("directory entry").path().join("src");
        if directory.is_dir() {
            find_files(&directory, "rs", &mut files);
        }
    }
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file");
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let code: Vec<&str> = code.collect();
        for command in quoted_commands(&code.join("\n")) {
            // A string of two lines.
            let command = command.replace("\\\n", " ");
            let is_cut_short = command.contains("...");
            if is_cut_short || command.contains(" > ") || command.starts_with("--") {
                continue;
            }
            seen += 1;
            let words = shell_words(&replace_enclosed(&command, ("{", '}'), '4'));
            let is_missing = |problem: &String| {
                let values = [
                    "required arguments were not",
                    "a value is required",
                    "needs a value",
                ];
                let is_name =
                    |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
                let placeholder = problem.split_once("invalid value '");
                let placeholder = placeholder.and_then(|(_, rest)| rest.split('\'').next());
                values.iter().any(|one| problem.contains(one))
                    || placeholder.as_ref().is_some_and(is_name)
            };
            let problem = refusal(&words).filter(|problem| !is_missing(problem));
            wrong.extend(problem.map(|why| format!("{}: {command}: {why}", file.display())));
        }
    }
    assert!(seen >= 100, "only {seen} commands found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The commands that a program printed, as far as they are whole: without a placeholder, and without something that the reader adds.
fn printed_commands(text: &str) -> Vec<Vec<String>> {
    let ends = text.lines().filter_map(|line| line.split_once(": fathom "));
    let ends = ends.map(|(_, command)| command);
    let all = quoted_commands(text).chain(ends).map(shell_words);
    let is_placeholder = |word: &String| {
        let letters = word.trim_start_matches('-');
        letters.len() > 1 && letters.chars().all(|c| c.is_ascii_uppercase())
    };
    let mut found: Vec<Vec<String>> = all
        .filter(|words| !words.iter().any(is_placeholder) && refusal(words).is_none())
        .collect();
    found.sort();
    found.dedup();
    found
}

/// What commands print as the next command runs as it is printed, in the directory and with the store of the command that printed it.
#[test]
fn printed_commands_run_as_printed() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    let run = |words: &[String]| {
        let mut command = crate::common::program(words);
        command
            .current_dir(scratch.path())
            .env("FATHOM_STORE", scratch.join("store.db"));
        crate::common::start(command).finish()
    };
    let machine = "--machine=servers(count=4,service=1ms)";
    let reads = "--name=x --filename=f --size=1m --rw=randread --bs=4k --ioengine=libaio --direct=1 --time_based --runtime=2";
    let first = [
        format!("run {reads} --iodepth=4 {machine}"),
        format!("run {reads} --iodepth=64 {machine}"),
        format!("run {reads} --iodepth=4 --rate_iops=100 {machine}"),
        format!("fio {reads} {machine}"),
        format!("sweep . --axis iodepth=1,4,16 --set rw=randread --runtime=1 {machine}"),
        format!("search . --slo p99<=1ms {machine}"),
        format!("limits . {machine}"),
        format!("quick . {machine}"),
        format!("fsync . {machine}"),
        format!("ready etcd . {machine}"),
        "runs".to_owned(),
        "compare r1 r2".to_owned(),
        "show r1".to_owned(),
        "check r1".to_owned(),
        "explain r1".to_owned(),
        "suite".to_owned(),
        "ready".to_owned(),
        "devices".to_owned(),
        "spec".to_owned(),
        "size --load=2000iops,70/30,8k,random".to_owned(),
        "show r99".to_owned(),
        "devices /dev/none".to_owned(),
        "explain NOTHING".to_owned(),
        "ready nothing .".to_owned(),
        "suite nothing .".to_owned(),
        "resume r99".to_owned(),
    ];
    let mut printed = Vec::new();
    for line in &first {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let ran = run(&words);
        printed.extend(printed_commands(&ran.out));
        printed.extend(printed_commands(&ran.err));
    }
    printed.sort();
    printed.dedup();
    assert!(printed.len() >= 8, "{printed:#?}");
    for words in printed {
        let ran = run(&words);
        assert_eq!(ran.code(), 0, "{words:?}: {}", ran.err);
    }
}

/// Regression 1464: of the first six commands that the page of simulated machines shows, two failed. Each of them runs as it is shown, from
/// the root of the repository.
#[test]
fn commands_of_the_page_of_simulated_machines_run_as_shown() {
    let text = fs::read_to_string(root().join("docs/simulate.md")).expect("the page");
    let (before, _) = text
        .split_once("## A model as a machine")
        .expect("a heading");
    let lines = command_lines(before);
    assert!(lines.len() >= 6, "{lines:?}");
    let store = fathom_testkit::Scratch::new().expect("a directory");
    for line in lines {
        let mut command = crate::common::program(&line);
        command
            .current_dir(root())
            .env("FATHOM_STORE", store.join("store.db"));
        let ran = crate::common::start(command).finish();
        assert_eq!(ran.code(), 0, "{line:?}: {}", ran.err);
    }
}
