//! fio's JSON: one object with an array of jobs. Times are in nanoseconds since version 3, in
//! microseconds before.

use std::collections::BTreeMap;

use fathom_model::{
    Direction, DirectionSummary, Entry, ImportedDirection, ImportedFigures, ImportedHosts,
    ImportedOrigin, LatencyPercentiles, QueueSettings, StatedRate,
};
use serde_json::Value;

use crate::error::ImportError;
use crate::normal_output;
use crate::options::Options;
use crate::result::{all_documents, first_result, records};
use crate::terse::{is_terse, terse};

/// One job record of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRun {
    /// Its figures.
    pub figures: ImportedFigures,
    /// Length, milliseconds.
    pub runtime_ms: u64,
    /// Averaging window of its logs, milliseconds (`log_avg_msec`).
    pub log_window_ms: Option<u64>,
    /// Percentiles of the completion latencies of the direction with most I/Os.
    pub spread: LatencyPercentiles,
}

/// All job records of a result. Text before and after the document, as failing runs write it, is
/// ignored.
///
/// # Errors
/// When there is no such document in `text`.
pub fn read_result(text: &str) -> Result<Vec<ImportedRun>, ImportError> {
    let documents = match all_documents(text) {
        Err(why) => {
            return terse("", text)?
                .map(|result| result.entries.iter().map(of_terse).collect())
                .ok_or(why);
        }
        Ok(documents) => documents,
    };
    let mut runs = Vec::new();
    for document in &documents {
        // One document follows the other.
        let phase = runs
            .last()
            .map_or(0, |run: &ImportedRun| run.figures.origin.phase + 1);
        runs.extend(runs_of(document, phase)?);
    }
    Ok(runs)
}

/// The job records of a document; `phase` is that of the first.
fn runs_of(document: &Value, mut phase: u32) -> Result<Vec<ImportedRun>, ImportError> {
    let real = records(document)?;
    real.iter().try_for_each(|job| figures_are_numbers(job))?;
    let mut runs = Vec::with_capacity(real.len());
    for (at, job) in real.iter().enumerate() {
        // A job behind a stonewall starts when all jobs before it have ended.
        let options = Options::of(document, job);
        if at > 0 && (options.has("stonewall") || options.has("wait_for_previous")) {
            phase += u32::from(!is_clone_of(job, real[at - 1]));
        }
        runs.push(run(document, job, real.len(), phase));
    }
    Ok(runs)
}

/// What fio's normal output in `text` does not contain, and remarks about it; empty where the text has a format for programs.
///
/// # Errors
/// When there is no result in `text`.
pub fn read_omissions(text: &str) -> Result<Omissions, ImportError> {
    let mut omissions = Omissions::default();
    let Ok(documents) = all_documents(text) else {
        return terse("", text).map(|_| omissions);
    };
    let add = |list: &mut Vec<String>, texts: Vec<String>| {
        for text in texts {
            if !list.contains(&text) {
                list.push(text);
            }
        }
    };
    for document in &documents {
        add(&mut omissions.missing, normal_output::missing(document));
        add(&mut omissions.notes, normal_output::notes(document));
    }
    Ok(omissions)
}

/// What a result read from fio's normal output does not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Omissions {
    /// Figures and options that are missing.
    pub missing: Vec<String>,
    /// Remarks about rounding and about jobs that are missing.
    pub notes: Vec<String>,
}

/// Clones of one job start together.
fn is_clone_of(job: &Value, previous: &Value) -> bool {
    job["jobname"] == previous["jobname"] && job["job options"] == previous["job options"]
}

/// A terse line has neither the queue depth nor the number of jobs.
fn of_terse(entry: &Entry) -> ImportedRun {
    let used = || {
        entry
            .directions
            .iter()
            .filter(|(_, direction_summary)| direction_summary.iops > 0.0)
    };
    let latency = |mean: f64| (mean > 0.0).then_some(mean);
    let stream =
        |(direction, direction_summary): (Direction, &DirectionSummary)| ImportedDirection {
            direction,
            iops: direction_summary.iops,
            latency_ns: latency(direction_summary.lat.mean),
            is_median: false,
        };
    let total = |of: fn(&DirectionSummary) -> u64| {
        used()
            .map(|(_, direction_summary)| of(direction_summary))
            .sum::<u64>()
    };
    let largest = used()
        .map(|(_, direction_summary)| direction_summary)
        .max_by_key(|direction_summary| direction_summary.ios);
    // Terse rates are rounded: take the nearest multiple of a sector as the size.
    let block = total(|direction_summary| direction_summary.bytes)
        .checked_div(total(|direction_summary| direction_summary.ios))
        .map(|size| (size + 256) / 512 * 512);
    ImportedRun {
        figures: ImportedFigures {
            name: entry.name.clone(),
            streams: used().map(stream).collect(),
            block,
            ios: Some(total(|direction_summary| direction_summary.ios)),
            error: entry.error,
            ..ImportedFigures::default()
        },
        runtime_ms: used()
            .map(|(_, direction_summary)| direction_summary.runtime_ms)
            .max()
            .unwrap_or(0),
        spread: largest.map_or_else(LatencyPercentiles::default, |direction_summary| {
            LatencyPercentiles {
                ios: direction_summary.ios,
                percentiles: direction_summary
                    .clat
                    .percentiles
                    .iter()
                    .map(|(p, ns)| (*p, *ns as f64))
                    .collect(),
            }
        }),
        ..ImportedRun::default()
    }
}

/// Checks that figures are numbers: a text such as `12k` would otherwise be read as 0.
fn figures_are_numbers(job: &Value) -> Result<(), ImportError> {
    let keys = ["iops", "total_ios", "bw", "io_bytes", "runtime"];
    let all = Direction::ALL
        .into_iter()
        .flat_map(|direction| keys.map(|key| (direction, key, &job[direction.name()][key])));
    match all
        .filter(|(.., value)| !value.is_null())
        .find(|(.., value)| value.as_f64().is_none_or(|n| n < 0.0))
    {
        None => Ok(()),
        Some((direction, key, value)) => {
            let name = format!(
                "{} {key} of job '{}'",
                direction.name(),
                job["jobname"].as_str().unwrap_or_default()
            );
            Err(ImportError::Figure {
                name,
                value: value.to_string(),
            })
        }
    }
}

/// Models of the devices below the targets in a result of fathom.
///
/// # Errors
/// When there is no such document in `text`.
pub fn read_models(text: &str) -> Result<Vec<String>, ImportError> {
    let Some(document) = of_fathom_or_fio(text)? else {
        return Ok(Vec::new());
    };
    let devices =
        devices(&document).filter_map(|device| device["model"].as_str().map(str::to_owned));
    Ok(devices.collect())
}

/// The document; `None` for terse lines, which contain no such data.
fn of_fathom_or_fio(text: &str) -> Result<Option<Value>, ImportError> {
    match first_result(text) {
        Err(_) if text.lines().any(is_terse) => Ok(None),
        read => read.map(Some),
    }
}

/// Every device below the targets in a result of fathom.
fn devices(document: &Value) -> impl Iterator<Item = &Value> {
    let targets = document["fathom"]["targets"]
        .as_array()
        .into_iter()
        .flatten();
    targets.flat_map(|target| target["devices"].as_array().into_iter().flatten())
}

/// Queue settings of each device below the targets in a result of fathom, by device name, model and
/// serial number, to compare them with another run.
///
/// # Errors
/// When there is no such document in `text`.
pub fn read_settings(text: &str) -> Result<QueueSettings, ImportError> {
    let document = first_result(text)?;
    let mut all = QueueSettings::new();
    for device in devices(&document) {
        let word = |key: &str| device[key].as_str().unwrap_or_default().to_owned();
        let settings = device["queue"]["settings"]
            .as_object()
            .into_iter()
            .flatten();
        let settings =
            settings.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        all.insert(
            [word("name"), word("model"), word("serial")],
            settings.collect(),
        );
    }
    Ok(all)
}

/// The hosts of a client/server result (`fio --client`): those with figures, and those that fio
/// reports as lost in the text around the document. Empty for a result of one host.
///
/// # Errors
/// When there is no such document in `text`.
pub fn read_hosts(text: &str) -> Result<ImportedHosts, ImportError> {
    let Some(document) = of_fathom_or_fio(text)? else {
        return Ok(ImportedHosts::default());
    };
    hosts_in(&document, text)
}

/// The hosts of a document and of the text around it.
pub(crate) fn hosts_in(document: &Value, text: &str) -> Result<ImportedHosts, ImportError> {
    if document["client_stats"].is_null() {
        return Ok(ImportedHosts::default());
    }
    let name = |job: &&Value| {
        let host = job["hostname"].as_str()?;
        Some(
            job["port"]
                .as_u64()
                .map_or(host.to_owned(), |port| format!("{host}:{port}")),
        )
    };
    let mut present: Vec<String> = records(document)?.iter().filter_map(name).collect();
    present.sort();
    present.dedup();
    Ok(ImportedHosts {
        present,
        lost: text.lines().filter_map(lost).take(MOST_HOSTS).collect(),
        expected: None,
    })
}

/// Limit of reported hosts.
const MOST_HOSTS: usize = 1000;

/// Parses a line in which fio's client reports a lost host.
fn lost(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let (host, why) = if let Some(rest) = line.strip_prefix("client: host=") {
        (rest.strip_suffix(" disconnected")?, "disconnected")
    } else {
        (
            line.strip_prefix("fio: client ")?
                .strip_suffix(" timed out")?,
            "timed out",
        )
    };
    Some((
        host.chars().filter(|c| !c.is_control()).take(253).collect(),
        why.to_owned(),
    ))
}

fn run(document: &Value, job: &Value, records: usize, phase: u32) -> ImportedRun {
    let options = Options::of(document, job);
    let grouped = options.has("group_reporting") || records == 1;
    let paced = ["rate", "rate_iops", "thinktime"]
        .iter()
        .any(|name| options.has(name));
    let name = job["jobname"].as_str().unwrap_or_default().to_owned();
    let streams = Direction::ALL
        .into_iter()
        .filter_map(|d| stream(&job[d.name()], d))
        .collect();
    let total = |key: &str| {
        Direction::ALL
            .into_iter()
            .filter_map(|d| job[d.name()][key].as_u64())
            .sum::<u64>()
    };
    ImportedRun {
        figures: ImportedFigures {
            name,
            rw: options
                .text("rw")
                .or(options.text("readwrite"))
                .map(str::to_owned),
            streams,
            block: options.block(),
            depth: options.depth(),
            jobs: Some(if grouped {
                options.number("numjobs").unwrap_or(1)
            } else {
                1
            }),
            closed: !paced,
            zipf: options
                .text("random_distribution")
                .and_then(|text| text.strip_prefix("zipf:")?.split(':').next()?.parse().ok()),
            region: options.size("size"),
            logical_block: devices(document)
                .find_map(|device| device["queue"]["logical_block"].as_u64()),
            ios: Some(total("total_ios")),
            error: job["error"]
                .as_i64()
                .and_then(|error| i32::try_from(error).ok())
                .unwrap_or(0),
            failed: job["total_err"].as_u64().unwrap_or(0),
            origin: ImportedOrigin {
                document: None,
                phase,
                options: load_options(&options, job),
            },
            rates: Direction::ALL
                .into_iter()
                .flat_map(|d| rates(&job[d.name()], d))
                .collect(),
            ..ImportedFigures::default()
        },
        runtime_ms: Direction::ALL
            .into_iter()
            .filter_map(|d| job[d.name()]["runtime"].as_u64())
            .max()
            .unwrap_or(0),
        log_window_ms: options.number("log_avg_msec").map(u64::from),
        spread: spread(job),
    }
}

/// What determines the load and its device, the host included.
fn load_options(options: &Options<'_>, job: &Value) -> BTreeMap<String, String> {
    let mut all = options.of_the_load();
    all.extend(
        job["hostname"]
            .as_str()
            .map(|host| ("hostname".to_owned(), host.to_owned())),
    );
    all
}

/// Version 2 counts KiB and has no `bw_bytes`, so its bytes are not compared.
fn rates(direction_summary: &Value, direction: Direction) -> Vec<StatedRate> {
    let figure = |key: &str| direction_summary[key].as_f64().unwrap_or(0.0);
    let count = |key: &str| direction_summary[key].as_u64().unwrap_or(0);
    StatedRate::of_direction(
        direction,
        (figure("iops"), count("total_ios")),
        (figure("bw_bytes"), count("io_bytes")),
        count("runtime"),
    )
}

/// `clat_ns` (version 3) or `clat` (version 2, microseconds).
fn spread(job: &Value) -> LatencyPercentiles {
    let ios = |d: &Direction| job[d.name()]["total_ios"].as_u64().unwrap_or(0);
    let largest = Direction::ALL
        .into_iter()
        .max_by_key(ios)
        .unwrap_or(Direction::Read);
    let of = |key: &str, scale: f64| {
        let list_indent = job[largest.name()][key]["percentile"].as_object()?;
        let one =
            |(p, value): (&String, &Value)| Some((p.parse::<f64>().ok()?, value.as_f64()? * scale));
        let mut all: Vec<(f64, f64)> = list_indent.iter().filter_map(one).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        (!all.is_empty()).then_some(all)
    };
    let percentiles = of("clat_ns", 1.0)
        .or_else(|| of("lat_ns", 1.0))
        .or_else(|| of("clat", 1e3))
        .unwrap_or_default();
    LatencyPercentiles {
        ios: ios(&largest),
        percentiles,
    }
}

/// `lat_ns` (version 3) or `lat` (version 2, microseconds).
fn stream(direction_summary: &Value, direction: Direction) -> Option<ImportedDirection> {
    let iops = direction_summary["iops"]
        .as_f64()
        .filter(|iops| *iops > 0.0)?;
    let mean = |key: &str| {
        direction_summary[key]["mean"]
            .as_f64()
            .filter(|mean| *mean > 0.0)
    };
    let latency_ns = mean("lat_ns").or_else(|| mean("lat").map(|us| us * 1e3));
    Some(ImportedDirection {
        direction,
        iops,
        latency_ns,
        is_median: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = r#"{"global options": {"ioengine": "libaio", "bs": "16k"}, "jobs": [{"jobname": "a", "error": 0,
        "job options": {"iodepth": "08", "numjobs": "4", "group_reporting": "", "rw": "randread", "log_avg_msec": "250"},
        "read": {"iops": 1000.0, "runtime": 60001, "total_ios": 60000, "lat_ns": {"mean": 32000000.0}},
        "write": {"iops": 0.0, "runtime": 0, "total_ios": 0, "lat_ns": {"mean": 0.0}}}]}"#;

    #[test]
    fn a_grouped_job_has_all_its_figures() {
        let runs = read_result(NEW).expect("a result");
        let [run] = runs.as_slice() else {
            panic!("{runs:?}")
        };
        let figures = &run.figures;
        assert_eq!(
            (figures.depth, figures.jobs, figures.block),
            (Some(8), Some(4), Some(16384))
        );
        assert_eq!(
            (run.runtime_ms, run.log_window_ms, figures.ios),
            (60001, Some(250), Some(60000))
        );
        // 1000 per second x 32 ms = 32 in flight, of 8 x 4.
        assert_eq!(figures.little(), Some(1.0));
    }

    #[test]
    fn microseconds_of_old_versions_are_microseconds() {
        let old = r#"{"jobs": [{"jobname": "a", "job options": {"ioengine": "sync", "iodepth": "32"},
            "read": {"iops": 200.0, "lat": {"mean": 5000.0}}}]}"#;
        assert_eq!(
            read_result(old).expect("a result")[0].figures.little(),
            Some(1.0)
        );
    }

    #[test]
    fn text_around_the_document_is_ignored() {
        let text = format!("fio: error {{x}}\n{{ not json\n{NEW}\nfio: terminating\n");
        assert_eq!(read_result(&text).expect("a result").len(), 1);
    }

    #[test]
    fn hosts_that_fio_lost_are_found_beside_the_document() {
        let result = "client: host=b disconnected\n\n{\"client_stats\": [{\"jobname\": \"x\", \"hostname\": \"a\", \"port\": 1}, \
                      {\"jobname\": \"All clients\", \"hostname\": \"\"}]}\nfio: client c timed out\n";
        let hosts = read_hosts(result).expect("a result");
        let lost = [("b", "disconnected"), ("c", "timed out")]
            .map(|(host, why)| (host.to_owned(), why.to_owned()));
        assert_eq!(
            (hosts.present, hosts.lost),
            (vec!["a:1".to_owned()], lost.to_vec())
        );
        assert_eq!(read_hosts(NEW).expect("a result"), ImportedHosts::default());
    }

    #[test]
    fn percentiles_are_those_of_the_direction_with_most_ios() {
        let text = r#"{"jobs": [{"jobname": "a", "read": {"total_ios": 1, "clat_ns": {"percentile": {"50.000000": 7}}},
            "write": {"total_ios": 2, "clat_ns": {"percentile": {"99.000000": 9, "50.000000": 8}}}}]}"#;
        let spread = &read_result(text).expect("a result")[0].spread;
        assert_eq!(
            (spread.ios, spread.percentiles.as_slice()),
            (2, &[(50.0, 8.0), (99.0, 9.0)][..])
        );
    }

    #[test]
    fn invalid_results_are_refused_with_their_line() {
        assert_eq!(read_result(""), Err(ImportError::NoDocument));
        assert_eq!(
            read_result("fio: no such file"),
            Err(ImportError::NoDocument)
        );
        assert_eq!(read_result("{\"a\": 1}"), Err(ImportError::NoJobs));
        assert!(matches!(
            read_result("{\n\"jobs\": [\n"),
            Err(ImportError::Malformed { line: 3, .. })
        ));
        let deep = "{\"a\":".repeat(100_000);
        assert!(matches!(
            read_result(&deep),
            Err(ImportError::Malformed { .. })
        ));
        assert_eq!(
            read_result("{\"jobs\": [1, null, {}]}")
                .expect("odd but harmless")
                .len(),
            3
        );
    }
}
