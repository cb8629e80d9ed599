//! The results of a store in a browser, and as an HTTP API.
//!
//! [`serve`] answers requests until it is asked to stop. Pages are made on the server; scripts only draw charts, so that every
//! page can be read without them. What a request may do:
//!
//! * It reads. No request changes the store or opens a path that it names. With a [`Starter`], a form of this server with a
//!   secret starts a run: of options of the load only, on one of the paths that the starter lists.
//! * It needs the token of [`Settings`], as a cookie that a link with the token sets, or as a bearer token.
//! * Its Host header must name this server, so that the page of another site cannot reach it through DNS.
//! * Its size, its time and its rate are limited.
//!
//! One table of routes (`routes.rs`) finds the handler of a request and writes the OpenAPI document. The crate prints nothing,
//! and reads no environment. Without the feature `http` the interface is the same, and [`serve`] fails.
#![forbid(unsafe_code)]

#[cfg(feature = "http")]
mod access;
#[cfg(feature = "http")]
mod answer;
#[cfg(feature = "http")]
mod api;
#[cfg(feature = "http")]
mod assets;
#[cfg(feature = "http")]
mod disturbance;
#[cfg(feature = "http")]
mod filters;
#[cfg(feature = "http")]
mod html;
#[cfg(feature = "http")]
mod io;
#[cfg(feature = "http")]
mod job;
#[cfg(feature = "http")]
mod live;
#[cfg(feature = "http")]
mod metrics;
#[cfg(feature = "http")]
mod openapi;
#[cfg(feature = "http")]
mod pages;
#[cfg(feature = "http")]
mod request;
#[cfg(feature = "http")]
mod routes;
#[cfg(feature = "http")]
mod server;
#[cfg(feature = "http")]
mod webhook;
#[cfg(feature = "http")]
mod workers;

use std::net::SocketAddr;
#[cfg(not(feature = "http"))]
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use fathom_model::{Comparison, Report, Run, SpecLine};
use fathom_store::Store;
use fathom_tls::{Authorities, Identity, Trust};
use thiserror::Error;

#[cfg(feature = "http")]
pub use self::server::serve;

/// How a server answers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The secret of the printed address; at least [`SHORTEST_TOKEN`] characters.
    pub token: String,
    /// The secret of the cookie that replaces the token in a browser.
    pub session: String,
    /// Names by which clients reach the server, besides `localhost` and addresses.
    pub hosts: Vec<String>,
    /// Certificate and key, for connections with TLS; `None` for plain HTTP.
    pub tls: Option<Identity>,
    /// The header with which a reverse proxy names the user it has authenticated; only requests from this host may have it.
    pub proxy_header: Option<String>,
    /// Offset of local time from UTC, seconds.
    pub utc_offset_s: i32,
    /// Version of the program.
    pub version: &'static str,
    /// Who is sent a message when a run ends or a figure gets worse.
    pub webhooks: Vec<Webhook>,
    /// Starts runs; `None` when none may be started.
    pub starter: Option<Arc<dyn Starter>>,
    /// The secret of the forms that start runs; at least [`SHORTEST_TOKEN`] characters.
    pub form_secret: String,
    /// Reports a problem that no visitor sees, as one line.
    pub note: fn(&str),
    /// The CPU time that the process has used.
    pub cpu_time: fn() -> Duration,
}

/// Starts runs on the paths of `--allow-run`.
pub trait Starter: std::fmt::Debug + Send + Sync {
    /// The paths, as they are shown.
    fn paths(&self) -> &[String];

    /// What a job would do on the path with this number, as the guard says. Nothing is started.
    ///
    /// # Errors
    /// Why it would be refused.
    fn check(&self, path: usize, file: &str) -> Result<CheckedJob, String>;

    /// Starts a job that was checked, once.
    ///
    /// # Errors
    /// Why it was not started.
    fn start(&self, key: &str) -> Result<(), String>;

    /// Asks the run that was started to end.
    ///
    /// # Errors
    /// When the system refuses.
    fn stop(&self) -> Result<(), String>;

    /// Whether a run that was started here has not ended.
    fn is_running(&self) -> bool;
}

/// A job that may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedJob {
    /// A secret that stands for the job.
    pub key: String,
    /// What it would do.
    pub text: String,
}

/// A receiver of messages.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "http"),
    allow(dead_code, reason = "nothing is sent without the server")
)]
pub struct Webhook {
    /// Name or address, and port.
    host: String,
    path: String,
    key: Option<(String, Hmac)>,
    /// For a receiver with TLS.
    trust: Option<Trust>,
}

/// HMAC-SHA-256 of a message with a key.
pub type Hmac = fn(&[u8], &[u8]) -> [u8; 32];

impl Webhook {
    /// Reads `https://HOST:PORT/PATH` or the same with `http`. Messages are signed with `key`, if there is one. `authorities` are
    /// asked for when the receiver has TLS: they signed its certificate.
    ///
    /// # Errors
    /// What is wrong with the address, and what to do.
    pub fn parse(
        url: &str,
        key: Option<(String, Hmac)>,
        authorities: &dyn Fn() -> Result<Authorities, String>,
    ) -> Result<Webhook, String> {
        let (rest, usual) = match url.split_once("://") {
            Some(("https", rest)) => (rest, 443),
            Some(("http", rest)) => (rest, 80),
            _ => ("", 0),
        };
        if rest.is_empty() || rest.starts_with('/') {
            return Err(
                "an address such as https://hooks.example/fathom or http://127.0.0.1:9000/hook is needed"
                    .to_owned(),
            );
        }
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the address has a character that must be written as %XX".to_owned());
        }
        let (host, path) = rest
            .find('/')
            .map_or((rest, "/"), |slash| rest.split_at(slash));
        if host.contains('@') {
            return Err("a user in the address is not supported: use --webhook-secret".to_owned());
        }
        let host = match host.rsplit_once(':') {
            Some((_, port)) if !port.ends_with(']') => match port.parse::<u16>() {
                Ok(_) => host.to_owned(),
                Err(_) => return Err(format!("'{port}' is not a port")),
            },
            _ => format!("{host}:{usual}"),
        };
        let trust = if usual == 443 {
            let name = host.rsplit_once(':').map_or(&*host, |(name, _)| name);
            let name = name.trim_start_matches('[').trim_end_matches(']');
            let trust = Trust::web(&authorities()?, name);
            Some(trust.map_err(|error| error.to_string())?)
        } else {
            None
        };
        Ok(Webhook {
            host,
            path: path.to_owned(),
            key,
            trust,
        })
    }

    /// The receiver without the path, which may be a secret.
    #[must_use]
    pub fn place(&self) -> String {
        let scheme = if self.trust.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.host)
    }
}

/// A shorter token could be guessed.
pub const SHORTEST_TOKEN: usize = 16;

/// What a server shows. Each thread of the server has its own.
pub trait Library {
    /// The store.
    fn store(&mut self) -> &mut Store;

    /// The report on stored runs or cells, named as `r12` or `r12.3`.
    ///
    /// # Errors
    /// A sentence for the reader.
    fn report(&mut self, names: &[String]) -> Result<Report, String>;

    /// The comparison of the first of these groups with each other one. The runs of a group are repeats.
    ///
    /// # Errors
    /// A sentence for the reader.
    fn compare(&mut self, groups: &[Group]) -> Result<Comparison, String>;

    /// Whether the process that measures a run was killed.
    fn is_dead(&self, run: &Run) -> bool;

    /// Whether a process of this host measures a run now.
    fn is_measured_here(&self, run: &Run) -> bool;

    /// Name of the data sheet of a device, which is named by its model, serial number and firmware.
    fn sheet_name(&self, device: &str) -> Option<String>;

    /// The results of these runs against the data sheet of a device; `None` when no sheet is known.
    ///
    /// # Errors
    /// A sentence for the reader.
    fn sheet(&mut self, device: &str, runs: &[String]) -> Result<Option<SheetResults>, String>;
}

/// Runs that are compared as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// How the group is named in the comparison.
    pub title: String,
    /// Names of its runs or cells; at least one.
    pub runs: Vec<String>,
}

/// The best results of a device against its data sheet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SheetResults {
    /// Name of the sheet.
    pub id: String,
    /// The product that it is about.
    pub product: String,
    /// Each figure with the best result, and the run or cell that has it; empty if none has.
    pub lines: Vec<(SpecLine, String)>,
    /// Runs that were compared.
    pub runs: u64,
}

/// Opens the library, in each thread of the server and again after a failure.
pub type Opener = dyn Fn() -> Result<Box<dyn Library>, String> + Send + Sync;

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The program was built without the server.
    #[error(
        "this build has no server: the cargo feature `serve` is missing; build fathom with `cargo build --features serve`"
    )]
    NotBuilt,
    /// A setting is not usable.
    #[error("{0}")]
    Setting(String),
    /// The system refused something.
    #[error("cannot serve on {address}: {source}")]
    Io {
        /// The address of the server.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
}

/// Fails: this build has no server.
///
/// # Errors
/// [`ServeError::NotBuilt`].
#[cfg(not(feature = "http"))]
pub fn serve(
    _: TcpListener,
    _: Settings,
    _: Box<Opener>,
    _: &dyn Fn() -> bool,
) -> Result<(), ServeError> {
    Err(ServeError::NotBuilt)
}
