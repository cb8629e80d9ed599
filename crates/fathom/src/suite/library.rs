//! The recipes of the program and of the user.

use std::path::Path;

use fathom_experiment::RecipeLibrary;

use crate::toml_files::{toml_files, user_directory};

/// Recipes in the program.
const BUILT_IN: [(&str, &str); 18] = [
    (
        "suites/hero.toml",
        include_str!("../../../../suites/hero.toml"),
    ),
    (
        "suites/mysql-16k.toml",
        include_str!("../../../../suites/mysql-16k.toml"),
    ),
    (
        "suites/modern-ssd.toml",
        include_str!("../../../../suites/modern-ssd.toml"),
    ),
    (
        "suites/working-set.toml",
        include_str!("../../../../suites/working-set.toml"),
    ),
    (
        "suites/surface.toml",
        include_str!("../../../../suites/surface.toml"),
    ),
    (
        "suites/block-sizes.toml",
        include_str!("../../../../suites/block-sizes.toml"),
    ),
    (
        "suites/queue-depth.toml",
        include_str!("../../../../suites/queue-depth.toml"),
    ),
    (
        "suites/interference.toml",
        include_str!("../../../../suites/interference.toml"),
    ),
    (
        "suites/ml-training.toml",
        include_str!("../../../../suites/ml-training.toml"),
    ),
    (
        "suites/ml-checkpoint.toml",
        include_str!("../../../../suites/ml-checkpoint.toml"),
    ),
    (
        "suites/kv-cache.toml",
        include_str!("../../../../suites/kv-cache.toml"),
    ),
    (
        "suites/tenants.toml",
        include_str!("../../../../suites/tenants.toml"),
    ),
    (
        "suites/pts-iops.toml",
        include_str!("../../../../suites/pts-iops.toml"),
    ),
    (
        "suites/pts-throughput.toml",
        include_str!("../../../../suites/pts-throughput.toml"),
    ),
    (
        "suites/pts-latency.toml",
        include_str!("../../../../suites/pts-latency.toml"),
    ),
    (
        "suites/pts-wsat.toml",
        include_str!("../../../../suites/pts-wsat.toml"),
    ),
    (
        "suites/pts-hir.toml",
        include_str!("../../../../suites/pts-hir.toml"),
    ),
    (
        "suites/pts-xsr.toml",
        include_str!("../../../../suites/pts-xsr.toml"),
    ),
];

/// The recipes of the program, of the user's configuration and of `directories`; a later recipe replaces an earlier one of the
/// same name.
pub fn recipe_library(directories: &[String]) -> RecipeLibrary {
    let mut library = RecipeLibrary::default();
    for (file, text) in BUILT_IN {
        library.add(file, text);
    }
    let user_directory = user_directory("suites");
    let directories = directories.iter().map(Path::new);
    for directory in user_directory.as_deref().into_iter().chain(directories) {
        add_directory(&mut library, directory);
    }
    library
}

fn add_directory(library: &mut RecipeLibrary, directory: &Path) {
    let files = match toml_files(directory) {
        Ok(files) => files,
        Err(error) => return library.add_error(&directory.to_string_lossy(), error.to_string()),
    };
    for (file, text) in files {
        match text {
            Ok(text) => library.add(&file, &text),
            Err(message) => library.add_error(&file, message),
        }
    }
}
