//! Names of workloads in plain words, and the loads that are measured at several queue depths.

use fathom_model::JobFigures;

use crate::figures::{bytes, rate};

/// The share of the highest rate that a queue depth must reach to be enough.
const ENOUGH: f64 = 0.95;

/// The group of a workload in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Random,
    Sequential,
    Mixed,
    Commits,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] = [Kind::Random, Kind::Sequential, Kind::Mixed, Kind::Commits];

    pub(super) fn of(job: &JobFigures) -> Kind {
        if job.commits && job.rw.contains("write") {
            Kind::Commits
        } else if job.directions.len() > 1
            || matches!(job.rw.as_str(), "rw" | "readwrite" | "randrw")
        {
            Kind::Mixed
        } else if job.rw.contains("rand") {
            Kind::Random
        } else {
            Kind::Sequential
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Kind::Random => "Random",
            Kind::Sequential => "Sequential",
            Kind::Mixed => "Mixed",
            Kind::Commits => "Commits",
        }
    }
}

/// What a load does, without its queue depth: `4 KiB random reads`.
pub(super) fn pattern(job: &JobFigures) -> String {
    let block = job.block.map_or(String::new(), |block| bytes(block) + " ");
    let share = |mix: u32| format!("{mix}/{} ", 100u32.saturating_sub(mix));
    let mix = job.mix.map_or(String::new(), share);
    let what = match job.rw.as_str() {
        "read" => "sequential reads".to_owned(),
        "write" => "sequential writes".to_owned(),
        "randread" => "random reads".to_owned(),
        "randwrite" => "random writes".to_owned(),
        "rw" | "readwrite" => format!("sequential {mix}read/write mix"),
        "randrw" => format!("random {mix}read/write mix"),
        "trim" => "sequential trims".to_owned(),
        "randtrim" => "random trims".to_owned(),
        "" => return job.name.clone(),
        other => other.to_owned(),
    };
    let flush = if job.commits && job.rw.contains("write") {
        " with flush"
    } else {
        ""
    };
    format!("{block}{what}{flush}")
}

/// The load with its queue depth, its jobs and its planned rate.
pub(super) fn generated(job: &JobFigures) -> String {
    let mut parts = vec![pattern(job)];
    parts.extend(job.depth.map(|depth| format!("depth {depth}")));
    let jobs = job.jobs.filter(|jobs| *jobs > 1);
    parts.extend(jobs.map(|jobs| format!("{jobs} jobs")));
    parts.extend(
        job.offered
            .map(|planned| format!("{} IOPS planned", rate(planned))),
    );
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// The description of each job: that of its job file where it tells the jobs apart, otherwise one from its options,
/// with the name where several jobs of a device have the same.
pub(super) fn descriptions(jobs: &[&JobFigures]) -> Vec<String> {
    let count = |of: &dyn Fn(&JobFigures) -> String| {
        let mut counts = std::collections::HashMap::new();
        for job in jobs {
            *counts.entry((job.source.clone(), of(job))).or_insert(0u32) += 1;
        }
        counts
    };
    let given = count(&|job| job.description.clone());
    let made = count(&generated);
    let is_single =
        |counts: &std::collections::HashMap<(String, String), u32>,
         job: &JobFigures,
         text: &str| { counts.get(&(job.source.clone(), text.to_owned())) == Some(&1) };
    let describe = |job: &&JobFigures| {
        let text = generated(job);
        if !job.description.is_empty() && is_single(&given, job, &job.description) {
            job.description.clone()
        } else if is_single(&made, job, &text) || job.name.is_empty() || job.name == text {
            text
        } else {
            format!("{}: {text}", job.name)
        }
    };
    jobs.iter().map(describe).collect()
}

/// One load at one or several queue depths.
#[derive(Clone, Debug)]
pub(super) struct Load<'a> {
    pub(super) jobs: Vec<&'a JobFigures>,
}

/// One point of a load: I/Os in flight, I/Os per second, and its job.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadPoint<'a> {
    pub(super) in_flight: f64,
    pub(super) iops: f64,
    pub(super) job: &'a JobFigures,
}

/// What jobs of one load have in common.
pub(super) type LoadKey<'a> = (&'a str, Option<u64>, Option<u32>, bool, bool);

pub(super) fn load_key(job: &JobFigures) -> LoadKey<'_> {
    let is_open = job.offered.is_some() || job.rate.is_some();
    (&job.rw, job.block, job.mix, job.commits, is_open)
}

/// The loads of `jobs`, in order of first appearance.
pub(super) fn loads<'a>(jobs: &[&'a JobFigures]) -> Vec<Load<'a>> {
    let mut all: Vec<Load> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for job in jobs {
        let place = *known.entry(load_key(job)).or_insert(all.len());
        if place == all.len() {
            all.push(Load { jobs: Vec::new() });
        }
        all[place].jobs.push(job);
    }
    all
}

impl<'a> Load<'a> {
    pub(super) fn first(&self) -> &'a JobFigures {
        self.jobs[0]
    }

    /// By I/Os in flight, rising; of several jobs with as many the fastest.
    pub(super) fn points(&self) -> Vec<LoadPoint<'a>> {
        let point = |job: &&'a JobFigures| {
            Some(LoadPoint {
                in_flight: job.outstanding()?,
                iops: job.iops(),
                job,
            })
        };
        let mut points: Vec<LoadPoint> = self.jobs.iter().filter_map(point).collect();
        points.sort_by(|a, b| {
            a.in_flight
                .total_cmp(&b.in_flight)
                .then(b.iops.total_cmp(&a.iops))
        });
        points.dedup_by_key(|point| point.in_flight);
        points
    }

    /// The lowest queue depth that reaches 95 % of the highest rate.
    pub(super) fn knee(&self) -> Option<LoadPoint<'a>> {
        let points = self.points();
        let most = points.iter().map(|point| point.iops).fold(0.0, f64::max);
        points
            .into_iter()
            .find(|point| point.iops >= ENOUGH * most && most > 0.0)
    }

    /// The jobs that stand for a load with very many: the shallowest, the knee and the deepest.
    pub(super) fn extract(&self) -> Vec<&'a JobFigures> {
        let points = self.points();
        let ends = [points.first().copied(), self.knee(), points.last().copied()];
        let mut chosen: Vec<&JobFigures> = Vec::new();
        for point in ends.into_iter().flatten() {
            if !chosen.iter().any(|job| std::ptr::eq(*job, point.job)) {
                chosen.push(point.job);
            }
        }
        if chosen.is_empty() {
            chosen.extend(self.jobs.iter().take(3));
        }
        chosen
    }
}

/// Where a point is: `a queue depth of 32`, or `64 I/Os in flight` with several jobs.
pub(super) fn place(point: &LoadPoint) -> String {
    match (point.job.depth, point.job.jobs.unwrap_or(1)) {
        (Some(depth), 1) => format!("a queue depth of {depth}"),
        _ => format!("{} I/Os in flight", rate(point.in_flight)),
    }
}
