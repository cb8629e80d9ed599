//! The conditions of a figure, and the job that measures it.

use super::sheet::{Access, Figure, FigureDirection, Metric, Zone};

/// The conditions of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Block size, bytes.
    pub block: u32,
    /// Queue depth of each thread.
    pub depth: u32,
    /// Threads.
    pub threads: u32,
    /// Conditions that the sheet does not state.
    pub assumed: Vec<&'static str>,
}

impl Conditions {
    /// I/Os in flight at most.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.depth.saturating_mul(self.threads)
    }
}

/// The sheet's own conditions. Those it does not state are the usual ones: latency at depth 1,
/// random I/O of 4 KiB at depth 32, sequential I/O of 128 KiB at depth 32, one thread.
#[must_use]
pub fn conditions(figure: &Figure) -> Conditions {
    let depth = if matches!(figure.what, Metric::Latency(_)) {
        1
    } else {
        32
    };
    let block = match (figure.access, figure.what) {
        (Access::Sequential, Metric::Bandwidth | Metric::Iops) => 128 << 10,
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

/// The job that measures a figure on `target` of `size` bytes for `seconds`, as command-line
/// options.
#[must_use]
pub fn job(figure: &Figure, target: &str, size: u64, seconds: u32) -> Vec<String> {
    let under = conditions(figure);
    let pattern = match (figure.access, figure.side) {
        (Access::Random, FigureDirection::Read) => "randread",
        (Access::Random, FigureDirection::Write) => "randwrite",
        (Access::Random, FigureDirection::Mix(_)) => "randrw",
        (Access::Sequential, FigureDirection::Read) => "read",
        (Access::Sequential, FigureDirection::Write) => "write",
        (Access::Sequential, FigureDirection::Mix(_)) => "rw",
    };
    // A colon separates files in filename=; job files escape it with a backslash.
    let mut options = vec![
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
    // Depth 1 needs no queue, and a kernel queue would add to the latency.
    options.push(format!(
        "--ioengine={}",
        if under.depth == 1 {
            "psync"
        } else {
            "io_uring"
        }
    ));
    if let FigureDirection::Mix(reads) = figure.side {
        options.push(format!("--rwmixread={reads}"));
    }
    let (offset, length) = zone(figure.zone, size, under.block);
    options.push(format!("--offset={offset}"));
    options.push(format!("--size={length}"));
    if figure.access == Access::Sequential && under.threads > 1 {
        let step =
            length / u64::from(under.threads) / u64::from(under.block) * u64::from(under.block);
        options.push(format!("--offset_increment={step}"));
        options.retain(|word| !word.starts_with("--size="));
        options.push(format!("--size={step}"));
    }
    options
}

/// The first or last twentieth of the target in whole blocks; otherwise all of it.
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
