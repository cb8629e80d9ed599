//! One run on several hosts: `fathom agent`, and `fathom run --hosts`.

pub mod agent;
mod clients;
mod fleet;
mod machine;
mod permissions;
mod run;
mod ssh;
mod taken_over;
mod targets;

use std::path::Path;

use fathom_hosts::nats::Server;

use crate::durable::read_small;

pub use self::fleet::{Fleet, HostsRunner, plan_cell, stored_arguments};
pub use self::run::run;
pub use self::taken_over::{is_of_hosts, resume};
pub use self::targets::{resolve_target_of, target_value};

/// The environment variable with the address of the server.
const SERVER_VARIABLE: &str = "FATHOM_NATS";
/// The name of the host in paths of targets.
pub const HOST_VARIABLE: &str = "${FATHOM_HOST}";
/// Recordings travel as the documents of the store.
const NO_STORE: &str = "runs on several hosts need a build with the cargo feature `store`: build fathom with `cargo build --features store`";

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
