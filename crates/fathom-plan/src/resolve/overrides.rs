//! `--set [JOB.]OPTION=VALUE`.

use fathom_model::Override;

use super::job::job_name;
use super::report::Report;
use super::sections::{Draft, override_with};
use super::settings::{judge_support, read_assignments};
use crate::diagnostic::Diagnostic;
use crate::jobfile::Assignment;
use crate::span::Span;
use crate::values::Reading;

/// Applies each override to the jobs it names, or to all.
pub(crate) fn apply(
    sets: &[(Override, Span)],
    jobs: &mut [Draft],
    reading: &mut Reading,
    report: &mut Report,
) {
    for (set, at) in sets {
        let assignment = Assignment {
            key: set.option.clone(),
            key_at: at.clone(),
            value: Some(set.value.clone()),
            value_at: at.clone(),
        };
        reading.kb_base = 1024;
        let settings = read_assignments(&[assignment], false, false, reading, report);
        settings
            .iter()
            .for_each(|setting| judge_support(setting, reading.personality, report));
        let mut found = false;
        for job in jobs.iter_mut().filter(|job| concerns(set, job)) {
            found = true;
            override_with(job, settings.clone());
        }
        if !found {
            report.push(nobody(set, at, jobs));
        }
    }
}

fn concerns(set: &Override, job: &Draft) -> bool {
    set.job
        .as_deref()
        .is_none_or(|name| name == job.name || name == job_name(&job.settings, &job.name))
}

fn nobody(set: &Override, at: &Span, jobs: &[Draft]) -> Diagnostic {
    let name = set.job.as_deref().unwrap_or("");
    let problem = Diagnostic::error(
        at.clone(),
        format!("there is no job '{}'", crate::jobfile::shorten(name)),
    )
    .about("--set");
    let names: Vec<&str> = jobs.iter().take(8).map(|job| job.name.as_str()).collect();
    if names.is_empty() {
        problem
    } else {
        problem.advise(format!("the jobs are {}", names.join(", ")))
    }
}
