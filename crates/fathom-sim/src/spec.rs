//! The description of a device as a tree, and its notation as one line: the composition
//! `raid5(8 x hdd-7200, chunk=64k)`. Model files have the other notation (`toml_file.rs`).

use crate::error::{ModelError, Place};

/// The deepest nesting of devices.
pub const DEEPEST: usize = 16;
/// The largest count in `N x MODEL`.
pub const MOST_MEMBERS: u32 = 1024;

/// A device: the name of a model kind or a model, its parameters and its members.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// A kind such as `raid5`, or a model such as `hdd-7200`.
    pub name: String,
    /// Parameters in their order.
    pub parameters: Vec<Parameter>,
    /// Devices below this one, each with how often it is there.
    pub members: Vec<(u32, ModelSpec)>,
    /// Where it is written.
    pub place: Place,
}

/// A parameter with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Where the value is written.
    pub place: Place,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number with its unit, or a word.
    Text(String),
    /// A device.
    Device(ModelSpec),
    /// Several values.
    List(Vec<Value>),
}

impl ModelSpec {
    /// A kind or a model of this name with nothing in its parentheses.
    #[must_use]
    pub fn named(name: impl Into<String>, place: Place) -> Self {
        ModelSpec {
            name: name.into(),
            parameters: Vec::new(),
            members: Vec::new(),
            place,
        }
    }

    /// Parses a composition such as `raid5(8 x hdd-7200, chunk=64k)`.
    ///
    /// # Errors
    /// If it is not a composition; with the place.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        Self::parse_in("device", text)
    }

    /// The same with the name of the source, which errors mention.
    ///
    /// # Errors
    /// If it is not a composition; with the place.
    pub fn parse_in(source: &str, text: &str) -> Result<Self, ModelError> {
        let mut parser = Parser {
            source,
            text,
            at: 0,
        };
        let spec = parser.device(0)?;
        parser.skip_space();
        if parser.at < text.len() {
            return Err(parser.error("unexpected text after the device"));
        }
        Ok(spec)
    }

    /// The composition as a string, as [`ModelSpec::parse`] reads it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let value = |value: &Value| match value {
            Value::Text(text) => text.clone(),
            Value::Device(device) => device.to_text(),
            Value::List(_) => "...".to_owned(),
        };
        let mut parts: Vec<String> = self
            .members
            .iter()
            .map(|(count, member)| match count {
                1 => member.to_text(),
                n => format!("{n} x {}", member.to_text()),
            })
            .collect();
        parts.extend(
            self.parameters
                .iter()
                .map(|parameter| format!("{}={}", parameter.name, value(&parameter.value))),
        );
        match parts.is_empty() {
            true => self.name.clone(),
            false => format!("{}({})", self.name, parts.join(", ")),
        }
    }
}

struct Parser<'a> {
    source: &'a str,
    text: &'a str,
    at: usize,
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

impl Parser<'_> {
    fn place(&self) -> Place {
        Place::of(self.source, self.text, self.at)
    }

    fn error(&self, problem: &str) -> ModelError {
        let found = self.text[self.at..].chars().next();
        let found = found.map_or_else(|| "the end".to_owned(), |c| format!("'{c}'"));
        ModelError::at(&self.place(), format!("{problem}; found {found}"))
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// `NAME` or `NAME(ARGUMENTS)`.
    fn device(&mut self, depth: usize) -> Result<ModelSpec, ModelError> {
        self.skip_space();
        let place = self.place();
        if depth >= DEEPEST {
            return Err(ModelError::at(
                &place,
                format!("devices are nested deeper than {DEEPEST} levels"),
            ));
        }
        let name = self.take_while(is_name).to_owned();
        if name.is_empty() {
            return Err(self.error("expected the name of a model, such as hdd-7200"));
        }
        let mut spec = ModelSpec::named(name, place);
        if !self.eat('(') {
            return Ok(spec);
        }
        if self.eat(')') {
            return Ok(spec);
        }
        loop {
            self.argument(&mut spec, depth)?;
            if self.eat(')') {
                return Ok(spec);
            }
            if !self.eat(',') {
                return Err(self.error("expected ',' or ')'"));
            }
        }
    }

    /// `KEY=VALUE`, `N x DEVICE` or `DEVICE`.
    fn argument(&mut self, spec: &mut ModelSpec, depth: usize) -> Result<(), ModelError> {
        self.skip_space();
        let start = self.at;
        let word = self.take_while(is_name).to_owned();
        if self.eat('=') {
            if word.is_empty() {
                return Err(self.error("expected the name of a parameter before '='"));
            }
            if spec.parameters.iter().any(|known| known.name == word) {
                self.at = start;
                return Err(self.error(&format!("parameter '{word}' is given twice")));
            }
            self.skip_space();
            let place = self.place();
            let value = self.value(depth)?;
            spec.parameters.push(Parameter {
                name: word,
                value,
                place,
            });
            return Ok(());
        }
        self.at = start;
        let count = self.count()?;
        if !spec.members.is_empty() && spec.members.len() >= MOST_MEMBERS as usize {
            return Err(self.error(&format!("more than {MOST_MEMBERS} members")));
        }
        let member = self.device(depth + 1)?;
        spec.members.push((count, member));
        Ok(())
    }

    /// `N x ` before a device; 1 without.
    fn count(&mut self) -> Result<u32, ModelError> {
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit()).to_owned();
        self.skip_space();
        let rest = &self.text[self.at..];
        let times = ['x', '*', '×']
            .into_iter()
            .find(|sign| rest.starts_with(*sign) && !digits.is_empty());
        let Some(times) = times else {
            self.at = start;
            return Ok(1);
        };
        let count = digits.parse().unwrap_or(u32::MAX);
        if count == 0 || count > MOST_MEMBERS {
            self.at = start;
            return Err(self.error(&format!("a number of members is 1 to {MOST_MEMBERS}")));
        }
        self.at += times.len_utf8();
        self.skip_space();
        Ok(count)
    }

    /// Text up to the next ',' or ')' outside parentheses, or a device with parentheses.
    fn value(&mut self, depth: usize) -> Result<Value, ModelError> {
        let start = self.at;
        let text = self
            .take_while(|c| !matches!(c, ',' | ')' | '('))
            .trim()
            .to_owned();
        if self.text[self.at..].starts_with('(') {
            self.at = start;
            return self.device(depth + 1).map(Value::Device);
        }
        if text.is_empty() {
            return Err(self.error("expected a value after '='"));
        }
        Ok(Value::Text(text))
    }
}
