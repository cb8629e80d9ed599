//! A control group of version 1 with limits, removed at the end.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::throttle::own_group;

/// A group below that of this process. Dropped, it is removed, also when the test failed.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    /// Creates an empty group of a controller, such as `memory`.
    ///
    /// # Errors
    /// If the hierarchy is not mounted or not writable.
    pub fn new(controller: &str) -> io::Result<ControlGroup> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fathom-limit-{}-{number}", std::process::id());
        let path = own_group(controller)?.join(name);
        std::fs::create_dir(&path)?;
        Ok(ControlGroup { path })
    }

    /// Writes a limit, such as `memory.limit_in_bytes`.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set(&self, file: &str, value: &str) -> io::Result<()> {
        std::fs::write(self.path.join(file), value)
    }

    /// Reads a file of the group.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn get(&self, file: &str) -> io::Result<String> {
        std::fs::read_to_string(self.path.join(file))
    }

    /// A command that joins the group before it executes `program`.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(r#"echo $$ > "$0" && exec "$@""#);
        command.arg(self.path.join("cgroup.procs")).arg(program);
        command
    }

    /// The directory of the group.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ControlGroup {
    /// An exited process leaves its group a moment after it was waited for: retries for a second.
    fn drop(&mut self) {
        for _ in 0..50 {
            match std::fs::remove_dir(&self.path) {
                Err(e) if e.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                _ => return,
            }
        }
    }
}
