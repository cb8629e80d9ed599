//! Calculated answers: tables, sentences and derivations as text, Markdown and JSON.

use fathom_model::format::thousands;
use fathom_model::{Derivation, DerivationInput, DerivedAnswer, DerivedCell, DerivedTable};
use serde_json::{Value, json};

use crate::output::wrap;
use crate::style::Style;

/// A heading is wrapped to lines of at least this many characters, unless the table is wider than the terminal.
const NARROWEST: usize = 10;

/// A number in three figures or more: `12.4`, `0.115`, `3,938`.
fn figure(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".to_owned();
    }
    if size >= 999.5 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", thousands(size.round() as u64));
    }
    if (value - value.round()).abs() < 1e-9 {
        return format!("{value:.0}");
    }
    let decimals = match size {
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ => (2 - size.log10().floor() as i32).clamp(2, 12),
    };
    format!("{value:.*}", decimals as usize)
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => figure(value),
        unit => format!("{} {unit}", figure(value)),
    }
}

fn cell_text(cell: &DerivedCell) -> String {
    match cell {
        DerivedCell::Text(text) => text.clone(),
        DerivedCell::Given(input) => figure(input.value),
        DerivedCell::Calculated(derivation) => figure(derivation.value),
    }
}

/// The answer as text. With `explain` each number is followed by how it was calculated.
#[must_use]
pub fn derived_text(answer: &DerivedAnswer, explain: bool, style: &Style) -> String {
    let lines = |lines: &[String]| -> String {
        lines
            .iter()
            .map(|line| wrap(&style.clean(line), style.width, "", "  "))
            .collect()
    };
    let mut parts = vec![lines(&answer.question)];
    for table in &answer.tables {
        let mut text = String::new();
        if !table.caption.is_empty() {
            text += &wrap(&style.clean(&table.caption), style.width, "", "");
        }
        parts.push(text + &table_text(table, style));
    }
    parts.push(lines(&answer.answer));
    parts.push(lines(&answer.notes));
    if explain {
        parts.push(explanation(answer, style));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// A table with headings of several lines, so that it stays narrow.
fn table_text(table: &DerivedTable, style: &Style) -> String {
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| style.clean(&cell_text(cell)))
                .collect()
        })
        .collect();
    let length = |text: &str| text.chars().count();
    let widths_from = |narrowest: usize| -> Vec<usize> {
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let words = table.columns[column].split(' ').map(length).max();
            cells
                .map(|cell| length(cell))
                .max()
                .unwrap_or(0)
                .max(words.unwrap_or(0))
                .max(length(&table.columns[column]).min(narrowest))
        };
        (0..table.columns.len()).map(width).collect()
    };
    let mut widths = widths_from(NARROWEST);
    // Two spaces follow each column but the last.
    if widths.iter().sum::<usize>() + 2 * widths.len() > style.width + 2 {
        widths = widths_from(0);
    }
    let is_text = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column));
        column == 0 || cells.all(|cell| matches!(cell, DerivedCell::Text(_)))
    };
    let heads: Vec<Vec<String>> = table
        .columns
        .iter()
        .zip(&widths)
        .map(|(name, width)| {
            let wrapped = wrap(name, *width, "", "");
            wrapped.lines().map(str::to_owned).collect()
        })
        .collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(0);
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let mut text = String::new();
        for (column, cell) in cells.enumerate() {
            let width = widths[column];
            text += &if is_text(column) {
                format!("{cell:width$}  ")
            } else {
                format!("{cell:>width$}  ")
            };
        }
        text.trim_end().to_owned() + "\n"
    };
    let mut text = String::new();
    for row in 0..height {
        text += &line(&mut heads.iter().map(|head| {
            let above = height - head.len();
            let place = row.checked_sub(above);
            place.map_or(String::new(), |place| head[place].clone())
        }));
    }
    for row in rows {
        text += &line(&mut row.into_iter());
    }
    text
}

fn explanation(answer: &DerivedAnswer, style: &Style) -> String {
    let mut text = String::new();
    for table in &answer.tables {
        if !table.caption.is_empty() {
            text += &wrap(&style.clean(&table.caption), style.width, "", "");
        }
        for row in &table.rows {
            let name = row.first().map(cell_text).unwrap_or_default();
            for (column, cell) in table.columns.iter().zip(row) {
                let title = style.clean(&format!("{name}: {column}"));
                match cell {
                    DerivedCell::Text(_) => {}
                    DerivedCell::Given(input) => {
                        let line = format!(
                            "{title} = {} ({})",
                            figure(input.value),
                            style.clean(&input.source)
                        );
                        text += &wrap(&line, style.width, "  ", "      ");
                    }
                    DerivedCell::Calculated(derivation) => {
                        text += &format!("  {title}\n");
                        explain(derivation, &derivation.name, 4, style, &mut text);
                    }
                }
            }
        }
    }
    for (heading, derivations) in &answer.derivations {
        text += &format!("{}\n", style.clean(heading));
        for derivation in derivations {
            explain(derivation, &derivation.name, 4, style, &mut text);
        }
    }
    text
}

fn explain(derivation: &Derivation, name: &str, indent: usize, style: &Style, into: &mut String) {
    let equals = if derivation.is_method { ":" } else { " =" };
    let line = format!(
        "{name}{equals} {} = {}",
        derivation.formula,
        with_unit(derivation.value, &derivation.unit)
    );
    let start = " ".repeat(indent.min(40));
    *into += &wrap(
        &style.clean(&line),
        style.width,
        &start,
        &format!("{start}    "),
    );
    for input in &derivation.inputs {
        match &input.derivation {
            Some(inner) => explain(inner, &input.name, indent + 2, style, into),
            None => {
                let start = " ".repeat((indent + 2).min(40));
                let line = input_text(input);
                *into += &wrap(
                    &style.clean(&line),
                    style.width,
                    &start,
                    &format!("{start}    "),
                );
            }
        }
    }
}

fn input_text(input: &DerivationInput) -> String {
    let value = with_unit(input.value, &input.unit);
    format!("{} = {value} ({})", input.name, input.source)
}

/// The answer as Markdown.
#[must_use]
pub fn derived_markdown(answer: &DerivedAnswer, explain: bool, style: &Style) -> String {
    let escape = |text: &str| style.clean(text).replace('|', "\\|").replace('<', "&lt;");
    let mut parts = Vec::new();
    let paragraphs = |lines: &[String], parts: &mut Vec<String>| {
        parts.extend(lines.iter().map(|line| escape(line) + "\n"));
    };
    paragraphs(&answer.question, &mut parts);
    for table in &answer.tables {
        if !table.caption.is_empty() {
            parts.push(format!("**{}**\n", escape(&table.caption)));
        }
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = row(table.columns.iter().map(|name| escape(name)).collect());
        text += &row(table
            .columns
            .iter()
            .enumerate()
            .map(|(column, _)| if column == 0 { "---" } else { "---:" }.to_owned())
            .collect());
        for cells in &table.rows {
            text += &row(cells.iter().map(|cell| escape(&cell_text(cell))).collect());
        }
        parts.push(text);
    }
    paragraphs(&answer.answer, &mut parts);
    if !answer.notes.is_empty() {
        parts.push(
            answer
                .notes
                .iter()
                .map(|note| format!("* {}\n", escape(note)))
                .collect(),
        );
    }
    if explain {
        parts.push(format!("```text\n{}```\n", explanation(answer, style)));
    }
    parts.join("\n")
}

/// The answer as JSON. With `explain` each number is an object with its formula and inputs.
#[must_use]
pub fn derived_json(answer: &DerivedAnswer, explain: bool) -> String {
    let table = |table: &DerivedTable| {
        let rows: Vec<Vec<Value>> = table
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| cell_json(cell, explain)).collect())
            .collect();
        json!({ "caption": table.caption, "columns": table.columns, "rows": rows })
    };
    let mut document = json!({
        "question": answer.question,
        "tables": answer.tables.iter().map(table).collect::<Vec<_>>(),
        "answer": answer.answer,
        "notes": answer.notes,
    });
    if explain && !answer.derivations.is_empty() {
        let group = |(heading, all): &(String, Vec<Derivation>)| {
            json!({
                "heading": heading,
                "values": all.iter().map(derivation_json).collect::<Vec<_>>(),
            })
        };
        document["derivations"] = answer.derivations.iter().map(group).collect();
    }
    format!("{document:#}\n")
}

fn cell_json(cell: &DerivedCell, explain: bool) -> Value {
    match cell {
        DerivedCell::Text(text) => json!(text),
        DerivedCell::Given(input) if explain => input_json(input),
        DerivedCell::Calculated(derivation) if explain => derivation_json(derivation),
        _ => json!(cell.value()),
    }
}

fn derivation_json(derivation: &Derivation) -> Value {
    let method = if derivation.is_method {
        "method"
    } else {
        "formula"
    };
    json!({
        "name": derivation.name,
        "value": derivation.value,
        "unit": derivation.unit,
        method: derivation.formula,
        "inputs": derivation.inputs.iter().map(input_json).collect::<Vec<_>>(),
    })
}

fn input_json(input: &DerivationInput) -> Value {
    match &input.derivation {
        Some(inner) => {
            let mut value = derivation_json(inner);
            value["name"] = json!(input.name);
            value
        }
        None => json!({
            "name": input.name,
            "value": input.value,
            "unit": input.unit,
            "source": input.source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_figures() {
        let shown = [
            0.0,
            7.0,
            0.00115,
            0.115,
            1.204,
            12.43,
            123.4,
            3938.5,
            -0.5,
            f64::INFINITY,
        ];
        assert_eq!(
            shown.map(figure),
            [
                "0", "7", "0.00115", "0.115", "1.20", "12.4", "123", "3,939", "-0.500", "-"
            ]
        );
    }

    fn example() -> DerivedAnswer {
        let rpm = DerivationInput {
            name: "rpm".to_owned(),
            value: 7200.0,
            unit: "1/min".to_owned(),
            source: "data sheet | page 2".to_owned(),
            derivation: None,
        };
        let half = Derivation {
            name: "half_turn".to_owned(),
            value: 25.0 / 6.0,
            unit: "ms".to_owned(),
            formula: "30000 / rpm".to_owned(),
            is_method: false,
            inputs: vec![rpm.clone()],
        };
        DerivedAnswer {
            tables: vec![DerivedTable {
                caption: "Disks".to_owned(),
                columns: vec![
                    "drive".to_owned(),
                    "rpm".to_owned(),
                    "half a turn, ms".to_owned(),
                ],
                rows: vec![vec![
                    DerivedCell::Text("hdd|1".to_owned()),
                    DerivedCell::Given(rpm),
                    DerivedCell::Calculated(half),
                ]],
            }],
            notes: vec!["A note.".to_owned()],
            ..DerivedAnswer::default()
        }
    }

    /// Regression 0955: tables were wider than a terminal of 80 columns, because each heading had at least ten characters
    /// although its longest word and its numbers have fewer. Eight columns of five characters take 54.
    #[test]
    fn regression_0955_headings_are_narrow_where_the_terminal_is() {
        let mut answer = example();
        let table = &mut answer.tables[0];
        table.columns = vec!["30 % busy ms".to_owned(); 8];
        table.rows = vec![vec![DerivedCell::Text("12345".to_owned()); 8]];
        let wide = Style {
            width: 100,
            ..Style::default()
        };
        let text = derived_text(&answer, false, &wide);
        assert!(text.contains("30 % busy   30 % busy"), "{text}");
        let text = derived_text(&answer, false, &Style::default());
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(text.contains("\n30 %   30 %"), "{text}");
    }

    #[test]
    fn a_table_is_text_markdown_and_json() {
        let style = Style::default();
        let text = derived_text(&example(), false, &style);
        assert!(
            text.contains("hdd|1  7,200") && text.ends_with("\nA note.\n"),
            "{text}"
        );
        let text = derived_text(&example(), true, &style);
        assert!(
            text.contains("    half_turn = 30000 / rpm = 4.17 ms\n"),
            "{text}"
        );
        assert!(
            text.contains("      rpm = 7,200 1/min (data sheet | page 2)\n"),
            "{text}"
        );
        let markdown = derived_markdown(&example(), false, &style);
        assert!(
            markdown.contains("| hdd\\|1 | 7,200 | 4.17 |\n"),
            "{markdown}"
        );
        let json: Value = serde_json::from_str(&derived_json(&example(), true)).expect("JSON");
        assert_eq!(
            json["tables"][0]["rows"][0][2]["inputs"][0]["value"],
            7200.0
        );
        let json: Value = serde_json::from_str(&derived_json(&example(), false)).expect("JSON");
        assert_eq!(json["tables"][0]["rows"][0][1], 7200.0);
    }
}
