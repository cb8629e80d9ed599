//! What is changed about the machine while a job or a run lasts, and put back: memory that is taken away, I/O schedulers.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fathom_load::HostError;

use super::disks::Disks;
use super::error::refused;
use super::target::Targets;
use crate::memory::Memory;

/// Memory that nobody else can use.
pub(super) fn pin(bytes: u64) -> Result<Memory, HostError> {
    let told = |errno| {
        let advice = "lower lockmem=, or raise the limit of locked memory (ulimit -l)";
        refused(
            errno,
            format!("cannot lock {bytes} bytes of memory: {advice}"),
        )
    };
    let room = available().unwrap_or(u64::MAX);
    if bytes >= room {
        let what = format!(
            "lockmem={bytes} would leave nothing: {room} bytes of memory are available; lower it"
        );
        return Err(refused(libc::ENOMEM, what));
    }
    let memory = Memory::untouched(usize::try_from(bytes).map_err(|_| told(libc::ENOMEM))?, 0)
        .map_err(told)?;
    memory.lock().map_err(told)?;
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

/// Schedulers as they were, put back when this is dropped, the last change first.
#[derive(Default)]
pub(super) struct Schedulers(Vec<(PathBuf, String)>);

impl Drop for Schedulers {
    fn drop(&mut self) {
        for (file, before) in self.0.drain(..).rev() {
            let _ = std::fs::write(file, before);
        }
    }
}

/// Gives the device of each target the scheduler wanted. A device below it, such as the disk that a loop device's file is on, is
/// left alone.
pub(super) fn schedule(
    targets: &Targets,
    wanted: &[(PathBuf, String)],
) -> Result<Schedulers, HostError> {
    let mut kept = Schedulers::default();
    for (path, scheduler) in wanted {
        let mut disks = Disks::default();
        match targets.get(path) {
            Some(target) => disks.add_open(target.as_fd()),
            None => disks.add_path(path),
        }
        let Some(name) = disks.first() else {
            let what = format!(
                "{} is on no block device, which alone has an I/O scheduler; leave out ioscheduler=",
                path.display()
            );
            return Err(refused(libc::ENODEV, what));
        };
        let file = Path::new("/sys/block")
            .join(name.replace('/', "!"))
            .join("queue/scheduler");
        if let Some(before) = switch(&file, name, scheduler)? {
            kept.0.push((file, before));
        }
    }
    Ok(kept)
}

/// See Documentation/block/switching-sched.rst. Returns what it was before, if that is something else.
fn switch(file: &Path, name: &str, scheduler: &str) -> Result<Option<String>, HostError> {
    let told = |error: std::io::Error| {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        refused(
            errno,
            format!(
                "cannot set the I/O scheduler of {name} in {}: start as root, or leave out ioscheduler=",
                file.display()
            ),
        )
    };
    let text = std::fs::read_to_string(file).map_err(told)?;
    let before = current(&text).to_owned();
    if before == scheduler {
        return Ok(None);
    }
    match std::fs::write(file, scheduler) {
        Ok(()) => Ok(Some(before)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let what = format!(
                "{name} has no I/O scheduler '{scheduler}', it has {} (ioscheduler=)",
                text.trim()
            );
            Err(refused(libc::EINVAL, what))
        }
        Err(error) => Err(told(error)),
    }
}

/// The one in brackets.
fn current(text: &str) -> &str {
    let inner = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(text.trim(), |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_in_use_stands_in_brackets() {
        assert_eq!(current("none [mq-deadline] kyber\n"), "mq-deadline");
        assert_eq!(current("[none]\n"), "none");
        assert_eq!(current("none\n"), "none");
    }

    #[test]
    fn memory_is_locked_until_it_is_let_go() {
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
            return fathom_testkit::skip("memory may not be locked here");
        };
        assert_eq!(locked(), before + 1024);
        drop(memory);
        assert_eq!(locked(), before);
        assert!(pin(u64::MAX).is_err_and(|error| error.what.contains("would leave nothing")));
    }
}
