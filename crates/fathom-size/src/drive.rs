//! Drive classes: figures of data sheets in TOML, each with its source.

use fathom_model::{DerivationInput, HostLink};
use toml::{Table, Value};

use crate::derive::input;
use crate::place::{self, Step};
use crate::queue::Lattice;

/// Supported version of the format.
const SCHEMA: i64 = 1;
/// Most drives of a file.
const MOST_DRIVES: usize = 1000;

/// Drive classes that are part of the program: the name of the file and its text.
const BUILT_IN: [(&str, &str); 2] = [
    ("drives/disks.toml", include_str!("../drives/disks.toml")),
    ("drives/flash.toml", include_str!("../drives/flash.toml")),
];

/// A class of drives, or one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// The name that selects it: `hdd-7200`.
    pub id: String,
    /// Its description.
    pub name: String,
    /// Its link.
    pub link: HostLink,
    /// Its mechanics or flash.
    pub medium: Medium,
    /// The default source of its figures.
    source: String,
    figures: Vec<DerivationInput>,
}

/// What a drive stores data on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Rotating disks.
    Disk,
    /// Flash.
    Flash,
}

/// What is wrong with a drive file or a name of a drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    /// The file is not TOML.
    #[error("{place}: invalid TOML: {message}")]
    Toml {
        /// File, line and column.
        place: String,
        /// The message of the parser.
        message: String,
    },
    /// The file is of another version or has none.
    #[error(
        "{place}: `schema = {SCHEMA}` is missing or another number; this version supports schema {SCHEMA}"
    )]
    Schema {
        /// File, line and column.
        place: String,
    },
    /// The file has no drive, or too many.
    #[error("{place}: needs 1 to {MOST_DRIVES} tables [[drive]]")]
    NoDrive {
        /// File, line and column.
        place: String,
    },
    /// The file has a key that is none of this format.
    #[error("{place}: unknown key `{key}` at the top; use schema and [[drive]]")]
    UnknownKey {
        /// File, line and column.
        place: String,
        /// The key.
        key: String,
    },
    /// A drive is incomplete or has an impossible value.
    #[error("{place}: drive {drive}: {problem}")]
    InDrive {
        /// File, line and column.
        place: String,
        /// The id or number of the drive.
        drive: String,
        /// What is wrong, and what is expected.
        problem: String,
    },
    /// No drive has this name.
    #[error("unknown drive '{name}'; known: {known}, or the path of a TOML file")]
    Unknown {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
}

/// A numeric key: name, unit, smallest and largest value.
type Key = (&'static str, &'static str, f64, f64);

const COMMON: [Key; 6] = [
    ("capacity_gb", "GB", 1.0, 1e6),
    ("idle_w", "W", 0.0, 1e3),
    ("active_w", "W", 0.0, 1e3),
    ("tbw", "TB", 1.0, 1e9),
    ("dwpd", "1/day", 0.001, 1e3),
    ("warranty_years", "years", 0.1, 100.0),
];
const DISK: [Key; 9] = [
    ("rpm", "1/min", 1000.0, 100_000.0),
    ("seek_ms", "ms", 0.1, 100.0),
    ("track_seek_ms", "ms", 0.01, 100.0),
    ("full_seek_ms", "ms", 0.1, 200.0),
    ("overhead_ms", "ms", 0.0, 10.0),
    ("outer_mb_s", "MB/s", 1.0, 2000.0),
    ("inner_mb_s", "MB/s", 1.0, 2000.0),
    ("cylinders", "", 100.0, 1e8),
    ("heads", "", 1.0, 64.0),
];
const FLASH: [Key; 10] = [
    ("read_us", "us", 0.1, 1e5),
    ("write_us", "us", 0.1, 1e5),
    ("read_iops_4k", "1/s", 10.0, 1e8),
    ("write_iops_4k", "1/s", 10.0, 1e8),
    ("read_mb_s", "MB/s", 1.0, 1e6),
    ("write_mb_s", "MB/s", 1.0, 1e6),
    ("sharpness", "", 0.5, 20.0),
    ("service_cv", "", 0.0, 10.0),
    ("overprovisioning", "", 0.01, 10.0),
    ("queue_limit", "", 1.0, 1e6),
];
const DISK_REQUIRED: [&str; 5] = ["capacity_gb", "rpm", "seek_ms", "outer_mb_s", "inner_mb_s"];
const FLASH_REQUIRED: [&str; 9] = [
    "capacity_gb",
    "read_us",
    "write_us",
    "read_iops_4k",
    "write_iops_4k",
    "read_mb_s",
    "write_mb_s",
    "sharpness",
    "service_cv",
];

/// The drive classes of the program.
///
/// # Panics
/// When a file of the program is not valid, which its tests exclude.
#[must_use]
pub fn built_in_drives() -> Vec<Drive> {
    let read = |(file, text): (&str, &str)| {
        read_drives(file, text).unwrap_or_else(|error| panic!("{error}"))
    };
    BUILT_IN.into_iter().flat_map(read).collect()
}

/// The built-in drive class of this name.
///
/// # Errors
/// When there is none.
pub fn built_in_drive(id: &str) -> Result<Drive, DriveError> {
    let mut all = built_in_drives();
    match all.iter().position(|drive| drive.id == id) {
        Some(place) => Ok(all.swap_remove(place)),
        None => Err(DriveError::Unknown {
            name: id
                .chars()
                .take(60)
                .collect::<String>()
                .escape_debug()
                .to_string(),
            known: all
                .iter()
                .map(|d| d.id.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

/// The drives of a TOML file.
///
/// # Errors
/// The first mistake, with its place and what is expected.
pub fn read_drives(file: &str, text: &str) -> Result<Vec<Drive>, DriveError> {
    let file = file.escape_debug().to_string();
    let place = |steps: &[Step]| place::of(&file, text, steps);
    let table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| DriveError::Toml {
            place: place::at(&file, text, error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
        })?;
    if table.get("schema").and_then(Value::as_integer) != Some(SCHEMA) {
        let place = place(&[Step::Key("schema")]);
        return Err(DriveError::Schema { place });
    }
    let drives = table.get("drive").and_then(Value::as_array);
    let Some(drives) = drives.filter(|d| (1..=MOST_DRIVES).contains(&d.len())) else {
        let place = place(&[Step::Key("drive")]);
        return Err(DriveError::NoDrive { place });
    };
    if let Some(key) = table
        .keys()
        .find(|key| !["schema", "drive"].contains(&key.as_str()))
    {
        return Err(DriveError::UnknownKey {
            place: place(&[Step::Key(key)]),
            key: key.escape_debug().to_string(),
        });
    }
    let one = |(index, value): (usize, &Value)| {
        let id = value.get("id").and_then(Value::as_str);
        read_drive(value).map_err(|Mistake { key, problem }| DriveError::InDrive {
            place: place(&[Step::Key("drive"), Step::Element(index), Step::Key(&key)]),
            drive: id.map_or_else(
                || format!("number {}", index + 1),
                |id| format!("'{}'", id.escape_debug()),
            ),
            problem,
        })
    };
    drives.iter().enumerate().map(one).collect()
}

/// What is wrong with a drive, and the key of it that is wrong; without a key the whole drive.
struct Mistake {
    key: String,
    problem: String,
}

fn mistake(key: &str, problem: impl Into<String>) -> Mistake {
    Mistake {
        key: key.to_owned(),
        problem: problem.into(),
    }
}

fn read_drive(value: &Value) -> Result<Drive, Mistake> {
    let table = value
        .as_table()
        .ok_or_else(|| mistake("", "not a table; write [[drive]]"))?;
    let text = |key: &str| {
        let found = table
            .get(key)
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty());
        found.ok_or_else(|| mistake(key, format!("missing `{key}`, a text")))
    };
    let id = text("id")?;
    if !id
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
    {
        return Err(mistake(
            "id",
            "`id` may contain only letters, digits, `-`, `.` and `_`",
        ));
    }
    let medium = match text("medium")? {
        "disk" => Medium::Disk,
        "flash" => Medium::Flash,
        _ => return Err(mistake("medium", "`medium` must be \"disk\" or \"flash\"")),
    };
    let link: HostLink = text("link")?
        .parse()
        .map_err(|e| mistake("link", format!("`link`: {e}")))?;
    let source = text("source")?.to_owned();
    let sources = table.get("sources").and_then(Value::as_table);
    let (own, required): (&[Key], &[&str]) = match medium {
        Medium::Disk => (&DISK, &DISK_REQUIRED),
        Medium::Flash => (&FLASH, &FLASH_REQUIRED),
    };
    let mut figures = Vec::new();
    for (key, value) in table {
        if ["id", "name", "medium", "link", "source", "sources"].contains(&key.as_str()) {
            continue;
        }
        let known = COMMON.iter().chain(own).find(|known| known.0 == key);
        let Some((name, unit, least, most)) = known else {
            return Err(mistake(
                key,
                format!("unknown key `{}`", key.escape_debug()),
            ));
        };
        let number = value.as_float().or(value.as_integer().map(|n| n as f64));
        let number = number
            .filter(|n| (*least..=*most).contains(n))
            .ok_or_else(|| {
                let wanted = format!("`{name}` must be a number from {least} to {most} {unit}");
                mistake(key, wanted)
            })?;
        let source = sources
            .and_then(|all| all.get(key))
            .and_then(Value::as_str)
            .unwrap_or(&source);
        figures.push(input(name, number, unit, source));
    }
    let drive = Drive {
        id: id.to_owned(),
        name: table
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or(id)
            .to_owned(),
        link,
        medium,
        source,
        figures,
    };
    if let Some(key) = required.iter().find(|key| drive.get(key).is_none()) {
        return Err(mistake(key, format!("missing `{key}`")));
    }
    for (low, high) in [
        ("inner_mb_s", "outer_mb_s"),
        ("track_seek_ms", "seek_ms"),
        ("seek_ms", "full_seek_ms"),
        ("idle_w", "active_w"),
    ] {
        if let (Some(small), Some(large)) = (drive.get(low), drive.get(high))
            && small > large
        {
            return Err(mistake(
                low,
                format!("`{low}` ({small}) must not be above `{high}` ({large})"),
            ));
        }
    }
    Ok(drive)
}

impl Drive {
    /// A figure by its key, if the drive has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<f64> {
        self.figure(key).map(|figure| figure.value)
    }

    /// A figure with its source, if the drive has it.
    #[must_use]
    pub fn figure(&self, key: &str) -> Option<&DerivationInput> {
        self.figures.iter().find(|figure| figure.name == key)
    }

    /// A figure that every drive of this medium has, as an input of a formula.
    ///
    /// # Panics
    /// When the drive lacks it, which the reader of the file excludes.
    #[must_use]
    pub fn given(&self, key: &str) -> DerivationInput {
        self.figure(key)
            .cloned()
            .unwrap_or_else(|| panic!("drive {} has no {key}", self.id))
    }

    /// A figure, or a value that is assumed where the drive has none.
    #[must_use]
    pub fn or_assumed(&self, key: &str, value: f64, unit: &str, why: &str) -> DerivationInput {
        self.figure(key)
            .cloned()
            .unwrap_or_else(|| input(key, value, unit, format!("assumed: {why}")))
    }
}

/// The seek time over the share of the cylinders that the arm crosses: track seek, square root up
/// to a third, then linear (Ruemmler and Wilkes). Without a full-stroke time the square root goes on,
/// fitted to the average over random pairs of cylinders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekCurve {
    track: f64,
    /// Slope of the square root, ms.
    root: f64,
    /// Slope of the linear part, ms; `None` where the square root goes on.
    linear: Option<f64>,
}

/// Mean of the square root of the distance of two random places of the unit interval: 8/15.
const MEAN_ROOT: f64 = 8.0 / 15.0;

impl SeekCurve {
    /// The curve of a disk.
    #[must_use]
    pub fn of(drive: &Drive) -> SeekCurve {
        let average = drive.given("seek_ms").value;
        let track = drive.get("track_seek_ms").unwrap_or(0.5).min(average);
        match drive.get("full_seek_ms") {
            Some(full) => SeekCurve {
                track,
                root: (average - track) * 3f64.sqrt(),
                linear: Some((full - average) * 1.5),
            },
            None => SeekCurve {
                track,
                root: (average - track) / MEAN_ROOT,
                linear: None,
            },
        }
    }

    /// Milliseconds to cross this share of the cylinders.
    #[must_use]
    pub fn ms(&self, distance: f64) -> f64 {
        match self.linear {
            Some(slope) if distance > 1.0 / 3.0 => {
                self.track + self.root / 3f64.sqrt() + slope * (distance - 1.0 / 3.0)
            }
            _ => self.track + self.root * distance.max(0.0).sqrt(),
        }
    }
}

/// Service times of random I/Os on a disk, ms: overhead, a seek between two random places in `span`
/// of the cylinders, a rotation that is uniform from nothing to a whole turn, and the transfer.
#[must_use]
pub fn disk_service(drive: &Drive, span: f64, transfer_ms: f64) -> Lattice {
    const PLACES: u32 = 250;
    const ANGLES: u32 = 100;
    let curve = SeekCurve::of(drive);
    let turn = 60_000.0 / drive.given("rpm").value;
    let fixed = drive.get("overhead_ms").unwrap_or(0.0) + transfer_ms;
    let mut service = Lattice::new((turn / 2.0 + curve.ms(span / 3.0) + fixed) / 60.0);
    let share = 1.0 / f64::from(PLACES * ANGLES);
    for place in 0..PLACES {
        // The distance of two random places has the density 2 (1 - u).
        let u = 1.0 - (1.0 - (f64::from(place) + 0.5) / f64::from(PLACES)).sqrt();
        let seek = curve.ms(u * span);
        for angle in 0..ANGLES {
            let rotation = (f64::from(angle) + 0.5) / f64::from(ANGLES) * turn;
            service.add(fixed + seek + rotation, share);
        }
    }
    service
}
