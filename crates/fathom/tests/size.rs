//! `fathom size`: tables and sizings as a user calls them.

mod common;

/// The output of a command that succeeds.
fn fathom(arguments: &[&str]) -> String {
    common::fathom(arguments).expect(0).out
}

#[test]
fn tables_are_listed_and_printed_in_each_format() {
    let list = fathom(&["size", "tables"]);
    let names: Vec<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() >= 14, "{list}");
    for name in names {
        let text = fathom(&["size", "tables", name]);
        assert!(text.lines().count() > 5, "{text}");
        let explained = fathom(&["size", "tables", name, "--explain"]);
        assert!(
            explained.starts_with(&text[..text.len().min(200)]),
            "{explained}"
        );
        assert!(explained.len() > 2 * text.len(), "{explained}");
        let markdown = fathom(&["size", "tables", name, "--format=md"]);
        assert!(markdown.contains("| --- |"), "{markdown}");
        let json = fathom(&["size", "tables", name, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert!(
            json["tables"][0]["rows"]
                .as_array()
                .is_some_and(|rows| rows.len() > 2)
        );
    }
}

/// 1000 / (8.2 + 60000 / 7200 / 2) = 80.9.
#[test]
fn a_number_is_explained_with_formula_inputs_and_source() {
    let text = fathom(&["size", "tables", "rpm", "--explain", "--width=120"]);
    for part in [
        "iops = 1000 / access_time = 80.9 1/s",
        "access_time = seek_ms + rotational_latency = 12.4 ms",
        "rotational_latency = 60000 / rpm / 2 = 4.17 ms",
        "seek_ms = 8.20 ms (data sheet of HGST",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}
