//! The files attached to loop devices. See `loop(4)`.

use super::kernel::{devno, loop_backing};
use super::sysfs::Node;
use fathom_device::{BackingInode, DevNo};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Loop device name, and (device, inode) of its file.
pub(super) type Attached = (String, (DevNo, u64));

/// Every attached loop device. The kernel's own answer is used; if it cannot be queried, the path
/// in sysfs.
pub(super) fn attached() -> Vec<Attached> {
    let loops = Node::all().into_iter().filter_map(|node| {
        let path = node.backing_file()?;
        let name = node.relative.name;
        let file = ask(&name, node.relative.devno).or_else(|| by_path(&path))?;
        Some((name, file))
    });
    loops.collect()
}

fn ask(name: &str, expected: DevNo) -> Option<(DevNo, u64)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let device = rustix::fs::open(format!("/dev/{name}"), flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&device).ok()?;
    (devno(stat.st_rdev) == expected)
        .then(|| loop_backing(device.as_fd()).ok())
        .flatten()
        .map(|(file, _)| file)
}

/// The inode behind the loop device `device`, whose file has the path `path`.
pub(super) fn backing(device: BorrowedFd<'_>, path: &Path) -> Option<BackingInode> {
    let ((dev, inode), offset) = loop_backing(device).ok()?;
    let born = rustix::fs::statx(
        rustix::fs::CWD,
        path,
        AtFlags::empty(),
        StatxFlags::BASIC_STATS | StatxFlags::BTIME,
    );
    let born_ns = born.ok().and_then(|stat| {
        let same =
            (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino) == (dev.major, dev.minor, inode);
        let known = same && stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let seconds = known.then_some(stat.stx_btime.tv_sec)?;
        seconds
            .checked_mul(1_000_000_000)?
            .checked_add(i64::from(stat.stx_btime.tv_nsec))
    });
    Some(BackingInode {
        dev,
        inode,
        born_ns,
        offset,
    })
}

fn by_path(path: &Path) -> Option<(DevNo, u64)> {
    let stat = rustix::fs::stat(path).ok()?;
    Some((devno(stat.st_dev), stat.st_ino))
}
