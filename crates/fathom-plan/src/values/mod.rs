//! Values: text in, numbers and words out, by two sets of rules.

mod bytes_pattern;
mod distribution;
mod lists;
mod number;
mod priorities;
mod reading;
mod sets;
mod split;
mod value;
mod words;

pub(crate) use self::distribution::{normal, pareto, zipf};
pub(crate) use self::number::number;
pub use self::priorities::SizePriority;
pub use self::reading::{Fault, Reading};
pub use self::value::{Size, Value, read_value};
