//! Verification of a 16 TiB target needs no more memory than that of a small one.

use crate::common;
use std::process::Command;

use crate::common::{device_code, program, split_args, start};
use fathom_testkit::{LoopDevice, LoopOptions, Scratch, require};

const TIB: u64 = 1 << 40;
/// Maximum resident memory of a run with one small job in MiB, including all pages of the program.
const MAX_RESIDENT_MIB: u64 = 64;

/// A loop device over a sparse file of 16 TiB in memory; ext4 does not support files of that size.
fn sixteen_tib() -> Option<(Scratch, LoopDevice)> {
    let directory = Scratch::below(std::path::Path::new("/dev/shm")).ok()?;
    let path = directory.join("sparse");
    std::fs::File::create(&path)
        .and_then(|file| file.set_len(16 * TIB))
        .ok()?;
    let device = LoopDevice::attach(
        &path,
        LoopOptions {
            buffered: true,
            ..LoopOptions::default()
        },
    )
    .ok()?;
    Some((directory, device))
}

/// The peak resident memory of a run in MiB, sampled while it runs.
fn peak(command: Command) -> (u64, common::Completed) {
    let mut running = start(command);
    let mut peak_mib = 0;
    while !running.has_exited() {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line
            .and_then(|rest| {
                rest.trim()
                    .trim_end_matches("kB")
                    .trim()
                    .parse::<u64>()
                    .ok()
            })
            .unwrap_or(0);
        peak_mib = peak_mib.max(kib / 1024);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    (peak_mib, running.finish())
}

#[test]
fn sixteen_tib_are_verified_in_bounded_memory() {
    require!(Root, Loop);
    let Some((_directory, device)) = sixteen_tib() else {
        return fathom_testkit::skip("cannot create a sparse file of 16 TiB in memory");
    };
    for (load, checked) in [
        ("--rw=randwrite --bs=4k", 4096..=4096_u64),
        ("--rw=randwrite --bs=4k --norandommap", 4090..=4096),
        (
            "--rw=randwrite --bs=4k --random_distribution=zipf:1.2",
            10..=4096,
        ),
        ("--rw=randrw --bs=16k", 400..=700),
    ] {
        let line = format!(
            "run --name=x {load} --size=16t --io_size=16m --ioengine=psync --verify=fathom --output-format=json"
        );
        let mut command = program(split_args(&line));
        command
            .arg(common::filename_arg(device.path()))
            .arg(format!("--destroy={}", device_code(device.path())));
        let (peak, ran) = peak(command);
        let json = ran.json();
        let good = json.number("/fathom/entries/0/verify/good_blocks") as u64;
        assert!(checked.contains(&good), "{load}: {good} blocks verified");
        assert_eq!(
            json.number("/fathom/entries/0/verify/bad_blocks"),
            0.0,
            "{load}"
        );
        assert!(peak > 0 && peak <= MAX_RESIDENT_MIB, "{load}: {peak} MiB");
    }
}
