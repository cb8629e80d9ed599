//! Zipf over 2^32 blocks: the set-up must not grow with the device, and a draw must be cheap.

use crate::context::Context;
use crate::pairs::{alternate, options, timed};
use crate::row::{Goal, Row};
use crate::sample::Sample;
use crate::tool::Tool;

const JOB: &str = "ioengine=null rw=randread bs=4k size=16t norandommap=1";
const ZIPF: &str = "random_distribution=zipf:1.1";
/// Starts per figure.
const STARTS: usize = 5;

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let zipf = options(&format!("{JOB} {ZIPF}"));
    let pairs = timed(context, &zipf, &|_| Vec::new())?;
    let set_up = alternate(context.pairs, |tool| set_up(context, tool))?;
    Ok(vec![
        Row::new(
            "zipf 1.1 over 2^32 blocks: set-up",
            "ms",
            set_up,
            Goal::OursAtMost(10.0),
        )
        .note("start to end of a job of one I/O, minus that of the same job with uniform offsets"),
        Row::new(
            "zipf 1.1 over 2^32 blocks, null, depth 1",
            "IOPS",
            pairs.figures(|s, _| s.iops),
            Goal::None,
        ),
    ])
}

/// The additional milliseconds that zipf adds to a job of one I/O; the minimum of several.
fn set_up(context: &Context, tool: Tool) -> Result<f64, String> {
    let quickest = |options: &[String]| {
        let one = || {
            Sample::of(&context.tools.run(tool, context.directory.path(), options)?)
                .map(|sample| sample.wall_ms)
        };
        (0..STARTS)
            .map(|_| one())
            .try_fold(f64::INFINITY, |best, next| {
                next.map(|next: f64| best.min(next))
            })
    };
    let plain = quickest(&options(&format!("{JOB} number_ios=1")))?;
    let skewed = quickest(&options(&format!("{JOB} {ZIPF} number_ios=1")))?;
    Ok((skewed - plain).max(0.0))
}
