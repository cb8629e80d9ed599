//! Results that commands draw and report: files of fathom and fio with their logs, directories of them, and stored runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fathom_cli::StoreSource;
use fathom_import::{FileTrouble, import, import_chosen, read_report_source};
use fathom_model::format::date;
use fathom_model::{
    CellContent, Findings, ImportedResult, ReportSource, Run, RunId, StoredAnswer, StoredCell,
    Verdict,
};
use fathom_report::Format;

use crate::experiment::StoreWriter;
use crate::import::identity::{Place, identities};
use crate::import::{Disk, is_place, is_unrelated, note_logs_beside, walk};
use crate::output;
use crate::print::eprint_line;
use crate::result_file::read;
use crate::result_store::open_store;
use crate::session::Session;
use crate::stored::RunOrCell;

/// Text that only results of fathom contain.
const FATHOM_MARK: &str = "\"fathom\" : {";

/// Selects the results whose logs are read: in most directories the logs are nearly all of the data.
type NeedsLogs<'a> = &'a dyn Fn(&ImportedResult) -> bool;

/// All results of `paths`. A named file or run must be a result; other files in a directory are reported and skipped.
///
/// # Errors
/// When one cannot be read, or they contain no result.
pub fn read_results(paths: &[String], store: &StoreSource) -> Result<Vec<ReportSource>, String> {
    read_results_with_logs(&|_| true, paths, store)
}

/// Whether a result is of a simulated device: its subject says so.
pub fn is_simulated(source: &ReportSource) -> bool {
    source.subject.device.ends_with("(simulated)")
}

/// Tells the user that `command` shows simulated and measured results beside each other.
pub fn note_mixture(command: &str, results: &[ReportSource]) {
    let (simulated, measured): (Vec<_>, Vec<_>) = results.iter().partition(|one| is_simulated(one));
    if let ([first, others @ ..], [_, ..]) = (&simulated[..], &measured[..]) {
        let more = match others.len() {
            0 => " is".to_owned(),
            more => format!(" and {more} more are"),
        };
        eprint_line!(
            "{command}: {}{more} simulated, other results are measured: their differences contain the error of the model",
            first.source
        );
    }
}

/// The results of stored runs and cells only: a name is never taken for a path.
///
/// # Errors
/// When a name is not one of a run or a cell, or it has no result.
pub fn read_stored_results(
    names: &[String],
    store: &StoreSource,
) -> Result<Vec<ReportSource>, String> {
    let (mut results, mut ends) = (Vec::new(), Vec::new());
    for name in names {
        results.extend(read_run(name, store)?);
        ends.push(results.len());
    }
    rename_equal(names, &ends, &mut results);
    results.retain(|source| !source.jobs.is_empty());
    if results.is_empty() {
        Err(format!("{} has no job with I/O", names.join(", ")))
    } else {
        Ok(results)
    }
}

/// The same, but of results in directories only the logs that `needs_logs` selects.
///
/// # Errors
/// As [`read_results`].
pub fn read_results_with_logs(
    needs_logs: NeedsLogs,
    paths: &[String],
    store: &StoreSource,
) -> Result<Vec<ReportSource>, String> {
    let (mut results, mut ends) = (Vec::new(), Vec::new());
    for path in paths {
        if Path::new(path).is_dir() {
            results.extend(read_directory(needs_logs, path)?);
        } else if Path::new(path).exists() || !is_run(path) {
            let source = if paths.len() > 1 {
                stem(Path::new(path))
            } else {
                String::new()
            };
            results.extend(read_file(path, &source)?);
        } else {
            results.extend(read_run(path, store)?);
        }
        ends.push(results.len());
    }
    rename_equal(paths, &ends, &mut results);
    if results.is_empty() {
        return Err(format!("no result found in {}", paths.join(", ")));
    }
    results.retain(|source| !source.jobs.is_empty());
    if results.is_empty() {
        Err("the results contain no job with I/O".into())
    } else {
        Ok(results)
    }
}

/// Adds the path to the names of results that another path has too. `ends` are the ends of the
/// results of each path.
fn rename_equal(paths: &[String], ends: &[usize], results: &mut [ReportSource]) {
    let path_of = |index: usize| ends.iter().position(|end| index < *end).unwrap_or(0);
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut shared: BTreeSet<String> = BTreeSet::new();
    for (index, one) in results.iter().enumerate() {
        let path = path_of(index);
        if *first.entry(one.source.clone()).or_insert(path) != path {
            shared.insert(one.source.clone());
        }
    }
    for (index, one) in results.iter_mut().enumerate() {
        if shared.contains(&one.source) {
            rename(one, &format!("{} {}", paths[path_of(index)], one.source));
        }
    }
}

fn rename(one: &mut ReportSource, name: &str) {
    name.trim().clone_into(&mut one.source);
    for job in &mut one.jobs {
        job.source.clone_from(&one.source);
    }
    if let Some(answer) = &mut one.search {
        answer.run.clone_from(&one.source);
    }
}

/// What a stored run is called in charts and reports: its job files without their extension, or its job, target or command;
/// its number where it has no name.
fn run_title(run: &Run) -> String {
    let name = run.experiment.name.trim();
    let words: Vec<&str> = name.split(' ').collect();
    if words.iter().all(|word| word.ends_with(".fio")) {
        let stems: Vec<String> = words.iter().map(|word| stem(Path::new(word))).collect();
        return stems.join(" ");
    }
    match name {
        // The job file was standard input.
        "" | "-" => run.id.to_string(),
        name => name.to_owned(),
    }
}

/// Whether a name has the form of a stored run or cell: `r12`, `r12.3`, `latest`.
pub fn is_run(name: &str) -> bool {
    let run = name.split_once('.').map_or(name, |(run, _)| run);
    run == "latest" || (run.starts_with('r') && RunId::parse(run).is_some())
}

/// The name of a file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn read_file(path: &str, source: &str) -> Result<Vec<ReportSource>, String> {
    let text = read(path)?;
    if text.contains(FATHOM_MARK) {
        return Ok(vec![
            read_report_source(&text, source).map_err(|error| format!("{path}: {error}"))?,
        ]);
    }
    let found = import(&[path.to_owned()], &Disk);
    match found.troubles.first() {
        Some(trouble) if found.results.is_empty() => Err(format!("{path}: {}", trouble.why)),
        _ => Ok(found
            .results
            .into_iter()
            .map(|mut result| {
                note_logs_beside(&mut result);
                imported(result, source)
            })
            .collect()),
    }
}

fn imported(result: ImportedResult, source: &str) -> ReportSource {
    let written_s = result.written_unix_ms / 1000;
    let mut made = fathom_analyse::report_source(&fathom_analyse::imported(result), source);
    if let Some((_, pairs)) = made.facts.first_mut().filter(|_| written_s > 0) {
        pairs.push(("Date".to_owned(), date(written_s)));
    }
    made
}

fn read_directory(needs_logs: NeedsLogs, directory: &str) -> Result<Vec<ReportSource>, String> {
    let found = walk::files(&[directory.to_owned()])?;
    found
        .errors
        .iter()
        .for_each(|(path, why)| eprint_line!("fathom: {path}: skipped: {why}"));
    let (mut results, mut other_paths) = (Vec::new(), Vec::new());
    for path in found.paths {
        let text = if path.ends_with(".json") {
            read(&path).ok().filter(|text| text.contains(FATHOM_MARK))
        } else {
            None
        };
        match text.map(|text| read_report_source(&text, &parent(&path))) {
            Some(Ok(source)) => results.push(source),
            Some(Err(error)) => eprint_line!("fathom: {path}: skipped: {error}"),
            None => other_paths.push(path),
        }
    }
    let found = import_chosen(&other_paths, &Disk, needs_logs);
    for FileTrouble { file, why } in found
        .troubles
        .iter()
        .filter(|trouble| !is_unrelated(trouble))
    {
        eprint_line!("fathom: {file}: skipped: {why}");
    }
    let places: Vec<Place> = found
        .results
        .iter()
        .map(|result| {
            Place::of(
                result.source.files.first(),
                &result.entries,
                &result.globals,
            )
        })
        .collect();
    let named = found.results.into_iter().zip(identities(&places));
    results.extend(named.map(|(result, identity)| {
        let file = result.source.files.first();
        let source = identity.name(&file.map_or(String::new(), |file| parent(file)));
        imported(result, &source)
    }));
    Ok(results)
}

/// The name of the directory of a file. A name that says a load or a format, not a drive, follows that of the directory above.
fn parent(path: &str) -> String {
    let above = Path::new(path).ancestors().skip(1);
    let mut names = above
        .filter_map(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned());
    let own = names.next().unwrap_or_default();
    match names.next() {
        Some(above) if is_load(&own) => format!("{above}/{own}"),
        _ => own,
    }
}

/// Whether a directory is named by the load in it, as `random` or `4k`.
fn is_load(name: &str) -> bool {
    const LOADS: [&str; 15] = [
        "random",
        "sequential",
        "rand",
        "seq",
        "randread",
        "randwrite",
        "randrw",
        "read",
        "write",
        "rw",
        "readwrite",
        "mixed",
        "fio",
        "results",
        "json",
    ];
    let name = name.to_ascii_lowercase();
    let size = name.trim_end_matches(['k', 'm', 'i', 'b']);
    LOADS.contains(&name.as_str())
        || size.len() < name.len() && !size.is_empty() && size.bytes().all(|b| b.is_ascii_digit())
}

/// The cells of a stored run, analysed by the current rules.
fn read_run(name: &str, store: &StoreSource) -> Result<Vec<ReportSource>, String> {
    let mut results: Vec<ReportSource> = Vec::new();
    let mut answer = None;
    each_stored_cell(name, store, &mut |run, cell, findings| {
        let facts = &run.experiment.facts;
        answer = facts.iter().find(|(name, _)| name == "answer").cloned();
        let place = cell.axes.iter().filter(|(name, _)| is_place(name));
        let source = place.fold(run_title(run), |name, (_, value)| format!("{name} {value}"));
        if findings.imported.is_some() {
            results.push(fathom_analyse::report_source(&findings, &source));
            return Ok(());
        }
        let mut bytes = Vec::new();
        fathom_report::write(
            &findings,
            &[Format::JsonPlus],
            &output::answer_style(),
            &mut bytes,
        )
        .map_err(|error| error.to_string())?;
        results.push(
            read_report_source(&String::from_utf8_lossy(&bytes), &source)
                .map_err(|error| format!("{name}: {error}"))?,
        );
        Ok(())
    })?;
    // The answer is that of all cells.
    if let ([first, _, ..], Some((_, answer))) = (&mut results[..], answer) {
        first.answer = Some(answer);
    }
    if let Some(first) = results.first_mut() {
        first.search = search_answer(name, store)?.map(|answer| StoredAnswer {
            run: first.source.clone(),
            ..answer
        });
    }
    Ok(results)
}

/// The answer of a stored search, from all of its trials.
fn search_answer(name: &str, store: &StoreSource) -> Result<Option<StoredAnswer>, String> {
    let mut opened = open_store(store)?;
    let found = RunOrCell::find(&mut opened, name)?;
    if found.run.experiment.kind != "search" || found.cell.is_some() {
        return Ok(None);
    }
    let run = found.run;
    let stored = StoreWriter::stored(&Session::on_this_machine(), opened, &run)?;
    let slo = crate::search::first_limit(&run);
    let Some((slo, (response, by_bytes))) = slo.zip(crate::search::stored_result(&run, stored))
    else {
        return Ok(None);
    };
    Ok(
        fathom_report::search_answer(&response, by_bytes).map(|sentences| StoredAnswer {
            run: run.id.to_string(),
            sentences,
            slo,
            load: response.max_load.and_then(|most| most.load),
        }),
    )
}

/// Adds what only a comparison with the other cells shows.
fn add_contradictions(cell: &StoredCell, findings: &mut Findings) {
    for stored in &cell.findings {
        if stored.code == fathom_analyse::CONTRADICTION {
            findings
                .findings
                .push(fathom_analyse::contradiction_finding(&stored.evidence));
            findings.verdict = findings.verdict.max(Verdict::Degraded);
        }
    }
}

/// Calls `act` with the findings of each cell of a stored run (`r12`, `latest`), or of one cell (`r12.3`), by the current
/// rules.
///
/// # Errors
/// When there is no such run or cell, it cannot be read, or `act` fails.
pub fn each_stored_cell(
    name: &str,
    store: &StoreSource,
    act: &mut dyn FnMut(&Run, &StoredCell, Findings) -> Result<(), String>,
) -> Result<(), String> {
    let mut store = open_store(store)?;
    let found = RunOrCell::find(&mut store, name)?;
    let run = &found.run;
    for cell in found.cells(&mut store)? {
        match store
            .content(run.id, cell.position)
            .map_err(|error| error.to_string())?
        {
            CellContent::Recording(recording) => {
                let mut findings = fathom_analyse::findings(&recording);
                add_contradictions(&cell, &mut findings);
                act(run, &cell, findings)?;
            }
            CellContent::Imported { bytes, .. } => {
                let results = fathom_import::read_text(name, &bytes)
                    .map_err(|error| format!("{name}: {error}"))?;
                results
                    .into_iter()
                    .try_for_each(|result| act(run, &cell, fathom_analyse::imported(result)))?;
            }
            CellContent::Nothing => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parent;

    /// Regression 0839: the drive of the results in `floppy/random` was named `random` in reports and charts.
    #[test]
    fn a_directory_named_by_its_load_follows_the_one_above() {
        for (path, name) in [
            ("floppy/random/a.json", "floppy/random"),
            ("/data/ssd/4k/a.json", "ssd/4k"),
            ("/data/ssd/4KiB/a.json", "ssd/4KiB"),
            ("/data/wd740gd-10k/a.json", "wd740gd-10k"),
            ("results/x25m/a.json", "x25m"),
            ("random/a.json", "random"),
            ("a.json", ""),
        ] {
            assert_eq!(parent(path), name, "{path}");
        }
    }
}
