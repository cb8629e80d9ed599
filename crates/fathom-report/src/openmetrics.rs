//! Results as an exposition in OpenMetrics or in the text format of Prometheus: names, base units and help lines follow the
//! conventions of Prometheus.
//!
//! Parsers of the text format, such as promtool and the textfile collector, also read the OpenMetrics document. The `TYPE` line of
//! a counter `x_total` names `x` in OpenMetrics and `x_total` in the text format, and no line satisfies both: the OpenMetrics
//! document has none, and the type is then unknown in both formats.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use fathom_model::{DirectionSummary, Entry, Findings, LatencySummary, RunEnd, Verdict};

/// A label: its name and value.
pub type Label = (String, String);

const NANOS_PER_SECOND: f64 = 1e9;

/// The two formats of an exposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, 0.0.4.
    Prometheus,
}

/// One sample: what follows the name of its family, its labels and its value.
struct Sample {
    suffix: &'static str,
    labels: Vec<Label>,
    value: f64,
}

/// The samples of one family, in the order of the results.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    samples: Vec<Sample>,
}

const COUNTER: &str = "counter";

/// The base unit that a name ends with, as its `UNIT` line states it.
const UNITS: [&str; 3] = ["seconds", "bytes", "ratio"];

/// Writes results, each with labels that distinguish it from the others.
///
/// # Errors
/// If writing to `out` fails.
pub fn exposition(
    results: &[(Vec<Label>, &Findings)],
    format: Exposition,
    out: &mut dyn Write,
) -> io::Result<()> {
    for family in families(results) {
        write_family(&family, format, out)?;
    }
    match format {
        Exposition::OpenMetrics => out.write_all(b"# EOF\n"),
        Exposition::Prometheus => Ok(()),
    }
}

fn write_family(family: &Family, format: Exposition, out: &mut dyn Write) -> io::Result<()> {
    let name = family.name;
    let mut written = BTreeSet::new();
    let mut lines = String::new();
    for sample in family.samples.iter().filter(|one| one.value.is_finite()) {
        let series = format!("{name}{}{}", sample.suffix, label_set(&sample.labels));
        // A series may be in an exposition only once: otherwise nothing of it is accepted.
        if written.insert(series.clone()) {
            lines += &format!("{series} {}\n", sample.value);
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "# HELP {name} {}", family.help)?;
    if format == Exposition::Prometheus || family.kind != COUNTER {
        writeln!(out, "# TYPE {name} {}", family.kind)?;
    }
    let unit = UNITS
        .iter()
        .find(|unit| name.ends_with(&format!("_{unit}")));
    // In the text format it is a comment without a meaning.
    if let (Some(unit), Exposition::OpenMetrics) = (unit, format) {
        writeln!(out, "# UNIT {name} {unit}")?;
    }
    out.write_all(lines.as_bytes())
}

fn label_set(labels: &[Label]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let mut names = BTreeSet::new();
    let all: Vec<String> = labels
        .iter()
        .map(|(name, value)| {
            let plain = label_name(name);
            let mut unique = plain.clone();
            let mut number = 1;
            while !names.insert(unique.clone()) {
                number += 1;
                unique = format!("{plain}_{number}");
            }
            format!("{unique}=\"{}\"", escaped(value))
        })
        .collect();
    format!("{{{}}}", all.join(","))
}

/// A label name has only ASCII letters, digits and underscores, and begins with no digit.
fn label_name(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if plain.starts_with(|first: char| first.is_ascii_digit()) || plain.is_empty() {
        format!("_{plain}")
    } else {
        plain
    }
}

/// The two formats define the same three escapes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

fn label(name: &str, value: impl Into<String>) -> Label {
    (name.to_owned(), value.into())
}

/// All families of the results. Those without samples are left out when they are written.
fn families(results: &[(Vec<Label>, &Findings)]) -> Vec<Family> {
    let jobs: Vec<JobSeries> = results.iter().flat_map(job_series).collect();
    let mut all = run_families(results);
    all.extend(counters(results));
    all.extend(job_families(&jobs));
    all.extend(direction_families(&jobs));
    all.extend(latency_families(&jobs));
    all
}

/// A family of one sample for each result.
fn run_family(
    results: &[(Vec<Label>, &Findings)],
    (name, help): (&'static str, &'static str),
    samples: impl Fn(&Findings) -> Vec<(Vec<Label>, f64)>,
) -> Family {
    let of_result = |(labels, findings): &(Vec<Label>, &Findings)| {
        samples(findings)
            .into_iter()
            .map(|(own, value)| Sample {
                suffix: "",
                labels: [labels.clone(), own].concat(),
                value,
            })
            .collect::<Vec<_>>()
    };
    Family {
        name,
        kind: "gauge",
        help,
        samples: results.iter().flat_map(of_result).collect(),
    }
}

fn run_families(results: &[(Vec<Label>, &Findings)]) -> Vec<Family> {
    let family = |names, samples: &dyn Fn(&Findings) -> Vec<(Vec<Label>, f64)>| {
        run_family(results, names, samples)
    };
    vec![
        family(
            (
                "fathom_run_info",
                "Program that measured, and kernel; the value is always 1.",
            ),
            &|one| {
                let program = one.imported.as_ref().map_or_else(
                    || format!("fathom {}", env!("CARGO_PKG_VERSION")),
                    |source| source.program.clone(),
                );
                let mut labels = vec![
                    label("program", program),
                    label("kernel", one.host.kernel.clone()),
                ];
                if let Some(simulated) = &one.host.simulated {
                    labels.push(label("simulated", simulated.device.clone()));
                }
                vec![(labels, 1.0)]
            },
        ),
        family(
            (
                "fathom_run_start_time_seconds",
                "Start of the run, Unix time.",
            ),
            &|one| {
                let known = one.started_unix_ns > 0;
                let time = one.started_unix_ns as f64 / NANOS_PER_SECOND;
                known.then_some((Vec::new(), time)).into_iter().collect()
            },
        ),
        family(
            ("fathom_run_duration_seconds", "Length of the run."),
            &|one| vec![(Vec::new(), one.elapsed.get() as f64 / NANOS_PER_SECOND)],
        ),
        family(
            (
                "fathom_run_completed",
                "1 if the run completed, 0 if it was interrupted.",
            ),
            &|one| vec![(Vec::new(), f64::from(one.end == RunEnd::Completed))],
        ),
        family(
            (
                "fathom_run_verdict",
                "1 for the verdict of the run, 0 for the other verdicts.",
            ),
            &|one| {
                [Verdict::Valid, Verdict::Degraded, Verdict::Invalid]
                    .iter()
                    .map(|verdict| {
                        let labels = vec![label("verdict", verdict.name())];
                        (labels, f64::from(*verdict == one.verdict))
                    })
                    .collect()
            },
        ),
        family(
            (
                "fathom_run_finding",
                "A known problem of the result; the value is always 1.",
            ),
            &|one| {
                one.findings
                    .iter()
                    .map(|finding| {
                        let mut labels = vec![
                            label("finding", finding.id),
                            label("code", finding.code),
                            label("weight", finding.weight.name()),
                        ];
                        labels.extend(finding.about.iter().map(|job| label("job", job.clone())));
                        (labels, 1.0)
                    })
                    .collect()
            },
        ),
        family(
            (
                "fathom_device_utilization_ratio",
                "Share of the run in which the device was busy.",
            ),
            &|one| {
                one.disks
                    .iter()
                    .map(|disk| (vec![label("device", disk.name.clone())], disk.util / 100.0))
                    .collect()
            },
        ),
    ]
}

/// The totals of all jobs of a result by direction. They start at 0 with each run.
fn counters(results: &[(Vec<Label>, &Findings)]) -> Vec<Family> {
    let family = |name, help, count: &dyn Fn(&DirectionSummary) -> Option<u64>| {
        let of_result = |result: &(Vec<Label>, &Findings)| {
            let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
            for job in job_series(result) {
                for (direction, one) in job.directions() {
                    if let Some(count) = count(one) {
                        *totals.entry(direction).or_default() += count;
                    }
                }
            }
            totals
                .into_iter()
                .map(|(direction, total)| Sample {
                    suffix: "",
                    labels: [result.0.clone(), vec![label("direction", direction)]].concat(),
                    value: total as f64,
                })
                .collect::<Vec<_>>()
        };
        Family {
            name,
            kind: COUNTER,
            help,
            samples: results.iter().flat_map(of_result).collect(),
        }
    };
    vec![
        family(
            "fathom_run_ios_total",
            "I/Os of all jobs that completed in full.",
            &|one| Some(one.ios),
        ),
        family(
            "fathom_run_bytes_total",
            "Bytes moved by I/Os of all jobs that completed in full.",
            &|one| Some(one.bytes),
        ),
        family(
            "fathom_run_errors_total",
            "I/Os of all jobs that failed or timed out.",
            // Imported results do not count them.
            &|one| (one.counts.planned > 0).then_some(one.counts.failed + one.counts.timed_out),
        ),
    ]
}

/// One job of one result, with the labels of all its samples.
struct JobSeries<'a> {
    labels: Vec<Label>,
    entry: &'a Entry,
}

impl JobSeries<'_> {
    fn labels_with(&self, own: impl IntoIterator<Item = Label>) -> Vec<Label> {
        self.labels.iter().cloned().chain(own).collect()
    }

    /// The directions that were used, with their names.
    fn directions(&self) -> Vec<(&'static str, &DirectionSummary)> {
        let used = |one: &DirectionSummary| one.ios > 0 || one.iops > 0.0 || one.counts.planned > 0;
        let mixed = self.entry.mixed.as_ref().map(|one| ("mixed", one));
        let each = self
            .entry
            .directions
            .iter()
            .map(|(direction, one)| (direction.name(), one));
        let shown = self.entry.mixed.is_none() || self.entry.show_directions;
        each.filter(|_| shown)
            .chain(mixed)
            .filter(|(_, one)| used(one))
            .collect()
    }
}

fn job_series<'a>((labels, findings): &(Vec<Label>, &'a Findings)) -> Vec<JobSeries<'a>> {
    let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
    findings
        .entries
        .iter()
        .map(|entry| {
            let count = uses.entry(&entry.name).or_default();
            *count += 1;
            // Clones of a job share its name, and a series must have labels of its own.
            let name = match *count {
                1 => entry.name.clone(),
                number => format!("{} ({number})", entry.name),
            };
            let mut labels = labels.clone();
            labels.push(label("job", name));
            labels.extend(devices(findings, entry).map(|names| label("device", names)));
            JobSeries { labels, entry }
        })
        .collect()
}

/// The devices that a job used, separated by commas: those below its `filename`, else those of all targets of the run.
fn devices(findings: &Findings, entry: &Entry) -> Option<String> {
    if let Some(simulated) = &findings.host.simulated {
        return Some(format!("{} (simulated)", simulated.device));
    }
    let option = |list: &[(String, Option<String>)]| {
        list.iter()
            .rev()
            .find(|(name, _)| name == "filename")
            .and_then(|(_, value)| value.clone())
    };
    let file = option(&entry.options).or_else(|| option(&findings.globals));
    let own = findings.targets.iter().filter(|target| {
        file.as_ref()
            .is_some_and(|file| target.path.as_os_str() == file.as_str())
    });
    let own: Vec<_> = own.collect();
    let targets = if own.is_empty() {
        findings.targets.iter().collect()
    } else {
        own
    };
    let names: BTreeSet<&str> = targets
        .iter()
        .flat_map(|target| &target.devices)
        .filter(|device| device.parent.is_none())
        .map(|device| {
            device
                .partition
                .as_ref()
                .map_or(device.before.name.as_str(), |part| part.name.as_str())
        })
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    Some(names.join(",")).filter(|names| !names.is_empty())
}

fn job_families(jobs: &[JobSeries]) -> Vec<Family> {
    let family = |name, help, samples: &dyn Fn(&Entry) -> Vec<(Vec<Label>, f64)>| Family {
        name,
        kind: "gauge",
        help,
        samples: jobs
            .iter()
            .flat_map(|job| {
                samples(job.entry).into_iter().map(|(own, value)| Sample {
                    suffix: "",
                    labels: job.labels_with(own),
                    value,
                })
            })
            .collect(),
    };
    let plain = |value: f64| vec![(Vec::new(), value)];
    vec![
        family("fathom_job_workers", "Workers of the job.", &|entry| {
            plain(f64::from(entry.members))
        }),
        family(
            "fathom_job_queue_depth",
            "Requested queue depth of all workers together.",
            &|entry| plain(entry.little.queue_depth),
        ),
        family(
            "fathom_job_in_flight",
            "Mean number of I/Os in flight.",
            &|entry| plain(entry.little.in_flight),
        ),
        family(
            "fathom_job_error_number",
            "Error number (errno) of the first error; 0 without one.",
            &|entry| plain(f64::from(entry.error)),
        ),
        family(
            "fathom_job_cpu_usage_ratio",
            "CPU time of the workers as a share of their run time.",
            &|entry| {
                [
                    ("user", entry.user_percent),
                    ("system", entry.system_percent),
                ]
                .into_iter()
                .map(|(mode, percent)| (vec![label("mode", mode)], percent / 100.0))
                .collect()
            },
        ),
    ]
}

fn direction_families(jobs: &[JobSeries]) -> Vec<Family> {
    let family =
        |name, help, samples: &dyn Fn(&DirectionSummary) -> Vec<(Vec<Label>, f64)>| Family {
            name,
            kind: "gauge",
            help,
            samples: jobs
                .iter()
                .flat_map(|job| {
                    let mut all = Vec::new();
                    for (direction, one) in job.directions() {
                        all.extend(samples(one).into_iter().map(|(own, value)| Sample {
                            suffix: "",
                            labels: job.labels_with(
                                std::iter::once(label("direction", direction)).chain(own),
                            ),
                            value,
                        }));
                    }
                    all
                })
                .collect(),
        };
    let plain = |value: f64| vec![(Vec::new(), value)];
    vec![
        family(
            "fathom_job_ios_per_second",
            "I/Os completed in full, per second.",
            &|one| plain(one.iops),
        ),
        family(
            "fathom_job_bytes_per_second",
            "Bytes moved, per second.",
            &|one| plain(one.bandwidth),
        ),
        family(
            "fathom_job_ios",
            "I/Os of the run by their result.",
            &|one| {
                let counts = &one.counts;
                if counts.planned == 0 {
                    return vec![(vec![label("result", "ok")], one.ios as f64)];
                }
                [
                    ("ok", counts.ok),
                    ("short", counts.short),
                    ("failed", counts.failed),
                    ("timed_out", counts.timed_out),
                    ("not_sent", counts.not_sent),
                ]
                .into_iter()
                .map(|(result, count)| (vec![label("result", result)], count as f64))
                .collect()
            },
        ),
        family(
            "fathom_job_transferred_bytes",
            "Bytes moved by I/Os that completed in full.",
            &|one| plain(one.bytes as f64),
        ),
        family(
            "fathom_job_runtime_seconds",
            "Time that the direction was measured.",
            &|one| plain(one.runtime_ms as f64 / 1e3),
        ),
    ]
}

/// The latencies of a direction, if it has them.
type LatencyOf = fn(&DirectionSummary) -> Option<&LatencySummary>;

/// A kind of latency: the names of its summary, least and largest value, and what it is.
struct LatencyKind {
    names: [&'static str; 3],
    helps: [&'static str; 3],
    of: LatencyOf,
}

const LATENCY_KINDS: [LatencyKind; 4] = [
    LatencyKind {
        names: [
            "fathom_job_submission_latency_seconds",
            "fathom_job_submission_latency_min_seconds",
            "fathom_job_submission_latency_max_seconds",
        ],
        helps: [
            "Submission latency (slat).",
            "Smallest submission latency (slat).",
            "Largest submission latency (slat).",
        ],
        of: |one| Some(&one.slat),
    },
    LatencyKind {
        names: [
            "fathom_job_completion_latency_seconds",
            "fathom_job_completion_latency_min_seconds",
            "fathom_job_completion_latency_max_seconds",
        ],
        helps: [
            "Completion latency (clat), the service time of an I/O.",
            "Smallest completion latency (clat).",
            "Largest completion latency (clat).",
        ],
        of: |one| Some(&one.clat),
    },
    LatencyKind {
        names: [
            "fathom_job_total_latency_seconds",
            "fathom_job_total_latency_min_seconds",
            "fathom_job_total_latency_max_seconds",
        ],
        helps: [
            "Total latency (lat).",
            "Smallest total latency (lat).",
            "Largest total latency (lat).",
        ],
        of: |one| Some(&one.lat),
    },
    LatencyKind {
        names: [
            "fathom_job_response_latency_seconds",
            "fathom_job_response_latency_min_seconds",
            "fathom_job_response_latency_max_seconds",
        ],
        helps: [
            "Response latency of an open loop: from the due time to the completion.",
            "Smallest response latency of an open loop.",
            "Largest response latency of an open loop.",
        ],
        of: |one| one.response.as_ref(),
    },
];

fn latency_families(jobs: &[JobSeries]) -> Vec<Family> {
    let mut all = Vec::new();
    for kind in &LATENCY_KINDS {
        let [mut summary, mut least, mut largest] = [(0, "summary"), (1, "gauge"), (2, "gauge")]
            .map(|(index, form)| Family {
                name: kind.names[index],
                kind: form,
                help: kind.helps[index],
                samples: Vec::new(),
            });
        for job in jobs {
            for (direction, one) in job.directions() {
                let labels = job.labels_with([label("direction", direction)]);
                let Some(latency) = (kind.of)(one).filter(|latency| latency.mean > 0.0) else {
                    continue;
                };
                summary
                    .samples
                    .extend(summary_samples(&labels, latency, one.ios));
                for (family, value) in [(&mut least, latency.min), (&mut largest, latency.max)] {
                    // An imported result may have means alone.
                    if latency.max > 0 {
                        family.samples.push(Sample {
                            suffix: "",
                            labels: labels.clone(),
                            value: value as f64 / NANOS_PER_SECOND,
                        });
                    }
                }
            }
        }
        all.extend([summary, least, largest]);
    }
    all
}

/// The quantiles, the sum and the count of a distribution; `ios` is the count of an imported mean.
fn summary_samples(labels: &[Label], latency: &LatencySummary, ios: u64) -> Vec<Sample> {
    let mut samples: Vec<Sample> = latency
        .percentiles
        .iter()
        .map(|(percent, value)| {
            // 99.9 / 100 is not 0.999 in binary, but its seven significant digits are.
            let quantile = (percent * 1e7).round() / 1e9;
            let mut labels = labels.to_vec();
            labels.push(label("quantile", quantile.to_string()));
            Sample {
                suffix: "",
                labels,
                value: *value as f64 / NANOS_PER_SECOND,
            }
        })
        .collect();
    let count = if latency.n > 0 { latency.n } else { ios };
    let totals = [
        ("_sum", latency.mean * count as f64 / NANOS_PER_SECOND),
        ("_count", count as f64),
    ];
    samples.extend(totals.map(|(suffix, value)| Sample {
        suffix,
        labels: labels.to_vec(),
        value,
    }));
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_names_and_values_are_escaped() {
        let labels = [
            label("axis_a.bs", "4k"),
            label("axis_a-bs", "a \"b\"\\\n"),
            label("1", ""),
        ];
        assert_eq!(
            label_set(&labels),
            "{axis_a_bs=\"4k\",axis_a_bs_2=\"a \\\"b\\\"\\\\\\n\",_1=\"\"}"
        );
    }

    /// The quantile of 99.9 percent has the text that Prometheus users select.
    #[test]
    fn quantiles_are_short_decimals() {
        let latency = LatencySummary {
            mean: 2e9,
            n: 3,
            percentiles: vec![(1.0, 1), (99.9, 1_500_000_000), (99.9999, 2)],
            ..LatencySummary::default()
        };
        let samples = summary_samples(&[], &latency, 9);
        let texts: Vec<&str> = samples[..3]
            .iter()
            .map(|one| one.labels[0].1.as_str())
            .collect();
        assert_eq!(texts, ["0.01", "0.999", "0.999999"]);
        assert_eq!(
            (samples[1].value, samples[3].value, samples[4].value),
            (1.5, 6.0, 3.0)
        );
    }
}
