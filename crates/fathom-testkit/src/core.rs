//! The fault device without its file system: it takes requests and returns results, all in memory.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::corruption::Corruption;
use crate::fault::{Fault, FaultKind, Op};
use crate::oplog::Entry;
use crate::pace::monotonic_ns;
use crate::state::State;
use crate::store::Keep;
use crate::volatile_cache::{CacheFault, VolatileCache};

/// The latency of each kind of operation, in microseconds. Zero is as fast as possible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Latency {
    /// Reads, microseconds.
    pub read_us: u64,
    /// Writes, microseconds.
    pub write_us: u64,
    /// Syncs, microseconds.
    pub sync_us: u64,
}

impl Latency {
    pub(crate) fn of(&self, op: Op) -> u64 {
        match op {
            Op::Read => self.read_us,
            Op::Write => self.write_us,
            Op::Sync => self.sync_us,
        }
    }
}

/// A request that the device has accepted and not yet completed.
#[derive(Debug)]
pub struct Ticket {
    pub(crate) op: Op,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) start_ns: u64,
    pub(crate) wait_ns: u64,
    pub(crate) held_at: Option<u64>,
    pub(crate) faults: Vec<FaultKind>,
}

impl Ticket {
    /// The time of CLOCK_MONOTONIC (nanoseconds) at which the result is due.
    #[must_use]
    pub fn due_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.wait_ns)
    }

    /// Whether the request hangs until [`Core::release`].
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held_at.is_some()
    }

    pub(crate) fn touches(&self, offset: u64, len: u64) -> bool {
        offset < self.offset.saturating_add(self.len) && self.offset < offset.saturating_add(len)
    }
}

/// Counters of the device since its creation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of times that each kind of fault was triggered.
    pub faults: BTreeMap<FaultKind, u64>,
    /// Requests that are in flight now.
    pub in_flight: u64,
    /// Maximum number of requests in flight at the same time.
    pub deepest: u64,
    /// Requests that hang now.
    pub held: u64,
    /// Sectors written but not yet stable.
    pub unsynced_sectors: u64,
    /// Operations that did not fit into the log.
    pub log_dropped: u64,
}

impl Counts {
    /// Total number of triggered faults.
    #[must_use]
    pub fn injected(&self) -> u64 {
        self.faults.values().sum()
    }
}

/// The device. Every method may be called from any thread.
#[derive(Debug)]
pub struct Core {
    state: Mutex<State>,
    released: Condvar,
}

impl Core {
    /// A device of `size` zero bytes that keeps at most `log_limit` log entries.
    #[must_use]
    pub fn new(size: usize, log_limit: usize) -> Self {
        let state = Mutex::new(State::new(size, log_limit));
        Core {
            state,
            released: Condvar::new(),
        }
    }

    /// A panic elsewhere leaves consistent values behind, so the poison is ignored.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a request. Wait until [`Ticket::due_ns`], or for the release, then finish it.
    pub fn begin(&self, op: Op, offset: u64, len: u64) -> Ticket {
        let start_ns = monotonic_ns();
        let mut state = self.state();
        let mut faults = Vec::new();
        let wait_us = state.latency.of(op) + state.stall_us(op, &mut faults);
        let held_at = state.hang(op, &mut faults);
        let wait_ns = state.wait_ns(start_ns, wait_us * 1000);
        state.in_flight += 1;
        state.deepest = state.deepest.max(state.in_flight);
        Ticket {
            op,
            offset,
            len,
            start_ns,
            wait_ns,
            held_at,
            faults,
        }
    }

    /// Blocks a held request until the next release; returns at once for one that is not held.
    pub fn wait_released(&self, ticket: &Ticket) {
        let Some(held_at) = ticket.held_at else {
            return;
        };
        let mut state = self.state();
        while state.releases == held_at {
            state = self
                .released
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.held -= 1;
    }

    /// Completes a read with its bytes; fewer than requested at the end of the device.
    ///
    /// # Errors
    /// The error of an injected fault.
    pub fn finish_read(&self, ticket: Ticket) -> Result<Vec<u8>, Errno> {
        let mut state = self.state();
        let (mut ticket, state) = (ticket, &mut *state);
        let answer = state.read(&mut ticket);
        state.close(ticket, answer.as_ref().map(Vec::len).map_err(|e| *e));
        answer
    }

    /// Stores the data of a write; `durable` is O_DSYNC or O_SYNC. Returns the acknowledged bytes.
    ///
    /// # Errors
    /// The error of an injected fault.
    pub fn finish_write(&self, ticket: Ticket, data: &[u8], durable: bool) -> Result<usize, Errno> {
        let mut state = self.state();
        let (mut ticket, state) = (ticket, &mut *state);
        let answer = state.write(&mut ticket, data, durable);
        state.close(ticket, answer);
        answer
    }

    /// Makes the acknowledged writes stable.
    ///
    /// # Errors
    /// The error of an injected fault.
    pub fn finish_sync(&self, ticket: Ticket) -> Result<(), Errno> {
        let mut state = self.state();
        let (mut ticket, state) = (ticket, &mut *state);
        let answer = state.sync(&mut ticket);
        state.close(ticket, answer.map(|()| 0));
        answer
    }

    /// Arms `fault` until [`Core::clear_faults`].
    pub fn inject(&self, fault: Fault) {
        self.state().armed_faults.arm(fault, None);
    }

    /// Arms `fault` for the next `times` times.
    pub fn inject_times(&self, fault: Fault, times: u64) {
        self.state().armed_faults.arm(fault, Some(times));
    }

    /// Arms a corruption of the block at byte `offset`, for the `write`-th write that begins there.
    pub fn corrupt(&self, offset: u64, write: u64, corruption: Corruption) {
        self.state().corruptions.arm(offset, write, corruption);
    }

    /// The offsets of the corruptions triggered so far, in order.
    pub fn corrupted_offsets(&self) -> Vec<u64> {
        self.state().corruptions.triggered().to_vec()
    }

    /// The bytes of the device from `offset` on, as a reader would see them, without a log entry.
    pub fn peek(&self, offset: u64, len: u64) -> Vec<u8> {
        self.state().store.read(offset, len)
    }

    /// Disarms every fault and releases hanging requests; the counters and the size are unchanged.
    pub fn clear_faults(&self) {
        self.release();
        self.state().armed_faults.disarm();
    }

    /// Ends a hang: the requests held now are completed and no further ones are held.
    pub fn release(&self) {
        let mut state = self.state();
        state.armed_faults.disarm_kind(FaultKind::Hang);
        state.releases += 1;
        self.released.notify_all();
    }

    /// Permanently shrinks the device to `size` bytes: reads end there, writes beyond get ENOSPC.
    pub fn shrink(&self, size: u64) {
        let mut state = self.state();
        state.store.shrink(size);
        state.armed_faults.count(FaultKind::Shrink, &mut Vec::new());
    }

    /// Sets the latency of operations from now on.
    pub fn set_latency(&self, latency: Latency) {
        self.state().latency = latency;
    }

    /// Processes `servers` requests at a time from now on, first come, first served; 0 processes
    /// all at once.
    ///
    /// With latency S the device does exactly `servers / S` requests a second when it is never
    /// idle.
    pub fn set_servers(&self, servers: u32) {
        self.state().free_at = vec![0; servers as usize];
    }

    /// Starts at most this many requests a second from now on, at equal times; 0 sets no ceiling.
    pub fn set_ceiling(&self, per_second: u32) {
        let mut state = self.state();
        state.interval_ns = 1_000_000_000_u64
            .checked_div(per_second.into())
            .unwrap_or(0);
        state.next_start = 0;
    }

    /// The current latency.
    pub fn latency(&self) -> Latency {
        self.state().latency
    }

    /// The current size in bytes.
    pub fn size(&self) -> u64 {
        self.state().store.size()
    }

    /// The currently armed faults.
    pub fn armed(&self) -> Vec<Fault> {
        self.state().armed_faults.armed().collect()
    }

    /// The counters.
    pub fn counts(&self) -> Counts {
        let state = self.state();
        Counts {
            faults: state.armed_faults.triggered().clone(),
            in_flight: state.in_flight,
            deepest: state.deepest,
            held: state.held,
            unsynced_sectors: state.store.unsynced().len() as u64,
            log_dropped: state.log.dropped(),
        }
    }

    /// A copy of the operation log, in order of completion.
    pub fn log(&self) -> Vec<Entry> {
        self.state().log.entries().to_vec()
    }

    /// Clears the operation log and resets the maximum queue depth; the fault counters are
    /// unchanged.
    pub fn clear_log(&self) {
        let mut state = self.state();
        state.log.clear();
        state.deepest = state.in_flight;
    }

    /// The sector numbers (offset / 512) written but not yet stable.
    pub fn unsynced(&self) -> Vec<u64> {
        self.state().store.unsynced().iter().copied().collect()
    }

    /// From now on the device has a volatile cache of `capacity` bytes with this behaviour; what it holds now is stored.
    ///
    /// Only [`Core::cut_power`] shows a difference: reads return what was written.
    pub fn set_volatile_cache(&self, capacity: u64, fault: CacheFault) {
        let mut state = self.state();
        let content = state.store.read(0, state.store.size());
        state.cache = Some(VolatileCache::with_content(content, capacity, fault));
    }

    /// Cuts the power: writes what remains to a new sparse file at `path`, and every later request fails with EIO. The same seed
    /// makes the same choices of the cache.
    ///
    /// # Errors
    /// Without [`Core::set_volatile_cache`], or when the file cannot be created or written.
    pub fn cut_power(&self, seed: u64, path: &Path) -> io::Result<()> {
        let image = {
            let mut state = self.state();
            let cache = state
                .cache
                .as_ref()
                .ok_or_else(|| io::Error::other("the device has no volatile cache"))?;
            let image = cache.cut(seed);
            state.armed_faults.arm(Fault::Gone, None);
            image
        };
        let file = std::fs::File::create(path)?;
        file.set_len(image.len() as u64)?;
        write_sparse(&file, 0, &image)
    }

    /// The image that a power cut at this moment would leave, taken without stopping anything.
    pub fn snapshot(&self, keep: &Keep) -> Vec<u8> {
        let state = self.state();
        let mut image = Vec::with_capacity(state.store.size() as usize);
        let Ok(()) = state
            .store
            .cut::<std::convert::Infallible>(keep, |_, piece| {
                image.extend_from_slice(piece);
                Ok(())
            });
        image
    }

    /// As [`Core::snapshot`], into a new sparse file at `path`. The device waits during the copy.
    ///
    /// # Errors
    /// When the file cannot be created or written.
    pub fn snapshot_to(&self, path: &Path, keep: &Keep) -> io::Result<()> {
        let mut file = std::fs::File::create(path)?;
        let state = self.state();
        file.set_len(state.store.size())?;
        state
            .store
            .cut(keep, |offset, piece| write_sparse(&file, offset, piece))?;
        file.flush()
    }
}

fn write_sparse(file: &std::fs::File, offset: u64, piece: &[u8]) -> io::Result<()> {
    const BLOCK: usize = 65536;
    for (index, block) in piece.chunks(BLOCK).enumerate() {
        if block.iter().any(|b| *b != 0) {
            file.write_all_at(block, offset + (index * BLOCK) as u64)?;
        }
    }
    Ok(())
}
