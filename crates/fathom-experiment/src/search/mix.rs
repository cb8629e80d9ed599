//! The load that a search varies: its mix of reads and writes, and its description.

use fathom_model::{Plan, Traffic};
use thiserror::Error;

use crate::target::ExperimentTarget;

/// Why a load cannot be searched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SearchError {
    /// The plan has no job.
    #[error("there is no job")]
    NoJob,
    /// A job sets its own rate.
    #[error(
        "job '{0}' sets its own rate, which a search varies: remove rate, rate_iops and read_iolog"
    )]
    Paced(String),
    /// A job waits for others.
    #[error(
        "job '{0}' waits for others (stonewall): the jobs of a search must run at the same time"
    )]
    Waits(String),
    /// Jobs differ in their mix.
    #[error("the jobs have different mixes of reads and writes: search each of them alone")]
    Mixes,
}

/// The share of reads in a mix of reads and writes; `None` for other traffic.
///
/// # Errors
/// When the jobs set their own rates or do not run at the same time: then there is no single load to vary.
pub fn search_mix(plan: &Plan) -> Result<Option<f64>, SearchError> {
    let share = |traffic: &Traffic| match traffic {
        Traffic::ReadWrite { read_percent } if (1..100).contains(read_percent) => {
            Some(f64::from(*read_percent) / 100.0)
        }
        _ => None,
    };
    let first = plan
        .jobs
        .first()
        .map(|job| share(&job.pattern.traffic))
        .ok_or(SearchError::NoJob)?;
    for job in &plan.jobs {
        let sets_rate =
            job.pace.rate.iter().any(|(_, rate)| rate.is_some()) || job.pace.replay.is_some();
        if sets_rate {
            return Err(SearchError::Paced(job.name.clone()));
        }
        if job.start.after_all_before {
            return Err(SearchError::Waits(job.name.clone()));
        }
        if share(&job.pattern.traffic) != first {
            return Err(SearchError::Mixes);
        }
    }
    Ok(first)
}

/// Describes the load of a search and its target.
#[must_use]
pub fn search_description(plan: &Plan, target: Option<&ExperimentTarget>) -> String {
    let load = fathom_analyse::load_summary(plan);
    let location = target.map_or(String::new(), |target| {
        let size = target
            .size
            .map_or("all of it".to_owned(), fathom_model::format::size);
        format!(" on {} ({size})", target.file.display())
    });
    load + &location
}
