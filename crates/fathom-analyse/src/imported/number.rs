//! Parses figures as people type them.

use fathom_model::{Finding, Weight};

use super::CheckInput;

/// An invalid or ambiguous figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid figure '{}': {why}", text.escape_debug())]
pub struct NumberError {
    text: String,
    why: &'static str,
}

impl NumberError {
    /// The error as a finding.
    fn finding(&self) -> Finding {
        let advice = "Correct the figure at its source; it is ignored here.".to_owned();
        Finding {
            id: "",
            code: "",
            weight: Weight::Invalidates,
            about: None,
            evidence: format!("{self}."),
            advice,
            when: Vec::new(),
        }
    }
}

/// Malformed figures.
pub(crate) fn malformed(input: &CheckInput) -> Vec<Finding> {
    input.malformed.iter().map(NumberError::finding).collect()
}

/// `80,000`, `19588`, `9.9`, `19k`, `1.5M`. Commas separate thousands only, so `80,00` is refused
/// instead of read as 8,000 or 80. Letters are powers of ten.
///
/// # Errors
/// When it is not a figure, or ambiguous.
pub fn parse_figure(text: &str) -> Result<f64, NumberError> {
    let trimmed = text.trim();
    let (digits, factor) = match trimmed.char_indices().last() {
        Some((at, 'k' | 'K')) => (&trimmed[..at], 1e3),
        Some((at, 'm' | 'M')) => (&trimmed[..at], 1e6),
        Some((at, 'g' | 'G')) => (&trimmed[..at], 1e9),
        _ => (trimmed, 1.0),
    };
    let refuse = |why| {
        Err(NumberError {
            text: trimmed.chars().take(40).collect(),
            why,
        })
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    if !part.bytes().all(|b| b.is_ascii_digit()) || part.is_empty() || !grouped(whole) {
        return refuse(
            "write digits, with commas between groups of three only, and a point before decimals",
        );
    }
    let value = format!("{}.{part}", whole.replace(',', ""))
        .parse::<f64>()
        .map(|value| value * factor);
    match value {
        Ok(value) if value.is_finite() => Ok(value),
        _ => refuse("it is too large"),
    }
}

/// Digits, or groups of three after a first of one to three.
fn grouped(whole: &str) -> bool {
    let mut groups = whole.split(',');
    let digits = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    let Some(first) = groups.next().filter(|first| digits(first)) else {
        return false;
    };
    let rest: Vec<&str> = groups.collect();
    rest.is_empty()
        || (first.len() <= 3 && rest.iter().all(|group| group.len() == 3 && digits(group)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_or_refused_but_never_guessed() {
        for (text, value) in [
            ("80,000", 80e3),
            ("19588", 19588.0),
            (" 9.9 ", 9.9),
            ("19k", 19e3),
            ("1,234,567.5", 1_234_567.5),
            ("550K", 550e3),
        ] {
            assert_eq!(parse_figure(text), Ok(value), "{text}");
        }
        for text in [
            "80,00", "8,0,000", ",000", "1.2.3", "", "k", "1e5", "-3", "0x10", "9.", "1234,567",
            "NaN", "inf",
        ] {
            assert!(parse_figure(text).is_err(), "{text}");
        }
    }
}
