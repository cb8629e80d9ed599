//! What an error does, and what the end of a job means for others.

use fathom_model::{ErrorPolicy, ExitRule, ExitWhat, Nanos, PerDirection};

use super::job::View;
use crate::values::Value;

/// Resolves which errors a job survives.
pub(crate) fn resolve(view: &View<'_>) -> ErrorPolicy {
    let (word, _) = view.settings.choice("continue_on_error", "none");
    let all = matches!(word, "all" | "1");
    ErrorPolicy {
        continue_read: all || matches!(word, "read" | "io"),
        continue_write: all || matches!(word, "write" | "io"),
        continue_verify: all || word == "verify",
        ignore: ignored(view),
        max_latency: PerDirection(
            view.settings
                .three("max_latency", 0)
                .map(|nanos| (nanos > 0).then(|| Nanos::new(nanos))),
        ),
    }
}

fn ignored(view: &View<'_>) -> [Vec<i32>; 3] {
    let mut ignored: [Vec<i32>; 3] = Default::default();
    for setting in view.settings.all("ignore_error") {
        let Value::Errors(lists) = &setting.value else {
            continue;
        };
        for (ignored, list) in ignored.iter_mut().zip(lists) {
            if let Some(list) = list {
                ignored.clone_from(list);
            }
        }
    }
    ignored
}

/// Resolves what the end of this job means; as in fio, one job's `exitall` speaks for all.
pub(crate) fn exit_rule(view: &View<'_>, exit_all: bool) -> ExitRule {
    ExitRule {
        exit_all,
        exit_all_on_error: view.settings.switch("exitall_on_error"),
        what: match view.settings.choice("exit_what", "group").0 {
            "stonewall" => ExitWhat::Stonewall,
            "all" => ExitWhat::All,
            _ => ExitWhat::Group,
        },
    }
}
