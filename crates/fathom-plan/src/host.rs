//! What the front end must be told about the machine; it reads nothing itself.

use std::io::{BufRead, Cursor};
use std::path::{Path, PathBuf};

/// The environment of a run, handed in by the binary.
pub trait HostInfo {
    /// The environment variable `name`, for `${name}`.
    fn variable(&self, name: &str) -> Option<String>;
    /// Memory in MiB, for `$mb_memory`.
    fn memory_mib(&self) -> u64;
    /// CPUs online, for `$ncpus` and lists of CPUs.
    fn cpus(&self) -> u32;
    /// Bytes of a page, for `$pagesize`.
    fn page_size(&self) -> u64;
    /// Whether `path` exists and is no regular file: a job without `filename` that has the name of a device uses it.
    fn is_special(&self, path: &Path) -> bool;
    /// Whether `path` is a folder.
    fn is_directory(&self, path: &Path) -> bool;
    /// Every file and block device below the folder, in a fixed order; `None` beyond `most`, or when it cannot be read.
    fn files_below(&self, _folder: &Path, _most: usize) -> Option<Vec<PathBuf>> {
        None
    }
    /// A fresh random number, for `randrepeat=0`.
    fn entropy(&self) -> u64;
}

/// Access to job files and the files they include, handed in by the binary.
pub trait FileReader {
    /// The content of `path`; `-` is the standard input.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;

    /// The log of I/O `path`, from its beginning; `-` is the standard input. It may be of any length.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn open_log(&self, path: &str) -> Result<Box<dyn BufRead + Send>, String> {
        Ok(Box::new(Cursor::new(self.read(path)?)))
    }
}
