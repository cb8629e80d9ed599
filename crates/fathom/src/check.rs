//! `fathom check`: checks results of other programs, from fio's JSON and logs or from published figures.

mod arguments;
mod sheet;

use std::io::IsTerminal;

use fathom_analyse::{
    CheckInput, ImportedLogs, check_input, latency_line, link_line, little_line, verdict,
};
use fathom_cli::CheckArgs;
use fathom_import::{
    ImportedRun, Omissions, read_hosts, read_iops_log, read_models, read_omissions, read_result,
    read_text,
};
use fathom_model::{ImportedFigures, ImportedHosts, SpecReport, Verdict};

use self::arguments::Request;
use crate::cli;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print};
use crate::result_file::read;
use crate::screen;
use crate::specs::library;

/// Checks what the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: CheckArgs| {
        let (text, verdict) = check(&Request::new(args))?;
        Ok(match (print(&text), verdict) {
            (Outcome::Good, Verdict::Invalid) => Outcome::Bad,
            (outcome, _) => outcome,
        })
    })
}

fn check(request: &Request) -> Result<(String, Verdict), String> {
    let (mut runs, mut models, mut recorded) = (Vec::new(), Vec::new(), Vec::new());
    let mut omissions = Vec::new();
    let mut hosts = ImportedHosts {
        expected: request.args.hosts,
        ..ImportedHosts::default()
    };
    for (document, path) in (0..).zip(&request.args.results) {
        let text = read(path)?;
        let named = |error| format!("{path}: {error}");
        let result = read_result(&text).map_err(named)?;
        let own_hosts = read_hosts(&text).map_err(named)?;
        if result.is_empty() && own_hosts.lost.is_empty() {
            return Err(format!("{path}: contains no job with figures to check"));
        }
        // Both have the jobs of all documents in the same order.
        let all = read_text(path, text.as_bytes()).unwrap_or_default();
        let mut judged = Vec::new();
        for one in all.iter().map(check_input) {
            recorded.extend(one.recorded);
            judged.extend(one.results);
        }
        judged.truncate(result.len());
        let mut figures = judged.into_iter();
        runs.extend(result.into_iter().map(|mut run| {
            if let Some(figures) = figures.next() {
                run.figures = ImportedFigures {
                    origin: run.figures.origin,
                    logical_block: run.figures.logical_block,
                    ..figures
                };
            }
            run.figures.origin.document = Some(document);
            request.complete(&mut run.figures);
            run
        }));
        omissions.extend(omission_lines(path, read_omissions(&text).map_err(named)?));
        models.extend(read_models(&text).map_err(named)?);
        add_hosts(&mut hosts, path, own_hosts);
    }
    runs.extend(request.figures.clone().map(|figures| ImportedRun {
        figures,
        ..ImportedRun::default()
    }));
    let reports = against_sheet(&request.args, &models, &mut runs)?;
    let points: Vec<_> = runs.iter().map(|run| run.figures.clone()).collect();
    let input = CheckInput {
        logs: logs(&request.args, &runs)?.into_iter().collect(),
        spreads: runs
            .iter()
            .map(|run| run.spread.clone())
            .filter(|spread| spread.ios > 0)
            .collect(),
        percentiles: request.args.claim_percentile.clone(),
        malformed: request.malformed.clone(),
        results: points,
        hosts,
        recorded,
    };
    let found = fathom_analyse::check(&input);
    let rates = input.results.iter().flat_map(lines);
    let (what, verdict) = (rates.chain(omissions).collect::<Vec<_>>(), verdict(&found));
    let style = screen::style(std::io::stdout().is_terminal(), "");
    let sheets: String = reports
        .iter()
        .map(|report| format!("\n{}", fathom_report::spec_text(report, &style)))
        .collect();
    Ok((
        fathom_report::checked(&what, verdict, &found, &style) + &sheets,
        verdict,
    ))
}

/// The rates of one result against Little's law and against its link.
fn lines(figures: &ImportedFigures) -> impl Iterator<Item = String> {
    std::iter::once(little_line(figures))
        .chain(link_line(figures))
        .chain(latency_line(figures))
}

/// What fio's normal output does not contain.
fn omission_lines(path: &str, omitted: Omissions) -> impl Iterator<Item = String> {
    let notes = omitted
        .notes
        .into_iter()
        .map(move |note| format!("{path}: {note}"));
    let missing = omitted.missing.join(", ");
    notes.chain((!missing.is_empty()).then(|| format!("missing in it: {missing}")))
}

/// Each result against the data sheet of its device, where one is known.
fn against_sheet(
    args: &CheckArgs,
    models: &[String],
    runs: &mut [ImportedRun],
) -> Result<Vec<SpecReport>, String> {
    let library = library(&args.sheets.specs);
    for trouble in library.errors() {
        eprint_line!("fathom check: skipped: {trouble}");
    }
    let chosen = sheet::choose(args, models, &library)?;
    Ok(chosen.map_or_else(Vec::new, |(sheet, device)| {
        sheet::judge(
            runs,
            (sheet, &device),
            &library,
            args.sheets.sheet.is_some(),
        )
    }))
}

/// A result without host names is from one host.
fn add_hosts(all: &mut ImportedHosts, path: &str, mut one: ImportedHosts) {
    if one.present.is_empty() {
        one.present.push(path.to_owned());
    }
    all.present.extend(one.present);
    all.lost.extend(one.lost);
}

/// The logs belong to the first result.
fn logs(args: &CheckArgs, runs: &[ImportedRun]) -> Result<Option<ImportedLogs>, String> {
    let (false, Some(run)) = (args.logs.is_empty(), runs.first()) else {
        return Ok(None);
    };
    let window_ms = run.log_window_ms.ok_or(
        "--log: the result has no log_avg_msec, so the rows of the log are not time windows",
    )?;
    let rows =
        |path: &String| read_iops_log(&read(path)?).map_err(|error| format!("{path}: {error}"));
    let jobs = args.logs.iter().map(rows).collect::<Result<Vec<_>, _>>()?;
    let name = run.figures.name.clone();
    let total_ios = run.figures.ios.unwrap_or(0);
    Ok(Some(ImportedLogs {
        name,
        window_ms,
        runtime_ms: run.runtime_ms,
        total_ios,
        jobs,
    }))
}
