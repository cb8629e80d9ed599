//! The interface of a build without a full-screen view.

use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;

use crate::view::View;

/// A screen that this build cannot open.
pub struct FullScreen<W> {
    never: Infallible,
    out: PhantomData<W>,
}

fn not_built() -> io::Error {
    io::Error::other(
        "this build has no full-screen view: the cargo feature `watch` is missing; leave out --watch, or build fathom with `cargo build --features watch`",
    )
}

/// Always fails.
///
/// # Errors
/// This build has no full-screen view.
pub fn check_screen() -> io::Result<()> {
    Err(not_built())
}

impl<W> FullScreen<W> {
    /// Always fails.
    ///
    /// # Errors
    /// This build has no full-screen view.
    pub fn open(_: W) -> io::Result<FullScreen<W>> {
        Err(not_built())
    }

    /// Never called: no screen can be opened.
    ///
    /// # Errors
    /// None.
    pub fn show(&mut self, _: &View) -> io::Result<()> {
        match self.never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 0592: a build without a feature did not say how to get it: here `watch`.
    #[test]
    fn the_missing_feature_is_named() {
        let opened = FullScreen::open(Vec::<u8>::new()).err();
        for error in [opened, check_screen().err()] {
            let text = error.expect("no screen").to_string();
            assert!(text.contains("feature `watch` is missing"), "{text}");
            assert!(
                text.ends_with("build fathom with `cargo build --features watch`"),
                "{text}"
            );
            assert_eq!(text.lines().count(), 1);
        }
    }
}
