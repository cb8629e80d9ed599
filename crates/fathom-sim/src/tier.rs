//! A fast and a slow tier: data is in one of them, and hot extents move to the fast one.
//!
//! The first extents begin on the fast tier. At the end of each epoch in which requests arrived,
//! the most used extents of the slow tier change places with the least used of the fast tier. The
//! copies are requests like others; until an exchange is done, both extents are used where they
//! were.

use std::collections::{BTreeMap, VecDeque};

use crate::agenda::{Agenda, earlier};
use crate::device::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime};
use crate::error::{ParameterError, require};
use crate::members::{MemberCounts, Members};
use crate::open_requests::OpenRequests;

const FAST: usize = 0;
const SLOW: usize = 1;

/// The parameters of a tiered device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierParameters {
    /// Bytes that move together.
    pub extent_bytes: u32,
    /// Time between two decisions what to move, ns.
    pub epoch_ns: u64,
    /// Bytes that move to the fast tier per epoch at most; 0: no limit.
    pub epoch_bytes: u64,
}

/// A device of two tiers.
#[derive(Debug)]
pub struct Tier {
    p: TierParameters,
    members: Members,
    fast_extents: u32,
    /// The place of each extent: fast places first, then slow ones.
    place: Vec<u32>,
    used: BTreeMap<u32, u32>,
    requests: OpenRequests<Open>,
    tasks: OpenRequests<Task>,
    events: Agenda<Event>,
    epoch_armed: bool,
    exchanges: VecDeque<(u32, u32)>,
    /// The exchange in progress, and its requests in flight.
    moving: Option<(u32, u32)>,
    left: u32,
    moved: u64,
    failed_move: bool,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    request: SimRequest,
    parts: u32,
    failed: bool,
}

#[derive(Clone, Copy, Debug)]
enum Task {
    Part(u32),
    MoveRead,
    MoveWrite,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Complete(u32),
    Epoch,
}

impl Tier {
    /// A device with these tiers.
    ///
    /// # Errors
    /// A parameter is impossible, or a tier holds no extent.
    pub fn new(
        parameters: TierParameters,
        fast: Box<dyn SimDevice>,
        slow: Box<dyn SimDevice>,
    ) -> Result<Self, ParameterError> {
        let p = parameters;
        require(
            p.extent_bytes.is_power_of_two() && (65_536..=1 << 30).contains(&p.extent_bytes),
            "extent",
            format!(
                "{} is not a power of two from 64 KiB to 1 GiB",
                p.extent_bytes
            ),
        )?;
        require(p.epoch_ns > 0, "epoch", "0 is not a time between moves")?;
        let size = u64::from(p.extent_bytes);
        let (fast_extents, slow_extents) = (fast.capacity() / size, slow.capacity() / size);
        require(
            fast_extents > 0 && slow_extents > 0,
            "extent",
            format!("{size} is larger than a tier"),
        )?;
        require(
            fast_extents + slow_extents < 1 << 25,
            "extent",
            format!(
                "{size} is too small for {} extents",
                fast_extents + slow_extents
            ),
        )?;
        Ok(Tier {
            members: Members::new(vec![fast, slow]),
            fast_extents: fast_extents as u32,
            place: (0..(fast_extents + slow_extents) as u32).collect(),
            used: BTreeMap::new(),
            requests: OpenRequests::new(),
            tasks: OpenRequests::new(),
            events: Agenda::default(),
            epoch_armed: false,
            exchanges: VecDeque::new(),
            moving: None,
            left: 0,
            moved: 0,
            failed_move: false,
            p,
        })
    }

    /// Extents that moved to the fast tier so far.
    #[must_use]
    pub fn moved_extents(&self) -> u64 {
        self.moved
    }

    /// The requests that the fast and the slow tier received, copies included.
    #[must_use]
    pub fn member_counts(&self) -> Vec<MemberCounts> {
        self.members.counts()
    }

    fn locate(&self, place: u32) -> (usize, u64) {
        let size = u64::from(self.p.extent_bytes);
        if place < self.fast_extents {
            (FAST, u64::from(place) * size)
        } else {
            (SLOW, u64::from(place - self.fast_extents) * size)
        }
    }

    fn start(&mut self, now: SimTime, slot: u32, request: SimRequest) {
        if !self.epoch_armed {
            self.epoch_armed = true;
            let epoch = self.p.epoch_ns;
            self.events.add((now / epoch + 1) * epoch, Event::Epoch);
        }
        let size = u64::from(self.p.extent_bytes);
        let mut offset = request.offset;
        let end = offset + u64::from(request.bytes);
        while offset < end {
            let extent = offset / size;
            let next = ((extent + 1) * size).min(end);
            *self.used.entry(extent as u32).or_insert(0) += 1;
            let (member, start) = self.locate(self.place[extent as usize]);
            let part = SimRequest {
                offset: start + offset % size,
                bytes: (next - offset) as u32,
                ..request
            };
            self.requests[slot].parts += 1;
            self.issue(now, Task::Part(slot), member, part);
            offset = next;
        }
    }

    fn issue(&mut self, now: SimTime, task: Task, member: usize, request: SimRequest) {
        let id = u64::from(self.tasks.add(task));
        self.members
            .submit(member, now, SimRequest { id, ..request });
    }

    /// Chooses what to exchange, by the uses of this epoch.
    fn end_epoch(&mut self, now: SimTime) {
        self.epoch_armed = false;
        let used = std::mem::take(&mut self.used);
        if self.moving.is_some() {
            return;
        }
        let is_fast = |extent: u32| self.place[extent as usize] < self.fast_extents;
        let mut hot: Vec<(u32, u32)> = used
            .iter()
            .filter(|(extent, _)| !is_fast(**extent))
            .map(|(extent, uses)| (*uses, *extent))
            .collect();
        hot.sort_unstable_by_key(|(uses, extent)| (std::cmp::Reverse(*uses), *extent));
        let limit = match self.p.epoch_bytes {
            0 => usize::MAX,
            bytes => (bytes / u64::from(self.p.extent_bytes)).max(1) as usize,
        };
        hot.truncate(limit.min(self.fast_extents as usize));
        if hot.is_empty() {
            return;
        }
        let mut cold: Vec<(u32, u32)> = (0..self.place.len() as u32)
            .filter(|extent| is_fast(*extent))
            .map(|extent| (used.get(&extent).copied().unwrap_or(0), extent))
            .collect();
        cold.sort_unstable();
        self.exchanges = hot
            .iter()
            .zip(&cold)
            .take_while(|((hot, _), (cold, _))| hot > cold)
            .map(|((_, hot), (_, cold))| (*hot, *cold))
            .collect();
        self.exchange(now);
    }

    fn exchange(&mut self, now: SimTime) {
        self.moving = self.exchanges.pop_front();
        if self.moving.is_some() {
            self.copy(now, SimOp::Read);
        }
    }

    /// Reads both extents of the exchange, or writes each to the place of the other.
    fn copy(&mut self, now: SimTime, op: SimOp) {
        let Some((hot, cold)) = self.moving else {
            return;
        };
        self.left = 2;
        for extent in [hot, cold] {
            let (member, offset) = self.locate(self.place[extent as usize]);
            let task = if op == SimOp::Read {
                Task::MoveRead
            } else {
                Task::MoveWrite
            };
            let request = SimRequest {
                id: 0,
                op,
                offset,
                bytes: self.p.extent_bytes,
                fua: false,
            };
            self.issue(now, task, member, request);
        }
    }

    fn member_done(&mut self, completion: SimCompletion) {
        let (slot, now) = (completion.id as u32, completion.at);
        let task = self.tasks[slot];
        self.tasks.release(slot);
        if let Task::Part(request) = task {
            self.end_part(now, request, completion.failed);
            return;
        }
        self.failed_move |= completion.failed;
        self.left -= 1;
        if self.left > 0 {
            return;
        }
        if std::mem::take(&mut self.failed_move) {
            // Both extents stay where they are.
            self.exchange(now);
        } else if matches!(task, Task::MoveRead) {
            self.copy(now, SimOp::Write);
        } else {
            if let Some((hot, cold)) = self.moving {
                self.place.swap(hot as usize, cold as usize);
                self.moved += 1;
            }
            self.exchange(now);
        }
    }

    fn end_part(&mut self, now: SimTime, slot: u32, failed: bool) {
        let open = &mut self.requests[slot];
        open.failed |= failed;
        open.parts -= 1;
        if open.parts == 0 {
            self.events.add(now, Event::Complete(slot));
        }
    }
}

impl SimDevice for Tier {
    fn capacity(&self) -> u64 {
        self.place.len() as u64 * u64::from(self.p.extent_bytes)
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        // The submission counts as a part, so that the request does not end before it.
        let slot = self.requests.add(Open {
            request,
            parts: 1,
            failed: false,
        });
        let end = request.offset.checked_add(u64::from(request.bytes));
        if end.is_none_or(|end| end > self.capacity()) {
            self.requests[slot].failed = true;
        } else if request.op == SimOp::Flush {
            self.requests[slot].parts += 2;
            self.issue(now, Task::Part(slot), FAST, request);
            self.issue(now, Task::Part(slot), SLOW, request);
        } else {
            self.start(now, slot, request);
        }
        self.end_part(now, slot, false);
    }

    fn next_event(&self) -> Option<SimTime> {
        earlier(self.events.next(), self.members.next().map(|(at, _)| at))
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        loop {
            let member = self.members.next().filter(|(at, _)| *at <= now);
            if let Some((at, event)) = self.events.take(member.map_or(now, |(at, _)| at)) {
                match event {
                    Event::Complete(slot) => {
                        let open = self.requests[slot];
                        self.requests.release(slot);
                        done.push(SimCompletion {
                            id: open.request.id,
                            at,
                            failed: open.failed,
                        });
                    }
                    Event::Epoch => self.end_epoch(at),
                }
                continue;
            }
            let Some((at, member)) = member else {
                return;
            };
            let completions = self.members.advance(member, at);
            for completion in &completions {
                self.member_done(*completion);
            }
            self.members.give_back(completions);
        }
    }
}
