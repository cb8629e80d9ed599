//! Simulated I/Os per second of one core.

use fathom_sim::{Library, SimOp, SimRequest, closed_loop};
use nix::sys::resource::{UsageWho, getrusage};

use crate::context::Context;
use crate::row::{Goal, Row};

/// I/Os of each measurement.
const COUNT: u64 = 2_000_000;
/// Random requests are drawn from these blocks.
const BLOCK: u64 = 4096;
const NOTE: &str = "4 KiB at random, CPU time of this program; MQSim publishes no such figure, and it is not built for this comparison";

/// What is simulated, the device, the operation, the depth and the goal in I/Os per second.
const CASES: [(&str, &str, SimOp, usize, f64); 4] = [
    (
        "flash, writes, garbage collection off",
        "samsung-970-evo-plus-1tb(garbage_collection=off)",
        SimOp::Write,
        32,
        3e6,
    ),
    (
        "flash, writes, garbage collection on",
        "samsung-970-evo-plus-1tb",
        SimOp::Write,
        32,
        1e6,
    ),
    (
        "RAID 5 of 8 disks with their mechanics, reads",
        "raid5(8 x hdd-7200, chunk=64k)",
        SimOp::Read,
        64,
        2e6,
    ),
    (
        "RAID 5 of 8 disks of measured service times, writes",
        "raid5(8 x measured-disk(service=14ms, variation=0.31, queue_gain=0.08), chunk=64k)",
        SimOp::Write,
        64,
        2e6,
    ),
];

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let row = |(what, device, op, depth, goal): (&str, &str, SimOp, usize, f64)| {
        let rates = (0..context.pairs.max(1)).map(|_| rate(device, op, depth));
        let rates = rates.collect::<Result<Vec<f64>, String>>()?;
        Ok(Row::new(
            what,
            "simulated I/Os per second",
            (rates, Vec::new()),
            Goal::OursAtLeast(goal),
        )
        .peer("MQSim")
        .note(NOTE))
    };
    CASES.into_iter().map(row).collect()
}

/// Simulated I/Os per second of CPU time.
fn rate(device: &str, op: SimOp, depth: usize) -> Result<f64, String> {
    let mut device = Library::new()
        .build_text(device, 1)
        .map_err(|error| error.to_string())?;
    let blocks = device.capacity() / BLOCK;
    let mut state = 1_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        SimRequest {
            id: 0,
            op,
            offset: ((u128::from(state) * u128::from(blocks)) >> 64) as u64 * BLOCK,
            bytes: BLOCK as u32,
            fua: false,
        }
    };
    let before = cpu_seconds()?;
    closed_loop(&mut *device, depth, COUNT, next, |_, _| {});
    Ok(COUNT as f64 / (cpu_seconds()? - before).max(1e-9))
}

fn cpu_seconds() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|error| error.to_string())?;
    let time = usage.user_time();
    Ok(time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
}
