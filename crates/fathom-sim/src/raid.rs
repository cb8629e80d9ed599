//! RAID 0, 1, 10, 5 and 6 over any members.
//!
//! A read touches one member per chunk. A small write of a parity level reads what it needs to
//! compute the parity, then writes: either the old data and parity (read-modify-write) or the
//! chunks of the stripe that it does not write (reconstruct-write), whichever takes fewer reads;
//! a full stripe needs no reads. Writes that change the same part of a parity wait for each other
//! from the first read to the last write: otherwise both would compute it from the old one. The part
//! is whole pages of 4 KiB, as of md (`STRIPE_SIZE`). Simplifications: there is no stripe cache and no
//! journal, and a rebuild does not wait for writes.

use std::collections::VecDeque;

use fathom_model::DiskCounters;

use crate::agenda::{Agenda, earlier};
use crate::device::{
    DeviceSurvey, SimCompletion, SimDevice, SimOp, SimRequest, SimTime, SurveyedArray,
};
use crate::error::{ParameterError, require};
use crate::members::{MemberCounts, Members};
use crate::open_requests::OpenRequests;

/// Members of an array at most.
const MEMBERS: usize = 64;

/// Bytes that are rebuilt at a time.
const REBUILD_BYTES: u64 = 512 << 10;

/// Bytes of a parity chunk that are locked together.
const LOCKED_PAGE: u64 = 4096;

/// Lists of tasks that lock rows; a row has one of them. A power of two.
const LOCK_LISTS: usize = 256;

/// The end of such a list.
const NONE: u32 = u32::MAX;

/// How data is spread over the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaidLevel {
    /// Chunks in turn, no redundancy.
    Raid0,
    /// The same data on each member.
    Raid1,
    /// Chunks in turn over mirrored pairs.
    Raid10,
    /// One rotating parity chunk per stripe (left-symmetric).
    Raid5,
    /// Two rotating parity chunks per stripe.
    Raid6,
}

impl RaidLevel {
    /// Members that it needs at least.
    #[must_use]
    pub fn least_members(self) -> usize {
        match self {
            RaidLevel::Raid0 => 1,
            RaidLevel::Raid1 => 2,
            RaidLevel::Raid5 => 3,
            RaidLevel::Raid10 | RaidLevel::Raid6 => 4,
        }
    }

    /// Members that may fail without loss of data, if those that fail are chosen well.
    #[must_use]
    pub fn failures(self, members: usize) -> usize {
        match self {
            RaidLevel::Raid0 => 0,
            RaidLevel::Raid1 => members - 1,
            RaidLevel::Raid10 => members / 2,
            RaidLevel::Raid5 => 1,
            RaidLevel::Raid6 => 2,
        }
    }

    /// The name: `raid5`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RaidLevel::Raid0 => "raid0",
            RaidLevel::Raid1 => "raid1",
            RaidLevel::Raid10 => "raid10",
            RaidLevel::Raid5 => "raid5",
            RaidLevel::Raid6 => "raid6",
        }
    }

    fn parity(self) -> u64 {
        match self {
            RaidLevel::Raid5 => 1,
            RaidLevel::Raid6 => 2,
            _ => 0,
        }
    }
}

/// The parameters of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaidParameters {
    /// The level.
    pub level: RaidLevel,
    /// Bytes that are on one member before the next one follows (no effect on RAID 1).
    pub chunk_bytes: u64,
    /// Rate at which a replaced member is rebuilt at most, bytes/s; 0: as fast as the members are.
    pub rebuild_bytes_per_s: u64,
}

/// An array.
#[derive(Debug)]
pub struct Raid {
    level: RaidLevel,
    chunk: u64,
    /// Bytes to chunks; a RAID 1 has one chunk.
    chunk_shift: u32,
    rebuild_rate: u64,
    /// Members that hold data in one stripe.
    data: u64,
    member_bytes: u64,
    capacity: u64,
    members: Members,
    state: Vec<State>,
    requests: OpenRequests<Open>,
    tasks: OpenRequests<Task>,
    /// Requests whose tasks have all ended, with the time; times do not decrease.
    ended_requests: VecDeque<(SimTime, u32)>,
    /// When the next part of a member is rebuilt.
    rebuilds: Agenda<u32>,
    /// First task of each list of those that hold a lock or wait for one, in the order of their
    /// arrival; empty for levels without parity.
    locks: Vec<u32>,
    /// Memory of [`Raid::end_task`], used again.
    ended: Vec<u32>,
    ready: Vec<u32>,
    /// The member I/Os of the task that is being planned.
    reads: Vec<Range>,
    writes: Vec<Range>,
    replacements: Vec<(usize, Box<dyn SimDevice>)>,
}

/// Whether a member can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    Failed,
    /// Rebuilt up to this offset.
    Rebuilding(u64),
}

#[derive(Clone, Copy, Debug)]
struct Open {
    request: SimRequest,
    tasks: u32,
    failed: bool,
}

/// A part of a request: a chunk that is read, a stripe that is written.
#[derive(Clone, Copy, Debug)]
struct Task {
    kind: Kind,
    /// The request, or the member that is rebuilt.
    request: u32,
    row: u64,
    /// The member of the first parity chunk of the row; 0 without parity.
    parity: u64,
    /// Bytes of the stripe (reads, writes) or of the member (rebuild).
    from: u64,
    to: u64,
    /// Member I/Os in flight.
    left: u32,
    /// Members whose data this task cannot use, because they returned an error.
    without: u64,
    /// One of the I/Os in flight returned an error.
    retry: bool,
    started: SimTime,
    /// Pages of the parity chunk that it locks, end exclusive; none: it takes no lock.
    pages: (u32, u32),
    /// The next task in the list of locks.
    next: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    /// Reads for a write.
    Prepare,
    /// Writes, trims and flushes.
    Write,
    RebuildRead,
    RebuildWrite,
}

impl Task {
    /// Whether it needs a lock.
    fn locks(&self) -> bool {
        self.pages.1 > 0
    }

    /// The list of its lock.
    fn lock_list(&self) -> usize {
        self.row as usize % LOCK_LISTS
    }

    /// Whether both change the same part of a parity.
    fn conflicts(&self, other: &Task) -> bool {
        self.row == other.row && self.pages.0 < other.pages.1 && other.pages.0 < self.pages.1
    }
}

/// A range of one member.
#[derive(Clone, Copy, Debug)]
struct Range {
    member: usize,
    offset: u64,
    bytes: u64,
}

impl Raid {
    /// An array of these members.
    ///
    /// # Errors
    /// The level needs more members, or another chunk.
    pub fn new(
        parameters: &RaidParameters,
        members: Vec<Box<dyn SimDevice>>,
    ) -> Result<Self, ParameterError> {
        let level = parameters.level;
        let count = members.len();
        require(
            count >= level.least_members(),
            "members",
            format!(
                "{} of {count} members; it needs at least {}",
                level.name(),
                level.least_members()
            ),
        )?;
        require(
            count <= MEMBERS,
            "members",
            format!("{count} members; at most {MEMBERS} are possible"),
        )?;
        require(
            level != RaidLevel::Raid10 || count.is_multiple_of(2),
            "members",
            format!("raid10 of {count} members; it needs an even number"),
        )?;
        require(
            parameters.chunk_bytes.is_power_of_two()
                && (4096..=1 << 30).contains(&parameters.chunk_bytes),
            "chunk",
            format!(
                "{} is not a power of two from 4 KiB to 1 GiB",
                parameters.chunk_bytes
            ),
        )?;
        let members = Members::new(members);
        let chunk = parameters.chunk_bytes;
        let member_bytes = members.smallest_capacity() / chunk * chunk;
        require(
            member_bytes > 0,
            "chunk",
            format!("{chunk} is larger than the smallest member"),
        )?;
        let data = match level {
            RaidLevel::Raid0 => count as u64,
            RaidLevel::Raid1 => 1,
            RaidLevel::Raid10 => count as u64 / 2,
            RaidLevel::Raid5 | RaidLevel::Raid6 => count as u64 - level.parity(),
        };
        Ok(Raid {
            level,
            chunk: if level == RaidLevel::Raid1 {
                member_bytes
            } else {
                chunk
            },
            chunk_shift: if level == RaidLevel::Raid1 {
                63
            } else {
                chunk.trailing_zeros()
            },
            rebuild_rate: parameters.rebuild_bytes_per_s,
            data,
            member_bytes,
            capacity: member_bytes * data,
            members,
            state: vec![State::Good; count],
            requests: OpenRequests::new(),
            tasks: OpenRequests::new(),
            ended_requests: VecDeque::new(),
            rebuilds: Agenda::default(),
            locks: if level.parity() > 0 {
                vec![NONE; LOCK_LISTS]
            } else {
                Vec::new()
            },
            ended: Vec::new(),
            ready: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            replacements: Vec::new(),
        })
    }

    /// The requests that each member received.
    #[must_use]
    pub fn member_counts(&self) -> Vec<MemberCounts> {
        self.members.counts()
    }

    /// Stops using a member.
    pub fn fail_member(&mut self, member: usize) {
        if let Some(state) = self.state.get_mut(member) {
            *state = State::Failed;
        }
    }

    /// Puts a new device in the place of a failed member and rebuilds its data. A member that still
    /// has requests in flight is replaced when they are done.
    ///
    /// # Errors
    /// The member has not failed, the device is too small, or the level has no redundancy.
    pub fn rebuild_member(
        &mut self,
        now: SimTime,
        member: usize,
        device: Box<dyn SimDevice>,
    ) -> Result<(), ParameterError> {
        require(
            self.state.get(member) == Some(&State::Failed),
            "rebuild",
            format!("member {member} has not failed"),
        )?;
        require(
            self.level != RaidLevel::Raid0,
            "rebuild",
            "raid0 has no redundancy to rebuild from",
        )?;
        require(
            device.capacity() >= self.member_bytes,
            "rebuild",
            format!(
                "the new member has {} bytes; the array needs {}",
                device.capacity(),
                self.member_bytes
            ),
        )?;
        if self.members.in_flight(member) > 0 {
            self.replacements.push((member, device));
        } else {
            self.begin_rebuild(now, member, device);
        }
        Ok(())
    }

    /// Bytes of each member that were rebuilt so far; `None` when no member is being rebuilt.
    #[must_use]
    pub fn rebuilt_bytes(&self) -> Option<u64> {
        self.state.iter().find_map(|state| match state {
            State::Rebuilding(position) => Some(*position),
            _ => None,
        })
    }

    /// Members that are not fully usable.
    #[must_use]
    pub fn degraded_members(&self) -> usize {
        self.state
            .iter()
            .filter(|state| **state != State::Good)
            .count()
    }

    fn begin_rebuild(&mut self, now: SimTime, member: usize, device: Box<dyn SimDevice>) {
        self.members.replace(member, device);
        self.state[member] = State::Rebuilding(0);
        self.rebuilds.add(now, member as u32);
    }

    fn usable(&self, range: Range, without: u64) -> bool {
        without >> range.member & 1 == 0
            && match self.state[range.member] {
                State::Good => true,
                State::Failed => false,
                State::Rebuilding(position) => range.offset + range.bytes <= position,
            }
    }

    /// The member of a data chunk of a row with its first parity at `parity`.
    fn data_member(&self, parity: u64, chunk: u64) -> usize {
        let count = self.members.len() as u64;
        (match self.level {
            RaidLevel::Raid0 => chunk,
            RaidLevel::Raid1 => 0,
            RaidLevel::Raid10 => 2 * chunk,
            RaidLevel::Raid5 | RaidLevel::Raid6 => {
                // A row has as many chunks as members: once around at most.
                let member = parity + self.level.parity() + chunk;
                if member < count {
                    member
                } else {
                    member - count
                }
            }
        }) as usize
    }

    /// The member of the first parity chunk of a row; the second follows it.
    fn parity_member(&self, row: u64) -> u64 {
        if self.level.parity() == 0 {
            return 0;
        }
        let count = self.members.len() as u64;
        count - 1 - row % count
    }

    fn range(&self, member: usize, row: u64, from: u64, to: u64) -> Range {
        Range {
            member,
            offset: row * self.chunk + from,
            bytes: to - from,
        }
    }

    /// Plans the reads of a part of one chunk into `reads`. Returns false if the data is lost.
    fn plan_read(&mut self, task: Task) -> bool {
        self.reads.clear();
        let chunk = task.from >> self.chunk_shift;
        let start = chunk * self.chunk;
        let (from, to) = (task.from - start, task.to - start);
        let first = self.data_member(task.parity, chunk);
        let range = self.range(first, task.row, from, to);
        match self.level {
            RaidLevel::Raid0 => self.plan_only(range, task.without),
            RaidLevel::Raid1 => self.plan_mirror(range, self.members.len(), task.without),
            RaidLevel::Raid10 => self.plan_mirror(range, 2, task.without),
            RaidLevel::Raid5 | RaidLevel::Raid6 => {
                self.plan_only(range, task.without)
                    || self.plan_reconstruction(range, task.parity, task.without)
            }
        }
    }

    fn plan_only(&mut self, range: Range, without: u64) -> bool {
        let usable = self.usable(range, without);
        if usable {
            self.reads.push(range);
        }
        usable
    }

    /// Of the copies, the one with the shortest queue, then the one whose last request ended
    /// nearest.
    fn plan_mirror(&mut self, range: Range, copies: usize, without: u64) -> bool {
        let best = (range.member..range.member + copies)
            .map(|member| Range { member, ..range })
            .filter(|copy| self.usable(*copy, without))
            .min_by_key(|copy| {
                (
                    self.members.in_flight(copy.member),
                    self.members.last_end(copy.member).abs_diff(copy.offset),
                )
            });
        self.reads.extend(best);
        best.is_some()
    }

    /// As many other chunks of the row as the row has data chunks.
    fn plan_reconstruction(&mut self, lost: Range, parity: u64, without: u64) -> bool {
        self.reads.clear();
        let count = self.members.len() as u64;
        // Data chunks first, then the parity chunks: the order from the second parity on.
        let first = parity + self.level.parity();
        for step in 0..count {
            let member = ((first + step) % count) as usize;
            let range = Range { member, ..lost };
            if member != lost.member
                && (self.reads.len() as u64) < self.data
                && self.usable(range, without)
            {
                self.reads.push(range);
            }
        }
        self.reads.len() as u64 == self.data
    }

    /// Plans a write of a part of a row: what to read first into `reads`, what to write then into
    /// `writes`. Returns false if the data cannot be stored.
    fn plan_write(&mut self, task: Task) -> bool {
        self.reads.clear();
        let data_writes = self.plan_writes(task);
        let (first, last) = self.touched(task);
        if self.level.parity() == 0 {
            return self.covered(task, first, last);
        }
        self.plan_parity_reads(task, data_writes)
    }

    /// Chunks of the row that a task touches: the first and the last.
    fn touched(&self, task: Task) -> (u64, u64) {
        (
            task.from >> self.chunk_shift,
            (task.to - 1) >> self.chunk_shift,
        )
    }

    /// Plans what a task writes, parity included. Returns how many of the ranges are data.
    ///
    /// A member that is being rebuilt takes writes beyond its position too: they are copied again
    /// later.
    fn plan_writes(&mut self, task: Task) -> usize {
        self.writes.clear();
        let (first, last) = self.touched(task);
        let copies = self.copies();
        for chunk in first..=last {
            let (from, to) = self.part(task, chunk);
            let member = self.data_member(task.parity, chunk);
            for member in member..member + copies {
                if self.state[member] != State::Failed {
                    self.writes.push(self.range(member, task.row, from, to));
                }
            }
        }
        let data_writes = self.writes.len();
        let count = self.members.len() as u64;
        let (from, to) = self.parity_part(task);
        for parity in 0..self.level.parity() {
            let member = task.parity + parity;
            let member = (if member < count {
                member
            } else {
                member - count
            }) as usize;
            if self.state[member] != State::Failed {
                self.writes.push(self.range(member, task.row, from, to));
            }
        }
        data_writes
    }

    /// Members that hold the same data.
    fn copies(&self) -> usize {
        match self.level {
            RaidLevel::Raid1 => self.members.len(),
            RaidLevel::Raid10 => 2,
            _ => 1,
        }
    }

    /// The bytes of a parity chunk that change: those where any chunk is written.
    fn parity_part(&self, task: Task) -> (u64, u64) {
        let (first, last) = self.touched(task);
        if first == last {
            self.part(task, first)
        } else {
            (0, self.chunk)
        }
    }

    /// The bytes of a chunk that a write touches.
    fn part(&self, task: Task, chunk: u64) -> (u64, u64) {
        let start = chunk * self.chunk;
        (
            task.from.max(start) - start,
            task.to.min(start + self.chunk) - start,
        )
    }

    /// Whether each chunk of a level without parity is written to one member at least.
    fn covered(&self, task: Task, first: u64, last: u64) -> bool {
        let copies = self.copies();
        (first..=last).all(|chunk| {
            let member = self.data_member(task.parity, chunk);
            self.state[member..member + copies]
                .iter()
                .any(|state| *state != State::Failed)
        })
    }

    /// Plans what to read for the parity of the planned writes.
    fn plan_parity_reads(&mut self, task: Task, data_writes: usize) -> bool {
        let (first, last) = self.touched(task);
        let cover = self.parity_part(task);
        let touched = (last - first + 1) as usize;
        if self.writes.len() == data_writes {
            // Without parity there is nothing to compute; the data has to be stored itself.
            return data_writes == touched;
        }
        // Read-modify-write reads exactly what it writes.
        let can_modify = data_writes == touched
            && self
                .writes
                .iter()
                .all(|range| self.usable(*range, task.without));
        if can_modify && self.data - touched as u64 >= self.writes.len() as u64 {
            // The chunks that are not written are not fewer.
            self.reads.extend_from_slice(&self.writes);
            return true;
        }
        let mut can_reconstruct = true;
        for chunk in 0..self.data {
            let (from, to) = if (first..=last).contains(&chunk) {
                // The written part starts or ends at an end of the covered range.
                let (from, to) = self.part(task, chunk);
                if from > cover.0 {
                    (cover.0, from)
                } else {
                    (to, cover.1)
                }
            } else {
                cover
            };
            if from < to {
                let member = self.data_member(task.parity, chunk);
                let range = self.range(member, task.row, from, to);
                can_reconstruct &= self.usable(range, task.without);
                self.reads.push(range);
            }
        }
        if can_reconstruct && (!can_modify || self.reads.len() < self.writes.len()) {
            return true;
        }
        self.reads.clear();
        if can_modify {
            self.reads.extend_from_slice(&self.writes);
            return true;
        }
        // A chunk that is needed is lost: the others of the row give it.
        let nowhere = Range {
            member: usize::MAX,
            ..self.range(0, task.row, cover.0, cover.1)
        };
        self.plan_reconstruction(nowhere, task.parity, task.without)
    }

    /// Reads are split at chunks and writes at rows, whose parity is calculated once.
    fn start_parts(&mut self, now: SimTime, slot: u32, request: SimRequest, kind: Kind) {
        let row_bytes = self.chunk * self.data;
        let mut offset = request.offset;
        let end = offset + u64::from(request.bytes);
        let mut row = offset / row_bytes;
        while offset < end {
            let start = row * row_bytes;
            let next = match kind {
                Kind::Read => ((offset >> self.chunk_shift) + 1) << self.chunk_shift,
                _ => start + row_bytes,
            };
            let next = next.min(end);
            let mut task = Task {
                kind,
                request: slot,
                row,
                parity: self.parity_member(row),
                from: offset - start,
                to: next - start,
                left: 0,
                without: 0,
                retry: false,
                started: now,
                pages: (0, 0),
                next: NONE,
            };
            if kind == Kind::Prepare && !self.locks.is_empty() {
                let (from, to) = self.parity_part(task);
                // A chunk is at most 1 GiB.
                task.pages = ((from / LOCKED_PAGE) as u32, to.div_ceil(LOCKED_PAGE) as u32);
            }
            self.start_task(now, task);
            offset = next;
            row += u64::from(offset == start + row_bytes);
        }
    }

    fn start_task(&mut self, now: SimTime, task: Task) {
        self.requests[task.request].tasks += 1;
        let slot = self.tasks.add(task);
        if task.locks() && !self.lock(slot) {
            return;
        }
        self.continue_task(now, slot);
    }

    /// Takes the lock of a task. False if an earlier one has it or waits for it: then
    /// [`Raid::unlock`] of that one returns this task.
    fn lock(&mut self, slot: u32) -> bool {
        let task = self.tasks[slot];
        let list = task.lock_list();
        let (mut last, mut at, mut free) = (NONE, self.locks[list], true);
        while at != NONE {
            let other = &self.tasks[at];
            free &= !other.conflicts(&task);
            (last, at) = (at, other.next);
        }
        match last {
            NONE => self.locks[list] = slot,
            last => self.tasks[last].next = slot,
        }
        free
    }

    /// Gives a lock back. Appends the tasks that waited for it only.
    fn unlock(&mut self, slot: u32, ready: &mut Vec<u32>) {
        let task = self.tasks[slot];
        let list = task.lock_list();
        if self.locks[list] == slot {
            self.locks[list] = task.next;
        } else {
            let mut before = self.locks[list];
            while self.tasks[before].next != slot {
                before = self.tasks[before].next;
            }
            self.tasks[before].next = task.next;
        }
        // Only those behind it can have waited for it.
        let mut at = task.next;
        while at != NONE {
            let waiting = self.tasks[at];
            if waiting.conflicts(&task) && !self.waits(at) {
                ready.push(at);
            }
            at = waiting.next;
        }
    }

    /// Whether a task before this one in its list has its lock or waits for it.
    fn waits(&self, slot: u32) -> bool {
        let task = self.tasks[slot];
        let mut at = self.locks[task.lock_list()];
        while at != slot {
            let other = &self.tasks[at];
            if other.conflicts(&task) {
                return true;
            }
            at = other.next;
        }
        false
    }

    /// Issues the next member I/Os of a read or write, or ends it.
    fn continue_task(&mut self, now: SimTime, slot: u32) {
        if !self.issue_next(now, slot) {
            self.end_task(now, slot);
        }
    }

    /// Issues the next member I/Os of a read or write. False if there are none.
    fn issue_next(&mut self, now: SimTime, slot: u32) -> bool {
        let task = self.tasks[slot];
        let planned = match task.kind {
            Kind::Read => self.plan_read(task),
            _ => self.plan_write(task),
        };
        if !planned {
            self.requests[task.request].failed = true;
            return false;
        }
        if self.reads.is_empty() {
            return self.issue_writes(now, slot);
        }
        let reads = std::mem::take(&mut self.reads);
        self.tasks[slot].left = reads.len() as u32;
        for range in &reads {
            self.issue(now, slot, SimOp::Read, *range, false);
        }
        self.reads = reads;
        true
    }

    /// Issues the planned writes. False if there are none.
    fn issue_writes(&mut self, now: SimTime, slot: u32) -> bool {
        let request = self.requests[self.tasks[slot].request].request;
        let writes = std::mem::take(&mut self.writes);
        let task = &mut self.tasks[slot];
        task.kind = Kind::Write;
        task.left = writes.len() as u32;
        for range in &writes {
            self.issue(now, slot, request.op, *range, request.fua);
        }
        let issued = !writes.is_empty();
        self.writes = writes;
        issued
    }

    fn issue(&mut self, now: SimTime, slot: u32, op: SimOp, range: Range, fua: bool) {
        let request = SimRequest {
            id: u64::from(slot),
            op,
            offset: range.offset,
            bytes: range.bytes as u32,
            fua,
        };
        self.members.submit(range.member, now, request);
    }

    /// Ends a task and starts those that waited for its lock.
    fn end_task(&mut self, now: SimTime, slot: u32) {
        let task = self.tasks[slot];
        if !task.locks() {
            self.tasks.release(slot);
            self.end_part(now, task.request);
            return;
        }
        // A list in place of a recursion: of an array without data each of them ends at once.
        let mut ended = std::mem::take(&mut self.ended);
        ended.push(slot);
        let mut ready = std::mem::take(&mut self.ready);
        while let Some(slot) = ended.pop() {
            self.unlock(slot, &mut ready);
            let request = self.tasks[slot].request;
            self.tasks.release(slot);
            self.end_part(now, request);
            for next in ready.drain(..) {
                if !self.issue_next(now, next) {
                    ended.push(next);
                }
            }
        }
        (self.ended, self.ready) = (ended, ready);
    }

    /// One task of a request, or the submission of its tasks, has ended.
    fn end_part(&mut self, now: SimTime, request: u32) {
        let open = &mut self.requests[request];
        open.tasks -= 1;
        if open.tasks == 0 {
            self.ended_requests.push_back((now, request));
        }
    }

    fn flush(&mut self, now: SimTime, slot: u32) {
        self.writes.clear();
        for member in 0..self.members.len() {
            if self.state[member] != State::Failed {
                self.writes.push(Range {
                    member,
                    offset: 0,
                    bytes: 0,
                });
            }
        }
        self.requests[slot].tasks += 1;
        let task = self.tasks.add(Task {
            kind: Kind::Write,
            request: slot,
            row: 0,
            parity: 0,
            from: 0,
            to: 0,
            left: 0,
            without: 0,
            retry: false,
            started: now,
            pages: (0, 0),
            next: NONE,
        });
        if !self.issue_writes(now, task) {
            self.end_task(now, task);
        }
    }

    fn member_done(&mut self, member: usize, completion: SimCompletion) {
        let (slot, now) = (completion.id as u32, completion.at);
        let kind = self.tasks[slot].kind;
        if completion.failed {
            if matches!(kind, Kind::Write | Kind::RebuildWrite) {
                self.fail_member(member);
            } else {
                let task = &mut self.tasks[slot];
                task.without |= 1 << member;
                task.retry = true;
            }
        }
        let task = &mut self.tasks[slot];
        task.left -= 1;
        if task.left > 0 {
            return;
        }
        let task = *task;
        match kind {
            Kind::Read | Kind::Prepare if task.retry => {
                self.tasks[slot].retry = false;
                self.continue_task(now, slot);
            }
            Kind::Read => self.end_task(now, slot),
            Kind::Prepare => {
                // A member may have failed since the reads were planned.
                self.plan_writes(task);
                if !self.issue_writes(now, slot) {
                    self.end_task(now, slot);
                }
            }
            Kind::Write => {
                if self.data_is_lost() {
                    self.requests[task.request].failed = true;
                }
                self.end_task(now, slot);
            }
            Kind::RebuildRead => self.rebuild_write(now, slot),
            Kind::RebuildWrite => self.rebuilt(now, slot),
        }
    }

    /// Whether more members failed than the redundancy covers.
    fn data_is_lost(&self) -> bool {
        let failed = |states: &[State]| {
            states
                .iter()
                .filter(|state| **state == State::Failed)
                .count()
        };
        match self.level {
            RaidLevel::Raid0 => failed(&self.state) > 0,
            RaidLevel::Raid1 => failed(&self.state) == self.state.len(),
            RaidLevel::Raid10 => self.state.chunks(2).any(|pair| failed(pair) == 2),
            RaidLevel::Raid5 => failed(&self.state) > 1,
            RaidLevel::Raid6 => failed(&self.state) > 2,
        }
    }

    /// Reads the next part of what a member has to hold.
    fn rebuild_part(&mut self, now: SimTime, member: usize) {
        let State::Rebuilding(position) = self.state[member] else {
            return;
        };
        let end = (position + REBUILD_BYTES).min(self.member_bytes);
        let lost = Range {
            member,
            offset: position,
            bytes: end - position,
        };
        self.reads.clear();
        let planned = match self.level {
            RaidLevel::Raid0 => false,
            RaidLevel::Raid1 => {
                self.plan_mirror(Range { member: 0, ..lost }, self.members.len(), 1 << member)
            }
            RaidLevel::Raid10 => {
                let first = Range {
                    member: member / 2 * 2,
                    ..lost
                };
                self.plan_mirror(first, 2, 1 << member)
            }
            RaidLevel::Raid5 | RaidLevel::Raid6 => {
                let parity = self.parity_member(position >> self.chunk_shift);
                self.plan_reconstruction(lost, parity, 0)
            }
        };
        if !planned {
            self.state[member] = State::Failed;
            return;
        }
        let reads = std::mem::take(&mut self.reads);
        let slot = self.tasks.add(Task {
            kind: Kind::RebuildRead,
            request: member as u32,
            row: 0,
            parity: 0,
            from: position,
            to: end,
            left: reads.len() as u32,
            without: 0,
            retry: false,
            started: now,
            pages: (0, 0),
            next: NONE,
        });
        for range in &reads {
            self.issue(now, slot, SimOp::Read, *range, false);
        }
        self.reads = reads;
    }

    fn rebuild_write(&mut self, now: SimTime, slot: u32) {
        let task = &mut self.tasks[slot];
        let member = task.request as usize;
        if task.without != 0 {
            // The data of this part is lost with the source: the rebuild ends.
            self.state[member] = State::Failed;
            self.tasks.release(slot);
            return;
        }
        task.kind = Kind::RebuildWrite;
        task.left = 1;
        let range = Range {
            member,
            offset: task.from,
            bytes: task.to - task.from,
        };
        self.issue(now, slot, SimOp::Write, range, false);
    }

    fn rebuilt(&mut self, now: SimTime, slot: u32) {
        let task = self.tasks[slot];
        self.tasks.release(slot);
        let member = task.request as usize;
        if self.state[member] == State::Failed {
            return;
        }
        if task.to == self.member_bytes {
            self.state[member] = State::Good;
            return;
        }
        self.state[member] = State::Rebuilding(task.to);
        let paced = if self.rebuild_rate == 0 {
            0
        } else {
            (u128::from(task.to - task.from) * 1_000_000_000 / u128::from(self.rebuild_rate)) as u64
        };
        let at = now.max(task.started + paced);
        self.rebuilds.add(at, member as u32);
    }

    fn advance_member(&mut self, member: usize, at: SimTime) {
        let done = self.members.advance(member, at);
        for completion in &done {
            self.member_done(member, *completion);
        }
        self.members.give_back(done);
        if !self.replacements.is_empty() && self.members.in_flight(member) == 0 {
            let waiting = |(replaced, _): &(usize, Box<dyn SimDevice>)| *replaced == member;
            if let Some(index) = self.replacements.iter().position(waiting) {
                let (_, device) = self.replacements.swap_remove(index);
                self.begin_rebuild(at, member, device);
            }
        }
    }
}

impl SimDevice for Raid {
    fn survey(&self) -> DeviceSurvey {
        DeviceSurvey {
            array: Some(SurveyedArray {
                level: self.level.name(),
                members: self.members.len() as u32,
                chunk_bytes: self.chunk,
                stripe_bytes: self.chunk * self.data,
                member_bytes: self.member_bytes,
                degraded: self.degraded_members() as u32,
                is_rebuilding: self.rebuilt_bytes().is_some(),
            }),
            ..DeviceSurvey::default()
        }
    }

    fn member_counters(&self, now: SimTime) -> Vec<DiskCounters> {
        self.members.counters(now)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        // The submission counts as a task, so that the request does not end before it.
        let slot = self.requests.add(Open {
            request,
            tasks: 1,
            failed: false,
        });
        let end = request.offset.checked_add(u64::from(request.bytes));
        let parity_trim = request.op == SimOp::Trim && self.level.parity() > 0;
        if end.is_none_or(|end| end > self.capacity) {
            self.requests[slot].failed = true;
        } else if parity_trim {
            // Discarding would make the parity wrong: the array ignores it, as md does.
        } else {
            match request.op {
                SimOp::Read => self.start_parts(now, slot, request, Kind::Read),
                SimOp::Write | SimOp::Trim => self.start_parts(now, slot, request, Kind::Prepare),
                SimOp::Flush => self.flush(now, slot),
            }
        }
        self.end_part(now, slot);
    }

    fn next_event(&self) -> Option<SimTime> {
        let ended = self.ended_requests.front().map(|(at, _)| *at);
        let members = self.members.next().map(|(at, _)| at);
        earlier(earlier(ended, self.rebuilds.next()), members)
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        loop {
            let member = self.members.next().filter(|(at, _)| *at <= now);
            let limit = member.map_or(now, |(at, _)| at);
            if let Some((at, request)) = self.ended_requests.front().copied()
                && at <= limit
            {
                self.ended_requests.pop_front();
                let open = &self.requests[request];
                done.push(SimCompletion {
                    id: open.request.id,
                    at,
                    failed: open.failed,
                });
                self.requests.release(request);
            } else if let Some((at, member)) = self.rebuilds.take(limit) {
                self.rebuild_part(at, member as usize);
            } else if let Some((at, member)) = member {
                self.advance_member(member, at);
            } else {
                return;
            }
        }
    }
}
