//! Documents of any recording, read back, and documents that are damaged.

use std::fmt::Write as _;
use std::path::Path;

use fathom_model::Recording;
use minicbor::Decoder;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::random::{TypeNames, random_recording, random_recording_and_names};
use super::reader::Reader;
use super::writer::Writer;
use super::{DocumentError, read_recording, write_recording};

/// `Recording` cannot be compared, but its `Debug` shows every field of every part.
fn same(a: &Recording, b: &Recording) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_recording_is_read_back_equal(seed: u64) {
        let recording = random_recording(seed);
        let document = write_recording(&recording);
        let back = read_recording(&document).expect("it was just written");
        prop_assert!(same(&recording, &back));
        prop_assert_eq!(write_recording(&back), document);
    }

    /// One changed byte is noticed wherever it is: CRC-32 finds every burst of up to 32 bits.
    #[test]
    fn a_damaged_document_is_refused(seed: u64, place: prop::sample::Index, flip in 1u8..) {
        let mut document = write_recording(&random_recording(seed));
        let place = place.index(document.len());
        document[place] ^= flip;
        prop_assert!(read_recording(&document).is_err());
    }

    /// Damaged documents with a right checksum are read or refused.
    #[test]
    fn nonsense_with_a_right_checksum_does_not_panic(seed: u64, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut document = write_recording(&random_recording(seed));
        document.truncate(document.len() - 4);
        for (place, byte) in changes {
            let place = place.index(document.len());
            document[place] = byte;
        }
        let _ = read_recording(&with_checksum(document));
    }
}

fn with_checksum(mut document: Vec<u8>) -> Vec<u8> {
    let sum = crc32fast::hash(&document);
    document.extend_from_slice(&sum.to_le_bytes());
    document
}

/// The check value of the catalogue of CRCs for CRC-32/ISO-HDLC.
#[test]
fn check_value() {
    assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
}

#[test]
fn a_truncated_document_is_refused() {
    let document = write_recording(&random_recording(7));
    for cut in (0..document.len()).step_by(97) {
        assert!(read_recording(&document[..cut]).is_err(), "{cut}");
    }
}

/// Neither the stack nor memory runs out, whatever lengths and depths a document claims.
#[test]
fn what_is_too_deep_or_too_long_is_refused() {
    let head = |names: &[u8]| [b"\x84\x70fathom recording\x01", names].concat();
    for body in [
        vec![0x81; 100_000],
        vec![0xa1; 100_000],
        vec![
            0xa1, 0x00, 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,
        ],
        vec![
            0xa1, 0x00, 0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,
        ],
    ] {
        for names in [&b"\x81\x64plan"[..], b"\x81\x64jobs", b"\x81\x65later"] {
            let document = with_checksum([head(names), body.clone()].concat());
            let error = read_recording(&document).expect_err("it is malformed");
            assert!(matches!(error, DocumentError::Malformed(_)), "{error:?}");
        }
        let deep = [&b"\x81\x65later\xa1\x00"[..], &[0x81; 100_000]].concat();
        assert!(read_recording(&with_checksum(head(&deep))).is_err());
    }
    let names = [0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0];
    assert!(read_recording(&with_checksum(head(&names))).is_err());
}

#[test]
fn other_documents_and_later_versions_are_refused() {
    let other = with_checksum(b"\x84\x70fathom something\x01\x80\xa0".to_vec());
    assert_eq!(read_recording(&other).err(), Some(DocumentError::Foreign));
    let later = with_checksum(b"\x84\x70fathom recording\x02\x80\xa0".to_vec());
    assert_eq!(
        read_recording(&later).err(),
        Some(DocumentError::Version {
            found: 2,
            supported: 1
        })
    );
    assert_eq!(read_recording(b"").err(), Some(DocumentError::Empty));
}

/// The examples of RFC 8949, appendix A, that documents have.
#[test]
fn values_are_encoded_as_the_standard_says() {
    let hex = |write: &dyn Fn(&mut Writer)| {
        let mut writer = Writer::new();
        write(&mut writer);
        writer
            .finish()
            .1
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    struct ByteString;
    impl Serialize for ByteString {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_bytes(&[1, 2, 3, 4])
        }
    }
    fn put<T: Serialize>(value: T) -> impl Fn(&mut Writer) {
        move |writer| value.serialize(writer).expect("it has a form")
    }
    assert_eq!(hex(&put(0u64)), "00");
    assert_eq!(hex(&put(23u64)), "17");
    assert_eq!(hex(&put(24u64)), "1818");
    assert_eq!(hex(&put(1000u64)), "1903e8");
    assert_eq!(hex(&put(1_000_000u64)), "1a000f4240");
    assert_eq!(hex(&put(u64::MAX)), "1bffffffffffffffff");
    assert_eq!(hex(&put(-1000i64)), "3903e7");
    assert_eq!(hex(&put(1.1)), "fb3ff199999999999a");
    assert_eq!(hex(&put(ByteString)), "4401020304");
    assert_eq!(hex(&put("IETF")), "6449455446");
    assert_eq!(hex(&put([1, 2, 3])), "83010203");
    assert_eq!(hex(&put(None::<u64>)), "f6");
    assert_eq!(hex(&put([false, true])), "82f4f5");
}

/// Every name that documents hold, whatever the Rust code calls it. A change of this list is a change of the format.
#[test]
fn the_names_in_documents_are_those_of_the_golden_file() {
    let mut names = TypeNames::new();
    for seed in 0..200 {
        random_recording_and_names(seed, &mut names);
    }
    let mut text = String::new();
    for (of, names) in names {
        writeln!(text, "{of}").expect("a string takes everything");
        for name in names {
            writeln!(text, "  {name}").expect("a string takes everything");
        }
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/document-names.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).expect("the golden file is written");
    }
    let expected = std::fs::read_to_string(&golden).expect("the golden file is there");
    assert_eq!(text, expected);
}

mod growing {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct Old {
        ios: u64,
        gone: Vec<u32>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct New {
        #[serde(default = "five")]
        added: u64,
        ios: u64,
    }

    fn five() -> u64 {
        5
    }

    /// A field that came later has its default in older documents, and one that is gone is skipped.
    #[test]
    fn an_older_document_is_read_by_a_newer_model() {
        let old = Old {
            ios: 3,
            gone: vec![4],
        };
        let mut writer = Writer::new();
        old.serialize(&mut writer).expect("it has a form");
        let (names, body) = writer.finish();
        assert_eq!(names, ["ios", "gone"]);
        let read =
            |names: &[&'static str]| New::deserialize(&mut Reader::new(Decoder::new(&body), names));
        assert_eq!(read(&names), Ok(New { added: 5, ios: 3 }));
        assert_eq!(
            Old::deserialize(&mut Reader::new(Decoder::new(&body), &["ios", "other"])),
            Err(DocumentError::Malformed("missing field `gone`".to_owned()))
        );
    }
}
