//! The options of each command.

pub(crate) mod agent;
pub(crate) mod app;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod devices;
pub(crate) mod durable;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod fsync;
pub(crate) mod help;
pub(crate) mod import;
pub(crate) mod limits;
pub(crate) mod observe;
pub(crate) mod plot;
pub(crate) mod profile;
pub(crate) mod quick;
pub(crate) mod ready;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod rm;
pub(crate) mod runs;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod sim;
pub(crate) mod size;
pub(crate) mod spec;
pub(crate) mod store;
pub(crate) mod suite;
pub(crate) mod sweep;
pub(crate) mod version;
pub(crate) mod why;
pub(crate) mod witness;

/// About, details and examples of a command.
pub(crate) type Text = (&'static str, &'static str, &'static str);
