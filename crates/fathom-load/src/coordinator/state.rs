//! The state of a run while it lasts: a recording built from snapshots of the workers.

use fathom_model::{
    ClockFacts, Conditions, DiskRecording, HostRecording, JobRecording, Nanos, Plan, Recording,
    RunEnd,
};

use super::{Coordinator, RunHooks};
use crate::clock::Clock;
use crate::host::{Host, HostError};
use crate::job_recording;
use crate::live::Phase;

/// Workers answer within 100 ms. One that hangs in an I/O is not waited for longer than this.
const ANSWER_TIMEOUT: u64 = 250_000_000;

/// A receiver of the state of a run.
pub struct States<'a> {
    /// Called often with the time since the run began: whether the state is requested now. True
    /// once for each request.
    pub wanted: &'a mut dyn FnMut(Nanos) -> bool,
    /// Takes the recording so far, with the expected length of the run. I/O in flight counts as
    /// planned and has not ended, and intervals have no latencies.
    pub take: &'a mut dyn FnMut(Recording, Option<Nanos>),
}

/// What every recording of a run begins with.
pub(super) struct RecordingHead {
    pub plan: Plan,
    pub started_unix_ns: u64,
    pub elapsed: Nanos,
}

impl RecordingHead {
    /// A recording without what the caller of the run fills in.
    pub fn recording(self, jobs: Vec<JobRecording>, disks: Vec<DiskRecording>) -> Recording {
        Recording {
            plan: self.plan,
            started_unix_ns: self.started_unix_ns,
            elapsed: self.elapsed,
            jobs,
            disks,
            targets: Vec::new(),
            clock: ClockFacts::default(),
            host: HostRecording::default(),
            conditions: Conditions::default(),
            stalls: Vec::new(),
            end: RunEnd::Completed,
            messages: Vec::new(),
            blame: None,
            depth_probes: Vec::new(),
            earlier: None,
            hosts: Vec::new(),
        }
    }
}

/// The recording of a run of `plan` that could not begin: the job of this name, or all jobs, failed
/// with this error.
#[must_use]
pub fn failed_recording(
    plan: Plan,
    started_unix_ns: u64,
    job: Option<&str>,
    error: &HostError,
) -> Recording {
    let jobs = plan
        .jobs
        .iter()
        .map(|one| match job {
            Some(name) if one.name != name => job_recording::empty(one),
            _ => job_recording::failed(one, error.errno, error.what.clone(), Nanos::ZERO),
        })
        .collect();
    let head = RecordingHead {
        plan,
        started_unix_ns,
        elapsed: Nanos::ZERO,
    };
    head.recording(jobs, Vec::new())
}

impl<H: Host> Coordinator<H> {
    /// Asks the workers when the state is requested, and sends it when all have answered.
    pub(super) fn send_state(&mut self, hooks: &mut RunHooks<'_>) {
        let Some(states) = &mut hooks.states else {
            return;
        };
        let now = self.clock.now();
        match self.state_requested_at {
            None if (states.wanted)(now) => {
                (0..self.lives.len())
                    .filter(|job| self.is_working(*job))
                    .for_each(|job| self.lives[job].request_snapshot());
                self.state_requested_at = Some(now);
            }
            None => return,
            Some(_) => {}
        }
        let requested_at = self.state_requested_at.unwrap_or(now);
        let silent = |job: usize| self.is_working(job) && self.lives[job].snapshot_requested();
        if (0..self.lives.len()).any(silent)
            && now.saturating_sub(requested_at).get() < ANSWER_TIMEOUT
        {
            return;
        }
        self.state_requested_at = None;
        let expected = self.progress().expected;
        (states.take)(self.state(now), expected);
    }

    /// Between its start and the end of its load.
    fn is_working(&self, job: usize) -> bool {
        self.done[job].is_none()
            && matches!(
                self.lives[job].phase(),
                Phase::WarmingUp | Phase::Running | Phase::Verifying
            )
    }

    fn state(&self, now: Nanos) -> Recording {
        let jobs = (0..self.plan.jobs.len())
            .map(|job| self.job_state(job))
            .collect();
        let head = RecordingHead {
            plan: (*self.plan).clone(),
            started_unix_ns: self.unix_start_ns,
            elapsed: now,
        };
        Recording {
            stalls: self.stalls.clone(),
            messages: self.files.messages.clone(),
            ..head.recording(jobs, self.disks())
        }
    }

    /// The final recording of a job, its last answer, or an empty recording when it has not
    /// started.
    fn job_state(&self, job: usize) -> JobRecording {
        let not_started = || JobRecording {
            skipped: true,
            ..job_recording::empty(&self.plan.jobs[job])
        };
        let mut state = self.done[job]
            .clone()
            .or_else(|| self.lives[job].snapshot())
            .unwrap_or_else(not_started);
        state.pace.steady = self.steady.recording(job);
        state
    }
}
