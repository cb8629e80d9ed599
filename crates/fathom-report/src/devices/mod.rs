//! Devices as a table, in detail, and as JSON.

mod card;
mod document;
mod link;
mod spec;
mod table;

pub use self::card::{cache_words, device_cards};
pub use self::document::device_document;
pub(crate) use self::link::{kind_word, link_speed_text};
pub(crate) use self::spec::spec_object;
pub use self::spec::{spec_document, spec_text};
pub use self::table::device_table;
