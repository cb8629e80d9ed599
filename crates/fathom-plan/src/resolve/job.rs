//! One clone of one section: the parts of a [`Job`] put together.

use fathom_model::{
    Accounting, Bytes, EngineKind, EngineSpec, Extent, Job, Nanos, Pace, Personality, Start,
};

use super::diagnostics::Diagnostics;
use super::replay::{self, Logs};
use super::settings::Settings;
use super::{accounting, engine, errors, files, limits, pace, pattern, payload, sync, verify};
use crate::diagnostic::Diagnostic;
use crate::host::HostInfo;
use crate::options::table as opt;
use crate::options::{self, JobOption, OptionName};
use crate::span::Span;
use crate::values::Size;

/// Everything about a clone except its settings.
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

/// One job while it is resolved: its settings, its location for messages, and the host.
pub(crate) struct JobView<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) at: &'a Span,
    pub(crate) personality: Personality,
    pub(crate) host: &'a dyn HostInfo,
    /// Traces to replay.
    pub(crate) logs: &'a Logs<'a>,
    /// Whether the jobs will run, not only be checked: then directories that they name must exist.
    pub(crate) will_run: bool,
}

impl JobView<'_> {
    /// An error about `option`, at its location.
    pub(crate) fn error(
        &self,
        option: impl Into<OptionName>,
        problem: impl Into<String>,
    ) -> Diagnostic {
        let option = option.into();
        Diagnostic::error(self.settings.location(option, self.at), problem).about(option.as_str())
    }

    /// A warning about `option`, at its location.
    pub(crate) fn warning(
        &self,
        option: impl Into<OptionName>,
        problem: impl Into<String>,
    ) -> Diagnostic {
        let option = option.into();
        Diagnostic::warning(self.settings.location(option, self.at), problem).about(option.as_str())
    }

    pub(crate) fn is_fio(&self) -> bool {
        self.personality == Personality::Fio
    }

    /// Whether combinations that fio refuses only at the start of a run are left to that.
    pub(crate) fn leaves_combinations(&self) -> bool {
        self.is_fio() && !self.will_run
    }

    /// The extent of a size option. Zones are refused, because zoned devices are not supported.
    pub(crate) fn extent(
        &self,
        option: JobOption<options::Extent>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Extent> {
        match self.settings.given(option)? {
            Size::Bytes(bytes) => Some(Extent::Bytes(Bytes::new(bytes))),
            Size::Percent(share) => Some(Extent::Percent(share)),
            Size::Zones(_) if self.settings.get(opt::ZONEMODE) == "zbd" => None,
            Size::Zones(_) => {
                diagnostics.push(
                    self.error(option, "zones need zonemode=zbd")
                        .advise("write the size in bytes"),
                );
                None
            }
        }
    }
}

/// `value`, or the limit and an error that states it.
pub(crate) fn within(
    view: &JobView<'_>,
    option: impl Into<OptionName>,
    value: u64,
    limit: u64,
    noun: &str,
    diagnostics: &mut Diagnostics,
) -> u64 {
    if value <= limit {
        return value;
    }
    diagnostics.push(
        view.error(option, format!("{value} {noun} exceed the limit"))
            .advise(format!("at most {limit}")),
    );
    limit
}

/// Name of the job in the report: the last `name=`, or the section.
pub(crate) fn job_name<'a>(settings: &'a Settings, section_name: &'a str) -> &'a str {
    settings.given(opt::NAME).unwrap_or(section_name)
}

/// Resolves the job. It is usable only when `diagnostics` has no errors afterwards.
pub(crate) fn resolve(
    view: &JobView<'_>,
    job_context: JobContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Job {
    let settings = view.settings;
    let mut pattern = pattern::resolve(view, job_context.number, diagnostics);
    let mut files = files::resolve(view, &job_context, &pattern, diagnostics);
    let replay = replay::resolve(
        view,
        job_context.clone,
        &mut files,
        &mut pattern,
        diagnostics,
    );
    let name = job_name(settings, job_context.section_name).to_owned();
    let engine = engine::resolve(view, &name, diagnostics);
    Job {
        accounting: accounting(view, &name, &engine, diagnostics),
        files,
        limits: limits::resolve(view, &pattern, diagnostics),
        pace: Pace {
            replay,
            ..pace::resolve(view, diagnostics)
        },
        queue: limits::queue(view, engine.kind, diagnostics),
        payload: payload::resolve(view, &pattern),
        // As in fio, an engine that transfers no data verifies nothing.
        verify: verify::resolve(view, &pattern, diagnostics)
            .filter(|_| engine.kind.moves_data() || engine.kind == EngineKind::Null),
        sync: sync::resolve(view, diagnostics),
        errors: errors::resolve(view),
        cpus: engine::cpus(view, job_context.number),
        nice: nice(settings),
        description: settings.given(opt::DESCRIPTION).map(str::to_owned),
        group_reporting: settings.get(opt::GROUP_REPORTING),
        exit: errors::exit_rule(view, job_context.exit_all),
        number: job_context.number,
        section: job_context.section,
        clone: job_context.clone,
        group: job_context.group,
        start: Start {
            delay: delay(settings),
            command_before: settings.given(opt::EXEC_PRERUN).map(str::to_owned),
            command_after: settings.given(opt::EXEC_POSTRUN).map(str::to_owned),
            ..job_context.start
        },
        options: job_context.options,
        engine,
        pattern,
        name,
    }
}

/// fio times a file operation once, as completion latency; so does `fathom fio`.
fn accounting(
    view: &JobView<'_>,
    name: &str,
    engine: &EngineSpec,
    diagnostics: &mut Diagnostics,
) -> Accounting {
    let mut accounting = accounting::resolve(view, name, diagnostics);
    if view.is_fio() && engine.kind.file_operation().is_some() {
        (accounting.slat, accounting.lat) = (false, false);
    }
    accounting
}

fn delay(settings: &Settings) -> (Nanos, Nanos) {
    let (low, high) = settings.given(opt::STARTDELAY).unwrap_or((0, 0));
    (Nanos::new(low), Nanos::new(high))
}

fn nice(settings: &Settings) -> Option<i32> {
    i32::try_from(settings.given(opt::NICE)?).ok()
}
