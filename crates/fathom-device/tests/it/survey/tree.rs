//! A captured sysfs tree in memory, parsed from compact text.
//!
//! A line that starts with a slash is a directory, or with ` -> ` a link. Indented lines are files
//! of the last directory: `name = text`, `name =x hex bytes`, `name =! error`, `name -> link`. `; `
//! in a text is a newline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_device::{BackingDevices, Machine, ReadFailure, Sysfs};

enum Entry {
    Directory,
    File(Result<Vec<u8>, String>),
    Link(String),
}

/// The tree, and the file systems and devices below files.
pub struct Tree {
    entries: BTreeMap<String, Entry>,
    pub backing_devices: Vec<(PathBuf, BackingDevices)>,
}

impl Tree {
    pub fn parse(text: &str) -> Tree {
        let mut tree = Tree {
            entries: BTreeMap::new(),
            backing_devices: Vec::new(),
        };
        let mut directory = String::new();
        for line in text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        {
            match line.strip_prefix("  ") {
                Some(file) => tree.file(&directory, file),
                None => match line.split_once(" -> ") {
                    Some((path, target)) => tree.add(path, Entry::Link(target.to_owned())),
                    None => {
                        directory = line.to_owned();
                        tree.add(line, Entry::Directory);
                    }
                },
            }
        }
        tree
    }

    fn file(&mut self, directory: &str, line: &str) {
        let path = |name: &str| format!("{directory}/{name}");
        if let Some((name, target)) = line.split_once(" -> ") {
            return self.add(&path(name), Entry::Link(target.to_owned()));
        }
        let (name, value) = line.split_once(" =").expect("name = value");
        let content = match value.split_at(1) {
            ("x", hex) => Ok(hex
                .split_whitespace()
                .map(|byte| u8::from_str_radix(byte, 16).expect("hex"))
                .collect()),
            ("!", error) => Err(error.trim().to_owned()),
            (_, text) => Ok(format!("{}\n", text.replace("; ", "\n")).into_bytes()),
        };
        self.add(&path(name), Entry::File(content));
    }

    fn add(&mut self, path: &str, entry: Entry) {
        let mut end = 0;
        while let Some(slash) = path[end + 1..].find('/') {
            end += slash + 1;
            self.entries
                .entry(path[..end].to_owned())
                .or_insert(Entry::Directory);
        }
        self.entries.insert(path.to_owned(), entry);
    }

    fn resolve(&self, path: &str, depth: u32) -> Option<String> {
        if depth > 40 {
            return None;
        }
        let mut canonicalize = String::new();
        for part in path
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
        {
            if part == ".." {
                canonicalize.truncate(canonicalize.rfind('/').unwrap_or(0));
                continue;
            }
            let next = format!("{canonicalize}/{part}");
            canonicalize = match self.entries.get(&next)? {
                Entry::Link(target) if target.starts_with('/') => {
                    self.resolve(target, depth + 1)?
                }
                Entry::Link(target) => {
                    self.resolve(&format!("{canonicalize}/{target}"), depth + 1)?
                }
                Entry::Directory | Entry::File(_) => next,
            };
        }
        Some(canonicalize)
    }
}

impl Sysfs for Tree {
    fn bytes(&self, path: &str) -> Result<Vec<u8>, ReadFailure> {
        let canonicalize = self.resolve(path, 0).ok_or(ReadFailure::Missing)?;
        match &self.entries[&canonicalize] {
            Entry::File(content) => content.clone().map_err(ReadFailure::Failed),
            _ => Err(ReadFailure::Missing),
        }
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let Some(canonicalize) = self.resolve(directory, 0) else {
            return Vec::new();
        };
        let inside = self
            .entries
            .keys()
            .filter_map(|path| path.strip_prefix(&canonicalize)?.strip_prefix('/'));
        inside
            .filter(|rest| !rest.contains('/'))
            .map(str::to_owned)
            .collect()
    }

    fn canonicalize(&self, path: &str) -> Option<String> {
        self.resolve(path, 0)
    }
}

impl Machine for Tree {
    fn backing_devices(&self, file: &Path) -> Option<BackingDevices> {
        self.backing_devices
            .iter()
            .find(|(path, _)| path == file)
            .map(|(_, backing_devices)| backing_devices.clone())
    }
}
