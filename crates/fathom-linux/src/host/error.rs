//! Error messages of the host: what failed, where, and what to do.

use std::io;
use std::path::Path;

use fathom_load::HostError;
use rustix::fs::StatVfs;
use rustix::process::{Resource, getrlimit};

/// "cannot `operation` `path`", with advice if the errno has some.
pub(super) fn failed(operation: &str, path: &Path, error: &io::Error) -> HostError {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    let path = path.display();
    let advice = advice(errno)
        .map(|advice| format!(": {advice}"))
        .unwrap_or_default();
    HostError {
        errno,
        what: format!("cannot {operation} {path}{advice}"),
    }
}

/// An error found before any system call was made, or with a message of its own.
pub(super) fn refused(errno: i32, what: String) -> HostError {
    HostError { errno, what }
}

fn advice(errno: i32) -> Option<String> {
    let text = match errno {
        libc::ENOSPC => {
            "the file system is full; lower size= or choose another location with directory="
        }
        libc::EDQUOT => {
            "the disk quota is used up; lower size= or choose another location with directory="
        }
        libc::EFBIG => {
            "larger than the file system or the file size limit (ulimit -f) allows; lower size="
        }
        libc::EROFS => {
            "the file system is mounted read-only; choose another location with directory="
        }
        libc::EACCES | libc::EPERM => {
            "permission denied; run as its owner or as root, or choose another location with directory="
        }
        libc::ETXTBSY => "it is in use as an executable or as swap space; choose another file",
        libc::EMFILE => return Some(too_many_files()),
        libc::ENFILE => "the system-wide limit of open files is reached (sysctl fs.file-max)",
        libc::ELOOP => "the last component of the path is a symbolic link; name the file itself",
        libc::EIO => "the device failed; see the kernel log",
        _ => return None,
    };
    Some(text.to_owned())
}

fn too_many_files() -> String {
    let limit = getrlimit(Resource::Nofile)
        .current
        .map_or("no".to_owned(), |limit| limit.to_string());
    format!(
        "this process may open {limit} files; raise the limit (ulimit -n), or lower nrfiles= or openfiles="
    )
}

/// Free and required space, for a file that did not fit.
pub(super) fn no_space(path: &Path, wanted: u64, facts: Option<StatVfs>) -> HostError {
    let free = facts.map(|facts| {
        format!(
            ", but {} bytes are free",
            facts.f_bavail.saturating_mul(facts.f_frsize)
        )
    });
    let free = free.unwrap_or_default();
    let path = path.display();
    let advice = "lower size= or choose another location with directory=";
    refused(
        libc::ENOSPC,
        format!("{path} does not fit on its file system: it needs {wanted} bytes{free}; {advice}"),
    )
}
