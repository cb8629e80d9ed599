//! The names of a simulated machine: its block devices, and the file systems with their files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::device::DeviceSurvey;

const ENOSPC: i32 = 28;
const ENOENT: i32 = 2;
/// Files begin at multiples of this.
const ALIGNMENT: u64 = 1 << 20;

/// Where a name is on the devices of its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of the device.
    pub disk: usize,
    /// The first byte on it.
    pub base: u64,
    /// Bytes.
    pub size: u64,
    /// It is all of a device.
    pub whole: bool,
}

/// How a [`Volume`] is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeKind {
    /// A block device at the path of the volume.
    BlockDevice,
    /// A file system that is mounted at the path of the volume.
    FileSystem,
    /// Every path: below `/dev` the block device, elsewhere a file system.
    EveryPath,
}

/// A device of the machine under one of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name, absolute.
    pub path: PathBuf,
    /// How it is used.
    pub kind: VolumeKind,
    /// The number of the device; several volumes can be on one.
    pub disk: usize,
    /// Bytes.
    pub capacity: u64,
    /// Nobody may write to it.
    pub read_only: bool,
    /// A block device that contains data of somebody else.
    pub holds_data: bool,
    /// A block device that its owner allows to be written.
    pub scratch: bool,
    /// Where the file system of a block device is mounted.
    pub mounted: Option<PathBuf>,
    /// The name of the drive, as it reports it.
    pub drive: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// What the host knows of how the device is built and connected.
    pub survey: DeviceSurvey,
}

impl Volume {
    /// A volume without data.
    #[must_use]
    pub fn new(path: PathBuf, kind: VolumeKind, disk: usize, capacity: u64) -> Volume {
        Volume {
            path,
            kind,
            disk,
            capacity,
            read_only: false,
            holds_data: false,
            scratch: false,
            mounted: None,
            drive: None,
            serial: None,
            survey: DeviceSurvey::default(),
        }
    }
}

/// A file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNode {
    /// The position of its volume in [`FileTree::volumes`].
    pub volume: usize,
    /// Its number, which no other file of the machine gets.
    pub number: u64,
    /// Where it is.
    pub extent: Extent,
    /// The load generator did not create it.
    pub foreign: bool,
}

/// What a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A block device, by the position of its volume.
    Device(usize),
    /// A file.
    File(FileNode),
    /// A directory, by the position of its volume.
    Directory(usize),
    /// Nothing; a file can be created on this volume, whose directory exists.
    Missing(usize),
    /// Nothing, and its directory does not exist either.
    Nowhere,
}

/// Why a file has no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceError {
    /// The error number of Linux.
    pub errno: i32,
    /// What is wrong, with the name.
    pub what: String,
}

/// All names of a machine.
#[derive(Clone, Debug, Default)]
pub struct FileTree {
    volumes: Vec<Volume>,
    files: BTreeMap<PathBuf, FileNode>,
    directories: BTreeSet<PathBuf>,
    /// The end of the last file of each volume.
    ends: Vec<u64>,
    next_number: u64,
}

/// The path from the root: a relative name begins there too.
fn normal(path: &Path) -> PathBuf {
    let mut whole = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => whole.push(name),
            Component::ParentDir => drop(whole.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    whole
}

impl FileTree {
    /// The names of a machine with one device of this size, on which every path is.
    #[must_use]
    pub fn on_one_device(capacity: u64) -> FileTree {
        let mut tree = FileTree::default();
        tree.add_volume(Volume {
            scratch: true,
            ..Volume::new("/".into(), VolumeKind::EveryPath, 0, capacity)
        });
        tree
    }

    /// The name from the root, as the machine sees it: a relative one begins there too.
    #[must_use]
    pub fn absolute(path: &Path) -> PathBuf {
        normal(path)
    }

    /// Adds a volume. A file system makes its directory exist.
    pub fn add_volume(&mut self, volume: Volume) {
        let path = normal(&volume.path);
        if volume.kind == VolumeKind::FileSystem {
            self.directories.insert(path.clone());
        }
        self.ends.push(0);
        self.volumes.push(Volume { path, ..volume });
    }

    /// Adds a file that is not the load generator's.
    ///
    /// # Errors
    /// If its volume does not exist or has no room.
    pub fn add_foreign_file(&mut self, path: &Path, size: u64) -> Result<(), PlaceError> {
        let path = normal(path);
        let Some(volume) = self.volume_of(&path) else {
            return Err(nowhere(&path));
        };
        self.create(volume, path, size, true).map(drop)
    }

    /// The volumes.
    #[must_use]
    pub fn volumes(&self) -> &[Volume] {
        &self.volumes
    }

    /// The files below a directory, in the order of their names.
    pub fn files_below<'a>(&'a self, directory: &Path) -> impl Iterator<Item = &'a Path> {
        let directory = normal(directory);
        let below = self.files.keys().map(PathBuf::as_path);
        below.filter(move |path| path.starts_with(&directory))
    }

    /// Bytes of a volume that no file uses.
    #[must_use]
    pub fn free(&self, volume: usize) -> u64 {
        let capacity = self.volumes.get(volume).map_or(0, |one| one.capacity);
        let used = self.files_of(volume).map(|file| file.extent.size);
        capacity.saturating_sub(used.sum())
    }

    /// The files of a volume that have a part of it.
    fn files_of(&self, volume: usize) -> impl Iterator<Item = &FileNode> {
        self.files
            .values()
            .filter(move |file| file.volume == volume && !file.extent.whole)
    }

    /// The volume of a normal path: the innermost file system, or the device itself.
    fn volume_of(&self, path: &Path) -> Option<usize> {
        let fits = |volume: &Volume| match volume.kind {
            VolumeKind::BlockDevice => volume.path == path,
            VolumeKind::FileSystem => path.starts_with(&volume.path),
            VolumeKind::EveryPath => true,
        };
        let fitting = self.volumes.iter().enumerate().filter(|(_, one)| fits(one));
        let innermost = fitting.max_by_key(|(_, one)| one.path.components().count());
        innermost.map(|(position, _)| position)
    }

    /// Whether a normal path is a block device on this volume.
    fn is_device(&self, volume: usize, path: &Path) -> bool {
        self.volumes.get(volume).is_some_and(|one| match one.kind {
            VolumeKind::BlockDevice => true,
            VolumeKind::FileSystem => false,
            VolumeKind::EveryPath => path.starts_with("/dev"),
        })
    }

    /// Whether a normal path on this volume is a directory; on a volume of every path, whether it may be one.
    fn is_directory(&self, volume: usize, path: &Path) -> bool {
        let every = self
            .volumes
            .get(volume)
            .is_some_and(|one| one.kind == VolumeKind::EveryPath);
        every || self.directories.contains(path)
    }

    /// What a name refers to. Where every path is on one device, a name that nothing has is [`Node::Missing`], though
    /// [`FileTree::may_be_directory`] says yes.
    #[must_use]
    pub fn node(&self, path: &Path) -> Node {
        let path = normal(path);
        if let Some(file) = self.files.get(&path) {
            return Node::File(*file);
        }
        let Some(volume) = self.volume_of(&path) else {
            return Node::Nowhere;
        };
        if self.is_device(volume, &path) {
            return Node::Device(volume);
        }
        if self.directories.contains(&path) {
            return Node::Directory(volume);
        }
        match path.parent() {
            Some(parent) if self.is_directory(volume, parent) => Node::Missing(volume),
            None if self.is_directory(volume, &path) => Node::Directory(volume),
            _ => Node::Nowhere,
        }
    }

    /// Whether a name is a directory, or could be one because nothing else has it and every path is on one device.
    #[must_use]
    pub fn may_be_directory(&self, path: &Path) -> bool {
        match self.node(path) {
            Node::Directory(_) => true,
            Node::Missing(volume) => self.is_directory(volume, &normal(path)),
            Node::Device(_) | Node::File(_) | Node::Nowhere => false,
        }
    }

    /// The place of a name with this size. A file is created, or grows if it is the load generator's; without a size it is all
    /// of its device.
    ///
    /// # Errors
    /// If there is no room, or no such volume.
    pub fn place(&mut self, name: &Path, size: u64, writes: bool) -> Result<Extent, PlaceError> {
        let path = normal(name);
        if let Some(file) = self.files.get(&path).copied() {
            let stays = file.foreign || file.extent.whole || size <= file.extent.size;
            return if stays {
                Ok(file.extent)
            } else {
                self.grow(path, file, size)
            };
        }
        let Some(volume) = self.volume_of(&path) else {
            return Err(nowhere(name));
        };
        if self.is_device(volume, &path) {
            return self.whole(volume, &path, if writes { size } else { 0 });
        }
        if size == 0 {
            let extent = self.whole(volume, &path, 0)?;
            self.insert(path, volume, extent, false);
            return Ok(extent);
        }
        self.create(volume, path, size, false)
    }

    /// All of a volume, which must have this many bytes.
    fn whole(&self, volume: usize, path: &Path, needed: u64) -> Result<Extent, PlaceError> {
        let one = self.volumes.get(volume).ok_or_else(|| nowhere(path))?;
        if needed > one.capacity {
            return Err(no_room(path, needed, one.capacity));
        }
        Ok(Extent {
            disk: one.disk,
            base: 0,
            size: one.capacity,
            whole: true,
        })
    }

    fn create(
        &mut self,
        volume: usize,
        path: PathBuf,
        size: u64,
        foreign: bool,
    ) -> Result<Extent, PlaceError> {
        let extent = self.allocate(volume, &path, size)?;
        self.insert(path, volume, extent, foreign);
        Ok(extent)
    }

    fn insert(&mut self, path: PathBuf, volume: usize, extent: Extent, foreign: bool) {
        let mount = self.volumes.get(volume).map(|one| one.path.clone());
        let mount = mount.unwrap_or_default();
        let above = path.ancestors().skip(1);
        let above = above.take_while(|directory| directory.starts_with(&mount));
        self.directories.extend(above.map(Path::to_owned));
        self.next_number += 1;
        let number = self.next_number;
        let node = FileNode {
            volume,
            number,
            extent,
            foreign,
        };
        self.files.insert(path, node);
        self.note_end(volume, extent);
    }

    fn note_end(&mut self, volume: usize, extent: Extent) {
        if let Some(end) = self.ends.get_mut(volume).filter(|_| !extent.whole) {
            *end = extent.base.saturating_add(extent.size).max(*end);
        }
    }

    /// Takes a file away. The volume ends earlier if it was the last one.
    fn take(&mut self, path: &Path) -> Option<FileNode> {
        let file = self.files.remove(path)?;
        let ends = self.files_of(file.volume).map(|one| one.extent);
        let last = ends.map(|extent| extent.base.saturating_add(extent.size));
        let last = last.max();
        if let Some(end) = self.ends.get_mut(file.volume) {
            *end = last.unwrap_or(0);
        }
        Some(file)
    }

    /// A longer file stays where it is if it is the last one. Otherwise it moves: nothing of the model depends on its contents.
    fn grow(&mut self, path: PathBuf, file: FileNode, size: u64) -> Result<Extent, PlaceError> {
        self.take(&path);
        let grown = self.allocate(file.volume, &path, size);
        let extent = *grown.as_ref().unwrap_or(&file.extent);
        self.files.insert(path, FileNode { extent, ..file });
        self.note_end(file.volume, extent);
        grown
    }

    /// A free part of the volume: behind all files, or else the first one that is large enough.
    fn allocate(&self, volume: usize, path: &Path, size: u64) -> Result<Extent, PlaceError> {
        let one = self.volumes.get(volume).ok_or_else(|| nowhere(path))?;
        let behind = self.ends[volume].next_multiple_of(ALIGNMENT);
        if behind.saturating_add(size) <= one.capacity {
            return Ok(Extent {
                disk: one.disk,
                base: behind,
                size,
                whole: false,
            });
        }
        let mut used: Vec<(u64, u64)> = self
            .files_of(volume)
            .map(|file| (file.extent.base, file.extent.size))
            .collect();
        used.sort_unstable();
        let mut base = 0_u64;
        for (from, bytes) in used {
            if from >= base.saturating_add(size) {
                break;
            }
            let end = from.saturating_add(bytes);
            base = base.max(end.next_multiple_of(ALIGNMENT));
        }
        let end = base.saturating_add(size);
        if end > one.capacity {
            return Err(no_room(path, end, one.capacity));
        }
        Ok(Extent {
            disk: one.disk,
            base,
            size,
            whole: false,
        })
    }

    /// Removes a file of the load generator. Returns whether there was one.
    pub fn remove(&mut self, path: &Path) -> bool {
        let path = normal(path);
        let is_own = self.files.get(&path).is_some_and(|file| !file.foreign);
        is_own && self.take(&path).is_some()
    }
}

fn nowhere(path: &Path) -> PlaceError {
    PlaceError {
        errno: ENOENT,
        what: format!(
            "{}: the simulated machine has no device or file system there",
            path.display()
        ),
    }
}

fn no_room(path: &Path, needed: u64, capacity: u64) -> PlaceError {
    PlaceError {
        errno: ENOSPC,
        what: format!(
            "{}: the files of the jobs need {needed} bytes, the simulated device has {capacity}; reduce size= or set capacity= of the model",
            path.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn extent(base: u64, size: u64) -> Extent {
        Extent {
            disk: 0,
            base,
            size,
            whole: false,
        }
    }

    #[test]
    fn on_one_device_every_path_exists_as_it_is_needed() {
        let mut tree = FileTree::on_one_device(8 * MIB);
        assert_eq!(tree.node(Path::new("/dev/x")), Node::Device(0));
        assert_eq!(tree.node(Path::new("/data/a")), Node::Missing(0));
        assert!(tree.may_be_directory(Path::new("/data")));
        assert!(!tree.may_be_directory(Path::new("/dev/x")));
        let place = |tree: &mut FileTree, path: &str, size| tree.place(Path::new(path), size, true);
        assert_eq!(place(&mut tree, "a", MIB + 1), Ok(extent(0, MIB + 1)));
        assert_eq!(place(&mut tree, "/b", MIB), Ok(extent(2 * MIB, MIB)));
        assert_eq!(
            place(&mut tree, "./a", MIB),
            Ok(extent(0, MIB + 1)),
            "the same file"
        );
        assert_eq!(tree.free(0), 6 * MIB - 1);
        // Regression 1487: the directory `.` was no directory, so that commands with it were refused.
        assert_eq!(tree.node(Path::new(".")), Node::Directory(0));
        assert!(tree.may_be_directory(Path::new(".")));
        let whole = place(&mut tree, "/whole", 0).expect("all of it");
        assert_eq!((whole.base, whole.size, whole.whole), (0, 8 * MIB, true));
        let full = place(&mut tree, "/c", 6 * MIB).expect_err("9 MiB of 8");
        assert_eq!(full.errno, ENOSPC);
        assert!(full.what.contains("need 9437184 bytes"), "{}", full.what);
    }

    #[test]
    fn a_file_grows_and_a_removed_one_gives_its_place_back() {
        let mut tree = FileTree::on_one_device(8 * MIB);
        let mut place = |path: &str, size| tree.place(Path::new(path), size, true);
        assert_eq!(place("/a", MIB), Ok(extent(0, MIB)));
        assert_eq!(place("/b", MIB), Ok(extent(MIB, MIB)));
        assert_eq!(place("/b", 3 * MIB), Ok(extent(MIB, 3 * MIB)), "in place");
        assert_eq!(place("/a", 2 * MIB), Ok(extent(4 * MIB, 2 * MIB)), "moved");
        assert!(tree.remove(Path::new("/b")) && !tree.remove(Path::new("/b")));
        let mut place = |path: &str, size| tree.place(Path::new(path), size, true);
        assert_eq!(place("/c", 4 * MIB), Ok(extent(0, 4 * MIB)));
    }

    #[test]
    fn a_machine_has_only_its_own_names() {
        let mut tree = FileTree::default();
        let volume = |path: &str, kind, disk| Volume::new(path.into(), kind, disk, 8 * MIB);
        tree.add_volume(volume("/dev/sda", VolumeKind::BlockDevice, 0));
        tree.add_volume(volume("/data", VolumeKind::FileSystem, 1));
        tree.add_foreign_file(Path::new("/data/db/base"), MIB)
            .expect("there is room");
        let node = |path: &str| tree.node(Path::new(path));
        assert_eq!(node("/dev/sda"), Node::Device(0));
        assert_eq!(node("/dev/sdb"), Node::Nowhere);
        assert_eq!(node("/elsewhere"), Node::Nowhere);
        assert_eq!(node("/data/db"), Node::Directory(1));
        assert_eq!(node("/data/new"), Node::Missing(1));
        assert_eq!(node("/data/other/new"), Node::Nowhere);
        let Node::File(file) = node("/data/db/base") else {
            panic!("{:?}", node("/data/db/base"));
        };
        assert_eq!((file.extent.disk, file.foreign), (1, true));
        let grown = tree.place(Path::new("/data/db/base"), 2 * MIB, false);
        assert_eq!(grown.map(|one| one.size), Ok(MIB), "a foreign file stays");
        assert!(!tree.remove(Path::new("/data/db/base")));
    }
}
