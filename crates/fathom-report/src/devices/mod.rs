//! Devices as a table and in detail, and the comparison with a data sheet.

mod card;
mod link;
mod links;
mod spec;
mod table;

pub use self::card::{cache_words, device_cards, queue_words};
pub(crate) use self::link::link_speed_text;
pub use self::links::{links_json, links_text};
pub use self::spec::spec_text;
pub use self::table::device_table;
