//! The answer of a report on one device: a sentence in plain words, the verdict with its reason, and what to do next.

use fathom_model::{Dimension, JobFigures, ReportBlock, Verdict};

use super::device::Device;
use super::findings;
use super::key_figures::{latency, significant};
use super::workload::{Kind, Load, LoadPoint, loads, pattern, place};
use crate::device_class::class;
use crate::figures::rate;

/// Findings whose results are those of memory.
const MEMORY: [&str; 3] = ["MEMORY_BACKED", "LOOP_BUFFERED", "PAGE_CACHE"];
/// Blocks from which sequential reads show the bandwidth.
const LARGE: u64 = 64 << 10;
/// Share of the rate at the knee below which a deeper queue is slower.
const SLOWER: f64 = 0.9;
/// Steps that are proposed.
const MAX_STEPS: usize = 4;

/// The load with small random blocks: reads if there are any, with most queue depths.
pub(super) fn main_load<'a>(jobs: &[&'a JobFigures]) -> Option<Load<'a>> {
    let all = loads(jobs);
    let rank = |load: &Load| {
        let first = load.first();
        (
            Kind::of(first) == Kind::Random,
            first.rw == "randread",
            load.points().len().min(3),
            std::cmp::Reverse(first.block.unwrap_or(u64::MAX).max(4096)),
        )
    };
    // The first of equal loads.
    all.into_iter().rev().max_by_key(rank)
}

/// What the device does, in one sentence.
pub(super) fn sentence(device: &Device) -> String {
    let jobs = device.all();
    let mut parts: Vec<String> = Vec::new();
    let mut ends = String::new();
    if let Some(load) = main_load(&jobs) {
        let (text, end) = load_part(&load);
        parts.push(text);
        ends = end;
    }
    parts.extend(bandwidth_part(&jobs));
    let mut clauses = vec![parts.join(", ")];
    clauses.extend(commit_part(&jobs));
    clauses.push(ends);
    clauses.retain(|clause| !clause.is_empty());
    let text = clauses.join("; ");
    match noun(device) {
        Some(noun) => format!("{noun}: {text}."),
        None => capital(&text) + ".",
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

/// Two significant digits: a rate in plain words.
fn rounded(value: f64) -> String {
    if value < 100.0 {
        return significant(value);
    }
    let step = 10f64.powf(value.log10().floor() - 1.0);
    rate((value / step).round() * step)
}

fn load_part(load: &Load) -> (String, String) {
    let (points, Some(knee)) = (load.points(), load.knee()) else {
        let most = load.jobs.iter().map(|job| job.iops()).fold(0.0, f64::max);
        return (
            format!(
                "{} I/Os per second ({})",
                rounded(most),
                pattern(load.first())
            ),
            String::new(),
        );
    };
    let what = match load.first().rw.as_str() {
        "randread" => "random reads".to_owned(),
        "randwrite" => "random writes".to_owned(),
        "read" => "sequential reads".to_owned(),
        "write" => "sequential writes".to_owned(),
        _ => format!("I/Os ({})", pattern(load.first())),
    };
    let text = format!(
        "{} {what} per second at {}",
        rounded(knee.iops),
        place(&knee)
    );
    let end = match points.last() {
        _ if points.len() < 2 => String::new(),
        Some(last) if is_slower(last, &knee) => format!(
            "deeper queues are slower: {} at {} I/Os in flight",
            rounded(last.iops),
            rate(last.in_flight)
        ),
        Some(last) if last.in_flight > knee.in_flight => {
            "above that queue only latency grows".to_owned()
        }
        _ => "the rate still grows at the deepest queue measured".to_owned(),
    };
    (text, end)
}

/// Whether the deepest queue has a lower rate than the knee, by more than repeats usually differ.
fn is_slower(last: &LoadPoint, knee: &LoadPoint) -> bool {
    last.in_flight > knee.in_flight && last.iops < SLOWER * knee.iops
}

fn bandwidth_part(jobs: &[&JobFigures]) -> Option<String> {
    let best = |what: &str| {
        jobs.iter()
            .filter(|job| {
                job.rw == what && !job.commits && job.block.is_some_and(|block| block >= LARGE)
            })
            .filter_map(|job| Dimension::Bandwidth.of(job, None))
            .max_by(f64::total_cmp)
    };
    let part = |rate: f64, what: &str| format!("{} MB/s of large {what}", rounded(rate / 1e6));
    best("read")
        .map(|most| part(most, "reads"))
        .or_else(|| best("write").map(|most| part(most, "writes")))
}

fn commit_part(jobs: &[&JobFigures]) -> Option<String> {
    let job = jobs.iter().find(|job| Kind::of(job) == Kind::Commits)?;
    let median = Dimension::Percentile(50.0).of(job, None);
    let typical = median.or_else(|| Dimension::Mean.of(job, None))?;
    Some(format!("a commit typically takes {}", latency(typical)))
}

/// The class of the device as a noun, from small random and large sequential reads.
fn noun(device: &Device) -> Option<String> {
    if device.verdict() == Some(Verdict::Invalid) {
        return None;
    }
    let jobs = device.all();
    let is_memory = jobs
        .iter()
        .flat_map(|job| &job.findings)
        .any(|finding| MEMORY.contains(&finding.code.as_str()));
    if is_memory {
        return Some("Memory, not a disk".to_owned());
    }
    let small = || {
        jobs.iter()
            .filter(|job| job.rw == "randread" && job.block == Some(4096) && job.offered.is_none())
    };
    let most = small().map(|job| job.iops()).max_by(f64::total_cmp)?;
    let single = small().find(|job| job.outstanding() == Some(1.0))?;
    let median = Dimension::Percentile(50.0)
        .of(single, None)
        .or_else(|| Dimension::Mean.of(single, None))?;
    let sequential = jobs
        .iter()
        .filter(|job| job.rw == "read" && job.block.is_some_and(|block| block >= LARGE))
        .filter_map(|job| Dimension::Bandwidth.of(job, None))
        .max_by(f64::total_cmp);
    let class = match sequential {
        Some(sequential) => class(most, sequential, median),
        // A disk is known by its single reads alone.
        None if crate::device_class::is_disk(median) => class(most, 0.0, median),
        None => return None,
    };
    Some(phrase(class, &device.subject.medium))
}

/// `fast NVMe SSD class` of a virtual disk: `A fast NVMe-class virtual disk`.
fn phrase(class: &str, medium: &str) -> String {
    let what = match medium {
        "virtual" => "virtual disk",
        "flash" => "SSD",
        "disk" => "hard disk",
        _ => "device",
    };
    match (class, what) {
        ("hard disk class", "hard disk") => "A hard disk".to_owned(),
        ("hard disk class", _) => format!("A {what} of hard-disk speed"),
        ("fast NVMe SSD class", _) => format!("A fast NVMe-class {what}"),
        ("NVMe SSD class", _) => format!("An NVMe-class {what}"),
        ("fast SATA SSD class", _) => format!("A fast SATA-class {what}"),
        ("SATA SSD class", _) => format!("A SATA-class {what}"),
        ("network or cloud disk class", _) => {
            format!("A {what} with the latency of a network disk")
        }
        ("memory card or USB stick class", _) => format!("A {what} of memory-card speed"),
        (class, _) => format!("A {what} ({class})"),
    }
}

/// The verdict of all results with its one reason.
pub(super) fn verdict(devices: &[Device]) -> Option<ReportBlock> {
    let worst = devices.iter().filter_map(Device::verdict).max()?;
    let results: usize = devices.iter().map(|device| device.results).sum();
    let affected: usize = devices
        .iter()
        .flat_map(|device| &device.verdicts)
        .filter(|(name, _)| name == worst.name())
        .map(|(_, n)| n)
        .sum();
    let counted = if results > 1 && worst != Verdict::Valid {
        format!("{affected} of {results} results: ")
    } else {
        String::new()
    };
    let reason = match (worst, findings::worst(devices)) {
        (Verdict::Valid, _) | (_, None) if worst == Verdict::Valid => {
            "no finding affects these results.".to_owned()
        }
        (_, Some((evidence, _))) => evidence,
        (_, None) => "the result states no reason.".to_owned(),
    };
    Some(ReportBlock::Verdict {
        verdict: worst.name().to_owned(),
        reason: format!("{counted}{reason}"),
    })
}

/// What to do next.
pub(super) fn next_steps(devices: &[Device], has_plan: bool) -> Vec<String> {
    let mut steps: Vec<String> = findings::advice(devices).into_iter().take(2).collect();
    if let [device] = devices {
        steps.extend(main_load(&device.all()).as_ref().and_then(queue_step));
    }
    if has_plan {
        steps.push(
            "To repeat the measurement, save the job file at the end of this report as job.fio and run: fathom run job.fio"
                .to_owned(),
        );
    }
    if devices.len() == 1 {
        steps.push(
            "To compare with another device, measure it in the same way and name both results: fathom report A B -o report.html"
                .to_owned(),
        );
    }
    steps.truncate(MAX_STEPS);
    steps
}

fn queue_step(load: &Load) -> Option<String> {
    let (points, knee) = (load.points(), load.knee()?);
    let last = points.last().filter(|_| points.len() > 1)?;
    let what = pattern(load.first());
    Some(if is_slower(last, &knee) {
        format!(
            "For {what} give the device {}: that reaches {} IOPS; with {} in flight it reaches only {}.",
            place(&knee),
            rate(knee.iops),
            rate(last.in_flight),
            rate(last.iops)
        )
    } else if last.in_flight > knee.in_flight {
        format!(
            "For {what} give the device {}: that reaches {} IOPS, at least 95 % of the maximum; a deeper queue mostly adds waiting.",
            place(&knee),
            rate(knee.iops)
        )
    } else {
        format!(
            "For {what} measure deeper queues than {}: the rate still grows there.",
            place(last)
        )
    })
}

#[cfg(test)]
mod tests {
    use fathom_model::{Direction, DirectionFigures, LatencySummary};

    use super::*;

    #[test]
    fn rates_in_plain_words_have_two_digits() {
        assert_eq!(
            [75_431.0, 51_072.0, 999.0, 76.2, 4.0].map(rounded),
            ["75,000", "51,000", "1,000", "76.2", "4.00"]
        );
    }

    /// Regression 0942: "above that queue only latency grows" beside a deepest queue with two thirds of the rate.
    #[test]
    fn a_deeper_queue_that_is_slower_is_called_slower() {
        let end = |deepest: f64| {
            let job = |depth, iops| JobFigures {
                rw: "randread".to_owned(),
                block: Some(4096),
                depth: Some(depth),
                directions: vec![DirectionFigures {
                    direction: Direction::Read,
                    iops,
                    iops_spread: None,
                    bandwidth: 4096.0 * iops,
                    ios: 1,
                    latency: LatencySummary::default(),
                    slat: None,
                    lat: None,
                }],
                ..JobFigures::default()
            };
            let jobs = [job(1, 7_530.0), job(16, 51_511.0), job(4096, deepest)];
            let jobs: Vec<&JobFigures> = jobs.iter().collect();
            let load = main_load(&jobs).expect("a load");
            (load_part(&load).1, queue_step(&load).expect("a step"))
        };
        let (text, step) = end(35_346.0);
        assert_eq!(
            text,
            "deeper queues are slower: 35,000 at 4,096 I/Os in flight"
        );
        assert!(
            step.ends_with(
                "that reaches 51,511 IOPS; with 4,096 in flight it reaches only 35,346."
            ),
            "{step}"
        );
        let (text, step) = end(51_000.0);
        assert_eq!(text, "above that queue only latency grows");
        assert!(
            step.ends_with("a deeper queue mostly adds waiting."),
            "{step}"
        );
    }

    #[test]
    fn classes_become_nouns() {
        assert_eq!(
            phrase("fast NVMe SSD class", "virtual"),
            "A fast NVMe-class virtual disk"
        );
        assert_eq!(phrase("hard disk class", "disk"), "A hard disk");
    }
}
