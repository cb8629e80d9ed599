//! Who carries the I/O, and on which CPUs.

use fathom_model::{EngineKind, EngineSettings, EngineSpec};

use super::job::View;
use super::report::Report;
use crate::options::closest;
use crate::values::Value;

/// The engines that are built in.
pub(crate) const ENGINES: [EngineKind; 10] = [
    EngineKind::Sync,
    EngineKind::Psync,
    EngineKind::Vsync,
    EngineKind::Pvsync,
    EngineKind::Pvsync2,
    EngineKind::Libaio,
    EngineKind::IoUring,
    EngineKind::PosixAio,
    EngineKind::Mmap,
    EngineKind::Null,
];

/// Resolves the engine; without one it is fio's default, psync, and in `fathom run` the best that can carry a depth.
pub(crate) fn resolve(view: &View<'_>, report: &mut Report) -> EngineSpec {
    let asked = view.settings.text("ioengine");
    let kind = match asked {
        None if !view.is_fio() && view.settings.number("iodepth", 1) > 1 => EngineKind::IoUring,
        None => EngineKind::Psync,
        Some(name) => by_name(name).unwrap_or_else(|| {
            report.push(unknown(view, name));
            EngineKind::Psync
        }),
    };
    EngineSpec { kind, named: asked.is_some(), settings: settings(view) }
}

/// The built-in engine of this name; fio reads the name up to a colon.
pub(crate) fn by_name(name: &str) -> Option<EngineKind> {
    let head = name.split([':', ',']).next().unwrap_or("");
    ENGINES.into_iter().find(|kind| kind.word() == head)
}

fn unknown(view: &View<'_>, name: &str) -> crate::diagnostic::Diagnostic {
    let shown = crate::jobfile::shorten(name);
    let words = ENGINES.map(EngineKind::word);
    let problem = view.error("ioengine", format!("'{shown}' is not built in"));
    match closest(name, words.into_iter()) {
        Some(best) => problem.advise(format!("did you mean {best}?")),
        None => problem.advise(format!("use {}", words.join(", "))),
    }
}

fn settings(view: &View<'_>) -> EngineSettings {
    let settings = view.settings;
    let any = |name| settings.number(name, 0) > 0;
    let sq_poll_cpu = settings.is_set("sqthread_poll_cpu").then(|| settings.small("sqthread_poll_cpu", 0));
    EngineSettings {
        fixed_buffers: settings.switch("fixedbufs"),
        register_files: settings.switch("registerfiles"),
        register_where_possible: !view.is_fio() && !settings.is_set("fixedbufs") && !settings.is_set("registerfiles"),
        sq_poll: settings.switch("sqthread_poll"),
        sq_poll_cpu,
        high_priority: settings.switch("hipri"),
        userspace_reap: settings.switch("userspace_reap"),
        nowait: settings.switch("nowait"),
        uncached: any("uncached"),
        force_async: settings.small("force_async", 0),
        vectored: matches!(settings.last("nonvectored").map(|setting| &setting.value), Some(Value::Number(0))),
    }
}

/// CPUs of the worker with this number: the later of `cpus_allowed` and `cpumask`, or one of them each.
pub(crate) fn cpus(view: &View<'_>, number: u32) -> Vec<u32> {
    let settings = view.settings;
    let later =
        if settings.position("cpumask") > settings.position("cpus_allowed") { "cpumask" } else { "cpus_allowed" };
    let Some(Value::Cpus(cpus)) = settings.last(later).map(|setting| &setting.value) else { return Vec::new() };
    if settings.choice("cpus_allowed_policy", "shared").0 == "split" && !cpus.is_empty() {
        return vec![cpus[(number as usize - 1) % cpus.len()]];
    }
    cpus.clone()
}
