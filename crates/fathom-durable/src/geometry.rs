//! The streams of a cycle, and where each commit is stored.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::stamp::{SECTOR, Stamp};

/// Name and version of the stored formats.
pub const FORMAT: &str = "fathom-durable 1";
/// The largest number of streams.
pub const MAX_STREAMS: usize = 256;
/// Commits that a stream may be ahead of the recorder.
pub const COMMITS_IN_FLIGHT: u64 = 256;
/// The smallest number of slots in a file.
const MIN_SLOTS: u64 = 16;
/// The largest commit in bytes.
const MAX_COMMIT: usize = 4 << 20;

/// The identity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for RunId {
    type Err = String;

    fn from_str(text: &str) -> Result<RunId, String> {
        if text.len() != 16 {
            return Err("a run has 16 hexadecimal digits".to_owned());
        }
        u64::from_str_radix(text, 16)
            .map(RunId)
            .map_err(|_| "a run has 16 hexadecimal digits".to_owned())
    }
}

impl Serialize for RunId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<RunId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// How a commit is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Method {
    /// write(2), then fsync(2).
    #[serde(rename = "fsync")]
    Fsync,
    /// write(2), then fdatasync(2).
    #[serde(rename = "fdatasync")]
    Fdatasync,
    /// write(2) to a file opened with O_DSYNC.
    #[serde(rename = "dsync")]
    Dsync,
    /// Direct I/O with RWF_DSYNC: a write with the FUA bit where the device has it and the blocks are allocated.
    #[serde(rename = "fua")]
    Fua,
    /// A new file, fsync(2), rename(2) over the old one, fsync(2) of the directory.
    #[serde(rename = "rename")]
    Rename,
}

impl Method {
    /// All methods, in the order in which cycles use them.
    pub const ALL: [Method; 5] = [
        Method::Fsync,
        Method::Fdatasync,
        Method::Dsync,
        Method::Fua,
        Method::Rename,
    ];

    /// Its name in options, files and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Fsync => "fsync",
            Method::Fdatasync => "fdatasync",
            Method::Dsync => "dsync",
            Method::Fua => "fua",
            Method::Rename => "rename",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Method, String> {
        let found = Method::ALL.into_iter().find(|method| method.name() == text);
        found.ok_or_else(|| {
            format!("unknown method '{text}': use fsync, fdatasync, dsync, fua or rename")
        })
    }
}

/// Where the commits of a stream go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Layout {
    /// The end of a growing file.
    #[serde(rename = "append")]
    Append,
    /// Blocks of a file that was written before: in place.
    #[serde(rename = "overwrite")]
    Overwrite,
    /// Blocks of a file that was allocated with fallocate(2) and not written.
    #[serde(rename = "preallocated")]
    Preallocated,
    /// A file of its own, renamed over an older one.
    #[serde(rename = "rename")]
    Rename,
}

impl Layout {
    /// The layouts of all methods but `rename`.
    pub const OF_FILES: [Layout; 3] = [Layout::Append, Layout::Overwrite, Layout::Preallocated];

    /// Its name in options, files and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Layout::Append => "append",
            Layout::Overwrite => "overwrite",
            Layout::Preallocated => "preallocated",
            Layout::Rename => "rename",
        }
    }

    /// Whether later commits overwrite earlier ones.
    #[must_use]
    pub fn is_ring(self) -> bool {
        matches!(self, Layout::Overwrite | Layout::Rename)
    }

    /// Whether a commit changes only data, no size, extent or name.
    #[must_use]
    pub fn is_data_only(self) -> bool {
        self == Layout::Overwrite
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Layout, String> {
        let mut files = Layout::OF_FILES.into_iter();
        files.find(|layout| layout.name() == text).ok_or_else(|| {
            format!("unknown layout '{text}': use append, overwrite or preallocated")
        })
    }
}

/// One thread with its own files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Where its commits go.
    pub layout: Layout,
    /// Number of the thread among those of this layout, from 0.
    pub thread: u16,
}

/// What a cycle writes: everything that the checker needs besides the acknowledgements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// [`FORMAT`].
    pub format: String,
    /// The run.
    pub run: RunId,
    /// The cycle, from 1.
    pub cycle: u32,
    /// How every commit of the cycle is made durable.
    pub method: Method,
    /// Bytes of a record; a multiple of 512.
    pub record_bytes: u32,
    /// Records of a commit.
    pub records_per_commit: u16,
    /// Commits in a file; with `rename`, files.
    pub slots: u64,
    /// The streams.
    pub streams: Vec<Stream>,
}

/// Why a cycle cannot have this geometry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GeometryError(String);

/// Where a commit is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the file in the directory of the cycle.
    pub file: String,
    /// Offset in bytes.
    pub offset: u64,
}

impl Geometry {
    /// Checks values that came from a file or another host.
    ///
    /// # Errors
    /// The value that is wrong.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let fail = |text: String| Err(GeometryError(text));
        if self.format != FORMAT {
            return fail(format!(
                "format '{}' instead of '{FORMAT}': use the version of fathom that wrote it",
                self.format.escape_debug()
            ));
        }
        let record = self.record_bytes as usize;
        if record == 0 || !record.is_multiple_of(SECTOR) || record / SECTOR > usize::from(u16::MAX)
        {
            return fail(format!(
                "a record of {record} bytes is not a multiple of 512"
            ));
        }
        if self.records_per_commit == 0
            || record.saturating_mul(usize::from(self.records_per_commit)) > MAX_COMMIT
        {
            return fail(format!(
                "{} records of {record} bytes per commit: at least 1 record and at most 4 MiB are allowed",
                self.records_per_commit
            ));
        }
        if self.cycle == 0 || !(MIN_SLOTS..=1 << 32).contains(&self.slots) {
            return fail(format!(
                "cycle {} with {} slots: the first cycle is 1, and a file has at least {MIN_SLOTS} slots",
                self.cycle, self.slots
            ));
        }
        if self.streams.is_empty() || self.streams.len() > MAX_STREAMS {
            return fail(format!(
                "{} streams: from 1 to {MAX_STREAMS} are allowed",
                self.streams.len()
            ));
        }
        let renames = self.method == Method::Rename;
        if self
            .streams
            .iter()
            .any(|stream| (stream.layout == Layout::Rename) != renames)
        {
            return fail(format!("the method {} has another layout", self.method));
        }
        Ok(())
    }

    /// The streams of a method: `threads` threads for each layout.
    #[must_use]
    pub fn streams_of(method: Method, layouts: &[Layout], threads: u16) -> Vec<Stream> {
        let own = [Layout::Rename];
        let layouts = if method == Method::Rename {
            &own[..]
        } else {
            layouts
        };
        let threads_of = |layout: &Layout| {
            let layout = *layout;
            (0..threads).map(move |thread| Stream { layout, thread })
        };
        layouts.iter().flat_map(threads_of).collect()
    }

    /// The number of slots with which the files of `streams` streams need at most `bytes`.
    #[must_use]
    pub fn slots_for(bytes: u64, streams: usize, commit_bytes: u64) -> u64 {
        // Growing files have up to three generations while the oldest is being removed.
        let per_stream = bytes / (streams.max(1) as u64 * 3);
        (per_stream / commit_bytes.max(1)).max(MIN_SLOTS)
    }

    /// Bytes of a commit.
    #[must_use]
    pub fn commit_bytes(&self) -> usize {
        self.record_bytes as usize * usize::from(self.records_per_commit)
    }

    /// Where commit `commit` of stream `stream` is stored.
    #[must_use]
    pub fn place(&self, stream: u16, commit: u64) -> Place {
        let layout = self.layout(stream);
        let slot = commit % self.slots;
        let bytes = self.commit_bytes() as u64;
        let file = |number: u64| format!("{stream:03}-{layout}-{number:08}");
        match layout {
            Layout::Append | Layout::Preallocated => Place {
                file: file(commit / self.slots),
                offset: slot * bytes,
            },
            Layout::Overwrite => Place {
                file: file(0),
                offset: slot * bytes,
            },
            Layout::Rename => Place {
                file: file(slot),
                offset: 0,
            },
        }
    }

    /// Whether `name` is the name of a file that a cycle creates.
    #[must_use]
    pub fn is_own_file(name: &str) -> bool {
        let name = name.strip_suffix(".new").unwrap_or(name);
        let is_number = |text: &str, digits: usize| {
            text.len() >= digits && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let mut parts = name.split('-');
        let (Some(stream), Some(layout), Some(number), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let mut layouts = Layout::OF_FILES.into_iter().chain([Layout::Rename]);
        is_number(stream, 3) && layouts.any(|one| one.name() == layout) && is_number(number, 8)
    }

    /// The layout of a stream.
    ///
    /// # Panics
    /// If there is no such stream.
    #[must_use]
    pub fn layout(&self, stream: u16) -> Layout {
        self.streams[usize::from(stream)].layout
    }

    /// The stamp of the first sector of a commit.
    #[must_use]
    pub fn stamp(&self, stream: u16, commit: u64) -> Stamp {
        Stamp {
            run: self.run.0,
            cycle: self.cycle,
            stream,
            commit,
            record: 0,
            sector: 0,
        }
    }

    /// Commits that are written before the load starts, with an ordinary fsync: an overwritten file has content in all slots.
    #[must_use]
    pub fn first_commit(&self, stream: u16) -> u64 {
        if self.layout(stream) == Layout::Overwrite {
            self.slots
        } else {
            0
        }
    }

    /// The first commit that must still be there when `last` is acknowledged. Earlier ones were overwritten, or their file was
    /// removed after the recorder had confirmed the next one.
    #[must_use]
    pub fn first_required(&self, stream: u16, last: u64) -> u64 {
        if self.layout(stream).is_ring() {
            (last + 1).saturating_sub(self.slots)
        } else {
            ((last + 1) / self.slots).saturating_sub(1) * self.slots
        }
    }

    /// The file that may be removed before the first commit of generation `generation` of a growing file, once the recorder has
    /// confirmed all commits before it.
    #[must_use]
    pub fn retired_file(&self, stream: u16, generation: u64) -> Option<String> {
        let old = generation.checked_sub(2)?;
        (!self.layout(stream).is_ring()).then(|| self.place(stream, old * self.slots).file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> Geometry {
        Geometry {
            format: FORMAT.to_owned(),
            run: RunId(1),
            cycle: 1,
            method: Method::Fsync,
            record_bytes: 8192,
            records_per_commit: 2,
            slots: 16,
            streams: Geometry::streams_of(Method::Fsync, &Layout::OF_FILES, 1),
        }
    }

    #[test]
    fn commits_have_their_own_places() {
        let geometry = geometry();
        let place = |stream, commit| {
            let place = geometry.place(stream, commit);
            (place.file, place.offset)
        };
        assert_eq!(place(0, 0), ("000-append-00000000".into(), 0));
        assert_eq!(place(0, 33), ("000-append-00000002".into(), 16384));
        assert_eq!(place(1, 33), ("001-overwrite-00000000".into(), 16384));
        assert!(Geometry::is_own_file(&place(1, 33).0));
        assert!(Geometry::is_own_file("000-append-00000000.new"));
        for foreign in [
            "000-append",
            "000-photo-00000000",
            "9-append-00000000",
            "photo.jpg",
        ] {
            assert!(!Geometry::is_own_file(foreign), "{foreign}");
        }
    }

    /// A file is removed only when no commit of it is required any more, whatever the recorder has confirmed by then.
    #[test]
    fn removed_files_are_not_required() {
        let geometry = geometry();
        for generation in 2..6 {
            let retired = geometry.retired_file(0, generation).expect("a file");
            // All commits before this generation are confirmed.
            for last in generation * 16 - 1..generation * 16 + 40 {
                let first = geometry.first_required(0, last);
                assert!(first <= last);
                let required = (first..=last).map(|commit| geometry.place(0, commit).file);
                assert!(required.into_iter().all(|file| file != retired));
            }
        }
        assert_eq!(geometry.first_required(1, 33), 18, "a ring has its last 16");
    }

    #[test]
    fn values_of_other_hosts_are_checked() {
        geometry().validate().expect("valid");
        let mut wrong = geometry();
        wrong.record_bytes = 500;
        assert!(wrong.validate().is_err());
        let mut wrong = geometry();
        wrong.slots = 0;
        assert!(wrong.validate().is_err());
        let mut wrong = geometry();
        wrong.streams.clear();
        assert!(wrong.validate().is_err());
        let mut wrong = geometry();
        wrong.method = Method::Rename;
        assert!(wrong.validate().is_err());
        let mut wrong = geometry();
        wrong.records_per_commit = u16::MAX;
        assert!(wrong.validate().is_err());
    }
}
