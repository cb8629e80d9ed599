//! Records every I/O of one job: counts, latencies, distributions, intervals and errors.

mod intervals;
mod snapshot;

use std::collections::VecDeque;

use fathom_model::{
    Counts, Direction, DirectionRecording, Event, EventKind, Histogram, Interval,
    IntervalDirection, Nanos, PerDirection, SparseHistogram, Stall,
};

pub(crate) use self::intervals::Intervals;
use crate::engine::{Completion, Request};
use crate::io_generator::{PlannedIo, direction_of};
use crate::logger::{Logged, Logger};

/// I/Os recorded in one batch.
const BATCH: usize = 64;

/// One I/O in flight.
// One cache line each.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct InFlight {
    /// When it was due.
    pub planned: u64,
    /// When it was ready for submission.
    pub ready: u64,
    /// When it had been submitted.
    pub issued: u64,
    pub offset: u64,
    pub len: u32,
    pub file: u32,
    pub direction: Direction,
    /// A trim that is followed by a write of the same range.
    pub then_write: bool,
    /// Number of the write whose content is expected, from 1; 0 is not checked.
    pub check: u64,
    /// A sync, without a direction.
    pub sync: bool,
    /// Its priority; 0 is the priority of the thread.
    pub prio: u16,
}

impl InFlight {
    /// The content of an unused slot.
    pub const NONE: InFlight = InFlight {
        planned: 0,
        ready: 0,
        issued: 0,
        offset: 0,
        len: 0,
        file: 0,
        direction: Direction::Read,
        then_write: false,
        check: 0,
        sync: false,
        prio: 0,
    };

    /// The I/O `planned_io` that was due at `planned` and is submitted at `ready`.
    #[inline]
    pub fn new(planned_io: &PlannedIo, planned: u64, ready: u64) -> InFlight {
        let direction = direction_of(planned_io.op);
        InFlight {
            planned,
            ready,
            issued: ready,
            offset: planned_io.offset,
            len: planned_io.len,
            file: planned_io.file,
            direction: direction.unwrap_or(Direction::Write),
            sync: direction.is_none(),
            prio: planned_io.prio,
            ..InFlight::NONE
        }
    }
}

/// The latencies to record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordOptions {
    pub slat: bool,
    pub clat: bool,
    pub lat: bool,
    /// Due times differ from ready times.
    pub response: Option<ResponseEnd>,
    /// Each I/O is recorded from its due time to its submission.
    pub lateness: bool,
    /// clat begins before the submission, not after it.
    pub clat_from_ready: bool,
    /// Gaps between completions count only while an I/O is in flight.
    pub gaps_in_flight: bool,
}

/// When the response to an I/O is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseEnd {
    /// At its completion.
    Completion,
    /// For a write, at the end of the first flush of its file that was submitted after the write had completed: a commit. A
    /// flush that was submitted earlier does not cover the write (fsync(2)), also if it ends later.
    Flush,
}

/// A completed write that no flush covers yet.
#[derive(Clone, Copy, Debug)]
struct Unflushed {
    file: u32,
    /// Due time.
    planned: u64,
    /// Completion.
    done: u64,
}

/// The current interval.
#[derive(Default)]
struct Live {
    ios: u64,
    bytes: u64,
    bad: u64,
    clat: Histogram,
    response: Histogram,
}

/// A time without a completion is recorded with its exact span from this length on, nanoseconds.
const GAP: u64 = 250_000_000;
/// The number of them that is recorded.
const MAX_GAPS: usize = 1000;

/// Records one job.
pub(crate) struct Recorder {
    record_options: RecordOptions,
    measured_from: u64,
    live_start: u64,
    live_end: u64,
    live: PerDirection<Live>,
    directions: PerDirection<DirectionRecording>,
    warmup: PerDirection<Counts>,
    intervals: Intervals,
    /// Room for the times of a batch, so that none is cleared for each batch: completion, submission and total.
    times: Box<[[u64; BATCH]; 3]>,
    pub sync: Histogram,
    pub sync_failed: u64,
    pub events: Vec<Event>,
    logger: Option<Logger>,
    traces: bool,
    last_done: u64,
    /// Times without a completion of at least [`GAP`].
    gaps: Vec<Stall>,
    /// I/Os of the current interval that were sent before its end.
    sent_ios: u64,
    /// Writes that no flush covers yet, in the order of their completion.
    unflushed: VecDeque<Unflushed>,
}

impl Recorder {
    /// A recorder that measures from `measured_from` on, in intervals aligned to the run's epoch.
    pub fn new(
        record_options: RecordOptions,
        measured_from: Nanos,
        intervals: Intervals,
        logger: Option<Logger>,
    ) -> Self {
        let (start, length) = (measured_from.get(), intervals.step());
        Recorder {
            record_options,
            measured_from: start,
            live_start: start,
            live_end: (start / length + 1) * length,
            live: PerDirection::default(),
            directions: PerDirection::default(),
            times: Box::new([[0; BATCH]; 3]),
            warmup: PerDirection::default(),
            intervals,
            sync: Histogram::new(),
            sync_failed: 0,
            events: Vec::new(),
            traces: logger.as_ref().is_some_and(Logger::traces),
            logger,
            last_done: start,
            gaps: Vec::new(),
            sent_ios: 0,
            unflushed: VecDeque::new(),
        }
    }

    /// The counts of the phase (warm-up or measured) to which an I/O due at `planned` belongs.
    #[inline]
    fn counts(&mut self, planned: u64, direction: Direction) -> &mut Counts {
        if planned < self.measured_from {
            &mut self.warmup[direction]
        } else {
            &mut self.directions[direction].counts
        }
    }

    /// An I/O was submitted.
    #[inline]
    pub fn sent(&mut self, io: &InFlight) {
        let counts = self.counts(io.planned, io.direction);
        counts.planned += 1;
        counts.bytes_requested += u64::from(io.len);
    }

    /// A batch of I/Os of one direction, `bytes` in total, was submitted; `planned` decides whether
    /// they belong to the warm-up.
    #[inline]
    pub fn sent_batch(&mut self, planned: u64, direction: Direction, ios: u64, bytes: u64) {
        let counts = self.counts(planned, direction);
        counts.planned += ios;
        counts.bytes_requested += bytes;
    }

    /// Whether every I/O is passed to a log or a trace.
    pub fn logs_each_io(&self) -> bool {
        self.logger.is_some()
    }

    /// Whether [`Recorder::trace`] must be called for each request.
    #[inline]
    pub fn traces(&self) -> bool {
        self.traces
    }

    /// A request was submitted at `at`: one line of the trace.
    #[cold]
    pub fn trace(&mut self, request: &Request, at: u64) {
        if let Some(logger) = &mut self.logger {
            logger.sent(request, at);
        }
    }

    /// An I/O was due but will not be submitted.
    pub fn not_sent(&mut self, planned: u64, direction: Direction) {
        let counts = self.counts(planned, direction);
        counts.planned += 1;
        counts.not_sent += 1;
    }

    /// Whether an I/O of the warm-up completed after it. It is then counted as measured: a rate
    /// counts what completed in a time, and would be too low by a full queue if the I/Os in flight
    /// at the end of the warm-up did not count.
    #[cold]
    fn ended_after_warm_up(&mut self, io: &InFlight, done: u64) -> bool {
        let measured = done >= self.measured_from;
        if measured {
            let (warmup, counts) = (
                &mut self.warmup[io.direction],
                &mut self.directions[io.direction].counts,
            );
            warmup.planned -= 1;
            warmup.bytes_requested -= u64::from(io.len);
            counts.planned += 1;
            counts.bytes_requested += u64::from(io.len);
        }
        measured
    }

    /// When the service of an I/O began. An asynchronous engine passes it to the target somewhere
    /// between `ready` and `issued`: a thread that is preempted in the submission takes the second
    /// stamp long after the target began, and the rest would be shorter than the target's own time.
    #[inline]
    fn service_start(&self, io: &InFlight) -> u64 {
        if self.record_options.clat_from_ready {
            io.ready
        } else {
            io.issued
        }
    }

    /// An I/O completed in full.
    #[inline]
    pub fn ok(&mut self, io: &InFlight, done: u64) {
        let direction = io.direction;
        if io.planned < self.measured_from && !self.ended_after_warm_up(io, done) {
            let counts = &mut self.warmup[direction];
            counts.ok += 1;
            counts.bytes_ok += u64::from(io.len);
            return;
        }
        if done >= self.live_end {
            self.roll(done);
        }
        let clat = done.saturating_sub(self.service_start(io));
        let live = &mut self.live[direction];
        live.ios += 1;
        live.bytes += u64::from(io.len);
        if self.record_options.clat {
            live.clat.record(clat);
        }
        let total = &mut self.directions[direction];
        if self.record_options.slat {
            total.slat.record(io.issued - io.ready);
        }
        if self.record_options.lat {
            total.lat.record(done.saturating_sub(io.ready));
        }
        if let Some(end) = self.record_options.response {
            if end == ResponseEnd::Flush && direction == Direction::Write {
                self.unflushed.push_back(Unflushed {
                    file: io.file,
                    planned: io.planned,
                    done,
                });
            } else if self.record_options.lateness {
                live.response.record(done.saturating_sub(io.planned));
            }
            if self.record_options.lateness {
                total.lateness.record(io.issued.saturating_sub(io.planned));
            }
        }
        self.note_done(io.ready, done);
        if self.logger.is_some() {
            self.log(io, clat, done);
        }
    }

    /// Records I/Os of one direction that completed in full at the same moment, from the start of
    /// `done`, and returns their number. It stops at the first I/O that has another direction, is a
    /// sync, short, failed or of the warm-up, and after a full batch. For closed-loop jobs without
    /// logs.
    #[inline]
    pub fn ok_batch(&mut self, slots: &[InFlight], done: &[Completion], now: u64) -> usize {
        let Some(first) = done.first() else { return 0 };
        let direction = slots[first.slot as usize].direction;
        if now >= self.live_end {
            self.roll(now);
        }
        let from_ready = self.record_options.clat_from_ready;
        let measured_from = self.measured_from;
        let [clat, slat, lat] = &mut *self.times;
        let (mut bytes, mut count) = (0, 0);
        for completion in &done[..done.len().min(BATCH)] {
            let io = &slots[completion.slot as usize];
            if io.direction != direction
                || completion.result != i64::from(io.len)
                || io.planned < measured_from
                || io.sync
            {
                break;
            }
            clat[count] = now.saturating_sub(if from_ready { io.ready } else { io.issued });
            slat[count] = io.issued - io.ready;
            lat[count] = now.saturating_sub(io.ready);
            bytes += u64::from(io.len);
            count += 1;
        }
        if count == 0 {
            return 0;
        }
        let (live, total) = (&mut self.live[direction], &mut self.directions[direction]);
        live.ios += count as u64;
        live.bytes += bytes;
        // One distribution after the other, so that each has the registers to itself.
        for (enabled, histogram, values) in [
            (self.record_options.clat, &mut live.clat, clat),
            (self.record_options.slat, &mut total.slat, slat),
            (self.record_options.lat, &mut total.lat, lat),
        ] {
            if enabled {
                histogram.record_all(&values[..count]);
            }
        }
        self.note_done(slots[first.slot as usize].ready, now);
        count
    }

    /// Whether the response to a write ends with its flush.
    pub fn has_commits(&self) -> bool {
        self.record_options.response == Some(ResponseEnd::Flush)
    }

    /// A flush completed: the writes to its file that had completed before its submission are committed.
    #[cold]
    pub fn flushed(&mut self, flush: &InFlight, done: u64) {
        self.sync.record(done - flush.issued);
        if done.saturating_sub(self.last_done) >= GAP {
            self.note_gap(flush.issued, done);
        }
        if self.unflushed.is_empty() {
            return;
        }
        if done >= self.live_end {
            self.roll(done);
        }
        let response = &mut self.live[Direction::Write].response;
        let before = self.unflushed.len();
        self.unflushed.retain(|write| {
            let is_covered = write.file == flush.file && write.done <= flush.ready;
            if is_covered {
                response.record(done.saturating_sub(write.planned));
            }
            !is_covered
        });
        if self.unflushed.len() < before {
            self.last_done = done;
        }
    }

    #[cold]
    fn log(&mut self, io: &InFlight, clat: u64, done: u64) {
        let (slat, lat) = (io.issued - io.ready, done.saturating_sub(io.ready));
        let (direction, len, offset, issued, prio) =
            (io.direction, io.len, io.offset, io.issued, io.prio);
        let (file, due) = (io.file, io.planned);
        if let Some(logger) = &mut self.logger {
            logger.io(&Logged {
                direction,
                len,
                file,
                offset,
                due,
                slat,
                clat,
                lat,
                issued,
                done,
                prio,
            });
        }
    }

    /// An I/O transferred only `moved` bytes, or failed (`None`).
    pub fn bad(&mut self, io: &InFlight, moved: Option<u64>, done: u64) {
        let requested = u64::from(io.len);
        let measured = io.planned >= self.measured_from || self.ended_after_warm_up(io, done);
        let counts = if measured {
            &mut self.directions[io.direction].counts
        } else {
            &mut self.warmup[io.direction]
        };
        match moved {
            Some(bytes) => {
                counts.short += 1;
                counts.bytes_short += bytes;
            }
            None => counts.failed += 1,
        }
        counts.bytes_missing += requested - moved.unwrap_or(0);
        if measured {
            if done >= self.live_end {
                self.roll(done);
            }
            self.live[io.direction].bad += 1;
            let latency = done.saturating_sub(self.service_start(io));
            self.directions[io.direction].bad.record(latency);
            self.note_done(io.ready, done);
        }
    }

    /// An I/O that was ready at `ready` completed, whatever its result.
    #[inline]
    fn note_done(&mut self, ready: u64, done: u64) {
        if done.saturating_sub(self.last_done) >= GAP {
            self.note_gap(ready, done);
        }
        self.last_done = done;
    }

    /// A job that verifies also checks data and decides what to read back: for it only time with an I/O in flight counts. In a
    /// gap nothing is submitted, because no slot becomes free.
    #[cold]
    fn note_gap(&mut self, ready: u64, done: u64) {
        let from = match self.record_options.gaps_in_flight {
            true => self.last_done.max(ready),
            false => self.last_done,
        };
        if done.saturating_sub(from) >= GAP && self.gaps.len() < MAX_GAPS {
            self.gaps.push(Stall {
                at: Nanos::new(from),
                lasted: Nanos::new(done - from),
            });
        }
    }

    /// An I/O in flight timed out.
    pub fn timed_out(&mut self, io: &InFlight) {
        let counts = self.counts(io.planned, io.direction);
        counts.timed_out += 1;
        counts.bytes_missing += u64::from(io.len);
    }

    /// Records an event.
    pub fn event(&mut self, at: u64, what: EventKind) {
        self.events.push(Event {
            at: Nanos::new(at),
            kind: what,
        });
    }

    /// Whether a matching event has been recorded.
    pub fn has_event(&self, matches: impl Fn(&EventKind) -> bool) -> bool {
        self.events.iter().any(|event| matches(&event.kind))
    }

    /// Closes intervals up to the one that contains `now`. Intervals without a completion are kept
    /// as zeros.
    #[cold]
    #[inline(never)]
    fn roll(&mut self, now: u64) {
        while now >= self.live_end {
            self.close(self.live_end);
            let step = self.intervals.step();
            self.live_end = (self.live_start / step + 1) * step;
        }
    }

    fn close(&mut self, end: u64) {
        let mut interval = Interval {
            start: Nanos::new(self.live_start),
            length: Nanos::new(end - self.live_start),
            directions: PerDirection::default(),
        };
        for direction in Direction::ALL {
            let live = &mut self.live[direction];
            if live.ios + live.bad + live.response.count() > 0 {
                interval.directions[direction] = live.take();
                let total = &mut self.directions[direction];
                total.counts.ok += live.ios;
                total.counts.bytes_ok += live.bytes;
                total.clat.merge(&live.clat);
                total.response.merge(&live.response);
                live.clear();
            }
        }
        self.intervals.push(interval);
        (self.live_start, self.sent_ios) = (end, 0);
    }

    /// The load waits: sends unsaved intervals, so that little is lost if the process is killed.
    #[cold]
    pub fn idle(&mut self, now: u64) {
        if self.intervals.is_due(now) {
            let partial = self.partial_interval(now);
            self.intervals.send_all(now, partial);
        }
    }

    /// The current interval, if anything was added since it was last sent.
    fn partial_interval(&mut self, now: u64) -> Option<Interval> {
        let known = self.live.0.iter().map(|live| live.ios + live.bad).sum();
        let length = now.min(self.live_end).saturating_sub(self.live_start);
        let directions = PerDirection::from_fn(|d| self.live[d].take());
        let partial = Interval {
            start: Nanos::new(self.live_start),
            length: Nanos::new(length),
            directions,
        };
        (std::mem::replace(&mut self.sent_ios, known) != known).then_some(partial)
    }

    /// Publishes the totals so far, warm-up included.
    pub fn publish(&self, to: &crate::live::Live) {
        for direction in Direction::ALL {
            let (live, total, warm) = (
                &self.live[direction],
                &self.directions[direction].counts,
                &self.warmup[direction],
            );
            to.set_totals(
                direction,
                live.ios + total.ok + warm.ok,
                live.bytes + total.bytes_ok + warm.bytes_ok,
            );
        }
    }

    /// I/Os and bytes completed so far, warm-up included.
    pub fn done(&self) -> [(u64, u64); 3] {
        Direction::ALL.map(|d| {
            let (live, total, warm) = (&self.live[d], &self.directions[d].counts, &self.warmup[d]);
            (
                live.ios + total.ok + warm.ok,
                live.bytes + total.bytes_ok + warm.bytes_ok,
            )
        })
    }

    /// Restarts the measurement at `now`. Everything before, of which nothing is in flight any
    /// more, was a warm-up.
    pub fn start_over(&mut self, now: u64) {
        self.roll(now);
        self.close(now);
        for direction in Direction::ALL {
            let total = std::mem::take(&mut self.directions[direction]);
            self.warmup[direction].add(&total.counts);
        }
        self.intervals.clear();
        self.sync.clear();
        self.unflushed.clear();
        self.gaps.clear();
        (self.measured_from, self.last_done, self.live_start) = (now, now, now);
        let step = self.intervals.step();
        self.live_end = (now / step + 1) * step;
    }

    /// Sum of all service times so far, nanoseconds.
    pub fn service_sum(&self) -> u64 {
        Direction::ALL
            .iter()
            .map(|d| (self.live[*d].clat.sum() + self.directions[*d].clat.sum()) as u64)
            .sum()
    }

    /// Time of the last recorded completion.
    pub fn last_done(&self) -> Nanos {
        Nanos::new(self.last_done)
    }

    /// When the current interval ends: before that the loop need not check anything slow.
    #[inline]
    pub fn next_roll(&self) -> u64 {
        self.live_end
    }

    /// Ends recording at `now`.
    pub fn finish(mut self, now: Nanos) -> Recorded {
        let end = now.get().max(self.last_done);
        if end - self.last_done >= GAP {
            self.note_gap(end, end);
        }
        self.roll(end);
        // An I/O that completed exactly at the end of an interval is in the next one.
        let has_ios = self
            .live
            .iter()
            .any(|(_, live)| live.ios > 0 || live.bad > 0);
        if end > self.live_start || has_ios {
            self.close(end.max(self.live_start + 1));
        }
        if let Some(logger) = self.logger.take() {
            logger.finish(now);
        }
        Recorded {
            directions: self.directions,
            warmup: self.warmup,
            intervals: self.intervals.rest(),
            sync: self.sync,
            sync_failed: self.sync_failed,
            events: self.events,
            gaps: self.gaps,
        }
    }
}

impl Live {
    fn take(&self) -> IntervalDirection {
        IntervalDirection {
            ios: self.ios,
            bytes: self.bytes,
            bad: self.bad,
            clat: SparseHistogram::pack(&self.clat),
            response: SparseHistogram::pack(&self.response),
        }
    }

    fn clear(&mut self) {
        (self.ios, self.bytes, self.bad) = (0, 0, 0);
        self.clat.clear();
        self.response.clear();
    }
}

/// The result of a recorder.
pub(crate) struct Recorded {
    pub directions: PerDirection<DirectionRecording>,
    pub warmup: PerDirection<Counts>,
    pub intervals: Vec<Interval>,
    pub sync: Histogram,
    pub sync_failed: u64,
    pub events: Vec<Event>,
    pub gaps: Vec<Stall>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn recorder(max: usize) -> Recorder {
        let record_options = RecordOptions {
            slat: true,
            clat: true,
            lat: true,
            response: Some(ResponseEnd::Completion),
            lateness: true,
            clat_from_ready: false,
            gaps_in_flight: false,
        };
        Recorder::new(
            record_options,
            Nanos::new(50 * MS),
            Intervals::new(100 * MS, max, None),
            None,
        )
    }

    fn io(planned: u64, ready: u64, issued: u64) -> InFlight {
        InFlight {
            planned,
            ready,
            issued,
            len: 4096,
            ..InFlight::NONE
        }
    }

    #[test]
    fn intervals_without_a_completion_are_zero_and_all_are_aligned_to_the_epoch() {
        let mut r = recorder(100);
        for done in [60, 70, 460] {
            let one = io(55 * MS, 55 * MS, 56 * MS);
            r.sent(&one);
            r.ok(&one, done * MS);
        }
        let recorded = r.finish(Nanos::from_millis(470));
        let ios: Vec<u64> = recorded
            .intervals
            .iter()
            .map(|i| i.directions[Direction::Read].ios)
            .collect();
        let starts: Vec<u64> = recorded
            .intervals
            .iter()
            .map(|i| i.start.as_millis())
            .collect();
        assert_eq!(
            (ios, starts),
            (vec![2, 0, 0, 0, 1], vec![50, 100, 200, 300, 400])
        );
        assert!(recorded.directions[Direction::Read].counts.balanced());
    }

    /// With a slow load an interval ends with its next I/O, which may come late: the sink receives
    /// it before that.
    #[test]
    fn an_idle_load_sends_a_partial_interval_after_half_a_second_and_the_complete_one_at_the_end() {
        use std::sync::mpsc::channel;
        let (sender, received) = channel();
        let sink: crate::IntervalSink = Box::new(move |new| {
            let all = new.iter().flat_map(|(_, intervals)| intervals);
            all.for_each(|i| {
                sender
                    .send((
                        i.start.as_millis(),
                        i.length.as_millis(),
                        i.directions[Direction::Read].ios,
                    ))
                    .expect("received");
            });
        });
        let host = crate::testing::FakeHost::new(|_, _| None)
            .with_scratch(|| Ok(std::io::Cursor::new(Vec::<u8>::new())));
        let host = std::sync::Arc::new(host);
        let archive =
            crate::archive::Archive::open(&host, 1, 100, 500 * MS, Some(sink)).expect("a thread");
        let record_options = RecordOptions {
            slat: true,
            clat: true,
            lat: true,
            response: Some(ResponseEnd::Completion),
            lateness: true,
            clat_from_ready: false,
            gaps_in_flight: false,
        };
        let mut r = Recorder::new(
            record_options,
            Nanos::ZERO,
            Intervals::new(500 * MS, 100, Some(archive.for_job(0))),
            None,
        );
        let done = |r: &mut Recorder, at: u64| {
            r.sent(&io(at * MS, at * MS, at * MS));
            r.ok(&io(at * MS, at * MS, at * MS), at * MS);
        };
        done(&mut r, 100);
        for now in [120, 300, 600, 700, 900, 1300, 1700, 2200] {
            r.idle(now * MS);
        }
        done(&mut r, 2300);
        drop(archive.close());
        let intervals: Vec<(u64, u64, u64)> = received.iter().collect();
        // First the partial interval, once; nothing is sent twice; then the complete one, and the
        // empty ones after it.
        assert_eq!(
            intervals,
            [
                (0, 120, 1),
                (0, 500, 1),
                (500, 500, 0),
                (1000, 500, 0),
                (1500, 500, 0)
            ]
        );
    }

    #[test]
    fn the_three_latencies_add_up_and_response_starts_at_the_due_time() {
        let mut r = recorder(100);
        let one = io(60 * MS, 65 * MS, 66 * MS);
        r.sent(&one);
        r.ok(&one, 70 * MS);
        let recorded = r.finish(Nanos::from_millis(80));
        let d = &recorded.directions[Direction::Read];
        assert_eq!(
            [
                d.slat.sum(),
                d.clat.sum(),
                d.lat.sum(),
                d.response.sum(),
                d.lateness.sum()
            ],
            [1, 4, 5, 10, 6].map(|ms| u128::from(ms * MS))
        );
    }

    /// The time of a flush is that from the end of its submission to its completion.
    #[test]
    fn a_flush_is_counted_with_its_time() {
        let mut r = recorder(100);
        for (issued, done) in [(62, 65), (70, 75)] {
            let flush = InFlight {
                sync: true,
                ..io(60 * MS, 61 * MS, issued * MS)
            };
            r.flushed(&flush, done * MS);
        }
        let recorded = r.finish(Nanos::from_millis(80));
        let times = (recorded.sync.min(), recorded.sync.max());
        assert_eq!(recorded.sync.count(), 2);
        assert_eq!(
            times,
            (Some(Nanos::from_millis(3)), Some(Nanos::from_millis(5)))
        );
    }

    /// fsync(2) covers what was written to its own file and had completed before it began, and nothing else.
    #[test]
    fn a_flush_commits_only_the_writes_of_its_file_that_completed_before_it() {
        let mut r = recorder(100);
        r.record_options.response = Some(ResponseEnd::Flush);
        let write = |file| InFlight {
            direction: Direction::Write,
            file,
            ..io(60 * MS, 60 * MS, 60 * MS)
        };
        for (file, done) in [(0, 61), (1, 62), (0, 66)] {
            r.sent(&write(file));
            r.ok(&write(file), done * MS);
        }
        let mut flush = |file, ready, done| {
            let flush = InFlight {
                sync: true,
                ..io(60 * MS, ready * MS, ready * MS)
            };
            r.flushed(&InFlight { file, ..flush }, done * MS);
            let write = &r.live[Direction::Write];
            (write.response.count(), write.response.sum())
        };
        // The third write completed at 66 ms, after the first flush had begun at 65 ms.
        let of = |ms: u64| u128::from(ms * MS);
        assert_eq!(flush(0, 65, 68), (1, of(8)));
        assert_eq!(flush(1, 69, 70), (2, of(8 + 10)));
        assert_eq!(flush(0, 71, 75), (3, of(8 + 10 + 15)));
        let recorded = r.finish(Nanos::from_millis(80));
        // Flushes of every file are counted.
        assert_eq!(
            (recorded.sync.count(), recorded.sync.sum()),
            (3, of(3 + 1 + 4))
        );
    }

    /// An I/O that fails before the warm-up has ended is part of the warm-up.
    #[test]
    fn an_io_that_fails_in_the_warm_up_is_in_no_figure() {
        let mut r = recorder(100);
        let warm = io(10 * MS, 10 * MS, 10 * MS);
        for moved in [None, Some(1024)] {
            r.sent(&warm);
            r.bad(&warm, moved, 49 * MS);
        }
        let recorded = r.finish(Nanos::from_millis(80));
        let (measured, warmup) = (
            &recorded.directions[Direction::Read],
            recorded.warmup[Direction::Read],
        );
        assert_eq!((warmup.failed, warmup.short, warmup.planned), (1, 1, 2));
        assert_eq!(measured.counts, Counts::default());
        assert_eq!(measured.bad.count(), 0);
        assert!(warmup.balanced());
    }

    /// Regression 0260: I/Os in flight at the end of the warm-up were in no count, so that a slow
    /// device's rate came out too low by a full queue: 400 I/Os in 8 s plus the time of the last
    /// 16, while the device did 50 per second all the time.
    #[test]
    fn io_in_flight_at_the_end_of_the_warm_up_is_measured_on_completion() {
        let mut r = recorder(100);
        // A full queue of 4 on a server that does one I/O every 20 ms; the warm-up ends at 50 ms,
        // the load at 440 ms.
        let (gap, depth) = (20 * MS, 4);
        let ios: Vec<(InFlight, u64)> = (1..=26u64)
            .map(|n| {
                let ready = n.saturating_sub(depth) * gap;
                (io(ready, ready, ready), n * gap)
            })
            .collect();
        for (n, (one, done)) in ios.iter().enumerate() {
            r.sent(one);
            if n == 3 {
                r.bad(one, None, *done);
            } else {
                r.ok(one, *done);
            }
        }
        let recorded = r.finish(Nanos::from_millis(520));
        let (counts, warmup) = (
            recorded.directions[Direction::Read].counts,
            recorded.warmup[Direction::Read],
        );
        assert_eq!((counts.ok, counts.failed, warmup.ok), (23, 1, 2));
        assert!(counts.balanced() && warmup.balanced());
        // 24 in 470 ms: the server's 50 per second, within the part of one I/O before the start.
        assert!(((counts.ok + counts.failed) as f64 / 0.470 - 50.0).abs() < 1.0 / 0.470);
    }

    #[test]
    fn warm_up_short_failed_and_lost_ios_are_counted_separately_and_conserved() {
        let mut r = recorder(100);
        let (warm, good) = (io(10 * MS, 10 * MS, 10 * MS), io(60 * MS, 60 * MS, 60 * MS));
        for one in [&warm, &good, &good, &good, &good] {
            r.sent(one);
        }
        r.ok(&warm, 49 * MS);
        r.ok(&good, 61 * MS);
        r.bad(&good, Some(1024), 62 * MS);
        r.bad(&good, None, 63 * MS);
        r.timed_out(&good);
        r.not_sent(64 * MS, Direction::Read);
        let recorded = r.finish(Nanos::from_millis(80));
        let counts = recorded.directions[Direction::Read].counts;
        assert_eq!(
            (
                counts.planned,
                counts.ok,
                counts.short,
                counts.failed,
                counts.timed_out,
                counts.not_sent
            ),
            (5, 1, 1, 1, 1, 1)
        );
        assert_eq!(
            (
                counts.bytes_requested,
                counts.bytes_ok,
                counts.bytes_short,
                counts.bytes_missing
            ),
            (16384, 4096, 1024, 11264)
        );
        assert!(counts.balanced() && recorded.warmup[Direction::Read].balanced());
        assert_eq!(recorded.directions[Direction::Read].clat.count(), 1);
        assert_eq!(recorded.directions[Direction::Read].bad.count(), 2);
    }

    #[test]
    fn long_runs_keep_a_bounded_number_of_intervals_and_lose_nothing() {
        let mut r = recorder(8);
        for i in 0..1000u64 {
            let at = 50 * MS + i * 37 * MS;
            let one = io(at, at, at);
            r.sent(&one);
            r.ok(&one, at + MS);
        }
        let recorded = r.finish(Nanos::new(50 * MS + 1000 * 37 * MS));
        assert!(
            recorded.intervals.len() <= 9,
            "{}",
            recorded.intervals.len()
        );
        let ios: u64 = recorded
            .intervals
            .iter()
            .map(|i| i.directions[Direction::Read].ios)
            .sum();
        let length: Nanos = recorded.intervals.iter().map(|i| i.length).sum();
        assert_eq!((ios, length), (1000, Nanos::from_millis(37_000)));
        let mut merged = Histogram::new();
        recorded
            .intervals
            .iter()
            .for_each(|i| i.directions[Direction::Read].clat.add_to(&mut merged));
        assert_eq!(merged, recorded.directions[Direction::Read].clat);
    }
}
