//! Imported results, one line each, and the values they lack.

use std::collections::BTreeMap;

use fathom_model::{DirectionSummary, Entry, Findings};

use crate::Style;
use crate::output::wrap;
use fathom_model::format::{duration, thousands};

const LONGEST_NAME: usize = 34;

/// The table; `left_out` files could not be used, `passed` files contain no results.
#[must_use]
pub fn imported<'a>(
    all: impl IntoIterator<Item = &'a Findings>,
    left_out: usize,
    passed: usize,
    style: &Style,
) -> String {
    let all: &[&Findings] = &all.into_iter().collect::<Vec<_>>();
    let files: usize = all
        .iter()
        .filter_map(|one| one.imported.as_ref())
        .map(|source| source.files.len())
        .sum();
    let count = |n: usize, what: &str| {
        format!(
            "{} {what}{}",
            thousands(n as u64),
            if n == 1 { "" } else { "s" }
        )
    };
    let mut text = format!(
        "{} from {}",
        count(all.len(), "result"),
        count(files, "file")
    );
    if left_out > 0 {
        text += &format!(", {} not usable", count(left_out, "file"));
    }
    if passed > 0 {
        text += &format!(", {} ignored", count(passed, "other file"));
    }
    text += &format!(
        "\n\n  {:<LONGEST_NAME$}  {:>9}  {:>10}  {:>8}  {:>8}\n",
        "", "IOPS", "MB/s", "mean", "p99"
    );
    all.iter().for_each(|one| text += &lines(one, style));
    text += &latency_names(all);
    text += &over_time(all, style);
    text + &sentences(all, style)
}

/// Unevenness of each direction, one line each.
fn over_time(all: &[&Findings], style: &Style) -> String {
    let mut text = String::new();
    for one in all {
        let Some(source) = &one.imported else {
            continue;
        };
        for direction in &source.over_time {
            let Some(entry) = one.entries.get(direction.entry) else {
                continue;
            };
            let line = format!(
                "{} {}: {}",
                entry_name(one, entry),
                direction.direction.name(),
                direction
            );
            text += &wrap(&style.clean(&line), style.width, "  ", "    ");
        }
    }
    if text.is_empty() {
        return text;
    }
    "\nOver time: mean of the intervals, standard deviation, slowest and fastest interval\n"
        .to_owned()
        + &text
}

/// Which latency the table shows: completion latency where the result has it.
fn latency_names(all: &[&Findings]) -> String {
    let shown = || {
        all.iter()
            .flat_map(|one| &one.entries)
            .flat_map(|entry| &entry.directions.0)
            .filter(|way| way.iops > 0.0)
    };
    let clat = shown().filter(|way| way.clat.mean > 0.0).count();
    let total = shown()
        .filter(|way| way.clat.mean == 0.0 && way.lat.mean > 0.0)
        .count();
    match (clat, total) {
        (0, 0) => String::new(),
        (_, 0) => "\nmean and p99: completion latency (clat)\n".to_owned(),
        (0, _) => "\nmean and p99: total latency (lat)\n".to_owned(),
        (_, total) => format!(
            "\nmean and p99: completion latency (clat), or total latency (lat) in {total} lines that have no clat\n"
        ),
    }
}

/// The file, and the entry where there are several.
fn entry_name(one: &Findings, entry: &Entry) -> String {
    let file = one
        .sources
        .first()
        .map_or("", |file| file.rsplit('/').next().unwrap_or(file));
    let name = file.rsplit_once('.').map_or(file, |(name, ending)| {
        if ["json", "log", "txt"].contains(&ending) {
            name
        } else {
            file
        }
    });
    if one.entries.len() == 1 {
        name.to_owned()
    } else {
        format!("{name}: {}", entry.name)
    }
}

fn lines(one: &Findings, style: &Style) -> String {
    one.entries
        .iter()
        .map(|entry| entry_lines(&style.clean(&entry_name(one, entry)), entry))
        .collect()
}

fn entry_lines(name: &str, entry: &Entry) -> String {
    let used: Vec<_> = entry
        .directions
        .iter()
        .filter(|(_, way)| way.iops > 0.0)
        .collect();
    if used.is_empty() {
        return format!("  {:<LONGEST_NAME$}  {:>9}\n", shortened(name), "no I/O");
    }
    let several = used.len() > 1;
    let one = |(direction, way): &(fathom_model::Direction, &DirectionSummary)| {
        let name = if several {
            format!("{name} {}", direction.name())
        } else {
            name.to_owned()
        };
        let latency = if way.clat.mean > 0.0 {
            &way.clat
        } else {
            &way.lat
        };
        let time = |ns: Option<f64>| ns.filter(|ns| *ns > 0.0).map_or("-".to_owned(), duration);
        let p99 = latency
            .percentiles
            .iter()
            .find(|(percent, _)| *percent == 99.0)
            .map(|(_, ns)| *ns as f64);
        let (rate, mean, p99) = (
            thousands(way.iops.round() as u64),
            time(Some(latency.mean)),
            time(p99),
        );
        format!(
            "  {:<LONGEST_NAME$}  {rate:>9}  {:>10.1}  {mean:>8}  {p99:>8}\n",
            shortened(&name),
            way.bandwidth / 1e6
        )
    };
    used.iter().map(one).collect()
}

fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= LONGEST_NAME {
        name.to_owned()
    } else {
        name.chars()
            .skip(count - LONGEST_NAME + 2)
            .fold("..".to_owned(), |text, c| text + &c.to_string())
    }
}

/// Notes, findings and unknown values, each once with the number of results it applies to.
fn sentences(all: &[&Findings], style: &Style) -> String {
    let mut sentences_seen: BTreeMap<(u8, String), usize> = BTreeMap::new();
    for one in all {
        let source = one.imported.as_ref();
        for note in source.iter().flat_map(|source| &source.notes) {
            *sentences_seen.entry((0, note.clone())).or_default() += 1;
        }
        let mut codes: Vec<&str> = one.findings.iter().map(|finding| finding.code).collect();
        codes.sort_unstable();
        codes.dedup();
        codes.into_iter().for_each(|code| {
            *sentences_seen
                .entry((
                    1,
                    format!("found {code}: run `fathom check` on the file for details"),
                ))
                .or_default() += 1;
        });
        for what in source.iter().flat_map(|source| &source.unknown) {
            *sentences_seen
                .entry((2, format!("unknown: {what}")))
                .or_default() += 1;
        }
    }
    let mut text = String::new();
    for ((_, sentence), count) in sentences_seen {
        let of = if count == all.len() {
            String::new()
        } else {
            format!(
                " ({} of {})",
                thousands(count as u64),
                thousands(all.len() as u64)
            )
        };
        text += &wrap(&style.clean(&(sentence + &of)), style.width, "", "  ");
    }
    if text.is_empty() {
        text
    } else {
        String::from("\n") + &text
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{Direction, Personality, Provenance};

    use super::*;

    #[test]
    fn a_line_for_each_direction_and_a_sentence_for_all() {
        let mut entry = Entry {
            name: "a\u{1b}".to_owned(),
            ..Entry::default()
        };
        for (direction, iops) in [(Direction::Read, 1234.4), (Direction::Write, 10.0)] {
            let way = &mut entry.directions[direction];
            (way.iops, way.bandwidth, way.clat.mean) = (iops, iops * 4096.0, 2.5e6);
            way.clat.percentiles = vec![(99.0, 9_000_000)];
        }
        let source = Provenance {
            unknown: vec!["queue depth".to_owned()],
            ..Provenance::default()
        };
        let findings = |files: &[&str]| {
            let result = fathom_model::ImportedResult {
                source: source.clone(),
                entries: vec![entry.clone()],
                ..Default::default()
            };
            let mut one = shown_only(result);
            one.sources = files.iter().map(|file| (*file).to_owned()).collect();
            one
        };
        let text = imported(
            &[findings(&["x/randrw-1-1.json"]), findings(&["y.json"])],
            1,
            0,
            &Style::default(),
        );
        assert!(
            text.contains(
                "  randrw-1-1 read                         1,234         5.1   2.50 ms   9.00 ms\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("2 results from 0 files, 1 file not usable")
                && text.contains("\nunknown: queue depth\n")
                && text.contains("\nmean and p99: completion latency (clat)\n"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'));
    }

    /// Findings with only the imported data.
    fn shown_only(result: fathom_model::ImportedResult) -> Findings {
        Findings {
            personality: Personality::Fio,
            sources: vec![],
            globals: vec![],
            overrides: vec![],
            started_unix_ns: 0,
            elapsed: result.elapsed,
            end: fathom_model::RunEnd::Completed,
            entries: result.entries,
            groups: vec![],
            totals: vec![],
            disks: vec![],
            targets: vec![],
            findings: vec![],
            verdict: fathom_model::Verdict::Valid,
            clock: Default::default(),
            host: Default::default(),
            conditions: Default::default(),
            stalls: vec![],
            messages: vec![],
            imported: Some(result.source),
            spec: None,
            blame: None,
            hosts: vec![],
        }
    }
}
