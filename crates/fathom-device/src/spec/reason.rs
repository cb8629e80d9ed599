//! Explains why a figure was missed, by arithmetic on the known facts. Every sentence contains its
//! figures.

use fathom_model::format::size;
use fathom_model::{DeviceFacts, Medium, Transport};

use super::compare::{Comparison, Judgement, SheetMeasurement};
use super::conditions::{Conditions, conditions};
use super::sheet::{Confidence, Figure, FigureDirection, Metric, Sheet};

/// A share of a ceiling from which the ceiling is the limit.
const AT_CEILING: f64 = 0.85;
/// A share of the requested depth below which the depth was not reached.
const REACHED: f64 = 0.8;

pub(super) fn reasons(
    sheet: &Sheet,
    comparison: &Comparison,
    measured: &SheetMeasurement,
    device: &DeviceFacts,
) -> Vec<String> {
    let mut all = Vec::new();
    match comparison.judgement {
        Judgement::Kept => {}
        Judgement::NotComparable if !measured.invalid.is_empty() => {
            all.push(format!(
                "the measurement is invalid ({}); see `fathom explain`",
                measured.invalid.join(", ")
            ));
        }
        Judgement::NotComparable => all.push("the measurement has no such metric".to_owned()),
        Judgement::Below => {
            all.extend(other_depth(comparison, measured));
            all.extend(depth_not_reached(&comparison.under, measured));
            all.extend(link(
                &comparison.figure,
                &comparison.under,
                measured,
                device,
            ));
            all.extend(generator(measured));
            all.extend(after_cache(sheet, comparison, measured));
            all.extend(split(&comparison.under, device));
            all.extend(state(device));
        }
        Judgement::Above => all.extend(above(comparison, device)),
    }
    if matches!(comparison.judgement, Judgement::Below | Judgement::Above) {
        all.extend(sheet_limitations(sheet, &comparison.under));
        all.extend(device_between(device));
    }
    all
}

/// The measurement has a lower depth than the figure: N I/Os in flight with latency R allow at most
/// N / R per second.
fn other_depth(comparison: &Comparison, measured: &SheetMeasurement) -> Option<String> {
    let wanted = conditions(&comparison.figure).in_flight();
    let used = comparison.under.in_flight();
    if used >= wanted
        || measured.mean_ns <= 0.0
        || matches!(comparison.figure.what, Metric::Latency(_))
    {
        return None;
    }
    let percent = 100.0 * comparison.ratio?;
    let most = f64::from(used) / measured.mean_ns * 1e9;
    Some(format!(
        "depth {used} reaches {percent:.0} % of a depth-{wanted} figure: Little's law allows at most {used} / {:.1} us = {most:.0} IOPS",
        measured.mean_ns / 1e3
    ))
}

/// Fewer I/Os were in flight than requested: their number is rate times latency.
fn depth_not_reached(under: &Conditions, measured: &SheetMeasurement) -> Option<String> {
    let in_flight = measured.iops * measured.mean_ns / 1e9;
    let asked = f64::from(under.in_flight());
    (in_flight > 0.0 && in_flight < asked * REACHED).then(|| {
        let (rate, mean) = (measured.iops, measured.mean_ns / 1e3);
        format!("only {in_flight:.1} of {asked} I/Os were in flight ({rate:.0} IOPS x {mean:.1} us): the queue was not kept full")
    })
}

fn link(
    figure: &Figure,
    under: &Conditions,
    measured: &SheetMeasurement,
    device: &DeviceFacts,
) -> Vec<String> {
    let Some(link) = device.narrowest_link() else {
        return Vec::new();
    };
    let carries = link.now.bytes_per_s as f64;
    let needs = match figure.what {
        Metric::Iops => figure.value * f64::from(under.block),
        Metric::Bandwidth => figure.value,
        Metric::Latency(_) => return Vec::new(),
    };
    let (at, mb) = (&link.at, |bytes: f64| bytes / 1e6);
    let mut all = Vec::new();
    if needs > carries {
        all.push(format!(
            "the figure needs {:.0} MB/s, but the link at {at} carries at most {:.0} MB/s",
            mb(needs),
            mb(carries)
        ));
    } else if measured.bandwidth > carries * AT_CEILING {
        let share = 100.0 * measured.bandwidth / carries;
        all.push(format!(
            "{share:.0} % of the link at {at} ({:.0} MB/s) is used: the link is the limit",
            mb(carries)
        ));
    }
    if let Some(best) = link.best.filter(|_| link.is_degraded()) {
        let could = mb(best.bytes_per_s as f64);
        all.push(format!(
            "the link at {at} runs at {:.0} MB/s although both ends support {could:.0} MB/s",
            mb(carries)
        ));
    }
    all
}

fn generator(measured: &SheetMeasurement) -> Option<String> {
    let ceiling = measured.ceiling_iops?;
    (measured.iops > ceiling * AT_CEILING).then(|| {
        let share = 100.0 * measured.iops / ceiling;
        format!("the load generator is at {share:.0} % of its own limit on this host ({ceiling:.0} IOPS): use more threads")
    })
}

fn after_cache(
    sheet: &Sheet,
    comparison: &Comparison,
    measured: &SheetMeasurement,
) -> Option<String> {
    let (after, promised) = (sheet.write_after_cache?, comparison.figure.value);
    let fits = comparison.figure.side == FigureDirection::Write
        && comparison.figure.what == Metric::Bandwidth
        && measured.bandwidth < f64::midpoint(after, promised);
    fits.then(|| {
        let (after, promised) = (after / 1e6, promised / 1e6);
        format!(
            "the sheet itself states {after:.0} MB/s once the fast cache is full, and {promised:.0} MB/s only before that"
        )
    })
}

fn split(under: &Conditions, device: &DeviceFacts) -> Option<String> {
    let most = device.queue.max_unsplit_contiguous?;
    (u64::from(under.block) > most.get()).then(|| {
        let (block, most) = (
            size(fathom_model::Bytes::new(under.block.into())),
            size(most),
        );
        format!("I/Os of {block} are split: a request holds at most {most} on this device")
    })
}

fn state(device: &DeviceFacts) -> Vec<String> {
    let health = &device.health;
    let hot = health
        .temperature_c
        .zip(health.warning_c)
        .filter(|(now, limit)| now >= limit);
    let hot = hot
        .map(|(now, limit)| format!("its temperature is {now:.0} C; it throttles at {limit:.0} C"));
    let worn = health
        .used_percent
        .filter(|used| *used >= 100)
        .map(|used| format!("{used} % of its rated life is used"));
    let array = device
        .array
        .as_ref()
        .and_then(|array| Some((array, array.degraded.filter(|n| *n > 0)?)));
    let degraded =
        array.map(|(array, missing)| format!("{missing} of {} members are missing", array.members));
    [hot, worn, degraded].into_iter().flatten().collect()
}

fn above(comparison: &Comparison, device: &DeviceFacts) -> Vec<String> {
    let percent = comparison.ratio.map_or(0.0, |ratio| 100.0 * (ratio - 1.0));
    let mut all = vec![format!(
        "{percent:.0} % better than promised is suspicious: a cache answered, the range was never written, or the sheet belongs to another drive"
    )];
    if let Some(link) = device.narrowest_link() {
        let (value, carries) = (comparison.value.unwrap_or(0.0), link.now.bytes_per_s as f64);
        let moved = match comparison.figure.what {
            Metric::Bandwidth => value,
            Metric::Iops => value * f64::from(comparison.under.block),
            Metric::Latency(_) => 0.0,
        };
        if moved > carries {
            let (moved, carries) = (moved / 1e6, carries / 1e6);
            all.push(format!(
                "{moved:.0} MB/s is more than the link at {} can carry ({carries:.0} MB/s): memory answered",
                link.at
            ));
        }
    }
    all
}

fn sheet_limitations(sheet: &Sheet, under: &Conditions) -> Vec<String> {
    let assumed = (!under.assumed.is_empty()).then(|| {
        let (block, depth, threads) = (
            size(fathom_model::Bytes::new(under.block.into())),
            under.depth,
            under.threads,
        );
        let what = under.assumed.join(" and ");
        format!(
            "the sheet does not state {what}; assumed {block}, depth {depth}, {threads} thread(s)"
        )
    });
    let series = sheet
        .best_of_series
        .then(|| "the sheet's figures are those of the best capacity of its series".to_owned());
    let quoted = (sheet.confidence != Confidence::Maker)
        .then(|| "the sheet is a secondary source that quotes the maker".to_owned());
    let models = sheet
        .models_unconfirmed
        .then(|| "none of the sheet's sources confirms that this model is the product".to_owned());
    [assumed, series, quoted, models]
        .into_iter()
        .flatten()
        .collect()
}

fn device_between(device: &DeviceFacts) -> Option<String> {
    let word = device.transport.name();
    let between = match (device.medium, device.transport) {
        (Medium::Virtual, _) => Some("a hypervisor or program"),
        (_, Transport::RaidController) => Some("a RAID controller with a cache of its own"),
        (Medium::Below, _) => Some("a stack of devices"),
        _ => None,
    };
    between.map(|what| format!("{what} is between this host and the drive ({word})"))
}
