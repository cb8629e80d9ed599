//! One file for each format.

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod disksim;
mod etw;
mod hfplayer;
mod iolog;
mod msr;
mod spc;
mod tencent;
mod tracefs;

use std::collections::HashMap;
use std::io::{self, BufRead, ErrorKind};

use crate::capture::MAGIC;
use crate::join::Join;
use crate::reader::TraceFormat;
use crate::record::{IoFlags, IoKind, TraceIo};

pub(crate) use self::blktrace::{BlktraceReader, is_blktrace};

/// Devices, volumes or files of a trace; more are malformed.
const DEVICES: usize = 1 << 16;
/// Longest name of one.
const NAME: usize = 256;

/// Where a format puts what it reads.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// The I/Os.
    pub join: Join,
    /// Names of devices.
    pub devices: Names,
    /// The summary that some formats have at their end was reached.
    pub finished: bool,
}

impl Output {
    /// An event of a block trace: the start of an I/O or, with its time, its completion.
    fn event(&mut self, is_start: bool, io: TraceIo) {
        if !is_start {
            self.join
                .complete(io.device, io.offset, io.kind, io.time_ns);
        } else if io.length > 0 || io.kind == IoKind::Flush {
            self.join.issue(io);
        }
    }
}

/// Names and their indices, in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Names {
    indices: HashMap<Box<[u8]>, u32>,
    /// The names.
    pub list: Vec<String>,
    last: (Box<[u8]>, u32),
}

impl Names {
    pub fn index(&mut self, name: &[u8]) -> Result<u32, &'static str> {
        if !self.list.is_empty() && *self.last.0 == *name {
            return Ok(self.last.1);
        }
        let index = match self.indices.get(name) {
            Some(index) => *index,
            None if name.len() > NAME => return Err("the name of the device is too long"),
            None if self.list.len() >= DEVICES => return Err("more than 65536 devices"),
            None => {
                let index = self.list.len() as u32;
                self.indices.insert(name.into(), index);
                self.list.push(String::from_utf8_lossy(name).into_owned());
                index
            }
        };
        self.last = (name.into(), index);
        Ok(index)
    }
}

/// A format of lines.
pub(crate) trait LineFormat: Send {
    /// Reads one line without its end. An empty line is the end of the trace.
    ///
    /// # Errors
    /// Why the line is malformed.
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str>;
}

/// The reader of a format of lines. `head` is the beginning of the trace.
pub(crate) fn line_format(format: TraceFormat, head: &[u8]) -> Box<dyn LineFormat> {
    match format {
        TraceFormat::Blkparse
        | TraceFormat::Blktrace
        | TraceFormat::Capture
        | TraceFormat::Load => Box::new(blkparse::Blkparse::new(head)),
        TraceFormat::Tracefs => Box::new(tracefs::Tracefs::new(head)),
        TraceFormat::Iolog => Box::new(iolog::Iolog::default()),
        TraceFormat::Msr => Box::new(msr::Msr),
        TraceFormat::Alibaba => Box::new(alibaba::Alibaba),
        TraceFormat::Tencent => Box::new(tencent::Tencent::default()),
        TraceFormat::Spc => Box::new(spc::Spc),
        TraceFormat::DiskSim => Box::new(disksim::DiskSim),
        TraceFormat::Hfplayer => Box::new(hfplayer::Hfplayer::default()),
        TraceFormat::Biosnoop => Box::new(biosnoop::Biosnoop::default()),
        TraceFormat::Etw => Box::new(etw::Etw::default()),
    }
}

/// The format of this beginning of a trace: that of which most of the first lines are valid.
pub(crate) fn detect(head: &[u8]) -> Option<TraceFormat> {
    if head.starts_with(&MAGIC) {
        return Some(TraceFormat::Capture);
    }
    if is_blktrace(head) {
        return Some(TraceFormat::Blktrace);
    }
    if head.starts_with(b"fio version ") {
        return Some(TraceFormat::Iolog);
    }
    // The last line of the head may be cut.
    let whole = head
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(head, |end| &head[..end]);
    let lines: Vec<&[u8]> = whole
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .take(200)
        .collect();
    let mut best = None;
    for format in TraceFormat::ALL {
        if matches!(
            format,
            TraceFormat::Capture | TraceFormat::Blktrace | TraceFormat::Iolog | TraceFormat::Load
        ) {
            continue;
        }
        let mut reader = line_format(format, head);
        let (mut out, mut ios, mut valid) = (Output::default(), 0_usize, 0_usize);
        for line in &lines {
            valid += usize::from(reader.line(line, &mut out).is_ok());
        }
        let _ = reader.line(b"", &mut out);
        while out.join.next(true).is_some() {
            ios += 1;
        }
        if ios > 0 && valid * 2 > lines.len() && best.is_none_or(|(_, most)| ios > most) {
            best = Some((format, ios));
        }
    }
    best.map(|(format, _)| format)
}

/// Fills the buffer as far as the source goes.
///
/// # Errors
/// When reading fails.
pub(crate) fn fill(source: &mut dyn BufRead, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The letters with which the kernel describes an I/O (`blk_fill_rwbs` in `kernel/trace/blktrace.c`): an `F` before the
/// direction is a flush, one after it forced unit access. `None` where there is neither data nor flush.
pub(crate) fn rwbs(text: &[u8]) -> Option<(IoKind, IoFlags)> {
    let (mut kind, mut flags, mut flush) = (None, IoFlags::default(), false);
    for letter in text {
        match letter {
            b'F' if kind.is_none() => flush = true,
            b'F' => flags = flags.with(IoFlags::FUA),
            b'R' => kind = Some(IoKind::Read),
            b'W' => kind = Some(IoKind::Write),
            b'D' | b'E' => kind = Some(IoKind::Discard),
            b'A' => flags = flags.with(IoFlags::READ_AHEAD),
            b'S' => flags = flags.with(IoFlags::SYNC),
            b'M' => flags = flags.with(IoFlags::METADATA),
            _ => {}
        }
    }
    match kind {
        Some(kind) => Some((kind, flags)),
        None if flush => Some((IoKind::Flush, flags)),
        None => None,
    }
}

/// Which events of a block trace are the I/Os: those that go to the driver, or, where the trace has none, those that
/// enter the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Queue,
    Issue,
}

/// A length in sectors of 512 bytes as bytes.
pub(crate) fn sectors(count: u64) -> Result<u32, &'static str> {
    bytes(count.saturating_mul(512))
}

/// A sector as a byte offset.
pub(crate) fn sector(number: u64) -> Result<u64, &'static str> {
    number
        .checked_mul(512)
        .filter(|offset| *offset < 1 << 63)
        .ok_or(TOO_FAR)
}

/// A byte offset that a device can have.
pub(crate) fn offset(offset: u64) -> Result<u64, &'static str> {
    if offset < 1 << 63 {
        Ok(offset)
    } else {
        Err(TOO_FAR)
    }
}

/// A length in bytes.
pub(crate) fn bytes(count: u64) -> Result<u32, &'static str> {
    u32::try_from(count).map_err(|_| "the length is 4 GiB or more")
}

/// A length that is not 0.
pub(crate) fn some(length: u32) -> Result<u32, &'static str> {
    if length == 0 {
        Err("the length is 0")
    } else {
        Ok(length)
    }
}

const TOO_FAR: &str = "the offset is 2^63 bytes or more";
pub(crate) const TIME: &str = "invalid time";
pub(crate) const OFFSET: &str = "invalid offset";
pub(crate) const LENGTH: &str = "invalid length";
pub(crate) const KIND: &str = "neither a read nor a write";
pub(crate) const FIELDS: &str = "wrong number of fields";
