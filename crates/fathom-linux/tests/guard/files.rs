//! Unsafe and legal files.

use crate::rig::*;
use fathom_device::{Intent, Origin, Owner, judge};
use fathom_linux::{examine, is_ours, mark_ours, remove_ours};
use fathom_model::Bytes;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

fn growing() -> Intent {
    writes().growing_to(Bytes::new(MIB))
}

fn make(path: &Path) {
    let held = take(path, &growing(), &[], None).expect("a new file");
    scribble(&held);
    held.release().expect("released");
}

fn foreign(folder: &Folder, name: &str) -> PathBuf {
    let path = folder.path(name);
    std::fs::write(&path, vec![b'x'; MIB as usize]).expect("somebody's data");
    path
}

fn owner(path: &Path) -> Owner {
    is_ours(std::fs::File::open(path).expect("there").as_fd()).expect("can be asked")
}

#[test]
fn foreign_content_needs_its_code() {
    let folder = Folder::new();
    let path = foreign(&folder, "data");
    let before = hash(&path);
    let refusal = take(&path, &growing(), &[], None)
        .expect_err("no code")
        .to_string();
    assert!(
        refusal.contains("1 MiB of data that fathom did not write"),
        "{refusal}"
    );
    assert!(
        refusal.contains(&format!("--destroy={}", code(&path))),
        "{refusal}"
    );
    let other = foreign(&folder, "other");
    assert!(
        take(&path, &growing(), &[code(&other)], None).is_err(),
        "another file's code"
    );
    assert_eq!(before, hash(&path));
    permitted(&path, &path);
    assert_eq!(owner(&path), Owner::Ours);
    assert!(
        !remove_ours(&path).expect("asked"),
        "it was there before fathom"
    );
}

#[test]
fn new_empty_hollow_and_own_files_are_written_without_a_code() {
    let folder = Folder::new();
    let (new, empty, hollow) = (
        folder.path("new"),
        folder.path("empty"),
        folder.image("hollow", 1),
    );
    std::fs::write(&empty, b"").expect("an empty file");
    for path in [&new, &empty, &hollow] {
        make(path);
        assert_eq!(owner(path), Owner::Ours);
        make(path);
    }
    assert!(remove_ours(&new).expect("asked") && !new.exists());
    assert!(!remove_ours(&empty).expect("asked") && empty.exists());
}

#[test]
fn what_someone_else_wrote_into_our_file_is_theirs() {
    let folder = Folder::new();
    let path = folder.path("file");
    make(&path);
    std::fs::write(&path, b"a thesis").expect("written by someone else");
    assert_eq!(owner(&path), Owner::Changed);
    let refusal = take(&path, &growing(), &[], None)
        .expect_err("no code")
        .to_string();
    assert!(
        refusal.contains("someone wrote after fathom did"),
        "{refusal}"
    );
    assert_eq!(std::fs::read(&path).expect("there"), b"a thesis");
    assert!(!remove_ours(&path).expect("asked"));
}

#[test]
fn a_copy_of_our_file_is_not_ours() {
    let folder = Folder::new();
    let (path, copy) = (folder.path("file"), folder.path("copy"));
    make(&path);
    run(&format!("cp -a {} {}", path.display(), copy.display()));
    assert_eq!((owner(&path), owner(&copy)), (Owner::Ours, Owner::Foreign));
}

#[test]
fn a_crashed_run_leaves_its_file_ours() {
    let folder = Folder::new();
    let path = folder.path("file");
    let held = take(&path, &growing(), &[], None).expect("a new file");
    scribble(&held);
    drop(held);
    assert_eq!(owner(&path), Owner::Ours);
}

#[test]
fn links_to_foreign_files_are_not_followed_for_writing() {
    let folder = Folder::new();
    let data = foreign(&folder, "data");
    let (link, broken) = (folder.path("link"), folder.path("broken"));
    std::os::unix::fs::symlink("data", &link).expect("a link");
    std::os::unix::fs::symlink("nothing", &broken).expect("a link");
    refused(&link, &data, "a symbolic link to");
    assert!(take(&broken, &growing(), &[], None).is_err() && !folder.path("nothing").exists());
    let own = folder.path("own");
    make(&own);
    std::os::unix::fs::symlink("own", folder.path("to-own")).expect("a link");
    assert!(take(&folder.path("to-own"), &growing(), &[], None).is_ok());
}

#[test]
fn places_of_the_kernel() {
    for path in [
        "/dev/fathom-guard-sdx",
        "/proc/fathom-guard",
        "/sys/fathom-guard",
        "/dev/../dev/fathom-guard-sdy",
    ] {
        let _gone = Undo::after("true", &format!("rm -f {path}"));
        let refusal = take(Path::new(path), &growing(), &[], None)
            .expect_err("the kernel's")
            .to_string();
        // Under /dev a missing name is a device that is not there: nobody means a new file by it.
        let found = if path.starts_with("/dev") {
            "there is no such device"
        } else {
            "belongs to the kernel"
        };
        assert!(refusal.contains(found), "{refusal}");
        assert!(!Path::new(path).exists());
    }
    for path in ["/proc/self/comm", "/proc/sys/vm/swappiness"] {
        let before = std::fs::read(path).expect("readable");
        let refusal = take(Path::new(path), &growing(), &[], None)
            .expect_err("the kernel's")
            .to_string();
        assert!(refusal.contains("belongs to the kernel"), "{refusal}");
        assert_eq!(before, std::fs::read(path).expect("readable"));
    }
}

#[test]
fn swap_file() {
    let Some(_turn) = able(&["mkswap", "swapon", "swapoff"]) else {
        return;
    };
    let folder = Folder::new();
    let path = folder.path("swap");
    std::fs::write(&path, vec![0; 2 * MIB as usize]).expect("a file");
    let shown = path.display();
    run(&format!("chmod 600 {shown} && mkswap {shown}"));
    if try_run(&format!("swapon {shown}")).is_err() {
        fathom_testkit::skip("this file system cannot hold a swap file");
        return;
    }
    {
        let _swap = Undo::after("true", &format!("swapoff {shown}"));
        let hard = folder.path("hard");
        std::fs::hard_link(&path, &hard).expect("a second name");
        refused(&path, &path, "it is active swap space");
        refused(&hard, &path, "it is active swap space");
    }
    permitted(&path, &path);
}

#[test]
fn backing_file_of_an_attached_loop() {
    let Some(_turn) = able(&["losetup"]) else {
        return;
    };
    let folder = Folder::new();
    let path = folder.path("image");
    make(&path);
    {
        let device = Loop::over(&path);
        refused(
            &path,
            &path,
            &format!("it is attached to {}", device.name()),
        );
    }
    assert_eq!(owner(&path), Owner::Ours);
    make(&path);
}

#[test]
fn null_is_written_and_other_things_are_not() {
    assert!(take(Path::new("/dev/null"), &writes(), &[], None).is_ok());
    assert!(take(Path::new("/dev/zero"), &Intent::read(span(MIB)), &[], None).is_ok());
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    run(&format!("mkfifo {}", pipe.display()));
    for path in [
        Path::new("/dev/tty"),
        Path::new("/dev/mem"),
        &pipe,
        &std::env::temp_dir(),
    ] {
        if path.exists() {
            assert!(
                take(path, &writes(), &[], None).is_err(),
                "{}",
                path.display()
            );
        }
    }
    let nowhere = folder.path("no/such/folder/file");
    let error = examine(&nowhere).expect_err("no folder").to_string();
    assert!(
        error.contains("open the folder of") && error.contains("create the folder first"),
        "{error}"
    );
}

#[test]
fn room_is_kept() {
    let folder = Folder::new();
    let path = folder.path("huge");
    let huge = 1 << 60;
    let refusal = take(&path, &Intent::write(span(huge)), &[], None)
        .expect_err("no room")
        .to_string();
    assert!(
        refusal.contains("1 EiB more") && refusal.contains("stay free"),
        "{refusal}"
    );
    assert!(!path.exists());
}

#[test]
fn without_attributes_a_manifest_tells() {
    let Some(_turn) = able(&[]) else { return };
    let folder = Folder::new();
    let at = folder.path("ramfs");
    std::fs::create_dir(&at).expect("a mount point");
    let _mounted = Undo::after(
        &format!("mount -t ramfs none {}", at.display()),
        &format!("umount {}", at.display()),
    );
    let (path, other) = (at.join("file"), at.join("other"));
    for path in [&path, &other] {
        std::fs::write(path, b"data").expect("a file");
    }
    mark_ours(
        std::fs::File::open(&path).expect("there").as_fd(),
        Origin::Created,
    )
    .expect("marked");
    assert!(
        at.join(".fathom-files").exists(),
        "ramfs has no user attributes"
    );
    assert_eq!((owner(&path), owner(&other)), (Owner::Ours, Owner::Foreign));
    let facts = look(&path);
    assert!(judge(&facts, &Intent::write(span(4)), &[]).is_ok());
    // A manifest that others may write to says nothing.
    run(&format!("chmod 666 {}/.fathom-files", at.display()));
    assert_eq!(owner(&path), Owner::Foreign);
    run(&format!("chmod 600 {}/.fathom-files", at.display()));
    assert!(remove_ours(&path).expect("asked") && !path.exists());
}
