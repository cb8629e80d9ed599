//! Words that the model holds as part of the program, such as `NVMe SMART log`, coming back from a document.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::Unreadable;

/// Our code knows a dozen; a document with hundreds was not written by it.
const MOST: usize = 256;
const LONGEST: usize = 64;

static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The word for the life of the process: at most 16 KiB are ever kept so.
pub(crate) fn word(text: String) -> Result<&'static str, Unreadable> {
    let mut words = WORDS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(word) = words.get(text.as_str()) {
        return Ok(word);
    }
    if words.len() >= MOST || text.len() > LONGEST {
        return Err(Unreadable::unknown("word", &text));
    }
    let word: &'static str = text.leak();
    words.insert(word);
    Ok(word)
}
