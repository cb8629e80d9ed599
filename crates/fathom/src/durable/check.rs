//! `fathom durable check`: compares the files with the acknowledgements.

use std::path::Path;
use std::sync::Arc;

use fathom_cli::{CertificateFormat, DurableArgs};
use fathom_durable::log::{CycleLog, Entry, Log};
use fathom_durable::{
    Certificate, Circumstances, CycleEnd, CycleResult, Unreadable, Verdict, check_cycle,
};
use fathom_model::format::date_minute;

use crate::durable::files::{self, CycleFiles};
use crate::durable::recorder::{Address, Recorder};
use crate::durable::world::{Description, World};
use crate::outcome::Outcome;
use crate::print::{print, print_to};

/// What is checked.
pub struct Subject<'a> {
    /// The host with the disk.
    pub world: &'a Arc<dyn World>,
    /// Directory of the files.
    pub path: &'a Path,
    /// The power of the device alone was cut.
    pub device_cut: bool,
    /// The user states that nothing can be read.
    pub unreadable: Option<Unreadable>,
    /// The recorder.
    pub recorder: &'a Recorder,
    /// It is another host.
    pub second_host: bool,
}

/// Checks the last cycle of the recorder, and prints the certificate of the run.
///
/// # Errors
/// When the recorder has no cycle, or the directory belongs to another run.
pub fn check(world: &Arc<dyn World>, args: &DurableArgs) -> Result<Outcome, String> {
    let (Some(path), Some(recorder)) = (&args.path, &args.recorder) else {
        return Err("a directory and --recorder are required".to_owned());
    };
    let recorder = Recorder::new(
        world,
        recorder,
        args.token_file.as_deref(),
        args.tls_fingerprint,
        args.tls_ca.as_deref(),
    )?;
    if let Address::File(file) = recorder.address()
        && !world.files().exists(file)
    {
        return Err(format!(
            "--recorder={}: no such file; give the file that `fathom durable write` was given",
            file.display()
        ));
    }
    let (mut log, second_host) = recorder.fetch()?;
    let current = log
        .current
        .take()
        .ok_or("the recorder has no cycle: `fathom durable write` has not begun one")?;
    let subject = Subject {
        world,
        path,
        device_cut: args.device_cut,
        unreadable: args.unreadable.map(Unreadable::from),
        recorder: &recorder,
        second_host,
    };
    let certificate = certificate(&subject, &current, &log)?;
    show(args, &certificate)
}

/// Prints a certificate as the options say.
///
/// # Errors
/// When the options contradict each other.
pub fn show(args: &DurableArgs, certificate: &Certificate) -> Result<Outcome, String> {
    let text = match format(args)? {
        CertificateFormat::Text => certificate.text(),
        CertificateFormat::Json => certificate.json(),
        CertificateFormat::Html => certificate.html(),
    };
    match print_to(args.result.output.as_deref(), &text) {
        Outcome::Good => Ok(outcome(certificate)),
        failed => Ok(failed),
    }
}

/// The format that was requested, or that of the file name.
fn format(args: &DurableArgs) -> Result<CertificateFormat, String> {
    let output = args.result.output.as_deref();
    let extension = output
        .and_then(Path::extension)
        .and_then(|extension| extension.to_str());
    match (args.result.format(), extension) {
        (CertificateFormat::Text, Some("html" | "htm")) => Ok(CertificateFormat::Html),
        (CertificateFormat::Text, Some("json")) => Ok(CertificateFormat::Json),
        (format, _) => Ok(format),
    }
}

/// Prints a certificate as text.
pub fn print_text(certificate: &Certificate) -> Outcome {
    match print(&certificate.text()) {
        Outcome::Good => outcome(certificate),
        failed => failed,
    }
}

fn outcome(certificate: &Certificate) -> Outcome {
    match certificate.verdict {
        Verdict::Pass => Outcome::Good,
        Verdict::Fail => Outcome::Bad,
        Verdict::Undecided => Outcome::Undecided,
    }
}

/// Checks a cycle, stores its result at the recorder, and returns the certificate of all cycles.
///
/// # Errors
/// When the directory belongs to another run, or the recorder is lost.
pub fn certificate(
    subject: &Subject<'_>,
    current: &CycleLog,
    log: &Log,
) -> Result<Certificate, String> {
    let geometry = &current.begin.geometry;
    let result = if let Some(kind) = subject.unreadable {
        let mut result = CycleResult::of_unreadable(geometry, &current.acknowledgements, kind);
        result.end = end(subject, current)?;
        result
    } else {
        compare_run(subject, current)?;
        let mut media = CycleFiles::new(subject.world, subject.path, geometry);
        check_cycle(
            geometry,
            &current.acknowledgements,
            &mut media,
            end(subject, current)?,
        )
    };
    subject
        .recorder
        .store(Entry::Checked(Box::new(result.clone())))?;
    let mut cycles = log.checked.clone();
    cycles.retain(|one| one.cycle != result.cycle);
    cycles.push(result);
    Ok(Certificate::new(geometry, cycles, circumstances(subject)))
}

fn compare_run(subject: &Subject<'_>, current: &CycleLog) -> Result<(), String> {
    let expected = current.begin.geometry.run;
    match files::run_of(subject.world.files(), subject.path)? {
        Some(run) if run == expected => Ok(()),
        Some(run) => Err(format!(
            "{} belongs to run {run}, and the recorder has run {expected}: check the directory that was written",
            subject.path.display()
        )),
        None => Err(format!(
            "{} has no files of this test: mount the file system first. If it cannot be mounted or the directory is gone, use \
             --unreadable=file-system; if the device does not respond, --unreadable=device",
            subject.path.display()
        )),
    }
}

/// How the cycle ended.
fn end(subject: &Subject<'_>, current: &CycleLog) -> Result<CycleEnd, String> {
    let cycle = current.begin.geometry.cycle;
    let has_stopped = || files::is_stopped(subject.world.files(), subject.path, cycle);
    Ok(if current.stopped || has_stopped() {
        CycleEnd::Stopped
    } else if subject.device_cut {
        CycleEnd::DeviceCut
    } else if subject.world.boot()? == current.begin.boot {
        CycleEnd::NoCut
    } else {
        CycleEnd::PowerCut
    })
}

fn circumstances(subject: &Subject<'_>) -> Circumstances {
    let Description {
        file_system,
        devices,
        host,
        simulated,
    } = subject.world.describe(subject.path);
    let now = subject.world.clock().wall().as_secs();
    Circumstances {
        path: subject.path.display().to_string(),
        file_system,
        devices,
        host,
        recorder: match subject.recorder.address() {
            Address::Host(host) => host.clone(),
            Address::File(file) => file.display().to_string(),
        },
        second_host: subject.second_host,
        program: format!("fathom {}", env!("CARGO_PKG_VERSION")),
        checked: format!("{} UTC", date_minute(now, 0)),
        simulated,
    }
}
