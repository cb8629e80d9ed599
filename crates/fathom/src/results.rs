//! Results that commands draw and report: files of fathom and fio with their logs, directories of them, and stored runs.

use std::path::Path;

use fathom_cli::StoreSource;
use fathom_import::{FileTrouble, import, import_chosen, read_report_source};
use fathom_model::{CellContent, Findings, ImportedResult, ReportSource, Run, RunId, StoredCell};
use fathom_report::Format;

use crate::import::{Disk, is_beside, walk};
use crate::output;
use crate::print::eprint_line;
use crate::result_file::read;
use crate::result_store::open_store;

/// Text that only results of fathom contain.
const OURS: &str = "\"fathom\" : {";

/// Selects the results whose logs are read: in most directories the logs are nearly all of the data.
type Wanted<'a> = &'a dyn Fn(&ImportedResult) -> bool;

/// All results of `paths`. A named file or run is read or refused; files in a directory that are not results are reported and
/// skipped.
///
/// # Errors
/// When one cannot be read, or they contain no result.
pub fn sources_of(paths: &[String], store: &StoreSource) -> Result<Vec<ReportSource>, String> {
    sources_with(&|_| true, paths, store)
}

/// The same, with the logs of the results that are `wanted` only.
///
/// # Errors
/// As [`sources_of`].
pub fn sources_with(
    wanted: Wanted,
    paths: &[String],
    store: &StoreSource,
) -> Result<Vec<ReportSource>, String> {
    let mut sources = Vec::new();
    for path in paths {
        if Path::new(path).is_dir() {
            sources.extend(of_directory(wanted, path)?);
        } else if Path::new(path).exists() || !is_run(path) {
            let source = if paths.len() > 1 {
                stem(Path::new(path))
            } else {
                String::new()
            };
            sources.extend(of_file(path, &source)?);
        } else {
            sources.extend(of_run(path, store)?);
        }
    }
    sources.retain(|one| !one.jobs.is_empty());
    if sources.is_empty() {
        Err("these results contain no job with I/O".into())
    } else {
        Ok(sources)
    }
}

/// `r12`, `r12.3`, `latest`.
pub fn is_run(name: &str) -> bool {
    let run = name.split_once('.').map_or(name, |(run, _)| run);
    run == "latest" || (run.starts_with('r') && RunId::parse(run).is_some())
}

/// The name of a file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn of_file(path: &str, source: &str) -> Result<Vec<ReportSource>, String> {
    let text = read(path)?;
    if text.contains(OURS) {
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

fn of_directory(wanted: Wanted, directory: &str) -> Result<Vec<ReportSource>, String> {
    let found = walk::files(&[directory.to_owned()])?;
    found
        .troubles
        .iter()
        .for_each(|(path, why)| eprint_line!("fathom: {path}: skipped: {why}"));
    let (mut sources, mut others) = (Vec::new(), Vec::new());
    for path in found.paths {
        let text = if path.ends_with(".json") {
            read(&path).ok().filter(|text| text.contains(OURS))
        } else {
            None
        };
        match text.map(|text| read_report_source(&text, &parent(&path))) {
            Some(Ok(one)) => sources.push(one),
            Some(Err(error)) => eprint_line!("fathom: {path}: skipped: {error}"),
            None => others.push(path),
        }
    }
    let found = import_chosen(&others, &Disk, wanted);
    for FileTrouble { file, why } in found.troubles.iter().filter(|trouble| !is_beside(trouble)) {
        eprint_line!("fathom: {file}: skipped: {why}");
    }
    sources.extend(found.results.into_iter().map(|result| {
        let source = result
            .source
            .files
            .first()
            .map_or(String::new(), |file| parent(file));
        imported(result, &source)
    }));
    Ok(sources)
}

/// The name of the directory of a file.
fn parent(path: &str) -> String {
    Path::new(path)
        .parent()
        .and_then(Path::file_name)
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// A stored run, cell by cell, analysed by the current rules.
fn of_run(name: &str, store: &StoreSource) -> Result<Vec<ReportSource>, String> {
    let mut sources = Vec::new();
    each_stored_cell(name, store, &mut |run, _, findings| {
        let source = run.id.to_string();
        if findings.imported.is_some() {
            sources.push(fathom_analyse::report_source(&findings, &source));
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
        sources.push(
            read_report_source(&String::from_utf8_lossy(&bytes), &source)
                .map_err(|error| format!("{name}: {error}"))?,
        );
        Ok(())
    })?;
    Ok(sources)
}

/// Calls `take` with the findings of each cell of a stored run (`r12`, `latest`), or of one cell (`r12.3`), by the current rules.
///
/// # Errors
/// When there is no such run, it cannot be read, or `take` fails.
pub fn each_stored_cell(
    name: &str,
    store: &StoreSource,
    take: &mut dyn FnMut(&Run, &StoredCell, Findings) -> Result<(), String>,
) -> Result<(), String> {
    let mut store = open_store(store)?;
    let (run, cell) = match name.split_once('.') {
        Some((run, cell)) => (
            run,
            Some(cell.parse::<u64>().map_err(|_| {
                format!(
                    "'{}' is not a cell; cells are named r12.1, r12.2 and so on",
                    name.escape_debug()
                )
            })?),
        ),
        None => (name, None),
    };
    let run = store.run(run).map_err(|error| error.to_string())?;
    let cells = store.cells(run.id).map_err(|error| error.to_string())?;
    for stored_cell in cells
        .iter()
        .filter(|stored_cell| cell.is_none_or(|wanted| wanted == stored_cell.position))
    {
        match store
            .content(run.id, stored_cell.position)
            .map_err(|error| error.to_string())?
        {
            CellContent::Recording(recording) => {
                take(&run, stored_cell, fathom_analyse::findings(&recording))?
            }
            CellContent::Imported { bytes, .. } => {
                let found = fathom_import::read_text(name, &bytes)
                    .map_err(|error| format!("{name}: {error}"))?;
                found.into_iter().try_for_each(|result| {
                    take(&run, stored_cell, fathom_analyse::imported(result))
                })?;
            }
            CellContent::Nothing => {}
        }
    }
    Ok(())
}
