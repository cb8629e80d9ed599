//! `fathom run --hosts`: sends the jobs to agents, and makes one result of what they recorded.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::Ordering::Relaxed;

use fathom_durable::Fingerprint;
use fathom_hosts::protocol::Job;
use fathom_hosts::{
    ControllerPhase, FoundAgent, HostResult, HostsError, ReceivedHost, Selection, SigningKey,
    host_variables, merge, place, read_intervals, without_host,
};
use fathom_linux::interrupts;
use fathom_model::{Findings, Personality, Plan, Recording, RunEnd};
use fathom_plan::{AgentOptions, Invocation, Planned, Severity, plan};

use super::clients::{Clients, Line};
use super::machine::Noting;
use super::permissions::unsupported;
use super::ssh::{Launched, SshOptions};
use super::{Way, server, taken_over};
use crate::durable::{create_secret, read_small};
use crate::measure::outputs_excluding_targets;
use crate::output::Output;
use crate::print::{eprint_line, note_line};
use crate::run::{finish, run_writer};
use crate::session::Session;

/// Runs the jobs on the agents that `--hosts` selects. The values are those of a run on this host.
///
/// # Errors
/// When the run could not begin, or no host returned a result.
pub fn run(
    session: &Session,
    invocation: &Invocation,
    arguments: &[String],
) -> Result<(Findings, bool, Result<(), String>), String> {
    let options = &invocation.agents;
    refuse_local_options(invocation)?;
    let clients = Clients::of(invocation)?;
    let simulated = Way::to_simulated(session, names_server(options))?;
    let mut selection = match &clients {
        Some(clients) => clients.selection()?,
        None => Selection::parse(options.hosts.as_deref().unwrap_or_default())
            .map_err(|error| format!("--hosts: {error}"))?,
    };
    let ssh = ssh_options(options)?;
    // Mistakes of the job file are found before any agent is asked.
    let find_mistakes = |line: &Line| planned(session, line, host_variables(&["host"], 0), None);
    let lines = match &clients {
        Some(clients) => clients.lines(invocation, arguments),
        None => vec![Line::new(invocation.clone(), arguments)],
    };
    let mut firsts = lines
        .iter()
        .map(find_mistakes)
        .collect::<Result<Vec<_>, _>>()?;
    if clients.is_none() {
        let first = &firsts[0].0;
        for remark in first.warnings.iter().chain(&first.notes) {
            match remark.severity {
                Severity::Note => note_line!("{remark}"),
                _ => eprint_line!("{remark}"),
            }
        }
    }
    interrupts();
    let is_interrupted = || interrupts().load(Relaxed) > 0;
    let launched = ssh
        .map(|ssh| Launched::start("run", &ssh, &selection))
        .transpose()?;
    let way = match (simulated, &launched) {
        (Some(simulated), _) => simulated,
        (None, Some(launched)) => {
            selection = Selection::Names(launched.names());
            Way::to_launched(launched)?
        }
        (None, None) => way_to_server(options)?,
    };
    let text = |error: HostsError| error.to_string();
    let controller = way.controller().map_err(text)?;
    let mut agents = controller
        .find(&selection, &[], &is_interrupted)
        .map_err(text)?;
    match &clients {
        Some(clients) => agents.sort_by_key(|agent| clients.place(&agent.name)),
        None => agents = with_jobs(&firsts[0].0.plan, agents)?,
    }
    let all: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let variables = |rank: usize| host_variables(&all, rank);
    // The line of a host: each client has its own, in the order of the agents.
    let of_host = |rank: usize| if clients.is_some() { rank } else { 0 };
    let (mut plans, mut jobs) = (Vec::new(), Vec::new());
    for (rank, (_, job)) in firsts.drain(..).enumerate() {
        let (own, job) = planned(session, &lines[rank], variables(rank), Some(&job))?;
        plans.push(own.plan);
        jobs.push(job);
    }
    let plan = plans[0].clone();
    if clients.is_none() {
        note_line!("fathom run: {} on {}", describe(&plan), names(&agents));
    }
    let outputs = outputs_excluding_targets(&plan);
    let mut output = Output::open(&invocation.reporting, &outputs)?;
    if let Some(clients) = &clients {
        output.set_clients(clients.with_plans(plans))?;
    }
    let mut run_writer = run_writer(session, invocation, &plan);
    // Simulated agents end with this process: nobody can take the run over.
    let facts = if way.is_simulated() {
        Vec::new()
    } else {
        taken_over::facts(&controller, &agents)
    };
    run_writer.start(&plan, facts);
    let results = controller.run(
        &agents,
        // The files are the same for all but clients; otherwise only the variables differ.
        &|rank| {
            let mut job = jobs[of_host(rank)].clone();
            job.variables.extend(variables(rank));
            job
        },
        way.key.as_ref(),
        &|| interrupts().load(Relaxed),
        &mut |phase| {
            let what = match phase {
                _ if clients.is_some() => return,
                ControllerPhase::Preparing => "the agents check and lay out their targets",
                ControllerPhase::Running => "all agents are ready; the load starts",
                ControllerPhase::Collecting => "the load has ended; the results are fetched",
            };
            note_line!("fathom run: {what}");
        },
    );
    let merged = results
        .map_err(text)
        .and_then(|results| merged(session, &plan, results));
    match merged {
        Ok(recording) => finish(invocation, recording, &mut output, &outputs, run_writer),
        Err(message) => {
            run_writer.remove();
            Err(message)
        }
    }
}

/// Whether options name a server, or a way to start one.
fn names_server(options: &AgentOptions) -> bool {
    options.ssh.is_some()
        || options.server.is_some()
        || options.fingerprint.is_some()
        || options.credentials.is_some()
        || options.key.is_some()
}

/// The options that begin with `--ssh`, if they are given.
fn ssh_options(options: &AgentOptions) -> Result<Option<SshOptions<'_>>, String> {
    let own_server = names_server(&AgentOptions {
        ssh: None,
        ..options.clone()
    });
    let more = [
        &options.ssh_command,
        &options.ssh_fathom,
        &options.ssh_listen,
    ]
    .map(Option::as_deref);
    match options.ssh.as_deref() {
        Some(_) if own_server => Err(fathom_cli::SSH_ALONE.to_owned()),
        Some(hosts) => Ok(Some(SshOptions {
            hosts,
            command: more[0],
            fathom: more[1],
            listen: more[2],
        })),
        None if more.iter().any(Option::is_some) => Err(fathom_cli::NEED_SSH.to_owned()),
        None => Ok(None),
    }
}

/// The way through a server that exists, with the key of `--key`.
pub(super) fn way_to_server(options: &AgentOptions) -> Result<Way, String> {
    let fingerprint = options
        .fingerprint
        .as_deref()
        .map(Fingerprint::from_str)
        .transpose()
        .map_err(|error| format!("--nats-fingerprint: {error}"))?;
    let server = server(
        options.server.as_deref(),
        options.credentials.as_deref().map(Path::new),
        fingerprint.map(|fingerprint| fingerprint.0),
    )?;
    let key = options.key.as_deref();
    let key = key
        .map(|file| signing_key(Path::new(file), "run"))
        .transpose()?;
    Ok(Way::to_server(server, key))
}

/// The agents that have a job.
///
/// # Errors
/// When a job has no host.
fn with_jobs(plan: &Plan, agents: Vec<FoundAgent>) -> Result<Vec<FoundAgent>, String> {
    let facts = agents
        .iter()
        .map(|agent| (agent.name.as_str(), &agent.labels));
    if let Some((job, hosts)) = without_host(plan, facts)? {
        return Err(format!(
            "{job}: no host of this run is '{}'; name it in --hosts, or change the job (host=, or what follows @ in its name)",
            hosts.escape_debug()
        ));
    }
    let mut used = Vec::new();
    for agent in agents {
        if place(plan.clone(), &agent.name, &agent.labels)?
            .plan
            .jobs
            .is_empty()
        {
            note_line!("fathom run: {} has no job and is left out", agent.name);
        } else {
            used.push(agent);
        }
    }
    Ok(used)
}

/// Options that are about the load on this host.
fn refuse_local_options(invocation: &Invocation) -> Result<(), String> {
    let hosts = match invocation.personality {
        Personality::Fathom => "--hosts",
        Personality::Fio => "--client",
    };
    let trigger = &invocation.trigger;
    let given = [
        (invocation.blame, "--blame"),
        (invocation.explain, "--explain"),
        (invocation.dry_run, "--dry-run"),
        (invocation.idle_prof.is_some(), "--idle-prof"),
        (invocation.aux_path.is_some(), "--aux-path"),
        (
            trigger.file.is_some() || trigger.after.is_some() || trigger.command.is_some(),
            "--trigger",
        ),
        (
            invocation.reporting.status_interval.is_some(),
            "--status-interval",
        ),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(format!("{option} does not work with {hosts}; leave it out")),
        None => Ok(()),
    }
}

/// The key of a file, which is created if there is none.
pub(super) fn signing_key(path: &Path, command: &str) -> Result<SigningKey, String> {
    let file = path.display();
    let is_new = create_secret(path, SigningKey::generate)?;
    let text = String::from_utf8_lossy(&read_small(path)?).into_owned();
    let key = SigningKey::parse(&text).map_err(|error| format!("--key: {file}: {error}"))?;
    if is_new {
        note_line!("fathom {command}: wrote a new key to {file}");
    }
    note_line!(
        "fathom {command}: agents that take only this key: fathom agent --trust={}",
        key.public()
    );
    Ok(key)
}

/// The plan as one host sees it, and the job for it.
fn planned(
    session: &Session,
    line: &Line,
    variables: BTreeMap<String, String>,
    earlier: Option<&Job>,
) -> Result<(Planned, Job), String> {
    let machine = Noting::new(session, variables.clone(), earlier);
    let planned = plan(&line.invocation, &machine, &machine).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    })?;
    if planned.plan.jobs.is_empty() {
        return Err("no job to run: give a job file, or --name=JOB with its options".to_owned());
    }
    let problems = unsupported(&planned.plan);
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    let mut job = machine.job(&line.arguments)?;
    job.is_fio = line.invocation.personality == Personality::Fio;
    job.variables.extend(variables);
    Ok((planned, job))
}

fn describe(plan: &Plan) -> String {
    match plan.jobs.len() {
        1 => "1 job".to_owned(),
        several => format!("{several} jobs"),
    }
}

/// `3 hosts: a, b, c`.
pub(super) fn names(agents: &[FoundAgent]) -> String {
    let all: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    named(&all)
}

/// As [`names`].
pub(super) fn named(all: &[&str]) -> String {
    const SHOWN: usize = 8;
    let more = match all.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let hosts = match all.len() {
        1 => "1 host".to_owned(),
        several => format!("{several} hosts"),
    };
    format!("{hosts}: {}{more}", all[..all.len().min(SHOWN)].join(", "))
}

/// What the hosts recorded as one recording.
///
/// # Errors
/// When no host returned one.
pub(super) fn merged(
    session: &Session,
    plan: &Plan,
    results: Vec<HostResult>,
) -> Result<Recording, String> {
    let hosts: Vec<ReceivedHost> = results.into_iter().map(received).collect();
    let reasons: Vec<String> = hosts
        .iter()
        .filter_map(|host| Some(format!("{}: {}", host.name, host.recording.as_ref().err()?)))
        .collect();
    if reasons.len() == hosts.len() {
        return Err(reasons.join("\n"));
    }
    let mut recording = merge(plan, hosts).map_err(|error| error.to_string())?;
    let simulated = session.hosts().map(|hosts| hosts.describe());
    recording.messages.splice(0..0, simulated);
    Ok(recording)
}

/// The recording of a host from the parts that it sent while the load ran: its plan, then intervals.
fn kept(journal: &[Vec<u8>]) -> Option<Recording> {
    let (first, parts) = journal.split_first()?;
    let start = fathom_store::read_recording(first).ok()?;
    let intervals = read_intervals(start.plan.jobs.len(), parts.iter().map(Vec::as_slice));
    if intervals.iter().all(Vec::is_empty) {
        return None;
    }
    let mut recording =
        fathom_load::rebuild_recording(start.plan, start.started_unix_ns, intervals);
    // That it vanished is the finding.
    recording.end = RunEnd::Completed;
    recording.messages = vec![format!(
        "it vanished: its figures end {} after its start, and lack what intervals do not contain",
        fathom_model::format::duration(recording.elapsed.get() as f64)
    )];
    Some(recording)
}

fn received(result: HostResult) -> ReceivedHost {
    let recording = result.document.and_then(|document| {
        fathom_store::read_recording(&document)
            .map_err(|error| format!("its recording cannot be read: {error}"))
    });
    // A host that vanished: what it had sent until then.
    let kept = recording.as_ref().err().and_then(|_| kept(&result.journal));
    let (recording, partial) = match (recording, kept) {
        (Err(why), Some(kept)) => (Ok(kept), Some(why)),
        (recording, _) => (recording, None),
    };
    ReceivedHost {
        name: result.name,
        partial,
        recording,
        epoch_late_ns: result.epoch_late_ns,
        late_bound_ns: result.late_bound_ns,
        wall_offset_ns: result.wall_offset_ns,
    }
}
