//! The findings of all results: each code once, grouped by cause, the worst first.

use std::collections::BTreeSet;

use fathom_model::{JobFigures, JobFinding, ReportBlock, ReportFinding};

use super::device::Device;
use super::workload::generated;
use crate::catalogue::{Category, FINDINGS, explain};

/// Names of jobs or devices with a finding; the rest is counted.
const MAX_NAMES: usize = 14;

struct Merged<'a> {
    finding: &'a JobFinding,
    evidence: BTreeSet<&'a str>,
    /// Device and job.
    about: Vec<(usize, String)>,
}

/// The blocks of the section: a heading for each cause, and its findings.
pub(super) fn blocks(devices: &[Device]) -> Vec<ReportBlock> {
    let mut all = merged(devices);
    // The sort is stable: findings about more jobs first, then the order of the results.
    all.sort_by_key(|one| std::cmp::Reverse((one.finding.severity, one.about.len())));
    let mut causes: Vec<(String, Vec<ReportBlock>)> = Vec::new();
    for one in &all {
        let cause = match (cause(&one.finding.code), one.finding.severity) {
            // Notes come last, whatever their cause.
            (cause, 0) => format!("Notes: {}", cause.to_lowercase()),
            (cause, _) => cause.to_owned(),
        };
        let block = ReportBlock::Finding(report_finding(one, devices));
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, blocks)) => blocks.push(block),
            None => causes.push((cause, vec![block])),
        }
    }
    causes
        .into_iter()
        .flat_map(|(cause, blocks)| std::iter::once(ReportBlock::Heading(cause)).chain(blocks))
        .collect()
}

/// The worst finding: the reason of the verdict.
pub(super) fn worst(devices: &[Device]) -> Option<(String, u8)> {
    let all = merged(devices);
    let worst = all
        .iter()
        .max_by_key(|one| (one.finding.severity, one.about.len()))?;
    (worst.finding.severity > 0).then(|| (worst.finding.evidence.clone(), worst.finding.severity))
}

/// What was found in plain words and the advice, of findings that degrade or invalidate, worst first.
pub(super) fn advice(devices: &[Device]) -> Vec<String> {
    let mut all = merged(devices);
    all.retain(|one| one.finding.severity > 0 && !one.finding.advice.is_empty());
    all.sort_by_key(|one| std::cmp::Reverse((one.finding.severity, one.about.len())));
    let mut texts: Vec<String> = Vec::new();
    for one in all {
        let text = step(&one.finding.code, &one.finding.advice);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// An advice that is read without its finding: "do not use these percentiles" says which.
fn step(code: &str, advice: &str) -> String {
    let meaning = explain(code).map_or("", |kind| kind.meaning);
    match meaning.split_inclusive(". ").next().map(str::trim_end) {
        Some(first) if !first.is_empty() => format!("{first} {advice}"),
        _ => advice.to_owned(),
    }
}

fn merged<'a>(devices: &'a [Device]) -> Vec<Merged<'a>> {
    let mut all: Vec<Merged<'a>> = Vec::new();
    let unnamed: Vec<bool> = devices.iter().map(has_equal_names).collect();
    let mut known = std::collections::HashMap::new();
    for (device, job) in devices
        .iter()
        .enumerate()
        .flat_map(|(n, device)| device.jobs.iter().map(move |job| (n, job)))
    {
        for finding in &job.findings {
            let place = *known.entry(finding.code.as_str()).or_insert(all.len());
            if place == all.len() {
                all.push(Merged {
                    finding,
                    evidence: BTreeSet::new(),
                    about: Vec::new(),
                });
            }
            let one = &mut all[place];
            if finding.severity > one.finding.severity {
                one.finding = finding;
            }
            one.evidence.insert(&finding.evidence);
            let about = (device, name(job, unnamed[device]));
            if !one.about.contains(&about) {
                one.about.push(about);
            }
        }
    }
    all
}

/// Whether the names do not tell the jobs of a device apart.
fn has_equal_names(device: &Device) -> bool {
    let names: BTreeSet<&str> = device.jobs.iter().map(|job| job.name.as_str()).collect();
    names.len() < device.jobs.len()
}

fn name(job: &JobFigures, is_unnamed: bool) -> String {
    if is_unnamed || job.name.is_empty() {
        generated(job)
    } else {
        job.name.clone()
    }
}

fn report_finding(one: &Merged, devices: &[Device]) -> ReportFinding {
    let mut about: Vec<String> = if devices.len() > 1 {
        let affected: BTreeSet<usize> = one.about.iter().map(|(device, _)| *device).collect();
        affected
            .into_iter()
            .map(|device| devices[device].name.clone())
            .collect()
    } else {
        one.about.iter().map(|(_, job)| job.clone()).collect()
    };
    let jobs: BTreeSet<String> = devices
        .iter()
        .flat_map(|device| {
            let is_unnamed = has_equal_names(device);
            device.jobs.iter().map(move |job| name(job, is_unnamed))
        })
        .collect();
    if devices.len() == 1 && about.len() > 1 && about.len() == jobs.len() {
        about = vec![format!("all {} jobs", about.len())];
    } else if about.len() > MAX_NAMES {
        let more = about.len() - (MAX_NAMES - 1);
        about.truncate(MAX_NAMES - 1);
        about.push(format!("{more} more"));
    }
    let mut evidence = one.finding.evidence.clone();
    if one.evidence.len() > 1 {
        evidence += &format!(
            " ({} more like this, with other figures)",
            one.evidence.len() - 1
        );
    }
    ReportFinding {
        name: format!("{} {}", one.finding.id, one.finding.code),
        severity: one.finding.severity,
        about,
        evidence,
        advice: one.finding.advice.clone(),
    }
}

/// What a finding is about, as a heading.
fn cause(code: &str) -> &'static str {
    let kind = FINDINGS.iter().find(|kind| kind.code == code);
    match kind.map(|kind| kind.category) {
        Some(Category::Integrity) => "Errors and contradictions",
        Some(Category::Generator) => "Load generator",
        Some(Category::Host) => "Host",
        Some(Category::Target) => "Device and its path",
        Some(Category::Plan) => "Job file",
        Some(Category::Statistics) => "Statistics",
        Some(Category::Published) => "Published results",
        None => "Other findings",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 1401: "Do not use these percentiles" stood under "What to do next" without saying which.
    #[test]
    fn a_step_says_what_was_found() {
        assert_eq!(
            step("FIO_BINS_CLAMPED", "Do not use these percentiles."),
            "Latencies of 17.2 s and more share the last bin of fio's format. Do not use these percentiles."
        );
        let verify = step("VERIFY_FAILED", "Stop.");
        assert_eq!(
            verify, "Blocks read back differ from the data written. Stop.",
            "the first sentence of a long meaning"
        );
        assert_eq!(step("NO_SUCH_CODE", "Run again."), "Run again.");
    }
}
