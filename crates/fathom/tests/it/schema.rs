//! Real output conforms to `docs/reference/result.schema.json`.

use std::fs;
use std::path::Path;

use crate::common::{fathom, split_args};
use fathom_testkit::Scratch;
use serde_json::Value;

fn schema() -> Value {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/result.schema.json");
    serde_json::from_str(&fs::read_to_string(path).expect("the schema")).expect("JSON")
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => {
            value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        other => panic!("unknown type '{other}' in the schema"),
    }
}

/// Supports the JSON Schema keywords that the schema uses; any other is an error.
fn validate(schema: &Value, root: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "$ref" => {
                let name = rule
                    .as_str()
                    .and_then(|name| name.strip_prefix("#/$defs/"))
                    .expect("a local reference");
                validate(&root["$defs"][name], root, value, at, problems);
            }
            "type" => {
                let allowed = match rule {
                    Value::Array(names) => names
                        .iter()
                        .any(|name| has_type(value, name.as_str().expect("a name"))),
                    name => has_type(value, name.as_str().expect("a name")),
                };
                if !allowed {
                    problems.push(format!("{at}: {value} is not {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().expect("values").contains(value) {
                    problems.push(format!("{at}: {value} is not one of {rule}"));
                }
            }
            "minimum" => {
                if value
                    .as_f64()
                    .is_some_and(|number| number < rule.as_f64().expect("a number"))
                {
                    problems.push(format!("{at}: {value} is below {rule}"));
                }
            }
            "pattern" => {
                // The only one: the number of a finding.
                assert_eq!(rule, "^F[0-9]{3}$");
                let text = value.as_str().unwrap_or_default();
                let digits = text.strip_prefix('F').unwrap_or_default();
                if digits.len() != 3 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    problems.push(format!("{at}: {value} does not match {rule}"));
                }
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(rule, root, item, &format!("{at}[{number}]"), problems);
                }
            }
            "required" => {
                for name in rule.as_array().expect("names") {
                    if value.is_object() && value.get(name.as_str().expect("a name")).is_none() {
                        problems.push(format!("{at}: no {name}"));
                    }
                }
            }
            "properties" => {
                for (name, rule) in rule.as_object().expect("properties") {
                    if let Some(inner) = value.get(name) {
                        validate(rule, root, inner, &format!("{at}.{name}"), problems);
                    }
                }
            }
            "additionalProperties" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if schema["properties"].get(name).is_some() {
                        continue;
                    }
                    match rule {
                        Value::Bool(false) => problems.push(format!("{at}: unknown key {name}")),
                        rule => validate(rule, root, inner, &format!("{at}.{name}"), problems),
                    }
                }
            }
            "$schema" | "$defs" | "title" | "description" => {}
            other => panic!("unknown keyword '{other}' in the schema"),
        }
    }
}

fn problems(value: &Value) -> Vec<String> {
    let schema = schema();
    let mut problems = Vec::new();
    validate(&schema, &schema, value, "fathom", &mut problems);
    problems
}

#[test]
fn results_conform_to_the_schema() {
    let directory = Scratch::new().expect("a directory");
    let file = directory.path().join("data");
    let on = format!(
        "--filename={} --no-store --output-format=json",
        file.display()
    );
    let lines = [
        format!("run --name=a --rw=randwrite --bs=4k --size=1m --verify=fathom {on}"),
        format!("run --name=a --rw=randread --bs=4k --size=1m --iodepth=4 {on}"),
        format!("run --name=a --rw=randrw --bs=4k --size=1m --rate_iops=500 --runtime=1 --time_based {on}"),
        "run --name=a --ioengine=null --rw=read --bs=4k --size=1m --numjobs=2 --group_reporting --no-store \
         --output-format=json+"
            .to_owned(),
    ];
    for line in &lines {
        let ran = fathom(split_args(line));
        let document: Value = serde_json::from_str(&ran.out)
            .unwrap_or_else(|error| panic!("{line}: {error}: {}", ran.err));
        assert_eq!(
            problems(&document["fathom"]),
            Vec::<String>::new(),
            "{line}"
        );
    }
}

/// The validator detects a wrong type, a missing key, an unknown key and an unknown enum value.
#[test]
fn the_validator_detects_errors() {
    let ran = fathom(split_args(
        "run --name=a --ioengine=null --rw=read --bs=4k --size=64k --no-store --output-format=json",
    ));
    let document: Value = serde_json::from_str(&ran.out).expect("JSON");
    let good = &document["fathom"];
    assert_eq!(problems(good), Vec::<String>::new());
    let changes: [fn(&mut Value); 4] = [
        |value| value["elapsed_ns"] = "long".into(),
        |value| drop(value.as_object_mut().expect("an object").remove("verdict")),
        |value| value["entries"][0]["counts"]["lost_ios"] = 1.into(),
        |value| value["verdict"] = "excellent".into(),
    ];
    for change in changes {
        let mut bad = good.clone();
        change(&mut bad);
        assert_eq!(problems(&bad).len(), 1, "{:?}", problems(&bad));
    }
}
