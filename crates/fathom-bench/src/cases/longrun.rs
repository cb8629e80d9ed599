//! Ten minutes with an interval every 100 ms: memory must not grow over time.

use crate::context::Context;
use crate::pairs::options;
use crate::row::{Goal, Row};
use crate::sample::Sample;
use crate::tool::Tool;

/// Seconds, independent of `--seconds`: the length is what is tested.
const LENGTH: u64 = 600;
const RATE: u32 = 500_000;

/// One run of fathom only.
pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let job = format!(
        "ioengine=null rw=randread bs=4k size=1g iodepth=1 rate_iops={RATE} bwavgtime=100 iopsavgtime=100 time_based=1 runtime={LENGTH}"
    );
    let sample = Sample::of(&context.tools.run(
        Tool::Fathom,
        context.directory.path(),
        &options(&job),
    )?)?;
    let (most, growth) =
        figures(&sample.whole).ok_or("the memory of the run could not be sampled")?;
    let what = format!(
        "{LENGTH} s at {RATE} per s, null, an interval with latency histograms every 100 ms"
    );
    let row =
        |figure: String, unit, value, goal| Row::new(figure, unit, (vec![value], Vec::new()), goal);
    Ok(vec![
        row(
            what.clone(),
            "of the requested rate",
            sample.iops / f64::from(RATE),
            Goal::OursWithin(0.995, 1.005),
        ),
        row(
            format!("{what}: maximum resident memory"),
            "MiB",
            most,
            Goal::OursAtMost(64.0),
        ),
        row(
            format!("{what}: growth from one minute to the end"),
            "MiB",
            growth,
            Goal::OursAtMost(1.0),
        ),
    ])
}

/// Maximum resident memory, and its growth from the end of the first minute to the last second but
/// one, MiB. The very end, when the result is written, is in the maximum but not in the growth.
fn figures(resident: &[u64]) -> Option<(f64, f64)> {
    let mib = |kib: u64| kib as f64 / 1024.0;
    let seconds = |n: u64| (resident.len() as u64 * n / LENGTH) as usize;
    let (early, late) = (
        resident.get(seconds(60))?,
        resident.get(seconds(LENGTH - 2))?,
    );
    Some((mib(*resident.iter().max()?), mib(*late) - mib(*early)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_and_the_growth() {
        // One sample per second, 1 MiB more each time.
        let rising: Vec<u64> = (0..LENGTH).map(|n| n * 1024).collect();
        assert_eq!(figures(&rising), Some((599.0, 538.0)));
        assert_eq!(figures(&[]), None);
    }
}
