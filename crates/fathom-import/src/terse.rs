//! fio's terse lines, versions 2 to 5. Fields have fixed positions. Fields after the latency
//! classes (disks, a description) are ignored.

use fathom_model::{
    Direction, DirectionSummary, Entry, ImportedResult, LatencyKinds, LatencySummary, Nanos,
    Provenance, Samples,
};

use crate::error::ImportError;

/// Limit of figures.
const LARGEST: f64 = 1e18;
const PERCENTILES: usize = 20;

/// Positions of the fields in one version.
struct Layout {
    /// Fields in front of the first direction.
    head: usize,
    directions: &'static [Direction],
    /// Fields of a direction.
    width: usize,
}

const TWO: &[Direction] = &[Direction::Read, Direction::Write];

fn layout(version: &str) -> Option<Layout> {
    let (head, directions, width) = match version {
        "2" => (4, &Direction::ALL[..], 41),
        "3" => (5, TWO, 41),
        "4" => (5, &Direction::ALL[..], 41),
        "5" => (5, &Direction::ALL[..], 47),
        _ => return None,
    };
    Some(Layout {
        head,
        directions,
        width,
    })
}

/// Whether a line is a terse line. Since version 3 it contains the name of the program; ezFIO
/// writes a line of zeros for a test that did not run.
pub(crate) fn is_terse(line: &str) -> bool {
    let mut fields = line.split(';');
    let version = fields.next().unwrap_or_default();
    let Some(layout) = layout(version) else {
        return false;
    };
    let named = version == "2"
        || fields
            .next()
            .is_some_and(|name| name.chars().any(char::is_alphabetic));
    named && line.split(';').count() >= layout.head + layout.directions.len() * layout.width
}

/// The result of all terse lines in `text`.
///
/// # Errors
/// When a field is not a number. `None` if there is no terse line.
pub(crate) fn terse(file: &str, text: &str) -> Result<Option<ImportedResult>, ImportError> {
    let (mut entries, mut program) = (Vec::new(), String::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| is_terse(line)) {
        let fields: Vec<&str> = line.split(';').collect();
        if fields[0] != "2" {
            program = fields[1].to_owned();
        }
        entries.push(entry(&fields).map_err(|why| ImportError::LogLine {
            line: number + 1,
            why,
        })?);
    }
    if entries.is_empty() {
        return Ok(None);
    }
    let runtime = entries
        .iter()
        .flat_map(|entry: &Entry| &entry.directions.0)
        .map(|direction_summary| direction_summary.runtime_ms)
        .max()
        .unwrap_or(0);
    let unknown = [
        "device, host and conditions",
        "queue depth",
        "pattern",
        "exact number of I/Os",
        "latencies beyond the percentiles listed",
    ];
    Ok(Some(ImportedResult {
        source: Provenance {
            program,
            files: vec![file.to_owned()],
            unknown: unknown.map(str::to_owned).to_vec(),
            notes: Vec::new(),
            over_time: Vec::new(),
        },
        elapsed: Nanos::from_millis(runtime),
        entries,
        ..ImportedResult::default()
    }))
}

fn entry(fields: &[&str]) -> Result<Entry, &'static str> {
    let layout = layout(fields[0]).ok_or("not a terse line")?;
    let mut entry = Entry {
        name: fields[layout.head - 3].to_owned(),
        group: fields[layout.head - 2]
            .parse()
            .map_err(|_| "the group is a whole number")?,
        error: fields[layout.head - 1]
            .parse()
            .map_err(|_| "the error is a whole number")?,
        members: 1,
        show_directions: true,
        latency_kinds: LatencyKinds {
            slat: true,
            clat: true,
            lat: true,
            clat_percentiles: true,
            ..LatencyKinds::default()
        },
        ..Entry::default()
    };
    for (place, direction) in layout.directions.iter().enumerate() {
        let at = layout.head + place * layout.width;
        entry.directions[*direction] = direction_of(&fields[at..at + layout.width])?;
    }
    rest(
        &mut entry,
        &fields[layout.head + layout.directions.len() * layout.width..],
    );
    Ok(entry)
}

/// CPU, depths and latency classes; zero if the line is cut off.
fn rest(entry: &mut Entry, fields: &[&str]) {
    let at = |place: usize| {
        fields
            .get(place)
            .and_then(|field| number(field).ok())
            .unwrap_or(0.0)
    };
    (entry.user_percent, entry.system_percent) = (at(0), at(1));
    (entry.switches, entry.major_faults, entry.minor_faults) =
        (at(2) as u64, at(3) as u64, at(4) as u64);
    entry.depth_levels = std::array::from_fn(|place| at(5 + place));
    entry.latency_us = std::array::from_fn(|place| at(12 + place));
    entry.latency_ms = std::array::from_fn(|place| at(22 + place));
}

/// KiB, KiB/s, I/Os per second, milliseconds; latencies in microseconds.
fn direction_of(fields: &[&str]) -> Result<DirectionSummary, &'static str> {
    let all = |range: std::ops::Range<usize>| {
        fields[range]
            .iter()
            .map(|field| number(field))
            .collect::<Result<Vec<f64>, _>>()
    };
    let (head, bw) = (all(0..4)?, all(36..41)?);
    let (bytes, runtime_ms) = ((head[0] * 1024.0) as u64, head[3] as u64);
    let ios = (head[2] * head[3] / 1e3).round() as u64;
    let latency = |values: &[f64]| {
        let at = |place: usize| values[place] * 1e3;
        let n = if values[2] > 0.0 { ios } else { 0 };
        LatencySummary {
            min: at(0) as u64,
            max: at(1) as u64,
            mean: at(2),
            stddev: at(3),
            n,
            ..LatencySummary::default()
        }
    };
    let mut made = DirectionSummary {
        bytes,
        bandwidth: head[1] * 1024.0,
        iops: head[2],
        runtime_ms,
        ios,
        slat: latency(&all(4..8)?),
        clat: latency(&all(8..12)?),
        lat: latency(&all(32..36)?),
        bw_samples: Samples {
            min: bw[0],
            max: bw[1],
            mean: bw[3],
            dev: bw[4],
            count: 0,
        },
        bw_share: bw[2],
        ..DirectionSummary::default()
    };
    made.clat.percentiles = fields[12..12 + PERCENTILES]
        .iter()
        .filter_map(|field| percentile(field))
        .collect();
    if fields.len() > 41 {
        let iops = all(41..47)?;
        made.bw_samples.count = iops[0] as u64;
        made.iops_samples = Samples {
            min: iops[1],
            max: iops[2],
            mean: iops[3],
            dev: iops[4],
            count: iops[5] as u64,
        };
    }
    (
        made.counts.planned,
        made.counts.ok,
        made.counts.bytes_ok,
        made.counts.bytes_requested,
    ) = (ios, ios, bytes, bytes);
    Ok(made)
}

/// `99.000000%=1234`; an unused field is `0%=0`.
fn percentile(field: &str) -> Option<(f64, u64)> {
    let (percent, value) = field.split_once("%=")?;
    let (percent, value) = (number(percent).ok()?, number(value).ok()?);
    (percent > 0.0 && percent <= 100.0 && value > 0.0).then_some((percent, (value * 1e3) as u64))
}

fn number(field: &str) -> Result<f64, &'static str> {
    let value = field.trim().trim_end_matches('%').parse::<f64>();
    value
        .ok()
        .filter(|value| (0.0..=LARGEST).contains(value))
        .ok_or("invalid number in the terse line")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(iops: u32, extra: usize) -> String {
        let figures = format!(
            "4000;400;{iops};10000;1;2;1.5;0.1;10;90;40.5;3.25;50.000000%=40;99.000000%=80"
        );
        figures
            + &";0%=0".repeat(18)
            + ";11;92;42;3;380;420;100.000000%;400;5"
            + &";7".repeat(extra)
    }

    fn line(head: &str, directions: usize, extra: usize) -> String {
        let all_directions: Vec<String> = (0..directions)
            .map(|place| direction(if place == 0 { 100 } else { 0 }, extra))
            .collect();
        format!(
            "{head};{}{}\n",
            all_directions.join(";"),
            ";5.500000%;1;2;3;4".to_owned() + &";1%".repeat(29)
        )
    }

    #[test]
    fn every_version_is_read_to_the_same_figures() {
        let heads = [
            ("2;name;0;0", 3, 0),
            ("3;fio-3.33;name;0;0", 2, 0),
            ("4;fio-3.33;name;0;0", 3, 0),
            ("5;fio-3.33;name;0;0", 3, 6),
        ];
        for (head, directions, extra) in heads {
            let text = format!("fio: some note\n{}", line(head, directions, extra));
            let result = terse("f", &text).expect("readable").expect("there is one");
            let [entry] = result.entries.as_slice() else {
                panic!("{result:?}")
            };
            let read = &entry.directions[Direction::Read];
            assert_eq!(
                (
                    entry.name.as_str(),
                    read.iops,
                    read.bandwidth,
                    read.runtime_ms
                ),
                ("name", 100.0, 409_600.0, 10_000),
                "{head}"
            );
            assert_eq!(
                (read.clat.mean, read.lat.min, read.ios),
                (40_500.0, 11_000, 1000),
                "{head}"
            );
            assert_eq!(
                read.clat.percentiles,
                [(50.0, 40_000), (99.0, 80_000)],
                "{head}"
            );
            assert_eq!(
                (
                    read.bw_samples.mean,
                    entry.user_percent,
                    entry.latency_ms[11]
                ),
                (400.0, 5.5, 1.0),
                "{head}"
            );
        }
    }

    #[test]
    fn invalid_figures_are_refused_with_their_line() {
        let text = line("3;fio-3.33;name;0;0", 2, 0).replace("40.5", "40,5");
        assert!(matches!(
            terse("f", &text),
            Err(ImportError::LogLine { line: 1, .. })
        ));
        assert!(
            terse("f", "3;fio-3.33;cut;0;0;1;2\nfio: x\n")
                .expect("readable")
                .is_none()
        );
    }
}
