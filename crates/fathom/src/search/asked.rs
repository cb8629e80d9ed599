//! The words after `fathom search`.

use std::path::PathBuf;
use std::time::Duration;

use fathom_analyse::SloLimit;
use fathom_model::Bytes;

use crate::keep::StoreWish;
use crate::subject;

/// Fewer I/Os than fit in this say nothing.
const LEAST_TIME: Duration = Duration::from_millis(100);

/// What is told first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    #[default]
    Iops,
    MegaBytes,
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub job_file: Option<String>,
    pub path: Option<PathBuf>,
    pub limits: Vec<SloLimit>,
    pub unit: Unit,
    pub each: Option<Duration>,
    pub budget: Option<Duration>,
    /// As a share.
    pub precision: Option<f64>,
    pub settings: Vec<(String, String)>,
    pub size: Option<Bytes>,
    pub destroy: Vec<String>,
    pub read_only: bool,
    pub keep: bool,
    pub json: bool,
    pub store: StoreWish,
}

impl Asked {
    /// Takes the arguments apart.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(arguments: &[String]) -> Result<Asked, String> {
        let mut asked = Asked::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if asked.store.take(argument, &mut rest)? {
                continue;
            }
            let word = argument.as_str();
            match word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value))) {
                ("--", None) => rest.by_ref().try_for_each(|path| asked.operand(path))?,
                ("--read-only" | "--readonly", None) => asked.read_only = true,
                ("--keep", None) => asked.keep = true,
                ("--json", None) => asked.json = true,
                (name @ ("--slo" | "--max" | "--for" | "--budget" | "--precision" | "--set" | "--size" | "--destroy"), value) => {
                    let value = value.or_else(|| rest.next().map(String::as_str)).ok_or_else(|| format!("{name} needs a value; `fathom help search` tells"))?;
                    asked.with_value(name, value)?;
                }
                (name, _) if name.starts_with('-') && name.len() > 1 => {
                    return Err(format!("there is no option '{}'; `fathom help search` lists them", name.escape_debug()));
                }
                _ => asked.operand(word)?,
            }
        }
        if asked.path.is_none() && asked.job_file.is_none() {
            return Err("give a folder, a file, a device or a job file, such as `fathom search . --slo 'p99<=1ms'`".to_owned());
        }
        Ok(asked)
    }

    fn with_value(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "--slo" => self.limits.push(value.parse().map_err(|error| format!("--slo: {error}"))?),
            "--max" => {
                self.unit = match value {
                    "iops" => Unit::Iops,
                    "mbps" | "mb/s" => Unit::MegaBytes,
                    _ => return Err(format!("--max: '{}' is neither iops nor mbps", value.escape_debug())),
                }
            }
            "--for" => {
                let time = subject::time(name, value)?;
                self.each = Some(if time < LEAST_TIME { return Err(format!("{name}: '{value}' is too short to measure anything")) } else { time });
            }
            "--budget" => self.budget = Some(subject::time(name, value)?),
            "--precision" => self.precision = Some(percent(value)?),
            "--size" => self.size = Some(subject::size(name, value)?),
            "--destroy" => self.destroy.push(value.to_owned()),
            _ => {
                let pair = value.split_once('=').ok_or_else(|| format!("--set: '{}' is not NAME=VALUE", value.escape_debug()))?;
                self.settings.push((pair.0.to_owned(), pair.1.to_owned()));
            }
        }
        Ok(())
    }

    fn operand(&mut self, word: &str) -> Result<(), String> {
        let is_job = word == "-" || word.ends_with(".fio");
        let before = if is_job { self.job_file.replace(word.to_owned()) } else { self.path.replace(word.into()).map(|path| path.display().to_string()) };
        match before {
            None => Ok(()),
            Some(first) => Err(format!("one at a time, not {first} and {word}")),
        }
    }
}

/// A percentage as a share.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').trim().parse::<f64>().ok().filter(|percent| (0.1..=50.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("--precision: '{}' is no percentage from 0.1% to 50%", text.escape_debug()))
}
