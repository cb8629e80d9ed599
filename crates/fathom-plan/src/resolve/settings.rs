//! Assignments into typed settings, and one job's view of them: its globals, its own, its overrides.

use fathom_model::Personality;

use super::report::Report;
use crate::diagnostic::Diagnostic;
use crate::jobfile::{Assignment, shorten};
use crate::options::{Kind, OptionRow, Support, Unit, closest_option, find, is_on_by_default};
use crate::span::Span;
use crate::values::{Fault, Reading, Size, Value, read_value};

/// An option that was set, understood.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) row: &'static OptionRow,
    pub(crate) value: Value,
    /// As written; `None` for a bare name.
    pub(crate) text: Option<String>,
    pub(crate) at: Span,
    /// Set in a global section.
    pub(crate) is_global: bool,
}

/// Reads the assignments of one section in fio's order: those of high rank first, then as written.
///
/// `kb_base` enters with what the sections above left, and leaves with what this one set.
pub(crate) fn read_assignments(
    assignments: &[Assignment],
    is_global: bool,
    sorted: bool,
    reading: &mut Reading,
    report: &mut Report,
) -> Vec<Setting> {
    let mut known: Vec<(&'static OptionRow, &Assignment)> = Vec::new();
    for assignment in assignments {
        match find(&assignment.key) {
            Some(row) => known.push((row, assignment)),
            None => report.push(unknown(assignment)),
        }
    }
    if sorted {
        known.sort_by_key(|(row, _)| std::cmp::Reverse(row.rank()));
    }
    let mut settings = Vec::new();
    for (row, assignment) in known {
        settings.extend(setting(row, assignment, is_global, reading, report));
    }
    settings
}

fn unknown(assignment: &Assignment) -> Diagnostic {
    let key = shorten(&assignment.key);
    let problem = Diagnostic::error(assignment.key_at.clone(), format!("'{key}' is no option"));
    match closest_option(&assignment.key) {
        Some(best) => problem.advise(format!("did you mean {best}?")),
        None => problem.advise("--cmdhelp=all lists the options"),
    }
}

fn setting(
    row: &'static OptionRow,
    assignment: &Assignment,
    is_global: bool,
    reading: &mut Reading,
    report: &mut Report,
) -> Option<Setting> {
    let about = |fault: Fault| Diagnostic {
        advice: fault.advice,
        ..Diagnostic::error(assignment.value_at.clone(), fault.problem).about(row.name)
    };
    let text = assignment.value.as_deref();
    let value = match read_value(row, text, reading) {
        Ok(value) => value,
        Err(fault) => {
            report.push(about(fault));
            return None;
        }
    };
    for note in std::mem::take(&mut reading.notes) {
        report.push(Diagnostic {
            severity: crate::diagnostic::Severity::Warning,
            ..about(note)
        });
    }
    if let (Value::Choice(word, _), "kb_base") = (&value, row.name) {
        reading.kb_base = word.parse().unwrap_or(1024);
    }
    note_bare_time(row, text, &value, &assignment.value_at, reading, report);
    let text = text.map(|text| {
        if reading.is_fio() {
            text.to_owned()
        } else {
            text.trim().to_owned()
        }
    });
    Some(Setting {
        row,
        value,
        text,
        at: assignment.value_at.clone(),
        is_global,
    })
}

/// A bare number of microseconds is often meant as something else.
fn note_bare_time(
    row: &OptionRow,
    text: Option<&str>,
    value: &Value,
    at: &Span,
    reading: &Reading,
    report: &mut Report,
) {
    let micros = matches!(
        row.kind,
        Kind::One(Unit::Micros) | Kind::Three(Unit::Micros)
    );
    let bare = text.is_some_and(|text| text.trim().chars().all(|c| c.is_ascii_digit()));
    let zero = matches!(value, Value::Number(0))
        || text.is_some_and(|text| text.trim().chars().all(|c| c == '0'));
    if micros && bare && !zero && !reading.is_fio() {
        let text = text.unwrap_or("").trim();
        let problem = format!(
            "{text} is microseconds, as {} without a unit always is",
            row.name
        );
        report.push(
            Diagnostic::warning(at.clone(), problem)
                .about(row.name)
                .advise(format!("write {text}us to say so")),
        );
    }
}

/// Says what becomes of a setting that is not honoured.
pub(crate) fn judge_support(setting: &Setting, personality: Personality, report: &mut Report) {
    let row = setting.row;
    if row.name == "threads" && personality == Personality::Fathom {
        let problem = "does nothing: it belongs to the tiobench profile, not to a job";
        report.push(
            Diagnostic::warning(setting.at.clone(), problem)
                .about(row.name)
                .advise("use numjobs for clones; every clone is a thread"),
        );
        return;
    }
    match row.support {
        Support::Honoured => {}
        Support::NoEffect { .. } if asks_for_nothing(setting) || row.name == "thread" => {}
        Support::NoEffect { why } => report.push(
            Diagnostic::note(setting.at.clone(), format!("accepted, no effect: {why}"))
                .about(row.name),
        ),
        Support::Refused { .. } if asks_for_nothing(setting) => {}
        Support::Refused { instead } => report.push(
            Diagnostic::error(setting.at.clone(), "is not part of this program")
                .about(row.name)
                .advise(instead),
        ),
    }
}

/// Whether the value is what holds anyway: off, zero, none, or the default.
fn asks_for_nothing(setting: &Setting) -> bool {
    match &setting.value {
        Value::Switch(on) => *on == (setting.row.default == Some("1")),
        Value::Number(n) => *n == 0 || setting.row.default == Some(&n.to_string()),
        Value::Choice(word, _) => setting.row.default == Some(word) || *word == "none",
        _ => false,
    }
}

/// One job's settings in the order they take effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    all: Vec<Setting>,
}

impl Settings {
    pub(crate) fn new(all: Vec<Setting>) -> Self {
        Settings { all }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Setting> {
        self.all.iter()
    }

    /// All settings of `name`, in order.
    pub(crate) fn all(&self, name: &'static str) -> impl DoubleEndedIterator<Item = &Setting> {
        self.all
            .iter()
            .filter(move |setting| setting.row.name == name)
    }

    /// The setting of `name` that holds: the last one.
    pub(crate) fn last(&self, name: &'static str) -> Option<&Setting> {
        self.all(name).next_back()
    }

    /// Where in the order `name` was last set.
    pub(crate) fn position(&self, name: &'static str) -> Option<usize> {
        self.all
            .iter()
            .rposition(|setting| setting.row.name == name)
    }

    pub(crate) fn is_set(&self, name: &'static str) -> bool {
        self.last(name).is_some()
    }

    /// Where `name` was set, for a message; `fallback` if it was not.
    pub(crate) fn place(&self, name: &'static str, fallback: &Span) -> Span {
        self.last(name)
            .map_or_else(|| fallback.clone(), |setting| setting.at.clone())
    }

    /// On or off; an option not set is what its row says.
    pub(crate) fn switch(&self, name: &'static str) -> bool {
        match self.last(name).map(|setting| &setting.value) {
            Some(Value::Switch(on)) => *on,
            _ => is_on_by_default(name),
        }
    }

    /// A count, bytes or nanoseconds; `default` when not set.
    pub(crate) fn number(&self, name: &'static str, default: u64) -> u64 {
        match self.last(name).map(|setting| &setting.value) {
            Some(Value::Number(n)) => u64::try_from(*n).unwrap_or(0),
            _ => default,
        }
    }

    /// As [`Settings::number`], held at the largest 32-bit number.
    pub(crate) fn small(&self, name: &'static str, default: u32) -> u32 {
        u32::try_from(self.number(name, u64::from(default))).unwrap_or(u32::MAX)
    }

    /// Values for read, write and trim; directions no setting named keep `default`.
    pub(crate) fn three(&self, name: &'static str, default: u64) -> [u64; 3] {
        let mut values = [default; 3];
        for setting in self.all(name) {
            let Value::Three(set) = &setting.value else {
                continue;
            };
            for (value, set) in values.iter_mut().zip(set) {
                *value = set.unwrap_or(*value);
            }
        }
        values
    }

    pub(crate) fn pair(&self, name: &'static str) -> Option<(u64, u64)> {
        match self.last(name).map(|setting| &setting.value) {
            Some(Value::Pair(low, high)) => Some((*low, *high)),
            _ => None,
        }
    }

    pub(crate) fn extent(&self, name: &'static str) -> Option<Size> {
        match self.last(name).map(|setting| &setting.value) {
            Some(Value::Extent(size)) => Some(*size),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &'static str) -> Option<&str> {
        match self.last(name).map(|setting| &setting.value) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The word that holds, and what followed its colon; `default` when not set.
    pub(crate) fn choice(
        &self,
        name: &'static str,
        default: &'static str,
    ) -> (&'static str, Option<&str>) {
        match self.last(name).map(|setting| &setting.value) {
            Some(Value::Choice(word, rest)) => (word, rest.as_deref()),
            _ => (default, None),
        }
    }
}
