//! Tencent CBS: `Timestamp,Offset,Size,IOType,VolumeID`. Whole seconds, sectors of 512 bytes, 0 is a read and 1 a write. The I/Os
//! of a second are spread evenly in it, because their order within the second is known and their times are not.

use super::{FIELDS, KIND, LENGTH, LineFormat, OFFSET, Output, TIME, sector, sectors, some};
use crate::number::{decimal, fields};
use crate::record::{IoFlags, IoKind, TraceIo};

const SECOND: u64 = 1_000_000_000;
/// I/Os that are kept until their second ends.
const KEPT: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Tencent {
    second: u64,
    /// Nanoseconds of the second that are used.
    used: u64,
    ios: Vec<TraceIo>,
}

impl Tencent {
    /// Spreads what is kept over the next `length` nanoseconds of the second.
    fn spread(&mut self, length: u64, out: &mut Output) {
        let count = self.ios.len() as u64;
        for (index, mut io) in self.ios.drain(..).enumerate() {
            let within = self.used + length * index as u64 / count;
            io.time_ns = self.second.saturating_mul(SECOND).saturating_add(within);
            out.join.add(io);
        }
        self.used += length;
    }
}

impl LineFormat for Tencent {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        // An empty line is the end of the trace.
        if line.is_empty() {
            self.spread(SECOND - self.used, out);
            return Ok(());
        }
        let [time, at, size, kind, volume] = fields::<5>(line, b',').ok_or(FIELDS)?;
        if time == b"Timestamp" {
            return Ok(());
        }
        let second = decimal(time)
            .filter(|time| *time < u64::MAX / SECOND)
            .ok_or(TIME)?;
        let kind = match kind {
            b"0" => IoKind::Read,
            b"1" => IoKind::Write,
            _ => return Err(KIND),
        };
        decimal(volume).ok_or("invalid volume")?;
        let io = TraceIo {
            time_ns: 0,
            latency_ns: None,
            offset: sector(decimal(at).ok_or(OFFSET)?)?,
            length: some(sectors(decimal(size).ok_or(LENGTH)?)?)?,
            device: out.devices.index(volume)?,
            process: 0,
            kind,
            flags: IoFlags::default(),
        };
        if second != self.second {
            self.spread(SECOND - self.used, out);
            (self.second, self.used) = (second, 0);
        } else if self.ios.len() >= KEPT {
            self.spread((SECOND - self.used) / 2, out);
        }
        self.ios.push(io);
        Ok(())
    }
}
