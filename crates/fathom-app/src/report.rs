//! The result as text and JSON.

use fathom_model::Histogram;
use fathom_model::format::{bandwidth, bytes, counted, duration, percent, rate};
use serde_json::{Value, json};

use crate::{AppSpec, DiskUse, Engine, Limit, Measured, MemoryReport};

/// Percentiles of the result, with their names in JSON.
const PERCENTILES: [(f64, &str); 6] = [
    (50.0, "p50"),
    (90.0, "p90"),
    (95.0, "p95"),
    (99.0, "p99"),
    (99.9, "p99_9"),
    (100.0, "max"),
];
/// Nanoseconds of a second.
const NS: f64 = 1e9;

/// Where a database was run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// The path of the user.
    pub path: String,
    /// Type of its file system and its device, such as `ext4 on vda`.
    pub file_system: String,
    /// CPUs that may be used.
    pub cpus: u32,
    /// Memory that the engine with its page cache may use, bytes.
    pub memory_limit: Option<u64>,
    /// Commits per second of one client that writes 8 KiB and syncs, measured before the run in the same folder.
    pub commits_per_second: Option<f64>,
    /// Its method.
    pub commit_method: String,
    /// What affects the result, each with its consequence.
    pub notes: Vec<String>,
}

/// The result of a database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppReport {
    /// What was run.
    pub spec: AppSpec,
    /// What was measured.
    pub measured: Measured,
    /// Where.
    pub at: Circumstances,
    /// What limits it.
    pub limit: Limit,
}

impl AppReport {
    /// The result of a run.
    #[must_use]
    pub fn new(spec: AppSpec, measured: Measured, at: Circumstances) -> AppReport {
        let limit = Limit::of(&spec, &measured, &at);
        AppReport {
            spec,
            measured,
            at,
            limit,
        }
    }

    fn seconds(&self) -> f64 {
        (self.measured.elapsed_ns as f64 / NS).max(1e-9)
    }

    /// A count for each transaction.
    fn per(&self, count: u64) -> Option<f64> {
        (self.measured.transactions > 0).then(|| count as f64 / self.measured.transactions as f64)
    }

    /// Transactions for each flush of the device; `None` without flushes or without changes.
    #[must_use]
    pub fn commits_per_flush(&self) -> Option<f64> {
        let flushes = self.measured.log_disk()?.flushes;
        (flushes > 0 && self.writes_log())
            .then(|| self.measured.transactions as f64 / flushes as f64)
    }

    /// Whether each transaction may have written a commit to the log. A script may contain anything, but a record in the log of
    /// PostgreSQL has a header of 24 bytes (`SizeOfXLogRecord`): with less log for each transaction, most only read.
    fn writes_log(&self) -> bool {
        const RECORD_HEADER: f64 = 24.0;
        let log = self.measured.counters.get("pg_stat_wal.wal_bytes");
        let too_little =
            log.is_some_and(|bytes| *bytes < RECORD_HEADER * self.measured.transactions as f64);
        !self.spec.transaction.only_reads() && !too_little
    }

    /// Bytes written to the device for each byte of changed rows.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        let changed = self.spec.changed_bytes().filter(|one| *one > 0)?;
        let all = changed
            .checked_mul(self.measured.transactions)
            .filter(|all| *all > 0)?;
        Some(self.measured.device_written_bytes()? as f64 / all as f64)
    }

    /// Transactions per second divided by the commits per second of `fathom fsync`, for one client whose commits are durable.
    #[must_use]
    pub fn of_predicted(&self) -> Option<f64> {
        let durable = self.spec.commits_are_durable() && !self.spec.transaction.only_reads();
        let commits = self.at.commits_per_second.filter(|one| *one > 0.0)?;
        (self.spec.clients == 1 && self.spec.rate.is_none() && durable)
            .then(|| self.measured.tps() / commits)
    }

    /// The first line.
    #[must_use]
    pub fn title(&self) -> String {
        let (spec, measured) = (&self.spec, &self.measured);
        let settings = match spec.engine {
            Engine::Sqlite => format!(", {}", spec.journal.name()),
            Engine::Postgres => String::new(),
            Engine::Mariadb => format!(", rows {}", spec.distribution.name()),
        };
        let pace = spec.rate.map_or(String::new(), |wanted| {
            format!(" at {} per second", rate(wanted))
        });
        format!(
            "{} {} on {} ({}): {}{pace}, {}{settings}, {} of data",
            spec.engine.title(),
            measured.version,
            self.at.path,
            self.at.file_system,
            spec.transaction.name(),
            counted(u64::from(spec.clients), "client"),
            bytes(measured.data_bytes),
        )
    }

    /// The result in sentences.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let measured = &self.measured;
        let mut all = vec![format!("{}.", self.title()), self.throughput()];
        all.extend(self.spec.crash_safety().risk().map(|risk| {
            format!(
                "This configuration {risk}: compare its rate only with that of an equally safe one."
            )
        }));
        all.extend(latency_sentence("Latency", &measured.latency()));
        if self.spec.rate.is_some() {
            all.extend(latency_sentence("Of it waiting to start", &measured.lag()));
        }
        all.extend(measured.disk().map(|disk| self.device_sentence("", disk)));
        let log = measured.log_disks.last();
        all.extend(log.map(|disk| self.device_sentence("The log is on ", disk)));
        for streams in &measured.streams {
            all.extend(streams.sentences(measured.transactions));
        }
        all.extend(self.efficiency_sentence());
        let cpu = (measured.user_ns + measured.system_ns) as f64;
        let mut used = format!(
            "{} used {:.2} of {}",
            self.spec.engine.title(),
            cpu / measured.elapsed_ns.max(1) as f64,
            counted(u64::from(self.at.cpus), "CPU"),
        );
        if measured.transactions > 0 {
            used += &format!(
                ", {} for each transaction",
                duration(cpu / measured.transactions as f64)
            );
        }
        // MariaDB does not use the page cache.
        let hits = measured.page_cache_hits();
        if let Some(hits) = hits.filter(|_| self.spec.engine != Engine::Mariadb) {
            used += &format!(
                "; memory served {} of the bytes that it read from files",
                percent(100.0 * hits)
            );
        }
        if let Some(limit) = self.at.memory_limit {
            used += &format!(", with a limit of {}", bytes(limit));
        }
        all.push(used + ".");
        all.extend(self.cache_sentence());
        if let (Some(share), Some(commits)) = (self.of_predicted(), self.at.commits_per_second) {
            let flushes = self
                .measured
                .log_disk()
                .and_then(|disk| self.per(disk.flushes));
            let flushes = flushes.map_or(String::new(), |per| {
                format!(", with {per:.2} flushes for each transaction")
            });
            all.push(format!(
                "{} made {} commits per second of 8 KiB just before: the database reaches {} of it{flushes}.",
                self.at.commit_method,
                rate(commits),
                percent(100.0 * share)
            ));
        }
        all.push(self.limit.sentence.clone());
        all.extend(self.at.notes.iter().cloned());
        all.extend(
            measured
                .error
                .iter()
                .map(|error| format!("It ended early: {error}")),
        );
        all
    }

    fn throughput(&self) -> String {
        let measured = &self.measured;
        let mut text = format!(
            "{} transactions per second: {} in {}, {} failed",
            rate(measured.tps()),
            counted(measured.transactions, "transaction"),
            duration(measured.elapsed_ns as f64),
            measured.failed,
        );
        if let Some(limit) = self.spec.latency_limit_ns {
            text += &format!(
                "; {} slower than {}, {} skipped",
                measured.late,
                duration(limit as f64),
                measured.skipped
            );
        }
        text + "."
    }

    fn device_sentence(&self, before: &str, disk: &DiskUse) -> String {
        let seconds = self.seconds();
        let each = |count: u64| {
            let per = self.per(count).map_or(String::new(), |per| {
                format!(", {per:.2} for each transaction")
            });
            format!("{}/s{per}", rate(count as f64 / seconds))
        };
        format!(
            "{before}{}: reads {} ({}), writes {} ({}), flushes {}; busy {} of the time.",
            disk.name,
            each(disk.reads),
            bandwidth(disk.read_bytes as f64 / seconds),
            each(disk.writes),
            bandwidth(disk.written_bytes as f64 / seconds),
            each(disk.flushes),
            percent(
                (100.0 * disk.busy_ns as f64 / self.measured.elapsed_ns.max(1) as f64).min(100.0)
            ),
        )
    }

    fn efficiency_sentence(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(commits) = self.commits_per_flush() {
            parts.push(format!("{commits:.2} commits for each flush"));
        }
        if let (Some(amplification), Some(changed)) =
            (self.write_amplification(), self.spec.changed_bytes())
        {
            parts.push(format!(
                "write amplification {amplification:.1}: {} reach the device for {changed} bytes of changed rows",
                bytes(self.per(self.measured.device_written_bytes()?)? as u64),
            ));
        }
        (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
    }

    /// What the engine says about its own cache and log.
    fn cache_sentence(&self) -> Option<String> {
        let counter = |name: &str| self.measured.counters.get(name).copied();
        if let Some(requests) = counter("Innodb_buffer_pool_read_requests") {
            return Some(self.innodb_sentence(requests));
        }
        let (hits, reads) = (
            counter("pg_stat_database.blks_hit")?,
            counter("pg_stat_database.blks_read").unwrap_or(0.0),
        );
        let mut text = format!(
            "{} of the blocks were in shared_buffers",
            percent(100.0 * hits / (hits + reads).max(1.0))
        );
        if let (Some(bytes_of_log), Some(transactions)) = (
            counter("pg_stat_wal.wal_bytes"),
            Some(self.measured.transactions).filter(|count| *count > 0),
        ) {
            text += &format!(
                "; a transaction writes {} of log",
                bytes((bytes_of_log / transactions as f64) as u64)
            );
            if let Some(pages) = counter("pg_stat_wal.wal_fpi") {
                text += &format!(
                    " with {:.2} full pages, which follow a checkpoint",
                    pages / transactions as f64
                );
            }
        }
        if let Some(syncs) = counter("pg_stat_wal.wal_sync") {
            text += &format!(
                "; the log was synced {:.2} times for each transaction",
                syncs / self.measured.transactions.max(1) as f64
            );
        }
        Some(text + ".")
    }

    /// `requests` are those for pages. `Innodb_buffer_pool_reads` are the ones that had to read.
    fn innodb_sentence(&self, requests: f64) -> String {
        let counter = |name: &str| self.measured.counters.get(name).copied().unwrap_or(0.0);
        let mut text = format!(
            "{} of {} requests for pages were served by the buffer pool",
            percent(100.0 * self.measured.hit_share().unwrap_or(0.0)),
            rate(requests)
        );
        if self.measured.transactions > 0 {
            let per = |name: &str| counter(name) / self.measured.transactions as f64;
            if per("Innodb_os_log_written") > 0.0 {
                text += &format!(
                    "; a transaction writes {} of log; InnoDB synced its files {:.2} times and wrote {:.2} pages for each \
                     transaction",
                    bytes(per("Innodb_os_log_written") as u64),
                    per("Innodb_data_fsyncs"),
                    per("Innodb_buffer_pool_pages_flushed"),
                );
            }
            let repeated = counter("sysbench.ignored_errors") as u64;
            if repeated > 0 {
                text += &format!(
                    "; {} repeated after a deadlock or a lock that was not granted in time",
                    counted(repeated, "transaction")
                );
            }
        }
        text + "."
    }

    /// The result for programs. Times are in nanoseconds.
    #[must_use]
    pub fn json(&self) -> Value {
        let (spec, measured) = (&self.spec, &self.measured);
        let disk = measured.disk();
        let per = |count: fn(&crate::DiskUse) -> u64| disk.and_then(|disk| self.per(count(disk)));
        let mut document = json!({
            "engine": spec.engine.name(),
            "version": measured.version,
            "path": self.at.path,
            "file_system": self.at.file_system,
            "transaction": spec.transaction.name(),
            "clients": spec.clients,
            "scale": spec.scale,
            "rate": spec.rate,
            "latency_limit_ns": spec.latency_limit_ns,
            "journal": (spec.engine == Engine::Sqlite).then(|| spec.journal.name()),
            "distribution": (spec.engine == Engine::Mariadb).then(|| spec.distribution.name()),
            "cache_bytes": spec.cache,
            "memory_limit_bytes": self.at.memory_limit,
            "data_bytes": measured.data_bytes,
            "elapsed_ns": measured.elapsed_ns,
            "transactions": measured.transactions,
            "failed": measured.failed,
            "late": measured.late,
            "skipped": measured.skipped,
            "tps": measured.tps(),
            "latency_ns": latency_json(&measured.latency()),
            "lag_ns": spec.rate.map(|_| latency_json(&measured.lag())),
            "devices": measured.disks,
            "per_transaction": {
                "reads": per(|disk| disk.reads),
                "writes": per(|disk| disk.writes),
                "flushes": per(|disk| disk.flushes),
                "read_bytes": per(|disk| disk.read_bytes),
                "written_bytes": per(|disk| disk.written_bytes),
                "cpu_ns": self.per(measured.user_ns + measured.system_ns),
            },
            "commits_per_flush": self.commits_per_flush(),
            "write_amplification": self.write_amplification(),
            "io": {
                "rchar": measured.read_bytes,
                "read_bytes": measured.device_read_bytes,
                "wchar": measured.written_bytes,
            },
            "hit_share": measured.hit_share(),
            "user_ns": measured.user_ns,
            "system_ns": measured.system_ns,
            "samples": measured.activity,
            "counters": measured.counters,
            "summary": measured.summary,
            "commit_method": self.at.commit_method,
            "commits_per_second": self.at.commits_per_second,
            "of_predicted": self.of_predicted(),
            "limit": self.limit,
            "notes": self.at.notes,
            "unknown": measured.unknown,
            "interrupted": measured.interrupted,
            "error": measured.error,
        });
        document["log_devices"] = json!(measured.log_disks);
        document["streams"] = json!(measured.streams);
        document["settings"] = spec
            .settings
            .iter()
            .map(|setting| (setting.name().to_owned(), json!(setting.value())))
            .collect();
        document["crash_safety"] = json!(spec.crash_safety());
        document
    }
}

fn latency_sentence(name: &str, latency: &Histogram) -> Option<String> {
    if latency.count() == 0 {
        return None;
    }
    let mut text = format!("{name}: mean {}", duration(latency.mean()));
    for (percentile, of) in PERCENTILES {
        let value = latency.percentile(percentile).unwrap_or(0.0);
        text += &format!(", {} {}", of.replace('_', "."), duration(value));
    }
    Some(text + ".")
}

fn latency_json(latency: &Histogram) -> Value {
    let mut fields = serde_json::Map::new();
    fields.insert("mean".to_owned(), json!(latency.mean()));
    for (percentile, name) in PERCENTILES {
        fields.insert(name.to_owned(), json!(latency.percentile(percentile)));
    }
    Value::Object(fields)
}

impl MemoryReport {
    /// The result as text: a table and what it says.
    #[must_use]
    pub fn text(&self) -> String {
        let is_limited = self.rows.iter().any(|row| row.limit_bytes > 0);
        let mut text = format!("{}, {} of data", self.engine, bytes(self.data_bytes));
        text += if is_limited {
            ", in less and less memory (cache of the engine and page cache together)\n\n"
        } else {
            "\n\n"
        };
        let axes = self.rows.first().map_or(&[][..], |row| &row.axes[..]);
        let mut head: Vec<&str> = axes.iter().map(|(name, _)| name.as_str()).collect();
        if is_limited {
            head.extend(["memory", "of data"]);
        }
        head.extend([
            "tps",
            "p99",
            "reads/s",
            "reads/trans.",
            "mean read",
            "sequential",
            "from memory",
            "commits/flush",
        ]);
        let share = |one: Option<f64>| one.map_or("-".to_owned(), |one| percent(100.0 * one));
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                let mut cells: Vec<String> =
                    row.axes.iter().map(|(_, value)| value.clone()).collect();
                if is_limited {
                    cells.extend([bytes(row.limit_bytes), percent(row.percent)]);
                }
                cells.extend([
                    rate(row.tps),
                    duration(row.p99_ns),
                    rate(row.reads_per_second),
                    format!("{:.2}", row.reads_per_transaction),
                    row.mean_read_bytes
                        .map_or("-".to_owned(), |size| bytes(size as u64)),
                    share(row.sequential_share),
                    share(row.hit_share),
                    row.commits_per_flush
                        .map_or("-".to_owned(), |commits| format!("{commits:.2}")),
                ]);
                cells
            })
            .collect();
        // A column without any value is left out.
        let columns: Vec<(usize, usize)> = (0..head.len())
            .filter(|column| cells.iter().any(|row| row[*column] != "-"))
            .map(|column| {
                let longest = cells.iter().map(|row| row[column].len()).max().unwrap_or(0);
                (column, longest.max(head[column].len()))
            })
            .collect();
        let mut line = |row: &[&str]| {
            let cells: Vec<String> = columns
                .iter()
                .map(|(column, width)| format!("{:>width$}", row[*column]))
                .collect();
            text += cells.join("  ").trim_end();
            text += "\n";
        };
        line(&head);
        for row in &cells {
            line(&row.iter().map(String::as_str).collect::<Vec<&str>>());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// 1000 commits with 500 flushes and 7 MB written for 350 bytes of rows each: 2 commits per flush, 20 bytes for each byte.
    #[test]
    fn figures_for_each_transaction_are_those_of_the_counters() {
        let report = AppReport::new(
            AppSpec {
                clients: 1,
                ..AppSpec::default()
            },
            Measured {
                elapsed_ns: 10_000_000_000,
                transactions: 1000,
                disks: vec![DiskUse {
                    name: "sda".to_owned(),
                    writes: 3000,
                    written_bytes: 7_000_000,
                    flushes: 500,
                    ..DiskUse::default()
                }],
                ..Measured::default()
            },
            Circumstances {
                commits_per_second: Some(125.0),
                ..Circumstances::default()
            },
        );
        assert_eq!(report.commits_per_flush(), Some(2.0));
        assert_eq!(report.write_amplification(), Some(20.0));
        assert_eq!(report.of_predicted(), Some(0.8));
        let json = report.json();
        assert_eq!(json["tps"], 100.0);
        assert_eq!(json["per_transaction"]["writes"], 3.0);
        assert_eq!(json["limit"]["kind"], "unknown");
        let text = report.sentences().join("\n");
        assert!(
            text.contains("100 transactions per second: 1,000 transactions in 10.00 s"),
            "{text}"
        );
        assert!(text.contains("the database reaches 80 %"), "{text}");
    }

    /// With the log on a device of its own, what both devices write and flush belongs to the transactions: 7 MB and 3.5 MB for 350 bytes of
    /// rows each are 30 bytes for each byte.
    #[test]
    fn the_device_of_the_log_is_part_of_what_transactions_cost() {
        let disk = |name: &str, writes, written_bytes, flushes| DiskUse {
            name: name.to_owned(),
            writes,
            written_bytes,
            flushes,
            ..DiskUse::default()
        };
        let measured = Measured {
            elapsed_ns: 10_000_000_000,
            transactions: 1000,
            disks: vec![disk("sda", 3000, 7_000_000, 20)],
            log_disks: vec![disk("sdb", 1000, 3_500_000, 500)],
            ..Measured::default()
        };
        let costs = measured.costs();
        assert_eq!((costs.writes, costs.flushes), (4000, 520));
        let report = AppReport::new(AppSpec::default(), measured, Circumstances::default());
        assert_eq!(report.write_amplification(), Some(30.0));
        assert_eq!(report.commits_per_flush(), Some(2.0));
    }

    /// Regression 0940: a script of reads had thousands of "commits for each flush": the flushes were those of other programs.
    /// 1,000 transactions with 24 bytes of log each may have committed, with 23 most of them did not.
    #[test]
    fn a_script_that_writes_no_log_has_no_commits() {
        let commits = |log: f64| {
            let spec = AppSpec {
                transaction: crate::Transaction::Script("reads.sql".into()),
                ..AppSpec::default()
            };
            let measured = Measured {
                elapsed_ns: 10_000_000_000,
                transactions: 1000,
                disks: vec![DiskUse {
                    flushes: 10,
                    ..DiskUse::default()
                }],
                counters: [("pg_stat_wal.wal_bytes".to_owned(), log)].into(),
                ..Measured::default()
            };
            AppReport::new(spec, measured, Circumstances::default()).commits_per_flush()
        };
        assert_eq!(commits(24_000.0), Some(100.0));
        assert_eq!(commits(23_000.0), None);
    }
}
