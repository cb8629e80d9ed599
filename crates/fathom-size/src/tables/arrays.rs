//! RAID levels and arrays of disks.

use fathom_model::DerivedAnswer;
use fathom_model::DerivedCell::{Calculated, Given};

use super::disks::{access_time, iops};
use super::{answer, table};
use crate::closed_loop::array_reads;
use crate::curve::{DriveLoad, disk_service_of};
use crate::derive::{by_method, calculate, from, input, text};
use crate::drive::{Drive, built_in_drive};
use crate::queue::Lattice;
use crate::raid::RaidLevel;

/// Drives of the arrays of the tables.
const DRIVES: u32 = 8;
/// The gain of command queueing: 1 + this * log2(queued).
const QUEUEING_GAIN: f64 = 0.08;

fn drive(id: &str) -> Drive {
    built_in_drive(id).expect("a drive of the program")
}

/// Levels with 8 drives.
pub(super) fn raid() -> DerivedAnswer {
    let disk = drive("hdd-7200");
    let per_drive = iops(&access_time(&disk));
    let per_drive = crate::derive::calculate("drive_iops", "1/s", "iops", vec![from(&per_drive)]);
    let mut made = table(
        "Arrays of 8 drives of 4 TB and 7,200 rpm, small random I/O, each drive at its rate of queue depth 1",
        &[
            "level",
            "write penalty",
            "a small write: reads + writes",
            "usable drives",
            "usable, %",
            "usable, TB",
            "read IOPS",
            "write IOPS",
            "70/30 IOPS",
            "least drives",
        ],
    );
    for level in RaidLevel::ALL {
        if level == RaidLevel::Raid1 {
            continue;
        }
        let data = level.data_drives(DRIVES, DRIVES);
        let drives = input("drives", f64::from(DRIVES), "", "this table");
        let share = calculate(
            "usable",
            "%",
            "100 * data_drives / drives",
            vec![from(&data), drives.clone()],
        );
        let terabytes = calculate(
            "usable_tb",
            "TB",
            "data_drives * capacity_gb / 1000",
            vec![from(&data), disk.given("capacity_gb")],
        );
        let rate = |reads: f64| {
            Calculated(calculate(
                "array_iops",
                "1/s",
                "drives * drive_iops / operations_per_io",
                vec![
                    drives.clone(),
                    from(&per_drive),
                    from(&level.operations(reads)),
                ],
            ))
        };
        made.rows.push(vec![
            text(level.to_string()),
            Given(input(
                "write_penalty",
                level.write_penalty(),
                "",
                "definition of the RAID level",
            )),
            text(level.write_operations()),
            Calculated(data.clone()),
            Calculated(share),
            Calculated(terabytes),
            rate(1.0),
            rate(0.0),
            rate(0.7),
            Given(input(
                "least_drives",
                f64::from(level.least_drives()),
                "",
                "definition of the RAID level",
            )),
        ]);
    }
    let mut degraded = table(
        "The same arrays with one failed drive",
        &[
            "level",
            "reads of its data need",
            "disk reads for each read, group of 8",
            "a further failure",
        ],
    );
    let drives = || input("drives", f64::from(DRIVES), "", "this table");
    degraded.rows.push(vec![
        text("RAID 10"),
        text("its partner, which does twice the reads"),
        Calculated(calculate("reads", "", "1", vec![drives()])),
        text("lost if its partner"),
    ]);
    for (level, needs, further) in [
        ("RAID 5", "all 7 others", "lost"),
        ("RAID 6", "6 of the 7 others", "survived"),
    ] {
        let others = if level == "RAID 5" { 1.0 } else { 2.0 };
        degraded.rows.push(vec![
            text(level),
            text(needs),
            Calculated(calculate(
                "reads",
                "",
                "(drives - 1) / drives + (drives - parity) / drives",
                vec![
                    drives(),
                    input("parity", others, "", "definition of the RAID level"),
                ],
            )),
            text(further),
        ]);
    }
    answer(
        vec![made, degraded],
        &[
            "A write of a whole stripe needs no reads: RAID 5 then writes n - 1 of n parts data, RAID 6 n - 2 of n.",
            "A small write on RAID 5 or 6 is two disk operations one after the other, unless a write cache acknowledges it.",
        ],
    )
}

/// The distribution with another mean.
fn with_mean(disk: &Drive, mean_ms: f64) -> Lattice {
    let service = disk_service_of(
        disk,
        DriveLoad {
            block: 4096.0,
            reads: 1.0,
            burstiness: 1.0,
        },
    );
    let factor = mean_ms / service.mean();
    let mut scaled = Lattice::new(mean_ms / 60.0);
    for i in 0..2000 {
        scaled.add(
            service.quantile((f64::from(i) + 0.5) / 2000.0) * factor,
            1.0 / 2000.0,
        );
    }
    scaled
}

/// RAID 5 of 8 disks by queue depth.
pub(super) fn arrays() -> DerivedAnswer {
    let mut tables = Vec::new();
    let measured = input(
        "read_iops",
        71.0,
        "1/s",
        "measured: RAID 5 of 8 disks of 1 TB and 7,200 rpm, 4 KiB random reads at queue depth 1",
    );
    let from_measured = calculate("service_ms", "ms", "1000 / read_iops", vec![measured]);
    let disk_10k = drive("hdd-10k");
    let disk_7200 = drive("hdd-7200");
    let physics = |disk: &Drive| {
        let access = access_time(disk);
        calculate("service_ms", "ms", "access_time", vec![from(&access)])
    };
    let cases = [
        (
            "8 disks of 7,200 rpm, service time of a measured array at queue depth 1",
            &disk_7200,
            from_measured,
        ),
        (
            "8 disks of 7,200 rpm, service time of the data sheet",
            &disk_7200,
            physics(&disk_7200),
        ),
        (
            "8 disks of 10,000 rpm, service time of the data sheet",
            &disk_10k,
            physics(&disk_10k),
        ),
    ];
    for (caption, disk, service) in cases {
        let lattice = with_mean(disk, service.value);
        let mut made = table(
            caption,
            &["queue depth", "read IOPS", "mean latency, ms", "write IOPS"],
        );
        for depth in [1u32, 2, 4, 8, 16, 32, 64] {
            let point = array_reads(
                &lattice,
                DRIVES as usize,
                depth as usize,
                QUEUEING_GAIN,
                30_000,
            );
            let read = by_method(
                "read_iops",
                (point.iops, "1/s"),
                "simulated closed loop: reads at random over the disks, first come first served, service_ms / (1 + gain * log2(queued on the disk))",
                vec![
                    input("queue_depth", f64::from(depth), "", "this table"),
                    input("drives", f64::from(DRIVES), "", "this table"),
                    from(&service),
                    input(
                        "variation",
                        lattice.deviation() / lattice.mean(),
                        "",
                        "calculated: seeks between random places, uniform rotation",
                    ),
                    input(
                        "gain",
                        QUEUEING_GAIN,
                        "",
                        "measured: HGST Travelstar 7,200 rpm, 1.40 times the IOPS at queue depth 32",
                    ),
                ],
            );
            let mean = calculate(
                "mean_ms",
                "ms",
                "1000 * queue_depth / read_iops",
                vec![
                    input("queue_depth", f64::from(depth), "", "this table"),
                    from(&read),
                ],
            );
            let write = calculate(
                "write_iops",
                "1/s",
                "read_iops / write_penalty",
                vec![
                    from(&read),
                    input(
                        "write_penalty",
                        4.0,
                        "",
                        "RAID 5: 2 reads and 2 writes for each write",
                    ),
                ],
            );
            made.rows.push(vec![
                text(depth.to_string()),
                Calculated(read),
                Calculated(mean),
                Calculated(write),
            ]);
        }
        tables.push(made);
    }
    answer(
        tables,
        &[
            "Few I/Os in flight leave disks idle, because they are at random places; many wait in the queue of a disk, which then picks the nearest first.",
            "Write IOPS are those of the same number of disk operations in flight, without a write cache.",
            "The first table is fitted to one point, its queue depth 1; all other points are predictions.",
        ],
    )
}
