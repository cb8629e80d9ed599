use std::io::{Cursor, Error, ErrorKind, Read, Seek, Write};

use fathom_model::{Direction, Histogram, IntervalDirection, Nanos, PerDirection, SparseHistogram};

use super::*;

const STEP: u64 = 1_000_000;

/// Interval `n` of job `job`: as many reads as its number, all of one latency.
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

fn give(shelf: &JobArchive, mut intervals: Vec<Interval>) {
    while !shelf.take(&mut intervals) {
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
fn each_job_gets_its_own_back_in_order() {
    let archive = Archive::open(
        2,
        1000,
        STEP,
        Box::new(|| Ok(Box::new(Cursor::new(Vec::new())))),
        None,
    )
    .expect("a thread");
    for part in 0..10 {
        give(&archive.shelf(0), chunk(0, part * 10, part * 10 + 10));
        give(&archive.shelf(1), chunk(1, part * 7, part * 7 + 7));
    }
    let mut shelves = archive.close().expect("still there");
    assert!(
        shelves.kept.is_empty() && shelves.end > 0,
        "all of it went to the file"
    );
    for (job, to) in [(0, 100), (1, 70)] {
        let mut rest = chunk(job, to, to + 3);
        shelves.give_back(job, Nanos::ZERO, &mut rest);
        assert_eq!(reads(&rest), (0..to + 3).collect::<Vec<_>>());
        let mut all = Histogram::new();
        rest.iter()
            .for_each(|i| i.directions[Direction::Read].clat.add_to(&mut all));
        assert_eq!(
            all.sum(),
            u128::from((0..to + 3).sum::<u64>() * 1_000 * (job as u64 + 1))
        );
    }
    assert_eq!(shelves.trouble(), None);
}

#[test]
fn what_comes_back_is_bounded_and_nothing_is_lost() {
    let archive = Archive::open(
        1,
        16,
        STEP,
        Box::new(|| Ok(Box::new(Cursor::new(Vec::new())))),
        None,
    )
    .expect("a thread");
    give(&archive.shelf(0), chunk(0, 0, 1000));
    let mut rest = Vec::new();
    archive
        .close()
        .expect("still there")
        .give_back(0, Nanos::ZERO, &mut rest);
    assert!(rest.len() <= 16, "{}", rest.len());
    assert_eq!(reads(&rest).iter().sum::<u64>(), (0..1000).sum());
    assert_eq!(
        rest.iter().map(|i| i.length).sum::<Nanos>(),
        Nanos::new(1000 * STEP)
    );
}

#[test]
fn what_came_before_measuring_began_anew_is_left_out() {
    let archive = Archive::open(
        1,
        1000,
        STEP,
        Box::new(|| Ok(Box::new(Cursor::new(Vec::new())))),
        None,
    )
    .expect("a thread");
    give(&archive.shelf(0), chunk(0, 0, 100));
    let mut rest = chunk(0, 100, 103);
    archive
        .close()
        .expect("still there")
        .give_back(0, Nanos::new(90 * STEP), &mut rest);
    assert_eq!(reads(&rest), (90..103).collect::<Vec<_>>());
}

/// Holds some bytes and then no more.
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
fn a_full_disk_is_told_and_loses_nothing() {
    for room in [0, 100, 3_000] {
        let archive = Archive::open(
            1,
            64,
            STEP,
            Box::new(move || Ok(Box::new(Full(Cursor::new(Vec::new()), room)))),
            None,
        )
        .expect("a thread");
        (0..100).for_each(|part| give(&archive.shelf(0), chunk(0, part * 10, part * 10 + 10)));
        let mut shelves = archive.close().expect("still there");
        let mut rest = chunk(0, 1000, 1001);
        shelves.give_back(0, Nanos::ZERO, &mut rest);
        assert_eq!(reads(&rest).iter().sum::<u64>(), (0..1001).sum(), "{room}");
        assert!(
            rest.len() <= 64 && rest.is_sorted_by_key(|i| i.start),
            "{room}"
        );
        let said = shelves.trouble().expect("told");
        assert!(
            said.contains("TMPDIR") && said.contains("no storage space"),
            "{said}"
        );
    }
}

#[test]
fn a_folder_that_takes_no_file_is_told_too() {
    let archive = Archive::open(
        1,
        64,
        STEP,
        Box::new(|| Err(Error::from(ErrorKind::PermissionDenied))),
        None,
    )
    .expect("a thread");
    give(&archive.shelf(0), chunk(0, 0, 10));
    let mut shelves = archive.close().expect("still there");
    let mut rest = Vec::new();
    shelves.give_back(0, Nanos::ZERO, &mut rest);
    assert_eq!(reads(&rest), (0..10).collect::<Vec<_>>());
    assert!(
        shelves
            .trouble()
            .is_some_and(|said| said.contains("permission denied"))
    );
}

#[test]
fn who_keeps_intervals_hears_of_all_of_them_within_a_second() {
    use std::sync::{Arc, Mutex};
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let keep: KeepIntervals = Box::new(move |news| {
        let news = news.iter().map(|(job, intervals)| (*job, reads(intervals)));
        ear.lock().expect("no panic").extend(news);
    });
    let make = || -> io::Result<Box<dyn Scratch>> { Ok(Box::new(Cursor::new(Vec::new()))) };
    let archive =
        Archive::open(2, 1000, 100_000_000, Box::new(make), Some(keep)).expect("a thread");
    let shelf = archive.shelf(1);
    assert_eq!(
        shelf.at_once, 5,
        "five intervals of 100 ms are half a second"
    );
    give(&shelf, chunk(1, 0, 5));
    shelf.show(interval(1, 5));
    give(&shelf, chunk(1, 5, 10));
    let mut rest = chunk(1, 10, 12);
    archive
        .close()
        .expect("still there")
        .give_back(1, Nanos::ZERO, &mut rest);
    assert_eq!(
        *heard.lock().expect("no panic"),
        [
            (1, vec![0, 1, 2, 3, 4]),
            (1, vec![5]),
            (1, vec![5, 6, 7, 8, 9])
        ]
    );
    assert_eq!(
        reads(&rest),
        (0..12).collect::<Vec<u64>>(),
        "what an interval held so far is in no result"
    );
}
