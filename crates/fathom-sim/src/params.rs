//! Reads the parameters of one device. Every quantity needs its unit, so that a file cannot be
//! misread.

use crate::error::{ModelError, ParameterError, Place};
use crate::spec::{ModelSpec, Value};

/// The parameters of one device, with those that were read already.
#[derive(Debug)]
pub struct Params<'a> {
    spec: &'a ModelSpec,
    read: Vec<&'static str>,
}

/// What a quantity measures, with its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Time,
    Bytes,
    Rate,
}

impl Dimension {
    /// Nanoseconds, bytes or bytes per second of one unit.
    fn unit(self, name: &str) -> Option<f64> {
        let bytes = |name: &str| {
            Some(match name {
                "B" => 1.0,
                "k" | "K" | "KiB" => 1024.0,
                "m" | "M" | "MiB" => 1048576.0,
                "g" | "G" | "GiB" => 1073741824.0,
                "t" | "T" | "TiB" => 1099511627776.0,
                "kB" | "KB" => 1e3,
                "MB" => 1e6,
                "GB" => 1e9,
                "TB" => 1e12,
                _ => return None,
            })
        };
        match self {
            Dimension::Time => Some(match name {
                "ns" => 1.0,
                "us" | "µs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "min" => 60e9,
                "h" => 3600e9,
                _ => return None,
            }),
            Dimension::Bytes => bytes(name),
            Dimension::Rate => bytes(name.strip_suffix("/s")?),
        }
    }

    /// A quantity in the largest unit of which it is at least one, as a file would have it.
    fn shown(self, value: f64) -> String {
        let units: &[&str] = match self {
            Dimension::Time => &["h", "min", "s", "ms", "us"],
            Dimension::Bytes => &["TB", "GB", "MB", "kB"],
            Dimension::Rate => &["TB/s", "GB/s", "MB/s", "kB/s"],
        };
        let smallest = match self {
            Dimension::Time => "ns",
            Dimension::Bytes => "B",
            Dimension::Rate => "B/s",
        };
        // A bound such as 1 MiB is not whole in the units of a thousand.
        let binary: &[&str] = match self {
            Dimension::Bytes => &["GiB", "MiB", "KiB"],
            Dimension::Time | Dimension::Rate => &[],
        };
        let (number, unit) = units
            .iter()
            .chain(binary)
            .filter_map(|unit| Some((value / self.unit(unit)?, *unit)))
            .find(|(number, _)| *number >= 1.0 && number.fract() == 0.0)
            .unwrap_or((value, smallest));
        format!("{number}{unit}")
    }

    fn example(self) -> &'static str {
        match self {
            Dimension::Time => "8.2ms (ns, us, ms, s, min, h)",
            Dimension::Bytes => "64k or 4TB (B, k, M, G, T in powers of 1024; kB, MB, GB, TB)",
            Dimension::Rate => "160MB/s (kB/s, MB/s, GB/s, k/s, M/s, G/s)",
        }
    }
}

impl<'a> Params<'a> {
    /// Reads the parameters of this device.
    #[must_use]
    pub fn new(spec: &'a ModelSpec) -> Self {
        Params {
            spec,
            read: Vec::new(),
        }
    }

    /// Where the device is written.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.spec.place
    }

    /// An error about a parameter, or about the device if it is not given.
    #[must_use]
    pub fn error(&self, name: &str, problem: impl Into<String>) -> ModelError {
        let place = self
            .spec
            .parameters
            .iter()
            .rfind(|parameter| parameter.name == name)
            .map_or(&self.spec.place, |parameter| &parameter.place);
        ModelError::at(
            place,
            format!("{}: {name}: {}", self.spec.name, problem.into()),
        )
    }

    /// The error of a model that refuses one of its parameters, with the place of that parameter.
    #[must_use]
    pub fn impossible(&self, error: ParameterError) -> ModelError {
        self.error(error.parameter, error.problem)
    }

    /// Whether a parameter is given.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.spec.parameters.iter().any(|given| given.name == name)
    }

    fn find(&mut self, name: &'static str) -> Option<&'a Value> {
        self.read.push(name);
        // The last one counts: a composition may change the parameters of a file.
        self.spec
            .parameters
            .iter()
            .rfind(|parameter| parameter.name == name)
            .map(|parameter| &parameter.value)
    }

    /// A word, if it is given.
    ///
    /// # Errors
    /// If it is a list or a device.
    pub fn text(&mut self, name: &'static str) -> Result<Option<&'a str>, ModelError> {
        match self.find(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(self.error(name, "expected one value")),
        }
    }

    /// One of these words; the first is the default.
    ///
    /// # Errors
    /// If it is another one.
    pub fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Result<T, ModelError> {
        let Some(text) = self.text(name)? else {
            return Ok(choices[0].1);
        };
        choices
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, value)| *value)
            .ok_or_else(|| {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                self.error(name, format!("'{text}' is not one of {}", words.join(", ")))
            })
    }

    /// `on` or `off`.
    ///
    /// # Errors
    /// If it is another word.
    pub fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, ModelError> {
        self.choice(name, &[("", default), ("on", true), ("off", false)])
    }

    fn parse_number(&self, name: &str, text: &str) -> Result<f64, ModelError> {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())
            .ok_or_else(|| {
                let has_unit = text.trim().starts_with(|c: char| c.is_ascii_digit());
                let advice = if has_unit {
                    "; write it without a unit"
                } else {
                    ""
                };
                self.error(name, format!("invalid number '{text}'{advice}"))
            })
    }

    fn quantity(
        &mut self,
        name: &'static str,
        dimension: Dimension,
        (least, most): (f64, f64),
    ) -> Result<Option<f64>, ModelError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let split = text
            .find(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E'))
            .unwrap_or(text.len());
        let (number, unit) = (text[..split].trim(), text[split..].trim());
        let number = self.parse_number(name, number)?;
        let value = if unit.is_empty() {
            if number != 0.0 {
                let problem = format!(
                    "missing unit in '{text}'; write it as {}",
                    dimension.example()
                );
                return Err(self.error(name, problem));
            }
            0.0
        } else {
            let Some(scale) = dimension.unit(unit) else {
                let problem = format!("unknown unit '{unit}'; write it as {}", dimension.example());
                return Err(self.error(name, problem));
            };
            number * scale
        };
        if value < least || value > most {
            return Err(self.out_of_range(name, text, least, most, dimension));
        }
        Ok(Some(value))
    }

    fn out_of_range(
        &self,
        name: &str,
        text: &str,
        least: f64,
        most: f64,
        dimension: Dimension,
    ) -> ModelError {
        let [least, most] = [least, most].map(|value| dimension.shown(value));
        self.error(
            name,
            format!("impossible value '{text}'; it is {least} to {most}"),
        )
    }

    fn needed<T>(&self, name: &str, value: Option<T>) -> Result<T, ModelError> {
        value.ok_or_else(|| self.error(name, "missing parameter"))
    }

    /// A time in nanoseconds, at most a day; the default is used if it is not given.
    ///
    /// # Errors
    /// If it is missing without a default, has no unit, or is impossible.
    pub fn time(&mut self, name: &'static str, default: Option<f64>) -> Result<f64, ModelError> {
        let value = self.quantity(name, Dimension::Time, (0.0, 86400e9))?;
        self.needed(name, value.or(default))
    }

    /// A time that is longer than zero.
    ///
    /// # Errors
    /// As [`Params::time`].
    pub fn positive_time(
        &mut self,
        name: &'static str,
        default: Option<f64>,
    ) -> Result<f64, ModelError> {
        let value = self.quantity(name, Dimension::Time, (1.0, 86400e9))?;
        self.needed(name, value.or(default))
    }

    /// A number of bytes, at most 1 EB.
    ///
    /// # Errors
    /// If it is missing without a default, has no unit, or is impossible.
    pub fn bytes(&mut self, name: &'static str, default: Option<u64>) -> Result<u64, ModelError> {
        let value = self.quantity(name, Dimension::Bytes, (0.0, 1e18))?;
        self.needed(name, value.map(|value| value as u64).or(default))
    }

    /// A number of bytes of at least this many.
    ///
    /// # Errors
    /// As [`Params::bytes`].
    pub fn bytes_from(
        &mut self,
        name: &'static str,
        least: u64,
        default: Option<u64>,
    ) -> Result<u64, ModelError> {
        self.bytes_between(name, (least, 1_000_000_000_000_000_000), default)
    }

    /// A number of bytes in this range.
    ///
    /// # Errors
    /// As [`Params::bytes`].
    pub fn bytes_between(
        &mut self,
        name: &'static str,
        (least, most): (u64, u64),
        default: Option<u64>,
    ) -> Result<u64, ModelError> {
        let value = self.quantity(name, Dimension::Bytes, (least as f64, most as f64))?;
        self.needed(name, value.map(|value| value as u64).or(default))
    }

    /// A number of bytes that fits in one request: at most 1 GiB.
    ///
    /// # Errors
    /// As [`Params::bytes`].
    pub fn request_bytes(
        &mut self,
        name: &'static str,
        default: Option<u32>,
    ) -> Result<u32, ModelError> {
        let most = f64::from(1 << 30);
        let value = self.quantity(name, Dimension::Bytes, (0.0, most))?;
        self.needed(name, value.map(|value| value as u32).or(default))
    }

    /// Bytes per second, more than 0, at most 1 PB/s.
    ///
    /// # Errors
    /// If it is missing without a default, has no unit, or is impossible.
    pub fn rate(&mut self, name: &'static str, default: Option<f64>) -> Result<f64, ModelError> {
        let value = self.optional_rate(name)?;
        self.needed(name, value.or(default))
    }

    /// As [`Params::rate`], if it is given.
    ///
    /// # Errors
    /// If it has no unit or is impossible.
    pub fn optional_rate(&mut self, name: &'static str) -> Result<Option<f64>, ModelError> {
        self.quantity(name, Dimension::Rate, (1.0, 1e15))
    }

    /// A plain number in this range.
    ///
    /// # Errors
    /// If it is missing without a default, or outside of the range.
    pub fn number(
        &mut self,
        name: &'static str,
        (least, most): (f64, f64),
        default: Option<f64>,
    ) -> Result<f64, ModelError> {
        let value = match self.text(name)? {
            None => self.needed(name, default)?,
            Some(text) => {
                let value = match text.strip_suffix('%') {
                    Some(percent) => self.parse_number(name, percent)? / 100.0,
                    None => self.parse_number(name, text)?,
                };
                if value < least || value > most {
                    let problem = format!("impossible value '{text}'; it is {least} to {most}");
                    return Err(self.error(name, problem));
                }
                value
            }
        };
        Ok(value)
    }

    /// A whole number in this range.
    ///
    /// # Errors
    /// If it is missing without a default, not whole, or outside of the range.
    pub fn count(
        &mut self,
        name: &'static str,
        (least, most): (u64, u64),
        default: Option<u64>,
    ) -> Result<u64, ModelError> {
        let value = self.number(
            name,
            (least as f64, most as f64),
            default.map(|value| value as f64),
        )?;
        if value.fract() != 0.0 {
            return Err(self.error(name, format!("{value} is not a whole number")));
        }
        Ok(value as u64)
    }

    /// A device that is a parameter.
    ///
    /// # Errors
    /// If it is a list or not a composition.
    pub fn device(&mut self, name: &'static str) -> Result<Option<ModelSpec>, ModelError> {
        match self.find(name) {
            None => Ok(None),
            Some(Value::Device(spec)) => Ok(Some(spec.clone())),
            Some(Value::Text(text)) => match ModelSpec::parse(text) {
                Ok(mut spec) => {
                    spec.place = self.error(name, "").place;
                    Ok(Some(spec))
                }
                Err(error) => Err(self.error(name, error.problem)),
            },
            Some(Value::List(_)) => Err(self.error(name, "expected one device")),
        }
    }

    /// The values of a list of plain numbers.
    ///
    /// # Errors
    /// If it is not a list of numbers.
    pub fn numbers(&mut self, name: &'static str) -> Result<Option<Vec<f64>>, ModelError> {
        let list = match self.find(name) {
            None => return Ok(None),
            Some(Value::List(list)) => list,
            Some(_) => return Err(self.error(name, "expected a list of numbers")),
        };
        list.iter()
            .map(|value| match value {
                Value::Text(text) => self.parse_number(name, text),
                _ => Err(self.error(name, "expected a list of numbers")),
            })
            .collect::<Result<Vec<f64>, _>>()
            .map(Some)
    }

    /// The texts of a list.
    ///
    /// # Errors
    /// If it is not a list of texts.
    pub fn texts(&mut self, name: &'static str) -> Result<Option<Vec<&'a str>>, ModelError> {
        let list = match self.find(name) {
            None => return Ok(None),
            Some(Value::List(list)) => list,
            Some(_) => return Err(self.error(name, "expected a list of texts")),
        };
        list.iter()
            .map(|value| match value {
                Value::Text(text) => Ok(text.as_str()),
                _ => Err(self.error(name, "expected a list of texts")),
            })
            .collect::<Result<Vec<&str>, _>>()
            .map(Some)
    }

    /// Refuses parameters that the device does not have.
    ///
    /// # Errors
    /// If there is one.
    pub fn finish(&self) -> Result<(), ModelError> {
        match self
            .spec
            .parameters
            .iter()
            .find(|given| !self.read.contains(&given.name.as_str()))
        {
            None => Ok(()),
            Some(unknown) => {
                let mut known = self.read.clone();
                known.sort_unstable();
                known.dedup();
                Err(ModelError::at(
                    &unknown.place,
                    format!(
                        "{}: unknown parameter '{}'; it has {}",
                        self.spec.name,
                        unknown.name,
                        if known.is_empty() {
                            "none".to_owned()
                        } else {
                            known.join(", ")
                        }
                    ),
                ))
            }
        }
    }
}
