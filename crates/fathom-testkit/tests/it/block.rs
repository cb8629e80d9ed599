//! Tests of loop devices, file systems and throttles, and of their clean-up.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use fathom_testkit::{
    DeviceOptions, Fault, FaultDevice, FsKind, Latency, Limit, LoopDevice, LoopOptions, Mount,
    Scratch, Throttle, require, skip,
};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::aligned::Aligned;

const MIB: u64 = 1 << 20;

fn open_direct(path: &Path, write: bool) -> File {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(write)
        .custom_flags(OFlags::DIRECT.bits() as i32);
    options.open(path).expect("open the block device")
}

fn error_of<T: std::fmt::Debug>(result: std::io::Result<T>) -> Errno {
    let error = result.expect_err("the operation must fail");
    Errno::from_raw_os_error(error.raw_os_error().expect("an error of the kernel"))
}

fn attached(backing: &Path) -> bool {
    let list = Command::new("losetup")
        .arg("--associated")
        .arg(backing)
        .output()
        .expect("losetup");
    !list.stdout.is_empty()
}

/// Regression 0945: a test that was killed left `max_sectors_kb` at 16, and the next test on the same loop number counted
/// four requests for each read.
#[test]
fn settings_left_by_a_killed_test_are_reset() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("scratch");
    let attach = |name: &str| {
        LoopDevice::create(&scratch.join(name), 4 * MIB, LoopOptions::default()).expect("attach")
    };
    let first = attach("first");
    let limit = first.sysfs().join("queue/max_sectors_kb");
    let read = || {
        std::fs::read_to_string(&limit)
            .expect("sysfs")
            .trim()
            .to_owned()
    };
    let usual = read();
    std::mem::forget(first.set_queue("max_sectors_kb", "16").expect("a setting"));
    let path = first.path().to_owned();
    first.detach().expect("detach");
    // Tests beside this one may take the number; then they have reset it.
    let mut devices = Vec::new();
    while devices.len() < 8
        && !devices
            .iter()
            .any(|device: &LoopDevice| device.path() == path)
    {
        devices.push(attach(&format!("next-{}", devices.len())));
    }
    assert_eq!(read(), usual);
}

#[test]
fn a_setting_is_restored() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("scratch");
    let device = LoopDevice::create(&scratch.join("disk.img"), 4 * MIB, LoopOptions::default())
        .expect("attach");
    let read = || std::fs::read_to_string(device.sysfs().join("queue/nomerges")).expect("sysfs");
    let setting = device.set_queue("nomerges", "2").expect("a setting");
    assert_eq!(read().trim(), "2");
    drop(setting);
    assert_eq!(read().trim(), "0");
    device
        .set_queue("nomerges", "x")
        .expect_err("no such value");
}

#[test]
fn a_loop_device_is_attached_and_detached() {
    require!(Loop);
    let scratch = Scratch::new().expect("scratch");
    let backing = scratch.join("disk.img");
    let mut device = LoopDevice::create(&backing, 4 * MIB, LoopOptions::default()).expect("attach");
    let dio = std::fs::read_to_string(device.sysfs().join("loop/dio")).expect("sysfs");
    assert_eq!(dio.trim(), "1", "direct I/O to the backing file");
    let part = device.add_partition(1, 2048, 2048).expect("partition");
    let sysfs = device
        .sysfs()
        .join(part.file_name().expect("name"))
        .join("size");
    assert_eq!(
        std::fs::read_to_string(sysfs)
            .expect("partition size")
            .trim(),
        "2048"
    );
    assert!(attached(&backing));
    device.detach().expect("detach");
    assert!(!attached(&backing) && !part.exists());
}

#[test]
fn sector_size_and_read_only_are_honoured() {
    require!(Loop);
    let scratch = Scratch::new().expect("scratch");
    let options = LoopOptions {
        sector_size: Some(4096),
        ..LoopOptions::default()
    };
    let device = LoopDevice::create(&scratch.join("4k.img"), MIB, options).expect("attach");
    let mut half = Aligned::new(512);
    let refused = open_direct(device.path(), false).read_at(half.as_mut(), 0);
    assert_eq!(error_of(refused), Errno::INVAL, "less than a sector");
    let options = LoopOptions {
        read_only: true,
        ..LoopOptions::default()
    };
    let device = LoopDevice::create(&scratch.join("ro.img"), MIB, options).expect("attach");
    let written = open_direct(device.path(), true).write_at(Aligned::new(4096).as_mut(), 0);
    assert!([Errno::PERM, Errno::IO].contains(&error_of(written)));
}

#[test]
fn a_dropped_device_is_detached_even_when_the_test_fails() {
    require!(Loop);
    let scratch = Scratch::new().expect("scratch");
    let backing = scratch.join("disk.img");
    let inner = backing.clone();
    let test = std::thread::spawn(move || {
        let mut device =
            LoopDevice::create(&inner, 8 * MIB, LoopOptions::default()).expect("attach");
        let _part = device.add_partition(1, 2048, 2048).expect("partition");
        let _mount = Mount::format(device.path(), FsKind::Ext4, "").expect("mount");
        std::panic::resume_unwind(Box::new("a failing test"));
    });
    test.join().expect_err("it fails");
    assert!(!attached(&backing));
    let path = scratch.path().to_owned();
    drop(scratch);
    assert!(!path.exists());
}

#[test]
fn a_file_error_becomes_a_block_error() {
    require!(Fuse, Loop);
    let options = DeviceOptions {
        size: MIB,
        ..DeviceOptions::default()
    };
    let faults = FaultDevice::mount(options).expect("mount");
    let block = LoopDevice::attach(&faults.path(), LoopOptions::default()).expect("attach");
    faults.inject(Fault::ReadError {
        offset: 65536,
        len: 4096,
    });
    let file = open_direct(block.path(), false);
    let mut buffer = Aligned::new(4096);
    file.read_exact_at(buffer.as_mut(), 4096)
        .expect("a good sector");
    assert_eq!(error_of(file.read_at(buffer.as_mut(), 65536)), Errno::IO);
    assert!(faults.counts().injected() >= 1);
}

fn file_system_round_trip(kind: FsKind, size: u64) {
    if let Err(why) = kind.available() {
        return skip(&why);
    }
    let scratch = Scratch::new().expect("scratch");
    let backing = scratch.join("fs.img");
    let device = LoopDevice::create(&backing, size, LoopOptions::default()).expect("attach");
    let mount = Mount::format(device.path(), kind, "").expect("format and mount");
    std::fs::write(mount.join("hello"), "there").expect("write");
    let path = mount.path().to_owned();
    mount.unmount().expect("unmount");
    assert!(!path.exists());
    let again = Mount::existing(device.path(), kind, "ro").expect("mount again");
    assert_eq!(
        std::fs::read_to_string(again.join("hello")).expect("read"),
        "there"
    );
}

#[test]
fn ext4_keeps_a_file() {
    require!(Loop);
    file_system_round_trip(FsKind::Ext4, 16 * MIB);
}

#[test]
fn xfs_keeps_a_file() {
    require!(Loop);
    file_system_round_trip(FsKind::Xfs, 320 * MIB);
}

#[test]
fn btrfs_keeps_a_file() {
    require!(Loop);
    file_system_round_trip(FsKind::Btrfs, 128 * MIB);
}

#[test]
fn a_file_system_runs_on_the_fault_device() {
    require!(Fuse, Loop);
    let latency = Latency {
        sync_us: 2000,
        ..Latency::default()
    };
    let options = DeviceOptions {
        size: 16 * MIB,
        latency,
        ..DeviceOptions::default()
    };
    let faults = FaultDevice::mount(options).expect("mount");
    let block = LoopDevice::attach(&faults.path(), LoopOptions::default()).expect("attach");
    let mount = Mount::format(block.path(), FsKind::Ext4, "").expect("ext4");
    let file = File::create(mount.join("record")).expect("create");
    file.write_all_at(b"acknowledged", 0).expect("write");
    file.sync_all().expect("fsync");
    let scratch = Scratch::new().expect("scratch");
    let cut = scratch.join("cut.img");
    faults
        .snapshot_to(&cut, &fathom_testkit::Keep::None)
        .expect("power cut");
    let block = LoopDevice::attach(&cut, LoopOptions::default()).expect("attach the copy");
    let after = Mount::existing(block.path(), FsKind::Ext4, "").expect("journal replay");
    let found = std::fs::read(after.join("record")).expect("the record survived");
    assert_eq!(found, b"acknowledged");
}

/// Duration of this many direct 4 KiB reads of the device in the throttled group.
fn seconds_of_reads(throttle: &Throttle, device: &std::path::Path, reads: u32) -> f64 {
    let start = Instant::now();
    let mut dd = throttle.command("dd");
    dd.arg(format!("if={}", device.display()))
        .arg(format!("count={reads}"));
    let output = dd
        .args(["of=/dev/null", "bs=4096", "iflag=direct"])
        .output()
        .expect("dd");
    assert!(output.status.success(), "{output:?}");
    start.elapsed().as_secs_f64()
}

#[test]
fn a_limit_of_two_hundred_per_second_is_kept() {
    require!(Loop, BlkioV1);
    let scratch = Scratch::new().expect("scratch");
    let device = LoopDevice::create(&scratch.join("slow.img"), 16 * MIB, LoopOptions::default());
    let device = device.expect("attach");
    let throttle = Throttle::new().expect("group");
    throttle
        .limit(device.path(), Limit::ReadIops(200))
        .expect("limit");
    // Regression 0029: a limit of 200 per second was measured as 204, because the kernel grants the
    // first slice (a tenth of a second) at once, so that 300 reads take 1.4 s.
    let seconds = seconds_of_reads(&throttle, device.path(), 300);
    assert!(seconds >= 1.39, "{seconds} s for 300 reads");
    let group = throttle.path().to_owned();
    assert!(group.exists());
    drop(throttle);
    assert!(!group.exists(), "the group is removed");
}

#[test]
fn unlimited_commands_are_not_throttled() {
    require!(BlkioV1);
    let throttle = Throttle::new().expect("group");
    let output = throttle
        .command("cat")
        .arg("/proc/self/cgroup")
        .output()
        .expect("cat");
    let groups = String::from_utf8_lossy(&output.stdout);
    let name = throttle
        .path()
        .file_name()
        .and_then(|n| n.to_str())
        .expect("name");
    assert!(
        groups
            .lines()
            .any(|l| l.contains("blkio") && l.ends_with(name)),
        "{groups}"
    );
}
