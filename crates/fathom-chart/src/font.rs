//! Text widths, and the font of all static images: Noto Sans (SIL Open Font License 1.1).

use std::sync::Arc;

use resvg::usvg::fontdb::{Database, Source};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// Font family of the images.
pub(crate) const FAMILY: &str = "Noto Sans";

/// A font database with this family, which also serves as every generic family: an image that asks for
/// `sans-serif` would have no text otherwise.
pub(crate) fn database() -> Database {
    let mut fonts = Database::new();
    for face in [notosans::REGULAR_TTF, notosans::BOLD_TTF] {
        fonts.load_font_source(Source::Binary(Arc::new(face)));
    }
    fonts.set_sans_serif_family(FAMILY);
    fonts.set_serif_family(FAMILY);
    fonts.set_monospace_family(FAMILY);
    fonts
}

/// Width of one line of text in pixels at `size` pixels per em. A missing glyph is one em wide: the
/// script measures a Chinese character to get the line height.
pub(crate) fn width(text: &str, size: f32, bold: bool) -> f32 {
    let bytes = if bold {
        notosans::BOLD_TTF
    } else {
        notosans::REGULAR_TTF
    };
    let font = FontRef::new(bytes).expect("the font is part of the program");
    let (map, widths) = (
        font.charmap(),
        font.glyph_metrics(Size::new(size), LocationRef::default()),
    );
    text.chars()
        .map(|c| {
            map.map(c)
                .and_then(|glyph| widths.advance_width(glyph))
                .unwrap_or(size)
        })
        .sum()
}

/// Breaks `text` between words into lines of at most `available` pixels.
pub(crate) fn wrapped(text: &str, size: f32, available: f32) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always one");
        let longer = if last.is_empty() {
            word.to_owned()
        } else {
            format!("{last} {word}")
        };
        if last.is_empty() || width(&longer, size, false) <= available {
            *last = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        // Noto Sans has 1000 units to the em; its digits are 572 wide.
        assert!((width("0", 1000.0, false) - 572.0).abs() < 0.5);
        let alone: f32 = ["1", "2", " ", "3"]
            .iter()
            .map(|text| width(text, 1000.0, true))
            .sum();
        assert!((width("12 3", 1000.0, true) - alone).abs() < 0.5 && alone > 1000.0);
        assert_eq!(width("国", 14.0, false), 14.0);
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(
            wrapped("aa aa aa", 10.0, width("aa aa", 10.0, false)),
            ["aa aa", "aa"]
        );
        assert_eq!(wrapped("", 10.0, 5.0), [""]);
    }
}
