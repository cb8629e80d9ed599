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

impl<W> FullScreen<W> {
    /// Always fails.
    ///
    /// # Errors
    /// This build has no full-screen view.
    pub fn open(_: W) -> io::Result<FullScreen<W>> {
        Err(io::Error::other(
            "this build has no full-screen view (cargo feature `watch`)",
        ))
    }

    /// Never called: no screen can be opened.
    ///
    /// # Errors
    /// None.
    pub fn show(&mut self, _: &View) -> io::Result<()> {
        match self.never {}
    }
}
