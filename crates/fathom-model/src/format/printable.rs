//! Text from outside (names, paths, model strings, logs), made safe to print.

use std::borrow::Cow;

/// Whether a terminal, an editor or a spreadsheet would act on this character or hide it instead of
/// showing it: control characters, bidirectional overrides, and characters without width.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// The colours that fathom's reports use, and the end of each.
const COLOURS: [&str; 5] = ["\x1b[0m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];

/// The character, or its escape such as `\u{1b}`.
///
/// ```
/// use fathom_model::format::escape_invisible;
///
/// assert_eq!(escape_invisible('\u{202e}'), "\\u{202e}");
/// assert_eq!(escape_invisible('ß'), "ß");
/// ```
#[must_use]
pub fn escape_invisible(c: char) -> String {
    if is_invisible(c) {
        c.escape_unicode().to_string()
    } else {
        c.to_string()
    }
}

/// The text in one line in which every character is visible. Nothing that a name contains can
/// control a terminal or change the order in which a line is shown.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(is_invisible) {
        Cow::Owned(text.chars().map(escape_invisible).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// A text as a field of CSV (RFC 4180). Spreadsheets run a text that begins like a formula, so it
/// gets an apostrophe in front, unless it is a number.
///
/// ```
/// use fathom_model::format::csv_field;
///
/// assert_eq!(csv_field("=HYPERLINK(1)"), "'=HYPERLINK(1)");
/// assert_eq!(csv_field("-1.5"), "-1.5");
/// assert_eq!(csv_field("a,b"), "\"a,b\"");
/// ```
#[must_use]
pub fn csv_field(text: &str) -> String {
    let is_formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && text.parse::<f64>().is_err();
    let mut field = printable(text).into_owned();
    if is_formula {
        field.insert(0, '\'');
    }
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

/// A line of CSV with its end.
#[must_use]
pub fn csv_line(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| csv_field(field)).collect();
    fields.join(",") + "\r\n"
}

/// A finished text as it may be written to a terminal: lines, tabs and the colours of fathom's own
/// reports stay, and every other invisible character is escaped, in JSON in the form that JSON has.
#[must_use]
pub fn terminal_text(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| is_invisible(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let is_json = text.starts_with(['{', '[']);
    let mut safe = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = COLOURS.iter().find(|colour| rest.starts_with(**colour));
        let kept = match colour {
            Some(colour) => colour,
            None if matches!(c, '\n' | '\t') => &rest[..1],
            None if rest.starts_with("\r\n") => &rest[..2],
            None if is_json && is_invisible(c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    safe += &format!("\\u{unit:04x}");
                }
                rest = &rest[c.len_utf8()..];
                continue;
            }
            None => {
                safe += &escape_invisible(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        safe += kept;
        rest = &rest[kept.len()..];
    }
    Cow::Owned(safe)
}

/// The number of bytes at the start of UTF-8 text that a JSON string contains as they are (RFC 8259, section 7). All others are
/// single bytes, which no longer character contains.
#[must_use]
pub fn json_plain_len(text: &[u8]) -> usize {
    text.iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | 0..b' '))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_fields_are_no_formulas() {
        for formula in ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)"] {
            assert_eq!(csv_field(formula), format!("'{formula}"));
        }
        assert_eq!(csv_field("\t=1"), "'\\u{9}=1");
        for plain in ["-1.5", "+3", "1e-3", "a=b", ""] {
            assert_eq!(csv_field(plain), plain);
        }
        assert_eq!(csv_field("a\nb\u{202e}"), "a\\u{a}b\\u{202e}");
        assert_eq!(csv_field("say \"a\""), "\"say \"\"a\"\"\"");
        assert_eq!(csv_line(&["a,b".into(), "=c".into()]), "\"a,b\",'=c\r\n");
    }

    #[test]
    fn a_terminal_gets_lines_and_our_colours_only() {
        let report = "\x1b[32mVALID\x1b[0m\n\tx\r\n";
        assert_eq!(terminal_text(report), report);
        assert_eq!(
            terminal_text("a\x1b[2J\x1b]0;title\x07b\rc\n"),
            "a\\u{1b}[2J\\u{1b}]0;title\\u{7}b\\u{d}c\n"
        );
        assert_eq!(
            terminal_text("{\"name\": \"a\u{202e}b\"}\n"),
            "{\"name\": \"a\\u202eb\"}\n"
        );
    }

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(
            printable("a\x1b[2Jb\u{9b}c\n"),
            "a\\u{1b}[2Jb\\u{9b}c\\u{a}"
        );
        assert_eq!(printable("a\u{202e}b\u{2066}c"), "a\\u{202e}b\\u{2066}c");
        assert!(matches!(printable("größe µ 漢字"), Cow::Borrowed(_)));
    }
}
