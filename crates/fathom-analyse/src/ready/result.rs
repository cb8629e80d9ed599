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
        hosts: Vec::new(),
    }
}

/// The answer of several hosts: the worst one decides, and among equal ones that with the least headroom. The titles of the checks
/// begin with the names of the hosts.
///
/// # Errors
/// Without a host.
pub fn ready_on_hosts(answers: Vec<(String, ReadyResult)>) -> Result<ReadyResult, String> {
    let verdict = ReadyVerdict::of_all(answers.iter().map(|(_, one)| one.verdict));
    let least = |one: &ReadyResult| {
        let of_verdict = one.checks.iter().filter(|check| check.verdict == verdict);
        let headrooms = of_verdict.map(|check| check.headroom().unwrap_or(-1.0));
        headrooms.fold(f64::INFINITY, f64::min)
    };
    let deciding = answers
        .iter()
        .filter(|(_, one)| one.verdict == verdict)
        .min_by(|(_, a), (_, b)| least(a).total_cmp(&least(b)));
    let (name, one) = deciding.ok_or("no host answered")?;
    let mut all = ReadyResult {
        target: format!("{} ({} hosts)", one.target, answers.len()),
        reason: format!("{name}: {}", one.reason),
        checks: Vec::new(),
        notes: Vec::new(),
        ..one.clone()
    };
    for (name, one) in answers {
        all.hosts.push((name.clone(), one.verdict, one.reason));
        let notes = one.notes.iter().map(|note| format!("{name}: {note}"));
        all.notes.extend(notes);
        all.checks.extend(one.checks.into_iter().map(|mut check| {
            check.check.title = format!("{name}: {}", check.check.title);
            check
        }));
    }
    Ok(all)
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

#[cfg(test)]
mod tests {
    use fathom_model::{Nanos, ReadyCheck, ReadyEstimate, ReadyFigure, ReadyLimit};

    use super::*;

    fn host(ms: f64, verdict: ReadyVerdict) -> ReadyResult {
        let check = ReadyCheck {
            title: "commits".to_owned(),
            job: "log".to_owned(),
            metric: ReadyMetric::Sync,
            limit: ReadyLimit::AtMost {
                figure: ReadyFigure::Percentile(99.0),
                hard: Nanos::new(10_000_000),
                soft: None,
            },
            advice: None,
            source: None,
        };
        let result = ReadyCheckResult {
            check,
            step: "log".to_owned(),
            estimate: ReadyEstimate {
                value: Some(ms * 1e6),
                low: Some(ms * 0.9e6),
                high: Some(ms * 1.1e6),
            },
            confidence: 0.99,
            samples: 1000,
            effective_samples: 1000.0,
            seconds: 5.0,
            rate: Some(200.0),
            verdict,
            reason: None,
        };
        ready_result(("log", "A log", "/data"), vec![result], None)
    }

    /// Against a limit of 10 ms: 12 ms on c are worse than 11 ms on b, and both than 5 ms on a.
    #[test]
    fn the_worst_host_decides_and_is_named() {
        use ReadyVerdict::{Fail, Pass, Undecided};
        let named = |hosts: &[(&str, f64, ReadyVerdict)]| {
            let hosts = hosts.iter();
            let hosts = hosts.map(|(name, ms, verdict)| ((*name).to_owned(), host(*ms, *verdict)));
            ready_on_hosts(hosts.collect()).expect("hosts")
        };
        let all = named(&[("a", 5.0, Pass), ("b", 11.0, Fail), ("c", 12.0, Fail)]);
        assert_eq!(all.verdict, Fail);
        assert!(all.reason.starts_with("c: commits: p99"), "{}", all.reason);
        let titles: Vec<&str> = all
            .checks
            .iter()
            .map(|one| one.check.title.as_str())
            .collect();
        assert_eq!(titles, ["a: commits", "b: commits", "c: commits"]);
        let all = named(&[("a", 5.0, Pass), ("b", 9.0, Pass)]);
        assert_eq!((all.verdict, &all.reason[..2]), (Pass, "b:"));
        let all = named(&[("a", 5.0, Undecided), ("b", 9.0, Pass)]);
        assert_eq!((all.verdict, &all.reason[..2]), (Undecided, "a:"));
        assert!(ready_on_hosts(Vec::new()).is_err());
    }
}
