//! Why two results of a database differ: what a transaction cost in each of them, and how busy the machine was with other work.

use fathom_model::format::{duration, percent};
use fathom_model::{ComparisonRow, Explanation, Findings, Metric};

use super::runs::{ComparedRun, pairs};

/// Without a test that shows more, results whose rates differ by less agree.
const SAME: f64 = 0.05;
/// The least part of the time that a transaction takes longer, of a cost that is named.
const PART: f64 = 0.2;
/// The same of the ratio of the rates, as the share of its logarithm.
const PART_OF_RATIO: f64 = 1.0 / 3.0;
/// Percentage points of all CPUs that others used more, and that the hypervisor took more.
const OTHERS: f64 = 10.0;
const STOLEN: f64 = 1.0;
/// From this ratio on, it is given instead of a share.
const TIMES: f64 = 3.0;
/// Fewer for each transaction, or shares below this, are left out.
const NONE: f64 = 0.005;

/// What a transaction cost on average, and what others used meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// CPU time of the engine, nanoseconds.
    pub cpu_ns: f64,
    /// Number of reads, writes and flushes of the device.
    pub counts: [f64; 3],
    /// Mean time of one of each, nanoseconds; 0 where it is not known.
    pub each_ns: [f64; 3],
    /// Share of all CPUs that others used, percent.
    pub others: Option<f64>,
    /// Share of the CPU time that the hypervisor took, percent.
    pub stolen: Option<f64>,
}

const CPU_TIME: &str = "CPU time";
/// The names of the counts.
const OPERATIONS: [(&str, &str); 3] = [
    ("reads", "time of a read"),
    ("writes", "time of a write"),
    ("flushes", "time of a flush"),
];

impl Costs {
    /// Of a result of `fathom app`.
    #[must_use]
    pub fn of(findings: &Findings) -> Option<Costs> {
        let host = &findings.host;
        let witnessed = host.witnessed.as_ref()?;
        let costs = witnessed.costs.filter(|costs| costs.transactions > 0)?;
        let per = |all: u64| all as f64 / costs.transactions as f64;
        let mean = |time: u64, count: u64| time as f64 / count.max(1) as f64;
        let all = findings.elapsed.get() as f64 * f64::from(host.cpus);
        let own = (witnessed.user.get() + witnessed.system.get()) as f64 / all.max(1.0);
        let others = |busy: f64| (busy - 100.0 * own).clamp(0.0, 100.0);
        Some(Costs {
            cpu_ns: per(costs.cpu_ns),
            counts: [per(costs.reads), per(costs.writes), per(costs.flushes)],
            each_ns: [
                mean(costs.read_ns, costs.reads),
                mean(costs.write_ns, costs.writes),
                mean(costs.flush_ns, costs.flushes),
            ],
            others: host.busy_percent.map(others),
            stolen: host.steal_percent,
        })
    }

    fn mean(of: &[Costs]) -> Costs {
        let mean = |get: &dyn Fn(&Costs) -> f64| of.iter().map(get).sum::<f64>() / of.len() as f64;
        let known = |get: fn(&Costs) -> Option<f64>| {
            let all = of.iter().all(|one| get(one).is_some());
            all.then(|| mean(&|one| get(one).unwrap_or(0.0)))
        };
        Costs {
            cpu_ns: mean(&|one| one.cpu_ns),
            counts: std::array::from_fn(|at| mean(&|one| one.counts[at])),
            each_ns: std::array::from_fn(|at| mean(&|one| one.each_ns[at])),
            others: known(|one| one.others),
            stolen: known(|one| one.stolen),
        }
    }
}

/// A cost of both results.
struct Part {
    name: &'static str,
    slower: f64,
    faster: f64,
    /// How much longer a transaction takes by it, nanoseconds.
    longer: f64,
    text: fn(f64) -> String,
}

impl Part {
    fn is_cause(&self, longer: f64, log_ratio: f64) -> bool {
        let ratio = self.slower / self.faster.max(f64::MIN_POSITIVE);
        self.longer >= PART * longer
            && ratio.ln() >= (PART_OF_RATIO * log_ratio).max(SAME.ln_1p() / 2.0)
    }

    fn cause(&self) -> String {
        let ratio = self.slower / self.faster;
        let more = match ratio {
            ratio if !ratio.is_finite() => String::new(),
            ratio if ratio >= TIMES => format!(" ({ratio:.1} times)"),
            ratio => format!(" (+{})", percent(100.0 * (ratio - 1.0))),
        };
        format!(
            "{} {} in place of {}{more}",
            self.name,
            (self.text)(self.slower),
            (self.text)(self.faster)
        )
    }

    fn beside(&self) -> Option<String> {
        let is_there = self.slower.max(self.faster) >= NONE;
        is_there.then(|| {
            format!(
                "{} {} ({})",
                self.name,
                (self.text)(self.slower),
                (self.text)(self.faster)
            )
        })
    }
}

fn count(value: f64) -> String {
    format!("{value:.2}")
}

/// The costs of a transaction, of the device and of the CPU.
fn parts(slower: &Costs, faster: &Costs) -> Vec<Part> {
    let mut all = vec![Part {
        name: CPU_TIME,
        slower: slower.cpu_ns,
        faster: faster.cpu_ns,
        longer: slower.cpu_ns - faster.cpu_ns,
        text: duration,
    }];
    for (at, (name, time)) in OPERATIONS.into_iter().enumerate() {
        let (counts, each) = (
            (slower.counts[at], faster.counts[at]),
            (slower.each_ns[at], faster.each_ns[at]),
        );
        all.push(Part {
            name,
            slower: counts.0,
            faster: counts.1,
            longer: (counts.0 - counts.1) * if counts.1 > 0.0 { each.1 } else { each.0 },
            text: count,
        });
        all.push(Part {
            name: time,
            slower: each.0,
            faster: each.1,
            longer: counts.0 * (each.0 - each.1),
            text: duration,
        });
    }
    // The time of an operation that is rare says nothing about a transaction.
    all.retain(|part| {
        let place = OPERATIONS.iter().position(|(_, time)| *time == part.name);
        place.is_none_or(|at| slower.counts[at].max(faster.counts[at]) >= NONE)
    });
    all
}

/// What differs for each transaction of a job, of all runs on each side; `rows` are those of the job.
pub(super) fn explanation(
    before: &[&ComparedRun],
    after: &[&ComparedRun],
    rows: &[ComparisonRow],
) -> Option<Explanation> {
    let costs = |runs: &[&ComparedRun]| -> Option<Costs> {
        let all: Option<Vec<Costs>> = runs.iter().map(|run| run.costs).collect();
        all.filter(|all| !all.is_empty())
            .map(|all| Costs::mean(&all))
    };
    let (first, second) = (costs(before)?, costs(after)?);
    let row = rows.iter().find(|row| row.metric == Metric::Iops)?;
    let is_significant = row
        .difference
        .as_ref()
        .is_some_and(fathom_model::Difference::is_significant);
    let is_single = before.len() + after.len() == 2;
    let differs = is_significant || is_single && row.change.abs() > SAME;
    if !differs || row.before <= 0.0 || row.after <= 0.0 {
        return None;
    }
    let is_second = row.after < row.before;
    let (rates, slower, faster) = if is_second {
        ((row.after, row.before), second, first)
    } else {
        ((row.before, row.after), first, second)
    };
    let (longer, log_ratio) = (1e9 / rates.0 - 1e9 / rates.1, (rates.1 / rates.0).ln());
    let parts = parts(&slower, &faster);
    let (causes, beside): (Vec<&Part>, Vec<&Part>) = parts
        .iter()
        .partition(|part| part.is_cause(longer, log_ratio));
    let has = |name: &str| causes.iter().any(|cause| cause.name == name);
    let same_work = has(CPU_TIME) && !OPERATIONS.iter().any(|(count, _)| has(count));
    let mut causes: Vec<String> = causes.into_iter().map(Part::cause).collect();
    let mut beside: Vec<String> = beside.into_iter().filter_map(Part::beside).collect();
    let mut more_of_host = false;
    for (name, values, least) in [
        (
            "CPUs used by others",
            (slower.others, faster.others),
            OTHERS,
        ),
        (
            "CPU time taken by the hypervisor",
            (slower.stolen, faster.stolen),
            STOLEN,
        ),
    ] {
        let (Some(slower), Some(faster)) = values else {
            continue;
        };
        if slower - faster >= least {
            more_of_host = true;
            causes.push(format!(
                "{name} {} in place of {}",
                percent(slower),
                percent(faster)
            ));
        } else {
            beside.push(format!("{name} {} ({})", percent(slower), percent(faster)));
        }
    }
    let which = if is_second { "second" } else { "first" };
    let by = percent(100.0 * (1.0 - rates.0 / rates.1));
    let sentence = if causes.is_empty() {
        format!(
            "the {which} result is {by} slower, and nothing that is recorded for each transaction explains it (the other result in brackets): {}.",
            beside.join(", ")
        )
    } else {
        let mut text = format!(
            "the {which} result is {by} slower; more for each transaction: {}; the rest (the other result in brackets): {}.",
            causes.join(", "),
            beside.join(", ")
        );
        if same_work && !more_of_host {
            text += " The same work took more CPU time, as on CPUs with a lower clock or shared with another virtual machine.";
        }
        text
    };
    Some(Explanation {
        job: row.job.clone(),
        sentence,
    })
}

/// Of two groups of runs, with the rows of all jobs of the first run.
pub(super) fn explanations(
    before: &[Vec<ComparedRun>],
    after: &[Vec<ComparedRun>],
    rows: &[ComparisonRow],
) -> Vec<Explanation> {
    let Some(first) = before.first() else {
        return Vec::new();
    };
    let of_job = |place: usize, runs: &'_ [Vec<ComparedRun>]| -> Option<Vec<usize>> {
        runs.iter().map(|run| pairs(first, run)[place]).collect()
    };
    let explained = first.iter().enumerate().filter_map(|(place, job)| {
        let (old, new) = (of_job(place, before)?, of_job(place, after)?);
        let old: Vec<&ComparedRun> = before.iter().zip(old).map(|(run, at)| &run[at]).collect();
        let new: Vec<&ComparedRun> = after.iter().zip(new).map(|(run, at)| &run[at]).collect();
        let rows: Vec<ComparisonRow> = rows
            .iter()
            .filter(|row| row.job == job.name)
            .cloned()
            .collect();
        explanation(&old, &new, &rows)
    });
    explained.collect()
}
