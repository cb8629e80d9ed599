//! References made from the tables of switches and options: the compatibility document, and a listing for man pages and
//! shell completions.

mod compatibility;
mod listing;

pub use self::compatibility::compatibility;
pub use self::listing::{ListedOption, ListedValue, job_option_list, switch_list};
