//! NUMA placement of the calling thread and its memory, its identity, and commands run for a job.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use fathom_load::HostError;
use fathom_model::{Credentials, MemoryMode, MemoryPolicy, Numa};

use super::error::refused;
use super::{kernel, usage};

/// Binds the calling thread to the CPUs of the nodes, and its memory according to the policy.
pub(super) fn bind_numa(numa: &Numa) -> Result<(), HostError> {
    let mut cpus = Vec::new();
    for node in &numa.cpu_nodes {
        cpus.extend(cpus_of(*node)?);
    }
    usage::bind_cpus(&cpus)?;
    numa.memory.as_ref().map_or(Ok(()), bind_memory)
}

/// See Documentation/admin-guide/mm/numaperf.rst and `/sys/devices/system/node`.
fn cpus_of(node: u32) -> Result<Vec<u32>, HostError> {
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    let text = std::fs::read_to_string(&path).map_err(|_| {
        let there = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
        refused(
            libc::EINVAL,
            format!(
                "NUMA node {node} does not exist; online nodes: {} (numa_cpu_nodes=)",
                there.trim()
            ),
        )
    })?;
    Ok(text.trim().split(',').filter_map(range).flatten().collect())
}

fn range(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    Some(low.parse().ok()?..=high.parse().ok()?)
}

fn bind_memory(policy: &MemoryPolicy) -> Result<(), HostError> {
    let mode = match policy.mode {
        MemoryMode::Prefer => kernel::MPOL_PREFERRED,
        MemoryMode::Bind => kernel::MPOL_BIND,
        MemoryMode::Interleave => kernel::MPOL_INTERLEAVE,
        MemoryMode::Local => kernel::MPOL_LOCAL,
    };
    kernel::set_memory_policy(mode, &policy.nodes).map_err(|errno| {
        let nodes = &policy.nodes;
        refused(errno, format!("cannot place memory on NUMA nodes {nodes:?}; see /sys/devices/system/node/has_memory (numa_mem_policy=)"))
    })
}

/// Names the calling thread and changes its user and group.
pub(super) fn act_as(credentials: &Credentials) -> Result<(), HostError> {
    if let Some(name) = credentials
        .name
        .as_ref()
        .and_then(|name| std::ffi::CString::new(name.as_str()).ok())
    {
        kernel::name_thread(&name);
    }
    kernel::become_user(credentials.user, credentials.group).map_err(|errno| {
        refused(
            errno,
            "cannot change the user or group; start as root, or leave out uid= and gid=".to_owned(),
        )
    })
}

/// Sets the expected lifetime of a file's data, if the job specifies it.
pub(super) fn hint_life(
    fd: BorrowedFd<'_>,
    path: &Path,
    life: Option<u8>,
) -> Result<(), HostError> {
    let Some(life) = life else { return Ok(()) };
    kernel::hint_life(fd, life).map_err(|errno| {
        refused(
            errno,
            format!(
                "{} does not support write_hint=; leave it out",
                path.display()
            ),
        )
    })
}

/// Runs a command of the user in a shell; its output goes to the file.
pub(super) fn command(line: &str, output: &Path) -> Result<(), HostError> {
    let error_for = |error: std::io::Error| {
        refused(
            error.raw_os_error().unwrap_or(libc::EIO),
            format!(
                "cannot run '{line}' with its output in {}",
                output.display()
            ),
        )
    };
    let file = crate::Outputs::default()
        .stream(output, crate::OutputName::Implicit)
        .map_err(|error| error_for(error.into()))?;
    let also = file.try_clone().map_err(error_for)?;
    let status = Command::new("/bin/sh")
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(also)
        .status()
        .map_err(error_for)?;
    if status.success() {
        return Ok(());
    }
    Err(refused(
        libc::ECHILD,
        format!(
            "'{line}' failed with {status}; its output is in {}",
            output.display()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a separate thread, because the settings persist in the thread.
    fn on_a_thread(numa: Numa) -> Result<(), HostError> {
        std::thread::spawn(move || bind_numa(&numa))
            .join()
            .expect("it does not panic")
    }

    #[test]
    fn the_first_node_exists_and_node_1023_does_not() {
        if !Path::new("/sys/devices/system/node/node0").exists() {
            return fathom_testkit::skip("this kernel has no NUMA nodes");
        }
        let with = |node, mode| Numa {
            cpu_nodes: vec![node],
            memory: Some(MemoryPolicy {
                mode,
                nodes: vec![node],
            }),
        };
        for mode in [MemoryMode::Bind, MemoryMode::Prefer, MemoryMode::Interleave] {
            on_a_thread(with(0, mode)).expect("every machine has a node 0");
        }
        on_a_thread(Numa {
            memory: Some(MemoryPolicy {
                mode: MemoryMode::Local,
                nodes: vec![],
            }),
            ..Numa::default()
        })
        .expect("always");
        let error = on_a_thread(with(1023, MemoryMode::Bind)).expect_err("no machine has as many");
        assert!(
            error
                .what
                .starts_with("NUMA node 1023 does not exist; online nodes: 0"),
            "{}",
            error.what
        );
    }

    #[test]
    fn a_command_saves_its_output_and_reports_its_status() {
        let output =
            std::env::temp_dir().join(format!("fathom-command-{}.txt", std::process::id()));
        command("echo said; echo cried >&2", &output).expect("it succeeds");
        assert_eq!(
            std::fs::read_to_string(&output).expect("it is there"),
            "said\ncried\n"
        );
        let error = command("exit 3", &output).expect_err("it fails");
        assert!(
            error.what.contains("'exit 3' failed with exit status: 3"),
            "{}",
            error.what
        );
        std::fs::remove_file(&output).expect("it was there");
    }
}
