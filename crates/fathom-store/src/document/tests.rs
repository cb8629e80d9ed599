//! The way there and back, for any recording, and for documents that are not whole.

use fathom_model::Recording;
use proptest::prelude::*;

use super::dice::TestRng;
use super::kept::Kept;
use super::{Names, read_recording, write_recording};

/// `Recording` cannot be compared, but its `Debug` shows every field of every part.
fn same(a: &Recording, b: &Recording) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_recording_comes_back_equal(seed: u64) {
        let recording = Recording::any(&mut TestRng(seed));
        let document = write_recording(&recording);
        let back = read_recording(&document).expect("what was just written");
        prop_assert!(same(&recording, &back));
        prop_assert_eq!(write_recording(&back), document);
    }

    /// One changed byte is noticed wherever it is: CRC-32 finds every burst of up to 32 bits.
    #[test]
    fn a_damaged_document_is_refused(seed: u64, place: prop::sample::Index, flip in 1u8..) {
        let mut document = write_recording(&Recording::any(&mut TestRng(seed)));
        let place = place.index(document.len());
        document[place] ^= flip;
        prop_assert!(read_recording(&document).is_err());
    }

    /// Whatever stands there, with a checksum that fits, it is read or refused.
    #[test]
    fn nonsense_with_a_right_checksum_is_no_panic(seed: u64, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut document = write_recording(&Recording::any(&mut TestRng(seed)));
        document.truncate(document.len() - 4);
        for (place, byte) in changes {
            let place = place.index(document.len());
            document[place] = byte;
        }
        let sum = super::crc::crc32(&document);
        document.extend_from_slice(&sum.to_le_bytes());
        let _ = read_recording(&document);
    }
}

#[test]
fn a_cut_document_is_refused() {
    let document = write_recording(&Recording::any(&mut TestRng(7)));
    for cut in (0..document.len()).step_by(97) {
        assert!(read_recording(&document[..cut]).is_err(), "{cut}");
    }
}

mod growing {
    use super::super::{Unreadable, kept::Fields, value::Value};
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Old {
        ios: u64,
        gone: u32,
    }
    kept!(Old { ios, gone });

    #[derive(Debug, PartialEq)]
    struct New {
        added: u64,
        ios: u64,
    }
    kept!(New { added = 5, ios });

    /// A field that came later has the value it was given for older documents, one that is gone is passed over.
    #[test]
    fn an_older_document_is_read_by_a_newer_model() {
        let mut names = Names::default();
        let value = Old { ios: 3, gone: 4 }.keep(&mut names);
        let names = Names::read(names.words);
        assert_eq!(
            New::restore(value.clone(), &names),
            Ok(New { added: 5, ios: 3 })
        );
        assert_eq!(
            Old::restore(value, &Names::read(vec!["ios".into(), "other".into()])),
            Err(Unreadable::missing("Old", "gone"))
        );
    }
}
