//! Devices as a table, as cards and as JSON.

mod card;
mod document;
mod link;
mod table;

pub use self::card::device_cards;
pub use self::document::device_document;
pub(crate) use self::link::{kind_word, speed_words};
pub use self::table::device_table;
