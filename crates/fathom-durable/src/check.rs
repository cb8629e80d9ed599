//! Compares what the recorder knows with what the device returns.

use serde::{Deserialize, Serialize};

use crate::geometry::{Geometry, Layout, Method, Place};
use crate::stamp::{SECTOR, SectorState, Stamp};

/// Sectors in 4 KiB.
const SECTORS_IN_4K: usize = 8;
/// Commits after the last acknowledged one that are inspected.
const AFTER_LAST: u64 = 64;

/// The acknowledgements of one cycle, in the order in which the recorder received them.
///
/// An acknowledgement of a commit includes all earlier commits of its stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgements {
    /// Stream and commit.
    pub order: Vec<(u16, u64)>,
}

impl Acknowledgements {
    /// For each stream, its acknowledged commits with their index in the order.
    fn by_stream(&self, streams: usize) -> Vec<Vec<(u64, usize)>> {
        let mut all = vec![Vec::new(); streams];
        for (index, (stream, commit)) in self.order.iter().enumerate() {
            let Some(own) = all.get_mut(usize::from(*stream)) else {
                continue;
            };
            // A commit that was acknowledged twice counts once.
            if own.last().is_none_or(|(last, _)| last < commit) {
                own.push((*commit, index));
            }
        }
        all
    }
}

/// What the file of a commit returns at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitRead {
    /// This many bytes; fewer than the commit where the file ends.
    Bytes(usize),
    /// There is no such file.
    NoFile,
    /// The read failed.
    Failed(String),
}

/// The files of a cycle after the cut.
pub trait Media {
    /// Reads a commit into `buffer`, from the device and not from a cache.
    fn read(&mut self, place: &Place, buffer: &mut [u8]) -> CommitRead;
}

/// How a cycle ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CycleEnd {
    /// The machine restarted since the cycle began and the writer did not stop in an orderly way.
    #[serde(rename = "power cut")]
    PowerCut,
    /// The user states that the power of the device alone was cut.
    #[serde(rename = "device cut")]
    DeviceCut,
    /// The same boot of the machine: no power cut is known.
    #[serde(rename = "no cut")]
    #[default]
    NoCut,
    /// The writer stopped in an orderly way: everything could reach the device.
    #[serde(rename = "stopped")]
    Stopped,
}

/// What cannot be read at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unreadable {
    /// The file system cannot be mounted, or its files are gone.
    #[serde(rename = "file-system")]
    FileSystem,
    /// The device does not respond.
    #[serde(rename = "device")]
    Device,
}

/// The result of one stream. All numbers are commits.
///
/// `acknowledged = replaced + there + lost + torn_512 + torn_4k + torn_record + changed + misplaced + unreadable`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Where the commits went.
    pub layout: Layout,
    /// Number of the thread.
    pub thread: u16,
    /// Acknowledged.
    pub acknowledged: u64,
    /// Acknowledged, and replaced by later ones before the cut.
    pub replaced: u64,
    /// Intact, or being overwritten by a later one.
    pub there: u64,
    /// Missing as a whole.
    pub lost: u64,
    /// Partly there; the smallest boundary is a sector of 512 bytes.
    pub torn_512: u64,
    /// Partly there; every boundary is at a multiple of 4 KiB.
    pub torn_4k: u64,
    /// Some of its records are there, others are missing as a whole.
    pub torn_record: u64,
    /// With inverted bits or content that nobody wrote.
    pub changed: u64,
    /// Another commit is at its place.
    pub misplaced: u64,
    /// The read failed.
    pub unreadable: u64,
    /// Of the lost ones: a commit that began after their acknowledgement is there.
    pub out_of_order: u64,
    /// Of the lost ones: their file is missing.
    pub no_file: u64,
    /// Of the lost ones: their file ends before them.
    pub beyond_end: u64,
    /// Not acknowledged, and there.
    pub in_flight_there: u64,
    /// Not acknowledged, and partly there.
    pub in_flight_torn: u64,
}

impl StreamResult {
    /// Commits that are not there as they were acknowledged, without those that could not be read.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.lost + self.torn_512 + self.torn_4k + self.torn_record + self.changed + self.misplaced
    }
}

/// The result of one cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleResult {
    /// The cycle, from 1.
    pub cycle: u32,
    /// The method of its commits.
    pub method: Method,
    /// How it ended.
    pub end: CycleEnd,
    /// The streams.
    pub streams: Vec<StreamResult>,
    /// Acknowledgements from that of the first damaged commit to the end; 0 without damage.
    pub damaged_tail: u64,
    /// The whole result is unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<Unreadable>,
    /// The first error of a read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl CycleResult {
    /// The sum of a number over the streams.
    #[must_use]
    pub fn sum(&self, of: impl Fn(&StreamResult) -> u64) -> u64 {
        self.streams.iter().map(of).sum()
    }

    /// Whether acknowledged data is damaged or gone.
    #[must_use]
    pub fn has_violations(&self) -> bool {
        self.unreadable.is_some() || self.sum(StreamResult::violations) > 0
    }

    /// The result of a cycle of which nothing can be read: all acknowledged commits are lost.
    #[must_use]
    pub fn of_unreadable(
        geometry: &Geometry,
        acknowledgements: &Acknowledgements,
        kind: Unreadable,
    ) -> CycleResult {
        let mut nothing = NoMedia;
        let mut result = check_cycle(
            geometry,
            acknowledgements,
            &mut nothing,
            CycleEnd::default(),
        );
        result.unreadable = Some(kind);
        result
    }
}

struct NoMedia;

impl Media for NoMedia {
    fn read(&mut self, _place: &Place, _buffer: &mut [u8]) -> CommitRead {
        CommitRead::NoFile
    }
}

/// Checks every acknowledged commit that must still be there.
///
/// # Panics
/// If the geometry is invalid.
pub fn check_cycle(
    geometry: &Geometry,
    acknowledgements: &Acknowledgements,
    media: &mut dyn Media,
    end: CycleEnd,
) -> CycleResult {
    let by_stream = acknowledgements.by_stream(geometry.streams.len());
    let mut checker = Checker {
        geometry,
        by_stream: &by_stream,
        media,
        buffer: vec![0; geometry.commit_bytes()],
        lost: Vec::new(),
        latest_start: vec![None; by_stream.len()],
        first_damaged: None,
        error: None,
    };
    let mut streams: Vec<StreamResult> = (0..geometry.streams.len())
        .map(|stream| checker.stream(stream as u16))
        .collect();
    let Checker {
        lost,
        latest_start,
        first_damaged,
        error,
        ..
    } = checker;
    for lost in lost {
        let is_later = |start: &Option<usize>| start.is_some_and(|start| start > lost.index);
        if lost.later_in_stream || latest_start.iter().any(is_later) {
            streams[usize::from(lost.stream)].out_of_order += 1;
        }
    }
    CycleResult {
        cycle: geometry.cycle,
        method: geometry.method,
        end,
        streams,
        damaged_tail: first_damaged
            .map_or(0, |first| (acknowledgements.order.len() - first) as u64),
        unreadable: None,
        error,
    }
}

/// A lost commit.
struct Lost {
    stream: u16,
    /// Index of its acknowledgement.
    index: usize,
    /// A later commit of the same stream is there.
    later_in_stream: bool,
}

struct Checker<'a> {
    geometry: &'a Geometry,
    by_stream: &'a [Vec<(u64, usize)>],
    media: &'a mut dyn Media,
    buffer: Vec<u8>,
    lost: Vec<Lost>,
    /// For each stream, the index of the last acknowledgement that preceded the start of its last commit that is there.
    latest_start: Vec<Option<usize>>,
    first_damaged: Option<usize>,
    error: Option<String>,
}

/// One commit after the cut.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CommitState {
    There,
    Lost { no_file: bool, beyond_end: bool },
    Torn(Tear),
    Changed,
    Misplaced,
    Unreadable,
}

/// The smallest unit of a tear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tear {
    Sector,
    Page,
    Record,
}

/// One sector of an acknowledged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectorResult {
    Right,
    /// Of a later commit that was not acknowledged.
    Newer,
    /// Never written, older content, or beyond the end of the file.
    Absent,
    Changed,
    Misplaced,
}

impl Checker<'_> {
    fn stream(&mut self, stream: u16) -> StreamResult {
        let own = self.geometry.streams[usize::from(stream)];
        let mut result = StreamResult {
            layout: own.layout,
            thread: own.thread,
            acknowledged: 0,
            replaced: 0,
            there: 0,
            lost: 0,
            torn_512: 0,
            torn_4k: 0,
            torn_record: 0,
            changed: 0,
            misplaced: 0,
            unreadable: 0,
            out_of_order: 0,
            no_file: 0,
            beyond_end: 0,
            in_flight_there: 0,
            in_flight_torn: 0,
        };
        let last = self.by_stream[usize::from(stream)].last().map(|ack| ack.0);
        let mut last_there = None;
        let mut lost = Vec::new();
        if let Some(last) = last {
            let first = self.geometry.first_required(stream, last);
            result.acknowledged = last + 1;
            result.replaced = first;
            for commit in first..=last {
                let state = self.commit(stream, commit, Some(last));
                match &state {
                    CommitState::There => {
                        result.there += 1;
                        last_there = Some(commit);
                    }
                    CommitState::Lost {
                        no_file,
                        beyond_end,
                    } => {
                        result.lost += 1;
                        result.no_file += u64::from(*no_file);
                        result.beyond_end += u64::from(*beyond_end);
                        lost.push(commit);
                    }
                    CommitState::Torn(Tear::Sector) => result.torn_512 += 1,
                    CommitState::Torn(Tear::Page) => result.torn_4k += 1,
                    CommitState::Torn(Tear::Record) => result.torn_record += 1,
                    CommitState::Changed => result.changed += 1,
                    CommitState::Misplaced => result.misplaced += 1,
                    CommitState::Unreadable => result.unreadable += 1,
                }
                if !matches!(state, CommitState::There | CommitState::Unreadable) {
                    let index = self.index_of(stream, commit);
                    self.first_damaged =
                        Some(self.first_damaged.map_or(index, |first| first.min(index)));
                }
            }
        }
        for commit in last.map_or(0, |last| last + 1)..last.map_or(0, |last| last + 1) + AFTER_LAST
        {
            match self.commit(stream, commit, None) {
                CommitState::There => {
                    result.in_flight_there += 1;
                    last_there = Some(commit);
                }
                CommitState::Torn(_) => result.in_flight_torn += 1,
                _ => {}
            }
        }
        self.latest_start[usize::from(stream)] = last_there
            .and_then(|commit| commit.checked_sub(1))
            .filter(|before| last.is_some_and(|last| *before <= last))
            .map(|before| self.index_of(stream, before));
        for commit in lost {
            let index = self.index_of(stream, commit);
            self.lost.push(Lost {
                stream,
                index,
                later_in_stream: last_there.is_some_and(|there| there > commit),
            });
        }
        result
    }

    /// Index of the first acknowledgement that includes this commit.
    fn index_of(&self, stream: u16, commit: u64) -> usize {
        let own = &self.by_stream[usize::from(stream)];
        let position = own.partition_point(|(acknowledged, _)| *acknowledged < commit);
        own.get(position).map_or(usize::MAX, |(_, index)| *index)
    }

    /// The state of a commit; `last` is the last acknowledged one of its stream if this one is acknowledged.
    fn commit(&mut self, stream: u16, commit: u64, last: Option<u64>) -> CommitState {
        let place = self.geometry.place(stream, commit);
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = self.media.read(&place, &mut buffer);
        let state = match read {
            CommitRead::NoFile => CommitState::Lost {
                no_file: true,
                beyond_end: false,
            },
            CommitRead::Failed(error) => {
                self.error
                    .get_or_insert_with(|| format!("{}: {error}", place.file));
                CommitState::Unreadable
            }
            CommitRead::Bytes(bytes) => self.content(stream, commit, last, &buffer[..bytes]),
        };
        self.buffer = buffer;
        state
    }

    fn content(&self, stream: u16, commit: u64, last: Option<u64>, bytes: &[u8]) -> CommitState {
        let per_record = self.geometry.record_bytes as usize / SECTOR;
        let total = per_record * usize::from(self.geometry.records_per_commit);
        let mut stamp = self.geometry.stamp(stream, commit);
        let mut sectors = Vec::with_capacity(total);
        for index in 0..total {
            stamp.record = (index / per_record) as u16;
            stamp.sector = (index % per_record) as u16;
            let sector = bytes.get(index * SECTOR..(index + 1) * SECTOR);
            sectors.push(sector.map_or(SectorResult::Absent, |sector| {
                self.sector(&stamp, last, stamp.inspect(sector))
            }));
        }
        judge(&sectors, per_record, bytes.is_empty())
    }

    fn sector(&self, expected: &Stamp, last: Option<u64>, found: SectorState) -> SectorResult {
        let found = match found {
            SectorState::Zero => return SectorResult::Absent,
            SectorState::Damaged(_) => return SectorResult::Changed,
            // Without an acknowledgement the old content of the blocks may be anything.
            SectorState::Unknown if last.is_none() => return SectorResult::Absent,
            SectorState::Unknown => return SectorResult::Changed,
            SectorState::Stamped(found) => found,
        };
        if found == *expected {
            return SectorResult::Right;
        }
        // Blocks of files that were removed, of this cycle or of an earlier one.
        if found.run != expected.run
            || found.cycle != expected.cycle
            || usize::from(found.stream) >= self.geometry.streams.len()
        {
            return SectorResult::Absent;
        }
        let same_position = found.stream == expected.stream
            && found.record == expected.record
            && found.sector == expected.sector
            && self.geometry.place(found.stream, found.commit)
                == self.geometry.place(expected.stream, expected.commit);
        if same_position {
            return match last {
                Some(last) if found.commit > last => SectorResult::Newer,
                _ => SectorResult::Absent,
            };
        }
        let last_of_found = self.by_stream[usize::from(found.stream)]
            .last()
            .map(|ack| ack.0);
        let is_current = last_of_found
            .is_some_and(|last| found.commit >= self.geometry.first_required(found.stream, last));
        if is_current && last.is_some() {
            SectorResult::Misplaced
        } else {
            SectorResult::Absent
        }
    }
}

/// The state of a commit from its sectors.
fn judge(sectors: &[SectorResult], per_record: usize, beyond_end: bool) -> CommitState {
    if sectors.contains(&SectorResult::Changed) {
        return CommitState::Changed;
    }
    if sectors.contains(&SectorResult::Misplaced) {
        return CommitState::Misplaced;
    }
    let is_absent = |sector: &SectorResult| *sector == SectorResult::Absent;
    let absent = sectors.iter().filter(|sector| is_absent(sector)).count();
    if absent == 0 {
        return CommitState::There;
    }
    if absent == sectors.len() {
        return CommitState::Lost {
            no_file: false,
            beyond_end,
        };
    }
    // The positions in the record at which the content begins or ends.
    let boundaries = (1..sectors.len())
        .filter(|index| is_absent(&sectors[*index]) != is_absent(&sectors[index - 1]));
    let unit = |index: usize| match index % per_record {
        0 => Tear::Record,
        within if within.is_multiple_of(SECTORS_IN_4K) => Tear::Page,
        _ => Tear::Sector,
    };
    CommitState::Torn(boundaries.map(unit).min().unwrap_or(Tear::Record))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::geometry::{FORMAT, RunId};

    /// Files in memory.
    #[derive(Default)]
    struct Files(BTreeMap<String, Vec<u8>>);

    impl Media for Files {
        fn read(&mut self, place: &Place, buffer: &mut [u8]) -> CommitRead {
            let Some(file) = self.0.get(&place.file) else {
                return CommitRead::NoFile;
            };
            let start = file.len().min(place.offset as usize);
            let end = file.len().min(start + buffer.len());
            buffer[..end - start].copy_from_slice(&file[start..end]);
            CommitRead::Bytes(end - start)
        }
    }

    impl Files {
        fn write(&mut self, geometry: &Geometry, stream: u16, commit: u64) {
            let place = geometry.place(stream, commit);
            let mut bytes = vec![0; geometry.commit_bytes()];
            geometry
                .stamp(stream, commit)
                .write_records(&mut bytes, geometry.record_bytes as usize);
            let file = self.0.entry(place.file).or_default();
            let start = place.offset as usize;
            file.resize(file.len().max(start + bytes.len()), 0);
            file[start..start + bytes.len()].copy_from_slice(&bytes);
        }

        /// The bytes of a sector of a commit.
        fn sector(
            &mut self,
            geometry: &Geometry,
            stream: u16,
            commit: u64,
            sector: usize,
        ) -> &mut [u8] {
            let place = geometry.place(stream, commit);
            let file = self.0.get_mut(&place.file).expect("a file");
            let start = place.offset as usize + sector * SECTOR;
            &mut file[start..start + SECTOR]
        }
    }

    /// Append, overwrite, preallocated; 2 records of 8 KiB, 16 slots, 40 commits each, all acknowledged in turn.
    fn cycle() -> (Geometry, Files, Acknowledgements) {
        let geometry = Geometry {
            format: FORMAT.to_owned(),
            run: RunId(77),
            cycle: 3,
            method: Method::Fsync,
            record_bytes: 8192,
            records_per_commit: 2,
            slots: 16,
            streams: Geometry::streams_of(Method::Fsync, &Layout::OF_FILES, 1),
        };
        let mut files = Files::default();
        let mut acknowledgements = Acknowledgements::default();
        for commit in 0..40 {
            for stream in 0..3 {
                files.write(&geometry, stream, commit);
                acknowledgements.order.push((stream, commit));
            }
        }
        files.0.remove("000-append-00000000");
        files.0.remove("002-preallocated-00000000");
        (geometry, files, acknowledgements)
    }

    fn check(geometry: &Geometry, files: &mut Files, acks: &Acknowledgements) -> CycleResult {
        let result = check_cycle(geometry, acks, files, CycleEnd::PowerCut);
        for stream in &result.streams {
            let sum = stream.replaced + stream.there + stream.violations() + stream.unreadable;
            assert_eq!(stream.acknowledged, sum, "{stream:?}");
        }
        result
    }

    #[test]
    fn intact_files_have_no_violation() {
        let (geometry, mut files, acks) = cycle();
        // Written and not acknowledged.
        files.write(&geometry, 0, 40);
        files.write(&geometry, 1, 40);
        let result = check(&geometry, &mut files, &acks);
        assert!(!result.has_violations(), "{result:?}");
        assert_eq!(result.damaged_tail, 0);
        let there: Vec<u64> = result.streams.iter().map(|s| s.there).collect();
        assert_eq!(there, [24, 16, 24], "the last two files, the ring");
        assert_eq!(result.sum(|s| s.in_flight_there), 2);
    }

    /// A write in flight over an acknowledged commit of the ring may leave any mixture of both.
    #[test]
    fn a_torn_overwrite_in_flight_is_no_violation() {
        let (geometry, mut files, acks) = cycle();
        let mut newer = Files::default();
        newer.write(&geometry, 1, 40);
        for sector in [0, 3, 31] {
            let new = newer.sector(&geometry, 1, 40, sector).to_vec();
            files.sector(&geometry, 1, 40, sector).copy_from_slice(&new);
        }
        let result = check(&geometry, &mut files, &acks);
        assert!(!result.has_violations(), "{result:?}");
        assert_eq!(result.streams[1].in_flight_torn, 1);
    }

    #[test]
    fn tears_have_their_unit() {
        // Sectors of 512 bytes that are missing; 16 in a record, 32 in the commit.
        for (missing, expected) in [
            (5..6, [1, 0, 0]),
            (8..16, [0, 1, 0]),
            (0..24, [0, 1, 0]),
            (16..32, [0, 0, 1]),
            (12..32, [1, 0, 0]),
        ] {
            let (geometry, mut files, acks) = cycle();
            for sector in missing.clone() {
                files.sector(&geometry, 2, 39, sector).fill(0);
            }
            let result = check(&geometry, &mut files, &acks);
            let stream = &result.streams[2];
            let torn = [stream.torn_512, stream.torn_4k, stream.torn_record];
            assert_eq!(torn, expected, "{missing:?}");
            assert_eq!((stream.lost, result.damaged_tail), (0, 1));
        }
    }

    #[test]
    fn lost_commits_are_out_of_order_if_a_later_one_is_there() {
        let (geometry, mut files, acks) = cycle();
        files.sector(&geometry, 0, 38, 0);
        for sector in 0..32 {
            files.sector(&geometry, 0, 38, sector).fill(0);
        }
        let result = check(&geometry, &mut files, &acks);
        assert_eq!(
            (result.streams[0].lost, result.streams[0].out_of_order),
            (1, 1)
        );

        // The last commit of one stream: commits of the others were acknowledged later but began before.
        let (geometry, mut files, acks) = cycle();
        for sector in 0..32 {
            files.sector(&geometry, 0, 39, sector).fill(0);
        }
        let result = check(&geometry, &mut files, &acks);
        assert_eq!(
            (result.streams[0].lost, result.streams[0].out_of_order),
            (1, 0)
        );
        assert_eq!(result.damaged_tail, 3);
    }

    #[test]
    fn missing_files_and_short_files_are_counted() {
        let (geometry, mut files, acks) = cycle();
        files.0.remove("000-append-00000001");
        files
            .0
            .get_mut("000-append-00000002")
            .expect("a file")
            .truncate(7 * 16384);
        let result = check(&geometry, &mut files, &acks);
        let stream = &result.streams[0];
        assert_eq!(
            (stream.lost, stream.no_file, stream.beyond_end),
            (17, 16, 1)
        );
    }

    #[test]
    fn inverted_bits_foreign_content_and_misplaced_commits_are_changes() {
        let (geometry, mut files, acks) = cycle();
        files.sector(&geometry, 0, 20, 3)[100] ^= 4;
        files.sector(&geometry, 0, 21, 3).fill(0xaa);
        let other = files.sector(&geometry, 2, 30, 0).to_vec();
        files.sector(&geometry, 1, 30, 0).copy_from_slice(&other);
        let result = check(&geometry, &mut files, &acks);
        assert_eq!(
            (result.streams[0].changed, result.streams[1].misplaced),
            (2, 1)
        );
    }

    /// Old blocks keep the stamps of files that were removed: that is missing data, not a misplaced write.
    #[test]
    fn stamps_of_removed_files_are_missing_data() {
        let (geometry, mut files, acks) = cycle();
        let mut old = Files::default();
        old.write(&geometry, 2, 3);
        let earlier = Geometry {
            cycle: 2,
            ..geometry.clone()
        };
        old.write(&earlier, 2, 39);
        for sector in 0..32 {
            let content = old.sector(&geometry, 2, 3, sector).to_vec();
            files
                .sector(&geometry, 0, 38, sector)
                .copy_from_slice(&content);
            let content = old.sector(&earlier, 2, 39, sector).to_vec();
            files
                .sector(&geometry, 0, 39, sector)
                .copy_from_slice(&content);
        }
        let result = check(&geometry, &mut files, &acks);
        assert_eq!(
            (result.streams[0].lost, result.streams[0].misplaced),
            (2, 0)
        );
    }

    #[test]
    fn a_failed_read_is_not_a_loss() {
        struct Failing;
        impl Media for Failing {
            fn read(&mut self, _: &Place, _: &mut [u8]) -> CommitRead {
                CommitRead::Failed("Input/output error".to_owned())
            }
        }
        let (geometry, _, acks) = cycle();
        let result = check_cycle(&geometry, &acks, &mut Failing, CycleEnd::PowerCut);
        assert_eq!(result.sum(StreamResult::violations), 0);
        assert_eq!(result.sum(|s| s.unreadable), 64);
        assert_eq!(
            result.error.as_deref(),
            Some("000-append-00000001: Input/output error")
        );
    }

    /// Whatever bytes the device returns, every acknowledged commit is counted once.
    #[test]
    fn any_content_is_counted_once() {
        let (geometry, files, acks) = cycle();
        proptest::proptest!(|(changes: Vec<(u8, u16, u16, u8)>)| {
            let mut files = Files(files.0.clone());
            let names: Vec<String> = files.0.keys().cloned().collect();
            for (file, at, length, value) in changes {
                let file = files.0.get_mut(&names[usize::from(file) % names.len()]).expect("a file");
                let at = usize::from(at) % file.len().max(1);
                if value == 0 {
                    file.truncate(at);
                } else if let Some(range) = file.get_mut(at..at + usize::from(length)) {
                    range.fill(value);
                }
            }
            check(&geometry, &mut files, &acks);
        });
    }
}
