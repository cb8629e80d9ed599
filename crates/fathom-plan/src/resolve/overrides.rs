//! `--set [JOB.]OPTION=VALUE`.

use fathom_model::Override;

use super::diagnostics::Diagnostics;
use super::job::job_name;
use super::sections::{UnresolvedJob, override_with};
use super::settings::{check_support, read_assignments};
use crate::diagnostic::Diagnostic;
use crate::jobfile::Assignment;
use crate::span::Span;
use crate::text::shorten;
use crate::values::ParseContext;

/// Applies each override to the jobs it names, or to all.
pub(crate) fn apply(
    sets: &[(Override, Span)],
    jobs: &mut [UnresolvedJob],
    context: &mut ParseContext,
    diagnostics: &mut Diagnostics,
) {
    for (set, at) in sets {
        let assignment = Assignment {
            key: set.option.clone(),
            key_at: at.clone(),
            value: Some(set.value.clone()),
            value_at: at.clone(),
        };
        context.kb_base = 1024;
        let settings = read_assignments(&[assignment], false, false, context, diagnostics);
        settings
            .iter()
            .for_each(|setting| check_support(setting, context.personality, diagnostics));
        let mut found = false;
        for job in jobs.iter_mut().filter(|job| applies_to(set, job)) {
            found = true;
            override_with(job, settings.clone());
        }
        if !found {
            diagnostics.push(no_match(set, at, jobs));
        }
    }
}

fn applies_to(set: &Override, job: &UnresolvedJob) -> bool {
    set.job
        .as_deref()
        .is_none_or(|name| name == job.name || name == job_name(&job.settings, &job.name))
}

fn no_match(set: &Override, at: &Span, jobs: &[UnresolvedJob]) -> Diagnostic {
    let name = set.job.as_deref().unwrap_or("");
    let problem = Diagnostic::error(at.clone(), format!("no job is named '{}'", shorten(name)))
        .about("--set");
    let names: Vec<&str> = jobs.iter().take(8).map(|job| job.name.as_str()).collect();
    if names.is_empty() {
        problem
    } else {
        problem.advise(format!("the jobs are {}", names.join(", ")))
    }
}
