//! Model files.
//!
//! ```toml
//! model = "hdd"                 # the kind; or compose = "raid5(8 x hdd-7200, chunk=64k)"
//! summary = "7,200 rpm SAS disk of 4 TB"
//!
//! [parameters]
//! rpm = 7200
//! seek_average = "8.2 ms"
//!
//! [sources]                     # where each parameter comes from
//! rpm = "data sheet"
//! ```
//!
//! `[fit]` is the record of `fathom fit`: results, intervals and residuals. It changes no model.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{ModelError, Place};
use crate::spec::{DEEPEST, MOST_MEMBERS, ModelSpec, Parameter, Value};

/// A model file.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// One line on the device.
    pub summary: String,
    /// Where each parameter comes from, by name.
    pub sources: Vec<(String, String)>,
    /// The device.
    pub spec: ModelSpec,
}

/// The entries of a table, in their order.
pub(crate) type Entries<'a, 'b> = Vec<(
    &'a Spanned<std::borrow::Cow<'b, str>>,
    &'a Spanned<DeValue<'b>>,
)>;

/// A TOML file that is being read.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a str,
    pub(crate) text: &'a str,
}

/// A composition inside a file: its errors name the place in the file.
pub(crate) fn moved(mut spec: ModelSpec, place: &Place) -> ModelSpec {
    for parameter in &mut spec.parameters {
        parameter.place = place.clone();
        if let Value::Device(device) = &parameter.value {
            parameter.value = Value::Device(moved(device.clone(), place));
        }
    }
    let members = std::mem::take(&mut spec.members).into_iter();
    let members = members.map(|(count, member)| (count, moved(member, place)));
    spec.members = members.collect();
    spec.place = place.clone();
    spec
}

impl ModelFile {
    /// Parses a model file.
    ///
    /// # Errors
    /// If it is not TOML or not a model; with the place.
    pub fn parse(source: &str, text: &str) -> Result<Self, ModelError> {
        let reader = Reader { source, text };
        let root = reader.root()?;
        let (mut summary, mut sources) = (String::new(), Vec::new());
        let mut device = Vec::new();
        for (key, value) in root.get_ref() {
            match key.get_ref().as_ref() {
                "summary" => summary = reader.text_of(value)?,
                "sources" => sources = reader.sources(value)?,
                "fit" => {}
                _ => device.push((key, value)),
            }
        }
        Ok(ModelFile {
            summary,
            sources,
            spec: reader.device(device, &(0..0), 0)?,
        })
    }
}

impl<'a> Reader<'a> {
    /// The whole file.
    pub(crate) fn root(&self) -> Result<Spanned<DeTable<'a>>, ModelError> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(&(at..at), format!("not TOML: {}", error.message()))
        })
    }

    /// The entries of a table as parameters.
    pub(crate) fn parameters_of(
        &self,
        entries: Entries<'_, '_>,
    ) -> Result<Vec<Parameter>, ModelError> {
        let parameters = entries.into_iter().map(|(key, value)| {
            Ok(Parameter {
                name: key.get_ref().to_string(),
                value: self.value(value, 0)?,
                place: Place::of(self.source, self.text, value.span().start),
            })
        });
        parameters.collect()
    }

    fn place(&self, span: &Range<usize>) -> Place {
        Place::of(self.source, self.text, span.start)
    }

    pub(crate) fn error(&self, span: &Range<usize>, problem: impl Into<String>) -> ModelError {
        ModelError::at(&Place::of(self.source, self.text, span.start), problem)
    }

    fn text_of(&self, value: &Spanned<DeValue<'_>>) -> Result<String, ModelError> {
        value
            .get_ref()
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| self.error(&value.span(), "expected a string"))
    }

    fn sources(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<(String, String)>, ModelError> {
        let table = value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.error(&value.span(), "expected a table of sources"))?;
        table
            .iter()
            .map(|(key, value)| Ok((key.get_ref().to_string(), self.text_of(value)?)))
            .collect()
    }

    /// A table with `model` or `compose`, `parameters` and `members`.
    fn device(
        &self,
        entries: Vec<(&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)>,
        span: &Range<usize>,
        depth: usize,
    ) -> Result<ModelSpec, ModelError> {
        if depth >= DEEPEST {
            return Err(self.error(
                span,
                format!("devices are nested deeper than {DEEPEST} levels"),
            ));
        }
        let mut spec = None;
        let (mut parameters, mut members) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            match key.get_ref().as_ref() {
                "model" | "compose" if spec.is_some() => {
                    return Err(self.error(&key.span(), "give either model or compose, once"));
                }
                "model" => {
                    let place = Place::of(self.source, self.text, value.span().start);
                    spec = Some(ModelSpec::named(self.text_of(value)?, place));
                }
                "compose" => {
                    let text = self.text_of(value)?;
                    let composed = ModelSpec::parse_in(self.source, &text)
                        .map_err(|error| self.error(&value.span(), error.problem))?;
                    spec = Some(moved(composed, &self.place(&value.span())));
                }
                "parameters" => parameters = self.parameters(value, depth)?,
                "members" => members = self.members(value, depth)?,
                other => {
                    return Err(self.error(
                        &key.span(),
                        format!(
                            "unknown key '{other}'; a model has model or compose, parameters, members, summary, sources and fit"
                        ),
                    ));
                }
            }
        }
        let Some(mut spec) = spec else {
            return Err(self.error(span, "missing key: add model = \"KIND\""));
        };
        spec.parameters.extend(parameters);
        spec.members.extend(members);
        Ok(spec)
    }

    fn parameters(
        &self,
        value: &Spanned<DeValue<'_>>,
        depth: usize,
    ) -> Result<Vec<Parameter>, ModelError> {
        let table = value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.error(&value.span(), "expected a table of parameters"))?;
        table
            .iter()
            .map(|(key, value)| {
                Ok(Parameter {
                    name: key.get_ref().to_string(),
                    value: self.value(value, depth)?,
                    place: Place::of(self.source, self.text, value.span().start),
                })
            })
            .collect()
    }

    fn value(&self, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Value, ModelError> {
        Ok(match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(_) | DeValue::Float(_) => {
                Value::Text(self.text[value.span()].replace('_', ""))
            }
            DeValue::Boolean(true) => Value::Text("on".to_owned()),
            DeValue::Boolean(false) => Value::Text("off".to_owned()),
            DeValue::Datetime(_) => {
                return Err(self.error(&value.span(), "a parameter cannot be a date"));
            }
            DeValue::Array(list) if depth < DEEPEST => Value::List(
                list.iter()
                    .map(|value| self.value(value, depth + 1))
                    .collect::<Result<_, _>>()?,
            ),
            DeValue::Array(_) => return Err(self.error(&value.span(), "lists are nested too deep")),
            DeValue::Table(table) => {
                Value::Device(self.device(table.iter().collect(), &value.span(), depth + 1)?)
            }
        })
    }

    /// A list of compositions (`"8 x hdd-7200"`) and tables.
    fn members(
        &self,
        value: &Spanned<DeValue<'_>>,
        depth: usize,
    ) -> Result<Vec<(u32, ModelSpec)>, ModelError> {
        let list = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.error(&value.span(), "expected a list of devices"))?;
        if list.len() > MOST_MEMBERS as usize {
            return Err(self.error(&value.span(), format!("more than {MOST_MEMBERS} members")));
        }
        let mut members = Vec::new();
        for member in list {
            match member.get_ref() {
                DeValue::Table(table) => members.push((
                    1,
                    self.device(table.iter().collect(), &member.span(), depth + 1)?,
                )),
                _ => {
                    // The same notation as inside parentheses.
                    let text = format!("members({})", self.text_of(member)?);
                    let list = ModelSpec::parse_in(self.source, &text)
                        .map_err(|error| self.error(&member.span(), error.problem))?;
                    if !list.parameters.is_empty() {
                        return Err(
                            self.error(&member.span(), "expected a device, found a parameter")
                        );
                    }
                    members.extend(moved(list, &self.place(&member.span())).members);
                }
            }
        }
        Ok(members)
    }
}
