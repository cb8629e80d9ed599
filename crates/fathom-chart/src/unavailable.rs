//! The interface of a build that draws nothing.

use std::convert::Infallible;

use fathom_model::{Chart, Report};

use crate::error::ChartError;
use crate::frame::Frame;

/// A renderer that this build does not have.
pub struct Renderer(Infallible);

#[allow(
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 0594: a build without a feature did not say how to get it: here `charts`.
    #[test]
    fn the_missing_feature_is_named() {
        assert!(!Renderer::is_built_in());
        let errors = [
            Renderer::new().err(),
            page(&Chart::default()).err(),
            report_page(&Report::default()).err(),
        ];
        for error in errors {
            let text = error.expect("no charts").to_string();
            assert!(text.contains("feature `charts` is missing"), "{text}");
            assert!(
                text.ends_with("build fathom with `cargo build --features charts`"),
                "{text}"
            );
            assert_eq!(text.lines().count(), 1);
        }
    }
}
