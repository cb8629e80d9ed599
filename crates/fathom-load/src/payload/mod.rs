//! The content of written blocks, and a measurement of its properties.

mod content;
mod filler;
mod measure;
mod repeated_pattern;
mod stream;

#[cfg(test)]
mod tests;

pub use self::content::PayloadError;
pub use self::filler::Filler;
pub use self::measure::{PayloadMeasurement, Sampler, measure};
pub use self::stream::fill_incompressible;

pub(crate) use self::content::Content;
pub(crate) use self::repeated_pattern::{Files, RepeatedPattern};
pub(crate) use self::stream::{Stream, mix};
