//! Where a store is, and how it is reached.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// A file or a database server.
#[derive(Clone, Debug)]
pub(crate) struct StoreLocation {
    /// What messages call it.
    pub name: String,
    /// The file; `None` for a server.
    pub file: Option<PathBuf>,
}

impl StoreLocation {
    pub fn file(path: &Path) -> StoreLocation {
        StoreLocation {
            name: path.display().to_string(),
            file: Some(path.to_owned()),
        }
    }

    /// Makes the folder of a new store, so that it is there after a power cut as well.
    pub fn make_folder(&self) -> Result<(), StoreError> {
        let Some(folder) = self
            .file
            .as_ref()
            .and_then(|file| file.parent())
            .filter(|folder| !folder.as_os_str().is_empty())
        else {
            return Ok(());
        };
        make_durable_folder(folder).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull => StoreError::Full {
                place: self.name.clone(),
            },
            _ => StoreError::Closed {
                place: self.name.clone(),
                why: format!("its folder {} cannot be made: {error}", folder.display()),
            },
        })
    }

    /// The address for the driver. The path is made absolute, and every byte of it that an address could take for
    /// something else is escaped.
    pub fn address(&self, mode: &str) -> Result<String, StoreError> {
        let Some(file) = &self.file else {
            return Ok(self.name.clone());
        };
        let closed = |why: &str| StoreError::Closed {
            place: self.name.clone(),
            why: why.to_owned(),
        };
        let folder = match file.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => return Err(closed("that is no file")),
        };
        let name = file.file_name().ok_or_else(|| closed("that is no file"))?;
        let whole = folder
            .canonicalize()
            .map_err(|error| closed(&error.to_string()))?
            .join(name);
        let text = whole
            .to_str()
            .ok_or_else(|| closed("its name is no text in UTF-8"))?;
        Ok(format!("sqlite://{}?{mode}", escaped(text)))
    }
}

fn escaped(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_~".contains(&byte);
    path.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// A folder with all above it. A new entry survives a power cut when the folder that holds it was synced; see fsync(2).
fn make_durable_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above = folder
        .parent()
        .filter(|above| !above.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    make_durable_folder(above)?;
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Where a folder cannot be synced nothing more can be done about it.
    let _ = File::open(above).and_then(|above| above.sync_all());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_stay_one_file() {
        assert_eq!(
            escaped("/a b/c?d#e%f&g.db"),
            "/a%20b/c%3Fd%23e%25f%26g%2Edb"
        );
        assert_eq!(escaped("/größe"), "/gr%C3%B6%C3%9Fe");
    }
}
