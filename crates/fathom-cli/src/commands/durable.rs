//! `fathom durable`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fathom_durable::{Fingerprint, Layout, Method, Unreadable};
use fathom_model::Bytes;

use super::Text;
use crate::common::{DisplayOptions, MachineOptions, OutputFormat, OutputOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Test whether a disk keeps what it acknowledged after a power cut",
    "`record` runs on a second host and stores acknowledgements. `write` runs on the host with the disk: it commits stamped records from \
     several threads and sends each acknowledgement to the recorder as it happens, until the power is cut. `check` then compares the \
     files with the acknowledgements: commits that are there, lost, torn (512 B, 4 KiB, record), out of order or changed, for each \
     method, layout and thread. The verdict is pass, fail or undecided, with a certificate as text, JSON or HTML.\n\n\
     Each start of `write` is a cycle. Cycles use the methods of --method in turn, so that a flush of one method does not hide a loss of \
     another; the power is cut at least once for each. Nothing but the files in the directory PATH, which `write` creates, is written.\n\n\
     Without a second host, --recorder names a file on another disk of the same machine. That cannot prove as much, and the \
     certificate says so.",
    "Examples:
  fathom durable record acks.log --listen 192.0.2.1:7420 --token-file token
  fathom durable write /mnt/disk/durable --recorder 192.0.2.1:7420 --token-file token
  fathom durable check /mnt/disk/durable --recorder 192.0.2.1:7420 --token-file token -o certificate.html
  fathom durable record acks.log --listen 192.0.2.1:7420 --token-file token --tls recorder.pem  encrypted
  fathom durable write /mnt/disk/durable --recorder /mnt/other/acks.log --method fdatasync,fua
  fathom durable write /mnt/disk/durable --recorder 192.0.2.1:7420 --token-file token --cycles 50 --cut 'ipmitool chassis power reset' --state /root/cuts.json
  fathom durable write --resume --state /root/cuts.json  after each start of the machine
  fathom durable write /data/durable --machine machine.toml  the whole test in virtual time",
);

/// Arguments of an action, by name of the option.
const WRITE_ONLY: &str = "--method, --layout, --threads, --record-size, --records, --size, --cycles, --cut, --cut-after, --state and --resume";

/// The part of the test.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DurableAction {
    /// Store acknowledgements
    #[default]
    Record,
    /// Commit records and send acknowledgements
    Write,
    /// Compare the files with the acknowledgements
    Check,
}

/// Format of a certificate.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CertificateFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
    /// Offline HTML page
    Html,
}

impl OutputFormat for CertificateFormat {
    const JSON: Self = CertificateFormat::Json;
}

/// What a lost device or file system is called on the command line.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadableKind {
    /// The file system cannot be mounted or its files are gone
    FileSystem,
    /// The device does not respond
    Device,
}

impl From<UnreadableKind> for Unreadable {
    fn from(kind: UnreadableKind) -> Unreadable {
        match kind {
            UnreadableKind::FileSystem => Unreadable::FileSystem,
            UnreadableKind::Device => Unreadable::Device,
        }
    }
}

/// Arguments of `fathom durable`.
#[derive(Args, Clone, Debug, Default)]
pub struct DurableArgs {
    /// The part of the test
    #[arg(value_name = "ACTION", value_enum)]
    pub action: DurableAction,
    /// `record`: file for the acknowledgements; `write` and `check`: directory of the test's files
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// Listen on this address and port
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Recorder")]
    pub listen: Option<String>,
    /// Recorder: HOST:PORT of `durable record`, or a file on another disk of this machine
    #[arg(long, value_name = "RECORDER", value_parser = values::not_empty, help_heading = "Recorder")]
    pub recorder: Option<String>,
    /// File with the secret that the recorder and the writer share
    ///
    /// `record` creates it with a random token if it does not exist; copy it to the other host. Both sides prove that they have it;
    /// it is never sent. Messages are authenticated with it; they are encrypted with TLS only.
    #[arg(long, value_name = "FILE", help_heading = "Recorder")]
    pub token_file: Option<PathBuf>,
    /// Use TLS, with the certificate and its key in this file
    ///
    /// For `record`: a PEM file with a certificate and a private key of Ed25519. If it does not exist, `record` creates it with a
    /// certificate of its own, and prints the fingerprint for --tls-fingerprint.
    #[arg(long, value_name = "FILE", help_heading = "Recorder")]
    pub tls: Option<PathBuf>,
    /// Use TLS, and accept only the certificate with this SHA-256 fingerprint
    ///
    /// For `write` and `check`: the fingerprint that `record --tls` printed.
    #[arg(long, value_name = "HEX", value_parser = values::parsed::<Fingerprint>, help_heading = "Recorder")]
    pub tls_fingerprint: Option<Fingerprint>,
    /// Use TLS, and accept the certificates that the authority in this file signed for the recorder's name
    ///
    /// For `write` and `check`: a PEM file with the certificate of the authority, or the certificate of the recorder itself. Keys are of
    /// Ed25519; the certificate must be valid now, and for the host or address in --recorder.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "tls_fingerprint",
        help_heading = "Recorder"
    )]
    pub tls_ca: Option<PathBuf>,
    /// Methods of the cycles, in turn: fsync, fdatasync, dsync, fua, rename [default: all]
    ///
    /// dsync: O_DSYNC. fua: direct I/O with RWF_DSYNC, a write with the FUA bit where the device has it. rename: a new file, fsync,
    /// rename over the old one, fsync of the directory.
    #[arg(long, value_name = "METHOD,...", value_delimiter = ',', value_parser = values::parsed::<Method>, help_heading = "Load")]
    pub method: Vec<Method>,
    /// Layouts of the files: append, overwrite, preallocated [default: all]
    #[arg(long, value_name = "LAYOUT,...", value_delimiter = ',', value_parser = values::parsed::<Layout>, help_heading = "Load")]
    pub layout: Vec<Layout>,
    /// Threads for each layout [default: 2]
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, 64>, help_heading = "Load")]
    pub threads: Option<u32>,
    /// Size of a record, a multiple of 512 bytes [default: 8k]
    #[arg(long, value_name = "SIZE", value_parser = record_size, help_heading = "Load")]
    pub record_size: Option<Bytes>,
    /// Records of a commit [default: 2]
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, 64>, help_heading = "Load")]
    pub records: Option<u32>,
    /// Use this much of the target
    ///
    /// Space for all files together, by default 128m.
    #[arg(long, value_name = "SIZE", value_parser = values::target_size, help_heading = "Target")]
    pub size: Option<Bytes>,
    /// Number of cycles, each with a power cut by the command of --cut
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, 1_000_000>, help_heading = "Cycles")]
    pub cycles: Option<u32>,
    /// Command that cuts the power, such as 'ipmitool chassis power reset'
    #[arg(long, value_name = "COMMAND", value_parser = values::not_empty, help_heading = "Cycles")]
    pub cut: Option<String>,
    /// Longest time before the command of --cut runs [default: 30s]
    ///
    /// It runs at a random time between half of this and all of it.
    #[arg(long, value_name = "TIME", value_parser = values::runtime, help_heading = "Cycles")]
    pub cut_after: Option<Duration>,
    /// File with the options of --cycles, for --resume; not on the disk under test
    #[arg(long, value_name = "FILE", help_heading = "Cycles")]
    pub state: Option<PathBuf>,
    /// Check the last cycle and start the next one, as the file of --state says
    #[arg(long, help_heading = "Cycles")]
    pub resume: bool,
    /// The power of the device alone is cut, not that of this machine
    ///
    /// Without this, a check is undecided unless the machine has restarted. Mount the file system again before the check.
    #[arg(long)]
    pub device_cut: bool,
    /// State that nothing can be read after the cut
    #[arg(long, value_name = "WHAT", value_enum)]
    pub unreadable: Option<UnreadableKind>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: OutputOptions<CertificateFormat>,
    /// Messages are left out.
    #[arg(skip)]
    pub quiet: bool,
}

impl DurableArgs {
    fn has_write_options(&self) -> bool {
        !self.method.is_empty()
            || !self.layout.is_empty()
            || self.threads.is_some()
            || self.record_size.is_some()
            || self.records.is_some()
            || self.size.is_some()
            || self.has_cycle_options()
            || self.resume
    }

    fn has_cycle_options(&self) -> bool {
        self.cycles.is_some()
            || self.cut.is_some()
            || self.cut_after.is_some()
            || self.state.is_some()
    }

    fn has_output(&self) -> bool {
        self.result.output.is_some() || self.result.format() != CertificateFormat::Text
    }

    /// With a simulated machine `write` does the parts of all hosts.
    fn check_simulated(&self) -> Result<(), String> {
        if self.action != DurableAction::Write {
            return Err(
                "--machine is an option of `durable write`, which then records and checks too"
                    .to_owned(),
            );
        }
        let has_cycles = self.has_cycle_options() || self.resume;
        let has_host = self.listen.is_some()
            || self.token_file.is_some()
            || self.tls.is_some()
            || self.tls_fingerprint.is_some()
            || self.tls_ca.is_some();
        if has_cycles || has_host || self.unreadable.is_some() {
            return Err(
                "--machine says when the power is cut, and has its own recorder: leave out --cycles, --cut, --cut-after, --state, --resume, \
                 --listen, --token-file, --tls, --tls-fingerprint, --tls-ca and --unreadable"
                    .to_owned(),
            );
        }
        if self.path.is_none() {
            return Err("no directory: give one on the disk under test".to_owned());
        }
        Ok(())
    }

    fn check_write(&self) -> Result<(), String> {
        if self.resume {
            return match (&self.state, &self.path) {
                (Some(_), None) => Ok(()),
                (None, _) => Err("--resume needs --state=FILE".to_owned()),
                (_, Some(_)) => {
                    Err("--resume takes PATH from the file of --state; leave it out".to_owned())
                }
            };
        }
        let cycle = [
            self.cycles.is_some(),
            self.cut.is_some(),
            self.state.is_some(),
        ];
        if cycle.contains(&true) && cycle.contains(&false) {
            return Err(
                "--cycles, --cut and --state belong together: the number of cuts, the command, and the file for --resume"
                    .to_owned(),
            );
        }
        if self.cut_after.is_some() && self.cut.is_none() {
            return Err("--cut-after needs --cut".to_owned());
        }
        Ok(())
    }
}

impl CommandArgs for DurableArgs {
    const NAME: &'static str = "durable";

    fn display(&mut self, display: DisplayOptions) {
        self.quiet = display.quiet;
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.action != DurableAction::Write && self.has_write_options() {
            return Err(format!("{WRITE_ONLY} are options of `durable write`"));
        }
        let is_simulated = self.machine.machine.is_some();
        if is_simulated {
            return self.check_simulated();
        }
        if self.action != DurableAction::Check && (self.has_output() || self.unreadable.is_some()) {
            return Err(
                "--output, --format, --json and --unreadable are options of `durable check`"
                    .to_owned(),
            );
        }
        match self.action {
            DurableAction::Record => {
                let has_trust = self.tls_fingerprint.is_some() || self.tls_ca.is_some();
                if self.recorder.is_some() || self.device_cut || has_trust {
                    return Err(
                        "--recorder, --tls-fingerprint, --tls-ca and --device-cut are options of `durable write` and `durable check`"
                            .to_owned(),
                    );
                }
                if self.path.is_none() || self.listen.is_none() || self.token_file.is_none() {
                    return Err(
                        "`durable record` needs a file for the acknowledgements, --listen=ADDRESS:PORT and --token-file=FILE"
                            .to_owned(),
                    );
                }
                return Ok(());
            }
            DurableAction::Write => self.check_write()?,
            DurableAction::Check => {}
        }
        if self.listen.is_some() || self.tls.is_some() {
            return Err("--listen and --tls are options of `durable record`".to_owned());
        }
        if self.resume {
            return Ok(());
        }
        if self.path.is_none() {
            return Err("no directory: give one on the disk under test".to_owned());
        }
        let Some(recorder) = &self.recorder else {
            return Err(
                "no recorder: give --recorder=HOST:PORT, or --recorder=FILE on another disk"
                    .to_owned(),
            );
        };
        let trust = [
            ("--tls-fingerprint", self.tls_fingerprint.is_some()),
            ("--tls-ca", self.tls_ca.is_some()),
        ];
        if let Some((option, _)) = trust.iter().find(|(_, is_given)| *is_given)
            && is_file(recorder)
        {
            return Err(format!(
                "{option} needs a recorder on another host: --recorder=HOST:PORT"
            ));
        }
        if !is_file(recorder) && self.token_file.is_none() {
            return Err("a recorder on another host needs --token-file=FILE".to_owned());
        }
        Ok(())
    }
}

/// Whether a recorder is a file of this machine: an address has no slash.
fn is_file(recorder: &str) -> bool {
    recorder.contains('/')
}

fn record_size(text: &str) -> Result<Bytes, String> {
    match values::size(text)? {
        size if !size.get().is_multiple_of(512) => Err("not a multiple of 512 bytes".to_owned()),
        size if size.get() > 1 << 20 => Err("too large: at most 1m".to_owned()),
        size => Ok(size),
    }
}
