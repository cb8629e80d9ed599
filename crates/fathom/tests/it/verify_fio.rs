//! Interoperability of fio's verify options: fio and fathom verify each other's writes and exchange
//! verify states.

use std::path::Path;
use std::process::Command;

use crate::common::{Completed, program, split_args, start};
use fathom_testkit::{Scratch, require};

fn fathom(directory: &Path, line: &str) -> Completed {
    let mut command = program(split_args(&format!("fio {line}")));
    command.current_dir(directory);
    start(command).finish()
}

fn fio(directory: &Path, line: &str) -> Completed {
    let mut command = Command::new("fio");
    command.args(split_args(line)).current_dir(directory);
    start(command).finish()
}

/// The verify headers and states of the installed fio have older versions; fathom reads both and
/// writes the newer.
const WRITE: &str =
    "--name=job --filename=data --rw=write --bs=4k --size=256k --verify=md5 --verify_state_save=1";
const READ: &str =
    "--name=job --filename=data --rw=read --bs=4k --size=256k --verify=md5 --verify_state_load=1";

#[test]
fn a_verify_state_of_fio_is_loaded() {
    require!(Fio);
    let directory = Scratch::new().expect("a directory");
    fio(
        directory.path(),
        &format!("{WRITE} --number_ios=40 --do_verify=0"),
    )
    .expect(0);
    let ran = fathom(directory.path(), &format!("{READ} --output-format=json")).expect(0);
    assert_eq!(ran.err, "");
    let ios = ran.json().number("/jobs/0/read/total_ios") as u64;
    assert_eq!(ios, 40, "the rest was never written");
}

/// Without a verify state the blocks after the last write are read and found wrong.
#[test]
fn only_written_blocks_are_verified() {
    let directory = Scratch::new().expect("a directory");
    fathom(
        directory.path(),
        "--name=job --filename=data --rw=write --bs=4k --size=256k",
    )
    .expect(0);
    fathom(
        directory.path(),
        &format!("{WRITE} --io_size=160k --do_verify=0"),
    )
    .expect(0);
    let path = directory.join("local-job-0-verify.state");
    let state = std::fs::read(&path).expect("fio's file name, in this directory");
    assert_eq!((state[0], state[32]), (7, 40), "version 7, 40 writes");
    let ran = fathom(directory.path(), &format!("{READ} --output-format=json")).expect(0);
    assert_eq!(ran.json().number("/jobs/0/read/total_ios") as u64, 40);
    let without_state = READ.replace("--verify_state_load=1", "");
    fathom(directory.path(), &without_state).expect(1);
    // A missing or truncated verify state ends the job with a message.
    std::fs::write(&path, &state[..50]).expect("truncated");
    assert!(
        fathom(directory.path(), READ)
            .expect(1)
            .err
            .contains("the verify state is truncated")
    );
    std::fs::remove_file(&path).expect("removed");
    assert!(
        fathom(directory.path(), READ)
            .expect(1)
            .err
            .contains("verify_state_save=1")
    );
}

/// With verify_policy=fsynced only the writes before the last fsync count.
#[test]
fn a_verify_state_may_count_only_synced_writes() {
    let directory = Scratch::new().expect("a directory");
    for (policy, count) in [("completed", 40), ("fsynced", 36)] {
        let line =
            format!("{WRITE} --io_size=160k --do_verify=0 --fsync=12 --verify_policy={policy}");
        fathom(directory.path(), &line).expect(0);
        let state = std::fs::read(directory.join("local-job-0-verify.state")).expect("a state");
        assert_eq!(state[32], count, "{policy}");
    }
}

/// `fathom run` leaves no file without a request.
#[test]
fn fathom_run_saves_a_verify_state_only_on_request() {
    let directory = Scratch::new().expect("a directory");
    for (more, expected) in [("", false), ("--verify_state_save=1", true)] {
        let line = format!(
            "run --name=job --filename=data --rw=write --bs=4k --size=256k --verify=md5 {more}"
        );
        let mut command = program(split_args(&line));
        command.current_dir(directory.path());
        start(command).finish().expect(0);
        assert_eq!(
            directory.join("local-job-0-verify.state").exists(),
            expected,
            "{more}"
        );
    }
}

/// Regression 0060: writes were numbered from 1; fio numbers them from 0.
#[test]
fn headers_count_writes_from_0_as_fio_does() {
    require!(Fio);
    let directory = Scratch::new().expect("a directory");
    let line = "--name=job --filename=data --rw=write --bs=4k --size=64k --verify=crc32c --do_verify=0 --verify_state_save=0";
    fathom(directory.path(), line).expect(0);
    let ours = std::fs::read(directory.join("data")).expect("written");
    // The number is in bytes 32..40 of the newer format and 34..36 of the older.
    let numbers: Vec<u64> = ours
        .chunks(4096)
        .map(|block| u64::from_le_bytes(block[32..40].try_into().expect("eight")))
        .collect();
    assert_eq!(numbers, (0..16).collect::<Vec<_>>());
    std::fs::remove_file(directory.join("data")).expect("removed");
    fio(directory.path(), line).expect(0);
    let theirs = std::fs::read(directory.join("data")).expect("written");
    let is_new = theirs[2] == 0x81;
    let number = |block: &[u8]| if is_new { block[32] } else { block[34] };
    assert_eq!(
        theirs.chunks(4096).map(number).collect::<Vec<_>>(),
        (0..16).collect::<Vec<_>>()
    );
}

/// A pattern that restarts every 512 bytes contains the offset of each piece.
#[test]
fn a_pattern_may_restart_inside_a_block() {
    let directory = Scratch::new().expect("a directory");
    let line = "--name=job --filename=data --rw=write --bs=4k --size=64k --verify=pattern --verify_pattern=%o --verify_pattern_interval=512";
    fathom(directory.path(), line).expect(0);
    let data = std::fs::read(directory.join("data")).expect("written");
    for (n, piece) in data.chunks(512).enumerate() {
        assert!(
            piece
                .chunks(8)
                .all(|word| word == (n as u64 * 512).to_le_bytes()),
            "piece {n}"
        );
    }
    let read = line.replace("--rw=write", "--rw=read");
    fathom(directory.path(), &read).expect(0);
    let mut corrupted = data;
    corrupted[5000] ^= 1;
    std::fs::write(directory.join("data"), corrupted).expect("written");
    assert!(
        fathom(directory.path(), &read)
            .expect(1)
            .err
            .contains("VERIFY_FAILED")
    );
}

/// Both programs with this line, each in a directory of its own.
fn both(line: &str, before: impl Fn(&Path)) -> [Completed; 2] {
    [fio, fathom].map(|run: fn(&Path, &str) -> Completed| {
        let directory = Scratch::new().expect("a directory");
        before(directory.path());
        run(directory.path(), line)
    })
}

/// Regression 0329: jobs that verify nothing on purpose, and wrong blocks after which the job was to
/// go on, made the exit code 1; fio's is 0.
#[test]
fn exit_codes_of_verify_jobs_are_those_of_fio() {
    require!(Fio);
    for line in [
        "--name=job --rw=randwrite --size=256k --verify=crc32c --do_verify=0 --verify_backlog=16",
        "--name=global --size=256k --ioengine=psync --exitall --name=a --rw=write --name=b --rw=randwrite --verify=crc32c --time_based --runtime=30",
    ] {
        for ran in both(line, |_| ()) {
            assert_eq!(ran.code(), 0, "{line}: {} {}", ran.out, ran.err);
        }
    }
    // Two wrong blocks of 64.
    let line =
        format!("{READ} --verify_state_load=0 --continue_on_error=verify --output-format=json");
    let ran = both(&line, |directory| {
        fio(directory, WRITE).expect(0);
        let path = directory.join("data");
        let mut data = std::fs::read(&path).expect("written");
        (data[5000], data[50_000]) = (!data[5000], !data[50_000]);
        std::fs::write(&path, data).expect("written");
    });
    for ran in ran {
        assert_eq!(ran.code(), 0, "{} {}", ran.out, ran.err);
        let json = ran.json();
        let figures = ["error", "total_err", "first_error", "read/total_ios"]
            .map(|key| json.number(&format!("/jobs/0/{key}")) as u64);
        assert_eq!(figures, [84, 2, 84, 64]);
    }
}

/// Regression 0454: with `verify_backlog` a job ended after its first pass, whatever its loops and time
/// were, and the first writes of later passes were not read back.
#[test]
fn a_verify_backlog_covers_every_pass() {
    require!(Fio);
    let line = "--name=job --rw=randwrite --size=1m --verify=crc32c --verify_backlog=16 --output-format=json";
    let counts = |ran: Completed| {
        let json = ran.expect(0).json();
        ["read", "write"].map(|way| json.number(&format!("/jobs/0/{way}/total_ios")))
    };
    for ran in both(&format!("{line} --loops=3"), |_| ()) {
        assert_eq!(counts(ran), [768.0; 2]);
    }
    for ran in both(&format!("{line} --time_based --runtime=1"), |_| ()) {
        let [read, written] = counts(ran);
        assert!(written > 2560.0, "{written} written: ten passes");
        assert!(read >= written - 16.0, "{read} of {written} read back");
    }
}

/// Regression 0330: the time for reading back counted as time of the writes, which halved their rate.
#[test]
fn writes_and_verify_reads_each_have_their_own_run_time() {
    require!(Fio);
    let line = "--name=job --rw=randwrite --bs=4k --size=16m --verify=sha512 --output-format=json";
    for ran in both(line, |_| ()) {
        let json = ran.expect(0).json();
        let [write, read] =
            ["write", "read"].map(|way| json.number(&format!("/jobs/0/{way}/runtime")));
        let all = json.number("/jobs/0/job_runtime");
        assert!(
            write + read <= all + 60.0 && write < all && read < all,
            "{write} + {read} of {all}"
        );
    }
}
