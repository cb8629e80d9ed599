//! Numbers as fio prints them: shortened to a few digits, with a unit prefix.

/// What a prefix without `i` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefixes {
    /// `k` is 1000. `Ki` is always 1024.
    Decimal,
    /// `K` is 1024, in amounts of version 2 and block sizes.
    Binary,
}

/// A printed number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Printed {
    /// Its value.
    pub value: f64,
    /// Value of one in its last digit.
    last_digit: f64,
    /// Value of one in its integer part, where all its decimals are zero.
    whole: Option<f64>,
}

impl Printed {
    /// Whether fio may have printed this for `exact`. fio rounds down or to nearest, and it loses the carry when the decimals
    /// round up to one: 75,960 is `75.0k`.
    pub(super) fn may_be(&self, exact: f64) -> bool {
        let difference = exact - self.value;
        difference.abs() <= self.last_digit * 1.000_001
            || self
                .whole
                .is_some_and(|whole| (whole - self.last_digit..=whole).contains(&difference))
    }

    /// The same digits with the other meaning of their prefix: `KB` of version 2 with `kb_base=1000`.
    pub(super) fn times(&self, factor: f64) -> Printed {
        Printed {
            value: self.value * factor,
            last_digit: self.last_digit * factor,
            whole: self.whole.map(|whole| whole * factor),
        }
    }
}

/// The number at the start of `text`: `37.9MiB/s`, `76.1k`, `299262KB/s`, `1,024`. Bits become bytes.
pub(super) fn printed(text: &str, prefixes: Prefixes) -> Option<Printed> {
    let text = text.trim_start();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
        .unwrap_or(text.len());
    let number = text[..digits].trim_end_matches([',', '.']).replace(',', "");
    let value: f64 = number.parse().ok()?;
    let decimals = number.split_once('.').map_or("", |(_, decimals)| decimals);
    let mut unit = text[digits..].chars().peekable();
    let power = unit.peek().and_then(|prefix| "kKMGTPE".find(*prefix));
    let power = power.map_or(0, |place| place.max(1) as i32);
    if power > 0 {
        unit.next();
    }
    let binary = unit.next_if_eq(&'i').is_some() || prefixes == Prefixes::Binary;
    let step: f64 = if binary { 1024.0 } else { 1000.0 };
    // `Mibit/s` of version 3, `Mb/s` of version 2.
    let bits = unit.next_if_eq(&'b').is_some();
    let scale = step.powi(power) / if bits { 8.0 } else { 1.0 };
    let whole = !decimals.is_empty() && decimals.bytes().all(|digit| digit == b'0');
    Some(Printed {
        value: value * scale,
        last_digit: scale / 10f64.powi(decimals.len() as i32),
        whole: whole.then_some(scale),
    })
    .filter(|one| one.value.is_finite() && one.value <= 1e18)
}

/// A plain number at the start of `text`, such as `60001msec` or `0.80%`.
pub(super) fn plain(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text[..end]
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value <= 1e18)
}

/// All whole numbers in `text`, in order.
pub(super) fn whole_numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pair is from a run of fio 3.33: the text and the JSON of the same figure.
    #[test]
    fn printed_numbers_are_those_of_the_json() {
        for (text, exact) in [
            ("37.9MiB/s", 39_759_104.0),
            ("39.8MB/s", 39_759_104.0),
            ("13922k", 13_922_123.0),
            ("3564.2k", 3_564_200.0),
            ("9706", 9706.087),
            ("4096B", 4096.0),
            ("0", 0.9),
        ] {
            let read = printed(text, Prefixes::Decimal).expect(text);
            assert!(read.may_be(exact), "{text}: {read:?}");
            assert!(!read.may_be(exact * 1.2 + 3.0), "{text}: {read:?}");
        }
    }

    /// 75,960 is 75 k and 960, which in one decimal is 1.0: fio prints the 0 only.
    #[test]
    fn a_lost_carry_is_accepted() {
        let read = printed("75.0k", Prefixes::Decimal).expect("a number");
        assert!(read.may_be(75_960.0) && read.may_be(75_049.0) && !read.may_be(75_500.0));
    }

    #[test]
    fn units_of_all_versions() {
        let value = |text, prefixes| printed(text, prefixes).map(|one| one.value);
        assert_eq!(value("299262KB/s", Prefixes::Binary), Some(306_444_288.0));
        assert_eq!(value("1,024KiB", Prefixes::Binary), Some(1_048_576.0));
        assert_eq!(value("12M", Prefixes::Decimal), Some(12e6));
        assert_eq!(value("8Mibit/s", Prefixes::Decimal), Some(1_048_576.0));
        assert_eq!(value("8Mb/s", Prefixes::Binary), Some(1_048_576.0));
        assert_eq!(value("2.5GB", Prefixes::Decimal), Some(2.5e9));
        for text in ["", "x", ".", "-1", "1e999", &"9".repeat(400)] {
            let read = value(text, Prefixes::Decimal);
            assert!(read.is_none_or(|value| value <= 1.0), "{text}: {read:?}");
        }
        assert_eq!(whole_numbers("r=1/w=22/d=0,"), [1, 22, 0]);
        assert_eq!((plain(" 60001msec"), plain("x")), (Some(60_001.0), None));
    }
}
