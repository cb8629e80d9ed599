//! The option table: every name fio knows, its type, and what becomes of it here.

use std::sync::LazyLock;

mod compatibility;
mod help;
mod row;
mod rows;

pub use self::compatibility::compatibility;
pub use self::help::{cmdhelp, command_help, engine_help};
pub use self::row::{Kind, OptionRow, Support, Unit};

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

/// Whether a switch is on where it is not set. Each clone of a job asks for dozens: the few names are looked up once
/// (regression 0160: a thousand clones went through the whole table for each).
pub(crate) fn is_on_by_default(name: &str) -> bool {
    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        options()
            .filter(|row| row.kind == Kind::Bool && row.default == Some("1"))
            .map(|row| row.name)
            .collect()
    });
    NAMES.contains(&name)
}

/// The names most like `name`, best first, for a "did you mean".
///
/// What differs in length by more than the distance allowed is not compared, and swapped neighbours count once (optimal
/// string alignment): regression 0080, a thousand unknown options took seconds.
#[must_use]
pub fn closest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let most = (name.len() / 3).max(1);
    among
        .filter(|known| known.len().abs_diff(name.len()) <= most)
        .map(|known| (strsim::osa_distance(&name, known), known))
        .min()
        .filter(|(distance, _)| *distance <= most)
        .map(|(_, known)| known)
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
