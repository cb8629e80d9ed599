//! Data sheets: the built-in ones, invalid ones, and comparisons against arithmetic by hand.

use fathom_device::spec::{
    Access, Comparison, Figure, FigureDirection, Judgement, Library, Metric, Sheet,
    SheetMeasurement, Zone, compare, conditions, job, read_sheets,
};
use fathom_model::{DeviceFacts, Identity, Link, LinkKind, LinkSpeed, Medium};

fn built_in() -> Library {
    let mut library = Library::default();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../specs");
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "toml") {
            library.add(
                &path.display().to_string(),
                &std::fs::read_to_string(&path).expect("readable"),
            );
        }
    }
    library
}

fn model(name: &str) -> DeviceFacts {
    DeviceFacts {
        identity: Identity {
            model: Some(name.into()),
            ..Identity::default()
        },
        ..DeviceFacts::default()
    }
}

#[test]
fn every_built_in_sheet_is_valid_and_has_a_source() {
    let library = built_in();
    assert_eq!(library.errors(), []);
    assert!(library.sheets().len() >= 60, "{}", library.sheets().len());
    for sheet in library.sheets() {
        let says_what_is_missing = sheet.missing.is_some() && !sheet.facts.is_empty();
        assert!(
            !sheet.source.is_empty() && (!sheet.figures.is_empty() || says_what_is_missing),
            "{}",
            sheet.id
        );
    }
}

/// A model prefix shared by two sheets would make the choice arbitrary.
#[test]
fn no_two_sheets_claim_the_same_model() {
    let library = built_in();
    let claims: Vec<(&str, &String)> = library
        .sheets()
        .iter()
        .flat_map(|sheet| {
            sheet
                .models
                .iter()
                .map(move |model| (sheet.id.as_str(), model))
        })
        .collect();
    for (one, first) in &claims {
        for (other, second) in &claims {
            assert!(
                one == other || !first.starts_with(second.as_str()),
                "{one} and {other} both match {first}"
            );
        }
    }
}

#[test]
fn a_sheet_is_found_by_the_reported_model_only() {
    let library = built_in();
    let id = |name: &str| {
        library
            .for_device(&model(name))
            .map(|sheet| sheet.id.as_str())
    };
    assert_eq!(
        id("Samsung SSD 970 EVO Plus 1TB"),
        Some("samsung-970-evo-plus-1000")
    );
    assert_eq!(id("INTEL SSDSC2KG480G7"), Some("intel-dc-s4600"));
    assert_eq!(
        id("INTEL SSDSC2KG480G8"),
        Some("intel-d3-s4610-480"),
        "its successor has another sheet"
    );
    assert_eq!(
        id("Samsung SSD 970 EVO Plus 2TB"),
        None,
        "another capacity is another sheet"
    );
    assert_eq!(
        id("SAMSUNG MZ7LM1T9HMJP-00005"),
        Some("samsung-pm863a-1920"),
        "a document once confused it with an 850 EVO"
    );
    assert_eq!(
        id("970 EVO Plus 1TB"),
        None,
        "a product name is not a model"
    );
    assert_eq!(
        library
            .for_device(&DeviceFacts::default())
            .map(|sheet| sheet.id.as_str()),
        None
    );
}

/// Regression 0530: drives of published measurements had no data sheet. Models and part numbers are those that the makers print;
/// half a turn at 7,200 and 10,000 per minute takes 60,000 / 7,200 / 2 = 4.17 ms and 3 ms.
#[test]
fn drives_without_published_figures_have_sheets_of_facts() {
    let library = built_in();
    for (id, reported, fact) in [
        (
            "intel-d3-s4610-480",
            "INTEL SSDSC2KG480G8",
            ("capacity, GB", "480"),
        ),
        (
            "samsung-pm883-480",
            "SAMSUNG MZ7LH480HAHQ-00005",
            ("capacity, GB", "480"),
        ),
        (
            "samsung-pm863a-1920",
            "SAMSUNG MZ7LM1T9",
            ("capacity, GB", "1920"),
        ),
        (
            "kingston-dc500m-480",
            "KINGSTON SEDC500M480G",
            ("endurance, drive writes a day", "1.3"),
        ),
        (
            "crucial-mx200",
            "Crucial_CT250MX200SSD1",
            ("height, mm", "7"),
        ),
        (
            "seagate-st91000640ns",
            "ST91000640NS",
            ("half a turn, ms", "4.17"),
        ),
        (
            "toshiba-al13seb900",
            "AL13SEB900",
            ("half a turn, ms", "3.00"),
        ),
    ] {
        let sheet = library.for_device(&model(reported)).expect(reported);
        assert_eq!(sheet.id, id);
        assert!(
            sheet
                .facts
                .iter()
                .any(|(name, text)| (&**name, &**text) == fact),
            "{id}: {:?}",
            sheet.facts
        );
        // No figure is invented: what is missing is named.
        let why = sheet.no_figures().expect(id);
        assert!(
            why.starts_with(&format!(
                "data sheet {id} has no performance figures; not found: "
            )),
            "{why}"
        );
    }
    let height = |id: &str| {
        let facts = &library.by_id(id).expect("a sheet").facts;
        let height = facts.iter().find(|(name, _)| name == "height, mm");
        height.map(|(_, text)| text.clone())
    };
    assert_eq!(height("crucial-mx500-1tb").as_deref(), Some("7"));
    let with_figures = library
        .by_id("wd-ultrastar-dc-hc310")
        .expect("a 7,200 rpm disk of 2018");
    assert_eq!(with_figures.no_figures(), None);
}

#[test]
fn a_later_sheet_replaces_one_of_the_same_id_and_the_longest_prefix_wins() {
    let mut library = built_in();
    let text = |id: &str, models: &str| {
        format!(
            "schema = 1\n[[sheet]]\nid = \"{id}\"\nmaker = \"m\"\nproduct = \"p\"\nconfidence = \"partial\"\nmodels = [{models}]\n"
        )
    };
    let known = library.sheets().len();
    library.add("mine", &text("samsung-970-evo-plus-1000", "\"X\""));
    assert_eq!((library.sheets().len(), library.errors().len()), (known, 0));
    assert_eq!(
        library
            .for_device(&model("Samsung SSD 970 EVO Plus 1TB"))
            .map(|sheet| &*sheet.id),
        None
    );
    library.add("mine", &text("general", "\"DISK 1\""));
    library.add("mine", &text("special", "\"DISK 12\""));
    assert_eq!(
        library
            .for_device(&model("DISK 123"))
            .map(|sheet| &*sheet.id),
        Some("special")
    );
}

#[test]
fn invalid_sheets_are_reported_and_the_others_used() {
    let good = "[[sheet]]\nid = \"good\"\nmaker = \"m\"\nproduct = \"p\"\nconfidence = \"maker\"\n";
    let figure = |body: &str| {
        format!(
            "schema = 1\n{good}[[sheet]]\nid = \"bad\"\nmaker = \"m\"\nproduct = \"p\"\nconfidence = \"maker\"\n[[sheet.figure]]\n{body}"
        )
    };
    let rest = "direction = \"read\"\naccess = \"random\"\n";
    let cases = [
        (
            figure(&format!("what = \"iops\"\nvalue = -1\n{rest}")),
            "sheet bad: figure 1: `value` must be greater than zero",
        ),
        (
            figure(&format!("what = \"iops\"\nvalue = nan\n{rest}")),
            "`value` must be greater than zero",
        ),
        (
            figure(&format!("what = \"speed\"\nvalue = 1\n{rest}")),
            "`what` must be",
        ),
        (
            figure(&format!("what = \"iops\"\nvalue = 1\ndepth = 0\n{rest}")),
            "`depth` must be a whole number from 1 to 65536",
        ),
        (
            figure(&format!(
                "what = \"iops\"\nvalue = 1\nblock = \"4k\"\n{rest}"
            )),
            "invalid `block`",
        ),
        (
            figure(&format!(
                "what = \"iops\"\nvalue = 1\nblock = \"99999999999MiB\"\n{rest}"
            )),
            "invalid `block`",
        ),
        (
            figure("what = \"iops\"\nvalue = 1\ndirection = \"mix\"\naccess = \"random\"\n"),
            "direction \"mix\" needs `read_percent`",
        ),
        (
            figure(&format!(
                "what = \"latency_us\"\nvalue = 1\npercentile = 101\n{rest}"
            )),
            "`percentile` is above 100",
        ),
        (
            format!("schema = 1\n{good}[[sheet]]\nmaker = \"m\"\n"),
            "sheet 2: `id` must be a non-empty string",
        ),
        (
            format!("schema = 1\nsheet = [7]\n{}", ""),
            "sheet 1: not a table",
        ),
    ];
    for (text, expected) in cases {
        let (sheets, errors) = read_sheets("f.toml", &text);
        assert!(
            errors.len() == 1 && errors[0].to_string().contains(expected),
            "{text}\n{errors:?}"
        );
        assert_eq!(sheets.len(), usize::from(text.contains("good")), "{text}");
    }
    for (text, expected) in [
        ("", "missing `schema = 1`"),
        ("schema = 2", "unknown schema 2"),
        ("schema = 1", "no [[sheet]] found"),
        ("schema = ", "invalid TOML"),
        ("\u{1b}[2J", "invalid TOML"),
    ] {
        let (sheets, errors) = read_sheets("f.toml", text);
        assert!(
            sheets.is_empty()
                && errors.len() == 1
                && errors[0].problem.to_string().contains(expected),
            "{text}: {errors:?}"
        );
        assert!(
            !errors[0].to_string().chars().any(char::is_control),
            "{errors:?}"
        );
    }
}

/// A file with very deep nesting is rejected instead of overflowing the stack.
#[test]
fn deep_nesting_is_rejected() {
    let text = format!(
        "schema = 1\nx = {}{}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(read_sheets("deep", &text).1.len(), 1);
}

fn figure(what: Metric, value: f64) -> Figure {
    Figure {
        what,
        value,
        side: FigureDirection::Read,
        access: Access::Random,
        block: Some(4096),
        depth: Some(32),
        threads: Some(1),
        zone: Zone::Whole,
        note: None,
    }
}

fn sheet() -> Sheet {
    built_in()
        .by_id("seagate-es3-4tb")
        .expect("a built-in sheet")
        .clone()
}

fn compared(figure: &Figure, measured: &SheetMeasurement, device: &DeviceFacts) -> Comparison {
    compare(&sheet(), figure, measured, device)
}

/// N I/Os in flight with latency R give N / R per second.
fn at(depth: f64, mean_us: f64) -> SheetMeasurement {
    let iops = depth / mean_us * 1e6;
    SheetMeasurement {
        iops,
        bandwidth: iops * 4096.0,
        mean_ns: mean_us * 1e3,
        ..SheetMeasurement::default()
    }
}

#[test]
fn a_figure_within_ten_percent_is_reached_and_better_is_suspicious() {
    let figure = figure(Metric::Iops, 100_000.0);
    let with = |iops: f64| {
        compared(
            &figure,
            &at(32.0, 32.0 / iops * 1e6),
            &DeviceFacts::default(),
        )
    };
    for (iops, expected) in [
        (91_000.0, Judgement::Kept),
        (109_000.0, Judgement::Kept),
        (89_000.0, Judgement::Below),
        (111_000.0, Judgement::Above),
    ] {
        let comparison = with(iops);
        assert_eq!(comparison.judgement, expected, "{iops}");
        assert!((comparison.ratio.expect("a ratio") - iops / 100_000.0).abs() < 1e-9);
    }
    assert_eq!(with(95_000.0).reasons, Vec::<String>::new());
    assert!(with(150_000.0).reasons[0].starts_with("50 % better than promised is suspicious"));
}

#[test]
fn latency_ratios_are_inverted_so_that_less_than_one_is_worse() {
    let mean = Figure {
        depth: Some(1),
        ..figure(Metric::Latency(None), 80_000.0)
    };
    let comparison = compared(&mean, &at(1.0, 100.0), &DeviceFacts::default());
    assert_eq!(
        (comparison.ratio, comparison.judgement),
        (Some(0.8), Judgement::Below)
    );
    let tail = Figure {
        depth: Some(1),
        ..figure(Metric::Latency(Some(99.9)), 300_000.0)
    };
    let mut measured = at(1.0, 100.0);
    assert_eq!(
        compared(&tail, &measured, &DeviceFacts::default()).judgement,
        Judgement::NotComparable
    );
    measured.percentiles = vec![(99.0, 1), (99.9, 290_000)];
    assert_eq!(
        compared(&tail, &measured, &DeviceFacts::default()).judgement,
        Judgement::Kept
    );
}

/// The figure is for depth 32; depth 1 at 83.3 us per I/O reaches at most 12,000 IOPS.
#[test]
fn another_depth_is_explained_by_littles_law() {
    let figure = figure(Metric::Iops, 100_000.0);
    let under = fathom_device::spec::Conditions {
        depth: 1,
        ..conditions(&figure)
    };
    let measured = SheetMeasurement {
        under: Some(under),
        ..at(1.0, 1e6 / 12_000.0)
    };
    let comparison = compared(&figure, &measured, &DeviceFacts::default());
    let expected = "depth 1 reaches 12 % of a depth-32 figure: Little's law allows at most 1 / 83.3 us = 12000 IOPS";
    assert!(
        comparison.reasons.contains(&expected.to_owned()),
        "{:?}",
        comparison.reasons
    );
}

#[test]
fn a_queue_that_was_not_filled_is_reported() {
    let comparison = compared(
        &figure(Metric::Iops, 100_000.0),
        &at(1.0, 50.0),
        &DeviceFacts::default(),
    );
    let expected = "only 1.0 of 32 I/Os were in flight (20000 IOPS x 50.0 us)";
    assert!(
        comparison
            .reasons
            .iter()
            .any(|reason| reason.starts_with(expected)),
        "{:?}",
        comparison.reasons
    );
}

fn on_link(now: u64, best: u64) -> DeviceFacts {
    let speed = |bytes_per_s| LinkSpeed {
        generation: None,
        lanes: 1,
        megatransfers: 0,
        bytes_per_s,
    };
    let link = Link {
        kind: LinkKind::Sata,
        at: "ata3".into(),
        now: speed(now),
        best: Some(speed(best)),
    };
    DeviceFacts {
        links: vec![link],
        medium: Medium::Flash,
        ..DeviceFacts::default()
    }
}

#[test]
fn a_link_too_slow_for_the_figure_is_reported() {
    let figure = Figure {
        access: Access::Sequential,
        block: Some(128 << 10),
        ..figure(Metric::Bandwidth, 550e6)
    };
    let measured = SheetMeasurement {
        bandwidth: 280e6,
        iops: 280e6 / 131_072.0,
        mean_ns: 15e6,
        ..SheetMeasurement::default()
    };
    let comparison = compared(&figure, &measured, &on_link(300_000_000, 600_000_000));
    assert_eq!(comparison.judgement, Judgement::Below);
    let all = comparison.reasons.join("\n");
    assert!(
        all.contains("the figure needs 550 MB/s, but the link at ata3 carries at most 300 MB/s"),
        "{all}"
    );
    assert!(
        all.contains("runs at 300 MB/s although both ends support 600 MB/s"),
        "{all}"
    );
    let above = SheetMeasurement {
        bandwidth: 900e6,
        ..measured
    };
    let all = compared(&figure, &above, &on_link(600_000_000, 600_000_000))
        .reasons
        .join("\n");
    assert!(
        all.contains(
            "900 MB/s is more than the link at ata3 can carry (600 MB/s): memory answered"
        ),
        "{all}"
    );
}

#[test]
fn the_limit_of_the_generator_and_notes_of_the_sheet_are_reasons() {
    let mut measured = at(32.0, 640.0);
    measured.ceiling_iops = Some(52_000.0);
    let all = compared(
        &figure(Metric::Iops, 100_000.0),
        &measured,
        &DeviceFacts::default(),
    )
    .reasons
    .join("\n");
    assert!(
        all.contains("the load generator is at 96 % of its own limit on this host (52000 IOPS)"),
        "{all}"
    );
    let library = built_in();
    let sheet = library
        .by_id("samsung-970-evo-plus-1000")
        .expect("a built-in sheet");
    let write = sheet
        .figures
        .iter()
        .find(|figure| figure.side == FigureDirection::Write && figure.what == Metric::Bandwidth)
        .expect("a figure");
    let slow = SheetMeasurement {
        bandwidth: 1.71e9,
        iops: 13_000.0,
        mean_ns: 2.4e6,
        ..SheetMeasurement::default()
    };
    let all = compare(sheet, write, &slow, &DeviceFacts::default())
        .reasons
        .join("\n");
    assert!(
        all.contains("the sheet itself states 1700 MB/s once the fast cache is full, and 3300 MB/s only before that"),
        "{all}"
    );
}

#[test]
fn an_invalid_measurement_is_not_compared() {
    let measured = SheetMeasurement {
        invalid: vec!["SHORT_IO".into()],
        ..at(32.0, 320.0)
    };
    let comparison = compared(
        &figure(Metric::Iops, 100_000.0),
        &measured,
        &DeviceFacts::default(),
    );
    assert_eq!(comparison.judgement, Judgement::NotComparable);
    assert!(comparison.reasons[0].contains("SHORT_IO"));
}

#[test]
fn missing_conditions_are_assumed_and_reported() {
    let open = Figure {
        block: None,
        depth: None,
        threads: None,
        access: Access::Sequential,
        ..figure(Metric::Bandwidth, 1e9)
    };
    let under = conditions(&open);
    assert_eq!(
        (under.block, under.depth, under.threads, under.assumed.len()),
        (128 << 10, 32, 1, 3)
    );
    let latency = conditions(&Figure {
        block: None,
        depth: None,
        ..figure(Metric::Latency(None), 1e4)
    });
    assert_eq!((latency.block, latency.depth), (4096, 1));
    // Assumed conditions double the tolerance: 0.85 counts as reached.
    let measured = SheetMeasurement {
        bandwidth: 0.85e9,
        iops: 6_485.0,
        mean_ns: 4.9e6,
        ..SheetMeasurement::default()
    };
    assert_eq!(
        compared(&open, &measured, &DeviceFacts::default()).judgement,
        Judgement::Kept
    );
}

#[test]
fn a_job_has_the_conditions_of_the_figure() {
    let has = |args: &[String], arg: &str| {
        assert!(
            args.iter().any(|one| one == arg),
            "{arg} missing in {args:?}"
        );
    };
    let args = job(
        &Figure {
            threads: Some(4),
            side: FigureDirection::Mix(70),
            ..figure(Metric::Iops, 1.0)
        },
        "/dev/a:b",
        1 << 30,
        7,
    );
    for arg in [
        "--rw=randrw",
        "--rwmixread=70",
        "--bs=4096",
        "--iodepth=32",
        "--numjobs=4",
        "--runtime=7",
        "--filename=/dev/a\\:b",
    ] {
        has(&args, arg);
    }
    let end = Figure {
        zone: Zone::End,
        access: Access::Sequential,
        block: Some(1 << 20),
        ..figure(Metric::Bandwidth, 1.0)
    };
    let args = job(&end, "x", 100 << 20, 1);
    // The last twentieth of a hundred blocks of 1 MiB.
    has(&args, &format!("--offset={}", 95 << 20));
    has(&args, &format!("--size={}", 5 << 20));
    has(
        &job(
            &Figure {
                depth: Some(1),
                ..figure(Metric::Iops, 1.0)
            },
            "x",
            1 << 20,
            1,
        ),
        "--ioengine=psync",
    );
}
