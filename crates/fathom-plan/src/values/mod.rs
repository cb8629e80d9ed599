//! Values: text into sizes, times, rates, counts and lists, by the rules of either personality.

mod arithmetic;
mod choices;
mod context;
mod distribution;
mod lists;
mod number;
mod pattern;
mod priorities;
mod quantity;
mod quantity_error;
mod sets;
mod split;
mod unit;
mod value;

pub(crate) use self::arithmetic::evaluate;
pub(crate) use self::choices::{choice, switch};
pub use self::context::{ParseContext, ValueError};
pub(crate) use self::distribution::{distribution, normal, pareto, zipf};
pub(crate) use self::lists::{first_part, floats, one, pair, ranges, single, three};
pub(crate) use self::number::{Amount, amount, number};
pub(crate) use self::pattern::bytes_pattern;
pub use self::priorities::SizePriority;
pub(crate) use self::priorities::size_priorities;
pub use self::quantity::{parse_count, parse_percent, parse_rate, parse_size, parse_time};
pub use self::quantity_error::QuantityError;
pub(crate) use self::sets::{cpus, errors, mask};
pub(crate) use self::split::{SizeShares, sizes};
pub use self::unit::Unit;
pub use self::value::{Size, Value};
