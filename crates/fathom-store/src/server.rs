//! A store on a PostgreSQL server: what its messages mean, and which failures pass by themselves.

use std::time::Duration;

use sqlx::Error;
use sqlx::error::DatabaseError;

use crate::StoreError;

/// The oldest version that is accepted. The tests run on the version of the distribution.
const OLDEST: i64 = 120_000;
/// How long a server may take to accept a connection.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// How long one statement may take: a server that vanished without a word must not stop the program for ever.
pub(crate) const STATEMENT: Duration = Duration::from_secs(300);
/// Attempts after the first, with waits that sum up to half a minute: a server is restarted in less.
pub(crate) const RETRIES: u32 = 20;
/// The longest wait before an attempt.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Refuses a server that is too old. `version` as in `server_version_num`.
pub(crate) fn check_version(version: i64, store: &str) -> Result<(), StoreError> {
    if version >= OLDEST {
        return Ok(());
    }
    let shown = if version < 100_000 {
        format!("{}.{}", version / 10_000, version / 100 % 100)
    } else {
        (version / 10_000).to_string()
    };
    Err(StoreError::Server {
        store: store.to_owned(),
        problem: format!(
            "its server is PostgreSQL {shown}, which is too old: use version {} or later",
            OLDEST / 10_000
        ),
    })
}

/// Time before attempt `attempt` (0 is the first retry).
pub(crate) fn wait_before(attempt: u32) -> Duration {
    Duration::from_millis(50 << attempt.min(10)).min(LONGEST_WAIT)
}

/// Whether the connection ended: nothing is known about the statement that was sent last.
pub(crate) fn is_lost(error: &Error) -> bool {
    match error {
        Error::Io(_) | Error::Protocol(_) | Error::Tls(_) => true,
        // Connection exceptions and an operator's intervention. See "PostgreSQL Error Codes" in its manual.
        Error::Database(problem) => {
            let code = problem.code().unwrap_or_default();
            code.starts_with("08") || code.starts_with("57P")
        }
        _ => false,
    }
}

/// Whether the same transaction may succeed when it is carried out again: the connection ended, or the server chose it to
/// resolve a conflict (serialization failure, deadlock), or another session inserted the same row after this one had looked, as a
/// killed writer whose last statement the server still carries out.
pub(crate) fn may_succeed_again(error: &Error) -> bool {
    let conflict = error.as_database_error().and_then(DatabaseError::code);
    is_lost(error) || conflict.is_some_and(|code| ["40001", "40P01", "23505"].contains(&&*code))
}

/// `source` as an error of a store on a server, with what to do.
pub(crate) fn server_error(source: Error, store: &str) -> StoreError {
    let store = store.to_owned();
    let problem = match &source {
        Error::Database(problem) => {
            let code = problem.code().unwrap_or_default().into_owned();
            let said = one_line(problem.message());
            match code.as_str() {
                "53100" => return StoreError::Full { store },
                "55P03" => return StoreError::Locked { store },
                "25006" => return StoreError::ReadOnly { store },
                _ => database_problem(&code, &said),
            }
        }
        Error::Tls(problem) => Some(tls_problem(&problem.to_string())),
        Error::Io(problem) if problem.to_string().contains("certificate") => {
            Some(tls_problem(&problem.to_string()))
        }
        Error::Io(problem) => Some(format!(
            "no connection to its server ({}): check host and port, and that the server runs",
            one_line(&problem.to_string())
        )),
        Error::Protocol(problem) => Some(format!(
            "what answers there is not a PostgreSQL server, or it ended the connection ({})",
            one_line(problem)
        )),
        Error::Configuration(problem) => Some(format!(
            "invalid address ({}): write postgres://USER@HOST:PORT/DATABASE, with special characters as %XX",
            one_line(&problem.to_string())
        )),
        _ => None,
    };
    match problem {
        Some(problem) => StoreError::Server { store, problem },
        None => StoreError::Database { store, source },
    }
}

fn database_problem(code: &str, said: &str) -> Option<String> {
    let advice = match code {
        "28P01" => {
            "check the user and the password in ~/.pgpass (which only its owner may read) or PGPASSWORD"
        }
        "28000" => {
            "check the user, and the lines of the server's pg_hba.conf for this host and for TLS (sslmode)"
        }
        "3D000" => "check the name, or let an administrator create it with `createdb`",
        "3F000" => "create the schema of the search path, or correct it",
        "42501" => {
            "let the owner of the store grant the role of a reader or a writer, see docs/reference/store.md"
        }
        "53300" => {
            "try again when other connections ended, or let an administrator raise max_connections"
        }
        "57P03" => "try again in a minute",
        "22021" => "the server's text columns cannot store this character",
        _ => return None,
    };
    Some(format!("{said}: {advice}"))
}

fn tls_problem(said: &str) -> String {
    let advice = if said.contains("does not support TLS") {
        "set `ssl = on` there, or choose sslmode=disable on a network that you trust"
    } else {
        "give the certificate of its authority with sslrootcert=FILE, and the name in its certificate as the host"
    };
    format!("no TLS with its server ({}): {advice}", one_line(said))
}

fn one_line(text: &str) -> String {
    let text = text.trim();
    if text.chars().any(char::is_control) {
        text.escape_debug().to_string()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of `server_version_num` in the manual: 9.6.24 is 90624, 11.22 is 110022, 12.1 is 120001.
    #[test]
    fn old_servers_are_refused() {
        for (version, shown) in [(90_624, "PostgreSQL 9.6,"), (110_022, "PostgreSQL 11,")] {
            let error = check_version(version, "s")
                .expect_err("too old")
                .to_string();
            assert!(error.contains(shown), "{error}");
        }
        assert!(check_version(120_001, "s").is_ok());
    }

    #[test]
    fn the_waits_last_half_a_minute() {
        let sum: Duration = (0..RETRIES).map(wait_before).sum();
        assert!((25..40).contains(&sum.as_secs()), "{sum:?}");
    }
}
