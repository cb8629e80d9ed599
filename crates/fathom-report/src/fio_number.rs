//! Numbers as fio writes them.

/// Unit prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// k, M, G: powers of 1000.
    Si,
    /// Ki, Mi, Gi: powers of 1024.
    Iec,
}

impl Prefix {
    fn step(self) -> u64 {
        match self {
            Prefix::Si => 1000,
            Prefix::Iec => 1024,
        }
    }

    fn symbol(self, power: usize) -> &'static str {
        match self {
            Prefix::Si => ["", "k", "M", "G", "T", "P", "E"][power.min(6)],
            Prefix::Iec => ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power.min(6)],
        }
    }
}

/// `number` times the prefix's step to the `power`, in at most `digits` characters before its prefix.
///
/// Rounds as fio does: divides, rounding down, until the number fits; the remainder of the last division
/// becomes the decimals.
pub(crate) fn shorten(number: u64, digits: usize, power: usize, prefix: Prefix) -> String {
    let (mut integer, mut power, mut rest) = (number, power, None);
    while length(integer) > digits && power < 6 {
        rest = Some(integer % prefix.step());
        integer /= prefix.step();
        power += 1;
    }
    let Some(rest) = rest else {
        return format!("{integer}{}", prefix.symbol(power));
    };
    let free_digits = digits.saturating_sub(length(integer));
    if free_digits < 2 {
        integer += u64::from(rest >= prefix.step() / 2);
        return format!("{integer}{}", prefix.symbol(power));
    }
    let decimals = format!("{:.*}", free_digits - 1, rest as f64 / prefix.step() as f64);
    integer += u64::from(decimals.starts_with('1'));
    format!("{integer}.{}{}", &decimals[2..], prefix.symbol(power))
}

fn length(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// fio's significant figures.
pub(crate) const FIGURES: usize = 4;

/// Bytes: `16.3GiB` or `17.5GB`.
pub(crate) fn bytes(number: u64, prefix: Prefix) -> String {
    shorten(number, FIGURES, 0, prefix) + "B"
}

/// Bytes per second, both ways: `16.3GiB/s` and `17.5GB/s`.
pub(crate) fn rate_pair(per_second: f64) -> (String, String) {
    let integer = floor(per_second);
    (
        bytes(integer, Prefix::Iec) + "/s",
        bytes(integer, Prefix::Si) + "/s",
    )
}

/// Converts as C does from double to integer; negative values and NaN become 0.
pub(crate) fn floor(figure: f64) -> u64 {
    figure as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_shortened_as_fio_does() {
        // Each pair was read off fio 3.33: the byte and I/O counts of its JSON beside its text of the same run.
        assert_eq!(shorten(4_274_536, 4, 0, Prefix::Si), "4275k");
        assert_eq!(bytes(17_508_501_354, Prefix::Iec), "16.3GiB");
        assert_eq!(bytes(17_508_501_354, Prefix::Si), "17.5GB");
        assert_eq!(bytes(4096, Prefix::Iec), "4096B");
        assert_eq!(bytes(65_536, Prefix::Iec), "64.0KiB");
        assert_eq!(bytes(0, Prefix::Si), "0B");
        assert_eq!(shorten(52_748, 6, 0, Prefix::Si), "52748");
    }

    #[test]
    fn rounding_at_the_edges() {
        // By hand: 99,999 = 99 k and 999/1000, which in one decimal is a whole one more.
        assert_eq!(shorten(99_999, 4, 0, Prefix::Si), "100.0k");
        // 1,023,999 = 999 Ki and 1023/1024; no room for decimals, so it is rounded.
        assert_eq!(shorten(1_023_999, 4, 0, Prefix::Iec), "1000Ki");
        // 2^64 - 1 = 15 Ei and 1023/1024.
        assert_eq!(shorten(u64::MAX, 4, 0, Prefix::Iec), "16.0Ei");
        // Two KiB given as such.
        assert_eq!(shorten(2, 4, 1, Prefix::Iec), "2Ki");
    }
}
