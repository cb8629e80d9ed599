//! Small lists in text columns, as JSON, so that any tool that reads the database can read them.

use serde_json::{Map, Value};

/// Names and values as a JSON object in their order. Names are unique.
pub(crate) fn write_pairs(pairs: &[(String, String)]) -> String {
    let fields = pairs
        .iter()
        .map(|(name, value)| (name.clone(), Value::String(value.clone())));
    Value::Object(fields.collect::<Map<_, _>>()).to_string()
}

/// The reverse of [`write_pairs`]; skips values that are not text.
pub(crate) fn read_pairs(text: &str) -> Vec<(String, String)> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
            .collect(),
        _ => Vec::new(),
    }
}

/// Texts as a JSON array.
pub(crate) fn write_list(list: &[String]) -> String {
    Value::from(list).to_string()
}

/// The reverse of [`write_list`].
pub(crate) fn read_list(text: &str) -> Vec<String> {
    serde_json::from_str::<Value>(text)
        .ok()
        .and_then(|list| {
            list.as_array().map(|items| {
                items
                    .iter()
                    .filter_map(|item| item.as_str().map(str::to_owned))
                    .collect()
            })
        })
        .unwrap_or_default()
}
