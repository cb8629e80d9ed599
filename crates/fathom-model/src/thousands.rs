//! Thousands separators.

/// `4,194,304`: the digits of `n`, with a comma between groups of three.
///
/// ```
/// assert_eq!(fathom_model::thousands(4_194_304), "4,194,304");
/// ```
#[must_use]
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
