//! Tables of a recipe: typed access to values, with errors that name their line.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::RecipeError;
use crate::options::{closest_option, find};
use crate::text::closest;
use crate::values::{parse_size, parse_time};

/// A recipe file: name and text.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl File<'_> {
    pub fn error(&self, at: Range<usize>, problem: impl Into<String>) -> RecipeError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        RecipeError {
            file: self.name.to_owned(),
            line: 1 + before.matches('\n').count(),
            problem: problem.into(),
        }
    }
}

type TableResult<T> = Result<T, RecipeError>;

/// A table and its location.
#[derive(Clone, Copy)]
pub(super) struct TableEntry<'a> {
    pub file: File<'a>,
    pub table: &'a DeTable<'a>,
    pub at: usize,
}

impl<'a> TableEntry<'a> {
    /// An error when a key is not one of `known`.
    pub fn only(&self, known: &[&str]) -> TableResult<()> {
        if let Some(key) = self
            .table
            .keys()
            .find(|key| !known.contains(&key.get_ref().as_ref()))
        {
            let name = key.get_ref().escape_debug().to_string();
            let close = closest(&name, known.iter().copied())
                .map_or(String::new(), |close| format!("; did you mean {close}?"));
            return Err(self
                .file
                .error(key.span(), format!("unknown key '{name}'{close}")));
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table
            .iter()
            .find(|(name, _)| name.get_ref().as_ref() == key)
            .map(|(_, value)| value)
    }

    pub fn span(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(self.at..self.at, Spanned::span)
    }

    pub fn wrong(&self, key: &str, problem: impl Into<String>) -> RecipeError {
        self.file.error(self.span(key), problem)
    }

    pub fn text(&self, key: &str) -> TableResult<Option<String>> {
        match self.get(key).map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::String(text)) => Ok(Some(text.clone().into_owned())),
            Some(_) => Err(self.wrong(key, format!("{key} must be a string in quotes"))),
        }
    }

    pub fn required(&self, key: &str) -> TableResult<String> {
        match self.text(key)?.filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(text),
            None => Err(self.wrong(key, format!("`{key} = \"...\"` is missing"))),
        }
    }

    pub fn flag(&self, key: &str) -> TableResult<bool> {
        match self.get(key).map(Spanned::get_ref) {
            None => Ok(false),
            Some(DeValue::Boolean(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(key, format!("{key} must be true or false"))),
        }
    }

    pub fn number(
        &self,
        key: &str,
        range: std::ops::RangeInclusive<u32>,
    ) -> TableResult<Option<u32>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.get_ref() {
            DeValue::Integer(number) => number
                .to_string()
                .parse()
                .ok()
                .filter(|number| range.contains(number)),
            _ => None,
        }
        .map(Some)
        .ok_or_else(|| {
            self.wrong(
                key,
                format!(
                    "{key} must be a number from {} to {}",
                    range.start(),
                    range.end()
                ),
            )
        })
    }

    /// Nanoseconds.
    pub fn time(&self, key: &str) -> TableResult<Option<u64>> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        match parse_time(&text) {
            Ok(time) if time.get() >= 1_000_000 => Ok(Some(time.get())),
            _ => Err(self.wrong(
                key,
                format!("{key} must be a time such as \"60s\" or \"8h\""),
            )),
        }
    }

    /// Bytes.
    pub fn size(&self, key: &str) -> TableResult<Option<u64>> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        match parse_size(&text) {
            Ok(size) if size.get() >= 1 << 20 => Ok(Some(size.get())),
            _ => Err(self.wrong(key, format!("{key} must be a size such as \"40g\""))),
        }
    }

    pub fn list(&self, key: &str) -> TableResult<&'a [Spanned<DeValue<'a>>]> {
        match self.get(key).map(Spanned::get_ref) {
            None => Ok(&[]),
            Some(DeValue::Array(values)) => Ok(values),
            Some(_) => Err(self.wrong(key, format!("{key} must be a list in brackets"))),
        }
    }

    /// A list of strings, each with its location.
    pub fn texts(&self, key: &str) -> TableResult<Vec<(String, Range<usize>)>> {
        let one = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::String(text) => Ok((text.clone().into_owned(), value.span())),
            _ => Err(self.file.error(
                value.span(),
                format!("{key} must contain strings in quotes"),
            )),
        };
        self.list(key)?.iter().map(one).collect()
    }

    /// The tables of a list.
    pub fn tables(&self, key: &str) -> TableResult<Vec<TableEntry<'a>>> {
        let one = |value: &'a Spanned<DeValue<'a>>| match value.get_ref() {
            DeValue::Table(table) => Ok(TableEntry {
                table,
                at: value.span().start,
                ..*self
            }),
            _ => Err(self
                .file
                .error(value.span(), format!("{key} must contain tables"))),
        };
        self.list(key)?.iter().map(one).collect()
    }

    /// A table.
    pub fn table(&self, key: &str) -> TableResult<Option<TableEntry<'a>>> {
        match self.get(key).map(|value| (value.get_ref(), value.span())) {
            None => Ok(None),
            Some((DeValue::Table(table), span)) => Ok(Some(TableEntry {
                table,
                at: span.start,
                ..*self
            })),
            Some(_) => Err(self.wrong(key, format!("{key} must be a table in braces"))),
        }
    }

    /// Job options, each of which must exist.
    pub fn options(&self, key: &str) -> TableResult<Vec<(String, String)>> {
        let table = match self.get(key).map(Spanned::get_ref) {
            None => return Ok(Vec::new()),
            Some(DeValue::Table(table)) => table,
            Some(_) => return Err(self.wrong(key, format!("{key} must be a table of options"))),
        };
        table
            .iter()
            .map(|(name, value)| self.option(name, value))
            .collect()
    }

    fn option(
        &self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> TableResult<(String, String)> {
        let option = name.get_ref().as_ref();
        self.known(option, name.span())?;
        let text = match value.get_ref() {
            DeValue::String(text) => text.clone().into_owned(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(flag) => u8::from(*flag).to_string(),
            _ => {
                return Err(self.file.error(
                    value.span(),
                    format!("{option} must be a string, a number, or true or false"),
                ));
            }
        };
        Ok((option.to_owned(), text))
    }

    /// Checks that an option exists; `JOB.OPTION` is the option of one job.
    pub fn known(&self, option: &str, at: Range<usize>) -> TableResult<()> {
        const SET_BY_TARGET: [&str; 4] = ["filename", "directory", "size", "runtime"];
        let bare = option.rsplit_once('.').map_or(option, |(_, bare)| bare);
        match find(bare) {
            Some(row) if SET_BY_TARGET.contains(&row.name) => Err(self.file.error(
                at,
                format!(
                    "{} is set by the target and by `time`; leave it out",
                    row.name
                ),
            )),
            Some(_) => Ok(()),
            None => {
                let close = closest_option(bare)
                    .map_or(String::new(), |close| format!("; did you mean {close}?"));
                Err(self.file.error(
                    at,
                    format!("unknown option '{}'{close}", option.escape_debug()),
                ))
            }
        }
    }
}
