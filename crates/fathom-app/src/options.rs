//! Settings of redb and fjall by name: of the crates themselves, and the size of the rows.

use crate::spec::ROW;
use crate::{AppError, AppSpec, Engine, Journal, Setting};

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
        for setting in &spec.settings {
            let (name, value) = (setting.name(), setting.value());
            let wrong = |expected: &str| wrong(Engine::Redb, name, value, expected);
            match name {
                "durability" => {
                    options.is_immediate = match value {
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

/// When a commit of fjall is on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persist {
    /// The kernel writes it later: a power cut may lose the last commits.
    Buffer,
    /// After fdatasync(2).
    SyncData,
    /// After fsync(2).
    SyncAll,
}

/// Settings of fjall. See <https://docs.rs/fjall>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FjallOptions {
    /// `PersistMode` of each commit.
    pub(crate) persist: Persist,
    /// A table in memory that is larger is written to the device, bytes.
    #[cfg_attr(not(feature = "fjall"), allow(dead_code))]
    pub(crate) max_memtable_size: u64,
    /// Size of a block of a table on the device, bytes.
    #[cfg_attr(not(feature = "fjall"), allow(dead_code))]
    pub(crate) data_block_size: u32,
    /// Size of a row, bytes.
    pub(crate) value_size: u64,
}

impl FjallOptions {
    pub(crate) fn of(spec: &AppSpec) -> Result<FjallOptions, AppError> {
        let mut options = FjallOptions {
            persist: Persist::SyncData,
            max_memtable_size: 64 << 20,
            data_block_size: 4096,
            value_size: ROW,
        };
        for setting in &spec.settings {
            let (name, value) = (setting.name(), setting.value());
            let wrong = |expected: &str| wrong(Engine::Fjall, name, value, expected);
            let within = |from: u64, to: u64| size(value).filter(|size| (from..=to).contains(size));
            match name {
                "persist" => {
                    options.persist = match value {
                        "buffer" => Persist::Buffer,
                        "sync-data" => Persist::SyncData,
                        "sync-all" => Persist::SyncAll,
                        _ => return Err(wrong("sync-data, sync-all or buffer")),
                    }
                }
                "max_memtable_size" => {
                    options.max_memtable_size =
                        within(1 << 20, 1 << 30).ok_or_else(|| wrong("a size from 1m to 1g"))?;
                }
                "data_block_size" => {
                    options.data_block_size = within(1 << 10, 1 << 20)
                        .and_then(|size| size.try_into().ok())
                        .ok_or_else(|| wrong("a size from 1k to 1m"))?;
                }
                "value_size" => options.value_size = row(value).ok_or_else(|| wrong(SIZES))?,
                _ => {
                    return Err(unknown(
                        Engine::Fjall,
                        name,
                        "persist, max_memtable_size, data_block_size and value_size",
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
        Engine::Fjall => FjallOptions::of(spec)
            .ok()
            .map(|options| match options.persist {
                Persist::Buffer => "persist buffer",
                Persist::SyncData => "persist sync-data",
                Persist::SyncAll => "persist sync-all",
            }),
        _ => None,
    }
}

/// Size of a row of accounts, tellers and branches, bytes.
pub(crate) fn row_size(spec: &AppSpec) -> u64 {
    match spec.engine {
        Engine::Redb => RedbOptions::of(spec).map_or(ROW, |options| options.value_size),
        Engine::Fjall => FjallOptions::of(spec).map_or(ROW, |options| options.value_size),
        _ => ROW,
    }
}

/// Checks a setting with the values that are to be measured, before anything is created; the other engines check their
/// settings themselves.
///
/// # Errors
/// For an unknown setting, a wrong value, or a list of values of a setting that applies when the database is created.
pub fn check_setting(engine: Engine, name: &str, values: &[String]) -> Result<(), AppError> {
    for value in values {
        let spec = AppSpec {
            engine,
            settings: vec![Setting::classify(engine, Journal::default(), name, value)?],
            ..AppSpec::default()
        };
        match engine {
            Engine::Redb => drop(RedbOptions::of(&spec)?),
            Engine::Fjall => drop(FjallOptions::of(&spec)?),
            Engine::Sqlite | Engine::Postgres | Engine::Mariadb | Engine::Rocksdb => return Ok(()),
        }
    }
    if values.len() > 1 && AT_CREATION.contains(&name) {
        return Err(AppError::Request(format!(
            "--setting: {name} applies when the database is created: give one value, and run the command for each"
        )));
    }
    Ok(())
}

/// Settings of redb and fjall that apply when the database is created.
const AT_CREATION: [&str; 3] = ["value_size", "max_memtable_size", "data_block_size"];
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
            (
                Engine::Fjall,
                "persist",
                &["sync-data", "sync-all", "buffer"],
            ),
            (Engine::Fjall, "data_block_size", &["16k"]),
            (Engine::Sqlite, "cache_size", &["1"]),
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
            (Engine::Redb, "persist", &["buffer"], "persist of redb"),
            (
                Engine::Redb,
                "value_size",
                &["100", "200"],
                "give one value",
            ),
            (
                Engine::Fjall,
                "persist",
                &["none"],
                "expected sync-data, sync-all or buffer",
            ),
            (Engine::Fjall, "data_block_size", &["2m"], "1k to 1m"),
            (
                Engine::Fjall,
                "data_block_size",
                &["4k", "8k"],
                "give one value",
            ),
            (Engine::Fjall, "max_memtable_size", &["1k"], "1m to 1g"),
            (
                Engine::Fjall,
                "durability",
                &["none"],
                "durability of fjall",
            ),
        ] {
            let error = check(engine, name, values).expect_err(name);
            assert!(error.contains(expected), "{error}");
        }
    }
}
