//! Where results go: standard output, or the file that `--output` names.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use fathom_linux::{Document, OutputName, Outputs};
use fathom_model::{Findings, Plan, Recording};
use fathom_plan::{OutputFormat, Reporting};
use fathom_report::{ClientResult, Exposition, Format, Style, TerseVersion};

use crate::screen;

/// The version of fio whose formats are written.
const FIO_VERSION: &str = "fio-3.42";
/// Bytes per write.
const BUFFER: usize = 64 << 10;

/// Where the bytes of a result go.
enum Sink {
    /// They are there as soon as they are written.
    Stream(Box<dyn Write>),
    /// They are there once the document is complete.
    Document(Option<Document>),
}

/// An open result.
pub struct Output {
    out: Sink,
    pub style: Style,
    formats: Vec<Format>,
    /// Text is among the formats.
    pub normal: bool,
    /// Its name in messages.
    name: String,
    /// The hosts of `--client`; empty without it.
    clients: Vec<Client>,
}

/// One host of `--client`.
pub struct Client {
    /// The name of its agent.
    pub name: String,
    /// The port of `--client`, which fio repeats in its result.
    pub port: u16,
    /// What it runs.
    pub plan: Plan,
}

impl Output {
    /// Opens the output of `reporting`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn open(reporting: &Reporting, outputs: &Outputs) -> Result<Output, String> {
        // The collector may read the file at any time.
        let is_atomic = reporting.formats.iter().any(|one| one.is_exposition());
        let (out, terminal, name) = match &reporting.output {
            None => (
                Sink::Stream(Box::new(io::stdout())),
                io::stdout().is_terminal(),
                "standard output".into(),
            ),
            Some(name) if is_atomic => {
                let document = outputs
                    .document(Path::new(name), OutputName::Explicit)
                    .map_err(|error| format!("--output: {error}"))?;
                (Sink::Document(Some(document)), false, name.clone())
            }
            Some(name) => {
                let file = outputs
                    .stream(Path::new(name), OutputName::Explicit)
                    .map_err(|error| format!("--output: {error}"))?;
                (Sink::Stream(Box::new(file)), false, name.clone())
            }
        };
        let normal = reporting.formats.contains(&OutputFormat::Normal);
        let formats = reporting
            .formats
            .iter()
            .map(|format| report_format(*format, reporting.terse_version))
            .collect();
        Ok(Output {
            out,
            style: screen::style(terminal, FIO_VERSION),
            formats,
            normal,
            name,
            clients: Vec::new(),
        })
    }

    /// Results are those of these hosts, in the form of fio's client. Writes the lines before the run.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn set_clients(&mut self, clients: Vec<Client>) -> Result<(), String> {
        self.clients = clients;
        if !self.normal {
            return Ok(());
        }
        let shown = self
            .clients
            .iter()
            .map(|one| (one.name.as_str(), &one.plan));
        let banner = fathom_report::clients_banner(shown, &self.style);
        self.text(&banner)
    }

    /// Writes the result of a run in all requested formats.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn result(&mut self, recording: &Recording, findings: &Findings) -> Result<(), String> {
        if self.clients.is_empty() {
            return self.findings(findings);
        }
        let (mut hosts, all) = fathom_analyse::clients(recording);
        let mut shown = Vec::new();
        for (name, findings) in &mut hosts {
            if let Some(client) = self.clients.iter().find(|one| one.name == *name) {
                findings.globals.clone_from(&client.plan.globals);
                shown.push(ClientResult {
                    name,
                    port: client.port,
                    findings,
                });
            }
        }
        let mut bytes = Vec::new();
        let written = fathom_report::write_clients(
            &shown,
            all.as_ref(),
            &self.formats,
            &self.style,
            &mut bytes,
        )
        .and_then(|()| match &mut self.out {
            Sink::Stream(out) => out.write_all(&bytes).and_then(|()| out.flush()),
            // An exposition, which `fathom fio` does not have.
            Sink::Document(_) => Ok(()),
        });
        self.checked(written)
    }

    /// Writes a text unchanged.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn text(&mut self, text: &str) -> Result<(), String> {
        let written = match &mut self.out {
            Sink::Stream(out) => out.write_all(text.as_bytes()).and_then(|()| out.flush()),
            Sink::Document(_) => Ok(()),
        };
        self.checked(written)
    }

    /// Writes all requested formats.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn findings(&mut self, findings: &Findings) -> Result<(), String> {
        // Not built in memory first: the document of a long run is larger than all the memory of the run.
        let write = |sink: &mut dyn Write| {
            let mut out = BufWriter::with_capacity(BUFFER, sink);
            fathom_report::write(findings, &self.formats, &self.style, &mut out)
                .and_then(|()| out.flush())
        };
        let written = match &mut self.out {
            Sink::Stream(out) => write(out),
            Sink::Document(document) => match document.take() {
                Some(mut document) => {
                    write(&mut document).and_then(|()| document.commit().map_err(io::Error::from))
                }
                None => Ok(()),
            },
        };
        self.checked(written)
    }

    /// Whether the state of a running job can be written before its result: an exposition has one state.
    pub fn takes_states(&self) -> bool {
        !self
            .formats
            .iter()
            .any(|format| matches!(format, Format::Exposition(_)))
    }

    /// A closed pipe is not an error.
    fn checked(&self, written: io::Result<()>) -> Result<(), String> {
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(format!("cannot write the result to {}: {error}", self.name))
            }
            _ => Ok(()),
        }
    }
}

/// The style of a result on standard output.
pub fn answer_style() -> Style {
    screen::style(io::stdout().is_terminal(), FIO_VERSION)
}

/// fio's version, as `--version` prints it.
pub fn fio_version() -> &'static str {
    FIO_VERSION
}

fn report_format(format: OutputFormat, terse_version: u8) -> Format {
    match format {
        OutputFormat::Normal => Format::Normal,
        OutputFormat::Json => Format::Json,
        OutputFormat::JsonPlus => Format::JsonPlus,
        OutputFormat::OpenMetrics => Format::Exposition(Exposition::OpenMetrics),
        OutputFormat::Prometheus => Format::Exposition(Exposition::Prometheus),
        OutputFormat::Terse => Format::Terse(match terse_version {
            2 => TerseVersion::V2,
            4 => TerseVersion::V4,
            5 => TerseVersion::V5,
            _ => TerseVersion::V3,
        }),
    }
}
