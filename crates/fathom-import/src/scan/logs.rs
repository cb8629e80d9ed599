//! Converts all logs of one prefix to one timeline per entry, job by job, so that memory holds only
//! one job and the sum.

use std::collections::BTreeMap;
use std::io::{self, Read};

use fathom_model::{Direction, Histogram, LogKind, PerDirection, SparseHistogram};

use super::error::LogError;
use super::hist_log::HistLog;
use super::name::LogName;
use super::row::{EPOCH_MS, Row, rows};
use super::timeline::{LogStep, Tail, Timeline};

/// Limit of steps for all entries of a group: 64 bytes per step and direction.
const MOST_STEPS: usize = 1 << 18;
/// Limit of steps in one timeline.
const LONGEST: usize = 1 << 14;
/// Step of logs with a row for each I/O, milliseconds.
const FINE_MS: u64 = 100;
/// fio's usual averaging window, if the logs do not show another.
const USUAL_MS: u64 = 1000;

/// The logs of one prefix.
#[derive(Debug, Default)]
pub struct Group {
    /// In any order.
    pub files: Vec<LogFile>,
}

/// A log file.
#[derive(Clone, Debug)]
pub struct LogFile {
    /// As the caller names it.
    pub path: String,
    /// What its name says.
    pub name: LogName,
    /// Time of its first row, milliseconds; `None` if it is empty.
    pub first: Option<u64>,
    /// Usual interval between the rows at its beginning; `None` if it has a row for each I/O.
    pub window: Option<u64>,
    /// Whether it has a row for each I/O.
    pub each: bool,
    /// All of a small file, so that it is opened once.
    pub text: Option<Vec<u8>>,
}

/// Properties of a log that its beginning shows.
#[must_use]
pub fn inspect_log_head(path: &str, name: LogName, head: &[u8]) -> LogFile {
    let mut seen: Vec<Row> = Vec::new();
    let _ = rows(&mut &head[..], &mut |row| seen.push(row));
    let each = seen.first().is_some_and(|row| row.size > 0) && name.kind != LogKind::Hist;
    let hist = || {
        std::str::from_utf8(head)
            .ok()?
            .split(',')
            .next()?
            .trim()
            .parse()
            .ok()
    };
    let first = if name.kind == LogKind::Hist {
        hist()
    } else {
        seen.first().map(|row| row.at)
    };
    LogFile {
        path: path.to_owned(),
        name,
        first,
        window: window(&seen),
        each,
        text: None,
    }
}

/// The smallest frequent interval between rows of one direction: missing rows make larger ones, a
/// late timer smaller ones.
fn window(seen: &[Row]) -> Option<u64> {
    let mut gaps: Vec<u64> = Vec::new();
    for direction in Direction::ALL {
        let times: Vec<u64> = seen
            .iter()
            .filter(|row| row.direction == direction)
            .map(|row| row.at)
            .collect();
        gaps.extend(
            times
                .windows(2)
                .map(|pair| pair[1].saturating_sub(pair[0]))
                .filter(|gap| *gap > 0),
        );
    }
    gaps.sort_unstable();
    let rare = gaps.len() / 50;
    let usual = |gap: u64| {
        gaps.iter()
            .filter(|other| other.abs_diff(gap) * 20 <= gap)
            .count()
            > rare
    };
    let smallest = *gaps.iter().find(|gap| usual(**gap))?;
    let near: Vec<u64> = gaps
        .iter()
        .copied()
        .filter(|other| other.abs_diff(smallest) * 20 <= smallest)
        .collect();
    Some(near[near.len() / 2])
}

/// Opens a file again.
pub type Open<'a> = &'a dyn Fn(&str) -> io::Result<Box<dyn Read>>;
/// A file that could not be read, and why.
pub type Trouble = (String, LogError);

impl Group {
    /// Averaging window of the rows in milliseconds, estimated from the rows.
    #[must_use]
    pub fn window(&self) -> Option<u64> {
        let rate =
            |file: &&LogFile| matches!(file.name.kind, LogKind::Bw | LogKind::Iops) && !file.each;
        let shown = |all: Vec<&LogFile>| all.iter().filter_map(|file| file.window).min();
        shown(self.files.iter().filter(rate).collect())
            .or(shown(self.files.iter().filter(|file| !file.each).collect()))
    }

    /// The logs of each job, in ascending order, separately for each host.
    #[must_use]
    pub fn jobs(&self) -> Vec<Vec<&LogFile>> {
        let mut jobs: BTreeMap<(&str, u32), Vec<&LogFile>> = BTreeMap::new();
        for file in &self.files {
            jobs.entry((&file.name.host, file.name.job))
                .or_default()
                .push(file);
        }
        jobs.into_values().collect()
    }

    /// Start of the first window in the log's own milliseconds: 0 unless they count from 1970.
    fn origin(&self, window: u64) -> u64 {
        let first = self
            .files
            .iter()
            .filter_map(|file| file.first)
            .min()
            .unwrap_or(0);
        if first < EPOCH_MS {
            0
        } else {
            first.saturating_sub(window) / window * window
        }
    }

    /// One timeline for each of `parts`; `part_of` maps the index of a job to its part.
    pub fn timelines(
        &self,
        parts: usize,
        window: Option<u64>,
        part_of: &dyn Fn(usize) -> usize,
        open: Open,
        troubles: &mut Vec<Trouble>,
    ) -> Vec<Timeline> {
        let each = self.files.iter().any(|file| file.each);
        let window = window
            .filter(|ms| *ms > 0)
            .or(self.window())
            .unwrap_or(if each { FINE_MS } else { USUAL_MS });
        let (origin, largest) = (
            self.origin(window),
            (MOST_STEPS / parts.max(1)).clamp(256, LONGEST),
        );
        let mut all = vec![Timeline::new(origin, window, largest); parts];
        for (place, mut mine) in self.jobs().into_iter().enumerate() {
            mine.sort_by_key(|file| ORDER.iter().position(|kind| *kind == file.name.kind));
            let mut job = Job {
                line: Timeline::new(origin, window, largest),
                window,
                counted: false,
                sized: false,
                spread: false,
                counted_to: PerDirection::default(),
                tail_by: None,
            };
            for file in mine {
                if let Err(why) = job.read(file, open, troubles) {
                    troubles.push((file.path.clone(), why));
                }
            }
            job.add_open_tails();
            all[part_of(place).min(parts - 1)].merge(job.line);
        }
        all
    }
}

/// Counts first: they are the weights of the means.
const ORDER: [LogKind; 6] = [
    LogKind::Iops,
    LogKind::Bw,
    LogKind::Hist,
    LogKind::Clat,
    LogKind::Lat,
    LogKind::Slat,
];

/// State while the logs of one job are read.
struct Job {
    line: Timeline,
    window: u64,
    /// Its I/Os are known.
    counted: bool,
    /// Their bytes are known.
    sized: bool,
    /// The distribution of its latencies is known.
    spread: bool,
    /// End of the last row that counts I/Os or bytes, milliseconds since the origin.
    counted_to: PerDirection<u64>,
    /// The latency log that showed the end of the job.
    tail_by: Option<LogKind>,
}

impl Job {
    fn read(
        &mut self,
        file: &LogFile,
        open: Open,
        troubles: &mut Vec<Trouble>,
    ) -> Result<(), LogError> {
        if file.first.is_none() {
            return Ok(());
        }
        let mut input: Box<dyn Read + '_> = match &file.text {
            Some(text) => Box::new(&text[..]),
            None => open(&file.path)?,
        };
        if file.name.kind == LogKind::Hist {
            return self.histograms(input);
        }
        let cut = if file.each {
            self.each(file.name.kind, &mut *input)?
        } else {
            self.windows(file.name.kind, file.name.job == 0, &mut *input)?
        };
        if cut {
            troubles.push((
                file.path.clone(),
                LogError::Line {
                    line: 0,
                    why: "its last line is incomplete and was ignored",
                },
            ));
        }
        Ok(())
    }

    /// A row for each window.
    fn windows(
        &mut self,
        kind: LogKind,
        shared: bool,
        input: &mut dyn Read,
    ) -> Result<bool, LogError> {
        let window = self.window;
        if matches!(kind, LogKind::Clat | LogKind::Lat | LogKind::Slat) {
            return self.latency_windows(kind, shared, input);
        }
        let (line, counted_to) = (&mut self.line, &mut self.counted_to);
        let mut last_row: PerDirection<u64> = PerDirection::default();
        let cut = rows(input, &mut |row| {
            let value = row.value as f64;
            let at = line.since_origin(row.at);
            let to = &mut counted_to[row.direction];
            *to = at.max(*to);
            line.count_until(at);
            let since = at.saturating_sub(std::mem::replace(&mut last_row[row.direction], at));
            let covered = if shared {
                window
            } else {
                covered(since, window)
            };
            let seconds = covered as f64 / 1e3;
            line.share(
                row.direction,
                row.at,
                covered,
                &mut |cell, _, part| match kind {
                    LogKind::Iops => cell.ios += value * seconds * part,
                    LogKind::Bw => cell.bytes += value * 1024.0 * seconds * part,
                    _ => {}
                },
            );
        })?;
        self.counted |= kind == LogKind::Iops;
        self.sized |= kind == LogKind::Bw;
        Ok(cut)
    }

    /// A row for each window, with a mean that is weighted by the counts of the same job, which were
    /// read before. In the tail, which has no counts, it is weighted by the usual rate of the job.
    fn latency_windows(
        &mut self,
        kind: LogKind,
        shared: bool,
        input: &mut dyn Read,
    ) -> Result<bool, LogError> {
        let (window, counts) = (self.window, self.counted || self.sized);
        let amounts = PerDirection::from_fn(|direction| self.line.amounts(direction));
        let step = self.line.step();
        let counted_to =
            PerDirection::from_fn(|direction| self.line.snapped(self.counted_to[direction]));
        let usual = PerDirection::from_fn(|direction| {
            let sum: f64 = amounts[direction].iter().sum();
            (sum / counted_to[direction].max(1) as f64).max(f64::MIN_POSITIVE)
        });
        let shows_end = *self.tail_by.get_or_insert(kind) == kind;
        let mut last_row: PerDirection<u64> = PerDirection::default();
        let line = &mut self.line;
        rows(input, &mut |row| {
            let direction = row.direction;
            let value = row.value as f64;
            let at = line.since_origin(row.at);
            let before = std::mem::replace(&mut last_row[direction], at);
            // Jobs that share a log have rows at nearly the same time.
            let before = if shared {
                0
            } else {
                before.min(at.saturating_sub(1))
            };
            let add = |cell: &mut LogStep, weight: f64| match kind {
                LogKind::Clat => cell.clat.add(value, weight),
                LogKind::Slat => cell.slat.add(value, weight),
                _ => cell.lat.add(value, weight),
            };
            if !counts || line.snapped(at) <= counted_to[direction] {
                line.share(direction, row.at, window, &mut |cell, begin, part| {
                    let amount = amounts[direction].get((begin / step) as usize);
                    let amount = if counts {
                        amount.copied().unwrap_or(0.0)
                    } else {
                        1.0
                    };
                    add(cell, amount * part);
                });
                return;
            }
            let from = at
                .saturating_sub(window)
                .max(counted_to[direction])
                .max(before);
            let amount = usual[direction] * (at - from) as f64;
            line.share(direction, row.at, at - from, &mut |cell, _, part| {
                add(cell, amount * part);
            });
            if shows_end {
                line.add_tail(
                    direction,
                    Tail {
                        from,
                        to: at,
                        usual: amount,
                    },
                );
            }
        })
    }

    /// Without latency logs, a job may have done I/O for up to a window after its last row.
    fn add_open_tails(&mut self) {
        if self.tail_by.is_some() {
            return;
        }
        for direction in Direction::ALL {
            let from = self.counted_to[direction];
            if from > 0 {
                let sum: f64 = self.line.amounts(direction).iter().sum();
                let tail = Tail {
                    from,
                    to: from + self.window,
                    usual: sum * self.window as f64 / from as f64,
                };
                self.line.add_tail(direction, tail);
            }
        }
    }

    /// A row for each I/O: every log gives counts, latency logs also the distribution.
    fn each(&mut self, kind: LogKind, input: &mut dyn Read) -> Result<bool, LogError> {
        let (count, size) = (!self.counted, !self.sized);
        let latency = matches!(kind, LogKind::Clat | LogKind::Lat);
        let keep = latency && !self.spread;
        let mut open = StepHistograms::default();
        let line = &mut self.line;
        let cut = rows(input, &mut |row| {
            let cell = line.at(row.direction, row.at);
            cell.ios += if count { 1.0 } else { 0.0 };
            cell.bytes += if size { row.size as f64 } else { 0.0 };
            let mean = match kind {
                LogKind::Clat => Some(&mut cell.clat),
                LogKind::Lat => Some(&mut cell.lat),
                LogKind::Slat => Some(&mut cell.slat),
                _ => None,
            };
            if let Some(mean) = mean {
                mean.add(row.value as f64, 1.0);
            }
            if keep {
                open.add(line, &row);
            }
        })?;
        open.close(line);
        (self.counted, self.sized, self.spread) = (true, true, self.spread || keep);
        Ok(cut)
    }

    fn histograms(&mut self, input: Box<dyn Read + '_>) -> Result<(), LogError> {
        let lines = HistLog::new(std::io::BufReader::new(input));
        let count = !self.counted;
        for read in lines {
            let read = read?;
            let histogram = read.histogram();
            if histogram.count() == 0 {
                continue;
            }
            let at = read.at.as_millis();
            let cell = self.line.at(read.direction, at.saturating_sub(1));
            cell.ios += if count { histogram.count() as f64 } else { 0.0 };
            let mut both = cell.latencies.unpack();
            both.merge(&histogram);
            cell.latencies = SparseHistogram::pack(&both);
        }
        (self.counted, self.spread) = (true, true);
        Ok(())
    }
}

/// The time that a row covers: fio divides by the time since the row before it, which is a late
/// timer's. After a missing row that time is unknown: it is about the window.
fn covered(since: u64, window: u64) -> u64 {
    if 2 * since > window && 2 * since < 3 * window {
        since
    } else {
        window
    }
}

/// The histogram of the current step for each direction; rows are nearly in the order of time.
#[derive(Default)]
struct StepHistograms {
    open: [Option<(u64, Histogram)>; 3],
}

impl StepHistograms {
    fn add(&mut self, line: &mut Timeline, row: &Row) {
        let step = line.step();
        let open = &mut self.open[row.direction as usize];
        if open
            .as_ref()
            .is_some_and(|(at, _)| *at / step != row.at / step)
        {
            Self::put(line, row.direction, open);
        }
        open.get_or_insert_with(|| (row.at, Histogram::new()))
            .1
            .record(row.value);
    }

    fn put(line: &mut Timeline, direction: Direction, open: &mut Option<(u64, Histogram)>) {
        let Some((at, mut histogram)) = open.take() else {
            return;
        };
        let cell = line.at(direction, at);
        cell.latencies.add_to(&mut histogram);
        cell.latencies = SparseHistogram::pack(&histogram);
    }

    fn close(&mut self, line: &mut Timeline) {
        for direction in Direction::ALL {
            Self::put(line, direction, &mut self.open[direction as usize]);
        }
    }
}
