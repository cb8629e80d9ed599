//! Log entries of one job, collected in the load loop and sent in chunks.

use std::sync::mpsc::SyncSender;

use fathom_model::{
    Direction, HistEntry, Histogram, LogChunk, LogEntry, LogKind, LogWindow, Logs, Nanos,
    PerDirection, SparseHistogram, TraceAction, TraceEntry,
};

use crate::engine::{Op, Request};
use crate::io_log::{IoLog, IoLogSink, LoggedIo};

/// Entries collected before they are sent: at most 256 KiB of each log.
const CHUNK: usize = 4096;
/// Rows have whole milliseconds.
const LOG_RESOLUTION_NS: u64 = 1_000_000;
const KINDS: [LogKind; 5] = [
    LogKind::Bw,
    LogKind::Iops,
    LogKind::Lat,
    LogKind::Clat,
    LogKind::Slat,
];

/// One I/O that completed successfully.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logged {
    pub direction: Direction,
    pub len: u32,
    pub file: u32,
    pub offset: u64,
    pub due: u64,
    pub slat: u64,
    pub clat: u64,
    pub lat: u64,
    pub issued: u64,
    pub done: u64,
    pub prio: u16,
}

/// Collects the log entries of one job.
pub(crate) struct Logger {
    job: u32,
    logs: Logs,
    wanted: [bool; 5],
    sink: SyncSender<LogChunk>,
    /// When the job started: time zero of a trace.
    launched: u64,
    /// When measuring starts: time zero of the logs.
    start: u64,
    /// Added to log times: 0, or the wall clock at the start.
    epoch: u64,
    /// Rates of windows without an I/O are written as 0.
    zero_rows: bool,
    prio: u16,
    uses: PerDirection<bool>,
    buffers: [Vec<LogEntry>; 5],
    trace: Vec<TraceEntry>,
    window_start: u64,
    windows: PerDirection<Window>,
    hist_start: u64,
    hists: PerDirection<(Histogram, u32)>,
    /// The log with the times of each I/O.
    io_log: Option<IoLog>,
}

/// The values of the current window of `log_avg_msec`.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    ios: u64,
    bytes: u64,
    /// Sum and maximum of lat, clat and slat.
    latency: [(u64, u64); 3],
}

/// `sum / n` rounded to the nearest integer, halves up, as fio writes the mean of a window.
fn rounded(sum: u64, n: u64) -> u64 {
    ((u128::from(sum) + u128::from(n) / 2) / u128::from(n)) as u64
}

/// The parameters of a new logger.
pub(crate) struct LoggerSetup {
    pub job: u32,
    pub logs: Logs,
    pub sink: SyncSender<LogChunk>,
    /// Takes the times of each I/O.
    pub io_log: Option<IoLogSink>,
    pub launched: Nanos,
    /// End of the warm-up.
    pub start: Nanos,
    /// Wall clock at `start`.
    pub unix_start_ns: u64,
    pub zero_rows: bool,
    pub synchronous: bool,
    /// The priority of I/Os that have none of their own.
    pub prio: u16,
    pub uses: PerDirection<bool>,
}

impl Logger {
    /// The logger of a job; `None` if it has no log.
    pub fn new(setup: LoggerSetup) -> Option<Logger> {
        let logs = &setup.logs;
        let lat = logs.lat.is_some();
        let wanted = [
            logs.bw.is_some(),
            logs.iops.is_some(),
            lat,
            lat,
            lat && !setup.synchronous,
        ];
        if !wanted.contains(&true)
            && logs.hist.is_none()
            && logs.trace.is_none()
            && setup.io_log.is_none()
        {
            return None;
        }
        let start = setup.start.get();
        Some(Logger {
            job: setup.job,
            wanted,
            sink: setup.sink,
            launched: setup.launched.get(),
            start,
            epoch: if logs.unix_epoch {
                setup.unix_start_ns
            } else {
                0
            },
            zero_rows: setup.zero_rows,
            prio: setup.prio,
            uses: setup.uses,
            buffers: Default::default(),
            trace: Vec::new(),
            window_start: start,
            windows: PerDirection::default(),
            hist_start: start,
            hists: PerDirection::default(),
            io_log: setup.io_log.map(|sink| IoLog::new(setup.job, &sink)),
            logs: setup.logs,
        })
    }

    /// Whether [`Logger::sent`] must be called for each request.
    pub fn traces(&self) -> bool {
        self.logs.trace.is_some()
    }

    /// A request was submitted: one line of the trace.
    pub fn sent(&mut self, request: &Request, at: u64) {
        let action = match request.op {
            Op::Read => TraceAction::Read,
            Op::Write => TraceAction::Write,
            Op::Trim => TraceAction::Trim,
            Op::Fsync => TraceAction::Sync,
            Op::Fdatasync => TraceAction::Datasync,
            // The format has no line for it that a replay reads.
            Op::SyncFileRange(_) => return,
        };
        let Request {
            file, offset, len, ..
        } = *request;
        self.trace.push(TraceEntry {
            at: Nanos::new(at.saturating_sub(self.launched)),
            file,
            action,
            offset,
            len,
            done: Nanos::MAX,
        });
        if self.trace.len() == CHUNK {
            self.flush_trace();
        }
    }

    fn flush_trace(&mut self) {
        let entries = std::mem::take(&mut self.trace);
        self.send(LogChunk::Trace {
            job: self.job,
            entries,
        });
    }

    /// Logs an I/O.
    pub fn io(&mut self, io: &Logged) {
        if io.done < self.start {
            return;
        }
        if let Some(log) = &mut self.io_log {
            log.io(LoggedIo {
                direction: io.direction,
                file: io.file,
                offset: io.offset,
                len: io.len,
                due: Nanos::new(io.due),
                submitted: Nanos::new(io.done - io.lat),
                reaped: Nanos::new(io.done),
            });
        }
        self.advance(io.done);
        if self.logs.average.is_zero() {
            self.each(io);
        } else {
            let window = &mut self.windows[io.direction];
            window.ios += 1;
            window.bytes += u64::from(io.len);
            for (kept, value) in window.latency.iter_mut().zip([io.lat, io.clat, io.slat]) {
                kept.0 += value;
                kept.1 = kept.1.max(value);
            }
        }
        if self.logs.hist.is_some() {
            let (hist, block_size) = &mut self.hists[io.direction];
            hist.record(io.clat);
            *block_size = io.len;
        }
    }

    /// Closes windows that ended before `now`.
    fn advance(&mut self, now: u64) {
        let window = self.logs.average.get();
        while window > 0 && now >= self.window_start + window {
            self.close_window(self.window_start + window);
        }
        let every = self.logs.hist_every.get();
        while self.logs.hist.is_some() && every > 0 && now >= self.hist_start + every {
            self.close_hist(self.hist_start + every);
        }
    }

    /// One entry for one I/O. The bandwidth of one I/O is its bytes over its latency, in KiB/s, as
    /// in fio.
    fn each(&mut self, io: &Logged) {
        let bandwidth =
            (u128::from(io.len) * 1_000_000_000 / 1024 / u128::from(io.clat.max(1))) as u64;
        let values = [bandwidth, 1, io.lat, io.clat, io.slat];
        for (kind, value) in values.into_iter().enumerate() {
            if self.wanted[kind] {
                let entry = LogEntry {
                    at: Nanos::new(io.done - self.start + self.epoch),
                    value,
                    // A single I/O has no window: fio writes 0 for its maximum.
                    max: None,
                    direction: io.direction,
                    block_size: io.len,
                    offset: io.offset,
                    prio: if io.prio == 0 { self.prio } else { io.prio },
                    issued: Nanos::new(io.issued.saturating_sub(self.start)),
                };
                self.push(kind, entry);
            }
        }
    }

    fn close_window(&mut self, end: u64) {
        let length = (end - self.window_start).max(1);
        for direction in Direction::ALL {
            let window = std::mem::take(&mut self.windows[direction]);
            if self.uses[direction] && (window.ios > 0 || self.zero_rows) {
                self.entries_of_window(direction, window, length, end);
            }
        }
        self.window_start = end;
    }

    /// Whether the last window is so short that a rate over it is meaningless: the
    /// I/Os that were still in flight would give a very high rate. fio writes rates of whole
    /// windows only.
    fn is_too_short(&self, length: u64) -> bool {
        let whole = self.logs.average.get();
        length < if self.zero_rows { whole / 2 } else { whole }
    }

    fn entries_of_window(&mut self, direction: Direction, window: Window, length: u64, end: u64) {
        let per_second = |n: u64, unit: u128| {
            let length = u128::from(length) * unit;
            ((u128::from(n) * 1_000_000_000 + length / 2) / length) as u64
        };
        let (bandwidth, iops) = (per_second(window.bytes, 1024), per_second(window.ios, 1));
        let latency = |of: usize| {
            (
                rounded(window.latency[of].0, window.ios.max(1)),
                window.latency[of].1,
            )
        };
        let values = [
            (bandwidth, bandwidth),
            (iops, iops),
            latency(0),
            latency(1),
            latency(2),
        ];
        for (kind, (mean, max)) in values.into_iter().enumerate() {
            let is_rate = kind < 2;
            if !self.wanted[kind]
                || (is_rate && self.is_too_short(length))
                || (!is_rate && window.ios == 0)
            {
                continue;
            }
            let entry = LogEntry {
                at: Nanos::new(end - self.start + self.epoch),
                value: if self.logs.window == LogWindow::Max {
                    max
                } else {
                    mean
                },
                max: (self.logs.window == LogWindow::Both).then_some(max),
                direction,
                block_size: 0,
                offset: 0,
                prio: 0,
                issued: Nanos::ZERO,
            };
            self.push(kind, entry);
        }
    }

    fn close_hist(&mut self, end: u64) {
        let mut entries = Vec::new();
        for direction in Direction::ALL {
            let (hist, block_size) = &mut self.hists[direction];
            if hist.count() > 0 {
                let at = Nanos::new(end - self.start + self.epoch);
                entries.push(HistEntry {
                    at,
                    direction,
                    block_size: *block_size,
                    clat: SparseHistogram::pack(hist),
                });
                hist.clear();
            }
        }
        if !entries.is_empty() {
            self.send(LogChunk::Histograms {
                job: self.job,
                entries,
            });
        }
        self.hist_start = end;
    }

    fn push(&mut self, kind: usize, entry: LogEntry) {
        if self.buffers[kind].capacity() == 0 {
            self.buffers[kind].reserve_exact(CHUNK);
        }
        self.buffers[kind].push(entry);
        if self.buffers[kind].len() == CHUNK {
            self.flush(kind);
        }
    }

    fn flush(&mut self, kind: usize) {
        let entries = std::mem::replace(&mut self.buffers[kind], Vec::with_capacity(CHUNK));
        self.send(LogChunk::Entries {
            job: self.job,
            kind: KINDS[kind],
            entries,
        });
    }

    fn send(&self, chunk: LogChunk) {
        // The receiver outlives every worker; if it is gone, the run is being aborted.
        let _ = self.sink.send(chunk);
    }

    /// Closes the last window and sends the remaining entries.
    pub fn finish(mut self, now: Nanos) {
        self.advance(now.get());
        if !self.logs.average.is_zero() && now.get() > self.window_start {
            self.close_window(now.get());
        }
        if self.logs.hist.is_some() && now.get() > self.hist_start {
            // Of two rows with the same millisecond, fio's own tools count only one.
            let has_rows = self.hist_start > self.start;
            let earliest = self.hist_start + LOG_RESOLUTION_NS * u64::from(has_rows);
            self.close_hist(now.get().max(earliest));
        }
        if !self.trace.is_empty() {
            self.flush_trace();
        }
        if let Some(log) = self.io_log.take() {
            log.finish();
        }
        for kind in 0..KINDS.len() {
            if !self.buffers[kind].is_empty() {
                self.flush(kind);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A logger of the first job, from time zero on.
    fn setup(logs: Logs, sink: SyncSender<LogChunk>) -> LoggerSetup {
        LoggerSetup {
            job: 0,
            logs,
            sink,
            io_log: None,
            launched: Nanos::ZERO,
            start: Nanos::ZERO,
            unix_start_ns: 0,
            zero_rows: false,
            synchronous: true,
            prio: 0,
            uses: PerDirection::all(true),
        }
    }

    /// A read of 4096 bytes that took `lat` nanoseconds.
    fn read(done: u64, lat: u64) -> Logged {
        Logged {
            direction: Direction::Read,
            len: 4096,
            file: 0,
            offset: 0,
            due: 0,
            slat: 0,
            clat: lat,
            lat,
            issued: 0,
            done,
            prio: 0,
        }
    }

    /// Regression 1476: a job that ended less than a millisecond after a row of its histogram log wrote another row with the same
    /// millisecond, and fio's tools missed the I/Os of one of them. Rows of 50 ms, and an end at 50.5 ms.
    #[test]
    fn r1476_rows_of_a_histogram_log_have_different_times() {
        let (sink, source) = std::sync::mpsc::sync_channel(8);
        let logs = Logs {
            hist: Some("x".into()),
            hist_every: Nanos::from_millis(50),
            ..Logs::default()
        };
        let mut logger = Logger::new(setup(logs, sink)).expect("a log is requested");
        logger.io(&read(49_000_000, 10));
        logger.io(&read(50_400_000, 10));
        logger.finish(Nanos::new(50_500_000));
        let rows: Vec<(u64, u64)> = source
            .iter()
            .filter_map(|chunk| match chunk {
                LogChunk::Histograms { entries, .. } => Some(entries),
                _ => None,
            })
            .flatten()
            .map(|entry| (entry.at.as_millis(), entry.clat.unpack().count()))
            .collect();
        assert_eq!(rows, [(50, 1), (51, 1)]);
    }

    /// The entries of a log of two I/Os of 4096 bytes, 10 and 15 ns, in one window or one by one.
    fn entries(average: Nanos) -> Vec<LogEntry> {
        let (sink, source) = std::sync::mpsc::sync_channel(8);
        let logs = Logs {
            lat: Some("x".into()),
            average,
            window: LogWindow::Both,
            ..Logs::default()
        };
        let mut logger = Logger::new(setup(logs, sink)).expect("a log is requested");
        for (done, lat) in [(1000, 10), (2000, 15)] {
            logger.io(&read(done, lat));
        }
        logger.finish(Nanos::from_millis(1));
        let lat = source.iter().find_map(|chunk| match chunk {
            LogChunk::Entries {
                kind: LogKind::Lat,
                entries,
                ..
            } => Some(entries),
            _ => None,
        });
        lat.expect("it has a latency log")
    }

    /// Rates of a job of `end` milliseconds with windows of 1000, with one I/O in flight at its
    /// end.
    fn rate_rows(end: u64, zero_rows: bool) -> Vec<(u64, u64)> {
        let (sink, source) = std::sync::mpsc::sync_channel(8);
        let logs = Logs {
            iops: Some("x".into()),
            average: Nanos::from_millis(1000),
            ..Logs::default()
        };
        let setup = LoggerSetup {
            zero_rows,
            uses: PerDirection([true, false, false]),
            ..setup(logs, sink)
        };
        let mut logger = Logger::new(setup).expect("a log is requested");
        for done in [500, end].map(|ms| Nanos::from_millis(ms).get()) {
            logger.io(&Logged {
                issued: done - 1,
                ..read(done, 1)
            });
        }
        logger.finish(Nanos::new(Nanos::from_millis(end).get() + 1));
        let entries = source.iter().flat_map(|chunk| match chunk {
            LogChunk::Entries { entries, .. } => entries,
            _ => Vec::new(),
        });
        entries
            .map(|entry| (entry.at.get() / 1_000_000, entry.value))
            .collect()
    }

    /// Regression 0007: the I/O that ends 1 ns after the last window was logged as 1,000,000,000
    /// IOPS.
    #[test]
    fn a_partial_window_has_no_rate() {
        assert_eq!(rate_rows(1000, true), [(1000, 1)]);
        assert_eq!(rate_rows(1000, false), [(1000, 1)]);
        // 1 I/O in 800 ms is 1.25 a second; fio 3.33 writes nothing for a window that is not whole.
        assert_eq!(rate_rows(1800, true), [(1000, 1), (1800, 1)]);
        assert_eq!(rate_rows(1800, false), [(1000, 1)]);
    }

    /// Regression 0003: means and maxima differed from fio, which rounds means half up and writes 0
    /// as the maximum of a single I/O.
    #[test]
    fn means_are_rounded_and_single_ios_have_no_maximum() {
        let seen = |average| {
            entries(average)
                .iter()
                .map(|e| (e.value, e.max))
                .collect::<Vec<_>>()
        };
        assert_eq!(seen(Nanos::from_millis(1)), [(13, Some(15))]);
        assert_eq!(seen(Nanos::ZERO), [(10, None), (15, None)]);
    }
}
