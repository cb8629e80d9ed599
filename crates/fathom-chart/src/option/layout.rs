//! Positions of title, plot, legend and notes, so that none overlaps another.

use fathom_model::{AxisScale, Chart, ChartBody, ChartSeries};
use serde_json::{Value, json};

use super::Medium;
use super::panels::{self, Area, Cell};
use crate::font::{FAMILY, width, wrapped};
use crate::theme::role;

const MARGIN: f32 = 20.0;
const TITLE: f32 = 19.0;
const TITLE_LINE: f32 = 24.0;
/// Font size of a title of more than two lines on a phone.
const SMALL_TITLE: f32 = 14.0;
/// Bold letters are at most this much wider.
const BOLD: f32 = 1.1;
/// A substitute font is at most this much wider.
const OTHER_FONT: f32 = 1.12;
/// Maximum share of the height for notes.
const NOTES_SHARE: f32 = 0.25;
const SUBTITLE: f32 = 13.0;
const NOTE: f32 = 11.5;
const LEGEND: f32 = 12.5;
/// Height of a line of notes.
const NOTE_LINE: f32 = 17.0;
const LEGEND_LINE: f32 = 15.0;
/// Above and below the legend.
const LEGEND_EDGE: f32 = 9.0;
/// A legend that needs more than this share of the height is shown as one scrolling line.
const LEGEND_SHARE: f32 = 0.5;
/// Narrower images are laid out for a phone.
const PHONE: f32 = 500.0;
/// Width of a legend on a narrow page, space between its entries, and the lines that leave space for the plot.
const NARROW_PAGE: f32 = 330.0;
const NARROW_GAP: f32 = 8.0;
const NARROW_LINES: f32 = 6.0;
/// Height of a lying bar with its space, and of what is above and below them.
const LYING_BAR: f32 = 32.0;
const LYING_EDGES: f32 = 96.0;
/// Above the panels of a page: the toolbox.
const PAGE_TOP: f32 = 22.0;
/// Space for the colour bar beside several panels.
const COLOUR_BAR: f32 = 72.0;
/// Height of the event strip, and the space above it.
pub(super) const STRIP: f32 = 12.0;
const STRIP_GAP: f32 = 16.0;
/// The table of figures: height of a line, font size, space between columns, and the share of the
/// height that it may have.
const TABLE_LINE: f32 = 16.0;
const TABLE_SIZE: f32 = 11.5;
const TABLE_GAP: f32 = 18.0;
const TABLE_SHARE: f32 = 0.26;
/// Names in the table are cut to this width.
const TABLE_NAME: f32 = 300.0;

/// Positions in pixels from the edges of the image.
pub(super) struct Layout {
    pub(super) is_image: bool,
    /// Width without the margins.
    pub(super) wide: f32,
    /// Between the entries of the legend.
    legend_gap: f32,
    pub(super) top: f32,
    pub(super) bottom: f32,
    /// From the bottom edge to the legend.
    pub(super) legend: f32,
    pub(super) legend_scrolls: bool,
    pub(super) strip: bool,
    /// Space on the right of each panel for the names at the ends of its lines.
    pub(super) ends: Option<f32>,
    /// Height of the image.
    high: f32,
    /// The table of figures, and its lower edge above the bottom of the image.
    table: Vec<Vec<String>>,
    table_bottom: f32,
    notes: Vec<String>,
    title: Vec<String>,
    title_size: f32,
    subtitle: Vec<String>,
}

impl Layout {
    pub(super) fn of(chart: &Chart, medium: Medium) -> Layout {
        let Medium::Image {
            width: wide,
            height,
        } = medium
        else {
            return Layout::of_page(chart);
        };
        let available = wide as f32 - 2.0 * MARGIN;
        // Viewers without this font substitute another, which is usually wider, and bold letters even more so.
        let mut notes: Vec<String> = chart
            .notes
            .iter()
            .flat_map(|note| wrapped(note, NOTE, available / OTHER_FONT))
            .collect();
        let legend_gap = if available < PHONE { 6.0 } else { 16.0 };
        let (columns, rows) = (chart.panels.len().max(1), chart.y.len().max(1));
        let rows = if available < PHONE {
            columns * rows
        } else {
            columns.div_ceil(3) * rows
        };
        let ends = panels::end_space(chart, available, height as f32 * 0.55 / rows as f32);
        let lines = if ends.is_some() {
            0.0
        } else {
            legend_lines(chart, available, legend_gap)
        };
        let most = ((height as f32 * LEGEND_SHARE - 2.0 * LEGEND_EDGE)
            / (LEGEND_LINE + legend_gap))
            .floor()
            .max(1.0);
        let (shown, scrolls) = if lines > most {
            (1.0, true)
        } else {
            (lines, false)
        };
        // Notes must leave space for the plot; with a long legend they get less.
        let share = if shown > 2.0 {
            NOTES_SHARE / 2.0
        } else {
            NOTES_SHARE
        };
        let most = (height as f32 * share / NOTE_LINE).max(1.0) as usize;
        if notes.len() > most {
            notes.truncate(most);
            notes
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|line| line.push_str(" ..."));
        }
        // The source is always shown.
        notes.extend(
            wrapped(&chart.source, NOTE, available / OTHER_FONT)
                .into_iter()
                .filter(|line| !line.is_empty()),
        );
        let table = fitted_table(&chart.table, available, height as f32);
        let table_high =
            table.len() as f32 * TABLE_LINE + if table.is_empty() { 0.0 } else { 10.0 };
        let subtitle = wrapped(&chart.subtitle, SUBTITLE, available / OTHER_FONT);
        let room = available / OTHER_FONT / BOLD;
        let mut title_size = TITLE;
        let mut title = wrapped(&chart.title, TITLE, room);
        if available < PHONE && title.len() > 2 {
            title_size = SMALL_TITLE;
            title = wrapped(&chart.title, SMALL_TITLE, room);
        }
        let title_line = title_size + TITLE_LINE - TITLE;
        let foot = if notes.is_empty() {
            10.0
        } else {
            notes.len() as f32 * NOTE_LINE + 16.0
        };
        let strip = !chart.events.is_empty() && matches!(chart.body, ChartBody::Grid(_));
        let divided = panels::is_divided(chart);
        Layout {
            is_image: true,
            wide: available,
            top: 24.0 + title.len() as f32 * title_line - (TITLE_LINE - TITLE)
                + subtitle.len() as f32 * 18.0
                + if chart.y.is_empty() || divided {
                    10.0
                } else {
                    36.0
                },
            bottom: foot
                + table_high
                + legend_height(shown, legend_gap)
                + if divided { 0.0 } else { 34.0 }
                + if strip { STRIP + STRIP_GAP } else { 0.0 },
            legend: foot + table_high,
            ends,
            high: height as f32,
            table,
            table_bottom: foot,
            legend_scrolls: scrolls,
            legend_gap,
            strip,
            notes,
            title,
            title_size,
            subtitle,
        }
    }

    fn of_page(chart: &Chart) -> Layout {
        let strip = !chart.events.is_empty() && matches!(chart.body, ChartBody::Grid(_));
        let divided = panels::is_divided(chart);
        let ends = panels::end_space(chart, 320.0, 170.0);
        let lines = if ends.is_some() {
            0.0
        } else {
            legend_lines(chart, 700.0, 18.0).min(1.0)
        };
        Layout {
            is_image: false,
            wide: 640.0,
            top: if divided { PAGE_TOP } else { 48.0 },
            bottom: 12.0
                + legend_height(lines, 18.0)
                + if divided { 0.0 } else { 34.0 }
                + if strip { STRIP + STRIP_GAP } else { 0.0 },
            ends,
            high: Layout::page_height(chart),
            table: Vec::new(),
            table_bottom: 0.0,
            legend: 6.0,
            legend_scrolls: true,
            legend_gap: 18.0,
            strip,
            notes: Vec::new(),
            title: Vec::new(),
            title_size: TITLE,
            subtitle: Vec::new(),
        }
    }

    /// Height of a page's chart with several panels.
    pub(super) fn page_height(chart: &Chart) -> f32 {
        let lines = if panels::end_space(chart, 320.0, 170.0).is_some() {
            0.0
        } else {
            legend_lines(chart, 700.0, 18.0).min(1.0)
        };
        let legend = 12.0 + legend_height(lines, 18.0);
        PAGE_TOP + panels::page_height(chart) + legend
    }

    /// Height of a page's chart with lying bars.
    pub(super) fn lying_height(chart: &Chart) -> f32 {
        let AxisScale::Names(names) = &chart.x.scale else {
            return 0.0;
        };
        let series = match &chart.body {
            ChartBody::Series(all) => all.len(),
            ChartBody::Grid(_) => 1,
        };
        let bar = LYING_BAR.max(14.0 * series as f32);
        names.len() as f32 * bar + LYING_EDGES
    }

    /// Height of the image.
    pub(super) fn high(&self) -> f32 {
        self.high
    }

    /// Left edge of the titles of axes, in pixels.
    pub(super) fn edge(&self) -> f32 {
        if self.is_image { MARGIN } else { 6.0 }
    }

    /// Height between the titles and what is below the plot.
    pub(super) fn plot_height(&self) -> f32 {
        self.high - self.top - self.bottom
    }

    /// The panels of a chart with several.
    pub(super) fn cells(&self, chart: &Chart) -> Vec<Cell> {
        let bar = match chart.body {
            ChartBody::Grid(_) => COLOUR_BAR,
            ChartBody::Series(_) => 0.0,
        };
        panels::cells(
            chart,
            &Area {
                left: if self.is_image { MARGIN - 6.0 } else { 0.0 },
                width: self.is_image.then_some(self.wide + 6.0 - bar),
                top: self.top,
                height: self.high - self.top - self.bottom,
                right: self.ends.unwrap_or(if self.is_image { 0.0 } else { bar }),
            },
        )
    }

    /// The table of figures, as texts.
    pub(super) fn table(&self, colours: &[Value]) -> Vec<Value> {
        let Some(head) = self.table.first() else {
            return Vec::new();
        };
        let widths: Vec<f32> = (0..head.len())
            .map(|n| column_width(&self.table, n))
            .collect();
        let top = self.high - self.table_bottom - self.table.len() as f32 * TABLE_LINE;
        let mut texts = Vec::new();
        for (number, row) in self.table.iter().enumerate() {
            let y = top + number as f32 * TABLE_LINE + 1.0;
            let mut x = MARGIN + 14.0;
            for (n, cell) in row.iter().enumerate() {
                let (at, align) = if n == 0 {
                    (x, "left")
                } else {
                    (x + widths[n], "right")
                };
                x += widths[n] + TABLE_GAP;
                if cell.is_empty() {
                    continue;
                }
                let fill = role(if number == 0 { "muted" } else { "text" });
                texts.push(json!({ "type": "text", "x": at, "y": y, "silent": true,
                    "style": { "text": cell, "fill": fill, "textAlign": align, "font": format!("{TABLE_SIZE}px {FAMILY}, sans-serif") } }));
            }
            let swatch = number.checked_sub(1).filter(|_| row.len() > 1);
            if let Some(colour) = swatch.and_then(|n| colours.get(n)) {
                texts.push(
                    json!({ "type": "rect", "silent": true, "style": { "fill": colour },
                    "shape": { "x": MARGIN, "y": y + 4.0, "width": 9, "height": 5 } }),
                );
            }
        }
        texts
    }

    /// Title and subtitle above, notes below.
    pub(super) fn titles(&self, chart: &Chart) -> Value {
        let mut titles = self.axis_names(chart);
        if !self.is_image {
            return json!(titles);
        }
        titles.insert(0, json!({
            "text": self.title.join("\n"), "left": MARGIN - 5.0, "top": 10, "itemGap": 6,
            "textStyle": { "fontSize": self.title_size, "fontWeight": "bold", "color": role("text"), "lineHeight": self.title_size + TITLE_LINE - TITLE, "fontFamily": FAMILY },
            "subtext": self.subtitle.join("\n"),
            "subtextStyle": { "fontSize": SUBTITLE, "color": role("muted"), "lineHeight": 18, "fontFamily": FAMILY },
        }));
        if !self.notes.is_empty() {
            titles.push(json!({
                "text": self.notes.join("\n"), "left": MARGIN - 5.0, "bottom": 4,
                "textStyle": { "fontSize": NOTE, "fontWeight": "normal", "color": role("muted"), "lineHeight": NOTE_LINE, "fontFamily": FAMILY },
            }));
        }
        json!(titles)
    }

    /// Axis titles above the ends of the axes; with two axes, in the colour of their series.
    fn axis_names(&self, chart: &Chart) -> Vec<Value> {
        if matches!(&chart.body, ChartBody::Grid(grid) if super::field::is_solid(grid)) {
            return Vec::new();
        }
        if panels::is_divided(chart) {
            return self.panel_names(chart);
        }
        let one = |(place, axis): (usize, &fathom_model::ChartAxis)| {
            let mut title = json!({
                "text": super::axis::titled(axis), "top": self.top - 34.0,
                "textStyle": { "fontSize": 12.5, "fontWeight": "normal", "color": role("muted"), "fontFamily": FAMILY },
            });
            let edge = if self.is_image { MARGIN - 5.0 } else { 3.0 };
            title[if place == 0 { "left" } else { "right" }] = json!(edge);
            title
        };
        chart.y.iter().enumerate().map(one).collect()
    }

    /// Titles of the panels, names of their y axes, and the name of the common x axis.
    fn panel_names(&self, chart: &Chart) -> Vec<Value> {
        let text = |text: &str, left: f32, top: f32, strong: bool| {
            json!({ "text": text, "left": left - 5.0, "top": top - 5.0,
                "textStyle": { "fontSize": 12.5, "fontWeight": if strong { "bold" } else { "normal" },
                    "color": role(if strong { "text" } else { "muted" }), "fontFamily": FAMILY } })
        };
        let mut titles = Vec::new();
        let cells = self.cells(chart);
        let edge = self.edge();
        for cell in &cells {
            if let Some(title) = chart.panels.get(cell.panel).filter(|_| cell.is_highest) {
                let room = cell.width.unwrap_or(260.0) + cell.right - 8.0;
                titles.push(text(
                    &cut(title, 12.5, room),
                    cell.left,
                    cell.top - 47.0,
                    true,
                ));
            }
            if cell.is_first {
                let name = super::axis::titled(&chart.y[cell.axis]);
                titles.push(text(&name, edge, cell.top - 27.0, false));
            }
        }
        let name = super::axis::titled(&chart.x);
        if !name.is_empty() {
            titles.push(json!({ "text": name, "left": "center", "bottom": self.bottom - 6.0,
                "textStyle": { "fontSize": 12.5, "fontWeight": "normal", "color": role("muted"), "fontFamily": FAMILY } }));
        }
        titles
    }

    pub(super) fn grid(&self, chart: &Chart) -> Value {
        let (left, right) = if self.is_image {
            (MARGIN, MARGIN + 8.0)
        } else {
            // Half of the last label of the x axis is beyond the plot.
            (8.0, 28.0)
        };
        let right = match (self.ends, &chart.x.scale) {
            (Some(ends), _) => right + ends,
            (None, AxisScale::Nines) => right + 22.0,
            _ => right,
        };
        json!({ "left": left, "right": right, "top": self.top, "bottom": self.bottom, "containLabel": true })
    }

    /// On a narrow page, a legend of several lines in place of one that scrolls, and the space for it.
    pub(super) fn narrow_legend(
        &self,
        chart: &Chart,
        legend: &Value,
        grid: &Value,
    ) -> Option<Value> {
        let lines = legend_lines(chart, NARROW_PAGE, NARROW_GAP);
        let is_shown = !self.is_image && legend["show"] == json!(true);
        if !is_shown || panels::is_divided(chart) || !(2.0..=NARROW_LINES).contains(&lines) {
            return None;
        }
        let (mut legend, mut grid) = (legend.clone(), grid.clone());
        legend["type"] = json!("plain");
        legend["itemGap"] = json!(NARROW_GAP);
        let more = legend_height(lines, NARROW_GAP) - legend_height(1.0, self.legend_gap);
        grid[0]["bottom"] = json!(self.bottom + more);
        Some(
            json!([{ "query": { "maxWidth": PHONE }, "option": { "legend": legend, "grid": grid } }]),
        )
    }

    pub(super) fn legend_of(&self, names: &[&str]) -> Value {
        json!({
            "show": names.len() > 1 && self.ends.is_none(), "data": names, "bottom": self.legend, "left": "center", "type": if self.legend_scrolls { "scroll" } else { "plain" },
            "itemWidth": 26, "itemHeight": 10, "itemGap": self.legend_gap,
            "textStyle": { "fontSize": LEGEND, "color": role("text"), "fontFamily": FAMILY },
            "pageTextStyle": { "color": role("muted") },
        })
    }
}

/// `text`, cut to a width.
fn cut(text: &str, size: f32, room: f32) -> String {
    if width(text, size, true) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if width(&kept, size, true) + 2.0 * size > room {
            break;
        }
        kept.push(letter);
    }
    kept + "..."
}

/// The rows and columns of the table of figures for which there is space.
fn fitted_table(table: &[Vec<String>], available: f32, high: f32) -> Vec<Vec<String>> {
    let most = (high * TABLE_SHARE / TABLE_LINE) as usize;
    if table.len() < 2 || most < 2 {
        return Vec::new();
    }
    let name = TABLE_NAME.min(available / 2.0);
    let mut rows: Vec<Vec<String>> = table
        .iter()
        .map(|row| {
            let mut row = row.clone();
            if let Some(first) = row.first_mut() {
                *first = cut(first, TABLE_SIZE, name);
            }
            row
        })
        .collect();
    if rows.len() > most {
        let more = rows.len() - most + 1;
        rows.truncate(most - 1);
        rows.push(vec![format!("and {more} more")]);
    }
    let columns = rows[0].len();
    let wide = |rows: &[Vec<String>], count: usize| -> f32 {
        (0..count)
            .map(|n| column_width(rows, n) + TABLE_GAP)
            .sum::<f32>()
    };
    let kept = (1..=columns)
        .rev()
        .find(|count| wide(&rows, *count) <= available)
        .unwrap_or(1);
    rows.iter_mut().for_each(|row| row.truncate(kept));
    rows
}

fn column_width(rows: &[Vec<String>], n: usize) -> f32 {
    rows.iter()
        .filter_map(|row| row.get(n))
        .map(|cell| width(cell, TABLE_SIZE, false))
        .fold(0.0, f32::max)
}

/// Height of a legend with so many lines.
fn legend_height(lines: f32, gap: f32) -> f32 {
    if lines == 0.0 {
        0.0
    } else {
        lines * LEGEND_LINE + (lines - 1.0) * gap + LEGEND_EDGE
    }
}

/// The names in the legend: of series that are not alone in their panel. Values of an ordered quantity stand in their order.
pub(super) fn legend_names(all: &[ChartSeries]) -> Vec<&str> {
    let is_alone = |series: &ChartSeries| {
        let place = (series.panel, series.axis);
        let mut beside = all
            .iter()
            .filter(|other| (other.panel, other.axis) == place);
        beside.all(|other| other.name == series.name)
    };
    let all_alone = all.iter().all(is_alone);
    let mut names: Vec<&str> = Vec::new();
    let mut ordered: Vec<&ChartSeries> = all.iter().collect();
    if all.iter().all(|series| series.shade.is_some()) {
        let shade = |series: &ChartSeries| series.shade.unwrap_or(0.0);
        ordered.sort_by(|a, b| shade(a).total_cmp(&shade(b)));
    }
    for series in ordered {
        let one = series.name.as_str();
        // A colour that differs from panel to panel needs its name too.
        let is_needed = !is_alone(series) || (all_alone && series.axis == 0);
        if is_needed && !names.contains(&one) {
            names.push(one);
        }
    }
    if names.len() < 2 {
        names.clear();
    }
    names
}

fn legend_lines(chart: &Chart, available: f32, gap: f32) -> f32 {
    let ChartBody::Series(all) = &chart.body else {
        return 0.0;
    };
    if all.len() < 2 {
        return 0.0;
    }
    let names = legend_names(all);
    if names.is_empty() {
        return 0.0;
    }
    let (mut lines, mut used) = (1.0, 0.0);
    for name in names {
        let wide = width(name, LEGEND, false) + 26.0 + 5.0 + gap;
        if used + wide > available && used > 0.0 {
            lines += 1.0;
            used = 0.0;
        }
        used += wide;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 1400: panels with depths 1, 64 and 32 named them in this order, that of the panels.
    #[test]
    fn a_legend_lists_an_ordered_quantity_in_its_order() {
        let one = |panel, name: &str, shade| ChartSeries {
            name: name.to_owned(),
            panel,
            shade,
            ..ChartSeries::default()
        };
        let depths = [
            one(0, "depth 1", Some(0.0)),
            one(1, "depth 64", Some(1.0)),
            one(2, "depth 32", Some(0.5)),
        ];
        assert_eq!(legend_names(&depths), ["depth 1", "depth 32", "depth 64"]);
        let devices = [one(0, "sdb", None), one(0, "sda", None)];
        assert_eq!(
            legend_names(&devices),
            ["sdb", "sda"],
            "names without an order keep that of the arguments"
        );
    }
}
