//! Converts fio's JSON of any version to results in nanoseconds and bytes.

use fathom_model::{
    Direction, DiskCounters, DiskSummary, ImportedResult, Nanos, Provenance, RecordedFinding,
    Simulated,
};
use serde_json::Value;

use crate::cells::job_finding;
use crate::document::hosts_in;
use crate::documents::{Documents, documents};
use crate::entry::{DocumentContext, entry};
use crate::error::ImportError;
use crate::normal_output;
use crate::number::lenient;
use crate::terse::is_terse;

/// Results of the documents in `text`; several status documents of one run become one result.
///
/// # Errors
/// When there is no document in it, or no result.
pub(crate) fn results(file: &str, text: &str) -> Result<Vec<ImportedResult>, ImportError> {
    let mut all = json_documents(text)?;
    let cut = all
        .broken
        .filter(|_| all.found.iter().any(|one| records(one).is_ok()));
    all.found.dedup_by(last_state);
    let (mut results, mut left_out) = (Vec::new(), cut);
    for document in &all.found {
        match result(file, document) {
            Ok(read) => results.push(ImportedResult {
                hosts: hosts_in(document, text)?,
                ..read
            }),
            Err(why) => left_out = left_out.or(Some(why)),
        }
    }
    let Some(last) = results.last_mut() else {
        return Err(left_out.unwrap_or(ImportError::NoJobs));
    };
    last.source
        .notes
        .extend(all.text.into_iter().map(|line| format!("fio said: {line}")));
    last.source
        .notes
        .extend(left_out.map(|why| format!("ignored another document in the file: {why}")));
    Ok(results)
}

/// Results of fio's normal output in `text`; empty if there is none.
///
/// # Errors
/// When it has more jobs than any result.
pub(crate) fn normal_results(file: &str, text: &str) -> Result<Vec<ImportedResult>, ImportError> {
    let documents = normal_output::documents(text)?;
    documents.iter().map(|one| result(file, one)).collect()
}

/// All results in `text` as documents: JSON, or fio's normal output.
///
/// # Errors
/// When there is none.
pub(crate) fn all_documents(text: &str) -> Result<Vec<Value>, ImportError> {
    let why = match json_documents(text) {
        Ok(mut all) => {
            all.found.retain(|one| records(one).is_ok());
            all.found.dedup_by(last_state);
            if !all.found.is_empty() {
                return Ok(all.found);
            }
            ImportError::NoJobs
        }
        Err(why) => why,
    };
    // Terse lines have more digits.
    let documents = if text.lines().any(is_terse) {
        Vec::new()
    } else {
        normal_output::documents(text)?
    };
    if documents.is_empty() {
        Err(why)
    } else {
        Ok(documents)
    }
}

/// The first result in `text` as a document.
///
/// # Errors
/// When there is none.
pub(crate) fn first_result(text: &str) -> Result<Value, ImportError> {
    all_documents(text).map(|mut all| all.swap_remove(0))
}

/// The JSON documents in `text`.
fn json_documents(text: &str) -> Result<Documents, ImportError> {
    let all = documents(text)?;
    if all.found.is_empty() {
        Err(all.broken.unwrap_or(ImportError::NoDocument))
    } else {
        Ok(all)
    }
}

/// Keeps the later of two states of one run; for [`Vec::dedup_by`].
fn last_state(later: &mut Value, earlier: &mut Value) -> bool {
    let continued = continues(earlier, later);
    if continued {
        std::mem::swap(later, earlier);
    }
    continued
}

/// The job records of a document, without the sum over clients.
///
/// # Errors
/// When it has none.
pub(crate) fn records(document: &Value) -> Result<Vec<&Value>, ImportError> {
    let jobs = ["jobs", "client_stats"]
        .iter()
        .find_map(|key| document[*key].as_array())
        .ok_or(ImportError::NoJobs)?;
    Ok(jobs
        .iter()
        .filter(|job| job["jobname"] != "All clients")
        .collect())
}

/// Whether `later` is a later status of the run in `earlier` (`--status-interval`): the start is
/// the same, the counts are not lower, and the elapsed time grew as much as the wall-clock time.
/// Without timestamps they are two runs.
fn continues(earlier: &Value, later: &Value) -> bool {
    let (Ok(before), Ok(after)) = (records(earlier), records(later)) else {
        return false;
    };
    let named = |jobs: &[&Value]| {
        jobs.iter()
            .map(|job| job["jobname"].clone())
            .collect::<Vec<_>>()
    };
    let elapsed = |jobs: &[&Value]| {
        jobs.iter()
            .map(|job| lenient(job, "elapsed"))
            .fold(0.0, f64::max)
    };
    let began = |jobs: &[&Value]| {
        jobs.iter()
            .map(|job| lenient(job, "job_start") as u64)
            .collect::<Vec<_>>()
    };
    let done = |jobs: &[&Value]| {
        jobs.iter()
            .flat_map(|job| {
                Direction::ALL
                    .map(|direction_summary| lenient(&job[direction_summary.name()], "total_ios"))
            })
            .sum::<f64>()
    };
    if lenient(earlier, "timestamp") == 0.0
        || began(&before) != began(&after)
        || done(&after) < done(&before)
    {
        return false;
    }
    let written = lenient(later, "timestamp") - lenient(earlier, "timestamp");
    let aged = elapsed(&after) - elapsed(&before);
    named(&before) == named(&after)
        && written >= 0.0
        && aged >= 0.0
        && (written - aged).abs() <= 2.0
        && (aged > 0.0 || written < 2.0)
}

fn result(file: &str, document: &Value) -> Result<ImportedResult, ImportError> {
    let records = records(document)?;
    let program = document["fio version"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let context = DocumentContext::of(document, &program, records.len());
    let entries = records
        .iter()
        .map(|job| entry(&context, job))
        .collect::<Result<Vec<_>, _>>()?;
    let runtime = entries
        .iter()
        .flat_map(|entry| &entry.directions.0)
        .map(|direction_summary| direction_summary.runtime_ms)
        .max()
        .unwrap_or(0);
    let mut notes = normal_output::notes(document);
    for one in entries.iter().filter(|one| one.error != 0).take(3) {
        notes.push(format!("{} failed with error {}", one.name, one.error));
    }
    if entries.iter().all(|entry| {
        entry
            .directions
            .0
            .iter()
            .all(|direction_summary| direction_summary.ios == 0)
    }) {
        notes.push("no I/O completed in it".to_owned());
    }
    let source = Provenance {
        program,
        files: vec![file.to_owned()],
        unknown: unknown(document, &entries),
        notes,
        over_time: Vec::new(),
    };
    Ok(ImportedResult {
        source: imported_before(&document["fathom"]["imported"]).unwrap_or(source),
        written_unix_ms: written(document),
        elapsed: Nanos::from_millis(runtime),
        globals: crate::options::pairs(&document["global options"]),
        entries,
        disks: document["disk_util"]
            .as_array()
            .into_iter()
            .flatten()
            .map(disk)
            .collect(),
        hosts: Default::default(),
        judged: is_judged(document),
        simulated: simulated(document),
        recorded: recorded(document),
    })
}

/// The simulated device of a result of fathom.
fn simulated(document: &Value) -> Option<Simulated> {
    let simulated = &document["fathom"]["simulated"];
    Some(Simulated {
        device: simulated["device"].as_str()?.to_owned(),
        seed: simulated["seed"].as_u64().unwrap_or(0),
    })
}

/// Whether this is a result of fathom with the findings of its run.
fn is_judged(document: &Value) -> bool {
    let addition = &document["fathom"];
    addition["findings"].is_array() && addition["imported"].is_null()
}

/// Findings about lost hosts and contradicting logs are not in the figures that fathom writes.
const NOT_IN_FIGURES: [&str; 2] = ["HOST_LOST", "LOGS_MISLEAD"];

/// The findings of a run, or those of an imported result that cannot be found again.
fn recorded(document: &Value) -> Vec<RecordedFinding> {
    let all = document["fathom"]["findings"]
        .as_array()
        .into_iter()
        .flatten();
    let kept = |finding: &&Value| {
        is_judged(document)
            || finding["code"]
                .as_str()
                .is_some_and(|code| NOT_IN_FIGURES.contains(&code))
    };
    all.filter(kept)
        .map(|finding| RecordedFinding {
            about: finding["about"].as_str().map(str::to_owned),
            finding: job_finding(finding),
        })
        .collect()
}

/// The provenance in a document that fathom wrote for an imported result.
fn imported_before(imported: &Value) -> Option<Provenance> {
    let texts = |name: &str| {
        imported[name]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect()
    };
    let program = imported["program"].as_str()?.to_owned();
    Some(Provenance {
        program,
        files: texts("files"),
        unknown: texts("unknown"),
        notes: texts("notes"),
        over_time: Vec::new(),
    })
}

fn written(document: &Value) -> u64 {
    let millis = lenient(document, "timestamp_ms");
    if millis > 0.0 {
        millis as u64
    } else {
        (lenient(document, "timestamp") * 1e3) as u64
    }
}

/// What documents of fio never contain, and what is missing in this one.
fn unknown(document: &Value, entries: &[fathom_model::Entry]) -> Vec<String> {
    let mut unknown = vec!["device, host and conditions".to_owned()];
    unknown.extend(normal_output::missing(document));
    let mut say = |missing: bool, what: &str| {
        let is_new = missing && !unknown.iter().any(|one| one == what);
        unknown.extend(is_new.then(|| what.to_owned()));
    };
    say(entries.iter().any(|entry| entry.depth == 0), "queue depth");
    say(entries.iter().any(|entry| entry.rw.is_empty()), "pattern");
    say(document["fio version"].is_null(), "version of fio");
    let all_directions = || {
        entries
            .iter()
            .flat_map(|entry| &entry.directions.0)
            .filter(|direction_summary| direction_summary.ios > 0)
    };
    say(
        all_directions().any(|direction_summary| {
            direction_summary.clat.bins.is_empty() && direction_summary.lat.bins.is_empty()
        }),
        "latencies beyond the percentiles listed",
    );
    unknown
}

/// Sectors are only in newer versions; the other names are the same in all versions.
fn disk(disk: &Value) -> DiskSummary {
    let count = |name: &str| lenient(disk, name) as u64;
    let delta = DiskCounters {
        read_ios: count("read_ios"),
        read_merges: count("read_merges"),
        read_sectors: count("read_sectors"),
        read_ticks: count("read_ticks"),
        write_ios: count("write_ios"),
        write_merges: count("write_merges"),
        write_sectors: count("write_sectors"),
        write_ticks: count("write_ticks"),
        time_in_queue: count("in_queue"),
        ..DiskCounters::default()
    };
    DiskSummary {
        name: disk["name"].as_str().unwrap_or_default().to_owned(),
        delta,
        util: lenient(disk, "util"),
        size: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(timestamp: u64, elapsed: u64, ios: u64) -> String {
        format!(
            "{{\"fio version\": \"fio-3.33\", \"timestamp\": {timestamp}, \"jobs\": [{{\"jobname\": \"a\", \"elapsed\": {elapsed},
            \"read\": {{\"iops\": 10.0, \"total_ios\": {ios}, \"runtime\": {}}}}}]}}\n",
            elapsed * 1000
        )
    }

    #[test]
    fn states_of_one_run_are_one_result_and_two_runs_are_two() {
        let text = state(1000, 1, 10) + &state(1001, 2, 20) + &state(1002, 3, 30);
        let one = results("f", &text).expect("a result");
        assert_eq!(
            one.iter()
                .map(|one| one.entries[0].directions.0[0].ios)
                .collect::<Vec<_>>(),
            [30]
        );
        let two = results("f", &(state(1000, 10, 100) + &state(1060, 10, 101))).expect("results");
        assert_eq!(two.len(), 2);
        // Two short runs in one second are both kept, and also two runs without timestamps.
        assert_eq!(
            results("f", &(state(1000, 1, 100) + &state(1000, 1, 90)))
                .expect("results")
                .len(),
            2
        );
        assert_eq!(
            results("f", &(state(0, 1, 100) + &state(0, 1, 100)))
                .expect("results")
                .len(),
            2
        );
    }

    #[test]
    fn a_truncated_document_does_not_affect_the_others() {
        let text = state(1000, 1, 10) + "{\"fio version\": \"fio-3.33\", \"jobs\": [\n";
        let one = results("f", &text).expect("a result");
        assert!(
            one[0].source.notes[0]
                .contains("ignored another document in the file: malformed JSON in line 2"),
            "{:?}",
            one[0].source.notes
        );
        assert!(matches!(
            results("f", "{\"jobs\": [\n"),
            Err(ImportError::Malformed { line: 2, .. })
        ));
        assert_eq!(results("f", "{\"a\": 1}").err(), Some(ImportError::NoJobs));
    }
}
