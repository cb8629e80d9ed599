//! Events in the order of their times.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use crate::device::{SimCompletion, SimTime};

/// Events of one device; those of equal time come in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    /// Events that were added in the order of their times, as those of a device whose times are constant: no search finds the
    /// first of them.
    in_order: VecDeque<Entry<T>>,
    /// All others.
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
            in_order: VecDeque::new(),
            heap: BinaryHeap::new(),
            added: 0,
        }
    }
}

impl<T> Agenda<T> {
    /// Adds an event.
    pub fn add(&mut self, at: SimTime, event: T) {
        let entry = Entry {
            at,
            number: self.added,
            event,
        };
        self.added += 1;
        if self.in_order.back().is_none_or(|last| last.at <= at) {
            self.in_order.push_back(entry);
        } else {
            self.heap.push(entry);
        }
    }

    /// The time of the first event.
    #[must_use]
    pub fn next(&self) -> Option<SimTime> {
        let in_order = self.in_order.front().map(|entry| entry.at);
        earlier(in_order, self.heap.peek().map(|entry| entry.at))
    }

    /// Takes the first event if it is due at `now`.
    pub fn take(&mut self, now: SimTime) -> Option<(SimTime, T)> {
        if self.next()? > now {
            return None;
        }
        // The order of entries is reversed.
        let entry = match (self.in_order.front(), self.heap.peek()) {
            (Some(first), Some(other)) if first < other => self.heap.pop(),
            (None, _) => self.heap.pop(),
            (Some(_), _) => self.in_order.pop_front(),
        };
        entry.map(|entry| (entry.at, entry.event))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::Random;

    /// Events come in the order of their times, and of equal ones in the order of their numbers, whatever the order in which
    /// they were added.
    #[test]
    fn events_come_in_order() {
        let mut random = Random::new(1);
        for spread in [1.0, 10.0, 1000.0] {
            let (mut agenda, mut sorted, mut now) = (Agenda::default(), BTreeSet::new(), 0);
            for number in 0..20_000_u32 {
                let at = now + (random.unit() * spread) as SimTime;
                agenda.add(at, number);
                sorted.insert((at, number));
                if number % 3 != 0 {
                    assert_eq!(agenda.next(), sorted.first().map(|first| first.0));
                    assert_eq!(agenda.take(SimTime::MAX), sorted.pop_first());
                    now += number as SimTime % 2;
                }
            }
            for event in sorted {
                assert_eq!(agenda.take(SimTime::MAX), Some(event));
            }
            assert_eq!((agenda.next(), agenda.take(SimTime::MAX)), (None, None));
        }
    }
}
