//! Devices with results, and their best figures against their data sheets.

use std::collections::BTreeMap;

use fathom_model::format::counted;
use fathom_model::{RunId, simulated_in};
use fathom_store::ListFilter;

use super::{answer, fact};
use crate::SheetResults;
use crate::answer::{Answer, Problem};
use crate::html::{Column, Frame, Html, elsewhere, number, words};
use crate::request::{Request, address};
use crate::workers::Site;

/// A device as the facts of runs name it: model, serial number and firmware.
pub(crate) struct Device {
    pub name: String,
    pub hosts: Vec<String>,
    pub kernels: Vec<String>,
    pub runs: u64,
    pub newest: RunId,
}

/// All devices, those with the newest runs first. Runs without a known device have the name of their target.
pub(crate) fn devices(site: &mut Site) -> Result<Vec<Device>, Problem> {
    let mut all: BTreeMap<String, Device> = BTreeMap::new();
    for (facts, runs, newest) in site.library.store().fact_groups()? {
        if simulated_in(&facts).is_some() {
            continue;
        }
        let name = match (fact(&facts, "device"), fact(&facts, "disk")) {
            ("", "") => continue,
            ("", disk) => disk,
            (device, _) => device,
        };
        let device = all.entry(name.to_owned()).or_insert_with(|| Device {
            name: name.to_owned(),
            hosts: Vec::new(),
            kernels: Vec::new(),
            runs: 0,
            newest,
        });
        device.runs += runs;
        device.newest = device.newest.max(newest);
        for (list, name) in [(&mut device.hosts, "host"), (&mut device.kernels, "kernel")] {
            let value = fact(&facts, name);
            if !value.is_empty() && !list.iter().any(|known| known == value) {
                list.push(value.to_owned());
            }
        }
    }
    let mut all: Vec<Device> = all.into_values().collect();
    all.sort_by_key(|device| std::cmp::Reverse(device.newest));
    Ok(all)
}

/// The newest runs of a device whose results are compared with its data sheet.
const COMPARED: u32 = 50;

/// The results of a device against its data sheet; `None` when no sheet is known.
pub(crate) fn sheet(site: &mut Site, device: &str) -> Result<Option<SheetResults>, Problem> {
    let listed = site.library.store().list(&ListFilter {
        device: device.to_owned(),
        limit: COMPARED,
        ..ListFilter::default()
    })?;
    let runs: Vec<String> = listed
        .iter()
        .filter(|listed| fact(&listed.run.experiment.facts, "device") == device)
        .map(|listed| listed.run.id.to_string())
        .collect();
    site.library.sheet(device, &runs).map_err(Problem::Failed)
}

pub(crate) fn page(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    match request.get("device") {
        "" => list(site),
        device => one(site, device),
    }
}

fn list(site: &mut Site) -> Result<Answer, Problem> {
    const RUNS: Column = number("Runs");
    const HOSTS: Column = words("Hosts");
    const KERNELS: Column = words("Kernels");
    const NEWEST: Column = words("Newest");
    const TREND: Column = words("Trend");
    const SHEET: Column = words("Data sheet");
    let all = devices(site)?;
    let mut html = Html::default();
    html.raw("<h1>Devices</h1>");
    if all.is_empty() {
        html.raw("<p>No run has a device yet.</p>");
    } else {
        html.head(
            &format!(
                "{}, by model, serial number and firmware",
                counted(all.len() as u64, "device")
            ),
            &[words("Device"), RUNS, HOSTS, KERNELS, NEWEST, TREND, SHEET],
        );
        for device in &all {
            let of_it = ("device", device.name.clone());
            html.row("/", std::slice::from_ref(&of_it), &device.name)
                .cell(RUNS, &device.runs.to_string())
                .cell(HOSTS, &device.hosts.join(", "))
                .cell(KERNELS, &device.kernels.join(", "))
                .open(NEWEST)
                .link(
                    &format!("/runs/{}", device.newest),
                    &[],
                    &device.newest.to_string(),
                )
                .raw("</td>")
                .open(TREND);
            html.link(
                "/trends",
                &[("figure", "read iops".to_owned()), of_it.clone()],
                "read iops",
            )
            .raw("</td>")
            .open(SHEET);
            if let Some(sheet) = site.library.sheet_name(&device.name) {
                html.link("/devices", &[of_it], &sheet);
            }
            html.raw("</td></tr>");
        }
        html.foot();
    }
    let api = "/api/v1/devices";
    elsewhere(
        &mut html,
        &[
            ("CSV", format!("{api}?format=csv")),
            ("JSON", api.to_owned()),
        ],
        "fathom runs",
    );
    Ok(answer(&frame("Devices"), &html))
}

fn one(site: &mut Site, device: &str) -> Result<Answer, Problem> {
    const CONDITIONS: Column = words("Conditions");
    const PROMISED: Column = number("Promised");
    const MEASURED: Column = number("Best result");
    const RATIO: Column = number("Of promise");
    const JUDGEMENT: Column = words("Judgement");
    const RUN: Column = words("Run");
    let found = sheet(site, device)?;
    let mut html = Html::default();
    html.raw("<p class=sub>")
        .link("/devices", &[], "Devices")
        .text(" / ")
        .text(device)
        .raw("</p><h1>")
        .text(device)
        .raw("</h1>");
    let mut sheet_id = String::new();
    match found {
        None => {
            html.raw("<p>No data sheet of this model is known; <code>fathom spec</code> lists the known ones.</p>");
        }
        Some(found) => {
            let caption = format!(
                "{} ({}): the best results of {}",
                found.product,
                found.id,
                counted(found.runs, "run")
            );
            html.head(
                &caption,
                &[
                    words("Figure"),
                    CONDITIONS,
                    PROMISED,
                    MEASURED,
                    RATIO,
                    JUDGEMENT,
                    RUN,
                ],
            );
            for (line, run) in &found.lines {
                let promised = line.figure.rsplit(", ").next().unwrap_or_default();
                let name = line
                    .figure
                    .trim_end_matches(promised)
                    .trim_end_matches(", ");
                let ratio = line
                    .ratio
                    .map_or(String::new(), |ratio| format!("{:.0} %", 100.0 * ratio));
                html.raw("<tr><th scope=row>")
                    .text(name)
                    .raw("</th>")
                    .cell(CONDITIONS, &line.conditions)
                    .cell(PROMISED, promised)
                    .cell(MEASURED, line.measured_text.as_deref().unwrap_or_default())
                    .cell(RATIO, &ratio)
                    .open(JUDGEMENT)
                    .meaning(line.judgement)
                    .raw("</td>")
                    .open(RUN);
                if !run.is_empty() {
                    html.link(&format!("/runs/{run}"), &[], run);
                }
                html.raw("</td></tr>");
            }
            html.foot()
                .raw("<p class=note>")
                .text(&format!(
                    "The newest {COMPARED} runs are compared, each figure under the conditions of the sheet or less load; the best result counts. For a latency, \"of promise\" is promised divided by measured."
                ))
                .raw("</p>");
            sheet_id = found.id;
        }
    }
    html.raw("<p>")
        .link("/", &[("device", device.to_owned())], "Its runs")
        .raw("</p>");
    let download = |format: &str| {
        let query = [("device", device.to_owned()), ("format", format.to_owned())];
        address("/api/v1/devices", &query)
    };
    let command = if sheet_id.is_empty() {
        String::new()
    } else {
        format!("fathom spec DEVICE --sheet={sheet_id} --run")
    };
    let downloads = [("CSV", download("csv")), ("JSON", download("json"))];
    // Without a sheet there is nothing to download.
    let shown = if sheet_id.is_empty() { 0 } else { 2 };
    elsewhere(&mut html, &downloads[..shown], &command);
    Ok(answer(&frame(device), &html))
}

fn frame(title: &str) -> Frame<'_> {
    Frame {
        title,
        current: "/devices",
        is_wide: true,
        ..Frame::default()
    }
}
