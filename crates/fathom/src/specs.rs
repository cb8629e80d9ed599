//! The known data sheets: those of the program and those of the user.

use std::path::Path;

use fathom_device::spec::Library;

use crate::toml_files::{toml_files, user_directory};

/// Sheets that are part of the program.
const BUILT_IN: [(&str, &str); 14] = [
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
    ("toshiba", include_str!("../../../specs/toshiba.toml")),
    (
        "western-digital",
        include_str!("../../../specs/western-digital.toml"),
    ),
];
/// The program's sheets, the user's own, and those of `directories`. Later ones take precedence.
pub fn library(directories: &[impl AsRef<Path>]) -> Library {
    let mut library = Library::default();
    for (name, text) in BUILT_IN {
        library.add(&format!("specs/{name}.toml"), text);
    }
    let user_directory = user_directory("specs");
    let directories = directories.iter().map(AsRef::as_ref);
    for directory in user_directory.as_deref().into_iter().chain(directories) {
        add_directory(&mut library, directory);
    }
    library
}

fn add_directory(library: &mut Library, directory: &Path) {
    let files = match toml_files(directory) {
        Ok(files) => files,
        Err(error) => {
            return library.add_unreadable(&directory.to_string_lossy(), error.to_string());
        }
    };
    for (file, text) in files {
        match text {
            Ok(text) => library.add(&file, &text),
            Err(message) => library.add_unreadable(&file, message),
        }
    }
}
