//! `fathom check`: what is wrong with a result of somebody else, from fio's JSON and logs or from figures on a page.

mod arguments;
mod sheet;

use std::io::IsTerminal;

use fathom_analyse::{CheckInput, ImportedLogs, check, little_line, verdict};
use fathom_import::{ImportedRun, read_hosts, read_iops_log, read_models, read_result};
use fathom_model::{ImportedHosts, SpecReport, Verdict};

use self::arguments::Arguments;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print};
use crate::result_file::read;
use crate::screen;
use crate::specs::library;

const HELP: &str = "\
usage: fathom check [OPTIONS] RESULT.json...
       fathom check --iops=N [--lat=TIME] [--bs=SIZE] [--iodepth=N] [OPTIONS]

Checks results of fio, or figures from a page, as our own are checked: rate, latency and
depth against Little's law, bandwidth against the link, logs against the summary, and the
points of several results against each other.

  --link=LINK        what the device hangs on: sata6, sas12, pcie3x4
  --links=N          how many such links, one for each device
  --log=FILE         an IOPS log of the result (one file for each job); can be repeated
  --iops=N           I/Os per second; 80,000 or 80k, but not 80,00
  --lat=TIME         mean latency: 116us, 8.5ms, 1s
  --bs=SIZE          block size: 4k, 1m
  --iodepth=N        queue depth of one job
  --numjobs=N        jobs at once
  --per-job          the figures are those of one job
  --rw=WORD          fio's word for the pattern
  --claim-inflight=N, --claim-ceiling=MB, --claim-pattern=WORDS
                     what the author says of it
  --claim-p99=TIME   what is said to be p99 (or p50, p99.9, ...) of all jobs together
  --model=TEXT       the model that the device reports: each result is held against its data sheet, at
                     the result's own depth; results of fathom name it themselves
  --sheet=ID         that sheet; `fathom spec` lists them. --specs=DIR: sheets of your own
  --hosts=N          on how many hosts the load ran: results of hosts that were lost are missed
";

/// Checks what the arguments name.
pub fn command(words: &[String]) -> Outcome {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return help();
    }
    match Arguments::parse(words).and_then(|arguments| checked(&arguments)) {
        Ok((text, Verdict::Invalid)) => match print(&text) {
            Outcome::Good => Outcome::Bad,
            trouble => trouble,
        },
        Ok((text, _)) => print(&text),
        Err(trouble) => {
            eprint_line!("fathom check: {trouble}");
            Outcome::Refused
        }
    }
}

/// How it is used.
pub fn help() -> Outcome {
    print(HELP)
}

fn checked(arguments: &Arguments) -> Result<(String, Verdict), String> {
    let (mut runs, mut models) = (Vec::new(), Vec::new());
    let mut hosts = ImportedHosts {
        expected: arguments.hosts,
        ..ImportedHosts::default()
    };
    for path in &arguments.results {
        let text = read(path)?;
        let result = read_result(&text).map_err(|error| format!("{path}: {error}"))?;
        let own_hosts = read_hosts(&text).map_err(|error| format!("{path}: {error}"))?;
        if result.is_empty() && own_hosts.lost.is_empty() {
            return Err(format!(
                "{path}: there is no job in it whose figures could be checked"
            ));
        }
        runs.extend(result.into_iter().map(|run| arguments.complete(run)));
        models.extend(read_models(&text).map_err(|error| format!("{path}: {error}"))?);
        add_hosts(&mut hosts, path, own_hosts);
    }
    runs.extend(arguments.figures.clone().map(|figures| ImportedRun {
        figures,
        ..ImportedRun::default()
    }));
    let reports = against_sheet(arguments, &models, &mut runs)?;
    let points: Vec<_> = runs.iter().map(|run| run.figures.clone()).collect();
    let input = CheckInput {
        logs: logs(arguments, &runs)?.into_iter().collect(),
        spreads: runs
            .iter()
            .map(|run| run.spread.clone())
            .filter(|spread| spread.ios > 0)
            .collect(),
        percentiles: arguments.percentiles.clone(),
        malformed: arguments.malformed.clone(),
        results: points,
        hosts,
    };
    let found = check(&input);
    let (what, verdict) = (
        input.results.iter().map(little_line).collect::<Vec<_>>(),
        verdict(&found),
    );
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

/// Each result against the data sheet of its device, where one is known.
fn against_sheet(
    arguments: &Arguments,
    models: &[String],
    runs: &mut [ImportedRun],
) -> Result<Vec<SpecReport>, String> {
    let folders: Vec<&str> = arguments.folders.iter().map(String::as_str).collect();
    let library = library(&folders);
    for trouble in library.troubles() {
        eprint_line!("fathom check: passed over: {trouble}");
    }
    let chosen = sheet::choose(arguments, models, &library)?;
    Ok(chosen.map_or_else(Vec::new, |(sheet, device)| {
        sheet::judge(runs, sheet, &device, arguments.sheet.is_some())
    }))
}

/// A result without names of hosts is one host's.
fn add_hosts(all: &mut ImportedHosts, path: &str, mut one: ImportedHosts) {
    if one.present.is_empty() {
        one.present.push(path.to_owned());
    }
    all.present.extend(one.present);
    all.lost.extend(one.lost);
}

/// The logs belong to the first result.
fn logs(arguments: &Arguments, runs: &[ImportedRun]) -> Result<Option<ImportedLogs>, String> {
    let (false, Some(run)) = (arguments.logs.is_empty(), runs.first()) else {
        return Ok(None);
    };
    let window_ms = run
        .log_window_ms
        .ok_or("--log: the result does not say log_avg_msec, so rows are not windows")?;
    let rows =
        |path: &String| read_iops_log(&read(path)?).map_err(|error| format!("{path}: {error}"));
    let jobs = arguments
        .logs
        .iter()
        .map(rows)
        .collect::<Result<Vec<_>, _>>()?;
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
