//! One run on several hosts: `fathom agent`, and `fathom run --hosts`.

pub mod agent;
mod clients;
mod fleet;
mod machine;
mod permissions;
mod run;
mod simulated;
mod ssh;
mod taken_over;
mod targets;

use std::path::Path;
use std::sync::Arc;

use fathom_hosts::nats::Server;
use fathom_hosts::{Connection, Controller, HostsError, SigningKey};

use self::ssh::Launched;
use crate::durable::read_small;
use crate::session::Session;

pub use self::clients::Clients;
pub use self::fleet::{Fleet, HostsRunner, plan_cell, stored_arguments};
pub use self::run::run;
pub use self::simulated::SimulatedHosts;
pub use self::taken_over::{is_of_hosts, resume};
pub use self::targets::{resolve_target_of, target_value};

/// The version that controllers and agents tell each other.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The environment variable with the address of the server.
const SERVER_VARIABLE: &str = "FATHOM_NATS";
/// The name of the host in paths of targets.
pub const HOST_VARIABLE: &str = "${FATHOM_HOST}";
/// Recordings travel as the documents of the store.
const NO_STORE: &str = "runs on several hosts need a build with the cargo feature `store`: build fathom with `cargo build --features store`";

/// The message about a server beside simulated hosts.
const NO_SERVER: &str = "--machine simulates the hosts: leave out --nats, --nats-creds, --nats-fingerprint, --key and --ssh";

/// The way to the agents of a command, and the key of its jobs.
struct Way {
    carrier: Carrier,
    key: Option<SigningKey>,
}

enum Carrier {
    Server(Box<Server>),
    Simulation(Arc<SimulatedHosts>),
}

impl Way {
    fn to_server(server: Server, key: Option<SigningKey>) -> Way {
        Way {
            carrier: Carrier::Server(Box::new(server)),
            key,
        }
    }

    /// The way to agents that this process has started.
    fn to_launched(launched: &Launched) -> Result<Way, String> {
        Ok(Way::to_server(launched.server()?, Some(launched.key()?)))
    }

    /// The way to simulated hosts, if the session has some.
    ///
    /// # Errors
    /// When options name a server, too.
    fn to_simulated(session: &Session, names_server: bool) -> Result<Option<Way>, String> {
        match session.hosts() {
            Some(_) if names_server => Err(NO_SERVER.to_owned()),
            Some(hosts) => Ok(Some(Way {
                key: Some(hosts.key()?),
                carrier: Carrier::Simulation(Arc::clone(hosts)),
            })),
            None => Ok(None),
        }
    }

    fn is_simulated(&self) -> bool {
        matches!(self.carrier, Carrier::Simulation(_))
    }

    fn connect(&self) -> Result<Connection, HostsError> {
        match &self.carrier {
            Carrier::Server(server) => {
                let name = format!("fathom run {}", controller_name());
                Connection::to_server((**server).clone(), &name)
            }
            Carrier::Simulation(hosts) => hosts.connect(),
        }
    }

    /// A controller, which is good for one run.
    fn controller(&self) -> Result<Controller, HostsError> {
        Controller::new(self.connect()?, &controller_name(), VERSION)
    }
}

/// The name of a controller, for people.
fn controller_name() -> String {
    format!("{} (process {})", host_name(), std::process::id())
}

/// The server of `--nats`, or of the environment.
fn server(
    url: Option<&str>,
    credentials: Option<&Path>,
    fingerprint: Option<[u8; 32]>,
) -> Result<Server, String> {
    if !cfg!(feature = "store") {
        return Err(NO_STORE.to_owned());
    }
    let from_environment = std::env::var(SERVER_VARIABLE).ok();
    let url = url
        .map(str::to_owned)
        .or(from_environment)
        .filter(|url| !url.is_empty())
        .ok_or_else(|| {
            format!("no NATS server: give --nats=nats://HOST, or set {SERVER_VARIABLE}")
        })?;
    let mut server = Server::parse(&url).map_err(|error| format!("--nats: {error}"))?;
    if let Some(file) = credentials {
        let text = String::from_utf8_lossy(&read_small(file)?).into_owned();
        server = server
            .with_credentials(&text)
            .map_err(|error| format!("--nats-creds: {}: {error}", file.display()))?;
    }
    match fingerprint {
        None => Ok(server),
        Some(fingerprint) => server.with_fingerprint(fingerprint),
    }
}

/// The name of this host.
fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}
