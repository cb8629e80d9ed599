//! Arguments into options and operands, by the rules of getopt_long_only(3).

use fathom_model::Personality;

use super::words::{CommandOption, OBEYED, REFUSED, Takes};
use crate::diagnostic::Diagnostic;
use crate::jobfile::shorten;
use crate::options::{Kind, OptionRow, closest, options};
use crate::span::Span;

/// One argument, or an option with its argument.
#[derive(Clone, Debug)]
pub(super) enum Token {
    /// A job file.
    Operand(String, Span),
    /// An option of the command line.
    Command(&'static CommandOption, Option<String>, Span),
    /// An option fio has and we have not.
    Refused(&'static CommandOption, Span),
    /// An option of a job.
    Job(&'static OptionRow, Option<String>, Span),
}

#[derive(Clone, Copy)]
enum Known {
    Command(&'static CommandOption),
    Refused(&'static CommandOption),
    Job(&'static OptionRow),
}

impl Known {
    fn takes(self) -> Takes {
        match self {
            Known::Command(option) | Known::Refused(option) => option.takes,
            Known::Job(row) if row.kind == Kind::Flag => Takes::MayArgument,
            Known::Job(_) => Takes::Argument,
        }
    }

    fn token(self, argument: Option<String>, at: Span) -> Token {
        match self {
            Known::Command(option) => Token::Command(option, argument, at),
            Known::Refused(option) => Token::Refused(option, at),
            Known::Job(row) => Token::Job(row, argument, at),
        }
    }
}

/// Splits `arguments` into tokens, reporting every option that is not known.
pub(super) fn tokens(
    arguments: &[String],
    personality: Personality,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = (1_u32..).zip(arguments.iter());
    let mut only_operands = false;
    while let Some((number, argument)) = rest.next() {
        let at = Span::Argument(number);
        if only_operands || argument == "-" || !argument.starts_with('-') {
            tokens.push(Token::Operand(argument.clone(), at));
        } else if argument == "--" {
            only_operands = true;
        } else {
            let mut next = || rest.next().map(|(_, argument)| argument.clone());
            tokens.extend(option(argument, at, personality, &mut next, problems));
        }
    }
    tokens
}

fn option(
    argument: &str,
    at: Span,
    personality: Personality,
    next: &mut dyn FnMut() -> Option<String>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Token> {
    let body = argument.trim_start_matches('-');
    let (name, value) = body
        .split_once('=')
        .map_or((body, None), |(name, value)| (name, Some(value.to_owned())));
    let double = argument.starts_with("--");
    let (known, value) = match lookup(name, double, personality) {
        Ok(known) => (known, value),
        Err(problem) => match letter(body, double) {
            Some((known, attached)) => (known, attached),
            None => {
                problems.push(Diagnostic { at, ..problem });
                return None;
            }
        },
    };
    let value = match (known.takes(), value) {
        (Takes::Argument, None) => Some(next().or_else(|| missing(name, &at, problems))?),
        (Takes::Nothing, Some(_)) => {
            problems.push(Diagnostic::error(
                at.clone(),
                format!("--{name} takes no value"),
            ));
            None
        }
        (_, value) => value,
    };
    Some(known.token(value, at))
}

fn missing(name: &str, at: &Span, problems: &mut Vec<Diagnostic>) -> Option<String> {
    problems.push(
        Diagnostic::error(at.clone(), format!("--{} needs a value", shorten(name)))
            .advise(format!("write --{}=VALUE", shorten(name))),
    );
    None
}

fn all_known(personality: Personality) -> impl Iterator<Item = (&'static str, Known)> {
    let ours = personality == Personality::Fathom;
    let obeyed = OBEYED
        .iter()
        .filter(move |option| ours || !option.ours)
        .map(|option| (option.name, Known::Command(option)));
    let refused = REFUSED
        .iter()
        .map(|option| (option.name, Known::Refused(option)));
    let jobs = options().flat_map(|row| {
        [Some(row.name), row.alias]
            .into_iter()
            .flatten()
            .map(move |name| (name, Known::Job(row)))
    });
    obeyed.chain(refused).chain(jobs)
}

/// What a refusal offers works in both personalities. In fio's only by its full name, so that the abbreviations of fio's
/// own options stay what they are.
const CONFIRMS: &str = "destroy";

/// The option of this name, or the only one that begins with it.
fn lookup(name: &str, double: bool, personality: Personality) -> Result<Known, Diagnostic> {
    if let Some((_, known)) = all_known(personality).find(|(full, _)| *full == name) {
        return Ok(known);
    }
    if let Some(option) = OBEYED
        .iter()
        .find(|option| option.name == name && name == CONFIRMS)
    {
        return Ok(Known::Command(option));
    }
    if !double && name.chars().count() < 2 {
        return Err(unknown(name, personality));
    }
    let mut candidates: Vec<(&str, Known)> = all_known(personality)
        .filter(|(full, _)| !name.is_empty() && full.starts_with(name))
        .collect();
    candidates.sort_by_key(|(full, _)| *full);
    match candidates[..] {
        [(_, known)] => Ok(known),
        [] => Err(unknown(name, personality)),
        _ => Err(ambiguous(name, &candidates)),
    }
}

fn ambiguous(name: &str, candidates: &[(&str, Known)]) -> Diagnostic {
    let names: Vec<String> = candidates
        .iter()
        .take(6)
        .map(|(full, _)| format!("--{full}"))
        .collect();
    Diagnostic::error(
        Span::CommandLine,
        format!("--{name} may be several options"),
    )
    .advise(format!("such as {}", names.join(", ")))
}

fn unknown(name: &str, personality: Personality) -> Diagnostic {
    let problem = Diagnostic::error(
        Span::CommandLine,
        format!("--{} is no option", shorten(name)),
    );
    let bounded: String = name.chars().take(64).collect();
    match closest(&bounded, all_known(personality).map(|(full, _)| full)) {
        Some(best) => problem.advise(format!("did you mean --{best}?")),
        None => problem.advise("--help lists those of the command line, --cmdhelp those of jobs"),
    }
}

/// `-o FILE` or `-oFILE`: one letter after a single dash.
fn letter(body: &str, double: bool) -> Option<(Known, Option<String>)> {
    let first = body.chars().next().filter(|_| !double)?;
    let by_letter = |option: &&CommandOption| option.letter == Some(first);
    let known = OBEYED
        .iter()
        .find(by_letter)
        .map(Known::Command)
        .or_else(|| REFUSED.iter().find(by_letter).map(Known::Refused))?;
    let attached = &body[first.len_utf8()..];
    match (attached.is_empty(), known.takes()) {
        (true, _) => Some((known, None)),
        (false, Takes::Nothing) => None,
        (false, _) => Some((known, Some(attached.to_owned()))),
    }
}
