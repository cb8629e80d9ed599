//! Verification on simulated disks whose data are damaged: each fault is found at its place, once, and nothing is found without it.
//!
//! The disk does one I/O after the other in 100 us. A job writes 16 blocks of 4 KiB in order and reads them back: I/Os 1 to 16 of the disk
//! are the writes, until 1.6 ms, and 17 to 32 the reads.

use fathom_testkit::Scratch;

use crate::common::{Completed, program, split_args, start};

/// A device below /dev, and one with a file system.
const DEVICES: &str = "[[device]]\npath = \"/dev/a\"\nscratch = true\n\
    model = \"servers(count=1, service=100us, capacity=1g)\"\n\
    [[device]]\npath = \"/data\"\nmodel = \"servers(count=1, service=100us, capacity=4g)\"\n";
const JOB: &str = "--filename=/dev/a --rw=write --size=64k";
const TORN: &str = "at = '0s', tear_write = '/dev/a', number = 5, keep = '2k'";
const LOST: &str = "at = '0s', lose_write = '/dev/a', number = 5";
const CORRUPT: &str = "at = '1.65ms', corrupt = '/dev/a', from = '43520B', to = '43528B'";
/// Methods with a checksum of the data.
const CHECKSUMS: [&str; 16] = [
    "md5",
    "crc64",
    "crc32c",
    "crc32c-intel",
    "crc32",
    "crc16",
    "crc7",
    "xxhash",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "fathom",
];

/// Runs a line on a machine with these events, each `key = value` separated by commas. Returns the directory, for what is left there.
fn run(events: &[&str], line: &str) -> (Scratch, Completed) {
    let directory = Scratch::new().expect("a directory");
    let mut machine = DEVICES.to_owned();
    for event in events {
        machine += &format!("\n[[event]]\n{}\n", event.replace(", ", "\n"));
    }
    std::fs::write(directory.join("machine.toml"), machine).expect("a machine");
    let line = format!("run --machine=machine.toml --no-store --direct=1 --bs=4k {line}");
    let mut command = program(split_args(&line));
    command.current_dir(directory.path());
    let ran = start(command).finish();
    (directory, ran)
}

/// What a run says of its blocks: good and bad ones of each job.
#[derive(Debug, PartialEq)]
struct Judged {
    blocks: Vec<(u64, u64)>,
    /// The evidence of the finding.
    evidence: String,
    text: String,
}

/// Runs the jobs of a line, as text and as JSON, and checks that both and the exit code agree.
fn judged(events: &[&str], jobs: &str) -> Judged {
    let line = format!("--continue_on_error=verify {jobs}");
    let (_, ran) = run(events, &format!("--json {line}"));
    let json = ran.json();
    let entries = json.0["fathom"]["entries"].as_array().expect("entries");
    let blocks = entries.iter().filter_map(|entry| {
        let count = |name: &str| entry["verify"][name].as_u64();
        Some((count("good_blocks")?, count("bad_blocks")?))
    });
    let blocks: Vec<(u64, u64)> = blocks.collect();
    let evidence = json.finding("VERIFY_FAILED").unwrap_or_default().to_owned();
    let is_bad = blocks.iter().any(|(_, bad)| *bad > 0);
    assert_eq!(ran.code(), i32::from(is_bad), "{}{}", ran.out, ran.err);
    assert_eq!(json.verdict() == "invalid", is_bad, "{}", ran.out);
    let text = run(events, &line).1.expect(ran.code()).out;
    for (good, bad) in &blocks {
        let words = format!("{} blocks to verify: {good} good, {bad} bad", good + bad);
        assert!(text.contains(&words), "{words}: {text}");
    }
    Judged {
        blocks,
        evidence,
        text: text.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// One job, of whose 16 blocks one is bad: JSON and text say this of it.
fn expect_one(events: &[&str], options: &str, evidence: &str) {
    let found = judged(events, &format!("{options} --name=a {JOB}"));
    assert_eq!(found.blocks, [(15, 1)], "{options} {events:?}");
    assert!(found.evidence.contains(evidence), "{}", found.evidence);
    assert!(found.text.contains(evidence), "{}", found.text);
}

fn expect_none(events: &[&str], options: &str) {
    let found = judged(events, &format!("{options} --name=a {JOB}"));
    assert_eq!(found.blocks, [(16, 0)], "{options} {events:?}");
    assert_eq!(found.evidence, "", "{options} {events:?}");
}

/// Block 5 begins at byte 16,384. Of its 4,096 bytes the first 2,048 are stored; byte 18,432 is the first one that is not.
#[test]
fn a_torn_write_is_found_where_it_was_cut() {
    let pattern = "--verify=pattern --verify_pattern=0x5a";
    for (options, evidence) in [
        (
            "--verify=fathom",
            "shorn tail at byte 16,384 of /dev/a (4 KiB, sectors 4 to 7 of it)",
        ),
        (
            "--verify=fathom",
            "4 of 8 sectors belong to the write, the rest are zeros",
        ),
        ("--verify=crc32c", "differ, from byte 18432 to 20479"),
        (pattern, "byte 18432 is 0x00, the pattern has 0x5a"),
    ] {
        expect_one(&[TORN], options, evidence);
    }
}

#[test]
fn a_lost_write_is_found_as_zeros_where_nothing_was_before() {
    for (options, evidence) in [
        ("--verify=fathom", "zeroed at byte 16,384 of /dev/a (4 KiB)"),
        ("--verify=crc32c", "first at offset 16384"),
        ("--verify=crc32c", "all zeros instead of a header"),
        (
            "--verify=pattern --verify_pattern=0x5a",
            "byte 16384 is 0x00, the pattern has 0x5a",
        ),
    ] {
        expect_one(&[LOST], options, evidence);
    }
}

/// The bytes 43,520 to 43,527 are in the sixth sector of block 11. They are inverted after the last write, before the block is read.
#[test]
fn corrupted_bytes_are_found_by_every_checksum() {
    expect_one(
        &[CORRUPT],
        "--verify=crc32c",
        "wrong crc32c: 8 bytes (64 bits) differ, from byte 43520 to 43527",
    );
    expect_one(
        &[CORRUPT],
        "--verify=fathom",
        "altered at byte 40,960 of /dev/a (4 KiB, sectors 5 to 5 of it)",
    );
    for method in CHECKSUMS {
        expect_one(
            &[CORRUPT],
            &format!("--verify={method}"),
            "1 of 16 checked blocks differ",
        );
    }
    // Only the header is checked, and nothing.
    expect_none(&[CORRUPT], "--verify=meta");
    expect_none(&[CORRUPT], "--verify=null");
    let before = CORRUPT.replace("1.65ms", "0.5ms");
    expect_none(&[&before], "--verify=crc32c");
}

/// Without the events, and with them at a read, past the last I/O or after the last read.
#[test]
fn a_disk_without_a_fault_is_clean() {
    for method in CHECKSUMS {
        expect_none(&[], &format!("--verify={method}"));
    }
    for number in [17, 33] {
        for event in [TORN, LOST] {
            let other = event.replace("number = 5", &format!("number = {number}"));
            expect_none(&[&other], "--verify=fathom");
        }
    }
    let after = CORRUPT.replace("1.65ms", "3.3ms");
    expect_none(&[&after], "--verify=fathom");
    for options in [
        "--verify_backlog=4",
        "--verify_async=2",
        "--iodepth=8 --ioengine=libaio",
        "--verify_interval=512",
        "--verify_offset=128",
        "--loops=2",
    ] {
        let found = judged(&[], &format!("--verify=sha256 {options} --name=a {JOB}"));
        assert!(
            found.blocks[0].0 >= 16 && found.blocks[0].1 == 0,
            "{options}: {found:?}"
        );
    }
}

/// In two passes the I/Os 1 to 16 write, 17 to 32 read, 33 to 48 write again. Of the second pass the fifth write is lost. What is there
/// then is a valid block of the first pass: its checksum is right, and only its number tells.
#[test]
fn a_lost_write_over_an_older_one_is_found_by_its_number() {
    let lost = LOST.replace("number = 5", "number = 37");
    let jobs = |options: &str| format!("{options} --loops=2 --name=a {JOB}");
    let blind = "--verify=crc32c --verify_write_sequence=0 --verify_header_seed=0";
    let found = judged(&[&lost], &jobs(blind));
    assert_eq!(found.blocks, [(32, 0)]);
    let found = judged(&[&lost], &jobs("--verify=crc32c --verify_write_sequence=1"));
    assert_eq!(found.blocks, [(31, 1)]);
    assert!(
        found.evidence.contains("offset 16384"),
        "{}",
        found.evidence
    );
    assert!(
        found.evidence.contains("stale: an older write, number 4"),
        "{}",
        found.evidence
    );
    let found = judged(&[&lost], &jobs("--verify=fathom"));
    assert_eq!(found.blocks, [(31, 1)]);
    assert!(
        found
            .evidence
            .contains("1 lost write; the first: lost write at byte 16,384"),
        "{}",
        found.evidence
    );
}

/// The first job writes the second 64 KiB (I/Os 1 to 16), the next one the first 64 KiB (17 to 32), and reads them back. Of these I/O 21 is
/// block 5, which is stored 48 KiB behind its place: as the first block of the other part, which the last job reads.
#[test]
fn a_misplaced_write_is_missing_in_one_place_and_found_in_the_other() {
    let event = "at = '0s', misplace_write = '/dev/a', number = 21, by = '48k'";
    let other = "--filename=/dev/a --rw=write --size=64k --offset=64k";
    let jobs = |method: &str| {
        format!(
            "--verify={method} --name=first {other} --do_verify=0 --name=a {JOB} --stonewall --name=last {other} --stonewall --verify_only"
        )
    };
    let found = judged(&[event], &jobs("crc32c"));
    assert_eq!(found.blocks, [(0, 0), (15, 1), (15, 1)]);
    let text = &found.text;
    assert!(
        text.contains("offset 16384, length 4096, interval 0: all zeros"),
        "{text}"
    );
    assert!(
        text.contains("offset 65536, length 4096, interval 0: misdirected: according to its header this data belongs at offset 16384"),
        "{text}"
    );
    let found = judged(&[event], &jobs("fathom"));
    assert_eq!(found.blocks, [(0, 0), (15, 1), (15, 1)]);
    assert!(
        found.text.contains("zeroed at byte 16,384"),
        "{}",
        found.text
    );
    assert!(
        found.text.contains("misdirected write at byte 65,536"),
        "{}",
        found.text
    );
    let found = judged(&[], &jobs("fathom"));
    assert_eq!(found.blocks, [(0, 0), (16, 0), (16, 0)]);
}

/// With a backlog of 4 the disk gets 4 writes and then 4 reads in turn: I/O 9 is the fifth write.
#[test]
fn a_backlog_is_read_between_the_writes() {
    let lost = LOST.replace("number = 5", "number = 9");
    expect_one(
        &[&lost],
        "--verify=fathom --verify_backlog=4",
        "zeroed at byte 16,384",
    );
    expect_none(&[LOST], "--verify=fathom --verify_backlog=4");
    expect_one(
        &[LOST],
        "--verify=fathom --verify_async=2",
        "zeroed at byte 16,384",
    );
    let found = judged(
        &[LOST],
        &format!("--verify=fathom --do_verify=0 --name=a {JOB}"),
    );
    assert_eq!(found.blocks, [(0, 0)]);
}

/// A job without verification overwrites block 5 of another one.
#[test]
fn every_job_of_the_plan_changes_the_data() {
    let jobs = "--name=a --verify=crc32c --do_verify=0 --filename=/dev/a --rw=write --size=64k \
        --name=other --stonewall --filename=/dev/a --rw=write --offset=16k --size=4k \
        --name=last --stonewall --verify=crc32c --verify_only --filename=/dev/a --rw=write --size=64k";
    let found = judged(&[], jobs);
    assert_eq!(found.blocks, [(0, 0), (15, 1)]);
    assert!(
        found
            .evidence
            .contains("offset 16384, length 4096, interval 0: no header"),
        "{}",
        found.evidence
    );
    let without = jobs.replace("--offset=16k", "--offset=64k");
    assert_eq!(judged(&[], &without).blocks, [(0, 0), (16, 0)]);
}

#[test]
fn files_keep_their_data_too() {
    let files = "--name=a --verify=fathom --directory=/data --nrfiles=4 --size=256k --rw=randwrite --ioengine=libaio --iodepth=4";
    assert_eq!(judged(&[], files).blocks, [(64, 0)]);
    let lost = "at = '0s', lose_write = '/data', number = 5";
    assert_eq!(judged(&[lost], files).blocks, [(63, 1)]);
}

/// What was found and what was expected differ in the inverted bytes.
#[test]
fn wrong_blocks_are_saved() {
    let line = format!("--verify=crc32c --verify_dump=1 --name=a {JOB}");
    let (directory, ran) = run(&[CORRUPT], &line);
    assert_eq!(ran.code(), 1, "{}", ran.err);
    let read = |name: &str| std::fs::read(directory.join(name)).expect(name);
    let (found, expected) = (read("a.40960.received"), read("a.40960.expected"));
    assert_eq!((found.len(), expected.len()), (4096, 4096));
    let differ = (0..4096).filter(|at| found[*at] != expected[*at]);
    assert_eq!(differ.collect::<Vec<_>>(), (2560..2568).collect::<Vec<_>>());
    assert!((2560..2568).all(|at| found[at] == !expected[at]));
}

#[test]
fn the_same_run_leaves_the_same_bytes() {
    let line =
        format!("--verify=fathom --iodepth=4 --ioengine=libaio --name=a {JOB} --rw=randwrite");
    let [first, second] = [(), ()].map(|()| run(&[TORN, CORRUPT], &line).1);
    assert_eq!((first.code(), &first.out), (1, &second.out));
    assert_eq!(first.err, second.err);
}

#[test]
fn what_cannot_be_kept_is_refused() {
    for (options, part) in [
        ("--size=2g", "verify: the jobs may write 2.0 GiB"),
        (
            "--size=2g --io_size=1536m",
            "lower size, io_size or number_ios",
        ),
        (
            "--size=64k --verify_state_load=1",
            "a: verify_state_load: what a simulated disk holds",
        ),
    ] {
        let line = format!("--verify=fathom --name=a --filename=/data/x --rw=write {options}");
        let ran = run(&[], &line).1.expect(2);
        assert!(ran.err.contains(part), "{options}: {}", ran.err);
    }
    let few = "--verify=fathom --name=a --filename=/data/x --rw=randwrite --size=2g --io_size=64k";
    assert_eq!(judged(&[], few).blocks, [(16, 0)]);
}
