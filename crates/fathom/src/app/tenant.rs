//! Tenants of a suite in processes of their own, which the kernel may limit: applications, each prepared once, and jobs with limits
//! of the kernel.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fathom_app::{AppSpec, Measured, PrivateFolder, abandoned_folders};
use fathom_cli::AppArgs;
use fathom_linux::{LimitedGroup, remove_abandoned_groups};
use fathom_model::{Direction, JobError, Nanos, Plan, Program, Recording, Traffic};
use fathom_plan::{PlannedCell, Recipe};
use rustix::process::{Pid, Signal, kill_process};

use super::child::{Answer, Phase, answer, variable};
use super::streams::Gate;
use super::{
    POLL, Stop, engine_of, fill, find_engine, is_interrupted, prepare, spec_of, steps, user_of,
};
use crate::limited_jobs::{JobLimits, LimitedJobs};
use crate::print::note_line;

/// EIO: transactions failed.
const FAILED: i32 = 5;

/// The applications of a recipe, with their databases, and the jobs that the kernel limits.
pub struct TenantApps {
    apps: Vec<TenantApp>,
    limited: Vec<(String, JobLimits)>,
}

struct TenantApp {
    name: String,
    /// Arguments of `fathom app`.
    words: Vec<String>,
    args: AppArgs,
    io_max: Vec<(String, u64)>,
    database: Option<(PrivateFolder, AppSpec)>,
}

/// The applications of one cell, which are ready and wait.
#[derive(Default)]
pub struct RunningApps {
    running: Vec<RunningApp>,
}

struct RunningApp {
    /// Its job in the plan.
    place: usize,
    name: String,
    words: Vec<String>,
    child: Child,
    gate: Gate,
    delay: Nanos,
    folder: PathBuf,
    direction: Direction,
    _group: Option<LimitedGroup>,
}

impl TenantApps {
    /// The applications of `recipe`, with databases below `directory`.
    ///
    /// # Errors
    /// When the arguments of one are wrong, or its engine is missing.
    pub fn of(recipe: &Recipe, directory: &Path) -> Result<TenantApps, String> {
        let mut apps = Vec::new();
        let mut limited = Vec::new();
        for tenant in &recipe.tenants {
            let Some(app) = &tenant.app else {
                if !tenant.io_max.is_empty() {
                    let limits = JobLimits {
                        sections: tenant.sections.clone(),
                        io_max: tenant.io_max.clone(),
                        directory: directory.to_owned(),
                    };
                    limited.push((tenant.name.clone(), limits));
                }
                continue;
            };
            let words: Vec<String> = app.split_whitespace().map(str::to_owned).collect();
            // The path follows the engine.
            let mut all = words.clone();
            let engine = words.first().is_some_and(|word| !word.starts_with('-'));
            all.insert(usize::from(engine), directory.display().to_string());
            let wrong = |problem: String| format!("tenant {}: {problem}", tenant.name);
            let args = AppArgs::read(&all).map_err(wrong)?;
            let is_plain = args.memory.is_empty() && args.log_path.is_none() && !args.keep;
            if !is_plain || steps(&args).map_err(wrong)?.len() != 1 {
                return Err(wrong(
                    "an application among tenants has no lists, no --memory, --log-path, --repeats and --keep".to_owned(),
                ));
            }
            find_engine(args.engine).map_err(wrong)?;
            apps.push(TenantApp {
                name: tenant.name.clone(),
                words,
                args,
                io_max: tenant.io_max.clone(),
                database: None,
            });
        }
        if !apps.is_empty() {
            drop(abandoned_folders(directory));
        }
        if !apps.is_empty() || !limited.is_empty() {
            drop(remove_abandoned_groups());
        }
        Ok(TenantApps { apps, limited })
    }

    /// Starts the processes of the jobs that the kernel limits, until all are ready to begin. In `plan` jobs that only wait take their
    /// place.
    ///
    /// # Errors
    /// Why one cannot run.
    pub fn start_limited(
        &self,
        cell: &PlannedCell,
        plan: &mut Plan,
        codes: &[String],
    ) -> Result<Vec<LimitedJobs>, String> {
        let all = self.limited.iter().enumerate();
        all.map(|(number, (name, limits))| {
            LimitedJobs::start(&format!("jobs-{number}"), cell, plan, limits, codes)
                .map_err(|problem| format!("{name}: {problem}"))
        })
        .collect()
    }

    /// Starts the applications among the jobs of `plan`, until all are ready to begin. With `is_limited` the kernel limits them.
    ///
    /// # Errors
    /// Why one cannot run.
    pub fn start(&mut self, plan: &Plan, is_limited: bool) -> Result<RunningApps, String> {
        let mut all = RunningApps::default();
        for (place, job) in plan.jobs.iter().enumerate() {
            let Some(app) = self.apps.iter_mut().find(|app| app.name == job.name) else {
                continue;
            };
            let failed = |problem: String| format!("{}: {problem}", job.name);
            if app.database.is_none() {
                app.database = Some(app.create().map_err(failed)?);
            }
            let Some((folder, spec)) = &app.database else {
                continue;
            };
            let spec = AppSpec {
                runtime_ns: job.limits.runtime.unwrap_or_default().get(),
                warmup_ns: 0,
                ..spec.clone()
            };
            let limits = if is_limited { &app.io_max[..] } else { &[] };
            let group = (!limits.is_empty())
                .then(|| LimitedGroup::create(&format!("tenant-{place}"), folder.path(), limits))
                .transpose()
                .map_err(failed)?;
            let gate = Gate::new(folder.path()).map_err(failed)?;
            let child = spawn(&spec, folder.path(), group.as_ref()).map_err(failed)?;
            all.running.push(RunningApp {
                place,
                name: job.name.clone(),
                words: described(&app.words, &app.args),
                child,
                gate,
                delay: job.start.delay.0,
                folder: folder.path().to_owned(),
                direction: if spec.transaction.only_reads() {
                    Direction::Read
                } else {
                    Direction::Write
                },
                _group: group,
            });
        }
        for app in &mut all.running {
            app.wait_until_ready()
                .map_err(|problem| format!("{}: {problem}", app.name))?;
        }
        Ok(all)
    }
}

impl TenantApp {
    /// Creates the database.
    fn create(&self) -> Result<(PrivateFolder, AppSpec), String> {
        note_line!("fathom suite: creates the database of {}", self.name);
        let folder = PrivateFolder::create(&self.args.path).map_err(|error| error.to_string())?;
        let mut spec = spec_of(&self.args)?;
        spec.user = user_of(spec.engine, std::iter::once(folder.path()))?;
        match prepare(&spec, folder.path()) {
            Ok(()) => Ok((folder, spec)),
            Err(Stop::Interrupted) => Err("interrupted".to_owned()),
            Err(Stop::Failed(message)) => Err(message),
        }
    }
}

/// The arguments of an application with the engine and the clients, which may be defaults.
fn described(words: &[String], args: &AppArgs) -> Vec<String> {
    let mut all = words.to_vec();
    if all.first().is_none_or(|word| word.starts_with('-')) {
        all.insert(0, engine_of(args.engine).name().to_owned());
    }
    if !all.iter().any(|word| word.starts_with("--clients")) {
        let clients = args.clients.first().copied().unwrap_or(1);
        all.push(format!("--clients={clients}"));
    }
    all
}

/// Starts the process of the transactions. Where it is limited, it is in the group before it starts any other.
fn spawn(spec: &AppSpec, folder: &Path, group: Option<&LimitedGroup>) -> Result<Child, String> {
    let text = |error: std::io::Error| format!("cannot start a process: {error}");
    let program = std::env::current_exe().map_err(text)?;
    let (name, task) = variable(Phase::Run, spec, folder);
    let Some(group) = group else {
        return Command::new(program)
            .env(name, task)
            .stdin(Stdio::null())
            .spawn()
            .map_err(text);
    };
    let mut child = Command::new("/bin/sh")
        .args(["-c", "read line && exec \"$0\""])
        .arg(program)
        .env(name, task)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(text)?;
    let moved = group.add(child.id());
    if let Some(mut input) = child.stdin.take()
        && moved.is_ok()
    {
        let _ = input.write_all(b"go\n");
    }
    if let Err(error) = moved {
        let _ = child.wait();
        return Err(format!("cannot limit its I/O: {error}"));
    }
    Ok(child)
}

impl RunningApp {
    fn wait_until_ready(&mut self) -> Result<(), String> {
        while !self.gate.is_ready() {
            if is_interrupted() {
                return Err("interrupted".to_owned());
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                return match answer(&self.folder) {
                    Answer::Failed(message) => Err(message),
                    _ => Err("it ended before it began".to_owned()),
                };
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    fn end(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32)
            && matches!(self.child.try_wait(), Ok(None))
        {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    fn finish(&mut self) -> Result<Measured, String> {
        let mut asked = false;
        while matches!(self.child.try_wait(), Ok(None)) {
            if is_interrupted() && !asked {
                asked = true;
                self.end();
            }
            std::thread::sleep(POLL);
        }
        match answer(&self.folder) {
            Answer::Measured(measured) => Ok(*measured),
            Answer::Failed(message) => Err(message),
            Answer::Interrupted => Err("interrupted".to_owned()),
            Answer::Prepared => Err("unexpected answer".to_owned()),
        }
    }
}

/// Those that did not run to their end are ended.
impl Drop for RunningApp {
    fn drop(&mut self) {
        self.end();
        let _ = self.child.wait();
    }
}

impl RunningApps {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The load starts: each application begins when its job does.
    pub fn release(&self) {
        for app in &self.running {
            app.gate.release(Duration::from_nanos(app.delay.get()));
        }
    }

    /// Waits for their end. The transactions take the place of the I/Os of their jobs.
    ///
    /// # Errors
    /// Why one of them was not measured.
    pub fn finish(mut self, recording: &mut Recording) -> Result<(), String> {
        for app in &mut self.running {
            let measured = app
                .finish()
                .map_err(|problem| format!("{}: {problem}", app.name))?;
            let job = &mut recording.plan.jobs[app.place];
            job.pattern.traffic = match app.direction {
                Direction::Read => Traffic::Read,
                _ => Traffic::Write,
            };
            job.engine.settings.program = Some(Program {
                path: "fathom app".to_owned(),
                arguments: app.words.clone(),
                grace: Nanos::ZERO,
                redirect: false,
            });
            let job = &mut recording.jobs[app.place];
            let begun = job.launched;
            fill(job, &measured, app.direction);
            (job.launched, job.measured_from) = (begun, begun);
            job.ended = job.ended.saturating_add(begun);
            // What the kernel counts of its processes, in the whole time: each transaction has the mean of it.
            let bytes = measured.device_read_bytes + measured.device_written_bytes;
            let until = |transactions: u64| {
                let share = u128::from(bytes) * u128::from(transactions);
                (share / u128::from(measured.transactions.max(1))) as u64
            };
            let mut before = 0;
            for interval in &mut job.intervals {
                interval.start = interval.start.saturating_add(begun);
                let part = &mut interval.directions[app.direction];
                part.bytes = until(before + part.ios) - until(before);
                before += part.ios;
            }
            let bytes = until(before);
            let counts = &mut job.directions[app.direction].counts;
            (counts.bytes_requested, counts.bytes_ok) = (bytes, bytes);
            job.error = measured.error.map(|operation| JobError {
                errno: FAILED,
                operation,
                at: job.ended,
            });
        }
        Ok(())
    }
}
