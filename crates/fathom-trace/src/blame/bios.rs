//! The bios of the observed devices: when each was queued, inserted, issued and completed, and who else had some at the time.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};

use fathom_model::{BlameOther, Direction, OtherKind};

use crate::{BlockEvent, BlockEventKind, DeviceNumber, IoFlags};

/// Others that are kept apart. The first three are [`FLUSHES`], [`OWN_LARGE`] and [`KERNEL`], the last is [`REST`].
pub(super) const MOST_OTHERS: usize = 16;
const FLUSHES: usize = 0;
const OWN_LARGE: usize = 1;
const KERNEL: usize = 2;
const REST: usize = MOST_OTHERS - 1;
/// Sectors from which on a write of the load is large: 128 KiB.
const LARGE: u64 = 256;
/// Sectors up to which an I/O is small, so that a large write beside it counts: 32 KiB.
const SMALL: u64 = 64;
/// Bios in flight that are followed at once. More are possible only if their completions were lost.
const MOST_PENDING: usize = 1 << 18;
/// Completed bios that wait for the I/O of the load that they belong to.
const MOST_COMPLETE: usize = 1 << 19;
/// How long they wait, nanoseconds.
const LONGEST_WAIT: u64 = 60_000_000_000;
/// Threads whose process is remembered.
const MOST_THREADS: usize = 1 << 16;

/// Who submitted a bio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitter {
    /// The load.
    Load,
    /// A worker thread of the kernel (`kworker`). It passes on the throttled bios of others, also those of the load.
    KernelWorker,
    /// Another process, or a kernel thread with a purpose of its own such as `jbd2`.
    Process {
        /// Process id.
        pid: u32,
        /// Its name.
        name: String,
    },
}

/// The devices whose bios are followed.
#[derive(Clone, Debug, Default)]
pub struct TracedDevices {
    /// The whole device of each number: of a partition, its disk.
    disks: HashMap<DeviceNumber, DeviceNumber>,
}

impl TracedDevices {
    /// Adds a whole device.
    pub fn add(&mut self, disk: DeviceNumber) {
        self.disks.insert(disk, disk);
    }

    /// Adds a partition of `disk`, and the disk.
    pub fn add_partition(&mut self, partition: DeviceNumber, disk: DeviceNumber) {
        self.disks.insert(partition, disk);
        self.add(disk);
    }

    /// Whether no device is followed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.disks.is_empty()
    }

    /// The whole devices.
    pub fn disks(&self) -> impl Iterator<Item = DeviceNumber> {
        self.disks
            .iter()
            .filter(|(number, disk)| number == disk)
            .map(|(_, disk)| *disk)
    }
}

/// How long each of the others had requests in a device while a bio was there, nanoseconds.
pub(super) type Beside = [u64; MOST_OTHERS];

/// A bio in flight.
#[derive(Clone, Debug)]
struct Pending {
    end: u64,
    direction: Direction,
    /// Index of the other that submitted it; `None` is the load.
    other: Option<usize>,
    queued: u64,
    inserted: Option<u64>,
    issued: Option<u64>,
    done_sectors: u64,
    pieces: u32,
    ambiguous: bool,
    merged: bool,
    busy_before: Beside,
}

/// A bio of the load that is complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct DoneBio {
    pub end: u64,
    pub direction: Direction,
    pub queued: u64,
    pub inserted: Option<u64>,
    pub issued: Option<u64>,
    pub completed: u64,
    pub pieces: u32,
    pub ambiguous: bool,
    pub merged: bool,
    pub beside: Beside,
}

/// The time in which somebody had requests in a device.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    requests: u64,
    since: u64,
    sum: u64,
}

impl Busy {
    fn starts(&mut self, now: u64) {
        if self.requests == 0 {
            self.since = now;
        }
        self.requests += 1;
    }

    fn ends(&mut self, now: u64) {
        self.requests = self.requests.saturating_sub(1);
        if self.requests == 0 {
            self.sum += now.saturating_sub(self.since);
        }
    }

    fn until(&self, now: u64) -> u64 {
        match self.requests {
            0 => self.sum,
            _ => self.sum + now.saturating_sub(self.since),
        }
    }
}

/// One device.
#[derive(Debug, Default)]
struct Device {
    /// By first sector, then in the order of their queueing.
    pending: BTreeMap<(u64, u64), Pending>,
    /// The largest bio seen, sectors: how far below a sector a bio that contains it may start.
    longest: u64,
    busy: [Busy; MOST_OTHERS],
    /// Completed bios of the load by first sector.
    complete: BTreeMap<u64, Vec<DoneBio>>,
}

/// All observed devices.
pub(super) struct Bios {
    devices: HashMap<DeviceNumber, Device>,
    traced: TracedDevices,
    submitter: fn(u32) -> Submitter,
    threads: HashMap<u32, Option<usize>>,
    workers: HashMap<u32, bool>,
    others: Vec<BlameOther>,
    sequence: u64,
    pending: usize,
    /// Completed bios in the order of completion, to forget those whose I/O never came.
    order: VecDeque<(u64, DeviceNumber, u64)>,
    /// Bios that an event completes, kept to allocate once.
    finished: Vec<(u64, u64)>,
    /// When events were lost: from, to.
    lost: Vec<(u64, u64)>,
    /// Time of the last event.
    now: u64,
}

fn other(who: OtherKind) -> BlameOther {
    BlameOther {
        who,
        reads: (0, 0),
        writes: (0, 0),
        busy_ns: 0,
    }
}

fn direction(flags: IoFlags) -> Option<Direction> {
    if flags.is_read() {
        Some(Direction::Read)
    } else if flags.is_discard() {
        Some(Direction::Trim)
    } else if flags.is_write() {
        Some(Direction::Write)
    } else {
        None
    }
}

impl Bios {
    pub fn new(traced: TracedDevices, submitter: fn(u32) -> Submitter) -> Self {
        let devices = traced
            .disks()
            .map(|disk| (disk, Device::default()))
            .collect();
        Bios {
            devices,
            traced,
            submitter,
            threads: HashMap::new(),
            workers: HashMap::new(),
            others: vec![
                other(OtherKind::Flushes),
                other(OtherKind::OwnLargeWrites),
                other(OtherKind::Kernel),
            ],
            sequence: 0,
            pending: 0,
            order: VecDeque::new(),
            finished: Vec::new(),
            lost: Vec::new(),
            now: 0,
        }
    }

    /// Follows one event. Events come in the order of their times.
    pub fn event(&mut self, event: &BlockEvent) {
        self.now = self.now.max(event.time_ns);
        let Some(disk) = self.traced.disks.get(&event.device).copied() else {
            return;
        };
        if event.flags.is_flush() && event.sectors == 0 {
            return self.flush(disk, event);
        }
        let Some(direction) = direction(event.flags).filter(|_| event.sectors > 0) else {
            return;
        };
        match event.kind {
            BlockEventKind::BioQueue => self.queued(disk, direction, event),
            BlockEventKind::Insert => self.inserted(disk, direction, event),
            BlockEventKind::Issue => self.issued(disk, direction, event),
            BlockEventKind::Complete { .. } => self.completed(disk, direction, event),
            _ => {}
        }
    }

    /// Events between these times were lost: what is in flight is followed no longer.
    pub fn lost(&mut self, from: u64, to: u64) {
        if self.lost.len() < 4096 {
            self.lost.push((from, to));
        } else if let Some(last) = self.lost.last_mut() {
            last.1 = last.1.max(to);
        }
        let now = self.now.max(to);
        for device in self.devices.values_mut() {
            device.pending.clear();
            for busy in &mut device.busy {
                if busy.requests > 0 {
                    busy.requests = 1;
                    busy.ends(now);
                }
            }
        }
        self.pending = 0;
    }

    /// Whether events of this time may be missing.
    pub fn is_lost(&self, from: u64, to: u64) -> bool {
        self.lost
            .iter()
            .any(|(start, end)| *start <= to && from <= *end)
    }

    fn flush(&mut self, disk: DeviceNumber, event: &BlockEvent) {
        let Some(device) = self.devices.get_mut(&disk) else {
            return;
        };
        match event.kind {
            BlockEventKind::Issue => {
                device.busy[FLUSHES].starts(event.time_ns);
                self.others[FLUSHES].writes.0 += 1;
            }
            BlockEventKind::Complete { .. } => device.busy[FLUSHES].ends(event.time_ns),
            _ => {}
        }
    }

    /// The other that submits from this thread; `None` is the load.
    fn other_of(&mut self, event: &BlockEvent) -> Option<usize> {
        if let Some(known) = self.threads.get(&event.thread) {
            return *known;
        }
        if let Some(is_worker) = self.workers.get(&event.thread)
            && *is_worker
        {
            return Self::of_worker(event.flags);
        }
        if self.threads.len() + self.workers.len() >= MOST_THREADS {
            self.threads.clear();
            self.workers.clear();
        }
        let index = match (self.submitter)(event.thread) {
            Submitter::KernelWorker => {
                self.workers.insert(event.thread, true);
                return Self::of_worker(event.flags);
            }
            Submitter::Load => None,
            Submitter::Process { pid, name } => Some(self.process(pid, name)),
        };
        self.threads.insert(event.thread, index);
        index
    }

    /// A worker passes on what a limit of a control group held back: reads, and writes that somebody waits for. Its other
    /// writes are write-back.
    fn of_worker(flags: IoFlags) -> Option<usize> {
        (!(flags.is_read() || flags.sync() || flags.is_discard())).then_some(KERNEL)
    }

    fn process(&mut self, pid: u32, name: String) -> usize {
        let known = self.others.iter().position(
            |other| matches!(&other.who, OtherKind::Process { pid: known, .. } if *known == pid),
        );
        if let Some(index) = known {
            return index;
        }
        if self.others.len() < REST {
            self.others.push(other(OtherKind::Process { pid, name }));
            return self.others.len() - 1;
        }
        if self.others.len() == REST {
            self.others.push(other(OtherKind::Rest));
        }
        REST
    }

    fn queued(&mut self, disk: DeviceNumber, direction: Direction, event: &BlockEvent) {
        if self.pending >= MOST_PENDING {
            self.lost(event.time_ns, event.time_ns);
        }
        let other = self.other_of(event);
        let Some(device) = self.devices.get_mut(&disk) else {
            return;
        };
        let (start, end, now) = (event.sector, event.end_sector(), event.time_ns);
        let mut ambiguous = false;
        for (_, known) in overlapping(device, start, end) {
            if known.direction == direction {
                known.ambiguous = true;
                ambiguous = true;
            }
        }
        let mut busy_before = Beside::default();
        for (time, busy) in busy_before
            .iter_mut()
            .zip(&device.busy)
            .take(self.others.len())
        {
            *time = busy.until(now);
        }
        if let Some(index) = counted_as(other, direction, end - start) {
            device.busy[index].starts(now);
        }
        device.longest = device.longest.max(end - start);
        self.sequence += 1;
        self.pending += 1;
        device.pending.insert(
            (start, self.sequence),
            Pending {
                end,
                direction,
                other,
                queued: now,
                inserted: None,
                issued: None,
                done_sectors: 0,
                pieces: 0,
                ambiguous,
                merged: false,
                busy_before,
            },
        );
    }

    fn inserted(&mut self, disk: DeviceNumber, direction: Direction, event: &BlockEvent) {
        let Some(device) = self.devices.get_mut(&disk) else {
            return;
        };
        for (_, bio) in overlapping(device, event.sector, event.end_sector()) {
            if bio.direction == direction && bio.issued.is_none() {
                bio.inserted.get_or_insert(event.time_ns);
            }
        }
    }

    fn issued(&mut self, disk: DeviceNumber, direction: Direction, event: &BlockEvent) {
        let Some(device) = self.devices.get_mut(&disk) else {
            return;
        };
        let (start, end) = (event.sector, event.end_sector());
        let (mut ours, mut sectors) = (true, 0);
        for (first, bio) in overlapping(device, start, end) {
            if bio.direction != direction {
                continue;
            }
            sectors += bio.end.min(end) - first.max(start);
            ours &= bio.other.is_none();
            bio.issued.get_or_insert(event.time_ns);
            bio.pieces += 1;
        }
        // A request with sectors of somebody else, or of a bio whose events were lost.
        if !ours || sectors < end - start {
            for (_, bio) in overlapping(device, start, end) {
                bio.merged |= bio.direction == direction && bio.other.is_none();
            }
        }
    }

    fn completed(&mut self, disk: DeviceNumber, direction: Direction, event: &BlockEvent) {
        let Some(device) = self.devices.get_mut(&disk) else {
            return;
        };
        let (start, end, now) = (event.sector, event.end_sector(), event.time_ns);
        let mut finished = std::mem::take(&mut self.finished);
        let low = start.saturating_sub(device.longest);
        for (key, bio) in device.pending.range_mut((low, 0)..(end, 0)) {
            if bio.end <= start || bio.direction != direction {
                continue;
            }
            bio.done_sectors += bio.end.min(end) - key.0.max(start);
            if bio.done_sectors >= bio.end - key.0 {
                finished.push(*key);
            }
        }
        for key in finished.drain(..) {
            if let Some(bio) = device.pending.remove(&key) {
                self.pending -= 1;
                let sectors = bio.end - key.0;
                if let Some(index) = counted_as(bio.other, direction, sectors) {
                    device.busy[index].ends(now);
                    let other = &mut self.others[index];
                    let sum = match direction {
                        Direction::Read => &mut other.reads,
                        _ => &mut other.writes,
                    };
                    sum.0 += 1;
                    sum.1 += sectors * crate::event::SECTOR;
                }
                if bio.other.is_none() {
                    let mut beside = Beside::default();
                    let busy = device.busy.iter().take(self.others.len());
                    for ((time, busy), before) in beside.iter_mut().zip(busy).zip(bio.busy_before) {
                        *time = busy.until(now).saturating_sub(before);
                    }
                    if sectors > SMALL {
                        beside[OWN_LARGE] = 0;
                    }
                    device.complete.entry(key.0).or_default().push(DoneBio {
                        end: bio.end,
                        direction,
                        queued: bio.queued,
                        inserted: bio.inserted,
                        issued: bio.issued,
                        completed: now,
                        pieces: bio.pieces,
                        ambiguous: bio.ambiguous,
                        merged: bio.merged,
                        beside,
                    });
                    self.order.push_back((now, disk, key.0));
                }
            }
        }
        self.finished = finished;
        self.forget_unclaimed();
    }

    /// Forgets completed bios whose I/O never came.
    fn forget_unclaimed(&mut self) {
        while let Some((completed, disk, first)) = self.order.front().copied() {
            if self.order.len() <= MOST_COMPLETE && completed + LONGEST_WAIT >= self.now {
                return;
            }
            self.order.pop_front();
            if let Some(device) = self.devices.get_mut(&disk)
                && let Some(bios) = device.complete.get_mut(&first)
            {
                bios.retain(|bio| bio.completed > completed);
                if bios.is_empty() {
                    device.complete.remove(&first);
                }
            }
        }
    }

    /// The completed bios of the load at exactly this first sector.
    pub fn complete_at(&self, device: DeviceNumber, sector: u64) -> &[DoneBio] {
        let disk = self.traced.disks.get(&device);
        let device = disk.and_then(|disk| self.devices.get(disk));
        device
            .and_then(|device| device.complete.get(&sector))
            .map_or(&[], Vec::as_slice)
    }

    /// Places with completed bios that wait for their I/Os.
    #[cfg(test)]
    pub fn waiting_places(&self) -> usize {
        self.devices
            .values()
            .map(|device| device.complete.len())
            .sum()
    }

    /// Forgets a completed bio, whose I/O has come.
    pub fn claim(&mut self, device: DeviceNumber, sector: u64, bio: &DoneBio) {
        let disk = self.traced.disks.get(&device);
        if let Some(device) = disk.and_then(|disk| self.devices.get_mut(disk))
            && let Entry::Occupied(mut at) = device.complete.entry(sector)
        {
            let known = at.get_mut();
            known.retain(|known| {
                (known.queued, known.completed, known.end) != (bio.queued, bio.completed, bio.end)
            });
            // Places without a bio would stay in memory for as long as one may wait for its I/O.
            if known.is_empty() {
                at.remove();
            }
        }
    }

    /// Whether a bio of this direction with any of these sectors is in flight or complete.
    pub fn has_some(
        &self,
        device: DeviceNumber,
        direction: Direction,
        sectors: (u64, u64),
        times: (u64, u64),
    ) -> bool {
        let Some(device) = self
            .traced
            .disks
            .get(&device)
            .and_then(|disk| self.devices.get(disk))
        else {
            return false;
        };
        let low = sectors.0.saturating_sub(device.longest);
        device
            .complete
            .range(low..sectors.1)
            .flat_map(|(_, bios)| bios)
            .any(|bio| {
                bio.direction == direction
                    && bio.end > sectors.0
                    && bio.queued >= times.0
                    && bio.completed <= times.1
            })
    }

    /// The others, with the time in which they had requests up to now.
    pub fn others(&self) -> Vec<BlameOther> {
        let mut others = self.others.clone();
        for (index, other) in others.iter_mut().enumerate() {
            other.busy_ns = self
                .devices
                .values()
                .map(|device| device.busy[index].until(self.now))
                .sum();
        }
        others
    }
}

/// The other as which a bio counts: the load's own bios count only if they are large writes.
fn counted_as(other: Option<usize>, direction: Direction, sectors: u64) -> Option<usize> {
    other.or_else(|| (direction == Direction::Write && sectors >= LARGE).then_some(OWN_LARGE))
}

/// The bios in flight with any of these sectors, each with its first sector.
fn overlapping(
    device: &mut Device,
    start: u64,
    end: u64,
) -> impl Iterator<Item = (u64, &mut Pending)> {
    let low = start.saturating_sub(device.longest);
    device
        .pending
        .range_mut((low, 0)..(end, 0))
        .map(|(key, bio)| (key.0, bio))
        .filter(move |(_, bio)| bio.end > start)
}
