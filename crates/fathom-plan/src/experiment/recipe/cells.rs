//! The cells of a step on a target.

use fathom_model::{Bytes, Nanos};

use super::{Recipe, Step};
use crate::experiment::PlannedCell;
use crate::values::parse_size;

/// Minimum time of a cell in a rehearsal.
const MIN_TIME: u64 = 100_000_000;

/// The target of a procedure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTarget {
    /// The target, as the value of `filename`.
    pub target: String,
    /// The size that is used.
    pub size: Bytes,
    /// Whether it may be written.
    pub writes: bool,
    /// All times are divided by this: 1 is the procedure, more is a rehearsal.
    pub time_divisor: u32,
}

/// An option of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The option.
    pub option: String,
    /// Its value.
    pub value: String,
    /// Its label in the table.
    pub label: String,
}

impl Recipe {
    /// Time of a cell of `step`; `None` where it transfers an amount.
    #[must_use]
    pub fn time(&self, step: &Step, target: &RunTarget) -> Option<Nanos> {
        // While the tenants join, each stage has the time of a cell.
        let stages = if step.joining {
            step.tenants.len() as u64
        } else {
            1
        };
        step.passes.is_none().then(|| {
            let stage = shortened(step.time.unwrap_or(self.time), target);
            Nanos::new(stage.get() * stages)
        })
    }

    /// The cells of `step`; the first axis is the outer loop. `levels` are the combinations of its levels, empty where it has
    /// none. Sizes larger than the target are left out.
    #[must_use]
    pub fn cells(
        &self,
        step: &Step,
        target: &RunTarget,
        levels: &[Vec<Setting>],
    ) -> Vec<PlannedCell> {
        let mut combinations: Vec<Vec<Setting>> = vec![Vec::new()];
        for axis in &step.axes {
            let fits = |value: &&String| {
                axis.name != "size" || parse_size(value).map_or(true, |size| size <= target.size)
            };
            let setting = |value: &String| Setting {
                option: axis.name.clone(),
                value: value.clone(),
                label: value.clone(),
            };
            combinations = combine(
                &combinations,
                &axis
                    .values
                    .iter()
                    .filter(fits)
                    .map(|value| vec![setting(value)])
                    .collect::<Vec<_>>(),
            );
        }
        if !step.levels.is_empty() {
            combinations = combine(&combinations, levels);
        }
        combinations
            .iter()
            .map(|values| self.cell(step, target, values))
            .collect()
    }

    /// The load of the first cell before each round, for the time that the procedure sets.
    #[must_use]
    pub fn soak(&self, step: &Step, target: &RunTarget, round: u32) -> Option<PlannedCell> {
        let time = shortened(step.rounds.as_ref()?.soak?, target);
        let first = self.cells(step, target, &[]).into_iter().next()?;
        let mut cell = PlannedCell {
            key: format!("{} soak", step.name),
            repeat: round,
            ..first
        };
        cell.settings.push(("runtime".to_owned(), micros(time)));
        Some(cell)
    }

    /// Each section of a tenant has its own part of the target, the same in every step, and joins when it is due.
    fn tenant_settings(&self, step: &Step, target: &RunTarget) -> Vec<(String, String)> {
        let sections = self.tenants.iter().map(|tenant| tenant.sections.len());
        let sections = sections.sum::<usize>().max(1) as u64;
        let part = ((target.size.get() / sections) >> 20 << 20).max(1 << 20);
        let time = self.time(step, target).unwrap_or_default();
        let mut settings = Vec::new();
        for (stage, at) in step.tenants.iter().enumerate() {
            let before = self.tenants[..*at]
                .iter()
                .map(|tenant| tenant.sections.len());
            let before = before.sum::<usize>() as u64;
            for (number, section) in (before..).zip(&self.tenants[*at].sections) {
                let mut set = |option: &str, value: String| {
                    settings.push((format!("{section}.{option}"), value));
                };
                set("size", part.to_string());
                set("offset", (number * part).to_string());
                if step.joining && stage > 0 {
                    let delay = time.get() / step.tenants.len() as u64 * stage as u64;
                    set("startdelay", micros(Nanos::new(delay)));
                    set("runtime", micros(Nanos::new(time.get() - delay)));
                }
            }
        }
        settings
    }

    fn cell(&self, step: &Step, target: &RunTarget, values: &[Setting]) -> PlannedCell {
        let job_file = step
            .job
            .clone()
            .unwrap_or_else(|| format!("[{}]\n", step.name));
        let mut settings: Vec<(String, String)> = Vec::new();
        let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
        // The jobs of a job file are reported separately.
        if step.job.is_none() {
            set("group_reporting", "1".to_owned());
        }
        set("size", share(step, target).to_string());
        match step.share {
            Some(jobs) if jobs > 1 => {
                set("numjobs", jobs.to_string());
                set("offset_increment", share(step, target).to_string());
            }
            _ => {}
        }
        match self.time(step, target) {
            Some(time) => {
                set("time_based", "1".to_owned());
                set("runtime", micros(time));
            }
            None => set("loops", step.passes.unwrap_or(1).to_string()),
        }
        settings.extend(self.tenant_settings(step, target));
        settings.extend(self.options.iter().cloned());
        settings.extend(step.options.iter().cloned());
        if !target.writes {
            settings.extend(step.read_only.iter().cloned());
        }
        settings.extend(
            values
                .iter()
                .map(|setting| (setting.option.clone(), setting.value.clone())),
        );
        // The job of an application waits as long as the application runs; its recording is filled with the transactions.
        let tenants = step.tenants.iter().map(|at| &self.tenants[*at]);
        for tenant in tenants.filter(|tenant| tenant.app.is_some()) {
            let waits = [
                ("ioengine", "exec"),
                ("program", "sleep 1000000000"),
                ("std_redirect", "0"),
                ("grace_time", "0"),
            ];
            settings.extend(
                waits.map(|(name, value)| (format!("{}.{name}", tenant.name), value.to_owned())),
            );
        }
        if let Some(training) = &step.training {
            let threads = training.read_threads;
            let rate = training.demand() / f64::from(threads);
            settings.push(("rate".to_owned(), format!("{rate:.0}")));
            for (_, value) in settings.iter_mut().filter(|(name, _)| name == "numjobs") {
                let accelerators: u32 = value.parse().unwrap_or(1);
                *value = accelerators.saturating_mul(threads).to_string();
            }
        }
        let pairs: Vec<(String, String)> = values
            .iter()
            .map(|setting| (axis_name(step, &setting.option), setting.label.clone()))
            .collect();
        let key = pairs.iter().fold(step.name.clone(), |key, (name, value)| {
            format!("{key} {name}={value}")
        });
        PlannedCell {
            key,
            values: pairs,
            source: format!("{}.fio", step.name),
            job_file,
            settings,
            targets: vec![target.target.clone()],
            repeat: 0,
            prepares: step.prepares,
        }
    }
}

/// The name of an axis in results: jobs of a training step are accelerators.
fn axis_name(step: &Step, option: &str) -> String {
    match (&step.training, option) {
        (Some(_), "numjobs") => "accelerators".to_owned(),
        _ => option.to_owned(),
    }
}

fn shortened(time: Nanos, target: &RunTarget) -> Nanos {
    let divisor = u64::from(target.time_divisor.max(1));
    if divisor == 1 {
        time
    } else {
        Nanos::new((time.get() / divisor).max(MIN_TIME))
    }
}

fn micros(time: Nanos) -> String {
    format!("{}us", time.get() / 1000)
}

/// The part of one job in whole MiB.
fn share(step: &Step, target: &RunTarget) -> u64 {
    let size = target.size.get();
    match step.share {
        Some(jobs) if jobs > 1 => ((size / u64::from(jobs)) >> 20 << 20)
            .max(1 << 20)
            .min(size),
        _ => size,
    }
}

fn combine(outer: &[Vec<Setting>], inner: &[Vec<Setting>]) -> Vec<Vec<Setting>> {
    outer
        .iter()
        .flat_map(|outer| {
            inner
                .iter()
                .map(move |inner| outer.iter().chain(inner).cloned().collect())
        })
        .collect()
}
