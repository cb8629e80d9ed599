//! Unsafe and legal files.

use crate::guard::support::*;
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
    let before = contents(&path);
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
    assert_eq!(before, contents(&path));
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

/// Regression 0302: the mark of a killed run allowed every later run to overwrite the file, whatever the user had put
/// into it meanwhile.
#[test]
fn a_file_that_a_killed_run_wrote_needs_its_code() {
    let directory = Directory::new();
    let path = directory.path("file");
    let held = open_target(&path, &growing(), &[], None).expect("a new file");
    overwrite(&held);
    drop(held);
    assert_eq!(owner(&path), Owner::Unfinished);
    refused_without_a_code(&path, "a killed run of fathom, or another program after it");
    std::fs::write(&path, b"a thesis").expect("written by another program");
    refused_without_a_code(&path, "a killed run of fathom, or another program after it");
    assert_eq!(std::fs::read(&path).expect("there"), b"a thesis");
    assert!(!remove_owned(&path).expect("asked") && path.exists());
    // The code of its present contents releases it, and the run then closes it.
    let held = open_target(&path, &growing(), &[code(&path)], None).expect("released");
    overwrite(&held);
    held.release().expect("closed");
    assert_eq!(owner(&path), Owner::Ours);
}

fn refused_without_a_code(path: &Path, text: &str) {
    let refusal = open_target(path, &growing(), &[], None)
        .expect_err("no code")
        .to_string();
    assert!(
        refusal.contains(text) && refusal.contains("--destroy="),
        "{refusal}"
    );
}

/// The mark holds the state that fathom left, so a run that is killed while it only reads loses nothing.
#[test]
fn a_file_that_a_killed_run_only_laid_out_stays_ours() {
    let directory = Directory::new();
    let path = directory.path("file");
    let held = open_target(&path, &growing(), &[], None).expect("a new file");
    overwrite(&held);
    held.record_state().expect("marked");
    drop(held);
    assert_eq!(owner(&path), Owner::Ours);
    create_file(&path);
}

/// Regression 0302: a file counted as unmodified when another program had put its modification time back.
#[test]
fn a_file_whose_times_were_put_back_needs_a_code() {
    let directory = Directory::new();
    let path = directory.path("file");
    create_file(&path);
    let before = std::fs::metadata(&path).expect("there");
    // The change must be later than the mark by more than its tolerance.
    std::thread::sleep(std::time::Duration::from_millis(50));
    std::fs::write(&path, vec![b'x'; before.len() as usize]).expect("another program's data");
    std::fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_modified(before.modified().expect("kept")))
        .expect("put back");
    let now = std::fs::metadata(&path).expect("there");
    assert_eq!(
        (now.len(), now.modified().ok()),
        (before.len(), before.modified().ok())
    );
    assert_eq!(owner(&path), Owner::Changed);
    refused_without_a_code(&path, "another program wrote after fathom");
}

#[test]
fn a_file_that_another_run_writes_is_reported_as_locked() {
    let directory = Directory::new();
    let path = directory.path("file");
    let held = open_target(&path, &growing(), &[], None).expect("a new file");
    overwrite(&held);
    let examined = examine(&path).expect("there");
    let refusal = judge(examined.facts(), &growing(), &[])
        .expect_err("locked")
        .to_string();
    assert!(
        refusal.contains("another run of fathom has locked it"),
        "{refusal}"
    );
}

/// Regression 0301: the code of a file stayed valid when its middle was replaced and its times were put back.
#[test]
fn the_code_of_a_file_changes_with_its_contents() {
    let directory = Directory::new();
    let path = directory.path("data");
    let size = 64 * MIB;
    std::fs::write(&path, vec![b'x'; size as usize]).expect("somebody's data");
    let modified = std::fs::metadata(&path)
        .and_then(|facts| facts.modified())
        .expect("kept");
    let before = code(&path);
    assert_eq!(before, code(&path), "examined twice");
    let file = std::fs::File::options()
        .write(true)
        .open(&path)
        .expect("there");
    // 1 % of it, in one piece in the middle.
    let part = vec![b'y'; size as usize / 100];
    std::os::unix::fs::FileExt::write_all_at(&file, &part, size / 3).expect("written");
    file.set_modified(modified).expect("put back");
    let after = code(&path);
    assert_ne!(before, after);
    let refusal = open_target(&path, &growing(), &[before], None)
        .expect_err("the code of other contents")
        .to_string();
    assert!(
        refusal.contains("does not match the current code"),
        "{refusal}"
    );
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

/// Regression 0304: a file target that became the backing file of a loop device or swap space during the run was not
/// noticed.
#[test]
fn a_file_that_gets_another_use_during_the_run_is_refused() {
    let Some(_guard) = requirements(&["losetup", "mkswap", "swapon", "swapoff"]) else {
        return;
    };
    let directory = Directory::new();
    let path = directory.path("image");
    std::fs::write(&path, vec![0; 2 * MIB as usize]).expect("a file");
    let shown = path.display();
    run(&format!("chmod 600 {shown} && mkswap {shown}"));
    let host = fathom_linux::LinuxHost::new(fathom_linux::LinuxClock::start());
    let held = open_target(&path, &writes(), &[code(&path)], None).expect("permitted");
    host.add(held, false).expect("a file");
    host.recheck().expect("nobody else uses it");
    {
        let device = Loop::over(&path);
        let error = host.recheck().expect_err("attached").to_string();
        assert!(
            error.contains(&format!("it backs {}", device.name())),
            "{error}"
        );
    }
    host.recheck().expect("detached");
    if try_run(&format!("swapon {shown}")).is_err() {
        fathom_testkit::skip("this file system cannot hold a swap file");
        return;
    }
    let _swap = Undo::after("true", &format!("swapoff {shown}"));
    let error = host.recheck().expect_err("swap space").to_string();
    assert!(error.contains("it is active swap space"), "{error}");
}

/// Regression 0309: a backup without room left a part of itself behind.
#[test]
fn a_backup_without_room_leaves_nothing_behind() {
    let Some(_guard) = requirements(&["losetup", "mkfs.ext4"]) else {
        return;
    };
    let directory = Directory::new();
    let device = Loop::over(&directory.image("image", 32));
    ext4(&device.path);
    let at = directory.path("small");
    std::fs::create_dir(&at).expect("a mount point");
    let _mounted = Undo::after(
        &format!("mount -t tmpfs -o size=1m none {}", at.display()),
        &format!("umount {}", at.display()),
    );
    let backup = at.join("backup");
    let before = device.contents();
    let error = open_target(
        &device.path,
        &writes(),
        &[code(&device.path)],
        Some(&backup),
    )
    .expect_err("no room for the backup")
    .to_string();
    assert!(error.contains("save the first and last MiB"), "{error}");
    assert!(!backup.exists(), "the part that was written is removed");
    assert_eq!(before, device.contents(), "nothing was written");
}
