//! The figures of a result that lists, tables and charts show, each under its name.

use fathom_model::{CellFigures, DirectionSummary, Entry, Findings, LatencySummary, StoredFinding};

/// The figures of `findings` in units without prefix (1/s, B/s, s): `read iops`, `read bandwidth`,
/// `read mean`, one for each percentile such as `read p99.9`, `read max`; `sync` for commits. With
/// several entries, each name begins with the entry's name: `oltp: read iops`. Latencies are
/// response times in an open loop, clat in a closed one.
#[must_use]
pub fn headline(findings: &Findings) -> Vec<(String, f64)> {
    entries_headline(&findings.entries)
}

/// The same of entries.
#[must_use]
pub fn entries_headline(entries: &[Entry]) -> Vec<(String, f64)> {
    let several = entries.len() > 1;
    let mut figures = Vec::new();
    for entry in entries {
        let before = if several {
            format!("{}: ", entry.name)
        } else {
            String::new()
        };
        of_entry(entry, &before, &mut figures);
    }
    unique_names(figures)
}

/// The figures of a cell of an experiment, in the same units, as in its tables: `iops`,
/// `bandwidth`, `offered` in an open loop, and the latencies `mean`, `p50` to `p99.99` and `max`.
#[must_use]
pub fn cell_headline(cell: &CellFigures) -> Vec<(String, f64)> {
    let latency = &cell.latency;
    let spread = [
        ("mean", latency.mean),
        ("p50", latency.p50),
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("p99.9", latency.p999),
        ("p99.99", latency.p9999),
        ("max", latency.max),
    ];
    let rates = [
        ("iops", Some(cell.iops)),
        ("bandwidth", Some(cell.bandwidth)),
        ("offered", cell.offered),
    ];
    let rates = rates
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    rates
        .chain(spread.map(|(name, ns)| (name.to_owned(), ns / 1e9)))
        .collect()
}

/// The findings of a result as lists show them.
#[must_use]
pub fn found(findings: &Findings) -> Vec<StoredFinding> {
    let of = |finding: &fathom_model::Finding| StoredFinding {
        code: finding.code.to_owned(),
        weight: finding.weight.name().to_owned(),
        about: finding.about.clone().unwrap_or_default(),
        evidence: finding.evidence.clone(),
    };
    findings.findings.iter().map(of).collect()
}

fn of_entry(entry: &Entry, before: &str, into: &mut Vec<(String, f64)>) {
    let used = entry
        .directions
        .iter()
        .filter(|(_, summary)| summary.counts.planned > 0);
    let mixed = entry.mixed.iter().map(|summary| ("mixed", summary));
    for (word, summary) in used
        .map(|(direction, summary)| (direction.name(), summary))
        .chain(mixed)
    {
        of_direction(summary, &format!("{before}{word}"), into);
    }
    if entry.sync.n > 0 {
        of_latency(&entry.sync, &format!("{before}sync"), into);
    }
}

fn of_direction(summary: &DirectionSummary, name: &str, into: &mut Vec<(String, f64)>) {
    into.push((format!("{name} iops"), summary.iops));
    into.push((format!("{name} bandwidth"), summary.bandwidth));
    of_latency(
        summary.response.as_ref().unwrap_or(&summary.clat),
        name,
        into,
    );
}

fn of_latency(latency: &LatencySummary, name: &str, into: &mut Vec<(String, f64)>) {
    if latency.n == 0 {
        return;
    }
    into.push((format!("{name} mean"), latency.mean / 1e9));
    into.extend(
        latency
            .percentiles
            .iter()
            .map(|(percent, value)| (format!("{name} p{percent}"), *value as f64 / 1e9)),
    );
    into.push((format!("{name} max"), latency.max as f64 / 1e9));
}

/// Numbers repeated names, because entries may share a name: the second is `a #2`.
fn unique_names(figures: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let mut seen = std::collections::HashMap::new();
    let mut numbered = |name: String| {
        let count = seen
            .entry(name.clone())
            .and_modify(|n| *n += 1)
            .or_insert(1u32);
        if *count == 1 {
            name
        } else {
            format!("{name} #{count}")
        }
    };
    figures
        .into_iter()
        .map(|(name, value)| (numbered(name), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Direction;

    #[test]
    fn a_second_figure_of_a_name_is_numbered() {
        let two = vec![("read iops".to_owned(), 1.0), ("read iops".to_owned(), 2.0)];
        assert_eq!(
            unique_names(two),
            [
                ("read iops".to_owned(), 1.0),
                ("read iops #2".to_owned(), 2.0)
            ]
        );
    }

    #[test]
    fn latencies_are_seconds_and_carry_their_percentile() {
        let clat = LatencySummary {
            n: 2,
            mean: 1500.0,
            max: 2000,
            percentiles: vec![(50.0, 1000), (99.9, 2000)],
            ..LatencySummary::default()
        };
        let mut figures = Vec::new();
        of_direction(
            &DirectionSummary {
                iops: 7.0,
                bandwidth: 28_672.0,
                clat,
                ..DirectionSummary::default()
            },
            Direction::Read.name(),
            &mut figures,
        );
        let expected = [
            ("iops", 7.0),
            ("bandwidth", 28_672.0),
            ("mean", 1.5e-6),
            ("p50", 1e-6),
            ("p99.9", 2e-6),
            ("max", 2e-6),
        ];
        assert_eq!(
            figures,
            expected.map(|(name, value)| (format!("read {name}"), value))
        );
    }
}
