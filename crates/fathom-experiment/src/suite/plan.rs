//! The plan of a suite: which steps run, how long they take, and what they write.

use std::fmt::Write as _;
use std::time::Duration;

use fathom_model::Bytes;
use fathom_model::format::{size, thousands, time_left};
use fathom_plan::{Level, PlannedCell, Recipe, RunTarget, Setting, Step, parse_size};

use super::cells::StepProgress;
use crate::cell::layout_cell;
use crate::target::ExperimentTarget;

/// Speed for the estimated time of a fill, bytes per second: that of a SATA drive.
const FILL_SPEED: u64 = 500_000_000;
/// Rate at which passes in random order are estimated.
const ASSUMED_IOPS: u64 = 10_000;
/// Placeholder for a level whose value is not known yet.
const SOME_LEVEL: &str = "1000";

/// A suite before it starts.
#[derive(Clone, Debug)]
pub struct SuitePlan<'a> {
    /// The recipe.
    pub recipe: &'a Recipe,
    /// The target.
    pub target: ExperimentTarget,
    /// The target as the recipe uses it.
    pub run_target: RunTarget,
    /// The target in texts.
    pub target_name: String,
    /// Why a step is left out, for each step.
    pub left_out: Vec<Option<String>>,
    /// Whether each purge writes the whole target.
    pub purge_writes: bool,
    /// Whether a created file is kept.
    pub keep: bool,
}

impl SuitePlan<'_> {
    /// The cells of a step, with placeholders for levels.
    #[must_use]
    pub fn cells(&self, step: &Step) -> Vec<PlannedCell> {
        let level = |level: &Level| Setting {
            option: level.option.clone(),
            value: SOME_LEVEL.to_owned(),
            label: "?".to_owned(),
        };
        let levels = step.levels.iter().map(level).collect();
        self.recipe.cells(step, &self.run_target, &[levels])
    }

    /// The steps that are not left out.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        let steps = self.recipe.steps.iter().zip(&self.left_out);
        steps
            .filter(|(_, reason)| reason.is_none())
            .map(|(step, _)| step)
    }

    /// Whether the recipe cannot be carried out: every step is left out, or one of a procedure, which needs all.
    #[must_use]
    pub fn is_impossible(&self) -> bool {
        self.left_out.iter().all(Option::is_some)
            || self.recipe.procedure.is_some() && self.left_out.iter().any(Option::is_some)
    }

    /// The cell that lays out a created file.
    #[must_use]
    pub fn layout(&self) -> Option<PlannedCell> {
        let size = self.target.size.filter(|_| self.target.writes)?;
        Some(layout_cell(size, vec![self.run_target.target.clone()]))
    }

    /// The cell that discards the whole target.
    #[must_use]
    pub fn discard(&self) -> PlannedCell {
        self.whole_target("purge by discard", "rw=trim\nbs=1m\niodepth=1\n")
    }

    /// The cell that writes zeros to the whole target.
    #[must_use]
    pub fn zeros(&self) -> PlannedCell {
        self.whole_target(
            "purge by zeros",
            "rw=write\nbs=1m\nzero_buffers=1\ndirect=1\n",
        )
    }

    fn whole_target(&self, key: &str, options: &str) -> PlannedCell {
        PlannedCell {
            key: key.to_owned(),
            source: "prepare.fio".to_owned(),
            job_file: format!("[prepare]\n{options}"),
            settings: vec![("size".to_owned(), self.run_target.size.get().to_string())],
            targets: vec![self.run_target.target.clone()],
            prepares: true,
            ..PlannedCell::default()
        }
    }

    /// What the suite measures, on which target, and the estimated time.
    #[must_use]
    pub fn summary(&self) -> String {
        let removed = if self.target.made && !self.keep {
            ", a file that is removed at the end"
        } else {
            ""
        };
        let mut text = format!(
            "{}: {}\n  on {} ({}{removed})\n",
            self.recipe.name,
            self.recipe.title,
            self.target_name,
            size(self.run_target.size)
        );
        if let Some(procedure) = &self.recipe.procedure {
            let _ = writeln!(text, "  {procedure}; follows the procedure, not certified");
        }
        let (mut least, mut most) = (Duration::ZERO, Duration::ZERO);
        for step in self.steps() {
            let (low, high) = self.time(step);
            least += low;
            most += high;
        }
        let range = if least == most {
            time_left(least)
        } else {
            format!("{} to {}", time_left(least), time_left(most))
        };
        let random_ios = self.random_ios();
        if !most.is_zero() || random_ios == 0 {
            let _ = writeln!(text, "  measuring: {range}");
        }
        if random_ios > 0 {
            let time = Duration::from_secs(random_ios.div_ceil(ASSUMED_IOPS));
            let _ = writeln!(
                text,
                "  measuring {} random I/Os, until all are done: {} at {} IOPS",
                thousands(random_ios),
                time_left(time),
                thousands(ASSUMED_IOPS)
            );
        }
        let filled = self.filled();
        if filled > 0 {
            let time = Duration::from_secs(filled.div_ceil(FILL_SPEED));
            let _ = writeln!(
                text,
                "  transferring {} sequentially, mostly to prepare: {} at 500 MB/s",
                size(Bytes::new(filled)),
                time_left(time)
            );
        }
        text
    }

    /// Bytes that fills and purges write.
    fn filled(&self) -> u64 {
        let target = self.run_target.size.get();
        let sequential = self.steps().filter(|step| !self.is_random(step));
        let passes = sequential
            .map(|step| u64::from(step.passes.unwrap_or(0)) * self.cells(step).len() as u64);
        let purges = self.recipe.steps.iter().filter(|step| step.purge).count() as u64;
        let purges = if self.purge_writes { purges } else { 0 };
        (passes.sum::<u64>() + purges) * target
    }

    /// Number of I/Os of the passes over the whole target in random order.
    fn random_ios(&self) -> u64 {
        let ios = |step: &Step| {
            let block = self
                .option(step, "bs")
                .and_then(|text| parse_size(&text).ok());
            let block = block.map_or(4096, fathom_model::Bytes::get).max(1);
            u64::from(step.passes.unwrap_or(0))
                * self.cells(step).len() as u64
                * (self.run_target.size.get() / block)
        };
        let random = self.steps().filter(|step| self.is_random(step));
        random.map(ios).sum()
    }

    fn is_random(&self, step: &Step) -> bool {
        let pattern = self.option(step, "rw");
        pattern.is_some_and(|pattern| pattern.starts_with("rand"))
    }

    /// An option of the cells of a step.
    fn option(&self, step: &Step, name: &str) -> Option<String> {
        let cells = self.cells(step);
        let mut settings = cells.first()?.settings.iter().rev();
        let (_, value) = settings.find(|(setting, _)| setting == name)?;
        Some(value.clone())
    }

    /// The least and the most time of a step, without fills.
    fn time(&self, step: &Step) -> (Duration, Duration) {
        let levels = step.levels.iter().map(|level| level.percent.len());
        let cells = (self.cells(step).len() * levels.product::<usize>()) as u32;
        let of_cell = self
            .recipe
            .time(step, &self.run_target)
            .map_or(0, fathom_model::Nanos::get);
        let soak_us = self
            .recipe
            .soak(step, &self.run_target, 0)
            .and_then(|cell| {
                let mut settings = cell.settings.iter().rev();
                let (_, runtime) = settings.find(|(name, _)| name == "runtime")?;
                runtime.trim_end_matches("us").parse::<u64>().ok()
            });
        let round =
            Duration::from_nanos(of_cell) * cells + Duration::from_micros(soak_us.unwrap_or(0));
        match &step.rounds {
            Some(rounds) => (
                round * fathom_analyse::PTS_WINDOW as u32,
                round * rounds.max,
            ),
            None => (round, round),
        }
    }

    /// The steps and their cells.
    #[must_use]
    pub fn listing(&self) -> String {
        let mut text = String::new();
        for (step, reason) in self.recipe.steps.iter().zip(&self.left_out) {
            let cells = self.cells(step);
            let levels = step.levels.iter().map(|level| level.percent.len());
            let amount = match (reason, &step.rounds, step.levels.is_empty()) {
                (Some(reason), _, _) => format!("left out: {reason}"),
                (None, Some(rounds), _) => format!(
                    "rounds of {}, at most {}, until steady",
                    counted(cells.len()),
                    rounds.max
                ),
                (None, None, false) => counted(levels.product()),
                (None, None, true) => counted(cells.len()),
            };
            let _ = writeln!(text, "{}: {} ({amount})", step.name, step.title);
            if reason.is_none() && step.levels.is_empty() {
                text.extend(cells.iter().map(|cell| format!("  {}\n", cell.key)));
            }
        }
        text
    }

    /// Differences between the run and the recipe. `purge` says how the target was purged, `faster` by how much all times
    /// were shortened, and `write_cache` is the state of the device's write cache, which a procedure reports.
    #[must_use]
    pub fn notes(
        &self,
        done: &[StepProgress],
        purge: Option<&str>,
        faster: Option<u32>,
        write_cache: Option<&str>,
    ) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        if self.recipe.steps.iter().any(|step| step.purge) {
            let not_purged = "The target was not purged. Purge it with --purge=discard or --purge=zeros, or give --purge=done after the device's own format.";
            notes.push(purge.unwrap_or(not_purged).to_owned());
        }
        if let Some(times) = faster {
            notes.push(format!(
                "All times are {times} times shorter than in the recipe: this is a rehearsal, not the procedure."
            ));
        }
        if self.recipe.procedure.is_some() && self.target.made {
            notes.push(
                "The target is a file, and the procedure is for devices: the results include the file system."
                    .to_owned(),
            );
        }
        if let (Some(_), Some(cache)) = (&self.recipe.procedure, write_cache) {
            notes.push(format!(
                "Write cache of {cache}. The procedure requires it off."
            ));
        }
        let left_out = self.recipe.steps.iter().zip(done);
        notes.extend(left_out.filter_map(|(step, done)| {
            let reason = done.left_out.as_ref()?;
            Some(format!("{} was left out: {reason}.", step.title))
        }));
        notes
    }
}

fn counted(cells: usize) -> String {
    format!("{cells} cell{}", if cells == 1 { "" } else { "s" })
}
