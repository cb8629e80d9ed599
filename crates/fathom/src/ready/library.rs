//! The profiles of the program and of the user.

use std::path::Path;

use fathom_plan::{Profile, RecipeError, closest, read_profile};

use crate::toml_files::{toml_files, user_directory};

/// Profiles in the program.
const BUILT_IN: [(&str, &str); 12] = [
    (
        "profiles/etcd.toml",
        include_str!("../../../../profiles/etcd.toml"),
    ),
    (
        "profiles/postgresql.toml",
        include_str!("../../../../profiles/postgresql.toml"),
    ),
    (
        "profiles/mysql-innodb.toml",
        include_str!("../../../../profiles/mysql-innodb.toml"),
    ),
    (
        "profiles/kafka.toml",
        include_str!("../../../../profiles/kafka.toml"),
    ),
    (
        "profiles/mongodb.toml",
        include_str!("../../../../profiles/mongodb.toml"),
    ),
    (
        "profiles/elasticsearch.toml",
        include_str!("../../../../profiles/elasticsearch.toml"),
    ),
    (
        "profiles/prometheus.toml",
        include_str!("../../../../profiles/prometheus.toml"),
    ),
    (
        "profiles/sqlite.toml",
        include_str!("../../../../profiles/sqlite.toml"),
    ),
    (
        "profiles/vm-host.toml",
        include_str!("../../../../profiles/vm-host.toml"),
    ),
    (
        "profiles/ci-runner.toml",
        include_str!("../../../../profiles/ci-runner.toml"),
    ),
    (
        "profiles/backup-target.toml",
        include_str!("../../../../profiles/backup-target.toml"),
    ),
    (
        "profiles/video-recorder.toml",
        include_str!("../../../../profiles/video-recorder.toml"),
    ),
];

/// Profiles, and the errors of files that are not valid.
#[derive(Default)]
pub struct ProfileLibrary {
    /// The valid profiles.
    pub profiles: Vec<Profile>,
    /// Why files or directories could not be read.
    pub errors: Vec<RecipeError>,
}

impl ProfileLibrary {
    /// The profiles of the program, of the user's configuration and of `directories`; a later profile replaces an earlier one
    /// of the same name.
    pub fn read(directories: &[String]) -> ProfileLibrary {
        let mut library = ProfileLibrary::default();
        for (file, text) in BUILT_IN {
            library.add(file, text);
        }
        let user_directory = user_directory("profiles");
        let directories = directories.iter().map(Path::new);
        for directory in user_directory.as_deref().into_iter().chain(directories) {
            library.add_directory(directory);
        }
        library
    }

    fn add(&mut self, file: &str, text: &str) {
        match read_profile(file, text) {
            Ok(profile) => {
                self.profiles.retain(|known| known.name != profile.name);
                self.profiles.push(profile);
            }
            Err(error) => self.errors.push(error),
        }
    }

    fn add_error(&mut self, file: &str, problem: String) {
        self.errors.push(RecipeError {
            file: file.to_owned(),
            line: 0,
            problem,
        });
    }

    fn add_directory(&mut self, directory: &Path) {
        let files = match toml_files(directory) {
            Ok(files) => files,
            Err(error) => {
                return self.add_error(&directory.to_string_lossy(), error.to_string());
            }
        };
        for (file, text) in files {
            match text {
                Ok(text) => self.add(&file, &text),
                Err(problem) => self.add_error(&file, problem),
            }
        }
    }

    /// The profile of this name.
    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The profile of this name.
    ///
    /// # Errors
    /// When there is none, with a similar name; or the error of a file of this name.
    pub fn find(&self, name: &str) -> Result<&Profile, String> {
        if let Some(profile) = self.get(name) {
            return Ok(profile);
        }
        let file = format!("{name}.toml");
        let invalid = self
            .errors
            .iter()
            .find(|error| Path::new(&error.file).ends_with(&file));
        if let Some(error) = invalid {
            return Err(error.to_string());
        }
        let names = self.profiles.iter().map(|profile| profile.name.as_str());
        let similar = closest(name, names).map_or(String::new(), |similar| {
            format!("; did you mean {similar}?")
        });
        Err(format!(
            "unknown profile '{}'{similar}; `fathom ready` lists all profiles",
            name.escape_debug()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_valid_and_names_its_sources() {
        let library = ProfileLibrary::read(&[]);
        assert_eq!(library.errors, Vec::new());
        for (file, _) in BUILT_IN {
            let name = file
                .trim_start_matches("profiles/")
                .trim_end_matches(".toml");
            let profile = library.get(name).expect("named as its file");
            assert!(!profile.sources.is_empty(), "{name} has no source");
            let checks = profile.steps.iter().flat_map(|step| &step.checks);
            for check in checks {
                assert!(
                    check.source.is_some(),
                    "{name}: {} has no source",
                    check.title
                );
                assert!(
                    check.advice.is_some(),
                    "{name}: {} has no advice",
                    check.title
                );
            }
        }
    }
}
