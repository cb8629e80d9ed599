//! One run on several hosts: agents and controllers as programs, on a NATS server of the test's own.

mod clients;
mod experiments;
mod faults;
mod namespaces;
mod resume;
mod simulated;
mod ssh;
mod stream;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::common::{
    COMMITS_PROFILE, Completed, Running, device_with_commits_of, program, sh, start, wait_until,
};
use fathom_testkit::{Scratch, require};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A NATS server on the loopback interface.
struct Server {
    directory: Scratch,
    port: u16,
    options: Vec<String>,
    login: &'static str,
    process: Option<Running>,
}

impl Server {
    fn start() -> Server {
        Server::with("", &[])
    }

    /// With a login such as `me:secret@`, and options of `nats-server`.
    fn with(login: &'static str, options: &[&str]) -> Server {
        let mut server = Server {
            directory: Scratch::new().expect("scratch"),
            port: 0,
            options: options.iter().map(|&one| one.to_owned()).collect(),
            login,
            process: None,
        };
        server.restart();
        server
    }

    /// Starts it again on the same port.
    fn restart(&mut self) {
        self.process = None;
        let ports = self.directory.join("ports");
        let _ = fs::remove_dir_all(&ports);
        fs::create_dir(&ports).expect("a directory");
        let mut command = Command::new("nats-server");
        command
            .args(["--addr", "127.0.0.1", "--ports_file_dir"])
            .arg(&ports)
            .args(&self.options);
        // -1: any free port, which the server writes to a file.
        let port = match self.port {
            0 => "-1".to_owned(),
            port => port.to_string(),
        };
        command.args(["--port", &port]);
        let mut found = None;
        let process = start(command).wait_until("the NATS server listens", || {
            found = port_in(&ports);
            found.is_some_and(|port| TcpStream::connect(("127.0.0.1", port)).is_ok())
        });
        self.port = found.expect("it listens");
        self.process = Some(process);
    }

    fn url(&self) -> String {
        format!("--nats=nats://{}127.0.0.1:{}", self.login, self.port)
    }

    fn raw(&self) -> Raw {
        Raw::connect(self.port)
    }

    /// Agents of these names that may use the directory, when all of them answer.
    fn agents(&self, names: &[&str], directory: &Path, more: &[&str]) -> BTreeMap<String, Running> {
        let agents = names.iter().map(|&name| {
            let mut command = program(["agent", &self.url(), "--host-name", name]);
            command
                .arg(format!("--allow={}", directory.display()))
                .args(more);
            (name.to_owned(), start(command))
        });
        let agents = agents.collect();
        self.wait_for(names);
        agents
    }

    fn wait_for(&self, names: &[&str]) {
        let mut raw = self.raw();
        raw.send("SUB test.here 1\r\n");
        let mut missing: Vec<&str> = names.to_vec();
        wait_until("every agent answers", || {
            raw.publish(
                "fathom.all",
                "test.here",
                &json!({"fathom": 2, "version": "0", "type": "who", "controller": "test"}),
            );
            while let Some((_, _, message)) = raw.next(Duration::from_millis(100)) {
                missing.retain(|name| message["agent"] != *name || !message["busy_with"].is_null());
            }
            missing.is_empty()
        });
    }

    /// `fathom run` on these hosts.
    fn run(&self, hosts: &str, job: &str) -> Command {
        let mut command = program(["run", &self.url(), "--hosts", hosts, "--quiet"]);
        command.args(job.split_whitespace());
        command
    }
}

/// The port in the file that `nats-server --ports_file_dir` writes.
fn port_in(directory: &Path) -> Option<u16> {
    let file = fs::read_dir(directory).ok()?.next()?.ok()?;
    let ports: Value = serde_json::from_slice(&fs::read(file.path()).ok()?).ok()?;
    ports["nats"][0].as_str()?.rsplit(':').next()?.parse().ok()
}

/// A client of NATS that sends what the test likes.
struct Raw(BufReader<TcpStream>);

impl Raw {
    fn connect(port: u16) -> Raw {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        let mut raw = Raw(BufReader::new(stream));
        raw.send("CONNECT {\"verbose\":false,\"pedantic\":false}\r\n");
        raw
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).expect("sent");
    }

    fn publish(&mut self, subject: &str, reply: &str, message: &Value) {
        let text = message.to_string();
        self.send(&format!(
            "PUB {subject} {reply} {}\r\n{text}\r\n",
            text.len()
        ));
    }

    /// Subject, reply and content of the next message, if one begins within `patience`.
    fn next(&mut self, patience: Duration) -> Option<(String, String, Value)> {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            self.0
                .get_ref()
                .set_read_timeout(Some(patience))
                .expect("a timeout");
            if self.0.fill_buf().is_err() {
                return None;
            }
            // The rest of a line that has begun is on its way.
            self.0
                .get_ref()
                .set_read_timeout(Some(Duration::from_secs(10)))
                .expect("a timeout");
            let mut line = String::new();
            self.0.read_line(&mut line).expect("a line");
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["PING"] => self.send("PONG\r\n"),
                ["MSG", subject, _, .., size] => {
                    let reply = if words.len() == 5 { words[3] } else { "" };
                    let mut bytes = vec![0; size.parse::<usize>().expect("a size") + 2];
                    self.0.read_exact(&mut bytes).expect("a message");
                    let message = serde_json::from_slice(&bytes).unwrap_or_default();
                    return Some((subject.to_owned(), reply.to_owned(), message));
                }
                _ => {}
            }
        }
        None
    }
}

/// A job file whose job writes to a file of each host.
fn writes(directory: &Path, options: &str) -> String {
    let file = directory.join("job.fio");
    let text = format!(
        "[w]\nrw=write\nbs=4k\nioengine=psync\nfilename={}/${{FATHOM_HOST}}.data\n{}\n",
        directory.display(),
        options.replace(' ', "\n")
    );
    fs::write(&file, text).expect("a job file");
    file.to_str().expect("UTF-8").to_owned()
}

/// A job that writes slowly for a minute: each write changes the time of the file.
fn slow_writes(directory: &Path) -> String {
    writes(directory, "size=64m rate_iops=100 time_based runtime=60")
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn data_file(directory: &Path, host: &str) -> PathBuf {
    directory.join(format!("{host}.data"))
}

/// Waits until every host writes.
fn writing(running: Running, directory: &Path, hosts: &[&str]) -> Running {
    let mut first: BTreeMap<&str, SystemTime> = BTreeMap::new();
    running.wait_until("all hosts write", || {
        hosts
            .iter()
            .all(|&host| match modified(&data_file(directory, host)) {
                Some(now) => *first.entry(host).or_insert(now) + Duration::from_millis(300) < now,
                None => false,
            })
    })
}

fn hosts_of(ran: &Completed) -> Vec<Value> {
    ran.json().0["fathom"]["hosts"]
        .as_array()
        .cloned()
        .expect("hosts")
}

/// Eight agents write 1 MiB each in blocks of 4 KiB: 256 I/Os on every host, 2,048 together, and eight files of 1 MiB.
#[test]
fn eight_agents_make_one_result() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let names = ["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"];
    let _agents = server.agents(&names, scratch.path(), &[]);
    let store = scratch.join("store.db");
    let mut command = server.run(
        "all",
        &(writes(scratch.path(), "size=1m group_reporting") + " --json"),
    );
    command.env("FATHOM_STORE", &store);
    let ran = start(command).finish().expect(0);
    let result = ran.json();
    let hosts = hosts_of(&ran);
    let found: Vec<&str> = hosts
        .iter()
        .filter_map(|host| host["name"].as_str())
        .collect();
    assert_eq!(found, names);
    for host in &hosts {
        assert_eq!(
            (
                host["counts"]["ok_ios"].as_u64(),
                host["counts"]["ok_bytes"].as_u64()
            ),
            (Some(256), Some(1 << 20))
        );
        assert!(host["lost"].is_null());
    }
    let entries = result.0["fathom"]["entries"].as_array().expect("entries");
    assert_eq!(
        (entries.len(), entries[7]["name"].as_str()),
        (8, Some("h8:w"))
    );
    let sum: u64 = entries
        .iter()
        .filter_map(|entry| entry["counts"]["ok_ios"].as_u64())
        .sum();
    assert_eq!(sum, 2048);
    for name in names {
        assert_eq!(
            fs::metadata(data_file(scratch.path(), name))
                .expect("a file")
                .len(),
            1 << 20
        );
    }
    // One run is stored, and shows the same hosts again.
    let mut show = program(["show", "latest", "--width=80"]);
    show.env("FATHOM_STORE", &store);
    let shown = start(show).finish().expect(0).out;
    let (_, table) = shown
        .split_once("\nHosts:\n")
        .unwrap_or_else(|| panic!("{shown}"));
    let rows: Vec<&str> = table.lines().take_while(|line| !line.is_empty()).collect();
    assert!(rows.len() == 9 && rows[8].contains("h8"), "{shown}");
    assert!(rows.iter().all(|row| row.chars().count() <= 80), "{shown}");
}

/// The total of jobs that run at the same time: 100 I/Os per second on each of two hosts for 2 s are 400.
#[test]
fn the_total_is_the_sum_of_the_hosts() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &["--label=rack=3"]);
    let job =
        "--name=n --ioengine=null --size=1g --rw=randread --rate_iops=100 --number_ios=200 --json";
    let ran = start(server.run("rack=3", job)).finish().expect(0);
    let total = &ran.json().0["fathom"]["totals"][0];
    assert_eq!(
        (total["jobs"].as_u64(), total["read"]["ios"].as_u64()),
        (Some(2), Some(400))
    );
    assert_eq!(start(server.run("rack=4", job)).finish().expect(2).out, "");
}

/// The load of an agent ends when its controller is killed; the plan would run for a minute, and the lease lasts 1.5 s.
#[test]
fn the_load_stops_when_the_controller_dies() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let controller = start(server.run("a,b", &slow_writes(scratch.path())));
    let controller = writing(controller, scratch.path(), &["a", "b"]);
    let killed = SystemTime::now();
    controller.signal(Signal::KILL);
    controller.finish();
    for host in ["a", "b"] {
        let file = data_file(scratch.path(), host);
        wait_until("the load stops", || {
            modified(&file)
                .is_some_and(|last| last.elapsed().is_ok_and(|age| age > Duration::from_secs(1)))
        });
        let last = modified(&file).expect("a file").duration_since(killed);
        let wrote = last.unwrap_or_default();
        assert!(
            wrote < Duration::from_secs(30),
            "{host} wrote for {wrote:?} more"
        );
    }
}

/// Ctrl-C at the controller: every host stops, and what it recorded is in the result.
#[test]
fn an_interrupt_ends_the_load_on_every_host() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let controller = start(server.run("a,b", &(slow_writes(scratch.path()) + " --json")));
    let controller = writing(controller, scratch.path(), &["a", "b"]);
    controller.signal(Signal::INT);
    let ran = controller.finish().expect(130);
    for host in hosts_of(&ran) {
        assert!(host["counts"]["ok_ios"].as_u64() > Some(0), "{host:#}");
    }
    ran.json().expect_finding("INTERRUPTED");
}

/// The figures of the other host are complete; the verdict is invalid and names the host.
#[test]
fn a_host_that_dies_is_named() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let mut agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let job = writes(scratch.path(), "size=4m rate_iops=200 time_based runtime=6") + " --json";
    let controller = start(server.run("a,b", &job));
    let controller = writing(controller, scratch.path(), &["a", "b"]);
    // Two more seconds are 400 I/Os of b.
    let file = data_file(scratch.path(), "b");
    let first = modified(&file).expect("a file");
    let controller = controller.wait_until("b writes for two seconds more", || {
        modified(&file).is_some_and(|now| now > first + Duration::from_secs(2))
    });
    let killed = agents.remove("b").expect("it runs");
    killed.signal(Signal::KILL);
    killed.finish();
    let ran = controller.finish().expect(1);
    let result = ran.json();
    let lost = result.expect_finding("HOST_LOST");
    assert!(
        lost.starts_with("b: ") && lost.contains("1 of 2 hosts"),
        "{lost}"
    );
    let hosts = hosts_of(&ran);
    assert!(
        hosts[0]["counts"]["ok_ios"].as_u64() >= Some(400),
        "{hosts:?}"
    );
    assert_eq!(result.verdict(), "invalid");
    // What b had recorded until then is kept: less than a second is missing, which is 200 I/Os, and a slow machine writes less.
    let kept = hosts[1]["counts"]["ok_ios"].as_u64().expect("a number");
    assert!((100..=1200).contains(&kept), "{:#}", hosts[1]);
    assert!(
        lost.contains("the first ") && lost.contains(" of b"),
        "{lost}"
    );
    let total = result.0["fathom"]["totals"][0]["write"]["ios"].as_u64();
    let sum = hosts[0]["counts"]["ok_ios"].as_u64().map(|ios| ios + kept);
    assert_eq!(total, sum);
    // Before the start of a run a missing host refuses it.
    let next = start(server.run("a,b", &job)).finish().expect(2);
    assert!(next.err.contains("no answer from b"), "{}", next.err);
}

/// The connections come back after a restart of the server that is shorter than the lease.
#[test]
fn a_restart_of_the_server_is_survived() {
    require!(Nats);
    let (mut server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let job = writes(scratch.path(), "size=4m rate_iops=100 number_ios=300") + " --json";
    let controller = start(server.run("a,b", &job));
    let controller = writing(controller, scratch.path(), &["a", "b"]);
    server.restart();
    let ran = controller.finish().expect(0);
    let ios: Vec<_> = hosts_of(&ran)
        .iter()
        .map(|host| host["counts"]["ok_ios"].as_u64())
        .collect();
    assert_eq!(ios, [Some(300); 2]);
}

/// A target outside of --allow, and a command without --allow-exec, are refused before anything is created.
#[test]
fn an_agent_does_only_what_it_was_allowed() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let (inside, outside) = (scratch.join("inside"), scratch.join("outside"));
    fs::create_dir(&inside).expect("a directory");
    fs::create_dir(&outside).expect("a directory");
    let _agents = server.agents(&["a"], &inside, &[]);
    let refused = |job: &str| {
        server.wait_for(&["a"]);
        start(server.run("a", job)).finish().expect(2).err
    };
    let text = refused(&writes(&outside, "size=1m"));
    assert!(text.contains("a: ") && text.contains("--allow"), "{text}");
    assert!(!data_file(&outside, "a").exists());
    let mark = outside.join("mark");
    let file = scratch.join("command.fio");
    let command = format!(
        "[n]\nioengine=null\nsize=4k\nexec_prerun=touch {}\n",
        mark.display()
    );
    fs::write(&file, command).expect("a job file");
    let text = refused(file.to_str().expect("UTF-8"));
    assert!(text.contains("--allow-exec") && !mark.exists(), "{text}");
    // The guard of fathom run holds: a file of somebody else needs its code.
    fs::write(data_file(&inside, "a"), "precious").expect("a file");
    let text = refused(&writes(&inside, "size=1m"));
    assert!(text.contains("--destroy"), "{text}");
    assert_eq!(
        fs::read(data_file(&inside, "a")).expect("a file"),
        b"precious"
    );
}

/// An agent with --trust takes only jobs of that key: not unsigned ones, not those of another key, not one that was sent before.
#[test]
fn a_forged_job_is_refused() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let key = |name: &str| format!("--key={}", scratch.join(name).display());
    let job = "--name=n --ioengine=null --size=1m --bs=4k --json";
    // The first use makes a key file that only its user can read, and prints the public key.
    let made = start(program([
        "run",
        &server.url(),
        "--hosts=a",
        &key("good"),
        "--name=n",
        "--ioengine=null",
        "--size=1m",
    ]));
    let printed = made.finish().expect(2).err;
    let public = printed
        .split_once("--trust=")
        .map(|(_, rest)| rest.split_whitespace().next().unwrap_or_default())
        .unwrap_or_else(|| panic!("{printed}"));
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(scratch.join("good"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    let _agents = server.agents(&["a"], scratch.path(), &["--trust", public]);
    let run = |more: &[&str]| {
        server.wait_for(&["a"]);
        let mut command = server.run("a", job);
        command.args(more);
        start(command).finish()
    };
    assert!(run(&[]).expect(2).err.contains("takes only signed jobs"));
    assert!(
        run(&[&key("other")])
            .expect(2)
            .err
            .contains("not signed with a key")
    );
    // What the right controller sends is heard and sent again.
    let mut raw = server.raw();
    raw.send("SUB fathom.agent.a 1\r\nSUB test.again 2\r\n");
    let ran = run(&[&key("good")]).expect(0);
    assert_eq!(ran.json().count("ok_ios"), 256);
    let order = loop {
        let (_, _, message) = raw.next(Duration::from_secs(10)).expect("the order");
        if message["type"] == "prepare" {
            break message;
        }
    };
    raw.publish("fathom.agent.a", "test.again", &order);
    let answer = loop {
        let (subject, _, message) = raw.next(Duration::from_secs(10)).expect("an answer");
        if subject == "test.again" {
            break message;
        }
    };
    assert_eq!(answer["state"]["refused"], true, "{answer}");
}

#[test]
fn a_second_controller_is_refused_with_the_name_of_the_first() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a"], scratch.path(), &[]);
    let first = start(server.run("a", &slow_writes(scratch.path())));
    let first = writing(first, scratch.path(), &["a"]);
    let second = start(server.run("a", "--name=n --ioengine=null --size=1m"))
        .finish()
        .expect(2);
    let name = format!("(process {})", first.id());
    assert!(
        second.err.contains("a is busy with the run of") && second.err.contains(&name),
        "{}",
        second.err
    );
    first.signal(Signal::INT);
    first.finish().expect(130);
}

/// An agent of another protocol is refused, and both versions are named.
#[test]
fn an_agent_of_another_version_is_refused() {
    require!(Nats);
    let server = Server::start();
    let mut raw = server.raw();
    raw.send("SUB fathom.all 1\r\n");
    let mut controller = start(server.run("old", "--name=n --ioengine=null --size=1m"));
    while !controller.has_exited() {
        if let Some((_, reply, who)) = raw.next(Duration::from_millis(100)) {
            assert_eq!(who["fathom"], 2);
            raw.publish(
                &reply,
                "none",
                &json!({"fathom": 3, "version": "9.9.9", "type": "here", "agent": "old"}),
            );
        }
    }
    let text = controller.finish().expect(2).err;
    let own = format!("protocol 2 (fathom {})", env!("CARGO_PKG_VERSION"));
    assert!(
        text.contains("old has protocol 3 (fathom 9.9.9)") && text.contains(&own),
        "{text}"
    );
}

#[test]
fn a_wrong_login_and_a_missing_server_are_named() {
    require!(Nats);
    let server = Server::with("me:wrong@", &["--user", "me", "--pass", "secret"]);
    let ran = start(server.run("a", "--name=n --ioengine=null --size=1m"))
        .finish()
        .expect(2);
    assert!(ran.err.contains("Authorization Violation"), "{}", ran.err);
    assert!(
        !ran.err.contains("wrong@"),
        "the password is shown: {}",
        ran.err
    );
    let agent = start(program(["agent", &server.url(), "--host-name=a"]))
        .finish()
        .expect(2);
    assert!(
        agent.err.contains("Authorization Violation"),
        "{}",
        agent.err
    );
    drop(server);
    // Port 1 of the loopback interface: nobody listens there.
    let agent = start(program([
        "agent",
        "--nats=nats://127.0.0.1:1",
        "--host-name=a",
    ]))
    .finish()
    .expect(2);
    assert!(agent.err.contains("nats://127.0.0.1:1"), "{}", agent.err);
}

/// The pair of keys that docs.nats.io shows: the server knows the public key, the file has the seed.
#[test]
fn an_nkey_is_a_login() {
    require!(Nats);
    let scratch = Scratch::new().expect("scratch");
    let (config, seed) = (scratch.join("nats.conf"), scratch.join("seed"));
    let public = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
    fs::write(
        &config,
        format!("authorization: {{ users: [ {{ nkey: {public} }} ] }}\n"),
    )
    .expect("a file");
    fs::write(
        &seed,
        "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY\n",
    )
    .expect("a file");
    let paths = [config, seed].map(|path| path.to_str().expect("UTF-8").to_owned());
    let server = Server::with("", &["--config", &paths[0]]);
    let run = |more: &[&str]| {
        let mut command = server.run("a", "--name=n --ioengine=null --size=1m");
        command.args(more);
        start(command).finish().expect(2).err
    };
    // With the login the server is there, and no agent is; without it the server refuses.
    let text = run(&["--nats-creds", &paths[1]]);
    assert!(text.contains("no answer from a"), "{text}");
    assert!(run(&[]).contains("Authorization Violation"));
}

/// The same run over TLS; another certificate is not accepted.
#[test]
fn tls_accepts_the_certificate_with_the_fingerprint() {
    require!(Nats);
    let scratch = Scratch::new().expect("scratch");
    let made = fathom_tls::self_signed("nats").expect("a certificate");
    let (certificate, key) = (scratch.join("cert.pem"), scratch.join("key.pem"));
    fs::write(&certificate, &made.certificate).expect("a file");
    fs::write(&key, &made.key).expect("a file");
    let identity =
        fathom_tls::Identity::new(made.certificate.as_bytes(), made.key.as_bytes()).expect("valid");
    let right = fathom_tls::fingerprint_text(&identity.fingerprint());
    let paths = [certificate, key].map(|path| path.to_str().expect("UTF-8").to_owned());
    let server = Server::with(
        "",
        &["--tls", "--tlscert", &paths[0], "--tlskey", &paths[1]],
    );
    let _agent = start(program([
        "agent",
        &server.url(),
        "--host-name=a",
        "--nats-fingerprint",
        &right,
    ]));
    let job = "--name=n --ioengine=null --size=1m --bs=4k --json";
    let run = |fingerprint: &[&str]| {
        let mut command = server.run("a", job);
        command.args(fingerprint);
        start(command).finish()
    };
    let mut ran = None;
    wait_until("the agent answers", || {
        let attempt = run(&["--nats-fingerprint", &right]);
        assert!(
            attempt.code() == 0 || attempt.err.contains("no answer"),
            "{}",
            attempt.err
        );
        ran = (attempt.code() == 0).then_some(attempt);
        ran.is_some()
    });
    assert_eq!(ran.expect("it ran").json().count("ok_ios"), 256);
    assert!(run(&[]).expect(2).err.contains("--nats-fingerprint"));
    let wrong = right.replace(|c: char| c.is_ascii_hexdigit(), "0");
    assert!(
        run(&["--nats-fingerprint", &wrong])
            .expect(2)
            .err
            .contains("wrong fingerprint")
    );
}

/// One host without --hosts needs nothing of this; what does not work over hosts says so.
#[test]
fn options_that_need_hosts_or_exclude_them_are_refused() {
    let job = ["--name=n", "--ioengine=null", "--size=1m"];
    for (more, named) in [
        (vec!["--nats=nats://h"], "need --hosts"),
        (vec!["--hosts=a,a"], "given twice"),
        (vec!["--hosts=a", "--nats=http://h"], "nats://"),
        (
            vec!["--hosts=a", "--nats=nats://h", "--write_bw_log=x"],
            "log file",
        ),
        (
            vec!["--hosts=a", "--nats=nats://h", "--dry-run"],
            "--dry-run",
        ),
    ] {
        let ran = start(program([&["run"][..], &job[..], &more[..]].concat()))
            .finish()
            .expect(2);
        assert!(ran.err.contains(named), "{more:?}: {}", ran.err);
    }
    let mut command = program([&["run", "--hosts=a"][..], &job[..]].concat());
    command.env_remove("FATHOM_NATS");
    assert!(
        start(command)
            .finish()
            .expect(2)
            .err
            .contains("FATHOM_NATS")
    );
}
