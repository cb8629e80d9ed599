//! Recordings of jobs that did not run or failed to start, which every other recording builds upon.

use fathom_model::{
    Bytes, Histogram, Job, JobError, JobRecording, Nanos, PerDirection, Usage, VerifyCounts,
};

/// The recording of a job that did nothing.
pub(crate) fn empty(job: &Job) -> JobRecording {
    JobRecording {
        engine: job.engine.kind.name().to_owned(),
        fallback: None,
        tid: 0,
        skipped: false,
        launched: Nanos::ZERO,
        measured_from: Nanos::ZERO,
        ended: Nanos::ZERO,
        directions: PerDirection::default(),
        sync: Histogram::new(),
        sync_failed: 0,
        warmup: PerDirection::default(),
        intervals: Vec::new(),
        depth_levels: [0; 7],
        submit_levels: [0; 7],
        complete_levels: [0; 7],
        in_flight_ns: 0,
        usage: Usage::default(),
        error: None,
        errors_continued: 0,
        verify: VerifyCounts::default(),
        pace: Default::default(),
        damages: Vec::new(),
        gaps: Vec::new(),
        verify_state: None,
        events: Vec::new(),
        region: Bytes::ZERO,
        ceiling_iops: None,
        notes: Vec::new(),
        observed: None,
    }
}

/// The recording of a job that could not start or continue.
pub(crate) fn failed(job: &Job, errno: i32, what: String, at: Nanos) -> JobRecording {
    let error = Some(JobError {
        errno,
        operation: what,
        at,
    });
    JobRecording {
        error,
        launched: at,
        measured_from: at,
        ended: at,
        ..empty(job)
    }
}

/// What was used between two readings of the same counters.
pub(crate) fn usage_between(before: Usage, after: Usage) -> Usage {
    Usage {
        user: after.user.saturating_sub(before.user),
        system: after.system.saturating_sub(before.system),
        switches: after.switches.saturating_sub(before.switches),
        major_faults: after.major_faults.saturating_sub(before.major_faults),
        minor_faults: after.minor_faults.saturating_sub(before.minor_faults),
        waited: after.waited.saturating_sub(before.waited),
    }
}
