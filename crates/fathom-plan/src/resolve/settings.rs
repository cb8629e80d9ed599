//! Assignments into typed settings, and the settings of one job: its globals, its own, its overrides.

use fathom_model::Personality;

use super::diagnostics::Diagnostics;
use crate::diagnostic::Diagnostic;
use crate::jobfile::Assignment;
use crate::options::{JobOption, Number, OptionName, OptionType, WithDefault};
use crate::options::{Kind, OptionRow, Support, closest_option, find, find_own, read_value};
use crate::span::Span;
use crate::text::shorten;
use crate::values::{ParseContext, Unit, Value, ValueError};

/// An option that is set, with its parsed value.
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

/// Parses the assignments of one section in fio's order: those of high rank first, then as written.
///
/// `kb_base` begins with the value of the sections above, and ends with the value of this one.
pub(crate) fn read_assignments(
    assignments: &[Assignment],
    is_global: bool,
    sorted: bool,
    context: &mut ParseContext,
    diagnostics: &mut Diagnostics,
) -> Vec<Setting> {
    let mut known: Vec<(&'static OptionRow, &Assignment)> = Vec::new();
    for assignment in assignments {
        let own = || find_own(&assignment.key).filter(|_| !context.is_fio());
        match find(&assignment.key).or_else(own) {
            Some(row) => known.push((row, assignment)),
            None => diagnostics.push(unknown(assignment)),
        }
    }
    if sorted {
        known.sort_by_key(|(row, _)| std::cmp::Reverse(row.rank()));
    }
    let mut settings = Vec::new();
    for (row, assignment) in known {
        settings.extend(setting(row, assignment, is_global, context, diagnostics));
    }
    settings
}

fn unknown(assignment: &Assignment) -> Diagnostic {
    let key = shorten(&assignment.key);
    let problem = Diagnostic::error(assignment.key_at.clone(), format!("unknown option '{key}'"));
    match closest_option(&assignment.key) {
        Some(best) => problem.advise(format!("did you mean {best}?")),
        None => problem.advise("--cmdhelp=all lists the options"),
    }
}

fn setting(
    row: &'static OptionRow,
    assignment: &Assignment,
    is_global: bool,
    context: &mut ParseContext,
    diagnostics: &mut Diagnostics,
) -> Option<Setting> {
    let about = |fault: ValueError| Diagnostic {
        advice: fault.advice,
        ..Diagnostic::error(assignment.value_at.clone(), fault.problem).about(row.name)
    };
    let text = assignment.value.as_deref();
    let value = match read_value(row, text, context) {
        Ok(value) => value,
        Err(fault) => {
            diagnostics.push(about(fault));
            return None;
        }
    };
    for note in std::mem::take(&mut context.notes) {
        diagnostics.push(Diagnostic {
            severity: crate::diagnostic::Severity::Warning,
            ..about(note)
        });
    }
    if let (Value::Choice(choice, _), "kb_base") = (&value, row.name) {
        context.kb_base = choice.parse().unwrap_or(1024);
    }
    warn_about_bare_time(
        row,
        text,
        &value,
        &assignment.value_at,
        context,
        diagnostics,
    );
    let text = text.map(|text| {
        if context.is_fio() {
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

/// A bare number of microseconds is often meant to be another unit.
fn warn_about_bare_time(
    row: &OptionRow,
    text: Option<&str>,
    value: &Value,
    at: &Span,
    context: &ParseContext,
    diagnostics: &mut Diagnostics,
) {
    let micros = matches!(
        row.kind,
        Kind::One(Unit::Micros) | Kind::Three(Unit::Micros)
    );
    let bare = text.is_some_and(|text| text.trim().chars().all(|c| c.is_ascii_digit()));
    let zero = matches!(value, Value::Number(0))
        || text.is_some_and(|text| text.trim().chars().all(|c| c == '0'));
    if micros && bare && !zero && !context.is_fio() {
        let text = text.unwrap_or("").trim();
        let problem = format!(
            "{text} is in microseconds, the unit of {} without a suffix",
            row.name
        );
        diagnostics.push(
            Diagnostic::warning(at.clone(), problem)
                .about(row.name)
                .advise(format!("write {text}us to confirm this")),
        );
    }
}

/// Reports a setting that is accepted without effect or refused.
pub(crate) fn check_support(
    setting: &Setting,
    personality: Personality,
    diagnostics: &mut Diagnostics,
) {
    let row = setting.row;
    if row.name == "threads" && personality == Personality::Fathom {
        let problem = "has no effect: it belongs to the tiobench profile, not to a job";
        diagnostics.push(
            Diagnostic::warning(setting.at.clone(), problem)
                .about(row.name)
                .advise("use numjobs for clones; every clone is a thread"),
        );
        return;
    }
    match row.support {
        Support::Honoured => {}
        Support::NoEffect { .. } if is_default_or_off(setting) || row.name == "thread" => {}
        Support::NoEffect { why } => diagnostics.push(
            Diagnostic::note(
                setting.at.clone(),
                format!("accepted without effect: {why}"),
            )
            .about(row.name),
        ),
        Support::Refused { .. } if is_default_or_off(setting) => {}
        Support::Refused { instead } => diagnostics.push(
            Diagnostic::error(setting.at.clone(), "is not supported")
                .about(row.name)
                .advise(instead),
        ),
    }
}

/// Whether the value is the default, off, zero or none, so that ignoring it changes nothing.
fn is_default_or_off(setting: &Setting) -> bool {
    match &setting.value {
        Value::Switch(on) => *on == (setting.row.default == Some("1")),
        Value::Number(n) => *n == 0 || setting.row.default == Some(&n.to_string()),
        Value::Choice(choice, _) => setting.row.default == Some(choice) || *choice == "none",
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

    /// All settings of `option`, in order.
    pub(crate) fn all(
        &self,
        option: impl Into<OptionName>,
    ) -> impl DoubleEndedIterator<Item = &Setting> {
        let name = option.into().as_str();
        self.all
            .iter()
            .filter(move |setting| setting.row.name == name)
    }

    /// Where in the order `option` was last set.
    pub(crate) fn position(&self, option: impl Into<OptionName>) -> Option<usize> {
        let name = option.into().as_str();
        self.all
            .iter()
            .rposition(|setting| setting.row.name == name)
    }

    pub(crate) fn is_set(&self, option: impl Into<OptionName>) -> bool {
        self.position(option).is_some()
    }

    /// Where `option` was set, for a message; `fallback` if it was not.
    pub(crate) fn location(&self, option: impl Into<OptionName>, fallback: &Span) -> Span {
        self.all(option)
            .next_back()
            .map_or_else(|| fallback.clone(), |setting| setting.at.clone())
    }

    /// The values of all settings of `option`, in order.
    pub(crate) fn each<'a, T: OptionType + 'a>(
        &'a self,
        option: JobOption<T>,
    ) -> impl Iterator<Item = T::Value<'a>> {
        self.all(option)
            .filter_map(|setting| T::parsed(&setting.value))
    }

    /// The value of `option`, if it is set.
    pub(crate) fn given<T: OptionType>(&self, option: JobOption<T>) -> Option<T::Value<'_>> {
        option.effective(self.all(option).map(|setting| &setting.value))
    }

    /// The value of `option`, or its default.
    pub(crate) fn get<T: WithDefault>(&self, option: JobOption<T>) -> T::Value<'_> {
        self.given(option).unwrap_or_else(|| option.default_value())
    }

    /// As [`Settings::get`], at most the largest 32-bit number.
    pub(crate) fn get_u32(&self, option: JobOption<Number>) -> u32 {
        u32::try_from(self.get(option)).unwrap_or(u32::MAX)
    }

    /// As [`Settings::given`], at most the largest 32-bit number.
    pub(crate) fn given_u32(&self, option: JobOption<Number>) -> Option<u32> {
        self.given(option)
            .map(|n| u32::try_from(n).unwrap_or(u32::MAX))
    }
}
