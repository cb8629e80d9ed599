//! Curves of known parameters, from formulas that the fit does not use.

use fathom_fit::{
    CurveKey, FitError, LawKind, LoadPoint, RegionPoint, fit, fit_grid, fit_law, structure,
};
use fathom_sim::{Servers, Service};

const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

fn points(iops: impl Fn(f64) -> f64) -> Vec<LoadPoint> {
    DEPTHS
        .map(|depth| LoadPoint::new(depth, 1, iops(f64::from(depth)), None))
        .to_vec()
}

fn near(found: f64, expected: f64, share: f64) -> bool {
    (found / expected - 1.0).abs() <= share
}

/// Parameters of published measurements, and the formula with plain powers.
#[test]
fn the_soft_minimum_is_recovered() {
    for (r0, xmax, m) in [
        (117e-6, 52_400.0, 6.4),
        (118e-6, 53_400.0, 2.0),
        (112e-6, 74_500.0, 2.7),
        (14e-3, 700.0, 1.05),
    ] {
        let curve = fit(&points(|n| {
            ((n / r0).powf(-m) + f64::powf(xmax, -m)).powf(-1.0 / m)
        }))
        .expect("a curve");
        assert_eq!(curve.law.kind, LawKind::SoftMinimum);
        let [found_r0, found_xmax, found_m] = curve.law.values;
        assert!(
            near(found_r0, r0, 1e-5) && near(found_xmax, xmax, 1e-5) && near(found_m, m, 1e-4),
            "{r0} {xmax} {m}: {:?}",
            curve.law
        );
        assert!(curve.candidates[0].cross_validation < 1e-3);
        assert!(curve.candidates[1].cross_validation > 0.01);
    }
}

/// Gunther's law as he writes it: relative capacity times the throughput of one. Without coherence
/// it is a soft minimum with m = 1, so that only the other cases have one best law.
#[test]
fn the_universal_scalability_law_is_recovered() {
    for (lambda, sigma, kappa) in [(72.2, 0.092, 0.0), (1000.0, 0.02, 0.0005), (5e5, 0.3, 0.01)] {
        let measured = points(|n| lambda * (n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))));
        let curve = fit_law(LawKind::Usl, &measured).expect("a curve");
        if kappa > 0.0 {
            assert_eq!(fit(&measured).expect("a curve").law.kind, LawKind::Usl);
        }
        let [found_lambda, found_sigma, found_kappa] = curve.law.values;
        assert!(
            near(found_lambda, lambda, 1e-5)
                && near(found_sigma, sigma, 1e-4)
                && (found_kappa - kappa).abs() < 1e-6,
            "{lambda} {sigma} {kappa}: {:?}",
            curve.law
        );
    }
}

/// A disk whose throughput grows by the same amount with each doubling, and one that reorders only
/// deep queues.
#[test]
fn the_logarithmic_law_is_recovered() {
    for (x1, gain, onset) in [(81.0, 0.08, 1.0), (106.0, 0.6, 20.0), (75.0, 0.25, 4.0)] {
        let curve = fit(&points(|n| {
            x1 * (1.0 + gain * ((n - 1.0 + onset) / onset).ln() / 2.0_f64.ln())
        }))
        .expect("a curve");
        assert_eq!(curve.law.kind, LawKind::Ncq, "{:?}", curve.candidates);
        let [found_x1, found_gain, found_onset] = curve.law.values;
        assert!(
            near(found_x1, x1, 1e-4)
                && near(found_gain, gain, 1e-2)
                && near(found_onset, onset, 2e-2),
            "{x1} {gain} {onset}: {:?}",
            curve.law
        );
    }
}

/// Balanced closed system of M servers, exact mean value analysis: X(N) = N M / (S (N + M - 1)).
/// That is the universal scalability law with sigma = 1 / M and kappa = 0, so it is met exactly.
#[test]
fn balanced_mean_value_analysis_is_met() {
    for (servers, service) in [(8.0, 14.02e-3), (4.0, 100e-6), (32.0, 90e-6)] {
        let x = |n: f64| n * servers / (service * (n + servers - 1.0));
        let of_usl = fit_law(LawKind::Usl, &points(x)).expect("a curve");
        assert!(near(of_usl.law.values[0], 1.0 / service, 1e-5));
        assert!(near(of_usl.law.values[1], 1.0 / servers, 1e-4));
        let curve = fit(&points(x)).expect("a curve");
        for n in [3.0, 24.0, 128.0] {
            assert!(near(curve.predict(n).expect("in range").iops, x(n), 1e-3));
        }
    }
}

/// Servers of fixed service times: N / S up to the number of servers, then that number / S. The
/// sharpest soft minimum is within 1.1 % of it at the corner (2^(1/64) - 1) and exact elsewhere; the
/// number of servers is R0 x Xmax.
#[test]
fn simulated_servers_are_fitted() {
    for count in [1, 4, 8] {
        let device = Servers {
            count,
            mean_ns: 100_000.0,
            service: Service::Fixed,
            credit_ns: 0.0,
        };
        let simulated: Vec<LoadPoint> = DEPTHS
            .iter()
            .map(|depth| {
                let seen = device.closed(*depth, 20_000, 1);
                LoadPoint::new(*depth, 1, seen.iops, Some(seen.latency.mean() * 1e-9))
            })
            .collect();
        let curve = fit_law(LawKind::SoftMinimum, &simulated).expect("a curve");
        if count > 1 {
            let [r0, xmax, _] = curve.law.values;
            assert!(near(r0 * xmax, f64::from(count), 0.02), "{:?}", curve.law);
        }
        for depth in [1, 3, 6, 12, 24, 100] {
            let x = f64::from(depth.min(count)) * 10_000.0;
            let found = curve.predict(f64::from(depth)).expect("in range");
            assert!(near(found.iops, x, 0.02), "{count} {depth}: {found:?}");
            assert!(near(found.mean_s, f64::from(depth) / x, 0.02));
        }
    }
}

/// Exponential service at one queue for c servers: in a closed loop with no think time the servers
/// are busy whenever the load is at least c, so X(N) = min(N, c) / S for every distribution.
#[test]
fn a_queue_with_several_exponential_servers_is_fitted() {
    let device = Servers {
        count: 4,
        mean_ns: 100_000.0,
        service: Service::Exponential,
        credit_ns: 0.0,
    };
    let simulated: Vec<LoadPoint> = DEPTHS
        .iter()
        .map(|depth| LoadPoint::new(*depth, 1, device.closed(*depth, 400_000, 7).iops, None))
        .collect();
    let curve = fit(&simulated).expect("a curve");
    assert_eq!(curve.law.kind, LawKind::SoftMinimum);
    for depth in [1_u32, 2, 4, 8, 16, 32, 64] {
        let x = f64::from(depth.min(4)) * 10_000.0;
        let found = curve.predict(f64::from(depth)).expect("in range").iops;
        assert!(near(found, x, 0.02), "{depth}: {found}");
    }
}

/// SplitMix64 and Box-Muller: noise that does not come from the code under test.
struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// 95 % intervals hold the truth in 90 to 99 % of 300 repetitions with 3 % noise: parameters, the
/// curve at a load that was not measured, and one more measurement there.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let (r0, xmax, m) = (117e-6, 52_400.0_f64, 2.5);
    let truth = |n: f64| ((n / r0).powf(-m) + xmax.powf(-m)).powf(-1.0 / m);
    let mut noise = Noise(2026);
    let mut held = [0; 5];
    for _ in 0..300 {
        let measured: Vec<LoadPoint> = [1, 2, 4, 8, 16, 32, 64, 1, 4, 16, 64]
            .map(|depth: u32| {
                let iops = truth(f64::from(depth)) * (0.03 * noise.normal()).exp();
                LoadPoint::new(depth, 1, iops, None)
            })
            .to_vec();
        let curve = fit_law(LawKind::SoftMinimum, &measured).expect("a curve");
        for (n, value) in [r0, xmax, m].into_iter().enumerate() {
            held[n] += u32::from(curve.parameters[n].interval.contains(value));
        }
        let at = curve.predict(12.0).expect("in range");
        held[3] += u32::from(at.curve.contains(truth(12.0)));
        let again = truth(12.0) * (0.03 * noise.normal()).exp();
        held[4] += u32::from(at.measurement.contains(again));
    }
    for (n, count) in held.iter().enumerate() {
        assert!((270..=297).contains(count), "{n}: {held:?} of 300");
    }
}

/// The parts of a device of 8 servers, by both theories: fixed service times, and a balanced closed
/// system; and of 1 MiB reads behind a link of 1 GB/s.
#[test]
fn parts_of_the_device_follow_from_the_curves() {
    let key = |rw: &str, block| CurveKey {
        source: String::new(),
        rw: rw.to_owned(),
        block: Some(block),
        reads: 100,
        engine: String::new(),
        offset: 0,
        region: None,
        commits: false,
    };
    let random = key("randread", 4096);
    let sequential = key("read", 1_000_000);
    let link = fit(&points(|n| (n * 400.0).min(1000.0))).expect("a curve");
    let fixed = |n: f64| n.min(8.0) * 10_000.0;
    let balanced = |n: f64| n * 8.0 * 10_000.0 / (n + 7.0);
    let curves: [(&dyn Fn(f64) -> f64, f64); 2] = [(&fixed, 0.01), (&balanced, 0.001)];
    for (x, share) in curves {
        let deep: Vec<LoadPoint> = [1, 2, 4, 8, 16, 32, 64, 128]
            .map(|depth: u32| LoadPoint::new(depth, 1, x(f64::from(depth)), None))
            .to_vec();
        let curve = fit(&deep).expect("a curve");
        let parts = structure(&[(&random, &curve), (&sequential, &link)], &[]);
        let value = |name: &str| {
            let part = parts.iter().find(|part| part.name == name).expect(name);
            part.value.as_ref().expect(name).0
        };
        assert!(near(value("servers"), 8.0, share), "{parts:?}");
        assert!(near(value("service"), 100e-6, share), "{parts:?}");
        assert!(near(value("link"), 1e9, 0.01), "{parts:?}");
    }
    // The ceiling of 8 servers does not show at depth 4, and a curve of writes says nothing.
    let shallow: Vec<LoadPoint> = [1, 2, 3, 4]
        .map(|depth: u32| LoadPoint::new(depth, 1, balanced(f64::from(depth)), None))
        .to_vec();
    let curve = fit(&shallow).expect("a curve");
    let parts = structure(&[(&random, &curve)], &[]);
    let open = |name: &str| {
        let part = parts.iter().find(|part| part.name == name).expect(name);
        part.value.clone().expect_err(name)
    };
    assert_eq!(
        open("servers"),
        "not determined by these data: measure at more I/Os in flight (iodepth=8)"
    );
    assert!(open("link").contains("measure large sequential reads"));
    let nothing = structure(&[], &[]);
    assert!(nothing.iter().all(|part| part.value.is_err()) && nothing.len() == 3);
}

/// Reads of 8 KiB of a 7,200 rpm disk took 5.5 ms in 1 GB and 12.5 ms in all of it: 7 of 12.5 ms are seeks, 56 %. The rates
/// have standard errors of 1 % and 2 %, so that the quotient has one of 2.24 %.
#[test]
fn two_regions_give_the_share_of_seeks() {
    let point = |gib: u64, milliseconds: f64, error| RegionPoint {
        region: gib << 30,
        block: Some(8192),
        service_s: milliseconds / 1e3,
        error,
    };
    let (small, large) = (point(1, 5.5, Some(0.01)), point(931, 12.5, Some(0.02)));
    let middle = point(100, 7.5, Some(0.01));
    let seek = |regions: &[RegionPoint]| {
        let parts = structure(&[], regions);
        parts.into_iter().find(|part| part.name == "seek")
    };
    let part = seek(&[small, middle, large]).expect("two regions");
    let (share, interval) = part.value.expect("determined");
    assert!(near(share, 0.56, 1e-9), "{share}");
    let half = 0.44 * 0.02_f64.hypot(0.01) * 1.96;
    assert!(near(interval.low, 0.56 - half, 1e-4), "{interval:?}");
    assert!(near(interval.high, 0.56 + half, 1e-4), "{interval:?}");
    assert_eq!(
        part.curve,
        "randread, 8 KiB, at depth 1, in 1 GiB and in 931 GiB"
    );
    // 100 of 931 GiB still have long seeks, other block sizes another transfer time, and without samples there is no interval.
    assert_eq!(seek(&[middle, large]), None);
    let other = RegionPoint {
        block: Some(4096),
        ..small
    };
    assert_eq!(seek(&[other, large]), None);
    let open = seek(&[point(1, 5.5, None), large]).expect("two regions");
    assert!(open.value.expect_err("no samples").contains("no samples"));
}

#[test]
fn nothing_is_predicted_beyond_twice_the_largest_load() {
    let curve = fit(&points(|n| 10_000.0 * n.min(8.0))).expect("a curve");
    assert!(curve.predict(128.0).is_ok());
    assert!(curve.predict(0.5).is_ok());
    for load in [128.1, 0.4, -1.0, f64::NAN, f64::INFINITY] {
        let error = curve.predict(load).expect_err("out of range");
        assert!(matches!(error, FitError::OutOfRange { .. }));
        let text = error.to_string();
        assert!(
            text.contains("1 to 64 were measured") && text.contains("measure next"),
            "{text}"
        );
    }
}

#[test]
fn too_few_points_name_what_to_measure() {
    let few = |depths: &[u32]| -> Vec<LoadPoint> {
        depths
            .iter()
            .map(|depth| LoadPoint::new(*depth, 1, 100.0, None))
            .collect()
    };
    // Repetitions are not different loads.
    let error = fit(&few(&[1, 1, 8, 8, 8])).expect_err("two loads");
    assert_eq!(
        error.to_string(),
        "2 different loads, a fit needs at least 4 (I/Os in flight measured: 1,8); measure next: iodepth=2,4,16,32"
    );
    let error = fit(&few(&[10, 11, 12, 13])).expect_err("narrow");
    assert!(
        error.to_string().contains("from 10 to 13") && error.to_string().contains("iodepth=1,2,4"),
        "{error}"
    );
    assert!(matches!(fit(&[]), Err(FitError::TooFew { found: 0, .. })));
    let unusable =
        [0.0, -1.0, f64::NAN, f64::INFINITY].map(|iops| LoadPoint::new(4, 1, iops, None));
    assert!(matches!(
        fit(&unusable),
        Err(FitError::TooFew { found: 0, .. })
    ));
}

/// A grid in which one half of the cells is 30 % slower at equal load: the law of the load cannot
/// tell them apart, the correction predicts cells that were left out.
#[test]
fn a_grid_is_corrected_where_equal_loads_differ() {
    let truth = |depth: u32, jobs: u32| {
        let n = f64::from(depth * jobs);
        let slow = if depth >= 8 { 0.7 } else { 1.0 };
        slow * 60_000.0 * n / (n + 6.0)
    };
    let mut cells = Vec::new();
    for depth in DEPTHS {
        for jobs in DEPTHS {
            cells.push(LoadPoint::new(depth, jobs, truth(depth, jobs), None));
        }
    }
    let kept: Vec<LoadPoint> = cells
        .iter()
        .enumerate()
        .filter(|(n, _)| n % 3 != 2)
        .map(|(_, cell)| *cell)
        .collect();
    let grid = fit_grid(&kept).expect("a fit");
    let corrected = grid.corrected_error.expect("a correction");
    assert!(
        corrected < 0.5 * grid.law_error,
        "{corrected} {}",
        grid.law_error
    );
    let mut errors: Vec<f64> = cells
        .iter()
        .enumerate()
        .filter(|(n, _)| n % 3 == 2)
        .map(|(_, cell)| {
            (grid.iops(cell.depth, cell.jobs).expect("in range") / cell.iops - 1.0).abs()
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    assert!(errors[errors.len() / 2] < 0.05, "{errors:?}");
    // One row of jobs alone has nothing to correct.
    let row: Vec<LoadPoint> = cells
        .iter()
        .filter(|cell| cell.jobs == 1)
        .copied()
        .collect();
    assert_eq!(fit_grid(&row).expect("a fit").corrected_error, None);
}

/// Whatever a result contains, the fit ends, and every number of the model file is one that TOML
/// and a simulation read.
#[test]
fn extreme_values_end_in_a_model_or_an_error() {
    let extremes = [
        f64::MIN_POSITIVE,
        1e-300,
        1e-9,
        1.0,
        1e9,
        1e300,
        f64::MAX,
        f64::NAN,
        f64::INFINITY,
        0.0,
        -5.0,
    ];
    let mut noise = Noise(7);
    for round in 0..300 {
        let count = 1 + (noise.unit() * 12.0) as usize;
        let measured: Vec<LoadPoint> = (0..count)
            .map(|_| {
                let at = (noise.unit() * extremes.len() as f64) as usize;
                let depth = 2.0_f64.powf(noise.unit() * 31.0) as u32;
                let jobs = 2.0_f64.powf(noise.unit() * 12.0) as u32;
                let iops = if round % 2 == 0 {
                    extremes[at.min(extremes.len() - 1)]
                } else {
                    noise.unit() * 1e6
                };
                LoadPoint::new(depth, jobs, iops, Some(extremes[at / 2]))
            })
            .collect();
        let Ok(grid) = fit_grid(&measured) else {
            continue;
        };
        let (low, high) = grid.curve.measured();
        for load in [low / 2.0, low, high, high * 2.0] {
            let found = grid.curve.predict(load).expect("in range");
            assert!(found.iops >= 0.0 && found.mean_s >= 0.0, "{found:?}");
            assert!(found.curve.low <= found.iops && found.iops <= found.curve.high);
        }
        assert!(grid.law().values.iter().all(|value| value.is_finite()));
    }
}
