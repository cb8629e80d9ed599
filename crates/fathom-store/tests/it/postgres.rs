//! Stores on a PostgreSQL server: the same results as in a file, copies, upgrades, roles, messages, TLS.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use fathom_model::{Interval, Nanos};
use fathom_store::{
    CellContent, CellState, Copied, Experiment, Journal, ListFilter, RunFilter, RunId, RunState,
    Store, StoreError, StoredCell, StoredFinding, VERSION, write_recording,
};
use fathom_testkit::{PG_PASSWORD, PgCluster, PgStop, Scratch, require};
use sqlx::{AnyConnection, AssertSqlSafe, Column, Connection, Row};

/// Runs of every kind, see `fixture.rs`.
const EVERY_KIND: &[u8] = include_bytes!("../data/every-kind.db");

/// Everything that the interface returns of a store.
fn everything(store: &mut Store) -> Vec<String> {
    let mut all = Vec::new();
    for run in store.runs().expect("readable") {
        all.push(format!("{run:?}"));
        for cell in store.cells(run.id).expect("readable") {
            let content = match store.content(run.id, cell.position).expect("readable") {
                CellContent::Recording(recording) => write_recording(&recording),
                CellContent::Imported { format, bytes } => [format.into_bytes(), bytes].concat(),
                CellContent::Nothing => Vec::new(),
            };
            let journal = store.journal(run.id, cell.position).expect("readable");
            all.push(format!("{cell:?} {content:?} {journal:?}"));
        }
    }
    all
}

/// Every row of every table of a database, as text.
fn rows(address: &str) -> BTreeMap<String, Vec<String>> {
    const TABLES: [(&str, usize); 8] = [
        ("fathom", 1),
        ("run", 1),
        ("label", 2),
        ("cell", 2),
        ("figure", 3),
        ("finding", 3),
        ("content", 2),
        ("part", 3),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    sqlx::any::install_default_drivers();
    runtime.block_on(async {
        let mut connection = AnyConnection::connect(address).await.expect("it opens");
        let mut all = BTreeMap::new();
        for (table, key) in TABLES {
            let order: Vec<String> = (1..=key).map(|column| column.to_string()).collect();
            let select = format!("SELECT * FROM {table} ORDER BY {}", order.join(", "));
            let rows = sqlx::query(AssertSqlSafe(select))
                .fetch_all(&mut connection)
                .await
                .expect("readable");
            let text = |row: &sqlx::any::AnyRow| {
                let values = row.columns().iter().map(|column| {
                    let at = column.ordinal();
                    let value = row
                        .try_get::<Option<i64>, _>(at)
                        .map(|value| format!("{value:?}"))
                        .or_else(|_| {
                            row.try_get::<Option<f64>, _>(at)
                                .map(|value| format!("{value:?}"))
                        })
                        .or_else(|_| {
                            row.try_get::<Option<String>, _>(at)
                                .map(|value| format!("{value:?}"))
                        })
                        .or_else(|_| {
                            row.try_get::<Option<Vec<u8>>, _>(at)
                                .map(|value| format!("{value:?}"))
                        });
                    format!("{}={}", column.name(), value.expect("a value"))
                });
                values.collect::<Vec<_>>().join(" ")
            };
            all.insert(table.to_owned(), rows.iter().map(text).collect());
        }
        connection.close().await.expect("it closes");
        all
    })
}

fn file_address(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

fn every_kind(scratch: &Scratch) -> PathBuf {
    let path = scratch.join("every-kind.db");
    std::fs::write(&path, EVERY_KIND).expect("the fixture is copied");
    path
}

fn open(address: &str) -> Store {
    Store::open(Path::new(address)).expect("the store opens")
}

fn message(result: Result<Store, StoreError>) -> String {
    match result {
        Ok(_) => panic!("the store opened"),
        Err(error) => error.to_string(),
    }
}

/// Writes with every function of the interface.
fn write_all(store: &mut Store) {
    let finding = |code: &str| StoredFinding {
        code: code.into(),
        weight: "note".into(),
        about: "a".into(),
        evidence: "größe \u{1f4be}".into(),
    };
    let run = store
        .begin(&Experiment {
            kind: "sweep".into(),
            name: "größe's \"x\"\n;--%_\\".into(),
            command: vec!["fathom".into(), "a b\n".into()],
            plan: "[a]\nrw=read\n".into(),
            facts: vec![("kernel".into(), "6.1".into())],
            planned: 3,
            owner: "host boot 1 2".into(),
            created_unix_ns: 1_700_000_000_123_456_789,
            labels: vec![("project".into(), "apollo".into())],
        })
        .expect("it is saved");
    let cell = |position: u64, figures: Vec<(String, f64)>| StoredCell {
        position,
        axes: vec![("bs".into(), "4k".into())],
        plan: "[a]".into(),
        state: CellState::Finished,
        started_unix_ns: 5,
        elapsed_ns: u64::MAX >> 1,
        verdict: "valid".into(),
        figures,
        findings: vec![finding("A"), finding("B")],
        notes: vec![String::new(), "größe".into()],
    };
    let figures = |values: &[f64]| -> Vec<(String, f64)> {
        let names = (0..).map(|n| format!("f{n}"));
        names.zip(values.iter().copied()).collect()
    };
    // Regression 0900: a missing figure gave its statement another type, so that the next number could not be saved.
    for (position, values) in [
        [f64::NAN, 1.0],
        [2.5, f64::NAN],
        [f64::MIN_POSITIVE, f64::INFINITY],
    ]
    .iter()
    .enumerate()
    {
        let cell = cell(position as u64 + 1, figures(values));
        let content = CellContent::Imported {
            format: "test".into(),
            bytes: (0..=255).collect(),
        };
        store.save_cell(run, &cell, &content).expect("it is saved");
    }
    let many: Vec<f64> = (0..1201).map(f64::from).collect();
    store
        .save_cells(run, [(cell(2, figures(&many)), CellContent::Nothing)])
        .expect("it is saved");
    let running = StoredCell {
        state: CellState::Running,
        ..cell(4, Vec::new())
    };
    store
        .save_cell(run, &running, &CellContent::Nothing)
        .expect("it is saved");
    let interval = |start| Interval {
        start: Nanos::new(start),
        ..Interval::default()
    };
    let mut journal = Journal::beside(store, run, 4).expect("it opens");
    journal
        .add(&[(0, vec![interval(0), interval(1)])])
        .expect("it is saved");
    journal
        .add(&[(2, vec![interval(0)]), (0, vec![interval(1)])])
        .expect("it is saved");
    store
        .set_facts(run, vec![("kernel".into(), "6.2".into())])
        .expect("it is saved");
    store
        .add_labels(
            run,
            &[
                ("project".into(), "other".into()),
                ("host".into(), "a".into()),
            ],
        )
        .expect("it is saved");
    store
        .set_labels(
            run,
            &[("ticket".into(), Some("1".into())), ("host".into(), None)],
        )
        .expect("it is saved");
    store.set_planned(run, 4).expect("it is saved");
    store
        .finish(run, RunState::Stopped, 9)
        .expect("it is saved");
    let removed = store.begin(&Experiment::default()).expect("it is saved");
    store.remove(removed).expect("it is there");
    let last = store.begin(&Experiment::default()).expect("it is saved");
    store.resume(last, "a b c d").expect("it is there");
    assert!(
        store
            .save_cell(removed, &cell(1, Vec::new()), &CellContent::Nothing)
            .is_err(),
        "a cell belongs to a run"
    );
    assert!(matches!(
        store.remove(removed),
        Err(StoreError::UnknownRun { .. })
    ));
}

/// The file is the known answer: its own tests read it back with the values that were written.
#[test]
fn a_server_stores_what_a_file_stores() {
    require!(Postgres);
    let cluster = PgCluster::shared();
    let scratch = Scratch::new().expect("a directory");
    let path = scratch.join("store.db");
    let mut file = Store::open(&path).expect("a new store");
    write_all(&mut file);
    let address = cluster.database("written");
    let mut server = open(&address);
    write_all(&mut server);
    let expected = everything(&mut file);
    assert_eq!(everything(&mut server), expected);
    assert!(expected[0].contains("apollo"), "{}", expected[0]);
    drop((file, server));
    assert_eq!(rows(&address), rows(&file_address(&path)));
    // The next process reads the same.
    let mut again = Store::open_existing(Path::new(&address)).expect("it exists");
    assert_eq!(everything(&mut again), expected);
    let latest = again.run("latest").expect("a run");
    assert_eq!((latest.id.get(), latest.state), (3, RunState::Running));
    assert_eq!(again.unfinished().expect("readable").len(), 2);
}

#[test]
fn copies_in_both_directions_are_exact() {
    require!(Postgres);
    let cluster = PgCluster::shared();
    let scratch = Scratch::new().expect("a directory");
    let path = every_kind(&scratch);
    let mut file = Store::open(&path).expect("the fixture opens");
    let address = cluster.database("copied");
    let mut server = open(&address);
    let copied = file.copy_to(&mut server, false).expect("it is copied");
    assert_eq!(copied.runs, file.runs().expect("readable").len() as u64);
    assert_eq!(copied.renumbered_by, 0);
    assert_eq!(everything(&mut server), everything(&mut file));
    let lists = |store: &mut Store| {
        let list = store.list(&ListFilter::default()).expect("a list");
        (list, store.recent_names(500).expect("names"))
    };
    assert_eq!(lists(&mut server), lists(&mut file));
    let original = rows(&file_address(&path));
    assert_eq!(rows(&address), original);
    let count: usize = original
        .iter()
        .filter(|(table, _)| *table != "fathom")
        .map(|(_, rows)| rows.len())
        .sum();
    assert_eq!(copied.rows, count as u64);
    for (table, rows) in &original {
        assert!(!rows.is_empty(), "{table}: nothing was compared");
    }
    let back = scratch.join("back.db");
    let mut returned = Store::open(&back).expect("a new store");
    server.copy_to(&mut returned, false).expect("it is copied");
    drop(returned);
    assert_eq!(rows(&file_address(&back)), original);

    // A store with runs is left as it is, or gets new runs after its own.
    let refused = file
        .copy_to(&mut server, false)
        .expect_err("it has runs")
        .to_string();
    assert!(
        refused.contains("has runs already and was left unchanged") && refused.contains("--append"),
        "{refused}"
    );
    assert_eq!(rows(&address), original);
    let next = server
        .begin(&Experiment::default())
        .expect("it is saved")
        .get();
    let runs = server.runs().expect("readable").len();
    let Copied { renumbered_by, .. } = file.copy_to(&mut server, true).expect("it is copied");
    assert_eq!(renumbered_by, next);
    let all = server.runs().expect("readable");
    assert_eq!(all.len(), 2 * runs - 1);
    for (first, second) in file.runs().expect("readable").iter().zip(&all[runs..]) {
        assert_eq!(second.id.get(), first.id.get() + renumbered_by);
        assert_eq!(second.experiment, first.experiment);
        assert_eq!(
            server.cells(second.id).expect("readable"),
            file.cells(first.id).expect("readable")
        );
    }
}

/// A row that the server refuses must not leave the rows before it behind. A text of PostgreSQL has no NUL.
#[test]
fn a_failed_copy_copies_nothing() {
    require!(Postgres);
    let cluster = PgCluster::shared();
    let scratch = Scratch::new().expect("a directory");
    let mut file = Store::open(&scratch.join("store.db")).expect("a new store");
    for name in ["first", "sec\0nd"] {
        let name = name.to_owned();
        file.begin(&Experiment {
            name,
            ..Experiment::default()
        })
        .expect("it is saved");
    }
    let address = cluster.database("failed");
    let mut server = open(&address);
    let error = file
        .copy_to(&mut server, false)
        .expect_err("it cannot be stored")
        .to_string();
    assert!(error.contains("cannot store this character"), "{error}");
    assert_eq!(error.lines().count(), 1);
    assert!(server.runs().expect("readable").is_empty());
    assert_eq!(
        server
            .begin(&Experiment::default())
            .expect("it is saved")
            .get(),
        1
    );
}

/// Version 1 with its only step, as an earlier fathom would have made it.
#[test]
fn a_store_of_version_1_on_a_server_is_upgraded_without_losing_a_row() {
    require!(Postgres);
    let cluster = PgCluster::shared();
    let address = cluster.database("version_one");
    let tables = include_str!("../../src/schema/1.sql").replace("BYTES", "BYTEA");
    let runs = "INSERT INTO run VALUES (1, 'run', 'a', '[]', '', '{\"host\":\"h1\",\"cpus\":\"2\",\"kernel\":\"6.1\"}', 1, '', 'finished', 7, 9);
        INSERT INTO cell VALUES (1, 1, '{}', '', 'finished', 1, 2, 'valid', '[]');
        INSERT INTO figure VALUES (1, 1, 0, 'iops', 5.5);
        INSERT INTO content VALUES (1, 1, 'x', '\\x0001ff');
        UPDATE fathom SET version = 1, next_run = 5";
    cluster.sql("version_one", &tables).expect("tables");
    cluster.sql("version_one", runs).expect("rows");
    let mut store = open(&address);
    let run = store.run("r1").expect("the run exists");
    let labels = [
        ("host".to_owned(), "h1".to_owned()),
        ("kernel".to_owned(), "6.1".to_owned()),
    ];
    assert_eq!(run.experiment.labels, labels);
    assert_eq!((run.finished, run.ended_unix_ns), (1, Some(9)));
    let cells = store.cells(run.id).expect("readable");
    assert_eq!(cells[0].figures, [("iops".to_owned(), 5.5)]);
    let CellContent::Imported { bytes, .. } = store.content(run.id, 1).expect("readable") else {
        panic!("no content")
    };
    assert_eq!(bytes, [0, 1, 255]);
    assert_eq!(
        store
            .begin(&Experiment::default())
            .expect("it is saved")
            .get(),
        5
    );
    let version = cluster
        .sql("version_one", "SELECT version FROM fathom")
        .expect("a version");
    assert_eq!(version, VERSION.to_string());
}

#[test]
fn other_databases_and_later_versions_are_left_unchanged() {
    require!(Postgres);
    let cluster = PgCluster::shared();
    let address = cluster.database("foreign_tables");
    let missing = message(Store::open_existing(Path::new(&address)));
    assert!(
        missing.starts_with("no store at postgres:///foreign_tables"),
        "{missing}"
    );
    cluster
        .sql("foreign_tables", "CREATE TABLE cookie (name TEXT)")
        .expect("a table");
    let foreign = message(Store::open(Path::new(&address)));
    assert!(
        foreign.contains("a database of another program"),
        "{foreign}"
    );
    let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(cluster.sql("foreign_tables", tables).expect("a count"), "1");
    // In a schema of its own the store lies beside other tables.
    cluster
        .sql("foreign_tables", "CREATE SCHEMA fathom")
        .expect("a schema");
    let beside = format!("{address}&options=-csearch_path%3Dfathom");
    assert_eq!(
        open(&beside)
            .begin(&Experiment::default())
            .expect("it is saved")
            .get(),
        1
    );
    assert_eq!(cluster.sql("foreign_tables", tables).expect("a count"), "1");

    let address = cluster.database("later");
    drop(open(&address));
    cluster
        .sql("later", "UPDATE fathom SET version = 99")
        .expect("a version");
    let newer = message(Store::open(Path::new(&address)));
    assert!(
        newer.contains("a later version of fathom (schema 99"),
        "{newer}"
    );
}

/// The statements of the documentation, carried out.
#[test]
fn roles_of_the_documentation_may_do_what_they_say() {
    require!(Postgres);
    let cluster = PgCluster::shared();
    let address = cluster.database("team");
    let page = include_str!("../../../../docs/reference/store.md");
    let sql = page
        .split("```sql\n")
        .filter_map(|rest| rest.split("```").next())
        .find(|statements| statements.contains("CREATE ROLE"))
        .expect("statements");
    cluster.sql("team", sql).expect("roles");
    // Readers and writers are members of the roles.
    cluster
        .sql("team", "CREATE ROLE wim LOGIN IN ROLE fathom_writer; CREATE ROLE rita LOGIN IN ROLE fathom_reader; CREATE ROLE nobody_special LOGIN")
        .expect("users");
    let of = |user: &str| address.replace("user=owner", &format!("user={user}"));
    let early = message(Store::open(Path::new(&of("wim"))));
    assert!(
        early.contains("permission denied") && early.contains("docs/reference/store.md"),
        "{early}"
    );
    assert_eq!(early.lines().count(), 1);
    let mut owner = open(&of("fathom_owner"));
    let run = owner.begin(&Experiment::default()).expect("it is saved");
    let mut writer = open(&of("wim"));
    assert_eq!(
        writer
            .begin(&Experiment::default())
            .expect("it is saved")
            .get(),
        2
    );
    writer
        .set_labels(run, &[("a".into(), Some("b".into()))])
        .expect("it is saved");
    writer.remove(run).expect("it is there");
    let mut reader = Store::open_existing(Path::new(&of("rita"))).expect("it may read");
    assert_eq!(reader.runs().expect("readable").len(), 1);
    for refused in [
        reader.begin(&Experiment::default()).map(drop),
        reader.remove(RunId::new(2)),
        reader.set_labels(RunId::new(2), &[("a".into(), Some("b".into()))]),
    ] {
        let refused = refused.expect_err("a reader writes nothing").to_string();
        assert!(refused.contains("permission denied"), "{refused}");
    }
    let stranger = message(Store::open_existing(Path::new(&of("nobody_special"))));
    assert!(stranger.contains("permission denied"), "{stranger}");
    let dropped = cluster.sql("team", "SET ROLE fathom_writer; DROP TABLE run CASCADE");
    assert!(dropped.is_err(), "a writer drops no table");
    // The next version is made by the owner; until then a reader reads.
    cluster
        .sql("team", "DROP TABLE label; UPDATE fathom SET version = 1")
        .expect("version 1 again");
    let mut reader = Store::open_existing(Path::new(&of("rita"))).expect("it may read");
    assert_eq!(reader.runs().expect("readable").len(), 1);
    drop(open(&of("fathom_owner")));
    let mut writer = open(&of("wim"));
    writer
        .set_labels(RunId::new(2), &[("a".into(), Some("b".into()))])
        .expect("it is saved");
}

#[test]
fn a_refused_connection_says_what_to_do_and_never_the_password() {
    require!(Postgres);
    let cluster = PgCluster::shared();
    let port = cluster.port();
    let socket = cluster.folder().display().to_string();
    let unused = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|one| one.local_addr())
        .expect("a port")
        .port();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let not_a_server = silent.local_addr().expect("a port").port();
    std::thread::spawn(move || {
        for connection in silent.incoming().flatten() {
            let _ =
                std::io::Write::write_all(&mut &connection, b"HTTP/1.0 400 Bad Request\r\n\r\n");
        }
    });
    for (address, expected) in [
        (
            format!("postgres://owner:s3cret@127.0.0.1:{port}/postgres"),
            "password authentication failed for user \"owner\": check the user and the password in ~/.pgpass",
        ),
        (
            format!("postgres:///nothing?host={socket}&port={port}&user=owner&password=s3cret"),
            "database \"nothing\" does not exist: check the name, or let an administrator create it",
        ),
        (
            format!("postgres://ghost:s3cret@127.0.0.1:{port}/postgres"),
            "password authentication failed",
        ),
        (
            format!("postgres:///postgres?host={socket}&port={port}&user=ghost"),
            "role \"ghost\" does not exist: check the user",
        ),
        (
            format!("postgres://owner:s3cret@127.0.0.1:{port}/postgres?sslmode=require"),
            "server does not support TLS): set `ssl = on` there, or choose sslmode=disable",
        ),
        (
            format!("postgres://owner:s3cret@127.0.0.1:{unused}/postgres"),
            "Connection refused",
        ),
        (
            format!("postgres://owner:s3cret@127.0.0.1:{not_a_server}/postgres"),
            "not a PostgreSQL server",
        ),
        (
            format!("postgres://owner:s3cret@127.0.0.1:{port}/postgres?sslmod=require"),
            "unknown parameter 'sslmod'",
        ),
        (
            format!("postgres://owner:s3cret@127.0.0.1:{port}/postgres?sslmode=maybe"),
            "invalid address",
        ),
        (
            "postgres://owner:s3cret@127.0.0.1:x/postgres".to_owned(),
            "invalid address",
        ),
        (
            format!(
                "postgres://owner:s3cret@127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert=/nothing"
            ),
            "TLS",
        ),
    ] {
        for open in [Store::open, Store::open_existing, Store::open_read_only] {
            let shown = message(open(Path::new(&address)));
            assert!(shown.contains(expected), "{address}: {shown}");
            assert!(!shown.contains("s3cret"), "{shown}");
            assert_eq!(shown.lines().count(), 1, "{shown}");
        }
    }
    let encoded = "p%40ss%2Fw%3Frd%231";
    assert_eq!(PG_PASSWORD, "p@ss/w?rd#1");
    let address = format!("postgres://owner:{encoded}@127.0.0.1:{port}/postgres");
    // The right password: only the store is missing.
    let missing = message(Store::open_existing(Path::new(&address)));
    assert!(
        missing.contains("no store at") && !missing.contains(encoded),
        "{missing}"
    );
}

#[test]
fn runs_are_found_by_text_and_label() {
    require!(Postgres);
    let cluster = PgCluster::shared();
    let scratch = Scratch::new().expect("a directory");
    for address in [
        cluster.database("searched"),
        scratch.join("store.db").display().to_string(),
    ] {
        let mut store = open(&address);
        for n in 1..=120_u64 {
            let label = |name: &str, value: String| (name.to_owned(), value);
            store
                .begin(&Experiment {
                    kind: if n % 2 == 0 {
                        "sweep".into()
                    } else {
                        "run".into()
                    },
                    name: format!("Job_{n}% größe"),
                    facts: vec![("device".into(), format!("Disk \"{}\"", n % 3))],
                    labels: vec![
                        label(
                            "project",
                            if n % 10 == 0 {
                                "apollo".into()
                            } else {
                                "Apollo".into()
                            },
                        ),
                        label("ticket", n.to_string()),
                    ],
                    ..Experiment::default()
                })
                .expect("it is saved");
        }
        let mut find = |texts: &[&str],
                        labels: &[(&str, &str)],
                        newest: Option<u64>,
                        before: Option<u64>|
         -> Vec<u64> {
            let filter = RunFilter {
                texts: texts.iter().map(|text| (*text).to_owned()).collect(),
                labels: labels
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                newest,
                before: before.map(RunId::new),
            };
            let runs = store.find_runs(&filter, |_| true).expect("readable");
            runs.iter().map(|run| run.id.get()).collect()
        };
        assert_eq!(find(&[], &[], None, None), (1..=120).collect::<Vec<_>>());
        assert_eq!(find(&[], &[], Some(2), None), [119, 120]);
        assert_eq!(find(&[], &[], Some(2), Some(119)), [117, 118]);
        assert_eq!(
            find(&[], &[("project", "apollo")], Some(3), None),
            [100, 110, 120]
        );
        assert_eq!(
            find(&[], &[("project", "apollo"), ("ticket", "50")], None, None),
            [50]
        );
        assert_eq!(
            find(&[], &[("ticket", "' OR 1=1 --")], None, None),
            [0_u64; 0]
        );
        // Text is compared in any case; _ and % stand for themselves; quotes are found, though a column has them escaped.
        assert_eq!(find(&["job_7%"], &[], None, None), [7]);
        assert_eq!(find(&["JOB_1", "sweep"], &[], Some(2), None), [118, 120]);
        assert_eq!(find(&["jobx7"], &[], None, None), [0_u64; 0]);
        assert_eq!(find(&["GRÖSSE"], &[], None, None), [0_u64; 0]);
        assert_eq!(find(&["GRÖßE", "_12"], &[], None, None), [12, 120]);
        assert_eq!(find(&["disk \"2\""], &[], Some(1), None), [119]);
        assert_eq!(find(&["running"], &[("ticket", "3")], None, None), [3]);
        // The name of a fact is not its value.
        assert_eq!(find(&["device"], &[], None, None), [0_u64; 0]);
    }
}

/// A server with a certificate for 127.0.0.1 of an authority of its own, which refuses connections without TLS.
fn cluster_with_tls() -> PgCluster {
    let cluster = PgCluster::start().expect("PostgreSQL starts");
    let openssl = |arguments: &str| {
        let done = Command::new("openssl")
            .args(arguments.split(' '))
            .current_dir(cluster.folder().join("data"))
            .output()
            .expect("openssl, which PostgreSQL's packages need");
        assert!(
            done.status.success(),
            "{arguments}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!(
        "req -x509 {key} -keyout ca.key -out ca.crt -days 2 -subj /CN=authority"
    ));
    openssl(&format!(
        "req -new {key} -keyout server.key -out server.csr -subj /CN=db -addext subjectAltName=IP:127.0.0.1"
    ));
    openssl(
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -copy_extensions copy -out server.crt",
    );
    let data = cluster.folder().join("data");
    for name in ["server.key", "server.crt"] {
        std::fs::set_permissions(data.join(name), PermissionsExt::from_mode(0o600)).expect("ours");
        let owner = std::fs::metadata(&data).expect("a directory").uid();
        std::os::unix::fs::chown(data.join(name), Some(owner), None).expect("an owner");
    }
    let access = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
    std::fs::write(data.join("pg_hba.conf"), access).expect("a file");
    cluster
        .sql("postgres", "ALTER SYSTEM SET ssl = on")
        .expect("it may");
    cluster.stop(PgStop::Fast).expect("it stops");
    cluster.resume().expect("it starts again");
    cluster
}

#[test]
fn connections_are_encrypted_and_certificates_checked() {
    require!(Postgres);
    let cluster = cluster_with_tls();
    drop(cluster.database("secret"));
    let authority = cluster.folder().join("data/ca.crt");
    std::fs::set_permissions(&authority, PermissionsExt::from_mode(0o644)).expect("ours");
    let authority = format!("&sslrootcert={}", authority.display());
    let address = |host: &str, parameters: &str| {
        format!(
            "postgres://owner:p%40ss%2Fw%3Frd%231@{host}:{}/secret?sslmode={parameters}",
            cluster.port()
        )
    };
    for parameters in [
        "prefer".to_owned(),
        "require".to_owned(),
        format!("verify-ca{authority}"),
        format!("verify-full{authority}"),
    ] {
        let mut store = open(&address("127.0.0.1", &parameters));
        store.begin(&Experiment::default()).expect("it is saved");
        let encrypted = cluster
            .sql("secret", "SELECT COUNT(*), BOOL_AND(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'fathom'")
            .expect("statistics");
        assert_eq!(encrypted, "1|t", "{parameters}");
    }
    // The certificate is for the address, not for the name.
    drop(open(&address(
        "localhost",
        &format!("verify-ca{authority}"),
    )));
    for (host, parameters, expected) in [
        ("127.0.0.1", "verify-full", "sslrootcert=FILE"),
        ("127.0.0.1", "verify-ca", "sslrootcert=FILE"),
        (
            "localhost",
            &*format!("verify-full{authority}"),
            "the name in its certificate as the host",
        ),
        ("127.0.0.1", "disable", "pg_hba.conf"),
    ] {
        let shown = message(Store::open(Path::new(&address(host, parameters))));
        assert!(shown.contains(expected), "{host} {parameters}: {shown}");
        assert!(
            !shown.contains("p%40ss") && shown.lines().count() == 1,
            "{shown}"
        );
    }
}
