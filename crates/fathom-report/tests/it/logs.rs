//! Log files: their names, their columns, and that they are written as entries come.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use crate::common::{job, plan};
use fathom_model::{
    Direction, HistEntry, Histogram, Job, LogChunk, LogEntry, LogKind, LogWindow, Logs, Nanos,
    SparseHistogram, TraceAction, TraceEntry,
};
use fathom_report::{LogWriter, Mode};

/// Files in memory.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

struct File(Disk, String);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .0
            .lock()
            .expect("not poisoned")
            .entry(self.1.clone())
            .or_default()
            .extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk {
    fn open(&self, name: &str, mode: Mode) -> Box<dyn Write + Send> {
        let mut files = self.0.lock().expect("not poisoned");
        let file = files.entry(name.into()).or_default();
        if mode == Mode::Create {
            file.clear();
        }
        Box::new(File(self.clone(), name.into()))
    }

    fn text(&self, name: &str) -> String {
        let files = self.0.lock().expect("not poisoned");
        let file = files
            .get(name)
            .unwrap_or_else(|| panic!("no {name} among {:?}", files.keys()));
        String::from_utf8(file.clone()).expect("logs are text")
    }

    fn names(&self) -> Vec<String> {
        self.0
            .lock()
            .expect("not poisoned")
            .keys()
            .cloned()
            .collect()
    }
}

fn written(jobs: Vec<Job>, chunks: &[LogChunk]) -> Disk {
    let disk = Disk::default();
    write_to(&disk, jobs, chunks);
    disk
}

fn write_to(disk: &Disk, jobs: Vec<Job>, chunks: &[LogChunk]) {
    let opener = disk.clone();
    let mut writer = LogWriter::new(&plan(jobs), move |name: &str, mode| {
        Ok(opener.open(name, mode))
    });
    for chunk in chunks {
        writer.write(chunk).expect("memory takes everything");
    }
    writer.finish().expect("memory takes everything");
}

fn entry() -> LogEntry {
    LogEntry {
        at: Nanos::new(12_345_678_901),
        value: 4242,
        max: None,
        direction: Direction::Write,
        block_size: 8192,
        offset: 65_536,
        prio: 0x2004,
        issued: Nanos::new(12_345_000_000),
    }
}

/// An averaged entry: no block size, offset or issue time.
fn window() -> LogEntry {
    LogEntry {
        max: Some(9999),
        block_size: 0,
        offset: 0,
        prio: 0,
        issued: Nanos::ZERO,
        ..entry()
    }
}

fn chunk(job: u32, kind: LogKind, entry: LogEntry) -> LogChunk {
    LogChunk::Entries {
        job,
        kind,
        entries: vec![entry],
    }
}

/// `d` any decimal number, `x` a hexadecimal one, anything else itself.
#[track_caller]
fn assert_shape(line: &str, shape: &str) {
    let fields: Vec<&str> = line
        .strip_suffix('\n')
        .expect("one line")
        .split(", ")
        .collect();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let hex = |text: &str| {
        text.len() > 2
            && text[2..]
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let fits = |field: &str, want: &str| match want {
        "d" => digits(field),
        "x" => field.starts_with("0x") && hex(field),
        other => field == other,
    };
    let wanted: Vec<&str> = shape.split(", ").collect();
    assert!(
        fields.len() == wanted.len() && fields.iter().zip(&wanted).all(|(f, w)| fits(f, w)),
        "{line:?} is not {shape:?}"
    );
}

fn some(prefix: &str) -> Option<String> {
    Some(prefix.into())
}

fn base() -> Logs {
    Logs {
        per_job: true,
        ..Logs::default()
    }
}

/// The job files and expressions of fio's test 33.
#[test]
fn shapes_of_fios_test_33() {
    let both = Logs {
        window: LogWindow::Both,
        average: Nanos::from_millis(100),
        ..base()
    };
    let jobs = vec![
        job(
            "job1",
            1,
            Logs {
                bw: some("log"),
                prio: true,
                ..base()
            },
        ),
        job(
            "job2",
            2,
            Logs {
                lat: some("log"),
                ..both.clone()
            },
        ),
        job(
            "job3",
            3,
            Logs {
                iops: some("log"),
                offset: true,
                prio: true,
                ..base()
            },
        ),
        job(
            "job4",
            4,
            Logs {
                iops: some("log"),
                offset: true,
                ..both
            },
        ),
    ];
    let chunks = [
        chunk(0, LogKind::Bw, entry()),
        chunk(1, LogKind::Clat, window()),
        chunk(2, LogKind::Iops, entry()),
        chunk(3, LogKind::Iops, window()),
    ];
    let disk = written(jobs, &chunks);
    assert_shape(&disk.text("log_bw.1.log"), "d, d, d, d, x");
    assert_shape(&disk.text("log_clat.2.log"), "d, d, d, d, 0, d");
    assert_shape(&disk.text("log_iops.3.log"), "d, d, d, d, d, x");
    assert_shape(&disk.text("log_iops.4.log"), "d, d, d, d, 0, 0, d");
}

/// The job files and expressions of fio's test 34.
#[test]
fn shapes_of_fios_test_34() {
    let timed = Logs {
        lat: some("log"),
        offset: true,
        issue_time: true,
        ..base()
    };
    let jobs = vec![
        job("job1", 1, timed.clone()),
        job(
            "job2",
            2,
            Logs {
                window: LogWindow::Both,
                average: Nanos::from_millis(100),
                ..timed.clone()
            },
        ),
        job(
            "job3",
            3,
            Logs {
                bw: some("log"),
                iops: some("log"),
                ..timed
            },
        ),
    ];
    let kinds = [LogKind::Clat, LogKind::Slat, LogKind::Lat];
    let mut chunks: Vec<LogChunk> = kinds.iter().map(|kind| chunk(0, *kind, entry())).collect();
    chunks.push(chunk(1, LogKind::Clat, window()));
    chunks.push(chunk(2, LogKind::Bw, entry()));
    chunks.push(chunk(2, LogKind::Iops, entry()));
    let disk = written(jobs, &chunks);
    assert_shape(&disk.text("log_clat.1.log"), "d, d, d, d, d, d, d");
    assert_shape(&disk.text("log_slat.1.log"), "d, d, d, d, d, d, d");
    assert_shape(&disk.text("log_lat.1.log"), "d, d, d, d, d, d, 0");
    assert_shape(&disk.text("log_clat.2.log"), "d, d, d, d, 0, 0, d, 0");
    assert_shape(&disk.text("log_bw.3.log"), "d, d, d, d, d, d, 0");
    assert_shape(&disk.text("log_iops.3.log"), "d, d, d, d, d, d, 0");
}

#[test]
fn values_stand_where_they_belong() {
    let all = Logs {
        lat: some("p"),
        offset: true,
        prio: true,
        issue_time: true,
        window: LogWindow::Both,
        ..base()
    };
    let disk = written(
        vec![job("j", 7, all)],
        &[chunk(
            0,
            LogKind::Clat,
            LogEntry {
                max: Some(5000),
                ..entry()
            },
        )],
    );
    assert_eq!(
        disk.text("p_clat.7.log"),
        "12345, 4242, 5000, 1, 8192, 65536, 0x2004, 12345000000\n"
    );
    // Without log_prio only the real-time class (1 << 13) differs from the others.
    for (prio, shown) in [(0x2004, 1), (0x4004, 0), (0, 0)] {
        let logs = Logs {
            bw: some(""),
            ..base()
        };
        let disk = written(
            vec![job("j", 1, logs)],
            &[chunk(0, LogKind::Bw, LogEntry { prio, ..entry() })],
        );
        assert_eq!(
            disk.text("j_bw.1.log"),
            format!("12345, 4242, 1, 8192, {shown}\n")
        );
    }
}

#[test]
fn files_of_logs_without_entries_exist_too() {
    let disk = written(
        vec![job(
            "j",
            1,
            Logs {
                lat: some("p"),
                bw: some("q"),
                hist: some("r"),
                ..base()
            },
        )],
        &[],
    );
    assert_eq!(
        disk.names(),
        [
            "p_clat.1.log",
            "p_lat.1.log",
            "p_slat.1.log",
            "q_bw.1.log",
            "r_clat_hist.1.log"
        ]
    );
}

#[test]
fn one_file_for_all_jobs_is_written_on() {
    let logs = Logs {
        bw: some("p"),
        ..Logs::default()
    };
    let jobs = || vec![job("a", 1, logs.clone()), job("b", 2, logs.clone())];
    let chunks = [
        chunk(0, LogKind::Bw, entry()),
        chunk(1, LogKind::Bw, entry()),
    ];
    let disk = written(jobs(), &chunks);
    assert_eq!(disk.names(), ["p_bw.log"]);
    assert_eq!(disk.text("p_bw.log").lines().count(), 2);
    write_to(&disk, jobs(), &chunks);
    assert_eq!(
        disk.text("p_bw.log").lines().count(),
        4,
        "an older file is kept"
    );
}

#[test]
fn a_file_for_each_job_is_made_anew_and_many_are_not_open_at_once() {
    let jobs = || {
        (1..=400)
            .map(|n| {
                job(
                    "j",
                    n,
                    Logs {
                        bw: some("p"),
                        ..base()
                    },
                )
            })
            .collect::<Vec<_>>()
    };
    let round = || (0..400).map(|n| chunk(n, LogKind::Bw, entry()));
    let chunks: Vec<LogChunk> = round().chain(round()).collect();
    let disk = written(jobs(), &chunks);
    write_to(&disk, jobs(), &chunks);
    assert_eq!(disk.names().len(), 400);
    assert!(
        disk.names()
            .iter()
            .all(|name| disk.text(name).lines().count() == 2)
    );
}

#[test]
fn histogram_lines_have_fios_bins() {
    let mut clat = Histogram::new();
    // By hand: 127 is the last exact bin; 128 and 129 share bin 128; 2^33 begins group 28, bin 1792; 40 s is above all.
    [127, 128, 129, 1 << 33, 40_000_000_000]
        .iter()
        .for_each(|ns| clat.record(*ns));
    let entries = vec![HistEntry {
        at: Nanos::from_millis(2000),
        direction: Direction::Read,
        block_size: 4096,
        clat: SparseHistogram::pack(&clat),
    }];
    for (coarseness, bins) in [(0u8, 1856), (3, 232), (6, 29)] {
        let logs = Logs {
            hist: some("h"),
            hist_coarseness: coarseness,
            ..base()
        };
        let disk = written(
            vec![job("j", 1, logs)],
            &[LogChunk::Histograms {
                job: 0,
                entries: entries.clone(),
            }],
        );
        let text = disk.text("h_clat_hist.1.log");
        let fields: Vec<u64> = text
            .trim_end()
            .split(", ")
            .map(|field| field.parse().expect("a number"))
            .collect();
        assert_eq!(fields[..3], [2000, 0, 4096]);
        assert_eq!(fields.len(), 3 + bins);
        let filled: Vec<(usize, u64)> = fields[3..]
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, n)| *n > 0)
            .collect();
        let expected =
            [(127, 1), (128, 2), (1792, 1), (1855, 1)].map(|(bin, n)| (bin >> coarseness, n));
        let mut merged: Vec<(usize, u64)> = vec![];
        for (bin, n) in expected {
            match merged.last_mut() {
                Some(last) if last.0 == bin => last.1 += n,
                _ => merged.push((bin, n)),
            }
        }
        assert_eq!(filled, merged);
    }
}

#[test]
fn errors_name_the_file() {
    let jobs = vec![job(
        "j",
        1,
        Logs {
            bw: some("no/such/p"),
            ..base()
        },
    )];
    let refuse = |_: &str, _| Err(io::Error::from(io::ErrorKind::NotFound));
    let mut writer = LogWriter::new(&plan(jobs), refuse);
    let error = writer
        .write(&chunk(0, LogKind::Bw, entry()))
        .expect_err("the directory does not exist");
    assert!(
        error
            .to_string()
            .starts_with("log file no/such/p_bw.1.log: "),
        "{error}"
    );
}

/// fio 3.33 replays this text; the words and their order are those of its version 3.
#[test]
fn a_trace_names_files_before_and_after_their_ios() {
    let mut tracing = job(
        "j",
        1,
        Logs {
            trace: some("io.trace"),
            ..base()
        },
    );
    tracing.files.paths = vec!["a".into(), "b".into()];
    let entry = |us: u64, file, action, offset, len| TraceEntry {
        at: Nanos::new(us * 1000 + 999),
        file,
        action,
        offset,
        len,
        done: Nanos::MAX,
    };
    let first = vec![
        entry(5, 1, TraceAction::Read, 4096, 512),
        entry(6, 0, TraceAction::Datasync, 0, 0),
    ];
    let second = vec![entry(7, 0, TraceAction::Trim, 8192, 1024)];
    let chunks = [first, second].map(|entries| LogChunk::Trace { job: 0, entries });
    let disk = written(vec![tracing.clone()], &chunks);
    let text = "fio version 3 iolog\n0 a add\n0 b add\n0 a open\n0 b open\n\
        5 b read 4096 512\n6 a datasync 0 0\n7 a trim 8192 1024\n7 a close\n7 b close\n";
    assert_eq!(disk.text("io.trace"), text);
    write_to(&disk, vec![tracing], &[]);
    assert!(
        disk.text("io.trace").starts_with(text),
        "the file is written on at its end, as in fio"
    );
}
