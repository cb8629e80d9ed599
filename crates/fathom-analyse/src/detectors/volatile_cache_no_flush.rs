//! VOLATILE_CACHE_NO_FLUSH: writes that were not durable when they completed.

use fathom_model::{DeviceFacts, Direction, Finding, SyncMode, Weight};

use super::{EntryContext, RunContext};
use crate::figures::counted;
use crate::members::Member;

const ADVICE: &str =
    "Add fsync=, fdatasync=, end_fsync=1 or sync= if the data must survive a power failure.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let mut devices = run.devices().into_iter().map(|device| &device.before);
    let volatile = devices.find(|device| device.queue.setting("write_cache") == Some("write back"));
    run.each(|entry| {
        unflushed(entry)
            .or_else(|| in_the_client(entry))
            .or_else(|| in_the_device(entry, volatile?))
    })
}

/// Direct writes that stay in the device's cache.
fn in_the_device(entry: &EntryContext, device: &DeviceFacts) -> Option<Finding> {
    let direct = entry
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
    (writes > 0).then(|| entry.finding(Weight::Note, evidence(), ADVICE))
}

fn unflushed(entry: &EntryContext) -> Option<Finding> {
    let volatile = entry.members.iter().filter(|m| buffered_without_flush(m));
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
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}

/// Writes to an image of a cluster, which its client library may cache.
fn in_the_client(entry: &EntryContext) -> Option<Finding> {
    let cached = (entry.members.iter()).filter(|m| m.job.engine.kind.has_image() && !flushes(m));
    let writes: u64 = cached
        .map(|m| m.seen.directions[Direction::Write].counts.ok)
        .sum();
    let evidence = || {
        format!(
            "{} to the image had no flush: they may have completed in the cache of librbd (rbd_cache).",
            counted(writes, "write")
        )
    };
    (writes > 0).then(|| entry.finding(Weight::Note, evidence(), ADVICE))
}

fn buffered_without_flush(member: &Member) -> bool {
    let has_page_cache = !member.is_null() && !member.job.engine.kind.has_image();
    has_page_cache && !member.job.files.direct && !flushes(member)
}

fn flushes(member: &Member) -> bool {
    let (files, sync) = (&member.job.files, &member.job.sync);
    let calls = sync.fsync_every > 0
        || sync.fdatasync_every > 0
        || sync.fsync_at_end
        || sync.fsync_on_close;
    calls || files.sync_mode != SyncMode::None
}
