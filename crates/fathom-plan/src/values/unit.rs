//! The unit of a number.

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain count; `k` and `m` multiply.
    Count,
    /// Bytes.
    Bytes,
    /// 0 to 100.
    Percent,
    /// Milliseconds, as a bare number.
    Millis,
    /// A time whose bare number is microseconds.
    Micros,
    /// A time whose bare number is seconds.
    Seconds,
}

impl Unit {
    /// Whether values carry suffixes of time rather than of size.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self, Unit::Micros | Unit::Seconds)
    }
}
