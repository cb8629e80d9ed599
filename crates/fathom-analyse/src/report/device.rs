//! What a report compares: devices, or results that stand for them.

use std::collections::BTreeSet;

use fathom_model::{JobFigures, ReportSource, ReportSubject, Verdict};

/// One device with all of its results.
#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    pub(super) name: String,
    /// Its jobs; their source is the name.
    pub(super) jobs: Vec<JobFigures>,
    pub(super) subject: ReportSubject,
    /// The verdicts of its results, each with its number.
    pub(super) verdicts: Vec<(String, usize)>,
    pub(super) results: usize,
}

/// The devices of `jobs`, in the order of the results. A device is a source, or one of the devices that the results of a
/// source name.
pub(super) fn devices(sources: &[ReportSource], jobs: Vec<JobFigures>) -> Vec<Device> {
    let labels = labels(sources);
    let mut devices: Vec<Device> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let mut places = Vec::new();
    for (one, label) in sources.iter().zip(&labels) {
        let place = *known.entry(label.clone()).or_insert(devices.len());
        if place == devices.len() {
            devices.push(Device {
                name: label.clone(),
                subject: one.subject.clone(),
                ..Device::default()
            });
        }
        places.push(place);
        let device = &mut devices[place];
        device.results += 1;
        device.subject.date = span(&device.subject.date, &one.subject.date);
        let verdict = one.verdict.clone().unwrap_or_default();
        match device
            .verdicts
            .iter_mut()
            .find(|(known, _)| *known == verdict)
        {
            Some((_, n)) => *n += 1,
            None => device.verdicts.push((verdict, 1)),
        }
    }
    for job in jobs {
        let Some(place) = places.get(job.result).copied() else {
            continue;
        };
        let name = devices[place].name.clone();
        devices[place].jobs.push(JobFigures {
            source: name,
            ..job
        });
    }
    devices.retain(|device| !device.jobs.is_empty());
    devices
}

/// From the earliest to the latest date: texts such as `2026-11-22 17:46 UTC` sort by time.
fn span(known: &str, other: &str) -> String {
    let (first, last) = known.split_once(" to ").unwrap_or((known, known));
    let first = if first.is_empty() { other } else { first };
    let (low, high) = (first.min(other), last.max(other));
    match (low, high) {
        ("", high) => high.to_owned(),
        (low, high) if low == high => low.to_owned(),
        (low, high) => format!("{low} to {high}"),
    }
}

/// A label for the device of each source.
fn labels(sources: &[ReportSource]) -> Vec<String> {
    let sources: Vec<(&str, &str)> = sources
        .iter()
        .map(|one| (one.source.as_str(), one.subject.device.as_str()))
        .collect();
    let is_one_source = sources.iter().all(|(source, _)| *source == sources[0].0);
    let several_devices = |source: &str| {
        let mut named = sources
            .iter()
            .filter(|(known, device)| *known == source && !device.is_empty())
            .map(|(_, device)| *device);
        let first = named.next();
        named.any(|device| Some(device) != first)
    };
    let label = |(source, device): &(&str, &str)| {
        let is_path = |name: &str| name.contains('/') && !name.starts_with("/dev/");
        if several_devices(source) && !device.is_empty() && !is_path(device) {
            if is_one_source || source.is_empty() || source.contains(device) {
                (*device).to_owned()
            } else {
                format!("{source} {device}")
            }
        } else {
            (*source).to_owned()
        }
    };
    merge_parts(sources.iter().map(label).collect())
}

/// Directories of one drive that are named after access patterns.
const PARTS: [&str; 6] = ["random", "sequential", "rand", "seq", "read", "write"];

/// `floppy/random` and `floppy/sequential` are both `floppy`, where both exist.
fn merge_parts(labels: Vec<String>) -> Vec<String> {
    let whole = |label: &str| {
        let (path, rest) = label.split_once(' ').unwrap_or((label, ""));
        let (parent, last) = path.rsplit_once('/')?;
        let name = format!("{parent} {rest}").trim().to_owned();
        PARTS.contains(&last).then(|| (name, last.to_owned()))
    };
    let known: BTreeSet<(String, String)> =
        labels.iter().filter_map(|label| whole(label)).collect();
    let merged = |label: String| match whole(&label) {
        Some((name, _)) if known.iter().filter(|(one, _)| *one == name).count() > 1 => name,
        _ => label,
    };
    labels.into_iter().map(merged).collect()
}

/// The dates of all devices.
pub(super) fn dates(devices: &[Device]) -> String {
    devices.iter().fold(String::new(), |all, device| {
        let date = device.subject.date.as_str();
        let (first, last) = date.split_once(" to ").unwrap_or((date, date));
        if first.is_empty() {
            all
        } else {
            span(&span(&all, first), last)
        }
    })
}

impl Device {
    /// The worst verdict; `None` if no result was judged.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let rank = |name: &String| Verdict::ALL.iter().rposition(|known| known.name() == name);
        self.verdicts
            .iter()
            .filter_map(|(name, _)| rank(name))
            .max()
            .map(|at| Verdict::ALL[at])
    }

    pub(super) fn all(&self) -> Vec<&JobFigures> {
        self.jobs.iter().collect()
    }

    /// Device, host and date in one line, as far as they are known.
    pub(super) fn line(&self) -> String {
        let subject = &self.subject;
        let device = match (subject.device.as_str(), subject.properties.as_str()) {
            (device, "") => device.to_owned(),
            ("", properties) => properties.to_owned(),
            (device, properties) => format!("{device} ({properties})"),
        };
        let program = if subject.host.is_empty() && !subject.program.is_empty() {
            let how = if subject.device.ends_with("(simulated)") {
                "not measured, written in the format of"
            } else {
                "measured by"
            };
            format!("{how} {}", subject.program)
        } else {
            String::new()
        };
        let results = if self.results > 1 {
            crate::figures::counted(self.results as u64, "result")
        } else {
            String::new()
        };
        let parts = [&device, &subject.host, &program, &results, &subject.date];
        let known: Vec<&str> = parts
            .into_iter()
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        known.join(" · ")
    }
}
