//! How fathom knows its own files: the text of the mark and of the manifest.
//!
//! The mark is the extended attribute `user.fathom.owner` on the inode. Where a file system has no user
//! attributes, a line in the file `.fathom-files` in the same folder says the same, with (device, inode).
//!
//! A mark holds the inode number, so that a copy made with its attributes is not taken for ours, and a seal:
//! size and modification time as fathom left them, so that a file someone else has written to since is not
//! either. While a run has it open there is no seal; after a crash the mark therefore still counts.

use std::fmt;

/// Whether removal is ours to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Fathom created it, and may remove it.
    Created,
    /// It was there before (empty, or given up with a code); fathom may write it but not remove it.
    Adopted,
}

/// A file's state when fathom last closed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// `st_size`, bytes.
    pub size: u64,
    /// `st_mtime` with its nanoseconds, since 1970.
    pub mtime_ns: i128,
}

/// The mark on one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The inode it was put on.
    pub inode: u64,
    /// Who made the file.
    pub origin: Origin,
    /// How it was left; nothing while a run has it open.
    pub seal: Option<Seal>,
}

/// One line of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// `st_dev`.
    pub dev: u64,
    /// Birth time where the file system keeps one, nanoseconds since 1970; an inode number alone is reused.
    pub born_ns: Option<i128>,
    /// What the attribute would have said.
    pub mark: Mark,
}

/// All lines of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest(pub Vec<ManifestEntry>);

/// The text is not a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseMarkError {
    text: String,
}

const HEADER: &str = "# fathom: files in this folder that fathom may overwrite";

impl Mark {
    /// Attribute name.
    pub const ATTRIBUTE: &'static str = "user.fathom.owner";
    /// The mark as attribute value.
    #[must_use]
    pub fn to_text(&self) -> String {
        let origin = if self.origin == Origin::Created {
            "created"
        } else {
            "adopted"
        };
        let seal = self.seal.map_or("open".to_owned(), |seal| {
            format!("{},{}", seal.size, seal.mtime_ns)
        });
        format!("fathom1 inode={} origin={origin} seal={seal}", self.inode)
    }
    /// Reads an attribute value.
    ///
    /// # Errors
    /// [`ParseMarkError`] for anything [`Mark::to_text`] would not write.
    pub fn parse(text: &str) -> Result<Self, ParseMarkError> {
        let words: Vec<&str> = text.split(' ').collect();
        let [version, inode, origin, seal] = words[..] else {
            return Err(bad(text));
        };
        if version != "fathom1" {
            return Err(bad(text));
        }
        let inode = number(inode, "inode=").ok_or_else(|| bad(text))?;
        let origin = match origin {
            "origin=created" => Origin::Created,
            "origin=adopted" => Origin::Adopted,
            _ => return Err(bad(text)),
        };
        let seal = seal
            .strip_prefix("seal=")
            .and_then(parse_seal)
            .ok_or_else(|| bad(text))?;
        Ok(Self {
            inode,
            origin,
            seal,
        })
    }
    /// Whether a file with this inode, size and modification time is the one that was marked, as it was left.
    #[must_use]
    pub fn fits(&self, inode: u64, now: Seal) -> bool {
        self.inode == inode && self.seal.is_none_or(|seal| seal == now)
    }
}

impl Manifest {
    /// File name in the folder of the files it lists.
    pub const NAME: &'static str = ".fathom-files";
    /// Largest manifest that is read, bytes.
    pub const LARGEST: u64 = 1 << 20;
    /// The whole file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let lines = self.0.iter().map(|entry| format!("{}\n", entry.to_text()));
        std::iter::once(format!("{HEADER}\n"))
            .chain(lines)
            .collect()
    }
    /// Reads the whole file.
    ///
    /// # Errors
    /// [`ParseMarkError`] when the first line or any other is not ours.
    pub fn parse(text: &str) -> Result<Self, ParseMarkError> {
        let lines = text.strip_prefix(HEADER).ok_or_else(|| bad(text))?;
        let lines = lines.lines().filter(|line| !line.is_empty());
        lines
            .map(ManifestEntry::parse)
            .collect::<Result<_, _>>()
            .map(Self)
    }
    /// The entry for one file: same device, inode and birth.
    #[must_use]
    pub fn find(&self, dev: u64, inode: u64, born_ns: Option<i128>) -> Option<&ManifestEntry> {
        self.0.iter().find(|entry| entry.is(dev, inode, born_ns))
    }
    /// Adds an entry in place of any other for that device and inode.
    pub fn put(&mut self, entry: ManifestEntry) {
        self.remove(entry.dev, entry.mark.inode);
        self.0.push(entry);
    }
    /// Drops what is known of that device and inode.
    pub fn remove(&mut self, dev: u64, inode: u64) {
        self.0
            .retain(|old| (old.dev, old.mark.inode) != (dev, inode));
    }
}

impl ManifestEntry {
    fn is(&self, dev: u64, inode: u64, born_ns: Option<i128>) -> bool {
        (self.dev, self.mark.inode, self.born_ns) == (dev, inode, born_ns)
    }
    fn to_text(&self) -> String {
        let born = self
            .born_ns
            .map_or("unknown".to_owned(), |born| born.to_string());
        format!("dev={} born={born} {}", self.dev, self.mark.to_text())
    }
    fn parse(line: &str) -> Result<Self, ParseMarkError> {
        let (dev, rest) = line.split_once(' ').ok_or_else(|| bad(line))?;
        let (born, mark) = rest.split_once(' ').ok_or_else(|| bad(line))?;
        let dev = number(dev, "dev=").ok_or_else(|| bad(line))?;
        let born = born.strip_prefix("born=").ok_or_else(|| bad(line))?;
        let born_ns = if born == "unknown" {
            None
        } else {
            Some(born.parse().map_err(|_| bad(line))?)
        };
        Ok(Self {
            dev,
            born_ns,
            mark: Mark::parse(mark)?,
        })
    }
}

fn number(word: &str, name: &str) -> Option<u64> {
    word.strip_prefix(name)?.parse().ok()
}

/// The outer answer is whether it could be read, the inner whether there is a seal.
fn parse_seal(text: &str) -> Option<Option<Seal>> {
    if text == "open" {
        return Some(None);
    }
    let (size, mtime) = text.split_once(',')?;
    Some(Some(Seal {
        size: size.parse().ok()?,
        mtime_ns: mtime.parse().ok()?,
    }))
}

fn bad(text: &str) -> ParseMarkError {
    ParseMarkError {
        text: text.chars().take(80).collect(),
    }
}

impl fmt::Display for ParseMarkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is not a mark of fathom's",
            self.text.escape_debug()
        )
    }
}

impl std::error::Error for ParseMarkError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEAL: Seal = Seal {
        size: 4096,
        mtime_ns: 1_700_000_000_123_456_789,
    };

    #[test]
    fn a_mark_has_one_text() {
        let mark = Mark {
            inode: 7,
            origin: Origin::Created,
            seal: Some(SEAL),
        };
        let text = "fathom1 inode=7 origin=created seal=4096,1700000000123456789";
        assert_eq!(mark.to_text(), text);
        assert_eq!(Mark::parse(text), Ok(mark));
    }

    #[test]
    fn a_sealed_mark_fits_only_the_file_as_it_was_left() {
        let open = Mark {
            inode: 7,
            origin: Origin::Created,
            seal: None,
        };
        let sealed = Mark {
            seal: Some(SEAL),
            ..open
        };
        let later = Seal {
            mtime_ns: SEAL.mtime_ns + 1,
            ..SEAL
        };
        assert!(open.fits(7, later) && sealed.fits(7, SEAL));
        assert!(!sealed.fits(7, later), "written to by someone else");
        assert!(
            !sealed.fits(8, SEAL) && !open.fits(8, SEAL),
            "a copy with its attributes"
        );
    }

    #[test]
    fn a_reused_inode_number_is_not_in_the_manifest() {
        let mark = Mark {
            inode: 7,
            origin: Origin::Created,
            seal: None,
        };
        let mut manifest = Manifest::default();
        manifest.put(ManifestEntry {
            dev: 1,
            born_ns: Some(5),
            mark,
        });
        let manifest = Manifest::parse(&manifest.to_text()).expect("its own text");
        assert!(manifest.find(1, 7, Some(5)).is_some());
        assert!(manifest.find(1, 7, Some(6)).is_none() && manifest.find(2, 7, Some(5)).is_none());
    }

    #[test]
    fn a_foreign_file_of_that_name_is_no_manifest() {
        assert!(Manifest::parse("").is_err());
        assert!(
            Manifest::parse("dev=1 born=5 fathom1 inode=7 origin=created seal=open\n").is_err()
        );
        assert!(Manifest::parse(&format!("{HEADER}\nnonsense\n")).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,200}") {
            let _ = Mark::parse(&text);
            let _ = Manifest::parse(&format!("{HEADER}\n{text}"));
        }
    }
}
