//! Checks results of others: figures from a page, a talk, a spreadsheet or another program.
//!
//! Nothing is measured and nothing is assumed: a check runs only if the figures that it needs are
//! known.

mod check_input;
pub(crate) mod claims;
pub(crate) mod distribution;
pub(crate) mod figures;
pub(crate) mod hosts;
pub(crate) mod link;
pub(crate) mod logs;
pub(crate) mod merged;
pub(crate) mod number;
mod over_time;
pub(crate) mod repeats;
mod result;
pub(crate) mod spec;
pub(crate) mod sweep;

use fathom_model::{Finding, ImportedFigures, Weight};

pub use self::check_input::{
    CheckInput, judge, judge_imported, judge_logs, judge_sweep, judge_with,
};
pub use self::figures::little_line;
pub use self::link::link_line;
pub use self::logs::ImportedLogs;
pub use self::number::{NumberError, parse_figure};
pub use self::repeats::distinct_share;
pub use self::result::{check_input, imported};

/// A finding about an imported result.
fn about(imported: &ImportedFigures, weight: Weight, evidence: String, advice: &str) -> Finding {
    let name = (!imported.name.is_empty()).then(|| imported.name.clone());
    Finding {
        id: "",
        code: "",
        weight,
        about: name,
        evidence,
        advice: advice.to_owned(),
        when: Vec::new(),
    }
}
