//! MEMORY_BACKED: the target is memory.

use fathom_model::{Finding, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::bytes;
use crate::witnessed::program_name;

/// Block devices that are memory: compressed, and plain.
const DISKS: [&str; 2] = ["zram", "ram"];
const ADVICE: &str = "These figures are those of RAM and the CPU; use a real storage device.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    if let Some(witnessed) = run.witnessed() {
        let files = &witnessed.files;
        let memory = files.iter().find(|file| file.memory_backed);
        let all = memory.filter(|_| files.iter().all(|file| file.memory_backed));
        let evidence = |file: &fathom_model::OpenedFile| {
            format!(
                "{} is on a file system in memory, as are all files that {} had open.",
                file.path.display(),
                program_name(witnessed)
            )
        };
        let found = all.map(|file| of_run(Weight::Degrades, evidence(file), ADVICE));
        return found.into_iter().collect();
    }
    let conditions = &run.recording.conditions;
    // Direct I/O on such a file is DIRECT_NOT_DIRECT.
    let direct = |path| {
        run.members()
            .any(|m| m.job.files.direct && m.job.files.paths.contains(path))
    };
    let file = conditions
        .targets
        .iter()
        .find(|t| t.memory_backed && !direct(&t.path));
    let named = |name: &str| {
        DISKS.iter().any(|disk| {
            name.strip_prefix(disk)
                .is_some_and(|n| n.parse::<u32>().is_ok())
        })
    };
    let disk = run
        .devices()
        .into_iter()
        .find(|device| named(&device.before.name));
    let memory = bytes(run.recording.host.memory.get());
    let what = file
        .map(|t| format!("{} is", t.path.display()))
        .or(disk.map(|d| format!("{} is a device", d.before.name)));
    let evidence = |what| format!("{what} in the {memory} of memory of this machine.");
    what.map(|what| of_run(Weight::Degrades, evidence(what), ADVICE))
        .into_iter()
        .collect()
}
