//! The memory of a disk.

use fathom_sim::{Library, SimOp};

use crate::structural::{one, request};

/// Two segments: of the last two places that were read, a third read needs no access. A write to a
/// place ends that.
#[test]
fn the_segments_of_a_disk_hold_what_was_read() {
    let text = "hdd-7200(read_ahead=0k, read_segments=2, overhead=0.2ms)";
    let mut disk = Library::new().build_text(text, 1).expect("a disk");
    let mut now = 0;
    let mut is_hit =
        |op, place: u64| one(&mut *disk, &mut now, request(op, place << 30, 4096)) == 200_000;
    let (a, b, c) = (1, 500, 1000);
    for (place, expected) in [
        (a, false),
        (b, false),
        (a, true),
        (b, true),
        // It takes the segment of a, because b was used last.
        (c, false),
        (b, true),
        (a, false),
        (a, true),
    ] {
        assert_eq!(is_hit(SimOp::Read, place), expected, "{place}");
    }
    is_hit(SimOp::Write, a);
    assert!(!is_hit(SimOp::Read, a), "the write replaced it");
}
