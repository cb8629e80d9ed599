//! The result of `fio --client`: each host, then all together.

use std::io::{self, Write};

use fathom_model::{Entry, Plan};

use crate::client_result::ClientResult;
use crate::json::clients_json;
use crate::terse::{terse, terse_entry};
use crate::text::{text, together_text};
use crate::{Format, Style, TerseVersion, banner, starting};

/// The lines before the run: who takes part, with which jobs.
#[must_use]
pub fn clients_banner<'a>(
    clients: impl Iterator<Item = (&'a str, &'a Plan)> + Clone,
    style: &Style,
) -> String {
    let mut lines = String::new();
    for (name, _) in clients.clone() {
        lines += &format!("hostname={name}, os=Linux, fio={}\n", style.version);
    }
    for (name, plan) in clients {
        // The version, the last line of the banner, is said already.
        let mut sections: Vec<String> = banner(plan, style).lines().map(str::to_owned).collect();
        sections.pop();
        let workers = starting(plan.jobs.len(), 0);
        for line in sections.iter().map(String::as_str).chain(workers.lines()) {
            lines += &format!("<{name}> {line}\n");
        }
    }
    style.clean(&lines)
}

/// Writes all requested formats as [`crate::write`] does, in the form of fio's client.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_clients(
    clients: &[ClientResult<'_>],
    all: Option<&Entry>,
    formats: &[Format],
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let version = formats.iter().rev().find_map(|format| match format {
        Format::Terse(version) => Some(*version),
        _ => None,
    });
    if let Some(version) = version {
        terse_clients(clients, all, style, version, out)?;
    }
    let plus = formats.contains(&Format::JsonPlus);
    if plus || formats.contains(&Format::Json) {
        clients_json(clients, all, style, plus, out)?;
    }
    if formats.contains(&Format::Normal) {
        for client in clients {
            let lines = format!("<{}> {}", client.name, text(client.findings, style));
            out.write_all(lines.as_bytes())?;
        }
        if let (Some(all), Some(last)) = (all, clients.last()) {
            out.write_all(together_text(all, last.findings, style).as_bytes())?;
        }
    }
    Ok(())
}

fn terse_clients(
    clients: &[ClientResult<'_>],
    all: Option<&Entry>,
    style: &Style,
    version: TerseVersion,
    out: &mut dyn Write,
) -> io::Result<()> {
    for client in clients {
        terse(client.findings, style, version, out)?;
    }
    match all {
        Some(all) => terse_entry(all, style, version, out),
        None => Ok(()),
    }
}
