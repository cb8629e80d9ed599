//! Sections of a job file and their assignments, as written.

use std::io;

use super::source::{Line, Source};
use super::substitute::{substitute, unset_variables};
use crate::diagnostic::Diagnostic;
use crate::host::{FileReader, HostInfo};
use crate::span::Span;
use crate::text::shorten;
use fathom_model::Personality;

/// Maximum length of a section name, as in fio.
const MAX_NAME: usize = 254;
/// Maximum nesting of includes.
const MAX_INCLUDE_DEPTH: u32 = 16;
/// Maximum number of lines of a job file with its includes.
const MAX_LINES: usize = 100_000;

/// A parsed job file.
#[derive(Clone, Debug, Default)]
pub struct JobFile {
    /// Name as given.
    pub name: String,
    /// Sections in order, global ones included.
    pub sections: Vec<Section>,
}

/// `[name]` and the assignments below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name between the brackets.
    pub name: String,
    /// The location of the bracket.
    pub at: Span,
    /// Whether it sets defaults for the sections below instead of being a job.
    pub is_global: bool,
    /// Its assignments, in order.
    pub assignments: Vec<Assignment>,
}

/// `key=value`, or a bare `key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The name as written.
    pub key: String,
    /// The location of the name.
    pub key_at: Span,
    /// The value, with variables filled in; `None` for a bare name.
    pub value: Option<String>,
    /// The location of the value; of the name for a bare one.
    pub value_at: Span,
}

/// Further inputs of the parser.
pub(crate) struct Context<'a> {
    pub(crate) host: &'a dyn HostInfo,
    pub(crate) includes: &'a dyn FileReader,
    pub(crate) personality: Personality,
    /// `--section`; empty takes all.
    pub(crate) selected_jobs: &'a [String],
}

/// Parses a job file, reporting every error and keeping everything that is valid.
pub(crate) fn parse(
    source: &Source,
    context: &Context<'_>,
    problems: &mut Vec<Diagnostic>,
) -> JobFile {
    let mut parser = Parser {
        context,
        problems,
        sections: Vec::new(),
        state: ParseState::Outside,
        lines: 0,
    };
    parser.file(source, 0);
    let sections = parser.sections;
    JobFile {
        name: source.name.to_string(),
        sections,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ParseState {
    Outside,
    Inside,
    Skipped,
}

struct Parser<'a> {
    context: &'a Context<'a>,
    problems: &'a mut Vec<Diagnostic>,
    sections: Vec<Section>,
    state: ParseState,
    lines: usize,
}

impl Parser<'_> {
    fn file(&mut self, source: &Source, depth: u32) {
        for line in source.lines(self.problems) {
            self.lines += 1;
            if self.lines > MAX_LINES {
                self.problems.push(
                    Diagnostic::error(line.at, format!("more than {MAX_LINES} lines"))
                        .advise("do files include each other?"),
                );
                return;
            }
            if line.text.starts_with('[') {
                self.header(&line, depth);
            } else if self.state == ParseState::Inside {
                self.inside(&line, source, depth);
            } else if self.state == ParseState::Outside {
                self.state = ParseState::Skipped;
                let problem = format!("'{}' is outside of any section", shorten(&line.text));
                self.problems.push(
                    Diagnostic::error(line.at, problem).advise("begin with [global] or [name]"),
                );
            }
        }
    }

    fn header(&mut self, line: &Line, depth: u32) {
        if depth > 0 {
            self.problems.push(
                Diagnostic::error(
                    line.at.clone(),
                    "an included file must not contain sections",
                )
                .advise("give it on the command line instead"),
            );
            return;
        }
        let name = self.section_name(line);
        let is_global = name.starts_with("global");
        let skip = !is_global
            && !self.context.selected_jobs.is_empty()
            && !self.context.selected_jobs.contains(&name);
        self.state = if skip {
            ParseState::Skipped
        } else {
            ParseState::Inside
        };
        if !skip {
            self.warn_about_global(line, &name);
            self.sections.push(Section {
                name,
                at: line.at.clone(),
                is_global,
                assignments: Vec::new(),
            });
        }
    }

    fn section_name(&mut self, line: &Line) -> String {
        let inner = &line.text[1..];
        let name = match inner.strip_suffix(']') {
            Some(name) => name.to_owned(),
            None => self.unclosed(line, inner),
        };
        if name.is_empty() && self.context.personality == Personality::Fathom {
            self.problems.push(
                Diagnostic::error(line.at.clone(), "the section has no name")
                    .advise("write [name]"),
            );
        }
        if name.len() <= MAX_NAME {
            return name;
        }
        let problem = format!("the section name has more than {MAX_NAME} bytes");
        self.problems
            .push(Diagnostic::error(line.at.clone(), problem));
        name.chars().take(40).collect()
    }

    /// fio drops the last character, whatever it is.
    fn unclosed(&mut self, line: &Line, inner: &str) -> String {
        let mut name = inner.to_owned();
        if self.context.personality == Personality::Fio && name.pop().is_some() {
            return name;
        }
        let problem = format!("'{}' does not end with ]", shorten(&line.text));
        self.problems
            .push(Diagnostic::error(line.at.clone(), problem).advise("write [name]"));
        name.split(']').next().unwrap_or("").to_owned()
    }

    fn warn_about_global(&mut self, line: &Line, name: &str) {
        let surprising = name.starts_with("global") && name != "global";
        if surprising && self.context.personality == Personality::Fathom {
            let problem = format!(
                "[{name}] is not a job: a section whose name begins with 'global' sets defaults for the sections below"
            );
            self.problems.push(
                Diagnostic::warning(line.at.clone(), problem).advise("rename it if it is a job"),
            );
        }
    }

    fn inside(&mut self, line: &Line, source: &Source, depth: u32) {
        match include_target(&line.text, self.context.personality) {
            Some(target) => self.include(line, target, source, depth),
            None => self.assignment(line),
        }
    }

    fn include(&mut self, line: &Line, target: &str, source: &Source, depth: u32) {
        if depth >= MAX_INCLUDE_DEPTH {
            let problem = format!("includes nest deeper than {MAX_INCLUDE_DEPTH}");
            self.problems.push(
                Diagnostic::error(line.at.clone(), problem).advise("does the file include itself?"),
            );
            return;
        }
        match self.read_included(target, &source.name) {
            Ok((name, bytes)) => match Source::new(&name, bytes) {
                Ok(included) => self.file(&included, depth + 1),
                Err(problem) => self.problems.push(problem),
            },
            Err(why) => self.problems.push(Diagnostic::error(
                line.at.clone(),
                format!("cannot include '{}': {why}", shorten(target)),
            )),
        }
    }

    /// Tries the path as given, then next to the file that includes it.
    fn read_included(&self, target: &str, by: &str) -> io::Result<(String, Vec<u8>)> {
        let reader = self.context.includes;
        let error = match reader.read(target) {
            Ok(bytes) => return Ok((target.to_owned(), bytes)),
            Err(error) => error,
        };
        let Some((directory, _)) = by.rsplit_once('/') else {
            return Err(error);
        };
        let sibling = format!("{directory}/{target}");
        match reader.read(&sibling) {
            Ok(bytes) => Ok((sibling, bytes)),
            Err(_) => Err(error),
        }
    }

    fn assignment(&mut self, line: &Line) {
        self.warn_about_unset(line);
        let text = match substitute(&line.text, self.context.host) {
            Ok(text) => text,
            Err(problem) => {
                return self
                    .problems
                    .push(Diagnostic::error(line.at.clone(), problem.to_string()));
            }
        };
        let value_column = line.text.find('=').map(|at| value_column(&line.text, at));
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key.trim_end().to_owned(), Some(value.to_owned())),
            None => (text, None),
        };
        let value_at = value_column.map_or_else(|| line.at.clone(), |column| line.at.right(column));
        if let Some(section) = self.sections.last_mut() {
            section.assignments.push(Assignment {
                key,
                key_at: line.at.clone(),
                value,
                value_at,
            });
        }
    }

    fn warn_about_unset(&mut self, line: &Line) {
        if self.context.personality == Personality::Fio {
            return;
        }
        for name in unset_variables(&line.text, self.context.host) {
            let problem = format!(
                "${{{}}} is not set and is replaced by nothing",
                shorten(&name)
            );
            self.problems
                .push(Diagnostic::warning(line.at.clone(), problem).advise(
                    "set it in the environment; shell defaults such as ${X:-y} are not supported",
                ));
        }
    }
}

/// The column of the value in a line with `=` at byte `at`.
fn value_column(text: &str, at: usize) -> usize {
    let blanks = text[at + 1..].len() - text[at + 1..].trim_start().len();
    text[..at + 1 + blanks].chars().count()
}

/// The file that an include line names; fio accepts any line that begins with the word.
fn include_target(text: &str, personality: Personality) -> Option<&str> {
    let rest = text.strip_prefix("include")?;
    let separator = rest.chars().next()?;
    let separated = separator.is_ascii_whitespace() || separator == '=';
    (separated || personality == Personality::Fio).then(|| rest[separator.len_utf8()..].trim())
}
