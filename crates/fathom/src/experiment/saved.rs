//! What an experiment set out to do, as a text of lines `name=value`: everything that is needed to take it up again.

use fathom_model::Bytes;

use crate::experiment_target::ExperimentTarget;

/// Names and values in order; a name may stand several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved(Vec<(String, String)>);

impl Saved {
    /// The arguments, the folder they were given in, and the targets as they are.
    ///
    /// # Errors
    /// When the current folder is not known.
    pub fn of(arguments: &[String], subjects: &[ExperimentTarget]) -> Result<Saved, String> {
        let mut saved = Saved::default();
        let folder =
            std::env::current_dir().map_err(|error| format!("the current folder: {error}"))?;
        saved.push("folder", folder.display().to_string());
        arguments
            .iter()
            .for_each(|argument| saved.push("argument", argument.as_str()));
        for subject in subjects {
            saved.push("subject-file", subject.file.display().to_string());
            saved.push(
                "subject-size",
                subject
                    .size
                    .map_or(String::new(), |size| size.get().to_string()),
            );
            saved.push("subject-writes", subject.writes.to_string());
            saved.push("subject-made", subject.made.to_string());
            saved.push("subject-called", subject.called.as_str());
        }
        Ok(saved)
    }

    /// Goes to the folder again; the arguments.
    ///
    /// # Errors
    /// When the folder is not there any more.
    pub fn enter(&self) -> Result<Vec<String>, String> {
        let folder = self
            .one("folder")
            .ok_or("the run does not say where it ran")?;
        std::env::set_current_dir(folder)
            .map_err(|error| format!("{folder}: {error}; the run was begun there"))?;
        Ok(self.all("argument").map(str::to_owned).collect())
    }

    /// The targets as they were when the experiment began.
    pub fn subjects(&self) -> Vec<ExperimentTarget> {
        let files = self.all("subject-file").zip(self.all("subject-size"));
        let flags = self.all("subject-writes").zip(self.all("subject-made"));
        let called: Vec<&str> = self.all("subject-called").collect();
        let subject =
            |(at, ((file, size), (writes, made))): (usize, ((&str, &str), (&str, &str)))| {
                ExperimentTarget {
                    file: file.into(),
                    called: called.get(at).copied().unwrap_or(file).to_owned(),
                    size: size.parse().ok().map(Bytes::new),
                    writes: writes == "true",
                    made: made == "true",
                }
            };
        files.zip(flags).enumerate().map(subject).collect()
    }

    /// A job file that is kept whole.
    pub fn push_job_file(&mut self, (name, text): &(String, String)) {
        self.push("job-file", name.as_str());
        self.push("job-file-text", text.as_str());
    }

    /// The job file, where it had one.
    pub fn job_file(&self) -> Option<(String, String)> {
        self.one("job-file")
            .zip(self.one("job-file-text"))
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
    pub fn one(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// As a text.
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

    /// From a text that [`Saved::write`] made.
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
    fn what_is_saved_comes_back() {
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
                saved.one("folder"),
                saved.all("argument").count(),
                saved.one("none")
            ),
            (Some("/mnt/x"), 6, None)
        );
    }
}
