//! Bytes and nanoseconds as types, so that they cannot be confused.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A duration, or an instant counted from the start of the run, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(u64);

macro_rules! count {
    ($name:ident) => {
        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);
            /// The largest value.
            pub const MAX: Self = Self(u64::MAX);
            /// Wraps a bare number.
            #[must_use]
            pub const fn new(value: u64) -> Self {
                Self(value)
            }
            /// The bare number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
            /// The difference, or zero where `other` is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
            /// The sum, at most [`Self::MAX`].
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
            /// Whether this is zero.
            #[must_use]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
        }
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, times: u64) -> Self {
                Self(self.0 * times)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Add::add)
            }
        }
    };
}

count!(Bytes);
count!(Nanos);

impl Bytes {
    /// `n` times 1024 bytes.
    #[must_use]
    pub const fn from_kib(n: u64) -> Self {
        Self(n << 10)
    }
    /// `n` times 1024 KiB.
    #[must_use]
    pub const fn from_mib(n: u64) -> Self {
        Self(n << 20)
    }
}

impl Nanos {
    /// `n` microseconds.
    #[must_use]
    pub const fn from_micros(n: u64) -> Self {
        Self(n * 1_000)
    }
    /// `n` milliseconds.
    #[must_use]
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// `n` seconds.
    #[must_use]
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }
    /// This time in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Whole milliseconds, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
}
