//! Steady state (`steadystate`): samples the rate or the latency of a job or group until the last
//! samples meet the criterion.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fathom_model::{Nanos, Plan, SteadyMeasure, SteadyRecording, SteadyRule, SteadySample};

use crate::live::{Live, Phase};

/// Watches the jobs of a plan that end once they are steady.
#[derive(Debug, Default)]
pub(super) struct SteadyDetector {
    groups: Vec<SteadyGroup>,
}

/// One job, or the jobs of a group that are reported as one.
#[derive(Debug)]
struct SteadyGroup {
    jobs: Vec<usize>,
    rule: SteadyRule,
    /// Totals at the end of the last interval, and when that was.
    since: Option<(Nanos, Totals)>,
    due: Nanos,
    samples: VecDeque<SteadySample>,
    evaluate: Criterion,
    attained: bool,
}

/// I/Os, bytes, and the sum of their service times.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    ios: u64,
    bytes: u64,
    latency: u64,
}

/// The criterion over the last samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Criterion {
    slope: f64,
    deviation: f64,
    criterion: f64,
}

impl SteadyDetector {
    pub fn new(plan: &Plan) -> SteadyDetector {
        let mut groups: Vec<SteadyGroup> = Vec::new();
        for (index, job) in plan.jobs.iter().enumerate() {
            let Some(rule) = job.limits.steady else {
                continue;
            };
            let joins = |group: &&mut SteadyGroup| {
                let first = &plan.jobs[group.jobs[0]];
                job.group_reporting && first.group_reporting && first.group == job.group
            };
            match groups.iter_mut().find(joins) {
                Some(group) => group.jobs.push(index),
                None => groups.push(SteadyGroup::new(index, rule)),
            }
        }
        SteadyDetector { groups }
    }

    /// Takes the samples that are due at `now`. Returns the jobs that have become steady and may
    /// end.
    pub fn sample(&mut self, lives: &[Arc<Live>], now: Nanos) -> Vec<usize> {
        let open = self.groups.iter_mut().filter(|group| !group.attained);
        open.filter_map(|group| group.sample(lives, now).then(|| group.jobs.clone()))
            .flatten()
            .collect()
    }

    /// What was measured of the jobs of which `job` is the first.
    pub fn recording(&self, job: usize) -> Option<SteadyRecording> {
        self.groups
            .iter()
            .find(|group| group.jobs[0] == job)
            .map(SteadyGroup::recording)
    }
}

impl SteadyGroup {
    fn new(job: usize, rule: SteadyRule) -> SteadyGroup {
        SteadyGroup {
            jobs: vec![job],
            rule,
            since: None,
            due: Nanos::ZERO,
            samples: VecDeque::new(),
            evaluate: Criterion::default(),
            attained: false,
        }
    }

    /// Takes a sample when an interval has ended. True when the state has become steady.
    fn sample(&mut self, lives: &[Arc<Live>], now: Nanos) -> bool {
        let runs = |job: &usize| matches!(lives[*job].phase(), Phase::Running | Phase::Verifying);
        if !self.jobs.iter().any(runs) {
            return false;
        }
        let Some((then, before)) = self.since else {
            // The ramp begins with the load; the first interval begins with its end.
            if self.due.is_zero() {
                self.due = now.saturating_add(self.rule.ramp);
            }
            if now >= self.due {
                self.since = Some((now, self.totals(lives)));
                self.due = now.saturating_add(self.rule.interval);
            }
            return false;
        };
        if now < self.due {
            return false;
        }
        let totals = self.totals(lives);
        self.since = Some((now, totals));
        self.due = self.due.saturating_add(self.rule.interval).max(now);
        self.add(rates(before, totals, now.saturating_sub(then)));
        self.attained
    }

    fn totals(&self, lives: &[Arc<Live>]) -> Totals {
        let mut sum = Totals::default();
        for live in self.jobs.iter().map(|job| &lives[*job]) {
            sum.ios += live.ios.iter().map(|n| n.load(Relaxed)).sum::<u64>();
            sum.bytes += live.bytes.iter().map(|n| n.load(Relaxed)).sum::<u64>();
            sum.latency += live.latency_ns.load(Relaxed);
        }
        sum
    }

    fn add(&mut self, sample: SteadySample) {
        if self.samples.len() == self.rule.samples() {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
        if self.samples.len() == self.rule.samples() {
            let values: Vec<f64> = self
                .samples
                .iter()
                .map(|sample| measured(sample, self.rule.measure))
                .collect();
            self.evaluate = evaluate(&values, &self.rule);
            self.attained = self.evaluate.criterion.abs() < self.rule.limit;
        }
    }

    fn recording(&self) -> SteadyRecording {
        let Criterion {
            slope,
            deviation,
            criterion,
        } = self.evaluate;
        let samples = self.samples.iter().copied().collect();
        SteadyRecording {
            rule: self.rule,
            attained: self.attained,
            slope,
            deviation,
            criterion,
            samples,
        }
    }
}

/// Rates over one interval that lasted `length`.
fn rates(before: Totals, after: Totals, length: Nanos) -> SteadySample {
    let (ios, bytes) = (
        after.ios.saturating_sub(before.ios),
        after.bytes.saturating_sub(before.bytes),
    );
    let per_second =
        |n: u64| (u128::from(n) * 1_000_000_000 / u128::from(length.get().max(1))) as u64;
    let latency = after
        .latency
        .saturating_sub(before.latency)
        .checked_div(ios)
        .unwrap_or(0);
    SteadySample {
        iops: per_second(ios),
        bandwidth: per_second(bytes),
        latency: Nanos::new(latency),
    }
}

fn measured(sample: &SteadySample, measure: SteadyMeasure) -> f64 {
    match measure {
        SteadyMeasure::Iops => sample.iops as f64,
        SteadyMeasure::Bandwidth => sample.bandwidth as f64,
        SteadyMeasure::Latency => sample.latency.get() as f64,
    }
}

/// Slope of the least-squares line in units per sample, largest distance from the mean, and the
/// criterion: the one of the two that the rule names, in percent of the mean where the limit is in
/// percent.
fn evaluate(values: &[f64], rule: &SteadyRule) -> Criterion {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let middle = (n - 1.0) / 2.0;
    let (mut above, mut below, mut deviation) = (0.0, 0.0, 0.0f64);
    for (x, value) in values.iter().enumerate() {
        let dx = x as f64 - middle;
        above += dx * (value - mean);
        below += dx * dx;
        deviation = deviation.max((value - mean).abs());
    }
    let slope = if below > 0.0 { above / below } else { 0.0 };
    let counts = if rule.slope { slope } else { deviation };
    let criterion = match (rule.percent, mean > 0.0) {
        (false, _) => counts,
        (true, true) => 100.0 * counts / mean,
        // No I/O was done: that is not a steady state.
        (true, false) => f64::INFINITY,
    };
    if rule.slope {
        Criterion {
            slope,
            deviation: 0.0,
            criterion,
        }
    } else {
        Criterion {
            slope: 0.0,
            deviation,
            criterion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(slope: bool, limit: f64, percent: bool) -> SteadyRule {
        let (duration, interval) = (Nanos::from_secs(4), Nanos::from_secs(1));
        SteadyRule {
            measure: SteadyMeasure::Iops,
            slope,
            limit,
            percent,
            duration,
            ramp: Nanos::from_secs(2),
            interval,
        }
    }

    #[test]
    fn slope_and_deviation_are_exact() {
        // y = 10 + 2x: slope 2, mean 13, largest distance from it 3.
        let values = [10.0, 12.0, 14.0, 16.0];
        assert_eq!(
            evaluate(&values, &rule(true, 1.0, false)),
            Criterion {
                slope: 2.0,
                deviation: 0.0,
                criterion: 2.0
            }
        );
        assert_eq!(evaluate(&values, &rule(false, 1.0, false)).criterion, 3.0);
        assert!((evaluate(&values, &rule(true, 1.0, true)).criterion - 200.0 / 13.0).abs() < 1e-12);
        assert!(
            (evaluate(&values, &rule(false, 1.0, true)).criterion - 300.0 / 13.0).abs() < 1e-12
        );
        assert!(
            evaluate(&[0.0; 4], &rule(true, 1.0, true))
                .criterion
                .is_infinite()
        );
    }

    /// Totals grow by `rates` in each second. Returns the second in which the state became steady.
    fn steady_after(rule: SteadyRule, rates: &[u64]) -> (Option<usize>, SteadyRecording) {
        let lives = vec![Arc::new(Live::default())];
        lives[0].enter(Phase::Running);
        let mut group = SteadyGroup::new(0, rule);
        let mut ios = 0;
        for (second, rate) in rates.iter().enumerate() {
            lives[0].set_totals(fathom_model::Direction::Read, ios, ios * 4096);
            if group.sample(&lives, Nanos::from_secs(1 + second as u64)) {
                return (Some(second), group.recording());
            }
            ios += rate;
        }
        (None, group.recording())
    }

    #[test]
    fn a_load_that_settles_is_steady_once_its_start_is_outside_the_window() {
        // Two seconds of ramp, then samples 900 700 500 500 500 500: the last four agree.
        let (at, recording) = steady_after(
            rule(false, 10.0, true),
            &[1, 1, 900, 700, 500, 500, 500, 500, 500],
        );
        assert_eq!(at, Some(8));
        assert_eq!(
            recording
                .samples
                .iter()
                .map(|sample| sample.iops)
                .collect::<Vec<_>>(),
            [500; 4]
        );
        assert_eq!((recording.attained, recording.criterion), (true, 0.0));
        assert_eq!(recording.samples[0].bandwidth, 500 * 4096);
    }

    #[test]
    fn a_load_that_keeps_falling_is_not_steady() {
        let rates: Vec<u64> = (0..20).map(|second| 4000 - 100 * second).collect();
        let (at, recording) = steady_after(rule(true, 50.0, false), &rates);
        assert_eq!(
            (at, recording.attained, recording.criterion),
            (None, false, -100.0)
        );
    }
}
