//! The result of `steadystate` in fio's JSON: `ss` (`iops_slope:0.3%`), the detected state, and a
//! sample for each interval.

use fathom_model::{
    Nanos, SteadyMeasure, SteadyRecording, SteadyRule, SteadySample, SteadySummary,
};
use serde_json::Value;

use crate::number::lenient;

/// Limit of samples: 12 days of seconds.
const MOST: usize = 1 << 20;

/// The steady state in a job record; `None` if it is missing or invalid.
pub(crate) fn steady(state: &Value) -> Option<SteadySummary> {
    let (what, limit) = state["ss"].as_str()?.split_once(':')?;
    let (word, slope) = what
        .strip_suffix("_slope")
        .map_or((what, false), |word| (word, true));
    let measure = match word {
        "iops" => SteadyMeasure::Iops,
        "bw" => SteadyMeasure::Bandwidth,
        "lat" => SteadyMeasure::Latency,
        _ => return None,
    };
    let data = &state["data"];
    let samples = samples(data);
    let duration = Nanos::from_millis((lenient(state, "duration").min(1e9) * 1e3) as u64);
    // fio samples every second by default and does not write the interval.
    let interval = Nanos::new(duration.get() / (samples.len() as u64).max(1));
    let rule = SteadyRule {
        measure,
        slope,
        limit: number(limit)?,
        percent: limit.trim_end().ends_with('%'),
        duration,
        ramp: Nanos::ZERO,
        interval,
    };
    let mean = SteadySample {
        iops: whole(data, "iops_mean"),
        bandwidth: whole(data, "bw_mean"),
        latency: Nanos::new(whole(data, "lat_mean")),
    };
    let seen = SteadyRecording {
        rule,
        attained: lenient(state, "attained") > 0.0,
        slope: state["slope"].as_f64().unwrap_or(0.0),
        deviation: lenient(state, "max_deviation"),
        criterion: state["criterion"].as_str().and_then(number).unwrap_or(0.0),
        samples,
    };
    Some(SteadySummary {
        recording: seen,
        mean,
    })
}

fn samples(data: &Value) -> Vec<SteadySample> {
    let list = |name: &str| data[name].as_array().map_or(&[][..], Vec::as_slice);
    let (iops, bandwidth, latency) = (list("iops"), list("bw"), list("lat_ns"));
    let at = |list: &[Value], place: usize| {
        list.get(place)
            .and_then(Value::as_f64)
            .filter(|value| (0.0..=1e18).contains(value))
            .unwrap_or(0.0) as u64
    };
    let one = |place| SteadySample {
        iops: at(iops, place),
        bandwidth: at(bandwidth, place),
        latency: Nanos::new(at(latency, place)),
    };
    (0..iops.len().max(bandwidth.len()).min(MOST))
        .map(one)
        .collect()
}

fn whole(data: &Value, name: &str) -> u64 {
    lenient(data, name) as u64
}

/// `0.300000%`
fn number(text: &str) -> Option<f64> {
    text.trim()
        .trim_end_matches('%')
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As fio 3.33 writes it after `steadystate=iops_slope:0.3%`, `steadystate_duration=3`.
    #[test]
    fn the_rule_and_the_detected_state_are_read() {
        let state = serde_json::json!({"ss": "iops_slope:0.300000%", "duration": 3, "attained": 1, "criterion": "0.120000%", "max_deviation": 0.0,
            "slope": -1.2, "data": {"bw_mean": 4096000, "iops_mean": 1000, "iops": [1001, 1000, 999], "bw": [4100096, 4096000, 4091904]}});
        let read = steady(&state).expect("a steady state");
        let rule = read.recording.rule;
        assert_eq!(
            (rule.measure, rule.slope, rule.limit, rule.percent),
            (SteadyMeasure::Iops, true, 0.3, true)
        );
        assert_eq!(
            (rule.duration, rule.interval, rule.samples()),
            (Nanos::from_millis(3000), Nanos::from_millis(1000), 3)
        );
        assert!(
            read.recording.attained
                && read.recording.slope == -1.2
                && read.recording.criterion == 0.12
        );
        assert_eq!(
            read.recording
                .samples
                .iter()
                .map(|sample| (sample.iops, sample.bandwidth))
                .collect::<Vec<_>>(),
            [(1001, 4_100_096), (1000, 4_096_000), (999, 4_091_904)]
        );
        assert_eq!((read.mean.iops, read.mean.bandwidth), (1000, 4_096_000));
    }

    #[test]
    fn invalid_steady_states_are_ignored() {
        for ss in ["", "iops", "speed:1%", "iops:x", "iops:inf"] {
            assert_eq!(
                steady(&serde_json::json!({"ss": ss, "duration": 1e300})),
                None,
                "{ss}"
            );
        }
        assert!(steady(&serde_json::json!({"ss": "lat:5", "duration": 1e300, "data": {"iops": ["x", -1, 1e99]}})).is_some());
    }
}
