//! `--idle-prof`: CPU idle time during the load, and the time of a unit of work.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use fathom_model::CpuIdleness;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::usage::allowed_cpus;

/// Bytes written by a unit of work.
const UNIT: usize = 4096;
/// Units in one timed run, and number of runs; the fastest run counts.
const UNITS: u32 = 100;
const RUNS: u32 = 10;

/// Watches the idle time of every CPU.
///
/// Reads the kernel's own counters (proc_stat(5)). fio instead occupies all idle time with a thread
/// on each CPU, which keeps the CPUs from sleeping and so changes the measurement.
#[derive(Debug)]
pub struct IdleWatch {
    per_cpu: bool,
    before: Option<BTreeMap<u32, Ticks>>,
    unit_us: (f64, f64),
}

/// Clock ticks of one CPU since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    all: u64,
    idle: u64,
}

impl IdleWatch {
    /// Measures the unit of work. The watch starts with [`IdleWatch::begin`].
    #[must_use]
    pub fn new(per_cpu: bool) -> Self {
        Self {
            per_cpu,
            before: None,
            unit_us: calibrate(),
        }
    }

    /// Starts the watch; only the first call has an effect.
    pub fn begin(&mut self) {
        self.before.get_or_insert_with(now);
    }

    /// Stops and returns the idle share of all CPUs together and, if requested, of each CPU.
    #[must_use]
    pub fn finish(self) -> CpuIdleness {
        let (before, after) = (self.before.unwrap_or_default(), now());
        let shares: Vec<f64> = after
            .iter()
            .filter_map(|(cpu, now)| Some(idle(*before.get(cpu)?, *now)))
            .collect();
        let system = if shares.is_empty() {
            0.0
        } else {
            shares.iter().sum::<f64>() / shares.len() as f64
        };
        let (unit_mean_us, unit_stddev_us) = self.unit_us;
        CpuIdleness {
            system_percent: Some(system),
            cpus_percent: if self.per_cpu { shares } else { Vec::new() },
            unit_mean_us,
            unit_stddev_us,
        }
    }
}

/// `--idle-prof=calibrate`: measures only the unit of work.
#[must_use]
pub fn idle_calibration() -> CpuIdleness {
    let (unit_mean_us, unit_stddev_us) = calibrate();
    CpuIdleness {
        unit_mean_us,
        unit_stddev_us,
        ..CpuIdleness::default()
    }
}

fn now() -> BTreeMap<u32, Ticks> {
    parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// `cpu0 user nice system idle iowait irq softirq steal ...`. A CPU that waits for I/O counts as
/// idle.
fn parse(text: &str) -> BTreeMap<u32, Ticks> {
    let line = |line: &str| {
        let (number, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
        let ticks: Vec<u64> = rest
            .split_whitespace()
            .take(8)
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        Some((
            number.parse().ok()?,
            Ticks {
                all: ticks.iter().sum(),
                idle: at(3) + at(4),
            },
        ))
    };
    text.lines().filter_map(line).collect()
}

/// Idle share in percent; a CPU without a tick in between was idle all the time.
fn idle(before: Ticks, after: Ticks) -> f64 {
    let all = after.all.saturating_sub(before.all);
    let idle = after.idle.saturating_sub(before.idle);
    if all == 0 {
        100.0
    } else {
        idle as f64 * 100.0 / all as f64
    }
}

/// Mean and standard deviation over the CPUs of the fastest unit of work, in microseconds.
fn calibrate() -> (f64, f64) {
    let workers: Vec<_> = allowed_cpus()
        .into_iter()
        .filter_map(|cpu| std::thread::Builder::new().spawn(move || fastest(cpu)).ok())
        .collect();
    let units: Vec<f64> = workers
        .into_iter()
        .filter_map(|worker| worker.join().ok())
        .collect();
    let n = units.len() as f64;
    let mean = units.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = units.iter().map(|unit| (unit - mean).powi(2)).sum();
    (
        mean,
        if units.len() > 1 {
            (squares / (n - 1.0)).sqrt()
        } else {
            0.0
        },
    )
}

fn fastest(cpu: u32) -> f64 {
    let mut only = CpuSet::new();
    only.set(cpu as usize);
    // On failure it runs on another CPU, which is good enough.
    let _ = sched_setaffinity(None, &only);
    let mut page = vec![0_u8; UNIT];
    let run = |page: &mut [u8]| {
        let started = Instant::now();
        for unit in 0..UNITS {
            black_box(&mut *page)
                .iter_mut()
                .enumerate()
                .for_each(|(at, byte)| *byte = (at as u32 + unit) as u8);
        }
        started.elapsed().as_secs_f64() * 1e6 / f64::from(UNITS)
    };
    (0..RUNS)
        .map(|_| run(&mut page))
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_shares_match_the_manual() {
        let before =
            parse("cpu  9 9 9 9\ncpu0 100 0 100 800 0 0 0 0 50 0\ncpu1 0 0 0 10 5 0 0 0\nintr 5\n");
        let after =
            parse("cpu  9 9 9 9\ncpu0 140 0 110 830 10 0 0 10 90 0\ncpu1 0 0 0 10 5 0 0 0\n");
        assert_eq!(before.keys().copied().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(idle(before[&0], after[&0]), 40.0);
        assert_eq!(idle(before[&1], after[&1]), 100.0);
    }

    #[test]
    fn a_unit_of_work_takes_some_time() {
        let (mean, dev) = calibrate();
        assert!(mean > 0.0 && mean < 10_000.0 && dev >= 0.0, "{mean} {dev}");
    }
}
