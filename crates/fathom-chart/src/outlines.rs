//! Replaces the texts of an SVG that the chart script drew by their outlines, so that the renderer of pixels needs no fonts.

use crate::font::{middle, outline, width};

/// Attributes that say how the characters are placed; all others also apply to the outlines.
const PLACEMENT: [&str; 6] = [
    "dominant-baseline",
    "text-anchor",
    "style",
    "xml:space",
    "x",
    "y",
];

/// The SVG with a path in place of each text.
pub(crate) fn with_outlines(svg: &str) -> String {
    let mut drawn = String::with_capacity(svg.len() * 4);
    let mut rest = svg;
    while let Some((before, text)) = rest.split_once("<text ") {
        drawn += before;
        let Some((attributes, after)) = text.split_once('>') else {
            drawn += "<text ";
            rest = text;
            break;
        };
        let Some((content, after)) = after.split_once("</text>") else {
            drawn += "<text ";
            rest = text;
            break;
        };
        add_path(&mut drawn, attributes, &unescaped(content));
        rest = after;
    }
    drawn + rest
}

fn add_path(drawn: &mut String, attributes: &str, text: &str) {
    let attributes = pairs(attributes);
    let value = |name: &str| attributes.iter().find(|(known, _)| *known == name);
    let number = |name: &str| value(name).and_then(|(_, value)| value.parse::<f32>().ok());
    let style = value("style").map_or("", |(_, style)| *style);
    let (size, bold) = (font_size(style), style.contains("bold"));
    let text = match value("xml:space") {
        Some(_) => text,
        None => text.trim(),
    };
    let start = match value("text-anchor") {
        Some((_, "middle")) => -width(text, size, bold) / 2.0,
        Some((_, "end")) => -width(text, size, bold),
        _ => 0.0,
    };
    let down = match value("dominant-baseline") {
        Some((_, "central")) => middle(size, bold),
        _ => 0.0,
    };
    let (x, y) = (number("x").unwrap_or(0.0), number("y").unwrap_or(0.0));
    *drawn += "<path d=\"";
    *drawn += &outline(text, size, bold, x + start, y + down);
    *drawn += "\"";
    for (name, value) in attributes
        .iter()
        .filter(|(name, _)| !PLACEMENT.contains(name))
    {
        *drawn += &format!(" {name}=\"{value}\"");
    }
    *drawn += "/>";
}

/// Attributes with their values, which the script puts between double quotes.
fn pairs(attributes: &str) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    let mut rest = attributes;
    while let Some((name, after)) = rest.split_once("=\"") {
        let Some((value, after)) = after.split_once('"') else {
            break;
        };
        pairs.push((name.trim(), value));
        rest = after;
    }
    pairs
}

/// The size in pixels of `font-size:12px;...` or `font: bold 12px ...`; 12 without any.
fn font_size(style: &str) -> f32 {
    let before = style.split("px").next().unwrap_or_default();
    let digits = before
        .rsplit(|c: char| !c.is_ascii_digit() && c != '.')
        .next();
    digits.and_then(|size| size.parse().ok()).unwrap_or(12.0)
}

/// Characters in place of the references that the script writes.
fn unescaped(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (reference, character)| {
        text.replace(reference, character)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_texts_are_read() {
        assert_eq!(font_size("font-size:12.5px;font-family:Noto Sans;"), 12.5);
        assert_eq!(font_size("font: bold 11px Noto Sans, sans-serif"), 11.0);
        assert_eq!(font_size(""), 12.0);
        assert_eq!(unescaped("a &lt; b &amp;lt; c"), "a < b &lt; c");
    }

    /// The `l` of Noto Sans is a rectangle; its base line is at y, and the middle of the text at x.
    #[test]
    fn a_text_becomes_a_path_where_it_was() {
        let svg = r##"<g><text text-anchor="middle" style="font-size:1000px" x="500" y="900" fill="#123456">l</text></g>"##;
        let drawn = with_outlines(svg);
        let data = drawn
            .strip_prefix("<g><path d=\"")
            .and_then(|rest| rest.strip_suffix("\" fill=\"#123456\"/></g>"))
            .expect("one path");
        let numbers: Vec<f32> = data
            .split(|c: char| c.is_ascii_alphabetic() || c == ' ')
            .filter_map(|number| number.parse().ok())
            .collect();
        let extreme = |first: usize, of: fn(f32, f32) -> f32| {
            numbers.iter().skip(first).step_by(2).copied().reduce(of)
        };
        let (left, right) = (extreme(0, f32::min), extreme(0, f32::max));
        let middle = f32::midpoint(left.unwrap_or(0.0), right.unwrap_or(0.0));
        assert!((middle - 500.0).abs() < 5.0, "{data}");
        assert_eq!(extreme(1, f32::max), Some(900.0), "the base line");
        assert!(extreme(1, f32::min) < Some(200.0), "taller than 700");
    }

    #[test]
    fn other_elements_are_unchanged() {
        let svg = "<svg><rect x=\"1\"/><text";
        assert_eq!(with_outlines(svg), svg);
    }
}
