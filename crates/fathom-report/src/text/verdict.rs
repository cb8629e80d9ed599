//! The closing block: whether the results are valid, and why not.

use fathom_model::{Counts, Entry, Finding, Findings, RunEnd, Verdict, Weight};

use crate::Style;
use crate::output::{Colour, wrap};
use crate::text::targets::target_line;
use fathom_model::format::{duration, thousands};

pub(super) fn verdict(findings: &Findings, style: &Style) -> String {
    let mut lines = String::from("\n");
    lines += &headline(findings.verdict, style);
    lines += &paragraph(end_text(findings.end), style);
    for entry in &findings.entries {
        lines += &paragraph(&little(entry), style);
        lines += &paragraph(&conservation(&entry.name, &entry.counts), style);
        lines += &paragraph(&stopped(entry), style);
        lines += &paragraph(&verified(entry), style);
        lines += &damaged(entry, style);
        lines += &paragraph(
            &entry
                .offered
                .as_ref()
                .map_or(String::new(), |rate| offered(&entry.name, rate)),
            style,
        );
        for note in &entry.notes {
            lines += &paragraph(&format!("{}: {note}", entry.name), style);
        }
    }
    for one in &findings.findings {
        lines += &finding(one, style);
    }
    for one in &findings.overrides {
        let job = one
            .job
            .as_ref()
            .map_or(String::new(), |job| format!("{job}."));
        lines += &paragraph(
            &format!("Set on the command line: {job}{}={}", one.option, one.value),
            style,
        );
    }
    for message in &findings.messages {
        lines += &paragraph(&format!("Note: {message}"), style);
    }
    for target in &findings.targets {
        lines += &paragraph(&target_line(target), style);
    }
    lines + &conditions(findings, style)
}

/// The closing block of a watched command; `unknown` is what could not be watched.
pub(super) fn of_command(findings: &Findings, unknown: &[String], style: &Style) -> String {
    let mut lines = headline(findings.verdict, style);
    for one in &findings.findings {
        lines += &finding(one, style);
    }
    for message in unknown.iter().chain(&findings.messages) {
        lines += &paragraph(&format!("Note: {message}"), style);
    }
    for target in &findings.targets {
        lines += &paragraph(&target_line(target), style);
    }
    lines + &conditions(findings, style)
}

/// The short form: verdict, `sentences`, findings, and the conditions of the measurement. Notes are only listed
/// by their codes.
pub(super) fn brief(findings: &Findings, sentences: &[String], style: &Style) -> String {
    let mut lines = headline(findings.verdict, style) + &paragraph(end_text(findings.end), style);
    for sentence in sentences {
        lines += &paragraph(sentence, style);
    }
    for entry in &findings.entries {
        lines += &paragraph(&stopped(entry), style);
    }
    let (notes, serious): (Vec<&Finding>, Vec<&Finding>) = findings
        .findings
        .iter()
        .partition(|one| one.weight == Weight::Note);
    for one in merged(&serious) {
        lines += &finding(&one, style);
    }
    if !notes.is_empty() {
        let mut codes: Vec<&str> = notes.iter().map(|one| one.code).collect();
        codes.dedup();
        lines += &paragraph(
            &format!("Notes: {} (see `fathom explain CODE`)", codes.join(", ")),
            style,
        );
    }
    for target in &findings.targets {
        lines += &paragraph(&target_line(target), style);
    }
    lines + &conditions(findings, style)
}

/// One finding for each code: the first, with the names of all entries.
fn merged(findings: &[&Finding]) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    for one in findings {
        match (
            merged.iter_mut().find(|known| known.code == one.code),
            &one.about,
        ) {
            (Some(known), Some(name)) => {
                let about = known.about.get_or_insert_default();
                about.push_str(if about.is_empty() { "" } else { ", " });
                about.push_str(name);
            }
            (Some(_), None) => {}
            (None, _) => merged.push((*one).clone()),
        }
    }
    merged
}

/// The findings of a check: what was checked, the verdict, and each finding.
#[must_use]
pub fn checked(what: &[String], verdict: Verdict, findings: &[Finding], style: &Style) -> String {
    let what: String = what.iter().map(|line| paragraph(line, style)).collect();
    headline(verdict, style)
        + &what
        + &findings
            .iter()
            .map(|one| finding(one, style))
            .collect::<String>()
}

fn headline(verdict: Verdict, style: &Style) -> String {
    let (colour, meaning) = match verdict {
        Verdict::Valid => (Colour::Green, "no known problem affects these results."),
        Verdict::Degraded => (
            Colour::Yellow,
            "these results are valid only under the conditions below.",
        ),
        Verdict::Invalid => (Colour::Red, "these results are misleading."),
    };
    let name = verdict.name().to_uppercase();
    wrap(
        &format!("Verdict: {name}: {meaning}"),
        style.width,
        "",
        "  ",
    )
    .replacen(&name, &style.paint(&name, colour), 1)
}

/// Wrapped and indented; empty for an empty text.
fn paragraph(text: &str, style: &Style) -> String {
    if text.is_empty() {
        String::new()
    } else {
        wrap(&style.clean(text), style.width, "  ", "    ")
    }
}

fn end_text(end: RunEnd) -> &'static str {
    match end {
        RunEnd::Completed => "",
        RunEnd::Interrupted => "The run was interrupted; I/O in flight was completed.",
        RunEnd::Aborted => "The run was stopped without waiting for I/O in flight.",
    }
}

/// Little's law: `31.9 of 32 in flight: 95,012 IOPS x 336 us`.
fn little(entry: &Entry) -> String {
    let little = &entry.little;
    // Without latencies (gtod_reduce) there is no product.
    if little.mean_ns <= 0.0 {
        return String::new();
    }
    let (iops, mean) = (
        thousands(little.iops.round() as u64),
        duration(little.mean_ns),
    );
    // The measurement of the limit makes the system calls of io_uring only. Of other engines it is the rate without system
    // calls, which they cannot reach.
    let is_reachable = ["io_uring", "null"].contains(&entry.engine.as_str());
    let ceiling = entry.ceiling_iops.filter(|_| is_reachable);
    let ceiling = ceiling.map_or(String::new(), |ceiling| {
        let share = 100.0 * little.iops / ceiling;
        format!(
            "; with a target that completes at once, this job reaches {} IOPS on this host ({share:.0} % used)",
            thousands(ceiling.round() as u64)
        )
    });
    format!(
        "{}: {:.1} of {} in flight: {iops} IOPS x {mean}{ceiling}",
        entry.name, little.in_flight, little.queue_depth
    )
}

/// Planned I/Os by outcome, without outcomes that did not occur.
fn conservation(name: &str, counts: &Counts) -> String {
    if counts.planned == 0 {
        return String::new();
    }
    let others = [
        (counts.short, "short"),
        (counts.failed, "failed"),
        (counts.timed_out, "timed out"),
        (counts.not_sent, "not sent"),
    ];
    let rest: String = others
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, outcome)| format!(" + {} {outcome}", thousands(*n)))
        .collect();
    let balance = if counts.balanced() { "=" } else { "!=" };
    format!(
        "{name}: {} I/Os planned {balance} {} ok{rest}",
        thousands(counts.planned),
        thousands(counts.ok)
    )
}

/// The error with which an entry ended. With `continue_on_error` it has not stopped it.
fn stopped(entry: &Entry) -> String {
    let Entry {
        name,
        error,
        error_text,
        ..
    } = entry;
    if *error == 0 {
        String::new()
    } else {
        format!("{name}: ended with error {error} ({error_text})")
    }
}

fn verified(entry: &Entry) -> String {
    let Some(verify) = &entry.verify else {
        return String::new();
    };
    let [planned, good, bad] = [verify.planned, verify.good, verify.bad].map(thousands);
    let unknown = if verify.unknown == 0 {
        String::new()
    } else {
        format!(
            ", {} unknown because the write failed or is not known to have completed",
            thousands(verify.unknown)
        )
    };
    format!(
        "{}: {planned} blocks to verify: {good} good, {bad} bad{unknown}",
        entry.name
    )
}

/// The first bad blocks, a paragraph for each.
fn damaged(entry: &Entry, style: &Style) -> String {
    let lines: String = entry
        .damage_lines
        .iter()
        .map(|line| paragraph(&format!("- {line}"), style))
        .collect();
    let more = entry
        .verify
        .map_or(0, |verify| verify.bad)
        .saturating_sub(entry.damage_lines.len() as u64);
    if lines.is_empty() || more == 0 {
        lines
    } else {
        lines + &paragraph(&format!("- and {} more", thousands(more)), style)
    }
}

fn offered(name: &str, rate: &str) -> String {
    format!(
        "{name}: open loop at {rate}; response times are measured from the due time of each I/O"
    )
}

fn finding(finding: &Finding, style: &Style) -> String {
    let colour = match finding.weight {
        Weight::Note => Colour::Dim,
        Weight::Degrades => Colour::Yellow,
        Weight::Invalidates => Colour::Red,
    };
    let name = finding.weight.name().to_uppercase();
    let about = finding
        .about
        .as_ref()
        .map_or(String::new(), |name| format!(" ({name})"));
    let head = paragraph(
        &format!("{name} {} {}{about}", finding.id, finding.code),
        style,
    );
    let evidence = wrap(&style.clean(&finding.evidence), style.width, "    ", "    ");
    let advice = wrap(
        &style.clean(&format!("Advice: {}", finding.advice)),
        style.width,
        "    ",
        "      ",
    );
    head.replacen(&name, &style.paint(&name, colour), 1)
        + &evidence
        + if finding.advice.is_empty() {
            ""
        } else {
            &advice
        }
}

/// The host and clock of the measurement.
fn conditions(findings: &Findings, style: &Style) -> String {
    let (host, clock) = (&findings.host, &findings.clock);
    if let Some(simulated) = &host.simulated {
        let text = format!(
            "Simulated in virtual time: {} (seed {})",
            simulated.device, simulated.seed
        );
        return paragraph(&text, style);
    }
    let memory = host.memory.get() as f64 / f64::from(1u32 << 30);
    let hosts = match findings.hosts.len() {
        0 => String::new(),
        several => format!("{several} hosts, together: "),
    };
    let mut text = format!(
        "Measured on {hosts}Linux {}, {} CPUs, {memory:.1} GiB; ",
        host.kernel, host.cpus
    );
    text += &format!(
        "clock {} ({:.0} ns per reading, drift {:.1} ppm)",
        clock.source, clock.cost_ns, clock.drift_ppm
    );
    if let Some(steal) = host.steal_percent {
        text += &format!("; {steal:.1}% of CPU time stolen");
    }
    if let Some(throttles) = host.cpu_throttles.filter(|n| *n > 0) {
        text += &format!("; {} CPU throttles", thousands(throttles));
    }
    paragraph(&text, style)
}
