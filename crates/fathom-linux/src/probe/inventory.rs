//! Every block device of the host.

use super::examine::{Look, block_facts, from_sysfs, unopened};
use super::kernel::devno;
use super::sysfs::Node;
use super::system::{Reach, System};
use fathom_device::{BlockFacts, Target, TargetFacts};
use rustix::fs::{FileType, Mode, OFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Facts of every block device that has a capacity, by name. No device is claimed, so that a mount at this very
/// moment is not disturbed; one that may not be opened is listed with what sysfs says.
#[must_use]
pub fn list_block_devices() -> Vec<TargetFacts> {
    let system = System::now(Reach::Everywhere);
    let nodes = Node::all()
        .into_iter()
        .filter(|node| !node.size().is_zero());
    nodes.map(|node| facts(&node, &system)).collect()
}

fn facts(node: &Node, system: &System) -> TargetFacts {
    let named = PathBuf::from("/dev").join(&node.relative.name);
    let block = open(&named, node).map_or_else(
        || closed(node, system),
        |device| opened(&device, node, system),
    );
    TargetFacts {
        resolved: named.clone(),
        named,
        symlink: false,
        target: Target::Block(Box::new(block)),
    }
}

/// The node in `/dev`, if it really is this device.
fn open(path: &Path, node: &Node) -> Option<OwnedFd> {
    let fd = rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    let block = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
    (block && devno(stat.st_rdev) == node.relative.devno).then_some(fd)
}

fn opened(device: &OwnedFd, node: &Node, system: &System) -> BlockFacts {
    let look = Look {
        contents: true,
        held: Some(device.as_fd()),
    };
    let found = block_facts(device.as_fd(), node.relative.devno, look, system);
    BlockFacts {
        exclusive: fathom_device::Exclusive::Unknown("not tried".into()),
        ..found
    }
}

fn closed(node: &Node, system: &System) -> BlockFacts {
    let mut found = unopened(node.relative.devno);
    from_sysfs(node, system, &mut found);
    found
}
