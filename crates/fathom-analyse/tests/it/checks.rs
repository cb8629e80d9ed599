//! Every check of results of others: figures that trigger it, and proof that no other check reports
//! it.

use fathom_analyse::*;
use fathom_model::*;

const KIB: u64 = 1024;

pub fn one(figures: ImportedFigures) -> CheckInput {
    CheckInput {
        results: vec![figures],
        ..CheckInput::default()
    }
}

pub fn latency(n: u64, max: u64, percentiles: &[(f64, u64)]) -> ImportedLatency {
    ImportedLatency {
        direction: Direction::Read,
        kind: "clat",
        summary: LatencySummary {
            n,
            max,
            percentiles: percentiles.to_vec(),
            ..LatencySummary::default()
        },
    }
}

/// A result whose percentiles all have one value.
pub fn listed(n: u64, max: u64, ns: u64) -> ImportedFigures {
    ImportedFigures {
        latencies: vec![latency(n, max, &[(50.0, ns), (99.0, ns)])],
        ..ImportedFigures::default()
    }
}

/// Wrong figures, and a part of the expected evidence. Each number can be verified with a
/// calculator.
struct FaultyFigures {
    code: &'static str,
    evidence: &'static str,
    input: CheckInput,
}

pub fn stream(iops: f64, latency_us: Option<f64>) -> Vec<ImportedDirection> {
    vec![ImportedDirection {
        direction: Direction::Read,
        iops,
        latency_ns: latency_us.map(|us| us * 1e3),
        is_median: false,
    }]
}

fn result(imported: ImportedFigures) -> CheckInput {
    CheckInput {
        results: vec![imported],
        ..CheckInput::default()
    }
}

pub fn claim(imported: ImportedFigures, claims: AuthorClaims) -> CheckInput {
    result(ImportedFigures { claims, ..imported })
}

/// Random reads of 4 KiB, one at a time.
pub fn reads(iops: f64, latency_us: Option<f64>) -> ImportedFigures {
    ImportedFigures {
        rw: Some("randread".into()),
        streams: stream(iops, latency_us),
        block: Some(4 * KIB),
        depth: Some(1),
        jobs: Some(1),
        closed: true,
        ..ImportedFigures::default()
    }
}

pub fn on(link: &str, imported: ImportedFigures) -> ImportedFigures {
    ImportedFigures {
        link: Some(link.parse().expect("a link")),
        links: 1,
        ..imported
    }
}

pub fn sheet() -> SpecSheet {
    let figure = SpecFigure {
        direction: Direction::Read,
        random: true,
        value: 100e3,
        is_bandwidth: false,
        block: Some(4 * KIB),
        in_flight: Some(1.0),
    };
    SpecSheet {
        model: "Swift 1".into(),
        part_prefixes: vec!["SW1".into()],
        figures: vec![figure],
    }
}

/// Checks of one result.
fn faulty_results() -> Vec<FaultyFigures> {
    let per_job = ImportedFigures {
        jobs: Some(4),
        per_job: true,
        closed: false,
        ..reads(1_000.0, None)
    };
    let other_part = ImportedFigures {
        part_number: Some("QZ9-1".into()),
        sheet: Some(sheet()),
        ..reads(99_000.0, None)
    };
    let skewed = ImportedFigures {
        zipf: Some(1.2),
        region: Some(1 << 40),
        ios: Some(100_000),
        ..reads(118.0, Some(8_474.0))
    };
    let faulty = |code, evidence, input| FaultyFigures {
        code,
        evidence,
        input,
    };
    vec![
        faulty(
            "NOTHING_DONE",
            "0 I/Os completed",
            result(ImportedFigures {
                ios: Some(0),
                ..reads(0.0, None)
            }),
        ),
        faulty(
            "IO_ERROR",
            "Error 5 (Input/output error)",
            result(ImportedFigures {
                error: 5,
                ..reads(1_000.0, None)
            }),
        ),
        // 20,000 in 10 s are 2,000 a second.
        faulty(
            "SUMMARY_DISAGREES",
            "states 1,000 read IOPS, but its amount and time give 2,000",
            result(ImportedFigures {
                rates: StatedRate::of_direction(
                    Direction::Read,
                    (1_000.0, 20_000),
                    (0.0, 0),
                    10_000,
                ),
                ..reads(1_000.0, None)
            }),
        ),
        faulty(
            "LITTLE_DISAGREES",
            "1.50 in flight",
            result(reads(10_000.0, Some(150.0))),
        ),
        faulty("PER_JOB_FIGURES", "1 of 4 jobs", result(per_job)),
        // 200,000 x 4 KiB = 819 MB/s on 600 MB/s.
        faulty(
            "ABOVE_LINK",
            "137 % of what",
            result(on("sata6", reads(200_000.0, None))),
        ),
        faulty(
            "IN_FLIGHT_MISCOUNTED",
            "claims 2 in flight",
            claim(
                reads(1_000.0, None),
                AuthorClaims {
                    in_flight: Some(2.0),
                    ..AuthorClaims::default()
                },
            ),
        ),
        faulty(
            "LINE_CODING_IGNORED",
            "claims a ceiling of 750 MB/s",
            claim(
                on("sata6", reads(1_000.0, None)),
                AuthorClaims {
                    ceiling: Some(750e6),
                    ..AuthorClaims::default()
                },
            ),
        ),
        // 100,000 x 4 KiB = 409.6 MB/s = 68 % of 600.
        faulty(
            "HEADROOM_MISJUDGED",
            "68 %",
            claim(
                on("sata6", reads(100_000.0, None)),
                AuthorClaims {
                    share: Some(0.3),
                    ..AuthorClaims::default()
                },
            ),
        ),
        faulty(
            "PATTERN_MISNAMED",
            "sequential",
            claim(
                reads(1_000.0, None),
                AuthorClaims {
                    pattern: Some("sequential".into()),
                    ..AuthorClaims::default()
                },
            ),
        ),
        faulty(
            "BLOCK_ASSUMED",
            "reports 512",
            claim(
                ImportedFigures {
                    logical_block: Some(512),
                    ..reads(1_000.0, None)
                },
                AuthorClaims {
                    smallest_block: Some(4096),
                    ..AuthorClaims::default()
                },
            ),
        ),
        faulty(
            "ATTACHMENT_IN_THE_WAY",
            "P420i",
            result(ImportedFigures {
                attachment: Some("HP P420i, RAID 0 of one drive".into()),
                ..reads(1_000.0, None)
            }),
        ),
        faulty(
            "PART_NUMBER_DISAGREES",
            "QZ9-1",
            claim(
                other_part,
                AuthorClaims {
                    model: Some("Swift 1".into()),
                    ..AuthorClaims::default()
                },
            ),
        ),
        faulty(
            "SPEC_MISSED",
            "40 % of the 100,000",
            result(ImportedFigures {
                sheet: Some(sheet()),
                ..reads(40_000.0, None)
            }),
        ),
        faulty("REPEATS_CACHED", "zipf 1.2", result(skewed)),
    ]
}

/// Checks of several results and of logs, percentiles and hosts.
fn faulty_combinations() -> Vec<FaultyFigures> {
    let logs = ImportedLogs {
        name: "two".into(),
        window_ms: 250,
        runtime_ms: 1000,
        total_ios: 100,
        jobs: vec![vec![(250, 200.0), (1000, 200.0)]],
    };
    let spread = |ios, ns: f64| LatencyPercentiles {
        ios,
        percentiles: vec![(50.0, ns), (99.0, ns), (99.9, ns)],
    };
    let hosts = ImportedHosts {
        present: vec!["a".into()],
        expected: Some(2),
        ..ImportedHosts::default()
    };
    let malformed = vec![parse_figure("80,00").expect_err("neither 80 nor 8,000")];
    let faulty = |code, evidence, input| FaultyFigures {
        code,
        evidence,
        input,
    };
    vec![
        faulty(
            "STATE_DIFFERS",
            "75 % apart",
            CheckInput {
                results: vec![reads(4_000.0, None), reads(7_000.0, None)],
                ..CheckInput::default()
            },
        ),
        faulty(
            "LOGS_MISLEAD",
            "2 of 4 rows are missing",
            CheckInput {
                logs: vec![logs],
                ..CheckInput::default()
            },
        ),
        faulty(
            "FIO_BINS_CLAMPED",
            "the maximum is 38.59 s",
            one(listed(1_000_000, 38_590_000_000, 17_112_760_320)),
        ),
        faulty(
            "FEW_SAMPLES",
            "fewer than 10 of 500 I/Os",
            one(listed(500, 2_000, 1_900)),
        ),
        faulty(
            "PERCENTILE_INFLECTION",
            "5.0 times that",
            one(ImportedFigures {
                latencies: vec![latency(
                    1_000_000,
                    9_000,
                    &[(50.0, 1_000), (90.0, 5_000), (99.0, 5_100)],
                )],
                ..ImportedFigures::default()
            }),
        ),
        faulty(
            "NOT_STEADY",
            "50 % of the mean",
            one(ImportedFigures {
                closed: true,
                rounds: Some(ThroughputRounds {
                    bytes_per_s: [100.0, 90.0, 80.0, 70.0, 60.0],
                    from: Nanos::ZERO,
                    to: Nanos::from_secs(50),
                }),
                ..ImportedFigures::default()
            }),
        ),
        faulty(
            "NUMBER_MALFORMED",
            "'80,00'",
            CheckInput {
                malformed,
                ..CheckInput::default()
            },
        ),
        // 19 of 20 take 1 ms, one takes 20 ms: 10.5 ms is the p99 of neither.
        faulty(
            "PERCENTILES_AVERAGED",
            "10.5 ms",
            CheckInput {
                spreads: vec![spread(1_900, 1e6), spread(100, 20e6)],
                percentiles: vec![(99.0, 10.5e6)],
                ..CheckInput::default()
            },
        ),
        // One read took 30.8 s. The others took 16 ms each, two at a time: 29 s.
        faulty(
            "TARGET_STALLED",
            "30.79 s of 60.01 s",
            result(ImportedFigures {
                closed: true,
                streams: stream(3_671.0 / 60.014, None),
                latencies: vec![ImportedLatency {
                    summary: LatencySummary {
                        mean: 32.6e6,
                        ..latency(3_671, 30_786_000_000, &[(50.0, 15_800_000)]).summary
                    },
                    ..latency(3_671, 30_786_000_000, &[])
                }],
                ..ImportedFigures::default()
            }),
        ),
        faulty(
            "HOST_LOST",
            "1 of 2 hosts",
            CheckInput {
                hosts,
                ..CheckInput::default()
            },
        ),
    ]
}

fn all_faulty_figures() -> Vec<FaultyFigures> {
    faulty_results()
        .into_iter()
        .chain(faulty_combinations())
        .collect()
}

fn codes(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.code).collect()
}

#[test]
fn every_check_has_figures_in_this_file() {
    let mut here: Vec<_> = all_faulty_figures()
        .iter()
        .map(|wrong| wrong.code)
        .collect();
    let mut checked: Vec<_> = checks().map(|kind| kind.code).collect();
    here.sort_unstable();
    checked.sort_unstable();
    assert_eq!(here, checked);
}

#[test]
fn each_check_reports_its_evidence_and_no_other_does() {
    for wrong in all_faulty_figures() {
        let found = check(&wrong.input);
        assert_eq!(codes(&found), [wrong.code], "{found:#?}");
        assert!(
            found[0].evidence.contains(wrong.evidence),
            "{}: {}",
            wrong.code,
            found[0].evidence
        );
        assert!(
            explain(found[0].id).is_some_and(|kind| kind.code == wrong.code),
            "{}",
            found[0].id
        );
    }
}

#[test]
fn a_disabled_check_reports_nothing() {
    for wrong in all_faulty_figures() {
        let others: Vec<_> = checks().filter(|check| check.code != wrong.code).collect();
        assert_eq!(
            codes(&check_with(&wrong.input, &others)),
            [""; 0],
            "{}",
            wrong.code
        );
    }
}

/// A thousand consistent depths, latencies and rates have no findings.
#[test]
fn clean_figures_have_no_findings() {
    for depth in 1..=1_000_u32 {
        let latency_us = 80.0 + f64::from(depth) * 7.0;
        let iops = f64::from(depth) * 1e6 / latency_us;
        let clean = on(
            "pcie4x4",
            ImportedFigures {
                depth: Some(depth),
                ..reads(iops, Some(latency_us))
            },
        );
        assert_eq!(check(&result(clean)), [], "{depth}");
    }
}

/// 1,000 reads with a mean of 4.5 ms, and a log in which they have another.
fn with_latency_log(log_ns: u64, judged: bool) -> ImportedResult {
    let mut entry = Entry {
        name: "usb".to_owned(),
        ..Entry::default()
    };
    let read = &mut entry.directions[Direction::Read];
    (read.ios, read.iops) = (1000, 100.0);
    (read.clat.mean, read.lat.mean) = (4.53e6, 4.54e6);
    let mut moment = MergedInterval {
        start: Nanos::ZERO,
        length: Nanos::from_secs(10),
        directions: Default::default(),
    };
    let logged = &mut moment.directions[Direction::Read];
    (logged.ios, logged.mean) = (1000, Some(log_ns));
    entry.series = vec![moment];
    ImportedResult {
        entries: vec![entry],
        judged,
        ..ImportedResult::default()
    }
}

/// Regression 0390: the latency of logs that contradicts the summary was drawn without a warning.
#[test]
fn logs_that_contradict_the_summary_are_left_out() {
    let imported_with = |log_ns, judged| fathom_analyse::imported(with_latency_log(log_ns, judged));
    let mean = |findings: &Findings| findings.entries[0].series[0].directions[Direction::Read].mean;
    let contradicting = imported_with(19_400_000, false);
    let found = contradicting
        .findings
        .iter()
        .find(|finding| finding.code == "LOGS_MISLEAD")
        .expect("a warning");
    assert!(
        found.evidence.contains("19.4 ms") && found.evidence.contains("4.53 ms"),
        "{}",
        found.evidence
    );
    assert_eq!(mean(&contradicting), None);
    // The logs of fathom hold response latencies, which are longer than clat and lat in an open loop.
    let of_fathom = imported_with(19_400_000, true);
    assert_eq!(
        (of_fathom.findings.len(), mean(&of_fathom)),
        (0, Some(19_400_000))
    );
    let agreeing = imported_with(4_500_000, false);
    assert!(
        agreeing
            .findings
            .iter()
            .all(|finding| finding.code != "LOGS_MISLEAD")
            && mean(&agreeing) == Some(4_500_000)
    );
}
