//! Power cuts of a modelled device, honest and with six faults: the checker has no false alarm and names each fault.
//!
//! The model has a small file system of its own, so that data and metadata are separate writes. Every choice comes from a seed.

use std::collections::BTreeMap;

use fathom_durable::{
    Acknowledgements, CauseKind, Certificate, Circumstances, CommitRead, CycleEnd, CycleResult,
    FORMAT, Geometry, Layout, Media, Method, Place, RunId, Verdict, check_cycle, diagnose,
};
use fathom_testkit::{CacheFault, VolatileCache};

/// The first bytes of every record.
const RECORD: &[u8] = b"FDURABLE";
const RECORD_BYTES: u32 = 8192;
const SLOTS: u64 = 16;
const SECTOR: u64 = 512;
/// Sectors for the inodes of the model file system, before the data.
const INODES: u64 = 512;
/// Cuts of a series: each method once.
const SERIES: u64 = 5;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A file: its inode is one sector with the size and the place of its data.
#[derive(Clone, Copy)]
struct Inode {
    sector: u64,
    data: u64,
}

/// The file system: inodes in their own sectors, files in extents that were allocated once.
struct FileSystem {
    device: VolatileCache,
    geometry: Geometry,
    inodes: BTreeMap<String, Inode>,
    next_data: u64,
}

impl FileSystem {
    fn new(geometry: Geometry, fault: CacheFault) -> FileSystem {
        FileSystem {
            device: VolatileCache::new(12 << 20, 64 << 20, fault),
            geometry,
            inodes: BTreeMap::new(),
            next_data: INODES * SECTOR,
        }
    }

    fn inode(&mut self, file: &str) -> Inode {
        let bytes = self.geometry.commit_bytes() as u64 * SLOTS;
        let sector = self.inodes.len() as u64;
        *self.inodes.entry(file.to_owned()).or_insert_with(|| {
            let data = self.next_data;
            self.next_data += bytes;
            Inode { sector, data }
        })
    }

    fn content(&self, stream: u16, commit: u64) -> Vec<u8> {
        let mut bytes = vec![0; self.geometry.commit_bytes()];
        let stamp = self.geometry.stamp(stream, commit);
        stamp.write_records(&mut bytes, RECORD_BYTES as usize);
        bytes
    }

    /// Writes an inode: its size and the offset of its data.
    fn write_inode(&mut self, inode: Inode, size: u64, data: u64, fua: bool) {
        let mut sector = [0; SECTOR as usize];
        sector[..4].copy_from_slice(b"INOD");
        sector[8..16].copy_from_slice(&size.to_le_bytes());
        sector[16..24].copy_from_slice(&data.to_le_bytes());
        self.device.write(inode.sector * SECTOR, &sector, fua);
    }

    /// The steps of a commit. The cut can come after each of them.
    fn steps(&self, stream: u16, commit: u64) -> Vec<Step> {
        let fua = self.geometry.method == Method::Fua;
        let flush = (!fua).then_some(Step::Flush);
        let data = Step::Data {
            stream,
            commit,
            fua,
        };
        let inode = Step::Inode {
            stream,
            commit,
            fua,
        };
        let steps = match self.geometry.layout(stream) {
            Layout::Overwrite => vec![Some(data), flush],
            Layout::Append | Layout::Preallocated => vec![Some(data), Some(inode), flush],
            Layout::Rename => vec![Some(data), Some(Step::Flush), Some(inode), flush],
        };
        steps.into_iter().flatten().collect()
    }

    fn perform(&mut self, step: Step) {
        match step {
            Step::Flush => self.device.flush(),
            Step::Data {
                stream,
                commit,
                fua,
            } => {
                let (_, offset) = self.data_place(stream, commit);
                let content = self.content(stream, commit);
                self.device.write(offset, &content, fua);
            }
            Step::Inode {
                stream,
                commit,
                fua,
            } => {
                let (inode, offset) = self.data_place(stream, commit);
                let bytes = self.geometry.commit_bytes() as u64;
                if self.geometry.layout(stream) == Layout::Rename {
                    self.write_inode(inode, bytes, offset, fua);
                } else {
                    let size = offset - inode.data + bytes;
                    self.write_inode(inode, size, inode.data, fua);
                }
            }
        }
    }

    /// The inode of a commit and the offset of its data. A renamed file has two places for its content in turn.
    fn data_place(&mut self, stream: u16, commit: u64) -> (Inode, u64) {
        let place = self.geometry.place(stream, commit);
        let inode = self.inode(&place.file);
        let turn = match self.geometry.layout(stream) {
            Layout::Rename => (commit / SLOTS % 2) * self.geometry.commit_bytes() as u64,
            _ => 0,
        };
        (inode, inode.data + place.offset + turn)
    }

    /// Files that are written before the load, with an ordinary flush.
    fn prepare(&mut self) -> Vec<(u16, u64)> {
        let mut acknowledged = Vec::new();
        for stream in 0..self.geometry.streams.len() as u16 {
            for commit in 0..self.geometry.first_commit(stream) {
                self.perform(Step::Data {
                    stream,
                    commit,
                    fua: false,
                });
                if commit + 1 == self.geometry.first_commit(stream) {
                    self.perform(Step::Inode {
                        stream,
                        commit,
                        fua: false,
                    });
                    acknowledged.push((stream, commit));
                }
            }
        }
        self.device.flush();
        acknowledged
    }
}

#[derive(Clone, Copy)]
enum Step {
    Data { stream: u16, commit: u64, fua: bool },
    Inode { stream: u16, commit: u64, fua: bool },
    Flush,
}

/// The files after the cut.
struct AfterCut {
    image: Vec<u8>,
    inodes: BTreeMap<String, Inode>,
}

impl Media for AfterCut {
    fn read(&mut self, place: &Place, buffer: &mut [u8]) -> CommitRead {
        let Some(inode) = self.inodes.get(&place.file) else {
            return CommitRead::NoFile;
        };
        let sector = &self.image[(inode.sector * SECTOR) as usize..][..SECTOR as usize];
        if &sector[..4] != b"INOD" {
            return CommitRead::NoFile;
        }
        let word = |at: usize| u64::from_le_bytes(sector[at..at + 8].try_into().expect("8 bytes"));
        let (size, data) = (word(8), word(16));
        let length = size.saturating_sub(place.offset).min(buffer.len() as u64) as usize;
        let start = (data + place.offset) as usize;
        buffer[..length].copy_from_slice(&self.image[start..start + length]);
        CommitRead::Bytes(length)
    }
}

/// One cycle: several threads commit in a random order until the power is cut, between any two steps.
fn cycle(fault: CacheFault, cycle: u32, seed: u64) -> CycleResult {
    let mut random = Random(seed ^ u64::from(cycle) << 32);
    let method = Method::ALL[(cycle as usize - 1) % Method::ALL.len()];
    let geometry = Geometry {
        format: FORMAT.to_owned(),
        run: RunId(seed),
        cycle,
        method,
        record_bytes: RECORD_BYTES,
        records_per_commit: 2,
        slots: SLOTS,
        streams: Geometry::streams_of(method, &Layout::OF_FILES, 2),
    };
    let mut system = FileSystem::new(geometry.clone(), fault);
    let mut order = system.prepare();
    // The files exist before the load, as after mkfs and their creation.
    system.device.set_fault(fault);
    let streams = geometry.streams.len();
    let mut next: Vec<u64> = (0..streams as u16)
        .map(|s| geometry.first_commit(s))
        .collect();
    let mut open: Vec<Vec<Step>> = vec![Vec::new(); streams];
    for _ in 0..250 + random.below(300) {
        let stream = random.below(streams as u64) as usize;
        if open[stream].is_empty() {
            open[stream] = system.steps(stream as u16, next[stream]);
        }
        system.perform(open[stream].remove(0));
        if open[stream].is_empty() {
            order.push((stream as u16, next[stream]));
            next[stream] += 1;
        }
    }
    // The last acknowledgements were on their way at the cut.
    order.truncate(order.len() - random.below(3) as usize);
    let mut media = AfterCut {
        image: system.device.cut(random.next()),
        inodes: system.inodes,
    };
    let acknowledgements = Acknowledgements { order };
    check_cycle(&geometry, &acknowledgements, &mut media, CycleEnd::PowerCut)
}

/// The results of a series of cuts, with each method in turn.
fn series(fault: CacheFault, seed: u64) -> Vec<CycleResult> {
    (1..=SERIES as u32)
        .map(|one| cycle(fault, one, seed))
        .collect()
}

/// The number of cuts, or as many as `FATHOM_CUTS` says.
fn cuts(short: u64) -> u64 {
    let given = std::env::var("FATHOM_CUTS").ok();
    given.map_or(short, |text| text.parse().expect("FATHOM_CUTS is a number"))
}

#[test]
fn an_honest_device_causes_no_alarm() {
    let mut checked = 0;
    let cuts = cuts(200);
    for seed in 0..cuts / SERIES {
        let results = series(CacheFault::Honest, seed);
        for result in &results {
            assert!(!result.has_violations(), "seed {seed}: {result:?}");
            checked += result.sum(|stream| stream.there);
        }
        assert!(diagnose(&results).is_empty());
    }
    assert!(checked > cuts * 20, "{checked} commits were checked");
}

/// The name of each fault after at most five cuts, for every series of cuts.
fn named(fault: CacheFault, expected: CauseKind) {
    for seed in 0..cuts(50) / SERIES {
        let results = series(fault, seed);
        let causes = diagnose(&results);
        let kinds: Vec<CauseKind> = causes.iter().map(|cause| cause.cause).collect();
        assert_eq!(kinds, [expected], "seed {seed}: {causes:?} {results:#?}");
        let first = results.iter().position(CycleResult::has_violations);
        assert!(first.is_some_and(|first| first < 5), "seed {seed}");
    }
}

#[test]
fn ignored_flushes_are_named() {
    named(CacheFault::IgnoresFlush, CauseKind::FlushIgnored);
}

#[test]
fn reordered_writes_are_named() {
    named(CacheFault::Reorders, CauseKind::WritesReordered);
}

#[test]
fn torn_writes_are_named() {
    named(CacheFault::TearsAt512, CauseKind::TornWrites);
}

#[test]
fn ignored_fua_is_named() {
    named(CacheFault::LosesFua, CauseKind::FuaIgnored);
}

#[test]
fn lost_metadata_is_named() {
    named(CacheFault::LosesMetadata(RECORD), CauseKind::MetadataLost);
}

#[test]
fn dropped_flushes_are_named() {
    named(CacheFault::DropsLastFlushes, CauseKind::LastFlushesDropped);
}

/// The certificate says what the series shows, in every format.
#[test]
fn certificates_state_verdict_cause_and_limits() {
    let geometry = Geometry {
        format: FORMAT.to_owned(),
        run: RunId(9),
        cycle: 5,
        method: Method::Rename,
        record_bytes: RECORD_BYTES,
        records_per_commit: 2,
        slots: SLOTS,
        streams: Geometry::streams_of(Method::Rename, &[], 2),
    };
    let circumstances = Circumstances {
        path: "/mnt/<disk>".to_owned(),
        second_host: true,
        ..Circumstances::default()
    };
    let honest = series(CacheFault::Honest, 1);
    let pass = Certificate::new(&geometry, honest, circumstances.clone());
    assert_eq!((pass.verdict, pass.cuts), (Verdict::Pass, 5));
    // 1 - 0.05^(1/5).
    assert!(
        pass.text().contains("at most 45.1 % of cuts"),
        "{}",
        pass.text()
    );
    assert!(pass.untested_methods.is_empty());

    let torn = series(CacheFault::TearsAt512, 1);
    let fail = Certificate::new(&geometry, torn, circumstances.clone());
    assert_eq!(fail.verdict, Verdict::Fail);
    assert!(
        fail.text().contains("torn writes (shorn writes): "),
        "{}",
        fail.text()
    );
    let page = fail.html();
    assert!(
        page.contains("/mnt/&lt;disk&gt;") && page.contains("shorn writes"),
        "{page}"
    );
    assert!(
        !page.contains("http") && !page.contains("src="),
        "self-contained"
    );

    let mut no_cut = series(CacheFault::Honest, 2);
    no_cut.iter_mut().for_each(|one| one.end = CycleEnd::NoCut);
    let undecided = Certificate::new(&geometry, no_cut, Circumstances::default());
    assert_eq!(undecided.verdict, Verdict::Undecided);
    assert!(
        undecided.reason.contains("no power cut is known"),
        "{}",
        undecided.reason
    );
    assert!(
        undecided.limits[0].contains("same machine"),
        "{:?}",
        undecided.limits
    );

    let nothing = Certificate::new(&geometry, Vec::new(), Circumstances::default());
    assert_eq!(nothing.verdict, Verdict::Undecided);
}
