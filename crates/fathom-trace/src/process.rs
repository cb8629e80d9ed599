//! Which process a thread belongs to, asked when its first I/O is seen.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// A process, as far as it could be found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Process {
    /// Its number; that of the thread if the thread was gone before it could be asked.
    pub pid: u32,
    /// Its name; that of the thread if the process was gone, and empty if the trace has none.
    pub name: String,
    /// Its control group, such as `/system.slice/postgresql.service`; empty if unknown.
    pub group: String,
    /// The group that limits its memory: the same one in version 2.
    pub memory_group: String,
    /// It is a thread of the kernel, which writes the page cache on behalf of programs.
    pub is_kernel: bool,
}

/// The process of which all threads of the kernel are children.
const KERNEL_PARENT: &str = "2";

/// The processes of threads, remembered.
#[derive(Debug)]
pub struct Processes {
    proc: PathBuf,
    by_thread: HashMap<u32, Process>,
    /// Names from the trace, for threads that are gone.
    names: HashMap<u32, String>,
}

/// Threads that are remembered.
const MOST: usize = 1 << 15;

impl Default for Processes {
    fn default() -> Self {
        Self::of_tree("/proc")
    }
}

impl Processes {
    /// Processes of the file tree `proc`.
    #[must_use]
    pub fn of_tree(proc: impl Into<PathBuf>) -> Self {
        Self {
            proc: proc.into(),
            by_thread: HashMap::new(),
            names: HashMap::new(),
        }
    }

    /// The trace has this name for a thread: a new one, or one whose number belonged to another before.
    pub fn thread(&mut self, thread: u32, name: String) {
        if self.names.len() >= MOST {
            self.names.clear();
        }
        self.by_thread.remove(&thread);
        self.names.insert(thread, name);
    }

    /// The process of a thread.
    pub fn of(&mut self, thread: u32) -> &Process {
        if self.by_thread.len() >= MOST && !self.by_thread.contains_key(&thread) {
            self.by_thread.clear();
        }
        let (proc, names) = (&self.proc, &self.names);
        self.by_thread.entry(thread).or_insert_with(|| {
            let text = |file: &str| {
                fs::read_to_string(proc.join(thread.to_string()).join(file)).unwrap_or_default()
            };
            let status = text("status");
            let field = |name: &str| {
                status
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map(str::trim)
            };
            let pid = field("Tgid:")
                .and_then(|pid| pid.parse().ok())
                .unwrap_or(thread);
            let name = fs::read_to_string(proc.join(pid.to_string()).join("comm"))
                .ok()
                .or_else(|| field("Name:").map(str::to_owned))
                .or_else(|| names.get(&thread).cloned())
                .unwrap_or_default();
            Process {
                pid,
                name: name.trim_end().to_owned(),
                group: control_group(&text("cgroup"), "blkio"),
                memory_group: control_group(&text("cgroup"), "memory"),
                is_kernel: field("PPid:") == Some(KERNEL_PARENT),
            }
        })
    }
}

/// The group of version 2 or, where that is the root, of a controller of version 1.
fn control_group(text: &str, controller: &str) -> String {
    let mut found = "";
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next(), parts.next(), parts.next().unwrap_or(""));
        match controllers {
            Some("") if path != "/" => return path.to_owned(),
            Some(names) if names.split(',').any(|name| name == controller) => found = path,
            _ => {}
        }
    }
    found.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_belongs_to_this_process() {
        let mut processes = Processes::default();
        let thread = std::thread::spawn(|| {
            let link = fs::read_link("/proc/thread-self").unwrap();
            link.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .parse::<u32>()
                .unwrap()
        });
        let pid = std::process::id();
        assert_eq!(processes.of(pid).pid, pid);
        assert!(!processes.of(pid).name.is_empty());
        // A thread that is gone keeps its number and has no name.
        let gone = thread.join().unwrap();
        let process = processes.of(gone);
        assert!(process.pid == gone || process.pid == pid);
        processes.thread(u32::MAX - 2, "gone".to_owned());
        assert_eq!(processes.of(u32::MAX - 2).name, "gone");
        assert_eq!(
            processes.of(u32::MAX - 1),
            &Process {
                pid: u32::MAX - 1,
                ..Process::default()
            }
        );
    }

    #[test]
    fn control_groups_of_both_versions_are_read() {
        assert_eq!(
            control_group("0::/user.slice/a.scope\n", "blkio"),
            "/user.slice/a.scope"
        );
        assert_eq!(
            control_group("4:cpu:/x\n3:blkio:/limited\n0::/\n", "blkio"),
            "/limited"
        );
        assert_eq!(control_group("", "blkio"), "");
    }
}
