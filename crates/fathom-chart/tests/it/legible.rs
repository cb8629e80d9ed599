//! Texts stay readable with extreme data: none is cut off, none overlaps another, none is struck through by a line.

use crate::drawing::{Drawing, Label};
use crate::examples;
use fathom_analyse::{CHARTS, chart};
use fathom_chart::{Frame, Renderer, svg};
use fathom_model::{ChartOptions, JobFigures};
use ttf_parser::Face;

/// A name of 80 characters.
const LONG_NAME: &str =
    "nvme-Samsung_SSD_980_PRO_with_Heatsink_2TB_S6WSNJ0T90012A part 1 of the test bed";

/// The input of each kind of chart, made extreme.
fn extremes(kind: &str) -> Vec<(&'static str, Vec<JobFigures>, ChartOptions)> {
    let (jobs, options) = examples::example(kind);
    let changed = |change: &dyn Fn(&mut JobFigures)| {
        let mut jobs = jobs.clone();
        jobs.iter_mut().for_each(change);
        jobs
    };
    let many = (0..500)
        .map(|n| {
            let mut job = jobs[n % jobs.len()].clone();
            job.source = format!("disk{n:03}");
            job.name = format!("job{n:03}");
            job.result = n;
            job
        })
        .collect();
    let zero = changed(&|job| {
        for direction in &mut job.directions {
            (direction.iops, direction.bandwidth, direction.ios) = (0.0, 0.0, 0);
            direction.iops_spread = Some((0.0, 10));
            direction.latency.mean = 0.0;
            direction.latency.max = 0;
            for percentile in &mut direction.latency.percentiles {
                percentile.1 = 0;
            }
        }
    });
    let large = changed(&|job| {
        for direction in &mut job.directions {
            (direction.iops, direction.bandwidth) = (1e9, 4e12);
            direction.ios = 1_000_000_000;
            direction.latency.n = 1_000_000_000;
            for bin in &mut direction.latency.bins {
                bin.1 *= 1000;
            }
        }
    });
    vec![
        ("one point", vec![jobs[0].clone()], options.clone()),
        ("500 series", many, options.clone()),
        (
            "long names",
            changed(&|job| {
                job.source = LONG_NAME.into();
                job.name = LONG_NAME.into();
            }),
            ChartOptions {
                title: Some(LONG_NAME.into()),
                ..options.clone()
            },
        ),
        ("zero", zero, options.clone()),
        ("10^9 values", large, options),
    ]
}

/// Left, top, right, bottom of a text.
fn bounds(label: &Label, face: &Face) -> [f64; 4] {
    let em = f64::from(face.units_per_em());
    let wide: f64 = label
        .text
        .chars()
        .map(|c| {
            face.glyph_index(c)
                .and_then(|glyph| face.glyph_hor_advance(glyph))
                .map_or(em, f64::from)
        })
        .sum::<f64>()
        * label.size
        / em;
    let left = match label.anchor.as_str() {
        "middle" => label.at.0 - wide / 2.0,
        "end" => label.at.0 - wide,
        _ => label.at.0,
    };
    // Capital letters are about 0.7 em high.
    let middle = if label.is_central {
        label.at.1
    } else {
        label.at.1 - label.size * 0.35
    };
    let half = label.size * 0.35;
    [left, middle - half, left + wide, middle + half]
}

/// What is unreadable in a picture.
fn unreadable(drawing: &Drawing, frame: Frame) -> Vec<String> {
    let faces = [notosans::REGULAR_TTF, notosans::BOLD_TTF]
        .map(|bytes| Face::parse(bytes, 0).expect("a font"));
    let placed: Vec<(&Label, [f64; 4])> = drawing
        .labels
        .iter()
        .filter(|label| !label.is_rotated && !label.text.is_empty())
        .map(|label| (label, bounds(label, &faces[usize::from(label.is_bold)])))
        .collect();
    let (width, height) = (f64::from(frame.width), f64::from(frame.height));
    let mut found = Vec::new();
    for (number, (label, [left, top, right, bottom])) in placed.iter().enumerate() {
        if *left < -1.0 || *right > width + 1.0 || *top < -1.0 || *bottom > height + 1.0 {
            found.push(format!("'{}' is cut off", label.text));
        }
        for (other, [l, t, r, b]) in &placed[number + 1..] {
            if left.max(*l) + 1.0 < right.min(*r) && top.max(*t) + 1.0 < bottom.min(*b) {
                found.push(format!("'{}' overlaps '{}'", label.text, other.text));
            }
        }
        // Straight lines that are drawn after the text, or that no background hides: marks and whiskers.
        for shape in drawing
            .shapes
            .iter()
            .filter(|shape| shape.is_stroked() && shape.vertices.len() == 2 && !shape.is_legend)
        {
            let [l, t, r, b] = shape.bounds();
            let is_level = b - t < 0.5 && r - l > 8.0;
            if is_level
                && shape.number > label.number
                && left.max(l) + 2.0 < right.min(r)
                && *top + 1.5 < t
                && t < *bottom - 1.5
            {
                found.push(format!("'{}' is struck through", label.text));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn texts_are_readable_with_extreme_data() {
    let Ok(renderer) = Renderer::new() else {
        eprintln!("SKIP: texts_are_readable_with_extreme_data: this build has no chart script");
        return;
    };
    // Kinds, cases and widths that do not fit yet.
    let known = known_cases();
    let (mut found, mut seen, mut drawn) = (Vec::new(), Vec::new(), 0);
    for kind in CHARTS {
        for (case, jobs, options) in extremes(kind.name) {
            let Ok(made) = chart(kind.name, &jobs, &options) else {
                continue;
            };
            // A wide screen, a phone, and the text width of a printed A4 page.
            for (width, height) in [(1400, 800), (375, 400), (700, 420)] {
                let frame = Frame {
                    width,
                    height,
                    ..Frame::default()
                };
                let drawing = Drawing::of(&svg(&made, &frame, &renderer).expect("a picture"));
                drawn += 1;
                let name = format!("{}, {case}, {width} wide", kind.name);
                let misses = unreadable(&drawing, frame);
                if known.contains(&name) {
                    seen.extend((!misses.is_empty()).then_some(name));
                } else {
                    found.extend(misses.into_iter().map(|what| format!("{name}: {what}")));
                }
            }
        }
    }
    assert!(drawn > 180, "{drawn}");
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(
        seen, known,
        "remove from legible-known.txt what is readable now"
    );
}

fn known_cases() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/legible-known.txt");
    let text = std::fs::read_to_string(path).expect("the list");
    text.lines().map(str::to_owned).collect()
}
