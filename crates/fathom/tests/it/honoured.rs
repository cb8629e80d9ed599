//! Rare options have their effect: compared with fio or arithmetic.

use crate::peer::{FATHOM_FIO, FIO, Fixture, number, run};
use fathom_testkit::require;

/// Regression 0053: `file_append` was accepted but overwrote the file. Existing data is preserved
/// and, as in fio, new data follows it.
#[test]
fn appended_data_follows_existing_data() {
    require!(Fio);
    let job = "[a]\nfilename=log\nrw=write\nbs=4k\nsize=8k\nfile_append=1\nbuffer_pattern=0x5a\nioengine=psync\n";
    let [ours, theirs] = [&FATHOM_FIO[..], &FIO[..]].map(|program| {
        let fixture = Fixture::new(job);
        let path = fixture.0.path().join("log");
        std::fs::write(
            fixture.0.path().join("first.fio"),
            job.replace("file_append=1", "").replace("0x5a", "0x07"),
        )
        .expect("a job");
        for name in ["first.fio", "job.fio"] {
            let result = run(program, fixture.0.path(), &[name]);
            assert_eq!(result.code, Some(0), "{}", result.err);
        }
        std::fs::read(&path).expect("it still exists")
    });
    assert_eq!(ours.len(), 16384);
    assert!(
        ours[..8192].iter().all(|byte| *byte == 7) && ours[8192..].iter().all(|byte| *byte == 0x5a)
    );
    assert_eq!(ours, theirs);
}

/// Regression 0054: `disk_util=0` was accepted but the result still contained the disks.
#[test]
fn disk_util_0_omits_the_disks() {
    let with =
        |option: &str| Fixture::new(&format!("[d]\nfilename=x\nsize=64k\n{option}\n")).json(&[]);
    assert!(with("disk_util=0").get("disk_util").is_none());
}

#[test]
fn a_job_without_stats_runs_and_is_not_reported() {
    let fixture = Fixture::new(
        "[global]\nsize=64k\nrw=write\n[quiet]\nfilename=q\nstats=0\n[reported]\nfilename=t\n",
    );
    let json = fixture.json(&[]);
    let names: Vec<&str> = json["jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|job| job["jobname"].as_str())
        .collect();
    assert_eq!(names, ["reported"]);
    assert_eq!(
        std::fs::metadata(fixture.0.path().join("q"))
            .expect("it was written")
            .len(),
        65536
    );
}

#[test]
fn commands_of_a_job_run_before_and_after_it() {
    let fixture = Fixture::new(
        "[c]\nfilename=x\nsize=64k\nrw=write\nexec_prerun=echo before\nexec_postrun=wc -c < x\n",
    );
    fixture.json(&[]);
    assert_eq!(fixture.text("c.prerun.txt"), "before\n");
    assert_eq!(fixture.text("c.postrun.txt").trim(), "65536");
    let failing = Fixture::new("[c]\nioengine=null\nsize=64k\nexec_prerun=exit 7\n");
    let result = run(
        &FATHOM_FIO,
        failing.0.path(),
        &["--output-format=json", "job.fio"],
    );
    assert_eq!(result.code, Some(1));
    assert!(
        result.err.contains("exit status: 7") || result.out.contains("exit status: 7"),
        "{} {}",
        result.out,
        result.err
    );
}

#[test]
fn a_worker_runs_on_its_numa_nodes() {
    let fixture =
        Fixture::new("[n]\nioengine=null\nsize=64k\nnuma_cpu_nodes=0\nnuma_mem_policy=bind:0\n");
    assert_eq!(number(&fixture.json(&[]), "/jobs/0/read/total_ios"), 16.0);
    let invalid_node = Fixture::new("[n]\nioengine=null\nsize=64k\nnuma_cpu_nodes=1000\n");
    assert_eq!(
        run(&FATHOM_FIO, invalid_node.0.path(), &["job.fio"]).code,
        Some(1)
    );
}
