//! fio's job files: text into sections.

mod arithmetic;
mod sections;
mod source;
mod substitute;

pub(crate) use self::arithmetic::evaluate;
pub use self::sections::{Assignment, JobFile, Section};
pub(crate) use self::sections::{Context, parse, shorten};
pub use self::source::Source;
