//! fio's text output, and the sections that fathom adds.

mod blame;
mod direction;
mod entry;
mod groups;
mod hosts;
mod latency;
mod table;
mod targets;
mod verdict;

use fathom_model::{Findings, Personality, Simulated, Witnessed};

pub use self::verdict::checked;
use self::{
    blame::blame,
    entry::{Layout, entry},
    groups::groups,
    hosts::hosts,
    table::table,
    verdict::{brief, verdict},
};
use crate::Style;
use crate::devices::spec_text;
use crate::idleness::idleness_text;
use crate::output::{fold, wrap};
use fathom_model::format::ctime;

/// The report as text.
///
/// With [`Personality::Fio`] it is exactly fio's. With [`Personality::Fathom`] a description of the workload comes
/// before each entry, an open loop shows response times, and the verdict is last; lines keep to the width.
#[must_use]
pub fn text(findings: &Findings, style: &Style) -> String {
    if let Some(witnessed) = &findings.host.witnessed {
        return witness(findings, witnessed, style);
    }
    let ours = findings.personality == Personality::Fathom;
    // fio's tables are 80 columns wide on any terminal.
    let table_width = if ours { style.width.min(80) } else { 80 };
    let layout = Layout::of(&findings.entries, table_width, ours);
    let mut lines = simulated_line(findings.host.simulated.as_ref(), style);
    lines.push('\n');
    for one in findings.entries.iter().filter(|one| did_something(one)) {
        if ours {
            let named = style.clean(&format!("{}: {}", one.name, one.workload));
            lines += &wrap(&named, style.width, "", "  ");
        }
        lines += &shaped(&entry(one, &date(findings, style), &layout), style, ours);
        if ours {
            lines += &summary(one, style);
        }
    }
    lines += &shaped(&groups(findings), style, ours);
    lines.extend(findings.host.idleness.as_ref().map(idleness_text));
    if ours {
        for total in &findings.totals {
            lines += &format!(
                "\n{}",
                wrap(&style.clean(&total.sentence), style.width, "", "  ")
            );
        }
        lines += &hosts(&findings.hosts, style);
        lines += &blame(findings.blame.as_ref(), style);
        lines += &verdict(findings, style);
    }
    lines
}

/// The entry of all clients in fio's form, with the date of `findings`.
pub(crate) fn together_text(
    all: &fathom_model::Entry,
    findings: &Findings,
    style: &Style,
) -> String {
    let layout = Layout::of(std::slice::from_ref(all), 80, false);
    style.clean(&entry(all, &date(findings, style), &layout))
}

/// The short report of `fathom quick`: `intro`, one table, the verdict, `sentences` about the figures, and the comparison with
/// a data sheet.
#[must_use]
pub fn quick(findings: &Findings, sentences: &[String], intro: &str, style: &Style) -> String {
    let head = wrap(&style.clean(intro), style.width, "", "  ");
    let spec = findings.spec.as_ref().map_or(String::new(), |report| {
        format!("\n{}", spec_text(report, style))
    });
    format!(
        "{head}\n{}\n{}{spec}",
        table(findings, style),
        brief(findings, sentences, style)
    )
}

/// The report of a watched command: what it did, and what is known about that.
fn witness(findings: &Findings, witnessed: &Witnessed, style: &Style) -> String {
    let verb = if witnessed.application.is_empty() {
        "Watched"
    } else {
        "Ran"
    };
    let command = format!("{verb}: {}", witnessed.command.join(" "));
    let mut lines = wrap(&style.clean(&command), style.width, "", "  ");
    for sentence in findings.entries.iter().flat_map(|entry| &entry.summary) {
        lines += &wrap(&style.clean(sentence), style.width, "  ", "    ");
    }
    lines + &verdict::of_command(findings, &witnessed.unknown, style)
}

/// The first line of a simulated result; empty for a measured one.
pub(crate) fn simulated_line(simulated: Option<&Simulated>, style: &Style) -> String {
    simulated.map_or(String::new(), |one| {
        let line = format!(
            "Simulated, not measured: {} (seed {})",
            one.device, one.seed
        );
        wrap(&style.clean(&line), style.width, "", "  ")
    })
}

/// Date of the report.
fn date(findings: &Findings, style: &Style) -> String {
    ctime(findings.ended_unix_ms() / 1000, style.utc_offset_s)
}

/// The meaning of the figures, in sentences.
fn summary(entry: &fathom_model::Entry, style: &Style) -> String {
    let sentences = entry.summary.join(" ");
    if sentences.is_empty() {
        String::new()
    } else {
        wrap(&style.clean(&sentences), style.width, "  ", "  ")
    }
}

/// fio omits entries without I/O.
fn did_something(entry: &fathom_model::Entry) -> bool {
    entry
        .directions
        .0
        .iter()
        .chain(&entry.mixed)
        .any(|summary| summary.bytes > 0 || summary.ios > 0)
}

/// fio's lines as they are, or folded where the terminal is narrower than fio expects.
fn shaped(lines: &str, style: &Style, may_fold: bool) -> String {
    let clean = style.clean(lines);
    if !may_fold || style.width >= 80 {
        return clean;
    }
    clean.lines().map(|line| fold(line, style.width)).collect()
}
