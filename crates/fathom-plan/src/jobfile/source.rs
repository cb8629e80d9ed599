//! The text of a job file as lines, each with its location.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// Maximum length of a line, as in fio.
pub(crate) const MAX_LINE: usize = 8191;

/// A job file: its name and its text.
#[derive(Clone, Debug)]
pub struct Source {
    pub(crate) name: Arc<str>,
    text: String,
}

/// A line without comment, line end and surrounding blanks; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) at: Span,
    pub(crate) text: String,
}

impl Source {
    /// A job file from its bytes.
    ///
    /// # Errors
    /// When they are not UTF-8.
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Source, Diagnostic> {
        let name: Arc<str> = Arc::from(name);
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source { name, text }),
            Err(error) => Err(invalid_utf8(
                &name,
                error.as_bytes(),
                error.utf8_error().valid_up_to(),
            )),
        }
    }

    /// The lines that are not empty; lines that are too long are reported and left out.
    pub(crate) fn lines(&self, problems: &mut Vec<Diagnostic>) -> Vec<Line> {
        let numbered = (1_u32..).zip(self.text.split('\n'));
        numbered
            .filter_map(|(number, raw)| self.line(number, raw, problems))
            .collect()
    }

    fn line(&self, number: u32, raw: &str, problems: &mut Vec<Diagnostic>) -> Option<Line> {
        let at = Span::File {
            name: Arc::clone(&self.name),
            line: number,
            column: 1,
        };
        if raw.len() > MAX_LINE {
            problems.push(
                Diagnostic::error(at, format!("the line has more than {MAX_LINE} bytes"))
                    .advise("split it"),
            );
            return None;
        }
        let without_comment = raw.split([';', '#']).next().unwrap_or("");
        let text = without_comment.trim_matches(is_blank);
        let leading = without_comment.len() - without_comment.trim_start_matches(is_blank).len();
        let column = without_comment[..leading].chars().count();
        (!text.is_empty()).then(|| Line {
            at: at.right(column),
            text: text.to_owned(),
        })
    }
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c.is_ascii_control() || c == '\u{feff}'
}

fn invalid_utf8(name: &Arc<str>, bytes: &[u8], valid: usize) -> Diagnostic {
    let before = &bytes[..valid];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let at = Span::File {
        name: Arc::clone(name),
        line: number(line),
        column: number(column),
    };
    Diagnostic::error(at, "invalid UTF-8").advise("is this a job file?")
}
