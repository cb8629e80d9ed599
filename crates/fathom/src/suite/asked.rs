//! The words after `fathom suite`.

use std::path::PathBuf;

use fathom_model::Bytes;

use crate::keep::StoreWish;
use crate::subject;

/// How a target is brought back to its first state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// All of it is discarded.
    Discard,
    /// All of it is written with zeros.
    Zeros,
    /// The user did it, with the device's own command.
    Done,
}

impl Purge {
    /// What is said of it with the result.
    pub fn words(self) -> &'static str {
        match self {
            Purge::Discard => "The target was purged by discarding all of it, which not every device takes for a format.",
            Purge::Zeros => "The target was not purged but written with zeros, which is no purge for flash.",
            Purge::Done => "The target was purged beforehand, as the user says.",
        }
    }
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub name: Option<String>,
    pub path: Option<PathBuf>,
    pub folders: Vec<String>,
    pub size: Option<Bytes>,
    pub destroy: Vec<String>,
    pub purge: Option<Purge>,
    /// Times are divided by this.
    pub faster: Option<u32>,
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
        while let Some(argument) = rest.next() {
            if asked.store.take(argument, &mut rest)? {
                continue;
            }
            let word = argument.as_str();
            match word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value))) {
                ("--", None) => rest.by_ref().try_for_each(|path| asked.operand(path))?,
                ("--read-only" | "--readonly", None) => asked.read_only = true,
                ("--keep", None) => asked.keep = true,
                ("--dry-run", None) => asked.dry_run = true,
                ("--json", None) => asked.json = true,
                (name @ ("--suites" | "--size" | "--destroy" | "--purge" | "--faster"), value) => {
                    let value = value.or_else(|| rest.next().map(String::as_str)).ok_or_else(|| format!("{name} needs a value; `fathom help suite` tells"))?;
                    asked.with_value(name, value)?;
                }
                (name, _) if name.starts_with('-') && name.len() > 1 => {
                    return Err(format!("there is no option '{}'; `fathom help suite` lists them", name.escape_debug()));
                }
                _ => asked.operand(word)?,
            }
        }
        Ok(asked)
    }

    fn with_value(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "--suites" => self.folders.push(value.to_owned()),
            "--size" => self.size = Some(subject::size(name, value)?),
            "--destroy" => self.destroy.push(value.to_owned()),
            "--faster" => {
                let times = value.parse().ok().filter(|times| (2..=100_000).contains(times));
                self.faster = Some(times.ok_or_else(|| format!("--faster: '{}' is no number from 2 to 100000", value.escape_debug()))?);
            }
            _ => {
                self.purge = Some(match value {
                    "discard" => Purge::Discard,
                    "zeros" => Purge::Zeros,
                    "done" => Purge::Done,
                    _ => return Err(format!("--purge: '{}' is none of discard, zeros and done", value.escape_debug())),
                });
            }
        }
        Ok(())
    }

    fn operand(&mut self, word: &str) -> Result<(), String> {
        if self.name.is_none() {
            self.name = Some(word.to_owned());
            return Ok(());
        }
        match self.path.replace(word.into()) {
            None => Ok(()),
            Some(first) => Err(format!("one target at a time, not {} and {word}", first.display())),
        }
    }
}
