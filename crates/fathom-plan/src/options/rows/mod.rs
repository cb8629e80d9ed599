//! The option table, one row per option, grouped by subject.

mod engine_local;
mod engine_remote;
mod job;
mod own;
mod pace;
mod pattern;
mod payload;
mod profile;
mod queue;
mod report;
mod target;

use super::row::OptionRow;

/// The typed options of all groups that the resolver reads.
pub(crate) mod table {
    pub(crate) use super::engine_local::*;
    pub(crate) use super::job::*;
    pub(crate) use super::own::*;
    pub(crate) use super::pace::*;
    pub(crate) use super::pattern::*;
    pub(crate) use super::payload::*;
    pub(crate) use super::queue::*;
    pub(crate) use super::report::*;
    pub(crate) use super::target::*;
}

/// The options that fio does not have.
pub(super) const OWN: &[OptionRow] = own::ROWS;

/// All groups, in the order of the documentation.
pub(super) const GROUPS: &[(&str, &[OptionRow])] = &[
    ("jobs, their order, process and errors", job::ROWS),
    ("targets and files", target::ROWS),
    ("access pattern: addresses and sizes", pattern::ROWS),
    ("amount, runtime and rate", pace::ROWS),
    ("engines, queues, durability and clocks", queue::ROWS),
    ("data and verification", payload::ROWS),
    ("logs and reports", report::ROWS),
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
