//! Unsafe and legal block devices.

use crate::rig::*;
use fathom_device::{Fingerprint, Intent, Reason, SignatureKind, Target, describe, judge};
use fathom_linux::{HoldError, examine, list_block_devices};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};

fn blank(folder: &Folder, name: &str, mib: u64) -> Loop {
    Loop::over(&folder.image(name, mib))
}

fn with_ext4(folder: &Folder, name: &str) -> Loop {
    let device = blank(folder, name, 32);
    ext4(&device.path);
    device
}

#[test]
fn mounted_by_any_name() {
    let Some(_turn) = able(&["losetup", "mkfs.ext4", "mknod"]) else {
        return;
    };
    let folder = Folder::new();
    let device = with_ext4(&folder, "image");
    let number = device.path.metadata().expect("a device").rdev();
    let (by_id, relative, node) = (
        folder.path("by-id"),
        folder.path("relative"),
        folder.path("node"),
    );
    std::os::unix::fs::symlink(&device.path, &by_id).expect("a link");
    let up = "../".repeat(folder.path("").components().count());
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
        let at = folder.path("mnt");
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
        let _mounted = mount(&device.path, &folder.path("mnt"), "ro");
        refused(&device.path, &device.image, "(ext4, read-only)");
    }
    for name in names {
        permitted(name, &device.image);
        run(&format!("mkfs.ext4 -q -F {}", device.path.display()));
    }
}

#[test]
fn parent_of_a_mounted_partition_and_its_spare_neighbour() {
    let Some(_turn) = able(&["losetup", "mkfs.ext4", "addpart", "delpart"]) else {
        return;
    };
    let folder = Folder::new();
    let device = blank(&folder, "image", 64);
    let _first = device.part(1, 2048, 65536);
    let _second = device.part(2, 2048 + 65536, 32768);
    let part = |number| Path::new("/dev").join(format!("{}p{number}", device.name()));
    ext4(&part(1));
    {
        let _mounted = mount(&part(1), &folder.path("mnt"), "rw");
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
fn partition_of_a_mounted_whole() {
    let Some(_turn) = able(&["losetup", "mkfs.ext4", "addpart", "delpart"]) else {
        return;
    };
    let folder = Folder::new();
    let device = with_ext4(&folder, "image");
    let _part = device.part(1, 2048, 8192);
    let part = Path::new("/dev").join(format!("{}p1", device.name()));
    {
        let _mounted = device.mount(&folder.path("mnt"));
        refused(
            &part,
            &device.image,
            &format!(
                "the whole disk {} it is a part of is mounted",
                device.name()
            ),
        );
    }
    permitted(&part, &device.image);
}

#[test]
fn mounted_in_another_namespace() {
    let Some(_turn) = able(&["losetup", "mkfs.ext4", "unshare"]) else {
        return;
    };
    let folder = Folder::new();
    let device = with_ext4(&folder, "image");
    std::fs::create_dir(folder.path("mnt")).expect("a mount point");
    let script = format!(
        "mount {} {} && sync && echo up && read x",
        device.path.display(),
        folder.path("mnt").display()
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
        let Target::Block(block) = look(&device.path).target else {
            panic!("a device")
        };
        assert_eq!(
            block.exclusive,
            fathom_device::Exclusive::Busy,
            "seen without any mountinfo"
        );
    });
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(b"\n")
        .expect("told to end");
    child.wait().expect("ended");
    checked.expect("refused while it was mounted");
    wait_until_free(&device.path);
    permitted(&device.path, &device.image);
}

/// A namespace is taken apart a moment after its last process has gone.
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

#[test]
fn swap_partition() {
    let Some(_turn) = able(&["losetup", "mkswap", "swapon", "swapoff"]) else {
        return;
    };
    let folder = Folder::new();
    let device = blank(&folder, "image", 16);
    let path = device.path.display();
    run(&format!("mkswap {path}"));
    {
        let _swap = Undo::after(&format!("swapon {path}"), &format!("swapoff {path}"));
        refused(&device.path, &device.image, "it is active swap space");
    }
    permitted(&device.path, &device.image);
}

#[test]
fn second_member_of_a_mounted_btrfs() {
    let Some(_turn) = able(&["losetup", "mkfs.btrfs"]) else {
        return;
    };
    let folder = Folder::new();
    let (one, two) = (blank(&folder, "one", 128), blank(&folder, "two", 128));
    let (a, b) = (one.path.display(), two.path.display());
    run(&format!("mkfs.btrfs -q -f {a} {b}"));
    {
        let _mounted = mount(&one.path, &folder.path("mnt"), &format!("device={b}"));
        refused(&two.path, &two.image, "member of the mounted btrfs");
        refused(&one.path, &one.image, "mounted");
    }
    permitted(&two.path, &two.image);
}

#[test]
fn xfs_is_found_and_mounted_xfs_is_refused() {
    let Some(_turn) = able(&["losetup", "mkfs.xfs"]) else {
        return;
    };
    let folder = Folder::new();
    let device = blank(&folder, "image", 320);
    run(&format!("mkfs.xfs -q -f {}", device.path.display()));
    assert!(describe(&look(&device.path)).contains("XFS file system at byte 0"));
    {
        let _mounted = device.mount(&folder.path("mnt"));
        refused(&device.path, &device.image, "(xfs)");
    }
    permitted(&device.path, &device.image);
}

#[test]
fn members_and_tables_need_their_code() {
    let Some(_turn) = able(&["losetup"]) else {
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
        let folder = Folder::new();
        let image = folder.image("image", 8);
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&image)
            .expect("the image");
        writes_
            .iter()
            .for_each(|(place, bytes)| file.write_all_at(bytes, *place).expect("magic"));
        let device = Loop::over(&image);
        let before = device.hash();
        let refusal = take(&device.path, &writes(), &[], None)
            .expect_err("no code")
            .to_string();
        assert!(refusal.contains(&kind.to_string()), "{refusal}");
        let shown = format!("--destroy={}", code(&device.path));
        assert!(refusal.contains(&shown), "{refusal}");
        assert_eq!(before, device.hash());
        permitted(&device.path, &image);
    }
}

#[test]
fn file_system_that_is_not_mounted_needs_its_code_and_a_backup() {
    let Some(_turn) = able(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let folder = Folder::new();
    let device = with_ext4(&folder, "image");
    let (before, original) = (
        device.hash(),
        std::fs::read(&device.image).expect("readable"),
    );
    let codes = [code(&device.path)];
    assert!(take(&device.path, &writes(), &[], None).is_err());
    let nowhere = take(&device.path, &writes(), &codes, None).expect_err("no backup");
    assert!(matches!(nowhere, HoldError::BackupWanted(_)), "{nowhere}");
    assert_eq!(before, device.hash());

    let ends = folder.path("ends");
    let held = take(&device.path, &writes(), &codes, Some(&ends)).expect("code and backup");
    scribble(&held);
    held.release().expect("released");
    assert_ne!(before, device.hash());
    let saved = std::fs::read(&ends).expect("the backup");
    let mib = 1 << 20;
    assert!(
        saved[4096..4096 + mib] == original[..mib]
            && saved[4096 + mib..] == original[original.len() - mib..]
    );
    // The commands it gives put everything back.
    let text = String::from_utf8_lossy(&saved[..4096]).into_owned();
    for line in text.lines().filter(|line| line.starts_with("dd ")) {
        run(&line
            .replace("if=F", &format!("if={}", ends.display()))
            .replace("of=D", &format!("of={}", device.path.display())));
    }
    run(&format!("sync {}", device.path.display()));
    assert_eq!(before, device.hash());
}

#[test]
fn held_by_another_process() {
    let Some(_turn) = able(&["losetup"]) else {
        return;
    };
    let folder = Folder::new();
    let device = blank(&folder, "image", 8);
    {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL;
        let _other =
            rustix::fs::open(&device.path, flags, rustix::fs::Mode::empty()).expect("a claim");
        refused(&device.path, &device.image, "someone has claimed it");
    }
    permitted(&device.path, &device.image);
}

#[test]
fn read_only_device() {
    let Some(_turn) = able(&["losetup", "blockdev"]) else {
        return;
    };
    let folder = Folder::new();
    let device = blank(&folder, "image", 8);
    let path = device.path.display();
    {
        let _fixed = Undo::after(
            &format!("blockdev --setro {path}"),
            &format!("blockdev --setrw {path}"),
        );
        refused(&device.path, &device.image, "set read-only");
    }
    permitted(&device.path, &device.image);
}

#[test]
fn root_device_is_refused_by_looking_only() {
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
        fathom_testkit::skip("the root file system is on no block device that can be seen here");
        return;
    }
    let facts = look(Path::new(node));
    // Some hosts do not even let root read it; then there is no code, and no code would open it anyway.
    let code = Fingerprint::of(&facts).map(|print| print.code());
    let refusal = judge(&facts, &writes(), code.as_slice()).expect_err("the root device");
    assert_eq!(refusal.reason, Reason::System);
    assert!(
        judge(&facts, &Intent::read(span(MIB)), &[]).is_ok(),
        "reading it is free"
    );
}

#[test]
fn code_from_another_device_and_from_another_time() {
    let Some(_turn) = able(&["losetup"]) else {
        return;
    };
    let folder = Folder::new();
    let (one, two) = (blank(&folder, "one", 8), blank(&folder, "two", 8));
    let (first, second) = (code(&one.path), code(&two.path));
    assert_ne!(first, second, "two blank devices of one size");
    let before = two.hash();
    let refusal = take(&two.path, &writes(), &[first], None).expect_err("another's code");
    assert!(
        refusal
            .to_string()
            .contains("is not the code of this target"),
        "{refusal}"
    );
    assert_eq!(before, two.hash());
    permitted(&two.path, &two.image);
    assert!(
        take(&two.path, &writes(), &[second], None).is_err(),
        "its contents have changed since"
    );
}

#[test]
fn range_beyond_the_end() {
    let Some(_turn) = able(&["losetup"]) else {
        return;
    };
    let folder = Folder::new();
    let device = blank(&folder, "image", 8);
    let codes = [code(&device.path)];
    let refusal = take(
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
    assert!(take(&device.path, &Intent::write(span(8 * MIB)), &codes, None).is_ok());
}

#[test]
fn reading_a_mounted_device_is_free_and_stays_reading() {
    let Some(_turn) = able(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let folder = Folder::new();
    let device = with_ext4(&folder, "image");
    let _mounted = device.mount(&folder.path("mnt"));
    let held = take(&device.path, &Intent::read(span(MIB)), &[], None).expect("reading");
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
fn the_list_shows_what_the_guard_sees() {
    let Some(_turn) = able(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let folder = Folder::new();
    let device = with_ext4(&folder, "image");
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
