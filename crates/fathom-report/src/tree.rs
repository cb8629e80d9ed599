//! A JSON document in fio's exact layout.
//!
//! serde_json cannot write it: fio puts ` : ` between name and value, writes floats with six decimals, and existing
//! scripts look for `}` in column 0.

use std::borrow::Cow;
use std::io::{self, Write};

use fathom_model::format::json_plain_len;

/// A JSON value; objects keep their order.
pub(crate) enum Value<'a> {
    /// Unknown.
    Null,
    /// fio writes none.
    Bool(bool),
    /// An unsigned integer.
    Int(u64),
    /// A signed integer.
    Signed(i64),
    /// Printed with six decimals.
    Float(f64),
    /// Escaped when printed.
    Text(String),
    /// Name and value, in this order.
    Object(Vec<(Name<'a>, Value<'a>)>),
    /// Values in order.
    Array(Vec<Value<'a>>),
    /// Values in order, each created while the document is written: a series of any length uses the memory of one.
    Each(Box<dyn Fn(&mut Sink<'_>) -> io::Result<()> + 'a>),
}

/// A key: mostly a literal, which is not copied.
type Name<'a> = Cow<'a, str>;
/// Receives values as they are created.
type Sink<'t> = dyn FnMut(&Value<'_>) -> io::Result<()> + 't;
/// A value without borrowed data.
pub(crate) type Tree = Value<'static>;
/// An object without borrowed data.
pub(crate) type Object = Fields<'static>;

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Value::Int(value)
    }
}
impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Value::Int(value.into())
    }
}
impl From<i32> for Value<'_> {
    fn from(value: i32) -> Self {
        Value::Signed(value.into())
    }
}
impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}
impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}
impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::from(text.as_str())
    }
}

impl From<&str> for Value<'_> {
    fn from(value: &str) -> Self {
        Value::Text(value.into())
    }
}
impl From<&String> for Value<'_> {
    fn from(value: &String) -> Self {
        Value::Text(value.clone())
    }
}
impl<'a> From<Fields<'a>> for Value<'a> {
    fn from(value: Fields<'a>) -> Self {
        Value::Object(value.0)
    }
}
impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}
impl<'a, T: Into<Value<'a>>> FromIterator<T> for Value<'a> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Value::Array(values.into_iter().map(Into::into).collect())
    }
}

/// An object under construction.
#[derive(Default)]
pub(crate) struct Fields<'a>(Vec<(Name<'a>, Value<'a>)>);

impl<'a> Fields<'a> {
    pub(crate) fn new() -> Self {
        Fields::default()
    }

    /// Adds one pair.
    pub(crate) fn with(mut self, name: impl Into<Name<'a>>, value: impl Into<Value<'a>>) -> Self {
        self.push(name, value);
        self
    }

    /// Adds one pair, or replaces the value of an existing key: no document contains a key twice.
    pub(crate) fn push(&mut self, name: impl Into<Name<'a>>, value: impl Into<Value<'a>>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|pair| pair.0 == name) {
            Some(pair) => pair.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// Creates an object of pairs with distinct keys, without checking them.
    pub(crate) fn of(pairs: impl IntoIterator<Item = (String, Value<'a>)>) -> Self {
        Fields(
            pairs
                .into_iter()
                .map(|(name, value)| (Cow::Owned(name), value))
                .collect(),
        )
    }
}

impl<'a> Value<'a> {
    /// One value for each of `items`, created while the document is written.
    pub(crate) fn each<'v, T, V: Into<Value<'v>>>(
        items: &'a [T],
        make: impl Fn(&'a T) -> V + 'a,
    ) -> Self {
        Value::Each(Box::new(move |take| {
            items.iter().try_for_each(|item| take(&make(item).into()))
        }))
    }

    /// Writes the document as fio does, without a line end after it.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_at(0, out)
    }

    /// The document in one line, floats with all their digits.
    pub(crate) fn compact(&self) -> String {
        let text = |text: &str| {
            let mut bytes = Vec::new();
            write_text(text, &mut bytes).expect("writing to memory");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        match self {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Signed(value) => value.to_string(),
            Value::Float(value) if !value.is_finite() => "null".to_owned(),
            Value::Float(value) => value.to_string(),
            Value::Text(value) => text(value),
            Value::Object(pairs) => {
                let pairs = pairs
                    .iter()
                    .map(|(name, value)| format!("{}:{}", text(name), value.compact()));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
            }
            Value::Array(values) => format!(
                "[{}]",
                values
                    .iter()
                    .map(Value::compact)
                    .collect::<Vec<_>>()
                    .join(",")
            ),
            Value::Each(values) => format!("[{}]", compact_values(values).join(",")),
        }
    }

    fn write_at(&self, level: usize, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Value::Null => out.write_all(b"null"),
            Value::Bool(value) => write!(out, "{value}"),
            Value::Int(value) => write!(out, "{value}"),
            Value::Signed(value) => write!(out, "{value}"),
            // JSON cannot express infinity or NaN.
            Value::Float(value) if !value.is_finite() => out.write_all(b"0.000000"),
            Value::Float(value) => write!(out, "{value:.6}"),
            Value::Text(text) => write_text(text, out),
            Value::Object(pairs) => write_all(['{', '}'], level, out, |list| {
                pairs.iter().try_for_each(|(name, value)| {
                    list.item(|level, out| {
                        write_text(name, out)?;
                        out.write_all(b" : ")?;
                        value.write_at(level, out)
                    })
                })
            }),
            Value::Array(values) => write_all(['[', ']'], level, out, |list| {
                values.iter().try_for_each(|value| list.value(value))
            }),
            Value::Each(values) => write_all(['[', ']'], level, out, |list| {
                values(&mut |value| list.value(value))
            }),
        }
    }
}

/// The created values, each in one line.
fn compact_values(values: &dyn Fn(&mut Sink<'_>) -> io::Result<()>) -> Vec<String> {
    let mut lines = Vec::new();
    let all = values(&mut |value| {
        lines.push(value.compact());
        Ok(())
    });
    all.expect("writing to memory");
    lines
}

/// The items between two brackets, one in each line.
struct List<'o> {
    out: &'o mut dyn Write,
    level: usize,
    first: bool,
}

impl List<'_> {
    fn value(&mut self, value: &Value<'_>) -> io::Result<()> {
        self.item(|level, out| value.write_at(level, out))
    }

    fn item(
        &mut self,
        write: impl FnOnce(usize, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if !std::mem::take(&mut self.first) {
            self.out.write_all(b",\n")?;
        }
        indent(self.level, self.out)?;
        write(self.level, self.out)
    }
}

fn write_all(
    [open, close]: [char; 2],
    level: usize,
    out: &mut dyn Write,
    items: impl FnOnce(&mut List<'_>) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "{open}")?;
    items(&mut List {
        out: &mut *out,
        level: level + 1,
        first: true,
    })?;
    out.write_all(b"\n")?;
    indent(level, out)?;
    write!(out, "{close}")
}

fn indent(level: usize, out: &mut dyn Write) -> io::Result<()> {
    const SPACES: [u8; 64] = [b' '; 64];
    let mut left = level * 2;
    while left > 0 {
        let now = left.min(SPACES.len());
        out.write_all(&SPACES[..now])?;
        left -= now;
    }
    Ok(())
}

/// A JSON string (RFC 8259, section 7). fio leaves control characters as they are, which no parser accepts. What needs no escape
/// is written at once: imports of many results write hundreds of megabytes.
fn write_text(text: &str, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"\"")?;
    let mut rest = text.as_bytes();
    loop {
        let (plain, others) = rest.split_at(json_plain_len(rest));
        out.write_all(plain)?;
        match others.split_first() {
            None => return out.write_all(b"\""),
            Some((byte @ (b'"' | b'\\'), _)) => out.write_all(&[b'\\', *byte])?,
            Some((control, _)) => write!(out, "\\u{control:04x}")?,
        }
        rest = &others[1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show<'a>(tree: impl Into<Value<'a>>) -> String {
        let mut out = Vec::new();
        tree.into().write(&mut out).expect("writing to memory");
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    #[test]
    fn layout_is_fios() {
        let inner = Object::new().with("mean", 1.5).with("N", 3u64);
        let list = Tree::Array(vec![inner.into()]);
        let expected = "{\n  \"name\" : \"a\",\n  \"jobs\" : [\n    {\n      \"mean\" : 1.500000,\n      \"N\" : 3\n    }\n  ]\n}";
        assert_eq!(
            show(Object::new().with("name", "a").with("jobs", list)),
            expected
        );
        assert_eq!(show(Tree::Array(vec![])), "[\n\n]");
    }

    #[test]
    fn every_text_and_number_is_valid_json() {
        let nasty = "q\" b\\ tab\t esc\u{1b} e\u{301} \u{1f600}";
        let text = show(
            Object::new()
                .with(nasty, nasty)
                .with("nan", f64::NAN)
                .with("inf", f64::INFINITY),
        );
        let parsed: serde_json::Value = serde_json::from_str(&text).expect("valid");
        assert_eq!(parsed[nasty], nasty);
        assert_eq!(parsed["nan"], 0.0);
    }

    #[test]
    fn streamed_values_are_written_like_collected_ones() {
        let numbers = [3_u64, 1, 2];
        let one = |n: &u64| Object::new().with("n", *n);
        let (there, made) = (
            numbers.iter().map(one).collect::<Tree>(),
            Value::each(&numbers, one),
        );
        assert_eq!((made.compact(), show(made)), (there.compact(), show(there)));
        assert_eq!(show(Value::each(&[], one)), "[\n\n]");
    }

    #[test]
    fn no_key_occurs_twice() {
        assert_eq!(
            show(Object::new().with("a", 1u64).with("a", 2u64)),
            "{\n  \"a\" : 2\n}"
        );
    }
}
