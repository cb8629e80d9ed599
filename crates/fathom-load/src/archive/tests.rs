use std::io::{Cursor, Error, ErrorKind, Read, Seek, Write};

use fathom_model::{Direction, Histogram, IntervalDirection, Nanos, PerDirection, SparseHistogram};

use super::*;
use crate::testing::FakeHost;

const STEP: u64 = 1_000_000;

/// Interval `n` of job `job`: `n` reads, all of one latency.
fn interval(job: usize, n: u64) -> Interval {
    let mut clat = Histogram::new();
    clat.record_n(1_000 * (job as u64 + 1), n);
    let mut directions = PerDirection::default();
    directions[Direction::Read] = IntervalDirection {
        ios: n,
        bytes: n * 4096,
        clat: SparseHistogram::pack(&clat),
        ..IntervalDirection::default()
    };
    Interval {
        start: Nanos::new(n * STEP),
        length: Nanos::new(STEP),
        directions,
    }
}

fn chunk(job: usize, from: u64, to: u64) -> Vec<Interval> {
    (from..to).map(|n| interval(job, n)).collect()
}

/// An archive of `jobs` jobs with this scratch file.
fn open<F: Scratch + 'static>(
    (jobs, max, step): (usize, usize, u64),
    make: impl Fn() -> io::Result<F> + Send + Sync + 'static,
    sink: Option<IntervalSink>,
) -> Archive {
    let host = Arc::new(FakeHost::new(|_, _| None).with_scratch(make));
    Archive::open(&host, jobs, max, step, sink).expect("a thread")
}

fn memory() -> io::Result<Cursor<Vec<u8>>> {
    Ok(Cursor::new(Vec::new()))
}

fn give(job_archive: &JobArchive, mut intervals: Vec<Interval>) {
    while !job_archive.take(&mut intervals) {
        std::thread::yield_now();
    }
    assert!(intervals.is_empty());
}

fn reads(intervals: &[Interval]) -> Vec<u64> {
    intervals
        .iter()
        .map(|i| i.directions[Direction::Read].ios)
        .collect()
}

#[test]
fn each_job_gets_its_own_intervals_back_in_order() {
    let archive = open((2, 1000, STEP), memory, None);
    for part in 0..10 {
        give(&archive.for_job(0), chunk(0, part * 10, part * 10 + 10));
        give(&archive.for_job(1), chunk(1, part * 7, part * 7 + 7));
    }
    let mut contents = archive.close().expect("still there");
    assert!(
        contents.in_memory.is_empty() && contents.end > 0,
        "everything is in the file"
    );
    for (job, to) in [(0, 100), (1, 70)] {
        let mut rest = chunk(job, to, to + 3);
        contents.read_back(job, Nanos::ZERO, &mut rest);
        assert_eq!(reads(&rest), (0..to + 3).collect::<Vec<_>>());
        let mut all = Histogram::new();
        rest.iter()
            .for_each(|i| i.directions[Direction::Read].clat.add_to(&mut all));
        assert_eq!(
            all.sum(),
            u128::from((0..to + 3).sum::<u64>() * 1_000 * (job as u64 + 1))
        );
    }
    assert_eq!(contents.failure(), None);
}

#[test]
fn returned_intervals_are_bounded_and_lose_nothing() {
    let archive = open((1, 16, STEP), memory, None);
    give(&archive.for_job(0), chunk(0, 0, 1000));
    let mut rest = Vec::new();
    archive
        .close()
        .expect("still there")
        .read_back(0, Nanos::ZERO, &mut rest);
    assert!(rest.len() <= 16, "{}", rest.len());
    assert_eq!(reads(&rest).iter().sum::<u64>(), (0..1000).sum());
    assert_eq!(
        rest.iter().map(|i| i.length).sum::<Nanos>(),
        Nanos::new(1000 * STEP)
    );
}

#[test]
fn intervals_before_a_restart_of_the_measurement_are_dropped() {
    let archive = open((1, 1000, STEP), memory, None);
    give(&archive.for_job(0), chunk(0, 0, 100));
    let mut rest = chunk(0, 100, 103);
    archive
        .close()
        .expect("still there")
        .read_back(0, Nanos::new(90 * STEP), &mut rest);
    assert_eq!(reads(&rest), (90..103).collect::<Vec<_>>());
}

/// A file with a fixed capacity.
struct Full(Cursor<Vec<u8>>, usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.1.saturating_sub(self.0.position() as usize);
        if room == 0 {
            Err(Error::from(ErrorKind::StorageFull))
        } else {
            self.0.write(&bytes[..bytes.len().min(room)])
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
impl Read for Full {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}
impl Seek for Full {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn a_full_disk_is_reported_and_loses_nothing() {
    for room in [0, 100, 3_000] {
        let archive = open(
            (1, 64, STEP),
            move || Ok(Full(Cursor::new(Vec::new()), room)),
            None,
        );
        (0..100).for_each(|part| give(&archive.for_job(0), chunk(0, part * 10, part * 10 + 10)));
        let mut contents = archive.close().expect("still there");
        let mut rest = chunk(0, 1000, 1001);
        contents.read_back(0, Nanos::ZERO, &mut rest);
        assert_eq!(reads(&rest).iter().sum::<u64>(), (0..1001).sum(), "{room}");
        assert!(
            rest.len() <= 64 && rest.is_sorted_by_key(|i| i.start),
            "{room}"
        );
        let message = contents.failure().expect("reported");
        assert!(
            message.contains("TMPDIR") && message.contains("no storage space"),
            "{message}"
        );
    }
}

#[test]
fn an_unwritable_directory_is_reported() {
    let archive = open(
        (1, 64, STEP),
        || Err::<Full, _>(Error::from(ErrorKind::PermissionDenied)),
        None,
    );
    give(&archive.for_job(0), chunk(0, 0, 10));
    let mut contents = archive.close().expect("still there");
    let mut rest = Vec::new();
    contents.read_back(0, Nanos::ZERO, &mut rest);
    assert_eq!(reads(&rest), (0..10).collect::<Vec<_>>());
    assert!(
        contents
            .failure()
            .is_some_and(|message| message.contains("permission denied"))
    );
}

#[test]
fn the_sink_receives_all_intervals_within_a_second() {
    let received = Arc::new(Mutex::new(Vec::new()));
    let sink_end = Arc::clone(&received);
    let sink: IntervalSink = Box::new(move |new| {
        let new = new.iter().map(|(job, intervals)| (*job, reads(intervals)));
        sink_end.lock().expect("no panic").extend(new);
    });
    let archive = open((2, 1000, 100_000_000), memory, Some(sink));
    let job_archive = archive.for_job(1);
    assert_eq!(
        job_archive.batch, 5,
        "five intervals of 100 ms are half a second"
    );
    give(&job_archive, chunk(1, 0, 5));
    job_archive.send_partial(interval(1, 5));
    give(&job_archive, chunk(1, 5, 10));
    let mut rest = chunk(1, 10, 12);
    archive
        .close()
        .expect("still there")
        .read_back(1, Nanos::ZERO, &mut rest);
    assert_eq!(
        *received.lock().expect("no panic"),
        [
            (1, vec![0, 1, 2, 3, 4]),
            (1, vec![5]),
            (1, vec![5, 6, 7, 8, 9])
        ]
    );
    assert_eq!(
        reads(&rest),
        (0..12).collect::<Vec<u64>>(),
        "partial intervals are not in the result"
    );
}
