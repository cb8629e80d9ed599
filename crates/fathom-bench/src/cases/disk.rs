//! On a disk the device is the limit; what differs is the CPU time.

use super::agreement::SIZE;
use crate::context::Context;
use crate::pairs::{options, timed_with_idle};
use crate::row::{Goal, Row};
use crate::sampled;

const SAMPLED: &str = "perf record -e cpu-clock:u -F 15000, in separate runs; this clock runs with the thread; samples of the return from the kernel left out";
const TICK: &str = "samples each CPU some hundred times a second, which hits a thread that uses 2 % of it only by chance; see the row above";
const NO_PERF: &str =
    "perf is not available; the kernel's tick hits a thread that uses 2 % of a CPU only by chance";

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for engine in ["libaio", "io_uring"] {
        rows.extend(deep(context, engine)?);
    }
    rows.extend(one_at_a_time(context)?);
    Ok(rows)
}

fn deep(context: &Context, engine: &str) -> Result<Vec<Row>, String> {
    let file = context.directory.file("disk", SIZE)?;
    let job = format!(
        "rw=randread bs=4k ioengine={engine} iodepth=32 direct=1 filename={} size={SIZE}m",
        file.display()
    );
    let pairs = timed_with_idle(context, &options(&job))?;
    let what = format!("4k random read of a disk, {engine}, depth 32");
    let cpu = pairs.figures(super::super::sample::Sample::cpu_each);
    Ok(vec![
        Row::new(
            what.clone(),
            "IOPS",
            pairs.figures(|sample, _| sample.iops),
            Goal::RatioAtLeast(1.0),
        ),
        Row::new(
            format!("{what}: all CPU"),
            "us per I/O",
            cpu,
            Goal::RatioAtMost(0.75),
        ),
    ])
}

fn one_at_a_time(context: &Context) -> Result<Vec<Row>, String> {
    let file = context.directory.file("disk", SIZE)?;
    let job = format!(
        "rw=randread bs=4k ioengine=psync direct=1 filename={} size={SIZE}m",
        file.display()
    );
    let job = options(&job);
    let pairs = timed_with_idle(context, &job)?;
    let median = pairs.figures(|sample, _| sample.median[0] / 1e3);
    let ticked = pairs.figures(super::super::sample::Sample::user_each);
    let what = "4k random read of a disk, psync";
    let mut rows = vec![Row::new(
        format!("{what}: median clat"),
        "us",
        median,
        Goal::RatioAtMost(1.0),
    )];
    let sampled = sampled::user_each(context, &job)?;
    let why = if sampled.is_some() { TICK } else { NO_PERF };
    rows.extend(sampled.map(|both| {
        Row::new(
            format!("{what}: user CPU, sampled"),
            "us per I/O",
            both,
            Goal::RatioAtMost(0.5),
        )
        .note(SAMPLED)
    }));
    rows.push(
        Row::new(
            format!("{what}: user CPU by the kernel's tick"),
            "us per I/O",
            ticked,
            Goal::RatioAtMost(0.5),
        )
        .note(why),
    );
    Ok(rows)
}
