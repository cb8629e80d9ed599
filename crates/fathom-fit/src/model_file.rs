//! The curve of a fitted model as one line of a model file:
//! `randread bs=4096 reads=100 law=soft-minimum r0=0.000117 xmax=52400 m=6.4 loads=1-64`.

use std::collections::BTreeMap;

use crate::law::{Law, LawKind, PARAMETERS};

/// A curve of a device model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCurve {
    /// fio's name of the pattern.
    pub rw: String,
    /// Block size, bytes.
    pub block: u64,
    /// Share of reads, percent.
    pub reads: u32,
    /// The law.
    pub law: Law,
    /// Smallest and largest measured load.
    pub loads: (f64, f64),
}

impl ModelCurve {
    /// The line of a model file.
    #[must_use]
    pub fn line(&self) -> String {
        let ModelCurve {
            rw, block, reads, ..
        } = self;
        let mut line = format!("{rw} bs={block} reads={reads} law={}", self.law.kind.name());
        for (info, value) in self.law.kind.parameters().iter().zip(self.law.values) {
            // Seven digits: more than any measurement has.
            line += &format!(" {}={}", info.name, rounded(value));
        }
        line + &format!(" loads={}-{}", self.loads.0, self.loads.1)
    }

    /// Parses a line.
    ///
    /// # Errors
    /// What is wrong with it, and what is expected.
    pub fn parse(line: &str) -> Result<ModelCurve, String> {
        let mut parts = line.split_whitespace();
        let rw = parts
            .next()
            .filter(|rw| !rw.contains('='))
            .ok_or("a curve begins with its pattern, such as randread")?;
        let mut given = BTreeMap::new();
        for part in parts {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("'{}': expected NAME=VALUE", part.escape_debug()))?;
            if given.insert(name, value).is_some() {
                return Err(format!("'{}' is given twice", name.escape_debug()));
            }
        }
        let law = take(&mut given, "law")?;
        let kind = LawKind::parse(law).ok_or_else(|| {
            let names: Vec<&str> = LawKind::ALL.iter().map(|law| law.name()).collect();
            format!(
                "unknown law '{}'; use one of {}",
                law.escape_debug(),
                names.join(", ")
            )
        })?;
        let mut values = [0.0; PARAMETERS];
        for (value, info) in values.iter_mut().zip(kind.parameters()) {
            let given = number(&mut given, info.name)?;
            let coordinate = if info.is_log { given.ln() } else { given };
            // The end of the range, with what rounding in the file adds.
            let slack = 1e-6;
            if !(coordinate >= info.bounds.0 - slack && coordinate <= info.bounds.1 + slack) {
                return Err(format!("impossible value {}={given}", info.name));
            }
            *value = given;
        }
        let range = take(&mut given, "loads")?;
        let loads = range
            .split_once('-')
            .and_then(|(low, high)| Some((low.parse::<f64>().ok()?, high.parse::<f64>().ok()?)))
            .filter(|(low, high)| *low >= 1.0 && low <= high && *high <= 1e9)
            .ok_or_else(|| {
                format!(
                    "loads={}: expected a range such as 1-64",
                    range.escape_debug()
                )
            })?;
        let block = whole(&mut given, "bs", 1, 1 << 40)?;
        let reads = u32::try_from(whole(&mut given, "reads", 0, 100)?).unwrap_or(100);
        if let Some(unknown) = given.keys().next() {
            return Err(format!("unknown parameter '{}'", unknown.escape_debug()));
        }
        Ok(ModelCurve {
            rw: rw.to_owned(),
            block,
            reads,
            law: Law { kind, values },
            loads,
        })
    }
}

fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

fn take<'a>(given: &mut BTreeMap<&'a str, &'a str>, name: &str) -> Result<&'a str, String> {
    given.remove(name).ok_or_else(|| format!("missing {name}="))
}

fn number<'a>(given: &mut BTreeMap<&'a str, &'a str>, name: &str) -> Result<f64, String> {
    let text = take(given, name)?;
    text.parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
        .ok_or_else(|| format!("{name}={}: invalid number", text.escape_debug()))
}

fn whole<'a>(
    given: &mut BTreeMap<&'a str, &'a str>,
    name: &str,
    least: u64,
    most: u64,
) -> Result<u64, String> {
    let text = take(given, name)?;
    text.parse::<u64>()
        .ok()
        .filter(|value| (least..=most).contains(value))
        .ok_or_else(|| {
            format!(
                "{name}={}: expected a whole number from {least} to {most}",
                text.escape_debug()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "randread bs=4096 reads=100 law=soft-minimum r0=0.000117 xmax=52400 m=6.4 loads=1-64";

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let curve = ModelCurve::parse(LINE).expect("a curve");
        assert_eq!(curve.line(), LINE);
        assert_eq!(curve.law.kind, LawKind::SoftMinimum);
        assert_eq!(curve.law.values, [117e-6, 52_400.0, 6.4]);
    }

    /// The line of each law has its own parameters, by the names of the page, with the values that were fitted.
    #[test]
    fn every_law_is_written_with_its_values() {
        for (law, values, text) in [
            (
                LawKind::SoftMinimum,
                [125e-6, 48_000.0, 3.5],
                "law=soft-minimum r0=0.000125 xmax=48000 m=3.5",
            ),
            (
                LawKind::Usl,
                [8000.0, 0.025, 0.0005],
                "law=usl lambda=8000 sigma=0.025 kappa=0.0005",
            ),
            (
                LawKind::Ncq,
                [120.0, 0.75, 2.5],
                "law=ncq x1=120 gain=0.75 onset=2.5",
            ),
        ] {
            let curve = ModelCurve {
                rw: "randread".to_owned(),
                block: 4096,
                reads: 100,
                law: Law { kind: law, values },
                loads: (1.0, 64.0),
            };
            let line = format!("randread bs=4096 reads=100 {text} loads=1-64");
            assert_eq!(curve.line(), line);
            assert_eq!(ModelCurve::parse(&line), Ok(curve));
        }
    }

    /// Every line with one character changed, removed or doubled is a curve or an error.
    #[test]
    fn changed_lines_end_in_a_curve_or_an_error() {
        let chars: Vec<char> = LINE.chars().collect();
        let mut accepted = 0;
        for at in 0..chars.len() {
            for new in [
                "",
                "=",
                " ",
                "-",
                "9",
                "e",
                "\u{0}",
                "\u{1F600}",
                "  =",
                "1e999",
            ] {
                let mut text: String = chars[..at].iter().collect();
                text += new;
                text.extend(&chars[at + 1..]);
                if let Ok(curve) = ModelCurve::parse(&text) {
                    accepted += 1;
                    let again = ModelCurve::parse(&curve.line()).expect("its own line");
                    assert_eq!(again.line(), curve.line());
                    let iops = curve.law.iops(curve.loads.1);
                    assert!(iops >= 0.0, "{text}: {iops}");
                }
            }
        }
        assert!(accepted > 50, "{accepted}");
    }

    #[test]
    fn wrong_lines_say_what_is_wrong() {
        for (from, to, message) in [
            ("randread ", "", "a curve begins with its pattern"),
            ("law=soft-minimum", "law=hard", "unknown law 'hard'"),
            ("m=6.4", "m=0", "impossible value m=0"),
            ("m=6.4", "m=-1", "impossible value m=-1"),
            ("r0=0.000117", "r0=nan", "r0=nan: invalid number"),
            ("bs=4096", "bs=4k", "bs=4k: expected a whole number"),
            ("reads=100", "reads=101", "from 0 to 100"),
            ("loads=1-64", "loads=64-1", "expected a range such as 1-64"),
            ("loads=1-64", "", "missing loads="),
            ("loads=1-64", "loads=1-64 x=1", "unknown parameter 'x'"),
            ("bs=4096", "bs=4096 bs=1", "'bs' is given twice"),
        ] {
            let error = ModelCurve::parse(&LINE.replace(from, to)).expect_err(to);
            assert!(error.contains(message), "{to}: {error}");
        }
    }
}
