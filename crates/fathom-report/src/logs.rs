//! fio's log files: bw, iops, lat, clat, slat, and latency histograms, written as entries arrive.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufWriter, Write};

use fathom_model::{
    Accounting, Direction, HistEntry, Histogram, Job, LogChunk, LogEntry, LogKind, LogWindow, Logs,
    Plan,
};

use crate::compressed::stream;
use crate::trace::{HEADER, Trace};

/// How to open a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Create, or truncate an existing file.
    Create,
    /// Append, or create.
    Append,
}

/// Maximum number of open files; far below the usual limit of 1024 for a process.
const OPEN_FILES: usize = 128;

/// Writes log chunks as lines to files. It keeps no entries, so its memory does not grow with the run.
///
/// Names are fio's: `<prefix>_<kind>.<number of the job>.log`; an I/O log has the
/// name that the user chose. With `per_job_logs=0` all jobs append to `<prefix>_<kind>.log`, and lines of jobs that
/// run at the same time alternate.
pub struct LogWriter<F> {
    jobs: Vec<JobLogs>,
    open: F,
    files: HashMap<String, BufWriter<Box<dyn Write + Send>>>,
    made: HashSet<String>,
}

struct JobLogs {
    logs: Logs,
    number: u32,
    trace: Trace,
    /// Requested logs with their file names.
    names: HashMap<LogKind, String>,
}

impl<F> LogWriter<F>
where
    F: FnMut(&str, Mode) -> io::Result<Box<dyn Write + Send>>,
{
    /// A writer for the logs that the jobs of `plan` request; `open` opens a file by its name.
    pub fn new(plan: &Plan, open: F) -> Self {
        let jobs = plan.jobs.iter().map(JobLogs::of).collect();
        LogWriter {
            jobs,
            open,
            files: HashMap::new(),
            made: HashSet::new(),
        }
    }

    /// Whether any job requests a log.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.jobs.iter().any(|job| !job.names.is_empty())
    }

    /// Writes the entries of one chunk. Chunks of logs that were not requested are dropped.
    ///
    /// # Errors
    /// If opening or writing fails; the error names the file.
    pub fn write(&mut self, chunk: &LogChunk) -> io::Result<()> {
        let (job, kind) = match chunk {
            LogChunk::Entries { job, kind, .. } => (*job, *kind),
            LogChunk::Histograms { job, .. } => (*job, LogKind::Hist),
            LogChunk::Trace { job, .. } => (*job, LogKind::Trace),
        };
        let Some(job) = self.jobs.get_mut(job as usize) else {
            return Ok(());
        };
        let Some(name) = job.names.get(&kind).cloned() else {
            return Ok(());
        };
        let bytes = match chunk {
            LogChunk::Entries { entries, .. } if job.logs.compressed => {
                stream(entries, kind, &job.logs)?
            }
            LogChunk::Entries { entries, .. } => lines(entries, kind, &job.logs).into_bytes(),
            LogChunk::Histograms { entries, .. } => entries
                .iter()
                .map(|entry| hist_line(entry, job.logs.hist_coarseness))
                .collect::<String>()
                .into_bytes(),
            LogChunk::Trace { entries, .. } => job.trace.lines(entries).into_bytes(),
        };
        let per_job = job.logs.per_job && kind != LogKind::Trace;
        self.put(&name, per_job, &bytes)
            .map_err(|error| with_name(&name, &error))
    }

    fn put(&mut self, name: &str, per_job: bool, bytes: &[u8]) -> io::Result<()> {
        if !self.files.contains_key(name) {
            self.open_file(name, per_job)?;
        }
        self.files
            .get_mut(name)
            .map_or(Ok(()), |file| file.write_all(bytes))
    }

    fn open_file(&mut self, name: &str, per_job: bool) -> io::Result<()> {
        if self.files.len() >= OPEN_FILES {
            self.close()?;
        }
        let again = !self.made.insert(name.to_string());
        let mode = if again || !per_job {
            Mode::Append
        } else {
            Mode::Create
        };
        let mut file = BufWriter::new((self.open)(name, mode)?);
        if !again
            && self.jobs.iter().any(|job| {
                job.names
                    .get(&LogKind::Trace)
                    .is_some_and(|trace| trace == name)
            })
        {
            file.write_all(HEADER.as_bytes())?;
        }
        self.files.insert(name.to_string(), file);
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.files
            .drain()
            .try_for_each(|(_, mut file)| file.flush())
    }

    /// Ends the I/O logs, flushes all files, and creates files for logs without entries, as fio does.
    ///
    /// # Errors
    /// If opening or writing fails; the error names the file.
    pub fn finish(mut self) -> io::Result<()> {
        let last = |job: &mut JobLogs| {
            let (per_job, trace) = (job.logs.per_job, &mut job.trace);
            let of = |(kind, name): (&LogKind, &String)| match kind {
                LogKind::Trace => (name.clone(), false, trace.end()),
                _ => (name.clone(), per_job, String::new()),
            };
            job.names.iter().map(of).collect::<Vec<_>>()
        };
        let all: Vec<(String, bool, String)> = self.jobs.iter_mut().flat_map(last).collect();
        for (name, per_job, lines) in all {
            if !lines.is_empty() || !self.made.contains(&name) {
                self.put(&name, per_job, lines.as_bytes())
                    .map_err(|error| with_name(&name, &error))?;
            }
        }
        self.close()
    }
}

fn with_name(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("log file {name}: {error}"))
}

impl JobLogs {
    fn of(job: &Job) -> Self {
        let logs = job.accounting.logs.clone();
        let mut job_logs = JobLogs {
            logs,
            number: job.number,
            trace: Trace::of(job),
            names: HashMap::new(),
        };
        for (kind, prefix) in requested(&job.accounting) {
            let prefix = if prefix.is_empty() { &job.name } else { prefix };
            job_logs
                .names
                .insert(kind, job_logs.file_name(prefix, kind));
        }
        if let Some(name) = &job_logs.logs.trace {
            job_logs.names.insert(LogKind::Trace, name.clone());
        }
        job_logs
    }

    fn file_name(&self, prefix: &str, kind: LogKind) -> String {
        let end = if self.logs.compressed && kind != LogKind::Hist {
            "log.fz"
        } else {
            "log"
        };
        let kind = kind.name();
        if self.logs.per_job {
            format!("{prefix}_{kind}.{}.{end}", self.number)
        } else {
            format!("{prefix}_{kind}.{end}")
        }
    }
}

/// Logs that a job requests, with their prefixes. A latency that is not recorded has no log.
fn requested(accounting: &Accounting) -> impl Iterator<Item = (LogKind, &String)> {
    let logs = &accounting.logs;
    let recorded = |kind: bool| logs.lat.as_ref().filter(|_| kind);
    let all = [
        (LogKind::Bw, logs.bw.as_ref()),
        (LogKind::Iops, logs.iops.as_ref()),
        (LogKind::Lat, recorded(accounting.lat)),
        (LogKind::Clat, recorded(accounting.clat)),
        (LogKind::Slat, recorded(accounting.slat)),
        (LogKind::Hist, logs.hist.as_ref()),
    ];
    all.into_iter()
        .filter_map(|(kind, prefix)| prefix.map(|prefix| (kind, prefix)))
}

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
fn hist_line(entry: &HistEntry, coarseness: u8) -> String {
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
