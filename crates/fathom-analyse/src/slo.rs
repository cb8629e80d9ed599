//! Whether a result meets latency limits, in one line.

use fathom_model::{CellFigures, Findings, SloAnswer, Verdict};

use crate::figures::{count, duration, percent};
use crate::response::keeps_up;
use crate::search::SloLimit;

/// Whether `figures` meet all `limits`, with the headroom of the limit that is nearest. `load` is the planned load, I/Os per
/// second; without one it is what was completed.
#[must_use]
pub fn slo_answer(limits: &[SloLimit], figures: &CellFigures, load: Option<f64>) -> SloAnswer {
    let headroom =
        |limit: &SloLimit| 1.0 - limit.figure.of(&figures.latency) / limit.most.get() as f64;
    let nearest = limits
        .iter()
        .map(|limit| (headroom(limit), limit))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let keeps_up = keeps_up(figures);
    let completed = figures.iops > 0.0 && figures.error == 0;
    let met = completed && keeps_up && nearest.is_some_and(|(headroom, _)| headroom >= 0.0);
    let load = count(load.or(figures.offered).unwrap_or(figures.iops).round() as u64);
    let mut sentence = match nearest {
        _ if !completed => "no: I/O failed or none completed".to_owned(),
        None => "no limit was given".to_owned(),
        Some(_) if !keeps_up => format!(
            "no: the target completes {} of {load} IOPS",
            count(figures.iops.round() as u64)
        ),
        Some((headroom, limit)) if met => format!(
            "yes: at {load} IOPS {} is {}, {} below the limit of {}",
            limit.figure,
            duration(limit.figure.of(&figures.latency)),
            percent(100.0 * headroom),
            duration(limit.most.get() as f64)
        ),
        Some((headroom, limit)) => format!(
            "no: at {load} IOPS {} is {}, {} above the limit of {}",
            limit.figure,
            duration(limit.figure.of(&figures.latency)),
            percent(-100.0 * headroom),
            duration(limit.most.get() as f64)
        ),
    };
    if figures.verdict == Verdict::Invalid {
        sentence += &format!(" (the result is invalid: {})", figures.codes.join(", "));
    }
    SloAnswer {
        met,
        headroom: nearest.map(|(headroom, _)| headroom),
        sentence,
    }
}

/// The same for a run, all of its jobs together.
#[must_use]
pub fn run_meets(
    limits: &[SloLimit],
    recording: &fathom_model::Recording,
    findings: &Findings,
) -> SloAnswer {
    slo_answer(limits, &crate::cell_figures(recording, findings, &[]), None)
}

#[cfg(test)]
mod tests {
    use fathom_model::CellLatency;

    use super::*;

    fn answer(limits: &[&str], p99: f64, iops: f64, offered: f64) -> SloAnswer {
        let limits: Vec<SloLimit> = limits
            .iter()
            .map(|limit| limit.parse().expect("a limit"))
            .collect();
        let figures = CellFigures {
            iops,
            offered: Some(offered),
            latency: CellLatency {
                p99,
                mean: p99 / 4.0,
                ..CellLatency::default()
            },
            ..CellFigures::default()
        };
        slo_answer(&limits, &figures, None)
    }

    /// A latency equal to the limit meets it, and the least more does not.
    #[test]
    fn a_limit_that_is_just_missed_is_not_met() {
        let limits = ["p99<=2ms", "mean<=1ms"];
        assert!(answer(&limits, 2_000_000.0, 3000.0, 3000.0).met);
        for p99 in [2_000_001.0, 2_010_000.0, 2_040_000.0] {
            let missed = answer(&limits, p99, 3000.0, 3000.0);
            assert!(!missed.met && missed.sentence.starts_with("no: "), "{p99}");
        }
    }

    /// Regression 0413: whether a target meets a limit at a load had to be read from a curve.
    #[test]
    fn yes_or_no_with_the_headroom_of_the_nearest_limit() {
        let yes = answer(&["p99<=2ms", "mean<=1ms"], 1.5e6, 3000.0, 3000.0);
        assert!(yes.met);
        assert_eq!(yes.headroom, Some(0.25));
        assert_eq!(
            yes.sentence,
            "yes: at 3,000 IOPS p99 is 1.50 ms, 25 % below the limit of 2.00 ms"
        );
        let no = answer(&["p99<=2ms"], 5e6, 3000.0, 3000.0);
        assert_eq!(
            no.sentence,
            "no: at 3,000 IOPS p99 is 5.00 ms, 150 % above the limit of 2.00 ms"
        );
        let behind = answer(&["p99<=2ms"], 1e6, 2500.0, 3000.0);
        assert!(!behind.met);
        assert_eq!(
            behind.sentence,
            "no: the target completes 2,500 of 3,000 IOPS"
        );
    }
}
