//! A log of every I/O must not accumulate in memory.

use crate::context::Context;
use crate::pairs::{alternate, options};
use crate::row::{Goal, Row};
use crate::sample::Sample;

/// I/Os per second.
const RATE: u32 = 100_000;
/// Minimum run time of this case, seconds.
const LEAST: u64 = 3;

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let seconds = (context.seconds * 2).max(LEAST);
    let job = format!(
        "ioengine=null rw=randread bs=4k size=1g iodepth=1 rate_iops={RATE} time_based=1 runtime={seconds}"
    );
    let job = options(&format!("{job} write_lat_log=memory"));
    let one = |tool| {
        let sample = Sample::of(&context.tools.run(tool, context.directory.path(), &job)?)?;
        figures(&sample.resident)
            .ok_or_else(|| "the run was too short to sample its memory".to_owned())
    };
    let (ours, theirs) = alternate(context.pairs, one)?;
    let column = |pick: fn(&(f64, f64)) -> f64| {
        (
            ours.iter().map(pick).collect(),
            theirs.iter().map(pick).collect(),
        )
    };
    let what = format!("{seconds} s at {RATE} per s, null, every I/O logged");
    Ok(vec![
        Row::new(
            format!("{what}: maximum anonymous memory"),
            "MiB",
            column(|both| both.0),
            Goal::RatioAtMost(1.0),
        ),
        Row::new(
            format!("{what}: growth over the second half"),
            "MiB",
            column(|both| both.1),
            Goal::OursAtMost(1.0),
        ),
    ])
}

/// Maximum memory, and its growth from the middle to nine tenths of the run, MiB. The end is
/// excluded: the memory for the report is not growth over time.
fn figures(resident: &[u64]) -> Option<(f64, f64)> {
    let mib = |kib: u64| kib as f64 / 1024.0;
    let most = resident.iter().max()?;
    let (middle, late) = (
        resident.get(resident.len() / 2)?,
        resident.get(resident.len() * 9 / 10)?,
    );
    Some((mib(*most), mib(*late) - mib(*middle)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_and_the_growth() {
        let steady: Vec<u64> = vec![2048; 20];
        assert_eq!(figures(&steady), Some((2.0, 0.0)));
        let rising: Vec<u64> = (0..20).map(|n| n * 1024).collect();
        assert_eq!(figures(&rising), Some((19.0, 8.0)));
        assert_eq!(figures(&[]), None);
    }
}
