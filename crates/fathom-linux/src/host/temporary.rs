//! Temporary changes to the machine that are reverted after a job or run: locked memory, I/O
//! schedulers.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fathom_load::HostError;

use super::disks::Disks;
use super::error::refused;
use super::target::Targets;
use crate::control_groups::ControlGroups;
use crate::memory::Memory;

/// Locks memory so that nobody else can use it.
pub(super) fn pin(bytes: u64) -> Result<Memory, HostError> {
    let error_for = |errno| {
        let advice = "lower lockmem=, or raise the limit of locked memory (ulimit -l)";
        refused(
            errno,
            format!("cannot lock {bytes} bytes of memory: {advice}"),
        )
    };
    let left = ControlGroups::own().memory_left().unwrap_or(u64::MAX);
    let available_bytes = available().unwrap_or(u64::MAX).min(left);
    if bytes >= available_bytes {
        let what = format!(
            "lockmem={bytes} would leave no memory: {available_bytes} bytes are available; lower it"
        );
        return Err(refused(libc::ENOMEM, what));
    }
    let memory = Memory::untouched(
        usize::try_from(bytes).map_err(|_| error_for(libc::ENOMEM))?,
        0,
    )
    .map_err(error_for)?;
    memory.lock().map_err(error_for)?;
    Ok(memory)
}

/// MemAvailable of proc_meminfo(5), bytes.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// The previous schedulers, restored on drop, last change first.
#[derive(Default)]
pub(super) struct Schedulers(Vec<(PathBuf, String)>);

impl Drop for Schedulers {
    fn drop(&mut self) {
        for (file, before) in self.0.drain(..).rev() {
            let _ = std::fs::write(file, before);
        }
    }
}

/// Sets the requested scheduler on the device of each target. Devices below it, such as the disk of
/// a loop device's file, are not changed.
pub(super) fn schedule(
    targets: &Targets,
    requested: &[(PathBuf, String)],
) -> Result<Schedulers, HostError> {
    let mut previous = Schedulers::default();
    for (path, scheduler) in requested {
        let mut disks = Disks::default();
        match targets.get(path) {
            Some(target) => disks.add_open(target.as_fd()),
            None => disks.add_path(path),
        }
        let Some(name) = disks.first() else {
            let what = format!(
                "{} is not on a block device, and only block devices have an I/O scheduler; leave out ioscheduler=",
                path.display()
            );
            return Err(refused(libc::ENODEV, what));
        };
        let file = Path::new("/sys/block")
            .join(name.replace('/', "!"))
            .join("queue/scheduler");
        if let Some(before) = set_scheduler(&file, name, scheduler)? {
            previous.0.push((file, before));
        }
    }
    Ok(previous)
}

/// See Documentation/block/switching-sched.rst. Returns the previous scheduler if it was another
/// one.
fn set_scheduler(file: &Path, name: &str, scheduler: &str) -> Result<Option<String>, HostError> {
    let error_for = |error: std::io::Error| {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        refused(
            errno,
            format!(
                "cannot set the I/O scheduler of {name} in {}: start as root, or leave out ioscheduler=",
                file.display()
            ),
        )
    };
    let text = std::fs::read_to_string(file).map_err(error_for)?;
    let before = scheduler_in_use(&text).to_owned();
    if before == scheduler {
        return Ok(None);
    }
    match std::fs::write(file, scheduler) {
        Ok(()) => Ok(Some(before)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let what = format!(
                "{name} has no I/O scheduler '{scheduler}'; available: {} (ioscheduler=)",
                text.trim()
            );
            Err(refused(libc::EINVAL, what))
        }
        Err(error) => Err(error_for(error)),
    }
}

/// The scheduler in brackets.
fn scheduler_in_use(text: &str) -> &str {
    let inner = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(text.trim(), |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_use_is_in_brackets() {
        assert_eq!(
            scheduler_in_use("none [mq-deadline] kyber\n"),
            "mq-deadline"
        );
        assert_eq!(scheduler_in_use("[none]\n"), "none");
        assert_eq!(scheduler_in_use("none\n"), "none");
    }

    #[test]
    fn memory_is_locked_until_it_is_dropped() {
        let locked = || {
            let status = std::fs::read_to_string("/proc/self/status").expect("this process");
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("VmLck:"))
                .expect("a line")
                .to_owned();
            line.trim()
                .trim_end_matches(" kB")
                .parse::<u64>()
                .expect("a number")
        };
        let before = locked();
        let Ok(memory) = pin(1 << 20) else {
            return fathom_testkit::skip("cannot lock memory here");
        };
        assert_eq!(locked(), before + 1024);
        drop(memory);
        assert_eq!(locked(), before);
        assert!(pin(u64::MAX).is_err_and(|error| error.what.contains("would leave no memory")));
    }
}
