//! Every file in `jobs/` is accepted and yields a valid result when only its size, run time and
//! target are changed.

use crate::common;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::common::{Completed, fathom};
use fathom_testkit::Scratch;

fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../jobs"))
}

/// Runs `name` on a simulated drive, with `size` of data for each job.
fn runs_to_a_valid_result(name: &str, size: &str) {
    let json = run(name, size).expect(0).json();
    assert!(
        json.number("/jobs/0/read/total_ios") + json.number("/jobs/0/write/total_ios") > 0.0,
        "{name} did no I/O"
    );
}

fn run(name: &str, size: &str) -> Completed {
    let scratch = Scratch::new().expect("a directory on a disk");
    let text = read(name);
    let target = match text.contains("\n directory=") {
        true => format!("directory={}", scratch.path().display()),
        false => format!("filename={}", scratch.join("target.data").display()),
    };
    // A job that sets `filesize` instead of `size` is overridden there.
    let sized = if text.contains("\nfilesize=") {
        "filesize"
    } else {
        "size"
    };
    // Jobs of one I/O per second need seconds to do one.
    let runtime = if text.contains("rate_iops=1,1") {
        "30s"
    } else {
        "300ms"
    };
    let mut command = common::program(["run", "--output-format=json", "--machine=nvme-ssd"]);
    command.args([
        "--set",
        &target,
        "--set",
        &format!("{sized}={size}"),
        "--set",
        &format!("runtime={runtime}"),
    ]);
    command
        .arg(directory().canonicalize().expect("jobs/ exists").join(name))
        .current_dir(scratch.path());
    common::start(command).finish()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(directory().join(name))
        .unwrap_or_else(|error| panic!("jobs/{name}: {error}"))
}

macro_rules! job_files {
    ($($test:ident $name:literal $size:literal)*) => {
        const TESTED: &[&str] = &[$($name),*];
        $(
            #[test]
            fn $test() {
                runs_to_a_valid_result($name, $size);
            }
        )*
    };
}

job_files! {
    applications "applications.fio" "16m"
    first_look "first-look.fio" "16m"
    hdd_working_set "hdd-working-set.fio" "16m"
    hdd_working_set_zipf "hdd-working-set-zipf.fio" "16m"
    iometer "iometer.fio" "16m"
    iodepth_sweep "iodepth-sweep.fio" "16m"
    jesd219 "jesd219.fio" "16m"
    mysql_128_readers "mysql-128-readers.fio" "1m"
    mysql_random_write "mysql-random-write.fio" "16m"
    mysql_read_write "mysql-read-write.fio" "16m"
    mysql_seq_read "mysql-seq-read.fio" "16m"
    mysql_study "mysql-study.fio" "16m"
    nvme_async_read "nvme-async-read.fio" "16m"
    nvme_async_write "nvme-async-write.fio" "16m"
    nvme_sync_read "nvme-sync-read.fio" "16m"
    nvme_sync_write "nvme-sync-write.fio" "16m"
    one_megabyte_reads "one-megabyte-reads.fio" "16m"
    spc_1_like "spc-1-like.fio" "16m"
    ssd_whole_device_mix "ssd-whole-device-mix.fio" "16m"
    vm_fleet "vm-fleet.fio" "16m"
}

fn files() -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory()).expect("jobs/ exists");
    let names = entries.map(|entry| {
        entry
            .expect("readable")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    names.filter(|name| name.ends_with(".fio")).collect()
}

#[test]
fn every_job_file_is_tested_and_listed_in_the_readme() {
    assert_eq!(
        files(),
        TESTED.iter().map(|name| (*name).to_owned()).collect()
    );
    let readme = read("README.md");
    for name in TESTED {
        assert!(
            readme.contains(&format!("({name})")),
            "jobs/README.md does not list {name}"
        );
    }
}

#[test]
fn every_job_file_is_accepted_unchanged() {
    for name in files() {
        for command in ["run", "fio"] {
            let path = directory().join(&name).display().to_string();
            let ran = fathom([command, "--parse-only", &path]).expect(0);
            assert!(!ran.err.contains("error:"), "{name}: {}", ran.err);
        }
    }
}

#[test]
fn the_first_job_file_runs_unchanged() {
    let scratch = Scratch::new().expect("a directory on a disk");
    let mut command = common::program(["run", "--output-format=json"]);
    let job = directory().canonicalize().expect("jobs/ exists");
    command
        .arg(job.join("first-look.fio"))
        .current_dir(scratch.path());
    let json = common::start(command).finish().expect(0).json();
    let jobs = json.0["jobs"].as_array().expect("jobs").iter();
    let total: f64 = jobs
        .map(|job| job["job_runtime"].as_f64().expect("milliseconds"))
        .sum();
    assert!(total >= 4.0 * 2900.0, "{total} ms measured");
    let left = std::fs::read_dir(scratch.path())
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name());
    assert_eq!(
        left.collect::<Vec<_>>(),
        ["fathom-first-look.data"],
        "no other file is left behind"
    );
}
