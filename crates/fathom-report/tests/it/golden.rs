//! The names in every format that other programs read, compared with golden files.
//!
//! A difference here is a change of a published format. `UPDATE_GOLDEN=1 cargo test -p fathom-report --test it golden` writes
//! the files anew. `docs/reference/formats.md` lists the names.

use crate::common;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use fathom_model::{CellFigures, Nanos, PerDirection, Personality, Progress, Run, Verdict};
use fathom_report::{
    CellPosition, Style, TerseVersion, begin_event, cell_event, cells_csv, cells_document,
    cells_parquet, done_event, end_event, failed_event, json, progress_event, runs_document, terse,
};
use fathom_store::{CellContent, Store, StoredCell};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

/// Compares `actual` with a golden file.
fn compare(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).expect("the golden file is written");
    }
    let expected = std::fs::read_to_string(&path).expect("the golden file exists");
    assert!(
        expected == actual,
        "{} differs; now it is:\n{actual}",
        path.display()
    );
}

/// All runs of the store that fathom-store's tests have, with their cells, and the recordings in them.
fn stored() -> (Vec<(Run, Vec<StoredCell>)>, Vec<fathom_model::Recording>) {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../fathom-store/tests/data/every-kind.db");
    let mut store = Store::open_read_only(&fixture).expect("the fixture opens");
    let (mut runs, mut recordings) = (Vec::new(), Vec::new());
    for run in store.runs().expect("the runs are readable") {
        let cells = store.cells(run.id).expect("the cells are readable");
        for cell in &cells {
            let content = store
                .content(run.id, cell.position)
                .expect("the content is readable");
            if let CellContent::Recording(recording) = content {
                recordings.push(*recording);
            }
        }
        runs.push((run, cells));
    }
    (runs, recordings)
}

/// Adds the path and type of every value below `value`.
fn paths(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(items) => {
            items
                .iter()
                .for_each(|item| paths(item, &format!("{at}[]"), into));
            "array"
        }
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(name, field)| paths(field, &format!("{at}.{name}"), into));
            "object"
        }
    };
    into.insert(format!("{at}: {kind}"));
}

fn lines(paths: BTreeSet<String>) -> String {
    paths.into_iter().map(|path| path + "\n").collect()
}

/// Every key below `"fathom"` in the JSON document, and its type.
#[test]
fn json_keys() {
    let mut keys = BTreeSet::new();
    for recording in stored().1 {
        let findings = fathom_analyse::findings(&recording);
        let mut bytes = Vec::new();
        json(&findings, &Style::default(), false, &mut bytes).expect("memory takes it");
        let document: Value = serde_json::from_slice(&bytes).expect("it is JSON");
        paths(&document["fathom"], "fathom", &mut keys);
    }
    compare("json-keys.txt", &lines(keys));
}

/// Every key of `fathom runs --json` and `fathom export --format=json`; figures and facts go by names of their own.
#[test]
fn export_keys() {
    let runs = stored().0;
    let mut keys = BTreeSet::new();
    let list: Vec<Run> = runs.iter().map(|(run, _)| run.clone()).collect();
    for (name, text) in [
        ("runs", runs_document(&list, &|_| false)),
        ("export", cells_document(&runs, &|_| false)),
    ] {
        let document = serde_json::from_str(&text).expect("it is JSON");
        paths(&document, name, &mut keys);
    }
    compare("export-keys.txt", &lines(keys));
}

/// Every event, as the line that programs read.
#[test]
fn events() {
    let position = CellPosition {
        number: 2,
        all: 9,
        name: "bs=4k".into(),
        left: Some(Duration::from_millis(1500)),
    };
    let at = [("bs".to_owned(), "4k".to_owned())];
    let mut progress = Progress {
        elapsed: Nanos::from_millis(250),
        expected: Some(Nanos::from_secs(1)),
        layout: Some((
            fathom_model::Bytes::from_mib(1),
            fathom_model::Bytes::from_mib(4),
        )),
        failed: 3,
        ..Progress::default()
    };
    progress.rates = PerDirection::default();
    let figures = CellFigures {
        iops: 95_012.5,
        bandwidth: 389_171_200.0,
        offered: Some(100_000.0),
        elapsed: Nanos::from_secs(1),
        verdict: Verdict::Degraded,
        codes: vec!["HOST_BUSY".into()],
        per_target: Vec::new(),
        ..CellFigures::default()
    };
    let recording = stored()
        .1
        .into_iter()
        .find(|recording| recording.plan.jobs[0].name == "verify-only")
        .expect("the fixture has damaged data");
    let findings = fathom_analyse::findings(&recording).findings;
    let stream = [
        begin_event("sweep", 9, Some("r12")),
        cell_event(&position, &at),
        progress_event(&position, &progress),
        done_event(&position, &at, &figures, &findings),
        failed_event(&position, "no space left"),
        end_event("interrupted", Some("fathom resume r12")),
    ];
    let mut keys = String::new();
    for line in stream {
        let value: Value = serde_json::from_str(&line).expect("it is JSON");
        let mut found = BTreeSet::new();
        let name = value["event"].as_str().expect("every event has its name");
        paths(&value, name, &mut found);
        keys += &lines(found);
    }
    compare("event-keys.txt", &keys);
}

/// Adds the path and text of every text below `value`.
fn texts(value: &Value, at: &str, into: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => into.push((at.to_owned(), text.clone())),
        Value::Array(items) => items
            .iter()
            .for_each(|item| texts(item, &format!("{at}[]"), into)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| texts(field, &format!("{at}.{name}"), into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The fixed values of the documents: the list, and that the documents of the fixture have no others.
#[test]
fn json_values() {
    let known = fathom_report::json_values();
    let (runs, recordings) = stored();
    let list: Vec<Run> = runs.iter().map(|(run, _)| run.clone()).collect();
    let mut documents = vec![
        ("runs", runs_document(&list, &|_| true)),
        ("export", cells_document(&runs, &|_| false)),
    ];
    for recording in recordings {
        let findings = fathom_analyse::findings(&recording);
        let mut bytes = Vec::new();
        json(&findings, &Style::default(), false, &mut bytes).expect("memory takes it");
        documents.push(("", String::from_utf8(bytes).expect("it is text")));
    }
    let mut compared = 0;
    for (name, text) in documents {
        let mut found = Vec::new();
        let document = serde_json::from_str(&text).expect("it is JSON");
        texts(&document, name, &mut found);
        for (path, text) in found {
            let is_of = |(end, _): &&(&str, Vec<String>)| {
                path.strip_suffix(end)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            let Some((_, values)) = known.iter().find(is_of) else {
                continue;
            };
            assert!(
                values.contains(&text),
                "{path}: {text:?} is not in the list"
            );
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} values were compared");
    let lines: String = known
        .iter()
        .map(|(end, values)| format!("{end}: {values:?}\n"))
        .collect();
    compare("json-values.txt", &lines);
}

/// Columns of the Parquet and CSV exports of a sweep and of a run.
#[test]
fn table_columns() {
    let runs = stored().0;
    let mut text = String::new();
    for name in ["r2", "r5"] {
        let chosen: Vec<_> = runs
            .iter()
            .filter(|(run, _)| run.id.to_string() == name)
            .cloned()
            .collect();
        let document = cells_parquet(&chosen).expect("it fits");
        let reader =
            SerializedFileReader::new(bytes::Bytes::from(document)).expect("it is Parquet");
        let schema = reader.metadata().file_metadata().schema();
        text += &format!("{name} {}\n", schema.name());
        for field in schema.get_fields() {
            text += &format!("  {} {}", field.name(), field.get_physical_type());
            let logical = field.get_basic_info().logical_type_ref().is_some();
            text += if logical { " text\n" } else { "\n" };
        }
        let csv = cells_csv(&chosen);
        text += &format!("{name} csv\n  {}\n", csv.lines().next().expect("a header"));
    }
    compare("table-columns.txt", &text);
}

/// Whole lines of terse output: fio defines their fields by position.
#[test]
fn terse_lines() {
    let mut findings = common::empty(Personality::Fio);
    findings.entries.push(common::idle("golden"));
    let mut bytes = Vec::new();
    for version in [
        TerseVersion::V2,
        TerseVersion::V3,
        TerseVersion::V4,
        TerseVersion::V5,
    ] {
        terse(&findings, &Style::default(), version, &mut bytes).expect("memory takes it");
    }
    compare(
        "terse.txt",
        &String::from_utf8(bytes).expect("terse output is text"),
    );
}

/// Numbers and codes of all findings.
#[test]
fn finding_numbers() {
    let text: String = fathom_analyse::FINDINGS
        .iter()
        .map(|finding| format!("{} {}\n", finding.id, finding.code))
        .collect();
    compare("findings.txt", &text);
}
