//! `fathom agent`.

use std::path::PathBuf;

use clap::Args;
use fathom_durable::Fingerprint;

use super::Text;
use crate::common::DisplayOptions;
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Run jobs of `fathom run --hosts` on this host",
    "Connects to a NATS server and waits for jobs. `fathom run JOB.fio --hosts=a,b --nats=URL` on any host sends a job file to agents, \
     starts them at the same instant, and prints and stores one result.\n\n\
     An agent plans each job itself and judges its own targets: the rules and codes of `fathom run` hold as on one host. It touches \
     only files and devices below --allow, and refuses jobs that run commands unless --allow-exec is given. With --trust it takes \
     only jobs that are signed with that key. When its controller is silent for 1.5 s, it stops the load.\n\n\
     Ctrl-C ends it; a job that runs is stopped, and what it recorded is sent.",
    "Examples:
  fathom agent --nats=nats://10.0.0.1 --allow=/mnt/data
  fathom agent --nats=nats://10.0.0.1 --host-name=web1 --label=rack=3 --allow=/mnt/data --trust=KEY
  srun fathom agent --join --nats=nats://10.0.0.1 --allow=/mnt/data",
);

/// Arguments of `fathom agent`.
#[derive(Args, Clone, Debug, Default)]
pub struct AgentArgs {
    /// Address of the NATS server
    ///
    /// Such as nats://HOST:4222, with USER:PASSWORD@ or TOKEN@ before the host if the server wants a login. The environment variable
    /// FATHOM_NATS is used without this option: other users of the host cannot see a password in it. `-` reads the address from
    /// the first line of standard input; the agent then ends when standard input does, as `fathom run --ssh` uses it.
    #[arg(long, value_name = "URL", value_parser = values::not_empty, help_heading = "Server")]
    pub nats: Option<String>,
    /// Use TLS with the NATS server, and accept only the certificate with this SHA-256 fingerprint
    #[arg(long, value_name = "HEX", value_parser = values::parsed::<Fingerprint>, help_heading = "Server")]
    pub nats_fingerprint: Option<Fingerprint>,
    /// Log in to the NATS server with the credentials in this file (.creds, or the seed of an nkey)
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub nats_creds: Option<PathBuf>,
    /// Name of this host for `fathom run --hosts` [default: that of the kernel]
    #[arg(long, value_name = "NAME", value_parser = values::not_empty)]
    pub host_name: Option<String>,
    /// Label, such as project=apollo or rack=3; can be repeated
    ///
    /// `fathom run --hosts` selects hosts by it.
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::not_empty)]
    pub label: Vec<String>,
    /// Join the run of a launcher: mpirun, srun, an indexed Job of Kubernetes
    ///
    /// The name is that of this host and the rank, such as node7-3; the labels rank, size and job say which agents belong together:
    /// `fathom run --hosts=job=77,size=8` waits for all eight of Slurm's job 77. The agent ends after one run.
    #[arg(long)]
    pub join: bool,
    /// File, device or directory that jobs may use; can be repeated
    ///
    /// A job with any other target is refused. A link is followed before it is compared.
    #[arg(long, value_name = "PATH", help_heading = "Permissions")]
    pub allow: Vec<PathBuf>,
    /// Allow jobs that run commands or change settings of this host
    ///
    /// exec_prerun, exec_postrun, ioengine=exec, ioscheduler, uid and gid.
    #[arg(long, help_heading = "Permissions")]
    pub allow_exec: bool,
    /// Take only jobs signed with this key; can be repeated
    ///
    /// The public key that `fathom run --key=FILE` prints. Without it, everybody who may use the NATS server can run jobs here.
    #[arg(long, value_name = "KEY", value_parser = values::not_empty, help_heading = "Permissions")]
    pub trust: Vec<String>,
    /// Messages are left out.
    #[arg(skip)]
    pub quiet: bool,
}

impl CommandArgs for AgentArgs {
    const NAME: &'static str = "agent";

    fn display(&mut self, display: DisplayOptions) {
        self.quiet = display.quiet;
    }
}
