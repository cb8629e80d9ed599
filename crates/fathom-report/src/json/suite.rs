//! A suite as a JSON document.

use fathom_model::{
    CellTimeline, SuiteResult, SuiteRounds, SuiteStep, SuiteTenant, SuiteTraining, TimeSlice,
    fairness,
};

use super::grid::grid_object;
use super::with_simulated;
use crate::tree::{Object, Tree};

/// The document and a line end. Latencies are nanoseconds, bandwidth is bytes per second.
#[must_use]
pub fn suite_json(suite: &SuiteResult) -> String {
    let head = Object::new().with("fathom suite", 1_u32);
    let document = with_simulated(head, suite.simulated.as_ref())
        .with("name", &suite.name)
        .with("title", &suite.title)
        .with("procedure", suite.procedure.as_ref())
        .with("certified", false)
        .with("target", &suite.target)
        .with("notes", suite.notes.iter().collect::<Tree>())
        .with("steps", suite.steps.iter().map(step).collect::<Tree>());
    let document: Tree = match &suite.answer {
        Some(answer) => document.with("answer", answer),
        None => document,
    }
    .into();
    let mut bytes = Vec::new();
    document.write(&mut bytes).expect("writing to memory");
    String::from_utf8_lossy(&bytes).into_owned() + "\n"
}

fn step(step: &SuiteStep) -> Object {
    Object::new()
        .with("name", &step.name)
        .with("title", &step.title)
        .with("result", grid_object(&step.grid))
        .with("rounds", step.rounds.as_ref().map(rounds))
        .with("tenants", step.tenants.iter().map(tenant).collect::<Tree>())
        .with("fairness", fairness(&step.tenants))
        .with("training", step.training.as_ref().map(training))
        .with(
            "over_time",
            step.timelines.iter().map(course).collect::<Tree>(),
        )
}

fn tenant(tenant: &SuiteTenant) -> Object {
    Object::new()
        .with("name", &tenant.name)
        .with("iops", tenant.iops)
        .with("bw_bytes", tenant.bandwidth)
        .with("figure", &tenant.figure)
        .with("latency_ns", tenant.latency)
        .with("limit_ns", tenant.limit)
        .with("within_limit", tenant.limit.map(|_| !tenant.breaks()))
        .with("share_of_alone", tenant.of_alone())
        .with("latency_alone_ns", tenant.alone.map(|(_, latency)| latency))
}

fn training(training: &SuiteTraining) -> Object {
    let utilisation = training.utilisation.iter().map(|(accelerators, share)| {
        Object::new()
            .with("accelerators", *accelerators)
            .with("utilisation", *share)
    });
    Object::new()
        .with("utilisation", utilisation.collect::<Tree>())
        .with("least_percent", training.least)
        .with("most_accelerators", training.most)
}

fn rounds(rounds: &SuiteRounds) -> Object {
    let tracked = rounds.tracked.iter().map(|(name, values)| {
        Object::new()
            .with("cell", name)
            .with("values", values.iter().copied().collect::<Tree>())
    });
    Object::new()
        .with("tracked", tracked.collect::<Tree>())
        .with("unit", &rounds.unit)
        .with("steady_round", rounds.steady)
        .with("sentences", rounds.sentences.iter().collect::<Tree>())
}

fn course(course: &CellTimeline) -> Object {
    Object::new()
        .with("cell", &course.cell)
        .with("iops_mean", course.mean)
        .with("iops_deviation", course.deviation)
        .with("iops_slowest_second", course.range.0)
        .with("iops_fastest_second", course.range.1)
        .with("sentence", &course.sentence)
        .with("slices", course.slices.iter().map(slice).collect::<Tree>())
}

fn slice(slice: &TimeSlice) -> Object {
    Object::new()
        .with("start_ns", slice.start.get())
        .with("iops", slice.iops)
        .with("bw_bytes", slice.bandwidth)
        .with("p99_ns", slice.p99)
        .with("max_ns", slice.max)
}
