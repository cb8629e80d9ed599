//! Facts about the host, and access to files, as the caller provides them.

use std::io::{self, BufRead, Cursor};
use std::path::{Path, PathBuf};

/// Facts about the host that job files can refer to. The binary implements it.
pub trait HostInfo {
    /// The environment variable `name`, for `${name}`.
    fn variable(&self, name: &str) -> Option<String>;
    /// Memory in MiB that this process can use, for `$mb_memory` and the limit of buffers.
    fn memory_mib(&self) -> u64;
    /// Limit of the address space in MiB (`ulimit -v`).
    fn address_space_mib(&self) -> Option<u64> {
        None
    }
    /// CPUs that this process can use, for `$ncpus`.
    fn cpus(&self) -> u32;
    /// Number of CPUs of the host, for lists of CPUs: a quota reduces the CPU time, not the CPUs.
    fn host_cpus(&self) -> u32 {
        self.cpus()
    }
    /// Bytes of a page, for `$pagesize`.
    fn page_size(&self) -> u64;
    /// Whether `path` exists and is not a regular file: a job without `filename` that is named like a device uses it.
    fn is_special(&self, path: &Path) -> bool;
    /// Whether `path` is a directory.
    fn is_directory(&self, path: &Path) -> bool;
    /// Every file and block device below the directory, in a fixed order; `None` above `max_count`, or when it cannot be read.
    fn files_below(&self, _directory: &Path, _max_count: usize) -> Option<Vec<PathBuf>> {
        None
    }
    /// A random number, for `randrepeat=0`.
    fn entropy(&self) -> u64;
}

/// Access to job files, the files they include, and traces. The binary implements it.
pub trait FileReader {
    /// The content of `path`; `-` is the standard input.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// The trace `path`, from its beginning; `-` is the standard input. It may have any length.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn open_log(&self, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(Box::new(Cursor::new(self.read(path)?)))
    }
}
