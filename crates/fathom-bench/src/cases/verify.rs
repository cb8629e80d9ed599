//! fathom's stamps: their cost for a write of 4 KiB, and the number of false alarms.

use std::path::Path;

use serde_json::Value;

use crate::context::Context;
use crate::pairs::options;
use crate::row::{Goal, Row};
use crate::sample::Sample;
use crate::tool::Tool;

/// Size of a file that is written and verified repeatedly.
const SIZE: u64 = 1 << 30;
/// Maximum seconds of one run.
const LONGEST: u64 = 2;
/// Bytes verified in total.
const CLEAN: u64 = 100 << 30;

/// Loads in which false alarms are most likely: rewrites, mixed and overlapping blocks, mixed
/// reads, deep queues. Each has a share of the total.
const LOADS: [&str; 6] = [
    "rw=randwrite bs=4k ioengine=psync",
    "rw=write bs=64k ioengine=io_uring iodepth=16",
    "rw=randwrite bssplit=4k/50:16k/30:64k/20 ioengine=psync",
    "rw=randwrite bsrange=4k-64k norandommap=1 ioengine=io_uring iodepth=16",
    "rw=randrw bs=8k ioengine=psync",
    "rw=randwrite bs=4k random_distribution=zipf:1.1 ioengine=libaio iodepth=8",
];

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (what, job) in [
        (
            "a file in the page cache, psync",
            "ioengine=psync direct=0 size=128m",
        ),
        (
            "a file on the disk, libaio, O_DIRECT, depth 16",
            "ioengine=libaio direct=1 iodepth=16 size=128m",
        ),
        ("the null engine", "ioengine=null size=1g"),
    ] {
        rows.push(cost(context, what, job)?);
    }
    Ok(rows)
}

/// Blocks reported as wrong, out of everything that was verified: takes long, so it runs only when
/// it is named.
pub fn clean(context: &Context) -> Result<Vec<Row>, String> {
    Ok(vec![false_alarms(context)?])
}

/// IOPS of writes with stamps against those without, both with new content for every write.
fn cost(context: &Context, what: &str, job: &str) -> Result<Row, String> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for n in 0..context.pairs {
        for stamps in if n % 2 == 0 {
            [true, false]
        } else {
            [false, true]
        } {
            let verify = if stamps {
                "verify=fathom do_verify=0"
            } else {
                "verify=0 refill_buffers=1"
            };
            let file = context.directory.path().join("stamped");
            let time = context.seconds.min(LONGEST);
            let job = options(&format!(
                "rw=randwrite bs=4k {job} {verify} time_based=1 runtime={time} filename={}",
                file.display()
            ));
            let iops = writes(context, &job, &file)?;
            if stamps {
                with.push(iops);
            } else {
                without.push(iops);
            }
        }
    }
    let goal = if what.contains("null") {
        Goal::None
    } else {
        Goal::RatioAtLeast(0.9)
    };
    Ok(Row::new(
        format!("4k random write to {what}, stamped"),
        "IOPS",
        (with, without),
        goal,
    )
    .peer("without stamps"))
}

fn writes(context: &Context, job: &[String], file: &Path) -> Result<f64, String> {
    let iops = Sample::of(
        &context
            .tools
            .run(Tool::Fathom, context.directory.path(), job)?,
    )?
    .iops_by[1];
    // Each run begins in the same state; with the null engine there is no file.
    let _ = std::fs::remove_file(file);
    Ok(iops)
}

fn false_alarms(context: &Context) -> Result<Row, String> {
    let shm = Path::new("/dev/shm");
    let file = if shm.is_dir() {
        shm.join(format!("fathom-bench-{}", std::process::id()))
    } else {
        context.directory.path().join("clean")
    };
    let (mut checked, mut bad) = (0, 0);
    let outcome = LOADS.iter().cycle().try_for_each(|load| {
        if checked < CLEAN {
            let job = options(&format!(
                "{load} size={SIZE} loops=6 verify=fathom overwrite=1 filename={}",
                file.display()
            ));
            let json = context
                .tools
                .run(Tool::Fathom, context.directory.path(), &job)
                .map_err(Some)?
                .json;
            let count = |name: &str| {
                json.pointer(&format!("/fathom/entries/0/verify/{name}"))
                    .and_then(Value::as_u64)
                    .unwrap_or(0)
            };
            checked += count("checked_bytes");
            bad += count("bad_blocks");
            if count("checked_bytes") == 0
                || count("good_blocks") + count("bad_blocks") != count("planned_blocks")
            {
                return Err(Some(format!("{load}: not everything was verified")));
            }
            return Ok(());
        }
        Err(None)
    });
    let _ = std::fs::remove_file(&file);
    if let Err(Some(reason)) = outcome {
        return Err(reason);
    }
    let gib = checked >> 30;
    let what = format!(
        "blocks reported as wrong in {gib} GiB of correct data, six loads, a file of 1 GiB in memory"
    );
    Ok(Row::new(
        what,
        "blocks",
        (vec![bad as f64], Vec::new()),
        Goal::OursAtMost(0.0),
    ))
}
