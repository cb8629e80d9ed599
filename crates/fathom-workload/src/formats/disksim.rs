//! ASCII of DiskSim and MQSim: `arrival device block blocks flags`, blocks of 512 bytes, bit 0 of the flags is a read. An arrival
//! with a fraction is in milliseconds (DiskSim); an integer is in nanoseconds (MQSim's default).

use super::{FIELDS, LENGTH, LineFormat, OFFSET, Output, TIME, sector, sectors, some};
use crate::number::{decimal, integer, scaled, words};
use crate::record::{IoFlags, IoKind, TraceIo};

pub(super) struct DiskSim;

impl LineFormat for DiskSim {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        let mut all = words(line);
        let mut field = || all.next().ok_or(FIELDS);
        let (time, device, at, size, flags) = (field()?, field()?, field()?, field()?, field()?);
        if all.next().is_some() {
            return Err(FIELDS);
        }
        let time_ns = if time.contains(&b'.') {
            scaled(time, 1_000_000)
        } else {
            decimal(time)
        };
        decimal(device).ok_or("invalid device")?;
        let flags = integer(flags).ok_or("invalid flags")?;
        let io = TraceIo {
            time_ns: time_ns.ok_or(TIME)?,
            latency_ns: None,
            offset: sector(decimal(at).ok_or(OFFSET)?)?,
            length: some(sectors(decimal(size).ok_or(LENGTH)?)?)?,
            device: out.devices.index(device)?,
            process: 0,
            kind: if flags & 1 == 1 {
                IoKind::Read
            } else {
                IoKind::Write
            },
            flags: IoFlags::default(),
        };
        out.join.add(io);
        Ok(())
    }
}
