//! The guard through the command line: unsafe writes are refused before a byte changes, in both
//! personalities, and the message names the reason, the path and one way to proceed. Legal writes
//! are allowed.

use crate::common;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{Completed, device_code, fathom, filename_arg, program, sh, split_args, start};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require, skip};

const MIB: u64 = 1 << 20;
const BOTH: [(&str, i32); 2] = [("run", 2), ("fio", 1)];

/// One write of 4 KiB to the start of the target; `more` follows.
fn try_write(personality: &str, path: &Path, more: &[String]) -> Completed {
    let line = format!(
        "{personality} --name=x --rw=write --bs=4k --io_size=4k --size=1m --ioengine=psync"
    );
    let mut command = program(split_args(&line));
    command.arg(filename_arg(path)).args(more);
    let directory = Scratch::new().expect("a directory for the backup");
    command.arg(format!("--aux-path={}", directory.path().display()));
    start(command).finish()
}

fn destroy(code: &str) -> Vec<String> {
    vec![format!("--destroy={code}")]
}

fn sum(image: &Path) -> String {
    sh(&format!("sha256sum < {}", image.display()))
}

/// Asserts a refusal with these parts of the message in both personalities, with and without a
/// code, and that the image is unchanged.
fn assert_refused(path: &Path, image: &Path, parts: &[&str]) {
    assert_refused_with(path, &|| sum(image), parts);
}

/// Asserts a refusal as [`assert_refused`], where only what `contents` reads must not change.
fn assert_refused_with(path: &Path, contents: &dyn Fn() -> String, parts: &[&str]) {
    let before = contents();
    let code = optional_code(path);
    for (personality, exit) in BOTH {
        for more in [Vec::new(), code.as_deref().map(destroy).unwrap_or_default()] {
            let ran = try_write(personality, path, &more).expect(exit);
            let message = &ran.err;
            assert!(
                message.contains("refused") || message.contains("not"),
                "{message}"
            );
            assert!(
                parts.iter().all(|part| message.contains(part)),
                "{parts:?} missing in {message}"
            );
            assert!(
                message.contains(&path.display().to_string()),
                "the path is missing: {message}"
            );
            assert!(
                !message.contains("--destroy="),
                "no code can override it, so none is offered: {message}"
            );
            assert!(
                message.contains("to proceed:"),
                "one way to proceed: {message}"
            );
            assert_eq!(
                before,
                contents(),
                "{} {personality} {more:?}: the image changed",
                path.display()
            );
        }
    }
}

/// The code, if the target has one.
fn optional_code(path: &Path) -> Option<String> {
    let text = common::fathom([Path::new("devices"), path]).out;
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("code "))?;
    let word = line.split_whitespace().next()?;
    (word.len() == 8).then(|| word.to_owned())
}

/// Both personalities refuse the write without a code and print the exact code; that code then
/// works. Regression 0027: `fathom fio` printed the code but did not accept the option `--destroy`.
fn assert_needs_code(path: &Path, image: &Path, parts: &[&str]) {
    let before = sum(image);
    for (personality, exit) in BOTH {
        let ran = try_write(personality, path, &[]).expect(exit);
        assert!(
            parts.iter().all(|part| ran.err.contains(part)),
            "{parts:?} in {}",
            ran.err
        );
        let shown = format!("--destroy={}", device_code(path));
        assert!(ran.err.contains(&shown), "{shown} in {}", ran.err);
        let wrong = try_write(personality, path, &destroy("ZZZZZZZZ")).expect(exit);
        assert!(!wrong.err.is_empty());
        assert_eq!(before, sum(image), "{personality}: the image changed");
    }
    for (personality, _) in BOTH {
        let code = device_code(path);
        try_write(personality, path, &destroy(&code)).expect(0);
    }
    assert_ne!(before, sum(image), "the code works");
}

fn blank(directory: &Scratch, name: &str, mib: u64) -> (LoopDevice, PathBuf) {
    let image = directory.join(name);
    (
        LoopDevice::create(&image, mib * MIB, LoopOptions::default()).expect("a loop device"),
        image,
    )
}

/// An ext4 without lazy initialisation, so that nothing is written later.
fn ext4(path: &Path) {
    sh(&format!(
        "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 {}",
        path.display()
    ));
}

fn name(device: &LoopDevice) -> String {
    device
        .path()
        .file_name()
        .expect("loopN")
        .to_string_lossy()
        .into_owned()
}

/// Runs a command when dropped.
struct Undo(String);

impl Drop for Undo {
    fn drop(&mut self) {
        let _ = Command::new("sh").args(["-c", &self.0]).status();
    }
}

/// Shapes 1 to 6: mounted, mounted read-only, and accessed by other names of the device node.
#[test]
fn a_mounted_device_under_any_name() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 16);
    ext4(device.path());
    let number = device.path().metadata().expect("a device").rdev();
    let (by_id, relative, node) = (
        directory.join("by-id"),
        directory.join("relative"),
        directory.join("node"),
    );
    std::os::unix::fs::symlink(device.path(), &by_id).expect("a link");
    let up = "../".repeat(directory.path().components().count());
    std::os::unix::fs::symlink(format!("{up}dev/{}", name(&device)), &relative).expect("a link");
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    sh(&format!("mknod {} b {major} {minor}", node.display()));
    let hard = PathBuf::from(format!(
        "/dev/fathom-guard-cli-{}-{}",
        std::process::id(),
        name(&device)
    ));
    sh(&format!(
        "ln {} {}",
        device.path().display(),
        hard.display()
    ));
    let _hard = Undo(format!("rm -f {}", hard.display()));
    {
        let mount = Mount::existing(device.path(), FsKind::Ext4, "").expect("mounted");
        sh(&format!("sync -f {}", mount.path().display()));
        for name in [device.path(), &by_id, &relative, &node, &hard] {
            assert_refused(name, &image, &["it is mounted at"]);
        }
    }
    {
        let _mount = Mount::existing(device.path(), FsKind::Ext4, "ro").expect("mounted");
        assert_refused(device.path(), &image, &["read-only"]);
    }
    assert_needs_code(device.path(), &image, &["ext4"]);
}

/// Shapes 7 and 8.
#[test]
fn a_disk_with_a_mounted_partition() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (mut device, image) = blank(&directory, "image", 64);
    let first = device.add_partition(1, 2048, 65536).expect("a partition");
    let second = device
        .add_partition(2, 2048 + 65536, 32768)
        .expect("a partition");
    ext4(&first);
    let mount = Mount::existing(&first, FsKind::Ext4, "").expect("mounted");
    sh(&format!("sync -f {}", mount.path().display()));
    assert_refused(device.path(), &image, &["partition", "mounted"]);
    // The other partition is not in use.
    assert_needs_code(&second, &image, &["to proceed:"]);
}

#[test]
fn a_partition_of_a_mounted_disk() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (mut device, image) = blank(&directory, "image", 32);
    ext4(device.path());
    let part = device.add_partition(1, 2048, 8192).expect("a partition");
    let mount = Mount::existing(device.path(), FsKind::Ext4, "").expect("mounted");
    sh(&format!("sync -f {}", mount.path().display()));
    assert_refused(&part, &image, &["whole disk", "mounted"]);
}

/// A child process that holds a resource until it reads a line.
struct Holder(Child);

impl Holder {
    fn new(mut command: Command) -> Holder {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("a line");
        assert_eq!(line, "up\n");
        Holder(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.stdin.take().expect("piped").write_all(b"\n");
        let _ = self.0.wait();
    }
}

/// Shape 9.
#[test]
fn a_device_mounted_in_another_namespace() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 16);
    ext4(device.path());
    let at = directory.join("mnt");
    std::fs::create_dir(&at).expect("a mount point");
    let mut command = Command::new("unshare");
    let script = format!(
        "mount {} {} && sync -f {} && echo up && read x",
        device.path().display(),
        at.display(),
        at.display()
    );
    command.args(["-m", "--propagation", "private", "sh", "-c", &script]);
    let _holder = Holder::new(command);
    assert_refused(device.path(), &image, &["namespace"]);
}

/// Shapes 10 and 11.
#[test]
fn an_active_swap_device() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 16);
    let path = device.path().display();
    sh(&format!("mkswap {path} && swapon {path}"));
    // The kernel may move pages to the swap space while it is active, but leaves its header, where a write of fathom would begin.
    let header = |image: &Path| sh(&format!("head -c 4096 {} | sha256sum", image.display()));
    {
        let _off = Undo(format!("swapoff {path}"));
        assert_refused_with(device.path(), &|| header(&image), &["active swap space"]);
    }
    assert_needs_code(device.path(), &image, &["swap"]);
    let file = directory.join("swap");
    std::fs::write(&file, vec![0; 2 * MIB as usize]).expect("a file");
    let shown = file.display();
    sh(&format!("chmod 600 {shown} && mkswap {shown}"));
    if !Command::new("swapon")
        .arg(&file)
        .status()
        .is_ok_and(|status| status.success())
    {
        return skip("this file system cannot hold a swap file");
    }
    let _off = Undo(format!("swapoff {shown}"));
    assert_refused_with(&file, &|| header(&file), &["active swap space"]);
}

/// Shape 12.
#[test]
fn the_second_member_of_a_mounted_btrfs() {
    require!(Root, Loop);
    if let Err(why) = FsKind::Btrfs.available() {
        return skip(&why);
    }
    let directory = Scratch::new().expect("a directory");
    let ((one, _), (two, image)) = (blank(&directory, "one", 128), blank(&directory, "two", 128));
    sh(&format!(
        "mkfs.btrfs -q -f {} {}",
        one.path().display(),
        two.path().display()
    ));
    let options = format!("device={},commit=3600", two.path().display());
    let mount = Mount::existing(one.path(), FsKind::Btrfs, &options).expect("mounted");
    // What the mount itself changed is written now, and the next time after an hour: a change of the image is one by fathom.
    sh(&format!("sync -f {}", mount.path().display()));
    assert_refused(two.path(), &image, &["btrfs"]);
}

/// Shapes 13 to 17: members of RAID, LVM, LUKS and ZFS, and a partition table.
#[test]
fn raid_members_and_partition_tables_need_their_code() {
    require!(Root, Loop);
    let entry = [0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0];
    let cases: [(&str, &[(u64, &[u8])]); 5] = [
        ("RAID", &[(4096, &[0xFC, 0x4E, 0x2B, 0xA9])]),
        ("LVM", &[(512, b"LABELONE"), (536, b"LVM2 001")]),
        ("LUKS", &[(0, b"LUKS\xBA\xBE\x00\x02")]),
        (
            "ZFS",
            &[(
                8 * MIB - (512 << 10) + (128 << 10),
                &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0],
            )],
        ),
        ("partition table", &[(446, &entry), (510, &[0x55, 0xAA])]),
    ];
    for (kind, magic) in cases {
        let directory = Scratch::new().expect("a directory");
        let image = directory.join("image");
        let file = std::fs::File::create(&image).expect("an image");
        file.set_len(8 * MIB).expect("sized");
        magic
            .iter()
            .for_each(|(offset, bytes)| file.write_all_at(bytes, *offset).expect("written"));
        let device = LoopDevice::attach(&image, LoopOptions::default()).expect("a loop device");
        assert_needs_code(device.path(), &image, &[kind]);
    }
}

/// Shape 18: an unmounted file system.
#[test]
fn a_file_system_that_is_not_mounted() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 16);
    ext4(device.path());
    assert_needs_code(device.path(), &image, &["ext4 file system"]);
}

/// Shape 19.
#[test]
fn a_device_held_by_another_process() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 8);
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let claim = rustix::fs::open(device.path(), flags, rustix::fs::Mode::empty()).expect("a claim");
    assert_refused(device.path(), &image, &["claimed"]);
    drop(claim);
    assert_needs_code(device.path(), &image, &["to proceed:"]);
}

/// Shape 20.
#[test]
fn a_device_set_read_only() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 8);
    let path = device.path().display();
    sh(&format!("blockdev --setro {path}"));
    let _rw = Undo(format!("blockdev --setrw {path}"));
    assert_refused(device.path(), &image, &["read-only"]);
}

/// Shapes 21 and 22: files that back a loop device, and files of others.
#[test]
fn foreign_files() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 8);
    assert_refused(&image, &image, &["it backs", &name(&device)]);
    let data = directory.join("data");
    std::fs::write(&data, vec![b'x'; MIB as usize]).expect("somebody's data");
    let link = directory.join("link");
    std::os::unix::fs::symlink("data", &link).expect("a link");
    assert_refused(&link, &data, &["symbolic link"]);
    assert_needs_code(&data, &data, &["data that fathom did not write"]);
}

/// Shape 23.
#[test]
fn kernel_paths() {
    require!(Root);
    for path in [
        "/dev/fathom-guard-cli-sdx",
        "/proc/fathom-guard-cli",
        "/sys/fathom-guard-cli",
    ] {
        let _gone = Undo(format!("rm -f {path} 2>/dev/null"));
        for (personality, exit) in BOTH {
            let ran = try_write(personality, Path::new(path), &[]).expect(exit);
            let what = if path.starts_with("/dev") {
                "no such device"
            } else {
                "belongs to the kernel"
            };
            assert!(
                ran.err.contains(what) && ran.err.contains("to proceed:"),
                "{}",
                ran.err
            );
            assert!(!Path::new(path).exists());
        }
    }
    assert_refused(
        Path::new("/proc/self/comm"),
        Path::new("/proc/self/comm"),
        &["belongs to the kernel"],
    );
}

/// Shape 24, read-only: the root device is not written here, in case the guard is wrong. A test of
/// the guard itself shows that its refusal cannot be overridden.
#[test]
fn the_root_device_is_recognised() {
    require!(Root);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    let root = mounts
        .lines()
        .find(|line| line.split(' ').nth(4) == Some("/"))
        .expect("a root");
    let node = root
        .split(" - ")
        .nth(1)
        .and_then(|rest| rest.split(' ').nth(1))
        .unwrap_or_default();
    if !node.starts_with("/dev/") || !Path::new(node).exists() {
        return skip("the root file system is not on a visible block device");
    }
    let text = common::fathom(["devices", node]).out;
    assert!(text.contains("mounted at /"), "{text}");
}

/// Shape 25: the link is retargeted between two runs; a code belongs to the target, not to its
/// name.
#[test]
fn a_retargeted_link_and_the_code_of_another_device() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let ((one, _), (two, image)) = (blank(&directory, "one", 8), blank(&directory, "two", 8));
    let link = directory.join("link");
    std::os::unix::fs::symlink(one.path(), &link).expect("a link");
    let code = device_code(&link);
    std::fs::remove_file(&link).expect("removed");
    std::os::unix::fs::symlink(two.path(), &link).expect("retargeted");
    let before = sum(&image);
    for (personality, exit) in BOTH {
        // Shape 26: a code from another device.
        let ran = try_write(personality, &link, &destroy(&code)).expect(exit);
        assert!(
            ran.err
                .contains("does not match the current code of this target"),
            "{}",
            ran.err
        );
        assert_eq!(before, sum(&image));
    }
    let stale = device_code(&link);
    try_write("run", &link, &destroy(&stale)).expect(0);
    for (personality, exit) in BOTH {
        try_write(personality, &link, &destroy(&stale)).expect(exit);
    }
}

/// Shape 27.
#[test]
fn a_range_beyond_the_end() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 8);
    let (before, code) = (sum(&image), device_code(device.path()));
    for (personality, exit) in BOTH {
        for range in [
            "--size=9m",
            "--offset=8m --size=1m",
            "--offset=7m --size=2m",
        ] {
            let mut command = program(split_args(&format!(
                "{personality} --name=x --rw=write --bs=4k --ioengine=psync {range}"
            )));
            command
                .arg(filename_arg(device.path()))
                .args(destroy(&code));
            let ran = start(command).finish().expect(exit);
            assert!(
                ran.err.contains("8388608") || ran.err.contains("8 MiB"),
                "{range}: {}",
                ran.err
            );
            assert_eq!(before, sum(&image), "{personality} {range}");
        }
    }
}

/// Ten legal shapes, in both personalities, without a code.
#[test]
fn legal_writes_are_allowed() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 16);
    ext4(device.path());
    let mount = Mount::existing(device.path(), FsKind::Ext4, "").expect("mounted");
    let (empty, sparse, own, linked) = (
        directory.join("empty"),
        directory.join("hollow"),
        directory.join("own"),
        directory.join("linked"),
    );
    let foreign = directory.join("foreign");
    for (personality, _) in BOTH {
        std::fs::write(&empty, b"").expect("a file");
        std::fs::File::create(&sparse)
            .and_then(|file| file.set_len(MIB))
            .expect("a file");
        std::fs::write(&foreign, vec![b'x'; MIB as usize]).expect("a file");
        let writes = "--rw=write --io_size=64k --size=1m";
        let reads = "--rw=randread --io_size=64k --size=1m";
        let before = (sum(&image), sum(&foreign));
        // 1 a new file, 2 the same file again, 3 an empty file, 4 a sparse file, 5 a link to a file
        // of fathom.
        assert_allowed(personality, writes, &own);
        assert_allowed(personality, writes, &own);
        assert_allowed(personality, writes, &empty);
        assert_allowed(personality, writes, &sparse);
        if !linked.exists() {
            std::os::unix::fs::symlink("own", &linked).expect("a link");
        }
        assert_allowed(personality, writes, &linked);
        // 6 reading a mounted device, 7 reading a foreign file, 8 reading through a link, 9
        // /dev/null, 10 /dev/zero.
        assert_allowed(personality, reads, device.path());
        assert_allowed(personality, reads, &foreign);
        let link = directory.join("to-foreign");
        if !link.exists() {
            std::os::unix::fs::symlink("foreign", &link).expect("a link");
        }
        assert_allowed(personality, reads, &link);
        assert_allowed(personality, writes, Path::new("/dev/null"));
        assert_allowed(personality, reads, Path::new("/dev/zero"));
        assert_eq!(
            before,
            (sum(&image), sum(&foreign)),
            "reading changes nothing"
        );
        for path in [&empty, &sparse, &own] {
            std::fs::remove_file(path).expect("removed");
        }
    }
    drop(mount);
}

fn assert_allowed(personality: &str, more: &str, path: &Path) {
    let mut command = program(split_args(&format!(
        "{personality} --name=x --bs=4k --ioengine=psync {more}"
    )));
    command.arg(filename_arg(path));
    start(command).finish().expect(0);
}

/// Rule 13: a dry run reports what would be done to which device, and changes nothing.
#[test]
fn a_dry_run_changes_nothing() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 16);
    let before = sum(&image);
    let shown = device.path().display().to_string();
    let job = format!("run --name=a --rw=write --bs=64k --size=1m --dry-run --filename={shown}");
    let assert_refused = fathom(split_args(&job)).expect(2);
    assert!(
        assert_refused.err.contains("--destroy="),
        "{}",
        assert_refused.err
    );
    let text = fathom(split_args(&format!(
        "{job} --destroy={}",
        device_code(device.path())
    )))
    .expect(0)
    .out;
    assert!(
        text.contains(&shown) && text.contains("would overwrite bytes 0 to 1048576"),
        "{text}"
    );
    let new = directory.join("new");
    let text = fathom(split_args(&format!(
        "run --name=a --size=1m --dry-run --filename={}",
        new.display()
    )))
    .expect(0)
    .out;
    assert!(
        text.contains("would create or extend the file") && !new.exists(),
        "{text}"
    );
    assert_eq!(before, sum(&image));
}

/// Rule 7: a device that changes during the run ends it, though no I/O of the run fails.
#[test]
fn a_device_that_shrinks_during_the_run_ends_it() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let (device, image) = blank(&directory, "image", 16);
    let code = device_code(device.path());
    let line = format!(
        "run --name=a --rw=write --bs=4k --size=1m --rate_iops=50 --time_based --runtime=2m --filename={} --destroy={code}",
        device.path().display()
    );
    let running = start(program(split_args(&line)));
    common::wait_until("it writes", || {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(&image).is_ok_and(|facts| facts.blocks() > 0)
    });
    std::fs::OpenOptions::new()
        .write(true)
        .open(&image)
        .and_then(|file| file.set_len(8 * MIB))
        .expect("truncated");
    device.follow_size().expect("the device follows");
    let ran = running.finish();
    assert_ne!(ran.code(), 0, "{}", ran.out);
    assert!(
        ran.out.contains(&device.path().display().to_string()),
        "{}",
        ran.out
    );
}

/// Regression 0302: a run that was killed while it wrote left a mark that allowed every later run to overwrite the file,
/// also after the user had put a text into it.
#[test]
fn a_killed_run_leaves_no_permission() {
    for (personality, exit) in BOTH {
        let folder = Scratch::new().expect("a folder");
        let path = folder.join("data");
        let mut command = program(split_args(&format!(
            "{personality} --name=x --rw=randwrite --bs=4k --size=1m --ioengine=psync --time_based --runtime=60 --rate_iops=1000"
        )));
        command.arg(filename_arg(&path));
        let running = start(command);
        common::wait_until("it writes", || {
            let wrote = |facts: std::fs::Metadata| {
                let times = (facts.created().ok()?, facts.modified().ok()?);
                times.1.duration_since(times.0).ok()
            };
            let wrote = std::fs::metadata(&path).ok().and_then(wrote);
            wrote.is_some_and(|time| time.as_millis() > 500)
        });
        running.signal(rustix::process::Signal::KILL);
        drop(running.finish());
        for text in [None, Some("a thesis")] {
            if let Some(text) = text {
                std::fs::write(&path, text).expect("written by the user");
            }
            let before = sum(&path);
            let ran = try_write(personality, &path, &[]).expect(exit);
            for part in ["killed run of fathom", "--destroy=", "to proceed:"] {
                assert!(ran.err.contains(part), "{part} in {}", ran.err);
            }
            assert_eq!(before, sum(&path), "{personality}: the file changed");
        }
        let code = device_code(&path);
        try_write(personality, &path, &destroy(&code)).expect(0);
        try_write(personality, &path, &[]).expect(0);
    }
}

/// A run that is killed while it only reads leaves its file as it laid it out.
#[test]
fn a_killed_reader_leaves_its_file_ours() {
    let folder = Scratch::new().expect("a folder");
    let path = folder.join("data");
    let mut command = program(split_args(
        "run --name=x --rw=randread --bs=4k --size=1m --ioengine=psync --time_based --runtime=60",
    ));
    command.arg(filename_arg(&path));
    let running = start(command);
    let io = format!("/proc/{}/io", running.id());
    common::wait_until("it reads", || {
        let text = std::fs::read_to_string(&io).unwrap_or_default();
        let read = text.lines().find_map(|line| line.strip_prefix("rchar: "));
        read.and_then(|bytes| bytes.parse::<u64>().ok())
            .is_some_and(|bytes| bytes > 100 * MIB)
    });
    running.signal(rustix::process::Signal::KILL);
    drop(running.finish());
    try_write("run", &path, &[]).expect(0);
}

/// Regression 0304: a file that was attached to a loop device or mounted during the run was written on.
#[test]
fn a_file_that_is_attached_during_the_run_ends_it() {
    require!(Root, Loop);
    for (personality, exit) in BOTH {
        let directory = Scratch::new().expect("a directory");
        let path = directory.join("data");
        // The file is closed before the loop device is set up, so that only its use is tested.
        let mut command = program(split_args(&format!(
            "{personality} --name=x --rw=randwrite --bs=4k --size=16m --ioengine=psync --time_based --runtime=2m --rate_iops=100"
        )));
        command.arg(filename_arg(&path));
        let running = start(command);
        common::wait_until("it is laid out", || {
            std::fs::metadata(&path).is_ok_and(|facts| facts.len() == 16 * MIB)
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        let device = sh(&format!("losetup --find --show {}", path.display()));
        let _detach = Undo(format!("losetup --detach {device}"));
        // Noticed within a second, long before the end of its runtime.
        let ran = running.finish();
        assert_ne!(ran.code(), 0, "{personality}, refused with {exit}");
        let text = format!("{}{}", ran.out, ran.err);
        let name = device.trim_start_matches("/dev/");
        assert!(text.contains(&format!("it backs {name}")), "{text}");
    }
}
