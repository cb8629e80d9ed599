//! Results of `fathom fsync`.

/// One measurement of commits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommitRow {
    /// The method, such as `fdatasync`.
    pub method: String,
    /// Writes of one commit.
    pub writes: u32,
    /// Bytes of one write.
    pub size: u32,
    /// Clients that commit at the same time.
    pub clients: u32,
    /// The page cache was bypassed.
    pub direct: bool,
    /// Commits that were measured.
    pub commits: u64,
    /// Commits per second.
    pub rate: f64,
    /// Median time of a commit, nanoseconds.
    pub median: f64,
    /// 99th percentile, nanoseconds.
    pub p99: f64,
    /// The longest, nanoseconds.
    pub max: f64,
    /// Syncs per commit; fewer than one where commits are grouped.
    pub syncs: f64,
    /// Flushes of the device per commit; `None` if its counters are not known.
    pub flushes: Option<f64>,
    /// Writes of the device per commit, with and without forced unit access, which the kernel does not count separately.
    pub device_writes: Option<f64>,
    /// Why it was not measured.
    pub failed: Option<String>,
}

/// The answer of `fathom fsync`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommitReport {
    /// The directory.
    pub target: String,
    /// Every method with one and two writes.
    pub methods: Vec<CommitRow>,
    /// The chosen method with several sizes.
    pub sizes: Vec<CommitRow>,
    /// The chosen method with several clients.
    pub clients: Vec<CommitRow>,
    /// The method to choose.
    pub choice: Option<String>,
    /// Why.
    pub reason: String,
    /// Conditions that affect the result, each with its consequence.
    pub notes: Vec<String>,
}

/// Methods that are this close in their rate are equal.
const EQUAL: f64 = 0.95;
/// The method to prefer among equal ones: it flushes no metadata that a preallocated log does not need, needs no special
/// file flags, and is the default of PostgreSQL on Linux.
const PREFERRED: &str = "fdatasync";

/// The method to choose among rows of one write, and why.
#[must_use]
pub fn choose_method(rows: &[CommitRow]) -> (Option<String>, String) {
    let measured: Vec<&CommitRow> = rows
        .iter()
        .filter(|row| row.failed.is_none() && row.writes == 1 && row.commits > 0)
        .collect();
    let Some(fastest) = measured.iter().max_by(|a, b| a.rate.total_cmp(&b.rate)) else {
        return (None, "no method could be measured".to_owned());
    };
    let preferred = measured
        .iter()
        .find(|row| row.method == PREFERRED && row.rate >= EQUAL * fastest.rate);
    let figures = |row: &CommitRow| {
        format!(
            "{} commits/s, median {}, p99 {}",
            crate::format::rate(row.rate),
            crate::format::duration(row.median),
            crate::format::duration(row.p99)
        )
    };
    match preferred {
        Some(row) if row.method == fastest.method => (
            Some(row.method.clone()),
            format!("{} is the fastest: {}", row.method, figures(row)),
        ),
        Some(row) => (
            Some(row.method.clone()),
            format!(
                "{} is within 5 % of the fastest, {}, and needs no special flags: {}",
                row.method,
                fastest.method,
                figures(row)
            ),
        ),
        None => {
            let compared = measured
                .iter()
                .find(|row| row.method == PREFERRED && row.rate > 0.0)
                .map_or(String::new(), |row| {
                    format!(
                        "; {PREFERRED} reaches {:.0} % of it",
                        100.0 * row.rate / fastest.rate
                    )
                });
            (
                Some(fastest.method.clone()),
                format!(
                    "{} is the fastest: {}{compared}",
                    fastest.method,
                    figures(fastest)
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(method: &str, rate: f64) -> CommitRow {
        CommitRow {
            method: method.to_owned(),
            writes: 1,
            commits: 100,
            rate,
            median: 1e9 / rate,
            p99: 2e9 / rate,
            ..CommitRow::default()
        }
    }

    #[test]
    fn the_fastest_method_is_chosen_and_fdatasync_among_equal_ones() {
        let choice = |rows: &[CommitRow]| choose_method(rows).0;
        assert_eq!(
            choice(&[row("open_sync", 1000.0), row("fdatasync", 960.0)]).as_deref(),
            Some("fdatasync")
        );
        assert_eq!(
            choice(&[row("open_sync", 1000.0), row("fdatasync", 900.0)]).as_deref(),
            Some("open_sync")
        );
        let mut failed = row("rwf_dsync", 5000.0);
        failed.failed = Some("not supported".to_owned());
        assert_eq!(
            choice(&[failed, row("fsync", 10.0)]).as_deref(),
            Some("fsync")
        );
        assert_eq!(choice(&[]), None);
    }
}
