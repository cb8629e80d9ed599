//! Writing a capture.

use serde_json::{Value, json};

use super::columns::{put_column, put_varint, zigzag};
use super::{HEAD, IOS, MAGIC, MARKER, checksum};
use crate::record::TraceIo;

/// I/Os that make a chunk.
const FULL: usize = 16 << 10;

/// What the first chunk says about a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureHeader {
    /// Name and version of the program.
    pub program: String,
    /// Start of the capture, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Processes have numbers in place of their names.
    pub anonymous: bool,
}

/// Counts of a whole capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureCounts {
    /// I/Os that were written.
    pub ios: u64,
    /// Events of the trace that were read.
    pub events: u64,
    /// Events of the trace that were lost.
    pub lost: u64,
    /// I/Os that were not complete at the end, and are not in the file.
    pub open: u64,
}

/// An I/O with what only a capture knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedIo {
    /// The I/O; its device and process are numbers that [`CaptureWriter::name_device`] and
    /// [`CaptureWriter::name_process`] may have named.
    pub io: TraceIo,
    /// From the block layer's first sight of it to its issue, in nanoseconds; `None` if unknown.
    pub waited_ns: Option<u64>,
}

/// A chunk as it is in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedChunk {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Times of its first and last I/O, or of its loss; `None` of a chunk without times, which a file needs whatever its I/Os
    /// are.
    pub times: Option<(u64, u64)>,
    /// Its I/Os.
    pub ios: u64,
}

/// Encodes a capture. It does no I/O: the caller writes the chunks, in order.
#[derive(Debug, Default)]
pub struct CaptureWriter {
    ios: Vec<CapturedIo>,
    devices: Vec<(u32, String, u64)>,
    processes: Vec<(u32, String)>,
}

impl CaptureWriter {
    /// The beginning of a file.
    #[must_use]
    pub fn header(header: &CaptureHeader) -> EncodedChunk {
        let content = json!({
            "program": header.program,
            "started_unix_ns": header.started_unix_ns,
            "anonymous": header.anonymous,
            "clock": "CLOCK_MONOTONIC",
        });
        let mut chunk = json_chunk(b'h', &content);
        chunk.bytes.splice(0..0, MAGIC);
        chunk
    }

    /// The name and the size in bytes of a device, before its first I/O.
    pub fn name_device(&mut self, device: u32, name: &str, bytes: u64) {
        self.devices.push((device, name.to_owned(), bytes));
    }

    /// The name of a process, before its first I/O.
    pub fn name_process(&mut self, process: u32, name: &str) {
        self.processes.push((process, name.to_owned()));
    }

    /// Adds a complete I/O. `true` if there are enough for a chunk.
    pub fn add(&mut self, io: CapturedIo) -> bool {
        self.ios.push(io);
        self.ios.len() >= FULL
    }

    /// I/Os that are in no chunk yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.ios.len()
    }

    /// The chunks of what was added. No later I/O is issued before `settled_ns`.
    pub fn chunks(&mut self, settled_ns: u64) -> Vec<EncodedChunk> {
        let mut chunks = Vec::new();
        if !self.devices.is_empty() || !self.processes.is_empty() {
            let content = json!({
                "devices": std::mem::take(&mut self.devices),
                "processes": std::mem::take(&mut self.processes),
            });
            chunks.push(json_chunk(b'n', &content));
        }
        self.ios.sort_by_key(|one| one.io.time_ns);
        for part in self.ios.chunks(IOS) {
            chunks.push(EncodedChunk {
                bytes: chunk(b'i', &encode(part, settled_ns)),
                times: part
                    .first()
                    .zip(part.last())
                    .map(|(first, last)| (first.io.time_ns, last.io.time_ns)),
                ios: part.len() as u64,
            });
        }
        self.ios.clear();
        chunks
    }

    /// Events were lost before this time: so many, or 0 if that is unknown.
    #[must_use]
    pub fn lost(time_ns: u64, events: u64) -> EncodedChunk {
        let mut content = Vec::new();
        put_varint(&mut content, time_ns);
        put_varint(&mut content, events);
        EncodedChunk {
            bytes: chunk(b'l', &content),
            times: Some((time_ns, time_ns)),
            ios: 0,
        }
    }

    /// The end of a file.
    #[must_use]
    pub fn end(counts: CaptureCounts) -> EncodedChunk {
        json_chunk(
            b'e',
            &json!({ "ios": counts.ios, "events": counts.events, "lost": counts.lost, "open": counts.open }),
        )
    }
}

fn json_chunk(kind: u8, content: &Value) -> EncodedChunk {
    EncodedChunk {
        bytes: chunk(kind, content.to_string().as_bytes()),
        times: None,
        ios: 0,
    }
}

fn chunk(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + content.len());
    bytes.extend_from_slice(&MARKER);
    bytes.extend_from_slice(&[kind, 0, 0, 0]);
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&checksum(kind, content).to_le_bytes());
    bytes.extend_from_slice(content);
    bytes
}

/// The content of a chunk of I/Os: their number, the time of the first, the settled time, the power of two that divides all
/// offsets and lengths, and the columns.
fn encode(ios: &[CapturedIo], settled_ns: u64) -> Vec<u8> {
    let first = ios.first().map_or(0, |one| one.io.time_ns);
    let together = ios
        .iter()
        .fold(0, |all, one| all | one.io.offset | u64::from(one.io.length));
    let unit = together.trailing_zeros().min(31);
    let mut out = Vec::with_capacity(ios.len() * 12);
    put_varint(&mut out, ios.len() as u64);
    put_varint(&mut out, first);
    put_varint(&mut out, settled_ns);
    out.push(unit as u8);
    let column = |out: &mut Vec<u8>, of: &mut dyn FnMut(&CapturedIo) -> u64| {
        let values: Vec<u64> = ios.iter().map(of).collect();
        put_column(out, &values);
    };
    let mut before = first;
    column(&mut out, &mut |one| {
        one.io.time_ns - std::mem::replace(&mut before, one.io.time_ns)
    });
    // 0 is unknown.
    let known = |time: Option<u64>| time.map_or(0, |time| time.saturating_add(1));
    column(&mut out, &mut |one| known(one.io.latency_ns));
    column(&mut out, &mut |one| known(one.waited_ns));
    column(&mut out, &mut |one| code(&one.io));
    column(&mut out, &mut |one| u64::from(one.io.device));
    column(&mut out, &mut |one| u64::from(one.io.process));
    column(&mut out, &mut |one| u64::from(one.io.length) >> unit);
    // Sequential I/Os as distances from the end of the one before, others as they are: whichever is shorter.
    let (mut plain, mut distances) = (vec![0], vec![1]);
    column(&mut plain, &mut |one| one.io.offset >> unit);
    let mut end = 0;
    column(&mut distances, &mut |one| {
        // Wraps, as in the reader: the end of an I/O can be 2^63.
        let distance = (one.io.offset >> unit).cast_signed().wrapping_sub(end);
        end = (one.io.end() >> unit).cast_signed();
        zigzag(distance)
    });
    out.extend_from_slice(if distances.len() < plain.len() {
        &distances
    } else {
        &plain
    });
    out
}

/// Kind and properties.
fn code(io: &TraceIo) -> u64 {
    io.kind as u64 | u64::from(io.flags.bits()) << 2
}
