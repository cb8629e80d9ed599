//! `fathom` measures storage devices and reports what limits them.
//!
//! ```text
//! fathom run --name=reads --filename=/dev/nvme0n1 --rw=randread --bs=4k --iodepth=32 --runtime=30s
//! fathom quick /dev/nvme0n1
//! fathom fio job.fio --output-format=json
//! ```
//!
//! This crate parses the arguments, connects the libraries and returns the exit code. The libraries
//! measure, analyse and format.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "only the binary prints"
)]

mod app;
mod blame;
mod capture;
mod check;
mod cli;
mod codes;
mod compare;
mod depth_probes;
mod devices;
mod durable;
mod experiment;
mod experiment_target;
mod explain;
mod fit;
mod fsync;
mod fua;
mod guard;
mod help;
mod hosts;
mod import;
mod limited_jobs;
mod limits;
mod logs;
mod machine;
mod measure;
mod observe;
mod outcome;
mod output;
mod overdue;
mod pdf;
mod plot;
mod print;
mod probe_child;
mod profile;
mod quick;
mod quick_progress;
mod ready;
mod replay;
mod report;
mod result_file;
mod result_store;
mod results;
mod resume;
mod run;
mod run_in_child;
mod scratch_devices;
mod screen;
mod search;
mod serve;
mod session;
mod sim;
mod size;
mod spec;
mod spec_compare;
mod specs;
mod status_requests;
mod stored;
mod suite;
mod sweep;
mod this_machine;
mod timeout;
mod toml_files;
mod trigger;
mod verify_state;
mod why;
mod witness;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use fathom_model::Personality;

use self::outcome::Outcome;

fn main() -> ExitCode {
    if let Some(targets) = probe_child::wanted() {
        return probe_child::run(&targets).into();
    }
    if let Some((descriptors, command)) = witness::supervised() {
        return witness::run_supervised(&descriptors, &command).into();
    }
    if limited_jobs::is_wanted() {
        return limited_jobs::run().into();
    }
    if let Some(task) = app::child::wanted() {
        return app::child::run(&task).into();
    }
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let called_fio = std::path::Path::new(&program)
        .file_name()
        .is_some_and(|name| name == "fio");
    match arguments
        .map(OsString::into_string)
        .collect::<Result<Vec<String>, OsString>>()
    {
        Ok(rest) if called_fio => run::command("fio", Personality::Fio, &rest),
        Ok(rest) => command(&rest),
        Err(argument) => not_text(&argument, called_fio),
    }
    .into()
}

/// Replacing invalid bytes would name another file.
fn not_text(argument: &OsStr, called_fio: bool) -> Outcome {
    eprintln!(
        "fathom: the argument '{}' is not valid UTF-8; rename the file, or link to it with a name in UTF-8",
        argument.to_string_lossy().escape_debug()
    );
    if called_fio {
        Outcome::Fio(1)
    } else {
        Outcome::Refused
    }
}

/// Carries out a command.
fn command(arguments: &[String]) -> Outcome {
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => return help::no_arguments(),
    };
    match name {
        "run" => run::command("fathom run", Personality::Fathom, rest),
        "fio" => run::command("fathom fio", Personality::Fio, rest),
        "quick" => quick::command(rest),
        "ready" => ready::command(rest),
        "fsync" => fsync::command(rest),
        "sweep" => sweep::command(rest),
        "search" => search::command(rest),
        "suite" => suite::command(rest),
        "limits" => limits::command(rest),
        "sim" => sim::command(rest),
        "app" => app::command(rest),
        "witness" => witness::command(rest),
        "durable" => durable::command(rest),
        "why" => why::command(rest),
        "observe" => observe::command(rest),
        "capture" => capture::command(rest),
        "replay" => replay::command(rest),
        "agent" => hosts::agent::command(rest),
        "resume" => resume::command(rest),
        "devices" => run_in_child::run_in_child("devices", rest, devices::command),
        "compare" => compare::command(rest),
        "check" => check::command(rest),
        "plot" => plot::command(rest),
        "fit" => fit::command(rest),
        "profile" => profile::command(rest),
        "fidelity" => profile::fidelity_command(rest),
        "report" => report::command(rest),
        "import" => import::command(rest),
        "explain" => explain::command(rest),
        "spec" => spec::command(rest),
        "size" => size::command(rest),
        "runs" => stored::runs(rest),
        "show" => stored::show(rest),
        "serve" => serve::command(rest),
        "export" => stored::export(rest),
        "rm" => stored::remove(rest),
        "store" => stored::store(rest),
        "completions" => help::completions(rest),
        "help" => help::command(rest),
        "--help" | "-h" => help::program(),
        "version" => help::version_command(rest),
        "--version" | "-V" => help::version_command(rest),
        other => help::unknown(other),
    }
}
