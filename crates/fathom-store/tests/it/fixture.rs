//! A store with runs of every kind, compared metric by metric with the output from the time when it
//! was written.

use std::path::PathBuf;

use fathom_model::{Direction, Recording};
use fathom_store::{
    CellContent, CellState, Run, RunState, Store, StoredCell, read_recording, write_recording,
};
use fathom_testkit::Scratch;
use serde_json::Value;

/// Runs with verification, a rate, several jobs, a sweep, a quick check, an import, a replay,
/// trims, damaged data, and one whose process was killed.
const STORE: &[u8] = include_bytes!("../data/every-kind.db");

/// The output of `fathom export` and `fathom show --json` for it.
const EXPECTED: &str = include_str!("../data/every-kind.json");

struct Fixture {
    store: Store,
    path: PathBuf,
    _scratch: Scratch,
}

impl Fixture {
    fn open() -> Fixture {
        let scratch = Scratch::new().expect("a scratch directory");
        let path = scratch.join("store.db");
        std::fs::write(&path, STORE).expect("the fixture is copied");
        let store = Store::open(&path).expect("the store opens");
        Fixture {
            store,
            path,
            _scratch: scratch,
        }
    }
}

fn expected() -> Vec<Value> {
    let expected: Value = serde_json::from_str(EXPECTED).expect("the expectations are JSON");
    expected["runs"].as_array().expect("a list of runs").clone()
}

#[test]
fn every_run_cell_and_content_of_the_fixture_is_read() {
    let mut fixture = Fixture::open();
    let store = &mut fixture.store;
    let runs = store.runs().expect("the runs are readable");
    let expected = expected();
    assert_eq!(runs.len(), expected.len());
    for (run, expected) in runs.iter().zip(&expected) {
        compare_run(run, expected);
        let cells = store.cells(run.id).expect("the cells are readable");
        let expected_cells = array(&expected["cells"]);
        assert_eq!(cells.len(), expected_cells.len(), "{}", run.id);
        for (cell, expected) in cells.iter().zip(expected_cells) {
            let context = format!("{}.{}", run.id, cell.position);
            compare_cell(cell, expected, &context);
            let content = store
                .content(run.id, cell.position)
                .expect("the content is readable");
            match content {
                CellContent::Recording(recording) if cell.state == CellState::Finished => {
                    compare_recording(&recording, array(&expected["jobs"]), &context);
                }
                CellContent::Recording(recording) => assert_eq!(recording.plan.jobs.len(), 1),
                CellContent::Imported { format, bytes } => {
                    assert_eq!(run.experiment.kind, "import");
                    assert_eq!(format, "fathom import");
                    assert!(bytes.len() > 4096, "{context}: {} bytes", bytes.len());
                }
                CellContent::Nothing => panic!("{context} has no content"),
            }
        }
    }
}

/// A run whose process was killed: its intervals are in the journal.
#[test]
fn the_journal_of_the_killed_run_is_read() {
    let mut fixture = Fixture::open();
    let run = fixture.store.run("r10").expect("the run exists");
    assert_eq!(run.state, RunState::Running);
    let jobs = fixture
        .store
        .journal(run.id, 1)
        .expect("the journal is readable");
    assert_eq!(jobs.len(), 1);
    let ios: u64 = jobs[0]
        .iter()
        .map(|interval| interval.directions[Direction::Read].ios)
        .sum();
    // 100 reads per second over two and a half seconds.
    assert!((200..=300).contains(&ios), "{ios}");
    for interval in &jobs[0] {
        let direction = &interval.directions[Direction::Read];
        assert_eq!(direction.bytes, direction.ios * 4096);
    }
}

/// The bytes of the document format: a recording that is read and written again is unchanged.
///
/// Regression 1445: the time of flushes, which recordings of before do not have, was added to them when they were written again.
#[test]
fn a_recording_that_is_written_again_has_the_same_bytes() {
    let fixture = Fixture::open();
    let documents = documents(&fixture.path);
    assert_eq!(documents.len(), 12);
    for (position, document) in documents {
        let recording =
            read_recording(&document).unwrap_or_else(|error| panic!("{position}: {error}"));
        assert!(write_recording(&recording) == document, "{position}");
    }
}

/// Position and bytes of every recording.
fn documents(path: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    use sqlx::Connection;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    sqlx::any::install_default_drivers();
    runtime.block_on(async {
        let address = format!("sqlite://{}", path.display());
        let mut connection = sqlx::AnyConnection::connect(&address)
            .await
            .expect("the database opens");
        let rows: Vec<(i64, i64, Vec<u8>)> =
            sqlx::query_as("SELECT run, position, body FROM content WHERE format = 'fathom recording' ORDER BY run, position")
                .fetch_all(&mut connection)
                .await
                .expect("the table is readable");
        connection.close().await.expect("the database closes");
        rows.into_iter()
            .map(|(run, position, body)| (format!("r{run}.{position}"), body))
            .collect()
    })
}

fn compare_run(run: &Run, expected: &Value) {
    assert_eq!(run.id.to_string(), text(&expected["run"]));
    assert_eq!(run.experiment.kind, text(&expected["kind"]));
    assert_eq!(run.experiment.name, text(&expected["name"]));
    assert_eq!(run.state.name(), text(&expected["state"]));
}

fn compare_cell(cell: &StoredCell, expected: &Value, context: &str) {
    assert_eq!(Some(cell.position), expected["cell"].as_u64(), "{context}");
    assert_eq!(cell.state.name(), text(&expected["state"]), "{context}");
    assert_eq!(cell.verdict, text(&expected["verdict"]), "{context}");
    assert_eq!(
        Some(cell.elapsed_ns),
        expected["elapsed_ns"].as_u64(),
        "{context}"
    );
    let axes = expected["axes"].as_object().expect("an object");
    assert_eq!(cell.axes.len(), axes.len(), "{context}");
    for (name, value) in &cell.axes {
        assert_eq!(value, text(&axes[name]), "{context}");
    }
    let figures = expected["figures"].as_object().expect("an object");
    assert_eq!(cell.figures.len(), figures.len(), "{context}");
    for (name, value) in &cell.figures {
        let expected_value = figures[name].as_f64().expect("a number");
        assert!(
            close(*value, expected_value),
            "{context} {name}: {value} {expected_value}"
        );
    }
    let findings: Vec<String> = cell
        .findings
        .iter()
        .map(|finding| format!("{}: {}", finding.code, finding.evidence))
        .collect();
    assert_eq!(findings, texts(&expected["findings"]), "{context}");
}

fn compare_recording(recording: &Recording, expected: &[Value], context: &str) {
    assert_eq!(recording.jobs.len(), expected.len(), "{context}");
    let jobs = recording.plan.jobs.iter().zip(&recording.jobs);
    for ((plan, job), expected) in jobs.zip(expected) {
        assert_eq!(plan.name, text(&expected["name"]), "{context}");
        for (direction, key) in [
            (Direction::Read, "read"),
            (Direction::Write, "write"),
            (Direction::Trim, "trim"),
        ] {
            let (measured, expected) = (&job.directions[direction], &expected[key]);
            let context = format!("{context} {} {key}", plan.name);
            let counts = &measured.counts;
            assert_eq!(
                Some(counts.ok + counts.short),
                expected["ios"].as_u64(),
                "{context}"
            );
            assert_eq!(
                Some(counts.bytes_ok + counts.bytes_short),
                expected["bytes"].as_u64(),
                "{context}"
            );
            let clat = &measured.clat;
            if let (Some(min), Some(max)) = (clat.min(), clat.max()) {
                assert_eq!(Some(min.get()), expected["clat_min"].as_u64(), "{context}");
                assert_eq!(Some(max.get()), expected["clat_max"].as_u64(), "{context}");
                let mean = expected["clat_mean"].as_f64().expect("a number");
                assert!((clat.mean() - mean).abs() < 1e-5, "{context}");
            }
        }
        assert_eq!(
            Some(job.sync.count()),
            expected["sync"].as_u64(),
            "{context}"
        );
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= b.abs() * 1e-14
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn texts(value: &Value) -> Vec<&str> {
    array(value).iter().map(text).collect()
}
