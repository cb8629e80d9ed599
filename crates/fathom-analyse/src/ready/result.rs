//! The answer of `fathom ready`: all checks together, and the reason in one sentence.

use fathom_model::format::percent;
use fathom_model::{ReadyCheckResult, ReadyMetric, ReadyResult, ReadyVerdict};

use crate::figures::{count, duration};

/// What a rate counts.
fn unit(metric: ReadyMetric) -> &'static str {
    match metric {
        ReadyMetric::Sync => "syncs/s",
        ReadyMetric::Read => "reads/s",
        ReadyMetric::Write => "writes/s",
        ReadyMetric::Rate => "I/Os per second",
    }
}

/// The figure of a check against its limits, in one sentence without a full stop.
fn sentence(result: &ReadyCheckResult) -> String {
    let limit = &result.check.limit;
    let text = |value: f64| {
        if limit.is_rate() {
            count(value.round() as u64)
        } else {
            duration(value)
        }
    };
    let end = |value: Option<f64>| value.map_or("?".to_owned(), text);
    let figure = match limit {
        fathom_model::ReadyLimit::AtMost { figure, .. } => format!("{figure} of "),
        fathom_model::ReadyLimit::AtLeast { .. } => String::new(),
    };
    let Some(value) = result.estimate.value else {
        return format!("{}: nothing was measured", result.check.title);
    };
    let per_second = if limit.is_rate() {
        format!(" {}", unit(result.check.metric))
    } else {
        String::new()
    };
    let mut sentence = format!(
        "{}: {figure}{}{per_second} ({:.0} % CI {} to {}) against {}",
        result.check.title,
        text(value),
        100.0 * result.confidence,
        end(result.estimate.low),
        end(result.estimate.high),
        text(limit.hard()),
    );
    if let Some(soft) = limit.soft() {
        sentence += &format!(
            " (warning {} {})",
            if limit.is_rate() { "below" } else { "above" },
            text(soft)
        );
    }
    if let Some(headroom) = result.headroom() {
        let side = if headroom >= 0.0 {
            "headroom"
        } else {
            "over the limit"
        };
        let side = if limit.is_rate() && headroom < 0.0 {
            "too few"
        } else {
            side
        };
        sentence += &format!(", {} {side}", percent(100.0 * headroom.abs()));
    }
    if let Some(rate) = result.rate {
        sentence += &format!(
            "; {} {}",
            count(rate.round() as u64),
            unit(result.check.metric)
        );
    }
    sentence
}

/// The answer of a profile. `fault` is a reason for which no verdict is possible, such as an I/O error: then every check is
/// undecided, whatever its figures are.
#[must_use]
pub fn ready_result(
    (profile, title, target): (&str, &str, &str),
    mut checks: Vec<ReadyCheckResult>,
    fault: Option<String>,
) -> ReadyResult {
    if let Some(fault) = &fault {
        for check in &mut checks {
            check.verdict = ReadyVerdict::Undecided;
            check.reason = Some(fault.clone());
        }
    }
    let has_fault = fault.is_some();
    let verdict = match has_fault {
        true => ReadyVerdict::Undecided,
        false => ReadyVerdict::of_all(checks.iter().map(|check| check.verdict)),
    };
    let deciding = checks
        .iter()
        .filter(|check| check.verdict == verdict)
        .min_by(|a, b| {
            let headroom = |check: &ReadyCheckResult| check.headroom().unwrap_or(-1.0);
            headroom(a).total_cmp(&headroom(b))
        });
    let reason = match (fault, deciding) {
        (Some(fault), _) => fault,
        (None, None) => "nothing was measured".to_owned(),
        (None, Some(check)) => {
            let because = check
                .reason
                .as_ref()
                .map_or(String::new(), |reason| format!(" ({reason})"));
            sentence(check) + &because
        }
    };
    ReadyResult {
        profile: profile.to_owned(),
        title: title.to_owned(),
        target: target.to_owned(),
        verdict,
        reason,
        has_fault,
        checks,
        background: Vec::new(),
        notes: Vec::new(),
        sources: Vec::new(),
        runs: Vec::new(),
    }
}

/// The sentence of each check, for test cases.
#[must_use]
pub fn ready_sentence(result: &ReadyCheckResult) -> String {
    let because = result
        .reason
        .as_ref()
        .map_or(String::new(), |reason| format!(" ({reason})"));
    format!("{}: {}{because}", result.verdict.name(), sentence(result))
}
