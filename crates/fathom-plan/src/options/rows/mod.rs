//! The option table, one row per option, grouped by subject.

mod engine_local;
mod engine_remote;
mod job;
mod pace;
mod pattern;
mod payload;
mod profile;
mod queue;
mod report;
mod target;

use super::row::OptionRow;

/// All groups, in the order of the documentation.
pub(super) const GROUPS: &[(&str, &[OptionRow])] = &[
    (
        "jobs, their order, their process and their errors",
        job::ROWS,
    ),
    ("targets and their files", target::ROWS),
    ("which addresses and sizes are used", pattern::ROWS),
    ("how much, how long and how fast", pace::ROWS),
    ("engines, queues, durability and clocks", queue::ROWS),
    ("what is written and how it is checked", payload::ROWS),
    ("logs and the report", report::ROWS),
    (
        "private to the engines of the local kernel",
        engine_local::ROWS,
    ),
    (
        "private to engines that are not built in",
        engine_remote::ROWS,
    ),
    ("private to built-in profiles", profile::ROWS),
];
