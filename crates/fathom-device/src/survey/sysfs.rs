//! A sysfs tree, real or captured, and reading from it without ever failing for good.

use std::cell::RefCell;

/// Longest text taken from one file.
const LONGEST: usize = 256;

/// Why a file gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// There is no such file: the kernel or the driver does not offer it.
    Missing,
    /// It is there, but did not answer; in the kernel's words.
    Failed(String),
}

/// What a survey reads. Paths are absolute, such as `/sys/class/block`; nothing is ever written.
pub trait Sysfs {
    /// Content of a file, at most 64 KiB of it.
    ///
    /// # Errors
    /// When it is not there or does not answer.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, Unread>;

    /// Names in a folder, sorted; nothing where there is no such folder.
    fn names(&self, folder: &str) -> Vec<String>;

    /// The path with all links followed; `None` where it leads nowhere.
    fn real(&self, path: &str) -> Option<String>;

    /// Bytes in a page of memory.
    fn page_size(&self) -> u32 {
        4096
    }
}

/// A folder of the tree, with a list of what could not be read.
pub(super) struct Folder<'a> {
    sysfs: &'a dyn Sysfs,
    pub(super) path: String,
    unread: &'a RefCell<Vec<String>>,
}

impl<'a> Folder<'a> {
    pub(super) fn new(
        sysfs: &'a dyn Sysfs,
        path: String,
        unread: &'a RefCell<Vec<String>>,
    ) -> Self {
        Folder {
            sysfs,
            path,
            unread,
        }
    }

    /// Another folder of the same tree; links are followed where they lead somewhere.
    pub(super) fn at(&self, path: &str) -> Folder<'a> {
        let whole = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", self.path)
        };
        let path = self.sysfs.real(&whole).unwrap_or(whole);
        Folder {
            sysfs: self.sysfs,
            path,
            unread: self.unread,
        }
    }

    /// Last part of its path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn exists(&self, file: &str) -> bool {
        self.sysfs.real(&format!("{}/{file}", self.path)).is_some()
    }

    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        self.sysfs
            .names(format!("{}/{folder}", self.path).trim_end_matches('/'))
    }

    /// Bytes of a file. One that is there but does not answer is noted.
    pub(super) fn bytes(&self, file: &str) -> Option<Vec<u8>> {
        let path = format!("{}/{file}", self.path);
        match self.sysfs.bytes(&path) {
            Ok(bytes) => Some(bytes),
            Err(Unread::Missing) => None,
            Err(Unread::Failed(why)) => {
                // The file and its folder name it well enough.
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

    /// Text of a small file, without a note when it does not answer: some drivers refuse some settings.
    pub(super) fn quiet(&self, file: &str) -> Option<String> {
        let bytes = self.sysfs.bytes(&format!("{}/{file}", self.path)).ok()?;
        Some(clean(&bytes)).filter(|text| !text.is_empty())
    }

    pub(super) fn page_size(&self) -> u32 {
        self.sysfs.page_size()
    }

    /// Text of a file; nothing for an empty one.
    pub(super) fn text(&self, file: &str) -> Option<String> {
        Some(clean(&self.bytes(file)?)).filter(|text| !text.is_empty())
    }

    pub(super) fn number(&self, file: &str) -> Option<u64> {
        self.text(file)?.parse().ok()
    }

    pub(super) fn small(&self, file: &str) -> Option<u32> {
        self.number(file)
            .and_then(|number| u32::try_from(number).ok())
    }

    pub(super) fn flag(&self, file: &str) -> Option<bool> {
        self.number(file).map(|number| number != 0)
    }
}

/// Text of a device as it can be shown: control, bidirectional and other invisible characters written out, blanks at the
/// ends gone, and not longer than 256 characters. What a device says can neither drive a terminal nor flood it.
#[must_use]
pub fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let shown: String = text.chars().take(LONGEST).map(shown).collect();
    if text.chars().nth(LONGEST).is_some() {
        format!("{shown}...")
    } else {
        shown
    }
}

fn shown(c: char) -> String {
    let invisible = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}');
    if c.is_control() || invisible {
        c.escape_unicode().to_string()
    } else {
        c.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_says_cannot_drive_a_terminal() {
        assert_eq!(clean(b"  Disk\x1b[2J \0\n"), "Disk\\u{1b}[2J");
        assert_eq!(clean("a\u{202e}b\u{9b}c".as_bytes()), "a\\u{202e}b\\u{9b}c");
        assert_eq!(clean(b"\xff\xfeX"), "\u{fffd}\u{fffd}X");
        assert_eq!(clean(&[b'y'; 9999]).len(), LONGEST + 3);
    }
}
