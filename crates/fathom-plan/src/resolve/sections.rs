//! Sections into jobs yet to be resolved: globals pass down, private options find their engine.

use fathom_model::Personality;

use super::bounds::{MOST_OPTIONS, MOST_SETTING_BYTES, MOST_SETTINGS};
use super::report::Report;
use super::settings::{Setting, Settings, judge_support, read_assignments};
use crate::diagnostic::Diagnostic;
use crate::jobfile::Section;
use crate::span::Span;
use crate::values::Reading;

/// A job as written: its settings in the order they take effect.
pub(crate) struct Draft {
    /// Name of the section.
    pub(crate) name: String,
    pub(crate) at: Span,
    pub(crate) settings: Settings,
    /// The section's own options, canonical names, as written.
    pub(crate) options: Vec<(String, Option<String>)>,
    /// The first job of a second or later file waits for all before it.
    pub(crate) begins_file: bool,
}

/// Jobs and the options of the global sections above them.
#[derive(Default)]
pub(crate) struct Drafts {
    pub(crate) jobs: Vec<Draft>,
    pub(crate) globals: Vec<(String, Option<String>)>,
    /// Options of all jobs so far, those of their globals counted with each.
    settings: usize,
    /// Bytes of their values.
    bytes: usize,
}

/// What holds for the sections that follow.
#[derive(Clone)]
struct Defaults {
    settings: Vec<Setting>,
    /// Of their values.
    bytes: usize,
    kb_base: u64,
}

impl Defaults {
    fn new() -> Self {
        Defaults {
            settings: Vec::new(),
            bytes: 0,
            kb_base: 1024,
        }
    }
}

/// The sections of the command line, then those of each file.
pub(crate) fn drafts<'a>(
    command_line: &'a [Section],
    files: impl Iterator<Item = &'a [Section]>,
    reading: &mut Reading,
    report: &mut Report,
) -> Drafts {
    let mut drafts = Drafts::default();
    let mut defaults = Defaults::new();
    take(
        command_line,
        &mut defaults,
        false,
        &mut drafts,
        reading,
        report,
    );
    for (index, sections) in files.enumerate() {
        // fio forgets the command line's defaults after the first file.
        let forget = index > 0 && reading.personality == Personality::Fio;
        let mut own = if forget {
            Defaults::new()
        } else {
            defaults.clone()
        };
        let from = drafts.jobs.len();
        take(sections, &mut own, true, &mut drafts, reading, report);
        if let Some(first) = drafts.jobs.get_mut(from).filter(|_| index > 0) {
            first.begins_file = true;
        }
    }
    drafts
}

fn take(
    sections: &[Section],
    defaults: &mut Defaults,
    sorted: bool,
    drafts: &mut Drafts,
    reading: &mut Reading,
    report: &mut Report,
) {
    for section in sections {
        if let Some(problem) = too_much(section, defaults, drafts) {
            report.push(problem);
            return;
        }
        reading.kb_base = defaults.kb_base;
        let settings = read_assignments(
            &section.assignments,
            section.is_global,
            sorted,
            reading,
            report,
        );
        settings
            .iter()
            .for_each(|setting| judge_support(setting, reading.personality, report));
        let options = settings
            .iter()
            .map(|setting| (setting.row.name.to_owned(), setting.text.clone()));
        if section.is_global {
            drafts.globals.extend(options);
            defaults.settings.extend(settings);
            defaults.bytes += section_bytes(section);
            defaults.kb_base = reading.kb_base;
        } else {
            let options = options.collect();
            let settings = matching_engine(&defaults.settings, settings, report);
            drafts.settings += defaults.settings.len() + section.assignments.len();
            drafts.bytes += defaults.bytes + section_bytes(section);
            drafts.jobs.push(Draft {
                name: section.name.clone(),
                at: section.at.clone(),
                settings,
                options,
                begins_file: false,
            });
        }
    }
}

/// What no job file needs, before it costs memory.
fn too_much(section: &Section, defaults: &Defaults, drafts: &Drafts) -> Option<Diagnostic> {
    let own = section.assignments.len();
    if own > MOST_OPTIONS {
        let problem = format!("{own} options in one section are beyond the limit");
        return Some(
            Diagnostic::error(section.at.clone(), problem)
                .advise(format!("at most {MOST_OPTIONS}")),
        );
    }
    let all = drafts.settings + defaults.settings.len() + own;
    let bytes = drafts.bytes + defaults.bytes + section_bytes(section);
    let problem = match (all > MOST_SETTINGS, bytes > MOST_SETTING_BYTES) {
        (true, _) => format!("all jobs together have more than {MOST_SETTINGS} options"),
        (_, true) => {
            format!("the options of all jobs together have more than {MOST_SETTING_BYTES} bytes")
        }
        _ => return None,
    };
    Some(Diagnostic::error(section.at.clone(), problem).advise("split the job file"))
}

/// Bytes of all values.
fn section_bytes(section: &Section) -> usize {
    section
        .assignments
        .iter()
        .filter_map(|assignment| assignment.value.as_ref())
        .map(String::len)
        .sum()
}

/// Private options of another engine: from a global section they do not concern this job, in its own they are an error.
fn matching_engine(globals: &[Setting], own: Vec<Setting>, report: &mut Report) -> Settings {
    let mut all: Vec<Setting> = globals.to_vec();
    all.extend(own);
    // A job is named by its own section only, unless the command line opened it.
    all.retain(|setting| !(setting.is_global && setting.row.name == "name"));
    let engine = engine_of(&all);
    all.retain(|setting| {
        let fits = belongs(setting, &engine);
        if !fits && !setting.is_global {
            report.push(foreign(setting, &engine));
        }
        fits
    });
    Settings::new(all)
}

fn engine_of(settings: &[Setting]) -> String {
    let last = settings
        .iter()
        .rev()
        .find(|setting| setting.row.name == "ioengine");
    let name = last
        .and_then(|setting| setting.text.as_deref())
        .unwrap_or("psync");
    name.split([':', ','])
        .next()
        .unwrap_or("")
        .trim()
        .to_owned()
}

fn belongs(setting: &Setting, engine: &str) -> bool {
    let engines = setting.row.engines;
    engines.is_empty()
        || engines
            .iter()
            .any(|known| *known == engine || known.starts_with("profile="))
}

fn foreign(setting: &Setting, engine: &str) -> Diagnostic {
    let problem = format!(
        "is no option of ioengine={}",
        crate::jobfile::shorten(engine)
    );
    let advice = format!("it belongs to {}", setting.row.engines.join(", "));
    Diagnostic::error(setting.at.clone(), problem)
        .about(setting.row.name)
        .advise(advice)
}

/// Adds `extra` to the end of `settings` and to the options as written.
pub(crate) fn override_with(draft: &mut Draft, extra: Vec<Setting>) {
    let mut all: Vec<Setting> = draft.settings.iter().cloned().collect();
    for setting in extra {
        let name = setting.row.name.to_owned();
        draft.options.retain(|(known, _)| *known != name);
        draft.options.push((name, setting.text.clone()));
        // An override replaces where a second setting would add.
        all.retain(|known| known.row.name != setting.row.name);
        all.push(setting);
    }
    draft.settings = Settings::new(all);
}
