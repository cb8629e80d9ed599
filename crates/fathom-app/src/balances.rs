//! The tables of TPC-B as keys with values, for engines that have no SQL: each row of accounts, tellers and branches begins with its
//! balance, and each row of the history with the amount.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::statvfs;

use crate::random::Rows;
use crate::spec::HISTORY_ROW;
use crate::{AppError, AppSpec, Transaction};

/// Less than this left: a write failed for want of space.
const NO_SPACE: u64 = 1 << 20;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Accounts,
    Tellers,
    Branches,
    History,
}

impl Table {
    pub(crate) const BALANCES: [Table; 3] = [Table::Accounts, Table::Tellers, Table::Branches];
}

/// A transaction that writes.
pub(crate) trait Writer {
    fn row(&mut self, table: Table, key: u64) -> Result<Option<Vec<u8>>, AppError>;
    fn put(&mut self, table: Table, key: u64, row: &[u8]) -> Result<(), AppError>;
}

/// A row with this balance.
pub(crate) fn row(balance: i64, size: u64) -> Vec<u8> {
    let mut row = vec![b' '; size as usize];
    row[..8].copy_from_slice(&balance.to_le_bytes());
    row
}

/// The number that a row begins with.
pub(crate) fn number(row: &[u8]) -> i64 {
    row.first_chunk()
        .map_or(0, |first| i64::from_le_bytes(*first))
}

/// Changes the rows of a transaction. `next` is the key of the next row of the history.
pub(crate) fn change(
    writer: &mut impl Writer,
    spec: &AppSpec,
    rows: Rows,
    next: &AtomicU64,
) -> Result<(), AppError> {
    let keys = [rows.account, rows.teller, rows.branch];
    let tables = Table::BALANCES.into_iter().zip(keys);
    let changed = match spec.transaction {
        Transaction::SimpleUpdate => 1,
        _ => 3,
    };
    for (table, key) in tables.take(changed) {
        let mut row = writer.row(table, key as u64)?.unwrap_or_default();
        let balance = (number(&row) + rows.delta).to_le_bytes();
        match row.first_chunk_mut() {
            Some(first) => *first = balance,
            None => return Err(missing(spec, table, key)),
        }
        writer.put(table, key as u64, &row)?;
    }
    let mut row = [b' '; HISTORY_ROW as usize];
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| now.as_nanos() as i64);
    let fields = [rows.delta, rows.teller, rows.branch, rows.account, now];
    for (place, field) in row.chunks_exact_mut(8).zip(fields) {
        place.copy_from_slice(&field.to_le_bytes());
    }
    writer.put(Table::History, next.fetch_add(1, Ordering::Relaxed), &row)
}

pub(crate) fn missing(spec: &AppSpec, table: Table, key: i64) -> AppError {
    AppError::Statement {
        engine: spec.engine.title(),
        message: format!("no row {key} in {table:?}"),
    }
}

/// Why the sums of the tables do not agree, as TPC-B demands; simple-update leaves tellers and branches as they are.
pub(crate) fn differ(branches: i64, tellers: i64, history: i64) -> Option<String> {
    (branches != tellers || (branches != 0 && branches != history)).then(|| {
        format!("the balances differ: branches {branches}, tellers {tellers}, history {history}")
    })
}

/// Whether the file system of a folder is full: an engine may say only that a write before failed.
pub(crate) fn is_full(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|facts| facts.f_bavail.saturating_mul(facts.f_frsize) < NO_SPACE)
}
