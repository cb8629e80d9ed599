//! Brings files into the state that a job needs.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_load::{FileFacts, HostError, LayOut};
use fathom_model::Bytes;
use rustix::fs::OFlags;

use super::cache::{self, DirectIo};
use super::error::{failed, no_space, refused};
use super::extents;
use super::fill::Filler;
use super::reserve::{lengthen, reserve};
use super::target::{Kind, Target, Targets};

/// See [`fathom_load::Host::lay_out`].
pub(super) fn lay_out(
    targets: &Targets,
    file: &LayOut,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<FileFacts, HostError> {
    let target = targets.get_or_create(&file.path, file.create, file.size)?;
    let mut ready = target.turn();
    let done = shape(&target, file, stop, progress).and_then(|laid_out| {
        warm_or_cold(&target, file, stop)?;
        facts(&target, laid_out)
    });
    if done.is_err() && !*ready && !worth_keeping(&target, stop) {
        // The first error is the one to tell.
        let _ = targets.remove(&target);
    }
    *ready |= done.is_ok();
    done
}

/// After a stop, a file whose holes can be found again saves the next run the work.
fn worth_keeping(target: &Target, stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed) && extents::known(target.as_fd())
}

/// Size and content. Returns the bytes written.
fn shape(
    target: &Target,
    file: &LayOut,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, HostError> {
    let now = target
        .size()
        .map_err(|error| failed("ask the size of", target.path(), &error))?;
    let wanted = file.size.get();
    if target.kind() != Kind::File || target.read_only() {
        // What is shorter than the job wants is the load's to judge, unless the job would have to make it longer.
        return if target.kind() == Kind::File && file.writes && now < wanted {
            Err(too_small(target, now, wanted))
        } else {
            Ok(0)
        };
    }
    if now < wanted && target.may_grow_to() < wanted {
        return Err(too_small(target, now, wanted));
    }
    let work = Work {
        target,
        file,
        now,
        wanted,
    };
    if file.content {
        work.fill(stop, progress)
    } else {
        work.make_room()
    }
}

fn too_small(target: &Target, now: u64, wanted: u64) -> HostError {
    let path = target.path().display();
    let what = format!(
        "{path} holds {now} bytes and may not be enlarged, but the job needs {wanted}; lower size= or offset="
    );
    refused(libc::EINVAL, what)
}

/// One file that is ours to change.
struct Work<'a> {
    target: &'a Target,
    file: &'a LayOut,
    now: u64,
    wanted: u64,
}

impl Work<'_> {
    /// Space for a file that will only be written.
    fn make_room(&self) -> Result<u64, HostError> {
        if self.file.writes && self.now < self.wanted {
            let fd = self.open()?;
            let room = reserve(fd.as_fd(), self.file.fallocate, self.now, self.wanted);
            room.map_err(|error| self.undo(&fd, error))?;
        }
        Ok(0)
    }

    fn fill(&self, stop: &AtomicBool, progress: &mut dyn FnMut(u64)) -> Result<u64, HostError> {
        let gaps = self
            .gaps()
            .map_err(|error| self.failed("look for holes in", error))?;
        if gaps.is_empty() {
            return Ok(0);
        }
        let fd = self.open()?;
        // Where holes cannot be found again, the file only ever grows by what was written, so that its size tells.
        let holes_known = extents::known(fd.as_fd());
        if holes_known {
            self.make_whole(&fd)
                .map_err(|error| self.undo(&fd, error))?;
        }
        let written = self
            .write(gaps, holes_known, stop, progress)
            .map_err(|error| self.undo(&fd, error))?;
        if stop.load(Ordering::Relaxed) {
            let what = format!(
                "laying out {} was stopped after {written} bytes",
                self.target.path().display()
            );
            return Err(refused(libc::EINTR, what));
        }
        if self.file.fsync {
            rustix::fs::fsync(&fd).map_err(|error| self.failed("fsync", error.into()))?;
        }
        Ok(written)
    }

    /// Space first: a disk that is too small shows at once, and parallel writes behind the end would queue up.
    fn make_whole(&self, fd: &OwnedFd) -> io::Result<()> {
        reserve(fd.as_fd(), self.file.fallocate, self.now, self.wanted)?;
        lengthen(fd.as_fd(), self.now, self.wanted)
    }

    fn write(
        &self,
        gaps: Vec<Range<u64>>,
        any_order: bool,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<u64> {
        let seed = self.file.seed ^ name_hash(self.target.path());
        Filler::open(self.target, seed, stop)?.fill(gaps, any_order, progress)
    }

    /// What has to be written: only what never was, because the rest is somebody's data.
    fn gaps(&self) -> io::Result<Vec<Range<u64>>> {
        let mut gaps = extents::gaps(self.target.as_fd(), 0..self.now.min(self.wanted))?;
        gaps.extend(part(self.now..self.wanted));
        Ok(gaps)
    }

    fn open(&self) -> Result<OwnedFd, HostError> {
        self.target
            .reopen(OFlags::RDWR)
            .map_err(|error| self.failed("open", error.into()))
    }

    /// A file that was there before gets its old length back.
    fn undo(&self, fd: &OwnedFd, error: io::Error) -> HostError {
        let full = error.raw_os_error() == Some(libc::ENOSPC);
        let facts = full.then(|| rustix::fs::fstatvfs(fd).ok()).flatten();
        if self.now < self.wanted {
            let _ = rustix::fs::ftruncate(fd, self.now);
        }
        if full {
            no_space(self.target.path(), self.wanted, facts)
        } else {
            self.failed("lay out", error)
        }
    }

    fn failed(&self, doing: &str, error: io::Error) -> HostError {
        failed(doing, self.target.path(), &error)
    }
}

fn part(range: Range<u64>) -> Option<Range<u64>> {
    (!range.is_empty()).then_some(range)
}

/// FNV-1a, so that files laid out with one seed differ.
fn name_hash(path: &Path) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, step)
}

/// Page cache: out of it, then into it.
fn warm_or_cold(target: &Target, file: &LayOut, stop: &AtomicBool) -> Result<(), HostError> {
    let fail = |doing: &str, error: io::Error| failed(doing, target.path(), &error);
    if let Some((start, end)) = file.invalidate {
        let dropped = match target.kind() {
            Kind::File => cache::drop_file(target.as_fd(), start..end),
            Kind::Block => cache::drop_device(target.as_fd(), start..end),
            Kind::Char => Ok(()),
        };
        dropped.map_err(|error| fail("drop from the page cache", error))?;
    }
    if file.pre_read && target.kind() != Kind::Char {
        let read = || {
            let fd = target.reopen(OFlags::RDONLY)?;
            cache::pre_read(fd.as_fd(), target.size()?, stop)
        };
        read().map_err(|error| fail("read ahead of the load", error))?;
    }
    Ok(())
}

fn facts(target: &Target, laid_out: u64) -> Result<FileFacts, HostError> {
    let size = target
        .size()
        .map_err(|error| failed("ask the size of", target.path(), &error))?;
    Ok(FileFacts {
        size: Bytes::new(size),
        alignment: alignment(target),
        block_device: target.kind() == Kind::Block,
        created: target.created(),
        laid_out: Bytes::new(laid_out),
    })
}

fn alignment(target: &Target) -> u32 {
    if target.kind() == Kind::Block {
        return rustix::fs::ioctl_blksszget(target).unwrap_or(1);
    }
    match cache::direct_io(target) {
        Ok(DirectIo::Direct { offset_align, .. }) => offset_align,
        _ => 1,
    }
}
