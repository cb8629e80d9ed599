//! The short report: one row for each measured direction.

use fathom_model::{DirectionSummary, Entry, Findings, LatencySummary, PerDirection, TotalSummary};

use crate::Style;
use crate::output::wrap;
use fathom_model::format::{TimeUnit, rate};

/// The columns after the title: heading, width, and minimum page width.
const COLUMNS: [(&str, usize, usize); 5] = [
    ("IOPS", 9, 0),
    ("MB/s", 7, 56),
    ("median", 9, 0),
    ("p99", 9, 48),
    ("p99.9", 9, 72),
];
/// Minimum length of a title.
const SHORTEST_TITLE: usize = 12;
/// Maximum length of a title.
const LONGEST_TITLE: usize = 44;

/// Of more hosts than this only the slowest and the fastest are shown.
const MOST_HOSTS: usize = 4;

/// Percentiles of the last columns.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// The figures of a row: texts of rate and bandwidth, percentiles in nanoseconds.
#[derive(Clone, Debug)]
struct Row {
    title: String,
    rates: [String; 2],
    latencies: [Option<f64>; 3],
}

/// The texts of the rows. The latencies of a column have one unit, so that rows can be compared at a glance.
fn texts(rows: Vec<Row>) -> Vec<(String, [String; 5])> {
    let units: [TimeUnit; 3] = std::array::from_fn(|column| {
        TimeUnit::common(rows.iter().filter_map(|row| row.latencies[column]))
    });
    let text = |row: Row| {
        let at = |column: usize| {
            row.latencies[column].map_or("-".to_owned(), |ns| units[column].format(ns))
        };
        let latencies = [at(0), at(1), at(2)];
        let [rate, bandwidth] = row.rates;
        let [median, p99, p999] = latencies;
        (row.title, [rate, bandwidth, median, p99, p999])
    };
    rows.into_iter().map(text).collect()
}

/// A table of rate, bandwidth in 10^6 bytes per second, and latency from submission to completion; of a commit to the end of its
/// flush.
pub(super) fn table(findings: &Findings, style: &Style) -> String {
    let rows = texts(if findings.hosts.len() > 1 {
        rows_of_hosts(&findings.entries, &findings.totals)
    } else {
        let of_entry = |entry| rows(entry, title(entry));
        findings.entries.iter().flat_map(of_entry).collect()
    });
    let taken: usize = shown(style).map(|(_, column)| column.1 + 1).sum();
    let longest = rows
        .iter()
        .map(|(title, _)| title.chars().count())
        .max()
        .unwrap_or(0);
    let available = style
        .width
        .saturating_sub(taken)
        .clamp(SHORTEST_TITLE, LONGEST_TITLE);
    let heads = COLUMNS.map(|(head, _, _)| head.to_owned());
    if longest > available {
        return stacked(&rows, &heads, style);
    }
    let title_width = longest.max(SHORTEST_TITLE);
    let mut text = line("", &heads, title_width, style);
    for (title, figures) in &rows {
        text += &line(&style.clean(title), figures, title_width, style);
    }
    text
}

/// Titles that do not fit beside the values are on lines above them: cut titles would look the same.
fn stacked(rows: &[(String, [String; 5])], heads: &[String; 5], style: &Style) -> String {
    let rows = rows.iter().map(|(title, figures)| {
        let title = style.clean(title);
        // A host is indented below the total.
        let indent = if title.starts_with("  ") { "  " } else { "" };
        wrap(title.trim_start(), style.width, indent, "  ") + &line("", figures, 0, style)
    });
    line("", heads, 0, style) + &rows.collect::<String>()
}

fn shown(style: &Style) -> impl Iterator<Item = (usize, (&'static str, usize, usize))> {
    let width = style.width;
    COLUMNS
        .into_iter()
        .enumerate()
        .filter(move |(_, (_, _, least))| width >= *least)
}

fn line(title: &str, figures: &[String; 5], title_width: usize, style: &Style) -> String {
    let cut: String = title.chars().take(title_width).collect();
    let mut text = format!("{cut:title_width$}");
    for (place, (_, width, _)) in shown(style) {
        text += &format!(" {:>width$}", figures[place]);
    }
    text.trim_end().to_owned() + "\n"
}

fn title(entry: &Entry) -> String {
    let description = entry.description.clone().filter(|text| !text.is_empty());
    description.unwrap_or_else(|| entry.name.clone())
}

/// For each job all hosts together, then each host; of many hosts only the slowest and the fastest.
fn rows_of_hosts(entries: &[Entry], totals: &[TotalSummary]) -> Vec<Row> {
    let parts = |name: &str| {
        let (host, job) = name.split_once(':').unwrap_or(("", name));
        (host.to_owned(), job.to_owned())
    };
    let mut jobs: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for entry in entries {
        let (_, job) = parts(&entry.name);
        if jobs.contains(&job) {
            continue;
        }
        let is_job = |name: &String| parts(name).1 == job;
        let mut of_job: Vec<&Entry> = entries.iter().filter(|entry| is_job(&entry.name)).collect();
        let total = totals.iter().find(|total| total.names.iter().all(is_job));
        let description = title(entry);
        let heading = if *description == entry.name {
            job.clone()
        } else {
            description
        };
        let indent = match total {
            Some(total) => {
                all.extend(used_rows(&total.directions, heading));
                "  ".to_owned()
            }
            None => format!("{heading}, "),
        };
        let mut labels = ["", ""];
        if of_job.len() > MOST_HOSTS {
            let iops = |entry: &Entry| -> f64 {
                let sums = entry.directions.iter().map(|(_, summary)| summary.iops);
                sums.sum()
            };
            let order = |a: &&Entry, b: &&Entry| iops(a).total_cmp(&iops(b));
            let (slowest, fastest) = (
                of_job.iter().copied().min_by(order),
                of_job.iter().copied().max_by(order),
            );
            of_job = slowest.into_iter().chain(fastest).collect();
            labels = ["slowest: ", "fastest: "];
        }
        for (place, entry) in of_job.into_iter().enumerate() {
            let label = labels.get(place).copied().unwrap_or_default();
            let host = parts(&entry.name).0;
            all.extend(rows(entry, format!("{indent}{label}{host}")));
        }
        jobs.push(job);
    }
    all
}

/// One row for each direction that an entry used.
fn rows(entry: &Entry, title: String) -> Vec<Row> {
    if entry.directions.iter().all(|(_, summary)| summary.ios == 0) {
        let result = if entry.error == 0 { "no I/O" } else { "failed" };
        return vec![Row {
            title,
            rates: [result.to_owned(), "-".into()],
            latencies: [None; 3],
        }];
    }
    used_rows(&entry.directions, title)
}

fn used_rows(directions: &PerDirection<DirectionSummary>, title: String) -> Vec<Row> {
    let used: Vec<_> = directions
        .iter()
        .filter(|(_, summary)| summary.ios > 0)
        .collect();
    let several = used.len() > 1;
    let mut rows = Vec::new();
    for (direction, summary) in used {
        let name = if several {
            format!("{title}: {}s", direction.name())
        } else {
            title.clone()
        };
        // A commit is a write and its flush. Other closed loops have no response.
        let latency = summary.response.as_ref().unwrap_or(&summary.clat);
        rows.push(row(name, summary.iops, summary.bandwidth, latency));
    }
    rows
}

fn row(title: String, iops: f64, bandwidth: f64, latency: &LatencySummary) -> Row {
    let at = |wanted: f64| {
        let found = latency
            .percentiles
            .iter()
            .find(|(percent, _)| *percent == wanted);
        found.map(|(_, value)| *value as f64)
    };
    Row {
        title,
        rates: [rate(iops), rate(bandwidth / 1e6)],
        latencies: PERCENTILES.map(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 4 KiB figure by hand: 95,012 a second are 389.2 MB/s.
    #[test]
    fn figures_have_their_units() {
        let latency = LatencySummary {
            percentiles: vec![(50.0, 336_000), (99.0, 1_250_000)],
            ..LatencySummary::default()
        };
        let shown = |iops: f64, bandwidth: f64| {
            texts(vec![row("x".to_owned(), iops, bandwidth, &latency)])
                .remove(0)
                .1
        };
        assert_eq!(
            shown(95_012.0, 95_012.0 * 4096.0),
            ["95,012", "389", "336 us", "1.25 ms", "-"]
        );
        assert_eq!(shown(12.34, 50_545.0)[..2], ["12.3", "0.1"]);
    }

    /// Regression 0516: a column had us in one row and ms in the next. 2.4 ms are 2,400 us.
    #[test]
    fn a_column_has_one_unit() {
        let of = |median: u64, p99: u64| {
            let latency = LatencySummary {
                percentiles: vec![(50.0, median), (99.0, p99)],
                ..LatencySummary::default()
            };
            row("x".to_owned(), 1.0, 4096.0, &latency)
        };
        let rows = texts(vec![of(336_000, 1_250_000), of(2_400_000, 9_900_000)]);
        let columns = |column: usize| [&rows[0].1[column], &rows[1].1[column]];
        assert_eq!(columns(2), ["336 us", "2,400 us"]);
        assert_eq!(columns(3), ["1.25 ms", "9.90 ms"]);
    }

    #[test]
    fn a_narrow_page_keeps_rate_and_median() {
        let figures = ["95,012", "389", "336 us", "1.25 ms", "-"].map(str::to_owned);
        let narrow = Style {
            width: 40,
            ..Style::default()
        };
        let text = line("4 KiB random reads, one at a time", &figures, 18, &narrow);
        assert!(
            text.trim_end().chars().count() <= 40
                && text.contains("95,012")
                && text.contains("336 us"),
            "{text}"
        );
        assert!(!text.contains("389"));
        assert!(line("x", &figures, 40, &Style::default()).contains("1.25 ms"));
        // Regression 0276: a truncated title showed neither 8 nor 32.
        let rows = ["8 at once", "32 at once"]
            .map(|many| (format!("4 KiB random reads, {many}"), figures.clone()));
        let text = stacked(&rows, &COLUMNS.map(|(head, _, _)| head.to_owned()), &narrow);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(
            (lines[1], lines[3]),
            (
                "4 KiB random reads, 8 at once",
                "4 KiB random reads, 32 at once"
            )
        );
        assert!(
            lines[2].contains("95,012") && lines.iter().all(|line| line.chars().count() <= 40),
            "{text}"
        );
    }

    /// Two hosts with 100 and 300 I/Os per second: 400 together, then each. Of five hosts the slowest and the fastest.
    #[test]
    fn hosts_follow_their_total() {
        let direction = |iops: f64| DirectionSummary {
            ios: 1000,
            iops,
            ..DirectionSummary::default()
        };
        let reads = |iops: f64| {
            let mut all = PerDirection::default();
            all[fathom_model::Direction::Read] = direction(iops);
            all
        };
        let text_of = |rates: &[f64]| {
            let names: Vec<String> = (0..rates.len()).map(|host| format!("h{host}")).collect();
            let job = |(name, iops): (&String, &f64)| Entry {
                name: format!("{name}:r"),
                description: Some("random reads".to_owned()),
                directions: reads(*iops),
                ..Entry::default()
            };
            let total = TotalSummary {
                names: names.iter().map(|name| format!("{name}:r")).collect(),
                directions: reads(rates.iter().sum()),
                ..TotalSummary::default()
            };
            let entries: Vec<Entry> = names.iter().zip(rates).map(job).collect();
            texts(rows_of_hosts(&entries, &[total]))
                .into_iter()
                .map(|(title, figures)| format!("{title} {}", figures[0]))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            text_of(&[100.0, 300.0]),
            ["random reads 400", "  h0 100", "  h1 300"]
        );
        assert_eq!(
            text_of(&[300.0, 100.0, 200.0, 500.0, 400.0]),
            [
                "random reads 1,500",
                "  slowest: h1 100",
                "  fastest: h3 500"
            ]
        );
    }
}
