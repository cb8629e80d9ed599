//! Texts that the model holds as `&'static str`, such as `NVMe SMART log`, read back from a document.

use std::collections::BTreeSet;
use std::sync::Mutex;

/// The program has about a dozen of them: a document with hundreds was not written by it.
const MOST_TEXTS: usize = 256;
const LONGEST_TEXT: usize = 64;

static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// `text` for the life of the process. Returns it as an error if it is too long or there are too many. Holds at most 16 KiB.
pub(crate) fn static_text(text: String) -> Result<&'static str, String> {
    let mut texts = TEXTS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = texts.get(text.as_str()) {
        return Ok(known);
    }
    if texts.len() >= MOST_TEXTS || text.len() > LONGEST_TEXT {
        return Err(text);
    }
    let text: &'static str = text.leak();
    texts.insert(text);
    Ok(text)
}
