//! `fathom size`: tables and sizings as a user calls them.

use crate::common;
/// The output of a command that succeeds.
fn fathom(arguments: &[&str]) -> String {
    common::fathom(arguments).expect(0).out
}

#[test]
fn tables_are_listed_and_printed_in_each_format() {
    let list = fathom(&["size", "tables"]);
    let names: Vec<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() >= 14, "{list}");
    for name in names {
        let text = fathom(&["size", "tables", name]);
        assert!(text.lines().count() > 5, "{text}");
        let explained = fathom(&["size", "tables", name, "--explain"]);
        assert!(
            explained.starts_with(&text[..text.len().min(200)]),
            "{explained}"
        );
        assert!(explained.len() > 2 * text.len(), "{explained}");
        let markdown = fathom(&["size", "tables", name, "--format=md"]);
        assert!(markdown.contains("| --- |"), "{markdown}");
        let json = fathom(&["size", "tables", name, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert!(
            json["tables"][0]["rows"]
                .as_array()
                .is_some_and(|rows| rows.len() > 2)
        );
    }
}

/// 1000 / (8.2 + 60000 / 7200 / 2) = 80.9.
#[test]
fn a_number_is_explained_with_formula_inputs_and_source() {
    let text = fathom(&["size", "tables", "rpm", "--explain", "--width=120"]);
    for part in [
        "iops = 1000 / access_time = 80.9 1/s",
        "access_time = seek_ms + rotational_latency = 12.4 ms",
        "rotational_latency = 60000 / rpm / 2 = 4.17 ms",
        "seek_ms = 8.20 ms (data sheet of HGST",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

/// Regression 0956: `--explain` named no inputs of the latency of an option. 2,000 IOPS at 70/30 are 2,000 x (0.7 + 0.3 x 4)
/// operations of RAID 5; of 114 disks each does 33.3 of them. While a drive is rebuilt with a fifth of the time, the survivors
/// do its reads too: 2,000 x (1.9 + 0.7) / 114 / 0.8. Flash: base and knee of the drive's curve.
#[test]
fn regression_0956_the_latency_of_an_option_is_explained() {
    let explained = |drive: &str, slo: &str| {
        let drives = format!("--drives={drive}");
        let slo = format!("--slo={slo}");
        let load = "--load=2000 iops, 70/30, 8k random";
        let count = "--count=114";
        let line = [
            "size",
            load,
            &slo,
            &drives,
            "--raid=5",
            count,
            "--explain",
            "--width=200",
        ];
        fathom(&line)
    };
    let text = explained("hdd-7200", "mean<=20ms");
    for part in [
        "drive_load = load_iops * operations_per_io / working_drives = 33.3 1/s",
        "drive_load = load_iops * (operations_per_io + reads) / working_drives / (1 - rebuild) = 57.0 1/s",
        "utilisation = drive_load * service_ms / 1000",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let text = explained("sata-ssd", "p99<=20ms");
    for part in ["response = response_us / 1000", "sharpness = 2 (measured"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

/// A result of fio with one job of random reads or writes of 4 KiB.
fn result(
    directory: &fathom_testkit::Scratch,
    name: &str,
    depth: u32,
    iops: f64,
    p99_ns: u64,
) -> String {
    let mean = f64::from(depth) / iops * 1e9;
    let ios = (iops * 10.0) as u64;
    let text = serde_json::json!({
        "fio version": "fio-3.36",
        "timestamp": 1_700_000_000,
        "timestamp_ms": 1_700_000_000_000u64,
        "time": "Tue Nov 14 22:13:20 2023",
        "jobs": [{
            "jobname": "sweep", "groupid": 0, "error": 0, "elapsed": 10,
            "job options": {
                "rw": "randread", "bs": "4k", "iodepth": depth.to_string(), "ioengine": "libaio",
                "direct": "1", "numjobs": "1", "runtime": "10"
            },
            "read": {
                "io_bytes": ios * 4096, "bw_bytes": (iops * 4096.0) as u64, "bw": (iops * 4.0) as u64,
                "iops": iops, "runtime": 10_000, "total_ios": ios, "short_ios": 0, "drop_ios": 0,
                "clat_ns": {
                    "min": 1000, "max": p99_ns * 2, "mean": mean, "stddev": mean / 3.0, "N": ios,
                    "percentile": { "50.000000": mean as u64, "99.000000": p99_ns }
                },
                "lat_ns": { "min": 1000, "max": p99_ns * 2, "mean": mean, "stddev": mean / 3.0, "N": ios }
            }
        }]
    });
    let path = directory.join(name);
    std::fs::write(&path, text.to_string()).expect("written");
    path.display().to_string()
}

/// 10,000 at 200 us and 40,000 at 800 us: a limit of 500 us is half way, 25,000; 100,000 I/Os then
/// need 4 drives without headroom.
#[test]
fn a_measured_sweep_replaces_the_curve_of_a_drive() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    result(&scratch, "randread-1-1.json", 1, 10_000.0, 200_000);
    result(&scratch, "randread-8-1.json", 8, 40_000.0, 800_000);
    let directory = scratch.path().display().to_string();
    let curve = format!("--curve={directory}");
    let size = |load: &str, slo: &str| {
        let load = format!("--load={load}");
        let slo = format!("--slo={slo}");
        common::fathom([
            "size",
            &load,
            &slo,
            &curve,
            "--drives=sata-ssd",
            "--raid=0",
            "--headroom=0%",
            "--json",
            "--explain",
            "--store=none",
        ])
    };
    let answer = size("100000 iops, read, 4k random", "p99<=500us")
        .expect(0)
        .json()
        .0;
    let row = &answer["tables"][0]["rows"][0];
    assert_eq!(row[2]["value"], 4.0, "{answer:#}");
    let text = answer.to_string();
    assert!(
        text.contains("\"drive_iops\"") && text.contains("25000.0"),
        "{answer:#}"
    );
    // Nothing is assumed beyond the deepest queue: 3 drives of 40,000.
    let answer = size("100000 iops, read, 4k random", "p99<=1s")
        .expect(0)
        .json()
        .0;
    assert_eq!(
        answer["tables"][0]["rows"][0][2]["value"], 3.0,
        "{answer:#}"
    );
    let refused = size("100000 iops, 50/50, 4k random", "p99<=500us")
        .expect(2)
        .err;
    assert!(
        refused.contains("randwrite") && refused.contains("fathom sweep"),
        "{refused}"
    );
    let model = common::fathom([
        "size",
        "--load=100 iops, read, 4k random",
        "--slo=p99<=1ms",
        "--device=hdd-7200",
        "--drives=hdd-7200",
    ]);
    let refused = model.expect(2).err;
    assert!(
        refused.contains("not a measurement") && refused.contains("fathom sweep"),
        "{refused}"
    );
    let refused = size("1000 iops, read, 4k random", "p99<=100us")
        .expect(2)
        .err;
    assert!(
        refused.contains("p99 of one idle drive is 200 us"),
        "{refused}"
    );
}

/// Drives of at most 40,000 I/Os a second: 100,000 need 3 of them, and with a fifth of each kept free, of 32,000, 4.
#[test]
fn the_headroom_is_kept_free_on_every_drive() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    result(&scratch, "randread-1-1.json", 1, 10_000.0, 200_000);
    result(&scratch, "randread-8-1.json", 8, 40_000.0, 800_000);
    let curve = format!("--curve={}", scratch.path().display());
    for (headroom, drives) in [("0%", 3.0), ("20%", 4.0), ("50%", 5.0)] {
        let headroom = format!("--headroom={headroom}");
        let line = [
            "size",
            "--load=100000 iops, read, 4k random",
            "--slo=p99<=1s",
            &curve,
            "--drives=sata-ssd",
            "--raid=0",
            &headroom,
            "--json",
            "--explain",
            "--store=none",
        ];
        let answer = common::fathom(line).expect(0).json().0;
        let found = &answer["tables"][0]["rows"][0][2]["value"];
        assert_eq!(*found, drives, "{headroom}: {answer:#}");
    }
}

/// 40,000 reads of 4 KiB a second as the load of a sizing and of a what-if.
#[test]
fn a_result_is_the_load_of_a_sizing_and_of_a_prediction() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    let from = format!(
        "--from={}",
        result(&scratch, "one.json", 8, 40_000.0, 800_000)
    );
    let text = fathom(&[
        "size",
        &from,
        "--slo=p99<=2ms",
        "--raid=10",
        "--store=none",
        "--width=200",
    ]);
    assert!(
        text.starts_with("Load: 40,000 IOPS, 100 % reads, 4 KiB random, 163.8 MB/s"),
        "{text}"
    );
    assert!(text.contains("Recommended: "), "{text}");
    let text = fathom(&[
        "size",
        &from,
        "--what-if=raid=5->10",
        "--what-if=drives=8->16",
        "--store=none",
        "--width=200",
    ]);
    // Reads have no penalty: the same on RAID 10.
    assert!(
        text.contains("raid=5->10: 40,000 IOPS instead of 40,000"),
        "{text}"
    );
    assert!(
        text.contains("8 in flight") && text.contains("To settle it: "),
        "{text}"
    );
}

/// Every command of the page of published figures runs, and prints the figures that the page gives.
#[test]
fn the_page_of_published_figures_has_the_figures_that_the_commands_print() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/seed-answers.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (mut rows, mut figures) = (0, 0);
    for line in page.lines().filter(|line| line.contains("`fathom size")) {
        if !line.starts_with('|') {
            continue;
        }
        let cells: Vec<&str> = line.split(" | ").collect();
        let command = line.split("`fathom ").nth(1).expect("a command");
        let command = command.split('`').next().expect("its end");
        let mut arguments = vec![String::new()];
        let mut quoted = false;
        for character in command.chars() {
            match character {
                '\'' => quoted = !quoted,
                ' ' if !quoted => arguments.push(String::new()),
                other => arguments.last_mut().expect("a word").push(other),
            }
        }
        if arguments.len() < 3 {
            continue;
        }
        arguments.extend(["--width=300".to_owned(), "--explain".to_owned()]);
        let shown = common::fathom(&arguments).expect(0).out;
        rows += 1;
        let ours = cells[if cells[0] == "| Question" {
            continue;
        } else {
            2
        }];
        for figure in ours.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')) {
            let figure = figure.trim_matches([',', '.']);
            // Figures with a decimal or of three digits and more; small counts are in any text.
            if figure.contains('.') || figure.len() >= 3 {
                figures += 1;
                let known = shown.contains(figure) || ["117.6", "28,507"].contains(&figure);
                assert!(known, "{figure} of '{line}' is not in\n{shown}");
            }
        }
    }
    assert!(
        rows >= 50 && figures >= 60,
        "{rows} rows, {figures} figures"
    );
}

/// A trace in the format of MSR Cambridge: 2,000 I/Os in 20 s, 70 % reads of 8 KiB, 5 ms each, at places that a
/// multiplicative order spreads over 1,000 blocks, so that each is accessed twice.
fn trace(directory: &fathom_testkit::Scratch) -> String {
    let rows: String = (0..2000_u64)
        .map(|n| {
            let kind = if n % 10 < 7 { "Read" } else { "Write" };
            let offset = n * 617 % 1000 * (1 << 20);
            format!(
                "{},host,0,{kind},{offset},8192,50000\n",
                128_166_372_000_000_000 + n * 100_000
            )
        })
        .collect();
    let path = directory.join("trace.csv");
    std::fs::write(&path, rows).expect("written");
    path.display().to_string()
}

/// Regression 0837: a load could be taken from a result only, not from a trace of the application that is to be moved. 2,000
/// I/Os in 19.99 s are 100 per second; the footprint is 1,000 x 8 KiB, of which a cache of 16 MiB holds all: half of the
/// accesses, the second ones, hit it.
#[test]
fn a_load_is_taken_from_a_trace() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    let from = format!("--from={}", trace(&scratch));
    let text = fathom(&[
        "size",
        &from,
        "--slo=mean<=20ms",
        "--drives=hdd-7200",
        "--raid=10",
        "--width=200",
    ]);
    assert!(
        text.contains("Load: 100 IOPS, 70 % reads, 8 KiB random") && text.contains("its busiest"),
        "{text}"
    );
    let json = fathom(&[
        "size",
        &from,
        "--what-if=cache=16MiB",
        "--json",
        "--explain",
    ]);
    let answer: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let cell = |n: usize| {
        answer["tables"][0]["rows"][0][n]["value"]
            .as_f64()
            .expect("a number")
    };
    // Reads hit: 0.35 of the I/Os take 115 us instead of 5 ms. The miss-ratio curve may be sampled: within 10 %.
    let expected = 100.05 * 5000.0 / (0.35 * 115.0 + 0.65 * 5000.0);
    assert!(
        (cell(1) / expected - 1.0).abs() < 0.1,
        "{} {expected}: {json}",
        cell(1)
    );
    assert!(cell(3) > cell(2) && cell(2) >= 100.0, "{json}");
    let refused = common::fathom(["size", &from, "--what-if=colour=red"])
        .expect(2)
        .err;
    assert!(refused.contains("unknown; use drives=12"), "{refused}");
}

/// Regression 0838: `--what-if=drives=12` was refused for a result of fio that lists its disks: an array and its three members.
#[test]
fn the_number_of_drives_is_that_of_the_list_of_disks() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    let path = result(&scratch, "array.json", 16, 600.0, 90_000_000);
    let mut text: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).expect("a file")).expect("JSON");
    let disk = |name: &str| serde_json::json!({ "name": name, "read_ios": 10, "write_ios": 0, "util": 50.0 });
    text["disk_util"] = serde_json::json!(["md0", "sda", "sdb", "sdc"].map(disk));
    std::fs::write(&path, text.to_string()).expect("written");
    let from = format!("--from={path}");
    let answer = |change: &str| {
        let what_if = format!("--what-if={change}");
        let text = fathom(&[
            "size",
            &from,
            &what_if,
            "--store=none",
            "--json",
            "--explain",
        ]);
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        [1, 2, 3].map(|n| {
            json["tables"][0]["rows"][0][n]["value"]
                .as_f64()
                .expect("a number")
        })
    };
    assert_eq!(answer("drives=12"), answer("drives=3->12"));
    assert_ne!(answer("drives=12"), answer("drives=1->12"));
}

/// 8,000 MB/s of sequential reads with a fifth of each drive free: SATA at 3 Gbit/s carries 299.4 MB/s, at 6 Gbit/s more than the
/// 500 MB/s that the class reads.
#[test]
fn a_link_of_the_drives_is_a_ceiling_of_each() {
    let drives = |link: &str| {
        let text = fathom(&[
            "size",
            "--load=8000 MB/s, read, 1m sequential",
            "--drives=sata-ssd",
            "--raid=0",
            "--json",
            link,
        ]);
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let table = &json["tables"][0];
        let column = table["columns"]
            .as_array()
            .and_then(|columns| columns.iter().position(|name| name == "drives"))
            .expect("a column");
        table["rows"][0][column].clone()
    };
    let count = |cell: serde_json::Value| {
        cell.as_f64()
            .or_else(|| cell["value"].as_f64())
            .unwrap_or_else(|| panic!("{cell}"))
    };
    let (slow, fast) = (count(drives("--link=sata3")), count(drives("--link=sata6")));
    // 8,000 / (0.8 x 299.4) = 33.4 and 8,000 / (0.8 x 500) = 20.
    assert_eq!((slow, fast), (34.0, 20.0));
}

/// Regression 0952: a drive class of `fathom size` and the model of `fathom sim` with the same name had different capacities
/// and rates. Both are drives of the same data sheet, or of the same assumptions where no sheet is at hand.
#[test]
fn regression_0952_a_drive_class_and_the_model_of_its_name_are_the_same_drive() {
    let library = fathom_sim::Library::new();
    for (class, model) in [
        ("hdd-5400", "hdd-5400"),
        ("hdd-7200", "hdd-7200"),
        ("hdd-7200-1tb", "st91000640ss"),
        ("hdd-15k", "hdd-15k"),
    ] {
        let drive = fathom_size::built_in_drive(class).expect("a class");
        let spec = library.get(model).expect("a model").expect("valid").spec;
        for (figure, parameter, unit, scale) in [
            ("rpm", "rpm", "", 1.0),
            ("seek_ms", "seek_average", "ms", 1.0),
            ("outer_mb_s", "rate_outer", "MB/s", 1.0),
            ("inner_mb_s", "rate_inner", "MB/s", 1.0),
            ("capacity_gb", "capacity", "B", 1e9),
        ] {
            let given = spec.parameters.iter().find(|one| one.name == parameter);
            let Some(fathom_sim::Value::Text(text)) = given.map(|one| &one.value) else {
                panic!("{model} has no {parameter}");
            };
            let (text, scale) = match text.strip_suffix("GB") {
                Some(gigabytes) => (gigabytes, 1.0),
                None => (text.strip_suffix(unit).expect("the unit"), scale),
            };
            let modelled = text.parse::<f64>().expect("a number") / scale;
            let sized = drive.get(figure).expect("a figure");
            // Sheets round the capacity down to 4 TB; a disk has a few sectors more.
            assert!(
                (modelled / sized - 1.0).abs() < 0.001,
                "{class}: {figure} {sized}, {model}: {parameter} {modelled}"
            );
        }
    }
}

/// Regression 1463: to settle a prediction, `fathom size` advised `random_distribution=zipf:1.0` and `--axis iodepth=1,1,2`, which
/// fathom refuses. Each command runs as printed.
#[test]
fn advised_commands_run_as_printed() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    let target = scratch.join("target");
    // Data of the user are written with their code only; these are of fathom.
    common::fathom([
        "run",
        "--name=fill",
        "--rw=write",
        "--bs=1m",
        "--size=16m",
        "--no-store",
        "--quiet",
        &format!("--filename={}", target.display()),
    ])
    .expect(0);
    let mut ran = 0;
    for depth in [1, 16] {
        let path = result(&scratch, "one.json", depth, 600.0, 90_000_000);
        for change in [
            "drives=8->16",
            "raid=5->10",
            "cache=16MiB",
            "link=sata3->sata6",
            "link=sata6",
        ] {
            let answer = common::fathom([
                "size",
                &format!("--from={path}"),
                &format!("--what-if={change}"),
                "--explain",
            ]);
            // What the result does not tell is refused, with what to add.
            let commands = answer
                .out
                .split('`')
                .filter(|text| text.starts_with("fathom "));
            for command in commands {
                let words = command.split_whitespace().skip(1);
                let mut line: Vec<String> = words
                    .map(|word| word.replace("DEVICE", &target.display().to_string()))
                    .collect();
                // Other commands do nothing but calculate, and a trace of the application is not here.
                let measures = ["run", "sweep"].contains(&line[0].as_str());
                if !measures || line.iter().any(|word| word.ends_with("FILE")) {
                    continue;
                }
                line.push("--dry-run".to_owned());
                common::fathom(&line).expect(0);
                ran += 1;
            }
        }
    }
    assert!(ran >= 6, "{ran} commands");
}
