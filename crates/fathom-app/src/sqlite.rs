//! SQLite in this process.
#[cfg(feature = "sqlite")]
pub(crate) use self::engine::{prepare, run};
#[cfg(not(feature = "sqlite"))]
pub(crate) use self::unavailable::{prepare, run};

#[cfg(not(feature = "sqlite"))]
mod unavailable {
    use std::path::Path;

    use crate::{AppError, AppSpec, Measured, Probe};

    fn missing<T>() -> Result<T, AppError> {
        Err(AppError::Missing(
            "this fathom was built without SQLite: build it with the default features".to_owned(),
        ))
    }

    pub(crate) fn prepare(_: &AppSpec, _: &Path, _: &dyn Probe) -> Result<(), AppError> {
        missing()
    }

    pub(crate) fn run(_: &AppSpec, _: &Path, _: &dyn Probe) -> Result<Measured, AppError> {
        missing()
    }
}

#[cfg(feature = "sqlite")]
mod engine {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use sqlx::sqlite::{
        SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous,
    };
    use sqlx::{ConnectOptions, Connection};
    use tokio::runtime::Runtime;

    use crate::activity::{sample, threads};
    use crate::measured::{Recorder, Window};
    use crate::random::Random;
    use crate::spec::{ACCOUNTS, Journal, TELLERS};
    use crate::{AppError, AppSpec, Measured, Probe, Transaction};

    const ENGINE: &str = "SQLite";
    const FILE: &str = "database.sqlite";
    /// A client waits this long for the lock of another one.
    const BUSY: Duration = Duration::from_secs(30);
    /// Start of the names of the threads that execute statements.
    const THREADS: &str = "client-";
    /// Longest time between two looks at the end of the run.
    const POLL: Duration = Duration::from_millis(20);

    /// Each as one call: the statements are prepared once and run without returning to the client.
    const TPCB_LIKE: &str = "BEGIN IMMEDIATE;
UPDATE accounts SET abalance = abalance + ?1 WHERE aid = ?2;
SELECT abalance FROM accounts WHERE aid = ?2;
UPDATE tellers SET tbalance = tbalance + ?1 WHERE tid = ?3;
UPDATE branches SET bbalance = bbalance + ?1 WHERE bid = ?4;
INSERT INTO history (tid, bid, aid, delta, mtime) VALUES (?3, ?4, ?2, ?1, CURRENT_TIMESTAMP);
COMMIT";
    const SIMPLE_UPDATE: &str = "BEGIN IMMEDIATE;
UPDATE accounts SET abalance = abalance + ?1 WHERE aid = ?2;
SELECT abalance FROM accounts WHERE aid = ?2;
INSERT INTO history (tid, bid, aid, delta, mtime) VALUES (?3, ?4, ?2, ?1, CURRENT_TIMESTAMP);
COMMIT";
    const SELECT_ONLY: &str = "SELECT abalance FROM accounts WHERE aid = ?2";

    const SCHEMA: &str = "CREATE TABLE branches (bid INTEGER PRIMARY KEY, bbalance INTEGER, filler TEXT);
CREATE TABLE tellers (tid INTEGER PRIMARY KEY, bid INTEGER, tbalance INTEGER, filler TEXT);
CREATE TABLE accounts (aid INTEGER PRIMARY KEY, bid INTEGER, abalance INTEGER, filler TEXT);
CREATE TABLE history (tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER, mtime TEXT, filler TEXT)";
    /// One unit of the scale: ?1 is its number, from 0. The sizes of the rows are those of pgbench.
    const FILL: &str = "BEGIN;
INSERT INTO branches VALUES (?1 + 1, 0, printf('%88s', ''));
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
INSERT INTO tellers SELECT ?1 * 10 + i, ?1 + 1, 0, printf('%84s', '') FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO accounts SELECT ?1 * 100000 + i, ?1 + 1, 0, printf('%84s', '') FROM n;
COMMIT";

    /// A connection with the runtime that drives it.
    struct Client {
        runtime: Runtime,
        connection: SqliteConnection,
        file: PathBuf,
    }

    impl Client {
        fn open(spec: &AppSpec, folder: &Path) -> Result<Client, AppError> {
            let file = folder.join(FILE);
            let (mode, synchronous) = match spec.journal {
                Journal::WalFull => (SqliteJournalMode::Wal, SqliteSynchronous::Full),
                Journal::WalNormal => (SqliteJournalMode::Wal, SqliteSynchronous::Normal),
                Journal::Rollback => (SqliteJournalMode::Delete, SqliteSynchronous::Full),
            };
            let mut options = SqliteConnectOptions::new()
                .filename(&file)
                .create_if_missing(true)
                .journal_mode(mode)
                .synchronous(synchronous)
                .busy_timeout(BUSY)
                .disable_statement_logging()
                .thread_name(|number| format!("{THREADS}{number}"));
            if let Some(cache) = spec.cache {
                // Negative: in KiB.
                options = options.pragma("cache_size", format!("-{}", (cache >> 10).max(1)));
            }
            for (name, value) in &spec.settings {
                options = options.pragma(name.clone(), value.clone());
            }
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| AppError::file(&file, "cannot be opened", error))?;
            let connection = runtime
                .block_on(options.connect())
                .map_err(|error| failed(error, &file))?;
            Ok(Client {
                runtime,
                connection,
                file,
            })
        }

        /// Runs statements with numbered arguments.
        fn execute(&mut self, statements: &'static str, arguments: &[i64]) -> Result<(), AppError> {
            let mut query = sqlx::query(statements);
            for argument in arguments {
                query = query.bind(*argument);
            }
            self.runtime
                .block_on(query.execute(&mut self.connection))
                .map(drop)
                .map_err(|error| failed(error, &self.file))
        }

        fn number(&mut self, statement: &'static str) -> Result<i64, AppError> {
            self.runtime
                .block_on(sqlx::query_scalar(statement).fetch_one(&mut self.connection))
                .map_err(|error| failed(error, &self.file))
        }

        fn text(&mut self, statement: &'static str) -> Result<String, AppError> {
            self.runtime
                .block_on(sqlx::query_scalar(statement).fetch_one(&mut self.connection))
                .map_err(|error| failed(error, &self.file))
        }

        fn close(self) -> Result<(), AppError> {
            let file = self.file;
            self.runtime
                .block_on(self.connection.close())
                .map_err(|error| failed(error, &file))
        }
    }

    /// SQLITE_FULL is 13.
    fn failed(error: sqlx::Error, file: &Path) -> AppError {
        let code = error
            .as_database_error()
            .and_then(|error| error.code().map(|code| code.into_owned()));
        if code.as_deref() == Some("13") {
            return AppError::Full(file.to_owned());
        }
        AppError::Statement {
            engine: ENGINE,
            message: error.to_string(),
        }
    }

    pub(crate) fn prepare(
        spec: &AppSpec,
        folder: &Path,
        probe: &dyn Probe,
    ) -> Result<(), AppError> {
        if let Transaction::Script(_) = spec.transaction {
            return Err(AppError::Request(
                "--script is a script of pgbench: run it with the engine postgres".to_owned(),
            ));
        }
        // Not the write-ahead log: its index is mapped into memory, and on a full disk that ends the process (SIGBUS).
        let mut client = Client::open(
            &AppSpec {
                journal: Journal::Rollback,
                cache: Some(64 << 20),
                ..spec.clone()
            },
            folder,
        )?;
        client.execute(SCHEMA, &[])?;
        for unit in 0..spec.scale {
            if probe.stop() {
                return Err(AppError::Interrupted);
            }
            client.execute(FILL, &[i64::from(unit)])?;
        }
        client.close()?;
        crate::memory::sync_folder(folder)
    }

    /// What all clients share.
    struct Shared<'a> {
        spec: &'a AppSpec,
        start: Instant,
        length: Duration,
        over: &'a AtomicBool,
    }

    pub(crate) fn run(
        spec: &AppSpec,
        folder: &Path,
        probe: &dyn Probe,
    ) -> Result<Measured, AppError> {
        let mut clients = (0..spec.clients.max(1))
            .map(|_| Client::open(spec, folder))
            .collect::<Result<Vec<Client>, AppError>>()?;
        let version = clients[0].text("SELECT sqlite_version()")?;
        let warmup = Duration::from_nanos(spec.warmup_ns);
        if !warmup.is_zero() {
            run_all(spec, &mut clients, warmup, probe, 1)?;
        }
        let own = std::process::id();
        let before = Window::begin(probe, own);
        let started_unix_ns = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |now| now.as_nanos() as u64);
        let start = Instant::now();
        let all = run_all(
            spec,
            &mut clients,
            Duration::from_nanos(spec.runtime_ns),
            probe,
            2,
        )?;
        let after = Window::end(probe, own);
        let mut measured = Measured {
            started_unix_ns,
            elapsed_ns: start.elapsed().as_nanos() as u64,
            interrupted: probe.stop(),
            version,
            activity: all.activity,
            error: all.error,
            ..Measured::default()
        };
        before.add_to(&after, &mut measured);
        measured.add_records(all.records);
        measured.data_bytes = crate::memory::size_of_folder(folder);
        if measured.error.is_none() {
            check(&mut clients[0], &mut measured)?;
        }
        for client in clients {
            let _ = client.close();
        }
        Ok(measured)
    }

    /// The balances of all tables must agree, as TPC-B demands.
    fn check(client: &mut Client, measured: &mut Measured) -> Result<(), AppError> {
        let history = client.number("SELECT COALESCE(SUM(delta), 0) FROM history")?;
        let branches = client.number("SELECT COALESCE(SUM(bbalance), 0) FROM branches")?;
        let tellers = client.number("SELECT COALESCE(SUM(tbalance), 0) FROM tellers")?;
        let rows = client.number("SELECT COUNT(*) FROM history")?;
        measured
            .counters
            .insert("history_rows".to_owned(), rows as f64);
        // simple-update leaves tellers and branches as they are.
        if branches != tellers || (branches != 0 && branches != history) {
            measured.error = Some(format!(
                "the balances differ: branches {branches}, tellers {tellers}, history {history}"
            ));
        }
        Ok(())
    }

    struct All {
        records: Vec<Recorder>,
        activity: crate::Activity,
        error: Option<String>,
    }

    /// All clients for this time.
    fn run_all(
        spec: &AppSpec,
        clients: &mut [Client],
        length: Duration,
        probe: &dyn Probe,
        seed: u64,
    ) -> Result<All, AppError> {
        let over = AtomicBool::new(false);
        let sampled = AtomicBool::new(false);
        let shared = Shared {
            spec,
            start: Instant::now(),
            length,
            over: &over,
        };
        std::thread::scope(|scope| {
            let own = std::process::id();
            let stop_sampling = &sampled;
            let sampler = scope.spawn(move || sample(&|| threads(own, THREADS), stop_sampling));
            let running: Vec<_> = clients
                .iter_mut()
                .enumerate()
                .map(|(number, client)| {
                    let shared = &shared;
                    let random = Random::new(seed << 32 | number as u64);
                    scope.spawn(move || one_client(client, shared, random))
                })
                .collect();
            while !running
                .iter()
                .all(std::thread::ScopedJoinHandle::is_finished)
            {
                if probe.stop() {
                    over.store(true, Ordering::Release);
                }
                std::thread::sleep(POLL);
            }
            sampled.store(true, Ordering::Release);
            let mut all = All {
                records: Vec::new(),
                activity: sampler.join().unwrap_or_default(),
                error: None,
            };
            for thread in running {
                let Ok((record, error)) = thread.join() else {
                    return Err(AppError::Statement {
                        engine: ENGINE,
                        message: "a client ended without a result".to_owned(),
                    });
                };
                all.records.push(record);
                all.error = all.error.or(error);
            }
            Ok(all)
        })
    }

    /// One client after another transaction; the second value is the error that ended all of them.
    fn one_client(
        client: &mut Client,
        shared: &Shared<'_>,
        mut random: Random,
    ) -> (Recorder, Option<String>) {
        let spec = shared.spec;
        let mut record = Recorder::new(shared.length.as_nanos() as u64, spec.latency_limit_ns);
        let mean = spec.rate.map(|rate| f64::from(spec.clients.max(1)) / rate);
        let mut due = Duration::ZERO;
        while !shared.over.load(Ordering::Acquire) {
            let mut from = shared.start.elapsed();
            let mut lag = None;
            if let Some(mean) = mean {
                due += Duration::from_secs_f64(random.exponential(mean));
                if due >= shared.length {
                    break;
                }
                wait(shared, due);
                let now = shared.start.elapsed();
                let late = now.saturating_sub(due).as_nanos() as u64;
                if spec.latency_limit_ns.is_some_and(|limit| late > limit) {
                    record.skipped += 1;
                    continue;
                }
                (from, lag) = (due, Some(late));
            }
            if shared.start.elapsed() >= shared.length {
                break;
            }
            match transaction(client, spec, &mut random) {
                Ok(()) => {
                    let at = shared.start.elapsed();
                    let latency = at.saturating_sub(from).as_nanos() as u64;
                    record.record(at.as_nanos() as u64, latency, lag);
                }
                Err(error) => {
                    record.failed += 1;
                    let _ = client.execute("ROLLBACK", &[]);
                    shared.over.store(true, Ordering::Release);
                    return (record, Some(error.to_string()));
                }
            }
        }
        (record, None)
    }

    /// Waits until a transaction is due, or the run is over.
    fn wait(shared: &Shared<'_>, due: Duration) {
        loop {
            let left = due.saturating_sub(shared.start.elapsed());
            if left.is_zero() || shared.over.load(Ordering::Acquire) {
                return;
            }
            std::thread::sleep(left.min(POLL));
        }
    }

    fn transaction(
        client: &mut Client,
        spec: &AppSpec,
        random: &mut Random,
    ) -> Result<(), AppError> {
        let scale = i64::from(spec.scale.max(1));
        let statements = match spec.transaction {
            Transaction::SelectOnly => SELECT_ONLY,
            Transaction::SimpleUpdate => SIMPLE_UPDATE,
            _ => TPCB_LIKE,
        };
        let arguments = [
            random.between(-5000, 5000),
            random.between(1, scale * ACCOUNTS),
            random.between(1, scale * TELLERS),
            random.between(1, scale),
        ];
        client.execute(statements, &arguments)
    }
}
