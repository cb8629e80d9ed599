//! The answer of `fathom why` as text and as JSON.

mod json;
mod text;

pub use self::json::why_json;
pub use self::text::why_text;
