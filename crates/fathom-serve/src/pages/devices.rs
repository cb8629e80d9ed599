//! Devices with results, and their best figures.

use std::collections::BTreeMap;

use fathom_model::RunId;
use fathom_model::format::counted;

use super::{answer, fact};
use crate::answer::{Answer, Problem};
use crate::html::{Frame, Html, elsewhere};
use crate::request::Request;
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

pub(crate) fn page(site: &mut Site, _: &Request) -> Result<Answer, Problem> {
    let all = devices(site)?;
    let mut html = Html::default();
    html.raw("<h1>Devices</h1>");
    if all.is_empty() {
        html.raw("<p>No run has a device yet.</p>");
    } else {
        html.raw("<div class=\"whole runs\">");
        html.head(
            &format!(
                "{}, by model, serial number and firmware",
                counted(all.len() as u64, "device")
            ),
            &["Device", "Runs", "Hosts", "Kernels", "Newest", "Trend"],
        );
        for device in &all {
            html.raw("<tr><th scope=row>")
                .link("/", &[("device", device.name.clone())], &device.name)
                .raw("</th>");
            html.cell("Runs", &device.runs.to_string());
            html.cell("Hosts", &device.hosts.join(", "));
            html.cell("Kernels", &device.kernels.join(", "));
            html.raw("<td data-label=Newest>").link(
                &format!("/runs/{}", device.newest),
                &[],
                &device.newest.to_string(),
            );
            html.raw("</td><td data-label=Trend>");
            html.link(
                "/trends",
                &[
                    ("figure", "read iops".to_owned()),
                    ("device", device.name.clone()),
                ],
                "read iops",
            )
            .raw("</td></tr>");
        }
        html.raw("</tbody></table></div>");
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
    Ok(answer(
        &Frame {
            title: "Devices",
            current: "/devices",
            is_wide: true,
            ..Frame::default()
        },
        &html,
    ))
}
