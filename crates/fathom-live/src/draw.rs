//! The screen: progress, throughput and latency over time, latency heat map, findings and finished
//! cells.

use fathom_model::format;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, Gauge, GraphType, Paragraph, Sparkline, Wrap};

use crate::view::{DECADES, Step, View};

/// From this width on, findings and finished cells are beside each other.
const SIDE_BY_SIDE: u16 = 72;
/// Shades of the heat map, from none to maximum.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// Minimum and maximum logarithm of the latency axis: 1 us to 10 s.
const LOGS: (f64, f64) = (3.0, 10.0);

/// Draws the view into a frame of any size.
pub fn draw(view: &View, frame: &mut Frame<'_>) {
    let area = frame.area();
    let heat = DECADES as u16 + 2;
    let rows = if area.height >= 34 {
        vec![
            Constraint::Length(4),
            Constraint::Length(6),
            Constraint::Min(8),
            Constraint::Length(heat),
            Constraint::Length(8),
        ]
    } else {
        // A small terminal shows only metrics and findings.
        vec![
            Constraint::Length(4),
            Constraint::Length(4),
            Constraint::Min(0),
            Constraint::Length(0),
            Constraint::Max(6),
        ]
    };
    let [head, rate, latency, strip, foot] = Layout::vertical(rows).areas(area);
    progress(view, frame, head);
    throughput(view, frame, rate, latency.height < 6);
    if latency.height >= 6 {
        latencies(view, frame, latency);
    }
    if strip.height > 2 {
        heat_map(view, frame, strip);
    }
    if area.width < SIDE_BY_SIDE {
        // Beside each other, both would cut their lines.
        if view.findings.is_empty() {
            finished(view, frame, foot);
        } else {
            findings(view, frame, foot);
        }
        return;
    }
    let [found, done] =
        Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(foot);
    findings(view, frame, found);
    finished(view, frame, done);
}

/// The name of a cell and as many parts of its status as fit; of a long name its first words.
fn fitting(name: &str, status: &str, width: usize) -> String {
    let mut line = format!("{name}: {status}");
    while line.chars().count() > width {
        let end = line.rfind(", ").or_else(|| line.rfind(' '));
        match end {
            Some(end) => line.truncate(end),
            None => break,
        }
    }
    line
}

fn progress(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let (name, number, all) = &view.cell;
    let left = view.left.map_or(String::new(), |left| {
        format!(" {} left ", format::time_left(left))
    });
    let block = Block::bordered()
        .title(format!(" {} ", view.title))
        .title_bottom(Line::from(" q stops and keeps the results ").right_aligned());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [first, second] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(1)]).areas(inner);
    let over = if *all == 0 {
        0.0
    } else {
        (number.saturating_sub(1) as f64 + view.share.unwrap_or(0.0)) / *all as f64
    };
    let gauge = Gauge::default()
        .gauge_style(Style::new().fg(Color::Cyan))
        .ratio(over.clamp(0.0, 1.0))
        .label(format!("cell {number} of {all}{left}"));
    frame.render_widget(gauge, first);
    let cell = Gauge::default()
        .gauge_style(Style::new().fg(Color::Green))
        .ratio(view.share.unwrap_or(0.0))
        .label(fitting(name, &view.status, usize::from(second.width)));
    frame.render_widget(cell, second);
}

fn throughput(view: &View, frame: &mut Frame<'_>, area: Rect, with_latency: bool) {
    let last = view.steps.back().copied().unwrap_or_default();
    let title = format!(
        " {} IOPS   {} MB/s ",
        thousands(last.iops),
        thousands(last.bandwidth / 1e6)
    );
    let mut block = Block::bordered().title(title);
    if with_latency {
        block = block.title_bottom(format!(
            " median {}, p99 {} ",
            latency(last.p50),
            latency(last.p99)
        ));
    }
    let data: Vec<u64> = visible(view, area)
        .map(|step| step.iops.max(0.0) as u64)
        .collect();
    frame.render_widget(
        Sparkline::default()
            .block(block)
            .style(Style::new().fg(Color::Cyan))
            .data(data),
        area,
    );
}

/// The steps that fit inside the border.
fn visible(view: &View, area: Rect) -> impl Iterator<Item = &Step> {
    let columns = usize::from(area.width.saturating_sub(2));
    view.steps
        .iter()
        .skip(view.steps.len().saturating_sub(columns))
}

fn latencies(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let points = |of: fn(&Step) -> Option<f64>| -> Vec<(f64, f64)> {
        let known = visible(view, area)
            .enumerate()
            .filter_map(|(x, step)| Some((x as f64, of(step)?.max(1.0).log10())));
        known.collect()
    };
    let (p50, p99) = (points(|step| step.p50), points(|step| step.p99));
    let last = view.steps.back().copied().unwrap_or_default();
    let title = format!(
        " latency: median {}, p99 {} ",
        latency(last.p50),
        latency(last.p99)
    );
    let line = |name, data, colour| {
        Dataset::default()
            .name(name)
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::new().fg(colour))
            .data(data)
    };
    let logs = [&p50, &p99].into_iter().flatten().map(|point| point.1);
    let low = logs
        .clone()
        .fold(f64::INFINITY, f64::min)
        .floor()
        .clamp(LOGS.0, LOGS.1 - 1.0);
    let high = logs.fold(0.0, f64::max).ceil().clamp(low + 1.0, LOGS.1);
    let labels = [low, f64::midpoint(low, high), high].map(|log| latency(Some(10_f64.powf(log))));
    let chart = Chart::new(vec![
        line("median", &p50, Color::Green),
        line("p99", &p99, Color::Yellow),
    ])
    .block(Block::bordered().title(title))
    .x_axis(Axis::default().bounds([0.0, f64::from(area.width.saturating_sub(3)).max(1.0)]))
    .y_axis(Axis::default().bounds([low, high]).labels(labels));
    frame.render_widget(chart, area);
}

fn heat_map(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let columns: Vec<[u64; DECADES]> = visible(view, area).map(|step| step.heat).collect();
    let most = columns.iter().flatten().copied().max().unwrap_or(0);
    let row = |decade: usize| {
        let cells = columns.iter().map(|column| {
            Span::styled(
                shade(column[decade], most).to_string(),
                Style::new().fg(colour(decade)),
            )
        });
        Line::from(cells.collect::<Vec<_>>())
    };
    // High latencies are at the top.
    let lines: Vec<Line<'_>> = (0..DECADES).rev().map(row).collect();
    let title =
        " latency heat map: the lowest row is below 10 us, each row above is 3.2 times higher ";
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title(title)),
        area,
    );
}

/// Every I/O is visible; shades are logarithmic because single slow I/Os matter.
fn shade(count: u64, most: u64) -> char {
    if count == 0 || most == 0 {
        return SHADES[0];
    }
    let share = (count as f64).ln_1p() / (most as f64).ln_1p();
    SHADES[((share * 4.0).ceil() as usize).clamp(1, 4)]
}

fn colour(decade: usize) -> Color {
    match decade {
        0..=3 => Color::Green,
        4..=6 => Color::Yellow,
        _ => Color::Red,
    }
}

fn findings(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let line = |(code, evidence): &(String, String)| {
        Line::from(vec![
            Span::styled(
                format!("{code} "),
                Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
            ),
            Span::raw(evidence.clone()),
        ])
    };
    let lines: Vec<Line<'_>> = view.findings.iter().map(line).collect();
    frame.render_widget(
        Paragraph::new(lines)
            .wrap(Wrap { trim: true })
            .block(Block::bordered().title(" findings so far ")),
        area,
    );
}

fn finished(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let max_lines = usize::from(area.height.saturating_sub(2));
    let lines: Vec<Line<'_>> = view
        .done
        .iter()
        .rev()
        .take(max_lines)
        .map(|line| Line::from(line.clone()))
        .collect();
    frame.render_widget(
        Paragraph::new(lines)
            .wrap(Wrap { trim: true })
            .block(Block::bordered().title(" finished, latest first ")),
        area,
    );
}

/// Latency figures that may be missing.
fn latency(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), format::duration)
}

fn thousands(figure: f64) -> String {
    format::thousands(figure.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fathom_model::{Finding, Weight};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn drawn(view: &View, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory");
        terminal.draw(|frame| draw(view, frame)).expect("memory");
        let buffer = terminal.backend().buffer();
        (0..height)
            .map(|y| {
                (0..width)
                    .map(|x| buffer[(x, y)].symbol().to_owned())
                    .collect()
            })
            .collect()
    }

    fn busy() -> View {
        let mut view = View::new("fathom sweep\u{1b}[2J of /mnt");
        view.end("1/24 bs=4k: 12,345 IOPS");
        view.begin("bs=64k iodepth=8", 2, 24);
        view.progress(Some(0.5), "running, 50.0%", Some(Duration::from_secs(250)));
        for second in 0..600_u64 {
            let mut heat = [0; DECADES];
            heat[1] = 900;
            heat[7] = u64::from(second % 10 == 0);
            let slow = if second % 10 == 0 { 20e6 } else { 0.4e6 };
            view.step(Step {
                iops: 95_012.0,
                bandwidth: 389e6,
                p50: Some(80e3),
                p99: Some(slow),
                heat,
            });
        }
        let finding = Finding {
            id: "F001",
            code: "SHORT_IO",
            weight: Weight::Invalidates,
            about: None,
            evidence: "3 reads were short".into(),
            advice: String::new(),
            when: Vec::new(),
        };
        view.found(&[finding]);
        view
    }

    #[test]
    fn everything_is_visible_on_a_large_terminal() {
        let screen = drawn(&busy(), 120, 40);
        let all = screen.join("\n");
        for text in [
            "fathom sweep [2J of /mnt",
            "cell 2 of 24 4m 10s left",
            "bs=64k iodepth=8: running, 50.0%",
            "95,012 IOPS   389 MB/s",
            "latency: median 80.0 us, p99 400 us",
            "SHORT_IO 3 reads were short",
            "1/24 bs=4k: 12,345 IOPS",
            "q stops",
        ] {
            assert!(all.contains(text), "'{text}' is missing in\n{all}");
        }
        assert!(!all.contains('\u{1b}'), "names contain no escape sequences");
    }

    /// The upper bar is the share of all cells in 118 columns: with one of 24 done and the second half done 7.4 of them, with three done 14.8.
    #[test]
    fn the_bar_of_all_cells_has_the_finished_ones() {
        let filled = |number, share| {
            let mut view = View::new("fathom sweep");
            view.begin("bs=4k", number, 24);
            view.progress(share, "running", None);
            drawn(&view, 120, 40)[1].matches('█').count()
        };
        assert_eq!(filled(1, None), 0);
        assert_eq!(filled(2, Some(0.5)), 7);
        assert_eq!(filled(4, Some(0.0)), 15);
    }

    /// 900 fast I/Os in every second fill a row; one slow I/O in each tenth second is visible in
    /// another.
    #[test]
    fn single_slow_ios_are_visible_in_the_heat_map() {
        let screen = drawn(&busy(), 120, 40);
        let top = screen
            .iter()
            .position(|line| line.contains("latency heat map"))
            .expect("the heat map");
        let row = |decade: usize| &screen[top + DECADES - decade];
        assert_eq!(row(1).matches('█').count(), 118, "{}", row(1));
        let slow = row(7).chars().filter(|c| SHADES[1..].contains(c)).count();
        assert!((11..=12).contains(&slow), "{}", row(7));
        assert_eq!(row(3).trim_matches('│').trim(), "");
    }

    #[test]
    fn no_size_of_terminal_is_too_small() {
        for (width, height) in [
            (1, 1),
            (2, 40),
            (20, 5),
            (40, 12),
            (80, 24),
            (300, 100),
            (0, 0),
        ] {
            drawn(&busy(), width, height);
            drawn(&View::default(), width, height);
        }
        let small = drawn(&busy(), 80, 24).join("\n");
        assert!(
            small.contains("cell 2 of 24")
                && small.contains("95,012 IOPS")
                && small.contains("SHORT_IO"),
            "{small}"
        );
    }

    /// Regression 0410: on a terminal of 40 columns and 15 rows, names, status and results were cut within words, and there was
    /// no latency.
    #[test]
    fn a_terminal_of_40_columns_and_15_rows_shows_whole_words() {
        let mut view = busy();
        view.progress(
            Some(0.5),
            "running, 50.0%, read 391MiB/s 100k IOPS, eta 00m:05s",
            Some(Duration::from_secs(250)),
        );
        let screen = drawn(&view, 40, 15).join("\n");
        for text in [
            "cell 2 of 24 4m 10s left",
            "bs=64k iodepth=8: running, 50.0%",
            "95,012 IOPS   389 MB/s",
            "median 80.0 us, p99 400 us",
            "q stops and keeps the results",
            "SHORT_IO 3 reads were short",
        ] {
            assert!(screen.contains(text), "'{text}' is missing in\n{screen}");
        }
        view.found(&[]);
        let screen = drawn(&view, 40, 15).join("\n");
        assert!(screen.contains("1/24 bs=4k: 12,345 IOPS"), "{screen}");
        assert_eq!(
            fitting("rw=randread bs=64k", "running", 20),
            "rw=randread bs=64k:"
        );
        assert_eq!(fitting("rw=randread bs=64k", "running", 12), "rw=randread");
    }

    #[test]
    fn figures() {
        assert_eq!(
            (thousands(1_234_567.0), thousands(12.4)),
            ("1,234,567".into(), "12".into())
        );
        assert_eq!(
            (latency(None), latency(Some(80e3)), latency(Some(123_456.0))),
            ("-".into(), "80.0 us".into(), "123 us".into())
        );
    }
}
