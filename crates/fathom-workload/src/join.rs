//! From events to I/Os in the order of their issue: completions are joined to issues, and small disorder is sorted.

use std::collections::VecDeque;

use crate::hash::NumberMap;
use crate::record::{IoKind, TraceIo};

/// I/Os that may wait for their completion; the oldest one is then released without a latency.
const OPEN: usize = 1 << 16;
/// I/Os within which disorder is sorted.
const WINDOW: usize = 4096;

/// How a completion finds its issue.
type Key = (u32, u64, bool);

#[derive(Debug, Default)]
pub(crate) struct Join {
    /// I/Os in the order of arrival; `true` while the completion is missing.
    waiting: VecDeque<(TraceIo, bool)>,
    /// Number of the first I/O in `waiting`.
    front: u64,
    open: NumberMap<Key, u64>,
    /// In the order of time.
    sorted: VecDeque<TraceIo>,
    last: u64,
    /// I/Os whose completion the trace lacks.
    pub without_completion: u64,
    /// I/Os whose time was before that of an I/O already returned.
    pub out_of_order: u64,
    /// Completions without an issue.
    pub without_issue: u64,
    /// Whether completions are expected.
    pub joins: bool,
}

fn key(device: u32, offset: u64, kind: IoKind) -> Key {
    (device, offset, kind == IoKind::Read)
}

impl Join {
    /// An I/O that is complete, or has no completion in this format.
    pub fn add(&mut self, io: TraceIo) {
        if self.waiting.is_empty() {
            self.sort(io);
        } else {
            self.waiting.push_back((io, false));
        }
    }

    /// An I/O whose completion comes as a separate event.
    pub fn issue(&mut self, io: TraceIo) {
        self.joins = true;
        let number = self.front + self.waiting.len() as u64;
        self.open.insert(key(io.device, io.offset, io.kind), number);
        self.waiting.push_back((io, true));
        if self.waiting.len() > OPEN {
            self.release_front();
        }
    }

    /// The completion of an I/O.
    pub fn complete(&mut self, device: u32, offset: u64, kind: IoKind, time_ns: u64) {
        let index = self
            .open
            .remove(&key(device, offset, kind))
            .and_then(|number| number.checked_sub(self.front));
        let Some((io, open)) = index.and_then(|index| self.waiting.get_mut(index as usize)) else {
            self.without_issue += 1;
            return;
        };
        io.latency_ns = time_ns.checked_sub(io.time_ns);
        *open = false;
        while self.waiting.front().is_some_and(|(_, open)| !open) {
            self.release_front();
        }
    }

    fn release_front(&mut self) {
        let Some((io, open)) = self.waiting.pop_front() else {
            return;
        };
        let number = self.front;
        self.front += 1;
        if open {
            self.without_completion += 1;
            let key = key(io.device, io.offset, io.kind);
            if self.open.get(&key) == Some(&number) {
                self.open.remove(&key);
            }
        }
        self.sort(io);
    }

    fn sort(&mut self, io: TraceIo) {
        let mut at = self.sorted.len();
        while at > 0 && self.sorted[at - 1].time_ns > io.time_ns {
            at -= 1;
        }
        if at == self.sorted.len() {
            self.sorted.push_back(io);
        } else {
            self.sorted.insert(at, io);
        }
    }

    /// The next I/O, once no earlier one can follow; at the `end` of the trace all that remain.
    pub fn next(&mut self, end: bool) -> Option<TraceIo> {
        if end {
            while !self.waiting.is_empty() {
                self.release_front();
            }
        } else if self.sorted.len() <= WINDOW {
            return None;
        }
        let mut io = self.sorted.pop_front()?;
        if io.time_ns < self.last {
            self.out_of_order += 1;
            io.time_ns = self.last;
        }
        self.last = io.time_ns;
        Some(io)
    }
}

/// Sorts I/Os that come in the order of their completion by their time, within a window.
#[derive(Debug, Default)]
pub struct Sorter(Join);

impl Sorter {
    /// Adds an I/O.
    pub fn add(&mut self, io: TraceIo) {
        self.0.add(io);
    }

    /// The next I/O, once so many are there that no earlier one is expected; at the `end` all that remain.
    pub fn next(&mut self, end: bool) -> Option<TraceIo> {
        self.0.next(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::IoFlags;

    fn io(time_ns: u64, offset: u64) -> TraceIo {
        TraceIo {
            time_ns,
            latency_ns: None,
            offset,
            length: 4096,
            device: 0,
            process: 0,
            kind: IoKind::Read,
            flags: IoFlags::default(),
        }
    }

    #[test]
    fn completions_in_any_order_give_latencies_in_order_of_issue() {
        let mut join = Join::default();
        join.issue(io(10, 1));
        join.issue(io(20, 2));
        join.issue(io(30, 3));
        join.complete(0, 2, IoKind::Read, 25);
        join.complete(0, 1, IoKind::Read, 60);
        join.complete(0, 9, IoKind::Read, 61);
        let all: Vec<_> = std::iter::from_fn(|| join.next(true))
            .map(|io| (io.time_ns, io.latency_ns))
            .collect();
        assert_eq!(all, [(10, Some(50)), (20, Some(5)), (30, None)]);
        assert_eq!((join.without_completion, join.without_issue), (1, 1));
    }

    #[test]
    fn disorder_within_the_window_is_sorted_and_beyond_it_counted() {
        let mut join = Join::default();
        for time in [5, 3, 9, 7] {
            join.add(io(time, 0));
        }
        let sorted: Vec<_> = std::iter::from_fn(|| join.next(true))
            .map(|io| io.time_ns)
            .collect();
        assert_eq!((sorted, join.out_of_order), (vec![3, 5, 7, 9], 0));
        join.add(io(4, 0));
        assert_eq!(join.next(true).map(|io| io.time_ns), Some(9));
        assert_eq!(join.out_of_order, 1);
    }

    #[test]
    fn memory_is_bounded_without_completions() {
        let mut join = Join::default();
        for n in 0..300_000 {
            join.issue(io(n, n));
            while join.next(false).is_some() {}
        }
        assert!(join.waiting.len() <= OPEN && join.open.len() <= OPEN);
        assert!(join.sorted.len() <= WINDOW);
    }
}
