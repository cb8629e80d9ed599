//! Text widths and outlines, and the font of all static images: Noto Sans (SIL Open Font License 1.1).

use std::fmt::Write;
use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Font family of the images.
pub(crate) const FAMILY: &str = "Noto Sans";

/// Regular and bold, as the build script stored them.
const FONTS: [&[u8]; 2] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/regular.ttf")),
    include_bytes!(concat!(env!("OUT_DIR"), "/bold.ttf")),
];

/// Regular and bold.
static FACES: LazyLock<[Face<'static>; 2]> = LazyLock::new(|| {
    FONTS.map(|font| Face::parse(font, 0).expect("the font is part of the program"))
});

/// Advances of the glyphs of ASCII, regular and bold: a chart measures thousands of texts, and looking a glyph up in the font reads
/// several of its tables.
static ASCII_ADVANCES: LazyLock<[[Option<u16>; 128]; 2]> = LazyLock::new(|| {
    [false, true]
        .map(|bold| std::array::from_fn(|code| look_up_advance(char::from(code as u8), bold)))
});

/// The advance of the glyph of a character, in units of the font.
fn advance(c: char, bold: bool) -> Option<u16> {
    match ASCII_ADVANCES[usize::from(bold)].get(c as usize) {
        Some(advance) => *advance,
        None => look_up_advance(c, bold),
    }
}

fn look_up_advance(c: char, bold: bool) -> Option<u16> {
    let face = face(bold);
    face.glyph_hor_advance(face.glyph_index(c)?)
}

fn face(bold: bool) -> &'static Face<'static> {
    &FACES[usize::from(bold)]
}

/// Width of one line of text in pixels at `size` pixels per em. A missing glyph is one em wide: the
/// script measures a Chinese character to get the line height.
pub(crate) fn width(text: &str, size: f32, bold: bool) -> f32 {
    let scale = size / f32::from(face(bold).units_per_em());
    text.chars()
        .map(|c| advance(c, bold).map_or(size, |advance| f32::from(advance) * scale))
        .sum()
}

/// The distance from the middle of a line of text down to its base line, in pixels.
pub(crate) fn middle(size: f32, bold: bool) -> f32 {
    let face = face(bold);
    let sum = f32::from(face.ascender()) + f32::from(face.descender());
    sum / 2.0 * size / f32::from(face.units_per_em())
}

/// The outlines of a line of text as the data of an SVG path. Its base line starts at `x`, `y`. A missing glyph is the
/// font's empty box.
pub(crate) fn outline(text: &str, size: f32, bold: bool, x: f32, y: f32) -> String {
    let face = face(bold);
    let mut path = Outline {
        scale: size / f32::from(face.units_per_em()),
        x,
        y,
        data: String::new(),
    };
    for c in text.chars() {
        let glyph = face.glyph_index(c);
        face.outline_glyph(glyph.unwrap_or(GlyphId(0)), &mut path);
        path.x += width(c.encode_utf8(&mut [0; 4]), size, bold);
    }
    path.data
}

/// Collects outlines as the data of an SVG path, in which y grows downwards.
struct Outline {
    scale: f32,
    x: f32,
    y: f32,
    data: String,
}

impl Outline {
    fn add(&mut self, command: char, points: &[(f32, f32)]) {
        self.data.push(command);
        for (x, y) in points {
            let (x, y) = (self.x + x * self.scale, self.y - y * self.scale);
            let _ = write!(self.data, "{x:.3} {y:.3} ");
        }
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.add('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.add('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.add('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.data.push('Z');
    }
}

/// Breaks `text` between words into lines of at most `available` pixels, and a longer word between characters.
pub(crate) fn wrapped(text: &str, size: f32, available: f32) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always one");
        let longer = if last.is_empty() {
            word.to_owned()
        } else {
            format!("{last} {word}")
        };
        if width(&longer, size, false) <= available {
            *last = longer;
            continue;
        }
        if !last.is_empty() {
            lines.push(String::new());
        }
        for c in word.chars() {
            let last = lines.last_mut().expect("there is always one");
            last.push(c);
            if last.len() > c.len_utf8() && width(last, size, false) > available {
                last.pop();
                lines.push(c.to_string());
            }
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

    /// Regression 0670: a long name without spaces extended past the edge of the image.
    #[test]
    fn regression_0670_a_long_word_is_broken_between_characters() {
        let available = width("aaaa", 10.0, false);
        assert_eq!(
            wrapped("b aaaaaaaaaa b", 10.0, available),
            ["b", "aaaa", "aaaa", "aa b"]
        );
    }
}
