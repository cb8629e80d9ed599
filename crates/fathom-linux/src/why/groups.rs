//! Control groups with limits, of versions 1 and 2.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_model::GroupDisk;
use fathom_trace::{DeviceNumber, WhyGroup, WhyLimit, WhyPressure};

use crate::control_groups::cgroup_mount;
use crate::host::{group_limits, pressure_total};
use crate::witness::groups::transferred;

/// Groups of a hierarchy that are read at most.
const MAX_GROUPS: usize = 1_000;
/// From this value on a limit of version 1 is none.
const UNLIMITED: u64 = 1 << 62;

/// A hierarchy: whether it is of version 2, the group at its mount point, and where that is.
struct Hierarchy {
    is_version_2: bool,
    top: String,
    at: PathBuf,
}

fn hierarchies(root: &Path) -> Vec<Hierarchy> {
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let of = |is_version_2: bool, controller: &str| {
        let found = mounts
            .lines()
            .find_map(|line| cgroup_mount(line, is_version_2, controller))?;
        Some(Hierarchy {
            is_version_2,
            top: found.0.trim_end_matches('/').to_owned(),
            at: root.join(found.1.trim_start_matches('/')),
        })
    };
    [of(true, ""), of(false, "blkio"), of(false, "memory")]
        .into_iter()
        .flatten()
        .collect()
}

/// Groups of a hierarchy with their names, each before those below it.
fn walk(hierarchy: &Hierarchy) -> Vec<(String, PathBuf)> {
    let mut found = vec![(hierarchy.top.clone(), hierarchy.at.clone())];
    let mut next = 0;
    while next < found.len() && found.len() < MAX_GROUPS {
        let (name, path) = found[next].clone();
        next += 1;
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        let mut below: Vec<_> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| {
                (
                    format!("{name}/{}", entry.file_name().display()),
                    entry.path(),
                )
            })
            .collect();
        below.sort();
        found.extend(below);
    }
    found.truncate(MAX_GROUPS);
    for (name, _) in &mut found {
        if name.is_empty() {
            "/".clone_into(name);
        }
    }
    found
}

/// The groups that limit something, or whose pressure is known.
pub(super) fn read(root: &Path) -> BTreeMap<String, WhyGroup> {
    let numbers = numbers(root);
    let mut groups = BTreeMap::new();
    for hierarchy in hierarchies(root) {
        for (name, path) in walk(&hierarchy) {
            let mut group = one(&path, hierarchy.is_version_2, &numbers);
            if let Some(known) = groups.remove(&name) {
                group = merged(known, group);
            }
            if group.limits.is_empty() && group.memory.is_none() && group.pressure.io.is_none() {
                continue;
            }
            groups.insert(name, group);
        }
    }
    groups
}

/// A hybrid has pressure in version 2 and limits in version 1, each controller in a hierarchy of its own.
fn merged(known: WhyGroup, more: WhyGroup) -> WhyGroup {
    let has_limits = !more.limits.is_empty();
    let has_memory = more.memory.is_some();
    let (rates, memory) = (
        if has_limits { &more } else { &known },
        if has_memory { &more } else { &known },
    );
    WhyGroup {
        limits: rates.limits.clone(),
        transferred: rates.transferred.clone(),
        memory: memory.memory,
        memory_max_events: memory.memory_max_events,
        refaults: memory.refaults,
        pressure: if known.pressure == WhyPressure::default() {
            more.pressure
        } else {
            known.pressure
        },
    }
}

/// The name of a group, or of the only one that ends with this unit.
pub(super) fn find(root: &Path, unit: &str) -> Option<String> {
    let is_meant = |name: &str| {
        let last = name.rsplit('/').next().unwrap_or_default();
        name == unit || last == unit || last.strip_suffix(".service") == Some(unit)
    };
    let all = hierarchies(root);
    let mut found = all.iter().flat_map(walk).map(|(name, _)| name);
    found.find(|name| is_meant(name))
}

/// The numbers of all devices, which stand for their names in limits.
fn numbers(root: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(root.join("proc/diskstats")).unwrap_or_default();
    let all = fathom_trace::disk_counts(&text);
    all.keys()
        .map(|number| (number.to_string(), number.to_string()))
        .collect()
}

fn number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    Some(DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?))
}

fn one(path: &Path, is_version_2: bool, numbers: &[(String, String)]) -> WhyGroup {
    let text = |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default();
    let value = |file: &str| text(file).trim().parse::<u64>().ok();
    let field = |file: &str, name: &str| {
        let text = text(file);
        let mut fields = text.lines().filter_map(|line| line.split_once(' '));
        fields
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| value.trim().parse::<u64>().ok())
    };
    let limits: Vec<WhyLimit> = group_limits(path, numbers)
        .into_iter()
        .filter_map(|limit| {
            Some(WhyLimit {
                device: number(&limit.disk)?,
                reads: limit.reads,
                ios: limit.ios,
                per_second: limit.per_second,
            })
        })
        .collect();
    let counts = |disk: GroupDisk| [disk.reads, disk.writes, disk.read_bytes, disk.written_bytes];
    let transferred = transferred(path, is_version_2).unwrap_or_default();
    let pressure = |file: &str| pressure_total(&text(file), "some");
    let memory = || {
        let of_version_1 = || value("memory.limit_in_bytes");
        let limit = value("memory.max").or_else(of_version_1);
        let limit = limit.filter(|limit| *limit < UNLIMITED)?;
        let used = value("memory.current").or_else(|| value("memory.usage_in_bytes"));
        Some((used?, limit))
    };
    let refaults = field("memory.stat", "total_workingset_refault_file")
        .or_else(|| field("memory.stat", "workingset_refault_file"));
    let limit_hits = field("memory.events", "max").or_else(|| value("memory.failcnt"));
    WhyGroup {
        limits,
        transferred: transferred
            .into_iter()
            .filter_map(|(device, disk)| Some((number(&device)?, counts(disk))))
            .collect(),
        pressure: WhyPressure {
            io: pressure("io.pressure"),
            memory: pressure("memory.pressure"),
            cpu: None,
        },
        memory: memory(),
        memory_max_events: limit_hits.unwrap_or(0),
        refaults: refaults.unwrap_or(0),
    }
}
