//! `docs/fio-compatibility.md`, made from the tables: what becomes of every option of fio.

use std::fmt::Write;

use fathom_model::EngineKind;

use super::row::{OptionRow, Support};
use super::{option_groups, options};
use crate::command::{obeyed_options, refused_options};

const INTRODUCTION: &str = "\
# What becomes of fio's options

Written by `fathom help compatibility > docs/fio-compatibility.md` from the very tables that the program reads its job files
with; a test compares them.

Every option of fio's head is known by name, alias and type, so no job file fails on its grammar. Of each one of three things is true:

* **honoured**: it does what fio's manual says;
* **accepted**: it is read and has no effect, for the reason given; `fathom run` says so when a job sets it to anything but what
  holds anyway;
* **refused**: a job that sets it to anything but its default is not run, because it would mean something else; the way out
  is in the message, and here.

`fathom run --cmdhelp=OPTION` tells type, default and limits of one option.
";

/// The whole document, in Markdown.
#[must_use]
pub fn compatibility() -> String {
    let mut out = INTRODUCTION.to_owned();
    out.push_str(&overview());
    for (title, rows) in option_groups() {
        out.push_str(&group(title, rows));
    }
    out.push_str(&engines());
    out.push_str(&command_line());
    out
}

fn overview() -> String {
    let mut out =
        "\n| options of jobs | honoured | accepted | refused |\n| --- | ---: | ---: | ---: |\n"
            .to_owned();
    for (title, rows) in option_groups() {
        let _ = writeln!(out, "{}", counted(title, rows.iter()));
    }
    let _ = writeln!(out, "{}", counted("**all**", options()));
    out
}

fn counted<'a>(title: &str, rows: impl Iterator<Item = &'a OptionRow>) -> String {
    let (mut honoured, mut accepted, mut refused) = (0, 0, 0);
    for row in rows {
        match row.support {
            Support::Honoured => honoured += 1,
            Support::NoEffect { .. } => accepted += 1,
            Support::Refused { .. } => refused += 1,
        }
    }
    format!("| {title} | {honoured} | {accepted} | {refused} |")
}

fn group(title: &str, rows: &[OptionRow]) -> String {
    let mut out = format!(
        "\n## Options {}{title}\n",
        if title.starts_with("private") {
            ""
        } else {
            "about: "
        }
    );
    let honoured: Vec<&OptionRow> = rows
        .iter()
        .filter(|row| row.support == Support::Honoured)
        .collect();
    if !honoured.is_empty() {
        out.push_str("\n| honoured | what it is |\n| --- | --- |\n");
    }
    for row in honoured {
        let _ = writeln!(
            out,
            "| {} | {}{} |",
            names(row),
            cell(row.help),
            of_engines(row)
        );
    }
    out.push_str(&by_reason(
        "accepted",
        "why it has no effect",
        rows,
        |support| match support {
            Support::NoEffect { why } => Some(why),
            _ => None,
        },
    ));
    out + &by_reason(
        "refused",
        "what to do instead",
        rows,
        |support| match support {
            Support::Refused { instead } => Some(instead),
            _ => None,
        },
    )
}

/// Options that share a reason share a line, where the first of them stands.
fn by_reason(
    title: &str,
    what: &str,
    rows: &[OptionRow],
    reason: fn(Support) -> Option<&'static str>,
) -> String {
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        let Some(why) = reason(row.support) else {
            continue;
        };
        match lines.iter_mut().find(|(known, _)| *known == why) {
            Some((_, all)) => all.push(names(row)),
            None => lines.push((why, vec![names(row)])),
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let mut out = format!("\n| {title} | {what} |\n| --- | --- |\n");
    for (why, names) in lines {
        let _ = writeln!(out, "| {} | {} |", names.join(", "), cell(why));
    }
    out
}

fn names(row: &OptionRow) -> String {
    match row.alias {
        Some(alias) => format!("`{}` (`{alias}`)", row.name),
        None => format!("`{}`", row.name),
    }
}

/// Which of the engines built in an option is private to.
fn of_engines(row: &OptionRow) -> String {
    let built_in = |name: &&&str| {
        crate::resolve::ENGINES
            .iter()
            .any(|kind| kind.word() == **name)
    };
    let engines: Vec<&str> = row.engines.iter().filter(built_in).copied().collect();
    if engines.is_empty() {
        String::new()
    } else {
        format!(" ({})", engines.join(", "))
    }
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn engines() -> String {
    let words = crate::resolve::ENGINES
        .map(EngineKind::word)
        .map(|word| format!("`{word}`"));
    format!(
        "\n## Engines\n\nBuilt in: {}. Every other name is refused, with these as the way out; \
         `external:` engines are shared objects for fio and cannot be loaded.\n",
        words.join(", ")
    )
}

fn command_line() -> String {
    let mut out = "\n## The command line\n\n| option | what it does |\n| --- | --- |\n".to_owned();
    for option in obeyed_options() {
        let ours = if option.ours {
            " (only `fathom run`)"
        } else {
            ""
        };
        let _ = writeln!(out, "| `--{}` | {}{ours} |", option.name, cell(option.help));
    }
    out.push_str("\n| refused | what to do instead |\n| --- | --- |\n");
    for option in refused_options() {
        let _ = writeln!(out, "| `--{}` | {} |", option.name, cell(option.help));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_named_with_what_becomes_of_it() {
        let text = compatibility();
        for row in options() {
            let line = text
                .lines()
                .find(|line| line.contains(&names(row)))
                .unwrap_or_else(|| panic!("{}", row.name));
            match row.support {
                Support::Honoured => assert!(line.contains(&cell(row.help)), "{line}"),
                Support::NoEffect { why } | Support::Refused { instead: why } => {
                    assert!(line.contains(&cell(why)), "{line}")
                }
            }
        }
        for kind in crate::resolve::ENGINES {
            assert!(text.contains(&format!("`{}`", kind.word())));
        }
    }
}
