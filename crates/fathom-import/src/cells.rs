//! The figures that charts draw, from fio's JSON or fathom's.

use std::sync::Arc;

use fathom_model::{
    BUCKETS, Direction, DirectionFigures, Histogram, JobFigures, JobFinding, LatencySummary,
    MergedInterval, MergedIntervalDirection, Nanos, SparseHistogram, TimeSpan, bucket_range,
    latency_classes,
};
use serde_json::Value;

use crate::error::ImportError;
use crate::options::Options;
use crate::result::{first_result, records};
use crate::traced;

/// The jobs of a result; `source` is its name.
///
/// # Errors
/// When there is no such document in `text`.
pub fn read_cells(text: &str, source: &str) -> Result<Vec<JobFigures>, ImportError> {
    cells_in(&first_result(text)?, source)
}

/// The jobs of a document.
pub(crate) fn cells_in(document: &Value, source: &str) -> Result<Vec<JobFigures>, ImportError> {
    let jobs = records(document)?;
    let cells = jobs
        .iter()
        .enumerate()
        .map(|(place, job)| cell(document, job, place, jobs.len(), source));
    let mut cells: Vec<JobFigures> = cells.filter(|cell| !cell.directions.is_empty()).collect();
    if let Some(first) = cells.first_mut() {
        first.blame = traced::blame(&document["fathom"]);
    }
    Ok(cells)
}

fn cell(document: &Value, job: &Value, place: usize, records: usize, source: &str) -> JobFigures {
    let options = Options::of(document, job);
    let addition = &document["fathom"];
    let entry = &addition["entries"][place];
    let name = job["jobname"].as_str().unwrap_or_default().to_owned();
    let grouped = options.has("group_reporting") || records == 1;
    let directions = Direction::ALL
        .into_iter()
        .filter_map(|d| direction_figures(&job[d.name()], &entry[d.name()], d));
    JobFigures {
        latency_name: latency_name(job, entry),
        source: source.to_owned(),
        host: host(&name, addition),
        description: options
            .text("description")
            .or(job["desc"].as_str())
            .unwrap_or_default()
            .to_owned(),
        commits: ["fsync", "fdatasync"]
            .iter()
            .any(|name| options.text(name).is_some_and(is_set))
            || options.text("sync").is_some_and(is_set),
        engine: options.text("ioengine").unwrap_or_default().to_owned(),
        rw: options
            .text("rw")
            .or(options.text("readwrite"))
            .unwrap_or_default()
            .to_owned(),
        block: options.block(),
        depth: options.depth(),
        jobs: Some(if grouped {
            options.number("numjobs").unwrap_or(1)
        } else {
            1
        }),
        mix: options.number("rwmixread"),
        offered: options.size("rate_iops").map(|rate| rate as f64),
        directions: directions.collect(),
        // Results of other programs have zeros where nothing was measured.
        cpu: job["usr_cpu"]
            .as_f64()
            .zip(job["sys_cpu"].as_f64())
            .filter(|(user, system)| user + system > 0.0),
        series: entry["series"]
            .as_array()
            .map_or(Vec::new(), |series| series.iter().map(moment).collect()),
        steady: numbers(&job["steadystate"]["data"]["iops"]),
        findings: findings(addition, &name),
        result: 0,
        observed: traced::observed(entry).map(Arc::new),
        blame: Vec::new(),
        clones: options
            .number("numjobs")
            .filter(|clones| *clones > 1 && !grouped),
        offset: offset(&options, addition),
        region: options.size("filesize").or(options.size("size")),
        rate: options.size("rate").map(|rate| rate as f64),
        classes: latency_classes(
            &shares(&job["latency_ns"]),
            &shares(&job["latency_us"]),
            &shares(&job["latency_ms"]),
        ),
        name,
    }
}

/// The host of a job of `fathom run --hosts`.
fn host(name: &str, addition: &Value) -> String {
    let hosts = addition["hosts"].as_array();
    let names = hosts.into_iter().flatten();
    JobFigures::host_of(name, names.filter_map(|host| host["name"].as_str()))
}

/// Whether the value of an option is other than zero and `none`.
fn is_set(value: &str) -> bool {
    !matches!(value.trim(), "0" | "none")
}

/// Start of the region. A share of the target (`30%`) is resolved if there is one target of known
/// size.
fn offset(options: &Options, addition: &Value) -> Option<u64> {
    let Some(percent) = options
        .text("offset")
        .and_then(|text| text.trim().strip_suffix('%'))
    else {
        return options.size("offset");
    };
    let percent = percent
        .parse::<f64>()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))?;
    let [target] = addition["conditions"]["targets"].as_array()?.as_slice() else {
        return None;
    };
    Some((target["size_bytes"].as_f64()? * percent / 100.0) as u64)
}

/// The latency classes of one unit, in ascending order.
fn shares<const N: usize>(object: &Value) -> [f64; N] {
    const ENDS: [&str; 12] = [
        "2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000",
    ];
    std::array::from_fn(|n| object[ENDS[n]].as_f64().unwrap_or(0.0))
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().map_or(Vec::new(), |list| {
        list.iter().filter_map(Value::as_f64).collect()
    })
}

fn direction_figures(
    direction_figures: &Value,
    addition: &Value,
    direction: Direction,
) -> Option<DirectionFigures> {
    let iops = direction_figures["iops"]
        .as_f64()
        .filter(|iops| *iops > 0.0)?;
    let bandwidth = direction_figures["bw_bytes"]
        .as_f64()
        .or_else(|| direction_figures["bw"].as_f64().map(|kib| kib * 1024.0));
    let mean = |new: &str, old: &str| {
        direction_figures[new]["mean"]
            .as_f64()
            .or(direction_figures[old]["mean"].as_f64().map(|us| us * 1e3))
            .filter(|mean| *mean > 0.0)
    };
    let spread = direction_figures["iops_stddev"]
        .as_f64()
        .zip(direction_figures["iops_samples"].as_u64())
        .filter(|(_, samples)| *samples > 1);
    // In an open loop users wait for the response time.
    let latency = Some(latency(&addition["response_ns"], 1.0)).filter(|response| response.n > 0);
    Some(DirectionFigures {
        direction,
        iops,
        iops_spread: spread,
        bandwidth: bandwidth.unwrap_or(0.0),
        ios: direction_figures["total_ios"].as_u64().unwrap_or(0),
        latency: latency.unwrap_or_else(|| user_latency(direction_figures)),
        slat: mean("slat_ns", "slat"),
        lat: mean("lat_ns", "lat"),
    })
}

/// Which latency the figures are, as in [`direction_figures`].
fn latency_name(job: &Value, addition: &Value) -> &'static str {
    let has = |keys: &[&str]| {
        Direction::ALL.iter().any(|direction| {
            let figures = &job[direction.name()];
            keys.iter().any(|key| {
                figures[*key]["mean"]
                    .as_f64()
                    .is_some_and(|mean| mean > 0.0)
            })
        })
    };
    let is_open = Direction::ALL.iter().any(|direction| {
        addition[direction.name()]["response_ns"]["N"]
            .as_u64()
            .is_some_and(|n| n > 0)
    });
    if is_open {
        "response latency"
    } else if has(&["clat_ns", "clat"]) {
        "completion latency (clat)"
    } else if has(&["lat_ns", "lat"]) {
        "total latency (lat)"
    } else {
        ""
    }
}

/// clat if there is one, lat otherwise. Version 2 of fio counts microseconds.
fn user_latency(direction_figures: &Value) -> LatencySummary {
    let all = [
        ("clat_ns", 1.0),
        ("clat", 1e3),
        ("lat_ns", 1.0),
        ("lat", 1e3),
    ];
    let value = all.into_iter().find(|(key, _)| {
        direction_figures[*key]["mean"]
            .as_f64()
            .is_some_and(|mean| mean > 0.0)
    });
    let mut made = value.map_or(LatencySummary::default(), |(key, scale)| {
        latency(&direction_figures[key], scale)
    });
    // Version 2 has no N: use the number of I/Os.
    if made.n == 0 {
        made.n = direction_figures["total_ios"].as_u64().unwrap_or(0);
    }
    made
}

fn latency(value: &Value, scale: f64) -> LatencySummary {
    let figure = |key: &str| value[key].as_f64().unwrap_or(0.0) * scale;
    LatencySummary {
        min: figure("min") as u64,
        max: figure("max") as u64,
        mean: figure("mean"),
        stddev: figure("stddev"),
        n: value["N"].as_u64().unwrap_or(0),
        percentiles: pairs(&value["percentile"])
            .into_iter()
            .filter(|(percent, _)| *percent > 0.0)
            .map(|(p, v)| (p, (v * scale) as u64))
            .collect(),
        bins: pairs(&value["bins"])
            .into_iter()
            .map(|(value, n)| ((value * scale) as u64, n as u64))
            .collect(),
        overflow: 0,
    }
}

/// The entries of an object whose names are numbers, in ascending order.
fn pairs(object: &Value) -> Vec<(f64, f64)> {
    let all = object.as_object().into_iter().flatten();
    let mut pairs: Vec<(f64, f64)> = all
        .filter_map(|(name, value)| Some((name.parse().ok()?, value.as_f64()?)))
        .collect();
    pairs.retain(|(name, value)| name.is_finite() && *value >= 0.0);
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs
}

fn moment(value: &Value) -> MergedInterval {
    let at = |key: &str| Nanos::new(value[key].as_u64().unwrap_or(0));
    MergedInterval {
        start: at("start_ns"),
        length: at("length_ns"),
        directions: fathom_model::PerDirection::from_fn(|d| moment_direction(&value[d.name()])),
    }
}

fn moment_direction(value: &Value) -> MergedIntervalDirection {
    let count = |key: &str| value[key].as_u64().unwrap_or(0);
    MergedIntervalDirection {
        ios: count("ok_ios"),
        bytes: count("ok_bytes"),
        bad: count("bad_ios"),
        p50: value["p50_ns"].as_u64(),
        p99: value["p99_ns"].as_u64(),
        max: value["max_ns"].as_u64(),
        mean: value["mean_ns"].as_u64(),
        slat: value["slat_mean_ns"].as_u64(),
        lat: value["lat_mean_ns"].as_u64(),
        latencies: buckets(value["latency_buckets"].as_str().unwrap_or_default()),
    }
}

/// Each bucket is represented by its middle; the maximum is stored separately.
pub(crate) fn buckets(value: &str) -> SparseHistogram {
    let mut all = Histogram::new();
    for pair in value.split_whitespace() {
        let Some((bucket, n)) = pair
            .split_once(':')
            .and_then(|(bucket, n)| Some((bucket.parse::<usize>().ok()?, n.parse::<u64>().ok()?)))
        else {
            continue;
        };
        if bucket < BUCKETS && n < u64::from(u32::MAX) {
            let (first, last) = bucket_range(bucket);
            all.record_n(first.midpoint(last), n);
        }
    }
    SparseHistogram::pack(&all)
}

/// The findings about the whole run and those about this job.
fn findings(addition: &Value, name: &str) -> Vec<JobFinding> {
    let all = addition["findings"].as_array().into_iter().flatten();
    let about = all.filter(|finding| finding["about"].as_str().is_none_or(|about| about == name));
    about.map(job_finding).collect()
}

/// A finding in a result of fathom.
pub(crate) fn job_finding(finding: &Value) -> JobFinding {
    let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    JobFinding {
        id: text("id"),
        code: text("code"),
        severity: match finding["weight"].as_str() {
            Some("invalidates") => 2,
            Some("degrades") => 1,
            _ => 0,
        },
        evidence: text("evidence"),
        advice: text("advice"),
        when: TimeSpan::merged(
            finding["when"]
                .as_array()
                .into_iter()
                .flatten()
                .map(span)
                .collect(),
        ),
    }
}

fn span(value: &Value) -> TimeSpan {
    let from = value["from_ns"].as_u64().unwrap_or(0);
    TimeSpan {
        from: Nanos::new(from),
        to: Nanos::new(value["to_ns"].as_u64().unwrap_or(from).max(from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 0288: a planned rate with a suffix was ignored, and the points of the load curve
    /// were out of order.
    #[test]
    fn planned_rates_have_suffixes() {
        let text = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "job options": {"rw": "randread", "rate_iops": "2k"}, "read": {"iops": 1.0}}]}"#;
        assert_eq!(
            read_cells(text, "").expect("a result")[0].offered,
            Some(2048.0)
        );
    }

    /// 30 % of 1,000 bytes are 300. With two targets the share is ambiguous.
    #[test]
    fn offsets_may_be_shares_of_the_target() {
        let value = |targets: &str, offset: &str| {
            let text = format!(
                r#"{{"fio version": "fathom-0.1", "jobs": [{{"jobname": "a", "job options": {{"rw": "randread", "offset": "{offset}"}}, "read": {{"iops": 1.0}}}}],
                "fathom" : {{"conditions": {{"targets": [{targets}]}}}}}}"#
            );
            read_cells(&text, "").expect("a result")[0].offset
        };
        let one = r#"{"size_bytes": 1000}"#;
        assert_eq!(
            (
                value(one, "30%"),
                value(one, "4k"),
                value(&format!("{one},{one}"), "30%"),
                value(one, "130%")
            ),
            (Some(300), Some(4096), None, None)
        );
    }

    #[test]
    fn figures_of_both_versions_are_nanoseconds() {
        let new = r#"{"jobs": [{"jobname": "a", "usr_cpu": 3, "sys_cpu": 7, "job options": {"rw": "randread", "iodepth": "8", "bs": "16k"},
            "read": {"iops": 10.0, "bw_bytes": 163840, "total_ios": 100, "iops_stddev": 2.0, "iops_samples": 9,
            "clat_ns": {"min": 5, "max": 90, "mean": 10.0, "N": 100, "percentile": {"99.000000": 80}, "bins": {"12": 60, "9": 40}}}}],
            "fathom": {"findings": [{"id": "F005", "code": "SHORT_IO", "weight": "invalidates", "about": "a", "evidence": "e", "advice": "d"}],
            "entries": [{"series": [{"start_ns": 0, "length_ns": 5, "read": {"ok_ios": 3, "latency_buckets": "36:12 37:4 x 3 99999:1"}}]}]}}"#;
        let cells = read_cells(new, "disk").expect("a result");
        let [cell] = cells.as_slice() else {
            panic!("{cells:?}")
        };
        let direction_figures = &cell.directions[0];
        assert_eq!(
            (cell.source.as_str(), cell.block, cell.depth, cell.cpu),
            ("disk", Some(16384), Some(8), Some((3.0, 7.0)))
        );
        assert_eq!(
            (
                direction_figures.latency.percentiles.as_slice(),
                direction_figures.latency.bins.as_slice()
            ),
            (&[(99.0, 80)][..], &[(9, 40), (12, 60)][..])
        );
        assert_eq!(
            (direction_figures.iops_spread, cell.findings[0].severity),
            (Some((2.0, 9)), 2)
        );
        let kept = cell.series[0].directions[Direction::Read]
            .latencies
            .unpack();
        assert_eq!(kept.indexed().collect::<Vec<_>>(), [(36, 12), (37, 4)]);
        let old = r#"{"jobs": [{"jobname": "a", "write": {"iops": 10.0, "bw": 40, "total_ios": 7, "clat": {"mean": 5.0, "percentile": {"0.00": 0, "99.000000": 7}}}}]}"#;
        let direction_figures = read_cells(old, "")
            .expect("a result")
            .remove(0)
            .directions
            .remove(0);
        assert_eq!(
            (
                direction_figures.latency.mean,
                direction_figures.latency.n,
                direction_figures.bandwidth
            ),
            (5000.0, 7, 40960.0)
        );
        assert_eq!(direction_figures.latency.percentiles, [(99.0, 7000)]);
    }
}
