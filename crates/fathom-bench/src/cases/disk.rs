//! On a disk the device is the ceiling; what differs is the CPU time spent to get there.

use super::agreement::SIZE;
use crate::context::Context;
use crate::pairs::{options, timed_with_idle};
use crate::row::{Goal, Row};

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for engine in ["libaio", "io_uring"] {
        rows.extend(deep(context, engine)?);
    }
    rows.extend(one_at_a_time(context)?);
    Ok(rows)
}

fn deep(context: &Context, engine: &str) -> Result<Vec<Row>, String> {
    let file = context.folder.file("disk", SIZE)?;
    let job = format!("rw=randread bs=4k ioengine={engine} iodepth=32 direct=1 filename={} size={SIZE}m", file.display());
    let pairs = timed_with_idle(context, &options(&job))?;
    let what = format!("4k random read of a disk, {engine}, depth 32");
    let cpu = pairs.figures(|sample, idle| sample.cpu_each(idle));
    Ok(vec![
        Row::new(what.clone(), "IOPS", pairs.figures(|sample, _| sample.iops), Goal::RatioAtLeast(1.0)),
        Row::new(format!("{what}: all CPU"), "us per I/O", cpu, Goal::RatioAtMost(0.75)),
    ])
}

fn one_at_a_time(context: &Context) -> Result<Vec<Row>, String> {
    let file = context.folder.file("disk", SIZE)?;
    let job = format!("rw=randread bs=4k ioengine=psync direct=1 filename={} size={SIZE}m", file.display());
    let pairs = timed_with_idle(context, &options(&job))?;
    let median = pairs.figures(|sample, _| sample.median[0] / 1e3);
    let user = pairs.figures(|sample, idle| sample.user_each(idle));
    Ok(vec![
        Row::new("4k random read of a disk, psync: median clat", "us", median, Goal::RatioAtMost(1.0)),
        Row::new("4k random read of a disk, psync: user CPU", "us per I/O", user, Goal::RatioAtMost(0.5)),
    ])
}
