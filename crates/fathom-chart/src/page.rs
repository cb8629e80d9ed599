//! The offline HTML page: one file with the script, the charts and their tables.

use fathom_model::Chart;
use serde_json::{Value, json};

use crate::error::ChartError;
use crate::option::{Medium, option, page_height};
use crate::renderer::{FORMATTERS, Renderer, SCRIPT};
use crate::theme::Theme;

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
        let number = self.charts.len();
        self.charts.push(option(chart, Medium::Page));
        let notes: String = chart
            .notes
            .iter()
            .chain(Some(&chart.source).filter(|source| !source.is_empty()))
            .map(|note| format!("<p class=note>{}</p>", escape(note)))
            .collect();
        let how = if derived.is_empty() {
            String::new()
        } else {
            format!("<p class=note>{}</p>", escape(derived))
        };
        let tall = if matches!(&chart.body, fathom_model::ChartBody::Grid(grid) if grid.solid) {
            " tall"
        } else {
            ""
        };
        let high = page_height(chart).map_or(String::new(), |high| {
            format!(" style=\"height:{high:.0}px\"")
        });
        let table = figures(&chart.table);
        self.body += &format!(
            "<figure id=chart{number}><figcaption><h3>{}</h3><p class=sub>{}</p></figcaption><div class=\"plot{tall}\" data-chart={number}{high} role=img \
             aria-label=\"{}\"></div>{table}{notes}<details data-table={number}><summary>Table and derivation</summary>{how}</details></figure>\n",
            escape(&chart.title),
            escape(&chart.subtitle),
            escape(&format!("{}. {}", chart.title, chart.subtitle)),
        );
    }

    /// The whole page.
    ///
    /// # Errors
    /// If this build has no script.
    pub fn finish(self) -> Result<String, ChartError> {
        if !Renderer::is_built_in() {
            return Err(ChartError::NoScript);
        }
        let data = json!({ "charts": self.charts, "light": Theme::Light.roles(), "dark": Theme::Dark.roles() });
        // `<` could end the script element early; the JSON escape has the same meaning.
        let data = data.to_string().replace('<', "\\u003c");
        let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";
        Ok(format!(
            "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=Content-Security-Policy content=\"{policy}\">\n<title>{}</title>\n<style>{STYLE}</style></head>\n<body><button id=theme \
             type=button>Dark</button><main>\n{}</main>\n<script type=application/json id=data>{data}</script>\n<script>{SCRIPT}</script>\n\
             <script>{FORMATTERS}{PAGE_SCRIPT}</script></body></html>\n",
            escape(&self.title),
            self.body,
        ))
    }
}

/// The figures of each series as a table.
fn figures(table: &[Vec<String>]) -> String {
    let Some((head, rows)) = table.split_first() else {
        return String::new();
    };
    let row = |cells: &[String], name: &str| -> String {
        let cells = cells
            .iter()
            .map(|cell| format!("<{name}>{}</{name}>", escape(cell)));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let rows: String = rows.iter().map(|cells| row(cells, "td")).collect();
    format!(
        "<div class=scroll><table>{}{rows}</table></div>",
        row(head, "th")
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
        let ours = text.split(SCRIPT).next().unwrap_or_default();
        assert!(
            !ours.contains("<script>alert") && !ours.contains("<img") && !ours.contains('\u{0}')
        );
        assert_eq!(ours.matches("</script>").count(), 1);
    }
}
