//! Where the time of an I/O goes: above the block layer, or in it and the device.

use fathom_model::{Direction, DiskSummary};

use crate::detectors::{EntryContext, RunContext};
use crate::figures::duration;

/// The requests of the device are those of the job if their number differs by less.
const SAME: f64 = 0.1;
/// The counters have milliseconds.
const LEAST_IOS: u64 = 1000;

/// The mean time of a request by the counters of the uppermost device, beside that of an I/O. `None` if other entries used the
/// device too, or if the I/Os were split, merged or answered by a cache.
pub(crate) fn layers(run: &RunContext, entry: &EntryContext) -> Option<String> {
    if run.entries.len() != 1 || !entry.members.iter().all(|m| m.job.files.direct) {
        return None;
    }
    [Direction::Read, Direction::Write]
        .into_iter()
        .find_map(|direction| of_direction(run, entry, direction))
}

fn of_direction(run: &RunContext, entry: &EntryContext, direction: Direction) -> Option<String> {
    let (summary, moved) = (&entry.figures.directions[direction], run.moved()[direction]);
    if summary.ios < LEAST_IOS {
        return None;
    }
    let is_same = |disk: &&DiskSummary| {
        (requests(disk, direction).0 as f64 / moved.ios as f64 - 1.0).abs() < SAME
    };
    let disk = run.disks.iter().find(is_same)?;
    let (requests, ticks) = requests(disk, direction);
    let below = ticks as f64 * 1e6 / requests as f64;
    let above = summary.clat.mean - below;
    (below > 0.0 && above >= 0.0).then(|| {
        format!(
            "Layers: of {} for each {}, {} passed in the block layer and the device ({}), {} above them.",
            duration(summary.clat.mean),
            direction.name(),
            duration(below),
            disk.name,
            duration(above),
        )
    })
}

/// Requests, and their time in milliseconds.
fn requests(disk: &DiskSummary, direction: Direction) -> (u64, u64) {
    match direction {
        Direction::Read => (disk.delta.read_ios, disk.delta.read_ticks),
        _ => (disk.delta.write_ios, disk.delta.write_ticks),
    }
}
