//! fio's normal output, of every version, as the documents that fio's JSON would be.
//!
//! A page may contain several runs, with text around them. What the output does not contain stays empty, and is listed in the
//! document under [`MARK`].

mod amount;
mod job;
mod lines;

use std::collections::BTreeSet;

use fathom_model::{Direction, format};
use serde_json::{Map, Value, json};

use self::amount::{Prefixes, printed, whole_numbers};
use self::job::{Estimated, Header, Job, fields, value_of};
use self::lines::{Line, Side, each_line};
use crate::error::ImportError;

/// Key of a document, and of its records, that were read from normal output.
pub(crate) const MARK: &str = "normal output";
/// Limit of jobs in a text: some 100 MiB of memory.
const MOST_JOBS: usize = 20_000;
/// Limit of messages that are kept.
const MOST_MESSAGES: usize = 5;

/// The runs in `text`; empty if it contains no normal output.
///
/// # Errors
/// When it has more than [`MOST_JOBS`] jobs.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, ImportError> {
    let marks = ["IOPS=", "iops=", "aggrb=", "Run status group"];
    if !marks.iter().any(|mark| text.contains(mark)) && !text.contains("IOPS=3D") {
        return Ok(Vec::new());
    }
    let mut reader = Reader::default();
    each_line(text, &mut |line| reader.add(line));
    reader.end_run();
    if reader.jobs > MOST_JOBS {
        return Err(ImportError::TooManyValues);
    }
    Ok(reader.documents)
}

/// What a document read from normal output lacks, and remarks about it; empty for JSON.
pub(crate) fn missing(document: &Value) -> Vec<String> {
    texts(&document[MARK]["missing"])
}

/// Remarks about a document read from normal output.
pub(crate) fn notes(document: &Value) -> Vec<String> {
    texts(&document[MARK]["notes"])
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

/// The run that is being read, and those before it.
#[derive(Debug, Default)]
struct Reader {
    documents: Vec<Value>,
    run: RunText,
    /// Number of jobs in all runs.
    jobs: usize,
}

/// The lines of one run.
#[derive(Debug, Default)]
struct RunText {
    version: Option<String>,
    headers: Vec<Header>,
    jobs: Vec<Job>,
    groups: Vec<GroupTotals>,
    group: u64,
    disks: Vec<Value>,
    messages: Vec<String>,
    /// The sums or the disks were read: a job after them belongs to another run.
    is_summed: bool,
}

/// The sum of one direction of a group.
#[derive(Debug)]
struct GroupTotals {
    group: u64,
    direction: Direction,
    text: String,
}

impl Reader {
    fn add(&mut self, line: Line) {
        if self.jobs > MOST_JOBS {
            return;
        }
        if self.starts_run(line) {
            self.end_run();
        }
        let run = &mut self.run;
        match line {
            Line::Version(version) => run.version = Some(version.to_owned()),
            Line::Header { name, rest } => run.headers.push(Header::parse(name, rest)),
            Line::Job { name, rest } => {
                let job = Job::parse(name, rest);
                // A later state of the same job (--status-interval).
                let earlier = run.jobs.iter().position(|one| {
                    one.pid.is_some() && (one.pid, &one.name) == (job.pid, &job.name)
                });
                if let Some(place) = earlier {
                    run.jobs.remove(place);
                }
                run.jobs.push(job);
                self.jobs += 1;
            }
            Line::Group(group) => {
                (run.group, run.is_summed) = (group, true);
            }
            Line::GroupTotals(direction, text) => {
                run.is_summed = true;
                run.groups.push(GroupTotals {
                    group: run.group,
                    direction,
                    text: text.to_owned(),
                });
                self.jobs += 1;
            }
            Line::Disk { name, rest } => {
                run.is_summed = true;
                run.disks.push(disk(name, rest));
                self.jobs += 1;
            }
            Line::Message(text) if run.messages.len() < MOST_MESSAGES => {
                let text: String = text.chars().take(200).filter(|c| !c.is_control()).collect();
                run.messages.push(text);
            }
            line => self.add_figures(line),
        }
    }

    /// Adds figures to the last job. A page may show them without the line with the job's name.
    fn add_figures(&mut self, line: Line) {
        let run = &mut self.run;
        if let Line::Totals(side, _) = line
            && run.jobs.last().is_none_or(|job| job.has(side))
        {
            run.jobs.push(Job::parse("", "0"));
            self.jobs += 1;
        }
        if let Some(job) = run.jobs.last_mut() {
            job.add(line);
        }
    }

    /// Whether a line belongs to another run than the lines before it.
    fn starts_run(&self, line: Line) -> bool {
        let run = &self.run;
        let has_jobs = run.jobs.iter().any(Job::has_totals) || run.is_summed;
        match line {
            Line::Version(_) => has_jobs || run.version.is_some(),
            Line::Header { .. } => has_jobs,
            // The sums follow all jobs of a run; with --status-interval, the jobs follow again.
            Line::Job { name, rest } => {
                let job = Job::parse(name, rest);
                let again = run
                    .jobs
                    .iter()
                    .any(|one| one.pid.is_some() && one.pid == job.pid);
                run.is_summed && !again
            }
            // Without a name, the second line of a direction is of another run.
            Line::Totals(side, _) => {
                run.jobs
                    .last()
                    .is_some_and(|job| job.pid.is_none() && job.has(side))
                    || (run.is_summed && run.jobs.last().is_none_or(|job| job.has_totals()))
            }
            _ => false,
        }
    }

    fn end_run(&mut self) {
        let mut run = std::mem::take(&mut self.run);
        if !run.jobs.iter().any(Job::has_totals) {
            run.jobs = run.groups.iter().filter_map(GroupTotals::job).collect();
        }
        if run.jobs.iter().any(Job::has_totals) {
            self.documents.push(run.document());
        }
    }
}

impl GroupTotals {
    /// A job with the sum of a group, for a text without jobs.
    fn job(&self) -> Option<Job> {
        let mut job = Job::parse("all jobs", &self.group.to_string());
        let side = Side::One(self.direction);
        let (amount, run) = (self.amount()?, self.field("run").or(self.field("maxt"))?);
        let longest = whole_numbers(&run).into_iter().max()?;
        let totals = match self.field("aggrb") {
            Some(rate) => format!("io={amount}, bw={rate}, runt={longest}msec"),
            None => format!("BW={} ({amount}/{longest}msec)", self.field("bw")?),
        };
        job.add(Line::Totals(side, &totals));
        Some(job)
    }

    /// The amount as printed.
    fn amount(&self) -> Option<String> {
        Some(self.field("io")?.split(' ').next()?.to_owned())
    }

    /// The amount, bytes. Version 2 means 1024 by `K`.
    fn bytes(&self) -> Option<f64> {
        let prefixes = match self.field("aggrb") {
            Some(_) => Prefixes::Binary,
            None => Prefixes::Decimal,
        };
        printed(&self.amount()?, prefixes).map(|amount| amount.value)
    }

    fn field(&self, name: &str) -> Option<String> {
        let mut list = fields(&self.text).into_iter();
        list.find_map(|(key, value)| (key == name).then_some(value))
    }
}

impl RunText {
    fn document(&self) -> Value {
        let mut estimated = Estimated::default();
        let records: Vec<Value> = self
            .jobs
            .iter()
            .enumerate()
            .map(|(place, job)| {
                let (mut record, guessed) = job.record(self.header(job));
                estimated.ios |= guessed.ios;
                estimated.bytes |= guessed.bytes;
                // fio starts another group behind a stonewall.
                if place > 0 && job.group != self.jobs[place - 1].group {
                    record["job options"]["stonewall"] = json!("1");
                }
                record
            })
            .collect();
        let mut document = Map::new();
        if let Some(version) = &self.version {
            document.insert("fio version".to_owned(), json!(format!("fio-{version}")));
        }
        let missing = self.missing(&records);
        let notes = self.notes(estimated);
        document.insert("disk_util".to_owned(), json!(self.disks));
        document.insert("jobs".to_owned(), Value::Array(records));
        document.insert(MARK.to_owned(), json!({"missing": missing, "notes": notes}));
        Value::Object(document)
    }

    /// The header of a job; the only one if the names differ.
    fn header(&self, job: &Job) -> Option<&Header> {
        let named = self.headers.iter().find(|header| header.name == job.name);
        named.or(match self.headers.as_slice() {
            [one] => Some(one),
            _ => None,
        })
    }

    /// What the text lacks, beyond what no normal output contains.
    fn missing(&self, records: &[Value]) -> Vec<String> {
        let mut missing = vec!["logs (no time series)".to_owned()];
        let mut say = |is_missing: bool, what: &str| {
            missing.extend(is_missing.then(|| what.to_owned()));
        };
        let used = || {
            let directions = Direction::ALL.iter().map(|direction| direction.name());
            let names: Vec<_> = directions.chain(["mixed"]).collect();
            let all = records
                .iter()
                .flat_map(move |job| names.clone().into_iter().map(move |name| &job[name]));
            all.filter(|one| one.is_object())
        };
        let lacks = |key: &str| used().any(|one| one[key].is_null());
        let any_job = |is_so: fn(&Value) -> bool| records.iter().any(is_so);
        say(self.version.is_none(), "version of fio");
        say(lacks_option(records, "rw"), "pattern");
        say(lacks_option(records, "bs"), "block size");
        say(lacks_option(records, "iodepth"), "queue depth");
        say(lacks("iops"), "IOPS");
        say(lacks("runtime"), "run time");
        say(lacks("clat_ns"), "completion latency");
        say(lacks("lat_ns"), "total latency");
        let highest = used().map(highest_percentile).reduce(f64::min);
        match highest {
            Some(0.0) => say(true, "latency percentiles"),
            Some(percent) if percent < 99.99 => {
                say(true, &format!("percentiles above p{percent}"));
            }
            _ => {}
        }
        say(any_job(|job| job["usr_cpu"].is_null()), "CPU use");
        say(
            any_job(|job| job["iodepth_level"].is_null()),
            "distribution of queue depths",
        );
        say(self.disks.is_empty(), "disk statistics");
        say(
            true,
            "options other than pattern, block size, engine, queue depth and jobs (direct, rate limits, size)",
        );
        missing
    }

    fn notes(&self, estimated: Estimated) -> Vec<String> {
        let mut notes = vec![
            "read from fio's normal output: figures are rounded as printed, latencies to the unit of their line".to_owned(),
        ];
        if estimated.ios {
            notes.push("the number of I/Os is estimated from rates and amounts: the 'issued' line is missing".to_owned());
        } else if estimated.bytes {
            notes.push("amounts are rounded to the printed digits".to_owned());
        }
        notes.extend(self.incomplete_groups());
        notes.extend(self.messages.iter().map(|line| format!("fio said: {line}")));
        notes
    }

    /// Groups whose sum is not that of the jobs in the text: some of its jobs are missing.
    fn incomplete_groups(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let differs = |sum: &GroupTotals| {
            let total = sum.bytes()?;
            let jobs = self.jobs.iter().filter(|job| job.group == sum.group);
            let amounts: Vec<_> = jobs.filter_map(|job| job.bytes(sum.direction)).collect();
            let found: f64 = amounts.iter().map(|bytes| bytes.value).sum();
            let is_part = !amounts.is_empty() && found < total * 0.98;
            is_part.then(|| {
                format!(
                    "the sum of group {} counts {} {}, its jobs in the text {}: some jobs are missing",
                    sum.group,
                    format::bytes(total as u64),
                    sum.direction.name(),
                    format::bytes(found as u64),
                )
            })
        };
        let notes = self.groups.iter().filter_map(differs);
        notes
            .filter(|note| seen.insert(note.clone()))
            .take(3)
            .collect()
    }
}

/// Whether an option of a job is not in the text.
fn lacks_option(records: &[Value], name: &str) -> bool {
    records.iter().any(|job| job["job options"][name].is_null())
}

/// The highest percentile of the completion or total latency; 0 for none.
fn highest_percentile(direction: &Value) -> f64 {
    let of = |kind: &str| {
        let table = direction[kind]["percentile"].as_object()?;
        table
            .keys()
            .filter_map(|name| name.parse().ok())
            .reduce(f64::max)
    };
    of("clat_ns").or_else(|| of("lat_ns")).unwrap_or(0.0)
}

/// `ios=11118/9422, merge=0/461, ticks=915/5359, in_queue=6326, util=28.67%`; reads and writes.
fn disk(name: &str, rest: &str) -> Value {
    let list = fields(rest);
    let mut disk = Map::new();
    disk.insert("name".to_owned(), json!(name));
    for key in ["ios", "sectors", "merge", "ticks"] {
        let Some((_, pair)) = list.iter().find(|(name, _)| name == key) else {
            continue;
        };
        let name = if key == "merge" { "merges" } else { key };
        for (direction, count) in ["read", "write"].iter().zip(whole_numbers(pair)) {
            disk.insert(format!("{direction}_{name}"), json!(count));
        }
    }
    for key in ["in_queue", "util"] {
        if let Some(value) = value_of(&list, key) {
            disk.insert(key.to_owned(), json!(value));
        }
    }
    Value::Object(disk)
}
