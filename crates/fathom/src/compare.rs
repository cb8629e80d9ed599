//! `fathom compare`: compares results and checks limits on the differences.

use std::io::IsTerminal;
use std::path::Path;

use fathom_analyse::{
    ComparedRun, Limit, compare_repeats, load_summaries, measured, shapes, unlike_settings,
};
use fathom_cli::{CompareArgs, StoreSource};
use fathom_import::read_settings;
use fathom_linux::{OutputName, Outputs};
use fathom_model::{
    CollectionSummary, ComparedInput, Comparison, Findings, Gate, GateOutcome, OptionDifference,
    QueueSettings, Verdict, Weight,
};

use crate::cli;
use crate::import::identity::drive;
use crate::import::read;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print_to};
use crate::results::{each_stored_cell, is_run};
use crate::screen;

/// Compares what the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: CompareArgs| compare(&args))
}

fn compare(args: &CompareArgs) -> Result<Outcome, String> {
    let mut comparison = compare_groups(&args.groups, &[], &args.store, args.shape, Names::Any)?;
    comparison.settings = settings(args);
    refuse_unlike(args, &comparison)?;
    refuse_missing_metrics(args, &comparison)?;
    comparison.gates = gates(args, &comparison);
    if let Some(file) = &args.markdown {
        write_file(file, &fathom_report::comparison_markdown(&comparison))?;
    }
    if let Some(file) = &args.junit {
        write_file(file, &fathom_report::comparison_junit(&comparison))?;
    }
    let output = args.result.output.as_deref();
    let is_terminal = output.is_none() && std::io::stdout().is_terminal();
    let text = if args.result.is_json() {
        fathom_report::comparison_json(&comparison)
    } else {
        fathom_report::comparison(&comparison, &screen::style(is_terminal, ""))
    };
    let worst = comparison.gates.iter().map(|gate| gate.outcome).max();
    Ok(match (print_to(output, &text), worst) {
        (Outcome::Good, Some(GateOutcome::Fail)) => Outcome::Bad,
        (Outcome::Good, Some(GateOutcome::Inconclusive)) => Outcome::Undecided,
        (outcome, _) => outcome,
    })
}

/// The outcome of each limit for each metric that it applies to.
fn gates(args: &CompareArgs, comparison: &Comparison) -> Vec<Gate> {
    let of_limit = |(text, limit): &(String, Limit)| {
        comparison
            .rows
            .iter()
            .filter_map(|row| limit.gate(text, row))
            .collect::<Vec<_>>()
    };
    args.fail_if.iter().flat_map(of_limit).collect()
}

/// What a name may be.
#[derive(Clone, Copy, PartialEq)]
enum Names {
    /// A file, a directory, or a stored run.
    Any,
    /// A stored run or cell: a name is never taken for a path.
    Stored,
}

/// Compares the first of several groups of stored runs with each other one. Each group has a title.
///
/// # Errors
/// When one of them has no measurement, or they have no job in common.
pub fn compare_stored(
    groups: &[Vec<String>],
    titles: &[String],
    store: &StoreSource,
) -> Result<Comparison, String> {
    compare_groups(groups, titles, store, false, Names::Stored)
}

/// Compares every group with the first. With several groups, the name of each job starts with that of its group: the title, or else
/// the names of its results.
fn compare_groups(
    groups: &[Vec<String>],
    titles: &[String],
    store: &StoreSource,
    with_shape: bool,
    kind: Names,
) -> Result<Comparison, String> {
    let mut inputs = Vec::new();
    let above = match kind {
        Names::Any => common_directory(groups),
        Names::Stored => String::new(),
    };
    let first = group(&groups[0], store, kind, &mut inputs)?;
    let mut comparison = Comparison::default();
    for (at, names) in groups.iter().enumerate().skip(1) {
        let other = group(names, store, kind, &mut inputs)?;
        let mut one = compare_repeats(&first, &other);
        if with_shape {
            one.shapes = shapes(&first[0], &other[0]);
        }
        if one.rows.is_empty() {
            let unmatched = one.unmatched_jobs.join(", ");
            return Err(format!(
                "the results have no job in common ({unmatched}); jobs are matched by pattern, block size, queue depth and number of jobs, or else by name"
            ));
        }
        if [&groups[0], names]
            .iter()
            .all(|group| is_collection(group, kind))
        {
            let loads = load_summaries(&first[0], &one.rows, &one.less_even);
            one.summaries.push(CollectionSummary {
                names: (
                    label(&groups[0], &inputs, &above),
                    label(names, &inputs, &above),
                ),
                loads,
            });
        }
        if groups.len() > 2 {
            let names: Vec<&str> = names.iter().map(|name| shown(name, &above)).collect();
            let label = titles.get(at).map_or_else(|| names.join(" "), Clone::clone);
            let named = |name: &mut String| *name = format!("{label}: {name}");
            one.rows.iter_mut().for_each(|row| named(&mut row.job));
            one.less_even.iter_mut().for_each(|one| named(&mut one.job));
            one.explanations
                .iter_mut()
                .for_each(|one| named(&mut one.job));
            one.option_differences
                .iter_mut()
                .for_each(|unlike| named(&mut unlike.job));
            one.unmatched_jobs.iter_mut().for_each(named);
            one.shapes
                .iter_mut()
                .for_each(|shape| named(&mut shape.job));
        }
        comparison.summaries.extend(one.summaries);
        comparison.rows.extend(one.rows);
        comparison.option_differences.extend(one.option_differences);
        comparison.unmatched_jobs.extend(one.unmatched_jobs);
        comparison.renamed_jobs.extend(one.renamed_jobs);
        comparison.shapes.extend(one.shapes);
        comparison.explanations.extend(one.explanations);
        comparison.repeats = comparison.repeats.or(one.repeats);
    }
    if inputs.iter().any(|input| input.simulated > 0)
        && inputs.iter().any(|input| input.measured > 0)
    {
        let simulated = inputs.iter().filter(|input| input.simulated > 0);
        let names: Vec<&str> = simulated.map(|input| input.name.as_str()).collect();
        eprint_line!(
            "fathom compare: {} simulated, other results are measured: the differences contain the error of the model",
            match names[..] {
                [one] => format!("{one} is"),
                _ => format!("{} are", names.join(", ")),
            }
        );
    }
    for input in &mut inputs {
        input.name = shown(&input.name, &above).to_owned();
    }
    comparison.inputs = inputs;
    Ok(comparison)
}

/// The jobs of each result of a group; adds the verdicts of the results to `inputs`.
fn group(
    names: &[String],
    store: &StoreSource,
    kind: Names,
    inputs: &mut Vec<ComparedInput>,
) -> Result<Vec<Vec<ComparedRun>>, String> {
    let one = |name: &String| {
        let (jobs, input) = match kind {
            Names::Any => run(name, store)?,
            Names::Stored => of_store(name, store)?,
        };
        inputs.push(input);
        Ok(jobs)
    };
    names.iter().map(one).collect()
}

/// Whether a group is of directories or stored runs of several cells.
fn is_collection(names: &[String], kind: Names) -> bool {
    if kind == Names::Stored {
        return names.iter().all(|name| !name.contains('.'));
    }
    names.iter().all(|name| {
        let path = Path::new(name);
        path.is_dir() || !path.exists() && is_run(name) && !name.contains('.')
    })
}

/// The directory that all directories are in, with `/` at its end; empty if one of the results is not a directory.
fn common_directory(groups: &[Vec<String>]) -> String {
    let names: Vec<&str> = groups.iter().flatten().map(String::as_str).collect();
    if names.len() < 2 || !names.iter().all(|name| Path::new(name).is_dir()) {
        return String::new();
    }
    let parent = |name: &str| {
        let name = name.trim_end_matches('/');
        name.rfind('/')
            .map_or(String::new(), |at| name[..=at].to_owned())
    };
    let mut common = parent(names[0]);
    while !names.iter().all(|name| parent(name).starts_with(&common)) {
        common = parent(&common);
    }
    common
}

/// The name of a result without the directory that all are in.
fn shown<'a>(name: &'a str, above: &str) -> &'a str {
    name.strip_prefix(above)
        .unwrap_or(name)
        .trim_end_matches('/')
}

/// The names of a group, each with its drives.
fn label(names: &[String], inputs: &[ComparedInput], above: &str) -> String {
    let one = |name: &String| {
        let drives = inputs
            .iter()
            .find(|input| input.name == *name)
            .map_or(&[][..], |input| &input.drives);
        match drives {
            [] => shown(name, above).to_owned(),
            drives => format!("{} ({})", shown(name, above), drives.join(", ")),
        }
    };
    names.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The verdict of one input, from all its results.
fn input<'a>(name: &str, results: impl IntoIterator<Item = &'a Findings>) -> ComparedInput {
    let mut input = ComparedInput {
        name: name.to_owned(),
        verdict: Verdict::Valid,
        findings: Vec::new(),
        drives: Vec::new(),
        simulated: 0,
        measured: 0,
    };
    for result in results {
        add_verdict(&mut input, result);
    }
    input
}

fn add_verdict(input: &mut ComparedInput, result: &Findings) {
    input
        .drives
        .extend(drive(&result.entries, &result.globals).filter(|new| !input.drives.contains(new)));
    input.verdict = input.verdict.max(result.verdict);
    match result.host.simulated {
        Some(_) => input.simulated += 1,
        None => input.measured += 1,
    }
    let serious = result
        .findings
        .iter()
        .filter(|one| one.weight > Weight::Note);
    for finding in serious {
        let code = format!("{} {}", finding.id, finding.code);
        if !input.findings.contains(&code) {
            input.findings.push(code);
        }
    }
}

/// The jobs of a file, a directory or a stored run, with its verdict.
fn run(name: &str, store: &StoreSource) -> Result<(Vec<ComparedRun>, ComparedInput), String> {
    if !Path::new(name).exists() && is_run(name) {
        return of_store(name, store);
    }
    let all = read(&[name.to_owned()])?;
    if all.findings.is_empty() {
        return Err(all
            .errors
            .into_iter()
            .next()
            .unwrap_or_else(|| format!("{name} contains no result")));
    }
    all.errors
        .iter()
        .for_each(|line| eprint_line!("fathom compare: skipped: {}", line.escape_debug()));
    let several = all.findings.len() > 1;
    let jobs = all
        .findings
        .iter()
        .flat_map(|one| named(measured(one), several.then(|| stem(one, name))))
        .collect();
    Ok((jobs, input(name, &all.findings)))
}

/// The jobs of one result, with `prefix` before their names to distinguish results.
fn named(mut jobs: Vec<ComparedRun>, prefix: Option<String>) -> Vec<ComparedRun> {
    let single = jobs.len() == 1;
    for job in &mut jobs {
        match &prefix {
            Some(name) if single => job.name.clone_from(name),
            Some(name) => job.name = format!("{name}: {}", job.name),
            None => {}
        }
    }
    jobs
}

/// The name of a result's file within its directory, without its extension.
fn stem(one: &Findings, directory: &str) -> String {
    let file = one.sources.first().map_or("", String::as_str);
    let within = file
        .strip_prefix(directory.trim_end_matches('/'))
        .unwrap_or(file)
        .trim_start_matches('/');
    within
        .rsplit_once('.')
        .map_or(within, |(name, _)| name)
        .to_owned()
}

fn of_store(name: &str, store: &StoreSource) -> Result<(Vec<ComparedRun>, ComparedInput), String> {
    let mut jobs = Vec::new();
    let mut input = input(name, []);
    each_stored_cell(name, store, &mut |run, cell, findings| {
        let axes: Vec<String> = cell
            .axes
            .iter()
            .map(|(axis, value)| format!("{axis}={value}"))
            .collect();
        let label = if axes.is_empty() {
            format!("cell {}", cell.position)
        } else {
            axes.join(" ")
        };
        let several = run.cells > 1 && !name.contains('.');
        add_verdict(&mut input, &findings);
        jobs.extend(named(measured(&findings), several.then_some(label)));
        Ok(())
    })?;
    if jobs.is_empty() {
        Err(format!("{name} contains no measurement"))
    } else {
        Ok((jobs, input))
    }
}

fn refuse_unlike(args: &CompareArgs, comparison: &Comparison) -> Result<(), String> {
    if args.unlike || comparison.option_differences.is_empty() {
        return Ok(());
    }
    let differing = fathom_report::differing(comparison).join("\n  ");
    Err(format!(
        "the plans differ, which alone may explain different figures:\n  {differing}\nto compare anyway, add --unlike"
    ))
}

/// A limit on a metric that is missing would never fail.
fn refuse_missing_metrics(args: &CompareArgs, comparison: &Comparison) -> Result<(), String> {
    let Some((text, _)) = args
        .fail_if
        .iter()
        .find(|(_, limit)| comparison.rows.iter().all(|row| row.metric != limit.metric))
    else {
        return Ok(());
    };
    let mut common_metrics: Vec<String> = Vec::new();
    for row in &comparison.rows {
        let name = row.metric.to_string();
        if !common_metrics.contains(&name) {
            common_metrics.push(name);
        }
    }
    Err(format!(
        "--fail-if={}: metric missing from one result; both have {}",
        text.escape_debug(),
        common_metrics.join(", ")
    ))
}

/// Queue settings that differ between two files; those of directories, logs and groups are unknown.
fn settings(args: &CompareArgs) -> Vec<OptionDifference> {
    let read = |names: &[String]| match names {
        [one] if Path::new(one).is_file() => {
            read_settings(&crate::result_file::read(one).ok()?).ok()
        }
        _ => None,
    };
    let known: Vec<QueueSettings> = args.groups.iter().filter_map(|names| read(names)).collect();
    match (args.groups.len(), known.as_slice()) {
        (2, [before, after]) => unlike_settings(before, after),
        _ => Vec::new(),
    }
}

fn write_file(file: &Path, text: &str) -> Result<(), String> {
    Outputs::default()
        .write(file, OutputName::Explicit, text.as_bytes())
        .map_err(|error| error.to_string())
}
