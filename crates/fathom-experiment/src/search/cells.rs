//! The cells of a search: queue depths in a closed loop, then the largest load within the limits, then the curve up to it.

use std::time::Duration;

use fathom_analyse::{
    LoadArrivals, MeasuredLoad, Search, SearchAnswer, SearchBounds, SearchLoad, SearchStep,
    SloLimit, is_disturbed, judge, trial_seconds,
};
use fathom_model::CellFigures;
use fathom_plan::PlannedCell;

use crate::driver::CellSource;

/// Queue depths of the closed loop, over all jobs.
const DEPTHS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// I/Os of an open loop that may be in flight at once; further I/Os wait, and their wait counts as latency.
const OPEN_DEPTH: u32 = 256;
/// Loads of the curve, in percent of the answer (without limits: of the highest rate of the closed loop).
const SHARES: [u64; 8] = [10, 30, 50, 70, 80, 90, 95, 100];
/// Loads closer than this share to a measured one are left out of the curve.
const CLOSE: f64 = 0.02;
/// An open loop may exceed the highest rate of the closed loop by this factor.
const OPEN_LOOP_FACTOR: f64 = 1.25;
/// A long trial is at least this many times as long as a short one: each of its six parts is then as long as a short trial.
const PARTS: u32 = 6;
/// Trials become longer where a limit needs it, up to this length, unless short trials are already longer.
const LONGEST: Duration = Duration::from_secs(60);
/// A trial that the host disturbed and that exceeds a limit is repeated this many times, then accepted. Each accepted one
/// reduces this by one: a host that is always busy is a property of the result.
const MOST_DELAYED: u32 = 2;
/// Findings that another program uses the target.
const SHARED: [&str; 2] = ["FOREIGN_IO", "TARGET_SHARED"];
/// Trials in a row on a shared target after which the search ends.
const MOST_SHARED: u32 = 3;
/// Trials of a usual search.
const TRIALS: usize = 14;

/// What all trials share.
#[derive(Clone, Debug, Default)]
pub struct TrialLoad {
    /// The job file, its target and settings.
    pub base: PlannedCell,
    /// Jobs that share the load.
    pub jobs: u32,
    /// Share of reads and of writes in a mix.
    pub mix: Option<f64>,
    /// Length of one trial.
    pub cell_time: Duration,
}

/// What a search looks for.
#[derive(Clone, Debug, Default)]
pub struct SearchGoal {
    /// The limits; without any, only the curves are measured.
    pub limits: Vec<SloLimit>,
    /// The requested width of the bracket, as a share.
    pub precision: f64,
    /// The arrival process of the open loop.
    pub arrivals: LoadArrivals,
    /// Measure only this load, I/Os per second.
    pub at: Option<u64>,
}

enum Stage {
    Depths(usize),
    Search(Search),
    Curve(Vec<u64>),
    /// One given load.
    At(u64),
    Over,
}

/// The cells of a search, and its results.
pub struct SearchCells {
    load: TrialLoad,
    goal: SearchGoal,
    first: Option<PlannedCell>,
    stage: Stage,
    /// All measured loads.
    pub measured: MeasuredLoad,
    /// The result.
    pub answer: Option<SearchAnswer>,
    /// Why it could not continue.
    pub failed: Option<String>,
    prepares: bool,
    /// Disturbed trials of the current load that are repeated.
    delayed_trials: u32,
    /// Loads whose disturbed trials were accepted.
    accepted_loads: u32,
    /// Trials in a row on a target that another program uses.
    shared_trials: u32,
    /// Cells after the current one; never rises.
    remaining: usize,
}

impl SearchCells {
    /// A search that starts with `first`, which prepares the target.
    #[must_use]
    pub fn new(load: TrialLoad, goal: SearchGoal, first: Option<PlannedCell>) -> SearchCells {
        let measured = MeasuredLoad {
            arrivals: goal.arrivals,
            ..MeasuredLoad::default()
        };
        let trials = if goal.limits.is_empty() { 0 } else { TRIALS };
        let goal_stage = goal.at.map_or(Stage::Depths(0), Stage::At);
        let cells = if goal.at.is_some() {
            1
        } else {
            DEPTHS.len() + trials + SHARES.len()
        };
        SearchCells {
            load,
            goal,
            first,
            stage: goal_stage,
            measured,
            answer: None,
            failed: None,
            prepares: false,
            delayed_trials: 0,
            accepted_loads: 0,
            shared_trials: 0,
            remaining: cells,
        }
    }

    /// The answer, or the bracket that is known so far.
    #[must_use]
    pub fn best_answer(&self) -> Option<SearchAnswer> {
        self.answer.or(match &self.stage {
            Stage::Search(search) => {
                Some(search.answer()).filter(|answer| answer.load.or(answer.exceeded).is_some())
            }
            _ => None,
        })
    }

    /// Cells after the current one, or after the last one where none is being measured.
    fn estimate(&self, is_measuring: bool) -> usize {
        let current = usize::from(is_measuring);
        let trials = if self.goal.limits.is_empty() {
            0
        } else {
            TRIALS
        };
        match &self.stage {
            Stage::Depths(at) => DEPTHS.len() - at - current + trials + SHARES.len(),
            Stage::Search(_) => {
                (trials.saturating_sub(self.measured.open.len()))
                    .saturating_sub(current)
                    .max(1)
                    + SHARES.len()
            }
            Stage::Curve(loads) => loads.len(),
            Stage::At(_) => 1 - current,
            Stage::Over => 0,
        }
    }

    fn cell(
        &self,
        key: String,
        values: (&str, String),
        settings: Vec<(&str, String)>,
        repeat: u32,
        cell_time: Duration,
    ) -> PlannedCell {
        let mut cell = PlannedCell {
            key,
            values: vec![(values.0.to_owned(), values.1)],
            repeat,
            ..self.load.base.clone()
        };
        let (us, ramp) = (cell_time.as_micros(), cell_time.as_micros() / 10);
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

    fn closed_trial(&self, depth: u32) -> PlannedCell {
        let depth_of_job = depth.div_ceil(self.load.jobs.max(1));
        self.cell(
            format!("depth={depth}"),
            ("depth", depth.to_string()),
            vec![("iodepth", depth_of_job.to_string())],
            0,
            self.load.cell_time,
        )
    }

    /// A trial at this load. Each has its own seed, so that repeats have different arrivals.
    fn open_trial(&self, SearchLoad { load, long }: SearchLoad) -> PlannedCell {
        let time = if long {
            self.long_time(load)
        } else {
            self.short_time(load)
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

    /// The rate of one job. A mix is paced by its slower direction, so both get their share.
    fn rate(&self, load: u64) -> String {
        let cell_time = load as f64 / f64::from(self.load.jobs.max(1));
        let whole = |rate: f64| (rate.round() as u64).max(1).to_string();
        self.load.mix.map_or_else(
            || whole(cell_time),
            |reads| {
                format!(
                    "{},{}",
                    whole(cell_time * reads),
                    whole(cell_time * (1.0 - reads))
                )
            },
        )
    }

    /// Long enough to separate a load above the edge from one below it, at the requested precision.
    fn long_time(&self, load: u64) -> Duration {
        if self.goal.at.is_some() {
            return (self.load.cell_time * PARTS).max(self.short_time(load));
        }
        let needed = trial_seconds(
            &self.goal.limits,
            self.goal.precision,
            load as f64,
            self.goal.arrivals,
        ) / 0.9;
        let needed = Duration::try_from_secs_f64(needed).unwrap_or(LONGEST);
        (self.load.cell_time * PARTS).max(needed.min(LONGEST))
    }

    /// Long enough for the percentiles of the limits.
    fn short_time(&self, load: u64) -> Duration {
        let ios = self
            .goal
            .limits
            .iter()
            .map(SloLimit::least_ios)
            .max()
            .unwrap_or(0);
        // A tenth of the time is ramp time.
        let needed =
            Duration::try_from_secs_f64(ios as f64 / load.max(1) as f64 / 0.9).unwrap_or(LONGEST);
        self.load.cell_time.max(needed.min(LONGEST))
    }

    fn highest_rate(&self) -> f64 {
        self.measured
            .closed
            .iter()
            .map(|(_, figures)| figures.iops)
            .fold(0.0, f64::max)
    }

    /// Starts the search after the closed loop, or without limits the curve.
    fn start_search(&mut self) {
        let most = self.highest_rate();
        if most < 1.0 {
            self.fail(
                "no I/O completed in the closed loop, so there is no load to search".to_owned(),
            );
            return;
        }
        if self.goal.limits.is_empty() {
            return self.start_curve(most as u64);
        }
        let bounds = SearchBounds {
            start: (most / 2.0) as u64,
            least: ((most / 1000.0) as u64).max(1),
            most: (most * OPEN_LOOP_FACTOR).ceil() as u64,
            precision: self.goal.precision,
        };
        self.stage = Stage::Search(Search::new(bounds));
    }

    fn start_curve(&mut self, of: u64) {
        let far = |load: &u64| {
            self.measured
                .open
                .iter()
                .all(|(at, _)| (*at as f64 / *load as f64 - 1.0).abs() > CLOSE)
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

    /// The next cell of the current stage.
    fn next_cell(&mut self) -> Option<PlannedCell> {
        if let Some(first) = self.first.take() {
            self.prepares = true;
            return Some(first);
        }
        self.prepares = false;
        if matches!(self.stage, Stage::Depths(at) if at == DEPTHS.len()) {
            self.start_search();
        }
        match &mut self.stage {
            Stage::Depths(at) => {
                let depth = DEPTHS[*at];
                Some(self.closed_trial(depth))
            }
            Stage::Search(search) => match search.step() {
                SearchStep::Measure(at) => Some(self.open_trial(at)),
                SearchStep::Done(_) => None,
            },
            Stage::Curve(loads) => {
                let load = loads.pop()?;
                Some(self.open_trial(SearchLoad { load, long: false }))
            }
            Stage::At(load) => {
                let load = *load;
                Some(self.open_trial(SearchLoad { load, long: true }))
            }
            Stage::Over => None,
        }
    }

    fn fail(&mut self, why: String) {
        self.failed = Some(why);
        self.stage = Stage::Over;
    }

    /// Ends the search on a target that another program keeps using: its I/O decides which trials meet the limits.
    fn check_shared(&mut self, figures: &CellFigures) {
        let code = figures
            .codes
            .iter()
            .find(|code| SHARED.contains(&code.as_str()));
        let Some(code) = code else {
            self.shared_trials = 0;
            return;
        };
        self.shared_trials += 1;
        if self.shared_trials < MOST_SHARED || matches!(self.stage, Stage::Over) {
            return;
        }
        let bracket = self.best_answer();
        self.fail(format!(
            "another program uses the target ({code} in {MOST_SHARED} trials in a row), so that its I/O, not the load, \
             decides which trials meet the limits; stop it, or use another target"
        ));
        self.answer = bracket;
    }

    fn learn_trial(&mut self, load: u64, figures: &CellFigures) {
        self.measured.open.push((load, figures.clone()));
        let verdict = judge(&self.goal.limits, figures);
        if matches!(self.stage, Stage::At(_)) {
            let is_repeated =
                is_disturbed(figures) && !verdict.kept && self.delayed_trials < MOST_DELAYED;
            self.delayed_trials += 1;
            if !is_repeated {
                self.stage = Stage::Over;
            }
            return;
        }
        let Stage::Search(search) = &mut self.stage else {
            return;
        };
        if is_disturbed(figures) && !verdict.kept {
            if self.delayed_trials < MOST_DELAYED.saturating_sub(self.accepted_loads) {
                self.delayed_trials += 1;
                return;
            }
            self.accepted_loads += 1;
        } else if !is_disturbed(figures) {
            self.accepted_loads = 0;
        }
        self.delayed_trials = 0;
        search.learn(verdict);
        if let SearchStep::Done(answer) = search.step() {
            self.answer = Some(answer);
            let of = answer.load.map_or(self.highest_rate() as u64, |load| load);
            self.start_curve(of);
        }
    }
}

impl CellSource for SearchCells {
    fn next(&mut self) -> Option<PlannedCell> {
        let cell = self.next_cell();
        if !self.prepares {
            self.remaining = self.remaining.min(self.estimate(cell.is_some()));
        }
        cell
    }

    fn learn(&mut self, cell: &PlannedCell, result: Result<&CellFigures, &str>) {
        let figures = match result {
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
        if let Stage::Depths(at) = &mut self.stage {
            *at += 1;
            self.measured.closed.push((value as u32, figures.clone()));
        } else {
            self.learn_trial(value, figures);
        }
        self.check_shared(figures);
    }

    /// An estimate: the number of trials depends on their results.
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn expected(&self, cell: &PlannedCell) -> Option<Duration> {
        let time = |name: &str| {
            let setting = cell
                .settings
                .iter()
                .rev()
                .find(|(option, _)| option == name);
            let us = setting?.1.strip_suffix("us")?.parse().ok()?;
            Some(Duration::from_micros(us))
        };
        Some(time("ramp_time")? + time("runtime")?)
    }
}

/// Interval length of a trial in milliseconds: at least twenty intervals, so that its parts are equally long.
fn interval(time: Duration) -> u64 {
    [500, 100, 20]
        .into_iter()
        .find(|ms| time.as_millis() >= 25 * ms)
        .unwrap_or(10) as u64
}

#[cfg(test)]
mod tests {
    use fathom_model::{CellLatency, Histogram, Nanos};
    use fathom_sim::{Observed, Servers, Service};

    use super::*;

    fn figures(observed: &Observed, offered: Option<f64>) -> CellFigures {
        let latency = |histogram: &Histogram| {
            let at = |percent: f64| histogram.percentile(percent).unwrap_or(0.0);
            CellLatency {
                mean: histogram.mean(),
                p50: at(50.0),
                p90: at(90.0),
                p99: at(99.0),
                p999: at(99.9),
                p9999: at(99.99),
                max: 0.0,
            }
        };
        CellFigures {
            iops: observed.iops,
            bandwidth: observed.iops * 4096.0,
            offered,
            latency: latency(&observed.latency),
            elapsed: Nanos::new(observed.elapsed_ns as u64),
            per_target: Vec::new(),
            parts: observed.parts.iter().map(latency).collect(),
            ..CellFigures::default()
        }
    }

    /// Runs a search on a simulated device, as the driver does on a real one.
    fn simulate(device: Servers, goal: SearchGoal) -> SearchCells {
        let load = TrialLoad {
            jobs: 1,
            cell_time: Duration::from_secs(2),
            ..TrialLoad::default()
        };
        let mut source = SearchCells::new(load, goal, None);
        for number in 0..500 {
            let Some(cell) = source.next() else {
                return source;
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
            source.learn(&cell, Ok(&figures));
        }
        panic!("no end after 500 cells");
    }

    /// A whole search on M/M/1 with S = 50 us: p99 <= 1 ms holds up to (1 - ln(100) S / 1 ms) / S = 15,395 IOPS.
    #[test]
    fn a_search_finds_the_known_answer_of_a_simulated_device() {
        let device = Servers {
            count: 1,
            mean_ns: 50_000.0,
            service: Service::Exponential,
            credit_ns: 0.0,
        };
        let goal = SearchGoal {
            limits: vec!["p99<=1ms".parse().expect("a limit")],
            precision: 0.01,
            arrivals: LoadArrivals::Poisson,
            at: None,
        };
        let source = simulate(device, goal.clone());
        let exact = (1.0 - 100_f64.ln() * 0.05) * 20_000.0;
        let load = source.answer.expect("an answer").load.expect("a load") as f64;
        assert!(
            (load / exact - 1.0).abs() < 0.02,
            "{load} instead of {exact}"
        );
        let response =
            fathom_analyse::response("sim".into(), &goal.limits, &source.measured, source.answer);
        assert_eq!(response.closed.len(), DEPTHS.len());
        assert!(response.open.len() >= SHARES.len(), "the curve is measured");
        let rising = response
            .open
            .windows(2)
            .filter(|two| two[0].figures.latency.p99 > 1.3 * two[1].figures.latency.p99)
            .count();
        assert_eq!(
            rising, 0,
            "latency rises with the load: {:?}",
            response.open
        );
    }

    /// Regression 0297: one stall of the machine in a long trial halved the result.
    #[test]
    fn a_delayed_trial_is_repeated() {
        let limits = vec!["p99<=1ms".parse().expect("a limit")];
        let goal = SearchGoal {
            limits,
            precision: 0.01,
            arrivals: LoadArrivals::Poisson,
            at: None,
        };
        let load = TrialLoad {
            jobs: 1,
            cell_time: Duration::from_secs(2),
            ..TrialLoad::default()
        };
        let mut source = SearchCells::new(load, goal, None);
        let device = Servers {
            count: 1,
            mean_ns: 50_000.0,
            service: Service::Exponential,
            credit_ns: 0.0,
        };
        for (number, depth) in DEPTHS.into_iter().enumerate() {
            let cell = source.next().expect("a depth");
            source.learn(
                &cell,
                Ok(&figures(&device.closed(depth, 10_000, number as u64), None)),
            );
        }
        let slow = figures(&device.open(30_000.0, 10_000, 1), Some(30_000.0));
        let stalled = CellFigures {
            codes: vec!["GENERATOR_STALL".to_owned()],
            ..slow.clone()
        };
        let first = source.next().expect("a trial");
        for figures in [&stalled, &stalled, &slow] {
            let again = source.next().expect("a trial");
            assert_eq!(again.key, first.key, "the same load");
            source.learn(&again, Ok(figures));
        }
        assert_ne!(
            source.next().expect("a trial").key,
            first.key,
            "the undisturbed result counts"
        );
    }

    /// Five milliseconds of service at one server, and Poisson arrivals: p99 <= 25 ms holds up to 111 a second.
    fn slow_server() -> (Servers, SearchCells) {
        let goal = SearchGoal {
            limits: vec!["p99<=25ms".parse().expect("a limit")],
            precision: 0.01,
            arrivals: LoadArrivals::Poisson,
            at: None,
        };
        let load = TrialLoad {
            jobs: 1,
            cell_time: Duration::from_secs(2),
            ..TrialLoad::default()
        };
        let device = Servers {
            count: 1,
            mean_ns: 5e6,
            service: Service::Fixed,
            credit_ns: 0.0,
        };
        (device, SearchCells::new(load, goal, None))
    }

    fn measure(device: &Servers, cell: &PlannedCell, number: u64) -> CellFigures {
        let (name, value) = &cell.values[0];
        let value: u64 = value.parse().expect("a number");
        if name == "depth" {
            figures(&device.closed(value as u32, 100_000, number), None)
        } else {
            figures(
                &device.open(value as f64, 300_000, number),
                Some(value as f64),
            )
        }
    }

    /// Regression 0363: a search that ran out of time reported nothing although it had a load within the limits and one
    /// that exceeds them.
    #[test]
    fn an_unfinished_search_reports_its_bracket() {
        let (device, mut source) = slow_server();
        assert_eq!(source.best_answer(), None);
        let mut bracket = None;
        for number in 0..20 {
            let cell = source.next().expect("a cell");
            source.learn(&cell, Ok(&measure(&device, &cell, number)));
            bracket = source
                .best_answer()
                .and_then(|answer| answer.load.zip(answer.exceeded));
            if bracket.is_some() {
                break;
            }
        }
        let (load, exceeded) = bracket.expect("a bracket");
        assert!(load < exceeded, "{load} {exceeded}");
        let answer = source.best_answer().expect("an answer");
        assert!(source.answer.is_none() && answer.stopped_early);
        let summary = fathom_analyse::response(
            "sim".into(),
            &["p99<=25ms".parse().expect("a limit")],
            &source.measured,
            Some(answer),
        );
        let most = summary.max_load.expect("the bracket");
        assert_eq!((most.load, most.exceeded), (Some(load), Some(exceeded)));
        assert!(
            summary.sentences[0].contains("the highest load is between them"),
            "{:?}",
            summary.sentences
        );
    }

    /// Regression 0411: a search on a disk that another program used measured all of its trials.
    #[test]
    fn a_shared_target_ends_the_search_with_the_reason() {
        let (device, mut source) = slow_server();
        let mut number = 0;
        while let Some(cell) = source.next() {
            let mut figures = measure(&device, &cell, number);
            number += 1;
            // One disturbed trial is not enough.
            if number == 2 || number > 4 {
                figures.codes.push("FOREIGN_IO".to_owned());
            }
            source.learn(&cell, Ok(&figures));
        }
        assert_eq!(number, 7);
        let reason = source.failed.expect("a reason");
        assert!(
            reason.starts_with("another program uses the target (FOREIGN_IO in 3 trials in a row)"),
            "{reason}"
        );
    }

    /// Regression 0364: the number of remaining cells rose during a search.
    #[test]
    fn the_number_of_remaining_cells_never_rises() {
        let (device, mut source) = slow_server();
        let mut before = source.remaining();
        for number in 0..500 {
            let Some(cell) = source.next() else {
                assert_eq!(source.remaining(), 0);
                return;
            };
            assert!(
                source.remaining() <= before,
                "{} after {before}",
                source.remaining()
            );
            before = source.remaining();
            source.learn(&cell, Ok(&measure(&device, &cell, number)));
        }
        panic!("no end after 500 cells");
    }

    /// A trial that steal of the host disturbed is repeated; where each is disturbed, the repetitions end.
    #[test]
    fn a_trial_with_steal_is_repeated_but_not_forever() {
        let (device, mut source) = slow_server();
        let (mut trials, mut loads) = (0, Vec::new());
        for number in 0..60 {
            let Some(cell) = source.next() else { break };
            // The curve after the search measures loads of the search again.
            let is_open = cell.values[0].0 == "offered" && matches!(source.stage, Stage::Search(_));
            let mut seen = measure(&device, &cell, number);
            if is_open {
                seen.codes = vec!["STEAL".to_owned()];
                seen.latency.p99 = 1e9;
                trials += 1;
                // A long trial of a load is not a repetition of a short one.
                loads.push((cell.values[0].1.clone(), source.expected(&cell)));
            }
            source.learn(&cell, Ok(&seen));
        }
        // Trials of the same load and length in a row: two repetitions of the first, one of the second, and none later, however
        // long each is disturbed. The search itself measures its lowest load twice.
        let rows: Vec<usize> = loads.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
        assert_eq!(rows[..2], [3, 2], "{rows:?} of {trials} trials");
        let (last, middle) = rows[2..].split_last().expect("more loads");
        assert!(
            middle.iter().all(|row| *row == 1) && *last <= 2,
            "{rows:?} of {trials} trials"
        );
    }

    /// Regression 0365: a long trial was expected to take as long as the mean of the earlier cells, so that a search took
    /// half as long again as its budget.
    #[test]
    fn the_expected_time_of_a_trial_is_its_own() {
        let (_, source) = slow_server();
        let trial = |long| {
            let cell = source.open_trial(SearchLoad { load: 100, long });
            source.expected(&cell).expect("a time")
        };
        assert_eq!(trial(true), LONGEST);
        assert!(trial(false) < LONGEST / 2);
    }

    #[test]
    fn without_limits_the_curve_ends_at_the_highest_closed_loop_rate() {
        let device = Servers {
            count: 4,
            mean_ns: 100_000.0,
            service: Service::Fixed,
            credit_ns: 0.0,
        };
        let source = simulate(
            device,
            SearchGoal {
                limits: Vec::new(),
                precision: 0.01,
                ..SearchGoal::default()
            },
        );
        assert!(source.answer.is_none());
        let loads: Vec<u64> = source.measured.open.iter().map(|(load, _)| *load).collect();
        assert_eq!(loads.len(), SHARES.len());
        assert!(
            (39_900..=40_100).contains(&loads[7]) && (3_990..=4_010).contains(&loads[0]),
            "{loads:?}"
        );
    }

    #[test]
    fn a_mix_and_several_jobs_share_the_load() {
        let load = TrialLoad {
            jobs: 4,
            mix: Some(0.7),
            cell_time: Duration::from_secs(2),
            ..TrialLoad::default()
        };
        let source = SearchCells::new(
            load,
            SearchGoal {
                limits: vec!["p99.9<=1ms".parse().expect("a limit")],
                precision: 0.01,
                ..SearchGoal::default()
            },
            None,
        );
        assert_eq!(source.rate(40_000), "7000,3000");
        assert_eq!(source.short_time(40_000), Duration::from_secs(2));
        assert!(
            source.short_time(100) > Duration::from_secs(59),
            "10,000 I/Os for a p99.9"
        );
        assert_eq!(
            source.long_time(40_000).as_secs(),
            23,
            "838,000 I/Os for a p99.9, and a tenth"
        );
        assert_eq!(
            source.long_time(4_000_000).as_secs(),
            12,
            "six parts; 0.1 s in a hundred and a tenth would be 11.2 s"
        );
        let cell = source.open_trial(SearchLoad {
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
        let mut source = SearchCells::new(
            TrialLoad {
                jobs: 1,
                ..TrialLoad::default()
            },
            SearchGoal::default(),
            None,
        );
        let cell = source.next().expect("a cell");
        source.learn(&cell, Err("no such device"));
        assert!(source.next().is_none());
        assert_eq!(source.failed.as_deref(), Some("no such device"));
    }
}
