//! The option table: every option name of fio, its type, and how it is supported.

mod engines;
mod help;
mod read_value;
mod row;
mod rows;
mod typed;

pub(crate) use self::engines::{ENGINES, engine_by_name};
pub use self::help::{command_help, engine_help, option_help, value_description};
pub use self::read_value::read_value;
pub use self::row::{Kind, OptionRow, Support};
pub(crate) use self::rows::table;
pub(crate) use self::typed::{
    Extent, JobOption, Number, OptionName, OptionType, Pattern, Prefix, Switch, Text, Three,
    WithDefault,
};
use crate::text::closest;

/// Every option, in the order of the documentation.
pub fn options() -> impl Iterator<Item = &'static OptionRow> {
    rows::GROUPS.iter().flat_map(|(_, rows)| rows.iter())
}

/// The options by subject: a title and its rows.
#[must_use]
pub fn option_groups() -> &'static [(&'static str, &'static [OptionRow])] {
    rows::GROUPS
}

/// The option of this name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static OptionRow> {
    options().find(|row| row.name == name || row.alias == Some(name))
}

/// The option of this name that only fathom has.
#[must_use]
pub fn find_own(name: &str) -> Option<&'static OptionRow> {
    rows::OWN.iter().find(|row| row.name == name)
}

/// The option name most like `name`.
#[must_use]
pub fn closest_option(name: &str) -> Option<&'static str> {
    let bounded: String = name.chars().take(64).collect();
    let of_jobs = options().filter(|row| {
        !row.engines
            .iter()
            .any(|engine| engine.starts_with("profile="))
    });
    closest(
        &bounded,
        of_jobs.flat_map(|row| [Some(row.name), row.alias].into_iter().flatten()),
    )
}
