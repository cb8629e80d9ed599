//! Programs that read fio's JSON into fixed types must be able to read ours.

use crate::common;
use fathom_model::{DiskCounters, DiskSummary, Personality};
use fathom_report::{Style, json};
use serde_json::Value;

/// Integer fields that kubestr's Go types have in each direction; Go refuses `1.0` where it wants an integer.
const INTEGERS: &str = "io_bytes io_kbytes bw_bytes bw runtime total_ios short_ios drop_ios bw_min bw_max bw_samples \
                        iops_min iops_max iops_samples";
const FLOATS: &str = "iops bw_agg bw_mean bw_dev iops_mean iops_stddev";
const JOB_INTEGERS: &str = "groupid error eta elapsed job_runtime ctx majf minf latency_depth latency_target latency_window";
const JOB_FLOATS: &str = "usr_cpu sys_cpu latency_percentile";
const DISK_INTEGERS: &str =
    "read_ios write_ios read_merges write_merges read_ticks write_ticks in_queue";
const DEPTHS: &str = "1 2 4 8 16 32 >=64";
const BATCHES: &str = "0 4 8 16 32 64 >=64";
const CLASSES: &str = "2 4 10 20 50 100 250 500 750 1000";

fn document() -> Value {
    let mut findings = common::empty(Personality::Fathom);
    let mut entry = common::idle("kubestr");
    entry.options = vec![
        ("rw".into(), Some("randread".into())),
        ("group_reporting".into(), None),
    ];
    findings.entries.push(entry);
    findings.globals = vec![("direct".into(), Some("1".into()))];
    findings.disks.push(DiskSummary {
        name: "sda".into(),
        delta: DiskCounters::default(),
        util: 1.0,
        size: None,
    });
    let mut out = Vec::new();
    json(&findings, &Style::default(), false, &mut out).expect("memory takes everything");
    serde_json::from_slice(&out).expect("valid JSON")
}

#[track_caller]
fn integers(value: &Value, names: &str) {
    names.split_whitespace().for_each(|name| {
        assert!(
            value[name].is_i64() || value[name].is_u64(),
            "{name}: {}",
            value[name]
        );
    });
}

#[track_caller]
fn floats(value: &Value, names: &str) {
    names
        .split_whitespace()
        .for_each(|name| assert!(value[name].is_f64(), "{name}: {}", value[name]));
}

#[track_caller]
fn strings(value: &Value) {
    let pairs = value.as_object().expect("an object");
    assert!(
        !pairs.is_empty() && pairs.values().all(Value::is_string),
        "{value}"
    );
}

#[test]
fn kubestrs_types_fit() {
    let document = document();
    integers(&document, "timestamp timestamp_ms");
    assert!(document["fio version"].is_string() && document["time"].is_string());
    strings(&document["global options"]);
    let job = &document["jobs"][0];
    // fio-plot too takes options as strings, whatever they hold.
    strings(&job["job options"]);
    integers(job, JOB_INTEGERS);
    floats(job, JOB_FLOATS);
    for way in ["read", "write", "trim"] {
        integers(&job[way], INTEGERS);
        floats(&job[way], FLOATS);
        ["slat_ns", "clat_ns", "lat_ns"]
            .iter()
            .for_each(|kind| latency(&job[way][*kind]));
    }
    integers(&job["sync"], "total_ios");
    latency(&job["sync"]["lat_ns"]);
    floats(&job["iodepth_level"], DEPTHS);
    ["iodepth_submit", "iodepth_complete"]
        .iter()
        .for_each(|table| floats(&job[*table], BATCHES));
    ["latency_ns", "latency_us", "latency_ms"]
        .iter()
        .for_each(|table| floats(&job[*table], CLASSES));
    floats(&job["latency_ms"], "2000 >=2000");
    integers(&document["disk_util"][0], DISK_INTEGERS);
    floats(&document["disk_util"][0], "util");
}

fn latency(value: &Value) {
    integers(value, "min max N");
    floats(value, "mean stddev");
}
