//! Units, chosen once for a whole chart.

use fathom_model::ChartUnit;

/// The kind of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Numbers without a unit.
    Plain,
    /// I/Os per second.
    Rate,
    /// Bytes per second.
    Bandwidth,
    /// Bytes.
    Bytes,
    /// Latencies, nanoseconds.
    Latency,
    /// Time since the start, nanoseconds.
    Elapsed,
    /// Percent.
    Percent,
    /// CPU time per I/O, nanoseconds.
    CpuTime,
}

const KIB: f64 = 1024.0;

impl Quantity {
    /// The best unit for values from `low` to `high`. On a logarithmic axis the middle decides,
    /// otherwise the largest.
    pub(crate) fn unit(self, low: f64, high: f64, powers: bool) -> ChartUnit {
        let middle = if powers && low > 0.0 {
            (low * high).sqrt()
        } else {
            high
        };
        let among = |units: &[(&str, f64)]| {
            let fits = units
                .iter()
                .rev()
                .find(|(_, divide)| middle >= *divide)
                .or(units.first());
            let (word, divide) = fits.copied().unwrap_or(("", 1.0));
            ChartUnit {
                symbol: word.to_owned(),
                divide,
            }
        };
        match self {
            Quantity::Plain => ChartUnit::default(),
            Quantity::Rate => among(&[("IOPS", 1.0), ("million IOPS", 2e6)]).rate(),
            Quantity::Bandwidth => among(&[
                ("KiB/s", KIB),
                ("MiB/s", KIB * KIB),
                ("GiB/s", KIB * KIB * KIB),
            ]),
            Quantity::Bytes => among(&[
                ("bytes", 1.0),
                ("KiB", KIB),
                ("MiB", KIB * KIB),
                ("GiB", KIB.powi(3)),
                ("TiB", KIB.powi(4)),
            ]),
            Quantity::Latency | Quantity::CpuTime => {
                among(&[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)])
            }
            Quantity::Elapsed => elapsed(high),
            Quantity::Percent => ChartUnit {
                symbol: "%".to_owned(),
                divide: 1.0,
            },
        }
    }
}

/// A title inside a sentence: `Queue depth` as `queue depth`, but `I/Os` and `CPU` as they are.
pub(crate) fn inner(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().collect::<String>() + &title[first.len_utf8()..]
        }
        _ => title.to_owned(),
    }
}

/// Milliseconds below a second, seconds up to three minutes, minutes up to three hours, then hours.
fn elapsed(high: f64) -> ChartUnit {
    let (word, divide) = match high {
        _ if high < 1e9 => ("ms", 1e6),
        _ if high < 180e9 => ("s", 1e9),
        _ if high < 3.0 * 3600e9 => ("min", 60e9),
        _ => ("h", 3600e9),
    };
    ChartUnit {
        symbol: word.to_owned(),
        divide,
    }
}

trait Rate {
    fn rate(self) -> Self;
}

impl Rate for ChartUnit {
    /// Millions are used from two million on; the divisor is one million.
    fn rate(mut self) -> ChartUnit {
        if self.divide > 1.0 {
            self.divide = 1e6;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_for_all_of_a_chart() {
        let word = |quantity: Quantity, low, high, powers| quantity.unit(low, high, powers).symbol;
        assert_eq!(word(Quantity::Latency, 80e3, 20e6, false), "ms");
        // The logarithmic middle of 10 us and 1 s is 3 ms.
        assert_eq!(word(Quantity::Latency, 1e4, 1e9, true), "ms");
        assert_eq!(word(Quantity::Latency, 20.0, 900.0, true), "ns");
        assert_eq!(word(Quantity::Rate, 0.0, 1_900_000.0, false), "IOPS");
        assert_eq!(
            Quantity::Rate.unit(0.0, 3e6, false),
            ChartUnit {
                symbol: "million IOPS".into(),
                divide: 1e6
            }
        );
        assert_eq!(word(Quantity::Bandwidth, 0.0, 500e6, false), "MiB/s");
        assert_eq!(word(Quantity::Elapsed, 0.0, 60e9, false), "s");
        assert_eq!(word(Quantity::Elapsed, 0.0, 3600e9, false), "min");
        assert_eq!(word(Quantity::Elapsed, 0.0, 10.0 * 3600e9, false), "h");
    }
}
