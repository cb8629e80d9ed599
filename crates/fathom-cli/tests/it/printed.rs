//! Every command line that a text of the program, or a sentence of a document, shows is accepted as it is written.

use std::path::PathBuf;

use fathom_cli::{command, commands};
use fathom_model::Personality;

use crate::advice::{files, root, texts_of_program};

/// Words in capital letters for which the reader puts a value, where the command checks the value.
const VALUES: &[(&str, &str)] = &[
    ("TIME", "10s"),
    ("LIMIT", "p99<=2ms"),
    ("MODEL", "nvme-ssd"),
    ("URL", "nats://10.0.0.1"),
    ("COLUMNS", "80"),
    ("N", "4"),
];
/// First lines of files that begin with the name of the program.
const FIRST_LINES: [&str; 2] = ["version 1 dependency iolog", "durable log 1"];
/// What follows a command in a shell.
const ENDS: [&str; 7] = [" | ", " > ", " >", " # ", " && ", "; ", " &"];

/// The words of a command line, as a shell divides it.
fn divide(line: &str) -> Vec<String> {
    let mut words = vec![];
    let (mut word, mut quote, mut is_word) = (String::new(), None, false);
    for c in line.chars() {
        match (c, quote) {
            ('\'' | '"', None) => (quote, is_word) = (Some(c), true),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            (c, _) => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

/// A line with values in place of what the program fills in, `{...}`, and the shell, `$(...)`.
fn fill(line: &str) -> String {
    let mut filled = line.to_owned();
    for (open, close) in [("{", "}"), ("$(", ")")] {
        while let Some((before, after)) = filled.split_once(open) {
            let rest = after.split_once(close).map_or("", |(_, rest)| rest);
            filled = format!("{before}4{rest}");
        }
    }
    filled
}

/// A word with a value in place of what the reader fills in.
fn with_value(word: &str) -> String {
    let (option, value) = word.rsplit_once('=').map_or(("", word), |(option, value)| {
        (&word[..=option.len()], value)
    });
    let value = value.trim_end_matches('\\');
    if option == "--chart=" && value == "NAME" {
        return "--chart=depth".to_owned();
    }
    let value = VALUES
        .iter()
        .find(|(name, _)| *name == value)
        .map_or(value, |(_, value)| value);
    format!("{option}{value}")
}

/// What is wrong with a command line after the name of the program; none if it is accepted, or if it only names a command.
fn refusal(line: &str) -> Option<String> {
    let mut line = fill(line);
    for end in ENDS {
        line.truncate(line.find(end).unwrap_or(line.len()));
    }
    let words: Vec<String> = divide(&line).iter().map(|word| with_value(word)).collect();
    let (name, rest) = words.split_first()?;
    // An option that is named, and a synopsis, are no command lines.
    let is_mention =
        rest.last()?.starts_with("--") && rest.iter().all(|word| !word.contains(['=', '/', '.']));
    let is_synopsis = rest
        .iter()
        .any(|word| word.contains('[') || word.ends_with("..."));
    if is_mention
        || is_synopsis
        || FIRST_LINES.contains(&line.as_str())
        || !commands().iter().any(|spec| spec.name == name)
    {
        return None;
    }
    let personality = match name.as_str() {
        "run" => Some(Personality::Fathom),
        "fio" => Some(Personality::Fio),
        _ => None,
    };
    if let Some(personality) = personality {
        let problems = fathom_plan::parse_args(rest, personality).err()?;
        return Some(format!("{problems:?}"));
    }
    let parsed = command(name)
        .no_binary_name(true)
        .try_get_matches_from(rest);
    let error = parsed.err()?;
    (!matches!(
        error.kind(),
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
    ))
    .then(|| error.to_string())
}

/// The command lines between back quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| code.strip_prefix("fathom "))
}

#[test]
fn commands_in_texts_of_the_program_are_accepted() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (name, texts) in texts_of_program() {
        for text in texts {
            for line in quoted(&text).filter(|line| line.contains(' ')) {
                seen += 1;
                wrong.extend(refusal(line).map(|why| format!("{name}: {line}: {why}")));
            }
        }
    }
    assert!(seen > 40, "{seen} commands with arguments");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_in_sentences_of_documents_are_accepted() {
    let mut documents: Vec<PathBuf> = vec![root().join("README.md")];
    files(&root().join("docs"), ".md", &mut documents);
    let (mut seen, mut wrong) = (0, Vec::new());
    for path in documents {
        let text = std::fs::read_to_string(&path).expect("text");
        for line in quoted(&text).filter(|line| line.contains(' ')) {
            seen += 1;
            wrong.extend(refusal(line).map(|why| format!("{}: {line}: {why}", path.display())));
        }
    }
    assert!(seen > 100, "{seen} commands with arguments");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
