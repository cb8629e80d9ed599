//! A captured sysfs tree in memory, read from compact text.
//!
//! A line that begins with a slash names a folder, or with ` -> ` a link. Indented lines are files of the last folder:
//! `name = text`, `name =x hex bytes`, `name =! error`, `name -> link`. `; ` in a text is a line break.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_device::{Below, Machine, Sysfs, Unread};

enum Entry {
    Folder,
    File(Result<Vec<u8>, String>),
    Link(String),
}

/// The tree, and what is below files.
pub struct Tree {
    entries: BTreeMap<String, Entry>,
    pub below: Vec<(PathBuf, Below)>,
}

impl Tree {
    pub fn parse(text: &str) -> Tree {
        let mut tree = Tree {
            entries: BTreeMap::new(),
            below: Vec::new(),
        };
        let mut folder = String::new();
        for line in text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        {
            match line.strip_prefix("  ") {
                Some(file) => tree.file(&folder, file),
                None => match line.split_once(" -> ") {
                    Some((path, target)) => tree.add(path, Entry::Link(target.to_owned())),
                    None => {
                        folder = line.to_owned();
                        tree.add(line, Entry::Folder);
                    }
                },
            }
        }
        tree
    }

    fn file(&mut self, folder: &str, line: &str) {
        let path = |name: &str| format!("{folder}/{name}");
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
                .or_insert(Entry::Folder);
        }
        self.entries.insert(path.to_owned(), entry);
    }

    fn resolve(&self, path: &str, depth: u32) -> Option<String> {
        if depth > 40 {
            return None;
        }
        let mut real = String::new();
        for part in path
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
        {
            if part == ".." {
                real.truncate(real.rfind('/').unwrap_or(0));
                continue;
            }
            let next = format!("{real}/{part}");
            real = match self.entries.get(&next)? {
                Entry::Link(target) if target.starts_with('/') => {
                    self.resolve(target, depth + 1)?
                }
                Entry::Link(target) => self.resolve(&format!("{real}/{target}"), depth + 1)?,
                Entry::Folder | Entry::File(_) => next,
            };
        }
        Some(real)
    }
}

impl Sysfs for Tree {
    fn bytes(&self, path: &str) -> Result<Vec<u8>, Unread> {
        let real = self.resolve(path, 0).ok_or(Unread::Missing)?;
        match &self.entries[&real] {
            Entry::File(content) => content.clone().map_err(Unread::Failed),
            _ => Err(Unread::Missing),
        }
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Some(real) = self.resolve(folder, 0) else {
            return Vec::new();
        };
        let inside = self
            .entries
            .keys()
            .filter_map(|path| path.strip_prefix(&real)?.strip_prefix('/'));
        inside
            .filter(|rest| !rest.contains('/'))
            .map(str::to_owned)
            .collect()
    }

    fn real(&self, path: &str) -> Option<String> {
        self.resolve(path, 0)
    }
}

impl Machine for Tree {
    fn below(&self, file: &Path) -> Option<Below> {
        self.below
            .iter()
            .find(|(path, _)| path == file)
            .map(|(_, below)| below.clone())
    }
}
