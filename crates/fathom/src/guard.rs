//! Checks and opens every existing target before anything is written.

mod images;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_device::{
    Access, Confirmations, DestroyCode, DirectoryConfirmation, Intent, Owner, Permit, Span, Target,
    TargetFacts, describe, judge_with,
};
use fathom_load::{PlannedSizes, TargetAccess, target_accesses};
use fathom_model::format::size as size_text;
use fathom_model::{Bytes, FileOperation, Job, Personality, Plan, PlanEstimate};

pub use self::images::{Images, examine_images};
use self::images::{describe_image, judge_image};
use crate::machine::{Backup, CommitFile, Contents, Examined, PreparedLoad};
use crate::print::eprint_line;
use crate::session::Session;

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

    /// The file for the device `path`, at this time in seconds; `None` when it was saved before.
    fn name(&self, path: &Path, now: u64) -> Option<PathBuf> {
        if self.saved.iter().any(|saved| saved == path) {
            return None;
        }
        let name: String = path
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        // Runs of a script may follow each other within a second, so the process is part of the name.
        Some(self.directory.join(format!(
            "fathom-backup{name}-{now}-{}.bin",
            std::process::id()
        )))
    }
}

/// Judges all targets of `plan`, then opens those that exist. Nothing is written. The second value are messages about what
/// was saved.
///
/// # Errors
/// Every refusal.
pub fn open_targets<'a>(
    session: &'a Session,
    plan: &Plan,
    confirmed: &Confirmed<'_>,
    backups: &mut Backups,
) -> Result<(Box<dyn PreparedLoad + 'a>, Vec<String>), Vec<String>> {
    let mut messages = Vec::new();
    session.check_plan(plan).map_err(|error| vec![error])?;
    let images = session.examine_images(plan)?;
    let judged = judge_all(session, plan, confirmed, &images)?;
    let load = session.prepare_load(plan, &backups.directory);
    for (target, facts) in images {
        load.add_image(target, facts.size);
    }
    let now = session.unix_now_s();
    for (path, examined, permit) in judged.targets {
        let saved = hold_target(&path, examined, &permit, (&*load, now), backups)
            .map_err(|refusal| vec![refusal])?;
        messages.extend(saved);
    }
    Ok((load, messages))
}

/// Opens the only target of `plan` for commits.
///
/// # Errors
/// Every refusal.
pub fn open_commit_file<'a>(
    session: &'a Session,
    plan: &Plan,
) -> Result<Box<dyn CommitFile + 'a>, Vec<String>> {
    session.check_plan(plan).map_err(|error| vec![error])?;
    let (_, examined, permit) = judge_all(session, plan, &Confirmed::default(), &Images::new())?
        .targets
        .pop()
        .ok_or_else(|| vec!["there is no target".to_owned()])?;
    session
        .open_commits(examined, &permit)
        .map_err(|error| vec![error])
}

/// The errno of a plan whose targets were refused: that of the first job that is impossible with
/// the present targets, or that of a missing permission.
pub fn refusal_errno(session: &Session, plan: &Plan) -> i32 {
    let size_of = |path: &Path| existing_size(session, path);
    let is_missing = |path: &Path| !session.exists(path);
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

/// The size of a target before the run.
fn existing_size(session: &Session, path: &Path) -> u64 {
    let examined = session.examine(path, Contents::Ends);
    examined.map_or(0, |examined| size_for_plan(session, examined.facts()))
}

/// The size that a job without a size uses.
fn size_for_plan(session: &Session, facts: &TargetFacts) -> u64 {
    match &facts.target {
        Target::NewFile(_) => session.default_file_size(),
        _ => size(facts),
    }
}

/// `--dry-run`: each target, which of its bytes would be accessed, and how. Nothing is opened for writing.
///
/// # Errors
/// As [`open_targets`].
pub fn dry_run(
    session: &Session,
    plan: &Plan,
    confirmed: &Confirmed<'_>,
) -> Result<String, Vec<String>> {
    session.check_plan(plan).map_err(|error| vec![error])?;
    let judged = judge_all(session, plan, confirmed, &session.examine_images(plan)?)?;
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
    session: &Session,
    plan: &Plan,
    confirmed: &Confirmed<'_>,
) -> Result<(PlanEstimate, Vec<String>), String> {
    session.check_plan(plan)?;
    let images = session
        .examine_images(plan)
        .map_err(|refusals| refusals.join("\n"))?;
    let size_of = |path: &Path| match images.get(path) {
        Some(image) => image.size,
        None => existing_size(session, path),
    };
    let estimate = fathom_load::dry_run(plan, &size_of).map_err(|error| error.to_string())?;
    let targets = match judge_all(session, plan, confirmed, &images) {
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

/// The existing targets and the places of those to be created. One that cannot be examined is `None`: opening it shows why.
fn examine_targets(
    session: &Session,
    plan: &Plan,
) -> Result<BTreeMap<PathBuf, Option<Examined>>, Vec<String>> {
    let mut examined_targets = BTreeMap::new();
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
            let examined = match session.examine(path, Contents::Ends) {
                Ok(examined) => Some(examined),
                // No target can be examined on this machine.
                Err(error)
                    if error.kind() == std::io::ErrorKind::Unsupported
                        && job.engine.kind.has_targets() =>
                {
                    return Err(vec![error.to_string()]);
                }
                Err(_) => None,
            };
            examined_targets.insert(path.clone(), examined);
        }
    }
    Ok(examined_targets)
}

fn judge_all(
    session: &Session,
    plan: &Plan,
    confirmed: &Confirmed<'_>,
    images: &Images,
) -> Result<Judged, Vec<String>> {
    let mut confirmations = confirmed.parse(session, plan)?;
    let mut refusals = Vec::new();
    let mut examined_targets = examine_targets(session, plan)?;
    let planned_accesses =
        planned_accesses(session, plan, (&examined_targets, images), &mut refusals);
    let mut judged = Judged {
        targets: Vec::new(),
        images: Vec::new(),
    };
    let mut lists_read = false;
    for (path, mut access) in planned_accesses {
        if let Some(image) = images.get(&path) {
            match judge_image(&access, image, &confirmations.codes) {
                Ok(()) => judged.images.push(describe_image(&access, image)),
                Err(refusal) => refusals.push(refusal),
            }
            continue;
        }
        let Some(examined) = examined_targets.remove(&path).flatten() else {
            continue;
        };
        let examined = match check_access(session, plan, &mut access, examined) {
            Ok(examined) => examined,
            Err(refusal) => {
                refusals.push(refusal);
                continue;
            }
        };
        let intent = intent(&access, examined.facts());
        if intent.modifies() && !lists_read && matches!(examined.facts().target, Target::Block(_)) {
            confirmations.scratch = session.scratch_list();
            lists_read = true;
        }
        match judge_with(examined.facts(), &intent, &confirmations) {
            Ok(permit) => judged.targets.push((path, examined, permit)),
            Err(refusal) => refusals.push(refusal.to_string()),
        }
    }
    if refusals.is_empty() {
        Ok(judged)
    } else {
        Err(refusals)
    }
}

/// What forbids an access whatever is confirmed. Reads the samples of a target that may need a code.
fn check_access(
    session: &Session,
    plan: &Plan,
    access: &mut TargetAccess,
    mut examined: Examined,
) -> Result<Examined, String> {
    if plan.read_only {
        if !exists(examined.facts()) {
            return Err(format!(
                "{}: it does not exist, and --readonly creates no file; create it first, or leave out --readonly",
                access.path.display()
            ));
        }
        if let Some(refusal) = would_extend(plan, access, examined.facts()) {
            return Err(refusal);
        }
        access.size = access.size.min(size(examined.facts()));
    }
    if needs_samples(&intent(access, examined.facts()), examined.facts()) {
        examined = session
            .examine(&access.path, Contents::Samples)
            .map_err(|error| error.to_string())?;
    }
    if let Some(refusal) = beyond_end(access, examined.facts()) {
        return Err(refusal);
    }
    if plan.personality == Personality::Fio {
        warn_of_short_file(access, examined.facts());
    }
    Ok(examined)
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

    fn parse(&self, session: &Session, plan: &Plan) -> Result<Confirmations, Vec<String>> {
        let codes = self.codes.iter().map(|code| {
            code.parse::<DestroyCode>()
                .map_err(|error| vec![format!("--destroy: {error}")])
        });
        let directories = self.directories.unwrap_or_default().iter().map(|text| {
            parse_directory(session, text)
                .map_err(|error| vec![format!("--destroy-all-in: {error}")])
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
fn parse_directory(session: &Session, text: &str) -> Result<DirectoryConfirmation, String> {
    let (directory, code) = text
        .rsplit_once('=')
        .ok_or_else(|| format!("'{}': expected DIR=CODE", text.escape_debug()))?;
    let code = code
        .parse()
        .map_err(|error: fathom_device::ParseCodeError| error.to_string())?;
    let inode = session
        .directory_id(Path::new(directory))
        .map_err(|error| format!("{directory}: {error}"))?;
    Ok(DirectoryConfirmation { inode, code })
}

/// Opens a target for a load at this time in seconds. The message is about the backup of its first and last MiB.
fn hold_target(
    path: &Path,
    examined: Examined,
    permit: &Permit,
    (load, now): (&dyn PreparedLoad, u64),
    backups: &mut Backups,
) -> Result<Option<String>, String> {
    if permit.access() == Access::Create {
        // The host creates it when it lays it out, under the same rules.
        return Ok(None);
    }
    let name = permit.needs_backup().then(|| backups.name(path, now));
    let backup = match &name {
        None => Backup::NotNeeded,
        Some(None) => Backup::AlreadySaved,
        Some(Some(file)) => Backup::SaveTo(file),
    };
    if !load.hold(examined, permit, backup)? {
        return Ok(None);
    }
    backups.saved.push(path.to_owned());
    Ok(name.flatten().map(|file| {
        format!(
            "the first and last MiB of {} were saved to {}",
            path.display(),
            file.display()
        )
    }))
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
    session: &Session,
    plan: &Plan,
    (examined_targets, images): (&BTreeMap<PathBuf, Option<Examined>>, &Images),
    refusals: &mut Vec<String>,
) -> PlannedAccesses {
    let size_of = |path: &Path| match images.get(path) {
        Some(image) => image.size,
        None => examined_targets
            .get(path)
            .and_then(Option::as_ref)
            .map_or(0, |examined| size_for_plan(session, examined.facts())),
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
    // A smaller device is read up to its end too.
    let has_end = matches!(facts.target, Target::File(_) | Target::Block(_));
    let clipped = has_end && !grows && !access.writes && !access.trims;
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
