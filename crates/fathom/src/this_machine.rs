//! The machine and its files, as the planner reads them.

use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use fathom_linux::{ControlGroups, LinuxClock};
use fathom_plan::{FileReader, HostInfo};

/// The environment variable that selects the clock.
const CLOCK_VARIABLE: &str = "FATHOM_CLOCK";

/// The clock of a measurement: the counter of the CPU where it is reliable. `FATHOM_CLOCK=monotonic` selects the clock of the
/// kernel, which other architectures always use.
pub fn start_clock() -> LinuxClock {
    match std::env::var_os(CLOCK_VARIABLE) {
        Some(name) if name == "monotonic" => LinuxClock::monotonic(),
        _ => LinuxClock::start(),
    }
}

/// The largest job file.
const LARGEST_JOB_FILE: u64 = 16 << 20;

/// This process's environment and machine.
pub struct ThisMachine;

impl HostInfo for ThisMachine {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn address_space_mib(&self) -> Option<u64> {
        let limit = rustix::process::getrlimit(rustix::process::Resource::As);
        limit.current.map(|bytes| bytes >> 20)
    }

    fn memory_mib(&self) -> u64 {
        let limit = ControlGroups::own().memory_limit().unwrap_or(u64::MAX);
        (fathom_linux::host_memory() >> 20).min(limit >> 20)
    }

    fn cpus(&self) -> u32 {
        std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
    }

    fn host_cpus(&self) -> u32 {
        fathom_linux::host_cpus()
    }

    fn page_size(&self) -> u64 {
        rustix::param::page_size() as u64
    }

    fn is_special(&self, path: &Path) -> bool {
        std::fs::metadata(path)
            .is_ok_and(|facts| !facts.is_file() && !facts.is_dir() && is_device(&facts))
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    /// Links are not followed.
    fn files_below(&self, directory: &Path, most: usize) -> Option<Vec<PathBuf>> {
        let (mut directories, mut files) = (vec![directory.to_owned()], Vec::new());
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).ok()? {
                let entry = entry.ok()?;
                let kind = entry.file_type().ok()?;
                if kind.is_dir() {
                    directories.push(entry.path());
                } else if kind.is_file() || kind.is_block_device() {
                    files.push(entry.path());
                }
                if files.len() > most || directories.len() > most {
                    return None;
                }
            }
        }
        files.sort();
        Some(files)
    }

    fn entropy(&self) -> u64 {
        let mut bytes = [0; 8];
        let read = std::fs::File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut bytes));
        match read {
            Ok(()) => u64::from_ne_bytes(bytes),
            // Without a random device the time still makes two runs differ.
            Err(_) => std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(1, |d| d.as_nanos() as u64),
        }
    }
}

fn is_device(facts: &std::fs::Metadata) -> bool {
    let kind = facts.file_type();
    kind.is_block_device() || kind.is_char_device()
}

impl FileReader for ThisMachine {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let source: Box<dyn Read> = if path == "-" {
            Box::new(std::io::stdin())
        } else {
            let file = std::fs::File::open(path)?;
            let facts = file.metadata()?;
            if facts.is_dir() {
                return Err(io::Error::other("it is a directory"));
            }
            Box::new(file)
        };
        source.take(LARGEST_JOB_FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST_JOB_FILE {
            return Err(io::Error::other(
                "it is larger than 16 MiB, the limit for job files",
            ));
        }
        Ok(bytes)
    }

    fn open_log(&self, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        crate::logs::open(path).map_err(io::Error::other)
    }
}
