//! Parses volumes from TOML.

use toml::{Table, Value};

use super::Volume;
use crate::clean;

/// Supported version of the format.
const SCHEMA: i64 = 1;
/// Keys of a volume that are numbers.
const NUMBERS: [&str; 15] = [
    "min_gib",
    "max_gib",
    "iops",
    "iops_base",
    "iops_per_gib",
    "iops_min",
    "iops_max",
    "burst_iops",
    "bucket_ios",
    "burst_s",
    "bandwidth_mib",
    "bandwidth_mib_base",
    "bandwidth_mib_per_gib",
    "burst_bandwidth_mib",
    "io_kib",
];

/// An error in a file of volumes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// The file is not TOML.
    #[error("{0}: invalid TOML: {1}")]
    Toml(String, String),
    /// The file has another version of the format, or none.
    #[error("{0}: `schema = {SCHEMA}` is missing at the top, or another version")]
    Schema(String),
    /// A volume has a problem.
    #[error("{file}: volume {volume}: {problem}")]
    Volume {
        /// The file.
        file: String,
        /// Its name or number.
        volume: String,
        /// What is wrong.
        problem: String,
    },
}

/// The volumes of a file.
///
/// # Errors
/// If it is not a file of volumes; with the place.
pub fn parse_volumes(file: &str, text: &str) -> Result<Vec<Volume>, VolumeError> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        VolumeError::Toml(file.to_owned(), clean(error.to_string().as_bytes()))
    })?;
    if table.get("schema").and_then(Value::as_integer) != Some(SCHEMA) {
        return Err(VolumeError::Schema(file.to_owned()));
    }
    let rows = table.get("volume").and_then(Value::as_array);
    rows.into_iter()
        .flatten()
        .enumerate()
        .map(|(number, row)| {
            let name = row.get("name").and_then(Value::as_str);
            volume(row).map_err(|problem| VolumeError::Volume {
                file: file.to_owned(),
                volume: name
                    .map_or_else(|| (number + 1).to_string(), |name| clean(name.as_bytes())),
                problem,
            })
        })
        .collect()
}

fn volume(row: &Value) -> Result<Volume, String> {
    let row = row.as_table().ok_or("not a table")?;
    let others = ["name", "provider", "provisioned", "note", "source"];
    if let Some(key) = row
        .keys()
        .find(|key| !NUMBERS.contains(&key.as_str()) && !others.contains(&key.as_str()))
    {
        return Err(format!("unknown key `{}`", clean(key.as_bytes())));
    }
    let text = |key: &str| {
        row.get(key)
            .and_then(Value::as_str)
            .map(|text| clean(text.as_bytes()))
    };
    let number = |key: &str| match row.get(key) {
        None => Ok(None),
        Some(value) => value
            .as_float()
            .or(value.as_integer().map(|whole| whole as f64))
            .filter(|number| number.is_finite() && *number > 0.0)
            .map(Some)
            .ok_or_else(|| format!("`{key}` must be a number above 0")),
    };
    let required = |key: &str| number(key)?.ok_or_else(|| format!("missing `{key}`"));
    let fixed = number("iops")?;
    let range = match fixed {
        Some(iops) => (iops, iops),
        None => (
            number("iops_min")?.unwrap_or(0.0),
            number("iops_max")?.unwrap_or(f64::MAX),
        ),
    };
    let volume = Volume {
        name: text("name").ok_or("missing `name`")?,
        provider: text("provider").ok_or("missing `provider`")?,
        min_gib: required("min_gib")?,
        max_gib: required("max_gib")?,
        iops_base: number("iops_base")?.unwrap_or(0.0),
        iops_per_gib: number("iops_per_gib")?.unwrap_or(0.0),
        iops_range: range,
        burst_iops: number("burst_iops")?,
        bucket_ios: number("bucket_ios")?,
        burst_s: number("burst_s")?,
        bandwidth_mib: number("bandwidth_mib")?.or(number("bandwidth_mib_base")?),
        bandwidth_mib_per_gib: number("bandwidth_mib_per_gib")?.unwrap_or(0.0),
        burst_bandwidth_mib: number("burst_bandwidth_mib")?,
        io_kib: number("io_kib")?.map(|kib| kib as u64),
        provisioned: row
            .get("provisioned")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        note: text("note"),
        source: row
            .get("source")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|url| clean(url.as_bytes()))
            .collect(),
    };
    if volume.source.is_empty() {
        return Err("missing `source`".to_owned());
    }
    if volume.min_gib > volume.max_gib || range.0 > range.1 {
        return Err("the smallest value is above the largest".to_owned());
    }
    if !volume.provisioned && fixed.is_none() && volume.iops_per_gib == 0.0 {
        return Err("missing `iops` or `iops_per_gib`".to_owned());
    }
    Ok(volume)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_reported_with_their_place() {
        let row = "schema = 1\n[[volume]]\nname = \"x\"\nprovider = \"y\"\nmin_gib = 1\nmax_gib = 2\niops = 5\nsource = [\"https://a\"]\n";
        assert_eq!(parse_volumes("f.toml", row).map(|all| all.len()), Ok(1));
        for (text, expected) in [
            ("x", "f.toml: invalid TOML"),
            ("schema = 2", "f.toml: `schema = 1` is missing"),
            (
                &row.replace("iops = 5", "iops = -5"),
                "f.toml: volume x: `iops` must be a number above 0",
            ),
            (
                &row.replace("iops = 5", "ipos = 5"),
                "volume x: unknown key `ipos`",
            ),
            (
                &row.replace("iops = 5", "io_kib = 5"),
                "volume x: missing `iops` or `iops_per_gib`",
            ),
            (
                &row.replace("max_gib = 2\n", ""),
                "volume x: missing `max_gib`",
            ),
            (
                &row.replace("name = \"x\"\n", ""),
                "volume 1: missing `name`",
            ),
            (
                &row.replace("[\"https://a\"]", "[]"),
                "volume x: missing `source`",
            ),
            (
                &row.replace("max_gib = 2", "max_gib = 0.5"),
                "the smallest value is above the largest",
            ),
        ] {
            let error = parse_volumes("f.toml", text).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
