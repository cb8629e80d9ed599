//! `fathom show`: a stored result, as it was reported when it was measured.

use fathom_cli::{ShowArgs, ShowFormat};
use fathom_model::{CellContent, CellState, Recording, Response, Run, RunState, StoredCell};
use fathom_report::{Exposition, Format};
use fathom_store::Store;

use super::{RunOrCell, stored_exposition};
use crate::cli;
use crate::experiment::StoreWriter;
use crate::import::{exposition, with_source};
use crate::outcome::Outcome;
use crate::output;
use crate::print::print_to;
use crate::result_store::{is_dead, open_store};
use crate::search::stored_result;
use crate::session::Session;
use crate::spec_compare::{sentences, spec_compare};
use crate::specs::library;

/// Shows a run or one of its cells.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ShowArgs| show(&args))
}

fn exposition_format(format: ShowFormat) -> Option<Exposition> {
    match format {
        ShowFormat::OpenMetrics => Some(Exposition::OpenMetrics),
        ShowFormat::Prometheus => Some(Exposition::Prometheus),
        ShowFormat::Text | ShowFormat::Json | ShowFormat::JsonPlus => None,
    }
}

fn write_text(args: &ShowArgs, text: &str) -> Result<Outcome, String> {
    Ok(print_to(args.result.output.as_deref(), text))
}

fn show(args: &ShowArgs) -> Result<Outcome, String> {
    let mut store = open_store(&args.store)?;
    let found = RunOrCell::find(&mut store, args.run.as_deref().unwrap_or("latest"))?;
    let run = &found.run;
    let cells = found.cells(&mut store)?;
    if args.plan {
        let plan = cells
            .first()
            .filter(|_| found.cell.is_some())
            .map(|cell| &cell.plan)
            .filter(|plan| !plan.is_empty())
            .unwrap_or(&run.experiment.plan);
        // Earlier versions stored the command line of a run without the name of the program.
        let program = if run.experiment.kind == "run" && plan.starts_with("run ") {
            "fathom "
        } else {
            ""
        };
        return write_text(args, &format!("{program}{}\n", plan.trim_end()));
    }
    let is_json = args.result.format() != ShowFormat::Text;
    let metrics = exposition_format(args.result.format());
    match (found.cell, &cells[..]) {
        (Some(_), [cell]) => show_cell(args, &mut store, run, cell),
        (None, [cell]) if run.experiment.planned <= 1 && run.experiment.kind != "search" => {
            show_cell(args, &mut store, run, cell)
        }
        _ if args.explain => Err(format!(
            "{} has {} cells: name the one to explain, such as {}.1",
            run.id,
            cells.len(),
            run.id
        )),
        _ if let Some(format) = metrics => {
            let text = stored_exposition(&[run.id.to_string()], &args.store, format)?;
            write_text(args, &text)
        }
        _ => {
            let style = output::answer_style();
            let result = search_result(args, run)?;
            let text = match (is_json, result) {
                (true, Some((result, _))) => {
                    fathom_report::search_document(run, &cells, &result, is_dead(run))
                }
                (true, None) => fathom_report::cells_document(&[(run.clone(), cells)], &is_dead),
                (false, result) => {
                    let cells = fathom_report::cells_text(run, is_dead(run), &cells, &style);
                    let result = result.map(|(result, by_bytes)| {
                        fathom_report::response_text(&result, by_bytes, &style) + "\n"
                    });
                    result.unwrap_or_default() + &cells
                }
            };
            write_text(args, &text)
        }
    }
}

/// The result of a search, which its cells alone do not show, and whether its loads are shown in
/// MB/s.
fn search_result(args: &ShowArgs, run: &Run) -> Result<Option<(Response, bool)>, String> {
    if run.experiment.kind != "search" {
        return Ok(None);
    }
    let stored = StoreWriter::stored(&Session::on_this_machine(), open_store(&args.store)?, run)?;
    Ok(stored_result(run, stored))
}

/// Shows one cell.
fn show_cell(
    args: &ShowArgs,
    store: &mut Store,
    run: &Run,
    cell: &StoredCell,
) -> Result<Outcome, String> {
    let position = cell.position;
    if cell.state == CellState::Running && run.state == RunState::Running && !is_dead(run) {
        return Err(format!("{}.{position} is being measured now", run.id));
    }
    match store
        .content(run.id, position)
        .map_err(|error| error.to_string())?
    {
        CellContent::Recording(recording) if cell.state == CellState::Running => {
            let parts = store
                .journal(run.id, position)
                .map_err(|error| error.to_string())?;
            report(
                args,
                run,
                &fathom_load::rebuild_recording(recording.plan, recording.started_unix_ns, parts),
            )
        }
        CellContent::Recording(recording) => report(args, run, &recording),
        CellContent::Imported { bytes, .. }
            if let Some(format) = exposition_format(args.result.format()) =>
        {
            let name = format!("{}.{position}", run.id);
            let results = fathom_import::read_text(&name, &bytes)
                .map_err(|error| format!("{name}: {error}"))?;
            let findings: Vec<_> = results.into_iter().map(fathom_analyse::imported).collect();
            let results: Vec<_> = findings.iter().map(with_source).collect();
            write_text(args, &exposition(&results, format)?)
        }
        CellContent::Imported { bytes, .. } if args.result.format() != ShowFormat::Text => {
            write_text(args, &String::from_utf8_lossy(&bytes))
        }
        CellContent::Imported { bytes, .. } => {
            imported(args, &format!("{}.{position}", run.id), &bytes)
        }
        CellContent::Nothing if !cell.notes.is_empty() => Err(format!(
            "{}.{position} could not be measured: {}",
            run.id,
            cell.notes.join("; ")
        )),
        CellContent::Nothing => Err(format!("{}.{position} has no result", run.id)),
    }
}

/// A result of another program: its figures, their source and what is unknown about them.
fn imported(args: &ShowArgs, name: &str, bytes: &[u8]) -> Result<Outcome, String> {
    let results =
        fathom_import::read_text(name, bytes).map_err(|error| format!("{name}: {error}"))?;
    let findings: Vec<_> = results.into_iter().map(fathom_analyse::imported).collect();
    if args.explain {
        let style = output::answer_style();
        let all = findings.iter();
        let text: String = all
            .map(|one| fathom_report::explain_limits(one, &style))
            .collect();
        return write_text(args, &text);
    }
    write_text(
        args,
        &fathom_report::imported(&findings, 0, 0, &output::answer_style()),
    )
}

fn report(args: &ShowArgs, run: &Run, recording: &Recording) -> Result<Outcome, String> {
    let mut findings = fathom_analyse::findings(recording);
    let style = output::answer_style();
    if args.explain {
        return write_text(args, &fathom_report::explain_limits(&findings, &style));
    }
    let facts = |key: &'static str| {
        run.experiment
            .facts
            .iter()
            .filter(move |(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    };
    let intro = facts("intro").next();
    // A quick measurement is compared with its data sheet again, if the sheet is still there.
    if intro.is_some() {
        let sheets = library(&facts("specs").collect::<Vec<_>>());
        findings.spec = spec_compare(&findings, facts("sheet").next(), &sheets).unwrap_or_default();
    }
    let text = match (args.result.format(), intro) {
        (ShowFormat::Text, Some(intro)) => {
            fathom_report::quick(&findings, &sentences(&findings), intro, &style)
        }
        (format, _) => {
            let format = match format {
                ShowFormat::JsonPlus => Format::JsonPlus,
                ShowFormat::Json => Format::Json,
                ShowFormat::OpenMetrics => Format::Exposition(Exposition::OpenMetrics),
                ShowFormat::Prometheus => Format::Exposition(Exposition::Prometheus),
                ShowFormat::Text => Format::Normal,
            };
            let mut bytes = Vec::new();
            fathom_report::write(&findings, &[format], &style, &mut bytes)
                .map_err(|error| error.to_string())?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    write_text(args, &text)
}
