//! Unsafe and legal block devices.

use crate::guard::support::*;
use fathom_device::{Fingerprint, Intent, Reason, SignatureKind, Target, describe, judge};
use fathom_linux::{HoldError, examine, list_block_devices};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};

fn blank(directory: &Directory, name: &str, mib: u64) -> Loop {
    Loop::over(&directory.image(name, mib))
}

fn with_ext4(directory: &Directory, name: &str) -> Loop {
    let device = blank(directory, name, 32);
    ext4(&device.path);
    device
}

#[test]
fn a_mounted_device_under_any_name() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4", "mknod"]) else {
        return;
    };
    let directory = Directory::new();
    let device = with_ext4(&directory, "image");
    let number = device.path.metadata().expect("a device").rdev();
    let (by_id, relative, node) = (
        directory.path("by-id"),
        directory.path("relative"),
        directory.path("node"),
    );
    std::os::unix::fs::symlink(&device.path, &by_id).expect("a link");
    let up = "../".repeat(directory.path("").components().count());
    std::os::unix::fs::symlink(format!("{up}dev/{}", device.name()), &relative).expect("a link");
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    run(&format!("mknod {} b {major} {minor}", node.display()));
    let hard = format!(
        "/dev/fathom-guard-hard-{}-{}",
        std::process::id(),
        device.name()
    );
    let _hard = Undo::after(
        &format!("ln {} {hard}", device.path.display()),
        &format!("rm {hard}"),
    );
    let names = [
        device.path.as_path(),
        &by_id,
        &relative,
        &node,
        Path::new(&hard),
    ];
    {
        let at = directory.path("mnt");
        let _mounted = device.mount(&at);
        for name in names {
            refused(
                name,
                &device.image,
                &format!("it is mounted at {} (ext4)", at.display()),
            );
        }
    }
    {
        let _mounted = mount(&device.path, &directory.path("mnt"), "ro");
        refused(&device.path, &device.image, "(ext4, read-only)");
    }
    for name in names {
        permitted(name, &device.image);
        run(&format!("mkfs.ext4 -q -F {}", device.path.display()));
    }
}

#[test]
fn disk_of_a_mounted_partition_and_its_unused_partition() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4", "addpart", "delpart"]) else {
        return;
    };
    let directory = Directory::new();
    let device = blank(&directory, "image", 64);
    let _first = device.part(1, 2048, 65536);
    let _second = device.part(2, 2048 + 65536, 32768);
    let part = |number| Path::new("/dev").join(format!("{}p{number}", device.name()));
    ext4(&part(1));
    {
        let _mounted = mount(&part(1), &directory.path("mnt"), "rw");
        refused(
            &device.path,
            &device.image,
            &format!("its partition {}p1 is mounted", device.name()),
        );
        permitted(&part(2), &device.image);
    }
    permitted(&device.path, &device.image);
}

#[test]
fn a_partition_of_a_mounted_disk() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4", "addpart", "delpart"]) else {
        return;
    };
    let directory = Directory::new();
    let device = with_ext4(&directory, "image");
    let _part = device.part(1, 2048, 8192);
    let part = Path::new("/dev").join(format!("{}p1", device.name()));
    {
        let _mounted = device.mount(&directory.path("mnt"));
        refused(
            &part,
            &device.image,
            &format!(
                "the whole disk {} that contains it is mounted",
                device.name()
            ),
        );
    }
    permitted(&part, &device.image);
}

#[test]
fn a_device_mounted_in_another_namespace() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4", "unshare"]) else {
        return;
    };
    let directory = Directory::new();
    let device = with_ext4(&directory, "image");
    std::fs::create_dir(directory.path("mnt")).expect("a mount point");
    let script = format!(
        "mount {} {} && sync && echo up && read x",
        device.path.display(),
        directory.path("mnt").display()
    );
    let mut child = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("unshare");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped"))
        .read_line(&mut line)
        .expect("a line");
    assert_eq!(line, "up\n");
    let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    assert!(
        !mountinfo.contains(device.name()),
        "not in our own namespace"
    );
    let checked = std::panic::catch_unwind(|| {
        refused(
            &device.path,
            &device.image,
            "in the mount namespace of process",
        );
        let Target::Block(block) = facts(&device.path).target else {
            panic!("a device")
        };
        assert_eq!(
            block.exclusive,
            fathom_device::Exclusive::Busy,
            "detected without any mountinfo"
        );
    });
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(b"\n")
        .expect("a signal is sent");
    child.wait().expect("ended");
    checked.expect("refused while it was mounted");
    wait_until_free(&device.path);
    permitted(&device.path, &device.image);
}

/// A namespace is destroyed shortly after its last process has ended.
fn wait_until_free(path: &Path) {
    for _ in 0..100 {
        if try_run(&format!(
            "mount -o ro {0} /mnt && umount /mnt",
            path.display()
        ))
        .is_ok()
        {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn first_page(image: &Path) -> Vec<u8> {
    let mut page = vec![0; 4096];
    std::fs::File::open(image)
        .and_then(|file| file.read_exact_at(&mut page, 0))
        .expect("a first page");
    page
}

#[test]
fn swap_partition() {
    let Some(_guard) = requirements(&["losetup", "mkswap", "swapon", "swapoff"]) else {
        return;
    };
    let directory = Directory::new();
    let device = blank(&directory, "image", 16);
    let path = device.path.display();
    run(&format!("mkswap {path}"));
    {
        let _swap = Undo::after(&format!("swapon {path}"), &format!("swapoff {path}"));
        // The kernel may swap to this device while it is active, so that only its first page, which
        // holds the signature and which the attack overwrites, stays as it was.
        let before = first_page(&device.image);
        let refusal = write_if_permitted(&device.path).expect_err("must be refused");
        assert!(refusal.contains("it is active swap space"), "{refusal}");
        assert_eq!(before, first_page(&device.image), "the signature changed");
    }
    permitted(&device.path, &device.image);
}

#[test]
fn the_second_member_of_a_mounted_btrfs() {
    let Some(_guard) = requirements(&["losetup", "mkfs.btrfs"]) else {
        return;
    };
    let directory = Directory::new();
    let (one, two) = (blank(&directory, "one", 128), blank(&directory, "two", 128));
    let (a, b) = (one.path.display(), two.path.display());
    run(&format!("mkfs.btrfs -q -f {a} {b}"));
    {
        let _mounted = mount(&one.path, &directory.path("mnt"), &format!("device={b}"));
        refused(&two.path, &two.image, "member of the mounted btrfs");
        refused(&one.path, &one.image, "mounted");
    }
    permitted(&two.path, &two.image);
}

#[test]
fn xfs_is_found_and_mounted_xfs_is_refused() {
    let Some(_guard) = requirements(&["losetup", "mkfs.xfs"]) else {
        return;
    };
    let directory = Directory::new();
    let device = blank(&directory, "image", 320);
    run(&format!("mkfs.xfs -q -f {}", device.path.display()));
    assert!(describe(&facts(&device.path)).contains("XFS file system at byte 0"));
    {
        let _mounted = device.mount(&directory.path("mnt"));
        refused(&device.path, &device.image, "(xfs)");
    }
    permitted(&device.path, &device.image);
}

#[test]
fn raid_members_and_partition_tables_need_their_code() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    use SignatureKind as K;
    let entry = [0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0];
    let cases: [(K, &[(u64, &[u8])]); 7] = [
        (K::MdRaid1, &[(4096, &[0xFC, 0x4E, 0x2B, 0xA9])]),
        (K::Lvm2, &[(512, b"LABELONE"), (536, b"LVM2 001")]),
        (K::Luks2, &[(0, b"LUKS\xBA\xBE\x00\x02")]),
        (
            K::Zfs,
            &[(
                8 * MIB - (512 << 10) + (128 << 10),
                &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0],
            )],
        ),
        (K::GptPrimary, &[(512, b"EFI PART")]),
        (K::GptBackup, &[(8 * MIB - 512, b"EFI PART")]),
        (K::Mbr, &[(446, &entry), (510, &[0x55, 0xAA])]),
    ];
    for (kind, writes_) in cases {
        let directory = Directory::new();
        let image = directory.image("image", 8);
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&image)
            .expect("the image");
        writes_
            .iter()
            .for_each(|(place, bytes)| file.write_all_at(bytes, *place).expect("magic"));
        let device = Loop::over(&image);
        let before = device.contents();
        let refusal = open_target(&device.path, &writes(), &[], None)
            .expect_err("no code")
            .to_string();
        assert!(refusal.contains(&kind.to_string()), "{refusal}");
        let shown = format!("--destroy={}", code(&device.path));
        assert!(refusal.contains(&shown), "{refusal}");
        assert_eq!(before, device.contents());
        permitted(&device.path, &image);
    }
}

#[test]
fn an_unmounted_file_system_needs_its_code_and_a_backup() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let directory = Directory::new();
    let device = with_ext4(&directory, "image");
    let (before, original) = (
        device.contents(),
        std::fs::read(&device.image).expect("readable"),
    );
    let codes = [code(&device.path)];
    assert!(open_target(&device.path, &writes(), &[], None).is_err());
    let nowhere = open_target(&device.path, &writes(), &codes, None).expect_err("no backup");
    assert!(matches!(nowhere, HoldError::BackupRequired(_)), "{nowhere}");
    assert_eq!(before, device.contents());

    let ends = directory.path("ends");
    let held = open_target(&device.path, &writes(), &codes, Some(&ends)).expect("code and backup");
    overwrite(&held);
    held.release().expect("released");
    assert_ne!(before, device.contents());
    let saved = std::fs::read(&ends).expect("the backup");
    let mib = 1 << 20;
    assert!(
        saved[4096..4096 + mib] == original[..mib]
            && saved[4096 + mib..] == original[original.len() - mib..]
    );
    // The commands in the backup restore everything.
    let text = String::from_utf8_lossy(&saved[..4096]).into_owned();
    for line in text.lines().filter(|line| line.starts_with("dd ")) {
        run(&line
            .replace("if=F", &format!("if={}", ends.display()))
            .replace("of=D", &format!("of={}", device.path.display())));
    }
    run(&format!("sync {}", device.path.display()));
    assert_eq!(before, device.contents());
}

#[test]
fn a_device_held_by_another_process() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let device = blank(&directory, "image", 8);
    {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL;
        let _other =
            rustix::fs::open(&device.path, flags, rustix::fs::Mode::empty()).expect("a claim");
        refused(&device.path, &device.image, "it is claimed");
    }
    permitted(&device.path, &device.image);
}

#[test]
fn read_only_device() {
    let Some(_guard) = requirements(&["losetup", "blockdev"]) else {
        return;
    };
    let directory = Directory::new();
    let device = blank(&directory, "image", 8);
    let path = device.path.display();
    {
        let _undo = Undo::after(
            &format!("blockdev --setro {path}"),
            &format!("blockdev --setrw {path}"),
        );
        refused(&device.path, &device.image, "set read-only");
    }
    permitted(&device.path, &device.image);
}

#[test]
fn root_device_is_refused() {
    let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    let root = mountinfo
        .lines()
        .find(|line| line.split(' ').nth(4) == Some("/"))
        .expect("a root");
    let node = root
        .split(" - ")
        .nth(1)
        .and_then(|rest| rest.split(' ').nth(1))
        .unwrap_or_default();
    if !node.starts_with("/dev/") {
        fathom_testkit::skip("the root file system is not on a block device visible here");
        return;
    }
    let facts = facts(Path::new(node));
    // Some hosts do not even let root read it; then there is no code, and no code would override
    // the refusal anyway.
    let code = Fingerprint::of(&facts).map(|print| print.code());
    let refusal = judge(&facts, &writes(), code.as_slice()).expect_err("the root device");
    assert_eq!(refusal.reason, Reason::System);
    assert!(
        judge(&facts, &Intent::read(span(MIB)), &[]).is_ok(),
        "reading is permitted"
    );
}

#[test]
fn code_of_another_device_and_of_another_state() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let (one, two) = (blank(&directory, "one", 8), blank(&directory, "two", 8));
    let (first, second) = (code(&one.path), code(&two.path));
    assert_ne!(first, second, "two blank devices of one size");
    let before = two.contents();
    let refusal = open_target(&two.path, &writes(), &[first], None).expect_err("another's code");
    assert!(
        refusal
            .to_string()
            .contains("does not match the current code of this target"),
        "{refusal}"
    );
    assert_eq!(before, two.contents());
    permitted(&two.path, &two.image);
    assert!(
        open_target(&two.path, &writes(), &[second], None).is_err(),
        "its contents have changed since"
    );
}

#[test]
fn range_past_the_end() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let device = blank(&directory, "image", 8);
    let codes = [code(&device.path)];
    let refusal = open_target(
        &device.path,
        &Intent::write(span(8 * MIB + 1)),
        &codes,
        None,
    )
    .expect_err("too far");
    assert!(
        refusal.to_string().contains("which has 8388608 bytes"),
        "{refusal}"
    );
    assert!(open_target(&device.path, &Intent::write(span(8 * MIB)), &codes, None).is_ok());
}

#[test]
fn a_mounted_device_may_be_read_and_stays_read_only() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let directory = Directory::new();
    let device = with_ext4(&directory, "image");
    let _mounted = device.mount(&directory.path("mnt"));
    let held = open_target(&device.path, &Intent::read(span(MIB)), &[], None).expect("reading");
    assert_eq!(
        held.reopen(rustix::fs::OFlags::RDWR).err(),
        Some(rustix::io::Errno::ACCESS)
    );
    let mut block = [0; 512];
    assert_eq!(rustix::io::pread(&held, &mut block, 0), Ok(512));
    assert_eq!(
        rustix::io::pwrite(&held, &block, 0),
        Err(rustix::io::Errno::BADF),
        "the kernel enforces it"
    );
}

#[test]
fn the_list_has_the_facts_of_the_guard() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let directory = Directory::new();
    let device = with_ext4(&directory, "image");
    let listed = list_block_devices(std::time::Duration::from_secs(30), |_| ());
    let found = listed
        .iter()
        .map(|(facts, _)| facts)
        .find(|facts| facts.named == device.path)
        .expect("listed");
    let text = describe(found);
    for part in [
        "32 MiB",
        "ext4 file system at byte 1024",
        &code(&device.path).to_string(),
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(examine(&device.path).is_ok());
}

/// Regression 0301: a code covered the first and the last MiB only, so that it stayed valid when the middle of the device
/// was replaced.
#[test]
fn the_code_of_a_device_changes_with_its_middle() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let device = blank(&directory, "image", 64);
    let before = code(&device.path);
    assert_eq!(before, code(&device.path), "examined twice");
    // 1 % of it, in one piece in the middle.
    run(&format!(
        "head -c 671088 /dev/urandom | dd of={} bs=4k seek=5000 conv=notrunc,fsync status=none",
        device.path.display()
    ));
    assert_ne!(before, code(&device.path));
    let contents = device.contents();
    let error = open_target(&device.path, &writes(), &[before], None)
        .expect_err("the code of other contents")
        .to_string();
    assert!(error.contains("does not match the current code"), "{error}");
    assert_eq!(contents, device.contents());
    permitted(&device.path, &device.image);
}

/// 1 % of a device that is changed in scattered blocks is found as well.
#[test]
fn the_code_of_a_device_changes_with_scattered_blocks() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let device = blank(&directory, "image", 256);
    let before = code(&device.path);
    let file = std::fs::File::options()
        .write(true)
        .open(&device.path)
        .expect("a device");
    let blocks = (256 << 20) / 4096_u64;
    for block in (50..blocks).step_by(100) {
        file.write_all_at(b"changed", block * 4096)
            .expect("written");
    }
    file.sync_all().expect("synced");
    assert_ne!(before, code(&device.path));
}
