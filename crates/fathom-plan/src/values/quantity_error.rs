//! Why a text is not a size, time, rate, percentage or count.

use thiserror::Error;

/// Why a text is not a valid quantity. The message does not repeat the text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Not a number; the field states what was expected.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A hexadecimal number with other characters.
    #[error("expected {0} (a hexadecimal number takes no suffix)")]
    Hexadecimal(&'static str),
    /// A number with an unknown unit.
    #[error("unknown unit '{unit}' ({known})")]
    UnknownUnit {
        /// The unit as written.
        unit: String,
        /// The known units, as advice.
        known: &'static str,
    },
    /// A fraction that is not a whole number in the base unit.
    #[error("not a whole number{0}")]
    NotWhole(&'static str),
    /// An expression in brackets that cannot be evaluated.
    #[error("invalid expression (use whole numbers with + - * / % and brackets)")]
    Expression,
    /// More than 63 bits.
    #[error("too large (the maximum is 9223372036854775807)")]
    TooLarge,
    /// A percentage where none is allowed; the field states what was expected.
    #[error("expected {0}, not a percentage")]
    Percentage(&'static str),
    /// A negative number.
    #[error("must not be negative")]
    Negative,
    /// A percentage outside 0 to 100.
    #[error("must be from 0% to 100%")]
    PercentRange,
}

impl QuantityError {
    /// The problem as the second half of a sentence that begins with the text.
    pub(crate) fn problem(&self) -> String {
        match self {
            QuantityError::Expected(expected) | QuantityError::Hexadecimal(expected) => {
                format!("is not {expected}")
            }
            QuantityError::UnknownUnit { unit, .. } => format!("has an unknown unit '{unit}'"),
            QuantityError::NotWhole(unit) => format!("is not a whole number{unit}"),
            QuantityError::Expression => "is not a valid expression".to_owned(),
            QuantityError::TooLarge => "is too large".to_owned(),
            QuantityError::Percentage(expected) => format!("is a percentage, expected {expected}"),
            QuantityError::Negative => "is negative".to_owned(),
            QuantityError::PercentRange => "is not between 0% and 100%".to_owned(),
        }
    }

    /// How to fix it.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            QuantityError::Hexadecimal(_) => Some("a hexadecimal number takes no suffix"),
            QuantityError::UnknownUnit { known, .. } => Some(known),
            QuantityError::Expression => Some("use whole numbers with + - * / % and brackets"),
            QuantityError::TooLarge => Some("the maximum is 9223372036854775807"),
            _ => None,
        }
    }
}
