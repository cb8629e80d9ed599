//! Writes HTML: fixed markup, escaped text, and the frame of every page.

use fathom_chart::{PageParts, escape};

use crate::assets;
use crate::request::address;

/// Markup. What is not a literal of this program is escaped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Html {
    text: String,
}

impl Html {
    /// Markup of this program.
    pub fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.text += markup;
        self
    }

    /// Any text, as text.
    pub fn text(&mut self, text: &str) -> &mut Html {
        self.text += &escape(text);
        self
    }

    /// ` name="value"`.
    pub fn attribute(&mut self, name: &'static str, value: &str) -> &mut Html {
        self.text += &format!(" {name}=\"{}\"", escape(value));
        self
    }

    /// A link to an address of this server.
    pub fn link(&mut self, path: &str, query: &[(&str, String)], text: &str) -> &mut Html {
        self.raw("<a")
            .attribute("href", &address(path, query))
            .raw(">")
            .text(text)
            .raw("</a>")
    }

    /// The parts of a report, which `fathom-chart` has escaped.
    pub fn report(&mut self, parts: &PageParts) -> &mut Html {
        self.text += &parts.body;
        self
    }

    /// The same markup again.
    pub fn add(&mut self, other: &Html) -> &mut Html {
        self.text += &other.text;
        self
    }

    /// The begin of a table, with its head row.
    pub fn head(&mut self, caption: &str, columns: &[Column]) -> &mut Html {
        self.raw("<div class=\"whole runs\"><table><caption>")
            .text(caption)
            .raw("</caption><thead><tr>");
        for column in columns {
            self.raw("<th scope=col")
                .raw(if column.is_number { " class=num>" } else { ">" })
                .text(column.title)
                .raw("</th>");
        }
        self.raw("</tr></thead><tbody>")
    }

    /// The end of a table.
    pub fn foot(&mut self) -> &mut Html {
        self.raw("</tbody></table></div>")
    }

    /// The begin of a row, whose first cell links to what it is about.
    pub fn row(&mut self, path: &str, query: &[(&str, String)], text: &str) -> &mut Html {
        self.raw("<tr><th scope=row>")
            .link(path, query, text)
            .raw("</th>")
    }

    /// A cell of a table, with the name of its column for narrow screens.
    pub fn cell(&mut self, column: Column, text: &str) -> &mut Html {
        self.open(column).text(text).raw("</td>")
    }

    /// The begin of a cell.
    pub fn open(&mut self, column: Column) -> &mut Html {
        self.raw("<td")
            .raw(if column.is_number { " class=num" } else { "" })
            .attribute("data-label", column.title)
            .raw(">")
    }

    /// A field of a form with a value for each choice; `none` is the name of the choice of nothing.
    pub fn select(
        &mut self,
        label: &'static str,
        name: &'static str,
        none: &'static str,
        values: &[&str],
        chosen: &str,
    ) -> &mut Html {
        self.raw("<label>")
            .raw(label)
            .raw(" <select")
            .attribute("name", name)
            .raw("><option value>")
            .raw(none)
            .raw("</option>");
        for value in values {
            self.raw("<option").attribute("value", value);
            if *value == chosen {
                self.raw(" selected");
            }
            self.raw(">").text(value).raw("</option>");
        }
        self.raw("</select></label>")
    }

    /// A verdict with its colour.
    pub fn verdict(&mut self, verdict: &str) -> &mut Html {
        let class = ["valid", "degraded", "invalid"]
            .into_iter()
            .find(|word| *word == verdict);
        self.coloured(class, verdict)
    }

    /// What a change or a comparison means, good or bad in the colour of a verdict.
    pub fn meaning(&mut self, meaning: &str) -> &mut Html {
        let class = match meaning {
            "regression" | "below" => Some("invalid"),
            "improvement" | "kept" => Some("valid"),
            "above" => Some("degraded"),
            _ => None,
        };
        self.coloured(class, meaning)
    }

    fn coloured(&mut self, class: Option<&str>, text: &str) -> &mut Html {
        match class {
            Some(class) => self
                .raw("<span")
                .attribute("class", &format!("verdict {class}"))
                .raw(">")
                .text(text)
                .raw("</span>"),
            None => self.text(text),
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    pub title: &'a str,
    /// Numbers end at the right edge, texts begin at the left one.
    pub is_number: bool,
}

pub(crate) const fn words(title: &str) -> Column<'_> {
    Column {
        title,
        is_number: false,
    }
}

pub(crate) const fn number(title: &str) -> Column<'_> {
    Column {
        title,
        is_number: true,
    }
}

/// What surrounds the content of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame<'a> {
    pub title: &'a str,
    /// The page of the menu that is open.
    pub current: &'static str,
    /// JSON of the charts; empty without charts.
    pub data: &'a str,
    /// A further script of this server: its name among the assets.
    pub script: &'static str,
    /// Wider than the column of text.
    pub is_wide: bool,
    /// Without a menu.
    pub is_bare: bool,
}

/// The pages of the menu.
pub(crate) const MENU: [(&str, &str); 6] = [
    ("/", "Runs"),
    ("/live", "Live"),
    ("/experiments", "Experiments"),
    ("/compare", "Compare"),
    ("/trends", "Trends"),
    ("/devices", "Devices"),
];

/// A whole page.
pub(crate) fn page(frame: &Frame, content: &Html) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width, initial-scale=1\"><title>")
        .text(frame.title)
        .raw(" - fathom</title><link rel=icon href=\"data:,\"><link rel=stylesheet")
        .attribute("href", assets::address_of("style.css"))
        .raw("><script")
        .attribute("src", assets::address_of("site.js"))
        .raw("></script></head>\n<body>");
    if !frame.is_bare {
        html.raw("<a class=skip href=\"#main\">Skip to the content</a><header class=bar><nav aria-label=Pages><a class=home href=\"/\">fathom</a>");
        for (path, name) in MENU {
            html.raw("<a").attribute("href", path);
            if frame.current == path {
                html.raw(" aria-current=page");
            }
            html.raw(">").text(name).raw("</a>");
        }
        html.raw("</nav><button id=theme type=button>Dark</button></header>");
    }
    html.raw(if frame.is_wide {
        "<main id=main class=wide>\n"
    } else {
        "<main id=main>\n"
    });
    html.add(content);
    html.raw("</main>\n");
    if !frame.data.is_empty() {
        // JSON without `<`, by `fathom_chart::Page::parts`.
        html.raw("<script type=application/json id=data>");
        html.text += frame.data;
        html.raw("</script>");
        for name in ["echarts.js", "charts.js"] {
            html.raw("<script")
                .attribute("src", assets::address_of(name))
                .raw("></script>");
        }
    }
    if !frame.script.is_empty() {
        html.raw("<script")
            .attribute("src", assets::address_of(frame.script))
            .raw("></script>");
    }
    html.raw("</body></html>\n");
    html.text
}

/// Links to the same content in other formats, and the command that shows it.
pub(crate) fn elsewhere(html: &mut Html, downloads: &[(&str, String)], command: &str) {
    html.raw("<p class=views>");
    for (name, target) in downloads {
        html.raw("<a class=get")
            .attribute("href", target)
            .raw(">")
            .text(name)
            .raw("</a> ");
    }
    if !command.is_empty() {
        html.raw("<span class=note>On the command line:</span> <code>")
            .text(command)
            .raw("</code>");
    }
    html.raw("</p>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_stays_text() {
        let nasty = "\"><script>alert(1)</script><img src=x onerror='a'>";
        let mut html = Html::default();
        html.raw("<p")
            .attribute("title", nasty)
            .raw(">")
            .text(nasty)
            .verdict(nasty)
            .cell(words(nasty), nasty)
            .select("a", "b", "c", &[nasty], nasty);
        html.row("/runs/x", &[], nasty);
        html.link("/runs/x", &[("q", nasty.to_owned())], nasty);
        let made = page(
            &Frame {
                title: nasty,
                ..Frame::default()
            },
            &html,
        );
        assert!(
            !made.contains("<script>alert") && !made.contains("<img") && !made.contains("=\"\">"),
            "{made}"
        );
    }
}
