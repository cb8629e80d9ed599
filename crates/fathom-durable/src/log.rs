//! The log of the recorder: a header, then entries, each with its length and checksum.
//!
//! The log may end at any byte: the reader stops at the first entry that is not complete or not intact, and everything before
//! is used. The writer removes such an end before it appends.

use serde::{Deserialize, Serialize};

use crate::check::{Acknowledgements, CycleResult};
use crate::geometry::Geometry;

/// First line of a log.
pub const HEADER: &[u8] = b"fathom durable log 1\n";
/// The largest entry in bytes.
pub const MAX_ENTRY: usize = 1 << 20;
/// Bytes of an acknowledgement in an entry.
const ACK: usize = 10;
/// Length and checksum before the content of an entry.
const PREFIX: usize = 8;

/// The beginning of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// What is written, and where.
    pub geometry: Geometry,
    /// Identity of the boot in which the writer runs (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A cycle begins.
    Begin(Box<Begin>),
    /// Acknowledgements in the order of their arrival: stream and commit.
    Acknowledged(Vec<(u16, u64)>),
    /// The writer stopped in an orderly way.
    Stopped,
    /// The result of the check of a cycle.
    Checked(Box<CycleResult>),
}

/// Why a log is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// It has other content.
    #[error("not a log of fathom durable")]
    NotALog,
    /// A valid entry has values that this version does not accept.
    #[error("entry at byte {0}: {1}")]
    Entry(usize, String),
}

impl Entry {
    /// The bytes of the entry.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut content = Vec::new();
        match self {
            Entry::Begin(begin) => {
                content.push(b'B');
                content.extend(serde_json::to_vec(begin).unwrap_or_default());
            }
            Entry::Acknowledged(acknowledged) => {
                content.push(b'A');
                for (stream, commit) in acknowledged {
                    content.extend(stream.to_le_bytes());
                    content.extend(commit.to_le_bytes());
                }
            }
            Entry::Stopped => content.push(b'S'),
            Entry::Checked(result) => {
                content.push(b'C');
                content.extend(serde_json::to_vec(result).unwrap_or_default());
            }
        }
        let mut bytes = Vec::with_capacity(PREFIX + content.len());
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(checksum(content.len() as u32, &content).to_le_bytes());
        bytes.extend(content);
        bytes
    }

    /// An entry with its length and checksum, and nothing else.
    pub(crate) fn decode_framed(bytes: &[u8]) -> Result<Entry, String> {
        match next(bytes, 0) {
            Ok(Some((entry, length))) if length == bytes.len() => Ok(entry),
            Ok(_) => Err("damaged entry".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn decode(content: &[u8]) -> Result<Entry, String> {
        let (kind, rest) = content.split_first().ok_or("empty")?;
        match kind {
            b'B' => {
                let begin: Begin = serde_json::from_slice(rest).map_err(|e| e.to_string())?;
                begin.geometry.validate().map_err(|e| e.to_string())?;
                Ok(Entry::Begin(Box::new(begin)))
            }
            b'A' if rest.len().is_multiple_of(ACK) => {
                let acks = rest.chunks_exact(ACK).map(|ack| {
                    let (stream, commit) = ack.split_at(2);
                    let commit = commit.try_into().map_or(0, u64::from_le_bytes);
                    (u16::from_le_bytes([stream[0], stream[1]]), commit)
                });
                Ok(Entry::Acknowledged(acks.collect()))
            }
            b'S' if rest.is_empty() => Ok(Entry::Stopped),
            b'C' => serde_json::from_slice(rest)
                .map(|result| Entry::Checked(Box::new(result)))
                .map_err(|e| e.to_string()),
            _ => Err("unknown kind of entry; use the version of fathom that wrote it".to_owned()),
        }
    }
}

fn checksum(length: u32, content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(content);
    hasher.finalize()
}

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The last cycle that began.
    pub current: Option<CycleLog>,
    /// The results of the cycles that were checked, in order of their cycles.
    pub checked: Vec<CycleResult>,
    /// Bytes that are intact; the rest of the file is ignored.
    pub intact: usize,
}

/// The last cycle of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CycleLog {
    /// Its beginning.
    pub begin: Begin,
    /// Its acknowledgements.
    pub acknowledgements: Acknowledgements,
    /// The writer stopped in an orderly way.
    pub stopped: bool,
}

impl CycleLog {
    /// Whether its check is in the log.
    #[must_use]
    pub fn is_checked(&self, log: &Log) -> bool {
        let cycle = self.begin.geometry.cycle;
        log.checked.iter().any(|result| result.cycle == cycle)
    }
}

impl Log {
    /// Reads the bytes of a log, up to the first entry that is cut or damaged.
    ///
    /// # Errors
    /// When it is not a log, or an intact entry cannot be used.
    pub fn read(bytes: &[u8]) -> Result<Log, LogError> {
        if !bytes.starts_with(HEADER) {
            // The header itself may be cut.
            return if HEADER.starts_with(bytes) {
                Ok(Log::default())
            } else {
                Err(LogError::NotALog)
            };
        }
        let mut log = Log {
            intact: HEADER.len(),
            ..Log::default()
        };
        while let Some((entry, length)) = next(&bytes[log.intact..], log.intact)? {
            log.apply(entry);
            log.intact += length;
        }
        Ok(log)
    }

    /// Adds an entry.
    pub fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Begin(begin) => {
                let same = self
                    .current
                    .as_ref()
                    .is_some_and(|current| current.begin.geometry.run == begin.geometry.run);
                if !same {
                    self.checked.clear();
                }
                self.current = Some(CycleLog {
                    begin: *begin,
                    acknowledgements: Acknowledgements::default(),
                    stopped: false,
                });
            }
            Entry::Acknowledged(acknowledged) => {
                if let Some(current) = &mut self.current {
                    current.acknowledgements.order.extend(acknowledged);
                }
            }
            Entry::Stopped => {
                if let Some(current) = &mut self.current {
                    current.stopped = true;
                }
            }
            Entry::Checked(result) => {
                // The last check of a cycle counts.
                self.checked.retain(|one| one.cycle != result.cycle);
                self.checked.push(*result);
            }
        }
    }
}

/// The first entry of `bytes` and its length; `None` where none is complete and intact.
fn next(bytes: &[u8], at: usize) -> Result<Option<(Entry, usize)>, LogError> {
    let Some((prefix, rest)) = bytes.split_at_checked(PREFIX) else {
        return Ok(None);
    };
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes);
    let (length, sum) = (word(&prefix[..4]), word(&prefix[4..]));
    if length as usize > MAX_ENTRY {
        return Ok(None);
    }
    let Some(content) = rest.get(..length as usize) else {
        return Ok(None);
    };
    if checksum(length, content) != sum {
        return Ok(None);
    }
    let entry = Entry::decode(content).map_err(|error| LogError::Entry(at, error))?;
    Ok(Some((entry, PREFIX + length as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CycleEnd;
    use crate::geometry::{FORMAT, Layout, Method, RunId};

    fn begin(cycle: u32) -> Begin {
        Begin {
            geometry: Geometry {
                format: FORMAT.to_owned(),
                run: RunId(5),
                cycle,
                method: Method::Fua,
                record_bytes: 4096,
                records_per_commit: 1,
                slots: 16,
                streams: Geometry::streams_of(Method::Fua, &[Layout::Append], 2),
            },
            boot: "boot".to_owned(),
        }
    }

    fn result(cycle: u32) -> CycleResult {
        CycleResult {
            cycle,
            method: Method::Fua,
            end: CycleEnd::PowerCut,
            streams: Vec::new(),
            damaged_tail: 0,
            unreadable: None,
            error: None,
        }
    }

    fn entries() -> Vec<Entry> {
        vec![
            Entry::Begin(Box::new(begin(1))),
            Entry::Acknowledged(vec![(0, 0), (1, 0)]),
            Entry::Checked(Box::new(result(1))),
            Entry::Begin(Box::new(begin(2))),
            Entry::Acknowledged(vec![(0, 0)]),
            Entry::Acknowledged(vec![(0, 1), (1, 0), (1, 1)]),
            Entry::Stopped,
        ]
    }

    fn encoded(entries: &[Entry]) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        entries
            .iter()
            .for_each(|entry| bytes.extend(entry.encode()));
        bytes
    }

    /// Cut at each byte, the log says exactly what the complete entries before the cut say.
    #[test]
    fn a_log_can_be_cut_at_any_byte() {
        let entries = entries();
        let bytes = encoded(&entries);
        let ends: Vec<usize> = (0..=entries.len())
            .map(|count| encoded(&entries[..count]).len())
            .collect();
        for cut in 0..=bytes.len() {
            let complete = ends.iter().filter(|end| **end <= cut).count();
            let log = Log::read(&bytes[..cut]).unwrap_or_else(|e| panic!("{cut}: {e}"));
            let Some(count) = complete.checked_sub(1) else {
                assert_eq!(log, Log::default(), "{cut}");
                continue;
            };
            let mut expected = Log::default();
            entries[..count]
                .iter()
                .for_each(|entry| expected.apply(entry.clone()));
            expected.intact = ends[count];
            assert_eq!(log, expected, "cut at {cut}");
        }
        let log = Log::read(&bytes).expect("a log");
        let current = log.current.as_ref().expect("a cycle");
        assert!(current.stopped && !current.is_checked(&log));
        assert_eq!(current.acknowledgements.order.len(), 4);
        assert_eq!(log.checked, [result(1)]);
    }

    #[test]
    fn a_damaged_byte_ends_the_log() {
        let bytes = encoded(&entries());
        for at in HEADER.len()..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            let log = Log::read(&damaged).unwrap_or_else(|e| panic!("{at}: {e}"));
            assert!(log.intact <= at, "byte {at}");
        }
    }

    #[test]
    fn other_files_are_not_logs() {
        assert_eq!(Log::read(b"hello"), Err(LogError::NotALog));
        assert_eq!(Log::read(b"").expect("empty"), Log::default());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        proptest::proptest!(|(rest: Vec<u8>)| {
            let mut bytes = HEADER.to_vec();
            bytes.extend(rest);
            let _ = Log::read(&bytes);
        });
    }

    #[test]
    fn a_new_run_forgets_the_results_of_the_old_one() {
        let mut log = Log::read(&encoded(&entries())).expect("a log");
        let mut other = begin(1);
        other.geometry.run = RunId(6);
        log.apply(Entry::Begin(Box::new(other)));
        assert!(log.checked.is_empty());
    }
}
