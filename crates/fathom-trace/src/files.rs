//! Which file a request belongs to, by its place on the device: from the tracepoints of file systems, which say it at the moment of
//! the I/O, and from maps of files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::BuildHasherDefault;

use fathom_model::Histogram;

use crate::event::{BlockEvent, BlockEventKind, DeviceNumber};
use crate::summary::IoDirection;
use crate::tracker::FastHasher;

/// Requests whose file is not known yet, which are tried again: a file may get its place on the device after its map was made.
const MOST_PENDING: usize = 1 << 16;
/// Places of files from tracepoints that are remembered (72 bytes each); beyond that all are forgotten, and learned again.
const MOST_MAPPED: usize = 1 << 17;
/// Files without a name that wait for one.
const MOST_UNKNOWN: usize = 4096;

/// A file of a file system, whatever its name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    /// The file system, by its device.
    pub file_system: DeviceNumber,
    /// Its number there.
    pub inode: u64,
}

impl std::hash::Hash for FileId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.inode ^ u64::from(self.file_system.0) << 40);
    }
}

/// Where a file system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystemPlace {
    /// The whole device.
    pub disk: DeviceNumber,
    /// Its first sector there.
    pub first_sector: u64,
    /// Sectors of one of its blocks.
    pub block_sectors: u64,
}

/// Sectors of a whole device that belong to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapped {
    end: u64,
    id: FileId,
}

/// A part of a device that belongs to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileRange {
    /// The whole device.
    pub device: DeviceNumber,
    /// First sector.
    pub start: u64,
    /// The sector after the last one.
    pub end: u64,
    /// The number of the file.
    pub file: u32,
}

/// The I/O of one file.
#[derive(Clone, Debug, Default)]
pub struct FileSummary {
    /// Requests: reads, writes, discards.
    pub ios: [u64; 3],
    /// Bytes of them.
    pub bytes: [u64; 3],
    /// From queue to completion.
    pub latency: Histogram,
}

/// The I/O of files, as far as their places are known.
#[derive(Clone, Debug, Default)]
pub struct FileIo {
    /// Their names.
    pub names: Vec<String>,
    /// Their I/O, by the number of the file.
    pub files: Vec<FileSummary>,
    /// Requests outside of these files: their number and bytes.
    pub elsewhere: (u64, u64),
    ranges: Vec<FileRange>,
    pending: Vec<FileRequest>,
    file_systems: HashMap<DeviceNumber, FileSystemPlace>,
    /// By device and first sector; ranges do not overlap.
    mapped: BTreeMap<(DeviceNumber, u64), Mapped>,
    numbers: HashMap<FileId, u32, BuildHasherDefault<FastHasher>>,
    /// Files that tracepoints name. Others have a number of another file system, such as overlay, that is on the traced one.
    identified: HashSet<u32>,
    /// Files that were removed and are still in use.
    removed: HashSet<u32>,
    /// Files with requests and without a name, and a thread that used them.
    unknown: HashMap<FileId, u32, BuildHasherDefault<FastHasher>>,
    /// The threads of the last lookups.
    used_by: HashMap<FileId, u32, BuildHasherDefault<FastHasher>>,
}

/// A request with data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileRequest {
    pub device: DeviceNumber,
    pub sector: u64,
    pub bytes: u64,
    pub direction: IoDirection,
    pub time: Option<u64>,
    /// The file, where a tracepoint said so.
    pub id: Option<FileId>,
}

impl FileIo {
    /// The places of files as they are now. Files keep their numbers; new ones are added at the end. `ids` has the files that
    /// tracepoints may name, with their numbers.
    pub fn set(
        &mut self,
        names: Vec<String>,
        mut ranges: Vec<FileRange>,
        ids: impl IntoIterator<Item = (FileId, u32)>,
    ) {
        ranges.sort_unstable();
        self.files.resize_with(names.len(), FileSummary::default);
        (self.names, self.ranges) = (names, ranges);
        for (id, file) in ids {
            self.numbers.insert(id, file);
            if self.file_systems.contains_key(&id.file_system) {
                self.identified.insert(file);
            }
        }
        for request in std::mem::take(&mut self.pending) {
            self.add(request);
        }
    }

    /// The file systems whose tracepoints are recorded.
    pub fn set_file_systems(&mut self, places: HashMap<DeviceNumber, FileSystemPlace>) {
        self.file_systems = places;
    }

    /// Files with requests that have no name yet, each with a thread that used it. They are given once.
    pub fn take_unknown(&mut self) -> Vec<(FileId, u32)> {
        self.unknown.drain().collect()
    }

    /// The name of a file that had none; `file` is its number, the next one for a new name.
    pub fn name(&mut self, id: FileId, file: u32, name: &str) {
        if file as usize == self.names.len() {
            self.names.push(name.to_owned());
            self.files.push(FileSummary::default());
        }
        self.numbers.insert(id, file);
        self.identified.insert(file);
    }

    /// The name of a file that was removed and that a program still has open. Its number may soon be that of another file: at its next
    /// lookup it has no name again.
    pub fn name_removed(&mut self, id: FileId, file: u32, name: &str) {
        self.name(id, file, name);
        self.removed.insert(file);
    }

    /// A file system looked up a place.
    pub(crate) fn map(&mut self, event: &BlockEvent) {
        let BlockEventKind::FileMap {
            file_system,
            inode,
            in_blocks,
        } = event.kind
        else {
            return;
        };
        let Some(place) = self.file_systems.get(&event.device) else {
            return;
        };
        let unit = if in_blocks { place.block_sectors } else { 1 };
        let start = place.first_sector + event.sector.saturating_mul(unit);
        let end = start.saturating_add(u64::from(event.sectors) * unit);
        let id = FileId { file_system, inode };
        if self.mapped.len().max(self.used_by.len()) >= MOST_MAPPED {
            self.mapped.clear();
            self.used_by.clear();
        }
        let is_new = insert(&mut self.mapped, place.disk, (start, end), id);
        if is_new {
            if self
                .numbers
                .get(&id)
                .is_some_and(|file| self.removed.contains(file))
            {
                self.numbers.remove(&id);
            }
            if !self.numbers.contains_key(&id) {
                self.used_by.insert(id, event.thread);
            }
        }
    }

    pub(crate) fn add(&mut self, mut request: FileRequest) {
        if request.id.is_none() {
            request.id = self.mapped_at(request.device, request.sector);
        }
        let named = request.id.and_then(|id| self.numbers.get(&id).copied());
        // What a tracepoint said is newer than the map of a file.
        let file = match (named, request.id) {
            (Some(file), _) => Some(file),
            (None, Some(id)) => {
                if let Some(thread) = self.used_by.get(&id)
                    && self.unknown.len() < MOST_UNKNOWN
                {
                    self.unknown.insert(id, *thread);
                }
                self.file_of(request.device, request.sector)
                    .filter(|file| !self.identified.contains(file))
            }
            (None, None) => self.file_of(request.device, request.sector),
        };
        match file {
            Some(file) => {
                let Some(file) = self.files.get_mut(file as usize) else {
                    return;
                };
                file.ios[request.direction as usize] += 1;
                file.bytes[request.direction as usize] += request.bytes;
                if let Some(time) = request.time {
                    file.latency.record(time);
                }
            }
            None if self.pending.len() < MOST_PENDING => self.pending.push(request),
            None => self.outside(&request),
        }
    }

    /// No more places will be known.
    pub(crate) fn finish(&mut self) {
        for request in std::mem::take(&mut self.pending) {
            self.outside(&request);
        }
    }

    fn outside(&mut self, request: &FileRequest) {
        self.elsewhere.0 += 1;
        self.elsewhere.1 += request.bytes;
    }

    fn mapped_at(&self, device: DeviceNumber, sector: u64) -> Option<FileId> {
        let before = self.mapped.range(..=(device, sector)).next_back()?;
        let ((at, _), mapped) = before;
        (*at == device && sector < mapped.end).then_some(mapped.id)
    }

    fn file_of(&self, device: DeviceNumber, sector: u64) -> Option<u32> {
        let after = self
            .ranges
            .partition_point(|range| (range.device, range.start) <= (device, sector));
        let range = self.ranges.get(after.checked_sub(1)?)?;
        (range.device == device && sector < range.end).then_some(range.file)
    }
}

/// The sectors belong to this file from now on. Returns whether that is new.
fn insert(
    mapped: &mut BTreeMap<(DeviceNumber, u64), Mapped>,
    device: DeviceNumber,
    (start, end): (u64, u64),
    id: FileId,
) -> bool {
    if let Some(((at, first), before)) = mapped.range_mut(..=(device, start)).next_back()
        && *at == device
        && before.end > start
    {
        if before.id == id && before.end >= end {
            return false;
        }
        let old = *before;
        if *first < start {
            before.end = start;
        }
        if old.end > end {
            mapped.insert((device, end), old);
        }
    }
    let inside: Vec<(DeviceNumber, u64)> = mapped
        .range((device, start)..(device, end))
        .map(|(place, _)| *place)
        .collect();
    for place in inside {
        if let Some(old) = mapped.remove(&place)
            && old.end > end
        {
            mapped.insert((device, end), old);
        }
    }
    mapped.insert((device, start), Mapped { end, id });
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::IoFlags;

    fn id(inode: u64) -> FileId {
        FileId {
            file_system: DeviceNumber::new(8, 1),
            inode,
        }
    }

    /// Each sector belongs to the file that was last said to have it, as in a table of all sectors.
    #[test]
    fn the_last_lookup_of_a_sector_counts() {
        let device = DeviceNumber::new(8, 0);
        let mut mapped = BTreeMap::new();
        let mut table = vec![None; 300];
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..5_000 {
            let start = random(250);
            let end = start + 1 + random(50);
            let file = id(random(5));
            insert(&mut mapped, device, (start, end), file);
            table[start as usize..end as usize].fill(Some(file));
            let io = FileIo {
                mapped: std::mem::take(&mut mapped),
                ..FileIo::default()
            };
            for (sector, expected) in table.iter().enumerate() {
                assert_eq!(io.mapped_at(device, sector as u64), *expected, "{sector}");
            }
            assert_eq!(io.mapped_at(DeviceNumber::new(8, 16), 5), None);
            mapped = io.mapped;
        }
    }

    /// Blocks of 4 KiB on a partition that begins at sector 2048.
    #[test]
    fn a_lookup_of_the_file_system_names_the_requests_that_follow() {
        let (disk, partition) = (DeviceNumber::new(8, 0), DeviceNumber::new(8, 1));
        let mut io = FileIo::default();
        io.set_file_systems(HashMap::from([(
            partition,
            FileSystemPlace {
                disk,
                first_sector: 2048,
                block_sectors: 8,
            },
        )]));
        let lookup = |inode: u64, block: u64, blocks: u32| BlockEvent {
            time_ns: 0,
            cpu: 0,
            thread: 33,
            device: partition,
            sector: block,
            sectors: blocks,
            flags: IoFlags::default(),
            kind: BlockEventKind::FileMap {
                file_system: partition,
                inode,
                in_blocks: true,
            },
        };
        let write = |sector: u64| FileRequest {
            device: disk,
            sector,
            bytes: 4096,
            direction: IoDirection::Write,
            time: None,
            id: None,
        };
        // By its map, the first file has these blocks, but it was removed, and a new one has them now.
        let old = FileRange {
            device: disk,
            start: 2048,
            end: 2128,
            file: 0,
        };
        let names = || vec!["old".to_owned(), "in overlay".to_owned()];
        let overlay = FileRange {
            start: 8000,
            end: 8080,
            file: 1,
            ..old
        };
        let number = FileId {
            file_system: DeviceNumber::new(0, 44),
            inode: 3,
        };
        io.set(names(), vec![old, overlay], [(id(11), 0), (number, 1)]);
        io.map(&lookup(40, (8000 - 2048) / 8, 10));
        io.add(write(8000));
        assert_eq!(io.files[1].ios[1], 1, "by its map");
        io.take_unknown();
        io.map(&lookup(12, 0, 10));
        io.add(write(2048));
        io.add(write(2120));
        assert_eq!(io.files[0].ios[1], 0);
        assert_eq!(io.take_unknown(), [(id(12), 33)]);
        assert!(io.take_unknown().is_empty(), "once");
        io.name(id(12), 2, "new");
        let all_names = [names(), vec!["new".to_owned()]].concat();
        io.set(all_names.clone(), vec![], [(id(12), 2)]);
        assert_eq!(
            io.files[2].ios[1], 2,
            "also those before the name was known"
        );
        // A removed file in use, and then another file with its number.
        io.map(&lookup(14, 20, 1));
        io.name_removed(id(14), 3, "gone (deleted)");
        io.add(write(2048 + 160));
        io.map(&lookup(14, 30, 1));
        io.add(write(2048 + 240));
        assert_eq!(io.take_unknown(), [(id(14), 33)]);
        let all = [
            all_names,
            vec!["gone (deleted)".to_owned(), "next".to_owned()],
        ]
        .concat();
        io.set(all, vec![], [(id(14), 4)]);
        assert_eq!([io.files[3].ios[1], io.files[4].ios[1]], [1, 1]);
        // A file whose name never comes.
        io.map(&lookup(13, 0, 1));
        io.add(write(2048));
        io.finish();
        assert_eq!((io.files[2].ios[1], io.elsewhere), (2, (1, 4096)));
    }

    #[test]
    fn requests_belong_to_the_file_at_their_place_also_when_it_is_known_later() {
        let device = DeviceNumber::new(8, 0);
        let range = |start, end, file| FileRange {
            device,
            start,
            end,
            file,
        };
        let read = |device, sector| FileRequest {
            device,
            sector,
            bytes: 4096,
            direction: IoDirection::Read,
            time: Some(1_000),
            id: None,
        };
        let mut io = FileIo::default();
        let names = || vec!["a".to_owned(), "b".to_owned()];
        io.set(names(), vec![range(100, 200, 1), range(0, 50, 0)], []);
        for sector in [0, 49, 50, 99, 100, 199, 200] {
            io.add(read(device, sector));
        }
        io.add(read(DeviceNumber::new(8, 16), 10));
        assert_eq!([io.files[0].ios[0], io.files[1].ios[0]], [2, 2]);
        // The file grew.
        io.set(names(), vec![range(0, 60, 0), range(100, 200, 1)], []);
        io.finish();
        assert_eq!([io.files[0].ios[0], io.files[1].ios[0]], [3, 2]);
        assert_eq!(io.files[0].bytes[0], 3 * 4096);
        assert_eq!(io.elsewhere, (3, 3 * 4096));
    }
}
