//! The counter of the CPU. Only this module depends on the architecture: elsewhere the clock is CLOCK_MONOTONIC.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
pub(super) use self::time_stamp::{is_invariant, ticks};

#[cfg(not(target_arch = "x86_64"))]
pub(super) use self::none::{is_invariant, ticks};

#[cfg(target_arch = "x86_64")]
mod time_stamp {
    use core::arch::x86_64::{__cpuid, _rdtsc};

    /// The time stamp counter now.
    #[inline]
    pub(in crate::clock) fn ticks() -> u64 {
        // SAFETY: every x86-64 CPU has this instruction, and Linux permits it in every process unless
        // disabled (PR_SET_TSC).
        unsafe { _rdtsc() }
    }

    /// "Invariant TSC": CPUID 8000_0007h, EDX bit 8 (AMD APM volume 3, Intel SDM volume 2A).
    pub(in crate::clock) fn is_invariant() -> bool {
        const POWER: u32 = 0x8000_0007;
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & (1 << 8) != 0
    }
}

/// No counter that a program can use.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod none {
    /// A counter that does not run: no clock is calibrated with it.
    #[inline]
    pub(in crate::clock) fn ticks() -> u64 {
        0
    }

    pub(in crate::clock) fn is_invariant() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    /// Other architectures must not take a counter that does not run for a clock.
    #[test]
    fn without_a_counter_nothing_is_calibrated() {
        assert!(!super::none::is_invariant());
        assert_eq!(super::none::ticks(), super::none::ticks());
    }
}
