//! A figure over time, with the changes of its level.

use fathom_analyse::{Level, TREND_METHOD, trend, trend_chart};
use fathom_chart::Page;
use fathom_model::format::date_minute;
use fathom_model::{AxisScale, ChartAxis, ChartUnit};
use fathom_report::metric_text;
use fathom_store::{FigurePoint, ListFilter, SeriesFilter};

use super::answer;
use crate::answer::{Answer, Problem};
use crate::html::{Frame, Html, elsewhere, shell_word};
use crate::request::{Request, address};
use crate::workers::Site;

/// Values of a trend, the newest.
const MOST_VALUES: u32 = 2000;
/// Series on one page.
const MOST_SERIES: usize = 12;
/// Runs that are searched for figures and names to choose.
const NEWEST: u32 = 500;

/// Values of equal runs, the oldest first.
pub(crate) struct Series {
    /// Name of the runs with the axes of the cell.
    pub name: String,
    pub points: Vec<FigurePoint>,
    pub levels: Vec<Level>,
}

/// Whether more of a figure is better; a latency is better when it is short.
pub(crate) fn more_is_better(figure: &str) -> bool {
    ["iops", "bandwidth", "offered"]
        .iter()
        .any(|rate| figure.ends_with(rate))
}

pub(crate) fn series(site: &mut Site, request: &Request) -> Result<Vec<Series>, Problem> {
    let filter = SeriesFilter {
        figure: request.get("figure").to_owned(),
        name: request.get("name").to_owned(),
        device: request.get("device").to_owned(),
        limit: MOST_VALUES,
    };
    if filter.figure.is_empty() {
        return Ok(Vec::new());
    }
    let mut all: Vec<Series> = Vec::new();
    for point in site.library.store().series(&filter)? {
        let axes = point
            .axes
            .iter()
            .map(|(axis, value)| format!(" {axis}={value}"));
        let name = axes.fold(point.name.clone(), |name, axis| name + &axis);
        match all.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                name,
                points: vec![point],
                levels: Vec::new(),
            }),
        }
    }
    // The longest first.
    all.sort_by_key(|series| std::cmp::Reverse(series.points.len()));
    for series in &mut all {
        let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
        series.levels = trend(&values);
    }
    Ok(all)
}

pub(crate) fn page(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let figure = request.get("figure").to_owned();
    let newest = site.library.store().list(&ListFilter {
        limit: NEWEST,
        ..ListFilter::default()
    })?;
    let mut html = Html::default();
    html.raw("<h1>Trends</h1><form class=filter method=get action=\"/trends\">");
    let mut figures: Vec<&str> = newest
        .iter()
        .flat_map(|run| run.figures.iter().map(|(name, _)| name.as_str()))
        .collect();
    figures.sort_unstable();
    figures.dedup();
    let mut names: Vec<&str> = newest
        .iter()
        .map(|run| run.run.experiment.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    choice(&mut html, "Figure", "figure", &figures, &figure);
    choice(
        &mut html,
        "Name of the runs",
        "name",
        &names,
        request.get("name"),
    );
    html.raw("<label>Device <input type=search name=device")
        .attribute("value", request.get("device"))
        .raw("></label>");
    html.raw("<button class=do>Show</button></form>");
    let all = series(site, request)?;
    if figure.is_empty() {
        html.raw("<p>Choose a figure; the page shows it over all runs of the same name, and where its level changed.</p>");
    } else if all.is_empty() {
        html.raw("<p>No run has this figure.</p>");
    }
    let mut charts = Page::new("");
    for one in all.iter().take(MOST_SERIES) {
        let title = format!("{figure}: {}", one.name);
        let runs: Vec<String> = one
            .points
            .iter()
            .map(|point| point.run.to_string())
            .collect();
        let values: Vec<f64> = one.points.iter().map(|point| point.value).collect();
        charts.chart(
            &trend_chart(&title, axis(&figure, &values), &runs, &values, &one.levels),
            "",
        );
    }
    let parts = charts.parts();
    html.report(&parts);
    for one in all.iter().take(MOST_SERIES) {
        changes(&mut html, site, &figure, one);
    }
    if all.len() > MOST_SERIES {
        html.raw("<p class=note>")
            .text(&format!(
                "{} more series: choose a name of runs.",
                all.len() - MOST_SERIES
            ))
            .raw("</p>");
    }
    let query = |format: &str| {
        let names = ["figure", "name", "device"].map(|name| (name, request.get(name).to_owned()));
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
            &format!(
                "fathom export {}",
                runs.iter()
                    .map(|run| shell_word(run))
                    .collect::<Vec<_>>()
                    .join(" ")
            ),
        );
    }
    let data = if parts.has_charts {
        parts.data.as_str()
    } else {
        ""
    };
    Ok(answer(
        &Frame {
            title: "Trends",
            current: "/trends",
            data,
            ..Frame::default()
        },
        &html,
    ))
}

fn choice(html: &mut Html, label: &'static str, name: &'static str, values: &[&str], chosen: &str) {
    html.raw("<label>")
        .raw(label)
        .raw(" <select")
        .attribute("name", name)
        .raw("><option value=\"\">-</option>");
    for value in values {
        html.raw("<option").attribute("value", value);
        if *value == chosen {
            html.raw(" selected");
        }
        html.raw(">").text(value).raw("</option>");
    }
    html.raw("</select></label>");
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
    let head = [
        "Since", "Started", "Change", "Before", "After", "Meaning", "Compare",
    ];
    html.raw("<div class=\"whole runs\">")
        .head(&format!("Changes of {figure}; {TREND_METHOD}"), &head);
    for pair in series.levels.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let (first, last) = (
            &series.points[after.from],
            &series.points[after.from.saturating_sub(1)],
        );
        let meaning = if !after.is_confirmed {
            "too few runs to decide"
        } else if after.is_regression(more_is_better(figure)) {
            "regression"
        } else {
            "improvement"
        };
        html.raw("<tr><th scope=row>")
            .link(&format!("/runs/{}", first.run), &[], &first.run.to_string())
            .raw("</th>");
        html.cell(
            "Started",
            &date_minute(
                first.started_unix_ns / 1_000_000_000,
                site.settings.utc_offset_s,
            ),
        );
        html.cell(
            "Change",
            &after
                .change
                .map_or(String::new(), |change| format!("{:+.1} %", 100.0 * change)),
        );
        html.cell("Before", &metric_text(figure, before.mean));
        html.cell("After", &metric_text(figure, after.mean));
        html.raw("<td data-label=Meaning").raw(match meaning {
            "regression" => " class=invalid",
            "improvement" => " class=valid",
            _ => "",
        });
        html.raw(">")
            .text(meaning)
            .raw("</td><td data-label=Compare>");
        html.link(
            "/compare",
            &[("runs", format!("{},{}", last.run, first.run))],
            &format!("{} and {}", last.run, first.run),
        )
        .raw("</td></tr>");
    }
    html.raw("</tbody></table></div></section>");
}
