//! The live view: the figures of the last part of a running job.

use crate::sample::clean;
use fathom_analyse::Window;
use fathom_model::{Direction, Nanos};

/// 1,000 reads in the first second, 3,000 in the two seconds after it: 1,000 per second, then 1,500.
#[test]
fn the_rate_is_that_of_the_time_since_the_last_update() {
    let mut window = Window::default();
    let mut state = clean();
    let mut at = |seconds, ios| {
        state.elapsed = Nanos::from_secs(seconds);
        let reads = &mut state.jobs[0].directions[Direction::Read].counts;
        (reads.ok, reads.bytes_ok) = (ios, ios * 4096);
        window
            .update(&state)
            .map(|figures| (figures.iops, figures.bandwidth))
    };
    assert_eq!(at(1, 1_000), Some((1_000.0, 4_096_000.0)));
    assert_eq!(at(3, 4_000), Some((1_500.0, 6_144_000.0)));
    assert_eq!(at(3, 4_000), None, "no time has passed");
    assert_eq!(at(4, 4_000), Some((0.0, 0.0)));
    // Fewer I/Os than before: a new run.
    assert_eq!(at(2, 600), Some((300.0, 1_228_800.0)));
}
