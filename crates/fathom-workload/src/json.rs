//! Profiles and scores as JSON. Times are in nanoseconds, sizes in bytes, shares from 0 to 1, scores from 0 to 100.

use serde_json::{Value, json};

use crate::arrivals::{ArrivalModel, Arrivals};
use crate::depth::Depth;
use crate::fidelity::{Fidelity, TOTAL_RULE};
use crate::histogram::LogHistogram;
use crate::profile::{Profile, Sizes, Total};
use crate::reader::TraceFacts;
use crate::record::IoKind;
use crate::space::Pattern;
use crate::text::{sentence, worst_sentence};

fn totals(totals: &[Total; 4]) -> Value {
    IoKind::ALL
        .into_iter()
        .map(|kind| {
            let total = totals[kind as usize];
            let value = json!({"ios": total.ios, "bytes": total.bytes});
            (kind.plural().to_owned(), value)
        })
        .collect()
}

fn sizes(sizes: &Sizes) -> Value {
    sizes
        .iter()
        .map(|(size, count)| json!([size, count]))
        .collect()
}

fn model(model: &ArrivalModel) -> Value {
    let name = model.name();
    match *model {
        ArrivalModel::Unknown => json!({"name": name}),
        ArrivalModel::Constant { gap } => json!({"name": name, "gap_ns": gap}),
        ArrivalModel::Exponential { mean } => json!({"name": name, "mean_ns": mean}),
        ArrivalModel::Hyper { share, short, long } => {
            json!({"name": name, "share": share, "short_ns": short, "long_ns": long})
        }
        ArrivalModel::OnOff {
            burst,
            gap,
            pause,
            deviation,
        } => {
            json!({"name": name, "burst_ios": burst, "gap_ns": gap, "pause_ns": pause, "pause_deviation_ns": deviation})
        }
    }
}

fn arrivals(arrivals: &Arrivals) -> Value {
    json!({
        "mean_gap_ns": arrivals.mean_gap,
        "cv2": arrivals.cv2,
        "autocorrelation": arrivals.autocorrelation,
        "dispersion": {"10ms": arrivals.dispersion[0], "100ms": arrivals.dispersion[1], "1s": arrivals.dispersion[2]},
        "model": model(&arrivals.model),
        "model_distance": arrivals.distance,
    })
}

fn depth(depth: Option<&Depth>) -> Value {
    depth.map_or(Value::Null, |depth| {
        json!({
            "mean": depth.mean,
            "max": depth.max,
            "closed_loop": depth.closed,
            "time_shares": depth.shares,
        })
    })
}

fn quantiles(histogram: &LogHistogram) -> Value {
    if histogram.total() == 0 {
        return Value::Null;
    }
    json!({
        "count": histogram.total(),
        "mean": histogram.mean(),
        "p50": histogram.quantile(0.5),
        "p90": histogram.quantile(0.9),
        "p99": histogram.quantile(0.99),
        "p999": histogram.quantile(0.999),
    })
}

fn pattern(pattern: &Pattern) -> Value {
    match pattern {
        Pattern::Sequential { places, run } => {
            json!({"name": "sequential", "places": places, "run_ios": run})
        }
        Pattern::Uniform => json!({"name": "uniform"}),
        Pattern::Zipf { theta } => json!({"name": "zipf", "theta": theta}),
        Pattern::Zones(zones) => {
            let zones: Vec<Value> = zones
                .iter()
                .map(
                    |zone| json!({"offset": zone.offset, "bytes": zone.bytes, "share": zone.share}),
                )
                .collect();
            json!({"name": "zones", "zones": zones})
        }
    }
}

/// A profile.
#[must_use]
pub fn profile_json(profile: &Profile, name: &str, facts: &TraceFacts) -> Value {
    let streams: Vec<Value> = profile
        .streams
        .iter()
        .map(|stream| {
            json!({
                "device": facts.devices.get(stream.device as usize),
                "process": (stream.process > 0).then_some(stream.process),
                "totals": totals(&stream.totals),
                "read_sizes": sizes(&stream.sizes[0]),
                "write_sizes": sizes(&stream.sizes[1]),
                "start": stream.start,
                "end": stream.end,
                "pattern": pattern(&stream.pattern),
                "first_ns": stream.first,
                "last_ns": stream.last,
                "iops": stream.iops(),
                "arrivals": arrivals(&stream.arrivals),
                "in_flight": depth(stream.depth.as_ref()),
                "think_time_ns": quantiles(&stream.think),
                "latency_ns": quantiles(&stream.latency),
                "writes_per_flush": stream.flushing.map(|flushing| flushing.every),
                "fua_share": stream.fua,
            })
        })
        .collect();
    let phases: Vec<Value> = profile
        .phases
        .iter()
        .map(|phase| {
            json!({
                "start_ns": phase.start,
                "end_ns": phase.end,
                "iops": phase.iops,
                "read_share": phase.read_share,
                "mean_size": phase.mean_size,
            })
        })
        .collect();
    let locality = &profile.locality;
    json!({
        "trace": name,
        "format": facts.format.name(),
        "sentence": sentence(profile),
        "length_ns": profile.length,
        "lines": facts.lines,
        "malformed": facts.malformed,
        "notes": facts.notes(profile.ios(), profile.with_latency, profile.length > 0),
        "devices": facts.devices,
        "lost_events": facts.lost,
        "with_latency": profile.with_latency,
        "totals": totals(&profile.totals),
        "read_sizes": sizes(&profile.sizes[0]),
        "write_sizes": sizes(&profile.sizes[1]),
        "sequential_share": profile.sequential,
        "footprint": locality.footprint,
        "working_set_mean": locality.working_set_mean,
        "working_set_max": locality.working_set_max,
        "miss_ratio": locality.miss_ratio,
        "sampled_blocks": locality.sampled,
        "iops": profile.iops(),
        "arrivals": arrivals(&profile.arrivals),
        "in_flight": depth(profile.depth.as_ref()),
        "latency_ns": quantiles(&profile.latency),
        "phases": phases,
        "streams": streams,
    })
}

/// A score.
#[must_use]
pub fn fidelity_json(fidelity: &Fidelity, a: &str, b: &str) -> Value {
    let parts: Vec<Value> = fidelity
        .parts
        .iter()
        .map(|part| {
            json!({"name": part.name, "score": part.score, "rule": part.rule, "detail": part.detail})
        })
        .collect();
    json!({
        "a": a,
        "b": b,
        "total": fidelity.total,
        "total_rule": TOTAL_RULE,
        "worst": fidelity.worst().map(|part| worst_sentence(part.name, part.score, &part.detail)),
        "parts": parts,
    })
}
