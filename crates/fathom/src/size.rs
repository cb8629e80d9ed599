//! `fathom size`: reference tables, and which drives a load needs.

use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;

use fathom_cli::{SizeArgs, SizeFormat, TraceOptions};
use fathom_model::format::{duration, thousands};
use fathom_model::{DerivedAnswer, DerivedCell, DerivedTable, Direction, JobFigures, ReportSource};
use fathom_report::{derived_json, derived_markdown, derived_text};
use fathom_size::{
    Drive, LatencyFigure, Limit, Load, Measured, MeasuredCurve, MeasuredPoint, Present, Prices,
    Request, TABLES, built_in_drive, capacity, percentage, read_drives, reference_table, size,
    what_if,
};

use fathom_workload::{ReadOptions, TraceReader};

use crate::cli;
use crate::outcome::Outcome;
use crate::print::print_to;
use crate::profile;
use crate::results::{is_simulated, read_results};
use crate::screen;
use crate::toml_files;

/// Calculates what the arguments ask for.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: SizeArgs| {
        let answer = answer(&args)?;
        Ok(print_answer(&answer, &args))
    })
}

fn print_answer(answer: &DerivedAnswer, args: &SizeArgs) -> Outcome {
    let output = args.result.output.as_deref();
    let terminal = output.is_none() && std::io::stdout().is_terminal();
    let style = screen::style(terminal, "");
    let text = match args.result.format() {
        SizeFormat::Text => derived_text(answer, args.explain, &style),
        SizeFormat::Json => derived_json(answer, args.explain),
        SizeFormat::Md => derived_markdown(answer, args.explain, &style),
    };
    print_to(output, &text)
}

fn answer(args: &SizeArgs) -> Result<DerivedAnswer, String> {
    let operands: Vec<&str> = args.operands.iter().map(String::as_str).collect();
    match operands.as_slice() {
        ["tables"] => Ok(list()),
        ["tables", name] => reference_table(name)
            .map(|table| table.make())
            .ok_or_else(|| unknown_table(name)),
        ["tables", ..] => Err("only one table at a time: `fathom size tables NAME`".to_owned()),
        [] if !args.what_if.is_empty() => predict(args),
        [] => size(&request(args)?).map_err(|error| error.to_string()),
        [other, ..] => Err(format!(
            "unexpected argument '{}': use `fathom size tables NAME`",
            other.escape_debug()
        )),
    }
}

fn unknown_table(name: &str) -> String {
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    format!(
        "unknown table '{}'; tables: {}",
        name.escape_debug(),
        names.join(", ")
    )
}

fn list() -> DerivedAnswer {
    let rows = TABLES.iter().map(|table| {
        let cells = [table.name, table.about];
        cells.map(|text| DerivedCell::Text(text.to_owned())).into()
    });
    DerivedAnswer {
        tables: vec![DerivedTable {
            caption: String::new(),
            columns: vec!["table".to_owned(), "shows".to_owned()],
            rows: rows.collect(),
        }],
        ..DerivedAnswer::default()
    }
}

fn predict(args: &SizeArgs) -> Result<DerivedAnswer, String> {
    let result = args.from.as_deref().unwrap_or_default();
    let (measured, _) = measured(result, args)?;
    if measured.mean_ns <= 0.0 {
        return Err(format!(
            "--from: {}: a trace without latencies; --what-if needs them (blktrace and tracefs have them)",
            result.escape_debug()
        ));
    }
    what_if(&measured, &args.what_if).map_err(|error| error.to_string())
}

fn request(args: &SizeArgs) -> Result<Request, String> {
    let (load, load_source) = match (&args.load, &args.from) {
        (Some(text), _) => (
            text.parse::<Load>()
                .map_err(|error| format!("--load: {error}"))?,
            "--load".to_owned(),
        ),
        (None, Some(result)) => {
            let (measured, source) = measured(result, args)?;
            (measured.load, source)
        }
        (None, None) => {
            return Err("no load: give --load '2000 iops, 70/30, 8k random', or --from RESULT; `fathom size tables` lists the reference tables".to_owned());
        }
    };
    if load.random && args.limits.is_empty() {
        return Err("no latency limit: give one, such as --slo 'p99<=20ms'; without it every number of drives is enough".to_owned());
    }
    let option = |name: &str, error: String| format!("--{name}: {error}");
    let limits = args.limits.iter().map(|limit| {
        let figure = match limit.figure {
            fathom_analyse::LatencyFigure::Mean => LatencyFigure::Mean,
            fathom_analyse::LatencyFigure::Percentile(percent) => LatencyFigure::Percentile(percent),
            fathom_analyse::LatencyFigure::Max => {
                return Err("--slo: no model predicts a maximum; limit mean or a percentile, such as p99.9<=50ms".to_owned());
            }
        };
        Ok(Limit { figure, ns: limit.most.get() as f64 })
    });
    let limits = limits.collect::<Result<Vec<_>, String>>()?;
    let mut drives: Vec<Drive> = args
        .drives
        .iter()
        .map(|name| drives_of(name))
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    if let Some(link) = args.link {
        drives.iter_mut().for_each(|drive| drive.link = link);
    }
    let levels = args
        .raid
        .iter()
        .map(|level| level.parse().map_err(|error| format!("--raid: {error}")));
    let levels = levels.collect::<Result<Vec<_>, String>>()?;
    let prices = args
        .price
        .as_deref()
        .map(prices)
        .transpose()?
        .unwrap_or_default();
    if let Some(other) = prices
        .of
        .keys()
        .find(|name| drives.iter().all(|drive| drive.id != **name))
    {
        return Err(format!(
            "--price: no drive '{}' among --drives",
            other.escape_debug()
        ));
    }
    let share = |name: &str, text: &str, least: f64, most: f64| {
        percentage(text, least, most).map_err(|error| option(name, error))
    };
    Ok(Request {
        load,
        load_source,
        limits,
        capacity: args
            .capacity
            .as_deref()
            .map(capacity)
            .transpose()
            .map_err(|error| option("capacity", error))?,
        drives,
        levels,
        prices,
        count: args.count,
        group: args.group,
        headroom: share("headroom", &args.headroom, 0.0, 90.0)?,
        fill: share("fill", &args.fill, 1.0, 100.0)?,
        rebuild: share("rebuild", &args.rebuild, 0.0, 90.0)?,
        years: f64::from(args.years),
        spares: args.spares,
        uplink: args.uplink,
        controller_iops: args.controller_iops.map(f64::from),
        curve: args
            .curve
            .as_deref()
            .map(|result| curve(result, args))
            .transpose()?,
    })
}

/// The drive class of this name, or the drives of a file.
fn drives_of(name: &str) -> Result<Vec<Drive>, String> {
    if name.ends_with(".toml") || name.contains('/') {
        let text = toml_files::read(std::path::Path::new(name))
            .map_err(|error| format!("--drives: {}: {error}", name.escape_debug()))?;
        return read_drives(name, &text).map_err(|error| format!("--drives: {error}"));
    }
    built_in_drive(name.trim())
        .map(|drive| vec![drive])
        .map_err(|error| format!("--drives: {error}"))
}

fn prices(text: &str) -> Result<Prices, String> {
    let read = if text.contains('=') {
        Prices::read_list(text)
    } else {
        let file = toml_files::read(std::path::Path::new(text))
            .map_err(|error| format!("--price: {}: {error}", text.escape_debug()))?;
        Prices::read_file(text, &file)
    };
    read.map_err(|error| format!("--price: {error}"))
}

/// What a result or a trace says, and how its load is named.
fn measured(name: &str, args: &SizeArgs) -> Result<(Measured, String), String> {
    if is_trace(name) {
        return of_trace(name);
    }
    Ok((of_result(name, args)?, name.to_owned()))
}

/// Whether the content of a file is a trace of I/O. A result is not read as one: JSON has no format of a trace.
fn is_trace(name: &str) -> bool {
    let path = Path::new(name);
    name == "-"
        || path.is_file()
            && !name.ends_with(".json")
            && File::open(path)
                .is_ok_and(|file| TraceReader::open(file, ReadOptions::default()).is_ok())
}

/// The load of a trace: its mean rate, mix, size and burstiness; its footprint and how often blocks are used again.
fn of_trace(file: &str) -> Result<(Measured, String), String> {
    let path = Path::new(file);
    let (profile, _) = profile::read(path, &TraceOptions::default())
        .map_err(|error| format!("--from: {error}"))?;
    let name = if file == "-" {
        "standard input".to_owned()
    } else {
        profile::name(path)
    };
    let [reads, writes] = [profile.totals[0], profile.totals[1]];
    let ios = reads.ios + writes.ios;
    let seconds = profile.length as f64 / 1e9;
    if ios < 2 || seconds <= 0.0 {
        return Err(format!(
            "--from: {name}: a trace of {ios} reads and writes in {seconds} s has no rate"
        ));
    }
    let iops = ios as f64 / seconds;
    // The windows of the profile may be shorter than a second: the busiest of so short ones says little.
    let over_time = &profile.over_time;
    let per_second = (1_000_000_000 / over_time.width.max(1)).max(1) as usize;
    let window = (per_second as u64 * over_time.width) as f64 / 1e9;
    let busiest = over_time
        .windows
        .chunks(per_second)
        .map(|windows| windows.iter().map(|one| one.ios).sum::<u64>())
        .max();
    let busiest = busiest.unwrap_or(0) as f64 / window.min(seconds);
    let load = Load {
        iops,
        reads: reads.ios as f64 / ios as f64,
        block: ((reads.bytes + writes.bytes) as f64 / ios as f64).round(),
        random: profile.sequential < 0.5,
        burstiness: profile.arrivals.cv2.clamp(0.0, 1000.0),
    };
    let source = format!(
        "mean of {name} over {}; its busiest {} had {} IOPS",
        duration(seconds * 1e9),
        duration(window.min(seconds) * 1e9),
        thousands(busiest.round() as u64)
    );
    let measured = Measured {
        source: name,
        load,
        mean_ns: if profile.with_latency > 0 {
            profile.latency.mean()
        } else {
            0.0
        },
        region: Some(profile.locality.footprint as f64).filter(|bytes| *bytes > 0.0),
        miss_ratio: profile.locality.miss_ratio,
        now: Present::default(),
    };
    Ok((measured, source))
}

/// The load that a result completed, its mean latency, and the storage that it names.
fn of_result(result: &str, args: &SizeArgs) -> Result<Measured, String> {
    let sources = read_results(&[result.to_owned()], &args.store)?;
    let [source] = sources.as_slice() else {
        return Err(format!(
            "--from: {} has {} results; name one, such as r12.3",
            result.escape_debug(),
            sources.len()
        ));
    };
    let jobs: Vec<&JobFigures> = source.jobs.iter().filter(|job| job.iops() > 0.0).collect();
    let first = jobs
        .first()
        .ok_or_else(|| format!("--from: {}: no I/O completed", result.escape_debug()))?;
    let transfers = || {
        let directions = jobs.iter().flat_map(|job| &job.directions);
        directions.filter(|one| one.direction != Direction::Trim)
    };
    let iops: f64 = transfers().map(|one| one.iops).sum();
    let bytes: f64 = transfers().map(|one| one.bandwidth).sum();
    if iops <= 0.0 {
        return Err(format!(
            "--from: {}: no reads or writes completed",
            result.escape_debug()
        ));
    }
    let reads: f64 = transfers()
        .filter(|one| one.direction == Direction::Read)
        .map(|one| one.iops)
        .sum();
    let mean: f64 = transfers()
        .map(|one| one.iops * one.latency.mean)
        .sum::<f64>()
        / iops;
    // Whole blocks where the result names one size; the mean of a mixture of sizes otherwise.
    let block = first
        .block
        .filter(|block| jobs.iter().all(|job| job.block == Some(*block)));
    Ok(Measured {
        source: marked(result, &sources),
        load: Load {
            iops,
            reads: reads / iops,
            block: block.map_or((bytes / iops).round(), |block| block as f64),
            random: first.rw.contains("rand"),
            burstiness: 1.0,
        },
        mean_ns: mean,
        region: None,
        miss_ratio: Vec::new(),
        now: Present {
            drives: source.subject.drives,
            level: source.subject.array.parse().ok(),
            link: source.subject.link.clone(),
        },
    })
}

/// The name of a result, with a mark if it is not measured.
fn marked(name: &str, sources: &[ReportSource]) -> String {
    if sources.iter().any(is_simulated) {
        format!("{name}, simulated")
    } else {
        name.to_owned()
    }
}

/// The points of a measured sweep: each job of each result.
fn curve(result: &str, args: &SizeArgs) -> Result<MeasuredCurve, String> {
    let is_model = fathom_sim::Library::new().get(result).is_some();
    if (is_model || built_in_drive(result).is_ok()) && !Path::new(result).exists() {
        return Err(format!(
            "--curve: '{result}' is a drive class or a model, not a measurement: classes belong to --drives; `fathom sweep JOB.fio --machine {result} --axis iodepth=1..64*2` gives a result of a model"
        ));
    }
    let sources = read_results(&[result.to_owned()], &args.store)?;
    let mut points = Vec::new();
    for job in sources.iter().flat_map(|source| &source.jobs) {
        let (Some(in_flight), Some(block)) = (job.outstanding(), job.block) else {
            continue;
        };
        let iops = job.iops();
        if iops <= 0.0 || job.offered.is_some() {
            continue;
        }
        let reads = job
            .directions
            .iter()
            .filter(|one| one.direction == Direction::Read);
        let share = reads.map(|one| one.iops).sum::<f64>() / iops;
        let mean = job
            .directions
            .iter()
            .map(|one| one.iops * one.latency.mean)
            .sum::<f64>()
            / iops;
        // The slower direction has to keep a limit too.
        let percentiles = [50.0, 90.0, 99.0, 99.9, 99.99]
            .into_iter()
            .filter_map(|percent| {
                let all = job
                    .directions
                    .iter()
                    .map(|one| one.percentile(percent))
                    .collect::<Option<Vec<_>>>()?;
                Some((percent, all.into_iter().fold(0.0, f64::max)))
            });
        points.push(MeasuredPoint {
            in_flight,
            iops,
            reads: share,
            block: block as f64,
            random: job.rw.contains("rand"),
            mean_ns: mean,
            percentiles: percentiles.collect(),
        });
    }
    if points.is_empty() {
        return Err(format!(
            "--curve: {}: no job with a queue depth and a block size in a closed loop",
            result.escape_debug()
        ));
    }
    Ok(MeasuredCurve {
        source: marked(result, &sources),
        points,
    })
}
