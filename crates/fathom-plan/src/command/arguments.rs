//! Splits arguments into switches, job options and operands, by the rules of getopt_long_only(3).

use fathom_model::Personality;

use super::switches::{ArgumentUse, SUPPORTED, Switch, refused_switches, switches};
use crate::diagnostic::Diagnostic;
use crate::options::{Kind, OptionRow, options};
use crate::span::Span;
use crate::text::{closest, shorten};

/// An operand, or a switch or option with its argument.
#[derive(Clone, Debug)]
pub(super) enum Token {
    /// A job file.
    Operand(String, Span),
    /// A switch of the command line.
    Switch(&'static Switch, Option<String>, Span),
    /// A switch of fio that is not supported.
    Refused(&'static Switch, Span),
    /// An option of a job.
    Job(&'static OptionRow, Option<String>, Span),
}

#[derive(Clone, Copy)]
enum Known {
    Switch(&'static Switch),
    Refused(&'static Switch),
    Job(&'static OptionRow),
}

impl Known {
    fn takes(self) -> ArgumentUse {
        match self {
            Known::Switch(option) | Known::Refused(option) => option.takes,
            Known::Job(row) if row.kind == Kind::Flag => ArgumentUse::Optional,
            Known::Job(_) => ArgumentUse::Required,
        }
    }

    fn token(self, argument: Option<String>, at: Span) -> Token {
        match self {
            Known::Switch(option) => Token::Switch(option, argument, at),
            Known::Refused(option) => Token::Refused(option, at),
            Known::Job(row) => Token::Job(row, argument, at),
        }
    }
}

/// Splits `arguments` into tokens, reporting every unknown option.
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

/// Switches that change which jobs a command line has; all others are about this host, its outputs and its store.
const ABOUT_JOBS: [&str; 7] = [
    "section",
    "readonly",
    "read-only",
    "set",
    "destroy",
    "destroy-all-in",
    "profile",
];

/// The part of a valid command line of `fathom run` that makes its plan, for another host; of `fathom fio`, all but its job
/// files, which differ between clients.
///
/// ```
/// let line = ["job.fio", "--nats=nats://me:secret@h", "--hosts", "a,b", "--set", "iodepth=4", "--name=b", "--rw=read"];
/// let line = line.map(str::to_owned);
/// assert_eq!(
///     fathom_plan::planning_arguments(&line, fathom_model::Personality::Fathom),
///     ["--set=iodepth=4", "--name=b", "--rw=read", "--", "job.fio"]
/// );
/// ```
#[must_use]
pub fn planning_arguments(arguments: &[String], personality: Personality) -> Vec<String> {
    let written = |name: &str, value: Option<String>| match value {
        Some(value) => format!("--{name}={value}"),
        None => format!("--{name}"),
    };
    let (mut options, mut operands) = (Vec::new(), vec!["--".to_owned()]);
    for token in tokens(arguments, personality, &mut Vec::new()) {
        match token {
            Token::Operand(_, _) if personality == Personality::Fio => {}
            Token::Operand(file, _) => operands.push(file),
            Token::Job(row, value, _) => options.push(written(row.name, value)),
            Token::Switch(switch, value, _) if ABOUT_JOBS.contains(&switch.name) => {
                options.push(written(switch.name, value));
            }
            Token::Switch(..) | Token::Refused(..) => {}
        }
    }
    options.extend(operands);
    options
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
        Err(problem) => match letter(body, double, personality) {
            Some((known, attached)) => (known, attached),
            None => {
                problems.push(Diagnostic { at, ..problem });
                return None;
            }
        },
    };
    let value = match (known.takes(), value) {
        (ArgumentUse::Required, None) => Some(next().or_else(|| missing(name, &at, problems))?),
        (ArgumentUse::Never, Some(_)) => {
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
    let supported = switches(personality).map(|switch| (switch.name, Known::Switch(switch)));
    let refused = refused_switches(personality).map(|option| (option.name, Known::Refused(option)));
    let jobs = options().flat_map(|row| {
        [Some(row.name), row.alias]
            .into_iter()
            .flatten()
            .map(move |name| (name, Known::Job(row)))
    });
    supported.chain(refused).chain(jobs)
}

/// The confirmations that a refusal offers, the server of agents, and the simulated machine work in both personalities, in
/// fio's only by their full names, so that the abbreviations of fio's own switches stay the same.
const BY_FULL_NAME: [&str; 9] = [
    "destroy",
    "destroy-all-in",
    "nats",
    "nats-fingerprint",
    "nats-creds",
    "key",
    "machine",
    "link",
    "seed",
];

/// The option of this name, or the only one that begins with it.
fn lookup(name: &str, double: bool, personality: Personality) -> Result<Known, Diagnostic> {
    if let Some((_, known)) = all_known(personality).find(|(full, _)| *full == name) {
        return Ok(known);
    }
    if let Some(option) = SUPPORTED
        .iter()
        .find(|option| option.name == name && BY_FULL_NAME.contains(&name))
    {
        return Ok(Known::Switch(option));
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
    Diagnostic::error(Span::CommandLine, format!("--{name} is ambiguous"))
        .advise(format!("it could be {}", names.join(", ")))
}

fn unknown(name: &str, personality: Personality) -> Diagnostic {
    let problem = Diagnostic::error(
        Span::CommandLine,
        format!("unknown option '--{}'", shorten(name)),
    );
    let bounded: String = name.chars().take(64).collect();
    match closest(&bounded, all_known(personality).map(|(full, _)| full)) {
        Some(best) => problem.advise(format!("did you mean --{best}?")),
        None => problem
            .advise("--help lists the options of the command line, --cmdhelp=all those of jobs"),
    }
}

/// `-o FILE` or `-oFILE`: one letter after a single dash.
fn letter(body: &str, double: bool, personality: Personality) -> Option<(Known, Option<String>)> {
    let first = body.chars().next().filter(|_| !double)?;
    let by_letter = |option: &&Switch| option.letter == Some(first);
    let known = switches(personality)
        .find(by_letter)
        .map(Known::Switch)
        .or_else(|| {
            refused_switches(personality)
                .find(by_letter)
                .map(Known::Refused)
        })?;
    let attached = &body[first.len_utf8()..];
    match (attached.is_empty(), known.takes()) {
        (true, _) => Some((known, None)),
        (false, ArgumentUse::Never) => None,
        (false, _) => Some((known, Some(attached.to_owned()))),
    }
}
