//! Results that commands draw and report: files of fathom and fio with their logs, folders searched for them, and runs that are kept.

use std::path::Path;

use fathom_cli::StoreSource;
use fathom_import::{FileTrouble, import, import_chosen, read_report_source};
use fathom_model::{Content, Findings, ImportedResult, ReportSource, Run, RunId, StoredCell};
use fathom_report::Format;

use crate::import::{Disk, is_beside, walk};
use crate::output;
use crate::print::eprint_line;
use crate::result_file::read;
use crate::result_store::open_store;

/// What our own results have and others do not.
const OURS: &str = "\"fathom\" : {";

/// Of which results what happened over time is read as well, where it stands in logs: nearly all there is to read in most folders.
type Wanted<'a> = &'a dyn Fn(&ImportedResult) -> bool;

/// What all of `paths` say. A file or run that is named is read or refused; of the files in a folder, what is no result is told and
/// left out.
///
/// # Errors
/// When one cannot be read, or there is nothing in them.
pub fn told_of(paths: &[String], store: &StoreSource) -> Result<Vec<ReportSource>, String> {
    told_with(&|_| true, paths, store)
}

/// The same with what happened over time only in results that are `wanted`.
///
/// # Errors
/// As [`told_of`].
pub fn told_with(
    wanted: Wanted,
    paths: &[String],
    store: &StoreSource,
) -> Result<Vec<ReportSource>, String> {
    let mut told = Vec::new();
    for path in paths {
        if Path::new(path).is_dir() {
            told.extend(of_folder(wanted, path)?);
        } else if Path::new(path).exists() || !is_run(path) {
            let source = if paths.len() > 1 {
                stem(Path::new(path))
            } else {
                String::new()
            };
            told.extend(of_file(path, &source)?);
        } else {
            told.extend(of_run(path, store)?);
        }
    }
    told.retain(|one| !one.jobs.is_empty());
    if told.is_empty() {
        Err("there is no job with I/O in these results".into())
    } else {
        Ok(told)
    }
}

/// `r12`, `r12.3`, `latest`.
pub fn is_run(name: &str) -> bool {
    let run = name.split_once('.').map_or(name, |(run, _)| run);
    run == "latest" || (run.starts_with('r') && RunId::parse(run).is_some())
}

/// The name of a file without its ending.
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

fn of_folder(wanted: Wanted, folder: &str) -> Result<Vec<ReportSource>, String> {
    let found = walk::files(&[folder.to_owned()])?;
    found
        .troubles
        .iter()
        .for_each(|(path, why)| eprint_line!("fathom: {path}: left out: {why}"));
    let (mut told, mut others) = (Vec::new(), Vec::new());
    for path in found.paths {
        let text = if path.ends_with(".json") {
            read(&path).ok().filter(|text| text.contains(OURS))
        } else {
            None
        };
        match text.map(|text| read_report_source(&text, &parent(&path))) {
            Some(Ok(one)) => told.push(one),
            Some(Err(error)) => eprint_line!("fathom: {path}: left out: {error}"),
            None => others.push(path),
        }
    }
    let found = import_chosen(&others, &Disk, wanted);
    for FileTrouble { file, why } in found.troubles.iter().filter(|trouble| !is_beside(trouble)) {
        eprint_line!("fathom: {file}: left out: {why}");
    }
    told.extend(found.results.into_iter().map(|result| {
        let source = result
            .source
            .files
            .first()
            .map_or(String::new(), |file| parent(file));
        imported(result, &source)
    }));
    Ok(told)
}

/// The folder that a file lies in.
fn parent(path: &str) -> String {
    Path::new(path)
        .parent()
        .and_then(Path::file_name)
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// A run that is kept, cell by cell, as it would be told today.
fn of_run(name: &str, store: &StoreSource) -> Result<Vec<ReportSource>, String> {
    let mut told = Vec::new();
    each_kept(name, store, &mut |run, _, findings| {
        let source = run.id.to_string();
        if findings.imported.is_some() {
            told.push(fathom_analyse::report_source(&findings, &source));
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
        told.push(
            read_report_source(&String::from_utf8_lossy(&bytes), &source)
                .map_err(|error| format!("{name}: {error}"))?,
        );
        Ok(())
    })?;
    Ok(told)
}

/// Takes what was measured in each cell of a run that is kept (`r12`, `latest`), or in one of them (`r12.3`), judged by the rules of today.
///
/// # Errors
/// When there is no such run, it cannot be read, or `take` says so.
pub fn each_kept(
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
                    "'{}' names no cell; cells are r12.1, r12.2 and so on",
                    name.escape_debug()
                )
            })?),
        ),
        None => (name, None),
    };
    let run = store.run(run).map_err(|error| error.to_string())?;
    let cells = store.cells(run.id).map_err(|error| error.to_string())?;
    for kept in cells
        .iter()
        .filter(|kept| cell.is_none_or(|wanted| wanted == kept.position))
    {
        match store
            .content(run.id, kept.position)
            .map_err(|error| error.to_string())?
        {
            Content::Recording(recording) => {
                take(&run, kept, fathom_analyse::findings(&recording))?
            }
            Content::Imported { bytes, .. } => {
                let found = fathom_import::read_text(name, &bytes)
                    .map_err(|error| format!("{name}: {error}"))?;
                found
                    .into_iter()
                    .try_for_each(|result| take(&run, kept, fathom_analyse::imported(result)))?;
            }
            Content::Nothing => {}
        }
    }
    Ok(())
}
