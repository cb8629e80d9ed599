//! A figure over time, with the changes of its level.

use fathom_analyse::{Level, TREND_METHOD, trend, trend_chart};
use fathom_chart::Page;
use fathom_model::format::date_minute;
use fathom_model::{AxisScale, ChartAxis, ChartUnit, simulated_in};
use fathom_report::metric_text;
use fathom_store::{FigurePoint, SeriesFilter, Store, StoreError};

use super::{answer, device_of};
use crate::answer::{Answer, Problem};
use crate::html::{Column, Frame, Html, elsewhere, number, words};
use crate::request::{Request, address};
use crate::workers::Site;

/// Values of a trend, the newest.
pub(crate) const MOST_VALUES: u32 = 2000;
/// Series in the list of a page.
const MOST_SERIES: usize = 200;
/// Size of the small chart of a series, and its most points.
const SPARK: (f64, f64, usize) = (160.0, 28.0, 120);
/// Runs that are searched for figures and names to choose.
const NEWEST: u32 = 500;

/// Values of equal runs, the oldest first.
pub(crate) struct Series {
    /// Name of the runs with the axes of the cell.
    pub name: String,
    pub points: Vec<FigurePoint>,
    pub levels: Vec<Level>,
}

impl Series {
    /// What the last change of its level means: `regression`, `improvement`, or that it cannot be decided yet.
    pub fn meaning(&self, figure: &str) -> &'static str {
        match &self.levels[..] {
            [.., last] if self.points.len() > 1 => meaning(last, figure),
            _ => "one value",
        }
    }
}

fn meaning(level: &Level, figure: &str) -> &'static str {
    match level.change {
        None => "no change",
        Some(_) if !level.is_confirmed => "too few runs to decide",
        Some(_) if level.is_regression(more_is_better(figure)) => "regression",
        Some(_) => "improvement",
    }
}

fn percent(level: &Level) -> String {
    level
        .change
        .map_or(String::new(), |change| format!("{:+.1} %", 100.0 * change))
}

/// Whether more of a figure is better; a latency is better when it is short.
pub(crate) fn more_is_better(figure: &str) -> bool {
    ["iops", "bandwidth", "offered"]
        .iter()
        .any(|rate| figure.ends_with(rate))
}

/// The series that a request names.
pub(crate) fn requested(site: &mut Site, request: &Request) -> Result<Vec<Series>, Problem> {
    let filter = SeriesFilter {
        figure: request.get("figure").to_owned(),
        name: request.get("name").to_owned(),
        device: request.get("device").to_owned(),
        limit: MOST_VALUES,
    };
    if filter.figure.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = series(site.library.store(), &filter)?;
    let one = request.get("series");
    all.retain(|series| one.is_empty() || series.name == one);
    Ok(all)
}

/// The series of a figure, the longest first.
pub(crate) fn series(store: &mut Store, filter: &SeriesFilter) -> Result<Vec<Series>, StoreError> {
    let mut all: Vec<Series> = Vec::new();
    for point in store.series(filter)? {
        let axes = point
            .axes
            .iter()
            .map(|(axis, value)| format!(" {axis}={value}"));
        let mut name = axes.fold(point.name.clone(), |name, axis| name + &axis);
        // Never one line with measured values, nor with another model.
        if simulated_in(&point.facts).is_some() {
            name += &format!(" on {}", device_of(&point.facts));
        }
        match all.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                name,
                points: vec![point],
                levels: Vec::new(),
            }),
        }
    }
    all.sort_by_key(|series| std::cmp::Reverse(series.points.len()));
    for series in &mut all {
        let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
        series.levels = trend(&values);
    }
    Ok(all)
}

pub(crate) fn page(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let figure = request.get("figure").to_owned();
    let known = site.library.store().recent_names(NEWEST)?;
    let mut html = Html::default();
    html.raw("<h1>Trends</h1><form class=filter method=get action=\"/trends\">");
    let figures: Vec<&str> = known.figures.iter().map(String::as_str).collect();
    let names: Vec<&str> = known.runs.iter().map(String::as_str).collect();
    html.select("Figure", "figure", "-", &figures, &figure);
    html.select(
        "Name of the runs",
        "name",
        "all",
        &names,
        request.get("name"),
    );
    html.raw("<label>Device <input type=search name=device")
        .attribute("value", request.get("device"))
        .raw("></label>");
    html.raw("<button class=do>Show</button></form>");
    let all = requested(site, request)?;
    if figure.is_empty() {
        html.raw("<p>Choose a figure; the page shows it over all runs of the same name, and where its level changed.</p>");
    } else if all.is_empty() {
        html.raw("<p>No run has this figure.</p>");
    }
    let mut data = String::new();
    match &all[..] {
        [] => {}
        [one] => {
            let runs: Vec<String> = one
                .points
                .iter()
                .map(|point| point.run.to_string())
                .collect();
            let values: Vec<f64> = one.points.iter().map(|point| point.value).collect();
            let title = format!("{figure}: {}", one.name);
            let mut charts = Page::new("");
            let chart = trend_chart(&title, axis(&figure, &values), &runs, &values, &one.levels);
            charts.chart(&chart, "");
            let parts = charts.parts();
            html.report(&parts);
            if parts.has_charts {
                data = parts.data;
            }
            changes(&mut html, site, &figure, one);
        }
        _ => list(&mut html, request, &figure, &all),
    }
    let query = |format: &str| {
        let names =
            ["figure", "name", "device", "series"].map(|name| (name, request.get(name).to_owned()));
        let mut query = names.to_vec();
        query.push(("format", format.to_owned()));
        address("/api/v1/trends", &query)
    };
    if !figure.is_empty() {
        let runs: Vec<String> = all
            .iter()
            .take(1)
            .flat_map(|one| {
                one.points
                    .iter()
                    .rev()
                    .take(8)
                    .map(|point| point.run.to_string())
            })
            .collect();
        elsewhere(
            &mut html,
            &[("CSV", query("csv")), ("JSON", query("json"))],
            &if runs.is_empty() {
                "fathom runs".to_owned()
            } else {
                format!("fathom export {}", runs.join(" "))
            },
        );
    }
    Ok(answer(
        &Frame {
            title: "Trends",
            current: "/trends",
            data: &data,
            is_wide: all.len() > 1,
            ..Frame::default()
        },
        &html,
    ))
}

/// A line for each series, those with a regression first.
fn list(html: &mut Html, request: &Request, figure: &str, all: &[Series]) {
    const NEWEST: Column = number("Newest");
    const VALUES: Column = number("Values");
    const OVER_TIME: Column = words("Over time");
    const CHANGE: Column = number("Last change");
    const MEANING: Column = words("Meaning");
    let mut shown: Vec<&Series> = all.iter().collect();
    shown.sort_by_key(|series| series.meaning(figure) != "regression");
    let caption = if all.len() > MOST_SERIES {
        format!(
            "The first {MOST_SERIES} of {} series: choose a name or a device",
            all.len()
        )
    } else {
        format!("{figure} of {} series", all.len())
    };
    html.head(
        &caption,
        &[words("Series"), NEWEST, VALUES, OVER_TIME, CHANGE, MEANING],
    );
    for series in shown.into_iter().take(MOST_SERIES) {
        let (Some(newest), Some(level)) = (series.points.last(), series.levels.last()) else {
            continue;
        };
        let query = [
            ("figure", figure.to_owned()),
            ("name", newest.name.clone()),
            ("device", request.get("device").to_owned()),
            ("series", series.name.clone()),
        ];
        html.row("/trends", &query, &series.name)
            .cell(NEWEST, &metric_text(figure, newest.value))
            .cell(VALUES, &series.points.len().to_string())
            .open(OVER_TIME);
        if series.points.len() > 1 {
            spark(html, series, figure);
        }
        html.raw("</td>").cell(CHANGE, &percent(level));
        html.open(MEANING)
            .meaning(series.meaning(figure))
            .raw("</td></tr>");
    }
    html.foot()
        .raw("<p class=note>Change points: ")
        .text(TREND_METHOD)
        .raw(".</p>");
}

/// The values of a series as a line, with a mark where a regression began.
fn spark(html: &mut Html, series: &Series, figure: &str) {
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let (width, height, most) = SPARK;
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    let x = |at: usize| 2.0 + (width - 4.0) * at as f64 / (values.len().max(2) - 1) as f64;
    let y = |value: f64| {
        let share = if high > low {
            (value - low) / (high - low)
        } else {
            0.5
        };
        height - 3.0 - (height - 6.0) * share
    };
    let step = values.len().div_ceil(most).max(1);
    let points: Vec<String> = (0..values.len())
        .step_by(step)
        .map(|at| format!("{:.1},{:.1}", x(at), y(values[at])))
        .collect();
    html.raw("<svg class=spark role=img")
        .attribute("viewBox", &format!("0 0 {width} {height}"))
        .attribute(
            "aria-label",
            &format!(
                "{} to {}",
                metric_text(figure, low),
                metric_text(figure, high)
            ),
        )
        .raw("><polyline")
        .attribute("points", &points.join(" "))
        .raw("/>");
    for level in &series.levels {
        if level.is_regression(more_is_better(figure)) {
            html.raw("<circle r=3")
                .attribute("cx", &format!("{:.1}", x(level.from)))
                .attribute("cy", &format!("{:.1}", y(values[level.from])))
                .raw("/>");
        }
    }
    html.raw("</svg>");
}

/// The axis of a figure, in a unit that suits its values.
fn axis(figure: &str, values: &[f64]) -> ChartAxis {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let (symbol, divide) = match figure.rsplit(' ').next().unwrap_or_default() {
        "iops" | "offered" => ("IOPS", 1.0),
        "bandwidth" => ("MB/s", 1e6),
        _ if largest >= 1.0 => ("s", 1.0),
        _ if largest >= 1e-3 => ("ms", 1e-3),
        _ => ("us", 1e-6),
    };
    ChartAxis {
        title: figure.to_owned(),
        unit: ChartUnit {
            symbol: symbol.to_owned(),
            divide,
        },
        scale: AxisScale::Linear,
        ..ChartAxis::default()
    }
}

/// A line for each change point.
fn changes(html: &mut Html, site: &Site, figure: &str, series: &Series) {
    html.raw("<section><h2>").text(&series.name).raw("</h2>");
    if series.levels.len() < 2 {
        html.raw("<p>")
            .text(&format!(
                "No change of its level in {} values.",
                series.points.len()
            ))
            .raw("</p></section>");
        return;
    }
    const STARTED: Column = words("Started");
    const CHANGE: Column = number("Change");
    const BEFORE: Column = number("Before");
    const AFTER: Column = number("After");
    const MEANING: Column = words("Meaning");
    const COMPARE: Column = words("Compare");
    html.head(
        &format!("Changes of {figure}"),
        &[
            words("Since"),
            STARTED,
            CHANGE,
            BEFORE,
            AFTER,
            MEANING,
            COMPARE,
        ],
    );
    for pair in series.levels.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let (first, last) = (
            &series.points[after.from],
            &series.points[after.from.saturating_sub(1)],
        );
        let date = date_minute(
            first.started_unix_ns / 1_000_000_000,
            site.settings.utc_offset_s,
        );
        html.row(&format!("/runs/{}", first.run), &[], &first.run.to_string())
            .cell(STARTED, &date)
            .cell(CHANGE, &percent(after))
            .cell(BEFORE, &metric_text(figure, before.mean))
            .cell(AFTER, &metric_text(figure, after.mean));
        html.open(MEANING)
            .meaning(meaning(after, figure))
            .raw("</td>");
        html.open(COMPARE)
            .link(
                "/compare",
                &[("runs", format!("{},{}", last.run, first.run))],
                &format!("{} and {}", last.run, first.run),
            )
            .raw("</td></tr>");
    }
    html.foot().raw("</section>");
}
