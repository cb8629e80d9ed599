//! Under which conditions a figure is measured, and the job that does it.

use super::sheet::{Access, Figure, Side, What, Zone};

/// What a figure is measured under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Block size, bytes.
    pub block: u32,
    /// Queue depth of each thread.
    pub depth: u32,
    /// Threads.
    pub threads: u32,
    /// Which of these the sheet does not say.
    pub assumed: Vec<&'static str>,
}

impl Conditions {
    /// I/Os in flight at most.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.depth.saturating_mul(self.threads)
    }
}

/// The sheet's own conditions. What it leaves open is what such figures are usually stated for: latency at depth 1, random I/O of
/// 4 KiB at depth 32, sequential I/O of 128 KiB at depth 32, one thread.
#[must_use]
pub fn conditions(figure: &Figure) -> Conditions {
    let depth = if matches!(figure.what, What::Latency(_)) {
        1
    } else {
        32
    };
    let block = match (figure.access, figure.what) {
        (Access::Sequential, What::Bandwidth | What::Iops) => 128 << 10,
        _ => 4 << 10,
    };
    let missing = [
        (figure.block, "block size"),
        (figure.depth, "queue depth"),
        (figure.threads, "threads"),
    ];
    Conditions {
        block: figure.block.unwrap_or(block),
        depth: figure.depth.unwrap_or(depth),
        threads: figure.threads.unwrap_or(1),
        assumed: missing
            .into_iter()
            .filter(|(stated, _)| stated.is_none())
            .map(|(_, name)| name)
            .collect(),
    }
}

/// The job that measures a figure on `target` of `size` bytes for `seconds`, as options of a command line.
#[must_use]
pub fn job(figure: &Figure, target: &str, size: u64, seconds: u32) -> Vec<String> {
    let under = conditions(figure);
    let pattern = match (figure.access, figure.side) {
        (Access::Random, Side::Read) => "randread",
        (Access::Random, Side::Write) => "randwrite",
        (Access::Random, Side::Mix(_)) => "randrw",
        (Access::Sequential, Side::Read) => "read",
        (Access::Sequential, Side::Write) => "write",
        (Access::Sequential, Side::Mix(_)) => "rw",
    };
    // A colon in a file name parts two files in a job; the escape is the job language's own.
    let mut words = vec![
        "--name=spec".to_owned(),
        format!(
            "--filename={}",
            target.replace('\\', "\\\\").replace(':', "\\:")
        ),
        format!("--rw={pattern}"),
        format!("--bs={}", under.block),
        format!("--iodepth={}", under.depth),
        format!("--numjobs={}", under.threads),
        "--direct=1".to_owned(),
        "--time_based=1".to_owned(),
        format!("--runtime={seconds}"),
        "--group_reporting=1".to_owned(),
        "--percentile_list=50:90:99:99.9:99.99:99.999".to_owned(),
    ];
    // One at a time needs no queue, and a queue of the kernel's would add to its latency.
    words.push(format!(
        "--ioengine={}",
        if under.depth == 1 {
            "psync"
        } else {
            "io_uring"
        }
    ));
    if let Side::Mix(reads) = figure.side {
        words.push(format!("--rwmixread={reads}"));
    }
    let (offset, length) = zone(figure.zone, size, under.block);
    words.push(format!("--offset={offset}"));
    words.push(format!("--size={length}"));
    if figure.access == Access::Sequential && under.threads > 1 {
        let step =
            length / u64::from(under.threads) / u64::from(under.block) * u64::from(under.block);
        words.push(format!("--offset_increment={step}"));
        words.retain(|word| !word.starts_with("--size="));
        words.push(format!("--size={step}"));
    }
    words
}

/// A twentieth of the target at its start or end, in whole blocks; otherwise all of it.
fn zone(zone: Zone, size: u64, block: u32) -> (u64, u64) {
    let block = u64::from(block);
    let whole = (size / block).max(1);
    let part = (whole / 20).max(1);
    match zone {
        Zone::Whole => (0, whole * block),
        Zone::Start => (0, part * block),
        Zone::End => ((whole - part) * block, part * block),
    }
}
