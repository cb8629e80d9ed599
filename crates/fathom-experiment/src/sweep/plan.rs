//! The plan of a sweep: the time and the settings of its cells, and its description before it starts.

use std::fmt;
use std::time::Duration;

use fathom_model::format::{size, time_left};
use fathom_plan::Sweep;

use crate::target::ExperimentTarget;

/// Default time of a cell.
const CELL_TIME: Duration = Duration::from_secs(10);
/// The shortest and the longest cell under a budget.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The time of each of `cells` cells: the requested time, else a share of the budget, else ten seconds; `None` when the job
/// file sets it.
#[must_use]
pub fn cell_time(
    requested: Option<Duration>,
    budget: Option<Duration>,
    has_job_file: bool,
    cells: usize,
) -> Option<Duration> {
    match (requested, budget) {
        (Some(time), _) => Some(time),
        (None, Some(budget)) => Some((budget / cells.max(1) as u32).clamp(SHORTEST, LONGEST)),
        (None, None) => (!has_job_file).then_some(CELL_TIME),
    }
}

/// The settings of all cells: their time, the used size of the targets, then the user's settings.
#[must_use]
pub fn sweep_settings(
    cell_time: Option<Duration>,
    targets: &[ExperimentTarget],
    user: &[(String, String)],
) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
    if let Some(time) = cell_time {
        // In the first tenth of each cell the target settles.
        let (us, ramp) = (time.as_micros(), time.as_micros() / 10);
        set("time_based", "1".to_owned());
        set("ramp_time", format!("{ramp}us"));
        set("runtime", format!("{}us", us - ramp));
    }
    if let Some(size) = targets.iter().filter_map(|target| target.size).min() {
        set("size", size.get().to_string());
    }
    settings.extend(user.iter().cloned());
    settings
}

/// A sweep before it starts. Its text is the number of cells, their time and the targets.
pub struct SweepPlan<'a> {
    /// The grid.
    pub sweep: &'a Sweep,
    /// The time of each cell; `None` when the job file sets it.
    pub cell_time: Option<Duration>,
    /// How often each cell is measured.
    pub repeats: u32,
    /// Whether the grid is filled only where needed.
    pub adaptive: bool,
    /// The time of all cells.
    pub budget: Option<Duration>,
    /// The targets.
    pub targets: &'a [ExperimentTarget],
    /// Whether created files are kept.
    pub keep: bool,
}

impl SweepPlan<'_> {
    /// The cells in the order of their measurement, one line each.
    #[must_use]
    pub fn listing(&self) -> String {
        let positions = self.sweep.positions();
        positions
            .iter()
            .zip(1..)
            .map(|(position, number)| format!("{number:5}  {}\n", self.sweep.cell(position).key))
            .collect()
    }
}

impl fmt::Display for SweepPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.sweep.names().into_iter().zip(self.sweep.shape());
        let shape: Vec<String> = shape
            .map(|(name, (length, _))| format!("{name} {length}"))
            .collect();
        let count = self.sweep.count().unwrap_or(0);
        let plural = if count == 1 { "cell" } else { "cells" };
        write!(f, "{count} {plural} ({})", shape.join(" x "))?;
        if self.repeats > 1 {
            write!(f, ", {} times each", self.repeats)?;
        }
        if self.adaptive {
            f.write_str(" at most, fewer where splits agree")?;
        }
        match self.cell_time {
            Some(time) => {
                let all = time * (count * self.repeats as usize) as u32;
                write!(f, ": {} each, {} in total", time_left(time), time_left(all))?;
            }
            None => f.write_str(": time set by the job file")?,
        }
        if let Some(budget) = self.budget {
            write!(f, " (budget {})", time_left(budget))?;
        }
        for target in self.targets {
            let size = target.size.map_or("all of it".to_owned(), size);
            let removed = if target.made && !self.keep {
                ", removed at the end"
            } else {
                ""
            };
            write!(f, "\n  on {} ({size}{removed})", target.file.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fathom_plan::Axis;

    use super::*;

    #[test]
    fn a_budget_is_shared_within_limits() {
        let time = |budget, cells| cell_time(None, Some(Duration::from_secs(budget)), true, cells);
        assert_eq!(time(60, 10), Some(Duration::from_secs(6)));
        assert_eq!(time(1, 10), Some(SHORTEST));
        assert_eq!(time(3600, 10), Some(LONGEST));
        assert_eq!(cell_time(None, None, true, 10), None);
        assert_eq!(cell_time(None, None, false, 10), Some(CELL_TIME));
    }

    #[test]
    fn the_plan_names_cells_times_and_targets() {
        let sweep = Sweep {
            axes: vec![Axis::parse("bs=4k,8k").expect("an axis")],
            job_file: None,
            settings: Vec::new(),
            targets: Vec::new(),
            display_names: Vec::new(),
            together: true,
        };
        let plan = SweepPlan {
            sweep: &sweep,
            cell_time: Some(Duration::from_secs(10)),
            repeats: 3,
            adaptive: false,
            budget: None,
            targets: &[ExperimentTarget {
                file: "/mnt/x".into(),
                display_name: "/mnt".to_owned(),
                size: None,
                writes: true,
                made: true,
            }],
            keep: false,
        };
        assert_eq!(
            plan.to_string(),
            "2 cells (bs 2), 3 times each: 10 s each, 60 s in total\n  on /mnt/x (all of it, removed at the end)"
        );
        assert_eq!(plan.listing(), "    1  bs=4k\n    2  bs=8k\n");
    }
}
