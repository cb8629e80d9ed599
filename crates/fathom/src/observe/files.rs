//! `--files`: which file a request belongs to: by the tracepoints of its file system, or by maps of where files are.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_linux::BlockMap;
use fathom_trace::{BlockDevices, DeviceNumber, FileId, FileIo, FileMapSource, FileRange};

use super::file_systems::TracedFileSystems;
use crate::print::eprint_line;

/// Files that are named.
const MOST: usize = 100_000;
/// Files without a name whose name is looked for at a time: each takes a look at the open files of a process.
const MOST_AT_ONCE: usize = 256;
/// Maps are made again at most this often, and take at most a twentieth of the time.
const AGAIN: Duration = Duration::from_secs(1);
/// What the kernel adds to the name of a removed file.
const REMOVED: &str = " (deleted)";
const SHARE: u32 = 20;

/// The files that are named.
pub struct NamedFiles {
    files: Vec<PathBuf>,
    known: HashMap<PathBuf, u32>,
    roots: Vec<PathBuf>,
    /// Without symbolic links, as the kernel names open files.
    real_roots: Vec<PathBuf>,
    pids: Vec<u32>,
    traced: TracedFileSystems,
    next: Instant,
    problem: Option<String>,
}

impl NamedFiles {
    /// The files at and below these paths, and those that these processes have open.
    ///
    /// # Errors
    /// When a path does not exist.
    pub fn new(
        roots: &[PathBuf],
        pids: &[u32],
        devices: &[DeviceNumber],
        known: &BlockDevices,
    ) -> Result<Self, String> {
        let mut real_roots = Vec::new();
        for root in roots {
            let real = root
                .canonicalize()
                .map_err(|error| format!("--files: {}: {error}", root.display()))?;
            real_roots.push(real);
        }
        Ok(Self {
            files: Vec::new(),
            known: HashMap::new(),
            roots: roots.to_vec(),
            real_roots,
            pids: pids.to_vec(),
            traced: TracedFileSystems::on(devices, known),
            next: Instant::now(),
            problem: None,
        })
    }

    /// The file systems whose tracepoints name files.
    pub fn file_maps(&self) -> Vec<(FileMapSource, DeviceNumber)> {
        self.traced.sources.clone()
    }

    /// The first look, before the first event.
    pub fn begin(&mut self, io: &mut FileIo) {
        io.set_file_systems(self.traced.places.clone());
        self.look(io);
    }

    /// Names files that tracepoints saw, and looks where the files are now, if the last look was long enough ago.
    pub fn refresh(&mut self, io: &mut FileIo) {
        self.name_unknown(io);
        if Instant::now() >= self.next {
            self.look(io);
        }
    }

    /// The last look, after the last event.
    pub fn finish(&mut self, io: &mut FileIo) {
        self.name_unknown(io);
        self.look(io);
    }

    /// Looks where the files are now.
    fn look(&mut self, io: &mut FileIo) {
        let start = Instant::now();
        let mut found = Vec::new();
        for root in &self.roots {
            add_files(root, &mut found);
        }
        for pid in &self.pids {
            let open = std::fs::read_dir(format!("/proc/{pid}/fd"));
            for entry in open.into_iter().flatten().flatten() {
                if let Ok(path) = std::fs::read_link(entry.path())
                    && path.is_absolute()
                    && path.metadata().is_ok_and(|metadata| metadata.is_file())
                {
                    found.push(path);
                }
            }
        }
        let mut seen = HashSet::new();
        found.retain(|path| !self.known.contains_key(path) && seen.insert(path.clone()));
        found.sort_unstable();
        for path in found {
            self.number(path);
        }
        let (mut ranges, mut ids) = (Vec::new(), Vec::new());
        for (file, path) in (0..).zip(&self.files) {
            ids.extend(path.metadata().ok().map(|found| (file_id(&found), file)));
            match BlockMap::of(path) {
                Ok(map) => {
                    let device = DeviceNumber::new(map.disk.0, map.disk.1);
                    ranges.extend(map.ranges().into_iter().map(|range| FileRange {
                        device,
                        start: range.start,
                        end: range.end,
                        file,
                    }));
                }
                Err(error) if path.exists() => {
                    self.problem
                        .get_or_insert_with(|| format!("{}: {error}", path.display()));
                }
                Err(_) => {}
            }
        }
        let names = self.files.iter().map(|path| path.display().to_string());
        io.set(names.collect(), ranges, ids);
        self.next = Instant::now() + AGAIN.max(start.elapsed() * SHARE);
    }

    /// The number of a file; `None` beyond those that are named.
    fn number(&mut self, path: PathBuf) -> Option<u32> {
        if let Some(number) = self.known.get(&path) {
            return Some(*number);
        }
        let number = u32::try_from(self.files.len()).ok()?;
        if self.files.len() >= MOST {
            return None;
        }
        self.files.push(path.clone());
        self.known.insert(path, number);
        Some(number)
    }

    /// Files that a tracepoint saw and that no look has found: they are new, or have been removed while they are open. The process
    /// that uses one has its name.
    fn name_unknown(&mut self, io: &mut FileIo) {
        for (id, thread) in io.take_unknown().into_iter().take(MOST_AT_ONCE) {
            let Some(path) = open_file(thread, id) else {
                continue;
            };
            let is_below = self.real_roots.iter().any(|root| path.starts_with(root));
            if !is_below && !self.pids.contains(&thread) {
                continue;
            }
            if let Some(number) = self.number(self.as_asked(path)) {
                let name = self.files[number as usize].display().to_string();
                if name.ends_with(REMOVED) {
                    io.name_removed(id, number, &name);
                } else {
                    io.name(id, number, &name);
                }
            }
        }
    }

    /// The path below the root as it was given.
    fn as_asked(&self, path: PathBuf) -> PathBuf {
        let roots = self.roots.iter().zip(&self.real_roots);
        let mut below = roots.filter_map(|(root, real)| match path.strip_prefix(real) {
            Ok(rest) if rest.as_os_str().is_empty() => Some(root.clone()),
            Ok(rest) => Some(root.join(rest)),
            Err(_) => None,
        });
        below.next().unwrap_or(path)
    }

    /// Says what could not be named.
    pub fn report(&self) {
        if let Some(problem) = &self.problem {
            eprint_line!("fathom observe: --files: the place on the device is unknown: {problem}");
        }
        if self.files.len() >= MOST {
            eprint_line!("fathom observe: --files: only the first {MOST} files are named");
        }
    }
}

fn file_id(metadata: &std::fs::Metadata) -> FileId {
    let raw = metadata.dev();
    FileId {
        file_system: DeviceNumber::new(rustix::fs::major(raw), rustix::fs::minor(raw)),
        inode: metadata.ino(),
    }
}

/// The name of a file that a thread has open; of one that was removed it ends with ` (deleted)`.
fn open_file(thread: u32, id: FileId) -> Option<PathBuf> {
    let open = std::fs::read_dir(format!("/proc/{thread}/fd")).ok()?;
    let found = open.flatten().find(|entry| {
        std::fs::metadata(entry.path()).is_ok_and(|metadata| file_id(&metadata) == id)
    })?;
    std::fs::read_link(found.path()).ok()
}

/// The file, or the files below the directory; symbolic links are not followed.
fn add_files(path: &Path, found: &mut Vec<PathBuf>) {
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if found.len() >= MOST {
            return;
        }
        let Ok(metadata) = path.symlink_metadata() else {
            continue;
        };
        if metadata.is_file() {
            found.push(path);
        } else if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        }
    }
}
