//! SIGKILL at any time: the store opens, and no acknowledged cell is lost.
//!
//! `FATHOM_STORE_KILLS=1000` runs the long form.

use std::time::Duration;

use crate::common::{TestRng, Writer, assert_nothing_is_lost, rounds};
use fathom_testkit::Scratch;

#[test]
fn a_killed_writer_loses_no_acknowledged_cell() {
    let scratch = Scratch::new().expect("a scratch directory");
    let mut rng = TestRng(std::process::id().into());
    let mut acknowledged = 0;
    for round in 0..rounds("FATHOM_STORE_KILLS", 20) {
        // Mostly a store that earlier rounds wrote; every fourth round a new one, killed while it
        // is created.
        let path = scratch.join(if round % 4 == 0 {
            format!("new-{round}.db")
        } else {
            "old.db".to_owned()
        });
        let mut writer = Writer::start(&path);
        if round % 2 == 1 {
            writer.wait_for(1);
        }
        std::thread::sleep(Duration::from_micros(rng.below(60_000)));
        let (run, cells) = writer.kill();
        assert_nothing_is_lost(&path, run, cells);
        acknowledged += cells;
        if round % 4 == 0 {
            let _ = std::fs::remove_file(&path);
        }
    }
    assert!(
        acknowledged > 0,
        "no cell was acknowledged: nothing was tested"
    );
}
