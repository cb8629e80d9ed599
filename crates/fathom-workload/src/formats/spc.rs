//! SPC: `ASU,LBA,Size,Opcode,Timestamp`. Blocks of 512 bytes, size in bytes, r or w, seconds; further fields are ignored.

use super::{FIELDS, KIND, LENGTH, LineFormat, OFFSET, Output, TIME, bytes, sector, some};
use crate::number::{decimal, scaled, trim};
use crate::record::{IoFlags, IoKind, TraceIo};

pub(super) struct Spc;

impl LineFormat for Spc {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        let mut all = line.split(|byte| *byte == b',').map(trim);
        let mut field = || all.next().ok_or(FIELDS);
        let (unit, at, size, kind, time) = (field()?, field()?, field()?, field()?, field()?);
        decimal(unit).ok_or("invalid ASU")?;
        let kind = match kind {
            b"r" | b"R" => IoKind::Read,
            b"w" | b"W" => IoKind::Write,
            _ => return Err(KIND),
        };
        let io = TraceIo {
            time_ns: scaled(time, 1_000_000_000).ok_or(TIME)?,
            latency_ns: None,
            offset: sector(decimal(at).ok_or(OFFSET)?)?,
            length: some(bytes(decimal(size).ok_or(LENGTH)?)?)?,
            device: out.devices.index(unit)?,
            process: 0,
            kind,
            flags: IoFlags::default(),
        };
        out.join.add(io);
        Ok(())
    }
}
