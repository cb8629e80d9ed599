//! The effect of each armed fault on a request, under the device's lock.

use rustix::io::Errno;

use crate::core::{Latency, Ticket};
use crate::corruption::Corruptions;
use crate::fault::{ArmedFaults, Fault, FaultKind, Op};
use crate::oplog::{Entry, OpLog};
use crate::pace::monotonic_ns;
use crate::store::{SECTOR, Store};
use crate::volatile_cache::VolatileCache;

/// The state that the device's lock protects.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) armed_faults: ArmedFaults,
    pub(crate) corruptions: Corruptions,
    /// What a power cut would leave, if that was requested.
    pub(crate) cache: Option<VolatileCache>,
    pub(crate) latency: Latency,
    /// When each server becomes idle, nanoseconds of CLOCK_MONOTONIC; empty if all requests are
    /// processed at once.
    pub(crate) free_at: Vec<u64>,
    /// Nanoseconds between the starts of two requests; 0 without a ceiling.
    pub(crate) interval_ns: u64,
    /// When the ceiling lets the next request start, nanoseconds of CLOCK_MONOTONIC.
    pub(crate) next_start: u64,
    pub(crate) log: OpLog,
    pub(crate) in_flight: u64,
    pub(crate) deepest: u64,
    pub(crate) held: u64,
    pub(crate) releases: u64,
}

impl State {
    pub(crate) fn new(size: usize, log_limit: usize) -> Self {
        State {
            store: Store::new(size),
            armed_faults: ArmedFaults::default(),
            corruptions: Corruptions::default(),
            cache: None,
            latency: Latency::default(),
            free_at: Vec::new(),
            interval_ns: 0,
            next_start: 0,
            log: OpLog::new(log_limit),
            in_flight: 0,
            deepest: 0,
            held: 0,
            releases: 0,
        }
    }

    /// How long a request that arrives at `now` waits for the ceiling and a server and is processed
    /// for `service_ns`.
    ///
    /// Each server continues from the due time of its last request, not from its completion:
    /// however late this process is scheduled, the number of requests that are due per second is
    /// exact while requests wait.
    pub(crate) fn wait_ns(&mut self, now: u64, service_ns: u64) -> u64 {
        let start = self.next_start.max(now);
        self.next_start = start + self.interval_ns;
        let end = match self.free_at.iter_mut().min() {
            Some(free) => {
                *free = (*free).max(start) + service_ns;
                *free
            }
            None => start + service_ns,
        };
        end.saturating_sub(now)
    }

    pub(crate) fn stall_us(&mut self, op: Op, marks: &mut Vec<FaultKind>) -> u64 {
        let stall = self.armed_faults.fire(marks, |fault| match fault {
            Fault::Stall { micros, .. } if op != Op::Sync => Some(*micros),
            _ => None,
        });
        stall.unwrap_or(0)
    }

    pub(crate) fn hang(&mut self, op: Op, marks: &mut Vec<FaultKind>) -> Option<u64> {
        self.armed_faults.fire(marks, |fault| match fault {
            Fault::Hang(which) if which.is_none_or(|w| w == op) => Some(()),
            _ => None,
        })?;
        self.held += 1;
        Some(self.releases)
    }

    fn gone(&mut self, ticket: &mut Ticket) -> Result<(), Errno> {
        let gone = self
            .armed_faults
            .fire(&mut ticket.faults, |f| (*f == Fault::Gone).then_some(()));
        if gone.is_some() {
            Err(Errno::IO)
        } else {
            Ok(())
        }
    }

    pub(crate) fn read(&mut self, ticket: &mut Ticket) -> Result<Vec<u8>, Errno> {
        self.gone(ticket)?;
        self.read_error(ticket)?;
        let from = if self.corruptions.is_empty() {
            ticket.offset
        } else {
            self.corruptions.read(&mut self.store, ticket.offset)
        };
        let mut data = self.store.read(from, ticket.len);
        self.flip(ticket, &mut data);
        self.shorten(ticket, &mut data);
        Ok(data)
    }

    fn read_error(&mut self, ticket: &mut Ticket) -> Result<(), Errno> {
        let mut marks = std::mem::take(&mut ticket.faults);
        let hit = self.armed_faults.fire(&mut marks, |fault| match fault {
            Fault::ReadError { offset, len } if ticket.touches(*offset, *len) => Some(()),
            _ => None,
        });
        ticket.faults = marks;
        if hit.is_some() {
            Err(Errno::IO)
        } else {
            Ok(())
        }
    }

    fn flip(&mut self, ticket: &mut Ticket, data: &mut [u8]) {
        let covered = ticket.offset..ticket.offset.saturating_add(data.len() as u64);
        let flips = self
            .armed_faults
            .fire_all(&mut ticket.faults, |fault| match fault {
                Fault::BitFlip { offset, mask } if covered.contains(offset) => {
                    Some((*offset, *mask))
                }
                _ => None,
            });
        for (offset, mask) in flips {
            data[(offset - covered.start) as usize] ^= mask;
        }
    }

    fn shorten(&mut self, ticket: &mut Ticket, data: &mut Vec<u8>) {
        let full = data.len() as u64;
        let cut = self
            .armed_faults
            .fire(&mut ticket.faults, |fault| match fault {
                Fault::ShortRead { at_most } if *at_most < full => Some(*at_most),
                _ => None,
            });
        data.truncate(cut.unwrap_or(full) as usize);
    }

    pub(crate) fn write(
        &mut self,
        ticket: &mut Ticket,
        data: &[u8],
        durable: bool,
    ) -> Result<usize, Errno> {
        self.gone(ticket)?;
        let space = self.store.size().saturating_sub(ticket.offset);
        if space == 0 && !data.is_empty() {
            return Err(Errno::NOSPC);
        }
        let fits = space.min(data.len() as u64) as usize;
        self.write_error(ticket)?;
        if self
            .corruptions
            .write(&mut self.store, ticket.offset, &data[..fits])
        {
            return Ok(fits);
        }
        if let Some((offset, kept)) = self.destination(ticket, &data[..fits]) {
            let stored = self.store.write(offset, kept) as u64;
            self.sync_if_durable(ticket, offset, stored, durable);
            self.write_cache(offset, stored, durable);
        }
        Ok(fits)
    }

    fn write_error(&mut self, ticket: &mut Ticket) -> Result<(), Errno> {
        let mut marks = std::mem::take(&mut ticket.faults);
        let hit = self.armed_faults.fire(&mut marks, |fault| match fault {
            Fault::WriteError { offset, len } if ticket.touches(*offset, *len) => Some(()),
            _ => None,
        });
        ticket.faults = marks;
        if hit.is_some() {
            Err(Errno::IO)
        } else {
            Ok(())
        }
    }

    /// Where the bytes of a write are really stored and how many of them; `None` if they are lost.
    fn destination<'d>(&mut self, ticket: &mut Ticket, data: &'d [u8]) -> Option<(u64, &'d [u8])> {
        let lost = self.armed_faults.fire(&mut ticket.faults, |fault| {
            matches!(fault, Fault::LostWrite { .. }).then_some(())
        });
        if lost.is_some() {
            return None;
        }
        let shift = self
            .armed_faults
            .fire(&mut ticket.faults, |fault| match fault {
                Fault::MisdirectedWrite { shift } => Some(*shift),
                _ => None,
            });
        let data = self.tear(ticket, data);
        shifted(ticket.offset, shift.unwrap_or(0), data)
    }

    fn tear<'d>(&mut self, ticket: &mut Ticket, data: &'d [u8]) -> &'d [u8] {
        let kept = self
            .armed_faults
            .fire(&mut ticket.faults, |fault| match fault {
                Fault::TornWrite { sectors } => {
                    let kept =
                        usize::try_from(sectors.saturating_mul(SECTOR)).unwrap_or(usize::MAX);
                    (kept < data.len()).then_some(kept)
                }
                _ => None,
            });
        &data[..kept.unwrap_or(data.len())]
    }

    fn sync_if_durable(&mut self, ticket: &mut Ticket, offset: u64, len: u64, durable: bool) {
        if durable && len > 0 && !self.ignores_flush(ticket) {
            self.store.sync_range(offset, len);
        }
    }

    fn ignores_flush(&mut self, ticket: &mut Ticket) -> bool {
        let matches = |f: &Fault| (*f == Fault::LyingFlush).then_some(());
        !self.store.unsynced().is_empty()
            && self
                .armed_faults
                .fire(&mut ticket.faults, matches)
                .is_some()
    }

    pub(crate) fn sync(&mut self, ticket: &mut Ticket) -> Result<(), Errno> {
        self.gone(ticket)?;
        let failed = self.armed_faults.fire(&mut ticket.faults, |f| {
            (*f == Fault::SyncError).then_some(())
        });
        if failed.is_some() {
            self.store.drop_unsynced();
            return Err(Errno::IO);
        }
        if !self.ignores_flush(ticket) {
            self.store.sync();
        }
        if let Some(cache) = &mut self.cache {
            cache.flush();
        }
        Ok(())
    }

    /// Passes a write to the cache, as whole sectors.
    fn write_cache(&mut self, offset: u64, len: u64, durable: bool) {
        let Some(cache) = &mut self.cache else {
            return;
        };
        let start = offset / SECTOR * SECTOR;
        let end = (offset + len).next_multiple_of(SECTOR);
        cache.write(start, &self.store.read(start, end - start), durable);
    }

    pub(crate) fn close(&mut self, ticket: Ticket, answer: Result<usize, Errno>) {
        let Ticket {
            op,
            offset,
            len,
            start_ns,
            faults,
            ..
        } = ticket;
        let result = match answer {
            Ok(bytes) => bytes as i64,
            Err(errno) => -i64::from(errno.raw_os_error()),
        };
        self.in_flight -= 1;
        let end_ns = monotonic_ns();
        self.log.push(Entry {
            op,
            offset,
            len,
            start_ns,
            end_ns,
            result,
            faults,
        });
    }
}

/// `data` shifted by `shift` bytes, without the part that would be before the start.
fn shifted(offset: u64, shift: i64, data: &[u8]) -> Option<(u64, &[u8])> {
    let target = i128::from(offset) + i128::from(shift);
    let skip = usize::try_from((-target).max(0)).ok()?;
    let start = u64::try_from(target.max(0)).ok()?;
    Some((start, data.get(skip..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ceiling lets one request start each 10 ns, whatever it takes; one that arrives late starts at once.
    #[test]
    fn a_ceiling_starts_requests_at_its_rate() {
        let mut state = State::new(512, 0);
        state.interval_ns = 10;
        let waits = [100, 100, 105, 200].map(|now| state.wait_ns(now, 3));
        assert_eq!(waits, [3, 13, 18, 3]);
    }

    /// Two servers of 5 ns: two requests complete after 5, the next two after 10, and a late one is
    /// processed at once.
    #[test]
    fn servers_take_requests_in_turn() {
        let mut state = State::new(512, 0);
        assert_eq!(state.wait_ns(100, 5), 5, "without servers there is no wait");
        state.free_at = vec![0; 2];
        let waits: Vec<u64> = (0..5).map(|_| state.wait_ns(100, 5)).collect();
        assert_eq!(waits, [5, 5, 10, 10, 15]);
        assert_eq!(state.wait_ns(112, 5), 5, "one has been idle since 110");
        assert_eq!(state.wait_ns(200, 5), 5);
    }
}
