//! Opens a store and runs its queries.

use std::path::Path;
use std::sync::Once;

use sqlx::{AnyConnection, Connection};
use tokio::runtime::Runtime;

use crate::StoreError;
use crate::error::store_error;
use crate::location::StoreLocation;
use crate::schema::{self, SchemaState, VERSION};

/// Marks a file as a fathom store: "fthm". See <https://sqlite.org/pragma.html#pragma_application_id>.
const APPLICATION: i64 = 0x6674_686d;

/// Results on disk.
///
/// Every method that changes something returns once the change is on stable storage: it survives a killed process and a
/// power cut. A method that fails changes nothing.
pub struct Store {
    pub(crate) location: StoreLocation,
    /// `None` after a change that failed, until the next query.
    connection: Option<AnyConnection>,
    runtime: Runtime,
    sqlite: bool,
    mode: Mode,
    /// The schema was checked: every new connection is configured for durability.
    configured: bool,
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
    /// version is upgraded.
    ///
    /// # Errors
    /// When it cannot be opened, is damaged, of a later version, or not a store. Nothing is written then.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let location = StoreLocation::file(path);
        location.create_directory()?;
        Store::connect(location, Mode::Create)
    }

    /// Opens the existing store in the file `path`; a read-only file is opened for reading.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none; otherwise as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        let location = StoreLocation::file(path);
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
        let location = StoreLocation::file(path);
        if !path.exists() {
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
        let mut store = Store {
            sqlite: location.file.is_some(),
            location,
            connection: None,
            runtime,
            mode,
            configured: false,
        };
        store.prepare(mode)?;
        Ok(store)
    }

    fn open_connection(&self) -> Result<AnyConnection, StoreError> {
        let address = self.location.address(match self.mode {
            Mode::Create => "mode=rwc",
            Mode::Write | Mode::Journal | Mode::ReadAlone => "mode=rw",
            // Without a log beside it nobody writes it, and it needs no lock that a read-only file system would refuse.
            Mode::Read => "mode=ro&immutable=1",
        })?;
        self.runtime
            .block_on(AnyConnection::connect(&address))
            .map_err(|error| store_error(error, &self.location.name))
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
            SchemaState::Empty if mode.only_reads() => return Err(StoreError::Missing { store }),
            SchemaState::Empty => 0,
            SchemaState::Version(version) => version,
        };
        if mode.only_reads() {
            return Ok(());
        }
        self.configured = sqlite;
        if sqlite {
            self.configure()?;
        }
        if version < VERSION {
            self.upgrade()
        } else {
            Ok(())
        }
    }

    /// A log ahead of the file, synced at every commit: what was acknowledged survives a power cut. See
    /// <https://sqlite.org/pragma.html#pragma_synchronous>.
    fn configure(&mut self) -> Result<(), StoreError> {
        // A journal syncs only when its log is moved to the file, which cannot damage the file either. With pages of 4 KiB
        // that happens at 64 MiB, once in half an hour at two intervals a second. Without it the log of a cell that lasts a
        // day would be gigabytes long.
        let durability = match self.mode {
            Mode::Journal => [
                "PRAGMA synchronous = NORMAL",
                "PRAGMA wal_autocheckpoint = 16384",
            ],
            _ => [
                "PRAGMA synchronous = FULL",
                "PRAGMA wal_autocheckpoint = 1000",
            ],
        };
        self.query(async |connection| {
            for pragma in [
                "PRAGMA busy_timeout = 5000",
                "PRAGMA journal_mode = WAL",
                "PRAGMA foreign_keys = ON",
            ]
            .into_iter()
            .chain(durability)
            {
                sqlx::raw_sql(pragma).execute(&mut *connection).await?;
            }
            Ok(())
        })
    }

    /// Two processes may open a new store at once: the second finds the tables that the first created.
    fn upgrade(&mut self) -> Result<(), StoreError> {
        let sqlite = self.sqlite;
        self.change(async |connection| {
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

    /// Runs a query.
    pub(crate) fn query<T>(
        &mut self,
        query: impl AsyncFnOnce(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, StoreError> {
        if self.connection.is_none() {
            self.connection = Some(self.open_connection()?);
            if self.configured {
                self.configure()?;
            }
        }
        let connection = self
            .connection
            .as_mut()
            .expect("the connection was opened just now");
        self.runtime
            .block_on(query(connection))
            .map_err(|error| store_error(error, &self.location.name))
    }

    /// Runs a change in a transaction.
    pub(crate) fn change<T>(
        &mut self,
        change: impl AsyncFnOnce(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, StoreError> {
        let sqlite = self.sqlite;
        let changed = self.query(async |connection| {
            // With IMMEDIATE, SQLite takes the write lock at once, so that two writers wait for each other.
            let mut transaction = connection
                .begin_with(if sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" })
                .await?;
            let changed = change(&mut transaction).await?;
            transaction.commit().await?;
            Ok(changed)
        });
        if changed.is_err() {
            // Where the database rolled back by itself, as on a full disk, the driver does not notice: a new connection has
            // the right state (regression 0180).
            self.close();
        }
        changed
    }

    fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            // Everything is on disk already; closing only moves the log into the file.
            let _ = self.runtime.block_on(connection.close());
        }
    }

    pub(crate) fn unknown_run(&self, name: &str) -> StoreError {
        StoreError::UnknownRun {
            name: name.escape_debug().to_string(),
            store: self.location.name.clone(),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}
