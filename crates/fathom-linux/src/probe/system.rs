//! A snapshot of all uses of the host's devices and files, and the part of it that concerns one
//! device.

use super::kernel::devno;
use super::loops::{self, Attached};
use super::mounts::{self, MountRow};
use super::sysfs::Node;
use fathom_device::{DevNo, Relation, Use, UseKind};
use rustix::fs::FileType;
use std::path::Path;

/// Depth limit of device stacks; real ones are shallower.
const MAX_DEPTH: usize = 16;

/// Which mount namespaces to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MountScope {
    /// Also those of other processes; reads a link for every process.
    AllNamespaces,
    /// Only our own: enough for files, and for a device that is already claimed.
    OwnNamespace,
}

/// Mounts, swap space, btrfs members and loop devices at one moment.
pub(super) struct System {
    mounts: Vec<MountRow>,
    swap_devices: Vec<DevNo>,
    swap_files: Vec<(DevNo, u64)>,
    btrfs: Vec<(DevNo, String)>,
    loops: Vec<Attached>,
}

impl System {
    /// Takes a snapshot.
    pub(super) fn now(scope: MountScope) -> Self {
        let (swap_devices, swap_files) = swaps();
        Self {
            mounts: mounts::all(scope == MountScope::AllNamespaces),
            swap_devices,
            swap_files,
            btrfs: btrfs(),
            loops: loops::attached(),
        }
    }
    /// Whether this file is active swap space.
    pub(super) fn is_swap_file(&self, file: (DevNo, u64)) -> bool {
        self.swap_files.contains(&file)
    }
    /// Loop devices that this file backs.
    pub(super) fn loops_on(&self, file: (DevNo, u64)) -> Vec<String> {
        self.loops
            .iter()
            .filter(|(_, behind)| *behind == file)
            .map(|(name, _)| name.clone())
            .collect()
    }
    /// Every use of a device and of its related devices.
    pub(super) fn uses(&self, node: &Node) -> Vec<Use> {
        let mut family = vec![(Relation::Itself, node.clone())];
        family.extend(
            node.partitions()
                .into_iter()
                .map(|part| (Relation::PartitionOf, part)),
        );
        let mut built: Vec<Node> = family
            .iter()
            .flat_map(|(_, member)| member.holders())
            .collect();
        if let Some(whole) = node.whole() {
            built.extend(whole.holders());
            family.push((Relation::WholeOf, whole));
        }
        family.extend(
            above(built)
                .into_iter()
                .map(|node| (Relation::BuiltOn, node)),
        );
        family
            .iter()
            .flat_map(|(relation, member)| self.uses_of(member, *relation))
            .collect()
    }
    fn uses_of(&self, node: &Node, relation: Relation) -> Vec<Use> {
        let devno = node.relative.devno;
        let mounted = self.mounts.iter().filter(|row| row.devno == devno);
        let mut kinds: Vec<UseKind> = mounted
            .map(|row| UseKind::Mounted(row.mount.clone()))
            .collect();
        kinds.extend(self.swap_devices.contains(&devno).then_some(UseKind::Swap));
        let members = self.btrfs.iter().filter(|(member, _)| *member == devno);
        kinds.extend(members.map(|(_, uuid)| UseKind::BtrfsMember { uuid: uuid.clone() }));
        kinds
            .into_iter()
            .map(|kind| Use {
                device: node.relative.clone(),
                relation,
                kind,
            })
            .collect()
    }
    /// Whether one of these uses is a root file system, ours or another process's. A btrfs root on
    /// several devices shows its mount only on the device it was mounted from, so its UUID is
    /// compared.
    pub(super) fn is_root(&self, uses: &[Use]) -> bool {
        let root_devices: Vec<DevNo> = self
            .mounts
            .iter()
            .filter(|row| row.mount.at == Path::new("/"))
            .map(|row| row.devno)
            .collect();
        let root_btrfs = |uuid: &String| {
            self.btrfs
                .iter()
                .any(|(member, other)| other == uuid && root_devices.contains(member))
        };
        uses.iter().any(|used| match &used.kind {
            UseKind::Mounted(mount) => mount.at == Path::new("/"),
            UseKind::BtrfsMember { uuid } => root_btrfs(uuid),
            UseKind::Swap => false,
        })
    }
}

/// These devices, their partitions, and everything built on either.
fn above(mut layer: Vec<Node>) -> Vec<Node> {
    let mut all: Vec<Node> = Vec::new();
    for _ in 0..MAX_DEPTH {
        layer.retain(|node| {
            all.iter()
                .all(|known| known.relative.devno != node.relative.devno)
        });
        if layer.is_empty() {
            break;
        }
        all.extend(layer.iter().cloned());
        layer = layer
            .iter()
            .flat_map(|node| node.partitions().into_iter().chain(node.holders()))
            .collect();
    }
    all
}

/// Swap devices by number and swap files by (device, inode), from `proc_swaps(5)`.
fn swaps() -> (Vec<DevNo>, Vec<(DevNo, u64)>) {
    let text = std::fs::read("/proc/swaps").unwrap_or_default();
    let names = text
        .split(|&byte| byte == b'\n')
        .skip(1)
        .filter_map(|line| {
            let name = line.split(|&byte| byte == b' ' || byte == b'\t').next()?;
            (!name.is_empty()).then(|| mounts::unescape(name))
        });
    let (mut devices, mut files) = (Vec::new(), Vec::new());
    for stat in names.filter_map(|name| rustix::fs::stat(&name).ok()) {
        if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice {
            devices.push(devno(stat.st_rdev));
        } else {
            files.push((devno(stat.st_dev), stat.st_ino));
        }
    }
    (devices, files)
}

/// Members of every mounted btrfs with its UUID.
fn btrfs() -> Vec<(DevNo, String)> {
    let Ok(systems) = std::fs::read_dir("/sys/fs/btrfs") else {
        return Vec::new();
    };
    let members = systems.flatten().flat_map(|system| {
        let uuid = system.file_name().to_string_lossy().into_owned();
        let devices = std::fs::read_dir(system.path().join("devices"))
            .into_iter()
            .flatten()
            .flatten();
        devices.filter_map(move |device| {
            Some((Node::at(&device.path())?.relative.devno, uuid.clone()))
        })
    });
    members.collect()
}
