//! The private folder of a run: created below the path of the user, removed at the end, and by the next run if this one was
//! killed. Its name says which process owns it.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::AppError;

/// Start of the names of all private folders.
const PREFIX: &str = "fathom-app-";

/// In a private folder: a link to the one of the log.
const LOG_LINK: &str = "log-path";

/// A folder that belongs to this run.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    keep: bool,
}

impl PrivateFolder {
    /// Creates it below `parent`.
    ///
    /// # Errors
    /// If nothing can be created there.
    pub fn create(parent: &Path) -> Result<PrivateFolder, AppError> {
        let parent = parent
            .canonicalize()
            .map_err(|error| AppError::file(parent, "cannot be used", error))?;
        let path = parent.join(own_name());
        fs::DirBuilder::new()
            .mode(0o755)
            .create(&path)
            .map_err(|error| AppError::file(&parent, "cannot create a folder", error))?;
        Ok(PrivateFolder { path, keep: false })
    }

    /// Creates a second one below `parent`, for the log. It is removed with this one.
    ///
    /// # Errors
    /// If nothing can be created there.
    pub fn create_log(&self, parent: &Path) -> Result<PathBuf, AppError> {
        let parent = parent
            .canonicalize()
            .map_err(|error| AppError::file(parent, "cannot be used", error))?;
        let name = self.path.file_name().unwrap_or_default();
        let path = parent.join(name);
        if path == self.path {
            return Err(AppError::Request(format!(
                "the log is on the same path as the data, {}: name another one",
                parent.display()
            )));
        }
        // The link is there first, so that a killed run leaves no folder that nothing names.
        let link = self.path.join(LOG_LINK);
        std::os::unix::fs::symlink(&path, &link)
            .map_err(|error| AppError::file(&link, "cannot be created", error))?;
        fs::DirBuilder::new()
            .mode(0o755)
            .create(&path)
            .map_err(|error| AppError::file(&parent, "cannot create a folder", error))?;
        Ok(path)
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps it under a name that no later run removes, and returns that.
    ///
    /// # Errors
    /// If it cannot be renamed; it stays all the same.
    pub fn keep(mut self, engine: &str) -> Result<PathBuf, AppError> {
        self.keep = true;
        let name = format!("fathom-kept-{engine}-{}", std::process::id());
        let kept = self.path.with_file_name(name);
        fs::rename(&self.path, &kept)
            .map_err(|error| AppError::file(&self.path, "cannot be renamed", error))?;
        Ok(kept)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = remove_folder(&self.path);
        }
    }
}

/// The private folder of the log, where that is on a path of its own: it has the same name.
#[must_use]
pub fn log_folder_of(private: &Path) -> Option<PathBuf> {
    let log = fs::read_link(private.join(LOG_LINK)).ok()?;
    (log.file_name() == private.file_name()).then_some(log)
}

fn end_servers(path: &Path) {
    crate::postgres::kill_server(path);
    crate::maria::kill_server(path);
}

/// Ends the server that still runs in a private folder, and removes the folder.
///
/// # Errors
/// If something in it cannot be removed.
pub fn remove_folder(path: &Path) -> std::io::Result<()> {
    end_servers(path);
    if let Some(log) = log_folder_of(path) {
        match fs::remove_dir_all(log) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_dir_all(path)
}

/// Ends the server that still runs in a private folder, and removes what is in the folder.
pub fn empty_folder(path: &Path) {
    end_servers(path);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let path = entry.path();
        let _ = match entry.file_type() {
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(path),
            _ => fs::remove_file(path),
        };
    }
}

/// Removes the folders below `parent` whose run was killed, and returns them. A folder of a run that lives stays, and so does
/// one of another process namespace.
#[must_use]
pub fn abandoned_folders(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| {
            let name = entry.file_name();
            name.to_str()
                .and_then(|name| name.strip_prefix(PREFIX))
                .is_some_and(is_abandoned)
        })
        .map(|entry| entry.path())
        .filter(|path| remove_folder(path).is_ok())
        .collect()
}

/// `fathom-app-`, the namespace of processes, the process and when it started.
fn own_name() -> String {
    let pid = std::process::id();
    format!(
        "{PREFIX}{}-{pid}-{}",
        namespace().unwrap_or_default(),
        started(pid).unwrap_or_default()
    )
}

fn is_abandoned(owner: &str) -> bool {
    let mut fields = owner.split('-');
    let (Some(of), Some(pid), Some(start), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return false;
    };
    let alive = pid.parse().ok().and_then(started);
    namespace().as_deref() == Some(of) && alive.as_deref() != Some(start)
}

/// The number in `pid:[4026531836]`. See pid_namespaces(7).
fn namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let number = link.to_str()?.split(['[', ']']).nth(1)?;
    Some(number.to_owned())
}

/// When a live process started, in clock ticks since the boot. See proc_pid_stat(5).
pub(crate) fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_alive = !matches!(fields.next(), Some("Z" | "X"));
    fields.nth(18).filter(|_| is_alive).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_testkit::Scratch;

    #[test]
    fn a_folder_is_removed_at_the_end_and_that_of_a_dead_process_by_the_next_run() {
        let parent = Scratch::new().expect("a directory");
        let folder = PrivateFolder::create(parent.path()).expect("a folder");
        let path = folder.path().to_owned();
        assert_eq!(
            abandoned_folders(parent.path()),
            Vec::<PathBuf>::new(),
            "this process lives"
        );
        assert!(path.exists());
        drop(folder);
        assert!(!path.exists());
        // The same process number, started at another time.
        let dead = parent.join(format!("{}1", own_name()));
        let other = parent.join("fathom-app-1-2");
        for path in [&dead, &other] {
            fs::create_dir(path).expect("a folder");
        }
        assert_eq!(
            abandoned_folders(parent.path()),
            std::slice::from_ref(&dead)
        );
        assert!(
            !dead.exists() && other.exists(),
            "only folders of this form"
        );
    }

    #[test]
    fn the_folder_of_the_log_is_removed_with_that_of_the_data() {
        let (data, log) = (Scratch::new().expect("data"), Scratch::new().expect("log"));
        let folder = PrivateFolder::create(data.path()).expect("a folder");
        let error = folder.create_log(data.path()).expect_err("the same path");
        assert!(error.to_string().contains("name another one"), "{error}");
        let other = folder.create_log(log.path()).expect("a folder");
        fs::write(other.join("file"), "x").expect("a file");
        assert_eq!(log_folder_of(folder.path()), Some(other.clone()));
        drop(folder);
        assert!(!other.exists());
        // A link to a folder of another name is not followed.
        let folder = PrivateFolder::create(data.path()).expect("a folder");
        let kept = log.join("kept");
        fs::create_dir(&kept).expect("a folder");
        std::os::unix::fs::symlink(&kept, folder.path().join(LOG_LINK)).expect("a link");
        drop(folder);
        assert!(kept.exists());
    }

    #[test]
    fn a_path_without_a_directory_is_an_error_that_names_it() {
        let parent = Scratch::new().expect("a directory");
        let error = PrivateFolder::create(&parent.join("none")).expect_err("no directory");
        assert!(
            error
                .to_string()
                .contains("none: cannot be used: No such file"),
            "{error}"
        );
    }
}
