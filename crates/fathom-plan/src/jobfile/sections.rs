//! Sections of a job file, with what each of them sets, as written.

use super::source::{Line, Source};
use super::substitute::{substitute, unset_variables};
use crate::diagnostic::Diagnostic;
use crate::host::{FileReader, HostInfo};
use crate::span::Span;
use crate::text::shorten;
use fathom_model::Personality;

/// Longest name of a section, as in fio.
const LONGEST_NAME: usize = 254;
/// How deep includes may nest.
const DEEPEST_INCLUDE: u32 = 16;
/// Most lines of one job file with all it includes.
const MOST_LINES: usize = 100_000;

/// A job file: what was written.
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
    /// Where the bracket opens.
    pub at: Span,
    /// Whether it sets defaults for the sections below instead of being a job.
    pub is_global: bool,
    /// What it sets, in order.
    pub assignments: Vec<Assignment>,
}

/// `key=value`, or a bare `key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The name as written.
    pub key: String,
    /// Where the name stands.
    pub key_at: Span,
    /// The value, with variables filled in; `None` for a bare name.
    pub value: Option<String>,
    /// Where the value stands; the name for a bare one.
    pub value_at: Span,
}

/// What parsing a file may ask for.
pub(crate) struct Context<'a> {
    pub(crate) host: &'a dyn HostInfo,
    pub(crate) includes: &'a dyn FileReader,
    pub(crate) personality: Personality,
    /// `--section`; empty takes all.
    pub(crate) selected_jobs: &'a [String],
}

/// Parses a job file, reporting every mistake and keeping all that can be understood.
pub(crate) fn parse(
    source: &Source,
    context: &Context<'_>,
    problems: &mut Vec<Diagnostic>,
) -> JobFile {
    let mut parser = Parser {
        context,
        problems,
        sections: Vec::new(),
        place: ParseState::Outside,
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
    place: ParseState,
    lines: usize,
}

impl Parser<'_> {
    fn file(&mut self, source: &Source, depth: u32) {
        for line in source.lines(self.problems) {
            self.lines += 1;
            if self.lines > MOST_LINES {
                self.problems.push(
                    Diagnostic::error(line.at, format!("more than {MOST_LINES} lines"))
                        .advise("do files include each other?"),
                );
                return;
            }
            if line.text.starts_with('[') {
                self.header(&line, depth);
            } else if self.place == ParseState::Inside {
                self.inside(&line, source, depth);
            } else if self.place == ParseState::Outside {
                self.place = ParseState::Skipped;
                let problem = format!("'{}' stands before any section", shorten(&line.text));
                self.problems.push(
                    Diagnostic::error(line.at, problem).advise("begin with [global] or [name]"),
                );
            }
        }
    }

    fn header(&mut self, line: &Line, depth: u32) {
        if depth > 0 {
            self.problems.push(
                Diagnostic::error(line.at.clone(), "an included file may not hold sections")
                    .advise("name it on the command line instead"),
            );
            return;
        }
        let name = self.section_name(line);
        let is_global = name.starts_with("global");
        let skip = !is_global
            && !self.context.selected_jobs.is_empty()
            && !self.context.selected_jobs.contains(&name);
        self.place = if skip {
            ParseState::Skipped
        } else {
            ParseState::Inside
        };
        if !skip {
            self.note_global(line, &name);
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
        if name.len() <= LONGEST_NAME {
            return name;
        }
        let problem = format!("the name of the section has more than {LONGEST_NAME} bytes");
        self.problems
            .push(Diagnostic::error(line.at.clone(), problem));
        name.chars().take(40).collect()
    }

    /// fio takes the last character for the bracket, whatever it is.
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

    fn note_global(&mut self, line: &Line, name: &str) {
        let surprising = name.starts_with("global") && name != "global";
        if surprising && self.context.personality == Personality::Fathom {
            let problem = format!(
                "[{name}] is no job: every section whose name begins with 'global' sets defaults for those below"
            );
            self.problems.push(
                Diagnostic::warning(line.at.clone(), problem)
                    .advise("rename it if it is meant as a job"),
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
        if depth >= DEEPEST_INCLUDE {
            let problem = format!("includes nest deeper than {DEEPEST_INCLUDE}");
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
    fn read_included(&self, target: &str, by: &str) -> Result<(String, Vec<u8>), String> {
        let given = self
            .context
            .includes
            .read(target)
            .map(|bytes| (target.to_owned(), bytes));
        given.or_else(|why| {
            let (folder, _) = by.rsplit_once('/').ok_or_else(|| why.clone())?;
            let beside = format!("{folder}/{target}");
            self.context
                .includes
                .read(&beside)
                .map(|bytes| (beside, bytes))
                .map_err(|_| why)
        })
    }

    fn assignment(&mut self, line: &Line) {
        self.note_unset(line);
        let text = match substitute(&line.text, self.context.host) {
            Ok(text) => text,
            Err(problem) => {
                return self
                    .problems
                    .push(Diagnostic::error(line.at.clone(), problem));
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

    fn note_unset(&mut self, line: &Line) {
        if self.context.personality == Personality::Fio {
            return;
        }
        for name in unset_variables(&line.text, self.context.host) {
            let problem = format!("${{{}}} is not set and becomes nothing", shorten(&name));
            self.problems.push(
                Diagnostic::warning(line.at.clone(), problem).advise(
                    "set it in the environment; shell defaults such as ${X:-y} are not known",
                ),
            );
        }
    }
}

/// The characters before the value of a line whose `=` stands at byte `at`.
fn value_column(text: &str, at: usize) -> usize {
    let blanks = text[at + 1..].len() - text[at + 1..].trim_start().len();
    text[..at + 1 + blanks].chars().count()
}

/// The file an include line names; fio takes any line that begins with the word.
fn include_target(text: &str, personality: Personality) -> Option<&str> {
    let rest = text.strip_prefix("include")?;
    let separator = rest.chars().next()?;
    let separated = separator.is_ascii_whitespace() || separator == '=';
    (separated || personality == Personality::Fio).then(|| rest[separator.len_utf8()..].trim())
}
