//! A cache in front of a larger device: flash in front of disks, or memory in front of flash.
//!
//! Blocks are kept in the order of their last use. A read of a block that is absent reads the whole
//! block from the backing device and writes it to the cache in the background.

use std::collections::HashMap;

use crate::agenda::{Agenda, earlier};
use crate::device::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime};
use crate::error::{ParameterError, require};
use crate::members::{MemberCounts, Members};
use crate::open_requests::OpenRequests;
use crate::random::Random;

const CACHE: usize = 0;
const BACKING: usize = 1;
const NONE: u32 = u32::MAX;

/// Where writes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// To the backing device; a cached copy is dropped.
    Around,
    /// To the backing device, and to a cached copy.
    Through,
    /// To the cache; to the backing device when the block is evicted. Parts of blocks that are not
    /// cached go to the backing device.
    Back,
}

/// The parameters of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheParameters {
    /// Bytes of one cached block.
    pub block_bytes: u32,
    /// Where writes go.
    pub writes: WritePolicy,
    /// Probability that a block that was read enters the cache, 0 to 1.
    pub promote_share: f64,
    /// Requests larger than this bypass the cache; 0: none does.
    pub bypass_bytes: u32,
}

/// How the cache was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Blocks that were read from the cache.
    pub hits: u64,
    /// Blocks that were read from the backing device.
    pub misses: u64,
    /// Blocks that entered the cache.
    pub promotions: u64,
    /// Changed blocks that were written to the backing device when they were evicted.
    pub write_backs: u64,
}

/// A cache of blocks, least recently used first out.
#[derive(Debug)]
pub struct Cache {
    p: CacheParameters,
    members: Members,
    requests: OpenRequests<Open>,
    tasks: OpenRequests<Task>,
    events: Agenda<u32>,
    random: Random,
    blocks: Lru,
    counts: CacheCounts,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    request: SimRequest,
    parts: u32,
    failed: bool,
}

#[derive(Clone, Copy, Debug)]
enum Task {
    /// A part of a request.
    Part(u32),
    /// A read of absent blocks, which enter the cache afterwards.
    Fill {
        request: u32,
        first: u64,
        count: u64,
    },
    /// An evicted block is read from the cache, and then written to the backing device.
    Evicted {
        block: u64,
    },
    Background,
}

impl Cache {
    /// A cache with these members. The seed determines which blocks are promoted.
    ///
    /// # Errors
    /// A parameter is impossible, or the cache holds no block.
    pub fn new(
        parameters: CacheParameters,
        cache: Box<dyn SimDevice>,
        backing: Box<dyn SimDevice>,
        seed: u64,
    ) -> Result<Self, ParameterError> {
        let p = parameters;
        require(
            p.block_bytes.is_power_of_two() && (512..=1 << 26).contains(&p.block_bytes),
            "block",
            format!("{} is not a power of two from 512 to 64 MiB", p.block_bytes),
        )?;
        require(
            (0.0..=1.0).contains(&p.promote_share),
            "promote",
            format!("{} is outside 0 to 1", p.promote_share),
        )?;
        let room = cache.capacity() / u64::from(p.block_bytes);
        require(
            (1..u64::from(NONE)).contains(&room),
            "block",
            format!("the cache holds {room} blocks of {} bytes", p.block_bytes),
        )?;
        Ok(Cache {
            members: Members::new(vec![cache, backing]),
            requests: OpenRequests::new(),
            tasks: OpenRequests::new(),
            events: Agenda::default(),
            random: Random::new(seed),
            blocks: Lru::new(room as u32),
            counts: CacheCounts::default(),
            p,
        })
    }

    /// How the cache was used so far.
    #[must_use]
    pub fn counts(&self) -> CacheCounts {
        self.counts
    }

    /// The share of blocks that were read from the cache.
    #[must_use]
    pub fn hit_share(&self) -> f64 {
        self.counts.hits as f64 / (self.counts.hits + self.counts.misses).max(1) as f64
    }

    /// The requests that the cache and the backing device received.
    #[must_use]
    pub fn member_counts(&self) -> Vec<MemberCounts> {
        self.members.counts()
    }

    fn block_bytes(&self) -> u64 {
        u64::from(self.p.block_bytes)
    }

    fn bypasses(&self, request: SimRequest) -> bool {
        self.p.bypass_bytes > 0 && request.bytes > self.p.bypass_bytes
    }

    fn read(&mut self, now: SimTime, slot: u32, request: SimRequest) {
        let end = request.offset + u64::from(request.bytes);
        let size = self.block_bytes();
        let mut absent: Option<(u64, u64)> = None;
        for block in request.offset / size..end.div_ceil(size) {
            if let Some(place) = self.blocks.touch(block) {
                self.fill(now, slot, absent.take());
                self.counts.hits += 1;
                let from = request.offset.max(block * size) - block * size;
                let to = end.min((block + 1) * size) - block * size;
                self.part(now, slot, CACHE, u64::from(place) * size + from, to - from);
            } else {
                self.counts.misses += 1;
                let (first, count) = absent.unwrap_or((block, 0));
                absent = Some((first, count + 1));
            }
        }
        self.fill(now, slot, absent);
    }

    /// Reads adjacent absent blocks in one request.
    fn fill(&mut self, now: SimTime, slot: u32, absent: Option<(u64, u64)>) {
        let Some((first, count)) = absent else {
            return;
        };
        let offset = first * self.block_bytes();
        let end = ((first + count) * self.block_bytes()).min(self.capacity());
        self.requests[slot].parts += 1;
        let task = Task::Fill {
            request: slot,
            first,
            count,
        };
        self.issue(now, task, BACKING, SimOp::Read, offset, end - offset, false);
    }

    /// Writes blocks that were read to the cache.
    fn promote(&mut self, now: SimTime, first: u64, count: u64) {
        let size = self.block_bytes();
        for block in first..first + count {
            let enters = self.p.promote_share >= 1.0 || self.random.unit() < self.p.promote_share;
            if !enters || self.blocks.touch(block).is_some() || (block + 1) * size > self.capacity()
            {
                continue;
            }
            self.counts.promotions += 1;
            let place = self.insert(now, block);
            let offset = u64::from(place) * size;
            self.issue(
                now,
                Task::Background,
                CACHE,
                SimOp::Write,
                offset,
                size,
                false,
            );
        }
    }

    /// Makes room for a block. An evicted block that was changed goes to the backing device.
    fn insert(&mut self, now: SimTime, block: u64) -> u32 {
        let (place, evicted) = self.blocks.insert(block);
        if let Some((old, true)) = evicted {
            self.counts.write_backs += 1;
            let size = self.block_bytes();
            let offset = u64::from(place) * size;
            let task = Task::Evicted { block: old };
            self.issue(now, task, CACHE, SimOp::Read, offset, size, false);
        }
        place
    }

    fn write(&mut self, now: SimTime, slot: u32, request: SimRequest) {
        let end = request.offset + u64::from(request.bytes);
        let size = self.block_bytes();
        if self.p.writes != WritePolicy::Back || request.fua || self.bypasses(request) {
            let bytes = u64::from(request.bytes);
            self.part(now, slot, BACKING, request.offset, bytes);
            let update = self.p.writes == WritePolicy::Through && !self.bypasses(request);
            for block in request.offset / size..end.div_ceil(size) {
                if update && let Some(place) = self.blocks.touch(block) {
                    let from = request.offset.max(block * size) - block * size;
                    let to = end.min((block + 1) * size) - block * size;
                    let offset = u64::from(place) * size + from;
                    self.issue(
                        now,
                        Task::Background,
                        CACHE,
                        SimOp::Write,
                        offset,
                        to - from,
                        false,
                    );
                } else if !update {
                    self.blocks.remove(block);
                }
            }
            return;
        }
        for block in request.offset / size..end.div_ceil(size) {
            let from = request.offset.max(block * size) - block * size;
            let to = end.min((block + 1) * size) - block * size;
            let place = match self.blocks.touch(block) {
                Some(place) => Some(place),
                None if to - from == size => Some(self.insert(now, block)),
                None => None,
            };
            if let Some(place) = place {
                self.blocks.mark_changed(place);
                self.part(now, slot, CACHE, u64::from(place) * size + from, to - from);
            } else {
                self.part(now, slot, BACKING, block * size + from, to - from);
            }
        }
    }

    fn part(&mut self, now: SimTime, slot: u32, member: usize, offset: u64, bytes: u64) {
        let request = self.requests[slot].request;
        self.requests[slot].parts += 1;
        let (op, fua) = (request.op, request.fua);
        self.issue(now, Task::Part(slot), member, op, offset, bytes, fua);
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one request")]
    fn issue(
        &mut self,
        now: SimTime,
        task: Task,
        member: usize,
        op: SimOp,
        offset: u64,
        bytes: u64,
        fua: bool,
    ) {
        let request = SimRequest {
            id: u64::from(self.tasks.add(task)),
            op,
            offset,
            bytes: bytes as u32,
            fua,
        };
        self.members.submit(member, now, request);
    }

    fn end_part(&mut self, now: SimTime, slot: u32, failed: bool) {
        let open = &mut self.requests[slot];
        open.failed |= failed;
        open.parts -= 1;
        if open.parts == 0 {
            self.events.add(now, slot);
        }
    }

    fn member_done(&mut self, completion: SimCompletion) {
        let (slot, now) = (completion.id as u32, completion.at);
        let task = self.tasks[slot];
        self.tasks.release(slot);
        match task {
            Task::Part(request) => self.end_part(now, request, completion.failed),
            Task::Fill {
                request,
                first,
                count,
            } => {
                self.end_part(now, request, completion.failed);
                if !completion.failed {
                    self.promote(now, first, count);
                }
            }
            Task::Evicted { block } => {
                let size = self.block_bytes();
                self.issue(
                    now,
                    Task::Background,
                    BACKING,
                    SimOp::Write,
                    block * size,
                    size,
                    false,
                );
            }
            Task::Background => {}
        }
    }
}

impl SimDevice for Cache {
    fn capacity(&self) -> u64 {
        self.members.capacity(BACKING)
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
            self.part(now, slot, CACHE, 0, 0);
            self.part(now, slot, BACKING, 0, 0);
        } else if request.bytes > 0 {
            match request.op {
                SimOp::Read if self.bypasses(request) => {
                    let bytes = u64::from(request.bytes);
                    self.part(now, slot, BACKING, request.offset, bytes);
                }
                SimOp::Read => self.read(now, slot, request),
                SimOp::Write => self.write(now, slot, request),
                _ => {
                    let bytes = u64::from(request.bytes);
                    self.part(now, slot, BACKING, request.offset, bytes);
                    for block in request.offset / self.block_bytes()
                        ..(request.offset + bytes).div_ceil(self.block_bytes())
                    {
                        self.blocks.remove(block);
                    }
                }
            }
        }
        self.end_part(now, slot, false);
    }

    fn next_event(&self) -> Option<SimTime> {
        earlier(self.events.next(), self.members.next().map(|(at, _)| at))
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        loop {
            let member = self.members.next().filter(|(at, _)| *at <= now);
            if let Some((at, slot)) = self.events.take(member.map_or(now, |(at, _)| at)) {
                let Open {
                    request, failed, ..
                } = self.requests[slot];
                self.requests.release(slot);
                done.push(SimCompletion {
                    id: request.id,
                    at,
                    failed,
                });
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

/// Blocks in the order of their last use. The memory is that of the blocks that are cached.
#[derive(Debug)]
struct Lru {
    places: HashMap<u64, u32>,
    nodes: Vec<Node>,
    free: Vec<u32>,
    room: u32,
    newest: u32,
    oldest: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    block: u64,
    newer: u32,
    older: u32,
    changed: bool,
}

impl Lru {
    fn new(room: u32) -> Self {
        Lru {
            places: HashMap::new(),
            nodes: Vec::new(),
            free: Vec::new(),
            room,
            newest: NONE,
            oldest: NONE,
        }
    }

    /// The place of a block, which becomes the newest.
    fn touch(&mut self, block: u64) -> Option<u32> {
        let place = *self.places.get(&block)?;
        if self.newest != place {
            self.unlink(place);
            self.link(place);
        }
        Some(place)
    }

    /// Adds a block. Returns its place, and the block that it replaced with whether that was
    /// changed.
    fn insert(&mut self, block: u64) -> (u32, Option<(u64, bool)>) {
        let node = Node {
            block,
            newer: NONE,
            older: NONE,
            changed: false,
        };
        let mut evicted = None;
        let place = if let Some(place) = self.free.pop() {
            self.nodes[place as usize] = node;
            place
        } else if (self.nodes.len() as u32) < self.room {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let place = self.oldest;
            let old = self.nodes[place as usize];
            self.unlink(place);
            self.places.remove(&old.block);
            evicted = Some((old.block, old.changed));
            self.nodes[place as usize] = node;
            place
        };
        self.places.insert(block, place);
        self.link(place);
        (place, evicted)
    }

    fn remove(&mut self, block: u64) {
        if let Some(place) = self.places.remove(&block) {
            self.unlink(place);
            self.free.push(place);
        }
    }

    fn mark_changed(&mut self, place: u32) {
        self.nodes[place as usize].changed = true;
    }

    fn link(&mut self, place: u32) {
        let older = self.newest;
        let node = &mut self.nodes[place as usize];
        (node.newer, node.older) = (NONE, older);
        if older == NONE {
            self.oldest = place;
        } else {
            self.nodes[older as usize].newer = place;
        }
        self.newest = place;
    }

    fn unlink(&mut self, place: u32) {
        let Node { newer, older, .. } = self.nodes[place as usize];
        if newer == NONE {
            self.newest = older;
        } else {
            self.nodes[newer as usize].older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            self.nodes[older as usize].newer = newer;
        }
    }
}
