//! `fathom agent`: carries out the jobs of controllers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fathom_cli::AgentArgs;
use fathom_hosts::protocol::Job;
use fathom_hosts::{
    Agent, AgentSetup, Connection, Finished, Placed, StartSignal, check_name, launched, place,
    write_intervals,
};
use fathom_linux::interrupts;
use fathom_load::{IntervalSink, rebuild_recording};
use fathom_model::{Personality, Plan};
use fathom_plan::{Action, Invocation, parse_args, plan};

use super::fleet::with_answer;
use super::machine::OfJob;
use super::permissions::{Permissions, unsupported};
use super::ssh::READY;
use super::{VERSION, host_name, server};
use crate::cli;
use crate::codes::Codes;
use crate::guard;
use crate::measure::{RunExtras, measure_and_store};
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, print};
use crate::ready::Judge;
use crate::session::Session;

/// How often an idle agent looks for an interrupt.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long an interrupted agent waits for its controller to fetch the result.
const LAST_WAIT: Duration = Duration::from_secs(10);
/// The longest address that is read from standard input.
const LONGEST_ADDRESS: usize = 4096;

/// Carries out the command.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: AgentArgs| agent(&args))
}

fn agent(args: &AgentArgs) -> Result<Outcome, String> {
    let (mut own_name, mut own_labels) = (host_name(), BTreeMap::new());
    if args.join {
        let (rank, labels) = launched(&|name: &str| std::env::var(name).ok())
            .map_err(|error| format!("--join: {error}"))?;
        (own_name, own_labels) = (format!("{own_name}-{rank}"), labels);
    }
    let name = args.host_name.clone().unwrap_or(own_name);
    check_name(&name).map_err(|error| format!("--host-name: {error}"))?;
    let labels = args.label.iter().map(|label| match label.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(format!(
            "--label: '{}' is not KEY=VALUE",
            label.escape_debug()
        )),
    });
    let keys = args.trust.iter().map(|key| {
        key.parse()
            .map_err(|error: String| format!("--trust: {error}"))
    });
    own_labels.extend(labels.collect::<Result<Vec<_>, _>>()?);
    let setup = AgentSetup {
        name: name.clone(),
        labels: own_labels,
        version: VERSION.to_owned(),
        keys: keys.collect::<Result<_, _>>()?,
    };
    let permissions = Permissions::new(&args.allow, args.allow_exec)?;
    let from_input = match args.nats.as_deref() {
        Some("-") => Some(address_from_input()?),
        _ => None,
    };
    let server = server(
        from_input.as_deref().or(args.nats.as_deref()),
        args.nats_creds.as_deref(),
        args.nats_fingerprint.map(|fingerprint| fingerprint.0),
    )?;
    interrupts();
    let address = server.to_string();
    let agent = Connection::to_server(server, &format!("fathom agent {name}"))
        .and_then(|connection| Agent::start(connection, setup.clone()))
        .map_err(|error| error.to_string())?;
    if from_input.is_some() {
        end_with_input()?;
        print(&format!("{READY}\n"));
    }
    note_line!("fathom agent: {name} waits for jobs at {address}");
    if args.allow.is_empty() {
        note_line!("fathom agent: without --allow only jobs without files or devices are accepted");
    }
    if args.trust.is_empty() {
        note_line!(
            "fathom agent: without --trust everybody who may use this server can run jobs here"
        );
    }
    let session = Session::on_this_machine();
    let mut runner = JobRunner::new(&session, &agent, &setup, Some(&permissions));
    while interrupts().load(Relaxed) == 0 {
        if args.join && runner.has_run && agent.is_free() {
            return Ok(Outcome::Good);
        }
        runner.wait_for_job(PATIENCE);
    }
    // Somebody may still need the result of the job that the interrupt ended.
    let begun = std::time::Instant::now();
    while !agent.is_free() && interrupts().load(Relaxed) < 2 && begun.elapsed() < LAST_WAIT {
        std::thread::sleep(PATIENCE);
    }
    Ok(Outcome::Good)
}

/// The first line of standard input, byte by byte: what follows is for [`end_with_input`].
fn address_from_input() -> Result<String, String> {
    let mut line = Vec::new();
    for byte in std::io::stdin().lock().bytes() {
        match byte.map_err(|error| format!("--nats=-: standard input: {error}"))? {
            b'\n' => break,
            _ if line.len() >= LONGEST_ADDRESS => {
                return Err("--nats=-: the first line is too long for an address".to_owned());
            }
            byte => line.push(byte),
        }
    }
    let text = String::from_utf8_lossy(&line).trim().to_owned();
    if text.is_empty() {
        return Err(
            "--nats=-: no address of a server in the first line of standard input".to_owned(),
        );
    }
    Ok(text)
}

/// The end of standard input is an interrupt: whoever started this agent is gone, or needs it no more.
fn end_with_input() -> Result<(), String> {
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            interrupts().fetch_add(1, Relaxed);
        })
        .map(drop)
        .map_err(|error| format!("cannot start a thread: {error}"))
}

/// The codes of the last job that had some, and what they allow now: the cells of an experiment have the same ones, and the
/// first cell that writes to a device changes its code.
#[derive(Default)]
struct GivenCodes {
    given: Vec<String>,
    valid: Codes,
}

impl GivenCodes {
    fn of(&mut self, given: &[String]) -> &mut Codes {
        if self.given != given {
            self.given = given.to_vec();
            self.valid = Codes::new(given.to_vec());
        }
        &mut self.valid
    }
}

/// Carries out the jobs of an agent.
pub(super) struct JobRunner<'a> {
    session: &'a Session,
    agent: &'a Agent,
    setup: &'a AgentSetup,
    /// What jobs may do on this host. A simulated one has none to protect, and tells only its controller what happens.
    permissions: Option<&'a Permissions>,
    codes: GivenCodes,
    /// It has carried out a job.
    has_run: bool,
}

impl<'a> JobRunner<'a> {
    pub fn new(
        session: &'a Session,
        agent: &'a Agent,
        setup: &'a AgentSetup,
        permissions: Option<&'a Permissions>,
    ) -> JobRunner<'a> {
        JobRunner {
            session,
            agent,
            setup,
            permissions,
            codes: GivenCodes::default(),
            has_run: false,
        }
    }

    /// Carries out the next job, if one comes within `patience`.
    pub fn wait_for_job(&mut self, patience: Duration) {
        let agent = self.agent;
        let job = agent.next_job(patience);
        let is_told = self.permissions.is_some();
        for message in agent.messages().iter().filter(|_| is_told) {
            eprint_line!("fathom agent: {message}");
        }
        let Some(job) = job else {
            return;
        };
        let controller = agent.controller();
        if is_told {
            note_line!("fathom agent: job of {controller}");
        }
        let carried_out = if job.remove.is_empty() {
            self.carry_out(&job)
        } else {
            remove_files(self.session, agent, &job.remove, self.permissions)
        };
        match carried_out {
            Ok(finished) => {
                if is_told {
                    note_line!("fathom agent: the job of {controller} has ended");
                }
                agent.finish(finished);
                self.has_run = true;
            }
            Err((reason, refused)) => {
                let what = if refused { "refused" } else { "no result" };
                if is_told {
                    eprint_line!("fathom agent: {what}: {reason}");
                }
                agent.fail(reason, refused);
            }
        }
    }

    /// Plans and judges the job, waits for the start, and runs it. The error says whether the job was refused.
    fn carry_out(&mut self, job: &Job) -> Result<Finished, (String, bool)> {
        let (session, agent, me) = (self.session, self.agent, self.setup);
        let refused = |reasons: Vec<String>| (reasons.join("\n"), true);
        let invocation = invocation(job).map_err(refused)?;
        let plan = planned(session, &invocation, job).map_err(refused)?;
        let Placed { plan, phases } =
            place(plan, &me.name, &me.labels).map_err(|error| (error, true))?;
        if plan.jobs.is_empty() {
            return Err(("no job of the file is for this host".to_owned(), true));
        }
        let mut reasons = self
            .permissions
            .map_or_else(Vec::new, |permissions| permissions.refusals(&plan));
        reasons.extend(unsupported(&plan));
        if !reasons.is_empty() {
            return Err(refused(reasons));
        }
        let judge = job.ready.as_ref().map(Judge::new).transpose();
        let judge = RefCell::new(judge.map_err(|error| (error, true))?);
        let codes = self.codes.of(&invocation.destroy);
        codes.note(session, &plan);
        let confirmed = guard::Confirmed {
            codes: codes.all(),
            directories: Some(&invocation.destroy_all_in),
        };
        let mut backups = guard::Backups::new(Path::new("."));
        let (load, backup_messages) =
            guard::open_targets(session, &plan, &confirmed, &mut backups).map_err(refused)?;
        let is_interrupted = || interrupts().load(Relaxed) > 0;
        // In case this host vanishes.
        let journal = Arc::new(Mutex::new(agent.journal()));
        let send = |bytes: &[u8]| {
            journal
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .send(bytes);
        };
        let planned = plan.clone();
        let parts = Arc::clone(&journal);
        let interval_sink: IntervalSink = Box::new(move |new| {
            parts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .send(&write_intervals(new));
        });
        let epoch = Cell::new(0);
        let never_started = Cell::new(false);
        let before_start = || {
            let empty = rebuild_recording(planned.clone(), session.unix_now_ns(), Vec::new());
            send(&fathom_store::write_recording(&empty));
            match agent.wait_for_start(&is_interrupted) {
                StartSignal::Now(at) => epoch.set(at),
                StartSignal::Never => never_started.set(true),
            }
        };
        let may_begin = |job: usize| phases[job] == 0 || agent.may_begin(phases[job]);
        let extras = RunExtras {
            interval_sink: Some(interval_sink),
            end: &|| never_started.get() || agent.stop_reason().is_some(),
            before_start: Some(&before_start),
            may_begin: Some(&may_begin),
        };
        let measured = measure_and_store(
            load,
            plan,
            &mut |_| {},
            &mut |elapsed| {
                let mut judge = judge.borrow_mut();
                judge.as_mut().is_some_and(|judge| judge.is_due(elapsed))
            },
            &mut |state, _| {
                if let Some(judge) = &mut *judge.borrow_mut() {
                    judge.observe(&state);
                }
            },
            extras,
        );
        codes.renew(session);
        let (mut recording, log_error) = measured.map_err(|error| (error.to_string(), false))?;
        if epoch.get() == 0 {
            let reason = agent
                .stop_reason()
                .unwrap_or_else(|| "interrupted at the agent".to_owned());
            return Err((format!("not started: {reason}"), false));
        }
        recording.messages.splice(0..0, backup_messages);
        recording.messages.extend(log_error);
        recording.messages.extend(agent.stop_reason());
        let mut document = fathom_store::write_recording(&recording);
        if let Some(judge) = judge.into_inner() {
            document = with_answer(&judge.answer(session, &recording), &document);
        }
        Ok(Finished {
            document,
            epoch_ns: epoch.get(),
        })
    }
}

/// Removes files that fathom created here, at the instant of the other hosts.
fn remove_files(
    session: &Session,
    agent: &Agent,
    files: &[String],
    permissions: Option<&Permissions>,
) -> Result<Finished, (String, bool)> {
    for file in files {
        permissions
            .map_or(Ok(()), |permissions| permissions.check(Path::new(file)))
            .map_err(|reason| (reason, true))?;
    }
    let StartSignal::Now(epoch_ns) = agent.wait_for_start(&|| false) else {
        return Err(("not removed: the run was stopped".to_owned(), false));
    };
    for file in files.iter().map(Path::new) {
        if session.exists(file) {
            session
                .remove_created(file)
                .map_err(|error| (error, false))?;
        }
    }
    Ok(Finished {
        document: Vec::new(),
        epoch_ns,
    })
}

/// The command line of the job. Where its results go is the controller's affair.
fn invocation(job: &Job) -> Result<Invocation, Vec<String>> {
    let personality = if job.is_fio {
        Personality::Fio
    } else {
        Personality::Fathom
    };
    let invocation = parse_args(&job.arguments, personality)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    if invocation.action != Action::Run {
        return Err(vec!["not a command line that runs jobs".to_owned()]);
    }
    Ok(invocation)
}

fn planned(session: &Session, invocation: &Invocation, job: &Job) -> Result<Plan, Vec<String>> {
    let machine = OfJob { job, session };
    let planned = plan(invocation, &machine, &machine)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    if planned.plan.jobs.is_empty() {
        return Err(vec!["no job to run".to_owned()]);
    }
    Ok(planned.plan)
}
