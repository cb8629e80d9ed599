//! `fathom serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::Text;
use crate::common::StoreSource;
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Show stored runs in a browser, and as an HTTP API",
    "Serves the results of a store: lists, reports with their charts, comparisons, trends with change points, devices, experiments, \
     and runs while they are measured. The printed address contains a token, which logs a browser in; programs send it as \
     `Authorization: Bearer TOKEN`. No request changes the store or opens a path that it names, and none starts a run unless \
     --allow-run names its path.\n\n\
     It listens on this host only unless --listen names another address. For other hosts use TLS: --tls-cert, a reverse proxy, or \
     `ssh -L`.\n\n\
     The API is below /api/v1, described by /api/v1/openapi.json; metrics for Prometheus are at /metrics. Ctrl-C ends the server.",
    "Examples:
  fathom serve
  fathom serve --store=team.db --listen=127.0.0.1:8410 --login-token=token
  fathom serve --listen=10.0.0.5:8410 --host=bench.example.com --login-token=token --tls-cert=bench.pem --tls-key=bench.key",
);

/// Arguments of `fathom serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// Listen on this address and port
    ///
    /// Port 0 is any free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = values::socket_address)]
    pub listen: SocketAddr,
    /// Use the token in this file instead of a new one, so that it stays the same
    ///
    /// At least 16 characters without spaces. A new one: head -c 24 /dev/urandom | base64 > FILE
    #[arg(long, value_name = "FILE")]
    pub login_token: Option<PathBuf>,
    /// Name by which clients reach the server, such as that of a reverse proxy; can be repeated
    ///
    /// Requests to any other name are refused, except to addresses and localhost.
    #[arg(long, value_name = "NAME", value_parser = values::not_empty)]
    pub host: Vec<String>,
    /// Encrypt connections by TLS 1.3, with the certificate in this PEM file
    ///
    /// The server's certificate comes first, then those between it and its authority. It is read once: start the server again
    /// after it was renewed.
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM; without this option it is in the file of --tls-cert
    ///
    /// RSA, ECDSA or Ed25519, not encrypted. Browsers accept no Ed25519.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Trust a reverse proxy on this host that names the user in this header
    ///
    /// Requests from this host with the header need no token: the proxy must remove the header that its clients send.
    #[arg(long, value_name = "HEADER", value_parser = values::not_empty)]
    pub proxy_header: Option<String>,
    /// Let visitors start runs on this file or device; can be repeated
    ///
    /// Only options of the load can be used, the job file is shown first, and the guard decides. One run at a time, of at most an hour.
    #[arg(long, value_name = "PATH")]
    pub allow_run: Vec<PathBuf>,
    /// Send a message to this address when a run ends and when a figure gets worse; can be repeated
    ///
    /// An HTTP POST with JSON to https://HOST:PORT/PATH, or to http://... without TLS. Up to four attempts of 10 s each.
    #[arg(long, value_name = "URL", value_parser = values::not_empty)]
    pub webhook: Vec<String>,
    /// Trust receivers with https:// whose certificate is signed by one of the authorities in this PEM file
    ///
    /// Without this option those of the system are trusted. A certificate that is its own authority can be named itself.
    #[arg(long, value_name = "FILE", requires = "webhook")]
    pub webhook_ca: Option<PathBuf>,
    /// Sign the messages with the key in this file
    ///
    /// X-Fathom-Signature is then sha256= and the HMAC-SHA256 of the body in hexadecimal digits. At least 16 characters without spaces.
    #[arg(long, value_name = "FILE", requires = "webhook")]
    pub webhook_secret: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl Default for ServeArgs {
    fn default() -> Self {
        ServeArgs {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            login_token: None,
            host: Vec::new(),
            tls_cert: None,
            tls_key: None,
            proxy_header: None,
            allow_run: Vec::new(),
            webhook: Vec::new(),
            webhook_ca: None,
            webhook_secret: None,
            store: StoreSource::default(),
        }
    }
}

impl CommandArgs for ServeArgs {
    const NAME: &'static str = "serve";
}
