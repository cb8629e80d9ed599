//! A sysfs tree, real or captured. Reads never fail for good.

use fathom_model::format::escape_invisible;
use std::cell::RefCell;

/// Length limit of the text from one file.
const MAX_TEXT: usize = 256;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFailure {
    /// The file does not exist: the kernel or the driver does not provide it.
    Missing,
    /// The file exists but cannot be read; the kernel's error.
    Failed(String),
}

/// The tree that a survey reads. Paths are absolute, such as `/sys/class/block`. Nothing is
/// written.
pub trait Sysfs {
    /// Contents of a file, limited to 64 KiB.
    ///
    /// # Errors
    /// If it does not exist or cannot be read.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, ReadFailure>;

    /// Sorted names of the entries of a directory; empty if it does not exist.
    fn names(&self, dir: &str) -> Vec<String>;

    /// The path with symbolic links resolved; `None` if it does not exist.
    fn canonicalize(&self, path: &str) -> Option<String>;

    /// Size of a memory page in bytes.
    fn page_size(&self) -> u32 {
        4096
    }
}

/// A directory of the tree, with a list of the files that could not be read.
pub(super) struct SysfsDir<'a> {
    sysfs: &'a dyn Sysfs,
    pub(super) path: String,
    unread: &'a RefCell<Vec<String>>,
}

impl<'a> SysfsDir<'a> {
    pub(super) fn new(
        sysfs: &'a dyn Sysfs,
        path: String,
        unread: &'a RefCell<Vec<String>>,
    ) -> Self {
        SysfsDir {
            sysfs,
            path,
            unread,
        }
    }

    /// Another directory of the same tree, with links resolved if possible.
    pub(super) fn at(&self, path: &str) -> SysfsDir<'a> {
        let whole = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", self.path)
        };
        let path = self.sysfs.canonicalize(&whole).unwrap_or(whole);
        SysfsDir {
            sysfs: self.sysfs,
            path,
            unread: self.unread,
        }
    }

    /// Last component of its path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn exists(&self, file: &str) -> bool {
        self.sysfs
            .canonicalize(&format!("{}/{file}", self.path))
            .is_some()
    }

    pub(super) fn names(&self, dir: &str) -> Vec<String> {
        self.sysfs
            .names(format!("{}/{dir}", self.path).trim_end_matches('/'))
    }

    /// Bytes of a file. One that exists but cannot be read is recorded.
    pub(super) fn bytes(&self, file: &str) -> Option<Vec<u8>> {
        let path = format!("{}/{file}", self.path);
        match self.sysfs.bytes(&path) {
            Ok(bytes) => Some(bytes),
            Err(ReadFailure::Missing) => None,
            Err(ReadFailure::Failed(why)) => {
                // The file and its directory identify it well enough.
                let short = path
                    .rmatch_indices('/')
                    .nth(1)
                    .map_or(path.as_str(), |(at, _)| &path[at + 1..]);
                self.unread
                    .borrow_mut()
                    .push(format!("{short}: {}", clean(why.as_bytes())));
                None
            }
        }
    }

    /// Text of a small file; a failure is not recorded, because some drivers refuse some settings.
    pub(super) fn optional_text(&self, file: &str) -> Option<String> {
        let bytes = self.sysfs.bytes(&format!("{}/{file}", self.path)).ok()?;
        Some(clean(&bytes)).filter(|text| !text.is_empty())
    }

    pub(super) fn page_size(&self) -> u32 {
        self.sysfs.page_size()
    }

    /// Text of a file; `None` if it is empty.
    pub(super) fn text(&self, file: &str) -> Option<String> {
        Some(clean(&self.bytes(file)?)).filter(|text| !text.is_empty())
    }

    pub(super) fn number(&self, file: &str) -> Option<u64> {
        self.text(file)?.parse().ok()
    }

    pub(super) fn number_u32(&self, file: &str) -> Option<u32> {
        self.number(file)
            .and_then(|number| u32::try_from(number).ok())
    }

    pub(super) fn flag(&self, file: &str) -> Option<bool> {
        self.number(file).map(|number| number != 0)
    }
}

/// Text from a device, safe to print: control, bidirectional and other invisible characters
/// escaped, surrounding whitespace removed, at most 256 characters. A device cannot control or
/// flood the terminal.
#[must_use]
pub fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let escape_invisible: String = text.chars().take(MAX_TEXT).map(escape_invisible).collect();
    if text.chars().nth(MAX_TEXT).is_some() {
        format!("{escape_invisible}...")
    } else {
        escape_invisible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_text_cannot_control_a_terminal() {
        assert_eq!(clean(b"  Disk\x1b[2J \0\n"), "Disk\\u{1b}[2J");
        assert_eq!(clean("a\u{202e}b\u{9b}c".as_bytes()), "a\\u{202e}b\\u{9b}c");
        assert_eq!(clean(b"\xff\xfeX"), "\u{fffd}\u{fffd}X");
        assert_eq!(clean(&[b'y'; 9999]).len(), MAX_TEXT + 3);
    }
}
