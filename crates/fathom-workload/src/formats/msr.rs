//! MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`. Times in 100 ns (a Windows file time), bytes.

use super::{FIELDS, KIND, LENGTH, LineFormat, OFFSET, Output, TIME, bytes, offset, some};
use crate::number::{decimal, fields};
use crate::record::{IoFlags, IoKind, TraceIo};

pub(super) struct Msr;

impl LineFormat for Msr {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        let [time, host, disk, kind, at, size, response] = fields::<7>(line, b',').ok_or(FIELDS)?;
        if time == b"Timestamp" {
            return Ok(());
        }
        let kind = match kind {
            b"Read" => IoKind::Read,
            b"Write" => IoKind::Write,
            _ => return Err(KIND),
        };
        let hundreds = |text: &[u8]| decimal(text).and_then(|value| value.checked_mul(100));
        decimal(disk).ok_or("invalid disk number")?;
        let name = [host, b".", disk].concat();
        let io = TraceIo {
            time_ns: hundreds(time).ok_or(TIME)?,
            latency_ns: Some(hundreds(response).ok_or("invalid response time")?),
            offset: offset(decimal(at).ok_or(OFFSET)?)?,
            length: some(bytes(decimal(size).ok_or(LENGTH)?)?)?,
            device: out.devices.index(&name)?,
            process: 0,
            kind,
            flags: IoFlags::default(),
        };
        out.join.add(io);
        Ok(())
    }
}
