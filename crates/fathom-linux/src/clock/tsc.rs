//! A CPU's counter of time, and whether it can serve as a clock. On x86-64 it is the time stamp counter.

use std::time::{Duration, Instant};

use super::counter::{is_invariant, ticks};
use super::monotonic;

/// How long the counter is compared with CLOCK_MONOTONIC. Readings that agree within some 20 ns
/// give an accuracy of a few ppm.
const CALIBRATION: Duration = Duration::from_millis(5);

/// Time limit of the whole calibration, including the readings on all CPUs.
const TIME_LIMIT: Duration = Duration::from_millis(15);

/// Accepted difference between a CPU's counter and the others in nanoseconds, beyond the time that
/// the reading took.
const SKEW_NS: u64 = 1_000;

/// ns = ticks * factor >> SHIFT. A factor below 2^64 supports counters from 16 MHz up.
const SHIFT: u32 = 58;

/// A counter that runs at a constant rate and equally on all CPUs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tsc {
    base: Pair,
    factor: u64,
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub ticks: u64,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub monotonic: u64,
    /// Ticks between the readings of the counter before and after the other clock's.
    width: u64,
}

impl Pair {
    /// The tightest of several attempts.
    pub(super) fn read() -> Self {
        let once = || {
            let before = ticks();
            let monotonic = monotonic();
            let width = ticks().saturating_sub(before);
            Self {
                ticks: before + width / 2,
                monotonic,
                width,
            }
        };
        let first = once();
        (1..12).map(|_| once()).fold(
            first,
            |best, next| if next.width < best.width { next } else { best },
        )
    }
}

impl Tsc {
    /// Calibrates the counter. `None` if it is unreliable: the CPU does not declare a constant rate
    /// in every sleep and frequency state, or one CPU's counter differs from the others.
    pub(super) fn calibrate() -> Option<Self> {
        if !is_invariant() {
            return None;
        }
        let start = Instant::now();
        let base = Pair::read();
        let visited = visit_cpus(start + TIME_LIMIT);
        std::thread::sleep(CALIBRATION.saturating_sub(start.elapsed()));
        let tsc = Self::between(base, Pair::read())?;
        visited?.iter().all(|pair| tsc.agrees(pair)).then_some(tsc)
    }

    fn between(base: Pair, end: Pair) -> Option<Self> {
        let ticks = end
            .ticks
            .checked_sub(base.ticks)
            .filter(|&ticks| ticks > 0)?;
        let nanos = end
            .monotonic
            .checked_sub(base.monotonic)
            .filter(|&nanos| nanos > 0)?;
        let factor = u64::try_from((u128::from(nanos) << SHIFT) / u128::from(ticks)).ok()?;
        Some(Self { base, factor })
    }

    /// CLOCK_MONOTONIC at the epoch.
    pub(super) fn epoch(&self) -> u64 {
        self.base.monotonic
    }

    /// Nanoseconds from the epoch to `ticks`; 0 before it.
    #[inline]
    pub(super) fn since_epoch(&self, ticks: u64) -> u64 {
        ((u128::from(ticks.saturating_sub(self.base.ticks)) * u128::from(self.factor)) >> SHIFT)
            as u64
    }

    /// Whether a CPU's counter shows the expected time.
    fn agrees(&self, pair: &Pair) -> bool {
        let width = ((u128::from(pair.width) * u128::from(self.factor)) >> SHIFT) as u64;
        let shown = self.base.monotonic + self.since_epoch(pair.ticks);
        pair.ticks >= self.base.ticks && shown.abs_diff(pair.monotonic) <= SKEW_NS + width
    }
}

/// A pair from each CPU this thread may run on, or from as many as time permits. `None` if the
/// thread cannot move between CPUs.
fn visit_cpus(until: Instant) -> Option<Vec<Pair>> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    // In a separate thread, so that the caller's affinity never changes.
    let visit = move || {
        let allowed = sched_getaffinity(None).ok()?;
        let cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
        let mut pairs = Vec::new();
        for cpu in cpus.take_while(|_| Instant::now() < until) {
            let mut only = CpuSet::new();
            only.set(cpu);
            // A CPU that went offline in the meantime does not matter.
            if sched_setaffinity(None, &only).is_ok() {
                pairs.push(Pair::read());
            }
        }
        Some(pairs)
    };
    std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(visit)
        .ok()?
        .join()
        .ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(ticks: u64, monotonic: u64) -> Pair {
        Pair {
            ticks,
            monotonic,
            width: 0,
        }
    }

    #[test]
    fn ticks_become_nanoseconds() {
        // 3 GHz: 15,000,000 ticks in 5 ms.
        let tsc = Tsc::between(pair(1_000, 70), pair(15_001_000, 5_000_070)).expect("it moved");
        assert_eq!(tsc.since_epoch(1_000), 0);
        assert_eq!(tsc.since_epoch(0), 0);
        assert_eq!(
            tsc.since_epoch(1_000 + 3_000_000_000)
                .abs_diff(1_000_000_000),
            1
        );
        // A year, to a microsecond: the factor has 58 fractional bits.
        let year_s = 31_536_000;
        assert!(
            tsc.since_epoch(1_000 + 3_000_000_000 * year_s)
                .abs_diff(1_000_000_000 * year_s)
                < 1_000
        );
    }

    #[test]
    fn a_stopped_counter_is_rejected() {
        assert!(Tsc::between(pair(5, 0), pair(5, 5_000_000)).is_none());
        assert!(Tsc::between(pair(5, 0), pair(4, 5_000_000)).is_none());
        assert!(Tsc::between(pair(5, 9), pair(7, 9)).is_none());
    }

    #[test]
    fn a_deviating_cpu_is_rejected() {
        let tsc = Tsc::between(pair(0, 0), pair(15_000_000, 5_000_000)).expect("it moved");
        assert!(tsc.agrees(&pair(3_000_000, 1_000_000)));
        assert!(tsc.agrees(&pair(3_000_000, 1_000_900)));
        assert!(!tsc.agrees(&pair(3_000_000, 1_002_000)));
        assert!(!tsc.agrees(&pair(3_006_000, 1_000_000)));
        // A reading that itself took 4 us is less precise.
        assert!(tsc.agrees(&Pair {
            ticks: 3_000_000,
            monotonic: 1_004_500,
            width: 12_000
        }));
    }
}
