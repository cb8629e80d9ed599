//! LOOP_BUFFERED: a loop device accesses its file through the page cache.

use fathom_model::{BackingFacts, Direction, Finding, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::bytes;

const ADVICE: &str = "Attach it with losetup --direct-io=on; otherwise direct=1 has no effect below the loop device, where the page cache answers.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let moved: u64 = run.moved().iter().map(|(_, moved)| moved.bytes).sum();
    let direct = Direction::ALL.into_iter().all(|d| run.all_direct(d)) && moved > 0;
    let through = |file: &&BackingFacts| file.direct_io == Some(false);
    let mut devices = run.devices().into_iter().map(|device| &device.before);
    let buffered =
        devices.find_map(|device| Some((&device.name, device.backing.as_ref().filter(through)?)));
    let finding = |(name, file): (&String, &BackingFacts)| {
        let file = file.path.display();
        let evidence = format!(
            "{} passed through {name}, which accesses {file} through the page cache.",
            bytes(moved)
        );
        of_run(Weight::Degrades, evidence, ADVICE)
    };
    buffered
        .filter(|_| direct)
        .map(finding)
        .into_iter()
        .collect()
}
