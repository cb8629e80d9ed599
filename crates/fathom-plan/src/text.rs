//! Helpers for the texts of messages.

/// The first 40 characters of `text`, for messages.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// A mistake has few letters: what differs in more of them is another word, and a comparison takes the product of both lengths.
const MAX_TYPOS: usize = 4;

/// The name among `candidates` that is most like `name`, for a "did you mean".
///
/// Candidates whose length differs by more than the allowed distance are not compared, and swapped neighbours count once
/// (optimal string alignment): regression 0080, a thousand unknown options took seconds.
#[must_use]
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let max_distance = (name.len() / 3).clamp(1, MAX_TYPOS);
    candidates
        .filter(|known| known.len().abs_diff(name.len()) <= max_distance)
        .map(|known| (strsim::osa_distance(&name, known), known))
        .min()
        .filter(|(distance, _)| *distance <= max_distance)
        .map(|(_, known)| known)
}
