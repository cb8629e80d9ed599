//! `fathom devices` and `fathom spec` through the command line: their output, with and without
//! privileges, and that they only read.

use crate::common::fathom;
use crate::scene::Scene;
use std::time::Duration;

/// Other load only makes it slower, and the process that lists the devices is not waited for, so that its own CPU time looks like that of
/// another program: every attempt is judged.
pub const SCENES: &[Scene] = &[Scene::check(
    "the device list takes less than 50 ms",
    &[],
    the_device_list_takes_less_than_50_ms,
)
.robust()];

/// Device lists that one attempt prints.
const LISTS_PER_ATTEMPT: usize = 20;

/// The whole command takes less than 50 ms, as the median of some.
fn the_device_list_takes_less_than_50_ms() -> Result<(), String> {
    let mut all: Vec<Duration> = (0..LISTS_PER_ATTEMPT)
        .map(|_| fathom(["devices"]).expect(0).took)
        .collect();
    all.sort();
    let took = all[LISTS_PER_ATTEMPT / 2];
    if took < Duration::from_millis(50) {
        Ok(())
    } else {
        Err(format!("{took:?}"))
    }
}
