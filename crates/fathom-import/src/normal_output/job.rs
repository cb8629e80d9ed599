//! One job of fio's normal output, and its record as fio's JSON has it.

use fathom_model::Direction;
use serde_json::{Map, Value, json};

use super::amount::{Prefixes, Printed, plain, printed, whole_numbers};
use super::lines::{LatencyKind, Line, Side};

/// Limit of rows in a table.
const MOST_ROWS: usize = 200;

/// The line that fio prints for each job before it starts.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    pub name: String,
    rw: String,
    /// Smallest and largest block of reads, writes and trims, bytes.
    blocks: Vec<(u64, u64)>,
    engine: String,
    depth: Option<u32>,
}

impl Header {
    /// Parses `0): rw=randread, bs=(R) 4096B-4096B, ..., ioengine=libaio, iodepth=32`.
    pub(super) fn parse(name: &str, rest: &str) -> Header {
        let of = |key: &str| {
            let (_, after) = rest.split_once(&format!("{key}="))?;
            Some(after.split(',').next().unwrap_or(after).trim())
        };
        let blocks = rest.split_once("bs=").map_or("", |(_, after)| after);
        let blocks = blocks.split(", ioengine").next().unwrap_or(blocks);
        Header {
            name: name.to_owned(),
            rw: of("rw").unwrap_or_default().to_owned(),
            blocks: blocks.split(['/', ',']).filter_map(block_range).collect(),
            engine: of("ioengine").unwrap_or_default().to_owned(),
            depth: of("iodepth").and_then(|depth| depth.parse().ok()),
        }
    }

    /// The block size of a direction, where it is fixed.
    fn block(&self, place: usize) -> Option<u64> {
        let (low, high) = *self.blocks.get(place).or(self.blocks.first())?;
        (low == high && low > 0).then_some(low)
    }
}

/// `(R) 4096B-4096B` of version 3, `4K-4K` of version 2.
fn block_range(text: &str) -> Option<(u64, u64)> {
    let text = text.trim();
    let (text, prefixes) = match text.split_once(") ") {
        Some((_, range)) => (range, Prefixes::Decimal),
        None if text.contains('B') => (text, Prefixes::Decimal),
        None => (text, Prefixes::Binary),
    };
    let (low, high) = text.split_once('-')?;
    let size = |text| printed(text, prefixes).map(|one| one.value as u64);
    Some((size(low)?, size(high)?))
}

/// Latencies of one kind, nanoseconds.
#[derive(Clone, Debug, Default)]
struct Latency {
    figures: Map<String, Value>,
    percentiles: Map<String, Value>,
}

/// Figures of one direction.
#[derive(Clone, Debug, Default)]
struct Totals {
    iops: Option<Printed>,
    /// Bytes per second.
    bandwidth: Option<Printed>,
    bytes: Option<Printed>,
    runtime_ms: Option<u64>,
    /// slat, clat, lat.
    latencies: [Latency; 3],
    samples: Map<String, Value>,
}

/// Which figures of a direction are estimated, because the text does not contain them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Estimated {
    pub ios: bool,
    pub bytes: bool,
}

/// A job, or a group of clones that fio reports together.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    pub name: String,
    pub group: u64,
    pub pid: Option<u64>,
    /// Number of jobs in it; 0 if unknown.
    pub jobs: u32,
    error: i64,
    /// Reads, writes, trims, and all together.
    totals: [Option<Totals>; 4],
    sync: Latency,
    /// I/Os by direction, and the syncs.
    issued: Vec<u64>,
    tables: Map<String, Value>,
    others: Map<String, Value>,
    /// The direction of the lines that follow; 4 for syncs.
    current: usize,
    /// The table that percentile rows belong to.
    table: Option<(LatencyKind, f64)>,
}

impl Job {
    /// Parses `0, jobs=4): err= 5 (file:...): pid=6185: Sat Nov 21 15:59:39 2026`.
    pub(super) fn parse(name: &str, rest: &str) -> Job {
        let after = |key: &str| plain(rest.split_once(key)?.1);
        Job {
            name: name.to_owned(),
            group: plain(rest).unwrap_or(0.0) as u64,
            jobs: after("jobs=").map_or(0, |jobs| jobs.min(1e6) as u32),
            error: after("err=").map_or(0, |error| error.min(1e6) as i64),
            pid: after("pid=").map(|pid| pid as u64),
            current: usize::MAX,
            ..Job::default()
        }
    }

    /// Whether it has figures.
    pub(super) fn has_totals(&self) -> bool {
        self.totals.iter().flatten().next().is_some()
    }

    /// Whether it has totals of a direction.
    pub(super) fn has(&self, side: Side) -> bool {
        self.totals[place(side)].is_some()
    }

    /// Bytes of a direction as printed.
    pub(super) fn bytes(&self, direction: Direction) -> Option<Printed> {
        self.totals[direction as usize].as_ref()?.bytes
    }

    /// Adds a line.
    pub(super) fn add(&mut self, line: Line) {
        match line {
            Line::Totals(side, rest) => {
                self.current = place(side);
                self.table = None;
                self.totals[self.current] = Some(Totals::parse(rest));
            }
            Line::SyncSection => self.current = 4,
            Line::Latency(kind, nanos, rest) => {
                if let Some(latency) = self.latency(kind) {
                    latency.figures = latency_figures(rest, nanos);
                }
            }
            Line::PercentileTable(table) => self.table = table,
            Line::PercentileRow(row) => {
                if let Some((kind, nanos)) = self.table
                    && let Some(latency) = self.latency(kind)
                {
                    percentiles(row, nanos, &mut latency.percentiles);
                }
            }
            Line::BandwidthSamples(kib, rest) => self.samples("bw", kib, rest),
            Line::IopsSamples(rest) => self.samples("iops", 1.0, rest),
            Line::Classes(name, rest) | Line::Levels(name, rest) => self.shares(name, rest),
            Line::Cpu(rest) => {
                for (key, name) in [
                    ("usr", "usr_cpu"),
                    ("sys", "sys_cpu"),
                    ("ctx", "ctx"),
                    ("majf", "majf"),
                    ("minf", "minf"),
                ] {
                    self.other(name, value_of(&fields(rest), key));
                }
            }
            Line::Issued(rest) => {
                let total = rest.split_once("total=").map_or("", |(_, total)| total);
                let total = total.split("short").next().unwrap_or(total);
                self.issued = whole_numbers(total);
            }
            Line::Errors(rest) => {
                let list = fields(rest);
                self.other("total_err", value_of(&list, "total"));
                self.other("first_error", value_of(&list, "first_error"));
            }
            _ => {}
        }
    }

    fn latency(&mut self, kind: LatencyKind) -> Option<&mut Latency> {
        if kind == LatencyKind::Sync {
            return Some(&mut self.sync);
        }
        let totals = self.totals.get_mut(self.current)?.as_mut()?;
        Some(&mut totals.latencies[kind as usize])
    }

    fn samples(&mut self, name: &str, scale: f64, rest: &str) {
        let Some(Some(totals)) = self.totals.get_mut(self.current) else {
            return;
        };
        let list = fields(rest);
        let dev = if name == "bw" {
            "bw_dev"
        } else {
            "iops_stddev"
        };
        for (key, key_of_json, scale) in [
            ("min", format!("{name}_min"), scale),
            ("max", format!("{name}_max"), scale),
            ("avg", format!("{name}_mean"), scale),
            ("stdev", dev.to_owned(), scale),
            ("samples", format!("{name}_samples"), 1.0),
            ("per", format!("{name}_agg"), 1.0),
        ] {
            if let Some(value) = value_of(&list, key) {
                totals.samples.insert(key_of_json, number(value * scale));
            }
        }
    }

    /// `10=8.95%, >=2000=0.01%`; there may be several lines of one table.
    fn shares(&mut self, name: &str, rest: &str) {
        let table = self
            .tables
            .entry(name)
            .or_insert_with(|| Value::Object(Map::new()));
        let Some(table) = table
            .as_object_mut()
            .filter(|table| table.len() < MOST_ROWS)
        else {
            return;
        };
        for part in rest.split(',') {
            if let Some((class, share)) = part.trim().rsplit_once('=')
                && let Some(share) = plain(share)
            {
                table.insert(class.trim().to_owned(), json!(share));
            }
        }
    }

    fn other(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.others.insert(name.to_owned(), number(value));
        }
    }

    /// The record as in fio's JSON, and which of its figures are estimated.
    pub(super) fn record(&self, header: Option<&Header>) -> (Value, Estimated) {
        let mut record = self.others.clone();
        let mut estimated = Estimated::default();
        record.insert("jobname".to_owned(), json!(self.name));
        record.insert("groupid".to_owned(), json!(self.group));
        record.insert("error".to_owned(), json!(self.error));
        record.insert("job options".to_owned(), self.options(header));
        record.insert(super::MARK.to_owned(), json!(true));
        record.extend(self.tables.clone());
        for (at, totals) in self.totals.iter().enumerate() {
            let Some(totals) = totals else { continue };
            let ios = match at {
                3 => (self.issued.len() >= 2).then(|| self.issued.iter().take(3).sum()),
                at => self.issued.get(at).copied(),
            };
            let block = header.and_then(|header| header.block(at.min(2)));
            let (value, guessed) = totals.record(ios.filter(|ios| *ios > 0), block);
            let name = Direction::ALL.get(at).map_or("mixed", |one| one.name());
            record.insert(name.to_owned(), value);
            estimated.ios |= guessed.ios;
            estimated.bytes |= guessed.bytes;
        }
        let syncs = self.issued.get(3).copied();
        if let Some(sync) = self.sync.record(syncs) {
            record.insert(
                "sync".to_owned(),
                json!({"total_ios": syncs, "lat_ns": sync}),
            );
        }
        (Value::Object(record), estimated)
    }

    /// The options that the text contains.
    fn options(&self, header: Option<&Header>) -> Value {
        let mut options = Map::new();
        let mut put = |name: &str, value: String| {
            if !value.is_empty() {
                options.insert(name.to_owned(), Value::String(value));
            }
        };
        if let Some(header) = header {
            put("rw", header.rw.clone());
            let used: Vec<_> = (0..3)
                .filter(|at| self.totals[*at].is_some() || self.totals[3].is_some())
                .map(|at| header.block(at))
                .collect();
            let same = used.windows(2).all(|pair| pair[0] == pair[1]);
            match used.first() {
                Some(Some(size)) if same => put("bs", size.to_string()),
                _ => {}
            }
            put("ioengine", header.engine.clone());
            put(
                "iodepth",
                header
                    .depth
                    .map_or(String::new(), |depth| depth.to_string()),
            );
        }
        if self.jobs > 1 {
            put("numjobs", self.jobs.to_string());
            put("group_reporting", "1".to_owned());
        }
        Value::Object(options)
    }
}

fn place(side: Side) -> usize {
    match side {
        Side::One(direction) => direction as usize,
        Side::Mixed => 3,
    }
}

impl Totals {
    fn parse(rest: &str) -> Totals {
        let list = fields(rest);
        let text = |key: &str| {
            list.iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(key))
                .map(|(_, value)| value.as_str())
        };
        let (bytes, runtime, prefixes) = match amount_and_time(rest) {
            Some((bytes, runtime)) => (Some(bytes), Some(runtime), Prefixes::Decimal),
            // Version 2 means 1024 by `K` in amounts.
            None if rest.contains("runt=") || text("io").is_some() => {
                (text("io"), text("runt"), Prefixes::Binary)
            }
            None => (None, None, Prefixes::Decimal),
        };
        Totals {
            iops: text("iops").and_then(|text| printed(text, Prefixes::Decimal)),
            bandwidth: text("bw").and_then(|text| printed(text, prefixes)),
            bytes: bytes.and_then(|text| printed(text, prefixes)),
            runtime_ms: runtime
                .and_then(plain)
                .map(|ms| ms as u64)
                .filter(|ms| *ms > 0),
            ..Totals::default()
        }
    }

    /// The figures as in fio's JSON. Rates are computed from amount and time where these agree with the printed rate, because
    /// they have more digits.
    fn record(&self, issued: Option<u64>, block: Option<u64>) -> (Value, Estimated) {
        let mut estimated = Estimated::default();
        let ms = self.runtime_ms;
        let rate = |amount: f64| ms.map(|ms| amount * 1e3 / ms as f64);
        let value = |figure: Option<Printed>| figure.map(|one| one.value);
        let mut bytes =
            value(self.bytes).or(ms.and_then(|ms| Some(value(self.bandwidth)? * ms as f64 / 1e3)));
        let printed_iops =
            value(self.iops).or_else(|| Some(value(self.bandwidth)? / block? as f64));
        let ios = issued.or_else(|| {
            let by_rate = ms.and_then(|ms| Some(printed_iops? * ms as f64 / 1e3));
            let by_size = bytes.and_then(|bytes| Some(bytes / block? as f64));
            estimated.ios = true;
            Some(by_size.or(by_rate)?.round() as u64)
        });
        match ios.zip(block).map(|(ios, block)| (ios * block) as f64) {
            Some(exact) if !estimated.ios && self.may_be_bytes(exact) => bytes = Some(exact),
            _ => estimated.bytes = true,
        }
        let exact = |amount: Option<f64>, printed: Option<Printed>| {
            let exact = rate(amount?)?;
            printed.is_none_or(|one| one.may_be(exact)).then_some(exact)
        };
        let exact_ios = ios.filter(|_| !estimated.ios).map(|ios| ios as f64);
        let iops = exact(exact_ios, self.iops).or(printed_iops);
        let bandwidth = exact(bytes, self.bandwidth).or(value(self.bandwidth));
        let mut record = self.samples.clone();
        for (name, figure) in [("iops", iops), ("bw_bytes", bandwidth)] {
            record.extend(figure.map(|figure| (name.to_owned(), json!(figure))));
        }
        for (name, count) in [
            ("total_ios", ios),
            ("io_bytes", bytes.map(|bytes| bytes.round() as u64)),
            ("runtime", ms),
        ] {
            record.extend(count.map(|count| (name.to_owned(), json!(count))));
        }
        for (name, latency) in ["slat_ns", "clat_ns", "lat_ns"].iter().zip(&self.latencies) {
            record.extend(latency.record(ios).map(|one| ((*name).to_owned(), one)));
        }
        (Value::Object(record), estimated)
    }

    /// Whether fio may have printed its amount for `exact` bytes; `KB` may be 1000 bytes (`kb_base=1000`).
    fn may_be_bytes(&self, exact: f64) -> bool {
        let powers = (0..5).map(|power| (1000.0f64 / 1024.0).powi(power));
        self.bytes.is_none_or(|bytes| {
            powers
                .into_iter()
                .any(|factor| bytes.times(factor).may_be(exact))
        })
    }
}

impl Latency {
    fn record(&self, n: Option<u64>) -> Option<Value> {
        if self.figures.is_empty() && self.percentiles.is_empty() {
            return None;
        }
        let mut record = self.figures.clone();
        record.extend(n.map(|n| ("N".to_owned(), json!(n))));
        if !self.percentiles.is_empty() {
            record.insert(
                "percentile".to_owned(),
                Value::Object(self.percentiles.clone()),
            );
        }
        Some(Value::Object(record))
    }
}

/// `(76.0MiB/2004msec)` of version 3.
fn amount_and_time(rest: &str) -> Option<(&str, &str)> {
    let groups = rest.split('(').skip(1);
    groups
        .filter_map(|group| group.split(')').next()?.split_once('/'))
        .find(|(_, time)| time.trim_end().ends_with("msec"))
}

/// `min=5, max=35290, avg=425.14, stdev=1666.11` in nanoseconds.
fn latency_figures(rest: &str, nanos: f64) -> Map<String, Value> {
    let list = fields(rest);
    let names = [
        ("min", "min"),
        ("max", "max"),
        ("avg", "mean"),
        ("stdev", "stddev"),
    ];
    let figures = names.into_iter().filter_map(|(key, name)| {
        let value = value_of(&list, key)? * nanos;
        let value = if name == "min" || name == "max" {
            json!(value.round() as u64)
        } else {
            json!(value)
        };
        Some((name.to_owned(), value))
    });
    figures.collect()
}

/// `| 1.00th=[ 8], 5.00th=[ 9]`.
fn percentiles(row: &str, nanos: f64, into: &mut Map<String, Value>) {
    for (place, _) in row.match_indices("th=[") {
        let percent = row[..place]
            .rsplit(|c: char| !c.is_ascii_digit() && c != '.')
            .next();
        let value = row[place + 4..].trim_start().trim_start_matches('>');
        let value = value
            .split(']')
            .next()
            .and_then(|text| printed(text, Prefixes::Decimal));
        if let (Some(Ok(percent)), Some(value)) = (percent.map(str::parse::<f64>), value)
            && into.len() < MOST_ROWS
        {
            into.insert(
                format!("{percent:.6}"),
                json!((value.value * nanos).round() as u64),
            );
        }
    }
}

/// `min= 5, max=13922k` as pairs. A comma in a number (`1,024`) does not end it.
pub(super) fn fields(rest: &str) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    for part in rest.split([',', ';']) {
        let part = part.trim_end();
        match part.split_once('=') {
            Some((name, value)) => list.push((name.trim().to_owned(), value.trim().to_owned())),
            None => {
                if let Some((_, value)) = list.last_mut()
                    && value.ends_with(|c: char| c.is_ascii_digit())
                    && part.len() >= 3
                    && part.bytes().take(3).all(|byte| byte.is_ascii_digit())
                {
                    value.push_str(part);
                }
            }
        }
    }
    list
}

pub(super) fn value_of(list: &[(String, String)], key: &str) -> Option<f64> {
    let (_, text) = list.iter().find(|(name, _)| name == key)?;
    printed(text, Prefixes::Decimal).map(|one| one.value)
}

/// A whole number as such.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value < 1e15 {
        json!(value as u64)
    } else {
        json!(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 1483: 4145.9 times 1,000 is a little less than 4,145,900 in binary, and the fraction was cut off.
    #[test]
    fn decimal_fractions_of_a_unit_are_whole_nanoseconds() {
        let figures = latency_figures("min=191, max=4145.9k, avg=1024.1, stdev=5.0", 1.0);
        assert_eq!(
            (&figures["min"], &figures["max"]),
            (&json!(191), &json!(4_145_900))
        );
        let mut found = Map::new();
        percentiles("| 99.00th=[4145.9k]", 1.0, &mut found);
        assert_eq!(found["99.000000"], json!(4_145_900));
    }
}
