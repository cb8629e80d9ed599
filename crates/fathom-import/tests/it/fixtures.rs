//! Imports small results that fio 2.18, 3.33 and 3.42 wrote, and damaged ones.

use std::path::{Path, PathBuf};

use crate::common::read;
use fathom_import::Import;
use fathom_model::{Direction, Entry, ImportedResult};

const R: Direction = Direction::Read;
const W: Direction = Direction::Write;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn named<'a>(all: &'a Import, file: &str) -> &'a ImportedResult {
    all.results
        .iter()
        .find(|result| result.source.files[0].ends_with(file))
        .unwrap_or_else(|| panic!("{file} is missing"))
}

fn in_series(entry: &Entry, direction: Direction) -> u64 {
    entry
        .series
        .iter()
        .map(|interval| interval.directions[direction].ios)
        .sum()
}

/// Directory, documents, results from logs alone, job records; then I/Os, bytes and the sum of the
/// mean latencies (ns), computed with Python from the documents, with fio 2's KiB and microseconds
/// converted.
const DIRECTORIES: [(&str, [usize; 3], u64, u64, f64); 10] = [
    ("each-io", [1, 0, 1], 100, 409_600, 541_563.0),
    ("fio-2.18", [2, 0, 2], 792, 3_244_032, 2_272_157.0),
    ("fio-3.33", [2, 0, 2], 800, 3_276_800, 904_907.0),
    ("fio-3.42", [2, 0, 2], 801, 3_280_896, 1_911_812.0),
    ("gaps", [1, 0, 1], 160, 655_360, 193_115.0),
    ("histogram", [1, 0, 1], 201, 823_296, 229_545.0),
    ("logs-alone", [0, 1, 1], 0, 0, 0.0),
    ("overwritten", [2, 0, 2], 500, 2_048_000, 1_153_913.0),
    ("several-jobs", [1, 0, 4], 400, 1_638_400, 6_395_160.0),
    ("syncs", [1, 0, 1], 50, 204_800, 683_610.0),
];

#[test]
fn every_fixture_has_the_sums_of_its_documents() {
    for (name, counts, ios, bytes, latencies) in DIRECTORIES {
        let all = read(&fixtures().join(name));
        assert!(all.troubles.is_empty(), "{name}: {:?}", all.troubles);
        let is_document = |result: &&ImportedResult| result.source.files[0].ends_with(".json");
        let documents: Vec<&ImportedResult> = all.results.iter().filter(is_document).collect();
        let records: usize = all.results.iter().map(|result| result.entries.len()).sum();
        assert_eq!(
            [
                documents.len(),
                all.results.len() - documents.len(),
                records
            ],
            counts,
            "{name}"
        );
        let directions = || {
            let entries = documents.iter().flat_map(|result| &result.entries);
            entries.flat_map(|entry| &entry.directions.0)
        };
        let sums: (u64, u64) = (
            directions().map(|one| one.ios).sum(),
            directions().map(|one| one.bytes).sum(),
        );
        assert_eq!(sums, (ios, bytes), "{name}");
        let mean: f64 = directions().map(|one| one.lat.mean).sum();
        assert!(
            (mean - latencies).abs() <= 4.0,
            "{name}: {mean} and {latencies}"
        );
    }
}

/// The rows cover the time since the row before, and the last window has no row: with both, logs and
/// document have the same number of I/Os.
#[test]
fn logs_agree_with_the_document() {
    for version in ["fio-2.18", "fio-3.33", "fio-3.42"] {
        for result in read(&fixtures().join(version)).results {
            let (entry, name) = (&result.entries[0], &result.source.files[0]);
            let (ios, series) = (entry.directions[R].ios, in_series(entry, R));
            // fio rounds each of about ten rows per job down, and version 2 is late by up to half a
            // window.
            let lost = if version == "fio-2.18" {
                ios / 40
            } else {
                2 * u64::from(entry.members)
            };
            assert!(
                (ios - lost..=ios).contains(&series),
                "{name}: {series} of {ios}"
            );
            assert!(
                result.source.notes.is_empty(),
                "{name}: {:?}",
                result.source.notes
            );
        }
    }
}

/// Two jobs pause for 200 ms after every 20 I/Os: windows of 50 ms without a row are zero.
#[test]
fn windows_without_a_row_are_zero() {
    let all = read(&fixtures().join("gaps"));
    let entry = &all.results[0].entries[0];
    let empty = entry
        .series
        .iter()
        .filter(|interval| interval.directions[W].ios == 0)
        .count();
    let series = in_series(entry, W);
    assert!(
        (8..=14).contains(&empty) && (130..=160).contains(&series),
        "{empty} empty intervals, {series} I/Os"
    );
}

/// A job of writes wrote logs of the same name as a job of reads before it.
#[test]
fn overwritten_logs_belong_to_the_later_job() {
    let all = read(&fixtures().join("overwritten"));
    let (reads, writes) = (named(&all, "a-read.json"), named(&all, "b-write.json"));
    assert!(reads.entries[0].series.is_empty());
    let ios = in_series(&writes.entries[0], W);
    assert!((298..=300).contains(&ios), "{ios}");
}

/// A job of 200 reads and 200 writes per second, without its document.
#[test]
fn logs_without_a_document_are_a_result() {
    let all = read(&fixtures().join("logs-alone"));
    let entry = &all.results[0].entries[0];
    for direction in [R, W] {
        let figures = &entry.directions[direction];
        assert!(
            (figures.iops / 200.0 - 1.0).abs() < 0.02
                && (figures.bytes as f64 / figures.ios as f64 / 4096.0 - 1.0).abs() < 0.02,
            "{figures:?}"
        );
    }
}

#[test]
fn logs_of_each_io_give_counts_and_distributions() {
    let all = read(&fixtures().join("each-io"));
    let entry = &all.results[0].entries[0];
    let logged: u64 = entry
        .series
        .iter()
        .map(|interval| {
            let latencies = &interval.directions[R].latencies;
            latencies.unpack().count()
        })
        .sum();
    assert_eq!((in_series(entry, R), logged), (100, 100));
    let histograms = read(&fixtures().join("histogram"));
    let series = in_series(&histograms.results[0].entries[0], R);
    assert!((150..=201).contains(&series), "{series}");
}

#[test]
fn sync_percentiles_survive() {
    let all = read(&fixtures().join("syncs"));
    let sync = &all.results[0].entries[0].sync;
    let p99 = sync
        .percentiles
        .iter()
        .find(|(percent, _)| *percent == 99.0);
    assert_eq!(p99, Some(&(99.0, 9_371_648)));
}

/// Regression 0396: charts and `check` showed a latency without its name, and `import` another one.
#[test]
fn latencies_have_names() {
    for (directory, rate) in [("fio-2.18", "390"), ("fio-3.33", "400")] {
        let all = read(&fixtures().join(directory));
        let result = named(&all, "randread-1-1.json").clone();
        let figures = fathom_analyse::check_input(&result).results.remove(0);
        let line = fathom_analyse::little_line(&figures);
        assert!(
            line.contains(rate) && line.contains(" us (lat) = "),
            "{line}"
        );
        let cells = fathom_analyse::job_figures(&fathom_analyse::imported(result), "");
        assert_eq!(cells[0].latency_name, "completion latency (clat)");
        let chart = fathom_analyse::chart("compare", &cells, &Default::default()).expect("a chart");
        assert!(
            chart
                .notes
                .iter()
                .any(|note| note == "Latency: completion latency (clat)."),
            "{:?}",
            chart.notes
        );
    }
}

#[test]
fn damaged_files_are_reported_one_by_one() {
    let all = read(&fixtures().join("damaged"));
    let troubles: Vec<(&str, String)> = all
        .troubles
        .iter()
        .map(|trouble| {
            (
                trouble.file.rsplit_once('/').expect("a directory").1,
                trouble.why.to_string(),
            )
        })
        .collect();
    for (file, why) in [
        ("comma.json", "malformed JSON"),
        ("cut.json", "malformed JSON"),
        ("empty.json", "is empty"),
        ("utf16.json", "UTF-16"),
        ("x_iops.1.log", "incomplete"),
    ] {
        assert!(
            troubles
                .iter()
                .any(|(name, reason)| *name == file && reason.contains(why)),
            "{file}: {troubles:?}"
        );
    }
    assert_eq!(troubles.len(), 5, "{troubles:?}");
    let note = |file: &str, text: &str| {
        let notes = &named(&all, file).source.notes;
        assert!(
            notes.iter().any(|note| note.contains(text)),
            "{file}: {notes:?}"
        );
    };
    note("interrupted.json", "terminating on signal 2");
    note("surrounded.json", "this is a message");
}
