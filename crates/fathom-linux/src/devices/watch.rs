//! The devices below the targets of a run, before and after it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use fathom_device::{apply_device_pages, chain, survey};
use fathom_model::{DeviceRecording, TargetRecording};
use rustix::fs::{FileType, major, minor};

use super::device_pages::read_device_pages;
use super::direct_io_probe::probe;
use super::file_system::backing_devices;
use super::sysfs::LinuxSysfs;

/// Inspects the devices below a target. For a file that does not exist yet, those below its
/// directory.
#[must_use]
pub fn inspect_target(path: &Path) -> TargetRecording {
    let mut target = TargetRecording {
        path: path.to_owned(),
        ..TargetRecording::default()
    };
    let Some((existing, facts)) = nearest_existing(path) else {
        target
            .problems
            .push("neither the target nor any parent directory exists".to_owned());
        return target;
    };
    let devices = match FileType::from_raw_mode(facts.st_mode) {
        FileType::BlockDevice => vec![(major(facts.st_rdev), minor(facts.st_rdev))],
        FileType::CharacterDevice => Vec::new(),
        _ => backing_devices(existing).map_or_else(Vec::new, |backing_devices| {
            target.file_system = Some(backing_devices.file_system);
            backing_devices.devices
        }),
    };
    (target.devices, target.problems) = chain(&LinuxSysfs::default(), &devices);
    for device in &mut target.devices {
        let pages = read_device_pages(&device.before);
        apply_device_pages(&mut device.before, &pages);
    }
    target
}

/// As [`inspect_target`], and also reads a block of a file to test whether direct I/O is direct.
#[must_use]
pub fn inspect_target_with_ioctls(path: &Path) -> TargetRecording {
    let mut target = inspect_target(path);
    if let Some(facts) = &mut target.file_system {
        facts.direct.probe = probe(path);
    }
    target
}

fn nearest_existing(path: &Path) -> Option<(&Path, rustix::fs::Stat)> {
    let mut names = path.ancestors().map(|path| {
        if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        }
    });
    names.find_map(|path| Some((path, rustix::fs::stat(path).ok()?)))
}

/// Whether the target is a device, and its number; otherwise the number of its file system's
/// device.
fn device_of(path: &Path) -> Option<(bool, u64)> {
    let facts = nearest_existing(path)?.1;
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
    /// Inspects what is below these paths, once for all that share a device or file system: a run
    /// can have a large number of files.
    #[must_use]
    pub fn start<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let mut first: HashMap<Option<(bool, u64)>, usize> = HashMap::new();
        let mut targets: Vec<TargetRecording> = Vec::new();
        for path in paths.into_iter().collect::<BTreeSet<_>>() {
            match first.entry(device_of(path)) {
                Entry::Occupied(known) => targets[*known.get()].others += 1,
                Entry::Vacant(new) => {
                    new.insert(targets.len());
                    targets.push(inspect_target(path));
                }
            }
        }
        DeviceWatch { targets }
    }

    /// Inspects the devices again and returns both results.
    #[must_use]
    pub fn finish(mut self) -> Vec<TargetRecording> {
        let sysfs = LinuxSysfs::default();
        // A file that did not exist before can now be queried about direct I/O.
        for target in &mut self.targets {
            if let (Some(facts), Some(now)) =
                (&mut target.file_system, backing_devices(&target.path))
            {
                facts.direct = now.file_system.direct;
            }
        }
        for device in self
            .targets
            .iter_mut()
            .flat_map(|target| &mut target.devices)
        {
            survey_again(&sysfs, device);
        }
        self.targets
    }
}

fn survey_again(sysfs: &LinuxSysfs, device: &mut DeviceRecording) {
    let mut now = survey(sysfs, &device.before.name);
    let pages = read_device_pages(&now);
    apply_device_pages(&mut now, &pages);
    // Another device may have taken over the name.
    device.after = (now.number == device.before.number && now.identity == device.before.identity)
        .then_some(now);
}
