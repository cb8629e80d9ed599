//! fio's JSON and json+, followed by fathom's own key.

mod addition;
mod blame;
mod conditions;
mod device_cards;
mod devices;
mod direction;
mod entry;
pub(crate) mod events;
pub(crate) mod grid;
mod observed;
pub(crate) mod response;
mod spec;
pub(crate) mod suite;

use std::io::{self, Write};

use fathom_model::{DiskSummary, Entry, Findings, Personality, Simulated};

pub use self::device_cards::device_document;
pub use self::spec::spec_document;
use self::{
    addition::{addition, imported},
    entry::{client_entry, entry},
};
use crate::Style;
use crate::client_result::ClientResult;
use crate::idleness::idleness_object;
use crate::tree::{Fields, Object, Tree, Value};
use fathom_model::format::ctime;

/// Writes one JSON document and a line end. `plus` adds the histograms (fio's `json+`).
///
/// Keys, types, presence and order are those of fio 3.42. With [`Personality::Fathom`] one more key, `fathom`,
/// follows the others. Called again for a later state, it writes a further complete document (`--status-interval`).
///
/// # Errors
/// If writing to `out` fails.
pub fn json(findings: &Findings, style: &Style, plus: bool, out: &mut dyn Write) -> io::Result<()> {
    document(findings, style, plus).write(out)?;
    out.write_all(b"\n")
}

pub(crate) fn document<'a>(findings: &'a Findings, style: &'a Style, plus: bool) -> Value<'a> {
    let now_ms = findings.ended_unix_ms();
    let mut root = Fields::new()
        .with("fio version", &style.version)
        .with("timestamp", now_ms / 1000)
        .with("timestamp_ms", now_ms)
        .with("time", ctime(now_ms / 1000, style.utc_offset_s));
    if !findings.globals.is_empty() {
        root.push("global options", options(&findings.globals));
    }
    root.push(
        "jobs",
        Value::each(&findings.entries, move |one| entry(one, style, plus)),
    );
    if !findings.disks.is_empty() {
        root.push(
            "disk_util",
            findings.disks.iter().map(disk).collect::<Tree>(),
        );
    }
    if let Some(idleness) = &findings.host.idleness {
        root.push("cpu_idleness", idleness_object(idleness));
    }
    if let Some(source) = &findings.imported {
        root.push("fathom", imported(findings, source, plus));
    } else if findings.personality == Personality::Fathom {
        root.push("fathom", addition(findings, plus));
    }
    root.into()
}

/// Writes the document of `fio --client`: `client_stats` in place of `jobs`, with the host of each entry.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn clients_json(
    clients: &[ClientResult<'_>],
    all: Option<&Entry>,
    style: &Style,
    plus: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let ends = clients.iter().map(|client| client.findings.ended_unix_ms());
    let now = ends.max().unwrap_or_default() / 1000;
    let mut root = Fields::new()
        .with("fio version", &style.version)
        .with("timestamp", now)
        .with("time", ctime(now, style.utc_offset_s));
    let globals = |client: &ClientResult<'_>| options(&client.findings.globals);
    match clients {
        [] => {}
        // As in fio, one client has an object, and several have a list of those that are not empty.
        [one] => root.push("global options", globals(one)),
        several => root.push(
            "global options",
            several
                .iter()
                .filter(|client| !client.findings.globals.is_empty())
                .map(|client| of_client(globals(client), client))
                .collect::<Tree>(),
        ),
    }
    let mut stats: Vec<Tree> = Vec::new();
    for client in clients {
        for one in &client.findings.entries {
            stats.push(of_client(client_entry(one, style, plus), client).into());
        }
    }
    if let (Some(all), Some(last)) = (all, clients.last()) {
        stats.push(of_client(client_entry(all, style, plus), last).into());
    }
    root.push("client_stats", Value::Array(stats));
    let disks = clients.iter().flat_map(|client| {
        let disks = client.findings.disks.iter();
        disks.map(move |one| of_client(disk_object(one), client))
    });
    root.push("disk_util", disks.collect::<Tree>());
    Value::from(root).write(out)?;
    out.write_all(b"\n")
}

/// With the host, as fio does for everything that comes from one.
fn of_client(object: Object, client: &ClientResult<'_>) -> Object {
    object
        .with("hostname", client.name)
        .with("port", u32::from(client.port))
}

/// Options as written; a bare flag has an empty value.
fn options(written: &[(String, Option<String>)]) -> Object {
    written.iter().fold(Object::new(), |all, (name, value)| {
        all.with(name.clone(), value.as_deref().unwrap_or(""))
    })
}

fn disk(disk: &DiskSummary) -> Tree {
    disk_object(disk).into()
}

fn disk_object(disk: &DiskSummary) -> Object {
    let delta = &disk.delta;
    Object::new()
        .with("name", &disk.name)
        .with("read_ios", delta.read_ios)
        .with("write_ios", delta.write_ios)
        .with("read_sectors", delta.read_sectors)
        .with("write_sectors", delta.write_sectors)
        .with("read_merges", delta.read_merges)
        .with("write_merges", delta.write_merges)
        .with("read_ticks", delta.read_ticks)
        .with("write_ticks", delta.write_ticks)
        .with("in_queue", delta.time_in_queue)
        .with("util", disk.util)
}

/// `object` with the simulated device, if there is one.
fn with_simulated(object: Object, simulated: Option<&Simulated>) -> Object {
    match simulated {
        Some(simulated) => object.with("simulated", simulated_object(simulated)),
        None => object,
    }
}

fn simulated_object(simulated: &Simulated) -> Object {
    Object::new()
        .with("device", &simulated.device)
        .with("seed", simulated.seed)
}
