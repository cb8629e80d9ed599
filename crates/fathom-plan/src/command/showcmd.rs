//! `--showcmd`: jobs as a command line of fio.

use std::fmt::Write;

use fathom_model::Personality;

use crate::jobfile::Section;
use crate::options::find;

/// The sections as one command line that begins with `program`. As in fio, each global section repeats those above it. Only
/// fathom's own lines quote what a shell would change: fio's are reproduced as they are.
#[must_use]
pub fn show_command(program: &str, sections: &[Section], personality: Personality) -> String {
    let mut out = format!("{program} ");
    let mut globals = String::new();
    for section in sections {
        if section.is_global {
            globals.push_str(&options(section, personality));
            out.push_str(&globals);
            continue;
        }
        let opened_by_name = section
            .assignments
            .first()
            .is_some_and(|first| first.key == "name" && first.key_at == section.at);
        if !opened_by_name {
            let _ = write!(
                out,
                "{} ",
                word(&format!("--name={}", section.name), personality)
            );
        }
        out.push_str(&options(section, personality));
    }
    out.push('\n');
    out
}

/// A word of a command line, in quotes where a shell would change it.
fn word(text: &str, personality: Personality) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/@%+".contains(c);
    if personality == Personality::Fio || (!text.is_empty() && text.chars().all(is_plain)) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn options(section: &Section, personality: Personality) -> String {
    let mut out = String::new();
    let mut assignments: Vec<_> = section.assignments.iter().collect();
    assignments.sort_by_key(|assignment| {
        std::cmp::Reverse(find(&assignment.key).map_or(0, |row| row.rank()))
    });
    for assignment in assignments {
        let name = find(&assignment.key).map_or(assignment.key.as_str(), |row| row.name);
        let quote = if name == "description" { "\"" } else { "" };
        let _ = match &assignment.value {
            Some(value) if personality == Personality::Fathom => {
                write!(out, "{} ", word(&format!("--{name}={value}"), personality))
            }
            Some(value) => write!(out, "--{name}={quote}{value}{quote} "),
            None => write!(out, "--{name} "),
        };
    }
    out
}
