//! `--explain`: the timeline of a job file before it runs, compared with arithmetic by hand.

use crate::common;
use crate::common::{Completed, fathom, split_args};
use fathom_testkit::Scratch;

/// The timeline of a job file, with wrapped lines joined.
fn explain(job: &str) -> (Scratch, String) {
    let scratch = Scratch::new().expect("a directory");
    std::fs::write(
        scratch.join("job.fio"),
        job.replace("HERE", &scratch.path().display().to_string()),
    )
    .expect("a job file");
    let ran: Completed = fathom([
        "run",
        "--explain",
        &scratch.join("job.fio").display().to_string(),
    ])
    .expect(0);
    assert_eq!(ran.err, "");
    let left: Vec<_> = std::fs::read_dir(scratch.path())
        .expect("a directory")
        .collect();
    assert_eq!(left.len(), 1, "no file is created: {left:?}");
    (
        scratch,
        ran.out.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

/// A fio user missed one of three jobs: the third has no stonewall, runs in parallel with the
/// second and is merged with it.
#[test]
fn a_section_without_a_stonewall_runs_in_parallel() {
    let (_scratch, text) = explain(
        "[global]\nfilename=HERE/data\ndirect=1\nrw=randread\nbs=4k\nsize=1g\ntime_based\nruntime=30\ngroup_reporting\nioengine=libaio\n\
         iodepth=128\n[test1]\nstonewall\n[test2]\nstonewall\nnorandommap\n[test3]\nbs=256k\n",
    );
    assert_contains(
        &text,
        &[
            "3 jobs, in 2 steps one after another: 1 min.",
            "data is created, and 1 GiB of incompressible data are written to it",
            "Step 1, immediately: 30 s test1 (group 0): random read, 4 KiB blocks, queue depth 128, libaio, direct",
            "Step 2, after all previous steps, jobs in parallel: 30 s test2 (group 1)",
            "test2 (group 1): 2 jobs together, of test2, test3",
            // 128 x 4 KiB + 128 x 256 KiB.
            "I/O buffers take at most 32.5 MiB at a time",
            "test3: no stonewall, so it runs at the same time as test2",
            "test2 and test3 are reported as one entry",
        ],
    );
    assert_eq!(
        text.matches("reads as much as it can (repeatedly over 1 GiB, until the run time is over)")
            .count(),
        3
    );
}

/// Another user expected two jobs to run one after the other, because the run took longer than one
/// of them.
#[test]
fn sections_without_stonewalls_are_one_step() {
    let (_scratch, text) = explain(
        "[global]\ntime_based\nruntime=1d\nsize=10m\ndirectory=HERE\n[LV1]\n[LV2]\nstartdelay=90\n",
    );
    assert_contains(
        &text,
        &[
            "2 jobs, all in parallel: 24 h 1 min 30 s.",
            "starts 1 min 30 s later (startdelay)",
            "takes 24 h 1 min 30 s",
        ],
    );
}

#[test]
fn loops_mixes_and_rates_are_calculated() {
    // Each direction keeps its own rate, so the rates and not the mix decide the shares: 2 x 1 GiB
    // are 524,288 I/Os, at 100 + 50 per second 3,495 s. Two thirds of them are reads.
    let (_scratch, text) = explain(
        "[a]\ndirectory=HERE\nrw=randrw\nrwmixread=70\nsize=1g\nloops=2\nnumjobs=4\nrate_iops=100,50\n",
    );
    assert_contains(
        &text,
        &[
            "4 jobs, all in parallel: at least 58 min 15 s.",
            "each of 4 clones reads about 1.33 GiB and writes about 682.67 MiB (2 loops over 1 GiB)",
            "at 100 reads per second and 50 writes per second",
            "a (group 0), one for each of 4 clones",
        ],
    );
}

#[test]
fn the_first_end_condition_of_a_job_is_shown() {
    let job = |rest: &str| {
        explain(&format!(
            "[a]\nfilename=HERE/x\nsize=100m\nbs=64k\n{rest}\n"
        ))
        .1
    };
    // 100 MiB of 64 KiB at 1 MiB/s: the last of 1600 is due after 1599/16 s.
    assert_contains(
        &job("rate=1m"),
        &[
            "reads 100 MiB (once over 100 MiB)",
            "takes at least 1 min 39 s",
            "no time limit; the job ends when its work is done",
        ],
    );
    assert_contains(
        &job("rate=1m\nruntime=30"),
        &["reads at most 30 MiB", "takes 30 s"],
    );
    assert_contains(
        &job("runtime=2m"),
        &[
            "reads at most 100 MiB",
            "when its amount is done, at the latest after 2 min",
            "takes at most 2 min",
        ],
    );
    assert_contains(
        &job("time_based\nruntime=10\nramp_time=5"),
        &[
            "after 10 s after 5 s of warm-up that is not measured",
            "takes 15 s",
        ],
    );
    assert_contains(
        &job("io_size=250m"),
        &["reads 250 MiB (io_size, over a region of 100 MiB)"],
    );
    assert_contains(
        &job("number_ios=10"),
        &["reads 640 KiB (10 I/Os (number_ios) over 100 MiB)"],
    );
    // 1600 I/Os, a pause of 10 ms after each 100: 15 pauses.
    assert_contains(
        &job("thinktime=10ms\nthinktime_blocks=100"),
        &["takes at least 150 ms"],
    );
    // Blocks of 64 KiB with gaps of 64 KiB: half of it.
    assert_contains(&job("rw=read:64k"), &["reads 50 MiB"]);
    assert_contains(
        &job("rw=write\nverify=crc32c\ndo_verify=1"),
        &[
            "reads back at most 100 MiB and writes 100 MiB",
            "then the written data is read back and verified",
        ],
    );
    assert_contains(
        &job("rw=trimwrite\nioengine=null"),
        &[
            "writes 100 MiB and trims 100 MiB",
            "the null engine transfers no data",
        ],
    );
    assert_contains(
        &job("rw=write"),
        &["x is created, with room for 100 MiB", "100 MiB are written"],
    );
}

#[test]
fn waiting_jobs_are_shown_with_their_condition() {
    let (_scratch, text) = explain(
        "[global]\ndirectory=HERE\nsize=1m\ntime_based\n[first]\nruntime=10\n[second]\nwait_for=first\nruntime=20\n[third]\nstonewall\nruntime=5\n",
    );
    assert_contains(
        &text,
        &[
            "in 2 steps one after another: 35 s.",
            "when all of first has ended (wait_for)",
            "Step 2, after all previous steps: 5 s",
        ],
    );
}

#[test]
fn data_at_risk_is_reported_and_not_changed() {
    let scratch = Scratch::new().expect("a directory");
    let data = scratch.join("diary");
    std::fs::write(&data, vec![b'x'; 1 << 20]).expect("written");
    let mut arguments = split_args("run --explain --name=a --rw=randwrite --bs=4k --size=1m");
    arguments.push(format!("--filename={}", data.display()));
    let text = fathom(&arguments).expect(0).out;
    assert_contains(
        &text.split_whitespace().collect::<Vec<_>>().join(" "),
        &["would be refused", "diary", "--destroy="],
    );
    assert_eq!(
        std::fs::read(&data).expect("still exists"),
        vec![b'x'; 1 << 20]
    );
    arguments.retain(|command| command != "--rw=randwrite");
    let text = fathom(&arguments).expect(0).out;
    assert!(
        text.contains("would read bytes 0 to 1048576") && !text.contains("refused"),
        "{text}"
    );
}

#[test]
fn parser_warnings_are_among_the_cautions() {
    let (_scratch, text) = explain("[a]\nfilename=HERE/x\nsize=1m\niodepth=32\nioengine=psync\n");
    assert_contains(&text, &["Cautions", "psync does one I/O at a time"]);
}

/// Regression 0262: `devices`, `spec` and `explain` refused --help as an unknown option. Each
/// command has help.
#[test]
fn every_command_has_help() {
    let commands = "run quick limits sweep search suite resume devices compare plot report import check spec runs show export rm explain";
    for command in commands.split(' ') {
        let ran = fathom([command, "--help"]).expect(0);
        assert!(
            ran.out.contains(&format!("fathom {command}")) && ran.err.is_empty(),
            "{command}: {}{}",
            ran.out,
            ran.err
        );
    }
}

/// Regression 0303: `--explain` and `--dry-run` did not show the commands that a run starts.
#[test]
fn commands_are_shown_before_everything_else() {
    let scratch = Scratch::new().expect("a directory");
    let job = "[a]\nfilename=HERE/x\nsize=1m\nexec_prerun=touch HERE/before\nexec_postrun=touch HERE/after\n\
               [b]\nioengine=exec\nprogram=/bin/touch\narguments=HERE/during\n";
    let file = scratch.join("job.fio");
    let here = scratch.path().display().to_string();
    std::fs::write(&file, job.replace("HERE", &here)).expect("a job file");
    let trigger = format!("touch {here}/trigger");
    for way in ["--explain", "--dry-run"] {
        for personality in ["run", "fio"] {
            if personality == "fio" && way == "--explain" {
                continue;
            }
            let ran = fathom([
                personality,
                way,
                "--trigger-timeout=10",
                &format!("--trigger={trigger}"),
                &file.display().to_string(),
            ]);
            if personality == "fio" && ran.code() != 0 {
                // fio has no such option.
                assert!(ran.err.contains(way), "{}", ran.err);
                continue;
            }
            let text = ran.expect(0).out;
            assert!(
                text.starts_with("Commands that this run starts"),
                "{way}: {text}"
            );
            let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_contains(
                &text,
                &[
                    &format!("a runs before its start (exec_prerun): touch {here}/before"),
                    &format!("a runs after its end (exec_postrun): touch {here}/after"),
                    &format!("b runs during its run (ioengine=exec): /bin/touch {here}/during"),
                    &format!("(--trigger): {trigger}"),
                ],
            );
            let left = std::fs::read_dir(scratch.path()).expect("there").count();
            assert_eq!(left, 1, "nothing was run");
        }
    }
    // Also where the run would be refused.
    std::fs::write(scratch.join("x"), vec![b'x'; 1 << 20]).expect("somebody's data");
    std::fs::write(
        &file,
        job.replace("HERE", &here)
            .replace("size=1m", "size=1m\nrw=write"),
    )
    .expect("a job file");
    let ran = fathom(["run", "--dry-run", &file.display().to_string()]).expect(2);
    assert!(
        ran.out.starts_with("Commands that this run starts"),
        "{}",
        ran.out
    );
    // And before a sweep of the same jobs.
    let sweep = fathom([
        "sweep",
        "--dry-run",
        "--axis=bs=4k,8k",
        "--set=rw=read",
        &file.display().to_string(),
    ])
    .expect(0);
    assert!(
        sweep.out.starts_with("Commands that this run starts"),
        "{}",
        sweep.out
    );
}

/// Regression 0303: `--readonly` laid out files and ran commands.
#[test]
fn readonly_lays_out_nothing_and_runs_no_command() {
    let scratch = Scratch::new().expect("a directory");
    let here = scratch.path().display().to_string();
    let run = |personality: &str, more: &str| {
        let mut arguments = split_args(&format!("{personality} --readonly --name=a {more}"));
        arguments.push(format!("--directory={here}"));
        let mut command = common::program(arguments);
        command.current_dir(scratch.path());
        common::start(command).finish()
    };
    for (personality, code) in [("run", 2), ("fio", 1)] {
        for command in [
            format!("--exec_prerun=touch={here}/x --size=1m --ioengine=null"),
            format!("--exec_postrun=touch={here}/x --size=1m --ioengine=null"),
            format!("--ioengine=exec --program=/bin/touch --arguments={here}/x"),
            format!("--ioengine=null --size=1m --trigger=touch={here}/x --trigger-timeout=1"),
        ] {
            let ran = run(personality, &command).expect(code);
            assert_contains(&ran.err, &["runs a command, which --readonly forbids"]);
        }
        for job in [
            "--rw=read --size=1m",
            "--rw=read --size=1m --create_on_open=1",
            "--rw=read --size=1m --nrfiles=2",
            "--ioengine=filestat --size=1m",
            "--ioengine=dirstat",
            "--rw=read --size=1m --filename=new/directory/x",
        ] {
            let ran = run(personality, job);
            assert_ne!(ran.code(), 0, "{job}: {}{}", ran.out, ran.err);
            assert_contains(&ran.err, &["does not exist"]);
        }
        let left = std::fs::read_dir(scratch.path()).expect("there").count();
        assert_eq!(left, 0, "{personality}: nothing was made");
    }
    // A file that is too short is read as far as it goes, and stays so.
    fathom([
        "run",
        "--name=a",
        "--rw=write",
        "--size=64k",
        &format!("--filename={here}/own"),
    ])
    .expect(0);
    let ran = run("run", "--rw=read --bs=4k --size=1m --filename=own").expect(0);
    assert_contains(&ran.out, &["16 I/Os planned = 16 ok"]);
    let size = std::fs::metadata(scratch.join("own")).expect("there").len();
    assert_eq!(size, 64 << 10);
    for experiment in ["sweep --axis=bs=4k,8k", "search --slo=p99<=1s"] {
        for (job, reason) in [
            ("rw=write", "writes, which --read-only forbids"),
            ("exec_prerun=touch x", "--read-only allows no command"),
        ] {
            std::fs::write(
                scratch.join("job.fio"),
                format!("[a]\nfilename=own\nsize=64k\n{job}\n"),
            )
            .expect("a job file");
            let mut command =
                common::program(split_args(&format!("{experiment} job.fio --read-only")));
            command.current_dir(scratch.path());
            let ran = common::start(command).finish().expect(2);
            assert_contains(&ran.err, &[reason]);
        }
    }
    assert!(!scratch.join("x").exists());
}

/// Regression 0415: the line of `--showcmd` had no program name, and a shell split its arguments.
#[test]
fn a_shown_command_works_when_it_is_pasted() {
    let shown = fathom([
        "run",
        "--showcmd",
        "--name=a b",
        "--description=it's $HOME",
        "--ioengine=null",
        "--size=1m",
        "--number_ios=3",
    ])
    .expect(0)
    .out;
    let line = shown.trim().strip_prefix("fathom ").expect("the program");
    let pasted = format!("{} {line} --no-store --output-format=json", common::FATHOM);
    let ran = std::process::Command::new("sh")
        .args(["-c", &pasted])
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{shown}: {text}");
    let json: serde_json::Value = serde_json::from_str(&text).expect("a document");
    assert_eq!(json["jobs"][0]["jobname"], "a b");
    assert_eq!(json["jobs"][0]["read"]["total_ios"], 3);
    assert_eq!(json["jobs"][0]["desc"], "it's $HOME");
}

/// The expected number of distinct blocks, block by block.
fn expected_distinct(weights: &[f64], draws: i32) -> f64 {
    let total: f64 = weights.iter().sum();
    let seen = |weight: &f64| 1.0 - (1.0 - weight / total).powi(draws);
    weights.iter().map(seen).sum()
}

fn with_commas(number: f64) -> String {
    let text = format!("{number:.0}");
    match text.len() {
        0..=3 => text,
        n => format!("{},{}", &text[..n - 3], &text[n - 3..]),
    }
}

/// Regression 0536: nothing said how many blocks a skewed job touches, before or after the run. The expectation is the sum over
/// all blocks, and the log of the run's own I/Os.
#[test]
fn skewed_jobs_state_how_many_blocks_they_touch() {
    let zipf: Vec<f64> = (1..=4096).map(|rank| f64::from(rank).powf(-1.2)).collect();
    let expected = expected_distinct(&zipf, 4096);
    let job = "[z]\nfilename=HERE/data\nrw=randread\nbs=4k\nsize=16m\nioengine=psync\nrandom_distribution=zipf:1.2\n";
    let (scratch, text) = explain(job);
    let sentence = format!(
        "zipf 1.2 over 4,096 blocks: 4,096 I/Os touch {} different blocks (expected value), {:.0} % of the I/Os repeat one",
        with_commas(expected),
        100.0 * (1.0 - expected / 4096.0)
    );
    assert_contains(&text, &[&sentence]);
    // 80 % of 1,000 accesses go to 20 % of the blocks.
    let exponent = 0.8_f64.ln() / 0.2_f64.ln();
    let below = |rank: u32| (f64::from(rank) / 4096.0).powf(exponent);
    let pareto: Vec<f64> = (1..=4096)
        .map(|rank| below(rank) - below(rank - 1))
        .collect();
    let (_other, text) = explain(&job.replace("zipf:1.2", "pareto:0.2\nnumber_ios=1000"));
    let sentence = format!(
        "pareto 0.2 over 4,096 blocks: 1,000 I/Os touch {} different blocks",
        with_commas(expected_distinct(&pareto, 1000))
    );
    assert_contains(&text, &[&sentence]);
    // A run reads about as many different blocks, and says so.
    let log = scratch.join("log");
    let ran = fathom([
        "run",
        "--no-store",
        &scratch.join("job.fio").display().to_string(),
        &format!("--set=write_iolog={}", log.display()),
    ])
    .expect(0);
    let log = std::fs::read_to_string(log).expect("the log");
    let offsets: std::collections::BTreeSet<&str> = log
        .lines()
        .filter_map(|line| line.split_once(" read ")?.1.split(' ').next())
        .collect();
    let seen = offsets.len() as f64;
    assert!(
        (seen - expected).abs() < 4.0 * expected.sqrt(),
        "{seen} {expected}"
    );
    let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let finding = format!(
        "Of 4,096 reads under zipf 1.2 over 4,096 blocks, {:.0} % repeat an earlier one (expected value)",
        100.0 * (1.0 - expected / 4096.0)
    );
    assert_contains(&text, &[&finding]);
}

/// Regression 0539: `--explain` did not show the queue of the device. The number of requests is that of sysfs.
#[test]
fn the_queue_of_the_device_is_shown() {
    use std::os::unix::fs::MetadataExt;
    let (scratch, text) =
        explain("[q]\nfilename=HERE/data\nrw=randread\nsize=1m\nioengine=libaio\niodepth=64\n");
    let id = std::fs::metadata(scratch.path())
        .expect("a directory")
        .dev();
    let device = format!(
        "/sys/dev/block/{}:{}",
        rustix::fs::major(id),
        rustix::fs::minor(id)
    );
    let requests = std::fs::read_to_string(format!("{device}/queue/nr_requests"));
    let Ok(requests) = requests else {
        eprintln!(
            "skipped: the file system of the scratch directory has no block device of its own"
        );
        return;
    };
    assert_contains(
        &text,
        &["queue of ", &format!("{} requests each", requests.trim())],
    );
    if let Ok(depth) = std::fs::read_to_string(format!("{device}/device/queue_depth")) {
        assert_contains(&text, &[&format!("device queue depth {}", depth.trim())]);
    }
}
