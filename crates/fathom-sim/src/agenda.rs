//! Events in the order of their times.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::device::{SimCompletion, SimTime};

/// Events of one device; those of equal time come in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    heap: BinaryHeap<Entry<T>>,
    added: u64,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    at: SimTime,
    number: u64,
    event: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}
impl<T> Eq for Entry<T> {}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Entry<T> {
    /// Reversed: the heap has the largest on top.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Agenda {
            heap: BinaryHeap::new(),
            added: 0,
        }
    }
}

impl<T> Agenda<T> {
    /// Adds an event.
    pub fn add(&mut self, at: SimTime, event: T) {
        self.heap.push(Entry {
            at,
            number: self.added,
            event,
        });
        self.added += 1;
    }

    /// The time of the first event.
    #[must_use]
    pub fn next(&self) -> Option<SimTime> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes the first event if it is due at `now`.
    pub fn take(&mut self, now: SimTime) -> Option<(SimTime, T)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

impl Agenda<SimCompletion> {
    /// Adds a completion at its time.
    pub fn complete(&mut self, id: u64, at: SimTime, failed: bool) {
        self.add(at, SimCompletion { id, at, failed });
    }
}

/// The earlier of two optional times.
#[must_use]
pub fn earlier(a: Option<SimTime>, b: Option<SimTime>) -> Option<SimTime> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
