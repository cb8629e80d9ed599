//! Results of which reports are made.

use std::path::Path;

/// One job of a result of fio or fathom.
#[derive(Clone, Default)]
pub struct Job {
    pub name: &'static str,
    pub description: &'static str,
    pub rw: &'static str,
    pub block: u64,
    pub depth: u32,
    pub iops: f64,
    /// Median in microseconds; the p99 is four times as long.
    pub median: f64,
    pub cpu: f64,
    pub options: &'static str,
    /// Standard deviation of the samples of the rate, and their number.
    pub spread: (f64, u64),
}

impl Job {
    pub fn json(&self) -> String {
        let Job {
            name,
            description,
            rw,
            block,
            depth,
            iops,
            median,
            cpu,
            options,
            spread,
        } = self;
        let ns = median * 1e3;
        let direction = format!(
            r#"{{"iops": {iops}, "bw_bytes": {}, "total_ios": 100000, "iops_stddev": {}, "iops_samples": {},
            "clat_ns": {{"min": 1, "max": {}, "mean": {ns}, "stddev": 1.0, "N": 100000, "percentile": {{"50.000000": {ns}, "99.000000": {}, "99.900000": {}}}}}}}"#,
            iops * *block as f64,
            spread.0,
            spread.1,
            ns * 20.0,
            ns * 4.0,
            ns * 10.0
        );
        let directions = match *rw {
            "randrw" => format!(r#""read": {direction}, "write": {direction}"#),
            rw if rw.contains("write") => format!(r#""write": {direction}"#),
            _ => format!(r#""read": {direction}"#),
        };
        format!(
            r#"{{"jobname": "{name}", "job options": {{"rw": "{rw}", "bs": "{block}", "iodepth": "{depth}", "description": "{description}"{options}}},
            "usr_cpu": {cpu}, "sys_cpu": {cpu}, {directions}}}"#
        )
    }
}

/// A result of fathom with a verdict and findings.
pub fn result(jobs: &[Job], verdict: &str, findings: &str) -> String {
    let all: Vec<String> = jobs.iter().map(Job::json).collect();
    let names: Vec<String> = jobs
        .iter()
        .map(|job| format!(r#"{{"name": "{}"}}"#, job.name))
        .collect();
    format!(
        r#"{{"fio version": "fathom-0.1", "timestamp": 1763800000, "jobs": [{}], "fathom" : {{"verdict": "{verdict}", "findings": [{findings}],
        "host": {{"kernel": "6.12.0", "cpus": 8, "memory_bytes": 17179869184}},
        "targets": [{{"path": "/dev/nvme0n1", "devices": [{{"name": "nvme0n1", "model": "ExampleDrive 9", "size": 1000204886016, "medium": "flash", "transport": "nvme"}}]}}],
        "entries": [{}]}}}}"#,
        all.join(","),
        names.join(",")
    )
}

pub fn finding(
    code: (&str, &str),
    weight: &str,
    about: &str,
    evidence: &str,
    advice: &str,
) -> String {
    format!(
        r#"{{"id": "{}", "code": "{}", "weight": "{weight}", "about": "{about}", "evidence": "{evidence}", "advice": "{advice}"}}"#,
        code.0, code.1
    )
}

/// The measurements of `fathom quick` with known figures: the knee is at depth 32.
pub fn quick_jobs() -> Vec<Job> {
    let job = |name, description, rw, block, depth, iops, median| Job {
        name,
        description,
        rw,
        block,
        depth,
        iops,
        median,
        cpu: 5.0,
        options: "",
        spread: (10.0, 20),
    };
    vec![
        job(
            "read-4k-1",
            "4 KiB random reads, depth 1",
            "randread",
            4096,
            1,
            10_000.0,
            90.0,
        ),
        job(
            "read-4k-8",
            "4 KiB random reads, depth 8",
            "randread",
            4096,
            8,
            60_000.0,
            120.0,
        ),
        job(
            "read-4k-32",
            "4 KiB random reads, depth 32",
            "randread",
            4096,
            32,
            400_000.0,
            150.0,
        ),
        job(
            "read-4k-128",
            "4 KiB random reads, depth 128",
            "randread",
            4096,
            128,
            401_000.0,
            310.0,
        ),
        job(
            "read-1m-1",
            "1 MiB sequential reads, depth 1",
            "read",
            1 << 20,
            1,
            1_500.0,
            600.0,
        ),
        job(
            "read-1m",
            "1 MiB sequential reads, depth 8",
            "read",
            1 << 20,
            8,
            3_000.0,
            2_600.0,
        ),
        job(
            "write-1m-1",
            "1 MiB sequential writes, depth 1",
            "write",
            1 << 20,
            1,
            1_000.0,
            900.0,
        ),
        job(
            "write-1m",
            "1 MiB sequential writes, depth 8",
            "write",
            1 << 20,
            8,
            2_000.0,
            3_900.0,
        ),
        job(
            "write-4k-1",
            "4 KiB random writes, depth 1",
            "randwrite",
            4096,
            1,
            40_000.0,
            20.0,
        ),
        job(
            "write-4k-32",
            "4 KiB random writes, depth 32",
            "randwrite",
            4096,
            32,
            150_000.0,
            200.0,
        ),
        job(
            "mix-4k-32",
            "70/30 read/write mix, depth 32",
            "randrw",
            4096,
            32,
            90_000.0,
            180.0,
        ),
        Job {
            options: r#", "fdatasync": "1""#,
            ..job(
                "commit",
                "4 KiB commits (write, fdatasync)",
                "write",
                4096,
                1,
                8_000.0,
                120.0,
            )
        },
    ]
}

pub fn quick_result() -> String {
    let jobs = quick_jobs();
    let mut findings: Vec<String> = jobs
        .iter()
        .map(|job| {
            finding(
                ("F035", "FEW_SAMPLES"),
                "note",
                job.name,
                &format!("{} has few samples.", job.name),
                "Run longer.",
            )
        })
        .collect();
    findings.push(finding(
        ("F033", "VOLATILE_CACHE_NO_FLUSH"),
        "note",
        "write-1m",
        "Writes stay in a cache.",
        "Add fsync=.",
    ));
    for name in ["read-4k-1", "mix-4k-32"] {
        findings.push(finding(
            ("F024", "WORKER_WAITED"),
            "degrades",
            name,
            &format!("The worker of {name} waited."),
            "Leave a CPU for each worker.",
        ));
    }
    result(&jobs, "degraded", &findings.join(","))
}

/// The jobs of one drive of a comparison: its rates are `factor` times those of the slowest.
pub fn drive(factor: f64) -> Vec<Job> {
    let job = |rw, block, depth, iops: f64, median: f64| Job {
        name: "job",
        rw,
        block,
        depth,
        iops: iops * factor,
        median: median / factor,
        cpu: 1.0,
        // 10 % of the rate in 100 samples: a standard error of 1 %.
        spread: (0.1 * iops * factor, 100),
        ..Job::default()
    };
    vec![
        job("randread", 4096, 1, 1_000.0, 1_000.0),
        job("randread", 4096, 16, 8_000.0, 2_000.0),
        job("randread", 4096, 64, 8_100.0, 8_000.0),
        job("write", 1 << 20, 8, 100.0, 80_000.0),
        job("randrw", 4096, 16, 3_000.0, 5_000.0),
    ]
}

pub fn drive_result(factor: f64) -> String {
    result(&drive(factor), "valid", "").replace("ExampleDrive 9", "")
}

pub fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(&path, text).expect("a result is written");
    path.display().to_string()
}
