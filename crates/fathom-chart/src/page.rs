//! The offline HTML page: one file with the script, the charts and their tables.

use fathom_model::{Chart, ReportChart};
use serde_json::{Value, json};

use crate::error::ChartError;
use crate::option::{Medium, option, page_height};
use crate::renderer::{FORMATTERS, page_script};
use crate::theme::{PALETTE, Theme};

const STYLE: &str = include_str!("page.css");
const PAGE_SCRIPT: &str = include_str!("page.js");

/// One chart as a page of its own.
///
/// # Errors
/// If this build has no script.
pub fn page(chart: &Chart) -> Result<String, ChartError> {
    let mut page = Page::new(&chart.title);
    page.chart(chart, "");
    page.finish()
}

/// A page that is built from top to bottom.
pub struct Page {
    title: String,
    body: String,
    charts: Vec<Value>,
}

impl Page {
    /// An empty page; its title may be any text.
    #[must_use]
    pub fn new(title: &str) -> Page {
        Page {
            title: title.to_owned(),
            body: String::new(),
            charts: Vec::new(),
        }
    }

    /// Adds HTML unchanged: untrusted text must go through [`escape`] first.
    pub fn markup(&mut self, markup: &str) {
        self.body += markup;
    }

    /// Adds a chart with its notes, a sentence on how its values are derived, and its table, which the
    /// page fills when the reader opens it.
    pub fn chart(&mut self, chart: &Chart, derived: &str) {
        self.figure(chart, "", derived);
    }

    /// The same with the main statement of the chart, below its title and for screen readers.
    pub(crate) fn report_chart(&mut self, one: &ReportChart) {
        self.figure(&one.chart, &one.statement, &one.derived);
    }

    fn figure(&mut self, chart: &Chart, statement: &str, derived: &str) {
        let number = self.charts.len();
        self.charts.push(option(chart, Medium::Page));
        let paragraph = |text: &String| format!("<p class=note>{}</p>", escape(text));
        let notes: String = chart
            .notes
            .iter()
            .chain(Some(&chart.source).filter(|source| !source.is_empty()))
            .map(paragraph)
            .collect();
        let how = if derived.is_empty() {
            String::new()
        } else {
            paragraph(&derived.to_owned())
        };
        let tall = if matches!(&chart.body, fathom_model::ChartBody::Grid(grid) if grid.solid) {
            " tall"
        } else {
            ""
        };
        let label = [&chart.title, &chart.subtitle, statement]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<&str>>()
            .join(". ");
        let high = page_height(chart).map_or(String::new(), |high| {
            format!(" style=\"height:{high:.0}px\"")
        });
        let table = rows_table(&chart.table);
        self.body += &format!(
            "<figure id=chart{number}><figcaption><p class=title>{}</p><p class=sub>{}</p></figcaption><div class=\"plot{tall}\" data-chart={number}{high} role=img \
             aria-label=\"{}\"></div>{table}{notes}<details data-table={number}><summary>Table and derivation</summary><p class=note>{}</p>{how}{}</details></figure>\n",
            escape(&chart.title),
            escape(&chart.subtitle),
            escape(&label),
            escape(statement),
            small_table(chart),
        );
    }

    /// The options of all charts with the colours of both themes, as JSON that cannot end a script element.
    fn data(&self, is_served: bool) -> String {
        let data = json!({ "charts": self.charts, "light": Theme::Light.roles(), "dark": Theme::Dark.roles(), "served": is_served });
        // `<` could end the script element early; the JSON escape has the same meaning.
        data.to_string().replace('<', "\\u003c")
    }

    /// The content for a server that sends script and style as files of their own ([`assets`]): without an inline style, so
    /// that a strict content security policy holds.
    #[must_use]
    pub fn parts(self) -> PageParts {
        PageParts {
            data: self.data(true),
            has_charts: !self.charts.is_empty(),
            // Untrusted text contains no quote after `escape`, so only attributes of this crate match.
            body: self.body.replace(" style=\"", " data-style=\""),
        }
    }

    /// The whole page.
    ///
    /// # Errors
    /// If this build has no script.
    pub fn finish(self) -> Result<String, ChartError> {
        let script = page_script()?;
        let data = self.data(false);
        let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";
        Ok(format!(
            "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=Content-Security-Policy content=\"{policy}\">\n<title>{}</title>\n<style>{STYLE}{}</style></head>\n<body><button id=theme \
             type=button>Dark</button><main>\n{}</main>\n<script type=application/json id=data>{data}</script>\n<script>{script}</script>\n\
             <script>{FORMATTERS}{PAGE_SCRIPT}</script></body></html>\n",
            escape(&self.title),
            palette(),
            self.body,
        ))
    }
}

/// The content of a page that a server sends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageParts {
    /// Markup of the main element. Styles of elements are in `data-style`, which the script of the page applies.
    pub body: String,
    /// JSON for `<script type=application/json id=data>`.
    pub data: String,
    /// Whether the page draws charts, which needs the script of ECharts.
    pub has_charts: bool,
}

/// Scripts and style that all pages of a server share.
#[derive(Clone, Debug)]
pub struct PageAssets {
    /// Apache ECharts, if this build has it.
    pub echarts: String,
    /// Draws the charts of a page; needs `echarts`, and elements with the ids `data` and `theme`.
    pub script: String,
    /// The style, light and dark.
    pub style: String,
}

/// The files that pages of [`Page::parts`] need.
#[must_use]
pub fn assets() -> PageAssets {
    PageAssets {
        echarts: page_script().unwrap_or_default(),
        script: format!("{FORMATTERS}{PAGE_SCRIPT}"),
        style: format!("{STYLE}{}", palette()),
    }
}

/// Rows and columns of a table that is a part of the page; the page builds larger ones when they are opened.
const SMALL: (usize, usize) = (24, 9);

/// The table of a chart, for readers without the script.
fn small_table(chart: &Chart) -> String {
    let rows = crate::csv::table(chart);
    let columns = rows.first().map_or(0, Vec::len);
    if rows.len() > SMALL.0 + 1 || columns > SMALL.1 || columns == 0 {
        return String::new();
    }
    rows_table(&rows)
}

/// A table whose first row is the head; empty without rows.
fn rows_table(rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |(number, row): (usize, &Vec<String>)| {
        let cell = |(place, text): (usize, &String)| {
            let text = escape(text);
            match (number, place) {
                (0, _) if text.is_empty() => "<td></td>".to_owned(),
                (0, _) => format!("<th scope=col>{text}</th>"),
                (_, 0) => format!("<th scope=row>{text}</th>"),
                _ => format!("<td data-label=\"{}\">{text}</td>", escape(&rows[0][place])),
            }
        };
        let cells: String = row.iter().enumerate().map(cell).collect();
        match number {
            0 => format!("<thead><tr>{cells}</tr></thead><tbody>"),
            _ => format!("<tr>{cells}</tr>"),
        }
    };
    let rows: String = rows.iter().enumerate().map(line).collect();
    format!("<div class=whole><table>{rows}</tbody></table></div>")
}

/// The palette as variables of the style sheet, light and dark.
fn palette() -> String {
    let variables = |theme: Theme| {
        let roles = theme.roles();
        (0..PALETTE)
            .map(|n| {
                format!(
                    "--c{n}:{};",
                    roles[format!("p{n}")].as_str().unwrap_or_default()
                )
            })
            .collect::<String>()
    };
    format!(
        ":root{{{}}} :root.dark{{{}}} @media print{{:root.dark{{{}}}}}",
        variables(Theme::Light),
        variables(Theme::Dark),
        variables(Theme::Light)
    )
}

/// Escapes untrusted text for HTML, including quoted attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            // HTML allows no control characters other than tab and line feed.
            c if c.is_control() && c != '\t' && c != '\n' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_never_becomes_markup() {
        let nasty = "</script><script>alert(1)</script>\"'&<img src=x onerror=alert(1)>\u{0}";
        let chart = Chart {
            title: nasty.into(),
            subtitle: nasty.into(),
            notes: vec![nasty.into()],
            ..Chart::default()
        };
        let mut page = Page::new(nasty);
        page.chart(&chart, nasty);
        let Ok(text) = page.finish() else {
            eprintln!("SKIP: untrusted_text_never_becomes_markup: this build has no chart script");
            return;
        };
        // Up to the chart script, which is third-party code.
        let ours = text
            .split(&page_script().expect("it is built in"))
            .next()
            .unwrap_or_default();
        assert!(
            !ours.contains("<script>alert") && !ours.contains("<img") && !ours.contains('\u{0}')
        );
        assert_eq!(ours.matches("</script>").count(), 1);
    }
}
