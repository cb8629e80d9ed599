//! Stores of other versions, databases of other programs, and damaged stores.

use std::path::Path;

use fathom_store::{
    CellContent, DocumentError, Experiment, RunState, Store, StoreError, StoredCell, VERSION,
};
use fathom_testkit::Scratch;

/// A store of version 1 with two runs, one of them with a complete recording.
const VERSION_1: &[u8] = include_bytes!("../data/version-1.db");

#[test]
fn a_store_of_version_1_opens() {
    let scratch = Scratch::new().expect("a scratch directory");
    let path = scratch.join("old.db");
    std::fs::write(&path, VERSION_1).expect("it is written");
    let mut store = Store::open(&path).expect("it opens in every later version");
    let runs = store.runs().expect("readable");
    let names: Vec<(String, &str, RunState)> = runs
        .iter()
        .map(|run| (run.id.to_string(), run.experiment.name.as_str(), run.state))
        .collect();
    assert_eq!(
        names,
        [
            ("r1".into(), "first.fio", RunState::Finished),
            ("r3".into(), "größe", RunState::Stopped)
        ]
    );
    assert_eq!(
        runs[0].experiment.facts,
        [("kernel".to_owned(), "6.1.0".to_owned())]
    );
    // It has labels since version 2: the facts that are labels now.
    assert_eq!(runs[0].experiment.labels, runs[0].experiment.facts);
    let cells = store.cells(runs[0].id).expect("readable");
    assert_eq!(cells[0].axes, [("iodepth".to_owned(), "4".to_owned())]);
    assert_eq!(cells[0].figures, [("read iops".to_owned(), 95_012.5)]);
    let CellContent::Recording(recording) = store.content(runs[0].id, 1).expect("readable") else {
        panic!("no recording")
    };
    // Its job file has 64 reads of 4 KiB.
    let counts = &recording.jobs[0].directions.0[0].counts;
    assert_eq!(
        (counts.planned, counts.ok, counts.bytes_ok),
        (64, 64, 64 * 4096)
    );
    assert_eq!(recording.jobs[0].directions.0[0].clat.count(), 64);
    assert_eq!(recording.plan.jobs[0].name, "look");
    let new = store.begin(&Experiment::default()).expect("it takes more");
    assert_eq!(
        new.to_string(),
        "r4",
        "r2 was removed, and its name is not reused"
    );
}

/// Every released version has a fixture here. Upgraded, it has the tables of a new store: editing a
/// released step would leave the old tables behind.
#[test]
fn a_store_of_every_version_upgrades_to_the_tables_of_a_new_one() {
    let scratch = Scratch::new().expect("a scratch directory");
    let new = scratch.join("new.db");
    drop(Store::open(&new).expect("a new store"));
    for version in 1..=VERSION {
        let captured =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/version-{version}.db"));
        let path = scratch.join(format!("{version}.db"));
        std::fs::copy(&captured, &path)
            .unwrap_or_else(|error| panic!("{}: {error}", captured.display()));
        assert_eq!(
            query(&path, "SELECT CAST(version AS TEXT) FROM fathom"),
            [version.to_string()]
        );
        drop(Store::open(&path).expect("it opens in every later version"));
        let tables = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name";
        assert_eq!(
            query(&path, tables),
            query(&new, tables),
            "version {version}"
        );
        assert_eq!(
            query(&path, "SELECT CAST(version AS TEXT) FROM fathom"),
            [VERSION.to_string()]
        );
    }
}

#[test]
fn a_store_of_a_later_version_is_refused_and_unchanged() {
    let scratch = Scratch::new().expect("a scratch directory");
    let path = scratch.join("new.db");
    drop(Store::open(&path).expect("a new store"));
    execute(&path, "UPDATE fathom SET version = 99");
    let before = std::fs::read(&path).expect("it exists");
    for open in [Store::open, Store::open_existing] {
        let Err(error) = open(&path) else {
            panic!("it was opened")
        };
        let known = VERSION;
        assert!(
            matches!(&error, StoreError::Newer { store, found: 99, known: found_known }
                if *store == path.display().to_string() && *found_known == known),
            "{error:?}"
        );
        assert!(
            error
                .to_string()
                .contains("a later version of fathom (schema 99"),
            "{error}"
        );
    }
    assert!(std::fs::read(&path).expect("it exists") == before);
}

#[test]
fn a_database_of_another_program_is_unchanged() {
    let scratch = Scratch::new().expect("a scratch directory");
    let path = scratch.join("cookies.sqlite");
    execute(&path, "CREATE TABLE cookie (name TEXT)");
    let before = std::fs::read(&path).expect("it exists");
    assert!(matches!(
        Store::open(&path),
        Err(StoreError::Foreign { .. })
    ));
    assert!(std::fs::read(&path).expect("it exists") == before);
}

#[test]
fn a_damaged_store_is_reported_and_unchanged() {
    let scratch = Scratch::new().expect("a scratch directory");
    let path = scratch.join("store.db");
    // A file of another kind, then a damaged header; below a damaged page.
    let mut bad_header = VERSION_1.to_vec();
    bad_header[..64].fill(b'x');
    for bytes in [b"My dear diary".repeat(100), bad_header] {
        std::fs::write(&path, &bytes).expect("it is written");
        let Err(error) = Store::open(&path) else {
            panic!("it was opened")
        };
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains("store.db is damaged"), "{error}");
        assert!(std::fs::read(&path).expect("it exists") == bytes);
    }
    let mut bad_page = VERSION_1.to_vec();
    let middle = bad_page.len() / 2;
    bad_page[middle..].fill(b'x');
    std::fs::write(&path, &bad_page).expect("it is written");
    let error = Store::open(&path)
        .and_then(|mut store| store.check())
        .expect_err("it is damaged");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_damaged_recording_is_reported_and_the_rest_is_read() {
    let scratch = Scratch::new().expect("a scratch directory");
    let path = scratch.join("store.db");
    std::fs::write(&path, VERSION_1).expect("it is written");
    execute(
        &path,
        "UPDATE content SET body = CAST(substr(body, 1, 100) || x'00' || substr(body, 102) AS BLOB)",
    );
    let mut store = Store::open(&path).expect("a store");
    let run = store.run("r1").expect("it exists").id;
    match store.content(run, 1) {
        Err(StoreError::Recording { cell, source }) => assert!(
            cell == "r1.1" && source == DocumentError::Checksum,
            "{cell}: {source}"
        ),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.cells(run).expect("readable").len(), 1);
}

#[test]
fn a_store_is_opened_read_only() {
    let scratch = Scratch::new().expect("a scratch directory");
    let path = scratch.join("store.db");
    Store::open(&path)
        .and_then(|mut store| store.begin(&Experiment::default()))
        .expect("a new store");
    let before = std::fs::read(&path).expect("it exists");
    let mut store = Store::open_read_only(&path).expect("it is read");
    assert_eq!(store.runs().expect("readable").len(), 1);
    assert!(matches!(
        store.begin(&Experiment::default()),
        Err(StoreError::ReadOnly { .. })
    ));
    drop(store);
    assert!(std::fs::read(&path).expect("it exists") == before);
}

/// Runs a statement that the store itself never runs.
fn execute(path: &Path, statement: &'static str) {
    use sqlx::Connection;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    sqlx::any::install_default_drivers();
    runtime.block_on(async {
        let address = format!("sqlite://{}?mode=rwc", path.display());
        let mut connection = sqlx::AnyConnection::connect(&address)
            .await
            .expect("a database");
        sqlx::raw_sql(statement)
            .execute(&mut connection)
            .await
            .expect("the statement succeeds");
        connection.close().await.expect("it closes");
    });
}

/// The rows of a query, as text.
fn query(path: &Path, query: &'static str) -> Vec<String> {
    use sqlx::Connection;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    sqlx::any::install_default_drivers();
    runtime.block_on(async {
        let mut connection = sqlx::AnyConnection::connect(&format!("sqlite://{}", path.display()))
            .await
            .expect("a database");
        let rows = sqlx::query_scalar(query)
            .fetch_all(&mut connection)
            .await
            .expect("the query succeeds");
        connection.close().await.expect("it closes");
        rows
    })
}

/// Makes the fixture of this version.
#[test]
#[ignore = "each fixture was made once, with the code of its time"]
fn make_this_version() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/version-{VERSION}.db"));
    let from = std::env::var_os("FATHOM_RECORDING_FROM")
        .expect("a store with a recording as its first cell");
    let mut source = Store::open_existing(Path::new(&from)).expect("a store");
    let measured = source.run("r1").expect("a run").id;
    let recording = source.content(measured, 1).expect("readable");
    let mut store = Store::open(&path).expect("a new store");
    let experiment = |name: &str| Experiment {
        kind: "run".into(),
        name: name.into(),
        command: vec!["fathom".into(), "run".into(), name.into()],
        plan: "--name=look".into(),
        facts: vec![("kernel".into(), "6.1.0".into())],
        planned: 1,
        owner: "host boot 1 2".into(),
        created_unix_ns: 1_700_000_000_000_000_000,
        labels: vec![("project".into(), "apollo".into())],
    };
    let first = store
        .begin(&experiment("first.fio"))
        .expect("it is written");
    let cell = StoredCell {
        axes: vec![("iodepth".into(), "4".into())],
        figures: vec![("read iops".into(), 95_012.5)],
        ..StoredCell::default()
    };
    store
        .save_cell(first, &cell, &recording)
        .expect("it is written");
    store
        .finish(first, RunState::Finished, 1_700_000_001_000_000_000)
        .expect("it is written");
    let second = store.begin(&experiment("gone.fio")).expect("it is written");
    let third = store.begin(&experiment("größe")).expect("it is written");
    store
        .finish(third, RunState::Stopped, 1_700_000_002_000_000_000)
        .expect("it is written");
    store.remove(second).expect("it existed");
}
