//! The modules of a crate and which of them use each other, read from its source files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules below the root of a crate, each with the other modules that its code names as
/// `crate::module` or `crate::Item`, where the root re-exports the item from a module. Tests are
/// left out.
#[derive(Debug, Default)]
pub struct ModuleGraph(BTreeMap<String, BTreeSet<String>>);

impl ModuleGraph {
    /// Reads the sources of the library below `src`.
    ///
    /// # Panics
    /// If a file is not readable.
    #[must_use]
    pub fn of(src: &Path) -> Self {
        let origins = origins(&uncommented(&src.join("lib.rs")));
        let mut files = Vec::new();
        rust_files(src, &mut files);
        let mut graph = ModuleGraph::default();
        for file in files {
            let stem = file
                .strip_prefix(src)
                .expect("below src")
                .with_extension("");
            let parts: Vec<_> = stem.iter().map(|part| part.to_string_lossy()).collect();
            let is_test = |name: &str| name == "testing" || name.ends_with("tests");
            if parts[0] == "lib" || parts.iter().any(|part| is_test(part)) {
                continue;
            }
            let used = graph.0.entry(parts[0].to_string()).or_default();
            for path in code(&file).split("crate::").skip(1) {
                let modules = heads(path)
                    .into_iter()
                    .filter_map(|name| origins.get(&name));
                used.extend(modules.filter(|name| **name != parts[0]).cloned());
            }
        }
        graph
    }

    /// Modules that `module` uses.
    #[must_use]
    pub fn uses(&self, module: &str) -> BTreeSet<String> {
        self.0.get(module).cloned().unwrap_or_default()
    }

    /// The first cycle in the order of names: modules that each use the next, the last of which is
    /// the first again.
    #[must_use]
    pub fn cycle(&self) -> Option<Vec<String>> {
        let mut done = BTreeSet::new();
        self.0
            .keys()
            .find_map(|module| self.cycle_from(&mut vec![module.clone()], &mut done))
    }

    /// A cycle that can be reached from the last module of `path` by way of modules that are not
    /// `done`.
    fn cycle_from(
        &self,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        let last = path.last()?.clone();
        for next in self.uses(&last) {
            if done.contains(&next) {
                continue;
            }
            let seen = path.iter().position(|module| *module == next);
            path.push(next);
            if let Some(start) = seen {
                return Some(path[start..].to_vec());
            }
            if let Some(found) = self.cycle_from(path, done) {
                return Some(found);
            }
            path.pop();
        }
        done.insert(last);
        None
    }
}

fn rust_files(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).expect("the sources are readable");
    for entry in entries {
        let path = entry.expect("the sources are readable").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The text of a file without comments and without its tests.
fn code(file: &Path) -> String {
    let text = uncommented(file);
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.to_owned()
}

fn uncommented(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("the sources are readable");
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// The module behind each name in the root: the modules, and the items that it re-exports from
/// them.
fn origins(root: &str) -> BTreeMap<String, String> {
    let mut origins = BTreeMap::new();
    for line in root.lines() {
        let declared = line
            .split_once("mod ")
            .and_then(|(_, name)| name.strip_suffix(';'));
        if let Some(name) = declared {
            origins.insert(name.to_owned(), name.to_owned());
        }
    }
    for statement in root.split("pub use ").skip(1) {
        let path = statement.split(';').next().unwrap_or_default();
        let path = path
            .trim_start_matches("self::")
            .trim_start_matches("crate::");
        let Some((module, items)) = path.split_once("::") else {
            continue;
        };
        for item in items
            .split(|c: char| !is_name(c))
            .filter(|item| !item.is_empty())
        {
            origins
                .entry(item.to_owned())
                .or_insert_with(|| module.to_owned());
        }
    }
    origins
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The first name of a path, or of each path in a group: `a` of `a::b`, `a` and `c` of `{a::b,
/// c::{d, e}}`.
fn heads(path: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| is_name(*c)).collect::<String>();
    let Some(group) = path.strip_prefix('{') else {
        return vec![name(path)];
    };
    let mut depth = 1;
    let mut found = Vec::new();
    let mut at_start = true;
    for (index, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => at_start = true,
            c if at_start && is_name(c) => {
                found.push(name(&group[index..]));
                at_start = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found() {
        let edges = [("a", "b"), ("b", "c"), ("c", "b")];
        let graph = ModuleGraph(
            edges
                .into_iter()
                .map(|(from, to)| (from.to_owned(), BTreeSet::from([to.to_owned()])))
                .collect(),
        );
        assert_eq!(graph.cycle().expect("b and c"), ["b", "c", "b"]);
    }

    #[test]
    fn groups_and_reexports_are_resolved() {
        assert_eq!(heads("a::b;"), ["a"]);
        assert_eq!(heads("{a::b, c::{d, e}, F};\nuse g"), ["a", "c", "F"]);
        let origins = origins("mod a;\npub mod b;\npub use self::a::{C, d as e};\n");
        assert_eq!(origins["b"], "b");
        assert_eq!((&*origins["C"], &*origins["e"]), ("a", "a"));
    }
}
