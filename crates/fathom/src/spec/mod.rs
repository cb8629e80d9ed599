//! `fathom spec`: the data sheet of a device, and whether the device meets it.

mod figure;

use std::path::Path;

use fathom_cli::{ResultOptions, SpecArgs};
use fathom_device::spec::{Library, Sheet, compare, measured_line, report};
use fathom_model::{DeviceFacts, SpecReport};
use fathom_report::{spec_document, spec_text};

use self::figure::Measurement;
use crate::cli;
use crate::codes::Codes;
use crate::guard::Backups;
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, print_to};
use crate::screen;
use crate::session::{Session, marked};
use crate::spec_compare::{choose, named, none_fits};
use crate::specs::library;
use crate::timeout::{TIMEOUT, start_query};

/// Shows a data sheet, and measures its figures on request.
pub fn command(arguments: &[String]) -> Outcome {
    cli::measuring_command(arguments, |session, args: SpecArgs| {
        Ok(spec(session, &args))
    })
}

fn spec(session: &Session, args: &SpecArgs) -> Outcome {
    if args.list_links {
        let text = if args.result.is_json() {
            fathom_report::links_json()
        } else {
            fathom_report::links_text()
        };
        return print_to(args.result.output.as_deref(), &text);
    }
    let library = library(&args.sheets.specs);
    for error in library.errors() {
        eprint_line!("fathom spec: skipped: {error}");
    }
    let named = args.sheets.sheet.as_deref().map(|id| named(id, &library));
    let sheets = match named {
        Some(Ok(sheet)) => vec![sheet],
        Some(Err(problem)) => return refuse(&problem),
        None => library.sheets().iter().collect(),
    };
    match &args.path {
        None => print_to(args.result.output.as_deref(), &list(&sheets)),
        Some(path) => show_device(session, path, args, &library),
    }
}

fn refuse(problem: &str) -> Outcome {
    eprint_line!("fathom spec: {problem}");
    Outcome::Refused
}

fn list(sheets: &[&Sheet]) -> String {
    let line = |sheet: &Sheet| {
        let models = if sheet.models.is_empty() {
            "only by --sheet".to_owned()
        } else {
            sheet.models.join(" | ")
        };
        let figures = if sheet.figures.is_empty() {
            " (no performance figures)"
        } else {
            ""
        };
        format!(
            "{:30} {} {}: {models}{figures}\n",
            sheet.id, sheet.maker, sheet.product
        )
    };
    sheets.iter().copied().map(line).collect()
}

fn show_device(session: &Session, path: &str, args: &SpecArgs, library: &Library) -> Outcome {
    let query_path = path.to_owned();
    let machine = session.clone();
    let query = start_query(move || {
        let path = Path::new(&query_path);
        machine.exists(path).then(|| machine.inspect(path))
    });
    let target = match query.answer() {
        Some(Some(target)) => target,
        Some(None) => return refuse(&format!("{} does not exist", path.escape_debug())),
        None => {
            return refuse(&format!(
                "{} did not answer within {} s",
                path.escape_debug(),
                TIMEOUT.as_secs()
            ));
        }
    };
    let (device, sheet) = match choose(&target, args.sheets.sheet.as_deref(), library) {
        Ok(Some(chosen)) => chosen,
        Ok(None) => return refuse(&none_fits(&target)),
        Err(problem) => return refuse(&problem),
    };
    let mut spec_report = report(
        &marked(path, session),
        &device,
        sheet,
        args.sheets.sheet.is_some(),
    );
    let mut outcome = Outcome::Good;
    if args.run {
        if let Some(why) = sheet.no_figures() {
            return refuse(&format!("--run: {why}"));
        }
        match measure(session, path, args, &device, sheet, &mut spec_report) {
            Ok(measured) => outcome = measured,
            Err(problem) => return refuse(&problem),
        }
    }
    match print_report(&spec_report, &args.result) {
        Outcome::Good => outcome,
        error => error,
    }
}

/// Measures each figure in turn. The outcome is bad when one is missed.
fn measure(
    session: &Session,
    path: &str,
    args: &SpecArgs,
    device: &DeviceFacts,
    sheet: &Sheet,
    report: &mut SpecReport,
) -> Result<Outcome, String> {
    session.check_answers(&[path.into()], true)?;
    let size = figure::size(session, Path::new(path))?;
    let mut outcome = Outcome::Good;
    let mut codes = Codes::new(args.destroy.clone());
    let mut backups = Backups::new(Path::new("."));
    for (figure, line) in sheet.figures.iter().zip(&mut report.lines) {
        if figure.writes() && !args.writes {
            line.reasons = vec!["it needs writes; to measure it, add --writes".to_owned()];
            continue;
        }
        note_line!(
            "fathom spec: measuring {figure}, {} s",
            args.runtime.as_secs()
        );
        match figure::measure(
            session,
            figure,
            (path, size),
            args,
            (&mut codes, &mut backups),
        ) {
            Ok(Measurement::Done(measured, now)) => {
                *line = measured_line(&compare(
                    sheet,
                    figure,
                    &measured,
                    now.as_ref().unwrap_or(device),
                ));
                outcome = if line.judgement == "kept" {
                    outcome
                } else {
                    Outcome::Bad
                };
            }
            Ok(Measurement::Interrupted) => return Ok(Outcome::Interrupted),
            Err(why) => line.reasons = vec![why],
        }
    }
    Ok(outcome)
}

fn print_report(report: &SpecReport, result: &ResultOptions) -> Outcome {
    let output = result.output.as_deref();
    if result.is_json() {
        let mut bytes = Vec::new();
        spec_document(report, &mut bytes).expect("memory takes everything");
        return print_to(output, &String::from_utf8_lossy(&bytes));
    }
    let terminal = output.is_none() && std::io::IsTerminal::is_terminal(&std::io::stdout());
    print_to(output, &spec_text(report, &screen::style(terminal, "")))
}
