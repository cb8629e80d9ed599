//! `${VARIABLE}`, `$mb_memory`, `$ncpus`, `$pagesize`, and the arithmetic that comes with the last three.

use crate::host::HostInfo;
use crate::values::evaluate;

/// Longest line after substitution, as in fio.
const LONGEST: usize = 8191;

/// `line` with variables and keywords replaced.
///
/// # Errors
/// When the result is too long, in words.
pub(crate) fn substitute(line: &str, host: &dyn HostInfo) -> Result<String, String> {
    let line = variables(line, host)?;
    let replaced = keywords(&line, host);
    if replaced.len() > LONGEST {
        return Err(format!(
            "the line has more than {LONGEST} bytes with its variables filled in"
        ));
    }
    Ok(if replaced == line {
        line
    } else {
        computed(&replaced)
    })
}

fn variables(line: &str, host: &dyn HostInfo) -> Result<String, String> {
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
        if out.len() > LONGEST {
            return Err(format!(
                "${{{name}}} makes the line longer than {LONGEST} bytes"
            ));
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
        .replace("$mb_memory", &host.memory_mib().to_string())
        .replace("$ncpus", &host.cpus().to_string())
}

/// Computes the value of `key=value` when it is a sum; leaves anything else alone.
fn computed(line: &str) -> String {
    let Some((key, value)) = line.split_once('=') else {
        return line.to_owned();
    };
    match evaluate(value, |suffix| suffix.is_empty().then_some(1)) {
        Some(n) => format!("{key}={n}"),
        None => line.to_owned(),
    }
}

/// Names of variables in `line` that are not set, for a warning.
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
