//! One entry of fio's text: header, directions, tables.

use fathom_model::{Direction, DirectionSummary, Entry, Nanos, SteadyMeasure};

use super::direction::{direction, sync};
use super::latency::Units;
use crate::fio_number::{FIGURES, Prefix, rate_pair, shorten};
use crate::names::{LATENCY_CLASSES, measure_name};

/// How entries are printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Width of percentile tables.
    pub table_width: usize,
    /// With lines that fio does not print.
    pub ours: bool,
    /// One unit for the latencies of all entries; `None` chooses one for each line as fio does.
    pub units: Option<Units>,
    /// The same for submission latencies, which are much shorter.
    pub slat_units: Option<Units>,
}

impl Layout {
    /// fio's layout, or ours for all of `entries`.
    pub(super) fn of(entries: &[Entry], table_width: usize, ours: bool) -> Layout {
        let directions = || {
            entries
                .iter()
                .flat_map(|entry| entry.directions.0.iter().chain(&entry.mixed))
        };
        let latencies = directions().flat_map(|d| [&d.clat, &d.lat].into_iter().chain(&d.response));
        let syncs = entries.iter().map(|entry| &entry.sync);
        let units = Units::common(latencies.chain(syncs)).filter(|_| ours);
        let slat_units = Units::common(directions().map(|d| &d.slat)).filter(|_| ours);
        Layout {
            table_width,
            ours,
            units,
            slat_units,
        }
    }
}

/// The text of one entry.
pub(super) fn entry(entry: &Entry, date: &str, layout: &Layout) -> String {
    // Of other programs' I/O there is neither a worker nor a queue.
    let is_observed = entry.engine == "observed";
    let mut lines = if is_observed {
        format!("{}: {date}\n", entry.name)
    } else {
        header(entry, date)
    };
    for (name, summary) in shown(entry) {
        lines += &direction(name, summary, entry, layout);
    }
    lines += &latency_classes("nsec", &entry.latency_ns);
    lines += &latency_classes("usec", &entry.latency_us);
    lines += &latency_classes("msec", &entry.latency_ms);
    lines += &sync(entry, layout);
    if is_observed {
        return lines;
    }
    lines += &cpu(entry);
    lines += &levels(
        "  IO depths    :",
        [1, 2, 4, 8, 16, 32],
        &entry.depth_levels,
    );
    lines += &levels(
        "     submit    :",
        [0, 4, 8, 16, 32, 64],
        &entry.submit_levels,
    );
    lines += &levels(
        "     complete  :",
        [0, 4, 8, 16, 32, 64],
        &entry.complete_levels,
    );
    lines + &issued(entry) + &errors(entry) + &target(entry) + &steady(entry)
}

fn header(entry: &Entry, date: &str) -> String {
    let Entry {
        name,
        group,
        members,
        error,
        error_text,
        tid,
        ..
    } = entry;
    let why = if *error == 0 {
        String::new()
    } else {
        format!(" ({error_text})")
    };
    let mut lines = format!(
        "{name}: (groupid={group}, jobs={members}): err={error:2}{why}: pid={tid}: {date}\n"
    );
    if let Some(text) = entry.description.as_ref().filter(|text| !text.is_empty()) {
        lines += &format!("  Description  : [{text}]\n");
    }
    lines
}

/// Directions with their names, in fio's order; the mix comes last, or alone.
fn shown(entry: &Entry) -> impl Iterator<Item = (&'static str, &DirectionSummary)> {
    let apart = entry.mixed.is_none() || entry.show_directions;
    let ways = entry
        .directions
        .iter()
        .filter(move |_| apart)
        .map(|(way, summary)| (way.name(), summary));
    let all = ways.chain(entry.mixed.as_ref().map(|summary| ("mixed", summary)));
    all.filter(|(_, summary)| summary.bytes > 0 && summary.runtime_ms > 0)
}

/// Classes that are not empty, five on a line.
fn latency_classes(unit: &str, shares: &[f64]) -> String {
    let last = LATENCY_CLASSES.len() - 1;
    let name = |class: usize| {
        if class == last {
            ">=2000=".into()
        } else {
            format!("{}=", LATENCY_CLASSES[class])
        }
    };
    let filled: Vec<String> = shares
        .iter()
        .enumerate()
        .filter(|(_, share)| **share > 0.0)
        .map(|(class, share)| format!("{}{share:.2}%", name(class)))
        .collect();
    filled
        .chunks(5)
        .map(|five| format!("  lat ({unit})   : {}\n", five.join(", ")))
        .collect()
}

fn cpu(entry: &Entry) -> String {
    let Entry {
        user_percent: user,
        system_percent: system,
        switches,
        major_faults,
        minor_faults,
        ..
    } = entry;
    format!(
        "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={switches}, majf={major_faults}, minf={minor_faults}\n"
    )
}

fn levels(name: &str, classes: [u32; 6], shares: &[f64; 7]) -> String {
    let named: String = classes
        .iter()
        .zip(shares)
        .map(|(class, share)| format!(" {class}={share:.1}%,"))
        .collect();
    format!("{name}{named} >=64={:.1}%\n", shares[6])
}

fn issued(entry: &Entry) -> String {
    let each = |count: fn(&DirectionSummary) -> u64| match &entry.mixed {
        Some(mixed) if !entry.show_directions => format!("{},0,0", count(mixed)),
        _ => Direction::ALL
            .map(|way| count(&entry.directions[way]).to_string())
            .join(","),
    };
    let (total, short, dropped) = (
        each(|way| way.ios),
        each(|way| way.short_ios),
        each(|way| way.dropped_ios),
    );
    format!(
        "     issued rwts: total={total},{} short={short},0 dropped={dropped},0\n",
        entry.fsyncs.unwrap_or(entry.sync.n)
    )
}

fn errors(entry: &Entry) -> String {
    let Some((total, first)) = entry.errors_continued else {
        return String::new();
    };
    format!(
        "     errors    : total={total}, first_error={first}/<{}>\n",
        errno_text(first)
    )
}

/// strerror(3) in the C locale.
fn errno_text(errno: i32) -> String {
    if errno == 0 {
        return "Success".into();
    }
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_string()
}

fn target(entry: &Entry) -> String {
    if entry.depth == 0 {
        return String::new();
    }
    let Some(search) = &entry.latency else {
        return format!(
            "     latency   : target=0.00ns, window=0.00ns, percentile=100.00%, depth={}\n",
            entry.depth
        );
    };
    let (limit, window) = (scaled(search.target.limit), scaled(search.target.window));
    let (percentile, depth) = (search.target.percentile, search.depth);
    format!(
        "     latency   : target={limit}, window={window}, percentile={percentile:.2}%, depth={depth}\n"
    )
}

/// A time in the largest unit in which it is below 1000.
fn scaled(time: Nanos) -> String {
    let mut value = time.get() as f64;
    for unit in ["ns", "us", "ms"] {
        if value < 1000.0 {
            return format!("{value:.2}{unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.2}s")
}

fn steady(entry: &Entry) -> String {
    let Some(steady) = &entry.steady else {
        return String::new();
    };
    let (recorded, rule) = (&steady.recording, &steady.recording.rule);
    let attained = if recorded.attained { "yes" } else { "no" };
    let (binary, decimal) = rate_pair(steady.mean.bandwidth as f64);
    let iops = shorten(steady.mean.iops, FIGURES, 0, Prefix::Si);
    let latency = if rule.measure == SteadyMeasure::Latency {
        format!(", lat={}", scaled(steady.mean.latency))
    } else {
        String::new()
    };
    let way = if rule.slope { "slope" } else { "mean dev" };
    let (metric, unit) = (
        measure_name(rule.measure),
        if rule.percent { "%" } else { "" },
    );
    let criterion = recorded.criterion;
    format!(
        "  steadystate  : attained={attained}, bw={binary} ({decimal}), iops={iops}{latency}, {metric} {way}={criterion:.3}{unit}\n"
    )
}
