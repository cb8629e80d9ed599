//! HOSTS_DIFFER: hosts with different kernels, CPUs, memory or devices.

use std::collections::BTreeMap;

use fathom_model::{Finding, HostPart, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::bytes;

/// Names of hosts in a sentence.
const SHOWN: usize = 3;
const ADVICE: &str =
    "A difference between the figures of these hosts may be theirs, not that of the storage.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let hosts: Vec<&HostPart> = run
        .recording
        .hosts
        .iter()
        .filter(|part| part.lost.is_none())
        .collect();
    let properties: [(&str, fn(&HostPart) -> String); 4] = [
        ("kernel", |part| part.host.kernel.clone()),
        ("CPUs", |part| part.host.cpus.to_string()),
        // Two machines of one type differ by a few MiB.
        ("memory", |part| {
            bytes((part.host.memory.get() + (1 << 29)) >> 30 << 30)
        }),
        ("device", devices),
    ];
    let differences: Vec<String> = properties
        .iter()
        .filter_map(|(name, of)| difference(name, *of, &hosts))
        .collect();
    if differences.is_empty() {
        return Vec::new();
    }
    let evidence = format!("The hosts differ: {}.", differences.join("; "));
    vec![of_run(Weight::Note, evidence, ADVICE)]
}

/// `kernel 6.1 (a, b), 6.8 (c)`; nothing if all are equal.
fn difference(name: &str, of: fn(&HostPart) -> String, hosts: &[&HostPart]) -> Option<String> {
    let mut values: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for part in hosts {
        values.entry(of(part)).or_default().push(&part.name);
    }
    if values.len() < 2 {
        return None;
    }
    let shown: Vec<String> = values
        .iter()
        .map(|(value, names)| {
            let rest = match names.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let names = names[..names.len().min(SHOWN)].join(", ");
            format!("{value} ({names}{rest})")
        })
        .collect();
    Some(format!("{name} {}", shown.join(", ")))
}

/// Model and size of every device below the targets: two hosts may call the same device by other names.
fn devices(part: &HostPart) -> String {
    let mut all: Vec<String> = part
        .targets
        .iter()
        .flat_map(|target| &target.devices)
        .map(|device| {
            let facts = &device.before;
            match &facts.identity.model {
                Some(model) => format!("{model} {}", bytes(facts.size.get())),
                None => bytes(facts.size.get()),
            }
        })
        .collect();
    all.sort();
    all.dedup();
    all.join(" + ")
}
