//! The page that opens offline: one file with the script, the charts and the tables behind them.

use fathom_model::Chart;
use serde_json::{Value, json};

use crate::error::InkError;
use crate::option::{Medium, option};
use crate::stage::{HOUSE, SCRIPT, Stage};
use crate::theme::Theme;

const STYLE: &str = include_str!("page.css");
const PLAY: &str = include_str!("page.js");

/// One chart as a page of its own.
///
/// # Errors
/// When this build has no script.
pub fn page(chart: &Chart) -> Result<String, InkError> {
    let mut page = Page::new(&chart.title);
    page.chart(chart, "");
    page.finish()
}

/// A page being written, from top to bottom.
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

    /// Adds markup as it is: texts from outside must have gone through [`escape`].
    pub fn markup(&mut self, markup: &str) {
        self.body += markup;
    }

    /// Adds a chart, its notes, how its figures came about, and the table behind it, which the page makes when it is opened.
    pub fn chart(&mut self, chart: &Chart, derived: &str) {
        let number = self.charts.len();
        self.charts.push(option(chart, Medium::Page));
        let notes: String = chart
            .notes
            .iter()
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
        self.body += &format!(
            "<figure id=chart{number}><figcaption><h3>{}</h3><p class=sub>{}</p></figcaption><div class=\"plot{tall}\" data-chart={number} role=img \
             aria-label=\"{}\"></div>{notes}<details data-table={number}><summary>Table and derivation</summary>{how}</details></figure>\n",
            escape(&chart.title),
            escape(&chart.subtitle),
            escape(&format!("{}. {}", chart.title, chart.subtitle)),
        );
    }

    /// The whole page.
    ///
    /// # Errors
    /// When this build has no script.
    pub fn finish(self) -> Result<String, InkError> {
        if !Stage::is_built_in() {
            return Err(InkError::NoScript);
        }
        let data = json!({ "charts": self.charts, "light": Theme::Light.roles(), "dark": Theme::Dark.roles() });
        // Inside a script element only this could end it early; in JSON it means the same.
        let data = data.to_string().replace('<', "\\u003c");
        let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";
        Ok(format!(
            "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=Content-Security-Policy content=\"{policy}\">\n<title>{}</title>\n<style>{STYLE}</style></head>\n<body><button id=theme \
             type=button>Dark</button><main>\n{}</main>\n<script type=application/json id=data>{data}</script>\n<script>{SCRIPT}</script>\n\
             <script>{HOUSE}{PLAY}</script></body></html>\n",
            escape(&self.title),
            self.body,
        ))
    }
}

/// A text from outside as text in HTML, also inside a quoted attribute.
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
            // Others than tab and line end are no characters of HTML.
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
    fn no_text_from_outside_becomes_markup() {
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
            eprintln!("SKIP: no_text_from_outside_becomes_markup: this build has no chart script");
            return;
        };
        // Before the script of the charts, which is not ours.
        let ours = text.split(SCRIPT).next().unwrap_or_default();
        assert!(
            !ours.contains("<script>alert") && !ours.contains("<img") && !ours.contains('\u{0}')
        );
        assert_eq!(ours.matches("</script>").count(), 1);
    }
}
