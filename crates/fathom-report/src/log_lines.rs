//! The lines of fio's log files, and the bins of its histogram logs.

use fathom_model::{Direction, HistEntry, Histogram, LogEntry, LogKind, LogWindow, Logs};

/// Typical length of a line, for reserving memory.
const TYPICAL_LINE: usize = 40;

/// Lines of `ms, value[, max], direction, block size[, offset], priority[, issue time]`. A log of every I/O slows
/// the load down if its lines take longer than the I/Os, so no line allocates memory.
pub(crate) fn lines(entries: &[LogEntry], kind: LogKind, logs: &Logs) -> String {
    let mut text = String::with_capacity(entries.len() * TYPICAL_LINE);
    let mut digits = itoa::Buffer::new();
    let timed = matches!(kind, LogKind::Clat | LogKind::Slat);
    for entry in entries {
        text.push_str(digits.format(entry.at.as_millis()));
        let mut column = |value: u64| {
            text.push_str(", ");
            text.push_str(digits.format(value));
        };
        column(entry.value);
        if logs.window == LogWindow::Both {
            column(entry.max.unwrap_or(0));
        }
        column(number(entry.direction).into());
        column(entry.block_size.into());
        if logs.offset {
            column(entry.offset);
        }
        if !logs.prio {
            column(is_realtime(entry.prio).into());
        } else {
            text += &format!(", 0x{:04x}", entry.prio);
        }
        if logs.issue_time {
            text.push_str(", ");
            text.push_str(digits.format(if timed { entry.issued.get() } else { 0 }));
        }
        text.push('\n');
    }
    text
}

fn number(direction: Direction) -> u8 {
    direction as u8
}

/// Class 1 of ioprio_set(2), in the three highest bits.
fn is_realtime(prio: u16) -> bool {
    prio >> 13 == 1
}

/// fio's bins: one for each value from 0 to 127 ns, then 64 for each power of two, up to 17 s.
const BINS: usize = 29 * 64;

/// `ms, direction, block size` and the counts of all bins, 2^coarseness of them added together.
pub(crate) fn hist_line(entry: &HistEntry, coarseness: u8) -> String {
    let bins = bins(&entry.clat.unpack());
    let mut line = format!(
        "{}, {}, {}",
        entry.at.as_millis(),
        number(entry.direction),
        entry.block_size
    );
    for group in bins.chunks(1 << coarseness.min(6)) {
        line += &format!(", {}", group.iter().sum::<u64>());
    }
    line + "\n"
}

/// Our buckets as fio's bins. Each bucket lies within one bin; larger values are in the last bin.
fn bins(histogram: &Histogram) -> Vec<u64> {
    let mut bins = vec![0; BINS];
    for (bucket, count) in histogram.indexed() {
        bins[bin_of(fathom_model::bucket_range(bucket).0)] += count;
    }
    bins[BINS - 1] += histogram.overflow();
    bins
}

fn bin_of(ns: u64) -> usize {
    let octave = ns.checked_ilog2().unwrap_or(0);
    if octave < 7 {
        return ns as usize;
    }
    let shift = octave - 6;
    let bin = ((shift as usize) << 6) + (ns >> shift) as usize;
    bin.min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bin's middle, by the description of fio's histogram.
    fn middle(bin: usize) -> u64 {
        if bin < 128 {
            return bin as u64;
        }
        let (group, place) = (bin / 64, bin % 64);
        let width = 1u64 << (group - 1);
        64 * width + place as u64 * width + width / 2
    }

    #[test]
    fn bins_are_fios() {
        // Bins seen in the json+ of fio 3.33.
        for seen in [10, 120, 131, 141, 262, 684, 1004, 52_992, 39_680] {
            assert_eq!(middle(bin_of(seen)), seen);
        }
        // fio's manual names 17.1 s, exactly 17,112,760,320 ns, as the middle of the last.
        assert_eq!(middle(BINS - 1), 17_112_760_320);
        assert_eq!(bin_of(u64::MAX), BINS - 1);
        let mut last = 0;
        for bucket in 0..fathom_model::BUCKETS {
            let (from, to) = fathom_model::bucket_range(bucket);
            assert_eq!(bin_of(from), bin_of(to), "a bucket falls into one bin");
            assert!(bin_of(from) >= last);
            last = bin_of(from);
        }
    }
}
