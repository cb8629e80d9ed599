//! Unsafe and legal files.

use crate::support::*;
use fathom_device::{Intent, Origin, Owner, judge};
use fathom_linux::{examine, file_owner, mark_owned, remove_owned};
use fathom_model::Bytes;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

fn growing() -> Intent {
    writes().growing_to(Bytes::new(MIB))
}

fn create_file(path: &Path) {
    let held = open_target(path, &growing(), &[], None).expect("a new file");
    overwrite(&held);
    held.release().expect("released");
}

fn foreign(directory: &Directory, name: &str) -> PathBuf {
    let path = directory.path(name);
    std::fs::write(&path, vec![b'x'; MIB as usize]).expect("data of another program");
    path
}

fn owner(path: &Path) -> Owner {
    file_owner(std::fs::File::open(path).expect("it exists").as_fd()).expect("can be queried")
}

#[test]
fn foreign_content_needs_its_code() {
    let directory = Directory::new();
    let path = foreign(&directory, "data");
    let before = hash(&path);
    let refusal = open_target(&path, &growing(), &[], None)
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
    let other = foreign(&directory, "other");
    assert!(
        open_target(&path, &growing(), &[code(&other)], None).is_err(),
        "another file's code"
    );
    assert_eq!(before, hash(&path));
    permitted(&path, &path);
    assert_eq!(owner(&path), Owner::Ours);
    assert!(
        !remove_owned(&path).expect("can be queried"),
        "it existed before fathom"
    );
}

#[test]
fn new_empty_sparse_and_own_files_need_no_code() {
    let directory = Directory::new();
    let (new, empty, hollow) = (
        directory.path("new"),
        directory.path("empty"),
        directory.image("hollow", 1),
    );
    std::fs::write(&empty, b"").expect("an empty file");
    for path in [&new, &empty, &hollow] {
        create_file(path);
        assert_eq!(owner(path), Owner::Ours);
        create_file(path);
    }
    assert!(remove_owned(&new).expect("can be queried") && !new.exists());
    assert!(!remove_owned(&empty).expect("can be queried") && empty.exists());
}

#[test]
fn a_file_modified_by_another_program_needs_a_code() {
    let directory = Directory::new();
    let path = directory.path("file");
    create_file(&path);
    std::fs::write(&path, b"a thesis").expect("written by another program");
    assert_eq!(owner(&path), Owner::Changed);
    let refusal = open_target(&path, &growing(), &[], None)
        .expect_err("no code")
        .to_string();
    assert!(
        refusal.contains("another program wrote after fathom"),
        "{refusal}"
    );
    assert_eq!(std::fs::read(&path).expect("it exists"), b"a thesis");
    assert!(!remove_owned(&path).expect("can be queried"));
}

#[test]
fn a_copy_of_our_file_is_foreign() {
    let directory = Directory::new();
    let (path, copy) = (directory.path("file"), directory.path("copy"));
    create_file(&path);
    run(&format!("cp -a {} {}", path.display(), copy.display()));
    assert_eq!((owner(&path), owner(&copy)), (Owner::Ours, Owner::Foreign));
}

#[test]
fn a_file_of_a_crashed_run_is_still_owned() {
    let directory = Directory::new();
    let path = directory.path("file");
    let held = open_target(&path, &growing(), &[], None).expect("a new file");
    overwrite(&held);
    drop(held);
    assert_eq!(owner(&path), Owner::Ours);
}

#[test]
fn links_to_foreign_files_are_not_followed_for_writing() {
    let directory = Directory::new();
    let data = foreign(&directory, "data");
    let (link, broken) = (directory.path("link"), directory.path("broken"));
    std::os::unix::fs::symlink("data", &link).expect("a link");
    std::os::unix::fs::symlink("nothing", &broken).expect("a link");
    refused(&link, &data, "a symbolic link to");
    assert!(
        open_target(&broken, &growing(), &[], None).is_err() && !directory.path("nothing").exists()
    );
    let own = directory.path("own");
    create_file(&own);
    std::os::unix::fs::symlink("own", directory.path("to-own")).expect("a link");
    assert!(open_target(&directory.path("to-own"), &growing(), &[], None).is_ok());
}

#[test]
fn kernel_paths() {
    for path in [
        "/dev/fathom-guard-sdx",
        "/proc/fathom-guard",
        "/sys/fathom-guard",
        "/dev/../dev/fathom-guard-sdy",
    ] {
        let _cleanup = Undo::after("true", &format!("rm -f {path}"));
        let refusal = open_target(Path::new(path), &growing(), &[], None)
            .expect_err("the kernel's")
            .to_string();
        // A missing name below /dev is a missing device, not a new file.
        let found = if path.starts_with("/dev") {
            "no such device"
        } else {
            "belongs to the kernel"
        };
        assert!(refusal.contains(found), "{refusal}");
        assert!(!Path::new(path).exists());
    }
    for path in ["/proc/self/comm", "/proc/sys/vm/swappiness"] {
        let before = std::fs::read(path).expect("readable");
        let refusal = open_target(Path::new(path), &growing(), &[], None)
            .expect_err("the kernel's")
            .to_string();
        assert!(refusal.contains("belongs to the kernel"), "{refusal}");
        assert_eq!(before, std::fs::read(path).expect("readable"));
    }
}

#[test]
fn swap_file() {
    let Some(_guard) = requirements(&["mkswap", "swapon", "swapoff"]) else {
        return;
    };
    let directory = Directory::new();
    let path = directory.path("swap");
    std::fs::write(&path, vec![0; 2 * MIB as usize]).expect("a file");
    let shown = path.display();
    run(&format!("chmod 600 {shown} && mkswap {shown}"));
    if try_run(&format!("swapon {shown}")).is_err() {
        fathom_testkit::skip("this file system cannot hold a swap file");
        return;
    }
    {
        let _swap = Undo::after("true", &format!("swapoff {shown}"));
        let hard = directory.path("hard");
        std::fs::hard_link(&path, &hard).expect("a second name");
        refused(&path, &path, "it is active swap space");
        refused(&hard, &path, "it is active swap space");
    }
    permitted(&path, &path);
}

#[test]
fn backing_file_of_an_attached_loop() {
    let Some(_guard) = requirements(&["losetup"]) else {
        return;
    };
    let directory = Directory::new();
    let path = directory.path("image");
    create_file(&path);
    {
        let device = Loop::over(&path);
        refused(&path, &path, &format!("it backs {}", device.name()));
    }
    assert_eq!(owner(&path), Owner::Ours);
    create_file(&path);
}

#[test]
fn null_may_be_written_and_other_kinds_may_not() {
    assert!(open_target(Path::new("/dev/null"), &writes(), &[], None).is_ok());
    assert!(open_target(Path::new("/dev/zero"), &Intent::read(span(MIB)), &[], None).is_ok());
    let directory = Directory::new();
    let pipe = directory.path("pipe");
    run(&format!("mkfifo {}", pipe.display()));
    for path in [
        Path::new("/dev/tty"),
        Path::new("/dev/mem"),
        &pipe,
        &std::env::temp_dir(),
    ] {
        if path.exists() {
            assert!(
                open_target(path, &writes(), &[], None).is_err(),
                "{}",
                path.display()
            );
        }
    }
    let nowhere = directory.path("no/such/directory/file");
    let error = examine(&nowhere).expect_err("no directory").to_string();
    assert!(
        error.contains("open the directory of") && error.contains("create the directory first"),
        "{error}"
    );
}

#[test]
fn space_is_kept_free() {
    let directory = Directory::new();
    let path = directory.path("huge");
    let huge = 1 << 60;
    let refusal = open_target(&path, &Intent::write(span(huge)), &[], None)
        .expect_err("no space")
        .to_string();
    assert!(
        refusal.contains("1 EiB more") && refusal.contains("stay free"),
        "{refusal}"
    );
    assert!(!path.exists());
}

#[test]
fn without_attributes_a_manifest_is_used() {
    let Some(_guard) = requirements(&[]) else {
        return;
    };
    let directory = Directory::new();
    let at = directory.path("ramfs");
    std::fs::create_dir(&at).expect("a mount point");
    let _mounted = Undo::after(
        &format!("mount -t ramfs none {}", at.display()),
        &format!("umount {}", at.display()),
    );
    let (path, other) = (at.join("file"), at.join("other"));
    for path in [&path, &other] {
        std::fs::write(path, b"data").expect("a file");
    }
    mark_owned(
        std::fs::File::open(&path).expect("it exists").as_fd(),
        Origin::Created,
    )
    .expect("marked");
    assert!(
        at.join(".fathom-files").exists(),
        "ramfs has no user attributes"
    );
    assert_eq!((owner(&path), owner(&other)), (Owner::Ours, Owner::Foreign));
    let facts = facts(&path);
    assert!(judge(&facts, &Intent::write(span(4)), &[]).is_ok());
    // A manifest that others may write is not trusted.
    run(&format!("chmod 666 {}/.fathom-files", at.display()));
    assert_eq!(owner(&path), Owner::Foreign);
    run(&format!("chmod 600 {}/.fathom-files", at.display()));
    assert!(remove_owned(&path).expect("can be queried") && !path.exists());
}
