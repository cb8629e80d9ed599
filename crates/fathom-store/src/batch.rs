//! Many rows in one statement: ten times as fast as one by one. And statements about many runs.

use std::fmt::Write;

use sqlx::AssertSqlSafe;

/// Rows in one statement. SQLite finds the name of a parameter by looking at all before it, which takes a millisecond for a thousand.
pub(crate) const ROWS: usize = 64;
/// Runs that one statement names.
pub(crate) const RUNS: usize = 500;
/// Numbers are close together when so many times as many runs have room between the first and the last.
const CLOSE: i64 = 2;

/// The first and the last of these numbers of runs, where a statement that reads all between them reads little more.
pub(crate) fn close_together(runs: &[i64]) -> Option<(i64, i64)> {
    let (first, last) = (*runs.iter().min()?, *runs.iter().max()?);
    (last.saturating_sub(first) < CLOSE * runs.len() as i64).then_some((first, last))
}

/// `INSERT INTO ... VALUES ($1, $2), ($3, $4)` for this many rows.
pub(crate) fn insert(into: &str, columns: usize, rows: usize) -> AssertSqlSafe<String> {
    let mut text = format!("INSERT INTO {into} VALUES ");
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=columns {
            let comma = if column == 1 { "" } else { ", " };
            write!(text, "{comma}${}", row * columns + column)
                .expect("writing to a string cannot fail");
        }
        text.push(')');
    }
    AssertSqlSafe(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn runs_in_a_row_are_close_together() {
        for (runs, wanted) in [
            (&[][..], None),
            (&[7], Some((7, 7))),
            (&[9, 8, 6], Some((6, 9))),
            (&[1, 1000], None),
            (&[i64::MIN, i64::MAX], None),
        ] {
            assert_eq!(super::close_together(runs), wanted, "{runs:?}");
        }
    }

    #[test]
    fn two_rows_of_two() {
        assert_eq!(
            super::insert("t (a, b)", 2, 2).0,
            "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)"
        );
    }
}
