//! Published results with known mistakes, row by row. The figures are those of their authors; the
//! mistakes were found by hand, and the expected numbers can be verified with a calculator.

use fathom_analyse::*;
use fathom_model::*;

const KIB: u64 = 1024;

fn stream(direction: Direction, iops: f64, latency_us: Option<f64>) -> ImportedDirection {
    ImportedDirection {
        direction,
        iops,
        latency_ns: latency_us.map(|us| us * 1e3),
        is_median: true,
    }
}

fn read(iops: f64, latency_us: Option<f64>) -> Vec<ImportedDirection> {
    vec![stream(Direction::Read, iops, latency_us)]
}

fn write(iops: f64) -> Vec<ImportedDirection> {
    vec![stream(Direction::Write, iops, None)]
}

/// Asserts that this is the only finding and that its evidence has these parts.
fn assert_only_finding(imported: &ImportedFigures, code: &str, parts: &[&str]) -> Finding {
    let found = judge_imported(imported);
    assert_eq!(
        found.iter().map(|f| f.code).collect::<Vec<_>>(),
        [code],
        "{found:#?}"
    );
    assert_evidence(&found[0], parts);
    found[0].clone()
}

fn assert_evidence(finding: &Finding, parts: &[&str]) {
    for part in parts {
        assert!(
            finding.evidence.contains(part),
            "'{part}' is missing in: {}",
            finding.evidence
        );
    }
    assert!(!finding.id.is_empty() && !finding.advice.is_empty());
}

fn finding(found: &[Finding], code: &str) -> Finding {
    found
        .iter()
        .find(|f| f.code == code)
        .unwrap_or_else(|| panic!("no {code} in {found:#?}"))
        .clone()
}

/// A-27 and A-31 (trap 3): 19,588 x 16 KiB on SATA at 6 Gbit/s, "715 MB/s theoretical max". 6e9 /
/// 10 = 600 MB/s; 19,588 x 16,384 = 320.9 MB/s = 53 % of that.
#[test]
fn a_27_the_ceiling_ignores_line_coding() {
    let row = ImportedFigures {
        name: "A-27".into(),
        rw: Some("randwrite".into()),
        streams: write(19_588.0),
        block: Some(16 * KIB),
        link: Some("sata6".parse().expect("a link")),
        claims: AuthorClaims {
            ceiling: Some(715.0 * 1024.0 * 1024.0),
            ..AuthorClaims::default()
        },
        ..ImportedFigures::default()
    };
    assert_only_finding(
        &row,
        "LINE_CODING_IGNORED",
        &[
            "claims a ceiling of 750 MB/s",
            "carries 600 MB/s after 8b/10b",
            "53 % of that, not 43 %",
        ],
    );
    let right = ImportedFigures {
        claims: AuthorClaims {
            ceiling: Some(600e6),
            ..AuthorClaims::default()
        },
        ..row
    };
    assert_eq!(judge_imported(&right), []);
}

/// Regression 0353: the ceiling of several links was that of one. Four PCIe 3.0 x4 carry 4 x 8 Gbit/s x 4 x 128/130 =
/// 15,754 MB/s.
#[test]
fn the_ceiling_of_four_links_is_four_times_that_of_one() {
    let claimed = |ceiling| ImportedFigures {
        name: "A-52".into(),
        streams: read(648_223.0, None),
        block: Some(16 * KIB),
        link: Some("pcie3x4".parse().expect("a link")),
        links: 4,
        claims: AuthorClaims {
            ceiling: Some(ceiling),
            ..AuthorClaims::default()
        },
        ..ImportedFigures::default()
    };
    assert_eq!(judge_imported(&claimed(15.75e9)), []);
    assert_only_finding(
        &claimed(20e9),
        "LINE_CODING_IGNORED",
        &[
            "claims a ceiling of 20000 MB/s",
            "4 x PCIe 3.0 x4 carry 15754 MB/s after 128b/130b coding",
            "is 67 % of that, not 53 %",
        ],
    );
    assert_eq!(
        link_line(&claimed(15.75e9)).as_deref(),
        Some("link: 67 % of 4 x PCIe 3.0 x4 (15754 MB/s usable after 128b/130b coding)")
    );
}

/// A-30 and A-50 (trap 2): "8 readers and 8 writers"; per job 2,153 x 338 us + 540 x 172 us = 0.728 + 0.093 = 0.82, times 8
/// A-30 and A-50 (trap 2): "8 readers and 8 writers"; per job 2,153 x 338 us + 540 x 172 us = 0.728
/// + 0.093 = 0.82, times 8 = 6.6, of 8 possible.
#[test]
fn a_30_eight_mixed_jobs_are_not_sixteen() {
    let row = ImportedFigures {
        name: "A-30".into(),
        streams: vec![
            stream(Direction::Read, 2_153.0, Some(338.0)),
            stream(Direction::Write, 540.0, Some(172.0)),
        ],
        block: Some(16 * KIB),
        depth: Some(1),
        jobs: Some(8),
        per_job: true,
        closed: true,
        claims: AuthorClaims {
            in_flight: Some(16.0),
            ..AuthorClaims::default()
        },
        ..ImportedFigures::default()
    };
    let found = judge_imported(&row);
    assert_evidence(
        &finding(&found, "IN_FLIGHT_MISCOUNTED"),
        &[
            "claims 16 in flight",
            "8 jobs of depth 1 allow at most 8",
            "6.6 were",
        ],
    );
    assert!((row.in_flight().expect("known") - 6.56).abs() < 0.01);
}

/// 1,000,000 / 116 us = 8,620; measured 8,459, 1.9 % less. Nothing is wrong with it.
#[test]
fn a_48_agrees_with_littles_law() {
    let row = ImportedFigures {
        name: "A-48".into(),
        streams: read(8_459.0, Some(116.0)),
        block: Some(16 * KIB),
        depth: Some(1),
        jobs: Some(1),
        closed: true,
        ..ImportedFigures::default()
    };
    assert_eq!(judge_imported(&row), []);
    assert!((row.little().expect("known") - 0.981).abs() < 0.001);
}

/// A-52 (trap 4): 648,223 x 16 KiB = 10.62 GB/s over four PCIe 3.0 x4 (15.75 GB/s) is 67 %, not
/// "not even 1/3".
#[test]
fn a_52_the_headroom_is_one_third_not_two() {
    let row = ImportedFigures {
        name: "A-52".into(),
        streams: read(648_223.0, None),
        block: Some(16 * KIB),
        link: Some("pcie3x4".parse().expect("a link")),
        links: 4,
        claims: AuthorClaims {
            share: Some(1.0 / 3.0),
            ..AuthorClaims::default()
        },
        ..ImportedFigures::default()
    };
    assert_only_finding(
        &row,
        "HEADROOM_MISJUDGED",
        &[
            "claims that 33 % of the link capacity is used",
            "are 67 % of",
            "4 x PCIe 3.0 x4",
        ],
    );
}

/// C-27 and C-30 (trap 5): 4 x 253 x 4 MiB = 3.95 GiB/s = 4.24 GB/s, above PCIe 3.0 x4 (3.94 GB/s).
#[test]
fn c_27_the_threads_did_not_overlap() {
    let row = |iops| ImportedFigures {
        name: "C-27".into(),
        streams: read(iops, None),
        block: Some(4096 * KIB),
        jobs: Some(4),
        per_job: true,
        link: Some("pcie3x4".parse().expect("a link")),
        ..ImportedFigures::default()
    };
    let found = judge_imported(&row(253.0));
    let above = finding(&found, "ABOVE_LINK");
    assert_eq!(above.weight, Weight::Invalidates);
    assert_evidence(
        &above,
        &[
            "3.95 GiB/s in total is 108 % of what 1 x PCIe 3.0 x4 can carry (3.67 GiB/s)",
            "did not all run at the same time",
        ],
    );
    // C-30: 4 x 240 x 4 MiB = 3.75 GiB/s = 4.03 GB/s, 102 %.
    assert_evidence(
        &finding(&judge_imported(&row(240.0)), "ABOVE_LINK"),
        &["102 %"],
    );
}

/// C-31 (trap 7): "multiply by 4" refers to a list of per-thread figures; for a synchronous row of
/// one thread (C-08: 2,900 x 1 MiB) it would give 11.3 GiB/s.
#[test]
fn c_31_one_thread_is_not_the_device() {
    let row = ImportedFigures {
        name: "C-31".into(),
        streams: read(843.0, None),
        block: Some(1024 * KIB),
        jobs: Some(4),
        per_job: true,
        link: Some("pcie3x4".parse().expect("a link")),
        ..ImportedFigures::default()
    };
    assert_only_finding(
        &row,
        "PER_JOB_FIGURES",
        &["1 of 4 jobs", "3,372 I/Os per second, 3.29 GiB/s"],
    );
    let synchronous = ImportedFigures {
        streams: write(2_900.0),
        ..row
    };
    assert_evidence(
        &finding(&judge_imported(&synchronous), "ABOVE_LINK"),
        &["11.33 GiB/s", "309 %"],
    );
}

fn sheet_970() -> SpecSheet {
    let figure = |direction, value, in_flight| SpecFigure {
        direction,
        random: true,
        value,
        is_bandwidth: false,
        block: Some(4 * KIB),
        in_flight: Some(in_flight),
    };
    SpecSheet {
        model: "970 EVO Plus 1TB".into(),
        part_prefixes: vec!["MZ-V7S1T0".into()],
        figures: vec![
            figure(Direction::Read, 600e3, 128.0),
            figure(Direction::Write, 550e3, 128.0),
        ],
    }
}

/// C-35 (trap 6): "all these numbers match the vendor numbers", yet random writes are 4 x 19,000 =
/// 76,000 of 550,000: 14 %, and with blocks of 512 bytes instead of the 4 KiB of the sheet.
#[test]
fn c_35_a_seventh_does_not_match_the_vendor() {
    let row = ImportedFigures {
        name: "C-35".into(),
        rw: Some("randwrite".into()),
        streams: write(76_000.0),
        block: Some(512),
        depth: Some(16),
        jobs: Some(4),
        sheet: Some(sheet_970()),
        ..ImportedFigures::default()
    };
    let parts = [
        "76,000 I/Os per second is 14 % of the 550,000",
        "blocks of 512 bytes instead of 4 KiB",
        "64 in flight instead of 128",
    ];
    assert_only_finding(&row, "SPEC_MISSED", &parts);
    // The reads of the same page match: 4 x 140,000 = 560,000 of 600,000 is 93 %.
    let reads = ImportedFigures {
        rw: Some("randread".into()),
        streams: read(560_000.0, None),
        block: Some(4096),
        ..row
    };
    assert_eq!(judge_imported(&reads), []);
}

fn sheet_850() -> SpecSheet {
    let figure = |direction, random, value, is_bandwidth, in_flight| SpecFigure {
        direction,
        random,
        value,
        is_bandwidth,
        block: random.then_some(4 * KIB),
        in_flight: Some(in_flight),
    };
    SpecSheet {
        model: "850 EVO".into(),
        part_prefixes: vec!["MZ-75E".into(), "MZ-N5E".into()],
        figures: vec![
            figure(Direction::Read, false, 540e6, true, 8.0),
            figure(Direction::Write, false, 520e6, true, 8.0),
            figure(Direction::Read, true, 98_000.0, false, 32.0),
            figure(Direction::Write, true, 90_000.0, false, 32.0),
        ],
    }
}

/// D-06 (trap 8): MZ7LM1T9 belongs to the PM863 family and is not an 850 EVO.
#[test]
fn d_06_the_part_number_belongs_to_another_drive() {
    let row = ImportedFigures {
        name: "D-06".into(),
        part_number: Some("SAMSUNG MZ7LM1T9".trim_start_matches("SAMSUNG ").into()),
        sheet: Some(sheet_850()),
        claims: AuthorClaims {
            model: Some("SSD 850 EVO 2.5 SATA III 1TB".into()),
            ..AuthorClaims::default()
        },
        ..ImportedFigures::default()
    };
    assert_only_finding(
        &row,
        "PART_NUMBER_DISAGREES",
        &[
            "MZ7LM1T9 is described as a SSD 850 EVO",
            "begin with MZ-75E or MZ-N5E",
        ],
    );
    let right = ImportedFigures {
        part_number: Some("MZ75E1T0".into()),
        ..row
    };
    assert_eq!(judge_imported(&right), []);
}

fn against_850(
    rw: &str,
    streams: Vec<ImportedDirection>,
    block: u64,
    depth: u32,
) -> ImportedFigures {
    ImportedFigures {
        rw: Some(rw.into()),
        streams,
        block: Some(block),
        depth: Some(depth),
        sheet: Some(sheet_850()),
        ..ImportedFigures::default()
    }
}

/// D-07 and D-08: 534 of 540 and 515 of 520 MB/s are 98.9 and 99.0 %: nothing is wrong.
#[test]
fn d_07_and_d_08_confirm_the_sheet() {
    let mib = 1024.0 * 1024.0;
    assert_eq!(
        judge_imported(&against_850("read", read(534e6 / mib, None), 1024 * KIB, 8)),
        []
    );
    assert_eq!(
        judge_imported(&against_850("write", write(515e6 / mib), 1024 * KIB, 8)),
        []
    );
}

/// D-09 (trap 9): "80,00" is refused; read as 80,000 it would be 82 % of 98,000.
#[test]
fn d_09_a_malformed_figure_is_refused() {
    let input = CheckInput {
        malformed: vec![parse_figure("80,00").expect_err("neither 80 nor 8,000")],
        ..CheckInput::default()
    };
    let refused = check(&input).remove(0);
    assert_eq!(
        (refused.code, refused.weight),
        ("NUMBER_MALFORMED", Weight::Invalidates)
    );
    assert_evidence(&refused, &["'80,00'"]);
    let intended = parse_figure("80,000").expect("a figure");
    assert_only_finding(
        &against_850("randread", read(intended, None), 4 * KIB, 32),
        "SPEC_MISSED",
        &["80,000", "82 % of the 98,000"],
    );
}

/// D-10: 67,000 of 90,000 is 74 %.
#[test]
fn d_10_three_quarters_of_the_sheet() {
    assert_only_finding(
        &against_850("randwrite", write(67_000.0), 4 * KIB, 32),
        "SPEC_MISSED",
        &["67,000", "74 % of the 90,000"],
    );
}

/// D-21 (trap 11): at depth 1, 8.5 ms are 117.6 per second and not 125.
#[test]
fn d_21_eight_and_a_half_milliseconds_are_not_125() {
    let row = ImportedFigures {
        name: "D-21".into(),
        streams: vec![ImportedDirection {
            direction: Direction::Read,
            iops: 125.0,
            latency_ns: Some(8.5e6),
            is_median: false,
        }],
        depth: Some(1),
        jobs: Some(1),
        closed: true,
        ..ImportedFigures::default()
    };
    let found = assert_only_finding(
        &row,
        "LITTLE_DISAGREES",
        &[
            "125 I/Os per second x 8.50 ms = 1.06 in flight",
            "117.6 per second",
        ],
    );
    assert_eq!(found.weight, Weight::Degrades);
}

/// A-12 (trap 1): rw=rw, described as "same as the randwrite".
#[test]
fn trap_1_rw_is_not_random() {
    let claims = AuthorClaims {
        pattern: Some("random, 80 % reads".into()),
        ..AuthorClaims::default()
    };
    let row = ImportedFigures {
        rw: Some("rw".into()),
        jobs: Some(8),
        claims,
        ..ImportedFigures::default()
    };
    assert_only_finding(
        &row,
        "PATTERN_MISNAMED",
        &[
            "rw=rw is sequential (8 streams of it)",
            "random, 80 % reads",
        ],
    );
    let right = ImportedFigures {
        rw: Some("randrw".into()),
        ..row
    };
    assert_eq!(judge_imported(&right), []);
}

/// D-19 (trap 10): 8 KiB reads over 1000 GB under zipf for ten cold seconds: 8.5 ms instead of 12.5
/// ms means a third of hits, about 1,180 reads. Simulated independently: 8.7 ms at theta 1.05 and
/// 7.0 ms at 1.1, which is 30 and 44 % of hits.
#[test]
fn trap_10_skew_means_cache_hits_not_shorter_seeks() {
    let row = |theta| ImportedFigures {
        name: "D-19".into(),
        streams: read(118.0, Some(8_500.0)),
        block: Some(8 * KIB),
        zipf: Some(theta),
        region: Some(1_000_000_000_000),
        ios: Some(1_180),
        ..ImportedFigures::default()
    };
    assert_only_finding(
        &row(1.05),
        "REPEATS_CACHED",
        &["1,180 I/Os under zipf 1.05", "seeks are as long as before"],
    );
    let repeats = |theta| 1.0 - distinct_share(theta, 1_000_000_000_000 / 8192, 1_180);
    assert!(
        (repeats(1.05) - 0.30).abs() < 0.06 && (repeats(1.1) - 0.44).abs() < 0.06,
        "{} {}",
        repeats(1.05),
        repeats(1.1)
    );
}

/// B-28 (trap 12): waves of latency that came from the controller.
#[test]
fn trap_12_a_controller_looks_like_the_drive() {
    let behind = |path: &str| ImportedFigures {
        attachment: Some(path.into()),
        ..ImportedFigures::default()
    };
    assert_only_finding(
        &behind("HP P420i, RAID 0 of one drive"),
        "ATTACHMENT_IN_THE_WAY",
        &["P420i", "1 drive"],
    );
    assert_only_finding(&behind(""), "ATTACHMENT_IN_THE_WAY", &["is not recorded"]);
    assert_eq!(judge_imported(&behind("AHCI, 3 Gbit/s")), []);
}

fn point(iops: f64, latency_us: Option<f64>, depth: u32) -> ImportedFigures {
    ImportedFigures {
        rw: Some("randread".into()),
        streams: read(iops, latency_us),
        block: Some(4 * KIB),
        depth: Some(depth),
        jobs: Some(1),
        ..ImportedFigures::default()
    }
}

/// Trap 13: 166 us at depth 1 and 123 us at depth 2; 13,700 at depth 1 in one run and 7,800 in
/// another.
#[test]
fn trap_13_the_device_was_in_another_state() {
    let found = judge_sweep(&[
        point(6_000.0, Some(166.0), 1),
        point(16_260.0, Some(123.0), 2),
    ]);
    assert_eq!(found.len(), 1);
    assert_evidence(&found[0], &["166 us with 1 in flight and 123 us with 2"]);
    let found = judge_sweep(&[point(13_700.0, None, 1), point(7_800.0, None, 1)]);
    assert_evidence(
        &finding(&found, "STATE_DIFFERS"),
        &["7,800 and 13,700", "76 % apart"],
    );
    let sane = [
        point(9_000.0, Some(110.0), 1),
        point(17_000.0, Some(117.0), 2),
        point(9_200.0, Some(108.0), 1),
    ];
    assert_eq!(judge_sweep(&sane), []);
}

/// Regression 0354: parallel jobs of one document, and results of different plans or drives, were "two runs of the same".
#[test]
fn only_results_of_one_plan_at_different_times_are_repeats() {
    let of = |document, phase, device: &str, iops| {
        let options = [("filename", device), ("ioengine", "libaio")];
        ImportedFigures {
            origin: ImportedOrigin {
                document: Some(document),
                phase,
                options: options
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
            },
            ..point(iops, None, 1)
        }
    };
    let judged = |other| judge_sweep(&[of(0, 0, "/dev/sda", 13_700.0), other]).len();
    // Parallel jobs of one document; another drive; other runs of the same plan: behind a stonewall, and in another document.
    assert_eq!(judged(of(0, 0, "/dev/sda", 7_800.0)), 0);
    assert_eq!(judged(of(1, 0, "/dev/sdb", 7_800.0)), 0);
    assert_eq!(judged(of(0, 1, "/dev/sda", 7_800.0)), 1);
    assert_eq!(judged(of(1, 0, "/dev/sda", 7_800.0)), 1);
    // The same number in flight is not the same plan: 1 x 4 and 4 x 1.
    let deep = ImportedFigures {
        depth: Some(4),
        ..of(0, 0, "/dev/sda", 13_700.0)
    };
    let wide = ImportedFigures {
        jobs: Some(4),
        ..of(1, 0, "/dev/sda", 7_800.0)
    };
    assert_eq!(judge_sweep(&[deep, wide]), []);
}

/// Regression 0355: one point that is slower than one other was explained by a device that was asleep.
#[test]
fn the_state_of_the_device_explains_only_several_points() {
    let slow_start = point(6_000.0, Some(166.0), 1);
    let one = judge_sweep(&[slow_start.clone(), point(16_260.0, Some(123.0), 2)]);
    assert!(!one[0].evidence.contains("asleep"), "{}", one[0].evidence);
    let several = judge_sweep(&[
        slow_start,
        point(16_260.0, Some(123.0), 2),
        point(32_000.0, Some(125.0), 4),
    ]);
    assert_evidence(&several[0], &["2 points at higher depths", "asleep"]);
}

/// E-08 (trap 14): "flash minimum 4096", but a drive that reports 512 accepts 512.
#[test]
fn trap_14_the_device_reports_its_block_size() {
    let claims = AuthorClaims {
        smallest_block: Some(4096),
        ..AuthorClaims::default()
    };
    let row = ImportedFigures {
        logical_block: Some(512),
        claims,
        ..ImportedFigures::default()
    };
    assert_only_finding(
        &row,
        "BLOCK_ASSUMED",
        &["a smallest block of 4096 bytes", "reports 512"],
    );
}

/// Two logs of four windows; the second job completed nothing in two of them.
#[test]
fn logs_without_rows_for_idle_windows_are_reported() {
    let full = vec![(250, 100.0), (500, 100.0), (750, 100.0), (1000, 100.0)];
    let starved = vec![(250, 100.0), (1000, 100.0)];
    let logs = ImportedLogs {
        name: "two".into(),
        window_ms: 250,
        runtime_ms: 1000,
        total_ios: 150,
        jobs: vec![full.clone(), starved],
    };
    let found = judge_logs(&logs).expect("rows are missing");
    // By row number both have 100 in their first two rows: 200; the actual rate is 150 per second.
    assert_evidence(
        &found,
        &[
            "2 of 8 rows are missing (25 %",
            "show 200 I/Os per second, the summary says 150",
            "100 % of its I/Os",
        ],
    );
    let complete = ImportedLogs {
        jobs: vec![full.clone(), full],
        ..logs
    };
    assert_eq!(judge_logs(&complete), None);
}

/// Unknown values are not judged.
#[test]
fn unknown_values_have_no_findings() {
    assert_eq!(judge_imported(&ImportedFigures::default()), []);
    assert_eq!(judge_sweep(&[]), []);
    assert_eq!(judge_logs(&ImportedLogs::default()), None);
}
