//! Results of others: figures from a page, a talk, a spreadsheet or another program, checked as our own are.
//!
//! Nothing is measured here and nothing assumed: a check speaks only where the figures it needs are known.

mod check_input;
mod claims;
mod figures;
mod hosts;
mod link;
mod logs;
mod merged;
mod number;
mod repeats;
mod result;
mod spec;
mod sweep;

use fathom_model::{Finding, ImportedFigures, Weight};

pub use self::check_input::{
    CHECKS, Check, CheckInput, judge_handed, judge_handed_with, judge_imported,
};
pub use self::figures::little_line;
pub use self::hosts::judge_hosts;
pub use self::logs::{ImportedLogs, judge_logs};
pub use self::merged::judge_percentile;
pub use self::number::{NumberError, parse_figure};
pub use self::repeats::distinct_share;
pub use self::result::imported;
pub use self::sweep::judge_sweep;

use crate::explain::id_of;

/// A finding about an imported result.
fn about(
    imported: &ImportedFigures,
    code: &'static str,
    weight: Weight,
    evidence: String,
    advice: &str,
) -> Finding {
    let name = (!imported.name.is_empty()).then(|| imported.name.clone());
    Finding {
        id: id_of(code),
        code,
        weight,
        about: name,
        evidence,
        advice: advice.to_owned(),
        when: Vec::new(),
    }
}
