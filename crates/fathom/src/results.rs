//! Results that commands draw and report: files, and folders searched for them.

use std::path::{Path, PathBuf};

use fathom_analyse::JobFigures;
use fathom_import::read_cells;

use crate::result_file::read;
use crate::say::complain;

/// No folder is searched for more results than this.
const MOST: usize = 20_000;
/// Nor deeper.
const DEEPEST: usize = 8;

/// The cells of all results in `paths`. A file named is read or refused; of those in a folder, what is no result is told
/// and left out.
///
/// # Errors
/// When a file cannot be read, or there is nothing to draw.
pub fn cells_of(paths: &[String]) -> Result<Vec<JobFigures>, String> {
    let mut cells = Vec::new();
    for path in paths {
        if Path::new(path).is_dir() {
            cells.extend(of_folder(Path::new(path))?);
        } else {
            let source = if paths.len() > 1 { label(Path::new(path)) } else { String::new() };
            cells.extend(read_cells(&read(path)?, &source).map_err(|error| format!("{path}: {error}"))?);
        }
    }
    if cells.is_empty() { Err("there is no job with I/O in these results".into()) } else { Ok(cells) }
}

/// The name of a file without its ending.
fn label(path: &Path) -> String {
    path.file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn of_folder(folder: &Path) -> Result<Vec<JobFigures>, String> {
    let mut files = Vec::new();
    walk(folder, 0, &mut files).map_err(|error| format!("{} cannot be searched: {error}", folder.display()))?;
    files.sort();
    let mut cells = Vec::new();
    for file in files {
        let source = file.parent().and_then(Path::file_name).map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let read = read(&file.to_string_lossy()).and_then(|text| read_cells(&text, &source).map_err(|error| error.to_string()));
        match read {
            Ok(some) => cells.extend(some),
            Err(error) => complain!("fathom: {}: left out: {error}", file.display()),
        }
    }
    Ok(cells)
}

/// Links are not followed: they could lead in a circle.
fn walk(folder: &Path, deep: usize, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && deep < DEEPEST {
            walk(&path, deep + 1, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "json") && files.len() < MOST {
            files.push(path);
        }
    }
    Ok(())
}
