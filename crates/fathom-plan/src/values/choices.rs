//! Switches, and values from a fixed list.

use super::context::{ParseContext, ValueError};
use super::value::Value;
use crate::text::{closest, shorten};

/// On or off. fio takes numbers only; `fathom run` also takes `true`, `yes`, `on` and their opposites.
///
/// A `strict` switch is 0 or 1; other switches take any number.
///
/// # Errors
/// When the text is none of these.
pub(crate) fn switch(text: &str, strict: bool, context: &ParseContext) -> Result<bool, ValueError> {
    let text = text.trim();
    let number = match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" if !context.is_fio() => Some(1),
        "false" | "no" | "off" if !context.is_fio() => Some(0),
        _ if context.is_fio() => fio_integer(text),
        _ => text.parse::<u64>().ok(),
    };
    let fault = ValueError::new(format!("'{}' is not a valid switch value", shorten(text)));
    number
        .filter(|n| !strict || *n <= 1)
        .map(|n| n != 0)
        .ok_or_else(|| fault.advise("write 0 or 1"))
}

/// The number at the beginning of `text`, as scanf(3) reads it.
fn fio_integer(text: &str) -> Option<u64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, radix) = match unsigned
        .strip_prefix("0x")
        .or_else(|| unsigned.strip_prefix("0X"))
    {
        Some(hex) => (hex, 16),
        None => (unsigned, 10),
    };
    let end = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    if end == 0 {
        None
    } else {
        Some(u64::from_str_radix(&digits[..end], radix).unwrap_or(u64::MAX))
    }
}

/// One of `known`, with the text after a colon where `parameters` are allowed.
///
/// # Errors
/// When the value is unknown.
pub(crate) fn choice(
    text: &str,
    known: &'static [&'static str],
    parameters: bool,
    context: &ParseContext,
) -> Result<Value, ValueError> {
    let end = text.find([':', ',']).unwrap_or(text.len());
    let head = &text[..end];
    let rest = text[end..]
        .strip_prefix(':')
        .map(|rest| rest.trim().to_owned())
        .filter(|rest| !rest.is_empty());
    let Some(choice) = known.iter().find(|choice| **choice == head) else {
        return Err(unknown(head, known));
    };
    if end < text.len() && !parameters && !context.is_fio() {
        return Err(ValueError::new(format!(
            "unexpected '{}' after '{choice}'",
            &text[end..]
        )));
    }
    Ok(Value::Choice(choice, rest))
}

fn unknown(value: &str, known: &'static [&'static str]) -> ValueError {
    let list = known.join(", ");
    let fault = ValueError::new(format!("'{}' is not one of {list}", shorten(value)));
    match closest(value, known.iter().copied()).filter(|best| !best.is_empty() && value.len() > 2) {
        Some(best) => fault.advise(format!("did you mean {best}?")),
        None => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Personality::{Fathom, Fio};

    /// Measured on fio 3.33: true and yes are refused, `direct=2` too, `thread=4` is on.
    #[test]
    fn fio_switches_take_numbers_only() {
        for (text, fio, ours) in [
            ("1", Some(true), Some(true)),
            ("0", Some(false), Some(false)),
            ("4", Some(true), Some(true)),
            ("0x0", Some(false), None),
            ("true", None, Some(true)),
            ("No", None, Some(false)),
            ("1x", Some(true), None),
            ("maybe", None, None),
            ("", None, None),
        ] {
            assert_eq!(
                switch(text, false, &ParseContext::new(Fio, 1)).ok(),
                fio,
                "{text}"
            );
            assert_eq!(
                switch(text, false, &ParseContext::new(Fathom, 1)).ok(),
                ours,
                "{text}"
            );
        }
        assert!(
            switch("2", true, &ParseContext::new(Fio, 1)).is_err()
                && switch("2", true, &ParseContext::new(Fathom, 1)).is_err()
        );
    }

    #[test]
    fn choices_match_exactly_and_keep_their_parameters() {
        let context = ParseContext::new(Fathom, 1);
        assert_eq!(
            choice("read:8k", &["read", "readwrite"], true, &context),
            Ok(Value::Choice("read", Some("8k".into())))
        );
        assert!(choice("rea", &["read"], true, &context).is_err());
        let fault =
            choice("randraed", &["read", "randread"], true, &context).expect_err("misspelt");
        assert_eq!(fault.advice.as_deref(), Some("did you mean randread?"));
    }
}
