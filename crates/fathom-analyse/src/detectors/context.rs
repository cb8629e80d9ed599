//! The input of the detectors.

use fathom_model::{
    DeviceRecording, Direction, DiskSummary, Entry, Event, Finding, Histogram, MergedInterval,
    Nanos, PerDirection, Recording, Sample, TimeSpan, Weight, Witnessed,
};

use crate::figures::{holds_all_along, when_sentence};
use crate::latency::merged;
use crate::members::Member;

/// One run, with its entries.
pub(crate) struct RunContext<'a> {
    pub recording: &'a Recording,
    pub entries: Vec<EntryContext<'a>>,
    pub disks: &'a [DiskSummary],
}

/// One entry and the jobs it was made of.
pub(crate) struct EntryContext<'a> {
    pub figures: &'a Entry,
    pub members: &'a [Member<'a>],
}

/// I/Os and bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub ios: u64,
    pub bytes: u64,
}

impl<'a> RunContext<'a> {
    /// The command that was watched in place of a load.
    pub(crate) fn witnessed(&self) -> Option<&'a Witnessed> {
        self.recording.host.witnessed.as_deref()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &Member<'a>> {
        self.entries.iter().flat_map(|entry| entry.members)
    }

    /// At most one finding for each entry.
    pub(super) fn each(
        &self,
        detect: impl Fn(&EntryContext<'a>) -> Option<Finding>,
    ) -> Vec<Finding> {
        self.entries.iter().filter_map(detect).collect()
    }

    /// What all jobs transferred, including warm-up and verification, except with the null engine.
    pub(crate) fn moved(&self) -> PerDirection<Moved> {
        let mut sum = PerDirection::<Moved>::default();
        for member in self.members().filter(|m| !m.is_null()) {
            for (d, made) in member.seen.directions.iter() {
                let (counts, warmup) = (&made.counts, &member.seen.warmup[d]);
                sum[d].ios += counts.ok + counts.short + warmup.ok + warmup.short;
                sum[d].bytes +=
                    counts.bytes_ok + counts.bytes_short + warmup.bytes_ok + warmup.bytes_short;
            }
            sum[Direction::Read].bytes += member.seen.verify.bytes;
        }
        sum
    }

    /// The times of the samples of the machine for which `shows` holds.
    pub(super) fn sampled(&self, shows: impl Fn(&Sample) -> bool) -> Vec<TimeSpan> {
        let samples = &self.recording.conditions.telemetry.samples;
        samples
            .iter()
            .filter(|sample| shows(sample))
            .map(|sample| TimeSpan::of_length(sample.start, sample.length))
            .collect()
    }

    /// Devices below the targets, each once, before and (if known) after the run.
    pub(crate) fn devices(&self) -> Vec<&'a DeviceRecording> {
        let mut devices: Vec<&DeviceRecording> = Vec::new();
        for device in self
            .recording
            .targets
            .iter()
            .flat_map(|target| &target.devices)
        {
            if devices
                .iter()
                .all(|known| known.before.name != device.before.name)
            {
                devices.push(device);
            }
        }
        devices
    }

    /// Whether every job that uses `direction` requested direct I/O.
    pub(super) fn all_direct(&self, direction: Direction) -> bool {
        self.members()
            .filter(|m| m.job.pattern.traffic.uses(direction))
            .all(|m| m.job.files.direct && !m.is_null())
    }
}

impl<'a> EntryContext<'a> {
    pub(super) fn finding(&self, weight: Weight, evidence: String, advice: &str) -> Finding {
        Finding {
            id: "",
            code: "",
            weight,
            about: Some(self.figures.name.clone()),
            evidence,
            advice: advice.to_owned(),
            when: Vec::new(),
        }
    }

    /// The first log that a member replays.
    pub(super) fn replay(&self) -> Option<&'a fathom_model::Replay> {
        self.members.iter().find_map(|m| m.job.pace.replay.as_ref())
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &'a Event> + use<'a> {
        self.members.iter().flat_map(|m| &m.seen.events)
    }

    /// All directions of one kind of latency.
    pub(super) fn latencies(
        &self,
        pick: fn(&fathom_model::DirectionRecording) -> &Histogram,
    ) -> Histogram {
        merged(
            self.members
                .iter()
                .flat_map(|m| m.seen.directions.iter().map(|(_, d)| pick(d))),
        )
    }

    /// One kind of latency in one direction.
    pub(crate) fn direction_histogram(
        &self,
        direction: Direction,
        pick: fn(&fathom_model::DirectionRecording) -> &Histogram,
    ) -> Histogram {
        merged(
            self.members
                .iter()
                .map(|m| pick(&m.seen.directions[direction])),
        )
    }

    /// The times of its intervals for which `shows` holds.
    pub(super) fn intervals(&self, shows: impl Fn(&MergedInterval) -> bool) -> Vec<TimeSpan> {
        self.figures
            .series
            .iter()
            .filter(|moment| shows(moment))
            .map(|moment| TimeSpan::of_length(moment.start, moment.length))
            .collect()
    }

    /// When I/Os failed or were short.
    pub(super) fn bad_intervals(&self) -> Vec<TimeSpan> {
        self.intervals(|moment| {
            moment
                .directions
                .iter()
                .any(|(_, direction_summary)| direction_summary.bad > 0)
        })
    }

    /// When the first member began measuring and the last one ended.
    pub(crate) fn span(&self) -> (Nanos, Nanos) {
        let from = self
            .members
            .iter()
            .map(|m| m.seen.measured_from)
            .min()
            .unwrap_or_default();
        (
            from,
            self.members
                .iter()
                .map(|m| m.seen.ended)
                .max()
                .unwrap_or_default(),
        )
    }
}

/// CPUs of the machine, also those that this process may not use: the shares of CPU time refer to all of them.
pub(crate) fn machine_cpus(run: &RunContext) -> u32 {
    let samples = &run.recording.conditions.telemetry.samples;
    let sampled = samples.iter().map(|sample| sample.cpus.len()).max();
    (sampled.unwrap_or(0) as u32)
        .max(run.recording.host.cpus)
        .max(1)
}

/// Adds times to a finding and its evidence, unless they cover nearly the whole run.
pub(crate) fn timed(finding: Finding, spans: Vec<TimeSpan>, whole: Nanos) -> Finding {
    let mut finding = finding.with_times(spans);
    if !holds_all_along(&finding.when, whole) {
        finding.evidence += &when_sentence(&finding.when);
    }
    finding
}

/// A finding about the whole run.
pub(super) fn of_run(weight: Weight, evidence: String, advice: &str) -> Finding {
    Finding {
        id: "",
        code: "",
        weight,
        about: None,
        evidence,
        advice: advice.to_owned(),
        when: Vec::new(),
    }
}
