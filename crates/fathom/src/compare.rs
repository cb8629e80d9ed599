//! `fathom compare`: whether two results differ, by how much, and whether that is too much.

use std::io::IsTerminal;

use fathom_analyse::{Limit, Measured, QueueSettings, compare, unlike_settings};
use fathom_import::{read_measured, read_settings};
use fathom_model::{Comparison, Row};

use crate::outcome::Outcome;
use crate::result_file::read;
use crate::say::{complain, say};
use crate::screen;

const HELP: &str = "\
usage: fathom compare BEFORE.json AFTER.json [OPTIONS]

Compares two results of fathom or fio, job by job. Results written with
--output-format=json+ keep their intervals: from them comes whether a difference is
more than chance, and how small a one would have been seen.

  --fail-if=FIGURE:CHANGE  end with exit code 1 when a figure changed by more, and not
                           by chance: p99:+5%, iops:-3%; can be repeated. Figures: iops,
                           bw, mean, p50, p99, p99.9
  --unlike                 compare though the plans differ
  --markdown=FILE          the table in Markdown too
  --junit=FILE             the figures as test cases too

Exit codes: 0 compared; 1 a --fail-if was broken; 2 refused.
";

/// What was asked for.
#[derive(Default)]
struct Asked {
    results: Vec<String>,
    limits: Vec<(String, Limit)>,
    unlike: bool,
    markdown: Option<String>,
    junit: Option<String>,
}

/// Compares what the arguments name.
pub fn command(words: &[String]) -> Outcome {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return help();
    }
    match asked(words).and_then(|asked| compared(&asked)) {
        Ok(outcome) => outcome,
        Err(trouble) => {
            complain!("fathom compare: {trouble}");
            Outcome::Refused
        }
    }
}

/// How it is used.
pub fn help() -> Outcome {
    say(HELP)
}

fn asked(words: &[String]) -> Result<Asked, String> {
    let (mut asked, mut rest) = (Asked::default(), words.iter());
    while let Some(word) = rest.next() {
        let (name, mut value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        if ["--fail-if", "--markdown", "--junit"].contains(&name) && value.is_none() {
            value = Some(rest.next().ok_or(format!("{name}: needs a value"))?.clone());
        }
        match (name, value) {
            ("--fail-if", Some(text)) => asked.limits.push((text.clone(), text.parse().map_err(|why| format!("--fail-if: {why}"))?)),
            ("--markdown", Some(file)) => asked.markdown = Some(file),
            ("--junit", Some(file)) => asked.junit = Some(file),
            ("--unlike", None) => asked.unlike = true,
            (other, _) if other.starts_with("--") => {
                return Err(format!("there is no option '{}'; `fathom compare --help` lists them", other.escape_debug()));
            }
            _ => asked.results.push(word.clone()),
        }
    }
    match asked.results.len() {
        2 => Ok(asked),
        n => Err(format!("two results are compared, not {n}: fathom compare BEFORE.json AFTER.json")),
    }
}

fn compared(asked: &Asked) -> Result<Outcome, String> {
    let [before, after] = [&asked.results[0], &asked.results[1]].map(|path| measured(path));
    let mut comparison = compare(&before?, &after?);
    let [before, after] = [&asked.results[0], &asked.results[1]].map(|path| settings(path));
    comparison.settings = unlike_settings(&before?, &after?);
    refuse_unlike(asked, &comparison)?;
    let style = screen::style(std::io::stdout().is_terminal(), "");
    let mut text = fathom_report::comparison(&comparison, &style);
    let broken: Vec<String> = comparison.rows.iter().filter_map(|row| broken(asked, row)).collect();
    for words in &broken {
        text += &format!("\nToo much: {words}\n");
    }
    if let Some(file) = &asked.markdown {
        write(file, &fathom_report::comparison_markdown(&comparison))?;
    }
    if let Some(file) = &asked.junit {
        write(file, &fathom_report::comparison_junit(&comparison, &|row| self::broken(asked, row)))?;
    }
    Ok(match say(&text) {
        Outcome::Good if !broken.is_empty() => Outcome::Bad,
        outcome => outcome,
    })
}

fn refuse_unlike(asked: &Asked, comparison: &Comparison) -> Result<(), String> {
    if comparison.rows.is_empty() {
        let names = comparison.alone.join(", ");
        return Err(format!("the results have no job in common ({names}); jobs are matched by their name"));
    }
    if asked.unlike || comparison.unlike.is_empty() {
        return Ok(());
    }
    let differing = fathom_report::differing(comparison).join("\n  ");
    Err(format!("the plans differ, so the figures may differ for that alone:\n  {differing}\n--unlike compares them all the same"))
}

/// Which limit `row` breaks, in words.
fn broken(asked: &Asked, row: &Row) -> Option<String> {
    let (text, _) = asked.limits.iter().find(|(_, limit)| limit.is_broken_by(row))?;
    let (job, way, change) = (&row.job, row.direction.word(), 100.0 * row.change);
    Some(format!("{job}: {way} {} changed by {change:+.1} %, beyond --fail-if={text}", row.metric).escape_debug().to_string())
}

fn measured(path: &str) -> Result<Vec<Measured>, String> {
    read_measured(&read(path)?).map_err(|error| format!("{path}: {error}"))
}

fn settings(path: &str) -> Result<QueueSettings, String> {
    read_settings(&read(path)?).map_err(|error| format!("{path}: {error}"))
}

fn write(file: &str, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{file} cannot be written: {error}"))
}
