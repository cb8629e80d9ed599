//! Every switch and job option of the command lines of `run` and `fio`, as man pages and shell completions show them.

use fathom_model::Personality;

use crate::command::{ArgumentUse, switches};
use crate::options::{Kind, OptionRow, Support, option_groups, value_description};

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedValue {
    /// No value.
    None,
    /// A value after `=`, or none.
    Optional,
    /// A value.
    Required,
}

/// One switch or job option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedOption {
    /// Name without dashes.
    pub name: &'static str,
    /// The same as one letter.
    pub letter: Option<char>,
    /// Another name of the same option.
    pub alias: Option<&'static str>,
    /// Whether it takes a value.
    pub value: ListedValue,
    /// Placeholder of the value: `FILE`, `TIME`, `SIZE`; empty without a value.
    pub value_name: &'static str,
    /// A short description of the value; empty for switches.
    pub value_description: String,
    /// The valid values, where they are a fixed list.
    pub choices: &'static [&'static str],
    /// The value is the path of a file or directory.
    pub is_path: bool,
    /// The default, as written in a job file.
    pub default: Option<&'static str>,
    /// The only engines it belongs to; empty for every job.
    pub engines: &'static [&'static str],
    /// The title of its group; empty for switches.
    pub group: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// The switches of `personality`, in the order of the help text.
#[must_use]
pub fn switch_list(personality: Personality) -> Vec<ListedOption> {
    let list = switches(personality).map(|switch| ListedOption {
        name: switch.name,
        letter: switch.letter,
        alias: None,
        value: match switch.takes {
            ArgumentUse::Never => ListedValue::None,
            ArgumentUse::Optional => ListedValue::Optional,
            ArgumentUse::Required => ListedValue::Required,
        },
        value_name: switch.argument,
        value_description: String::new(),
        choices: switch.choices,
        is_path: matches!(switch.argument, "FILE" | "DIR"),
        default: None,
        engines: &[],
        group: "",
        help: switch.help,
    });
    list.collect()
}

/// The job options that have an effect, by subject.
#[must_use]
pub fn job_option_list() -> Vec<ListedOption> {
    let rows = option_groups()
        .iter()
        .flat_map(|(group, rows)| rows.iter().map(move |row| (*group, row)));
    rows.filter(|(_, row)| row.support == Support::Honoured)
        .map(|(group, row)| listed(group, row))
        .collect()
}

fn listed(group: &'static str, row: &OptionRow) -> ListedOption {
    const PATHS: [&str; 9] = [
        "filename",
        "directory",
        "opendir",
        "read_iolog",
        "write_iolog",
        "replay_redirect",
        "program",
        "write_bw_log",
        "write_lat_log",
    ];
    let choices = match row.kind {
        Kind::Choice(values) | Kind::ChoiceWith(values) => values,
        Kind::Bool | Kind::Flag => &["0", "1"],
        _ => &[],
    };
    ListedOption {
        name: row.name,
        letter: None,
        alias: row.alias,
        value: match row.kind {
            Kind::Removed => ListedValue::None,
            Kind::Flag | Kind::Prefix => ListedValue::Optional,
            _ => ListedValue::Required,
        },
        value_name: value_name(row.kind),
        value_description: value_description(row.kind),
        choices,
        is_path: PATHS.contains(&row.name),
        default: row.default,
        engines: row.engines,
        group,
        help: row.help,
    }
}

/// The placeholder of a value.
fn value_name(kind: Kind) -> &'static str {
    use crate::values::Unit;
    match kind {
        Kind::One(unit) | Kind::Three(unit) | Kind::Pair(unit) => match unit {
            Unit::Count => "N",
            Unit::Bytes => "SIZE",
            Unit::Percent => "PERCENT",
            Unit::Millis => "MS",
            Unit::Micros | Unit::Seconds => "TIME",
        },
        Kind::Extent => "SIZE",
        Kind::Bool | Kind::Flag => "BOOL",
        Kind::Text => "TEXT",
        Kind::Prefix => "PREFIX",
        Kind::Engine => "ENGINE",
        Kind::Choice(_) | Kind::ChoiceWith(_) => "VALUE",
        Kind::Ranges => "RANGES",
        Kind::Split | Kind::PrioritySplit => "SPLIT",
        Kind::Distribution => "DISTRIBUTION",
        Kind::Floats(_) => "NUMBERS",
        Kind::Pattern => "PATTERN",
        Kind::Cpus => "CPUS",
        Kind::Errors => "ERRORS",
        Kind::Removed => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_complete() {
        let switches = switch_list(Personality::Fathom);
        assert!(switches.iter().any(|switch| switch.name == "destroy"));
        assert!(switch_list(Personality::Fio).len() < switches.len());
        let options = job_option_list();
        assert!(options.iter().any(|option| option.name == "iodepth"));
        for listed in switches.iter().chain(&options) {
            assert!(!listed.help.is_empty(), "{}", listed.name);
            assert!(
                listed.value != ListedValue::Required || !listed.value_name.is_empty(),
                "{}",
                listed.name
            );
        }
    }
}
