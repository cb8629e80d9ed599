//! How fathom recognises its own files: the text of the mark and of the manifest.
//!
//! The mark is the extended attribute `user.fathom.owner` on the inode. On a file system without
//! user attributes, a line in the file `.fathom-files` in the same directory holds the same text,
//! with (device, inode).
//!
//! A mark contains the inode number, so that a copy made with its attributes does not count as
//! fathom's. It also contains a seal: the size and modification time at which fathom closed the
//! file, so that a file modified since does not count either. While a run has the file open there
//! is no seal, so the mark stays valid after a crash.

/// Whether fathom may remove the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Fathom created it and may remove it.
    Created,
    /// It existed before (empty, or released with a code). Fathom may write it but not remove it.
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
    /// The inode that was marked.
    pub inode: u64,
    /// Who created the file.
    pub origin: Origin,
    /// The state in which it was closed; `None` while a run has it open.
    pub seal: Option<Seal>,
}

/// One line of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// `st_dev`.
    pub dev: u64,
    /// Birth time in nanoseconds since 1970, if the file system keeps one; inode numbers are
    /// reused.
    pub born_ns: Option<i128>,
    /// The text that the attribute would hold.
    pub mark: Mark,
}

/// All lines of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest(pub Vec<ManifestEntry>);

/// The text is not a mark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not a fathom ownership mark", text.escape_debug())]
pub struct ParseMarkError {
    text: String,
}

const HEADER: &str = "# fathom: files in this folder that fathom may overwrite";

impl Mark {
    /// Attribute name.
    pub const ATTRIBUTE: &'static str = "user.fathom.owner";
    /// The mark as an attribute value.
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
    /// Parses an attribute value.
    ///
    /// # Errors
    /// [`ParseMarkError`] for any text that [`Mark::to_text`] would not write.
    pub fn parse(text: &str) -> Result<Self, ParseMarkError> {
        let fields: Vec<&str> = text.split(' ').collect();
        let [version, inode, origin, seal] = fields[..] else {
            return Err(invalid(text));
        };
        if version != "fathom1" {
            return Err(invalid(text));
        }
        let inode = number(inode, "inode=").ok_or_else(|| invalid(text))?;
        let origin = match origin {
            "origin=created" => Origin::Created,
            "origin=adopted" => Origin::Adopted,
            _ => return Err(invalid(text)),
        };
        let seal = seal
            .strip_prefix("seal=")
            .and_then(parse_seal)
            .ok_or_else(|| invalid(text))?;
        Ok(Self {
            inode,
            origin,
            seal,
        })
    }
    /// Whether a file with this inode, size and modification time is the marked file, unmodified.
    #[must_use]
    pub fn matches(&self, inode: u64, now: Seal) -> bool {
        self.inode == inode && self.seal.is_none_or(|seal| seal == now)
    }
}

impl Manifest {
    /// Name of the manifest, in the directory of the files it lists.
    pub const NAME: &'static str = ".fathom-files";
    /// Size limit of a manifest, bytes.
    pub const MAX_BYTES: u64 = 1 << 20;
    /// The whole manifest as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let lines = self.0.iter().map(|entry| format!("{}\n", entry.to_text()));
        std::iter::once(format!("{HEADER}\n"))
            .chain(lines)
            .collect()
    }
    /// Parses a whole manifest.
    ///
    /// # Errors
    /// [`ParseMarkError`] if the header or any line is invalid.
    pub fn parse(text: &str) -> Result<Self, ParseMarkError> {
        let lines = text.strip_prefix(HEADER).ok_or_else(|| invalid(text))?;
        let lines = lines.lines().filter(|line| !line.is_empty());
        lines
            .map(ManifestEntry::parse)
            .collect::<Result<_, _>>()
            .map(Self)
    }
    /// The entry of one file: same device, inode and birth time.
    #[must_use]
    pub fn find(&self, dev: u64, inode: u64, born_ns: Option<i128>) -> Option<&ManifestEntry> {
        self.0.iter().find(|entry| entry.is(dev, inode, born_ns))
    }
    /// Adds an entry, replacing any other of the same device and inode.
    pub fn insert(&mut self, entry: ManifestEntry) {
        self.remove(entry.dev, entry.mark.inode);
        self.0.push(entry);
    }
    /// Removes the entry of this device and inode.
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
        let (dev, rest) = line.split_once(' ').ok_or_else(|| invalid(line))?;
        let (born, mark) = rest.split_once(' ').ok_or_else(|| invalid(line))?;
        let dev = number(dev, "dev=").ok_or_else(|| invalid(line))?;
        let born = born.strip_prefix("born=").ok_or_else(|| invalid(line))?;
        let born_ns = if born == "unknown" {
            None
        } else {
            Some(born.parse().map_err(|_| invalid(line))?)
        };
        Ok(Self {
            dev,
            born_ns,
            mark: Mark::parse(mark)?,
        })
    }
}

fn number(field: &str, name: &str) -> Option<u64> {
    field.strip_prefix(name)?.parse().ok()
}

/// The outer option: whether it could be parsed. The inner one: whether there is a seal.
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

fn invalid(text: &str) -> ParseMarkError {
    ParseMarkError {
        text: text.chars().take(80).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEAL: Seal = Seal {
        size: 4096,
        mtime_ns: 1_700_000_000_123_456_789,
    };

    #[test]
    fn a_mark_has_a_fixed_text() {
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
    fn a_sealed_mark_matches_only_the_unmodified_file() {
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
        assert!(open.matches(7, later) && sealed.matches(7, SEAL));
        assert!(!sealed.matches(7, later), "written by another program");
        assert!(
            !sealed.matches(8, SEAL) && !open.matches(8, SEAL),
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
        manifest.insert(ManifestEntry {
            dev: 1,
            born_ns: Some(5),
            mark,
        });
        let manifest = Manifest::parse(&manifest.to_text()).expect("its own text");
        assert!(manifest.find(1, 7, Some(5)).is_some());
        assert!(manifest.find(1, 7, Some(6)).is_none() && manifest.find(2, 7, Some(5)).is_none());
    }

    #[test]
    fn a_foreign_file_of_that_name_is_not_a_manifest() {
        assert!(Manifest::parse("").is_err());
        assert!(
            Manifest::parse("dev=1 born=5 fathom1 inode=7 origin=created seal=open\n").is_err()
        );
        assert!(Manifest::parse(&format!("{HEADER}\nnonsense\n")).is_err());
    }

    proptest! {
        #[test]
        fn any_text_parses_without_a_panic(text in ".{0,200}") {
            let _ = Mark::parse(&text);
            let _ = Manifest::parse(&format!("{HEADER}\n{text}"));
        }
    }
}
