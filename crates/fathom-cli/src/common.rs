//! Options that several commands share. An option has one name, one help text and one kind of value everywhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum};
use fathom_durable::Fingerprint;
use fathom_model::{Bytes, HostLink};

use crate::values;

/// The environment variable that selects the store, or `none`.
const STORE_VARIABLE: &str = "FATHOM_STORE";
/// The value of `--store` and `FATHOM_STORE` that means no store.
const NO_STORE: &str = "none";

/// The store that a command reads.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreSource {
    /// Use this store instead of the default one; `none` for no store
    ///
    /// A file, or a database of a PostgreSQL server as postgres://USER@HOST:PORT/DATABASE. Put the password into ~/.pgpass, not
    /// into the address.
    #[arg(
        long,
        value_name = "STORE",
        env = STORE_VARIABLE,
        hide_env_values = true,
        help_heading = "Store"
    )]
    pub store: Option<String>,
}

impl StoreSource {
    /// Whether `--store` or `FATHOM_STORE` names the store.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.store.as_ref().is_some_and(|file| !file.is_empty())
            || std::env::var_os(STORE_VARIABLE).is_some_and(|value| !value.is_empty())
    }

    /// Path of the store, or `None` when no store is wanted: `--store`, then `FATHOM_STORE`, then the user's data directory
    /// (XDG Base Directory Specification 0.8).
    ///
    /// # Errors
    /// When neither `XDG_DATA_HOME` nor `HOME` is set.
    pub fn path(&self) -> Result<Option<PathBuf>, String> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let chosen = self.store.clone().filter(|file| !file.is_empty());
        if let Some(file) = chosen
            .map(PathBuf::from)
            .or_else(|| set(STORE_VARIABLE).map(PathBuf::from))
        {
            return Ok((file != Path::new(NO_STORE)).then_some(file));
        }
        let data = set("XDG_DATA_HOME")
            .map(PathBuf::from)
            .filter(|directory| directory.is_absolute());
        data.or_else(|| set("HOME").map(|home| Path::new(&home).join(".local/share")))
            .map(|directory| Some(directory.join("fathom/store.db")))
            .ok_or_else(|| {
                "cannot locate the store: neither XDG_DATA_HOME nor HOME is set; use --store=FILE"
                    .to_owned()
            })
    }
}

/// The store that a command writes its result to.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreOptions {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub source: StoreSource,
    /// Do not store the result
    #[arg(long, help_heading = "Store")]
    pub no_store: bool,
    /// Label, such as project=apollo or rack=3; can be repeated
    ///
    /// `fathom runs --label` finds the run by it. Usual names: project, ticket, host, drive, firmware, kernel; the last four are
    /// set by fathom where it knows them.
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::label, help_heading = "Store")]
    pub label: Vec<(String, String)>,
}

impl StoreOptions {
    /// Path of the store, or `None` when the result is not stored.
    ///
    /// # Errors
    /// As [`StoreSource::path`].
    pub fn path(&self) -> Result<Option<PathBuf>, String> {
        if self.no_store {
            Ok(None)
        } else {
            self.source
                .path()
                .map_err(|message| message + " or --no-store")
        }
    }
}

/// Format of a result.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
}

/// A format of results.
pub trait OutputFormat: ValueEnum + Copy + Default + PartialEq + Send + Sync + 'static {
    /// The format that `--json` is short for.
    const JSON: Self;
}

impl OutputFormat for ResultFormat {
    const JSON: Self = ResultFormat::Json;
}

/// Where a result goes, and in which format.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputOptions<F: OutputFormat> {
    /// Write results to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Format of the result
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value = "text",
        help_heading = "Output"
    )]
    pub format: F,
    /// Short for --format=json
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    pub json: bool,
}

impl<F: OutputFormat> OutputOptions<F> {
    /// The requested format.
    #[must_use]
    pub fn format(&self) -> F {
        if self.json { F::JSON } else { self.format }
    }

    /// Whether the result is written as JSON.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.format() == F::JSON
    }
}

/// Options of commands whose result is text or JSON.
pub type ResultOptions = OutputOptions<ResultFormat>;

/// Format of a measured or imported result.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeasurementFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
    /// OpenMetrics text, for Prometheus
    #[value(name = "openmetrics")]
    OpenMetrics,
    /// The text format of Prometheus, with typed counters
    Prometheus,
}

impl OutputFormat for MeasurementFormat {
    const JSON: Self = MeasurementFormat::Json;
}

/// Options of commands with a measured or imported result.
pub type MeasurementOptions = OutputOptions<MeasurementFormat>;

/// When output is coloured.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMode {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Options of every command.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DisplayOptions {
    /// Print only results, warnings and errors
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// When to use colour
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        help_heading = "Output"
    )]
    pub color: ColorMode,
    /// Width of text in columns
    ///
    /// Without it, text on a terminal is as wide as the terminal, and other text as COLUMNS says, or 80 columns.
    #[arg(long, value_name = "COLUMNS", value_parser = values::columns, help_heading = "Output")]
    pub width: Option<usize>,
}

/// Data sheets that measured figures are compared with.
#[derive(Args, Clone, Debug, Default)]
pub struct SheetOptions {
    /// Compare with this data sheet instead of the one that fits the device (`fathom spec` lists them)
    #[arg(long, value_name = "ID", value_parser = values::not_empty)]
    pub sheet: Option<String>,
    /// Read data sheets from this directory too, besides ~/.config/fathom/specs; can be repeated
    #[arg(long, value_name = "DIR", value_parser = values::not_empty)]
    pub specs: Vec<String>,
}

/// How the progress of an experiment is shown.
#[derive(Args, Clone, Debug, Default)]
pub struct ObserverOptions {
    /// Show the figures while they are measured
    ///
    /// Throughput, latencies and findings over time, in a full-screen view.
    #[arg(long, help_heading = "Output")]
    pub watch: bool,
    /// Write events as lines of JSON to this file; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub events: Option<String>,
    /// No progress lines; taken from `--quiet`.
    #[arg(skip)]
    pub quiet: bool,
}

impl ObserverOptions {
    /// Whether events take the place of the result on standard output.
    #[must_use]
    pub fn uses_stdout(&self) -> bool {
        self.events.as_deref() == Some("-")
    }
}

/// What is wrong with a server of one's own beside `--ssh`.
pub const SSH_ALONE: &str = "--ssh starts a server with a login and a key of its own: leave out --nats, --nats-creds, --nats-fingerprint and --key";
/// What is wrong without `--ssh`.
pub const NEED_SSH: &str = "--ssh-command, --ssh-fathom and --ssh-listen need --ssh";

/// The agents that measure in place of this host.
#[derive(Args, Clone, Debug, Default)]
pub struct HostsOptions {
    /// Run on these agents at the same time: a,b,c, all, @GROUP or labels such as rack=3
    ///
    /// Paths are those of the agents. A path that ends with `/`, or is a directory here, gets one file for each host; others
    /// are files or devices that exist on every host. `${FATHOM_HOST}` in a path is the name of the host.
    /// With --machine each host is simulated, on a machine of its own: a,b,c are any names.
    #[arg(long, value_name = "HOSTS", value_parser = values::not_empty, help_heading = "Hosts",
        default_value_if("ssh", ArgPredicate::IsPresent, "all"))]
    pub hosts: Option<String>,
    /// Address of the NATS server
    ///
    /// Such as nats://HOST:4222. The environment variable FATHOM_NATS is used without this option.
    #[arg(long, value_name = "URL", value_parser = values::not_empty, help_heading = "Hosts")]
    pub nats: Option<String>,
    /// Use TLS with the NATS server, and accept only the certificate with this SHA-256 fingerprint
    #[arg(long, value_name = "HEX", value_parser = values::parsed::<Fingerprint>, help_heading = "Hosts")]
    pub nats_fingerprint: Option<Fingerprint>,
    /// Log in to the NATS server with the credentials in this file (.creds, or the seed of an nkey)
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    pub nats_creds: Option<PathBuf>,
    /// Sign jobs for agents with the key in this file, which is created if it does not exist
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    pub key: Option<PathBuf>,
    /// Start a private NATS server, and agents over ssh on these hosts, for the time of the run
    ///
    /// A file with one host in each line, such as `root@web1 rack=3`, or a list such as web1,web2. ssh must log in without a
    /// password, and fathom must be installed there. Without --hosts all of them are used.
    #[arg(long, value_name = "HOSTS", value_parser = values::not_empty, help_heading = "Hosts")]
    pub ssh: Option<String>,
    /// The ssh program with its options [default: ssh]
    #[arg(long, value_name = "COMMAND", value_parser = values::not_empty, help_heading = "Hosts")]
    pub ssh_command: Option<String>,
    /// The program fathom on the hosts [default: fathom]
    #[arg(long, value_name = "PATH", value_parser = values::not_empty, help_heading = "Hosts")]
    pub ssh_fathom: Option<String>,
    /// Let the agents connect to this address, with TLS, in place of a tunnel of ssh
    ///
    /// An address of this host that the others reach. Without it all messages pass through the connections of ssh.
    #[arg(long, value_name = "ADDRESS", value_parser = values::not_empty, help_heading = "Hosts")]
    pub ssh_listen: Option<String>,
}

impl HostsOptions {
    fn has_server(&self) -> bool {
        self.nats.is_some()
            || self.nats_fingerprint.is_some()
            || self.nats_creds.is_some()
            || self.key.is_some()
    }

    /// Whether options name a server, or a way to start one.
    #[must_use]
    pub fn names_server(&self) -> bool {
        self.has_server() || self.ssh.is_some()
    }

    /// Checks combinations of options.
    ///
    /// # Errors
    /// When there are no hosts to which the other options could belong.
    pub fn validate(&self) -> Result<(), String> {
        let others = self.has_server();
        if self.hosts.is_none() && others {
            return Err(
                "--nats, --nats-creds, --nats-fingerprint and --key need --hosts".to_owned(),
            );
        }
        match self.ssh {
            Some(_) if others => Err(SSH_ALONE.to_owned()),
            None if self.ssh_command.is_some()
                || self.ssh_fathom.is_some()
                || self.ssh_listen.is_some() =>
            {
                Err(NEED_SSH.to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Options of all experiments: sweeps, searches and suites.
#[derive(Args, Clone, Debug, Default)]
pub struct ExperimentOptions {
    /// Use this much of the target
    #[arg(long, value_name = "SIZE", value_parser = values::target_size, help_heading = "Target")]
    pub size: Option<Bytes>,
    /// Confirm that the data on this target may be destroyed
    #[arg(long, value_name = "CODE", help_heading = "Target")]
    pub destroy: Vec<String>,
    /// Write nothing to the target
    #[arg(long, help_heading = "Target")]
    pub read_only: bool,
    /// Create the file if it does not exist
    #[arg(long, help_heading = "Target")]
    pub create: bool,
    /// Keep the file that was created for the measurement
    #[arg(long, help_heading = "Target")]
    pub keep: bool,
    /// Show what would be done, and exit
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub hosts: HostsOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub observers: ObserverOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreOptions,
}

impl ExperimentOptions {
    /// Checks combinations of options.
    ///
    /// # Errors
    /// When two outputs go to standard output.
    pub fn validate(&self) -> Result<(), String> {
        if self.result.is_json() && self.result.output.is_none() && self.observers.uses_stdout() {
            return Err(
                "--json and --events=- cannot both go to standard output; write one of them to a file"
                    .to_owned(),
            );
        }
        if self.hosts.hosts.is_some() && self.observers.watch {
            return Err("--watch does not work with --hosts; leave it out".to_owned());
        }
        self.hosts.validate()
    }
}

/// The machine that a command measures, if it is not this one.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct MachineOptions {
    /// Simulate a machine with this device, or the machine of this file, in virtual time
    ///
    /// A model such as hdd-7200, or a composition such as 'sata-600(hdd-7200)' or 'limit(hdd-10k, iops=100)', or a model file
    /// such as my-device.toml, which `fathom fit` writes: every target is a file on this device, and a path below /dev is the device.
    /// Or the file of a machine with several devices, files and events. `fathom sim --models` lists the models.
    #[arg(long, value_name = "MODEL|FILE.toml", help_heading = "Simulation")]
    pub machine: Option<String>,
    /// Link of the device: sata6, sas12, pcie3x4, fc16, 25gbe, usb10, tb3
    ///
    /// The simulated device is behind this link. sata3, sata6, sas6, sas12, pcie3x4, pcie4x4 and fc8 have the times of the models
    /// of links that `fathom sim --models` lists; others are a ceiling of the rate alone.
    #[arg(long, value_name = "LINK", value_parser = values::parsed::<HostLink>, requires = "machine", help_heading = "Simulation")]
    pub link: Option<HostLink>,
    /// Seed of the random numbers of the simulated device [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64), requires = "machine", help_heading = "Simulation")]
    pub seed: Option<u64>,
}

/// Options of experiments that vary a load.
#[derive(Args, Clone, Debug, Default)]
pub struct LoadOptions {
    /// Stop after this time in total
    #[arg(long, value_name = "TIME", value_parser = values::runtime)]
    pub budget: Option<Duration>,
    /// Override an option of the jobs; shown in every result
    #[arg(long, value_name = "OPTION=VALUE", value_parser = values::setting)]
    pub set: Vec<(String, String)>,
}
