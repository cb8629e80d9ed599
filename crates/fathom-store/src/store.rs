//! Opens a store and runs its queries.

use std::path::Path;
use std::sync::Once;
use std::time::{Duration, Instant};

use sqlx::{AnyConnection, Connection};
use tokio::runtime::Runtime;

use crate::StoreError;
use crate::error::{is_busy, store_error};
use crate::location::StoreLocation;
use crate::schema::{self, SchemaState, VERSION};
use crate::server::{
    CONNECT, RETRIES, STATEMENT, check_version, is_lost, may_succeed_again, server_error,
    wait_before,
};

/// How long a server may take to end a connection.
const CLOSE: Duration = Duration::from_secs(1);

/// How long a connection to a file waits for another one, as `SET_BUSY_TIMEOUT` says in milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
const SET_BUSY_TIMEOUT: &str = "PRAGMA busy_timeout = 30000";

/// The time between two tries of a setting that SQLite refuses without waiting.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Marks a file as a fathom store: "fthm". See <https://sqlite.org/pragma.html#pragma_application_id>.
const APPLICATION: i64 = 0x6674_686d;

/// Results on disk, in a file or on a PostgreSQL server.
///
/// Every method that changes something returns once the change is on stable storage: it survives a killed process and a
/// power cut. A method that fails changes nothing. When a server ends the connection or is restarted, a method waits for it up
/// to half a minute. The methods block: asynchronous programs call them in a thread of their own.
pub struct Store {
    pub(crate) location: StoreLocation,
    /// `None` after a change that failed, until the next query.
    connection: Option<AnyConnection>,
    runtime: Runtime,
    sqlite: bool,
    mode: Mode,
    /// The schema was checked: every new connection is configured for durability.
    configured: bool,
    /// The store was opened: a server that does not answer will be back.
    opened: bool,
    /// Of version 1, which can only be read, it has none.
    pub(crate) has_labels: bool,
    /// The row in the table `commit_mark` of the last change on a server.
    mark: Option<String>,
}

/// A row that belongs to one change on a server, in the same transaction: where it is, the change was committed.
struct CommitMark {
    name: String,
    replaces: Option<String>,
}

impl CommitMark {
    /// A name that no other change has: 128 random bits.
    fn new(replaces: Option<String>) -> CommitMark {
        use std::hash::{BuildHasher, Hasher, RandomState};
        let bits = || RandomState::new().build_hasher().finish();
        CommitMark {
            name: format!("{:016x}{:016x}", bits(), bits()),
            replaces,
        }
    }

    /// Writes it in place of the mark before, and removes those of processes that ended. Returns the number of the transaction.
    async fn write(&self, connection: &mut AnyConnection) -> sqlx::Result<i64> {
        sqlx::query_scalar(
            "WITH old AS (DELETE FROM commit_mark WHERE mark = $1 OR made < now() - INTERVAL '1 day') \
             INSERT INTO commit_mark (mark) VALUES ($2) RETURNING txid_current()",
        )
        .bind(self.replaces.clone().unwrap_or_default())
        .bind(self.name.clone())
        .fetch_one(connection)
        .await
    }
}

/// How a store is opened.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    Create,
    Write,
    /// For writes that a power cut may lose.
    Journal,
    Read,
    /// For reading a store whose log cannot get its index file, because the disk is full. The index is kept in memory, which
    /// needs the store for itself.
    ReadAlone,
}

impl Mode {
    fn only_reads(self) -> bool {
        matches!(self, Mode::Read | Mode::ReadAlone)
    }
}

impl Store {
    /// Opens the store in the file `path`, and creates it with its directories where there is none. A store of an older
    /// version is upgraded. A path such as `postgres://USER@HOST/DATABASE` names a store on a server; that is so for every
    /// function that opens one.
    ///
    /// # Errors
    /// When it cannot be opened, is damaged, of a later version, or not a store. Nothing is written then.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let location = StoreLocation::of(path);
        location.create_directory()?;
        Store::connect(location, Mode::Create)
    }

    /// Opens the existing store in the file `path`; a read-only file is opened for reading.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none; otherwise as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        let location = StoreLocation::of(path);
        if location.file.is_none() {
            return Store::connect(location, Mode::Write);
        }
        if !path.exists() {
            return Err(StoreError::Missing {
                store: location.name,
            });
        }
        match Store::connect(location.clone(), Mode::Write) {
            Err(StoreError::ReadOnly { .. } | StoreError::CannotOpen { .. }) => {
                // Without its log a store lacks what was stored last; on a full disk only the index of the log is missing.
                Store::connect(location.clone(), Mode::ReadAlone)
                    .or_else(|_| Store::connect(location, Mode::Read))
            }
            Err(full @ StoreError::Full { .. }) => Store::read_on_full_disk(location, path, full),
            other => other,
        }
    }

    /// What was stored can be read without room for anything new.
    fn read_on_full_disk(
        location: StoreLocation,
        path: &Path,
        full: StoreError,
    ) -> Result<Store, StoreError> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let has_log = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
        let mode = if has_log { Mode::ReadAlone } else { Mode::Read };
        Store::connect(location, mode).map_err(|_| full)
    }

    /// Opens the store in the file `path` for reading: nothing is written, not even a log beside it.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none; otherwise as [`Store::open`].
    pub fn open_read_only(path: &Path) -> Result<Store, StoreError> {
        let location = StoreLocation::of(path);
        if location.file.is_some() && !path.exists() {
            return Err(StoreError::Missing {
                store: location.name,
            });
        }
        Store::connect(location, Mode::Read)
    }

    /// Checks the integrity of the whole store. Takes as long as reading it.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first problem.
    pub fn check(&mut self) -> Result<(), StoreError> {
        if !self.sqlite {
            return Ok(());
        }
        let report: String = self.query(async |connection| {
            sqlx::query_scalar("PRAGMA integrity_check(1)")
                .fetch_one(connection)
                .await
        })?;
        match report.as_str() {
            "ok" => Ok(()),
            _ => Err(StoreError::Damaged {
                store: self.location.name.clone(),
                detail: report,
            }),
        }
    }

    pub(crate) fn connect(location: StoreLocation, mode: Mode) -> Result<Store, StoreError> {
        // SQLite takes a block device for an empty file, because its length is 0, and writes over it.
        if let Some(Ok(metadata)) = location.file.as_ref().map(std::fs::metadata)
            && !metadata.is_file()
        {
            return Err(StoreError::NotAFile {
                store: location.name,
            });
        }
        static DRIVERS: Once = Once::new();
        DRIVERS.call_once(sqlx::any::install_default_drivers);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| StoreError::CannotOpen {
            store: location.name.clone(),
            source: error.into(),
        })?;
        let sqlite = location.file.is_some();
        if !sqlite && !cfg!(feature = "postgres") {
            return Err(StoreError::NoServers {
                store: location.name,
            });
        }
        let mut store = Store {
            sqlite,
            location,
            connection: None,
            runtime,
            mode,
            configured: false,
            opened: false,
            has_labels: true,
            mark: None,
        };
        store.prepare(mode)?;
        store.opened = true;
        Ok(store)
    }

    fn open_connection(&self) -> Result<AnyConnection, Failure> {
        let address = self.location.address(match self.mode {
            Mode::Create => "mode=rwc",
            Mode::Write | Mode::Journal | Mode::ReadAlone => "mode=rw",
            // Without a log beside it nobody writes it, and it needs no lock that a read-only file system would refuse.
            Mode::Read => "mode=ro&immutable=1",
        });
        let address = address.map_err(Failure::Store)?;
        let settings = match (self.configured, self.sqlite && !self.mode.only_reads()) {
            (true, _) => self.settings(),
            (false, true) => &[SET_BUSY_TIMEOUT],
            (false, false) => &[],
        };
        let connecting = async {
            let mut connection = AnyConnection::connect(&address).await?;
            configure(&mut connection, settings).await?;
            Ok(connection)
        };
        self.runtime
            .block_on(self.limited(CONNECT, connecting))
            .map_err(Failure::Query)
    }

    /// `work`, which fails when a server does not answer for so long.
    async fn limited<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = sqlx::Result<T>>,
    ) -> sqlx::Result<T> {
        if self.sqlite {
            return work.await;
        }
        match tokio::time::timeout(limit, work).await {
            Ok(done) => done,
            Err(_) => Err(sqlx::Error::Io(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                format!("no answer within {} s", limit.as_secs()),
            ))),
        }
    }

    /// Whether the store is a file.
    pub(crate) fn is_sqlite(&self) -> bool {
        self.sqlite
    }

    /// An error of the database as one of the store.
    pub(crate) fn error(&self, error: sqlx::Error) -> StoreError {
        if self.sqlite {
            store_error(error, &self.location.name)
        } else {
            server_error(error, &self.location.name)
        }
    }

    /// Checks the schema before any change: only an empty database or a store is changed.
    fn prepare(&mut self, mode: Mode) -> Result<(), StoreError> {
        let sqlite = self.sqlite;
        if mode == Mode::ReadAlone {
            // Before the first read: <https://sqlite.org/wal.html#use_of_wal_without_shared_memory>.
            self.query(async |connection| {
                sqlx::raw_sql("PRAGMA locking_mode = EXCLUSIVE")
                    .execute(connection)
                    .await
                    .map(drop)
            })?;
        }
        if !sqlite {
            let version: i64 = self.query(async |connection| {
                sqlx::query_scalar("SELECT CAST(current_setting('server_version_num') AS BIGINT)")
                    .fetch_one(connection)
                    .await
            })?;
            check_version(version, &self.location.name)?;
        }
        let found = self.query(async |connection| schema::detect(connection, sqlite).await)?;
        let store = self.location.name.clone();
        let version = match found {
            SchemaState::Foreign => return Err(StoreError::Foreign { store }),
            SchemaState::Version(found) if found > VERSION => {
                return Err(StoreError::Newer {
                    store,
                    found,
                    known: VERSION,
                });
            }
            SchemaState::Empty if mode.only_reads() || !sqlite && mode == Mode::Write => {
                return Err(StoreError::Missing { store });
            }
            SchemaState::Empty => 0,
            SchemaState::Version(version) => version,
        };
        if mode.only_reads() {
            self.has_labels = version > 1;
            return Ok(());
        }
        self.configured = true;
        let settings = self.settings();
        self.query(async |connection| configure(connection, settings).await)?;
        if version == VERSION {
            return Ok(());
        }
        match self.upgrade() {
            // A role that only reads uses what is there; the owner upgrades it.
            Err(StoreError::Server { .. } | StoreError::ReadOnly { .. })
                if !sqlite && mode == Mode::Write && version > 0 =>
            {
                self.has_labels = version > 1;
                Ok(())
            }
            other => other,
        }
    }

    /// Statements for each connection. For SQLite a log ahead of the file, synced at every commit: what was acknowledged survives a
    /// power cut. See <https://sqlite.org/pragma.html#pragma_synchronous> and
    /// <https://www.postgresql.org/docs/current/wal-async-commit.html>.
    fn settings(&self) -> &'static [&'static str] {
        match (self.sqlite, self.mode) {
            // A journal syncs only when its log is moved to the file, which cannot damage the file either. With pages of 4 KiB
            // that happens at 64 MiB, once in half an hour at two intervals a second. Without it the log of a cell that lasts a
            // day would be gigabytes long.
            (true, Mode::Journal) => &[
                SET_BUSY_TIMEOUT,
                "PRAGMA journal_mode = WAL",
                "PRAGMA foreign_keys = ON",
                "PRAGMA synchronous = NORMAL",
                "PRAGMA wal_autocheckpoint = 16384",
            ],
            (true, _) => &[
                SET_BUSY_TIMEOUT,
                "PRAGMA journal_mode = WAL",
                "PRAGMA foreign_keys = ON",
                "PRAGMA synchronous = FULL",
                "PRAGMA wal_autocheckpoint = 1000",
            ],
            // It may lose its last part of a second when the server crashes, as in a file.
            (false, Mode::Journal) => &["SET lock_timeout = '30s'", "SET synchronous_commit = off"],
            // A server that is configured for more than the default keeps that.
            (false, _) => &[
                "SET lock_timeout = '30s'",
                "SELECT CAST(set_config('synchronous_commit', 'on', false) AS TEXT) WHERE current_setting('synchronous_commit') = 'off'",
            ],
        }
    }

    /// Two processes may open a new store at once: the second finds the tables that the first created.
    fn upgrade(&mut self) -> Result<(), StoreError> {
        let sqlite = self.sqlite;
        self.change(async |connection| {
            if !sqlite {
                let wait = format!("SELECT pg_advisory_xact_lock({APPLICATION})");
                sqlx::raw_sql(sqlx::AssertSqlSafe(wait))
                    .execute(&mut *connection)
                    .await?;
            }
            let version = match schema::detect(connection, sqlite).await? {
                SchemaState::Version(version) => version,
                _ => 0,
            };
            if sqlite {
                let mark = format!("PRAGMA application_id = {APPLICATION}");
                sqlx::raw_sql(sqlx::AssertSqlSafe(mark))
                    .execute(&mut *connection)
                    .await?;
            }
            schema::upgrade(connection, version, sqlite).await
        })
    }

    /// Its path, as messages show it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.location.name
    }

    /// Runs a query. On a server it is repeated when the connection ended.
    pub(crate) fn query<T>(
        &mut self,
        mut query: impl AsyncFnMut(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, StoreError> {
        let mut attempt = 0;
        loop {
            let error = match self.query_once(&mut query) {
                Ok(found) => return Ok(found),
                Err(error) => error,
            };
            if !self.waits(&error, &mut attempt) {
                return Err(self.error_of(error));
            }
        }
    }

    /// Runs queries that see the same state of the store.
    pub(crate) fn read<T>(
        &mut self,
        mut queries: impl AsyncFnMut(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, StoreError> {
        let begin = self.snapshot();
        self.query(async |connection| {
            let mut transaction = connection.begin_with(begin).await?;
            let found = queries(&mut transaction).await?;
            transaction.rollback().await?;
            Ok(found)
        })
    }

    /// Runs a change in a transaction. On a server it is repeated when the connection ended before it took effect, and when the
    /// server chose it to resolve a conflict with another writer.
    pub(crate) fn change<T>(
        &mut self,
        mut change: impl AsyncFnMut(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, StoreError> {
        let mut attempt = 0;
        loop {
            let error = match self.change_attempt(&mut change) {
                Ok(changed) => return Ok(changed),
                Err(error) => error,
            };
            if !self.waits(&error, &mut attempt) {
                return Err(self.error_of(error));
            }
        }
    }

    /// Runs a change that cannot be repeated, because it consumes what it writes.
    pub(crate) fn change_once<T>(
        &mut self,
        change: impl AsyncFnOnce(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, StoreError> {
        let mut change = Some(change);
        self.change_attempt(async |connection| match change.take() {
            Some(change) => change(connection).await,
            None => Err(sqlx::Error::WorkerCrashed),
        })
        .map_err(|error| self.error_of(error))
    }

    /// Carries out a change once. When the connection ends during the commit, the server is asked whether it took effect.
    fn change_attempt<T>(
        &mut self,
        mut change: impl AsyncFnMut(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, Failure> {
        let sqlite = self.sqlite;
        let begin = self.begin_change();
        let mark = CommitMark::new(self.mark.take());
        let mut unknown = None;
        let changed = self.query_once(async |connection| {
            let mut transaction = connection.begin_with(begin).await?;
            let changed = change(&mut transaction).await?;
            let number = if sqlite {
                0
            } else {
                mark.write(&mut transaction).await?
            };
            match transaction.commit().await {
                Ok(()) => Ok(Some(changed)),
                Err(error) if !sqlite && is_lost(&error) => {
                    unknown = Some((changed, number, error));
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        });
        if !matches!(changed, Ok(Some(_))) {
            // Where the database rolled back by itself, as on a full disk, the driver does not notice: a new connection has
            // the right state (regression 0180).
            self.close();
        }
        let took_effect = match (changed, unknown) {
            (Ok(Some(changed)), _) => Ok(changed),
            (Ok(None), Some((changed, number, error))) => {
                if self.took_effect(number, &mark)? {
                    Ok(changed)
                } else {
                    Err(Failure::Query(error))
                }
            }
            (Ok(None), None) => Err(Failure::Query(sqlx::Error::WorkerCrashed)),
            (Err(failure), _) => Err(failure),
        };
        // A change that took effect has replaced the mark of the one before.
        self.mark = match &took_effect {
            Ok(_) => Some(mark.name),
            Err(_) => mark.replaces,
        };
        took_effect
    }

    /// Whether the change with this mark was committed, in the transaction of this number. The number alone does not show it: a
    /// server that crashed gives the numbers of lost transactions to others. Without the mark the transaction may still be in
    /// progress, because the server has not noticed that the connection ended. See "Transaction ID and Snapshot Information
    /// Functions" in the manual of PostgreSQL.
    fn took_effect(&mut self, number: i64, mark: &CommitMark) -> Result<bool, Failure> {
        let mut ended = false;
        for attempt in 0..RETRIES {
            let (marks, in_progress): (i64, bool) = self
                .query(async |connection| {
                    sqlx::query_as(
                        "SELECT (SELECT count(*) FROM commit_mark WHERE mark = $1), \
                         $2 < txid_snapshot_xmax(txid_current_snapshot()) AND coalesce(txid_status($2), '') = 'in progress'",
                    )
                    .bind(mark.name.clone())
                    .bind(number)
                    .fetch_one(connection)
                    .await
                })
                .map_err(Failure::Store)?;
            match (marks, in_progress) {
                (1.., _) => return Ok(true),
                (_, false) if ended => return Ok(false),
                // It may have been committed between the two parts of the query: another look decides.
                (_, false) => ended = true,
                (_, true) => std::thread::sleep(wait_before(attempt)),
            }
        }
        Err(Failure::Store(StoreError::Server {
            store: self.location.name.clone(),
            problem: "the connection ended while a change was saved, and its server does not say whether it was saved: look at the \
                      store, and do it again if it is missing"
                .to_owned(),
        }))
    }

    /// Waits before another attempt if one is reasonable.
    fn waits(&mut self, failure: &Failure, attempt: &mut u32) -> bool {
        let Failure::Query(error) = failure else {
            return false;
        };
        // A store that cannot be opened is reported at once.
        if self.sqlite || !self.opened || *attempt >= RETRIES || !may_succeed_again(error) {
            return false;
        }
        std::thread::sleep(wait_before(*attempt));
        *attempt += 1;
        true
    }

    fn error_of(&self, failure: Failure) -> StoreError {
        match failure {
            Failure::Query(error) => self.error(error),
            Failure::Store(error) => error,
        }
    }

    fn query_once<T>(
        &mut self,
        query: impl AsyncFnOnce(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, Failure> {
        if self.connection.is_none() {
            self.connection = Some(self.open_connection()?);
        }
        let mut connection = self
            .connection
            .take()
            .expect("the connection was opened just now");
        let found = self
            .runtime
            .block_on(self.limited(STATEMENT, query(&mut connection)));
        // What ended, and what still waits for an answer, is of no use.
        if !matches!(&found, Err(error) if !self.sqlite && is_lost(error)) {
            self.connection = Some(connection);
        }
        found.map_err(Failure::Query)
    }

    /// Begins a transaction that reads one state of the store.
    pub(crate) fn snapshot(&self) -> &'static str {
        if self.sqlite {
            "BEGIN"
        } else {
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        }
    }

    /// Begins a transaction that writes. With IMMEDIATE, SQLite takes the write lock at once, so that two writers wait for each
    /// other.
    pub(crate) fn begin_change(&self) -> &'static str {
        if self.sqlite {
            "BEGIN IMMEDIATE"
        } else {
            "BEGIN"
        }
    }

    /// Runs a part of a longer transaction.
    pub(crate) fn query_only_once<T>(
        &mut self,
        query: impl AsyncFnOnce(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, StoreError> {
        self.query_once(query)
            .map_err(|failure| self.error_of(failure))
    }

    pub(crate) fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            // Everything is on disk already; closing only moves the log into the file.
            let closing = async { connection.close().await };
            let _ = self.runtime.block_on(self.limited(CLOSE, closing));
        }
    }

    pub(crate) fn unknown_run(&self, name: &str) -> StoreError {
        StoreError::UnknownRun {
            name: name.escape_debug().to_string(),
            store: self.location.name.clone(),
        }
    }
}

async fn configure(connection: &mut AnyConnection, settings: &[&'static str]) -> sqlx::Result<()> {
    let end = Instant::now() + BUSY_TIMEOUT;
    for setting in settings {
        while let Err(error) = sqlx::raw_sql(*setting).execute(&mut *connection).await {
            // SQLite does not call its busy handler where waiting could block two connections on each other, for one when
            // several change a new file to a log at the same time: <https://sqlite.org/c3ref/busy_handler.html>. The next try
            // finds the file as the first one left it.
            if !is_busy(&error) || Instant::now() > end {
                return Err(error);
            }
            tokio::time::sleep(BUSY_PAUSE).await;
        }
    }
    Ok(())
}

/// Why something was not done.
enum Failure {
    Query(sqlx::Error),
    Store(StoreError),
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}
