//! What a change of the storage would do to a measured result.

use fathom_model::DerivedCell::Calculated;
use fathom_model::format::{bytes, duration, thousands};
use fathom_model::{Derivation, DerivationInput, DerivedAnswer, DerivedTable, HostLink};

use crate::derive::{by_method, calculate, from, input, text};
use crate::drive::built_in_drive;
use crate::load::Load;
use crate::quantity::{capacity, shown};
use crate::raid::RaidLevel;
use crate::tables::link_rate;

/// A measured result, as far as a prediction needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Name of the result.
    pub source: String,
    /// The load that was completed.
    pub load: Load,
    /// Mean latency, ns.
    pub mean_ns: f64,
    /// Bytes of the accessed region, if known.
    pub region: Option<f64>,
    /// Miss ratio by size of a cache in bytes, rising; empty if the accesses are not known one by one.
    pub miss_ratio: Vec<(f64, f64)>,
    /// The storage that was measured, as far as the result says.
    pub now: Present,
}

/// The storage of a measured result. Unknown parts are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Present {
    /// Number of drives.
    pub drives: Option<u32>,
    /// Level of the array.
    pub level: Option<RaidLevel>,
    /// Kind and payload rate, bytes per second, of the slowest link to the host.
    pub link: Option<(String, f64)>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// From so many drives to others; `None` before if the result does not say how many.
    Drives(Option<u32>, u32),
    /// From one level to another, the same drives; `None` before if the result does not name its level.
    Raid(Option<RaidLevel>, RaidLevel),
    /// A cache of so many bytes in front; bytes of the data, if given.
    Cache(f64, Option<f64>),
    /// From one link to another; `None` before if the result does not name its link.
    Link(Option<PresentLink>, HostLink),
}

/// The link before a change.
#[derive(Clone, Debug, PartialEq)]
pub struct PresentLink {
    name: String,
    rate: DerivationInput,
}

impl PresentLink {
    fn of(link: HostLink) -> PresentLink {
        PresentLink {
            name: link.name(),
            rate: DerivationInput {
                name: "now_mb_s".to_owned(),
                ..from(&link_rate(link))
            },
        }
    }
}

/// The levels that an array may have, where the result does not name its level.
const LEVELS: [RaidLevel; 4] = [
    RaidLevel::Raid0,
    RaidLevel::Raid10,
    RaidLevel::Raid5,
    RaidLevel::Raid6,
];

/// A change that is not understood or cannot be predicted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("change '{change}': {problem}")]
pub struct ChangeError {
    change: String,
    problem: String,
}

fn error(change: &str, problem: impl Into<String>) -> ChangeError {
    ChangeError {
        change: shown(change),
        problem: problem.into(),
    }
}

impl Change {
    /// `drives=12`, `drives=8->12`, `raid=5->10`, `cache=64GB`, `cache=64GB of 1TB`, `link=sata3->sas12`. Without the state
    /// before the change it is that of the measured storage.
    ///
    /// # Errors
    /// With values that cannot be.
    pub fn read(change: &str, measured: &Present) -> Result<Change, ChangeError> {
        let (what, value) = change.split_once('=').ok_or_else(|| {
            error(
                change,
                "not NAME=VALUE; use drives=12, raid=5->10, cache=64GB or link=sas12",
            )
        })?;
        let (now, then) = match value.split_once("->") {
            Some((now, then)) => (Some(now.trim()), then.trim()),
            None => (None, value.trim()),
        };
        match what.trim() {
            "drives" => {
                let number = |text: &str| {
                    text.parse::<u32>()
                        .ok()
                        .filter(|n| (1..=10_000).contains(n))
                        .ok_or_else(|| {
                            error(
                                change,
                                format!(
                                    "'{}' is not a number of drives from 1 to 10000",
                                    shown(text)
                                ),
                            )
                        })
                };
                let now = now.map(number).transpose()?.or(measured.drives);
                Ok(Change::Drives(now, number(then)?))
            }
            "raid" => {
                let level = |text: &str| {
                    text.parse::<RaidLevel>()
                        .map_err(|problem| error(change, problem.to_string()))
                };
                let now = now.map(level).transpose()?.or(measured.level);
                Ok(Change::Raid(now, level(then)?))
            }
            "cache" => {
                let (size, data) = value
                    .split_once(" of ")
                    .map_or((value, None), |(a, b)| (a, Some(b)));
                let read = |text: &str| capacity(text).map_err(|problem| error(change, problem));
                Ok(Change::Cache(read(size)?, data.map(read).transpose()?))
            }
            "link" => {
                let link = |text: &str| {
                    text.parse::<HostLink>()
                        .map_err(|problem| error(change, problem.to_string()))
                };
                let now = match (now, &measured.link) {
                    (Some(now), _) => Some(PresentLink::of(link(now)?)),
                    (None, Some((kind, rate))) => Some(PresentLink {
                        name: format!("{kind} in the result"),
                        rate: input("now_mb_s", rate / 1e6, "MB/s", "link that the result names"),
                    }),
                    (None, None) => None,
                };
                Ok(Change::Link(now, link(then)?))
            }
            _ => Err(error(
                change,
                "unknown; use drives=12, raid=5->10, cache=64GB or link=sas12",
            )),
        }
    }
}

/// A prediction with its interval.
struct Prediction {
    iops: [Derivation; 3],
    why: String,
    settle: String,
}

/// Predicts each change by itself.
///
/// # Errors
/// A change that is not understood, or whose prediction needs more than the result has.
pub fn what_if(measured: &Measured, changes: &[String]) -> Result<DerivedAnswer, ChangeError> {
    let load = &measured.load;
    let mut table = DerivedTable {
        caption: "Predicted for the same I/Os in flight".to_owned(),
        columns: ["change", "IOPS", "from", "to", "factor", "mean latency, ms"]
            .map(str::to_owned)
            .to_vec(),
        rows: Vec::new(),
    };
    let mut answer = Vec::new();
    let in_flight = calculate(
        "in_flight",
        "",
        "iops * mean_ms / 1000",
        vec![
            input("iops", load.iops, "1/s", measured.source.clone()),
            input(
                "mean_ms",
                measured.mean_ns / 1e6,
                "ms",
                measured.source.clone(),
            ),
        ],
    );
    for text_of_change in changes {
        let change = Change::read(text_of_change, &measured.now)?;
        let made = predict(measured, &change, &in_flight)
            .map_err(|problem| error(text_of_change, problem))?;
        let [middle, low, high] = made.iops;
        let factor = calculate(
            "factor",
            "",
            "predicted_iops / iops",
            vec![
                DerivationInput {
                    name: "predicted_iops".to_owned(),
                    ..from(&middle)
                },
                input("iops", load.iops, "1/s", measured.source.clone()),
            ],
        );
        let mean = calculate(
            "mean_ms",
            "ms",
            "1000 * in_flight / predicted_iops",
            vec![
                from(&in_flight),
                DerivationInput {
                    name: "predicted_iops".to_owned(),
                    ..from(&middle)
                },
            ],
        );
        answer.push(format!(
            "{}: {} IOPS instead of {}, between {} and {}. {}",
            shown(text_of_change),
            thousands(middle.value.round() as u64),
            thousands(load.iops.round() as u64),
            thousands(low.value.round() as u64),
            thousands(high.value.round() as u64),
            made.why
        ));
        answer.push(format!("To settle it: {}", made.settle));
        table.rows.push(vec![
            text(shown(text_of_change)),
            Calculated(middle),
            Calculated(low),
            Calculated(high),
            Calculated(factor),
            Calculated(mean),
        ]);
    }
    Ok(DerivedAnswer {
        question: vec![format!(
            "Measured: {} IOPS, {} % reads, {} {}, mean {}, {} in flight ({})",
            thousands(load.iops.round() as u64),
            (load.reads * 1000.0).round() / 10.0,
            bytes(load.block as u64),
            if load.random { "random" } else { "sequential" },
            duration(measured.mean_ns),
            (in_flight.value * 10.0).round() / 10.0,
            measured.source
        )],
        tables: vec![table],
        answer,
        notes: vec![
            "Each change alone, everything else as measured: the same I/Os in flight (Little's law), the same host and no other limit. The interval is that of the assumptions, not a confidence interval.".to_owned(),
        ],
        derivations: Vec::new(),
    })
}

fn predict(
    measured: &Measured,
    change: &Change,
    in_flight: &Derivation,
) -> Result<Prediction, String> {
    let load = &measured.load;
    let rate = || input("iops", load.iops, "1/s", measured.source.clone());
    let kib = load.block / 1024.0;
    let rw = match (load.random, load.reads) {
        (true, r) if r >= 1.0 => "randread",
        (true, r) if r <= 0.0 => "randwrite",
        (true, _) => "randrw",
        (false, r) if r >= 1.0 => "read",
        (false, r) if r <= 0.0 => "write",
        (false, _) => "rw",
    };
    let depth = in_flight.value.round().max(1.0);
    match change {
        Change::Drives(known, then) => {
            let now = known.unwrap_or(1);
            let source = match known {
                Some(_) => "the change, or the result",
                None => "assumed: the result does not say",
            };
            let inputs = || {
                vec![
                    rate(),
                    input("now", f64::from(now), "", source),
                    input("then", f64::from(*then), "", "the change"),
                    from(in_flight),
                ]
            };
            let exponential = calculate(
                "iops_variable",
                "1/s",
                "iops * then / now * (in_flight + now - 1) / (in_flight + then - 1)",
                inputs(),
            );
            let constant = calculate(
                "iops_constant",
                "1/s",
                "iops * then / now * (1 - (1 - 1 / then) ^ in_flight) / (1 - (1 - 1 / now) ^ in_flight)",
                inputs(),
            );
            let middle = calculate(
                "predicted_iops",
                "1/s",
                "(iops_variable + iops_constant) / 2",
                vec![from(&exponential), from(&constant)],
            );
            let [low, high] = sorted(exponential, constant);
            Ok(Prediction {
                iops: [middle, low, high],
                why: format!(
                    "{} {depth} I/Os in flight at random places keep only part of the drives busy; the interval is between the laws of widely varying and of equal service times.",
                    match known {
                        Some(1) => "From 1 drive.".to_owned(),
                        Some(now) => format!("From {now} drives."),
                        None => format!(
                            "The result does not say how many drives it is of: taken as one; for an array write drives=8->{then}."
                        ),
                    }
                ),
                settle: format!(
                    "measure one array of {then} drives, or a part of the present one: `fathom sweep DEVICE --set rw={rw} --set bs={kib}k --axis iodepth=1,{depth},{}`",
                    depth * 2.0
                ),
            })
        }
        Change::Raid(known, then) => {
            if !load.random {
                return Err("only random loads are predicted: sequential writes in whole stripes have no write penalty".to_owned());
            }
            let ratio = |name: &str, now: RaidLevel, scale: f64| {
                calculate(
                    name,
                    "1/s",
                    "iops * (1 + (operations_now / operations_then - 1) * scale)",
                    vec![
                        rate(),
                        DerivationInput {
                            name: "operations_now".to_owned(),
                            ..from(&now.operations(load.reads))
                        },
                        DerivationInput {
                            name: "operations_then".to_owned(),
                            ..from(&then.operations(load.reads))
                        },
                        input(
                            "scale",
                            scale,
                            "",
                            "share of the change of disk operations: RAID 5 was measured at 3.3 and 3.8 reads for each write, not 4",
                        ),
                    ],
                )
            };
            let each =
                |level: RaidLevel| (level.operations(load.reads).value * 100.0).round() / 100.0;
            let (iops, why) = match *known {
                Some(now) => {
                    let [low, high] =
                        sorted(ratio("iops_low", now, 0.75), ratio("iops_high", now, 1.0));
                    (
                        [ratio("predicted_iops", now, 0.9), low, high],
                        format!(
                            "{} disk operations for each I/O instead of {}, on the same drives.",
                            each(*then),
                            each(now)
                        ),
                    )
                }
                None => {
                    let mut ends: Vec<Derivation> = LEVELS
                        .into_iter()
                        .flat_map(|now| {
                            [ratio("iops_low", now, 0.75), ratio("iops_high", now, 1.0)]
                        })
                        .collect();
                    ends.sort_by(|a, b| a.value.total_cmp(&b.value));
                    let high = ends.pop().ok_or("no level")?;
                    let low = ends.swap_remove(0);
                    let middle = by_method(
                        "predicted_iops",
                        ((low.value * high.value).sqrt(), "1/s"),
                        "geometric mean of both ends: the present level is not known",
                        vec![from(&low), from(&high)],
                    );
                    (
                        [middle, low, high],
                        format!(
                            "{} disk operations for each I/O on the same drives. The result does not name its level: the interval is from RAID 0 ({}) to RAID 6 ({}); write raid=5->{} for one of them.",
                            each(*then),
                            each(RaidLevel::Raid0),
                            each(RaidLevel::Raid6),
                            then.to_string().trim_start_matches("RAID ")
                        ),
                    )
                }
            };
            Ok(Prediction {
                iops,
                why,
                settle: format!(
                    "measure writes and reads apart on the present array: `fathom sweep DEVICE --set bs={kib}k --set iodepth={depth} --axis rw=randread,randwrite`; their ratio is the real penalty"
                ),
            })
        }
        Change::Cache(size, data) => {
            let (size, data) = (*size, *data);
            if let (None, Some(misses)) = (data, miss_ratio(&measured.miss_ratio, size)) {
                return by_reuse(measured, size, misses, in_flight);
            }
            let data = data.or(measured.region).ok_or_else(|| {
                "the result does not say how much data is accessed; write it, such as cache=64GB of 1TB".to_owned()
            })?;
            let even = calculate(
                "even_hits",
                "",
                "min(1, cache / data)",
                vec![
                    input("cache", size, "bytes", "the change"),
                    input("data", data, "bytes", "accessed region"),
                ],
            );
            let skewed = calculate(
                "skewed_hits",
                "",
                "min(1, (ln(cache / extent) + 0.5772) / (ln(data / extent) + 0.5772))",
                vec![
                    input("cache", size, "bytes", "the change"),
                    input("data", data, "bytes", "accessed region"),
                    input(
                        "extent",
                        load.block.min(size / 4.0),
                        "bytes",
                        "block of the load",
                    ),
                ],
            );
            let flash = built_in_drive("nvme").map_err(|problem| problem.to_string())?;
            let hit = calculate("hit_us", "us", "read_us", vec![flash.given("read_us")]);
            let mean = |name: &str, hits: &Derivation| {
                let latency = calculate(
                    "latency_us",
                    "us",
                    "reads * (hits * min(hit_us, mean_us) + (1 - hits) * mean_us) + (1 - reads) * mean_us",
                    vec![
                        input("reads", load.reads, "", measured.source.clone()),
                        DerivationInput {
                            name: "hits".to_owned(),
                            ..from(hits)
                        },
                        from(&hit),
                        input(
                            "mean_us",
                            measured.mean_ns / 1e3,
                            "us",
                            measured.source.clone(),
                        ),
                    ],
                );
                calculate(
                    name,
                    "1/s",
                    "in_flight * 1000000 / latency_us",
                    vec![from(in_flight), from(&latency)],
                )
            };
            let low = mean("iops_even", &even);
            let high = mean("iops_skewed", &skewed);
            let [low, high] = sorted(low, high);
            let middle = by_method(
                "predicted_iops",
                ((low.value * high.value).sqrt(), "1/s"),
                "geometric mean of both ends: the skew of the accesses is not known",
                vec![from(&low), from(&high)],
            );
            Ok(Prediction {
                iops: [middle, low, high],
                why: format!(
                    "Hits {} % if all data are accessed equally often, {} % with a zipf 1.0 skew; a hit takes {} us, writes are not cached.",
                    (even.value * 1000.0).round() / 10.0,
                    (skewed.value * 1000.0).round() / 10.0,
                    flash.given("read_us").value
                ),
                settle: format!(
                    "measure the real hit share: replay a trace of the application, or run its distribution in {} of the region: `fathom run --name=hot --filename=DEVICE --rw={rw} --bs={kib}k --direct=1 --random_distribution=zipf:1.0`",
                    bytes(size as u64)
                ),
            })
        }
        Change::Link(None, then) => Ok(beside_link(measured, *then, rw, kib)),
        Change::Link(Some(now), then) => {
            let new = link_rate(*then);
            let old = || now.rate.clone();
            let used = calculate(
                "used",
                "",
                "iops * block / 1000000 / now_mb_s",
                vec![
                    rate(),
                    input("block", load.block, "bytes", measured.source.clone()),
                    old(),
                ],
            );
            if used.value > 1.1 {
                return Err(format!(
                    "the result has {} MB/s, more than the {} MB/s of {}: name the link that was measured",
                    (load.iops * load.block / 1e6).round(),
                    now.rate.value.round(),
                    now.name
                ));
            }
            // The wire time of each I/O changes; a full link also stops being the ceiling.
            let latency = calculate(
                "latency_us",
                "us",
                "max(1, mean_us - block / now_mb_s + block / then_mb_s)",
                vec![
                    input(
                        "mean_us",
                        measured.mean_ns / 1e3,
                        "us",
                        measured.source.clone(),
                    ),
                    input("block", load.block, "bytes", measured.source.clone()),
                    old(),
                    DerivationInput {
                        name: "then_mb_s".to_owned(),
                        ..from(&new)
                    },
                ],
            );
            let wire = calculate(
                "iops_wire",
                "1/s",
                "min(in_flight * 1000000 / latency_us, then_mb_s * 1000000 / block)",
                vec![
                    from(in_flight),
                    from(&latency),
                    DerivationInput {
                        name: "then_mb_s".to_owned(),
                        ..from(&new)
                    },
                    input("block", load.block, "bytes", measured.source.clone()),
                ],
            );
            let ceiling = calculate(
                "iops_ceiling",
                "1/s",
                "iops * then_mb_s / now_mb_s",
                vec![
                    rate(),
                    old(),
                    DerivationInput {
                        name: "then_mb_s".to_owned(),
                        ..from(&new)
                    },
                ],
            );
            let bound = used.value > 0.8;
            let same = calculate("iops_same", "1/s", "iops", vec![rate()]);
            let (middle, [low, high]) = if bound {
                (ceiling.clone(), sorted(wire, ceiling))
            } else {
                (wire.clone(), sorted(same, wire))
            };
            Ok(Prediction {
                iops: [middle, low, high],
                why: format!(
                    "The link ({}) is used to {} %{}.",
                    now.name,
                    (used.value * 1000.0).round() / 10.0,
                    if bound {
                        ", so that it is the ceiling"
                    } else {
                        ": it is not the limit, and only the time on the wire changes"
                    }
                ),
                settle: format!(
                    "look for a plateau at the rate of the link: `fathom sweep DEVICE --set rw={rw} --set bs={kib}k --axis iodepth=1,4,16,64`"
                ),
            })
        }
    }
}

/// The miss ratio of a cache of this size; `None` without a curve. Between two sizes that of the smaller one.
fn miss_ratio(curve: &[(f64, f64)], size: f64) -> Option<f64> {
    let after = curve.partition_point(|(known, _)| *known <= size * (1.0 + 1e-9));
    (!curve.is_empty()).then(|| after.checked_sub(1).map_or(1.0, |n| curve[n].1))
}

/// A cache whose hits are known from the accesses one by one. The interval is between a cache that serves reads only and one
/// that also takes writes.
fn by_reuse(
    measured: &Measured,
    size: f64,
    misses: f64,
    in_flight: &Derivation,
) -> Result<Prediction, String> {
    let flash = built_in_drive("nvme").map_err(|problem| problem.to_string())?;
    let rate = |name: &str, served: f64, source: &str| {
        let latency = calculate(
            "latency_us",
            "us",
            "served * hits * min(hit_us, mean_us) + (1 - served * hits) * mean_us",
            vec![
                input("served", served, "", source),
                input(
                    "hits",
                    1.0 - misses,
                    "",
                    format!(
                        "miss-ratio curve of {}, least recently used out first",
                        measured.source
                    ),
                ),
                DerivationInput {
                    name: "hit_us".to_owned(),
                    ..flash.given("read_us")
                },
                input(
                    "mean_us",
                    measured.mean_ns / 1e3,
                    "us",
                    measured.source.clone(),
                ),
            ],
        );
        calculate(
            name,
            "1/s",
            "in_flight * 1000000 / latency_us",
            vec![from(in_flight), from(&latency)],
        )
    };
    let reads = rate("predicted_iops", measured.load.reads, "reads of the load");
    let all = rate(
        "iops_write_back",
        1.0,
        "reads and writes: a write-back cache",
    );
    let mut middle = reads.clone();
    let [low, high] = sorted(reads, all);
    if measured.load.reads >= 1.0 {
        middle = low.clone();
    }
    Ok(Prediction {
        iops: [middle, low, high],
        why: format!(
            "{} % of the accesses of the trace hit a cache of {}; a hit takes {} us. The interval is from a cache of reads to one that takes writes too.",
            ((1.0 - misses) * 1000.0).round() / 10.0,
            bytes(size as u64),
            flash.given("read_us").value
        ),
        settle: "replay the trace on storage with the cache: `fathom run --name=replay --filename=DEVICE --read_iolog=FILE`".to_owned(),
    })
}

/// A link in place of one that the result does not name: the rate stays where the present link is not full, and rises to
/// that of the new link at most where it is.
fn beside_link(measured: &Measured, then: HostLink, rw: &str, kib: f64) -> Prediction {
    let load = &measured.load;
    let new = link_rate(then);
    let inputs = || {
        vec![
            input("iops", load.iops, "1/s", measured.source.clone()),
            DerivationInput {
                name: "then_mb_s".to_owned(),
                ..from(&new)
            },
            input("block", load.block, "bytes", measured.source.clone()),
        ]
    };
    let same = calculate(
        "predicted_iops",
        "1/s",
        "min(iops, then_mb_s * 1000000 / block)",
        inputs(),
    );
    let ceiling = calculate(
        "iops_ceiling",
        "1/s",
        "then_mb_s * 1000000 / block",
        inputs(),
    );
    let why = format!(
        "The result does not say its link. The rate stays if that is not full; if it is full, {} carries at most {} IOPS of this size.",
        then.name(),
        thousands(ceiling.value.round() as u64)
    );
    Prediction {
        iops: [same.clone(), same, ceiling],
        why,
        settle: format!(
            "look for a plateau at the rate of the present link: `fathom sweep DEVICE --set rw={rw} --set bs={kib}k --axis iodepth=1,4,16,64`"
        ),
    }
}

fn sorted(a: Derivation, b: Derivation) -> [Derivation; 2] {
    if a.value <= b.value { [a, b] } else { [b, a] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(load: &str, mean_ns: f64) -> Measured {
        Measured {
            source: "run".to_owned(),
            load: load.parse().expect("a load"),
            mean_ns,
            region: Some(1e12),
            miss_ratio: Vec::new(),
            now: Present::default(),
        }
    }

    fn predicted(measured: &Measured, change: &str) -> [f64; 3] {
        let answer = what_if(measured, &[change.to_owned()]).expect(change);
        let row = &answer.tables[0].rows[0];
        assert!(answer.answer[1].contains("`fathom "), "{:?}", answer.answer);
        [1, 2, 3].map(|column| row[column].value().expect("a number"))
    }

    /// A published chart of an array of 8 disks at queue depth 16: 479 IOPS at 33 ms. RAID 5 to 10 at
    /// 70/30: 1.9 against 1.3 operations.
    #[test]
    fn changes_are_predicted_with_an_interval_around_the_arithmetic() {
        let array = measured("479 iops, read, 4k random", 33.4e6);
        let [middle, low, high] = predicted(&array, "drives=8->16");
        assert!(low <= middle && middle <= high, "{low} {middle} {high}");
        // Closed network of exponential servers: N M / (N + M - 1).
        let expected = 479.0 * (16.0 * 16.0 / 31.0) / (16.0 * 8.0 / 23.0);
        // Busy drives when 16 I/Os fall on drives at random: M (1 - (1 - 1/M)^N).
        let busy = |m: f64| m * (1.0 - (1.0 - 1.0 / m).powi(16));
        let random = 479.0 * busy(16.0) / busy(8.0);
        assert!((high / expected - 1.0).abs() < 0.01, "{high} {expected}");
        assert!((low / random - 1.0).abs() < 0.01, "{low} {random}");
        assert!(high < 2.0 * 479.0);
        // One I/O in flight keeps one drive busy, however many there are.
        let single = measured("71 iops, read, 4k random", 1e9 / 71.0);
        let [_, low, high] = predicted(&single, "drives=8->16");
        assert!(
            (low - 71.0).abs() < 0.5 && (high - 71.0).abs() < 0.5,
            "{low} {high}"
        );
        let mixed = measured("400 iops, 70/30, 8k random", 40e6);
        let [middle, low, high] = predicted(&mixed, "raid=5->10");
        assert!((high - 400.0 * 1.9 / 1.3).abs() < 1e-6 && low < middle && middle < high);
        let [middle, low, high] = predicted(&mixed, "raid=10->5");
        assert!(low < middle && middle < high && high < 400.0);
        let [_, low, high] = predicted(&mixed, "cache=100GB");
        // Equal accesses: 10 % hits of 70 % reads.
        let hit = 115.0 / 40_000.0;
        assert!(
            (low - 400.0 / (1.0 - 0.07 * (1.0 - hit))).abs() < 0.01,
            "{low}"
        );
        assert!(high > 1.5 * low);
        // 52,300 reads of 4 KiB on SATA 3 Gbit/s: 214 MB/s of 299, 71 %.
        let link = measured("52300 iops, read, 4k random", 612e3);
        let [middle, low, high] = predicted(&link, "link=sata3->sata6");
        assert!(low == 52_300.0 && (middle / 52_300.0 - 1.0) < 0.05 && high < 55_000.0);
        let full = measured("290 MB/s, 1m sequential read", 3.6e6);
        let [middle, ..] = predicted(&full, "link=sata3->sata6");
        assert!((middle / full.load.iops - 2.0).abs() < 0.01);
    }

    /// Regression 0830: a change without the state before it was refused, although the result names its drives, or a bound
    /// is known.
    #[test]
    fn regression_0830_the_state_before_a_change_is_that_of_the_result() {
        let mut array = measured("400 iops, 70/30, 8k random", 40e6);
        array.now = Present {
            drives: Some(8),
            level: Some(RaidLevel::Raid5),
            link: Some(("SATA".to_owned(), 300e6)),
        };
        for (short, long) in [
            ("drives=16", "drives=8->16"),
            ("raid=10", "raid=5->10"),
            ("raid=6", "raid=5->6"),
        ] {
            assert_eq!(predicted(&array, short), predicted(&array, long), "{short}");
        }
        // 100,000 reads of 4 KiB fill 409.6 of 600 MB/s: another link changes only the time on the wire.
        let mut fast = measured("100000 iops, read, 4k random", 160e3);
        fast.now.link = Some(("SATA".to_owned(), 600e6));
        let wire = |megabytes: f64| 4096.0 / megabytes;
        let new = link_rate("sas12".parse().expect("a link")).value;
        let [middle, ..] = predicted(&fast, "link=sas12");
        let expected = 16.0 / (160.0 - wire(600.0) + wire(new)) * 1e6;
        assert!(
            (middle / expected - 1.0).abs() < 1e-9,
            "{middle} {expected}"
        );
        // Nothing is known: one drive, any level, a link that is full or not.
        array.now = Present::default();
        assert_eq!(
            predicted(&array, "drives=4"),
            predicted(&array, "drives=1->4")
        );
        let [middle, low, high] = predicted(&array, "raid=10");
        let operations = [1.0, 1.3, 1.9, 2.5].map(|now| 400.0 * now / 1.3);
        assert!((low - operations[0]).abs() < 1e-6 && (high - operations[3]).abs() < 1e-6);
        assert!(low < middle && middle < high);
        let reads = measured("400 iops, read, 8k random", 40e6);
        assert_eq!(predicted(&reads, "raid=10"), [400.0; 3]);
        let [middle, low, high] = predicted(&fast_without_link(fast), "link=sas12");
        assert_eq!((middle, low), (100_000.0, 100_000.0));
        assert!((high - new * 1e6 / 4096.0).abs() < 1e-3, "{high}");
    }

    fn fast_without_link(mut fast: Measured) -> Measured {
        fast.now.link = None;
        fast
    }

    /// A cache that 60 % of the accesses hit, half of the I/Os reads: 0.3 of the I/Os take 115 us instead of 10 ms, or 0.6
    /// of them if writes hit too.
    #[test]
    fn hits_come_from_the_miss_ratio_curve_of_a_trace() {
        let mut load = measured("400 iops, 50/50, 8k random", 10e6);
        load.miss_ratio = vec![(1e9, 0.7), (4e9, 0.4)];
        let hit = built_in_drive("nvme")
            .expect("a drive")
            .given("read_us")
            .value;
        let rate = |share: f64| 4.0 / (share * hit + (1.0 - share) * 1e4) * 1e6;
        let [middle, low, high] = predicted(&load, "cache=5GB");
        assert!(
            (middle - rate(0.3)).abs() < 1e-6 && low == middle,
            "{middle} {low}"
        );
        assert!((high - rate(0.6)).abs() < 1e-6, "{high}");
        let [middle, ..] = predicted(&load, "cache=2GB");
        assert!((middle - rate(0.15)).abs() < 1e-6, "{middle}");
        let [_, _, high] = predicted(&load, "cache=1MB");
        assert!((high - 400.0).abs() < 1e-6, "{high}");
    }

    #[test]
    fn mistakes_say_what_is_missing() {
        let mut array = measured("479 iops, read, 4k random", 33.4e6);
        array.region = None;
        for (change, part) in [
            ("drives", "not NAME=VALUE"),
            ("raid=5->7", "unknown RAID level '7'"),
            ("drives=8->0", "not a number of drives"),
            ("cache=64", "no unit"),
            ("cache=64GB", "such as cache=64GB of 1TB"),
            ("link=sata3->lightning", "unknown link"),
            ("colour=red->blue", "unknown; use drives"),
        ] {
            let found = what_if(&array, &[change.to_owned()])
                .expect_err(change)
                .to_string();
            assert!(found.contains(part), "{change}: {found}");
        }
        let fast = measured("100000 iops, read, 8k random", 1e6);
        let found = what_if(&fast, &["link=sata3->sas12".to_owned()]).expect_err("above the link");
        assert!(
            found
                .to_string()
                .contains("name the link that was measured")
        );
    }
}
