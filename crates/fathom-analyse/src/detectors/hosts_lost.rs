//! HOST_LOST: a host of the run returned nothing.

use fathom_model::format::duration;
use fathom_model::{Finding, Weight};

use super::RunContext;
use super::context::of_run;

const ADVICE: &str = "Fix the host or its network and run again; until then report the number of hosts with the figures.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let hosts = &run.recording.hosts;
    let present = hosts.iter().filter(|part| part.lost.is_none()).count();
    let lost = hosts
        .iter()
        .filter_map(|part| Some((part, part.lost.as_ref()?)));
    lost.map(|(part, why)| {
        let until = if part.jobs > 0 {
            format!(
                " and the first {} of {}",
                duration(part.elapsed.get() as f64),
                part.name
            )
        } else {
            String::new()
        };
        let evidence = format!(
            "{}: {why}. The figures cover {present} of {} hosts{until}.",
            part.name,
            hosts.len()
        );
        Finding {
            about: Some(part.name.clone()),
            ..of_run(Weight::Invalidates, evidence, ADVICE)
        }
    })
    .collect()
}
