//! Flash: queue depth, write amplification, small writes, split requests.

use fathom_model::DerivedAnswer;
use fathom_model::DerivedCell::Calculated;

use super::{answer, table};
use crate::curve::{DriveLoad, flash_limits};
use crate::derive::{calculate, from, input, text};
use crate::drive::built_in_drive;

/// IOPS by queue depth, and write amplification.
pub(super) fn flash() -> DerivedAnswer {
    let mut tables = Vec::new();
    for id in ["sata-ssd", "nvme", "nvme-consumer"] {
        let drive = built_in_drive(id).expect("a drive of the program");
        let load = DriveLoad {
            block: 4096.0,
            reads: 1.0,
            burstiness: 1.0,
        };
        let (ceiling, base) = flash_limits(&drive, load);
        let mut made = table(
            &format!("{}: random 4 KiB reads", drive.name),
            &[
                "queue depth",
                "IOPS",
                "mean latency, us",
                "of the ceiling, %",
            ],
        );
        for depth in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0] {
            let depth_input = input("depth", depth, "", "this table");
            let in_flight = match drive.figure("queue_limit") {
                Some(limit) => calculate(
                    "in_flight",
                    "",
                    "min(depth, queue_limit)",
                    vec![depth_input.clone(), limit.clone()],
                ),
                None => calculate("in_flight", "", "depth", vec![depth_input.clone()]),
            };
            let iops = calculate(
                "iops",
                "1/s",
                "((in_flight * 1000000 / base_us) ^ -sharpness + ceiling ^ -sharpness) ^ (-1 / sharpness)",
                vec![
                    from(&in_flight),
                    from(&base),
                    from(&ceiling),
                    drive.given("sharpness"),
                ],
            );
            let mean = calculate(
                "mean_us",
                "us",
                "depth * 1000000 / iops",
                vec![depth_input, from(&iops)],
            );
            let share = calculate(
                "share",
                "%",
                "100 * iops / ceiling",
                vec![from(&iops), from(&ceiling)],
            );
            made.rows.push(vec![
                text(format!("{depth}")),
                Calculated(iops),
                Calculated(mean),
                Calculated(share),
            ]);
        }
        tables.push(made);
    }
    let mut amplification = table(
        "Write amplification of uniform random writes, steady state",
        &["overprovisioning, %", "write amplification"],
    );
    for percent in [7.0, 12.0, 15.0, 28.0, 30.0, 50.0, 100.0] {
        amplification.rows.push(vec![
            text(format!("{percent}")),
            Calculated(write_amplification(input(
                "overprovisioning",
                percent / 100.0,
                "",
                "this table",
            ))),
        ]);
    }
    tables.push(amplification);
    answer(
        tables,
        &[
            "Advertised IOPS are those of a high queue depth: one I/O at a time gets the reciprocal of the latency.",
            "Sequential writes have a write amplification of 1.",
        ],
    )
}

/// Flash writes for each host write, uniform random, greedy page mapping.
pub(crate) fn write_amplification(
    overprovisioning: fathom_model::DerivationInput,
) -> fathom_model::Derivation {
    let a = calculate(
        "a",
        "",
        "1 + overprovisioning",
        vec![fathom_model::DerivationInput {
            name: "overprovisioning".to_owned(),
            ..overprovisioning
        }],
    );
    calculate(
        "write_amplification",
        "",
        "a / (a + lambert_w(-a * exp(-a)))",
        vec![from(&a)],
    )
}

/// Small records one by one and in groups.
pub(super) fn coalescing() -> DerivedAnswer {
    let mut tables = Vec::new();
    for id in ["nvme-consumer", "sata-ssd", "hdd-7200"] {
        let drive = built_in_drive(id).expect("a drive of the program");
        let (latency, rate) = if id == "hdd-7200" {
            (
                calculate("write_us", "us", "60000000 / rpm", vec![drive.given("rpm")]),
                "inner_mb_s",
            )
        } else {
            (
                calculate(
                    "write_us",
                    "us",
                    "buffered_us",
                    vec![fathom_model::DerivationInput {
                        name: "buffered_us".to_owned(),
                        ..drive.given("write_us")
                    }],
                ),
                "write_mb_s",
            )
        };
        let mut made = table(
            &format!(
                "{}: records of 512 bytes, each durable before the next group",
                drive.name
            ),
            &[
                "records in a write",
                "bytes written",
                "write, us",
                "writes per second",
                "records per second",
                "device bytes for each byte",
            ],
        );
        for records in [1.0, 2.0, 8.0, 32.0, 128.0, 2048.0] {
            let count = input("records", records, "", "this table");
            let bytes = calculate(
                "bytes",
                "bytes",
                "4096 * ceil(512 * records / 4096)",
                vec![count.clone()],
            );
            let time = calculate(
                "time_us",
                "us",
                &format!("write_us + bytes / {rate}"),
                vec![from(&latency), from(&bytes), drive.given(rate)],
            );
            let writes = calculate("writes", "1/s", "1000000 / time_us", vec![from(&time)]);
            let done = calculate(
                "records_s",
                "1/s",
                "records * writes",
                vec![count.clone(), from(&writes)],
            );
            let factor = calculate(
                "factor",
                "",
                "bytes / (512 * records)",
                vec![from(&bytes), count],
            );
            made.rows.push(vec![
                text(format!("{records}")),
                Calculated(bytes),
                Calculated(time),
                Calculated(writes),
                Calculated(done),
                Calculated(factor),
            ]);
        }
        tables.push(made);
    }
    answer(
        tables,
        &[
            "A log combines the records of all clients that wait: the more clients, the more records in a write. The device writes whole pages of 4 KiB, so that single small records cost eight times their bytes.",
            "Disk: a log is written in order, so that the next write of a waiting client misses its place and waits a whole turn. Flash: the write is acknowledged from a buffer with power-loss protection; without it a flush takes 0.4 ms and more.",
        ],
    )
}

/// Pieces of large requests.
pub(super) fn split() -> DerivedAnswer {
    let mut tables = Vec::new();
    for (caption, limit, why) in [
        (
            "128 segments of one page each: 512 KiB",
            524_288.0,
            "128 segments * 4096 bytes, whatever a larger max_sectors_kb says",
        ),
        (
            "max_sectors_kb = 1280",
            1_310_720.0,
            "the setting of the queue, with segments of several pages",
        ),
        (
            "max_sectors_kb = 128",
            131_072.0,
            "the setting of the queue",
        ),
    ] {
        let mut made = table(
            caption,
            &[
                "request, KiB",
                "pieces",
                "mean piece, KiB",
                "slower than p99 of a piece, %",
                "mean of the slowest piece",
            ],
        );
        for kib in [64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0] {
            let bytes = input("bytes", kib * 1024.0, "bytes", "this table");
            let pieces = calculate(
                "pieces",
                "",
                "ceil(bytes / limit)",
                vec![bytes.clone(), input("limit", limit, "bytes", why)],
            );
            let size = calculate(
                "piece",
                "KiB",
                "bytes / pieces / 1024",
                vec![bytes, from(&pieces)],
            );
            let slow = calculate(
                "slow",
                "%",
                "100 * (1 - 0.99 ^ pieces)",
                vec![from(&pieces)],
            );
            let slowest = calculate(
                "slowest",
                "",
                "max(1, ln(pieces) + 0.5772 + 1 / (2 * pieces) - 1 / (12 * pieces ^ 2))",
                vec![from(&pieces)],
            );
            made.rows.push(vec![
                text(format!("{kib}")),
                Calculated(pieces),
                Calculated(size),
                Calculated(slow),
                Calculated(slowest),
            ]);
        }
        tables.push(made);
    }
    answer(
        tables,
        &[
            "A split request completes with its slowest piece. The last column is in means of one piece, for independent pieces with exponential latencies.",
            "The smallest of max_sectors_kb, segments * page size and the device's own boundaries splits a request. Huge pages hold more bytes in a segment. `fathom devices` shows the limits of a device.",
        ],
    )
}
