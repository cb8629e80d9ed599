//! `fathom limits` as users call it: on simulated volumes in virtual time, on a throttled loop
//! device, and with bad input.

use crate::common;
use crate::common::{filename_arg, split_args, start};
use crate::scene::{Scene, check_near};
use fathom_testkit::Need;
use fathom_testkit::{Limit, LoopDevice, LoopOptions, Scratch, Throttle};
use std::time::{Duration, Instant};

pub const SCENES: &[Scene] = &[Scene::check(
    "a lowered throttle is a burst that ends",
    &[Need::Root, Need::Loop, Need::BlkioV1],
    a_throttle_that_is_lowered_is_a_burst_that_ends,
)];

/// A real limiter: the throttle of a control group, lowered during the run as an empty bucket does.
fn a_throttle_that_is_lowered_is_a_burst_that_ends() -> Result<(), String> {
    let directory = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&directory.join("disk"), 64 << 20, LoopOptions::default())
        .expect("a loop device");
    let group = Throttle::new().expect("a group");
    let (burst, base) = (2000, 400);
    group
        .limit(device.path(), Limit::ReadIops(burst))
        .expect("a limit");
    let mut command = group.command(common::FATHOM);
    command
        .args(split_args(
            "run --name=x --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=128 --time_based --norandommap --runtime=18 --output-format=json --no-store",
        ))
        .arg(filename_arg(device.path()));
    let begun = Instant::now();
    let running = start(command);
    std::thread::sleep(Duration::from_secs(9));
    group
        .limit(device.path(), Limit::ReadIops(base))
        .expect("a limit");
    let lowered = begun.elapsed().as_secs_f64();
    let json = running.finish().json();
    let evidence = json.finding("BURST_ENDED").ok_or("no finding")?;
    let number = |after: &str| -> Result<f64, String> {
        let rest = evidence.split_once(after).ok_or(evidence)?.1;
        let digits: String = rest
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.' || *c == ',')
            .filter(|c| *c != ',')
            .collect();
        digits
            .trim_end_matches('.')
            .parse()
            .map_err(|_| evidence.to_owned())
    };
    check_near(
        "base rate",
        number(" to ")?,
        base as f64,
        0.02 * base as f64,
    )?;
    check_near(
        "burst rate",
        number("fell from ")?,
        burst as f64,
        0.02 * burst as f64,
    )?;
    // The load starts within two tenths of a second, and the throttle grants its first slice, a tenth of a second, at once.
    let tokens = (burst - base) as f64 * lowered;
    check_near("bucket", number("token bucket of ")?, tokens, 0.05 * tokens)
}
