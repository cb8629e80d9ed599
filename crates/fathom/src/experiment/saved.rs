//! What an experiment set out to do, as a text of lines `name=value`: everything that is needed to take it up again.

/// Names and values in order; a name may stand several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved(Vec<(String, String)>);

impl Saved {
    /// Adds a value.
    pub fn push(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// All values of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a name.
    pub fn one(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// As a text.
    pub fn write(&self) -> String {
        let escape = |value: &str| value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
        self.0.iter().map(|(name, value)| format!("{name}={}\n", escape(value))).collect()
    }

    /// From a text that [`Saved::write`] made.
    pub fn read(text: &str) -> Saved {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Saved(pairs.map(|(name, value)| (name.to_owned(), unescape(value))).collect())
    }
}

fn unescape(value: &str) -> String {
    let mut text = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_comes_back() {
        let mut saved = Saved::default();
        for value in ["plain", "", "a=b", "two\nlines\r\n", "back\\slash\\n", "[job]\nrw=read\n"] {
            saved.push("argument", value);
        }
        saved.push("folder", "/mnt/x");
        assert_eq!(saved.write().lines().count(), 7);
        assert_eq!(Saved::read(&saved.write()), saved);
        assert_eq!((saved.one("folder"), saved.all("argument").count(), saved.one("none")), (Some("/mnt/x"), 6, None));
    }
}
