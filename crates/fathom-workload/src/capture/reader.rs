//! Reading a capture.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, BufRead};

use serde_json::Value;

use super::columns::{ColumnReader, unzigzag};
use super::{HEAD, IOS, LONGEST, MAGIC, MARKER, checksum};
use crate::formats::{Output, fill};
use crate::record::{IoFlags, IoKind, TraceIo};

/// I/Os kept for sorting at most.
const KEPT: usize = 1 << 20;
const DAMAGED: &str = "the chunk is damaged (its checksum differs)";
const INVALID: &str = "the content of the chunk is invalid";
const CUT: &str = "the last chunk is cut";

/// Reads the chunks of a capture.
#[derive(Default)]
pub(crate) struct CaptureReader {
    started: bool,
    /// I/Os that wait until no earlier one can follow.
    waiting: BinaryHeap<Reverse<Ordered>>,
    number: u64,
    /// Indices of devices by their number in the file.
    devices: HashMap<u64, u32>,
    /// Names of processes.
    pub processes: Vec<(u32, String)>,
    /// Events of the trace that were read; 0 if the file has no end.
    pub events: u64,
    /// Events lost so far.
    pub lost: u64,
    /// I/Os that were not complete at the end.
    pub open: u64,
    /// The file has its end.
    pub ended: bool,
}

/// In the order of the issue, then of the file.
struct Ordered(u64, u64, TraceIo);

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Ordered {}
impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

impl CaptureReader {
    /// Reads one chunk: `None` at the end, an inner error if it is malformed.
    ///
    /// # Errors
    /// When reading fails.
    pub fn next(
        &mut self,
        source: &mut dyn BufRead,
        out: &mut Output,
    ) -> io::Result<Option<Result<(), &'static str>>> {
        if !std::mem::replace(&mut self.started, true) {
            let mut magic = [0; MAGIC.len()];
            fill(source, &mut magic)?;
        }
        let mut head = [0; HEAD];
        let got = fill(source, &mut head)?;
        if got < HEAD {
            self.release(u64::MAX, out);
            return Ok((got > 0).then_some(Err(CUT)));
        }
        let mut skipped = false;
        while head[..4] != MARKER || content_length(&head) > LONGEST {
            // Look for the next chunk byte by byte.
            skipped = true;
            head.copy_within(1.., 0);
            if fill(source, &mut head[HEAD - 1..])? == 0 {
                return Ok(Some(Err("no chunk begins here, nor later")));
            }
        }
        let mut content = vec![0; content_length(&head)];
        if fill(source, &mut content)? < content.len() {
            return Ok(Some(Err(CUT)));
        }
        let sum = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
        Ok(Some(if checksum(head[4], &content) != sum {
            Err(DAMAGED)
        } else if self.chunk(head[4], &content, out).is_none() {
            Err(INVALID)
        } else if skipped {
            Err("no chunk begins here")
        } else {
            Ok(())
        }))
    }

    fn chunk(&mut self, kind: u8, content: &[u8], out: &mut Output) -> Option<()> {
        match kind {
            b'n' => self.names(&serde_json::from_slice(content).ok()?, out),
            b'i' => self.ios(content, out),
            b'l' => {
                let mut reader = ColumnReader::new(content);
                let (_time, events) = (reader.varint()?, reader.varint()?);
                self.lost = self.lost.saturating_add(events.max(1));
                Some(())
            }
            b'e' => {
                let counts: Value = serde_json::from_slice(content).ok()?;
                self.lost = self.lost.max(counts["lost"].as_u64()?);
                self.events = counts["events"].as_u64()?;
                self.open = counts["open"].as_u64()?;
                self.ended = true;
                Some(())
            }
            // Kinds of later versions, and the header.
            _ => Some(()),
        }
    }

    fn names(&mut self, names: &Value, out: &mut Output) -> Option<()> {
        for device in names["devices"].as_array()? {
            let index = out.devices.index(device[1].as_str()?.as_bytes()).ok()?;
            self.devices.insert(device[0].as_u64()?, index);
        }
        for process in names["processes"].as_array()? {
            let number = u32::try_from(process[0].as_u64()?).ok()?;
            self.processes
                .push((number, process[1].as_str()?.to_owned()));
        }
        Some(())
    }

    fn ios(&mut self, content: &[u8], out: &mut Output) -> Option<()> {
        let mut reader = ColumnReader::new(content);
        let count = usize::try_from(reader.varint()?)
            .ok()
            .filter(|n| *n <= IOS)?;
        let (mut time, settled) = (reader.varint()?, reader.varint()?);
        let unit = u32::from(reader.byte()?);
        if unit > 31 {
            return None;
        }
        let gaps = reader.column(count)?;
        let latencies = reader.column(count)?;
        let _waits = reader.column(count)?;
        let codes = reader.column(count)?;
        let devices = reader.column(count)?;
        let processes = reader.column(count)?;
        let lengths = reader.column(count)?;
        let distances = match reader.byte()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let offsets = reader.column(count)?;
        let mut end = 0_i64;
        for at in 0..count {
            time = time.checked_add(gaps[at])?;
            let length = lengths[at].checked_shl(unit)?;
            let place = if distances {
                end.wrapping_add(unzigzag(offsets[at]))
            } else {
                i64::try_from(offsets[at]).ok()?
            };
            end = place.wrapping_add(i64::try_from(lengths[at]).ok()?);
            let offset = u64::try_from(place)
                .ok()?
                .checked_mul(1 << unit)
                .filter(|offset| *offset < 1 << 63)?;
            let device = match self.devices.get(&devices[at]) {
                Some(device) => *device,
                None => out.devices.index(devices[at].to_string().as_bytes()).ok()?,
            };
            let io = TraceIo {
                time_ns: time,
                latency_ns: latencies[at].checked_sub(1),
                offset,
                length: u32::try_from(length).ok()?,
                device,
                process: u32::try_from(processes[at]).ok()?,
                kind: IoKind::ALL[codes[at] as usize & 3],
                flags: IoFlags::from_bits((codes[at] >> 2) as u8),
            };
            self.number += 1;
            self.waiting.push(Reverse(Ordered(time, self.number, io)));
        }
        self.release(settled, out);
        Some(())
    }

    /// Gives out the I/Os before this time.
    fn release(&mut self, settled: u64, out: &mut Output) {
        while let Some(Reverse(first)) = self.waiting.peek()
            && (first.0 < settled || settled == u64::MAX || self.waiting.len() > KEPT)
        {
            if let Some(Reverse(first)) = self.waiting.pop() {
                out.join.add(first.2);
            }
        }
    }
}

fn content_length(head: &[u8; HEAD]) -> usize {
    u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize
}
