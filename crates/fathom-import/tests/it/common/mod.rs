//! Helpers: finds real results and reads files from a directory.

use std::io::Read;
use std::path::{Path, PathBuf};

use fathom_import::{Files, Import, import};
use fathom_testkit::skip;

/// The directory of real results that the environment variable `FATHOM_RESULTS` names.
pub fn results() -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("FATHOM_RESULTS").filter(|name| !name.is_empty()) else {
        skip("FATHOM_RESULTS names no directory with results of fio");
        return None;
    };
    let directory = PathBuf::from(directory);
    assert!(
        directory.join("fio-results").is_dir(),
        "FATHOM_RESULTS={}: no directory fio-results in it",
        directory.display()
    );
    Some(directory)
}

/// All files below a directory with this ending, in order.
pub fn files(directory: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, ending, found),
            false if path.to_string_lossy().ends_with(ending) => found.push(path),
            false => {}
        }
    }
    found.sort();
}

/// Files of this machine.
pub struct Disk;

impl Files for Disk {
    fn open(&self, path: &str) -> std::io::Result<Box<dyn Read>> {
        std::fs::File::open(path).map(|file| Box::new(file) as Box<dyn Read>)
    }
}

/// All results below a directory.
pub fn read(directory: &Path) -> Import {
    let mut found = Vec::new();
    files(directory, "", &mut found);
    let paths: Vec<String> = found
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    import(&paths, &Disk)
}
