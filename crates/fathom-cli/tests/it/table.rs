//! The command table: one meaning for each option, examples that parse, help that fits the
//! terminal.

use std::collections::BTreeMap;

use clap::{Arg, Command};
use fathom_cli::{command, command_help, commands, complete, program, program_help};

/// The meaning of an option: its one-line help and the name of its value.
#[derive(Debug, PartialEq, Eq)]
struct Meaning {
    help: String,
    value: Option<String>,
}

fn meaning(arg: &Arg) -> Meaning {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let value = arg
        .get_action()
        .takes_values()
        .then(|| {
            arg.get_value_names()
                .map(|names| names.join(" ").replace("[JOB.]", ""))
        })
        .flatten();
    Meaning { help, value }
}

/// Options of all commands, and the switches of `run`; job options of fio have meanings of their
/// own.
fn options() -> Vec<(&'static str, Arg)> {
    let of = |name: &'static str| {
        let arguments: Vec<Arg> = command(name).get_arguments().cloned().collect();
        arguments.into_iter().map(move |arg| (name, arg))
    };
    commands().iter().flat_map(|spec| of(spec.name)).collect()
}

#[test]
fn an_option_means_the_same_in_every_command() {
    let mut meanings: BTreeMap<String, (&str, Meaning)> = BTreeMap::new();
    let fio = |name: &str| matches!(name, "run" | "fio");
    let mut letters: BTreeMap<char, (&str, String)> = BTreeMap::new();
    let mut different = Vec::new();
    for (name, arg) in options() {
        let Some(long) = arg.get_long() else { continue };
        let now = meaning(&arg);
        assert!(!now.help.is_empty(), "{name} --{long} has no help");
        // The letters of `run` and `fio` are fio's.
        if let Some(letter) = arg.get_short().filter(|_| !fio(name)) {
            let (first, known) = letters
                .entry(letter)
                .or_insert_with(|| (name, long.to_owned()));
            assert_eq!(known, long, "-{letter} of {first} and of {name}");
        }
        match meanings.get(long) {
            Some((first, known)) if *known != now => {
                different.push(format!(
                    "--{long} of {first} and of {name}: {known:?}, {now:?}"
                ));
            }
            Some(_) => {}
            None => drop(meanings.insert(long.to_owned(), (name, now))),
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(meanings.len() > 60, "{} options", meanings.len());
}

#[test]
fn every_command_is_a_valid_definition_with_help_and_examples() {
    program().debug_assert();
    for spec in commands() {
        let help = command_help(spec.name);
        assert!(
            help.contains(spec.about) && help.contains(&format!("Usage: fathom {}", spec.name)),
            "{help}"
        );
        assert!(
            spec.name == "version" || help.contains("Examples:"),
            "{help}"
        );
    }
    let help = program_help();
    assert!(commands().iter().all(|spec| help.contains(spec.name)));
    assert!(
        help.lines().all(|line| line.chars().count() <= 110),
        "{help}"
    );
}

/// The command lines of the examples, without quotes, redirections and comments.
fn examples(text: &str) -> Vec<Vec<String>> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("fathom "));
    lines
        .map(|line| {
            let line = line.split("  ").next().unwrap_or_default();
            let line = line.split(" > ").next().unwrap_or_default();
            let mut args = vec![String::new()];
            let mut quoted = false;
            for character in line.trim().chars() {
                match character {
                    '\'' => quoted = !quoted,
                    ' ' if !quoted => args.push(String::new()),
                    other => args.last_mut().expect("a word").push(other),
                }
            }
            args
        })
        .collect()
}

#[test]
fn every_example_parses() {
    for spec in commands() {
        let lines = examples(spec.examples);
        assert!(
            !lines.is_empty() || spec.name == "version",
            "{} has no example",
            spec.name
        );
        for line in lines {
            let (name, rest) = line.split_first().expect("a command");
            assert_eq!(name, spec.name, "{line:?}");
            if matches!(name.as_str(), "run" | "fio") {
                let personality = if name == "run" {
                    fathom_model::Personality::Fathom
                } else {
                    fathom_model::Personality::Fio
                };
                fathom_plan::parse_args(rest, personality)
                    .unwrap_or_else(|problems| panic!("{line:?}: {problems:?}"));
            } else {
                command(spec.name)
                    .no_binary_name(true)
                    .try_get_matches_from(rest)
                    .unwrap_or_else(|error| panic!("{line:?}: {error}"));
            }
        }
    }
}

#[test]
fn completions_contain_commands_options_and_job_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = complete(shell.parse().expect("a shell"));
        let script = String::from_utf8(script).expect("UTF-8");
        for name in ["sweep", "axis", "iodepth", "destroy"] {
            assert!(script.contains(name), "{shell}: {name} is missing");
        }
    }
}

#[test]
fn mistakes_are_reported_with_a_suggestion() {
    let mistake = |command: &Command, line: &str| {
        let arguments = line.split_whitespace();
        let parsed = command
            .clone()
            .no_binary_name(true)
            .try_get_matches_from(arguments);
        parsed.expect_err(line).to_string()
    };
    let sweep = command("sweep");
    assert!(mistake(&sweep, ". --axs bs=4k").contains("'--axis'"));
    assert!(mistake(&sweep, ". --format=jsn").contains("'json'"));
    assert!(mistake(&sweep, ". --runtime=soon").contains("expected a time such as"));
    let unknown = |name| fathom_cli::unknown_command(name, false);
    assert!(unknown("swep").contains("'sweep'"));
    assert!(unknown("job.fio").contains("'fathom run job.fio'"));
    assert!(!unknown("\u{1b}[31m").contains('\u{1b}'));
}
