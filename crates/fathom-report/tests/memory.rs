//! The memory to write a document must not grow with the length of its run. Alone
//! in its program, whose memory it looks at.

#[path = "it/common/mod.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod common;

use std::io::{self, Write};

use fathom_model::{
    Direction, Histogram, MergedInterval, MergedIntervalDirection, Nanos, PerDirection,
    Personality, SparseHistogram,
};
use fathom_report::{Style, json};

/// Counts bytes and keeps none.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Most that was resident in this process since `forget`, KiB (proc_pid_status(5)).
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("our own process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a peak");
    line.trim()
        .trim_end_matches("kB")
        .trim()
        .parse()
        .expect("a number")
}

/// Begins the peak anew (proc_pid_clear_refs(5)); false where that is not allowed.
fn forget() -> bool {
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// An interval of 100 ms with 60 different latencies.
fn moment(n: u64) -> MergedInterval {
    let mut latencies = Histogram::new();
    (0..60).for_each(|k| latencies.record(1_000 + 137 * k));
    let figures = MergedIntervalDirection {
        ios: 60,
        bytes: 60 << 12,
        p50: Some(5_000),
        latencies: SparseHistogram::pack(&latencies),
        ..MergedIntervalDirection::default()
    };
    let mut directions = PerDirection::<MergedIntervalDirection>::default();
    directions[Direction::Read] = figures;
    MergedInterval {
        start: Nanos::from_millis(n * 100),
        length: Nanos::from_millis(100),
        directions,
    }
}

/// Regression 0210: json+ of ten minutes took 57 MiB in addition to the run itself, because it was
/// in memory twice.
#[test]
fn a_document_of_any_length_is_written_in_the_memory_of_one_interval() {
    let mut findings = common::empty(Personality::Fathom);
    let mut entry = common::idle("long");
    entry.series = (0..20_000).map(moment).collect();
    findings.entries.push(entry);
    if !forget() {
        return fathom_testkit::skip("the peak of this process cannot be begun anew");
    }
    let (before, mut out) = (peak(), Counted(0));
    json(&findings, &Style::default(), true, &mut out).expect("it takes everything");
    let taken = peak() - before;
    assert!(out.0 > 10 << 20, "{} bytes are not a long document", out.0);
    assert!(taken < 1024, "{taken} KiB to write {} bytes", out.0);
}
