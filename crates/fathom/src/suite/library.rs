//! The recipes of the program and of the user.

use std::path::{Path, PathBuf};

use fathom_plan::{Recipe, RecipeError, read_recipe};

/// Recipes in the program.
const BUILT_IN: [(&str, &str); 13] = [
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
        "suites/interference.toml",
        include_str!("../../../../suites/interference.toml"),
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
/// The most files read in one directory, and the largest.
const MOST_FILES: usize = 1000;
const LARGEST: u64 = 1 << 20;

/// Recipes, and the errors of files that are not valid.
#[derive(Default)]
pub struct Library {
    pub recipes: Vec<Recipe>,
    pub errors: Vec<RecipeError>,
}

impl Library {
    /// The recipes of the program, of the user's configuration and of `directories`; a later recipe replaces an earlier one
    /// of the same name.
    pub fn read(directories: &[String]) -> Library {
        let mut library = Library::default();
        BUILT_IN
            .iter()
            .for_each(|(name, text)| library.add(name, text));
        if let Some(directory) = user_directory().filter(|directory| directory.is_dir()) {
            library.add_directory(&directory);
        }
        directories
            .iter()
            .for_each(|directory| library.add_directory(Path::new(directory)));
        library
    }

    /// The recipe of this name.
    ///
    /// # Errors
    /// When there is none, with a similar name; the error of a file of this name.
    pub fn find(&self, name: &str) -> Result<&Recipe, String> {
        if let Some(recipe) = self.recipes.iter().rev().find(|recipe| recipe.name == name) {
            return Ok(recipe);
        }
        let file = format!("{name}.toml");
        if let Some(error) = self
            .errors
            .iter()
            .find(|error| Path::new(&error.file).ends_with(&file))
        {
            return Err(error.to_string());
        }
        let names = self.recipes.iter().map(|recipe| recipe.name.as_str());
        let close = fathom_plan::closest(name, names)
            .map_or(String::new(), |close| format!("; did you mean {close}?"));
        Err(format!(
            "unknown suite '{}'{close}; `fathom suite` lists all suites",
            name.escape_debug()
        ))
    }

    fn add(&mut self, name: &str, text: &str) {
        match read_recipe(name, text) {
            Ok(recipe) => {
                self.recipes.retain(|known| known.name != recipe.name);
                self.recipes.push(recipe);
            }
            Err(error) => self.errors.push(error),
        }
    }

    fn add_directory(&mut self, directory: &Path) {
        let mut report = |file: &Path, message: String| {
            self.errors.push(RecipeError {
                file: file.display().to_string(),
                line: 0,
                what: message,
            });
        };
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => return report(directory, error.to_string()),
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .collect();
        paths.sort();
        for path in paths.iter().take(MOST_FILES) {
            match read(path) {
                Ok(text) => self.add(&path.to_string_lossy(), &text),
                Err(message) => self.errors.push(RecipeError {
                    file: path.display().to_string(),
                    line: 0,
                    what: message,
                }),
            }
        }
    }
}

fn user_directory() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = set("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(home.join("fathom/suites"))
}

/// Regular files only: reading a pipe would never end.
fn read(path: &Path) -> Result<String, String> {
    let facts = std::fs::metadata(path).map_err(|error| error.to_string())?;
    match facts.len() {
        _ if !facts.is_file() => Err("it is not a regular file".to_owned()),
        length if length > LARGEST => Err(format!(
            "it has {length} bytes; a recipe may have {LARGEST}"
        )),
        _ => std::fs::read_to_string(path).map_err(|error| error.to_string()),
    }
}
