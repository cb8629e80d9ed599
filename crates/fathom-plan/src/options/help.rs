//! Help for one option, as `--cmdhelp` prints it.

use std::fmt::Write;

use super::row::{Kind, OptionRow, Support};
use super::{ENGINES, closest_option, find, options};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::text::shorten;
use crate::values::Unit;

/// The output of `--cmdhelp[=NAME]`: one option in full, or every job option in a line each.
///
/// # Errors
/// When the option is unknown.
pub fn command_help(name: Option<&str>) -> Result<String, Diagnostic> {
    match name {
        None | Some("" | "all") => Ok(options()
            .filter(|row| row.engines.is_empty())
            .map(short)
            .collect()),
        Some(name) => find(name).map(option_help).ok_or_else(|| unknown(name)),
    }
}

/// The output of `--enghelp[=ENGINE[,OPTION]]`: the engines, the private options of one, or one of these in full.
///
/// # Errors
/// When the engine or option is unknown.
pub fn engine_help(topic: Option<&str>) -> Result<String, Diagnostic> {
    let Some(topic) = topic.filter(|topic| !topic.is_empty()) else {
        let names = ENGINES.map(|kind| format!("\t{}\n", kind.name()));
        return Ok(format!("Built-in engines:\n{}", names.concat()));
    };
    let (engine, option) = topic
        .split_once(',')
        .map_or((topic, None), |(engine, option)| (engine, Some(option)));
    if !ENGINES.iter().any(|kind| kind.name() == engine) {
        let problem = format!("engine '{}' is not built in", shorten(engine));
        return Err(Diagnostic::error(Span::CommandLine, problem)
            .about("--enghelp")
            .advise("--enghelp lists the engines"));
    }
    let mut private = options().filter(|row| row.engines.contains(&engine));
    match option {
        None => Ok(private.map(short).collect()),
        Some(option) => private
            .find(|row| row.name == option)
            .map(option_help)
            .ok_or_else(|| unknown(option)),
    }
}

fn short(row: &OptionRow) -> String {
    format!("{:<24}: {}\n", row.name, row.help)
}

fn unknown(name: &str) -> Diagnostic {
    let problem = Diagnostic::error(
        Span::CommandLine,
        format!("unknown option '{}'", shorten(name)),
    );
    match closest_option(name) {
        Some(best) => problem.advise(format!("did you mean {best}?")),
        None => problem.advise("--cmdhelp=all lists the options"),
    }
}

/// Help for `row`: its help line, alias, type, default, range, valid values and support, one per line.
#[must_use]
pub fn option_help(row: &OptionRow) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: &str| {
        let _ = writeln!(out, "{label:>20}: {text}");
    };
    line(row.name, row.help);
    if let Some(alias) = row.alias {
        line("alias", alias);
    }
    line("type", &value_description(row.kind));
    line("default", row.default.unwrap_or("none"));
    if let Some(range) = range_description(row) {
        line("range", &range);
    }
    if let Kind::Choice(values) | Kind::ChoiceWith(values) = row.kind {
        line("valid values", &values.join(" "));
    }
    if !row.engines.is_empty() {
        line("engines", &row.engines.join(" "));
    }
    line("support", &support_description(row.support));
    out
}

/// A short description of the values of this kind.
#[must_use]
pub fn value_description(kind: Kind) -> String {
    match kind {
        Kind::One(unit) => unit_description(unit).to_owned(),
        Kind::Three(unit) => format!("read[,write[,trim]], each {}", unit_description(unit)),
        Kind::Pair(unit) => format!("{}, or a range of two separated by -", unit_description(unit)),
        Kind::Extent => "size in bytes (1g), share (50%) or zones (3z)".to_owned(),
        Kind::Bool => "0 or 1".to_owned(),
        Kind::Flag => "no value, or 0 or 1".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Prefix => "text, or no value for the name of the job".to_owned(),
        Kind::Engine => "name of an engine".to_owned(),
        Kind::Choice(_) => "one word".to_owned(),
        Kind::ChoiceWith(_) => "one word, parameters after a colon".to_owned(),
        Kind::Ranges => "low-high[,low-high[,low-high]] in bytes".to_owned(),
        Kind::Split => "size/percent:size/percent[,write[,trim]]".to_owned(),
        Kind::PrioritySplit => "size/percent[/class/level[/hint]]:...[,write]".to_owned(),
        Kind::Distribution => "random, zipf[:theta], pareto[:power], normal[:deviation], zoned:access/size:..., zoned_abs:access/bytes:...".to_owned(),
        Kind::Floats(max_count) => format!("up to {max_count} decimals separated by :"),
        Kind::Pattern => "0xff, \"text\", -12, 'file', %o, side by side".to_owned(),
        Kind::Cpus => "list of CPUs (0,2-5)".to_owned(),
        Kind::Errors => "errno names separated by :, directions separated by ,".to_owned(),
        Kind::Removed => "removed from fio".to_owned(),
    }
}

fn unit_description(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a number",
        Unit::Bytes => "a size in bytes (4k)",
        Unit::Percent => "a percentage",
        Unit::Millis => "milliseconds",
        Unit::Micros => "a time (10ms), a bare number is microseconds",
        Unit::Seconds => "a time (10s), a bare number is seconds",
    }
}

fn range_description(row: &OptionRow) -> Option<String> {
    match (row.min, row.max) {
        (None, None) => None,
        (Some(min), None) => Some(format!("at least {min}")),
        (None, Some(max)) => Some(format!("at most {max}")),
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
    }
}

fn support_description(support: Support) -> String {
    match support {
        Support::Honoured => "honoured".to_owned(),
        Support::NoEffect { why } => format!("accepted without effect ({why})"),
        Support::Refused { instead } => format!("refused ({instead})"),
    }
}
