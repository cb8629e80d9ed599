//! The interface of a build that draws nothing.

use std::convert::Infallible;

use fathom_model::{Chart, Report};

use crate::error::ChartError;
use crate::frame::Frame;

/// A renderer that this build does not have.
pub struct Renderer(Infallible);

#[expect(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "documented where drawing is built in"
)]
impl Renderer {
    pub fn is_built_in() -> bool {
        false
    }

    pub fn new() -> Result<Renderer, ChartError> {
        Err(ChartError::NotBuilt)
    }
}

/// Always fails.
///
/// # Errors
/// [`ChartError::NotBuilt`].
pub fn svg(_: &Chart, _: &Frame, renderer: &Renderer) -> Result<String, ChartError> {
    match renderer.0 {}
}

/// Always fails.
///
/// # Errors
/// [`ChartError::NotBuilt`].
pub fn png(_: &Chart, _: &Frame, renderer: &Renderer) -> Result<Vec<u8>, ChartError> {
    match renderer.0 {}
}

/// Always fails.
///
/// # Errors
/// [`ChartError::NotBuilt`].
pub fn page(_: &Chart) -> Result<String, ChartError> {
    Err(ChartError::NotBuilt)
}

/// Always fails.
///
/// # Errors
/// [`ChartError::NotBuilt`].
pub fn report_page(_: &Report) -> Result<String, ChartError> {
    Err(ChartError::NotBuilt)
}
