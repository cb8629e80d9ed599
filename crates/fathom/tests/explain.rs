//! `--explain`: the timeline of a job file before it runs, compared with arithmetic by hand.

mod common;

use common::{Completed, fathom, split_args};
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
    // 2 x 1 GiB, 70 % of it read: 1.4 GiB = 367,001 reads at 100 a second are 3670 s; 614.4 MiB
    // written: 157,286 at 50 are 3145 s.
    let (_scratch, text) = explain(
        "[a]\ndirectory=HERE\nrw=randrw\nrwmixread=70\nsize=1g\nloops=2\nnumjobs=4\nrate_iops=100,50\n",
    );
    assert_contains(
        &text,
        &[
            "4 jobs, all in parallel: at least 1 h 1 min 10 s.",
            "each of 4 clones reads about 1.4 GiB and writes about 614.4 MiB (2 loops over 1 GiB)",
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
        &["x is made, with room for 100 MiB", "100 MiB are written"],
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
    let commands = "run quick sweep search suite resume devices compare plot report import check spec runs show export rm explain";
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
