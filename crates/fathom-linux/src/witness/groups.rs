//! Control groups for a watched command: one of each hierarchy that counts I/O. The cpu and memory controllers of version 1
//! are left out, because a group of its own would change what the command may use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_model::GroupDisk;

use crate::control_groups::{cgroup_mount_points, own_group};

/// The start of the name of every group.
const PREFIX: &str = "fathom-witness-";
/// How long an exited process may take to leave its group.
const PATIENCE: Duration = Duration::from_secs(2);
/// Counters of one group without those below it.
const BYTES_OF_VERSION_1: &str = "blkio.throttle.io_service_bytes";
/// Limits of the search for groups of earlier runs.
const MAX_DEPTH: u32 = 8;
const MAX_DIRECTORIES: usize = 20_000;

/// The groups of one command.
#[derive(Debug, Default)]
pub(super) struct Groups {
    all: Vec<Group>,
    /// What is missing, in sentences.
    pub(super) missing: Vec<String>,
}

/// What a group transferred.
#[derive(Debug, Default, PartialEq)]
pub(super) struct GroupCount {
    /// The devices on which it transferred something.
    pub(super) disks: Vec<GroupDisk>,
    /// The devices whose I/O is counted; `None` means all of them.
    pub(super) counted: Option<BTreeSet<String>>,
}

impl GroupCount {
    /// Whether the I/O of a device would be in `disks`.
    pub(super) fn covers(&self, disk: &str) -> bool {
        self.counted
            .as_ref()
            .is_none_or(|counted| counted.contains(disk))
    }
}

#[derive(Debug)]
struct Group {
    path: PathBuf,
    version_2: bool,
}

impl Groups {
    /// Creates a group below each of this process's own.
    pub(super) fn create() -> Groups {
        let mut groups = Groups::default();
        let Some(name) = group_name() else {
            groups
                .missing
                .push("no control group: /proc does not show this process".to_owned());
            return groups;
        };
        let own = [
            (own_group("blkio", false), false),
            (own_group("", true), true),
        ];
        for (own, version_2) in own {
            let Some(own) = own else { continue };
            let path = own.join(&name);
            match fs::create_dir(&path) {
                Ok(()) => groups.all.push(Group { path, version_2 }),
                Err(error) => groups.missing.push(format!(
                    "no control group in {} ({}): the processes are found by their parents, and I/O is not counted by device; \
                     run fathom as root, or in a group that its user owns",
                    own.display(),
                    reason(&error),
                )),
            }
        }
        if groups.all.is_empty() && groups.missing.is_empty() {
            groups.missing.push(
                "no control group: no hierarchy is mounted; the processes are found by their parents, and I/O is not counted by \
                 device"
                    .to_owned(),
            );
        }
        groups
    }

    /// The same, with a limit of the memory in bytes, page cache included.
    ///
    /// # Errors
    /// Why the limit cannot be set, in words.
    pub(super) fn create_limited(bytes: u64) -> Result<Groups, String> {
        let mut groups = Groups::create();
        let version_2 = groups
            .all
            .iter()
            .find(|group| group.version_2)
            .map(|group| group.path.join("memory.max"))
            .filter(|file| file.exists());
        let file = match version_2 {
            Some(file) => file,
            None => {
                let name = group_name().ok_or("/proc does not show this process")?;
                let own = own_group("memory", false).ok_or(
                    "no control group with the memory controller: it is not mounted, or not delegated to this user",
                )?;
                let path = own.join(name);
                fs::create_dir(&path).map_err(|error| {
                    format!("{}: {}; run fathom as root", path.display(), reason(&error))
                })?;
                groups.all.push(Group {
                    path: path.clone(),
                    version_2: false,
                });
                path.join("memory.limit_in_bytes")
            }
        };
        fs::write(&file, bytes.to_string())
            .map_err(|error| format!("{}: {}", file.display(), reason(&error)))?;
        Ok(groups)
    }

    /// Moves a process, and all that it starts from now on, into the groups.
    pub(super) fn add(&mut self, pid: u32) {
        let mut refused = Vec::new();
        self.all.retain(|group| match move_to(&group.path, pid) {
            Ok(()) => true,
            Err(error) => {
                let _ = fs::remove_dir(&group.path);
                refused.push(format!(
                    "the command cannot be moved to {} ({}): I/O is not counted by device",
                    group.path.display(),
                    reason(&error)
                ));
                false
            }
        });
        self.missing.extend(refused);
    }

    /// The name of the groups.
    pub(super) fn name(&self) -> Option<String> {
        let group = self.all.first()?;
        Some(group.path.file_name()?.to_str()?.to_owned())
    }

    /// All processes in the groups.
    pub(super) fn processes(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self
            .all
            .iter()
            .flat_map(|group| processes(&group.path))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What they transferred; `None` where no group counts it.
    pub(super) fn count(&self) -> Option<GroupCount> {
        self.all.iter().find_map(|group| {
            let name = |number: String| disk_name(&number).unwrap_or(number);
            let by_number = transferred(&group.path, group.version_2)?;
            let named = by_number.into_iter().map(|(number, disk)| GroupDisk {
                name: name(number),
                ..disk
            });
            let disks = named.filter(|disk| disk.reads + disk.writes > 0).collect();
            let counted = (!group.version_2).then(|| {
                let numbers = counted_by_version_1(&group.path);
                numbers.into_iter().map(name).collect()
            });
            Some(GroupCount { disks, counted })
        })
    }

    /// Moves the remaining processes to the group above, and removes the groups.
    pub(super) fn release(&mut self) {
        for group in self.all.drain(..) {
            remove(&group.path);
        }
    }
}

/// Also after a failure.
impl Drop for Groups {
    fn drop(&mut self) {
        self.release();
    }
}

/// What the processes of a group and of those below it transferred, by the number of the device.
pub(crate) fn transferred(group: &Path, is_version_2: bool) -> Option<BTreeMap<String, GroupDisk>> {
    let text = |file: &str| fs::read_to_string(group.join(file)).ok();
    if is_version_2 {
        return Some(version_2(&text("io.stat")?));
    }
    Some(version_1(
        &text("blkio.throttle.io_service_bytes_recursive").or_else(|| text(BYTES_OF_VERSION_1))?,
        &text("blkio.throttle.io_serviced_recursive")
            .or_else(|| text("blkio.throttle.io_serviced"))?,
    ))
}

/// The numbers of the devices that version 1 counts. Since version 6.10 the kernel counts only devices on which a limit has been
/// set since they were attached; the topmost group has lines for all of these, other groups only for those that they used.
fn counted_by_version_1(group: &Path) -> BTreeSet<String> {
    group
        .ancestors()
        .skip(1)
        .filter_map(|above| fs::read_to_string(above.join(BYTES_OF_VERSION_1)).ok())
        .flat_map(|text| version_1(&text, "").into_keys())
        .collect()
}

/// The text of an error without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

pub(crate) fn move_to(group: &Path, pid: u32) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), pid.to_string())
}

fn processes(group: &Path) -> Vec<u32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Processes go where they would be without the group. A group of the command itself below it goes as well.
pub(crate) fn remove(group: &Path) -> bool {
    let Some(above) = group.parent() else {
        return false;
    };
    for below in directories(group) {
        remove(&below);
    }
    let started = Instant::now();
    loop {
        for pid in processes(group) {
            let _ = move_to(above, pid);
        }
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            Err(error) => return error.kind() == io::ErrorKind::NotFound,
            Ok(()) => return true,
        }
        if started.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn directories(below: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(below) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// Removes the groups that killed runs left behind, and returns their directories. Groups of runs that still live stay, and
/// so do those of other process namespaces, whose processes cannot be seen from here.
pub(super) fn remove_abandoned() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for mount in cgroup_mount_points() {
        let mut visited = 0;
        search(&mount, 0, &mut visited, &mut found);
    }
    found.retain(|group| remove(group));
    found
}

fn search(below: &Path, depth: u32, visited: &mut usize, found: &mut Vec<PathBuf>) {
    for directory in directories(below) {
        *visited += 1;
        if depth > MAX_DEPTH || *visited > MAX_DIRECTORIES {
            return;
        }
        let name = directory.file_name().and_then(|name| name.to_str());
        match name.and_then(|name| name.strip_prefix(PREFIX)) {
            Some(owner) if is_abandoned(owner) => found.push(directory),
            Some(_) => {}
            None => search(&directory, depth + 1, visited, found),
        }
    }
}

/// The groups of this process and of those above it that carry our name. The supervisor removes them where fathom was killed.
pub(super) fn remove_own() {
    for own in [own_group("blkio", false), own_group("", true)]
        .into_iter()
        .flatten()
    {
        let name = own.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with(PREFIX)) {
            remove(&own);
        }
    }
}

/// `fathom-witness-`, the namespace of processes, the process and when it started.
pub(crate) fn group_name() -> Option<String> {
    let pid = std::process::id();
    let (namespace, started) = (namespace()?, started(pid)?);
    Some(format!("{PREFIX}{namespace}-{pid}-{started}"))
}

fn is_abandoned(owner: &str) -> bool {
    let mut fields = owner.split('-');
    let (Some(of), Some(pid), Some(start), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return false;
    };
    let alive = pid.parse().ok().and_then(started);
    namespace().as_deref() == Some(of) && alive.as_deref() != Some(start)
}

/// The number in `pid:[4026531836]`. See pid_namespaces(7).
fn namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let number = link.to_str()?.split(['[', ']']).nth(1)?;
    Some(number.to_owned())
}

/// When a live process started, in clock ticks since the boot. See proc_pid_stat(5).
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_alive = !matches!(fields.next(), Some("Z" | "X"));
    fields.nth(18).filter(|_| is_alive).map(str::to_owned)
}

/// The kernel name of the device `major:minor`.
fn disk_name(number: &str) -> Option<String> {
    let link = fs::read_link(Path::new("/sys/dev/block").join(number)).ok()?;
    Some(link.file_name()?.to_str()?.replace('!', "/"))
}

/// Lines such as `253:0 Read 4096` of both files. See Documentation/admin-guide/cgroup-v1/blkio-controller.rst.
fn version_1(bytes: &str, ios: &str) -> BTreeMap<String, GroupDisk> {
    let mut disks = BTreeMap::<String, GroupDisk>::new();
    let mut each = |text: &str, set: fn(&mut GroupDisk, &str, u64)| {
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let [number, kind, value] = fields[..]
                && let Ok(value) = value.parse()
            {
                set(disks.entry(number.to_owned()).or_default(), kind, value);
            }
        }
    };
    each(bytes, |disk, kind, value| match kind {
        "Read" => disk.read_bytes = value,
        "Write" => disk.written_bytes = value,
        _ => {}
    });
    each(ios, |disk, kind, value| match kind {
        "Read" => disk.reads = value,
        "Write" => disk.writes = value,
        _ => {}
    });
    disks
}

/// Lines such as `253:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`. See Documentation/admin-guide/cgroup-v2.rst.
fn version_2(text: &str) -> BTreeMap<String, GroupDisk> {
    let mut disks = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let Some(number) = fields.next() else {
            continue;
        };
        let mut disk = GroupDisk::default();
        for (name, value) in fields.filter_map(|field| field.split_once('=')) {
            let Ok(value) = value.parse() else { continue };
            match name {
                "rbytes" => disk.read_bytes = value,
                "wbytes" => disk.written_bytes = value,
                "rios" => disk.reads = value,
                "wios" => disk.writes = value,
                _ => {}
            }
        }
        disks.insert(number.to_owned(), disk);
    }
    disks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(reads: u64, read_bytes: u64, writes: u64, written_bytes: u64) -> GroupDisk {
        GroupDisk {
            name: String::new(),
            reads,
            read_bytes,
            writes,
            written_bytes,
        }
    }

    /// The lines are those that the kernel's documents show.
    #[test]
    fn counters_of_both_versions_are_parsed() {
        let bytes =
            "253:0 Read 8192\n253:0 Write 4096\n253:0 Sync 4096\n253:0 Total 12288\nTotal 12288\n";
        let ios = "253:0 Read 2\n253:0 Write 1\n253:0 Total 3\nTotal 3\n";
        let expected = BTreeMap::from([("253:0".to_owned(), disk(2, 8192, 1, 4096))]);
        assert_eq!(version_1(bytes, ios), expected);
        let text = "253:0 rbytes=8192 wbytes=4096 rios=2 wios=1 dbytes=0 dios=0\n8:0 nonsense\n";
        let mut expected = expected;
        expected.insert("8:0".to_owned(), GroupDisk::default());
        assert_eq!(version_2(text), expected);
    }

    /// Regression 1479: a device on which no limit had been set had no line in version 1, and its I/O was stated as none. The
    /// lines are those that Linux 6.18 shows for a loop device with and without a limit.
    #[test]
    fn a_device_without_a_limit_is_not_counted_by_version_1() {
        let root = fathom_testkit::Scratch::new().expect("a directory");
        let group = root.join("watched");
        fs::create_dir(&group).expect("a directory");
        let write = |path: PathBuf, text: &str| fs::write(path, text).expect("a file");
        write(
            root.join(BYTES_OF_VERSION_1),
            "7:1048573 Read 0\n7:1048573 Write 0\n7:1048573 Total 0\nTotal 0\n",
        );
        write(group.join(BYTES_OF_VERSION_1), "Total 0\n");
        write(group.join("blkio.throttle.io_serviced"), "Total 0\n");
        let groups = Groups {
            all: vec![Group {
                path: group,
                version_2: false,
            }],
            missing: Vec::new(),
        };
        let count = groups.count().expect("counters");
        assert_eq!(count.disks, []);
        assert!(count.covers("7:1048573"), "it has a limit");
        assert!(!count.covers("7:1048574"));
        assert!(
            GroupCount::default().covers("7:1048574"),
            "version 2 counts all"
        );
    }

    #[test]
    fn only_groups_of_dead_processes_of_this_namespace_are_abandoned() {
        let name = group_name().expect("this process is in /proc");
        let own = name.strip_prefix(PREFIX).expect("the prefix");
        assert!(!is_abandoned(own), "this process lives");
        assert!(
            is_abandoned(&format!("{own}1")),
            "it started at another time"
        );
        assert!(!is_abandoned(&format!("1{own}")), "another namespace");
        assert!(!is_abandoned("x"));
    }
}
