//! What can go wrong with a store.

use std::error::Error;

use thiserror::Error;

#[cfg(feature = "sqlite")]
use crate::DocumentError;

/// Why an operation on a store failed. Nothing that the store acknowledged before is lost.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no store yet.
    #[error("no store at {store} yet: the first run creates it")]
    Missing {
        /// Path of the store.
        store: String,
    },
    /// The store cannot be opened or created.
    #[error("cannot open the store {store}: {source}")]
    CannotOpen {
        /// Path of the store.
        store: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The file is a database of another program.
    #[error(
        "{store} is a database of another program and was left unchanged: name another file for the store"
    )]
    Foreign {
        /// Path of the file.
        store: String,
    },
    /// The path names a device, a directory, a pipe or a socket.
    #[error("{store} is not a regular file and was left unchanged: name a file for the store")]
    NotAFile {
        /// The path.
        store: String,
    },
    /// A later version of fathom wrote the store.
    #[error(
        "the store {store} was written by a later version of fathom (schema {found}, this version supports {known}): use that version, or name another store"
    )]
    Newer {
        /// Path of the store.
        store: String,
        /// Its schema version.
        found: i64,
        /// The newest schema version that is supported.
        known: i64,
    },
    /// The file is damaged.
    #[error(
        "the store {store} is damaged ({detail}) and was left unchanged: restore a copy, try `sqlite3 {store} .recover`, or name another store"
    )]
    Damaged {
        /// Path of the store.
        store: String,
        /// What the database reported.
        detail: String,
    },
    /// Another process holds the lock of the store.
    #[error("the store {store} is in use by another process: try again when that is done")]
    Locked {
        /// Path of the store.
        store: String,
    },
    /// The disk is full.
    #[error("no space left for the store {store}: free some space, or name another store")]
    Full {
        /// Path of the store.
        store: String,
    },
    /// The store is read-only.
    #[error("the store {store} is read-only: name another store, or change its permissions")]
    ReadOnly {
        /// Path of the store.
        store: String,
    },
    /// There is no such run or cell.
    #[error("no run {name} in the store {store}; `fathom runs` lists the runs")]
    UnknownRun {
        /// The name that was looked up.
        name: String,
        /// Path of the store.
        store: String,
    },
    /// The program was built without the store.
    #[error(
        "cannot open the store {store}: this build has no store: the cargo feature `store` is missing; set FATHOM_STORE=none, or build fathom with `cargo build --features store`"
    )]
    NotBuilt {
        /// Path of the store.
        store: String,
    },
    /// The server of the store cannot be used: it does not answer, or it refused.
    #[error("cannot use the store {store}: {problem}")]
    Server {
        /// Address of the store, without a password.
        store: String,
        /// What happened, and what to do.
        problem: String,
    },
    /// The store that a copy would be written to has runs already.
    #[error(
        "the store {store} has runs already and was left unchanged: name a new store, or add to it with --append, which gives the runs new numbers"
    )]
    NotEmpty {
        /// Path of the store.
        store: String,
    },
    /// The program was built without stores on servers.
    #[error(
        "cannot open the store {store}: this build has no PostgreSQL: the cargo feature `postgres` is missing; name a file, or build fathom with `cargo build --features postgres`"
    )]
    NoServers {
        /// Address of the store.
        store: String,
    },
    /// A recording in the store is unreadable.
    #[cfg(feature = "sqlite")]
    #[error("cannot read the recording of {cell}: {source}")]
    Recording {
        /// Its cell, such as `r12.3`.
        cell: String,
        /// The cause.
        source: DocumentError,
    },
    /// Any other failure of the database.
    #[cfg(feature = "sqlite")]
    #[error("store {store}: {source}")]
    Database {
        /// Path of the store.
        store: String,
        /// The cause.
        source: sqlx::Error,
    },
}

/// Result codes of SQLite, without their extensions. See <https://sqlite.org/rescode.html>.
#[cfg(feature = "sqlite")]
mod code {
    pub const BUSY: u32 = 5;
    pub const LOCKED: u32 = 6;
    pub const READONLY: u32 = 8;
    pub const CORRUPT: u32 = 11;
    pub const FULL: u32 = 13;
    pub const CANTOPEN: u32 = 14;
    pub const NOTADB: u32 = 26;
    /// The shared memory of the log could not grow (`SQLITE_IOERR_SHMSIZE`): on tmpfs and some other file systems the
    /// first sign of a full disk.
    pub const IOERR_SHMSIZE: u32 = 10 | 19 << 8;
}

/// Whether SQLite could not do something because of another connection to the same file.
#[cfg(feature = "sqlite")]
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    use sqlx::error::DatabaseError;
    use sqlx::sqlite::SqliteError;
    let problem = error.as_database_error();
    let sqlite = problem.and_then(|problem| problem.try_downcast_ref::<SqliteError>());
    let number = sqlite.and_then(|problem| problem.code()?.parse::<u32>().ok());
    number.is_some_and(|code| code & 0xff == code::BUSY)
}

/// `source` as an error of the store at the path `store`.
#[cfg(feature = "sqlite")]
pub(crate) fn store_error(source: sqlx::Error, store: &str) -> StoreError {
    let store = store.to_owned();
    let sqlx::Error::Database(problem) = &source else {
        return StoreError::Database { store, source };
    };
    let detail = problem.message().to_owned();
    let number = problem.code().and_then(|code| code.parse::<u32>().ok());
    if number == Some(code::IOERR_SHMSIZE) {
        return StoreError::Full { store };
    }
    match number.map(|code| code & 0xff) {
        Some(code::BUSY | code::LOCKED) => StoreError::Locked { store },
        Some(code::READONLY) => StoreError::ReadOnly { store },
        Some(code::FULL) => StoreError::Full { store },
        Some(code::CORRUPT | code::NOTADB) => StoreError::Damaged { store, detail },
        Some(code::CANTOPEN) => StoreError::CannotOpen {
            store,
            source: detail.into(),
        },
        _ => StoreError::Database { store, source },
    }
}
