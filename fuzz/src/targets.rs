//! The fuzz targets: functions that must return for any input.
//!
//! This file is also a module of `crates/fathom/tests/corpus.rs`, which runs the committed corpus
//! with a stable compiler.

use std::io::{Cursor, Read};
use std::path::Path;
use std::time::Duration;

use fathom_device::{AtaPages, NvmePages, Pages, ScsiPages, apply_device_pages, spec};
use fathom_import::{Files, Import, import};
use fathom_model::{
    Bytes, DerivedAnswer, DeviceFacts, Direction, PerDirection, Personality, ReplayReading,
    ReplayTiming, TraceAction,
};
use fathom_plan::{
    FileReader, HostInfo, Level, OptionRow, ParseContext, RunTarget, Setting, Source, TraceReader,
    options, parse_args, plan, read_recipe, read_value, show_commands, summarise_trace,
};
use fathom_sim::{Library, SimOp, SimRequest};
use fathom_size::{
    Change, LatencyFigure, Limit, Load, Measured, Present, Prices, RaidLevel, Request,
    built_in_drive, capacity, percentage, read_drives, size, what_if,
};
use fathom_workload::{Profiler, ReadOptions, Scale, TraceFormat, TraceSource as _};
use rustix::time::{ClockId, clock_gettime};

/// Captured sysfs trees, in the format of the survey tests.
#[path = "../../crates/fathom-device/tests/it/survey/tree.rs"]
mod tree;

use self::tree::Tree;

/// A target: its name, which is also its directory in `corpus`, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 16] = [
    ("job_file", job_file),
    ("option_value", option_value),
    ("command_line", command_line),
    ("hist_log", hist_log),
    ("io_log", io_log),
    ("result", result),
    ("result_log", result_log),
    ("spec_sheet", spec_sheet),
    ("model", model),
    ("sizing", sizing),
    ("recipe", recipe),
    ("recording", recording),
    ("device_tree", device_tree),
    ("device_pages", device_pages),
    ("plot_ini", plot_ini),
    ("trace", trace),
];

const PERSONALITIES: [Personality; 2] = [Personality::Fathom, Personality::Fio];

/// Maximum number of arguments in one input. The kernel passes more, but fewer are enough to find
/// errors.
const MAX_ARGUMENTS: usize = 64;

/// A simulated machine, on which the only file is the input.
struct Machine<'a> {
    job_file: &'a [u8],
}

impl HostInfo for Machine<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (name == "FUZZ").then(|| "4k".to_owned())
    }
    fn memory_mib(&self) -> u64 {
        2000
    }
    fn cpus(&self) -> u32 {
        4
    }
    fn page_size(&self) -> u64 {
        4096
    }
    fn is_special(&self, path: &Path) -> bool {
        path.starts_with("/dev")
    }
    fn is_directory(&self, path: &Path) -> bool {
        path == Path::new("/tmp")
    }
    fn entropy(&self) -> u64 {
        4
    }
}

impl FileReader for Machine<'_> {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        if path == "f" {
            Ok(self.job_file.to_vec())
        } else {
            Err(std::io::Error::other("no such file"))
        }
    }
}

/// The bytes are a job file, which may include itself.
pub fn job_file(bytes: &[u8]) {
    let _ = Source::new("f", bytes.to_vec());
    for personality in PERSONALITIES {
        run(&["f".to_owned()], personality, bytes);
    }
}

/// The first two bytes choose an option, the rest is its value: read alone, and as a line of a job.
pub fn option_value(bytes: &[u8]) {
    let Some((choice, value)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let Ok(value) = std::str::from_utf8(value) else {
        return;
    };
    let rows: Vec<&OptionRow> = options().collect();
    let row = rows[usize::from(u16::from_le_bytes(*choice)) % rows.len()];
    let engine = row
        .engines
        .first()
        .map_or(String::new(), |engine| format!("ioengine={engine}\n"));
    let text = format!("[j]\nsize=1m\n{engine}{}={value}\n", row.name);
    for personality in PERSONALITIES {
        let _ = read_value(row, Some(value), &mut ParseContext::new(personality, 4));
        run(&["f".to_owned()], personality, text.as_bytes());
        run(
            &[
                "--name=j".to_owned(),
                "--size=1m".to_owned(),
                format!("--{}={value}", row.name),
            ],
            personality,
            b"",
        );
    }
}

/// Each line is an argument; `f` among them names a job file of one job.
pub fn command_line(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let arguments: Vec<String> = text
        .split('\n')
        .take(MAX_ARGUMENTS)
        .map(str::to_owned)
        .collect();
    for personality in PERSONALITIES {
        run(&arguments, personality, b"[global]\nbs=4k\n[j]\nsize=1m\n");
    }
}

/// The bytes are an I/O log: alone, and as the log of a job. Its I/O must match its summary.
pub fn io_log(bytes: &[u8]) {
    let strict = ReplayReading::default();
    let skip = PerDirection([true, false, true]);
    let redirect = Some("/t".to_owned());
    let lenient = ReplayReading {
        timing: ReplayTiming::AfterLast,
        lenient: true,
        scale: 3,
        align: 512,
        ..strict.clone()
    };
    let aside = ReplayReading {
        redirect,
        skip,
        skip_sync: true,
        time_percent: 7,
        directory: Some("d".to_owned()),
        ..lenient.clone()
    };
    for reading in [strict, lenient, aside] {
        matches_its_summary(bytes, &reading);
    }
    for personality in PERSONALITIES {
        run(
            &["--name=j".to_owned(), "--read_iolog=f".to_owned()],
            personality,
            bytes,
        );
    }
}

fn matches_its_summary(bytes: &[u8], reading: &ReplayReading) {
    let Ok(summary) = summarise_trace(bytes, "f", reading) else {
        return;
    };
    let mut reader = TraceReader::new(bytes, reading).expect("it has been summarised");
    let mut ios = [0u64; 3];
    while let Some(io) = reader.next_io().expect("it has been summarised") {
        let file = &summary.replay.files[io.file as usize];
        let direction = match io.action {
            TraceAction::Read => Direction::Read,
            TraceAction::Write => Direction::Write,
            TraceAction::Trim => Direction::Trim,
            TraceAction::Sync | TraceAction::Datasync => continue,
        };
        ios[direction as usize] += 1;
        assert!(
            file.uses[direction]
                && io.offset >= file.start
                && io.offset + u64::from(io.len) <= file.end
        );
        assert!(direction == Direction::Trim || io.len <= summary.replay.largest);
    }
    assert_eq!(
        (ios, reader.paths()),
        (summary.replay.ios.0, &summary.paths[..])
    );
}

/// Plans, and shows the plan as command lines, as the program does before any I/O.
fn run(arguments: &[String], personality: Personality, job_file: &[u8]) {
    let machine = Machine { job_file };
    let Ok(invocation) = parse_args(arguments, personality) else {
        return;
    };
    match in_time(|| plan(&invocation, &machine, &machine)) {
        Ok(planned) => planned
            .warnings
            .iter()
            .chain(&planned.notes)
            .for_each(|message| drop(message.to_string())),
        Err(problems) => {
            // A few thousand errors are not more useful than the first thousand.
            assert!(
                !problems.is_empty() && problems.len() <= 1000,
                "{} problems",
                problems.len()
            );
            problems
                .iter()
                .for_each(|problem| drop(problem.to_string()));
        }
    }
    let _ = in_time(|| show_commands("fio", &invocation, &machine, &machine));
}

/// Runs `work`, which the program does once per input, and panics if it takes a second or more. A
/// target plans its input several times, which no user waits for. CPU time is measured: on a busy
/// machine, libFuzzer's own limit would also stop inputs that only waited.
pub fn in_time<T>(work: impl FnOnce() -> T) -> T {
    let before = cpu_time();
    let done = work();
    let took = cpu_time() - before;
    assert!(took < Duration::from_secs(1), "it took {took:?}");
    done
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// The bytes are a histogram log.
pub fn hist_log(bytes: &[u8]) {
    for line in fathom_import::HistLog::new(bytes) {
        match line {
            Ok(line) => assert_eq!(line.histogram().count(), line.counts().iter().sum::<u64>()),
            Err(error) => drop(error.to_string()),
        }
    }
}

/// The bytes are a result of another program.
pub fn result(bytes: &[u8]) {
    analyse(import(&["x.json".to_owned()], &OneFile(bytes)));
    let text = String::from_utf8_lossy(bytes);
    let _ = fathom_import::read_result(&text);
    let _ = fathom_import::read_report_source(&text, "x");
}

/// The bytes are logs of every kind, beside a result that wrote them.
pub fn result_log(bytes: &[u8]) {
    let names = [
        "x_iops.1.log",
        "x_bw.1.log",
        "x_clat.1.log",
        "x_lat.2.log",
        "x_clat_hist.1.log",
        "y_clat.1.log",
        "x.json",
    ];
    analyse(import(&names.map(str::to_owned), &OneFile(bytes)));
}

/// Every name has the same bytes, except for the result, which is one that wrote the logs.
struct OneFile<'a>(&'a [u8]);

impl Files for OneFile<'_> {
    fn open(&self, path: &str) -> std::io::Result<Box<dyn Read>> {
        let writer = br#"{"fio version": "fio-3.33", "jobs": [{"jobname": "x", "job options": {"write_bw_log": "x", "log_avg_msec": "250", "numjobs": "2",
            "group_reporting": "", "bs": "4k"}, "read": {"total_ios": 100, "iops": 1.0}, "write": {"total_ios": 9}, "trim": {"total_ios": 1}}]}"#;
        let bytes = if path == "x.json" && self.0.first() != Some(&b'{') {
            &writer[..]
        } else {
            self.0
        };
        Ok(Box::new(Cursor::new(bytes.to_vec())))
    }
}

/// The processing of every displayed result. Memory is bounded, and so is the length of its series.
fn analyse(all: Import) {
    all.troubles
        .iter()
        .for_each(|trouble| drop(trouble.why.to_string()));
    for result in all.results {
        assert!(
            result
                .entries
                .iter()
                .all(|entry| entry.series.len() <= 1 << 20)
        );
        let findings = fathom_analyse::imported(result);
        let _ = fathom_analyse::joined(&findings.entries);
        let mut output = Vec::new();
        let _ = fathom_report::json(
            &findings,
            &fathom_report::Style::default(),
            true,
            &mut output,
        );
    }
}

/// The bytes are a file of data sheets: every sheet in it is reported and compared.
pub fn spec_sheet(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (sheets, troubles) = spec::read_sheets("s.toml", &text);
    troubles
        .iter()
        .for_each(|trouble| drop(trouble.to_string()));
    for sheet in &sheets {
        drop(spec::report("/dev/x", &DeviceFacts::default(), sheet, true));
        for figure in &sheet.figures {
            drop(spec::conditions(figure));
            drop(spec::job(figure, "/dev/x", 1 << 30, 10));
        }
    }
    let mut library = spec::Library::default();
    library.add("s.toml", &text);
    let _ = library.for_device(&DeviceFacts::default());
}

/// The bytes are a model of a simulated device, as a composition and as a file; what can be built
/// does a few I/Os.
pub fn model(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut library = Library::new();
    library.add("m", "m.toml", &text);
    if let Some(Ok(file)) = library.get("m") {
        drop(file.spec.to_text());
    }
    for composition in [&*text, "m"] {
        let mut device = match library.build_text(composition, 1) {
            Ok(device) => device,
            Err(error) => {
                drop(error.to_string());
                continue;
            }
        };
        let mut done = Vec::new();
        for (id, op) in (0..).zip([SimOp::Read, SimOp::Write, SimOp::Trim, SimOp::Flush]) {
            let bytes = if op == SimOp::Flush { 0 } else { 4096 };
            let offset = device.capacity() / 3 / 4096 * 4096;
            device.submit(
                0,
                SimRequest {
                    id,
                    op,
                    offset,
                    bytes,
                    fua: false,
                },
            );
        }
        for _ in 0..1000 {
            let Some(at) = device.next_event().filter(|_| done.len() < 4) else {
                break;
            };
            device.advance(at, &mut done);
        }
    }
}

/// The bytes are each text that `fathom size` reads: a load, a capacity, a percentage, a level, a limit,
/// a change, prices as a list and as a file, a file of drives. What is valid is sized and printed.
pub fn sizing(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = (percentage(&text, 0.0, 90.0), text.parse::<RaidLevel>());
    let usual = Load {
        iops: 2000.0,
        reads: 0.7,
        block: 8192.0,
        random: true,
        burstiness: 1.0,
    };
    let disk = built_in_drive("hdd-7200").expect("a class");
    let flash = built_in_drive("sata-ssd").expect("a class");
    let request = |load: Load| Request {
        load,
        load_source: "--load".to_owned(),
        limits: vec![Limit {
            figure: LatencyFigure::Mean,
            ns: 1e8,
        }],
        capacity: None,
        drives: vec![disk.clone(), flash.clone()],
        levels: vec![RaidLevel::Raid10, RaidLevel::Raid5],
        prices: Prices::default(),
        count: None,
        group: 8,
        headroom: 0.2,
        fill: 0.8,
        rebuild: 0.2,
        years: 5.0,
        spares: 0,
        uplink: None,
        controller_iops: None,
        curve: None,
    };
    let answered = |request: &Request| match size(request) {
        Ok(answer) => assert_printable(&answer),
        Err(error) => drop(error.to_string()),
    };
    match text.parse::<Load>() {
        Ok(load) => answered(&request(load)),
        Err(error) => drop(error.to_string()),
    }
    if let Ok(bytes) = capacity(&text) {
        answered(&Request {
            capacity: Some(bytes),
            ..request(usual)
        });
    }
    for prices in [Prices::read_list(&text), Prices::read_file("p.toml", &text)] {
        match prices {
            Ok(prices) => answered(&Request {
                prices,
                ..request(usual)
            }),
            Err(error) => drop(error.to_string()),
        }
    }
    match read_drives("d.toml", &text) {
        Ok(drives) => {
            // The time of a request is that of its drives, and most of it is that of percentiles.
            answered(&Request {
                drives: drives.into_iter().take(1).collect(),
                levels: vec![RaidLevel::Raid5],
                limits: vec![Limit {
                    figure: LatencyFigure::Percentile(99.0),
                    ns: 1e8,
                }],
                ..request(usual)
            });
        }
        Err(error) => drop(error.to_string()),
    }
    let measured = Measured {
        source: "r1".to_owned(),
        load: usual,
        mean_ns: 8e6,
        region: Some(1e12),
        miss_ratio: vec![(1e9, 0.7), (4e9, 0.4)],
        now: Present::default(),
    };
    let _ = Change::read(&text, &measured.now);
    match what_if(&measured, &[text.into_owned()]) {
        Ok(answer) => assert_printable(&answer),
        Err(error) => drop(error.to_string()),
    }
}

/// Every number of an answer is finite, and its formats can be written.
fn assert_printable(answer: &DerivedAnswer) {
    let style = fathom_report::Style::default();
    let text = fathom_report::derived_text(answer, true, &style);
    assert!(!text.contains("NaN") && !text.contains(" inf"), "{text}");
    drop(fathom_report::derived_json(answer, true));
}

/// The bytes are a recipe: it is expanded to cells on targets of several sizes.
pub fn recipe(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let recipe = match read_recipe("r.toml", &text) {
        Ok(recipe) => recipe,
        Err(trouble) => return drop(trouble.to_string()),
    };
    for size in [0, 1 << 20, u64::MAX] {
        let target = RunTarget {
            target: "/t".to_owned(),
            size: Bytes::new(size),
            writes: true,
            time_divisor: 1,
        };
        for step in &recipe.steps {
            let level = |level: &Level| Setting {
                option: level.option.clone(),
                value: "1".to_owned(),
                label: "?".to_owned(),
            };
            let cells = recipe.cells(step, &target, &[step.levels.iter().map(level).collect()]);
            assert!(cells.len() <= 1 << 20, "{} cells", cells.len());
        }
    }
}

/// The bytes are a stored recording without its checksum, which would reject nearly every input.
pub fn recording(bytes: &[u8]) {
    let whole = |body: &[u8]| [body, &crc32(body).to_le_bytes()].concat();
    if let Ok(read) = fathom_store::read_recording(&whole(bytes)) {
        let encoded = fathom_store::write_recording(&read);
        assert!(
            fathom_store::read_recording(&encoded).is_ok(),
            "a decoded recording can be encoded and decoded"
        );
    }
    let _ = fathom_store::read_recording(bytes);
}

/// CRC-32 (IEEE 802.3), as at the end of a stored document.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| {
        if crc & 1 == 1 {
            crc >> 1 ^ 0xedb8_8320
        } else {
            crc >> 1
        }
    };
    !bytes
        .iter()
        .fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}

/// The bytes are a captured sysfs tree: every device in it is surveyed and resolved to its
/// underlying devices.
pub fn device_tree(bytes: &[u8]) {
    const MAX_LINKS: usize = 8;
    let text = String::from_utf8_lossy(bytes);
    let mut links = 0;
    let lines = text
        .lines()
        .filter(|line| is_tree_line(line))
        .filter(|line| {
            links += usize::from(line.contains(" -> "));
            !line.contains(" -> ") || links <= MAX_LINKS
        });
    let tree = Tree::parse(&lines.collect::<Vec<_>>().join("\n"));
    let names = fathom_device::device_names(&tree);
    for name in names.iter().map(String::as_str).chain(["sda", "no!such"]) {
        let facts = fathom_device::survey(&tree, name);
        let (found, _) = fathom_device::chain(&tree, &[facts.number]);
        assert!(found.len() <= 1 << 10, "{} devices", found.len());
    }
}

/// Whether a line is possible in a captured tree; the kernel never produces other lines.
fn is_tree_line(line: &str) -> bool {
    let Some(file) = line.strip_prefix("  ") else {
        return line.is_ascii() && line.starts_with('/');
    };
    let hex = |value: &str| {
        value
            .split_whitespace()
            .all(|byte| byte.is_ascii() && u8::from_str_radix(byte, 16).is_ok())
    };
    let value = file.split_once(" =").map(|(_, value)| value);
    file.is_ascii()
        && (file.contains(" -> ")
            || value
                .is_some_and(|value| !value.is_empty() && value.strip_prefix('x').is_none_or(hex)))
}

/// The bytes are an INI file of fio-plot, and also its flags, one per line.
pub fn plot_ini(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let flags: Vec<String> = text
        .split('\n')
        .take(MAX_ARGUMENTS)
        .map(str::to_owned)
        .collect();
    for read in [
        fathom_import::fio_plot_ini(&text, None),
        fathom_import::fio_plot_flags(&flags),
    ] {
        match read {
            Ok(options) => assert!(options.scale.is_finite() && options.unknown.len() <= 100),
            Err(error) => assert!(error.to_string().len() < 4096 + bytes.len()),
        }
    }
}

/// The bytes are pages of a device, one after the other.
pub fn device_pages(bytes: &[u8]) {
    let mut rest = bytes;
    let mut page = |max: usize| {
        let (page, more) = rest.split_at(max.min(rest.len()));
        rest = more;
        page.to_vec()
    };
    let ata = AtaPages {
        identify: page(512),
        smart: page(512),
        failing: None,
    };
    let scsi = ScsiPages {
        caching: page(64),
        temperature: page(64),
        exceptions: page(64),
        solid_state: page(64),
    };
    let nvme = NvmePages {
        smart: page(512),
        controller: page(4096),
        cache: Some(1),
    };
    let pages = Pages {
        nvme: Some(nvme),
        ata: Some(ata),
        scsi: Some(scsi),
        unread: vec![String::from_utf8_lossy(bytes).into_owned()],
    };
    for pages in [
        Pages {
            nvme: None,
            ..pages.clone()
        },
        pages,
    ] {
        apply_device_pages(&mut DeviceFacts::default(), &pages);
    }
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    drop(fathom_device::signatures(head, tail, Bytes::new(1 << 30)));
    let text = String::from_utf8_lossy(bytes);
    let _ = (
        fathom_device::Mark::parse(&text),
        fathom_device::Manifest::parse(&text),
    );
}

/// A trace of any format: the first byte chooses the format, or its detection.
pub fn trace(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let options = ReadOptions {
        format: TraceFormat::ALL.get(usize::from(*first)).copied(),
        malformed: None,
    };
    let Ok(mut reader) = fathom_workload::TraceReader::open(rest, options) else {
        return;
    };
    let mut profiler = Profiler::default();
    // A short load file makes a long trace.
    for _ in 0..20_000 {
        match reader.next_io() {
            Ok(Some(io)) => profiler.add(&io),
            Ok(None) => break,
            Err(_) => return,
        }
    }
    let profile = profiler.finish();
    let facts = reader.facts();
    let text = fathom_workload::profile_text(&profile, "trace", &facts)
        + &fathom_workload::fio_job(&profile, "trace", Scale::default());
    assert!(!text.contains("NaN"), "{text}");
    assert!(fathom_workload::profile_json(&profile, "trace", &facts).is_object());
    assert!(fathom_workload::fidelity(&profile, &profile).total > 99.0);
}
