//! fio's JSON: one object with an array of jobs; times in nanoseconds from version 3 on, in microseconds before.

use fathom_analyse::{Imported, Stream};
use fathom_model::Direction;
use serde_json::{Deserializer, Value};

use crate::error::ImportError;
use crate::options::Options;

/// One job record of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRun {
    /// Its figures.
    pub figures: Imported,
    /// Length, milliseconds.
    pub runtime_ms: u64,
    /// Window of its log rows, milliseconds (`log_avg_msec`).
    pub log_window_ms: Option<u64>,
    /// errno that fio reports.
    pub error: i64,
}

/// All job records of a result. Text before and after the document, as failing runs leave it, is passed over.
///
/// # Errors
/// When there is no such document in `text`.
pub fn read_result(text: &str) -> Result<Vec<ImportedRun>, ImportError> {
    let document = document(text)?;
    let real = records(&document)?;
    Ok(real.iter().map(|job| run(&document, job, real.len())).collect())
}

/// The job records of a document; sums over clients are none.
pub(crate) fn records(document: &Value) -> Result<Vec<&Value>, ImportError> {
    let jobs = ["jobs", "client_stats"].iter().find_map(|key| document[*key].as_array()).ok_or(ImportError::NoJobs)?;
    Ok(jobs.iter().filter(|job| job["jobname"] != "All clients").collect())
}

/// The first object that begins a line: messages of a failing run may hold braces of their own.
pub(crate) fn document(text: &str) -> Result<Value, ImportError> {
    let mut at = 0;
    let mut first = None;
    for line in text.split_inclusive('\n') {
        if line.starts_with('{') {
            match Deserializer::from_str(&text[at..]).into_iter::<Value>().next() {
                Some(Ok(value)) if value.is_object() => return Ok(value),
                Some(Err(error)) => {
                    let why = error.to_string();
                    first.get_or_insert(ImportError::Malformed { line: error.line(), why });
                }
                _ => {}
            }
        }
        at += line.len();
    }
    Err(first.unwrap_or(ImportError::NoDocument))
}

fn run(document: &Value, job: &Value, records: usize) -> ImportedRun {
    let options = Options::of(document, job);
    let grouped = options.has("group_reporting") || records == 1;
    let paced = ["rate", "rate_iops", "thinktime"].iter().any(|name| options.has(name));
    let name = job["jobname"].as_str().unwrap_or_default().to_owned();
    let streams = Direction::ALL.into_iter().filter_map(|d| stream(&job[d.word()], d)).collect();
    let total = |key: &str| Direction::ALL.into_iter().filter_map(|d| job[d.word()][key].as_u64()).sum::<u64>();
    ImportedRun {
        figures: Imported {
            name,
            rw: options.text("rw").or(options.text("readwrite")).map(str::to_owned),
            streams,
            block: options.size("bs").or(options.size("blocksize")).or((!options.has("bs")).then_some(4096)),
            depth: Some(depth(&options)),
            jobs: Some(if grouped { options.number("numjobs").unwrap_or(1) } else { 1 }),
            closed: !paced,
            ios: Some(total("total_ios")),
            ..Imported::default()
        },
        runtime_ms: Direction::ALL.into_iter().filter_map(|d| job[d.word()]["runtime"].as_u64()).max().unwrap_or(0),
        log_window_ms: options.number("log_avg_msec").map(u64::from),
        error: job["error"].as_i64().unwrap_or(0),
    }
}

/// A synchronous engine has one in flight, whatever was asked; without a name fio takes psync.
fn depth(options: &Options) -> u32 {
    let synchronous = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];
    match options.text("ioengine") {
        Some(engine) if synchronous.contains(&engine) => 1,
        _ => options.number("iodepth").unwrap_or(1),
    }
}

/// `lat_ns` (version 3) or `lat` (version 2, microseconds).
fn stream(way: &Value, direction: Direction) -> Option<Stream> {
    let iops = way["iops"].as_f64().filter(|iops| *iops > 0.0)?;
    let mean = |key: &str| way[key]["mean"].as_f64().filter(|mean| *mean > 0.0);
    let latency_ns = mean("lat_ns").or_else(|| mean("lat").map(|us| us * 1e3));
    Some(Stream { direction, iops, latency_ns, is_median: false })
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
        let [run] = runs.as_slice() else { panic!("{runs:?}") };
        let figures = &run.figures;
        assert_eq!((figures.depth, figures.jobs, figures.block), (Some(8), Some(4), Some(16384)));
        assert_eq!((run.runtime_ms, run.log_window_ms, figures.ios), (60001, Some(250), Some(60000)));
        // 1000 per second x 32 ms = 32 in flight, of 8 x 4.
        assert_eq!(figures.little(), Some(1.0));
    }

    #[test]
    fn microseconds_of_old_versions_are_microseconds() {
        let old = r#"{"jobs": [{"jobname": "a", "job options": {"ioengine": "sync", "iodepth": "32"},
            "read": {"iops": 200.0, "lat": {"mean": 5000.0}}}]}"#;
        assert_eq!(read_result(old).expect("a result")[0].figures.little(), Some(1.0));
    }

    #[test]
    fn text_around_the_document_is_passed_over() {
        let text = format!("fio: error {{x}}\n{{ not json\n{NEW}\nfio: terminating\n");
        assert_eq!(read_result(&text).expect("a result").len(), 1);
    }

    #[test]
    fn what_is_no_result_is_refused_with_its_place() {
        assert_eq!(read_result(""), Err(ImportError::NoDocument));
        assert_eq!(read_result("fio: no such file"), Err(ImportError::NoDocument));
        assert_eq!(read_result("{\"a\": 1}"), Err(ImportError::NoJobs));
        assert!(matches!(read_result("{\n\"jobs\": [\n"), Err(ImportError::Malformed { line: 3, .. })));
        let deep = "{\"a\":".repeat(100_000);
        assert!(matches!(read_result(&deep), Err(ImportError::Malformed { .. })));
        assert_eq!(read_result("{\"jobs\": [1, null, {}]}").expect("odd but harmless").len(), 3);
    }
}
