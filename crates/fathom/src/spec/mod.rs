//! `fathom spec`: the data sheet of a device, and whether the device keeps it.

mod arguments;
mod figure;

use std::path::Path;

use fathom_device::spec::{Library, Sheet, compare, measured_line, report};
use fathom_linux::inspect_target;
use fathom_model::{DeviceFacts, SpecReport};
use fathom_report::{spec_document, spec_text};

use self::arguments::Request;
use self::figure::Measurement;
use crate::codes::Codes;
use crate::guard::Backups;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print};
use crate::probe_child;
use crate::screen;
use crate::spec_compare::{choose, none_fits};
use crate::specs::library;
use crate::timeout::{PATIENCE, ask};

/// Shows a sheet, and measures its figures where that is asked for.
pub fn command(arguments: &[String]) -> Outcome {
    let request = match Request::read(arguments) {
        Ok(request) => request,
        Err(problem) => return refuse(&problem),
    };
    let library = library(&request.folders);
    for trouble in library.troubles() {
        eprint_line!("fathom spec: passed over: {trouble}");
    }
    match request.path {
        None => print(&listed(&library)),
        Some(path) => one(path, &request, &library),
    }
}

fn refuse(problem: &str) -> Outcome {
    eprint_line!("fathom spec: {problem}");
    Outcome::Refused
}

fn listed(library: &Library) -> String {
    let line = |sheet: &Sheet| {
        let models = if sheet.models.is_empty() {
            "only by --sheet".to_owned()
        } else {
            sheet.models.join(" | ")
        };
        format!(
            "{:30} {} {}: {models}\n",
            sheet.id, sheet.maker, sheet.product
        )
    };
    library.sheets().iter().map(line).collect()
}

fn one(path: &str, request: &Request<'_>, library: &Library) -> Outcome {
    let place = path.to_owned();
    let asked = ask(move || {
        std::fs::metadata(&place)
            .is_ok()
            .then(|| inspect_target(Path::new(&place)))
    });
    let target = match asked.answer() {
        Some(Some(target)) => target,
        Some(None) => return refuse(&format!("there is no {}", path.escape_debug())),
        None => {
            return refuse(&format!(
                "{} did not answer within {} s",
                path.escape_debug(),
                PATIENCE.as_secs()
            ));
        }
    };
    let (device, sheet) = match choose(&target, request.sheet, library) {
        Ok(Some(chosen)) => chosen,
        Ok(None) => return refuse(&none_fits(&target)),
        Err(problem) => return refuse(&problem),
    };
    let mut shown = report(path, &device, sheet, request.sheet.is_some());
    let mut outcome = Outcome::Good;
    if request.run {
        match measure(path, request, &device, sheet, &mut shown) {
            Ok(kept) => outcome = kept,
            Err(problem) => return refuse(&problem),
        }
    }
    match print_report(&shown, request.json) {
        Outcome::Good => outcome,
        trouble => trouble,
    }
}

/// Measures each figure in turn. The outcome is bad when one is not kept.
fn measure(
    path: &str,
    request: &Request<'_>,
    device: &DeviceFacts,
    sheet: &Sheet,
    shown: &mut SpecReport,
) -> Result<Outcome, String> {
    probe_child::answer(&[path.into()], true)?;
    let size = figure::size(Path::new(path))?;
    let mut kept = Outcome::Good;
    let mut codes = Codes::new(request.codes.clone());
    let mut backups = Backups::new(Path::new("."));
    for (figure, line) in sheet.figures.iter().zip(&mut shown.lines) {
        if figure.writes() && !request.writes {
            line.reasons = vec![
                "it needs writing: --writes measures it, where the target may be written"
                    .to_owned(),
            ];
            continue;
        }
        eprint_line!("fathom spec: measuring {figure}, {} s", request.runtime_s);
        match figure::measure(figure, path, size, request, (&mut codes, &mut backups)) {
            Ok(Measurement::Done(measured, now)) => {
                *line = measured_line(&compare(
                    sheet,
                    figure,
                    &measured,
                    now.as_ref().unwrap_or(device),
                ));
                kept = if line.judgement == "kept" {
                    kept
                } else {
                    Outcome::Bad
                };
            }
            Ok(Measurement::Interrupted) => return Ok(Outcome::Interrupted),
            Err(why) => line.reasons = vec![why],
        }
    }
    Ok(kept)
}

fn print_report(shown: &SpecReport, json: bool) -> Outcome {
    if json {
        let mut bytes = Vec::new();
        spec_document(shown, &mut bytes).expect("memory takes everything");
        return print(&String::from_utf8_lossy(&bytes));
    }
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
    print(&spec_text(shown, &screen::style(terminal, "")))
}
