//! A JSON document in fio's exact layout.
//!
//! Written here and not with serde_json because fio's text is a contract of its own: ` : ` between name and value,
//! floats always with six decimals, and `sed` scripts that look for `}` in column 0.

use std::io::{self, Write};

/// A JSON value; objects keep their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    /// Not known.
    Null,
    /// Yes or no; fio has none.
    Bool(bool),
    /// Printed plain.
    Int(u64),
    /// The same, below zero too.
    Signed(i64),
    /// Printed with six decimals.
    Float(f64),
    /// Escaped when printed.
    Text(String),
    /// Name and value, in this order.
    Object(Vec<(String, Tree)>),
    /// Values in order.
    Array(Vec<Tree>),
}

impl From<u64> for Tree {
    fn from(value: u64) -> Self {
        Tree::Int(value)
    }
}
impl From<u32> for Tree {
    fn from(value: u32) -> Self {
        Tree::Int(value.into())
    }
}
impl From<i32> for Tree {
    fn from(value: i32) -> Self {
        Tree::Signed(value.into())
    }
}
impl From<f64> for Tree {
    fn from(value: f64) -> Self {
        Tree::Float(value)
    }
}
impl From<bool> for Tree {
    fn from(value: bool) -> Self {
        Tree::Bool(value)
    }
}
impl From<String> for Tree {
    fn from(text: String) -> Self {
        Tree::from(text.as_str())
    }
}

impl From<&str> for Tree {
    fn from(value: &str) -> Self {
        Tree::Text(value.into())
    }
}
impl From<&String> for Tree {
    fn from(value: &String) -> Self {
        Tree::Text(value.clone())
    }
}
impl From<Object> for Tree {
    fn from(value: Object) -> Self {
        Tree::Object(value.0)
    }
}
impl<T: Into<Tree>> From<Option<T>> for Tree {
    fn from(value: Option<T>) -> Self {
        value.map_or(Tree::Null, Into::into)
    }
}
impl<T: Into<Tree>> FromIterator<T> for Tree {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Tree::Array(values.into_iter().map(Into::into).collect())
    }
}

/// An object being filled.
#[derive(Default)]
pub(crate) struct Object(Vec<(String, Tree)>);

impl Object {
    pub(crate) fn new() -> Self {
        Object::default()
    }

    /// Adds one pair.
    pub(crate) fn with(mut self, name: impl Into<String>, value: impl Into<Tree>) -> Self {
        self.push(name, value);
        self
    }

    /// Adds one pair; a name that is there already gets the new value, so that no document holds a name twice.
    pub(crate) fn push(&mut self, name: impl Into<String>, value: impl Into<Tree>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|pair| pair.0 == name) {
            Some(pair) => pair.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// Adds pairs whose names are known to be apart; used where there are many.
    pub(crate) fn of(pairs: impl IntoIterator<Item = (String, Tree)>) -> Self {
        Object(pairs.into_iter().collect())
    }
}

impl Tree {
    /// Writes the document as fio does, without a line end after it.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_at(0, out)
    }

    /// The document in one line, floats with all their digits.
    pub(crate) fn compact(&self) -> String {
        let text = |text: &str| {
            let mut bytes = Vec::new();
            write_text(text, &mut bytes).expect("memory takes everything");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        match self {
            Tree::Null => "null".to_owned(),
            Tree::Bool(value) => value.to_string(),
            Tree::Int(value) => value.to_string(),
            Tree::Signed(value) => value.to_string(),
            Tree::Float(value) if !value.is_finite() => "null".to_owned(),
            Tree::Float(value) => value.to_string(),
            Tree::Text(value) => text(value),
            Tree::Object(pairs) => {
                let pairs = pairs.iter().map(|(name, value)| format!("{}:{}", text(name), value.compact()));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
            }
            Tree::Array(values) => format!("[{}]", values.iter().map(Tree::compact).collect::<Vec<_>>().join(",")),
        }
    }

    fn write_at(&self, level: usize, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Tree::Null => out.write_all(b"null"),
            Tree::Bool(value) => write!(out, "{value}"),
            Tree::Int(value) => write!(out, "{value}"),
            Tree::Signed(value) => write!(out, "{value}"),
            // JSON has no word for infinity or not-a-number.
            Tree::Float(value) if !value.is_finite() => out.write_all(b"0.000000"),
            Tree::Float(value) => write!(out, "{value:.6}"),
            Tree::Text(text) => write_text(text, out),
            Tree::Object(pairs) => write_all(pairs, ['{', '}'], level, out, |(name, value), level, out| {
                write_text(name, out)?;
                out.write_all(b" : ")?;
                value.write_at(level, out)
            }),
            Tree::Array(values) => {
                write_all(values, ['[', ']'], level, out, |value, level, out| value.write_at(level, out))
            }
        }
    }
}

fn write_all<T>(
    items: &[T],
    [open, close]: [char; 2],
    level: usize,
    out: &mut dyn Write,
    write_item: impl Fn(&T, usize, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "{open}")?;
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.write_all(b",\n")?;
        }
        indent(level + 1, out)?;
        write_item(item, level + 1, out)?;
    }
    out.write_all(b"\n")?;
    indent(level, out)?;
    write!(out, "{close}")
}

fn indent(level: usize, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{:1$}", "", level * 2)
}

/// A JSON string (RFC 8259, section 7). fio leaves control characters as they are, which no parser accepts.
fn write_text(text: &str, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"\"")?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(out, "\\{character}")?,
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32)?,
            c => write!(out, "{c}")?,
        }
    }
    out.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(tree: impl Into<Tree>) -> String {
        let mut out = Vec::new();
        tree.into().write(&mut out).expect("memory takes everything");
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    #[test]
    fn layout_is_fios() {
        let inner = Object::new().with("mean", 1.5).with("N", 3u64);
        let list = Tree::Array(vec![inner.into()]);
        let expected =
            "{\n  \"name\" : \"a\",\n  \"jobs\" : [\n    {\n      \"mean\" : 1.500000,\n      \"N\" : 3\n    }\n  ]\n}";
        assert_eq!(show(Object::new().with("name", "a").with("jobs", list)), expected);
        assert_eq!(show(Tree::Array(vec![])), "[\n\n]");
    }

    #[test]
    fn every_text_and_figure_stays_valid_json() {
        let nasty = "q\" b\\ tab\t esc\u{1b} e\u{301} \u{1f600}";
        let text = show(Object::new().with(nasty, nasty).with("nan", f64::NAN).with("inf", f64::INFINITY));
        let parsed: serde_json::Value = serde_json::from_str(&text).expect("valid");
        assert_eq!(parsed[nasty], nasty);
        assert_eq!(parsed["nan"], 0.0);
    }

    #[test]
    fn no_name_stands_twice() {
        assert_eq!(show(Object::new().with("a", 1u64).with("a", 2u64)), "{\n  \"a\" : 2\n}");
    }
}
