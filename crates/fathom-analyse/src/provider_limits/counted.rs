//! What a limit counts: I/Os, bytes, or I/Os of at most so many bytes.

use super::LimitEstimate;

/// Sizes up to which a provider counts one I/O, bytes.
const UNITS: [u64; 5] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];
/// Block sizes that tell all forms apart: between 16 KiB and 256 KiB none is a multiple of a unit
/// of more than half its size, and two are above 256 KiB.
pub const COUNTED_SIZES: [u64; 7] = [
    4 << 10,
    24 << 10,
    48 << 10,
    96 << 10,
    192 << 10,
    384 << 10,
    512 << 10,
];
/// A form fits if no rate is further from it than this share.
const FITS: f64 = 0.04;

/// The base rate at one block size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePoint {
    /// Block size, bytes.
    pub bytes: u64,
    /// I/Os per second.
    pub iops: LimitEstimate,
}

/// How a limit counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CountedForm {
    /// Each I/O counts once, whatever its size.
    Ios {
        /// I/Os per second.
        iops: f64,
    },
    /// Bytes count.
    Bytes {
        /// Bytes per second.
        bytes_per_s: f64,
    },
    /// An I/O counts once per `unit` bytes begun.
    IosOf {
        /// Bytes that count as one I/O at most.
        unit: u64,
        /// Such I/Os per second.
        iops: f64,
    },
    /// Two limits: the smaller one applies.
    Both {
        /// I/Os per second.
        iops: f64,
        /// Bytes per second.
        bytes_per_s: f64,
    },
}

impl CountedForm {
    /// The rate that the form allows at a block size, I/Os per second.
    #[must_use]
    pub fn iops_at(&self, bytes: u64) -> f64 {
        match *self {
            CountedForm::Ios { iops } => iops,
            CountedForm::Bytes { bytes_per_s } => bytes_per_s / bytes as f64,
            CountedForm::IosOf { unit, iops } => iops / bytes.div_ceil(unit).max(1) as f64,
            CountedForm::Both { iops, bytes_per_s } => iops.min(bytes_per_s / bytes as f64),
        }
    }

    /// The bytes of one counted I/O; 0 for the forms without.
    fn unit(&self) -> u64 {
        match *self {
            CountedForm::IosOf { unit, .. } => unit,
            _ => 0,
        }
    }

    /// How many quantities it has.
    fn freedom(&self) -> usize {
        match self {
            CountedForm::Ios { .. } | CountedForm::Bytes { .. } => 1,
            CountedForm::IosOf { .. } | CountedForm::Both { .. } => 2,
        }
    }
}

/// A form with its fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedLimit {
    /// The form.
    pub form: CountedForm,
    /// The largest relative difference of a measured rate.
    pub worst: f64,
}

/// The form that the rates at several block sizes have. `None`: fewer than three sizes, none fits,
/// or two that differ fit.
#[must_use]
pub fn counted_limit(points: &[SizePoint]) -> Option<CountedLimit> {
    let mut sizes: Vec<u64> = points.iter().map(|point| point.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < 3 || points.iter().any(|point| point.iops.value <= 0.0) {
        return None;
    }
    let mut fits: Vec<CountedLimit> = forms(points)
        .into_iter()
        .map(|form| CountedLimit {
            form,
            worst: worst(points, &form),
        })
        .collect();
    fits.sort_by(|a, b| {
        let fit = |one: &CountedLimit| (one.worst > FITS, one.form.freedom());
        fit(a).cmp(&fit(b)).then(a.worst.total_cmp(&b.worst))
    });
    let best = *fits.first().filter(|best| best.worst <= FITS)?;
    // No other kind of form with as many quantities may fit.
    let ambiguous = fits[1..].iter().any(|other| {
        other.worst <= FITS
            && other.form.freedom() == best.form.freedom()
            && other.form.unit() != best.form.unit()
    });
    (!ambiguous).then_some(best)
}

fn worst(points: &[SizePoint], form: &CountedForm) -> f64 {
    points
        .iter()
        .map(|point| (point.iops.value / form.iops_at(point.bytes) - 1.0).abs())
        .fold(0.0, f64::max)
}

/// Every form with its best parameters: the middle of the range of the values that the points it
/// explains give.
fn forms(points: &[SizePoint]) -> Vec<CountedForm> {
    let middle = |values: Vec<f64>| {
        let (low, high) = values
            .iter()
            .fold((f64::MAX, 0.0_f64), |(low, high), value| {
                (low.min(*value), high.max(*value))
            });
        (low * high).sqrt()
    };
    let of =
        |value: fn(&SizePoint) -> f64, part: &[SizePoint]| middle(part.iter().map(value).collect());
    let iops = |point: &SizePoint| point.iops.value;
    let bandwidth = |point: &SizePoint| point.iops.value * point.bytes as f64;
    let mut forms = vec![
        CountedForm::Ios {
            iops: of(iops, points),
        },
        CountedForm::Bytes {
            bytes_per_s: of(bandwidth, points),
        },
    ];
    let mut sorted = points.to_vec();
    sorted.sort_by_key(|point| point.bytes);
    let (least, most) = (sorted[0].bytes, sorted[sorted.len() - 1].bytes);
    forms.extend(
        UNITS
            .iter()
            .filter(|unit| (least..most).contains(*unit))
            .map(|&unit| CountedForm::IosOf {
                unit,
                iops: middle(
                    points
                        .iter()
                        .map(|point| point.iops.value * point.bytes.div_ceil(unit) as f64)
                        .collect(),
                ),
            }),
    );
    forms.extend((1..sorted.len()).map(|at| CountedForm::Both {
        iops: of(iops, &sorted[..at]),
        bytes_per_s: of(bandwidth, &sorted[at..]),
    }));
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(form: CountedForm, noise: f64) -> Vec<SizePoint> {
        COUNTED_SIZES
            .iter()
            .enumerate()
            .map(|(at, &bytes)| SizePoint {
                bytes,
                iops: LimitEstimate::new(
                    form.iops_at(bytes) * (1.0 + noise * [1.0, -1.0][at % 2]),
                    0.0,
                ),
            })
            .collect()
    }

    #[test]
    fn each_form_is_recognised_with_two_percent_of_noise() {
        let mut forms = vec![
            CountedForm::Ios { iops: 500.0 },
            CountedForm::Bytes { bytes_per_s: 25e6 },
        ];
        forms.extend([16, 32, 64, 128, 256].map(|kib| CountedForm::IosOf {
            unit: kib << 10,
            iops: 3000.0,
        }));
        forms.extend(
            [20e6, 60e6, 128e6, 250e6].map(|bytes_per_s| CountedForm::Both {
                iops: 3000.0,
                bytes_per_s,
            }),
        );
        for form in forms {
            for noise in [0.0, 0.015] {
                let found = counted_limit(&points(form, noise))
                    .unwrap_or_else(|| panic!("{form:?} with {noise}"));
                assert_eq!(
                    std::mem::discriminant(&found.form),
                    std::mem::discriminant(&form),
                    "{form:?}: {found:?}"
                );
                if let (
                    CountedForm::IosOf { unit, .. },
                    CountedForm::IosOf { unit: expected, .. },
                ) = (found.form, form)
                {
                    assert_eq!(unit, expected);
                }
                for bytes in COUNTED_SIZES {
                    let off = found.form.iops_at(bytes) / form.iops_at(bytes) - 1.0;
                    assert!(off.abs() < 0.02, "{form:?}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn two_sizes_and_a_device_without_a_form_give_none() {
        let form = CountedForm::Ios { iops: 500.0 };
        assert_eq!(counted_limit(&points(form, 0.0)[..2]), None);
        // A disk: latency plus transfer, 1 / (5 ms + size / 100 MB/s).
        let disk: Vec<SizePoint> = COUNTED_SIZES
            .iter()
            .map(|&bytes| SizePoint {
                bytes,
                iops: LimitEstimate::new(1.0 / (0.002 + bytes as f64 / 100e6), 0.0),
            })
            .collect();
        assert_eq!(counted_limit(&disk), None);
    }
}
