//! DIRECT_NOT_DIRECT: O_DIRECT was requested, but the target does not honour it.

use fathom_model::{DirectIoMode, Finding, TargetConditions, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::percent;

/// A file that bypasses the page cache has almost no pages in it.
const CACHED: f64 = 0.5;
const ADVICE: &str = "Results are for memory, not for the device: use another file system or mount option (ext4 without \
                      data=journal, btrfs with nodatacow), or the device itself.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let targets = run.recording.conditions.targets.iter();
    let found: Vec<_> = targets
        .filter_map(|target| Some((target, why(run, target)?)))
        .collect();
    let Some((target, why)) = found.first() else {
        return Vec::new();
    };
    let more = if found.len() > 1 {
        format!(" ({} targets more like this)", found.len() - 1)
    } else {
        String::new()
    };
    let evidence = format!(
        "Direct I/O was requested for {}, but {why}{more}.",
        target.path.display()
    );
    vec![of_run(Weight::Degrades, evidence, ADVICE)]
}

fn why(run: &RunContext, target: &TargetConditions) -> Option<String> {
    let mut members = run
        .members()
        .filter(|m| m.job.files.direct && m.job.files.paths.contains(&target.path));
    let dropped = members.next()?.job.files.layout.invalidate;
    let cached = target.cached_share.unwrap_or(0.0);
    match target.direct {
        _ if target.memory_backed => Some("the file system keeps 100 % of it in memory".to_owned()),
        Some(DirectIoMode::Buffered) => Some(format!(
            "its file system buffers it: {} of it was in the page cache at the end",
            percent(cached * 100.0)
        )),
        Some(DirectIoMode::Unreported) if dropped && target.is_file && cached >= CACHED => {
            Some(format!(
                "its file system does not report that it does so, and {} of it was in the page cache at the end",
                percent(cached * 100.0)
            ))
        }
        _ => None,
    }
}
