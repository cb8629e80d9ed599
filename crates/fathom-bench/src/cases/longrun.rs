//! Ten minutes with an interval every 100 ms: memory must not grow with time.

use crate::context::Context;
use crate::pairs::options;
use crate::row::{Goal, Row};
use crate::sample::Sample;
use crate::tool::Tool;

/// Seconds, whatever `--seconds` says: the length is the question.
const LENGTH: u64 = 600;
const RATE: u32 = 500_000;

/// One run of fathom alone.
pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let job = format!(
        "ioengine=null rw=randread bs=4k size=1g iodepth=1 rate_iops={RATE} bwavgtime=100 iopsavgtime=100 time_based=1 runtime={LENGTH}"
    );
    let sample = Sample::of(&context.tools.run(
        Tool::Fathom,
        context.folder.path(),
        &options(&job),
    )?)?;
    let (most, growth) =
        figures(&sample.whole).ok_or("nobody could look at the memory of the run")?;
    let what = format!(
        "{LENGTH} s at {RATE} per s, null, an interval with latency histograms every 100 ms"
    );
    let row =
        |figure: String, unit, value, goal| Row::new(figure, unit, (vec![value], Vec::new()), goal);
    Ok(vec![
        row(
            what.clone(),
            "of the rate asked",
            sample.iops / f64::from(RATE),
            Goal::OursWithin(0.995, 1.005),
        ),
        row(
            format!("{what}: most resident memory"),
            "MiB",
            most,
            Goal::OursAtMost(64.0),
        ),
        row(
            format!("{what}: its growth from one minute to the end"),
            "MiB",
            growth,
            Goal::OursAtMost(1.0),
        ),
    ])
}

/// The most that was resident, and by how much the last second but one exceeds the end of the first minute, MiB. The very end,
/// when the result is made, is in the most and not in the growth.
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
        // One look each second, 1 MiB more each time.
        let rising: Vec<u64> = (0..LENGTH).map(|n| n * 1024).collect();
        assert_eq!(figures(&rising), Some((599.0, 538.0)));
        assert_eq!(figures(&[]), None);
    }
}
