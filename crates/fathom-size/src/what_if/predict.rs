//! The predictions of changes, each with its interval and with the measurement that would settle it.

use fathom_model::format::{bytes, thousands};
use fathom_model::{Derivation, DerivationInput, HostLink};

use super::{Change, Measured, PresentLink};
use crate::derive::{by_method, calculate, from, input, named};
use crate::drive::built_in_drive;
use crate::raid::RaidLevel;
use crate::tables::link_rate;

/// The levels that an array may have, where the result does not name its level.
const LEVELS: [RaidLevel; 4] = [
    RaidLevel::Raid0,
    RaidLevel::Raid10,
    RaidLevel::Raid5,
    RaidLevel::Raid6,
];

/// How far the laws of queueing over several drives are from a measured array.
const LAW_ERROR: f64 = 0.03;
const LAW_ERROR_SOURCE: &str = "a published sweep of an array of 8 disks, queue depths 1 to 64: at most 2.4 % (`fathom size tables arrays`)";
/// Links carry at least this share of their rate in small requests before they stop being the limit: SATA SSDs were measured at
/// 71 % of SATA at 3 Gbit/s.
const FULL_SHARE: f64 = 0.7;

/// A prediction with its interval.
pub(super) struct Prediction {
    /// The prediction, the low and the high end of its interval.
    pub iops: [Derivation; 3],
    pub why: String,
    pub settle: String,
}

/// What is predicted from: a measured result, and the I/Os that it had in flight.
pub(super) struct Basis<'a> {
    pub measured: &'a Measured,
    pub in_flight: &'a Derivation,
}

impl Basis<'_> {
    pub fn predict(&self, change: &Change) -> Result<Prediction, String> {
        match change {
            Change::Drives(known, then) => Ok(self.drives(*known, *then)),
            Change::Raid(known, then) => self.raid(*known, *then),
            Change::Cache(size, data) => self.cache(*size, *data),
            Change::Link(Some(now), then) => self.link(now, *then),
            Change::Link(None, then) => Ok(self.unknown_link(*then)),
        }
    }

    fn rate(&self) -> DerivationInput {
        let source = self.measured.source.clone();
        input("iops", self.measured.load.iops, "1/s", source)
    }

    fn block(&self) -> DerivationInput {
        let source = self.measured.source.clone();
        input("block", self.measured.load.block, "bytes", source)
    }

    fn mean_us(&self) -> DerivationInput {
        let source = self.measured.source.clone();
        input("mean_us", self.measured.mean_ns / 1e3, "us", source)
    }

    /// The block size as `bs=` of a job has it.
    fn bs(&self) -> String {
        let bytes = self.measured.load.block.round() as u64;
        match bytes.is_multiple_of(1024) {
            true => format!("{}k", bytes / 1024),
            false => bytes.to_string(),
        }
    }

    /// The sweep of the load over these queue depths.
    fn sweep_of_load(&self, depths: &str) -> String {
        format!(
            "fathom sweep DEVICE --set rw={} --set rwmixread={:.0} --set bs={} --axis iodepth={depths}",
            self.rw(),
            100.0 * self.measured.load.reads,
            self.bs()
        )
    }

    /// The pattern as `rw=` of a job has it.
    fn rw(&self) -> &'static str {
        let load = &self.measured.load;
        match (load.random, load.reads) {
            (true, r) if r >= 1.0 => "randread",
            (true, r) if r <= 0.0 => "randwrite",
            (true, _) => "randrw",
            (false, r) if r >= 1.0 => "read",
            (false, r) if r <= 0.0 => "write",
            (false, _) => "rw",
        }
    }

    fn depth(&self) -> f64 {
        self.in_flight.value.round().max(1.0)
    }

    fn drives(&self, known: Option<u32>, then: u32) -> Prediction {
        let now = known.unwrap_or(1);
        let source = match known {
            Some(_) => "the change, or the result",
            None => "assumed: the result does not say",
        };
        let inputs = || {
            vec![
                self.rate(),
                input("now", f64::from(now), "", source),
                input("then", f64::from(then), "", "the change"),
                from(self.in_flight),
            ]
        };
        let [exponential, constant] = if self.measured.load.random {
            let variable =
                "iops * then / now * (in_flight + now - 1) / (in_flight + then - 1)";
            let constant = "iops * then / now * (1 - (1 - 1 / then) ^ in_flight) / (1 - (1 - 1 / now) ^ in_flight)";
            [("iops_variable", variable), ("iops_constant", constant)]
        } else {
            [("iops_one_drive", "iops"), ("iops_all_drives", "iops * then / now")]
        }
        .map(|(name, formula)| calculate(name, "1/s", formula, inputs()));
        let [lower, upper] = sorted(exponential, constant);
        let middle = calculate(
            "predicted_iops",
            "1/s",
            "(lower + upper) / 2",
            vec![named("lower", &lower), named("upper", &upper)],
        );
        // Both laws may agree by chance: their own error remains, except for one I/O at a time, which one drive serves.
        let end = |name: &str, sign: char, law: &Derivation| {
            calculate(
                name,
                "1/s",
                &format!("law * (1 {sign} error * (1 - 1 / max(1, in_flight)))"),
                vec![
                    named("law", law),
                    input("error", LAW_ERROR, "", LAW_ERROR_SOURCE),
                    from(self.in_flight),
                ],
            )
        };
        let (low, high) = (end("iops_low", '-', &lower), end("iops_high", '+', &upper));
        let from_drives = match known {
            Some(1) => "From 1 drive.".to_owned(),
            Some(now) => format!("From {now} drives."),
            None => format!(
                "The result does not say how many drives it is of: taken as one; for an array write drives=8->{then}."
            ),
        };
        let depth = self.depth();
        let interval = if self.measured.load.random {
            format!(
                "{depth} I/Os in flight at random places keep only part of the drives busy; the interval is between the laws of widely varying and of equal service times, and {} % for their error.",
                LAW_ERROR * 100.0
            )
        } else {
            "The interval is from requests that one drive serves at a time to requests that all drives serve together: it depends on the chunk and on read-ahead.".to_owned()
        };
        Prediction {
            iops: [middle, low, high],
            why: format!("{from_drives} {interval}"),
            settle: format!(
                "measure one array of {then} drives, or a part of the present one: `{}`",
                // At depth 1 the first two are one.
                self.sweep_of_load(&match depth {
                    1.0 => "1,2".to_owned(),
                    _ => format!("1,{depth},{}", depth * 2.0),
                })
            ),
        }
    }

    fn raid(&self, known: Option<RaidLevel>, then: RaidLevel) -> Result<Prediction, String> {
        let load = &self.measured.load;
        if !load.random {
            return Err("only random loads are predicted: sequential writes in whole stripes have no write penalty".to_owned());
        }
        let ratio = |name: &str, now: RaidLevel, scale: f64| {
            calculate(
                name,
                "1/s",
                "iops * (1 + (operations_now / operations_then - 1) * scale)",
                vec![
                    self.rate(),
                    named("operations_now", &now.operations(load.reads)),
                    named("operations_then", &then.operations(load.reads)),
                    input(
                        "scale",
                        scale,
                        "",
                        "share of the change of disk operations: RAID 5 was measured at 3.3 and 3.8 reads for each write, not 4",
                    ),
                ],
            )
        };
        let settle = format!(
            "measure writes and reads apart on a file of the present array that may be overwritten: `fathom sweep DEVICE --set bs={} --set iodepth={} --axis rw=randread,randwrite`; their ratio is the real penalty",
            self.bs(),
            self.depth()
        );
        if load.reads >= 1.0 {
            let same = calculate("predicted_iops", "1/s", "iops", vec![self.rate()]);
            return Ok(Prediction {
                iops: [same.clone(), same.clone(), same],
                why: "The load only reads, and a read is one disk operation at every level: the level changes nothing as long as all drives work.".to_owned(),
                settle,
            });
        }
        let each = |level: RaidLevel| (level.operations(load.reads).value * 100.0).round() / 100.0;
        let (iops, why) = match known {
            Some(now) => {
                let [low, high] =
                    sorted(ratio("iops_low", now, 0.75), ratio("iops_high", now, 1.0));
                (
                    [ratio("predicted_iops", now, 0.9), low, high],
                    format!(
                        "{} disk operations for each I/O instead of {}, on the same drives.",
                        each(then),
                        each(now)
                    ),
                )
            }
            None => {
                let mut ends: Vec<Derivation> = LEVELS
                    .into_iter()
                    .flat_map(|now| [ratio("iops_low", now, 0.75), ratio("iops_high", now, 1.0)])
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
                        each(then),
                        each(RaidLevel::Raid0),
                        each(RaidLevel::Raid6),
                        then.to_string().trim_start_matches("RAID ")
                    ),
                )
            }
        };
        Ok(Prediction { iops, why, settle })
    }

    fn cache(&self, size: f64, data: Option<f64>) -> Result<Prediction, String> {
        let load = &self.measured.load;
        if let (None, Some(misses)) = (data, miss_ratio(&self.measured.miss_ratio, size)) {
            return by_reuse(self.measured, size, misses, self.in_flight);
        }
        let data = data.or(self.measured.region).ok_or_else(|| {
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
                    input("reads", load.reads, "", self.measured.source.clone()),
                    named("hits", hits),
                    from(&hit),
                    self.mean_us(),
                ],
            );
            calculate(
                name,
                "1/s",
                "in_flight * 1000000 / latency_us",
                vec![from(self.in_flight), from(&latency)],
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
                "measure the real hit share: replay a trace of the application, or run its distribution in {} of the region: `fathom run --name=hot --filename=DEVICE --rw={} --rwmixread={:.0} --bs={} --direct=1 --random_distribution=zipf:0.99`",
                bytes(size as u64),
                self.rw(),
                100.0 * self.measured.load.reads,
                self.bs()
            ),
        })
    }

    fn link(&self, now: &PresentLink, then: HostLink) -> Result<Prediction, String> {
        let load = &self.measured.load;
        let new = link_rate(then);
        let old = || now.rate.clone();
        let used = calculate(
            "used",
            "",
            "iops * block / 1000000 / now_mb_s",
            vec![self.rate(), self.block(), old()],
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
                self.mean_us(),
                self.block(),
                old(),
                named("then_mb_s", &new),
            ],
        );
        let wire = calculate(
            "iops_wire",
            "1/s",
            "min(in_flight * 1000000 / latency_us, then_mb_s * 1000000 / block)",
            vec![
                from(self.in_flight),
                from(&latency),
                named("then_mb_s", &new),
                self.block(),
            ],
        );
        let ceiling = calculate(
            "iops_ceiling",
            "1/s",
            "iops * then_mb_s / now_mb_s",
            vec![self.rate(), old(), named("then_mb_s", &new)],
        );
        let bound = used.value > 0.8;
        let same = calculate("iops_same", "1/s", "iops", vec![self.rate()]);
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
            settle: self.look_for_a_plateau("the link"),
        })
    }

    fn look_for_a_plateau(&self, link: &str) -> String {
        format!(
            "look for a plateau at the rate of {link}: `{}`",
            self.sweep_of_load("1,4,16,64")
        )
    }

    /// A link in place of one that the result does not name: the rate stays where the present link is not full, and rises to
    /// that of the new link at most where it is.
    fn unknown_link(&self, then: HostLink) -> Prediction {
        let load = &self.measured.load;
        let new = link_rate(then);
        let inputs = || vec![self.rate(), named("then_mb_s", &new), self.block()];
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
        let bytes_per_s = load.iops * load.block;
        let full: Vec<String> = HostLink::all()
            .iter()
            .filter(|link| (FULL_SHARE..=1.0).contains(&(bytes_per_s / link.usable())))
            .map(|link| link.name())
            .collect();
        let settle = self.look_for_a_plateau("the present link");
        let measured = thousands((bytes_per_s / 1e6).round() as u64);
        if full.is_empty() {
            return Prediction {
                iops: [same.clone(), same.clone(), same],
                why: format!(
                    "The result does not say its link, but {measured} MB/s fill none of the known ones: the link is not the limit."
                ),
                settle,
            };
        }
        let why = format!(
            "The result does not say its link. {measured} MB/s would fill {}. The rate stays if the link is not full; if it is full, {} carries at most {} IOPS of this size.",
            full.join(", "),
            then.name(),
            thousands(ceiling.value.round() as u64)
        );
        Prediction {
            iops: [same.clone(), same, ceiling],
            why,
            settle,
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

fn sorted(a: Derivation, b: Derivation) -> [Derivation; 2] {
    if a.value <= b.value { [a, b] } else { [b, a] }
}
