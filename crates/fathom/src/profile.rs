//! `fathom profile` and `fathom fidelity`: what the load of a trace is, and how well another one stands for it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use fathom_cli::{FidelityArgs, ProfileArgs, ProfileFormat, StoreSource, TraceOptions};
use fathom_model::CellContent;
use fathom_model::format::printable;
use fathom_workload::{
    Copy, Expression, Profile, ReadOptions, Scale, TraceFacts, TraceFormat, TraceReader, fidelity,
    fidelity_json, fidelity_text, fio_job, load_file, load_file_profile, profile_json,
    profile_report, profile_text,
};

use crate::cli;
use crate::outcome::Outcome;
use crate::print::{note_line, print, print_to};
use crate::result_store::open_store;
use crate::results::is_run;
use crate::stored::RunOrCell;

/// A log is complete so soon after the end of its run.
const SOON_NS: u64 = 60_000_000_000;

/// Profiles the trace that the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ProfileArgs| {
        let trace = trace_of(&args.trace, &args.store)?;
        let (profile, facts) = read(&trace, &args.reading)?;
        let name = name(&trace);
        let output = args.result.output.as_deref();
        let text = match args.format() {
            ProfileFormat::Text => profile_text(&profile, &name, &facts),
            ProfileFormat::Json => format!("{:#}\n", profile_json(&profile, &name, &facts)),
            ProfileFormat::Html => {
                let report = profile_report(&profile, &name, &facts);
                fathom_chart::report_page(&report).map_err(|error| error.to_string())?
            }
            ProfileFormat::Load => {
                if [args.scale_rate, args.scale_footprint, args.scale_time] != [1.0; 3] {
                    return Err(
                        "fathom profile --scale-rate, --scale-footprint and --scale-time change a job file; a load file is scaled by fathom replay --speed, --map, --size and --runtime"
                            .to_owned(),
                    );
                }
                let load = load_file(&profile, &name, &facts);
                let made = load_file_profile(&load)
                    .map_err(|error| format!("the load file cannot be read back: {error}"))?;
                let text = output.map(|_| profile_text(&profile, &name, &facts));
                let score = scored(&profile, &made, "load file");
                return Ok(wrote(output, &load, text, &score));
            }
            ProfileFormat::Fio => {
                let scale = Scale {
                    rate: args.scale_rate,
                    footprint: args.scale_footprint,
                    time: args.scale_time,
                };
                let job = fio_job(&profile, &name, scale);
                let text = output.map(|_| profile_text(&profile, &name, &facts));
                return Ok(wrote(output, &job, text, &score(&profile)));
            }
        };
        Ok(print_to(output, &text))
    })
}

/// How true a copy the job file is, from a simulated copy of the same options with the latencies of the trace.
fn score(profile: &Profile) -> String {
    let mut profiler = fathom_workload::Profiler::default();
    for io in Copy::new(profile, Expression::Fio, 1).take(profile.ios() as usize * 2) {
        profiler.add(&io);
    }
    scored(profile, &profiler.finish(), "job file")
}

fn scored(profile: &Profile, copy: &Profile, what: &str) -> String {
    let found = fidelity(profile, copy);
    let worst = found.worst().map_or(String::new(), |part| {
        format!("; worst: {}, {:.0}", part.name, part.score.unwrap_or(0.0))
    });
    format!(
        "an unscaled copy by this {what} scores {:.0} of 100{worst} (predicted, with the latencies of the trace)",
        found.total
    )
}

/// Writes what was made of a trace, the profile if that does not go to the same place, and the score.
fn wrote(output: Option<&Path>, made: &str, profile: Option<String>, score: &str) -> Outcome {
    if let Some(profile) = profile {
        print(&profile);
    }
    match print_to(output, made) {
        Outcome::Good => {
            if let Some(file) = output {
                note_line!("fathom profile: wrote {}", file.display());
            }
            note_line!("fathom profile: {score}");
            Outcome::Good
        }
        failed => failed,
    }
}

/// Compares the traces that the arguments name.
pub fn fidelity_command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: FidelityArgs| {
        let (original_trace, copy_trace) = (
            trace_of(&args.original, &args.store)?,
            trace_of(&args.copy, &args.store)?,
        );
        let (original, _) = read(&original_trace, &args.reading)?;
        let (copy, _) = read(&copy_trace, &args.reading)?;
        let (a, b) = (name(&original_trace), name(&copy_trace));
        let found = fidelity(&original, &copy);
        let text = if args.result.is_json() {
            format!("{:#}\n", fidelity_json(&found, &a, &b))
        } else {
            fidelity_text(&found, &a, &b)
        };
        Ok(print_to(args.result.output.as_deref(), &text))
    })
}

/// The trace that an argument names: a file, or the I/O log that a stored run wrote.
fn trace_of(argument: &Path, store: &StoreSource) -> Result<PathBuf, String> {
    let Some(run) = argument
        .to_str()
        .filter(|name| is_run(name) && !argument.exists())
    else {
        return Ok(argument.to_owned());
    };
    let mut store = open_store(store)?;
    let found = RunOrCell::find(&mut store, run)?;
    let id = found.run.id;
    let mut logs = BTreeSet::new();
    for cell in found.cells(&mut store)? {
        let content = store
            .content(id, cell.position)
            .map_err(|error| error.to_string())?;
        if let CellContent::Recording(recording) = content {
            let jobs = recording.plan.jobs.iter();
            logs.extend(jobs.filter_map(|job| job.accounting.logs.trace.clone()));
        }
    }
    let log = match logs
        .iter()
        .map(PathBuf::from)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [] => {
            return Err(format!(
                "{id} has no record of each I/O: a run stores counts and histograms; \
                 record them with fathom run --write_iolog=FILE, or with fathom capture"
            ));
        }
        [one] => one.clone(),
        many => {
            let many: Vec<String> = many.iter().map(|log| name(log)).collect();
            return Err(format!(
                "{id} wrote {} I/O logs; name one of them: {}",
                many.len(),
                many.join(", ")
            ));
        }
    };
    let written = std::fs::metadata(&log)
        .and_then(|metadata| metadata.modified())
        .map_err(|error| {
            format!(
                "{id} wrote its I/O log to {}: {error}; name the file if it is in another place",
                name(&log)
            )
        })?;
    let written = written
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64);
    if found
        .run
        .ended_unix_ns
        .is_some_and(|end| written > end.saturating_add(SOON_NS))
    {
        return Err(format!(
            "{} was written after {id} had ended: it is the log of another run; name the file to read it nevertheless",
            name(&log)
        ));
    }
    note_line!("fathom: {id} wrote the I/O log {}", name(&log));
    Ok(log)
}

/// A path for messages.
pub fn name(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// How a trace is read.
pub fn read_options(options: &TraceOptions) -> Result<ReadOptions, String> {
    let format = options
        .trace_format
        .as_deref()
        .map(|name| {
            TraceFormat::named(name).ok_or_else(|| {
                format!(
                    "unknown trace format '{}'; known formats: {}",
                    name.escape_debug(),
                    TraceFormat::names()
                )
            })
        })
        .transpose()?;
    Ok(ReadOptions {
        format,
        malformed: options.max_malformed,
    })
}

/// Profiles a file, or standard input.
pub fn read(path: &Path, options: &TraceOptions) -> Result<(Profile, TraceFacts), String> {
    let options = read_options(options)?;
    let source: Box<dyn Read + Send> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        let file = File::open(path).map_err(|error| format!("{}: {error}", name(path)))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(format!("{}: is a directory; name one trace", name(path)));
        }
        Box::new(file)
    };
    let failed = |error: fathom_workload::TraceError| format!("{}: {error}", name(path));
    let mut reader = TraceReader::open(source, options).map_err(failed)?;
    let mut profile = Profile::of(&mut reader).map_err(failed)?;
    if profile.ios() == 0 {
        return Err(format!(
            "{}: a trace of format {} without I/Os",
            name(path),
            reader.facts().format
        ));
    }
    let facts = reader.facts();
    profile.lost = facts.lost_share(profile.ios());
    Ok((profile, facts))
}
