//! `fathom app`: real databases, checked against their own counts, and what is left of them after each way to end.

use crate::app_support::*;
use crate::common::fathom;
use crate::scene::Scene;
use fathom_testkit::Need;
use fathom_testkit::{DeviceOptions, FaultDevice, FsKind, Latency, LoopDevice, LoopOptions, Mount};
use serde_json::Value;

pub const SCENES: &[Scene] = &[
    Scene::check(
        "a comparison says what each transaction cost",
        &[Need::Fuse, Need::Loop],
        r1444_a_comparison_says_what_each_transaction_cost,
    ),
    Scene::check(
        "less memory means more and smaller reads",
        &[Need::Root, Need::Postgres],
        less_memory_means_smaller_reads,
    )
    // Its own groups wait for memory.
    .robust(),
];

/// With memory for all of the data, the kernel reads ahead, and what is read are a few large pieces; with little memory, each point query
/// reads single pages. Where nearly nothing is read, the mean size is that of a few pages.
fn less_memory_means_smaller_reads() -> Result<(), String> {
    const SECONDS: f64 = 3.0;
    let place = place();
    let line = "postgres PATH --scale=5 --clients=2 --runtime=3s --warmup=1s --transaction=select-only --memory=100%,6% --json --no-store";
    let done = app(line, place.path());
    if done.err.contains("cannot limit the memory") {
        return Err("no group with the memory controller can be created here".to_owned());
    }
    let done = done.expect(0);
    let result: Value = serde_json::from_str(&done.out).map_err(|error| error.to_string())?;
    let rows = &result["memory"]["rows"];
    let figure = |row: usize, name: &str| rows[row][name].as_f64().unwrap_or_default();
    let is_read = figure(0, "reads_per_second") * SECONDS >= 500.0;
    let reads = [0, 1].map(|row| figure(row, "reads_per_transaction"));
    if reads[1] < 5.0 * reads[0] {
        return Err(format!("{reads:?} reads for each transaction"));
    }
    if is_read && figure(0, "mean_read_bytes") <= figure(1, "mean_read_bytes") {
        return Err(format!("{rows}"));
    }
    Ok(())
}

/// Regression 1444: `fathom compare` did not say why two results of a database differ. A device takes 2 ms for a flush, another one
/// 10 ms: that is what differs. On the first one the rollback journal makes it slower as well: the documentation of SQLite has three
/// syncs for a transaction there, of the journal, of the database and of the end of the journal, in place of one of the log.
fn r1444_a_comparison_says_what_each_transaction_cost() -> Result<(), String> {
    // Commits of other tests would take their share of the machine.
    let scratch = place();
    let store = format!("--store={}", scratch.join("store").display());
    for (sync_us, journal) in [
        (2_000, "wal-full"),
        (10_000, "wal-full"),
        (2_000, "rollback"),
    ] {
        let slow = FaultDevice::mount(DeviceOptions {
            size: 128 << 20,
            latency: Latency {
                sync_us,
                ..Latency::default()
            },
            ..DeviceOptions::default()
        })
        .expect("a fault device");
        let device =
            LoopDevice::attach(&slow.path(), LoopOptions::default()).expect("a loop device");
        let mounted = Mount::format(device.path(), FsKind::Ext4, "").expect("a file system");
        let line = format!(
            "PATH --scale=1 --clients=1 --runtime=3s --warmup=1s --journal={journal} {store}"
        );
        app(&line, mounted.path()).expect(0);
    }
    let causes = |other: &str| {
        let compared = fathom(["compare", "r1", other, &store, "--json"]).expect(0);
        let compared: Value = serde_json::from_str(&compared.out).expect("JSON");
        let all = compared["comparison"]["explanations"].as_array();
        let [one] = &all.expect("explanations")[..] else {
            panic!("{compared}")
        };
        let (causes, _) = one
            .as_str()
            .and_then(|text| text.split_once("; the rest"))
            .unwrap_or_else(|| panic!("{one}"));
        assert!(causes.contains("the second result is"), "{causes}");
        causes.to_owned()
    };
    let slow = causes("r2");
    // `time of a flush 10.3 ms in place of 2.12 ms`.
    let flush = slow.split_once("time of a flush ").map(|(_, rest)| rest);
    let flush = flush.unwrap_or_else(|| panic!("{slow}"));
    let times: Vec<f64> = flush
        .split(" ms")
        .take(2)
        .filter_map(|part| part.rsplit(' ').next()?.parse().ok())
        .collect();
    let [slower, faster] = times[..] else {
        panic!("{slow}")
    };
    assert!((10.0..14.0).contains(&slower), "{slow}");
    assert!((2.0..6.0).contains(&faster), "{slow}");
    let rollback = causes("r3");
    assert!(rollback.contains("flushes "), "{rollback}");
    assert!(!rollback.contains("time of a flush"), "{rollback}");
    Ok(())
}
