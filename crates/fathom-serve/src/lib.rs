//! The results of a store in a browser, and as an HTTP API.
//!
//! [`serve`] answers requests until it is asked to stop. Pages are made on the server; scripts only draw charts, so that every
//! page can be read without them. What a request may do:
//!
//! * It reads. No request changes the store, starts a program or opens a path that it names.
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
mod filters;
#[cfg(feature = "http")]
mod html;
#[cfg(feature = "http")]
mod io;
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
mod workers;

use std::net::SocketAddr;
#[cfg(not(feature = "http"))]
use std::net::TcpListener;

use fathom_model::{Comparison, Report, Run};
use fathom_store::Store;
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
    /// The header with which a reverse proxy names the user it has authenticated; only requests from this host may have it.
    pub proxy_header: Option<String>,
    /// Offset of local time from UTC, seconds.
    pub utc_offset_s: i32,
    /// Version of the program.
    pub version: &'static str,
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

    /// The comparison of the first of these runs with each other one.
    ///
    /// # Errors
    /// A sentence for the reader.
    fn compare(&mut self, names: &[String]) -> Result<Comparison, String>;

    /// Whether the process that measures a run was killed.
    fn is_dead(&self, run: &Run) -> bool;
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
