//! The hosts of a run on several hosts, each as one row.

use fathom_model::{
    Counts, Direction, HostPart, HostSummary, JobRecording, Nanos, Recording, TargetRecording,
};

use crate::latency::merged;

/// One summary for each host; empty for a run on one host.
pub(crate) fn summaries(recording: &Recording) -> Vec<HostSummary> {
    recording
        .host_ranges()
        .map(|(part, range)| summary(part, &recording.jobs[range]))
        .collect()
}

fn summary(part: &HostPart, jobs: &[JobRecording]) -> HostSummary {
    let mut counts = Counts::default();
    for job in jobs {
        for direction in Direction::ALL {
            counts.add(&job.directions[direction].counts);
        }
    }
    let seconds = span(jobs).as_secs_f64();
    let per_second = |amount: u64| {
        if seconds > 0.0 {
            amount as f64 / seconds
        } else {
            0.0
        }
    };
    let clat = merged(
        jobs.iter()
            .flat_map(|job| job.directions.iter().map(|(_, d)| &d.clat)),
    );
    HostSummary {
        name: part.name.clone(),
        jobs: part.jobs,
        lost: part.lost.clone(),
        counts,
        iops: per_second(counts.ok),
        bandwidth: per_second(counts.bytes_ok),
        mean_ns: (clat.count() > 0).then(|| clat.mean()),
        p99_ns: clat.percentile(99.0),
        late_ns: part.late_ns,
        late_bound_ns: part.late_bound_ns,
        wall_offset_ns: part.wall_offset_ns,
        kernel: part.host.kernel.clone(),
        cpus: part.host.cpus,
        targets: part.targets.iter().map(target).collect(),
    }
}

/// From the first measured I/O of any of its jobs to the last one.
fn span(jobs: &[JobRecording]) -> Nanos {
    let ran = || jobs.iter().filter(|job| !job.skipped);
    let from = ran().map(|job| job.measured_from).min().unwrap_or_default();
    let to = ran().map(|job| job.ended).max().unwrap_or_default();
    to.saturating_sub(from)
}

fn target(target: &TargetRecording) -> String {
    match target.devices.first() {
        Some(device) => format!("{} on {}", target.path.display(), device.before.name),
        None => target.path.display().to_string(),
    }
}
