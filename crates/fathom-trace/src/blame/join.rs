//! One I/O of the load with its bios.

use std::collections::VecDeque;

use fathom_model::{BlameRecording, BlameTimes, Direction};

use super::bios::{Beside, Bios, DoneBio, Submitter, TracedDevices};
use super::sheet::{Sheet, UnjoinedReason};
use crate::{BlockEvent, DeviceNumber};

/// The kernel's and the load's readings of one clock may differ by this much, nanoseconds: the kernel stamps events with
/// the last update of the timekeeper where it cannot wait for the current one.
const CLOCK_SLACK: u64 = 20_000;
/// I/Os that wait for their events at most.
const MOST_WAITING: usize = 1 << 20;

/// One I/O as the load generator saw it. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadIo {
    /// Index into the plan's jobs.
    pub job: u32,
    /// Read, write or trim.
    pub direction: Direction,
    /// Offset in its file, bytes.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// When it was due.
    pub due: u64,
    /// When its submission began.
    pub submitted: u64,
    /// When its completion was seen.
    pub reaped: u64,
}

/// A contiguous part of an I/O on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The device.
    pub device: DeviceNumber,
    /// First sector on it, of 512 bytes.
    pub sector: u64,
    /// The sector after the last.
    pub end: u64,
}

/// Where the data of an I/O is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IoPlace {
    /// In one piece: nearly every I/O.
    One(Piece),
    /// On devices, in the order of the I/O's bytes.
    Known(Vec<Piece>),
    /// Not known.
    Unknown,
    /// It goes through the page cache.
    Buffered,
}

/// An I/O with its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinedIo {
    /// The I/O.
    pub io: LoadIo,
    /// The time of each phase; their sum is `io.reaped - io.due`.
    pub phases: BlameTimes,
    /// Requests that it was divided into.
    pub pieces: u32,
    /// From its entry into the block layer to its completion by the device, nanoseconds.
    pub in_block_layer: u64,
    /// How much of that time each of the others had requests in the device.
    pub(super) beside: Beside,
}

/// Joins the I/Os of one load with the events of the kernel.
pub struct BlameJoin {
    bios: Bios,
    waiting: VecDeque<(LoadIo, IoPlace)>,
    sheet: Sheet,
    lost_events: u64,
}

impl BlameJoin {
    /// A join for a load on `devices`. `groups` are the names of the job sections, by job; `submitter` returns who a
    /// thread is; `origin` is the time from which stored times are counted.
    pub fn new(
        devices: TracedDevices,
        groups: &[String],
        origin: u64,
        submitter: fn(u32) -> Submitter,
    ) -> Self {
        BlameJoin {
            bios: Bios::new(devices, submitter),
            waiting: VecDeque::new(),
            sheet: Sheet::new(groups, origin),
            lost_events: 0,
        }
    }

    /// Places with completed bios that wait for their I/Os.
    #[cfg(test)]
    pub(super) fn waiting_places(&self) -> usize {
        self.bios.waiting_places()
    }

    /// The time from which stored times are counted.
    pub fn set_origin(&mut self, origin: u64) {
        self.sheet.set_origin(origin);
    }

    /// An event of the kernel, in the order of their times.
    pub fn event(&mut self, event: &BlockEvent) {
        self.bios.event(event);
    }

    /// The kernel lost `events` between two times.
    pub fn lost(&mut self, events: u64, from: u64, to: u64) {
        self.lost_events += events;
        self.bios.lost(from, to);
    }

    /// An I/O of the load that is complete.
    pub fn add_io(&mut self, io: LoadIo, place: IoPlace) {
        match place {
            IoPlace::Buffered => self.sheet.unjoined(&io, UnjoinedReason::Buffered, 1),
            IoPlace::Unknown => self.sheet.unjoined(&io, UnjoinedReason::NoPosition, 1),
            _ if self.waiting.len() >= MOST_WAITING => {
                self.sheet.unjoined(&io, UnjoinedReason::NotLogged, 1);
            }
            place => self.waiting.push_back((io, place)),
        }
    }

    /// `ios` of a job and a direction were not logged.
    pub fn not_logged(&mut self, job: u32, direction: Direction, ios: u64) {
        let io = LoadIo {
            job,
            direction,
            offset: 0,
            len: 0,
            due: 0,
            submitted: 0,
            reaped: 0,
        };
        self.sheet.unjoined(&io, UnjoinedReason::NotLogged, ios);
    }

    /// All events up to this time were passed to [`BlameJoin::event`]: joins the I/Os that were complete then.
    pub fn advance(&mut self, until: u64) {
        let (ready, rest): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(io, _)| io.reaped <= until);
        self.waiting = rest;
        for (io, place) in ready {
            self.settle(&io, &place);
        }
    }

    fn settle(&mut self, io: &LoadIo, place: &IoPlace) {
        let pieces = match place {
            IoPlace::One(piece) => std::slice::from_ref(piece),
            IoPlace::Known(pieces) => pieces,
            IoPlace::Unknown | IoPlace::Buffered => return,
        };
        match self.join(io, pieces) {
            Ok(joined) => self.sheet.joined(&joined),
            Err(reason) => self.sheet.unjoined(io, reason, 1),
        }
    }

    /// The sheet, after the last event.
    #[must_use]
    pub fn finish(mut self) -> BlameRecording {
        self.advance(u64::MAX);
        self.sheet.finish(self.bios.others(), self.lost_events)
    }

    /// Joins one I/O with the bios of all its pieces, and forgets these.
    fn join(&mut self, io: &LoadIo, pieces: &[Piece]) -> Result<JoinedIo, UnjoinedReason> {
        let times = (
            io.submitted.saturating_sub(CLOCK_SLACK),
            io.reaped.saturating_add(CLOCK_SLACK),
        );
        let mut found: Vec<(DeviceNumber, u64, DoneBio)> = Vec::with_capacity(pieces.len());
        let mut problem = None;
        for piece in pieces {
            let mut at = piece.sector;
            while at < piece.end {
                match self.next_bio(io.direction, (at, piece.end), times, piece.device) {
                    Ok(bio) => {
                        found.push((piece.device, at, bio));
                        at = bio.end;
                    }
                    Err(reason) => {
                        problem.get_or_insert(reason);
                        break;
                    }
                }
            }
        }
        for (device, first, bio) in &found {
            self.bios.claim(*device, *first, bio);
        }
        if let Some(reason) = problem {
            let lost = self.bios.is_lost(times.0, times.1);
            return Err(if lost {
                UnjoinedReason::LostEvents
            } else {
                reason
            });
        }
        if found.iter().any(|(_, _, bio)| bio.merged) {
            return Err(UnjoinedReason::Merged);
        }
        phases(io, &found).ok_or(UnjoinedReason::LostEvents)
    }

    /// The bio of this I/O that starts at the first of `sectors`.
    fn next_bio(
        &self,
        direction: Direction,
        sectors: (u64, u64),
        times: (u64, u64),
        device: DeviceNumber,
    ) -> Result<DoneBio, UnjoinedReason> {
        let known = self.bios.complete_at(device, sectors.0);
        let mut candidates = known.iter().filter(|bio| {
            bio.direction == direction
                && bio.end <= sectors.1
                && bio.queued >= times.0
                && bio.completed <= times.1
        });
        match (candidates.next(), candidates.next()) {
            (Some(bio), None) if bio.ambiguous => Err(UnjoinedReason::Ambiguous),
            (Some(bio), None) => Ok(*bio),
            (None, _) if self.bios.has_some(device, direction, sectors, times) => {
                Err(UnjoinedReason::Merged)
            }
            (None, _) => Err(UnjoinedReason::NoRequest),
            (Some(_), Some(_)) => Err(UnjoinedReason::Ambiguous),
        }
    }
}

/// The phases of an I/O from its bios: it is queued with the first, issued with the first request and completed with the
/// last one. `None` if an event of it is missing.
fn phases(io: &LoadIo, bios: &[(DeviceNumber, u64, DoneBio)]) -> Option<JoinedIo> {
    let bios = || bios.iter().map(|(_, _, bio)| bio);
    let queued = bios().map(|bio| bio.queued).min()?;
    let completed = bios().map(|bio| bio.completed).max()?;
    let issued = bios()
        .map(|bio| bio.issued)
        .collect::<Option<Vec<u64>>>()?
        .into_iter()
        .min()?;
    // Without a scheduler a request is issued directly: its time there is zero.
    let inserted = bios()
        .filter_map(|bio| bio.inserted)
        .min()
        .unwrap_or(issued);
    // Both sides read one clock, up to the slack: a stamp that would go back is moved to the one before it.
    let mut stamps = [
        io.due,
        io.submitted,
        queued,
        inserted.min(issued),
        issued,
        completed,
        io.reaped,
    ];
    let last = io.reaped.max(io.due);
    let mut before = io.due;
    for stamp in &mut stamps {
        *stamp = (*stamp).clamp(before, last);
        before = *stamp;
    }
    let mut times = BlameTimes::default();
    for (time, pair) in times.ns.iter_mut().zip(stamps.windows(2)) {
        *time = pair[1] - pair[0];
    }
    let mut beside = Beside::default();
    for bio in bios() {
        for (sum, time) in beside.iter_mut().zip(bio.beside) {
            *sum = (*sum).max(time);
        }
    }
    Some(JoinedIo {
        io: *io,
        phases: times,
        pieces: bios().map(|bio| bio.pieces).sum(),
        in_block_layer: stamps[5] - stamps[2],
        beside,
    })
}
