//! The curves of a search, and its answer in sentences.

use fathom_model::{
    CellFigures, CellLatency, MaxLoad, NamedKnee, Response, ResponsePoint, Verdict,
};

use crate::figures::{count, percent};
use crate::knee::{ClosedPoint, knees};
use crate::search::{
    LoadArrivals, SEARCH_PARTS, SearchAnswer, SearchVerdict, SloLimit, trial_error,
};

/// A target that completes a smaller share of the offered load does not keep up, whatever its
/// latencies.
const KEEPS_UP: f64 = 0.98;

/// Everything that a search measured.
#[derive(Clone, Debug, Default)]
pub struct MeasuredLoad {
    /// Closed-loop trials: depth over all jobs, and figures.
    pub closed: Vec<(u32, CellFigures)>,
    /// Open-loop trials: offered I/Os per second, and figures.
    pub open: Vec<(u64, CellFigures)>,
    /// Arrivals of the open-loop trials.
    pub arrivals: LoadArrivals,
}

/// Limit of pairs of parts out of order in a response time that rises continuously. 6 of the 720
/// orders of six parts are within it: 0.8 % if nothing rises.
const OUT_OF_ORDER: usize = 1;

/// Whether the target completed the offered load.
pub(crate) fn keeps_up(figures: &CellFigures) -> bool {
    figures
        .offered
        .is_none_or(|offered| figures.iops >= KEEPS_UP * offered)
}

/// Whether an open-loop trial met all `limits` and kept up with the offered load.
#[must_use]
pub fn keeps(limits: &[SloLimit], figures: &CellFigures) -> bool {
    figures.error == 0
        && keeps_up(figures)
        && limits.iter().all(|limit| limit.holds(&figures.latency))
}

/// Whether a trial met the limits, and whether all its parts agree.
///
/// A trial whose response time rises continuously, and would exceed a limit after twice the time,
/// is not steady: its load is too high although the trial ended before it exceeded the limit.
#[must_use]
pub fn judge(limits: &[SloLimit], figures: &CellFigures) -> SearchVerdict {
    let parts = &figures.parts;
    let rises: Vec<&SloLimit> = limits.iter().filter(|limit| rises(limit, parts)).collect();
    let kept = keeps(limits, figures) && !rises.iter().any(|limit| would_exceed(limit, parts));
    let holds = |part: &CellLatency| limits.iter().all(|limit| limit.holds(part));
    let (all, none) = (parts.iter().all(holds), !parts.iter().any(holds));
    let risen = rises
        .iter()
        .any(|limit| parts.last().is_some_and(|last| !limit.holds(last)));
    let sure = parts.len() == SEARCH_PARTS && if kept { all } else { none || risen };
    SearchVerdict { kept, sure }
}

fn rises(limit: &SloLimit, parts: &[CellLatency]) -> bool {
    let values: Vec<f64> = parts.iter().map(|part| limit.figure.of(part)).collect();
    let later = |at: usize| {
        values[at + 1..]
            .iter()
            .filter(|later| **later <= values[at])
            .count()
    };
    parts.len() == SEARCH_PARTS && (0..values.len()).map(later).sum::<usize>() <= OUT_OF_ORDER
}

fn would_exceed(limit: &SloLimit, parts: &[CellLatency]) -> bool {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return false;
    };
    2.0 * limit.figure.of(last) - limit.figure.of(first) > limit.most.get() as f64
}

/// The curves of `measured`, its knees, and a description of `answer`.
#[must_use]
pub fn response(
    about: String,
    limits: &[SloLimit],
    measured: &MeasuredLoad,
    answer: Option<SearchAnswer>,
) -> Response {
    let open = open_curve(limits, &measured.open);
    let closed = closed_curve(&measured.closed);
    let points = closed.iter().map(|point| ClosedPoint {
        depth: point.load as u32,
        iops: point.figures.iops,
        mean_ns: point.figures.latency.mean,
    });
    let knees = knees(&points.collect::<Vec<_>>()).into_iter();
    let knees = knees.map(|knee| NamedKnee {
        rule: knee.rule.name().to_owned(),
        depth: knee.depth,
        sentence: knee.sentence,
    });
    let most = answer.map(|answer| most(answer, limits, measured, open.iter().chain(&closed)));
    let mut sentences: Vec<String> = most
        .iter()
        .map(|most| most_load_sentence(most, limits))
        .collect();
    sentences.extend(affected_trials(&measured.open));
    let arrivals = match measured.arrivals {
        LoadArrivals::Poisson => "Poisson arrivals",
        LoadArrivals::Even => "even arrivals",
    };
    Response {
        about,
        arrivals: arrivals.to_owned(),
        limits: limits.iter().map(ToString::to_string).collect(),
        max_load: most,
        open,
        closed,
        knees: knees.collect(),
        sentences,
        at: None,
        simulated: None,
    }
}

/// Combines the trials of each load, in ascending order.
fn open_curve(limits: &[SloLimit], trials: &[(u64, CellFigures)]) -> Vec<ResponsePoint> {
    let mut loads: Vec<u64> = trials.iter().map(|(load, _)| *load).collect();
    loads.sort_unstable();
    loads.dedup();
    let point = |load: u64| {
        let all = || {
            trials
                .iter()
                .filter(|(at, _)| *at == load)
                .map(|(_, figures)| figures)
        };
        // A long trial is more reliable than a short one before it.
        let longest = all()
            .map(|figures| figures.elapsed.get())
            .max()
            .unwrap_or(0);
        let mut all: Vec<&CellFigures> = all()
            .filter(|figures| figures.elapsed.get() >= longest / 2)
            .collect();
        // A disturbed trial was repeated. It does not count beside one that was not disturbed.
        if all.iter().any(|figures| !is_disturbed(figures)) {
            all.retain(|figures| !is_disturbed(figures) || judge(limits, figures).kept);
        }
        let kept = (!limits.is_empty()).then(|| {
            all.iter()
                .filter(|figures| judge(limits, figures).kept)
                .count() as u32
        });
        ResponsePoint {
            load: load as f64,
            trials: all.len() as u32,
            within_limits: kept,
            figures: medians(&all),
        }
    };
    loads.into_iter().map(point).collect()
}

fn closed_curve(ladder: &[(u32, CellFigures)]) -> Vec<ResponsePoint> {
    let mut points: Vec<ResponsePoint> = ladder
        .iter()
        .map(|(depth, figures)| ResponsePoint {
            load: f64::from(*depth),
            trials: 1,
            within_limits: None,
            figures: figures.clone(),
        })
        .collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    points
}

/// The median of each figure, the worst verdict and error, and all codes.
fn medians(all: &[&CellFigures]) -> CellFigures {
    let of =
        |figure: &dyn Fn(&CellFigures) -> f64| median(all.iter().map(|one| figure(one)).collect());
    let mut codes: Vec<String> = all
        .iter()
        .flat_map(|one| one.codes.iter().cloned())
        .collect();
    codes.sort();
    codes.dedup();
    CellFigures {
        iops: of(&|one| one.iops),
        bandwidth: of(&|one| one.bandwidth),
        offered: all[0]
            .offered
            .map(|_| of(&|one| one.offered.unwrap_or(0.0))),
        latency: CellLatency {
            mean: of(&|one| one.latency.mean),
            p50: of(&|one| one.latency.p50),
            p90: of(&|one| one.latency.p90),
            p99: of(&|one| one.latency.p99),
            p999: of(&|one| one.latency.p999),
            p9999: of(&|one| one.latency.p9999),
            max: of(&|one| one.latency.max),
        },
        bad: all.iter().map(|one| one.bad).sum(),
        not_sent: all.iter().map(|one| one.not_sent).sum(),
        error: all
            .iter()
            .map(|one| one.error)
            .find(|error| *error != 0)
            .unwrap_or(0),
        verdict: all
            .iter()
            .map(|one| one.verdict)
            .max()
            .unwrap_or(Verdict::Valid),
        codes,
        ..all[0].clone()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 {
        0.0
    } else {
        f64::midpoint(values[(n - 1) / 2], values[n / 2])
    }
}

fn most<'a>(
    answer: SearchAnswer,
    limits: &[SloLimit],
    measured: &MeasuredLoad,
    points: impl Iterator<Item = &'a ResponsePoint>,
) -> MaxLoad {
    let at = answer.load.unwrap_or(0) as f64;
    let moved = points.filter(|point| point.figures.iops > 0.0);
    let near = moved.min_by(|a, b| {
        (a.figures.iops - at)
            .abs()
            .total_cmp(&(b.figures.iops - at).abs())
    });
    let bytes = near.map_or(0.0, |point| point.figures.bandwidth / point.figures.iops);
    let length = |load: u64| {
        measured
            .open
            .iter()
            .filter(|(at, _)| *at == load)
            .map(|(_, figures)| figures.elapsed.as_secs_f64())
            .fold(0.0, f64::max)
    };
    let seconds = answer.low.map_or(0.0, length);
    let low = answer.low.map(|low| {
        (low as f64 / (1.0 + trial_error(limits, low as f64, seconds, measured.arrivals))) as u64
    });
    MaxLoad {
        load: answer.load,
        low,
        high: answer.high,
        sustained: answer.low,
        exceeded: answer.exceeded,
        stopped_early: answer.stopped_early,
        seconds,
        bytes,
    }
}

fn most_load_sentence(most: &MaxLoad, limits: &[SloLimit]) -> String {
    let it = if limits.len() > 1 { "them" } else { "it" };
    let limits: Vec<String> = limits.iter().map(ToString::to_string).collect();
    let limits = limits.join(" and ");
    if let (true, Some(load), Some(exceeded)) = (most.stopped_early, most.load, most.exceeded) {
        return format!(
            "{} IOPS ({:.1} MB/s) meets {limits}, {} IOPS exceeds {it}: the highest load is between them. The search \
             ended before it measured more loads there.",
            count(load),
            load as f64 * most.bytes / 1e6,
            count(exceeded)
        );
    }
    let Some(load) = most.load else {
        let least = most.high.map_or(String::new(), |least| {
            format!(
                "; {} IOPS, the lowest load tried, exceeds {it}",
                count(least)
            )
        });
        return format!("No load meets {limits}{least}.");
    };
    let what = format!(
        "{} IOPS ({:.1} MB/s) is the highest load that meets {limits}",
        count(load),
        load as f64 * most.bytes / 1e6
    );
    let low = most.sustained.zip(most.low).map(|(kept, low)| {
        let open = percent(100.0 * (kept as f64 / low.max(1) as f64 - 1.0));
        format!("at {} all {SEARCH_PARTS} parts of a trial of {:.1} s met {it}, with an uncertainty of {open} from the length of the trials", count(kept), most.seconds)
    });
    let high = most.high.map(|high| {
        format!(
            "at {} all parts exceeded {it}, or the response time rose continuously",
            count(high)
        )
    });
    match (low, high, most.low.zip(most.high)) {
        (Some(low), Some(high), Some((from, to))) => {
            let wide = percent(100.0 * (to as f64 / from as f64 - 1.0));
            let (from, to) = (count(from), count(to));
            format!("{what}; {low}; {high}. 95 % CI: {from} to {to} IOPS ({wide} wide, sign test).")
        }
        (Some(low), None, _) => format!(
            "{what}; {low}; no load was found that exceeds {it} every time: a higher load may be possible."
        ),
        (None, Some(high), _) => format!(
            "{what}; {high}, but no load was found that meets {it} every time: read the answer as an upper bound."
        ),
        _ => format!("{what}; no load meets or exceeds {it} every time, so there is no interval."),
    }
}

/// Whether the host disturbed the generator in this trial: the target is not the reason when it
/// exceeds a limit.
#[must_use]
pub fn is_disturbed(figures: &CellFigures) -> bool {
    let mut kinds = figures.codes.iter().filter_map(|code| crate::explain(code));
    kinds.any(|kind| kind.delays_generator)
}

/// The findings about individual trials: codes, with the number of trials.
fn affected_trials(trials: &[(u64, CellFigures)]) -> Option<String> {
    let mut codes: Vec<(&str, usize)> = Vec::new();
    for code in trials
        .iter()
        .filter(|(_, figures)| figures.verdict == Verdict::Invalid)
        .flat_map(|(_, figures)| &figures.codes)
    {
        match codes.iter_mut().find(|(known, _)| known == code) {
            Some((_, n)) => *n += 1,
            None => codes.push((code, 1)),
        }
    }
    let affected: Vec<String> = codes
        .iter()
        .map(|(code, n)| format!("{code} in {n}"))
        .collect();
    (!affected.is_empty()).then(|| {
        format!(
            "Findings affect some of the {} open-loop trials: {}; see `fathom explain CODE`.",
            trials.len(),
            affected.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use fathom_model::Nanos;

    use super::*;

    fn figures(iops: f64, p99: f64) -> CellFigures {
        CellFigures {
            iops,
            bandwidth: iops * 4096.0,
            offered: Some(iops),
            latency: CellLatency {
                p99,
                mean: p99 / 4.0,
                ..CellLatency::default()
            },
            per_target: Vec::new(),
            ..CellFigures::default()
        }
    }

    fn limits() -> Vec<SloLimit> {
        vec!["p99<=1ms".parse().expect("a limit")]
    }

    #[test]
    fn a_load_that_is_not_completed_does_not_meet_limits() {
        assert!(keeps(&limits(), &figures(1000.0, 1e6)));
        assert!(!keeps(&limits(), &figures(1000.0, 1.01e6)));
        let behind = CellFigures {
            offered: Some(1021.0),
            ..figures(1000.0, 0.5e6)
        };
        assert!(!keeps(&limits(), &behind), "2.1 % were not completed");
        assert!(!keeps(
            &limits(),
            &CellFigures {
                error: 5,
                ..figures(1000.0, 0.5e6)
            }
        ));
    }

    /// A trial of 12 s in six parts with these 99th percentiles, in ms.
    fn parts(p99: [f64; 6]) -> CellFigures {
        let all = p99.into_iter().fold(0.0, f64::max);
        let part = |ms: f64| CellLatency {
            p99: ms * 1e6,
            mean: ms * 1e6 / 4.0,
            ..CellLatency::default()
        };
        CellFigures {
            parts: p99.map(part).to_vec(),
            elapsed: Nanos::from_secs(12),
            ..figures(1000.0, all * 1e6)
        }
    }

    #[test]
    fn all_parts_must_agree_to_be_sure() {
        let says = |p99: [f64; 6]| judge(&limits(), &parts(p99));
        assert_eq!(
            says([0.9, 0.8, 0.9, 0.7, 0.9, 0.8]),
            SearchVerdict {
                kept: true,
                sure: true
            }
        );
        assert_eq!(
            says([0.9, 0.8, 1.1, 0.7, 0.9, 0.8]),
            SearchVerdict {
                kept: false,
                sure: false
            }
        );
        assert_eq!(
            says([1.9, 1.8, 1.1, 1.7, 1.9, 1.8]),
            SearchVerdict {
                kept: false,
                sure: true
            }
        );
        assert_eq!(
            judge(&limits(), &figures(1000.0, 0.9e6)),
            SearchVerdict {
                kept: true,
                sure: false
            },
            "a short trial has no parts"
        );
    }

    /// A load that is too high, with a trial that ends before the percentile of the whole trial
    /// shows it; and a drift that is too small to matter.
    #[test]
    fn a_response_time_that_rises_is_not_steady() {
        let says = |p99: [f64; 6]| judge(&limits(), &parts(p99));
        assert_eq!(
            says([0.1, 0.2, 0.3, 0.5, 0.6, 0.8]),
            SearchVerdict {
                kept: false,
                sure: false
            },
            "1.5 ms after twice the time"
        );
        assert_eq!(
            says([0.2, 0.1, 0.3, 0.5, 0.9, 1.3]),
            SearchVerdict {
                kept: false,
                sure: true
            },
            "it rose until it exceeded the limit"
        );
        assert_eq!(
            says([0.50, 0.51, 0.52, 0.53, 0.54, 0.55]),
            SearchVerdict {
                kept: true,
                sure: true
            },
            "0.6 ms after twice the time"
        );
        assert_eq!(
            says([0.3, 0.1, 0.2, 0.5, 0.6, 0.8]),
            SearchVerdict {
                kept: true,
                sure: true
            },
            "two pairs are out of order"
        );
    }

    #[test]
    fn trials_of_a_load_are_one_point_with_their_medians() {
        let open = vec![
            (2000, figures(2000.0, 3e6)),
            (1000, figures(1000.0, 0.9e6)),
            (1000, figures(998.0, 1.1e6)),
            (1000, figures(1001.0, 0.8e6)),
            (980, parts([0.5; 6])),
        ];
        let answer = SearchAnswer {
            load: Some(1000),
            low: Some(980),
            high: Some(1020),
            exceeded: Some(1020),
            stopped_early: false,
        };
        let measured = MeasuredLoad {
            closed: Vec::new(),
            open,
            arrivals: LoadArrivals::Even,
        };
        let summary = response("x".into(), &limits(), &measured, Some(answer));
        assert_eq!(
            summary
                .open
                .iter()
                .map(|point| (point.load, point.trials, point.within_limits))
                .collect::<Vec<_>>(),
            [
                (980.0, 1, Some(1)),
                (1000.0, 3, Some(2)),
                (2000.0, 1, Some(0))
            ]
        );
        assert_eq!(summary.open[1].figures.latency.p99, 0.9e6);
        // (1 ms / 0.99 + 100 ms) in 12 s are 0.84 %.
        assert_eq!(
            summary.max_load.map(|most| (most.bytes, most.low)),
            Some((4096.0, Some(971)))
        );
        assert!(summary.sentences[0].starts_with("1,000 IOPS (4.1 MB/s) is the highest load that meets p99 <= 1.00 ms; at 980 all 6 parts of a trial of 12.0 s"), "{:?}", summary.sentences);
        assert!(
            summary.sentences[0].contains("95 % CI: 971 to 1,020 IOPS (5.0 % wide"),
            "{:?}",
            summary.sentences
        );
    }

    #[test]
    fn a_long_trial_replaces_the_short_one_before_it() {
        let open = vec![(1000, figures(1000.0, 0.5e6)), (1000, parts([2.0; 6]))];
        let summary = response(
            "x".into(),
            &limits(),
            &MeasuredLoad {
                open,
                ..MeasuredLoad::default()
            },
            None,
        );
        assert_eq!(
            (summary.open[0].trials, summary.open[0].within_limits),
            (1, Some(0))
        );
    }

    /// Regression 0362: a trial that the host disturbed counted beside its repetition, so that a load
    /// below the answer was shown as one that exceeds the limits.
    #[test]
    fn a_disturbed_trial_does_not_count_beside_its_repetition() {
        let disturbed = CellFigures {
            codes: vec!["STEAL".to_owned()],
            ..figures(1000.0, 5e6)
        };
        let open = vec![
            (1000, disturbed.clone()),
            (1000, figures(1000.0, 0.5e6)),
            (900, disturbed),
        ];
        let measured = MeasuredLoad {
            open,
            ..MeasuredLoad::default()
        };
        let summary = response("x".into(), &limits(), &measured, None);
        let points: Vec<_> = summary
            .open
            .iter()
            .map(|point| (point.load, point.trials, point.within_limits))
            .collect();
        assert_eq!(points, [(900.0, 1, Some(0)), (1000.0, 1, Some(1))]);
        assert_eq!(summary.open[1].figures.latency.p99, 0.5e6);
    }

    #[test]
    fn a_bracket_is_described() {
        let most = MaxLoad {
            load: Some(100),
            exceeded: Some(119),
            stopped_early: true,
            bytes: 4096.0,
            ..MaxLoad::default()
        };
        assert_eq!(
            most_load_sentence(&most, &limits()),
            "100 IOPS (0.4 MB/s) meets p99 <= 1.00 ms, 119 IOPS exceeds it: the highest load is between them. The search \
             ended before it measured more loads there."
        );
    }

    #[test]
    fn an_open_end_is_described() {
        let sentence = |load, low, high| {
            most_load_sentence(
                &MaxLoad {
                    load,
                    low,
                    high,
                    sustained: low,
                    seconds: 12.0,
                    bytes: 4096.0,
                    ..MaxLoad::default()
                },
                &limits(),
            )
        };
        assert!(sentence(None, None, Some(10)).contains("No load meets p99 <= 1.00 ms; 10 IOPS"));
        assert!(sentence(Some(5), Some(5), None).contains("a higher load may be possible"));
        assert!(sentence(Some(5), None, Some(6)).contains("upper bound"));
    }
}
