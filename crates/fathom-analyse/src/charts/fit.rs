//! Fitted curves over the measured points.

use fathom_fit::{CurveFit, MeasuredCurve, REACH, can_fit, fit, measured_curves, value_text};
use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, Dimension, JobFigures,
    SeriesShape,
};

use super::ChartError;
use super::curve::{axis, values};
use super::dimension::DimensionFormat;
use super::unit::inner;

pub(super) const DERIVED: &str = "Each dot is one measured job: its throughput at the I/Os in flight (depth x jobs). The line is the law that \
    predicts left-out loads best: soft minimum, universal scalability law or the logarithmic law of a disk that reorders its queue. \
    The band is the 95 % confidence interval of the line. It ends at twice the largest measured load; nothing is predicted beyond. \
    `fathom fit` writes the parameters to a file.";
const FEW: ChartError = ChartError::Lacks(
    "a fit needs one kind of I/O at four or more different loads (I/Os in flight) over a factor of 4: measure iodepth=1,2,4,8,16,32",
);
const METRICS: ChartError = ChartError::Lacks(
    "a fit shows I/Os per second, bandwidth or the mean latency (--metric=iops, bw or mean)",
);
/// Limit of panels in a chart.
const PANELS: usize = 6;
/// Limit of the curves without a fit that the notes list.
const LISTED: usize = 2;
/// Points of a line for each doubling of the load.
const STEPS: f64 = 8.0;
/// A band that is wider than this factor would hide the points.
const WIDEST: f64 = 4.0;

/// What a fit shows.
fn metric_of(options: &ChartOptions) -> Result<Dimension, ChartError> {
    let metric = options.metric.unwrap_or(Dimension::Iops);
    if [Dimension::Iops, Dimension::Bandwidth, Dimension::Mean].contains(&metric) {
        Ok(metric)
    } else {
        Err(METRICS)
    }
}

fn matching(cells: &[JobFigures], options: &ChartOptions) -> Vec<JobFigures> {
    let chosen = cells.iter().filter(|cell| options.matches(cell));
    chosen.map(JobFigures::without_series).collect()
}

/// Whether [`fitted`] draws a chart.
pub(super) fn is_possible(cells: &[JobFigures], options: &ChartOptions) -> bool {
    let curves = || measured_curves(&matching(cells, options)).curves;
    metric_of(options).is_ok() && curves().iter().any(|curve| can_fit(&curve.points))
}

pub(super) fn fitted(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let metric = metric_of(options)?;
    let matching = matching(cells, options);
    let measured = measured_curves(&matching);
    let mut fits: Vec<(MeasuredCurve, CurveFit)> = Vec::new();
    let (mut notes, mut refused) = (Vec::new(), 0_usize);
    let several = measured.curves.len() > 1;
    let mut sources: Vec<&str> = matching.iter().map(|cell| cell.source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    let label = |curve: &MeasuredCurve| {
        if sources.len() > 1 {
            format!("{}: {}", curve.key.source, curve.key.label())
        } else {
            curve.key.label()
        }
    };
    for curve in measured.curves {
        match fit(&curve.points) {
            Ok(found) => fits.push((curve, found)),
            Err(error) => {
                refused += 1;
                if refused <= LISTED {
                    notes.push(format!("Not fitted: {}: {error}.", label(&curve)));
                }
            }
        }
    }
    if refused > LISTED {
        notes.push(format!("Not fitted: {} more curves.", refused - LISTED));
    }
    if fits.is_empty() {
        return Err(FEW);
    }
    if fits.len() > PANELS {
        notes.push(format!(
            "Left out: {} more curves; --rw and --block select.",
            fits.len() - PANELS
        ));
        fits.truncate(PANELS);
    }
    let panels: Vec<String> = if several {
        fits.iter().map(|(curve, _)| label(curve)).collect()
    } else {
        Vec::new()
    };
    let (mut all, mut reach) = (Vec::new(), (f64::INFINITY, 0.0_f64));
    for (panel, (curve, found)) in fits.iter().enumerate() {
        let block = curve.key.block.unwrap_or(0) as f64;
        let (low, high) = found.measured();
        reach = (reach.0.min(low), reach.1.max(high * REACH));
        all.push(ChartSeries {
            name: "measured".into(),
            shape: SeriesShape::Dots,
            panel,
            points: dots(curve, metric, block),
            colour: 0,
            ..ChartSeries::default()
        });
        all.push(line(found, metric, block, panel, &mut notes));
        let named = if several {
            format!("{}: ", label(curve))
        } else {
            String::new()
        };
        notes.push(format!("{named}{}.", sentence(found)));
    }
    all.retain(|series| !series.points.is_empty());
    let subtitle = match fits.as_slice() {
        [(curve, found)] if !several => {
            format!("{} · {}", label(curve), found.law.kind.title())
        }
        _ => String::new(),
    };
    let (low, high) = values(&all, 0);
    let scale = if metric == Dimension::Mean && low > 0.0 && high / low > 50.0 {
        AxisScale::Log(10)
    } else {
        AxisScale::Linear
    };
    let side = axis(metric, &all, 0, scale);
    Ok(Chart {
        title: format!("{}, fitted", side.title),
        subtitle,
        panels,
        x: ChartAxis {
            title: inner("I/Os in flight"),
            unit: Dimension::Outstanding
                .quantity()
                .unit(reach.0, reach.1, true),
            scale: AxisScale::Log(2),
            from: Some(reach.0.log2().floor().exp2()),
            to: Some(reach.1.log2().ceil().exp2()),
        },
        y: vec![side],
        body: ChartBody::Series(all),
        notes,
        ..Chart::default()
    })
}

fn dots(curve: &MeasuredCurve, metric: Dimension, block: f64) -> Vec<(f64, f64)> {
    let value = |point: &fathom_fit::LoadPoint| {
        Some(match metric {
            Dimension::Mean => point.mean_s? * 1e9,
            Dimension::Bandwidth => point.iops * block,
            _ => point.iops,
        })
    };
    let points = curve.points.iter();
    let mut points: Vec<(f64, f64)> = points
        .filter_map(|point| Some((point.in_flight(), value(point)?)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn line(
    found: &CurveFit,
    metric: Dimension,
    block: f64,
    panel: usize,
    notes: &mut Vec<String>,
) -> ChartSeries {
    let (low, high) = found.measured();
    let doublings = (high * REACH / low).log2();
    let steps = (doublings * STEPS).ceil() as usize;
    let (mut points, mut intervals) = (Vec::new(), Vec::new());
    for step in 0..=steps {
        let load = (low * (doublings * step as f64 / steps as f64).exp2()).min(high * REACH);
        let Ok(at) = found.predict(load) else {
            continue;
        };
        let latency = |iops: f64| (load / iops - found.think_s).max(0.0) * 1e9;
        let (value, interval) = match metric {
            Dimension::Mean => (
                at.mean_s * 1e9,
                (latency(at.curve.high), latency(at.curve.low)),
            ),
            Dimension::Bandwidth => (
                at.iops * block,
                (at.curve.low * block, at.curve.high * block),
            ),
            _ => (at.iops, (at.curve.low, at.curve.high)),
        };
        points.push((load, value));
        intervals.push(interval);
    }
    let too_wide = intervals
        .iter()
        .any(|(low, high)| !high.is_finite() || *high > low * WIDEST * WIDEST);
    let name = if too_wide {
        intervals.clear();
        notes.push(format!(
            "No band: the 95 % interval is wider than a factor of {WIDEST} in both directions; more loads would narrow it."
        ));
        "fitted"
    } else {
        "fitted, 95 % band"
    };
    ChartSeries {
        name: name.into(),
        shape: SeriesShape::Thin,
        panel,
        points,
        intervals,
        colour: 1,
        ..ChartSeries::default()
    }
}

/// The law with its parameters and its error.
fn sentence(found: &CurveFit) -> String {
    let infos = found.law.kind.parameters();
    let parameters: Vec<String> = infos
        .iter()
        .zip(found.law.values)
        .map(|(info, value)| format!("{} {}", info.name, value_text(info.unit, value)))
        .collect();
    format!(
        "{}: {}; error at left-out loads {:.1} %",
        found.law.kind.formula(),
        parameters.join(", "),
        100.0 * found.candidates[0].cross_validation
    )
}
