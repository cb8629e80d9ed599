//! `fathom serve`: the results of a store in a browser.

mod starter;

use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_cli::{ServeArgs, StoreSource};
use fathom_device::spec::{Comparison, Library as SheetLibrary, measured_line, report};
use fathom_durable::wire::hmac_sha256;
use fathom_linux::{interrupts, utc_offset_s};
use fathom_model::{Comparison as RunComparison, DeviceFacts, Report, Run, RunState};
use fathom_serve::{
    Group, Hmac, Library, SHORTEST_TOKEN, Settings, SheetResults, Starter, Webhook, serve,
};
use fathom_store::Store;
use fathom_tls::{Authorities, Identity};

use crate::cli;
use crate::compare::compare_stored;
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, print};
use crate::result_store::{is_dead, open_store, other_host};
use crate::results::{each_stored_cell, read_stored_results};
use crate::spec_compare::covered;
use crate::specs;

use self::starter::Runs;

/// Random bytes of a token.
const TOKEN: usize = 24;
/// Below every measurement: the server must not disturb one.
const NICENESS: i32 = 19;

/// Carries out the command.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ServeArgs| start(&args))
}

fn start(args: &ServeArgs) -> Result<Outcome, String> {
    let header = args.proxy_header.as_deref().map(header_name).transpose()?;
    let token = match &args.login_token {
        Some(file) => token_of("--login-token", file)?,
        None => secret()?,
    };
    let key = args.webhook_secret.as_deref();
    let key = key
        .map(|file| token_of("--webhook-secret", file))
        .transpose()?;
    let authorities = || authorities(args.webhook_ca.as_deref());
    let webhooks = args.webhook.iter().map(|url| {
        let key = key.clone().map(|key| (key, hmac_sha256 as Hmac));
        Webhook::parse(url, key, &authorities)
            .map_err(|problem| format!("--webhook: {}: {problem}", url.escape_debug()))
    });
    let webhooks = webhooks.collect::<Result<Vec<_>, _>>()?;
    let tls = identity(args)?;
    // A store that is missing or damaged is reported now, not to the first visitor.
    let path = open_store(&args.store)?.path().to_owned();
    let listener = TcpListener::bind(args.listen).map_err(|error| unusable(args, &error))?;
    let address = listener
        .local_addr()
        .map_err(|error| unusable(args, &error))?;
    let starter = if args.allow_run.is_empty() {
        None
    } else {
        let runs = Runs::new(&args.allow_run, &args.store)?;
        Some(Arc::new(runs) as Arc<dyn Starter>)
    };
    let _ = rustix::process::nice(NICENESS);
    let settings = Settings {
        session: secret()?,
        hosts: args.host.clone(),
        tls,
        proxy_header: header,
        utc_offset_s: utc_offset_s(),
        version: env!("CARGO_PKG_VERSION"),
        token,
        webhooks,
        starter,
        form_secret: secret()?,
        note: |problem| eprint_line!("fathom serve: {problem}"),
        cpu_time,
    };
    interrupts();
    let (scheme, is_open) = match &settings.tls {
        Some(_) => ("https", false),
        None => ("http", !address.ip().is_loopback()),
    };
    // The certificate is for the name, as a rule.
    let place = match args.host.first() {
        Some(name) if settings.tls.is_some() => format!("{name}:{}", address.port()),
        _ => address.to_string(),
    };
    let in_address = encoded(&settings.token);
    print(&format!("{scheme}://{place}/?token={in_address}\n"));
    note_line!(
        "fathom serve: results of {path}; open the address in a browser, Ctrl-C ends the server"
    );
    if is_open {
        note_line!(
            "fathom serve: other hosts can reach {address}, and the connection is not encrypted: use --tls-cert, or a reverse proxy with TLS"
        );
    }
    let source = args.store.clone();
    let sheets = Arc::new(specs::library(&[] as &[&str]));
    let open = move || -> Result<Box<dyn Library>, String> {
        let mut store = open_store(&source)?;
        store_only_reads(&mut store)?;
        Ok(Box::new(Stored {
            source: source.clone(),
            store,
            sheets: sheets.clone(),
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

/// Certificate and key of --tls-cert and --tls-key.
fn identity(args: &ServeArgs) -> Result<Option<Identity>, String> {
    let Some(certificate) = &args.tls_cert else {
        return Ok(None);
    };
    let read = |option: &str, file: &Path| {
        std::fs::read(file).map_err(|error| {
            format!(
                "{option}: {}: {error}",
                file.display().to_string().escape_debug()
            )
        })
    };
    let chain = read("--tls-cert", certificate)?;
    let (key, place) = match &args.tls_key {
        Some(file) => (read("--tls-key", file)?, file),
        None => (chain.clone(), certificate),
    };
    let identity = Identity::for_browsers(&chain, &key).map_err(|error| {
        let files = if place == certificate {
            certificate.display().to_string()
        } else {
            format!("{}, --tls-key: {}", certificate.display(), place.display())
        };
        format!("--tls-cert: {}: {error}", files.escape_debug())
    })?;
    Ok(Some(identity))
}

/// Who signs the certificates of receivers: the authorities in the file of --webhook-ca, or those of the system.
fn authorities(file: Option<&Path>) -> Result<Authorities, String> {
    let Some(file) = file else {
        return system_authorities();
    };
    let shown = file.display().to_string().escape_debug().to_string();
    let text = std::fs::read(file).map_err(|error| format!("--webhook-ca: {shown}: {error}"))?;
    Authorities::of_pem(&text).map_err(|error| format!("--webhook-ca: {shown}: {error}"))
}

#[cfg(feature = "serve")]
fn system_authorities() -> Result<Authorities, String> {
    let certificates = rustls_native_certs::load_native_certs().certs;
    Authorities::of_der(certificates.iter().map(|one| one.to_vec()))
        .map_err(|error| format!("{error}, or name a file with --webhook-ca"))
}

#[cfg(not(feature = "serve"))]
fn system_authorities() -> Result<Authorities, String> {
    Err("this build sends no messages".to_owned())
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

fn token_of(option: &str, file: &Path) -> Result<String, String> {
    let shown = file.display().to_string().escape_debug().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{option}: {shown}: {error}"))?;
    let token = text.trim();
    if token.len() < SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "{option}: {shown}: a secret has at least {SHORTEST_TOKEN} characters of ASCII without spaces; make one with `head -c 24 /dev/urandom | base64 > {shown}`"
        ));
    }
    Ok(token.to_owned())
}

/// A text as the value of a parameter in an address.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Random letters and digits. See urandom(4).
fn secret() -> Result<String, String> {
    let mut bytes = [0; TOKEN];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| format!("/dev/urandom: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// CPU time of all threads of this process.
fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        used.tv_sec.try_into().unwrap_or_default(),
        used.tv_nsec.try_into().unwrap_or_default(),
    )
}

/// A store with the analyses of the other commands.
struct Stored {
    source: StoreSource,
    store: Store,
    sheets: Arc<SheetLibrary>,
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

    fn compare(&mut self, groups: &[Group]) -> Result<RunComparison, String> {
        let (runs, titles): (Vec<_>, Vec<_>) = groups
            .iter()
            .map(|group| (group.runs.clone(), group.title.clone()))
            .unzip();
        compare_stored(&runs, &titles, &self.source)
    }

    fn is_dead(&self, run: &Run) -> bool {
        is_dead(run)
    }

    fn is_measured_here(&self, run: &Run) -> bool {
        run.state == RunState::Running && other_host(run).is_none() && !is_dead(run)
    }

    fn sheet_name(&self, device: &str) -> Option<String> {
        let facts = named_device(device);
        self.sheets.for_device(&facts).map(|sheet| sheet.id.clone())
    }

    fn sheet(&mut self, device: &str, runs: &[String]) -> Result<Option<SheetResults>, String> {
        let facts = named_device(device);
        let Some(sheet) = self.sheets.for_device(&facts) else {
            return Ok(None);
        };
        let mut best: Vec<(Comparison, String)> = Vec::new();
        for name in runs {
            each_stored_cell(name, &self.source, &mut |run, cell, findings| {
                for one in covered(&findings, sheet, &facts) {
                    let place = if run.cells > 1 {
                        format!("{}.{}", run.id, cell.position)
                    } else {
                        run.id.to_string()
                    };
                    match best
                        .iter_mut()
                        .find(|(other, _)| other.figure == one.figure)
                    {
                        Some(known) if known.0.ratio < one.ratio => *known = (one, place),
                        Some(_) => {}
                        None => best.push((one, place)),
                    }
                }
                Ok(())
            })?;
        }
        let unmeasured = report("", &facts, sheet, false).lines;
        let lines = sheet.figures.iter().zip(unmeasured).map(|(figure, line)| {
            match best.iter().find(|(one, _)| one.figure == *figure) {
                Some((one, run)) => (measured_line(one), run.clone()),
                None => (line, String::new()),
            }
        });
        Ok(Some(SheetResults {
            id: sheet.id.clone(),
            product: format!("{} {}", sheet.maker, sheet.product),
            lines: lines.collect(),
            runs: runs.len() as u64,
        }))
    }
}

/// What is known of a device by its name in the store, which begins with its model.
fn named_device(name: &str) -> DeviceFacts {
    let mut facts = DeviceFacts::default();
    facts.identity.model = Some(name.to_owned());
    facts
}
