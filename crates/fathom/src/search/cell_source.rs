//! The course of a search: a ladder of depths, then the largest load within the limits, then the curve up to it.

use std::time::Duration;

use fathom_analyse::{
    LoadArrivals, MeasuredLoad, Search, SearchAnswer, SearchBounds, SearchLoad, SearchStep,
    SloLimit, judge, trial_seconds,
};
use fathom_model::CellFigures;
use fathom_plan::PlannedCell;

use crate::experiment::CellSource;

/// Depths of the ladder, over all jobs.
const DEPTHS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// I/Os of an open loop that may be in flight at once; what is due beyond waits, and its waiting counts.
const OPEN_DEPTH: u32 = 256;
/// Shares of the answer (without limits: of the most the ladder gave) that the curve is drawn at, in percent.
const SHARES: [u64; 8] = [10, 30, 50, 70, 80, 90, 95, 100];
/// Loads closer than this to one that was measured add nothing to the curve.
const SAME: f64 = 0.02;
/// The ladder ends at a depth; an open loop may come beyond what it gave by this factor.
const BEYOND: f64 = 1.25;
/// A long trial is at least this many times as long as a short one: each of its six parts is then as long.
const PARTS: u32 = 6;
/// Trials become longer where a limit needs it, but not longer than this, unless short ones are.
const LONGEST: Duration = Duration::from_secs(60);
/// Such a trial that breaks a limit says nothing of its load: it is measured anew this many times, then taken as it is.
const ANEW: u32 = 2;

/// What all trials have in common.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// The job file, its target and settings.
    pub base: PlannedCell,
    /// Jobs that share the load.
    pub jobs: u32,
    /// Share of reads and of writes in a mix.
    pub mix: Option<f64>,
    /// Length of one trial.
    pub each: Duration,
}

/// What is to be found.
#[derive(Clone, Debug, Default)]
pub struct Goal {
    /// The limits; without any only the curves are measured.
    pub limits: Vec<SloLimit>,
    /// How close the ends of the bracket come, as a share.
    pub precision: f64,
    /// How I/Os of the open loop are due.
    pub arrivals: LoadArrivals,
}

enum Stage {
    Ladder(usize),
    Seeking(Search),
    Curve(Vec<u64>),
    Over,
}

/// A search under way.
pub struct Seeking {
    load: Load,
    goal: Goal,
    first: Option<PlannedCell>,
    stage: Stage,
    /// All that was measured.
    pub measured: MeasuredLoad,
    /// What was found.
    pub answer: Option<SearchAnswer>,
    /// Why it could not go on.
    pub failed: Option<String>,
    prepares: bool,
    /// Trials of the present load that said nothing.
    held_up: u32,
}

impl Seeking {
    /// A search that begins with `first`, which prepares the target.
    pub fn new(load: Load, goal: Goal, first: Option<PlannedCell>) -> Seeking {
        let measured = MeasuredLoad {
            arrivals: goal.arrivals,
            ..MeasuredLoad::default()
        };
        Seeking {
            load,
            goal,
            first,
            stage: Stage::Ladder(0),
            measured,
            answer: None,
            failed: None,
            prepares: false,
            held_up: 0,
        }
    }

    fn cell(
        &self,
        key: String,
        values: (&str, String),
        settings: Vec<(&str, String)>,
        repeat: u32,
        each: Duration,
    ) -> PlannedCell {
        let mut cell = PlannedCell {
            key,
            values: vec![(values.0.to_owned(), values.1)],
            repeat,
            ..self.load.base.clone()
        };
        let (us, ramp) = (each.as_micros(), each.as_micros() / 10);
        let time = [
            ("time_based", "1".to_owned()),
            ("ramp_time", format!("{ramp}us")),
            ("runtime", format!("{}us", us - ramp)),
        ];
        cell.settings.extend(
            time.into_iter()
                .chain(settings)
                .map(|(name, value)| (name.to_owned(), value)),
        );
        cell
    }

    fn rung(&self, depth: u32) -> PlannedCell {
        let each = depth.div_ceil(self.load.jobs.max(1));
        self.cell(
            format!("depth={depth}"),
            ("depth", depth.to_string()),
            vec![("iodepth", each.to_string())],
            0,
            self.load.each,
        )
    }

    /// A trial at this load. Each has a seed of its own: the same arrivals again would say the same again.
    fn trial(&self, SearchLoad { load, long }: SearchLoad) -> PlannedCell {
        let time = if long {
            self.long(load)
        } else {
            self.short(load)
        };
        let process = match self.goal.arrivals {
            LoadArrivals::Poisson => "poisson",
            LoadArrivals::Even => "linear",
        };
        let before = self
            .measured
            .open
            .iter()
            .filter(|(at, _)| *at == load)
            .count() as u32;
        let seed = (self.measured.open.len() + 1).to_string();
        let settings = vec![
            (
                "iodepth",
                OPEN_DEPTH.div_ceil(self.load.jobs.max(1)).to_string(),
            ),
            ("rate_process", process.to_owned()),
            ("rate_iops", self.rate(load)),
            ("randseed", seed),
            ("iopsavgtime", interval(time).to_string()),
        ];
        self.cell(
            format!("offered={load}"),
            ("offered", load.to_string()),
            settings,
            before,
            time,
        )
    }

    /// The rate of one job. A mix is paced by its slower side, so both get their share.
    fn rate(&self, load: u64) -> String {
        let each = load as f64 / f64::from(self.load.jobs.max(1));
        let whole = |rate: f64| (rate.round() as u64).max(1).to_string();
        self.load.mix.map_or_else(
            || whole(each),
            |reads| format!("{},{}", whole(each * reads), whole(each * (1.0 - reads))),
        )
    }

    /// Long enough to tell a load over the edge from one below it, as closely as is asked for.
    fn long(&self, load: u64) -> Duration {
        let needed = trial_seconds(
            &self.goal.limits,
            self.goal.precision,
            load as f64,
            self.goal.arrivals,
        ) / 0.9;
        let needed = Duration::try_from_secs_f64(needed).unwrap_or(LONGEST);
        (self.load.each * PARTS).max(needed.min(LONGEST))
    }

    /// Long enough for the percentiles that are limited.
    fn short(&self, load: u64) -> Duration {
        let ios = self
            .goal
            .limits
            .iter()
            .map(SloLimit::least_ios)
            .max()
            .unwrap_or(0);
        // A tenth of the time is not measured.
        let needed =
            Duration::try_from_secs_f64(ios as f64 / load.max(1) as f64 / 0.9).unwrap_or(LONGEST);
        self.load.each.max(needed.min(LONGEST))
    }

    fn most_of_ladder(&self) -> f64 {
        self.measured
            .closed
            .iter()
            .map(|(_, figures)| figures.iops)
            .fold(0.0, f64::max)
    }

    /// After the ladder: the search, or at once the curve.
    fn seek(&mut self) {
        let most = self.most_of_ladder();
        if most < 1.0 {
            self.fail(
                "nothing was read or written in a closed loop, so there is no load to look for"
                    .to_owned(),
            );
            return;
        }
        if self.goal.limits.is_empty() {
            return self.draw(most as u64);
        }
        let bounds = SearchBounds {
            start: (most / 2.0) as u64,
            least: ((most / 1000.0) as u64).max(1),
            most: (most * BEYOND).ceil() as u64,
            precision: self.goal.precision,
        };
        self.stage = Stage::Seeking(Search::new(bounds));
    }

    fn draw(&mut self, of: u64) {
        let far = |load: &u64| {
            self.measured
                .open
                .iter()
                .all(|(at, _)| (*at as f64 / *load as f64 - 1.0).abs() > SAME)
        };
        let mut loads: Vec<u64> = SHARES
            .iter()
            .map(|share| (of * share / 100).max(1))
            .filter(far)
            .collect();
        loads.dedup();
        loads.reverse();
        self.stage = Stage::Curve(loads);
    }

    fn fail(&mut self, why: String) {
        self.failed = Some(why);
        self.stage = Stage::Over;
    }

    fn learn_trial(&mut self, load: u64, figures: &CellFigures) {
        self.measured.open.push((load, figures.clone()));
        let verdict = judge(&self.goal.limits, figures);
        let Stage::Seeking(search) = &mut self.stage else {
            return;
        };
        let held_up = figures
            .codes
            .iter()
            .filter_map(|code| fathom_analyse::explain(code))
            .any(|kind| kind.delays_generator);
        if held_up && !verdict.kept && self.held_up < ANEW {
            self.held_up += 1;
            return;
        }
        self.held_up = 0;
        search.learn(verdict);
        if let SearchStep::Done(answer) = search.step() {
            self.answer = Some(answer);
            let of = answer
                .load
                .map_or(self.most_of_ladder() as u64, |load| load);
            self.draw(of);
        }
    }
}

impl CellSource for Seeking {
    fn next(&mut self) -> Option<PlannedCell> {
        if let Some(first) = self.first.take() {
            self.prepares = true;
            return Some(first);
        }
        self.prepares = false;
        if matches!(self.stage, Stage::Ladder(at) if at == DEPTHS.len()) {
            self.seek();
        }
        match &mut self.stage {
            Stage::Ladder(at) => {
                let depth = DEPTHS[*at];
                Some(self.rung(depth))
            }
            Stage::Seeking(search) => match search.step() {
                SearchStep::Measure(at) => Some(self.trial(at)),
                SearchStep::Done(_) => None,
            },
            Stage::Curve(loads) => {
                let load = loads.pop()?;
                Some(self.trial(SearchLoad { load, long: false }))
            }
            Stage::Over => None,
        }
    }

    fn learn(&mut self, cell: &PlannedCell, came: Result<&CellFigures, &str>) {
        let figures = match came {
            Ok(figures) if figures.error == 0 => figures,
            Ok(figures) => {
                return self.fail(format!(
                    "{}: I/O failed with errno {}",
                    cell.key, figures.error
                ));
            }
            Err(why) => return self.fail(why.to_owned()),
        };
        if self.prepares {
            return;
        }
        let value = cell
            .values
            .first()
            .and_then(|(_, value)| value.parse::<u64>().ok())
            .unwrap_or(0);
        if let Stage::Ladder(at) = &mut self.stage {
            *at += 1;
            return self.measured.closed.push((value as u32, figures.clone()));
        }
        self.learn_trial(value, figures);
    }

    /// About: how many trials a search takes depends on what they say.
    fn left(&self) -> usize {
        const TRIALS: usize = 14;
        let seeks = if self.goal.limits.is_empty() {
            0
        } else {
            TRIALS
        };
        match &self.stage {
            Stage::Ladder(at) => DEPTHS.len() - at + seeks + SHARES.len(),
            Stage::Seeking(_) => {
                seeks.saturating_sub(self.measured.open.len()).max(1) + SHARES.len()
            }
            Stage::Curve(loads) => loads.len(),
            Stage::Over => 0,
        }
    }
}

/// Intervals of a trial, milliseconds: twenty and more of them, so that its parts are equally long.
fn interval(time: Duration) -> u64 {
    [500, 100, 20]
        .into_iter()
        .find(|ms| time.as_millis() >= 25 * ms)
        .unwrap_or(10) as u64
}

#[cfg(test)]
mod tests {
    use fathom_model::{CellLatency, Histogram, Nanos, RunEnd, Verdict};
    use fathom_sim::{Observed, Servers, Service};

    use super::*;

    fn figures(seen: &Observed, offered: Option<f64>) -> CellFigures {
        let few = |all: &Histogram| {
            let at = |percent: f64| all.percentile(percent).unwrap_or(0.0);
            CellLatency {
                mean: all.mean(),
                p50: at(50.0),
                p90: at(90.0),
                p99: at(99.0),
                p999: at(99.9),
                p9999: at(99.99),
                max: 0.0,
            }
        };
        CellFigures {
            iops: seen.iops,
            bandwidth: seen.iops * 4096.0,
            offered,
            latency: few(&seen.latency),
            bad: 0,
            error: 0,
            elapsed: Nanos::new(seen.elapsed_ns as u64),
            end: RunEnd::Completed,
            verdict: Verdict::Valid,
            codes: Vec::new(),
            sides: Vec::new(),
            parts: seen.parts.iter().map(few).collect(),
        }
    }

    /// Drives a course on a simulated device, as the driver does on a real one.
    fn simulate(device: Servers, goal: Goal) -> Seeking {
        let load = Load {
            jobs: 1,
            each: Duration::from_secs(2),
            ..Load::default()
        };
        let mut course = Seeking::new(load, goal, None);
        for number in 0..500 {
            let Some(cell) = course.next() else {
                return course;
            };
            let (name, value) = &cell.values[0];
            let value: u64 = value.parse().expect("a number");
            let figures = if name == "depth" {
                figures(&device.closed(value as u32, 100_000, number), None)
            } else {
                figures(
                    &device.open(value as f64, 300_000, number),
                    Some(value as f64),
                )
            };
            course.learn(&cell, Ok(&figures));
        }
        panic!("no end after 500 cells");
    }

    /// The whole course on M/M/1 with S = 50 us: p99 <= 1 ms holds up to (1 - ln(100) S / 1 ms) / S = 15,395 IOPS.
    #[test]
    fn the_course_finds_the_known_answer_of_a_simulated_device() {
        let device = Servers {
            count: 1,
            mean_ns: 50_000.0,
            service: Service::Exponential,
            credit_ns: 0.0,
        };
        let goal = Goal {
            limits: vec!["p99<=1ms".parse().expect("a limit")],
            precision: 0.01,
            arrivals: LoadArrivals::Poisson,
        };
        let course = simulate(device, goal.clone());
        let truth = (1.0 - 100_f64.ln() * 0.05) * 20_000.0;
        let load = course.answer.expect("an answer").load.expect("a load") as f64;
        assert!(
            (load / truth - 1.0).abs() < 0.02,
            "{load} instead of {truth}"
        );
        let told =
            fathom_analyse::response("sim".into(), &goal.limits, &course.measured, course.answer);
        assert_eq!(told.closed.len(), DEPTHS.len());
        assert!(told.open.len() >= SHARES.len(), "the curve is there");
        let rising = told
            .open
            .windows(2)
            .filter(|two| two[0].figures.latency.p99 > 1.3 * two[1].figures.latency.p99)
            .count();
        assert_eq!(rising, 0, "latency rises with the load: {:?}", told.open);
    }

    /// Regression 0297: one stall of the machine in a long trial halved the answer.
    #[test]
    fn a_trial_in_which_the_program_was_held_up_is_measured_anew() {
        let limits = vec!["p99<=1ms".parse().expect("a limit")];
        let goal = Goal {
            limits,
            precision: 0.01,
            arrivals: LoadArrivals::Poisson,
        };
        let load = Load {
            jobs: 1,
            each: Duration::from_secs(2),
            ..Load::default()
        };
        let mut course = Seeking::new(load, goal, None);
        let device = Servers {
            count: 1,
            mean_ns: 50_000.0,
            service: Service::Exponential,
            credit_ns: 0.0,
        };
        for (number, depth) in DEPTHS.into_iter().enumerate() {
            let cell = course.next().expect("the ladder");
            course.learn(
                &cell,
                Ok(&figures(&device.closed(depth, 10_000, number as u64), None)),
            );
        }
        let slow = figures(&device.open(30_000.0, 10_000, 1), Some(30_000.0));
        let stalled = CellFigures {
            codes: vec!["GENERATOR_STALL".to_owned()],
            ..slow.clone()
        };
        let first = course.next().expect("a trial");
        for figures in [&stalled, &stalled, &slow] {
            let again = course.next().expect("a trial");
            assert_eq!(again.key, first.key, "the same load");
            course.learn(&again, Ok(figures));
        }
        assert_ne!(
            course.next().expect("a trial").key,
            first.key,
            "what it says undisturbed counts"
        );
    }

    #[test]
    fn without_limits_the_curve_goes_up_to_the_most_of_the_ladder() {
        let device = Servers {
            count: 4,
            mean_ns: 100_000.0,
            service: Service::Fixed,
            credit_ns: 0.0,
        };
        let course = simulate(
            device,
            Goal {
                limits: Vec::new(),
                precision: 0.01,
                ..Goal::default()
            },
        );
        assert!(course.answer.is_none());
        let loads: Vec<u64> = course.measured.open.iter().map(|(load, _)| *load).collect();
        assert_eq!(loads.len(), SHARES.len());
        assert!(
            (39_900..=40_100).contains(&loads[7]) && (3_990..=4_010).contains(&loads[0]),
            "{loads:?}"
        );
    }

    #[test]
    fn a_mix_and_several_jobs_share_the_load() {
        let load = Load {
            jobs: 4,
            mix: Some(0.7),
            each: Duration::from_secs(2),
            ..Load::default()
        };
        let course = Seeking::new(
            load,
            Goal {
                limits: vec!["p99.9<=1ms".parse().expect("a limit")],
                precision: 0.01,
                ..Goal::default()
            },
            None,
        );
        assert_eq!(course.rate(40_000), "7000,3000");
        assert_eq!(course.short(40_000), Duration::from_secs(2));
        assert!(
            course.short(100) > Duration::from_secs(59),
            "10,000 I/Os for a p99.9"
        );
        assert_eq!(
            course.long(40_000).as_secs(),
            23,
            "838,000 I/Os for a p99.9, and a tenth"
        );
        assert_eq!(
            course.long(4_000_000).as_secs(),
            12,
            "six parts; 0.1 s in a hundred and a tenth would be 11.2 s"
        );
        let cell = course.trial(SearchLoad {
            load: 40_000,
            long: false,
        });
        assert_eq!(cell.id(), "offered=40000");
        assert!(
            cell.settings
                .contains(&("iodepth".to_owned(), "64".to_owned()))
        );
    }

    #[test]
    fn a_failed_cell_ends_the_search_with_its_reason() {
        let mut course = Seeking::new(
            Load {
                jobs: 1,
                ..Load::default()
            },
            Goal::default(),
            None,
        );
        let cell = course.next().expect("a cell");
        course.learn(&cell, Err("no such device"));
        assert!(course.next().is_none());
        assert_eq!(course.failed.as_deref(), Some("no such device"));
    }
}
