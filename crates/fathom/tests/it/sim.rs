//! `fathom sim`, and sweeps and searches of a simulated device.

use crate::common;
use crate::common::{Completed, fathom};
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
        let done = sim(&directory, &["--machine", device, "--set", &set, "--json"]).expect(0);
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

/// The response to an I/O begins when it is due, not when the full queue admits it: of 1,000 reads at 2,000 per second, which one server
/// of 1 ms does one after the other, read `n` is due after `n` / 2 ms and ends after `n` + 1 ms.
#[test]
fn a_response_begins_when_the_read_is_due() {
    let job = "[a]\ndirect=1\nioengine=libaio\nbs=4k\nrw=randread\nfilename=x\nsize=64m\niodepth=1\nrate_iops=2000\n\
        number_ios=1000\n";
    let directory = directory(job);
    let json = sim(&directory, &["--machine", "servers(service=1ms)", "--json"])
        .expect(0)
        .json();
    let sum_ms: f64 = (0..1000)
        .map(|n| f64::from(n) + 1.0 - f64::from(n) / 2.0)
        .sum();
    let expected = sum_ms / 1000.0 * 1e6;
    let found = json.number("/fathom/entries/0/read/response_ns/mean");
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    assert_eq!(json.number("/jobs/0/read/clat_ns/mean"), 1e6);
}

/// A random job of two blocks reads both, also the last one: of 1,000 reads, either one is missing in one case of 2^999.
#[test]
fn random_reads_reach_the_first_and_the_last_block() {
    let directory = Scratch::new().expect("a directory");
    let prefix = directory.join("log").display().to_string();
    for options in [
        "norandommap",
        "random_distribution=zipf:0.5",
        "norandommap=0",
    ] {
        let job =
            format!("{JOB}size=8k\nruntime=1\nwrite_lat_log={prefix}\nlog_offset=1\n{options}\n");
        std::fs::write(directory.join("job.fio"), job).expect("a job file");
        sim(&directory, &["--machine", "servers(service=1ms)"]).expect(0);
        let log = std::fs::read_to_string(directory.join("log_clat.1.log")).expect("a log");
        let offsets: std::collections::BTreeSet<&str> = log
            .lines()
            .filter_map(|line| line.split(", ").nth(4))
            .collect();
        assert_eq!(
            offsets.into_iter().collect::<Vec<_>>(),
            ["0", "4096"],
            "{options}"
        );
    }
}

/// Little's law counts each I/O once: one at a time is in flight, whatever share of them are slow. Three reads of 1 ms to each write of
/// 3 ms: the mean of all is 1.5 ms, that of both kinds 2 ms.
#[test]
fn one_at_a_time_of_a_mix_is_one_in_flight() {
    let job = "[a]\ndirect=1\nioengine=psync\nbs=4k\nrw=randrw\nrwmixread=75\nfilename=x\nsize=64m\nnorandommap\n\
        time_based\nruntime=20\n";
    let directory = directory(job);
    let device = "servers(service=1ms, service_write=3ms)";
    let json = sim(&directory, &["--machine", device, "--json"])
        .expect(0)
        .json();
    let found = json.number("/fathom/entries/0/littles_law/in_flight");
    assert!((found - 1.0).abs() < 0.005, "{found}");
}

/// Two reads at once of one server of 1 ms take 1 and 2 ms. Their standard deviation, of a sample, is 1 ms / sqrt(2); over both
/// of them it would be 0.5 ms.
#[test]
fn the_standard_deviation_is_that_of_a_sample() {
    let job = "[a]\ndirect=1\nioengine=libaio\nbs=4k\nrw=randread\nfilename=x\nsize=1m\niodepth=2\nnumber_ios=2\n";
    let directory = directory(job);
    let json = sim(&directory, &["--machine", "servers(service=1ms)", "--json"])
        .expect(0)
        .json();
    let clat = |name: &str| json.number(&format!("/jobs/0/read/clat_ns/{name}"));
    assert_eq!((clat("min"), clat("max"), clat("N")), (1e6, 2e6, 2.0));
    let expected = 1e6 / 2f64.sqrt();
    let found = clat("stddev");
    assert!((found / expected - 1.0).abs() < 0.008, "{found}");
}

/// Reads of 700 ms one after the other end at 0.7, 1.4, 2.1, ... s. Each is in the half second that contains its end, not in the one
/// that it ends.
#[test]
fn a_completion_is_in_the_interval_that_contains_it() {
    let job = "[a]\ndirect=1\nioengine=psync\nbs=4k\nrw=randread\nfilename=x\nsize=1m\nnorandommap\ntime_based\nruntime=6\n";
    let directory = directory(job);
    let path = |name: &str| directory.join(name).display().to_string();
    let (job, store, table) = (path("job.fio"), path("store.db"), path("time.csv"));
    let device = "--machine=servers(service=700ms)";
    fathom(["sim", &job, device, "--store", &store, "--quiet"]).expect(0);
    let chart = ["--chart=time", "-o", &table, "--store", &store];
    fathom(["plot", "r1"].iter().chain(&chart)).expect(0);
    let text = std::fs::read_to_string(&table).expect("the table");
    let rows: Vec<&str> = text.lines().skip(1).take(12).collect();
    let ends: Vec<u64> = (1..=8).map(|number| number * 700).collect();
    let expected: Vec<String> = (0..12)
        .map(|half: u64| {
            let from = half * 500;
            let ios = ends.iter().filter(|end| (from..from + 500).contains(*end));
            format!("{},{}", (from + 250) as f64 / 1000.0, 2 * ios.count())
        })
        .collect();
    assert_eq!(rows, expected, "{text}");
}

/// A small write to RAID 5 reads the old data and the old parity at the same time and then writes both: 2 ms on disks of 1 ms. A mirror
/// only writes.
#[test]
fn a_small_write_to_raid_5_reads_before_it_writes() {
    let job = "[a]\ndirect=1\nioengine=psync\nbs=4k\nrw=randwrite\nfilename=x\nsize=64m\nnorandommap\nnumber_ios=500\n";
    let directory = directory(job);
    for (level, mean_ns) in [("raid5", 2e6), ("raid6", 2e6), ("raid10", 1e6)] {
        let device = format!("{level}(4 x servers(service=1ms))");
        let json = sim(&directory, &["--machine", &device, "--json"])
            .expect(0)
            .json();
        let found = json.number("/jobs/0/write/clat_ns/mean");
        assert!((found / mean_ns - 1.0).abs() < 0.005, "{level}: {found}");
    }
}

/// Poisson arrivals at half the rate of one exponential server wait as long as they are served.
#[test]
fn an_open_loop_is_an_m_m_1_queue() {
    let job = "[a]\ndirect=1\nioengine=libaio\nbs=4k\nrw=randread\nfilename=x\niodepth=256\nrate_iops=5000\nrate_process=poisson\ntime_based\nruntime=60\n";
    let directory = directory(job);
    let device = "servers(service=100us, distribution=exponential)";
    let json = sim(&directory, &["--machine", device, "--json"])
        .expect(0)
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
        sim(&directory, &["--machine", device, "--seed", seed, "--json"])
            .expect(0)
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
        let mut line = vec!["--machine", "servers(count=4, service=1ms)", "--json"];
        set.iter().for_each(|set| line.extend(["--set", set]));
        let json = sim(&directory, &line).expect(0).json();
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
    let done = sim(&directory, &["--machine", "hdd-7200"]).expect(0);
    assert_eq!(
        done.out.lines().next(),
        Some("Simulated, not measured: hdd-7200 (seed 1)")
    );
}

#[test]
fn what_cannot_be_simulated_is_refused_with_the_reason() {
    for (job, device, part) in [
        (JOB, "hdd-720", "--machine:1:1: unknown model 'hdd-720'"),
        (JOB, "raid6(3 x hdd-7200)", "--machine:1:1: "),
        (JOB, "hdd-7200(seek_average=8)", "missing unit in '8'"),
        ("[a]\nioengine=null\nsize=1m\n", "hdd-7200", "a: ioengine"),
        (
            "[a]\nrw=write\nverify=crc32c\nsize=2g\nfilename=x\n",
            "hdd-7200",
            "verify: the jobs may write 2.0 GiB",
        ),
        (
            "[a]\nrw=read\nsize=2m\nfilename=x\n",
            "floppy-1440",
            "has 1474560; reduce size=",
        ),
    ] {
        let directory = directory(job);
        let done = sim(&directory, &["--machine", device]).expect(2);
        assert!(done.err.contains(part), "{device}: {}", done.err);
    }
    let directory = directory(JOB);
    assert!(sim(&directory, &[]).expect(2).err.contains("no machine"));
}

/// 24 cells; each is the arithmetic of the servers.
#[test]
fn a_sweep_and_a_search_of_a_simulated_device() {
    let directory = directory(JOB);
    let job = directory.join("job.fio").display().to_string();
    let device = "--machine=servers(count=8, service=1ms)";
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
    let json = fathom(sweep).expect(0).json();
    let cells = json.0["cells"].as_array().or(json.0["rows"].as_array());
    let cells = cells.expect("cells");
    assert_eq!(cells.len(), 24, "{}", json.0);
    for cell in cells {
        let text = cell.to_string();
        let value = |axis: &str| -> f64 {
            let axes = cell["axes"].as_object().or(cell["values"].as_object());
            let value = axes.and_then(|axes| axes.get(axis)).expect(&text);
            value
                .as_f64()
                .or_else(|| value.as_str()?.parse().ok())
                .expect(&text)
        };
        let expected = (value("iodepth") * value("numjobs")).min(8.0) * 1000.0;
        let iops = cell["iops"].as_f64().expect(&text);
        assert!((iops / expected - 1.0).abs() < 0.005, "{expected}: {text}");
    }
    let search = [
        "search",
        &job,
        "--slo=mean<=2ms",
        device,
        "--no-store",
        "--quiet",
    ];
    let done = fathom(search).expect(0);
    assert!(done.out.contains("IOPS"), "{}", done.out);
}

#[test]
fn a_comparison_of_simulated_and_measured_says_so() {
    let directory = directory(JOB);
    let store = format!("--store={}", directory.join("store").display());
    let job = directory.join("job.fio").display().to_string();
    fathom(["sim", &job, "--machine=hdd-7200", &store]).expect(0);
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
    .expect(0);
    let done = fathom(["compare", "r1", "r2", &store]);
    assert!(
        done.err
            .contains("r1 is simulated, other results are measured"),
        "{}{}",
        done.out,
        done.err
    );
}

/// Regression 0761: a comparison of a simulated with a measured JSON file did not say so.
#[test]
fn a_comparison_of_simulated_and_measured_files_says_so() {
    let directory = directory(JOB);
    let job = directory.join("job.fio").display().to_string();
    let file = |name: &str| directory.join(name).display().to_string();
    let simulated = |name: &str, device: &str| {
        let device = format!("--machine={device}");
        let output = format!("--output={}", file(name));
        fathom(["sim", &job, &device, "--no-store", "--json", &output]).expect(0);
    };
    simulated("a.json", "hdd-7200");
    simulated("b.json", "hdd-10k");
    fathom([
        "run",
        "--name=a",
        "--ioengine=null",
        "--rw=randread",
        "--bs=4k",
        "--size=1m",
        "--time_based",
        "--runtime=1",
        "--no-store",
        "--output-format=json",
        &format!("--output={}", file("c.json")),
    ])
    .expect(0);
    let compare = |second: &str| {
        let done = fathom(["compare", &file("a.json"), &file(second), "--unlike"]);
        (
            done.err
                .contains("a.json is simulated, other results are measured"),
            done,
        )
    };
    let (warned, done) = compare("c.json");
    assert!(warned, "{}{}", done.out, done.err);
    let (warned, done) = compare("b.json");
    assert!(!warned, "{}{}", done.out, done.err);
}

/// Regression 0957: a chart of a simulated result said "Measured with fathom", and charts and reports of simulated beside
/// measured results did not say that they are both.
#[test]
fn regression_0957_charts_and_reports_say_what_is_simulated() {
    let directory = directory(JOB);
    let job = directory.join("job.fio").display().to_string();
    let store = format!("--store={}", directory.join("store").display());
    fathom(["sim", &job, "--machine=hdd-7200", &store]).expect(0);
    let null = [
        "run",
        "--name=a",
        "--ioengine=null",
        "--rw=randread",
        "--size=1m",
    ];
    let short = ["--bs=4k", "--time_based", "--runtime=1", "--json", &store];
    fathom(null.iter().chain(&short)).expect_measured();
    let drawn = |command: &str, runs: &[&str], name: &str| {
        let file = directory.join(name).display().to_string();
        let line = [command, "-o", &file, &store];
        let done = fathom(line.iter().chain(runs)).expect(0);
        (done.err, std::fs::read_to_string(file).expect("a file"))
    };
    let (said, page) = drawn("plot", &["r1"], "one.html");
    assert!(!said.contains("other results are measured"), "{said}");
    assert!(page.contains("Simulated, not measured, with fathom"));
    for (command, name) in [("plot", "both.svg"), ("report", "both.md")] {
        let (said, _) = drawn(command, &["r1", "r2"], name);
        assert!(
            said.contains("simulated, other results are measured"),
            "{said}"
        );
    }
}

/// Regression 0980: a stored simulated run looked like a measured one in `runs`, `show` of an experiment, exports, OpenMetrics and
/// comparisons, a report of it said "measured by fio", and an answer of `size` from it said "Measured".
#[test]
fn regression_0980_stored_simulated_runs_are_marked() {
    const DEVICE: &str = "servers(count=8, service=1ms)";
    let directory = directory(JOB);
    let store = format!("--store={}", directory.join("store").display());
    let job = directory.join("job.fio").display().to_string();
    let device = format!("--machine={DEVICE}");
    fathom(["sim", &job, &device, &store]).expect(0);
    fathom(["sweep", &job, "--axis=iodepth=1,2", &device, &store]).expect(0);
    let measured = "--name=a --ioengine=null --rw=randread --bs=4k --size=1m --number_ios=100";
    let measured = ["run"].into_iter().chain(measured.split(' '));
    fathom(measured.chain([store.as_str()])).expect(0);
    let junit = directory.join("cases.xml").display().to_string();
    let sweep = ["sweep", &job, "--axis=iodepth=1", &device, "--no-store"];
    fathom(sweep.into_iter().chain(["--junit", &junit])).expect(0);
    let cases = std::fs::read_to_string(&junit).expect("test cases");
    assert!(cases.contains(&format!("(simulated: {DEVICE})")), "{cases}");
    let text = |line: &[&str]| {
        fathom(line.iter().copied().chain([store.as_str()]))
            .expect(0)
            .out
    };
    let runs = text(&["runs"]);
    let line = |run: &str| runs.lines().find(|line| line.starts_with(run));
    for (run, kind, simulated) in [
        ("r1 ", "run (simulated)", true),
        ("r2 ", "sweep (simulated)", true),
        ("r3 ", "run", false),
    ] {
        let line = line(run).expect(&runs);
        assert!(
            line.contains(kind) && line.contains("simulated") == simulated,
            "{runs}"
        );
    }
    let json = fathom(["runs", "--json", store.as_str()]).expect(0).json();
    for run in [0, 1] {
        assert_eq!(json.text(&format!("/runs/{run}/simulated/device")), DEVICE);
        assert_eq!(json.number(&format!("/runs/{run}/simulated/seed")), 1.0);
    }
    assert!(json.0["runs"][2]["simulated"].is_null(), "{}", json.0);
    let shown = text(&["show", "r2"]);
    let first = format!("Simulated, not measured: {DEVICE} (seed 1)\n");
    assert!(shown.starts_with(&first), "{shown}");
    // A line for each cell: one of r1, two of r2, one of r3.
    let csv = text(&["export", "r1", "r2", "r3"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 5, "{csv}");
    assert!(lines[0].contains(",elapsed_ns,simulated,"), "{csv}");
    let marked = lines.iter().filter(|line| line.contains(DEVICE)).count();
    assert_eq!(marked, 3, "{csv}");
    assert!(!text(&["export", "r3"]).contains("simulated"));
    let file = directory.join("all.parquet").display().to_string();
    fathom(["export", "r1", "r3", "-o", &file, &store]).expect(0);
    let parquet = std::fs::read(&file).expect("a file");
    let has = |text: &str| {
        parquet
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(has("simulated") && has(DEVICE));
    for metrics in [
        text(&["export", "r1", "--format=openmetrics"]),
        text(&["show", "r1", "--format=prometheus"]),
    ] {
        assert!(
            metrics.contains(&format!("simulated=\"{DEVICE}\"")),
            "{metrics}"
        );
        assert!(
            metrics.contains(&format!("device=\"{DEVICE} (simulated)\"")),
            "{metrics}"
        );
    }
    let report = text(&["report", "r1", "--format=md"]);
    assert!(report.contains("(simulated)"), "{report}");
    assert!(!report.to_lowercase().contains("measured by"), "{report}");
    let compared = fathom(["compare", "r1", "r3", "--unlike", "--format=json", &store]);
    let inputs = &compared.json().0["comparison"]["inputs"];
    assert_eq!(inputs[0]["simulated_results"], 1, "{inputs}");
    assert!(inputs[1]["simulated_results"].is_null(), "{inputs}");
    let sized = text(&["size", "--from=r1", "--what-if=drives=2->4"]);
    assert!(sized.starts_with("Simulated: "), "{sized}");
    let sized = sized.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(sized.contains("(r1, simulated)"), "{sized}");
}

/// A suite on a simulated device. One read at a time on one server of 2 ms: 500 per second in every region, and the first line says
/// that it is simulated.
#[test]
fn a_suite_of_a_simulated_device() {
    let suite = |more: &[&str]| {
        let line = ["suite", "working-set", "/dev/sim", "--no-store", "--quiet"];
        fathom(line.iter().chain(more))
    };
    let device = "--machine=servers(service=2ms, capacity=1G)";
    let done = suite(&[device]).expect(0);
    assert_eq!(
        done.out.lines().next(),
        Some("Simulated, not measured: servers(service=2ms, capacity=1G) (seed 1)")
    );
    let json = suite(&[device, "--json"]).expect(0).json();
    assert_eq!(json.number("/simulated/seed"), 1.0);
    let cells = json.0["steps"][0]["result"]["cells"]
        .as_array()
        .expect("cells");
    // 16m, 64m, 256m and 1g are within 1 GiB.
    assert_eq!(cells.len(), 4, "{}", json.0);
    for cell in cells {
        let iops = cell["iops"].as_f64().expect("a rate");
        assert!((iops / 500.0 - 1.0).abs() < 0.005, "{cell}");
    }
    let size = suite(&[device, "--size=2g"]).expect(2);
    assert!(
        size.err.contains("has 1.00 GiB") || size.err.contains("has 1 GiB"),
        "{}",
        size.err
    );
}

/// Sweeps and searches say that they are simulated, as text and as JSON.
#[test]
fn sweeps_and_searches_say_that_they_are_simulated() {
    let directory = directory(JOB);
    let job = directory.join("job.fio").display().to_string();
    let device = "--machine=servers(count=8, service=1ms)";
    for line in [
        ["sweep", &job, "--axis=iodepth=1,2"],
        ["search", &job, "--slo=mean<=2ms"],
    ] {
        let run = |more: &[&str]| {
            let common = [device, "--no-store", "--quiet"];
            fathom(line.iter().chain(&common).chain(more)).expect(0)
        };
        assert_eq!(
            run(&[]).out.lines().next(),
            Some("Simulated, not measured: servers(count=8, service=1ms) (seed 1)")
        );
        let json = run(&["--json"]).json();
        assert_eq!(
            json.text("/simulated/device"),
            "servers(count=8, service=1ms)"
        );
    }
}

/// Regression 0762: a job that names more of a device than it has was refused; fio reads all of a smaller device. The published
/// jobs read 1,000 GiB of a disk of 1 TB. Of one server of 2 ms, 500 reads per second.
#[test]
fn a_device_that_is_smaller_than_the_job_says_is_read_to_its_end() {
    let directory = directory(&JOB.replace("filename=x", "filename=/dev/sdx1\nfilesize=1000g"));
    let device = "servers(service=2ms, capacity=1000204886016B)";
    let done = sim(&directory, &["--machine", device, "--json"]).expect(0);
    let json = done.json();
    let iops = json.number("/jobs/0/read/iops");
    assert!((iops / 500.0 - 1.0).abs() < 0.005, "{iops}");
    let text = sim(&directory, &["--machine", device]).expect(0);
    assert!(
        text.out
            .contains("has 1000204886016 bytes, not the requested"),
        "{}",
        text.out
    );
    let write = sim(&directory, &["--machine", device, "--set", "rw=randwrite"]).expect(2);
    assert!(write.err.contains("lower offset or size"), "{}", write.err);
}

/// Regression 0763: a simulation wrote no log files. One line for each I/O, in virtual time.
#[test]
fn simulations_write_the_logs_of_their_jobs() {
    let directory = Scratch::new().expect("a directory");
    let prefix = directory.join("log").display().to_string();
    let job = format!("{JOB}write_lat_log={prefix}\nwrite_iops_log={prefix}\n");
    std::fs::write(directory.join("job.fio"), job).expect("a job file");
    let device = "servers(service=1ms)";
    let json = sim(&directory, &["--machine", device, "--json"])
        .expect(0)
        .json();
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).expect("a log");
    let latencies = read("log_clat.1.log");
    let lines: Vec<&str> = latencies.lines().collect();
    assert_eq!(lines.len() as f64, json.number("/jobs/0/read/total_ios"));
    // Each read takes 1 ms, the last of them ends at 20 s.
    assert!(lines.iter().all(|line| line.contains(", 1000000, 0, 4096")));
    let last: u64 = lines
        .last()
        .and_then(|line| line.split(',').next()?.parse().ok())
        .expect("a time");
    assert!((19_990..=20_000).contains(&last), "{last}");
    assert!(!read("log_iops.1.log").is_empty());
}

/// Skewed reads repeat blocks, which the disk's memory holds. A measurement of this disk gave 8.5 ms with a zipf distribution, and
/// 12.5 ms without.
#[test]
fn repeated_reads_of_a_disk_come_from_its_memory() {
    let mean = |job: &str| {
        let path = format!("{}/../../jobs/{job}", env!("CARGO_MANIFEST_DIR"));
        let device = "--machine=st91000640ss";
        let line = ["sim", &path, device, "--no-store", "--quiet", "--json"];
        let set = "--set=filesize=1000g";
        fathom(line.iter().chain(&[set]))
            .expect(0)
            .json()
            .number("/jobs/0/read/clat_ns/mean")
            / 1e6
    };
    let (uniform, zipf) = (
        mean("hdd-working-set.fio"),
        mean("hdd-working-set-zipf.fio"),
    );
    assert!((uniform / 12.5 - 1.0).abs() < 0.08, "{uniform} ms");
    assert!((zipf / 8.5 - 1.0).abs() < 0.2, "{zipf} ms");
}

/// SATA at 3 Gbit/s carries 300 MB/s after 8b/10b, an 8 Gbit/s lane of PCIe 3.0 985 MB/s after 128b/130b, whatever the flash
/// behind it reads; 4 KiB reads are the rate of the flash as before.
#[test]
fn a_link_in_front_of_the_device_is_a_ceiling() {
    let directory = directory(JOB);
    let device = "servers(count=64, service=1ms)";
    let run = |more: &[&str]| {
        let set = ["--set", "iodepth=64", "--json", "--machine", device];
        let json = sim(&directory, &[&set[..], more].concat()).expect(0).json();
        let bytes = json.number("/jobs/0/read/bw_bytes") / 1e6;
        (bytes, json.text("/fathom/simulated/device").to_owned())
    };
    let large = ["--set", "bs=128k"];
    // 64 x 128 KiB each millisecond.
    let (without, _) = run(&large);
    assert!((without / 8388.6 - 1.0).abs() < 0.02, "{without}");
    for (link, least, most, name) in [
        ("sata3", 290.0, 300.0, "sata-300("),
        ("sata6", 570.0, 600.0, "sata-600("),
        ("pcie3x1", 980.0, 985.0, "link("),
    ] {
        let (with, device) = run(&[&large[..], &["--link", link]].concat());
        assert!((least..=most).contains(&with), "{link}: {with}");
        assert!(device.starts_with(name), "{device}");
    }
    let (small, _) = run(&["--link", "pcie4x16"]);
    assert!((small / 262.1 - 1.0).abs() < 0.02, "{small}");
    // Mistakes say what to do.
    let wrong = sim(&directory, &["--machine", device, "--link", "sata9"]).expect(2);
    assert!(
        wrong.err.contains("--list-links") || wrong.err.contains("sata6"),
        "{}",
        wrong.err
    );
    let alone = sim(&directory, &["--link", "sata6"]).expect(2);
    assert!(alone.err.contains("--machine"), "{}", alone.err);
}

/// Regression 0872: a job whose directory does not exist on this machine was refused, although nothing is opened or created.
#[test]
fn directories_of_the_jobs_need_not_exist() {
    let job = JOB.replace("filename=x", "directory=/no/such/directory\nsize=1g");
    let directory = directory(&job);
    let json = sim(&directory, &["--machine", "servers(service=1ms)", "--json"])
        .expect(0)
        .json();
    assert!((json.number("/jobs/0/read/iops") / 1000.0 - 1.0).abs() < 0.01);
    assert!(!std::path::Path::new("/no").exists());
}

/// The words of a command line; `'` quotes.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for character in command.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("a word").push(other),
        }
    }
    words
}

/// What a row of the page can quote of a result: IOPS, bandwidth, mean and median, each in the units that are usual.
fn quotable(json: &common::Json) -> Vec<f64> {
    let jobs = json.0["jobs"].as_array().expect("jobs");
    let mut figures = Vec::new();
    let mut all = 0.0;
    for direction in ["read", "write"] {
        let of = |pointer: &str| -> Vec<f64> {
            let one = |job: &serde_json::Value| job[direction].pointer(pointer)?.as_f64();
            jobs.iter().filter_map(one).collect()
        };
        let iops: f64 = of("/iops").iter().sum();
        let bytes: f64 = of("/bw_bytes").iter().sum();
        all += iops;
        figures.extend([iops, bytes / 1e6, bytes / 1e9]);
        for pointer in ["/clat_ns/mean", "/clat_ns/percentile/50.000000"] {
            let ns = of(pointer).first().copied().unwrap_or(0.0);
            figures.extend([ns / 1e3, ns / 1e6]);
        }
    }
    figures.push(all);
    figures
}

/// Every simulation on the page of published figures gives the figures of the page.
#[test]
fn the_page_of_published_figures_has_the_figures_of_the_simulations() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = std::fs::read_to_string(format!("{root}/docs/seed-answers.md")).expect("the page");
    let mut rows = 0;
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let Some((_, command)) = line.split_once("`fathom sim ") else {
            continue;
        };
        let command = command.split('`').next().expect("its end");
        let mut arguments = vec!["sim".to_owned()];
        arguments.extend(
            words(command)
                .into_iter()
                .map(|word| match word.strip_prefix("jobs/") {
                    Some(job) => format!("{root}/jobs/{job}"),
                    None => word,
                }),
        );
        arguments.extend(["--no-store", "--quiet", "--json"].map(str::to_owned));
        let json = fathom(&arguments).expect(0).json();
        let known = quotable(&json);
        let ours = line.split(" | ").nth(2).expect("our figures");
        for figure in ours.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')) {
            let figure = figure.trim_matches([',', '.']).replace(',', "");
            let Ok(value) = figure.parse::<f64>() else {
                continue;
            };
            let decimals = figure.split_once('.').map_or(0, |(_, after)| after.len());
            let half = 0.501 * 10_f64.powi(-(decimals as i32));
            assert!(
                known.iter().any(|known| (known - value).abs() <= half),
                "{figure} of '{line}' is not in {known:?}"
            );
        }
        rows += 1;
    }
    assert!(rows >= 19, "{rows} rows");
}
