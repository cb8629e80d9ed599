//! `fathom serve`: the results of a store in a browser.

use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use fathom_cli::{ServeArgs, StoreSource};
use fathom_linux::{interrupts, utc_offset_s};
use fathom_model::{Comparison, Report, Run};
use fathom_serve::{Library, SHORTEST_TOKEN, Settings, serve};
use fathom_store::Store;

use crate::cli;
use crate::compare::compare_stored;
use crate::outcome::Outcome;
use crate::print::{note_line, print};
use crate::result_store::{is_dead, open_store};
use crate::results::read_stored_results;

/// Random bytes of a token.
const TOKEN: usize = 24;
/// Below every measurement: the server must not disturb one.
const NICENESS: i32 = 10;

/// Carries out the command.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ServeArgs| start(&args))
}

fn start(args: &ServeArgs) -> Result<Outcome, String> {
    let header = args.proxy_header.as_deref().map(header_name).transpose()?;
    let token = match &args.login_token {
        Some(file) => token_of(file)?,
        None => secret()?,
    };
    // A store that is missing or damaged is reported now, not to the first visitor.
    let path = open_store(&args.store)?.path().to_owned();
    let listener = TcpListener::bind(args.listen).map_err(|error| unusable(args, &error))?;
    let address = listener
        .local_addr()
        .map_err(|error| unusable(args, &error))?;
    let _ = rustix::process::nice(NICENESS);
    let settings = Settings {
        session: secret()?,
        hosts: args.host.clone(),
        proxy_header: header,
        utc_offset_s: utc_offset_s(),
        version: env!("CARGO_PKG_VERSION"),
        token,
    };
    interrupts();
    print(&format!("http://{address}/?token={}\n", settings.token));
    note_line!(
        "fathom serve: results of {path}; open the address in a browser, Ctrl-C ends the server"
    );
    if !address.ip().is_loopback() {
        note_line!(
            "fathom serve: other hosts can reach {address}, and the connection is not encrypted: put a reverse proxy with TLS in front of it"
        );
    }
    let source = args.store.clone();
    let open = move || -> Result<Box<dyn Library>, String> {
        let mut store = open_store(&source)?;
        store_only_reads(&mut store)?;
        Ok(Box::new(Stored {
            source: source.clone(),
            store,
        }))
    };
    serve(listener, settings, Box::new(open), &|| {
        interrupts().load(Relaxed) > 0
    })
    .map_err(|error| error.to_string())?;
    note_line!("fathom serve: ended");
    Ok(Outcome::Good)
}

#[cfg(feature = "store")]
fn store_only_reads(store: &mut Store) -> Result<(), String> {
    store.only_reads().map_err(|error| error.to_string())
}

#[cfg(not(feature = "store"))]
fn store_only_reads(_: &mut Store) -> Result<(), String> {
    Ok(())
}

/// Why an address cannot be used, and what to do.
fn unusable(args: &ServeArgs, error: &std::io::Error) -> String {
    let address = args.listen;
    match error.kind() {
        ErrorKind::AddrInUse => format!(
            "{address} is in use by another program: choose another port with --listen={}:PORT, or 0 for any free one",
            address.ip()
        ),
        ErrorKind::AddrNotAvailable => format!(
            "{address} is not an address of this host: `ip address` lists them; 127.0.0.1 is always one"
        ),
        ErrorKind::PermissionDenied => format!(
            "{address}: ports below 1024 need root: choose a higher one with --listen={}:PORT",
            address.ip()
        ),
        _ => format!("cannot listen on {address}: {error}"),
    }
}

/// The name of a header, in lower case.
fn header_name(name: &str) -> Result<String, String> {
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if is_name {
        Ok(name.to_ascii_lowercase())
    } else {
        Err(format!(
            "--proxy-header: '{}' is not the name of a header",
            name.escape_debug()
        ))
    }
}

fn token_of(file: &Path) -> Result<String, String> {
    let shown = file.display().to_string().escape_debug().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("--login-token: {shown}: {error}"))?;
    let token = text.trim();
    if token.len() < SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "--login-token: {shown}: a token has at least {SHORTEST_TOKEN} characters of ASCII without spaces; make one with `head -c 24 /dev/urandom | base64 > {shown}`"
        ));
    }
    Ok(token.to_owned())
}

/// Random letters and digits. See urandom(4).
fn secret() -> Result<String, String> {
    let mut bytes = [0; TOKEN];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| format!("/dev/urandom: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A store with the analyses of the other commands.
struct Stored {
    source: StoreSource,
    store: Store,
}

impl Library for Stored {
    fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn report(&mut self, names: &[String]) -> Result<Report, String> {
        Ok(fathom_analyse::report(
            &read_stored_results(names, &self.source)?,
            None,
        ))
    }

    fn compare(&mut self, names: &[String]) -> Result<Comparison, String> {
        compare_stored(names, &self.source)
    }

    fn is_dead(&self, run: &Run) -> bool {
        is_dead(run)
    }
}
