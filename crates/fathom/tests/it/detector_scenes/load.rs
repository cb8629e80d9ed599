//! What a load is and does not reach.

use super::{EIGHT_SERVERS, ONE_SERVER, Scene, check};

/// One server does 1,000 per second. By chance a rate of 4,000 I/Os is 4 / sqrt(4,000) = 6.3 % too low: 277 of 4,280 are 6.5 %, and of 4,268
/// at most 268 are missing, which are 6.28 %.
#[test]
fn a_rate_that_is_not_reached() {
    let scene = |load, evidence| Scene {
        model: ONE_SERVER,
        events: &[],
        load,
        evidence,
    };
    check(
        "RATE_NOT_REACHED",
        &[
            scene(
                "--rate_iops=1100 --iodepth=4 --runtime=4",
                Some("Planned 1,100 reads per second, achieved 1,000 (91 %)"),
            ),
            scene(
                "--rate_iops=1070 --iodepth=4 --runtime=4",
                Some("achieved 1,000 (93 %) over 4.00 s; 277 were due but never submitted."),
            ),
            scene("--rate_iops=1067 --iodepth=4 --runtime=4", None),
            scene("--rate_iops=1000 --iodepth=4 --runtime=4", None),
            scene("--rate_iops=990 --iodepth=4 --runtime=4", None),
            scene("--iodepth=4 --runtime=4", None),
        ],
    );
}

/// A scene on one server, which does 1,000 per second at depth 1, without events.
fn of_load(load: &'static str, evidence: Option<&'static str>) -> Scene {
    Scene {
        model: ONE_SERVER,
        events: &[],
        load,
        evidence,
    }
}

/// A synchronous engine has one I/O in flight.
#[test]
fn a_depth_without_effect() {
    check(
        "SYNC_ENGINE_DEPTH",
        &[
            of_load(
                "--ioengine=psync --iodepth=2 --runtime=1",
                Some("iodepth=2 is set for psync, which keeps one I/O in flight"),
            ),
            of_load("--ioengine=psync --iodepth=1 --runtime=1", None),
            of_load("--iodepth=2 --runtime=1", None),
        ],
    );
}

/// The I/O with the number n fails after n ms and ends the job. 95 % of 10 s is the limit.
#[test]
fn a_job_that_ended_early() {
    let scene = |events, evidence| Scene {
        events,
        ..of_load("--runtime=10", evidence)
    };
    check(
        "RAN_SHORT",
        &[
            scene(
                &["at = '0s', fail_io = '/dev/a', number = 9499"],
                Some("Ran 9.50 s of the planned 10.00 s: read of 4096 bytes at offset "),
            ),
            scene(&["at = '0s', fail_io = '/dev/a', number = 9500"], None),
            scene(&[], None),
        ],
    );
}

/// The first job ends after 1 s, and all others with it: one that would begin after 2 s never does.
#[test]
fn a_job_that_never_started() {
    check(
        "JOB_SKIPPED",
        &[
            of_load(
                "--exitall --runtime=1 --name=y --startdelay=2 --runtime=1",
                Some("1 of 1 jobs never started."),
            ),
            of_load(
                "--exitall --runtime=1 --name=y --startdelay=500ms --runtime=1",
                None,
            ),
            of_load("--runtime=1 --name=y --startdelay=2 --runtime=1", None),
        ],
    );
}

/// Two jobs of 10 s that begin 1.1 s after each other take 11.1 s, more than a tenth longer than one of them.
#[test]
fn jobs_that_ran_apart() {
    check(
        "JOBS_APART",
        &[
            of_load(
                "--runtime=10 --name=y --startdelay=1100ms --runtime=10",
                Some("over the 11.10 s from the first start to the last end"),
            ),
            of_load("--runtime=10 --name=y --startdelay=1s --runtime=10", None),
            of_load("--runtime=10 --name=y --runtime=10", None),
        ],
    );
}

#[test]
fn clones_that_read_the_same() {
    check(
        "CLONES_OVERLAP",
        &[
            of_load(
                "--rw=read --numjobs=2 --runtime=1",
                Some("2 clones access the same addresses of /dev/a in the same order"),
            ),
            of_load(
                "--rw=read --numjobs=2 --offset_increment=1m --runtime=1",
                None,
            ),
            of_load("--rw=read --numjobs=1 --runtime=1", None),
            of_load("--rw=randread --numjobs=2 --runtime=1", None),
        ],
    );
}

/// A region of 4 MiB has 1,024 blocks, which 2,048 reads read twice.
#[test]
fn addresses_that_repeat() {
    check(
        "REPEATED_ADDRESSES",
        &[
            of_load(
                "--size=4m --number_ios=2048 --runtime=10",
                Some("Each byte of the region of 4 MiB was read 2.0 times on average"),
            ),
            of_load("--size=4m --number_ios=2047 --runtime=10", None),
            of_load("--number_ios=2048 --runtime=10", None),
        ],
    );
}

/// One in a hundred of 949 are 9.49; of 950 they are 9.5, which rounds to ten.
#[test]
fn a_percentile_of_few_ios() {
    check(
        "FEW_SAMPLES",
        &[
            of_load(
                "--number_ios=949 --percentile_list=50:99 --runtime=10",
                Some("read clat p99 and above rest on fewer than 10 of 949 I/Os."),
            ),
            of_load(
                "--number_ios=950 --percentile_list=50:99 --runtime=10",
                None,
            ),
            of_load("--number_ios=949 --percentile_list=50 --runtime=10", None),
        ],
    );
}

/// The last bin of fio begins at 2^34 ns, 17.1799 s.
#[test]
fn a_latency_in_the_last_bin_of_fio() {
    let scene = |model, evidence| Scene {
        model,
        ..of_load("--runtime=20", evidence)
    };
    check(
        "FIO_BINS_CLAMPED",
        &[
            scene(
                "servers(count=1, service=17180ms)",
                Some("2 latencies of 17.18 s or more fall into fio's last bin"),
            ),
            scene("servers(count=1, service=17179ms)", None),
            scene(ONE_SERVER, None),
        ],
    );
}

#[test]
fn data_that_can_be_compressed() {
    check(
        "SOFT_PAYLOAD",
        &[
            of_load(
                "--rw=randwrite --zero_buffers --runtime=1",
                Some("The data written was zeros."),
            ),
            of_load(
                "--rw=randwrite --buffer_compress_percentage=1 --runtime=1",
                Some("The data written was 1 % compressible."),
            ),
            of_load(
                "--rw=randwrite --buffer_compress_percentage=0 --runtime=1",
                None,
            ),
            of_load("--rw=randwrite --runtime=1", None),
            // What is only read is not written.
            of_load("--zero_buffers --runtime=1", None),
        ],
    );
}

/// 400 reads, one every 5 ms. One in a hundred more than 10 ms late is the limit: after a stall of 27 ms the I/O that was in flight ends
/// 28 ms after it began, the next ones are 23, 19, 15 and 11 ms late; after one of 26 ms the fourth is 10 ms late.
#[test]
fn a_replay_behind_its_log() {
    let scene = |events, evidence| Scene {
        model: EIGHT_SERVERS,
        events,
        load: "--read_iolog=trace --iodepth=1",
        evidence,
    };
    check(
        "REPLAY_LAG",
        &[
            scene(
                &["at = '1s', stall_device = '/dev/a', lasts = '27ms'"],
                Some("23.0 ms at most; 4 I/Os (1.0 %) were more than 10.0 ms late."),
            ),
            scene(
                &["at = '1s', stall_device = '/dev/a', lasts = '26ms'"],
                None,
            ),
            scene(&[], None),
        ],
    );
}

/// The last I/O of the log is due after 1.995 s.
#[test]
fn a_replay_that_is_cut() {
    let scene = |load, evidence| Scene {
        model: EIGHT_SERVERS,
        ..of_load(load, evidence)
    };
    check(
        "REPLAY_CUT",
        &[
            scene(
                "--read_iolog=trace --runtime=1500ms",
                Some("300 of the 400 I/Os of trace were submitted before the end."),
            ),
            scene(
                "--read_iolog=trace --runtime=1995ms",
                Some("399 of the 400 I/Os of trace were submitted before the end."),
            ),
            scene("--read_iolog=trace --runtime=1996ms", None),
            scene("--read_iolog=trace", None),
        ],
    );
}
