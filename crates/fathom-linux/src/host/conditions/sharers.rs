//! Other processes that have a target open, from `/proc`. Only names are compared; nothing of
//! theirs is opened or waited for.

use std::ffi::OsString;
use std::fs::{read_dir, read_link, read_to_string};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_model::Sharer;

/// Limits of the number of descriptors and of the time, so that a busy host does not delay the end
/// of a run.
const MAX_LINKS: usize = 50_000;
const MAX_TIME: Duration = Duration::from_millis(100);
/// Limit of the processes reported.
const MAX_SHARERS: usize = 16;

/// The other processes that have these files or devices open, as far as they are visible.
pub(super) fn sharers(paths: &[PathBuf]) -> Vec<(usize, Sharer)> {
    let mut found = Vec::new();
    let (started, mut links) = (Instant::now(), 0);
    for process in processes() {
        let entries = read_dir(format!("/proc/{process}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            links += 1;
            if links > MAX_LINKS || started.elapsed() > MAX_TIME || found.len() >= MAX_SHARERS {
                return found;
            }
            let Some(index) = read_link(entry.path())
                .ok()
                .and_then(|to| paths.iter().position(|path| *path == to))
            else {
                continue;
            };
            add(
                &mut found,
                index,
                process,
                writes(process, &entry.file_name()),
            );
        }
    }
    found
}

fn processes() -> impl Iterator<Item = u32> {
    let own = std::process::id();
    let entries = read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(move |process| *process != own)
}

/// One entry per process and target.
fn add(found: &mut Vec<(usize, Sharer)>, index: usize, process: u32, writes: bool) {
    match found
        .iter_mut()
        .find(|(known, sharer)| *known == index && sharer.process == process)
    {
        Some((_, known)) => known.writes |= writes,
        None => found.push((
            index,
            Sharer {
                process,
                name: name(process),
                writes,
                orphan: parent(process) == Some(1),
            },
        )),
    }
}

/// `flags:` in fdinfo is octal; the lowest two bits are the access mode. See proc_pid_fdinfo(5).
fn writes(process: u32, descriptor: &OsString) -> bool {
    let path = Path::new("/proc")
        .join(process.to_string())
        .join("fdinfo")
        .join(descriptor);
    let text = read_to_string(path).unwrap_or_default();
    let flags = text
        .lines()
        .find_map(|line| line.strip_prefix("flags:"))
        .map(str::trim);
    flags
        .and_then(|octal| u32::from_str_radix(octal, 8).ok())
        .is_some_and(|flags| flags & 3 != 0)
}

fn name(process: u32) -> String {
    let text = read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    text.chars().filter(|c| !c.is_control()).take(64).collect()
}

/// The fourth field of `stat`, after the name in parentheses, which may contain anything. See
/// proc_pid_stat(5).
fn parent(process: u32) -> Option<u32> {
    let text = read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use fathom_testkit::Scratch;

    use super::*;

    #[test]
    fn only_other_processes_are_found_with_their_access() {
        let directory = Scratch::new().expect("a directory");
        let path = std::fs::canonicalize(directory.path())
            .expect("a directory")
            .join("data");
        let own = std::fs::File::create(&path).expect("made");
        let paths = [PathBuf::from("/nowhere"), path.clone()];
        assert_eq!(sharers(&paths), [], "our own descriptor");
        for (redirect, writes) in [("<", false), (">>", true)] {
            let script = format!("exec sleep 20 3{redirect}\"$0\"");
            let mut other = Command::new("sh")
                .arg("-c")
                .arg(script)
                .arg(&path)
                .stdin(Stdio::null())
                .spawn()
                .expect("sh");
            let started = Instant::now();
            let found = loop {
                let found = sharers(&paths);
                if found.iter().any(|(_, sharer)| sharer.name == "sleep")
                    || started.elapsed() > Duration::from_secs(10)
                {
                    break found;
                }
            };
            let _ = (other.kill(), other.wait());
            let expected = Sharer {
                process: other.id(),
                name: "sleep".to_owned(),
                writes,
                orphan: false,
            };
            assert_eq!(found, [(1, expected)]);
        }
        drop(own);
    }
}
