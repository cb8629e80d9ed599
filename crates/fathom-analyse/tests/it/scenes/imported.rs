//! Scenes of the checks of figures of others. Each number can be verified with a calculator.

use fathom_analyse::{CheckInput, ImportedLogs, parse_figure};
use fathom_model::*;

use super::Scenes;
use crate::checks::{claim, latency, listed, on, one, reads, sheet, stream};

const SECOND_NS: u64 = 1_000_000_000;

/// Random reads without a contradiction.
fn plain() -> CheckInput {
    one(reads(1_000.0, None))
}

fn completed(ios: u64) -> CheckInput {
    one(ImportedFigures {
        ios: Some(ios),
        ..reads(1_000.0, None)
    })
}

/// A result that states this rate, of 20,000 reads in 10 s.
fn stated(iops: f64) -> CheckInput {
    one(ImportedFigures {
        rates: StatedRate::of_direction(Direction::Read, (iops, 20_000), (0.0, 0), 10_000),
        ..reads(1_000.0, None)
    })
}

/// The figures of one of so many jobs.
fn of_one_of(jobs: u32) -> CheckInput {
    one(ImportedFigures {
        jobs: Some(jobs),
        per_job: true,
        closed: false,
        ..reads(1_000.0, None)
    })
}

/// So many MB/s, in I/Os of 4 KiB, on a link of 600 MB/s.
fn over_sata(megabytes: f64, claims: AuthorClaims) -> CheckInput {
    let imported = on("sata6", reads(megabytes * 1e6 / 4096.0, None));
    claim(imported, claims)
}

fn claims_in_flight(in_flight: f64) -> CheckInput {
    let claims = AuthorClaims {
        in_flight: Some(in_flight),
        ..AuthorClaims::default()
    };
    claim(
        ImportedFigures {
            depth: Some(10),
            ..reads(1_000.0, None)
        },
        claims,
    )
}

fn claims_ceiling(megabytes: f64) -> CheckInput {
    let ceiling = Some(megabytes * 1e6);
    over_sata(
        4.0,
        AuthorClaims {
            ceiling,
            ..AuthorClaims::default()
        },
    )
}

/// 300 of 600 MB/s, of which the author says that they are this share.
fn claims_share(share: f64) -> CheckInput {
    let share = Some(share);
    over_sata(
        300.0,
        AuthorClaims {
            share,
            ..AuthorClaims::default()
        },
    )
}

fn claims_pattern(pattern: &str) -> CheckInput {
    let pattern = Some(pattern.to_owned());
    claim(
        reads(1_000.0, None),
        AuthorClaims {
            pattern,
            ..AuthorClaims::default()
        },
    )
}

/// A device of 512-byte blocks, of which the author says this.
fn claims_block(bytes: u64) -> CheckInput {
    claim(
        ImportedFigures {
            logical_block: Some(512),
            ..reads(1_000.0, None)
        },
        AuthorClaims {
            smallest_block: Some(bytes),
            ..AuthorClaims::default()
        },
    )
}

fn attached(path: &str) -> CheckInput {
    one(ImportedFigures {
        attachment: Some(path.to_owned()),
        ..reads(1_000.0, None)
    })
}

fn with_part(number: &str) -> CheckInput {
    let imported = ImportedFigures {
        part_number: Some(number.to_owned()),
        sheet: Some(sheet()),
        ..reads(99_000.0, None)
    };
    claim(
        imported,
        AuthorClaims {
            model: Some("Swift 1".into()),
            ..AuthorClaims::default()
        },
    )
}

/// A drive whose sheet says 100,000 per second.
fn against_sheet(iops: f64) -> CheckInput {
    one(ImportedFigures {
        sheet: Some(sheet()),
        ..reads(iops, None)
    })
}

/// So many I/Os on 10,000 blocks, all of which are equally likely.
fn repeated(ios: u64) -> CheckInput {
    one(ImportedFigures {
        zipf: Some(0.0),
        region: Some(10_000 * 4096),
        ios: Some(ios),
        ..reads(1_000.0, None)
    })
}

fn two_runs(slower: f64, faster: f64) -> CheckInput {
    CheckInput {
        results: vec![reads(slower, None), reads(faster, None)],
        ..CheckInput::default()
    }
}

/// A point of depth 1, and one of depth 4 with this latency: 100 us at depth 1.
fn two_depths(deep_us: f64) -> CheckInput {
    let deep = ImportedFigures {
        depth: Some(4),
        ..reads(4e6 / deep_us, Some(deep_us))
    };
    CheckInput {
        results: vec![reads(10_000.0, Some(100.0)), deep],
        ..CheckInput::default()
    }
}

/// The log of a run of 100 rows, of which so many are missing.
fn log_without(missing: u64) -> CheckInput {
    let rows = (missing..100).map(|row| (10 * (row + 1), 100.0)).collect();
    CheckInput {
        logs: vec![ImportedLogs {
            name: "log".into(),
            window_ms: 10,
            runtime_ms: 1_000,
            total_ios: 100 - missing,
            jobs: vec![rows],
        }],
        ..CheckInput::default()
    }
}

fn with_percentiles(percentiles: &[(f64, u64)]) -> CheckInput {
    one(ImportedFigures {
        latencies: vec![latency(1_000_000, 9_000, percentiles)],
        ..ImportedFigures::default()
    })
}

/// Five rounds of a closed loop, in percent of the mean.
fn rounds(bytes_per_s: [f64; 5]) -> CheckInput {
    one(ImportedFigures {
        closed: true,
        rounds: Some(ThroughputRounds {
            bytes_per_s,
            from: Nanos::ZERO,
            to: Nanos::from_secs(50),
        }),
        ..ImportedFigures::default()
    })
}

fn number(text: &str) -> CheckInput {
    CheckInput {
        malformed: parse_figure(text).err().into_iter().collect(),
        ..CheckInput::default()
    }
}

/// 19 of 20 I/Os take 1 ms and one takes 20 ms, and this is stated as their p99.
fn together(p99_ms: f64) -> CheckInput {
    let spread = |ios, ms: f64| LatencyPercentiles {
        ios,
        percentiles: vec![(50.0, ms * 1e6), (99.0, ms * 1e6), (99.9, ms * 1e6)],
    };
    CheckInput {
        spreads: vec![spread(1_900, 1.0), spread(100, 20.0)],
        percentiles: vec![(99.0, p99_ms * 1e6)],
        ..CheckInput::default()
    }
}

/// 3,600 reads in 60 s, two at a time; one took this long and the others waited for it.
fn longest(ns: u64) -> CheckInput {
    one(ImportedFigures {
        closed: true,
        streams: stream(60.0, None),
        latencies: vec![ImportedLatency {
            summary: LatencySummary {
                mean: 33.3e6,
                ..latency(3_600, ns, &[(50.0, 15_800_000)]).summary
            },
            ..latency(3_600, ns, &[])
        }],
        ..ImportedFigures::default()
    })
}

fn hosts(present: usize) -> CheckInput {
    CheckInput {
        hosts: ImportedHosts {
            present: (0..present).map(|host| host.to_string()).collect(),
            expected: Some(2),
            ..ImportedHosts::default()
        },
        ..CheckInput::default()
    }
}

fn ended(error: i32, failed: u64) -> CheckInput {
    one(ImportedFigures {
        error,
        failed,
        ..reads(1_000.0, None)
    })
}

pub const SCENES: &[Scenes<CheckInput>] = &[
    Scenes::limit(
        "NOTHING_DONE",
        (|| completed(0), "0 I/Os completed"),
        &[|| completed(1), plain],
    ),
    Scenes::limit(
        "IO_ERROR",
        (|| ended(0, 1), "1 I/Os failed without ending the job"),
        &[|| ended(0, 0), plain],
    ),
    // 2,000 a second: 2,106 is 5.03 % more than they are, and 2,105 is 4.99 % of it.
    Scenes::limit(
        "SUMMARY_DISAGREES",
        (
            || stated(2_106.0),
            "states 2,106 read IOPS, but its amount and time give 2,000",
        ),
        &[|| stated(2_105.0), || stated(2_000.0)],
    ),
    // 10,000 x 105.1 us are 1.051 in flight of one; x 94.9 us are 0.949.
    Scenes::limit(
        "LITTLE_DISAGREES",
        (
            || one(reads(10_000.0, Some(105.1))),
            "= 1.05 in flight, but at most 1 are possible",
        ),
        &[
            || one(reads(10_000.0, Some(104.9))),
            || one(reads(10_000.0, Some(100.0))),
        ],
    ),
    Scenes::limit(
        "LITTLE_DISAGREES",
        (
            || one(reads(10_000.0, Some(94.9))),
            "5.1 % of the time is in no latency",
        ),
        &[
            || one(reads(10_000.0, Some(95.1))),
            || one(reads(10_000.0, Some(100.0))),
        ],
    ),
    Scenes::limit(
        "PER_JOB_FIGURES",
        (|| of_one_of(2), "1 of 2 jobs"),
        &[|| of_one_of(1), plain],
    ),
    // Half a per cent above 600 MB/s are 603.
    Scenes::limit(
        "ABOVE_LINK",
        (
            || over_sata(604.0, AuthorClaims::default()),
            "101 % of what",
        ),
        &[
            || over_sata(602.0, AuthorClaims::default()),
            || over_sata(300.0, AuthorClaims::default()),
        ],
    ),
    // A tenth above 10 in flight, 600 MB/s, and beside 50 %.
    Scenes::limit(
        "IN_FLIGHT_MISCOUNTED",
        (|| claims_in_flight(11.1), "claims 11.1 in flight"),
        &[|| claims_in_flight(10.9), || claims_in_flight(10.0)],
    ),
    Scenes::limit(
        "LINE_CODING_IGNORED",
        (|| claims_ceiling(661.0), "claims a ceiling of 661 MB/s"),
        &[|| claims_ceiling(659.0), || claims_ceiling(600.0)],
    ),
    Scenes::limit(
        "HEADROOM_MISJUDGED",
        (
            || claims_share(0.39),
            "claims that 39 % of the link capacity is used",
        ),
        &[|| claims_share(0.41), || claims_share(0.5)],
    ),
    Scenes::fact(
        "PATTERN_MISNAMED",
        &[|| claims_pattern("random reads"), plain],
    ),
    Scenes::fact("BLOCK_ASSUMED", &[|| claims_block(512), plain]),
    Scenes::fact("ATTACHMENT_IN_THE_WAY", &[|| attached("HBA 9300"), plain]),
    Scenes::fact("PART_NUMBER_DISAGREES", &[|| with_part("SW1-960"), plain]),
    // A tenth of 100,000.
    Scenes::limit(
        "SPEC_MISSED",
        (|| against_sheet(89_900.0), "90 % of the 100,000"),
        &[|| against_sheet(90_100.0), || against_sheet(100_000.0)],
    ),
    // Of k draws from n blocks n (1 - (1 - 1/n)^k) are of different ones: of 1,100 they are 1,042 and 5.3 % repeat an earlier one,
    // of 1,000 they are 952 and 4.8 % do.
    Scenes::limit(
        "REPEATS_CACHED",
        (|| repeated(1_100), "up to 5.3 % can have come from a cache"),
        &[|| repeated(1_000), plain],
    ),
    Scenes::limit(
        "STATE_DIFFERS",
        (
            || two_runs(4_000.0, 5_000.0),
            "4,000 and 5,000 I/Os per second, 25 % apart",
        ),
        &[|| two_runs(4_000.0, 4_999.0), || two_runs(4_000.0, 4_000.0)],
    ),
    // A tenth of 100 us.
    Scenes::limit(
        "STATE_DIFFERS",
        (
            || two_depths(89.9),
            "An I/O takes 100 us with 1 in flight and 89.9 us with 4",
        ),
        &[|| two_depths(90.1), || two_depths(100.0)],
    ),
    Scenes::limit(
        "LOGS_MISLEAD",
        (|| log_without(1), "1 of 100 rows are missing"),
        &[|| log_without(0), plain],
    ),
    // The last bin of fio is listed as 17,112,760,320 ns.
    Scenes::limit(
        "FIO_BINS_CLAMPED",
        (
            || one(listed(1_000_000, 17_112_760_321, 17_112_760_320)),
            "the last bin of fio, but the maximum is 17.11 s",
        ),
        &[
            || one(listed(1_000_000, 17_112_760_320, 17_112_760_320)),
            || one(listed(1_000_000, 2_000, 1_900)),
        ],
    ),
    // 1 % of 949 are 9.49, and of 950 they are 9.5, which rounds to ten.
    Scenes::limit(
        "FEW_SAMPLES",
        (
            || one(listed(949, 2_000, 1_900)),
            "p99 and above rest on fewer than 10 of 949 I/Os",
        ),
        &[|| one(listed(950, 2_000, 1_900)), plain],
    ),
    Scenes::limit(
        "PERCENTILE_INFLECTION",
        (
            || with_percentiles(&[(50.0, 1_000), (90.0, 2_000), (99.0, 2_000)]),
            "p50 and 2.00 us at p90, 2.0 times that",
        ),
        &[
            || with_percentiles(&[(50.0, 1_000), (90.0, 1_999), (99.0, 1_999)]),
            || with_percentiles(&[(50.0, 1_000), (90.0, 1_000), (99.0, 1_000)]),
        ],
    ),
    // A range of a fifth of the mean.
    Scenes::limit(
        "NOT_STEADY",
        (
            || rounds([89.9, 100.0, 100.0, 100.0, 110.1]),
            "between 89 bytes/s and 110 bytes/s (20 % of the mean)",
        ),
        &[
            || rounds([90.1, 100.0, 100.0, 100.0, 109.9]),
            || rounds([100.0; 5]),
        ],
    ),
    Scenes::fact("NUMBER_MALFORMED", &[|| number("80,000"), plain]),
    // Bins are 1/64 wide: 19.6 ms may be in the bin of 20 ms, 19.7 ms less 1/64 is 19.4.
    Scenes::limit(
        "PERCENTILES_AVERAGED",
        (
            || together(19.6),
            "19.6 ms is stated as p99 of 2 jobs together, but 95 %",
        ),
        &[|| together(19.7), || together(20.0)],
    ),
    // The kernel aborts a command after 30 s.
    Scenes::limit(
        "TARGET_STALLED",
        (
            || longest(30 * SECOND_NS),
            "Nothing completed for 30.00 s of 60.00 s",
        ),
        &[|| longest(30 * SECOND_NS - 1), || longest(SECOND_NS / 10)],
    ),
    Scenes::limit(
        "HOST_LOST",
        (|| hosts(1), "1 of 2 hosts"),
        &[|| hosts(2), plain],
    ),
];
