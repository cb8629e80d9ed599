//! The comparison of two results as text, Markdown and JUnit XML.

use fathom_model::{
    ComparedInput, Comparison, ComparisonRow, Gate, GateOutcome, LessEven, Metric,
    OptionDifference, RateShape, ShapeComparison,
};

use crate::Style;
use crate::comparison_summary;
use crate::junit::xml;
use crate::output::{Colour, wrap};
use crate::tree::{Object, Tree};
use fathom_model::format::{bandwidth, duration, thousands};

/// The limit of comparing intervals.
const CAVEAT: &str = "Each line compares the intervals of two single runs. Variation from run to run (layout, other \
                      load, temperature) is not included: repeat both runs before you blame a change.";
/// Why there is no statement on significance.
const NO_SERIES: &str = "At least one result has only totals, or too few intervals to distinguish a difference from chance. Results \
                         written by `fathom run --output-format=json+` have intervals.";
/// The meaning of repeats.
const REPEATS: &str =
    "Each line compares whole runs, so the interval includes the variation from run to run.";
/// Minimum width for metrics and conclusion on one line.
const WIDE: usize = 110;
/// Jobs with the same difference of options that are named.
const NAMED_JOBS: usize = 3;
/// Of folders with more jobs, each direction of a job is one line.
const FEW_JOBS: usize = 8;

/// The table as text.
#[must_use]
pub fn comparison(comparison: &Comparison, style: &Style) -> String {
    let mut text: String = comparison
        .summaries
        .iter()
        .map(|summary| comparison_summary::text(summary, style) + "\n")
        .collect();
    if !text.is_empty() {
        text += &(comparison_summary::meaning(style) + "\n");
    }
    let is_compact = is_compact(comparison);
    if is_compact {
        text += &compact(comparison, style);
    }
    let mut job = None;
    for row in comparison.rows.iter().filter(|_| !is_compact) {
        if job != Some(&row.job) {
            text += &format!(
                "{}{}\n",
                if job.is_some() { "\n" } else { "" },
                style.clean(&row.job)
            );
            job = Some(&row.job);
        }
        text += &line(row, less_even(comparison, row), style);
    }
    for (before, after) in &comparison.renamed_jobs {
        let line =
            format!("{before} is compared with {after}: same pattern, block size, depth and jobs");
        text += &wrap(&style.clean(&line), style.width, "", "  ");
    }
    let tails = if is_compact {
        Vec::new()
    } else {
        tails(comparison)
    };
    for line in tails
        .into_iter()
        .chain(comparison.shapes.iter().flat_map(shape_lines))
    {
        text += &wrap(&style.clean(&line), style.width, "", "  ");
    }
    for line in explained(comparison) {
        text += &wrap(&style.clean(&line), style.width, "", "  ");
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
    text += &format!("\n{}", wrap(caveat(comparison), style.width, "", ""));
    if !comparison.inputs.is_empty() {
        text.push('\n');
    }
    for input in &comparison.inputs {
        text += &wrap(&style.clean(&input_verdict(input)), style.width, "", "  ");
    }
    if !comparison.gates.is_empty() {
        text.push('\n');
    }
    for gate in &comparison.gates {
        let name = gate.outcome.name();
        let colour = match gate.outcome {
            GateOutcome::Pass => Colour::Green,
            GateOutcome::Inconclusive => Colour::Yellow,
            GateOutcome::Fail => Colour::Red,
        };
        let line = format!("{name}: {}", gate_sentence(gate));
        text += &wrap(&style.clean(&line), style.width, "", "  ").replacen(
            name,
            &style.paint(name, colour),
            1,
        );
    }
    text
}

/// Whether the rows of two folders are too many for a block of lines each.
fn is_compact(comparison: &Comparison) -> bool {
    let mut jobs: Vec<&str> = comparison.rows.iter().map(|row| row.job.as_str()).collect();
    jobs.dedup();
    !comparison.summaries.is_empty() && jobs.len() > FEW_JOBS
}

/// A line for each direction of a job: IOPS, median and p99 before and after.
fn compact(comparison: &Comparison, style: &Style) -> String {
    const SHOWN: [Metric; 3] = [
        Metric::Iops,
        Metric::Percentile(50.0),
        Metric::Percentile(99.0),
    ];
    let jobs = comparison.rows.iter().map(|row| row.job.chars().count());
    let wide = jobs.max().unwrap_or(0).max(3);
    let has_median = style.width >= WIDE;
    let line = |job: &str, direction: &str, cells: [String; 4]| {
        let [iops, change, median, p99] = cells;
        let median = if has_median {
            format!("  {median:>20}")
        } else {
            String::new()
        };
        format!("{job:<wide$}  {direction:<5} {iops:>18} {change:>9}{median}  {p99:>20}\n")
    };
    let heads = ["IOPS", "change", "median", "p99"].map(str::to_owned);
    let mut text = line("job", "", heads);
    for iops in comparison.rows.iter().filter(|row| row.metric == SHOWN[0]) {
        let of = |metric: Metric| {
            let mut rows = comparison.rows.iter();
            let row = rows.find(|row| {
                row.metric == metric && row.job == iops.job && row.direction == iops.direction
            });
            row.map_or(String::new(), |row| {
                format!(
                    "{} -> {}",
                    value(metric, row.before),
                    value(metric, row.after)
                )
            })
        };
        let [rates, median, p99] = SHOWN.map(of);
        text += &line(
            &style.clean(&iops.job),
            iops.direction.name(),
            [rates, percent(iops.change), median, p99],
        );
    }
    text + "All metrics and conclusions: --markdown=FILE or --format=json.\n"
}

/// `a: read p99 is 2.1 times the median before, 3.4 times after`, for each direction of each job.
fn tails(comparison: &Comparison) -> Vec<String> {
    let medians = comparison
        .rows
        .iter()
        .filter(|row| row.metric == Metric::Percentile(50.0));
    medians
        .filter_map(|median| {
            let tail = comparison.rows.iter().find(|row| {
                row.metric == Metric::Percentile(99.0)
                    && row.job == median.job
                    && row.direction == median.direction
            })?;
            Some(format!(
                "{}: {} p99 is {:.1} times the median before, {:.1} times after",
                median.job,
                median.direction.name(),
                tail.before / median.before,
                tail.after / median.after,
            ))
        })
        .collect()
}

/// Evenness of the rate before and after, and the shift between the two.
fn shape_lines(one: &ShapeComparison) -> Vec<String> {
    let sentence = |when: &str, shape: &RateShape| {
        let period = shape
            .period
            .map_or(String::new(), |(seconds, correlation)| {
                format!(
                    ", repeats every {} (correlation {correlation:.2})",
                    duration(seconds * 1e9)
                )
            });
        format!(
            "{}: {} {when}: standard deviation {:.1} %, slowest interval {} IOPS, fastest {} IOPS{period}",
            one.job,
            one.direction.name(),
            shape.deviation * 100.0,
            thousands(shape.worst.round() as u64),
            thousands(shape.best.round() as u64),
        )
    };
    let shift = one.shift.map(|(seconds, correlation)| {
        format!(
            "{}: {}: the pattern comes {} later after than before (correlation {correlation:.2})",
            one.job,
            one.direction.name(),
            duration(seconds * 1e9)
        )
    });
    let both = [
        sentence("before", &one.shapes.0),
        sentence("after", &one.shapes.1),
    ];
    both.into_iter().chain(shift).collect()
}

/// `before.json: DEGRADED (F022 STEAL)`.
fn input_verdict(input: &ComparedInput) -> String {
    let mut word = input.verdict.name().to_ascii_uppercase();
    word += match (input.simulated, input.measured) {
        (0, _) => "",
        (_, 0) => ", simulated",
        _ => ", partly simulated",
    };
    if input.findings.is_empty() {
        format!("{}: {word}", input.name)
    } else {
        format!("{}: {word} ({})", input.name, input.findings.join(", "))
    }
}

/// The figures of a gate and the reason for its outcome.
fn gate_sentence(gate: &Gate) -> String {
    let (row, limit) = (&gate.row, &gate.limit);
    let interval = row.difference.map_or(String::new(), |difference| {
        let (low, high) = difference.interval;
        format!(" (95 % CI {} to {})", percent(low), percent(high))
    });
    // The figures are those that the interval belongs to: of the median interval, or of the repeats.
    let judged = row
        .difference
        .filter(|found| percent(found.change) != percent(row.change));
    let (of, whole) = match judged {
        Some(_) => (
            " of the median interval",
            format!("; the whole run changed by {}", percent(row.change)),
        ),
        None => ("", String::new()),
    };
    let (before, after, change) = judged.map_or((row.before, row.after, row.change), |found| {
        (found.before, found.after, found.change)
    });
    let reason = match (gate.outcome, row.difference) {
        (GateOutcome::Pass, _) => format!("within --fail-if={limit}"),
        (GateOutcome::Fail, _) => format!("beyond --fail-if={limit}"),
        (GateOutcome::Inconclusive, Some(_)) => format!(
            "too much variation to decide --fail-if={limit}; measure longer or repeat both runs"
        ),
        (GateOutcome::Inconclusive, None) => format!(
            "--fail-if={limit} needs intervals (json+ of fathom, logs of fio) or repeats (--vs)"
        ),
    };
    format!(
        "{}: {} {}{of} changed by {} from {} to {}{interval}{whole}: {reason}",
        row.job,
        row.direction.name(),
        row.metric,
        percent(change),
        value(row.metric, before),
        value(row.metric, after),
    )
}

/// One metric of both results.
fn row_object(row: &ComparisonRow) -> Object {
    let difference = row.difference;
    Object::new()
        .with("job", &row.job)
        .with("direction", row.direction.name())
        .with("metric", row.metric.to_string())
        .with("before", row.before)
        .with("after", row.after)
        .with("change", row.change)
        .with("interval_change", difference.map(|found| found.change))
        .with(
            "interval",
            difference.map(|found| Tree::from_iter([found.interval.0, found.interval.1])),
        )
        .with(
            "significant",
            difference.map(|found| found.is_significant()),
        )
        .with(
            "detection_limit",
            difference
                .map(|found| found.resolution)
                .filter(|limit| limit.is_finite()),
        )
}

/// The comparison as a JSON document. Shares are fractions: 0.05 is 5 %. Rates are per second, latencies in nanoseconds.
#[must_use]
pub fn comparison_json(comparison: &Comparison) -> String {
    let inputs = comparison.inputs.iter().map(|input| {
        let mut object = Object::new()
            .with("name", &input.name)
            .with("verdict", input.verdict.name())
            .with("findings", input.findings.iter().collect::<Tree>());
        if input.simulated > 0 {
            object.push("simulated_results", input.simulated as u64);
            object.push("measured_results", input.measured as u64);
        }
        object
    });
    let rows = comparison
        .rows
        .iter()
        .map(|row| row_object(row).with("less_even", less_even(comparison, row).map(reasons)));
    let gates = comparison.gates.iter().map(|gate| {
        row_object(&gate.row)
            .with("limit", &gate.limit)
            .with("allowed", gate.allowed)
            .with("outcome", gate.outcome.name())
    });
    let differing = differing(comparison);
    let document = Object::new().with(
        "comparison",
        Object::new()
            .with(
                "summaries",
                comparison
                    .summaries
                    .iter()
                    .map(comparison_summary::json)
                    .collect::<Tree>(),
            )
            .with("inputs", inputs.collect::<Tree>())
            .with("rows", rows.collect::<Tree>())
            .with(
                "shapes",
                comparison.shapes.iter().map(shape_object).collect::<Tree>(),
            )
            .with(
                "explanations",
                explained(comparison).iter().collect::<Tree>(),
            )
            .with("gates", gates.collect::<Tree>())
            .with(
                "unmatched_jobs",
                comparison.unmatched_jobs.iter().collect::<Tree>(),
            )
            .with("option_differences", differing.iter().collect::<Tree>()),
    );
    Tree::from(document).compact() + "\n"
}

fn shape_object(one: &ShapeComparison) -> Object {
    let shape = |shape: &RateShape| {
        Object::new()
            .with("mean", shape.mean)
            .with("deviation", shape.deviation)
            .with("slowest", shape.worst)
            .with("fastest", shape.best)
            .with("period_s", shape.period.map(|(seconds, _)| seconds))
    };
    Object::new()
        .with("job", &one.job)
        .with("direction", one.direction.name())
        .with("before", shape(&one.shapes.0))
        .with("after", shape(&one.shapes.1))
        .with("shift_s", one.shift.map(|(seconds, _)| seconds))
}

/// Why databases differ.
fn explained(comparison: &Comparison) -> Vec<String> {
    let all = comparison.explanations.iter();
    all.map(|one| format!("{}: {}", one.job, one.sentence))
        .collect()
}

fn caveat(comparison: &Comparison) -> &'static str {
    let has_difference = comparison.rows.iter().any(|row| row.difference.is_some());
    match (has_difference, comparison.repeats) {
        (true, Some(_)) => REPEATS,
        (true, None) => CAVEAT,
        (false, _) => NO_SERIES,
    }
}

/// A line for each difference between the plans; the jobs with the same difference are together.
#[must_use]
pub fn differing(comparison: &Comparison) -> Vec<String> {
    let value = |value: &Option<String>| {
        value
            .as_ref()
            .map_or("not set".to_owned(), |value| format!("'{value}'"))
    };
    let mut alike: Vec<(&OptionDifference, Vec<&str>)> = Vec::new();
    for one in comparison
        .option_differences
        .iter()
        .chain(&comparison.settings)
    {
        let same = |known: &&mut (&OptionDifference, Vec<&str>)| {
            (&known.0.option, &known.0.values) == (&one.option, &one.values)
        };
        match alike.iter_mut().find(same) {
            Some((_, jobs)) => jobs.push(&one.job),
            None => alike.push((one, vec![&one.job])),
        }
    }
    let text = |(one, jobs): &(&OptionDifference, Vec<&str>)| {
        let names = match jobs.len() {
            0..=NAMED_JOBS => jobs.join(", "),
            count => format!(
                "{} and {} more",
                jobs[..NAMED_JOBS].join(", "),
                count - NAMED_JOBS
            ),
        };
        format!(
            "{names}: {} differs: {} before, {} after",
            one.option,
            value(&one.values.0),
            value(&one.values.1)
        )
    };
    alike.iter().map(text).collect()
}

fn line(row: &ComparisonRow, less_even: Option<&LessEven>, style: &Style) -> String {
    let name = format!("{} {}", row.direction.name(), row.metric);
    let figures = format!(
        "  {name:<12} {:>9} -> {:>9}  {:>8}",
        value(row.metric, row.before),
        value(row.metric, row.after),
        percent(row.change)
    );
    let conclusion = conclusion(row, less_even);
    let colour = match worse(row) {
        Some(false) if less_even.is_some() => Colour::Yellow,
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
        .filter(fathom_model::Difference::is_significant)?;
    Some(row.metric.more_is_better() == (difference.change < 0.0))
}

/// The conclusion from the intervals. The change of a whole run may differ from that of its median interval.
fn conclusion(row: &ComparisonRow, less_even: Option<&LessEven>) -> String {
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
    let visible = format!("95 % CI {} to {}; {visible}", percent(low), percent(high));
    match worse(row) {
        Some(is_worse) => {
            let word = if is_worse { "worse" } else { "better" };
            let but = less_even
                .filter(|_| !is_worse)
                .map_or(String::new(), |one| {
                    format!(", but less even: {}", reasons(one))
                });
            format!("{word}{usual} ({} to {}){but}", percent(low), percent(high))
        }
        // The whole run may differ during a part of its time: a stall, a cold start.
        None if row.change.abs() > difference.resolution => format!(
            "no significant difference ({visible}); the median interval changed by {}",
            percent(difference.change)
        ),
        None => format!("no significant difference ({visible})"),
    }
}

/// The direction of `row` if it is less even after than before, for metrics of its usual rate and latency.
fn less_even<'a>(comparison: &'a Comparison, row: &ComparisonRow) -> Option<&'a LessEven> {
    let is_usual = match row.metric {
        Metric::Iops | Metric::Bandwidth | Metric::Mean => true,
        Metric::Percentile(percent) => percent <= 50.0,
    };
    let own = |one: &&LessEven| one.job == row.job && one.direction == row.direction;
    comparison.less_even.iter().filter(|_| is_usual).find(own)
}

/// `standard deviation 2.0 % before, 14.1 % after, p99.9 +140.0 %`.
fn reasons(one: &LessEven) -> String {
    let deviation = one.deviation.map(|(before, after)| {
        format!(
            "standard deviation {:.1} % before, {:.1} % after",
            100.0 * before,
            100.0 * after
        )
    });
    let tail = one
        .tail
        .map(|(metric, change)| format!("{metric} {}", percent(change)));
    deviation
        .into_iter()
        .chain(tail)
        .collect::<Vec<_>>()
        .join(", ")
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

/// The rows of the table: job, metric, before, after, change and conclusion.
#[must_use]
pub fn comparison_rows(comparison: &Comparison) -> Vec<[String; 6]> {
    let row = |row: &ComparisonRow| {
        [
            row.job.clone(),
            format!("{} {}", row.direction.name(), row.metric),
            value(row.metric, row.before),
            value(row.metric, row.after),
            percent(row.change),
            conclusion(row, less_even(comparison, row)),
        ]
    };
    comparison.rows.iter().map(row).collect()
}

/// The sentences below the table: differences of the plans, jobs without a partner, the limit of the method and the verdicts.
#[must_use]
pub fn comparison_remarks(comparison: &Comparison) -> Vec<String> {
    let unmatched = comparison
        .unmatched_jobs
        .iter()
        .map(|name| format!("{name}: in one result only"));
    tails(comparison)
        .into_iter()
        .chain(explained(comparison))
        .chain(differing(comparison))
        .chain(unmatched)
        .chain([caveat(comparison).to_owned()])
        .chain(comparison.inputs.iter().map(input_verdict))
        .collect()
}

/// The same as a table in Markdown.
#[must_use]
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text: String = comparison
        .summaries
        .iter()
        .map(|summary| comparison_summary::markdown(summary, &cell))
        .collect();
    text += &String::from(
        "| job | metric | before | after | change | conclusion |\n| --- | --- | ---: | ---: | ---: | --- |\n",
    );
    for row in &comparison.rows {
        let cells = [
            cell(&row.job),
            format!("{} {}", row.direction.name(), row.metric),
            value(row.metric, row.before),
            value(row.metric, row.after),
            percent(row.change),
            conclusion(row, less_even(comparison, row)),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    let lines = explained(comparison)
        .into_iter()
        .chain(differing(comparison));
    for line in lines.chain(
        comparison
            .unmatched_jobs
            .iter()
            .map(|name| format!("{name}: in one result only")),
    ) {
        text += &format!("\n* {}\n", cell(&line));
    }
    text += &format!("\n{}\n", caveat(comparison));
    if !comparison.inputs.is_empty() {
        text.push('\n');
    }
    for input in &comparison.inputs {
        text += &format!("* {}\n", cell(&input_verdict(input)));
    }
    if !comparison.gates.is_empty() {
        text.push('\n');
    }
    for gate in &comparison.gates {
        text += &format!(
            "* **{}**: {}\n",
            gate.outcome.name(),
            cell(&gate_sentence(gate))
        );
    }
    text
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

/// JUnit XML: a test case for each row. It fails if a gate on it fails, and is skipped if a gate on it is inconclusive.
#[must_use]
pub fn comparison_junit(comparison: &Comparison) -> String {
    let worst = |row: &ComparisonRow| {
        let own = |gate: &&Gate| gate.row == *row;
        let gates = comparison.gates.iter().filter(own);
        gates.max_by_key(|gate| gate.outcome)
    };
    let judged: Vec<Option<&Gate>> = comparison.rows.iter().map(worst).collect();
    let number = |outcome| {
        let all = judged.iter().flatten();
        all.filter(|gate| gate.outcome == outcome).count()
    };
    let (failures, skipped) = (number(GateOutcome::Fail), number(GateOutcome::Inconclusive));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"fathom compare\" tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\">\n",
        comparison.rows.len()
    );
    for (row, gate) in comparison.rows.iter().zip(&judged) {
        let (job, figure) = (
            xml(&row.job),
            format!("{} {}", row.direction.name(), row.metric),
        );
        let output = format!(
            "{} -> {} ({}) {}",
            value(row.metric, row.before),
            value(row.metric, row.after),
            percent(row.change),
            conclusion(row, less_even(comparison, row))
        );
        let output = xml(&output);
        text += &format!("  <testcase classname=\"{job}\" name=\"{figure}\">");
        text += &match gate {
            Some(gate) if gate.outcome == GateOutcome::Fail => format!(
                "<failure message=\"{}\">{output}</failure>",
                xml(&gate_sentence(gate))
            ),
            Some(gate) if gate.outcome == GateOutcome::Inconclusive => format!(
                "<skipped message=\"INCONCLUSIVE: {}\"/><system-out>{output}</system-out>",
                xml(&gate_sentence(gate))
            ),
            _ => format!("<system-out>{output}</system-out>"),
        };
        text += "</testcase>\n";
    }
    text + "</testsuite>\n"
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
            is_apart: false,
        }
    }

    #[test]
    fn less_is_worse_for_rates_and_better_for_latencies() {
        let style = Style {
            width: WIDE,
            ..Style::default()
        };
        let text = |metric, sure| line(&row("a", metric, 1000.0, 900.0, sure), None, &style);
        assert!(
            text(Metric::Iops, true).contains("-10.0 %  worse (-15.0 % to -5.0 %)"),
            "{}",
            text(Metric::Iops, true)
        );
        assert!(text(Metric::Percentile(99.0), true).contains("better"));
        assert!(text(Metric::Iops, false).contains(
            "no significant difference (95 % CI -30.0 % to +10.0 %; detection limit 20.0 %)"
        ));
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
            conclusion(&row, None),
            "no significant difference (95 % CI -8.0 % to +5.0 %; detection limit 13.0 %); the median interval changed by -2.0 %"
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
            conclusion(&row, None),
            "no significant difference (95 % CI -90.0 % to +3100.0 %; too much variation to detect less than a doubling)"
        );
    }

    /// Regression 0515: more IOPS with a far less even rate were "better".
    #[test]
    fn better_but_less_even_is_said() {
        let all = Comparison {
            rows: vec![
                row("a", Metric::Iops, 100.0, 200.0, true),
                row("b", Metric::Iops, 100.0, 200.0, true),
            ],
            less_even: vec![LessEven {
                job: "b".to_owned(),
                direction: Direction::Read,
                deviation: Some((0.02, 0.141)),
                tail: Some((Metric::Percentile(99.9), 1.4)),
            }],
            ..Comparison::default()
        };
        let text = comparison(&all, &Style::default());
        let (first, second) = text.split_once("\nb\n").expect("two jobs");
        assert!(
            first.contains("better (") && !first.contains("less even"),
            "{text}"
        );
        let second = second.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            second.contains(
                "but less even: standard deviation 2.0 % before, 14.1 % after, p99.9 +140.0 %"
            ),
            "{text}"
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
        let gate = |outcome| Gate {
            limit: "iops:-\"5\"%".to_owned(),
            allowed: -0.05,
            row: all.rows[0].clone(),
            outcome,
        };
        let with = |outcome| Comparison {
            gates: vec![gate(outcome)],
            ..all.clone()
        };
        let junit = comparison_junit(&with(GateOutcome::Fail));
        assert!(
            junit.contains("failures=\"1\" skipped=\"0\"")
                && junit.contains("&lt;b&gt;|&quot;x&amp; "),
            "{junit}"
        );
        assert!(junit.contains("beyond --fail-if=iops:-&quot;5&quot;%\""));
        let junit = comparison_junit(&with(GateOutcome::Inconclusive));
        assert!(
            junit.contains("failures=\"0\" skipped=\"1\"") && junit.contains("<skipped message=")
        );
        let json = comparison_json(&with(GateOutcome::Inconclusive));
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["comparison"]["gates"][0]["outcome"], "INCONCLUSIVE");
        assert_eq!(json["comparison"]["rows"][0]["change"], -0.5);
        assert!(!comparison(&all, &Style::default()).contains('\u{1b}'));
    }
}
