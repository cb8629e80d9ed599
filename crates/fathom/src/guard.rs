//! Checks and opens every existing target before anything is written.

mod images;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_device::{
    Access, Confirmations, DestroyCode, DevNo, DirectoryConfirmation, Intent, Owner, Permit, Span,
    Target, TargetFacts, describe, judge_with,
};
use fathom_linux::{
    Examined, HeldTarget, LinuxHost, examine, examine_without_samples, hold, hold_again,
};
use fathom_load::{PlannedSizes, TargetAccess, target_accesses};
use fathom_model::format::size as size_text;
use fathom_model::{Bytes, FileOperation, Job, Personality, Plan, PlanEstimate};

use self::images::{Images, describe_image, examine_images, judge_image};
use crate::print::eprint_line;
use crate::probe_child;
use crate::scratch_devices::scratch_lists;

/// The joined accesses of all jobs to each target.
type PlannedAccesses = BTreeMap<PathBuf, TargetAccess>;

/// Where the first and last MiB of a device are saved before it is written: once per process, since later they contain data of fathom.
#[derive(Clone, Debug)]
pub struct Backups {
    directory: PathBuf,
    saved: Vec<PathBuf>,
}

impl Backups {
    /// Backups in `directory`.
    pub fn new(directory: &Path) -> Backups {
        Backups {
            directory: directory.to_owned(),
            saved: Vec::new(),
        }
    }

    /// The file for the device `path`; `None` when it was saved before.
    fn name(&self, path: &Path) -> Option<PathBuf> {
        if self.saved.iter().any(|saved| saved == path) {
            return None;
        }
        let name: String = path
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        // Runs of a script may follow each other within a second, so the process is part of the name.
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        Some(self.directory.join(format!(
            "fathom-backup{name}-{now}-{}.bin",
            std::process::id()
        )))
    }
}

/// Judges all targets of `plan`, then opens those that exist. Nothing is written.
///
/// # Errors
/// Every refusal.
pub fn open_targets(
    plan: &Plan,
    confirmed: &Confirmed<'_>,
    host: &LinuxHost,
    backups: &mut Backups,
) -> Result<Vec<String>, Vec<String>> {
    let mut messages = Vec::new();
    probe_child::probe_targets(plan).map_err(|error| vec![error])?;
    let images = examine_images(plan)?;
    let judged = judge_all(plan, confirmed, &images)?;
    for (target, facts) in images {
        host.add_image(target, facts.size);
    }
    for (path, examined, permit) in judged.targets {
        hold_target(&path, examined, &permit, host, backups, &mut messages)
            .map_err(|refusal| vec![refusal])?;
    }
    Ok(messages)
}

/// Opens the only target of `plan`.
///
/// # Errors
/// Every refusal.
pub fn hold_one(plan: &Plan) -> Result<HeldTarget, Vec<String>> {
    probe_child::probe_targets(plan).map_err(|error| vec![error])?;
    let (_, examined, permit) = judge_all(plan, &Confirmed::default(), &Images::new())?
        .targets
        .pop()
        .ok_or_else(|| vec!["there is no target".to_owned()])?;
    hold(examined, &permit, None).map_err(|error| vec![error.to_string()])
}

/// The errno of a plan whose targets were refused: that of the first job that is impossible with
/// the present targets, or that of a missing permission.
pub fn refusal_errno(plan: &Plan) -> i32 {
    let size_of =
        |path: &Path| examine_without_samples(path).map_or(0, |examined| size(examined.facts()));
    let is_missing = |path: &Path| std::fs::symlink_metadata(path).is_err();
    plan.jobs
        .iter()
        .filter(|job| !job.engine.kind.has_image())
        .find_map(|job| match target_accesses(job, &size_of) {
            Err(error) => Some(error.errno),
            Ok(all) => (plan.read_only && all.iter().any(|one| is_missing(&one.path)))
                .then_some(rustix::io::Errno::NOENT.raw_os_error()),
        })
        .unwrap_or(rustix::io::Errno::PERM.raw_os_error())
}

/// `--dry-run`: each target, which of its bytes would be accessed, and how. Nothing is opened for writing.
///
/// # Errors
/// As [`open_targets`].
pub fn dry_run(plan: &Plan, confirmed: &Confirmed<'_>) -> Result<String, Vec<String>> {
    probe_child::probe_targets(plan).map_err(|error| vec![error])?;
    let judged = judge_all(plan, confirmed, &examine_images(plan)?)?;
    let targets: String = judged
        .targets
        .iter()
        .map(|(_, examined, permit)| describe_access(examined.facts(), permit))
        .chain(judged.images)
        .collect();
    Ok(targets
        + &plan
            .jobs
            .iter()
            .filter_map(describe_replay)
            .collect::<String>())
}

/// Checks that `plan` writes to no target and runs no command, for `--read-only` of experiments.
///
/// # Errors
/// What it would do instead.
pub fn check_read_only(plan: &Plan) -> Result<(), String> {
    if let Some(command) = fathom_analyse::plan_commands(plan).first() {
        return Err(format!(
            "{command}: --read-only allows no command; remove it from the job file, or leave out --read-only"
        ));
    }
    let no_size = |_: &Path| 0;
    for job in &plan.jobs {
        let operation = job.engine.kind.file_operation();
        let changes = operation.is_some_and(|operation| !operation.is_read_only());
        let writes = target_accesses(job, &no_size)
            .is_ok_and(|all| all.iter().any(|target| target.writes || target.trims));
        if changes || writes {
            return Err(format!(
                "{} writes, which --read-only forbids; use rw=read or rw=randread, or leave out --read-only",
                job.name
            ));
        }
    }
    Ok(())
}

fn describe_replay(job: &Job) -> Option<String> {
    let replay = job.pace.replay.as_ref()?;
    let bytes = Bytes::new(
        replay
            .bytes
            .0
            .iter()
            .fold(0, |sum, bytes| bytes.saturating_add(sum)),
    );
    let lasts = replay.length.as_secs_f64();
    Some(format!(
        "{}: would do the {}: {} in {lasts:.3} s\n",
        job.name,
        fathom_analyse::replay_summary(replay),
        size_text(bytes)
    ))
}

/// The effect of `plan` on its targets, and the decision of the guard for each existing one.
///
/// # Errors
/// When a size is unknown, or a target does not answer.
pub fn estimate(
    plan: &Plan,
    confirmed: &Confirmed<'_>,
) -> Result<(PlanEstimate, Vec<String>), String> {
    probe_child::probe_targets(plan)?;
    let images = examine_images(plan).map_err(|refusals| refusals.join("\n"))?;
    let size_of = |path: &Path| match images.get(path) {
        Some(image) => image.size,
        None => examine_without_samples(path).map_or(0, |examined| size(examined.facts())),
    };
    let estimate = fathom_load::dry_run(plan, &size_of).map_err(|error| error.to_string())?;
    let targets = match judge_all(plan, confirmed, &images) {
        Ok(judged) => judged
            .targets
            .iter()
            .filter(|(_, examined, _)| exists(examined.facts()))
            .map(|(_, examined, permit)| describe_access(examined.facts(), permit))
            .chain(judged.images)
            .collect(),
        Err(refusals) => refusals
            .into_iter()
            .map(|refusal| format!("would be refused: {refusal}"))
            .collect(),
    };
    Ok((estimate, targets))
}

fn exists(facts: &TargetFacts) -> bool {
    !matches!(facts.target, Target::NewFile(_))
}

fn describe_access(facts: &TargetFacts, permit: &Permit) -> String {
    let Intent {
        reads,
        writes,
        trims,
        range,
        grows_to,
    } = *permit.intent();
    let verbs: Vec<&str> = [(reads, "read"), (writes, "overwrite"), (trims, "discard")]
        .into_iter()
        .filter_map(|(does, word)| does.then_some(word))
        .collect();
    let (start, end) = (range.start.get(), range.end.get());
    let mut text = describe(facts).trim_end().to_owned();
    text += &format!(
        "\n  would {} bytes {start} to {end} ({})\n",
        verbs.join(", "),
        size_text(Bytes::new(end - start))
    );
    if let Some(grown) = grows_to {
        text += &format!(
            "  would create or extend the file to {}\n",
            size_text(grown)
        );
    }
    if writes {
        let share = 100.0 * (end - start) as f64 / size(facts).max(end) as f64;
        text += &format!("  wear: each pass writes {share:.0} % of its capacity once\n");
    }
    text
}

/// What the guard allows.
struct Judged {
    /// Every target that can be examined, with the permit for the accesses of all jobs.
    targets: Vec<(PathBuf, Examined, Permit)>,
    /// What the jobs would do to each image.
    images: Vec<String>,
}

fn judge_all(
    plan: &Plan,
    confirmed: &Confirmed<'_>,
    images: &Images,
) -> Result<Judged, Vec<String>> {
    let mut confirmations = confirmed.parse(plan)?;
    let mut examined_targets = BTreeMap::new();
    let mut refusals = Vec::new();
    // Of the file operations only the removal of existing files concerns the guard before the run.
    let touched = |job: &&Job| {
        job.engine
            .kind
            .file_operation()
            .is_none_or(|operation| operation == FileOperation::Delete)
    };
    let is_path = |job: &&Job| !job.engine.kind.has_image();
    for job in plan.jobs.iter().filter(touched).filter(is_path) {
        for path in &job.files.paths {
            if examined_targets.contains_key(path) {
                continue;
            }
            let examined = match examine_without_samples(path) {
                Ok(examined) => Some(examined),
                // No target can be examined on this machine.
                Err(error)
                    if error.source.kind() == std::io::ErrorKind::Unsupported
                        && job.engine.kind.has_targets() =>
                {
                    return Err(vec![error.to_string()]);
                }
                Err(_) => None,
            };
            examined_targets.insert(path.clone(), examined);
        }
    }
    let planned_accesses = planned_accesses(plan, &examined_targets, images, &mut refusals);
    let mut permits = Vec::new();
    let mut image_uses = Vec::new();
    let mut lists_read = false;
    for (path, mut access) in planned_accesses {
        if let Some(image) = images.get(&path) {
            match judge_image(&access, image, &confirmations.codes) {
                Ok(()) => image_uses.push(describe_image(&access, image)),
                Err(refusal) => refusals.push(refusal),
            }
            continue;
        }
        let Some(mut examined) = examined_targets.remove(&path).flatten() else {
            continue;
        };
        if plan.read_only {
            if !exists(examined.facts()) {
                refusals.push(format!(
                    "{}: it does not exist, and --readonly creates no file; create it first, or leave out --readonly",
                    path.display()
                ));
                continue;
            }
            if let Some(refusal) = would_extend(plan, &access, examined.facts()) {
                refusals.push(refusal);
                continue;
            }
            access.size = access.size.min(size(examined.facts()));
        }
        if needs_samples(&intent(&access, examined.facts()), examined.facts()) {
            match examine(&path) {
                Ok(sampled) => examined = sampled,
                Err(error) => {
                    refusals.push(error.to_string());
                    continue;
                }
            }
        }
        if let Some(refusal) = beyond_end(&access, examined.facts()) {
            refusals.push(refusal);
            continue;
        }
        if plan.personality == Personality::Fio {
            warn_of_short_file(&access, examined.facts());
        }
        let intent = intent(&access, examined.facts());
        if intent.modifies() && !lists_read && matches!(examined.facts().target, Target::Block(_)) {
            confirmations.scratch = scratch_lists();
            lists_read = true;
        }
        match judge_with(examined.facts(), &intent, &confirmations) {
            Ok(permit) => permits.push((path, examined, permit)),
            Err(refusal) => refusals.push(refusal.to_string()),
        }
    }
    if refusals.is_empty() {
        Ok(Judged {
            targets: permits,
            images: image_uses,
        })
    } else {
        Err(refusals)
    }
}

/// The error of `fathom fio --readonly`, like that of fio, for a file that is shorter than its job.
fn would_extend(plan: &Plan, access: &TargetAccess, facts: &TargetFacts) -> Option<String> {
    let (needed, existing_size) = (access.size, size(facts));
    let is_file = matches!(facts.target, Target::File(_));
    (plan.personality == Personality::Fio && is_file && existing_size < needed).then(|| {
        format!(
            "{}: the job needs {needed} bytes, but the file has {existing_size}, and --readonly does not extend it; lower size=, or leave out --readonly",
            access.path.display()
        )
    })
}

/// fio replaces a file that is shorter than the job that reads it. A file of another program stays as
/// it is, so that the job does less I/O than it would in fio.
fn warn_of_short_file(access: &TargetAccess, facts: &TargetFacts) {
    let intent = intent(access, facts);
    let existing_size = size(facts);
    let is_file = matches!(facts.target, Target::File(_));
    let only_read = !intent.modifies() && intent.grows_to.is_none();
    if is_file && only_read && existing_size < access.size {
        eprint_line!(
            "fathom fio: {} has {existing_size} bytes, not the requested {}, and is not extended because fathom did not make it: only these are read",
            access.path.display(),
            access.size
        );
    }
}

/// Whether the guard may ask for a code, which covers samples of the contents.
fn needs_samples(intent: &Intent, facts: &TargetFacts) -> bool {
    let may_ask = match &facts.target {
        Target::Block(_) => true,
        Target::File(file) => file.owner != Owner::Ours,
        Target::NewFile(_) | Target::Char(_) | Target::Other(_) => false,
    };
    may_ask && intent.modifies()
}

/// The block devices that `plan` writes.
pub fn written_devices(plan: &Plan) -> Vec<PathBuf> {
    let no_size = |_: &Path| 0;
    let mut written: Vec<PathBuf> = plan
        .jobs
        .iter()
        .flat_map(|job| target_accesses(job, &no_size).unwrap_or_default())
        .filter(|access| access.writes || access.trims)
        .map(|access| access.path)
        .filter(|path| is_block_device(path))
        .collect();
    written.sort_unstable();
    written.dedup();
    written
}

fn is_block_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_block_device())
}

/// What the command line confirms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Confirmed<'a> {
    /// `--destroy`.
    pub codes: &'a [String],
    /// `--destroy-all-in`; `None` for commands without this option.
    pub directories: Option<&'a [String]>,
}

impl<'a> Confirmed<'a> {
    /// Only codes.
    pub fn codes(codes: &'a [String]) -> Confirmed<'a> {
        Confirmed {
            codes,
            directories: None,
        }
    }

    fn parse(&self, plan: &Plan) -> Result<Confirmations, Vec<String>> {
        let codes = self.codes.iter().map(|code| {
            code.parse::<DestroyCode>()
                .map_err(|error| vec![format!("--destroy: {error}")])
        });
        let directories = self.directories.unwrap_or_default().iter().map(|text| {
            parse_directory(text).map_err(|error| vec![format!("--destroy-all-in: {error}")])
        });
        // Without this option no refusal may advise to use it.
        let job_files =
            (plan.jobs.iter()).filter(|job| self.directories.is_some() && !job.files.named);
        Ok(Confirmations {
            codes: codes.collect::<Result<_, _>>()?,
            directories: directories.collect::<Result<_, _>>()?,
            job_files: job_files.flat_map(|job| job.files.paths.clone()).collect(),
            ..Confirmations::default()
        })
    }
}

/// `DIR=CODE`; the last equals sign separates them.
fn parse_directory(text: &str) -> Result<DirectoryConfirmation, String> {
    use std::os::unix::fs::MetadataExt;
    let (directory, code) = text
        .rsplit_once('=')
        .ok_or_else(|| format!("'{}': expected DIR=CODE", text.escape_debug()))?;
    let code = code
        .parse()
        .map_err(|error: fathom_device::ParseCodeError| error.to_string())?;
    let facts = std::fs::metadata(directory).map_err(|error| format!("{directory}: {error}"))?;
    let dev = DevNo {
        major: rustix::fs::major(facts.dev()),
        minor: rustix::fs::minor(facts.dev()),
    };
    Ok(DirectoryConfirmation {
        inode: (dev, facts.ino()),
        code,
    })
}

fn hold_target(
    path: &Path,
    examined: Examined,
    permit: &Permit,
    host: &LinuxHost,
    backups: &mut Backups,
    messages: &mut Vec<String>,
) -> Result<(), String> {
    if permit.access() == Access::Create {
        // The host creates it when it lays it out, under the same rules.
        return Ok(());
    }
    let backup = permit.needs_backup().then(|| backups.name(path));
    let held = match &backup {
        Some(None) => hold_again(examined, permit),
        to_save => hold(
            examined,
            permit,
            to_save.as_ref().and_then(Option::as_deref),
        ),
    };
    let held = held.map_err(|error| error.to_string())?;
    if let Some(name) = backup.flatten() {
        messages.push(format!(
            "the first and last MiB of {} were saved to {}",
            path.display(),
            name.display()
        ));
        backups.saved.push(path.to_owned());
    }
    host.add(held, false).map_err(|error| error.to_string())
}

/// The error for a file that ends before the first byte of the job.
fn beyond_end(access: &TargetAccess, facts: &TargetFacts) -> Option<String> {
    let existing_size = size(facts);
    let only_read =
        matches!(facts.target, Target::File(_)) && intent(access, facts).grows_to.is_none();
    (only_read && existing_size > 0 && access.range.0 >= existing_size).then(|| {
        let (path, start) = (access.path.display(), access.range.0);
        format!("{path}: the job starts at byte {start}, but the file has only {existing_size}; use a smaller offset=")
    })
}

/// The accesses of all jobs to each path, joined.
fn planned_accesses(
    plan: &Plan,
    examined_targets: &BTreeMap<PathBuf, Option<Examined>>,
    images: &Images,
    refusals: &mut Vec<String>,
) -> PlannedAccesses {
    let size_of = |path: &Path| match images.get(path) {
        Some(image) => image.size,
        None => examined_targets
            .get(path)
            .and_then(Option::as_ref)
            .map_or(0, |examined| size(examined.facts())),
    };
    let mut planned_accesses = PlannedAccesses::new();
    let mut planned_sizes = PlannedSizes::default();
    for job in &plan.jobs {
        match target_accesses(job, &|path| planned_sizes.size(path, size_of(path))) {
            Ok(all) => {
                planned_sizes.note_accesses(job, &all);
                all.into_iter()
                    .for_each(|one| join(&mut planned_accesses, one));
            }
            // An error of the plan has no errno.
            Err(error) => refusals.push(error.what),
        }
    }
    planned_accesses
}

fn join(planned_accesses: &mut PlannedAccesses, one: TargetAccess) {
    match planned_accesses.get_mut(&one.path) {
        None => drop(planned_accesses.insert(one.path.clone(), one)),
        Some(all) => {
            all.range = (all.range.0.min(one.range.0), all.range.1.max(one.range.1));
            all.reads |= one.reads;
            all.writes |= one.writes;
            all.trims |= one.trims;
            all.size = all.size.max(one.size);
        }
    }
}

fn size(facts: &TargetFacts) -> u64 {
    match &facts.target {
        Target::File(file) => file.size.get(),
        Target::Block(block) => block.size.get(),
        Target::NewFile(_) | Target::Char(_) | Target::Other(_) => 0,
    }
}

/// The access of the run to this target. A file is laid out (and grows) when it is missing, or ours and too small. A foreign
/// file that is only read stays as it is, and is read up to its end.
fn intent(access: &TargetAccess, facts: &TargetFacts) -> Intent {
    let existing_size = size(facts);
    let grows = match &facts.target {
        Target::NewFile(_) => true,
        Target::File(file) => {
            existing_size < access.size
                && (access.writes || file.owner != Owner::Foreign || existing_size == 0)
        }
        _ => false,
    };
    let clipped =
        matches!(facts.target, Target::File(_)) && !grows && !access.writes && !access.trims;
    let end = if clipped {
        access.range.1.min(existing_size)
    } else {
        access.range.1
    };
    let range = Span {
        start: Bytes::new(access.range.0.min(end)),
        end: Bytes::new(end),
    };
    Intent {
        reads: access.reads,
        writes: access.writes,
        trims: access.trims,
        range,
        grows_to: grows.then(|| Bytes::new(access.size.max(access.range.1))),
    }
}
