//! `fathom report`: one offline page about results.

use fathom_analyse::report;
use fathom_chart::{report_markdown, report_page};
use fathom_cli::ReportArgs;
use fathom_linux::{OutputName, Outputs};

use crate::cli;
use crate::outcome::Outcome;
use crate::results::read_results;

/// Writes the report that the arguments describe.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ReportArgs| {
        write_report(&args).map(|()| Outcome::Good)
    })
}

fn write_report(args: &ReportArgs) -> Result<(), String> {
    let results = read_results(&args.results, &args.store)?;
    let report = report(&results, args.title.as_deref());
    for file in &args.output {
        let text = match file.extension().and_then(|extension| extension.to_str()) {
            Some("html" | "htm") => report_page(&report).map_err(|error| error.to_string())?,
            Some("md") => report_markdown(&report),
            _ => {
                return Err(format!(
                    "{}: unknown format: use the extension .html or .md",
                    file.display()
                ));
            }
        };
        Outputs::default()
            .write(file, OutputName::Explicit, text.as_bytes())
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}
