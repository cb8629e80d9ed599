//! Targets when the load has ended: what O_DIRECT does on them, what of them was never written, what lies in memory.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use fathom_model::{Bytes, DirectTruth, Nanos, TargetConditions};

use super::super::cache::{DirectIo, cache_state, direct_io};
use super::super::extents::{known, written_share};
use super::super::target::{Kind, Target, Targets};
use super::sharers::sharers;

/// More are not looked at, so that the end of a run over thousands of files is not held up.
const MOST: usize = 256;
/// File systems that are memory. See statfs(2).
const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Since when which target's name leads elsewhere.
#[derive(Debug, Default)]
pub(super) struct Gone(HashMap<PathBuf, Nanos>);

impl Gone {
    /// Looks whether every file still has a name.
    pub(super) fn look(&mut self, targets: &Targets, now: Nanos) {
        for target in targets
            .all()
            .iter()
            .filter(|target| target.kind() == Kind::File)
            .take(MOST)
        {
            if nameless(target) {
                self.0.entry(target.path().to_owned()).or_insert(now);
            }
        }
    }
}

fn nameless(target: &Target) -> bool {
    rustix::fs::fstat(target.as_fd()).is_ok_and(|facts| facts.st_nlink == 0)
}

/// All targets, sorted by path.
pub(super) fn conditions(targets: &Targets, gone: &Gone, epoch: Nanos) -> Vec<TargetConditions> {
    let mut all: Vec<_> = targets.all();
    all.retain(|target| target.kind() != Kind::Char);
    all.sort_by(|a, b| a.path().cmp(b.path()));
    all.truncate(MOST);
    let mut conditions: Vec<_> = all
        .iter()
        .map(|target| condition(target, gone, epoch))
        .collect();
    let real: Vec<PathBuf> = all.iter().map(|target| real_path(target)).collect();
    for (place, sharer) in sharers(&real) {
        conditions[place].sharers.push(sharer);
    }
    conditions
}

/// What others' descriptors of it are called.
fn real_path(target: &Target) -> PathBuf {
    let own = format!("/proc/self/fd/{}", target.as_fd().as_raw_fd());
    std::fs::read_link(own).unwrap_or_else(|_| target.path().to_owned())
}

fn condition(target: &Target, gone: &Gone, epoch: Nanos) -> TargetConditions {
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
        direct: direct_io(target.as_fd()).ok().map(truth),
        written_share: (is_file && target.read_only() && known(target.as_fd()))
            .then(|| written_share(target.as_fd(), target.reach(size)).ok())
            .flatten(),
        cached_share: cached
            .map(|state| (state.resident * page) as f64 / size as f64)
            .map(|share| share.min(1.0)),
        dirty: cached.map(|state| Bytes::new((state.dirty + state.writeback) * page)),
        gone: gone.0.get(target.path()).map(|at| at.saturating_sub(epoch)),
        sharers: Vec::new(),
    }
}

fn truth(direct: DirectIo) -> DirectTruth {
    match direct {
        DirectIo::Unknown => DirectTruth::Unsaid,
        DirectIo::Buffered => DirectTruth::Buffered,
        DirectIo::Direct { .. } => DirectTruth::Direct,
    }
}
