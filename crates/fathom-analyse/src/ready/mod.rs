//! Whether a target meets the limits of an application, with verdicts that hold although the measurement ends as soon as it
//! decides.
//!
//! A measurement that is looked at repeatedly and stops at the first decisive look would be wrong more often than its
//! interval says. So the error probability is spent over the looks (Lan and DeMets 1983), here in equal parts: each of
//! [`LOOKS`] intervals is wrong with at most a `LOOKS`-th of it (Bonferroni), so all of them hold together with
//! [`READY_CONFIDENCE`], and so does what they have in common. The interval of a check is that common part: it only becomes
//! narrower, and a verdict never changes back. The looks are spaced geometrically.

mod interval;
mod result;
mod tests;

use fathom_model::{
    BUCKETS, Direction, Histogram, JobRecording, Nanos, Rate, ReadyCheck, ReadyCheckResult,
    ReadyEstimate, ReadyFigure, ReadyLimit, ReadyMetric, ReadyVerdict, Recording,
};

pub use self::result::{ready_on_hosts, ready_result, ready_sentence};

/// The confidence of the intervals of all checks of a profile and all looks together.
pub const READY_CONFIDENCE: f64 = 0.99;
/// The number of looks.
const LOOKS: usize = 10;
/// The first look needs this many blocks: sixteen batches and some more.
const FIRST_LOOK: usize = 20;
/// A block of a long measurement.
const LONGEST_BLOCK: f64 = 0.25;
/// A block of a short measurement: two answers of the workers apart.
const SHORTEST_BLOCK: f64 = 0.1;
/// Blocks of a measurement, if they are not longer or shorter than above.
const BLOCKS: f64 = 240.0;

/// How long the measurement is, and when it is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadyPace {
    /// The longest measurement, seconds.
    pub seconds: f64,
    /// The shortest one, such as one period of a background load.
    pub least: f64,
}

impl ReadyPace {
    /// Length of a block, seconds.
    #[must_use]
    pub fn block(&self) -> f64 {
        (self.seconds / BLOCKS).clamp(SHORTEST_BLOCK, LONGEST_BLOCK)
    }

    /// The number of blocks at look `number`, from 0.
    fn look(&self, number: usize) -> usize {
        let all = (self.seconds / self.block()).max(1.0);
        let first = (self.least / self.block()).max(FIRST_LOOK as f64).min(all);
        let share = number as f64 / (LOOKS - 1) as f64;
        (first * (all / first).powf(share)).ceil() as usize
    }
}

/// The latencies that completed in one part of the measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyBlock {
    /// Its length, seconds.
    pub seconds: f64,
    /// Latencies.
    pub count: u64,
    /// Their sum, nanoseconds.
    pub sum: f64,
    /// Bucket of [`Histogram`] and number of latencies in it. A latency without a bucket is in the one after the last.
    pub counts: Vec<(u32, u32)>,
}

impl LatencyBlock {
    /// A block of these latencies, nanoseconds.
    #[must_use]
    pub fn of(seconds: f64, latencies: &[u64]) -> LatencyBlock {
        let mut histogram = Histogram::new();
        histogram.record_all(latencies);
        LatencyBlock::between(seconds, &Histogram::new(), &histogram)
    }

    /// What was added to `before` to get `after`.
    fn between(seconds: f64, before: &Histogram, after: &Histogram) -> LatencyBlock {
        let mut old = vec![0_u64; BUCKETS];
        before.indexed().for_each(|(bucket, n)| old[bucket] = n);
        let mut counts: Vec<(u32, u32)> = after
            .indexed()
            .map(|(bucket, n)| (bucket as u32, n.saturating_sub(old[bucket]) as u32))
            .filter(|(_, n)| *n > 0)
            .collect();
        let over = after.overflow().saturating_sub(before.overflow());
        if over > 0 {
            counts.push((BUCKETS as u32, over as u32));
        }
        LatencyBlock {
            seconds,
            count: counts.iter().map(|(_, n)| u64::from(*n)).sum(),
            sum: after.sum().saturating_sub(before.sum()) as f64,
            counts,
        }
    }
}

/// The sequential test of one check.
#[derive(Clone, Debug)]
pub struct ReadyTest {
    limit: ReadyLimit,
    pace: ReadyPace,
    /// The error probability of one end of one interval.
    tail: f64,
    /// I/Os that become due per second, in an open loop.
    offered: Option<f64>,
    blocks: Vec<LatencyBlock>,
    total: Histogram,
    looks: usize,
    estimate: ReadyEstimate,
    effective: f64,
    /// The intervals of two looks have nothing in common.
    changed: bool,
}

impl ReadyTest {
    /// A test of `limit`, one of `checks` tests that are right together with [`READY_CONFIDENCE`].
    #[must_use]
    pub fn new(limit: ReadyLimit, pace: ReadyPace, checks: usize) -> ReadyTest {
        ReadyTest {
            limit,
            pace,
            tail: (1.0 - READY_CONFIDENCE) / 2.0 / LOOKS as f64 / checks.max(1) as f64,
            offered: None,
            blocks: Vec::new(),
            total: Histogram::new(),
            looks: 0,
            estimate: ReadyEstimate::default(),
            effective: 0.0,
            changed: false,
        }
    }

    /// The load is an open loop in which so many I/Os become due per second: a rate is then judged by the share of them that
    /// completes. How many random arrivals there were in the measured time says nothing about the disk.
    pub fn set_offered(&mut self, rate: f64) {
        self.offered = Some(rate);
    }

    /// Adds a block, and looks at the measurement when it is time to.
    pub fn add(&mut self, block: LatencyBlock) {
        for (bucket, n) in &block.counts {
            let (first, last) = fathom_model::bucket_range((*bucket as usize).min(BUCKETS));
            self.total.record_n(first.midpoint(last), u64::from(*n));
        }
        self.blocks.push(block);
        if self.looks + 1 < LOOKS && self.blocks.len() >= self.pace.look(self.looks) {
            self.look();
        }
    }

    /// The last look, at the end of the measurement.
    pub fn finish(&mut self) {
        if self.looks < LOOKS {
            self.look();
        }
    }

    fn look(&mut self) {
        self.looks += 1;
        let (found, effective) = match self.limit {
            ReadyLimit::AtMost {
                figure: ReadyFigure::Percentile(percent),
                hard,
                soft,
            } => {
                let limits: Vec<f64> = std::iter::once(hard)
                    .chain(soft)
                    .map(|limit| limit.get() as f64)
                    .collect();
                interval::percentile_interval(
                    &self.blocks,
                    &self.total,
                    percent,
                    &limits,
                    self.tail,
                )
            }
            ReadyLimit::AtMost {
                figure: ReadyFigure::Mean,
                ..
            } => (
                self.ratio(|block| (block.sum, block.count as f64)),
                self.count() as f64,
            ),
            ReadyLimit::AtLeast { .. } => (
                match self.offered {
                    Some(rate) => self.completed(rate),
                    None => self.ratio(|block| (block.count as f64, block.seconds)),
                },
                self.count() as f64,
            ),
        };
        self.effective = effective;
        self.take(found);
    }

    fn ratio(&self, of: impl Fn(&LatencyBlock) -> (f64, f64)) -> ReadyEstimate {
        let parts: Vec<(f64, f64)> = self.blocks.iter().map(of).collect();
        interval::ratio_interval(&parts, self.tail)
    }

    /// The I/Os per second of an open loop: the rate times the share of the due I/Os that completed.
    ///
    /// An I/O that completes now was due its response time ago, and those that became due since then are not complete. So what became
    /// due in a batch of blocks is what completed in it, and as many as become due in the time by which the response time grew. A
    /// response time that goes up and down makes neighbours differ in opposite directions: the batches are as long as possible.
    fn completed(&self, rate: f64) -> ReadyEstimate {
        /// So many arrivals are missing in a row once in 10^8 times.
        const SURELY_SOME: f64 = 20.0;
        let length = (self.blocks.len() / interval::FEWEST_BATCHES).max(1);
        // The delay at the last batch, and at the last one with a completion; how long ago that was.
        let (mut lag, mut base, mut idle) = (None::<f64>, None::<f64>, 0.0);
        let mut parts: Vec<(f64, f64)> = Vec::new();
        for batch in self.blocks.chunks(length) {
            let completed = batch.iter().map(|block| block.count).sum::<u64>() as f64;
            let now = if completed > 0.0 {
                idle = 0.0;
                base = Some(batch.iter().map(|block| block.sum).sum::<f64>() / completed / 1e9);
                base
            } else {
                // Nothing was due for a moment, or the device stands still, and all is late by that time.
                idle += batch.iter().map(|block| block.seconds).sum::<f64>();
                base.filter(|_| idle * rate > SURELY_SOME)
                    .map(|base| base + idle)
            };
            let growth = now.zip(lag).map_or(0.0, |(now, before)| now - before);
            lag = now.or(lag);
            parts.push((completed, completed + rate * growth));
        }
        let due: f64 = parts.iter().map(|part| part.1).sum();
        let share = interval::ratio_interval(&parts, self.tail);
        // One I/O more or less is never excluded.
        let one = if due > 0.0 { 1.0 / due } else { 0.0 };
        ReadyEstimate {
            value: share.value.map(|value| value * rate),
            low: share.low.map(|low| (low - one).max(0.0) * rate),
            high: share.high.map(|high| (high + one) * rate),
        }
    }

    /// Narrows the interval to what it has in common with a new one.
    fn take(&mut self, found: ReadyEstimate) {
        let both = |a: Option<f64>, b: Option<f64>, of: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(of(a, b)),
            (one, other) => one.or(other),
        };
        let low = both(self.estimate.low, found.low, f64::max);
        let high = both(self.estimate.high, found.high, f64::min);
        if low.zip(high).is_some_and(|(low, high)| low > high) {
            self.changed = true;
            self.estimate = found;
            return;
        }
        self.estimate = ReadyEstimate {
            value: found.value.map(|value| {
                let value = low.map_or(value, |low| value.max(low));
                high.map_or(value, |high| value.min(high))
            }),
            low,
            high,
        };
    }

    fn count(&self) -> u64 {
        self.total.count() + self.total.overflow()
    }

    /// Whether the interval is on the good side of a limit (`Some(true)`), on the bad side, or around it.
    fn side(&self, limit: f64) -> Option<bool> {
        let ReadyEstimate { low, high, .. } = self.estimate;
        if self.changed {
            return None;
        }
        if self.limit.is_rate() {
            match (low, high) {
                (Some(low), _) if low >= limit => Some(true),
                (_, Some(high)) if high < limit => Some(false),
                _ => None,
            }
        } else {
            match (low, high) {
                (_, Some(high)) if high <= limit => Some(true),
                (Some(low), _) if low > limit => Some(false),
                _ => None,
            }
        }
    }

    /// The verdict at the last look.
    #[must_use]
    pub fn verdict(&self) -> ReadyVerdict {
        let soft = self.limit.soft().map(|soft| self.side(soft));
        match (self.side(self.limit.hard()), soft) {
            (None, _) => ReadyVerdict::Undecided,
            (Some(false), _) => ReadyVerdict::Fail,
            (Some(true), None | Some(Some(true))) => ReadyVerdict::Pass,
            (Some(true), Some(_)) => ReadyVerdict::Warn,
        }
    }

    /// Whether more measuring cannot change the verdict.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        match self.side(self.limit.hard()) {
            None => self.changed,
            Some(false) => true,
            Some(true) => self
                .limit
                .soft()
                .is_none_or(|soft| self.side(soft).is_some()),
        }
    }

    /// The result of `check`, which has the limit of this test, measured in `step`.
    #[must_use]
    pub fn result(&self, check: &ReadyCheck, step: &str) -> ReadyCheckResult {
        let seconds: f64 = self.blocks.iter().map(|block| block.seconds).sum();
        let verdict = self.verdict();
        let reason = match verdict {
            ReadyVerdict::Undecided if self.changed => Some(
                "the figures changed during the measurement, so one number does not describe them"
                    .to_owned(),
            ),
            ReadyVerdict::Undecided if self.count() == 0 => Some("nothing was measured".to_owned()),
            _ => None,
        };
        ReadyCheckResult {
            check: check.clone(),
            step: step.to_owned(),
            estimate: self.estimate,
            confidence: READY_CONFIDENCE,
            samples: self.count(),
            effective_samples: self.effective,
            seconds,
            rate: (seconds > 0.0 && !self.limit.is_rate()).then(|| self.count() as f64 / seconds),
            verdict,
            reason,
        }
    }
}

/// The checks of one step while its load runs.
#[derive(Clone, Debug)]
pub struct ReadySession {
    checks: Vec<(ReadyCheck, ReadyTest, Histogram)>,
    at: Nanos,
}

impl ReadySession {
    /// A session of `checks`, a part of all `checks_of_profile`.
    #[must_use]
    pub fn new(checks: &[ReadyCheck], pace: ReadyPace, checks_of_profile: usize) -> ReadySession {
        let test = |check: &ReadyCheck| {
            (
                check.clone(),
                ReadyTest::new(check.limit, pace, checks_of_profile),
                Histogram::new(),
            )
        };
        ReadySession {
            checks: checks.iter().map(test).collect(),
            at: Nanos::ZERO,
        }
    }

    /// Takes the state of the run: what completed since the last state is a block of each check.
    pub fn observe(&mut self, state: &Recording) {
        let judged = |job: &str| measured_time(state, job);
        // The time of the slowest answer of a job that is judged.
        let now = self
            .checks
            .iter()
            .filter_map(|(check, ..)| judged(&check.job))
            .min();
        let Some(now) = now.filter(|now| *now > self.at) else {
            return;
        };
        let seconds = now.saturating_sub(self.at).as_secs_f64();
        for (check, test, before) in &mut self.checks {
            let after = latencies(state, &check.job, check.metric);
            if after.count() < before.count() {
                continue;
            }
            if let Some(rate) =
                offered(state, &check.job).filter(|_| check.metric == ReadyMetric::Rate)
            {
                test.set_offered(rate);
            }
            test.add(LatencyBlock::between(seconds, before, &after));
            *before = after;
        }
        self.at = now;
    }

    /// The last look, when the run has ended.
    pub fn finish(&mut self, recording: &Recording) {
        self.observe(recording);
        self.checks
            .iter_mut()
            .for_each(|(_, test, _)| test.finish());
    }

    /// Whether more measuring cannot change a verdict.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.checks.iter().all(|(_, test, _)| test.is_decided())
    }

    /// The results of the checks.
    #[must_use]
    pub fn results(&self, step: &str) -> Vec<ReadyCheckResult> {
        self.checks
            .iter()
            .map(|(check, test, _)| test.result(check, step))
            .collect()
    }
}

fn jobs<'a>(state: &'a Recording, name: &'a str) -> impl Iterator<Item = &'a JobRecording> {
    state
        .plan
        .jobs
        .iter()
        .zip(&state.jobs)
        .filter(move |(plan, _)| plan.name == name)
        .map(|(_, job)| job)
}

/// I/Os of all clones of a job that become due per second; `None` unless each of its directions has such a rate.
fn offered(state: &Recording, name: &str) -> Option<f64> {
    let mut all = 0.0;
    for job in state.plan.jobs.iter().filter(|job| job.name == name) {
        for direction in Direction::ALL {
            if job.pattern.traffic.uses(direction) {
                match job.pace.rate[direction] {
                    Some(Rate::Iops(rate)) => all += rate,
                    _ => return None,
                }
            }
        }
    }
    (all > 0.0).then_some(all)
}

/// How long the clones of a job have been measured; `None` before the first has begun.
fn measured_time(state: &Recording, job: &str) -> Option<Nanos> {
    jobs(state, job)
        .filter(|job| !job.skipped)
        .map(|job| job.ended.saturating_sub(job.measured_from))
        .max()
}

/// The judged latencies of all clones of a job.
fn latencies(state: &Recording, job: &str, metric: ReadyMetric) -> Histogram {
    let mut all = Histogram::new();
    let mut add = |job: &JobRecording, direction: Direction| {
        let seen = &job.directions[direction];
        all.merge(if seen.response.count() > 0 {
            &seen.response
        } else {
            &seen.clat
        });
    };
    for job in jobs(state, job) {
        match metric {
            ReadyMetric::Read => add(job, Direction::Read),
            ReadyMetric::Write => add(job, Direction::Write),
            ReadyMetric::Rate => {
                add(job, Direction::Read);
                add(job, Direction::Write);
            }
            ReadyMetric::Sync => {}
        }
    }
    if metric == ReadyMetric::Sync {
        jobs(state, job).for_each(|job| all.merge(&job.sync));
    }
    all
}
