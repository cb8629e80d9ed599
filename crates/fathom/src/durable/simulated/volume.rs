//! A small file system with a page cache and a journal, on one simulated disk.
//!
//! A buffered write is in the page cache until it is synced. A sync writes the data of the file, then a record of the journal if names,
//! sizes or places have changed, then flushes. Sizes are in the journal only when the data are on the disk. A power cut loses the page
//! cache; the next mount reads the journal up to the first record that is not there.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fathom_hosts::{Bell, Clock};
use rustix::io::Errno;

use super::disk::{DiskRequest, WaitingDisk};
use super::journal::{Change, FileRecord, Name, Tables, record, replay};
use crate::durable::world::lock;

/// Share of the disk that the journal has, and the most of it, in bytes. It has two halves, used in turn.
const JOURNAL_SHARE: u64 = 8;
const MAX_JOURNAL: u64 = 64 << 20;
/// Files get space in multiples of this, bytes.
const ALLOCATION: u64 = 64 << 10;
/// The largest request, bytes.
const MAX_REQUEST: u64 = 1 << 20;

/// The file system while it is mounted.
pub struct Volume {
    disk: Arc<WaitingDisk>,
    /// Power cuts that the disk had had when the volume was mounted.
    cuts: u64,
    capacity: u64,
    state: Mutex<State>,
    /// A record of the journal was written.
    committed: Arc<Bell>,
}

struct State {
    names: BTreeMap<PathBuf, Name>,
    files: BTreeMap<u64, FileState>,
    next_file: u64,
    free: Vec<Range<u64>>,
    /// Places of removed files, which are free when the change with this number is durable.
    released: Vec<(u64, Vec<(u64, u64)>)>,
    /// Changes that no record has yet.
    changes: Vec<Change>,
    changed_files: BTreeSet<u64>,
    /// Number of the last change.
    last_change: u64,
    /// The last change in a completed record.
    written: u64,
    is_committing: bool,
    journal: Journal,
    locked: BTreeSet<u64>,
}

/// Where the next record goes.
#[derive(Clone, Copy)]
struct Journal {
    epoch: u64,
    number: u64,
    /// Bytes of the present half that are used.
    used: u64,
    half: u64,
}

#[derive(Clone, Default)]
struct FileState {
    /// As programs see it.
    size: u64,
    /// As the journal will have it: without what is not on the disk.
    stable: FileRecord,
    /// Written and not on the disk, by offset; adjacent pieces are one.
    dirty: BTreeMap<u64, Vec<u8>>,
    last_change: u64,
}

fn error(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.raw_os_error())
}

fn half_of(capacity: u64) -> u64 {
    let journal = (capacity / JOURNAL_SHARE).min(MAX_JOURNAL);
    journal / 2 / ALLOCATION * ALLOCATION
}

impl Volume {
    /// Makes a file system on a disk that is mounted at `mount`, with files of others of these sizes.
    pub fn format(disk: &WaitingDisk, capacity: u64, mount: &Path, files: &[(PathBuf, u64)]) {
        let mut at = half_of(capacity) * 2;
        let mut changes = Vec::new();
        for (number, (path, size)) in (1..).zip(files) {
            let above = path.ancestors().skip(1);
            let above = above.take_while(|one| *one != mount && one.starts_with(mount));
            changes.extend(above.map(|one| Change::Name(one.to_owned(), Name::Directory)));
            let bytes = size.next_multiple_of(ALLOCATION);
            let file = FileRecord {
                size: *size,
                written: 0,
                extents: vec![(at, bytes)],
            };
            changes.push(Change::Name(path.clone(), Name::File(number)));
            changes.push(Change::File(number, file));
            at += bytes;
        }
        disk.store(0, &record(1, 0, &changes));
    }

    /// Reads the journal. Without one the file system is empty, as one that cannot be mounted.
    pub fn mount(disk: &Arc<WaitingDisk>, capacity: u64) -> Volume {
        let half = half_of(capacity);
        let halves = [0, half].map(|start| {
            (
                start / half.max(1),
                replay(&disk.stored(&(start..start + half))),
            )
        });
        let newest = halves
            .into_iter()
            .filter_map(|(half, found)| found.map(|found| (half, found)))
            .max_by_key(|(_, found)| found.0);
        let (number, (epoch, records, tables, used)) =
            newest.unwrap_or((0, (1, 0, Tables::default(), 0)));
        let journal = Journal {
            epoch,
            number: records,
            used,
            half: number,
        };
        let state = State::of(tables, journal, half * 2..capacity);
        Volume {
            disk: Arc::clone(disk),
            cuts: disk.cuts(),
            capacity,
            state: Mutex::new(state),
            committed: Arc::default(),
        }
    }

    pub fn entry(&self, path: &Path) -> io::Result<Name> {
        let state = lock(&self.state);
        let found = state.names.get(path).copied();
        found.ok_or_else(|| error(Errno::NOENT))
    }

    pub fn list(&self, directory: &Path) -> Vec<(String, Name)> {
        let state = lock(&self.state);
        let below = state.names.iter();
        let below = below.filter(|(path, _)| path.parent() == Some(directory));
        let below = below.filter_map(|(path, name)| {
            let own = path.file_name()?.to_string_lossy().into_owned();
            Some((own, *name))
        });
        below.collect()
    }

    pub fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.names.contains_key(path) {
            return Err(error(Errno::EXIST));
        }
        state.set_name(path, Name::Directory);
        Ok(())
    }

    /// The number of a new file.
    pub fn create_file(&self, path: &Path) -> io::Result<u64> {
        let mut state = lock(&self.state);
        if state.names.contains_key(path) {
            return Err(error(Errno::EXIST));
        }
        let number = state.next_file;
        state.next_file += 1;
        state.files.insert(number, FileState::default());
        state.set_name(path, Name::File(number));
        state.file_changed(number);
        Ok(number)
    }

    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        let name = state
            .names
            .remove(from)
            .ok_or_else(|| error(Errno::NOENT))?;
        state.change(Change::Removed(from.to_owned()));
        if let Some(Name::File(old)) = state.names.get(to).copied() {
            state.release(old);
        }
        state.set_name(to, name);
        Ok(())
    }

    pub fn remove(&self, path: &Path, is_directory: bool) -> io::Result<()> {
        let mut state = lock(&self.state);
        let name = state.names.get(path).copied();
        match (name.ok_or_else(|| error(Errno::NOENT))?, is_directory) {
            (Name::Directory, false) => return Err(error(Errno::ISDIR)),
            (Name::File(_), true) => return Err(error(Errno::NOTDIR)),
            (Name::Directory, true) => {
                let mut all = state.names.keys();
                if all.any(|other| other.parent() == Some(path)) {
                    return Err(error(Errno::NOTEMPTY));
                }
            }
            (Name::File(number), false) => state.release(number),
        }
        state.names.remove(path);
        state.change(Change::Removed(path.to_owned()));
        Ok(())
    }

    /// Locks a file. Whether nobody else had.
    pub fn lock_file(&self, file: u64) -> bool {
        lock(&self.state).locked.insert(file)
    }

    pub fn unlock_file(&self, file: u64) {
        lock(&self.state).locked.remove(&file);
    }

    pub fn size(&self, file: u64) -> u64 {
        let state = lock(&self.state);
        state.files.get(&file).map_or(0, |file| file.size)
    }

    /// A write to the page cache.
    pub fn write(&self, file: u64, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        let end = offset + bytes.len() as u64;
        state.reserve(file, end)?;
        let own = state.file(file)?;
        own.size = own.size.max(end);
        own.add_dirty(offset, bytes);
        Ok(())
    }

    /// fallocate(2).
    pub fn allocate(&self, file: u64, bytes: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.reserve(file, bytes)?;
        let own = state.file(file)?;
        own.size = own.size.max(bytes);
        own.stable.size = own.stable.size.max(bytes);
        state.file_changed(file);
        Ok(())
    }

    /// ftruncate(2).
    pub fn set_size(&self, file: u64, bytes: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.reserve(file, bytes)?;
        let own = state.file(file)?;
        own.size = bytes;
        own.stable.size = bytes;
        own.stable.written = own.stable.written.min(bytes);
        own.dirty.retain(|offset, piece| {
            piece.truncate(bytes.saturating_sub(*offset) as usize);
            !piece.is_empty()
        });
        state.file_changed(file);
        Ok(())
    }

    /// A read of what is on the disk and in the page cache.
    pub fn read(
        &self,
        clock: &dyn Clock,
        file: u64,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        let own = lock(&self.state).file(file)?.clone();
        let length = own.size.saturating_sub(offset).min(buffer.len() as u64);
        let buffer = &mut buffer[..length as usize];
        buffer.fill(0);
        let on_disk = own.stable.written.saturating_sub(offset).min(length);
        let pieces = own.pieces(offset..offset + on_disk);
        let reads = pieces.iter().map(|(_, place)| DiskRequest::read(place));
        let found = self.disk.carry_out(clock, self.cuts, reads.collect())?;
        for ((at, _), bytes) in pieces.iter().zip(found) {
            let start = (at - offset) as usize;
            buffer[start..start + bytes.len()].copy_from_slice(&bytes);
        }
        for (start, piece) in &own.dirty {
            let (from, to) = (
                offset.max(*start),
                (offset + length).min(start + piece.len() as u64),
            );
            if from < to {
                buffer[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&piece[(from - start) as usize..(to - start) as usize]);
            }
        }
        Ok(length as usize)
    }

    /// A direct write with RWF_DSYNC: forced unit access, for the journal too if it has to say something.
    pub fn write_forced(
        &self,
        clock: &dyn Clock,
        file: u64,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<()> {
        self.write(file, bytes, offset)?;
        self.write_back(clock, file, true)?;
        let wanted = lock(&self.state).file(file)?.last_change;
        self.commit(clock, wanted, true)
    }

    /// fsync(2) and fdatasync(2) of a file.
    pub fn sync(&self, clock: &dyn Clock, file: u64) -> io::Result<()> {
        self.write_back(clock, file, false)?;
        let wanted = lock(&self.state).file(file)?.last_change;
        self.commit(clock, wanted, false)?;
        self.flush(clock)
    }

    /// fsync(2) of a directory: all changes of names.
    pub fn sync_names(&self, clock: &dyn Clock) -> io::Result<()> {
        let wanted = lock(&self.state).last_change;
        self.commit(clock, wanted, false)?;
        self.flush(clock)
    }

    /// Writes the data of a file to the disk.
    fn write_back(&self, clock: &dyn Clock, file: u64, fua: bool) -> io::Result<()> {
        let (requests, end) = {
            let mut state = lock(&self.state);
            let own = state.file(file)?;
            let dirty = std::mem::take(&mut own.dirty);
            let mut requests = Vec::new();
            let mut end = 0;
            for (offset, bytes) in &dirty {
                end = end.max(offset + bytes.len() as u64);
                for (at, place) in own.pieces(*offset..offset + bytes.len() as u64) {
                    let start = (at - offset) as usize;
                    let length = (place.end - place.start) as usize;
                    let piece = bytes[start..start + length].to_vec();
                    requests.push(DiskRequest::write(place.start, piece, fua));
                }
            }
            (requests, end)
        };
        if requests.is_empty() {
            return Ok(());
        }
        self.disk.carry_out(clock, self.cuts, requests)?;
        let mut state = lock(&self.state);
        let stable = &mut state.file(file)?.stable;
        if end > stable.written {
            stable.written = end;
            stable.size = stable.size.max(end);
            state.file_changed(file);
        }
        Ok(())
    }

    /// Writes records until one has this change.
    fn commit(&self, clock: &dyn Clock, wanted: u64, fua: bool) -> io::Result<()> {
        loop {
            let heard = self.committed.count();
            let mut state = lock(&self.state);
            if state.written >= wanted {
                return Ok(());
            }
            if state.is_committing {
                drop(state);
                clock.wait(&self.committed, heard, Duration::MAX);
                continue;
            }
            let last = state.last_change;
            let (place, bytes) = state.next_record(half_of(self.capacity))?;
            state.is_committing = true;
            drop(state);
            let request = DiskRequest::write(place, bytes, fua);
            let done = self.disk.carry_out(clock, self.cuts, vec![request]);
            let mut state = lock(&self.state);
            state.is_committing = false;
            if done.is_ok() {
                state.written = last;
            }
            drop(state);
            self.committed.ring();
            done?;
        }
    }

    /// Flushes the disk. What was removed before is free then.
    fn flush(&self, clock: &dyn Clock) -> io::Result<()> {
        let covered = lock(&self.state).written;
        self.disk
            .carry_out(clock, self.cuts, vec![DiskRequest::flush()])?;
        let mut state = lock(&self.state);
        let released = std::mem::take(&mut state.released);
        let (free, later) = released
            .into_iter()
            .partition(|(change, _)| *change <= covered);
        state.released = later;
        let free: Vec<(u64, Vec<(u64, u64)>)> = free;
        for (base, bytes) in free.into_iter().flat_map(|(_, extents)| extents) {
            self.disk.release(&(base..base + bytes));
            state.free.push(base..base + bytes);
        }
        Ok(())
    }
}

impl State {
    fn of(tables: Tables, journal: Journal, data: Range<u64>) -> State {
        let files = tables.files.into_iter().map(|(number, stable)| {
            let file = FileState {
                size: stable.size,
                stable,
                ..FileState::default()
            };
            (number, file)
        });
        let files: BTreeMap<u64, FileState> = files.collect();
        let is_named = |number: &u64| tables.names.values().any(|one| *one == Name::File(*number));
        let files: BTreeMap<u64, FileState> = files
            .into_iter()
            .filter(|(number, _)| is_named(number))
            .collect();
        let extents = files.values().flat_map(|file| &file.stable.extents);
        let mut used: Vec<(u64, u64)> = extents.copied().collect();
        used.sort_unstable();
        let (mut free, mut at) = (Vec::new(), data.start);
        for (base, bytes) in used {
            if base > at {
                free.push(at..base);
            }
            at = at.max(base + bytes);
        }
        free.push(at..data.end.max(at));
        State {
            next_file: files.keys().next_back().map_or(1, |last| last + 1),
            names: tables.names,
            files,
            free,
            released: Vec::new(),
            changes: Vec::new(),
            changed_files: BTreeSet::new(),
            last_change: 0,
            written: 0,
            is_committing: false,
            journal,
            locked: BTreeSet::new(),
        }
    }

    fn file(&mut self, file: u64) -> io::Result<&mut FileState> {
        let found = self.files.get_mut(&file);
        found.ok_or_else(|| error(Errno::STALE))
    }

    fn change(&mut self, change: Change) {
        self.last_change += 1;
        self.changes.push(change);
    }

    fn set_name(&mut self, path: &Path, name: Name) {
        self.names.insert(path.to_owned(), name);
        self.change(Change::Name(path.to_owned(), name));
        if let Name::File(number) = name
            && let Some(file) = self.files.get_mut(&number)
        {
            file.last_change = self.last_change;
        }
    }

    /// The next record says what the file is then.
    fn file_changed(&mut self, file: u64) {
        self.last_change += 1;
        self.changed_files.insert(file);
        if let Some(own) = self.files.get_mut(&file) {
            own.last_change = self.last_change;
        }
    }

    /// The file has no name any more.
    fn release(&mut self, file: u64) {
        if let Some(own) = self.files.remove(&file) {
            let change = self.last_change + 1;
            self.released.push((change, own.stable.extents));
        }
        self.changed_files.remove(&file);
    }

    /// Space for the first `bytes` of a file.
    fn reserve(&mut self, file: u64, bytes: u64) -> io::Result<()> {
        let extents = &self.file(file)?.stable.extents;
        let has: u64 = extents.iter().map(|(_, bytes)| bytes).sum();
        let mut lacks = bytes.saturating_sub(has).next_multiple_of(ALLOCATION);
        if lacks == 0 {
            return Ok(());
        }
        let total: u64 = self.free.iter().map(|one| one.end - one.start).sum();
        if total < lacks {
            return Err(error(Errno::NOSPC));
        }
        let mut places = Vec::new();
        self.free.retain_mut(|one| {
            let taken = (one.end - one.start).min(lacks);
            if taken > 0 {
                places.push((one.start, taken));
            }
            one.start += taken;
            lacks -= taken;
            one.start < one.end
        });
        let extents = &mut self.file(file)?.stable.extents;
        for (base, bytes) in places {
            match extents.last_mut() {
                Some((last, length)) if *last + *length == base => *length += bytes,
                _ => extents.push((base, bytes)),
            }
        }
        self.file_changed(file);
        Ok(())
    }

    /// The next record and its place; the other half of the journal begins with all that there is.
    fn next_record(&mut self, half: u64) -> io::Result<(u64, Vec<u8>)> {
        let mut changes = std::mem::take(&mut self.changes);
        for number in std::mem::take(&mut self.changed_files) {
            if let Some(file) = self.files.get(&number) {
                changes.push(Change::File(number, file.stable.clone()));
            }
        }
        let Journal { epoch, number, .. } = self.journal;
        let mut bytes = record(epoch, number, &changes);
        if self.journal.used + bytes.len() as u64 > half {
            self.journal = Journal {
                epoch: epoch + 1,
                number: 0,
                used: 0,
                half: 1 - self.journal.half,
            };
            let files = self.files.iter();
            let tables = Tables {
                names: self.names.clone(),
                files: files
                    .map(|(number, file)| (*number, file.stable.clone()))
                    .collect(),
            };
            bytes = record(epoch + 1, 0, &tables.changes());
        }
        let journal = &mut self.journal;
        let place = journal.half * half + journal.used;
        journal.used += bytes.len() as u64;
        journal.number += 1;
        if journal.used > half {
            return Err(error(Errno::NOSPC));
        }
        Ok((place, bytes))
    }
}

impl FileState {
    /// The places of a range on the disk: where each begins in the file, and where it is.
    fn pieces(&self, range: Range<u64>) -> Vec<(u64, Range<u64>)> {
        let mut pieces = Vec::new();
        let mut start = 0;
        for (base, bytes) in &self.stable.extents {
            let (from, to) = (range.start.max(start), range.end.min(start + bytes));
            let mut at = from;
            while at < to {
                let end = to.min(at + MAX_REQUEST);
                pieces.push((at, base + (at - start)..base + (end - start)));
                at = end;
            }
            start += bytes;
        }
        pieces
    }

    /// Adds a piece, which replaces what it overlaps.
    fn add_dirty(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        // Mostly a piece follows the last one.
        if let Some((start, last)) = self.dirty.iter_mut().next_back()
            && start + last.len() as u64 == offset
        {
            last.extend_from_slice(bytes);
            return;
        }
        let touching = self.dirty.range(..=end);
        let touching = touching.filter(|(start, piece)| **start + piece.len() as u64 >= offset);
        let keys: Vec<u64> = touching.map(|(start, _)| *start).collect();
        let first = keys.first().map_or(offset, |first| offset.min(*first));
        let mut whole = Vec::new();
        let mut put = |at: u64, piece: &[u8]| {
            let at = (at - first) as usize;
            if whole.len() < at + piece.len() {
                whole.resize(at + piece.len(), 0);
            }
            whole[at..at + piece.len()].copy_from_slice(piece);
        };
        for key in keys {
            if let Some(piece) = self.dirty.remove(&key) {
                put(key, &piece);
            }
        }
        put(offset, bytes);
        self.dirty.insert(first, whole);
    }
}
