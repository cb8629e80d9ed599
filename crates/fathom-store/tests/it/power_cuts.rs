//! Power cuts at any time, on ext4, XFS and btrfs: every acknowledged cell is in the store after
//! the next mount.
//!
//! The file system is on a device that tracks unflushed writes. A cut loses all of them, keeps all
//! of them, or keeps a random half of their sectors. `FATHOM_STORE_CUTS=500` runs the long form, a
//! third of it on each file system.
#![allow(clippy::print_stderr, reason = "the long form prints what it measured")]

use std::path::Path;
use std::time::Duration;

use crate::common::{TestRng, Writer, assert_nothing_is_lost, rounds};
use fathom_testkit::{
    DeviceOptions, FaultDevice, FsKind, Keep, LoopDevice, LoopOptions, Mount, Scratch, require,
    skip,
};

/// Cuts of one writer.
const CUTS_PER_WRITER: u64 = 6;

#[test]
fn ext4_loses_no_acknowledged_cell() {
    cut_repeatedly(FsKind::Ext4, 64 << 20, "noatime");
}

#[test]
fn xfs_loses_no_acknowledged_cell() {
    cut_repeatedly(FsKind::Xfs, 320 << 20, "noatime,nouuid");
}

#[test]
fn btrfs_loses_no_acknowledged_cell() {
    cut_repeatedly(FsKind::Btrfs, 128 << 20, "noatime");
}

fn cut_repeatedly(kind: FsKind, size: u64, options: &str) {
    require!(Root, Fuse, Loop);
    if let Err(why) = kind.available() {
        return skip(&why);
    }
    let mut rng = TestRng(u64::from(std::process::id()) << 3 | size);
    let total = rounds("FATHOM_STORE_CUTS", 12).div_ceil(3);
    let (mut done, mut acknowledged) = (0, 0);
    while done < total {
        let cuts = CUTS_PER_WRITER.min(total - done);
        acknowledged += cut(kind, size, options, cuts, &mut rng);
        done += cuts;
    }
    assert!(
        acknowledged > 0,
        "no cell was acknowledged before a cut: nothing was tested"
    );
}

/// Some cuts while one writer writes; returns how many cells had been acknowledged before them.
fn cut(kind: FsKind, size: u64, options: &str, cuts: u64, rng: &mut TestRng) -> u64 {
    let scratch = Scratch::new().expect("a disk");
    let device = FaultDevice::mount(DeviceOptions {
        size,
        log_limit: 1,
        ..DeviceOptions::default()
    })
    .expect("a device");
    let disk = LoopDevice::attach(&device.path(), LoopOptions::default()).expect("a disk");
    let mount = Mount::format(disk.path(), kind, options).expect("a file system");
    let mut writer = Writer::start(&mount.join("data/fathom/store.db"));
    writer.wait_for(1 + rng.below(3));
    let mut images = Vec::new();
    for number in 0..cuts {
        std::thread::sleep(Duration::from_micros(rng.below(40_000)));
        // What was reported before the cut was acknowledged before it.
        writer.receive();
        let keep = match rng.below(4) {
            0 => Keep::None,
            1 => Keep::All,
            _ => Keep::Half(rng.below(u64::MAX)),
        };
        let image = scratch.join(format!("cut-{number}"));
        let reported = (writer.run, writer.cells);
        device.snapshot_to(&image, &keep).expect("the image fits");
        images.push((image, reported, keep));
    }
    drop(writer);
    mount.unmount().expect("nothing uses it");
    disk.detach().expect("nothing uses it");
    drop(device);
    for (image, (run, cells), keep) in &images {
        eprintln!(
            "{}: {cells} cells, then a cut that keeps {keep:?}",
            kind.name()
        );
        check_after_cut(image, kind, options, *run, *cells);
        std::fs::remove_file(image).expect("the file is removed");
    }
    images.iter().map(|(_, (_, cells), _)| cells).sum()
}

fn check_after_cut(image: &Path, kind: FsKind, options: &str, run: Option<u64>, cells: u64) {
    let disk = LoopDevice::attach(
        image,
        LoopOptions {
            buffered: true,
            ..LoopOptions::default()
        },
    )
    .expect("a disk");
    let mount = Mount::existing(disk.path(), kind, options).expect("it mounts");
    assert_nothing_is_lost(&mount.join("data/fathom/store.db"), run, cells);
    mount.unmount().expect("nothing uses it");
    disk.detach().expect("nothing uses it");
}
