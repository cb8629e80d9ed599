//! What a measured choice of clients or settings says: which value is better, and whether the repeats show it.

use fathom_model::format::{counted, duration, percent, rate};

use crate::{CrashSafety, MemoryReport, MemoryRow};

/// The axis of the repeats.
pub(crate) const REPEAT: &str = "repeat";
/// The axis of the number of clients.
const CLIENTS: &str = "clients";
/// From so many measurements of each value on, separate ranges are not chance: of 3 and 3, one order of 20 has this.
const LEAST_REPEATS: usize = 3;
/// A smaller gain is none.
const LEAST_GAIN: f64 = 0.02;

/// The rows of one value of an axis.
struct Value<'a> {
    name: &'a str,
    rows: Vec<&'a MemoryRow>,
}

impl Value<'_> {
    /// The worst class of its measurements.
    fn crash_safety(&self) -> CrashSafety {
        let classes = self.rows.iter().map(|row| row.crash_safety);
        classes.max().unwrap_or(CrashSafety::CrashSafe)
    }

    fn rates(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().map(|row| row.tps)
    }

    /// The median of the rates.
    fn median(&self) -> f64 {
        let mut all: Vec<f64> = self.rates().collect();
        all.sort_by(f64::total_cmp);
        match (all.len() / 2, all.len() % 2) {
            (_, _) if all.is_empty() => 0.0,
            (half, 1) => all[half],
            (half, _) => f64::midpoint(all[half - 1], all[half]),
        }
    }

    fn lowest(&self) -> f64 {
        self.rates().fold(f64::INFINITY, f64::min)
    }

    fn highest(&self) -> f64 {
        self.rates().fold(0.0, f64::max)
    }

    fn mean(&self, of: fn(&MemoryRow) -> f64) -> f64 {
        self.rows.iter().map(|row| of(row)).sum::<f64>() / self.rows.len().max(1) as f64
    }
}

/// The values of an axis, in their order.
fn values<'a>(report: &'a MemoryReport, axis: &str) -> Vec<Value<'a>> {
    let mut all: Vec<Value<'a>> = Vec::new();
    for row in &report.rows {
        let Some((_, name)) = row.axes.iter().find(|(name, _)| name == axis) else {
            continue;
        };
        match all.iter_mut().find(|value| value.name == name) {
            Some(value) => value.rows.push(row),
            None => all.push(Value {
                name,
                rows: vec![row],
            }),
        }
    }
    all
}

/// The statements about an experiment with one axis, apart from repeats.
pub(crate) fn sentences(report: &MemoryReport) -> Vec<String> {
    let mut axes: Vec<&str> = Vec::new();
    for (name, _) in report.rows.iter().flat_map(|row| &row.axes) {
        if name != REPEAT && !axes.contains(&name.as_str()) {
            axes.push(name);
        }
    }
    let varied: Vec<&str> = axes
        .into_iter()
        .filter(|axis| values(report, axis).len() > 1)
        .collect();
    let memory_varies = report
        .rows
        .windows(2)
        .any(|two| two[0].limit_bytes != two[1].limit_bytes);
    match varied[..] {
        [] => spread(report).into_iter().collect(),
        [axis] if !memory_varies => {
            let all = values(report, axis);
            if axis == CLIENTS {
                clients(&all)
            } else {
                setting(axis, &all)
            }
        }
        _ => vec!["Vary one of memory, clients and settings for a statement about it.".to_owned()],
    }
}

/// How far equal runs differ.
fn spread(report: &MemoryReport) -> Option<String> {
    let all = Value {
        name: "",
        rows: report.rows.iter().collect(),
    };
    (all.rows.len() > 1 && all.median() > 0.0).then(|| {
        format!(
            "{} equal runs have between {} and {} transactions per second: {} of the median.",
            all.rows.len(),
            rate(all.lowest()),
            rate(all.highest()),
            percent(100.0 * (all.highest() - all.lowest()) / all.median())
        )
    })
}

/// The smallest number of clients that reaches 95 % of the largest rate.
fn clients(all: &[Value<'_>]) -> Vec<String> {
    let most = all.iter().map(Value::median).fold(0.0, f64::max);
    let Some(enough) = all.iter().find(|value| value.median() >= 0.95 * most) else {
        return Vec::new();
    };
    let more = all.last().filter(|last| last.name != enough.name);
    let mut text = format!(
        "{} reach {} transactions per second with p99 {}, within 5 % of the most",
        counted(enough.name.parse().unwrap_or(0), "client"),
        rate(enough.median()),
        duration(enough.mean(|row| row.p99_ns)),
    );
    if let Some(last) = more {
        text += &format!(
            "; with {} p99 is {}",
            last.name,
            duration(last.mean(|row| row.p99_ns))
        );
    }
    vec![text + "."]
}

/// What the values of a setting say. Only crash-safe values are ranked; what is faster because it is less safe has its price named.
fn setting(axis: &str, all: &[Value<'_>]) -> Vec<String> {
    let (safe, unsafe_values): (Vec<&Value<'_>>, Vec<&Value<'_>>) = all
        .iter()
        .partition(|value| value.crash_safety() == CrashSafety::CrashSafe);
    let mut sentences = rank_safe_values(axis, &safe);
    let reference = safe
        .iter()
        .copied()
        .max_by(|one, two| one.median().total_cmp(&two.median()));
    let prices = unsafe_values.iter();
    sentences.extend(prices.map(|value| name_price_of_safety(axis, value, reference)));
    if safe.is_empty() && !all.is_empty() {
        sentences.push(
            "No measured value is crash-safe, so none is recommended: measure one that is beside them.".to_owned(),
        );
    }
    sentences
}

/// The figures of a value of a setting.
fn figures(value: &Value<'_>) -> String {
    let mut text = format!(
        "{} transactions per second, p99 {}, {:.2} reads for each transaction",
        rate(value.median()),
        duration(value.mean(|row| row.p99_ns)),
        value.mean(|row| row.reads_per_transaction),
    );
    let commits: Option<Vec<f64>> = value.rows.iter().map(|row| row.commits_per_flush).collect();
    if let Some(commits) = commits {
        text += &format!(
            ", {:.2} commits for each flush",
            commits.iter().sum::<f64>() / commits.len().max(1) as f64
        );
    }
    text
}

/// What a value that is not crash-safe costs and gains. It is never advised.
fn name_price_of_safety(axis: &str, value: &Value<'_>, reference: Option<&Value<'_>>) -> String {
    let gain = reference.map(|safe| (safe.name, value.median() / safe.median().max(1e-9) - 1.0));
    let price = match gain {
        Some((safe, gain)) if gain >= LEAST_GAIN => format!(
            ", {} more than with {axis}={safe}, which is the price of safety",
            percent(100.0 * gain)
        ),
        Some((safe, _)) => format!(", no more than with {axis}={safe}"),
        None => String::new(),
    };
    let safety = value.crash_safety();
    let use_limit = match safety {
        CrashSafety::LosesLastTransactions => "where an acknowledged transaction must survive",
        CrashSafety::CrashSafe | CrashSafety::CanLoseDatabase => "for data that you need",
    };
    format!(
        "{axis}={} {}; do not use it {use_limit}. It reached {}{price}.",
        value.name,
        safety.risk().unwrap_or("is crash-safe"),
        figures(value),
    )
}

/// Whether a crash-safe value is better than the first one, which is the present one of the user.
fn rank_safe_values(axis: &str, safe: &[&Value<'_>]) -> Vec<String> {
    let Some(first) = safe.first() else {
        return Vec::new();
    };
    if safe.len() == 1 {
        return vec![format!("{axis}={}: {}.", first.name, figures(first))];
    }
    let best = safe
        .iter()
        .max_by(|one, two| one.median().total_cmp(&two.median()))
        .unwrap_or(first);
    let gain = best.median() / first.median().max(1e-9) - 1.0;
    let repeats = safe.iter().map(|value| value.rows.len()).min().unwrap_or(0);
    if best.name == first.name {
        let others: Vec<&str> = safe.iter().skip(1).map(|value| value.name).collect();
        return vec![format!(
            "Keep {axis}={}: {}; no measured value that is as safe is better ({}).",
            first.name,
            figures(first),
            others.join(", ")
        )];
    }
    let both = format!(
        "{axis}={}: {}; {axis}={}: {}",
        best.name,
        figures(best),
        first.name,
        figures(first)
    );
    if repeats < LEAST_REPEATS {
        return vec![format!(
            "{both}. {} of each value is too few for a recommendation: use --repeats={LEAST_REPEATS} or more.",
            counted(repeats as u64, "measurement")
        )];
    }
    if gain < LEAST_GAIN || best.lowest() <= first.highest() {
        return vec![format!(
            "Keep {axis}={}: no other value is better than the spread of {repeats} repeats. {both}; with {} between {} and {}, with {} \
             between {} and {} transactions per second.",
            first.name,
            best.name,
            rate(best.lowest()),
            rate(best.highest()),
            first.name,
            rate(first.lowest()),
            rate(first.highest()),
        )];
    }
    vec![format!(
        "Set {axis}={}: {} more transactions per second than with {}, and the slowest of {repeats} repeats with it is faster than the \
         fastest without. {both}.",
        best.name,
        percent(100.0 * gain),
        first.name,
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Journal, Setting};

    /// A faster setting that can lose data is never advised, in whichever order the values are given.
    #[test]
    fn an_unsafe_setting_is_never_advised() {
        for (axis, on, off, risk) in [
            ("fsync", "on", "off", "can lose the database in a crash"),
            (
                "full_page_writes",
                "on",
                "off",
                "can lose the database in a crash",
            ),
            (
                "synchronous_commit",
                "on",
                "off",
                "can lose the last committed transactions in a crash",
            ),
        ] {
            let slow: &[f64] = &[100.0, 101.0, 102.0];
            let fast: &[f64] = &[190.0, 191.0, 192.0];
            for rates in [[(on, slow), (off, fast)], [(off, fast), (on, slow)]] {
                let sentences = sentences(&report(axis, &rates));
                let text = sentences.join("\n");
                assert!(!text.contains("Set ") && !text.contains("Keep "), "{text}");
                assert!(
                    text.contains(&format!("{axis}=off {risk}; do not use it")),
                    "{text}"
                );
                assert!(text.contains("89 % more than with"), "{text}");
                assert!(text.contains("the price of safety"), "{text}");
            }
            let only_unsafe = sentences(&report(axis, &[(off, fast), ("false", slow)])).join("\n");
            assert!(only_unsafe.contains("none is recommended"), "{only_unsafe}");
            assert!(
                !only_unsafe.contains("Set ") && !only_unsafe.contains("Keep "),
                "{only_unsafe}"
            );
        }
    }

    /// Rows with the class that the documentation of PostgreSQL gives the value of a setting.
    fn report(axis: &str, rates: &[(&str, &[f64])]) -> MemoryReport {
        let class = |value: &str| {
            Setting::classify(Engine::Postgres, Journal::default(), axis, value)
                .map_or(CrashSafety::CrashSafe, |setting| setting.safety())
        };
        let rows = rates.iter().flat_map(|(value, rates)| {
            rates.iter().enumerate().map(|(repeat, tps)| MemoryRow {
                axes: vec![
                    (axis.to_owned(), (*value).to_owned()),
                    (REPEAT.to_owned(), (repeat + 1).to_string()),
                ],
                crash_safety: class(value),
                percent: 0.0,
                limit_bytes: 0,
                tps: *tps,
                p99_ns: 1e6,
                reads_per_second: 0.0,
                reads_per_transaction: 0.0,
                mean_read_bytes: None,
                sequential_share: None,
                commits_per_flush: None,
                hit_share: None,
                limit: String::new(),
            })
        });
        MemoryReport {
            rows: rows.collect(),
            ..MemoryReport::default()
        }
    }

    /// Three of three above all three others has a probability of 1 to 20; overlapping ranges and single runs show nothing.
    #[test]
    fn a_setting_is_recommended_only_where_the_repeats_show_it() {
        let axis = "wal_sync_method";
        let text = |rates: &[(&str, &[f64])]| sentences(&report(axis, rates)).join("\n");
        let clear = text(&[
            ("fdatasync", &[100.0, 110.0, 105.0]),
            ("open_datasync", &[120.0, 130.0, 126.0]),
        ]);
        assert!(
            clear.starts_with("Set wal_sync_method=open_datasync: 20 % more"),
            "{clear}"
        );
        let overlapping = text(&[
            ("fdatasync", &[100.0, 121.0, 105.0]),
            ("open_datasync", &[120.0, 130.0, 126.0]),
        ]);
        assert!(
            overlapping.starts_with("Keep wal_sync_method=fdatasync"),
            "{overlapping}"
        );
        let single = text(&[("fdatasync", &[100.0]), ("open_datasync", &[200.0])]);
        assert!(single.contains("--repeats=3"), "{single}");
        let best_first = text(&[("a", &[9.0, 9.0, 9.0]), ("b", &[8.0, 8.0, 8.0])]);
        assert!(
            best_first.starts_with("Keep wal_sync_method=a: 9 "),
            "{best_first}"
        );
    }

    #[test]
    fn clients_beyond_which_little_is_gained_are_named() {
        let all = report(
            "clients",
            &[("1", &[100.0]), ("4", &[390.0]), ("16", &[400.0])],
        );
        let text = sentences(&all).join("\n");
        assert!(
            text.starts_with("4 clients reach 390 transactions per second"),
            "{text}"
        );
        let equal = report(
            "repeat",
            &[("1", &[90.0]), ("2", &[100.0]), ("3", &[110.0])],
        );
        let text = sentences(&equal).join("\n");
        assert!(
            text.contains("3 equal runs have between 90 and 110") && text.contains("20 %"),
            "{text}"
        );
    }
}
