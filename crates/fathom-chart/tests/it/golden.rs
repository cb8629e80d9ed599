//! Compares every kind of chart with a reviewed SVG. `FATHOM_BLESS=1` rewrites the files; review them afterwards.

use std::path::Path;

use fathom_analyse::chart;
use fathom_chart::{Frame, Renderer, csv, svg};
use fathom_model::{ChartOptions, JobFigures};

use crate::examples::{example, examples, job};

/// Removes numbers that the script increments from image to image.
fn plain(svg: &str) -> String {
    let mut text = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some(at) = rest.find("zr") {
        let (before, after) = rest.split_at(at + 2);
        text += before;
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    text + rest
}

#[test]
fn every_chart_equals_its_golden_file() {
    let Ok(renderer) = Renderer::new() else {
        eprintln!("SKIP: every_chart_equals_its_golden_file: this build has no chart script");
        return;
    };
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut differing = Vec::new();
    for (name, kind, jobs, options) in examples() {
        let made = chart(kind, &jobs, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        let frame = Frame {
            width: 800,
            height: 480,
            ..Frame::default()
        };
        let drawn =
            plain(&svg(&made, &frame, &renderer).unwrap_or_else(|error| panic!("{name}: {error}")));
        let file = directory.join(format!("{name}.svg"));
        if std::env::var_os("FATHOM_BLESS").is_some() {
            std::fs::create_dir_all(&directory)
                .and_then(|()| std::fs::write(&file, &drawn))
                .expect("the picture is written");
        } else if std::fs::read_to_string(&file).ok().as_deref() != Some(&drawn) {
            differing.push(name);
        }
    }
    assert!(
        differing.is_empty(),
        "these look otherwise; FATHOM_BLESS=1 writes them anew, to be looked at: {differing:?}"
    );
}

#[test]
fn tables_have_values_in_the_units_of_the_axes() {
    let (jobs, options) = example("depth");
    let table = csv(&chart("depth", &jobs, &options).expect("a chart"));
    // Eight servers of 100 us: at depth 32 80,000 per second, so 0.4 ms each; p99 is 2.5 times that.
    assert!(
        table.contains("Queue depth,IOPS (IOPS),mean latency (ms),p99 latency (ms)\r\n"),
        "{table}"
    );
    assert!(table.contains("32,80000,0.4,1\r\n"), "{table}");
    let (jobs, options) = example("load");
    let load = chart("load", &jobs, &options).expect("a chart");
    // Eight servers are just busy with eight outstanding, which is twice R0 at sixteen; p99 of 250 us is within 600 us also there (500 us).
    assert!(
        load.notes[0].contains("The knee by Kneedle: depth 8, with 80,000 IOPS")
            && load.notes[0].contains("R >= 2 R0: 16"),
        "{:?}",
        load.notes
    );
    assert!(
        load.notes[1].contains("80,000 IOPS is the highest within p99 of 600 us"),
        "{:?}",
        load.notes
    );
}

/// Findings with a time are shaded at that time; those without, and those that hold all the time, are in the notes.
#[test]
fn findings_are_shaded_at_their_times() {
    for kind in ["time", "time-latency", "latency-map"] {
        let (mut jobs, options) = example(kind);
        let made = chart(kind, &jobs, &options).expect("a chart");
        let throttled: Vec<(f64, f64)> = made
            .events
            .iter()
            .filter(|one| one.label == "CPU_THROTTLED: 43 throttles.")
            .map(|one| (one.from, one.to))
            .collect();
        assert_eq!(throttled, [(15e9, 17e9)], "{kind}: {:?}", made.events);
        assert!(
            made.notes
                .iter()
                .any(|note| note.contains("whole run: STEAL;")),
            "{kind}: {:?}",
            made.notes
        );
        assert!(
            made.notes
                .iter()
                .any(|note| note.contains("at 15.0 s CPU_THROTTLED")),
            "{kind}: {:?}",
            made.notes
        );
        let all_along = fathom_model::TimeSpan {
            from: fathom_model::Nanos::ZERO,
            to: fathom_model::Nanos::from_secs(20),
        };
        jobs.iter_mut()
            .flat_map(|job| &mut job.findings)
            .for_each(|finding| finding.when = vec![all_along]);
        let made = chart(kind, &jobs, &options).expect("a chart");
        assert!(
            made.events
                .iter()
                .all(|one| !one.label.contains("THROTTLED")),
            "{kind}: {:?}",
            made.events
        );
        assert!(
            made.notes
                .iter()
                .any(|note| note.contains("whole run: CPU_THROTTLED, STEAL;")),
            "{kind}: {:?}",
            made.notes
        );
    }
}

/// A map of few intervals was axes with nothing between them.
#[test]
fn regression_0240_a_short_run_has_its_latency_map() {
    let Ok(renderer) = Renderer::new() else {
        eprintln!(
            "SKIP: regression_0240_a_short_run_has_its_latency_map: this build has no chart script"
        );
        return;
    };
    let (jobs, options) = example("latency-map");
    let drawn = svg(
        &chart("latency-map", &jobs, &options).expect("a chart"),
        &Frame::default(),
        &renderer,
    )
    .expect("a picture");
    assert!(drawn.contains("<image ") && drawn.contains("data:image/png;base64,"));
}

/// A spreadsheet interprets cells that begin with these characters as formulas.
#[test]
fn regression_0200_a_name_is_never_a_formula_in_a_table() {
    let evil = JobFigures {
        source: "=cmd|' /C calc'!A0".into(),
        name: "@x".into(),
        ..job(1, 1, None)
    };
    let table = csv(&chart(
        "compare",
        &[evil, job(2, 1, None)],
        &ChartOptions::default(),
    )
    .expect("a chart"));
    assert!(
        table
            .lines()
            .all(|line| !line.starts_with(['=', '@', '+', '-'])),
        "{table}"
    );
    assert!(table.contains("'=cmd"), "{table}");
}
