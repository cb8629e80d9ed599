//! Compares a data sheet figure with a measurement.

use fathom_model::DeviceFacts;

use super::conditions::{Conditions, conditions};
use super::reason::reasons;
use super::sheet::{Confidence, Figure, Metric, Sheet};

/// A measurement, all threads together.
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
    /// I/Os per second that the load generator can reach on this host.
    pub ceiling_iops: Option<f64>,
    /// The conditions of the measurement, if they differ from the sheet's.
    pub under: Option<Conditions>,
    /// Codes of the findings that make the measurement invalid.
    pub invalid: Vec<String>,
}

/// Result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Within the tolerance.
    Kept,
    /// Worse than promised.
    Below,
    /// Better than promised, by more than the tolerance: as suspicious as worse.
    Above,
    /// The measurement is invalid or has no such metric.
    NotComparable,
}

/// A figure and its comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The promised figure.
    pub figure: Figure,
    /// The conditions of the measurement.
    pub under: Conditions,
    /// The measured value in the figure's own unit.
    pub value: Option<f64>,
    /// Measurement relative to the promise: 1 is as promised, less is worse. For latency this is
    /// promised over measured.
    pub ratio: Option<f64>,
    /// Accepted distance of the ratio from 1.
    pub tolerance: f64,
    /// The result.
    pub judgement: Judgement,
    /// Possible reasons, with figures.
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
        Metric::Latency(_) => figure.value / value,
        Metric::Iops | Metric::Bandwidth => value / figure.value,
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
        Metric::Iops => measured.iops,
        Metric::Bandwidth => measured.bandwidth,
        Metric::Latency(None) => measured.mean_ns,
        Metric::Latency(Some(wanted)) => {
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

/// 10 % for the maker's own text with stated conditions, 20 % for a quotation; another 10 % if
/// conditions were assumed or the figure is that of another capacity.
fn tolerance(sheet: &Sheet, under: &Conditions) -> f64 {
    let base = if sheet.confidence == Confidence::Maker {
        0.10
    } else {
        0.20
    };
    // Sheets hardly ever state the number of threads; one, with the stated depth, is what they
    // mean.
    let assumed = under.assumed.iter().any(|what| *what != "threads");
    if assumed || sheet.best_of_series {
        base + 0.10
    } else {
        base
    }
}
