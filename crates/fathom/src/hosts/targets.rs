//! The targets of an experiment on several hosts: paths of the agents, about which this host knows nothing.

use std::path::{Path, PathBuf};

use fathom_cli::HostsOptions;
use fathom_model::Bytes;
use fathom_plan::HostInfo as _;

use super::HOST_VARIABLE;
use crate::experiment_target::{ExperimentTarget, TargetRequest};
use crate::session::Session;

/// Size of a created file without `--size`. The free space of the agents is not known here.
const SIZE: u64 = 1 << 30;

/// The target of a path: of this host, or with `--hosts` of the agents.
///
/// # Errors
/// When the path cannot be measured.
pub fn resolve_target_of(
    session: &Session,
    hosts: &HostsOptions,
    request: TargetRequest<'_>,
) -> Result<ExperimentTarget, String> {
    match hosts.hosts {
        Some(_) => resolve_target(session, request),
        None if request.path.to_string_lossy().contains(HOST_VARIABLE) => Err(format!(
            "{}: {HOST_VARIABLE} needs --hosts",
            request.path.display()
        )),
        None => crate::experiment_target::resolve_target(session, request),
    }
}

/// The target of a path of the agents. In a directory each host gets a file of its own, because a directory may be shared.
///
/// # Errors
/// When nothing may be written, and the path is a directory.
fn resolve_target(
    session: &Session,
    request: TargetRequest<'_>,
) -> Result<ExperimentTarget, String> {
    let path = request.path;
    let is_directory =
        path.as_os_str().as_encoded_bytes().ends_with(b"/") || session.is_directory(path);
    if is_directory && request.read_only {
        return Err(format!(
            "{} is a directory, and --read-only creates no file in it: give a file or a device to read",
            path.display()
        ));
    }
    let made = is_directory || request.create;
    // An agent has a working directory of its own.
    let path_of_agent = if path.is_absolute() {
        path.to_owned()
    } else {
        std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?
    };
    Ok(ExperimentTarget {
        file: if is_directory {
            path_of_agent.join(of_host(request.name))
        } else {
            path_of_agent
        },
        display_name: path.display().to_string(),
        size: request.size.or(made.then_some(Bytes::new(SIZE))),
        writes: made && !request.read_only,
        made,
    })
}

/// `fathom-sweep.data` as `fathom-sweep-${FATHOM_HOST}.data`.
fn of_host(name: &str) -> PathBuf {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "data"));
    format!("{stem}-{HOST_VARIABLE}.{extension}").into()
}

/// A path as the value of `filename`. It may contain the name of the host.
///
/// # Errors
/// When a job file cannot contain the name.
pub fn target_value(file: &Path) -> Result<String, String> {
    let invalid = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = file
        .to_str()
        .ok_or_else(|| invalid(&"the name is not text in UTF-8"))?;
    fathom_plan::file_value(Path::new(&text.replace(HOST_VARIABLE, "host")))
        .map_err(|error| invalid(&error))?;
    Ok(text.replace(':', "\\:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str) -> TargetRequest<'_> {
        TargetRequest {
            path: Path::new(path),
            name: "fathom-sweep.data",
            size: None,
            read_only: false,
            create: false,
        }
    }

    /// A directory gets a file of each host, which is written and removed; anything else exists there and is only read.
    #[test]
    fn a_directory_gets_a_file_for_each_host() {
        let resolve = |request| resolve_target(&Session::on_this_machine(), request);
        let made = resolve(request("/not/here/")).expect("a directory");
        assert_eq!(
            (made.file.to_str(), made.writes && made.made),
            (Some("/not/here/fathom-sweep-${FATHOM_HOST}.data"), true)
        );
        let device = resolve(request("/dev/nvme0n1")).expect("a device");
        assert_eq!(
            (device.size, device.writes, device.made),
            (None, false, false)
        );
        let read_only = TargetRequest {
            read_only: true,
            ..request("/not/here/")
        };
        assert!(resolve(read_only).is_err());
    }

    #[test]
    fn a_name_may_contain_the_host_and_no_other_variable() {
        let value = |name: &str| target_value(Path::new(name));
        assert_eq!(
            value("/a:b/${FATHOM_HOST}").as_deref(),
            Ok("/a\\:b/${FATHOM_HOST}")
        );
        assert!(value("/a/${HOME}").is_err() && value("/a\\b").is_err());
    }
}
