//! FIO_BINS_CLAMPED: latencies that fio's output format cannot tell apart.

use fathom_model::{FIO_CLAMP_NS, Finding, Histogram, Weight, fio_bin, fio_bin_value};

use super::{Detector, EntryContext, RunContext};
use crate::figures::{count, duration};

const CODE: &str = "FIO_BINS_CLAMPED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "Read percentiles and maximum, not the bins, for such latencies.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    scene.each(clamped)
}

fn clamped(seat: &EntryContext) -> Option<Finding> {
    let worst = beyond(&seat.latencies(|d| &d.clat)).max(beyond(&seat.latencies(|d| &d.lat)));
    if worst == 0 {
        return None;
    }
    let evidence = format!(
        "{} latencies of {} or more stand in fio's last bin, labelled {} ns; percentiles, mean and maximum are not \
         clamped.",
        count(worst),
        duration(FIO_CLAMP_NS as f64),
        count(fio_bin_value(fio_bin(FIO_CLAMP_NS))),
    );
    Some(seat.finding(CODE, Weight::Note, evidence, ADVICE))
}

fn beyond(histogram: &Histogram) -> u64 {
    histogram.count_above(fathom_model::Nanos::new(FIO_CLAMP_NS - 1))
}
