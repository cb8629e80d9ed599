//! Buffered reads of a file that is completely in the page cache: the kernel's copy and the load,
//! no device.

use crate::context::Context;
use crate::pairs::{options, timed_with_idle};
use crate::row::{Goal, Row};
use crate::target::read_all;

const SIZE: usize = 128;

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let file = context.directory.file("cached", SIZE)?;
    read_all(&file)?;
    let job = "rw=randread bs=4k ioengine=io_uring iodepth=32 direct=0 invalidate=0";
    let common = options(&format!("{job} filename={} size={SIZE}m", file.display()));
    let pairs = timed_with_idle(context, &common)?;
    let what = "4k random read of a cached file, io_uring, depth 32";
    Ok(vec![
        Row::new(
            what,
            "IOPS",
            pairs.figures(|sample, _| sample.iops),
            Goal::RatioAtLeast(1.25),
        ),
        Row::new(
            format!("{what}: user CPU"),
            "us per I/O",
            pairs.figures(super::super::sample::Sample::user_each),
            Goal::RatioAtMost(0.35),
        ),
        Row::new(
            format!("{what}: all CPU"),
            "us per I/O",
            pairs.figures(super::super::sample::Sample::cpu_each),
            Goal::None,
        ),
    ])
}
