//! `steadystate` and its family.

use fathom_model::{Job, Nanos, SteadyMeasure, SteadyRule};

use super::bounds::{LONGEST_TIME, within};
use super::job::View;
use super::report::Report;
use crate::options::Unit;
use crate::values::{Reading, number};

const SECOND: u64 = 1_000_000_000;
/// Most samples looked at together.
const MOST_SAMPLES: u64 = 100_000;

/// Resolves the rule; `None` without a duration, as in fio.
pub(crate) fn resolve(view: &View<'_>, report: &mut Report) -> Option<SteadyRule> {
    let settings = view.settings;
    let time = |option, default| settings.number(option, default);
    let duration = within(
        view,
        "steadystate_duration",
        time("steadystate_duration", 0),
        LONGEST_TIME,
        "nanoseconds",
        report,
    );
    if duration == 0 {
        if settings.is_set("steadystate") {
            let problem = view.warning("steadystate", "does nothing without steadystate_duration");
            report.push(problem.advise("set ss_dur=60s, for example"));
        }
        return None;
    }
    let interval = time("steadystate_check_interval", SECOND);
    if interval < SECOND {
        let problem = view.error("steadystate_check_interval", "is less than a second");
        report.push(
            problem.advise("a shorter time says more of the device's caches than of its state"),
        );
        return None;
    }
    if duration <= interval
        || !duration.is_multiple_of(interval)
        || duration / interval > MOST_SAMPLES
    {
        let problem = format!(
            "{} s is no multiple of the check interval of {} s",
            duration as f64 / 1e9,
            interval as f64 / 1e9
        );
        report.push(
            view.error("steadystate_duration", problem)
                .advise("make it two check intervals or more, up to 100000"),
        );
        return None;
    }
    let ramp = Nanos::new(time("steadystate_ramp_time", 0).min(LONGEST_TIME));
    let (word, limit) = settings.choice("steadystate", "iops_slope");
    let (measure, slope) = measure(word);
    let (limit, percent) = match limit {
        Some(text) => threshold(view, text, measure, report)?,
        None if !settings.is_set("steadystate") => (0.01, true),
        None => {
            report.push(
                view.error("steadystate", "needs a threshold")
                    .advise(format!("write {word}:1%, for example")),
            );
            return None;
        }
    };
    let (duration, interval) = (Nanos::new(duration), Nanos::new(interval));
    Some(SteadyRule {
        measure,
        slope,
        limit,
        percent,
        duration,
        ramp,
        interval,
    })
}

fn measure(word: &str) -> (SteadyMeasure, bool) {
    let measure = match word.trim_end_matches("_slope") {
        "bw" => SteadyMeasure::Bandwidth,
        "lat" => SteadyMeasure::Latency,
        _ => SteadyMeasure::Iops,
    };
    (measure, word.ends_with("_slope"))
}

/// Percent, or a number in the unit of what is measured.
fn threshold(
    view: &View<'_>,
    text: &str,
    measure: SteadyMeasure,
    report: &mut Report,
) -> Option<(f64, bool)> {
    let mut reading = Reading::new(view.personality, view.surroundings.cpus());
    let mut sized = |unit| {
        number(text.trim(), unit, &mut reading)
            .ok()
            .map(|n| n as f64)
    };
    let (limit, percent) = match (text.split_once('%'), measure) {
        (Some((share, _)), _) => (share.trim().parse().ok(), true),
        (None, SteadyMeasure::Iops) => (text.trim().parse().ok(), false),
        (None, SteadyMeasure::Bandwidth) => (sized(Unit::Bytes), false),
        (None, SteadyMeasure::Latency) => (sized(Unit::Micros), false),
    };
    let limit = limit.filter(|limit: &f64| limit.is_finite() && *limit >= 0.0);
    if limit.is_none() {
        let shown = crate::jobfile::shorten(text);
        report.push(
            view.error("steadystate", format!("'{shown}' is no threshold"))
                .advise("write 1%, or a number"),
        );
    }
    limit.map(|limit| (limit, percent))
}

/// Jobs that are reported as one are looked at as one: they must ask for the same.
pub(crate) fn check_groups(
    jobs: &[Job],
    places: &dyn Fn(usize) -> crate::span::Span,
    report: &mut Report,
) {
    for pair in 1..jobs.len() {
        let (before, job) = (&jobs[pair - 1], &jobs[pair]);
        let together = before.group_reporting && job.group_reporting && before.group == job.group;
        if together && before.limits.steady != job.limits.steady {
            let problem = "is not the same for all jobs of a group that is reported as one";
            let diagnostic =
                crate::diagnostic::Diagnostic::error(places(job.section as usize), problem);
            report.push(
                diagnostic
                    .about("steadystate")
                    .advise("set it in [global], or put new_group between the jobs"),
            );
        }
    }
}
