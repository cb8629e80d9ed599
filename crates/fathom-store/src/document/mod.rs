//! A whole recording as one document: CBOR with every field by its name, so that documents of older versions stay
//! readable when the model grows.
//!
//! On disk: an array of the format's name, its version, the names of all fields and the recording; then the CRC-32 of
//! all that, four bytes, little-endian. Fields that are not known are passed over, fields that are missing get the value
//! they had before they existed.

#[macro_use]
mod kept;
mod conditions;
mod crc;
mod device;
#[cfg(test)]
mod dice;
mod intervals;
mod plan;
mod recording;
#[cfg(test)]
mod tests;
mod value;
mod word;

use std::collections::HashMap;

use fathom_model::Recording;

use self::kept::Kept;
use self::value::Value;

pub(crate) use self::intervals::{pull_intervals, put_intervals};

const FORMAT: &str = "fathom recording";
const VERSION: u64 = 1;

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(String);

impl Unreadable {
    fn wrong(what: &str) -> Self {
        Unreadable(format!("what should be {what} is something else"))
    }
    fn missing(of: &str, field: &str) -> Self {
        Unreadable(format!("{of} has no {field}"))
    }
    fn unknown(what: &str, word: &str) -> Self {
        Unreadable(format!(
            "'{}' is no {what} that this version knows",
            word.escape_debug()
        ))
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names of fields, each spelled once.
#[derive(Default)]
pub(crate) struct Names {
    numbers: HashMap<&'static str, u64>,
    words: Vec<String>,
    places: HashMap<String, u64>,
}

impl Names {
    /// The number of `name` when writing.
    fn number(&mut self, name: &'static str) -> u64 {
        let next = self.words.len() as u64;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.words.push(name.to_owned());
        }
        number
    }

    fn read(words: Vec<String>) -> Names {
        let places = words
            .iter()
            .enumerate()
            .map(|(place, word)| (word.clone(), place as u64))
            .collect();
        Names {
            numbers: HashMap::new(),
            words,
            places,
        }
    }

    /// The number of `name` when reading.
    fn place(&self, name: &str) -> Option<u64> {
        self.places.get(name).copied()
    }

    fn name(&self, number: u64) -> Option<&str> {
        self.words
            .get(usize::try_from(number).ok()?)
            .map(String::as_str)
    }
}

/// `recording` as a document.
#[must_use]
pub fn write_recording(recording: &Recording) -> Vec<u8> {
    let mut names = Names::default();
    let body = recording.keep(&mut names);
    let words = names.words.into_iter().map(Value::Text).collect();
    let mut bytes = Vec::new();
    Value::List(vec![
        Value::Text(FORMAT.to_owned()),
        Value::Count(VERSION),
        Value::List(words),
        body,
    ])
    .put(&mut bytes);
    let sum = crc::crc32(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// The recording in a document.
///
/// # Errors
/// When it is damaged, no such document, or of a version that is not known.
pub fn read_recording(document: &[u8]) -> Result<Recording, Unreadable> {
    let (body, sum) = document
        .split_last_chunk::<4>()
        .ok_or_else(|| Unreadable("it is empty".to_owned()))?;
    if crc::crc32(body) != u32::from_le_bytes(*sum) {
        return Err(Unreadable(
            "its checksum is wrong: the file was damaged after it was written".to_owned(),
        ));
    }
    let whole = Value::pull(&mut &body[..]);
    let Some(Value::List(parts)) = whole else {
        return Err(Unreadable::wrong("a document"));
    };
    let [format, version, words, body]: [Value; 4] = parts
        .try_into()
        .map_err(|_| Unreadable::wrong("a document"))?;
    match (format, version) {
        (Value::Text(format), Value::Count(VERSION)) if format == FORMAT => {}
        (Value::Text(format), Value::Count(version)) if format == FORMAT => {
            return Err(Unreadable(format!(
                "it has format {version}, and this version of fathom knows {VERSION}"
            )));
        }
        _ => return Err(Unreadable::wrong("a recording")),
    }
    let words = Vec::<String>::restore(words, &Names::default())?;
    Recording::restore(body, &Names::read(words))
}
