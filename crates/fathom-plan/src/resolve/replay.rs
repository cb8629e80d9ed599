//! `read_iolog`: a job that replays the I/O of a trace.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fathom_model::{
    Direction, Fadvise, FileSet, Pattern, PerDirection, Replay, ReplayReading, ReplayTiming,
    Traffic,
};

use super::diagnostics::Diagnostics;
use super::files::split_names;
use super::job::JobView;
use crate::diagnostic::Diagnostic;
use crate::host::FileReader;
use crate::iolog::{TraceError, TraceSummary, summarise_trace};
use crate::options::OptionName;
use crate::options::table as opt;
use crate::span::Span;
use crate::text::shorten;

/// The traces of a plan; each is summarised once, however many clones replay it.
pub(crate) struct Logs<'a> {
    includes: &'a dyn FileReader,
    seen: RefCell<HashMap<String, Result<Rc<TraceSummary>, TraceError>>>,
}

impl<'a> Logs<'a> {
    pub(crate) fn new(includes: &'a dyn FileReader) -> Self {
        Logs {
            includes,
            seen: RefCell::default(),
        }
    }

    fn summary(&self, name: &str, reading: &ReplayReading) -> Result<Rc<TraceSummary>, TraceError> {
        let key = format!("{name}\n{reading:?}");
        let summarise = || {
            let source = self
                .includes
                .open_log(name)
                .map_err(|why| TraceError::new(0, why.to_string()))?;
            summarise_trace(source, name, reading).map(Rc::new)
        };
        self.seen
            .borrow_mut()
            .entry(key)
            .or_insert_with(summarise)
            .clone()
    }
}

/// The replay of clone `clone`, with its files and pattern set from the trace; `None` for a job without one.
pub(crate) fn resolve(
    view: &JobView<'_>,
    clone: u32,
    files: &mut FileSet,
    pattern: &mut Pattern,
    diagnostics: &mut Diagnostics,
) -> Option<Replay> {
    // Where the host is not inspected, no trace is read.
    let names = split_names(view.settings.given(opt::READ_IOLOG)?);
    if !view.will_run {
        return None;
    }
    if names.is_empty() {
        diagnostics.push(view.error(opt::READ_IOLOG, "names no trace"));
        return None;
    }
    check(view, diagnostics);
    let name = &names[clone as usize % names.len()];
    match view.logs.summary(name, &reading(view, diagnostics)) {
        Ok(summary) => {
            diagnostics.extend(warnings(view, clone, &summary));
            check_verify(view, &summary.replay, diagnostics);
            apply(view, &summary, files, pattern);
            Some(summary.replay.clone())
        }
        Err(error) => {
            diagnostics.push(trace_error(view, name, error));
            None
        }
    }
}

/// The error at its line of the trace.
fn trace_error(view: &JobView<'_>, name: &str, error: TraceError) -> Diagnostic {
    let shown = if name == "-" {
        "standard input".to_owned()
    } else {
        shorten(name)
    };
    if error.line == 0 {
        return view.error(
            opt::READ_IOLOG,
            format!("cannot read '{shown}': {}", error.problem),
        );
    }
    let line = u32::try_from(error.line).unwrap_or(u32::MAX);
    let at = Span::File {
        name: if name == "-" {
            "standard input".into()
        } else {
            name.into()
        },
        line,
        column: 1,
    };
    let diagnostic = Diagnostic::error(at, error.problem);
    match error.advice {
        Some(advice) => diagnostic.advise(advice),
        None => diagnostic,
    }
}

fn reading(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> ReplayReading {
    let settings = view.settings;
    let (skip, skip_sync) = skipped(view, diagnostics);
    let timing = match (settings.get(opt::REPLAY_NO_STALL), view.is_fio()) {
        (true, _) => ReplayTiming::AsFast,
        (false, true) => ReplayTiming::AfterLast,
        (false, false) => ReplayTiming::OnTime,
    };
    ReplayReading {
        timing,
        time_percent: settings.get(opt::REPLAY_TIME_SCALE).max(1),
        redirect: settings
            .given(opt::REPLAY_REDIRECT)
            .filter(|target| !target.is_empty())
            .map(str::to_owned),
        directory: settings
            .given(opt::DIRECTORY)
            .map(split_names)
            .and_then(|all| all.into_iter().next()),
        scale: settings.get(opt::REPLAY_SCALE).max(1),
        align: align(view, diagnostics),
        skip,
        skip_sync,
        lenient: view.is_fio(),
    }
}

fn align(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> u64 {
    let align = view.settings.get(opt::REPLAY_ALIGN).max(1);
    if align.is_power_of_two() {
        return align;
    }
    diagnostics.push(
        view.error(opt::REPLAY_ALIGN, format!("{align} is not a power of two"))
            .advise("for example 512 or 4k"),
    );
    1
}

fn skipped(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> (PerDirection<bool>, bool) {
    let (mut skip, mut sync) = (PerDirection::all(false), false);
    for direction in view
        .settings
        .given(opt::REPLAY_SKIP)
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        match direction {
            "read" => skip[Direction::Read] = true,
            "write" => skip[Direction::Write] = true,
            "trim" => skip[Direction::Trim] = true,
            "sync" => sync = true,
            other => diagnostics.push(
                view.error(
                    opt::REPLAY_SKIP,
                    format!("unknown direction '{}'", shorten(other)),
                )
                .advise("use read, write, trim and sync, separated by commas"),
            ),
        }
    }
    (skip, sync)
}

/// Options that cannot be combined with a trace, because the trace sets the same.
fn check(view: &JobView<'_>, diagnostics: &mut Diagnostics) {
    const PACED: [OptionName; 9] = [
        opt::RATE.name(),
        opt::RATE_IOPS.name(),
        opt::RATE_MIN.name(),
        opt::RATE_IOPS_MIN.name(),
        opt::THINKTIME.name(),
        opt::FLOW.name(),
        opt::VERIFY_BACKLOG.name(),
        opt::FILL_DEVICE.name(),
        opt::CMDPRIO_PERCENTAGE.name(),
    ];
    for option in PACED
        .into_iter()
        .filter(|option| view.settings.is_set(*option))
    {
        let problem = "cannot be combined with read_iolog: the trace sets the I/O and its times";
        diagnostics.push(
            view.error(option, problem)
                .advise("leave it out; replay_time_scale sets the speed"),
        );
    }
}

/// The trace itself sets what is read and written.
fn check_verify(view: &JobView<'_>, replay: &Replay, diagnostics: &mut Diagnostics) {
    let writes = replay.ios[Direction::Write] > 0;
    if (writes || replay.ios[Direction::Trim] > 0) && view.settings.get(opt::VERIFY_ONLY) {
        let problem = "does not turn the writes of a trace into reads";
        diagnostics.push(
            view.error(opt::VERIFY_ONLY, problem)
                .advise("replace 'write' with 'read' in the lines of the trace"),
        );
    }
}

/// Sets the files and the pattern from the trace.
fn apply(view: &JobView<'_>, summary: &TraceSummary, files: &mut FileSet, pattern: &mut Pattern) {
    pattern.traffic = traffic(&summary.replay);
    pattern.block_size = summary.block_sizes(&pattern.block_size);
    files.paths.clone_from(&summary.paths);
    files.named = true;
    let layout = &mut files.layout;
    // fio opens files read-only where the trace does not change them, and creates none then.
    layout.allow_create &= !view.is_fio() || pattern.traffic != Traffic::Read;
    layout.append = false;
    layout.pre_read = false;
    if !view.is_fio() && layout.fadvise == Fadvise::ByPattern {
        layout.fadvise = Fadvise::None;
    }
}

fn traffic(replay: &Replay) -> Traffic {
    match replay.ios.0.map(|ios| ios > 0) {
        [true, false, false] => Traffic::Read,
        [false, true, false] => Traffic::Write,
        [false, false, true] => Traffic::Trim,
        [reads, writes, trims] => Traffic::Logged {
            reads,
            writes,
            trims,
        },
    }
}

fn warnings(view: &JobView<'_>, clone: u32, summary: &TraceSummary) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if clone > 0 || view.is_fio() {
        return warnings;
    }
    if summary.has_waits && summary.replay.reading.timing == ReplayTiming::OnTime {
        let problem =
            "its waits are read as microseconds since the previous wait, as in fio's manual";
        warnings.push(
            view.warning(opt::READ_IOLOG, problem)
                .advise("fio itself, and `fathom fio`, read them as milliseconds since the start"),
        );
    }
    for option in [
        opt::LOOPS.name(),
        opt::TIME_BASED.name(),
        opt::SIZE.name(),
        opt::IO_SIZE.name(),
        opt::NUMBER_IOS.name(),
        opt::FILENAME.name(),
        opt::BS.name(),
    ] {
        if view.settings.is_set(option) {
            let problem = "has no effect: the trace sets the I/O, and is replayed once";
            warnings.push(
                view.warning(option, problem)
                    .advise("replay_redirect sets another target, runtime ends it sooner"),
            );
        }
    }
    warnings
}
