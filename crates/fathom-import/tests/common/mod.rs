//! Helpers: unpacks real results and reads files from a directory.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fathom_import::{Files, Import, import};
use fathom_testkit::{Scratch, skip};

/// The unpacked archive; `None` if there is no archive.
pub fn results() -> Option<Scratch> {
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/fio-results.tar.xz");
    let archive = [archive, PathBuf::from("../shared/data/fio-results.tar.xz")]
        .into_iter()
        .find(|path| path.exists());
    let Some(archive) = archive else {
        skip("no recorded results in ../shared/data");
        return None;
    };
    let directory = Scratch::new().expect("a directory");
    let unpacked = Command::new("tar")
        .arg("xJf")
        .arg(archive)
        .arg("-C")
        .arg(directory.path())
        .stdin(Stdio::null())
        .status();
    if !unpacked.is_ok_and(|status| status.success()) {
        skip("tar with xz is not installed");
        return None;
    }
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
