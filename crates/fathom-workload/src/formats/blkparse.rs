//! Text of blkparse(1), default format: `major,minor cpu sequence seconds.nanoseconds pid action rwbs sector + sectors [process]`,
//! sectors of 512 bytes. The YCSB traces of SNIA IOTTA have this format.

use super::{FIELDS, LENGTH, Layer, LineFormat, OFFSET, Output, TIME, rwbs, sector, sectors};
use crate::number::{decimal, scaled, words};
use crate::record::{IoKind, TraceIo};

pub(super) struct Blkparse {
    layer: Layer,
}

impl Blkparse {
    pub fn new(head: &[u8]) -> Self {
        let issues = head
            .split(|byte| *byte == b'\n')
            .any(|line| words(line).nth(5) == Some(b"D"));
        Blkparse {
            layer: if issues { Layer::Issue } else { Layer::Queue },
        }
    }
}

/// `8,0`.
pub(super) fn is_device(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b',');
    let is_number = |part: Option<&[u8]>| part.and_then(decimal).is_some();
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
}

impl LineFormat for Blkparse {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        let mut all = words(line);
        let device = all.next().ok_or(FIELDS)?;
        if device.starts_with(b"CPU") || device.starts_with(b"Total") {
            // The statistics at the end.
            out.finished = true;
            return Ok(());
        }
        if !is_device(device) {
            return Err("the line does not begin with MAJOR,MINOR");
        }
        let (_cpu, _sequence) = (all.next(), all.next());
        let time_ns = all
            .next()
            .and_then(|time| scaled(time, 1_000_000_000))
            .ok_or(TIME)?;
        let process = all
            .next()
            .and_then(decimal)
            .and_then(|pid| u32::try_from(pid).ok())
            .ok_or("invalid process")?;
        let action = all.next().ok_or(FIELDS)?;
        let is_start = match (action, self.layer) {
            (b"D", Layer::Issue) | (b"Q", Layer::Queue) => true,
            (b"C", _) => false,
            ([letter, ..], _) if letter.is_ascii_alphabetic() && action.len() <= 2 => return Ok(()),
            _ => return Err("unknown action"),
        };
        let Some((kind, flags)) = rwbs(all.next().ok_or(FIELDS)?) else {
            return Ok(());
        };
        let (mut at, mut length) = (0, 0);
        if kind != IoKind::Flush {
            at = sector(all.next().and_then(decimal).ok_or(OFFSET)?)?;
            // Completions of commands without data lack the length.
            match (all.next(), all.next().and_then(decimal)) {
                (Some(b"+"), Some(count)) => length = sectors(count)?,
                _ if is_start => return Err(LENGTH),
                _ => {}
            }
        }
        let io = TraceIo {
            time_ns,
            latency_ns: None,
            offset: at,
            length,
            device: out.devices.index(device)?,
            process,
            kind,
            flags,
        };
        out.event(is_start, io);
        Ok(())
    }
}
