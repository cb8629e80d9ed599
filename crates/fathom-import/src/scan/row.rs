//! Rows of a log: `time_ms, value[, max], direction, block size[, offset][, priority][, issue
//! time]`, read byte by byte.

use std::io::Read;

use fathom_model::Direction;

use super::error::LogError;

/// Initial size of the buffer.
const CHUNK: usize = 16 << 10;
/// Limit of the buffer and of a line.
const LARGEST_CHUNK: usize = 256 << 10;
/// Limit of columns.
const COLUMNS: usize = 8;
/// Rows that are inspected before deciding whether there is a column of maxima.
const SAMPLED_ROWS: usize = 256;
/// Limit of values: 11 days in nanoseconds, a petabyte a second in KiB.
const LARGEST_VALUE: u64 = 1_000_000_000_000_000;
/// A log that begins later counts milliseconds since 1970 (`log_unix_epoch`); this is a date in
/// 1973.
pub const EPOCH_MS: u64 = 100_000_000_000;
/// Limit of the time: the year 2286.
const LATEST_MS: u64 = 10_000_000_000_000;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Milliseconds: end of the window, or completion of the I/O.
    pub at: u64,
    /// In the unit of the log; the mean if there is a maximum too.
    pub value: u64,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Bytes of the I/O; 0 for a window.
    pub size: u64,
}

/// Reads all rows and passes them to `take`. An incomplete last line is skipped; returns whether
/// there was one.
///
/// # Errors
/// The first invalid line.
pub fn rows(input: &mut dyn Read, take: &mut dyn FnMut(Row)) -> Result<bool, LogError> {
    let mut parser = RowParser {
        line: 0,
        first: Vec::new(),
        maxima: None,
        take,
    };
    let (mut buffer, mut held) = (vec![0; CHUNK], 0);
    loop {
        let got = match input.read(&mut buffer[held..]) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            got => got?,
        };
        let end = held + got;
        let whole = buffer[..end]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let mut rest = &buffer[..whole];
        while !rest.is_empty() {
            if let Err(why) = parser.line(&mut rest) {
                // The rows before it are valid but may still be pending.
                parser.decide()?;
                return Err(why);
            }
        }
        if got == 0 {
            return parser.end(&buffer[whole..end]);
        }
        buffer.copy_within(whole..end, 0);
        held = end - whole;
        if held == LARGEST_CHUNK {
            return Err(LogError::Line {
                line: parser.line + 1,
                why: "it is longer than any row",
            });
        }
        // Most logs are short, and zeroing a large buffer costs more than reading them.
        if end == buffer.len() {
            buffer.resize((buffer.len() * 2).min(LARGEST_CHUNK), 0);
        }
    }
}

/// State of the parser.
struct RowParser<'a> {
    line: usize,
    /// The first rows, until the meaning of their columns is known.
    first: Vec<(usize, [u64; COLUMNS], usize)>,
    maxima: Option<bool>,
    take: &'a mut dyn FnMut(Row),
}

impl RowParser<'_> {
    /// Parses one line and removes it from `rest`.
    fn line(&mut self, rest: &mut &[u8]) -> Result<(), LogError> {
        self.line += 1;
        let line = self.line;
        let refuse = |why| LogError::Line { line, why };
        let mut columns = [0; COLUMNS];
        let count = fields(rest, &mut columns).map_err(refuse)?;
        match self.maxima {
            _ if count == 0 => Ok(()),
            Some(maxima) => {
                (self.take)(row(&columns, count, maxima).map_err(refuse)?);
                Ok(())
            }
            None => {
                self.first.push((line, columns, count));
                if self.first.len() == SAMPLED_ROWS {
                    self.decide()
                } else {
                    Ok(())
                }
            }
        }
    }

    /// If the third column is always a direction, there are no maxima.
    fn decide(&mut self) -> Result<(), LogError> {
        let maxima = self.first.iter().any(|(_, columns, _)| columns[2] > 2)
            && self
                .first
                .iter()
                .all(|(_, columns, count)| *count > 4 && columns[3] <= 2);
        self.maxima = Some(maxima);
        for (line, columns, count) in std::mem::take(&mut self.first) {
            (self.take)(row(&columns, count, maxima).map_err(|why| LogError::Line { line, why })?);
        }
        Ok(())
    }

    fn end(&mut self, last: &[u8]) -> Result<bool, LogError> {
        let mut text = last.to_vec();
        text.push(b'\n');
        let read = self.line(&mut &text[..]);
        // Only the pending rows can have too few columns here; later rows are refused at once.
        let short = self
            .first
            .pop_if(|(line, _, count)| *line == self.line && *count < 3)
            .is_some();
        let cut = read.is_err() || short;
        if self.maxima.is_none() {
            self.decide()?;
        }
        Ok(cut)
    }
}

/// Parses the numbers of one line and removes the line with its end from `rest`.
fn fields(rest: &mut &[u8], columns: &mut [u64; COLUMNS]) -> Result<usize, &'static str> {
    let mut count = 0;
    loop {
        blanks(rest);
        if count == 0 && end_of_line(rest) {
            return Ok(0);
        }
        let value = number(rest).ok_or(EXPECTED[count.min(3)])?;
        *columns
            .get_mut(count)
            .ok_or("it has more columns than any log of fio")? = value;
        count += 1;
        blanks(rest);
        if end_of_line(rest) {
            return Ok(count);
        }
        match rest {
            [b',', more @ ..] => *rest = more,
            _ => return Err(EXPECTED[(count - 1).min(3)]),
        }
    }
}

const EXPECTED: [&str; 4] = [
    "a row begins with the time in milliseconds",
    "the second column is the value, a whole number",
    "the third column is the direction, 0, 1 or 2",
    "columns are whole numbers with commas between them",
];

fn blanks(rest: &mut &[u8]) {
    while let [b' ' | b'\t' | b'\r', more @ ..] = rest {
        *rest = more;
    }
}

fn end_of_line(rest: &mut &[u8]) -> bool {
    match rest {
        [b'\n', more @ ..] => {
            *rest = more;
            true
        }
        _ => false,
    }
}

/// A whole number, in base 16 after `0x`, as priorities are. A leading zero is refused: it is part
/// of a decimal comma (`80,00`).
fn number(rest: &mut &[u8]) -> Option<u64> {
    if let [b'0', b'x', ..] = rest {
        return based(&mut *rest, 2, 16);
    }
    if let [b'0', b'0'..=b'9', ..] = rest {
        return None;
    }
    based(rest, 0, 10)
}

fn based(rest: &mut &[u8], skip: usize, base: u32) -> Option<u64> {
    let mut value = 0_u64;
    let mut at = skip;
    while let Some(digit) = rest.get(at).and_then(|byte| (*byte as char).to_digit(base)) {
        value = value
            .checked_mul(u64::from(base))?
            .checked_add(u64::from(digit))?;
        at += 1;
    }
    *rest = &rest[at..];
    (at > skip).then_some(value)
}

fn row(columns: &[u64; COLUMNS], count: usize, maxima: bool) -> Result<Row, &'static str> {
    let shift = usize::from(maxima);
    if count < 2 {
        return Err(EXPECTED[1]);
    }
    let direction = *Direction::ALL
        .get(columns[2 + shift] as usize)
        .filter(|_| count > 2 + shift)
        .ok_or(EXPECTED[2])?;
    if columns[0] > LATEST_MS {
        return Err("the time in milliseconds is beyond any run");
    }
    if columns[1] > LARGEST_VALUE {
        return Err("the value is beyond any device");
    }
    Ok(Row {
        at: columns[0],
        value: columns[1],
        direction,
        size: columns[3 + shift],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<(Vec<(u64, u64, usize, u64)>, bool), LogError> {
        let mut seen = Vec::new();
        let cut = rows(&mut text.as_bytes(), &mut |row| {
            seen.push((row.at, row.value, row.direction as usize, row.size));
        })?;
        Ok((seen, cut))
    }

    #[test]
    fn columns_of_all_versions() {
        // 2.x and 3.1; 3.33 with priority; offset and priority; priority in base 16 and issue time;
        // maxima.
        for (text, expected) in [
            ("250, 48, 0, 0\n", (250, 48, 0, 0)),
            ("250, 48, 1, 4096, 0\r\n", (250, 48, 1, 4096)),
            ("250, 48, 1, 4096, 81920, 0\n", (250, 48, 1, 4096)),
            ("250,48,2,4096,81920,0x0004,123456\n", (250, 48, 2, 4096)),
            ("250, 48, 99, 1, 0, 0\n", (250, 48, 1, 0)),
        ] {
            assert_eq!(all(text), Ok((vec![expected], false)), "{text}");
        }
        assert_eq!(all(""), Ok((vec![], false)));
        assert_eq!(all("\n\n"), Ok((vec![], false)));
    }

    #[test]
    fn an_incomplete_last_line_is_skipped_and_reported() {
        for cut in ["500, 1", "500,", "5", "500, 12x"] {
            assert_eq!(
                all(&format!("250, 48, 0, 0\n{cut}")),
                Ok((vec![(250, 48, 0, 0)], true)),
                "{cut}"
            );
        }
        assert_eq!(
            all("250, 48, 0, 0\n500, 1, 0, 0"),
            Ok((vec![(250, 48, 0, 0), (500, 1, 0, 0)], false))
        );
    }

    #[test]
    fn invalid_rows_are_refused_with_their_line() {
        let bad = [
            "x, 1, 0, 0",
            "1, 80.5, 0, 0",
            "1, 80,00, 0, 0",
            "1, -5, 0, 0",
            "1, 1, 3, 0",
            "99999999999999, 1, 0, 0",
            "1, 99999999999999999, 0, 0",
            "1, 1, 0, 0, 0, 0, 0, 0, 0",
            "1, 18446744073709551616, 0, 0",
            "1",
            "\0\0",
            "1; 2; 0; 0",
        ];
        for bad in bad {
            let text = format!("250, 48, 0, 0\n{bad}\n500, 1, 0, 0\n");
            assert!(
                matches!(all(&text), Err(LogError::Line { line: 2, .. })),
                "{bad}: {:?}",
                all(&text)
            );
        }
        let many = "250, 48, 0, 0\n".repeat(1000) + "250, 48, 7, 0\n";
        assert!(matches!(all(&many), Err(LogError::Line { line: 1001, .. })));
        assert!(matches!(
            all(&"1".repeat(LARGEST_CHUNK + 5)),
            Err(LogError::Line { line: 1, .. })
        ));
    }

    /// regression 0250: rows before a damaged line near the beginning were lost, and the log
    /// appeared to be empty.
    #[test]
    fn rows_before_a_damaged_line_are_kept() {
        let mut seen = Vec::new();
        let read = rows(
            &mut &b"250, 48, 0, 0\n500, x, 0, 0\n750, 1, 0, 0\n"[..],
            &mut |row| seen.push(row.at),
        );
        assert!(
            matches!(read, Err(LogError::Line { line: 2, .. })) && seen == [250],
            "{read:?} {seen:?}"
        );
    }

    /// Lines across two chunks are read correctly.
    #[test]
    fn long_logs_are_read_to_their_end() {
        let text: String = (1..=100_000)
            .map(|i| format!("{i}, {}, 0, 0\n", i * 7))
            .collect();
        let (seen, cut) = all(&text).expect("a log");
        assert!(!cut && seen.len() == 100_000 && seen[77_776] == (77_777, 544_439, 0, 0));
    }
}
