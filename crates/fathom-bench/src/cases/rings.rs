//! The possible gain from jobs that share one ring: several jobs with a thread and a ring each,
//! against one job that does the same I/O over all their files from one ring. It is an upper bound,
//! since jobs that share a ring would still account separately.

use std::path::PathBuf;

use crate::context::Context;
use crate::pairs::options;
use crate::row::{Goal, Row};
use crate::sample::Sample;
use crate::target::read_all;
use crate::tool::Tool;

/// Number of jobs, and the depth of each.
const JOBS: usize = 8;
const DEPTH: usize = 4;
/// MiB of each file.
const SIZE: usize = 64;
const PEER: &str = "a ring for each job";

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let files = (0..JOBS)
        .map(|n| context.directory.file(&format!("rings.{n}"), SIZE))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rows = compare(context, "disk, O_DIRECT", "direct=1", &files)?;
    files.iter().try_for_each(|file| read_all(file))?;
    rows.extend(compare(
        context,
        "page cache",
        "direct=0 invalidate=0",
        &files,
    )?);
    Ok(rows)
}

fn compare(
    context: &Context,
    what: &str,
    extra: &str,
    files: &[PathBuf],
) -> Result<Vec<Row>, String> {
    let (mut one, mut each) = (Vec::new(), Vec::new());
    for n in 0..context.pairs {
        for shared in if n % 2 == 0 {
            [true, false]
        } else {
            [false, true]
        } {
            let job = [
                options(&job(context, extra, shared, files)),
                Context::timed(context.seconds),
            ]
            .concat();
            let sample = Sample::of(&context.tools.run(
                Tool::Fathom,
                context.directory.path(),
                &job,
            )?)?;
            if shared {
                one.push(sample);
            } else {
                each.push(sample);
            }
        }
    }
    let what = format!("4k random read, {what}, {JOBS} jobs of depth {DEPTH} as one ring");
    let row = |what: String, unit, figure: fn(&Sample) -> f64| {
        let of = |samples: &[Sample]| samples.iter().map(figure).collect();
        Row::new(what, unit, (of(&one), of(&each)), Goal::None).peer(PEER)
    };
    let cpu = row(format!("{what}: all CPU"), "us per I/O", |sample| {
        sample.cpu_each(&Sample::default())
    });
    Ok(vec![row(what, "IOPS", |sample| sample.iops), cpu])
}

/// The same files, the same distribution of offsets, the same number in flight, and the same
/// batches in total.
fn job(context: &Context, extra: &str, shared: bool, files: &[PathBuf]) -> String {
    let common = format!(
        "rw=randread bs=4k ioengine=io_uring group_reporting=1 iodepth_batch={DEPTH} {extra}"
    );
    if shared {
        let names = files
            .iter()
            .map(|file| file.display().to_string())
            .collect::<Vec<_>>()
            .join(":");
        return format!(
            "{common} iodepth={} iodepth_batch_complete_max={} filename={names} size={}m",
            JOBS * DEPTH,
            JOBS * DEPTH,
            JOBS * SIZE
        );
    }
    let format = context.directory.path().join("rings.$jobnum");
    format!(
        "{common} iodepth={DEPTH} iodepth_batch_complete_max={DEPTH} numjobs={JOBS} filename_format={} size={SIZE}m",
        format.display()
    )
}
