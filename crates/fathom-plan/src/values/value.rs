//! The parsed value of an option.

use fathom_model::{Distribution, PatternPart, PerDirection};

use super::priorities::SizePriority;
use super::split::SizeShares;

/// A size that may be relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// Percent of the target, 0 to 100.
    Percent(u8),
    /// Zones of a zoned device.
    Zones(u32),
}

/// The value an option was set to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A count, bytes, or nanoseconds, by the unit of the row.
    Number(i64),
    /// As [`Value::Number`] for read, write and trim; `None` keeps the earlier value.
    Three([Option<u64>; 3]),
    /// Minimum and maximum.
    Pair(u64, u64),
    /// A size that may be relative.
    Extent(Size),
    /// Any text.
    Text(String),
    /// Optional text.
    Prefix(Option<String>),
    /// One of the valid values, and the text after its colon.
    Choice(&'static str, Option<String>),
    /// Ranges for read, write and trim.
    Ranges([Option<(u64, u64)>; 3]),
    /// Sizes with shares for read, write and trim.
    Split([SizeShares; 3]),
    /// Sizes with shares and priorities for read, write and trim.
    PrioritySplit([Vec<SizePriority>; 3]),
    /// Distributions for read, write and trim.
    Distribution(PerDirection<Distribution>),
    /// Decimals.
    Floats(Vec<f64>),
    /// Bytes.
    Pattern(Vec<PatternPart>),
    /// CPU numbers.
    Cpus(Vec<u32>),
    /// errno values for read, write and verify.
    Errors([Option<Vec<i32>>; 3]),
    /// fio removed the option; its value is ignored.
    Nothing,
}
