//! Checks hundreds of real results, if they are available: their rates, latencies and depths, and
//! the log files of some of them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::common::{files, results};
use fathom_analyse::{ImportedLogs, judge_imported, judge_logs};
use fathom_import::{ImportedRun, read_iops_log, read_result};

fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .expect("a file");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn littles_law_holds_on_nearly_every_point() {
    let Some(directory) = results() else { return };
    let (mut all, mut agree, mut broken) = (0, 0, 0);
    let mut documents = Vec::new();
    files(&directory, ".json", &mut documents);
    assert!(documents.len() > 400, "{} documents", documents.len());
    for path in documents {
        match read_result(&text(&path)) {
            Ok(runs) => {
                let points: Vec<_> = runs
                    .iter()
                    .filter_map(|run| Some((run, run.figures.little()?)))
                    .collect();
                all += points.len();
                agree += points
                    .iter()
                    .filter(|(_, ratio)| (ratio - 1.0).abs() <= 0.05)
                    .count();
                points
                    .iter()
                    .for_each(|(run, ratio)| finding_agrees(run, *ratio));
            }
            Err(_) => broken += 1,
        }
    }
    let share = agree as f64 * 100.0 / all as f64;
    eprintln!(
        "Little's law within 5 % on {agree} of {all} points ({share:.1} %); {broken} documents are not results"
    );
    assert!(
        share >= 95.0 && broken <= 2,
        "{agree} of {all}, {broken} broken"
    );
}

/// LITTLE_DISAGREES is found exactly if rate, latency and depth disagree.
fn finding_agrees(run: &ImportedRun, ratio: f64) {
    let finding_at = judge_imported(&run.figures)
        .iter()
        .any(|f| f.code == "LITTLE_DISAGREES");
    assert_eq!(
        finding_at,
        !(0.95..=1.05).contains(&ratio),
        "{}: {ratio}",
        run.figures.name
    );
}

/// Points whose logs, drawn as they are, disagree with the summary. The fifth has all its rows.
#[test]
fn logs_that_mislead_are_recognised() {
    let Some(directory) = results() else { return };
    let array = directory.join("fio-results/raid5-8x2tb-md");
    let mut logs = Vec::new();
    files(&array, ".log", &mut logs);
    let mut points: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in logs {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if let Some((point, _)) = name.split_once("_iops.") {
            points.entry(point.to_owned()).or_default().push(path);
        }
    }
    let finding_at: Vec<String> = points
        .iter()
        .filter_map(|(point, logs)| finding_at(&array, point, logs))
        .collect();
    assert_eq!(points.len(), 5);
    finding_at.iter().for_each(|line| eprintln!("{line}"));
    let names: Vec<&str> = finding_at
        .iter()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert_eq!(
        names,
        [
            "randread 64 x 64",
            "randwrite 1 x 1",
            "randwrite 32 x 32",
            "randwrite 64 x 64"
        ]
    );
    // The real rates are 1,666, 483 and 478 I/Os per second.
    for (line, summary) in [
        (&finding_at[0], "the summary says 1,66"),
        (&finding_at[2], "the summary says 48"),
        (&finding_at[3], "the summary says 47"),
    ] {
        assert!(line.contains(summary), "{line}");
    }
}

/// The evidence of the finding about one point, after its name.
fn finding_at(array: &Path, point: &str, logs: &[PathBuf]) -> Option<String> {
    let parts: Vec<&str> = point.split('-').collect();
    let [rw, _, depth, _, jobs] = parts[..] else {
        panic!("{point}")
    };
    let runs =
        read_result(&text(&array.join(format!("{rw}-{depth}-{jobs}.json")))).expect("a result");
    let run = &runs[0];
    let rows = logs
        .iter()
        .map(|path| read_iops_log(&text(path)).expect("a log"))
        .collect();
    let imported = ImportedLogs {
        name: format!("{rw} {depth} x {jobs}"),
        window_ms: run.log_window_ms.expect("averaged"),
        runtime_ms: run.runtime_ms,
        total_ios: run.figures.ios.expect("known"),
        jobs: rows,
    };
    judge_logs(&imported).map(|f| format!("{}: {}", imported.name, f.evidence))
}
