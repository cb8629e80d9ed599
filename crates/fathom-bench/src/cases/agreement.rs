//! Both programs measure the same device alike.

use crate::context::Context;
use crate::pairs::{options, timed};
use crate::row::{Goal, Row};
use crate::tool::Tool;

const SAME: Goal = Goal::RatioWithin(0.95, 1.05);
/// MiB of the file.
pub const SIZE: usize = 256;

/// fio's default batches, set for both: fathom's own are larger, which moves time from clat to slat. And one CPU for the workers
/// of both: where all interrupts of a device go to one CPU, a worker on that CPU and one on another have different rates and
/// latencies, and the scheduler chooses anew for each run.
const SAME_FOR_BOTH: &str = "iodepth_batch=1 iodepth_batch_complete_max=1 cpus_allowed=0";

const JOBS: [(&str, &str); 6] = [
    ("4k random read, psync", "rw=randread bs=4k ioengine=psync"),
    (
        "4k random read, libaio, depth 32",
        "rw=randread bs=4k ioengine=libaio iodepth=32",
    ),
    (
        "4k random read, io_uring, depth 32",
        "rw=randread bs=4k ioengine=io_uring iodepth=32",
    ),
    (
        "4k random write, libaio, depth 32",
        "rw=randwrite bs=4k ioengine=libaio iodepth=32",
    ),
    ("1M read, psync", "rw=read bs=1m ioengine=psync"),
    (
        "4k 70/30 mix, libaio, depth 16",
        "rw=randrw rwmixread=70 bs=4k ioengine=libaio iodepth=16",
    ),
];

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let all = JOBS.iter().map(|(what, job)| {
        one(context, what, job).unwrap_or_else(|why| vec![Row::missing(what, why)])
    });
    Ok(all.flatten().collect())
}

fn one(context: &Context, what: &str, job: &str) -> Result<Vec<Row>, String> {
    let file = context.directory.file("disk", SIZE)?;
    let common = options(&format!(
        "{job} {SAME_FOR_BOTH} filename={} size={SIZE}m direct=1",
        file.display()
    ));
    // fathom requires a code before it overwrites what fio wrote.
    let writes = job.contains("write") || job.contains("randrw");
    let extra = |tool| match context.tools.code_for(&file) {
        Some(code) if writes && tool == Tool::Fathom => vec![format!("--destroy={code}")],
        _ => Vec::new(),
    };
    let pairs = timed(context, &common, &extra)?;
    let mut rows = Vec::new();
    for (n, direction) in ["reads", "writes"].into_iter().enumerate() {
        let iops = pairs.figures(|sample, _| sample.iops_by[n]);
        if iops.1.iter().all(|iops| *iops == 0.0) {
            continue;
        }
        let median = pairs.figures(|sample, _| sample.median[n] / 1e3);
        rows.push(Row::new(format!("{what}: {direction}"), "IOPS", iops, SAME).note(SAME_FOR_BOTH));
        rows.push(Row::new(
            format!("{what}: {direction}, median clat"),
            "us",
            median,
            SAME,
        ));
    }
    Ok(rows)
}
