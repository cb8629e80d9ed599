//! Colour, plain ASCII and line width of text output.

use fathom_model::format::printable;

use crate::Style;

/// Colours a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Green,
    Yellow,
    Red,
    Dim,
}

impl Style {
    /// `text` in `colour`, if colours are enabled.
    pub(crate) fn paint(&self, text: &str, colour: Colour) -> String {
        let code = match colour {
            Colour::Green => "32",
            Colour::Yellow => "33",
            Colour::Red => "31",
            Colour::Dim => "2",
        };
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_string()
        }
    }

    /// `text` with invisible characters escaped, except line ends, and in ASCII if the style demands
    /// it. Names and messages come from files and devices; only [`Style::paint`] emits escape sequences.
    pub(crate) fn clean(&self, text: &str) -> String {
        let lines: Vec<_> = text.split('\n').map(printable).collect();
        let shown = lines.join("\n");
        if self.ascii {
            shown.chars().fold(String::new(), push_ascii)
        } else {
            shown
        }
    }
}

fn push_ascii(mut text: String, character: char) -> String {
    match character {
        c if c.is_ascii() => text.push(c),
        'µ' | 'μ' => text.push('u'),
        '×' => text.push('x'),
        '–' | '—' | '−' => text.push('-'),
        '≤' => text.push_str("<="),
        '≥' => text.push_str(">="),
        '→' => text.push_str("->"),
        '±' => text.push_str("+-"),
        '‘' | '’' => text.push('\''),
        '“' | '”' => text.push('"'),
        '…' => text.push_str("..."),
        _ => text.push('?'),
    }
    text
}

/// A paragraph as wide as the style says, its further lines indented.
#[must_use]
pub fn paragraph(text: &str, style: &Style) -> String {
    wrap(&style.clean(text), style.width, "", "  ")
}

/// `text` in lines of at most `width` characters: the first begins with `first`, the others with `rest`.
/// A word longer than a line is cut, so no line is ever wider.
#[must_use]
pub fn wrap(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut lines = String::new();
    let mut line = first.to_string();
    let mut empty = true;
    for word in text.split_whitespace() {
        for piece in pieces(word, width.saturating_sub(rest.chars().count()).max(1)) {
            let gap = usize::from(!empty);
            if !empty && columns(&line) + gap + columns(piece) > width {
                push_line(&mut lines, &line);
                line = rest.to_string();
                empty = true;
            }
            line.push_str(if empty { "" } else { " " });
            line.push_str(piece);
            empty = false;
        }
    }
    push_line(&mut lines, &line);
    lines
}

fn push_line(lines: &mut String, line: &str) {
    lines.push_str(line.trim_end());
    lines.push('\n');
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// A word in parts of at most `width` characters.
fn pieces(word: &str, width: usize) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .nth(width)
            .map_or(rest.len(), |(place, _)| place);
        let (piece, left) = rest.split_at(end);
        rest = left;
        Some(piece)
    })
}

/// Wraps a line of fio's that is longer than the terminal is wide.
pub(crate) fn fold(line: &str, width: usize) -> String {
    let indent = " ".repeat(line.len() - line.trim_start().len());
    if columns(line) <= width {
        return format!("{line}\n");
    }
    wrap(line.trim_start(), width, &indent, &format!("{indent}  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_limit() {
        let text = "some words and one_that_is_far_too_long_for_any_line_at_all and more";
        for width in [8, 20, 40, 80] {
            let wrapped = wrap(text, width, "* ", "  ");
            assert!(
                wrapped.lines().all(|line| line.chars().count() <= width),
                "{wrapped}"
            );
            assert_eq!(wrapped.replace(['\n', ' ', '*'], ""), text.replace(' ', ""));
        }
    }

    #[test]
    fn names_never_emit_escape_sequences() {
        let style = Style::default();
        assert_eq!(
            style.clean("a\u{1b}[31mb\u{9b}c\r"),
            "a\\u{1b}[31mb\\u{9b}c\\u{d}"
        );
        assert_eq!(
            Style {
                ascii: true,
                ..style
            }
            .clean("3 µs × 2 ≤ é"),
            "3 us x 2 <= ?"
        );
    }
}
