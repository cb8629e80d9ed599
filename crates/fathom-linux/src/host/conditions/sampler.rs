//! Converts readings to samples: counter differences over a short time. Merging neighbours bounds
//! the memory.

use std::time::Duration;

use fathom_model::{DiskCounters, Nanos, Sample, Telemetry};

use super::super::usage::usage;
use super::readings::{Reading, Sources};

/// Shortest time between two readings.
const MIN_STEP: Duration = Duration::from_millis(250);
/// Longest time between two readings, until the memory limit is reached.
const MAX_STEP: Duration = Duration::from_secs(1);
/// Readings may use at most this fraction of a CPU (one part in so many).
const CPU_FRACTION: u32 = 2000;
/// Memory limit of all samples in bytes, and limit of their number: it is reached after four
/// minutes, and a longer run uses no more.
const MEMORY_LIMIT: usize = 1 << 20;
const MAX_SAMPLES: usize = 1024;

/// Takes samples.
#[derive(Debug)]
pub(super) struct Sampler {
    sources: Sources,
    last: (Nanos, Reading),
    telemetry: Telemetry,
    step: Duration,
    max_samples: usize,
    used: Nanos,
}

impl Sampler {
    pub(super) fn start(disks: Vec<String>, now: Nanos) -> Self {
        let mut sources = Sources::open(&disks);
        let reading = sources.read();
        let each = 256 + reading.cpus.len() * 16 + disks.len() * size_of::<DiskCounters>();
        let telemetry = Telemetry {
            disks,
            ..Telemetry::default()
        };
        let max_samples = (MEMORY_LIMIT / each).clamp(64, MAX_SAMPLES);
        Self {
            sources,
            last: (now, reading),
            telemetry,
            step: MIN_STEP,
            max_samples,
            used: used(),
        }
    }

    /// How long to wait for the next sample.
    pub(super) fn step(&self) -> Duration {
        self.step
    }

    /// Takes one sample, up to now.
    pub(super) fn sample(&mut self, now: Nanos) {
        let reading = self.sources.read();
        let (since, before) = std::mem::replace(&mut self.last, (now, reading));
        let telemetry = sample(since, now, &before, &self.last.1);
        self.telemetry.samples.push(telemetry);
        if self.telemetry.samples.len() >= self.max_samples {
            halve(&mut self.telemetry.samples);
            self.step *= 2;
        }
        self.slow_down();
    }

    /// Expensive readings are taken less often.
    fn slow_down(&mut self) {
        let cost =
            used().saturating_sub(self.used).get() / (self.telemetry.samples.len() as u64).max(1);
        let wanted =
            Duration::from_nanos(cost.saturating_mul(u64::from(CPU_FRACTION))).min(MAX_STEP);
        self.step = self.step.max(wanted);
    }

    pub(super) fn finish(mut self) -> Telemetry {
        self.telemetry.cost = used().saturating_sub(self.used);
        self.telemetry
    }
}

/// CPU time of this thread.
fn used() -> Nanos {
    let usage = usage();
    usage.user + usage.system
}

fn sample(since: Nanos, now: Nanos, before: &Reading, after: &Reading) -> Sample {
    let length = now.saturating_sub(since);
    let waited = |index: usize| {
        let waited = after.pressure[index]?.saturating_sub(before.pressure[index]?);
        Some((waited as f64 * 1e5 / length.get().max(1) as f64).min(100.0))
    };
    Sample {
        start: since,
        length,
        disks: before
            .disks
            .iter()
            .zip(&after.disks)
            .map(|(before, after)| difference(before, after))
            .collect(),
        cpus: before
            .cpus
            .iter()
            .zip(&after.cpus)
            .map(|(before, after)| after.since(*before))
            .collect(),
        cpu_pressure: waited(0),
        io_pressure: waited(1),
        memory_pressure: waited(2),
        cpu_mhz: after.cpu_mhz,
        celsius: after.celsius,
        available: after.available,
        dirty: after.dirty,
        writeback: after.writeback,
        throttles: before
            .throttles
            .zip(after.throttles)
            .map(|(before, after)| after.saturating_sub(before)),
        wall_step_ns: after.wall_offset_ns.saturating_sub(before.wall_offset_ns),
    }
}

fn difference(before: &DiskCounters, after: &DiskCounters) -> DiskCounters {
    join(
        before,
        after,
        |before, after| after.saturating_sub(before),
        |_, after| after,
    )
}

/// Combines field by field; `in_flight` is a level, not a counter.
fn join(
    a: &DiskCounters,
    b: &DiskCounters,
    count: fn(u64, u64) -> u64,
    level: fn(u64, u64) -> u64,
) -> DiskCounters {
    DiskCounters {
        read_ios: count(a.read_ios, b.read_ios),
        read_merges: count(a.read_merges, b.read_merges),
        read_sectors: count(a.read_sectors, b.read_sectors),
        read_ticks: count(a.read_ticks, b.read_ticks),
        write_ios: count(a.write_ios, b.write_ios),
        write_merges: count(a.write_merges, b.write_merges),
        write_sectors: count(a.write_sectors, b.write_sectors),
        write_ticks: count(a.write_ticks, b.write_ticks),
        in_flight: level(a.in_flight, b.in_flight),
        io_ticks: count(a.io_ticks, b.io_ticks),
        time_in_queue: count(a.time_in_queue, b.time_in_queue),
        discard_ios: count(a.discard_ios, b.discard_ios),
        discard_sectors: count(a.discard_sectors, b.discard_sectors),
        flush_ios: count(a.flush_ios, b.flush_ios),
        flush_ticks: count(a.flush_ticks, b.flush_ticks),
    }
}

/// Merges pairs of neighbours; no count is lost.
fn halve(samples: &mut Vec<Sample>) {
    let mut merged = Vec::with_capacity(samples.len() / 2 + 1);
    let mut rest = std::mem::take(samples).into_iter();
    while let Some(first) = rest.next() {
        merged.push(match rest.next() {
            Some(second) => merge(&first, second),
            None => first,
        });
    }
    *samples = merged;
}

fn merge(first: &Sample, second: Sample) -> Sample {
    let (a, b) = (first.length.get() as f64, second.length.get() as f64);
    let mean = |x: f64, y: f64| {
        if a + b > 0.0 {
            (x * a + y * b) / (a + b)
        } else {
            x
        }
    };
    let share = |x: Option<f64>, y: Option<f64>| x.zip(y).map(|(x, y)| mean(x, y));
    let cpu = |(x, y): (&fathom_model::CpuShare, &fathom_model::CpuShare)| fathom_model::CpuShare {
        busy: mean(x.busy, y.busy),
        stolen: mean(x.stolen, y.stolen),
    };
    Sample {
        start: first.start,
        length: first.length + second.length,
        disks: first
            .disks
            .iter()
            .zip(&second.disks)
            .map(|(x, y)| join(x, y, |x, y| x + y, |_, y| y))
            .collect(),
        cpus: first.cpus.iter().zip(&second.cpus).map(cpu).collect(),
        cpu_pressure: share(first.cpu_pressure, second.cpu_pressure),
        io_pressure: share(first.io_pressure, second.io_pressure),
        memory_pressure: share(first.memory_pressure, second.memory_pressure),
        cpu_mhz: share(first.cpu_mhz, second.cpu_mhz),
        celsius: first.celsius.zip(second.celsius).map(|(x, y)| x.max(y)),
        available: first.available.min(second.available),
        dirty: first.dirty.max(second.dirty),
        writeback: first.writeback.max(second.writeback),
        throttles: first.throttles.zip(second.throttles).map(|(x, y)| x + y),
        wall_step_ns: first.wall_step_ns.saturating_add(second.wall_step_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn telemetry(start: u64, ios: u64, throttles: u64) -> Sample {
        let disks = vec![DiskCounters {
            read_ios: ios,
            in_flight: ios,
            ..DiskCounters::default()
        }];
        let (start, length) = (Nanos::from_secs(start), Nanos::from_secs(1));
        Sample {
            start,
            length,
            disks,
            throttles: Some(throttles),
            cpu_pressure: Some(ios as f64),
            ..Sample::default()
        }
    }

    #[test]
    fn merged_neighbours_keep_the_counts_of_both() {
        let mut samples: Vec<Sample> = (0..5).map(|i| telemetry(i, i * 10, i)).collect();
        halve(&mut samples);
        assert_eq!(samples.len(), 3);
        assert_eq!(
            samples.iter().map(|s| s.disks[0].read_ios).sum::<u64>(),
            100
        );
        assert_eq!(samples.iter().filter_map(|s| s.throttles).sum::<u64>(), 10);
        assert_eq!(
            (samples[1].start, samples[1].length),
            (Nanos::from_secs(2), Nanos::from_secs(2))
        );
        assert_eq!(
            (samples[1].cpu_pressure, samples[1].disks[0].in_flight),
            (Some(25.0), 30)
        );
    }

    #[test]
    fn pressure_is_a_share_of_the_time() {
        let reading = |us| Reading {
            pressure: [Some(us), None, None],
            ..Reading::default()
        };
        let one = sample(
            Nanos::ZERO,
            Nanos::from_secs(2),
            &reading(1_000),
            &reading(501_000),
        );
        assert_eq!((one.cpu_pressure, one.io_pressure), (Some(25.0), None));
    }

    #[test]
    fn many_samples_stay_within_the_memory_limit() {
        let mut sampler = Sampler::start(Vec::new(), Nanos::ZERO);
        sampler.max_samples = 64;
        for second in 1..=1000 {
            sampler.sample(Nanos::from_secs(second));
        }
        assert!(sampler.telemetry.samples.len() < 64);
        assert!(Sampler::start(Vec::new(), Nanos::ZERO).max_samples <= MAX_SAMPLES);
        let covered: Nanos = sampler
            .telemetry
            .samples
            .iter()
            .map(|sample| sample.length)
            .sum();
        assert_eq!(covered, Nanos::from_secs(1000));
    }
}
