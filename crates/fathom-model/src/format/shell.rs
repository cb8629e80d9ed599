//! Words of command lines that a reader copies into a shell.

/// A word of a command line, in quotes where a shell would read it otherwise (POSIX.1-2017, Shell Command Language, 2.2 Quoting).
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(shell_word("randread.fio"), "randread.fio");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's; rm -rf /"), "'it'\\''s; rm -rf /'");
        assert_eq!(shell_word(""), "''");
    }
}
