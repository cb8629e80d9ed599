//! A profile as a job file of fio.

use std::fmt::Write as _;

use fathom_model::format::{bytes, duration};

use crate::arrivals::ArrivalModel;
use crate::profile::{Flushing, Profile, Sizes, Stream, by_count};
use crate::space::Pattern;
use crate::text::{Group, groups, sentence};

/// Sizes of a split at most.
const SPLITS: usize = 16;
/// Largest queue of an open loop.
const DEEPEST: u32 = 256;
/// Think time below this share of the latency is left out.
const THINKS: f64 = 0.05;
/// A stream that lasts for less than this share of the trace gets its own times.
const MOST: f64 = 0.9;

/// Factors on a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// On the number of I/Os per second.
    pub rate: f64,
    /// On the bytes that the I/Os go to.
    pub footprint: f64,
    /// On the length.
    pub time: f64,
}

impl Default for Scale {
    fn default() -> Self {
        Scale {
            rate: 1.0,
            footprint: 1.0,
            time: 1.0,
        }
    }
}

/// Whole percent that add up to 100, the largest shares first.
fn percents(sizes: &Sizes) -> Vec<(u32, u32)> {
    let mut all = by_count(sizes.clone());
    all.truncate(SPLITS);
    let total: u64 = all.iter().map(|(_, count)| count).sum();
    let mut result: Vec<(u32, u32)> = all
        .iter()
        .map(|(size, count)| (*size, (*count as f64 * 100.0 / total as f64).round() as u32))
        .filter(|(_, percent)| *percent > 0)
        .collect();
    let sum: u32 = result.iter().map(|(_, percent)| percent).sum();
    if let Some(first) = result.first_mut() {
        first.1 = (first.1 + 100).saturating_sub(sum);
    }
    result.sort_unstable();
    result
}

fn split(sizes: &Sizes) -> String {
    let parts: Vec<String> = percents(sizes)
        .iter()
        .map(|(size, percent)| format!("{size}/{percent}"))
        .collect();
    parts.join(":")
}

/// The block sizes of a stream.
fn block_sizes(job: &mut String, stream: &Stream, rw: &str) {
    let none = Sizes::new();
    let [reads, writes] = &stream.sizes;
    let (reads, writes) = match rw {
        "read" | "randread" => (reads, &none),
        "write" | "randwrite" => (&none, writes),
        _ => (reads, writes),
    };
    let one = |sizes: &Sizes| match percents(sizes).as_slice() {
        [(size, _)] => Some(*size),
        _ => None,
    };
    let used = |sizes: &Sizes| !sizes.is_empty();
    let _ = match (used(reads), used(writes)) {
        (true, true) if one(reads).is_some() && one(reads) == one(writes) => {
            writeln!(job, "bs={}", one(reads).unwrap_or(4096))
        }
        (true, true) => writeln!(job, "bssplit={},{}", split(reads), split(writes)),
        (reading, _) => {
            let sizes = if reading { reads } else { writes };
            match one(sizes) {
                Some(size) => writeln!(job, "bs={size}"),
                None => writeln!(job, "bssplit={}", split(sizes)),
            }
        }
    };
}

/// Where the regions of the streams are on one target: those that overlap in the trace overlap, and the gaps between the others
/// are left out. One offset for each group.
fn offsets(groups: &[Group<'_>], scale: Scale) -> Vec<u64> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|index| {
        let stream = groups[*index].stream;
        (stream.device, stream.start)
    });
    let mut offsets = vec![0; groups.len()];
    // The present run of overlapping regions: its device, start and end in the trace, and its start on the target.
    let mut run: Option<(u32, u64, u64, u64)> = None;
    let scaled = |bytes: u64| (bytes as f64 * scale.footprint) as u64;
    for index in order {
        let (stream, count) = (groups[index].stream, groups[index].count as u64);
        let length = (stream.end - stream.start) * if groups[index].apart { count } else { 1 };
        let last = stream.start.saturating_add(length);
        let base = match &mut run {
            Some((device, start, end, base)) if *device == stream.device && stream.start < *end => {
                *end = (*end).max(last);
                *base + scaled(stream.start - *start)
            }
            _ => {
                let base = run.map_or(0, |(_, start, end, base)| {
                    // A region grows by less than 2 MiB when its size becomes whole blocks.
                    (base + scaled(end - start) + (2 << 20)).next_multiple_of(1 << 20)
                });
                run = Some((stream.device, stream.start, last, base));
                base
            }
        };
        offsets[index] = base / 4096 * 4096;
    }
    offsets
}

/// The job file. `name` is that of the trace. All jobs use one target, in regions that overlap as those of the trace.
#[must_use]
pub fn fio_job(profile: &Profile, name: &str, scale: Scale) -> String {
    let mut job = String::new();
    let _ = writeln!(job, "# Made by fathom profile from {}.", one_line(name));
    // One line for each stream: fio reads lines of at most 4095 bytes.
    for line in sentence(profile).split_inclusive(", ") {
        let _ = writeln!(job, "# {}", line.trim_end());
    }
    let mut lost = Vec::new();
    let bursty = |model: &ArrivalModel| {
        matches!(
            model,
            ArrivalModel::Hyper { .. } | ArrivalModel::OnOff { .. }
        )
    };
    if profile
        .streams
        .iter()
        .any(|stream| bursty(&stream.arrivals.model) && !is_closed(stream))
    {
        lost.push(format!(
            "{} arrivals (CV^2 {:.1}) become Poisson arrivals of the same rate",
            profile.arrivals.model.name(),
            profile.arrivals.cv2
        ));
    }
    if profile.phases.len() > 1 {
        lost.push(format!("{} phases become their mean", profile.phases.len()));
    }
    if profile.totals[2].ios > 0 {
        lost.push("discards are left out".to_owned());
    }
    if !lost.is_empty() {
        let _ = writeln!(job, "# Not in this file: {}.", lost.join("; "));
    }
    let seconds = (profile.length as f64 / 1e9 * scale.time).ceil().max(1.0);
    let _ = write!(
        job,
        "\n[global]\nioengine=libaio\ndirect=1\ntime_based\nruntime={seconds:.0}\ngroup_reporting\n\
         # the target of all jobs: replace it by a device, or by a file in another place\nfilename=fathom-copy.data\n"
    );
    let groups = groups(profile);
    let offsets = offsets(&groups, scale);
    for (index, (group, offset)) in groups.iter().zip(offsets).enumerate() {
        stream_job(&mut job, index + 1, group, offset, scale);
        if group.count == 1 {
            lifetime(&mut job, group.stream, profile.length, scale);
        }
    }
    job
}

/// When a stream runs that is not there for most of the trace.
fn lifetime(job: &mut String, stream: &Stream, length: u64, scale: Scale) {
    let lasts = stream.last.saturating_sub(stream.first);
    if lasts as f64 >= MOST * length as f64 {
        return;
    }
    let milliseconds = |ns: u64| (ns as f64 * scale.time / 1e6).round();
    let delay = milliseconds(stream.first);
    if delay > 0.0 {
        let _ = writeln!(job, "startdelay={delay}ms");
    }
    let _ = writeln!(job, "runtime={}ms", milliseconds(lasts).max(1.0));
}

fn one_line(text: &str) -> String {
    text.escape_default().to_string()
}

fn is_closed(stream: &Stream) -> bool {
    stream
        .depth
        .as_ref()
        .is_some_and(|depth| depth.closed.is_some())
}

fn stream_job(job: &mut String, number: usize, group: &Group<'_>, offset: u64, scale: Scale) {
    let (stream, count) = (group.stream, group.count);
    let reads = stream.read_share();
    let sequential = matches!(stream.pattern, Pattern::Sequential { .. });
    let word = |random: &'static str, plain: &'static str| if sequential { plain } else { random };
    let rw = if reads > 0.995 {
        word("randread", "read")
    } else if reads < 0.005 {
        word("randwrite", "write")
    } else {
        word("randrw", "rw")
    };
    let kind = if sequential { "sequential" } else { "random" };
    let _ = writeln!(job, "\n[{kind}-{number}]");
    let unit = u64::from(stream.main_size()).max(512);
    let mut span = (stream.end - stream.start) as f64 * scale.footprint;
    let _ = writeln!(
        job,
        "# in the trace at offset {} ({}), {:.1} IOPS",
        stream.start,
        bytes(stream.start),
        stream.iops()
    );
    let _ = writeln!(job, "rw={rw}");
    if rw.ends_with("rw") {
        let _ = writeln!(job, "rwmixread={:.0}", reads * 100.0);
    }
    block_sizes(job, stream, rw);
    let mut jobs = count as u64;
    match &stream.pattern {
        Pattern::Sequential { places, .. } => {
            let places = places.round().clamp(1.0, 64.0);
            jobs *= places as u64;
            span /= places;
        }
        Pattern::Uniform => {
            let _ = writeln!(job, "norandommap=1");
        }
        Pattern::Zipf { theta } => {
            // fio refuses an exponent of exactly 1.
            let theta = if (theta - 1.0).abs() < 0.005 {
                1.01
            } else {
                *theta
            };
            let _ = writeln!(job, "random_distribution=zipf:{theta:.2}\nnorandommap=1");
        }
        Pattern::Zones(zones) => {
            let parts: Vec<String> = zones
                .iter()
                .map(|zone| {
                    let size = (zone.bytes as f64 * scale.footprint / unit as f64)
                        .round()
                        .max(1.0);
                    (zone.share, size as u64 * unit)
                })
                .fold(Vec::<(f64, u64)>::new(), |mut all, (share, size)| {
                    // Zones below 1 % are merged with the one before: shares are whole percent.
                    match all.last_mut() {
                        Some(last) if share < 0.01 || last.0 < 0.01 => {
                            last.0 += share;
                            last.1 += size;
                        }
                        _ => all.push((share, size)),
                    }
                    all
                })
                .rounded();
            let _ = writeln!(
                job,
                "random_distribution=zoned_abs:{}\nnorandommap=1",
                parts.join(":")
            );
        }
    }
    let size = ((span / unit as f64).ceil() as u64).max(1) * unit;
    let _ = writeln!(job, "size={size}");
    if offset > 0 {
        let _ = writeln!(job, "offset={offset}");
    }
    if jobs > 1 && (sequential || group.apart) {
        let _ = writeln!(job, "offset_increment={size}");
    }
    pace(job, stream, jobs, count as u64, scale);
    if let Some(flushing) = flushing(stream) {
        let option = if flushing.data_only {
            "fdatasync"
        } else {
            "fsync"
        };
        let _ = writeln!(job, "{option}={}", (flushing.every.round() as u64).max(1));
    }
}

/// The flushes of a job that writes. One that only reads has nothing to flush, and fio takes its flushes out of its rate.
fn flushing(stream: &Stream) -> Option<Flushing> {
    stream.flushing.filter(|_| stream.read_share() <= 0.995)
}

trait Rounded {
    /// `PERCENT/SIZE`, with whole percent that add up to 100.
    fn rounded(self) -> Vec<String>;
}

impl Rounded for Vec<(f64, u64)> {
    fn rounded(self) -> Vec<String> {
        let mut percents: Vec<u64> = self
            .iter()
            .map(|(share, _)| (share * 100.0).round() as u64)
            .collect();
        let sum: u64 = percents.iter().sum();
        if let Some(largest) = percents.iter_mut().max() {
            *largest = (*largest + 100).saturating_sub(sum);
        }
        self.iter()
            .zip(percents)
            .map(|((_, size), percent)| format!("{percent}/{size}"))
            .collect()
    }
}

/// The options of the rate and the queue depth, for `jobs` clones that stand for `streams` streams.
fn pace(job: &mut String, stream: &Stream, jobs: u64, streams: u64, scale: Scale) {
    let closed = stream.depth.as_ref().and_then(|depth| depth.closed);
    let clones = |job: &mut String, jobs: u64| {
        if jobs > 1 {
            let _ = writeln!(job, "numjobs={jobs}");
        }
    };
    let bursts = stream.burst().filter(|_| !stream.is_in_step());
    if let (Some(depth), Some(burst)) = (closed, bursts) {
        clones(job, jobs);
        let Some(size) = stream.equal_bursts() else {
            // fio sends what is due at a rate when it has waited for completions: more or fewer I/Os at once.
            let _ = writeln!(
                job,
                "# bursts of {burst:.1} I/Os on average, each after all of the one before: a rate within this depth\niodepth={depth}"
            );
            rates(
                job,
                stream,
                stream.iops() * scale.rate * streams as f64 / jobs as f64,
            );
            return;
        };
        let busy = (burst * stream.arrivals.mean_gap - stream.think.mean()).max(0.0);
        let think = (size * stream.arrivals.mean_gap / scale.rate - busy).max(1000.0);
        let _ = writeln!(
            job,
            "# bursts: {size:.0} I/Os at once, and {} after the last has completed\niodepth={size:.0}\n\
             thinktime={:.0}\nthinktime_blocks={size:.0}\nthinktime_blocks_type=issue",
            duration(think),
            think / 1000.0
        );
        return;
    }
    if let Some(depth) = closed {
        let latency = stream.latency.mean();
        let think = ((stream.think.mean() + latency) / scale.rate - latency).max(0.0);
        let sequential = matches!(stream.pattern, Pattern::Sequential { .. });
        if think > THINKS * latency && think >= 1000.0 {
            let _ = writeln!(job, "# closed loop: {} between I/Os", duration(think));
            // A pause of a job is one of all its slots.
            if depth > 1 && !sequential {
                clones(job, jobs * u64::from(depth));
                let _ = writeln!(job, "iodepth=1\nthinktime={:.0}", think / 1000.0);
                return;
            }
            let _ = writeln!(job, "thinktime={:.0}", think / 1000.0);
        }
        clones(job, jobs);
        let _ = writeln!(
            job,
            "iodepth={}",
            u64::from(depth).div_ceil((jobs / streams).max(1))
        );
        return;
    }
    clones(job, jobs);
    let rate = stream.iops() * scale.rate * streams as f64 / jobs as f64;
    let depth = match &stream.depth {
        // Its flushes wait for its writes: with more in flight, fio sends a flush as soon as the write is submitted.
        Some(depth) if depth.max == 1 && flushing(stream).is_some() => 1,
        Some(depth) => ((f64::from(depth.max) * 2.0 * scale.rate) as u32).clamp(16, DEEPEST),
        None => 64,
    };
    let _ = writeln!(job, "iodepth={depth}");
    if matches!(stream.arrivals.model, ArrivalModel::Unknown) {
        // Too few I/Os for a rate: no more than in the trace.
        let moved = (stream.totals[0].bytes + stream.totals[1].bytes) as f64;
        let all = moved * scale.rate * scale.time * streams as f64 / jobs as f64;
        let _ = writeln!(job, "time_based=0\nio_size={:.0}", all.max(1.0));
        return;
    }
    rates(job, stream, rate);
    if matches!(stream.arrivals.model, ArrivalModel::Constant { .. }) {
        return;
    }
    let _ = if flushing(stream).is_some() {
        // Division by zero in fio 3.33: a flush has no size, from which its Poisson process takes the rate.
        writeln!(
            job,
            "# even arrivals: fio cannot combine rate_process=poisson with flushes"
        )
    } else {
        writeln!(job, "rate_process=poisson")
    };
}

/// The option of the rate, divided among reads and writes as in the stream.
fn rates(job: &mut String, stream: &Stream, rate: f64) {
    let of = |share: f64| (rate * share).round().max(1.0);
    let reads = stream.read_share();
    let _ = if reads > 0.995 {
        writeln!(job, "rate_iops={:.0}", of(1.0))
    } else if reads < 0.005 {
        writeln!(job, "rate_iops=,{:.0}", of(1.0))
    } else {
        writeln!(job, "rate_iops={:.0},{:.0}", of(reads), of(1.0 - reads))
    };
}
