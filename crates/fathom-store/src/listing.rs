//! Pages of runs, filtered and sorted by the database, and one figure over many runs.

use fathom_model::{Run, RunId};

/// Which runs a list contains. The default is the newest 50.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFilter {
    /// Texts that the name, the kind or a fact contains, all of them, in any letter case.
    pub texts: Vec<String>,
    /// The command that started the run; empty for all.
    pub kind: String,
    /// `running`, `finished` or `stopped`; empty for all.
    pub state: String,
    /// `valid`, `degraded` or `invalid`: the worst of the cells; empty for all.
    pub verdict: String,
    /// A text that the device contains; empty for all.
    pub device: String,
    /// Labels that the run has, with their values.
    pub labels: Vec<(String, String)>,
    /// Only runs with a lower number: the next page.
    pub before: Option<RunId>,
    /// Only runs with a higher number, the lowest first: the page before.
    pub after: Option<RunId>,
    /// At most this many.
    pub limit: u32,
}

impl Default for ListFilter {
    fn default() -> Self {
        ListFilter {
            texts: Vec::new(),
            kind: String::new(),
            state: String::new(),
            verdict: String::new(),
            device: String::new(),
            labels: Vec::new(),
            before: None,
            after: None,
            limit: 50,
        }
    }
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedRun {
    /// The run.
    pub run: Run,
    /// The worst verdict of its cells; empty without one.
    pub verdict: String,
    /// The figures of its first cell.
    pub figures: Vec<(String, f64)>,
}

/// One figure of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct FigurePoint {
    /// Its run.
    pub run: RunId,
    /// Position of the cell.
    pub cell: u64,
    /// Name of the run.
    pub name: String,
    /// Name and value of each axis of the cell.
    pub axes: Vec<(String, String)>,
    /// Facts of the run.
    pub facts: Vec<(String, String)>,
    /// Wall clock at the start of the run, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Verdict of the cell.
    pub verdict: String,
    /// Name of the figure.
    pub figure: String,
    /// Its value, in SI units without prefix.
    pub value: f64,
}

/// Which values a series contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesFilter {
    /// Name of the figure: `read iops`.
    pub figure: String,
    /// Name of the runs; empty for all.
    pub name: String,
    /// A text that the device contains; empty for all.
    pub device: String,
    /// At most this many, the newest.
    pub limit: u32,
}

/// Names to choose from, each once, in the order of the alphabet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentNames {
    /// Names of runs.
    pub runs: Vec<String>,
    /// Names of figures.
    pub figures: Vec<String>,
}

/// A pattern of LIKE for a text that contains `text` literally, with `\` as escape character.
fn containing(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.to_lowercase().chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

mod queries {
    use std::collections::HashMap;

    use sqlx::any::AnyRow;
    use sqlx::{AssertSqlSafe, Row};

    use fathom_model::{Run, RunId};

    use super::{FigurePoint, ListFilter, ListedRun, RecentNames, SeriesFilter, containing};
    use crate::batch::close_together;
    use crate::json_columns::read_pairs;
    use crate::labels::labels_of;
    use crate::runs::{lower, read_run, signed, unsigned};
    use crate::{Store, StoreError};

    const COLUMNS: &str = "SELECT number, kind, name, command, plan, facts, planned, owner, state, created_ns, ended_ns, \
        (SELECT COUNT(*) FROM cell WHERE cell.run = run.number) AS cells, \
        (SELECT COUNT(*) FROM cell WHERE cell.run = run.number AND cell.state = 'finished') AS finished FROM run";
    /// Rank of the worst verdict of a run.
    const WORST: &str = "COALESCE((SELECT MAX(CASE cell.verdict WHEN 'invalid' THEN 3 WHEN 'degraded' THEN 2 WHEN 'valid' \
        THEN 1 ELSE 0 END) FROM cell WHERE cell.run = run.number), 0)";
    const VERDICTS: [&str; 4] = ["", "valid", "degraded", "invalid"];
    // From the runs to their figures: SQLite reads the tables of a CROSS JOIN in this order. In another one it would read all figures of the
    // store for the newest values of one.
    const POINTS: &str = "SELECT figure.run, figure.position, figure.name AS figure, figure.value, run.name, run.facts, run.created_ns, \
        cell.axes, cell.verdict FROM run CROSS JOIN figure CROSS JOIN cell WHERE figure.run = run.number AND \
        cell.run = figure.run AND cell.position = figure.position AND figure.value IS NOT NULL";

    /// The value of a parameter of a statement.
    enum Value {
        Number(i64),
        Text(String),
    }

    /// A statement of fixed texts, whose values are all bound as parameters.
    struct Statement {
        text: String,
        values: Vec<Value>,
    }

    impl Statement {
        fn new(text: &str) -> Statement {
            Statement {
                text: text.to_owned(),
                values: Vec::new(),
            }
        }

        /// Adds SQL with `?` in the place of `value`.
        fn with(&mut self, sql: &'static str, value: Value) {
            let place = self.bind(value);
            self.text += &sql.replace('?', &place);
        }

        /// Adds a value; returns the parameter that stands for it.
        fn bind(&mut self, value: Value) -> String {
            self.values.push(value);
            format!("${}", self.values.len())
        }
    }

    impl Store {
        fn rows(&mut self, statement: Statement) -> Result<Vec<AnyRow>, StoreError> {
            self.query(async |connection| {
                // Only fixed texts are part of the statement; see `Statement`.
                let mut query = sqlx::query(AssertSqlSafe(statement.text.clone()));
                for value in &statement.values {
                    query = match value {
                        Value::Number(number) => query.bind(*number),
                        Value::Text(text) => query.bind(text.clone()),
                    };
                }
                query.fetch_all(connection).await
            })
        }

        fn column<T>(&self, column: sqlx::Result<T>) -> Result<T, StoreError> {
            column.map_err(|error| self.error(error))
        }

        /// The runs that `filter` selects, the newest first; with `after`, the lowest first.
        ///
        /// # Errors
        /// When the store cannot be read.
        pub fn list(&mut self, filter: &ListFilter) -> Result<Vec<ListedRun>, StoreError> {
            if !self.has_labels && !filter.labels.is_empty() {
                return Ok(Vec::new());
            }
            let rows = self.rows(list_statement(filter, self.is_sqlite()))?;
            let mut runs: Vec<Run> = rows
                .iter()
                .map(|row| self.column(read_run(row)))
                .collect::<Result<_, _>>()?;
            let numbers: Vec<RunId> = runs.iter().map(|run| run.id).collect();
            // By number: of 1,000 runs a search through lists would take a million comparisons.
            let verdicts: HashMap<RunId, &'static str> =
                self.worst_verdicts(&numbers)?.into_iter().collect();
            let mut figures: HashMap<RunId, Vec<(String, f64)>> =
                self.first_figures(&numbers)?.into_iter().collect();
            if self.has_labels {
                let numbers: Vec<i64> = numbers.iter().map(|run| signed(run.get())).collect();
                let mut labels =
                    self.query(async |connection| labels_of(connection, &numbers).await)?;
                for run in &mut runs {
                    let own = labels.remove(&signed(run.id.get()));
                    run.experiment.labels = own.unwrap_or_default();
                }
            }
            Ok(runs
                .into_iter()
                .map(|run| ListedRun {
                    verdict: verdicts.get(&run.id).copied().unwrap_or("").to_owned(),
                    figures: figures.remove(&run.id).unwrap_or_default(),
                    run,
                })
                .collect())
        }

        /// The names of the newest `limit` runs, and of the figures of their first cells, each once and in the order of the
        /// alphabet: what a reader chooses from.
        ///
        /// # Errors
        /// When the store cannot be read.
        pub fn recent_names(&mut self, limit: u32) -> Result<RecentNames, StoreError> {
            let mut names = |text: &str, end: &'static str| {
                let mut statement = Statement::new(text);
                statement.with(end, Value::Number(i64::from(limit)));
                let rows = self.rows(statement)?;
                let mut names = rows
                    .iter()
                    .map(|row| self.column(row.try_get("name")))
                    .collect::<Result<Vec<String>, StoreError>>()?;
                // The order of a server follows its locale.
                names.sort_unstable();
                Ok::<_, StoreError>(names)
            };
            Ok(RecentNames {
                runs: names(
                    "SELECT DISTINCT name FROM (SELECT name FROM run ORDER BY number DESC",
                    " LIMIT ?) AS newest",
                )?,
                figures: names(
                    "SELECT DISTINCT name FROM figure WHERE position = 1 AND place < 16 AND value IS NOT NULL \
                     AND run IN (SELECT number FROM run ORDER BY number DESC",
                    " LIMIT ?)",
                )?,
            })
        }

        fn worst_verdicts(
            &mut self,
            runs: &[RunId],
        ) -> Result<Vec<(RunId, &'static str)>, StoreError> {
            if runs.is_empty() {
                return Ok(Vec::new());
            }
            let mut statement = Statement::new(
                "SELECT run, MAX(CASE verdict WHEN 'invalid' THEN 3 WHEN 'degraded' THEN 2 WHEN 'valid' THEN 1 ELSE 0 END) \
                 AS worst FROM cell WHERE run",
            );
            among(&mut statement, runs);
            statement.text += " GROUP BY run";
            let rows = self.rows(statement)?;
            rows.iter()
                .map(|row| {
                    let run = self.column(row.try_get::<i64, _>("run"))?;
                    // An integer of the width of the CASE, which differs between databases.
                    let worst = self.column(
                        row.try_get::<i64, _>("worst")
                            .or_else(|_| row.try_get::<i32, _>("worst").map(i64::from)),
                    )?;
                    Ok((
                        RunId::new(unsigned(run)),
                        VERDICTS[worst.clamp(0, 3) as usize],
                    ))
                })
                .collect()
        }

        /// The figures of the first cell of each run.
        #[allow(clippy::type_complexity)]
        fn first_figures(
            &mut self,
            runs: &[RunId],
        ) -> Result<Vec<(RunId, Vec<(String, f64)>)>, StoreError> {
            if runs.is_empty() {
                return Ok(Vec::new());
            }
            let mut statement = Statement::new(
                "SELECT run, name, value FROM figure WHERE position = 1 AND place < 16 AND value IS NOT NULL AND run",
            );
            among(&mut statement, runs);
            statement.text += " ORDER BY run, place";
            let rows = self.rows(statement)?;
            let mut all: Vec<(RunId, Vec<(String, f64)>)> = Vec::new();
            for row in &rows {
                let run = RunId::new(unsigned(self.column(row.try_get("run"))?));
                let figure = (
                    self.column(row.try_get("name"))?,
                    self.column(row.try_get("value"))?,
                );
                match all.last_mut().filter(|(id, _)| *id == run) {
                    Some((_, figures)) => figures.push(figure),
                    None => all.push((run, vec![figure])),
                }
            }
            Ok(all)
        }

        /// How many runs there are.
        ///
        /// # Errors
        /// When the store cannot be read.
        pub fn count(&mut self) -> Result<u64, StoreError> {
            self.query(async |connection| {
                sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM run")
                    .fetch_one(connection)
                    .await
            })
            .map(unsigned)
        }

        /// All figures of a run, cell by cell.
        ///
        /// # Errors
        /// When the store cannot be read.
        pub fn figures(&mut self, run: RunId) -> Result<Vec<FigurePoint>, StoreError> {
            let mut statement = Statement::new(POINTS);
            statement.with(" AND run.number = ?", Value::Number(signed(run.get())));
            statement.text += " ORDER BY figure.position, figure.place";
            self.points(statement)
        }

        /// One figure over runs, the oldest first.
        ///
        /// # Errors
        /// When the store cannot be read.
        pub fn series(&mut self, filter: &SeriesFilter) -> Result<Vec<FigurePoint>, StoreError> {
            let statement = series_statement(filter, self.is_sqlite());
            let mut points = self.points(statement)?;
            points.reverse();
            Ok(points)
        }

        fn points(&mut self, statement: Statement) -> Result<Vec<FigurePoint>, StoreError> {
            let rows = self.rows(statement)?;
            rows.iter()
                .map(|row| self.column(read_point(row)))
                .collect()
        }

        /// The combinations of facts in the store, with the number of their runs and the newest of them.
        ///
        /// # Errors
        /// When the store cannot be read.
        #[allow(clippy::type_complexity)]
        pub fn fact_groups(
            &mut self,
        ) -> Result<Vec<(Vec<(String, String)>, u64, RunId)>, StoreError> {
            let rows = self.rows(Statement::new(
                "SELECT facts, COUNT(*) AS runs, MAX(number) AS newest FROM run GROUP BY facts ORDER BY newest DESC",
            ))?;
            rows.iter()
                .map(|row| {
                    Ok((
                        read_pairs(self.column(row.try_get("facts"))?),
                        unsigned(self.column(row.try_get("runs"))?),
                        RunId::new(unsigned(self.column(row.try_get("newest"))?)),
                    ))
                })
                .collect()
        }

        /// A number that changes when another process changed the store; `None` where the database has none.
        ///
        /// # Errors
        /// When the store cannot be read.
        pub fn change_mark(&mut self) -> Result<Option<i64>, StoreError> {
            if self.location.file.is_none() {
                return Ok(None);
            }
            self.query(async |connection| {
                // <https://sqlite.org/pragma.html#pragma_data_version>
                sqlx::query_scalar::<_, i64>("PRAGMA data_version")
                    .fetch_one(connection)
                    .await
            })
            .map(Some)
        }

        /// From now on the database refuses every change through this connection.
        ///
        /// # Errors
        /// When the store cannot be reached.
        pub fn only_reads(&mut self) -> Result<(), StoreError> {
            let sqlite = self.location.file.is_some();
            self.query(async |connection| {
                sqlx::raw_sql(if sqlite {
                    "PRAGMA query_only = ON"
                } else {
                    "SET default_transaction_read_only = on"
                })
                .execute(connection)
                .await
                .map(drop)
            })
        }
    }

    /// The condition that a column is the number of one of these runs, or of one close to them.
    fn among(statement: &mut Statement, runs: &[RunId]) {
        let numbers: Vec<i64> = runs.iter().map(|run| signed(run.get())).collect();
        if let Some((first, last)) = close_together(&numbers) {
            statement.with(" BETWEEN ?", Value::Number(first));
            statement.with(" AND ?", Value::Number(last));
            return;
        }
        for (index, number) in numbers.into_iter().enumerate() {
            let sql = if index == 0 { " IN (?" } else { ", ?" };
            statement.with(sql, Value::Number(number));
        }
        statement.text.push(')');
    }

    /// The device is one of the facts, which are an object in JSON.
    fn device(statement: &mut Statement, text: &str, sqlite: bool) {
        let quoted = serde_json::Value::from(text).to_string();
        let inner = &quoted[1..quoted.len() - 1];
        // A pattern cannot end at the end of the value; the device is the last fact of a measurement.
        let pattern = format!("%\"device\":\"{}", containing(inner));
        let place = statement.bind(Value::Text(pattern));
        let facts = lower("run.facts", sqlite, text.is_ascii());
        statement.text += &format!(" AND {facts} LIKE {place} ESCAPE '\\'");
    }

    fn series_statement(filter: &SeriesFilter, sqlite: bool) -> Statement {
        let mut statement = Statement::new(POINTS);
        statement.with(" AND figure.name = ?", Value::Text(filter.figure.clone()));
        if !filter.name.is_empty() {
            statement.with(" AND run.name = ?", Value::Text(filter.name.clone()));
        }
        if !filter.device.is_empty() {
            device(&mut statement, &filter.device, sqlite);
        }
        statement.with(
            " ORDER BY run.number DESC, figure.position DESC LIMIT ?",
            Value::Number(i64::from(filter.limit)),
        );
        statement
    }

    fn list_statement(filter: &ListFilter, sqlite: bool) -> Statement {
        let mut statement = Statement::new(COLUMNS);
        statement.text += " WHERE 1 = 1";
        if let Some(before) = filter.before {
            statement.with(" AND number < ?", Value::Number(signed(before.get())));
        }
        if let Some(after) = filter.after {
            statement.with(" AND number > ?", Value::Number(signed(after.get())));
        }
        for text in &filter.texts {
            let place = statement.bind(Value::Text(containing(text)));
            let columns = ["run.name", "kind", "facts"].map(|column| {
                let column = lower(column, sqlite, text.is_ascii());
                format!("{column} LIKE {place} ESCAPE '\\'")
            });
            statement.text += &format!(" AND ({})", columns.join(" OR "));
        }
        if !filter.kind.is_empty() {
            statement.with(" AND kind = ?", Value::Text(filter.kind.clone()));
        }
        if !filter.state.is_empty() {
            statement.with(" AND state = ?", Value::Text(filter.state.clone()));
        }
        if !filter.device.is_empty() {
            device(&mut statement, &filter.device, sqlite);
        }
        for (name, value) in &filter.labels {
            statement.with(
                " AND number IN (SELECT run FROM label WHERE name = ?",
                Value::Text(name.clone()),
            );
            statement.with(" AND value = ?)", Value::Text(value.clone()));
        }
        if !filter.verdict.is_empty() {
            let rank = VERDICTS
                .iter()
                .position(|verdict| *verdict == filter.verdict);
            statement.text += " AND ";
            statement.text += WORST;
            // An unknown verdict has no runs.
            statement.with(" = ?", Value::Number(rank.map_or(-1, |rank| rank as i64)));
        }
        statement.text += if filter.after.is_some() {
            " ORDER BY number"
        } else {
            " ORDER BY number DESC"
        };
        statement.with(" LIMIT ?", Value::Number(i64::from(filter.limit)));
        statement
    }

    fn read_point(row: &AnyRow) -> sqlx::Result<FigurePoint> {
        Ok(FigurePoint {
            run: RunId::new(unsigned(row.try_get("run")?)),
            cell: unsigned(row.try_get("position")?),
            name: row.try_get("name")?,
            axes: read_pairs(row.try_get("axes")?),
            facts: read_pairs(row.try_get("facts")?),
            started_unix_ns: unsigned(row.try_get("created_ns")?),
            verdict: row.try_get("verdict")?,
            figure: row.try_get("figure")?,
            value: row.try_get("value")?,
        })
    }

    #[cfg(test)]
    mod tests {
        use fathom_testkit::Scratch;
        use sqlx::Row;

        use super::{SeriesFilter, Statement, series_statement};
        use crate::Store;

        /// Regression 1304: the newest values of a figure were sorted out of all figures of the store, a million of 100,000 runs.
        #[test]
        fn regression_1304_the_values_of_a_figure_are_read_from_the_newest_run_on() {
            let scratch = Scratch::new().expect("a directory");
            let mut store = Store::open(&scratch.join("store.db")).expect("a store");
            for (name, device) in [("", ""), ("nightly", ""), ("", "SM863")] {
                let filter = SeriesFilter {
                    figure: "read iops".into(),
                    name: name.into(),
                    device: device.into(),
                    limit: 2000,
                };
                let Statement { text, values } = series_statement(&filter, true);
                let text = format!("EXPLAIN QUERY PLAN {text}");
                let rows = store.rows(Statement { text, values }).expect("a plan");
                let plan: Vec<String> = rows
                    .iter()
                    .map(|row| row.try_get("detail").expect("a step"))
                    .collect();
                // <https://sqlite.org/eqp.html>: SCAN reads all of a table, SEARCH a part of it.
                assert!(plan[0].starts_with("SCAN run USING INDEX"), "{plan:?}");
                assert!(plan[1].starts_with("SEARCH figure"), "{plan:?}");
                assert!(plan[2].starts_with("SEARCH cell"), "{plan:?}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::containing;

    #[test]
    fn wildcards_of_like_are_literal() {
        assert_eq!(containing("50%_A\\b"), "%50\\%\\_a\\\\b%");
    }
}
