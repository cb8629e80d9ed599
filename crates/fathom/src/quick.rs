//! `fathom quick`: a recipe for a target and a time, measured and reported in one table.

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use fathom_cli::{MeasurementFormat, ObserverOptions, QuickArgs};
use fathom_device::spec::Library;
use fathom_linux::interrupts;
use fathom_model::{Bytes, Findings, Nanos, Personality, Plan, Recording, RunEnd, Verdict};
use fathom_plan::{
    Diagnostic, FileReader, Planned, PlannedCell, Quick, Reporting, parse_args, plan,
};
use fathom_report::{Exposition, Format};

use crate::cli;
use crate::experiment::check_observers;
use crate::experiment_target::{self, ExperimentTarget, TargetRequest};
use crate::guard;
use crate::hosts::{self, Fleet, HOST_VARIABLE, resolve_target_of};
use crate::measure::{RunExtras, measure_and_store};
use crate::outcome::Outcome;
use crate::print::{eprint_line, is_quiet, note_line, print, print_to, write_junit};
use crate::quick_progress::QuickProgress;
use crate::result_store::{self, RunWriter};
use crate::screen::{self, Screen};
use crate::session::Session;
use crate::spec_compare::{named, sentences, spec_compare};
use crate::specs::library;

/// The file that is created in a directory.
const FILE: &str = "fathom-quick.data";
/// Time of the preview without its layout: one second of load, its start and its end.
const PREVIEW: Duration = Duration::from_millis(1200);
/// Preparing the target takes at most one part in this many of the time.
const LAYOUT_SHARE: u32 = 4;
/// A smaller file shows nothing about a disk.
const LEAST_SIZE: u64 = 64 << 20;
/// Its job file in messages.
const JOB_FILE: &str = "quick.fio";
/// Size of the file of each host with `--hosts`.
const SIZE_ON_HOSTS: u64 = 256 << 20;
/// Stands for the name of the host where the jobs are made, which contain no variables.
const HOST_MARK: &str = "@FATHOM-HOST@";
/// Starting, stopping and analysing ten measurements takes about this long.
const BETWEEN: Duration = Duration::from_millis(300);

/// Measures the target that the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::measuring_command(arguments, |session, args: QuickArgs| {
        Ok(quick(session, &args).unwrap_or_else(|message| {
            eprint_line!("fathom quick: {message}");
            if interrupts().load(Relaxed) == 0 {
                Outcome::Refused
            } else {
                Outcome::Interrupted
            }
        }))
    })
}

fn quick(session: &Session, args: &QuickArgs) -> Result<Outcome, String> {
    let started = session.now();
    check_observers(&observer_options(args))?;
    let sheets = sheets(args)?;
    let request = TargetRequest {
        path: &args.path,
        name: FILE,
        size: None,
        read_only: args.read_only,
        create: args.create,
    };
    let mut target = resolve_target_of(session, &args.hosts, request)?;
    if args.hosts.hosts.is_some() {
        // How fast the hosts prepare a file is not known before.
        target.size = target.size.map(|size| size.min(Bytes::new(SIZE_ON_HOSTS)));
    }
    let recipe = recipe_of(&target)?;
    if args.dry_run {
        return Ok(print(&recipe.measure(nanos(args.runtime))));
    }
    interrupts();
    let fleet = Fleet::find(session, "quick", &args.hosts)?;
    let outcome = measured(
        session,
        args,
        target.clone(),
        recipe,
        (&sheets, started),
        fleet.as_ref(),
    );
    if target.made && !args.keep {
        match &fleet {
            Some(fleet) => fleet.remove(&[&target.file]),
            None => experiment_target::remove_created(session, "fathom quick", &target.file),
        }
    }
    outcome
}

/// The jobs for a target. Its name may contain the name of the host.
fn recipe_of(target: &ExperimentTarget) -> Result<Quick, String> {
    let name = target.file.display().to_string();
    Quick::new(
        Path::new(&name.replace(HOST_VARIABLE, HOST_MARK)),
        target.size,
        target.writes,
    )
    .map_err(|error| format!("{name}: {error}"))
}

fn observer_options(args: &QuickArgs) -> ObserverOptions {
    ObserverOptions {
        watch: args.watch,
        quiet: is_quiet(),
        ..ObserverOptions::default()
    }
}

/// The known data sheets; the named one must be among them.
fn sheets(args: &QuickArgs) -> Result<Library, String> {
    let library = library(&args.sheets.specs);
    library
        .errors()
        .iter()
        .for_each(|message| eprint_line!("fathom quick: skipped: {message}"));
    if let Some(id) = &args.sheets.sheet {
        named(id, &library)?;
    }
    Ok(library)
}

/// Lays out, measures for the remaining time, and reports.
fn measured(
    session: &Session,
    args: &QuickArgs,
    mut target: ExperimentTarget,
    mut recipe: Quick,
    (sheets, started): (&Library, Instant),
    fleet: Option<&Fleet>,
) -> Result<Outcome, String> {
    let preview_started = session.now();
    let existing = session.file_size(&target.file);
    if fleet.is_none() {
        preview(session, &recipe);
    }
    if let Some(size) = target
        .size
        .filter(|size| fleet.is_none() && target.writes && existing < size.get())
    {
        let part = (
            recipe.preview_size(),
            session.elapsed(preview_started).saturating_sub(PREVIEW),
        );
        target.size = Some(affordable_size(size, part, args.runtime));
        recipe = recipe_of(&target)?;
    }
    let target = &target;
    if target.writes {
        let (_, findings) = run(session, recipe.layout(), None, None, fleet)?;
        if findings.end != RunEnd::Completed || findings.verdict == Verdict::Invalid {
            return print_result(args, &intro(target, fleet), &findings);
        }
    }
    let left = args
        .runtime
        .saturating_sub(session.elapsed(started) + BETWEEN)
        .max(Duration::from_secs(1) * recipe.cells() / 4);
    let jobs = recipe.measure(nanos(left));
    let experiment = result_store::experiment(
        session,
        "quick",
        result_store::path_name(&args.path),
        jobs.clone(),
    );
    let mut writer = RunWriter::begin(session, "fathom quick", &args.store, &experiment);
    let title = format!("fathom quick {}", args.path.display());
    let display = QuickProgress::open(
        session,
        &observer_options(args),
        &title,
        recipe.cell_time(nanos(left)),
    )?;
    let (recording, findings) = match run(session, jobs, Some(&mut writer), Some(display), fleet) {
        Ok(measured) => measured,
        Err(message) => {
            writer.remove();
            return Err(message);
        }
    };
    let findings = Findings {
        spec: spec_compare(&findings, args.sheets.sheet.as_deref(), sheets)?,
        ..findings
    };
    let intro = intro(target, fleet);
    let outcome = print_result(args, &intro, &findings);
    writer.finish(recording, &findings, facts(args, intro));
    outcome
}

/// The facts with which `fathom show` repeats the report.
fn facts(args: &QuickArgs, intro: String) -> Vec<(String, String)> {
    let absolute = |directory: &String| {
        std::path::absolute(directory).map_or(directory.clone(), |path| path.display().to_string())
    };
    let directories = args
        .sheets
        .specs
        .iter()
        .map(|directory| ("specs".to_owned(), absolute(directory)));
    let sheet = args
        .sheets
        .sheet
        .iter()
        .map(|id| ("sheet".to_owned(), id.clone()));
    std::iter::once(("intro".to_owned(), intro))
        .chain(sheet)
        .chain(directories)
        .collect()
}

/// Prints a first figure before the target is prepared, which takes time. Errors are ignored: they will occur again.
fn preview(session: &Session, recipe: &Quick) {
    let Ok((recording, findings)) = run(session, recipe.preview(), None, None, None) else {
        return;
    };
    if findings.end == RunEnd::Completed && findings.verdict != Verdict::Invalid {
        let figures = fathom_analyse::cell_figures(&recording, &findings, &[]);
        note_line!(
            "first look: 4 KiB random reads, one at a time: {}",
            fathom_report::first_look(&figures)
        );
    }
}

/// How much of `size` can be prepared in its part of the `time`, extrapolated from the time of a smaller layout. Preparing all
/// of it would take all the time on a slow disk.
fn affordable_size(size: Bytes, (bytes, taken): (Bytes, Duration), time: Duration) -> Bytes {
    let rate = bytes.get() as f64 / taken.as_secs_f64().max(1e-6);
    let affordable = (rate * (time / LAYOUT_SHARE).as_secs_f64()) as u64 >> 20 << 20;
    size.min(Bytes::new(affordable.max(LEAST_SIZE)))
}

fn nanos(time: Duration) -> Nanos {
    Nanos::new(time.as_nanos() as u64)
}

/// The recipe is the only job file.
struct Recipe(String);

impl FileReader for Recipe {
    fn read(&self, _path: &str) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }
}

fn run(
    session: &Session,
    job_file: String,
    writer: Option<&mut RunWriter>,
    display: Option<QuickProgress<'_>>,
    fleet: Option<&Fleet>,
) -> Result<(Recording, Findings), String> {
    let Some(fleet) = fleet else {
        return run_jobs(session, JOB_FILE, job_file, writer, display);
    };
    let cell = PlannedCell {
        source: JOB_FILE.to_owned(),
        job_file: job_file.replace(HOST_MARK, HOST_VARIABLE),
        ..PlannedCell::default()
    };
    let (plan, _) = hosts::plan_cell(session, &cell)?;
    let recording = fleet
        .measure(&plan, &cell)
        .map_err(|error| error.to_string())?;
    let findings = fathom_analyse::findings(&recording);
    Ok((recording, findings))
}

/// Text -> plan -> recording -> findings. `name` is that of the job file in messages.
///
/// # Errors
/// When the jobs cannot be planned, are refused, or cannot be prepared.
pub fn run_jobs(
    session: &Session,
    name: &str,
    job_file: String,
    writer: Option<&mut RunWriter>,
    mut display: Option<QuickProgress<'_>>,
) -> Result<(Recording, Findings), String> {
    let plan = plan_of(session, name, job_file)?;
    let (load, _) = guard::open_targets(
        session,
        &plan,
        &guard::Confirmed::default(),
        &mut guard::Backups::new(Path::new(".")),
    )
    .map_err(|all| all.join("\n"))?;
    let mut screen = Screen::new(
        session,
        Personality::Fathom,
        &Reporting {
            quiet: is_quiet(),
            ..Reporting::default()
        },
    );
    let journal = writer.and_then(|writer| writer.journal(&plan));
    if let Some(display) = &mut display {
        display.begin(&plan);
    }
    let display = RefCell::new(display);
    let measured = measure_and_store(
        load,
        plan,
        &mut |progress| match &mut *display.borrow_mut() {
            Some(display) => display.progress(progress),
            None => screen.show(progress),
        },
        &mut |elapsed| {
            let mut display = display.borrow_mut();
            display
                .as_mut()
                .is_some_and(|display| display.wants_state(elapsed))
        },
        &mut |state, _| {
            if let Some(display) = &mut *display.borrow_mut() {
                display.state(&state);
            }
        },
        RunExtras {
            interval_sink: journal,
            ..RunExtras::default()
        },
    );
    screen.wipe();
    let (recording, _) = measured.map_err(|error| error.to_string())?;
    if let Some(display) = display.into_inner() {
        display.finish(&recording);
    }
    let findings = fathom_analyse::findings(&recording);
    Ok((recording, findings))
}

/// The plan of a job file that is text.
///
/// # Errors
/// When the text is not a job file that can be planned.
fn plan_of(session: &Session, name: &str, job_file: String) -> Result<Plan, String> {
    let planned = parse_args(&[name.to_owned()], Personality::Fathom)
        .and_then(|invocation| plan(&invocation, session, &Recipe(job_file)));
    let Planned { plan, .. } = planned.map_err(|problems| joined(&problems))?;
    Ok(plan)
}

fn joined(problems: &[Diagnostic]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

fn print_result(args: &QuickArgs, intro: &str, findings: &Findings) -> Result<Outcome, String> {
    use std::io::IsTerminal;
    let style = screen::style(
        std::io::stdout().is_terminal(),
        crate::output::fio_version(),
    );
    let name = args.path.display().to_string();
    let case = fathom_report::verdict_case("verdict", findings);
    if write_junit(args.junit.as_deref(), "fathom quick", &name, &[case]) != Outcome::Good {
        return Ok(Outcome::Bad);
    }
    let output = args.result.output.as_deref();
    let document = |format| {
        let mut bytes = Vec::new();
        fathom_report::write(findings, &[format], &style, &mut bytes)
            .map_err(|error| error.to_string())?;
        Ok::<_, String>(print_to(output, &String::from_utf8_lossy(&bytes)))
    };
    let printed = match args.result.format() {
        MeasurementFormat::Json => document(Format::Json)?,
        MeasurementFormat::OpenMetrics => document(Format::Exposition(Exposition::OpenMetrics))?,
        MeasurementFormat::Prometheus => document(Format::Exposition(Exposition::Prometheus))?,
        MeasurementFormat::Text => {
            let sentences = sentences(findings);
            let text = fathom_report::quick(findings, &sentences, intro, &style);
            print_to(output, &text)
        }
    };
    Ok(match (printed, findings.end, findings.verdict) {
        (Outcome::Good, RunEnd::Completed, Verdict::Invalid) => Outcome::Bad,
        (Outcome::Good, RunEnd::Completed, _) => Outcome::Good,
        (Outcome::Good, _, _) => Outcome::Interrupted,
        (message, _, _) => message,
    })
}

fn intro(target: &ExperimentTarget, fleet: Option<&Fleet>) -> String {
    let what = target
        .size
        .map_or("all of it".to_owned(), fathom_model::format::size);
    let how = if target.writes {
        "read and written"
    } else {
        "only read"
    };
    let file = target.file.display().to_string();
    match fleet {
        Some(fleet) => format!(
            "{} on {}: {what} each, {how}, direct I/O",
            file.replace(HOST_VARIABLE, "HOST"),
            fleet.describe()
        ),
        None => format!("{file}: {what}, {how}, direct I/O"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 MiB in 1.6 s are 20 MiB/s: a quarter of a minute is enough for 300 MiB.
    #[test]
    fn preparing_a_slow_disk_takes_a_quarter_of_the_time() {
        let (gib, part) = (Bytes::new(1 << 30), Bytes::new(32 << 20));
        let of = |ms: u64, s: u64| {
            affordable_size(
                gib,
                (part, Duration::from_millis(ms)),
                Duration::from_secs(s),
            )
            .get()
                >> 20
        };
        assert_eq!((of(1600, 60), of(1600, 20)), (300, 100));
        assert_eq!(
            (of(0, 10), of(80, 60)),
            (1024, 1024),
            "a fast disk prepares all of it"
        );
        assert_eq!(of(60_000, 10), 64, "a very slow disk prepares the minimum");
        assert_eq!(
            affordable_size(
                Bytes::new(16 << 20),
                (part, Duration::from_secs(9)),
                Duration::from_secs(10)
            )
            .get()
                >> 20,
            16
        );
    }
}
