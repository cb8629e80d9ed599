//! `fathom report`: one file that tells everything about results, and opens offline.

use std::path::Path;

use fathom_analyse::report;
use fathom_chart::{report_markdown, report_page};

use crate::outcome::Outcome;
use crate::print::{eprint_line, print};
use crate::result_store::StoreChoice;
use crate::results::told_of;

const HELP: &str = "\
usage: fathom report RESULT.json|FOLDER|RUN... -o FILE.html|md [OPTIONS]

Writes one file about results of fathom or fio: verdict and findings first, the figures
of every job, charts with the tables behind them, device, host and conditions, and the
plan to repeat it. The page needs no network and no server. A folder is searched for
results; RUN is a name that `fathom runs` lists, such as r12, r12.3 or latest.

  -o, --output=FILE   where to; .html or .md; can be repeated
  --title=TEXT        in place of its own
  --store=FILE        another store than your own
";

/// What was asked for.
#[derive(Default)]
struct ReportArgs {
    results: Vec<String>,
    outputs: Vec<String>,
    title: Option<String>,
    store: StoreChoice,
}

/// Writes the report that the arguments ask for.
pub fn command(words: &[String]) -> Outcome {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return help();
    }
    match asked(words).and_then(|asked| written(&asked)) {
        Ok(()) => Outcome::Good,
        Err(trouble) => {
            eprint_line!("fathom report: {trouble}");
            Outcome::Refused
        }
    }
}

/// How it is used.
pub fn help() -> Outcome {
    print(HELP)
}

fn asked(words: &[String]) -> Result<ReportArgs, String> {
    let (mut asked, mut rest) = (ReportArgs::default(), words.iter());
    while let Some(word) = rest.next() {
        if asked.store.take(word, &mut rest)? {
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        match name {
            "-o" | "--output" | "--title" => {
                let value = value
                    .or_else(|| rest.next().cloned())
                    .ok_or(format!("{name}: needs a value"))?;
                if name == "--title" {
                    asked.title = Some(value)
                } else {
                    asked.outputs.push(value)
                }
            }
            other if other.starts_with('-') => {
                return Err(format!(
                    "there is no option '{}'; `fathom report --help` lists them",
                    other.escape_debug()
                ));
            }
            _ => asked.results.push(word.clone()),
        }
    }
    if asked.results.is_empty() {
        return Err("which results? `fathom report RESULT.json -o report.html`".into());
    }
    if asked.outputs.is_empty() {
        return Err("where to? `-o FILE.html` or .md".into());
    }
    Ok(asked)
}

fn written(asked: &ReportArgs) -> Result<(), String> {
    let told = told_of(&asked.results, &asked.store)?;
    let report = report(&told, asked.title.as_deref());
    for file in &asked.outputs {
        let text = match Path::new(file)
            .extension()
            .and_then(|ending| ending.to_str())
        {
            Some("html" | "htm") => report_page(&report).map_err(|error| error.to_string())?,
            Some("md") => report_markdown(&report),
            _ => return Err(format!("{file}: the name ends in .html or .md")),
        };
        std::fs::write(file, text).map_err(|error| format!("{file} cannot be written: {error}"))?;
    }
    Ok(())
}
