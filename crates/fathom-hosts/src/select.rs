//! Which agents a run uses.

use std::collections::BTreeMap;

use crate::check_name;

/// Which agents a run uses (`--hosts`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every agent that answers.
    All,
    /// Exactly these.
    Names(Vec<String>),
    /// Every agent with all of these labels.
    Labels(BTreeMap<String, String>),
}

impl Selection {
    /// `all`, `a,b,c`, `rack=3`, `rack=3,disk=nvme` or `@GROUP` for the label `group=GROUP`.
    ///
    /// ```
    /// use fathom_hosts::Selection;
    ///
    /// assert_eq!(Selection::parse("all"), Ok(Selection::All));
    /// assert_eq!(Selection::parse("a,b"), Ok(Selection::Names(vec!["a".into(), "b".into()])));
    /// assert_eq!(Selection::parse("@web"), Selection::parse("group=web"));
    /// assert!(Selection::parse("a,a").is_err());
    /// ```
    ///
    /// # Errors
    /// What is wrong, as a sentence.
    pub fn parse(text: &str) -> Result<Selection, String> {
        if text == "all" {
            return Ok(Selection::All);
        }
        if let Some(group) = text.strip_prefix('@') {
            return Selection::parse(&format!("group={group}"));
        }
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.iter().any(|part| part.contains('=')) {
            return parts
                .into_iter()
                .map(parse_label)
                .collect::<Result<_, _>>()
                .map(Selection::Labels);
        }
        let mut names: Vec<String> = Vec::new();
        for part in parts {
            check_name(part)?;
            if names.iter().any(|name| name == part) {
                return Err(format!("the host {part} is given twice"));
            }
            names.push(part.to_owned());
        }
        Ok(Selection::Names(names))
    }

    /// How many agents there must be: the label `size` of `fathom agent --join`.
    #[must_use]
    pub fn expected(&self) -> Option<usize> {
        match self {
            Selection::Labels(wanted) => wanted.get("size")?.parse().ok(),
            _ => None,
        }
    }

    /// Whether an agent with this name and these labels is one of them.
    #[must_use]
    pub fn takes(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Selection::All => true,
            Selection::Names(names) => names.iter().any(|one| one == name),
            Selection::Labels(wanted) => wanted
                .iter()
                .all(|(key, value)| labels.get(key) == Some(value)),
        }
    }
}

/// `KEY=VALUE`.
pub(crate) fn parse_label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(format!(
            "'{}' is not a label: expected KEY=VALUE",
            text.escape_debug()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_must_all_match() {
        let labels = BTreeMap::from([
            ("rack".to_owned(), "3".to_owned()),
            ("disk".to_owned(), "nvme".to_owned()),
        ]);
        let takes = |text: &str| Selection::parse(text).expect(text).takes("a", &labels);
        assert!(takes("rack=3") && takes("rack=3,disk=nvme") && takes("all") && takes("a,b"));
        assert!(!takes("rack=4") && !takes("rack=3,disk=hdd") && !takes("b") && !takes("@rack"));
    }

    #[test]
    fn a_wrong_choice_is_refused() {
        for text in [
            "", "a,,b", "a b", "rack=", "=3", "a,rack=3", "*", "a.>", "@",
        ] {
            assert!(Selection::parse(text).is_err(), "{text}");
        }
    }
}
