//! Hard disks: speed, zones, working sets, capacity against performance.

use fathom_model::DerivedCell::{Calculated, Given};
use fathom_model::{Derivation, DerivedAnswer};

use super::{answer, table};
use crate::derive::{calculate, from, input, text};
use crate::drive::{Drive, Medium, built_in_drive, built_in_drives};

fn drive(id: &str) -> Drive {
    built_in_drive(id).expect("a drive of the program")
}

/// Half a turn, ms.
pub(super) fn rotational_latency(drive: &Drive) -> Derivation {
    calculate(
        "rotational_latency",
        "ms",
        "60000 / rpm / 2",
        vec![drive.given("rpm")],
    )
}

/// Mean access time of random I/O over the whole disk, without the transfer, ms.
pub(super) fn access_time(drive: &Drive) -> Derivation {
    calculate(
        "access_time",
        "ms",
        "seek_ms + rotational_latency",
        vec![drive.given("seek_ms"), from(&rotational_latency(drive))],
    )
}

pub(super) fn iops(access: &Derivation) -> Derivation {
    calculate("iops", "1/s", "1000 / access_time", vec![from(access)])
}

/// 5,400 to 15,000 rpm.
pub(super) fn rpm() -> DerivedAnswer {
    let mut made = table(
        "Random reads over the whole disk, one at a time",
        &[
            "drive",
            "rpm",
            "rotational latency, ms",
            "average seek, ms",
            "access time, ms",
            "IOPS",
        ],
    );
    for id in ["hdd-5400", "hdd-7200", "hdd-10k", "hdd-15k"] {
        let drive = drive(id);
        let access = access_time(&drive);
        made.rows.push(vec![
            text(id),
            Given(drive.given("rpm")),
            Calculated(rotational_latency(&drive)),
            Given(drive.given("seek_ms")),
            Calculated(access.clone()),
            Calculated(iops(&access)),
        ]);
    }
    answer(
        vec![made],
        &[
            "IOPS at queue depth 1 are the reciprocal of the access time. Small transfers add less than 0.1 ms.",
            "A rotation takes from nothing to a whole turn with equal probability: half a turn on average.",
        ],
    )
}

/// The rate at a share of the capacity from the outer edge, MB/s.
fn rate_at(drive: &Drive, share: f64) -> Derivation {
    calculate(
        "rate",
        "MB/s",
        "sqrt(outer_mb_s ^ 2 - share * (outer_mb_s ^ 2 - inner_mb_s ^ 2))",
        vec![
            input(
                "share",
                share,
                "",
                "position in the capacity, from the outer edge",
            ),
            drive.given("outer_mb_s"),
            drive.given("inner_mb_s"),
        ],
    )
}

/// Rate by position.
pub(super) fn zones() -> DerivedAnswer {
    let mut made = table(
        "Sequential rate, MB/s, at a share of the capacity, and the time to read the whole disk",
        &[
            "drive",
            "0 %",
            "25 %",
            "50 %",
            "75 %",
            "100 %",
            "drop, %",
            "whole disk, h",
            "by the outer rate, h",
        ],
    );
    for drive in built_in_drives() {
        if drive.medium != Medium::Disk || drive.id == "hdd-5400" {
            continue;
        }
        let mut row = vec![text(drive.id.clone())];
        row.extend([0.0, 0.25, 0.5, 0.75, 1.0].map(|share| Calculated(rate_at(&drive, share))));
        let (outer, inner) = (drive.given("outer_mb_s"), drive.given("inner_mb_s"));
        row.push(Calculated(calculate(
            "drop",
            "%",
            "100 * (1 - inner_mb_s / outer_mb_s)",
            vec![outer.clone(), inner.clone()],
        )));
        let capacity = drive.given("capacity_gb");
        row.push(Calculated(calculate(
            "whole_disk",
            "h",
            "capacity_gb * 1000 * 2 / (outer_mb_s + inner_mb_s) / 3600",
            vec![capacity.clone(), outer.clone(), inner],
        )));
        row.push(Calculated(calculate(
            "by_outer_rate",
            "h",
            "capacity_gb * 1000 / outer_mb_s / 3600",
            vec![capacity, outer],
        )));
        made.rows.push(row);
    }
    answer(
        vec![made],
        &[
            "Bytes of a track fall linearly from the outer to the inner edge; the time of the whole disk is the integral over its tracks.",
            "A transfer time calculated with the rate of an empty disk is too short.",
        ],
    )
}

/// The share of the cylinders that hold the first `bytes_gb` of a disk.
fn cylinder_share(drive: &Drive, gb: f64) -> Derivation {
    let capacity = drive.given("capacity_gb");
    let share = calculate(
        "share",
        "",
        "min(1, working_set / capacity_gb)",
        vec![input("working_set", gb, "GB", "this table"), capacity],
    );
    calculate(
        "span",
        "",
        "(outer_mb_s - sqrt(outer_mb_s ^ 2 - share * (outer_mb_s ^ 2 - inner_mb_s ^ 2))) / (outer_mb_s - inner_mb_s)",
        vec![
            from(&share),
            drive.given("outer_mb_s"),
            drive.given("inner_mb_s"),
        ],
    )
}

/// Mean seek between random places in `span` of the cylinders, ms. `third` is the part of the
/// distances up to a third of the stroke, where the square root holds.
fn mean_seek(drive: &Drive, span: &Derivation) -> Derivation {
    let third = calculate("third", "", "min(1, 1 / (3 * span))", vec![from(span)]);
    calculate(
        "mean_seek",
        "ms",
        "track_seek_ms + (seek_ms - track_seek_ms) * sqrt(3 * span) * (4 / 3 * third ^ 1.5 - 4 / 5 * third ^ 2.5) \
         + (seek_ms - track_seek_ms - (full_seek_ms - seek_ms) / 2) * (1 - third) ^ 2 \
         + (full_seek_ms - seek_ms) * 1.5 * span * (1 / 3 - third ^ 2 + 2 / 3 * third ^ 3)",
        vec![
            drive.given("track_seek_ms"),
            drive.given("seek_ms"),
            drive.given("full_seek_ms"),
            from(span),
            from(&third),
        ],
    )
}

/// Access time of 8 KiB reads in a region of so many GB, ms.
pub(crate) fn working_set_access(drive: &Drive, gb: f64, bytes: f64) -> Derivation {
    let seek = mean_seek(drive, &cylinder_share(drive, gb));
    calculate(
        "access_time",
        "ms",
        "overhead_ms + mean_seek + rotational_latency + bytes / outer_mb_s / 1000",
        vec![
            drive.given("overhead_ms"),
            from(&seek),
            from(&rotational_latency(drive)),
            input("bytes", bytes, "bytes", "this table: 8 KiB"),
            drive.given("outer_mb_s"),
        ],
    )
}

/// 1 GB to all of the disk.
pub(super) fn working_set() -> DerivedAnswer {
    let mut tables = Vec::new();
    for id in ["hdd-7200-1tb", "hdd-10k-sas"] {
        let drive = drive(id);
        let mut made = table(
            &format!("{}: random 8 KiB reads at queue depth 1", drive.name),
            &[
                "working set",
                "share of the cylinders, %",
                "mean seek, ms",
                "access time, ms",
                "IOPS",
            ],
        );
        for gb in [1.0, 10.0, 100.0, 500.0, 1000.0] {
            let span = cylinder_share(&drive, gb);
            let access = working_set_access(&drive, gb, 8192.0);
            made.rows.push(vec![
                text(format!("{gb} GB")),
                Calculated(calculate(
                    "span_percent",
                    "%",
                    "100 * span",
                    vec![from(&span)],
                )),
                Calculated(mean_seek(&drive, &span)),
                Calculated(access.clone()),
                Calculated(iops(&access)),
            ]);
        }
        tables.push(made);
    }
    answer(
        tables,
        &[
            "A region at the outer edge needs fewer cylinders than its share of the capacity, and the arm crosses a third of them on average.",
            "A working set larger than the disk is the whole disk.",
            "The overhead of both disks and the seek time of the 10,500 rpm disk are fitted; the other figures are from a product manual.",
            "A skewed distribution whose hot blocks are scattered over the disk, such as zipf in fio, does not shorten seeks: its gain is repeated blocks in a cache.",
        ],
    )
}

/// IOPS for each TB.
pub(super) fn capacity() -> DerivedAnswer {
    let mut made = table(
        "Drives for 10 TB and 2,000 random reads per second at the rate of queue depth 1 (disks) or 70 % of the rated IOPS (flash)",
        &[
            "drive",
            "capacity, TB",
            "IOPS",
            "IOPS for each TB",
            "drives for capacity",
            "drives for IOPS",
            "filled, %",
        ],
    );
    for drive in built_in_drives() {
        let capacity = calculate(
            "capacity",
            "TB",
            "capacity_gb / 1000",
            vec![drive.given("capacity_gb")],
        );
        let rate = match drive.medium {
            Medium::Disk => iops(&access_time(&drive)),
            Medium::Flash => calculate(
                "iops",
                "1/s",
                "0.7 * read_iops_4k",
                vec![drive.given("read_iops_4k")],
            ),
        };
        let density = calculate(
            "density",
            "1/s/TB",
            "iops / capacity",
            vec![from(&rate), from(&capacity)],
        );
        let wanted_tb = input("wanted", 10.0, "TB", "this table");
        let wanted_iops = input("wanted_iops", 2000.0, "1/s", "this table");
        let for_capacity = calculate(
            "for_capacity",
            "",
            "ceil(wanted / capacity)",
            vec![wanted_tb.clone(), from(&capacity)],
        );
        let for_iops = calculate(
            "for_iops",
            "",
            "ceil(wanted_iops / iops)",
            vec![wanted_iops, from(&rate)],
        );
        let filled = calculate(
            "filled",
            "%",
            "100 * wanted / (max(for_capacity, for_iops) * capacity)",
            vec![
                wanted_tb,
                from(&for_capacity),
                from(&for_iops),
                from(&capacity),
            ],
        );
        made.rows.push(vec![
            text(drive.id.clone()),
            Calculated(capacity),
            Calculated(rate),
            Calculated(density),
            Calculated(for_capacity),
            Calculated(for_iops),
            Calculated(filled),
        ]);
    }
    answer(
        vec![made],
        &[
            "Where more drives are needed for IOPS than for capacity, the array reaches its IOPS before it is full: smaller or faster drives cost less.",
            "Capacities are those of the drive classes of the program. `fathom size --load` calculates the same at a latency limit.",
        ],
    )
}
