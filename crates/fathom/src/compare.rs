//! `fathom compare`: whether results differ, by how much, and whether that is too much.

use std::io::IsTerminal;
use std::path::Path;

use fathom_analyse::{ComparedRun, Limit, compare_repeats, measured, unlike_settings};
use fathom_import::read_settings;
use fathom_model::{Comparison, Findings, QueueSettings, Row, Unlike};

use crate::import::read;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print};
use crate::result_store::StoreChoice;
use crate::results::{each_kept, is_run};
use crate::screen;

const HELP: &str = "\
usage: fathom compare BEFORE AFTER... [OPTIONS]
       fathom compare BEFORE... -- AFTER... [-- AFTER...] [OPTIONS]

Compares results job by job: each of the others with the first. A result is a file of
fathom or fio (JSON, json+, terse, logs), a folder of them, or a run that is kept (r12,
r12.3, latest). From intervals over time (json+ of fathom, logs of fio) comes whether a
difference is more than chance, and how small a one would have been seen.

With `--` between them, each side is a group of repeats of the same: what changes from
run to run is then the yardstick, and totals are enough.

  --fail-if=FIGURE:CHANGE  end with exit code 1 when a figure changed by more, and not
                           by chance: p99:+5%, iops:-3%; can be repeated. Figures: iops,
                           bw, mean, p50, p99, p99.9
  --unlike                 compare though the plans differ
  --markdown=FILE          the table in Markdown too
  --junit=FILE             the figures as test cases too
  --store=FILE             look for runs in another store than your own

Exit codes: 0 compared; 1 a --fail-if was broken; 2 refused.
";

/// What was asked for.
#[derive(Default)]
struct CompareArgs {
    /// The first is what the others are compared with; each has a run or more.
    groups: Vec<Vec<String>>,
    limits: Vec<(String, Limit)>,
    unlike: bool,
    markdown: Option<String>,
    junit: Option<String>,
    store: StoreChoice,
}

/// Compares what the arguments name.
pub fn command(words: &[String]) -> Outcome {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return help();
    }
    match asked(words).and_then(|asked| compared(&asked)) {
        Ok(outcome) => outcome,
        Err(trouble) => {
            eprint_line!("fathom compare: {trouble}");
            Outcome::Refused
        }
    }
}

/// How it is used.
pub fn help() -> Outcome {
    print(HELP)
}

fn asked(words: &[String]) -> Result<CompareArgs, String> {
    let (mut asked, mut rest) = (CompareArgs::default(), words.iter());
    let mut groups: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(word) = rest.next() {
        if asked.store.take(word, &mut rest)? {
            continue;
        }
        let (name, mut value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        if ["--fail-if", "--markdown", "--junit"].contains(&name) && value.is_none() {
            value = Some(rest.next().ok_or(format!("{name}: needs a value"))?.clone());
        }
        match (name, value) {
            ("--fail-if", Some(text)) => asked.limits.push((
                text.clone(),
                text.parse().map_err(|why| format!("--fail-if: {why}"))?,
            )),
            ("--markdown", Some(file)) => asked.markdown = Some(file),
            ("--junit", Some(file)) => asked.junit = Some(file),
            ("--unlike", None) => asked.unlike = true,
            ("--", None) => groups.push(Vec::new()),
            (other, _) if other.starts_with("--") => {
                return Err(format!(
                    "there is no option '{}'; `fathom compare --help` lists them",
                    other.escape_debug()
                ));
            }
            _ => groups
                .last_mut()
                .expect("there is always one")
                .push(word.clone()),
        }
    }
    asked.groups = match groups.as_slice() {
        [alone] => alone.iter().map(|name| vec![name.clone()]).collect(),
        _ => groups,
    };
    match asked.groups.len() {
        0 | 1 => Err("two results or more are compared: fathom compare BEFORE AFTER".to_owned()),
        _ if asked.groups.iter().any(Vec::is_empty) => {
            Err("there is nothing on one side of `--`".to_owned())
        }
        _ => Ok(asked),
    }
}

fn compared(asked: &CompareArgs) -> Result<Outcome, String> {
    let mut comparison = all(asked)?;
    comparison.settings = settings(asked);
    refuse_unlike(asked, &comparison)?;
    refuse_idle_limits(asked, &comparison)?;
    let style = screen::style(std::io::stdout().is_terminal(), "");
    let mut text = fathom_report::comparison(&comparison, &style);
    let broken: Vec<String> = comparison
        .rows
        .iter()
        .filter_map(|row| broken(asked, row))
        .collect();
    for words in &broken {
        text += &format!("\nToo much: {words}\n");
    }
    if let Some(file) = &asked.markdown {
        write(file, &fathom_report::comparison_markdown(&comparison))?;
    }
    if let Some(file) = &asked.junit {
        write(
            file,
            &fathom_report::comparison_junit(&comparison, &|row| self::broken(asked, row)),
        )?;
    }
    Ok(match print(&text) {
        Outcome::Good if !broken.is_empty() => Outcome::Bad,
        outcome => outcome,
    })
}

/// Every group against the first; where there are several, each job has the name of its group before its own.
fn all(asked: &CompareArgs) -> Result<Comparison, String> {
    let group = |names: &Vec<String>| {
        names
            .iter()
            .map(|name| run(name, &asked.store))
            .collect::<Result<Vec<_>, _>>()
    };
    let first = group(&asked.groups[0])?;
    let mut whole = Comparison::default();
    for names in &asked.groups[1..] {
        let mut one = compare_repeats(&first, &group(names)?);
        if one.rows.is_empty() {
            let alone = one.alone.join(", ");
            return Err(format!(
                "the results have no job in common ({alone}); jobs are matched by their name"
            ));
        }
        if asked.groups.len() > 2 {
            let label = names.join(" ");
            let named = |name: &mut String| *name = format!("{label}: {name}");
            one.rows.iter_mut().for_each(|row| named(&mut row.job));
            one.unlike
                .iter_mut()
                .for_each(|unlike| named(&mut unlike.job));
            one.alone.iter_mut().for_each(named);
        }
        whole.rows.extend(one.rows);
        whole.unlike.extend(one.unlike);
        whole.alone.extend(one.alone);
        whole.repeats = whole.repeats.or(one.repeats);
    }
    Ok(whole)
}

/// The jobs of a file, a folder or a run that is kept.
fn run(name: &str, store: &StoreChoice) -> Result<Vec<ComparedRun>, String> {
    if !Path::new(name).exists() && is_run(name) {
        return of_store(name, store);
    }
    let all = read(&[name.to_owned()])?;
    if all.findings.is_empty() {
        return Err(all
            .troubles
            .into_iter()
            .next()
            .unwrap_or_else(|| format!("{name}: there is no result in it")));
    }
    all.troubles
        .iter()
        .for_each(|line| eprint_line!("fathom compare: left out: {}", line.escape_debug()));
    let several = all.findings.len() > 1;
    Ok(all
        .findings
        .iter()
        .flat_map(|one| named(measured(one), several.then(|| stem(one, name))))
        .collect())
}

/// The jobs of one result, with a name before theirs where results would be mistaken for each other.
fn named(mut jobs: Vec<ComparedRun>, before: Option<String>) -> Vec<ComparedRun> {
    let alone = jobs.len() == 1;
    for job in &mut jobs {
        match &before {
            Some(name) if alone => job.name.clone_from(name),
            Some(name) => job.name = format!("{name}: {}", job.name),
            None => {}
        }
    }
    jobs
}

/// The name of a result's file within its folder, without its ending.
fn stem(one: &Findings, folder: &str) -> String {
    let file = one.sources.first().map_or("", String::as_str);
    let within = file
        .strip_prefix(folder.trim_end_matches('/'))
        .unwrap_or(file)
        .trim_start_matches('/');
    within
        .rsplit_once('.')
        .map_or(within, |(name, _)| name)
        .to_owned()
}

fn of_store(name: &str, wish: &StoreChoice) -> Result<Vec<ComparedRun>, String> {
    let mut jobs = Vec::new();
    each_kept(name, wish, &mut |run, cell, findings| {
        let axes: Vec<String> = cell
            .axes
            .iter()
            .map(|(axis, value)| format!("{axis}={value}"))
            .collect();
        let label = if axes.is_empty() {
            format!("cell {}", cell.position)
        } else {
            axes.join(" ")
        };
        let several = run.cells > 1 && !name.contains('.');
        jobs.extend(named(measured(&findings), several.then_some(label)));
        Ok(())
    })?;
    if jobs.is_empty() {
        Err(format!("{name}: nothing was measured in it"))
    } else {
        Ok(jobs)
    }
}

fn refuse_unlike(asked: &CompareArgs, comparison: &Comparison) -> Result<(), String> {
    if asked.unlike || comparison.unlike.is_empty() {
        return Ok(());
    }
    let differing = fathom_report::differing(comparison).join("\n  ");
    Err(format!(
        "the plans differ, so the figures may differ for that alone:\n  {differing}\n--unlike compares them all the same"
    ))
}

/// A limit on a figure that is not there would never fail.
fn refuse_idle_limits(asked: &CompareArgs, comparison: &Comparison) -> Result<(), String> {
    let Some((text, _)) = asked
        .limits
        .iter()
        .find(|(_, limit)| comparison.rows.iter().all(|row| row.metric != limit.metric))
    else {
        return Ok(());
    };
    let mut there: Vec<String> = Vec::new();
    for row in &comparison.rows {
        let name = row.metric.to_string();
        if !there.contains(&name) {
            there.push(name);
        }
    }
    Err(format!(
        "--fail-if={}: not both results have that figure; they have {}",
        text.escape_debug(),
        there.join(", ")
    ))
}

/// Which limit `row` breaks, in words.
fn broken(asked: &CompareArgs, row: &Row) -> Option<String> {
    let (text, _) = asked
        .limits
        .iter()
        .find(|(_, limit)| limit.is_broken_by(row))?;
    let (job, way, change) = (&row.job, row.direction.word(), 100.0 * row.change);
    Some(
        format!(
            "{job}: {way} {} changed by {change:+.1} %, beyond --fail-if={text}",
            row.metric
        )
        .escape_debug()
        .to_string(),
    )
}

/// Queue settings that differ between two files; nothing is known of those of folders, logs and groups.
fn settings(asked: &CompareArgs) -> Vec<Unlike> {
    let read = |names: &[String]| match names {
        [one] if Path::new(one).is_file() => {
            read_settings(&crate::result_file::read(one).ok()?).ok()
        }
        _ => None,
    };
    let known: Vec<QueueSettings> = asked
        .groups
        .iter()
        .filter_map(|names| read(names))
        .collect();
    match (asked.groups.len(), known.as_slice()) {
        (2, [before, after]) => unlike_settings(before, after),
        _ => Vec::new(),
    }
}

fn write(file: &str, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{file} cannot be written: {error}"))
}
