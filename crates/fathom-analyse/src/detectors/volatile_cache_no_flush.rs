//! VOLATILE_CACHE_NO_FLUSH: writes that were not durable when they completed.

use fathom_model::{DeviceFacts, Direction, Finding, SyncMode, Weight};

use super::{Detector, EntryContext, RunContext};
use crate::figures::counted;
use crate::members::Member;

const CODE: &str = "VOLATILE_CACHE_NO_FLUSH";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str =
    "Add fsync=, fdatasync=, end_fsync=1 or sync= when the data must survive a power cut.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    let mut devices = scene.devices().into_iter().map(|device| &device.before);
    let volatile = devices.find(|device| device.queue.setting("write_cache") == Some("write back"));
    scene.each(|seat| unflushed(seat).or_else(|| in_the_device(seat, volatile?)))
}

/// Direct writes end in the device's cache.
fn in_the_device(seat: &EntryContext, device: &DeviceFacts) -> Option<Finding> {
    let direct = seat
        .members
        .iter()
        .filter(|m| m.job.files.direct && !flushes(m) && !m.is_null());
    let writes: u64 = direct
        .map(|m| m.seen.directions[Direction::Write].counts.ok)
        .sum();
    let evidence = || {
        format!(
            "{} acknowledged by {} from a volatile cache (write_cache is \"write back\"), with no flush.",
            if writes == 1 {
                "1 write was".to_owned()
            } else {
                format!("{} were", counted(writes, "write"))
            },
            device.name
        )
    };
    (writes > 0).then(|| seat.finding(CODE, Weight::Note, evidence(), ADVICE))
}

fn unflushed(seat: &EntryContext) -> Option<Finding> {
    let volatile = seat.members.iter().filter(|m| buffered_without_flush(m));
    let writes: u64 = volatile
        .map(|m| m.seen.directions[Direction::Write].counts.ok)
        .sum();
    if writes == 0 {
        return None;
    }
    let evidence = format!(
        "{} completed in memory, without O_SYNC and with no fsync.",
        counted(writes, "buffered write")
    );
    Some(seat.finding(CODE, Weight::Note, evidence, ADVICE))
}

fn buffered_without_flush(member: &Member) -> bool {
    !member.job.files.direct && !flushes(member) && !member.is_null()
}

fn flushes(member: &Member) -> bool {
    let (files, sync) = (&member.job.files, &member.job.sync);
    let calls = sync.fsync_every > 0
        || sync.fdatasync_every > 0
        || sync.fsync_at_end
        || sync.fsync_on_close;
    calls || files.sync_mode != SyncMode::None
}
