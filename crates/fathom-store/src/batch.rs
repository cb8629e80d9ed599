//! Many rows in one statement: ten times as fast as one by one.

use std::fmt::Write;

use sqlx::AssertSqlSafe;

/// Rows in one statement. SQLite allows 32,766 values, PostgreSQL 65,535.
pub(crate) const ROWS: usize = 500;

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
    fn two_rows_of_two() {
        assert_eq!(
            super::insert("t (a, b)", 2, 2).0,
            "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)"
        );
    }
}
