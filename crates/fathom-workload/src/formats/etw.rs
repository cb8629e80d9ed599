//! Windows: the text that `xperf -i TRACE.etl -a dumper` writes for disk events. Lines of the kinds `DiskRead`, `DiskWrite` and
//! `DiskFlush` have the completion time and the elapsed time in microseconds, offset and size in hexadecimal bytes. The first
//! line of a kind names its columns; other kinds are skipped.

use super::{LENGTH, LineFormat, OFFSET, Output, TIME, bytes, offset};
use crate::number::{decimal, integer, trim};
use crate::record::{IoFlags, IoKind, TraceIo};

#[derive(Clone, Copy, Default)]
struct Columns {
    offset: Option<usize>,
    size: Option<usize>,
    elapsed: Option<usize>,
    disk: Option<usize>,
    process: Option<usize>,
}

#[derive(Default)]
pub(super) struct Etw {
    /// Of reads and writes, and of flushes, which have fewer.
    data: Option<Columns>,
    flush: Option<Columns>,
}

impl LineFormat for Etw {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        let fields = || line.split(|byte| *byte == b',').map(trim);
        let kind = match fields().next() {
            Some(b"DiskRead") => IoKind::Read,
            Some(b"DiskWrite") => IoKind::Write,
            Some(b"DiskFlush") => IoKind::Flush,
            // Other events have names of letters.
            Some([first, ..]) if first.is_ascii_alphabetic() => return Ok(()),
            _ => return Err("no event of xperf"),
        };
        let time = fields().nth(1).ok_or(TIME)?;
        let columns = if kind == IoKind::Flush {
            &mut self.flush
        } else {
            &mut self.data
        };
        if time.eq_ignore_ascii_case(b"TimeStamp") {
            let named = |name: &[u8]| fields().position(|field| field.eq_ignore_ascii_case(name));
            *columns = Some(Columns {
                offset: named(b"ByteOffset"),
                size: named(b"IOSize"),
                elapsed: named(b"ElapsedTime"),
                disk: named(b"DiskNum"),
                process: fields().position(|field| field.starts_with(b"Process Name")),
            });
            return Ok(());
        }
        let columns = columns.ok_or("no line with the names of the columns before it")?;
        let field = |column: Option<usize>| column.and_then(|column| fields().nth(column));
        let latency_ns = field(columns.elapsed)
            .and_then(decimal)
            .and_then(|us| us.checked_mul(1000));
        let (mut at, mut length) = (0, 0);
        if kind != IoKind::Flush {
            at = offset(field(columns.offset).and_then(integer).ok_or(OFFSET)?)?;
            length = bytes(field(columns.size).and_then(integer).ok_or(LENGTH)?)?;
            if length == 0 {
                return Ok(());
            }
        }
        let completed = decimal(time)
            .and_then(|us| us.checked_mul(1000))
            .ok_or(TIME)?;
        let io = TraceIo {
            time_ns: completed.saturating_sub(latency_ns.unwrap_or(0)),
            latency_ns,
            offset: at,
            length,
            device: out.devices.index(field(columns.disk).unwrap_or(b"0"))?,
            process: field(columns.process).and_then(process).unwrap_or(0),
            kind,
            flags: IoFlags::default(),
        };
        out.join.add(io);
        Ok(())
    }
}

/// The number in `sqlservr.exe (1234)`.
fn process(name: &[u8]) -> Option<u32> {
    let open = name.iter().rposition(|byte| *byte == b'(')?;
    let close = name.iter().rposition(|byte| *byte == b')')?;
    u32::try_from(decimal(name.get(open + 1..close)?.trim_ascii())?).ok()
}
