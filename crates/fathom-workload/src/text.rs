//! Profiles and scores as text.

use std::fmt::Write as _;

use fathom_model::format::{bytes, counted, duration, thousands};

use crate::arrivals::{ArrivalModel, Arrivals};
use crate::fidelity::{Fidelity, TOTAL_RULE};
use crate::profile::{Profile, Sizes, Stream, by_count};
use crate::reader::TraceFacts;
use crate::record::IoKind;
use crate::space::{Pattern, Zone};

/// Streams that are described one by one.
const SHOWN: usize = 8;

/// Streams that the sentence names.
const NAMED: usize = 4;

/// A stream, and how many similar ones it stands for.
pub(crate) struct Group<'a> {
    pub stream: &'a Stream,
    pub count: usize,
    /// Some of them use other regions than the first.
    pub apart: bool,
}

fn is_similar(a: &Stream, b: &Stream) -> bool {
    let within = |a: f64, b: f64| a.max(b) <= 2.0 * a.min(b).max(1e-9);
    std::mem::discriminant(&a.pattern) == std::mem::discriminant(&b.pattern)
        && a.device == b.device
        && a.main_size() == b.main_size()
        && (a.read_share() - b.read_share()).abs() <= 0.05
        && a.flushing.is_some() == b.flushing.is_some()
        && within(a.iops(), b.iops())
        && within((a.end - a.start) as f64, (b.end - b.start) as f64)
}

/// Streams, with similar ones of other processes counted together.
pub(crate) fn groups(profile: &Profile) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for stream in &profile.streams {
        match groups
            .iter_mut()
            .find(|group| is_similar(group.stream, stream))
        {
            Some(group) => {
                group.count += 1;
                let first = group.stream;
                group.apart |= stream.device != first.device
                    || stream.start >= first.end
                    || stream.end <= first.start;
            }
            None => groups.push(Group {
                stream,
                count: 1,
                apart: false,
            }),
        }
    }
    groups
}

/// A size in three digits: `1 GiB` for 1,023.97 MiB.
fn about(size: u64) -> String {
    let (mut value, mut unit) = (size as f64, 0);
    while value >= 0.95 * 1024.0 && unit < 6 {
        value /= 1024.0;
        unit += 1;
    }
    let digits = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let mut text = format!("{value:.digits$}");
    if digits > 0 {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    format!("{text} {}", units[unit])
}

fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value > 0.0 && value < 10.0 || value > 90.0 && value < 99.95 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// The part of the zones that is denser than the mean by a factor of 1.5: its share of the accesses, and its bytes.
fn hot(zones: &[Zone]) -> Option<(f64, u64)> {
    let all: u64 = zones.iter().map(|zone| zone.bytes).sum();
    let (mut share, mut size) = (0.0, 0);
    for zone in zones {
        if zone.share > 1.5 * zone.bytes as f64 / all.max(1) as f64 {
            share += zone.share;
            size += zone.bytes;
        }
    }
    (size > 0).then_some((share, size))
}

fn size_text(sizes: &Sizes) -> String {
    let total: u64 = sizes.iter().map(|(_, count)| count).sum();
    let all = by_count(sizes.clone());
    match all.as_slice() {
        [] => String::new(),
        [(size, count), ..] if *count as f64 >= 0.9 * total as f64 => bytes(u64::from(*size)),
        [(small, a), (large, b), ..] if (a + b) as f64 >= 0.9 * total as f64 => {
            let (small, large) = (small.min(large), small.max(large));
            format!(
                "{} and {}",
                bytes(u64::from(*small)),
                bytes(u64::from(*large))
            )
        }
        _ => {
            let (first, last) = (sizes[0].0, sizes[sizes.len() - 1].0);
            format!("{} to {}", bytes(u64::from(first)), bytes(u64::from(last)))
        }
    }
}

/// One stream in words: `random 8 KiB reads over 60 GiB with 90 % in 5 GiB`.
fn stream_words(stream: &Stream) -> String {
    let reads = stream.read_share();
    let both = |kind: usize| size_text(&stream.sizes[kind]);
    let what = if reads > 0.995 {
        format!("{} reads", both(0))
    } else if reads < 0.005 {
        format!("{} writes", both(1))
    } else if both(0) == both(1) {
        format!("{} reads ({}) and writes", both(0), percent(reads))
    } else {
        format!(
            "{} reads ({}) and {} writes",
            both(0),
            percent(reads),
            both(1)
        )
    };
    let span = about(stream.end - stream.start);
    let mut text = match &stream.pattern {
        Pattern::Sequential { places, .. }
            if *places < 1.5 && reads < 0.005 && stream.flushing.is_some() =>
        {
            format!("a sequential log of {}", both(1))
        }
        Pattern::Sequential { places, run } => {
            let at = if *places < 1.5 {
                String::new()
            } else {
                format!(" at {places:.0} places")
            };
            let runs = if *run < 1000.0 {
                format!(" in runs of {run:.0}")
            } else {
                String::new()
            };
            format!("sequential {what} over {span}{at}{runs}")
        }
        Pattern::Uniform => format!("random {what} over {span}"),
        Pattern::Zipf { theta } => format!("random {what} over {span}, zipf {theta:.2}"),
        Pattern::Zones(zones) => match hot(zones) {
            Some((share, size)) => format!(
                "random {what} over {span} with {:.0} % in {}",
                share * 100.0,
                about(size)
            ),
            None => format!("random {what} over {span}"),
        },
    };
    if let Some(flushing) = stream.flushing {
        let name = if flushing.data_only {
            "fdatasync"
        } else {
            "flush"
        };
        let each = (flushing.every - 1.0).abs() < 0.01;
        let _ = if each || flushing.even && flushing.every < 1.5 {
            write!(text, " with {name} after each write")
        } else if flushing.even {
            write!(
                text,
                " with {name} after every {:.0} writes",
                flushing.every
            )
        } else {
            write!(
                text,
                " with {name} after {:.1} writes on average",
                flushing.every
            )
        };
    }
    text
}

/// The load in a sentence: `2 streams: random 8 KiB reads over 60 GiB with 90 % in 5 GiB, and a sequential log of 12 KiB with
/// fdatasync after each write`.
#[must_use]
pub fn sentence(profile: &Profile) -> String {
    let groups = groups(profile);
    let parts: Vec<String> = groups
        .iter()
        .take(NAMED)
        .map(|group| match group.count {
            1 => stream_words(group.stream),
            count => format!("{count} x {}", stream_words(group.stream)),
        })
        .collect();
    let count = profile.streams.len();
    let more = groups.len().saturating_sub(NAMED);
    let joined = match parts.as_slice() {
        [] if profile.totals[0].ios + profile.totals[1].ios > 0 => {
            return "too few reads and writes for a stream".to_owned();
        }
        [] => return "no reads or writes".to_owned(),
        [one] => one.clone(),
        [first @ .., last] if more == 0 => format!("{}, and {last}", first.join(", ")),
        all => format!("{}, and {more} other kinds", all.join(", ")),
    };
    format!("{}: {joined}", counted(count as u64, "stream"))
}

fn arrival_words(arrivals: &Arrivals) -> String {
    match arrivals.model {
        ArrivalModel::Unknown => "unknown".to_owned(),
        ArrivalModel::Constant { gap } => format!("even, every {}", duration(gap)),
        ArrivalModel::Exponential { mean } => format!("Poisson, mean gap {}", duration(mean)),
        ArrivalModel::Hyper { share, short, long } => format!(
            "H2: {} of the gaps have a mean of {}, the others of {}",
            percent(share),
            duration(short),
            duration(long)
        ),
        ArrivalModel::OnOff {
            burst, gap, pause, ..
        } => format!(
            "on/off: bursts of {burst:.1} I/Os with gaps of {}, then a pause of {}",
            duration(gap),
            duration(pause)
        ),
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<18}{value}");
}

/// The report of a profile. `notes` are those of the trace.
#[must_use]
pub fn profile_text(profile: &Profile, name: &str, facts: &TraceFacts) -> String {
    let mut text = String::new();
    let seconds = profile.length as f64 / 1e9;
    let _ = writeln!(
        text,
        "{name} ({}): {} in {}",
        facts.format,
        counted(profile.ios(), "I/O"),
        duration(profile.length as f64)
    );
    let _ = writeln!(text, "{}.\n", sentence(profile));
    let kinds: Vec<String> = IoKind::ALL
        .into_iter()
        .map(|kind| (kind, profile.totals[kind as usize]))
        .filter(|(_, total)| total.ios > 0)
        .map(|(kind, total)| match kind {
            IoKind::Flush => format!("{} {}", thousands(total.ios), kind.plural()),
            _ => format!(
                "{} {} ({})",
                thousands(total.ios),
                kind.plural(),
                about(total.bytes)
            ),
        })
        .collect();
    line(&mut text, "mix", &kinds.join(", "));
    for kind in [IoKind::Read, IoKind::Write] {
        let sizes = &profile.sizes[kind as usize];
        let total: u64 = sizes.iter().map(|(_, count)| count).sum();
        if total == 0 {
            continue;
        }
        let all = by_count(sizes.clone());
        let mut listed: Vec<String> = all
            .iter()
            .take(5)
            .map(|(size, count)| {
                format!(
                    "{} {}",
                    bytes(u64::from(*size)),
                    percent(*count as f64 / total as f64)
                )
            })
            .collect();
        if all.len() > 5 {
            listed.push(format!("{} more", all.len() - 5));
        }
        line(
            &mut text,
            if kind == IoKind::Read {
                "read sizes"
            } else {
                "write sizes"
            },
            &listed.join(", "),
        );
    }
    line(
        &mut text,
        "sequential",
        &format!("{} of the bytes", percent(profile.sequential)),
    );
    let locality = &profile.locality;
    line(
        &mut text,
        "footprint",
        &format!(
            "{}; working set of a second {} on average, at most {}",
            about(locality.footprint),
            about(locality.working_set_mean),
            about(locality.working_set_max)
        ),
    );
    let misses: Vec<String> = [0.01, 0.1, 0.5]
        .into_iter()
        .map(|share| {
            let size = locality.footprint as f64 * share;
            format!(
                "{} with {} ({:.0} % of the footprint)",
                percent(locality.miss_ratio_at(size)),
                about(size as u64),
                share * 100.0
            )
        })
        .collect();
    line(&mut text, "LRU misses", &misses.join(", "));
    if profile.length > 0 {
        let arrivals = &profile.arrivals;
        line(
            &mut text,
            "arrivals",
            &format!(
                "{:.1} per second; {}",
                profile.ios() as f64 / seconds.max(1e-9),
                arrival_words(arrivals)
            ),
        );
        let dispersion: Vec<String> = arrivals
            .dispersion
            .iter()
            .zip(["10 ms", "100 ms", "1 s"])
            .filter_map(|(index, window)| Some(format!("{:.2} in {window}", (*index)?)))
            .collect();
        line(
            &mut text,
            "burstiness",
            &format!(
                "CV^2 {:.2}, autocorrelation {:.2}{}{}",
                arrivals.cv2,
                arrivals.autocorrelation,
                if dispersion.is_empty() {
                    ""
                } else {
                    ", dispersion "
                },
                dispersion.join(", ")
            ),
        );
    }
    if let Some(depth) = &profile.depth {
        line(
            &mut text,
            "in flight",
            &format!("{:.2} on average, at most {}", depth.mean, depth.max),
        );
        line(
            &mut text,
            "latency",
            &format!(
                "mean {}, p50 {}, p99 {}",
                duration(profile.latency.mean()),
                duration(profile.latency.quantile(0.5)),
                duration(profile.latency.quantile(0.99))
            ),
        );
    }
    streams_text(&mut text, profile, facts);
    if profile.phases.len() > 1 {
        let _ = writeln!(text, "\nPhases");
        for phase in &profile.phases {
            let _ = writeln!(
                text,
                "  {} to {}: {:.1} IOPS, {} reads, mean size {}",
                duration(phase.start as f64),
                duration(phase.end as f64),
                phase.iops,
                percent(phase.read_share),
                about(phase.mean_size as u64)
            );
        }
    }
    let notes = facts.notes(profile.ios(), profile.with_latency, profile.length > 0);
    if !notes.is_empty() {
        let _ = writeln!(text, "\nNotes");
        for note in notes {
            let _ = writeln!(text, "  {note}");
        }
    }
    text
}

fn streams_text(text: &mut String, profile: &Profile, facts: &TraceFacts) {
    let groups = groups(profile);
    let _ = writeln!(text, "\nStreams");
    for (index, group) in groups.iter().take(SHOWN).enumerate() {
        let stream = group.stream;
        let _ = write!(text, "  {}. {}", index + 1, stream_words(stream));
        let _ = match (group.count, stream.process) {
            (1, 0) => writeln!(text),
            (1, process) => writeln!(text, " ({})", facts.process_name(process)),
            (count, _) => writeln!(text, " ({count} processes; figures of one)"),
        };
        let _ = writeln!(
            text,
            "     {:.1} IOPS; arrivals {}",
            stream.iops(),
            arrival_words(&stream.arrivals)
        );
        if let Some(depth) = &stream.depth {
            let _ = match depth.closed {
                Some(limit) => writeln!(
                    text,
                    "     closed loop of depth {limit}, think time {}; {:.2} in flight",
                    duration(stream.think.quantile(0.5)),
                    depth.mean
                ),
                None => writeln!(
                    text,
                    "     open loop: arrivals do not wait for completions; {:.2} in flight",
                    depth.mean
                ),
            };
        }
        if stream.fua > 0.0 {
            let _ = writeln!(text, "     {} of the writes with FUA", percent(stream.fua));
        }
    }
    if groups.len() > SHOWN {
        let _ = writeln!(text, "  {} more", groups.len() - SHOWN);
    }
}

/// The scores as a table. `a` and `b` are the names of the traces.
#[must_use]
pub fn fidelity_text(fidelity: &Fidelity, a: &str, b: &str) -> String {
    let mut text = format!("Fidelity of {b} to {a}: {:.0} of 100\n\n", fidelity.total);
    for part in &fidelity.parts {
        let score = match part.score {
            Some(score) => format!("{score:.0}"),
            None => "-".to_owned(),
        };
        let _ = writeln!(text, "  {:<18}{score:>3}  {}", part.name, part.detail);
    }
    let _ = writeln!(text, "\nTotal = {TOTAL_RULE}");
    if let Some(worst) = fidelity.worst() {
        let _ = writeln!(
            text,
            "{}",
            worst_sentence(worst.name, worst.score, &worst.detail)
        );
    }
    text
}

pub(crate) fn worst_sentence(name: &str, score: Option<f64>, detail: &str) -> String {
    format!("Worst: {name}, {:.0}: {detail}.", score.unwrap_or(0.0))
}
