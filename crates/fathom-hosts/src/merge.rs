//! Several recordings as one.

use std::collections::BTreeMap;

use fathom_model::{
    Bytes, ClockFacts, Conditions, HostPart, HostRecording, Nanos, Plan, Recording, RunEnd,
};

/// A host of a run with its recording.
#[derive(Clone, Debug)]
pub struct ReceivedHost {
    /// Its name.
    pub name: String,
    /// Its recording, or why there is none.
    pub recording: Result<Recording, String>,
    /// The recording ends before the host did: why.
    pub partial: Option<String>,
    /// The start of its load after the planned instant, by the corrected clock, nanoseconds.
    pub epoch_late_ns: i64,
    /// The largest error of that.
    pub late_bound_ns: u64,
    /// Wall clock of the host minus that of the controller, nanoseconds.
    pub wall_offset_ns: i64,
}

/// Why recordings cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// No host has one.
    Nothing,
    /// Two of them have intervals of different lengths.
    Intervals {
        /// The host with the first length.
        one: String,
        /// The other one.
        other: String,
    },
}

impl std::fmt::Display for MergeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MergeError::Nothing => f.write_str("no host returned a recording"),
            MergeError::Intervals { one, other } => write!(
                f,
                "{one} and {other} recorded intervals of different lengths; install the same version on all hosts"
            ),
        }
    }
}

impl std::error::Error for MergeError {}

/// All recordings as one: the jobs of all hosts, named `HOST:JOB`, with times from the start of the first host. Nothing is added
/// up here, so that nothing is rounded: totals come from the distributions of the jobs. `plan` is that of the controller.
///
/// # Errors
/// When there is nothing to merge.
pub fn merge(plan: &Plan, hosts: Vec<ReceivedHost>) -> Result<Recording, MergeError> {
    let received = || {
        hosts
            .iter()
            .filter_map(|host| Some((host, host.recording.as_ref().ok()?)))
    };
    let (first, one) = received().next().ok_or(MergeError::Nothing)?;
    let interval = one.plan.interval;
    if let Some((other, _)) = received().find(|(_, other)| other.plan.interval != interval) {
        return Err(MergeError::Intervals {
            one: first.name.clone(),
            other: other.name.clone(),
        });
    }
    // The epoch of the run is that of the host that started first.
    let (earliest, epoch_unix_ns) = received()
        .map(|(host, recording)| {
            let unix = recording
                .started_unix_ns
                .saturating_add_signed(host.wall_offset_ns.saturating_neg());
            (host.epoch_late_ns, unix)
        })
        .min()
        .unwrap_or_default();
    let mut merged = Recording {
        plan: Plan {
            jobs: Vec::new(),
            interval,
            ..plan.clone()
        },
        started_unix_ns: epoch_unix_ns,
        elapsed: Nanos::ZERO,
        jobs: Vec::new(),
        disks: Vec::new(),
        targets: Vec::new(),
        clock: together_clock(received().map(|(_, recording)| &recording.clock)),
        host: together_host(received().map(|(_, recording)| &recording.host)),
        conditions: Conditions::default(),
        stalls: Vec::new(),
        end: worst_end(received().map(|(_, recording)| recording.end)),
        messages: Vec::new(),
        blame: None,
        depth_probes: Vec::new(),
        earlier: None,
        hosts: Vec::new(),
    };
    for host in hosts {
        let lost = HostPart {
            name: host.name.clone(),
            lost: host.partial.clone(),
            late_bound_ns: host.late_bound_ns,
            wall_offset_ns: host.wall_offset_ns,
            ..HostPart::default()
        };
        match host.recording {
            Err(why) => merged.hosts.push(HostPart {
                lost: Some(why),
                ..lost
            }),
            Ok(recording) => add(&mut merged, lost, recording, host.epoch_late_ns, earliest),
        }
    }
    Ok(merged)
}

/// Adds the jobs of a host, and what is known about it.
fn add(merged: &mut Recording, part: HostPart, recording: Recording, late: i64, earliest: i64) {
    let shift = aligned(Nanos::new(late.abs_diff(earliest)), merged.plan.interval);
    // What really happened: the load begins with the first job that was launched.
    let launched = recording
        .jobs
        .iter()
        .filter(|job| !job.skipped)
        .map(|job| job.launched)
        .min()
        .unwrap_or_default();
    merged.elapsed = merged.elapsed.max(recording.elapsed + shift);
    for message in recording.messages.iter().chain(&recording.plan.warnings) {
        let message = format!("{}: {message}", part.name);
        if !merged.messages.contains(&message) {
            merged.messages.push(message);
        }
    }
    let jobs = recording.jobs.len() as u32;
    let (first_number, first_section) = (
        merged.plan.jobs.len() as u32,
        merged.plan.jobs.last().map_or(0, |job| job.section + 1),
    );
    for mut job in recording.plan.jobs {
        job.name = format!("{}:{}", part.name, job.name);
        job.number += first_number;
        job.section += first_section;
        merged.plan.jobs.push(job);
    }
    for mut job in recording.jobs {
        job.shift_times(|at| at + shift);
        merged.jobs.push(job);
    }
    merged.hosts.push(HostPart {
        jobs,
        shift,
        elapsed: recording.elapsed,
        started_unix_ns: recording.started_unix_ns,
        end: recording.end,
        late_ns: late.saturating_add_unsigned(launched.get()),
        disks: recording.disks,
        targets: recording.targets,
        clock: recording.clock,
        host: recording.host,
        conditions: recording.conditions,
        stalls: recording.stalls,
        messages: recording.messages,
        ..part
    });
}

/// Intervals of all hosts lie on the same grid, so that those of different hosts can be added: a shift of less than half an
/// interval is none, a longer one is a multiple of it.
fn aligned(shift: Nanos, interval: Nanos) -> Nanos {
    let step = interval.get().max(1);
    Nanos::new((shift.get() + step / 2) / step * step)
}

fn worst_end(ends: impl Iterator<Item = RunEnd>) -> RunEnd {
    ends.max_by_key(|end| match end {
        RunEnd::Completed => 0,
        RunEnd::Interrupted => 1,
        RunEnd::Aborted => 2,
    })
    .unwrap_or(RunEnd::Completed)
}

/// CPUs and memory of all hosts together, and the worst of what disturbs a measurement. Findings are made from each host alone.
fn together_host<'a>(hosts: impl Iterator<Item = &'a HostRecording>) -> HostRecording {
    let mut all = HostRecording::default();
    let mut kernels: Vec<&str> = Vec::new();
    let mut profiles: Vec<&str> = Vec::new();
    let larger = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    };
    for host in hosts {
        if !kernels.contains(&host.kernel.as_str()) {
            kernels.push(&host.kernel);
        }
        if !profiles.contains(&host.build_profile.as_str()) {
            profiles.push(&host.build_profile);
        }
        // The same device on every host; each knows its own seed.
        all.simulated = all.simulated.or_else(|| host.simulated.clone());
        all.cpus += host.cpus;
        all.memory = Bytes::new(all.memory.get().saturating_add(host.memory.get()));
        all.steal_percent = larger(all.steal_percent, host.steal_percent);
        all.busy_percent = larger(all.busy_percent, host.busy_percent);
        all.cpu_throttles = match (all.cpu_throttles, host.cpu_throttles) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
    }
    all.kernel = kernels.join(", ");
    all.build_profile = profiles.join(", ");
    all
}

fn together_clock<'a>(clocks: impl Iterator<Item = &'a ClockFacts>) -> ClockFacts {
    let mut all = ClockFacts::default();
    let mut sources: Vec<&str> = Vec::new();
    for clock in clocks {
        if !sources.contains(&clock.source.as_str()) {
            sources.push(&clock.source);
        }
        all.cost_ns = all.cost_ns.max(clock.cost_ns);
        if clock.drift_ppm.abs() > all.drift_ppm.abs() {
            all.drift_ppm = clock.drift_ppm;
        }
    }
    all.source = sources.join(", ");
    all
}

/// The variables of the host with this place among all: `FATHOM_HOST`, `FATHOM_RANK` from 0, `FATHOM_HOSTS`, their number, and
/// `FATHOM_NEXT_HOST`, the name of the host with the next rank (of the last one, the first).
///
/// ```
/// let last = fathom_hosts::host_variables(&["a", "b"], 1);
/// assert_eq!((last["FATHOM_HOST"].as_str(), last["FATHOM_NEXT_HOST"].as_str()), ("b", "a"));
/// ```
#[must_use]
pub fn host_variables(names: &[&str], rank: usize) -> BTreeMap<String, String> {
    let name = |rank: usize| {
        names
            .get(rank % names.len().max(1))
            .copied()
            .unwrap_or_default()
    };
    BTreeMap::from([
        ("FATHOM_HOST".to_owned(), name(rank).to_owned()),
        ("FATHOM_NEXT_HOST".to_owned(), name(rank + 1).to_owned()),
        ("FATHOM_RANK".to_owned(), rank.to_string()),
        ("FATHOM_HOSTS".to_owned(), names.len().to_string()),
    ])
}
