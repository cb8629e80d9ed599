//! Damaged and malicious files: each is refused with one reason, in bounded memory, and the other
//! files are still read. In a program of its own, whose peak memory it looks at.

use std::io::{Cursor, Read};

use fathom_import::{Files, ImportError, import};

/// A valid result with a job named "good".
const GOOD: &str = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "good", "read": {"iops": 1.0, "total_ios": 1, "io_bytes": 4096, "runtime": 1000}}]}"#;

/// A reader that repeats a piece up to a length without holding it all in memory.
struct Endless {
    pieces: Vec<u8>,
    left: u64,
}

impl Endless {
    fn of(piece: &[u8], length: u64) -> Endless {
        Endless {
            pieces: piece.repeat((64 << 10) / piece.len()),
            left: length,
        }
    }
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.left.min(into.len().min(self.pieces.len()) as u64) as usize;
        into[..count].copy_from_slice(&self.pieces[..count]);
        let shift = count % self.pieces.len();
        self.pieces.rotate_left(shift);
        self.left -= count as u64;
        Ok(count)
    }
}

struct MemoryDirectory<'a>(&'a [(&'a str, &'a [u8], u64)]);

impl Files for MemoryDirectory<'_> {
    fn open(&self, path: &str) -> std::io::Result<Box<dyn Read>> {
        let (_, bytes, length) = self
            .0
            .iter()
            .find(|(name, ..)| *name == path)
            .ok_or(std::io::ErrorKind::NotFound)?;
        match length {
            0 => Ok(Box::new(Cursor::new(bytes.to_vec()))),
            length => Ok(Box::new(Endless::of(bytes, *length))),
        }
    }
}

/// The error of a file that is imported between two good ones.
fn error_of(name: &str, bytes: &[u8], length: u64) -> ImportError {
    let files = [
        ("a.json", GOOD.as_bytes(), 0),
        (name, bytes, length),
        ("z.json", GOOD.as_bytes(), 0),
    ];
    let paths = files
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect::<Vec<_>>();
    let mut all = import(&paths, &MemoryDirectory(&files));
    assert_eq!(
        all.results
            .iter()
            .filter(|result| result.entries[0].name == "good")
            .count(),
        2,
        "{name}: {:?}",
        all.troubles
    );
    assert_eq!(all.troubles.len(), 1, "{name}: {:?}", all.troubles);
    let trouble = all.troubles.remove(0);
    let message = trouble.why.to_string();
    assert!(
        trouble.file == name
            && !message.is_empty()
            && message.len() < 200
            && !message.contains(['\n', '\0', '\u{1b}']),
        "{name}: {message:?}"
    );
    trouble.why
}

#[test]
fn every_damaged_file_has_one_reason() {
    let cut = &GOOD.as_bytes()[..GOOD.len() / 2];
    assert!(matches!(
        error_of("cut.json", cut, 0),
        ImportError::Malformed { .. }
    ));
    assert_eq!(
        error_of("nul.json", &[0; 100_000], 0),
        ImportError::NoDocument
    );
    assert_eq!(
        error_of("nul_bw.1.log", &[0; 100_000], 0),
        ImportError::NoDocument
    );
    assert_eq!(
        error_of("latin.json", b"\xe9\xff\xfe\x80\x1b[31m", 0),
        ImportError::NoDocument
    );
    assert!(matches!(
        error_of("latin2.json", b"{\"jobs\": \xff}", 0),
        ImportError::Malformed { .. }
    ));
    assert_eq!(
        error_of("wide.json", b"\xff\xfe{\0\"\0", 0),
        ImportError::Utf16
    );
    assert!(matches!(
        error_of("comma.json", GOOD.replace("1.0", "80,00").as_bytes(), 0),
        ImportError::Malformed { .. }
    ));
    assert!(
        matches!(error_of("quoted.json", GOOD.replace("1.0", "\"80,00\"").as_bytes(), 0), ImportError::Figure { name, .. } if name == "iops")
    );
    assert!(matches!(
        error_of("comma_bw.1.log", b"250, 80,00, 0, 0\n", 0),
        ImportError::LogLine { line: 1, .. }
    ));
    assert!(
        matches!(
            error_of(
                "late_bw.1.log",
                b"250, 1, 0, 0\n99999999999999999999, 1, 0, 0\n",
                0
            ),
            ImportError::LogLine { line: 2, .. }
        ),
        "regression 0250"
    );
    assert_eq!(error_of("empty.json", b"", 0), ImportError::Empty);
    assert_eq!(
        error_of("other.json", b"{\"a\": [1]}", 0),
        ImportError::NoJobs
    );
    let figure = format!(
        "{{\"jobs\": [{{\"read\": {{\"iops\": \"{}\"}}}}]}}",
        "\u{1b}[2J\0".repeat(50).escape_default()
    );
    assert!(matches!(
        error_of("escape.json", figure.as_bytes(), 0),
        ImportError::Malformed { .. } | ImportError::Figure { .. }
    ));
}

/// 1 GiB of each: a file that is not a log is read up to the limit, and a log piece by piece.
#[test]
fn a_gigabyte_of_anything_terminates() {
    const GIB: u64 = 1 << 30;
    assert_eq!(error_of("image.json", &[0], GIB), ImportError::NoDocument);
    assert_eq!(error_of("line_bw.1.log", b"1", GIB), ImportError::TooLarge);
    assert!(matches!(
        error_of("fields_bw.1.log", b"1, ", GIB),
        ImportError::HistLine(_)
    ));
    assert!(matches!(
        error_of("row_bw.1.log", b"1 ", GIB),
        ImportError::TooLarge
    ));
    assert_eq!(
        error_of("nested.json", b"{\"a\":", GIB),
        ImportError::TooLarge
    );
    assert_eq!(
        error_of("lists.json", b"[{", 100 << 20),
        ImportError::TooManyValues
    );
    let peak = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let peak = peak
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .parse::<u64>()
                .ok()
        })
        .expect("a peak");
    assert!(peak < 800 << 10, "{peak} KiB");
}
