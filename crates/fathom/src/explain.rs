//! `fathom explain`: the meaning of a finding.

use fathom_cli::ExplainArgs;

use crate::cli;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print};

/// Explains the findings given by number or name, or lists all.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ExplainArgs| Ok(explain(&args.codes)))
}

fn explain(codes: &[String]) -> Outcome {
    if codes.is_empty() {
        let all: String = fathom_analyse::by_number()
            .iter()
            .map(|kind| format!("{} {:24} {}\n", kind.id, kind.code, kind.meaning))
            .collect();
        return print(&all);
    }
    let (mut text, mut outcome) = (String::new(), Outcome::Good);
    for code in codes {
        match fathom_analyse::explain(&code.to_uppercase()) {
            Some(kind) => {
                text += &format!(
                    "{} {}\n  {}\n  Why it matters: {}\n  What to do: {}\n",
                    kind.id, kind.code, kind.meaning, kind.importance, kind.remedy
                );
            }
            None => {
                let known = fathom_analyse::FINDINGS
                    .iter()
                    .map(|one| one.code.to_lowercase())
                    .collect::<Vec<_>>();
                let advice = match fathom_plan::closest(code, known.iter().map(String::as_str)) {
                    Some(close) => format!("did you mean {}?", close.to_uppercase()),
                    None => "`fathom explain` lists the findings".to_owned(),
                };
                eprint_line!(
                    "fathom explain: unknown finding '{}': {advice}",
                    code.escape_debug()
                );
                outcome = Outcome::Refused;
            }
        }
    }
    match print(&text) {
        Outcome::Good => outcome,
        failure => failure,
    }
}
