//! The numbers that a sentence says, read back and compared with the values that it speaks of.

/// A number of a sentence: its digits, and what its unit is in ns, bytes or parts of one.
struct SaidNumber {
    digits: String,
    unit: f64,
}

impl SaidNumber {
    /// Whether the number is that value, rounded to its decimals; 99.96 % is 99.9 and not 100.
    fn is_of(&self, value: f64) -> bool {
        let plain = self.digits.replace(',', "");
        let decimals = plain.split_once('.').map_or(0, |(_, part)| part.len());
        let step = 10_f64.powi(-(decimals as i32));
        let most = if self.unit == 0.01 { step } else { step / 2.0 };
        let said: f64 = plain.parse().expect("a number");
        (value / self.unit - said).abs() <= most * (1.0 + 1e-9)
    }
}

/// The numbers of a sentence. Those of options that it advises, and those in names such as `raid5` and `a-3`, say nothing about a run.
fn said_numbers(text: &str) -> Vec<SaidNumber> {
    const UNITS: [(&str, f64); 9] = [
        (" ns", 1.0),
        (" us", 1e3),
        (" ms", 1e6),
        (" s", 1e9),
        (" min", 60e9),
        (" %", 0.01),
        (" KiB", 1024.0),
        (" MiB", 1_048_576.0),
        (" GiB", 1_073_741_824.0),
    ];
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(|c: char| c.is_ascii_digit()) {
        let (before, rest) = text.split_at(from + at);
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ',' || c == '.'));
        let (digits, after) = rest.split_at(end.unwrap_or(rest.len()));
        from = text.len() - after.len();
        let said = digits.trim_end_matches([',', '.']);
        let is_in_name =
            before.ends_with(|c: char| c.is_ascii_alphabetic() || c == '-' || c == '_');
        let is_advised = ["numjobs=", "iodepth="]
            .iter()
            .any(|option| before.ends_with(option));
        if !is_in_name && !is_advised {
            let has_unit = |(unit, _): &&(&str, f64)| {
                after
                    .strip_prefix(unit)
                    .is_some_and(|end| !end.starts_with(|c: char| c.is_ascii_alphabetic()))
            };
            let unit = UNITS.iter().find(has_unit).map_or(1.0, |(_, unit)| *unit);
            found.push(SaidNumber {
                digits: said.to_owned(),
                unit,
            });
        }
    }
    found
}

/// The numbers of a sentence that are none of these values, rounded as they are said: durations in ns, bytes, and shares in parts of one.
#[must_use]
pub fn numbers_without_value(text: &str, values: &[f64]) -> Vec<String> {
    let said = said_numbers(text).into_iter();
    said.filter(|number| !values.iter().any(|value| number.is_of(*value)))
        .map(|number| number.digits)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_their_units() {
        let values = [3_000.0, 2_500_000.0, 0.4, 16.0];
        let text = "3,000 per second at 2.50 ms each, 40 % of raid5 with iodepth=16, a-3 of 16.";
        assert_eq!(numbers_without_value(text, &values), [""; 0]);
        assert_eq!(
            numbers_without_value("3,001 per second at 2.6 ms, 42 %.", &values),
            ["3,001", "2.6", "42"]
        );
    }
}
