//! When the I/Os of one worker may start: due times, pauses, the other jobs of a flow, a latency
//! target, minimum rates.

use fathom_model::{Direction, Job, Nanos};

use super::MAX_WAIT;
use super::depth_search::{DepthSearch, Step};
use super::min_rate::MinRate;
use super::pause::Pause;
use super::queue::IoQueue;
use crate::arrivals::{MixedRates, Schedule};
use crate::engine::Wait;
use crate::flow::Member;

/// Due times of an open loop; none in a closed loop.
#[derive(Default)]
pub(super) struct DueTimes {
    schedule: Option<Schedule>,
    /// Of a mix, instead of `schedule`.
    mixed: Option<Box<MixedRates>>,
    open_loop: bool,
}

/// The rules that hold the I/O of a job back. A job without any pays for none.
pub(super) struct Pacing {
    due_times: DueTimes,
    pause: Option<Pause>,
    flow: Option<Member>,
    search: Option<Box<DepthSearch>>,
    min_rate: Option<Box<MinRate>>,
    separates_overlaps: bool,
    /// There are rules other than due times.
    holds_back: bool,
}

impl Pacing {
    /// The pacing of a job that was launched at `launched` with a queue of `depth`. With
    /// `separates_overlaps` an I/O waits for those in flight that touch the same bytes.
    pub fn new(
        job: &Job,
        depth: u32,
        launched: Nanos,
        measured_from: Nanos,
        flow: Option<Member>,
        separates_overlaps: bool,
    ) -> Pacing {
        let pause = job
            .pace
            .think
            .map(|think| Pause::new(think, launched.get()));
        let search = job
            .pace
            .latency
            .map(|target| Box::new(DepthSearch::new(target, depth, measured_from.get())));
        let min_rate = MinRate::new(job, measured_from).map(Box::new);
        let separates_overlaps = separates_overlaps || job.pace.serialize_overlap;
        let schedule = Schedule::new(job, launched);
        let mixed = MixedRates::new(job, launched).map(Box::new);
        Pacing {
            holds_back: mixed.is_some()
                || pause.is_some()
                || flow.is_some()
                || search.is_some()
                || min_rate.is_some()
                || separates_overlaps,
            due_times: DueTimes {
                open_loop: schedule.is_some() || mixed.is_some(),
                schedule,
                mixed,
            },
            pause,
            flow,
            search,
            min_rate,
            separates_overlaps,
        }
    }

    /// Whether I/Os have due times.
    #[inline]
    pub fn is_open_loop(&self) -> bool {
        self.due_times.open_loop
    }

    /// Whether the next I/O of the script is drawn for the direction that is due, see
    /// [`Pacing::choose_direction`].
    #[inline]
    pub fn chooses_direction(&self) -> bool {
        self.due_times.mixed.is_some()
    }

    /// Whether [`Pacing::admit`] and its relatives decide before an I/O starts.
    #[inline]
    pub fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// Whether an I/O waits for those in flight that touch the same bytes.
    pub fn separates_overlaps(&self) -> bool {
        self.separates_overlaps
    }

    /// Whether latencies decide on the depth, see [`Pacing::keeps_latency`].
    #[inline]
    pub fn searches_depth(&self) -> bool {
        self.search.is_some()
    }

    /// When the next I/O of an open loop is due.
    #[inline]
    pub fn due(&self) -> Option<u64> {
        match (&self.due_times.schedule, &self.due_times.mixed) {
            (Some(schedule), _) => Some(schedule.due()),
            (None, Some(mixed)) => Some(mixed.first_due()?.1),
            (None, None) => None,
        }
    }

    /// The direction of a mix that may start an I/O at `now`, and since when it is due; the one of
    /// an I/O that has been drawn already is `fixed`.
    pub fn choose_direction(
        &mut self,
        fixed: Option<Direction>,
        now: u64,
    ) -> Option<(Direction, u64)> {
        self.due_times.mixed.as_mut()?.choose(fixed, now)
    }

    /// The direction of a mix whose I/O may start first.
    pub fn first_direction(&self) -> Option<Direction> {
        let mixed = self.due_times.mixed.as_ref()?;
        mixed.unrated().or_else(|| Some(mixed.first_due()?.0))
    }

    /// The direction of a mix with a rate whose I/O is due first, and when.
    pub fn first_due_direction(&self) -> Option<(Direction, u64)> {
        self.due_times.mixed.as_ref()?.first_due()
    }

    /// Proceeds to the due time after an I/O of `len` bytes of a mix.
    pub fn advance_direction(&mut self, direction: Direction, len: u32) {
        if let Some(mixed) = &mut self.due_times.mixed {
            mixed.advance(direction, len);
        }
    }

    /// The due time of an I/O that may start at `now`; `None` when it is not due. In a closed loop
    /// it is due now.
    #[inline]
    pub fn planned(&self, now: u64) -> Option<u64> {
        match &self.due_times.schedule {
            None => Some(now),
            Some(schedule) if schedule.due() <= now => Some(schedule.due()),
            Some(_) => None,
        }
    }

    /// Proceeds to the due time after an I/O of `len` bytes.
    #[inline]
    pub fn advance(&mut self, len: u32) {
        if let Some(schedule) = &mut self.due_times.schedule {
            schedule.advance(len);
        }
    }

    /// Sets the due time of the next I/O, as a log gives it.
    #[inline]
    pub fn set_due(&mut self, due: u64) {
        if let Some(schedule) = &mut self.due_times.schedule {
            schedule.set(due);
        }
    }

    /// Suspends due times for a verify pass. Returns them for [`Pacing::resume`].
    pub fn suspend(&mut self) -> DueTimes {
        std::mem::take(&mut self.due_times)
    }

    /// Resumes due times after a verify pass.
    pub fn resume(&mut self, due_times: DueTimes) {
        self.due_times = due_times;
    }

    /// `n` I/Os were submitted.
    #[inline]
    pub fn submitted(&mut self, n: u64) {
        if let Some(pause) = &mut self.pause {
            pause.submitted(n);
        }
    }

    /// An I/O completed.
    #[inline]
    pub fn completed(&mut self, now: u64) {
        if let Some(pause) = &mut self.pause {
            pause.completed(now);
        }
    }

    /// Whether a pause is in progress, with `busy` I/Os in the batch and in flight. Returns until
    /// when the CPU is kept busy in it, or 0 if it is not.
    pub fn pause(&mut self, busy: u32, now: u64) -> Option<u64> {
        let pause = self.pause.as_mut()?;
        let DueTimes {
            schedule, mixed, ..
        } = &mut self.due_times;
        let postpone = |by| {
            if let Some(schedule) = schedule {
                schedule.postpone(by);
            }
            if let Some(mixed) = mixed {
                mixed.postpone(by);
            }
        };
        pause
            .is_active(u64::from(busy), now, postpone)
            .then(|| pause.busy_until())
    }

    /// The end of the pause in progress at `now`.
    pub fn pause_end(&self, now: u64) -> Option<u64> {
        self.pause.map(|pause| pause.end()).filter(|end| now < *end)
    }

    /// How many of `wanted` I/Os may start now, with `waiting` in the batch and `busy` there or in
    /// flight. They count as started until [`Pacing::give_back`].
    pub fn admit(&mut self, wanted: usize, waiting: usize, busy: u32, now: u64) -> usize {
        let by_pause = self
            .pause
            .as_ref()
            .map_or(wanted, |pause| pause.room(waiting, busy));
        let by_depth = self
            .search
            .as_ref()
            .map_or(wanted, |search| search.room(busy));
        let wanted = wanted.min(by_pause).min(by_depth);
        self.flow
            .as_mut()
            .map_or(wanted, |flow| flow.claim(wanted, now))
    }

    /// `unused` I/Os that were admitted did not start.
    pub fn give_back(&mut self, unused: usize) {
        if let Some(flow) = &mut self.flow {
            flow.unclaim(unused);
        }
    }

    /// When the next I/O may start by its due time and its flow. Lets other threads run while that
    /// is now.
    pub fn next_start(&self, now: u64) -> u64 {
        let due = if self
            .due_times
            .mixed
            .as_ref()
            .is_some_and(|mixed| mixed.unrated().is_some())
        {
            now
        } else {
            self.due().unwrap_or(now)
        };
        let Some(flow) = &self.flow else { return due };
        if flow.until() <= now {
            std::thread::yield_now();
        }
        due.max(flow.until())
    }

    /// How long the next reap waits: until something may start that there is room for.
    #[inline]
    pub fn wait(&self, queue: &IoQueue, now: u64) -> Wait {
        if !self.due_times.open_loop && self.pause.is_none() {
            return queue.wait();
        }
        let mut until = now + MAX_WAIT;
        if queue.has_room() {
            if let Some(due) = self.due() {
                until = until.min(due.max(now));
            }
            if let Some(end) = self.pause_end(now) {
                until = until.min(end);
            }
        }
        queue.wait_for(until - now)
    }

    /// The next step of the search for a depth, with `busy` I/Os in flight or waiting to be
    /// submitted.
    pub fn judge_depth(&mut self, busy: u32, now: u64) -> Option<Step> {
        self.search.as_mut().map(|search| search.judge(busy, now))
    }

    /// Passes the latency of an I/O to the search for a depth. False when not even one I/O at a
    /// time meets the target.
    pub fn keeps_latency(&mut self, latency: u64) -> bool {
        self.search
            .as_mut()
            .is_none_or(|search| search.completed(latency))
    }

    /// The depth that was found, where one was searched.
    pub fn depth(&self) -> Option<u32> {
        self.search.as_ref().map(|search| search.depth())
    }

    /// Why the job is too slow, judged once a cycle by the I/Os and bytes `done` so far.
    pub fn judge_rate(
        &mut self,
        done: impl FnOnce() -> [(u64, u64); 3],
        now: u64,
    ) -> Option<String> {
        let min_rate = self.min_rate.as_mut().filter(|rate| rate.is_due(now))?;
        min_rate.judge(done(), now)
    }

    /// The other jobs of the flow need not wait for this one any more.
    pub fn leave_flow(&mut self) {
        self.flow = None;
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{Access, Direction, LatencyTarget, Queue, Rate, Think, Traffic};

    use super::super::POLL;
    use super::*;
    use crate::testing::job;

    const MS: u64 = 1_000_000;

    fn read_job(change: impl FnOnce(&mut Job)) -> Job {
        let mut job = job(Traffic::Read, Access::Sequential { skip: 0 });
        change(&mut job);
        job
    }

    fn pacing(change: impl FnOnce(&mut Job)) -> Pacing {
        let job = read_job(change);
        Pacing::new(&job, 8, Nanos::ZERO, Nanos::ZERO, None, false)
    }

    fn queue() -> IoQueue {
        let options = Queue {
            depth: 8,
            batch_submit: 8,
            batch_complete_min: 1,
            batch_complete_max: 8,
            low: 8,
        };
        IoQueue::new(8, options)
    }

    fn think() -> Think {
        Think {
            time: Nanos::from_millis(30),
            spin: Nanos::from_millis(5),
            blocks: 4,
            by_issue: true,
            io_time: Nanos::ZERO,
            ignored_by_rate: false,
        }
    }

    #[test]
    fn a_closed_loop_holds_nothing_back() {
        let mut pacing = pacing(|_| ());
        assert!(!pacing.is_open_loop() && !pacing.holds_back() && !pacing.searches_depth());
        assert_eq!((pacing.due(), pacing.planned(7)), (None, Some(7)));
        assert_eq!(pacing.admit(5, 0, 3, 7), 5);
        assert_eq!(pacing.next_start(7), 7);
        assert_eq!(pacing.wait(&queue(), 7).limit, Some(Nanos::new(MAX_WAIT)));
    }

    #[test]
    fn an_open_loop_waits_for_its_due_times() {
        let mut pacing = pacing(|job| job.pace.rate[Direction::Read] = Some(Rate::Iops(1000.0)));
        assert!(pacing.is_open_loop() && !pacing.holds_back());
        assert_eq!(pacing.planned(5 * MS), Some(0));
        pacing.advance(4096);
        assert_eq!((pacing.planned(MS - 1), pacing.due()), (None, Some(MS)));
        assert_eq!(pacing.planned(3 * MS), Some(MS), "late I/O keeps its time");
        let limit = Nanos::new(MS - POLL);
        assert_eq!(pacing.wait(&queue(), 0).limit, Some(limit));
        assert_eq!(pacing.wait(&queue(), MS - 1).at_least, 0, "it polls");
        let schedule = pacing.suspend();
        assert_eq!(pacing.planned(0), Some(0), "a verify pass is a closed loop");
        pacing.resume(schedule);
        assert_eq!(pacing.next_start(0), MS);
    }

    #[test]
    fn a_pause_admits_what_is_left_before_it_and_then_nothing() {
        let mut pacing = pacing(|job| job.pace.think = Some(think()));
        assert!(pacing.holds_back());
        assert_eq!(pacing.admit(8, 1, 1, 0), 3);
        assert_eq!((pacing.pause(0, 0), pacing.pause_end(0)), (None, None));
        pacing.submitted(4);
        assert_eq!(pacing.admit(8, 0, 0, MS), 0);
        // The pause begins once nothing is in flight. Its first 5 ms are busy.
        assert!(pacing.pause(4, MS).is_some());
        assert_eq!(pacing.pause(0, 2 * MS), Some(7 * MS));
        assert_eq!(pacing.pause_end(2 * MS), Some(32 * MS));
        assert_eq!(pacing.pause(0, 32 * MS), None);
        assert_eq!(pacing.admit(8, 0, 0, 32 * MS), 4);
    }

    #[test]
    fn a_latency_target_limits_the_depth() {
        let mut pacing = pacing(|job| {
            job.pace.latency = Some(LatencyTarget {
                limit: Nanos::new(100),
                window: Nanos::from_millis(1),
                percentile: 100.0,
                continuous: false,
            });
        });
        assert!(pacing.holds_back() && pacing.searches_depth());
        assert_eq!((pacing.admit(8, 0, 0, 0), pacing.admit(8, 0, 1, 0)), (1, 0));
        assert!(pacing.keeps_latency(50));
        assert_eq!(pacing.judge_depth(0, MS), Some(Step::Continue));
        assert_eq!((pacing.depth(), pacing.admit(8, 0, 0, MS)), (Some(2), 2));
    }

    #[test]
    fn overlaps_are_separated_where_the_job_or_its_verification_needs_it() {
        let serialized = pacing(|job| job.pace.serialize_overlap = true);
        assert!(serialized.holds_back() && serialized.separates_overlaps());
        let verified = Pacing::new(&read_job(|_| ()), 8, Nanos::ZERO, Nanos::ZERO, None, true);
        assert!(verified.holds_back() && verified.separates_overlaps());
    }

    #[test]
    fn a_job_below_its_minimum_rate_is_too_slow() {
        let mut pacing = pacing(|job| {
            job.pace.rate_min[Direction::Read] = Some(Rate::Iops(100.0));
            job.pace.rate_cycle = Nanos::from_secs(1);
        });
        assert!(pacing.holds_back());
        let second = |n: u64| n * 1_000_000_000;
        let done = |ios: u64| move || [(ios, 0), (0, 0), (0, 0)];
        assert_eq!(pacing.judge_rate(done(0), second(2)), None);
        assert_eq!(pacing.judge_rate(done(100), second(3)), None);
        let message = pacing.judge_rate(done(199), second(4));
        assert!(message.is_some_and(|message| message.contains("99 reads per second")));
    }
}
