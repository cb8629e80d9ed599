//! The known data sheets: those of the program, then those of the user.

use std::path::{Path, PathBuf};

use fathom_device::spec::Library;

/// Sheets that are part of the program.
const OWN: [(&str, &str); 13] = [
    ("crucial", include_str!("../../../specs/crucial.toml")),
    ("hgst", include_str!("../../../specs/hgst.toml")),
    ("hitachi", include_str!("../../../specs/hitachi.toml")),
    ("intel", include_str!("../../../specs/intel.toml")),
    ("kingston", include_str!("../../../specs/kingston.toml")),
    ("kioxia", include_str!("../../../specs/kioxia.toml")),
    ("memblaze", include_str!("../../../specs/memblaze.toml")),
    ("micron", include_str!("../../../specs/micron.toml")),
    ("samsung", include_str!("../../../specs/samsung.toml")),
    ("sandisk", include_str!("../../../specs/sandisk.toml")),
    ("seagate", include_str!("../../../specs/seagate.toml")),
    ("solidigm", include_str!("../../../specs/solidigm.toml")),
    (
        "western-digital",
        include_str!("../../../specs/western-digital.toml"),
    ),
];
/// The largest number of files in one directory, and the largest file.
const MOST_FILES: usize = 1000;
const LARGEST: u64 = 1 << 20;

/// The program's sheets, the user's own, and those of `directories`, later ones before earlier ones.
pub fn library(directories: &[impl AsRef<Path>]) -> Library {
    let mut library = Library::default();
    for (name, text) in OWN {
        library.add(&format!("specs/{name}.toml"), text);
    }
    if let Some(folder) = users_folder().filter(|folder| folder.is_dir()) {
        add_folder(&mut library, &folder);
    }
    directories
        .iter()
        .for_each(|directory| add_folder(&mut library, directory.as_ref()));
    library
}

fn users_folder() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = set("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(home.join("fathom/specs"))
}

fn add_folder(library: &mut Library, folder: &Path) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return library.add_error(&folder.to_string_lossy(), error.to_string()),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    paths.sort();
    for path in paths.iter().take(MOST_FILES) {
        let name = path.to_string_lossy();
        match read(path) {
            Ok(text) => library.add(&name, &text),
            Err(what) => library.add_error(&name, what),
        }
    }
}

/// Regular files only: reading a pipe would never end.
fn read(path: &Path) -> Result<String, String> {
    let facts = std::fs::metadata(path).map_err(|error| error.to_string())?;
    match facts.len() {
        _ if !facts.is_file() => Err("not a regular file".to_owned()),
        length if length > LARGEST => Err(format!(
            "{length} bytes is larger than the limit of {LARGEST} for a file of data sheets"
        )),
        _ => std::fs::read_to_string(path).map_err(|error| error.to_string()),
    }
}
