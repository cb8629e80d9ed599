//! `--ssh`: a server and agents for the time of one command, on an SSH server of the test's own.

use super::*;

/// An SSH server on the loopback interface, with keys of its own.
struct Sshd {
    directory: Scratch,
    /// The first name of the hosts, which no other process has.
    prefix: String,
    _process: Running,
}

/// The directory that sshd wants as root.
const PRIVILEGE_DIRECTORY: &str = "/run/sshd";

impl Sshd {
    fn start() -> Sshd {
        let directory = Scratch::new().expect("scratch");
        let path = directory.path().display().to_string();
        sh(&format!(
            "ssh-keygen -q -t ed25519 -N '' -f {path}/host && ssh-keygen -q -t ed25519 -N '' -f {path}/user"
        ));
        if rustix::process::geteuid().is_root() {
            let _ = fs::create_dir(PRIVILEGE_DIRECTORY);
        }
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let server = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {path}/host\nAuthorizedKeysFile {path}/user.pub\n\
             StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             MaxStartups 100\n"
        );
        fs::write(directory.join("sshd_config"), server).expect("a file");
        let prefix = format!("t{}x{port}", std::process::id());
        let client = format!(
            "Host {prefix}*\nHostName 127.0.0.1\nPort {port}\nIdentityFile {path}/user\nIdentitiesOnly yes\n\
             StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nGlobalKnownHostsFile /dev/null\n"
        );
        fs::write(directory.join("ssh_config"), client).expect("a file");
        let mut command = Command::new("/usr/sbin/sshd");
        command
            .args(["-D", "-e", "-f"])
            .arg(directory.join("sshd_config"));
        let process = start(command).wait_until("the SSH server listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Sshd {
            directory,
            prefix,
            _process: process,
        }
    }

    fn names(&self) -> [String; 2] {
        [1, 2].map(|number| format!("{}-h{number}", self.prefix))
    }

    /// The file with both hosts; the first has the label `rack=1`.
    fn hosts_file(&self) -> String {
        let [first, second] = self.names();
        let file = self.directory.join("hosts.txt");
        fs::write(&file, format!("# two hosts\n{first} rack=1\n{second}\n")).expect("a file");
        file.display().to_string()
    }

    fn command(&self, name: &str, hosts: &str) -> Command {
        let mut command = program([name, "--ssh", hosts]);
        let config = self.directory.join("ssh_config");
        command
            .arg(format!("--ssh-command=ssh -F {}", config.display()))
            .arg(format!("--ssh-fathom={}", env!("CARGO_BIN_EXE_fathom")))
            .env_remove("FATHOM_NATS")
            .env("TMPDIR", self.temporary());
        command
    }

    fn temporary(&self) -> PathBuf {
        let path = self.directory.join("tmp");
        let _ = fs::create_dir(&path);
        path
    }

    /// The command lines of processes that the command started: agents, their ssh and the NATS server.
    fn left(&self) -> Vec<String> {
        let own = self.temporary().display().to_string();
        let name = format!("--host-name={}", self.prefix);
        command_lines()
            .into_iter()
            .filter(|line| line.contains(&name) || line.contains(&own))
            .collect()
    }

    fn expect_nothing_left(&self) {
        wait_until("all processes have ended", || self.left().is_empty());
        let files: Vec<_> = fs::read_dir(self.temporary())
            .expect("a directory")
            .collect();
        assert!(files.is_empty(), "{files:?}");
    }
}

/// Of every process.
fn command_lines() -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").map_while(Result::ok);
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .collect()
}

/// 256 I/Os of each of two hosts, and nothing is left behind: no process, no file. `--hosts` selects of them by label.
#[test]
fn one_command_runs_on_two_hosts_over_ssh() {
    require!(Nats, Ssh);
    let (sshd, scratch) = (Sshd::start(), Scratch::new().expect("scratch"));
    let job = writes(scratch.path(), "size=1m");
    let run = |more: &[&str]| {
        let mut command = sshd.command("run", &sshd.hosts_file());
        command.args([&job, "--json"]).args(more);
        start(command).finish().expect(0)
    };
    let ran = run(&[]);
    let found: Vec<(String, Option<u64>)> = hosts_of(&ran)
        .iter()
        .map(|host| {
            let name = host["name"].as_str().expect("a name").to_owned();
            (name, host["counts"]["ok_ios"].as_u64())
        })
        .collect();
    assert_eq!(found, sshd.names().map(|name| (name, Some(256))));
    sshd.expect_nothing_left();
    // Over TLS in place of the tunnel.
    let ran = run(&["--hosts=rack=1", "--ssh-listen=127.0.0.1", "--overwrite=1"]);
    assert_eq!(ran.json().count("ok_ios"), 256);
    assert_eq!(hosts_of(&ran).len(), 1);
    sshd.expect_nothing_left();
}

/// Cells of a sweep use the same agents, and each has both hosts.
#[test]
fn a_sweep_over_ssh_has_the_figures_of_both_hosts() {
    require!(Nats, Ssh);
    let (sshd, scratch) = (Sshd::start(), Scratch::new().expect("scratch"));
    let store = sshd.directory.join("store.db");
    let mut command = sshd.command("sweep", &sshd.names().join(","));
    command
        .env("FATHOM_STORE", &store)
        .arg(format!("{}/", scratch.path().display()))
        .args([
            "--size=1m",
            "--axis=bs=4k,8k",
            "--set=rw=write",
            "--set=ioengine=psync",
        ])
        .args([
            "--set=direct=0",
            "--set=time_based=0",
            "--repeat=1",
            "--json",
        ]);
    let ran = start(command).finish();
    let cells = ran.json().0["cells"]
        .as_array()
        .cloned()
        .unwrap_or_else(|| panic!("{}\n{}", ran.out, ran.err));
    assert_eq!(cells.len(), 2, "{}", ran.out);
    let mut show = program(["show", "r1.2"]);
    show.env("FATHOM_STORE", &store);
    let shown = start(show).finish().expect(0).out;
    for name in sshd.names() {
        assert!(shown.contains(&format!("{name}:")), "{shown}");
    }
    sshd.expect_nothing_left();
}

/// Ctrl-C and SIGKILL at the controller end the agents and the server. No process list shows the password.
#[test]
fn what_ssh_started_ends_with_the_command() {
    require!(Nats, Ssh);
    let (sshd, scratch) = (Sshd::start(), Scratch::new().expect("scratch"));
    let names = sshd.names();
    let both = names.each_ref().map(String::as_str);
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut command = sshd.command("run", &sshd.hosts_file());
        command.args([&slow_writes(scratch.path()), "--json", "--overwrite=1"]);
        let running = writing(start(command), scratch.path(), &both);
        let private = fs::read_dir(sshd.temporary()).expect("a directory").next();
        let config = private
            .expect("a directory")
            .expect("an entry")
            .path()
            .join("nats.conf");
        let text = fs::read_to_string(config).expect("a file");
        let password = text.split('"').nth(1).expect("a password");
        assert_eq!(password.len(), 32, "{text}");
        let lines = command_lines();
        assert!(
            lines.iter().any(|line| line.contains("nats.conf")),
            "{lines:?}"
        );
        assert!(
            !lines.iter().any(|line| line.contains(password)),
            "{lines:?}"
        );
        running.signal(signal);
        let ran = running.finish();
        if let Some(code) = code {
            let ran = ran.expect(code);
            ran.json().expect_finding("INTERRUPTED");
        }
        sshd.expect_nothing_left();
        for name in both {
            fs::remove_file(data_file(scratch.path(), name)).expect("a file");
        }
    }
}

/// A host that cannot be reached, one without fathom, and options that contradict are named with what to do; nothing is left.
#[test]
fn what_keeps_ssh_from_starting_is_named() {
    require!(Nats, Ssh);
    let sshd = Sshd::start();
    let job = ["--name=n", "--ioengine=null", "--size=1m"];
    let [first, _] = sshd.names();
    let wrong_login = format!("nobody-here@{first}");
    for (hosts, more, named) in [
        (wrong_login.as_str(), &[][..], "ssh -o BatchMode=yes"),
        (&first, &["--ssh-fathom=/no/such/fathom"], "--ssh-fathom"),
        (
            &first,
            &["--hosts=other"],
            "is not one of the hosts of --ssh",
        ),
        (&first, &["--hosts=rack=9"], "selects none"),
        (&first, &["--nats=nats://h"], "leave out --nats"),
        (&first, &["--ssh-listen=0.0.0.0"], "--ssh-listen"),
        ("/no/such/file", &[], "/no/such/file"),
        ("-oProxyCommand=id", &[], "not a destination"),
    ] {
        let mut command = sshd.command("run", hosts);
        command.args(job).args(more);
        let ran = start(command).finish().expect(2);
        assert!(ran.err.contains(named), "{hosts} {more:?}: {}", ran.err);
        sshd.expect_nothing_left();
    }
    for command in [["run", "--name=n"], ["sweep", "--axis=bs=4k,8k"]] {
        let arguments = [command[0], "/x/", command[1], "--ssh-fathom=x"];
        let ran = start(program(arguments)).finish().expect(2);
        assert!(ran.err.contains("need --ssh"), "{}", ran.err);
    }
}
