//! `fathom import`: converts results of fio to results of fathom.

pub(crate) mod identity;
pub(crate) mod walk;

use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc;

use fathom_cli::{ImportArgs, MeasurementFormat};
use fathom_import::{Conversion, FileTrouble, Import, ImportError, import_converted, is_log_of};
use fathom_linux::{OutputName, Outputs};
use fathom_model::{
    CellContent, CellState, Experiment, Findings, ImportedResult, PackedSeries, RunId, RunState,
    Simulated, StoredCell, simulated_facts,
};
use fathom_report::{Exposition, Label, Style};
use fathom_store::{Store, StoreError};

use crate::cli;
use crate::machine::unix_now_ns;
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, print_to};
use crate::result_store::{experiment, store_path};
use crate::screen;
use crate::session::Session;

use self::identity::{Identity, Place, identities};
pub(crate) use self::walk::Disk;

/// Documents that wait for the store.
const DOCUMENTS_IN_MEMORY: usize = 2;
/// Name of the format of imported results in the store.
pub const STORED_FORMAT: &str = "fathom import";

/// Imports what the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ImportArgs| import_paths(&args))
}

/// All results below the paths, analysed, with the files that could not be read and the number of files skipped.
pub(crate) struct Read<R = Findings> {
    /// The results.
    pub findings: Vec<R>,
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
    read_converted(paths, &|findings| findings, &|findings| findings)
}

/// Reads all results below `paths`; each is analysed and converted at once. `findings_of` is what notes are added to.
fn read_converted<R: Send>(
    paths: &[String],
    convert: &(dyn Fn(Findings) -> R + Sync),
    findings_of: &dyn Fn(&mut R) -> &mut Findings,
) -> Result<Read<R>, String> {
    let found = walk::files(paths)?;
    let named = &found.paths[..found.first_found];
    let analyse = |mut result: ImportedResult| {
        // The logs in a directory were read.
        if result
            .source
            .files
            .first()
            .is_some_and(|file| named.contains(file))
        {
            note_logs_beside(&mut result);
        }
        convert(fathom_analyse::imported(result))
    };
    let conversion = Conversion {
        convert: &analyse,
        add_note: &|one, note| {
            let findings = findings_of(one);
            findings.messages.push(note.clone());
            findings.imported.get_or_insert_default().notes.push(note);
        },
    };
    let Import {
        results, troubles, ..
    } = import_converted(&found.paths, &Disk, &conversion);
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
        findings: results,
        errors: lines,
        skipped: skipped.len(),
    })
}

/// A result whose time series are packed: those of all results of a large import need most of its memory.
#[derive(Clone)]
struct PackedFindings {
    /// The result; its entries have no time series.
    findings: Findings,
    /// The time series of each entry.
    series: Vec<PackedSeries>,
}

impl PackedFindings {
    fn pack(mut findings: Findings) -> Self {
        let take = |entry: &mut fathom_model::Entry| {
            PackedSeries::pack(&std::mem::take(&mut entry.series))
        };
        let series = findings.entries.iter_mut().map(take).collect();
        PackedFindings { findings, series }
    }

    fn unpack(self) -> Findings {
        let mut findings = self.findings;
        for (entry, series) in findings.entries.iter_mut().zip(&self.series) {
            entry.series = series.unpack();
        }
        findings
    }
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
    let Read {
        findings: results,
        errors,
        skipped,
    } = read_converted(&args.paths, &PackedFindings::pack, &|packed| {
        &mut packed.findings
    })?;
    errors.iter().for_each(|line| {
        eprint_line!(
            "fathom import: {}",
            line.escape_debug()
                .to_string()
                .replace("\\'", "'")
                .replace("\\\"", "\"")
        );
    });
    if results.is_empty() {
        return Err("no fio result found".to_owned());
    }
    let outcome = show(args, &results, errors.len(), skipped)?;
    store_run(args, results);
    Ok(match outcome {
        Outcome::Good if !errors.is_empty() => Outcome::Bad,
        outcome => outcome,
    })
}

fn show(
    args: &ImportArgs,
    results: &[PackedFindings],
    left_out: usize,
    skipped: usize,
) -> Result<Outcome, String> {
    let output = args.result.output.as_deref();
    match args.result.format() {
        MeasurementFormat::Text => {
            let style = screen::style(std::io::stdout().is_terminal(), "");
            let findings = results.iter().map(|one| &one.findings);
            let text = fathom_report::imported(findings, left_out, skipped, &style);
            Ok(print_to(output, &text))
        }
        format @ (MeasurementFormat::OpenMetrics | MeasurementFormat::Prometheus) => {
            let labelled: Vec<_> = results
                .iter()
                .map(|one| with_source(&one.findings))
                .collect();
            let format = match format {
                MeasurementFormat::Prometheus => Exposition::Prometheus,
                _ => Exposition::OpenMetrics,
            };
            Ok(print_to(output, &exposition(&labelled, format)?))
        }
        MeasurementFormat::Json => Ok(print_documents(output, results)),
    }
}

/// Writes the documents of all results, one after the other: together they may be larger than memory.
fn print_documents(output: Option<&Path>, results: &[PackedFindings]) -> Outcome {
    let written = match output {
        None => {
            write_documents(&mut std::io::stdout().lock(), results).or_else(|error| {
                match error.kind() {
                    ErrorKind::BrokenPipe => Ok(()),
                    _ => Err(format!("cannot write to standard output: {error}")),
                }
            })
        }
        Some(file) => Outputs::default()
            .document(file, OutputName::Explicit)
            .map_err(|error| error.to_string())
            .and_then(|mut document| {
                write_documents(&mut document, results)
                    .map_err(|error| format!("{}: {error}", file.display()))?;
                document.commit().map_err(|error| error.to_string())
            }),
    };
    match written {
        Ok(()) => Outcome::Good,
        Err(error) => {
            eprint_line!("fathom: {error}");
            Outcome::Bad
        }
    }
}

fn write_documents(out: &mut dyn Write, results: &[PackedFindings]) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(64 << 10, out);
    out.write_all(b"[\n")?;
    for (index, one) in results.iter().enumerate() {
        if index > 0 {
            out.write_all(b",\n")?;
        }
        let document = document(&one.clone().unpack()).map_err(std::io::Error::other)?;
        out.write_all(document.trim_end().as_bytes())?;
    }
    out.write_all(b"\n]\n")?;
    out.flush()
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
fn store_run(args: &ImportArgs, results: Vec<PackedFindings>) {
    let stored_run = store_path(&args.store).and_then(|path| match path {
        Some(path) => try_store(&path, args, results).map(Some),
        None => Ok(None),
    });
    match stored_run {
        Ok(Some(run)) => note_line!("fathom import: stored as {run}: fathom show {run}"),
        Ok(None) => {}
        Err(error) => eprint_line!("fathom import: the results are not stored: {error}"),
    }
}

fn try_store(
    path: &Path,
    args: &ImportArgs,
    results: Vec<PackedFindings>,
) -> Result<String, String> {
    let message = |error: StoreError| error.to_string();
    let name = args.title.clone().unwrap_or_else(|| args.paths[0].clone());
    let programs = results
        .iter()
        .filter_map(|one| one.findings.imported.as_ref())
        .map(|source| source.program.clone());
    let program = programs
        .into_iter()
        .find(|program| !program.is_empty())
        .unwrap_or_default();
    let experiment_start = Experiment {
        planned: results.len() as u64,
        ..experiment(&Session::on_this_machine(), "import", name, String::new())
    };
    let mut facts = vec![
        ("fathom".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("measured by".to_owned(), program),
    ];
    let simulated = results
        .iter()
        .filter_map(|one| one.findings.host.simulated.as_ref());
    let simulated: Vec<&Simulated> = simulated.collect();
    if let [first, others @ ..] = &simulated[..] {
        let mut device = (*first).clone();
        if simulated.len() < results.len() || others.iter().any(|other| other != first) {
            device.device += &format!(
                ", {} of {} results simulated",
                simulated.len(),
                results.len()
            );
        }
        facts.extend(simulated_facts(&device));
    }
    let imported = Experiment {
        facts,
        labels: args.store.label.clone(),
        ..experiment_start
    };
    let mut store = Store::open(path).map_err(message)?;
    let run = store.begin(&imported).map_err(message)?;
    save_cells(&mut store, run, results)?;
    store
        .finish(run, RunState::Finished, unix_now_ns())
        .map_err(message)?;
    Ok(run.to_string())
}

/// Stores a cell for each result. A second thread writes the documents, so that only a few are in
/// memory at once.
fn save_cells(store: &mut Store, run: RunId, results: Vec<PackedFindings>) -> Result<(), String> {
    let places = results.iter().map(|one| place(&one.findings));
    let identities = identities(&places.collect::<Vec<_>>());
    let (sender, receiver) = mpsc::sync_channel(DOCUMENTS_IN_MEMORY);
    let send_all = move || -> Result<(), String> {
        for (position, (packed, identity)) in (1..).zip(results.into_iter().zip(&identities)) {
            // It needs no series, and its jobs are joined faster without.
            let cell = cell(position, &packed.findings, identity);
            let content = CellContent::Imported {
                format: STORED_FORMAT.to_owned(),
                bytes: document(&packed.unpack())?.into_bytes(),
            };
            // The receiver is gone when the store reported an error.
            if sender.send((cell, content)).is_err() {
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
