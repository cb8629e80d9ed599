//! Device models from measurements: throughput and latency over the I/Os in flight.
//!
//! ```
//! use fathom_fit::{LawKind, LoadPoint, fit};
//!
//! // Eight servers of 100 us: 10,000 IOPS for each I/O in flight, at most 80,000.
//! let points: Vec<LoadPoint> = [1_u32, 2, 4, 8, 16, 32]
//!     .map(|depth| LoadPoint::new(depth, 1, 10_000.0 * f64::from(depth.min(8)), None))
//!     .to_vec();
//! let curve = fit(&points)?;
//! assert_eq!(curve.law.kind, LawKind::SoftMinimum);
//! assert!((curve.predict(24.0)?.iops / 80_000.0 - 1.0).abs() < 0.01);
//! // 64 is twice the largest load; beyond it nothing is known.
//! assert!(curve.predict(64.0).is_ok() && curve.predict(65.0).is_err());
//! # Ok::<(), fathom_fit::FitError>(())
//! ```
//!
//! Least squares on the log scale, by Levenberg-Marquardt from fixed starts: the same points give the
//! same parameters. The law is chosen by cross-validation, intervals come from the curvature of the
//! minimum (delta method) with Student's t.

mod curve;
mod fitted;
mod law;
mod least_squares;
mod measured;
mod model_file;
mod structure;
mod student;
mod surface;

pub use self::curve::{
    CONFIDENCE, Candidate, CurveFit, FEWEST_LOADS, FitError, Interval, LoadPoint, Parameter,
    Prediction, REACH, can_fit, fit, fit_law,
};
pub use self::fitted::{FittedCurve, FittedModel, Provenance, fit_model, value_text};
pub use self::law::{Law, LawKind, PARAMETERS, ParameterInfo};
pub use self::measured::{CurveKey, MeasuredCurve, MeasuredCurves, RegionPoint, measured_curves};
pub use self::model_file::ModelCurve;
pub use self::structure::{Structural, structure};
pub use self::surface::{GridFit, fit_grid};
