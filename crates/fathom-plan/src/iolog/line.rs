//! One line of a trace: `[TIME] FILE ACTION [OFFSET LENGTH [DONE]]`, separated by blanks.

use fathom_model::TraceAction;

use super::TraceError;

/// The format version of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Without times; waits are separate lines.
    Two,
    /// Each line begins with its time in microseconds.
    Three,
    /// Of fathom: as version 3 with times in nanoseconds, and lines of I/O end with the time of the completion.
    Dependencies,
}

/// The first line of a log of [`Version::Dependencies`].
const DEPENDENCIES: &str = "fathom version 1 dependency iolog";

/// A parsed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Microseconds in version 3, nanoseconds with dependencies, none in version 2.
    pub timestamp: Option<u64>,
    /// Nanoseconds; `u64::MAX` where it is not known.
    pub done: u64,
    /// Name of the file, any bytes but blanks.
    pub file: &'a [u8],
    pub event: Event,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Add,
    Open,
    Close,
    /// Version 2 only.
    Wait(u64),
    Io {
        action: TraceAction,
        offset: u64,
        len: u32,
    },
}

/// The version of a trace, by its first line.
pub(super) fn version(first: &[u8]) -> Result<Version, TraceError> {
    if first.starts_with(b"fio version 3 iolog") {
        return Ok(Version::Three);
    }
    if first.starts_with(b"fio version 2 iolog") {
        return Ok(Version::Two);
    }
    if first.starts_with(DEPENDENCIES.as_bytes()) {
        return Ok(Version::Dependencies);
    }
    if is_blktrace(first) {
        let advice = "print it with blkparse(1) and convert it to lines of 'MICROSECONDS FILE ACTION OFFSET LENGTH' below 'fio version 3 iolog'";
        return Err(TraceError::new(1, "binary blktrace traces are not supported").advise(advice));
    }
    let advice = "the first line of a trace is 'fio version 2 iolog' or 'fio version 3 iolog'";
    Err(TraceError::new(1, "not an I/O trace").advise(advice))
}

/// Records of blktrace begin with 0x65617400 plus a version below 256, in either byte order (blktrace_api.h of Linux).
fn is_blktrace(first: &[u8]) -> bool {
    matches!(first, [_, b't', b'a', b'e', ..] | [b'e', b'a', b't', _, ..])
}

/// Parses one line; `None` is an empty one.
///
/// # Errors
/// Why the line is invalid.
pub(super) fn parse(line: &[u8], version: Version) -> Result<Option<Line<'_>>, &'static str> {
    let mut fields = line
        .split(|byte| is_blank(*byte))
        .filter(|field| !field.is_empty());
    let Some(first) = fields.next() else {
        return Ok(None);
    };
    let (timestamp, file) = match version {
        Version::Two => (None, first),
        Version::Three | Version::Dependencies => {
            let timestamp = number(first).ok_or("the line does not begin with a time")?;
            (
                Some(timestamp),
                fields.next().ok_or("the line has no file name")?,
            )
        }
    };
    if file.contains(&0) {
        return Err("the file name contains a NUL byte");
    }
    let action = fields.next().ok_or("the line has no action")?;
    let event = match (action, fields.next(), fields.next()) {
        (b"add", None, _) => Event::Add,
        (b"open", None, _) => Event::Open,
        (b"close", None, _) => Event::Close,
        (b"add" | b"open" | b"close", ..) => return Err("add, open and close take no offset"),
        (b"wait", Some(time), Some(_)) if version == Version::Two => {
            Event::Wait(number(time).ok_or("invalid wait time")?)
        }
        (b"wait", ..) if version != Version::Two => {
            return Err("wait is only valid in version 2; here every line has its time");
        }
        (action, Some(offset), Some(len)) => io(action, offset, len)?,
        (action, ..) if named(action).is_some() || action == b"wait" => {
            return Err("the offset or length is missing");
        }
        _ => return Err(UNKNOWN_ACTION),
    };
    let done = match (version, &event) {
        (Version::Dependencies, Event::Io { .. }) => {
            fields.next().map_or(Ok(u64::MAX), |done| {
                number(done).ok_or("invalid time of the completion")
            })?
        }
        _ => u64::MAX,
    };
    Ok(Some(Line {
        timestamp,
        done,
        file,
        event,
    }))
}

const UNKNOWN_ACTION: &str =
    "the action is not one of add, open, close, read, write, sync, datasync, trim and wait";

fn named(action: &[u8]) -> Option<TraceAction> {
    Some(match action {
        b"read" => TraceAction::Read,
        b"write" => TraceAction::Write,
        b"trim" => TraceAction::Trim,
        b"sync" => TraceAction::Sync,
        b"datasync" => TraceAction::Datasync,
        _ => return None,
    })
}

fn io(action: &[u8], offset: &[u8], len: &[u8]) -> Result<Event, &'static str> {
    let action = named(action).ok_or(UNKNOWN_ACTION)?;
    let offset = number(offset).ok_or("the offset is not a number below 2^64")?;
    let len = number(len).ok_or("the length is not a number")?;
    let len = u32::try_from(len).map_err(|_| "the length exceeds 4294967295 bytes")?;
    if matches!(action, TraceAction::Sync | TraceAction::Datasync) {
        return Ok(Event::Io {
            action,
            offset: 0,
            len: 0,
        });
    }
    if len == 0 {
        return Err("the length is 0");
    }
    Ok(Event::Io {
        action,
        offset,
        len,
    })
}

/// Blanks as in isspace(3) in the C locale.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// A decimal number, digits only, below 2^64.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    digits.iter().try_fold(0u64, |n, digit| {
        n.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(line: &str) -> Result<Option<Line<'_>>, &'static str> {
        parse(line.as_bytes(), Version::Three)
    }

    #[test]
    fn both_versions_are_parsed() {
        let io = Event::Io {
            action: TraceAction::Write,
            offset: 8192,
            len: 4096,
        };
        assert_eq!(
            three("15 /a/b write 8192 4096\n"),
            Ok(Some(Line {
                timestamp: Some(15),
                done: u64::MAX,
                file: b"/a/b",
                event: io
            }))
        );
        assert_eq!(
            parse(b" f\twrite 8192 4096", Version::Two),
            Ok(Some(Line {
                timestamp: None,
                done: u64::MAX,
                file: b"f",
                event: io
            }))
        );
        assert_eq!(
            parse(b"f wait 500 0", Version::Two).map(|l| l.map(|l| l.event)),
            Ok(Some(Event::Wait(500)))
        );
        assert_eq!(
            three("0 f open").map(|l| l.map(|l| l.event)),
            Ok(Some(Event::Open))
        );
        let sync = Event::Io {
            action: TraceAction::Datasync,
            offset: 0,
            len: 0,
        };
        assert_eq!(
            three("0 f datasync 77 4096").map(|l| l.map(|l| l.event)),
            Ok(Some(sync))
        );
        assert_eq!(three(" \t\r\n"), Ok(None));
        let done = |line: &'static str| {
            parse(line.as_bytes(), Version::Dependencies).map(|line| line.map(|line| line.done))
        };
        assert_eq!(done("7 f read 0 4096 19"), Ok(Some(19)));
        assert_eq!(done("7 f read 0 4096"), Ok(Some(u64::MAX)));
        assert_eq!(done("7 f sync 0 0 8"), Ok(Some(8)));
        assert!(done("7 f read 0 4096 x").is_err());
    }

    #[test]
    fn invalid_lines_are_errors() {
        let cases = [
            "x f read 0 1",
            "-1 f read 0 1",
            "1",
            "1 f",
            "1 f read",
            "1 f read 0",
            "1 f read x 1",
            "1 f read 0 0",
            "1 f read 0 4294967296",
            "1 f read 99999999999999999999 1",
            "1 f jump 0 1",
            "1 f wait 0 1",
            "1 f add 0",
            "99999999999999999999 f open",
            "1 f\0g open",
        ];
        for case in cases {
            assert!(three(case).is_err(), "{case}");
        }
    }

    #[test]
    fn the_first_line_states_the_version() {
        assert_eq!(version(b"fio version 3 iolog\n"), Ok(Version::Three));
        assert_eq!(version(b"fio version 2 iolog"), Ok(Version::Two));
        assert_eq!(
            version(b"fathom version 1 dependency iolog\n"),
            Ok(Version::Dependencies)
        );
        for other in [&b"fio version 1 iolog"[..], b"", b"\x07tae\0\0"] {
            assert!(version(other).is_err());
        }
        assert!(version(b"\x07tae\0\0").is_err_and(|error| error.problem.contains("blktrace")));
    }
}
