//! Tests of the mounted fault device by the results and durations of system calls.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use fathom_testkit::{
    DeviceOptions, Fault, FaultDevice, FaultKind, Keep, Latency, Op, Scratch, require,
};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::aligned::Aligned;

const BLOCK: usize = 4096;

fn mount(latency: Latency) -> FaultDevice {
    let options = DeviceOptions {
        size: 1 << 20,
        latency,
        ..DeviceOptions::default()
    };
    FaultDevice::mount(options).expect("mount the fault device")
}

fn open(device: &FaultDevice, flags: OFlags) -> File {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(flags.bits() as i32);
    options.open(device.path()).expect("open the device")
}

fn error_of<T: std::fmt::Debug>(result: std::io::Result<T>) -> Errno {
    let error = result.expect_err("the operation must fail");
    Errno::from_raw_os_error(error.raw_os_error().expect("an error of the kernel"))
}

fn is_mounted(path: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mount table");
    mounts.contains(path.to_str().expect("plain path"))
}

#[test]
fn an_error_affects_only_its_range() {
    require!(Fuse);
    let device = mount(Latency::default());
    let file = open(&device, OFlags::DIRECT);
    device.inject(Fault::ReadError {
        offset: 8192,
        len: 512,
    });
    device.inject_times(Fault::WriteError { offset: 0, len: 1 }, 1);
    let mut buffer = Aligned::new(BLOCK);
    file.read_exact_at(buffer.as_mut(), 4096)
        .expect("before the range");
    file.read_exact_at(buffer.as_mut(), 12288)
        .expect("after the range");
    assert_eq!(error_of(file.read_at(buffer.as_mut(), 8192)), Errno::IO);
    assert_eq!(error_of(file.write_at(buffer.as_mut(), 0)), Errno::IO);
    file.write_all_at(buffer.as_mut(), 0).expect("once only");
    let counts = device.counts();
    assert_eq!(counts.injected(), 2);
    assert_eq!(counts.faults[&FaultKind::ReadError], 1);
    let failed = device.log().into_iter().filter(|e| e.result == -5).count();
    assert_eq!(failed, 2, "EIO is 5");
}

#[test]
fn a_short_read_returns_the_configured_size() {
    require!(Fuse);
    let device = mount(Latency::default());
    let file = open(&device, OFlags::DIRECT);
    device.inject(Fault::ShortRead { at_most: 4096 });
    let mut buffer = Aligned::new(65536);
    assert_eq!(file.read_at(buffer.as_mut(), 0).expect("read"), 4096);
    assert_eq!(device.counts().injected(), 1);
}

#[test]
fn lost_flipped_torn_and_misdirected_data() {
    require!(Fuse);
    let device = mount(Latency::default());
    let file = open(&device, OFlags::empty());
    let write = |byte: u8, at: u64| file.write_all_at(&[byte; BLOCK], at).expect("acknowledged");
    let read = |at: u64| {
        let mut buffer = [0; BLOCK];
        file.read_exact_at(&mut buffer, at).expect("read");
        buffer
    };
    device.inject_times(Fault::LostWrite { every: 2 }, 1);
    write(1, 0);
    write(2, 4096);
    assert_eq!(
        (read(0)[9], read(4096)[9]),
        (1, 0),
        "the second write is lost"
    );
    device.inject_times(Fault::TornWrite { sectors: 3 }, 1);
    write(3, 0);
    assert_eq!(
        (read(0)[1535], read(0)[1536]),
        (3, 1),
        "torn after three sectors"
    );
    device.inject_times(Fault::MisdirectedWrite { shift: 8192 }, 1);
    write(4, 4096);
    assert_eq!(
        (read(4096)[0], read(12288)[0]),
        (0, 4),
        "stored two blocks further"
    );
    device.inject_times(
        Fault::BitFlip {
            offset: 7,
            mask: 0x80,
        },
        1,
    );
    assert_eq!(read(0)[7], 0x83, "one bit flipped in the result");
    assert_eq!(read(0)[7], 3, "the stored byte is right");
    assert_eq!(device.counts().injected(), 4);
}

#[test]
fn a_power_cut_keeps_synced_data() {
    require!(Fuse);
    let device = mount(Latency::default());
    let plain = open(&device, OFlags::DIRECT);
    let durable = open(&device, OFlags::DIRECT | OFlags::DSYNC);
    let mut data = Aligned::new(BLOCK);
    data.as_mut().fill(7);
    durable
        .write_all_at(data.as_mut(), 0)
        .expect("O_DSYNC write");
    plain.write_all_at(data.as_mut(), 4096).expect("write");
    plain.sync_data().expect("fdatasync");
    plain.write_all_at(data.as_mut(), 8192).expect("write");
    let cut = device.snapshot(&Keep::None);
    assert_eq!((cut[0], cut[4095], cut[4096], cut[8192]), (7, 7, 7, 0));
    assert_eq!(device.snapshot(&Keep::All)[8192..12288], [7; BLOCK]);
    let half = device.snapshot(&Keep::Half(3));
    let survivors = half[8192..12288].chunks(512).filter(|s| s[0] == 7).count();
    assert!(
        (1..8).contains(&survivors),
        "a random half of 8 sectors, got {survivors}"
    );
}

#[test]
fn lying_flushes_and_failing_syncs() {
    require!(Fuse);
    let device = mount(Latency::default());
    let file = open(&device, OFlags::empty());
    device.inject_times(Fault::LyingFlush, 1);
    file.write_all_at(&[1; 512], 0).expect("write");
    file.sync_all().expect("a lying flush");
    assert_eq!(
        device.snapshot(&Keep::None)[0],
        0,
        "nothing was made stable"
    );
    file.sync_all().expect("a real one");
    assert_eq!(device.snapshot(&Keep::None)[0], 1);
    device.inject_times(Fault::SyncError, 1);
    file.write_all_at(&[2; 512], 0).expect("write");
    assert_eq!(error_of(file.sync_all()), Errno::IO);
    let mut byte = [0];
    file.read_exact_at(&mut byte, 0).expect("read");
    assert_eq!(byte, [1], "the unsynced write is dropped");
    assert_eq!(device.counts().injected(), 2);
}

#[test]
fn stalls_have_the_requested_period_and_length() {
    require!(Fuse);
    let device = mount(Latency::default());
    let file = open(&device, OFlags::DIRECT);
    device.inject(Fault::Stall {
        every: 10,
        micros: 50_000,
    });
    let mut buffer = Aligned::new(BLOCK);
    for _ in 0..30 {
        file.read_exact_at(buffer.as_mut(), 0).expect("read");
    }
    let log = device.log();
    let stalled = |i: &usize| log[*i].faults.contains(&FaultKind::Stall);
    let stalls: Vec<usize> = (0..log.len()).filter(stalled).collect();
    assert_eq!(stalls, [9, 19, 29]);
    assert!(stalls.iter().all(|i| log[*i].latency_ns() >= 50_000_000));
    let fastest = log
        .iter()
        .map(fathom_testkit::Entry::latency_ns)
        .min()
        .expect("30 entries");
    assert!(fastest < 50_000_000, "the others do not stall");
}

#[test]
fn a_hang_holds_any_number_of_requests() {
    require!(Fuse);
    let options = DeviceOptions {
        size: 1 << 20,
        ..DeviceOptions::default()
    };
    let device = FaultDevice::mount(options).expect("mount");
    let file = open(&device, OFlags::DIRECT);
    device.inject(Fault::Hang(Some(Op::Read)));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                file.read_exact_at(Aligned::new(BLOCK).as_mut(), 0)
                    .expect("read");
            });
        }
        while device.counts().held < 8 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = std::fs::read_to_string(device.control_path()).expect("control responds");
        assert!(status.contains("\nheld 8\n"), "{status}");
        file.write_all_at(Aligned::new(BLOCK).as_mut(), 0)
            .expect("writes are not held");
        std::fs::write(device.control_path(), "release\n").expect("release");
    });
    assert_eq!(device.counts().held, 0);
    assert_eq!(device.counts().faults[&FaultKind::Hang], 8);
}

#[test]
fn shrunk_and_removed_devices() {
    require!(Fuse);
    let device = mount(Latency::default());
    let file = open(&device, OFlags::empty());
    device.shrink(8192);
    assert_eq!(file.metadata().expect("stat").len(), 8192);
    assert_eq!(file.read_at(&mut [0; BLOCK], 8192).expect("end of file"), 0);
    assert_eq!(error_of(file.write_at(&[0; BLOCK], 8192)), Errno::NOSPC);
    device.inject(Fault::Gone);
    assert_eq!(error_of(file.read_at(&mut [0; BLOCK], 0)), Errno::IO);
    assert_eq!(error_of(file.sync_all()), Errno::IO);
    assert!(device.counts().injected() >= 3);
}

#[test]
fn another_process_can_control_it() {
    require!(Fuse);
    let scratch = Scratch::new().expect("scratch");
    let device = mount(Latency::default());
    let image = scratch.join("cut.img");
    let script = format!(
        "set -e; c={}; echo eio-read 4096 4096 times 1 > $c; \
         ! dd if={} of=/dev/null bs=4096 count=2 2>/dev/null; \
         echo snapshot {} none > $c; grep -q '^injected 1$' $c; grep -c ,-5,eio-read {}; \
         ! echo no-such-fault > $c",
        device.control_path().display(),
        device.path().display(),
        image.display(),
        device.log_path().display(),
    );
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(script)
        .output()
        .expect("sh");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "1\n",
        "one failed read in the log"
    );
    assert_eq!(std::fs::metadata(image).expect("image").len(), 1 << 20);
}

#[test]
fn unmount_removes_the_mount() {
    require!(Fuse);
    let device = mount(Latency::default());
    let path = device.mountpoint().to_owned();
    assert!(is_mounted(&path));
    device.unmount().expect("unmount");
    assert!(!is_mounted(&path) && !path.exists());
}

#[test]
fn a_panicking_test_leaves_no_mount_and_no_hang() {
    require!(Fuse);
    let device = mount(Latency::default());
    let path = device.mountpoint().to_owned();
    let file = open(&device, OFlags::DIRECT);
    device.inject(Fault::Hang(None));
    let reader =
        std::thread::spawn(move || file.read_at(Aligned::new(BLOCK).as_mut(), 0).map(drop));
    let test = std::thread::spawn(move || {
        while device.counts().held == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::panic::resume_unwind(Box::new("a failing test"));
    });
    assert!(test.join().is_err());
    reader
        .join()
        .expect("reader")
        .expect("the held read completes");
    assert!(!is_mounted(&path) && !path.exists());
}

#[test]
fn a_mount_point_in_use_is_refused() {
    require!(Fuse);
    let device = mount(Latency::default());
    let again = DeviceOptions {
        mountpoint: Some(device.mountpoint().to_owned()),
        ..DeviceOptions::default()
    };
    let why = FaultDevice::mount(again).expect_err("twice on one directory");
    assert!(
        why.to_string().contains("is already a mount point"),
        "{why}"
    );
}
