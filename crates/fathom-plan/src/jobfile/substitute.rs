//! `${VARIABLE}`, `$mb_memory`, `$ncpus`, `$pagesize`, and arithmetic with the last three.

use thiserror::Error;

use crate::host::HostInfo;
use crate::values::evaluate;

/// The keyword for the memory of the host, in MiB.
pub(crate) const MEMORY: &str = "$mb_memory";

/// Maximum length of a line after substitution, as in fio.
const MAX_LENGTH: usize = 8191;

/// A line that exceeds the limit with its variables filled in.
#[derive(Debug, Error)]
pub(crate) enum LineTooLong {
    /// The line as a whole.
    #[error("the line has more than {MAX_LENGTH} bytes with its variables filled in")]
    AfterSubstitution,
    /// The value of this variable alone.
    #[error("${{{0}}} makes the line longer than {MAX_LENGTH} bytes")]
    Variable(String),
}

/// `line` with variables and keywords replaced.
///
/// # Errors
/// When the result is too long.
pub(crate) fn substitute(line: &str, host: &dyn HostInfo) -> Result<String, LineTooLong> {
    let line = variables(line, host)?;
    let replaced = keywords(&line, host);
    if replaced.len() > MAX_LENGTH {
        return Err(LineTooLong::AfterSubstitution);
    }
    Ok(if replaced == line {
        line
    } else {
        evaluated(&replaced)
    })
}

fn variables(line: &str, host: &dyn HostInfo) -> Result<String, LineTooLong> {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        out.push_str(&rest[..start]);
        let name = &rest[start + 2..start + length];
        out.push_str(&host.variable(name).unwrap_or_default());
        rest = &rest[start + length + 1..];
        if out.len() > MAX_LENGTH {
            return Err(LineTooLong::Variable(name.to_owned()));
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn keywords(line: &str, host: &dyn HostInfo) -> String {
    if !line.contains('$') {
        return line.to_owned();
    }
    line.replace("$pagesize", &host.page_size().to_string())
        .replace(MEMORY, &host.memory_mib().to_string())
        .replace("$ncpus", &host.cpus().to_string())
}

/// Evaluates the value of `key=value` where it is an expression; other lines stay the same.
fn evaluated(line: &str) -> String {
    let Some((key, value)) = line.split_once('=') else {
        return line.to_owned();
    };
    match evaluate(value, |suffix| suffix.is_empty().then_some(1)) {
        Some(n) => format!("{key}={n}"),
        None => line.to_owned(),
    }
}

/// Names of unset variables in `line`, for a warning.
pub(crate) fn unset_variables(line: &str, host: &dyn HostInfo) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        let name = &rest[start + 2..start + length];
        if host.variable(name).is_none() {
            names.push(name.to_owned());
        }
        rest = &rest[start + length + 1..];
    }
    names
}
