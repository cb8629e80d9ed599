//! `steadystate` and related options.

use fathom_model::{Job, Nanos, SteadyMeasure, SteadyRule};

use super::diagnostics::Diagnostics;
use super::job::{JobView, within};
use crate::limits::MAX_TIME;
use crate::options::table as opt;
use crate::text::shorten;
use crate::values::{ParseContext, Unit, number};

const SECOND: u64 = 1_000_000_000;
/// Maximum number of samples judged together.
const MAX_SAMPLES: u64 = 100_000;

/// Resolves the rule; `None` without a duration, as in fio.
pub(crate) fn resolve(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> Option<SteadyRule> {
    let settings = view.settings;
    let duration = within(
        view,
        opt::STEADYSTATE_DURATION,
        settings.get(opt::STEADYSTATE_DURATION),
        MAX_TIME,
        "nanoseconds",
        diagnostics,
    );
    if duration == 0 {
        if settings.is_set(opt::STEADYSTATE) {
            let problem = view.warning(
                opt::STEADYSTATE,
                "has no effect without steadystate_duration",
            );
            diagnostics.push(problem.advise("for example ss_dur=60s"));
        }
        return None;
    }
    let interval = settings.get(opt::STEADYSTATE_CHECK_INTERVAL);
    if interval < SECOND {
        let problem = view.error(opt::STEADYSTATE_CHECK_INTERVAL, "is less than one second");
        diagnostics.push(
            problem.advise(
                "a shorter interval reflects the caches of the device rather than its state",
            ),
        );
        return None;
    }
    if duration <= interval
        || !duration.is_multiple_of(interval)
        || duration / interval > MAX_SAMPLES
    {
        let problem = format!(
            "{} s is not a multiple of the check interval of {} s",
            duration as f64 / 1e9,
            interval as f64 / 1e9
        );
        diagnostics.push(
            view.error(opt::STEADYSTATE_DURATION, problem)
                .advise("use 2 to 100000 check intervals"),
        );
        return None;
    }
    let ramp = Nanos::new(settings.get(opt::STEADYSTATE_RAMP_TIME).min(MAX_TIME));
    let (name, limit) = settings.get(opt::STEADYSTATE);
    let (measure, slope) = measure(name);
    let (limit, percent) = match limit {
        Some(text) => threshold(view, text, measure, diagnostics)?,
        None => {
            diagnostics.push(
                view.error(opt::STEADYSTATE, "needs a threshold")
                    .advise(format!("for example {name}:1%")),
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

fn measure(name: &str) -> (SteadyMeasure, bool) {
    let measure = match name.trim_end_matches("_slope") {
        "bw" => SteadyMeasure::Bandwidth,
        "lat" => SteadyMeasure::Latency,
        _ => SteadyMeasure::Iops,
    };
    (measure, name.ends_with("_slope"))
}

/// Percent, or a number in the unit of the measure.
fn threshold(
    view: &JobView<'_>,
    text: &str,
    measure: SteadyMeasure,
    diagnostics: &mut Diagnostics,
) -> Option<(f64, bool)> {
    let mut context = ParseContext::new(view.personality, view.host.host_cpus());
    let mut sized = |unit| {
        number(text.trim(), unit, &mut context)
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
        let shown = shorten(text);
        diagnostics.push(
            view.error(opt::STEADYSTATE, format!("invalid threshold '{shown}'"))
                .advise("write 1%, or a number"),
        );
    }
    limit.map(|limit| (limit, percent))
}

/// Jobs that are reported as one group are judged as one: their rules must be the same.
pub(crate) fn check_groups(
    jobs: &[Job],
    location: &dyn Fn(usize) -> crate::span::Span,
    diagnostics: &mut Diagnostics,
) {
    for pair in 1..jobs.len() {
        let (before, job) = (&jobs[pair - 1], &jobs[pair]);
        let together = before.group_reporting && job.group_reporting && before.group == job.group;
        if together && before.limits.steady != job.limits.steady {
            let problem = "differs between jobs of a group that is reported as one";
            let diagnostic =
                crate::diagnostic::Diagnostic::error(location(job.section as usize), problem);
            diagnostics.push(
                diagnostic
                    .about(opt::STEADYSTATE.name().as_str())
                    .advise("set it in [global], or put new_group between the jobs"),
            );
        }
    }
}
