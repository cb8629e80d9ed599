//! Follows a target down to the devices that carry it.

use std::collections::HashSet;
use std::path::Path;

use fathom_model::{Bytes, DeviceRecording, FileSystemFacts, PartitionFacts};

use super::survey;
use super::sysfs_dir::{Sysfs, clean};

/// Limit of the depth of a stack; real ones are shallower.
const MAX_DEPTH: u32 = 16;
/// Limit of the devices listed for a target.
const MAX_DEVICES: usize = 256;

/// The file system and devices below a file.
#[derive(Clone, Debug, Default)]
pub struct BackingDevices {
    /// The file system it is on.
    pub file_system: FileSystemFacts,
    /// Numbers of the block devices below it; none for memory, network and FUSE.
    pub devices: Vec<(u32, u32)>,
}

/// A sysfs tree with its file systems.
pub trait Machine: Sysfs {
    /// The file system and devices below this file; `None` if they are not visible from here.
    fn backing_devices(&self, file: &Path) -> Option<BackingDevices>;
}

/// Every device below these, each once, upper before lower, and what could not be followed.
#[must_use]
pub fn chain(machine: &dyn Machine, devices: &[(u32, u32)]) -> (Vec<DeviceRecording>, Vec<String>) {
    let mut walk = Walk {
        machine,
        seen: HashSet::new(),
        found: Vec::new(),
        troubles: Vec::new(),
    };
    for (major, minor) in devices {
        match machine.canonicalize(&format!("/sys/dev/block/{major}:{minor}")) {
            Some(dir) => walk.add(&dir, None, 0),
            None => walk
                .troubles
                .push(format!("device {major}:{minor} not found in sysfs")),
        }
    }
    (walk.found, walk.troubles)
}

/// Kernel names of all whole devices, sorted. The paths of a multipath NVMe namespace are hidden.
#[must_use]
pub fn device_names(sysfs: &dyn Sysfs) -> Vec<String> {
    let file = |name: &str, file: &str| format!("/sys/class/block/{name}/{file}");
    let whole = |name: &String| sysfs.canonicalize(&file(name, "partition")).is_none();
    let hidden = |name: &str| {
        sysfs
            .bytes(&file(name, "hidden"))
            .is_ok_and(|text| text.starts_with(b"1"))
    };
    let names = sysfs.names("/sys/class/block").into_iter().filter(whole);
    names
        .filter(|name| !hidden(name))
        .map(|name| name.replace('!', "/"))
        .collect()
}

struct Walk<'a> {
    machine: &'a dyn Machine,
    seen: HashSet<String>,
    found: Vec<DeviceRecording>,
    troubles: Vec<String>,
}

impl Walk<'_> {
    fn add(&mut self, dir: &str, under: Option<usize>, depth: u32) {
        let partition = self.partition(dir);
        let whole = if partition.is_some() {
            parent(dir)
        } else {
            dir
        };
        if self.found.len() >= MAX_DEVICES || depth > MAX_DEPTH {
            return self
                .troubles
                .push(format!("{}: the stack is deeper than this", last(whole)));
        }
        if !self.seen.insert(whole.to_owned()) {
            return;
        }
        let before = survey(self.machine, &last(whole).replace('!', "/"));
        let place = self.found.len();
        self.found.push(DeviceRecording {
            parent: under,
            partition,
            before,
            after: None,
        });
        for slave in self.machine.names(&format!("{whole}/slaves")) {
            match self
                .machine
                .canonicalize(&format!("{whole}/slaves/{slave}"))
            {
                Some(backing_devices) => self.add(&backing_devices, Some(place), depth + 1),
                None => self.troubles.push(format!(
                    "{}: its member {slave} no longer exists",
                    last(whole)
                )),
            }
        }
        self.add_backing(place, depth);
    }

    /// The backing file of a loop device, and what is below it.
    fn add_backing(&mut self, place: usize, depth: u32) {
        let Some(path) = self.found[place]
            .before
            .backing
            .as_ref()
            .map(|backing| backing.path.clone())
        else {
            return;
        };
        let Some(backing_devices) = self.machine.backing_devices(&path) else {
            let name = &self.found[place].before.name;
            let file = clean(path.as_os_str().as_encoded_bytes());
            return self.troubles.push(format!(
                "{name}: its backing file {file} is not visible from here"
            ));
        };
        if let Some(backing) = &mut self.found[place].before.backing {
            backing.file_system = Some(backing_devices.file_system);
        }
        for (major, minor) in backing_devices.devices {
            if let Some(dir) = self
                .machine
                .canonicalize(&format!("/sys/dev/block/{major}:{minor}"))
            {
                self.add(&dir, Some(place), depth + 1);
            }
        }
    }

    fn partition(&self, dir: &str) -> Option<PartitionFacts> {
        self.machine.canonicalize(&format!("{dir}/partition"))?;
        let sectors = |file: &str| {
            let text = self
                .machine
                .bytes(&format!("{dir}/{file}"))
                .unwrap_or_default();
            let count = std::str::from_utf8(&text)
                .ok()
                .and_then(|text| text.trim().parse::<u64>().ok());
            Bytes::new(count.unwrap_or(0).saturating_mul(512))
        };
        Some(PartitionFacts {
            name: last(dir).replace('!', "/"),
            starts_at: sectors("start"),
            size: sectors("size"),
        })
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(up, _)| up)
}

fn last(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}
