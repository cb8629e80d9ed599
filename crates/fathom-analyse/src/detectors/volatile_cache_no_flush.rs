//! VOLATILE_CACHE_NO_FLUSH: writes that were not durable when they completed.

use fathom_model::{Direction, Finding, SyncMode, Weight};

use super::{Detector, Scene, Seat};
use crate::figures::counted;
use crate::members::Member;

const CODE: &str = "VOLATILE_CACHE_NO_FLUSH";
pub(super) const DETECTOR: Detector = Detector { code: CODE, look };

const ADVICE: &str = "Add fsync=, fdatasync=, end_fsync=1 or sync= when the data must survive a power cut.";

fn look(scene: &Scene) -> Vec<Finding> {
    scene.each(unflushed)
}

fn unflushed(seat: &Seat) -> Option<Finding> {
    let volatile = seat.members.iter().filter(|m| buffered_without_flush(m));
    let writes: u64 = volatile.map(|m| m.seen.directions[Direction::Write].counts.ok).sum();
    if writes == 0 {
        return None;
    }
    let evidence =
        format!("{} completed in memory, without O_SYNC and with no fsync.", counted(writes, "buffered write"));
    Some(seat.finding(CODE, Weight::Note, evidence, ADVICE))
}

fn buffered_without_flush(member: &Member) -> bool {
    let (files, sync) = (&member.job.files, &member.job.sync);
    let flushes = sync.fsync_every > 0 || sync.fdatasync_every > 0 || sync.fsync_at_end || sync.fsync_on_close;
    !files.direct && files.sync_mode == SyncMode::None && !flushes && !member.is_null()
}
