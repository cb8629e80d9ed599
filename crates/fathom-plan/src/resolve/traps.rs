//! What is often meant otherwise: warnings of `fathom run`, each with a way out.

use fathom_model::{Access, EngineKind, Extent, FileOperation, Job};

use super::files;
use super::job::View;
use super::report::Report;
use crate::diagnostic::Diagnostic;
use crate::values::Value;

/// Most of the first clone of a section is looked at; the others differ in nothing that matters here.
pub(crate) fn doubts(view: &View<'_>, job: &Job, clones: u32, report: &mut Report) {
    if view.is_fio() {
        return;
    }
    let found = [
        depth(view, job),
        contradiction(view, "direct", "buffered", |direct, buffered| {
            direct == buffered
        }),
        contradiction(view, "rwmixread", "rwmixwrite", |reads, writes| {
            reads + writes != 100
        }),
        buffered(view, job),
        same_addresses(view, job, clones),
        files_ignored(view),
        files_added(view),
        files_under_dev(view),
        unused_rate(view, job),
        made_once(view, job),
    ];
    report.extend(found.into_iter().flatten());
}

fn depth(view: &View<'_>, job: &Job) -> Option<Diagnostic> {
    let engine = job.engine.kind;
    let cut = u64::from(job.queue.depth) < view.settings.number("iodepth", 1);
    if job.queue.depth < 2 || cut || !job.engine.is_synchronous() {
        return None;
    }
    let problem = format!(
        "{} without effect: {} does one I/O at a time",
        job.queue.depth,
        engine.word()
    );
    Some(
        view.warning("iodepth", problem)
            .advise("use ioengine=io_uring, or numjobs for more at once"),
    )
}

/// What is made or removed in the first pass is there, or gone, in the second.
fn made_once(view: &View<'_>, job: &Job) -> Option<Diagnostic> {
    let operation = job
        .engine
        .kind
        .file_operation()
        .filter(|operation| !operation.only_looks())?;
    let again = job.limits.time_based || job.limits.loops > 1 || job.limits.io_size.is_some();
    let outcome = match operation {
        FileOperation::Create => "the second pass opens files that are there, which is no creation",
        FileOperation::MakeFolder => "the second pass fails, because the folders are there",
        _ => "the second pass fails, because nothing is left to remove",
    };
    again.then(|| {
        view.warning("ioengine", outcome.to_owned())
            .advise("raise nrfiles= instead of repeating")
    })
}

/// Two options that say one thing, set so that they disagree: the later one counts, as in fio.
fn contradiction(
    view: &View<'_>,
    one: &'static str,
    other: &'static str,
    disagree: fn(u64, u64) -> bool,
) -> Option<Diagnostic> {
    let settings = view.settings;
    let value = |name| match settings.last(name).map(|setting| &setting.value) {
        Some(Value::Switch(on)) => u64::from(*on),
        _ => settings.number(name, 0),
    };
    let (first, second) = (value(one), value(other));
    if !settings.is_set(one) || !settings.is_set(other) || !disagree(first, second) {
        return None;
    }
    let (later, earlier) = if settings.position(one) > settings.position(other) {
        (one, other)
    } else {
        (other, one)
    };
    let problem = format!(
        "{one}={first} and {other}={second} contradict each other; this one, the later, counts"
    );
    Some(
        view.warning(later, problem)
            .advise(format!("drop {earlier}")),
    )
}

fn buffered(view: &View<'_>, job: &Job) -> Option<Diagnostic> {
    if job.engine.kind != EngineKind::Libaio || job.files.direct {
        return None;
    }
    let problem =
        "libaio is not asynchronous without direct=1: each I/O is done while it is submitted";
    Some(
        view.warning("ioengine", problem)
            .advise("set direct=1, or use ioengine=io_uring"),
    )
}

fn same_addresses(view: &View<'_>, job: &Job, clones: u32) -> Option<Diagnostic> {
    let sequential = matches!(job.pattern.access, Access::Sequential { .. });
    let apart = !matches!(job.files.offset_increment, Extent::Bytes(bytes) if bytes.is_zero());
    if job.pace.replay.is_some()
        || clones < 2
        || !sequential
        || !job.files.named
        || apart
        || !files::touches_files(view)
    {
        return None;
    }
    let problem =
        format!("{clones} clones of a sequential job walk the same addresses of the same file");
    Some(view.warning("numjobs", problem).advise(
        "give each its part with size and offset_increment, for example offset_increment=10%",
    ))
}

fn files_ignored(view: &View<'_>) -> Option<Diagnostic> {
    let ignored = view.settings.is_set("filename") && view.settings.number("nrfiles", 1) > 1;
    ignored.then(|| {
        view.warning(
            "nrfiles",
            "without effect: filename says which files there are",
        )
        .advise("leave one of the two out")
    })
}

fn files_added(view: &View<'_>) -> Option<Diagnostic> {
    let global = view
        .settings
        .all("filename")
        .any(|setting| setting.is_global);
    let own = view
        .settings
        .all("filename")
        .any(|setting| !setting.is_global);
    (global && own).then(|| {
        let problem = "is added to the files of [global], as in fio; it does not replace them";
        view.warning("filename", problem)
            .advise("set filename in one place only")
    })
}

/// A device path cut at its colons names other files than meant, one of which would be made in the current folder.
fn files_under_dev(view: &View<'_>) -> Option<Diagnostic> {
    for setting in view.settings.all("filename") {
        let Value::Text(text) = &setting.value else {
            continue;
        };
        let names = files::split_names(text);
        let device = names.iter().any(|name| name.starts_with("/dev/"));
        if let Some(stray) = names.iter().find(|name| device && !name.starts_with('/')) {
            let problem = format!(
                "the colons cut this device path into {} files, one of them '{}'",
                names.len(),
                crate::jobfile::shorten(stray)
            );
            let advice = format!(
                "write \\: for a colon: {}",
                crate::jobfile::shorten(&text.replace(':', "\\:"))
            );
            return Some(
                Diagnostic::error(setting.at.clone(), problem)
                    .about("filename")
                    .advise(advice),
            );
        }
    }
    None
}

fn unused_rate(view: &View<'_>, job: &Job) -> Option<Diagnostic> {
    let rated = job.pace.rate.iter().any(|(_, rate)| rate.is_some());
    let used = job
        .pace
        .rate
        .iter()
        .any(|(direction, rate)| rate.is_some() && job.pattern.traffic.uses(direction));
    let option = if view.settings.is_set("rate_iops") {
        "rate_iops"
    } else {
        "rate"
    };
    (rated && !used).then(|| {
        view.warning(option, "is set for directions this job does not use")
            .advise("the order is read,write,trim")
    })
}
