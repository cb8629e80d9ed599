//! The meaning of job files: known answers from fio's manual and from measurements of fio 3.33.

use crate::support;
use std::path::PathBuf;

use crate::support::{Machine, job, plan_for_fio, plan_for_run, shown};
use fathom_model::Personality::{Fathom, Fio};
use fathom_model::{
    Access, Arrivals, BlockSizes, Bytes, Direction, Distribution, EngineKind, Extent, FileService,
    Fill, Job, Nanos, PatternPart, Rate, SyncMode, Traffic, Unified, VerifyKind,
};
use fathom_plan::{Action, Eta, OutputFormat, parse_args};

fn jobs(text: &str) -> Vec<Job> {
    plan_for_run(text)
        .unwrap_or_else(|problems| panic!("{}", shown(&problems)))
        .plan
        .jobs
}

fn paths(job: &Job) -> Vec<String> {
    job.files
        .paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

fn bytes(n: u64) -> Extent {
    Extent::Bytes(Bytes::new(n))
}

// -------------------------------------------------------------------------------------------------
// sections

#[test]
fn defaults_are_those_of_fio() {
    let job = job("");
    assert_eq!(
        (job.pattern.traffic, job.pattern.access),
        (Traffic::Read, Access::Sequential { skip: 0 })
    );
    assert_eq!(
        job.pattern.block_size[Direction::Read],
        BlockSizes::Fixed(4096)
    );
    assert_eq!(
        (job.engine.kind, job.engine.named),
        (EngineKind::Psync, false)
    );
    assert_eq!(
        (
            job.queue.depth,
            job.queue.batch_submit,
            job.queue.batch_complete_min,
            job.queue.low
        ),
        (1, 1, 1, 1)
    );
    assert!(
        job.pattern.without_replacement
            && job.files.layout.invalidate
            && job.files.layout.allow_create
            && !job.files.direct
    );
    assert_eq!(
        (job.files.size, job.files.offset),
        (Extent::Whole, bytes(0))
    );
    assert!(
        job.accounting.clat_percentiles
            && !job.accounting.lat_percentiles
            && job.accounting.clat
            && job.accounting.disk_util
    );
    assert_eq!(job.accounting.percentiles.len(), 17);
    assert_eq!(job.payload.fill, Fill::Random);
    // fathom refills every write, fio scrambles buffers that it fills once.
    assert!(job.payload.scramble && job.payload.refill);
    assert_eq!(
        (job.limits.loops, job.limits.runtime, job.limits.time_based),
        (1, None, false)
    );
}

#[test]
fn globals_accumulate_and_apply_to_later_sections_only() {
    let jobs = jobs(
        "[global]\nbs=8k\nsize=1m\n[a]\n[global]\niodepth=4\nioengine=io_uring\n[b]\nbs=16k\n[globalfoo]\nbs=32k\n[c]\n",
    );
    let seen: Vec<_> = jobs
        .iter()
        .map(|job| {
            (
                job.name.as_str(),
                job.pattern.block_size[Direction::Read].min(),
                job.queue.depth,
            )
        })
        .collect();
    assert_eq!(seen, [("a", 8192, 1), ("b", 16384, 4), ("c", 32768, 4)]);
}

#[test]
fn globals_end_with_their_file_and_files_run_one_after_the_other() {
    let machine = Machine::default()
        .with_file("1.fio", "[global]\nbs=8k\n[a]\nsize=1m\n")
        .with_file("2.fio", "[b]\nsize=1m\n[c]\nsize=1m\n");
    let plan = machine
        .plan(Fathom, &["1.fio", "2.fio"])
        .expect("a plan")
        .plan;
    let seen: Vec<_> = plan
        .jobs
        .iter()
        .map(|job| {
            (
                job.pattern.block_size[Direction::Read].min(),
                job.start.after_all_before,
                job.group,
            )
        })
        .collect();
    assert_eq!(seen, [(8192, false, 0), (4096, true, 1), (4096, false, 1)]);
}

#[test]
fn comments_blanks_and_windows_line_ends_are_ignored() {
    let jobs = jobs(
        "; first\r\n# second\r\n\r\n[j]  ; third\r\n  bs = 8k   # fourth\r\nfilename=/tmp/a;b\r\nrw= randread\r\nthread\r\n",
    );
    assert_eq!(jobs[0].pattern.block_size[Direction::Read].min(), 8192);
    assert_eq!(paths(&jobs[0]), ["/tmp/a"]);
    assert!(matches!(
        jobs[0].pattern.access,
        Access::Random {
            every: 1,
            identical: false
        }
    ));
}

#[test]
fn includes_are_relative_to_the_current_directory_and_then_to_the_file() {
    let machine = Machine::default()
        .with_file("jobs/main.fio", "[j]\ninclude part.inc\niodepth=4\n")
        .with_file("jobs/part.inc", "ioengine=io_uring\ninclude more.inc\n")
        .with_file("jobs/more.inc", "bs=64k\nsize=1g\n");
    let plan = machine
        .plan(Fathom, &["jobs/main.fio"])
        .unwrap_or_else(|problems| panic!("{}", shown(&problems)))
        .plan;
    assert_eq!(
        plan.jobs[0].pattern.block_size[Direction::Read].min(),
        65536
    );
    assert_eq!(
        (plan.jobs[0].engine.kind, plan.jobs[0].queue.depth),
        (EngineKind::IoUring, 4)
    );
}

/// Measured: size=2*$mb_memory gives twice the number of MiB; an unset variable is empty.
#[test]
fn variables_and_keywords_are_substituted() {
    let machine = Machine::default()
        .with_variable("D", "16")
        .with_file("j.fio", "[j]\nioengine=io_uring\niodepth=${D}\nsize=4*$mb_memory\nrw=randread\nbs=$pagesize\nnumjobs=$ncpus\nfilename=/tmp/$ncpus/${NOPE}x\n");
    let plan = machine
        .plan(Fathom, &["j.fio"])
        .unwrap_or_else(|problems| panic!("{}", shown(&problems)))
        .plan;
    assert_eq!(
        (
            plan.jobs.len(),
            plan.jobs[0].queue.depth,
            plan.jobs[0].files.size
        ),
        (4, 16, bytes(8000))
    );
    assert_eq!(paths(&plan.jobs[0]), ["/tmp/4/x"]);
    assert_eq!(
        job("size=(4*1m+2*4k)").files.size,
        bytes(4 * (1 << 20) + 8192)
    );
}

#[test]
fn the_last_setting_counts_and_opposites_cancel_each_other() {
    assert_eq!(
        job("bs=4k\nbs=8k,\nbs=,16k")
            .pattern
            .block_size
            .0
            .map(|sizes| sizes.min()),
        [8192, 16384, 16384]
    );
    assert!(job("buffered=1\ndirect=1").files.direct);
    assert!(!job("direct=1\nbuffered=1").files.direct);
    assert!(job("buffered=0").files.direct);
    assert_eq!(
        job("rw=rw\nrwmixread=70\nrwmixwrite=10").pattern.traffic,
        Traffic::ReadWrite { read_percent: 90 }
    );
    assert_eq!(
        job("rw=rw\nrwmixwrite=10\nrwmixread=70").pattern.traffic,
        Traffic::ReadWrite { read_percent: 70 }
    );
}

// ---------------------------------------------------------------------------------- clones, groups
// and order

/// As in fio 3.33: the first section does not begin another group, stonewall and new_group do.
#[test]
fn groups_open_at_stonewalls_and_new_groups() {
    let text = "[global]\nsize=4k\n[first]\nstonewall\n[a]\nnumjobs=2\n[c]\nstonewall\nnumjobs=2\n[d]\n[e]\nnew_group\n";
    let seen: Vec<_> = jobs(text)
        .iter()
        .map(|job| {
            (
                job.name.clone(),
                job.number,
                job.section,
                job.clone,
                job.group,
                job.start.after_all_before,
            )
        })
        .collect();
    let expected = [
        ("first", 1, 0, 0, 0, true),
        ("a", 2, 1, 0, 0, false),
        ("a", 3, 1, 1, 0, false),
        ("c", 4, 2, 0, 1, true),
        ("c", 5, 2, 1, 1, false),
        ("d", 6, 3, 0, 1, false),
        ("e", 7, 4, 0, 2, false),
    ];
    assert_eq!(
        seen,
        expected.map(|(name, number, section, clone, group, wall)| (
            name.to_owned(),
            number,
            section,
            clone,
            group,
            wall
        ))
    );
}

/// fio numbers the clones after clone 0 downwards; `fathom run` numbers them upwards.
#[test]
fn clones_are_numbered_by_the_personality() {
    let text = "[x]\nsize=1m\nnumjobs=4\n";
    let clones = |jobs: &[Job]| jobs.iter().map(|job| job.clone).collect::<Vec<_>>();
    assert_eq!(
        clones(&plan_for_run(text).expect("a plan").plan.jobs),
        [0, 1, 2, 3]
    );
    assert_eq!(
        clones(&plan_for_fio(text).expect("a plan").plan.jobs),
        [0, 3, 2, 1]
    );
}

#[test]
fn wait_for_finds_a_job_by_its_reported_name() {
    let jobs = jobs("[a]\nname=first\nsize=1m\n[b]\nsize=1m\nwait_for=first\nnumjobs=2\n");
    assert_eq!(
        jobs.iter()
            .map(|job| job.start.after_section)
            .collect::<Vec<_>>(),
        [None, Some(0), Some(0)]
    );
}

#[test]
fn exitall_of_one_job_counts_for_all() {
    assert!(
        jobs("[a]\nsize=1m\n[b]\nsize=1m\nexitall\n")
            .iter()
            .all(|job| job.exit.exit_all)
    );
}

#[test]
fn cpus_are_shared_or_split() {
    assert_eq!(job("cpus_allowed=0,2-3").cpus, [0, 2, 3]);
    let dealt = jobs("[j]\nsize=1m\ncpus_allowed=0,2-3\ncpus_allowed_policy=split\nnumjobs=4\n");
    assert_eq!(
        dealt.iter().map(|job| job.cpus.clone()).collect::<Vec<_>>(),
        [[0], [2], [3], [0]]
    );
    assert_eq!(job("cpus_allowed=0\ncpumask=6").cpus, [1, 2]);
}

// ----------------------------------------------------------------------------------------------------
// files

/// Measured on fio 3.33: x.0.0, x.1.0.
#[test]
fn files_are_named_after_the_section() {
    let jobs = jobs("[x]\nname=other\nsize=1m\nnumjobs=2\nnrfiles=2\ndirectory=/tmp:/data\n");
    assert_eq!(paths(&jobs[0]), ["/tmp/x.0.0", "/tmp/x.0.1"]);
    assert_eq!(paths(&jobs[1]), ["/data/x.1.0", "/data/x.1.1"]);
    assert!(!jobs[0].files.named && jobs[0].name == "other");
}

#[test]
fn named_files_are_shared_by_clones() {
    let jobs = jobs("[x]\nsize=1m\nnumjobs=2\nrw=randread\nfilename=a:b\\:c\ndirectory=/tmp\n");
    assert!(
        jobs.iter()
            .all(|job| paths(job) == ["/tmp/a", "/tmp/b:c"] && job.files.named)
    );
}

/// fio uses a device with the name of the section.
#[test]
fn a_section_with_the_name_of_a_device_is_that_device() {
    let jobs = jobs("[/dev/sdb]\nrw=randread\n[/dev/nothing]\nsize=1m\n");
    assert_eq!(
        (jobs[0].files.paths.clone(), jobs[0].files.named),
        (vec![PathBuf::from("/dev/sdb")], true)
    );
    assert_eq!(
        (paths(&jobs[1]), jobs[1].files.named),
        (vec!["/dev/nothing.0.0".to_owned()], false)
    );
}

#[test]
fn sizes_can_be_percentages_of_the_target() {
    let job = job(
        "size=50%\nio_size=10g\noffset=25%\noffset_increment=1g\nfilesize=1m-2m\nfile_service_type=zipf:1.3\nopenfiles=7",
    );
    assert_eq!(
        (job.files.size, job.limits.io_size, job.files.offset),
        (
            Extent::Percent(50),
            Some(bytes(10 << 30)),
            Extent::Percent(25)
        )
    );
    assert_eq!(
        (job.files.offset_increment, job.files.file_size),
        (
            bytes(1 << 30),
            Some((Bytes::from_mib(1), Bytes::from_mib(2)))
        )
    );
    assert_eq!(
        (job.files.service, job.files.open_files),
        (FileService::Zipf(1.3), 7)
    );
}

// -------------------------------------------------------------------------------------------
// pattern and pace

#[test]
fn block_sizes_can_be_ranges_and_splits() {
    let job = job("bsrange=4k-16k,8k-8k\nbssplit=,4k/25:64k,");
    assert_eq!(
        job.pattern.block_size[Direction::Read],
        BlockSizes::Range {
            min: 4096,
            max: 16384
        }
    );
    assert_eq!(
        job.pattern.block_size[Direction::Write],
        BlockSizes::Split(vec![(4096, 25.0), (65536, 75.0)])
    );
    assert_eq!(
        job.pattern.block_size[Direction::Trim],
        BlockSizes::Fixed(8192)
    );
}

#[test]
fn the_parameter_of_rw_is_a_step_or_a_count() {
    assert_eq!(
        job("rw=read:512k").pattern.access,
        Access::Sequential { skip: 524_288 }
    );
    assert_eq!(
        job("rw=write:-8k").pattern.access,
        Access::Sequential { skip: -8192 }
    );
    assert_eq!(
        job("rw=randread:8\nrw_sequencer=identical").pattern.access,
        Access::Random {
            every: 8,
            identical: true
        }
    );
    assert_eq!(job("rw=randtrimwrite").pattern.traffic, Traffic::TrimWrite);
}

#[test]
fn a_distribution_other_than_uniform_lets_blocks_repeat() {
    let job = job("rw=randread\nrandom_distribution=zipf:1.2");
    assert_eq!(
        job.pattern.distribution[Direction::Read],
        Distribution::Zipf {
            theta: 1.2,
            center: None
        }
    );
    assert!(!job.pattern.without_replacement);
}

/// Regression 0004: lfsr without the random map repeated blocks; fio's lfsr accesses each block
/// once.
#[test]
fn lfsr_accesses_each_block_once_without_the_map() {
    for (options, once) in [
        ("norandommap", false),
        ("norandommap\nrandom_generator=lfsr", true),
        ("random_generator=lfsr", true),
    ] {
        assert_eq!(
            job(&format!("rw=randread\n{options}"))
                .pattern
                .without_replacement,
            once,
            "{options}"
        );
    }
}

#[test]
fn seeds_repeat_by_default_and_differ_between_workers() {
    let seeds = |text: &str| {
        jobs(text)
            .iter()
            .map(|job| job.pattern.seed)
            .collect::<Vec<_>>()
    };
    let text = "[j]\nsize=1m\nnumjobs=2\n";
    assert_eq!(seeds(text), seeds(text));
    assert_ne!(seeds(text)[0], seeds(text)[1]);
    assert_ne!(seeds(text)[0], seeds("[j]\nsize=1m\nrandseed=5\n")[0]);
    assert_eq!(
        seeds("[j]\nsize=1m\nrandseed=4\n"),
        seeds("[j]\nsize=1m\nrandrepeat=0\n"),
        "the machine's random number is 4"
    );
}

#[test]
fn rates_are_bytes_or_ios() {
    let job = job("rw=rw\nrate=1m,500k\nrate_process=poisson\nrate_min=,100k");
    assert_eq!(
        job.pace.rate.0[..2],
        [
            Some(Rate::Bandwidth(1_048_576.0)),
            Some(Rate::Bandwidth(512_000.0))
        ]
    );
    assert_eq!(
        (job.pace.process, job.pace.rate_min[Direction::Read]),
        (Arrivals::Poisson, None)
    );
    assert_eq!(
        support::job("rate_iops=100").pace.rate[Direction::Read],
        Some(Rate::Iops(100.0))
    );
}

#[test]
fn times_have_the_unit_of_their_option() {
    let job = job(
        "runtime=30\nramp_time=500ms\nstartdelay=1-2\nthinktime=5ms\nthinktime_spin=9ms\nthinktime_blocks=4\nmax_latency=10ms",
    );
    assert_eq!(
        (job.limits.runtime, job.limits.ramp),
        (Some(Nanos::from_secs(30)), Nanos::from_millis(500))
    );
    assert_eq!(job.start.delay, (Nanos::from_secs(1), Nanos::from_secs(2)));
    let think = job.pace.think.expect("a pause");
    assert_eq!(
        (think.time, think.spin, think.blocks),
        (Nanos::from_millis(5), Nanos::from_millis(5), 4)
    );
    assert_eq!(
        job.errors.max_latency[Direction::Read],
        Some(Nanos::from_millis(10))
    );
}

/// Measured on fio 3.33: bs=4KiB does I/O of 4000 bytes, runtime=1sec is one microsecond.
#[test]
fn pitfalls_of_fio_apply_to_the_fio_personality_only() {
    let text = "[j]\nsize=1m\nbs=4KiB\nruntime=1sec\n";
    let (theirs, mine) = (
        plan_for_fio(text).expect("fio accepts it"),
        plan_for_run(text).expect("fathom accepts it"),
    );
    assert_eq!(
        theirs.plan.jobs[0].pattern.block_size[Direction::Read].min(),
        4000
    );
    assert_eq!(
        theirs.plan.jobs[0].limits.runtime,
        Some(Nanos::from_micros(1))
    );
    assert!(theirs.warnings.is_empty());
    assert_eq!(
        mine.plan.jobs[0].pattern.block_size[Direction::Read].min(),
        4096
    );
    assert_eq!(mine.plan.jobs[0].limits.runtime, Some(Nanos::from_secs(1)));
    assert_eq!((mine.warnings.len(), mine.plan.warnings.len()), (2, 2));
}

#[test]
fn kb_base_applies_to_its_whole_section() {
    assert_eq!(
        job("size=8k\nbs=4000\nkb_base=1000").files.size,
        bytes(8000)
    );
}

// -------------------------------------------------------------------------------- engines, payload
// and reports

#[test]
fn private_options_reach_their_engine() {
    let job = job(
        "ioengine=io_uring\nfixedbufs\nregisterfiles=1\nsqthread_poll\nsqthread_poll_cpu=2\nhipri\nforce_async=4\nnonvectored=0",
    );
    let settings = &job.engine.settings;
    assert!(
        settings.fixed_buffers
            && settings.register_files
            && settings.sq_poll
            && settings.high_priority
            && settings.vectored
    );
    assert_eq!(
        (settings.sq_poll_cpu, settings.force_async, job.engine.named),
        (Some(2), 4, true)
    );
    let jobs = jobs(
        "[global]\nioengine=io_uring\nfixedbufs\n[a]\nsize=1m\n[b]\nsize=1m\nioengine=psync\n",
    );
    assert_eq!(
        jobs.iter()
            .map(|job| job.engine.settings.fixed_buffers)
            .collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn batches_follow_the_depth() {
    let job = job(
        "ioengine=io_uring\niodepth=16\niodepth_batch=0\niodepth_batch_complete_min=4\niodepth_low=99",
    );
    let queue = job.queue;
    // Without a maximum, all completions are reaped.
    assert_eq!(
        (
            queue.batch_submit,
            queue.batch_complete_min,
            queue.batch_complete_max,
            queue.low
        ),
        (16, 4, 16, 16)
    );
    let queue = self::job("ioengine=io_uring\niodepth=16\niodepth_batch_complete_max=5").queue;
    assert_eq!(
        (
            queue.batch_submit,
            queue.batch_complete_min,
            queue.batch_complete_max
        ),
        (2, 1, 5)
    );
    // The kernel delays batches of more than two I/Os in io_submit.
    let batch = |engine: &str| {
        self::job(&format!("ioengine={engine}\niodepth=64"))
            .queue
            .batch_submit
    };
    assert_eq!((batch("io_uring"), batch("libaio")), (8, 2));
}

#[test]
fn combined_payload_options_follow_fio() {
    let pattern = job("rw=write\nbuffer_pattern=0xab").payload;
    assert_eq!(
        (pattern.fill, pattern.refill, pattern.scramble),
        (
            Fill::Pattern(vec![PatternPart::Bytes(vec![0xab])]),
            false,
            false
        )
    );
    assert!(job("rw=rw\nbuffer_pattern=0xab").payload.refill);
    let compressible = job("rw=write\nbuffer_compress_percentage=50").payload;
    assert_eq!(
        (compressible.fill, compressible.refill),
        (
            Fill::Compressible {
                percent: 50,
                chunk: 512,
                pattern: vec![]
            },
            true
        )
    );
    assert_eq!(
        job("buffer_compress_percentage=100").payload.fill,
        Fill::Zeroes
    );
    assert_eq!(job("zero_buffers").payload.fill, Fill::Zeroes);
    assert!(
        job("dedupe_percentage=30").payload.refill && job("rw=write\nverify=md5").payload.refill
    );
}

#[test]
fn verification_has_an_interval_that_divides_the_blocks() {
    let verify = |options: &str| job(options).verify;
    assert_eq!(verify("verify=0"), None);
    let plain = verify("rw=write\nverify=crc32c-intel\nverify_fatal=1").expect("verified");
    assert_eq!(
        (plain.kind, plain.interval, plain.fatal, plain.after_writes),
        (VerifyKind::Crc32cIntel, 4096, true, true)
    );
    assert_eq!(
        verify("rw=write\nbsrange=6k-16k\nverify=md5")
            .expect("verified")
            .interval,
        2048
    );
    assert_eq!(
        verify("rw=write\nbs=64k\nverify=md5\nverify_interval=4k")
            .expect("verified")
            .interval,
        4096
    );
    let pattern = verify("rw=write\nverify_pattern=0xff%o\"x\"").expect("a pattern alone verifies");
    assert_eq!(
        (pattern.kind, pattern.pattern.len()),
        (VerifyKind::Pattern, 3)
    );
}

#[test]
fn gtod_reduce_can_be_partly_overridden() {
    let reduced = job("gtod_reduce=1").accounting;
    assert!(
        reduced.reduced
            && !reduced.slat
            && !reduced.clat
            && !reduced.lat
            && !reduced.bandwidth
            && !reduced.clat_percentiles
    );
    assert!(job("gtod_reduce=1\ndisable_lat=0").accounting.lat);
    assert!(!job("disable_lat=0\ngtod_reduce=1").accounting.lat);
}

#[test]
fn logs_have_a_prefix_or_the_name_of_the_job() {
    let logs = job("name=x\nwrite_bw_log\nwrite_lat_log=pre\nlog_avg_msec=200\nper_job_logs=0")
        .accounting
        .logs;
    assert_eq!(
        (logs.bw.as_deref(), logs.lat.as_deref(), logs.iops),
        (Some("x"), Some("pre"), None)
    );
    assert_eq!(
        (logs.average, logs.per_job),
        (Nanos::from_millis(200), false)
    );
    let plan = plan_for_run("[j]\nsize=1m\nlog_avg_msec=200\n")
        .expect("a plan")
        .plan;
    assert_eq!(
        plan.interval,
        Nanos::from_millis(100),
        "the largest that divides 500 and 200 ms"
    );
}

#[test]
fn the_rest_of_the_common_options() {
    let job = job(
        "sync=dsync\nfsync=8\nfdatasync=4\nend_fsync=1\nunified_rw_reporting=both\ncontinue_on_error=io\nignore_error=,ENOSPC\npercentile_list=99:50:99\nnice=-5",
    );
    assert_eq!(
        (
            job.files.sync_mode,
            job.sync.fsync_every,
            job.sync.fdatasync_every
        ),
        (SyncMode::Dsync, 8, 4)
    );
    assert!(
        job.sync.fsync_at_end
            && job.errors.continue_read
            && job.errors.continue_write
            && !job.errors.continue_verify
    );
    assert_eq!(
        (
            job.accounting.unified,
            job.errors.ignore[1].clone(),
            job.nice
        ),
        (Unified::Both, vec![28], Some(-5))
    );
    assert_eq!(job.accounting.percentiles, [50.0, 99.0]);
}

/// fio's `job options`: those of the section itself, with canonical names, as written.
#[test]
fn options_are_kept_as_written() {
    let plan = plan_for_run("[global]\nblocksize=8k\nthread\n[j]\nreadwrite=randread\nsize=1m\nfilename=/tmp/x\nstonewall\n")
        .expect("a plan")
        .plan;
    let pair = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
    assert_eq!(plan.globals, [pair("bs", Some("8k")), pair("thread", None)]);
    let expected = [
        pair("rw", Some("randread")),
        pair("size", Some("1m")),
        pair("stonewall", None),
        pair("filename", Some("/tmp/x")),
    ];
    assert_eq!(plan.jobs[0].options, expected);
}

#[test]
fn options_without_effect_are_noted() {
    let planned = plan_for_run("[j]\nsize=1m\nthread\nclocksource=cpu\n").expect("a plan");
    assert!(planned.warnings.is_empty());
    assert_eq!(
        shown(&planned.notes),
        // Every clone is a thread: `thread` needs no note.
        "job.fio:4:13: note: clocksource: accepted without effect: the fastest clock that agrees with CLOCK_MONOTONIC is used\n"
    );
}

// ----------------------------------------------------------------------------------------------
// command line

/// Measured: options without --name are defaults, and the job file takes precedence, whatever the
/// order.
#[test]
fn options_before_a_name_are_defaults_that_a_file_overrides() {
    let machine = Machine::default().with_file("j.fio", "[a]\nbs=8k\n[b]\n");
    let plan = machine
        .plan(Fathom, &["j.fio", "--bs=64k", "--size=1m"])
        .expect("a plan")
        .plan;
    assert_eq!(
        plan.jobs
            .iter()
            .map(|job| job.pattern.block_size[Direction::Read].min())
            .collect::<Vec<_>>(),
        [8192, 65536]
    );
}

#[test]
fn jobs_of_the_command_line_come_first() {
    let machine = Machine::default().with_file("j.fio", "[c]\nsize=1m\n");
    let arguments = [
        "--name=global",
        "-bs=8k",
        "--name",
        "a",
        "--size",
        "1m",
        "-rw=randread",
        "--name=b",
        "--size=2m",
        "--thread",
        "j.fio",
    ];
    let plan = machine
        .plan(Fathom, &arguments)
        .unwrap_or_else(|problems| panic!("{}", shown(&problems)))
        .plan;
    let seen: Vec<_> = plan
        .jobs
        .iter()
        .map(|job| {
            (
                job.name.as_str(),
                job.files.size,
                job.pattern.block_size[Direction::Read].min(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("a", bytes(1 << 20), 8192),
            ("b", bytes(2 << 20), 8192),
            ("c", bytes(1 << 20), 8192)
        ]
    );
    assert_eq!(
        plan.jobs[0].options[0],
        ("name".to_owned(), Some("a".to_owned()))
    );
    assert_eq!(paths(&plan.jobs[0]), ["a.0.0"]);
}

#[test]
fn the_standard_input_is_a_job_file() {
    let machine = Machine::default().with_file("-", "[j]\nbs=x\n");
    let problems = machine.plan(Fathom, &["-"]).expect_err("a mistake");
    assert_eq!(
        shown(&problems),
        "standard input:2:4: bs: 'x' is not a size such as 4k or 1g\n"
    );
}

#[test]
fn sections_are_selected_by_name() {
    let machine = Machine::default().with_file(
        "j.fio",
        "[global]\nbs=8k\n[a]\nnonsense=1\n[b]\nsize=1m\n[c]\nsize=1m\n",
    );
    let plan = machine
        .plan(Fathom, &["--section=b", "--section=c", "j.fio"])
        .expect("section a is not parsed")
        .plan;
    assert_eq!(
        plan.jobs
            .iter()
            .map(|job| job.name.as_str())
            .collect::<Vec<_>>(),
        ["b", "c"]
    );
}

#[test]
fn overrides_take_precedence_and_are_shown() {
    let machine = Machine::default().with_file(
        "j.fio",
        "[global]\nioengine=io_uring\n[a.b]\niodepth=4\nfilename=/tmp/x\n[c]\niodepth=4\n",
    );
    let arguments = [
        "--set",
        "a.b.iodepth=8",
        "--set=runtime=5s",
        "--set",
        "filename=/tmp/y",
        "j.fio",
    ];
    let plan = machine
        .plan(Fathom, &arguments)
        .unwrap_or_else(|problems| panic!("{}", shown(&problems)))
        .plan;
    assert_eq!(
        plan.jobs
            .iter()
            .map(|job| (job.queue.depth, paths(job)))
            .collect::<Vec<_>>(),
        [
            (8, vec!["/tmp/y".to_owned()]),
            (4, vec!["/tmp/y".to_owned()])
        ]
    );
    assert_eq!(plan.overrides.len(), 3);
    assert!(
        plan.jobs[0]
            .options
            .contains(&("iodepth".into(), Some("8".into())))
            && !plan.jobs[0]
                .options
                .contains(&("iodepth".into(), Some("4".into())))
    );
}

#[test]
fn reporting_options_are_parsed() {
    let arguments: Vec<String> = "--output-format=json+,normal --append-terse -o out.json --terse-version=5 --status-interval=500ms --eta=never \
        --eta-newline=1 --bandwidth-log --idle-prof=percpu --max-jobs=16 --debug=io --alloc-size=4 --aux-path=/tmp --destroy=ABC --readonly j.fio"
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let invocation =
        parse_args(&arguments, Fathom).unwrap_or_else(|problems| panic!("{}", shown(&problems)));
    let reporting = &invocation.reporting;
    assert_eq!(
        reporting.formats,
        [
            OutputFormat::JsonPlus,
            OutputFormat::Normal,
            OutputFormat::Terse
        ]
    );
    assert_eq!(
        (
            reporting.output.as_deref(),
            reporting.terse_version,
            reporting.eta
        ),
        (Some("out.json"), 5, Eta::Never)
    );
    assert_eq!(
        (reporting.status_interval, reporting.eta_newline),
        (Some(Nanos::from_millis(500)), Some(Nanos::from_secs(1)))
    );
    assert_eq!(
        (
            reporting.bandwidth_log.as_deref(),
            invocation.destroy,
            invocation.read_only.is_some()
        ),
        (Some("agg"), vec!["ABC".to_owned()], true)
    );
}

/// Feature probes seen in scripts.
#[test]
fn probes_of_scripts_are_answered() {
    let action = |line: &str| {
        parse_args(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
            Fio,
        )
        .expect("parsed")
        .action
    };
    assert_eq!(action("--version"), Action::Version);
    assert_eq!(action("-v"), Action::Version);
    assert_eq!(
        action("--cmdhelp=zonemode"),
        Action::CommandHelp(Some("zonemode".into()))
    );
    assert_eq!(action("--enghelp"), Action::EngineHelp(None));
    assert_eq!(action("--help"), Action::Help);
    assert!(
        Machine::default()
            .plan(Fio, &["--parse-only", "--terse-version=4"])
            .is_ok()
    );
}

#[test]
fn switches_of_fathom_are_unknown_to_fio() {
    let line = |personality| parse_args(&["--set".into(), "bs=4k".into()], personality);
    assert!(line(Fathom).is_ok());
    assert_eq!(
        shown(&line(Fio).expect_err("no such option")),
        "argument 1: unknown option '--set' (--help lists the options of the command line, --cmdhelp=all those of jobs)\n"
    );
}
