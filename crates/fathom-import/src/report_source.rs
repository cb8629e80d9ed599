//! The contents of a report besides the figures: verdict, summaries, device, host, and the job file
//! to repeat the run.

use fathom_model::format::{bytes as bytes_text, capacity, date_of_result};
use fathom_model::{Bytes, ReportSource, ReportSubject};
use serde_json::{Map, Value};

use crate::cells::cells_in;
use crate::error::ImportError;
use crate::result::{first_result, records};

/// Everything that a report takes from a result; `source` is its name.
///
/// # Errors
/// When there is no such document in `text`.
pub fn read_report_source(text: &str, source: &str) -> Result<ReportSource, ImportError> {
    let document = first_result(text)?;
    let addition = &document["fathom"];
    let entries = addition["entries"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let summary = |entry: &Value| {
        let sentences = entry["summary"]
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" ");
        Some(format!(
            "{}: {sentences}",
            entry["name"].as_str().unwrap_or_default()
        ))
        .filter(|_| !sentences.is_empty())
    };
    Ok(ReportSource {
        answer: None,
        source: source.to_owned(),
        jobs: cells_in(&document, source)?,
        verdict: addition["verdict"].as_str().map(str::to_owned),
        summaries: entries.iter().filter_map(summary).collect(),
        facts: facts(&document),
        plan: plan(&document)?,
        search: None,
        subject: subject(&document),
    })
}

/// What was measured, where and when.
fn subject(document: &Value) -> ReportSubject {
    let addition = &document["fathom"];
    let target = &addition["targets"][0];
    let device = &target["devices"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = device["model"].as_str().or(device["name"].as_str());
    let path = target["path"].as_str();
    let properties = [
        device["model"]
            .as_str()
            .and(device["name"].as_str())
            .map(str::to_owned),
        device["size"]
            .as_u64()
            .map(|size| capacity(Bytes::new(size))),
        device["medium"].as_str().map(str::to_owned),
        device["transport"].as_str().map(str::to_owned),
        target["file_system"]["kind"].as_str().map(str::to_owned),
    ];
    let host = &addition["host"];
    // A simulated device has no host.
    let number = |name: &str| host[name].as_u64().filter(|number| *number > 0);
    let host = [
        host["kernel"]
            .as_str()
            .filter(|kernel| !kernel.is_empty())
            .map(|kernel| format!("Linux {kernel}")),
        number("cpus").map(|cpus| format!("{cpus} CPUs")),
        number("memory_bytes").map(bytes_text),
    ];
    let seconds = document["timestamp"].as_u64();
    ReportSubject {
        device: match addition["simulated"]["device"].as_str() {
            Some(simulated) => format!("{simulated} (simulated)"),
            None => name
                .or(path)
                .map_or_else(|| named_target(document), str::to_owned),
        },
        properties: joined(properties),
        medium: text(&device["medium"]),
        host: joined(host),
        date: seconds.map_or_else(String::new, date_of_result),
        program: text(&document["fio version"]),
        drives: drives(addition),
        array: text(&device["array"]["kind"]),
        link: device["links"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|link| {
                let rate = link["current"]["usable_bytes_per_s"].as_f64()?;
                (rate > 0.0).then(|| (text(&link["kind"]), rate))
            })
            .min_by(|a, b| a.1.total_cmp(&b.1)),
    }
}

/// The number of drives below the only device of a result.
fn drives(addition: &Value) -> Option<u32> {
    let targets = addition["targets"].as_array()?;
    let mut devices = targets.iter().map(|target| &target["devices"][0]);
    let first = devices.next()?;
    let is_one = first["name"].is_string() && devices.all(|other| other["name"] == first["name"]);
    let members = match &first["array"]["members"] {
        Value::Null => Some(1),
        members => members.as_u64().and_then(|count| u32::try_from(count).ok()),
    };
    // What a loop device is on is not known here.
    members.filter(|count| is_one && *count > 0 && first["backing"].is_null())
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The target in the options of the first job.
fn named_target(document: &Value) -> String {
    let own = &document["jobs"][0]["job options"]["filename"];
    let name = own
        .as_str()
        .or(document["global options"]["filename"].as_str());
    name.unwrap_or_default().to_owned()
}

/// Headings with names and values.
fn facts(document: &Value) -> Vec<(String, Vec<(String, String)>)> {
    let addition = &document["fathom"];
    let mut all = vec![("Measurement".to_owned(), measurement(document))];
    for target in addition["targets"].as_array().into_iter().flatten() {
        all.push(("Target".to_owned(), flat(target)));
        for device in target["devices"].as_array().into_iter().flatten() {
            all.push((
                format!("Device {}", device["name"].as_str().unwrap_or_default()),
                flat(device),
            ));
        }
    }
    for (heading, key) in [("Host", "host"), ("Conditions", "conditions")] {
        all.push((heading.to_owned(), flat(&addition[key])));
    }
    for target in addition["conditions"]["targets"]
        .as_array()
        .into_iter()
        .flatten()
    {
        all.push(("Target at the end".to_owned(), flat(target)));
    }
    for disk in document["disk_util"].as_array().into_iter().flatten() {
        all.push((
            format!("Disk {}", disk["name"].as_str().unwrap_or_default()),
            flat(disk),
        ));
    }
    all.retain(|(_, pairs)| !pairs.is_empty());
    all
}

fn measurement(document: &Value) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let addition = &document["fathom"];
    pairs.extend(addition["version"].as_u64().map(|version| {
        let how = match &addition["simulated"] {
            Value::Null => "Measured by",
            _ => "Simulated by",
        };
        (
            how.to_owned(),
            format!("fathom, document version {version}"),
        )
    }));
    for (name, key) in [
        ("Written in the format of", "fio version"),
        ("Time", "time"),
    ] {
        pairs.extend(
            document[key]
                .as_str()
                .map(|text| (name.to_owned(), text.to_owned())),
        );
    }
    pairs.extend(
        addition["elapsed_ns"]
            .as_f64()
            .map(|ns| ("Length of the run".to_owned(), format!("{:.1} s", ns / 1e9))),
    );
    pairs.extend(
        addition["end"]
            .as_str()
            .map(|end| ("End".to_owned(), end.to_owned())),
    );
    let set = |one: &Value| {
        format!(
            "{}{}={}",
            one["job"]
                .as_str()
                .map_or(String::new(), |job| format!("{job}.")),
            word(&one["option"]),
            word(&one["value"])
        )
    };
    let overrides: Vec<String> = addition["overrides"]
        .as_array()
        .into_iter()
        .flatten()
        .map(set)
        .collect();
    let messages: Vec<&str> = addition["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, value) in [
        ("Set on the command line", overrides.join(" ")),
        ("Noticed", messages.join("; ")),
    ] {
        pairs.extend((!value.is_empty()).then(|| (name.to_owned(), value)));
    }
    pairs.extend(
        addition["clock"]["source"]
            .as_str()
            .map(|clock| ("Clock".to_owned(), clock.to_owned())),
    );
    pairs
}

/// Names and values of an object; names in nested objects are prefixed with their path. Lists of
/// objects are omitted because they may be long.
fn flat(value: &Value) -> Vec<(String, String)> {
    const MOST: usize = 60;
    let mut pairs = Vec::new();
    walk(value, "", &mut pairs);
    pairs.truncate(MOST);
    pairs
}

fn walk(value: &Value, path: &str, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                let name = name.replace('_', " ");
                walk(
                    inner,
                    &if path.is_empty() {
                        name
                    } else {
                        format!("{path}: {name}")
                    },
                    pairs,
                );
            }
        }
        Value::Array(list)
            if list.iter().all(|one| one.is_string() || one.is_number()) && !list.is_empty() =>
        {
            pairs.push((
                path.to_owned(),
                list.iter().map(word).collect::<Vec<_>>().join(", "),
            ));
        }
        Value::Null | Value::Array(_) => {}
        Value::Number(number) if counts_bytes(path) => pairs.push((
            path.to_owned(),
            number.as_u64().map_or_else(|| number.to_string(), bytes),
        )),
        other => pairs.push((path.to_owned(), word(other))),
    }
}

fn counts_bytes(path: &str) -> bool {
    let last = path.rsplit(": ").next().unwrap_or(path);
    ["size", "free", "total"].contains(&last) || last.ends_with("bytes")
}

/// `23.54 GiB (25276502016)`: rounded and exact.
fn bytes(n: u64) -> String {
    if n < 1024 {
        return n.to_string();
    }
    format!("{} ({n})", fathom_model::format::bytes(n))
}

fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The jobs as a job file, from the options in the result.
fn plan(document: &Value) -> Result<String, ImportError> {
    let mut text = String::new();
    let mut section = |name: &str, options: &Map<String, Value>| {
        text += &format!("[{name}]\n");
        for (option, value) in options {
            match value.as_str() {
                Some("") | None => text += &format!("{option}\n"),
                Some(value) => text += &format!("{option}={value}\n"),
            }
        }
        text.push('\n');
    };
    if let Some(options) = document["global options"].as_object() {
        section("global", options);
    }
    for job in records(document)? {
        if let Some(options) = job["job options"].as_object() {
            let own: Map<String, Value> = options
                .iter()
                .filter(|(name, _)| *name != "name")
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect();
            section(job["jobname"].as_str().unwrap_or("job"), &own);
        }
    }
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_a_job_file_again() {
        let text = r#"{"fio version": "fio-3.33", "global options": {"bs": "4k", "direct": "1"}, "jobs": [{"jobname": "a", "job options": {"name": "a", "rw": "randread", "group_reporting": ""},
            "read": {"iops": 10.0}}], "fathom": {"verdict": "degraded", "host": {"kernel": "6.1", "cpus": 2, "nothing": null}, "entries": [{"name": "a", "summary": ["It was fast.", "Very."]}]}}"#;
        let value = read_report_source(text, "x").expect("a result");
        assert_eq!(
            value.plan,
            "[global]\nbs=4k\ndirect=1\n\n[a]\nrw=randread\ngroup_reporting"
        );
        assert_eq!(
            (value.verdict.as_deref(), value.summaries.as_slice()),
            (Some("degraded"), &["a: It was fast. Very.".to_owned()][..])
        );
        assert_eq!(
            (super::bytes(25_276_502_016), super::bytes(512)),
            ("23.54 GiB (25276502016)".to_owned(), "512".to_owned())
        );
        assert!(
            value.facts.contains(&(
                "Host".into(),
                vec![("kernel".into(), "6.1".into()), ("cpus".into(), "2".into())]
            )),
            "{:?}",
            value.facts
        );
    }
}
