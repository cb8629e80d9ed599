//! The comparison of two results as text, Markdown and JUnit XML.

use fathom_model::{Comparison, ComparisonRow, Metric, OptionDifference};

use crate::Style;
use crate::output::{Colour, wrap};
use fathom_model::format::{bandwidth, duration, thousands};

/// The limit of comparing intervals.
const CAVEAT: &str = "Each line compares the intervals of two single runs. Variation from run to run (layout, other \
                      load, temperature) is not included: repeat both runs before you blame a change.";
/// Why there is no statement on significance.
const NO_SERIES: &str = "At least one result has only totals, or too few intervals to distinguish a difference from chance. Results \
                         written by fathom with --output-format=json+ have intervals.";
/// The meaning of repeats.
const REPEATS: &str =
    "Each line compares whole runs, so the interval includes the variation from run to run.";
/// Minimum width for metrics and conclusion on one line.
const WIDE: usize = 110;

/// The table as text.
#[must_use]
pub fn comparison(comparison: &Comparison, style: &Style) -> String {
    let mut text = String::new();
    let mut job = None;
    for row in &comparison.rows {
        if job != Some(&row.job) {
            text += &format!(
                "{}{}\n",
                if job.is_some() { "\n" } else { "" },
                style.clean(&row.job)
            );
            job = Some(&row.job);
        }
        text += &line(row, style);
    }
    for name in &comparison.unmatched_jobs {
        text += &wrap(
            &style.clean(&format!("{name}: in one result only")),
            style.width,
            "",
            "  ",
        );
    }
    text += &differing(comparison)
        .iter()
        .map(|text| wrap(&style.clean(text), style.width, "", "  "))
        .collect::<String>();
    text + "\n" + &wrap(caveat(comparison), style.width, "", "")
}

fn caveat(comparison: &Comparison) -> &'static str {
    let has_difference = comparison.rows.iter().any(|row| row.difference.is_some());
    match (has_difference, comparison.repeats) {
        (true, Some(_)) => REPEATS,
        (true, None) => CAVEAT,
        (false, _) => NO_SERIES,
    }
}

/// A line for each difference between the plans.
#[must_use]
pub fn differing(comparison: &Comparison) -> Vec<String> {
    let value = |value: &Option<String>| {
        value
            .as_ref()
            .map_or("not set".to_owned(), |value| format!("'{value}'"))
    };
    let text = |one: &OptionDifference| {
        format!(
            "{}: {} differs: {} before, {} after",
            one.job,
            one.option,
            value(&one.values.0),
            value(&one.values.1)
        )
    };
    comparison
        .option_differences
        .iter()
        .chain(&comparison.settings)
        .map(text)
        .collect()
}

fn line(row: &ComparisonRow, style: &Style) -> String {
    let name = format!("{} {}", row.direction.name(), row.metric);
    let figures = format!(
        "  {name:<12} {:>9} -> {:>9}  {:>8}",
        value(row.metric, row.before),
        value(row.metric, row.after),
        percent(row.change)
    );
    let conclusion = conclusion(row);
    let colour = match worse(row) {
        Some(true) => Colour::Red,
        Some(false) => Colour::Green,
        None => Colour::Dim,
    };
    match conclusion.as_str() {
        "" => figures + "\n",
        _ if style.width >= WIDE => format!("{figures}  {}\n", style.paint(&conclusion, colour)),
        _ => figures + "\n" + &wrap(&conclusion, style.width, "      ", "      "),
    }
}

/// `Some(true)` if a significant difference is for the worse.
fn worse(row: &ComparisonRow) -> Option<bool> {
    let difference = row
        .difference
        .filter(|difference| difference.is_significant())?;
    Some(row.metric.more_is_better() == (difference.change < 0.0))
}

/// The conclusion from the intervals. The change of a whole run may differ from that of its median interval.
fn conclusion(row: &ComparisonRow) -> String {
    let Some(difference) = &row.difference else {
        return String::new();
    };
    let (low, high) = difference.interval;
    let usual = if (low..=high).contains(&row.change) {
        String::new()
    } else {
        format!(
            ": the median interval changed by {}",
            percent(difference.change)
        )
    };
    let visible = match difference.resolution {
        least if least <= 1.0 => format!("detection limit {:.1} %", 100.0 * least),
        _ => "too much variation to detect less than a doubling".to_owned(),
    };
    match worse(row) {
        Some(is_worse) => {
            let word = if is_worse { "worse" } else { "better" };
            format!("{word}{usual} ({} to {})", percent(low), percent(high))
        }
        // The whole run may differ during a part of its time: a stall, a cold start.
        None if row.change.abs() > difference.resolution => format!(
            "no significant difference ({visible}); the median interval changed by {}",
            percent(difference.change)
        ),
        None => format!("no significant difference ({visible})"),
    }
}

fn value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Iops => thousands(value.round() as u64),
        Metric::Bandwidth => bandwidth(value),
        Metric::Mean | Metric::Percentile(_) => duration(value),
    }
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

/// The same as a table in Markdown.
#[must_use]
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text = String::from(
        "| job | metric | before | after | change | conclusion |\n| --- | --- | ---: | ---: | ---: | --- |\n",
    );
    for row in &comparison.rows {
        let cells = [
            cell(&row.job),
            format!("{} {}", row.direction.name(), row.metric),
            value(row.metric, row.before),
            value(row.metric, row.after),
            percent(row.change),
            conclusion(row),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    for line in differing(comparison).into_iter().chain(
        comparison
            .unmatched_jobs
            .iter()
            .map(|name| format!("{name}: in one result only")),
    ) {
        text += &format!("\n* {}\n", cell(&line));
    }
    text + &format!("\n{}\n", caveat(comparison))
}

/// Escapes untrusted names for Markdown.
fn cell(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' => safe.extend(['\\', c]),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// JUnit XML: a test case for each row, failed if `broken` returns a message.
#[must_use]
pub fn comparison_junit(
    comparison: &Comparison,
    broken: &dyn Fn(&ComparisonRow) -> Option<String>,
) -> String {
    let failed: Vec<Option<String>> = comparison.rows.iter().map(broken).collect();
    let failures = failed.iter().flatten().count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"fathom compare\" tests=\"{}\" failures=\"{failures}\">\n",
        comparison.rows.len()
    );
    for (row, why) in comparison.rows.iter().zip(failed) {
        let (job, figure) = (
            xml(&row.job),
            format!("{} {}", row.direction.name(), row.metric),
        );
        let message = format!(
            "{} -> {} ({}) {}",
            value(row.metric, row.before),
            value(row.metric, row.after),
            percent(row.change),
            conclusion(row)
        );
        let message = xml(&message);
        text += &format!("  <testcase classname=\"{job}\" name=\"{figure}\">");
        text += &match why {
            Some(why) => format!("<failure message=\"{}\">{message}</failure>", xml(&why)),
            None => format!("<system-out>{message}</system-out>"),
        };
        text += "</testcase>\n";
    }
    text + "</testsuite>\n"
}

fn xml(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use fathom_model::{Difference, Direction};

    use super::*;

    fn row(job: &str, metric: Metric, before: f64, after: f64, sure: bool) -> ComparisonRow {
        let change = after / before - 1.0;
        let half = if sure {
            change.abs() / 2.0
        } else {
            change.abs() * 2.0
        };
        let interval = (change - half, change + half);
        let difference = Difference {
            before,
            after,
            change,
            interval,
            p: if sure { 0.001 } else { 0.4 },
            resolution: half,
        };
        ComparisonRow {
            job: job.into(),
            direction: Direction::Read,
            metric,
            before,
            after,
            change,
            difference: Some(difference),
        }
    }

    #[test]
    fn less_is_worse_for_rates_and_better_for_latencies() {
        let style = Style {
            width: WIDE,
            ..Style::default()
        };
        let text = |metric, sure| line(&row("a", metric, 1000.0, 900.0, sure), &style);
        assert!(
            text(Metric::Iops, true).contains("-10.0 %  worse (-15.0 % to -5.0 %)"),
            "{}",
            text(Metric::Iops, true)
        );
        assert!(text(Metric::Percentile(99.0), true).contains("better"));
        assert!(
            text(Metric::Iops, false)
                .contains("no significant difference (detection limit 20.0 %)")
        );
        assert!(text(Metric::Iops, false).chars().count() <= WIDE + 1);
    }

    /// Regression 0252: a drop by nine tenths was shown with "no significant difference (detection
    /// limit 13.0 %)" without an explanation, and uneven intervals had a detection limit of 3191.7
    /// %.
    #[test]
    fn differences_for_a_part_of_the_time_are_explained() {
        let mut row = row("a", Metric::Mean, 71.0, 5.4, false);
        row.difference = Some(Difference {
            before: 5.5,
            after: 5.4,
            change: -0.02,
            interval: (-0.08, 0.05),
            p: 0.5,
            resolution: 0.13,
        });
        assert_eq!(
            conclusion(&row),
            "no significant difference (detection limit 13.0 %); the median interval changed by -2.0 %"
        );
        row.difference = Some(Difference {
            before: 5.5,
            after: 5.4,
            change: -0.02,
            interval: (-0.9, 31.0),
            p: 0.5,
            resolution: 31.9,
        });
        assert_eq!(
            conclusion(&row),
            "no significant difference (too much variation to detect less than a doubling)"
        );
    }

    #[test]
    fn names_are_never_markup() {
        let all = Comparison {
            rows: vec![row("<b>|\"x&\u{1b}", Metric::Iops, 2.0, 1.0, true)],
            ..Comparison::default()
        };
        let markdown = comparison_markdown(&all);
        assert!(
            markdown.contains("| &lt;b&gt;\\|\"x&amp;  | read iops |"),
            "{markdown}"
        );
        let junit = comparison_junit(&all, &|_| Some("more than \"allowed\"".to_owned()));
        assert!(
            junit.contains("failures=\"1\"") && junit.contains("&lt;b&gt;|&quot;x&amp; "),
            "{junit}"
        );
        assert!(junit.contains("message=\"more than &quot;allowed&quot;\""));
        assert!(!comparison(&all, &Style::default()).contains('\u{1b}'));
    }
}
