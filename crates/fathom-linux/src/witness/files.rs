//! The files and block devices that watched processes have open. See proc_pid_fd(5) and proc_pid_fdinfo(5).

use std::collections::HashMap;
use std::fs;

use fathom_model::OpenedFile;
use rustix::fs::FileType;

/// More files than this are not kept.
const MAX_FILES: usize = 256;
/// Descriptors that are read in one sample.
const MAX_DESCRIPTORS: usize = 2000;
/// Programs, libraries and settings, which every command reads: they are not its data.
const SYSTEM_DIRECTORIES: [&str; 7] = [
    "/bin/",
    "/etc/",
    "/lib",
    "/usr/bin/",
    "/usr/lib",
    "/usr/sbin/",
    "/usr/share/",
];
/// Files of the kernel, which have no data on a device.
const KERNEL_DIRECTORIES: [&str; 3] = ["/proc/", "/sys/", "/memfd:"];
/// `tmpfs` and `ramfs`. See statfs(2).
const MEMORY_FILE_SYSTEMS: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// The files that were seen so far.
#[derive(Debug, Default)]
pub(super) struct Files {
    seen: HashMap<(u64, u64), OpenedFile>,
    order: Vec<(u64, u64)>,
    /// Standard input, output and error of the command: those of this process.
    standard: Vec<(u64, u64)>,
}

impl Files {
    /// None seen yet.
    pub(super) fn new() -> Files {
        let standard = (0..3).filter_map(|number| {
            let facts = rustix::fs::stat(format!("/proc/self/fd/{number}")).ok()?;
            Some((facts.st_dev, facts.st_ino))
        });
        Files {
            standard: standard.collect(),
            ..Files::default()
        }
    }

    /// Adds the files that these processes have open now.
    pub(super) fn sample(&mut self, processes: &[u32]) {
        let mut budget = MAX_DESCRIPTORS;
        for pid in processes {
            let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
                continue;
            };
            for descriptor in descriptors.flatten() {
                if budget == 0 {
                    return;
                }
                budget -= 1;
                self.add(*pid, &descriptor.path());
            }
        }
    }

    fn add(&mut self, pid: u32, descriptor: &std::path::Path) -> Option<()> {
        let facts = rustix::fs::stat(descriptor).ok()?;
        let kind = FileType::from_raw_mode(facts.st_mode);
        let key = match kind {
            FileType::RegularFile => (facts.st_dev, facts.st_ino),
            FileType::BlockDevice => (u64::MAX, facts.st_rdev),
            _ => return None,
        };
        let number = descriptor.file_name()?.to_str()?;
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
        let flags = flags(&info)?;
        if !self.seen.contains_key(&key) {
            let path = fs::read_link(descriptor).ok()?;
            let is_data = path.to_str().is_none_or(|path| {
                SYSTEM_DIRECTORIES
                    .iter()
                    .chain(&KERNEL_DIRECTORIES)
                    .all(|start| !path.starts_with(start))
            });
            if self.order.len() >= MAX_FILES || !is_data {
                return None;
            }
            let kind_of_file_system = rustix::fs::statfs(descriptor).ok()?.f_type;
            let file = OpenedFile {
                path,
                memory_backed: kind == FileType::RegularFile
                    && MEMORY_FILE_SYSTEMS.contains(&(kind_of_file_system as u64 & 0xffff_ffff)),
                ..OpenedFile::default()
            };
            self.seen.insert(key, file);
            self.order.push(key);
        }
        let file = self.seen.get_mut(&key)?;
        let access = flags & libc::O_ACCMODE;
        file.reads |= access != libc::O_WRONLY;
        file.writes |= access != libc::O_RDONLY;
        file.direct |= flags & libc::O_DIRECT != 0;
        Some(())
    }

    /// All files, in the order in which they were first seen, the output of the command last.
    pub(super) fn into_list(mut self) -> Vec<OpenedFile> {
        self.order.sort_by_key(|key| self.standard.contains(key));
        self.order
            .iter()
            .filter_map(|key| self.seen.remove(key))
            .collect()
    }
}

/// The octal number behind `flags:`.
fn flags(info: &str) -> Option<i32> {
    let line = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    i32::from_str_radix(line.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text is the example of proc_pid_fdinfo(5).
    #[test]
    fn flags_are_octal() {
        assert_eq!(
            flags("pos:\t1000\nflags:\t01002002\nmnt_id:\t21\n"),
            Some(0o1_002_002)
        );
        assert_eq!(flags("pos: 1\n"), None);
    }

    #[test]
    fn an_open_file_of_this_process_is_found() {
        let directory = fathom_testkit::Scratch::new().expect("a directory");
        let path = directory.join("data");
        let _file = fs::File::create(&path).expect("a file");
        let mut files = Files::new();
        files.sample(&[std::process::id()]);
        let list = files.into_list();
        let found = list.iter().find(|file| file.path == path);
        assert!(
            found.is_some_and(|file| file.writes && !file.reads && !file.direct),
            "{list:?}"
        );
    }
}
