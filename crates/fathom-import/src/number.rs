//! Reads figures of a result and checks their range.

use serde_json::Value;

use crate::error::ImportError;

/// Limit of counts, sizes, rates and times: a billion gigabytes, thirty years in nanoseconds.
const LARGEST: f64 = 1e18;

/// A required figure; 0 if it is missing.
///
/// # Errors
/// When it is not a number, negative, or too large.
pub(crate) fn figure(of: &Value, name: &str) -> Result<f64, ImportError> {
    let value = &of[name];
    if value.is_null() {
        return Ok(0.0);
    }
    let wrong = || ImportError::Figure {
        name: name.to_owned(),
        value: shortened(&value.to_string()),
    };
    value
        .as_f64()
        .filter(|figure| (0.0..=LARGEST).contains(figure))
        .ok_or_else(wrong)
}

/// Like [`figure`], as a whole number.
pub(crate) fn count(of: &Value, name: &str) -> Result<u64, ImportError> {
    figure(of, name).map(|figure| of[name].as_u64().unwrap_or(figure as u64))
}

/// An optional figure; 0 if it is invalid (fio writes the largest number for "none").
pub(crate) fn lenient(of: &Value, name: &str) -> f64 {
    of[name]
        .as_f64()
        .filter(|figure| (0.0..=LARGEST).contains(figure))
        .unwrap_or(0.0)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
