//! One line for each device.

use fathom_model::{DeviceFacts, TargetOverview, WritePermission};

use crate::Style;
use crate::names::link_kind_name;
use crate::output::wrap;
use fathom_model::format;

/// Headings, and their priority: the highest number is omitted first.
const COLUMNS: [(&str, u8); 9] = [
    ("NAME", 0),
    ("SIZE", 0),
    ("MEDIUM", 3),
    ("TRANSPORT", 2),
    ("MB/s", 5),
    ("TEMP", 6),
    ("MODEL", 4),
    ("CONTENTS", 1),
    ("WRITE ACCESS", 1),
];
/// Maximum width of a column; the details of one device show the full text.
const WIDEST: usize = 34;
/// Below this width two columns do not fit.
const NARROW: usize = 44;

/// A table of devices as wide as the style allows; columns that do not fit are omitted and listed.
#[must_use]
pub fn device_table(cards: &[TargetOverview], style: &Style) -> String {
    let rows: Vec<[String; 9]> = cards
        .iter()
        .map(|card| row(card).map(|cell| shortened(&style.clean(&cell))))
        .collect();
    if style.width < NARROW {
        return rows.iter().map(|row| stacked(row, style.width)).collect();
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells
            .max()
            .unwrap_or(0)
            .max(COLUMNS[column].0.chars().count())
    };
    let empty = |column: usize| {
        rows.iter()
            .all(|row| row[column].is_empty() || row[column] == "?")
    };
    let mut shown: Vec<usize> = (0..COLUMNS.len())
        .filter(|column| !empty(*column) || COLUMNS[*column].1 == 0)
        .collect();
    let mut left_out = Vec::new();
    while shown.iter().map(|column| width(*column) + 2).sum::<usize>() > style.width + 2
        && shown.len() > 2
    {
        let Some(place) = (0..shown.len()).max_by_key(|place| (COLUMNS[shown[*place]].1, *place))
        else {
            break;
        };
        left_out.push(COLUMNS[shown.remove(place)].0);
    }
    let line = |cells: &dyn Fn(usize) -> String| {
        let padded: String = shown
            .iter()
            .map(|column| format!("{:1$}", cells(*column), width(*column) + 2))
            .collect();
        format!(
            "{}\n",
            padded
                .trim_end()
                .chars()
                .take(style.width.max(1))
                .collect::<String>()
        )
    };
    let mut text = line(&|column| COLUMNS[column].0.to_owned());
    text.extend(rows.iter().map(|row| line(&|column| row[column].clone())));
    if !left_out.is_empty() {
        text += &wrap(
            &format!("(columns omitted: {})", left_out.join(", ")),
            style.width,
            "",
            "  ",
        );
    }
    text
}

/// On a very narrow terminal each device is a paragraph.
fn stacked(row: &[String; 9], width: usize) -> String {
    let rest: Vec<&str> = row[1..]
        .iter()
        .map(String::as_str)
        .filter(|cell| !cell.is_empty() && *cell != "?")
        .collect();
    wrap(
        &format!("{}: {}", row[0].trim(), rest.join(", ")),
        width,
        "",
        "  ",
    )
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= WIDEST {
        return text.to_owned();
    }
    format!("{}...", text.chars().take(WIDEST - 3).collect::<String>())
}

fn row(card: &TargetOverview) -> [String; 9] {
    let Some(first) = card.target.devices.first() else {
        let name = card.target.path.display().to_string();
        return [
            name,
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            contents(card),
            write(card),
        ];
    };
    let facts = &first.before;
    let (name, size) = match &first.partition {
        Some(part) => (format!("  {}", part.name), part.size),
        None => (facts.name.clone(), facts.size),
    };
    // A partition is on the device of the line above.
    let device = |text: String| {
        if first.partition.is_some() {
            String::new()
        } else {
            text
        }
    };
    [
        name,
        format::size(size),
        device(facts.medium.name().to_owned()),
        device(joined(facts)),
        device(facts.narrowest_link().map_or_else(
            || "?".to_owned(),
            |link| (link.now.bytes_per_s / 1_000_000).to_string(),
        )),
        device(
            facts
                .health
                .temperature_c
                .map_or_else(|| "?".to_owned(), |c| format!("{c:.0} C")),
        ),
        device(model(facts)),
        contents(card),
        write(card),
    ]
}

fn joined(facts: &DeviceFacts) -> String {
    let transport = facts.transport.name();
    match facts.narrowest_link() {
        Some(link) if link_kind_name(link.kind) != transport => {
            format!("{transport}, {}", link_kind_name(link.kind))
        }
        _ => transport.to_owned(),
    }
}

fn model(facts: &DeviceFacts) -> String {
    let identity = &facts.identity;
    let name = [&identity.vendor, &identity.model]
        .into_iter()
        .flatten()
        .cloned()
        .collect::<Vec<_>>()
        .join(" ");
    match (&facts.backing, &facts.array) {
        (Some(backing), _) => backing.path.display().to_string(),
        (None, Some(array)) => {
            let name = array
                .name
                .as_ref()
                .map_or(String::new(), |name| format!(" {name}"));
            format!("{}{name} of {}", array.kind, facts.built_on.join(", "))
        }
        (None, None) if name.is_empty() => identity
            .serial
            .as_ref()
            .map_or(String::new(), |serial| format!("serial {serial}")),
        (None, None) => name,
    }
}

fn contents(card: &TargetOverview) -> String {
    let safety = &card.safety;
    match (
        safety.mounted_at.is_empty(),
        safety.holders.is_empty(),
        safety.partitions.len(),
    ) {
        (false, _, _) => safety.mounted_at.join(", "),
        (true, false, _) => safety.holders.join(", "),
        (true, true, 0) => safety
            .holds
            .as_ref()
            .map_or_else(|| "not readable".to_owned(), |holds| holds.join(", ")),
        (true, true, 1) => "1 partition".to_owned(),
        (true, true, n) => format!("{n} partitions"),
    }
}

fn write(card: &TargetOverview) -> String {
    match &card.safety.write {
        WritePermission::Allowed => "allowed".to_owned(),
        WritePermission::NeedsCode(code) => format!("--destroy={code}"),
        WritePermission::Refused(_) => "never".to_owned(),
        WritePermission::Unknown => "?".to_owned(),
    }
}
