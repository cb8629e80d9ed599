//! The cost of the load itself.

use crate::context::Context;
use crate::pairs::{options, timed};
use crate::row::{Goal, Row};
use crate::tool::Tool;

/// The job; a GiB has 262,144 blocks, and by default both programs draw each of them once per pass.
pub const JOB: &str = "ioengine=null rw=randread bs=4k size=1g";

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    Ok(vec![
        one(context, 1, "same accounting", &[], Goal::RatioAtLeast(4.0))?,
        one(context, 32, "same accounting", &[], Goal::RatioAtLeast(6.0))?,
        one(
            context,
            1,
            "fio with gtod_reduce",
            &["--gtod_reduce=1".to_owned()],
            Goal::RatioAtLeast(2.5),
        )?,
        one(
            context,
            32,
            "fio with gtod_reduce",
            &["--gtod_reduce=1".to_owned()],
            Goal::RatioAtLeast(2.5),
        )?,
    ])
}

fn one(
    context: &Context,
    depth: u32,
    how: &str,
    fio: &[String],
    goal: Goal,
) -> Result<Row, String> {
    let extra = |tool| {
        if tool == Tool::Fio {
            fio.to_vec()
        } else {
            Vec::new()
        }
    };
    let pairs = timed(context, &options(&format!("{JOB} iodepth={depth}")), &extra)?;
    let what = format!("4k random read, null, depth {depth}, {how}");
    Ok(Row::new(
        what,
        "IOPS",
        pairs.figures(|sample, _| sample.iops),
        goal,
    ))
}
