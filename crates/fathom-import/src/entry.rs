//! Converts one job record of fio's JSON to an [`Entry`].

use fathom_model::{
    Direction, DirectionSummary, Entry, Histogram, LatencyKinds, LatencySummary, MergedInterval,
    MergedIntervalDirection, Nanos, PerDirection, Samples, SparseHistogram,
};
use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::normal_output;
use crate::number::{count, figure, lenient};
use crate::options::{Options, pairs};

const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
const CLASSES: [&str; 12] = [
    "2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000",
];
/// Limit of I/Os in one bin, a trillion: sums over any distribution stay exact.
const MOST_IOS: u64 = 1 << 40;

/// Properties of a document that all its records share.
pub(crate) struct DocumentContext<'a> {
    document: &'a Value,
    /// The JSON of fio 2 and 1 counts amounts in KiB and has no nanoseconds.
    old: bool,
    /// Number of records.
    records: usize,
}

impl<'a> DocumentContext<'a> {
    pub(crate) fn of(document: &'a Value, program: &str, records: usize) -> Self {
        DocumentContext {
            document,
            old: major(program).is_some_and(|major| major < 3)
                && document[normal_output::MARK].is_null(),
            records,
        }
    }
}

impl DocumentContext<'_> {
    /// The fields that fathom adds to this record in its own documents.
    fn addition(&self, job: &Value) -> &Value {
        let place = self.document["jobs"]
            .as_array()
            .and_then(|jobs| jobs.iter().position(|other| std::ptr::eq(other, job)));
        place.map_or(&Value::Null, |place| {
            &self.document["fathom"]["entries"][place]
        })
    }
}

impl DocumentContext<'_> {
    /// The port of a record's server (`:8766`) if two servers on one host have a job of that name.
    fn port(&self, job: &Value) -> String {
        let same = |other: &&Value| {
            ["jobname", "hostname"]
                .iter()
                .all(|key| other[*key] == job[*key])
                && other["port"] != job["port"]
        };
        let shared = self.document["client_stats"]
            .as_array()
            .is_some_and(|all| all.iter().any(|other| same(&other)));
        job["port"]
            .as_u64()
            .filter(|_| shared)
            .map_or(String::new(), |port| format!(":{port}"))
    }
}

/// `fio-2.18-59-g618e` is 2.
pub(crate) fn major(program: &str) -> Option<u32> {
    let digits = program.strip_prefix("fio-").unwrap_or(program);
    digits.split('.').next()?.parse().ok()
}

/// The figures of a record.
///
/// # Errors
/// When a figure is invalid.
pub(crate) fn entry(context: &DocumentContext, job: &Value) -> Result<Entry, ImportError> {
    let options = Options::of(context.document, job);
    let mut entry = job_fields(context, job, &options);
    for direction in Direction::ALL {
        entry.directions[direction] = summary(context, &job[direction.name()])?;
    }
    if job["mixed"].is_object() {
        entry.mixed = Some(summary(context, &job["mixed"])?);
        entry.show_directions = job["read"].is_object();
    }
    let filled = |of: fn(&DirectionSummary) -> &LatencySummary| {
        entry
            .directions
            .0
            .iter()
            .any(|direction_summary| of(direction_summary).mean > 0.0)
    };
    let list_indent = |of: fn(&DirectionSummary) -> &LatencySummary| {
        entry
            .directions
            .0
            .iter()
            .any(|direction_summary| !of(direction_summary).percentiles.is_empty())
    };
    entry.latency_kinds = LatencyKinds {
        slat: filled(|direction_summary| &direction_summary.slat),
        clat: filled(|direction_summary| &direction_summary.clat),
        lat: filled(|direction_summary| &direction_summary.lat),
        slat_percentiles: list_indent(|direction_summary| &direction_summary.slat),
        clat_percentiles: list_indent(|direction_summary| &direction_summary.clat),
        lat_percentiles: list_indent(|direction_summary| &direction_summary.lat),
    };
    entry.block_sizes = block_sizes(&options, &entry.directions);
    entry.workload = job_summary(&entry, &options);
    let addition = context.addition(job);
    entry.steady = crate::steady::steady(&job["steadystate"]);
    entry.series = addition["series"]
        .as_array()
        .into_iter()
        .flatten()
        .map(moment)
        .collect();
    restore_addition(&mut entry, addition);
    Ok(entry)
}

/// The fields of the record about the job itself.
fn job_fields(context: &DocumentContext, job: &Value, options: &Options) -> Entry {
    let grouped = options.has("group_reporting") || context.records == 1;
    let members = if grouped {
        options.number("numjobs").unwrap_or(1).max(1)
    } else {
        1
    };
    let named = job["jobname"].as_str().unwrap_or_default();
    let paced = ["rate", "rate_iops", "thinktime"]
        .into_iter()
        .find_map(|name| Some(format!("{name}={}", options.text(name)?)));
    let table = |name: &str, keys: &[&str]| {
        keys.iter()
            .map(|key| lenient(&job[name], key))
            .collect::<Vec<f64>>()
    };
    let (levels, handed, reaped) = (
        table("iodepth_level", &DEPTHS),
        table("iodepth_submit", &BATCHES),
        table("iodepth_complete", &BATCHES),
    );
    let mut entry = Entry {
        name: job["hostname"].as_str().map_or(named.to_owned(), |host| {
            format!("{named} on {host}{}", context.port(job))
        }),
        group: lenient(job, "groupid") as u32,
        description: job["desc"].as_str().map(str::to_owned),
        options: pairs(&job["job options"]),
        members,
        rw: options
            .text("rw")
            .or(options.text("readwrite"))
            .unwrap_or(if options.have_defaults() { "read" } else { "" })
            .to_owned(),
        engine: options.text("ioengine").unwrap_or_default().to_owned(),
        depth: options
            .depth()
            .filter(|_| options.have_defaults() || options.has("iodepth"))
            .unwrap_or(0),
        error: job["error"].as_i64().unwrap_or(0) as i32,
        errors_continued: (lenient(job, "total_err") > 0.0).then(|| {
            (
                lenient(job, "total_err") as u64,
                lenient(job, "first_error") as i32,
            )
        }),
        elapsed_s: lenient(job, "elapsed") as u64,
        started_unix_ms: lenient(job, "job_start") as u64,
        show_directions: true,
        sync: sync(&job["sync"], context),
        job_runtime: Nanos::from_millis(lenient(job, "job_runtime") as u64),
        user_percent: lenient(job, "usr_cpu"),
        system_percent: lenient(job, "sys_cpu"),
        switches: lenient(job, "ctx") as u64,
        major_faults: lenient(job, "majf") as u64,
        minor_faults: lenient(job, "minf") as u64,
        offered: paced,
        ..Entry::default()
    };
    entry.depth_levels.copy_from_slice(&levels);
    entry.submit_levels.copy_from_slice(&handed);
    entry.complete_levels.copy_from_slice(&reaped);
    entry
        .latency_ns
        .copy_from_slice(&table("latency_ns", &CLASSES[..10]));
    entry
        .latency_us
        .copy_from_slice(&table("latency_us", &CLASSES[..10]));
    entry
        .latency_ms
        .copy_from_slice(&table("latency_ms", &CLASSES));
    entry
}

/// The configured size; otherwise bytes per I/O if that is a whole number.
fn block_sizes(
    options: &Options,
    directions: &PerDirection<DirectionSummary>,
) -> PerDirection<(u32, u32)> {
    let configured = options.size("bs").or(options.size("blocksize"));
    let configured = configured.or((options.have_defaults()
        && !["bs", "blocksize", "bsrange", "bssplit"]
            .iter()
            .any(|name| options.has(name)))
    .then_some(4096));
    PerDirection::from_fn(|direction| {
        let direction_summary = &directions[direction];
        let even = (direction_summary.ios > 0
            && direction_summary
                .bytes
                .is_multiple_of(direction_summary.ios))
        .then(|| direction_summary.bytes / direction_summary.ios);
        let size = configured
            .or(even)
            .and_then(|size| u32::try_from(size).ok())
            .unwrap_or(0);
        (size, size)
    })
}

/// `randread, 4k blocks, queue depth 32, 4 jobs, libaio, direct`.
fn job_summary(entry: &Entry, options: &Options) -> String {
    let mut parts = vec![entry.rw.clone()];
    parts.extend(
        options
            .text("bs")
            .or(options.text("blocksize"))
            .map(|size| format!("{size} blocks")),
    );
    parts.extend((entry.depth > 0).then(|| format!("queue depth {}", entry.depth)));
    parts.extend((entry.members > 1).then(|| format!("{} jobs", entry.members)));
    parts.push(entry.engine.clone());
    parts.extend((options.text("direct") == Some("1")).then(|| "direct".to_owned()));
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

fn summary(
    context: &DocumentContext,
    direction_summary: &Value,
) -> Result<DirectionSummary, ImportError> {
    let (ios, runtime_ms) = (
        count(direction_summary, "total_ios")?,
        count(direction_summary, "runtime")?,
    );
    let bytes =
        count(direction_summary, "io_bytes")?.saturating_mul(if context.old { 1024 } else { 1 });
    let kib = figure(direction_summary, "bw")? * 1024.0;
    let bandwidth = match figure(direction_summary, "bw_bytes")? {
        0.0 if runtime_ms > 0 && bytes > 0 => bytes as f64 * 1e3 / runtime_ms as f64,
        0.0 => kib,
        exact => exact,
    };
    for name in ["slat", "clat", "lat"]
        .iter()
        .flat_map(|name| [format!("{name}_ns"), (*name).to_owned()])
    {
        figure(&direction_summary[name.as_str()], "mean")?;
    }
    let mut made = DirectionSummary {
        bytes,
        bandwidth,
        iops: figure(direction_summary, "iops")?,
        runtime_ms,
        ios,
        short_ios: lenient(direction_summary, "short_ios") as u64,
        dropped_ios: lenient(direction_summary, "drop_ios") as u64,
        slat: latency(direction_summary, "slat", context),
        clat: latency(direction_summary, "clat", context),
        lat: latency(direction_summary, "lat", context),
        bw_samples: samples(
            direction_summary,
            ["bw_min", "bw_max", "bw_mean", "bw_dev", "bw_samples"],
        ),
        bw_share: lenient(direction_summary, "bw_agg"),
        iops_samples: samples(
            direction_summary,
            [
                "iops_min",
                "iops_max",
                "iops_mean",
                "iops_stddev",
                "iops_samples",
            ],
        ),
        ..DirectionSummary::default()
    };
    // Old versions have no N.
    for latency in [&mut made.slat, &mut made.clat, &mut made.lat]
        .into_iter()
        .filter(|latency| latency.n == 0 && latency.mean > 0.0)
    {
        latency.n = ios;
    }
    (
        made.counts.planned,
        made.counts.ok,
        made.counts.bytes_ok,
        made.counts.bytes_requested,
    ) = (ios, ios, bytes, bytes);
    Ok(made)
}

fn samples(direction_summary: &Value, [min, max, mean, dev, count]: [&str; 5]) -> Samples {
    let at = |name| lenient(direction_summary, name);
    Samples {
        min: at(min),
        max: at(max),
        mean: at(mean),
        dev: at(dev),
        count: at(count) as u64,
    }
}

/// Latency and number of syncs.
fn sync(of: &Value, context: &DocumentContext) -> LatencySummary {
    let mut summary = latency(of, "lat", context);
    if summary.n == 0 {
        summary.n = lenient(of, "total_ios") as u64;
    }
    summary
}

/// `clat_ns` of version 3, or `clat` in microseconds.
fn latency(direction_summary: &Value, name: &str, context: &DocumentContext) -> LatencySummary {
    let (of, scale) = match &direction_summary[format!("{name}_ns")] {
        Value::Object(of) => (of, 1.0),
        _ => match &direction_summary[name] {
            Value::Object(of) => (of, 1e3),
            _ => return LatencySummary::default(),
        },
    };
    let whole = |name: &str| {
        of.get(name)
            .and_then(Value::as_f64)
            .filter(|value| (0.0..=1e18).contains(value))
            .unwrap_or(0.0)
            * scale
    };
    let list = |name: &str| of.get(name).and_then(Value::as_object);
    let count = of
        .get("N")
        .and_then(Value::as_u64)
        .filter(|n| *n <= MOST_IOS)
        .unwrap_or(0);
    LatencySummary {
        min: whole("min").round() as u64,
        max: whole("max").round() as u64,
        mean: whole("mean"),
        stddev: whole("stddev"),
        n: count,
        percentiles: list("percentile").map_or(Vec::new(), |of| percentiles(of, scale)),
        bins: list("bins").map_or(Vec::new(), |of| bins(of, context.old)),
        overflow: 0,
    }
}

/// Ascending, without the unused entries that old versions write as `0.00` several times.
fn percentiles(of: &Map<String, Value>, scale: f64) -> Vec<(f64, u64)> {
    let known = of.iter().filter_map(|(name, value)| {
        let percent = name
            .parse::<f64>()
            .ok()
            .filter(|percent| *percent > 0.0 && *percent <= 100.0)?;
        let value = value
            .as_f64()
            .filter(|value| (0.0..=1e18).contains(value))?;
        Some((percent, (value * scale).round() as u64))
    });
    let mut known: Vec<_> = known.collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Without I/O every percentile is 0.
    if known.iter().all(|(_, value)| *value == 0) {
        Vec::new()
    } else {
        known
    }
}

/// (middle, count), ascending. Old versions write the index of the bin, in microseconds.
fn bins(of: &Map<String, Value>, old: bool) -> Vec<(u64, u64)> {
    let known = of.iter().filter_map(|(name, count)| {
        let place = name.parse::<u64>().ok().filter(|place| *place <= 1 << 60)?;
        let count = count
            .as_u64()
            .filter(|count| (1..=MOST_IOS).contains(count))?;
        Some((
            if old {
                crate::scan::middle_of(place as usize)?.saturating_mul(1000)
            } else {
                place
            },
            count,
        ))
    });
    let mut known: Vec<_> = known.collect();
    known.sort_unstable();
    known
}

/// Restores the fields that fathom adds to an imported entry and that fio's document does not have.
fn restore_addition(entry: &mut Entry, addition: &Value) {
    let whole = |value: &Value| value.as_u64().and_then(|value| u32::try_from(value).ok());
    entry.members = whole(&addition["members"]).unwrap_or(entry.members);
    entry.depth = whole(&addition["depth"]).unwrap_or(entry.depth);
    entry.rw = addition["rw"]
        .as_str()
        .map_or(std::mem::take(&mut entry.rw), str::to_owned);
    for direction in Direction::ALL {
        let size = whole(&addition["block_sizes"][direction as usize]);
        entry.block_sizes[direction] =
            size.map_or(entry.block_sizes[direction], |size| (size, size));
    }
}

fn moment(of: &Value) -> MergedInterval {
    let nanos = |name: &str| Nanos::new(lenient(of, name) as u64);
    let directions = PerDirection::from_fn(|direction| {
        let direction_summary = &of[direction.name()];
        let value_of = |name: &str| {
            direction_summary[name]
                .as_f64()
                .filter(|value| (0.0..=1e18).contains(value))
                .map(|value| value as u64)
        };
        let count = |name: &str| value_of(name).unwrap_or(0);
        let mut spread = Histogram::new();
        let list_indent = direction_summary["bins"]
            .as_object()
            .map_or(Vec::new(), |of| bins(of, false));
        list_indent
            .into_iter()
            .for_each(|(middle, n)| spread.record_n(middle, n));
        MergedIntervalDirection {
            latencies: if spread.count() > 0 {
                SparseHistogram::pack(&spread)
            } else {
                SparseHistogram::default()
            },
            ios: count("ok_ios"),
            bytes: count("ok_bytes"),
            bad: count("bad_ios"),
            p50: value_of("p50_ns"),
            p99: value_of("p99_ns"),
            max: value_of("max_ns"),
            mean: value_of("mean_ns"),
            slat: value_of("slat_mean_ns"),
            lat: value_of("lat_mean_ns"),
        }
    });
    MergedInterval {
        start: nanos("start_ns"),
        length: nanos("length_ns"),
        directions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Entry, ImportError> {
        Ok(crate::result::results("f", text)?
            .remove(0)
            .entries
            .remove(0))
    }

    /// fio 2.18: amounts in KiB, times in microseconds, three empty percentiles, no nanosecond
    /// classes.
    #[test]
    fn old_units_become_current_ones() {
        let old = one(r#"{"fio version": "fio-2.18-59-g618e", "jobs": [{"jobname": "a", "job options": {"iodepth": "08", "numjobs": "16",
            "group_reporting": "1", "rw": "randread", "bs": "4k", "ioengine": "libaio"}, "read": {"io_bytes": 2112408, "bw": 211156,
            "iops": 52789.084366, "runtime": 10004, "total_ios": 528102, "clat": {"min": 138, "max": 25809, "mean": 2409.205797,
            "percentile": {"50.000000": 2320, "99.000000": 6304, "0.00": 0, "0.00": 0, "0.00": 0}},
            "lat": {"mean": 2417.680876}}, "latency_us": {"750": 2.5}}]}"#)
        .expect("a result");
        let read = &old.directions[Direction::Read];
        assert_eq!(
            (read.bytes, read.bytes / read.ios, read.ios),
            (528_102 * 4096, 4096, 528_102)
        );
        assert!(
            (read.bandwidth - 528_102.0 * 4096.0 / 10.004).abs() < 1.0,
            "{}",
            read.bandwidth
        );
        assert_eq!(
            read.clat.percentiles,
            [(50.0, 2_320_000), (99.0, 6_304_000)]
        );
        assert_eq!(
            (read.clat.min, read.clat.mean.round()),
            (138_000, 2_409_206.0)
        );
        assert_eq!(
            (old.depth, old.members, old.rw.as_str(), old.latency_us[8]),
            (8, 16, "randread", 2.5)
        );
        assert_eq!(old.block_sizes[Direction::Read], (4096, 4096));
    }

    #[test]
    fn bins_are_a_distribution() {
        let read = one(r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {"iops": 3.0, "total_ios": 3, "bw_bytes": 12288,
            "clat_ns": {"N": 3, "mean": 300, "bins": {"1032": 1, "97": 2, "junk": 1, "98": -4}}}}]}"#)
        .expect("a result");
        assert_eq!(
            read.directions[Direction::Read].clat.bins,
            [(97, 2), (1032, 1)]
        );
        assert_eq!(
            (
                read.depth,
                read.rw.as_str(),
                read.directions[Direction::Read].bandwidth
            ),
            (0, "", 12288.0)
        );
    }

    #[test]
    fn figures_that_no_run_has_are_refused_by_name() {
        for (figure, text) in [
            ("iops", "-1"),
            ("iops", "1e300"),
            ("total_ios", "\"80,00\""),
            ("io_bytes", "1e19"),
            ("runtime", "true"),
        ] {
            let text = format!(
                "{{\"jobs\": [{{\"jobname\": \"a\", \"read\": {{\"{figure}\": {text}}}}}]}}"
            );
            assert!(
                matches!(one(&text), Err(ImportError::Figure { name, .. }) if name == figure),
                "{text}"
            );
        }
        assert!(matches!(
            one("{\"jobs\": [{\"read\": {\"iops\": 80,00}}]}"),
            Err(ImportError::Malformed { .. })
        ));
        assert!(
            one("{\"jobs\": [1, null, \"x\"]}").is_ok(),
            "odd but harmless"
        );
    }

    #[test]
    fn clients_are_separate_entries_and_their_sum_is_skipped() {
        let text = r#"{"fio version": "fio-3.33", "global options": [{"rw": "randread", "iodepth": "4", "ioengine": "libaio"}], "client_stats": [
            {"jobname": "a", "hostname": "h1", "read": {"iops": 1.0}}, {"jobname": "a", "hostname": "h2", "read": {"iops": 2.0}},
            {"jobname": "All clients", "read": {"iops": 3.0}}]}"#;
        let entries = crate::result::results("f", text)
            .expect("a result")
            .remove(0)
            .entries;
        assert_eq!(
            entries
                .iter()
                .map(|entry| (entry.name.as_str(), entry.depth))
                .collect::<Vec<_>>(),
            [("a on h1", 4), ("a on h2", 4)]
        );
    }
}
