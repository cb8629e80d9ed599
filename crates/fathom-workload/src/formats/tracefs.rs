//! Text of the kernel's tracefs, from the events `block_rq_issue` (or `block_bio_queue`) and `block_rq_complete` (or
//! `block_bio_complete`): `fio-21042 [000] ..... 2721.616912: block_rq_issue: 254,0 RA 8192 () 24827400 + 16 be,0,4 [fio]`.

use super::blkparse::is_device;
use super::{LENGTH, Layer, LineFormat, OFFSET, Output, TIME, rwbs, sector, sectors};
use crate::number::{decimal, scaled, words};
use crate::record::{IoKind, TraceIo};

pub(super) struct Tracefs {
    layer: Layer,
}

impl Tracefs {
    pub fn new(head: &[u8]) -> Self {
        let issues = find(head, b": block_rq_issue: ").is_some();
        Tracefs {
            layer: if issues { Layer::Issue } else { Layer::Queue },
        }
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

impl LineFormat for Tracefs {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        // The head of the file, and lines about lost events.
        if line.starts_with(b"#") || line.starts_with(b"CPU:") {
            return Ok(());
        }
        let start = find(line, b": block_").ok_or("no block event")?;
        let (before, event) = (&line[..start], &line[start + 2..]);
        let end = find(event, b": ").ok_or("no block event")?;
        let is_start = match (&event[..end], self.layer) {
            (b"block_rq_issue", Layer::Issue) | (b"block_bio_queue", Layer::Queue) => true,
            (b"block_rq_complete", Layer::Issue) | (b"block_bio_complete", Layer::Queue) => false,
            _ => return Ok(()),
        };
        let time_ns = words(before)
            .last()
            .and_then(|time| scaled(time, 1_000_000_000))
            .ok_or(TIME)?;
        let process = process(before).ok_or("invalid process")?;
        let mut all = words(&event[end + 2..]);
        let device = all
            .next()
            .filter(|text| is_device(text))
            .ok_or("invalid device")?;
        let Some((kind, flags)) = rwbs(all.next().ok_or("no rwbs")?) else {
            return Ok(());
        };
        let (mut at, mut length) = (0, 0);
        if kind != IoKind::Flush {
            let mut last = None;
            let mut range = None;
            while let Some(word) = all.next() {
                if word == b"+" {
                    range = Some((last, all.next()));
                    break;
                }
                last = Some(word);
            }
            let (first, count) = range.ok_or(OFFSET)?;
            at = sector(first.and_then(decimal).ok_or(OFFSET)?)?;
            length = sectors(count.and_then(decimal).ok_or(LENGTH)?)?;
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

/// The digits after the last `-` before ` [` (the CPU) or ` (` (the process group).
fn process(before: &[u8]) -> Option<u32> {
    let end = find(before, b" [").or_else(|| find(before, b" ("))?;
    let name = before[..end].trim_ascii();
    let name = match find(name, b" (") {
        Some(group) => name[..group].trim_ascii_end(),
        None => name,
    };
    let dash = name.iter().rposition(|byte| *byte == b'-')?;
    u32::try_from(decimal(&name[dash + 1..])?).ok()
}
