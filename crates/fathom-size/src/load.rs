//! The load that storage has to carry.

use std::str::FromStr;

use crate::quantity::{block, percentage, shown, split};

/// A steady load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// I/Os per second.
    pub iops: f64,
    /// Reads among them, 0 to 1.
    pub reads: f64,
    /// Bytes of one I/O.
    pub block: f64,
    /// At random places; otherwise sequential.
    pub random: bool,
    /// Squared coefficient of variation of the times between arrivals: 1 for independent arrivals.
    pub burstiness: f64,
}

/// The text is not a load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A part that is not understood.
    #[error("'{part}' in the load: {problem}")]
    Part {
        /// The part.
        part: String,
        /// What is wrong with it, and what is possible.
        problem: String,
    },
    /// Two parts say the same.
    #[error("the load has two values for the {0}; leave one out")]
    Twice(&'static str),
    /// A part is missing.
    #[error("the load has no {what}: add {example}, as in '2000 iops, 70/30, 8k random'")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// An example of it.
        example: &'static str,
    },
}

/// Rates that a load can have.
const LEAST_IOPS: f64 = 0.01;
const MOST_IOPS: f64 = 1e9;

impl FromStr for Load {
    type Err = LoadError;

    /// `2000 iops, 70/30, 8k random`, also with `500 MB/s`, `read`, `write`, `sequential` and
    /// `burstiness 4`.
    fn from_str(text: &str) -> Result<Self, LoadError> {
        let mut parts = Parts::default();
        let mut rest = text;
        loop {
            let end = (0..rest.len()).find(|at| is_separator(rest, *at));
            let part = &rest[..end.unwrap_or(rest.len())];
            parts.read(part.trim())?;
            match end {
                Some(end) => rest = &rest[end + 1..],
                None => break,
            }
        }
        parts.finish()
    }
}

/// Whether the comma at a byte of the text separates two parts: not one between groups of three
/// digits of a number that begins the text.
fn is_separator(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let groups = text.get(..at).unwrap_or_default().trim_start();
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let mut number = groups.split(',');
    let begins = number
        .next()
        .is_some_and(|first| (1..=3).contains(&first.len()) && is_digits(first))
        && number.all(|group| group.len() == 3 && is_digits(group));
    let after = &bytes[at + 1..];
    let continues = after.len() >= 3
        && after[..3].iter().all(u8::is_ascii_digit)
        && !after.get(3).is_some_and(u8::is_ascii_digit);
    bytes[at] == b',' && !(begins && continues)
}

#[derive(Default)]
struct Parts {
    iops: Option<f64>,
    bytes_per_s: Option<f64>,
    reads: Option<f64>,
    block: Option<f64>,
    random: Option<bool>,
    burstiness: Option<f64>,
}

fn set<T>(place: &mut Option<T>, value: T, what: &'static str) -> Result<(), LoadError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(LoadError::Twice(what)),
    }
}

impl Parts {
    fn read(&mut self, part: &str) -> Result<(), LoadError> {
        let wrong = |problem: &str| LoadError::Part {
            part: shown(part),
            problem: problem.to_owned(),
        };
        let plain = part.to_ascii_lowercase();
        if plain.is_empty() {
            return Err(wrong(
                "empty; parts are separated by commas, as in '2000 iops, 70/30, 8k random'",
            ));
        }
        if let Some(rest) = plain.strip_prefix("burstiness") {
            let number = rest.trim().parse::<f64>().ok();
            let number = number
                .filter(|number| (0.0..=1000.0).contains(number))
                .ok_or_else(|| {
                    wrong("burstiness is a number from 0 to 1000, such as 'burstiness 4'")
                })?;
            return set(&mut self.burstiness, number, "burstiness");
        }
        if let Some((reads, writes)) = plain.split_once('/')
            && let (Ok(reads), Ok(writes)) =
                (reads.trim().parse::<f64>(), writes.trim().parse::<f64>())
        {
            if !(0.0..=100.0).contains(&reads) || (reads + writes - 100.0).abs() > 1e-6 {
                return Err(wrong(
                    "reads and writes in percent add up to 100, as in 70/30",
                ));
            }
            return set(&mut self.reads, reads / 100.0, "mix of reads and writes");
        }
        if plain.starts_with(|c: char| c.is_ascii_digit())
            && let Some((_, rest)) = plain.split_once('%')
            && ["reads", "read", "writes", "write"].contains(&rest.trim())
        {
            let share = plain.split('%').next().unwrap_or_default();
            let share =
                percentage(&format!("{share}%"), 0.0, 100.0).map_err(|problem| wrong(&problem))?;
            let reads = if rest.trim().starts_with('r') {
                share
            } else {
                1.0 - share
            };
            return set(&mut self.reads, reads, "mix of reads and writes");
        }
        if let Ok((number, unit)) = split(part) {
            let (number, unit) = match unit.strip_prefix('k') {
                Some("iops") => (number * 1e3, "iops"),
                _ => (number, unit.as_str()),
            };
            match unit {
                "iops" | "io/s" | "ios/s" => {
                    if !(LEAST_IOPS..=MOST_IOPS).contains(&number) {
                        return Err(wrong(
                            "beyond the range of the models: 0.01 to 1,000,000,000 IOPS",
                        ));
                    }
                    return set(&mut self.iops, number, "rate");
                }
                "mb/s" | "mib/s" | "gb/s" | "gib/s" => {
                    let scale = match unit {
                        "mb/s" => 1e6,
                        "mib/s" => 1048576.0,
                        "gb/s" => 1e9,
                        _ => 1073741824.0,
                    };
                    return set(&mut self.bytes_per_s, number * scale, "rate");
                }
                "" => {
                    return Err(wrong(
                        "a number without a unit: write '2000 iops' or '200 MB/s' for a rate, '8k' for a block size, 70/30 for a mix",
                    ));
                }
                _ => {}
            }
        }
        for word in plain.split_whitespace() {
            match word {
                "random" | "rand" => set(&mut self.random, true, "pattern")?,
                "sequential" | "seq" => set(&mut self.random, false, "pattern")?,
                "read" | "reads" => set(&mut self.reads, 1.0, "mix of reads and writes")?,
                "write" | "writes" => set(&mut self.reads, 0.0, "mix of reads and writes")?,
                _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                    let bytes = block(word).map_err(|problem| wrong(&problem))?;
                    set(&mut self.block, bytes, "block size")?;
                }
                _ => {
                    return Err(wrong(
                        "not part of a load; parts are a rate (2000 iops, 200 MB/s), a mix (70/30, read, write), a block size (8k), random or sequential, burstiness 4",
                    ));
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Load, LoadError> {
        let missing = |what, example| LoadError::Missing { what, example };
        let block = self.block.ok_or(missing("block size", "'8k'"))?;
        let iops = match (self.iops, self.bytes_per_s) {
            (Some(_), Some(_)) => return Err(LoadError::Twice("rate")),
            (Some(iops), None) => iops,
            (None, Some(bytes)) => bytes / block,
            (None, None) => return Err(missing("rate", "'2000 iops' or '200 MB/s'")),
        };
        if !(LEAST_IOPS..=MOST_IOPS).contains(&iops) {
            return Err(LoadError::Part {
                part: format!("{iops} iops"),
                problem: "beyond the range of the models: 0.01 to 1,000,000,000 IOPS".to_owned(),
            });
        }
        Ok(Load {
            iops,
            reads: self.reads.ok_or(missing(
                "mix of reads and writes",
                "'70/30', 'read' or 'write'",
            ))?,
            block,
            random: self
                .random
                .ok_or(missing("pattern", "'random' or 'sequential'"))?,
            burstiness: self.burstiness.unwrap_or(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read() {
        let load: Load = "2000 iops, 70/30, 8k random".parse().expect("a load");
        assert_eq!(
            load,
            Load {
                iops: 2000.0,
                reads: 0.7,
                block: 8192.0,
                random: true,
                burstiness: 1.0
            }
        );
        let load: Load = "random read, 4k, 20,000 IOPS, burstiness 4"
            .parse()
            .expect("a load");
        assert_eq!(
            (load.iops, load.reads, load.burstiness),
            (20_000.0, 1.0, 4.0)
        );
        let load: Load = "100 MiB/s,1m sequential write".parse().expect("a load");
        assert_eq!((load.iops, load.reads, load.random), (100.0, 0.0, false));
        let load: Load = "1,234,567 iops,70/30,512k,random".parse().expect("a load");
        assert_eq!(
            (load.iops, load.reads, load.block),
            (1_234_567.0, 0.7, 524_288.0)
        );
        assert_eq!(
            "10k iops, 40% writes, 8k rand"
                .parse::<Load>()
                .map(|l| (l.iops, (l.reads * 100.0).round())),
            Ok((10_000.0, 60.0))
        );
    }

    #[test]
    fn mistakes_name_the_part_and_the_remedy() {
        for (text, part) in [
            ("", "empty"),
            (
                "2000, 70/30, 8k random",
                "'2000' in the load: a number without a unit: write '2000 iops'",
            ),
            ("2000 iops, 70/40, 8k random", "add up to 100"),
            ("2000 iops, 70/30, 8 random", "block size such as 8k"),
            ("2000 iops, 70/30, random", "no block size: add '8k'"),
            (
                "2000 iops, 70/30, 8k",
                "no pattern: add 'random' or 'sequential'",
            ),
            (
                "2000 iops, 8k random",
                "no mix of reads and writes: add '70/30'",
            ),
            ("70/30, 8k random", "no rate: add '2000 iops'"),
            (
                "lots, 70/30, 8k random",
                "'lots' in the load: not part of a load",
            ),
            (
                "2000 iops, 100 MB/s, read, 8k random",
                "two values for the rate",
            ),
            (
                "2000 iops, read, 70/30, 8k random",
                "two values for the mix",
            ),
            ("1e30 iops, read, 8k random", "is not a block size"),
            ("99999999999 iops, read, 8k random", "beyond the range"),
            ("0 iops, read, 8k random", "beyond the range"),
            (
                "2000 iops, read, 8k random, burstiness many",
                "burstiness is a number",
            ),
            ("2000 iops, read, 8k random,", "empty"),
            ("2000 parsecs, read, 8k random", "not a block size"),
            (
                "2000 iops, 140% reads, 8k random",
                "percentage from 0% to 100%",
            ),
        ] {
            let error = text.parse::<Load>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
