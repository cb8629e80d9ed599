//! The cost of a run before and after its I/O.

use crate::context::Context;
use crate::pairs::{alternate, options};
use crate::row::{Goal, Row};
use crate::sample::Sample;

/// Runs per figure of a pair.
const RUNS: usize = 10;

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let job = options("ioengine=null rw=randread bs=4k size=1g number_ios=1");
    let one = |tool| {
        let run = || Sample::of(&context.tools.run(tool, context.directory.path(), &job)?);
        let samples = (0..RUNS).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
        let mean =
            |figure: fn(&Sample) -> f64| samples.iter().map(figure).sum::<f64>() / RUNS as f64;
        Ok((
            mean(|sample| sample.wall_ms),
            mean(|sample| sample.cpu_us / 1e3),
        ))
    };
    let (ours, theirs) = alternate(context.pairs, one)?;
    let column = |pick: fn(&(f64, f64)) -> f64| {
        (
            ours.iter().map(pick).collect(),
            theirs.iter().map(pick).collect(),
        )
    };
    Ok(vec![
        Row::new(
            "a job of one I/O, null: start to end",
            "ms",
            column(|both| both.0),
            Goal::RatioAtMost(0.2),
        ),
        Row::new(
            "a job of one I/O, null: CPU",
            "ms",
            column(|both| both.1),
            Goal::None,
        ),
    ])
}
