//! The text of a search: the answer, both curves as tables and in one plot, and the knees.

use fathom_model::{MaxLoad, Response, ResponsePoint, Verdict};

use crate::Style;
use crate::experiment::aligned;
use crate::output::wrap;
use crate::text::simulated_line;
use fathom_model::format::{duration, rate, thousands};

/// Rows of the plot.
const ROWS: usize = 12;
/// Columns before its axis: the longest duration and a blank.
const MARGIN: usize = 9;

/// The result of a search. With `by_bytes` the headline is in MB/s.
#[must_use]
pub fn response_text(response: &Response, by_bytes: bool, style: &Style) -> String {
    let mut text = simulated_line(response.simulated.as_ref(), style);
    if let Some(at) = &response.at {
        return text + &style.clean(&at.sentence) + "\n";
    }
    text += &(wrap(&style.clean(&response.about), style.width, "", "  ") + "\n");
    if let Some(most) = &response.max_load {
        text += &wrap(
            &headline(most, by_bytes, &response.limits),
            style.width,
            "",
            "  ",
        );
    }
    text += &paragraphs(&response.sentences, style);
    if !response.open.is_empty() {
        // A stopped search has no answer.
        text += if text.ends_with("\n\n") { "" } else { "\n" };
        text += &wrap(
            &format!(
                "Open loop, {}; response time (due to completed):",
                response.arrivals
            ),
            style.width,
            "",
            "  ",
        );
        text += &open_table(response, style);
    }
    text += "\n";
    text += &wrap(
        "Closed loop; service time (submitted to completed):",
        style.width,
        "",
        "  ",
    );
    text += &closed_table(response, style);
    text += &plot(response, style);
    if !response.knees.is_empty() {
        text += "\n";
        text += &wrap(
            "Knees of the closed loop, each by its rule:",
            style.width,
            "",
            "  ",
        );
        text += &paragraphs(
            &response
                .knees
                .iter()
                .map(|knee| knee.sentence.clone())
                .collect::<Vec<_>>(),
            style,
        );
    }
    text
}

/// The answer of a search in one sentence, without and with its explanation; `None` if it has no limit.
#[must_use]
pub fn search_answer(response: &Response, by_bytes: bool) -> Option<Vec<String>> {
    if let Some(at) = &response.at {
        return Some(vec![at.sentence.clone()]);
    }
    let most = response.max_load.as_ref()?;
    let first = headline(most, by_bytes, &response.limits) + ".";
    Some(
        std::iter::once(first)
            .chain(response.sentences.iter().cloned())
            .collect(),
    )
}

fn paragraphs(sentences: &[String], style: &Style) -> String {
    sentences
        .iter()
        .map(|one| wrap(&style.clean(one), style.width, "  ", "    "))
        .collect()
}

fn headline(most: &MaxLoad, by_bytes: bool, limits: &[String]) -> String {
    let figure = |load: u64| {
        if by_bytes {
            format!("{:.1}", load as f64 * most.bytes / 1e6)
        } else {
            thousands(load)
        }
    };
    let unit = if by_bytes { "MB/s" } else { "IOPS" };
    let limits = limits.join(" and ");
    let Some(load) = most.load else {
        return format!("Maximum load with {limits}: none");
    };
    if let (true, Some(exceeded)) = (most.stopped_early, most.exceeded) {
        return format!(
            "Maximum load with {limits}: between {} and {} {unit}",
            figure(load),
            figure(exceeded)
        );
    }
    let end = |end: Option<u64>| end.map_or("?".to_owned(), figure);
    format!(
        "Maximum load with {limits}: {} {unit} ({} to {})",
        figure(load),
        end(most.low),
        end(most.high)
    )
}

fn open_table(response: &Response, style: &Style) -> String {
    let mut head: Vec<String> = ["offered", "IOPS", "MB/s"].map(String::from).to_vec();
    let judged = !response.limits.is_empty();
    if judged {
        head.push("passed".into());
    }
    head.extend(latency_heads());
    let row = |point: &ResponsePoint| {
        let mut cells = vec![
            thousands(point.load.round() as u64),
            marked_rate(point),
            rate(point.figures.bandwidth / 1e6),
        ];
        if judged {
            cells.push(format!(
                "{}/{}",
                point.within_limits.unwrap_or(0),
                point.trials
            ));
        }
        cells.extend(latencies(point));
        cells
    };
    aligned(
        &head,
        &response.open.iter().map(row).collect::<Vec<_>>(),
        1,
        style,
    )
}

fn closed_table(response: &Response, style: &Style) -> String {
    let mut head: Vec<String> = ["depth", "IOPS", "MB/s"].map(String::from).to_vec();
    head.extend(latency_heads());
    let row = |point: &ResponsePoint| {
        let mut cells = vec![
            thousands(point.load as u64),
            marked_rate(point),
            rate(point.figures.bandwidth / 1e6),
        ];
        cells.extend(latencies(point));
        cells
    };
    let marked = response
        .closed
        .iter()
        .chain(&response.open)
        .any(|point| point.figures.verdict != Verdict::Valid);
    let note = if marked {
        "* has findings, listed in the JSON output\n"
    } else {
        ""
    };
    aligned(
        &head,
        &response.closed.iter().map(row).collect::<Vec<_>>(),
        1,
        style,
    ) + note
}

fn latency_heads() -> [String; 4] {
    ["mean", "median", "p99", "p99.9"].map(String::from)
}

fn marked_rate(point: &ResponsePoint) -> String {
    rate(point.figures.iops)
        + if point.figures.verdict == Verdict::Valid {
            ""
        } else {
            "*"
        }
}

fn latencies(point: &ResponsePoint) -> [String; 4] {
    let latency = &point.figures.latency;
    [latency.mean, latency.p50, latency.p99, latency.p999].map(duration)
}

/// Both curves in one plot: IOPS on the x axis, the 99th percentile on a logarithmic y axis.
fn plot(response: &Response, style: &Style) -> String {
    let of = |points: &[ResponsePoint], mark: char| -> Vec<(f64, f64, char)> {
        let seen = points
            .iter()
            .filter(|point| point.figures.iops > 0.0 && point.figures.latency.p99 > 0.0);
        seen.map(|point| (point.figures.iops, point.figures.latency.p99.ln(), mark))
            .collect()
    };
    let dots: Vec<(f64, f64, char)> = of(&response.closed, 'c')
        .into_iter()
        .chain(of(&response.open, 'o'))
        .collect();
    let columns = style.width.saturating_sub(MARGIN + 2).min(66);
    if dots.len() < 3 || columns < 20 {
        return String::new();
    }
    let right = dots.iter().map(|dot| dot.0).fold(0.0, f64::max);
    let (low, high) = dots
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), dot| {
            (low.min(dot.1), high.max(dot.1))
        });
    let tall = (high - low).max(0.1);
    let mut canvas = vec![vec![' '; columns]; ROWS];
    for (iops, latency, mark) in dots {
        let column = (iops / right * (columns - 1) as f64).round() as usize;
        let row = ROWS - 1 - ((latency - low) / tall * (ROWS - 1) as f64).round() as usize;
        let place = &mut canvas[row][column];
        *place = if *place == ' ' || *place == mark {
            mark
        } else {
            '*'
        };
    }
    let label =
        |row: usize| duration((low + tall * (ROWS - 1 - row) as f64 / (ROWS - 1) as f64).exp());
    let mut text = "\n".to_owned()
        + &wrap(
            "p99 against IOPS: o open loop, c closed loop, * both",
            style.width,
            "",
            "  ",
        );
    for (row, line) in canvas.iter().enumerate() {
        let name = if row % 4 == 0 || row == ROWS - 1 {
            label(row)
        } else {
            String::new()
        };
        let dots: String = line.iter().collect();
        text += &format!("{name:>width$} |{}", dots.trim_end(), width = MARGIN - 1);
        text.push('\n');
    }
    let end = rate(right);
    text + &format!(
        "{:MARGIN$}+{}\n{:MARGIN$}0{end:>width$}\n",
        "",
        "-".repeat(columns),
        "",
        width = columns
    )
}

#[cfg(test)]
mod tests {
    use fathom_model::{CellFigures, CellLatency, NamedKnee};

    use super::*;

    fn point(load: f64, iops: f64, p99: f64, kept: Option<u32>) -> ResponsePoint {
        let latency = CellLatency {
            mean: p99 / 4.0,
            p50: p99 / 5.0,
            p99,
            p999: 2.0 * p99,
            ..CellLatency::default()
        };
        let figures = CellFigures {
            iops,
            bandwidth: iops * 4096.0,
            latency,
            per_target: Vec::new(),
            ..CellFigures::default()
        };
        ResponsePoint {
            load,
            trials: 2,
            within_limits: kept,
            figures,
        }
    }

    fn response() -> Response {
        Response {
            at: None,
            simulated: None,
            arrivals: "Poisson arrivals".into(),
            about: "random read".into(),
            limits: vec!["p99 <= 1.0 ms".into()],
            max_load: Some(MaxLoad {
                load: Some(45_000),
                low: Some(44_500),
                high: None,
                sustained: Some(44_600),
                exceeded: None,
                stopped_early: false,
                seconds: 12.0,
                bytes: 4096.0,
            }),
            open: vec![
                point(4_500.0, 4_500.0, 2e5, Some(2)),
                point(45_000.0, 44_900.0, 9e5, Some(1)),
            ],
            closed: vec![
                point(1.0, 9_000.0, 1.5e5, None),
                point(128.0, 50_000.0, 4e6, None),
            ],
            knees: vec![NamedKnee {
                rule: "Kneedle".into(),
                depth: None,
                sentence: "Kneedle: no knee.".into(),
            }],
            sentences: vec!["The answer.".into()],
        }
    }

    #[test]
    fn the_answer_comes_first_and_every_line_fits() {
        for width in [80, 40] {
            let text = response_text(
                &response(),
                false,
                &Style {
                    width,
                    ..Style::default()
                },
            );
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                flat.contains("Maximum load with p99 <= 1.0 ms: 45,000 IOPS (44,500 to ?)"),
                "{text}"
            );
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{text}"
            );
        }
        let text = response_text(&response(), true, &Style::default());
        assert!(
            text.contains("184.3 MB/s (182.3 to ?)"),
            "45,000 x 4096 = 184.3 MB: {text}"
        );
        assert!(text.contains("45,000   44,900   184     1/2"), "{text}");
    }

    #[test]
    fn without_an_answer_one_empty_line_is_enough() {
        let text = response_text(
            &Response {
                max_load: None,
                sentences: Vec::new(),
                ..response()
            },
            false,
            &Style::default(),
        );
        assert!(
            !text.contains("\n\n\n") && text.contains("\n\nOpen loop, Poisson arrivals"),
            "{text}"
        );
    }

    /// The corners: the slowest point at the top, the fastest at the right end, the first depth at the bottom.
    #[test]
    fn both_curves_share_their_axes() {
        let text = plot(&response(), &Style::default());
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert!(
            rows[0].starts_with(" 4.00 ms |")
                && rows[0].ends_with('c')
                && rows[0].chars().count() == 76,
            "{text}"
        );
        assert!(
            rows[ROWS - 1].starts_with("  150 us |") && rows[ROWS - 1].ends_with('c'),
            "{text}"
        );
        assert_eq!(
            text.matches('o').count() - "against open loop closed loop both".matches('o').count(),
            1 + 2,
            "{text}"
        );
    }
}
