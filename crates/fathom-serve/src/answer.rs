//! What is sent back, with the headers that every answer has.

use serde_json::json;

use crate::html::{Frame, Html, page};

/// An answer before its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub status: u16,
    /// Media type.
    pub kind: &'static str,
    pub body: Vec<u8>,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
    /// The content at this address never changes.
    pub is_immutable: bool,
}

pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const JSON: &str = "application/json";
pub(crate) const CSV: &str = "text/csv; charset=utf-8";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// Scripts and styles only from files of this server, nothing from elsewhere, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of every answer.
pub(crate) const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=()",
    ),
];

impl Answer {
    pub fn new(kind: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer {
            status: 200,
            kind,
            body: body.into(),
            headers: Vec::new(),
            is_immutable: false,
        }
    }

    pub fn with_status(mut self, status: u16) -> Answer {
        self.status = status;
        self
    }

    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }

    /// A sentence, as JSON for the API and as a page otherwise.
    pub fn problem(status: u16, reason: &str, is_api: bool) -> Answer {
        if is_api {
            let body = json!({ "error": reason, "status": status });
            return Answer::new(JSON, format!("{body}\n")).with_status(status);
        }
        let mut html = Html::default();
        html.raw("<h1>")
            .text(title(status))
            .raw("</h1><p>")
            .text(reason)
            .raw("</p><p><a href=\"/\">All runs</a></p>");
        Answer::new(
            HTML,
            page(
                &Frame {
                    title: title(status),
                    ..Frame::default()
                },
                &html,
            ),
        )
        .with_status(status)
    }

    /// A name for the content: equal contents have equal names.
    pub fn entity_tag(&self) -> String {
        // FNV-1a, 64 bits: <https://www.rfc-editor.org/rfc/rfc9923>.
        let hash = self
            .body
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            });
        format!("\"{hash:016x}-{:x}\"", self.body.len())
    }
}

fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad request",
        401 => "Login",
        403 => "Forbidden",
        404 => "Not found",
        405 => "Not allowed",
        413 | 414 => "Too large",
        429 => "Too many requests",
        503 => "Busy",
        _ => "Error",
    }
}

/// Why a handler has no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A parameter is wrong.
    Bad(String),
    /// There is no such thing.
    Missing(String),
    /// The request is not allowed.
    Forbidden(String),
    /// The store or the analysis failed.
    Failed(String),
}

impl Problem {
    pub fn answer(&self, is_api: bool) -> Answer {
        match self {
            Problem::Bad(reason) => Answer::problem(400, reason, is_api),
            Problem::Missing(reason) => Answer::problem(404, reason, is_api),
            Problem::Forbidden(reason) => Answer::problem(403, reason, is_api),
            Problem::Failed(reason) => Answer::problem(500, reason, is_api),
        }
    }
}

impl From<fathom_store::StoreError> for Problem {
    fn from(error: fathom_store::StoreError) -> Problem {
        match error {
            fathom_store::StoreError::UnknownRun { name, .. } => {
                Problem::Missing(format!("There is no run {name}."))
            }
            other => Problem::Failed(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_tags_follow_the_content() {
        let tag = |text: &str| Answer::new(TEXT, text).entity_tag();
        assert_eq!(tag("a"), tag("a"));
        assert_ne!(tag("a"), tag("b"));
        // The published value of FNV-1a for "a".
        assert_eq!(tag("a"), "\"af63dc4c8601ec8c-1\"");
    }

    #[test]
    fn a_problem_escapes_its_reason() {
        let answer = Answer::problem(404, "no <script>alert(1)</script>", false);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(
            text.contains("no &lt;script&gt;") && !text.contains("<script>alert"),
            "{text}"
        );
    }
}
