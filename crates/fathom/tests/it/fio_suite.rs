//! Assertions of fio's own test suite about a fio program, with job files written for fathom.
//!
//! `scripts/fio-suite` runs the suite itself from a checkout of fio; the numbers below are those of
//! its tests.

use std::collections::BTreeSet;

use crate::peer::{FATHOM_FIO, Fixture, number, run};
use fathom_testkit::require;

const BLOCK: u64 = 4096;
const MIB: u64 = 1 << 20;

/// A job on the null engine with a bandwidth log `seen_bw.log` of offsets over 1 MiB.
fn logged_ios(options: &str) -> Vec<(u64, u64, u64)> {
    let job = format!(
        "[seen]\nioengine=null\nfilesize=1M\nwrite_bw_log=seen\nper_job_logs=0\nlog_offset=1\n{options}\n"
    );
    let fixture = Fixture::new(&job);
    fixture.json(&[]);
    fixture.log("seen_bw.log")
}

fn logged_offsets(options: &str) -> Vec<u64> {
    logged_ios(options)
        .into_iter()
        .map(|(_, _, offset)| offset)
        .collect()
}

/// 1
#[test]
fn a_block_size_range_over_a_region_that_is_not_a_multiple() {
    let job = "[odd]\nioengine=null\nsize=20000\nbsrange=1k-4k\nrw=randread\nwrite_bw_log=seen\nper_job_logs=0\nlog_offset=1\n";
    let fixture = Fixture::new(job);
    fixture.json(&[]);
    let logged = fixture.log("seen_bw.log");
    assert!(
        !logged.is_empty()
            && logged
                .iter()
                .all(|(_, size, at)| at + size <= 20_000 && (1024..=4096).contains(size))
    );
}

/// 7: reads of 1 MiB with gaps of 512 KiB; the trace has every offset.
#[test]
fn a_strided_read_of_128_mib_reads_87040_kib() {
    let fixture = Fixture::new(
        "[stride]\nioengine=null\nsize=128m\nrw=read:512k\nbs=1m\nnorandommap\nwrite_iolog=seen\n",
    );
    assert_eq!(
        number(&fixture.json(&[]), "/jobs/0/read/io_kbytes"),
        87_040.0
    );
    let trace = fixture.text("seen");
    let offsets: Vec<u64> = trace
        .lines()
        .filter(|line| line.contains(" read "))
        .map(|line| {
            line.split(' ')
                .nth(3)
                .and_then(|at| at.parse().ok())
                .expect("an offset")
        })
        .collect();
    assert_eq!(
        offsets,
        (0..85).map(|n| n * 3 * MIB / 2).collect::<Vec<_>>()
    );
    assert!(trace.starts_with("fio version 3 iolog\n"));
}

/// 5, 8, 25, 29: how much a verified job reads.
#[test]
fn verified_jobs_read_back_what_they_wrote() {
    let backlog = Fixture::new(
        "[w]\nbs=4k\nioengine=sync\nsize=4m\nfilename=x\nverify=md5\nverify_backlog=32\nrw=write\n",
    )
    .json(&[]);
    assert_eq!(number(&backlog, "/jobs/0/read/io_kbytes"), 4096.0);
    assert_eq!(number(&backlog, "/jobs/0/write/io_kbytes"), 4096.0);
    let mixed = Fixture::new(
        "[m]\nbs=4k\nsize=4m\nrw=readwrite\nverify=crc32c\ndo_verify=1\nverify_backlog=1\n",
    )
    .json(&[]);
    assert_eq!(
        number(&mixed, "/jobs/0/read/io_kbytes"),
        4096.0,
        "the reads, and one verify read per write"
    );
    let looped = "[global]\nfilename=f\nsize=4k\nverify=md5\n[w]\nrw=write\ndo_verify=0\n[r]\nstonewall\nrw=read\nloops=2\n";
    assert_eq!(
        number(&Fixture::new(looped).json(&[]), "/jobs/1/read/io_kbytes"),
        8.0
    );
}

/// 11, 12, 14: the share of a job in its flow. A job that could do 8000 I/Os in some milliseconds
/// waits for the 1000 I/Os of the other, which are due over a second. After its end the other job
/// continues alone.
#[test]
fn jobs_of_a_flow_keep_to_their_weights() {
    let global = "[global]\nbs=4k\nioengine=null\nsize=100g\nflow_id=1\n";
    let jobs = "[slow]\nflow=1\nrate_iops=1000\ntime_based\nruntime=20s\n[fast]\nflow=8\nnumber_ios=8000\nexitall\n";
    let json = Fixture::new(&format!("{global}{jobs}")).json(&[]);
    let ios = |job: u32| number(&json, &format!("/jobs/{job}/read/total_ios"));
    assert_eq!(ios(1), 8000.0);
    assert!(
        (990.0..5000.0).contains(&ios(0)),
        "{} I/Os of weight 1 while 8000 of weight 8 were done",
        ios(0)
    );
}

/// 15, 16, 17
#[test]
fn mean_latencies_add_up() {
    for engine in ["libaio", "null", "posixaio"] {
        let json =
            Fixture::new(&format!("[add]\nioengine={engine}\nsize=1M\niodepth=16\n")).json(&[]);
        let mean = |kind: &str| number(&json, &format!("/jobs/0/read/{kind}_ns/mean"));
        let difference = mean("slat") + mean("clat") - mean("lat");
        assert!(
            difference.abs() <= 1.0 && mean("lat") > 0.0,
            "{engine}: {difference} ns"
        );
    }
}

/// 18
#[test]
fn io_uring_mixes_reads_and_writes_for_a_time() {
    require!(IoUring);
    let json =
        Fixture::new("[u]\nioengine=io_uring\nfilesize=256K\ntime_based\nruntime=1s\nrw=randrw\n")
            .json(&[]);
    assert!(
        number(&json, "/jobs/0/read/total_ios") > 0.0
            && number(&json, "/jobs/0/write/total_ios") > 0.0
    );
    assert!((900.0..1500.0).contains(&number(&json, "/jobs/0/job_runtime")));
}

/// 19
#[test]
fn sequential_reads_touch_every_offset_in_order() {
    assert_eq!(
        logged_offsets("rw=read"),
        (0..256).map(|n| n * BLOCK).collect::<Vec<_>>()
    );
}

/// 20, 21: also with lfsr instead of the random map.
#[test]
fn random_reads_touch_every_offset_once_in_random_order() {
    for options in [
        "rw=randread",
        "rw=randread\nnorandommap=1\nrandom_generator=lfsr",
    ] {
        let logged = logged_offsets(options);
        assert_eq!(logged.len(), 256);
        let mut sorted = logged.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..256).map(|n| n * BLOCK).collect::<Vec<_>>());
        assert!(
            runs_z(&logged).abs() < 1.96,
            "{options}: a random order differs less in 95 of 100 cases"
        );
    }
}

/// Runs test of Wald and Wolfowitz about the mean: deviation from the expected number of runs, in
/// standard deviations.
fn runs_z(values: &[u64]) -> f64 {
    let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
    let above: Vec<bool> = values.iter().map(|value| *value as f64 >= mean).collect();
    let runs = 1 + above.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let (all, high) = (
        above.len() as f64,
        above.iter().filter(|is| **is).count() as f64,
    );
    let expected = 2.0 * high * (all - high) / all + 1.0;
    let deviation = ((expected - 1.0) * (expected - 2.0) / (all - 1.0)).sqrt();
    (runs as f64 - expected) / deviation
}

/// 22
#[test]
fn offsets_repeat_without_the_random_map() {
    let logged = logged_offsets("rw=randread\nnorandommap=1");
    assert!(
        logged
            .windows(2)
            .filter(|pair| pair[1] == pair[0] + BLOCK)
            .count()
            <= 10
    );
    assert!(logged.iter().collect::<BTreeSet<_>>().len() < 256);
}

/// 23, 24: each trim is followed by a write of the same range.
#[test]
fn trims_are_followed_by_their_writes() {
    let sizes = [
        "",
        "bs=8k,8k,8k",
        "bsrange=512-4k",
        "bssplit=512/25:1k/:2k/:4k/",
    ];
    for (direction, map) in [
        ("trimwrite", ""),
        ("randtrimwrite", ""),
        ("randtrimwrite", "norandommap=1"),
    ] {
        for size in sizes {
            let logged = logged_ios(&format!("rw={direction}\nrandrepeat=0\n{size}\n{map}"));
            for pair in logged.chunks(2) {
                let [trim, write] = pair else {
                    panic!("{direction} {size}: an odd number of I/Os")
                };
                assert_eq!(
                    (trim.0, write.0, trim.1, trim.2),
                    (2, 1, write.1, write.2),
                    "{direction} {size} {map}"
                );
            }
            if map.is_empty() {
                let sectors: BTreeSet<u64> = logged
                    .iter()
                    .flat_map(|(_, len, at)| at / 512..(at + len) / 512)
                    .collect();
                assert_eq!(
                    sectors.len() as u64,
                    MIB / 512,
                    "{direction} {size}: all of it"
                );
            }
        }
    }
}

/// 27
#[test]
fn the_content_of_a_file_is_a_pattern() {
    let fixture = Fixture::new(
        "[global]\nfilename=data\nsize=16k\nbs=16k\n[w]\nrw=write\nbuffer_pattern='wanted'\n\
         [r]\nstonewall=1\nrw=read\nverify=pattern\nverify_pattern='wanted'\n",
    );
    let wanted: Vec<u8> = (0..16_384_u64)
        .map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
        .collect();
    std::fs::write(fixture.0.join("wanted"), &wanted).expect("a pattern");
    fixture.json(&[]);
    assert_eq!(std::fs::read(fixture.0.join("data")).expect("data"), wanted);
}

/// 28: text, -12 as four bytes in little-endian order, and hexadecimal digits.
#[test]
fn patterns_of_text_and_numbers_are_parsed() {
    let fixture = Fixture::new(
        "[p]\nsize=16k\nfilename=data\nrw=write\nbuffer_pattern=\"abcd\"-120xdeadface\n",
    );
    fixture.json(&[]);
    let data = std::fs::read(fixture.0.join("data")).expect("data");
    let one = [
        b'a', b'b', b'c', b'd', 0xF4, 0xFF, 0xFF, 0xFF, 0xDE, 0xAD, 0xFA, 0xCE,
    ];
    assert!(
        data.len() == 16_384 && data[..24] == [one, one].concat(),
        "{:02x?}",
        &data[..24]
    );
}

/// 30
#[test]
fn the_bandwidth_of_all_jobs_together_is_logged() {
    let fixture = Fixture::new(
        "[global]\nioengine=null\nfilesize=1T\ntime_based\nruntime=2s\n[a]\nrw=read\n[b]\nrw=write\n",
    );
    let json = fixture.json(&["--bandwidth-log"]);
    for (job, direction) in [(0, "read"), (1, "write")] {
        let log = fixture.text(&format!("agg-{direction}_bw.log"));
        let rows: Vec<Vec<u64>> = log
            .lines()
            .map(|line| {
                line.split(", ")
                    .map(|field| field.parse().expect("a number"))
                    .collect()
            })
            .collect();
        assert!(
            rows.len() >= 2 && rows.iter().all(|row| row.len() == 5 && row[2] == job),
            "{log}"
        );
        let (mut last, mut kib) = (0, 0.0);
        for row in &rows {
            kib += row[1] as f64 * (row[0] - last) as f64 / 1000.0;
            last = row[0];
        }
        let done = number(&json, &format!("/jobs/{job}/{direction}/io_kbytes"));
        assert!(
            (kib - done).abs() < done * 0.05,
            "{direction}: {kib} KiB in the log, {done} in the report"
        );
    }
    assert!(
        fixture
            .text("agg-trim_bw.log")
            .lines()
            .all(|line| line.ends_with(", 0, 2, 0, 0"))
    );
}

/// 33, 34: fields of averaged and single entries.
#[test]
fn logs_have_their_fields() {
    let job = "[global]\nioengine=null\nfilesize=1M\nwrite_lat_log=l\nlog_window_value=both\n[one]\n[avg]\ntime_based\nruntime=300ms\nlog_avg_msec=100\n";
    let fixture = Fixture::new(job);
    fixture.json(&[]);
    let rows = |name: &str| -> Vec<Vec<u64>> {
        let row = |line: &str| {
            line.split(", ")
                .map(|field| field.parse().expect("a number"))
                .collect()
        };
        fixture.text(name).lines().map(row).collect()
    };
    assert!(
        rows("l_lat.1.log")
            .iter()
            .all(|row| row.len() == 6 && row[2] == 0 && row[4] == BLOCK),
        "no window, no maximum"
    );
    assert!(
        rows("l_lat.2.log")
            .iter()
            .all(|row| row.len() == 6 && row[2] >= row[1] && row[4] == 0)
    );
}

/// 1010: priorities of single I/Os, in the report and in the log. The best-effort class needs no
/// privileges.
#[test]
fn each_priority_has_its_own_latencies() {
    let job = "[p]\nioengine=libaio\niodepth=4\nfilesize=2M\nrw=randrw\nbssplit=4k/50:8k/50\nwrite_lat_log=l\nlog_prio=1\n\
        prio=3\nprioclass=2\ncmdprio_bssplit=4k/30/2/7:4k/70/3/0/5\nlat_percentiles=1\n";
    let fixture = Fixture::new(job);
    let json = fixture.json(&["--output-format=json+"]);
    let log = fixture.text("l_lat.1.log");
    for (direction, code) in [("read", 0), ("write", 1)] {
        let all = &json["jobs"][0][direction];
        let prios = all["prios"].as_array().expect("several priorities");
        // class << 13 | hint << 3 | level, as ioprio_set(2) has it.
        for (prio, class, level, hint) in [
            ("0x4003", 2, 3, 0),
            ("0x4007", 2, 7, 0),
            ("0x6028", 3, 0, 5),
        ] {
            let one = prios
                .iter()
                .find(|p| p["prioclass"] == class && p["prio"] == level && p["priohint"] == hint);
            let logged = log
                .lines()
                .filter(|line| line.contains(&format!(", {code}, ")) && line.ends_with(prio))
                .count() as f64;
            assert_eq!(
                number(one.expect("each priority is listed"), "/lat_ns/N"),
                logged,
                "{direction} {prio}"
            );
        }
        let sum: f64 = prios.iter().map(|p| number(p, "/lat_ns/N")).sum();
        assert_eq!((prios.len(), sum), (3, number(all, "/total_ios")));
    }
    let plain = Fixture::new("[p]\nioengine=libaio\nfilesize=1M\n").json(&[]);
    assert!(
        plain["jobs"][0]["read"].get("prios").is_none(),
        "a single priority is not listed"
    );
}

/// 1003: at any position in the command line.
#[test]
fn readonly_refuses_writes() {
    let fixture = Fixture::new("");
    for (direction, code) in [
        ("randread", 0),
        ("randwrite", 1),
        ("randtrim", 1),
        ("randrw", 1),
    ] {
        let options = [
            "--name=j",
            "--ioengine=null",
            "--size=1M",
            &format!("--rw={direction}"),
        ];
        for position in 0..=options.len() {
            let mut arguments = options.to_vec();
            arguments.insert(position, "--readonly");
            assert_eq!(
                run(&FATHOM_FIO, fixture.0.path(), &arguments).code,
                Some(code),
                "{arguments:?}"
            );
        }
    }
}

/// 1012: a log of every I/O that is stored compressed contains all I/Os in order after
/// decompression.
#[test]
fn compressed_logs_are_decompressed() {
    let fixture = Fixture::new(
        "[job]\nioengine=null\nfilesize=100M\nbs=128K\nrw=write\nwrite_bw_log=test\nper_job_logs=0\nlog_offset=1\nlog_compression=10K\nlog_store_compressed=1\n",
    );
    fixture.json(&[]);
    let stored = std::fs::metadata(fixture.0.join("test_bw.log.fz"))
        .expect("a compressed log")
        .len();
    assert!(stored < 800 * 20, "{stored} bytes for 800 lines");
    let left = run(
        &FATHOM_FIO,
        fixture.0.path(),
        &["--inflate-log=test_bw.log.fz"],
    );
    assert_eq!((left.code, left.err.as_str()), (Some(0), ""));
    let offsets: Vec<u64> = left
        .out
        .lines()
        .map(|line| {
            line.split(", ")
                .nth(4)
                .and_then(|at| at.parse().ok())
                .expect("an offset")
        })
        .collect();
    assert_eq!(
        offsets,
        (0..800).map(|n| n * 128 * 1024).collect::<Vec<_>>()
    );
    std::fs::write(fixture.0.join("broken.fz"), [0x78, 0x9c, 1, 2, 3]).expect("written");
    let left = run(&FATHOM_FIO, fixture.0.path(), &["--inflate-log=broken.fz"]);
    assert!(
        left.code == Some(1) && left.err.contains("broken.fz"),
        "{left:?}"
    );
}
