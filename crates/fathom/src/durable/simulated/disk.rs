//! A disk for which threads of the simulation wait.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fathom_hosts::{Bell, Clock};
use fathom_sim::{Finished, PoweredDisk, SimOp, SimRequest};

use crate::durable::world::lock;

/// A disk. It stays when its host starts again.
pub struct WaitingDisk {
    state: Mutex<DiskState>,
    /// A request has completed, or the disk was switched off or on.
    changed: Arc<Bell>,
}

struct DiskState {
    disk: PoweredDisk,
    /// How often the power was cut.
    cuts: u64,
}

/// A request and the bytes of a write.
pub struct DiskRequest {
    request: SimRequest,
    bytes: Vec<u8>,
}

impl DiskRequest {
    fn new(op: SimOp, offset: u64, bytes: u32) -> DiskRequest {
        let request = SimRequest {
            id: 0,
            op,
            offset,
            bytes,
            fua: false,
        };
        DiskRequest {
            request,
            bytes: Vec::new(),
        }
    }

    /// A write; with `fua` it is durable when it completes.
    pub fn write(offset: u64, bytes: Vec<u8>, fua: bool) -> DiskRequest {
        let mut made = DiskRequest::new(SimOp::Write, offset, bytes.len() as u32);
        made.request.fua = fua;
        DiskRequest { bytes, ..made }
    }

    pub fn read(range: &Range<u64>) -> DiskRequest {
        DiskRequest::new(SimOp::Read, range.start, (range.end - range.start) as u32)
    }

    pub fn flush() -> DiskRequest {
        DiskRequest::new(SimOp::Flush, 0, 0)
    }
}

fn ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}

impl WaitingDisk {
    pub fn new(disk: PoweredDisk) -> WaitingDisk {
        WaitingDisk {
            state: Mutex::new(DiskState { disk, cuts: 0 }),
            changed: Arc::default(),
        }
    }

    /// How often the power was cut.
    pub fn cuts(&self) -> u64 {
        lock(&self.state).cuts
    }

    /// Carries out requests, all at the same time, for somebody who began after so many cuts. Returns what the reads found.
    ///
    /// # Errors
    /// EIO when the disk fails one of them, or its power was cut since.
    pub fn carry_out(
        &self,
        clock: &dyn Clock,
        cuts: u64,
        requests: Vec<DiskRequest>,
    ) -> io::Result<Vec<Vec<u8>>> {
        let now = ns(clock.now());
        let ids: Vec<u64> = {
            let state = &mut *lock(&self.state);
            if state.cuts != cuts {
                return Err(failed());
            }
            let disk = &mut state.disk;
            let submit = |one: DiskRequest| disk.submit(now, one.request, &one.bytes);
            requests.into_iter().map(submit).collect()
        };
        let mut found: Vec<Option<Finished>> = ids.iter().map(|_| None).collect();
        loop {
            let heard = self.changed.count();
            let mut state = lock(&self.state);
            if state.cuts != cuts {
                return Err(failed());
            }
            let is_changed = state.disk.advance(ns(clock.now()));
            for (id, place) in ids.iter().zip(&mut found) {
                if place.is_none() {
                    *place = state.disk.take(*id);
                }
            }
            let next = state.disk.next_event();
            drop(state);
            if is_changed {
                self.changed.ring();
            }
            if found.iter().all(Option::is_some) {
                let found = found.into_iter().flatten();
                return found.map(|one| one.map_err(|_| failed())).collect();
            }
            let at = next.map_or(Duration::MAX, Duration::from_nanos);
            clock.wait(&self.changed, heard, at);
        }
    }

    /// What is stored in a range, without waiting.
    pub fn stored(&self, range: &Range<u64>) -> Vec<u8> {
        lock(&self.state).disk.stored(range)
    }

    /// Stores bytes, without waiting.
    pub fn store(&self, offset: u64, bytes: &[u8]) {
        lock(&self.state).disk.store(offset, bytes);
    }

    /// Nobody needs what is in a range.
    pub fn release(&self, range: &Range<u64>) {
        lock(&self.state).disk.release(range);
    }

    /// Cuts the power, which comes back at once. Requests of before fail.
    pub fn cut_power(&self, now: Duration, seed: u64) {
        let mut state = lock(&self.state);
        state.cuts += 1;
        state.disk.cut_power(ns(now), seed);
        drop(state);
        self.changed.ring();
    }
}

/// EIO.
fn failed() -> io::Error {
    io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error())
}
