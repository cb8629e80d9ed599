//! `--files`: where the data of files is on their devices, so that requests get the names of files.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_linux::BlockMap;
use fathom_trace::{DeviceNumber, FileIo, FileRange};

use crate::print::eprint_line;

/// Files that are named.
const MOST: usize = 100_000;
/// Maps are made again at most this often, and take at most a twentieth of the time.
const AGAIN: Duration = Duration::from_secs(1);
const SHARE: u32 = 20;

/// The files that are named.
pub struct NamedFiles {
    files: Vec<PathBuf>,
    roots: Vec<PathBuf>,
    pids: Vec<u32>,
    next: Instant,
    problem: Option<String>,
}

impl NamedFiles {
    /// The files at and below these paths, and those that these processes have open.
    ///
    /// # Errors
    /// When a path does not exist.
    pub fn new(roots: &[PathBuf], pids: &[u32]) -> Result<Self, String> {
        for root in roots {
            root.symlink_metadata()
                .map_err(|error| format!("--files: {}: {error}", root.display()))?;
        }
        Ok(Self {
            files: Vec::new(),
            roots: roots.to_vec(),
            pids: pids.to_vec(),
            next: Instant::now(),
            problem: None,
        })
    }

    /// Looks where the files are now, if the last look was long enough ago.
    pub fn refresh(&mut self, io: &mut FileIo) {
        if Instant::now() >= self.next {
            self.look(io);
        }
    }

    /// Looks where the files are now.
    pub fn look(&mut self, io: &mut FileIo) {
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
        let known: std::collections::HashSet<PathBuf> = self.files.iter().cloned().collect();
        found.retain(|path| !known.contains(path));
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST.saturating_sub(self.files.len()));
        self.files.extend(found);
        let mut ranges = Vec::new();
        for (file, path) in (0..).zip(&self.files) {
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
        io.set(names.collect(), ranges);
        self.next = Instant::now() + AGAIN.max(start.elapsed() * SHARE);
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
