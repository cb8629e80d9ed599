//! Prices of drives, in one currency.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::place::{self, Step};
use crate::quantity::{shown, split};

/// Prices of one drive each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// The currency, as the user wrote it: `USD`, `EUR`.
    pub currency: String,
    /// Drive and price, with the place that it is from.
    pub of: BTreeMap<String, (f64, String)>,
}

/// A price list that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PriceError {
    place: String,
    problem: String,
}

/// A mistake in a part of the option.
fn error(part: &str, problem: impl Into<String>) -> PriceError {
    PriceError {
        place: format!("prices, {}", shown(part)),
        problem: problem.into(),
    }
}

fn currency(text: &str) -> Option<String> {
    let code = text.trim().to_ascii_uppercase();
    match code.as_str() {
        "$" => Some("USD".to_owned()),
        "€" => Some("EUR".to_owned()),
        _ => (code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase())).then_some(code),
    }
}

const NO_CURRENCY: &str =
    "no currency: write it after the amount, as in hdd-7200=150USD (three letters)";

impl Prices {
    /// `hdd-7200=150USD,nvme=600USD`.
    ///
    /// # Errors
    /// Without an amount or a currency, or with two currencies.
    pub fn read_list(text: &str) -> Result<Prices, PriceError> {
        let mut prices = Prices::default();
        for part in text.split(',') {
            let (drive, price) = part
                .split_once('=')
                .ok_or_else(|| error(part, "not DRIVE=PRICE, such as hdd-7200=150USD"))?;
            let (amount, unit) = split(price).map_err(|problem| error(part, problem))?;
            if unit.is_empty() {
                return Err(error(part, NO_CURRENCY));
            }
            let unit = currency(&unit).ok_or_else(|| error(part, NO_CURRENCY))?;
            prices
                .add(drive.trim(), amount, &unit, "the option")
                .map_err(|problem| error(drive, problem))?;
        }
        Ok(prices)
    }

    /// A file with `currency = "USD"` and a table `[price]`.
    ///
    /// # Errors
    /// When it is not TOML or lacks the currency or the prices; with file, line and column.
    pub fn read_file(file: &str, text: &str) -> Result<Prices, PriceError> {
        let name = shown(file);
        let error = |steps: &[Step], problem: String| PriceError {
            place: place::of(&name, text, steps),
            problem,
        };
        let table: Table = text
            .parse()
            .map_err(|problem: toml::de::Error| PriceError {
                place: place::at(&name, text, problem.span().map_or(0, |span| span.start)),
                problem: format!("invalid TOML: {}", problem.message()),
            })?;
        let unit = table
            .get("currency")
            .and_then(Value::as_str)
            .and_then(currency);
        let unit = unit.ok_or_else(|| {
            error(
                &[Step::Key("currency")],
                "no currency: add `currency = \"USD\"` (three letters) at the top".to_owned(),
            )
        })?;
        let all = table
            .get("price")
            .and_then(Value::as_table)
            .filter(|all| !all.is_empty())
            .ok_or_else(|| {
                error(
                    &[Step::Key("price")],
                    "no prices: add a table [price] with lines such as `hdd-7200 = 150`".to_owned(),
                )
            })?;
        let mut prices = Prices::default();
        for (drive, value) in all {
            let amount = value.as_float().or(value.as_integer().map(|n| n as f64));
            amount
                .ok_or_else(|| "not a number".to_owned())
                .and_then(|amount| prices.add(drive, amount, &unit, file))
                .map_err(|problem| {
                    let steps = [Step::Key("price"), Step::Key(drive)];
                    error(
                        &steps,
                        format!("the price of '{}': {problem}", shown(drive)),
                    )
                })?;
        }
        Ok(prices)
    }

    /// Adds a price, or says what is wrong with it.
    fn add(&mut self, drive: &str, amount: f64, unit: &str, from: &str) -> Result<(), String> {
        if !self.currency.is_empty() && self.currency != unit {
            return Err(format!(
                "two currencies, {} and {unit}; convert them to one",
                self.currency
            ));
        }
        if !(0.01..=1e9).contains(&amount) {
            return Err("a price is a number from 0.01 to 1,000,000,000".to_owned());
        }
        unit.clone_into(&mut self.currency);
        self.of.insert(drive.to_owned(), (amount, from.to_owned()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_a_currency() {
        let prices = Prices::read_list("hdd-7200=150USD, nvme=1600.50 usd").expect("prices");
        assert_eq!(
            (prices.currency.as_str(), prices.of["nvme"].0),
            ("USD", 1600.5)
        );
        let prices = Prices::read_file("p.toml", "currency = \"EUR\"\n[price]\nnvme = 600\n");
        assert_eq!(
            prices.expect("prices").of["nvme"],
            (600.0, "p.toml".to_owned())
        );
        for (wrong, part) in [
            ("hdd-7200=150", "no currency: write it after the amount"),
            ("hdd-7200", "not DRIVE=PRICE"),
            ("hdd-7200=cheap", "does not begin with a number"),
            ("a=1USD,b=1EUR", "two currencies, USD and EUR"),
            ("a=0USD", "a price is a number"),
            ("a=1 dollars", "no currency"),
        ] {
            let found = Prices::read_list(wrong).expect_err(wrong).to_string();
            assert!(found.contains(part), "{found}");
        }
    }

    /// Regression 0981: a mistake in a file of prices named the file, but not the line.
    #[test]
    fn regression_0981_mistakes_in_a_file_have_their_place() {
        for (wrong, part) in [
            (
                "[price]\nnvme = 600",
                "p.toml:1:1: no currency: add `currency",
            ),
            (
                "[price]\nnvme = 600\n[other]\n",
                "p.toml:1:1: no currency: add `currency",
            ),
            (
                "# EUR\ncurrency = 7\n[price]\nnvme = 600",
                "p.toml:2:1: no currency: add `currency",
            ),
            (
                "currency = \"USD\"",
                "p.toml:1:1: no prices: add a table [price]",
            ),
            (
                "currency = \"USD\"\n[price]\nhdd = 9\nnvme = \"x\"",
                "p.toml:4:1: the price of 'nvme': not a number",
            ),
            (
                "currency = \"USD\"\n[price]\n\n  nvme = -5",
                "p.toml:4:3: the price of 'nvme': a price is a number from 0.01",
            ),
            ("[price]\ncurrency = ", "p.toml:2:12: invalid TOML"),
        ] {
            let found = Prices::read_file("p.toml", wrong)
                .expect_err(wrong)
                .to_string();
            assert!(found.starts_with(part), "{part}: {found}");
        }
    }
}
