//! What sweeps, searches and suites are all asked, and how it is read.

use std::time::Duration;

use fathom_model::Bytes;
use fathom_plan::FileReader;

use super::observer_options::ObserverOptions;
use crate::args::Arg;
use crate::experiment_target;
use crate::result_store::StoreChoice;
use crate::resume::ResumeArgs;
use crate::surroundings::ThisMachine;

/// Fewer I/Os than fit in this say nothing.
const LEAST_TIME: Duration = Duration::from_millis(100);

/// What was asked for, beyond what is a command's own.
#[derive(Clone, Debug, Default)]
pub struct CommonOptions {
    /// `--for`: how long a cell takes.
    pub each: Option<Duration>,
    /// `--budget`: how long all of them may take.
    pub budget: Option<Duration>,
    /// `--set`: options of all cells.
    pub settings: Vec<(String, String)>,
    /// `--size`: how much of the target is used.
    pub size: Option<Bytes>,
    /// `--destroy`: codes that allow writing.
    pub destroy: Vec<String>,
    /// `--read-only`
    pub read_only: bool,
    /// `--keep`: the file that was made stays.
    pub keep: bool,
    /// `--dry-run`
    pub dry_run: bool,
    /// `--json`
    pub json: bool,
    /// `--watch`, `--events`
    pub telling: ObserverOptions,
    /// Which store.
    pub store: StoreChoice,
}

impl CommonOptions {
    /// Takes a word that is common to experiments.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take(&mut self, given: Arg<'_>) -> Result<(), String> {
        match given {
            Arg::Flag("--read-only" | "--readonly") => self.read_only = true,
            Arg::Flag("--keep") => self.keep = true,
            Arg::Flag("--dry-run") => self.dry_run = true,
            Arg::Flag("--json") => self.json = true,
            Arg::Flag("--watch") => self.telling.watch = true,
            Arg::Value("--events", value) => self.telling.events = Some(value.to_owned()),
            Arg::Value(name @ "--for", value) => self.each = Some(time(name, value)?),
            Arg::Value(name @ "--budget", value) => self.budget = Some(time(name, value)?),
            Arg::Value(name @ "--size", value) => {
                self.size = Some(experiment_target::size(name, value)?)
            }
            Arg::Value("--destroy", value) => self.destroy.push(value.to_owned()),
            Arg::Value("--set", value) => {
                let pair = value.split_once('=').ok_or_else(|| {
                    format!("--set: '{}' is not NAME=VALUE", value.escape_debug())
                })?;
                self.settings.push((pair.0.to_owned(), pair.1.to_owned()));
            }
            Arg::Flag(word) | Arg::Value(word, _) | Arg::Operand(word) => {
                return Err(format!("'{}' means nothing here", word.escape_debug()));
            }
        }
        Ok(())
    }

    /// What is said anew when an experiment goes on.
    pub fn go_on(&mut self, again: &ResumeArgs) {
        self.telling = again.telling.clone();
        self.destroy.extend(again.destroy.iter().cloned());
    }

    /// What cannot be together.
    ///
    /// # Errors
    /// Two answers for one output, or no terminal.
    pub fn check(&self) -> Result<(), String> {
        self.telling.check()?;
        if self.json && self.telling.is_answer() {
            return Err(
                "--json and --events=- cannot both go to the standard output; give --events a file"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// A time in which something can be measured.
///
/// # Errors
/// When it is none.
pub fn time(option: &str, text: &str) -> Result<Duration, String> {
    let time = experiment_target::time(option, text)?;
    if time < LEAST_TIME {
        Err(format!(
            "{option}: '{text}' is too short to measure anything"
        ))
    } else {
        Ok(time)
    }
}

/// A percentage as a share.
///
/// # Errors
/// When it is none from `least` to `most`.
pub fn percent(option: &str, text: &str, (least, most): (f64, f64)) -> Result<f64, String> {
    let percent = text
        .trim_end_matches('%')
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|percent| (least..=most).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| {
        format!(
            "{option}: '{}' is no percentage from {least}% to {most}%",
            text.escape_debug()
        )
    })
}

/// Whether an operand is a job file, not a target.
pub fn is_job_file(word: &str) -> bool {
    word == "-" || word.ends_with(".fio")
}

/// Name and text of a job file.
///
/// # Errors
/// When it cannot be read.
pub fn read_job_file(name: &str) -> Result<(String, String), String> {
    let bytes = ThisMachine
        .read(name)
        .map_err(|why| format!("cannot read '{}': {why}", name.escape_debug()))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{name} is not text in UTF-8"))?;
    let name = if name == "-" { "standard input" } else { name };
    Ok((name.to_owned(), text))
}
