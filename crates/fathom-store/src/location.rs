//! Where a store is, and the address under which the database driver opens it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::address::{driver_address, is_address, without_password};

/// A file or a database server.
#[derive(Clone, Debug)]
pub(crate) struct StoreLocation {
    /// How messages name it.
    pub name: String,
    /// The file; `None` for a server.
    pub file: Option<PathBuf>,
    /// The address of the server, which may contain a password; empty for a file.
    server: String,
}

impl StoreLocation {
    /// The file `path`, or the server if it is an address such as `postgres://USER@HOST/DATABASE`.
    pub fn of(path: &Path) -> StoreLocation {
        match path.to_str().filter(|text| is_address(text)) {
            Some(address) => StoreLocation {
                name: without_password(address),
                file: None,
                server: address.to_owned(),
            },
            None => StoreLocation {
                name: path.display().to_string(),
                file: Some(path.to_owned()),
                server: String::new(),
            },
        }
    }

    /// Creates the directory of a new store so that it survives a power cut.
    pub fn create_directory(&self) -> Result<(), StoreError> {
        let Some(directory) = self
            .file
            .as_ref()
            .and_then(|file| file.parent())
            .filter(|directory| !directory.as_os_str().is_empty())
        else {
            return Ok(());
        };
        create_durable_directory(directory).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull => StoreError::Full {
                store: self.name.clone(),
            },
            _ => StoreError::CannotOpen {
                store: self.name.clone(),
                source: format!(
                    "cannot create its directory {}: {error}",
                    directory.display()
                )
                .into(),
            },
        })
    }

    /// The address for the driver: the absolute path, in which every byte with a meaning in addresses is escaped.
    pub fn address(&self, mode: &str) -> Result<String, StoreError> {
        let Some(file) = &self.file else {
            return driver_address(&self.server).map_err(|problem| StoreError::Server {
                store: self.name.clone(),
                problem,
            });
        };
        let cannot_open = |source| StoreError::CannotOpen {
            store: self.name.clone(),
            source,
        };
        let directory = match file.parent() {
            Some(directory) if directory.as_os_str().is_empty() => Path::new("."),
            Some(directory) => directory,
            None => return Err(cannot_open("not a file".into())),
        };
        let name = file
            .file_name()
            .ok_or_else(|| cannot_open("not a file".into()))?;
        let absolute = directory
            .canonicalize()
            .map_err(|error| cannot_open(error.into()))?
            .join(name);
        let text = absolute
            .to_str()
            .ok_or_else(|| cannot_open("its path is not valid UTF-8".into()))?;
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

/// Creates a directory with its parents. A new entry survives a power cut once its parent is synced; see fsync(2).
fn create_durable_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let parent = directory
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    create_durable_directory(parent)?;
    match std::fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Some file systems cannot sync a directory; nothing else would help there.
    let _ = File::open(parent).and_then(|parent| parent.sync_all());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(
            escaped("/a b/c?d#e%f&g.db"),
            "/a%20b/c%3Fd%23e%25f%26g%2Edb"
        );
        assert_eq!(escaped("/größe"), "/gr%C3%B6%C3%9Fe");
    }
}
