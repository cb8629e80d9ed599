//! Text of biosnoop of bcc: `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`, with `QUE(ms)` before the latency if asked for. The time
//! is that of the completion, sectors have 512 bytes. A command name may contain blanks, therefore fields count from the end.

use super::{FIELDS, KIND, LENGTH, LineFormat, OFFSET, Output, TIME, bytes, sector, some};
use crate::number::{decimal, scaled, words};
use crate::record::{IoFlags, IoKind, TraceIo};

#[derive(Default)]
pub(super) struct Biosnoop {
    /// There is a column before the latency.
    queued: bool,
    /// The head was read.
    head: bool,
}

impl LineFormat for Biosnoop {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        if line.starts_with(b"TIME(s)") {
            let has = |name: &[u8]| words(line).any(|word| word == name);
            if !has(b"SECTOR") || !has(b"BYTES") {
                return Err("this output lacks sectors and bytes; use biosnoop of bcc");
            }
            (self.queued, self.head) = (has(b"QUE(ms)"), true);
            return Ok(());
        }
        if !self.head {
            return Err("no line with the names of the columns before it");
        }
        let all: Vec<&[u8]> = words(line).collect();
        let last = all.len().checked_sub(1).ok_or(FIELDS)?;
        let field = |back: usize| {
            let back = if back > 0 && self.queued {
                back + 1
            } else {
                back
            };
            last.checked_sub(back).map(|index| all[index]).ok_or(FIELDS)
        };
        if last < 6 + usize::from(self.queued) {
            return Err(FIELDS);
        }
        let latency = scaled(field(0)?, 1_000_000).ok_or("invalid latency")?;
        let kind = match field(3)? {
            [b'R', ..] => IoKind::Read,
            [b'W', ..] => IoKind::Write,
            [b'D', ..] => IoKind::Discard,
            [b'F', ..] => IoKind::Flush,
            _ => return Err(KIND),
        };
        let (mut at, mut length) = (0, 0);
        if kind != IoKind::Flush {
            at = sector(decimal(field(2)?).ok_or(OFFSET)?)?;
            length = some(bytes(decimal(field(1)?).ok_or(LENGTH)?)?)?;
        }
        let io = TraceIo {
            time_ns: scaled(all[0], 1_000_000_000)
                .ok_or(TIME)?
                .saturating_sub(latency),
            latency_ns: Some(latency),
            offset: at,
            length,
            device: out.devices.index(field(4)?)?,
            process: decimal(field(5)?)
                .and_then(|pid| u32::try_from(pid).ok())
                .ok_or("invalid process")?,
            kind,
            flags: IoFlags::default(),
        };
        out.join.add(io);
        Ok(())
    }
}
