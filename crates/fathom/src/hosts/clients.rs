//! `fathom fio --client`: the hosts of fio's client are agents.

use std::path::Path;

use fathom_hosts::Selection;
use fathom_model::{Personality, Plan};
use fathom_plan::{ClientOption, Invocation, Span, client_hosts, planning_arguments};

use crate::durable::read_small;
use crate::output::Client;

/// A command line as one host gets it.
pub struct Line {
    /// The parsed one.
    pub invocation: Invocation,
    /// The part that makes its plan.
    pub arguments: Vec<String>,
}

impl Line {
    pub fn new(invocation: Invocation, arguments: &[String]) -> Line {
        Line {
            arguments: planning_arguments(arguments, invocation.personality),
            invocation,
        }
    }
}

/// One host with the job files that only it runs.
struct OneClient {
    name: String,
    port: u16,
    files: Vec<(String, Span)>,
}

/// The hosts of all `--client`, in their order.
pub struct Clients(Vec<OneClient>);

impl Clients {
    /// The hosts that the command line names; `None` without `--client`.
    ///
    /// # Errors
    /// When a host cannot be one, or has no job file.
    pub fn of(invocation: &Invocation) -> Result<Option<Clients>, String> {
        let given = &invocation.agents.clients;
        if given.is_empty() {
            return Ok(None);
        }
        if !invocation.sections.is_empty() {
            return Err(
                "--client takes jobs from job files only: fio ignores job options of its command line there; write them into the job file"
                    .to_owned(),
            );
        }
        let mut clients: Vec<OneClient> = Vec::new();
        for option in given {
            for (name, port) in hosts_of(option)? {
                if clients.iter().any(|known| known.name == name) {
                    return Err(format!(
                        "--client: the host {name} is given twice; one agent runs one job file at a time"
                    ));
                }
                let own = &option.files;
                let files = if own.is_empty() {
                    &invocation.files
                } else {
                    own
                };
                if files.is_empty() {
                    return Err(format!(
                        "--client: {name} has no job file: one right after a --client is only for that client; name one that is for all before the first --client"
                    ));
                }
                clients.push(OneClient {
                    name,
                    port,
                    files: files.clone(),
                });
            }
        }
        Ok(Some(Clients(clients)))
    }

    /// The names of the hosts.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|one| one.name.clone()).collect()
    }

    /// The agents of these names.
    ///
    /// # Errors
    /// When a name cannot be that of an agent.
    pub fn selection(&self) -> Result<Selection, String> {
        let names = self.names();
        for name in &names {
            fathom_hosts::check_name(name).map_err(|error| format!("--client: {error}"))?;
        }
        Ok(Selection::Names(names))
    }

    /// Where a host stands in the order.
    pub fn place(&self, name: &str) -> usize {
        let mut all = self.0.iter();
        all.position(|one| one.name == name).unwrap_or(self.0.len())
    }

    /// The command line of each host.
    pub fn lines(&self, invocation: &Invocation, arguments: &[String]) -> Vec<Line> {
        let options = planning_arguments(arguments, Personality::Fio);
        let line = |one: &OneClient| {
            let mut own = options.clone();
            own.extend(one.files.iter().map(|(file, _)| file.clone()));
            let mut invocation = invocation.clone();
            invocation.files.clone_from(&one.files);
            Line {
                invocation,
                arguments: own,
            }
        };
        self.0.iter().map(line).collect()
    }

    /// With what each host runs, for the result.
    pub fn with_plans(&self, plans: Vec<Plan>) -> Vec<Client> {
        let both = self.0.iter().zip(plans);
        both.map(|(one, plan)| Client {
            name: one.name.clone(),
            port: one.port,
            plan,
        })
        .collect()
    }
}

/// The hosts of one option. As in fio, the name of a file means the hosts in it.
fn hosts_of(option: &ClientOption) -> Result<Vec<(String, u16)>, String> {
    let wrong = |error: String| format!("--client={}: {error}", option.text.escape_debug());
    let file = Path::new(&option.text);
    if !file.is_file() {
        return client_hosts(&option.text).map_err(wrong);
    }
    let text = read_small(file).map_err(wrong)?;
    let text = String::from_utf8_lossy(&text);
    let mut hosts = Vec::new();
    for word in text.split_whitespace() {
        hosts.extend(client_hosts(word).map_err(wrong)?);
    }
    if hosts.is_empty() {
        return Err(wrong("the file names no host".to_owned()));
    }
    Ok(hosts)
}
