//! Positions of title, plot, legend and notes, so that none overlaps another.

use fathom_model::{AxisScale, Chart, ChartBody};
use serde_json::{Value, json};

use super::Medium;
use crate::font::{FAMILY, width, wrapped};
use crate::theme::{palette, role};

const MARGIN: f32 = 20.0;
const TITLE: f32 = 19.0;
const TITLE_LINE: f32 = 24.0;
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
/// Height of the event strip, and the space above it.
pub(super) const STRIP: f32 = 12.0;
const STRIP_GAP: f32 = 16.0;

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
    notes: Vec<String>,
    title: Vec<String>,
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
        let lines = legend_lines(chart, available, legend_gap);
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
        let subtitle = wrapped(&chart.subtitle, SUBTITLE, available / OTHER_FONT);
        let title = wrapped(&chart.title, TITLE, available / OTHER_FONT / BOLD);
        let foot = if notes.is_empty() {
            10.0
        } else {
            notes.len() as f32 * NOTE_LINE + 16.0
        };
        let strip = !chart.events.is_empty();
        Layout {
            is_image: true,
            wide: available,
            top: 24.0 + title.len() as f32 * TITLE_LINE - (TITLE_LINE - TITLE)
                + subtitle.len() as f32 * 18.0
                + if chart.y.is_empty() { 10.0 } else { 36.0 },
            bottom: foot
                + legend_height(shown, legend_gap)
                + 34.0
                + if strip { STRIP + STRIP_GAP } else { 0.0 },
            legend: foot,
            legend_scrolls: scrolls,
            legend_gap,
            strip,
            notes,
            title,
            subtitle,
        }
    }

    fn of_page(chart: &Chart) -> Layout {
        let strip = !chart.events.is_empty();
        let lines = legend_lines(chart, 700.0, 18.0).min(1.0);
        Layout {
            is_image: false,
            wide: 640.0,
            top: 48.0,
            bottom: 12.0
                + legend_height(lines, 18.0)
                + 34.0
                + if strip { STRIP + STRIP_GAP } else { 0.0 },
            legend: 6.0,
            legend_scrolls: true,
            legend_gap: 18.0,
            strip,
            notes: Vec::new(),
            title: Vec::new(),
            subtitle: Vec::new(),
        }
    }

    /// Title and subtitle above, notes below.
    pub(super) fn titles(&self, chart: &Chart) -> Value {
        let mut titles = self.axis_names(chart);
        if !self.is_image {
            return json!(titles);
        }
        titles.insert(0, json!({
            "text": self.title.join("\n"), "left": MARGIN - 5.0, "top": 10, "itemGap": 6,
            "textStyle": { "fontSize": TITLE, "fontWeight": "bold", "color": role("text"), "lineHeight": TITLE_LINE, "fontFamily": FAMILY },
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
        let one = |(place, axis): (usize, &fathom_model::ChartAxis)| {
            let mut title = json!({
                "text": super::axis::titled(axis), "top": self.top - 34.0,
                "textStyle": { "fontSize": 12.5, "fontWeight": "normal", "color": colour_of(chart, place), "fontFamily": FAMILY },
            });
            let edge = if self.is_image { MARGIN - 5.0 } else { 3.0 };
            title[if place == 0 { "left" } else { "right" }] = json!(edge);
            title
        };
        chart.y.iter().enumerate().map(one).collect()
    }

    pub(super) fn grid(&self, chart: &Chart) -> Value {
        let (left, right) = if self.is_image {
            (MARGIN, MARGIN + 8.0)
        } else {
            (8.0, 16.0)
        };
        let right = if chart.x.scale == AxisScale::Nines {
            right + 22.0
        } else {
            right
        };
        json!({ "left": left, "right": right, "top": self.top, "bottom": self.bottom, "containLabel": true })
    }

    pub(super) fn legend_of(&self, names: &[String]) -> Value {
        json!({
            "show": names.len() > 1, "data": names, "bottom": self.legend, "left": "center", "type": if self.legend_scrolls { "scroll" } else { "plain" },
            "itemWidth": 26, "itemHeight": 10, "itemGap": self.legend_gap,
            "textStyle": { "fontSize": LEGEND, "color": role("text"), "fontFamily": FAMILY },
            "pageTextStyle": { "color": role("muted") },
        })
    }
}

/// The colour of the only series on an axis, if there are two axes.
fn colour_of(chart: &Chart, axis: usize) -> Value {
    let ChartBody::Series(all) = &chart.body else {
        return role("muted");
    };
    let on = |axis: usize| {
        all.iter()
            .filter(move |series| series.axis == axis)
            .map(|series| series.colour)
    };
    let mut mine: Vec<usize> = on(axis).collect();
    mine.dedup();
    if chart.y.len() > 1 && mine.len() == 1 {
        palette(mine[0])
    } else {
        role("muted")
    }
}

/// Height of a legend with so many lines.
fn legend_height(lines: f32, gap: f32) -> f32 {
    if lines == 0.0 {
        0.0
    } else {
        lines * LEGEND_LINE + (lines - 1.0) * gap + LEGEND_EDGE
    }
}

fn legend_lines(chart: &Chart, available: f32, gap: f32) -> f32 {
    let ChartBody::Series(all) = &chart.body else {
        return 0.0;
    };
    if all.len() < 2 {
        return 0.0;
    }
    let mut names: Vec<&str> = all.iter().map(|series| series.name.as_str()).collect();
    names.dedup();
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
