//! Imports whole directories of real results, if they are available: all results are read, and
//! every unreadable file is reported.

use std::collections::BTreeMap;

use crate::common::{read, results};
use fathom_import::{Import, ImportError};
use fathom_model::{Direction, ImportedResult, Nanos};

const R: Direction = Direction::Read;
const W: Direction = Direction::Write;

fn entries(all: &Import) -> usize {
    all.results.iter().map(|result| result.entries.len()).sum()
}

fn named<'a>(all: &'a Import, file: &str) -> &'a ImportedResult {
    let of = |result: &&ImportedResult| result.source.files[0].ends_with(file);
    all.results
        .iter()
        .find(of)
        .unwrap_or_else(|| panic!("{file} is missing"))
}

/// (directory, results from documents, results from logs alone, job records)
const DIRECTORIES: [(&str, usize, usize, usize); 7] = [
    ("fio-2.18-ssd", 128, 0, 128),
    ("floppy", 28, 0, 28),
    ("intel-d3-s4610-hba", 98, 0, 98),
    ("intel-d3-s4610-whole-drive", 0, 1, 1),
    ("many-jobs-per-file", 11, 0, 142),
    ("raid5-8x2tb-md", 98, 0, 98),
    ("wd740gd-10k", 72, 0, 72),
];

#[test]
fn every_directory_is_read() {
    let Some(directory) = results() else { return };
    for (name, documents, alone, records) in DIRECTORIES {
        let all = read(&directory.join("fio-results").join(name));
        let json = |result: &&ImportedResult| result.source.files[0].ends_with(".json");
        let from_documents = all.results.iter().filter(json).count();
        let troubles: Vec<_> = all
            .troubles
            .iter()
            .filter(|trouble| !trouble.file.ends_with(".md"))
            .collect();
        assert_eq!(
            (
                from_documents,
                all.results.len() - from_documents,
                entries(&all)
            ),
            (documents, alone, records),
            "{name}: {troubles:?}"
        );
        assert!(troubles.is_empty(), "{name}: {troubles:?}");
    }
}

/// I/Os, bytes and the sum of all mean latencies (ns) of each directory, computed independently
/// with Python from fio's JSON, with fio 2's KiB and microseconds converted.
#[test]
fn sums_are_those_of_the_documents() {
    let Some(directory) = results() else { return };
    for (name, ios, bytes, latencies) in [
        (
            "fio-2.18-ssd",
            37_509_691_u64,
            153_639_694_336_u64,
            11_107_433_073.0,
        ),
        ("floppy", 10_080, 41_287_680, 109_846_654_369.0),
        (
            "intel-d3-s4610-hba",
            229_623_562,
            940_538_109_952,
            827_532_074.0,
        ),
        ("many-jobs-per-file", 76_279, 312_438_784, 280_196_229_451.0),
        (
            "raid5-8x2tb-md",
            4_498_545,
            18_426_040_320,
            43_398_724_567.0,
        ),
        ("wd740gd-10k", 595_334, 2_438_488_064, 66_577_571_525.0),
    ] {
        let all = read(&directory.join("fio-results").join(name));
        let directions: Vec<_> = all
            .results
            .iter()
            .flat_map(|result| &result.entries)
            .flat_map(|entry| &entry.directions.0)
            .collect();
        let sums = (
            directions
                .iter()
                .map(|direction| direction.ios)
                .sum::<u64>(),
            directions
                .iter()
                .map(|direction| direction.bytes)
                .sum::<u64>(),
        );
        let mean: f64 = directions.iter().map(|direction| direction.lat.mean).sum();
        assert_eq!(sums, (ios, bytes), "{name}");
        assert!(
            (mean - latencies).abs() <= 1.0,
            "{name}: {mean} and {latencies}"
        );
        // These files are unmodified, and no job in them failed.
        let wrong = |result: ImportedResult| {
            fathom_analyse::imported(result)
                .findings
                .into_iter()
                .find(|found| ["SUMMARY_DISAGREES", "IO_ERROR"].contains(&found.code))
        };
        assert_eq!(all.results.into_iter().find_map(wrong), None, "{name}");
    }
}

#[test]
fn the_broken_directory_is_reported_file_by_file() {
    let Some(directory) = results() else { return };
    let all = read(&directory.join("fio-results/broken"));
    let troubles: Vec<(&str, &ImportError)> = all
        .troubles
        .iter()
        .map(|trouble| {
            (
                trouble.file.rsplit_once("broken/").expect("inside").1,
                &trouble.why,
            )
        })
        .collect();
    assert_eq!(
        troubles,
        [("party/fio/1m/write-64-8.json", &ImportError::Empty)]
    );
    let interrupted = named(&all, "randread-1-1.json");
    assert!(
        interrupted
            .source
            .notes
            .iter()
            .any(|note| note == "fio said: fio: terminating on signal 2"),
        "{:?}",
        interrupted.source.notes
    );
    let failed = named(&all, "write-64-1.json");
    assert!(
        failed
            .source
            .notes
            .iter()
            .any(|note| note.contains("time_based requires a runtime")),
        "{:?}",
        failed.source.notes
    );
    assert!(
        failed
            .source
            .notes
            .iter()
            .any(|note| note == "no I/O completed in it"),
        "{:?}",
        failed.source.notes
    );
}

/// Rows x window of the IOPS logs, of the first 50 s and of all, computed with awk. The summary has
/// 1,666, 483 and 478 I/Os per second for the last three; fio-plot draws 0, 1,330 and 61. What
/// completed after the last row of a job has no row: it is part of the documents' totals only.
#[test]
fn logs_of_many_jobs_add_up_by_time() {
    let Some(directory) = results() else { return };
    let all = read(&directory.join("fio-results/raid5-8x2tb-md"));
    let cases = [
        ("randwrite-1-1.json", W, 6_396.0, 7_828.0, 1_958),
        ("randread-64-64.json", R, 324_032.0, 394_917.0, 101_375),
        ("randwrite-32-32.json", W, 94_280.0, 114_632.0, 29_428),
        ("randwrite-64-64.json", W, 81_052.0, 101_746.0, 29_249),
    ];
    for (file, direction, of_50_s, of_all, total) in cases {
        let entry = &named(&all, file).entries[0];
        assert_eq!(entry.directions[direction].ios, total, "{file}");
        let until = |end: Nanos| -> u64 {
            let intervals = entry.series.iter().take_while(|one| one.start < end);
            intervals.map(|one| one.directions[direction].ios).sum()
        };
        let head = until(Nanos::from_secs(50)) as f64;
        assert!(
            (head / (of_50_s * 0.25) - 1.0).abs() < 0.001,
            "{file}: {head} of {}",
            of_50_s * 0.25
        );
        let series = until(Nanos::MAX);
        let (rows, sum) = (of_all * 0.25, series as f64);
        assert!(
            rows * 0.999 <= sum && series <= total,
            "{file}: {series}, with {rows} in the rows and {total} in the document"
        );
        // The last I/Os of several jobs take more than half a second: they are in the series.
        assert!(
            entry.members == 1 || sum > rows * 1.003,
            "{file}: {series} of {rows}"
        );
        let seconds = entry.directions[direction].runtime_ms as f64 / 1e3;
        eprintln!(
            "{file}: {:.0} I/Os per second from the logs, {:.0} from the summary",
            series as f64 / seconds,
            entry.directions[direction].iops
        );
        // The series covers the whole run: 60 seconds of 250 ms, not the 33 of the shortest log.
        assert!(
            entry.series.len() >= 239,
            "{} intervals",
            entry.series.len()
        );
        let gaps = entry
            .series
            .windows(2)
            .filter(|pair| pair[0].start + pair[0].length != pair[1].start)
            .count();
        assert_eq!(gaps, 0);
    }
    let with_logs = all
        .results
        .iter()
        .filter(|result| !result.entries[0].series.is_empty())
        .count();
    assert_eq!(with_logs, 5);
}

/// The logs named after random reads contain only rows of writes: the last run of that name
/// overwrote the others.
#[test]
fn logs_go_where_their_rows_belong() {
    let Some(directory) = results() else { return };
    let all = read(&directory.join("fio-results/intel-d3-s4610-hba"));
    let with_logs: Vec<&ImportedResult> = all
        .results
        .iter()
        .filter(|result| !result.entries[0].series.is_empty())
        .collect();
    let names: Vec<&str> = with_logs
        .iter()
        .map(|result| {
            result.source.files[0]
                .rsplit_once('/')
                .expect("a directory")
                .1
        })
        .collect();
    assert_eq!(
        names,
        [
            "randwrite-1-64.json",
            "randwrite-16-64.json",
            "randwrite-2-64.json",
            "randwrite-32-64.json",
            "randwrite-4-64.json",
            "randwrite-64-64.json",
            "randwrite-8-64.json"
        ]
    );
    for result in with_logs {
        let entry = &result.entries[0];
        let rows: u64 = entry
            .series
            .iter()
            .map(|interval| interval.directions[W].ios)
            .sum();
        let share = rows as f64 / entry.directions[W].ios as f64;
        assert!(
            (0.97..1.03).contains(&share),
            "{}: {share}",
            result.source.files[0]
        );
        assert!(
            entry
                .series
                .iter()
                .all(|interval| interval.directions[R].ios == 0)
        );
        // Means of the windows, weighted by their I/Os, are those of the run.
        let direction = &entry.directions[W];
        let sum: f64 = entry
            .series
            .iter()
            .map(|interval| {
                interval.directions[W].mean.unwrap_or(0) as f64 * interval.directions[W].ios as f64
            })
            .sum();
        assert!(
            (sum / rows as f64 / direction.clat.mean - 1.0).abs() < 0.1,
            "{}: {} and {}",
            result.source.files[0],
            sum / rows as f64,
            direction.clat.mean
        );
    }
}

/// Nearly three hours of one row a second, reads and writes in one log, and no document.
#[test]
fn logs_without_a_document_are_a_result() {
    let Some(directory) = results() else { return };
    let all = read(&directory.join("fio-results/intel-d3-s4610-whole-drive"));
    let result = &all.results[0];
    let entry = &result.entries[0];
    assert!(entry.series.len() > 9_000, "{}", entry.series.len());
    for direction in [R, W] {
        let direction = &entry.directions[direction];
        assert!(
            (4_000.0..6_000.0).contains(&direction.iops)
                && (direction.bytes as f64 / direction.ios as f64 / 4096.0 - 1.0).abs() < 0.01,
            "{direction:?}"
        );
    }
    assert!(
        result
            .source
            .unknown
            .iter()
            .any(|what| what == "queue depth")
    );
}

/// Latencies in old microseconds and in new nanoseconds both agree with rate and depth.
#[test]
fn units_of_all_versions_agree_with_littles_law() {
    let Some(directory) = results() else { return };
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for name in [
        "fio-2.18-ssd",
        "wd740gd-10k",
        "intel-d3-s4610-hba",
        "many-jobs-per-file",
    ] {
        let all = read(&directory.join("fio-results").join(name));
        for entry in all
            .results
            .iter()
            .flat_map(|result| fathom_analyse::joined(&result.entries))
        {
            let in_flight: f64 = entry
                .directions
                .0
                .iter()
                .map(|direction| direction.iops * direction.lat.mean / 1e9)
                .sum();
            ratios
                .entry(name)
                .or_default()
                .push(in_flight / f64::from(entry.depth * entry.members));
        }
    }
    for (name, ratios) in ratios {
        let near = ratios
            .iter()
            .filter(|ratio| (0.9..=1.1).contains(*ratio))
            .count();
        assert!(
            near * 100 >= ratios.len() * 80,
            "{name}: {near} of {}",
            ratios.len()
        );
    }
}
