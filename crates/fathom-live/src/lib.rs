//! The full-screen view of an experiment: what is drawn, and the terminal it is drawn on.
//!
//! *It computes no statistic and reads no clock;* figures come in as [`Step`]s, and the terminal is whatever can be written to.
#![forbid(unsafe_code)]

mod draw;
mod screen;
mod view;

pub use self::draw::draw;
pub use self::screen::FullScreen;
pub use self::view::{DECADES, Step, View};
