//! Experiments: recipes that are job files, made for a target and a time.

mod quick;

pub use self::quick::{Quick, QuickError};
