//! `--ssh`: a NATS server and agents for the time of one command. All of them end with this process, however it ends: each waits
//! for the end of a pipe that this process holds.

use std::collections::VecDeque;
use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom_hosts::nats::Server;
use fathom_hosts::{Selection, SigningKey, SshHost, secret};
use fathom_linux::interrupts;
use fathom_tls::{Identity, fingerprint_text, self_signed};

use crate::durable::{create_secret, read_small};
use crate::print::{eprint_line, note_line};

/// What an agent with `--nats=-` writes to standard output when it can be used.
pub(super) const READY: &str = "fathom agent: ready";
/// The user of the private server.
const USER: &str = "fathom";
/// Time for the private server to listen.
const SERVER_TIME: Duration = Duration::from_secs(10);
/// Time until all agents must be ready.
const START_TIME: Duration = Duration::from_secs(60);
/// Time for the agents to end by themselves.
const END_TIME: Duration = Duration::from_secs(12);
/// How often processes are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Lines of a program that are kept for a message.
const KEPT_LINES: usize = 6;
/// The largest message of the private server: intervals of many jobs travel in one.
const LARGEST_MESSAGE: u32 = 8 << 20;
/// Where distributions have the server beside PATH.
const SERVER_DIRECTORIES: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];
/// Starts the server, and ends it with this process: then `read` ends. A terminal sends its signals to another process group.
const WATCHER: &str = r#""$@" >"$0/log" 2>&1 </dev/null & trap "" HUP INT TERM; read line; kill -KILL $!; wait $!; rm -rf -- "$0""#;

/// The options that begin with `--ssh`.
pub(super) struct SshOptions<'a> {
    /// `--ssh`.
    pub hosts: &'a str,
    /// `--ssh-command`.
    pub command: Option<&'a str>,
    /// `--ssh-fathom`.
    pub fathom: Option<&'a str>,
    /// `--ssh-listen`.
    pub listen: Option<&'a str>,
}

/// The hosts of `--ssh`: of a file, or of the list itself.
pub(super) fn hosts_of(value: &str) -> Result<Vec<SshHost>, String> {
    let path = Path::new(value);
    if path.exists() || (value.contains('/') && !value.contains("://")) {
        let text = String::from_utf8_lossy(&read_small(path)?).into_owned();
        return SshHost::read_file(&text).map_err(|error| format!("--ssh: {value}: {error}"));
    }
    SshHost::read_list(value)
        .map_err(|error| format!("--ssh: {error} (there is no file {})", value.escape_debug()))
}

/// The hosts that the run uses, in the order of their ranks.
fn selected(hosts: Vec<SshHost>, selection: &Selection) -> Result<Vec<SshHost>, String> {
    if let Selection::Names(names) = selection {
        return names
            .iter()
            .map(|name| {
                let found = hosts.iter().find(|host| host.name == *name);
                found
                    .cloned()
                    .ok_or_else(|| format!("--hosts: {name} is not one of the hosts of --ssh"))
            })
            .collect();
    }
    let used: Vec<SshHost> = hosts
        .into_iter()
        .filter(|host| selection.takes(&host.name, &host.labels))
        .collect();
    if used.is_empty() {
        return Err("--hosts selects none of the hosts of --ssh".to_owned());
    }
    Ok(used)
}

/// A server and agents that end with this value.
pub(super) struct Launched {
    command: &'static str,
    connections: Vec<Connection>,
    is_ending: Arc<AtomicBool>,
    private: PrivateServer,
    key: String,
}

impl Launched {
    /// Starts the server and the agents, and returns when all agents wait for jobs.
    pub fn start(
        command: &'static str,
        options: &SshOptions<'_>,
        selection: &Selection,
    ) -> Result<Launched, String> {
        let hosts = selected(hosts_of(options.hosts)?, selection)?;
        let key = SigningKey::generate()?;
        let private = PrivateServer::start(options.listen)?;
        let mut launched = Launched {
            command,
            connections: Vec::new(),
            is_ending: Arc::new(AtomicBool::new(false)),
            private,
            key,
        };
        let public = launched.key()?.public().to_string();
        for host in hosts {
            let connection = launched.connect(host, options, &public)?;
            launched.connections.push(connection);
        }
        launched.wait_until_ready()?;
        note_line!("fathom {command}: the agents were started over ssh and end with this command");
        Ok(launched)
    }

    /// The server, as this process reaches it.
    pub fn server(&self) -> Result<Server, String> {
        let server = Server::parse(&self.private.url_at(self.private.port))?;
        match self.private.fingerprint {
            Some(fingerprint) => server.with_fingerprint(fingerprint),
            None => Ok(server),
        }
    }

    /// The key of the jobs: only this process has it.
    pub fn key(&self) -> Result<SigningKey, String> {
        SigningKey::parse(&self.key)
    }

    /// The agents, in the order of their ranks.
    pub fn names(&self) -> Vec<String> {
        let names = self.connections.iter();
        names
            .map(|connection| connection.host.name.clone())
            .collect()
    }

    fn connect(
        &self,
        host: SshHost,
        options: &SshOptions<'_>,
        key: &str,
    ) -> Result<Connection, String> {
        let words: Vec<&str> = options
            .command
            .unwrap_or("ssh")
            .split_whitespace()
            .collect();
        let (program, own) = words
            .split_first()
            .ok_or_else(|| "--ssh-command: no program".to_owned())?;
        let mut remote = vec![
            "exec".to_owned(),
            options.fathom.unwrap_or("fathom").to_owned(),
            "agent".to_owned(),
            "--quiet".to_owned(),
            "--nats=-".to_owned(),
            format!("--host-name={}", host.name),
            // The user may do there what ssh lets the user do; the guard of the host judges each target.
            "--allow=/".to_owned(),
            format!("--trust={key}"),
        ];
        let labels = host.labels.iter();
        remote.extend(labels.map(|(key, value)| format!("--label={key}={value}")));
        if let Some(fingerprint) = &self.private.fingerprint {
            remote.push(format!(
                "--nats-fingerprint={}",
                fingerprint_text(fingerprint)
            ));
        }
        let mut ssh = Command::new(program);
        ssh.args(own).args(["-T", "-x", "-a"]);
        for option in [
            "BatchMode=yes",
            "LogLevel=INFO",
            "ConnectTimeout=15",
            "ServerAliveInterval=5",
            "ControlMaster=no",
            "ControlPath=none",
            "ExitOnForwardFailure=yes",
        ] {
            ssh.args(["-o", option]);
        }
        if self.private.fingerprint.is_none() {
            ssh.args([
                "-R",
                &format!("127.0.0.1:0:127.0.0.1:{}", self.private.port),
            ]);
        }
        let remote: Vec<String> = remote.iter().map(|word| quoted(word)).collect();
        let mut child = ssh
            .arg(&host.destination)
            .arg(remote.join(" "))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| {
                format!("cannot start '{program}': {error}; install ssh, or give --ssh-command")
            })?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("'{program}' has no pipes"));
        };
        let input = Arc::new(Mutex::new(Some(input)));
        let is_ready = Arc::new(AtomicBool::new(false));
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        // Through a tunnel, the port is known when ssh says it.
        if self.private.fingerprint.is_some() {
            tell(&input, &self.private.url_at(self.private.port));
        }
        let ready = Arc::clone(&is_ready);
        let thread = |name: &str, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(work)
                .map_err(|error| format!("cannot start a thread: {error}"))
        };
        thread(
            "ssh output",
            Box::new(move || wait_for_ready(output, &ready)),
        )?;
        let messages = Messages {
            command: self.command,
            name: host.name.clone(),
            url: self.private.url_at(0),
            input: Arc::clone(&input),
            lines: Arc::clone(&lines),
            is_ready: Arc::clone(&is_ready),
            is_ending: Arc::clone(&self.is_ending),
        };
        let reader = thread("ssh messages", Box::new(move || messages.read(errors)))?;
        Ok(Connection {
            host,
            child,
            input,
            is_ready,
            lines,
            reader: Some(reader),
        })
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let failed: Vec<String> = self
                .connections
                .iter_mut()
                .filter_map(Connection::failed)
                .collect();
            if !failed.is_empty() {
                return Err(failed.join("\n"));
            }
            let waiting: Vec<&str> = self
                .connections
                .iter()
                .filter(|connection| !connection.is_ready.load(Relaxed))
                .map(|connection| connection.host.name.as_str())
                .collect();
            if waiting.is_empty() {
                return Ok(());
            }
            if interrupts().load(Relaxed) > 0 {
                return Err(fathom_hosts::HostsError::Interrupted.to_string());
            }
            if begun.elapsed() > START_TIME {
                return Err(format!(
                    "no agent within {} s on {}; try there: fathom agent --help",
                    START_TIME.as_secs(),
                    waiting.join(", ")
                ));
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.is_ending.store(true, Relaxed);
        for connection in &self.connections {
            connection
                .input
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
        }
        let begun = Instant::now();
        for connection in &mut self.connections {
            while matches!(connection.child.try_wait(), Ok(None))
                && begun.elapsed() < END_TIME
                && interrupts().load(Relaxed) < 2
            {
                std::thread::sleep(LOOK);
            }
            // Without ssh the agent ends too: its input ends.
            let _ = connection.child.kill();
            let _ = connection.child.wait();
        }
    }
}

/// ssh to one host.
struct Connection {
    host: SshHost,
    child: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    is_ready: Arc<AtomicBool>,
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Connection {
    /// Why there is no agent, if ssh has ended.
    fn failed(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let said: Vec<&str> = lines.iter().map(String::as_str).collect();
        Some(format!(
            "{}: {}{}",
            self.host.name,
            said.join("\n"),
            hint(status, &self.host.destination, said.is_empty())
        ))
    }
}

/// What an exit status of ssh means (EXIT STATUS of ssh(1)), and of a shell.
fn hint(status: ExitStatus, destination: &str, is_silent: bool) -> String {
    let text = match status.code() {
        Some(255) => format!("try `ssh -o BatchMode=yes {destination} true`"),
        Some(127) => "install fathom there, or name its path with --ssh-fathom".to_owned(),
        Some(_) if !is_silent => return String::new(),
        _ => format!("ssh ended with {status}"),
    };
    if is_silent { text } else { format!("; {text}") }
}

/// Reads what the agent writes to standard output, until its end.
fn wait_for_ready(output: ChildStdout, is_ready: &AtomicBool) {
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        if String::from_utf8_lossy(&line).trim_end() == READY {
            is_ready.store(true, Relaxed);
        }
    }
}

/// Writes the address of the server: standard input is not in the list of processes.
fn tell(input: &Mutex<Option<ChildStdin>>, url: &str) {
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(input) = &mut *input {
        // One that has ended is noticed elsewhere.
        let _ = writeln!(input, "{url}").and_then(|()| input.flush());
    }
}

/// The messages of one ssh.
struct Messages {
    command: &'static str,
    name: String,
    /// The address of the server at the host, with any port.
    url: String,
    input: Arc<Mutex<Option<ChildStdin>>>,
    lines: Arc<Mutex<VecDeque<String>>>,
    is_ready: Arc<AtomicBool>,
    is_ending: Arc<AtomicBool>,
}

impl Messages {
    fn read(self, errors: ChildStderr) {
        for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if let Some(port) = allocated_port(&line) {
                let server = self.url.rsplit_once(':').map_or("", |(server, _)| server);
                tell(&self.input, &format!("{server}:{port}"));
                continue;
            }
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push_back(line);
            if lines.len() > KEPT_LINES {
                lines.pop_front();
            }
        }
        if self.is_ready.load(Relaxed) && !self.is_ending.load(Relaxed) {
            let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            let last = lines
                .back()
                .map_or(String::new(), |line| format!(": {line}"));
            eprint_line!(
                "fathom {}: {}: its connection of ssh has ended{last}",
                self.command,
                self.name
            );
        }
    }
}

/// The port of the tunnel at the host, as ssh writes it for `-R 0:`.
fn allocated_port(line: &str) -> Option<u16> {
    let rest = line.strip_prefix("Allocated port ")?;
    let (port, _) = rest.split_once(" for remote forward to ")?;
    port.parse().ok()
}

/// A word for the shell of the host.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:+~@%,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A NATS server that only this process and its agents can use.
struct PrivateServer {
    watcher: Child,
    /// The server ends with this.
    alive: Option<ChildStdin>,
    host: String,
    port: u16,
    password: String,
    fingerprint: Option<[u8; 32]>,
}

impl PrivateServer {
    fn start(listen: Option<&str>) -> Result<PrivateServer, String> {
        let (host, port) = listen.map_or(Ok(("127.0.0.1", "-1")), address)?;
        let program = server_program()?;
        let password = secret()?;
        let directory = std::env::temp_dir().join(format!("fathom-nats-{}", secret()?));
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
        let file = |name: &str, text: String| {
            let path = directory.join(name);
            create_secret(&path, || Ok(text)).map(|_| path)
        };
        let config = format!(
            "authorization {{ user: {USER}, password: \"{password}\" }}\nmax_payload: {LARGEST_MESSAGE}\n\
             jetstream {{ store_dir: \"{}\" }}\n",
            directory.join("streams").display()
        );
        let mut arguments: Vec<PathBuf> = vec![
            "--config".into(),
            file("nats.conf", config)?,
            "--addr".into(),
            host.trim_matches(['[', ']']).into(),
            "--port".into(),
            port.into(),
            "--ports_file_dir".into(),
            directory.clone(),
        ];
        let mut fingerprint = None;
        if listen.is_some() {
            let made = self_signed("fathom").map_err(|error| error.to_string())?;
            let identity = Identity::new(made.certificate.as_bytes(), made.key.as_bytes())
                .map_err(|error| error.to_string())?;
            fingerprint = Some(identity.fingerprint());
            arguments.extend([
                "--tls".into(),
                "--tlscert".into(),
                file("certificate.pem", made.certificate)?,
                "--tlskey".into(),
                file("key.pem", made.key)?,
            ]);
        }
        let mut watcher = Command::new("/bin/sh")
            .args(["-c", WATCHER])
            .arg(&directory)
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot start /bin/sh: {error}"))?;
        let alive = watcher.stdin.take();
        let mut server = PrivateServer {
            watcher,
            alive,
            host: host.to_owned(),
            port: 0,
            password,
            fingerprint,
        };
        server.port = server.wait_for_port(&directory)?;
        Ok(server)
    }

    fn url_at(&self, port: u16) -> String {
        let scheme = if self.fingerprint.is_some() {
            "tls"
        } else {
            "nats"
        };
        format!("{scheme}://{USER}:{}@{}:{port}", self.password, self.host)
    }

    /// The port, from the file that the server writes when it listens.
    fn wait_for_port(&self, directory: &Path) -> Result<u16, String> {
        let begun = Instant::now();
        loop {
            let log = log_of(directory);
            if let Some(port) = port_in(directory) {
                return Ok(port);
            }
            let fatal = log.lines().find(|line| line.contains("[FTL]"));
            if fatal.is_some() || begun.elapsed() > SERVER_TIME {
                let last = fatal.or(log.lines().last()).unwrap_or("it says nothing");
                return Err(format!("nats-server does not start: {last}"));
            }
            if interrupts().load(Relaxed) > 0 {
                return Err(fathom_hosts::HostsError::Interrupted.to_string());
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.alive = None;
        let _ = self.watcher.wait();
    }
}

/// What the server wrote.
fn log_of(directory: &Path) -> String {
    let mut text = Vec::new();
    if let Ok(file) = std::fs::File::open(directory.join("log")) {
        let _ = file.take(64 << 10).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn port_in(directory: &Path) -> Option<u16> {
    let mut entries = std::fs::read_dir(directory).ok()?.map_while(Result::ok);
    let file = entries.find(|entry| entry.path().extension().is_some_and(|end| end == "ports"))?;
    let ports: serde_json::Value = serde_json::from_slice(&read_small(&file.path()).ok()?).ok()?;
    let url = ports["nats"][0].as_str().or(ports["tls"][0].as_str())?;
    url.rsplit(':').next()?.parse().ok()
}

/// `HOST` or `HOST:PORT`; without a port, any free one.
fn address(text: &str) -> Result<(&str, &str), String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() && !host.ends_with(':') => (host, port),
        _ => (text, "-1"),
    };
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.:[]".contains(c);
    let is_any = ["0.0.0.0", "[::]", "::", "*"].contains(&host);
    let needs_brackets = host.contains(':') && !host.starts_with('[');
    if host.is_empty()
        || host.starts_with('-')
        || is_any
        || needs_brackets
        || !host.chars().all(is_valid)
    {
        return Err(format!(
            "--ssh-listen: '{}' is not an address of this host that the others reach, such as 10.0.0.1, 10.0.0.1:4222 or [fe80::1]",
            text.escape_debug()
        ));
    }
    Ok((host, port))
}

/// The server's program.
fn server_program() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SERVER_DIRECTORIES.map(PathBuf::from))
        .map(|directory| directory.join("nats-server"))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            "--ssh needs the program nats-server on this host: install the package nats-server"
                .to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of OpenSSH for `-R 127.0.0.1:0:127.0.0.1:4222`, which is also in its manual page under -R.
    #[test]
    fn the_port_of_a_tunnel_is_read() {
        let line = "Allocated port 38477 for remote forward to 127.0.0.1:4222";
        assert_eq!(allocated_port(line), Some(38477));
        assert_eq!(
            allocated_port("Warning: remote port forwarding failed"),
            None
        );
    }

    #[test]
    fn words_pass_the_shell_of_the_host() {
        assert_eq!(quoted("--allow=/"), "--allow=/");
        assert_eq!(quoted("--label=a=it's $5"), r"'--label=a=it'\''s $5'");
    }

    #[test]
    fn an_address_is_one_that_others_reach() {
        assert_eq!(address("10.0.0.1"), Ok(("10.0.0.1", "-1")));
        assert_eq!(address("10.0.0.1:4222"), Ok(("10.0.0.1", "4222")));
        assert_eq!(address("[fe80::1]:4222"), Ok(("[fe80::1]", "4222")));
        assert_eq!(address("[fe80::1]"), Ok(("[fe80::1]", "-1")));
        for wrong in ["", "0.0.0.0", "fe80::1", "-x", "a b"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
