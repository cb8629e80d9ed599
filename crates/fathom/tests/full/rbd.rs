//! ioengine=rbd on a Ceph cluster of one node: what is written is what rbd(8) and fio read, nothing is overwritten without its
//! code, and a missing library, cluster or image is named.

mod cluster;

use std::process::Command;
use std::time::Duration;

use crate::common::{Completed, program, split_args, start};
use cluster::Cluster;
use fathom_testkit::{Scratch, require, skip};

const IMAGE_SIZE: usize = 16 << 20;
const PATTERN: &str = "0x5eed0bad";
/// The bytes of this pattern, as fio writes it: the digits from left to right.
const PATTERN_BYTES: [u8; 4] = [0x5e, 0xed, 0x0b, 0xad];

fn run(cluster: &Cluster, line: &str) -> Completed {
    let mut command = program(split_args(&format!("run --name=j {line}")));
    command.env("CEPH_CONF", cluster.configuration());
    start(command).finish_within(Duration::from_secs(60))
}

/// One cluster for all checks, since it takes some seconds to start.
#[test]
fn an_image_is_measured_as_any_target() {
    require!(Root);
    if !cluster::is_installed() {
        return skip("ceph-mon and ceph-osd are not installed");
    }
    let mut cluster = Cluster::start();
    contents_are_what_other_programs_read(&cluster);
    data_is_overwritten_only_with_its_code(&cluster);
    trims_flushes_and_verification_work(&cluster);
    regions_and_names_are_checked(&cluster);
    // The last one: no I/O completes afterwards.
    a_cluster_that_stops_ends_the_run(&mut cluster);
}

fn contents_are_what_other_programs_read(cluster: &Cluster) {
    let image = cluster.create_image("pattern", "16M");
    let json = run(
        cluster,
        &format!("{image} --rw=randwrite --bs=4k,64k --blocksize_unaligned=0 --iodepth=8 --buffer_pattern={PATTERN} --end_fsync=1 --format=json"),
    )
    .expect(0)
    .json();
    assert_eq!(json.number("/jobs/0/write/io_bytes") as usize, IMAGE_SIZE);
    let contents = cluster.contents("pattern");
    assert_eq!(contents.len(), IMAGE_SIZE);
    assert!(contents.chunks(4).all(|word| word == PATTERN_BYTES));

    let read = run(
        cluster,
        &format!("{image} --rw=randread --bs=4k --iodepth=16 --busy_poll=1 --format=json"),
    )
    .expect(0)
    .json();
    assert_eq!(
        read.number("/jobs/0/read/total_ios") as usize,
        IMAGE_SIZE / 4096
    );
    assert_eq!(read.number("/jobs/0/read/io_bytes") as usize, IMAGE_SIZE);

    // fio's engine checks it where its package has one.
    let has_rbd = Command::new("fio")
        .arg("--enghelp=rbd")
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_rbd {
        return skip("fio has no rbd engine");
    }
    let output = Command::new("fio")
        .args(["--name=j", "--rw=read", "--bs=64k", "--verify=pattern"])
        .arg(format!("--verify_pattern={PATTERN}"))
        .args(split_args(&image))
        .env("CEPH_CONF", cluster.configuration())
        .output()
        .expect("fio starts");
    assert!(output.status.success(), "{output:?}");
}

fn data_is_overwritten_only_with_its_code(cluster: &Cluster) {
    let image = cluster.create_image("guarded", "16M");
    let write = format!("{image} --rw=write --bs=64k --size=1m");
    run(cluster, &format!("{write} --buffer_pattern={PATTERN}")).expect(0);
    let before = cluster.contents("guarded");

    let refused = run(cluster, &write).expect(2);
    assert_eq!(cluster.contents("guarded"), before);
    let (_, code) = refused
        .err
        .rsplit_once("--destroy=")
        .expect("names the code");
    run(cluster, &format!("{write} --destroy={}", code.trim())).expect(0);
    let after = cluster.contents("guarded");
    assert_ne!(after[..1 << 20], before[..1 << 20]);

    // The code was of the contents before.
    run(cluster, &format!("{write} --destroy={}", code.trim())).expect(2);
    assert_eq!(cluster.contents("guarded"), after);

    let shown = run(cluster, &format!("{image} --rw=read --size=1m --dry-run")).expect(0);
    assert!(
        shown.out.contains("would read bytes 0 to 1048576"),
        "{}",
        shown.out
    );
}

fn trims_flushes_and_verification_work(cluster: &Cluster) {
    let image = cluster.create_image("trimmed", "16M");
    let json = run(
        cluster,
        &format!(
            "{image} --rw=randwrite --bs=16k --iodepth=4 --fsync=16 --verify=crc32c --format=json"
        ),
    )
    .expect(0)
    .json();
    assert_eq!(json.number("/jobs/0/write/total_ios") as u64, 1024);
    assert_eq!(
        json.number("/jobs/0/read/total_ios") as u64,
        1024,
        "each block is verified"
    );
    assert_eq!(json.number("/jobs/0/sync/total_ios") as u64, 1024 / 16);

    let trim = format!("{image} --rw=trim --bs=4m");
    let refused = run(cluster, &trim).expect(2);
    let (_, code) = refused
        .err
        .rsplit_once("--destroy=")
        .expect("names the code");
    run(cluster, &format!("{trim} --destroy={}", code.trim())).expect(0);
    assert!(cluster.contents("trimmed").iter().all(|&byte| byte == 0));
}

fn regions_and_names_are_checked(cluster: &Cluster) {
    let image = cluster.create_image("small", "16M");
    let past = run(cluster, &format!("{image} --rw=read --size=32m")).expect(2);
    assert!(past.err.contains("the image at 16777216"), "{}", past.err);
    let missing = run(
        cluster,
        "--ioengine=rbd --clientname=admin --pool=pool --rbdname=absent --rw=read",
    )
    .expect(2);
    assert!(missing.err.contains("rbd create"), "{}", missing.err);
    let no_pool = run(
        cluster,
        "--ioengine=rbd --clientname=admin --pool=absent --rbdname=small --rw=read",
    )
    .expect(2);
    assert!(
        no_pool.err.contains("cannot open the pool"),
        "{}",
        no_pool.err
    );
}

fn a_cluster_that_stops_ends_the_run(cluster: &mut Cluster) {
    let image = cluster.create_image("hanging", "16M");
    let mut command = program(split_args(&format!(
        "run --name=j {image} --rw=randread --bs=4k --iodepth=4 --time_based --runtime=4 --json"
    )));
    command.env("CEPH_CONF", cluster.configuration());
    let running = start(command);
    std::thread::sleep(Duration::from_secs(2));
    cluster.end_osd();
    let ended = running.finish_within(Duration::from_secs(60));
    assert_ne!(ended.code(), 0, "{}", ended.out);
}

#[test]
fn a_missing_cluster_is_named() {
    let scratch = Scratch::new().expect("a directory");
    let mut command = program(split_args(
        "run --name=j --ioengine=rbd --pool=p --rbdname=i --rw=read",
    ));
    command.env("CEPH_CONF", scratch.join("absent"));
    let ended = start(command)
        .finish_within(Duration::from_secs(30))
        .expect(2);
    let is_named = ["no configuration", "which cannot be loaded"]
        .iter()
        .any(|text| ended.err.contains(text));
    assert!(is_named, "{}", ended.err);
}

#[test]
fn a_library_that_cannot_be_loaded_is_named() {
    let scratch = Scratch::new().expect("a directory");
    std::fs::write(scratch.join("librados.so.2"), "no library").expect("a file");
    let mut command = program(split_args(
        "run --name=j --ioengine=rbd --pool=p --rbdname=i --rw=read",
    ));
    command.env("LD_LIBRARY_PATH", scratch.path());
    let ended = start(command).finish().expect(2);
    assert!(ended.err.contains("package librbd1"), "{}", ended.err);
}

#[test]
fn an_image_needs_its_names() {
    for line in ["--pool=p", "--rbdname=i", ""] {
        let line = format!("run --name=j --ioengine=rbd --rw=read {line}");
        let ended = start(program(split_args(&line))).finish().expect(2);
        assert!(
            ended.err.contains("pool=POOL and rbdname=IMAGE"),
            "{}",
            ended.err
        );
    }
}
