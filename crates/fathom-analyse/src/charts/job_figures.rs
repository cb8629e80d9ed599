//! Figures of the jobs of a result, for charts and reports.

use fathom_model::{
    Direction, DirectionFigures, Entry, Finding, Findings, JobFigures, JobFinding, Personality,
    latency_classes,
};

/// The figures of every job of a result; `source` is its name.
#[must_use]
pub fn job_figures(findings: &Findings, source: &str) -> Vec<JobFigures> {
    findings
        .entries
        .iter()
        .map(|entry| of_entry(findings, entry, source))
        .collect()
}

fn of_entry(findings: &Findings, entry: &Entry, source: &str) -> JobFigures {
    let used = entry
        .directions
        .iter()
        .filter(|(_, summary)| summary.ios > 0 || summary.iops > 0.0);
    let block = entry
        .block_sizes
        .iter()
        .zip(entry.directions.iter())
        .find(|(_, (_, summary))| summary.ios > 0);
    let about = |finding: &&Finding| {
        finding
            .about
            .as_ref()
            .is_none_or(|name| *name == entry.name)
    };
    let option = |name: &str| {
        let value = |all: &[(String, Option<String>)]| {
            all.iter()
                .find(|(known, _)| known == name)
                .and_then(|(_, value)| value.clone())
        };
        value(&entry.options).or_else(|| value(&findings.globals))
    };
    let named = Named::of(&entry.name).filter(|_| entry.rw.is_empty());
    // In fathom's own runs clat starts with the submission and is what fio calls lat.
    let own_clat = findings.personality == Personality::Fathom && findings.imported.is_none();
    JobFigures {
        latency_name: latency_name(entry),
        source: source.to_owned(),
        name: entry.name.clone(),
        host: JobFigures::host_of(
            &entry.name,
            findings.hosts.iter().map(|host| host.name.as_str()),
        ),
        description: entry.description.clone().unwrap_or_default(),
        commits: ["fsync", "fdatasync", "sync"]
            .into_iter()
            .any(|name| option(name).is_some_and(|value| !matches!(value.trim(), "0" | "none"))),
        rw: named
            .as_ref()
            .map_or_else(|| entry.rw.clone(), |named| named.rw.clone()),
        engine: entry.engine.clone(),
        block: block
            .and_then(|((_, (low, high)), _)| (low == high && *low > 0).then_some(u64::from(*low))),
        depth: (entry.depth > 0)
            .then_some(entry.depth)
            .or(named.as_ref().map(|named| named.depth)),
        jobs: Some(
            named
                .as_ref()
                .map_or(entry.members.max(1), |named| named.jobs),
        ),
        mix: mix(
            entry.directions[Direction::Read].ios,
            entry.directions[Direction::Write].ios,
        ),
        offered: option("rate_iops")
            .and_then(|text| size(text.split(',').find(|part| !part.trim().is_empty())?))
            .map(|rate| rate as f64),
        directions: used
            .map(|(direction, summary)| of_direction(direction, summary, own_clat))
            .collect(),
        // Imported results have zeros where nothing was measured.
        cpu: Some((entry.user_percent, entry.system_percent))
            .filter(|(user, system)| user + system > 0.0),
        series: entry.series.clone(),
        steady: entry
            .steady
            .iter()
            .flat_map(|s| &s.recording.samples)
            .map(|sample| sample.iops as f64)
            .collect(),
        findings: findings
            .findings
            .iter()
            .filter(about)
            .map(job_finding)
            .collect(),
        result: 0,
        clones: option("numjobs")
            .and_then(|text| text.trim().parse().ok())
            .filter(|clones| *clones > 1 && entry.members <= 1),
        offset: option("offset").and_then(|text| size(&text)),
        region: ["filesize", "size"]
            .into_iter()
            .find_map(|name| size(&option(name)?)),
        rate: option("rate")
            .and_then(|text| size(text.split(',').find(|part| !part.trim().is_empty())?))
            .map(|rate| rate as f64),
        observed: None,
        blame: Vec::new(),
        classes: latency_classes(&entry.latency_ns, &entry.latency_us, &entry.latency_ms),
    }
}

/// Which latency the figures of an entry are, as in [`of_direction`].
fn latency_name(entry: &Entry) -> &'static str {
    let used = || entry.directions.0.iter().filter(|one| one.ios > 0);
    if used().any(|one| one.response.as_ref().is_some_and(|response| response.n > 0)) {
        "response latency"
    } else if used().any(|one| one.clat.n > 0) {
        "completion latency (clat)"
    } else if used().any(|one| one.lat.n > 0) {
        "total latency (lat)"
    } else {
        ""
    }
}

/// Properties in bench-fio's names of logs: `randread-iodepth-16-numjobs-4`.
struct Named {
    rw: String,
    depth: u32,
    jobs: u32,
}

impl Named {
    fn of(name: &str) -> Option<Named> {
        let (rw, rest) = name.split_once("-iodepth-")?;
        let (depth, jobs) = rest.split_once("-numjobs-")?;
        let digits = |text: &str| {
            text.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
                .parse()
                .ok()
        };
        Some(Named {
            rw: rw.to_owned(),
            depth: digits(depth)?,
            jobs: digits(jobs)?,
        })
    }
}

/// `4096`, `4k`, `1m`: a number of bytes in a result of fio; k is 1024.
pub(crate) fn size(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &lower[digits.len()..] {
        "" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << power)
}

fn mix(reads: u64, writes: u64) -> Option<u32> {
    (reads > 0 && writes > 0)
        .then(|| (100.0 * reads as f64 / (reads + writes) as f64).round() as u32)
}

fn of_direction(
    direction: Direction,
    summary: &fathom_model::DirectionSummary,
    own_clat: bool,
) -> DirectionFigures {
    let user_latency = summary.response.as_ref().filter(|response| response.n > 0);
    let fallback = if summary.clat.n > 0 {
        &summary.clat
    } else {
        &summary.lat
    };
    let samples = &summary.iops_samples;
    DirectionFigures {
        direction,
        iops: summary.iops,
        iops_spread: (samples.count > 1).then_some((samples.dev, samples.count)),
        bandwidth: summary.bandwidth,
        ios: summary.ios,
        latency: user_latency.unwrap_or(fallback).clone(),
        slat: (summary.slat.n > 0).then_some(summary.slat.mean),
        lat: if summary.lat.n > 0 {
            Some(summary.lat.mean)
        } else {
            (own_clat && summary.clat.n > 0).then_some(summary.clat.mean)
        },
    }
}

fn job_finding(finding: &Finding) -> JobFinding {
    JobFinding {
        id: finding.id.to_owned(),
        code: finding.code.to_owned(),
        severity: finding.weight as u8,
        evidence: finding.evidence.clone(),
        advice: finding.advice.clone(),
        when: finding.when.clone(),
    }
}
