//! Eight agents, each in a network namespace of its own, as on eight hosts behind one switch.

use super::*;

/// Namespaces around a bridge: one of the server and the controller, one of each host. They go with this value.
struct Network {
    scratch: Scratch,
    prefix: String,
    hosts: Vec<String>,
}

/// Of the server; hosts have 10.99.0.1, 10.99.0.2, ...
const SERVER: &str = "10.99.0.254";
/// How long the link is down.
const CUT: Duration = Duration::from_secs(30);

impl Network {
    fn of(hosts: &[&str]) -> Network {
        let network = Network {
            scratch: Scratch::new().expect("scratch"),
            prefix: format!("fathom-{}", std::process::id()),
            hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        };
        let server = network.namespace("server");
        sh(&format!(
            "ip netns add {server} && ip -n {server} link set lo up && ip -n {server} link add br0 type bridge && \
             ip -n {server} addr add {SERVER}/24 dev br0 && ip -n {server} link set br0 up"
        ));
        for (number, host) in (1..).zip(&network.hosts) {
            let own = network.namespace(host);
            sh(&format!(
                "ip netns add {own} && ip -n {own} link set lo up && \
                 ip -n {server} link add {host} type veth peer name eth0 netns {own} && \
                 ip -n {server} link set {host} master br0 up && \
                 ip -n {own} addr add 10.99.0.{number}/24 dev eth0 && ip -n {own} link set eth0 up"
            ));
        }
        network
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    /// A command in the namespace of this host.
    fn command(&self, host: &str, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let namespace = self.namespace(host);
        command
            .arg(format!("--net=/run/netns/{namespace}"))
            .arg(program)
            .env("FATHOM_STORE", "none")
            .env("FATHOM_NATS", format!("nats://{SERVER}"));
        command
    }

    fn nats(&self) -> Running {
        let directory = self.scratch.join("ports");
        fs::create_dir(&directory).expect("a directory");
        let mut command = self.command("server", "nats-server");
        command
            .args(["--addr", SERVER, "--port", "4222", "--ports_file_dir"])
            .arg(&directory)
            .args(["--jetstream", "--store_dir"])
            .arg(self.scratch.join("streams"));
        start(command).wait_until("the NATS server listens", move || {
            port_in(&directory).is_some()
        })
    }

    /// Agents of all hosts. A run with `--hosts=all-of=this,size=N` waits for them.
    fn agents(&self, directory: &Path) -> BTreeMap<String, Running> {
        let agents = self.hosts.iter();
        agents
            .map(|host| (host.clone(), self.agent(host, directory)))
            .collect()
    }

    fn agent(&self, host: &str, directory: &Path) -> Running {
        let mut command = self.command(host, env!("CARGO_BIN_EXE_fathom"));
        let size = format!("--label=size={}", self.hosts.len());
        command
            .args(["agent", "--host-name", host, "--label=all-of=this", &size])
            .arg(format!("--allow={}", directory.display()));
        start(command)
    }

    fn run(&self, job: &str) -> Command {
        let mut command = self.command("server", env!("CARGO_BIN_EXE_fathom"));
        let hosts = format!("all-of=this,size={}", self.hosts.len());
        command.args(["run", "--quiet", "--json", "--hosts", &hosts, job]);
        command
    }

    /// As if the cable of this host were pulled, or put back.
    fn link(&self, host: &str, state: &str) {
        let server = self.namespace("server");
        sh(&format!("ip -n {server} link set {host} {state}"));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let hosts = self.hosts.iter().map(String::as_str);
        for name in hosts.chain(["server"]) {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.namespace(name)])
                .status();
        }
    }
}

/// 100 writes a second of each of eight hosts, 600 in all. The link of h3 goes down for 30 s, and the agent of h4 is killed: both are
/// lost and named, and what they had recorded is kept. The other six are complete, and the total is the sum of all eight to the last
/// I/O. When the link of h3 is up again, and an agent of h4 was started, the next run has all eight. A cut that is shorter than the
/// lease depends on the load of this machine: the suite for measurements has it.
#[test]
fn eight_hosts_behind_a_switch_survive_its_faults() {
    require!(Nats, Root);
    let network = Network::of(&["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"]);
    let scratch = Scratch::new().expect("scratch");
    let job = writes(scratch.path(), "size=4m rate_iops=100 number_ios=600");
    let names: Vec<&str> = network.hosts.iter().map(String::as_str).collect();
    let _nats = network.nats();
    let mut agents = network.agents(scratch.path());
    let controller = writing(start(network.run(&job)), scratch.path(), &names);
    network.link("h3", "down");
    let cut = Instant::now();
    let killed = agents.remove("h4").expect("it runs");
    killed.signal(Signal::KILL);
    killed.finish();
    let ran = controller.finish();
    std::thread::sleep(CUT.saturating_sub(cut.elapsed()));
    network.link("h3", "up");
    assert_eq!(ran.code(), 1, "{}\n{}", ran.out, ran.err);
    let hosts = hosts_of(&ran);
    let ios = |host: &Value| host["counts"]["ok_ios"].as_u64().unwrap_or(0);
    for (host, name) in hosts.iter().zip(&names) {
        let is_lost = ["h3", "h4"].contains(name);
        assert_eq!(!host["lost"].is_null(), is_lost, "{host:#}");
        let complete = if is_lost { 1..=599 } else { 600..=600 };
        assert!(
            complete.contains(&ios(host)),
            "{name}: {} I/Os; {}",
            ios(host),
            ran.err
        );
    }
    let total = ran.json().0["fathom"]["totals"][0]["write"]["ios"].as_u64();
    assert_eq!(total, Some(hosts.iter().map(ios).sum()));
    for name in &names {
        fs::remove_file(data_file(scratch.path(), name)).expect("it was written");
    }
    agents.insert("h4".to_owned(), network.agent("h4", scratch.path()));
    let again = start(network.run(&writes(scratch.path(), "size=1m"))).finish();
    let again = hosts_of(&again.expect(0));
    assert_eq!(again.iter().map(ios).collect::<Vec<_>>(), [256; 8]);
}
