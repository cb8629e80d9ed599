//! FIO_BINS_CLAMPED: latencies that share the last bin of fio's output format.

use fathom_model::{FIO_CLAMP_NS, Finding, Histogram, Weight, fio_bin, fio_bin_value};

use super::{EntryContext, RunContext};
use crate::figures::{count, duration};

const ADVICE: &str = "Read percentiles and maximum, not the bins, for such latencies.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(clamped)
}

fn clamped(entry: &EntryContext) -> Option<Finding> {
    let worst = beyond(&entry.latencies(|d| &d.clat)).max(beyond(&entry.latencies(|d| &d.lat)));
    if worst == 0 {
        return None;
    }
    let evidence = format!(
        "{} latencies of {} or more fall into fio's last bin, labelled {} ns; percentiles, mean and maximum are not clamped.",
        count(worst),
        duration(FIO_CLAMP_NS as f64),
        count(fio_bin_value(fio_bin(FIO_CLAMP_NS))),
    );
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}

fn beyond(histogram: &Histogram) -> u64 {
    histogram.count_above(fathom_model::Nanos::new(FIO_CLAMP_NS - 1))
}
