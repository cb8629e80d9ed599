//! A load as a short text in TOML: what a job file of fio cannot say (phases, bursts, distributions of think times) included.
//!
//! Times are in seconds where the name of the key ends with `_s`, in microseconds where it ends with `_us`; sizes and offsets are in
//! bytes, shares from 0 to 1. Lists of times are quantiles at equal steps.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::arrivals::{ArrivalModel, Arrivals, UNIT};
use crate::copy::{Copy, Expression};
use crate::depth::Depth;
use crate::fields::{Fields, parse};
use crate::histogram::LogHistogram;
use crate::profile::{Flushing, Profile, Sizes, Stream, Total};
use crate::reader::TraceFacts;
use crate::space::{Pattern, Zone};
use crate::text::sentence;
use crate::windows::Phase;

/// The version of this form, the value of its first key.
const VERSION: u32 = 1;
/// Quantiles of a distribution.
const QUANTILES: usize = 40;
/// Streams, phases, zones and sizes at most.
const MOST: usize = 4096;
/// Longest load.
const LONGEST_S: f64 = 1e8;
/// Most I/Os of a load: a short text must not make a trace without end.
const MOST_IOS: u64 = 10_000_000_000;
/// Largest I/O and largest device.
const LARGEST_IO: u32 = 1 << 30;
const LARGEST_DEVICE: u64 = 1 << 60;
/// The seed of the I/Os: a load file is always the same trace.
const SEED: u64 = 1;

/// A load that was read from a file.
#[derive(Clone, Debug)]
pub(crate) struct LoadFile {
    /// Names of its devices.
    pub devices: Vec<String>,
    streams: Vec<Arc<Stream>>,
    phases: Vec<Phase>,
}

/// Whether a text begins as a load file does: comments, then its version.
pub(crate) fn is_load_file(head: &[u8]) -> bool {
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .find(|line| !line.is_empty());
    first.is_some_and(|line| {
        line.strip_prefix(b"load")
            .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"="))
    })
}

impl LoadFile {
    /// Reads the text of a load file.
    ///
    /// # Errors
    /// Where it is wrong, and how.
    pub fn parse(text: &str) -> Result<LoadFile, String> {
        let table = parse(text)?;
        let file = File::of(&Fields::new(text, &table))?;
        if file.load != VERSION {
            return Err(format!(
                "load = {}: this program reads version {VERSION}",
                file.load
            ));
        }
        if file.streams.is_empty() || file.streams.len() > MOST || file.phases.len() > MOST {
            return Err(format!(
                "1 to {MOST} streams and at most {MOST} phases are possible"
            ));
        }
        let mut phases: Vec<Phase> = Vec::new();
        for (index, phase) in file.phases.iter().enumerate() {
            let start = phases.last().map_or(0, |last| last.end);
            let end = nanoseconds(phase.end_s, 1e9);
            let iops = phase.iops;
            if end.is_none_or(|end| end <= start) || !(0.0..=1e12).contains(&iops) {
                return Err(format!(
                    "phase {}: its end must be after the one before, and iops from 0",
                    index + 1
                ));
            }
            phases.push(Phase {
                start,
                end: end.unwrap_or(start),
                iops,
                read_share: 0.0,
                mean_size: 0.0,
            });
        }
        let streams = file.streams.into_iter().enumerate().map(|(index, stream)| {
            let problem = |problem| format!("stream {}: {problem}", index + 1);
            stream.stream().map(Arc::new).map_err(problem)
        });
        let streams = streams.collect::<Result<Vec<Arc<Stream>>, String>>()?;
        let ios = streams.iter().flat_map(|stream| &stream.totals);
        if ios.fold(0_u64, |sum, total| sum.saturating_add(total.ios)) > MOST_IOS {
            return Err(format!("more than {MOST_IOS} I/Os"));
        }
        Ok(LoadFile {
            devices: file.devices,
            streams,
            phases,
        })
    }

    /// Its I/Os; always the same.
    pub fn ios(&self) -> Copy {
        Copy::of(&self.streams, &self.phases, Expression::Profile, SEED)
    }
}

struct File {
    load: u32,
    devices: Vec<String>,
    phases: Vec<FilePhase>,
    streams: Vec<FileStream>,
}

impl File {
    fn of(fields: &Fields<'_>) -> Result<File, String> {
        fields.only(&["load", "devices", "phases", "streams"])?;
        let phases = fields.tables("phases")?;
        let streams = fields.tables("streams")?;
        Ok(File {
            load: fields.needed("load", fields.short("load")?)?,
            devices: fields.words("devices")?,
            phases: phases.iter().map(FilePhase::of).collect::<Result<_, _>>()?,
            streams: streams
                .iter()
                .map(FileStream::of)
                .collect::<Result<_, _>>()?,
        })
    }
}

/// A number that must be there.
fn needed(fields: &Fields<'_>, key: &str) -> Result<f64, String> {
    fields.needed(key, fields.number(key)?)
}

/// A whole number that must be there.
fn needed_whole(fields: &Fields<'_>, key: &str) -> Result<u64, String> {
    fields.needed(key, fields.whole(key)?)
}

struct FilePhase {
    end_s: f64,
    iops: f64,
}

impl FilePhase {
    fn of(fields: &Fields<'_>) -> Result<FilePhase, String> {
        fields.only(&["end_s", "iops"])?;
        Ok(FilePhase {
            end_s: needed(fields, "end_s")?,
            iops: needed(fields, "iops")?,
        })
    }
}

struct FileStream {
    device: u32,
    process: u32,
    first_s: f64,
    last_s: f64,
    /// Size and number of I/Os.
    read_sizes: Sizes,
    write_sizes: Sizes,
    start: u64,
    end: u64,
    pattern: FilePattern,
    arrivals: FileArrivals,
    local_arrivals: Option<FileArrivals>,
    closed_loop: Option<u32>,
    think_us: Vec<f64>,
    latency_us: Vec<f64>,
    flush: Option<FileFlush>,
    fua_share: f64,
}

impl FileStream {
    fn of(fields: &Fields<'_>) -> Result<FileStream, String> {
        fields.only(&[
            "device",
            "process",
            "first_s",
            "last_s",
            "read_sizes",
            "write_sizes",
            "start",
            "end",
            "pattern",
            "arrivals",
            "local_arrivals",
            "closed_loop",
            "think_us",
            "latency_us",
            "flush",
            "fua_share",
        ])?;
        let arrivals = fields.table("arrivals")?;
        let local = fields.table("local_arrivals")?;
        let pattern = fields.table("pattern")?;
        let flush = fields.table("flush")?;
        Ok(FileStream {
            device: fields.short("device")?.unwrap_or(0),
            process: fields.short("process")?.unwrap_or(0),
            first_s: needed(fields, "first_s")?,
            last_s: needed(fields, "last_s")?,
            read_sizes: fields.pairs("read_sizes")?,
            write_sizes: fields.pairs("write_sizes")?,
            start: needed_whole(fields, "start")?,
            end: needed_whole(fields, "end")?,
            pattern: FilePattern::of(&fields.needed("pattern", pattern)?)?,
            arrivals: FileArrivals::of(&fields.needed("arrivals", arrivals)?)?,
            local_arrivals: local.as_ref().map(FileArrivals::of).transpose()?,
            closed_loop: fields.short("closed_loop")?,
            think_us: fields.numbers("think_us")?,
            latency_us: fields.numbers("latency_us")?,
            flush: flush.as_ref().map(FileFlush::of).transpose()?,
            fua_share: fields.number("fua_share")?.unwrap_or(0.0),
        })
    }
}

enum FilePattern {
    Sequential { places: f64, run: f64 },
    Uniform,
    Zones { zones: Vec<Zone> },
    Zipf { theta: f64 },
}

impl FilePattern {
    fn of(fields: &Fields<'_>) -> Result<FilePattern, String> {
        let only = |keys: &[&str]| fields.only(keys);
        Ok(match fields.word("name")? {
            "sequential" => {
                only(&["name", "places", "run"])?;
                FilePattern::Sequential {
                    places: needed(fields, "places")?,
                    run: needed(fields, "run")?,
                }
            }
            "uniform" => {
                only(&["name"])?;
                FilePattern::Uniform
            }
            "zipf" => {
                only(&["name", "theta"])?;
                FilePattern::Zipf {
                    theta: needed(fields, "theta")?,
                }
            }
            "zones" => {
                only(&["name", "zones"])?;
                let mut zones = Vec::new();
                for zone in fields.tables("zones")? {
                    zone.only(&["offset", "bytes", "share"])?;
                    zones.push(Zone {
                        offset: needed_whole(&zone, "offset")?,
                        bytes: needed_whole(&zone, "bytes")?,
                        share: needed(&zone, "share")?,
                    });
                }
                FilePattern::Zones { zones }
            }
            name => {
                return Err(unknown(
                    fields,
                    "pattern",
                    name,
                    "sequential, uniform, zipf, zones",
                ));
            }
        })
    }
}

/// The error of a name that is not one of these.
fn unknown(fields: &Fields<'_>, what: &str, name: &str, known: &str) -> String {
    let name = name.escape_debug();
    fields.error(&format!(
        "{what}: unknown name '{name}'; known names: {known}"
    ))
}

enum FileArrivals {
    Unknown,
    Constant {
        gap_us: f64,
    },
    Exponential {
        mean_us: f64,
    },
    H2 {
        share: f64,
        short_us: f64,
        long_us: f64,
    },
    OnOff {
        burst: f64,
        gap_us: f64,
        pause_us: f64,
        deviation_us: f64,
    },
}

impl FileArrivals {
    fn of(fields: &Fields<'_>) -> Result<FileArrivals, String> {
        let only = |keys: &[&str]| fields.only(keys);
        let number = |key: &str| needed(fields, key);
        Ok(match fields.word("name")? {
            "unknown" => {
                only(&["name"])?;
                FileArrivals::Unknown
            }
            "constant" => {
                only(&["name", "gap_us"])?;
                FileArrivals::Constant {
                    gap_us: number("gap_us")?,
                }
            }
            "exponential" => {
                only(&["name", "mean_us"])?;
                FileArrivals::Exponential {
                    mean_us: number("mean_us")?,
                }
            }
            "h2" => {
                only(&["name", "share", "short_us", "long_us"])?;
                FileArrivals::H2 {
                    share: number("share")?,
                    short_us: number("short_us")?,
                    long_us: number("long_us")?,
                }
            }
            "on/off" => {
                only(&["name", "burst", "gap_us", "pause_us", "deviation_us"])?;
                FileArrivals::OnOff {
                    burst: number("burst")?,
                    gap_us: number("gap_us")?,
                    pause_us: number("pause_us")?,
                    deviation_us: number("deviation_us")?,
                }
            }
            name => {
                let known = "unknown, constant, exponential, h2, on/off";
                return Err(unknown(fields, "arrivals", name, known));
            }
        })
    }
}

struct FileFlush {
    /// Writes for each flush.
    writes: f64,
    data_only: bool,
    delay_us: Vec<f64>,
    latency_us: Vec<f64>,
}

impl FileFlush {
    fn of(fields: &Fields<'_>) -> Result<FileFlush, String> {
        fields.only(&["writes", "data_only", "delay_us", "latency_us"])?;
        Ok(FileFlush {
            writes: needed(fields, "writes")?,
            data_only: fields.flag("data_only")?.unwrap_or(false),
            delay_us: fields.numbers("delay_us")?,
            latency_us: fields.numbers("latency_us")?,
        })
    }
}

/// A time in nanoseconds; `None` outside 0 to [`LONGEST_S`].
fn nanoseconds(value: f64, unit: f64) -> Option<u64> {
    (0.0..=LONGEST_S * 1e9)
        .contains(&(value * unit))
        .then_some((value * unit).round() as u64)
}

fn histogram(values: &[f64], what: &str) -> Result<LogHistogram, String> {
    if values.len() > MOST {
        return Err(format!("{what}: more than {MOST} values"));
    }
    let mut histogram = LogHistogram::default();
    for value in values {
        let time =
            nanoseconds(*value, 1e3).ok_or_else(|| format!("{what}: invalid time {value}"))?;
        histogram.add(time);
    }
    Ok(histogram)
}

impl FileArrivals {
    fn model(&self) -> Result<ArrivalModel, String> {
        // Below a nanosecond, time would not pass.
        let time = |value: f64, least: f64| {
            nanoseconds(value, 1e3)
                .filter(|_| value * 1e3 >= least)
                .map(|_| value * 1e3)
                .ok_or_else(|| format!("arrivals: {value} us is outside 0.001 to 1e14"))
        };
        Ok(match *self {
            FileArrivals::Unknown => ArrivalModel::Unknown,
            FileArrivals::Constant { gap_us } => ArrivalModel::Constant {
                gap: time(gap_us, 1.0)?,
            },
            FileArrivals::Exponential { mean_us } => ArrivalModel::Exponential {
                mean: time(mean_us, 1.0)?,
            },
            FileArrivals::H2 {
                share,
                short_us,
                long_us,
            } => {
                if !(0.0..=1.0).contains(&share) {
                    return Err(format!("arrivals: share {share} is outside 0 to 1"));
                }
                ArrivalModel::Hyper {
                    share,
                    short: time(short_us, 1.0)?,
                    long: time(long_us, 1.0)?,
                }
            }
            FileArrivals::OnOff {
                burst,
                gap_us,
                pause_us,
                deviation_us,
            } => {
                if !(1.0..=1e12).contains(&burst) {
                    return Err(format!("arrivals: a burst of {burst} I/Os; from 1 on"));
                }
                ArrivalModel::OnOff {
                    burst,
                    gap: time(gap_us, 1.0)?,
                    pause: time(pause_us, 1.0)?,
                    deviation: time(deviation_us, 0.0)?,
                }
            }
        })
    }
}

impl FileStream {
    fn stream(self) -> Result<Stream, String> {
        let times = nanoseconds(self.first_s, 1e9).zip(nanoseconds(self.last_s, 1e9));
        let (first, last) = times
            .filter(|(first, last)| first <= last)
            .ok_or("first_s and last_s must be times, the first not after the last")?;
        if self.start >= self.end || self.end > LARGEST_DEVICE {
            return Err("end must be above start, and at most 2^60".to_owned());
        }
        let mut totals = [Total::default(); 4];
        for (kind, sizes) in [(0, &self.read_sizes), (1, &self.write_sizes)] {
            for (size, count) in sizes {
                if *size == 0 || *size > LARGEST_IO || *count > 1 << 50 || sizes.len() > MOST {
                    return Err(format!(
                        "an I/O of {size} bytes; 1 to {LARGEST_IO} are possible"
                    ));
                }
                totals[kind].ios += count;
                totals[kind].bytes = totals[kind]
                    .bytes
                    .saturating_add(u64::from(*size).saturating_mul(*count));
            }
        }
        let ios = totals[0].ios + totals[1].ios;
        // At most one I/O per nanosecond on average: mean gaps are not 0.
        if ios == 0 || ios > (last - first).max(1) {
            return Err(
                "read_sizes and write_sizes must have I/Os, at most 1e9 per second".to_owned(),
            );
        }
        let pattern = match self.pattern {
            FilePattern::Uniform => Pattern::Uniform,
            FilePattern::Sequential { places, run } => {
                if !(0.0..=1e9).contains(&places) || !(0.0..=1e18).contains(&run) {
                    return Err("pattern: places and run must be positive".to_owned());
                }
                Pattern::Sequential { places, run }
            }
            FilePattern::Zipf { theta } => {
                if !(0.0..=10.0).contains(&theta) {
                    return Err(format!("pattern: theta {theta} is outside 0 to 10"));
                }
                Pattern::Zipf { theta }
            }
            FilePattern::Zones { zones } => {
                let inside = |zone: &Zone| {
                    zone.offset >= self.start
                        && zone.bytes > 0
                        && zone.bytes <= self.end
                        && zone.offset <= self.end - zone.bytes
                        && (0.0..=1.0).contains(&zone.share)
                };
                let shares: f64 = zones.iter().map(|zone| zone.share).sum();
                if zones.len() > MOST || !zones.iter().all(inside) || shares <= 0.0 {
                    return Err(
                        "pattern: zones must be between start and end, with shares from 0 to 1"
                            .to_owned(),
                    );
                }
                Pattern::Zones(zones)
            }
        };
        let model = self.arrivals.model()?;
        let local = match &self.local_arrivals {
            Some(local) => local.model()?,
            None => model,
        };
        let mut latency = histogram(&self.latency_us, "latency_us")?;
        if self.closed_loop.is_some() && latency.quantile(0.0) < 1.0 {
            // Without a latency the I/Os of a closed loop would all be at one time.
            latency = LogHistogram::default();
            latency.add(1000);
        }
        if self
            .closed_loop
            .is_some_and(|slots| slots == 0 || slots > 1 << 16)
        {
            return Err("closed_loop: 1 to 65536 I/Os in flight are possible".to_owned());
        }
        let (mut flush_latency, mut flush_delay) = Default::default();
        let flushing = match &self.flush {
            None => None,
            Some(flush) => {
                if !(0.01..=1e15).contains(&flush.writes) {
                    return Err(format!(
                        "flush: after {} writes; from 0.01 on",
                        flush.writes
                    ));
                }
                flush_latency = histogram(&flush.latency_us, "flush: latency_us")?;
                flush_delay = histogram(&flush.delay_us, "flush: delay_us")?;
                Some(Flushing {
                    every: flush.writes,
                    even: flush.writes.fract() == 0.0,
                    count: (totals[1].ios as f64 / flush.writes) as u64,
                    data_only: flush.data_only,
                })
            }
        };
        if !(0.0..=1.0).contains(&self.fua_share) {
            return Err(format!("fua_share: {} is outside 0 to 1", self.fua_share));
        }
        Ok(Stream {
            device: self.device,
            process: self.process,
            totals,
            sizes: [self.read_sizes, self.write_sizes],
            pattern,
            start: self.start,
            end: self.end,
            arrivals: Arrivals {
                mean_gap: model.mean().unwrap_or(0.0),
                cv2: 0.0,
                autocorrelation: 0.0,
                dispersion: [None; 3],
                model,
                distance: 0.0,
                local,
                gaps: LogHistogram::default(),
            },
            depth: self.closed_loop.map(|slots| Depth {
                mean: f64::from(slots),
                max: slots,
                closed: Some(slots),
                shares: Vec::new(),
            }),
            think: histogram(&self.think_us, "think_us")?,
            latency,
            flush_latency,
            flush_delay,
            flushing,
            fua: self.fua_share,
            first,
            last,
        })
    }
}

/// The text of a load file.
#[must_use]
pub fn load_file(profile: &Profile, name: &str, facts: &TraceFacts) -> String {
    let mut text = format!(
        "# A load for fathom: fathom replay FILE --on TARGET. Made by fathom profile from {name}.\n"
    );
    for line in sentence(profile).split(", ") {
        let _ = writeln!(text, "# {line}");
    }
    text += "# Keys with _s are seconds, with _us microseconds; lists of times are quantiles at equal steps; sizes are [bytes, I/Os].\n";
    let devices: Vec<String> = facts.devices.iter().map(|name| quoted(name)).collect();
    let _ = write!(
        text,
        "load = {VERSION}\ndevices = [{}]\n",
        devices.join(", ")
    );
    if profile.phases.len() > 1 {
        for phase in &profile.phases {
            let _ = write!(
                text,
                "\n[[phases]]\nend_s = {}\niops = {:.3}\n",
                seconds(phase.end),
                phase.iops
            );
        }
    }
    for stream in &profile.streams {
        text += "\n[[streams]]\n";
        let _ = write!(
            text,
            "device = {}\nprocess = {}\nfirst_s = {}\nlast_s = {}\nread_sizes = {}\nwrite_sizes = {}\nstart = {}\nend = {}\n",
            stream.device,
            stream.process,
            seconds(stream.first),
            seconds(stream.last),
            pairs(&stream.sizes[0]),
            pairs(&stream.sizes[1]),
            stream.start,
            stream.end,
        );
        let _ = writeln!(text, "pattern = {}", pattern(&stream.pattern));
        let _ = writeln!(text, "arrivals = {}", arrivals(&stream.arrivals.model, 1.0));
        if profile.phases.len() > 1 && stream.arrivals.local != ArrivalModel::Unknown {
            // Only their form counts: the phases give the rate.
            let factor = stream.arrivals.mean_gap.max(1.0) / UNIT;
            let local = arrivals(&stream.arrivals.local, factor);
            let _ = writeln!(text, "local_arrivals = {local}");
        }
        if let Some(closed) = stream.depth.as_ref().and_then(|depth| depth.closed) {
            let _ = writeln!(text, "closed_loop = {closed}");
            times(&mut text, "think_us", &stream.think);
        }
        times(&mut text, "latency_us", &stream.latency);
        if stream.fua > 0.0 {
            let _ = writeln!(text, "fua_share = {:.6}", stream.fua);
        }
        if let Some(flush) = stream.flushing {
            let _ = write!(
                text,
                "[streams.flush]\nwrites = {:.4}\ndata_only = {}\n",
                flush.every, flush.data_only
            );
            times(&mut text, "delay_us", &stream.flush_delay);
            times(&mut text, "latency_us", &stream.flush_latency);
        }
    }
    text
}

/// How true a copy a load file makes: its I/Os, profiled.
///
/// # Errors
/// The text is not a load file.
pub fn load_file_profile(text: &str) -> Result<Profile, String> {
    let mut profiler = crate::profile::Profiler::default();
    for io in LoadFile::parse(text)?.ios() {
        profiler.add(&io);
    }
    Ok(profiler.finish())
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A time with a digit more than a bucket of a histogram distinguishes.
fn microseconds(ns: f64) -> String {
    let us = ns / 1000.0;
    let text = format!("{us:.*}", if us < 10.0 { 3 } else { 1 });
    // A model's time of less than a nanosecond is one.
    if us > 0.0 && text.parse() == Ok(0.0) {
        "0.001".to_owned()
    } else {
        text
    }
}

fn times(text: &mut String, key: &str, histogram: &LogHistogram) {
    if histogram.total() == 0 {
        return;
    }
    let values: Vec<String> = (0..QUANTILES)
        .map(|step| histogram.quantile((step as f64 + 0.5) / QUANTILES as f64))
        .map(microseconds)
        .collect();
    let _ = writeln!(text, "{key} = [{}]", values.join(", "));
}

fn pairs(sizes: &Sizes) -> String {
    let pairs: Vec<String> = sizes
        .iter()
        .map(|(size, count)| format!("[{size}, {count}]"))
        .collect();
    format!("[{}]", pairs.join(", "))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn pattern(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Uniform => "{ name = \"uniform\" }".to_owned(),
        Pattern::Sequential { places, run } => {
            format!("{{ name = \"sequential\", places = {places:.3}, run = {run:.3} }}")
        }
        Pattern::Zipf { theta } => format!("{{ name = \"zipf\", theta = {theta:.4} }}"),
        Pattern::Zones(zones) => {
            let zones: Vec<String> = zones
                .iter()
                .map(|zone| {
                    format!(
                        "{{ offset = {}, bytes = {}, share = {:.6} }}",
                        zone.offset, zone.bytes, zone.share
                    )
                })
                .collect();
            format!("{{ name = \"zones\", zones = [{}] }}", zones.join(", "))
        }
    }
}

/// A model with all times multiplied by a factor.
fn arrivals(model: &ArrivalModel, factor: f64) -> String {
    let us = |ns: f64| microseconds(ns * factor);
    match *model {
        ArrivalModel::Unknown => "{ name = \"unknown\" }".to_owned(),
        ArrivalModel::Constant { gap } => {
            format!("{{ name = \"constant\", gap_us = {} }}", us(gap))
        }
        ArrivalModel::Exponential { mean } => {
            format!("{{ name = \"exponential\", mean_us = {} }}", us(mean))
        }
        ArrivalModel::Hyper { share, short, long } => format!(
            "{{ name = \"h2\", share = {share:.6}, short_us = {}, long_us = {} }}",
            us(short),
            us(long)
        ),
        ArrivalModel::OnOff {
            burst,
            gap,
            pause,
            deviation,
        } => format!(
            "{{ name = \"on/off\", burst = {burst:.4}, gap_us = {}, pause_us = {}, deviation_us = {} }}",
            us(gap),
            us(pause),
            us(deviation)
        ),
    }
}
