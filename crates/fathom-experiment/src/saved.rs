//! The inputs of an experiment as lines `name=value`: everything that a resume needs.

use std::path::Path;

use fathom_model::Bytes;

use crate::target::ExperimentTarget;

/// Names and values in order; a name may occur several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved(Vec<(String, String)>);

impl Saved {
    /// The arguments, the directory in which they were given, and the targets.
    #[must_use]
    pub fn of(arguments: &[String], directory: &Path, targets: &[ExperimentTarget]) -> Saved {
        let mut saved = Saved::default();
        saved.push("folder", directory.display().to_string());
        for argument in arguments {
            saved.push("argument", argument.as_str());
        }
        for target in targets {
            saved.push("subject-file", target.file.display().to_string());
            saved.push(
                "subject-size",
                target
                    .size
                    .map_or(String::new(), |size| size.get().to_string()),
            );
            saved.push("subject-writes", target.writes.to_string());
            saved.push("subject-made", target.made.to_string());
            saved.push("subject-called", target.display_name.as_str());
        }
        saved
    }

    /// The directory in which the run was started.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.first("folder").map(Path::new)
    }

    /// The arguments of the run.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        self.all("argument").map(str::to_owned).collect()
    }

    /// The targets at the start of the experiment.
    #[must_use]
    pub fn targets(&self) -> Vec<ExperimentTarget> {
        let files = self.all("subject-file").zip(self.all("subject-size"));
        let flags = self.all("subject-writes").zip(self.all("subject-made"));
        let display_name: Vec<&str> = self.all("subject-called").collect();
        let target =
            |(index, ((file, size), (writes, made))): (usize, ((&str, &str), (&str, &str)))| {
                ExperimentTarget {
                    file: file.into(),
                    display_name: display_name.get(index).copied().unwrap_or(file).to_owned(),
                    size: size.parse().ok().map(Bytes::new),
                    writes: writes == "true",
                    made: made == "true",
                }
            };
        files.zip(flags).enumerate().map(target).collect()
    }

    /// Adds a job file: its name and its text.
    pub fn push_job_file(&mut self, (name, text): &(String, String)) {
        self.push("job-file", name.as_str());
        self.push("job-file-text", text.as_str());
    }

    /// The name and the text of the job file, if there is one.
    #[must_use]
    pub fn job_file(&self) -> Option<(String, String)> {
        self.first("job-file")
            .zip(self.first("job-file-text"))
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
    }

    /// Adds a value.
    pub fn push(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// All values of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The first value of a name.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Writes it as text.
    #[must_use]
    pub fn write(&self) -> String {
        let escape = |value: &str| {
            value
                .replace('\\', "\\\\")
                .replace('\n', "\\n")
                .replace('\r', "\\r")
        };
        self.0
            .iter()
            .map(|(name, value)| format!("{name}={}\n", escape(value)))
            .collect()
    }

    /// Reads a text of [`Saved::write`].
    #[must_use]
    pub fn read(text: &str) -> Saved {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Saved(
            pairs
                .map(|(name, value)| (name.to_owned(), unescape(value)))
                .collect(),
        )
    }
}

fn unescape(value: &str) -> String {
    let mut text = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_values_are_read_back() {
        let mut saved = Saved::default();
        for value in [
            "plain",
            "",
            "a=b",
            "two\nlines\r\n",
            "back\\slash\\n",
            "[job]\nrw=read\n",
        ] {
            saved.push("argument", value);
        }
        saved.push("folder", "/mnt/x");
        assert_eq!(saved.write().lines().count(), 7);
        assert_eq!(Saved::read(&saved.write()), saved);
        assert_eq!(
            (
                saved.first("folder"),
                saved.all("argument").count(),
                saved.first("none")
            ),
            (Some("/mnt/x"), 6, None)
        );
    }
}
