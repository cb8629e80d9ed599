//! Answers from arithmetic: suites, skewed addresses and latencies of device classes, with published figures.

use fathom_analyse::{distinct_blocks, latency_class, suite_answer};
use fathom_model::{
    CellFigures, CellLatency, Distribution, Estimate, Grid, GridRow, SuiteStep, Verdict,
};

/// A row: values of the axes, IOPS, block size, mean and p99 in microseconds.
type Row<'a> = (&'a [&'a str], f64, f64, f64, f64);

fn step(name: &str, axes: &[&str], rows: &[Row<'_>]) -> SuiteStep {
    let row = |(values, iops, block, mean, p99): &Row<'_>| GridRow {
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        iops: Estimate {
            mean: *iops,
            half_width: None,
            n: 1,
        },
        figures: CellFigures {
            iops: *iops,
            bandwidth: iops * block,
            latency: CellLatency {
                mean: mean * 1e3,
                p99: p99 * 1e3,
                ..CellLatency::default()
            },
            ..CellFigures::default()
        },
        failed: None,
    };
    SuiteStep {
        name: name.to_owned(),
        grid: Grid {
            axes: axes.iter().map(|axis| (*axis).to_owned()).collect(),
            rows: rows.iter().map(row).collect(),
            ..Grid::default()
        },
        ..SuiteStep::default()
    }
}

/// Regression 0532: the built-in suites measured cells and left the answer to the reader. These are published figures: a 7,200
/// rpm disk at depth 1 (5.5, 7.5 and 12.5 ms over 1, 100 and 1,000 GB; 8.5 ms with zipf), where 12.5 / 5.5 = 2.3 and 8.5 ms are
/// 32 % less than 12.5 ms.
#[test]
fn a_working_set_of_a_disk_is_summed_up() {
    let sizes = ["1g", "100g", "1000g"];
    let rows = |means: [f64; 3]| -> Vec<(String, f64)> {
        sizes
            .iter()
            .map(|size| (*size).to_owned())
            .zip(means)
            .collect()
    };
    let make = |name: &str, means: [f64; 3]| {
        let rows = rows(means);
        let values: Vec<[&str; 1]> = rows.iter().map(|(size, _)| [size.as_str()]).collect();
        let rows: Vec<Row<'_>> = values
            .iter()
            .zip(&rows)
            .map(|(size, (_, mean))| (&size[..], 1e3 / mean, 8192.0, mean * 1e3, 0.0))
            .collect();
        step(name, &["size"], &rows)
    };
    let steps = [
        make("even", [5.5, 7.5, 12.5]),
        make("zipf", [5.5, 7.0, 8.5]),
    ];
    assert_eq!(
        suite_answer("working-set", &steps).as_deref(),
        Some(
            "Latency grows with the region: the mean is 5.50 ms over 1g and 12.5 ms over 1000g (2.3 times); with hot spots over \
             1000g it is 8.50 ms, 32 % less than uniform."
        )
    );
    let flat = [make("even", [0.1, 0.1, 0.101])];
    assert_eq!(
        suite_answer("working-set", &flat).as_deref(),
        Some(
            "Latency does not grow with the region: the mean is 100 us over 1g and 101 us over 1000g (1.0 times)."
        )
    );
    assert_eq!(suite_answer("working-set", &steps[1..]), None);
    assert_eq!(suite_answer("mine", &steps), None);
}

/// Published figures of an NVMe SSD: 100K sequential and 20K random reads of 512 bytes at depth 1, 4 x 140K with 4 x 16 in flight,
/// p99 58 us and 322 us; 4 x 253 reads of 4 MiB are 4,245 MB/s.
#[test]
fn blocks_of_a_modern_ssd_are_summed_up() {
    let axes = ["rw", "bs"];
    let steps = [
        step(
            "async-read",
            &axes,
            &[
                (&["read", "512"], 328_000.0, 512.0, 195.0, 701.0),
                (&["read", "4m"], 1_012.0, 4_194_304.0, 63e3, 100e3),
                (&["randread", "512"], 560_000.0, 512.0, 114.0, 322.0),
            ],
        ),
        step(
            "sync-read",
            &axes,
            &[
                (&["read", "512"], 100_000.0, 512.0, 9.0, 12.0),
                (&["randread", "512"], 20_000.0, 512.0, 50.0, 58.0),
            ],
        ),
    ];
    assert_eq!(
        suite_answer("modern-ssd", &steps).as_deref(),
        Some(
            "Reads with bs=512 at depth 1: 100,000 IOPS sequential, 20,000 random (sequential is 5.0 times as fast); 4 x 16 in \
             flight reach 560,000 random, 28.0 times as many, with p99 322 us instead of 58.0 us; the highest bandwidth is \
             4,245 MB/s (async-read, read 4m)."
        )
    );
}

/// Commands of 20 us and 300 us for each MiB: 1,048,576 bytes in 300 us are 3,495 MB/s; 20 / 300 of a MiB are 68 KiB. 512 bytes take
/// 20.15 us and 4 KiB 21.17 us: 105 %.
#[test]
fn block_sizes_are_summed_up() {
    let time_us = |bytes: f64| 20.0 + 300.0 * bytes / f64::from(1 << 20);
    let sizes = [
        ("512", 512.0),
        ("4k", 4096.0),
        ("64k", 65_536.0),
        ("1m", 1_048_576.0),
    ];
    let values: Vec<[&str; 1]> = sizes.iter().map(|(name, _)| [*name]).collect();
    let rows: Vec<Row<'_>> = values
        .iter()
        .zip(sizes)
        .map(|(value, (_, bytes))| (&value[..], 1e6 / time_us(bytes), bytes, 0.0, 0.0))
        .collect();
    let steps = [step("random-read", &["bs"], &rows)];
    assert_eq!(
        suite_answer("block-sizes", &steps).as_deref(),
        Some(
            "Of random reads, a command costs 20.0 us and each MiB 300 us (3,495 MB/s): blocks of 68 KiB reach half of that \
             bandwidth; bs=512 reaches 105 % of the IOPS of bs=4k."
        )
    );
    assert_eq!(
        suite_answer("block-sizes", &[step("random-read", &["bs"], &rows[..3])]),
        None
    );
}

/// Regression 0582: only the queue depth that sysfs states was known, not the one that the device uses. A device of eight servers
/// of 1 ms: min(depth, 8) x 1,000 IOPS, and max(1, depth / 8) ms. With latencies of 0.99 and 1.01 ms in turn the standard
/// deviation of six is 0.01 x sqrt(6 / 5) = 0.010954; t(5) = 2.571, so that the interval is 8 x 2.571 x 0.010954 / sqrt(6) = 0.092
/// wide on either side. The rate has no spread.
#[test]
fn the_number_of_servers_is_found_from_a_sweep_of_depths() {
    let depths = ["1", "2", "4", "8", "16", "32", "64"];
    let make = |depths: &[&str], noise: f64| {
        let rows: Vec<([&str; 1], f64)> = depths
            .iter()
            .map(|depth| ([*depth], depth.parse::<f64>().expect("a number")))
            .collect();
        let rows: Vec<Row<'_>> = rows
            .iter()
            .map(|(values, depth)| {
                let mean = (depth / 8.0).max(1.0) * 1000.0;
                (&values[..], depth.min(8.0) * 1000.0, 4096.0, mean, mean)
            })
            .collect();
        let mut made = step("depth", &["iodepth"], &rows);
        for row in &mut made.grid.rows {
            let single = row.values[0] == "1";
            row.figures.parts = (0..6)
                .map(|part| CellLatency {
                    mean: row.figures.latency.mean
                        * match (single, part % 2) {
                            (false, _) => 1.0,
                            (true, 0) => 1.0 - noise,
                            (true, _) => 1.0 + noise,
                        },
                    ..CellLatency::default()
                })
                .collect();
        }
        [made]
    };
    let answer = |steps: &[SuiteStep]| suite_answer("queue-depth", steps);
    assert_eq!(
        answer(&make(&depths, 0.01)).as_deref(),
        Some(
            "8.0 reads are processed at the same time (95 % CI: 7.9 to 8.1): 1,000 IOPS at depth 1 with 1.00 ms each, 8,000 IOPS at \
             most. Depth 8 is enough, with 100 % of the maximum; at depth 64 a read takes 8.00 ms and waits 88 % of that time."
        )
    );
    let wide = answer(&make(&depths, 0.1)).expect("an answer");
    assert!(wide.contains("(95 % CI: 7.1 to 8.9)"), "{wide}");
    let growing = answer(&make(&depths[..4], 0.01)).expect("an answer");
    assert!(
        growing.contains("still grows at depth 8") && growing.contains("at least 8.0 reads"),
        "{growing}"
    );
    let mut steps = make(&depths, 0.01);
    steps[0].grid.rows[0].figures.parts.clear();
    let without = answer(&steps).expect("an answer");
    assert!(
        without.contains("without a confidence interval"),
        "{without}"
    );
    assert_eq!(answer(&make(&depths[1..], 0.01)), None, "no single reads");
    // A failed cell is not used.
    steps[0].grid.rows[3].failed = Some("no answer".to_owned());
    let next = answer(&steps).expect("an answer");
    assert!(next.contains("Depth 16 is enough"), "{next}");
}

/// A middle read rate, beside few and many writes: 2,100 us are 7 times 300 us. An invalid cell is not used.
#[test]
fn reads_beside_writes_are_summed_up() {
    let axes = ["reads.rate_iops", "writes.rate"];
    let rows: &[Row<'_>] = &[
        (&["10%", "10%"], 100.0, 4096.0, 100.0, 200.0),
        (&["10%", "90%"], 100.0, 4096.0, 100.0, 900.0),
        (&["50%", "10%"], 500.0, 4096.0, 100.0, 300.0),
        (&["50%", "50%"], 500.0, 4096.0, 100.0, 700.0),
        (&["50%", "90%"], 500.0, 4096.0, 100.0, 2100.0),
        (&["90%", "10%"], 900.0, 4096.0, 100.0, 500.0),
        (&["90%", "90%"], 900.0, 4096.0, 100.0, 9000.0),
    ];
    let mut steps = [step("map", &axes, rows)];
    assert_eq!(
        suite_answer("interference", &steps).as_deref(),
        Some(
            "Writes slow reads: of reads at 50% of their maximum, p99 is 300 us beside writes at 10% of their maximum and 2.10 ms \
             beside writes at 90% (7.0 times)."
        )
    );
    steps[0].grid.rows[4].figures.verdict = Verdict::Invalid;
    let other = suite_answer("interference", &steps).expect("two pairs are left");
    assert!(
        other.contains("of reads at 90% of their maximum"),
        "{other}"
    );
}

/// Regression 0533: nothing said how many blocks a skewed job touches. The expectation is a simulation: the ranks of the
/// pareto distribution are n u^e, and those of the zipf distribution come from its inverted cumulative sum.
#[test]
fn the_expected_number_is_that_of_a_simulation() {
    // Numbers from a linear congruential generator (Knuth's MMIX).
    let mut state = 1_u64;
    let mut unit = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (n, draws) = (10_000_usize, 20_000_u64);
    let mut count = |rank: &dyn Fn(f64) -> usize| {
        let mut seen = vec![false; n];
        (0..draws).for_each(|_| seen[rank(unit()).min(n - 1)] = true);
        seen.iter().filter(|seen| **seen).count() as f64
    };
    for theta in [0.6, 1.1, 2.0_f64] {
        let mut sums: Vec<f64> = Vec::new();
        (1..=n).for_each(|rank| {
            sums.push(sums.last().unwrap_or(&0.0) + (rank as f64).powf(-theta));
        });
        let total = sums[n - 1];
        let seen = count(&|u| sums.partition_point(|sum| *sum < u * total));
        let zipf = Distribution::Zipf {
            theta,
            center: None,
        };
        let expected = distinct_blocks(&zipf, n as u64, draws).expect("ranked");
        // The standard deviation is below the square root of the number.
        assert!(
            (seen - expected).abs() < 4.0 * expected.sqrt(),
            "theta {theta}: {seen}, {expected}"
        );
    }
    for power in [0.1, 0.2, 0.4_f64] {
        let exponent = power.ln() / (1.0 - power).ln();
        let seen = count(&|u| (n as f64 * u.powf(exponent)) as usize);
        let pareto = Distribution::Pareto {
            power,
            center: None,
        };
        let expected = distinct_blocks(&pareto, n as u64, draws).expect("ranked");
        assert!(
            (seen - expected).abs() < 4.0 * expected.sqrt(),
            "power {power}: {seen}, {expected}"
        );
    }
}

/// As many draws as equally likely blocks: 1 - 1/e of them. Two draws of 80/20 among 5 blocks: 2 - sum of p squared.
#[test]
fn small_cases_are_exact() {
    let uniform = distinct_blocks(&Distribution::Uniform, 1_000_000, 1_000_000);
    assert!((uniform.expect("known") / 1e6 - (1.0 - (-1.0_f64).exp())).abs() < 1e-6);
    let pareto = Distribution::Pareto {
        power: 0.2,
        center: None,
    };
    let share = |x: f64| x.powf(0.8_f64.ln() / 0.2_f64.ln());
    let squares: f64 = (1..=5)
        .map(|k| (share(f64::from(k) / 5.0) - share(f64::from(k - 1) / 5.0)).powi(2))
        .sum();
    assert!((share(0.2) - 0.8).abs() < 1e-12, "80/20");
    let two = distinct_blocks(&pareto, 5, 2).expect("ranked");
    assert!((two - (2.0 - squares)).abs() < 1e-12, "{two}");
    // Beyond the exact part the steps agree with the sum over all ranks.
    let power = 0.3_f64;
    let inverse = (1.0 - power).ln() / power.ln();
    let n = 1_000_000_u64;
    let below = |rank: u64| (rank as f64 / n as f64).powf(inverse);
    let exact: f64 = (1..=n)
        .map(|rank| 1.0 - (1.0 - (below(rank) - below(rank - 1))).powf(5e5))
        .sum();
    let pareto = Distribution::Pareto {
        power,
        center: None,
    };
    let stepped = distinct_blocks(&pareto, n, 500_000).expect("ranked");
    assert!((stepped / exact - 1.0).abs() < 1e-3, "{stepped} {exact}");
}

/// Regression 0534: no latency was related to a class of device. The ranges are those of the published table; half a turn and
/// the average seek give the same: 3.3 + 2.0 ms, 4.5 + 3.0 ms, 8.2 + 4.2 ms and 12 + 5.6 ms. 5 and 6 ms are 33 and 40
/// times 0.15 ms.
#[test]
fn known_latencies_have_their_class() {
    for (ms, expected) in [
        (
            0.15,
            "usual for an SSD (mostly below 1 ms), 33 to 40 times shorter than that of a 15,000 rpm disk (5 to 6 ms)",
        ),
        (
            2.0,
            "near the limit of an SSD (1 to 3 ms), 2 to 3 times shorter than",
        ),
        (
            4.0,
            "too long for an SSD (3 ms) and shorter than that of a 15,000 rpm disk",
        ),
        (5.3, "that of a 15,000 rpm disk (5 to 6 ms)"),
        (
            6.5,
            "between that of a 15,000 rpm disk (5 to 6 ms) and that of a 10,000 rpm disk",
        ),
        (7.5, "that of a 10,000 rpm disk (7 to 8 ms)"),
        (12.4, "that of a 7,200 rpm disk (12 to 13 ms)"),
        (17.6, "that of a 5,400 rpm disk (17 to 18 ms)"),
        (19.0, "acceptable for a hard disk up to 20 ms"),
        (25.0, "above the limit of a hard disk (20 ms)"),
    ] {
        let text = latency_class(ms * 1e6);
        assert!(text.contains(expected), "{ms}: {text}");
        assert!(text.contains("louwrentius.com"), "{text}");
    }
}
