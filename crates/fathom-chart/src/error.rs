//! Why a chart cannot be inked.

use std::fmt;

/// What is wrong with a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InkError {
    /// This build found no chart script.
    NoScript,
    /// The script failed; its words.
    Script(String),
    /// The picture could not be turned into pixels.
    Pixels(String),
}

impl fmt::Display for InkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoScript => write!(
                f,
                "this build has no chart script, so it draws no SVG, PNG or HTML (CSV works); build it again where cargo can \
                 reach its registry, or with FATHOM_ECHARTS=/path/to/echarts-5.5.1.min.js"
            ),
            Self::Script(words) => write!(f, "the chart script failed: {words}"),
            Self::Pixels(words) => {
                write!(f, "the picture could not be turned into pixels: {words}")
            }
        }
    }
}

impl std::error::Error for InkError {}
