//! Where the calling thread and its memory live (NUMA), and commands run for a job.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use fathom_load::HostError;
use fathom_model::{Credentials, MemoryMode, MemoryPolicy, Numa};

use super::error::refused;
use super::{kernel, usage};

/// Binds the calling thread to the CPUs of the nodes, and its memory as the policy says.
pub(super) fn place(numa: &Numa) -> Result<(), HostError> {
    let mut cpus = Vec::new();
    for node in &numa.cpu_nodes {
        cpus.extend(cpus_of(*node)?);
    }
    usage::bind(&cpus)?;
    numa.memory.as_ref().map_or(Ok(()), keep_memory)
}

/// See Documentation/admin-guide/mm/numaperf.rst and `/sys/devices/system/node`.
fn cpus_of(node: u32) -> Result<Vec<u32>, HostError> {
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    let text = std::fs::read_to_string(&path).map_err(|_| {
        let there = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
        refused(
            libc::EINVAL,
            format!(
                "there is no NUMA node {node}; nodes {} are (numa_cpu_nodes=)",
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

fn keep_memory(policy: &MemoryPolicy) -> Result<(), HostError> {
    let mode = match policy.mode {
        MemoryMode::Prefer => kernel::MPOL_PREFERRED,
        MemoryMode::Bind => kernel::MPOL_BIND,
        MemoryMode::Interleave => kernel::MPOL_INTERLEAVE,
        MemoryMode::Local => kernel::MPOL_LOCAL,
    };
    kernel::set_memory_policy(mode, &policy.nodes).map_err(|errno| {
        let nodes = &policy.nodes;
        refused(errno, format!("cannot keep memory on NUMA nodes {nodes:?}; see /sys/devices/system/node/has_memory (numa_mem_policy=)"))
    })
}

/// Names the calling thread and gives it another user and group.
pub(super) fn act_as(person: &Credentials) -> Result<(), HostError> {
    if let Some(name) = person
        .name
        .as_ref()
        .and_then(|name| std::ffi::CString::new(name.as_str()).ok())
    {
        kernel::name_thread(&name);
    }
    kernel::become_user(person.user, person.group).map_err(|errno| {
        refused(
            errno,
            "cannot take another user or group; start as root, or leave out uid= and gid="
                .to_owned(),
        )
    })
}

/// Tells the kernel how long the data of a file will live, where the job says so.
pub(super) fn hint_life(
    fd: BorrowedFd<'_>,
    path: &Path,
    life: Option<u8>,
) -> Result<(), HostError> {
    let Some(life) = life else { return Ok(()) };
    kernel::hint_life(fd, life).map_err(|errno| {
        refused(
            errno,
            format!("{} takes no write_hint=; leave it out", path.display()),
        )
    })
}

/// Runs a command of the user in a shell; what it says goes to the file.
pub(super) fn command(line: &str, output: &Path) -> Result<(), HostError> {
    let told = |error: std::io::Error| {
        refused(
            error.raw_os_error().unwrap_or(libc::EIO),
            format!(
                "cannot run '{line}' with its output in {}",
                output.display()
            ),
        )
    };
    let file = std::fs::File::create(output).map_err(told)?;
    let also = file.try_clone().map_err(told)?;
    let done = Command::new("/bin/sh")
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(also)
        .status()
        .map_err(told)?;
    if done.success() {
        return Ok(());
    }
    Err(refused(
        libc::ECHILD,
        format!(
            "'{line}' ended with {done}; what it said is in {}",
            output.display()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own: what is set stays with the thread.
    fn on_a_thread(numa: Numa) -> Result<(), HostError> {
        std::thread::spawn(move || place(&numa))
            .join()
            .expect("it does not panic")
    }

    #[test]
    fn the_first_node_is_there_and_the_last_one_is_not() {
        if !Path::new("/sys/devices/system/node/node0").exists() {
            return fathom_testkit::skip("this kernel knows no NUMA nodes");
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
                .starts_with("there is no NUMA node 1023; nodes 0"),
            "{}",
            error.what
        );
    }

    #[test]
    fn a_command_leaves_what_it_said_and_how_it_ended() {
        let output =
            std::env::temp_dir().join(format!("fathom-command-{}.txt", std::process::id()));
        command("echo said; echo cried >&2", &output).expect("it succeeds");
        assert_eq!(
            std::fs::read_to_string(&output).expect("it is there"),
            "said\ncried\n"
        );
        let error = command("exit 3", &output).expect_err("it fails");
        assert!(
            error.what.contains("'exit 3' ended with exit status: 3"),
            "{}",
            error.what
        );
        std::fs::remove_file(&output).expect("it was there");
    }
}
