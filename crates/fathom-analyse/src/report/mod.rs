//! A report of one or several results: the answer first, then findings, charts, devices and details.

mod answer;
mod charts;
mod comparison;
mod device;
mod findings;
mod key_figures;
mod statement;
mod workload;

use fathom_model::{
    Dimension, JobFigures, Report, ReportBlock, ReportChart, ReportSection, ReportSource, RunId,
    StoredAnswer,
};

use self::comparison::{FEW, common_loads, questions, ranking, rates, sentences, wins};
use self::device::{Device, dates, devices};
use self::key_figures::{all_figures, key_figures};
use crate::charts::jobs_of;
use crate::figures::counted;

/// Loads that several devices share, with a chart each.
const MAX_OVERLAYS: usize = 4;
/// Loads of the matrices that replace them for many devices.
const MAX_MATRICES: usize = 6;
/// Rows of the table of all figures.
const MAX_FIGURES: usize = 600;
/// Results whose conditions and plans are listed.
const MAX_DETAILED_RESULTS: usize = 12;
/// Summaries of jobs.
const MAX_SUMMARIES: usize = 60;
/// Summaries that belong to the answer.
const FEW_SUMMARIES: usize = 3;

/// The report of all `sources`.
#[must_use]
pub fn report(sources: &[ReportSource], title: Option<&str>) -> Report {
    let mut jobs: Vec<JobFigures> = jobs_of(sources);
    if sources.len() > 1 {
        // Files are in the order of their names, in which 16 is before 2.
        jobs.sort_by(|a, b| order(a).cmp(&order(b)));
    }
    let answers: Vec<&StoredAnswer> = sources
        .iter()
        .filter_map(|one| one.search.as_ref())
        .collect();
    let devices = devices(sources, jobs);
    let has_plan = sources.iter().any(|one| !one.plan.is_empty());
    let sections = match devices.as_slice() {
        [device] => of_one(device, &devices, sources, &answers, has_plan),
        _ => of_several(&devices, sources, &answers, has_plan),
    };
    Report {
        title: title.map_or_else(|| default_title(&devices), str::to_owned),
        sections: sections
            .into_iter()
            .chain(details(&devices, sources))
            .filter(|section| !section.blocks.is_empty())
            .collect(),
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

/// What the results are of: results with the names of stored runs, such as `r12`, may all be of one device.
fn noun(devices: &[Device]) -> &'static str {
    let is_run = |device: &Device| {
        let first = device.name.split(' ').next().unwrap_or_default();
        RunId::parse(first.split('.').next().unwrap_or_default()).is_some()
    };
    if devices.iter().all(is_run) {
        "run"
    } else {
        "device"
    }
}

fn default_title(devices: &[Device]) -> String {
    let names: Vec<&str> = devices
        .iter()
        .map(|device| {
            if device.name.is_empty() {
                device.subject.device.as_str()
            } else {
                device.name.as_str()
            }
        })
        .collect();
    match names.as_slice() {
        [] | [""] => "Storage benchmark".to_owned(),
        [one] => format!("Storage benchmark: {one}"),
        all if all.len() > 3 => format!("Storage benchmark: {} {}s", all.len(), noun(devices)),
        all => format!("Storage benchmark: {}", all.join(", ")),
    }
}

fn section(heading: &str, blocks: Vec<ReportBlock>) -> ReportSection {
    ReportSection {
        heading: heading.to_owned(),
        folded: false,
        blocks,
    }
}

fn folded(heading: &str, blocks: Vec<ReportBlock>) -> ReportSection {
    ReportSection {
        folded: true,
        ..section(heading, blocks)
    }
}

fn chart_block(chart: ReportChart) -> ReportBlock {
    ReportBlock::Chart(Box::new(chart))
}

/// The answers of the experiments that the results belong to.
fn stated_answers<'a>(
    sources: &'a [ReportSource],
    answers: &'a [&StoredAnswer],
) -> impl Iterator<Item = ReportBlock> + 'a {
    answers
        .iter()
        .flat_map(|answer| &answer.sentences)
        .chain(sources.iter().filter_map(|one| one.answer.as_ref()))
        .cloned()
        .map(ReportBlock::Text)
}

fn of_one(
    device: &Device,
    devices: &[Device],
    sources: &[ReportSource],
    answers: &[&StoredAnswer],
    has_plan: bool,
) -> Vec<ReportSection> {
    let mut page = vec![ReportBlock::Subject(device.line())];
    page.extend(stated_answers(sources, answers));
    page.push(ReportBlock::Answer(answer::sentence(device)));
    page.extend(answer::verdict(devices));
    let (table, is_short) = key_figures(&device.all());
    page.push(ReportBlock::Table(table));
    if is_short {
        page.push(ReportBlock::Note(format!(
            "The shallowest queue, the knee and the deepest queue of each workload; all {} are listed at the end.",
            counted(device.jobs.len() as u64, "measurement")
        )));
    }
    let mut charts = charts::of_device(device, answers);
    if !charts.made.is_empty() {
        page.push(chart_block(charts.made.remove(0)));
    }
    let mut blocks: Vec<ReportBlock> = charts.made.into_iter().map(chart_block).collect();
    blocks.extend(more_charts(charts.left_out));
    let mut sections = vec![section("", page)];
    let steps = answer::next_steps(devices, has_plan);
    if !steps.is_empty() {
        sections.push(section("What to do next", vec![ReportBlock::List(steps)]));
    }
    sections.push(section("Findings", finding_blocks(devices)));
    sections.push(section("Charts", blocks));
    sections
}

fn more_charts(left_out: usize) -> Option<ReportBlock> {
    (left_out > 0).then(|| {
        ReportBlock::Note(format!(
            "{} not drawn here; `fathom plot RESULT --chart=NAME -o FILE` draws each, and its options --rw, --depth, --jobs and --block select.",
            if left_out == 1 {
                "1 more chart is".to_owned()
            } else {
                format!("{left_out} more charts are")
            }
        ))
    })
}

fn finding_blocks(devices: &[Device]) -> Vec<ReportBlock> {
    let blocks = findings::blocks(devices);
    if !blocks.is_empty() {
        return blocks;
    }
    let is_judged = devices.iter().any(|device| device.verdict().is_some());
    vec![ReportBlock::Text(
        if is_judged {
            "No finding affects these results."
        } else {
            "These results were not checked."
        }
        .to_owned(),
    )]
}

fn of_several(
    devices: &[Device],
    sources: &[ReportSource],
    answers: &[&StoredAnswer],
    has_plan: bool,
) -> Vec<ReportSection> {
    let questions = questions(devices);
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let results: usize = devices.iter().map(|device| device.results).sum();
    let line = [
        format!(
            "{}: {}",
            counted(devices.len() as u64, noun(devices)),
            names.join(", ")
        ),
        counted(results as u64, "result"),
        dates(devices),
    ];
    let line: Vec<String> = line.into_iter().filter(|part| !part.is_empty()).collect();
    let mut page = vec![ReportBlock::Subject(line.join(" · "))];
    page.extend(stated_answers(sources, answers));
    let compared = sentences(devices, &questions);
    if compared.is_empty() {
        page.push(ReportBlock::Answer(
            "The devices were measured with different workloads; no figure compares them."
                .to_owned(),
        ));
    }
    page.extend(compared.into_iter().map(ReportBlock::Answer));
    page.extend(answer::verdict(devices));
    page.extend(ranking(devices, &questions).map(ReportBlock::Table));
    let keys = common_loads(devices);
    let mut drawn: Vec<ReportBlock> = Vec::new();
    if devices.len() <= FEW {
        for (n, key) in keys.iter().take(MAX_OVERLAYS).enumerate() {
            drawn.extend(charts::overlay(devices, key, Dimension::Iops).map(chart_block));
            if n < 2 {
                drawn.extend(charts::overlay(devices, key, Dimension::Mean).map(chart_block));
            }
        }
        drawn.extend(charts::overlay_time(devices).map(chart_block));
    } else {
        drawn.extend(
            keys.iter()
                .take(MAX_MATRICES)
                .filter_map(|key| rates(devices, key))
                .map(ReportBlock::Table),
        );
    }
    let left_out = keys.len().saturating_sub(if devices.len() <= FEW {
        MAX_OVERLAYS
    } else {
        MAX_MATRICES
    });
    if !drawn.is_empty() {
        page.push(drawn.remove(0));
    }
    drawn.extend(more_charts(left_out));
    let mut sections = vec![section("", page)];
    let steps = answer::next_steps(devices, has_plan);
    if !steps.is_empty() {
        sections.push(section("What to do next", vec![ReportBlock::List(steps)]));
    }
    sections.push(section("Findings", finding_blocks(devices)));
    sections.push(section("Comparison", drawn));
    sections.push(section("Wins and losses", wins(devices)));
    sections.extend(
        devices
            .iter()
            .map(|device| device_section(device, devices.len() > FEW)),
    );
    sections
}

fn device_section(device: &Device, is_folded: bool) -> ReportSection {
    let this = std::slice::from_ref(device);
    let mut blocks = Vec::new();
    let line = device.line();
    if !line.is_empty() {
        blocks.push(ReportBlock::Note(line));
    }
    blocks.push(ReportBlock::Text(answer::sentence(device)));
    blocks.extend(answer::verdict(this));
    let (table, is_short) = key_figures(&device.all());
    blocks.push(ReportBlock::Table(table));
    if is_short {
        blocks.push(ReportBlock::Note(format!(
            "The shallowest queue, the knee and the deepest queue of {}.",
            counted(device.jobs.len() as u64, "measurement")
        )));
    }
    ReportSection {
        folded: is_folded,
        ..section(&device.name, blocks)
    }
}

/// Method, figures, plan, conditions and host.
fn details(devices: &[Device], sources: &[ReportSource]) -> Vec<ReportSection> {
    let jobs: Vec<&JobFigures> = devices.iter().flat_map(|device| &device.jobs).collect();
    let mut sections = Vec::new();
    let shown: Vec<&JobFigures> = jobs.iter().copied().take(MAX_FIGURES).collect();
    let mut figures = vec![ReportBlock::Table(all_figures(&shown))];
    if shown.len() < jobs.len() {
        figures.push(ReportBlock::Note(format!(
            "{} more: `fathom export` writes all of them.",
            counted((jobs.len() - shown.len()) as u64, "job")
        )));
    }
    sections.push(folded("All figures", figures));
    sections.push(folded("Method", method(sources)));
    let plans = plans(sources);
    let heading = if plans.len() > 1 {
        "Job files"
    } else {
        "Job file"
    };
    let several = plans.len() > 1;
    let blocks = plans.into_iter().flat_map(|(name, plan)| {
        let heading = (several && !name.is_empty()).then_some(ReportBlock::Heading(name));
        heading.into_iter().chain([ReportBlock::Plan(plan)])
    });
    sections.push(folded(heading, blocks.collect()));
    sections.extend(facts(sources));
    sections
}

/// What the figures mean, and the summary of each job.
fn method(sources: &[ReportSource]) -> Vec<ReportBlock> {
    let mut blocks = vec![ReportBlock::Text(
        "Figures are of the whole measured time, without ramp time. A knee is the smallest number of I/Os in flight with at \
         least 95 % of the highest rate. Confidence intervals of ratios come from the samples of the rate of each run; they \
         include the noise during a run, not the differences between runs."
            .to_owned(),
    )];
    let summaries: Vec<String> = sources
        .iter()
        .flat_map(|one| {
            one.summaries.iter().map(|summary| {
                if sources.len() > 1 && !one.source.is_empty() {
                    format!("{}: {summary}", one.source)
                } else {
                    summary.clone()
                }
            })
        })
        .collect();
    let listed = summaries.len().min(if summaries.len() > FEW_SUMMARIES {
        MAX_SUMMARIES
    } else {
        FEW_SUMMARIES
    });
    if listed > 0 {
        blocks.push(ReportBlock::Heading("Summary of each job".to_owned()));
        blocks.push(ReportBlock::List(summaries[..listed].to_vec()));
    }
    if sources.len() > MAX_DETAILED_RESULTS {
        blocks.push(ReportBlock::Note(format!(
            "Conditions, host and plan are listed for the first {MAX_DETAILED_RESULTS} of {} results.",
            sources.len()
        )));
    }
    blocks
}

/// One section for each heading, with the names and values of each result.
fn facts(sources: &[ReportSource]) -> Vec<ReportSection> {
    let several = sources.len() > 1;
    let mut known: Vec<&Vec<(String, String)>> = Vec::new();
    let mut sections: Vec<ReportSection> = Vec::new();
    for one in sources.iter().take(MAX_DETAILED_RESULTS) {
        for (heading, pairs) in &one.facts {
            // Equal facts of several results are listed once.
            if known.contains(&pairs) {
                continue;
            }
            known.push(pairs);
            let mut blocks = Vec::new();
            if several && !one.source.is_empty() {
                blocks.push(ReportBlock::Heading(one.source.clone()));
            }
            blocks.push(ReportBlock::Facts(pairs.clone()));
            match sections
                .iter_mut()
                .find(|known| several && known.heading == *heading)
            {
                Some(section) => section.blocks.extend(blocks),
                None => sections.push(folded(heading, blocks)),
            }
        }
    }
    sections
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
