//! Binary records of blktrace(8): `struct blk_io_trace` of the kernel's `include/uapi/linux/blktrace_api.h`, 48 bytes and then
//! `pdu_len` bytes. The magic number says the byte order; its low byte is the version, 7.

use std::io::{self, BufRead};

use super::{Layer, Output, bytes, fill, sector};
use crate::record::{IoFlags, IoKind, TraceIo};

const MAGIC: u32 = 0x6561_7400;
const RECORD: usize = 48;

const QUEUE: u32 = 1;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;

/// Whether a trace begins with a record, in either byte order.
pub(crate) fn is_blktrace(head: &[u8]) -> bool {
    head.len() >= 4 && order(head).is_some()
}

/// Whether the record is little-endian.
fn order(record: &[u8]) -> Option<bool> {
    let magic: [u8; 4] = record.get(..4)?.try_into().ok()?;
    if u32::from_le_bytes(magic) & !0xff == MAGIC {
        Some(true)
    } else if u32::from_be_bytes(magic) & !0xff == MAGIC {
        Some(false)
    } else {
        None
    }
}

struct Record<'a> {
    bytes: &'a [u8; RECORD],
    little: bool,
}

impl Record<'_> {
    fn u32(&self, at: usize) -> u32 {
        let mut value = [0; 4];
        value.copy_from_slice(&self.bytes[at..at + 4]);
        if self.little {
            u32::from_le_bytes(value)
        } else {
            u32::from_be_bytes(value)
        }
    }

    fn u64(&self, at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(at)), u64::from(self.u32(at + 4)));
        if self.little {
            second << 32 | first
        } else {
            first << 32 | second
        }
    }

    fn action(&self) -> u32 {
        self.u32(28) & 0xffff
    }

    fn pdu_len(&self) -> usize {
        let value = [self.bytes[46], self.bytes[47]];
        usize::from(if self.little {
            u16::from_le_bytes(value)
        } else {
            u16::from_be_bytes(value)
        })
    }
}

pub(crate) struct BlktraceReader {
    layer: Layer,
    record: [u8; RECORD],
}

impl BlktraceReader {
    pub fn new(head: &[u8]) -> Self {
        let (mut at, mut layer) = (0, Layer::Queue);
        while let Some(bytes) = head.get(at..at + RECORD) {
            let (Some(little), Ok(bytes)) = (order(bytes), bytes.try_into()) else {
                break;
            };
            let record = Record { bytes, little };
            if record.action() == ISSUE {
                layer = Layer::Issue;
                break;
            }
            at += RECORD + record.pdu_len();
        }
        BlktraceReader {
            layer,
            record: [0; RECORD],
        }
    }

    /// Reads one record: `None` at the end, an inner error if it is malformed.
    ///
    /// # Errors
    /// When reading fails.
    pub fn next(
        &mut self,
        source: &mut dyn BufRead,
        out: &mut Output,
    ) -> io::Result<Option<Result<(), &'static str>>> {
        match fill(source, &mut self.record)? {
            0 => return Ok(None),
            RECORD => {}
            _ => return Ok(Some(Err("the last record is cut"))),
        }
        let mut skipped = false;
        let little = loop {
            if let Some(little) = order(&self.record) {
                break little;
            }
            // Look for the next record byte by byte.
            skipped = true;
            self.record.copy_within(1.., 0);
            if fill(source, &mut self.record[RECORD - 1..])? == 0 {
                return Ok(Some(Err("no record begins here, nor later")));
            }
        };
        let record = Record {
            bytes: &self.record,
            little,
        };
        let pdu = record.pdu_len();
        let result = event(&record, self.layer, out);
        let mut left = pdu;
        while left > 0 {
            let available = source.fill_buf()?.len().min(left);
            if available == 0 {
                return Ok(Some(Err("the last record is cut")));
            }
            source.consume(available);
            left -= available;
        }
        Ok(Some(if skipped {
            Err("no record begins here")
        } else {
            result
        }))
    }
}

fn event(record: &Record<'_>, layer: Layer, out: &mut Output) -> Result<(), &'static str> {
    let category = record.u32(28) >> 16;
    let has = |bit: u32| category & 1 << bit != 0;
    let is_start = match (record.action(), layer) {
        (QUEUE, Layer::Queue) | (ISSUE, Layer::Issue) => true,
        (COMPLETE, _) => false,
        _ => return Ok(()),
    };
    // Bit 10 marks messages, which are not I/O.
    if has(10) {
        return Ok(());
    }
    let length = bytes(u64::from(record.u32(24)))?;
    let kind = if has(13) {
        IoKind::Discard
    } else if has(2) && length == 0 {
        IoKind::Flush
    } else if has(1) {
        IoKind::Write
    } else if has(0) {
        IoKind::Read
    } else {
        return Ok(());
    };
    let mut flags = IoFlags::default();
    for (bit, flag) in [
        (3, IoFlags::SYNC),
        (11, IoFlags::READ_AHEAD),
        (12, IoFlags::METADATA),
        (15, IoFlags::FUA),
    ] {
        if has(bit) {
            flags = flags.with(flag);
        }
    }
    let (time_ns, number) = (record.u64(8), record.u32(36));
    let at = if kind == IoKind::Flush {
        0
    } else {
        sector(record.u64(16))?
    };
    let mut name = [0_u8; 16];
    let name = device_name(number, &mut name);
    let io = TraceIo {
        time_ns,
        latency_ns: None,
        offset: at,
        length,
        device: out.devices.index(name)?,
        process: record.u32(32),
        kind,
        flags,
    };
    out.event(is_start, io);
    Ok(())
}

/// `8,0`: 12 bits of major and 20 bits of minor number.
fn device_name(number: u32, buffer: &mut [u8; 16]) -> &[u8] {
    let mut at = buffer.len();
    let mut put = |byte: u8| {
        at -= 1;
        buffer[at] = byte;
    };
    let digits = |mut value: u32, put: &mut dyn FnMut(u8)| loop {
        put(b'0' + (value % 10) as u8);
        value /= 10;
        if value == 0 {
            break;
        }
    };
    digits(number & 0xf_ffff, &mut put);
    put(b',');
    digits(number >> 20, &mut put);
    &buffer[at..]
}
