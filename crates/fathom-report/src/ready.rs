//! The answer of `fathom ready` as text, JSON, Markdown and test cases.

use fathom_model::format::{duration, percent, rate};
use fathom_model::{
    ReadyCheckResult, ReadyFigure, ReadyLimit, ReadyMetric, ReadyResult, ReadyVerdict,
};
use serde_json::{Value, json};

use crate::Style;
use crate::experiment::aligned;
use crate::junit::TestCase;
use crate::output::wrap;

/// A value in the unit of its check.
fn text_of(result: &ReadyCheckResult, value: f64) -> String {
    if result.check.limit.is_rate() {
        rate(value) + "/s"
    } else {
        duration(value)
    }
}

fn figure(result: &ReadyCheckResult) -> String {
    match result.check.limit {
        ReadyLimit::AtMost { figure, .. } => figure.to_string(),
        ReadyLimit::AtLeast { .. } => "rate".to_owned(),
    }
}

fn interval(result: &ReadyCheckResult) -> String {
    let end = |value: Option<f64>| value.map_or("?".to_owned(), |value| text_of(result, value));
    format!(
        "{} to {}",
        end(result.estimate.low),
        end(result.estimate.high)
    )
}

fn limit(result: &ReadyCheckResult) -> String {
    let sign = if result.check.limit.is_rate() {
        ">="
    } else {
        "<="
    };
    format!("{sign} {}", text_of(result, result.check.limit.hard()))
}

fn headroom(result: &ReadyCheckResult) -> String {
    result.headroom().map_or("-".to_owned(), |headroom| {
        let sign = if headroom < 0.0 { "-" } else { "" };
        format!("{sign}{}", percent(100.0 * headroom.abs()))
    })
}

fn per_second(result: &ReadyCheckResult) -> String {
    result
        .rate
        .map_or("-".to_owned(), |per_second| rate(per_second) + "/s")
}

const HEAD: [&str; 7] = [
    "check", "verdict", "measured", "limit", "99 % CI", "headroom", "rate",
];

fn cells(result: &ReadyCheckResult) -> Vec<String> {
    let measured = result
        .estimate
        .value
        .map_or("-".to_owned(), |value| text_of(result, value));
    let title = if result.check.limit.is_rate() {
        result.check.title.clone()
    } else {
        format!("{}, {}", result.check.title, figure(result))
    };
    vec![
        title,
        result.verdict.name().to_owned(),
        measured,
        limit(result),
        interval(result),
        headroom(result),
        per_second(result),
    ]
}

/// What to change: the advice of the checks that did not pass, each once.
fn advice(result: &ReadyResult) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    let checks = result
        .checks
        .iter()
        .filter(|check| matches!(check.verdict, ReadyVerdict::Fail | ReadyVerdict::Warn));
    for advice in checks.filter_map(|check| check.check.advice.as_deref()) {
        if !all.contains(&advice) {
            all.push(advice);
        }
    }
    let is_undecided = |check: &ReadyCheckResult| check.verdict == ReadyVerdict::Undecided;
    if !result.has_fault && result.checks.iter().any(is_undecided) {
        all.push("A longer measurement narrows the intervals: --runtime=5m.");
    }
    all
}

/// The hosts of each verdict, the worst first: `web2 fails`.
fn hosts(result: &ReadyResult) -> String {
    let verdicts = [
        ReadyVerdict::Fail,
        ReadyVerdict::Undecided,
        ReadyVerdict::Warn,
        ReadyVerdict::Pass,
    ];
    let of = |verdict: &ReadyVerdict| {
        let hosts = result.hosts.iter().filter(|(_, one, _)| one == verdict);
        let names: Vec<&str> = hosts.map(|(name, ..)| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{}: {}", verdict.name(), names.join(", ")))
    };
    verdicts
        .iter()
        .filter_map(of)
        .collect::<Vec<_>>()
        .join("; ")
}

/// The answer for people.
#[must_use]
pub fn ready_text(result: &ReadyResult, style: &Style) -> String {
    let paragraph = |text: &str| wrap(&style.clean(text), style.width, "", "  ");
    let bullet = |text: &str| wrap(&style.clean(text), style.width, "* ", "  ");
    let mut text = paragraph(&format!(
        "{}: {} on {}",
        result.verdict.name(),
        result.profile,
        result.target
    ));
    text += &paragraph(&format!("Reason: {}.", result.reason));
    for advice in advice(result) {
        text += &paragraph(&format!("To change it: {advice}"));
    }
    if !result.hosts.is_empty() {
        text += &paragraph(&format!("Hosts: {}.", hosts(result)));
    }
    if !result.checks.is_empty() {
        let head = HEAD.map(str::to_owned);
        let rows: Vec<Vec<String>> = result.checks.iter().map(cells).collect();
        text += "\n";
        text += &aligned(&head, &rows, 1, style);
    }
    for background in &result.background {
        text += &bullet(&format!("at the same time: {background}"));
    }
    for note in &result.notes {
        text += &bullet(note);
    }
    text
}

/// The answer as a section of Markdown, for a pull request or a ticket.
#[must_use]
pub fn ready_markdown(result: &ReadyResult) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = format!(
        "## {}: {} on {}\n\n{}.\n\n",
        result.verdict.name(),
        cell(&result.profile),
        cell(&result.target),
        cell(&result.reason)
    );
    if !result.hosts.is_empty() {
        text += &format!("Hosts: {}.\n\n", cell(&hosts(result)));
    }
    if !result.checks.is_empty() {
        text += &row(&HEAD.map(str::to_owned));
        text += &row(&HEAD.map(|_| "---".to_owned()));
        result
            .checks
            .iter()
            .for_each(|check| text += &row(&cells(check)));
        text += "\n";
    }
    let background = result
        .background
        .iter()
        .map(|one| format!("at the same time: {one}"));
    let lines = advice(result).into_iter().map(str::to_owned);
    for line in lines.chain(background).chain(result.notes.iter().cloned()) {
        text += &format!("* {}\n", cell(&line));
    }
    for source in &result.sources {
        text += &format!("* Source: {}\n", cell(source));
    }
    text
}

/// The answer as JSON. Latencies in nanoseconds, rates per second, shares from 0 to 1.
#[must_use]
pub fn ready_json(result: &ReadyResult) -> String {
    let check = |one: &ReadyCheckResult| {
        let (kind, unit) = match one.check.limit {
            ReadyLimit::AtMost {
                figure: ReadyFigure::Mean,
                ..
            } => ("mean".to_owned(), "ns"),
            ReadyLimit::AtMost { figure, .. } => (figure.to_string(), "ns"),
            ReadyLimit::AtLeast { .. } => (ReadyMetric::Rate.name().to_owned(), "1/s"),
        };
        json!({
            "title": one.check.title,
            "step": one.step,
            "job": one.check.job,
            "metric": one.check.metric.name(),
            "figure": kind,
            "unit": unit,
            "value": one.estimate.value,
            "low": one.estimate.low,
            "high": one.estimate.high,
            "confidence": one.confidence,
            "limit": one.check.limit.hard(),
            "warn": one.check.limit.soft(),
            "headroom": one.headroom(),
            "rate": one.rate,
            "samples": one.samples,
            "effective_samples": one.effective_samples,
            "seconds": one.seconds,
            "verdict": one.verdict.name(),
            "reason": one.reason,
            "advice": one.check.advice,
            "source": one.check.source,
        })
    };
    let mut document: Value = json!({
        "schema": 1,
        "profile": result.profile,
        "title": result.title,
        "target": result.target,
        "verdict": result.verdict.name(),
        "reason": result.reason,
        "advice": advice(result),
        "checks": result.checks.iter().map(check).collect::<Vec<_>>(),
        "background": result.background,
        "notes": result.notes,
        "sources": result.sources,
        "runs": result.runs,
    });
    if !result.hosts.is_empty() {
        let host = |(name, verdict, reason): &(String, ReadyVerdict, String)| json!({"name": name, "verdict": verdict.name(), "reason": reason});
        document["hosts"] = result.hosts.iter().map(host).collect();
    }
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// A test case for each check; an undecided one is a failure, because nobody knows. `sentences` are those of the checks.
#[must_use]
pub fn ready_cases(result: &ReadyResult, sentences: Vec<String>) -> Vec<TestCase> {
    let passes = |verdict| matches!(verdict, ReadyVerdict::Pass | ReadyVerdict::Warn);
    let verdict = TestCase {
        name: "verdict".to_owned(),
        passed: passes(result.verdict),
        sentence: format!("{}: {}", result.verdict.name(), result.reason),
    };
    let cases = result.checks.iter().zip(sentences);
    std::iter::once(verdict)
        .chain(cases.map(|(check, sentence)| TestCase {
            name: format!("{}: {} {}", check.step, check.check.title, figure(check)),
            passed: passes(check.verdict),
            sentence,
        }))
        .collect()
}
