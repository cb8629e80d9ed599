//! `fathom profile` and `fathom fidelity`: what the load of a trace is, and how well another one stands for it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use fathom_cli::{FidelityArgs, ProfileArgs, ProfileFormat, TraceOptions};
use fathom_model::format::printable;
use fathom_workload::{
    Copy, Expression, Profile, ReadOptions, Scale, TraceFacts, TraceFormat, TraceReader, fidelity,
    fidelity_json, fidelity_text, fio_job, profile_json, profile_report, profile_text,
};

use crate::cli;
use crate::outcome::Outcome;
use crate::print::{note_line, print, print_to};

/// Profiles the trace that the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ProfileArgs| {
        let (profile, facts) = read(&args.trace, &args.reading)?;
        let name = name(&args.trace);
        let output = args.result.output.as_deref();
        let text = match args.format() {
            ProfileFormat::Text => profile_text(&profile, &name, &facts),
            ProfileFormat::Json => format!("{:#}\n", profile_json(&profile, &name, &facts)),
            ProfileFormat::Html => {
                let report = profile_report(&profile, &name, &facts);
                fathom_chart::report_page(&report).map_err(|error| error.to_string())?
            }
            ProfileFormat::Fio => {
                let scale = Scale {
                    rate: args.scale_rate,
                    footprint: args.scale_footprint,
                    time: args.scale_time,
                };
                let job = fio_job(&profile, &name, scale);
                if output.is_some() {
                    print(&profile_text(&profile, &name, &facts));
                }
                let score = score(&profile);
                return Ok(match print_to(output, &job) {
                    Outcome::Good => {
                        if let Some(file) = output {
                            note_line!("fathom profile: wrote {}", file.display());
                        }
                        note_line!("fathom profile: {score}");
                        Outcome::Good
                    }
                    failed => failed,
                });
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
    let found = fidelity(profile, &profiler.finish());
    let worst = found.worst().map_or(String::new(), |part| {
        format!("; worst: {}, {:.0}", part.name, part.score.unwrap_or(0.0))
    });
    format!(
        "an unscaled copy by this job file scores {:.0} of 100{worst} (predicted, with the latencies of the trace)",
        found.total
    )
}

/// Compares the traces that the arguments name.
pub fn fidelity_command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: FidelityArgs| {
        let (original, _) = read(&args.original, &args.reading)?;
        let (copy, _) = read(&args.copy, &args.reading)?;
        let (a, b) = (name(&args.original), name(&args.copy));
        let found = fidelity(&original, &copy);
        let text = if args.result.is_json() {
            format!("{:#}\n", fidelity_json(&found, &a, &b))
        } else {
            fidelity_text(&found, &a, &b)
        };
        Ok(print_to(args.result.output.as_deref(), &text))
    })
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
