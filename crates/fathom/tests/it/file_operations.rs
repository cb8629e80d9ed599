//! Engines that create, stat, allocate and remove files: they count like fio, and never touch
//! foreign files.

use crate::common;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use crate::common::{Completed, fathom, split_args};
use crate::peer::{FATHOM_FIO, FIO, run};
use fathom_testkit::{Scratch, require};
use serde_json::Value;

/// `fathom fio` with a job `j` of this engine over ten files of 4 KiB below `directory`.
fn job(directory: &Path, options: &str) -> Completed {
    let mut line = split_args("fio --name=j --nrfiles=10 --filesize=4k --output-format=json");
    line.push(format!("--directory={}", directory.display()));
    line.extend(split_args(options));
    fathom(line)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries
        .map(|name| name.into_string().expect("text"))
        .collect();
    names.sort();
    names
}

fn all_names() -> Vec<String> {
    (0..10).map(|n| format!("j.0.{n}")).collect()
}

/// One I/O and one completion latency for each file; no submission and no total latency. (Measured
/// on fio 3.33.)
fn assert_ten(ran: &Completed, direction: &str) {
    assert_eq!(ran.err, "");
    let json = ran.json();
    let of = |name: &str| json.number(&format!("/jobs/0/{direction}/{name}"));
    assert_eq!((of("total_ios"), of("io_bytes")), (10.0, 40_960.0));
    assert_eq!(
        (of("clat_ns/N"), of("slat_ns/N"), of("lat_ns/N")),
        (10.0, 0.0, 0.0)
    );
}

#[test]
fn each_engine_does_one_operation_per_file() {
    for (options, direction, files_remain) in [
        (
            "--ioengine=filecreate --create_on_open=1 --openfiles=1 --fallocate=none",
            "read",
            true,
        ),
        ("--ioengine=filecreate --rw=write", "write", true),
        ("--ioengine=filecreate --unlink=1", "read", false),
        ("--ioengine=filestat", "read", true),
        (
            "--ioengine=filestat --stat_type=statx --file_service_type=random",
            "read",
            true,
        ),
        ("--ioengine=filedelete --unlink=0", "read", false),
        ("--ioengine=dircreate", "read", true),
        ("--ioengine=dirstat --stat_type=lstat", "read", true),
        ("--ioengine=dirstat --unlink=1", "read", false),
        ("--ioengine=dirdelete", "read", false),
    ] {
        let directory = Scratch::new().expect("a directory");
        assert_ten(&job(directory.path(), options).expect(0), direction);
        let left = if files_remain {
            all_names()
        } else {
            Vec::new()
        };
        assert_eq!(names(directory.path()), left, "{options}");
        let is_dir_engine = options.contains("=dir");
        for name in left {
            let found = std::fs::metadata(directory.join(name)).expect("it exists");
            assert_eq!(found.is_dir(), is_dir_engine);
            // filecreate creates empty files; filestat needs files of their full size.
            assert!(
                is_dir_engine
                    || found.len()
                        == if options.contains("filestat") {
                            4096
                        } else {
                            0
                        },
                "{options}"
            );
        }
    }
}

/// fio of Debian 12 has the three file engines, but not the directory engines.
#[test]
fn files_are_created_counted_and_left_as_by_fio() {
    require!(Fio);
    for options in [
        "--ioengine=filecreate --create_on_open=1 --openfiles=1",
        "--ioengine=filestat",
        "--ioengine=filestat --rw=write",
        "--ioengine=filedelete",
        "--ioengine=filedelete --loops=2",
        "--ioengine=filecreate --unlink=1",
        "--ioengine=filecreate --numjobs=2 --group_reporting",
    ] {
        let [theirs, ours] = [&FIO[..], &FATHOM_FIO[..]].map(|program| {
            let directory = Scratch::new().expect("a directory");
            let mut line = split_args(
                "--name=j --nrfiles=10 --filesize=4k --output-format=json --directory=.",
            );
            line.extend(split_args(options));
            let arguments: Vec<&str> = line.iter().map(String::as_str).collect();
            let left = run(program, directory.path(), &arguments);
            let text = &left.out[left.out.find("{\n").expect("a document")..];
            let json: Value = serde_json::from_str(text).expect("JSON");
            let of = |direction: &str, name: &str| json["jobs"][0][direction][name].clone();
            let counts: Vec<Value> = ["read", "write"]
                .into_iter()
                .flat_map(|direction| {
                    [
                        of(direction, "total_ios"),
                        of(direction, "io_bytes"),
                        of(direction, "clat_ns")["N"].clone(),
                    ]
                })
                .collect();
            (
                left.code,
                json["jobs"][0]["error"].clone(),
                counts,
                names(directory.path()),
            )
        });
        assert_eq!(ours, theirs, "{options}");
    }
}

/// Files of others are not removed, and their symbolic links are not followed.
#[test]
fn foreign_files_are_not_removed() {
    let directory = Scratch::new().expect("a directory");
    let foreign = directory.join("j.0.3");
    std::fs::write(&foreign, "precious").expect("a file");
    let ran = job(directory.path(), "--ioengine=filedelete").expect(1);
    assert!(
        ran.err.contains("j.0.3") && ran.err.contains("--destroy"),
        "{}",
        ran.err
    );
    assert_eq!(names(directory.path()), ["j.0.3"]);
    // filestat may inspect it, and filecreate may open it.
    assert_ten(
        &job(directory.path(), "--ioengine=filestat").expect(0),
        "read",
    );
    assert_ten(
        &job(directory.path(), "--ioengine=filecreate").expect(0),
        "read",
    );
    assert_eq!(
        std::fs::read_to_string(&foreign).expect("still there"),
        "precious"
    );

    let directory = Scratch::new().expect("a directory");
    std::fs::create_dir(directory.join("j.0.3")).expect("a directory");
    let ran = job(directory.path(), "--ioengine=dirdelete").expect(1);
    assert!(
        ran.err.contains("removes only directories that it created"),
        "{}",
        ran.err
    );
    assert!(directory.join("j.0.3").is_dir());
    job(directory.path(), "--ioengine=filecreate").expect(1);

    let (directory, outside) = (
        Scratch::new().expect("a directory"),
        Scratch::new().expect("a directory"),
    );
    symlink(outside.join("x"), directory.join("j.0.3")).expect("a link");
    let ran = job(directory.path(), "--ioengine=filecreate").expect(1);
    assert!(ran.err.contains("is not a regular file"), "{}", ran.err);
    assert!(!outside.join("x").exists());
}

/// Files that an earlier run of fathom left behind may be removed.
#[test]
fn files_of_an_earlier_run_may_be_removed() {
    let directory = Scratch::new().expect("a directory");
    job(directory.path(), "--ioengine=filestat").expect(0);
    assert_eq!(names(directory.path()), all_names());
    job(directory.path(), "--ioengine=filedelete").expect(0);
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn readonly_forbids_changes_of_a_directory() {
    for engine in ["filecreate", "filedelete", "dircreate", "dirdelete"] {
        let directory = Scratch::new().expect("a directory");
        let ran = job(directory.path(), &format!("--ioengine={engine} --readonly")).expect(1);
        assert!(ran.err.contains("--readonly forbids"), "{}", ran.err);
        assert_eq!(names(directory.path()), [""; 0]);
    }
}

#[test]
fn files_are_not_created_where_creation_is_forbidden() {
    let ran = fathom(split_args(
        "fio --name=j --ioengine=filecreate --filesize=4k --directory=/proc --nrfiles=1",
    ));
    assert_ne!(ran.code(), 0);
    let ran = fathom(split_args(
        "fio --name=j --ioengine=filecreate --filesize=4k --filename=/dev/null",
    ));
    assert!(ran.err.contains("is not a regular file"), "{}", ran.err);
}

/// `fathom run` warns that a second pass opens existing files.
#[test]
fn creating_existing_files_is_warned_about() {
    let directory = Scratch::new().expect("a directory");
    let at = format!("--directory={}", directory.path().display());
    let line = split_args(
        "run --parse-only --name=j --ioengine=filecreate --filesize=4k --nrfiles=4 --loops=2",
    );
    let ran = fathom(line.into_iter().chain([at])).expect(0);
    assert!(ran.err.contains("opens existing files"), "{}", ran.err);
}

/// falloc allocates without writing, and punches holes; ftruncate leaves the file with the offset
/// of its last write as length.
#[test]
fn allocation_and_truncation_transfer_no_data() {
    let directory = Scratch::new().expect("a directory");
    let file = directory.join("f");
    let at = format!("--filename={}", file.display());
    let one = |options: &str| {
        let line = split_args("fio --name=j --size=1m --output-format=json");
        fathom(
            line.into_iter()
                .chain([at.clone()])
                .chain(split_args(options)),
        )
        .expect(0)
    };
    one("--ioengine=falloc --rw=randwrite --bs=64k --fallocate=none");
    let found = std::fs::metadata(&file).expect("created");
    assert_eq!(found.len(), 1 << 20);
    assert!(found.blocks() * 512 >= 1 << 20, "{} blocks", found.blocks());
    assert!(
        std::fs::read(&file)
            .expect("readable")
            .iter()
            .all(|byte| *byte == 0)
    );
    one("--ioengine=falloc --rw=randtrim --bs=64k");
    assert!(std::fs::metadata(&file).expect("there").blocks() * 512 < 64 << 10);
    let ran = one("--ioengine=ftruncate --rw=write --bs=4k");
    assert_eq!(ran.json().number("/jobs/0/write/total_ios"), 256.0);
    assert_eq!(
        std::fs::metadata(&file).expect("there").len(),
        (1 << 20) - 4096
    );
    let ran = fathom(
        split_args("fio --name=j --size=1m --ioengine=ftruncate --rw=read")
            .into_iter()
            .chain([at.clone()]),
    );
    assert!(ran.expect(1).err.contains("ftruncate can only write"));
}

/// Data that splice writes is read by another engine and vice versa, also in blocks larger than the
/// pipe.
#[test]
fn splice_transfers_data_in_both_directions() {
    let directory = Scratch::new().expect("a directory");
    let file = directory.join("f");
    let line = format!(
        "fio --size=1m --bs=160k --filename={} --verify=crc32c",
        file.display()
    );
    let write = split_args(
        "--name=w --rw=write --ioengine=splice --do_verify=0 --verify_state_save=0 --buffer_pattern=0xdeadface",
    );
    let verify = split_args("--name=v --rw=read --ioengine=psync");
    fathom(split_args(&line).into_iter().chain(write)).expect(0);
    fathom(split_args(&line).into_iter().chain(verify)).expect(0);
    let line = line.replace("160k", "4k");
    fathom(split_args(&line).into_iter().chain(split_args(
        "--name=w --rw=write --ioengine=psync --do_verify=0 --verify_state_save=0",
    )))
    .expect(0);
    fathom(
        split_args(&line)
            .into_iter()
            .chain(split_args("--name=v --rw=randread --ioengine=splice")),
    )
    .expect(0);
}

/// Regression 0081: a mixed job on a file with `create_on_open=1` read past the end of the file
/// until writes had extended it, and failed.
#[test]
fn a_file_created_on_open_can_be_read() {
    let directory = Scratch::new().expect("a directory");
    let line = split_args(
        "fio --name=j --rw=randrw --size=1m --bs=4k --create_on_open=1 --fallocate=none --ioengine=psync",
    );
    let at = format!("--directory={}", directory.path().display());
    let ran = fathom(line.into_iter().chain([at])).expect(0);
    assert_eq!(ran.err, "");
    assert_eq!(
        std::fs::metadata(directory.join("j.0.0"))
            .expect("created")
            .len(),
        1 << 20
    );
}

/// Regression 0305: filedelete and the removal after filecreate went by path, so that they removed another file when a
/// directory was replaced during the run.
#[test]
fn files_are_removed_by_directory_and_inode() {
    let scratch = Scratch::new().expect("a directory");
    let (data, moved) = (scratch.join("data"), scratch.join("moved"));
    std::fs::create_dir(&data).expect("a directory");
    let mut arguments = split_args(
        "run --name=j --nrfiles=4 --filesize=4k --ioengine=filedelete --unlink=0 --rate_iops=2 --output-format=json",
    );
    arguments.push(format!("--directory={}", data.display()));
    let running = common::start(common::program(arguments));
    common::wait_until("the files are made", || names(&data).len() == 4);
    common::wait_until("one is gone", || names(&data).len() == 3);
    // Somebody replaces the directory by another one with files of the same names.
    std::fs::rename(&data, &moved).expect("moved");
    std::fs::create_dir(&data).expect("another directory");
    for name in all_names() {
        std::fs::write(data.join(name), "precious").expect("a file");
    }
    // And one of the files by another one.
    let last = names(&moved).pop().expect("a file");
    std::fs::write(scratch.join("other"), "precious").expect("a file");
    std::fs::rename(scratch.join("other"), moved.join(&last)).expect("replaced");
    let ran = running.finish();
    for name in all_names() {
        let text = std::fs::read_to_string(data.join(&name)).expect("untouched");
        assert_eq!(text, "precious");
    }
    assert_eq!(
        names(&moved),
        [last.as_str()],
        "only the replaced file stays"
    );
    let text = std::fs::read_to_string(moved.join(&last)).expect("untouched");
    assert_eq!(text, "precious");
    assert_ne!(ran.code(), 0, "the replaced file is an error: {}", ran.out);
}
