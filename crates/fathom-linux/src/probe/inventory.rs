//! Lists the block devices of the host.

use super::examine::{Contents, ExamineMode, block_facts, from_sysfs, unopened};
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

/// How long the samples of a slow disk may take, once it has answered.
const SAMPLING_TIME: Duration = Duration::from_secs(30);

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
        let look = {
            let (send, system) = (send.clone(), Arc::clone(&system));
            move || {
                let found = facts(&node, &system, Contents::Ends);
                drop(send.send((location, None)));
                let more = probe(&found.resolved);
                let found = facts(&node, &system, Contents::Samples);
                drop(send.send((location, Some((found, more)))));
            }
        };
        // A thread that hangs in a device is abandoned; nobody waits for it.
        if std::thread::Builder::new().spawn(look.clone()).is_err() {
            look();
        }
    }
    drop(send);
    let mut all: Vec<Option<(TargetFacts, T)>> = nodes.iter().map(|_| None).collect();
    let mut answering = vec![false; nodes.len()];
    let started = Instant::now();
    // Those that answer in time may take longer for the samples of their code.
    loop {
        let is_busy = answering
            .iter()
            .zip(&all)
            .any(|(answers, all)| *answers && all.is_none());
        let limit = if is_busy {
            timeout + SAMPLING_TIME
        } else {
            timeout
        };
        match answers.recv_timeout((started + limit).saturating_duration_since(Instant::now())) {
            Ok((location, None)) => answering[location] = true,
            Ok((location, found)) => all[location] = found,
            Err(_) => break,
        }
    }
    let unanswered = |node: &Node| (target(node, closed(node, &system)), None);
    let answered = |(found, more)| (found, Some(more));
    nodes
        .iter()
        .zip(all)
        .map(|(node, answer)| answer.map_or_else(|| unanswered(node), answered))
        .collect()
}

fn facts(node: &Node, system: &System, contents: Contents) -> TargetFacts {
    let named = PathBuf::from("/dev").join(&node.relative.name);
    let block = open(&named, node).map_or_else(
        || closed(node, system),
        |device| opened(&device, node, system, contents),
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

fn opened(device: &OwnedFd, node: &Node, system: &System, contents: Contents) -> BlockFacts {
    let mode = ExamineMode {
        contents,
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
