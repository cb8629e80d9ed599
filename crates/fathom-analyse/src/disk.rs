//! Block devices during the run.

use fathom_model::{DiskCounters, DiskRecording, DiskSummary, Nanos};

/// The difference of the counters, and how busy the device was. `io_ticks` counts the milliseconds
/// in which it had requests.
pub(crate) fn disk_summary(disk: &DiskRecording, elapsed: Nanos) -> DiskSummary {
    let delta = delta(&disk.before, &disk.after);
    let ms = elapsed.get() as f64 / 1e6;
    let util = if ms > 0.0 {
        (delta.io_ticks as f64 * 100.0 / ms).min(100.0)
    } else {
        0.0
    };
    DiskSummary {
        name: disk.name.clone(),
        delta,
        util,
        size: None,
    }
}

/// Counters only grow; one that decreased was reset with its device and counts as zero.
fn delta(before: &DiskCounters, after: &DiskCounters) -> DiskCounters {
    DiskCounters {
        read_ios: after.read_ios.saturating_sub(before.read_ios),
        read_merges: after.read_merges.saturating_sub(before.read_merges),
        read_sectors: after.read_sectors.saturating_sub(before.read_sectors),
        read_ticks: after.read_ticks.saturating_sub(before.read_ticks),
        write_ios: after.write_ios.saturating_sub(before.write_ios),
        write_merges: after.write_merges.saturating_sub(before.write_merges),
        write_sectors: after.write_sectors.saturating_sub(before.write_sectors),
        write_ticks: after.write_ticks.saturating_sub(before.write_ticks),
        in_flight: after.in_flight,
        io_ticks: after.io_ticks.saturating_sub(before.io_ticks),
        time_in_queue: after.time_in_queue.saturating_sub(before.time_in_queue),
        discard_ios: after.discard_ios.saturating_sub(before.discard_ios),
        discard_sectors: after.discard_sectors.saturating_sub(before.discard_sectors),
        flush_ios: after.flush_ios.saturating_sub(before.flush_ios),
        flush_ticks: after.flush_ticks.saturating_sub(before.flush_ticks),
    }
}
