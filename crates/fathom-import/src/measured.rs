//! A result for comparison: figures in whole, and over time where fathom wrote them.

use std::collections::BTreeMap;

use fathom_analyse::{Figure, Measured};
use fathom_model::{Direction, Metric};
use serde_json::{Map, Value};

use crate::documents::first_document;
use crate::error::ImportError;
use crate::result::records;

/// Percentiles that are compared; fio writes them all unless told otherwise.
const PERCENTILES: [(f64, &str); 3] = [(50.0, "50.000000"), (99.0, "99.000000"), (99.9, "99.900000")];
/// A shorter interval than this part of the usual one is a beginning or an end.
const FULL: f64 = 0.95;

/// The jobs of fio's JSON, or of ours with what fathom adds (`json+` has the intervals).
///
/// # Errors
/// When there is no such document in `text`.
pub fn read_measured(text: &str) -> Result<Vec<Measured>, ImportError> {
    let document = first_document(text)?;
    let series = |place: usize| document["fathom"]["entries"][place]["series"].as_array().map_or(&[][..], Vec::as_slice);
    let jobs = records(&document)?;
    Ok(jobs.iter().enumerate().map(|(place, job)| measured(&document, job, series(place))).collect())
}

fn measured(document: &Value, job: &Value, series: &[Value]) -> Measured {
    let mut options = BTreeMap::new();
    for set in [&document["global options"], &job["job options"]] {
        options.extend(set.as_object().into_iter().flat_map(texts));
    }
    let name = job["jobname"].as_str().unwrap_or_default().to_owned();
    let figures = Direction::ALL.into_iter().flat_map(|d| figures(&job[d.word()], d, series)).collect();
    Measured { name, options, figures }
}

fn texts(options: &Map<String, Value>) -> impl Iterator<Item = (String, String)> {
    options.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
}

fn figures(way: &Value, direction: Direction, series: &[Value]) -> Vec<Figure> {
    let Some(iops) = way["iops"].as_f64().filter(|iops| *iops > 0.0) else { return Vec::new() };
    let over_time = |figure: &dyn Fn(&Value, f64) -> Option<f64>| over_time(series, direction, figure);
    let count = |key: &'static str| move |moment: &Value, seconds: f64| Some(moment[key].as_f64().unwrap_or(0.0) / seconds);
    let mut all = vec![(Metric::Iops, Some(iops), over_time(&count("ok_ios")))];
    let bandwidth = way["bw_bytes"].as_f64().or_else(|| way["bw"].as_f64().map(|kib| kib * 1024.0));
    all.push((Metric::Bandwidth, bandwidth, over_time(&count("ok_bytes"))));
    let latency = [("clat_ns", 1.0), ("lat_ns", 1.0), ("clat", 1e3), ("lat", 1e3)]
        .into_iter()
        .find(|(key, _)| way[*key]["mean"].as_f64().is_some_and(|mean| mean > 0.0));
    if let Some((key, scale)) = latency {
        let latency = &way[key];
        all.push((Metric::Mean, latency["mean"].as_f64().map(|mean| mean * scale), over_time(&|moment, _| moment["mean_ns"].as_f64())));
        for (percent, name) in PERCENTILES {
            let value = latency["percentile"][name].as_f64().map(|value| value * scale);
            let own = format!("p{percent}_ns");
            all.push((Metric::Percentile(percent), value, over_time(&|moment, _| moment[own.as_str()].as_f64())));
        }
    }
    let known = all.into_iter().filter_map(|(metric, value, series)| Some((metric, value?, series)));
    known.map(|(metric, value, series)| Figure { direction, metric, value, series }).collect()
}

/// The figure in each full interval; those in which nothing completed count as zero, where a count is asked for.
fn over_time(series: &[Value], direction: Direction, figure: &dyn Fn(&Value, f64) -> Option<f64>) -> Vec<f64> {
    let length = |moment: &Value| moment["length_ns"].as_f64().unwrap_or(0.0);
    let usual = series.iter().map(length).fold(0.0, f64::max);
    let full = series.iter().filter(|moment| usual > 0.0 && length(moment) >= FULL * usual);
    full.filter_map(|moment| figure(&moment[direction.word()], length(moment) / 1e9)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = r#"{"global options": {"bs": "4k"}, "jobs": [{"jobname": "a", "job options": {"rw": "randread"},
        "read": {"iops": 1000.0, "bw_bytes": 4096000, "clat_ns": {"mean": 900.0, "percentile": {"50.000000": 800, "99.000000": 2000}}},
        "write": {"iops": 0.0}}],
      "fathom": {"entries": [{"series": [
        {"length_ns": 100000000, "read": {"ok_ios": 1, "ok_bytes": 4096, "p99_ns": 5}},
        {"length_ns": 500000000, "read": {"ok_ios": 500, "ok_bytes": 2048000, "p99_ns": 2100}},
        {"length_ns": 500000000},
        {"length_ns": 500000000, "read": {"ok_ios": 510, "ok_bytes": 2088960, "p99_ns": 1900}}]}]}}"#;

    #[test]
    fn figures_in_whole_and_in_full_intervals() {
        let jobs = read_measured(OURS).expect("a result");
        let [job] = jobs.as_slice() else { panic!("{jobs:?}") };
        assert_eq!(job.options.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), [("bs", "4k"), ("rw", "randread")]);
        let figure = |metric: Metric| job.figures.iter().find(|figure| figure.metric == metric).expect("it is there");
        // The first interval is a beginning; 500 I/Os in half a second are 1000 a second.
        // And one in which nothing completed is a zero.
        assert_eq!(figure(Metric::Iops).series, [1000.0, 0.0, 1020.0]);
        assert_eq!(figure(Metric::Percentile(99.0)).series, [2100.0, 1900.0]);
        assert_eq!((figure(Metric::Mean).value, figure(Metric::Bandwidth).value), (900.0, 4_096_000.0));
        assert!(job.figures.iter().all(|figure| figure.metric != Metric::Percentile(99.9)), "what is not told is not there");
    }

    #[test]
    fn old_results_count_microseconds_and_have_no_intervals() {
        let old = r#"{"jobs": [{"jobname": "a", "read": {"iops": 10.0, "bw": 40, "clat": {"mean": 5.0, "percentile": {"99.000000": 7}}}}]}"#;
        let figures = read_measured(old).expect("a result").remove(0).figures;
        let values: Vec<(String, f64)> = figures.iter().map(|figure| (figure.metric.to_string(), figure.value)).collect();
        let expected = [("iops", 10.0), ("bw", 40960.0), ("mean", 5000.0), ("p99", 7000.0)];
        assert_eq!(values, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(figures.iter().all(|figure| figure.series.is_empty()));
    }
}
