//! Which errors a job survives, and which jobs end with it.

use fathom_model::{ErrorPolicy, ExitRule, ExitWhat, Nanos, PerDirection};

use super::job::JobView;
use crate::options::table as opt;

/// Resolves which errors a job survives.
pub(crate) fn resolve(view: &JobView<'_>) -> ErrorPolicy {
    let value = view.settings.get(opt::CONTINUE_ON_ERROR);
    let all = matches!(value, "all" | "1");
    ErrorPolicy {
        continue_read: all || matches!(value, "read" | "io"),
        continue_write: all || matches!(value, "write" | "io"),
        continue_verify: all || value == "verify",
        ignore: ignored(view),
        max_latency: PerDirection(
            view.settings
                .get(opt::MAX_LATENCY)
                .map(|nanos| (nanos > 0).then(|| Nanos::new(nanos))),
        ),
    }
}

fn ignored(view: &JobView<'_>) -> [Vec<i32>; 3] {
    let mut ignored: [Vec<i32>; 3] = Default::default();
    for (ignored, list) in ignored
        .iter_mut()
        .zip(view.settings.given(opt::IGNORE_ERROR).into_iter().flatten())
    {
        *ignored = list.unwrap_or_default().to_vec();
    }
    ignored
}

/// Resolves which jobs end with this one; as in fio, `exitall` in one job counts for all.
pub(crate) fn exit_rule(view: &JobView<'_>, exit_all: bool) -> ExitRule {
    ExitRule {
        exit_all,
        exit_all_on_error: view.settings.get(opt::EXITALL_ON_ERROR),
        scope: match view.settings.get(opt::EXIT_WHAT) {
            "stonewall" => ExitWhat::Stonewall,
            "all" => ExitWhat::All,
            _ => ExitWhat::Group,
        },
    }
}
