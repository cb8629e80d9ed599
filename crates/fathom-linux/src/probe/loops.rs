//! The files attached to loop devices. See `loop(4)`.

use super::kernel::{devno, loop_backing};
use super::sysfs::Node;
use fathom_device::DevNo;
use rustix::fs::{Mode, OFlags};
use std::os::fd::AsFd;
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
}

fn by_path(path: &Path) -> Option<(DevNo, u64)> {
    let stat = rustix::fs::stat(path).ok()?;
    Some((devno(stat.st_dev), stat.st_ino))
}
