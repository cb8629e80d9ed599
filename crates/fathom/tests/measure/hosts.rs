//! Hosts start at the same instant, and outlast a network that is down for less than their lease.

use std::process::Command;
use std::time::Duration;

use fathom_testkit::{Need, Scratch};
use serde_json::Value;

use crate::common::{Running, program, sh, start};
use crate::scene::Scene;

pub const SCENES: &[Scene] = &[
    Scene::check(
        "two hosts start within 5 ms",
        &[Need::Nats],
        hosts_start_at_the_same_instant,
    ),
    Scene::check(
        "a host whose link is down for a second is complete",
        &[Need::Nats, Need::Root],
        a_cut_of_a_second_is_survived,
    ),
];

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

/// A network namespace of the server and the controller, and one of a host. They go with this value.
struct Network(String);

impl Network {
    const SERVER: &str = "10.98.0.254";

    fn new() -> Network {
        let network = Network(format!("fathom-{}", std::process::id()));
        let [server, host] = [network.namespace("server"), network.namespace("host")];
        sh(&format!(
            "ip netns add {server} && ip netns add {host} && ip -n {server} link add link0 type veth peer name eth0 netns {host} && \
             ip -n {server} addr add {}/24 dev link0 && ip -n {server} link set link0 up && ip -n {server} link set lo up && \
             ip -n {host} addr add 10.98.0.1/24 dev eth0 && ip -n {host} link set eth0 up",
            Network::SERVER
        ));
        network
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}-{name}", self.0)
    }

    fn command(&self, name: &str, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/run/netns/{}", self.namespace(name)))
            .arg(program)
            .env("FATHOM_STORE", "none")
            .env("FATHOM_NATS", format!("nats://{}", Network::SERVER));
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in ["server", "host"] {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.namespace(name)])
                .status();
        }
    }
}

/// Regressions 1200 and 1450: a host whose network was down for a second ended its load. TCP repeats what was lost after 0.2, 0.6 and
/// 1.4 s, which the lease of 1.5 s did not always outlast; later, the controller answered a repeated message over the old connection,
/// where the answer waited, and did not answer the one over the new connection.
fn a_cut_of_a_second_is_survived() -> Result<(), String> {
    let network = Network::new();
    let (ports, data) = (
        Scratch::new().expect("scratch"),
        Scratch::new().expect("scratch"),
    );
    let mut server = network.command("server", "nats-server");
    server
        .args([
            "--addr",
            Network::SERVER,
            "--port",
            "4222",
            "--ports_file_dir",
        ])
        .arg(ports.path());
    let _server: Running =
        start(server).wait_until("the NATS server listens", || address(&ports).is_some());
    let mut agent = network.command("host", env!("CARGO_BIN_EXE_fathom"));
    agent
        .args(["agent", "--host-name=h"])
        .arg(format!("--allow={}", data.path().display()));
    let _agent = start(agent);
    let file = data.join("h.data");
    let mut run = network.command("server", env!("CARGO_BIN_EXE_fathom"));
    run.args([
        "run",
        "--quiet",
        "--json",
        "--hosts=h",
        "--name=w",
        "--rw=write",
        "--bs=4k",
    ])
    .args(["--size=4m", "--rate_iops=100", "--number_ios=400"])
    .arg(format!("--filename={}", file.display()));
    let run = start(run).wait_until("the load", || file.exists());
    let link = |state| {
        sh(&format!(
            "ip -n {} link set link0 {state}",
            network.namespace("server")
        ))
    };
    link("down");
    std::thread::sleep(Duration::from_secs(1));
    link("up");
    let ran = run.finish();
    let document: Value = serde_json::from_str(&ran.out).map_err(|_| ran.err)?;
    match document["fathom"]["hosts"][0]["counts"]["ok_ios"].as_u64() {
        Some(400) => Ok(()),
        other => Err(format!("{other:?} of 400 I/Os")),
    }
}
