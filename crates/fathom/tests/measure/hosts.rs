//! Hosts start at the same instant.

use std::process::Command;

use fathom_testkit::{Need, Scratch};
use serde_json::Value;

use crate::common::{program, start};
use crate::scene::Scene;

pub const SCENES: &[Scene] = &[Scene::check(
    "two hosts start within 5 ms",
    &[Need::Nats],
    hosts_start_at_the_same_instant,
)];

/// The address of the server, from the file that `nats-server --ports_file_dir` writes.
fn address(directory: &Scratch) -> Option<String> {
    let file = std::fs::read_dir(directory.path()).ok()?.next()?.ok()?;
    let ports: Value = serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok()?;
    ports["nats"][0].as_str().map(str::to_owned)
}

/// By what they recorded; on one machine the clocks are the same.
fn hosts_start_at_the_same_instant() -> Result<(), String> {
    let (ports, data) = (
        Scratch::new().expect("scratch"),
        Scratch::new().expect("scratch"),
    );
    let mut server = Command::new("nats-server");
    server
        .args(["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"])
        .arg(ports.path());
    let mut found = None;
    let _server = start(server).wait_until("the NATS server listens", || {
        found = address(&ports);
        found.is_some()
    });
    let nats = format!("--nats={}", found.unwrap_or_default());
    let _agents = ["a", "b"].map(|name| {
        let allow = format!("--allow={}", data.path().display());
        start(program(["agent", &nats, "--host-name", name, &allow]))
    });
    let mut command = program(["run", &nats, "--hosts=a,b", "--quiet", "--json"]);
    command.args(["--name=n", "--ioengine=null", "--size=1g", "--rw=randread"]);
    command.args(["--rate_iops=100", "--runtime=1", "--time_based"]);
    let ran = start(command).finish();
    let document: Value = serde_json::from_str(&ran.out).map_err(|_| ran.err)?;
    let hosts = document["fathom"]["hosts"].as_array().ok_or("no hosts")?;
    let of = |host: usize, name: &str| hosts[host][name].as_f64().ok_or("no time");
    let apart = (of(0, "late_ns")? - of(1, "late_ns")?).abs();
    let offsets = of(0, "wall_clock_offset_ns")?
        .abs()
        .max(of(1, "wall_clock_offset_ns")?.abs());
    if apart <= 5e6 && offsets <= 5e6 {
        Ok(())
    } else {
        Err(format!("{apart} ns apart: {hosts:?}"))
    }
}
