//! Files that are damaged or made to harm: one reason each, in bounded memory, and the files beside them are read all the same.

use std::io::{Cursor, Read};

use fathom_import::{Files, ImportError, import};

/// A good result, named so, between files of any bytes.
const GOOD: &str = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "good", "read": {"iops": 1.0, "total_ios": 1, "io_bytes": 4096, "runtime": 1000}}]}"#;

/// Pieces repeated up to a length, without being held in memory; after them nothing.
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
        let begun = count % self.pieces.len();
        self.pieces.rotate_left(begun);
        self.left -= count as u64;
        Ok(count)
    }
}

struct Folder<'a>(&'a [(&'a str, &'a [u8], u64)]);

impl Files for Folder<'_> {
    fn open(&self, path: &str) -> Result<Box<dyn Read>, String> {
        let (_, bytes, length) = self
            .0
            .iter()
            .find(|(name, ..)| *name == path)
            .ok_or("no such file")?;
        match length {
            0 => Ok(Box::new(Cursor::new(bytes.to_vec()))),
            length => Ok(Box::new(Endless::of(bytes, *length))),
        }
    }
}

/// What is said of a file that lies between two good ones.
fn said(name: &str, bytes: &[u8], length: u64) -> ImportError {
    let files = [
        ("a.json", GOOD.as_bytes(), 0),
        (name, bytes, length),
        ("z.json", GOOD.as_bytes(), 0),
    ];
    let paths = files
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect::<Vec<_>>();
    let mut all = import(&paths, &Folder(&files));
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
    let words = trouble.why.to_string();
    assert!(
        trouble.file == name
            && !words.is_empty()
            && words.len() < 200
            && !words.contains(['\n', '\0', '\u{1b}']),
        "{name}: {words:?}"
    );
    trouble.why
}

#[test]
fn every_damage_has_one_reason() {
    let cut = &GOOD.as_bytes()[..GOOD.len() / 2];
    assert!(matches!(
        said("cut.json", cut, 0),
        ImportError::Malformed { .. }
    ));
    assert_eq!(said("nul.json", &[0; 100_000], 0), ImportError::NoDocument);
    assert_eq!(
        said("nul_bw.1.log", &[0; 100_000], 0),
        ImportError::NoDocument
    );
    assert_eq!(
        said("latin.json", b"\xe9\xff\xfe\x80\x1b[31m", 0),
        ImportError::NoDocument
    );
    assert!(matches!(
        said("latin2.json", b"{\"jobs\": \xff}", 0),
        ImportError::Malformed { .. }
    ));
    assert_eq!(said("wide.json", b"\xff\xfe{\0\"\0", 0), ImportError::Utf16);
    assert!(matches!(
        said("comma.json", GOOD.replace("1.0", "80,00").as_bytes(), 0),
        ImportError::Malformed { .. }
    ));
    assert!(
        matches!(said("quoted.json", GOOD.replace("1.0", "\"80,00\"").as_bytes(), 0), ImportError::Figure { name, .. } if name == "iops")
    );
    assert!(matches!(
        said("comma_bw.1.log", b"250, 80,00, 0, 0\n", 0),
        ImportError::LogLine { line: 1, .. }
    ));
    assert!(
        matches!(
            said(
                "late_bw.1.log",
                b"250, 1, 0, 0\n99999999999999999999, 1, 0, 0\n",
                0
            ),
            ImportError::LogLine { line: 2, .. }
        ),
        "regression 0250"
    );
    assert_eq!(said("empty.json", b"", 0), ImportError::Empty);
    assert_eq!(said("other.json", b"{\"a\": [1]}", 0), ImportError::NoJobs);
    let figure = format!(
        "{{\"jobs\": [{{\"read\": {{\"iops\": \"{}\"}}}}]}}",
        "\u{1b}[2J\0".repeat(50).escape_default()
    );
    assert!(matches!(
        said("escape.json", figure.as_bytes(), 0),
        ImportError::Malformed { .. } | ImportError::Figure { .. }
    ));
}

/// 1 GiB of each, which nobody holds: what is no log is read up to the limit at most, and a log piece by piece.
#[test]
fn a_gigabyte_of_anything_comes_back() {
    const GIB: u64 = 1 << 30;
    assert_eq!(said("image.json", &[0], GIB), ImportError::NoDocument);
    assert_eq!(said("line_bw.1.log", b"1", GIB), ImportError::TooLarge);
    assert!(matches!(
        said("fields_bw.1.log", b"1, ", GIB),
        ImportError::HistLine(_)
    ));
    assert!(matches!(
        said("row_bw.1.log", b"1 ", GIB),
        ImportError::TooLarge
    ));
    assert_eq!(said("nested.json", b"{\"a\":", GIB), ImportError::TooLarge);
    assert_eq!(
        said("lists.json", b"[{", 100 << 20),
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
