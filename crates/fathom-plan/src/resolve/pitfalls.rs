//! Common mistakes that are valid jobs: warnings of `fathom run`, each with a fix.

use fathom_model::{Access, EngineKind, Extent, FileOperation, Job};

use super::diagnostics::Diagnostics;
use super::files;
use super::job::JobView;
use crate::diagnostic::Diagnostic;
use crate::options::OptionName;
use crate::options::table as opt;
use crate::text::shorten;
use crate::values::Value;

/// Adds the warnings about a section. `job` is its first clone; the others do not differ in what is checked here.
pub(crate) fn warn(view: &JobView<'_>, job: &Job, clones: u32, diagnostics: &mut Diagnostics) {
    if view.is_fio() {
        return;
    }
    let settings = view.settings;
    let found = [
        depth(view, job),
        contradiction(
            view,
            (
                opt::DIRECT.name(),
                settings.given(opt::DIRECT).map(u64::from),
            ),
            (
                opt::BUFFERED.name(),
                settings.given(opt::BUFFERED).map(u64::from),
            ),
            |direct, buffered| direct == buffered,
        ),
        contradiction(
            view,
            (opt::RWMIXREAD.name(), settings.given(opt::RWMIXREAD)),
            (opt::RWMIXWRITE.name(), settings.given(opt::RWMIXWRITE)),
            |reads, writes| reads + writes != 100,
        ),
        buffered(view, job),
        same_addresses(view, job, clones),
        files_ignored(view),
        files_added(view),
        files_under_dev(view),
        unused_rate(view, job),
        repeated_file_operation(view, job),
    ];
    diagnostics.extend(found.into_iter().flatten());
}

fn depth(view: &JobView<'_>, job: &Job) -> Option<Diagnostic> {
    let engine = job.engine.kind;
    let cut = u64::from(job.queue.depth) < view.settings.get(opt::IODEPTH);
    if job.queue.depth < 2 || cut || !job.engine.is_synchronous() {
        return None;
    }
    let problem = format!(
        "a queue depth of {} has no effect: {} does one I/O at a time",
        job.queue.depth,
        engine.name()
    );
    Some(
        view.warning(opt::IODEPTH, problem)
            .advise("use ioengine=io_uring, or numjobs for parallel I/O"),
    )
}

/// Files that the first pass creates or removes exist, or are gone, in the second.
fn repeated_file_operation(view: &JobView<'_>, job: &Job) -> Option<Diagnostic> {
    let operation = job
        .engine
        .kind
        .file_operation()
        .filter(|operation| !operation.is_read_only())?;
    let again = job.limits.time_based || job.limits.loops > 1 || job.limits.io_size.is_some();
    let outcome = match operation {
        FileOperation::Create => "the second pass opens existing files and creates none",
        FileOperation::MakeDirectory => "the second pass fails, because the directories exist",
        _ => "the second pass fails, because nothing is left to remove",
    };
    again.then(|| {
        view.warning(opt::IOENGINE, outcome.to_owned())
            .advise("raise nrfiles= instead of repeating")
    })
}

/// Two options with opposite meanings that disagree: the later one counts, as in fio.
fn contradiction(
    view: &JobView<'_>,
    (one, first): (OptionName, Option<u64>),
    (other, second): (OptionName, Option<u64>),
    disagree: fn(u64, u64) -> bool,
) -> Option<Diagnostic> {
    let (first, second) = (first?, second?);
    if !disagree(first, second) {
        return None;
    }
    let (later, earlier) = if view.settings.position(one) > view.settings.position(other) {
        (one, other)
    } else {
        (other, one)
    };
    let problem = format!(
        "{}={first} and {}={second} contradict each other; the later one counts",
        one.as_str(),
        other.as_str()
    );
    Some(
        view.warning(later, problem)
            .advise(format!("remove {}", earlier.as_str())),
    )
}

fn buffered(view: &JobView<'_>, job: &Job) -> Option<Diagnostic> {
    if job.engine.kind != EngineKind::Libaio || job.files.direct {
        return None;
    }
    let problem =
        "libaio is not asynchronous without direct=1: each I/O completes during submission";
    Some(
        view.warning(opt::IOENGINE, problem)
            .advise("set direct=1, or use ioengine=io_uring"),
    )
}

fn same_addresses(view: &JobView<'_>, job: &Job, clones: u32) -> Option<Diagnostic> {
    let sequential = matches!(job.pattern.access, Access::Sequential { .. });
    let apart = !matches!(job.files.offset_increment, Extent::Bytes(bytes) if bytes.is_zero());
    if job.pace.replay.is_some()
        || clones < 2
        || !sequential
        || !job.files.named
        || apart
        || !(files::touches_files(view) || job.engine.kind.has_image())
    {
        return None;
    }
    let problem =
        format!("{clones} clones of a sequential job access the same addresses of the same file");
    Some(view.warning(opt::NUMJOBS, problem).advise(
        "give each clone its own part with size and offset_increment, for example offset_increment=10%",
    ))
}

fn files_ignored(view: &JobView<'_>) -> Option<Diagnostic> {
    let ignored = view.settings.is_set(opt::FILENAME) && view.settings.get(opt::NRFILES) > 1;
    ignored.then(|| {
        view.warning(opt::NRFILES, "has no effect: filename names the files")
            .advise("remove one of the two")
    })
}

fn files_added(view: &JobView<'_>) -> Option<Diagnostic> {
    let global = view
        .settings
        .all(opt::FILENAME)
        .any(|setting| setting.is_global);
    let own = view
        .settings
        .all(opt::FILENAME)
        .any(|setting| !setting.is_global);
    (global && own).then(|| {
        let problem = "adds to the files of [global], as in fio; it does not replace them";
        view.warning(opt::FILENAME, problem)
            .advise("set filename in one place only")
    })
}

/// A device path split at its colons names unintended files, one of which would be created in the current directory.
fn files_under_dev(view: &JobView<'_>) -> Option<Diagnostic> {
    for setting in view.settings.all(opt::FILENAME) {
        let Value::Text(text) = &setting.value else {
            continue;
        };
        let names = files::split_names(text);
        let device = names.iter().any(|name| name.starts_with("/dev/"));
        if let Some(stray) = names.iter().find(|name| device && !name.starts_with('/')) {
            let problem = format!(
                "the colons split this device path into {} files, one of them '{}'",
                names.len(),
                shorten(stray)
            );
            let advice = format!(
                "write \\: for a colon: {}",
                shorten(&text.replace(':', "\\:"))
            );
            return Some(
                Diagnostic::error(setting.at.clone(), problem)
                    .about(opt::FILENAME.name().as_str())
                    .advise(advice),
            );
        }
    }
    None
}

fn unused_rate(view: &JobView<'_>, job: &Job) -> Option<Diagnostic> {
    let rated = job.pace.rate.iter().any(|(_, rate)| rate.is_some());
    let used = job
        .pace
        .rate
        .iter()
        .any(|(direction, rate)| rate.is_some() && job.pattern.traffic.uses(direction));
    let option = if view.settings.is_set(opt::RATE_IOPS) {
        opt::RATE_IOPS
    } else {
        opt::RATE
    };
    (rated && !used).then(|| {
        view.warning(option, "is set for directions this job does not use")
            .advise("the order is read,write,trim")
    })
}
