//! Sizings against calculations by hand.

use fathom_size::{
    Choice, LatencyFigure, Limit, Prices, RaidLevel, Request, SizeError, built_in_drive, choices,
    size,
};

const MEAN_20MS: Limit = Limit {
    figure: LatencyFigure::Mean,
    ns: 20e6,
};

fn request(load: &str, drives: &[&str], levels: &[RaidLevel]) -> Request {
    Request {
        load: load.parse().expect("a load"),
        load_source: "option".to_owned(),
        limits: vec![MEAN_20MS],
        capacity: None,
        drives: drives
            .iter()
            .map(|id| built_in_drive(id).expect("a drive"))
            .collect(),
        levels: levels.to_vec(),
        prices: Prices::default(),
        count: None,
        group: 1000,
        headroom: 0.0,
        fill: 1.0,
        rebuild: 0.0,
        years: 5.0,
        spares: 0,
        uplink: None,
        controller_iops: None,
        curve: None,
    }
}

fn only(request: &Request) -> Choice {
    let (mut found, refused) = choices(request).expect("an answer");
    assert_eq!((found.len(), refused.len()), (1, 0), "{refused:?}");
    found.remove(0)
}

fn need(choice: &Choice, what: &str) -> u32 {
    let found = choice.needs.iter().find(|(name, _)| *name == what);
    found
        .unwrap_or_else(|| panic!("no {what} in {:?}", choice.needs))
        .1
}

/// 2,000 IOPS, 70/30, mean 20 ms: 2000 (0.7 + 0.3 * 4) = 3,800 disk operations in RAID 5, 2,600 in
/// RAID 10; 43 per disk of 7,200 rpm by M/G/1: 89 and 61 disks.
#[test]
fn disks_for_a_mean_of_20_ms_are_those_of_the_calculation_by_hand() {
    // S = 8.2 + 25/6 + 8192 / 129 MB/s, cv 0.31: 20 = S (1 + u (1 + cv^2) / (2 (1 - u))).
    let service = 8.2 + 25.0 / 6.0 + 8.192 / 129.0;
    let over = 20.0 / service - 1.0;
    let factor = f64::midpoint(1.0, 0.31f64.powi(2));
    let utilisation = over / (factor + over);
    let rate = utilisation / service * 1000.0;
    assert!((rate - 43.0).abs() < 1.0, "{rate}");
    for (level, operations, published) in [
        (RaidLevel::Raid5, 3800.0, 89),
        (RaidLevel::Raid10, 2600.0, 62),
    ] {
        let choice = only(&request(
            "2000 iops, 70/30, 8k random",
            &["hdd-7200"],
            &[level],
        ));
        let expected = (operations / rate).ceil();
        let found = f64::from(need(&choice, "latency"));
        assert!((found / expected - 1.0).abs() <= 0.02, "{found} {expected}");
        assert!(
            (i64::from(need(&choice, "latency")) - published).abs() <= 2,
            "{level}: {found}"
        );
        assert!(
            (19e6..=20e6).contains(&choice.latency),
            "{}",
            choice.latency
        );
    }
    let (found, _) = choices(&request(
        "2000 iops, 70/30, 8k random",
        &["sata-ssd", "nvme"],
        &[RaidLevel::Raid1],
    ))
    .expect("an answer");
    assert!(
        found.iter().all(|choice| choice.drives == 2),
        "one pair of SSDs carries it"
    );
}

/// 10 TB on drives of 4 TB: RAID 5 needs 4 (12 TB), RAID 6 5, RAID 10 6; filled to 80 %: 12.5 TB.
#[test]
fn capacity_counts_parity_and_the_fill_limit() {
    let cases = [
        (RaidLevel::Raid5, 4, 5),
        (RaidLevel::Raid6, 5, 6),
        (RaidLevel::Raid10, 6, 8),
        (RaidLevel::Raid0, 3, 4),
    ];
    for (level, full, filled) in cases {
        let mut request = request("10 iops, read, 8k random", &["hdd-7200"], &[level]);
        request.capacity = Some(10e12);
        assert_eq!(
            need(&only(&request), "capacity").next_multiple_of(if level == RaidLevel::Raid10 {
                2
            } else {
                1
            }),
            full,
            "{level}"
        );
        request.fill = 0.8;
        assert_eq!(only(&request).drives, filled, "{level}");
        assert_eq!(only(&request).binds, "capacity");
    }
    // Groups of 8: 100 TB of 4 TB are 25 data drives, 4 groups, 29 drives.
    let mut request = request(
        "10 iops, read, 8k random",
        &["hdd-7200"],
        &[RaidLevel::Raid5],
    );
    request.capacity = Some(100e12);
    request.group = 8;
    assert_eq!(only(&request).drives, 29);
}

/// 2,000 writes of 8 KiB a second are 1.4156 TB a day; RAID 10 writes them twice, five years are
/// 1,825 days; a drive of 10,840 TBW.
#[test]
fn endurance_counts_the_copies_of_the_level() {
    let written = 2000.0 * 8192.0 * 86_400.0 / 1e12 * 365.0 * 5.0;
    for (level, copies) in [
        (RaidLevel::Raid0, 1.0f64),
        (RaidLevel::Raid10, 2.0),
        (RaidLevel::Raid5, 2.0),
        (RaidLevel::Raid6, 3.0),
    ] {
        let choice = only(&request(
            "2000 iops, write, 8k random",
            &["sata-ssd"],
            &[level],
        ));
        assert_eq!(
            f64::from(need(&choice, "endurance")),
            (written * copies / 10_840.0f64).ceil(),
            "{level}"
        );
    }
}

/// 3 GB/s of sequential reads: 83 MB/s of the inner tracks of a disk, 500 MB/s of a SATA SSD.
#[test]
fn sequential_loads_are_sized_by_bandwidth() {
    let choice = only(&request(
        "3 GB/s, 1m sequential read",
        &["hdd-7200"],
        &[RaidLevel::Raid0],
    ));
    assert_eq!((choice.drives, choice.binds), (37, "bandwidth"));
    let choice = only(&request(
        "3 GB/s, 1m sequential read",
        &["sata-ssd"],
        &[RaidLevel::Raid0],
    ));
    assert_eq!(choice.drives, 6);
    // Whole stripes of 8 drives in RAID 5: 8/7 bytes for each byte. 200 MB/s for five years.
    let mut stripes = request(
        "200 MB/s, 1m sequential write",
        &["sata-ssd"],
        &[RaidLevel::Raid5],
    );
    stripes.group = 8;
    let written = 200e6 * 86_400.0 * 365.0 * 5.0 / 1e12 * 8.0 / 7.0;
    let choice = only(&stripes);
    assert_eq!(
        f64::from(need(&choice, "endurance")),
        (written / 10_840.0f64).ceil()
    );
    let answer = size(&stripes).expect("an answer");
    let columns = answer.tables[0].columns.len();
    assert!(answer.tables[0].rows.iter().all(|row| row.len() == columns));
}

#[test]
fn headroom_and_one_failure_add_drives() {
    let mut request = request(
        "2000 iops, 70/30, 8k random",
        &["hdd-7200"],
        &[RaidLevel::Raid10],
    );
    let plain = need(&only(&request), "latency");
    request.headroom = 0.5;
    assert!(need(&only(&request), "latency").abs_diff(2 * plain) <= 1);
    request.headroom = 0.0;
    assert_eq!(need(&only(&request), "failure"), plain + 1);
    request.rebuild = 0.5;
    assert!(need(&only(&request), "failure").abs_diff(2 * plain + 1) <= 1);
}

#[test]
fn bursts_need_more_drives() {
    let calm = only(&request(
        "2000 iops, 70/30, 8k random",
        &["hdd-7200"],
        &[RaidLevel::Raid10],
    ));
    let bursts = only(&request(
        "2000 iops, 70/30, 8k random, burstiness 10",
        &["hdd-7200"],
        &[RaidLevel::Raid10],
    ));
    assert!(
        bursts.drives > 2 * calm.drives,
        "{} {}",
        bursts.drives,
        calm.drives
    );
}

#[test]
fn options_are_sorted_by_cost_and_one_is_recommended() {
    let mut request = request(
        "2000 iops, 70/30, 8k random",
        &["hdd-7200", "sata-ssd", "nvme"],
        &[RaidLevel::Raid10, RaidLevel::Raid5],
    );
    request.capacity = Some(10e12);
    request.prices =
        Prices::read_list("hdd-7200=100USD,sata-ssd=400USD,nvme=500USD").expect("prices");
    let (found, _) = choices(&request).expect("an answer");
    let costs: Vec<f64> = found.iter().filter_map(|choice| choice.cost).collect();
    assert!(costs.len() == 6 && costs.is_sorted(), "{costs:?}");
    let answer = size(&request).expect("an answer");
    assert!(
        answer.answer[0].starts_with("Recommended: "),
        "{:?}",
        answer.answer
    );
    let text = fathom_model_text(&answer);
    assert!(
        text.contains(&format!("Recommended: {}", found[0].name)),
        "{text}"
    );
    let columns = answer.tables[0].columns.len();
    for (choice, row) in found.iter().zip(&answer.tables[0].rows) {
        assert_eq!(row.len(), columns);
        let price = match choice.drive.as_str() {
            "hdd-7200" => 100.0,
            "sata-ssd" => 400.0,
            _ => 500.0,
        };
        assert_eq!(row[8].value(), Some(price * f64::from(choice.drives)));
    }
}

fn fathom_model_text(answer: &fathom_model::DerivedAnswer) -> String {
    [
        answer.question.join("\n"),
        answer.answer.join("\n"),
        answer.notes.join("\n"),
    ]
    .join("\n")
}

/// An idle 7,200 rpm disk has seeks up to 14.9 ms and 8.33 ms of rotation: p99 above 20 ms.
#[test]
fn a_limit_below_an_idle_drive_is_refused_with_its_latency() {
    let mut request = request(
        "2000 iops, 70/30, 8k random",
        &["hdd-7200"],
        &[RaidLevel::Raid10],
    );
    request.limits = vec![Limit {
        figure: LatencyFigure::Percentile(99.0),
        ns: 10e6,
    }];
    let error = size(&request).expect_err("below the service").to_string();
    assert!(
        error.contains("p99 of one idle drive is") && error.contains("above the limit of 10.0 ms"),
        "{error}"
    );
}

/// Regression 0950: a capacity that 100,000 drives do not have was answered with 100,000 drives. 100,000 disks of 4 TB have
/// 400,000 TB.
#[test]
fn regression_0950_a_capacity_beyond_the_models_is_refused() {
    let mut large = request(
        "10 iops, read, 8k random",
        &["hdd-7200"],
        &[RaidLevel::Raid0],
    );
    large.capacity = Some(400_000e12);
    assert_eq!(only(&large).drives, 100_000);
    large.capacity = Some(400_001e12);
    let error = size(&large).expect_err("a million drives").to_string();
    assert!(error.contains("more than 100,000 drives"), "{error}");
}

/// Regression 0951: more drives than 32 bits count ended with an overflow. A thousand million reads of 1 GiB at 83 MB/s are 13
/// thousand million disks.
#[test]
fn regression_0951_the_largest_load_is_refused() {
    let largest = request(
        "1000000000 iops, read, 1024m sequential",
        &["hdd-7200"],
        &[RaidLevel::Raid10],
    );
    let error = size(&largest).expect_err("too many drives").to_string();
    assert!(error.contains("more than 100,000 drives"), "{error}");
}

#[test]
fn impossible_arrays_and_loads_beyond_the_models_are_refused() {
    let mut six = request(
        "10 iops, read, 8k random",
        &["hdd-7200"],
        &[RaidLevel::Raid6],
    );
    six.count = Some(3);
    let error = size(&six).expect_err("RAID 6 of 3");
    assert!(matches!(error, SizeError::Raid(_)), "{error}");
    assert!(error.to_string().contains("at least 4 drives"));
    let far = request(
        "100000000 iops, read, 8k random",
        &["hdd-7200"],
        &[RaidLevel::Raid0],
    );
    let error = size(&far).expect_err("millions of disks").to_string();
    assert!(error.contains("beyond the model's range"), "{error}");
    let mut few = request(
        "2000 iops, read, 8k random",
        &["hdd-7200"],
        &[RaidLevel::Raid0],
    );
    few.count = Some(4);
    let error = size(&few).expect_err("too few").to_string();
    assert!(
        error.contains("4 drives are too few; needs 47 for latency")
            || error.contains("for latency"),
        "{error}"
    );
}

/// 5 W each by the data sheet of the SATA SSD; the disks' sheets have no power.
#[test]
fn power_is_that_of_the_data_sheet_where_it_is_known() {
    let mut question = request(
        "2000 iops, 70/30, 8k random",
        &["sata-ssd"],
        &[RaidLevel::Raid5],
    );
    question.capacity = Some(10e12);
    let text = fathom_model_text(&size(&question).expect("an answer"));
    // 10 TB are three drives of 3.84 TB and a parity.
    assert!(text.contains("Recommended: 4 x sata-ssd"), "{text}");
    assert!(text.contains("power 20 W"), "{text}");
    let disks = request(
        "200 iops, read, 8k random",
        &["hdd-7200"],
        &[RaidLevel::Raid5],
    );
    let text = fathom_model_text(&size(&disks).expect("an answer"));
    assert!(!text.contains("power "), "{text}");
}
