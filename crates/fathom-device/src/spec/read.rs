//! Parses data sheets from TOML. An error names its position and drops only the sheet that contains
//! it.

use toml::{Table, Value};

use super::sheet::{Access, Confidence, Figure, FigureDirection, Metric, Sheet, Zone};
use crate::clean;

/// Supported version of the format.
const SCHEMA: i64 = 1;
/// Limit of sheets per file and of figures per sheet.
const MAX_ITEMS: usize = 10_000;
/// Milliseconds of a minute.
const MS_PER_MINUTE: f64 = 60_000.0;
/// Keys of a sheet that are facts for the reader, with their labels.
const FACTS: [(&str, &str); 19] = [
    ("interface", "interface"),
    ("form_factor", "form factor"),
    ("height_mm", "height, mm"),
    ("medium", "medium"),
    ("rpm", "rotation, rpm"),
    ("capacity_gb", "capacity, GB"),
    ("endurance_tbw", "endurance, TB written"),
    ("endurance_dwpd", "endurance, drive writes a day"),
    (
        "write_after_cache_mb_s",
        "writes after the fast cache, MB/s",
    ),
    ("fast_cache_gb_min", "fast cache at least, GB"),
    ("fast_cache_gb_max", "fast cache at most, GB"),
    ("active_w", "active power, W"),
    ("active_read_w", "power while reading, W"),
    ("active_write_w", "power while writing, W"),
    ("peak_w", "peak power, W"),
    ("idle_w", "idle power, W"),
    ("price", "price"),
    ("method", "measured by"),
    ("note", "note"),
];

/// An error in a file of data sheets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct SheetError {
    /// The file.
    pub file: String,
    /// The error and its position.
    #[source]
    pub problem: SheetProblem,
}

/// What is wrong in a file of data sheets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SheetProblem {
    /// The file or directory could not be read.
    #[error("{0}")]
    Unreadable(String),
    /// The file is not TOML.
    #[error("invalid TOML: {0}")]
    Toml(String),
    /// The file has another version of the format.
    #[error("unknown schema {0}; this version supports schema {SCHEMA}")]
    UnknownSchema(i64),
    /// The file does not say its version of the format.
    #[error("missing `schema = {SCHEMA}` at the top")]
    NoSchema,
    /// The file has no sheet.
    #[error("no [[sheet]] found")]
    NoSheet,
    /// The sheet with this id or number has a problem.
    #[error("sheet {0}: {1}")]
    InSheet(String, #[source] Box<SheetProblem>),
    /// The figure with this number has a problem.
    #[error("figure {0}: {1}")]
    InFigure(usize, #[source] Box<SheetProblem>),
    /// An entry is a plain value.
    #[error("not a table")]
    NotTable,
    /// The id has other characters.
    #[error("`id` may contain only letters, digits, `-`, `.` and `_`")]
    BadId,
    /// A required key is absent.
    #[error("missing `{0}`")]
    Missing(&'static str),
    /// A key has a value of the wrong kind or outside its range: the key, and what it must be.
    #[error("`{0}` must be {1}")]
    MustBe(String, String),
    /// An item of a list is not a string.
    #[error("each item of `{0}` must be a non-empty string")]
    BadItem(String),
    /// A percentile above 100.
    #[error("`percentile` is above 100")]
    PercentileAbove100,
    /// A mix of reads and writes without the share of reads.
    #[error("direction \"mix\" needs `read_percent` from 1 to 99")]
    MixWithoutShare,
    /// A share of reads without a mix.
    #[error("`read_percent` is valid only with direction \"mix\"")]
    ShareWithoutMix,
    /// A block size in another form.
    #[error("invalid `block` \"{0}\"; use a size such as \"4KiB\" or \"1MiB\"")]
    BadBlock(String),
}

fn must_be(key: &str, what: impl Into<String>) -> SheetProblem {
    SheetProblem::MustBe(key.to_owned(), what.into())
}

/// Every valid sheet of a file, and the errors in the others.
#[must_use]
pub fn read_sheets(file: &str, text: &str) -> (Vec<Sheet>, Vec<SheetError>) {
    let sheet_error = |problem| SheetError {
        file: clean(file.as_bytes()),
        problem,
    };
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            return (
                Vec::new(),
                vec![sheet_error(SheetProblem::Toml(one_line(
                    &error.to_string(),
                )))],
            );
        }
    };
    match table.get("schema").and_then(Value::as_integer) {
        Some(SCHEMA) => {}
        Some(other) => {
            return (
                Vec::new(),
                vec![sheet_error(SheetProblem::UnknownSchema(other))],
            );
        }
        None => {
            return (Vec::new(), vec![sheet_error(SheetProblem::NoSchema)]);
        }
    }
    let none = Vec::new();
    let entries = match table.get("sheet") {
        Some(Value::Array(entries)) => entries,
        _ => &none,
    };
    let (mut sheets, mut errors) = (Vec::new(), Vec::new());
    for (number, entry) in entries.iter().take(MAX_ITEMS).enumerate() {
        match entry
            .as_table()
            .ok_or(SheetProblem::NotTable)
            .and_then(|table| sheet(table, file))
        {
            Ok(sheet) => sheets.push(sheet),
            Err(problem) => errors.push(sheet_error(SheetProblem::InSheet(
                sheet_name(entry, number),
                Box::new(problem),
            ))),
        }
    }
    if sheets.is_empty() && errors.is_empty() {
        errors.push(sheet_error(SheetProblem::NoSheet));
    }
    (sheets, errors)
}

fn one_line(text: &str) -> String {
    clean(
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .as_bytes(),
    )
}

fn sheet_name(entry: &Value, number: usize) -> String {
    let id = entry
        .get("id")
        .and_then(Value::as_str)
        .map(|id| clean(id.as_bytes()));
    id.unwrap_or_else(|| (number + 1).to_string())
}

fn sheet(table: &Table, file: &str) -> Result<Sheet, SheetProblem> {
    let id = required(table, "id")?;
    if !id
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
    {
        return Err(SheetProblem::BadId);
    }
    let figures = list(table, "figure")?.iter().take(MAX_ITEMS).enumerate();
    let figures = figures.map(|(number, value)| {
        let table = value.as_table().ok_or(SheetProblem::NotTable);
        table
            .and_then(figure)
            .map_err(|problem| SheetProblem::InFigure(number + 1, Box::new(problem)))
    });
    let figures = figures.collect::<Result<Vec<_>, _>>()?;
    let missing = match table.get("missing") {
        None => None,
        Some(_) => Some(required(table, "missing")?),
    };
    Ok(Sheet {
        maker: required(table, "maker")?,
        product: required(table, "product")?,
        models: texts(table, "models")?,
        part_numbers: texts(table, "part_numbers")?,
        models_unconfirmed: table
            .get("models_unconfirmed")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        confidence: confidence(table)?,
        best_of_series: table
            .get("best_of_series")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        write_after_cache: positive(table, "write_after_cache_mb_s")?.map(|mb| mb * 1e6),
        missing,
        facts: facts(table)?,
        source: texts(table, "source")?,
        figures,
        file: clean(file.as_bytes()),
        id,
    })
}

/// The facts in the order of the list. The mean rotational latency of a disk follows from its speed: half a turn.
fn facts(table: &Table) -> Result<Vec<(String, String)>, SheetProblem> {
    let mut all = Vec::new();
    for (key, label) in FACTS {
        let Some(value) = table.get(key) else {
            continue;
        };
        all.push((label.to_owned(), fact_text(value)));
        if key == "rpm" {
            let rpm = positive(table, key)?.unwrap_or(f64::INFINITY);
            let half_turn = MS_PER_MINUTE / rpm / 2.0;
            all.push(("half a turn, ms".to_owned(), format!("{half_turn:.2}")));
        }
    }
    Ok(all)
}

fn fact_text(value: &Value) -> String {
    match value {
        Value::String(text) => clean(text.as_bytes()),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        _ => "not a plain value".to_owned(),
    }
}

fn required(table: &Table, key: &str) -> Result<String, SheetProblem> {
    let text = table
        .get(key)
        .and_then(Value::as_str)
        .map(|text| clean(text.as_bytes()));
    text.filter(|text| !text.is_empty())
        .ok_or_else(|| must_be(key, "a non-empty string"))
}

fn list<'a>(table: &'a Table, key: &str) -> Result<&'a [Value], SheetProblem> {
    match table.get(key) {
        None => Ok(&[]),
        Some(Value::Array(values)) => Ok(values),
        Some(_) => Err(must_be(key, "a list")),
    }
}

fn texts(table: &Table, key: &str) -> Result<Vec<String>, SheetProblem> {
    let values = list(table, key)?.iter();
    let texts = values.map(|value| {
        value
            .as_str()
            .map(|text| clean(text.as_bytes()))
            .filter(|text| !text.is_empty())
    });
    texts
        .map(|text| text.ok_or_else(|| SheetProblem::BadItem(key.to_owned())))
        .collect()
}

fn confidence(table: &Table) -> Result<Confidence, SheetProblem> {
    match table.get("confidence").and_then(Value::as_str) {
        Some("maker") => Ok(Confidence::Maker),
        Some("secondary") => Ok(Confidence::Secondary),
        Some("partial") => Ok(Confidence::Partial),
        _ => Err(must_be(
            "confidence",
            "\"maker\", \"secondary\" or \"partial\"",
        )),
    }
}

fn figure(table: &Table) -> Result<Figure, SheetProblem> {
    let text_of = |key| table.get(key).and_then(Value::as_str);
    let value = positive(table, "value")?.ok_or(SheetProblem::Missing("value"))?;
    let percentile = positive(table, "percentile")?;
    if percentile.is_some_and(|p| p > 100.0) {
        return Err(SheetProblem::PercentileAbove100);
    }
    let (what, value) = match text_of("what") {
        Some("iops") => (Metric::Iops, value),
        Some("bandwidth") => (Metric::Bandwidth, value * 1e6),
        Some("latency_us") => (Metric::Latency(percentile), value * 1e3),
        _ => return Err(must_be("what", "\"iops\", \"bandwidth\" or \"latency_us\"")),
    };
    let access = match text_of("access") {
        Some("random") => Access::Random,
        Some("sequential") => Access::Sequential,
        _ => return Err(must_be("access", "\"random\" or \"sequential\"")),
    };
    let zone = match text_of("zone") {
        None => Zone::Whole,
        Some("start") => Zone::Start,
        Some("end") => Zone::End,
        Some(_) => return Err(must_be("zone", "\"start\" or \"end\"")),
    };
    Ok(Figure {
        what,
        value,
        side: side(table)?,
        access,
        block: text_of("block").map(block).transpose()?,
        depth: bounded_integer(table, "depth", 65_536)?,
        threads: bounded_integer(table, "threads", 1_024)?,
        zone,
        note: text_of("note").map(|note| clean(note.as_bytes())),
    })
}

fn side(table: &Table) -> Result<FigureDirection, SheetProblem> {
    let reads =
        bounded_integer(table, "read_percent", 99)?.and_then(|percent| u8::try_from(percent).ok());
    match (table.get("direction").and_then(Value::as_str), reads) {
        (Some("read"), None) => Ok(FigureDirection::Read),
        (Some("write"), None) => Ok(FigureDirection::Write),
        (Some("mix"), Some(reads)) => Ok(FigureDirection::Mix(reads)),
        (Some("mix"), None) => Err(SheetProblem::MixWithoutShare),
        (Some("read" | "write"), Some(_)) => Err(SheetProblem::ShareWithoutMix),
        _ => Err(must_be("direction", "\"read\", \"write\" or \"mix\"")),
    }
}

fn positive(table: &Table, key: &str) -> Result<Option<f64>, SheetProblem> {
    let number = match table.get(key) {
        None => return Ok(None),
        Some(Value::Integer(number)) => *number as f64,
        Some(Value::Float(number)) => *number,
        Some(_) => return Err(must_be(key, "a number")),
    };
    if number.is_finite() && number > 0.0 && number < 1e15 {
        Ok(Some(number))
    } else {
        Err(must_be(key, "greater than zero"))
    }
}

fn bounded_integer(table: &Table, key: &str, most: u32) -> Result<Option<u32>, SheetProblem> {
    let Some(value) = table.get(key) else {
        return Ok(None);
    };
    let number = value
        .as_integer()
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| (1..=most).contains(number));
    number
        .map(Some)
        .ok_or_else(|| must_be(key, format!("a whole number from 1 to {most}")))
}

/// `4KiB`, `512B`, `1MiB`.
fn block(text: &str) -> Result<u32, SheetProblem> {
    let wrong = || SheetProblem::BadBlock(clean(text.as_bytes()));
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u32 = text[..end].parse().map_err(|_| wrong())?;
    let unit = match &text[end..] {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return Err(wrong()),
    };
    number
        .checked_mul(unit)
        .filter(|size| (512..=1 << 30).contains(size))
        .ok_or_else(wrong)
}
