//! The chain from a target down to the devices that carry it.

use std::collections::HashSet;
use std::path::Path;

use fathom_model::{Bytes, DeviceRecording, FileSystemFacts, PartitionFacts};

use super::survey;
use super::sysfs::{Sysfs, clean};

/// Stacks deeper than this are not followed; no real one is.
const DEEPEST: u32 = 16;
/// A target on more devices than this is not listed in full.
const MOST: usize = 256;

/// What is below a file.
#[derive(Clone, Debug, Default)]
pub struct Below {
    /// The file system it is on.
    pub file_system: FileSystemFacts,
    /// Numbers of the block devices below that; none for memory, network and FUSE.
    pub devices: Vec<(u32, u32)>,
}

/// A sysfs tree with the file systems that go with it.
pub trait Machine: Sysfs {
    /// What is below the file of this path; `None` when it cannot be seen from here.
    fn below(&self, file: &Path) -> Option<Below>;
}

/// Every device below these, each once, the upper before the lower, and what could not be followed.
#[must_use]
pub fn chain(machine: &dyn Machine, devices: &[(u32, u32)]) -> (Vec<DeviceRecording>, Vec<String>) {
    let mut walk = Walk {
        machine,
        seen: HashSet::new(),
        found: Vec::new(),
        troubles: Vec::new(),
    };
    for (major, minor) in devices {
        match machine.real(&format!("/sys/dev/block/{major}:{minor}")) {
            Some(folder) => walk.add(&folder, None, 0),
            None => walk
                .troubles
                .push(format!("device {major}:{minor} is not in sysfs")),
        }
    }
    (walk.found, walk.troubles)
}

/// Kernel names of all whole devices, sorted; paths of a multipath NVMe namespace are hidden behind it.
#[must_use]
pub fn device_names(sysfs: &dyn Sysfs) -> Vec<String> {
    let file = |name: &str, file: &str| format!("/sys/class/block/{name}/{file}");
    let whole = |name: &String| sysfs.real(&file(name, "partition")).is_none();
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
    fn add(&mut self, folder: &str, under: Option<usize>, depth: u32) {
        let partition = self.partition(folder);
        let whole = if partition.is_some() {
            parent(folder)
        } else {
            folder
        };
        if self.found.len() >= MOST || depth > DEEPEST {
            return self
                .troubles
                .push(format!("{}: the stack goes on below this", last(whole)));
        }
        if !self.seen.insert(whole.to_owned()) {
            return;
        }
        let before = survey(self.machine, &last(whole).replace('!', "/"));
        let place = self.found.len();
        self.found.push(DeviceRecording {
            under,
            partition,
            before,
            after: None,
        });
        for slave in self.machine.names(&format!("{whole}/slaves")) {
            match self.machine.real(&format!("{whole}/slaves/{slave}")) {
                Some(below) => self.add(&below, Some(place), depth + 1),
                None => self
                    .troubles
                    .push(format!("{}: its part {slave} is gone", last(whole))),
            }
        }
        self.add_backing(place, depth);
    }

    /// The file of a loop device, and what is below that.
    fn add_backing(&mut self, place: usize, depth: u32) {
        let Some(path) = self.found[place]
            .before
            .backing
            .as_ref()
            .map(|backing| backing.path.clone())
        else {
            return;
        };
        let Some(below) = self.machine.below(&path) else {
            let name = &self.found[place].before.name;
            let file = clean(path.as_os_str().as_encoded_bytes());
            return self
                .troubles
                .push(format!("{name}: its file {file} cannot be seen from here"));
        };
        if let Some(backing) = &mut self.found[place].before.backing {
            backing.file_system = Some(below.file_system);
        }
        for (major, minor) in below.devices {
            if let Some(folder) = self
                .machine
                .real(&format!("/sys/dev/block/{major}:{minor}"))
            {
                self.add(&folder, Some(place), depth + 1);
            }
        }
    }

    fn partition(&self, folder: &str) -> Option<PartitionFacts> {
        self.machine.real(&format!("{folder}/partition"))?;
        let sectors = |file: &str| {
            let text = self
                .machine
                .bytes(&format!("{folder}/{file}"))
                .unwrap_or_default();
            let count = std::str::from_utf8(&text)
                .ok()
                .and_then(|text| text.trim().parse::<u64>().ok());
            Bytes::new(count.unwrap_or(0).saturating_mul(512))
        };
        Some(PartitionFacts {
            name: last(folder).replace('!', "/"),
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
