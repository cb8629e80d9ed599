//! Several devices: a ranking for each question, sentences with their uncertainty, and wins by pattern and depth.

use fathom_model::{
    Dimension, Direction, JobFigures, ReportBlock, ReportCell, ReportRows, ReportTable,
};

use super::device::Device;
use super::key_figures::{latency, megabytes};
use super::workload::{Kind, Load, LoadKey, load_key, loads, pattern};
use crate::estimate::t95;
use crate::figures::{counted, percent, rate};

/// With more devices one matrix replaces the ranking of each question.
pub(super) const FEW: usize = 7;
/// Rates that differ by less are called equal where no interval is known.
const EQUAL: f64 = 1.02;
/// Series shorter than this show nothing sustained, nanoseconds.
const SUSTAINED: u64 = 10_000_000_000;
/// Sentences of the comparison.
const SENTENCES: usize = 3;
/// Rows and columns of the matrix of wins.
const MAX_LOADS: usize = 24;
const MAX_DEPTHS: usize = 10;
/// Columns with names of devices that fit on a page.
const WIDE_COLUMNS: usize = 4;

/// The value of one device: what is ranked, and the relative standard error of its mean where samples show it.
#[derive(Clone, Debug, PartialEq)]
struct Value {
    number: f64,
    error: Option<(f64, u64)>,
    note: String,
}

/// One question and the value of each device.
pub(super) struct Question {
    /// `Latency at depth 1`.
    name: &'static str,
    /// What was measured.
    what: String,
    less_is_better: bool,
    format: fn(f64) -> String,
    values: Vec<Option<Value>>,
}

/// The questions that at least one device answers.
pub(super) fn questions(devices: &[Device]) -> Vec<Question> {
    [
        depth_one(devices),
        knee(devices),
        sustained_writes(devices),
        tail_under_mix(devices),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Of the keys that jobs of the devices have, the one of most devices; `rank` decides between equal ones.
fn common<'a, K: PartialEq + 'a, R: Ord>(
    devices: &'a [Device],
    key: impl Fn(&'a JobFigures) -> Option<K>,
    rank: impl Fn(&K) -> R,
) -> Option<K> {
    let mut keys: Vec<(K, usize, usize)> = Vec::new();
    for (n, device) in devices.iter().enumerate() {
        for job in &device.jobs {
            let Some(key) = key(job) else { continue };
            match keys.iter_mut().find(|(known, ..)| *known == key) {
                Some((_, count, last)) if *last != n => (*count, *last) = (*count + 1, n),
                Some(_) => {}
                None => keys.push((key, 1, n)),
            }
        }
    }
    keys.into_iter()
        .rev()
        .max_by_key(|(key, count, _)| (*count, rank(key)))
        .map(|(key, ..)| key)
}

/// Reads first, then small blocks.
fn small_reads(key: &LoadKey) -> (bool, std::cmp::Reverse<u64>) {
    (
        key.0 == "randread",
        std::cmp::Reverse(key.1.unwrap_or(u64::MAX).max(4096)),
    )
}

fn closed_random(job: &JobFigures) -> bool {
    Kind::of(job) == Kind::Random && !load_key(job).4
}

fn depth_one(devices: &[Device]) -> Option<Question> {
    let is_single = |job: &JobFigures| job.outstanding() == Some(1.0) && closed_random(job);
    let key = common(
        devices,
        |job| is_single(job).then(|| load_key(job)),
        small_reads,
    )?;
    let jobs: Vec<Option<&JobFigures>> = devices
        .iter()
        .map(|device| {
            let mut all = device.jobs.iter();
            all.find(|job| is_single(job) && load_key(job) == key)
        })
        .collect();
    let median = Dimension::Percentile(50.0);
    let all_have = jobs
        .iter()
        .flatten()
        .all(|job| median.of(job, None).is_some());
    let (dimension, name) = if all_have {
        (median, "median")
    } else {
        (Dimension::Mean, "mean")
    };
    let value = |job: &&JobFigures| {
        Some(Value {
            number: dimension.of(job, None)?,
            // With one I/O in flight the rate is the reciprocal of the latency.
            error: rate_error(job),
            note: String::new(),
        })
    };
    Some(Question {
        name: "Latency at depth 1",
        what: format!("{name} of {}", pattern(jobs.iter().flatten().next()?)),
        less_is_better: true,
        format: latency,
        values: jobs
            .iter()
            .map(|job| job.as_ref().and_then(value))
            .collect(),
    })
}

/// The relative standard error of the mean rate, from the samples of the job, and their number.
fn rate_error(job: &JobFigures) -> Option<(f64, u64)> {
    let [one] = job.directions.as_slice() else {
        return None;
    };
    let (deviation, n) = one.iops_spread?;
    (n > 1 && one.iops > 0.0).then(|| (deviation / one.iops / (n as f64).sqrt(), n))
}

fn of_load<'a>(device: &'a Device, key: &LoadKey) -> Option<Load<'a>> {
    let all = loads(&device.all());
    all.into_iter().find(|load| load_key(load.first()) == *key)
}

fn knee(devices: &[Device]) -> Option<Question> {
    let is_usable =
        |job: &JobFigures| closed_random(job) && job.outstanding().is_some_and(|n| n > 1.0);
    let key = common(
        devices,
        |job| is_usable(job).then(|| load_key(job)),
        small_reads,
    )?;
    let value = |device: &Device| {
        let knee = of_load(device, &key)?.knee()?;
        Some(Value {
            number: knee.iops,
            error: rate_error(knee.job),
            note: format!("{} in flight", rate(knee.in_flight)),
        })
    };
    let first = devices.iter().find_map(|device| of_load(device, &key))?;
    Some(Question {
        name: "IOPS at the knee",
        what: format!(
            "{} at the smallest queue with 95 % of the highest rate",
            pattern(first.first())
        ),
        less_is_better: false,
        format: |value| rate(value) + " IOPS",
        values: devices.iter().map(value).collect(),
    })
}

/// Bytes per second in the second half of the job, where it ran for long enough.
fn late_bandwidth(job: &JobFigures) -> Option<(f64, bool)> {
    let all = Dimension::Bandwidth.of(job, None)?;
    let length: u64 = job.series.iter().map(|one| one.length.get()).sum();
    if length < SUSTAINED {
        return Some((all, false));
    }
    let late = &job.series[job.series.len() / 2..];
    let bytes: u64 = late
        .iter()
        .map(|one| one.directions[Direction::Write].bytes)
        .sum();
    let seconds = late.iter().map(|one| one.length.get()).sum::<u64>() as f64 / 1e9;
    Some((bytes as f64 / seconds, true))
}

fn sustained_writes(devices: &[Device]) -> Option<Question> {
    let is_write = |job: &JobFigures| {
        matches!(job.rw.as_str(), "write" | "randwrite") && !job.commits && !load_key(job).4
    };
    let key = common(
        devices,
        |job| is_write(job).then(|| load_key(job)),
        |key| (key.0 == "write", key.1),
    )?;
    let value = |device: &Device| {
        let load = of_load(device, &key)?;
        let late = load
            .jobs
            .iter()
            .filter_map(|job| Some((late_bandwidth(job)?, *job)));
        let ((number, is_late), job) = late.max_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
        Some(Value {
            number,
            error: rate_error(job),
            note: if is_late {
                "second half of the run"
            } else {
                ""
            }
            .to_owned(),
        })
    };
    let first = devices.iter().find_map(|device| of_load(device, &key))?;
    Some(Question {
        name: "Sustained writes",
        what: format!("{}, best queue depth", pattern(first.first())),
        less_is_better: false,
        format: |value| megabytes(value) + " MB/s",
        values: devices.iter().map(value).collect(),
    })
}

fn tail_under_mix(devices: &[Device]) -> Option<Question> {
    let p99 = |job: &JobFigures| Dimension::Percentile(99.0).of(job, Some(Direction::Read));
    let key = |job: &JobFigures| (job.rw.clone(), job.block, job.mix, job.depth, job.jobs);
    let is_mix = |job: &JobFigures| Kind::of(job) == Kind::Mixed && p99(job).is_some();
    let wanted = common(
        devices,
        |job| is_mix(job).then(|| key(job)),
        |key| (key.0 == "randrw", key.3, key.4),
    )?;
    let of = |device: &Device| {
        let mut all = device.jobs.iter();
        all.find(|job| is_mix(job) && key(job) == wanted)
            .map(JobFigures::without_series)
    };
    let jobs: Vec<Option<JobFigures>> = devices.iter().map(of).collect();
    let first = jobs.iter().flatten().next()?;
    Some(Question {
        name: "Tail under mix",
        what: format!("p99 of the reads of {}", super::workload::generated(first)),
        less_is_better: true,
        format: latency,
        values: jobs
            .iter()
            .map(|job| {
                Some(Value {
                    number: p99(job.as_ref()?)?,
                    error: None,
                    note: String::new(),
                })
            })
            .collect(),
    })
}

impl Question {
    /// The devices with a value, the best first.
    fn ranked(&self) -> Vec<(usize, &Value)> {
        let mut all: Vec<(usize, &Value)> = self
            .values
            .iter()
            .enumerate()
            .filter_map(|(n, value)| Some((n, value.as_ref()?)))
            .collect();
        all.sort_by(|a, b| {
            let order = a.1.number.total_cmp(&b.1.number);
            if self.less_is_better {
                order
            } else {
                order.reverse()
            }
        });
        all
    }

    /// How many times as good `a` is as `b`.
    fn ratio(&self, a: &Value, b: &Value) -> f64 {
        if self.less_is_better {
            b.number / a.number
        } else {
            a.number / b.number
        }
    }
}

/// The ranking of each question; with many devices one matrix.
pub(super) fn ranking(devices: &[Device], questions: &[Question]) -> Option<ReportTable> {
    if questions.is_empty() {
        None
    } else if devices.len() > FEW {
        Some(ranking_matrix(devices, questions))
    } else {
        Some(ranking_groups(devices, questions))
    }
}

fn ranking_groups(devices: &[Device], questions: &[Question]) -> ReportTable {
    let group = |question: &Question| {
        let ranked = question.ranked();
        let best = ranked.first().map(|(_, value)| *value);
        let mut rows: Vec<Vec<ReportCell>> = Vec::new();
        for (place, (n, value)) in ranked.iter().enumerate() {
            let relative = match best {
                Some(best) if place > 0 => {
                    let times = question.ratio(best, value);
                    let text = if question.less_is_better {
                        format!("{} times as long", times_text(times))
                    } else {
                        format!("{} of the best", percent(100.0 / times))
                    };
                    (text, 1.0 / times)
                }
                _ => ("best".to_owned(), 1.0),
            };
            let note = if value.note.is_empty() {
                String::new()
            } else {
                format!(" ({})", value.note)
            };
            rows.push(vec![
                device_cell(devices, *n, &format!("{}. ", place + 1)),
                ReportCell {
                    text: (question.format)(value.number) + &note,
                    best: place == 0,
                    ..ReportCell::default()
                },
                ReportCell {
                    text: relative.0,
                    shade: Some(relative.1),
                    ..ReportCell::default()
                },
            ]);
        }
        for (n, _) in question
            .values
            .iter()
            .enumerate()
            .filter(|(_, value)| value.is_none())
        {
            rows.push(vec![
                device_cell(devices, n, ""),
                "not measured".into(),
                "".into(),
            ]);
        }
        ReportRows {
            name: format!("{}: {}", question.name, question.what),
            rows,
        }
    };
    ReportTable {
        caption: "Ranking".to_owned(),
        head: ["Device", "Result", "Relative"].map(str::to_owned).to_vec(),
        groups: questions.iter().map(group).collect(),
    }
}

fn times_text(times: f64) -> String {
    if times < 10.0 {
        format!("{times:.2}")
    } else {
        rate(times.round())
    }
}

/// The name of a device with its colour.
pub(super) fn device_cell(devices: &[Device], n: usize, before: &str) -> ReportCell {
    ReportCell {
        text: format!("{before}{}", devices[n].name),
        colour: (devices.len() <= FEW).then_some(n),
        ..ReportCell::default()
    }
}

fn ranking_matrix(devices: &[Device], questions: &[Question]) -> ReportTable {
    let ranks: Vec<Vec<Option<usize>>> = questions
        .iter()
        .map(|question| {
            let ranked = question.ranked();
            (0..devices.len())
                .map(|n| {
                    ranked
                        .iter()
                        .position(|(known, _)| *known == n)
                        .map(|at| at + 1)
                })
                .collect()
        })
        .collect();
    let mean = |n: usize| {
        let known: Vec<usize> = ranks.iter().filter_map(|rank| rank[n]).collect();
        if known.is_empty() {
            f64::INFINITY
        } else {
            known.iter().sum::<usize>() as f64 / known.len() as f64
        }
    };
    let mut order: Vec<usize> = (0..devices.len()).collect();
    order.sort_by(|a, b| mean(*a).total_cmp(&mean(*b)));
    let row = |n: &usize| {
        let mut cells = vec![device_cell(devices, *n, "")];
        for (question, ranks) in questions.iter().zip(&ranks) {
            cells.push(match (&question.values[*n], ranks[*n]) {
                (Some(value), Some(rank)) => ReportCell {
                    text: format!("{} ({rank}.)", (question.format)(value.number)),
                    best: rank == 1,
                    shade: Some(1.0 - (rank - 1) as f64 / devices.len() as f64),
                    ..ReportCell::default()
                },
                _ => "–".into(),
            });
        }
        cells
    };
    let mut head = vec!["Device".to_owned()];
    head.extend(questions.iter().map(|question| question.name.to_owned()));
    let what: Vec<String> = questions
        .iter()
        .map(|question| format!("{}: {}", question.name, question.what))
        .collect();
    ReportTable {
        caption: format!("Ranking, the best mean rank first. {}.", what.join("; ")),
        head,
        groups: vec![ReportRows {
            name: String::new(),
            rows: order.iter().map(row).collect(),
        }],
    }
}

/// The 95 % confidence interval of the ratio of two means, from their relative standard errors (delta method, on the
/// logarithm of the ratio).
fn interval(ratio: f64, a: &Value, b: &Value) -> Option<(f64, f64)> {
    let ((error_a, n_a), (error_b, n_b)) = (a.error?, b.error?);
    let freedom = n_a.min(n_b).saturating_sub(1).max(1);
    let half = t95(freedom as usize) * error_a.hypot(error_b);
    Some((ratio * (-half).exp(), ratio * half.exp()))
}

/// At most three sentences that compare the best with the next, and with the last.
pub(super) fn sentences(devices: &[Device], questions: &[Question]) -> Vec<String> {
    let with_two = questions
        .iter()
        .filter(|question| question.ranked().len() > 1);
    with_two
        .take(SENTENCES)
        .map(|question| sentence(devices, question))
        .collect()
}

fn sentence(devices: &[Device], question: &Question) -> String {
    let ranked = question.ranked();
    let ((first, best), (second, next)) = (ranked[0], ranked[1]);
    let ratio = question.ratio(best, next);
    let range = interval(ratio, best, next);
    let uncertainty = range.map_or_else(
        || "no interval: no samples to derive it from".to_owned(),
        |(low, high)| format!("95 % CI of the ratio: {low:.2} to {high:.2}"),
    );
    let (one, two) = (&devices[first].name, &devices[second].name);
    let equal = range.map_or(ratio < EQUAL, |(low, _)| low <= 1.0);
    let (a, b) = (
        (question.format)(best.number),
        (question.format)(next.number),
    );
    let start = format!("{} ({})", question.name, question.what);
    let mut text = if equal {
        format!("{start}: {one} ({a}) and {two} ({b}) do not differ measurably ({uncertainty})")
    } else if question.less_is_better {
        format!(
            "{start}: {one} is fastest with {a}; {two} follows with {b}, {} times as long ({uncertainty})",
            times_text(ratio)
        )
    } else {
        format!(
            "{start}: {one} is fastest with {a}, {} times as much as {two} with {b} ({uncertainty})",
            times_text(ratio)
        )
    };
    if let Some((last, worst)) = ranked.last().filter(|_| ranked.len() > 2) {
        text += &format!(
            "; last is {} with {}",
            devices[*last].name,
            (question.format)(worst.number)
        );
    }
    text + "."
}

/// Wins by pattern and I/Os in flight: the fastest device, and how many times as fast as the next.
pub(super) fn wins(devices: &[Device]) -> Vec<ReportBlock> {
    let all_jobs: Vec<&JobFigures> = devices.iter().flat_map(|device| &device.jobs).collect();
    let all = loads(&all_jobs);
    let mut depths: Vec<u64> = Vec::new();
    let mut rows: Vec<(String, Vec<(u64, ReportCell)>)> = Vec::new();
    let mut score = vec![0usize; devices.len()];
    let (mut ties, mut fields) = (0, 0);
    for load in &all {
        let key = load_key(load.first());
        let points: Vec<Option<Load>> =
            devices.iter().map(|device| of_load(device, &key)).collect();
        let mut in_flight: Vec<u64> = load
            .points()
            .iter()
            .map(|point| point.in_flight as u64)
            .collect();
        in_flight.dedup();
        let mut cells = Vec::new();
        for depth in in_flight {
            let at_depth = |(n, load): (usize, &Option<Load>)| {
                let points = load.as_ref()?.points();
                let point = points
                    .iter()
                    .find(|point| point.in_flight as u64 == depth)?;
                let value = Value {
                    number: point.iops,
                    error: rate_error(point.job),
                    note: String::new(),
                };
                Some((n, value))
            };
            let mut values: Vec<(usize, Value)> =
                points.iter().enumerate().filter_map(at_depth).collect();
            values.sort_by(|a, b| b.1.number.total_cmp(&a.1.number));
            let [(winner, best), (_, next), ..] = values.as_slice() else {
                continue;
            };
            fields += 1;
            let ratio = best.number / next.number;
            let tie = interval(ratio, best, next).map_or(ratio < EQUAL, |(low, _)| low <= 1.0);
            let cell = if tie {
                ties += 1;
                "tie".into()
            } else {
                score[*winner] += 1;
                ReportCell {
                    text: format!("{} × {}", devices[*winner].name, times_text(ratio)),
                    colour: (devices.len() <= FEW).then_some(*winner),
                    ..ReportCell::default()
                }
            };
            cells.push((depth, cell));
        }
        if !cells.is_empty() {
            depths.extend(cells.iter().map(|(depth, _)| *depth));
            rows.push((pattern(load.first()), cells));
        }
    }
    if fields == 0 {
        return vec![ReportBlock::Text(
            "The devices were not measured with the same workload and queue depth.".to_owned(),
        )];
    }
    depths.sort_unstable();
    depths.dedup();
    let caption =
        "The device with the most IOPS, and how many times as many as the next".to_owned();
    let cell = |cells: &[(u64, ReportCell)], depth: u64| {
        let cell = cells.iter().find(|(known, _)| *known == depth);
        cell.map_or_else(|| "–".into(), |(_, cell)| cell.clone())
    };
    // The names of devices need wide columns: a few workloads are the columns, and all depths are rows.
    let (table, is_cut) = if rows.len() <= WIDE_COLUMNS && depths.len() <= MAX_LOADS {
        let mut head = vec!["In flight".to_owned()];
        head.extend(rows.iter().map(|(name, _)| name.clone()));
        let row = |depth: &u64| {
            let mut row: Vec<ReportCell> = vec![rate(*depth as f64).into()];
            row.extend(rows.iter().map(|(_, cells)| cell(cells, *depth)));
            row
        };
        (
            wins_table(caption, head, depths.iter().map(row).collect()),
            false,
        )
    } else {
        let is_cut = depths.len() > MAX_DEPTHS || rows.len() > MAX_LOADS;
        while depths.len() > MAX_DEPTHS {
            // Every second one, so that both ends remain.
            let last = depths.len() - 1;
            let mut n = 0;
            depths.retain(|_| {
                n += 1;
                (n - 1) % 2 == 0 || n - 1 == last
            });
        }
        let mut head = vec!["Workload".to_owned()];
        head.extend(depths.iter().map(|depth| format!("{depth} in flight")));
        let row = |(name, cells): &(String, Vec<(u64, ReportCell)>)| {
            let mut row: Vec<ReportCell> = vec![name.as_str().into()];
            row.extend(depths.iter().map(|depth| cell(cells, *depth)));
            row
        };
        let rows = rows.iter().take(MAX_LOADS).map(row).collect();
        (wins_table(caption, head, rows), is_cut)
    };
    let mut counts: Vec<(usize, &str)> = score
        .iter()
        .zip(devices)
        .map(|(wins, device)| (*wins, device.name.as_str()))
        .collect();
    counts.sort_by_key(|(wins, _)| std::cmp::Reverse(*wins));
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(wins, name)| format!("{name} {wins}"))
        .collect();
    let mut blocks = vec![
        ReportBlock::Text(format!(
            "Wins in {}: {}; ties {ties}.",
            counted(fields, "comparison"),
            counts.join(", ")
        )),
        ReportBlock::Table(table),
    ];
    if is_cut {
        blocks.push(ReportBlock::Note(
            "The table shows a part of the comparisons; the counts include all.".to_owned(),
        ));
    }
    blocks
}

fn wins_table(caption: String, head: Vec<String>, rows: Vec<Vec<ReportCell>>) -> ReportTable {
    ReportTable {
        caption,
        head,
        groups: vec![ReportRows {
            name: String::new(),
            rows,
        }],
    }
}

/// The rate of each device and depth of the loads that most devices have, for more devices than a chart can show.
pub(super) fn rates(devices: &[Device], key: &LoadKey) -> Option<ReportTable> {
    let all: Vec<Option<Load>> = devices.iter().map(|device| of_load(device, key)).collect();
    let mut depths: Vec<u64> = all
        .iter()
        .flatten()
        .flat_map(Load::points)
        .map(|point| point.in_flight as u64)
        .collect();
    depths.sort_unstable();
    depths.dedup();
    depths.truncate(MAX_DEPTHS);
    let most = all
        .iter()
        .flatten()
        .flat_map(Load::points)
        .map(|point| point.iops)
        .fold(0.0, f64::max);
    let first = all.iter().flatten().next()?;
    let mut head = vec!["Device".to_owned()];
    head.extend(depths.iter().map(|depth| format!("{depth} in flight")));
    let row = |(n, load): (usize, &Option<Load>)| {
        let points = load.as_ref()?.points();
        let mut row = vec![device_cell(devices, n, "")];
        row.extend(depths.iter().map(|depth| {
            let point = points.iter().find(|point| point.in_flight as u64 == *depth);
            point.map_or_else(
                || "–".into(),
                |point| ReportCell {
                    text: rate(point.iops),
                    shade: Some(point.iops / most),
                    ..ReportCell::default()
                },
            )
        }));
        Some(row)
    };
    Some(ReportTable {
        caption: format!("IOPS of {} by I/Os in flight", pattern(first.first())),
        head,
        groups: vec![ReportRows {
            name: String::new(),
            rows: all.iter().enumerate().filter_map(row).collect(),
        }],
    })
}

/// The closed loads of the devices, those of most devices first, then those with most depths.
pub(super) fn common_loads(devices: &[Device]) -> Vec<LoadKey<'_>> {
    let all: Vec<&JobFigures> = devices.iter().flat_map(|device| &device.jobs).collect();
    let mut keys: Vec<(LoadKey, usize, usize)> = loads(&all)
        .iter()
        .map(|load| {
            let key = load_key(load.first());
            let with = devices
                .iter()
                .filter(|device| of_load(device, &key).is_some());
            (key, with.count(), load.points().len())
        })
        .filter(|(key, count, _)| !key.4 && *count > 1)
        .collect();
    keys.sort_by_key(|(key, count, depths)| {
        std::cmp::Reverse((*count, small_reads(key).0, *depths))
    });
    keys.into_iter().map(|(key, ..)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two means of 100 samples with a relative deviation of 10 %: each error is 1 %, that of the ratio 1.414 %, and
    /// t(0.975, 99) = 1.984: a ratio of 2 lies between 2 x exp(-0.02806) and 2 x exp(0.02806).
    #[test]
    fn the_interval_of_a_ratio_by_hand() {
        let value = Value {
            number: 1.0,
            error: Some((0.01, 100)),
            note: String::new(),
        };
        let (low, high) = interval(2.0, &value, &value).expect("an interval");
        assert!(
            (low - 1.9447).abs() < 1e-3 && (high - 2.0569).abs() < 1e-3,
            "{low} {high}"
        );
    }
}
