//! How a run stands while it lasts: a recording put together from what the workers answer.

use fathom_model::{
    ClockFacts, Conditions, DiskRecording, HostRecording, JobRecording, Nanos, Plan, Recording,
    RunEnd,
};

use super::{Coordinator, Watch};
use crate::clock::Clock;
use crate::host::Host;
use crate::job_recording;
use crate::live::Phase;

/// Workers look up at least every 100 ms; one that hangs in an I/O is not waited for longer than
/// this.
const PATIENCE: u64 = 250_000_000;

/// Somebody who wants to know how the run stands.
pub struct States<'a> {
    /// Asked often, with the time since the run began: whether the state is wanted now. True once
    /// for each wish.
    pub wanted: &'a mut dyn FnMut(Nanos) -> bool,
    /// Takes the recording so far, with the length the run is expected to have. I/O in flight is
    /// planned and has no end in it, and intervals come without latencies.
    pub take: &'a mut dyn FnMut(Recording, Option<Nanos>),
}

/// What every recording of a run begins with.
pub(super) struct Frame {
    pub plan: Plan,
    pub started_unix_ns: u64,
    pub elapsed: Nanos,
}

impl Frame {
    /// A recording with what the caller of the run fills in left empty.
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
        }
    }
}

impl<H: Host + Send + 'static> Coordinator<H> {
    /// Asks the workers when the state is wanted, and passes their answers on when all are in.
    pub(super) fn tell_state(&mut self, watch: &mut Watch<'_>) {
        let Some(states) = &mut watch.states else {
            return;
        };
        let now = self.clock.now();
        match self.state_asked_at {
            None if (states.wanted)(now) => {
                (0..self.lives.len())
                    .filter(|job| self.is_at_work(*job))
                    .for_each(|job| self.lives[job].request_snapshot());
                self.state_asked_at = Some(now);
            }
            None => return,
            Some(_) => {}
        }
        let asked_at = self.state_asked_at.unwrap_or(now);
        let silent = |job: usize| self.is_at_work(job) && self.lives[job].snapshot_requested();
        if (0..self.lives.len()).any(silent) && now.saturating_sub(asked_at).get() < PATIENCE {
            return;
        }
        self.state_asked_at = None;
        let expected = self.progress().expected;
        (states.take)(self.state(now), expected);
    }

    /// Between its start and the end of its load.
    fn is_at_work(&self, job: usize) -> bool {
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
        let frame = Frame {
            plan: (*self.plan).clone(),
            started_unix_ns: self.unix_start_ns,
            elapsed: now,
        };
        Recording {
            stalls: self.stalls.clone(),
            messages: self.ready.messages.clone(),
            ..frame.recording(jobs, self.disks())
        }
    }

    /// What the job left, what it answered, or nothing where it has not begun.
    fn job_state(&self, job: usize) -> JobRecording {
        let not_begun = || JobRecording {
            skipped: true,
            ..job_recording::empty(&self.plan.jobs[job])
        };
        let mut state = self.done[job]
            .clone()
            .or_else(|| self.lives[job].snapshot())
            .unwrap_or_else(not_begun);
        state.pace.steady = self.steady.recording(job);
        state
    }
}
