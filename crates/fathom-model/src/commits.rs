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
    /// Writes of the device per commit, with and without forced unit access, which the kernel's counters do not distinguish.
    pub device_writes: Option<f64>,
    /// Those of them with forced unit access; `None` if it is not known.
    pub fua: Option<f64>,
    /// Commits per second of each round; rounds of the same number were measured next to each other.
    pub rounds: Vec<f64>,
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

/// Rounds in which the methods are measured.
pub const COMMIT_ROUNDS: u32 = 5;
/// Student's t with four degrees of freedom (five rounds), 0.5 % in each tail.
const T_OF_ROUNDS: f64 = 4.604;
/// Methods whose rates differ by less are equal for an application, however exactly both are known.
const EQUAL: f64 = 0.05;
/// The methods to prefer among equal ones, the simplest first. fdatasync is the default of PostgreSQL on Linux: no special flags,
/// and no metadata that a log of fixed size does not need; fsync also writes times of the file; the next ones need flags
/// at each open, and direct I/O for their speed; the last ones need the newest interfaces.
const SIMPLEST: [&str; 6] = [
    "fdatasync",
    "fsync",
    "open_datasync",
    "open_sync",
    "rwf_dsync",
    "io_uring",
];

/// By what factor the rate of `row` differs from that of `other`: the interval of 99 % of the geometric mean over the rounds.
/// `None` if a round without commits, or too few rounds, leave it unknown.
fn ratio(row: &CommitRow, other: &CommitRow) -> Option<(f64, f64)> {
    let rounds = COMMIT_ROUNDS as usize;
    let known = row.rounds.len() == rounds && other.rounds.len() == rounds;
    let pairs = row.rounds.iter().zip(&other.rounds);
    let logs: Vec<f64> = pairs.map(|(own, other)| (own / other).ln()).collect();
    if !known || !logs.iter().all(|log| log.is_finite()) {
        return None;
    }
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
    let half = T_OF_ROUNDS * (squares / (count - 1.0) / count).sqrt();
    Some(((mean - half).exp(), (mean + half).exp()))
}

/// The method to choose among rows of one write, and why: the simplest of those that are not surely slower than the fastest.
#[must_use]
pub fn choose_method(rows: &[CommitRow]) -> (Option<String>, String) {
    let measured: Vec<&CommitRow> = rows
        .iter()
        .filter(|row| row.failed.is_none() && row.writes == 1 && row.commits > 0)
        .collect();
    let Some(fastest) = measured.iter().max_by(|a, b| a.rate.total_cmp(&b.rate)) else {
        return (None, "no method could be measured".to_owned());
    };
    let is_equal = |row: &CommitRow| {
        let high = ratio(row, fastest).map_or(f64::INFINITY, |(_, high)| high);
        high >= 1.0 || row.rate >= (1.0 - EQUAL) * fastest.rate
    };
    let equal: Vec<&CommitRow> = SIMPLEST
        .iter()
        .filter_map(|name| measured.iter().copied().find(|row| row.method == *name))
        .filter(|row| row.method == fastest.method || is_equal(row))
        .collect();
    let chosen = equal.first().copied().unwrap_or(fastest);
    let figures = format!(
        "{} commits/s, median {}, p99 {}",
        crate::format::rate(chosen.rate),
        crate::format::duration(chosen.median),
        crate::format::duration(chosen.p99)
    );
    let others: Vec<&str> = equal
        .iter()
        .map(|row| row.method.as_str())
        .filter(|name| *name != chosen.method)
        .collect();
    let reason = if others.is_empty() {
        let next = measured
            .iter()
            .filter(|row| row.method != chosen.method)
            .max_by(|a, b| a.rate.total_cmp(&b.rate));
        let next = next.map_or(String::new(), |next| {
            let interval = ratio(next, chosen).map_or(String::new(), |(low, high)| {
                format!(" (99 % CI {:.0} to {:.0} %)", 100.0 * low, 100.0 * high)
            });
            format!(
                "; the next one, {}, reaches {:.0} % of it{interval}",
                next.method,
                100.0 * next.rate / chosen.rate
            )
        });
        format!("it is the fastest: {figures}{next}")
    } else {
        format!(
            "{figures}. This measurement shows no difference from {} that matters (below 5 %, or not certain: 99 % CI), and {} is \
             the simplest of them; a longer --runtime shows smaller differences",
            others.join(", "),
            chosen.method
        )
    };
    (Some(chosen.method.clone()), reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row whose rounds differ from its rate by these shares.
    fn noisy(method: &str, rate: f64, shares: [f64; 5]) -> CommitRow {
        CommitRow {
            method: method.to_owned(),
            writes: 1,
            commits: 100,
            rate,
            median: 1e9 / rate,
            p99: 2e9 / rate,
            rounds: shares.map(|share| rate * share).to_vec(),
            ..CommitRow::default()
        }
    }

    fn row(method: &str, rate: f64) -> CommitRow {
        noisy(method, rate, [1.0, 1.01, 0.99, 1.005, 0.995])
    }

    #[test]
    fn the_fastest_method_is_chosen_and_the_simplest_among_equal_ones() {
        let choice = |rows: &[CommitRow]| choose_method(rows).0;
        assert_eq!(
            choice(&[row("open_sync", 1000.0), row("fdatasync", 960.0)]).as_deref(),
            Some("fdatasync")
        );
        assert_eq!(
            choice(&[row("open_sync", 1000.0), row("fdatasync", 900.0)]).as_deref(),
            Some("open_sync")
        );
        // Both are faster than fdatasync, and equal.
        assert_eq!(
            choice(&[
                row("io_uring", 1000.0),
                row("open_datasync", 990.0),
                row("fdatasync", 500.0)
            ])
            .as_deref(),
            Some("open_datasync")
        );
        let mut failed = row("rwf_dsync", 5000.0);
        failed.failed = Some("not supported".to_owned());
        assert_eq!(
            choice(&[failed, row("fsync", 10.0)]).as_deref(),
            Some("fsync")
        );
        assert_eq!(choice(&[]), None);
    }

    /// Regression 0811: a method was recommended that was faster by luck.
    #[test]
    fn a_difference_within_the_noise_does_not_decide() {
        let fdatasync = noisy("fdatasync", 800.0, [0.5, 1.5, 0.7, 1.4, 0.9]);
        let open_sync = noisy("open_sync", 1000.0, [1.4, 0.6, 1.2, 0.7, 1.1]);
        let (choice, reason) = choose_method(&[open_sync.clone(), fdatasync]);
        assert_eq!(choice.as_deref(), Some("fdatasync"), "{reason}");
        assert!(
            reason.contains("no difference from open_sync") && reason.contains("simplest"),
            "{reason}"
        );
        // Noise that both share does not hide a difference: it is the same in each pair.
        let slower = noisy("fdatasync", 800.0, [1.4, 0.6, 1.2, 0.7, 1.1]);
        let (choice, reason) = choose_method(&[open_sync, slower]);
        assert_eq!(choice.as_deref(), Some("open_sync"), "{reason}");
        assert!(
            reason.contains("80 % of it (99 % CI 80 to 80 %)"),
            "{reason}"
        );
    }

    /// Log ratios 0.1, 0.2, 0.3, 0.4, 0.5: mean 0.3, standard error sqrt(0.025 / 5), t(0.995, 4) = 4.604.
    #[test]
    fn the_interval_of_a_ratio_by_hand() {
        let base = noisy("a", 1.0, [1.0; 5]);
        let other = noisy("b", 1.0, [0.1_f64, 0.2, 0.3, 0.4, 0.5].map(f64::exp));
        let (low, high) = ratio(&other, &base).expect("known");
        let half = 4.604 * (0.025_f64 / 5.0).sqrt();
        assert!((low.ln() - 0.3 + half).abs() < 1e-9 && (high.ln() - 0.3 - half).abs() < 1e-9);
        let empty = noisy("c", 1.0, [0.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(ratio(&empty, &base), None);
    }
}
