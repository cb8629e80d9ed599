//! Latency against load, bursts, caches.

use fathom_model::DerivedCell::{Calculated, Given};
use fathom_model::{Derivation, DerivedAnswer, DerivedCell};

use super::disks::{access_time, working_set_access};
use super::{answer, table};
use crate::curve::{
    DriveLoad, disk_facts, disk_service_of, flash_limits, flash_response, iops_at_limit,
};
use crate::derive::{by_method, calculate, from, input, text};
use crate::drive::{Drive, Medium, built_in_drive};
use crate::queue::{LatencyFigure, response_figure};

const LOAD: DriveLoad = DriveLoad {
    block: 8192.0,
    reads: 1.0,
    burstiness: 1.0,
};
const P99: LatencyFigure = LatencyFigure::Percentile(99.0);

fn drive(id: &str) -> Drive {
    built_in_drive(id).expect("a drive of the program")
}

/// A figure of the response at a utilisation, ms.
fn response_ms(drive: &Drive, figure: LatencyFigure, utilisation: f64) -> Derivation {
    let share = input("utilisation", utilisation, "", "this table");
    match drive.medium {
        Medium::Flash => {
            let (_, base) = flash_limits(drive, LOAD);
            let us = flash_response(drive, &base, &share, (figure, 1.0));
            calculate(
                "response_ms",
                "ms",
                &format!("{} / 1000", us.name),
                vec![from(&us)],
            )
        }
        Medium::Disk => {
            let service = disk_service_of(drive, LOAD);
            let mut inputs = disk_facts(drive, &service);
            inputs.push(share);
            match figure {
                LatencyFigure::Mean => calculate(
                    "response_ms",
                    "ms",
                    "service_ms * (1 + utilisation * (1 + service_variation ^ 2) / (2 * (1 - utilisation)))",
                    inputs,
                ),
                LatencyFigure::Percentile(_) => by_method(
                    "response_ms",
                    (response_figure(&service, figure, utilisation, 1.0), "ms"),
                    &format!("{figure} of wait and service (M/G/1, Pollaczek and Khinchine)"),
                    inputs,
                ),
            }
        }
    }
}

/// By utilisation, and loads at limits.
pub(super) fn latency() -> DerivedAnswer {
    let drives = ["hdd-7200", "hdd-15k", "sata-ssd", "nvme"].map(drive);
    let mut columns = vec!["busy, %".to_owned()];
    for drive in &drives {
        columns.push(format!("{} mean, ms", drive.id));
        columns.push(format!("{} p99, ms", drive.id));
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut by_load = table(
        "Response of random 8 KiB reads by utilisation, independent arrivals",
        &columns,
    );
    for utilisation in [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9] {
        let mut row = vec![text(format!("{:.0}", utilisation * 100.0))];
        for drive in &drives {
            row.push(Calculated(response_ms(
                drive,
                LatencyFigure::Mean,
                utilisation,
            )));
            row.push(Calculated(response_ms(drive, P99, utilisation)));
        }
        by_load.rows.push(row);
    }
    let mut limits = table(
        "Random 8 KiB reads per second of one drive within a limit",
        &[
            "drive",
            "mean <= 1 ms",
            "mean <= 10 ms",
            "mean <= 20 ms",
            "p99 <= 1 ms",
            "p99 <= 20 ms",
            "p99 <= 50 ms",
        ],
    );
    for id in ["hdd-7200", "hdd-10k", "hdd-15k", "sata-ssd", "nvme"] {
        let drive = drive(id);
        let cases = [
            (LatencyFigure::Mean, 1e6),
            (LatencyFigure::Mean, 10e6),
            (LatencyFigure::Mean, 20e6),
            (P99, 1e6),
            (P99, 20e6),
            (P99, 50e6),
        ];
        let mut row = vec![text(id)];
        row.extend(cases.map(
            |(figure, limit)| match iops_at_limit(&drive, LOAD, figure, limit) {
                Ok(found) => Calculated(found.iops),
                Err(_) => text("none"),
            },
        ));
        limits.rows.push(row);
    }
    let mut little = table(
        "I/Os in flight by Little's law",
        &["IOPS", "mean latency, ms", "in flight"],
    );
    for (rate, ms) in [
        (10_000.0, 50.0),
        (2_000.0, 10.0),
        (100.0, 10.0),
        (8_459.0, 0.116),
        (1e6, 0.1),
        (1e6, 0.4),
    ] {
        let (rate, ms) = (
            input("iops", rate, "1/s", "this table"),
            input("latency_ms", ms, "ms", "this table"),
        );
        let flight = calculate(
            "in_flight",
            "",
            "iops * latency_ms / 1000",
            vec![rate.clone(), ms.clone()],
        );
        little
            .rows
            .push(vec![Given(rate), Given(ms), Calculated(flight)]);
    }
    answer(
        vec![by_load, limits, little],
        &[
            "'none': the drive exceeds the limit even with one I/O at a time.",
            "Disks: one server with the service times of seeks and rotations. Flash: soft minimum of the rate at low load and the ceiling, percentiles of a gamma distribution.",
        ],
    )
}

/// p99 by burstiness.
pub(super) fn bursts() -> DerivedAnswer {
    let disk = drive("hdd-7200");
    let service = disk_service_of(&disk, LOAD);
    let shares = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9];
    let mut columns = vec!["burstiness".to_owned(), "factor of the wait".to_owned()];
    columns.extend(shares.map(|share| format!("{:.0} % busy, ms", share * 100.0)));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut made = table(
        "p99 response of random 8 KiB reads on a 7,200 rpm disk",
        &columns,
    );
    for burstiness in [0.0, 1.0, 2.0, 5.0, 10.0, 50.0] {
        let mut facts = disk_facts(&disk, &service);
        facts.push(input("burstiness", burstiness, "", "this table"));
        let factor = calculate(
            "factor",
            "",
            "(burstiness + service_variation ^ 2) / (1 + service_variation ^ 2)",
            facts.clone(),
        );
        let mut row: Vec<DerivedCell> = vec![text(format!("{burstiness}")), Calculated(factor)];
        row.extend(shares.map(|share| {
            let mut inputs = facts.clone();
            inputs.push(input("utilisation", share, "", "this table"));
            let wait = calculate(
                "wait_ms",
                "ms",
                "service_ms * utilisation * (burstiness + service_variation ^ 2) / (2 * (1 - utilisation))",
                inputs.clone(),
            );
            inputs.push(from(&wait));
            Calculated(calculate(
                "p99_ms",
                "ms",
                "service_ms + wait_ms / utilisation * max(0, ln(utilisation / 0.01))",
                inputs,
            ))
        }));
        made.rows.push(row);
    }
    answer(
        vec![made],
        &[
            "Burstiness is the squared coefficient of variation of the times between arrivals: 0 for equal intervals, 1 for independent arrivals, 2 to 50 in traces of applications.",
            "Mean wait by Allen and Cunneen; of I/Os that wait, the wait is taken as exponential, and the service as its mean. A queue with bursts needs a lower utilisation, not a faster percentile.",
        ],
    )
}

/// Logarithmic approximation of the sum of 1/1 to 1/k.
const HARMONIC: &str =
    "(ln(flash_gb * 1000000000 / extent) + 0.5772) / (ln(data_gb * 1000000000 / extent) + 0.5772)";

/// Hit shares, and cache against tier.
pub(super) fn cache() -> DerivedAnswer {
    let flash = drive("sata-ssd");
    let disk = drive("hdd-7200-1tb");
    let whole = working_set_access(&disk, 1000.0, 8192.0);
    let cached = calculate(
        "hit_ms",
        "ms",
        "read_us / 1000",
        vec![flash.given("read_us")],
    );
    let mut made = table(
        "Mean latency of random 8 KiB reads by the share that flash serves",
        &[
            "hits, %",
            "misses on a whole disk, ms",
            "misses of 8.5 ms, ms",
            "I/Os for each disk I/O",
        ],
    );
    for hits in [0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999] {
        let share = input("hits", hits, "", "this table");
        let mean = |miss| {
            Calculated(calculate(
                "mean_ms",
                "ms",
                "hits * hit_ms + (1 - hits) * miss_ms",
                vec![share.clone(), from(&cached), miss],
            ))
        };
        made.rows.push(vec![
            text(format!("{}", (hits * 1000.0f64).round() / 10.0)),
            mean(fathom_model::DerivationInput {
                name: "miss_ms".to_owned(),
                ..from(&whole)
            }),
            mean(input(
                "miss_ms",
                8.5,
                "ms",
                "measured: zipf over all of a 7,200 rpm disk with hits in its own cache",
            )),
            Calculated(calculate("gain", "", "1 / (1 - hits)", vec![share])),
        ]);
    }
    let disks = drive("hdd-10k");
    let access = access_time(&disks);
    let mut tiers = table(
        "20 disks of 900 GB and 10,000 rpm in RAID 10, with two SSDs of 400 GB as cache or four as tier; zipf 1.0 over all data",
        &[
            "configuration",
            "flash, GB",
            "data, GB",
            "hits, %",
            "mean latency, ms",
            "read IOPS of the disks and hits",
        ],
    );
    for (name, drives, copies) in [
        ("disks only", 0.0, 1.0),
        ("2 SSDs as read cache", 2.0, 1.0),
        ("4 SSDs as tier, RAID 10", 4.0, 2.0),
        ("4 SSDs as tier, RAID 5", 4.0, 4.0 / 3.0),
    ] {
        let flash_gb = calculate(
            "flash_gb",
            "GB",
            "drives * 400 / copies",
            vec![
                input("drives", drives, "", "this table"),
                input("copies", copies, "", "capacity for each byte of data"),
            ],
        );
        let tiered = if drives > 2.0 { flash_gb.value } else { 0.0 };
        let data = calculate(
            "data_gb",
            "GB",
            "20 * 900 / 2 + tiered",
            vec![input(
                "tiered",
                tiered,
                "GB",
                "flash of a tier holds data of its own; that of a cache holds copies",
            )],
        );
        let hits = if drives > 0.0 {
            calculate(
                "hits",
                "",
                HARMONIC,
                vec![
                    from(&flash_gb),
                    input(
                        "data_gb",
                        9000.0,
                        "GB",
                        "the same data in all configurations: 20 * 900 / 2",
                    ),
                    input("extent", 4_194_304.0, "bytes", "assumed: 4 MiB"),
                ],
            )
        } else {
            calculate("hits", "", "0", vec![])
        };
        let mean = calculate(
            "mean_ms",
            "ms",
            "hits * hit_ms + (1 - hits) * access_time",
            vec![from(&hits), from(&cached), from(&access)],
        );
        let rate = calculate(
            "iops",
            "1/s",
            "20 * 1000 / access_time / (1 - hits)",
            vec![from(&access), from(&hits)],
        );
        let percent = calculate("hits_percent", "%", "100 * hits", vec![from(&hits)]);
        tiers.rows.push(vec![
            text(name),
            Calculated(flash_gb),
            Calculated(data),
            Calculated(percent),
            Calculated(mean),
            Calculated(rate),
        ]);
    }
    answer(
        vec![made, tiers],
        &[
            "The hit share follows from the skew of the accesses, not from the share of the capacity. Measure it, or take it from a miss-ratio curve.",
            "Hits of the second table are those after all hot extents are in flash. A cache gets there within minutes, a tier after its next migrations.",
        ],
    )
}
