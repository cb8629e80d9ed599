//! Options of a job as fio repeats them in its result.

use serde_json::{Map, Value};

/// Global options and those of the job, which come first.
pub(crate) struct Options<'a> {
    own: Option<&'a Map<String, Value>>,
    global: Option<&'a Map<String, Value>>,
}

impl<'a> Options<'a> {
    pub(crate) fn of(document: &'a Value, job: &'a Value) -> Self {
        Self { own: job["job options"].as_object(), global: document["global options"].as_object() }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        let of = |map: Option<&'a Map<String, Value>>| map?.get(name)?.as_str();
        of(self.own).or_else(|| of(self.global))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.text(name)?.trim().parse().ok()
    }

    /// `4k`, `512`, `1M`; a range or a list is no single size.
    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        let text = self.text(name)?.trim().to_ascii_lowercase();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text[digits.len()..].trim_end_matches('b').trim_end_matches('i') {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            "t" => 40,
            _ => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(1 << shift)
    }
}
