//! `fathom durable`: the power-cut test.

mod check;
mod files;
mod linux;
mod log_file;
mod record;
mod recorder;
mod simulated;
mod world;
mod write;

pub use self::record::create_secret;

use std::io::Read;
use std::path::{Path, PathBuf};

use fathom_cli::{DurableAction, DurableArgs};
use fathom_durable::wire::Token;
use fathom_durable::{CutOptions, FORMAT, Layout, Method, WriteOptions};

use crate::cli;
use crate::outcome::Outcome;

/// Threads of each layout without `--threads`.
const THREADS: u32 = 2;
/// Bytes of a record without `--record-size`.
const RECORD_BYTES: u64 = 8 << 10;
/// Records of a commit without `--records`.
const RECORDS: u32 = 2;
/// Bytes of all files without `--size`.
const SIZE: u64 = 128 << 20;
/// Longest time before the command of `--cut`, without `--cut-after`.
const CUT_AFTER_MS: u64 = 30_000;
/// The largest token file and state file.
const LARGEST_FILE: u64 = 64 << 10;

/// Carries out one part of the test.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: DurableArgs| {
        if args.machine.machine.is_some() {
            return simulated::write(&args, &write_options(&args)?);
        }
        let world = linux::Linux::world();
        match args.action {
            DurableAction::Record => record::record(&args),
            DurableAction::Write if args.resume => {
                let state = args.state.clone().unwrap_or_default();
                let text = read_small(&state)?;
                let options = WriteOptions::read(&text)
                    .map_err(|error| format!("{}: {error}", state.display()))?;
                write::resume(&world, &options)
            }
            DurableAction::Write => {
                let options = write_options(&args)?;
                if let Some(state) = &args.state {
                    files::write_state(world.files(), state, &options)?;
                }
                write::write(&world, &options)
            }
            DurableAction::Check => check::check(&world, &args),
        }
    })
}

/// The options of `durable write`, with absolute paths.
fn write_options(args: &DurableArgs) -> Result<WriteOptions, String> {
    let methods = if args.method.is_empty() {
        Method::ALL.to_vec()
    } else {
        args.method.clone()
    };
    let layouts = if args.layout.is_empty() {
        Layout::OF_FILES.to_vec()
    } else {
        args.layout.clone()
    };
    let is_simulated = args.machine.machine.is_some();
    let absolute = |path: &Path| match is_simulated {
        true => Ok(fathom_sim::FileTree::absolute(path)),
        false => absolute(path),
    };
    let recorder = args.recorder.clone().unwrap_or_default();
    let recorder = match recorder::Address::new(&recorder) {
        recorder::Address::File(file) => absolute(&file)?.to_string_lossy().into_owned(),
        recorder::Address::Host(_) => recorder,
    };
    let token_file = args.token_file.as_deref().map(&absolute).transpose()?;
    Ok(WriteOptions {
        format: FORMAT.to_owned(),
        path: absolute(args.path.as_deref().unwrap_or(Path::new("")))?,
        recorder,
        token_file,
        tls_fingerprint: args.tls_fingerprint,
        tls_ca: args.tls_ca.as_deref().map(&absolute).transpose()?,
        methods,
        layouts,
        threads: args.threads.unwrap_or(THREADS) as u16,
        record_bytes: args.record_size.map_or(RECORD_BYTES, |size| size.get()) as u32,
        records_per_commit: args.records.unwrap_or(RECORDS) as u16,
        size: args.size.map_or(SIZE, |size| size.get()),
        device_cut: args.device_cut,
        cut: args.cut.as_ref().map(|command| CutOptions {
            cycles: args.cycles.unwrap_or(1),
            command: command.clone(),
            after_ms: args
                .cut_after
                .map_or(CUT_AFTER_MS, |time| time.as_millis() as u64),
        }),
    })
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A file of the user that is small if it is the right one.
pub fn read_small(path: &Path) -> Result<Vec<u8>, String> {
    let fail = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
    let file = std::fs::File::open(path).map_err(|error| fail(&error))?;
    if !file.metadata().is_ok_and(|facts| facts.is_file()) {
        return Err(fail(&"not a regular file"));
    }
    let mut text = Vec::new();
    file.take(LARGEST_FILE)
        .read_to_end(&mut text)
        .map_err(|error| fail(&error))?;
    Ok(text)
}

/// The token of a file.
fn token(file: &Path) -> Result<Token, String> {
    Token::new(&read_small(file)?).map_err(|error| format!("{}: {error}", file.display()))
}
