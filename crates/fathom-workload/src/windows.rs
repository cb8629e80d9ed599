//! The load over time: windows whose width doubles as needed, phases, and offsets over time.

use crate::record::{IoKind, TraceIo};

/// Windows at most.
const WINDOWS: usize = 2048;
/// Width of the first windows, in nanoseconds.
const WIDTH: u64 = 10_000_000;
/// Windows in which phases are searched.
const COARSE: usize = 200;
/// Phases at most.
const PHASES: usize = 12;
/// Smallest part of the trace that is a phase.
const SMALLEST: f64 = 0.05;
/// Standard errors by which two phases must differ.
const ERRORS: f64 = 6.0;
/// Fields of the picture of offsets over time, in each direction.
const FIELDS: usize = 128;

/// One window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// I/Os issued in it.
    pub ios: u64,
    /// Reads.
    pub reads: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Sum over these I/Os of how many were in flight.
    pub in_flight: u64,
}

impl Window {
    fn add(&mut self, other: &Window) {
        self.ios += other.ios;
        self.reads += other.reads;
        self.bytes += other.bytes;
        self.in_flight += other.in_flight;
    }
}

/// The load over time.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime {
    /// Width of a window, in nanoseconds.
    pub width: u64,
    /// Windows from the first I/O on.
    pub windows: Vec<Window>,
}

impl Default for OverTime {
    fn default() -> Self {
        OverTime {
            width: WIDTH,
            windows: Vec::new(),
        }
    }
}

impl OverTime {
    /// An I/O, `since` nanoseconds after the first.
    pub(crate) fn add(&mut self, since: u64, io: &TraceIo, in_flight: u64) {
        while since / self.width >= WINDOWS as u64 {
            self.width = self.width.saturating_mul(2);
            self.windows = merged(&self.windows, 2);
        }
        let index = (since / self.width) as usize;
        if index >= self.windows.len() {
            self.windows.resize(index + 1, Window::default());
        }
        self.windows[index].add(&Window {
            ios: 1,
            reads: u64::from(io.kind == IoKind::Read),
            bytes: if io.has_data() {
                u64::from(io.length)
            } else {
                0
            },
            in_flight,
        });
    }

    /// In at most `count` windows.
    #[must_use]
    pub fn coarse(&self, count: usize) -> OverTime {
        let factor = self.windows.len().div_ceil(count.max(1)).max(1);
        OverTime {
            width: self.width * factor as u64,
            windows: merged(&self.windows, factor),
        }
    }

    /// Parts of the trace, `length` nanoseconds long, that differ in rate, mix or size.
    pub(crate) fn phases(&self, length: u64) -> Vec<Phase> {
        let coarse = self.coarse(COARSE);
        let mut windows = coarse.windows;
        // The last window is cut.
        if windows.len() > 2 && length % coarse.width < coarse.width / 2 {
            windows.pop();
        }
        let least = ((windows.len() as f64 * SMALLEST) as usize).max(5);
        let mut cuts = vec![0, windows.len()];
        while cuts.len() <= PHASES {
            let best = cuts
                .windows(2)
                .filter_map(|part| best_cut(&windows, part[0], part[1], least))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let Some((cut, _)) = best else { break };
            cuts.push(cut);
            cuts.sort_unstable();
        }
        let ends = cuts.len() - 2;
        cuts.windows(2)
            .enumerate()
            .map(|(index, part)| {
                let mut sum = Window::default();
                windows[part[0]..part[1]]
                    .iter()
                    .for_each(|window| sum.add(window));
                let start = part[0] as u64 * coarse.width;
                let measured = (part[1] - part[0]) as f64 * coarse.width as f64;
                let end = if index == ends {
                    length
                } else {
                    part[1] as u64 * coarse.width
                };
                let covered = if cuts.len() == 2 {
                    (length as f64).min(measured)
                } else {
                    measured
                };
                Phase {
                    start,
                    end,
                    iops: sum.ios as f64 * 1e9 / covered.max(1.0),
                    read_share: sum.reads as f64 / sum.ios.max(1) as f64,
                    mean_size: sum.bytes as f64 / sum.ios.max(1) as f64,
                }
            })
            .collect()
    }
}

/// A part of the trace with an even load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Its start, in nanoseconds after the first I/O.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Share of reads, 0 to 1.
    pub read_share: f64,
    /// Mean bytes of an I/O.
    pub mean_size: f64,
}

fn merged(windows: &[Window], factor: usize) -> Vec<Window> {
    windows
        .chunks(factor)
        .map(|part| {
            let mut sum = Window::default();
            part.iter().for_each(|window| sum.add(window));
            sum
        })
        .collect()
}

/// Sums of a quantity and of its squares up to each window.
struct Sums(Vec<(f64, f64, f64)>);

impl Sums {
    fn new(values: impl Iterator<Item = Option<f64>>) -> Sums {
        let mut sums = vec![(0.0, 0.0, 0.0)];
        for value in values {
            let (count, sum, squares) = sums[sums.len() - 1];
            sums.push(match value {
                Some(value) => (count + 1.0, sum + value, squares + value * value),
                None => (count, sum, squares),
            });
        }
        Sums(sums)
    }

    /// Mean, and the square of its standard error.
    fn mean(&self, from: usize, to: usize) -> Option<(f64, f64)> {
        let ((n0, s0, q0), (n1, s1, q1)) = (self.0[from], self.0[to]);
        let count = n1 - n0;
        if count < 3.0 {
            return None;
        }
        let mean = (s1 - s0) / count;
        let variance = ((q1 - q0) / count - mean * mean).max(0.0);
        Some((mean, variance / count))
    }

    /// By how many standard errors the parts differ, if they also differ by this much.
    fn contrast(
        &self,
        (from, cut, to): (usize, usize, usize),
        relevant: impl Fn(f64, f64) -> bool,
    ) -> f64 {
        match (self.mean(from, cut), self.mean(cut, to)) {
            (Some((a, va)), Some((b, vb))) if relevant(a, b) => {
                (a - b).abs() / (va + vb).sqrt().max(a.max(b) * 1e-3)
            }
            _ => 0.0,
        }
    }
}

/// The cut that separates two different loads most clearly.
fn best_cut(windows: &[Window], from: usize, to: usize, least: usize) -> Option<(usize, f64)> {
    if to - from < 2 * least {
        return None;
    }
    let part = &windows[from..to];
    let rate = Sums::new(part.iter().map(|window| Some(window.ios as f64)));
    let share = |value: fn(&Window) -> u64| {
        Sums::new(
            part.iter()
                .map(|window| (window.ios > 0).then(|| value(window) as f64 / window.ios as f64)),
        )
    };
    let (reads, sizes) = (share(|window| window.reads), share(|window| window.bytes));
    let ratio = |a: f64, b: f64| a.max(b) > 1.25 * a.min(b);
    (least..=part.len() - least)
        .map(|cut| {
            let at = (0, cut, part.len());
            let found = rate
                .contrast(at, ratio)
                .max(reads.contrast(at, |a, b| (a - b).abs() > 0.1))
                .max(sizes.contrast(at, ratio));
            (from + cut, found)
        })
        .filter(|(_, found)| *found > ERRORS)
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// How many I/Os went where at which time.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Nanoseconds of a column.
    pub width: u64,
    /// Bytes of a row.
    pub height: u64,
    /// Columns, each with a count for each row from offset 0.
    pub columns: Vec<Vec<u32>>,
}

impl Default for Picture {
    fn default() -> Self {
        Picture {
            width: WIDTH,
            height: 1 << 20,
            columns: Vec::new(),
        }
    }
}

impl Picture {
    pub(crate) fn add(&mut self, since: u64, offset: u64) {
        let sum = |pair: &[u32]| pair.iter().copied().fold(0, u32::saturating_add);
        while since / self.width >= FIELDS as u64 {
            self.width = self.width.saturating_mul(2);
            self.columns = self
                .columns
                .chunks(2)
                .map(|pair| {
                    let rows = pair.iter().map(Vec::len).max().unwrap_or(0);
                    let cell = |row: usize| {
                        pair.iter()
                            .map(|column| column.get(row).copied().unwrap_or(0))
                            .fold(0, u32::saturating_add)
                    };
                    (0..rows).map(cell).collect()
                })
                .collect();
        }
        while offset / self.height >= FIELDS as u64 {
            self.height = self.height.saturating_mul(2);
            for column in &mut self.columns {
                *column = column.chunks(2).map(sum).collect();
            }
        }
        let (x, y) = (
            (since / self.width) as usize,
            (offset / self.height) as usize,
        );
        if x >= self.columns.len() {
            self.columns.resize(x + 1, Vec::new());
        }
        let column = &mut self.columns[x];
        if y >= column.len() {
            column.resize(y + 1, 0);
        }
        column[y] = column[y].saturating_add(1);
    }
}
