//! Lays out files: before the first job starts, every file of the run is brought into the state
//! that its jobs need.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use fathom_model::{Bytes, FileLock, FileOperation, Job, JobPhase, Plan, Progress};

use super::{LoadError, RunHooks};
use crate::clock::Clock;
use crate::host::{FileFacts, Host, HostError, LayOut};
use crate::live::Stop;
use crate::locks::Lock;
use crate::overlaps::ActiveRanges;
use crate::targets::{self, FileNeeds, PlannedSizes};

/// The files of a run, prepared for its jobs.
pub(crate) struct PreparedFiles {
    /// The requirements of each job, in the plan's order.
    pub file_needs: Vec<Vec<FileNeeds>>,
    /// Properties of each file.
    pub facts: HashMap<PathBuf, FileFacts>,
    /// Messages for the user.
    pub messages: Vec<String>,
    layout_only: Vec<bool>,
    /// Files that a job creates when it starts.
    created_on_open: Vec<PathBuf>,
    /// One for each file of the jobs that lock theirs.
    locks: HashMap<PathBuf, Lock>,
    /// The ranges in flight in the jobs that serialise overlaps.
    pub active_ranges: Arc<ActiveRanges>,
}

impl PreparedFiles {
    /// All paths, each once, with those of files that a job creates when it starts.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.facts.keys().cloned().collect();
        paths.extend(self.created_on_open.iter().cloned());
        paths.sort();
        paths.dedup();
        paths
    }

    /// Whether the job only creates its files (`create_only`).
    pub fn is_layout_only(&self, job: usize) -> bool {
        self.layout_only[job]
    }

    /// The locks of a job's files, in their order.
    pub fn locks(&self, job: &Job) -> Vec<Lock> {
        job.files
            .paths
            .iter()
            .filter_map(|path| self.locks.get(path))
            .cloned()
            .collect()
    }

    /// Bytes of all regions of a job.
    pub fn region_bytes(&self, job: usize) -> u64 {
        self.file_needs[job]
            .iter()
            .map(|want| want.region.end - want.region.start)
            .sum()
    }
}

/// Lays out all files of the plan.
///
/// # Errors
/// The first file that cannot be prepared.
pub(super) fn prepare<H: Host>(
    plan: &Plan,
    host: &H,
    hooks: &mut RunHooks<'_>,
) -> Result<PreparedFiles, LoadError> {
    let of = |job: &Job| {
        let name = job.name.clone();
        move |cause: HostError| LoadError { job: name, cause }
    };
    let mut file_needs = Vec::new();
    let mut planned_sizes = PlannedSizes::default();
    let mut lists: Vec<(String, Vec<LayOut>)> = Vec::new();
    let mut operations: Vec<(String, FileOperation, LayOut)> = Vec::new();
    for job in &plan.jobs {
        let size_of = |path: &Path| host.size_now(path).map_or(0, Bytes::get);
        let own = targets::file_needs(job, &|path| planned_sizes.size(path, size_of(path)))
            .map_err(of(job))?;
        planned_sizes.note(job, &own);
        let operation = job.engine.kind.file_operation();
        if let Some(operation) = operation {
            let list = own
                .iter()
                .map(|want| (operation, targets::lay_out(job, want)));
            operations.extend(list.map(|(operation, file)| (job.name.clone(), operation, file)));
        } else if job.engine.kind.has_targets() && !job.files.layout.create_on_open {
            lists.push((
                job.name.clone(),
                own.iter().map(|want| targets::lay_out(job, want)).collect(),
            ));
        }
        file_needs.push(own);
    }
    let owner: HashMap<PathBuf, String> = lists
        .iter()
        .flat_map(|(name, list)| list.iter().map(|l| (l.path.clone(), name.clone())))
        .collect();
    let all = targets::merge(lists.into_iter().flat_map(|(_, list)| list));
    let mut prepared = PreparedFiles {
        created_on_open: plan
            .jobs
            .iter()
            .filter(|job| job.engine.kind.has_targets() && job.files.layout.create_on_open)
            .flat_map(|job| job.files.paths.clone())
            .collect(),
        file_needs,
        facts: HashMap::new(),
        messages: Vec::new(),
        locks: locks(plan),
        active_ranges: ActiveRanges::new(plan),
        layout_only: plan
            .jobs
            .iter()
            .map(|job| job.files.layout.create_only)
            .collect(),
    };
    let total: u64 = all.iter().filter(|l| l.content).map(|l| l.size.get()).sum();
    let mut before = 0;
    for file in all {
        let facts =
            lay_out_file(plan, host, &file, (before, total), hooks).map_err(|cause| LoadError {
                job: owner.get(&file.path).cloned().unwrap_or_default(),
                cause,
            })?;
        before += if file.content { file.size.get() } else { 0 };
        if !facts.laid_out.is_zero() {
            let mib = facts.laid_out.get() >> 20;
            prepared.messages.push(format!(
                "laid out {} ({mib} MiB of incompressible data)",
                file.path.display()
            ));
        }
        prepared.facts.insert(file.path, facts);
    }
    for (name, operation, file) in operations {
        let stop = AtomicBool::new(false);
        let mut check_stop = |_| stop.store((hooks.stop)() != Stop::No, Relaxed);
        check_stop(0);
        host.prepare_operation(operation, &file, &stop, &mut check_stop)
            .map_err(|cause| LoadError { job: name, cause })?;
    }
    Ok(prepared)
}

fn locks(plan: &Plan) -> HashMap<PathBuf, Lock> {
    let locking = plan
        .jobs
        .iter()
        .filter(|job| job.engine.settings.lock != FileLock::None);
    let paths: std::collections::BTreeSet<&PathBuf> =
        locking.flat_map(|job| &job.files.paths).collect();
    paths
        .into_iter()
        .enumerate()
        .map(|(number, path)| (path.clone(), Lock::new(number)))
        .collect()
}

fn lay_out_file<H: Host>(
    plan: &Plan,
    host: &H,
    file: &LayOut,
    (before, total): (u64, u64),
    hooks: &mut RunHooks<'_>,
) -> Result<FileFacts, HostError> {
    let stop = AtomicBool::new(false);
    let clock = host.clock();
    let mut shown = Progress {
        jobs: vec![JobPhase::LayingOut; plan.jobs.len()],
        ..Progress::default()
    };
    let mut progress = |written: u64| {
        if (hooks.stop)() != Stop::No {
            stop.store(true, Relaxed);
        }
        shown.elapsed = clock.now();
        shown.layout = Some((Bytes::new(before + written), Bytes::new(total)));
        (hooks.progress)(&shown);
    };
    host.lay_out(file, &stop, &mut progress)
}
