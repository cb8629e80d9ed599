//! Rates as in fio.

use crate::peer::{FATHOM_FIO, FIO, Fixture, number, run};
use crate::scene::Scene;
use fathom_testkit::Need;
use serde_json::Value;

pub const SCENES: &[Scene] = &[
    Scene::check(
        "syncs do not change a planned rate",
        &[Need::Fio],
        syncs_do_not_change_a_planned_rate,
    ),
    Scene::check(
        "each direction of a mix has the rate it has in fio",
        &[Need::Fio],
        each_direction_of_a_mix_has_the_rate_it_has_in_fio,
    ),
    Scene::check(
        "a direction without a rate is not limited",
        &[Need::Fio],
        a_direction_without_a_rate_is_not_limited_by_the_other,
    ),
];

/// Runs these lines with both programs at the same time. Their rates differ by 4 % at most.
fn check_same_rates(lines: &[String]) -> Result<(), String> {
    let differences: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = lines
            .iter()
            .map(|line| (line, scope.spawn(move || rates_of_both(line))))
            .collect();
        runs.into_iter()
            .filter_map(|(line, run)| {
                let [theirs, ours] = run.join().expect("rates");
                let same = theirs
                    .iter()
                    .zip(&ours)
                    .all(|(a, b)| (a - b).abs() <= a.max(*b) * 0.04);
                (!same).then(|| format!("{line}: fio {theirs:?}, fathom {ours:?}"))
            })
            .collect()
    });
    if differences.is_empty() {
        Ok(())
    } else {
        Err(differences.join("; "))
    }
}

/// I/Os or bytes per second of reads and writes, as each program reports them.
fn rates_of_both(options: &str) -> [[f64; 2]; 2] {
    [&FIO[..], &FATHOM_FIO[..]].map(|program| {
        let line = format!(
            "--name=r --ioengine=null --size=1g --time_based=1 --runtime=2 --output-format=json {options}"
        );
        let fixture = Fixture::new("");
        let left = run(program, fixture.0.path(), &line.split_whitespace().collect::<Vec<_>>());
        let json: Value = serde_json::from_str(&left.out)
            .unwrap_or_else(|error| panic!("{error}: {}{}", left.out, left.err));
        // A limit of bytes with several block sizes sets the bandwidth, not the number of I/Os.
        let figure = if options.contains("--rate=") {
            "bw_bytes"
        } else {
            "iops"
        };
        ["read", "write"].map(|way| number(&json, &format!("/jobs/0/{way}/{figure}")))
    })
}

/// Regression 0321: syncs consumed the due times of writes, so that `rate_iops=500 fdatasync=1` did
/// 248 writes per second.
fn syncs_do_not_change_a_planned_rate() -> Result<(), String> {
    let syncs = [
        "--fdatasync=1",
        "--fdatasync=2",
        "--fsync=1",
        "--fsync=3",
        "--fsync=2 --fdatasync=3",
        "--fsync=2",
    ];
    let loads = [
        "--rw=randwrite --rate_iops=500",
        "--rw=randrw --rwmixread=70 --rate_iops=2100,900 --iodepth=8",
    ];
    let lines: Vec<String> = loads
        .iter()
        .flat_map(|load| syncs.iter().map(move |sync| format!("{load} {sync}")))
        .collect();
    assert_eq!(lines.len(), 12);
    check_same_rates(&lines)
}

/// Regression 0322: a mixed job with rates kept its read share, so that the slower direction
/// delayed the other. As in fio, each direction has its own rate.
fn each_direction_of_a_mix_has_the_rate_it_has_in_fio() -> Result<(), String> {
    let lines = [
        "--rw=randrw --rwmixread=70 --rate_iops=1000",
        "--rw=randrw --rate_iops=1000,250",
        "--rw=rw --rate_iops=1000,250",
        "--rw=randrw --rate=4m,1m",
        "--rw=randrw --rate=4m,1m --bssplit=4k/50:8k/50",
        "--rw=randrw --rwmixread=30 --rate=8m,2m --bs=8k,4k --iodepth=8",
        "--rw=randrw --rwmixread=100 --rate_iops=500,200",
    ]
    .map(str::to_owned);
    check_same_rates(&lines)
}

/// Regression 0322: a direction without a rate was limited by the rate of the other. It runs as
/// fast as possible.
fn a_direction_without_a_rate_is_not_limited_by_the_other() -> Result<(), String> {
    for (options, rated, rate) in [
        ("--rw=randrw --rate=,1m", 1, 1_048_576.0),
        ("--rw=randrw --rate_iops=300, --rwmixread=20", 0, 300.0),
    ] {
        for [read, write] in rates_of_both(options) {
            let (paced, free) = if rated == 0 {
                (read, write)
            } else {
                (write, read)
            };
            assert!((paced - rate).abs() <= rate * 0.04, "{options}: {paced}");
            assert!(free > 20.0 * paced, "{options}: {free}");
        }
    }
    Ok(())
}
