//! Poisson arrivals: the requested rate, and exponential gaps.

use std::io::BufRead;
use std::path::Path;

use crate::context::Context;
use crate::pairs::{alternate, options};
use crate::row::{Goal, Row};
use crate::sample::Sample;
use crate::tool::Tool;

const RATES: [u32; 3] = [20_000, 150_000, 600_000];
/// Gaps per test. With more of them the test would detect the nanoseconds that a submission takes.
const GAPS: usize = 2_000;
/// The distance that exponential gaps do not exceed in 99 of 100 tests (Kolmogorov; Massey, JASA
/// 46, 1951): 1.63 / sqrt(n).
const CRITICAL: f64 = 1.63;

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for rate in RATES {
        let what = format!("4k random read, null, Poisson arrivals at {rate} per s");
        rows.push(reached(context, rate).unwrap_or_else(|why| Row::missing(&what, why)));
        rows.push(
            shape(context, rate).unwrap_or_else(|why| Row::missing(&format!("{what}: gaps"), why)),
        );
    }
    Ok(rows)
}

fn job(context: &Context, rate: u32) -> Vec<String> {
    let job = format!(
        "ioengine=null rw=randread bs=4k size=1g iodepth=1 rate_process=poisson rate_iops={rate}"
    );
    [options(&job), Context::timed(context.seconds)].concat()
}

fn reached(context: &Context, rate: u32) -> Result<Row, String> {
    let job = job(context, rate);
    let one = |tool: Tool| {
        let sample = Sample::of(&context.tools.run(tool, context.directory.path(), &job)?)?;
        Ok(sample.iops / f64::from(rate))
    };
    let what = format!("4k random read, null, Poisson arrivals at {rate} per s");
    Ok(Row::new(
        what,
        "of the requested rate",
        alternate(context.pairs, one)?,
        Goal::OursWithin(0.995, 1.005),
    ))
}

/// Submission times from the log of every I/O. The installed fio logs whole milliseconds only, so
/// it has no such figure.
fn shape(context: &Context, rate: u32) -> Result<Row, String> {
    let directory = context.directory.path();
    let logged =
        options("write_lat_log=gaps log_offset=1 log_issue_time=1 disable_slat=1 disable_lat=1");
    let job = [job(context, rate), logged].concat();
    let mut distances = Vec::new();
    for _ in 0..context.pairs {
        context.tools.run(Tool::Fathom, directory, &job)?;
        let times = issue_times(&directory.join("gaps_clat.1.log"))?;
        distances.push(middle_distance(&times, f64::from(rate))?);
    }
    let limit = CRITICAL / (GAPS as f64).sqrt();
    let what = format!(
        "4k random read, null, Poisson arrivals at {rate} per s: gaps between submissions, Kolmogorov-Smirnov distance"
    );
    let row = Row::new(what, "", (distances, Vec::new()), Goal::OursAtMost(limit));
    Ok(row.note(format!(
        "median of tests of {GAPS} gaps each, over the whole run"
    )))
}

/// The last column, nanoseconds.
fn issue_times(log: &Path) -> Result<Vec<u64>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", log.display());
    let lines = std::io::BufReader::new(std::fs::File::open(log).map_err(wrong)?).lines();
    let time = |line: String| {
        line.rsplit(',')
            .next()
            .and_then(|last| last.trim().parse().ok())
            .unwrap_or(0)
    };
    lines.map(|line| line.map(time).map_err(wrong)).collect()
}

/// Median distance from the exponential distribution of that rate, over runs of `GAPS` gaps.
fn middle_distance(times: &[u64], rate: f64) -> Result<f64, String> {
    let gaps: Vec<f64> = times
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e9 * rate)
        .collect();
    let mut distances: Vec<f64> = gaps.chunks_exact(GAPS).map(distance).collect();
    distances.sort_by(f64::total_cmp);
    distances
        .get(distances.len() / 2)
        .copied()
        .ok_or_else(|| format!("only {} I/Os were logged", times.len()))
}

/// Kolmogorov-Smirnov distance of gaps, in units of their expected mean, from 1 - exp(-x).
fn distance(gaps: &[f64]) -> f64 {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let off = |(i, gap): (usize, &f64)| {
        let expected = 1.0 - (-gap).exp();
        (expected - i as f64 / n)
            .abs()
            .max((expected - (i + 1) as f64 / n).abs())
    };
    sorted.iter().enumerate().map(off).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_quantiles_have_a_small_distance_and_constant_gaps_a_large_one() {
        let n = 1_000;
        let exact: Vec<f64> = (0..n)
            .map(|i| -(1.0 - (f64::from(i) + 0.5) / f64::from(n)).ln())
            .collect();
        assert!((distance(&exact) - 0.5 / f64::from(n)).abs() < 1e-9);
        // All gaps 1: the distribution jumps from 0 to 1 where it should be at 1 - 1/e.
        assert!((distance(&vec![1.0; 1_000]) - (1.0 - (-1.0f64).exp())).abs() < 1e-9);
    }
}
