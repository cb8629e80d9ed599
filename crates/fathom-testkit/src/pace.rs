//! Waits until an exact time of CLOCK_MONOTONIC.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::setpriority_process;
use rustix::thread::{clock_nanosleep_absolute, gettid, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time before the deadline at which sleeping ends and spinning begins, in nanoseconds.
///
/// A sleeping thread wakes up some tens of microseconds late; spinning hides that.
const SPIN_NS: u64 = 60_000;

/// Threads that are spinning now. More than half of the processors would starve the caller.
static SPINNING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static PRECISE: Cell<bool> = const { Cell::new(false) };
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Returns at `deadline_ns` of CLOCK_MONOTONIC, or at once if that has passed.
///
/// Raises the calling thread's priority if allowed: intended for the device's threads.
pub fn wait_until(deadline_ns: u64) {
    raise_timer_precision();
    let may_spin = SPINNING.load(Ordering::Relaxed) < spinners();
    let wake_ns = if may_spin {
        deadline_ns.saturating_sub(SPIN_NS)
    } else {
        deadline_ns
    };
    sleep_until(wake_ns);
    spin_until(deadline_ns);
}

fn spinners() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| std::thread::available_parallelism().map_or(1, |n| n.get().div_ceil(2)))
}

/// Asks the kernel, once per thread, not to group this thread's timers with others (default slack:
/// 50 us), and to schedule it before the load generators that the device serves.
fn raise_timer_precision() {
    if !PRECISE.replace(true) {
        // If refused, waits are a little less exact, which the device's own log will show.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let _ = setpriority_process(Some(gettid()), -20);
    }
}

fn sleep_until(wake_ns: u64) {
    let wake = Timespec {
        tv_sec: (wake_ns / 1_000_000_000) as i64,
        tv_nsec: (wake_ns % 1_000_000_000) as _,
    };
    while monotonic_ns() < wake_ns {
        if clock_nanosleep_absolute(ClockId::Monotonic, &wake).is_ok() {
            return;
        }
    }
}

fn spin_until(deadline_ns: u64) {
    SPINNING.fetch_add(1, Ordering::Relaxed);
    while monotonic_ns() < deadline_ns {
        std::hint::spin_loop();
    }
    SPINNING.fetch_sub(1, Ordering::Relaxed);
}
