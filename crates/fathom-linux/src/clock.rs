//! The clock of a run: the CPU's time stamp counter if it is reliable, otherwise CLOCK_MONOTONIC.
#![allow(unsafe_code)]

mod counter;
mod tsc;

use std::cell::Cell;
use std::time::Duration;

use fathom_load::Clock;
use fathom_model::{ClockFacts, Nanos};

use self::counter::ticks;
use self::tsc::Tsc;

/// The last part of a sleep is a busy-wait, because a thread wakes up some tens of microseconds
/// late.
const SPIN_NS: u64 = 60_000;

/// A clock that started when it was created. Copies share its epoch.
#[derive(Clone, Copy, Debug)]
pub struct LinuxClock {
    /// CLOCK_MONOTONIC at the epoch, nanoseconds.
    epoch: u64,
    tsc: Option<Tsc>,
}

impl LinuxClock {
    /// Starts a clock. Takes about 5 ms if the time stamp counter must be calibrated and compared
    /// across CPUs.
    #[must_use]
    pub fn start() -> Self {
        let tsc = Tsc::calibrate();
        // The epoch of the counter, so that both scales have the same zero.
        let epoch = tsc.as_ref().map_or_else(monotonic, |tsc| tsc.epoch());
        Self { epoch, tsc }
    }

    /// A clock that uses only CLOCK_MONOTONIC.
    #[must_use]
    pub fn monotonic() -> Self {
        Self {
            epoch: monotonic(),
            tsc: None,
        }
    }

    /// CLOCK_MONOTONIC at the epoch, nanoseconds.
    #[must_use]
    pub fn epoch_ns(&self) -> u64 {
        self.epoch
    }

    /// The clock source, the cost of a reading (measured now, in some microseconds), and the drift
    /// from CLOCK_MONOTONIC since the epoch. Within the first tens of milliseconds the drift is
    /// within its own error.
    #[must_use]
    pub fn facts(&self) -> ClockFacts {
        ClockFacts {
            source: if self.tsc.is_some() {
                "tsc"
            } else {
                "monotonic"
            }
            .to_owned(),
            cost_ns: self.cost(),
            drift_ppm: self.drift(),
        }
    }

    /// The cheapest of several rounds: the one without interruption.
    fn cost(&self) -> f64 {
        const READINGS: u32 = 200;
        let round = || {
            let start = monotonic();
            for _ in 0..READINGS {
                std::hint::black_box(self.now());
            }
            (monotonic() - start) as f64 / f64::from(READINGS)
        };
        (0..8).map(|_| round()).fold(f64::INFINITY, f64::min)
    }

    fn drift(&self) -> f64 {
        let Some(tsc) = self.tsc else { return 0.0 };
        let pair = tsc::Pair::read();
        let true_ns = pair.monotonic.saturating_sub(self.epoch);
        if true_ns == 0 {
            return 0.0;
        }
        (tsc.since_epoch(pair.ticks) as f64 - true_ns as f64) / true_ns as f64 * 1e6
    }
}

impl Clock for LinuxClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos::new(match &self.tsc {
            Some(tsc) => tsc.since_epoch(ticks()),
            None => monotonic() - self.epoch,
        })
    }

    #[inline]
    fn sleep_until(&self, at: Nanos) {
        wake_precisely();
        let left = at.saturating_sub(self.now()).get();
        if left > SPIN_NS {
            sleep_until_monotonic(monotonic().saturating_add(left - SPIN_NS));
        }
        while self.now() < at {
            std::hint::spin_loop();
        }
    }
}

/// CLOCK_MONOTONIC, nanoseconds.
#[inline]
pub(crate) fn monotonic() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes one timespec, which outlives it; it cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[inline]
fn sleep_until_monotonic(at_ns: u64) {
    let at = Duration::from_nanos(at_ns);
    let at = libc::timespec {
        tv_sec: at.as_secs() as libc::time_t,
        tv_nsec: at.subsec_nanos().into(),
    };
    // SAFETY: the call reads one timespec, which outlives it.
    let sleep = || unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const at,
            std::ptr::null_mut(),
        )
    };
    while sleep() == libc::EINTR {}
}

/// Removes the 50 microseconds by which the kernel may delay a wake-up of this thread, once.
#[inline]
fn wake_precisely() {
    thread_local!(static DONE: Cell<bool> = const { Cell::new(false) });
    if !DONE.replace(true) {
        // SAFETY: PR_SET_TIMERSLACK takes a number and changes only this thread's timers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn clocks() -> [LinuxClock; 2] {
        [LinuxClock::start(), LinuxClock::monotonic()]
    }

    #[test]
    fn time_never_goes_back() {
        for clock in clocks() {
            let mut before = clock.now();
            for _ in 0..200_000 {
                let now = clock.now();
                assert!(
                    now >= before,
                    "{now:?} after {before:?} by {}",
                    clock.facts().source
                );
                before = now;
            }
        }
    }

    #[test]
    fn agrees_with_the_monotonic_clock() {
        for clock in clocks() {
            // The standard library's Instant is CLOCK_MONOTONIC, read by other code. Each of our
            // readings is between two of its readings, so an interruption between them (0.23 ms was
            // observed) widens the expected range.
            let (before, start, after) = (Instant::now(), clock.now(), Instant::now());
            std::thread::sleep(Duration::from_millis(100));
            let least = after.elapsed().as_nanos() as f64;
            let passed = (clock.now() - start).get() as f64;
            let most = before.elapsed().as_nanos() as f64;
            // 100 ppm of 100 ms.
            let allowed = least - 10_000.0..=most + 10_000.0;
            assert!(
                allowed.contains(&passed),
                "{passed} is not in {allowed:?} by {}",
                clock.facts().source
            );
        }
    }

    /// How late it ends depends on how busy the machine is: the suite of measurements has the loads that are paced by it.
    #[test]
    fn a_sleep_does_not_end_before_its_deadline() {
        for clock in clocks() {
            for _ in 0..20 {
                let at = clock.now() + Nanos::from_micros(700);
                clock.sleep_until(at);
                assert!(clock.now() >= at);
            }
        }
    }

    #[test]
    fn a_deadline_in_the_past_does_not_sleep() {
        let clock = LinuxClock::start();
        let before = clock.now();
        clock.sleep_until(Nanos::ZERO);
        assert!(clock.now() - before < Nanos::from_millis(50));
    }

    #[test]
    fn facts_have_the_source_and_a_plausible_cost() {
        for clock in clocks() {
            std::thread::sleep(Duration::from_millis(50));
            let facts = clock.facts();
            assert!(["tsc", "monotonic"].contains(&facts.source.as_str()));
            assert!(facts.cost_ns > 0.1 && facts.cost_ns < 5_000.0, "{facts:?}");
            assert!(facts.drift_ppm.abs() < 1_000.0, "{facts:?}");
        }
    }
}
