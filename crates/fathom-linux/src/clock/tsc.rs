//! The time stamp counter of x86, and whether it can be a clock.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use super::monotonic;

/// How long the counter is compared with CLOCK_MONOTONIC. With readings that agree within some 20 ns this is good for a few ppm.
const CALIBRATION: Duration = Duration::from_millis(5);

/// All of it, the visits to the CPUs included, is over after this long.
const PATIENCE: Duration = Duration::from_millis(15);

/// By how much a CPU's counter may differ from the others, nanoseconds, beyond the time that reading it took.
const SKEW_NS: u64 = 1_000;

/// ns = ticks * factor >> SHIFT. A factor below 2^64 allows counters from 16 MHz up.
const SHIFT: u32 = 58;

/// A counter that was found to run evenly and alike on all CPUs.
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
    /// Ticks between the readings of the counter on both sides of the other clock's.
    width: u64,
}

impl Pair {
    /// The tightest of some tries.
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
    /// Calibrates the counter, or `None` when it cannot be trusted: the CPU does not declare that it runs evenly in every
    /// state of sleep and frequency, or a CPU's counter differs from the others'.
    pub(super) fn calibrate() -> Option<Self> {
        if !is_invariant() {
            return None;
        }
        let start = Instant::now();
        let base = Pair::read();
        let visited = visit_cpus(start + PATIENCE);
        std::thread::sleep(CALIBRATION.saturating_sub(start.elapsed()));
        let tsc = Self::between(base, Pair::read())?;
        visited?.iter().all(|pair| tsc.fits(pair)).then_some(tsc)
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

    /// Whether a CPU's counter says the time it should.
    fn fits(&self, pair: &Pair) -> bool {
        let width = ((u128::from(pair.width) * u128::from(self.factor)) >> SHIFT) as u64;
        let said = self.base.monotonic + self.since_epoch(pair.ticks);
        pair.ticks >= self.base.ticks && said.abs_diff(pair.monotonic) <= SKEW_NS + width
    }
}

/// A pair from each CPU this thread may run on, or as many as there is time for. `None` when CPUs cannot be visited.
fn visit_cpus(until: Instant) -> Option<Vec<Pair>> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    // In a thread of its own, so that the caller's affinity stays as it is whatever happens.
    let visit = move || {
        let allowed = sched_getaffinity(None).ok()?;
        let cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
        let mut pairs = Vec::new();
        for cpu in cpus.take_while(|_| Instant::now() < until) {
            let mut only = CpuSet::new();
            only.set(cpu);
            // A CPU that went away meanwhile is nobody's any more.
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

/// The counter now.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has this instruction, and Linux lets every process use it unless asked not to (PR_SET_TSC).
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// No such counter.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn ticks() -> u64 {
    0
}

/// "Invariant TSC": CPUID 8000_0007h, EDX bit 8 (AMD APM volume 3, Intel SDM volume 2A).
#[cfg(target_arch = "x86_64")]
fn is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    const POWER: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn is_invariant() -> bool {
    false
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
        // A year, to a microsecond: the factor has 58 bits behind the point.
        let year_s = 31_536_000;
        assert!(
            tsc.since_epoch(1_000 + 3_000_000_000 * year_s)
                .abs_diff(1_000_000_000 * year_s)
                < 1_000
        );
    }

    #[test]
    fn a_counter_that_stands_still_is_no_clock() {
        assert!(Tsc::between(pair(5, 0), pair(5, 5_000_000)).is_none());
        assert!(Tsc::between(pair(5, 0), pair(4, 5_000_000)).is_none());
        assert!(Tsc::between(pair(5, 9), pair(7, 9)).is_none());
    }

    #[test]
    fn a_cpu_that_is_off_is_noticed() {
        let tsc = Tsc::between(pair(0, 0), pair(15_000_000, 5_000_000)).expect("it moved");
        assert!(tsc.fits(&pair(3_000_000, 1_000_000)));
        assert!(tsc.fits(&pair(3_000_000, 1_000_900)));
        assert!(!tsc.fits(&pair(3_000_000, 1_002_000)));
        assert!(!tsc.fits(&pair(3_006_000, 1_000_000)));
        // A reading that itself took 4 us says less.
        assert!(tsc.fits(&Pair {
            ticks: 3_000_000,
            monotonic: 1_004_500,
            width: 12_000
        }));
    }
}
