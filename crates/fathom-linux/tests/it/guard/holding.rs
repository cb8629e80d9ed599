//! Changes between the check and the first write, and during the run.

use crate::guard::support::*;
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

fn refused_as_changed(examined: Examined, permit: &Permit) {
    let error = hold(examined, permit, None).expect_err("changed");
    assert!(
        error.to_string().contains("it changed after the check"),
        "{error}"
    );
}

#[test]
fn an_unchanged_target_is_held() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let device = Loop::over(&directory.image("image", 8));
    let (examined, permit) = checked(&device.path);
    assert!(hold(examined, &permit, None).is_ok());
}

#[test]
fn link_redirected_to_another_device() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let (one, two) = (
        Loop::over(&directory.image("one", 8)),
        Loop::over(&directory.image("two", 8)),
    );
    let link = directory.path("link");
    symlink(&one.path, &link).expect("a link");
    let (examined, permit) = checked(&link);
    let before = (one.contents(), two.contents());
    std::fs::remove_file(&link).expect("removed");
    symlink(&two.path, &link).expect("redirected");
    refused_as_changed(examined, &permit);
    assert_eq!(before, (one.contents(), two.contents()));
}

#[test]
fn another_image_under_the_same_device() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let other = directory.image("two", 8);
    let device = Loop::over(&directory.image("one", 8));
    let (examined, permit) = checked(&device.path);
    let path = device.path.display();
    // The examined descriptor is O_PATH and does not keep the device attached.
    run(&format!(
        "losetup --detach {path} && losetup {path} {}",
        other.display()
    ));
    let before = contents(&other);
    refused_as_changed(examined, &permit);
    assert_eq!(before, contents(&other));
}

#[test]
fn contents_written_after_the_check() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let device = Loop::over(&directory.image("image", 8));
    let (examined, permit) = checked(&device.path);
    run(&format!(
        "printf precious | dd of={} conv=notrunc,fsync status=none",
        device.path.display()
    ));
    let before = device.contents();
    refused_as_changed(examined, &permit);
    assert_eq!(before, device.contents());
}

#[test]
fn mounted_after_the_check() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let directory = Directory::new();
    let device = Loop::over(&directory.image("image", 32));
    ext4(&device.path);
    let (examined, permit) = checked(&device.path);
    let _mounted = device.mount(&directory.path("mnt"));
    let before = device.contents();
    let error = hold(examined, &permit, Some(&directory.path("ends"))).expect_err("mounted");
    assert!(matches!(error, HoldError::Refused(_)), "{error}");
    assert_eq!(before, device.contents());
}

#[test]
fn file_replaced_or_created_after_the_check() {
    let directory = Directory::new();
    let (path, precious) = (directory.path("file"), directory.path("precious"));
    std::fs::write(&path, b"").expect("an empty file");
    std::fs::write(&precious, b"precious").expect("a file");
    let (examined, permit) = checked(&path);
    std::fs::rename(&precious, &path).expect("replaced");
    refused_as_changed(examined, &permit);
    assert_eq!(std::fs::read(&path).expect("it exists"), b"precious");

    let new = directory.path("new");
    let (examined, permit) = checked(&new);
    std::fs::write(&new, b"precious").expect("created by someone");
    refused_as_changed(examined, &permit);
    assert_eq!(std::fs::read(&new).expect("it exists"), b"precious");
}

#[test]
fn the_claim_lasts_as_long_as_the_hold() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let directory = Directory::new();
    let device = Loop::over(&directory.image("image", 32));
    let (examined, permit) = checked(&device.path);
    let held = hold(examined, &permit, None).expect("held");
    std::fs::create_dir(directory.path("mnt")).expect("a directory");
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
    let _mounted = device.mount(&directory.path("mnt"));
}

#[test]
fn changes_during_the_run_are_detected() {
    let Some(_guard) = requirements(&["losetup", "blockdev"]) else {
        return;
    };
    let directory = Directory::new();
    let device = Loop::over(&directory.image("image", 8));
    let (examined, permit) = checked(&device.path);
    let held = hold(examined, &permit, None).expect("held");
    overwrite(&held);
    held.recheck().expect("our own writes are not a change");
    let path = device.path.display();
    let _undo = Undo::after(
        &format!("blockdev --setro {path}"),
        &format!("blockdev --setrw {path}"),
    );
    let error = held.recheck().expect_err("set read-only").to_string();
    assert!(error.contains("read-only"), "{error}");
}

#[test]
fn a_file_truncated_or_attached_during_the_run_is_detected() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let path = directory.path("file");
    let fresh = open_target(&path, &writes(), &[], None).expect("new");
    overwrite(&fresh);
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
fn a_second_run_on_a_file_is_refused() {
    let directory = Directory::new();
    let path = directory.path("file");
    let first = open_target(&path, &writes(), &[], None).expect("new");
    let second =
        open_target(&path, &writes().growing_to(Bytes::new(MIB)), &[], None).expect_err("locked");
    assert!(
        second
            .to_string()
            .contains("another run of fathom has locked it"),
        "{second}"
    );
    drop(first);
    assert!(open_target(&path, &writes().growing_to(Bytes::new(MIB)), &[], None).is_ok());
}

#[test]
fn only_created_files_are_removed() {
    let directory = Directory::new();
    let (new, empty) = (directory.path("new"), directory.path("empty"));
    std::fs::write(&empty, b"").expect("an empty file");
    let intent = writes().growing_to(Bytes::new(MIB));
    assert!(
        open_target(&new, &intent, &[], None)
            .expect("new")
            .remove()
            .expect("can be queried")
            && !new.exists()
    );
    assert!(
        !open_target(&empty, &intent, &[], None)
            .expect("empty")
            .remove()
            .expect("can be queried")
            && empty.exists()
    );
    let held = open_target(&new, &intent, &[], None).expect("new");
    std::fs::rename(&new, directory.path("moved")).expect("moved");
    std::fs::write(&new, b"precious").expect("another in its place");
    assert!(!held.remove().unwrap_or(false));
    assert_eq!(std::fs::read(&new).expect("it exists"), b"precious");
}
