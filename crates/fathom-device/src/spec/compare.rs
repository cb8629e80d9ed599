//! A figure against what was measured.

use fathom_model::DeviceFacts;

use super::conditions::{Conditions, conditions};
use super::reason::reasons;
use super::sheet::{Confidence, Figure, Sheet, What};

/// What was measured, all threads together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SheetMeasurement {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Mean latency, nanoseconds.
    pub mean_ns: f64,
    /// Percentile and latency in nanoseconds.
    pub percentiles: Vec<(f64, u64)>,
    /// I/Os per second that the load generator could make here.
    pub ceiling_iops: Option<f64>,
    /// What it was measured under, where that is not the sheet's own.
    pub under: Option<Conditions>,
    /// Codes of findings that make the measurement invalid.
    pub invalid: Vec<String>,
}

/// Which way a figure was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Within the tolerance.
    Kept,
    /// Worse than promised.
    Below,
    /// Better than promised, by more than the tolerance: as suspicious as worse.
    Above,
    /// The measurement is invalid or holds no such figure.
    NotComparable,
}

/// A figure and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What was promised.
    pub figure: Figure,
    /// What it was measured under.
    pub under: Conditions,
    /// The measured value in the figure's own unit.
    pub value: Option<f64>,
    /// How good the measurement is against the promise: 1 is as promised, less is worse. For latency this is promised over measured.
    pub ratio: Option<f64>,
    /// How far from 1 is still kept.
    pub tolerance: f64,
    /// The judgement.
    pub judgement: Judgement,
    /// Why it may be so, with figures.
    pub reasons: Vec<String>,
}

/// Compares one figure of `sheet`, measured on `device`.
#[must_use]
pub fn compare(
    sheet: &Sheet,
    figure: &Figure,
    measured: &SheetMeasurement,
    device: &DeviceFacts,
) -> Comparison {
    let under = measured.under.clone().unwrap_or_else(|| conditions(figure));
    let value = value(figure, measured);
    let ratio = value.map(|value| match figure.what {
        What::Latency(_) => figure.value / value,
        What::Iops | What::Bandwidth => value / figure.value,
    });
    let tolerance = tolerance(sheet, &under);
    let judgement = match ratio {
        _ if !measured.invalid.is_empty() => Judgement::NotComparable,
        None => Judgement::NotComparable,
        Some(ratio) if ratio < 1.0 - tolerance => Judgement::Below,
        Some(ratio) if ratio > 1.0 + tolerance => Judgement::Above,
        Some(_) => Judgement::Kept,
    };
    let mut comparison = Comparison {
        figure: figure.clone(),
        under,
        value,
        ratio,
        tolerance,
        judgement,
        reasons: Vec::new(),
    };
    comparison.reasons = reasons(sheet, &comparison, measured, device);
    comparison
}

fn value(figure: &Figure, measured: &SheetMeasurement) -> Option<f64> {
    let value = match figure.what {
        What::Iops => measured.iops,
        What::Bandwidth => measured.bandwidth,
        What::Latency(None) => measured.mean_ns,
        What::Latency(Some(wanted)) => {
            let close = |(percentile, _): &&(f64, u64)| (percentile - wanted).abs() < 1e-6;
            measured
                .percentiles
                .iter()
                .find(close)
                .map(|(_, ns)| *ns as f64)?
        }
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

/// A tenth for the maker's own text with stated conditions; a fifth for a quotation; as much again where conditions were
/// assumed or the figure is that of another capacity.
fn tolerance(sheet: &Sheet, under: &Conditions) -> f64 {
    let base = if sheet.confidence == Confidence::Maker {
        0.10
    } else {
        0.20
    };
    // Threads are hardly ever stated, and one with the depth is what is meant.
    let assumed = under.assumed.iter().any(|what| *what != "threads");
    if assumed || sheet.best_of_series {
        base + 0.10
    } else {
        base
    }
}
