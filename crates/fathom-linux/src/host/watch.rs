//! The machine before and after a run: stolen time, busy CPUs, CPU quota.

use std::path::PathBuf;

use fathom_model::{Bytes, HostRecording};

use super::usage::allowed_cpus;
use crate::control_groups::ControlGroups;

/// The profile of this build: only `dev` has assertions for debugging.
const BUILD_PROFILE: &str = if cfg!(debug_assertions) {
    "dev"
} else {
    "release"
};

/// Watches the machine during a run.
#[derive(Clone, Debug)]
pub struct HostWatch {
    times: Option<CpuTimes>,
    throttles: Option<u64>,
    groups: ControlGroups,
}

/// CPU time of all CPUs since boot, in clock ticks. See proc_stat(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CpuTimes {
    all: u64,
    idle: u64,
    stolen: u64,
}

impl HostWatch {
    /// Starts the watch.
    #[must_use]
    pub fn start() -> Self {
        let groups = ControlGroups::own();
        Self {
            times: CpuTimes::now(),
            throttles: throttles(groups.cpu_groups()),
            groups,
        }
    }

    /// Stops and returns what happened in between.
    #[must_use]
    pub fn finish(&self) -> HostRecording {
        let spent = self
            .times
            .zip(CpuTimes::now())
            .map(|(before, now)| now.since(before));
        HostRecording {
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            build_profile: BUILD_PROFILE.to_owned(),
            cpus: usable_cpus(allowed_cpus().len() as u32, self.groups.cpu_limit()),
            memory: self
                .groups
                .memory_limit()
                .map_or(memory(), |limit| memory().min(Bytes::new(limit))),
            steal_percent: spent.and_then(|spent| spent.share(spent.stolen)),
            cpu_throttles: self
                .throttles
                .zip(throttles(self.groups.cpu_groups()))
                .map(|(before, now)| now.saturating_sub(before)),
            idleness: None,
            simulated: None,
            witnessed: None,
            busy_percent: spent
                .and_then(|spent| spent.share(spent.all.saturating_sub(spent.idle + spent.stolen))),
        }
    }
}

impl CpuTimes {
    fn now() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }
    /// `cpu user nice system idle iowait irq softirq steal guest guest_nice`; user time includes
    /// guest time.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .take(8)
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        (ticks.len() >= 4).then(|| Self {
            all: ticks.iter().sum(),
            idle: at(3) + at(4),
            stolen: at(7),
        })
    }
    fn since(self, before: Self) -> Self {
        let less = u64::saturating_sub;
        Self {
            all: less(self.all, before.all),
            idle: less(self.idle, before.idle),
            stolen: less(self.stolen, before.stolen),
        }
    }
    fn share(self, part: u64) -> Option<f64> {
        (self.all > 0).then(|| part as f64 * 100.0 / self.all as f64)
    }
}

/// CPUs that this process can keep busy: a quota of 1.5 CPUs needs two of those that it may run on.
fn usable_cpus(allowed: u32, quota: Option<f64>) -> u32 {
    quota.map_or(allowed, |quota| allowed.min(quota.ceil().max(1.0) as u32))
}

fn memory() -> Bytes {
    let facts = rustix::system::sysinfo();
    Bytes::new(facts.totalram.saturating_mul(u64::from(facts.mem_unit)))
}

/// Sum of the CPU quota throttles of these control groups.
pub(super) fn throttles(groups: &[PathBuf]) -> Option<u64> {
    let texts = groups
        .iter()
        .filter_map(|group| std::fs::read_to_string(group.join("cpu.stat")).ok());
    texts
        .filter_map(|text| throttled(&text))
        .reduce(u64::saturating_add)
}

fn throttled(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("nr_throttled "))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_cpu_time_match_the_manual() {
        let before =
            CpuTimes::parse("cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 1 1 1 1\n").expect("ten fields");
        let now = CpuTimes::parse("cpu  140 0 110 830 10 0 0 10 90 0\n").expect("ten fields");
        let spent = now.since(before);
        assert_eq!(
            spent,
            CpuTimes {
                all: 100,
                idle: 40,
                stolen: 10
            }
        );
        assert_eq!(
            (spent.share(spent.stolen), CpuTimes::default().share(0)),
            (Some(10.0), None)
        );
        assert_eq!(
            (CpuTimes::parse("cpu  1 x 3 4"), CpuTimes::parse("intr 5")),
            (None, None)
        );
    }

    #[test]
    fn a_quota_limits_the_cpus() {
        let usable = |quota| usable_cpus(4, quota);
        assert_eq!(usable(None), 4);
        assert_eq!(
            [0.2, 1.0, 1.5, 8.0].map(|quota| usable(Some(quota))),
            [1, 1, 2, 4]
        );
    }

    #[test]
    fn throttles_are_parsed() {
        assert_eq!(
            throttled("nr_periods 10\nnr_throttled 7\nthrottled_time 9\n"),
            Some(7)
        );
        assert_eq!(throttled("usage_usec 5\n"), None);
    }
}
