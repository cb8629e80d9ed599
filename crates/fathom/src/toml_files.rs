//! TOML files of the user: data sheets and recipes.

use std::io;
use std::path::{Path, PathBuf};

/// The largest number of files in one directory, and the largest file.
const MOST_FILES: usize = 1000;
const LARGEST: u64 = 1 << 20;

/// A file, and its text or why it cannot be read.
pub type TomlFile = (String, Result<String, String>);

/// The TOML files of a directory, in the order of their names.
///
/// # Errors
/// When the directory cannot be read.
pub fn toml_files(directory: &Path) -> io::Result<Vec<TomlFile>> {
    let paths = std::fs::read_dir(directory)?
        .flatten()
        .map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    paths.sort();
    paths.truncate(MOST_FILES);
    let file = |path: PathBuf| (path.to_string_lossy().into_owned(), read(&path));
    Ok(paths.into_iter().map(file).collect())
}

/// The directory `name` in the user's configuration of fathom, if it exists.
pub fn user_directory(name: &str) -> Option<PathBuf> {
    user_path(name).filter(|directory| directory.is_dir())
}

/// The path of `name` in the user's configuration of fathom (XDG Base Directory Specification 0.8).
pub fn user_path(name: &str) -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let config = variable("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| Some(variable("HOME")?.join(".config")))?;
    Some(config.join("fathom").join(name))
}

/// Regular files only: reading a pipe would never end.
pub fn read(path: &Path) -> Result<String, String> {
    let facts = std::fs::metadata(path).map_err(|error| error.to_string())?;
    match facts.len() {
        _ if !facts.is_file() => Err("not a regular file".to_owned()),
        length if length > LARGEST => Err(format!(
            "{length} bytes is larger than the limit of {LARGEST} bytes"
        )),
        _ => std::fs::read_to_string(path).map_err(|error| error.to_string()),
    }
}
