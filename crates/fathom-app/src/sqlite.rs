//! SQLite in this process.
#[cfg(feature = "sqlite")]
pub(crate) use self::engine::{prepare, run};
#[cfg(not(feature = "sqlite"))]
pub(crate) use crate::unavailable::{prepare, run};

#[cfg(feature = "sqlite")]
mod engine {
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use sqlx::sqlite::{
        SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous,
    };
    use sqlx::{ConnectOptions, Connection};
    use tokio::runtime::Runtime;

    use crate::clients::{self, THREADS, measure};
    use crate::random::{Random, Rows};
    use crate::spec::Journal;
    use crate::{AppError, AppSpec, Measured, Probe, Transaction};

    const ENGINE: &str = "SQLite";
    const FILE: &str = "database.sqlite";
    /// A client waits this long for the lock of another one.
    const BUSY: Duration = Duration::from_secs(30);

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
            for setting in &spec.settings {
                let (name, value) = (setting.name(), setting.value());
                options = options.pragma(name.to_owned(), value.to_owned());
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

    pub(crate) fn run(
        spec: &AppSpec,
        folder: &Path,
        probe: &dyn Probe,
    ) -> Result<Measured, AppError> {
        let mut clients = (0..spec.clients.max(1))
            .map(|_| Client::open(spec, folder))
            .collect::<Result<Vec<Client>, AppError>>()?;
        let version = clients[0].text("SELECT sqlite_version()")?;
        let mut measured = measure(spec, &mut clients, probe)?;
        measured.version = version;
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

    impl clients::Client for Client {
        const ENGINE: &'static str = ENGINE;

        fn transaction(&mut self, spec: &AppSpec, random: &mut Random) -> Result<(), AppError> {
            let row = Rows::draw(spec, random);
            let statements = match spec.transaction {
                Transaction::SelectOnly => SELECT_ONLY,
                Transaction::SimpleUpdate => SIMPLE_UPDATE,
                _ => TPCB_LIKE,
            };
            self.execute(
                statements,
                &[row.delta, row.account, row.teller, row.branch],
            )
        }

        fn undo(&mut self) {
            let _ = self.execute("ROLLBACK", &[]);
        }
    }
}
