//! Parses fio's job files into sections.

mod sections;
mod source;
mod substitute;

pub use self::sections::{Assignment, JobFile, Section};
pub(crate) use self::sections::{Context, parse};
pub use self::source::Source;
pub(crate) use self::substitute::{MEMORY, substitute};
