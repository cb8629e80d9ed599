//! A PostgreSQL server of the distribution's packages, with a cluster of its own.

use std::fs::{self, OpenOptions};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::Scratch;
use crate::need::Unmet;

/// Where Debian's packages have the programs, in a folder for each version.
const FOLDER: &str = "/usr/lib/postgresql";
/// The user as whom a server of root runs: PostgreSQL refuses root.
const NOBODY: u32 = 65534;
/// The password of the database's users `owner`, `writer` and `reader` over TCP; the unix socket needs none.
pub const PG_PASSWORD: &str = "p@ss/w?rd#1";

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PgStop {
    /// Connections are ended, then everything is written.
    Fast,
    /// As after a crash: the next start replays the log.
    Immediate,
}

/// A running server; dropping it stops it and removes everything. It listens on a unix socket and on the loopback address.
#[derive(Debug)]
pub struct PgCluster {
    programs: PathBuf,
    port: u16,
    folder: Scratch,
}

/// The newest version that is installed.
pub(crate) fn programs() -> Result<PathBuf, Unmet> {
    let versions = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions
        .map(|entry| entry.path().join("bin"))
        .filter(|bin| bin.join("initdb").exists() && bin.join("postgres").exists())
        .collect();
    found.sort();
    found
        .pop()
        .ok_or_else(|| Unmet(format!("PostgreSQL is not installed below {FOLDER}")))
}

impl PgCluster {
    /// Creates a cluster with the superuser `owner` and starts its server.
    ///
    /// # Errors
    /// If a program fails, with its output.
    pub fn start() -> io::Result<PgCluster> {
        let programs = programs().map_err(io::Error::other)?;
        // The address of a socket has 107 bytes at most.
        let folder = Scratch::new()?;
        if is_root() {
            std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
        }
        let cluster = PgCluster {
            programs,
            port: free_port()?,
            folder,
        };
        cluster.run(
            "initdb",
            &[
                "-D",
                "data",
                "-A",
                "trust",
                "-U",
                "owner",
                "-N",
                "-E",
                "UTF8",
                "--locale=C",
            ],
        )?;
        fs::write(
            cluster.folder.join("data/pg_hba.conf"),
            "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
        )?;
        cluster.resume()?;
        cluster.sql(
            "postgres",
            &format!("ALTER ROLE owner PASSWORD '{PG_PASSWORD}'"),
        )?;
        Ok(cluster)
    }

    /// One server for all tests of a program that run at the same time.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn shared() -> Arc<PgCluster> {
        static SHARED: Mutex<Weak<PgCluster>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = shared.upgrade() {
            return cluster;
        }
        let cluster = Arc::new(PgCluster::start().expect("PostgreSQL starts"));
        *shared = Arc::downgrade(&cluster);
        cluster
    }

    /// Its folder; the cluster is in `data`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its port on the loopback address.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a database for `user`, by the unix socket.
    #[must_use]
    pub fn socket_address(&self, user: &str, database: &str) -> String {
        let folder = self.folder.path().display();
        format!(
            "postgres:///{database}?host={folder}&port={}&user={user}",
            self.port
        )
    }

    /// Creates an empty database and returns its address for its owner.
    ///
    /// # Panics
    /// If it cannot be created.
    #[must_use]
    pub fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}"))
            .expect("a new database");
        self.socket_address("owner", name)
    }

    /// Carries out statements as the superuser; returns the rows, unaligned.
    ///
    /// # Errors
    /// What psql reported.
    pub fn sql(&self, database: &str, statements: &str) -> io::Result<String> {
        let output = self.psql(database).args(["-c", statements]).output()?;
        finished("psql", output)
    }

    /// psql, connected to a database; arguments may be added.
    #[must_use]
    pub fn psql(&self, database: &str) -> Command {
        let mut psql = self.command("psql");
        let port = self.port.to_string();
        psql.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "owner",
            "-p",
            &port,
            "-d",
            database,
            "-h",
        ])
        .arg(self.folder.path());
        psql
    }

    /// Stops the server.
    ///
    /// # Errors
    /// If pg_ctl fails.
    pub fn stop(&self, how: PgStop) -> io::Result<()> {
        let mode = match how {
            PgStop::Fast => "fast",
            PgStop::Immediate => "immediate",
        };
        self.run("pg_ctl", &["-D", "data", "-w", "-m", mode, "stop"])
    }

    /// Starts the server again.
    ///
    /// # Errors
    /// If pg_ctl fails.
    pub fn resume(&self) -> io::Result<()> {
        let options = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c shared_buffers=16MB -c max_connections=60",
            self.port,
            self.folder.path().display()
        );
        self.run(
            "pg_ctl",
            &[
                "-D",
                "data",
                "-w",
                "-t",
                "120",
                "-l",
                "server.log",
                "-o",
                &options,
                "start",
            ],
        )
    }

    /// A program of PostgreSQL in the folder of the cluster, as an unprivileged user.
    #[must_use]
    pub fn command(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
                .arg(program);
            command
        } else {
            Command::new(program)
        };
        command
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// The output goes to a file: a server would keep a pipe open.
    fn run(&self, name: &str, arguments: &[&str]) -> io::Result<()> {
        let path = self.folder.join(format!("{name}.log"));
        let log = OpenOptions::new().create(true).append(true).open(&path)?;
        let mut command = self.command(name);
        let status = command
            .args(arguments)
            .stdout(log.try_clone()?)
            .stderr(log)
            .status()?;
        if status.success() {
            return Ok(());
        }
        let said = fs::read_to_string(&path).unwrap_or_default();
        let server = fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
        Err(io::Error::other(format!(
            "{name} {arguments:?}: {said}{server}"
        )))
    }
}

impl Drop for PgCluster {
    fn drop(&mut self) {
        let _ = self.stop(PgStop::Immediate);
    }
}

fn finished(name: &str, output: std::process::Output) -> io::Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{name}: {}", said.trim())))
}

/// A port that is free now. Another program may take it before the server does; the kernel gives numbers in a wide range.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
