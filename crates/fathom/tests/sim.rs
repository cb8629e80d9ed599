//! `fathom sim`, and sweeps and searches of a simulated device.

mod common;

use common::{Completed, fathom};
use fathom_testkit::Scratch;

const JOB: &str = "[global]\ndirect=1\nioengine=libaio\nbs=4k\nrw=randread\nfilename=x\ntime_based\nruntime=20\n[a]\n";

fn directory(job: &str) -> Scratch {
    let directory = Scratch::new().expect("a directory");
    std::fs::write(directory.join("job.fio"), job).expect("a job file");
    directory
}

fn sim(directory: &Scratch, more: &[&str]) -> Completed {
    let job = directory.join("job.fio").display().to_string();
    let line = ["sim", &job, "--no-store", "--quiet"];
    fathom(line.iter().chain(more))
}

/// 5 servers of 1 ms do 1,000 I/Os per second for each one in flight, at most 5,000.
#[test]
fn the_figures_are_those_of_the_model() {
    let directory = directory(JOB);
    for (depth, iops, mean_ns) in [(1, 1000.0, 1e6), (5, 5000.0, 1e6), (20, 5000.0, 4e6)] {
        let set = format!("iodepth={depth}");
        let device = "servers(count=5, service=1ms)";
        let done = sim(&directory, &["--device", device, "--set", &set, "--json"]).expect_done();
        let json = done.json();
        let found = json.number("/jobs/0/read/iops");
        assert!((found / iops - 1.0).abs() < 0.005, "{depth}: {found}");
        let found = json.number("/jobs/0/read/clat_ns/mean");
        assert!((found / mean_ns - 1.0).abs() < 0.005, "{depth}: {found}");
        assert_eq!(json.text("/fathom/simulated/device"), device);
        assert_eq!(json.number("/fathom/simulated/seed"), 1.0);
        json.assert_conserved();
    }
}

/// Poisson arrivals at half the rate of one exponential server wait as long as they are served.
#[test]
fn an_open_loop_is_an_m_m_1_queue() {
    let job = "[a]\ndirect=1\nioengine=libaio\nbs=4k\nrw=randread\nfilename=x\niodepth=256\nrate_iops=5000\nrate_process=poisson\ntime_based\nruntime=60\n";
    let directory = directory(job);
    let device = "servers(service=100us, distribution=exponential)";
    let json = sim(&directory, &["--device", device, "--json"])
        .expect_done()
        .json();
    let mean = json.number("/jobs/0/read/clat_ns/mean");
    assert!((mean / 200_000.0 - 1.0).abs() < 0.03, "{mean}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let job = format!(
        "{JOB}[b]\nrw=randwrite\niodepth=4\n[c]\nioengine=psync\nnumjobs=3\nstartdelay=2\n"
    );
    let directory = directory(&job);
    let device = "sata-600(faults(hdd-7200, slow=1%, slow_time=50ms))";
    let run = |seed: &str| {
        sim(&directory, &["--device", device, "--seed", seed, "--json"])
            .expect_done()
            .out
    };
    let first = run("7");
    assert_eq!(first, run("7"));
    assert_ne!(first, run("8"));
}

/// Jobs share the device: two jobs at depth 4 get the rate of one at depth 8.
#[test]
fn jobs_share_the_device() {
    let directory = directory(JOB);
    let iops = |set: &[&str]| {
        let mut line = vec!["--device", "servers(count=4, service=1ms)", "--json"];
        set.iter().for_each(|set| line.extend(["--set", set]));
        let json = sim(&directory, &line).expect_done().json();
        let jobs = json.0["jobs"].as_array().expect("jobs").len();
        (0..jobs)
            .map(|job| json.number(&format!("/jobs/{job}/read/iops")))
            .collect::<Vec<f64>>()
    };
    let both = iops(&["numjobs=2", "iodepth=4"]);
    assert_eq!(both.len(), 2);
    assert!(
        both.iter().all(|one| (one / 2000.0 - 1.0).abs() < 0.01),
        "{both:?}"
    );
}

#[test]
fn the_text_says_first_that_it_is_simulated() {
    let directory = directory(JOB);
    let done = sim(&directory, &["--device", "hdd-7200"]).expect_done();
    assert_eq!(
        done.out.lines().next(),
        Some("Simulated, not measured: hdd-7200 (seed 1)")
    );
}

#[test]
fn what_cannot_be_simulated_is_refused_with_the_reason() {
    for (job, device, part) in [
        (JOB, "hdd-720", "--device:1:1: unknown model 'hdd-720'"),
        (JOB, "raid6(3 x hdd-7200)", "--device:1:1: "),
        (JOB, "hdd-7200(seek_average=8)", "missing unit in '8'"),
        ("[a]\nioengine=null\nsize=1m\n", "hdd-7200", "a: ioengine"),
        (
            "[a]\nrw=write\nverify=crc32c\nsize=1m\nfilename=x\n",
            "hdd-7200",
            "a: verify",
        ),
        (
            "[a]\nrw=read\nsize=2m\nfilename=x\n",
            "floppy-1440",
            "has 1474560; reduce size=",
        ),
    ] {
        let directory = directory(job);
        let done = sim(&directory, &["--device", device]).expect(2);
        assert!(done.err.contains(part), "{device}: {}", done.err);
    }
    let directory = directory(JOB);
    assert!(sim(&directory, &[]).expect(2).err.contains("no device"));
}

/// 24 cells; each is the arithmetic of the servers.
#[test]
fn a_sweep_and_a_search_of_a_simulated_device() {
    let directory = directory(JOB);
    let job = directory.join("job.fio").display().to_string();
    let device = "--device=servers(count=8, service=1ms)";
    let axes = ["--axis=iodepth=1..32*2", "--axis=numjobs=1,2,4,8"];
    let sweep = [
        "sweep",
        &job,
        axes[0],
        axes[1],
        device,
        "--json",
        "--no-store",
        "--quiet",
    ];
    let json = fathom(sweep).expect_done().json();
    let cells = json.0["cells"].as_array().or(json.0["rows"].as_array());
    assert_eq!(cells.expect("cells").len(), 24, "{}", json.0);
    let search = [
        "search",
        &job,
        "--slo=mean<=2ms",
        device,
        "--no-store",
        "--quiet",
    ];
    let done = fathom(search).expect_done();
    assert!(done.out.contains("IOPS"), "{}", done.out);
}

#[test]
fn a_comparison_of_simulated_and_measured_says_so() {
    let directory = directory(JOB);
    let store = format!("--store={}", directory.join("store").display());
    let job = directory.join("job.fio").display().to_string();
    fathom(["sim", &job, "--device=hdd-7200", &store]).expect_done();
    fathom([
        "run",
        "--name=a",
        "--ioengine=null",
        "--rw=randread",
        "--bs=4k",
        "--size=1m",
        "--time_based",
        "--runtime=1",
        &store,
    ])
    .expect_done();
    let done = fathom(["compare", "r1", "r2", &store]);
    assert!(
        done.err
            .contains("r1 is simulated, other results are measured"),
        "{}{}",
        done.out,
        done.err
    );
}
