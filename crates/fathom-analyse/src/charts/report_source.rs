//! Imported results as inputs of a report.

use fathom_model::format::{capacity, date_of_result};
use fathom_model::{DiskSummary, Findings, JobFigures, ReportSource, ReportSubject};

use super::clones::combined;
use super::job_figures::job_figures;

/// A report's view of an imported result.
#[must_use]
pub fn report_source(findings: &Findings, source: &str) -> ReportSource {
    let mut pairs = Vec::new();
    if let Some(from) = &findings.imported {
        let mut add = |name: &str, value: String| {
            if !value.is_empty() {
                pairs.push((name.to_owned(), value));
            }
        };
        add("Written by", from.program.clone());
        add("Read from", files(&from.files));
        add("Unknown", from.unknown.join(", "));
        add("Notes", from.notes.join("; "));
    }
    let mut facts = vec![("Measurement".to_owned(), pairs)];
    facts.retain(|(_, pairs)| !pairs.is_empty());
    let jobs: Vec<JobFigures> = job_figures(findings, source)
        .into_iter()
        .filter(|job| !job.directions.is_empty())
        .collect();
    ReportSource {
        source: source.to_owned(),
        jobs,
        verdict: Some(findings.verdict.name().to_owned()),
        answer: None,
        summaries: over_time(findings),
        facts,
        plan: plan(findings),
        search: None,
        subject: subject(findings),
    }
}

/// What was measured, where and when, as far as the result says.
fn subject(findings: &Findings) -> ReportSubject {
    let options = findings.entries.iter().flat_map(|entry| &entry.options);
    let named = options
        .chain(&findings.globals)
        .find(|(name, _)| name == "filename")
        .and_then(|(_, value)| value.clone());
    let disk = findings.disks.first();
    let seconds = findings.ended_unix_ms() / 1000;
    let size = disk.and_then(|disk| disk.size);
    ReportSubject {
        device: match &findings.host.simulated {
            Some(simulated) => format!("{} (simulated)", simulated.device),
            None => named
                .filter(|name| name.starts_with("/dev/"))
                .or(disk.map(|disk| disk.name.clone()))
                .unwrap_or_default(),
        },
        properties: size.map_or_else(String::new, capacity),
        date: date_of_result(seconds),
        program: findings
            .imported
            .as_ref()
            .map_or_else(String::new, |from| from.program.clone()),
        drives: drives(&findings.disks),
        ..ReportSubject::default()
    }
}

/// The number of drives, from fio's list of disks: an array of the kernel is followed by its members.
fn drives(disks: &[DiskSummary]) -> Option<u32> {
    let is_built = |disk: &&DiskSummary| {
        ["md", "dm-", "loop"]
            .iter()
            .any(|kind| disk.name.starts_with(kind))
    };
    let drives = disks.iter().filter(|disk| !is_built(disk)).count();
    u32::try_from(drives).ok().filter(|count| *count > 0)
}

/// How even each direction of an imported result is, in sentences.
fn over_time(findings: &Findings) -> Vec<String> {
    let directions = findings.imported.iter().flat_map(|from| &from.over_time);
    directions
        .filter_map(|one| {
            let entry = findings.entries.get(one.entry)?;
            Some(format!(
                "{}, {} over time: {one}.",
                entry.name,
                one.direction.name()
            ))
        })
        .collect()
}

/// The jobs of all results, each with the number of its result. Clones that are listed separately
/// become one.
#[must_use]
pub fn jobs_of(sources: &[ReportSource]) -> Vec<JobFigures> {
    let numbered = |(result, one): (usize, &ReportSource)| {
        one.jobs
            .iter()
            .map(move |job| JobFigures {
                result,
                ..job.clone()
            })
            .collect::<Vec<_>>()
    };
    combined(sources.iter().enumerate().flat_map(numbered).collect())
}

fn files(all: &[String]) -> String {
    match all {
        [first, .., last] if all.len() > 6 => format!("{first} to {last}, {} files", all.len()),
        all => all.join(", "),
    }
}

/// The jobs as a job file, from the options in the result.
fn plan(findings: &Findings) -> String {
    let mut text = String::new();
    let mut section = |name: &str, options: &[(String, Option<String>)]| {
        text += &format!("[{name}]\n");
        for (option, value) in options.iter().filter(|(option, _)| option != "name") {
            match value.as_deref() {
                Some("") | None => text += &format!("{option}\n"),
                Some(value) => text += &format!("{option}={value}\n"),
            }
        }
        text.push('\n');
    };
    if !findings.globals.is_empty() {
        section("global", &findings.globals);
    }
    findings
        .entries
        .iter()
        .filter(|entry| !entry.options.is_empty())
        .for_each(|entry| section(&entry.name, &entry.options));
    text.trim_end().to_owned()
}
