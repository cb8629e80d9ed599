//! Formats figures in sentences: bytes, durations, counts, shares and times.

pub(crate) use fathom_model::format::{
    bandwidth, bytes, counted, duration, latency, percent, rate, thousands as count,
};
use fathom_model::{Nanos, TimeSpan};

/// `part` of `whole` in percent; 0 if `whole` is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    }
}

/// Whether `spans` cover at least nine tenths of a run of length `whole`.
pub(crate) fn holds_all_along(spans: &[TimeSpan], whole: Nanos) -> bool {
    let covered: u64 = spans
        .iter()
        .map(|span| span.to.saturating_sub(span.from).get())
        .sum();
    covered as f64 >= 0.9 * whole.get() as f64
}

/// ` Seen from 1.20 s to 1.40 s.`, to follow a sentence; empty without spans.
pub(crate) fn when_sentence(spans: &[TimeSpan]) -> String {
    let at = |time: Nanos| match time.get() {
        0 => "0 s".to_owned(),
        ns => duration(ns as f64),
    };
    match spans {
        [] => String::new(),
        [one] if one.from == one.to => format!(" Seen at {}.", at(one.from)),
        [one] => format!(" Seen from {} to {}.", at(one.from), at(one.to)),
        [first, rest @ ..] => {
            let times = if rest.len() == 1 {
                "once more".to_owned()
            } else {
                format!("{} more times", rest.len())
            };
            format!(
                " Seen from {} to {} and {times}, the last until {}.",
                at(first.from),
                at(first.to),
                at(rest[rest.len() - 1].to)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_described_in_a_sentence() {
        let span = |from: u64, to: u64| TimeSpan {
            from: Nanos::from_secs(from),
            to: Nanos::from_secs(to),
        };
        assert_eq!(
            when_sentence(&[span(12, 14)]),
            " Seen from 12.00 s to 14.00 s."
        );
        assert_eq!(
            when_sentence(&[span(1, 2), span(12, 14)]),
            " Seen from 1.00 s to 2.00 s and once more, the last until 14.00 s."
        );
        assert_eq!(
            (when_sentence(&[span(3, 3)]), when_sentence(&[])),
            (" Seen at 3.00 s.".to_owned(), String::new())
        );
        assert!(
            holds_all_along(&[span(0, 5), span(6, 10)], Nanos::from_secs(10))
                && !holds_all_along(&[span(0, 5)], Nanos::from_secs(10))
        );
    }
}
