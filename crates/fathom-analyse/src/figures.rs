//! Figures as they stand in sentences: bytes, durations, counts, shares and times.

use fathom_model::{Nanos, TimeSpan};

/// `64 MiB`, `1.5 GiB`, `512 bytes`: the largest binary unit, at most two decimals.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} byte{}", if n == 1 { "" } else { "s" });
    }
    let power = n.ilog2() as usize / 10;
    let text = format!("{:.2}", n as f64 / 1024f64.powi(power as i32));
    format!(
        "{} {}",
        text.trim_end_matches('0').trim_end_matches('.'),
        UNITS[power - 1]
    )
}

/// `948 ms`, `2.0 ms`, `1.00 s`, `12 ns`, `2.0 h`: three figures or two.
pub(crate) fn duration(ns: f64) -> String {
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e5 => format!("{:.1} us", ns / 1e3),
        _ if ns < 9.995e5 => format!("{:.0} us", ns / 1e3),
        _ if ns < 1e8 => format!("{:.1} ms", ns / 1e6),
        _ if ns < 9.995e8 => format!("{:.0} ms", ns / 1e6),
        _ if ns < 6e11 => format!("{:.2} s", ns / 1e9),
        _ if ns < 3.6e12 => format!("{:.1} min", ns / 6e10),
        _ => format!("{:.1} h", ns / 3.6e12),
    }
}

/// `4,194,304`.
pub(crate) fn count(n: u64) -> String {
    fathom_model::thousands(n)
}

/// `1 I/O`, `2,048 I/Os`.
pub(crate) fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// `38 %`, `2.4 %`, `0.02 %`: two figures below ten; what is not quite all is never rounded to all.
pub(crate) fn percent(share: f64) -> String {
    match share.abs() {
        s if (99.0..100.0).contains(&s) => format!("{:.2} %", (share * 100.0).floor() / 100.0),
        s if s == 0.0 || s >= 10.0 => format!("{share:.0} %"),
        s if s >= 0.1 => format!("{share:.1} %"),
        _ => format!("{share:.2} %"),
    }
}

/// `part` of `whole` in percent; nothing of nothing is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    }
}

/// A rate without needless decimals: `200`, `12.5`, `1,500,000`.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second >= 100.0 || per_second.fract() == 0.0 {
        return count(per_second.round() as u64);
    }
    format!("{per_second:.1}")
}

/// Whether `spans` leave out less than a tenth of a run that lasted `whole`: what they tell is then true of all of it.
pub(crate) fn holds_all_along(spans: &[TimeSpan], whole: Nanos) -> bool {
    let covered: u64 = spans
        .iter()
        .map(|span| span.to.saturating_sub(span.from).get())
        .sum();
    covered as f64 >= 0.9 * whole.get() as f64
}

/// ` Seen from 1.20 s to 1.40 s.`, to go behind a sentence; nothing for no time.
pub(crate) fn when_words(spans: &[TimeSpan]) -> String {
    let at = |time: Nanos| duration(time.get() as f64);
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
    fn figures_read_as_people_write_them() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(64 << 20), "64 MiB");
        assert_eq!(bytes(3 << 29), "1.5 GiB");
        assert_eq!(bytes(u64::MAX), "16 EiB");
        assert_eq!(duration(2_000_000.0), "2.0 ms");
        assert_eq!(duration(948_000_000.0), "948 ms");
        assert_eq!(duration(1_003_000_000.0), "1.00 s");
        assert_eq!(count(4_194_304), "4,194,304");
        assert_eq!(count(999), "999");
        assert_eq!(percent(2.44), "2.4 %");
        assert_eq!(percent(99.996), "99.99 %");
        assert_eq!(percent(100.0), "100 %");
        assert_eq!(percent(0.024), "0.02 %");
        assert_eq!(rate(12.5), "12.5");
    }

    #[test]
    fn times_read_as_people_tell_them() {
        let span = |from: u64, to: u64| TimeSpan {
            from: Nanos::from_secs(from),
            to: Nanos::from_secs(to),
        };
        assert_eq!(
            when_words(&[span(12, 14)]),
            " Seen from 12.00 s to 14.00 s."
        );
        assert_eq!(
            when_words(&[span(1, 2), span(12, 14)]),
            " Seen from 1.00 s to 2.00 s and once more, the last until 14.00 s."
        );
        assert_eq!(
            (when_words(&[span(3, 3)]), when_words(&[])),
            (" Seen at 3.00 s.".to_owned(), String::new())
        );
        assert!(
            holds_all_along(&[span(0, 5), span(6, 10)], Nanos::from_secs(10))
                && !holds_all_along(&[span(0, 5)], Nanos::from_secs(10))
        );
    }
}
