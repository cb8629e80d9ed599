//! How fathom recognises its own files: the text of the mark and of the manifest.
//!
//! The mark is the extended attribute `user.fathom.owner` on the inode. On a file system without
//! user attributes, a line in the file `.fathom-files` in the same directory holds the same text,
//! with (device, inode).
//!
//! A mark contains the inode number, so that a copy made with its attributes does not count as
//! fathom's. It also contains a seal: the size and the times that the file had when fathom last
//! recorded its state, so that a file modified since does not count either. The state is recorded
//! when a run opens the file, when the layout is complete, and when the run closes the file. A run
//! that is killed while it writes leaves a seal that no longer matches: nobody can tell its writes
//! from those of another program, so the file needs a code.

/// Whether fathom may remove the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Fathom created it and may remove it.
    Created,
    /// It existed before (empty, or released with a code). Fathom may write it but not remove it.
    Adopted,
}

/// A file's state when fathom last recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// `st_size`, bytes.
    pub size: u64,
    /// `st_mtime` with its nanoseconds, since 1970.
    pub mtime_ns: i128,
    /// `st_ctime` with its nanoseconds. Unlike the modification time it cannot be put back. Marks of
    /// version 1 have none.
    pub ctime_ns: Option<i128>,
}

impl Seal {
    /// Writing the attribute changes `st_ctime` itself, so it is a little later than recorded: two
    /// ticks of the slowest kernel clock (100 Hz).
    const TOLERANCE_NS: i128 = 20_000_000;

    /// Whether the file in the state `now` is unmodified since this was recorded.
    fn describes(&self, now: Seal) -> bool {
        let unchanged = match (self.ctime_ns, now.ctime_ns) {
            (Some(then), Some(now)) => (0..=Self::TOLERANCE_NS).contains(&(now - then)),
            _ => true,
        };
        (self.size, self.mtime_ns) == (now.size, now.mtime_ns) && unchanged
    }
}

/// Whether the run that wrote a mark has closed the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkState {
    /// A run has the file open, or was killed.
    Open,
    /// The run has closed it.
    Closed,
}

/// The mark on one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The inode that was marked.
    pub inode: u64,
    /// Who created the file.
    pub origin: Origin,
    /// Whether a run has it open.
    pub state: MarkState,
    /// The file's state when this was written; `None` in a mark of version 1 while a run had it open.
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
        let state = if self.state == MarkState::Open {
            "open"
        } else {
            "closed"
        };
        let seal = self.seal.map_or("none".to_owned(), |seal| {
            let ctime = seal
                .ctime_ns
                .map_or("unknown".to_owned(), |ctime| ctime.to_string());
            format!("{},{},{ctime}", seal.size, seal.mtime_ns)
        });
        let inode = self.inode;
        format!("fathom2 inode={inode} origin={origin} state={state} seal={seal}")
    }
    /// Parses an attribute value.
    ///
    /// # Errors
    /// [`ParseMarkError`] for any text that [`Mark::to_text`] would not write.
    pub fn parse(text: &str) -> Result<Self, ParseMarkError> {
        let fields: Vec<&str> = text.split(' ').collect();
        let (inode, origin, state, seal) = match fields[..] {
            ["fathom1", inode, origin, seal] => (inode, origin, None, seal),
            ["fathom2", inode, origin, state, seal] => (inode, origin, Some(state), seal),
            _ => return Err(invalid(text)),
        };
        let inode = number(inode, "inode=").ok_or_else(|| invalid(text))?;
        let origin = match origin {
            "origin=created" => Origin::Created,
            "origin=adopted" => Origin::Adopted,
            _ => return Err(invalid(text)),
        };
        let seal = seal.strip_prefix("seal=").ok_or_else(|| invalid(text))?;
        let (state, seal) = match state {
            None => parse_seal_of_version_1(seal),
            Some("state=open") => parse_seal(seal).map(|seal| (MarkState::Open, seal)),
            Some("state=closed") => parse_seal(seal).map(|seal| (MarkState::Closed, seal)),
            Some(_) => None,
        }
        .ok_or_else(|| invalid(text))?;
        Ok(Self {
            inode,
            origin,
            state,
            seal,
        })
    }
    /// Whether a file with this inode in the state `now` is the marked file, unmodified. Without a
    /// seal nothing is known about the contents, so nothing matches.
    #[must_use]
    pub fn matches(&self, inode: u64, now: Seal) -> bool {
        self.inode == inode && self.seal.is_some_and(|seal| seal.describes(now))
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
    if text == "none" {
        return Some(None);
    }
    let mut fields = text.split(',');
    let (size, mtime, ctime) = (fields.next()?, fields.next()?, fields.next()?);
    let ctime_ns = match ctime {
        "unknown" => None,
        known => Some(known.parse().ok()?),
    };
    fields.next().is_none().then_some(())?;
    Some(Some(Seal {
        size: size.parse().ok()?,
        mtime_ns: mtime.parse().ok()?,
        ctime_ns,
    }))
}

/// `open`, or size and modification time.
fn parse_seal_of_version_1(text: &str) -> Option<(MarkState, Option<Seal>)> {
    if text == "open" {
        return Some((MarkState::Open, None));
    }
    let (size, mtime) = text.split_once(',')?;
    let seal = Seal {
        size: size.parse().ok()?,
        mtime_ns: mtime.parse().ok()?,
        ctime_ns: None,
    };
    Some((MarkState::Closed, Some(seal)))
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
        ctime_ns: Some(1_700_000_000_200_000_000),
    };
    const CLOSED: Mark = Mark {
        inode: 7,
        origin: Origin::Created,
        state: MarkState::Closed,
        seal: Some(SEAL),
    };

    #[test]
    fn a_mark_has_a_fixed_text() {
        let text = "fathom2 inode=7 origin=created state=closed seal=4096,1700000000123456789,1700000000200000000";
        assert_eq!(CLOSED.to_text(), text);
        assert_eq!(Mark::parse(text), Ok(CLOSED));
        for mark in [
            Mark {
                state: MarkState::Open,
                ..CLOSED
            },
            Mark {
                seal: None,
                ..CLOSED
            },
        ] {
            assert_eq!(Mark::parse(&mark.to_text()), Ok(mark));
        }
    }

    #[test]
    fn marks_of_version_1_are_read() {
        let closed = Mark::parse("fathom1 inode=7 origin=created seal=4096,1700000000123456789");
        let without_ctime = Seal {
            ctime_ns: None,
            ..SEAL
        };
        let expected = Mark {
            seal: Some(without_ctime),
            ..CLOSED
        };
        assert_eq!(closed, Ok(expected));
        assert!(expected.matches(7, SEAL));
        let open = Mark::parse("fathom1 inode=7 origin=created seal=open").expect("valid");
        assert_eq!((open.state, open.seal), (MarkState::Open, None));
    }

    /// Regression 0302: a mark without a seal, as a killed run left it, matched whatever the file held later. And a file
    /// whose modification time was put back counted as unmodified.
    #[test]
    fn a_mark_matches_only_the_unmodified_file() {
        let later = |ns: i128| SEAL.ctime_ns.map(|ctime| ctime + ns);
        for state in [MarkState::Open, MarkState::Closed] {
            let sealed = Mark { state, ..CLOSED };
            let unsealed = Mark {
                seal: None,
                ..sealed
            };
            let written = Seal {
                mtime_ns: SEAL.mtime_ns + 1,
                ..SEAL
            };
            let put_back = Seal {
                ctime_ns: later(1_000_000_000),
                ..SEAL
            };
            let marked_just_now = Seal {
                ctime_ns: later(4_000_000),
                ..SEAL
            };
            assert!(sealed.matches(7, SEAL) && sealed.matches(7, marked_just_now));
            assert!(!sealed.matches(7, written), "written by another program");
            assert!(!sealed.matches(7, put_back), "with its times put back");
            assert!(!sealed.matches(8, SEAL), "a copy with its attributes");
            assert!(!unsealed.matches(7, SEAL), "no permission without evidence");
        }
    }

    #[test]
    fn a_reused_inode_number_is_not_in_the_manifest() {
        let mut manifest = Manifest::default();
        manifest.insert(ManifestEntry {
            dev: 1,
            born_ns: Some(5),
            mark: CLOSED,
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
