//! Programs that wait for flushes of the device's cache.

use fathom_model::format::{duration, percent, rate};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::evidence::WaitingThread;
use super::super::facts::{DeviceLoad, Facts, Waiter};

/// Calls that wait until data is safe.
const SYNC_CALLS: [&str; 5] = ["fsync", "fdatasync", "sync", "syncfs", "sync_file_range"];
/// Functions in which such calls wait.
const SYNC_PLACES: [&str; 7] = [
    "jbd2_log_wait_commit",
    "jbd2_complete_transaction",
    "xfs_log_force",
    "blkdev_issue_flush",
    "ext4_sync_file",
    "xfs_file_fsync",
    "btrfs_sync_file",
];
/// Share of the time in flushes from which on they hold programs up.
const MIN_FLUSH_SHARE: f64 = 0.3;
/// Fewer flushes are no storm: each waits mostly for the data that was written before it.
const MIN_FLUSHES: u64 = 20;
/// Share of the waits of a program that are for flushes.
const MIN_SYNC_SHARE: f64 = 0.5;

fn waits_for_sync(thread: &WaitingThread) -> bool {
    thread.call.is_some_and(|call| SYNC_CALLS.contains(&call)) || thread.is_in(&SYNC_PLACES)
}

/// The device spends its time in flushes, and somebody waits for them.
pub(super) fn storm(facts: &Facts) -> Option<WhyFinding> {
    let share = |load: &DeviceLoad| load.grown.flush_ms as f64 / 1e3 / facts.seconds;
    let load = facts
        .devices
        .iter()
        .filter(|load| {
            load.facts.members.is_empty()
                && load.grown.flushes >= MIN_FLUSHES
                && share(load) >= MIN_FLUSH_SHARE
        })
        .max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let sync_share = |waiter: &&Waiter| waiter.share_of_looks(waits_for_sync);
    let syncing = facts
        .waiters
        .iter()
        .find(|one| sync_share(one) >= MIN_SYNC_SHARE);
    let waiter = syncing.or(facts.waiters.first())?;
    let flushes = load.grown.flushes as f64 / facts.seconds;
    let mean = load.flush_ns()?;
    let verb = if syncing.is_some() {
        "waits"
    } else {
        "probably waits"
    };
    let sentence = format!(
        "{} {verb} for flushes: {} did {} per second of {} each, {} of the time.",
        waiter.title(),
        load.name(),
        rate(flushes),
        duration(mean),
        percent(100.0 * share(load).min(1.0)),
    );
    let mut finding = WhyFinding::sure_if(
        syncing.is_some(),
        WhyCause::Flush,
        sentence,
        "run `fathom why` as root, which sees in which call it waits",
    )
    .about("waits", &waiter.name, Some(waiter.pid))
    .about("device", load.name(), None)
    .figure("flushes_per_s", flushes)
    .figure("flush_ns", mean)
    .figure("flush_share", share(load));
    if syncing.is_some() {
        let seen = waiter.seen.len();
        let in_sync = waiter
            .seen
            .iter()
            .filter(|thread| waits_for_sync(thread))
            .count();
        finding = finding.because(format!(
            "It was in a call that waits until data is safe in {in_sync} of {seen} looks at its waiting threads."
        ));
    }
    Some(finding.advise(format!(
        "Put more changes into one commit (group commit), or take a device that is quick at flushes: `fathom fsync` in a directory of {} measures what it allows. Turning flushes off would lose acknowledged data.",
        load.name()
    )))
}
