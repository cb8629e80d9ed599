//! The known recipes.

use std::path::Path;

use fathom_plan::{Recipe, RecipeError, read_recipe};
use thiserror::Error;

/// Why a suite was not found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnknownSuite {
    /// The recipe of this name is not valid.
    #[error(transparent)]
    Invalid(RecipeError),
    /// There is no recipe of this name.
    #[error(
        "unknown suite '{}'{}; `fathom suite` lists all suites",
        .name.escape_debug(),
        .similar.as_ref().map_or(String::new(), |similar| format!("; did you mean {similar}?"))
    )]
    Unknown {
        /// The requested name.
        name: String,
        /// A recipe with a similar name.
        similar: Option<String>,
    },
}

/// Recipes, and the errors of files that are not valid.
#[derive(Clone, Debug, Default)]
pub struct RecipeLibrary {
    recipes: Vec<Recipe>,
    errors: Vec<RecipeError>,
}

impl RecipeLibrary {
    /// Adds the recipe of a file. It replaces an earlier one of the same name.
    pub fn add(&mut self, file: &str, text: &str) {
        match read_recipe(file, text) {
            Ok(recipe) => {
                self.recipes.retain(|known| known.name != recipe.name);
                self.recipes.push(recipe);
            }
            Err(error) => self.errors.push(error),
        }
    }

    /// Adds why a file or a directory could not be read.
    pub fn add_error(&mut self, file: &str, message: String) {
        self.errors.push(RecipeError {
            file: file.to_owned(),
            line: 0,
            problem: message,
        });
    }

    /// All recipes.
    #[must_use]
    pub fn recipes(&self) -> &[Recipe] {
        &self.recipes
    }

    /// The errors of files that are not valid.
    #[must_use]
    pub fn errors(&self) -> &[RecipeError] {
        &self.errors
    }

    /// The recipe of this name.
    ///
    /// # Errors
    /// When there is none, with a similar name; or the error of a file of this name.
    pub fn find(&self, name: &str) -> Result<&Recipe, UnknownSuite> {
        if let Some(recipe) = self.recipes.iter().find(|recipe| recipe.name == name) {
            return Ok(recipe);
        }
        let file = format!("{name}.toml");
        let invalid = self
            .errors
            .iter()
            .find(|error| Path::new(&error.file).ends_with(&file));
        if let Some(error) = invalid {
            return Err(UnknownSuite::Invalid(error.clone()));
        }
        let names = self.recipes.iter().map(|recipe| recipe.name.as_str());
        Err(UnknownSuite::Unknown {
            name: name.to_owned(),
            similar: fathom_plan::closest(name, names).map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPE: &str = "schema = 1\nname = \"reads\"\ntitle = \"one\"\n[[step]]\nname = \"a\"\n";

    #[test]
    fn a_later_recipe_replaces_an_earlier_one() {
        let mut library = RecipeLibrary::default();
        library.add("a.toml", RECIPE);
        library.add("b.toml", &RECIPE.replace("one", "two"));
        assert_eq!(library.recipes().len(), 1);
        assert_eq!(
            library
                .find("reads")
                .map(|recipe| recipe.title.clone())
                .ok(),
            Some("two".to_owned())
        );
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion_or_the_error_of_its_file() {
        let mut library = RecipeLibrary::default();
        library.add("a.toml", RECIPE);
        library.add("/x/broken.toml", "name =");
        let message = |name: &str| library.find(name).expect_err("unknown").to_string();
        assert_eq!(
            message("raeds"),
            "unknown suite 'raeds'; did you mean reads?; `fathom suite` lists all suites"
        );
        assert!(message("broken").starts_with("/x/broken.toml:1: "));
    }
}
