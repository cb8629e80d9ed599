//! fio's terse lines (`--minimal`), versions 2 to 5: fields separated by semicolons, identified by position.

use std::fmt::Write as _;
use std::io::{self, Write};

use fathom_model::{DirectionSummary, DiskSummary, Entry, Findings, LatencySummary};

use crate::Style;
use crate::fio_number::floor;

/// A terse layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerseVersion {
    /// With trims, without version string and disks.
    V2,
    /// fio's default: read and write.
    #[default]
    V3,
    /// With trims.
    V4,
    /// With trims, counts of samples, and IOPS samples.
    V5,
}

impl TerseVersion {
    /// The layout of `--terse-version=number`.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            2 => Some(TerseVersion::V2),
            3 => Some(TerseVersion::V3),
            4 => Some(TerseVersion::V4),
            5 => Some(TerseVersion::V5),
            _ => None,
        }
    }

    const fn number(self) -> u8 {
        match self {
            TerseVersion::V2 => 2,
            TerseVersion::V3 => 3,
            TerseVersion::V4 => 4,
            TerseVersion::V5 => 5,
        }
    }
}

/// Percentiles of a direction; unused fields are `0%=0`.
const PERCENTILES: usize = 20;

/// Writes one line for each entry.
///
/// # Errors
/// If writing to `out` fails.
pub fn terse(
    findings: &Findings,
    style: &Style,
    version: TerseVersion,
    out: &mut dyn Write,
) -> io::Result<()> {
    for entry in &findings.entries {
        out.write_all(line(entry, &findings.disks, style, version).as_bytes())?;
    }
    Ok(())
}

/// Writes the line of one entry without disks.
pub(crate) fn terse_entry(
    entry: &Entry,
    style: &Style,
    version: TerseVersion,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(line(entry, &[], style, version).as_bytes())
}

/// The fields of one line.
struct Fields(String);

impl Fields {
    fn add(&mut self, field: impl std::fmt::Display) {
        // Writing to a String cannot fail.
        let _ = write!(self.0, ";{field}");
    }

    fn add_all<T: std::fmt::Display>(&mut self, fields: impl IntoIterator<Item = T>) {
        fields.into_iter().for_each(|field| self.add(field));
    }
}

fn line(entry: &Entry, disks: &[DiskSummary], style: &Style, version: TerseVersion) -> String {
    let mut fields = Fields(version.number().to_string());
    if version != TerseVersion::V2 {
        fields.add(&style.version);
    }
    // A separator in the name would shift all later fields.
    fields.add(entry.name.replace([';', '\n'], "_"));
    fields.add(entry.group);
    fields.add(entry.error);
    add_directions(&mut fields, entry, version);
    add_usage(&mut fields, entry);
    add_tables(&mut fields, entry);
    if version != TerseVersion::V2 {
        disks.iter().for_each(|disk| add_disk(&mut fields, disk));
    }
    if let Some((total, first)) = entry.errors_continued {
        fields.add(total);
        fields.add(first);
    }
    add_description(&mut fields, entry, version);
    fields.0 + "\n"
}

fn add_directions(fields: &mut Fields, entry: &Entry, version: TerseVersion) {
    if entry.mixed.is_none() || entry.show_directions {
        let shown = if version == TerseVersion::V3 { 2 } else { 3 };
        for (_, summary) in entry.directions.iter().take(shown) {
            add_direction(fields, summary, entry, version);
        }
    }
    if let Some(mixed) = &entry.mixed {
        add_direction(fields, mixed, entry, version);
    }
}

/// Bandwidths in KiB/s, latencies in microseconds, run time in milliseconds.
fn add_direction(
    fields: &mut Fields,
    summary: &DirectionSummary,
    entry: &Entry,
    version: TerseVersion,
) {
    let iops = floor(summary.iops);
    fields.add_all([
        summary.bytes / 1024,
        floor(summary.bandwidth) / 1024,
        iops,
        summary.runtime_ms,
    ]);
    add_latency(fields, &summary.slat);
    add_latency(fields, &summary.clat);
    add_percentiles(fields, summary, entry);
    add_latency(fields, &summary.lat);
    let bw = &summary.bw_samples;
    fields.add_all([floor(bw.min), floor(bw.max)]);
    fields.add(format_args!(
        "{:.6}%",
        if bw.count == 0 { 0.0 } else { summary.bw_share }
    ));
    fields.add_all([bw.mean, bw.dev].map(six));
    if version == TerseVersion::V5 {
        let iops = &summary.iops_samples;
        fields.add_all([bw.count, floor(iops.min), floor(iops.max)]);
        fields.add_all([iops.mean, iops.dev].map(six));
        fields.add(iops.count);
    }
}

fn six(figure: f64) -> String {
    format!("{figure:.6}")
}

fn add_latency(fields: &mut Fields, summary: &LatencySummary) {
    fields.add_all([summary.min / 1000, summary.max / 1000]);
    fields.add_all([summary.mean / 1000.0, summary.stddev / 1000.0].map(six));
}

fn add_percentiles(fields: &mut Fields, summary: &DirectionSummary, entry: &Entry) {
    let kind: fn(&DirectionSummary) -> &LatencySummary = match &entry.latency_kinds {
        shows if shows.lat_percentiles => |summary| &summary.lat,
        shows if shows.clat_percentiles => |summary| &summary.clat,
        _ => return fields.add_all(["0%=0"; PERCENTILES]),
    };
    let known = &kind(summary).percentiles;
    let requested = if known.is_empty() {
        requested_percentiles(entry, kind)
    } else {
        known
    };
    let values = requested
        .iter()
        .map(|(percent, ns)| (percent, if known.is_empty() { 0 } else { ns / 1000 }));
    fields.add_all(
        values
            .take(PERCENTILES)
            .map(|(percent, us)| format!("{percent:.6}%={us}")),
    );
    fields.add_all(std::iter::repeat_n(
        "0%=0",
        PERCENTILES.saturating_sub(requested.len()),
    ));
}

/// A direction without I/O shows the requested percentiles as zeros; another direction lists them.
fn requested_percentiles(
    entry: &Entry,
    kind: fn(&DirectionSummary) -> &LatencySummary,
) -> &[(f64, u64)] {
    let lists = entry
        .directions
        .0
        .iter()
        .chain(&entry.mixed)
        .map(|summary| &kind(summary).percentiles[..]);
    lists.max_by_key(|list| list.len()).unwrap_or(&[])
}

fn add_usage(fields: &mut Fields, entry: &Entry) {
    fields.add_all([entry.user_percent, entry.system_percent].map(|share| format!("{share:.6}%")));
    fields.add_all([entry.switches, entry.major_faults, entry.minor_faults]);
}

fn add_tables(fields: &mut Fields, entry: &Entry) {
    fields.add_all(entry.depth_levels.map(|share| format!("{share:.1}%")));
    // Terse has no nanosecond classes: they count in the first class of microseconds.
    let mut microseconds = entry.latency_us;
    microseconds[0] += entry.latency_ns.iter().sum::<f64>();
    fields.add_all(microseconds.map(|share| format!("{share:.2}%")));
    fields.add_all(entry.latency_ms.map(|share| format!("{share:.2}%")));
}

fn add_disk(fields: &mut Fields, disk: &DiskSummary) {
    let delta = &disk.delta;
    fields.add(&disk.name);
    fields.add_all([
        delta.read_ios,
        delta.write_ios,
        delta.read_merges,
        delta.write_merges,
    ]);
    fields.add_all([delta.read_ticks, delta.write_ticks, delta.time_in_queue]);
    fields.add(format_args!("{:.2}%", disk.util));
}

fn add_description(fields: &mut Fields, entry: &Entry, version: TerseVersion) {
    let Some(text) = entry.description.as_ref().filter(|text| !text.is_empty()) else {
        return;
    };
    if version == TerseVersion::V2 {
        fields.0.push('\n');
    }
    fields.add(text.replace('\n', " "));
}
