//! Messages for errno values.

/// The message of errno(3), such as `Input/output error` for 5.
pub(crate) fn message(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_answers() {
        assert_eq!(super::message(5), "Input/output error");
        assert_eq!(super::message(28), "No space left on device");
    }
}
