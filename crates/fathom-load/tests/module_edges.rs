//! The modules of this crate depend on each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// For each module the other modules that its code names as `crate::module`, tests left out.
type Edges = BTreeMap<String, BTreeSet<String>>;

fn rust_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("the sources are readable") {
        let path = entry.expect("the sources are readable").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
}

fn edges(src: &Path) -> Edges {
    let mut files = Vec::new();
    rust_files(src, &mut files);
    let mut edges = Edges::new();
    for file in files {
        let relative = file.strip_prefix(src).expect("below src");
        let stem = relative.with_extension("");
        let mut parts = stem.iter().map(|part| part.to_string_lossy());
        let module = parts.next().expect("a file name").into_owned();
        let is_test = |name: &str| name == "testing" || name.ends_with("tests");
        if module == "lib" || is_test(&module) || parts.any(|part| is_test(&part)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("UTF-8");
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for line in code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            for used in line.split("crate::").skip(1) {
                let name: String = used
                    .chars()
                    .take_while(|c| c.is_ascii_lowercase() || *c == '_')
                    .collect();
                if !name.is_empty() && name != module {
                    edges.entry(module.clone()).or_default().insert(name);
                }
            }
        }
    }
    edges
}

/// A cycle that can be reached from the last module of `path`.
fn cycle(edges: &Edges, path: &mut Vec<String>) -> Option<Vec<String>> {
    let last = path.last()?.clone();
    for next in edges.get(&last).into_iter().flatten() {
        let seen = path.iter().position(|module| module == next);
        path.push(next.clone());
        if let Some(start) = seen {
            return Some(path[start..].to_vec());
        }
        if let Some(found) = cycle(edges, path) {
            return Some(found);
        }
        path.pop();
    }
    None
}

#[test]
fn modules_form_no_cycle() {
    let edges = edges(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(
        edges["coordinator"].contains("worker"),
        "the edges are not found: {edges:?}"
    );
    for module in edges.keys() {
        let found = cycle(&edges, &mut vec![module.clone()]);
        assert_eq!(found, None, "modules that use each other");
    }
}

#[test]
fn a_cycle_is_found() {
    let edges: Edges = [("a", "b"), ("b", "c"), ("c", "b")]
        .into_iter()
        .map(|(from, to)| (from.to_owned(), BTreeSet::from([to.to_owned()])))
        .collect();
    let found = cycle(&edges, &mut vec!["a".to_owned()]);
    assert_eq!(found.expect("b and c"), ["b", "c", "b"]);
}
