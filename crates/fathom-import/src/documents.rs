//! The JSON documents in a file. There may be text before, between and after them, and several
//! documents from one run (`--status-interval`).

use serde_json::Value;

use crate::MOST_VALUES;
use crate::error::ImportError;
use crate::result::records;
use crate::scan::{Cause, first_value};
use crate::terse::is_terse;

/// Limit of attempts to find a document: the messages of a failing run may contain braces too.
const MOST_TRIES: usize = 64;

/// The contents of a file.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// Complete documents, in order.
    pub found: Vec<Value>,
    /// The first few lines of text around them.
    pub text: Vec<String>,
    /// The error in a document that cannot be read.
    pub broken: Option<ImportError>,
}

/// All objects at the start of a line or in a list; if there are none, the first result within a
/// line.
///
/// # Errors
/// When there are more than [`MOST_VALUES`] values.
pub(crate) fn documents(text: &str) -> Result<Documents, ImportError> {
    // Each value follows a comma or opens a list or an object, so a short text needs no count.
    let opens = |byte: &u8| matches!(byte, b',' | b'{' | b'[');
    if text.len() > MOST_VALUES
        && text.as_bytes().iter().filter(|byte| opens(byte)).count() > MOST_VALUES
    {
        return Err(ImportError::TooManyValues);
    }
    let mut all = Documents::default();
    // Indentation of the objects in a list: a line indented further is inside one of them.
    let (mut at, mut tries, mut list_indent) = (0, 0, None);
    while at < text.len() {
        let line = &text[at..at + text[at..].find('\n').map_or(text.len() - at, |end| end + 1)];
        let Some(begin) = object_in(line, &mut list_indent).filter(|_| tries < MOST_TRIES) else {
            note(&mut all.text, line);
            at += line.len();
            continue;
        };
        match first_value(&text[at + begin..]) {
            Some(Ok((value, bytes))) => {
                at += begin + bytes;
                all.found.push(value);
            }
            failed => {
                let why = failed.and_then(Result::err);
                all.broken = all.broken.or(why.map(|error| ImportError::Malformed {
                    line: error.line(),
                    why: message(&error),
                    source: Cause::new(error),
                }));
                tries += 1;
                at += line.len();
            }
        }
    }
    if all.found.is_empty() && all.broken.is_none() {
        all.found.extend(within_line(text));
    }
    Ok(all)
}

/// Offset of an object in this line: the start of the line, or in a list after `[` or `,`.
fn object_in(line: &str, list_indent: &mut Option<Option<usize>>) -> Option<usize> {
    if line.starts_with('[') {
        *list_indent = Some(None);
    }
    let Some(indent) = list_indent.as_mut() else {
        return line.starts_with('{').then_some(0);
    };
    let begin = line.find(|c: char| !matches!(c, '[' | ',' | ' ' | '\t' | '\r'))?;
    let indentation = line.len() - line.trim_ascii_start().len();
    let is_one =
        line[begin..].starts_with('{') && indentation <= *indent.get_or_insert(indentation);
    is_one.then_some(begin)
}

/// A result after a prompt or a message.
fn within_line(text: &str) -> Option<Value> {
    let begins = text.match_indices('{').take(MOST_TRIES);
    let mut read = begins.filter_map(|(at, _)| Some(first_value(&text[at..])?.ok()?.0));
    read.find(|value| records(value).is_ok())
}

/// The message of the JSON parser, without the position.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// Whether a line belongs to `--output-format=normal`, whose figures are in the document too. Most
/// of these lines are indented.
fn is_normal(line: &str) -> bool {
    let heads = [
        "Starting ",
        "Run status group",
        "Disk stats",
        "Jobs: ",
        "fio-",
    ];
    line.starts_with([' ', '\t'])
        || heads.iter().any(|head| line.starts_with(head))
        || line.contains(": (g=")
        || line.contains(": (groupid=")
}

/// Keeps the first lines that are not empty.
fn note(kept: &mut Vec<String>, line: &str) {
    if is_normal(line) {
        return;
    }
    let line = line.trim();
    if kept.len() < 5 && line.chars().any(char::is_alphanumeric) && !is_terse(line) {
        kept.push(line.chars().take(200).filter(|c| !c.is_control()).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_among_text() {
        let all =
            documents("fio: error {x}\n{ not json\n{\"a\": 1}\n{\"b\": 2}\nfio: terminating\n")
                .expect("few values");
        assert_eq!(all.found.len(), 2);
        assert_eq!(all.text, ["fio: error {x}", "fio: terminating"]);
        assert!(matches!(
            all.broken,
            Some(ImportError::Malformed { line: 1, .. })
        ));
    }

    /// The start of the output of fio 3.33 with `--output-format=normal,json`: only one line is a
    /// message.
    #[test]
    fn normal_output_is_not_kept_as_messages() {
        let normal = "j: (g=0): rw=randrw, bs=(R) 4096B-4096B, ioengine=null, iodepth=1\nfio-3.33\nStarting 1 process\nfio: terminating on signal 2\n\n\
                      j: (groupid=0, jobs=1): err= 0: pid=6185: Sat Nov 21 15:59:39 2026\n  read: IOPS=1992\n    slat (nsec): min=0\n\n\
                      Run status group 0 (all jobs):\n   READ: bw=1\n{\"jobs\": []}\n";
        let all = documents(normal).expect("few values");
        assert_eq!(
            (all.found.len(), all.text),
            (1, vec!["fio: terminating on signal 2".to_owned()])
        );
    }

    /// A list in one line, an indented list, and the list of `fathom import --json`.
    #[test]
    fn objects_of_a_list_are_documents() {
        let object = "{\"jobs\": [\n  {\"jobname\": \"x\"}\n]}";
        for text in [
            format!("[{object},{object}]"),
            format!("[\n  {object},\n  {object}\n]\n"),
            format!("[\n{object},\n{object}\n]\nfio: done\n"),
            format!("[\n {object}\n ,{object}]"),
        ] {
            let all = documents(&text).expect("few values");
            assert_eq!((all.found.len(), all.broken), (2, None), "{text}");
        }
        // An object inside a malformed document is not taken for a document.
        let all = documents(&format!(
            "[\n  {object},\n  {{\"jobs\": [\n    {{\"jobname\": 1}}\n"
        ))
        .expect("few values");
        assert_eq!(all.found.len(), 1);
        assert!(
            matches!(all.broken, Some(ImportError::Malformed { line: 3, .. })),
            "{:?}",
            all.broken
        );
        assert!(documents("[1, 2]").is_ok_and(|all| all.found.is_empty() && all.broken.is_none()));
    }

    #[test]
    fn a_result_after_a_prompt_is_found() {
        let all = documents("root@host:~# {x} {\"jobs\": []} and more\n").expect("few values");
        assert_eq!((all.found.len(), all.broken), (1, None));
    }

    #[test]
    fn hostile_text_terminates() {
        for text in [
            "{\"a\":".repeat(100_000),
            "{\n".repeat(200_000),
            "[".repeat(1 << 20),
            "\0".repeat(1000),
            "{\"a\":[".repeat(70),
            "x{".repeat(100_000),
            "[\n{".repeat(100_000),
        ] {
            assert!(documents(&text).is_ok_and(|all| all.found.is_empty()));
        }
        assert_eq!(
            documents(&",".repeat(MOST_VALUES + 1)).err(),
            Some(ImportError::TooManyValues)
        );
    }
}
