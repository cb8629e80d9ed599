//! Real results, unpacked; files read from a folder.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fathom_import::{Files, Import, import};
use fathom_testkit::{Scratch, skip};

/// The archive, unpacked; nothing where it is not.
pub fn results() -> Option<Scratch> {
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/fio-results.tar.xz");
    let archive = [archive, PathBuf::from("../shared/data/fio-results.tar.xz")]
        .into_iter()
        .find(|path| path.exists());
    let Some(archive) = archive else {
        skip("there are no results of others in ../shared/data");
        return None;
    };
    let folder = Scratch::new().expect("a folder");
    let unpacked = Command::new("tar")
        .arg("xJf")
        .arg(archive)
        .arg("-C")
        .arg(folder.path())
        .stdin(Stdio::null())
        .status();
    if !unpacked.is_ok_and(|status| status.success()) {
        skip("tar with xz is not there");
        return None;
    }
    Some(folder)
}

/// All files below a folder that end so, in order.
pub fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
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
    fn open(&self, path: &str) -> Result<Box<dyn Read>, String> {
        std::fs::File::open(path)
            .map(|file| Box::new(file) as Box<dyn Read>)
            .map_err(|error| error.to_string())
    }
}

/// All that can be read below a folder.
pub fn read(folder: &Path) -> Import {
    let mut found = Vec::new();
    files(folder, "", &mut found);
    let paths: Vec<String> = found
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    import(&paths, &Disk)
}
