//! `fathom sim`: job files on a simulated device, and the simulated devices of experiments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;

use fathom_cli::{SimArgs, SimOptions};
use fathom_linux::{OnOneCpu, interrupts};
use fathom_load::{RunHooks, Stop};
use fathom_model::{
    Bytes, ClockFacts, HostLink, LogChunk, Personality, Plan, Recording, RunEnd, Simulated, Verdict,
};
use fathom_plan::{HostInfo, OutputFormat, Planned, parse_args, plan};
use fathom_sim::{Device, KINDS, Library, ModelSpec, Parameter, Place, SimHost, Value};

use crate::cli;
use crate::measure;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::print::{eprint_line, note_line, print, set_quiet};
use crate::result_file;
use crate::result_store::{self, RunWriter};
use crate::this_machine::{ThisMachine, machine_facts};
use crate::toml_files::{toml_files, user_directory};

/// Seed of the model unless `--seed` sets it.
const SEED: u64 = 1;
/// The message about targets beside a simulated device.
pub const NO_TARGETS: &str =
    "--device simulates the targets of a job file: give a job file and no other target";
/// The message about hosts beside a simulated device.
pub const NO_HOSTS: &str = "--device simulates on this host: leave out the other hosts";
/// Chunks of log entries on their way to the writer.
const CHUNKS: usize = 64;

/// Runs the job files of the arguments on a simulated device.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: SimArgs| {
        set_quiet(args.quiet);
        if args.models {
            return Ok(print(&models()));
        }
        simulate(&args)
    })
}

/// A simulated device that can be built again for every cell.
pub struct SimDeviceSource {
    library: Library,
    spec: ModelSpec,
    seed: u64,
}

impl SimDeviceSource {
    /// The device of the options, if they name one. It is built once, so that mistakes are found
    /// before anything starts.
    ///
    /// # Errors
    /// When the model has a mistake.
    pub fn new(options: &SimOptions) -> Result<Option<SimDeviceSource>, String> {
        let Some(text) = &options.device else {
            return match options.seed {
                None => Ok(None),
                Some(_) => Err("--seed needs --device".to_owned()),
            };
        };
        let mut library = Library::new();
        for (name, path, text) in user_models() {
            library.add(&name, &path, &text?);
        }
        let spec = if text.ends_with(".toml") {
            ModelSpec::named(text, Place::of("--device", text, 0))
        } else {
            ModelSpec::parse_in("--device", text).map_err(|error| error.to_string())?
        };
        let spec = match options.link {
            Some(link) => behind(link, spec),
            None => spec,
        };
        add_files(&spec, &mut library)?;
        let source = SimDeviceSource {
            library,
            spec,
            seed: options.seed.unwrap_or(SEED),
        };
        source.build()?;
        Ok(Some(source))
    }

    /// Bytes of the device.
    ///
    /// # Errors
    /// When the model has a mistake.
    pub fn capacity(&self) -> Result<Bytes, String> {
        self.build().map(|device| Bytes::new(device.capacity()))
    }

    /// The device as results name it.
    #[must_use]
    pub fn identity(&self) -> Simulated {
        Simulated {
            device: self.spec.to_text(),
            seed: self.seed,
        }
    }

    fn build(&self) -> Result<Device, String> {
        self.library
            .build(&self.spec, self.seed)
            .map_err(|error| error.to_string())
    }

    /// Runs a plan on a new device.
    ///
    /// # Errors
    /// When the plan cannot be simulated.
    pub fn run(&self, plan: Plan) -> Result<Recording, String> {
        self.run_while(plan, &AtomicBool::new(true))
    }

    /// Runs a plan on a new device, until it ends or its result is no longer `wanted`.
    ///
    /// # Errors
    /// When the plan cannot be simulated.
    pub fn run_while(&self, plan: Plan, wanted: &AtomicBool) -> Result<Recording, String> {
        if let Some(reason) = fathom_sim::unsupported(&plan) {
            return Err(reason);
        }
        let buffered = plan.jobs.iter().any(|job| !job.files.direct);
        let (logs, chunks) = sync_channel::<LogChunk>(CHUNKS);
        let over = Arc::new(AtomicBool::new(false));
        let outputs = measure::outputs_excluding_targets(&plan);
        let writer = measure::write_logs(&plan, outputs, chunks, Arc::clone(&over))
            .map_err(|error| format!("cannot start the writer of the logs: {error}"))?;
        let signals = interrupts();
        let stop = || match signals.load(Relaxed) {
            0 if !wanted.load(Relaxed) => Stop::Abort,
            0 => Stop::No,
            1 => Stop::Drain,
            _ => Stop::Abort,
        };
        let hooks = RunHooks {
            stop: &stop,
            progress: &mut |_| {},
            logs,
            states: None,
            interval_sink: None,
            io_log: None,
            before_start: None,
            may_begin: None,
            replays: &crate::logs::replay,
        };
        let host = Arc::new(SimHost::new(self.build()?));
        // The jobs take turns: on two CPUs each turn would wake the other one.
        let one_cpu = (plan.jobs.len() > 1).then(OnOneCpu::here);
        let result = fathom_sim::run_load(plan, host, hooks);
        drop(one_cpu);
        over.store(true, Relaxed);
        let log_error = writer.join().unwrap_or_default();
        let mut recording = result.map_err(|error| error.to_string())?;
        recording
            .messages
            .extend(log_error.map(|error| format!("cannot write logs: {error}")));
        recording.clock = ClockFacts {
            source: "virtual".to_owned(),
            cost_ns: 0.0,
            drift_ppm: 0.0,
        };
        recording.host.simulated = Some(self.identity());
        if buffered {
            recording.messages.push(
                "buffered I/O was simulated as direct I/O: a simulated device has no page cache"
                    .to_owned(),
            );
        }
        Ok(recording)
    }
}

/// A name in a report of test cases, with a mark if `device` is simulated.
pub fn marked(name: &str, device: Option<&SimDeviceSource>) -> String {
    match device {
        Some(device) => format!("{name} (simulated: {})", device.spec.to_text()),
        None => name.to_owned(),
    }
}

/// This machine without its random numbers: a simulation has none of its own.
pub struct SimMachine;

impl HostInfo for SimMachine {
    fn variable(&self, name: &str) -> Option<String> {
        ThisMachine.variable(name)
    }

    machine_facts!();

    fn is_directory(&self, _: &std::path::Path) -> bool {
        // The files of a simulation, and their directories, are on the simulated device.
        true
    }

    fn entropy(&self) -> u64 {
        SEED
    }
}

/// Links with a model, which knows the time of a command too.
const LINK_MODELS: [(&str, &str); 7] = [
    ("sata3", "sata-300"),
    ("sata6", "sata-600"),
    ("sas6", "sas-6g"),
    ("sas12", "sas-12g"),
    ("pcie3x4", "pcie3-x4"),
    ("pcie4x4", "pcie4-x4"),
    ("fc8", "fc-8g"),
];

/// The device behind a link: that of a model, or the rate of the link alone.
fn behind(link: HostLink, device: ModelSpec) -> ModelSpec {
    let name = link.name();
    let place = Place::of("--link", &name, 0);
    let parameter = |name: &str, value: String| Parameter {
        name: name.to_owned(),
        value: Value::Text(value),
        place: place.clone(),
    };
    let model = LINK_MODELS.iter().find(|(known, _)| *known == name);
    let (kind, parameters) = match (model, link) {
        (Some((_, model)), _) => (*model, Vec::new()),
        (None, link) => {
            // Serial ATA and USB 2 transfer in one direction at a time.
            let half = matches!(link, HostLink::Sata(_) | HostLink::Usb(..=480));
            let duplex = if half { "half" } else { "full" };
            let rate = format!("{}MB/s", link.usable() / 1e6);
            let rate = parameter("rate", rate);
            ("link", vec![rate, parameter("duplex", duplex.to_owned())])
        }
    };
    ModelSpec {
        parameters,
        members: vec![(1, device)],
        ..ModelSpec::named(kind, place)
    }
}

/// Adds the model files that a composition names: `sata-600(my-device.toml)`.
fn add_files(spec: &ModelSpec, library: &mut Library) -> Result<(), String> {
    if spec.name.ends_with(".toml") && library.get(&spec.name).is_none() {
        let text = result_file::read(&spec.name)?;
        library.add(&spec.name, &spec.name, &text);
    }
    for (_, member) in &spec.members {
        add_files(member, library)?;
    }
    for parameter in &spec.parameters {
        if let Value::Device(device) = &parameter.value {
            add_files(device, library)?;
        }
    }
    Ok(())
}

/// Models of the user: name, path and text.
fn user_models() -> Vec<(String, String, Result<String, String>)> {
    let Some(directory) = user_directory("models") else {
        return Vec::new();
    };
    let files = toml_files(&directory).unwrap_or_default();
    files
        .into_iter()
        .map(|(path, text)| {
            let name = std::path::Path::new(&path)
                .file_stem()
                .map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
            let text = text.map_err(|error| format!("{path}: {error}"));
            (name, path, text)
        })
        .collect()
}

/// The models and the kinds, one line each.
fn models() -> String {
    let mut library = Library::new();
    let mut problems = String::new();
    for (name, path, text) in user_models() {
        match text {
            Ok(text) => library.add(&name, &path, &text),
            Err(problem) => problems += &format!("  {problem}\n"),
        }
    }
    let mut text = String::from("Models:\n");
    for name in library.names() {
        let summary = match library.get(name) {
            Some(Ok(file)) => file.summary,
            Some(Err(error)) => error.to_string(),
            None => String::new(),
        };
        text += &format!("  {name:<16} {summary}\n");
    }
    text += "\nKinds, for models of your own and for compositions:\n";
    for kind in KINDS {
        text += &format!("  {:<16} {}\n", kind.name, kind.summary);
    }
    text + &problems
}

fn simulate(args: &SimArgs) -> Result<Outcome, String> {
    let source = SimDeviceSource::new(&args.sim)?.ok_or("no device: add --device MODEL")?;
    let planned = planned(args)?;
    let (reporting, Planned { plan, .. }) = planned;
    let mut writer = RunWriter::begin(
        "fathom sim",
        &args.store,
        &result_store::simulated_by(
            result_store::experiment("sim", result_store::run_name(&plan), source.spec.to_text()),
            Some(&source),
        ),
    );
    let outputs = measure::outputs_excluding_targets(&plan);
    let _ = writer.journal(&plan);
    let mut recording = match source.run(plan) {
        Ok(recording) => recording,
        Err(message) => {
            writer.remove();
            return Err(message);
        }
    };
    let findings = fathom_analyse::findings(&recording);
    Output::open(&reporting, &outputs)?.findings(&findings)?;
    recording.started_unix_ns = result_store::unix_now_ns();
    writer.finish(recording, &findings, Vec::new());
    Ok(match findings.verdict {
        _ if findings.end != RunEnd::Completed => Outcome::Interrupted,
        Verdict::Invalid => Outcome::Bad,
        Verdict::Valid | Verdict::Degraded => Outcome::Good,
    })
}

/// The plan of the job files, and where its result goes.
fn planned(args: &SimArgs) -> Result<(fathom_plan::Reporting, Planned), String> {
    let mut line: Vec<String> = Vec::new();
    for (option, value) in &args.set {
        line.extend(["--set".to_owned(), format!("{option}={value}")]);
    }
    line.extend(args.job_files.iter().cloned());
    let text = |problems: Vec<fathom_plan::Diagnostic>| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    let mut invocation = parse_args(&line, Personality::Fathom).map_err(text)?;
    if args.result.is_json() {
        invocation.reporting.formats = vec![OutputFormat::Json];
    }
    invocation.reporting.output = args
        .result
        .output
        .as_ref()
        .map(|path| path.to_string_lossy().into_owned());
    let planned = plan(&invocation, &SimMachine, &ThisMachine).map_err(text)?;
    for remark in planned.warnings.iter().chain(&planned.notes) {
        match remark.severity {
            fathom_plan::Severity::Note => note_line!("{remark}"),
            _ => eprint_line!("{remark}"),
        }
    }
    if planned.plan.jobs.is_empty() {
        return Err("the job files have no job".to_owned());
    }
    Ok((invocation.reporting, planned))
}
