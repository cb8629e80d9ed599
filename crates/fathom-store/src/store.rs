//! Opening a store, and how it talks to its database.

use std::path::Path;
use std::sync::Once;

use sqlx::{AnyConnection, Connection};
use tokio::runtime::Runtime;

use crate::StoreError;
use crate::error::meaning;
use crate::place::StoreLocation;
use crate::schema::{self, SchemaState, VERSION};

/// Marks a file as a store of ours: "fthm". See <https://sqlite.org/pragma.html#pragma_application_id>.
const APPLICATION: i64 = 0x6674_686d;

/// Results on disk.
///
/// Every method that changes something returns when that is on stable storage: it survives a killed process and a power
/// cut. None of them changes anything when it fails.
pub struct Store {
    pub(crate) place: StoreLocation,
    /// Nothing after a change that failed, until there is something to ask.
    connection: Option<AnyConnection>,
    runtime: Runtime,
    sqlite: bool,
    mode: Mode,
    /// It was looked at, and every connection to it is to be hardened.
    ready: bool,
}

/// How a store is to be opened.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    Create,
    Write,
    /// To write what may be lost when the power goes.
    Journal,
    Read,
}

impl Store {
    /// Opens the store in the file `path`, which is made with its folders when there is none. A store of an older version
    /// is raised to this one's.
    ///
    /// # Errors
    /// When it cannot be opened, is damaged, of a later version, or no store. Nothing is written then.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let place = StoreLocation::file(path);
        place.make_folder()?;
        Store::connect(place, Mode::Create)
    }

    /// Opens the store in the file `path` to look something up in it or take something out of it; one that may only be read
    /// is opened so.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none; otherwise as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        let place = StoreLocation::file(path);
        if !path.exists() {
            return Err(StoreError::Missing { place: place.name });
        }
        match Store::connect(place.clone(), Mode::Write) {
            Err(StoreError::ReadOnly { .. } | StoreError::Closed { .. }) => {
                Store::connect(place, Mode::Read)
            }
            other => other,
        }
    }

    /// Opens the store in the file `path` only to look something up: nothing is written, not even beside it.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none; otherwise as [`Store::open`].
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        let place = StoreLocation::file(path);
        if !path.exists() {
            return Err(StoreError::Missing { place: place.name });
        }
        Store::connect(place, Mode::Read)
    }

    /// Looks through all of the store whether it is sound. Takes as long as reading it.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first thing that is wrong.
    pub fn check(&mut self) -> Result<(), StoreError> {
        if !self.sqlite {
            return Ok(());
        }
        let said: String = self.ask(async |connection| {
            sqlx::query_scalar("PRAGMA integrity_check(1)")
                .fetch_one(connection)
                .await
        })?;
        match said.as_str() {
            "ok" => Ok(()),
            _ => Err(StoreError::Damaged {
                place: self.place.name.clone(),
                what: said,
            }),
        }
    }

    pub(crate) fn connect(place: StoreLocation, mode: Mode) -> Result<Store, StoreError> {
        static DRIVERS: Once = Once::new();
        DRIVERS.call_once(sqlx::any::install_default_drivers);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| StoreError::Closed {
            place: place.name.clone(),
            why: error.to_string(),
        })?;
        let mut store = Store {
            sqlite: place.file.is_some(),
            place,
            connection: None,
            runtime,
            mode,
            ready: false,
        };
        store.prepare(mode)?;
        Ok(store)
    }

    fn reach(&self) -> Result<AnyConnection, StoreError> {
        let address = self.place.address(match self.mode {
            Mode::Create => "mode=rwc",
            Mode::Write | Mode::Journal => "mode=rw",
            // Without a log beside it nobody writes it, and it needs no lock that could not be had.
            Mode::Read => "mode=ro&immutable=1",
        })?;
        self.runtime
            .block_on(AnyConnection::connect(&address))
            .map_err(|error| meaning(&error, &self.place.name))
    }

    /// Looks before it touches: only what is empty or ours is changed.
    fn prepare(&mut self, mode: Mode) -> Result<(), StoreError> {
        let sqlite = self.sqlite;
        let found = self.ask(async |connection| schema::find(connection, sqlite).await)?;
        let place = self.place.name.clone();
        let version = match found {
            SchemaState::Foreign => return Err(StoreError::Foreign { place }),
            SchemaState::Version(found) if found > VERSION => {
                return Err(StoreError::Newer {
                    place,
                    found,
                    known: VERSION,
                });
            }
            SchemaState::Empty if mode == Mode::Read => return Err(StoreError::Missing { place }),
            SchemaState::Empty => 0,
            SchemaState::Version(version) => version,
        };
        if mode == Mode::Read {
            return Ok(());
        }
        self.ready = sqlite;
        if sqlite {
            self.harden()?;
        }
        if version < VERSION {
            self.raise()
        } else {
            Ok(())
        }
    }

    /// A log ahead of the file, synced at every commit: what was acknowledged survives a power cut. See
    /// <https://sqlite.org/pragma.html#pragma_synchronous>.
    fn harden(&mut self) -> Result<(), StoreError> {
        // A journal syncs nothing but when its log is moved to the file, and a damaged file cannot come of that either. With
        // pages of 4 KiB that is at 64 MiB, once in half an hour of two intervals a second: else the log of a cell that
        // lasts a day would be gigabytes long.
        let how = match self.mode {
            Mode::Journal => [
                "PRAGMA synchronous = NORMAL",
                "PRAGMA wal_autocheckpoint = 16384",
            ],
            _ => [
                "PRAGMA synchronous = FULL",
                "PRAGMA wal_autocheckpoint = 1000",
            ],
        };
        self.ask(async |connection| {
            for pragma in [
                "PRAGMA busy_timeout = 5000",
                "PRAGMA journal_mode = WAL",
                "PRAGMA foreign_keys = ON",
            ]
            .into_iter()
            .chain(how)
            {
                sqlx::raw_sql(pragma).execute(&mut *connection).await?;
            }
            Ok(())
        })
    }

    /// Two processes may open a new store at once: the second finds what the first made.
    fn raise(&mut self) -> Result<(), StoreError> {
        let sqlite = self.sqlite;
        self.change(async |connection| {
            let version = match schema::find(connection, sqlite).await? {
                SchemaState::Version(version) => version,
                _ => 0,
            };
            if sqlite {
                let mark = format!("PRAGMA application_id = {APPLICATION}");
                sqlx::raw_sql(sqlx::AssertSqlSafe(mark))
                    .execute(&mut *connection)
                    .await?;
            }
            schema::raise(connection, version, sqlite).await
        })
    }

    /// Where it is, as messages call it.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place.name
    }

    /// Asks the database something.
    pub(crate) fn ask<T>(
        &mut self,
        question: impl AsyncFnOnce(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, StoreError> {
        if self.connection.is_none() {
            self.connection = Some(self.reach()?);
            if self.ready {
                self.harden()?;
            }
        }
        let connection = self.connection.as_mut().expect("it was reached just now");
        self.runtime
            .block_on(question(connection))
            .map_err(|error| meaning(&error, &self.place.name))
    }

    /// Changes something, all of it or nothing.
    pub(crate) fn change<T>(
        &mut self,
        change: impl AsyncFnOnce(&mut AnyConnection) -> sqlx::Result<T>,
    ) -> Result<T, StoreError> {
        let sqlite = self.sqlite;
        let changed = self.ask(async |connection| {
            // SQLite takes the lock of writers at once this way, so that two of them wait for one another.
            let mut transaction = connection
                .begin_with(if sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" })
                .await?;
            let changed = change(&mut transaction).await?;
            transaction.commit().await?;
            Ok(changed)
        });
        if changed.is_err() {
            // Where the database took the change back by itself, as on a full disk, the driver does not know: a fresh
            // connection does (regression 0180).
            self.close();
        }
        changed
    }

    fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            // Everything is on disk already; closing only folds the log into the file.
            let _ = self.runtime.block_on(connection.close());
        }
    }

    pub(crate) fn unknown(&self, name: &str) -> StoreError {
        StoreError::Unknown {
            name: name.escape_debug().to_string(),
            place: self.place.name.clone(),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}
