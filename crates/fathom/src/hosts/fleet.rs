//! Experiments on several hosts: each cell is one run of all of them.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use fathom_cli::HostsOptions;
use fathom_experiment::{CellError, CellRunner, CellStore, MeasuredCell, Observer, Position};
use fathom_hosts::protocol::Job;
use fathom_hosts::{HostsError, Selection, host_variables};
use fathom_linux::interrupts;
use fathom_model::{Personality, Plan, Recording};
use fathom_plan::{PlannedCell, planning_arguments};
use serde_json::Value;

use super::machine::Noting;
use super::permissions::unsupported;
use super::run::{merged, named, names, signing_key};
use super::ssh::{Launched, SshOptions};
use super::{HOST_VARIABLE, Way, server};
use crate::print::{eprint_line, note_line};
use crate::session::Session;

/// The agents of `--hosts`.
pub struct Fleet {
    command: &'static str,
    /// The machine of this host.
    session: Session,
    way: Way,
    names: Vec<String>,
    /// Runs that a host has not ended: the controller could not tell it.
    left: RefCell<Vec<String>>,
    /// What `--ssh` started; it ends with this.
    _launched: Option<Launched>,
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum FleetError {
    /// An agent refused the job or did not answer; or the server cannot be used.
    Refused(String),
    /// The user interrupted before the load began.
    Interrupted,
}

impl std::fmt::Display for FleetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FleetError::Refused(text) => f.write_str(text),
            FleetError::Interrupted => HostsError::Interrupted.fmt(f),
        }
    }
}

impl From<HostsError> for FleetError {
    fn from(error: HostsError) -> FleetError {
        match error {
            HostsError::Interrupted => FleetError::Interrupted,
            HostsError::Server(text) | HostsError::Agent(text) => FleetError::Refused(text),
        }
    }
}

fn is_interrupted() -> bool {
    interrupts().load(Relaxed) > 0
}

impl Fleet {
    /// The agents that the options select; `None` without `--hosts`. `command` is that of messages.
    ///
    /// # Errors
    /// When one that is named does not answer, none answers, or one cannot be used.
    pub fn find(
        session: &Session,
        command: &'static str,
        options: &HostsOptions,
    ) -> Result<Option<Fleet>, String> {
        let Some(hosts) = &options.hosts else {
            return Ok(None);
        };
        let simulated = Way::to_simulated(session, options.names_server())?;
        let mut selection = Selection::parse(hosts).map_err(|error| format!("--hosts: {error}"))?;
        interrupts();
        let launched = options
            .ssh
            .as_deref()
            .map(|hosts| {
                let ssh = SshOptions {
                    hosts,
                    command: options.ssh_command.as_deref(),
                    fathom: options.ssh_fathom.as_deref(),
                    listen: options.ssh_listen.as_deref(),
                };
                Launched::start(command, &ssh, &selection)
            })
            .transpose()?;
        let way = match (simulated, &launched) {
            (Some(simulated), _) => simulated,
            (None, Some(launched)) => {
                selection = Selection::Names(launched.names());
                Way::to_launched(launched)?
            }
            (None, None) => {
                let fingerprint = options.nats_fingerprint.map(|fingerprint| fingerprint.0);
                let key = options.key.as_deref();
                let server = server(
                    options.nats.as_deref(),
                    options.nats_creds.as_deref(),
                    fingerprint,
                )?;
                let key = key.map(|file| signing_key(file, command)).transpose()?;
                Way::to_server(server, key)
            }
        };
        let mut fleet = Fleet {
            command,
            session: session.clone(),
            way,
            names: Vec::new(),
            left: RefCell::default(),
            _launched: launched,
        };
        let agents = fleet
            .way
            .controller()
            .and_then(|controller| controller.find(&selection, &[], &is_interrupted))
            .map_err(|error| error.to_string())?;
        note_line!("fathom {command}: on {}", names(&agents));
        fleet.names = agents.into_iter().map(|agent| agent.name).collect();
        Ok(Some(fleet))
    }

    /// How many hosts there are.
    pub fn len(&self) -> u32 {
        self.names.len() as u32
    }

    /// The hosts in words: `2 hosts (a, b)`.
    pub fn describe(&self) -> String {
        let all: Vec<&str> = self.names.iter().map(String::as_str).collect();
        named(&all).replace(": ", " (") + ")"
    }

    /// See [`stored_arguments`].
    fn stored_arguments(&self, arguments: &[String]) -> Vec<String> {
        let mut stored = Vec::new();
        let mut rest = arguments.iter().peekable();
        while let Some(argument) = rest.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            match name {
                "--hosts" | "--nats" | "--ssh" => {
                    let value = value.or_else(|| rest.next().cloned()).unwrap_or_default();
                    match name {
                        "--nats" if !value.contains('@') => stored.push(format!("--nats={value}")),
                        "--ssh" => stored.push(format!("--ssh={}", from_anywhere(&value))),
                        _ => {}
                    }
                }
                "--" => {
                    stored.push(format!("--hosts={}", self.names.join(",")));
                    stored.push(argument.clone());
                    stored.extend(rest.cloned());
                    return stored;
                }
                _ => stored.push(argument.clone()),
            }
        }
        stored.push(format!("--hosts={}", self.names.join(",")));
        stored
    }

    /// Runs the jobs on all hosts at the same time. `job_of` makes the job of the host with this name and place.
    ///
    /// # Errors
    /// When an agent refuses its job, or no host returned a result.
    fn run(
        &self,
        job_of: &dyn Fn(&str, usize) -> Result<Job, String>,
    ) -> Result<Vec<fathom_hosts::HostResult>, FleetError> {
        // A controller is good for one run.
        let controller = self.way.controller()?;
        let selection = Selection::Names(self.names.clone());
        let agents = controller.find(&selection, &self.left.borrow(), &is_interrupted)?;
        let jobs = agents
            .iter()
            .enumerate()
            .map(|(rank, agent)| job_of(&agent.name, rank))
            .collect::<Result<Vec<Job>, String>>()
            .map_err(FleetError::Refused)?;
        let results = controller.run(
            &agents,
            &|rank| jobs[rank].clone(),
            self.way.key.as_ref(),
            &|| interrupts().load(Relaxed),
            &mut |_| {},
        )?;
        if results.iter().any(|host| host.document.is_err()) {
            let mut left = self.left.borrow_mut();
            left.push(controller.session().to_owned());
        }
        Ok(results)
    }

    /// Measures a job file that is text on all hosts. `plan` is that of one host.
    ///
    /// # Errors
    /// When an agent refuses it, or no host returned a result.
    pub fn measure(&self, plan: &Plan, cell: &PlannedCell) -> Result<Recording, FleetError> {
        let results = self.run(&|name, rank| self.job(cell, &[], name, rank))?;
        merged(&self.session, plan, results).map_err(FleetError::Refused)
    }

    /// As [`Fleet::measure`], with an order of `fathom ready` and the answer of each host to it, in the order of the hosts.
    ///
    /// # Errors
    /// As [`Fleet::measure`].
    pub fn judge(
        &self,
        plan: &Plan,
        cell: &PlannedCell,
        destroy: &[String],
        order: &Value,
    ) -> Result<(Recording, Vec<(String, Result<Value, String>)>), FleetError> {
        let mut results = self.run(&|name, rank| {
            let mut job = self.job(cell, destroy, name, rank)?;
            job.ready = Some(order.clone());
            Ok(job)
        })?;
        let mut answers = Vec::new();
        for host in &mut results {
            let taken = std::mem::replace(&mut host.document, Err(String::new()));
            let (answer, document) = match taken.and_then(without_answer) {
                Ok((answer, document)) => (Ok(answer), Ok(document)),
                Err(why) => (Err(why.clone()), Err(why)),
            };
            host.document = document;
            answers.push((host.name.clone(), answer));
        }
        let recording = merged(&self.session, plan, results).map_err(FleetError::Refused)?;
        Ok((recording, answers))
    }

    /// The job of one host: its plan is made here too, which notes the files and variables that it needs.
    fn job(
        &self,
        cell: &PlannedCell,
        destroy: &[String],
        name: &str,
        rank: usize,
    ) -> Result<Job, String> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let variables = host_variables(&names, rank);
        let machine = Noting::new(&self.session, variables.clone(), None);
        let cell = of_host(cell, name);
        fathom_experiment::plan_cell(&cell, &machine, &machine)
            .map_err(|error| error.to_string())?;
        let mut arguments = cell.arguments(0);
        arguments.extend(destroy.iter().map(|code| format!("--destroy={code}")));
        let mut job = machine.job(&planning_arguments(&arguments, Personality::Fathom))?;
        job.variables.extend(variables);
        job.files.insert(cell.source, cell.job_file);
        Ok(job)
    }

    /// Removes files that fathom created on the hosts. Files that changed since are not removed.
    pub fn remove(&self, files: &[&Path]) {
        if files.is_empty() {
            return;
        }
        let removed = self.run(&|name, _| {
            let of_host = |file: &&Path| file.display().to_string().replace(HOST_VARIABLE, name);
            Ok(Job {
                remove: files.iter().map(of_host).collect(),
                ..Job::default()
            })
        });
        let problem = match removed {
            Err(error) => Some(error.to_string()),
            Ok(results) => results
                .into_iter()
                .find_map(|host| Some(format!("{}: {}", host.name, host.document.err()?))),
        };
        if let Some(problem) = problem {
            let names: Vec<String> = files
                .iter()
                .map(|file| file.display().to_string().replace(HOST_VARIABLE, "HOST"))
                .collect();
            eprint_line!(
                "fathom {}: {problem}; {} was not removed everywhere",
                self.command,
                names.join(", ")
            );
        }
    }
}

/// The hosts of `--ssh` for a resume in another directory.
fn from_anywhere(hosts: &str) -> String {
    let file = Path::new(hosts);
    let found = file.exists().then(|| std::path::absolute(file).ok());
    let path = found.flatten().map(|path| path.display().to_string());
    path.unwrap_or_else(|| hosts.to_owned())
}

/// The answer to an order of `fathom ready` before a recording, with its length.
pub fn with_answer(answer: &[u8], recording: &[u8]) -> Vec<u8> {
    let length = (answer.len() as u64).to_le_bytes();
    [&length, answer, recording].concat()
}

/// The parts of [`with_answer`].
fn without_answer(document: Vec<u8>) -> Result<(Value, Vec<u8>), String> {
    let parts = || {
        let (length, rest) = document.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (answer, recording) = rest.split_at_checked(length)?;
        Some((serde_json::from_slice(answer).ok()?, recording.to_vec()))
    };
    parts().ok_or_else(|| "its answer cannot be read".to_owned())
}

/// The arguments of an experiment as they are stored: a resume uses the same hosts, and no password is stored.
pub fn stored_arguments(fleet: Option<&Fleet>, arguments: &[String]) -> Vec<String> {
    match fleet {
        Some(fleet) => fleet.stored_arguments(arguments),
        None => arguments.to_vec(),
    }
}

/// The cell as one host sees it.
fn of_host(cell: &PlannedCell, name: &str) -> PlannedCell {
    let targets = cell.targets.iter();
    PlannedCell {
        targets: targets
            .map(|target| target.replace(HOST_VARIABLE, name))
            .collect(),
        ..cell.clone()
    }
}

/// The plan of a cell on one of the hosts.
///
/// # Errors
/// When the cell cannot be planned, or not on several hosts.
pub fn plan_cell(
    session: &Session,
    cell: &PlannedCell,
) -> Result<(Plan, Vec<Range<usize>>), String> {
    if cell.plan_count() > 1 {
        return Err(
            "several targets at once do not work with --hosts; compare them with --axis target=A,B"
                .to_owned(),
        );
    }
    let machine = Noting::new(session, host_variables(&["host"], 0), None);
    let (plan, sides) = fathom_experiment::plan_cell(&of_host(cell, "host"), &machine, &machine)
        .map_err(|error| error.to_string())?;
    match unsupported(&plan) {
        problems if problems.is_empty() => Ok((plan, sides)),
        problems => Err(problems.join("\n")),
    }
}

/// Measures cells on all hosts.
pub struct HostsRunner<'a> {
    /// The hosts.
    pub fleet: &'a Fleet,
    /// Codes that allow writing to devices.
    pub destroy: &'a [String],
    /// Files may be created. Otherwise the targets must exist on every host: a mistyped path must not fill a file system.
    pub creates: bool,
}

impl CellRunner for HostsRunner<'_> {
    fn run(
        &mut self,
        cell: &PlannedCell,
        _: &Position,
        _: &mut dyn Observer,
        store: &mut dyn CellStore,
    ) -> Result<MeasuredCell, CellError> {
        let refused = |reason: String| CellError::Refused(vec![reason]);
        let (plan, _) = plan_cell(&self.fleet.session, cell).map_err(refused)?;
        if plan.jobs.iter().any(|job| !job.files.layout.create_only) {
            // The intervals stay at the agents until the cell has ended.
            let _ = store.start(cell, &plan)?;
        }
        let mut on_host = cell.clone();
        if !self.creates {
            let setting = ("allow_file_create".to_owned(), "0".to_owned());
            on_host.settings.push(setting);
        }
        let results = self
            .fleet
            .run(&|name, rank| self.fleet.job(&on_host, self.destroy, name, rank))
            .map_err(|error| refused(error.to_string()))?;
        let recording = merged(&self.fleet.session, &plan, results).map_err(refused)?;
        Ok(MeasuredCell::of(recording, &[]))
    }

    fn now(&self) -> Instant {
        self.fleet.session.now()
    }

    fn is_interrupted(&self) -> bool {
        is_interrupted()
    }

    fn no_space(&self, _: &Plan) -> String {
        "the file system of a host is full; free some space there, or use less with --size"
            .to_owned()
    }
}
