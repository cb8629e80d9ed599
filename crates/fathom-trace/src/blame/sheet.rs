//! The sheet: sums of the phases by response time, in bounded memory.

use std::collections::BTreeMap;

use fathom_model::{
    BlameGroup, BlameOther, BlameRank, BlameRecording, BlameRow, BlameTimes, BlamedIo, Direction,
    Nanos, Unjoined,
};

use super::bios::{Beside, MOST_OTHERS};
use super::join::{JoinedIo, LoadIo};

/// Classes of the response time in each power of two: a class is at most 1/128 wide.
const CLASSES: u64 = 128;

/// Why an I/O is not in the sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnjoinedReason {
    Buffered,
    Merged,
    LostEvents,
    NoPosition,
    NoRequest,
    Ambiguous,
    NotLogged,
}

/// The I/Os of one class of response times.
#[derive(Clone, Debug, Default)]
struct Class {
    ios: u64,
    phases: BlameTimes,
    in_block_layer: u64,
    beside: Beside,
}

impl Class {
    fn add(&mut self, io: &JoinedIo) {
        self.ios += 1;
        self.phases.add(&io.phases);
        self.in_block_layer += io.in_block_layer;
        for (sum, time) in self.beside.iter_mut().zip(io.beside) {
            *sum += time.min(io.in_block_layer);
        }
    }

    fn merge(&mut self, other: &Class) {
        self.ios += other.ios;
        self.phases.add(&other.phases);
        self.in_block_layer += other.in_block_layer;
        for (sum, time) in self.beside.iter_mut().zip(other.beside) {
            *sum += time;
        }
    }
}

/// The I/Os of one job section and direction, or all of them.
#[derive(Debug, Default)]
struct Group {
    joined: u64,
    response_ns: u64,
    classes: BTreeMap<u64, Class>,
    unjoined: Unjoined,
    slowest: Vec<(BlamedIo, Class)>,
}

/// Collects the I/Os.
#[derive(Debug)]
pub(super) struct Sheet {
    names: Vec<String>,
    origin: u64,
    all: Group,
    groups: BTreeMap<(usize, Direction), Group>,
}

/// The class of a response time.
fn class(response: u64) -> u64 {
    if response < CLASSES {
        return response;
    }
    let shift = u64::from(63 - response.leading_zeros()) - 7;
    (shift + 1) * CLASSES + ((response >> shift) - CLASSES)
}

impl Group {
    fn add(&mut self, io: &JoinedIo, origin: u64) {
        let response = io.phases.total();
        self.joined += 1;
        self.response_ns += io.io.reaped.saturating_sub(io.io.due);
        self.classes.entry(class(response)).or_default().add(io);
        let full = self.slowest.len() >= BlameGroup::MAX_SLOWEST;
        if full
            && self
                .slowest
                .last()
                .is_some_and(|(last, _)| last.phases.total() >= response)
        {
            return;
        }
        let at = self
            .slowest
            .partition_point(|(known, _)| known.phases.total() >= response);
        let mut alone = Class::default();
        alone.add(io);
        let blamed = BlamedIo {
            job: io.io.job,
            direction: io.io.direction,
            offset: io.io.offset,
            len: io.io.len,
            due: Nanos::new(io.io.due.saturating_sub(origin)),
            reaped: Nanos::new(io.io.reaped.saturating_sub(origin)),
            phases: io.phases,
            pieces: io.pieces,
        };
        self.slowest.insert(at, (blamed, alone));
        self.slowest.truncate(BlameGroup::MAX_SLOWEST);
    }

    fn unjoined(&mut self, reason: UnjoinedReason, ios: u64) {
        let count = match reason {
            UnjoinedReason::Buffered => &mut self.unjoined.buffered,
            UnjoinedReason::Merged => &mut self.unjoined.merged,
            UnjoinedReason::LostEvents => &mut self.unjoined.lost_events,
            UnjoinedReason::NoPosition => &mut self.unjoined.no_position,
            UnjoinedReason::NoRequest => &mut self.unjoined.no_request,
            UnjoinedReason::Ambiguous => &mut self.unjoined.ambiguous,
            UnjoinedReason::NotLogged => &mut self.unjoined.not_logged,
        };
        *count += ios;
    }

    /// The sum of the I/Os at a rank.
    fn at(&self, rank: BlameRank) -> Option<Class> {
        if rank == BlameRank::Slowest {
            return self.slowest.first().map(|(_, class)| class.clone());
        }
        let (low, high) = rank.band();
        let first = (low / 100.0 * self.joined as f64).floor() as u64;
        let first = first.min(self.joined.saturating_sub(1));
        let last = ((high / 100.0 * self.joined as f64).ceil() as u64).max(first + 1);
        let (mut sum, mut before) = (Class::default(), 0);
        for class in self.classes.values() {
            if before < last && before + class.ios > first {
                sum.merge(class);
            }
            before += class.ios;
        }
        (sum.ios > 0).then_some(sum)
    }

    fn finish(self, name: String, direction: Option<Direction>, order: &[usize]) -> BlameGroup {
        let rows = BlameRank::ALL
            .iter()
            .filter_map(|rank| {
                let sum = self.at(*rank)?;
                Some(BlameRow {
                    rank: *rank,
                    ios: sum.ios,
                    phases: sum.phases,
                    in_block_layer_ns: sum.in_block_layer,
                    beside_ns: order.iter().map(|index| sum.beside[*index]).collect(),
                })
            })
            .collect();
        BlameGroup {
            name,
            direction,
            joined: self.joined,
            response_ns: self.response_ns,
            unjoined: self.unjoined,
            rows,
            slowest: self.slowest.into_iter().map(|(io, _)| io).collect(),
        }
    }
}

impl Sheet {
    /// An empty sheet for jobs of these sections.
    pub fn new(names: &[String], origin: u64) -> Sheet {
        Sheet {
            names: names.to_vec(),
            origin,
            all: Group::default(),
            groups: BTreeMap::new(),
        }
    }

    pub fn set_origin(&mut self, origin: u64) {
        self.origin = origin;
    }

    fn group(&mut self, io: &LoadIo) -> &mut Group {
        let name = self.names.get(io.job as usize);
        let section = self
            .names
            .iter()
            .position(|known| Some(known) == name)
            .unwrap_or(0);
        self.groups.entry((section, io.direction)).or_default()
    }

    pub fn joined(&mut self, io: &JoinedIo) {
        let origin = self.origin;
        self.all.add(io, origin);
        self.group(&io.io).add(io, origin);
    }

    pub fn unjoined(&mut self, io: &LoadIo, reason: UnjoinedReason, ios: u64) {
        self.all.unjoined(reason, ios);
        self.group(io).unjoined(reason, ios);
    }

    /// The sheet, with those others that had a request in a device.
    pub fn finish(self, others: Vec<BlameOther>, lost_events: u64) -> BlameRecording {
        let mut order: Vec<usize> = (0..others.len().min(MOST_OTHERS))
            .filter(|index| others[*index].busy_ns > 0)
            .collect();
        order.sort_by_key(|index| std::cmp::Reverse(others[*index].busy_ns));
        let mut groups = vec![self.all.finish(String::new(), None, &order)];
        if self.groups.len() > 1 {
            for ((section, direction), group) in self.groups {
                let name = self.names.get(section).cloned().unwrap_or_default();
                groups.push(group.finish(name, Some(direction), &order));
            }
        }
        BlameRecording {
            groups,
            others: order.iter().map(|index| others[*index].clone()).collect(),
            lost_events,
            messages: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_narrow_and_rise() {
        let mut before = class(0);
        for response in 1..100_000 {
            let now = class(response);
            assert!(now == before || now == before + 1, "{response}");
            before = now;
        }
        // 2^40 and the first value 1/128 above it are in neighbouring classes.
        let base = 1 << 40;
        assert_eq!(class(base + base / 128), class(base) + 1);
        assert_eq!(class(base + base / 128 - 1), class(base));
        assert!(class(u64::MAX) > class(1 << 63));
    }
}
