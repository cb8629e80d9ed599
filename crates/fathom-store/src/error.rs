//! What can go wrong with a store, in words for its owner.

use std::fmt;

use crate::Unreadable;

/// Why the store did not do what was asked. Nothing that it had acknowledged before is lost by any of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// There is no store there.
    Missing {
        /// Where.
        place: String,
    },
    /// It cannot be opened or made.
    Closed {
        /// Where.
        place: String,
        /// Why not.
        why: String,
    },
    /// The file is a database of something else.
    Foreign {
        /// Where.
        place: String,
    },
    /// It was written by a later version.
    Newer {
        /// Where.
        place: String,
        /// Its schema.
        found: i64,
        /// The newest schema this version knows.
        known: i64,
    },
    /// The file is no store any more.
    Damaged {
        /// Where.
        place: String,
        /// What the database says.
        what: String,
    },
    /// Another process held it for too long.
    Locked {
        /// Where.
        place: String,
    },
    /// There is no room.
    Full {
        /// Where.
        place: String,
    },
    /// It may only be read.
    ReadOnly {
        /// Where.
        place: String,
    },
    /// No such run, or no such cell.
    Unknown {
        /// What was asked for.
        name: String,
        /// Where.
        place: String,
    },
    /// A recording in it cannot be read.
    Unreadable {
        /// Which, such as `r12.3`.
        name: String,
        /// Why.
        why: Unreadable,
    },
    /// Anything else the database says.
    Failed {
        /// Where.
        place: String,
        /// What it says.
        what: String,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Missing { place } => write!(
                f,
                "there is no store at {place} yet: the first run makes it"
            ),
            StoreError::Closed { place, why } => {
                write!(f, "the store {place} cannot be opened: {why}")
            }
            StoreError::Foreign { place } => {
                write!(
                    f,
                    "{place} is a database of another program and was left as it is: name another file for the store"
                )
            }
            StoreError::Newer {
                place,
                found,
                known,
            } => write!(
                f,
                "the store {place} was written by a later version of fathom (schema {found}, this one knows {known}): use that version, or name another store"
            ),
            StoreError::Damaged { place, what } => write!(
                f,
                "the store {place} is damaged ({what}) and was left as it is: put back a copy, try `sqlite3 {place} .recover`, or name another store"
            ),
            StoreError::Locked { place } => write!(
                f,
                "the store {place} is in use by another process: try again when that is done"
            ),
            StoreError::Full { place } => write!(
                f,
                "there is no room for the store {place}: make room, or name another store"
            ),
            StoreError::ReadOnly { place } => write!(
                f,
                "the store {place} may only be read: name another store, or change its permissions"
            ),
            StoreError::Unknown { name, place } => write!(
                f,
                "there is no run {name} in the store {place}; `fathom runs` lists them"
            ),
            StoreError::Unreadable { name, why } => {
                write!(f, "what {name} recorded cannot be read: {why}")
            }
            StoreError::Failed { place, what } => write!(f, "the store {place}: {what}"),
        }
    }
}

impl std::error::Error for StoreError {}

/// Result codes of SQLite, without what extends them. See <https://sqlite.org/rescode.html>.
mod code {
    pub const BUSY: u32 = 5;
    pub const LOCKED: u32 = 6;
    pub const READONLY: u32 = 8;
    pub const CORRUPT: u32 = 11;
    pub const FULL: u32 = 13;
    pub const CANTOPEN: u32 = 14;
    pub const NOTADB: u32 = 26;
    /// The shared memory of the log could not grow (`SQLITE_IOERR_SHMSIZE`): on tmpfs and some others the first to find no room.
    pub const IOERR_SHMSIZE: u32 = 10 | 19 << 8;
}

/// What `error` of the database at `place` means.
pub(crate) fn meaning(error: &sqlx::Error, place: &str) -> StoreError {
    let (place, what) = (place.to_owned(), error.to_string());
    let sqlx::Error::Database(problem) = error else {
        return StoreError::Failed { place, what };
    };
    let what = problem.message().to_owned();
    let number = problem.code().and_then(|code| code.parse::<u32>().ok());
    if number == Some(code::IOERR_SHMSIZE) {
        return StoreError::Full { place };
    }
    match number.map(|code| code & 0xff) {
        Some(code::BUSY | code::LOCKED) => StoreError::Locked { place },
        Some(code::READONLY) => StoreError::ReadOnly { place },
        Some(code::FULL) => StoreError::Full { place },
        Some(code::CORRUPT | code::NOTADB) => StoreError::Damaged { place, what },
        Some(code::CANTOPEN) => StoreError::Closed { place, why: what },
        _ => StoreError::Failed { place, what },
    }
}
