//! Settings of redb by name: of the crate itself, and the size of the rows.

use crate::spec::ROW;
use crate::{AppError, AppSpec, Engine};

/// Largest row.
const MAX_ROW: u64 = 16 << 20;

/// Settings of redb. See <https://docs.rs/redb>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RedbOptions {
    /// `Durability::Immediate`, or `Durability::None`: a power cut may lose the last commits.
    pub(crate) is_immediate: bool,
    /// Each commit is synced before and after it becomes the current one.
    pub(crate) two_phase_commit: bool,
    /// Each commit stores which pages are free.
    pub(crate) quick_repair: bool,
    /// Size of a row, bytes.
    pub(crate) value_size: u64,
}

impl RedbOptions {
    pub(crate) fn of(spec: &AppSpec) -> Result<RedbOptions, AppError> {
        let mut options = RedbOptions {
            is_immediate: true,
            two_phase_commit: false,
            quick_repair: false,
            value_size: ROW,
        };
        for (name, value) in &spec.settings {
            let wrong = |expected: &str| wrong(Engine::Redb, name, value, expected);
            match name.as_str() {
                "durability" => {
                    options.is_immediate = match value.as_str() {
                        "immediate" => true,
                        "none" => false,
                        _ => return Err(wrong("immediate or none")),
                    }
                }
                "two_phase_commit" => {
                    options.two_phase_commit = switch(value).ok_or_else(|| wrong(SWITCH))?;
                }
                "quick_repair" => {
                    options.quick_repair = switch(value).ok_or_else(|| wrong(SWITCH))?;
                }
                "value_size" => options.value_size = row(value).ok_or_else(|| wrong(SIZES))?,
                _ => {
                    return Err(unknown(
                        Engine::Redb,
                        name,
                        "durability, two_phase_commit, quick_repair and value_size",
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// What the first line of a result says of the durability of a commit.
pub(crate) fn durability(spec: &AppSpec) -> Option<&'static str> {
    match spec.engine {
        Engine::Redb => RedbOptions::of(spec).ok().map(|options| {
            match (options.is_immediate, options.two_phase_commit) {
                (false, _) => "durability none",
                (true, false) => "durability immediate",
                (true, true) => "durability immediate, two-phase commit",
            }
        }),
        _ => None,
    }
}

/// Size of a row of accounts, tellers and branches, bytes.
pub(crate) fn row_size(spec: &AppSpec) -> u64 {
    match spec.engine {
        Engine::Redb => RedbOptions::of(spec).map_or(ROW, |options| options.value_size),
        _ => ROW,
    }
}

/// Checks a setting with the values that are to be measured, before anything is created; the other engines check their
/// settings themselves.
///
/// # Errors
/// For an unknown setting, a wrong value, or a list of values of a setting that applies when the database is created.
pub fn check_setting(engine: Engine, name: &str, values: &[String]) -> Result<(), AppError> {
    if engine != Engine::Redb {
        return Ok(());
    }
    for value in values {
        let spec = AppSpec {
            engine,
            settings: vec![(name.to_owned(), value.clone())],
            ..AppSpec::default()
        };
        RedbOptions::of(&spec)?;
    }
    if values.len() > 1 && name == "value_size" {
        return Err(AppError::Request(format!(
            "--setting: {name} applies when the database is created: give one value, and run the command for each"
        )));
    }
    Ok(())
}

const SWITCH: &str = "true or false";
const SIZES: &str = "a size from 8 bytes to 16m";

fn switch(value: &str) -> Option<bool> {
    value.parse().ok()
}

fn row(value: &str) -> Option<u64> {
    size(value).filter(|size| (8..=MAX_ROW).contains(size))
}

/// A number, of bytes where no k, m or g follows: units of 1024.
fn size(value: &str) -> Option<u64> {
    let (number, shift) = match value.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => (&value[..value.len() - 1], 10),
        b'm' => (&value[..value.len() - 1], 20),
        b'g' => (&value[..value.len() - 1], 30),
        _ => (value, 0),
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn wrong(engine: Engine, name: &str, value: &str, expected: &str) -> AppError {
    let engine = engine.title();
    AppError::Request(format!(
        "--setting: {name}={value} of {engine}: expected {expected}"
    ))
}

fn unknown(engine: Engine, name: &str, known: &str) -> AppError {
    let engine = engine.title();
    AppError::Request(format!(
        "--setting: {engine} has no setting {name}; it has {known}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_wrong_ones_say_what_is_possible() {
        let check = |engine, name: &str, values: &[&str]| {
            let values: Vec<String> = values.iter().map(|one| (*one).to_owned()).collect();
            check_setting(engine, name, &values).map_err(|error| error.to_string())
        };
        for (engine, name, values) in [
            (Engine::Redb, "durability", &["immediate", "none"][..]),
            (Engine::Redb, "value_size", &["4k"]),
            (Engine::Sqlite, "anything", &["1"]),
        ] {
            assert_eq!(check(engine, name, values), Ok(()), "{name}");
        }
        for (engine, name, values, expected) in [
            (
                Engine::Redb,
                "durability",
                &["eventual"][..],
                "expected immediate or none",
            ),
            (
                Engine::Redb,
                "quick_repair",
                &["1"],
                "expected true or false",
            ),
            (Engine::Redb, "value_size", &["7"], "8 bytes to 16m"),
            (
                Engine::Redb,
                "value_size",
                &["99999999999999999999g"],
                "8 bytes to 16m",
            ),
            (
                Engine::Redb,
                "persist",
                &["buffer"],
                "redb has no setting persist; it has durability",
            ),
            (
                Engine::Redb,
                "value_size",
                &["100", "200"],
                "give one value",
            ),
        ] {
            let error = check(engine, name, values).expect_err(name);
            assert!(error.contains(expected), "{error}");
        }
    }
}
