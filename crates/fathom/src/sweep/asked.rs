//! The words after `fathom sweep`.

use std::path::PathBuf;
use std::time::Duration;

use fathom_model::Bytes;
use fathom_plan::Axis;

use crate::keep::StoreWish;
use crate::subject;

/// Nothing is measured in less.
const LEAST_TIME: Duration = Duration::from_millis(100);
/// Splits of the same number outstanding that differ by less agree.
const AGREE: f64 = 0.10;
/// Repeats never end without a bound.
const MOST_REPEATS: u32 = 1000;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub job_file: Option<String>,
    pub paths: Vec<PathBuf>,
    pub axes: Vec<Axis>,
    pub each: Option<Duration>,
    pub budget: Option<Duration>,
    pub repeat: Option<u32>,
    /// As a share.
    pub precision: Option<f64>,
    /// `--adaptive`, with the largest difference that still counts as agreement, as a share.
    pub agree: Option<f64>,
    /// Several targets are not loaded together.
    pub alone: bool,
    /// The full-screen view.
    pub watch: bool,
    /// Where events go.
    pub events: Option<String>,
    pub settings: Vec<(String, String)>,
    pub size: Option<Bytes>,
    pub destroy: Vec<String>,
    pub read_only: bool,
    pub keep: bool,
    pub dry_run: bool,
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
        while let Some(word) = rest.next() {
            if asked.store.take(word, &mut rest)? {
                continue;
            }
            let mut words = rest.by_ref().map(String::as_str);
            if word == "--" {
                words.by_ref().for_each(|path| asked.paths.push(path.into()));
            } else if word.starts_with("--") || word.starts_with('-') && word.len() > 1 {
                asked.option(word, &mut words)?;
            } else {
                asked.operand(word)?;
            }
        }
        asked.check()
    }

    fn option<'a>(&mut self, word: &'a str, words: &mut dyn Iterator<Item = &'a str>) -> Result<(), String> {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        match (name, value) {
            ("--read-only" | "--readonly", None) => self.read_only = true,
            ("--keep", None) => self.keep = true,
            ("--dry-run", None) => self.dry_run = true,
            ("--json", None) => self.json = true,
            ("--watch", None) => self.watch = true,
            ("--alone", None) => self.alone = true,
            ("--adaptive", None) => self.agree = Some(self.agree.unwrap_or(AGREE)),
            ("--agree" | "--events" | "--axis" | "--for" | "--budget" | "--repeat" | "--precision" | "--set" | "--size" | "--destroy", value) => {
                let value = value.or_else(|| words.next()).ok_or_else(|| format!("{name} needs a value; `fathom help sweep` tells"))?;
                self.with_value(name, value)?;
            }
            _ => return Err(unknown(word)),
        }
        Ok(())
    }

    fn with_value(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "--axis" => self.axes.push(Axis::parse(value).map_err(|error| format!("--axis: {error}"))?),
            "--for" => self.each = Some(time(name, value)?),
            "--budget" => self.budget = Some(time(name, value)?),
            "--repeat" => self.repeat = Some(count(name, value)?),
            "--agree" => self.agree = Some(percent(name, value)?),
            "--events" => self.events = Some(value.to_owned()),
            "--precision" => self.precision = Some(percent(name, value)?),
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
        if word == "-" || word.ends_with(".fio") {
            return match self.job_file.replace(word.to_owned()) {
                None => Ok(()),
                Some(first) => Err(format!("one job file at a time, not {first} and {word}")),
            };
        }
        self.paths.push(word.into());
        Ok(())
    }

    fn check(self) -> Result<Asked, String> {
        let by_axis = self.axes.iter().any(|axis| axis.name == "target");
        if self.axes.is_empty() && self.paths.len() < 2 {
            return Err("say what is varied, such as --axis bs=4k,16k --axis iodepth=1..64*2".to_owned());
        }
        if self.paths.is_empty() && self.job_file.is_none() && !by_axis {
            return Err("give a folder, a file, a device or a job file, such as `fathom sweep . --axis iodepth=1..64*2`".to_owned());
        }
        if by_axis && !self.paths.is_empty() {
            return Err("the axis target names the targets; leave the others out".to_owned());
        }
        let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            return Err(format!("--axis {}: there are two axes of this name; give all values to one", names[twice]));
        }
        if self.json && self.events.as_deref() == Some("-") {
            return Err("--json and --events=- cannot both go to the standard output; give --events a file".to_owned());
        }
        Ok(self)
    }
}

fn unknown(word: &str) -> String {
    const OPTIONS: [&str; 17] = [
        "--watch", "--adaptive", "--agree", "--alone", "--events",
        "--axis", "--for", "--budget", "--repeat", "--precision", "--set", "--size", "--destroy", "--read-only", "--keep", "--dry-run",
        "--json",
    ];
    let name = word.split('=').next().unwrap_or(word);
    let close = fathom_plan::closest(name, OPTIONS.into_iter()).map_or(String::new(), |close| format!(": did you mean {close}?"));
    let advice = if close.is_empty() { "; `fathom help sweep` lists them" } else { "" };
    format!("there is no option '{}'{close}{advice}", word.escape_debug())
}

fn time(option: &str, text: &str) -> Result<Duration, String> {
    let time = subject::time(option, text)?;
    if time < LEAST_TIME { Err(format!("{option}: '{text}' is too short to measure anything")) } else { Ok(time) }
}

fn count(option: &str, text: &str) -> Result<u32, String> {
    let wrong = || format!("{option}: '{}' is no number from 1 to {MOST_REPEATS}", text.escape_debug());
    text.parse().ok().filter(|n| (1..=MOST_REPEATS).contains(n)).ok_or_else(wrong)
}

/// A percentage as a share.
fn percent(option: &str, text: &str) -> Result<f64, String> {
    let wrong = || format!("{option}: '{}' is no percentage; give one such as 3%", text.escape_debug());
    let percent: f64 = text.trim_end_matches('%').trim().parse().map_err(|_| wrong())?;
    if percent > 0.0 && percent <= 100.0 { Ok(percent / 100.0) } else { Err(wrong()) }
}
