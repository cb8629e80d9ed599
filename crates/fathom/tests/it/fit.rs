//! `fathom fit` as users call it: from results of fio to a model file, and what it refuses.

use std::path::Path;

use crate::common::fathom;
use fathom_testkit::Scratch;

/// A result of fio.
fn result(directory: &Path, depth: u32, iops: f64) -> String {
    let text = format!(
        r#"{{"fio version": "fio-3.33", "timestamp_ms": 1700000000000, "jobs": [{{"jobname": "j",
        "job options": {{"rw": "randread", "bs": "4k", "iodepth": "{depth}", "ioengine": "libaio"}},
        "read": {{"iops": {iops}, "bw_bytes": {}, "runtime": 10000, "total_ios": {},
        "lat_ns": {{"min": 1, "max": 9000000, "mean": {mean}, "stddev": 1.0, "N": {}}},
        "clat_ns": {{"min": 1, "max": 9000000, "mean": {mean}, "stddev": 1.0, "N": {}}}}}}}]}}"#,
        iops * 4096.0,
        iops * 10.0,
        iops * 10.0,
        iops * 10.0,
        mean = f64::from(depth) / iops * 1e9,
    );
    let path = directory.join(format!("depth{depth}.json"));
    std::fs::write(&path, text).expect("a result");
    path.display().to_string()
}

/// The published curve of a SATA drive: R0 118 us, Xmax 53,400, m 2.0.
fn drive(depth: u32) -> f64 {
    let (r0, xmax, m) = (118e-6, 53_400.0_f64, 2.0);
    ((f64::from(depth) / r0).powf(-m) + xmax.powf(-m)).powf(-1.0 / m)
}

#[test]
fn a_model_is_fitted_to_results_of_fio() {
    let scratch = Scratch::new().expect("a directory");
    let files: Vec<String> = [1, 2, 4, 8, 16, 32]
        .map(|depth| result(scratch.path(), depth, drive(depth)))
        .to_vec();
    let model = scratch.join("mine.toml").display().to_string();
    let mut args = vec!["fit".to_owned()];
    args.extend(files);
    args.extend(["-o".to_owned(), model.clone(), "--predict=64".to_owned()]);
    let done = fathom(&args).expect(0);
    // The law and its error beside the others, the parameters, and the range.
    for text in [
        "randread, 4 KiB: soft minimum, X(N) = ((N / r0)^-m + xmax^-m)^(-1/m)",
        "6 measurements at 1 to 32 I/Os in flight; valid up to 64",
        "Error at left-out loads (cross-validation): soft minimum < 0.1 %, ",
        "universal scalability law ",
        "logarithmic NCQ law ",
        "r0     118 us",
        "xmax   53,400 IOPS",
        "m      2 ",
        "95 % CI: ",
        "link     not determined by these data: measure large sequential reads",
        // Xmax / X(1): 118 us x 53,400 / s = 6.30, times (1 + 1 / 6.30^2)^(1/2).
        "servers  6.38,",
        "randread, 4 KiB, 64 in flight: ",
    ] {
        assert!(
            done.out.contains(text),
            "'{text}' is missing:\n{}",
            done.out
        );
    }
    assert!(done.err.contains("wrote "), "{}", done.err);
    let text = std::fs::read_to_string(&model).expect("the model");
    for part in [
        "model = \"curve\"",
        "randread bs=4096 reads=100 law=soft-minimum r0=0.000118 xmax=53400",
        "dates = [\"2023-11-14",
        "valid_loads = [0.5, 64.0]",
        "[fit.curve.cross_validation]",
        "[fit.curve.residuals]",
        "depth1.json",
    ] {
        assert!(text.contains(part), "'{part}' is missing:\n{text}");
    }
    // The directory gives the same curves as its files.
    let directory = scratch.path().display().to_string();
    let again = fathom(["fit", &directory, "--predict=64"]).expect(0);
    assert_eq!(again.out, done.out);
}

#[test]
fn the_chart_shows_points_and_line() {
    let scratch = Scratch::new().expect("a directory");
    for depth in [1, 2, 4, 8, 16, 32] {
        result(scratch.path(), depth, drive(depth));
    }
    let directory = scratch.path().display().to_string();
    let table = scratch.join("fit.csv").display().to_string();
    fathom(["plot", &directory, "--chart=fit", "-o", &table]).expect(0);
    let text = std::fs::read_to_string(&table).expect("the table");
    assert!(
        text.contains("measured") && text.contains("fitted"),
        "{text}"
    );
}

/// The latency and both ends of its band are in the unit of the axis. One in flight takes 1 s / X(1) = 0.1195 ms.
#[test]
fn the_band_of_the_chart_contains_its_line() {
    let scratch = Scratch::new().expect("a directory");
    for depth in [1, 2, 4, 8, 16, 32] {
        result(scratch.path(), depth, drive(depth));
    }
    let path = |name: &str| scratch.join(name).display().to_string();
    let (directory, table) = (path(""), path("fit.csv"));
    let chart = ["--chart=fit", "--metric=mean", "-o", &table];
    fathom(["plot", &directory].iter().chain(&chart)).expect(0);
    let text = std::fs::read_to_string(&table).expect("the table");
    assert!(text.contains("95 % band (ms) to"), "{text}");
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| {
            let cells = line.split(',');
            cells.map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()
        })
        .collect();
    let first = 1000.0 / drive(1);
    assert!((rows[0][2] / first - 1.0).abs() < 1e-4, "{text}");
    for row in &rows {
        let (line, low, high) = (row[2], row[3], row[4]);
        // The data lie on the curve, so that the band is as narrow as the digits of the table.
        assert!((low / line - 1.0).abs() < 1e-3, "{row:?}");
        assert!((high / line - 1.0).abs() < 1e-3, "{row:?}");
    }
}

#[test]
fn too_few_loads_and_far_predictions_say_what_to_measure() {
    let scratch = Scratch::new().expect("a directory");
    let two: Vec<String> = [1, 8]
        .map(|depth| result(scratch.path(), depth, drive(depth)))
        .to_vec();
    let refused = fathom(["fit", two[0].as_str(), two[1].as_str()]).expect(2);
    assert!(
        refused.err.contains(
            "nothing to fit: randread, 4 KiB: 2 different loads, a fit needs at least 4 (I/Os in flight measured: 1,8); measure next: iodepth=2,4,16,32"
        ),
        "{}",
        refused.err
    );
    for depth in [2, 4] {
        result(scratch.path(), depth, drive(depth));
    }
    let directory = scratch.path().display().to_string();
    let far = fathom(["fit", &directory, "--predict=17"]).expect(2);
    assert!(
        far.err.contains("1 to 8 were measured")
            && far.err.contains("a prediction is made from 0.5 to 16")
            && far.err.contains("measure next: iodepth=17"),
        "{}",
        far.err
    );
    let missing = fathom(["fit", "no-such-result"]).expect(2);
    assert!(missing.err.contains("no-such-result"), "{}", missing.err);
    let format = fathom(["fit", &directory, "-o", "model.txt"]).expect(2);
    assert!(
        format.err.contains("use the extension .toml"),
        "{}",
        format.err
    );
}

/// The simulated device does what the formula of the measured one says, within 2 %: at measured
/// depths, between them, and at twice the largest.
#[test]
fn a_simulation_of_the_model_gives_the_curve_back() {
    let scratch = Scratch::new().expect("a directory");
    let mut args = vec!["fit".to_owned()];
    args.extend([1, 2, 4, 8, 16, 32].map(|depth| result(scratch.path(), depth, drive(depth))));
    let model = scratch.join("mine.toml").display().to_string();
    args.extend(["-o".to_owned(), model.clone()]);
    fathom(&args).expect(0);
    let job = scratch.join("job.fio");
    let text =
        "[a]\ndirect=1\nioengine=libaio\nbs=4k\nrw=randread\nfilename=x\ntime_based\nruntime=5\n";
    std::fs::write(&job, text).expect("a job file");
    let job = job.display().to_string();
    for depth in [1, 3, 8, 32, 64] {
        let set = format!("iodepth={depth}");
        let line = [
            "sim",
            &job,
            "--no-store",
            "--quiet",
            "--machine",
            &model,
            "--set",
            &set,
            "--json",
        ];
        let json = fathom(line).expect(0).json();
        let (iops, expected) = (json.number("/jobs/0/read/iops"), drive(depth));
        assert!(
            (iops / expected - 1.0).abs() < 0.02,
            "{depth}: {iops} {expected}"
        );
        let mean = json.number("/jobs/0/read/clat_ns/mean");
        let expected = f64::from(depth) / expected * 1e9;
        assert!(
            (mean / expected - 1.0).abs() < 0.02,
            "{depth}: {mean} {expected}"
        );
    }
    let missing = fathom(["sim", &job, "--no-store", "--machine", "no-such-model.toml"]).expect(2);
    assert!(
        missing.err.contains("no-such-model.toml"),
        "{}",
        missing.err
    );
}
