//! What curves say about the parts of a device: servers, service time, link. Each figure has its
//! interval; what the data leave open is named with the measurement that would settle it.

use crate::curve::{CurveFit, Interval, REACH};
use crate::law::LawKind;
use crate::measured::{CurveKey, RegionPoint, size};

/// A ceiling counts as reached when the largest measurement has this share of it.
const REACHED: f64 = 0.9;
/// A figure with a wider 95 % interval (half width relative to the middle) is not determined.
const WIDEST: f64 = 0.25;
/// Sequential blocks from this size show the link or the media rate, not the cost of a command.
const LARGE: u64 = 128 << 10;

/// A parameter of a structural model.
#[derive(Clone, Debug, PartialEq)]
pub struct Structural {
    /// Its name in files: `servers`, `service`, `link`, `seek`.
    pub name: &'static str,
    /// Its unit; empty for a number.
    pub unit: &'static str,
    /// What it is, for a reader.
    pub about: &'static str,
    /// The curve that it comes from.
    pub curve: String,
    /// Value with interval, or what to measure.
    pub value: Result<(f64, Interval), String>,
}

/// A region with at most this share of the other has no long seeks: those that remain are near the time to the next
/// track.
const SHORT_REGION: f64 = 0.02;
/// Normal quantile of a 95 % interval: the samples of a result are many.
const Z95: f64 = 1.959_963_985;

/// The structural parameters of the curves of one device, and of random reads one at a time in several regions of it.
#[must_use]
pub fn structure(curves: &[(&CurveKey, &CurveFit)], regions: &[RegionPoint]) -> Vec<Structural> {
    let mut all = Vec::new();
    match curves.iter().find(|(key, _)| reads(key)) {
        Some((key, fit)) => random_reads(key, fit, &mut all),
        None => {
            let measure = "random reads at several depths (rw=randread, iodepth=1,2,4,8,16,32)";
            all.push(open("servers", "", SERVERS, "", measure));
            all.push(open("service", "s", SERVICE, "", measure));
        }
    }
    all.extend(seek(curves, regions));
    let large = |key: &CurveKey| !key.is_random() && key.block.is_some_and(|block| block >= LARGE);
    let link = curves
        .iter()
        .filter(|(key, _)| large(key))
        .map(|(key, fit)| link(key, fit))
        .max_by(|a, b| rate(a).total_cmp(&rate(b)));
    all.push(link.unwrap_or_else(|| {
        open(
            "link",
            "B/s",
            LINK,
            "",
            "large sequential reads at several depths (rw=read, bs=1m, iodepth=1,2,4,8,16)",
        )
    }));
    all
}

fn reads(key: &CurveKey) -> bool {
    key.is_random() && key.reads == 100
}

const SERVERS: &str = "I/Os served at the same time, including what reordering gains";
const SERVICE: &str = "time of one I/O without queueing";
const LINK: &str = "ceiling of the link or the medium";
const SEEK: &str = "share of seeks in the service time of the larger region";

fn open(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    curve: &str,
    measure: &str,
) -> Structural {
    Structural {
        name,
        unit,
        about,
        curve: curve.to_owned(),
        value: Err(format!("not determined by these data: measure {measure}")),
    }
}

fn rate(one: &Structural) -> f64 {
    one.value.as_ref().map_or(0.0, |(value, _)| *value)
}

fn deeper(fit: &CurveFit) -> String {
    format!(
        "at more I/Os in flight (iodepth={})",
        fit.measured().1 * REACH
    )
}

/// The service time is that of one I/O in flight; the servers are the ceiling over its throughput.
fn random_reads(key: &CurveKey, fit: &CurveFit, all: &mut Vec<Structural>) {
    let label = key.label();
    let found = |name, unit, about, value: f64, interval: Interval| Structural {
        name,
        unit,
        about,
        curve: label.clone(),
        value: Ok((value, interval)),
    };
    let at_one = fit.predict(1.0).ok().filter(|_| fit.measured().0 <= 2.0);
    match at_one {
        Some(one) if one.curve.relative() <= WIDEST => {
            // The latency is the reciprocal of the throughput of one I/O in flight.
            let interval = Interval {
                low: 1.0 / one.curve.high,
                high: 1.0 / one.curve.low,
            };
            all.push(found("service", "s", SERVICE, 1.0 / one.iops, interval));
        }
        _ => all.push(open(
            "service",
            "s",
            SERVICE,
            &label,
            "one I/O in flight, several times (iodepth=1)",
        )),
    }
    let peak = peak(fit);
    match fit.servers() {
        Some((servers, interval))
            if interval.relative() <= WIDEST
                && peak >= REACHED * servers * fit.law.iops(1.0)
                && fit.measured().0 <= 2.0 =>
        {
            all.push(found("servers", "", SERVERS, servers, interval));
        }
        _ if fit.law.kind == LawKind::Ncq => all.push(Structural {
            name: "servers",
            unit: "",
            about: SERVERS,
            curve: label.clone(),
            value: Err(
                "not determined by these data: this law has no ceiling, its gain comes from reordering"
                    .to_owned(),
            ),
        }),
        _ => all.push(open("servers", "", SERVERS, &label, &deeper(fit))),
    }
}

/// What random reads one at a time take longer in all of the device than in a small region of it: seeks. Rotation and the time
/// of a command are in both. Asked for only where a curve looks like that of a disk, or where regions were measured.
fn seek(curves: &[(&CurveKey, &CurveFit)], regions: &[RegionPoint]) -> Option<Structural> {
    let mut largest_first: Vec<&RegionPoint> = regions.iter().collect();
    largest_first.sort_by_key(|point| std::cmp::Reverse(point.region));
    let pair = largest_first.iter().find_map(|large| {
        let same = regions.iter().filter(|small| small.block == large.block);
        let small = same.min_by_key(|small| small.region)?;
        let short = small.region as f64 <= large.region as f64 * SHORT_REGION;
        short.then_some((small, *large))
    });
    let Some((small, large)) = pair else {
        let (key, _) = curves
            .iter()
            .find(|(key, fit)| reads(key) && fit.law.kind == LawKind::Ncq)?;
        let measure = "random reads at depth 1 in two regions, one of them at most 2 % of the other (such as `fathom sweep PATH --axis filesize=10g,1000g`)";
        return Some(open("seek", "", SEEK, &key.label(), measure));
    };
    let ratio = small.service_s / large.service_s;
    let about = |value| Structural {
        name: "seek",
        unit: "",
        about: SEEK,
        curve: format!(
            "randread, {}at depth 1, in {} and in {}",
            large
                .block
                .map_or(String::new(), |block| format!("{}, ", size(block))),
            size(small.region),
            size(large.region)
        ),
        value,
    };
    let (Some(a), Some(b)) = (small.error, large.error) else {
        return Some(about(Err(
            "not determined by these data: they have no samples of the rate, so that its interval is unknown".to_owned(),
        )));
    };
    // A quotient of independent means: their relative errors add in squares.
    let half = ratio * a.hypot(b) * Z95;
    let interval = Interval {
        low: 1.0 - ratio - half,
        high: (1.0 - ratio + half).min(1.0),
    };
    Some(about(Ok((1.0 - ratio, interval))))
}

fn peak(fit: &CurveFit) -> f64 {
    fit.points
        .iter()
        .map(|point| point.iops)
        .fold(0.0, f64::max)
}

fn link(key: &CurveKey, fit: &CurveFit) -> Structural {
    let label = key.label();
    let block = key.block.unwrap_or(0) as f64;
    let ceiling = &fit.parameters[1];
    let peak = peak(fit);
    if fit.law.kind == LawKind::SoftMinimum
        && peak >= REACHED * ceiling.value
        && ceiling.interval.relative() <= WIDEST
    {
        let interval = Interval {
            low: ceiling.interval.low * block,
            high: ceiling.interval.high * block,
        };
        return Structural {
            name: "link",
            unit: "B/s",
            about: LINK,
            curve: label,
            value: Ok((ceiling.value * block, interval)),
        };
    }
    open("link", "B/s", LINK, &label, &deeper(fit))
}
