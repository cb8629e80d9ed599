//! Bytes of an event to a [`BlockEvent`], by the names that the kernel gives the fields.

use std::collections::HashMap;

use crate::event::{BlockEvent, BlockEventKind, DeviceNumber, IoFlags, SECTOR};
use crate::format::{EventFormat, Field};
use crate::page::number;

/// Which tracepoint an event is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tracepoint {
    /// `block_bio_queue`.
    BioQueue,
    /// `block_bio_remap`.
    Remap,
    /// `block_split`.
    Split,
    /// `block_bio_backmerge`.
    BackMerge,
    /// `block_bio_frontmerge`.
    FrontMerge,
    /// `block_rq_merge`.
    RequestMerge,
    /// `block_getrq`.
    GetRequest,
    /// `block_rq_insert`.
    Insert,
    /// `block_rq_issue`.
    Issue,
    /// `block_rq_complete`.
    Complete,
    /// `block_rq_requeue`.
    Requeue,
    /// `block_bio_complete`.
    BioComplete,
    /// `block_plug`.
    Plug,
    /// `block_unplug`.
    Unplug,
}

impl Tracepoint {
    /// All of them.
    pub const ALL: [Tracepoint; 14] = [
        Self::BioQueue,
        Self::Remap,
        Self::Split,
        Self::BackMerge,
        Self::FrontMerge,
        Self::RequestMerge,
        Self::GetRequest,
        Self::Insert,
        Self::Issue,
        Self::Complete,
        Self::Requeue,
        Self::BioComplete,
        Self::Plug,
        Self::Unplug,
    ];

    /// Its name in `events/block`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BioQueue => "block_bio_queue",
            Self::Remap => "block_bio_remap",
            Self::Split => "block_split",
            Self::BackMerge => "block_bio_backmerge",
            Self::FrontMerge => "block_bio_frontmerge",
            Self::RequestMerge => "block_rq_merge",
            Self::GetRequest => "block_getrq",
            Self::Insert => "block_rq_insert",
            Self::Issue => "block_rq_issue",
            Self::Complete => "block_rq_complete",
            Self::Requeue => "block_rq_requeue",
            Self::BioComplete => "block_bio_complete",
            Self::Plug => "block_plug",
            Self::Unplug => "block_unplug",
        }
    }
}

/// File systems whose tracepoints say which file is where on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileMapSource {
    /// ext2, ext3 and ext4: the cache of extents, which every I/O asks.
    Ext4,
    /// XFS: the kernel's library for extents.
    Iomap,
}

impl FileMapSource {
    /// All of them.
    pub const ALL: [FileMapSource; 2] = [Self::Ext4, Self::Iomap];

    /// The source for a type of file system, as `/proc/self/mountinfo` names it. `None` where the kernel has none, or (btrfs)
    /// its addresses are not those of the device.
    #[must_use]
    pub fn of(fs_type: &str) -> Option<Self> {
        match fs_type {
            "ext2" | "ext3" | "ext4" => Some(Self::Ext4),
            "xfs" => Some(Self::Iomap),
            _ => None,
        }
    }

    /// The directory of its tracepoints below `events`, and their names; kernels lack some of them.
    #[must_use]
    pub fn tracepoints(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Ext4 => (
                "ext4",
                &[
                    "ext4_es_lookup_extent_exit",
                    "ext4_es_insert_extent",
                    "ext4_es_cache_extent",
                ],
            ),
            // Reads and direct I/O ask by the first one; writeback by the others, of kernels from 6.17 on and before.
            Self::Iomap => (
                "iomap",
                &[
                    "iomap_iter_dstmap",
                    "iomap_add_to_ioend",
                    "iomap_writepage_map",
                ],
            ),
        }
    }
}

/// Name of a thread at most 16 bytes long, as the kernel has it.
pub type ThreadName = [u8; 16];

/// The name without the zeros at its end.
pub(crate) fn thread_name(name: &ThreadName) -> String {
    let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// The names of the threads that submitted I/O, by thread number.
#[derive(Clone, Debug, Default)]
pub struct ThreadNames {
    names: HashMap<u32, ThreadName>,
    last: (u32, ThreadName),
    /// New or changed since they were last taken.
    changed: Vec<(u32, ThreadName)>,
}

/// Threads that are remembered; a machine that starts more while a trace runs has the others without name.
const LARGEST_NUMBER_OF_THREADS: usize = 1 << 16;

impl ThreadNames {
    /// The name of this thread, if it submitted I/O.
    #[must_use]
    pub fn name(&self, thread: u32) -> Option<String> {
        self.names.get(&thread).map(thread_name)
    }

    /// All threads.
    pub fn threads(&self) -> impl Iterator<Item = u32> {
        self.names.keys().copied()
    }

    /// How many threads there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Threads whose names are new or changed since the last call.
    pub(crate) fn take_changed(&mut self) -> Vec<(u32, ThreadName)> {
        std::mem::take(&mut self.changed)
    }

    #[inline]
    fn note(&mut self, thread: u32, name: ThreadName) {
        if self.last != (thread, name) {
            self.last = (thread, name);
            if (self.names.len() < LARGEST_NUMBER_OF_THREADS || self.names.contains_key(&thread))
                && self.names.insert(thread, name) != Some(name)
            {
                self.changed.push((thread, name));
            }
        }
    }
}

/// Position and size of a number in an event.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: usize,
    size: usize,
}

impl Place {
    #[inline]
    fn read(self, event: &[u8]) -> u64 {
        number(event, self.offset, self.size).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug)]
struct Layout {
    tracepoint: Tracepoint,
    thread: Option<Place>,
    device: Option<Place>,
    sector: Option<Place>,
    sectors: Option<Place>,
    flags: Option<Place>,
    name: Option<Place>,
    /// `error`, `new_sector`, `old_dev` or `nr_rq`.
    first: Option<Place>,
    /// `old_sector`.
    second: Option<Place>,
}

/// Where an event of a file system has what [`BlockEventKind::FileMap`] needs.
#[derive(Clone, Copy, Debug)]
struct FileMapLayout {
    source: FileMapSource,
    thread: Option<Place>,
    file_system: Place,
    /// The device below; the file system's own where the event does not say.
    device: Place,
    inode: Place,
    start: Place,
    length: Place,
    /// What kind of extent it is.
    kind: Place,
    /// Whether there is one.
    found: Option<Place>,
}

impl FileMapLayout {
    fn of(source: FileMapSource, format: &EventFormat) -> Option<Self> {
        let place = |name: &str| format.field(name).map(place_of);
        let (start, length, kind) = match source {
            FileMapSource::Ext4 => ("pblk", "len", "status"),
            FileMapSource::Iomap => ("addr", "length", "type"),
        };
        let file_system = place("dev")?;
        Some(Self {
            source,
            thread: place("common_pid"),
            file_system,
            device: place("bdev").unwrap_or(file_system),
            inode: place("ino")?,
            start: place(start)?,
            length: place(length)?,
            kind: place(kind)?,
            found: place("found"),
        })
    }

    /// `None` for a part of a file without a place: a hole, or data that is not written yet.
    fn read(&self, time_ns: u64, cpu: u16, event: &[u8]) -> Option<BlockEvent> {
        /// Bits of `status`: written, and allocated but not written.
        const WRITTEN: u64 = 1;
        const UNWRITTEN: u64 = 2;
        /// `IOMAP_MAPPED` and `IOMAP_UNWRITTEN`.
        const MAPPED: [u64; 2] = [2, 3];
        let kind = self.kind.read(event);
        let (start, length) = (self.start.read(event), self.length.read(event));
        let (is_placed, sector, sectors) = match self.source {
            FileMapSource::Ext4 => (kind & (WRITTEN | UNWRITTEN) != 0, start, length),
            FileMapSource::Iomap => (
                MAPPED.contains(&kind) && start != u64::MAX,
                start / SECTOR,
                length / SECTOR,
            ),
        };
        if !is_placed || sectors == 0 || self.found.is_some_and(|found| found.read(event) == 0) {
            return None;
        }
        Some(BlockEvent {
            time_ns,
            cpu,
            thread: self.thread.map_or(0, |place| place.read(event)) as u32,
            device: DeviceNumber(self.device.read(event) as u32),
            sector,
            sectors: u32::try_from(sectors).unwrap_or(u32::MAX),
            flags: IoFlags::default(),
            kind: BlockEventKind::FileMap {
                file_system: DeviceNumber(self.file_system.read(event) as u32),
                inode: self.inode.read(event),
                in_blocks: self.source == FileMapSource::Ext4,
            },
        })
    }
}

/// What is in the event with a given number.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    layouts: HashMap<u16, Layout>,
    /// Nearly all events are of a few types with numbers close to each other.
    first_id: u16,
    dense: Vec<Option<Layout>>,
    marker: Option<(u16, usize)>,
    file_maps: Vec<(u16, FileMapLayout)>,
    type_field: Option<Place>,
}

/// A decoded event of the ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// An event of the block layer.
    Block(BlockEvent),
    /// A text that a program wrote to `trace_marker`: its first bytes as a number.
    Marker(u64),
    /// Something else.
    Other,
}

impl Decoder {
    /// Adds the format of a block tracepoint.
    pub fn add(&mut self, tracepoint: Tracepoint, format: &EventFormat) {
        let place = |name: &str| format.field(name).map(place_of);
        let (first, second) = match tracepoint {
            Tracepoint::Remap => (place("old_dev"), place("old_sector")),
            Tracepoint::Split => (place("new_sector"), None),
            Tracepoint::Complete | Tracepoint::BioComplete => {
                (place("error").or_else(|| place("errors")), None)
            }
            Tracepoint::Unplug => (place("nr_rq"), None),
            _ => (None, None),
        };
        let layout = Layout {
            tracepoint,
            thread: place("common_pid"),
            device: place("dev"),
            sector: place("sector"),
            sectors: place("nr_sector"),
            flags: place("rwbs"),
            name: place("comm").filter(|name| name.size == 16),
            first,
            second,
        };
        self.type_field = place("common_type");
        self.layouts.insert(format.id, layout);
        self.first_id = self.layouts.keys().copied().min().unwrap_or_default();
        let last = self.layouts.keys().copied().max().unwrap_or_default();
        self.dense = (self.first_id..=last)
            .map(|id| self.layouts.get(&id).copied())
            .collect();
    }

    /// Adds the format of a tracepoint of a file system. Returns whether it has the fields that are needed.
    pub fn add_file_map(&mut self, source: FileMapSource, format: &EventFormat) -> bool {
        let layout = FileMapLayout::of(source, format);
        self.file_maps
            .extend(layout.map(|layout| (format.id, layout)));
        layout.is_some()
    }

    /// Adds the format of `ftrace/print`, which is the event of `trace_marker`.
    pub fn add_marker(&mut self, format: &EventFormat) {
        if let Some(field) = format.field("buf") {
            self.marker = Some((format.id, field.offset));
        }
    }

    /// Decodes one event; the names of threads go to `names`.
    #[must_use]
    pub fn decode(&self, time_ns: u64, cpu: u16, event: &[u8], names: &mut ThreadNames) -> Decoded {
        let Some(type_field) = self.type_field else {
            return Decoded::Other;
        };
        let id = type_field.read(event) as u16;
        let index = usize::from(id.wrapping_sub(self.first_id));
        let Some(Some(layout)) = self.dense.get(index) else {
            if let Some((_, layout)) = self.file_maps.iter().find(|(known, _)| *known == id) {
                return layout
                    .read(time_ns, cpu, event)
                    .map_or(Decoded::Other, Decoded::Block);
            }
            return match self.marker {
                Some((marker, offset)) if marker == id => {
                    Decoded::Marker(number(event, offset, 8).unwrap_or_default())
                }
                _ => Decoded::Other,
            };
        };
        let read = |place: Option<Place>| place.map_or(0, |place| place.read(event));
        let thread = read(layout.thread) as u32;
        let flags = layout
            .flags
            .and_then(|place| event.get(place.offset..place.offset + place.size))
            .map_or(IoFlags::default(), IoFlags::parse_bytes);
        let error = read(layout.first) as u32 as i32;
        let kind = match layout.tracepoint {
            Tracepoint::BioQueue => {
                if let Some(name) = layout
                    .name
                    .and_then(|place| event.get(place.offset..)?.first_chunk())
                {
                    names.note(thread, *name);
                }
                BlockEventKind::BioQueue
            }
            Tracepoint::Remap => BlockEventKind::Remap {
                from_device: DeviceNumber(read(layout.first) as u32),
                from_sector: read(layout.second),
            },
            Tracepoint::Split => BlockEventKind::Split {
                new_sector: read(layout.first),
            },
            Tracepoint::BackMerge => BlockEventKind::BackMerge,
            Tracepoint::FrontMerge => BlockEventKind::FrontMerge,
            Tracepoint::RequestMerge => BlockEventKind::RequestMerge,
            Tracepoint::GetRequest => BlockEventKind::GetRequest,
            Tracepoint::Insert => BlockEventKind::Insert,
            Tracepoint::Issue => BlockEventKind::Issue,
            Tracepoint::Complete => BlockEventKind::Complete { error },
            Tracepoint::Requeue => BlockEventKind::Requeue,
            Tracepoint::BioComplete => BlockEventKind::BioComplete { error },
            Tracepoint::Plug => BlockEventKind::Plug,
            Tracepoint::Unplug => BlockEventKind::Unplug {
                requests: read(layout.first) as u32,
            },
        };
        Decoded::Block(BlockEvent {
            time_ns,
            cpu,
            thread,
            device: DeviceNumber(read(layout.device) as u32),
            sector: read(layout.sector),
            sectors: read(layout.sectors) as u32,
            flags,
            kind,
        })
    }
}

fn place_of(field: &Field) -> Place {
    Place {
        offset: field.offset,
        size: field.size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ext4_es_lookup_extent_exit` and `iomap_iter_dstmap` of Linux 6.18 on x86-64.
    #[test]
    fn file_systems_say_which_file_is_where() {
        let format = |name: &str, id: u16, fields: &[(&str, usize, usize)]| {
            let fields: Vec<String> = [("common_type", 0, 2), ("common_pid", 4, 4)]
                .iter()
                .chain(fields)
                .map(|(name, offset, size)| {
                    format!("\tfield:int {name};\toffset:{offset};\tsize:{size};\tsigned:0;\n")
                })
                .collect();
            EventFormat::parse(&format!("name: {name}\nID: {id}\n{}", fields.concat())).unwrap()
        };
        let mut decoder = Decoder::default();
        decoder.add(
            Tracepoint::Issue,
            &format("block_rq_issue", 60, &[("dev", 8, 4)]),
        );
        let found = format(
            "ext4_es_lookup_extent_exit",
            900,
            &[
                ("dev", 8, 4),
                ("ino", 16, 8),
                ("lblk", 24, 4),
                ("len", 28, 4),
                ("pblk", 32, 8),
                ("status", 40, 1),
                ("found", 44, 4),
            ],
        );
        let mapped = format(
            "iomap_iter_dstmap",
            901,
            &[
                ("dev", 8, 4),
                ("ino", 16, 8),
                ("addr", 24, 8),
                ("length", 40, 8),
                ("type", 48, 2),
                ("bdev", 52, 4),
            ],
        );
        assert!(decoder.add_file_map(FileMapSource::Ext4, &found));
        assert!(decoder.add_file_map(FileMapSource::Iomap, &mapped));
        // A kernel that names the fields otherwise.
        assert!(!decoder.add_file_map(
            FileMapSource::Iomap,
            &format("other", 902, &[("dev", 8, 4)])
        ));
        let event = |id: u16, parts: &[(usize, &[u8])]| {
            let mut event = vec![0; 64];
            event[..2].copy_from_slice(&id.to_ne_bytes());
            event[4..8].copy_from_slice(&77u32.to_ne_bytes());
            event[8..12].copy_from_slice(&(8u32 << 20 | 1).to_ne_bytes());
            event[16..24].copy_from_slice(&4711u64.to_ne_bytes());
            for (at, bytes) in parts {
                event[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            event
        };
        let mut names = ThreadNames::default();
        let mut decode = |event: &[u8]| decoder.decode(5, 0, event, &mut names);
        let ext4 = |status: u8, found: u32| {
            event(
                900,
                &[
                    (28, &16u32.to_ne_bytes()),
                    (32, &1000u64.to_ne_bytes()),
                    (40, &[status]),
                    (44, &found.to_ne_bytes()),
                ],
            )
        };
        let Decoded::Block(block) = decode(&ext4(1, 1)) else {
            panic!("not decoded");
        };
        assert_eq!((block.sector, block.sectors, block.thread), (1000, 16, 77));
        assert_eq!(
            block.kind,
            BlockEventKind::FileMap {
                file_system: DeviceNumber::new(8, 1),
                inode: 4711,
                in_blocks: true
            }
        );
        // A hole, data without a place yet, and nothing found.
        for (status, found) in [(8, 1), (4, 1), (1, 0)] {
            assert_eq!(
                decode(&ext4(status, found)),
                Decoded::Other,
                "{status} {found}"
            );
        }
        let iomap = |kind: u16, addr: u64| {
            event(
                901,
                &[
                    (24, &addr.to_ne_bytes()),
                    (40, &8192u64.to_ne_bytes()),
                    (48, &kind.to_ne_bytes()),
                    (52, &(8u32 << 20 | 2).to_ne_bytes()),
                ],
            )
        };
        let Decoded::Block(block) = decode(&iomap(2, 1 << 20)) else {
            panic!("not decoded");
        };
        assert_eq!((block.sector, block.sectors), (2048, 16));
        assert_eq!(block.device, DeviceNumber::new(8, 2));
        assert_eq!(decode(&iomap(0, u64::MAX)), Decoded::Other);
    }

    #[test]
    fn other_offsets_and_missing_fields_of_other_kernels_are_accepted() {
        // A kernel with 4 bytes of sector, an 8-byte rwbs and without comm.
        let format = EventFormat::parse(
            "name: block_rq_complete\nID: 70\n\
             \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
             \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
             \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
             \tfield:sector_t sector;\toffset:12;\tsize:4;\tsigned:0;\n\
             \tfield:unsigned int nr_sector;\toffset:16;\tsize:4;\tsigned:0;\n\
             \tfield:int errors;\toffset:20;\tsize:4;\tsigned:1;\n\
             \tfield:char rwbs[8];\toffset:24;\tsize:8;\tsigned:0;\n",
        )
        .unwrap();
        let mut decoder = Decoder::default();
        decoder.add(Tracepoint::Complete, &format);
        let mut event = vec![0; 32];
        let mut put = |offset: usize, bytes: &[u8]| {
            event[offset..offset + bytes.len()].copy_from_slice(bytes);
        };
        put(0, &70u16.to_ne_bytes());
        put(4, &1234u32.to_ne_bytes());
        put(8, &(8u32 << 20 | 16).to_ne_bytes());
        put(12, &4096u32.to_ne_bytes());
        put(16, &8u32.to_ne_bytes());
        put(20, &(-5i32).to_ne_bytes());
        put(24, b"WFS\0\0\0\0\0");
        let mut names = ThreadNames::default();
        let Decoded::Block(block) = decoder.decode(99, 3, &event, &mut names) else {
            panic!("not decoded");
        };
        assert_eq!(block.device.to_string(), "8:16");
        assert_eq!((block.sector, block.sectors, block.thread), (4096, 8, 1234));
        assert_eq!(block.kind, BlockEventKind::Complete { error: -5 });
        assert!(block.flags.is_write() && block.flags.fua() && block.flags.sync());
        // An event cut short has zeros in place of the rest, an unknown one is skipped.
        assert!(matches!(
            decoder.decode(0, 0, &event[..10], &mut names),
            Decoded::Block(_)
        ));
        event[0] = 1;
        assert_eq!(decoder.decode(0, 0, &event, &mut names), Decoded::Other);
    }
}
