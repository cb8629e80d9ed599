//! Results of other programs against a data sheet, figure by figure.

use fathom_cli::CheckArgs;
use fathom_device::spec::{
    Access, Comparison, Conditions, Figure, FigureDirection, Judgement, Library, MeasuredLoad,
    Metric, Sheet, SheetMeasurement, compare, conditions, measured_line, report,
};
use fathom_import::ImportedRun;
use fathom_model::{DeviceFacts, Direction, ImportedFigures, SpecFigure, SpecReport, SpecSheet};

/// fio's default block size, bytes.
const DEFAULT_BLOCK: u64 = 4096;

/// The named sheet, or the one that fits a model: the given model, or the first model in the results.
pub(super) fn choose<'a>(
    args: &CheckArgs,
    models: &[String],
    library: &'a Library,
) -> Result<Option<(&'a Sheet, DeviceFacts)>, String> {
    let device = |model: Option<&String>| {
        let mut facts = DeviceFacts {
            name: "device".to_owned(),
            ..DeviceFacts::default()
        };
        facts.identity.model = model.cloned();
        facts
    };
    if let Some(id) = &args.sheets.sheet {
        let sheet = library.by_id(id).ok_or_else(|| {
            format!(
                "--sheet: unknown data sheet '{}'; `fathom spec` lists the known sheets",
                id.escape_debug()
            )
        })?;
        return Ok(Some((
            sheet,
            device(args.model.as_ref().or(models.first())),
        )));
    }
    let mut all = args
        .model
        .iter()
        .chain(models)
        .map(|model| device(Some(model)));
    let for_device = all.find_map(|device| Some((library.for_device(&device)?, device)));
    match (&args.model, &for_device) {
        (Some(model), None) => Err(format!(
            "--model: no data sheet fits '{}'; `fathom spec` lists them",
            model.escape_debug()
        )),
        _ => Ok(for_device),
    }
}

/// Compares each result with the figures of the sheet that it covers. Returns a report for each result with such figures.
pub(super) fn judge(
    runs: &mut [ImportedRun],
    (sheet, device): (&Sheet, &DeviceFacts),
    library: &Library,
    named: bool,
) -> Vec<SpecReport> {
    let mut reports = Vec::new();
    for run in runs {
        let comparisons = comparisons(run, sheet, device);
        let model = format!("{} {}", sheet.maker, sheet.product);
        run.figures.claims.model = Some(model.clone());
        run.figures.sheet = Some(SpecSheet {
            model,
            part_prefixes: sheet.part_numbers.clone(),
            figures: comparisons
                .iter()
                .filter(|one| matches!(one.judgement, Judgement::Below | Judgement::Above))
                .filter_map(spec_figure)
                .collect(),
        });
        if comparisons.is_empty() && !sheet.figures.is_empty() {
            continue;
        }
        let name = if run.figures.name.is_empty() {
            "result"
        } else {
            &run.figures.name
        };
        let lines = comparisons.iter().map(measured_line).collect();
        let mut one = report(name, device, sheet, named);
        if let Some(other) = other_sheet(device, sheet, library) {
            one.chosen += &format!("; it matches {} ({})", other.id, other.product);
        }
        reports.push(SpecReport {
            lines,
            facts: Vec::new(),
            ..one
        });
    }
    reports
}

/// The sheet that the model of the device belongs to, if it is not `sheet`.
fn other_sheet<'a>(device: &DeviceFacts, sheet: &Sheet, library: &'a Library) -> Option<&'a Sheet> {
    let other = library.for_device(device)?;
    (other.id != sheet.id).then_some(other)
}

fn comparisons(run: &ImportedRun, sheet: &Sheet, device: &DeviceFacts) -> Vec<Comparison> {
    let Some((under, measured)) = measured(run) else {
        return Vec::new();
    };
    let Some(load) = load(&run.figures, &under) else {
        return Vec::new();
    };
    let compared = |figure: &Figure| compare(sheet, figure, &measured, device);
    let fits = |figure: &&Figure| load.applies_to(figure);
    let mut all: Vec<Comparison> = sheet.figures.iter().filter(fits).map(compared).collect();
    for what in [Metric::Iops, Metric::Bandwidth] {
        if all.iter().any(|one| one.figure.what == what) {
            continue;
        }
        // More in flight than any figure of the sheet: the rate must reach the figure with most.
        let shallower = sheet
            .figures
            .iter()
            .filter(|figure| figure.what == what && load.is_deeper_than(figure));
        let deepest = shallower.max_by_key(|figure| conditions(figure).in_flight());
        let one = deepest.map(compared);
        all.extend(one.filter(|one| one.judgement != Judgement::Above));
    }
    all
}

fn measured(run: &ImportedRun) -> Option<(Conditions, SheetMeasurement)> {
    let figures = &run.figures;
    let block = u32::try_from(figures.block.unwrap_or(DEFAULT_BLOCK)).ok()?;
    let under = Conditions {
        block,
        depth: figures.depth?,
        threads: figures.jobs.unwrap_or(1),
        assumed: Vec::new(),
    };
    let (iops, in_flight) = (figures.iops(), figures.in_flight().unwrap_or(0.0));
    let measured = SheetMeasurement {
        iops,
        bandwidth: iops * f64::from(block),
        mean_ns: if iops > 0.0 {
            in_flight / iops * 1e9
        } else {
            0.0
        },
        percentiles: run
            .spread
            .percentiles
            .iter()
            .map(|(percent, ns)| (*percent, *ns as u64))
            .collect(),
        under: Some(under.clone()),
        ..SheetMeasurement::default()
    };
    Some((under, measured))
}

/// What was measured, where it has one direction.
fn load(imported: &ImportedFigures, under: &Conditions) -> Option<MeasuredLoad> {
    let random = imported
        .rw
        .as_ref()
        .is_some_and(|rw| rw.starts_with("rand"));
    let side = match imported.streams.as_slice() {
        [one] if one.direction == Direction::Read => FigureDirection::Read,
        [one] if one.direction == Direction::Write => FigureDirection::Write,
        _ => return None,
    };
    Some(MeasuredLoad {
        side,
        access: if random {
            Access::Random
        } else {
            Access::Sequential
        },
        under: under.clone(),
    })
}

fn spec_figure(one: &Comparison) -> Option<SpecFigure> {
    let figure = &one.figure;
    let is_bandwidth = match figure.what {
        Metric::Bandwidth => true,
        Metric::Iops => false,
        Metric::Latency(_) => return None,
    };
    Some(SpecFigure {
        direction: if figure.side == FigureDirection::Write {
            Direction::Write
        } else {
            Direction::Read
        },
        random: figure.access == Access::Random,
        value: figure.value,
        is_bandwidth,
        block: figure.block.map(u64::from),
        in_flight: Some(f64::from(conditions(figure).in_flight())),
    })
}
