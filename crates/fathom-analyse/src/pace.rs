//! Results of `steadystate` and `latency_target`.

use fathom_model::{DepthSearch, Nanos, SteadyRecording, SteadySample, SteadySummary};

use crate::members::Member;

/// The steady state of an entry. It is recorded with the first of the jobs that are judged
/// together.
pub(crate) fn steady(members: &[Member]) -> Option<SteadySummary> {
    members
        .iter()
        .find_map(|member| member.seen.pace.steady.as_ref())
        .map(summary)
}

/// As in fio, samples that were not taken count as zeros.
fn summary(seen: &SteadyRecording) -> SteadySummary {
    let mut seen = seen.clone();
    let n = seen.rule.samples();
    seen.samples
        .resize(n.max(seen.samples.len()), SteadySample::default());
    let mean = |of: fn(&SteadySample) -> u64| seen.samples.iter().map(of).sum::<u64>() / n as u64;
    let mean = SteadySample {
        iops: mean(|sample| sample.iops),
        bandwidth: mean(|sample| sample.bandwidth),
        latency: Nanos::new(mean(|sample| sample.latency.get())),
    };
    SteadySummary {
        recording: seen,
        mean,
    }
}

/// The depth search of the last member that searched, as fio reports it.
pub(crate) fn search(members: &[Member]) -> Option<DepthSearch> {
    members.iter().rev().find_map(|member| {
        let target = member.job.pace.latency?;
        let depth = member
            .seen
            .pace
            .latency_depth
            .unwrap_or(member.job.queue.depth);
        Some(DepthSearch { target, depth })
    })
}
