//! JSON values in a text.

use serde_json::{Deserializer, Value};

/// The value at the beginning of `text` and the number of its bytes; `None` if there are only blanks.
///
/// # Errors
/// What is wrong with the value, with a line that is counted from the beginning of `text`.
#[must_use]
pub fn first_value(text: &str) -> Option<Result<(Value, usize), serde_json::Error>> {
    let mut stream = Deserializer::from_str(text).into_iter::<Value>();
    let read = stream.next()?;
    Some(read.map(|value| (value, stream.byte_offset())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_up_to_its_end() {
        let (value, bytes) = first_value("{\"a\": [1, 2]} and more")
            .expect("a value")
            .expect("it is JSON");
        assert_eq!(value["a"][1], 2);
        assert_eq!(bytes, "{\"a\": [1, 2]}".len());
        assert!(first_value(" \n ").is_none());
        let error = first_value("{\n\"a\": ,}")
            .expect("text")
            .expect_err("no value");
        assert_eq!(error.line(), 2);
    }
}
