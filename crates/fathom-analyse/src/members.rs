//! The jobs of an entry.

use fathom_model::{Direction, EngineKind, EventKind, Job, JobRecording, Nanos, Recording};

/// errno of a verify mismatch (EILSEQ).
const MISMATCH: i32 = 84;

/// A job of the plan with its recording.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    pub job: &'a Job,
    pub seen: &'a JobRecording,
}

impl Member<'_> {
    /// Measured time.
    pub(crate) fn run_time(&self) -> Nanos {
        self.seen.ended.saturating_sub(self.seen.measured_from)
    }

    /// Whether no data is transferred.
    pub(crate) fn is_null(&self) -> bool {
        !self.job.engine.kind.moves_data()
    }

    /// Whether this is the I/O of other programs: `fathom observe` and `fathom witness` generate none, so that no depth and no generator limits it.
    pub(crate) fn is_observed(&self) -> bool {
        self.is_of_observe() || self.seen.engine == EngineKind::Exec.name()
    }

    /// Whether `fathom observe` recorded it. A program of `ioengine=exec` runs beside a load of fathom and is not observed.
    pub(crate) fn is_of_observe(&self) -> bool {
        self.seen.engine == "observed"
    }

    /// Time over which its CPU usage was counted, including preparation and warm-up.
    pub(crate) fn cpu_time(&self) -> Nanos {
        self.seen.ended.saturating_sub(self.seen.launched)
    }

    /// Share of that time in which it used a CPU.
    pub(crate) fn cpu_share(&self) -> f64 {
        let used = (self.seen.usage.user + self.seen.usage.system).as_secs_f64();
        let time = self.cpu_time().as_secs_f64();
        if time > 0.0 { used / time } else { 0.0 }
    }

    /// Whether the worker ended without submitting its recording.
    pub(crate) fn died(&self) -> bool {
        self.seen
            .events
            .iter()
            .any(|e| matches!(e.kind, EventKind::WorkerDied { .. }))
    }

    /// errno of the first recorded failed I/O.
    pub(crate) fn first_errno(&self) -> Option<i32> {
        self.seen.events.iter().find_map(|e| match e.kind {
            EventKind::FirstError { errno, .. } => Some(errno),
            EventKind::FirstMismatch { .. } => Some(MISMATCH),
            _ => None,
        })
    }

    /// Whether its I/O loop ran: the job started, and does more than create files or verify
    /// existing data.
    pub(crate) fn does_io(&self) -> bool {
        let only_checks = self.job.verify.as_ref().is_some_and(|verify| verify.only);
        let writes = self.job.pattern.traffic.uses(Direction::Write);
        let only_verifies = only_checks && writes;
        !(self.seen.skipped || self.job.files.layout.create_only || only_verifies)
    }

    /// Whether any I/O completed successfully.
    pub(crate) fn did_io(&self) -> bool {
        self.seen.directions.iter().any(|(_, d)| d.counts.ok > 0)
    }
}

/// Jobs by entry: one entry each, or one for adjacent jobs of a reporting group with
/// `group_reporting`, as in fio.
pub(crate) fn entries(recording: &Recording) -> Vec<Vec<Member<'_>>> {
    let mut entries: Vec<Vec<Member<'_>>> = Vec::new();
    let mut host_of_last = 0;
    for (place, (job, seen)) in recording.plan.jobs.iter().zip(&recording.jobs).enumerate() {
        // fio omits a job with stats=0; its error still ends the run with a failure.
        if job.accounting.hidden && seen.error.is_none() {
            continue;
        }
        let member = Member { job, seen };
        // Hosts keep their own entries; their sum is the total.
        let host = recording.host_of_job(place);
        let is_same_host = std::mem::replace(&mut host_of_last, host) == host;
        match entries.last_mut() {
            Some(last) if is_same_host && joins(job, last[last.len() - 1].job) => last.push(member),
            _ => entries.push(vec![member]),
        }
    }
    entries
}

fn joins(job: &Job, before: &Job) -> bool {
    job.group_reporting && before.group_reporting && job.group == before.group
}
