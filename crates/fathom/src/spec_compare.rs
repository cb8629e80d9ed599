//! Compares results of fathom with the data sheet of their device.

use fathom_device::spec::{
    Access, Comparison, Conditions, Figure, FigureDirection, Library, MeasuredLoad, Sheet,
    SheetMeasurement, compare, measured_line, report,
};
use fathom_model::{DeviceFacts, Direction, Entry, Findings, SpecReport, TargetRecording, Weight};

/// The named sheet, or the sheet of the uppermost device that has one; with that device.
///
/// # Errors
/// When no sheet has this name.
pub fn choose<'a>(
    target: &TargetRecording,
    sheet: Option<&str>,
    library: &'a Library,
) -> Result<Option<(DeviceFacts, &'a Sheet)>, String> {
    if let Some(id) = sheet {
        let lowest = target
            .devices
            .last()
            .map(|device| device.before.clone())
            .unwrap_or_default();
        return Ok(Some((lowest, named(id, library)?)));
    }
    Ok(target
        .devices
        .iter()
        .find_map(|device| Some((device.before.clone(), library.for_device(&device.before)?))))
}

/// The sheet of this name.
///
/// # Errors
/// When there is none, with the most similar name.
pub fn named<'a>(id: &str, library: &'a Library) -> Result<&'a Sheet, String> {
    let ids = library.sheets().iter().map(|sheet| sheet.id.as_str());
    let advice = fathom_plan::closest(id, ids)
        .map_or("`fathom spec` lists them".to_owned(), |id| {
            format!("did you mean {id}?")
        });
    library
        .by_id(id)
        .ok_or_else(|| format!("unknown data sheet '{}': {advice}", id.escape_debug()))
}

/// The message that no sheet fits the devices of `target`.
pub fn none_fits(target: &TargetRecording) -> String {
    let describe = |device: &DeviceFacts| match &device.identity.model {
        Some(model) => format!("{} is {model}", device.name),
        None => format!("{} reports no model", device.name),
    };
    let models: Vec<String> = target
        .devices
        .iter()
        .map(|device| describe(&device.before))
        .collect();
    let models = if models.is_empty() {
        "no device found below it".to_owned()
    } else {
        models.join(", ")
    };
    format!(
        "no data sheet fits ({models}); name one with --sheet=ID, or add one (see specs/README.md); `fathom spec` lists the known sheets"
    )
}

/// Compares `findings` with the figures of the sheet that they cover; `None` when no sheet fits.
///
/// # Errors
/// When no sheet has this name.
pub fn spec_compare(
    findings: &Findings,
    sheet: Option<&str>,
    library: &Library,
) -> Result<Option<SpecReport>, String> {
    let Some(target) = findings.targets.first() else {
        return Ok(None);
    };
    let Some((device, chosen)) = choose(target, sheet, library)? else {
        return Ok(None);
    };
    let now = target
        .devices
        .iter()
        .find(|known| known.before.name == device.name)
        .and_then(|known| known.after.clone())
        .unwrap_or(device);
    let lines: Vec<_> = covered(findings, chosen, &now)
        .iter()
        .map(measured_line)
        .collect();
    let path = target.path.display().to_string();
    let others = chosen.figures.len() - lines.len();
    let facts = if others == 0 {
        Vec::new()
    } else {
        vec![(
            "figures under other conditions".to_owned(),
            format!("{others}; `fathom spec {path} --run` measures them"),
        )]
    };
    Ok(Some(SpecReport {
        lines,
        facts,
        source: Vec::new(),
        ..report(&path, &now, chosen, sheet.is_some())
    }))
}

/// The comparisons of the figures of a sheet that `findings` cover.
pub fn covered(findings: &Findings, sheet: &Sheet, device: &DeviceFacts) -> Vec<Comparison> {
    let figures = sheet.figures.iter();
    figures
        .filter_map(|figure| compared(findings, sheet, figure, device))
        .collect()
}

/// The sentences below the table of `quick`: the queue depth to use, and why there is no data sheet.
pub fn sentences(findings: &Findings) -> Vec<String> {
    // Each is about one device and one load on it.
    if findings.hosts.len() > 1 {
        return Vec::new();
    }
    let mut all = fathom_analyse::sufficient_depths(findings);
    if let (None, Some(target)) = (&findings.spec, findings.targets.first()) {
        all.push(format!("Against a data sheet: {}.", none_fits(target)));
    }
    all.extend(fathom_analyse::single_read_latency(findings));
    all.extend(fathom_analyse::device_class(findings));
    all
}

/// Compares a figure with the measurement that covers it with the most I/Os in flight.
fn compared(
    findings: &Findings,
    sheet: &Sheet,
    figure: &Figure,
    device: &DeviceFacts,
) -> Option<Comparison> {
    let covering = findings
        .entries
        .iter()
        .filter_map(|entry| Some((entry, load(entry)?)))
        .filter(|(_, load)| load.applies_to(figure));
    let (entry, load) = covering.max_by_key(|(_, load)| load.under.in_flight())?;
    let one = compare(
        sheet,
        figure,
        &measured(findings, entry, figure.side, Some(load.under)),
        device,
    );
    one.value.is_some().then_some(one)
}

/// The load of an entry. Several block sizes, open loops and commits have no figure in a sheet.
fn load(entry: &Entry) -> Option<MeasuredLoad> {
    let ios = |direction: Direction| entry.directions[direction].ios;
    let (reads, writes) = (ios(Direction::Read), ios(Direction::Write));
    let (side, direction) = match (reads, writes) {
        _ if ios(Direction::Trim) > 0 => return None,
        (0, 0) => return None,
        (_, 0) => (FigureDirection::Read, Direction::Read),
        (0, _) => (FigureDirection::Write, Direction::Write),
        _ => (
            FigureDirection::Mix((100.0 * reads as f64 / (reads + writes) as f64).round() as u8),
            Direction::Read,
        ),
    };
    let (smallest, block) = entry.block_sizes[direction];
    let plain =
        entry.error == 0 && entry.offered.is_none() && entry.sync.n == 0 && smallest == block;
    let access = if entry.rw.starts_with("rand") {
        Access::Random
    } else {
        Access::Sequential
    };
    let under = Conditions {
        block,
        depth: entry.depth,
        threads: entry.members,
        assumed: Vec::new(),
    };
    plain.then_some(MeasuredLoad {
        side,
        access,
        under,
    })
}

/// The figures of an entry. `under` are its conditions, where they are not the sheet's.
pub fn measured(
    findings: &Findings,
    entry: &Entry,
    side: FigureDirection,
    under: Option<Conditions>,
) -> SheetMeasurement {
    let direction = if side == FigureDirection::Write {
        Direction::Write
    } else {
        Direction::Read
    };
    let of_it = |about: &Option<String>| about.as_ref().is_none_or(|name| *name == entry.name);
    let invalid = findings
        .findings
        .iter()
        .filter(|finding| finding.weight == Weight::Invalidates && of_it(&finding.about));
    SheetMeasurement {
        iops: entry.little.iops,
        bandwidth: entry
            .directions
            .0
            .iter()
            .map(|summary| summary.bandwidth)
            .sum(),
        mean_ns: entry.little.mean_ns,
        percentiles: entry.directions[direction].clat.percentiles.clone(),
        ceiling_iops: entry.ceiling_iops,
        under,
        invalid: invalid.map(|finding| finding.code.to_string()).collect(),
    }
}
