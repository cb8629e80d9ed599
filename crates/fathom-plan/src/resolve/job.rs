//! One clone of one section: the parts of a [`Job`] put together.

use fathom_model::{
    Accounting, Bytes, EngineKind, EngineSpec, Extent, Job, Nanos, Pace, Personality, Start,
};

use super::replay::{self, Logs};
use super::report::Report;
use super::settings::Settings;
use super::{accounting, engine, errors, files, limits, pace, pattern, payload, sync, verify};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::surroundings::Surroundings;
use crate::values::Size;

/// What is known about a clone beside its settings.
pub(crate) struct JobContext<'a> {
    /// Name of the section.
    pub(crate) section_name: &'a str,
    pub(crate) section: u32,
    pub(crate) clone: u32,
    pub(crate) number: u32,
    pub(crate) group: u32,
    pub(crate) start: Start,
    pub(crate) exit_all: bool,
    /// The section's options as written.
    pub(crate) options: Vec<(String, Option<String>)>,
}

/// A view of one job while it is resolved: settings, place for messages, and the machine.
pub(crate) struct View<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) at: &'a Span,
    pub(crate) personality: Personality,
    pub(crate) surroundings: &'a dyn Surroundings,
    /// Logs to be replayed.
    pub(crate) logs: &'a Logs<'a>,
    /// Folders named in the job are looked for.
    pub(crate) check_folders: bool,
}

impl View<'_> {
    /// An error about `option`, at its place.
    pub(crate) fn error(&self, option: &'static str, problem: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.settings.place(option, self.at), problem).about(option)
    }

    /// A warning about `option`, at its place.
    pub(crate) fn warning(&self, option: &'static str, problem: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(self.settings.place(option, self.at), problem).about(option)
    }

    pub(crate) fn is_fio(&self) -> bool {
        self.personality == Personality::Fio
    }

    /// The extent of a size option; zones are refused, since no zoned device is driven.
    pub(crate) fn extent(&self, option: &'static str, report: &mut Report) -> Option<Extent> {
        match self.settings.extent(option)? {
            Size::Bytes(bytes) => Some(Extent::Bytes(Bytes::new(bytes))),
            Size::Percent(share) => Some(Extent::Percent(share)),
            Size::Zones(_) if self.settings.choice("zonemode", "none").0 == "zbd" => None,
            Size::Zones(_) => {
                report.push(
                    self.error(option, "counts zones, which only zonemode=zbd has")
                        .advise("write the size in bytes"),
                );
                None
            }
        }
    }
}

/// Name of the job in the report: the last `name=`, or the section.
pub(crate) fn job_name<'a>(settings: &'a Settings, section_name: &'a str) -> &'a str {
    settings.text("name").unwrap_or(section_name)
}

/// Makes the job; problems go to `report`, and the job is usable only when there were none.
pub(crate) fn resolve(view: &View<'_>, seat: JobContext<'_>, report: &mut Report) -> Job {
    let settings = view.settings;
    let mut pattern = pattern::resolve(view, seat.number, report);
    let mut files = files::resolve(view, &seat, &pattern, report);
    let replay = replay::resolve(view, seat.clone, &mut files, &mut pattern, report);
    let name = job_name(settings, seat.section_name).to_owned();
    let engine = engine::resolve(view, &name, report);
    Job {
        accounting: accounting(view, &name, &engine, report),
        files,
        limits: limits::resolve(view, &pattern, report),
        pace: Pace {
            replay,
            ..pace::resolve(view, report)
        },
        queue: limits::queue(view, engine.kind, report),
        payload: payload::resolve(view, &pattern),
        // An engine that moves no data has nothing to check, as in fio.
        verify: verify::resolve(view, &pattern, report)
            .filter(|_| engine.kind.moves_data() || engine.kind == EngineKind::Null),
        sync: sync::resolve(view),
        errors: errors::resolve(view),
        cpus: engine::cpus(view, seat.number),
        nice: nice(settings),
        description: settings.text("description").map(str::to_owned),
        group_reporting: settings.switch("group_reporting"),
        exit: errors::exit_rule(view, seat.exit_all),
        number: seat.number,
        section: seat.section,
        clone: seat.clone,
        group: seat.group,
        start: Start {
            delay: delay(settings),
            command_before: settings.text("exec_prerun").map(str::to_owned),
            command_after: settings.text("exec_postrun").map(str::to_owned),
            ..seat.start
        },
        options: seat.options,
        engine,
        pattern,
        name,
    }
}

/// fio times a file operation once, as completion latency; so does `fathom fio`.
fn accounting(view: &View<'_>, name: &str, engine: &EngineSpec, report: &mut Report) -> Accounting {
    let mut accounting = accounting::resolve(view, name, report);
    if view.is_fio() && engine.kind.file_operation().is_some() {
        (accounting.slat, accounting.lat) = (false, false);
    }
    accounting
}

fn delay(settings: &Settings) -> (Nanos, Nanos) {
    let (low, high) = settings.pair("startdelay").unwrap_or((0, 0));
    (Nanos::new(low), Nanos::new(high))
}

fn nice(settings: &Settings) -> Option<i32> {
    match settings.last("nice").map(|setting| &setting.value) {
        Some(crate::values::Value::Number(n)) => i32::try_from(*n).ok(),
        _ => None,
    }
}
