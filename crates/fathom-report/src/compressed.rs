//! Compressed logs (`log_store_compressed`): fio's binary samples in concatenated zlib streams.
//!
//! A sample is `time in ms: u64, value: u64, maximum: u64, direction and flags: u32, priority: u16, 2 bytes of padding, block
//! size: u64[, offset: u64[, issue time in ns: u64]]`, little endian, the memory layout of fio on x86-64. Each stream holds
//! samples of one kind.

use std::io::{self, BufRead, Read, Write};

use fathom_model::{Direction, LogEntry, LogKind, LogWindow, Logs, Nanos};
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::log_lines::lines;

/// Flags of a sample, beside its direction.
const OFFSET: u32 = 0x8000_0000;
const PRIO: u32 = 0x4000_0000;
const BOTH: u32 = 0x2000_0000;
const ISSUE_TIME: u32 = 0x1000_0000;
/// Bytes of a sample without offset and issue time.
const BARE: usize = 40;
/// First byte of a zlib stream (RFC 1950: deflate with a window of 32 KiB).
const ZLIB: u8 = 0x78;

/// One stream with these entries; empty if there are none.
///
/// # Errors
/// If the encoder fails.
pub(crate) fn stream(entries: &[LogEntry], kind: LogKind, logs: &Logs) -> io::Result<Vec<u8>> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let timed = matches!(kind, LogKind::Clat | LogKind::Slat);
    entries
        .iter()
        .try_for_each(|entry| encoder.write_all(&sample(entry, timed, logs)))?;
    encoder.finish()
}

fn sample(entry: &LogEntry, timed: bool, logs: &Logs) -> Vec<u8> {
    let flag = |set: bool, bit: u32| if set { bit } else { 0 };
    let both = logs.window == LogWindow::Both;
    let flags = flag(logs.offset, OFFSET)
        | flag(logs.prio, PRIO)
        | flag(both, BOTH)
        | flag(logs.issue_time, ISSUE_TIME);
    let mut bytes = Vec::with_capacity(BARE + 16);
    for word in [entry.at.as_millis(), entry.value, entry.max.unwrap_or(0)] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend((entry.direction as u32 | flags).to_le_bytes());
    bytes.extend(entry.prio.to_le_bytes());
    bytes.extend([0; 2]);
    bytes.extend(u64::from(entry.block_size).to_le_bytes());
    if logs.offset {
        bytes.extend(entry.offset.to_le_bytes());
    }
    if logs.issue_time {
        bytes.extend(if timed { entry.issued.get() } else { 0 }.to_le_bytes());
    }
    bytes
}

/// Writes the lines of a compressed log to `out` (`--inflate-log`) and copies any other log. Memory use does
/// not grow with the log.
///
/// # Errors
/// If reading or writing fails, and `InvalidData` if the log is malformed.
pub fn inflate_log(mut log: impl BufRead, out: &mut dyn Write) -> io::Result<()> {
    if log.fill_buf()?.first() != Some(&ZLIB) {
        return io::copy(&mut log, out).map(drop);
    }
    while !log.fill_buf()?.is_empty() {
        let mut decoder = ZlibDecoder::new(log);
        inflate_stream(&mut decoder, out)?;
        log = decoder.into_inner();
    }
    Ok(())
}

fn inflate_stream(samples: &mut impl Read, out: &mut dyn Write) -> io::Result<()> {
    let mut bare = [0; BARE];
    let mut first = None;
    while read_whole(samples, &mut bare)? {
        let flags = u32::from_le_bytes([bare[24], bare[25], bare[26], bare[27]]);
        // The flags of the first sample apply to its whole stream.
        let flags = *first.get_or_insert(flags & !3);
        let mut next = |has: u32| -> io::Result<u64> {
            let mut word = [0; 8];
            if flags & has != 0 && !read_whole(samples, &mut word)? {
                return Err(invalid("it ends inside a sample"));
            }
            Ok(u64::from_le_bytes(word))
        };
        let (offset, issued) = (next(OFFSET)?, next(ISSUE_TIME)?);
        let entry = entry(&bare, offset, Nanos::new(issued))?;
        let window = if flags & BOTH != 0 {
            LogWindow::Both
        } else {
            LogWindow::Mean
        };
        let logs = Logs {
            offset: flags & OFFSET != 0,
            prio: flags & PRIO != 0,
            issue_time: flags & ISSUE_TIME != 0,
            window,
            ..Logs::default()
        };
        // A sample contains its issue time if the log has issue times.
        out.write_all(lines(&[entry], LogKind::Clat, &logs).as_bytes())?;
    }
    Ok(())
}

fn entry(bare: &[u8; BARE], offset: u64, issued: Nanos) -> io::Result<LogEntry> {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bare[at + byte]));
    let direction = match u32::from_le_bytes([bare[24], bare[25], bare[26], bare[27]])
        & !(OFFSET | PRIO | BOTH | ISSUE_TIME)
    {
        0 => Direction::Read,
        1 => Direction::Write,
        2 => Direction::Trim,
        _ => {
            return Err(invalid(
                "its samples are not laid out as those of fio 3.42; inflate it with the fio that wrote it",
            ));
        }
    };
    let block_size =
        u32::try_from(word(32)).map_err(|_| invalid("a block size is beyond 4 GiB"))?;
    let prio = u16::from_le_bytes([bare[28], bare[29]]);
    let at = Nanos::from_millis(word(0).min(u64::MAX / 1_000_000));
    Ok(LogEntry {
        at,
        value: word(8),
        max: Some(word(16)),
        direction,
        block_size,
        offset,
        prio,
        issued,
    })
}

/// False at the end; an end within a sample is an error.
fn read_whole(from: &mut impl Read, into: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < into.len() {
        match from.read(&mut into[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(invalid("it ends inside a sample")),
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not a compressed log: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<LogEntry> {
        let one = |n: u64| LogEntry {
            at: Nanos::from_millis(n),
            value: n * 1000,
            max: Some(n * 2000),
            direction: [Direction::Read, Direction::Write, Direction::Trim][n as usize % 3],
            block_size: 4096,
            offset: n << 12,
            prio: (n % 4) as u16 * 0x2001,
            issued: Nanos::new(n * 7),
        };
        (0..100).map(one).collect()
    }

    #[test]
    fn inflated_logs_equal_plain_logs() {
        for (offset, issue_time) in [(false, false), (true, false), (true, true)] {
            for (prio, window) in [(false, LogWindow::Mean), (true, LogWindow::Both)] {
                let logs = Logs {
                    offset,
                    prio,
                    issue_time,
                    window,
                    ..Logs::default()
                };
                let all = entries();
                let streams: Vec<u8> = all
                    .chunks(30)
                    .flat_map(|some| stream(some, LogKind::Clat, &logs).expect("memory"))
                    .collect();
                let mut out = Vec::new();
                inflate_log(&streams[..], &mut out).expect("a log");
                assert_eq!(
                    String::from_utf8(out).expect("text"),
                    lines(&all, LogKind::Clat, &logs)
                );
            }
        }
    }

    #[test]
    fn malformed_logs_are_rejected_and_plain_logs_are_copied() {
        let mut out = Vec::new();
        inflate_log(&b"1, 2, 0, 4096, 0\n"[..], &mut out).expect("copied");
        assert_eq!(out, b"1, 2, 0, 4096, 0\n");
        let whole = stream(&entries(), LogKind::Bw, &Logs::default()).expect("memory");
        let mut wrong = ZlibEncoder::new(Vec::new(), Compression::default());
        wrong.write_all(&[0xff; 80]).expect("memory");
        for bad in [
            &whole[..whole.len() / 2],
            &wrong.finish().expect("memory")[..],
            &[0x78, 0x9c, 1, 2, 3][..],
        ] {
            assert!(inflate_log(bad, &mut Vec::new()).is_err());
        }
    }
}
