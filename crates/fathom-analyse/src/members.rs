//! Which jobs make up an entry.

use fathom_model::{Direction, EventKind, Job, JobRecording, Nanos, Recording};

/// A job as planned and as it went.
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

    /// Whether nothing is really moved.
    pub(crate) fn is_null(&self) -> bool {
        !self.job.engine.kind.moves_data()
    }

    /// Time over which its CPU usage was counted: preparation and warm-up are in it.
    pub(crate) fn cpu_time(&self) -> Nanos {
        self.seen.ended.saturating_sub(self.seen.launched)
    }

    /// Whether the worker ended without handing over its recording.
    pub(crate) fn died(&self) -> bool {
        self.seen
            .events
            .iter()
            .any(|e| matches!(e.kind, EventKind::WorkerDied { .. }))
    }

    /// errno of the first failed I/O that was noted.
    pub(crate) fn first_errno(&self) -> Option<i32> {
        self.seen.events.iter().find_map(|e| match e.kind {
            EventKind::FirstError { errno, .. } => Some(errno),
            _ => None,
        })
    }

    /// Whether its loop of I/O was entered: it began, and was neither to lay files out nor to check what is there only.
    pub(crate) fn does_io(&self) -> bool {
        let only_checks = self.job.verify.as_ref().is_some_and(|verify| verify.only);
        let writes = self.job.pattern.traffic.uses(Direction::Write);
        let only_verifies = only_checks && writes;
        !(self.seen.skipped || self.job.files.layout.create_only || only_verifies)
    }

    /// Whether any I/O ended well in any direction.
    pub(crate) fn did_io(&self) -> bool {
        self.seen.directions.iter().any(|(_, d)| d.counts.ok > 0)
    }
}

/// Jobs by entry: each alone, neighbours of one reporting group together where `group_reporting` asks, as in fio.
pub(crate) fn entries(recording: &Recording) -> Vec<Vec<Member<'_>>> {
    let mut entries: Vec<Vec<Member<'_>>> = Vec::new();
    for (job, seen) in recording.plan.jobs.iter().zip(&recording.jobs) {
        // fio leaves a job with stats=0 out; its error still ends the run with a failure.
        if job.accounting.hidden && seen.error.is_none() {
            continue;
        }
        let member = Member { job, seen };
        match entries.last_mut() {
            Some(last) if joins(job, last[last.len() - 1].job) => last.push(member),
            _ => entries.push(vec![member]),
        }
    }
    entries
}

fn joins(job: &Job, before: &Job) -> bool {
    job.group_reporting && before.group_reporting && job.group == before.group
}
