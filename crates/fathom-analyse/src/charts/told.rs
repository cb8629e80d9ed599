//! One result as it was written down, by whichever program: what a report takes from it.

use fathom_model::{Findings, Verdict};

use super::JobFigures;
use super::clones::together;

/// One result as it was written down, by whichever program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// What to call it.
    pub source: String,
    /// Its jobs.
    pub jobs: Vec<JobFigures>,
    /// `valid`, `degraded`, `invalid`, where it was judged.
    pub verdict: Option<String>,
    /// What it says of itself in words, job by job.
    pub stories: Vec<String>,
    /// Device, host, conditions: headings with names and values.
    pub facts: Vec<(String, Vec<(String, String)>)>,
    /// What was run, in full.
    pub plan: String,
}

impl Told {
    /// What an imported result says.
    #[must_use]
    pub fn of_imported(findings: &Findings, source: &str) -> Told {
        let mut pairs = Vec::new();
        if let Some(from) = &findings.imported {
            let mut add = |name: &str, value: String| {
                if !value.is_empty() {
                    pairs.push((name.to_owned(), value))
                }
            };
            add("Written by", from.program.clone());
            add("Read from", files(&from.files));
            add("Not known", from.unknown.join(", "));
            add("Noticed while reading", from.notes.join("; "));
        }
        let mut facts = vec![("Measurement".to_owned(), pairs)];
        facts.retain(|(_, pairs)| !pairs.is_empty());
        let jobs: Vec<JobFigures> = JobFigures::of(findings, source)
            .into_iter()
            .filter(|job| !job.ways.is_empty())
            .collect();
        let judged = !findings.findings.is_empty();
        Told {
            source: source.to_owned(),
            jobs,
            verdict: judged.then(|| word(findings.verdict).to_owned()),
            stories: Vec::new(),
            facts,
            plan: plan(findings),
        }
    }
}

/// The jobs of all results, each with the number of its result; clones that are told one by one are one.
#[must_use]
pub fn jobs_of(told: &[Told]) -> Vec<JobFigures> {
    let numbered = |(result, one): (usize, &Told)| {
        one.jobs
            .iter()
            .map(move |job| JobFigures {
                result,
                ..job.clone()
            })
            .collect::<Vec<_>>()
    };
    together(told.iter().enumerate().flat_map(numbered).collect())
}

fn files(all: &[String]) -> String {
    match all {
        [first, .., last] if all.len() > 6 => format!("{first} to {last}, {} files", all.len()),
        all => all.join(", "),
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::Degraded => "degraded",
        Verdict::Invalid => "invalid",
    }
}

/// The jobs as a job file, from the options that the result repeats.
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
