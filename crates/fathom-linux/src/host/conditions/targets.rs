//! The state of the targets at the end of the load: the effect of O_DIRECT, parts never written,
//! pages in memory.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use fathom_model::{Bytes, DirectIoMode, Nanos, TargetConditions};

use super::super::cache::{DirectIo, cache_state, direct_io};
use super::super::extents::{supported, written_share};
use super::super::target::{Kind, Target, Targets};
use super::sharers::sharers;

/// Limit of the targets examined, so that thousands of files do not delay the end of a run.
const MAX_TARGETS: usize = 256;
/// File systems in memory. See statfs(2).
const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// When each target lost its name.
#[derive(Debug, Default)]
pub(super) struct UnlinkedFiles(HashMap<PathBuf, Nanos>);

impl UnlinkedFiles {
    /// Checks whether every file still has a name.
    pub(super) fn check(&mut self, targets: &Targets, now: Nanos) {
        for target in targets
            .all()
            .iter()
            .filter(|target| target.kind() == Kind::File)
            .take(MAX_TARGETS)
        {
            if is_unlinked(target) {
                self.0.entry(target.path().to_owned()).or_insert(now);
            }
        }
    }
}

fn is_unlinked(target: &Target) -> bool {
    rustix::fs::fstat(target.as_fd()).is_ok_and(|facts| facts.st_nlink == 0)
}

/// All targets, sorted by path.
pub(super) fn conditions(
    targets: &Targets,
    gone: &UnlinkedFiles,
    epoch: Nanos,
) -> Vec<TargetConditions> {
    let mut all: Vec<_> = targets.all();
    all.retain(|target| target.kind() != Kind::Char);
    all.sort_by(|a, b| a.path().cmp(b.path()));
    all.truncate(MAX_TARGETS);
    let mut conditions: Vec<_> = all
        .iter()
        .map(|target| condition(target, gone, epoch))
        .collect();
    let real: Vec<PathBuf> = all.iter().map(|target| real_path(target)).collect();
    for (index, sharer) in sharers(&real) {
        conditions[index].sharers.push(sharer);
    }
    conditions
}

/// The path that descriptors of other processes show.
fn real_path(target: &Target) -> PathBuf {
    let own = format!("/proc/self/fd/{}", target.as_fd().as_raw_fd());
    std::fs::read_link(own).unwrap_or_else(|_| target.path().to_owned())
}

fn condition(target: &Target, gone: &UnlinkedFiles, epoch: Nanos) -> TargetConditions {
    let is_file = target.kind() == Kind::File;
    let size = target.size().unwrap_or(0);
    let cached = (size > 0)
        .then(|| cache_state(target.as_fd(), 0..size).ok())
        .flatten();
    let page = rustix::param::page_size() as u64;
    TargetConditions {
        path: target.path().to_owned(),
        is_file,
        size: Bytes::new(size),
        memory_backed: is_file
            && rustix::fs::fstatfs(target.as_fd())
                .is_ok_and(|fs| MEMORY.contains(&(fs.f_type as u64))),
        direct: direct_io(target.as_fd()).ok().map(direct_io_mode),
        written_share: (is_file && target.read_only() && supported(target.as_fd()))
            .then(|| written_share(target.as_fd(), target.permitted_range(size)).ok())
            .flatten(),
        cached_share: cached
            .map(|state| (state.resident * page) as f64 / size as f64)
            .map(|share| share.min(1.0)),
        dirty: cached.map(|state| Bytes::new((state.dirty + state.writeback) * page)),
        gone: gone.0.get(target.path()).map(|at| at.saturating_sub(epoch)),
        sharers: Vec::new(),
    }
}

fn direct_io_mode(direct: DirectIo) -> DirectIoMode {
    match direct {
        DirectIo::Unknown => DirectIoMode::Unreported,
        DirectIo::Buffered => DirectIoMode::Buffered,
        DirectIo::Direct { .. } => DirectIoMode::Direct,
    }
}
