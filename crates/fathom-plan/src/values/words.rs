//! Words: on and off, and one of a list.

use super::reading::{Fault, Reading};
use super::value::Value;
use crate::options::closest;

/// On or off. fio takes any number and no word; here `true`, `yes`, `on` and their opposites do as well.
///
/// # Errors
/// When the text is neither.
pub(crate) fn switch(text: &str, reading: &Reading) -> Result<bool, Fault> {
    let text = text.trim();
    if reading.is_fio() {
        return fio_switch(text).ok_or_else(|| Fault::new(format!("'{text}' is not a number")).advise("write 0 or 1"));
    }
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        number => number.parse::<u64>().map(|n| n != 0).map_err(|_| Fault::new(format!("'{text}' is neither on nor off")).advise("write 0 or 1")),
    }
}

fn fio_switch(text: &str) -> Option<bool> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits: String = match unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        Some(hex) => hex.chars().take_while(char::is_ascii_hexdigit).collect(),
        None => unsigned.chars().take_while(char::is_ascii_digit).collect(),
    };
    (!digits.is_empty()).then(|| digits.contains(|c| c != '0'))
}

/// One of `known`; what follows a colon is kept where it may follow.
///
/// # Errors
/// When the word is not known.
pub(crate) fn choice(text: &str, known: &'static [&'static str], more: bool, reading: &Reading) -> Result<Value, Fault> {
    let end = text.find([':', ',']).unwrap_or(text.len());
    let head = &text[..end];
    let rest = text[end..].strip_prefix(':').map(|rest| rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    let Some(word) = known.iter().find(|word| **word == head) else { return Err(unknown(head, known)) };
    if end < text.len() && !more && !reading.is_fio() {
        return Err(Fault::new(format!("'{}' may not follow '{word}'", &text[end..])));
    }
    Ok(Value::Choice(word, rest))
}

fn unknown(word: &str, known: &'static [&'static str]) -> Fault {
    let list = known.join(", ");
    let fault = Fault::new(format!("'{}' is none of {list}", word.chars().take(40).collect::<String>()));
    match closest(word, known.iter().copied()).filter(|best| !best.is_empty() && word.len() > 2) {
        Some(best) => fault.advise(format!("did you mean {best}?")),
        None => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Personality::{Fathom, Fio};

    /// Measured on fio 3.33: true and yes are refused, any number but 0 is true.
    #[test]
    fn only_numbers_switch_in_fio() {
        for (text, fio, ours) in [
            ("1", Some(true), Some(true)), ("0", Some(false), Some(false)), ("4", Some(true), Some(true)),
            ("true", None, Some(true)), ("No", None, Some(false)), ("1x", Some(true), None), ("maybe", None, None), ("", None, None),
        ] {
            assert_eq!(switch(text, &Reading::new(Fio, 1)).ok(), fio, "{text}");
            assert_eq!(switch(text, &Reading::new(Fathom, 1)).ok(), ours, "{text}");
        }
    }

    #[test]
    fn words_match_whole_and_keep_their_tail() {
        let reading = Reading::new(Fathom, 1);
        assert_eq!(choice("read:8k", &["read", "readwrite"], true, &reading), Ok(Value::Choice("read", Some("8k".into()))));
        assert!(choice("rea", &["read"], true, &reading).is_err());
        let fault = choice("randraed", &["read", "randread"], true, &reading).expect_err("misspelt");
        assert_eq!(fault.advice.as_deref(), Some("did you mean randread?"));
    }
}
