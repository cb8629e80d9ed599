//! The model of one device: all its curves, as text and as a model file.

use std::fmt::Write;

use fathom_model::JobFigures;
use fathom_model::format::{bandwidth, counted, duration, printable, rate};

use crate::curve::{CONFIDENCE, CurveFit, FitError, Interval, REACH};
use crate::measured::{CurveKey, measured_curves};
use crate::model_file::ModelCurve;
use crate::structure::{Structural, structure};
use crate::surface::{GridFit, fit_grid};

/// Cells of equal load that differ by more than this (root mean square) are reported.
const UNEQUAL: f64 = 0.1;

/// A parameter whose interval is wider than this factor is not determined.
const WIDEST: f64 = 1e4;

/// Where the measurements come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Name of the device; may be empty.
    pub device: String,
    /// Files, directories and runs.
    pub results: Vec<String>,
    /// Dates of the results, as they give them, in order; the file has the first and the last.
    pub dates: Vec<String>,
    /// The program that fits, with its version.
    pub program: String,
}

/// One curve of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedCurve {
    /// What was measured.
    pub key: CurveKey,
    /// The law, with the correction of a grid.
    pub grid: GridFit,
}

/// A device model that was fitted to results.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedModel {
    /// Where the measurements come from.
    pub provenance: Provenance,
    /// The curves, at least one.
    pub curves: Vec<FittedCurve>,
    /// Curves with too few points, with the reason.
    pub refused: Vec<(CurveKey, FitError)>,
    /// Cells that are left out, by reason.
    pub left_out: Vec<(&'static str, usize)>,
    /// What the curves say about the parts of the device.
    pub structure: Vec<Structural>,
}

/// Fits every curve of these cells.
///
/// # Errors
/// When no curve has enough points: a sentence for each, with what to measure.
pub fn fit_model(cells: &[JobFigures], provenance: Provenance) -> Result<FittedModel, String> {
    let measured = measured_curves(cells);
    let (mut curves, mut refused) = (Vec::new(), Vec::new());
    for curve in measured.curves {
        match fit_grid(&curve.points) {
            Ok(grid) => curves.push(FittedCurve {
                key: curve.key,
                grid,
            }),
            Err(error) => refused.push((curve.key, error)),
        }
    }
    if curves.is_empty() {
        let mut reasons: Vec<String> = refused
            .iter()
            .map(|(key, error)| format!("{}: {error}", key.label()))
            .collect();
        reasons.extend(left_out(&measured.left_out));
        if reasons.is_empty() {
            reasons.push("there is no result".to_owned());
        }
        return Err(format!("nothing to fit: {}", reasons.join("\n  ")));
    }
    let pairs: Vec<(&CurveKey, &CurveFit)> = curves
        .iter()
        .map(|curve| (&curve.key, &curve.grid.curve))
        .collect();
    Ok(FittedModel {
        structure: structure(&pairs, &measured.regions),
        provenance,
        curves,
        refused,
        left_out: measured.left_out,
    })
}

fn left_out(all: &[(&'static str, usize)]) -> Vec<String> {
    all.iter()
        .map(|(why, count)| format!("left out, {}: {why}", counted(*count as u64, "job")))
        .collect()
}

/// A value with its unit: `117 us`, `52,400 IOPS`, `6.4`.
#[must_use]
pub fn value_text(unit: &str, value: f64) -> String {
    if !value.is_finite() {
        return "unlimited".to_owned();
    }
    match unit {
        "s" => duration(value * 1e9),
        "IOPS" => format!("{} IOPS", rate(value)),
        "B/s" => bandwidth(value),
        _ => short(value),
    }
}

/// Three significant figures.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    if rounded != 0.0 && rounded.abs() < 1e-4 {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

fn interval_text(unit: &str, interval: &Interval) -> String {
    if interval.high.is_infinite() || interval.low > 0.0 && interval.high > interval.low * WIDEST {
        return "not determined".to_owned();
    }
    format!(
        "{} to {}",
        value_text(unit, interval.low),
        value_text(unit, interval.high)
    )
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        small if small < 0.05 => "< 0.1 %".to_owned(),
        value if value < 10.0 => format!("{value:.1} %"),
        value => format!("{value:.0} %"),
    }
}

impl FittedCurve {
    /// The curve in a few lines.
    #[must_use]
    pub fn text(&self) -> String {
        let fit = &self.grid.curve;
        let (low, high) = fit.measured();
        let mut text = format!(
            "{}: {}, {}\n",
            printable(&self.key.label()),
            fit.law.kind.title(),
            fit.law.kind.formula()
        );
        let _ = writeln!(
            text,
            "  {} at {low} to {high} I/Os in flight; valid up to {}",
            counted(fit.points.len() as u64, "measurement"),
            high * REACH
        );
        let laws: Vec<String> = fit
            .candidates
            .iter()
            .map(|one| format!("{} {}", one.law.kind.title(), percent(one.cross_validation)))
            .collect();
        let _ = writeln!(
            text,
            "  Error at left-out loads (cross-validation): {}",
            laws.join(", ")
        );
        for (info, parameter) in fit.law.kind.parameters().iter().zip(&fit.parameters) {
            let interval = if parameter.is_at_bound {
                "at the end of its range, no interval".to_owned()
            } else {
                format!(
                    "{:.0} % CI: {}",
                    CONFIDENCE * 100.0,
                    interval_text(info.unit, &parameter.interval)
                )
            };
            let _ = writeln!(
                text,
                "  {:<6} {:<14} {interval}  ({})",
                info.name,
                if interval == "95 % CI: not determined" {
                    "-".to_owned()
                } else {
                    value_text(info.unit, parameter.value)
                },
                info.about
            );
        }
        let (worst, error) = fit.worst();
        let _ = writeln!(
            text,
            "  Residuals: {} (RMS); largest {}{} at iodepth={} numjobs={}",
            percent(fit.candidates[0].residual),
            if error < 0.0 { "-" } else { "+" },
            percent(error.abs()),
            worst.depth,
            worst.jobs
        );
        if let Some(spread) = fit.same_load.filter(|spread| *spread > UNEQUAL) {
            let explained = match self.grid.corrected_error {
                Some(error) => format!(
                    "; depth and jobs explain part of it: mean error of left-out cells {} instead of {}",
                    percent(error),
                    percent(self.grid.law_error)
                ),
                None => "; neither depth nor jobs explains it, so that no curve predicts single cells better".to_owned(),
            };
            let _ = writeln!(
                text,
                "  Cells of equal load differ by {} (RMS){explained}",
                percent(spread)
            );
        }
        text
    }
}

impl FittedModel {
    /// The model as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for curve in &self.curves {
            text += &curve.text();
            text.push('\n');
        }
        text += "Parts of the device\n";
        for part in &self.structure {
            let value = match &part.value {
                Ok((value, interval)) => format!(
                    "{}, {:.0} % CI: {}",
                    value_text(part.unit, *value),
                    CONFIDENCE * 100.0,
                    interval_text(part.unit, interval)
                ),
                Err(open) => open.clone(),
            };
            let _ = writeln!(text, "  {:<8} {value}  ({})", part.name, part.about);
        }
        for (key, error) in &self.refused {
            let _ = writeln!(text, "\nNot fitted: {}: {error}", printable(&key.label()));
        }
        for line in left_out(&self.left_out) {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// The predictions of every curve at a load, as text.
    ///
    /// # Errors
    /// When the load is outside the range of a curve.
    pub fn predictions(&self, in_flight: f64) -> Result<String, String> {
        let mut text = String::new();
        for curve in &self.curves {
            let label = curve.key.label();
            let found = curve
                .grid
                .curve
                .predict(in_flight)
                .map_err(|error| format!("{label}: {error}"))?;
            let _ = writeln!(
                text,
                "{}, {in_flight} in flight: {}, {:.0} % CI of the curve: {}, of a measurement: {}; mean latency {}",
                printable(&label),
                value_text("IOPS", found.iops),
                CONFIDENCE * 100.0,
                interval_text("IOPS", &found.curve),
                interval_text("IOPS", &found.measurement),
                value_text("s", found.mean_s)
            );
        }
        Ok(text)
    }

    /// The model file.
    #[must_use]
    pub fn toml(&self) -> String {
        let from = &self.provenance;
        let points: usize = self
            .curves
            .iter()
            .map(|curve| curve.grid.curve.points.len())
            .sum();
        let name = if from.device.is_empty() {
            "a device"
        } else {
            &from.device
        };
        let mut text = format!(
            "# A device model that was fitted to measurements. `[fit]` is a record; a simulation reads `[parameters]`.\nsummary = {}\nmodel = \"curve\"\n\n[parameters]\ncurves = [\n",
            quoted(&format!(
                "{name}: {} fitted to {}",
                counted(self.curves.len() as u64, "curve"),
                counted(points as u64, "measurement")
            ))
        );
        for curve in &self.curves {
            let _ = writeln!(text, "  {},", quoted(&curve.model_curve().line()));
        }
        let _ = write!(
            text,
            "]\n\n[sources]\ncurves = {}\n\n[fit]\nprogram = {}\ndevice = {}\nresults = {}\ndates = {}\nvalid_beyond_largest_load = {REACH:?}\nconfidence = {CONFIDENCE:?}\n",
            quoted(&format!("fitted to {}", from.results.join(", "))),
            quoted(&from.program),
            quoted(&from.device),
            list(&from.results),
            list(&first_and_last(&from.dates)),
        );
        for curve in &self.curves {
            curve.toml(&mut text);
        }
        for part in &self.structure {
            let _ = write!(
                text,
                "\n[[fit.structure]]\nname = \"{}\"\nabout = \"{}\"\ncurve = {}\n",
                part.name,
                part.about,
                quoted(&part.curve)
            );
            match &part.value {
                Ok((value, interval)) => {
                    let _ = writeln!(
                        text,
                        "unit = \"{}\"\nvalue = {}\nlow = {}\nhigh = {}",
                        part.unit,
                        number(*value),
                        number(interval.low),
                        number(interval.high)
                    );
                }
                Err(open) => {
                    let _ = writeln!(text, "open = {}", quoted(open));
                }
            }
        }
        text
    }
}

impl FittedCurve {
    /// The curve of the simulated device.
    #[must_use]
    pub fn model_curve(&self) -> ModelCurve {
        ModelCurve {
            rw: self.key.rw.clone(),
            block: self.key.block.unwrap_or(4096),
            reads: self.key.reads,
            law: self.grid.curve.law,
            loads: self.grid.curve.measured(),
        }
    }

    fn toml(&self, text: &mut String) {
        let fit = &self.grid.curve;
        let (low, high) = fit.measured();
        let (worst, error) = fit.worst();
        let _ = write!(
            text,
            "\n[[fit.curve]]\nkind = {}\nengine = {}\nlaw = \"{}\"\nformula = \"{}\"\nmeasured_loads = [{low:?}, {high:?}]\nvalid_loads = [{:?}, {:?}]\nmeasurements = {}\nresidual_rms = {}\nresidual_largest = {} # iodepth={} numjobs={}\nthink_time_s = {}\n",
            quoted(&self.key.label()),
            quoted(&self.key.engine),
            fit.law.kind.name(),
            fit.law.kind.formula(),
            low / REACH,
            high * REACH,
            fit.points.len(),
            number(fit.candidates[0].residual),
            number(error),
            worst.depth,
            worst.jobs,
            number(fit.think_s),
        );
        if let Some(spread) = fit.same_load {
            let _ = writeln!(text, "equal_load_spread = {}", number(spread));
        }
        text.push_str("\n[fit.curve.cross_validation]\n");
        for one in &fit.candidates {
            let _ = writeln!(
                text,
                "{} = {}",
                one.law.kind.name(),
                number(one.cross_validation)
            );
        }
        text.push_str("\n[fit.curve.parameters]\n");
        for (info, parameter) in fit.law.kind.parameters().iter().zip(&fit.parameters) {
            let _ = writeln!(
                text,
                "{} = {{ value = {}, low = {}, high = {}, unit = \"{}\" }} # {}",
                info.name,
                number(parameter.value),
                number(parameter.interval.low),
                number(parameter.interval.high),
                info.unit,
                info.about
            );
        }
        text.push_str("\n[fit.curve.residuals] # measured against fitted, by iodepth x numjobs\n");
        let mut seen: Vec<(u32, u32)> = Vec::new();
        for point in &fit.points {
            // A cell that was measured several times has a number behind its name.
            seen.push((point.depth, point.jobs));
            let repeats = seen
                .iter()
                .filter(|one| **one == (point.depth, point.jobs))
                .count();
            let suffix = if repeats > 1 {
                format!("-{repeats}")
            } else {
                String::new()
            };
            let _ = writeln!(
                text,
                "{}x{}{suffix} = {}",
                point.depth,
                point.jobs,
                number(point.iops / fit.law.iops(point.in_flight()) - 1.0)
            );
        }
    }
}

/// A TOML number of five significant digits.
fn number(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    format!("{rounded:?}")
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn first_and_last(dates: &[String]) -> Vec<String> {
    match dates {
        [first, .., last] => vec![first.clone(), last.clone()],
        other => other.to_vec(),
    }
}

fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(", "))
}
