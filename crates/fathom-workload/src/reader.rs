//! Traces of any format as a stream of I/Os, in constant memory.

use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use crate::capture::{CaptureReader, MAGIC};
use crate::copy::Copy;
use crate::error::TraceError;
use crate::formats::{BlktraceReader, LineFormat, Output, detect, is_blktrace, line_format};
use crate::load_file::{LoadFile, is_load_file};
use crate::record::TraceIo;
use crate::zstd::{Zstd, is_zstd};

/// Bytes by which the format is detected.
const HEAD: usize = 1 << 16;
/// Longest line; longer ones are malformed.
const LINE: usize = 8192;
/// Longest load file.
const LOAD: u64 = 4 << 20;
/// Malformed lines that are listed.
const LISTED: usize = 5;

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// fathom's own, of `fathom capture`.
    Capture,
    /// Binary records of blktrace(8).
    Blktrace,
    /// Text of blkparse(1), also the YCSB traces of SNIA IOTTA.
    Blkparse,
    /// Text of the kernel's tracefs.
    Tracefs,
    /// fio's I/O log, versions 2 and 3.
    Iolog,
    /// MSR Cambridge.
    Msr,
    /// Alibaba block traces of 2020.
    Alibaba,
    /// Tencent CBS.
    Tencent,
    /// SPC.
    Spc,
    /// ASCII of DiskSim and MQSim.
    DiskSim,
    /// CSV of hfplayer.
    Hfplayer,
    /// biosnoop of bcc.
    Biosnoop,
    /// Disk events of Windows, from xperf.
    Etw,
    /// fathom's own load file, which `fathom profile` writes: its I/Os are made while it is read.
    Load,
}

impl TraceFormat {
    /// All formats.
    pub const ALL: [TraceFormat; 14] = [
        TraceFormat::Capture,
        TraceFormat::Blktrace,
        TraceFormat::Blkparse,
        TraceFormat::Tracefs,
        TraceFormat::Iolog,
        TraceFormat::Msr,
        TraceFormat::Alibaba,
        TraceFormat::Tencent,
        TraceFormat::Spc,
        TraceFormat::DiskSim,
        TraceFormat::Hfplayer,
        TraceFormat::Biosnoop,
        TraceFormat::Etw,
        TraceFormat::Load,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TraceFormat::Capture => "capture",
            TraceFormat::Blktrace => "blktrace",
            TraceFormat::Blkparse => "blkparse",
            TraceFormat::Tracefs => "tracefs",
            TraceFormat::Iolog => "iolog",
            TraceFormat::Msr => "msr",
            TraceFormat::Alibaba => "alibaba",
            TraceFormat::Tencent => "tencent",
            TraceFormat::Spc => "spc",
            TraceFormat::DiskSim => "disksim",
            TraceFormat::Hfplayer => "hfplayer",
            TraceFormat::Biosnoop => "biosnoop",
            TraceFormat::Etw => "etw",
            TraceFormat::Load => "load",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<TraceFormat> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// All names.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.map(TraceFormat::name).join(", ")
    }

    /// Whether it says which process issued an I/O.
    const fn has_processes(self) -> bool {
        matches!(
            self,
            TraceFormat::Capture
                | TraceFormat::Blktrace
                | TraceFormat::Blkparse
                | TraceFormat::Tracefs
                | TraceFormat::Biosnoop
                | TraceFormat::Etw
                | TraceFormat::Load
        )
    }

    /// Whether it can contain flushes.
    const fn has_flushes(self) -> bool {
        self.has_processes() || matches!(self, TraceFormat::Iolog)
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a trace is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Its format; `None` detects it.
    pub format: Option<TraceFormat>,
    /// Malformed lines that are skipped; one more is an error. `None`: 100, or one in a hundred if that is more.
    pub malformed: Option<u64>,
}

/// What is known about a trace besides its I/Os.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFacts {
    /// Its format.
    pub format: TraceFormat,
    /// Names of its devices, volumes or files.
    pub devices: Vec<String>,
    /// Lines, or records of a binary format.
    pub lines: u64,
    /// Malformed ones, which were skipped.
    pub malformed: u64,
    /// The first malformed ones: number from 1, and what is wrong.
    pub first_malformed: Vec<(u64, &'static str)>,
    /// I/Os whose completion is missing although the trace has completions.
    pub without_completion: u64,
    /// I/Os whose time was earlier than that of previous ones, by more than what is sorted.
    pub out_of_order: u64,
    /// The last line or record is cut.
    pub cut: bool,
    /// Names of processes, where the trace has them.
    pub processes: Vec<(u32, String)>,
    /// Events that were lost while the trace was taken, as far as it says so.
    pub lost: u64,
    /// Events that were read while it was taken; 0 if it does not say so.
    pub events: u64,
    /// I/Os that were not complete when the trace ended, and are not in it.
    pub open: u64,
}

/// A source of I/Os in the order of their issue.
pub trait TraceSource {
    /// The next I/O; `None` at the end.
    ///
    /// # Errors
    /// When the trace cannot be read any further.
    fn next_io(&mut self) -> Result<Option<TraceIo>, TraceError>;
}

impl<I: Iterator<Item = TraceIo>> TraceSource for I {
    fn next_io(&mut self) -> Result<Option<TraceIo>, TraceError> {
        Ok(self.next())
    }
}

enum Parser {
    Lines(Box<dyn LineFormat>),
    Blktrace(BlktraceReader),
    Capture(Box<CaptureReader>),
    Load(Box<Copy>),
}

/// Reads a trace. Its memory does not grow with the length of the trace.
pub struct TraceReader<'a> {
    source: Box<dyn BufRead + Send + 'a>,
    parser: Parser,
    output: Output,
    options: ReadOptions,
    facts: TraceFacts,
    line: Vec<u8>,
    ended: bool,
}

impl<'a> TraceReader<'a> {
    /// Opens a trace, also one compressed with gzip or zstd.
    ///
    /// # Errors
    /// When it cannot be read, is empty, or has no known format.
    pub fn open(source: impl Read + Send + 'a, options: ReadOptions) -> Result<Self, TraceError> {
        let fail = |error| TraceError::Read { line: 0, error };
        let mut source: Box<dyn Read + Send + 'a> = Box::new(source);
        let mut head = read_head(&mut source).map_err(fail)?;
        if head.starts_with(&[0x1f, 0x8b]) {
            let whole = BufReader::new(Cursor::new(head).chain(source));
            source = Box::new(flate2::bufread::MultiGzDecoder::new(whole));
            head = read_head(&mut source).map_err(fail)?;
        } else if is_zstd(&head) {
            let whole = BufReader::new(Cursor::new(head).chain(source));
            source = Box::new(Zstd::new(whole));
            head = read_head(&mut source).map_err(fail)?;
        }
        match head.as_slice() {
            [] => return Err(TraceError::Empty),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => {
                return Err(TraceError::Compressed("xz", "xz -dc"));
            }
            [b'B', b'Z', b'h', ..] => return Err(TraceError::Compressed("bzip2", "bzip2 -dc")),
            _ => {}
        }
        let format = options
            .format
            .or_else(|| is_load_file(&head).then_some(TraceFormat::Load))
            .or_else(|| detect(&head))
            .ok_or(TraceError::UnknownFormat)?;
        let mut output = Output::default();
        let parser = if format == TraceFormat::Load {
            let mut text = head.clone();
            (&mut source)
                .take(LOAD)
                .read_to_end(&mut text)
                .map_err(fail)?;
            if text.len() as u64 > LOAD {
                return Err(TraceError::LoadFile("it is longer than 4 MiB".to_owned()));
            }
            let text = String::from_utf8(text)
                .map_err(|_| TraceError::LoadFile("it is not UTF-8 text".to_owned()))?;
            let load = LoadFile::parse(&text).map_err(TraceError::LoadFile)?;
            // Devices of the streams are indices of this list.
            output.devices.list.clone_from(&load.devices);
            Parser::Load(Box::new(load.ios()))
        } else if format == TraceFormat::Capture && head.starts_with(&MAGIC) {
            Parser::Capture(Box::default())
        } else if format == TraceFormat::Blktrace && is_blktrace(&head) {
            Parser::Blktrace(BlktraceReader::new(&head))
        } else {
            Parser::Lines(line_format(format, &head))
        };
        Ok(TraceReader {
            source: Box::new(BufReader::with_capacity(
                1 << 18,
                Cursor::new(head).chain(source),
            )),
            parser,
            output,
            options,
            facts: TraceFacts {
                format,
                devices: Vec::new(),
                lines: 0,
                malformed: 0,
                first_malformed: Vec::new(),
                without_completion: 0,
                out_of_order: 0,
                cut: false,
                processes: Vec::new(),
                lost: 0,
                events: 0,
                open: 0,
            },
            line: Vec::new(),
            ended: false,
        })
    }

    /// What is known about the trace so far; complete after the last I/O.
    #[must_use]
    pub fn facts(&self) -> TraceFacts {
        let mut facts = self.facts.clone();
        if let Parser::Capture(reader) = &self.parser {
            facts.processes.clone_from(&reader.processes);
            (facts.lost, facts.events, facts.open) = (reader.lost, reader.events, reader.open);
            facts.cut |= !reader.ended;
        }
        TraceFacts {
            devices: self.output.devices.list.clone(),
            without_completion: if self.output.join.joins {
                self.output.join.without_completion
            } else {
                0
            },
            out_of_order: self.output.join.out_of_order,
            ..facts
        }
    }

    /// Reads one line or record. `false` at the end.
    fn step(&mut self) -> Result<bool, TraceError> {
        let result = match self.parse() {
            Ok(Some(result)) => result,
            Ok(None) => return Ok(false),
            // A compressed file without its end: what is there counts.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && self.facts.lines > 0 => {
                self.facts.cut = true;
                return Ok(false);
            }
            Err(error) => {
                let line = self.facts.lines;
                return Err(TraceError::Read { line, error });
            }
        };
        self.facts.lines += 1;
        if let Err(problem) = result {
            self.malformed(problem)?;
        }
        Ok(true)
    }

    /// `None` at the end, an inner error for a malformed line.
    fn parse(&mut self) -> io::Result<Option<Result<(), &'static str>>> {
        Ok(Some(match &mut self.parser {
            Parser::Load(load) => match load.next() {
                Some(io) => {
                    self.output.join.add(io);
                    Ok(())
                }
                None => return Ok(None),
            },
            Parser::Capture(reader) => return reader.next(&mut *self.source, &mut self.output),
            Parser::Blktrace(reader) => return reader.next(&mut *self.source, &mut self.output),
            Parser::Lines(format) => {
                self.line.clear();
                let mut limited = (&mut self.source).take(LINE as u64);
                let count = limited.read_until(b'\n', &mut self.line)?;
                if self.output.finished {
                    // A compressed trace says at its end whether it is whole.
                    io::copy(&mut self.source, &mut io::sink())?;
                }
                if count == 0 || self.output.finished {
                    // Formats that keep I/Os release them.
                    let _ = format.line(b"", &mut self.output);
                    return Ok(None);
                }
                let whole = self.line.ends_with(b"\n");
                if !whole && count == LINE {
                    skip_line(&mut *self.source)?;
                    Err("the line is longer than 8191 bytes")
                } else {
                    let line = self.line.trim_ascii();
                    let result = if line.is_empty() {
                        Ok(())
                    } else {
                        format.line(line, &mut self.output)
                    };
                    if !whole && result.is_err() {
                        self.facts.cut = true;
                    }
                    result
                }
            }
        }))
    }

    fn malformed(&mut self, problem: &'static str) -> Result<(), TraceError> {
        let facts = &mut self.facts;
        facts.malformed += 1;
        if facts.first_malformed.len() < LISTED {
            facts.first_malformed.push((facts.lines, problem));
        }
        let limit = self
            .options
            .malformed
            .unwrap_or_else(|| (facts.lines / 100).max(100));
        if facts.malformed <= limit {
            return Ok(());
        }
        let (first, problem) = facts.first_malformed[0];
        let records = !matches!(self.parser, Parser::Lines(_));
        Err(TraceError::Malformed {
            count: facts.malformed,
            total: facts.lines,
            limit,
            unit: if records { "records" } else { "lines" },
            unit_one: if records { "record" } else { "line" },
            first,
            problem,
            format: facts.format,
        })
    }
}

impl TraceSource for TraceReader<'_> {
    fn next_io(&mut self) -> Result<Option<TraceIo>, TraceError> {
        loop {
            if let Some(io) = self.output.join.next(self.ended) {
                return Ok(Some(io));
            }
            if self.ended {
                return Ok(None);
            }
            self.ended = !self.step()?;
        }
    }
}

impl TraceFacts {
    /// The share of the events that were lost, 0 to 1.
    #[must_use]
    pub fn lost_share(&self, ios: u64) -> f64 {
        // A file without its end does not say how many events there were; each I/O has an issue and a completion at least.
        let events = self.events.max(ios * 2);
        self.lost as f64 / (self.lost + events).max(1) as f64
    }

    /// The name of a process, or its number.
    #[must_use]
    pub fn process_name(&self, process: u32) -> String {
        match self
            .processes
            .iter()
            .rfind(|(number, _)| *number == process)
        {
            Some((_, name)) => format!("{} {process}", fathom_model::format::printable(name)),
            None => format!("process {process}"),
        }
    }

    /// What traces of this format do not carry, and what was noticed in this one, one sentence each. `ios` is the number of I/Os,
    /// `with_latency` of those with a latency, `timed` whether times differ.
    #[must_use]
    pub fn notes(&self, ios: u64, with_latency: u64, timed: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let format = self.format;
        if !timed {
            notes.push("The trace has no times: nothing is known about arrivals.".to_owned());
        } else if format == TraceFormat::Tencent {
            notes.push("The times are whole seconds: the I/Os of a second are spread evenly in it, and arrivals within a second are unknown.".to_owned());
        }
        if with_latency == 0 {
            notes.push("The trace has no latencies: depth, think time, and open or closed loop are unknown.".to_owned());
        }
        if !format.has_processes() {
            notes.push("The trace has no processes: streams are detected per device.".to_owned());
        }
        if !format.has_flushes() {
            notes.push("This format has no flushes: syncs are unknown.".to_owned());
        }
        if self.without_completion > 0 && with_latency > 0 {
            notes.push(format!(
                "{} of {ios} I/Os have no completion in the trace.",
                self.without_completion
            ));
        }
        if self.out_of_order > 0 {
            notes.push(format!(
                "Time goes backwards at {} I/Os; they count at the time of the I/O before.",
                self.out_of_order
            ));
        }
        if self.malformed > 0 {
            let listed: Vec<String> = self
                .first_malformed
                .iter()
                .map(|(line, problem)| format!("{line}: {problem}"))
                .collect();
            notes.push(format!(
                "{} of {} {} are malformed and were skipped ({}{}).",
                self.malformed,
                self.lines,
                if matches!(
                    format,
                    TraceFormat::Blktrace | TraceFormat::Capture | TraceFormat::Load
                ) {
                    "records"
                } else {
                    "lines"
                },
                listed.join("; "),
                if self.malformed as usize > listed.len() {
                    "; ..."
                } else {
                    ""
                }
            ));
        }
        if self.cut {
            notes.push("The trace is cut at its end.".to_owned());
        }
        if self.lost > 0 {
            notes.push(format!(
                "{} events were lost while the trace was taken: I/Os are missing.",
                self.lost
            ));
        }
        if self.open > 0 {
            notes.push(format!(
                "{} I/Os were not complete when the trace ended; they are left out.",
                self.open
            ));
        }
        notes
    }
}

fn read_head(source: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    match source.take(HEAD as u64).read_to_end(&mut head) {
        Ok(_) => Ok(head),
        // What can be read is read; the error comes back later.
        Err(_) if head.len() > 2 => Ok(head),
        Err(error) => Err(error),
    }
}

fn skip_line(source: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = source.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            source.consume(end + 1);
            return Ok(());
        }
        let all = buffer.len();
        source.consume(all);
    }
}
