//! Lists the block devices of the host.

use super::examine::{ExamineMode, block_facts, from_sysfs, unopened};
use super::kernel::devno;
use super::sysfs::Node;
use super::system::{MountScope, System};
use fathom_device::{BlockFacts, Target, TargetFacts};
use rustix::fs::{FileType, Mode, OFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Facts of every block device with a capacity, by name, with the result of `probe` for each. No
/// device is claimed, so a concurrent mount is not disturbed; a device that may not be opened is
/// listed with the facts from sysfs. All devices are queried in parallel. `None` marks one that did
/// not respond within `timeout`, such as a hanging disk.
#[must_use]
pub fn list_block_devices<T: Send + 'static>(
    timeout: Duration,
    probe: fn(&Path) -> T,
) -> Vec<(TargetFacts, Option<T>)> {
    let system = Arc::new(System::now(MountScope::AllNamespaces));
    let nodes: Vec<Node> = Node::all()
        .into_iter()
        .filter(|node| !node.size().is_zero())
        .collect();
    let (send, answers) = channel();
    for (location, node) in nodes.iter().cloned().enumerate() {
        let (send, system) = (send.clone(), Arc::clone(&system));
        // A thread that hangs in a device is abandoned; nobody waits for it.
        std::thread::spawn(move || {
            let found = facts(&node, &system);
            let more = probe(&found.resolved);
            drop(send.send((location, found, more)));
        });
    }
    drop(send);
    let mut all: Vec<Option<(TargetFacts, T)>> = nodes.iter().map(|_| None).collect();
    let deadline = Instant::now() + timeout;
    while let Ok((location, found, more)) =
        answers.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    {
        all[location] = Some((found, more));
    }
    let unanswered = |node: &Node| (target(node, closed(node, &system)), None);
    let answered = |(found, more)| (found, Some(more));
    nodes
        .iter()
        .zip(all)
        .map(|(node, answer)| answer.map_or_else(|| unanswered(node), answered))
        .collect()
}

fn facts(node: &Node, system: &System) -> TargetFacts {
    let named = PathBuf::from("/dev").join(&node.relative.name);
    let block = open(&named, node).map_or_else(
        || closed(node, system),
        |device| opened(&device, node, system),
    );
    target(node, block)
}

fn target(node: &Node, block: BlockFacts) -> TargetFacts {
    let named = PathBuf::from("/dev").join(&node.relative.name);
    TargetFacts {
        resolved: named.clone(),
        named,
        symlink: false,
        target: Target::Block(Box::new(block)),
    }
}

/// The node in `/dev`, if it is this device.
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
    let mode = ExamineMode {
        contents: true,
        held: Some(device.as_fd()),
    };
    let found = block_facts(device.as_fd(), node.relative.devno, mode, system);
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
