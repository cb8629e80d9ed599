//! `fathom resume` of a run on several hosts whose controller was killed.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use fathom_hosts::{Controller, ControllerPhase, FoundAgent, HostsError};
use fathom_linux::interrupts;
use fathom_model::{CellContent, Findings, Personality, Run, StoredCell};
use fathom_plan::{Invocation, parse_args};
use fathom_store::Store;

use super::run::{merged, named, way_to_server};
use super::{SERVER_VARIABLE, VERSION, controller_name};
use crate::measure::outputs_excluding_targets;
use crate::output::Output;
use crate::print::note_line;
use crate::result_store::RunWriter;
use crate::run::finish;
use crate::session::Session;

/// The fact that names the run to its agents.
const SESSION: &str = "session";
/// The fact with the names of the agents.
const HOSTS: &str = "hosts";
/// The fact with the directory that paths of the command begin in.
const DIRECTORY: &str = "directory";

/// What is stored of a run that begins, so that another process can take it over.
pub fn facts(controller: &Controller, agents: &[FoundAgent]) -> Vec<(String, String)> {
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let directory = std::env::current_dir().unwrap_or_default();
    [
        (SESSION, controller.session().to_owned()),
        (HOSTS, names.join(",")),
        (DIRECTORY, directory.display().to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn fact<'a>(run: &'a Run, name: &str) -> Option<&'a str> {
    let facts = run.experiment.facts.iter();
    let mut found = facts.filter(|(known, _)| known == name);
    found.next().map(|(_, value)| value.as_str())
}

/// Whether agents may still have what this run recorded.
pub fn is_of_hosts(run: &Run) -> bool {
    fact(run, SESSION).is_some()
}

/// Takes over a run: what its agents recorded becomes its result, and a load that still runs goes on.
///
/// # Errors
/// When no agent answers, or none has a recording.
pub fn resume(
    run: &Run,
    mut store: Store,
    is_quiet: bool,
) -> Result<(Findings, bool, Result<(), String>), String> {
    let of_run = |name: &str| {
        fact(run, name).ok_or_else(|| format!("{}: its {name} was not stored", run.id))
    };
    let names: Vec<String> = of_run(HOSTS)?.split(',').map(str::to_owned).collect();
    let directory = Path::new(of_run(DIRECTORY)?);
    let mut invocation = invocation(run)?;
    invocation.reporting.quiet |= is_quiet;
    crate::print::set_quiet(invocation.reporting.quiet);
    if invocation.agents.ssh.is_some() {
        return Err(format!(
            "{}: the agents of --ssh ended with the command that started them; start the run again",
            run.id
        ));
    }
    for file in [
        &mut invocation.agents.credentials,
        &mut invocation.agents.key,
    ] {
        *file = file
            .take()
            .map(|file| directory.join(file).display().to_string());
    }
    // A login is not stored.
    let from_environment = std::env::var(SERVER_VARIABLE).ok();
    if let Some(url) = from_environment.filter(|url| !url.is_empty()) {
        invocation.agents.server = Some(url);
    }
    let content = store
        .content(run.id, StoredCell::default().position)
        .map_err(|error| error.to_string())?;
    let CellContent::Recording(start) = content else {
        return Err(format!("{}: its plan was not stored", run.id));
    };
    let plan = start.plan;
    interrupts();
    let way = way_to_server(&invocation.agents)?;
    let text = |error: HostsError| error.to_string();
    let connection = way.connect().map_err(text)?;
    let name = controller_name();
    let controller =
        Controller::resume(connection, &name, VERSION, of_run(SESSION)?).map_err(text)?;
    let session = Session::on_this_machine();
    let outputs = outputs_excluding_targets(&plan);
    let results = controller.take_over(
        &names,
        way.key.as_ref(),
        &|| interrupts().load(Relaxed),
        &mut |phase| {
            let what = match phase {
                ControllerPhase::Preparing => return,
                ControllerPhase::Running => "the agents answer; a load that still runs goes on",
                ControllerPhase::Collecting => "the load has ended; the results are fetched",
            };
            note_line!("fathom resume: {what}");
        },
    );
    let mut recording = results
        .map_err(text)
        .and_then(|results| merged(&session, &plan, results))
        .map_err(|reasons| format!("{} has no result: {reasons}", run.id))?;
    recording.messages.push(format!(
        "the controller of this run was killed ({}); `fathom resume` fetched what {} had recorded",
        run.experiment.owner,
        named(&names.iter().map(String::as_str).collect::<Vec<_>>())
    ));
    let mut output = Output::open(&invocation.reporting, &outputs)?;
    let writer = RunWriter::resume(&session, "fathom resume", store, run.id)
        .map_err(|error| error.to_string())?;
    finish(&invocation, recording, &mut output, &outputs, writer)
}

/// The command line of the run.
fn invocation(run: &Run) -> Result<Invocation, String> {
    let command = &run.experiment.command;
    let begin = command.iter().position(|word| word == "run");
    let arguments = begin.map_or(&command[..0], |begin| &command[begin + 1..]);
    parse_args(arguments, Personality::Fathom).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        format!("{}: {}", run.id, lines.join("\n"))
    })
}
