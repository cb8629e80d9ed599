//! `fathom devices` and `fathom spec` through the command line: their output, with and without
//! privileges, and that they only read.

use crate::common::fathom;
use crate::scene::Scene;
use std::time::Duration;

pub const SCENES: &[Scene] = &[Scene::check(
    "the device list takes less than 50 ms",
    &[],
    the_device_list_takes_less_than_50_ms,
)];

/// The whole command takes less than 50 ms; a busy machine may need more than one attempt.
fn the_device_list_takes_less_than_50_ms() -> Result<(), String> {
    let took = fathom(["devices"]).expect(0).took;
    if took < Duration::from_millis(50) {
        Ok(())
    } else {
        Err(format!("{took:?}"))
    }
}
