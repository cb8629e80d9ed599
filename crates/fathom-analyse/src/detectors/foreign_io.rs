//! FOREIGN_IO: the device transferred much more than the jobs requested.

use fathom_model::{Direction, DiskSummary, Finding, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::{bytes, percent, share};

/// More than metadata and journals add.
const EXCESS_PERCENT: f64 = 25.0;
/// Background I/O of an idle system, bytes.
const SLACK: u64 = 16 << 20;
const SECTOR: u64 = 512;
const ADVICE: &str = "Another program uses the device, or the file system writes more than requested: find it with iostat or iotop, or use an idle device.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    [Direction::Read, Direction::Write]
        .into_iter()
        .filter_map(|d| excess(run, d))
        .take(1)
        .collect()
}

/// One device alone must exceed all jobs together: sums over a stack of devices would count the
/// same I/O twice.
fn excess(run: &RunContext, direction: Direction) -> Option<Finding> {
    if !run.all_direct(direction) {
        return None;
    }
    let ours = run.moved()[direction].bytes;
    let disk = run
        .disks
        .iter()
        .max_by_key(|d| device_bytes(d, direction))?;
    let device = device_bytes(disk, direction);
    let limit = ours + SLACK.max((ours as f64 * EXCESS_PERCENT / 100.0) as u64);
    if device <= limit {
        return None;
    }
    let evidence = format!(
        "{} of the bytes {} on {} were not from this run: the device transferred {}, the jobs {}.",
        percent(share(device - ours, device)),
        if direction == Direction::Read {
            "read"
        } else {
            "written"
        },
        disk.name,
        bytes(device),
        bytes(ours),
    );
    Some(of_run(Weight::Degrades, evidence, ADVICE))
}

fn device_bytes(disk: &DiskSummary, direction: Direction) -> u64 {
    let sectors = if direction == Direction::Read {
        disk.delta.read_sectors
    } else {
        disk.delta.write_sectors
    };
    sectors * SECTOR
}
