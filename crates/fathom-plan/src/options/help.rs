//! Help for one option, as `--cmdhelp` prints it.

use std::fmt::Write;

use super::row::{Kind, OptionRow, Support, Unit};
use super::{closest_option, find, options};
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// What `--cmdhelp[=NAME]` prints: one option in full, or every option of jobs in a line each.
///
/// # Errors
/// When there is no such option.
pub fn command_help(name: Option<&str>) -> Result<String, Diagnostic> {
    match name {
        None | Some("" | "all") => Ok(options()
            .filter(|row| row.engines.is_empty())
            .map(short)
            .collect()),
        Some(name) => find(name).map(cmdhelp).ok_or_else(|| unknown(name)),
    }
}

/// What `--enghelp[=ENGINE[,OPTION]]` prints: the engines, the private options of one, or one of these in full.
///
/// # Errors
/// When there is no such engine or option.
pub fn engine_help(asked: Option<&str>) -> Result<String, Diagnostic> {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        let names = crate::resolve::ENGINES.map(|kind| format!("\t{}\n", kind.word()));
        return Ok(format!("Engines built in:\n{}", names.concat()));
    };
    let (engine, option) = asked
        .split_once(',')
        .map_or((asked, None), |(engine, option)| (engine, Some(option)));
    if !crate::resolve::ENGINES
        .iter()
        .any(|kind| kind.word() == engine)
    {
        let problem = format!("'{}' is not built in", crate::jobfile::shorten(engine));
        return Err(Diagnostic::error(Span::CommandLine, problem)
            .about("--enghelp")
            .advise("--enghelp lists the engines"));
    }
    let mut private = options().filter(|row| row.engines.contains(&engine));
    match option {
        None => Ok(private.map(short).collect()),
        Some(option) => private
            .find(|row| row.name == option)
            .map(cmdhelp)
            .ok_or_else(|| unknown(option)),
    }
}

fn short(row: &OptionRow) -> String {
    format!("{:<24}: {}\n", row.name, row.help)
}

fn unknown(name: &str) -> Diagnostic {
    let problem = Diagnostic::error(
        Span::CommandLine,
        format!("'{}' is no option", crate::jobfile::shorten(name)),
    );
    match closest_option(name) {
        Some(best) => problem.advise(format!("did you mean {best}?")),
        None => problem.advise("--cmdhelp=all lists the options"),
    }
}

/// Help for `row`: its line, alias, type, default, range, words and support, one per line.
#[must_use]
pub fn cmdhelp(row: &OptionRow) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| {
        let _ = writeln!(out, "{label:>20}: {text}");
    };
    line(row.name, row.help);
    if let Some(alias) = row.alias {
        line("alias", alias);
    }
    line("type", &type_words(row.kind));
    line("default", row.default.unwrap_or("none"));
    if let Some(range) = range_words(row) {
        line("range", &range);
    }
    if let Kind::Choice(words) | Kind::ChoiceWith(words) = row.kind {
        line("valid values", &words.join(" "));
    }
    if !row.engines.is_empty() {
        line("engines", &row.engines.join(" "));
    }
    line("support", &support_words(row.support));
    out
}

fn type_words(kind: Kind) -> String {
    match kind {
        Kind::One(unit) => unit_words(unit).to_owned(),
        Kind::Three(unit) => format!("read[,write[,trim]], each {}", unit_words(unit)),
        Kind::Pair(unit) => format!("{}, or two with - between", unit_words(unit)),
        Kind::Extent => "size in bytes (1g), share (50%) or zones (3z)".to_owned(),
        Kind::Bool => "0 or 1".to_owned(),
        Kind::Flag => "nothing, or 0 or 1".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Prefix => "text, or nothing for the name of the job".to_owned(),
        Kind::Engine => "name of an engine".to_owned(),
        Kind::Choice(_) => "one word".to_owned(),
        Kind::ChoiceWith(_) => "one word, more after a colon".to_owned(),
        Kind::Ranges => "low-high[,low-high[,low-high]] in bytes".to_owned(),
        Kind::Split => "size/percent:size/percent[,write[,trim]]".to_owned(),
        Kind::PrioritySplit => "size/percent[/class/level[/hint]]:...[,write]".to_owned(),
        Kind::Distribution => "random, zipf[:theta], pareto[:power], normal[:deviation], zoned:access/size:..., zoned_abs:access/bytes:...".to_owned(),
        Kind::Floats(most) => format!("up to {most} decimals with : between"),
        Kind::Pattern => "0xff, \"text\", -12, 'file', %o, side by side".to_owned(),
        Kind::Cpus => "list of CPUs (0,2-5)".to_owned(),
        Kind::Errors => "errno names with : between, directions with , between".to_owned(),
        Kind::Dead => "given up".to_owned(),
    }
}

fn unit_words(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a number",
        Unit::Bytes => "a size in bytes (4k)",
        Unit::Percent => "a percentage",
        Unit::Millis => "milliseconds",
        Unit::Micros => "a time, bare microseconds (10ms)",
        Unit::Seconds => "a time, bare seconds (10s)",
    }
}

fn range_words(row: &OptionRow) -> Option<String> {
    match (row.min, row.max) {
        (None, None) => None,
        (Some(min), None) => Some(format!("at least {min}")),
        (None, Some(max)) => Some(format!("at most {max}")),
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
    }
}

fn support_words(support: Support) -> String {
    match support {
        Support::Honoured => "honoured".to_owned(),
        Support::NoEffect { why } => format!("accepted, no effect ({why})"),
        Support::Refused { instead } => format!("refused ({instead})"),
    }
}
