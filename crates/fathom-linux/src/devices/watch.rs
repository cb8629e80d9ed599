//! The devices below the targets of a run, before and after it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use fathom_device::{apply_device_pages, chain, survey};
use fathom_model::{DeviceRecording, TargetRecording};
use rustix::fs::{FileType, major, minor};

use super::ask::ask;
use super::direct::probe;
use super::file_system::below;
use super::sysfs::LinuxSysfs;

/// What a target stands on. A file that is not there yet stands on what its folder does.
#[must_use]
pub fn inspect_target(path: &Path) -> TargetRecording {
    let mut target = TargetRecording {
        path: path.to_owned(),
        ..TargetRecording::default()
    };
    let Some((there, facts)) = nearest(path) else {
        target
            .troubles
            .push("neither it nor a folder above it is there".to_owned());
        return target;
    };
    let devices = match FileType::from_raw_mode(facts.st_mode) {
        FileType::BlockDevice => vec![(major(facts.st_rdev), minor(facts.st_rdev))],
        FileType::CharacterDevice => Vec::new(),
        _ => below(there).map_or_else(Vec::new, |below| {
            target.file_system = Some(below.file_system);
            below.devices
        }),
    };
    (target.devices, target.troubles) = chain(&LinuxSysfs::default(), &devices);
    for device in &mut target.devices {
        let pages = ask(&device.before);
        apply_device_pages(&mut device.before, &pages);
    }
    target
}

/// The same, with one direct read of a file to see whether it is direct.
#[must_use]
pub fn inspect_target_with_ioctls(path: &Path) -> TargetRecording {
    let mut target = inspect_target(path);
    if let Some(facts) = &mut target.file_system {
        facts.direct.probe = probe(path);
    }
    target
}

fn nearest(path: &Path) -> Option<(&Path, rustix::fs::Stat)> {
    let names = path.ancestors().map(|path| {
        if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        }
    });
    names
        .filter_map(|path| Some((path, rustix::fs::stat(path).ok()?)))
        .next()
}

/// The number of the device, or of the device of the file system, that a target is or is on.
fn home(path: &Path) -> Option<(bool, u64)> {
    let facts = nearest(path)?.1;
    let is_device = matches!(
        FileType::from_raw_mode(facts.st_mode),
        FileType::BlockDevice | FileType::CharacterDevice
    );
    Some((
        is_device,
        if is_device {
            facts.st_rdev
        } else {
            facts.st_dev
        },
    ))
}

/// The devices below all targets of a run.
#[derive(Clone, Debug)]
pub struct DeviceWatch {
    targets: Vec<TargetRecording>,
}

impl DeviceWatch {
    /// Looks at what is below each of these, once for all that share a device or file system: a run can have very many files.
    #[must_use]
    pub fn start<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let mut first: HashMap<Option<(bool, u64)>, usize> = HashMap::new();
        let mut targets: Vec<TargetRecording> = Vec::new();
        for path in paths.into_iter().collect::<BTreeSet<_>>() {
            match first.entry(home(path)) {
                Entry::Occupied(known) => targets[*known.get()].others += 1,
                Entry::Vacant(new) => {
                    new.insert(targets.len());
                    targets.push(inspect_target(path));
                }
            }
        }
        DeviceWatch { targets }
    }

    /// Looks again, and hands over both.
    #[must_use]
    pub fn finish(mut self) -> Vec<TargetRecording> {
        let sysfs = LinuxSysfs::default();
        // A file that was not there before is there now and can be asked about direct I/O.
        for target in &mut self.targets {
            if let (Some(facts), Some(now)) = (&mut target.file_system, below(&target.path)) {
                facts.direct = now.file_system.direct;
            }
        }
        for device in self
            .targets
            .iter_mut()
            .flat_map(|target| &mut target.devices)
        {
            again(&sysfs, device);
        }
        self.targets
    }
}

fn again(sysfs: &LinuxSysfs, device: &mut DeviceRecording) {
    let mut now = survey(sysfs, &device.before.name);
    let pages = ask(&now);
    apply_device_pages(&mut now, &pages);
    // Another device may have taken the name.
    device.after = (now.number == device.before.number && now.identity == device.before.identity)
        .then_some(now);
}
