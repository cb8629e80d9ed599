//! A search: the largest load within limits.

mod cells;
mod mix;

pub use self::cells::{SearchCells, SearchGoal, TrialLoad};
pub use self::mix::{SearchError, search_description, search_mix};
