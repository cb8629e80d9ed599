//! Results that commands draw and report: files of fathom and fio with their logs, directories of them, and stored runs.

use std::path::Path;

use fathom_cli::StoreSource;
use fathom_import::{FileTrouble, import, import_chosen, read_report_source};
use fathom_model::{CellContent, Findings, ImportedResult, ReportSource, Run, RunId, StoredCell};
use fathom_report::Format;

use crate::import::{Disk, is_unrelated, walk};
use crate::output;
use crate::print::eprint_line;
use crate::result_file::read;
use crate::result_store::open_store;
use crate::stored::RunOrCell;

/// Text that only results of fathom contain.
const FATHOM_MARK: &str = "\"fathom\" : {";

/// Selects the results whose logs are read: in most directories the logs are nearly all of the data.
type NeedsLogs<'a> = &'a dyn Fn(&ImportedResult) -> bool;

/// All results of `paths`. A named file or run must be a result; other files in a directory are reported and skipped.
///
/// # Errors
/// When one cannot be read, or they contain no result.
pub fn read_results(paths: &[String], store: &StoreSource) -> Result<Vec<ReportSource>, String> {
    read_results_with_logs(&|_| true, paths, store)
}

/// The same, but of results in directories only the logs that `needs_logs` selects.
///
/// # Errors
/// As [`read_results`].
pub fn read_results_with_logs(
    needs_logs: NeedsLogs,
    paths: &[String],
    store: &StoreSource,
) -> Result<Vec<ReportSource>, String> {
    let mut results = Vec::new();
    for path in paths {
        if Path::new(path).is_dir() {
            results.extend(read_directory(needs_logs, path)?);
        } else if Path::new(path).exists() || !is_run(path) {
            let source = if paths.len() > 1 {
                stem(Path::new(path))
            } else {
                String::new()
            };
            results.extend(read_file(path, &source)?);
        } else {
            results.extend(read_run(path, store)?);
        }
    }
    if results.is_empty() {
        return Err(format!("no result found in {}", paths.join(", ")));
    }
    results.retain(|source| !source.jobs.is_empty());
    if results.is_empty() {
        Err("the results contain no job with I/O".into())
    } else {
        Ok(results)
    }
}

/// Whether a name has the form of a stored run or cell: `r12`, `r12.3`, `latest`.
pub fn is_run(name: &str) -> bool {
    let run = name.split_once('.').map_or(name, |(run, _)| run);
    run == "latest" || (run.starts_with('r') && RunId::parse(run).is_some())
}

/// The name of a file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn read_file(path: &str, source: &str) -> Result<Vec<ReportSource>, String> {
    let text = read(path)?;
    if text.contains(FATHOM_MARK) {
        return Ok(vec![
            read_report_source(&text, source).map_err(|error| format!("{path}: {error}"))?,
        ]);
    }
    let found = import(&[path.to_owned()], &Disk);
    match found.troubles.first() {
        Some(trouble) if found.results.is_empty() => Err(format!("{path}: {}", trouble.why)),
        _ => Ok(found
            .results
            .into_iter()
            .map(|result| imported(result, source))
            .collect()),
    }
}

fn imported(result: ImportedResult, source: &str) -> ReportSource {
    fathom_analyse::report_source(&fathom_analyse::imported(result), source)
}

fn read_directory(needs_logs: NeedsLogs, directory: &str) -> Result<Vec<ReportSource>, String> {
    let found = walk::files(&[directory.to_owned()])?;
    found
        .errors
        .iter()
        .for_each(|(path, why)| eprint_line!("fathom: {path}: skipped: {why}"));
    let (mut results, mut other_paths) = (Vec::new(), Vec::new());
    for path in found.paths {
        let text = if path.ends_with(".json") {
            read(&path).ok().filter(|text| text.contains(FATHOM_MARK))
        } else {
            None
        };
        match text.map(|text| read_report_source(&text, &parent(&path))) {
            Some(Ok(source)) => results.push(source),
            Some(Err(error)) => eprint_line!("fathom: {path}: skipped: {error}"),
            None => other_paths.push(path),
        }
    }
    let found = import_chosen(&other_paths, &Disk, needs_logs);
    for FileTrouble { file, why } in found
        .troubles
        .iter()
        .filter(|trouble| !is_unrelated(trouble))
    {
        eprint_line!("fathom: {file}: skipped: {why}");
    }
    results.extend(found.results.into_iter().map(|result| {
        let source = result
            .source
            .files
            .first()
            .map_or(String::new(), |file| parent(file));
        imported(result, &source)
    }));
    Ok(results)
}

/// The name of the directory of a file.
fn parent(path: &str) -> String {
    Path::new(path)
        .parent()
        .and_then(Path::file_name)
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// The cells of a stored run, analysed by the current rules.
fn read_run(name: &str, store: &StoreSource) -> Result<Vec<ReportSource>, String> {
    let mut results = Vec::new();
    each_stored_cell(name, store, &mut |run, _, findings| {
        let source = run.id.to_string();
        if findings.imported.is_some() {
            results.push(fathom_analyse::report_source(&findings, &source));
            return Ok(());
        }
        let mut bytes = Vec::new();
        fathom_report::write(
            &findings,
            &[Format::JsonPlus],
            &output::answer_style(),
            &mut bytes,
        )
        .map_err(|error| error.to_string())?;
        results.push(
            read_report_source(&String::from_utf8_lossy(&bytes), &source)
                .map_err(|error| format!("{name}: {error}"))?,
        );
        Ok(())
    })?;
    Ok(results)
}

/// Calls `act` with the findings of each cell of a stored run (`r12`, `latest`), or of one cell (`r12.3`), by the current
/// rules.
///
/// # Errors
/// When there is no such run or cell, it cannot be read, or `act` fails.
pub fn each_stored_cell(
    name: &str,
    store: &StoreSource,
    act: &mut dyn FnMut(&Run, &StoredCell, Findings) -> Result<(), String>,
) -> Result<(), String> {
    let mut store = open_store(store)?;
    let found = RunOrCell::find(&mut store, name)?;
    let run = &found.run;
    for cell in found.cells(&mut store)? {
        match store
            .content(run.id, cell.position)
            .map_err(|error| error.to_string())?
        {
            CellContent::Recording(recording) => {
                act(run, &cell, fathom_analyse::findings(&recording))?;
            }
            CellContent::Imported { bytes, .. } => {
                let results = fathom_import::read_text(name, &bytes)
                    .map_err(|error| format!("{name}: {error}"))?;
                results
                    .into_iter()
                    .try_for_each(|result| act(run, &cell, fathom_analyse::imported(result)))?;
            }
            CellContent::Nothing => {}
        }
    }
    Ok(())
}
