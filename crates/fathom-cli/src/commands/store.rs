//! `fathom store`.

use clap::{Args, ValueEnum};

use super::Text;
use crate::common::StoreSource;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Copy a store, or label stored runs",
    "`copy FROM TO` copies every run with everything that belongs to it, from a file or a PostgreSQL server to another. A new store \
     becomes an exact copy, row for row; with --append the runs are added to those of TO and get new names there. Either everything is \
     copied or nothing.\n\n\
     `label RUN KEY=VALUE...` sets labels, by which `fathom runs --label` finds the run; `KEY=` removes one. Without KEY=VALUE it prints the \
     labels of the run. Usual keys: project, ticket, host, drive, firmware, kernel.",
    "Examples:
  fathom store copy ~/.local/share/fathom/store.db postgres://ann@db.example/fathom
  fathom store copy mine.db postgres://ann@db.example/fathom --append
  fathom store copy postgres://ann@db.example/fathom backup.db
  fathom store label r12 project=apollo ticket=OPS-812
  fathom store label latest",
);

/// What is done.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreAction {
    /// Copy a store to another one
    #[default]
    Copy,
    /// Set or print the labels of a run
    Label,
}

/// Arguments of `fathom store`.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// What is done
    #[arg(value_name = "ACTION", value_enum)]
    pub action: StoreAction,
    /// `copy`: FROM and TO, files or addresses; `label`: a run, and its labels as KEY=VALUE
    #[arg(value_name = "WORD", required = true)]
    pub words: Vec<String>,
    /// Add the runs to those that TO has, with new names
    #[arg(long)]
    pub append: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for StoreArgs {
    const NAME: &'static str = "store";
}
