//! The files below the paths of the arguments.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Write};
use std::path::Path;

use fathom_import::Files;

/// The largest number of files; more are a mistake, such as the root directory.
const MOST_FILES: usize = 1_000_000;
/// The deepest directory.
const DEEPEST: usize = 64;

/// The files to read.
#[derive(Default)]
pub(crate) struct FoundFiles {
    /// Every file, in order.
    pub paths: Vec<String>,
    /// Index of the first file that was found in a directory, not named itself.
    pub first_found: usize,
    /// Paths that cannot be read, with the reason.
    pub errors: Vec<(String, String)>,
}

/// All regular files at and below `named`: those named first. Links to directories are not followed, hidden files are skipped.
///
/// # Errors
/// When there are too many.
pub(crate) fn files(named: &[String]) -> Result<FoundFiles, String> {
    let mut found = FoundFiles::default();
    let (directories, files): (Vec<&String>, Vec<&String>) =
        named.iter().partition(|path| Path::new(path).is_dir());
    found.paths.extend(files.into_iter().cloned());
    found.first_found = found.paths.len();
    for directory in directories {
        below(directory.trim_end_matches('/'), 0, &mut found)?;
    }
    Ok(found)
}

fn below(directory: &str, depth: usize, found: &mut FoundFiles) -> Result<(), String> {
    let listed = std::fs::read_dir(if directory.is_empty() { "/" } else { directory })
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut entries = match listed {
        Ok(entries) => entries,
        Err(error) => {
            found.errors.push((
                directory.to_owned(),
                format!("cannot list the directory: {error}"),
            ));
            return Ok(());
        }
    };
    entries.sort_by_cached_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (name, kind) = (entry.file_name(), entry.file_type());
        let Some(name) = name.to_str() else {
            found.errors.push((
                entry.path().display().to_string(),
                "its name is not valid UTF-8".to_owned(),
            ));
            continue;
        };
        let path = format!("{directory}/{name}");
        match kind {
            _ if name.starts_with('.') => {}
            Ok(kind) if kind.is_dir() && depth < DEEPEST => below(&path, depth + 1, found)?,
            Ok(kind) if kind.is_file() || kind.is_symlink() && Path::new(&path).is_file() => {
                found.paths.push(path);
            }
            Ok(kind) if kind.is_symlink() => {
                if let Err(error) = std::fs::metadata(&path) {
                    let why = format!("a symbolic link that cannot be followed: {error}");
                    found.errors.push((path, why));
                }
            }
            _ => {}
        }
        if found.paths.len() > MOST_FILES {
            return Err(format!(
                "more than {MOST_FILES} files found; name the directory of the results"
            ));
        }
    }
    Ok(())
}

/// Files of this machine; compressed logs are inflated on the way.
pub(crate) struct Disk;

/// The largest inflated log; it is held in memory.
const LONGEST: usize = 64 << 20;

impl Files for Disk {
    fn open(&self, path: &str) -> std::io::Result<Box<dyn Read>> {
        let file = File::open(path)?;
        if !path.ends_with(".fz") {
            return Ok(Box::new(file));
        }
        let mut lines = BoundedBuffer(Vec::new());
        fathom_report::inflate_log(BufReader::new(file), &mut lines)
            .map_err(|error| std::io::Error::other(format!(
                    "cannot decompress this log: {error}; `fathom run --inflate-log={path}` prints what can be decompressed"
                )))?;
        Ok(Box::new(Cursor::new(lines.0)))
    }
}

/// A buffer of at most [`LONGEST`] bytes: a small file may inflate to any size.
struct BoundedBuffer(Vec<u8>);

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST {
            return Err(std::io::Error::other(
                "the log inflates to more than 64 MiB; inflate it to a file first",
            ));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
