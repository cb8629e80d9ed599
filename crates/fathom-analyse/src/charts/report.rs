//! A report of one or several results: its sections and charts.

use std::collections::BTreeSet;

use fathom_model::{
    Chart, ChartOptions, Dimension, JobFigures, JobFinding, Report, ReportFinding, ReportSource,
    StoredAnswer, Verdict,
};

use super::report_source::jobs_of;
use super::unit::duration_label;
use super::{CHARTS, chart};
use crate::figures::{bytes, counted, rate};

/// Limit of loads with separate charts.
const MAX_LOADS: usize = 8;
/// Limit of jobs that are drawn over time.
const MAX_JOBS_OVER_TIME: usize = 600;
/// With more jobs their summaries follow the charts, at most [`MAX_SUMMARIES`] of them.
const FEW_SUMMARIES: usize = 3;
const MAX_SUMMARIES: usize = 60;
/// Limit of results whose device, host and plan are listed.
const MAX_DETAILED_RESULTS: usize = 12;
/// Points of one line over time in a report with very many jobs.
const FEW_POINTS: usize = 160;
/// Blocks in the strip below the chart.
const FEW_BLOCKS: usize = 24;

/// The report of all `sources`.
#[must_use]
pub fn report(sources: &[ReportSource], title: Option<&str>) -> Report {
    let mut jobs: Vec<JobFigures> = jobs_of(sources);
    if sources.len() > 1 {
        // Files are in the order of their names, in which 16 is before 2.
        jobs.sort_by(|a, b| order(a).cmp(&order(b)));
    }
    let mut notes = Vec::new();
    if sources.len() > MAX_DETAILED_RESULTS {
        notes.push(format!(
            "Device, host and plan are listed for the first {MAX_DETAILED_RESULTS} of {} results.",
            sources.len()
        ));
    }
    let answers: Vec<&StoredAnswer> = sources
        .iter()
        .filter_map(|one| one.search.as_ref())
        .collect();
    let charts = charts(&jobs, &answers, &mut notes);
    Report {
        title: title.map_or_else(|| default_title(sources), str::to_owned),
        verdict: worst(sources),
        summary: answers
            .iter()
            .flat_map(|answer| answer.sentences.iter().cloned())
            .chain(summary(sources, &jobs))
            .collect(),
        findings: findings(&jobs),
        facts: facts(sources),
        figures: figures(&jobs),
        charts,
        over_time: over_time(&jobs, &mut notes),
        over_time_derived: super::time::DERIVED.to_owned(),
        plans: plans(sources),
        notes,
    }
}

fn order(
    job: &JobFigures,
) -> (
    &str,
    &str,
    Option<u64>,
    Option<u32>,
    Option<u32>,
    Option<u32>,
) {
    (
        &job.source,
        &job.rw,
        job.block,
        job.mix,
        job.depth,
        job.jobs,
    )
}

fn default_title(sources: &[ReportSource]) -> String {
    let mut sources: Vec<&str> = sources
        .iter()
        .map(|one| one.source.as_str())
        .filter(|source| !source.is_empty())
        .collect();
    sources.dedup();
    match sources.as_slice() {
        [] => "Storage benchmark".to_owned(),
        [one] => format!("Storage benchmark: {one}"),
        [first, .., last] if sources.len() > 3 => format!(
            "Storage benchmark: {first} to {last}, {} results",
            sources.len()
        ),
        all => format!("Storage benchmark: {}", all.join(", ")),
    }
}

fn worst(sources: &[ReportSource]) -> Option<String> {
    let rank = |verdict: &&String| {
        Verdict::ALL
            .iter()
            .position(|known| known.name() == *verdict)
    };
    sources
        .iter()
        .filter_map(|one| one.verdict.as_ref())
        .max_by_key(rank)
        .cloned()
}

/// The best figures, and then the summaries of the results.
fn summary(sources: &[ReportSource], jobs: &[JobFigures]) -> Vec<String> {
    let mut sentences = Vec::new();
    let results = if sources.len() == 1 {
        "1 result".to_owned()
    } else {
        format!("{} results", sources.len())
    };
    let best = |dimension: Dimension| {
        let of = |job: &JobFigures| dimension.of(job, None);
        jobs.iter()
            .filter(|job| of(job).is_some())
            .max_by(|a, b| of(a).unwrap_or(0.0).total_cmp(&of(b).unwrap_or(0.0)))
    };
    if let (Some(highest_iops), Some(highest_bandwidth)) =
        (best(Dimension::Iops), best(Dimension::Bandwidth))
    {
        let bandwidth = Dimension::Bandwidth
            .of(highest_bandwidth, None)
            .unwrap_or(0.0);
        sentences.push(format!(
            "{results} with {}. Highest IOPS: {} ({}). Highest bandwidth: {}/s ({}).",
            counted(jobs.len() as u64, "job"),
            rate(highest_iops.iops()),
            job_summary(highest_iops),
            bytes(bandwidth as u64),
            job_summary(highest_bandwidth),
        ));
    }
    let fastest_tail = jobs
        .iter()
        .filter_map(|job| Some((job, Dimension::Percentile(99.0).of(job, None)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((job, p99)) = fastest_tail {
        sentences.push(format!(
            "Lowest p99 latency: {} ({}).",
            duration_label(p99),
            job_summary(job)
        ));
    }
    sentences.extend(sources.iter().filter_map(|one| one.answer.clone()));
    if let Some(summaries) = few_summaries(sources) {
        sentences.extend(summaries);
    }
    sentences
}

/// The summaries of the jobs, if they are few enough to precede the findings.
fn few_summaries(sources: &[ReportSource]) -> Option<Vec<String>> {
    let summaries: Vec<String> = sources
        .iter()
        .flat_map(|one| &one.summaries)
        .cloned()
        .collect();
    (summaries.len() <= FEW_SUMMARIES).then_some(summaries)
}

/// The summaries of very many jobs, as a section.
fn summaries(sources: &[ReportSource]) -> Option<(String, Vec<(String, String)>)> {
    let all = sources.iter().flat_map(|one| {
        one.summaries
            .iter()
            .map(|summary_sentences| (one.source.clone(), summary_sentences.clone()))
    });
    few_summaries(sources).is_none().then(|| {
        (
            "Summary of each job".to_owned(),
            all.take(MAX_SUMMARIES).collect(),
        )
    })
}

fn job_summary(job: &JobFigures) -> String {
    let mut parts = vec![job.name.clone(), job.rw.clone()];
    parts.extend(job.block.map(bytes));
    parts.extend(job.depth.map(|depth| format!("depth {depth}")));
    parts.extend(
        job.jobs
            .filter(|jobs| *jobs > 1)
            .map(|jobs| format!("{jobs} jobs")),
    );
    parts.retain(|part| !part.is_empty());
    parts.dedup();
    parts.join(", ")
}

/// Findings of one code about several jobs are merged: the most severe evidence, and the number of
/// others.
fn findings(jobs: &[JobFigures]) -> Vec<ReportFinding> {
    let mut all: Vec<(ReportFinding, BTreeSet<&str>)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for job in jobs {
        for finding in &job.findings {
            let name = format!("{} {}", finding.id, finding.code);
            let place = *known.entry(name.clone()).or_insert(all.len());
            if place == all.len() {
                all.push((
                    ReportFinding {
                        name,
                        ..report_finding(finding)
                    },
                    BTreeSet::new(),
                ));
            }
            let (merged, sentences) = &mut all[place];
            if finding.severity > merged.severity {
                *merged = ReportFinding {
                    name: std::mem::take(&mut merged.name),
                    about: std::mem::take(&mut merged.about),
                    ..report_finding(finding)
                };
            }
            sentences.insert(&finding.evidence);
            let about = if jobs.len() > 1 {
                job_summary(job)
            } else {
                job.name.clone()
            };
            if !merged.about.contains(&about) {
                merged.about.push(about);
            }
        }
    }
    let counted = |(mut finding, sentences): (ReportFinding, BTreeSet<&str>)| {
        if sentences.len() > 1 {
            finding.evidence += &format!(
                " ({} more like this, with other figures)",
                sentences.len() - 1
            );
        }
        finding
    };
    let mut all: Vec<ReportFinding> = all.into_iter().map(counted).collect();
    all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    all
}

fn report_finding(finding: &JobFinding) -> ReportFinding {
    ReportFinding {
        severity: finding.severity,
        evidence: finding.evidence.clone(),
        advice: finding.advice.clone(),
        ..ReportFinding::default()
    }
}

fn facts(sources: &[ReportSource]) -> Vec<(String, Vec<(String, String)>)> {
    let several = sources.len() > 1;
    let named = |one: &ReportSource, heading: &str| {
        if several && !one.source.is_empty() {
            format!("{heading}: {}", one.source)
        } else {
            heading.to_owned()
        }
    };
    let mut all: Vec<(String, Vec<(String, String)>)> = summaries(sources).into_iter().collect();
    for one in sources.iter().take(MAX_DETAILED_RESULTS) {
        for (heading, pairs) in &one.facts {
            // Equal facts of several results are listed once.
            if !all.iter().any(|(_, known)| known == pairs) {
                all.push((named(one, heading), pairs.clone()));
            }
        }
    }
    all
}

fn plans(sources: &[ReportSource]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for one in sources
        .iter()
        .filter(|one| !one.plan.is_empty())
        .take(MAX_DETAILED_RESULTS)
    {
        if !all.iter().any(|(_, known)| *known == one.plan) {
            all.push((one.source.clone(), one.plan.clone()));
        }
    }
    all
}

/// The most important figures of every job.
fn figures(jobs: &[JobFigures]) -> Vec<Vec<String>> {
    let head = [
        "Result",
        "Job",
        "Pattern",
        "Block",
        "Depth",
        "Jobs",
        "Direction",
        "IOPS",
        "Bandwidth",
        "Mean",
        "p50",
        "p99",
        "p99.9",
        "Maximum",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for job in jobs {
        for direction_figures in &job.directions {
            let latency = |dimension: Dimension| {
                dimension
                    .of(job, Some(direction_figures.direction))
                    .map_or("–".to_owned(), duration_label)
            };
            let number =
                |value: Option<u32>| value.map_or("–".to_owned(), |value| value.to_string());
            rows.push(vec![
                job.source.clone(),
                job.name.clone(),
                job.rw.clone(),
                job.block.map_or("–".to_owned(), bytes),
                number(job.depth),
                number(job.jobs),
                direction_figures.direction.name().to_owned(),
                rate(direction_figures.iops),
                format!("{}/s", bytes(direction_figures.bandwidth as u64)),
                latency(Dimension::Mean),
                latency(Dimension::Percentile(50.0)),
                latency(Dimension::Percentile(99.0)),
                latency(Dimension::Percentile(99.9)),
                latency(Dimension::Max),
            ]);
        }
    }
    rows
}

/// The charts with enough data, separately for each load if there are several.
fn charts(
    jobs: &[JobFigures],
    answers: &[&StoredAnswer],
    notes: &mut Vec<String>,
) -> Vec<(Chart, String)> {
    let mut made = Vec::new();
    let mut add = |name: &str, jobs: &[JobFigures], options: &ChartOptions| {
        let kind = CHARTS.iter().find(|kind| kind.name == name);
        if let (Some(kind), Ok(chart)) = (kind, chart(name, jobs, options)) {
            made.push((chart, kind.derived.to_owned()));
        }
    };
    let all = ChartOptions::default();
    // The load chart of a search shows its answer.
    let with_answer = |load: &[JobFigures]| {
        let own = answers
            .iter()
            .find(|answer| load.iter().any(|job| job.source == answer.run));
        ChartOptions {
            slo: own.map(|answer| answer.slo),
            answer: own.map(|answer| answer.load),
            ..ChartOptions::default()
        }
    };
    let loads = loads(jobs);
    if loads.len() > MAX_LOADS {
        notes.push(format!("Charts of single loads are drawn for the first {MAX_LOADS} of {}; `fathom plot` draws the others.", loads.len()));
    }
    if (2..=48).contains(&jobs.len()) {
        add("compare", jobs, &all);
    }
    for load in loads.iter().take(MAX_LOADS) {
        let count = |value: fn(&JobFigures) -> Option<u32>| distinct(load.iter().map(value));
        let (depths, clones) = (count(|job| job.depth), count(|job| job.jobs));
        match (depths > 1, clones > 1) {
            (true, true) => ["heat", "3d", "load"]
                .into_iter()
                .for_each(|name| add(name, load, &all)),
            (true, false) => {
                add("depth", load, &all);
                add("load", load, &with_answer(load));
            }
            (false, true) => ["jobs", "load"]
                .into_iter()
                .for_each(|name| add(name, load, &all)),
            (false, false) => {}
        }
        if load.len() >= 5 && depths == 1 && clones == 1 {
            ["convergence", "window"]
                .into_iter()
                .for_each(|name| add(name, load, &all));
        }
    }
    if distinct(jobs.iter().map(|job| job.block)) > 2 {
        add("block", jobs, &all);
    }
    if distinct(jobs.iter().map(|job| job.mix)) > 2 {
        add("interference", jobs, &all);
    }
    if jobs.len() <= 10 {
        ["distribution", "percentiles", "latency-map"]
            .into_iter()
            .for_each(|name| add(name, jobs, &all));
    }
    if jobs.len() <= 48 {
        add("cpu", jobs, &all);
    }
    made
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<BTreeSet<T>>().len()
}

/// Jobs with the same source, pattern, block size and mix, in order of first appearance.
fn loads(jobs: &[JobFigures]) -> Vec<Vec<JobFigures>> {
    let mut all: Vec<Vec<JobFigures>> = Vec::new();
    let key = |job: &JobFigures| (job.source.clone(), job.rw.clone(), job.block, job.mix);
    let mut known = std::collections::HashMap::new();
    for job in jobs {
        let place = *known.entry(key(job)).or_insert(all.len());
        if place == all.len() {
            all.push(Vec::new());
        }
        all[place].push(job.without_series());
    }
    all.retain(|load| load.len() > 1);
    all
}

/// A chart of throughput and one of latencies for each job; with fewer points if there are very
/// many jobs.
fn over_time(jobs: &[JobFigures], notes: &mut Vec<String>) -> Vec<Chart> {
    let with: Vec<&JobFigures> = jobs.iter().filter(|job| job.series.len() > 1).collect();
    if with.len() > MAX_JOBS_OVER_TIME {
        notes.push(format!(
            "The first {MAX_JOBS_OVER_TIME} of {} jobs are drawn over time.",
            with.len()
        ));
    }
    let many = with.len() > 24;
    let mut made = Vec::new();
    for job in with.iter().take(MAX_JOBS_OVER_TIME) {
        let this = std::slice::from_ref(*job);
        let subtitle = Some(
            [job.source.clone(), job_summary(job)]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" · "),
        );
        let options = ChartOptions {
            subtitle,
            ..ChartOptions::default()
        };
        let names: &[&str] = if many {
            &["time"]
        } else {
            &["time", "time-latency"]
        };
        for name in names {
            if let Ok(mut chart) = chart(name, this, &options) {
                if many {
                    reduce_points(&mut chart);
                }
                made.push(chart);
            }
        }
    }
    made
}

fn reduce_points(chart: &mut Chart) {
    if let fathom_model::ChartBody::Series(all) = &mut chart.body {
        // A line with a band has few points already.
        all.iter_mut()
            .filter(|series| series.intervals.is_empty())
            .for_each(|series| series.points = super::thin(&series.points, FEW_POINTS));
    }
    // The most severe are kept.
    chart
        .events
        .sort_by_key(|one| std::cmp::Reverse(one.severity));
    chart.events.truncate(FEW_BLOCKS);
}
