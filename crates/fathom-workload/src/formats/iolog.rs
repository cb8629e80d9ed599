//! I/O logs of fio, versions 2 and 3. In version 2 `wait` is in microseconds since the previous `wait`; in version 3 each line
//! begins with its time in microseconds.

use super::{LENGTH, LineFormat, OFFSET, Output, TIME, bytes, offset, some};
use crate::number::{decimal, words};
use crate::record::{IoFlags, IoKind, TraceIo};

#[derive(Default)]
pub(super) struct Iolog {
    /// Version 3.
    timed: Option<bool>,
    now_us: u64,
}

impl LineFormat for Iolog {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        if line.starts_with(b"fio version ") {
            self.timed = Some(match line {
                b"fio version 2 iolog" => false,
                b"fio version 3 iolog" => true,
                _ => return Err("neither version 2 nor version 3 of fio's I/O log"),
            });
            return Ok(());
        }
        let mut all = words(line);
        if self
            .timed
            .ok_or("no 'fio version 2 iolog' or 'fio version 3 iolog' before it")?
        {
            self.now_us = all.next().and_then(decimal).ok_or(TIME)?;
        }
        let file = all.next().ok_or("no file name")?;
        let action = all.next().ok_or("no action")?;
        let (kind, flags) = match action {
            b"add" | b"open" | b"close" => return Ok(()),
            b"wait" if self.timed == Some(false) => {
                let wait = all.next().and_then(decimal).ok_or(TIME)?;
                self.now_us = self.now_us.checked_add(wait).ok_or(TIME)?;
                return Ok(());
            }
            b"read" => (IoKind::Read, IoFlags::default()),
            b"write" => (IoKind::Write, IoFlags::default()),
            b"trim" => (IoKind::Discard, IoFlags::default()),
            b"sync" => (IoKind::Flush, IoFlags::default()),
            b"datasync" => (IoKind::Flush, IoFlags::DATA_ONLY),
            _ => return Err("unknown action"),
        };
        let (mut at, mut length) = (0, 0);
        if kind != IoKind::Flush {
            at = offset(all.next().and_then(decimal).ok_or(OFFSET)?)?;
            length = some(bytes(all.next().and_then(decimal).ok_or(LENGTH)?)?)?;
        }
        let device = out.devices.index(file)?;
        out.join.add(TraceIo {
            time_ns: self.now_us.checked_mul(1000).ok_or(TIME)?,
            latency_ns: None,
            offset: at,
            length,
            device,
            process: 0,
            kind,
            flags,
        });
        Ok(())
    }
}
