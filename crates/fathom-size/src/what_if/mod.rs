//! What a change of the storage would do to a measured result.

mod predict;

use fathom_model::DerivedCell::Calculated;
use fathom_model::format::{bytes, duration, thousands};
use fathom_model::{DerivationInput, DerivedAnswer, DerivedTable, HostLink};

use self::predict::Basis;
use crate::derive::{calculate, from, input, named, text};
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
            rate: named("now_mb_s", &link_rate(link)),
        }
    }
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
    let basis = Basis {
        measured,
        in_flight: &in_flight,
    };
    for text_of_change in changes {
        let change = Change::read(text_of_change, &measured.now)?;
        let made = basis
            .predict(&change)
            .map_err(|problem| error(text_of_change, problem))?;
        let [middle, low, high] = made.iops;
        let factor = calculate(
            "factor",
            "",
            "predicted_iops / iops",
            vec![
                named("predicted_iops", &middle),
                input("iops", load.iops, "1/s", measured.source.clone()),
            ],
        );
        let mean = calculate(
            "mean_ms",
            "ms",
            "1000 * in_flight / predicted_iops",
            vec![from(&in_flight), named("predicted_iops", &middle)],
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
    let how = if measured.source.ends_with(", simulated") {
        "Simulated"
    } else {
        "Measured"
    };
    Ok(DerivedAnswer {
        question: vec![format!(
            "{how}: {} IOPS, {} % reads, {} {}, mean {}, {} in flight ({})",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::built_in_drive;

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
        // Both ends with 3 % for the error of the laws, of which 15/16 at 16 in flight.
        let error = 0.03 * 15.0 / 16.0;
        assert!(
            (high / (expected * (1.0 + error)) - 1.0).abs() < 1e-3,
            "{high} {expected}"
        );
        assert!(
            (low / (random * (1.0 - error)) - 1.0).abs() < 1e-3,
            "{low} {random}"
        );
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

    /// Regression 0953: `drives=12` of 8 drives with 16 I/Os in flight had an interval without width, because both laws agree
    /// there (12 * 16 / 27 and 8 * 16 / 23 against the shares of busy drives): as if the prediction had no error.
    #[test]
    fn regression_0953_laws_that_agree_still_have_an_error() {
        let array = measured("846 iops, read, 4k random", 16.0 / 846.0 * 1e9);
        let [middle, low, high] = predicted(&array, "drives=8->12");
        let exponential = 846.0 * (12.0 / 27.0) / (8.0 / 23.0);
        assert!((middle / exponential - 1.0).abs() < 1e-3, "{middle}");
        let error = 0.03 * 15.0 / 16.0;
        assert!((low / middle - (1.0 - error)).abs() < 1e-3, "{low}");
        assert!((high / middle - (1.0 + error)).abs() < 1e-3, "{high}");
        // Sequential requests: one drive at a time, or all together.
        let stream = measured("500 iops, read, 1m sequential", 2e6);
        let [_, low, high] = predicted(&stream, "drives=4->8");
        assert!((low - 500.0).abs() < 1e-6 && (high - 1000.0).abs() < 1e-6);
    }

    /// Regression 0954: another link in place of an unknown one was predicted to bring 846 reads of 4 KiB per second to up to
    /// 283,019, although 3.5 MB/s fill no link. 52,300 of them, 214 MB/s, fill SATA at 3 Gbit/s as far as it was measured.
    #[test]
    fn regression_0954_a_link_that_cannot_be_full_is_not_the_limit() {
        let slow = measured("846 iops, read, 4k random", 18.9e6);
        assert_eq!(predicted(&slow, "link=sas12"), [846.0; 3]);
        let fast = measured("52300 iops, read, 4k random", 612e3);
        let [middle, low, high] = predicted(&fast, "link=sata6");
        assert_eq!((middle, low), (52_300.0, 52_300.0));
        let new = link_rate("sata6".parse().expect("a link")).value;
        assert!((high - new * 1e6 / 4096.0).abs() < 1e-3, "{high}");
        let answer = what_if(&fast, &["link=sata6".to_owned()]).expect("an answer");
        assert!(answer.answer[0].contains("sata3"), "{:?}", answer.answer);
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
