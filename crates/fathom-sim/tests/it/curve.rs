//! The device that `fathom fit` writes gives the fitted curve back.

use fathom_fit::{Provenance, fit_model};
use fathom_model::{Direction, DirectionFigures, JobFigures, LatencySummary};
use fathom_sim::{Library, SimOp, SimRequest, closed_loop};

/// A measured cell: IOPS by the formula of a curve.
fn cell(rw: &str, block: u64, depth: u32, iops: f64) -> JobFigures {
    let direction = if rw.ends_with("write") {
        Direction::Write
    } else {
        Direction::Read
    };
    JobFigures {
        rw: rw.to_owned(),
        block: Some(block),
        depth: Some(depth),
        jobs: Some(1),
        directions: vec![DirectionFigures {
            direction,
            iops,
            iops_spread: None,
            bandwidth: iops * block as f64,
            ios: 1000,
            latency: LatencySummary {
                mean: f64::from(depth) / iops * 1e9,
                ..LatencySummary::default()
            },
            slat: None,
            lat: None,
        }],
        ..JobFigures::default()
    }
}

const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];

fn reads(n: f64) -> f64 {
    let (r0, xmax, m) = (118e-6, 53_400.0_f64, 2.0);
    ((n / r0).powf(-m) + xmax.powf(-m)).powf(-1.0 / m)
}

fn writes(n: f64) -> f64 {
    20_000.0 * n / (1.0 + 0.25 * (n - 1.0) + 0.001 * n * (n - 1.0))
}

fn sequential(n: f64) -> f64 {
    (n * 900.0).min(1800.0)
}

fn model() -> String {
    let cells: Vec<JobFigures> = DEPTHS
        .into_iter()
        .flat_map(|depth| {
            let n = f64::from(depth);
            [
                cell("randread", 4096, depth, reads(n)),
                cell("randwrite", 4096, depth, writes(n)),
                cell("read", 1 << 20, depth, sequential(n)),
            ]
        })
        .collect();
    let provenance = Provenance {
        device: "a \"drive\" \\ 7\n".to_owned(),
        results: vec!["r1".to_owned()],
        ..Provenance::default()
    };
    fit_model(&cells, provenance).expect("a model").toml()
}

/// IOPS of a closed loop on the device of a model file.
fn simulated(model: &str, depth: u32, op: SimOp, block: u32, is_random: bool) -> f64 {
    let mut library = Library::new();
    library.add("mine", "mine.toml", model);
    let mut device = library
        .build_text("mine", 1)
        .unwrap_or_else(|error| panic!("{error}\n{model}"));
    let blocks = device.capacity() / u64::from(block);
    let mut number = 0_u64;
    let count = 20_000;
    let next = || {
        number += 1;
        let at = if is_random {
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % blocks
        } else {
            number
        };
        SimRequest {
            id: 0,
            op,
            offset: at * u64::from(block),
            bytes: block,
            fua: false,
        }
    };
    let end = closed_loop(&mut *device, depth as usize, count, next, |_, _| {});
    count as f64 / end as f64 * 1e9
}

/// Within 2 % of the curves that the cells were computed from, at measured depths, between them and
/// up to twice the largest.
#[test]
fn a_closed_loop_measures_the_fitted_curve() {
    let model = model();
    for depth in [1, 2, 3, 8, 12, 32, 64] {
        let n = f64::from(depth);
        for (op, block, is_random, expected) in [
            (SimOp::Read, 4096, true, reads(n)),
            (SimOp::Write, 4096, true, writes(n)),
            (SimOp::Read, 1 << 20, false, sequential(n)),
        ] {
            let found = simulated(&model, depth, op, block, is_random);
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{op:?} {block} depth {depth}: {found} instead of {expected}"
            );
        }
    }
}

/// 2 MiB have no curve: twice the time of 1 MiB. 512 B cost what 4 KiB cost.
#[test]
fn other_sizes_follow_the_nearest_curve() {
    let model = model();
    let large = simulated(&model, 8, SimOp::Read, 2 << 20, false);
    assert!((large / 900.0 - 1.0).abs() < 0.02, "{large}");
    let small = simulated(&model, 8, SimOp::Read, 512, true);
    assert!((small / reads(8.0) - 1.0).abs() < 0.02, "{small}");
}

#[test]
fn a_model_file_with_wrong_curves_is_refused() {
    let good = model();
    let error = |text: &str| {
        let mut library = Library::new();
        library.add("mine", "mine.toml", text);
        let built = library.build_text("mine", 1);
        match built {
            Ok(_) => panic!("no error"),
            Err(error) => error.to_string(),
        }
    };
    let wrong = good.replace("law=soft-minimum", "law=straight");
    assert!(
        error(&wrong).contains("unknown law 'straight'; use one of soft-minimum, usl, ncq"),
        "{}",
        error(&wrong)
    );
    assert!(error(&wrong).starts_with("mine.toml:"), "{}", error(&wrong));
    let none = "model = \"curve\"\n[parameters]\ncurves = []\n";
    assert!(error(none).contains("expected 1 to 256 curves"));
    let text = "model = \"curve\"\n[parameters]\ncurves = \"randread\"\n";
    assert!(error(text).contains("expected a list of texts"));
}
