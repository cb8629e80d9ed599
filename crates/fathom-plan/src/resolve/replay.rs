//! `read_iolog`: a job whose I/O comes from a log.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fathom_model::{
    Direction, Fadvise, FileSet, Pattern, PerDirection, Replay, ReplayReading, ReplayTiming,
    Traffic,
};

use super::files::split_names;
use super::job::View;
use super::report::Report;
use crate::diagnostic::Diagnostic;
use crate::iolog::{Survey, TraceError, survey};
use crate::span::Span;
use crate::surroundings::Includes;

/// The logs of a plan; each is surveyed once, however many clones replay it.
pub(crate) struct Logs<'a> {
    includes: &'a dyn Includes,
    seen: RefCell<HashMap<String, Result<Rc<Survey>, TraceError>>>,
}

impl<'a> Logs<'a> {
    pub(crate) fn new(includes: &'a dyn Includes) -> Self {
        Logs {
            includes,
            seen: RefCell::default(),
        }
    }

    fn survey(&self, name: &str, reading: &ReplayReading) -> Result<Rc<Survey>, TraceError> {
        let key = format!("{name}\n{reading:?}");
        let survey_now = || {
            let source = self
                .includes
                .open_log(name)
                .map_err(|why| TraceError::new(0, why))?;
            survey(source, name, reading).map(Rc::new)
        };
        self.seen
            .borrow_mut()
            .entry(key)
            .or_insert_with(survey_now)
            .clone()
    }
}

/// The replay of clone `clone` and what it changes in its files and pattern; `None` for every other job.
pub(crate) fn resolve(
    view: &View<'_>,
    clone: u32,
    files: &mut FileSet,
    pattern: &mut Pattern,
    report: &mut Report,
) -> Option<Replay> {
    // Without a look at the machine there is no log to read.
    let names = split_names(view.settings.text("read_iolog")?);
    if !view.check_folders {
        return None;
    }
    if names.is_empty() {
        report.push(view.error("read_iolog", "names no log"));
        return None;
    }
    check(view, report);
    let name = &names[clone as usize % names.len()];
    match view.logs.survey(name, &reading(view, report)) {
        Ok(survey) => {
            report.extend(doubts(view, clone, &survey));
            check_verify(view, &survey.replay, report);
            apply(view, &survey, files, pattern);
            Some(survey.replay.clone())
        }
        Err(error) => {
            report.push(told(view, name, error));
            None
        }
    }
}

/// A mistake at its line of the log.
fn told(view: &View<'_>, name: &str, error: TraceError) -> Diagnostic {
    let shown = if name == "-" {
        "standard input".to_owned()
    } else {
        crate::jobfile::shorten(name)
    };
    if error.line == 0 {
        return view.error(
            "read_iolog",
            format!("'{shown}' cannot be read: {}", error.problem),
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

fn reading(view: &View<'_>, report: &mut Report) -> ReplayReading {
    let settings = view.settings;
    let (skip, skip_sync) = skipped(view, report);
    let timing = match (settings.switch("replay_no_stall"), view.is_fio()) {
        (true, _) => ReplayTiming::AsFast,
        (false, true) => ReplayTiming::AfterLast,
        (false, false) => ReplayTiming::OnTime,
    };
    ReplayReading {
        timing,
        time_percent: settings.number("replay_time_scale", 100).max(1),
        redirect: settings
            .text("replay_redirect")
            .filter(|target| !target.is_empty())
            .map(str::to_owned),
        folder: settings
            .text("directory")
            .map(split_names)
            .and_then(|all| all.into_iter().next()),
        scale: settings.number("replay_scale", 1).max(1),
        align: align(view, report),
        skip,
        skip_sync,
        lenient: view.is_fio(),
    }
}

fn align(view: &View<'_>, report: &mut Report) -> u64 {
    let align = view.settings.number("replay_align", 1).max(1);
    if align.is_power_of_two() {
        return align;
    }
    report.push(
        view.error("replay_align", format!("{align} is no power of two"))
            .advise("use 512 or 4k, for example"),
    );
    1
}

fn skipped(view: &View<'_>, report: &mut Report) -> (PerDirection<bool>, bool) {
    let (mut skip, mut sync) = (PerDirection::all(false), false);
    for word in view
        .settings
        .text("replay_skip")
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
    {
        match word {
            "read" => skip[Direction::Read] = true,
            "write" => skip[Direction::Write] = true,
            "trim" => skip[Direction::Trim] = true,
            "sync" => sync = true,
            other => report.push(
                view.error(
                    "replay_skip",
                    format!("'{}' is none of its words", crate::jobfile::shorten(other)),
                )
                .advise("list some of read, write, trim and sync, with commas"),
            ),
        }
    }
    (skip, sync)
}

/// Options that cannot be had beside a log, because the log says the same.
fn check(view: &View<'_>, report: &mut Report) {
    const PACED: [&str; 9] = [
        "rate",
        "rate_iops",
        "rate_min",
        "rate_iops_min",
        "thinktime",
        "flow",
        "verify_backlog",
        "fill_device",
        "cmdprio_percentage",
    ];
    for option in PACED
        .into_iter()
        .filter(|option| view.settings.is_set(option))
    {
        let problem = "cannot be had with read_iolog: the log says which I/O is done when";
        report.push(
            view.error(option, problem)
                .advise("leave it out; replay_time_scale sets the speed"),
        );
    }
}

/// A log says itself what is read and what is written.
fn check_verify(view: &View<'_>, replay: &Replay, report: &mut Report) {
    let writes = replay.ios[Direction::Write] > 0;
    if (writes || replay.ios[Direction::Trim] > 0) && view.settings.switch("verify_only") {
        let problem = "does not turn the writes of a log into reads";
        report.push(
            view.error("verify_only", problem)
                .advise("write 'read' for 'write' in the lines of the log"),
        );
    }
}

/// The files and the pattern are what the log says.
fn apply(view: &View<'_>, survey: &Survey, files: &mut FileSet, pattern: &mut Pattern) {
    pattern.traffic = traffic(&survey.replay);
    pattern.block_size = survey.block_sizes(&pattern.block_size);
    files.paths.clone_from(&survey.paths);
    files.named = true;
    let layout = &mut files.layout;
    // fio opens files for reading only where the log does not change them, and makes none then.
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

fn doubts(view: &View<'_>, clone: u32, survey: &Survey) -> Vec<Diagnostic> {
    let mut doubts = Vec::new();
    if clone > 0 || view.is_fio() {
        return doubts;
    }
    if survey.has_waits && survey.replay.reading.timing == ReplayTiming::OnTime {
        let problem =
            "its waits are taken for microseconds since the wait before, as in fio's manual";
        doubts.push(view.warning("read_iolog", problem).advise(
            "fio itself takes them for milliseconds since its start; `fathom fio` does so too",
        ));
    }
    for option in [
        "loops",
        "time_based",
        "size",
        "io_size",
        "number_ios",
        "filename",
        "bs",
    ] {
        if view.settings.is_set(option) {
            let problem = "is without effect: the log says which I/O is done, and is replayed once";
            doubts.push(
                view.warning(option, problem)
                    .advise("replay_redirect names another target, runtime ends it sooner"),
            );
        }
    }
    doubts
}
