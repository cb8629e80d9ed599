//! CEILING_BY_SIZE: jobs with different block sizes show what a limit counts.

use fathom_model::{Direction, Finding, Weight};

use super::RunContext;
use super::burst_ended::shape_of;
use super::context::of_run;
use crate::figures::{bytes, rate};
use crate::provider_limits::{CountedForm, RateLimit, RateShape, SizePoint, counted_limit};

const ADVICE: &str = "Use the block size at which the limit gives the most of what the application needs, and compare results of \
                      one block size only.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let mut points: Vec<SizePoint> = Vec::new();
    let mut ended = None;
    for entry in &run.entries {
        let (from, to) = entry.span();
        // Jobs at the same time share the limit.
        if ended.is_some_and(|ended| from < ended) {
            return Vec::new();
        }
        ended = Some(to);
        if let Some(point) = shape_of(entry).and_then(point) {
            points.push(point);
        }
    }
    let direction = |d| {
        run.entries
            .iter()
            .any(|entry| entry.figures.directions[d].ios > 0)
    };
    // Reads and writes may have different limits.
    if direction(Direction::Read) && direction(Direction::Write) {
        return Vec::new();
    }
    counted_limit(&points)
        .map(|limit| {
            let sizes: Vec<String> = points
                .iter()
                .map(|point| format!("{} IOPS of {}", rate(point.iops.value), bytes(point.bytes)))
                .collect();
            let evidence = format!("{}: {}.", form_sentence(limit.form), sizes.join(", "));
            of_run(Weight::Degrades, evidence, ADVICE)
        })
        .into_iter()
        .collect()
}

fn point(shape: RateShape) -> Option<SizePoint> {
    let (RateShape::Bucket(RateLimit { base, one_size, .. })
    | RateShape::Ceiling(RateLimit { base, one_size, .. })) = shape;
    Some(SizePoint {
        bytes: one_size?.round() as u64,
        iops: base,
    })
}

/// What the limit counts, as the beginning of a sentence.
fn form_sentence(form: CountedForm) -> String {
    match form {
        CountedForm::Ios { iops } => {
            format!(
                "The limit counts I/Os, {} per second, whatever their size",
                rate(iops)
            )
        }
        CountedForm::Bytes { bytes_per_s } => {
            format!("The limit counts bytes, {}/s", bytes(bytes_per_s as u64))
        }
        CountedForm::IosOf { unit, iops } => format!(
            "The limit counts I/Os of at most {}, {} per second; a larger one counts several times",
            bytes(unit),
            rate(iops)
        ),
        CountedForm::Both { iops, bytes_per_s } => format!(
            "Two limits apply, {} I/Os per second and {}/s",
            rate(iops),
            bytes(bytes_per_s as u64)
        ),
    }
}
