//! The journal of the simulated file system: names, sizes and places of its files, in records that a power cut can tear.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Records begin at multiples of this, bytes.
const SECTOR_BYTES: usize = 512;
const MAGIC: &str = "fathom-journal";

/// What the journal says of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRecord {
    /// Bytes.
    pub size: u64,
    /// Bytes from the start that were written; what follows reads as zeros.
    pub written: u64,
    /// Places on the disk: the first byte, and how many.
    pub extents: Vec<(u64, u64)>,
}

/// A name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Directory,
    /// By its number.
    File(u64),
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Name(PathBuf, Name),
    Removed(PathBuf),
    File(u64, FileRecord),
}

/// All names and files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    pub names: BTreeMap<PathBuf, Name>,
    pub files: BTreeMap<u64, FileRecord>,
}

impl Tables {
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Name(path, name) => {
                self.names.insert(path, name);
            }
            Change::Removed(path) => {
                self.names.remove(&path);
            }
            Change::File(number, file) => {
                self.files.insert(number, file);
            }
        }
    }

    /// Changes that make these tables from nothing; files without a name are left out.
    pub fn changes(&self) -> Vec<Change> {
        let names = self.names.iter();
        let names = names.map(|(path, name)| Change::Name(path.clone(), *name));
        let files = self.names.values().filter_map(|name| match name {
            Name::File(number) => {
                let file = self.files.get(number)?;
                Some(Change::File(*number, file.clone()))
            }
            Name::Directory => None,
        });
        names.chain(files).collect()
    }
}

/// A record with these changes. Each epoch has a journal of its own.
pub fn record(epoch: u64, number: u64, changes: &[Change]) -> Vec<u8> {
    let mut text = String::new();
    for change in changes {
        // Writing to a string does not fail.
        let _ = match change {
            Change::Name(path, Name::Directory) => writeln!(text, "d {}", escaped(path)),
            Change::Name(path, Name::File(file)) => writeln!(text, "n {file} {}", escaped(path)),
            Change::Removed(path) => writeln!(text, "r {}", escaped(path)),
            Change::File(file, record) => {
                let extents = record.extents.iter();
                let extents = extents.map(|(base, bytes)| format!("{base}+{bytes}"));
                let extents: Vec<String> = extents.collect();
                writeln!(
                    text,
                    "f {file} {} {} {}",
                    record.size,
                    record.written,
                    extents.join(",")
                )
            }
        };
    }
    let hash = hash(epoch, number, &text);
    let mut bytes = format!("{MAGIC} {epoch} {number} {} {hash:016x}\n", text.len()).into_bytes();
    bytes.extend(text.bytes());
    bytes.resize(bytes.len().next_multiple_of(SECTOR_BYTES), 0);
    bytes
}

/// The records of a journal up to the first one that is torn or missing: the epoch, the changes, and the bytes of all.
pub fn replay(journal: &[u8]) -> Option<(u64, u64, Tables, u64)> {
    let mut tables = Tables::default();
    let (mut at, mut number, mut epoch) = (0, 0, None);
    while let Some((found, changes, bytes)) = parse(&journal[at..], epoch, number) {
        changes.into_iter().for_each(|change| tables.apply(change));
        epoch = Some(found);
        number += 1;
        at += bytes;
    }
    Some((epoch?, number, tables, at as u64))
}

fn parse(bytes: &[u8], epoch: Option<u64>, number: u64) -> Option<(u64, Vec<Change>, usize)> {
    let line = bytes
        .get(..SECTOR_BYTES)?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.strip_prefix(MAGIC)?.split_whitespace();
    let (found, own): (u64, u64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (length, expected): (usize, &str) = (words.next()?.parse().ok()?, words.next()?);
    let start = line.len() + 1;
    let text = std::str::from_utf8(bytes.get(start..start.checked_add(length)?)?).ok()?;
    let is_right = own == number && epoch.is_none_or(|epoch| epoch == found);
    if !is_right || format!("{:016x}", hash(found, own, text)) != expected {
        return None;
    }
    let changes: Option<Vec<Change>> = text.lines().map(change_of).collect();
    Some((
        found,
        changes?,
        (start + length).next_multiple_of(SECTOR_BYTES),
    ))
}

fn change_of(line: &str) -> Option<Change> {
    let (kind, rest) = line.split_once(' ')?;
    Some(match kind {
        "d" => Change::Name(unescaped(rest), Name::Directory),
        "r" => Change::Removed(unescaped(rest)),
        "n" => {
            let (file, path) = rest.split_once(' ')?;
            Change::Name(unescaped(path), Name::File(file.parse().ok()?))
        }
        _ => {
            let mut words = rest.split(' ');
            let mut next = || words.next()?.parse::<u64>().ok();
            let (file, size, written) = (next()?, next()?, next()?);
            let extents = words.next()?.split(',').filter(|text| !text.is_empty());
            let extents: Option<Vec<(u64, u64)>> = extents
                .map(|text| {
                    let (base, bytes) = text.split_once('+')?;
                    Some((base.parse().ok()?, bytes.parse().ok()?))
                })
                .collect();
            let record = FileRecord {
                size,
                written,
                extents: extents?,
            };
            Change::File(file, record)
        }
    })
}

fn escaped(path: &Path) -> String {
    path.to_string_lossy()
        .replace('%', "%25")
        .replace('\n', "%0A")
}

fn unescaped(text: &str) -> PathBuf {
    text.replace("%0A", "\n").replace("%25", "%").into()
}

/// FNV-1a.
fn hash(epoch: u64, number: u64, text: &str) -> u64 {
    let numbers = [epoch.to_le_bytes(), number.to_le_bytes()].concat();
    let bytes = numbers.into_iter().chain(text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes() -> Vec<Change> {
        let record = FileRecord {
            size: 10,
            written: 5,
            extents: vec![(4096, 65_536), (0, 1)],
        };
        vec![
            Change::Name("/a".into(), Name::Directory),
            Change::Name("/a/b %0A\nc".into(), Name::File(7)),
            Change::File(7, record),
            Change::File(8, FileRecord::default()),
        ]
    }

    #[test]
    fn a_journal_is_read_up_to_the_first_torn_record() {
        let mut journal = record(3, 0, &changes());
        let first = journal.len();
        journal.extend(record(3, 1, &[Change::Removed("/a/b %0A\nc".into())]));
        let second = journal.len();
        journal.resize(second + 4096, 0);
        let (epoch, number, tables, bytes) = replay(&journal).expect("a journal");
        assert_eq!((epoch, number, bytes), (3, 2, second as u64));
        assert_eq!(tables.names.len(), 1);
        // A byte of the change; what follows it up to the next sector is not read.
        journal[first + 40] ^= 1;
        let (_, number, tables, bytes) = replay(&journal).expect("a journal");
        assert_eq!((number, bytes, tables.names.len()), (1, first as u64, 2));
        let again = record(4, 0, &tables.changes());
        let (_, _, same, _) = replay(&[again, vec![0; 512]].concat()).expect("a journal");
        assert_eq!(same.names, tables.names);
        assert_eq!(same.files[&7], tables.files[&7]);
        assert!(!same.files.contains_key(&8));
        // A record of an older epoch does not follow one of a newer.
        let mut mixed = record(5, 0, &[]);
        mixed.extend(record(4, 1, &changes()));
        assert_eq!(replay(&mixed).map(|found| found.1), Some(1));
        assert_eq!(replay(&[0; 4096]), None);
    }
}
