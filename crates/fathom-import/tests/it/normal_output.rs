//! fio's normal output: the figures of the JSON of the same run, pages of old versions, and damaged text.

use std::process::Command;

use fathom_import::{ImportError, read_omissions, read_result, read_text};
use fathom_model::{Direction, DirectionSummary, Entry, ImportedResult, LatencySummary, Samples};
use fathom_testkit::{Scratch, skip};

/// The text and the JSON of one run of fio.
fn fio(arguments: &str) -> Option<(String, String)> {
    let scratch = Scratch::new().expect("a directory");
    let run = Command::new("fio")
        .current_dir(scratch.path())
        .args(["--output-format=normal,json", "--eta=never", "--size=4m"])
        .args(arguments.split_whitespace())
        .output();
    let Ok(run) = run else {
        skip("fio is not installed, nothing to compare with");
        return None;
    };
    let said = String::from_utf8(run.stdout).expect("fio writes text");
    let (before, rest) = said.split_once("\n{\n").expect("a document");
    let (document, after) = rest.split_once("\n}\n").expect("its end");
    Some((format!("{before}\n{after}"), format!("{{\n{document}\n}}")))
}

fn import(text: &str) -> Vec<ImportedResult> {
    read_text("f", text.as_bytes()).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn one(text: &str) -> ImportedResult {
    let mut all = import(text);
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

/// The unit in which these values are printed: the largest that divides all.
fn unit(values: impl IntoIterator<Item = u64>) -> f64 {
    let values: Vec<u64> = values.into_iter().collect();
    let divides = |unit: &&u64| values.iter().all(|value| value % **unit == 0);
    *[1_000_000, 1000, 1].iter().find(divides).unwrap_or(&1) as f64
}

/// The value of the last digit, at most a millisecond.
fn digit(value: u64) -> f64 {
    let powers = (0..=6).map(|power| 10u64.pow(power));
    let divides = powers.filter(|power| value.is_multiple_of(*power));
    divides.max().unwrap_or(1) as f64
}

#[track_caller]
fn near(what: &str, text: f64, json: f64, tolerance: f64) {
    assert!(
        (text - json).abs() <= tolerance,
        "{what}: {text} in the text, {json} in the JSON"
    );
}

fn assert_latency(what: &str, text: &LatencySummary, json: &LatencySummary) {
    // fio rounds down to the unit, and shortens long numbers by `k`.
    let unit_of_line = unit([text.min, text.max]);
    near(
        &format!("{what} min"),
        text.min as f64,
        json.min as f64,
        digit(text.min),
    );
    near(
        &format!("{what} max"),
        text.max as f64,
        json.max as f64,
        digit(text.max),
    );
    near(
        &format!("{what} mean"),
        text.mean,
        json.mean,
        0.0051 * unit_of_line,
    );
    near(
        &format!("{what} stddev"),
        text.stddev,
        json.stddev,
        0.0051 * unit_of_line,
    );
    let percents =
        |one: &LatencySummary| one.percentiles.iter().map(|(p, _)| *p).collect::<Vec<_>>();
    assert_eq!(percents(text), percents(json), "{what}");
    let unit = unit(text.percentiles.iter().map(|(_, ns)| *ns));
    for ((percent, ns), (_, exact)) in text.percentiles.iter().zip(&json.percentiles) {
        near(
            &format!("{what} p{percent}"),
            *ns as f64,
            *exact as f64,
            unit,
        );
    }
}

fn assert_samples(what: &str, text: Samples, json: Samples, unit: f64) {
    assert_eq!(text.count, json.count, "{what}");
    near(what, text.min, json.min, unit);
    near(what, text.max, json.max, unit);
    near(what, text.mean, json.mean, 0.0051 * unit);
    near(what, text.dev, json.dev, 0.0051 * unit);
}

fn assert_direction(what: &str, text: &DirectionSummary, json: &DirectionSummary, fixed: bool) {
    assert_eq!(
        (text.ios, text.runtime_ms),
        (json.ios, json.runtime_ms),
        "{what}"
    );
    near(
        &format!("{what} IOPS"),
        text.iops,
        json.iops,
        json.iops * 1e-6,
    );
    // Without one block size the amount is what is printed: three or four digits.
    let digits = if fixed { 1e-9 } else { 0.005 };
    near(
        &format!("{what} bytes"),
        text.bytes as f64,
        json.bytes as f64,
        json.bytes as f64 * digits,
    );
    near(
        &format!("{what} bandwidth"),
        text.bandwidth,
        json.bandwidth,
        json.bandwidth * digits + 1.0,
    );
    assert_latency(&format!("{what} slat"), &text.slat, &json.slat);
    assert_latency(&format!("{what} clat"), &text.clat, &json.clat);
    assert_latency(&format!("{what} lat"), &text.lat, &json.lat);
    let bw_unit = if json.bw_samples.mean > 1024.0 * 1024.0 {
        1024.0
    } else {
        1.0
    };
    assert_samples(
        &format!("{what} bw"),
        text.bw_samples,
        json.bw_samples,
        bw_unit,
    );
    assert_samples(
        &format!("{what} iops"),
        text.iops_samples,
        json.iops_samples,
        1.0,
    );
    if json.bw_samples.count > 0 {
        near(&format!("{what} per"), text.bw_share, json.bw_share, 0.0051);
    }
}

fn assert_entry(text: &Entry, json: &Entry, fixed: bool) {
    let load = |entry: &Entry| {
        (
            entry.name.clone(),
            entry.group,
            entry.rw.clone(),
            entry.depth,
            entry.members,
            entry.error,
        )
    };
    assert_eq!(load(text), load(json));
    let name = &json.name;
    for direction in Direction::ALL {
        let what = format!("{name} {}", direction.name());
        assert_direction(
            &what,
            &text.directions[direction],
            &json.directions[direction],
            fixed,
        );
        if fixed && json.directions[direction].ios > 0 {
            assert_eq!(
                text.block_sizes[direction], json.block_sizes[direction],
                "{what}"
            );
        }
    }
    assert_eq!(text.mixed.is_some(), json.mixed.is_some());
    if let Some((text, json)) = text.mixed.as_ref().zip(json.mixed.as_ref()) {
        assert_direction(&format!("{name} mixed"), text, json, fixed);
    }
    assert_eq!(text.sync.n, json.sync.n, "{name}");
    assert_latency(&format!("{name} sync"), &text.sync, &json.sync);
    let counts = |entry: &Entry| (entry.switches, entry.major_faults, entry.minor_faults);
    assert_eq!(counts(text), counts(json), "{name}");
    near("user CPU", text.user_percent, json.user_percent, 0.0051);
    near(
        "system CPU",
        text.system_percent,
        json.system_percent,
        0.0051,
    );
    let levels = |entry: &Entry| {
        let all = [
            entry.depth_levels,
            entry.submit_levels,
            entry.complete_levels,
        ];
        all.concat()
    };
    for (text, json) in levels(text).iter().zip(levels(json)) {
        near("depth level", *text, json, 0.051);
    }
    let classes = |entry: &Entry| {
        [
            &entry.latency_ns[..],
            &entry.latency_us[..],
            &entry.latency_ms[..],
        ]
        .concat()
    };
    for (text, json) in classes(text).iter().zip(classes(json)) {
        near("latency class", *text, json, 0.0101);
    }
}

/// Regression 0480: fio's normal output could not be read. Every figure is that of the JSON of the same run, within the
/// rounding of the text.
#[test]
fn every_figure_is_that_of_the_json() {
    for (arguments, fixed) in [
        (
            "--name=a --rw=randread --bs=4k --ioengine=psync --runtime=2 --time_based",
            true,
        ),
        (
            "--name=m --rw=randrw --rwmixread=70 --bs=4k,16k --ioengine=libaio --iodepth=8 --fsync=16 --runtime=1 --time_based",
            true,
        ),
        (
            "--name=g --rw=write --bs=64k --numjobs=3 --group_reporting --ioengine=libaio --iodepth=4 --end_fsync=1",
            true,
        ),
        (
            "--name=c --rw=randread --bs=8k --numjobs=2 --ioengine=psync",
            true,
        ),
        (
            "--name=fast --ioengine=null --rw=randread --bs=4k --size=2g --iodepth=4",
            true,
        ),
        (
            "--name=wide --ioengine=null --rw=write --bs=1m --size=8t --runtime=1500ms",
            true,
        ),
        (
            "--name=slow --rw=randread --bs=512 --rate_iops=50 --thinktime=9000 --runtime=1500ms --time_based --ioengine=psync",
            true,
        ),
        (
            "--name=x --rw=read --bsrange=4k-64k --bs_unaligned=0 --ioengine=psync",
            false,
        ),
        (
            "--name=one --rw=randread --bs=4k --name=two --stonewall --rw=randwrite --bs=8k",
            true,
        ),
        (
            "--name=u --rw=randrw --bs=4k --unified_rw_reporting=mixed",
            true,
        ),
        (
            "--name=p --rw=randread --bs=4k --lat_percentiles=1 --clat_percentiles=0 --percentile_list=50:99",
            true,
        ),
    ] {
        let Some((text, json)) = fio(arguments) else {
            return;
        };
        let (of_text, of_json) = (one(&text), one(&json));
        assert_eq!(of_text.source.program, of_json.source.program);
        assert_eq!(
            of_text.entries.len(),
            of_json.entries.len(),
            "{arguments}\n{text}"
        );
        for (text, json) in of_text.entries.iter().zip(&of_json.entries) {
            assert_entry(text, json, fixed);
        }
        assert_eq!(of_text.disks.len(), of_json.disks.len(), "{arguments}");
        for (text, json) in of_text.disks.iter().zip(&of_json.disks) {
            assert_eq!((&text.name, text.delta), (&json.name, json.delta));
            near("util", text.util, json.util, 0.0051);
        }
        // `fathom check` sees the same load.
        let load = |text: &str| {
            let runs = read_result(text).expect("a result");
            let figures = runs.into_iter().map(|run| {
                let one = run.figures;
                (one.name, one.rw, one.block, one.depth, one.jobs, one.ios)
            });
            figures.collect::<Vec<_>>()
        };
        if fixed && !arguments.contains("4k,16k") && !arguments.contains("=mixed") {
            assert_eq!(load(&text), load(&json), "{arguments}");
        }
    }
}

/// A page of a forum with the output of fio 2: no indentation, text around it, a command, two runs.
const PAGE: &str = "\
How fast is my new disk? I ran the following:

$ fio --name=random-read --ioengine=libaio --iodepth=32 --rw=randread --bs=4k --direct=1 --numjobs=4 --group_reporting
random-read: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=32
...
fio-2.1.3
Starting 4 processes
Jobs: 4 (f=4): [rrrr] [100.0% done] [39996KB/0KB/0KB /s] [9999/0/0 iops] [eta 00m:00s]
random-read: (groupid=0, jobs=4): err= 0: pid=4711: Mon Mar  3 11:22:33 2014
read : io=2343.8MB, bw=40000KB/s, iops=10000, runt= 60000msec
slat (usec): min=2 , max=1,234 , avg= 5.25, stdev= 1.50
clat (usec): min=150 , max=98765 , avg=12780.00, stdev=500.25
lat (usec): min=160 , max=98770 , avg=12785.25, stdev=500.30
clat percentiles (usec):
| 1.00th=[ 430], 5.00th=[ 820], 50.00th=[12608], 99.00th=[25472],
| 99.90th=[30000], 99.99th=[98765]
bw (KB /s): min= 9000, max=11000, per=25.00%, avg=10000.00, stdev=250.00
lat (usec) : 250=0.01%, 500=1.20%, 750=3.10%, 1000=2.00%
lat (msec) : 2=5.00%, 4=10.00%, 10=20.00%, 20=48.00%, 50=10.68%
lat (msec) : 100=0.01%
cpu : usr=1.25%, sys=4.50%, ctx=123456, majf=0, minf=140
IO depths : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=100.0%, >=64=0.0%
submit : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
complete : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.1%, 64=0.0%, >=64=0.0%
issued : total=r=600000/w=0/d=0, short=r=0/w=0/d=0

Run status group 0 (all jobs):
READ: io=2343.8MB, aggrb=40000KB/s, minb=40000KB/s, maxb=40000KB/s, mint=60000msec, maxt=60000msec

Disk stats (read/write):
sda: ios=599000/12, merge=0/3, ticks=7600000/40, in_queue=7600100, util=99.90%

Not bad, I think! And now writes:

random-write: (g=0): rw=randwrite, bs=8K-8K/8K-8K/8K-8K, ioengine=sync, iodepth=1
fio-2.1.3
Starting 1 process

random-write: (groupid=0, jobs=1): err= 0: pid=4720: Mon Mar  3 11:25:00 2014
write: io=16000KB, bw=1600.0KB/s, iops=200, runt= 10000msec
clat (msec): min=1 , max=40 , avg= 4.99, stdev= 2.50
lat (msec): min=1 , max=40 , avg= 5.00, stdev= 2.50
cpu : usr=0.10%, sys=0.20%, ctx=2100, majf=0, minf=20
IO depths : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
issued : total=r=0/w=2000/d=0, short=r=0/w=0/d=0

Can anybody explain the latency? Thanks.
";

/// Regression 0481: a result on a web page could not be read. The figures are those of the page: 10,000 x 12.785 ms = 127.85 in
/// flight of 4 x 32.
#[test]
fn a_page_of_version_2_is_read() {
    let all = import(PAGE);
    let [read, write] = all.as_slice() else {
        panic!("{} results", all.len())
    };
    assert_eq!(read.source.program, "fio-2.1.3");
    let entry = &read.entries[0];
    assert_eq!(
        (
            entry.name.as_str(),
            entry.rw.as_str(),
            entry.depth,
            entry.members,
            entry.engine.as_str()
        ),
        ("random-read", "randread", 32, 4, "libaio")
    );
    let figures = &entry.directions[Direction::Read];
    assert_eq!(
        (
            figures.ios,
            figures.iops,
            figures.runtime_ms,
            figures.bytes,
            figures.bandwidth
        ),
        (600_000, 10_000.0, 60_000, 600_000 * 4096, 40_960_000.0)
    );
    assert_eq!(
        (
            figures.slat.max,
            figures.clat.min,
            figures.clat.max,
            figures.clat.mean,
            figures.lat.mean
        ),
        (1_234_000, 150_000, 98_765_000, 12_780_000.0, 12_785_250.0)
    );
    assert_eq!(
        figures.clat.percentiles,
        [
            (1.0, 430_000),
            (5.0, 820_000),
            (50.0, 12_608_000),
            (99.0, 25_472_000),
            (99.9, 30_000_000),
            (99.99, 98_765_000)
        ]
    );
    assert_eq!(
        (figures.bw_samples.mean, figures.bw_share),
        (10_000.0, 25.0)
    );
    assert_eq!(
        (
            entry.latency_us[7],
            entry.latency_ms[3],
            entry.depth_levels[5]
        ),
        (1.2, 48.0, 100.0)
    );
    assert_eq!((entry.user_percent, entry.switches), (1.25, 123_456));
    assert_eq!(
        (
            read.disks[0].name.as_str(),
            read.disks[0].delta.read_ios,
            read.disks[0].util
        ),
        ("sda", 599_000, 99.9)
    );
    let entry = &write.entries[0];
    assert_eq!(
        (
            entry.rw.as_str(),
            entry.depth,
            entry.block_sizes[Direction::Write]
        ),
        ("randwrite", 1, (8192, 8192))
    );
    let figures = &entry.directions[Direction::Write];
    assert_eq!(
        (figures.ios, figures.iops, figures.bytes, figures.lat.mean),
        (2000, 200.0, 16_384_000, 5e6)
    );
    assert!(
        write
            .source
            .unknown
            .iter()
            .any(|what| what == "latency percentiles")
    );
    assert!(
        write
            .source
            .unknown
            .iter()
            .any(|what| what == "disk statistics")
    );
    assert!(
        read.source
            .unknown
            .iter()
            .any(|what| what.starts_with("logs"))
    );

    let runs = read_result(PAGE).expect("two results");
    assert_eq!(runs.len(), 2);
    let ratio = runs[0]
        .figures
        .little()
        .expect("rate, latency and depth are known");
    assert!((ratio - 127.8525 / 128.0).abs() < 1e-9, "{ratio}");
    assert_ne!(runs[0].figures.origin.phase, runs[1].figures.origin.phase);
}

/// Regression 0482: parts of a page. What is missing is listed, and nothing is guessed.
#[test]
fn parts_of_a_page_are_read_and_the_rest_is_listed() {
    // One line, as it is quoted most often: 76,400 per second in 60.001 s are 4,584,076.
    let text = "I get read: IOPS=\nread: IOPS=76.4k, BW=298MiB/s (313MB/s)(17.5GiB/60001msec)\nwhich is nice";
    let result = one(text);
    let figures = &result.entries[0].directions[Direction::Read];
    assert_eq!(
        (figures.iops, figures.runtime_ms, figures.ios),
        (76_400.0, 60_001, 4_584_076)
    );
    assert_eq!(
        (result.entries[0].depth, result.entries[0].rw.as_str()),
        (0, "")
    );
    let missing = read_omissions(text).expect("a result").missing;
    for what in [
        "logs (no time series)",
        "completion latency",
        "total latency",
        "latency percentiles",
        "queue depth",
        "pattern",
        "CPU use",
        "version of fio",
    ] {
        assert!(missing.iter().any(|one| one == what), "{what}: {missing:?}");
    }
    assert!(
        result
            .source
            .notes
            .iter()
            .any(|note| note.contains("number of I/Os is estimated")),
        "{:?}",
        result.source.notes
    );
    assert_eq!(read_result(text).expect("a result")[0].figures.depth, None);

    // Percentiles up to p99 only.
    let text = "read: IOPS=100, BW=400KiB/s (410kB/s)(4000KiB/10000msec)\nclat percentiles (usec):\n| 50.00th=[ 9], 99.00th=[ 12]";
    let missing = read_omissions(text).expect("a result").missing;
    assert!(
        missing.iter().any(|one| one == "percentiles above p99"),
        "{missing:?}"
    );

    // One job of four: the sum of the group counts more.
    let text = "a: (groupid=0, jobs=1): err= 0: pid=1: x\n  read: IOPS=100, BW=400KiB/s (410kB/s)(4000KiB/10000msec)\n\
                Run status group 0 (all jobs):\n   READ: bw=1600KiB/s (1638kB/s), 400KiB/s-400KiB/s (410kB/s-410kB/s), io=15.6MiB (16.4MB), run=10000-10000msec\n";
    let notes = one(text).source.notes;
    assert!(
        notes
            .iter()
            .any(|note| note.contains("some jobs are missing")),
        "{notes:?}"
    );

    // The sum alone, with the block size: 40,960,000 bytes per second are 10,000 blocks of 4 KiB.
    let text = "x: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=32\nRun status group 0 (all jobs):\n\
                READ: io=2343.8MB, aggrb=40000KB/s, minb=40000KB/s, maxb=40000KB/s, mint=60000msec, maxt=60000msec\n";
    let figures = &one(text).entries[0].directions[Direction::Read];
    assert!((figures.iops - 10_000.0).abs() < 1.0, "{}", figures.iops);

    // States of one run: the last one.
    let state = |ios: u32, ms: u32| {
        format!(
            "a: (groupid=0, jobs=1): err= 0: pid=7: x\n  read: IOPS=100, BW=400KiB/s (410kB/s)({}KiB/{ms}msec)\n     issued rwts: total={ios},0,0,0 short=0,0,0,0\n\n\
                 Run status group 0 (all jobs):\n   READ: bw=400KiB/s (410kB/s), io={}KiB, run={ms}-{ms}msec\n",
            ios * 4,
            ios * 4
        )
    };
    let result = one(&(state(100, 1000) + &state(200, 2000)));
    assert_eq!(
        (
            result.entries.len(),
            result.entries[0].directions[Direction::Read].ios
        ),
        (1, 200)
    );

    // A failed job, and what fio said.
    let result = one(
        "fio: pid=9, err=5/file:io_u.c:1803, func=io_u error, error=Input/output error\n\
                      a: (groupid=0, jobs=1): err= 5 (file:io_u.c:1803, func=io_u error, error=Input/output error): pid=9: x\n\
                      read: IOPS=1, BW=4096B/s (4096B/s)(4096B/1000msec)\n",
    );
    assert_eq!(
        (result.entries[0].error, result.entries[0].name.as_str()),
        (5, "a")
    );
    assert!(
        result
            .source
            .notes
            .iter()
            .any(|note| note.starts_with("fio said: fio: pid=9")),
        "{:?}",
        result.source.notes
    );

    // A mail that quotes a wrapped result in quoted-printable code.
    let text = "> a: (g=3D0): rw=3Drandread, bs=3D(R) 4096B-4096B, (W) 4096B-4096B, (T)\n> 4096B-4096B, ioengine=3Dlibaio, iodepth=3D16\n>\n\
                > a: (groupid=3D0, jobs=3D2): err=3D 0: pid=3D3: x\n>   read: IOPS=3D100, BW=3D400KiB/s (410kB/s)(4000KiB/=\n10000msec)\n\
                >     clat (usec): min=3D1, max=3D9, avg=3D 2.50,\n> stdev=3D 1.25\n>      | 99.00th=3D[\n> 1029]\n>  IO depths    : 16=3D100.0%,\n> >=3D64=3D0.0%\n";
    let entry = one(text).entries.remove(0);
    let figures = &entry.directions[Direction::Read];
    assert_eq!(
        (
            entry.depth,
            entry.members,
            figures.runtime_ms,
            figures.clat.stddev
        ),
        (16, 2, 10_000, 1250.0)
    );
}

/// Prose about fio is not a result.
#[test]
fn text_without_figures_is_refused() {
    for text in [
        "Run status group 0 (all jobs):\n",
        "With iops=10000 it was fast; IOPS=4k.\nread: nothing\n",
        "Jobs: 1 (f=1): [r(1)][100.0%][r=300MiB/s][r=76.8k IOPS][eta 00m:00s]\nIOPS=\n",
        "READ: io=1MB, aggrb=1KB/s, minb=1KB/s, maxb=1KB/s\n",
    ] {
        assert_eq!(
            read_result(text).err(),
            Some(ImportError::NoDocument),
            "{text}"
        );
        assert!(read_text("f", text.as_bytes()).is_err(), "{text}");
    }
}

/// Regression 0483: damaged text. Cut at any byte, and with any byte replaced, it is read or refused.
#[test]
fn damaged_text_is_read_or_refused() {
    let check = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let _ = read_text("f", bytes);
        for run in read_result(&text).unwrap_or_default() {
            assert!(
                run.figures.iops().is_finite() && run.figures.iops() <= 2e18,
                "{text}"
            );
        }
    };
    for length in 0..PAGE.len() {
        check(&PAGE.as_bytes()[..length]);
    }
    for (place, other) in (0..PAGE.len()).zip(b"=(,[]:/9K%\n\0\xff>&<".iter().cycle()) {
        let mut bytes = PAGE.as_bytes().to_vec();
        bytes[place] = *other;
        check(&bytes);
    }
    // More jobs than any run has.
    assert_eq!(
        read_result(&"read: IOPS=1, BW=1\n".repeat(30_000)).err(),
        Some(ImportError::TooManyValues)
    );
    check("(groupid=".repeat(100_000).as_bytes());
    check(("read: IOPS=1,".to_owned() + &"9,".repeat(1 << 20)).as_bytes());
    check(("<".repeat(100_000) + "\nread: IOPS=1").as_bytes());
}
