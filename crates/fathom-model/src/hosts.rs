//! One run on several hosts: what each of them contributed, and how their clocks and starts relate.

use crate::{
    ClockFacts, Conditions, Counts, DiskRecording, HostRecording, Nanos, Plan, Recording, RunEnd,
    Stall, TargetRecording,
};

/// One host of a run on several hosts.
///
/// The jobs of a host are adjacent in the plan and in the recording, in the order of [`Recording::hosts`].
#[derive(Clone, Debug, Default)]
pub struct HostPart {
    /// Name of its agent.
    pub name: String,
    /// Number of its jobs; 0 for a host that was lost.
    pub jobs: u32,
    /// Its own epoch, counted from the epoch of the run; the times of its jobs include it, those below do not.
    pub shift: Nanos,
    /// Length of its part.
    pub elapsed: Nanos,
    /// Wall clock of this host at its epoch, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// How this host's part ended.
    pub end: RunEnd,
    /// Why nothing of it was received; `None` where its recording is complete.
    pub lost: Option<String>,
    /// The first job started this long after the planned instant (negative: before), by the corrected clock, nanoseconds.
    pub late_ns: i64,
    /// The largest error of `late_ns`: half of the shortest round trip of a message, and the drift of the clocks.
    pub late_bound_ns: u64,
    /// Wall clock of this host minus that of the controller, nanoseconds.
    pub wall_offset_ns: i64,
    /// Its block devices below the targets.
    pub disks: Vec<DiskRecording>,
    /// Its targets.
    pub targets: Vec<TargetRecording>,
    /// How it read time.
    pub clock: ClockFacts,
    /// The machine.
    pub host: HostRecording,
    /// Conditions while it ran.
    pub conditions: Conditions,
    /// Stalls of its load generator.
    pub stalls: Vec<Stall>,
    /// Its messages.
    pub messages: Vec<String>,
}

impl Recording {
    /// The jobs of each host, as ranges of [`Recording::jobs`]. Empty for a run on one host.
    pub fn host_ranges(&self) -> impl Iterator<Item = (&HostPart, std::ops::Range<usize>)> {
        let mut first = 0;
        self.hosts.iter().map(move |part| {
            let range = first.min(self.jobs.len())
                ..first
                    .saturating_add(part.jobs as usize)
                    .min(self.jobs.len());
            first = range.end;
            (part, range)
        })
    }

    /// Which host a job belongs to; 0 in a run on one host.
    #[must_use]
    pub fn host_of_job(&self, job: usize) -> usize {
        let mut ranges = self.host_ranges();
        ranges
            .position(|(_, range)| range.contains(&job))
            .unwrap_or(0)
    }

    /// What each host recorded, with times from its own epoch, as if it had run alone; hosts that were lost have none.
    #[must_use]
    pub fn of_hosts(&self) -> Vec<Recording> {
        let received = self.host_ranges().filter(|(part, _)| part.lost.is_none());
        received
            .map(|(part, range)| {
                let mut jobs = self.jobs[range.clone()].to_vec();
                for job in &mut jobs {
                    job.shift_times(|at| at.saturating_sub(part.shift));
                }
                let own_jobs = self.plan.jobs.get(range).unwrap_or_default().to_vec();
                Recording {
                    plan: Plan {
                        jobs: own_jobs,
                        ..self.plan.clone()
                    },
                    started_unix_ns: part.started_unix_ns,
                    elapsed: part.elapsed,
                    jobs,
                    disks: part.disks.clone(),
                    targets: part.targets.clone(),
                    clock: part.clock.clone(),
                    host: part.host.clone(),
                    conditions: part.conditions.clone(),
                    stalls: part.stalls.clone(),
                    end: part.end,
                    messages: part.messages.clone(),
                    blame: None,
                    depth_probes: Vec::new(),
                    earlier: None,
                    hosts: Vec::new(),
                }
            })
            .collect()
    }
}

/// One host of a run on several hosts, evaluated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSummary {
    /// Name of its agent.
    pub name: String,
    /// Number of its jobs.
    pub jobs: u32,
    /// Why nothing of it was received.
    pub lost: Option<String>,
    /// How its I/Os ended, over all its jobs and directions.
    pub counts: Counts,
    /// I/Os per second of all directions.
    pub iops: f64,
    /// Bytes per second of all directions.
    pub bandwidth: f64,
    /// Mean service time (clat) of all directions, nanoseconds; `None` where no latency was recorded.
    pub mean_ns: Option<f64>,
    /// Its 99th percentile.
    pub p99_ns: Option<f64>,
    /// See [`HostPart::late_ns`].
    pub late_ns: i64,
    /// See [`HostPart::late_bound_ns`].
    pub late_bound_ns: u64,
    /// See [`HostPart::wall_offset_ns`].
    pub wall_offset_ns: i64,
    /// Kernel release.
    pub kernel: String,
    /// CPUs that its agent may use.
    pub cpus: u32,
    /// Its targets with the device below each, such as `/data/file on nvme0n1`.
    pub targets: Vec<String>,
}
