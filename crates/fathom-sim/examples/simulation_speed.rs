//! Simulated I/Os per second of one core. Run it with `cargo run --release --example simulation_speed [PART-OF-A-NAME]` in
//! this crate.
#![allow(clippy::print_stdout, reason = "the output of a measurement")]

use std::time::Instant;

use fathom_sim::{Library, SimOp, SimRequest, closed_loop};

fn main() {
    let flash = "samsung-970-evo-plus-1tb";
    let fill = format!("{flash}(capacity=1G, over_provisioning=28%)");
    let disks =
        "raid5(8 x measured-disk(service=14ms, variation=0.31, queue_gain=0.08), chunk=64k)";
    let cases = [
        ("flash, reads, GC off", flash, SimOp::Read, 32),
        (
            "flash, writes, GC off",
            "samsung-970-evo-plus-1tb(garbage_collection=off)",
            SimOp::Write,
            32,
        ),
        ("flash 1 TB, writes, GC on", flash, SimOp::Write, 32),
        (
            "flash 1 GiB (each page mapped), writes, GC on",
            fill.as_str(),
            SimOp::Write,
            32,
        ),
        ("RAID 5 of 8 measured disks, reads", disks, SimOp::Read, 64),
        (
            "RAID 5 of 8 disks, reads",
            "raid5(8 x hdd-7200, chunk=64k)",
            SimOp::Read,
            64,
        ),
        (
            "RAID 5 of 8 measured disks, writes",
            disks,
            SimOp::Write,
            64,
        ),
    ];
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, text, op, depth) in cases {
        if !name.contains(&wanted) {
            continue;
        }
        let blocks = match Library::new().build_text(text, 1) {
            Ok(device) => device.capacity() / 4096,
            Err(error) => {
                println!("{error}");
                continue;
            }
        };
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            SimRequest {
                id: 0,
                op,
                offset: ((u128::from(state) * u128::from(blocks)) >> 64) as u64 * 4096,
                bytes: 4096,
                fua: false,
            }
        };
        let mut time = |count| -> Option<f64> {
            let mut device = Library::new().build_text(text, 1).ok()?;
            let start = Instant::now();
            closed_loop(&mut *device, depth, count, &mut next, |_, _| {});
            Some(start.elapsed().as_secs_f64())
        };
        // Other programs and pauses of a virtual machine change single runs: the median of five.
        let count = 4_000_000;
        let mut times: Vec<f64> = (0..5).filter_map(|_| time(count)).collect();
        times.sort_by(f64::total_cmp);
        let Some(median) = times.get(2) else {
            continue;
        };
        println!(
            "{name}: {:.1} million simulated I/Os per second",
            count as f64 / median / 1e6
        );
    }
}
