//! Between the check and the first write, and during the run.

use crate::rig::*;
use fathom_device::{Permit, judge};
use fathom_linux::{Examined, HoldError, examine, hold};
use fathom_model::Bytes;
use std::os::unix::fs::symlink;
use std::path::Path;

fn checked(path: &Path) -> (Examined, Permit) {
    let examined = examine(path).expect("can be examined");
    let codes: Vec<_> = fathom_device::Fingerprint::of(examined.facts())
        .map(|print| print.code())
        .into_iter()
        .collect();
    let permit = judge(
        examined.facts(),
        &writes().growing_to(Bytes::new(MIB)),
        &codes,
    )
    .expect("permitted");
    (examined, permit)
}

fn swapped(examined: Examined, permit: &Permit) {
    let error = hold(examined, permit, None).expect_err("swapped");
    assert!(
        error.to_string().contains("it changed after the check"),
        "{error}"
    );
}

#[test]
fn nothing_swapped_is_held() {
    let Some(_turn) = able(&["losetup"]) else {
        return;
    };
    let folder = Folder::new();
    let device = Loop::over(&folder.image("image", 8));
    let (examined, permit) = checked(&device.path);
    assert!(hold(examined, &permit, None).is_ok());
}

#[test]
fn link_turned_to_another_device() {
    let Some(_turn) = able(&["losetup"]) else {
        return;
    };
    let folder = Folder::new();
    let (one, two) = (
        Loop::over(&folder.image("one", 8)),
        Loop::over(&folder.image("two", 8)),
    );
    let link = folder.path("link");
    symlink(&one.path, &link).expect("a link");
    let (examined, permit) = checked(&link);
    let before = (one.hash(), two.hash());
    std::fs::remove_file(&link).expect("removed");
    symlink(&two.path, &link).expect("turned");
    swapped(examined, &permit);
    assert_eq!(before, (one.hash(), two.hash()));
}

#[test]
fn another_image_under_the_same_device() {
    let Some(_turn) = able(&["losetup"]) else {
        return;
    };
    let folder = Folder::new();
    let other = folder.image("two", 8);
    let device = Loop::over(&folder.image("one", 8));
    let (examined, permit) = checked(&device.path);
    let path = device.path.display();
    // The examined descriptor is O_PATH and does not keep the device attached.
    run(&format!(
        "losetup --detach {path} && losetup {path} {}",
        other.display()
    ));
    let before = hash(&other);
    swapped(examined, &permit);
    assert_eq!(before, hash(&other));
}

#[test]
fn contents_written_after_the_check() {
    let Some(_turn) = able(&["losetup"]) else {
        return;
    };
    let folder = Folder::new();
    let device = Loop::over(&folder.image("image", 8));
    let (examined, permit) = checked(&device.path);
    run(&format!(
        "printf precious | dd of={} conv=notrunc,fsync status=none",
        device.path.display()
    ));
    let before = device.hash();
    swapped(examined, &permit);
    assert_eq!(before, device.hash());
}

#[test]
fn mounted_after_the_check() {
    let Some(_turn) = able(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let folder = Folder::new();
    let device = Loop::over(&folder.image("image", 32));
    ext4(&device.path);
    let (examined, permit) = checked(&device.path);
    let _mounted = device.mount(&folder.path("mnt"));
    let before = device.hash();
    let error = hold(examined, &permit, Some(&folder.path("ends"))).expect_err("mounted");
    assert!(matches!(error, HoldError::Refused(_)), "{error}");
    assert_eq!(before, device.hash());
}

#[test]
fn file_replaced_or_created_after_the_check() {
    let folder = Folder::new();
    let (path, precious) = (folder.path("file"), folder.path("precious"));
    std::fs::write(&path, b"").expect("an empty file");
    std::fs::write(&precious, b"precious").expect("a file");
    let (examined, permit) = checked(&path);
    std::fs::rename(&precious, &path).expect("replaced");
    swapped(examined, &permit);
    assert_eq!(std::fs::read(&path).expect("there"), b"precious");

    let new = folder.path("new");
    let (examined, permit) = checked(&new);
    std::fs::write(&new, b"precious").expect("created by someone");
    swapped(examined, &permit);
    assert_eq!(std::fs::read(&new).expect("there"), b"precious");
}

#[test]
fn the_claim_lasts_as_long_as_the_hold() {
    let Some(_turn) = able(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let folder = Folder::new();
    let device = Loop::over(&folder.image("image", 32));
    let (examined, permit) = checked(&device.path);
    let held = hold(examined, &permit, None).expect("held");
    std::fs::create_dir(folder.path("mnt")).expect("a folder");
    let path = device.path.display();
    assert!(
        try_run(&format!("mkfs.ext4 -q {path}")).is_err(),
        "mkfs respects the claim"
    );
    let copy = held
        .reopen(rustix::fs::OFlags::RDWR | rustix::fs::OFlags::DIRECT)
        .expect("a second descriptor");
    held.recheck().expect("undisturbed");
    drop(copy);
    held.release().expect("released");
    ext4(&device.path);
    let _mounted = device.mount(&folder.path("mnt"));
}

#[test]
fn changes_during_the_run_are_noticed() {
    let Some(_turn) = able(&["losetup", "blockdev"]) else {
        return;
    };
    let folder = Folder::new();
    let device = Loop::over(&folder.image("image", 8));
    let (examined, permit) = checked(&device.path);
    let held = hold(examined, &permit, None).expect("held");
    scribble(&held);
    held.recheck().expect("our own writes are no change");
    let path = device.path.display();
    let _fixed = Undo::after(
        &format!("blockdev --setro {path}"),
        &format!("blockdev --setrw {path}"),
    );
    let error = held.recheck().expect_err("set read-only").to_string();
    assert!(error.contains("read-only"), "{error}");
}

#[test]
fn a_file_cut_short_or_attached_during_the_run_is_noticed() {
    let Some(_turn) = able(&["losetup"]) else {
        return;
    };
    let folder = Folder::new();
    let path = folder.path("file");
    let fresh = take(&path, &writes(), &[], None).expect("new");
    scribble(&fresh);
    fresh.release().expect("released");
    let (examined, permit) = checked(&path);
    let held = hold(examined, &permit, None).expect("held");
    held.extend_to(Bytes::new(MIB)).expect("within the permit");
    assert_eq!(
        held.extend_to(Bytes::new(MIB + 1)),
        Err(rustix::io::Errno::PERM)
    );
    held.recheck().expect("undisturbed");
    {
        let device = Loop::over(&path);
        let error = held.recheck().expect_err("attached").to_string();
        assert!(error.contains(device.name()), "{error}");
    }
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(512))
        .expect("cut short");
    assert!(
        held.recheck()
            .expect_err("cut short")
            .to_string()
            .contains("it changed")
    );
}

#[test]
fn two_runs_on_one_file_are_one_too_many() {
    let folder = Folder::new();
    let path = folder.path("file");
    let first = take(&path, &writes(), &[], None).expect("new");
    let second = take(&path, &writes().growing_to(Bytes::new(MIB)), &[], None).expect_err("locked");
    assert!(
        second.to_string().contains("another run has locked it"),
        "{second}"
    );
    drop(first);
    assert!(take(&path, &writes().growing_to(Bytes::new(MIB)), &[], None).is_ok());
}

#[test]
fn only_what_was_created_is_removed() {
    let folder = Folder::new();
    let (new, empty) = (folder.path("new"), folder.path("empty"));
    std::fs::write(&empty, b"").expect("an empty file");
    let intent = writes().growing_to(Bytes::new(MIB));
    assert!(
        take(&new, &intent, &[], None)
            .expect("new")
            .remove()
            .expect("asked")
            && !new.exists()
    );
    assert!(
        !take(&empty, &intent, &[], None)
            .expect("empty")
            .remove()
            .expect("asked")
            && empty.exists()
    );
    let held = take(&new, &intent, &[], None).expect("new");
    std::fs::rename(&new, folder.path("moved")).expect("moved");
    std::fs::write(&new, b"precious").expect("another in its place");
    assert!(!held.remove().unwrap_or(false));
    assert_eq!(std::fs::read(&new).expect("there"), b"precious");
}
