//! The commands that a plan runs.

use fathom_model::{Job, Plan};

/// Every command that the jobs of `plan` run, one sentence each, clones once. The job file of
/// somebody else can run anything, so this comes before everything else that is said about a plan.
#[must_use]
pub fn plan_commands(plan: &Plan) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for command in plan.jobs.iter().flat_map(commands) {
        if !all.contains(&command) {
            all.push(command);
        }
    }
    all
}

fn commands(job: &Job) -> impl Iterator<Item = String> {
    let sentence = |when: &str, command: &str| format!("{} runs {when}: {command}", job.name);
    let program = job.engine.settings.program.as_ref().map(|program| {
        let words: Vec<&str> = std::iter::once(program.path.as_str())
            .chain(program.arguments.iter().map(String::as_str))
            .collect();
        words.join(" ")
    });
    let before = job.start.command_before.as_deref();
    let after = job.start.command_after.as_deref();
    [
        before.map(|line| sentence("before its start (exec_prerun)", line)),
        program.map(|line| sentence("during its run (ioengine=exec)", &line)),
        after.map(|line| sentence("after its end (exec_postrun)", line)),
    ]
    .into_iter()
    .flatten()
}
