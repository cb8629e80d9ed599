//! The simulated machine without its threads: disks, CPUs, events, and what a watch of the machine would have read.

use fathom_model::{
    Bytes, Conditions, CpuShare, DiskCounters, HostRecording, IoLimit, Nanos, Sample, Telemetry,
};

use super::contents::Contents;
use super::cpus::Cpus;
use super::disk::Disk;
use super::windows::Windows;
use crate::device::SimTime;
use crate::machine::{Event, EventKind, SimMachineSpec, TokenBucket};

/// How often the machine is read at first, as [`Telemetry`] of a real machine is.
const FIRST_STEP: SimTime = 250_000_000;
/// With more readings every second one is dropped.
const MAX_READINGS: usize = 1024;

/// The machine.
pub(super) struct Hardware {
    pub disks: Vec<Disk>,
    /// What is stored on the disks, from the first run on that verifies.
    pub contents: Option<Box<Contents>>,
    pub cpus: Cpus,
    /// While the generator is stopped.
    pub stops: Windows,
    late: Vec<Late>,
    events: Vec<Event>,
    pub wall: WallClock,
    cpu_mhz: f64,
    memory: Bytes,
    readings: Vec<Reading>,
    step: SimTime,
    next_reading: SimTime,
}

/// The wall clock, which somebody may set.
#[derive(Clone)]
pub(super) struct WallClock {
    started_unix_ns: u64,
    /// When and by how much it is set, nanoseconds.
    steps: Vec<(SimTime, i64)>,
}

impl WallClock {
    fn new(spec: &SimMachineSpec) -> Self {
        let steps = spec.events.iter().filter_map(|event| match event.kind {
            EventKind::ClockSteps { by } => Some((event.at.get(), by)),
            _ => None,
        });
        WallClock {
            started_unix_ns: spec.started_unix_ns,
            steps: steps.collect(),
        }
    }

    /// Its time, nanoseconds since 1970.
    pub fn at(&self, now: SimTime) -> u64 {
        let steps = self.steps.iter().filter(|(at, _)| *at <= now);
        let set_by: i64 = steps.map(|(_, by)| by).sum();
        let time = (self.started_unix_ns + now).checked_add_signed(set_by);
        time.unwrap_or(0)
    }

    /// How far it was set after `from`, until `to`.
    fn step(&self, from: SimTime, to: SimTime) -> i64 {
        let steps = self.steps.iter();
        let steps = steps.filter(|(at, _)| (from + 1..=to).contains(at));
        steps.map(|(_, by)| by).sum()
    }
}

/// Wake-ups that are late.
struct Late {
    from: SimTime,
    to: SimTime,
    late: SimTime,
    /// Only the first one.
    once: bool,
}

/// Counters of the machine since its start.
struct Reading {
    at: SimTime,
    disks: Vec<DiskCounters>,
    busy: Vec<SimTime>,
    waited: SimTime,
}

impl Hardware {
    pub fn new(mut spec: SimMachineSpec) -> Self {
        let is_stop = |event: &&Event| matches!(event.kind, EventKind::GeneratorStops { .. });
        let stops = Windows::new(spec.events.iter().filter(is_stop));
        let late = spec.events.iter().filter_map(|event| match event.kind {
            EventKind::WakesLate { late, lasts } => Some(Late {
                from: event.at.get(),
                to: match lasts {
                    Nanos::ZERO => SimTime::MAX,
                    _ => event.end().get(),
                },
                late: late.get(),
                once: lasts == Nanos::ZERO,
            }),
            _ => None,
        });
        let disks = std::mem::take(&mut spec.disks).into_iter().enumerate();
        let disks = disks.map(|(number, disk)| Disk::new(disk, number, &spec.events));
        Hardware {
            disks: disks.collect(),
            contents: None,
            cpus: Cpus::new(&spec, &stops),
            late: late.collect(),
            stops,
            wall: WallClock::new(&spec),
            cpu_mhz: spec.cpu_mhz,
            memory: spec.memory,
            events: spec.events,
            readings: Vec::new(),
            step: FIRST_STEP,
            next_reading: SimTime::MAX,
        }
    }

    /// Keeps what is written from now on.
    pub fn keep_contents(&mut self) {
        let events = &self.events;
        self.contents
            .get_or_insert_with(|| Box::new(Contents::new(events)));
    }

    /// How late a worker wakes up that could run at `now`.
    #[inline]
    pub fn lateness(&mut self, now: SimTime) -> SimTime {
        if self.late.is_empty() {
            return 0;
        }
        let mut late = 0;
        self.late.retain(|rule| {
            let holds = (rule.from..rule.to).contains(&now);
            late += if holds { rule.late } else { 0 };
            !(holds && rule.once)
        });
        late
    }

    /// The sum over the events of their share, by `share`, times the part of the time in which they last.
    fn mean_share(
        &self,
        (from, to): (SimTime, SimTime),
        share: impl Fn(&EventKind) -> Option<f64>,
    ) -> f64 {
        let length = (to - from).max(1) as f64;
        let lasting = self.events.iter().filter_map(|event| {
            let (start, end) = (event.at.get().max(from), event.end().get().min(to));
            Some(share(&event.kind)? * end.saturating_sub(start) as f64 / length)
        });
        // The sum of no numbers is minus zero.
        lasting.fold(0.0, |sum, share| sum + share)
    }

    fn stolen(&self, span: (SimTime, SimTime)) -> f64 {
        self.mean_share(span, |kind| match kind {
            EventKind::CpuStolen { share, .. } => Some(*share),
            _ => None,
        })
    }

    /// Begins to read the machine for the run that begins now.
    pub fn begin_run(&mut self, now: SimTime) {
        self.readings.clear();
        self.step = FIRST_STEP;
        self.read(now);
    }

    /// Ends it.
    pub fn end_run(&mut self, now: SimTime) {
        if self.readings.last().is_none_or(|last| last.at < now) {
            self.read(now);
        }
        self.next_reading = SimTime::MAX;
    }

    /// When the machine is read next.
    #[inline]
    pub fn next_reading(&self) -> SimTime {
        self.next_reading
    }

    /// Reads the counters.
    pub fn read(&mut self, now: SimTime) {
        if self.readings.len() >= MAX_READINGS {
            let mut number = 0;
            self.readings.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step *= 2;
        }
        self.readings.push(Reading {
            at: now,
            disks: self.disks.iter().map(|disk| disk.counters(now)).collect(),
            busy: self.cpus.busy(),
            waited: self.cpus.waited,
        });
        self.next_reading = now + self.step;
    }

    /// Name and counters of the disks that have a path.
    pub fn disk_counters(&self, now: SimTime) -> Vec<(String, DiskCounters)> {
        let named = self.disks.iter().filter_map(|disk| {
            let name = disk.name()?;
            Some((name, disk.counters(now)))
        });
        named.collect()
    }

    /// Name and counters of the members of the disks that have a path, where they are arrays whose members the host knows.
    pub fn member_counters(&self, now: SimTime) -> Vec<(String, DiskCounters)> {
        let named = self
            .disks
            .iter()
            .filter_map(|disk| Some((disk.name()?, disk)));
        let members = named.flat_map(|(name, disk)| {
            let members = disk.member_counters(now).into_iter().enumerate();
            members.map(move |(number, counters)| (member_name(&name, number), counters))
        });
        members.collect()
    }

    /// What the watch of a real machine returns of a run: the machine before and after it.
    pub fn host_recording(&self) -> HostRecording {
        let mut host = HostRecording {
            kernel: "simulated".to_owned(),
            cpus: self.cpus.count() as u32,
            memory: self.memory,
            ..HostRecording::default()
        };
        if let [first, .., last] = &self.readings[..] {
            let share = self.cpu_share(first, last);
            let mean = |of: fn(&CpuShare) -> f64| {
                Some(share.iter().map(of).sum::<f64>() / share.len().max(1) as f64)
            };
            host.steal_percent = mean(|share| share.stolen);
            host.busy_percent = mean(|share| share.busy);
            host.cpu_throttles = Some(0);
        }
        host
    }

    fn cpu_share(&self, before: &Reading, after: &Reading) -> Vec<CpuShare> {
        let length = (after.at - before.at).max(1) as f64;
        let stolen = self.stolen((before.at, after.at)) * 100.0;
        let busy = after.busy.iter().zip(&before.busy);
        busy.map(|(after, before)| CpuShare {
            busy: ((after - before) as f64 * 100.0 / length).min(100.0 - stolen),
            stolen,
        })
        .collect()
    }

    /// The conditions of a run, as a sampler on a real machine records them.
    pub fn conditions(&self) -> Conditions {
        let began = self.readings.first().map_or(0, |reading| reading.at);
        let pairs = self.readings.windows(2);
        let samples = pairs.map(|pair| self.sample(began, &pair[0], &pair[1]));
        let disks = self
            .disks
            .iter()
            .map(|disk| disk.name().unwrap_or_default());
        let is_virtual = |event: &Event| matches!(event.kind, EventKind::CpuStolen { .. });
        Conditions {
            telemetry: Telemetry {
                disks: disks.collect(),
                samples: samples.collect(),
                cost: Nanos::ZERO,
            },
            targets: Vec::new(),
            limits: self.limits(),
            virtual_machine: Some(self.events.iter().any(is_virtual)),
        }
    }

    fn sample(&self, began: SimTime, before: &Reading, after: &Reading) -> Sample {
        let span = (before.at, after.at);
        let length = (after.at - before.at).max(1);
        let waited = (after.waited - before.waited) as f64 * 100.0 / length as f64;
        let memory = self.mean_share(span, |kind| match kind {
            EventKind::MemoryPressure { share, .. } => Some(*share),
            _ => None,
        });
        let slowed = self.mean_share(span, |kind| match kind {
            EventKind::CpuSlows { share, .. } => Some(1.0 - share),
            _ => None,
        });
        let disks = after.disks.iter().zip(&before.disks);
        Sample {
            start: Nanos::new(before.at - began),
            length: Nanos::new(length),
            disks: disks.map(counted_between).collect(),
            cpus: self.cpu_share(before, after),
            cpu_pressure: Some(waited.min(100.0)),
            io_pressure: None,
            memory_pressure: Some((memory * 100.0).min(100.0)),
            cpu_mhz: Some(self.cpu_mhz * (1.0 - slowed)),
            available: Some(self.memory),
            dirty: Some(Bytes::ZERO),
            writeback: Some(Bytes::ZERO),
            throttles: Some(0),
            wall_step_ns: self.wall.step(before.at, after.at),
            celsius: None,
        }
    }

    /// For how long a disk was throttled before `until`, and how often that set in; `None` of one that never is.
    pub fn throttled(&self, disk: usize, until: SimTime) -> Option<(SimTime, u64)> {
        let is_of_disk = |event: &&Event| matches!(event.kind, EventKind::DiskThrottles { disk: of, .. } if of == disk);
        let throttles: Vec<&Event> = self.events.iter().filter(is_of_disk).collect();
        let begun = throttles.iter().filter(|event| event.at.get() < until);
        let lengths = begun
            .clone()
            .map(|event| until.min(event.end().get()) - event.at.get());
        (!throttles.is_empty()).then(|| (lengths.sum(), begun.count() as u64))
    }

    /// Limits that hold during the run, for reads and for writes.
    fn limits(&self) -> Vec<IoLimit> {
        let (Some(first), Some(last)) = (self.readings.first(), self.readings.last()) else {
            return Vec::new();
        };
        let holds = |event: &&Event| event.at.get() < last.at && event.end().get() > first.at;
        let mut limits = Vec::new();
        for event in self.events.iter().filter(holds) {
            let EventKind::IoLimited {
                disk, ios, bytes, ..
            } = event.kind
            else {
                continue;
            };
            let name = self.disks.get(disk).and_then(Disk::name);
            for (is_ios, bucket) in [(true, ios), (false, bytes)] {
                let Some(bucket) = bucket.filter(TokenBucket::is_of_control_group) else {
                    continue;
                };
                limits.extend([true, false].map(|reads| IoLimit {
                    disk: name.clone().unwrap_or_default(),
                    reads,
                    ios: is_ios,
                    per_second: bucket.rate as u64,
                }));
            }
        }
        limits
    }
}

/// What a disk counted between two readings; requests in flight are those of the second.
fn counted_between((after, before): (&DiskCounters, &DiskCounters)) -> DiskCounters {
    DiskCounters {
        read_ios: after.read_ios - before.read_ios,
        read_merges: 0,
        read_sectors: after.read_sectors - before.read_sectors,
        read_ticks: after.read_ticks - before.read_ticks,
        write_ios: after.write_ios - before.write_ios,
        write_merges: 0,
        write_sectors: after.write_sectors - before.write_sectors,
        write_ticks: after.write_ticks - before.write_ticks,
        in_flight: after.in_flight,
        io_ticks: after.io_ticks - before.io_ticks,
        time_in_queue: after.time_in_queue - before.time_in_queue,
        discard_ios: after.discard_ios - before.discard_ios,
        discard_sectors: after.discard_sectors - before.discard_sectors,
        flush_ios: after.flush_ios - before.flush_ios,
        flush_ticks: after.flush_ticks - before.flush_ticks,
    }
}

/// The kernel name of a member of an array.
#[must_use]
pub fn member_name(array: &str, number: usize) -> String {
    format!("{array}-{number}")
}
