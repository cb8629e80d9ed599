//! Keys and values of a TOML text, with the line of what is wrong.
//!
//! A load file is read once: derived code of its types was a third of this crate.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table of the text.
pub(crate) struct Fields<'a> {
    text: &'a str,
    table: &'a DeTable<'a>,
    /// Where it begins.
    at: usize,
}

type Value<'a> = &'a Spanned<DeValue<'a>>;

/// The text as a table.
///
/// # Errors
/// Where it is not valid TOML.
pub(crate) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, String> {
    DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        format!("{}{}", line(text, at), error.message())
    })
}

fn line(text: &str, at: usize) -> String {
    let before = text.bytes().take(at).filter(|byte| *byte == b'\n');
    format!("line {}: ", before.count() + 1)
}

impl<'a> Fields<'a> {
    /// The keys of the whole text.
    pub fn new(text: &'a str, table: &'a Spanned<DeTable<'a>>) -> Self {
        Fields {
            text,
            table: table.get_ref(),
            at: table.span().start,
        }
    }

    /// What is wrong with this table.
    pub fn error(&self, what: &str) -> String {
        format!("{}{what}", line(self.text, self.at))
    }

    /// Refuses other keys than these.
    pub fn only(&self, keys: &[&str]) -> Result<(), String> {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !keys.contains(&name) {
                return Err(format!(
                    "{}unknown key '{}'; known keys: {}",
                    line(self.text, key.span().start),
                    name.escape_debug(),
                    keys.join(", ")
                ));
            }
        }
        Ok(())
    }

    fn value(&self, key: &str) -> Option<Value<'a>> {
        self.table.get(key)
    }

    /// The error of a value that is not what is expected.
    fn wrong(&self, key: &str, value: Value<'_>, expected: &str) -> String {
        format!("{}{key}: {expected}", line(self.text, value.span().start))
    }

    fn each<T>(
        &self,
        key: &str,
        value: Value<'a>,
        expected: &str,
        convert: fn(&DeValue<'_>) -> Option<T>,
    ) -> Result<T, String> {
        convert(value.get_ref()).ok_or_else(|| self.wrong(key, value, expected))
    }

    /// A value that must be there.
    pub fn needed<T>(&self, key: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| self.error(&format!("the key {key} is missing")))
    }

    pub fn number(&self, key: &str) -> Result<Option<f64>, String> {
        let value = self.value(key);
        value
            .map(|value| self.each(key, value, NUMBER, number))
            .transpose()
    }

    pub fn whole(&self, key: &str) -> Result<Option<u64>, String> {
        let value = self.value(key);
        value
            .map(|value| self.each(key, value, WHOLE, whole))
            .transpose()
    }

    pub fn short(&self, key: &str) -> Result<Option<u32>, String> {
        let value = self.value(key);
        value
            .map(|value| self.each(key, value, SHORT, short))
            .transpose()
    }

    pub fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        let value = self.value(key);
        value
            .map(|value| self.each(key, value, FLAG, |value| value.as_bool()))
            .transpose()
    }

    /// A text; empty if the key is missing.
    pub fn word(&self, key: &str) -> Result<&'a str, String> {
        match self.value(key) {
            None => Ok(""),
            Some(value) => value
                .get_ref()
                .as_str()
                .ok_or_else(|| self.wrong(key, value, "a text is expected")),
        }
    }

    fn list(&self, key: &str) -> Result<Vec<Value<'a>>, String> {
        match self.value(key) {
            None => Ok(Vec::new()),
            Some(value) => match value.get_ref().as_array() {
                Some(all) => Ok(all.iter().collect()),
                None => Err(self.wrong(key, value, "a list is expected")),
            },
        }
    }

    pub fn numbers(&self, key: &str) -> Result<Vec<f64>, String> {
        let all = self.list(key)?.into_iter();
        all.map(|value| self.each(key, value, NUMBER, number))
            .collect()
    }

    pub fn words(&self, key: &str) -> Result<Vec<String>, String> {
        let all = self.list(key)?.into_iter();
        let text = |value: &DeValue<'_>| value.as_str().map(str::to_owned);
        all.map(|value| self.each(key, value, "texts are expected", text))
            .collect()
    }

    /// `[[SIZE, COUNT], ...]`.
    pub fn pairs(&self, key: &str) -> Result<Vec<(u32, u64)>, String> {
        let pair = |value: &DeValue<'_>| match value.as_array()?.get(..)? {
            [first, second] => Some((short(first.get_ref())?, whole(second.get_ref())?)),
            _ => None,
        };
        let all = self.list(key)?.into_iter();
        all.map(|value| self.each(key, value, "pairs of whole numbers are expected", pair))
            .collect()
    }

    fn inner(&self, key: &str, value: Value<'a>) -> Result<Fields<'a>, String> {
        let table = value.get_ref().as_table();
        Ok(Fields {
            text: self.text,
            table: table.ok_or_else(|| self.wrong(key, value, "a table is expected"))?,
            at: value.span().start,
        })
    }

    pub fn table(&self, key: &str) -> Result<Option<Fields<'a>>, String> {
        let value = self.value(key);
        value.map(|value| self.inner(key, value)).transpose()
    }

    pub fn tables(&self, key: &str) -> Result<Vec<Fields<'a>>, String> {
        let all = self.list(key)?.into_iter();
        all.map(|value| self.inner(key, value)).collect()
    }
}

const FLAG: &str = "true or false is expected";
const NUMBER: &str = "a number is expected";
const WHOLE: &str = "a whole number from 0 is expected";
const SHORT: &str = "a whole number from 0 to 4294967295 is expected";

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        value => whole(value).map(|number| number as f64),
    }
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn short(value: &DeValue<'_>) -> Option<u32> {
    u32::try_from(whole(value)?).ok()
}
