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
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// From so many drives to others.
    Drives(u32, u32),
    /// From one level to another, the same drives.
    Raid(RaidLevel, RaidLevel),
    /// A cache of so many bytes in front; bytes of the data, if given.
    Cache(f64, Option<f64>),
    /// From one link to another.
    Link(HostLink, HostLink),
}

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
    /// `drives=8->12`, `raid=5->10`, `cache=64GB`, `cache=64GB of 1TB`, `link=sata3->sas12`.
    ///
    /// # Errors
    /// Without the state before the change, or with values that cannot be.
    pub fn read(change: &str) -> Result<Change, ChangeError> {
        let (what, value) = change.split_once('=').ok_or_else(|| {
            error(
                change,
                "not NAME=VALUE; use drives=8->12, raid=5->10, cache=64GB or link=sata3->sas12",
            )
        })?;
        let pair = || {
            value
                .split_once("->")
                .map(|(a, b)| (a.trim(), b.trim()))
                .ok_or_else(|| {
                    let example = match what.trim() {
                        "drives" => "drives=8->12",
                        "raid" => "raid=5->10",
                        _ => "link=sata3->sas12",
                    };
                    error(
                        change,
                        format!(
                            "the result does not say what it is now; write both, such as {example}"
                        ),
                    )
                })
        };
        match what.trim() {
            "drives" => {
                let (now, then) = pair()?;
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
                Ok(Change::Drives(number(now)?, number(then)?))
            }
            "raid" => {
                let (now, then) = pair()?;
                let level = |text: &str| {
                    text.parse::<RaidLevel>()
                        .map_err(|problem| error(change, problem.to_string()))
                };
                Ok(Change::Raid(level(now)?, level(then)?))
            }
            "cache" => {
                let (size, data) = value
                    .split_once(" of ")
                    .map_or((value, None), |(a, b)| (a, Some(b)));
                let read = |text: &str| capacity(text).map_err(|problem| error(change, problem));
                Ok(Change::Cache(read(size)?, data.map(read).transpose()?))
            }
            "link" => {
                let (now, then) = pair()?;
                let link = |text: &str| {
                    text.parse::<HostLink>()
                        .map_err(|problem| error(change, problem.to_string()))
                };
                Ok(Change::Link(link(now)?, link(then)?))
            }
            _ => Err(error(
                change,
                "unknown; use drives=8->12, raid=5->10, cache=64GB or link=sata3->sas12",
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
        let change = Change::read(text_of_change)?;
        let made = predict(measured, change, &in_flight)
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
    change: Change,
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
        Change::Drives(now, then) => {
            let inputs = || {
                vec![
                    rate(),
                    input("now", f64::from(now), "", "the change"),
                    input("then", f64::from(then), "", "the change"),
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
                    "{depth} I/Os in flight at random places keep only part of the drives busy; the interval is between the laws of widely varying and of equal service times."
                ),
                settle: format!(
                    "measure one array of {then} drives, or a part of the present one: `fathom sweep DEVICE --set rw={rw} --set bs={kib}k --axis iodepth=1,{depth},{}`",
                    depth * 2.0
                ),
            })
        }
        Change::Raid(now, then) => {
            let ratio = |name: &str, scale: f64| {
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
            if !load.random {
                return Err("only random loads are predicted: sequential writes in whole stripes have no write penalty".to_owned());
            }
            let [low, high] = sorted(ratio("iops_low", 0.75), ratio("iops_high", 1.0));
            Ok(Prediction {
                iops: [ratio("predicted_iops", 0.9), low, high],
                why: format!(
                    "{} disk operations for each I/O instead of {}, on the same drives.",
                    (then.operations(load.reads).value * 100.0).round() / 100.0,
                    (now.operations(load.reads).value * 100.0).round() / 100.0
                ),
                settle: format!(
                    "measure writes and reads apart on the present array: `fathom sweep DEVICE --set bs={kib}k --set iodepth={depth} --axis rw=randread,randwrite`; their ratio is the real penalty"
                ),
            })
        }
        Change::Cache(size, data) => {
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
        Change::Link(now, then) => {
            let (old, new) = (link_rate(now), link_rate(then));
            let used = calculate(
                "used",
                "",
                "iops * block / 1000000 / now_mb_s",
                vec![
                    rate(),
                    input("block", load.block, "bytes", measured.source.clone()),
                    DerivationInput {
                        name: "now_mb_s".to_owned(),
                        ..from(&old)
                    },
                ],
            );
            if used.value > 1.1 {
                return Err(format!(
                    "the result has {} MB/s, more than the {} MB/s of {}: name the link that was measured",
                    (load.iops * load.block / 1e6).round(),
                    old.value.round(),
                    now.name()
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
                    DerivationInput {
                        name: "now_mb_s".to_owned(),
                        ..from(&old)
                    },
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
                    DerivationInput {
                        name: "now_mb_s".to_owned(),
                        ..from(&old)
                    },
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
                    "The link is used to {} %{}.",
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

    #[test]
    fn mistakes_say_what_is_missing() {
        let mut array = measured("479 iops, read, 4k random", 33.4e6);
        array.region = None;
        for (change, part) in [
            ("drives", "not NAME=VALUE"),
            ("drives=12", "write both, such as drives=8->12"),
            ("raid=10", "write both, such as raid=5->10"),
            ("raid=5->7", "unknown RAID level '7'"),
            ("drives=8->0", "not a number of drives"),
            ("cache=64", "no unit"),
            ("cache=64GB", "such as cache=64GB of 1TB"),
            ("link=sas12", "write both, such as link=sata3->sas12"),
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
