//! fio's log files: bw, iops, lat, clat, slat, and latency histograms, written as entries arrive.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufWriter, Write};

use fathom_model::{Accounting, Job, LogChunk, LogKind, Logs, Plan};

use crate::compressed::stream;
use crate::log_lines::{hist_line, lines};
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
