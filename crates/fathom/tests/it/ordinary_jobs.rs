//! Job files similar to fio's own examples: each completes, and prints nothing on the standard
//! error.

use crate::peer::{FATHOM_FIO, run};
use fathom_testkit::Scratch;
use serde_json::Value;

/// Runs a job file in fio mode and parses its document.
fn run_job(text: &str) -> Value {
    let directory = Scratch::new().expect("a directory");
    std::fs::write(directory.join("job.fio"), text).expect("a job file");
    let result = run(
        &FATHOM_FIO,
        directory.path(),
        &["--output-format=json", "job.fio"],
    );
    assert_eq!(
        (result.code, result.err.as_str()),
        (Some(0), ""),
        "{text}\n{}",
        result.out
    );
    serde_json::from_str(&result.out).unwrap_or_else(|error| panic!("{error}: {}", result.out))
}

fn number(document: &Value, pointer: &str) -> u64 {
    document
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no {pointer} in {document:#}"))
}

#[test]
fn one_file_from_both_ends() {
    let text =
        "[global]\nfilename=both\nsize=1m\nbs=4k\n[up]\nrw=read\n[down]\nrw=read:-8k\nstonewall\n";
    let both = run_job(text);
    // Minus 8 KiB after the end of a block is the previous block. (fio 3.33 reads 256 as well.)
    assert_eq!(number(&both, "/jobs/0/read/total_ios"), 256);
    assert_eq!(number(&both, "/jobs/1/read/total_ios"), 256);
}

/// A chain of jobs, each waiting for the previous one.
#[test]
fn jobs_that_wait_for_each_other() {
    let text = "[global]\nfilename=chain\nfilesize=1m\nnumjobs=2\ngroup_reporting\n[fill]\nrw=write\nbs=128k\n\
        [lookup]\nnew_group\nwait_for=fill\nrw=randread\nbs=4k\n[change]\nnew_group\nwait_for=lookup\nrw=randwrite\nbs=4k\n";
    let chain = run_job(text);
    assert_eq!(chain["jobs"].as_array().map(Vec::len), Some(3));
    assert_eq!(number(&chain, "/jobs/1/read/io_bytes"), 2 << 20);
}

/// The job that ends first also ends those of its stonewall; jobs after the next stonewall never
/// start.
#[test]
fn the_first_job_to_end_ends_the_others() {
    let text = "[global]\nfilename=exit\nfilesize=4m\nexitall\nexit_what=all\n[quick]\nrw=read\nnumber_ios=4\n\
        [slow]\nrw=read\nthinktime=50ms\n[never]\nstonewall\nrw=read\n";
    let exit = run_job(text);
    assert_eq!(number(&exit, "/jobs/0/read/total_ios"), 4);
    assert!(number(&exit, "/jobs/1/read/total_ios") < 1024);
    assert_eq!(
        exit["jobs"].as_array().map_or(0, |jobs| jobs
            .iter()
            .filter(|job| job["jobname"] == "never" && job["read"]["total_ios"] != 0)
            .count()),
        0
    );
}

/// Clones write with gaps that other clones fill, and verify their writes.
#[test]
fn stripes_of_clones_are_verified() {
    let text = "[stripe]\nfilename=stripe\nbs=16k\nrw=write:48k\nverify=crc32c\nverify_backlog=1\nsize=1m\nio_size=128k\n\
        offset=64k\noffset_increment=1m\nnumjobs=3\ngroup_reporting\nloops=2\n";
    let stripe = run_job(text);
    assert_eq!(
        number(&stripe, "/jobs/0/write/io_bytes"),
        3 * 2 * (128 << 10)
    );
}

/// Written in one phase, verified in another, with a verify interval smaller than the blocks.
#[test]
fn a_surface_is_scanned() {
    let text = "[global]\nbs=64k\nsize=1m\nioengine=sync\nverify=meta\nverify_pattern=0xaa555aa5\nverify_interval=512\n\
        filename=surface\n[write]\nrw=write\ndo_verify=0\n[check]\nstonewall\ncreate_serialize=0\nrw=read\n";
    assert_eq!(number(&run_job(text), "/jobs/1/read/io_bytes"), 1 << 20);
}

/// Space is allocated and punched in parallel, then the file is read.
#[test]
fn a_file_is_fragmented_and_used() {
    let text = "[global]\nfilename=holes\nsize=1m\n[take]\nioengine=falloc\nrw=randwrite\nbssplit=4k/10:64k/50:32k/40\n\
        [punch]\nioengine=falloc\nrw=randtrim\nbs=4k\nnumjobs=2\n[read]\nstonewall\nioengine=sync\nrw=read\nbs=64k\n";
    assert_eq!(number(&run_job(text), "/jobs/3/read/io_bytes"), 1 << 20);
}

/// A file server: many block sizes, mostly small, mostly read, in a working set of repeated blocks
/// that two jobs share.
#[test]
fn many_block_sizes_and_repeated_blocks() {
    let text = "[global]\nsize=1m\nrw=randrw\nrwmixread=80\nbssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10\n\
        dedupe_mode=working_set\ndedupe_global=1\ndedupe_percentage=50\ndedupe_working_set_percentage=50\n[a]\n[b]\n";
    let document = run_job(text);
    for job in [0, 1] {
        let bytes = ["read", "write"]
            .map(|direction| number(&document, &format!("/jobs/{job}/{direction}/io_bytes")));
        assert_eq!(bytes.iter().sum::<u64>(), 1 << 20);
    }
}

/// The order of the blocks is that of the job file, according to an offset log of the null engine.
#[test]
fn blocks_in_a_specified_order() {
    let directory = Scratch::new().expect("a directory");
    let text = "[global]\nioengine=null\nrw=randread\nbs=4k\nsize=48k\nio_size=24k\nwrite_bw_log=log\nlog_offset=1\n\
        random_distribution=sequence:2,0,1\n[fixed]\n[moving]\nstonewall\nrandom_sequence_stride=1\n";
    std::fs::write(directory.join("job.fio"), text).expect("a job file");
    let result = run(&FATHOM_FIO, directory.path(), &["job.fio"]);
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
    let blocks = |name: &str| -> Vec<u64> {
        let log = std::fs::read_to_string(directory.join(name)).expect("a log");
        log.lines()
            .map(|line| {
                line.split(',')
                    .nth(4)
                    .expect("an offset")
                    .trim()
                    .parse::<u64>()
                    .expect("a number")
                    / 4096
            })
            .collect()
    };
    assert_eq!(blocks("log_bw.1.log"), [2, 0, 1, 2, 0, 1]);
    assert_eq!(blocks("log_bw.2.log"), [2, 0, 1, 5, 3, 4]);
}
