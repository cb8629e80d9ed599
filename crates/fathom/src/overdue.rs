//! Reports a job that does not end although its runtime is over: its target does not complete the I/O in flight.

use fathom_model::{JobPhase, Nanos, Plan, Progress};

/// How long after its runtime a job may take for the I/O in flight before it is reported.
const GRACE_PERIOD: Nanos = Nanos::from_secs(2);

/// Watches the runtimes of the jobs.
pub struct Overdue(Vec<WatchedJob>);

struct WatchedJob {
    name: String,
    target: String,
    /// Warm-up and runtime; `None` for a job that ends by its amount.
    length: Option<Nanos>,
    started: Option<Nanos>,
    reported: bool,
}

impl Overdue {
    /// Nothing has started yet.
    pub fn new(plan: &Plan) -> Overdue {
        let jobs = plan.jobs.iter().map(|job| WatchedJob {
            name: job.name.clone(),
            target: job
                .files
                .paths
                .first()
                .map_or_else(String::new, |path| format!(" on {}", path.display())),
            length: job.limits.runtime.map(|runtime| runtime + job.limits.ramp),
            started: None,
            reported: false,
        });
        Overdue(jobs.collect())
    }

    /// A message for the first job that is overdue and was not reported before.
    pub fn message(&mut self, progress: &Progress) -> Option<String> {
        let now = progress.elapsed;
        let mut message = None;
        for (job, phase) in self.0.iter_mut().zip(&progress.jobs) {
            if !matches!(phase, JobPhase::WarmingUp | JobPhase::Running(_)) {
                continue;
            }
            let started = *job.started.get_or_insert(now);
            let Some(end) = job.length.map(|length| started + length) else {
                continue;
            };
            let late = now.saturating_sub(end);
            if late >= GRACE_PERIOD && !job.reported && message.is_none() {
                job.reported = true;
                message = Some(format!(
                    "{}: its runtime ended {:.0} s ago; waiting for I/O in flight{}. A second interrupt (Ctrl-C) ends the run without it",
                    job.name,
                    late.as_secs_f64(),
                    job.target
                ));
            }
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{Job, JobPattern};

    use super::*;

    #[test]
    fn a_job_beyond_its_runtime_is_reported_once() {
        let mut job = Job {
            name: "x".to_owned(),
            ..Job::default()
        };
        job.files.paths = vec!["/data/file".into()];
        job.limits.runtime = Some(Nanos::from_secs(4));
        let plan = Plan {
            jobs: vec![job],
            ..Plan::default()
        };
        let pattern = JobPattern {
            random: true,
            reads: true,
            writes: false,
            trims: false,
        };
        let mut overdue = Overdue::new(&plan);
        let mut at = |seconds| {
            overdue.message(&Progress {
                jobs: vec![JobPhase::Running(pattern)],
                elapsed: Nanos::from_secs(seconds),
                ..Progress::default()
            })
        };
        assert_eq!((at(1), at(5), at(6)), (None, None, None));
        let message = at(7).expect("2 s after its end at 5 s");
        assert!(
            message.starts_with(
                "x: its runtime ended 2 s ago; waiting for I/O in flight on /data/file."
            ),
            "{message}"
        );
        assert_eq!(at(8), None, "once");
    }

    /// The runtime begins after the warm-up: 10 s and 4 s from its start at 1 s end at 15 s.
    #[test]
    fn a_warm_up_is_not_part_of_the_runtime() {
        let mut job = Job::default();
        job.limits.runtime = Some(Nanos::from_secs(4));
        job.limits.ramp = Nanos::from_secs(10);
        let plan = Plan {
            jobs: vec![job],
            ..Plan::default()
        };
        let mut overdue = Overdue::new(&plan);
        let mut at = |seconds| {
            let progress = Progress {
                jobs: vec![JobPhase::WarmingUp],
                elapsed: Nanos::from_secs(seconds),
                ..Progress::default()
            };
            overdue.message(&progress).is_some()
        };
        let reported = [1, 7, 14, 16, 17, 18].map(&mut at);
        assert_eq!(reported, [false, false, false, false, true, false]);
    }
}
