//! The closing block: whether the numbers can be used, and why not.

use fathom_model::{Counts, Entry, Finding, Findings, RunEnd, Verdict, Weight};

use crate::Style;
use crate::ink::{Colour, wrap};
use crate::text::targets::standing;
use fathom_model::format::{duration, thousands};

/// The verdict in capitals.
pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "VALID",
        Verdict::Degraded => "DEGRADED",
        Verdict::Invalid => "INVALID",
    }
}

/// What a finding does, in capitals.
pub(crate) fn weight_word(weight: Weight) -> &'static str {
    match weight {
        Weight::Note => "NOTE",
        Weight::Degrades => "DEGRADES",
        Weight::Invalidates => "INVALIDATES",
    }
}

pub(super) fn verdict(findings: &Findings, style: &Style) -> String {
    let mut lines = String::from("\n");
    lines += &headline(findings.verdict, style);
    lines += &paragraph(end_words(findings.end), style);
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
        lines += &paragraph(&standing(target), style);
    }
    lines + &conditions(findings, style)
}

/// The short form: verdict, `sentences`, what speaks against the numbers, and under which conditions they were got.
/// Mere notes are counted, not told.
pub(super) fn brief(findings: &Findings, sentences: &[String], style: &Style) -> String {
    let mut lines = headline(findings.verdict, style) + &paragraph(end_words(findings.end), style);
    for sentence in sentences {
        lines += &paragraph(sentence, style);
    }
    for entry in &findings.entries {
        lines += &paragraph(&stopped(entry), style);
    }
    let (notes, grave): (Vec<&Finding>, Vec<&Finding>) = findings
        .findings
        .iter()
        .partition(|one| one.weight == Weight::Note);
    for one in joined(&grave) {
        lines += &finding(&one, style);
    }
    if !notes.is_empty() {
        let mut codes: Vec<&str> = notes.iter().map(|one| one.code).collect();
        codes.dedup();
        lines += &paragraph(
            &format!(
                "Notes: {} (`fathom explain CODE` says more)",
                codes.join(", ")
            ),
            style,
        );
    }
    for target in &findings.targets {
        lines += &paragraph(&standing(target), style);
    }
    lines + &conditions(findings, style)
}

/// One finding for each code: what was seen first, and where else.
fn joined(findings: &[&Finding]) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::new();
    for one in findings {
        match (
            joined.iter_mut().find(|known| known.code == one.code),
            &one.about,
        ) {
            (Some(known), Some(name)) => {
                let about = known.about.get_or_insert_default();
                about.push_str(if about.is_empty() { "" } else { ", " });
                about.push_str(name);
            }
            (Some(_), None) => {}
            (None, _) => joined.push((*one).clone()),
        }
    }
    joined
}

/// Findings without a run of ours: what was checked, a verdict, and each finding.
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
        Verdict::Valid => (Colour::Green, "nothing known speaks against these numbers."),
        Verdict::Degraded => (
            Colour::Yellow,
            "these numbers hold for the conditions named below.",
        ),
        Verdict::Invalid => (Colour::Red, "these numbers do not mean what they seem to."),
    };
    let word = verdict_word(verdict);
    wrap(
        &format!("Verdict: {word}: {meaning}"),
        style.width,
        "",
        "  ",
    )
    .replacen(word, &style.paint(word, colour), 1)
}

/// Wrapped and indented; nothing for no text.
fn paragraph(text: &str, style: &Style) -> String {
    if text.is_empty() {
        String::new()
    } else {
        wrap(&style.clean(text), style.width, "  ", "    ")
    }
}

fn end_words(end: RunEnd) -> &'static str {
    match end {
        RunEnd::Completed => "",
        RunEnd::Interrupted => "The run was interrupted; I/O in flight was waited for.",
        RunEnd::Aborted => "The run was stopped without waiting for I/O in flight.",
    }
}

/// Little's law, as `in flight 31.9 of 32 asked: 95,012 IOPS x 336 us`.
fn little(entry: &Entry) -> String {
    let little = &entry.little;
    // Without latencies (gtod_reduce) there is nothing to multiply by.
    if little.mean_ns <= 0.0 {
        return String::new();
    }
    let (iops, mean) = (
        thousands(little.iops.round() as u64),
        duration(little.mean_ns),
    );
    let ceiling = entry.ceiling_iops.map_or(String::new(), |ceiling| {
        let share = 100.0 * little.iops / ceiling;
        format!(
            "; the generator alone could do {} IOPS here ({share:.0} % used)",
            thousands(ceiling.round() as u64)
        )
    });
    format!(
        "{}: in flight {:.1} of {} asked: {iops} IOPS x {mean}{ceiling}",
        entry.name, little.in_flight, little.asked
    )
}

/// Every planned I/O and what became of it; ends that did not happen are left out.
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
        .map(|(n, word)| format!(" + {} {word}", thousands(*n)))
        .collect();
    let balance = if counts.balanced() { "=" } else { "is not" };
    format!(
        "{name}: {} I/Os planned {balance} {} ok{rest}",
        thousands(counts.planned),
        thousands(counts.ok)
    )
}

/// An entry that moved nothing has no other line to say why.
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
        format!("{name}: stopped by error {error} ({error_text})")
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
            ", {} unknown as their write had failed",
            thousands(verify.unknown)
        )
    };
    format!(
        "{}: {planned} blocks to verify: {good} right, {bad} wrong{unknown}",
        entry.name
    )
}

/// The first wrong blocks, one a paragraph.
fn damaged(entry: &Entry, style: &Style) -> String {
    let told: String = entry
        .damage_lines
        .iter()
        .map(|line| paragraph(&format!("- {line}"), style))
        .collect();
    let more = entry
        .verify
        .map_or(0, |verify| verify.bad)
        .saturating_sub(entry.damage_lines.len() as u64);
    if told.is_empty() || more == 0 {
        told
    } else {
        told + &paragraph(&format!("- and {} more", thousands(more)), style)
    }
}

fn offered(name: &str, rate: &str) -> String {
    format!("{name}: open loop at {rate}; response times count from when each I/O was due")
}

fn finding(finding: &Finding, style: &Style) -> String {
    let colour = match finding.weight {
        Weight::Note => Colour::Dim,
        Weight::Degrades => Colour::Yellow,
        Weight::Invalidates => Colour::Red,
    };
    let word = weight_word(finding.weight);
    let about = finding
        .about
        .as_ref()
        .map_or(String::new(), |name| format!(" ({name})"));
    let head = paragraph(
        &format!("{word} {} {}{about}", finding.id, finding.code),
        style,
    );
    let evidence = wrap(&style.clean(&finding.evidence), style.width, "    ", "    ");
    let advice = wrap(
        &style.clean(&format!("Advice: {}", finding.advice)),
        style.width,
        "    ",
        "      ",
    );
    head.replacen(word, &style.paint(word, colour), 1)
        + &evidence
        + if finding.advice.is_empty() {
            ""
        } else {
            &advice
        }
}

/// What the numbers were measured under.
fn conditions(findings: &Findings, style: &Style) -> String {
    let (host, clock) = (&findings.host, &findings.clock);
    let memory = host.memory.get() as f64 / f64::from(1u32 << 30);
    let mut words = format!(
        "Measured on Linux {}, {} CPUs, {memory:.1} GiB; ",
        host.kernel, host.cpus
    );
    words += &format!(
        "clock {} ({:.0} ns a reading, drift {:.1} ppm)",
        clock.source, clock.cost_ns, clock.drift_ppm
    );
    if let Some(steal) = host.steal_percent {
        words += &format!("; {steal:.1}% of CPU time stolen");
    }
    if let Some(throttles) = host.cpu_throttles.filter(|n| *n > 0) {
        words += &format!("; {} CPU throttles", thousands(throttles));
    }
    paragraph(&words, style)
}
