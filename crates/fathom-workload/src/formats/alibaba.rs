//! Alibaba block traces of 2020: `device_id,opcode,offset,length,timestamp`. Opcode R or W, bytes, microseconds.

use super::{FIELDS, KIND, LENGTH, LineFormat, OFFSET, Output, TIME, bytes, offset, some};
use crate::number::{decimal, fields};
use crate::record::{IoFlags, IoKind, TraceIo};

pub(super) struct Alibaba;

impl LineFormat for Alibaba {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        let [device, kind, at, length, time] = fields::<5>(line, b',').ok_or(FIELDS)?;
        if device == b"device_id" {
            return Ok(());
        }
        let kind = match kind {
            b"R" => IoKind::Read,
            b"W" => IoKind::Write,
            _ => return Err(KIND),
        };
        decimal(device).ok_or("invalid device")?;
        let io = TraceIo {
            time_ns: decimal(time)
                .and_then(|us| us.checked_mul(1000))
                .ok_or(TIME)?,
            latency_ns: None,
            offset: offset(decimal(at).ok_or(OFFSET)?)?,
            length: some(bytes(decimal(length).ok_or(LENGTH)?)?)?,
            device: out.devices.index(device)?,
            process: 0,
            kind,
            flags: IoFlags::default(),
        };
        out.join.add(io);
        Ok(())
    }
}
