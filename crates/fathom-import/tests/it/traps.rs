//! Properties of real results of fio that mislead an importer, each in a minimal example with an
//! expected answer.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use fathom_import::{Files, Import, ImportError, import, import_chosen, import_totals};
use fathom_model::{Direction, Entry, ImportedResult, Nanos};

const R: Direction = Direction::Read;
const W: Direction = Direction::Write;

/// Files in memory.
struct Memory(BTreeMap<String, Vec<u8>>);

impl Files for Memory {
    fn open(&self, path: &str) -> std::io::Result<Box<dyn Read>> {
        let bytes = self
            .0
            .get(path)
            .cloned()
            .ok_or(std::io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes)))
    }
}

fn memory(files: &[(&str, &str)]) -> (Vec<String>, Memory) {
    let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    (
        paths,
        Memory(
            files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect(),
        ),
    )
}

fn read(files: &[(&str, &str)]) -> Import {
    let (paths, files) = memory(files);
    import(&paths, &files)
}

/// The only result, which has no problems.
fn one(files: &[(&str, &str)]) -> ImportedResult {
    let mut all = read(files);
    assert!(all.troubles.is_empty() && all.results.len() == 1, "{all:?}");
    all.results.remove(0)
}

fn ios(entry: &Entry, direction: Direction) -> Vec<u64> {
    entry
        .series
        .iter()
        .map(|interval| interval.directions[direction].ios)
        .collect()
}

/// A result of fio 3 of one second: options, then the figures of its directions.
fn document(options: &str, directions: &str) -> String {
    format!(
        r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "j", "job options": {{"bs": "4k", "ioengine": "libaio", {options}}}, {directions}}}]}}"#
    )
}

fn direction_text(direction: &str, ios: u64) -> String {
    format!(
        r#""{direction}": {{"io_bytes": {}, "iops": {ios}.0, "runtime": 1000, "total_ios": {ios}, "bw_bytes": {}}}"#,
        ios * 4096,
        ios * 4096
    )
}

/// Trap 1: two runs wrote logs of one name, and the later overwrote those of the earlier. The
/// direction in the rows shows which run they belong to.
#[test]
fn trap_1_rows_belong_to_a_run_and_not_to_a_name() {
    let options = r#""write_iops_log": "random-read-depth-1", "log_avg_msec": "500""#;
    let (reads, writes) = (
        document(options, &direction_text("read", 70)),
        document(options, &direction_text("write", 40)),
    );
    let all = read(&[
        ("f/randread.json", &reads),
        ("f/randwrite.json", &writes),
        (
            "f/random-read-depth-1_iops.1.log",
            "500, 30, 1, 0\n1000, 50, 1, 0\n",
        ),
    ]);
    assert!(all.troubles.is_empty(), "{:?}", all.troubles);
    assert!(
        all.results[0].entries[0].series.is_empty(),
        "the logs of the reads are lost"
    );
    assert_eq!(ios(&all.results[1].entries[0], W), [15, 25]);
    assert_eq!(
        all.results[1].source.files,
        ["f/randwrite.json", "f/random-read-depth-1_iops.1.log"]
    );
}

/// Trap 2: fio up to 3.1 writes the name "0.00" three times into each object of percentiles.
#[test]
fn trap_2_a_repeated_name_is_not_a_percentile() {
    let clat = r#""read": {"total_ios": 5, "iops": 5.0, "clat_ns": {"mean": 10.0, "percentile": {"50.000000": 9, "99.990000": 12, "0.00": 0, "0.00": 0, "0.00": 0}}}"#;
    let result = one(&[("a", &document(r#""rw": "randread""#, clat))]);
    assert_eq!(
        result.entries[0].directions[R].clat.percentiles,
        [(50.0, 9), (99.99, 12)]
    );
}

/// Trap 3: version 2 counts microseconds and KiB and has no classes of nanoseconds; its logs count
/// microseconds too.
#[test]
fn trap_3_old_units_become_nanoseconds_and_bytes() {
    let old = r#"{"fio version": "fio-2.18", "jobs": [{"jobname": "j", "job options": {"bs": "4k", "write_lat_log": "x", "write_iops_log": "x", "log_avg_msec": "1000"},
        "read": {"io_bytes": 400, "bw": 400, "iops": 100.0, "runtime": 1000, "total_ios": 100, "clat": {"min": 5, "max": 90, "mean": 20.5,
        "percentile": {"99.000000": 80}}, "slat": {"mean": 1.5}, "lat": {"mean": 22.0}}, "latency_us": {"50": 97.5}, "latency_ms": {"2": 2.5}}]}"#;
    let result = one(&[
        ("x.json", old),
        ("x_iops.1.log", "1000, 100, 0, 0\n"),
        ("x_clat.1.log", "1000, 21, 0, 0\n"),
    ]);
    let (entry, direction_text) = (&result.entries[0], &result.entries[0].directions[R]);
    assert_eq!(
        (direction_text.bytes, direction_text.bandwidth),
        (409_600, 409_600.0)
    );
    assert_eq!(
        (
            direction_text.clat.min,
            direction_text.clat.max,
            direction_text.clat.mean,
            direction_text.slat.mean,
            direction_text.lat.mean
        ),
        (5_000, 90_000, 20_500.0, 1_500.0, 22_000.0)
    );
    assert_eq!(direction_text.clat.percentiles, [(99.0, 80_000)]);
    assert!(entry.latency_ns.iter().all(|share| *share == 0.0));
    assert_eq!((entry.latency_us[4], entry.latency_ms[0]), (97.5, 2.5));
    assert_eq!(entry.series[0].directions[R].mean, Some(21_000));
}

/// Trap 4: if nothing completed there is no row, and rows can be many seconds apart, as for a
/// floppy disk.
#[test]
fn trap_4_a_missing_row_is_a_zero_however_far_apart_rows_are() {
    let options = r#""write_iops_log": "x", "log_avg_msec": "250""#;
    let result = one(&[
        ("x.json", &document(options, &direction_text("read", 30))),
        ("x_iops.1.log", "250, 40, 0, 0\n1000, 80, 0, 0\n"),
    ]);
    assert_eq!(ios(&result.entries[0], R), [10, 0, 0, 20]);
    // No document: the interval of the rows is the window, 12 seconds of four I/Os each second.
    let floppy = one(&[(
        "floppy_iops.1.log",
        "12000, 4, 0, 0\n24000, 4, 0, 0\n48003, 4, 0, 0\n",
    )]);
    let entry = &floppy.entries[0];
    assert_eq!(
        (ios(entry, R), entry.series[0].length),
        (vec![48, 48, 0, 48], Nanos::from_millis(12_000))
    );
}

/// Trap 5: separate or grouped jobs, missing options, sizes with a percent sign.
#[test]
fn trap_5_several_jobs_and_options_that_are_absent() {
    let job = |name: &str, options: &str| {
        format!(
            r#"{{"jobname": "{name}", "job options": {{{options}}}, {}}}"#,
            direction_text("read", 10)
        )
    };
    let several = format!(
        r#"{{"fio version": "fio-3.1", "global options": {{"bs": "8k", "size": "100%%", "numjobs": "2"}}, "jobs": [{}, {}]}}"#,
        job("a", ""),
        job("b", r#""iodepth": "16", "ioengine": "libaio""#)
    );
    let result = one(&[("several.json", &several)]);
    let actual: Vec<_> = result
        .entries
        .iter()
        .map(|entry| {
            (
                entry.name.as_str(),
                entry.depth,
                entry.members,
                entry.block_sizes[R].0,
            )
        })
        .collect();
    // Without group_reporting each record is one job; without iodepth one I/O is in flight.
    assert_eq!(actual, [("a", 1, 1, 8192), ("b", 16, 1, 8192)]);
    assert!(
        result
            .globals
            .contains(&("size".to_owned(), Some("100%%".to_owned()))),
        "{:?}",
        result.globals
    );
    let grouped = one(&[(
        "one.json",
        &document(
            r#""numjobs": "16", "group_reporting": """#,
            &direction_text("read", 10),
        ),
    )]);
    assert_eq!(
        (grouped.entries[0].members, grouped.entries[0].depth),
        (16, 1)
    );
    // No options at all: unknown, not 1.
    let bare = one(&[(
        "bare.json",
        r#"{"jobs": [{"jobname": "x", "read": {"iops": 1.0, "total_ios": 1}}]}"#,
    )]);
    assert_eq!(
        (
            bare.entries[0].depth,
            bare.source.unknown.iter().any(|what| what == "queue depth")
        ),
        (0, true)
    );
}

/// Trap 6: errors before a document, messages after it, empty files.
#[test]
fn trap_6_text_around_documents_and_empty_files() {
    let good = document(r#""rw": "randread""#, &direction_text("read", 7));
    let around = format!(
        "fio: io_u error on file /dev/sda: Input/output error: {{x}}\nfio: pid=7, err=5\n{good}\nfio: terminating on signal 2\n"
    );
    let result = one(&[("around.json", &around)]);
    assert_eq!(result.entries[0].directions[R].ios, 7);
    assert!(
        result
            .source
            .notes
            .contains(&"fio said: fio: terminating on signal 2".to_owned()),
        "{:?}",
        result.source.notes
    );
    let all = read(&[
        ("a.json", ""),
        ("b.json", "fio: failed parsing bs=\n"),
        ("c.json", &good),
        ("d.json", " \n\n"),
    ]);
    let why: Vec<(&str, &ImportError)> = all
        .troubles
        .iter()
        .map(|trouble| (trouble.file.as_str(), &trouble.why))
        .collect();
    assert_eq!(
        why,
        [
            ("a.json", &ImportError::Empty),
            ("b.json", &ImportError::NoDocument),
            ("d.json", &ImportError::Empty)
        ]
    );
    assert_eq!(all.results.len(), 1);
}

/// Trap 7: logs of four columns, of newer ones with offset, priority and time of issue, and the
/// bins of json+.
#[test]
fn trap_7_logs_of_all_versions_and_bins() {
    let options = r#""write_iops_log": "x", "log_avg_msec": "500""#;
    for rows in [
        "500, 20, 0, 0\n1000, 40, 0, 0\n",
        "500, 20, 0, 0, 0\n1000, 40, 0, 0, 0\n",
        "500, 20, 0, 0, 0, 0x0004, 3\n1000, 40, 0, 0, 0, 0x0004, 3\n",
    ] {
        let result = one(&[
            ("x.json", &document(options, &direction_text("read", 30))),
            ("x_iops.1.log", rows),
        ]);
        assert_eq!(ios(&result.entries[0], R), [10, 20], "{rows}");
    }
    let plus = r#""read": {"total_ios": 3, "iops": 3.0, "clat_ns": {"mean": 400.0, "N": 3, "bins": {"1032": 1, "97": 2}}}"#;
    let result = one(&[("plus.json", &document(r#""rw": "randread""#, plus))]);
    assert_eq!(
        result.entries[0].directions[R].clat.bins,
        [(97, 2), (1032, 1)]
    );
    assert!(
        !result
            .source
            .unknown
            .iter()
            .any(|what| what.starts_with("latencies")),
        "{:?}",
        result.source.unknown
    );
}

/// Trap 8: other block sizes, several servers, logs with a row for each I/O.
#[test]
fn trap_8_other_block_sizes_and_several_servers() {
    let sized = |size: &str, bytes: u64| {
        let directions = format!(
            r#""read": {{"io_bytes": {}, "iops": 10.0, "runtime": 1000, "total_ios": 10}}"#,
            bytes * 10
        );
        let text = format!(
            r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "j", "job options": {{{size}}}, {directions}}}]}}"#
        );
        one(&[("x.json", &text)]).entries[0].block_sizes[R]
    };
    assert_eq!(sized(r#""bs": "1m""#, 1 << 20), (1 << 20, 1 << 20));
    assert_eq!(sized(r#""blocksize": "16k""#, 16_384), (16_384, 16_384));
    assert_eq!(
        sized(r#""bsrange": "4k-64k""#, 12_288),
        (12_288, 12_288),
        "bytes per I/O, if no option has a single size"
    );
    let record = |host: &str, ios: u64| {
        format!(
            r#"{{"jobname": "j", "hostname": "{host}", "port": 8765, {}}}"#,
            direction_text("read", ios)
        )
    };
    let servers = format!(
        "client: host=c disconnected\n{{\"fio version\": \"fio-3.33\", \"global options\": [{{\"bs\": \"4k\", \"write_iops_log\": \"x\", \"log_avg_msec\": \"500\"}}], \
         \"client_stats\": [{}, {}, {{\"jobname\": \"All clients\", {}}}], \"disk_util\": []}}\n",
        record("a", 10),
        record("b", 30),
        direction_text("read", 40)
    );
    let result = one(&[
        ("c.json", &servers),
        ("x_iops.1.log.a", "500, 10, 0, 0\n1000, 10, 0, 0\n"),
        ("x_iops.1.log.b", "500, 30, 0, 0\n1000, 30, 0, 0\n"),
    ]);
    let actual: Vec<_> = result
        .entries
        .iter()
        .map(|entry| (entry.name.as_str(), ios(entry, R)))
        .collect();
    assert_eq!(actual, [("j on a", vec![5, 5]), ("j on b", vec![15, 15])]);
    assert!(
        result
            .source
            .notes
            .iter()
            .any(|note| note.contains("host=c disconnected"))
    );
    // One row for each I/O: time, latency in ns, direction, size.
    let each = one(&[
        (
            "x.json",
            &document(r#""write_lat_log": "x""#, &direction_text("read", 4)),
        ),
        (
            "x_clat.1.log",
            "0, 100, 0, 4096\n0, 300, 0, 4096\n250, 200, 0, 4096\n999, 400, 0, 4096\n",
        ),
    ]);
    let series = &each.entries[0].series;
    assert_eq!(
        (
            series[0].directions[R].ios,
            series[0].directions[R].mean,
            series[0].directions[R].bytes
        ),
        (2, Some(200), 8192)
    );
    assert_eq!(ios(&each.entries[0], R).iter().sum::<u64>(), 4);
}

/// regression 0294: a result of a job that ended with an error, or with a rate that contradicts its
/// own bytes and time, was valid.
#[test]
fn errors_and_inconsistent_rates_of_fio_are_found() {
    let actual = |text: &str| {
        let code = |found: &fathom_model::Finding| found.code;
        let imported = fathom_analyse::imported(one(&[("x.json", text)]))
            .findings
            .iter()
            .map(code)
            .collect::<Vec<_>>();
        let runs = fathom_import::read_result(text).expect("a result");
        let checked = fathom_analyse::judge_imported(&runs[0].figures)
            .iter()
            .map(code)
            .collect::<Vec<_>>();
        assert_eq!(imported, checked);
        imported
    };
    let good = document(r#""rate_iops": "700""#, &direction_text("read", 700));
    assert_eq!(actual(&good), [""; 0]);
    assert_eq!(
        actual(&good.replace(r#""jobname": "j""#, r#""jobname": "j", "error": 5"#)),
        ["IO_ERROR"]
    );
    assert_eq!(
        actual(&good.replace(
            r#""jobname": "j""#,
            r#""jobname": "j", "total_err": 3, "first_error": 5"#
        )),
        ["IO_ERROR"]
    );
    assert_eq!(
        actual(&good.replace(r#""iops": 700.0"#, r#""iops": 7000.0"#)),
        ["SUMMARY_DISAGREES"]
    );
    assert_eq!(
        actual(&good.replace(r#""bw_bytes": 2867200"#, r#""bw_bytes": 8601600"#)),
        ["SUMMARY_DISAGREES"]
    );
}

/// regression 0293: two servers on one host had jobs of one name, which were taken for clones of
/// one job.
#[test]
fn servers_on_one_host_are_distinguished() {
    let record = |job: &str, port: u32| {
        format!(
            r#"{{"jobname": "{job}", "hostname": "h", "port": {port}, {}}}"#,
            direction_text("read", 10)
        )
    };
    let servers = format!(
        "{{\"fio version\": \"fio-3.33\", \"client_stats\": [{}, {}, {}]}}\n",
        record("a", 8765),
        record("a", 8766),
        record("b", 8766)
    );
    let names: Vec<String> = one(&[("c.json", &servers)])
        .entries
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["a on h:8765", "a on h:8766", "b on h"]);
}

/// The files of ezFIO: the job file, fio's result and messages in one file; for a skipped test, a
/// line of zeros that looks like a terse line.
#[test]
fn directories_of_ezfio_are_read() {
    let result = document(
        r#""readwrite": "randrw", "iodepth": "16", "numjobs": "4", "group_reporting": "1""#,
        &direction_text("read", 7),
    );
    let test = format!(
        "[JOBFILE]\n[test-/dev/sda]\nreadwrite=randrw\nbs=4096\n\n[STDOUT]\n{result}\n[STDERR]\n\n"
    );
    let left_out = format!(
        "[STDOUT]\nTest not run because block size 512 below iominsize 4096\n3;{}\n",
        "0;".repeat(100)
    );
    let all = read(&[
        ("e/Test_Rand", &test),
        ("e/Test_512", &left_out),
        (
            "e/ezfio_tests.csv",
            "Type,Write %,Block Size\nRand,0,4096,4,16,7,0.03,0,0\n",
        ),
    ]);
    let actual: Vec<_> = all
        .results
        .iter()
        .map(|one| {
            (
                one.entries[0].depth,
                one.entries[0].members,
                one.entries[0].directions[R].ios,
            )
        })
        .collect();
    assert_eq!(actual, [(16, 4, 7)]);
    assert!(
        all.troubles
            .iter()
            .all(|trouble| trouble.why == ImportError::NoDocument)
            && all.troubles.len() == 2,
        "{:?}",
        all.troubles
    );
}

/// The kind of a file is detected from its contents: JSON in a `.log`, terse lines in a `.json`, a
/// histogram log of any name, rows without a name.
#[test]
fn kinds_are_detected_from_contents() {
    let good = document(r#""rw": "randread""#, &direction_text("read", 7));
    let direction = format!(
        "4000;400;100;10000;1;2;1.5;0.1;10;90;40.5;3.25;50.000000%=40{};11;92;42;3;380;420;100.000000%;400;5",
        ";0%=0".repeat(19)
    );
    let terse = format!(
        "3;fio-3.33;t;0;0;{direction};{direction};5.5%;1%;2;3;4{}\n",
        ";1%".repeat(29)
    );
    let mut bins = vec!["0"; 29 * 64];
    bins[5] = "2";
    let hist = format!("1000, 1, 4096, {}\n", bins.join(", "));
    // `fathom check` reads it too: 4,000 KiB in 1,000 I/Os of 42 us. Terse lines have no depth and
    // no number of jobs.
    let [run] = &fathom_import::read_result(&terse).expect("a terse line")[..] else {
        panic!("one job")
    };
    let actual = &run.figures;
    assert_eq!(
        (
            actual.streams.len(),
            actual.streams[0].iops,
            actual.streams[0].latency_ns,
            actual.block,
            actual.ios
        ),
        (2, 100.0, Some(42_000.0), Some(4096), Some(2000))
    );
    assert_eq!(
        (actual.depth, actual.jobs, run.spread.percentiles.as_slice()),
        (None, None, &[(50.0, 40_000.0)][..])
    );
    let all = read(&[
        ("x_bw.1.log", &good),
        ("t.json", &terse),
        ("what.txt", &hist),
        ("rows.json", "250, 48, 0, 0\n500, 1, 0, 0\n"),
    ]);
    let names: Vec<&str> = all
        .results
        .iter()
        .map(|result| result.entries[0].name.as_str())
        .collect();
    assert_eq!(names, ["j", "t", "what"]);
    // Regression 0255: of several formats in one file, a terse line was read although JSON has the
    // exact number of I/Os. JSON is read; if it is malformed, the terse line.
    assert_eq!(
        one(&[("all.out", &format!("{good}\n{terse}"))]).entries[0].directions[R].ios,
        7
    );
    assert_eq!(
        one(&[("all.out", &format!("{{ \"jobs\": [\n{terse}"))]).entries[0].name,
        "t"
    );
    assert_eq!(all.results[2].entries[0].directions[W].ios, 2);
    assert_eq!(all.troubles.len(), 1);
    assert_eq!(
        (all.troubles[0].file.as_str(), &all.troubles[0].why),
        ("rows.json", &ImportError::LogOfWhat)
    );
}

/// Several results in one file: a list of them, and one that cannot be read among good ones.
#[test]
fn lists_of_results_are_read_and_a_bad_one_does_not_affect_the_others() {
    let (seven, nine) = (
        document(r#""rw": "randread""#, &direction_text("read", 7)),
        document(r#""rw": "randread""#, &direction_text("read", 9)),
    );
    let actual = |text: &str| {
        read(&[("all.json", text)])
            .results
            .iter()
            .map(|result| result.entries[0].directions[R].ios)
            .collect::<Vec<_>>()
    };
    assert_eq!(actual(&format!("[{seven}, {nine}]")), [7, 9]);
    assert_eq!(actual(&format!("[\n  {seven},\n  {nine}\n]\n")), [7, 9]);
    assert_eq!(actual(&format!("{seven}\n{{\"a\": 1}}\n{nine}\n")), [7, 9]);
    let all = read(&[(
        "all.json",
        &format!(
            "[{seven},\n{}]",
            nine.replace("\"total_ios\": 9", "\"total_ios\": -9")
        ),
    )]);
    assert_eq!(all.results.len(), 1);
    assert!(
        all.results[0].source.notes.iter().any(
            |note| note.contains("ignored another document in the file: invalid total_ios: -9")
        ),
        "{:?}",
        all.results[0].source.notes
    );
}

#[test]
fn the_steady_state_that_fio_detected_is_kept() {
    let steady = r#""steadystate": {"ss": "iops:10.000000%", "duration": 2, "attained": 1, "criterion": "1.000000%", "max_deviation": 1.0, "slope": 0.0,
        "data": {"bw_mean": 40, "iops_mean": 10, "iops": [10, 11], "bw": [40, 44]}}, "#;
    let entry = one(&[(
        "s.json",
        &document(
            r#""rw": "read""#,
            &(steady.to_owned() + &direction_text("read", 7)),
        ),
    )])
    .entries
    .remove(0);
    let seen = entry.steady.expect("a steady state").recording;
    assert_eq!(
        (
            seen.attained,
            seen.rule.limit,
            seen.samples.len(),
            seen.samples[1].iops
        ),
        (true, 10.0, 2, 11)
    );
}

/// Files that record which of them were opened.
struct RecordingFiles(Memory, std::sync::Mutex<Vec<String>>);

impl Files for RecordingFiles {
    fn open(&self, path: &str) -> std::io::Result<Box<dyn Read>> {
        self.1.lock().expect("no panic").push(path.to_owned());
        self.0.open(path)
    }
}

#[test]
fn totals_do_not_open_the_logs_of_a_result() {
    let own = document(r#""write_iops_log": "x""#, &direction_text("read", 30));
    let (paths, files) = memory(&[
        ("x.json", &own),
        ("x_iops.1.log", "1000, 30, 0, 0\n"),
        ("alone_iops.1.log", "1000, 5, 0, 0\n"),
    ]);
    let recording = RecordingFiles(files, Default::default());
    let totals = import_totals(&paths, &recording);
    let opened: Vec<String> = recording.1.into_inner().expect("no panic");
    assert!(
        !opened.contains(&"x_iops.1.log".to_owned())
            && opened.contains(&"alone_iops.1.log".to_owned()),
        "{opened:?}"
    );
    let names: Vec<&str> = totals
        .results
        .iter()
        .map(|result| result.entries[0].name.as_str())
        .collect();
    assert_eq!(
        (names, totals.results[0].entries[0].series.len()),
        (vec!["j", "alone"], 0)
    );
    assert_eq!(
        ios(&import(&paths, &recording.0).results[0].entries[0], R),
        [30]
    );
}

/// regression 0280: a chart of one cell of a grid read the logs of all others.
#[test]
fn regression_0280_only_the_logs_of_chosen_results_are_read() {
    let of = |name: &str, ios| {
        document(
            &format!(r#""write_iops_log": "{name}""#),
            &direction_text("read", ios),
        )
    };
    let all = [
        ("x.json", of("x", 30)),
        ("y.json", of("y", 7)),
        ("x_iops.1.log", "1000, 30, 0, 0\n".into()),
        ("y_iops.1.log", "1000, 7, 0, 0\n".into()),
    ];
    let (paths, files) = memory(&all.each_ref().map(|(name, text)| (*name, text.as_str())));
    let recording = RecordingFiles(files, Default::default());
    let chosen = import_chosen(&paths, &recording, &|result| {
        result.entries[0].directions[R].ios == 7
    });
    let opened: Vec<String> = recording.1.into_inner().expect("no panic");
    assert!(
        !opened.contains(&"x_iops.1.log".to_owned()) && opened.contains(&"y_iops.1.log".to_owned()),
        "{opened:?}"
    );
    let (x, y) = (&chosen.results[0].entries[0], &chosen.results[1].entries[0]);
    assert_eq!((x.series.len(), ios(y, R)), (0, vec![7]));
}

/// A job of one second with IOPS logs of three windows and latency logs of four, as fio writes them.
fn ended_within_a_window(ios: u64) -> ImportedResult {
    let options = r#""write_iops_log": "x", "write_lat_log": "x", "log_avg_msec": "250""#;
    one(&[
        ("x.json", &document(options, &direction_text("read", ios))),
        (
            "x_iops.1.log",
            "250, 400, 0, 0\n500, 400, 0, 0\n750, 400, 0, 0\n",
        ),
        (
            "x_clat.1.log",
            "250, 5000, 0, 0\n500, 5000, 0, 0\n750, 5000, 0, 0\n999, 5000, 0, 0\n",
        ),
    ])
}

/// Regression 0383: fio writes no IOPS row for its last window, and the end of the run was drawn as
/// a stall although the totals contain its I/Os.
#[test]
fn the_last_window_is_reconciled_with_the_totals() {
    let result = ended_within_a_window(400);
    assert_eq!(ios(&result.entries[0], R), [100, 100, 100, 100]);
    let bytes: u64 = result.entries[0]
        .series
        .iter()
        .map(|moment| moment.directions[R].bytes)
        .sum();
    assert_eq!(bytes, 400 * 4096);
    assert!(result.source.notes.is_empty(), "{:?}", result.source.notes);
    // A slower end is a slower end.
    assert_eq!(
        ios(&ended_within_a_window(350).entries[0], R),
        [100, 100, 100, 50]
    );
    // The totals do not show what completed in the last window: the line ends before it.
    assert_eq!(
        ios(&ended_within_a_window(300).entries[0], R),
        [100, 100, 100]
    );
}

/// Regression 0384: one job of two ended within a window, which showed half the rate.
#[test]
fn the_last_window_of_one_job_is_not_a_drop() {
    let options =
        r#""numjobs": "2", "group_reporting": "", "write_iops_log": "x", "log_avg_msec": "250""#;
    let files = |ios| {
        one(&[
            ("x.json", &document(options, &direction_text("read", ios))),
            (
                "x_iops.1.log",
                "250, 400, 0, 0\n500, 400, 0, 0\n750, 400, 0, 0\n1000, 400, 0, 0\n",
            ),
            (
                "x_iops.2.log",
                "250, 400, 0, 0\n500, 400, 0, 0\n750, 400, 0, 0\n",
            ),
        ])
    };
    assert_eq!(ios(&files(800).entries[0], R), [200, 200, 200, 200]);
    // It did no I/O in the last window: the totals agree with the rows.
    assert_eq!(ios(&files(700).entries[0], R), [200, 200, 200, 100]);
}

/// Regression 0385: in the last window, which no row counts, the latencies of a slow and a fast job
/// had equal weights. 300 I/Os per second of 1 us and 100 of 5 us have a mean of 2 us.
#[test]
fn latencies_of_the_last_window_have_the_weights_of_their_jobs() {
    let options = r#""numjobs": "2", "group_reporting": "", "write_iops_log": "x", "write_lat_log": "x", "log_avg_msec": "250""#;
    let result = one(&[
        ("x.json", &document(options, &direction_text("read", 400))),
        (
            "x_iops.1.log",
            "250, 300, 0, 0\n500, 300, 0, 0\n750, 300, 0, 0\n",
        ),
        (
            "x_iops.2.log",
            "250, 100, 0, 0\n500, 100, 0, 0\n750, 100, 0, 0\n",
        ),
        (
            "x_clat.1.log",
            "250, 1000, 0, 0\n500, 1000, 0, 0\n750, 1000, 0, 0\n1000, 1000, 0, 0\n",
        ),
        (
            "x_clat.2.log",
            "250, 5000, 0, 0\n500, 5000, 0, 0\n750, 5000, 0, 0\n1000, 5000, 0, 0\n",
        ),
    ]);
    let means: Vec<_> = result.entries[0]
        .series
        .iter()
        .map(|moment| moment.directions[R].mean)
        .collect();
    assert_eq!(means, [Some(2000); 4]);
}

/// Submission and total latency over time were the completion latency, or dropped. Two jobs: 300 I/Os per second with
/// 1, 4 and 5 us, and 100 with 5, 20 and 25 us; the means are weighted by the I/Os.
#[test]
fn logs_of_slat_clat_and_lat_are_three_latencies() {
    let options = r#""numjobs": "2", "group_reporting": "", "write_iops_log": "x", "write_lat_log": "x", "log_avg_msec": "250""#;
    let rows = |value: u32| {
        let row = |at: u32| format!("{at}, {value}, 0, 0\n");
        [250, 500, 750, 1000].map(row).concat()
    };
    let logs: Vec<(String, String)> = [
        ("iops", [300, 100]),
        ("slat", [1000, 5000]),
        ("clat", [4000, 20_000]),
        ("lat", [5000, 25_000]),
    ]
    .into_iter()
    .flat_map(|(kind, values)| {
        let one = move |job: usize| (format!("x_{kind}.{}.log", job + 1), rows(values[job]));
        [one(0), one(1)]
    })
    .collect();
    let summary = document(options, &direction_text("read", 400));
    let mut files = vec![("x.json", summary.as_str())];
    files.extend(
        logs.iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    );
    let result = one(&files);
    let means: Vec<_> = result.entries[0]
        .series
        .iter()
        .map(|moment| {
            let read = &moment.directions[R];
            (read.slat, read.mean, read.lat)
        })
        .collect();
    assert_eq!(means, [(Some(2000), Some(8000), Some(10_000)); 4]);
}

/// Regression 0394: the rows of a late timer counted for one window each, and I/Os were missing. fio
/// divides the I/Os since the row before by the time since then: 42 in 140 ms are 300 per second.
#[test]
fn a_row_covers_the_time_since_the_row_before() {
    let options = r#""write_iops_log": "x", "log_avg_msec": "100""#;
    let rows = "140, 300, 0, 0\n240, 300, 0, 0\n345, 200, 0, 0\n1000, 300, 0, 0\n";
    let result = one(&[
        ("x.json", &document(options, &direction_text("read", 123))),
        ("x_iops.1.log", rows),
    ]);
    // 42, 30, 21, and after missing rows 30.
    let counted: u64 = ios(&result.entries[0], R).iter().sum();
    assert_eq!(counted, 123);
}

/// Counts how often each file is opened.
struct Counted(Memory, std::sync::Mutex<BTreeMap<String, u32>>);

impl Files for Counted {
    fn open(&self, path: &str) -> std::io::Result<Box<dyn Read>> {
        let mut opened = self.1.lock().expect("no panic");
        *opened.entry(path.to_owned()).or_default() += 1;
        self.0.open(path)
    }
}

/// Regression 0397: each log was opened twice, and each group of logs was compared with every result
/// of the import.
#[test]
fn small_logs_are_opened_once() {
    let options = r#""write_iops_log": "x", "log_avg_msec": "1000""#;
    let reads = document(options, &direction_text("read", 7));
    let names: Vec<[String; 2]> = (0..600)
        .map(|number| [format!("{number}/a.json"), format!("{number}/x_iops.1.log")])
        .collect();
    let all: Vec<(&str, &str)> = names
        .iter()
        .flat_map(|[json, log]| [(json.as_str(), reads.as_str()), (log, "1000, 7, 0, 0\n")])
        .collect();
    let (paths, files) = memory(&all);
    let files = Counted(files, Default::default());
    let import = import(&paths, &files);
    assert!(import.troubles.is_empty() && import.results.len() == 600);
    for (result, [json, log]) in import.results.iter().zip(&names) {
        assert_eq!(result.source.files, [json.clone(), log.clone()]);
        assert_eq!(ios(&result.entries[0], R), [7]);
    }
    let opened = files.1.into_inner().expect("no panic");
    assert!(opened.values().all(|times| *times == 1), "{opened:?}");
}
