//! One element of `jobs[]`.

use fathom_model::{Entry, SteadyMeasure, SteadySample, SteadySummary};

use super::direction::{direction, sync};
use super::options;
use crate::Style;
use crate::names::{LATENCY_CLASSES, measure_name};
use crate::tree::{Object, Tree};

const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
/// One job, or a group reported as one.
pub(super) fn entry(entry: &Entry, style: &Style, plus: bool) -> Tree {
    object(entry, style, plus, false).into()
}

/// The same in the result of several clients.
pub(super) fn client_entry(entry: &Entry, style: &Style, plus: bool) -> Object {
    object(entry, style, plus, true)
}

fn object(entry: &Entry, style: &Style, plus: bool, of_client: bool) -> Object {
    let mut root = Object::new()
        .with("jobname", &entry.name)
        .with("groupid", entry.group)
        .with("job_start", entry.started_unix_ms)
        .with("error", entry.error);
    // A client does not ask how long the run still takes.
    if !of_client {
        root.push("eta", style.eta_s);
        root.push("elapsed", entry.elapsed_s);
    }
    if !entry.options.is_empty() {
        root.push("job options", options(&entry.options));
    }
    push_directions(&mut root, entry, plus);
    push_usage(&mut root, entry);
    push_tables(&mut root, entry);
    push_errors(&mut root, entry);
    push_target(&mut root, entry);
    if let Some(text) = entry.description.as_ref().filter(|text| !text.is_empty()) {
        root.push("desc", text);
    }
    if let Some(steady) = &entry.steady {
        root.push("steadystate", steady_state(steady));
    }
    root
}

/// fio's `steadystate`: the criterion, the result, and the samples.
fn steady_state(steady: &SteadySummary) -> Object {
    let (recorded, rule) = (&steady.recording, &steady.recording.rule);
    let unit = if rule.percent { "%" } else { "" };
    let slope = if rule.slope { "_slope" } else { "" };
    let metric = measure_name(rule.measure);
    let samples = |of: fn(&SteadySample) -> u64| recorded.samples.iter().map(of).collect::<Tree>();
    let mut data = Object::new()
        .with("bw_mean", steady.mean.bandwidth)
        .with("iops_mean", steady.mean.iops);
    if rule.measure == SteadyMeasure::Latency {
        data.push("lat_mean", steady.mean.latency.get());
        data.push("lat_ns", samples(|sample| sample.latency.get()));
    }
    data.push("iops", samples(|sample| sample.iops));
    data.push("bw", samples(|sample| sample.bandwidth));
    Object::new()
        .with("ss", format!("{metric}{slope}:{:.6}{unit}", rule.limit))
        .with("duration", rule.duration.get() / 1_000_000_000)
        .with("attained", u64::from(recorded.attained))
        .with("criterion", format!("{:.6}{unit}", recorded.criterion))
        .with("max_deviation", recorded.deviation)
        .with("slope", recorded.slope)
        .with("data", data)
}

fn push_directions(root: &mut Object, entry: &Entry, plus: bool) {
    let mixed = entry
        .mixed
        .as_ref()
        .map(|summary| direction(summary, entry, plus));
    if mixed.is_none() || entry.show_directions {
        for (way, summary) in entry.directions.iter() {
            root.push(way.name(), direction(summary, entry, plus));
        }
        // As in fio, syncs are not shown where only the mix is.
        root.push("sync", sync(entry, plus));
    }
    if let Some(mixed) = mixed {
        root.push("mixed", mixed);
    }
}

fn push_usage(root: &mut Object, entry: &Entry) {
    root.push("job_runtime", entry.job_runtime.as_millis());
    root.push("usr_cpu", entry.user_percent);
    root.push("sys_cpu", entry.system_percent);
    root.push("ctx", entry.switches);
    root.push("majf", entry.major_faults);
    root.push("minf", entry.minor_faults);
}

fn push_tables(root: &mut Object, entry: &Entry) {
    root.push("iodepth_level", table(&DEPTHS, &entry.depth_levels));
    root.push("iodepth_submit", table(&BATCHES, &entry.submit_levels));
    root.push("iodepth_complete", table(&BATCHES, &entry.complete_levels));
    root.push("latency_ns", table(&LATENCY_CLASSES, &entry.latency_ns));
    root.push("latency_us", table(&LATENCY_CLASSES, &entry.latency_us));
    root.push("latency_ms", table(&LATENCY_CLASSES, &entry.latency_ms));
}

fn table(names: &[&str], shares: &[f64]) -> Object {
    Object::of(
        names
            .iter()
            .zip(shares)
            .map(|(name, share)| ((*name).to_string(), Tree::Float(*share))),
    )
}

fn push_errors(root: &mut Object, entry: &Entry) {
    if let Some((total, first)) = entry.errors_continued {
        root.push("total_err", total);
        root.push("first_error", first);
    }
}

/// The result of `latency_target`; without it, its depth is the queue depth. As in fio, a job without I/O has
/// none of these keys.
fn push_target(root: &mut Object, entry: &Entry) {
    if entry.depth == 0 {
        return;
    }
    let target = entry.latency.map(|search| search.target);
    let limit = target.map_or(0, |target| target.limit.get());
    let window = target.map_or(0, |target| target.window.get() / 1_000);
    root.push(
        "latency_depth",
        entry.latency.map_or(entry.depth, |search| search.depth),
    );
    root.push("latency_target", limit);
    root.push("latency_target_ns", limit);
    root.push(
        "latency_percentile",
        target.map_or(100.0, |target| target.percentile),
    );
    root.push("latency_window", window);
    root.push("latency_window_us", window);
}
