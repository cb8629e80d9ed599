//! Every command and option that a text of the program names exists: texts of findings, messages, help, documents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fathom_cli::{command, commands};
use fathom_model::Personality;
use fathom_plan::{find, help_text, options};

/// Commands whose options a text may name without the command, by the beginning of the path of its source. The longest
/// beginning counts. A text of any other source names the command: its reader may have used any.
const SOURCES: &[(&str, &[&str])] = &[
    ("fathom-analyse/src/charts/", &["plot"]),
    ("fathom-cli/src/common.rs", &["sweep", "search", "suite"]),
    ("fathom-device/src/describe.rs", RUNNERS),
    // Other commands have only --destroy; their refusals do not name --destroy-all-in.
    ("fathom-device/src/refusal.rs", RUNNERS),
    ("fathom-device/src/devices/", &["devices"]),
    ("fathom-serve/src/pages/compare.rs", &["compare"]),
    ("fathom-device/src/spec/conditions.rs", &["run"]),
    ("fathom-experiment/src/suite/", &["suite"]),
    ("fathom-experiment/src/sweep/", &["sweep"]),
    ("fathom-import/src/error.rs", &["run"]),
    ("fathom-import/src/fio_plot.rs", &["plot"]),
    (
        "fathom-live/src/",
        &["run", "quick", "sweep", "search", "suite", "resume"],
    ),
    ("fathom-model/src/commits.rs", &["fsync"]),
    ("fathom-plan/src/", RUNNERS),
    ("fathom-plan/src/command/client.rs", &["fio"]),
    ("fathom-plan/src/command/parse.rs", &["run"]),
    ("fathom-plan/src/experiment/", &["sweep"]),
    (
        "fathom-plan/src/experiment/cell.rs",
        &["sweep", "search", "run"],
    ),
    ("fathom-report/src/comparison", &["compare"]),
    ("fathom-report/src/devices/", &["devices"]),
    ("fathom/src/capture", &["capture"]),
    ("fathom/src/check", &["check"]),
    ("fathom/src/compare.rs", &["compare"]),
    ("fathom/src/devices.rs", &["devices"]),
    ("fathom/src/durable/", &["durable"]),
    ("fathom-durable/src/", &["durable"]),
    ("fathom-report/src/observation/", &["observe"]),
    ("fathom-serve/src/", &["serve"]),
    ("fathom/src/serve/", &["serve"]),
    ("fathom/src/hosts/clients.rs", &["fio"]),
    ("fathom/src/scratch_devices.rs", &["devices"]),
    ("fathom/src/experiment/", &["sweep", "search", "suite"]),
    ("fathom/src/experiment/cell_store.rs", &["sweep", "search"]),
    (
        "fathom/src/experiment/events.rs",
        &["sweep", "search", "suite", "resume"],
    ),
    (
        "fathom/src/experiment/watch.rs",
        &["sweep", "search", "suite", "resume"],
    ),
    (
        "fathom/src/experiment_target.rs",
        &["sweep", "search", "suite"],
    ),
    ("fathom/src/guard.rs", RUNNERS),
    ("fathom/src/guard/", RUNNERS),
    ("fathom/src/hosts/", &["run"]),
    ("fathom/src/hosts/agent.rs", &["agent"]),
    ("fathom/src/hosts/fleet.rs", &["sweep"]),
    ("fathom/src/hosts/permissions.rs", &["agent"]),
    ("fathom-hosts/src/", &["run"]),
    ("fathom-hosts/src/launcher.rs", &["agent"]),
    ("fathom/src/limits.rs", &["limits"]),
    ("fathom/src/main.rs", &["run", "fio"]),
    ("fathom/src/observe", &["observe"]),
    ("fathom/src/output.rs", &["run", "fio"]),
    ("fathom/src/plot", &["plot"]),
    ("fathom/src/profile.rs", &["profile", "fidelity"]),
    ("fathom-workload/src/", &["profile", "fidelity"]),
    ("fathom/src/quick.rs", &["quick"]),
    ("fathom/src/ready/", &["ready"]),
    ("fathom/src/fsync.rs", &["fsync"]),
    ("fathom/src/app/", &["app"]),
    ("fathom-app/src/", &["app"]),
    ("fathom-report/src/ready.rs", &["ready"]),
    (
        "fathom-plan/src/experiment/recipe/profile.rs",
        &["search", "ready"],
    ),
    ("fathom/src/result_store.rs", &["show"]),
    ("fathom/src/replay.rs", &["replay"]),
    ("fathom/src/run.rs", &["run"]),
    ("fathom/src/session.rs", &["run"]),
    ("fathom/src/sim.rs", &["sim"]),
    ("fathom-size/src/", &["size"]),
    ("fathom/src/size", &["size"]),
    ("fathom/src/spec", &["spec"]),
    ("fathom/src/stored/list.rs", &["runs"]),
    ("fathom/src/stored/manage.rs", &["store"]),
    ("fathom/src/stored/remove.rs", &["rm"]),
    ("fathom-store/src/error.rs", &["store"]),
    ("fathom/src/suite/", &["suite"]),
    ("fathom/src/trigger.rs", &["run", "fio"]),
    ("fathom/src/why", &["why"]),
    ("fathom/src/witness.rs", &["witness"]),
    ("fathom-linux/src/witness/", &["witness"]),
];

const RUNNERS: &[&str] = &["run", "fio"];

/// Programs whose own options a text may name.
const OTHER_PROGRAMS: &[&str] = &[
    "losetup",
    "blockdev",
    "docker",
    "systemd-run",
    "fio's",
    "cargo",
];

fn has_option(name: &str, option: &str) -> bool {
    let is_job_option = matches!(name, "run" | "fio") && find(option).is_some();
    let own = command(name);
    let is_own = option == "help"
        || std::iter::once(&own)
            .chain(own.get_subcommands())
            .flat_map(clap::Command::get_arguments)
            .any(|arg| arg.get_long() == Some(option));
    // The guard of experiments, which have --read-only, is in a source of `run`. fio's options and the few that `fathom fio` adds are in the help of the personality.
    let is_in_help =
        name == "fio" && help_text("fathom fio", Personality::Fio).contains(&format!("--{option}"));
    is_own
        || is_job_option
        || is_in_help
        || (matches!(name, "run" | "fio") && option == "read-only")
}

fn is_command(name: &str) -> bool {
    commands().iter().any(|spec| spec.name == name)
}

/// What is wrong in `text`, which belongs to a text of the commands in `owners`.
fn mistakes(text: &str, owners: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut named: Option<String> = None;
    if text.contains("fathom --version") {
        return wrong;
    }
    let mut before = "";
    let mut other_program = false;
    for word in text.split_whitespace() {
        let starts_quote = word.starts_with(['`', '\'', '(']);
        let bare = word.trim_matches(|c: char| "`'\"().,:;".contains(c));
        if OTHER_PROGRAMS.contains(&bare) || OTHER_PROGRAMS.contains(&word) {
            other_program = true;
        }
        let quoted = before.starts_with(['`', '\'']);
        if before.trim_matches(|c: char| "`'(".contains(c)) == "fathom"
            && bare.bytes().all(|b| b.is_ascii_lowercase())
            && !bare.is_empty()
        {
            if is_command(bare) {
                named = Some(bare.to_owned());
                other_program = false;
            } else if quoted {
                wrong.push(format!("no command 'fathom {bare}'"));
            }
        }
        if starts_quote && before.ends_with(['.', ';']) {
            other_program = false;
        }
        if let Some(at) = word
            .find("--")
            .filter(|at| !word[..*at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-'))
        {
            let option: String = word[at + 2..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
                .collect();
            let is_name = option.starts_with(|c: char| c.is_ascii_lowercase());
            if is_name && !other_program {
                match &named {
                    Some(name) if has_option(name, &option) => {}
                    Some(name) if owners.contains(&name.as_str()) || owners.is_empty() => {
                        wrong.push(format!("fathom {name} has no --{option}"));
                    }
                    _ if owners.is_empty() => wrong.push(format!("--{option} of which command?")),
                    _ => {
                        for owner in owners.iter().filter(|owner| !has_option(owner, &option)) {
                            wrong.push(format!("fathom {owner} has no --{option}"));
                        }
                    }
                }
            }
        }
        before = word;
    }
    wrong
}

/// The string literals of a source, without those of its tests.
fn strings(source: &str) -> Vec<String> {
    let source = source
        .split("#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default();
    let mut found = Vec::new();
    let mut rest = source.chars().peekable();
    let mut before = ' ';
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => {
                rest.by_ref().find(|c| *c == '\n');
            }
            // A character literal with a quote.
            '\'' if rest.peek() == Some(&'"') => drop(rest.next()),
            '\'' if rest.peek() == Some(&'\\') => {
                rest.next();
                rest.next();
            }
            '"' => {
                let raw = before == '#' || before == 'r';
                let mut text = String::new();
                while let Some(c) = rest.next() {
                    match c {
                        '"' if before != '#' || rest.peek() == Some(&'#') => break,
                        '\\' if !raw => match rest.next() {
                            Some('\n') => while rest.next_if(|c| c.is_whitespace()).is_some() {},
                            Some('n') => text.push('\n'),
                            Some(other) => text.push(other),
                            None => {}
                        },
                        other => text.push(other),
                    }
                }
                found.push(text);
            }
            _ => {}
        }
        before = c;
    }
    found
}

pub fn files(directory: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).expect("a directory");
    for entry in entries {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

/// The string literals of each source of the program, by its path below `crates`.
pub fn texts_of_program() -> Vec<(String, Vec<String>)> {
    let crates = root().join("crates");
    let mut sources = Vec::new();
    files(&crates, ".rs", &mut sources);
    let named = sources.into_iter().map(|path| {
        let name = path.strip_prefix(&crates).expect("below it");
        (name.to_string_lossy().into_owned(), path)
    });
    named
        .filter(|(name, _)| {
            let is_tool = ["fathom-bench", "xtask"]
                .iter()
                .any(|tool| name.starts_with(tool));
            name.contains("/src/") && !name.contains("test") && !is_tool
        })
        .map(|(name, path)| {
            (
                name,
                strings(&std::fs::read_to_string(&path).expect("text")),
            )
        })
        .collect()
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository")
}

/// Regression 0510: texts named options without saying of which command, and options that the command does not have.
#[test]
fn texts_of_the_program_name_options_that_their_command_has() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (name, texts) in texts_of_program() {
        let is_help = [
            "fathom-cli/src/commands/",
            "fathom-cli/src/run.rs",
            "fathom-plan/src/options/rows/",
            "fathom-plan/src/command/switches.rs",
        ];
        if is_help.iter().any(|other| name.starts_with(other)) {
            continue;
        }
        let owners = SOURCES
            .iter()
            .filter(|(start, _)| name.starts_with(start))
            .max_by_key(|(start, _)| start.len())
            .map_or(&[][..], |(_, owners)| owners);
        for text in texts {
            seen += usize::from(text.contains("--"));
            // A name of an option alone is a value of the program, not a text for people; `{program} --x` names the program.
            // `style="--x: ..."` sets a property of CSS.
            if text.starts_with("--") && !text.contains(' ')
                || text.contains("'{} --help'")
                || text.contains("style=\"--")
            {
                continue;
            }
            wrong.extend(
                mistakes(&text, owners)
                    .into_iter()
                    .map(|mistake| format!("{name}: {mistake}: {text}")),
            );
        }
    }
    assert!(seen > 100, "{seen} texts with options");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn help_texts_name_options_that_their_command_has() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for spec in commands() {
        let built = command(spec.name);
        let mut texts = vec![spec.about.to_owned(), spec.details.to_owned()];
        texts.extend(spec.examples.lines().map(str::to_owned));
        for arg in built.get_arguments() {
            texts.extend(arg.get_help().map(ToString::to_string));
            texts.extend(arg.get_long_help().map(ToString::to_string));
        }
        seen += texts.iter().filter(|text| text.contains("--")).count();
        for text in texts {
            wrong.extend(
                mistakes(&text, &[spec.name])
                    .into_iter()
                    .map(|mistake| format!("{}: {mistake}: {text}", spec.name)),
            );
        }
    }
    for row in options() {
        wrong.extend(
            mistakes(row.help, &["run", "fio"])
                .into_iter()
                .map(|mistake| format!("{}: {mistake}", row.name)),
        );
    }
    assert!(seen > 40, "{seen} texts with options");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The documents name commands in code: `fathom sweep --axis`, or lines of blocks that begin with the program.
#[test]
fn documents_name_options_that_the_command_has() {
    let mut documents = vec![root().join("README.md")];
    files(&root().join("docs"), ".md", &mut documents);
    let (mut seen, mut wrong) = (0, Vec::new());
    for path in documents {
        let text = std::fs::read_to_string(&path)
            .expect("text")
            .replace("\\\n", " ");
        let code = text
            .lines()
            .flat_map(|line| line.split('`').map(str::trim_start))
            .map(|part| part.strip_prefix("$ ").unwrap_or(part))
            .filter(|part| part.starts_with("fathom "));
        for part in code {
            let part = part.split(" | ").next().unwrap_or_default();
            seen += usize::from(part.contains("--"));
            wrong.extend(
                mistakes(part, &[])
                    .into_iter()
                    .map(|mistake| format!("{}: {mistake}: {part}", path.display())),
            );
        }
    }
    let remedies: BTreeSet<&str> = fathom_analyse::FINDINGS
        .iter()
        .flat_map(|kind| [kind.meaning, kind.importance, kind.remedy])
        .collect();
    for text in remedies {
        wrong.extend(
            mistakes(text, &[])
                .into_iter()
                .map(|mistake| format!("{mistake}: {text}")),
        );
    }
    assert!(seen > 60, "{seen} commands with options");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Texts of findings name job options as `name=value`.
#[test]
fn advice_names_job_options_that_exist() {
    let mut seen = 0;
    for kind in fathom_analyse::FINDINGS {
        for text in [kind.meaning, kind.importance, kind.remedy] {
            for word in text.split_whitespace().filter(|word| !word.contains("--")) {
                let Some((name, _)) = word.split_once('=') else {
                    continue;
                };
                let name = name.trim_start_matches(['`', '(', '\'']);
                // `data=` is an option of ext4.
                if ["", "data"].contains(&name) {
                    continue;
                }
                seen += 1;
                assert!(
                    find(name).is_some(),
                    "{}: no option {name}: {text}",
                    kind.code
                );
            }
        }
    }
    assert!(seen > 3, "{seen} options");
}

#[test]
fn the_check_finds_what_it_must() {
    let none: [&str; 0] = [];
    assert_eq!(mistakes("use `fathom sweep --axis bs=4k`", &[]), none);
    assert_eq!(mistakes("use losetup --direct-io=on", &[]), none);
    assert_eq!(
        mistakes("use `fathom sweep --axes`", &[]),
        ["fathom sweep has no --axes"]
    );
    assert_eq!(
        mistakes("use `fathom swept`", &[]),
        ["no command 'fathom swept'"]
    );
    assert_eq!(
        mistakes("more with --budget", &[]),
        ["--budget of which command?"]
    );
    assert_eq!(
        mistakes("more with --budget", &["sweep", "show"]),
        ["fathom show has no --budget"]
    );
}
