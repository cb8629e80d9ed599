//! Sections into unresolved jobs: globals are inherited, and private options are matched with the engine.

use fathom_model::Personality;

use super::diagnostics::Diagnostics;
use super::settings::{Setting, Settings, check_support, read_assignments};
use crate::diagnostic::Diagnostic;
use crate::jobfile::Section;
use crate::limits::{MAX_OPTIONS, MAX_SETTING_BYTES, MAX_SETTINGS};
use crate::options::table as opt;
use crate::span::Span;
use crate::text::shorten;
use crate::values::ParseContext;

/// A job as written: its settings in the order they take effect.
pub(crate) struct UnresolvedJob {
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
pub(crate) struct UnresolvedJobs {
    pub(crate) jobs: Vec<UnresolvedJob>,
    pub(crate) globals: Vec<(String, Option<String>)>,
    /// Options of all jobs so far, those of their globals counted with each.
    settings: usize,
    /// Bytes of their values.
    bytes: usize,
}

/// Defaults for the sections that follow.
#[derive(Clone)]
struct Defaults {
    settings: Vec<Setting>,
    /// Bytes of their values.
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
pub(crate) fn unresolved_jobs<'a>(
    command_line: &'a [Section],
    files: impl Iterator<Item = &'a [Section]>,
    context: &mut ParseContext,
    diagnostics: &mut Diagnostics,
) -> UnresolvedJobs {
    let mut unresolved_jobs = UnresolvedJobs::default();
    let mut defaults = Defaults::new();
    take(
        command_line,
        &mut defaults,
        false,
        &mut unresolved_jobs,
        context,
        diagnostics,
    );
    for (index, sections) in files.enumerate() {
        // fio drops the defaults of the command line after the first file.
        let drop_defaults = index > 0 && context.personality == Personality::Fio;
        let mut own = if drop_defaults {
            Defaults::new()
        } else {
            defaults.clone()
        };
        let from = unresolved_jobs.jobs.len();
        take(
            sections,
            &mut own,
            true,
            &mut unresolved_jobs,
            context,
            diagnostics,
        );
        if let Some(first) = unresolved_jobs.jobs.get_mut(from).filter(|_| index > 0) {
            first.begins_file = true;
        }
    }
    unresolved_jobs
}

fn take(
    sections: &[Section],
    defaults: &mut Defaults,
    sorted: bool,
    unresolved_jobs: &mut UnresolvedJobs,
    context: &mut ParseContext,
    diagnostics: &mut Diagnostics,
) {
    for section in sections {
        if let Some(problem) = exceeds_limits(section, defaults, unresolved_jobs) {
            diagnostics.push(problem);
            return;
        }
        context.kb_base = defaults.kb_base;
        let settings = read_assignments(
            &section.assignments,
            section.is_global,
            sorted,
            context,
            diagnostics,
        );
        settings
            .iter()
            .for_each(|setting| check_support(setting, context.personality, diagnostics));
        let options = settings
            .iter()
            .map(|setting| (setting.row.name.to_owned(), setting.text.clone()));
        if section.is_global {
            unresolved_jobs.globals.extend(options);
            defaults.settings.extend(settings);
            defaults.bytes += section_bytes(section);
            defaults.kb_base = context.kb_base;
        } else {
            let options = options.collect();
            let settings = matching_engine(&defaults.settings, settings, diagnostics);
            unresolved_jobs.settings += defaults.settings.len() + section.assignments.len();
            unresolved_jobs.bytes += defaults.bytes + section_bytes(section);
            unresolved_jobs.jobs.push(UnresolvedJob {
                name: section.name.clone(),
                at: section.at.clone(),
                settings,
                options,
                begins_file: false,
            });
        }
    }
}

/// The error when a section exceeds the limits, before it costs memory.
fn exceeds_limits(
    section: &Section,
    defaults: &Defaults,
    unresolved_jobs: &UnresolvedJobs,
) -> Option<Diagnostic> {
    let own = section.assignments.len();
    if own > MAX_OPTIONS {
        let problem = format!("{own} options in one section exceed the limit");
        return Some(
            Diagnostic::error(section.at.clone(), problem).advise(format!("at most {MAX_OPTIONS}")),
        );
    }
    let all = unresolved_jobs.settings + defaults.settings.len() + own;
    let bytes = unresolved_jobs.bytes + defaults.bytes + section_bytes(section);
    let problem = match (all > MAX_SETTINGS, bytes > MAX_SETTING_BYTES) {
        (true, _) => format!("all jobs together have more than {MAX_SETTINGS} options"),
        (_, true) => {
            format!("the options of all jobs together have more than {MAX_SETTING_BYTES} bytes")
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

/// Removes private options of other engines: from a global section silently, from the job's own with an error.
fn matching_engine(
    globals: &[Setting],
    own: Vec<Setting>,
    diagnostics: &mut Diagnostics,
) -> Settings {
    let mut all: Vec<Setting> = globals.to_vec();
    all.extend(own);
    // Only its own section names a job, unless it began on the command line.
    all.retain(|setting| !(setting.is_global && setting.row.name == "name"));
    let engine = engine_name(&all);
    all.retain(|setting| {
        let matches = belongs_to(setting, &engine);
        if !matches && !setting.is_global {
            diagnostics.push(wrong_engine(setting, &engine));
        }
        matches
    });
    Settings::new(all)
}

fn engine_name(settings: &[Setting]) -> String {
    let last = settings
        .iter()
        .rev()
        .find(|setting| setting.row.name == opt::IOENGINE.name().as_str());
    let name = last
        .and_then(|setting| setting.text.as_deref())
        .unwrap_or(opt::IOENGINE.default_value());
    name.split([':', ','])
        .next()
        .unwrap_or("")
        .trim()
        .to_owned()
}

fn belongs_to(setting: &Setting, engine: &str) -> bool {
    let engines = setting.row.engines;
    engines.is_empty()
        || engines
            .iter()
            .any(|known| *known == engine || known.starts_with("profile="))
}

fn wrong_engine(setting: &Setting, engine: &str) -> Diagnostic {
    let problem = format!("is not an option of ioengine={}", shorten(engine));
    let advice = format!("it belongs to {}", setting.row.engines.join(", "));
    Diagnostic::error(setting.at.clone(), problem)
        .about(setting.row.name)
        .advise(advice)
}

/// Adds `extra` after the settings and to the options as written.
pub(crate) fn override_with(unresolved_job: &mut UnresolvedJob, extra: Vec<Setting>) {
    let mut all: Vec<Setting> = unresolved_job.settings.iter().cloned().collect();
    for setting in extra {
        let name = setting.row.name.to_owned();
        unresolved_job.options.retain(|(known, _)| *known != name);
        unresolved_job.options.push((name, setting.text.clone()));
        // An override replaces, where a second setting of the option would add.
        all.retain(|known| known.row.name != setting.row.name);
        all.push(setting);
    }
    unresolved_job.settings = Settings::new(all);
}
