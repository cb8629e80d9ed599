//! Hosts in this process: an agent on a simulated machine for each of them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fathom_hosts::{
    Agent, AgentSetup, Connection, HostsError, SigningKey, SimulatedHost, Simulation,
};

use super::VERSION;
use super::agent::JobRunner;
use crate::session::Session;

/// How often an idle agent looks for a job.
const PATIENCE: Duration = Duration::from_secs(1);

/// The exit code of a program that has panicked.
const PANICKED: i32 = 101;

/// The simulated hosts of a command. Their agents wait for jobs until the process ends.
pub struct SimulatedHosts {
    simulation: Arc<Simulation>,
    /// The host of the controller.
    own: SimulatedHost,
    /// Name, network and machine of each host.
    hosts: Vec<(String, SimulatedHost, Session)>,
    /// The key of the jobs, which all agents trust alone.
    key: OnceLock<Result<String, String>>,
    started: OnceLock<Result<(), String>>,
}

impl SimulatedHosts {
    pub fn new(
        simulation: Arc<Simulation>,
        own: SimulatedHost,
        hosts: Vec<(String, SimulatedHost, Session)>,
    ) -> SimulatedHosts {
        SimulatedHosts {
            simulation,
            own,
            hosts,
            key: OnceLock::new(),
            started: OnceLock::new(),
        }
    }

    /// The key of the jobs.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn key(&self) -> Result<SigningKey, String> {
        let text = self.key.get_or_init(SigningKey::generate).clone()?;
        SigningKey::parse(&text)
    }

    /// A connection for a controller. The first one starts the agents.
    ///
    /// # Errors
    /// When the system has no threads or random numbers for them.
    pub fn connect(&self) -> Result<Connection, HostsError> {
        self.started
            .get_or_init(|| self.start())
            .clone()
            .map_err(HostsError::Agent)?;
        Ok(self.simulation.connect(self.own.clone()))
    }

    fn start(&self) -> Result<(), String> {
        let key = self.key()?.public();
        for (name, host, session) in &self.hosts {
            let setup = AgentSetup {
                name: name.clone(),
                version: VERSION.to_owned(),
                keys: vec![key],
                ..AgentSetup::default()
            };
            let connection = self.simulation.connect(host.clone());
            let agent =
                Agent::start(connection, setup.clone()).map_err(|error| error.to_string())?;
            let session = session.clone();
            let work = move || {
                let _end = EndOfProcess;
                let mut runner = JobRunner::new(&session, &agent, &setup, None);
                loop {
                    runner.wait_for_job(PATIENCE);
                }
            };
            self.simulation
                .spawn(name, Box::new(work))
                .map_err(|error| format!("cannot start a thread: {error}"))?;
        }
        Ok(())
    }

    /// What results say of the machines.
    pub fn describe(&self) -> String {
        let seeds = self.hosts.iter().filter_map(|(name, _, session)| {
            Some(format!("{name} with seed {}", session.simulated()?.seed))
        });
        let seeds: Vec<String> = seeds.collect();
        format!(
            "each host was simulated on a machine of its own: {}",
            seeds.join(", ")
        )
    }
}

/// Ends the process when the thread of an agent has panicked, as that of `fathom agent` would: without it the controller would wait
/// for ever.
struct EndOfProcess;

impl Drop for EndOfProcess {
    fn drop(&mut self) {
        std::process::exit(PANICKED);
    }
}
