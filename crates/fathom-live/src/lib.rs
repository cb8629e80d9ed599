//! The full-screen view of an experiment (`--watch`).
//!
//! It computes no statistics and reads no clock: metrics arrive as [`Step`]s, and the terminal is
//! any writer. Without the feature `screen` the interface is the same, and opening a screen fails.
//!
//! ```
//! use fathom_live::{Step, View};
//!
//! let mut view = View::new("sweep of /dev/nvme0n1");
//! view.begin("bs=4k iodepth=8", 1, 24);
//! view.progress(Some(0.5), "running", None);
//! view.step(Step { iops: 95_012.0, bandwidth: 389.2e6, ..Step::default() });
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "screen")]
mod draw;
#[cfg(feature = "screen")]
mod screen;
// Compiled for its test, too.
#[cfg(any(test, not(feature = "screen")))]
#[cfg_attr(feature = "screen", allow(dead_code))]
mod unavailable;
mod view;

#[cfg(feature = "screen")]
pub use self::draw::draw;
#[cfg(feature = "screen")]
pub use self::screen::{FullScreen, check_screen};
#[cfg(not(feature = "screen"))]
pub use self::unavailable::{FullScreen, check_screen};
pub use self::view::{DECADES, Step, View};
