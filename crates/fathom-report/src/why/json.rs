//! The answer as JSON. Units are at the end of the names; what is unknown is `null` or absent.

use fathom_trace::{WhyAnswer, WhyFinding};

use crate::tree::{Object, Tree};

const VERSION: u64 = 1;

/// The document of an answer, with a line end.
#[must_use]
pub fn why_json(answer: &WhyAnswer) -> String {
    let stuck = answer.stuck.iter().map(|thread| {
        Object::new()
            .with("pid", thread.pid)
            .with("name", &thread.name)
            .with("at_least_s", thread.seconds)
            .with("call", thread.call)
            .with("file", thread.file.as_ref())
            .with("mount", thread.mount.as_ref())
    });
    let cost = Object::new()
        .with("cpu_ns", answer.cost.cpu_ns)
        .with("processes", answer.processes)
        .with("looks", answer.looks)
        .with("events", answer.cost.events)
        .with("lost_events", answer.cost.lost_events);
    let texts = |all: &[String]| all.iter().collect::<Tree>();
    let object: Tree = Object::new()
        .with("version", VERSION)
        .with("scope", &answer.scope)
        .with("seconds", answer.seconds)
        .with("conclusion", finding(&answer.finding))
        .with("also", answer.also.iter().map(finding).collect::<Tree>())
        .with("stuck", stuck.collect::<Tree>())
        .with("devices", texts(&answer.devices))
        .with("uses", texts(&answer.uses))
        .with("waits", texts(&answer.waits))
        .with("not_looked_at", texts(&answer.not_looked_at))
        .with("cost", cost)
        .into();
    let mut bytes = Vec::new();
    object.write(&mut bytes).expect("memory takes everything");
    String::from_utf8_lossy(&bytes).into_owned() + "\n"
}

fn finding(finding: &WhyFinding) -> Object {
    let subjects = finding.subjects.iter().map(|subject| {
        Object::new()
            .with("role", subject.role)
            .with("name", &subject.name)
            .with("pid", subject.pid)
    });
    let mut figures = Object::new();
    for (name, value) in &finding.figures {
        figures.push(*name, *value);
    }
    let texts = |all: &[String]| all.iter().collect::<Tree>();
    Object::new()
        .with("cause", finding.cause.name())
        .with("certainty", finding.certainty.name())
        .with("sentence", &finding.sentence)
        .with("settled_by", finding.settled_by.as_ref())
        .with("subjects", subjects.collect::<Tree>())
        .with("figures", figures)
        .with("evidence_for", texts(&finding.evidence_for))
        .with("evidence_against", texts(&finding.evidence_against))
        .with("actions", texts(&finding.actions))
}
