//! CSV of hfplayer. The first line names the columns, each name with a suffix for its type. Used are `ELAPSED_USECS`, `OP` (or
//! `CMD`), `LBA` and `NBLKS` (blocks of 512 bytes), `LATENCY_USECS` and `LUN_SSID`.

use super::{FIELDS, KIND, LENGTH, LineFormat, OFFSET, Output, TIME, sector, sectors, some};
use crate::number::{decimal, integer, scaled, trim};
use crate::record::{IoFlags, IoKind, TraceIo};

const COLUMNS: [&[u8]; 7] = [
    b"ELAPSED_USECS",
    b"LBA",
    b"NBLKS",
    b"OP",
    b"CMD",
    b"LATENCY_USECS",
    b"LUN_SSID",
];

#[derive(Default)]
pub(super) struct Hfplayer {
    columns: Option<[Option<usize>; 7]>,
}

impl LineFormat for Hfplayer {
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), &'static str> {
        let fields = || line.split(|byte| *byte == b',').map(trim);
        let Some(columns) = self.columns else {
            let named = |name: &[u8]| {
                fields().position(|field| {
                    field.strip_prefix(name).is_some_and(|rest| {
                        !rest
                            .first()
                            .is_some_and(|byte| byte.is_ascii_uppercase() || *byte == b'_')
                    })
                })
            };
            let columns = COLUMNS.map(named);
            if columns[..3].iter().any(Option::is_none) {
                return Err("no line with the names of the columns before it");
            }
            self.columns = Some(columns);
            return Ok(());
        };
        let field = |index: usize| columns[index].and_then(|column| fields().nth(column));
        let time_ns = field(0)
            .ok_or(FIELDS)
            .and_then(|text| scaled(text, 1000).ok_or(TIME))?;
        let kind = [field(3), field(4)]
            .into_iter()
            .flatten()
            .find_map(kind)
            .ok_or(KIND)?;
        let io = TraceIo {
            time_ns,
            latency_ns: field(5).and_then(|text| scaled(text, 1000)),
            offset: sector(field(1).and_then(integer).ok_or(OFFSET)?)?,
            length: some(sectors(field(2).and_then(decimal).ok_or(LENGTH)?)?)?,
            device: out.devices.index(field(6).unwrap_or(b"0"))?,
            process: 0,
            kind,
            flags: IoFlags::default(),
        };
        out.join.add(io);
        Ok(())
    }
}

/// The direction in letters, or the code of a SCSI command (READ 6/10/12/16, WRITE 6/10/12/16).
fn kind(text: &[u8]) -> Option<IoKind> {
    match text {
        [b'R' | b'r', ..] => Some(IoKind::Read),
        [b'W' | b'w', ..] => Some(IoKind::Write),
        code => match integer(code)? {
            0x08 | 0x28 | 0xa8 | 0x88 => Some(IoKind::Read),
            0x0a | 0x2a | 0xaa | 0x8a => Some(IoKind::Write),
            _ => None,
        },
    }
}
