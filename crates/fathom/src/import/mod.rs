//! `fathom import`: converts results of fio to results of fathom.

pub(crate) mod identity;
pub(crate) mod walk;

use std::io::IsTerminal;
use std::sync::mpsc;

use fathom_cli::{ImportArgs, MeasurementFormat};
use fathom_import::{FileTrouble, Import, ImportError, import, is_log_of};
use fathom_model::{
    CellContent, CellState, Experiment, Findings, ImportedResult, RunId, RunState, StoredCell,
};
use fathom_report::{Exposition, Label, Style};
use fathom_store::{Store, StoreError};

use crate::cli;
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, print_to};
use crate::result_store::{experiment, store_path, unix_now_ns};
use crate::screen;

use self::identity::{Identity, Place, identities};
pub(crate) use self::walk::Disk;

/// Documents that wait for the store.
const DOCUMENTS_IN_MEMORY: usize = 16;
/// Name of the format of imported results in the store.
pub const STORED_FORMAT: &str = "fathom import";

/// Imports what the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ImportArgs| import_paths(&args))
}

/// All results below the paths, analysed, with the files that could not be read and the number of files skipped.
pub(crate) struct Read {
    /// The results.
    pub findings: Vec<Findings>,
    /// A line for each file that was skipped.
    pub errors: Vec<String>,
    /// Number of files in directories that are not results.
    pub skipped: usize,
}

/// Reads all results below `paths`.
///
/// # Errors
/// When there are too many files.
pub(crate) fn read(paths: &[String]) -> Result<Read, String> {
    let found = walk::files(paths)?;
    let Import {
        mut results,
        troubles,
        ..
    } = import(&found.paths, &Disk);
    let named = &found.paths[..found.first_found];
    // The logs in a directory were read.
    for result in &mut results {
        if result
            .source
            .files
            .first()
            .is_some_and(|file| named.contains(file))
        {
            note_logs_beside(result);
        }
    }
    let unrelated = |trouble: &FileTrouble| is_unrelated(trouble) && !named.contains(&trouble.file);
    let (skipped, troubles): (Vec<_>, Vec<_>) = troubles.into_iter().partition(unrelated);
    let mut lines: Vec<String> = found
        .errors
        .into_iter()
        .map(|(file, error)| format!("{file}: {error}"))
        .collect();
    lines.extend(
        troubles
            .into_iter()
            .map(|trouble| format!("{}: {}", trouble.file, trouble.why)),
    );
    Ok(Read {
        findings: results.into_iter().map(fathom_analyse::imported).collect(),
        errors: lines,
        skipped: skipped.len(),
    })
}

/// Notes the logs of a result that are beside it but were not given.
pub(crate) fn note_logs_beside(result: &mut ImportedResult) {
    let [file] = result.source.files.as_slice() else {
        return;
    };
    let directory = file.rfind('/').map_or("", |at| &file[..=at]);
    let listed = std::fs::read_dir(if directory.is_empty() { "." } else { directory });
    let logs = listed
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(format!("{directory}{}", entry.ok()?.file_name().to_str()?)))
        .filter(|path| is_log_of(result, path))
        .count();
    if logs > 0 {
        result.source.notes.push(format!(
            "{logs} logs beside {file} were not read: import their directory"
        ));
    }
}

/// Whether a file in a directory is unrelated to results, such as a job file or the empty log of a server: it contains no
/// result, and its name is not that of one.
pub(crate) fn is_unrelated(trouble: &FileTrouble) -> bool {
    let lower = trouble.file.to_ascii_lowercase();
    let has_ending = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
    match trouble.why {
        ImportError::NoDocument => !has_ending(&[".json", ".log", ".out", ".txt", ".terse"]),
        ImportError::Empty => !has_ending(&[".json", ".log", ".txt", ".terse"]),
        _ => false,
    }
}

fn import_paths(args: &ImportArgs) -> Result<Outcome, String> {
    let all = read(&args.paths)?;
    all.errors.iter().for_each(|line| {
        eprint_line!(
            "fathom import: {}",
            line.escape_debug()
                .to_string()
                .replace("\\'", "'")
                .replace("\\\"", "\"")
        );
    });
    if all.findings.is_empty() {
        return Err("no fio result found".to_owned());
    }
    let outcome = show(args, &all)?;
    store_run(args, &all);
    Ok(match outcome {
        Outcome::Good if !all.errors.is_empty() => Outcome::Bad,
        outcome => outcome,
    })
}

fn show(args: &ImportArgs, all: &Read) -> Result<Outcome, String> {
    let output = args.result.output.as_deref();
    match args.result.format() {
        MeasurementFormat::Text => {
            let style = screen::style(std::io::stdout().is_terminal(), "");
            return Ok(print_to(
                output,
                &fathom_report::imported(&all.findings, all.errors.len(), all.skipped, &style),
            ));
        }
        format @ (MeasurementFormat::OpenMetrics | MeasurementFormat::Prometheus) => {
            let results: Vec<_> = all.findings.iter().map(with_source).collect();
            let format = match format {
                MeasurementFormat::Prometheus => Exposition::Prometheus,
                _ => Exposition::OpenMetrics,
            };
            return Ok(print_to(output, &exposition(&results, format)?));
        }
        MeasurementFormat::Json => {}
    }
    let mut text = String::from("[\n");
    for (index, one) in all.findings.iter().enumerate() {
        text += if index > 0 { ",\n" } else { "" };
        text += document(one)?.trim_end();
    }
    Ok(print_to(output, &(text + "\n]\n")))
}

/// A result with the label that distinguishes it from the others: the file that it comes from.
pub(crate) fn with_source(one: &Findings) -> (Vec<Label>, &Findings) {
    let file = one.sources.first().cloned().unwrap_or_default();
    (vec![("source".to_owned(), file)], one)
}

/// Results as an exposition of metrics.
pub(crate) fn exposition(
    results: &[(Vec<Label>, &Findings)],
    format: Exposition,
) -> Result<String, String> {
    let mut bytes = Vec::new();
    fathom_report::exposition(results, format, &mut bytes).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// A result as a document: fio's current json+, with its source and its intervals.
fn document(one: &Findings) -> Result<String, String> {
    let mut bytes = Vec::new();
    fathom_report::json(one, &Style::default(), true, &mut bytes)
        .map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// Stores one run with a cell for each result. A failure of the store is only reported: the results are printed already.
fn store_run(args: &ImportArgs, all: &Read) {
    let stored_run = store_path(&args.store).and_then(|path| match path {
        Some(path) => try_store(&path, args, all).map(Some),
        None => Ok(None),
    });
    match stored_run {
        Ok(Some(run)) => note_line!("fathom import: stored as {run}: fathom show {run}"),
        Ok(None) => {}
        Err(error) => eprint_line!("fathom import: the results are not stored: {error}"),
    }
}

fn try_store(path: &std::path::Path, args: &ImportArgs, all: &Read) -> Result<String, String> {
    let message = |error: StoreError| error.to_string();
    let name = args.title.clone().unwrap_or_else(|| args.paths[0].clone());
    let programs = all
        .findings
        .iter()
        .filter_map(|one| one.imported.as_ref())
        .map(|source| source.program.clone());
    let program = programs
        .into_iter()
        .find(|program| !program.is_empty())
        .unwrap_or_default();
    let experiment_start = Experiment {
        planned: all.findings.len() as u64,
        ..experiment("import", name, String::new())
    };
    let facts = vec![
        ("fathom".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("measured by".to_owned(), program),
    ];
    let mut store = Store::open(path).map_err(message)?;
    let run = store
        .begin(&Experiment {
            facts,
            ..experiment_start
        })
        .map_err(message)?;
    save_cells(&mut store, run, all)?;
    store
        .finish(run, RunState::Finished, unix_now_ns())
        .map_err(message)?;
    Ok(run.to_string())
}

/// Stores a cell for each result. A second thread writes the documents, so that only a few are in
/// memory at once.
fn save_cells(store: &mut Store, run: RunId, all: &Read) -> Result<(), String> {
    let identities = identities(&all.findings.iter().map(place).collect::<Vec<_>>());
    let (sender, receiver) = mpsc::sync_channel(DOCUMENTS_IN_MEMORY);
    let send_all = move || -> Result<(), String> {
        for (position, (one, identity)) in (1..).zip(all.findings.iter().zip(&identities)) {
            let content = CellContent::Imported {
                format: STORED_FORMAT.to_owned(),
                bytes: document(one)?.into_bytes(),
            };
            // The receiver is gone when the store reported an error.
            if sender
                .send((cell(position, one, identity), content))
                .is_err()
            {
                break;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let writer = std::thread::Builder::new()
            .spawn_scoped(scope, send_all)
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        let saved = store.save_cells(run, receiver);
        match writer.join() {
            Ok(written) => written?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        saved.map_err(|error| error.to_string())
    })
}

fn cell(position: u64, one: &Findings, identity: &Identity) -> StoredCell {
    let source = one.imported.clone().unwrap_or_default();
    let unknown = source
        .unknown
        .iter()
        .map(|what| format!("not known: {what}"));
    StoredCell {
        position,
        axes: identity_axes(identity).chain(axes(one)).collect(),
        state: CellState::Finished,
        started_unix_ns: one.started_unix_ns,
        elapsed_ns: one.elapsed.get(),
        verdict: one.verdict.name().to_owned(),
        figures: fathom_analyse::entries_headline(&fathom_analyse::joined(&one.entries)),
        findings: fathom_analyse::found(one),
        notes: source
            .files
            .first()
            .map(|file| format!("from {file}"))
            .into_iter()
            .chain(source.notes)
            .chain(unknown)
            .collect(),
        ..StoredCell::default()
    }
}

/// Where a result was measured, as far as the import contains others.
pub(crate) fn place(one: &Findings) -> Place {
    let file = one.imported.as_ref().and_then(|from| from.files.first());
    Place::of(file, &one.entries, &one.globals)
}

/// Whether an axis names the place of a result and not a parameter of its load.
pub(crate) fn is_place(axis: &str) -> bool {
    ["folder", "drive"].contains(&axis)
}

/// The axes that keep the results of several drives apart.
fn identity_axes(identity: &Identity) -> impl Iterator<Item = (String, String)> {
    [("folder", &identity.folder), ("drive", &identity.drive)]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)))
}

/// The axes of an imported result: the options that bench-fio and most scripts vary.
fn axes(one: &Findings) -> Vec<(String, String)> {
    let entries = fathom_analyse::joined(&one.entries);
    let [entry] = entries.as_slice() else {
        return Vec::new();
    };
    let size = entry
        .block_sizes
        .0
        .iter()
        .map(|(size, _)| *size)
        .find(|size| *size > 0);
    let axes = [
        ("rw", Some(entry.rw.clone()).filter(|rw| !rw.is_empty())),
        ("bs", size.map(|size| size.to_string())),
        (
            "iodepth",
            (entry.depth > 0).then(|| entry.depth.to_string()),
        ),
        ("numjobs", Some(entry.members.to_string())),
    ];
    axes.into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}
