//! The hosts of a run on several hosts: a line each.

use fathom_model::HostSummary;
use fathom_model::format::{bytes, duration, rate};

use crate::Style;
use crate::output::wrap;

const HEADINGS: [&str; 6] = ["", "IOPS", "bandwidth", "clat mean", "p99", "start"];
/// Widest name that keeps the table within 80 columns.
const LONGEST_NAME: usize = 12;

/// The table, and a sentence for each host that was lost; empty for a run on one host.
pub(super) fn hosts(hosts: &[HostSummary], style: &Style) -> String {
    if hosts.is_empty() {
        return String::new();
    }
    let mut rows: Vec<[String; 6]> = vec![HEADINGS.map(str::to_owned)];
    // A host that vanished may have figures until then.
    let has_figures = |host: &&HostSummary| host.lost.is_none() || host.jobs > 0;
    rows.extend(hosts.iter().filter(has_figures).map(row));
    let widths: [usize; 6] = std::array::from_fn(|column| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    });
    let mut lines = String::from("\nHosts:\n");
    for row in &rows {
        let mut line = String::from(" ");
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            line += &if column == 0 {
                format!(" {cell:<width$}")
            } else {
                format!("  {cell:>width$}")
            };
        }
        lines += &style.clean(line.trim_end());
        lines.push('\n');
    }
    for host in hosts {
        if let Some(why) = &host.lost {
            let what = if host.jobs > 0 {
                "figures until it vanished"
            } else {
                "no figures"
            };
            let text = format!("{}: {what}: {why}", host.name);
            lines += &wrap(&style.clean(&text), style.width, "  ", "    ");
        }
    }
    lines
}

fn row(host: &HostSummary) -> [String; 6] {
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), duration);
    let sign = if host.late_ns < 0 { '-' } else { '+' };
    let name = match host.name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}...", &host.name[..end]),
        None => host.name.clone(),
    };
    [
        name,
        rate(host.iops),
        format!("{}/s", bytes(host.bandwidth as u64)),
        time(host.mean_ns),
        time(host.p99_ns),
        format!(
            "{sign}{} +- {}",
            duration(host.late_ns.unsigned_abs() as f64),
            duration(host.late_bound_ns as f64)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_rows_and_lost_ones_are_sentences() {
        let one = |name: &str| HostSummary {
            name: name.to_owned(),
            iops: 95_012.0,
            bandwidth: 389_169_152.0,
            mean_ns: Some(336_000.0),
            p99_ns: Some(1_250_000.0),
            late_ns: -12_000,
            late_bound_ns: 45_000,
            ..HostSummary::default()
        };
        let lost = HostSummary {
            lost: Some("lost: no message for 4 s".to_owned()),
            ..one("web3")
        };
        let all = [one("web1"), one(&"a-very-long-name-".repeat(4)), lost];
        let text = hosts(&all, &Style::default());
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[3].starts_with("  web1") && lines[3].ends_with("-12.0 us +- 45.0 us"),
            "{text}"
        );
        assert!(
            lines[3].contains("95,012  371.14 MiB/s     336 us  1.25 ms"),
            "{text}"
        );
        assert_eq!(lines[5], "  web3: no figures: lost: no message for 4 s");
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert_eq!(hosts(&[], &Style::default()), "");
    }
}
