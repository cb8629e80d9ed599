//! Results that commands draw and report: files of fathom and fio with their logs, folders searched for them, and runs that are kept.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use fathom_analyse::Told;
use fathom_import::{Files, import, read_told};
use fathom_model::{Content, ImportedResult, RunId};
use fathom_report::Format;

use crate::keep::StoreWish;
use crate::output;
use crate::result_file::read;
use crate::say::complain;

/// No folder is searched for more files than this.
const MOST: usize = 200_000;
/// Nor deeper.
const DEEPEST: usize = 8;
/// What our own results have and others do not.
const OURS: &str = "\"fathom\" : {";

/// What all of `paths` say. A file or run that is named is read or refused; of the files in a folder, what is no result is told and
/// left out.
///
/// # Errors
/// When one cannot be read, or there is nothing in them.
pub fn told_of(paths: &[String], store: &StoreWish) -> Result<Vec<Told>, String> {
    let mut told = Vec::new();
    for path in paths {
        if Path::new(path).is_dir() {
            told.extend(of_folder(Path::new(path))?);
        } else if Path::new(path).exists() || !is_run(path) {
            let source = if paths.len() > 1 { stem(Path::new(path)) } else { String::new() };
            told.extend(of_file(path, &source)?);
        } else {
            told.extend(of_run(path, store)?);
        }
    }
    told.retain(|one| !one.jobs.is_empty());
    if told.is_empty() { Err("there is no job with I/O in these results".into()) } else { Ok(told) }
}

/// `r12`, `r12.3`, `latest`.
fn is_run(name: &str) -> bool {
    let run = name.split_once('.').map_or(name, |(run, _)| run);
    run == "latest" || (run.starts_with('r') && RunId::parse(run).is_some())
}

/// The name of a file without its ending.
fn stem(path: &Path) -> String {
    path.file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn of_file(path: &str, source: &str) -> Result<Vec<Told>, String> {
    let text = read(path)?;
    if text.contains(OURS) {
        return Ok(vec![read_told(&text, source).map_err(|error| format!("{path}: {error}"))?]);
    }
    let found = import(&[path.to_owned()], &OnDisk);
    match found.troubles.first() {
        Some(trouble) if found.results.is_empty() => Err(format!("{path}: {}", trouble.why)),
        _ => Ok(found.results.into_iter().map(|result| imported(result, source)).collect()),
    }
}

fn imported(result: ImportedResult, source: &str) -> Told {
    Told::of_imported(&fathom_analyse::imported(result), source)
}

/// Files as they are on disk.
struct OnDisk;

impl Files for OnDisk {
    fn open(&self, path: &str) -> Result<Box<dyn Read>, String> {
        File::open(path).map(|file| Box::new(file) as Box<dyn Read>).map_err(|error| error.to_string())
    }
}

fn of_folder(folder: &Path) -> Result<Vec<Told>, String> {
    let mut files = Vec::new();
    walk(folder, 0, &mut files).map_err(|error| format!("{} cannot be searched: {error}", folder.display()))?;
    files.sort();
    let (mut told, mut others) = (Vec::new(), Vec::new());
    for file in files {
        let path = file.to_string_lossy().into_owned();
        let ours = file.extension().is_some_and(|ending| ending == "json") && read(&path).is_ok_and(|text| text.contains(OURS));
        if ours {
            match read(&path).and_then(|text| read_told(&text, &parent(&path)).map_err(|error| error.to_string())) {
                Ok(one) => told.push(one),
                Err(error) => complain!("fathom: {path}: left out: {error}"),
            }
        } else {
            others.push(path);
        }
    }
    let found = import(&others, &OnDisk);
    for trouble in &found.troubles {
        complain!("fathom: {}: left out: {}", trouble.file, trouble.why);
    }
    told.extend(found.results.into_iter().map(|result| {
        let source = result.source.files.first().map_or(String::new(), |file| parent(file));
        imported(result, &source)
    }));
    Ok(told)
}

/// The folder that a file lies in.
fn parent(path: &str) -> String {
    Path::new(path).parent().and_then(Path::file_name).map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// Links are not followed: they could lead in a circle.
fn walk(folder: &Path, deep: usize, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        let known = path.extension().is_some_and(|ending| ending == "json" || ending == "log");
        if kind.is_dir() && deep < DEEPEST {
            walk(&path, deep + 1, files)?;
        } else if kind.is_file() && known && files.len() < MOST {
            files.push(path);
        }
    }
    Ok(())
}

/// A run that is kept, cell by cell, as it would be told today.
fn of_run(name: &str, store: &StoreWish) -> Result<Vec<Told>, String> {
    let mut store = store.open()?;
    let (run, cell) = match name.split_once('.') {
        Some((run, cell)) => (run, Some(cell.parse::<u64>().map_err(|_| format!("'{}' names no cell; cells are r12.1, r12.2 and so on", name.escape_debug()))?)),
        None => (name, None),
    };
    let run = store.run(run).map_err(|error| error.to_string())?;
    let cells = store.cells(run.id).map_err(|error| error.to_string())?;
    let mut told = Vec::new();
    for kept in cells.iter().filter(|kept| cell.is_none_or(|wanted| wanted == kept.position)) {
        let source = run.id.to_string();
        match store.content(run.id, kept.position).map_err(|error| error.to_string())? {
            Content::Recording(recording) => {
                let mut bytes = Vec::new();
                let findings = fathom_analyse::findings(&recording);
                fathom_report::write(&findings, &[Format::JsonPlus], &output::answer_style(), &mut bytes).map_err(|error| error.to_string())?;
                told.push(read_told(&String::from_utf8_lossy(&bytes), &source).map_err(|error| format!("{name}: {error}"))?);
            }
            Content::Imported { bytes, .. } => {
                let found = fathom_import::read_text(name, &bytes).map_err(|error| format!("{name}: {error}"))?;
                told.extend(found.into_iter().map(|result| imported(result, &source)));
            }
            Content::Nothing => {}
        }
    }
    Ok(told)
}
