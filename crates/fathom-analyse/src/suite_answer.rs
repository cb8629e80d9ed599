//! The answer of a suite to its question, in one sentence.

use fathom_model::format::{duration, rate};
use fathom_model::{CellLatency, GridRow, SuiteStep, Verdict, fairness};

use crate::compare::student::quantile;

/// A depth is enough if it reaches this share of the highest rate.
const ENOUGH: f64 = 0.95;
/// Below this ratio two latencies or rates count as the same.
const SAME: f64 = 1.1;

/// The answer of the built-in suite of this name; `None` for other suites, and where the cells that it needs are missing.
#[must_use]
pub fn suite_answer(name: &str, steps: &[SuiteStep]) -> Option<String> {
    match name {
        "interference" => writes_beside_reads(steps),
        "working-set" => growing_region(steps),
        "modern-ssd" => small_and_large_blocks(steps),
        "block-sizes" => cost_of_blocks(steps),
        "queue-depth" => reads_at_once(steps),
        _ => accelerators(steps).or_else(|| tenants(steps)),
    }
}

/// The stage at which each tenant misses its limit, and the fairness of the last stage, without and with limits.
fn tenants(steps: &[SuiteStep]) -> Option<String> {
    let stages =
        |step: &&SuiteStep| step.name.starts_with("alone-") || step.name.starts_with("stage-");
    let last = steps
        .iter()
        .rfind(|step| step.name.starts_with("stage-") && !step.tenants.is_empty())?;
    let mut broken: Vec<String> = Vec::new();
    for tenant in &last.tenants {
        let missed = steps.iter().filter(stages).find_map(|step| {
            let here = step.tenants.iter().find(|one| one.name == tenant.name);
            here.filter(|here| here.breaks()).map(|here| (step, here))
        });
        let Some((step, here)) = missed else { continue };
        let when = match step.tenants.last() {
            Some(joined) if step.tenants.len() > 1 => {
                format!("in stage {} with {}", step.tenants.len(), joined.name)
            }
            _ => "alone".to_owned(),
        };
        broken.push(format!(
            "{} misses its {} limit of {} {when} ({})",
            here.name,
            here.figure,
            duration(here.limit.unwrap_or(0.0)),
            duration(here.latency)
        ));
    }
    let broken = if broken.is_empty() {
        "every tenant stays within its limit in every stage".to_owned()
    } else {
        broken.join("; ")
    };
    let index = |step: &SuiteStep| fairness(&step.tenants);
    let fair = index(last).map_or_else(String::new, |all| {
        let limited = steps.iter().find(|step| step.name == "limited");
        let limited = limited
            .and_then(index)
            .map_or_else(String::new, |limited| format!(", {limited:.2} with limits"));
        format!("; fairness of the last stage: {all:.2}{limited}")
    });
    Some(format!(
        "Of {} tenants: {broken}{fair}.",
        last.tenants.len()
    ))
}

/// The most accelerators that train with each shape.
fn accelerators(steps: &[SuiteStep]) -> Option<String> {
    let trained = steps
        .iter()
        .filter_map(|step| Some((step, step.training.as_ref()?)));
    let all: Vec<String> = trained
        .map(|(step, training)| {
            let last = training.utilisation.last().map(|(n, _)| *n);
            let most = match training.most {
                Some(most) if Some(most) == last => format!("{most} or more"),
                Some(most) => most.to_string(),
                None => "none".to_owned(),
            };
            format!("{} {most} (at {} %)", step.name, training.least)
        })
        .collect();
    (!all.is_empty()).then(|| format!("Accelerators that storage keeps busy: {}.", all.join(", ")))
}

/// The usable cells of a step with the positions of two axes.
struct Cells<'a> {
    rows: Vec<&'a GridRow>,
    axes: [usize; 2],
}

impl<'a> Cells<'a> {
    fn of(steps: &'a [SuiteStep], step: &str, axes: [&str; 2]) -> Option<Cells<'a>> {
        let grid = &steps.iter().find(|one| one.name == step)?.grid;
        let place = |axis: &str| grid.axes.iter().position(|name| name == axis);
        Some(Cells {
            rows: grid.rows.iter().filter(|row| is_usable(row)).collect(),
            axes: [place(axes[0])?, place(axes[1])?],
        })
    }

    fn at(&self, values: [&str; 2]) -> Option<&'a GridRow> {
        let fits = |row: &&&GridRow| self.axes.map(|axis| row.values[axis].as_str()) == values;
        self.rows.iter().find(fits).copied()
    }

    /// The values of an axis in the order of the cells.
    fn values(&self, axis: usize) -> Vec<&'a str> {
        let mut all: Vec<&str> = Vec::new();
        for row in &self.rows {
            let value = row.values[self.axes[axis]].as_str();
            if !all.contains(&value) {
                all.push(value);
            }
        }
        all
    }
}

fn is_usable(row: &GridRow) -> bool {
    row.failed.is_none() && row.figures.verdict != Verdict::Invalid && row.figures.iops > 0.0
}

/// `50%` as a number.
fn level(text: &str) -> f64 {
    text.trim_end_matches('%').parse().unwrap_or(0.0)
}

/// How many times `a` is `b`.
fn times(a: f64, b: f64) -> String {
    format!("{:.1} times", a / b)
}

/// The p99 of reads at a middle rate, beside the fewest and the most writes.
fn writes_beside_reads(steps: &[SuiteStep]) -> Option<String> {
    let cells = Cells::of(steps, "map", ["reads.rate_iops", "writes.rate"])?;
    let mut writes = cells.values(1);
    writes.sort_by(|a, b| level(a).total_cmp(&level(b)));
    let (least, most) = (*writes.first()?, *writes.last()?);
    let pairs: Vec<(&str, &GridRow, &GridRow)> = cells
        .values(0)
        .into_iter()
        .filter_map(|reads| Some((reads, cells.at([reads, least])?, cells.at([reads, most])?)))
        .collect();
    let (reads, light, heavy) = *pairs.get(pairs.len() / 2)?;
    if least == most {
        return None;
    }
    let (few, many) = (light.figures.latency.p99, heavy.figures.latency.p99);
    let verdict = if many > few * SAME {
        "Writes slow reads"
    } else {
        "Writes do not slow reads"
    };
    Some(format!(
        "{verdict}: of reads at {reads} of their maximum, p99 is {} beside writes at {least} of their maximum and {} beside writes \
         at {most} ({}).",
        duration(few),
        duration(many),
        times(many, few)
    ))
}

/// The mean latency over the smallest and the largest region, and with hot spots over the largest.
fn growing_region(steps: &[SuiteStep]) -> Option<String> {
    let even = Cells::of(steps, "even", ["size", "size"])?;
    let (first, last) = (*even.rows.first()?, *even.rows.last()?);
    let size = |row: &GridRow| row.values[even.axes[0]].clone();
    if size(first) == size(last) {
        return None;
    }
    let (small, large) = (first.figures.latency.mean, last.figures.latency.mean);
    let verdict = if large > small * SAME {
        "Latency grows with the region"
    } else {
        "Latency does not grow with the region"
    };
    let zipf = Cells::of(steps, "zipf", ["size", "size"])
        .and_then(|cells| cells.at([&size(last), &size(last)]))
        .map_or_else(String::new, |row| {
            let hot = row.figures.latency.mean;
            let change = 100.0 * (1.0 - hot / large);
            let (percent, direction) = if change < 0.0 {
                (-change, "more")
            } else {
                (change, "less")
            };
            format!(
                "; with hot spots over {} it is {}, {percent:.0} % {direction} than uniform",
                size(last),
                duration(hot)
            )
        });
    Some(format!(
        "{verdict}: the mean is {} over {} and {} over {} ({}){zipf}.",
        duration(small),
        size(first),
        duration(large),
        size(last),
        times(large, small)
    ))
}

/// The smallest reads at depth 1, sequential and random; the same with a deep queue; the highest bandwidth.
fn small_and_large_blocks(steps: &[SuiteStep]) -> Option<String> {
    let one = Cells::of(steps, "sync-read", ["rw", "bs"])?;
    let deep = Cells::of(steps, "async-read", ["rw", "bs"])?;
    let smallest = *one.values(1).first()?;
    let (sequential, random) = (one.at(["read", smallest])?, one.at(["randread", smallest])?);
    let queued = deep.at(["randread", smallest])?;
    let ratio = sequential.figures.iops / random.figures.iops;
    let order = if ratio > SAME {
        format!("sequential is {ratio:.1} times as fast")
    } else if ratio < 1.0 / SAME {
        format!("random is {:.1} times as fast", 1.0 / ratio)
    } else {
        "the same rate".to_owned()
    };
    let highest = steps
        .iter()
        .flat_map(|step| step.grid.rows.iter().map(move |row| (step, row)))
        .filter(|(_, row)| is_usable(row))
        .max_by(|a, b| a.1.figures.bandwidth.total_cmp(&b.1.figures.bandwidth))?;
    Some(format!(
        "Reads with bs={smallest} at depth 1: {} IOPS sequential, {} random ({order}); 4 x 16 in flight reach {} random, {} as \
         many, with p99 {} instead of {}; the highest bandwidth is {} MB/s ({}, {}).",
        rate(sequential.figures.iops),
        rate(random.figures.iops),
        rate(queued.figures.iops),
        times(queued.figures.iops, random.figures.iops),
        duration(queued.figures.latency.p99),
        duration(random.figures.latency.p99),
        rate(highest.1.figures.bandwidth / 1e6),
        highest.0.name,
        highest.1.values.join(" "),
    ))
}

/// The time of a command by its size, as a line: a fixed cost, and the time of each byte.
fn cost_of_blocks(steps: &[SuiteStep]) -> Option<String> {
    let cells = Cells::of(steps, "random-read", ["bs", "bs"])?;
    let points: Vec<(f64, f64)> = cells
        .rows
        .iter()
        .filter_map(|row| Some((block(&row.values[cells.axes[0]])?, 1e9 / row.figures.iops)))
        .collect();
    let (fixed_ns, ns_per_byte) = line(&points)?;
    let small = cells
        .at(["512", "512"])
        .zip(cells.at(["4k", "4k"]))
        .map_or_else(String::new, |(least, page)| {
            let share = 100.0 * least.figures.iops / page.figures.iops;
            format!("; bs=512 reaches {share:.0} % of the IOPS of bs=4k")
        });
    Some(format!(
        "Of random reads, a command costs {} and each MiB {} ({} MB/s): blocks of {:.0} KiB reach half of that bandwidth{small}.",
        duration(fixed_ns),
        duration(ns_per_byte * f64::from(1 << 20)),
        rate(1e3 / ns_per_byte),
        fixed_ns / ns_per_byte / 1024.0,
    ))
}

/// The number of reads that the device processes at once: the highest rate times the latency at depth 1 (Little's law). All
/// depths at which the rate no longer grows measure it.
fn reads_at_once(steps: &[SuiteStep]) -> Option<String> {
    let cells = Cells::of(steps, "depth", ["iodepth", "iodepth"])?;
    let mut points: Vec<(f64, &GridRow)> = cells
        .rows
        .iter()
        .filter_map(|row| Some((row.values[cells.axes[0]].parse().ok()?, *row)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (&(first, single), &(deepest, last)) = (points.first()?, points.last()?);
    if first != 1.0 || points.len() < 3 {
        return None;
    }
    let most = points
        .iter()
        .map(|(_, row)| row.figures.iops)
        .fold(0.0, f64::max);
    let enough = points
        .iter()
        .position(|(_, row)| row.figures.iops >= ENOUGH * most)?;
    let latency = single.figures.latency.mean;
    let text = format!(
        "{} IOPS at depth 1 with {} each",
        rate(single.figures.iops),
        duration(latency)
    );
    if enough + 1 == points.len() {
        return Some(format!(
            "The rate still grows at depth {deepest}: {text}, {} IOPS at depth {deepest}; at least {:.1} reads are processed at the \
             same time.",
            rate(most),
            most * latency / 1e9
        ));
    }
    let plateau: Vec<&(f64, &GridRow)> = points[enough..]
        .iter()
        .filter(|(_, row)| row.figures.iops >= ENOUGH * most)
        .collect();
    let highest =
        plateau.iter().map(|(_, row)| row.figures.iops).sum::<f64>() / plateau.len() as f64;
    let at_once = highest * latency / 1e9;
    // By Little's law the rate of a part of a cell is its depth divided by its latency.
    let rates: Vec<f64> = plateau
        .iter()
        .flat_map(|(depth, row)| row.figures.parts.iter().map(move |part| depth / part.mean))
        .collect();
    let latencies: Vec<f64> = single.figures.parts.iter().map(mean).collect();
    let interval = spread_of_mean(&rates)
        .zip(spread_of_mean(&latencies))
        .map_or_else(
            || ", without a confidence interval".to_owned(),
            |(of_rate, of_latency)| {
                let half = at_once * of_rate.hypot(of_latency);
                format!(
                    " (95 % CI: {:.1} to {:.1})",
                    (at_once - half).max(0.0),
                    at_once + half
                )
            },
        );
    let (depth, row) = points[enough];
    let waiting = 100.0 * (1.0 - latency / last.figures.latency.mean);
    Some(format!(
        "{at_once:.1} reads are processed at the same time{interval}: {text}, {} IOPS at most. Depth {depth} is enough, with {:.0} % of \
         the maximum; at depth {deepest} a read takes {} and waits {waiting:.0} % of that time.",
        rate(most),
        100.0 * row.figures.iops / most,
        duration(last.figures.latency.mean)
    ))
}

fn mean(part: &CellLatency) -> f64 {
    part.mean
}

/// Half the width of the 95 % confidence interval of the mean, as a share of the mean; `None` for fewer than three values.
fn spread_of_mean(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if values.len() < 3 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(quantile(0.975, n - 1.0) * (squares / (n - 1.0) / n).sqrt() / mean)
}

/// The line through (bytes, time) with the smallest sum of squared relative distances; `None` where time does not grow with size.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    /// Fewer points do not show a line.
    const FEWEST: usize = 4;
    if points.len() < FEWEST {
        return None;
    }
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(x, y)| of(*x, *y) / (y * y)).sum()
    };
    let (weights, x, y) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
    let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
    let slope = (weights * xy - x * y) / (weights * xx - x * x);
    let fixed = (y - slope * x) / weights;
    (slope > 0.0 && fixed > 0.0).then_some((fixed, slope))
}

/// `512`, `4k`, `1m` in bytes.
fn block(text: &str) -> Option<f64> {
    let (digits, factor) = match text.chars().last()? {
        'k' => (&text[..text.len() - 1], 1024.0),
        'm' => (&text[..text.len() - 1], 1024.0 * 1024.0),
        _ => (text, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}
