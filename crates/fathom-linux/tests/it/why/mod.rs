//! `fathom why` on scenes with a known truth: files of /proc and /sys, read by the reader of the real ones. Every figure of an
//! expected sentence is the arithmetic of the scene's counters over its ten seconds.

mod numbers;
mod tree;

use std::fs;
use std::path::Path;

use fathom_device::volumes::parse_volumes;
use fathom_linux::WhyReader;
use fathom_model::Certainty;
use fathom_trace::{DeviceNumber, WhyAnswer, WhyCause, WhyEvidence, WhyReading, WhyScope, why};

use self::tree::Trees;

const VOLUMES: &str = include_str!("../../../../../volumes/volumes.toml");
const SCENE_SECONDS: u64 = 10;

/// The text of a scene with some texts replaced.
fn text(name: &str, changes: &[(&str, &str)]) -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/why/scenes/{name}.txt"));
    let mut text = fs::read_to_string(&path).expect("the scene");
    for (old, new) in changes {
        assert!(text.contains(old), "{name} has no {old}");
        text = text.replace(old, new);
    }
    text
}

fn evidence(text: &str, scope: WhyScope) -> WhyEvidence {
    let trees = Trees::of(text);
    let last = trees.names.len() as u64 - 1;
    let reader = |name: &str| WhyReader::below(&trees.root(name));
    let time = |at: u64| at * SCENE_SECONDS * 1_000_000_000 / last;
    let reading = |name: &str, at: u64| -> WhyReading { reader(name).reading(time(at)) };
    let machine = reader("after");
    WhyEvidence {
        scope,
        before: reading("before", 0),
        after: reading("after", last),
        looks: (0..)
            .zip(&trees.names)
            .map(|(at, name)| reader(name).look(time(at)))
            .collect(),
        devices: machine.devices(&parse_volumes("volumes.toml", VOLUMES).expect("volumes")),
        mounts: machine.mounts(),
        swap: machine.swap(),
        page_bytes: 4096,
        requests: trees.requests,
        ..WhyEvidence::default()
    }
}

fn answer(name: &str, changes: &[(&str, &str)]) -> WhyAnswer {
    why(&evidence(&text(name, changes), WhyScope::default()))
}

#[track_caller]
fn check(
    name: &str,
    changes: &[(&str, &str)],
    cause: WhyCause,
    certainty: Certainty,
    sentence: &str,
) {
    let finding = answer(name, changes).finding;
    assert_eq!(
        (finding.sentence.as_str(), finding.cause, finding.certainty),
        (sentence, cause, certainty),
        "{name} {changes:?}"
    );
    numbers::assert_in_figures(&finding);
    assert_eq!(
        finding.settled_by.is_none(),
        certainty == Certainty::Fact,
        "only a fact needs no further measurement"
    );
    for action in &finding.actions {
        let words: Vec<&str> = action.split(|c: char| !c.is_alphanumeric()).collect();
        assert!(
            !words
                .iter()
                .any(|word| ["kill", "barrier", "nobarrier", "umount"].contains(word)),
            "{action}"
        );
    }
}

/// A machine on which nothing happens, with the processes of a scene asleep.
#[track_caller]
fn check_idle(name: &str) {
    let mut text = text(name, &[]);
    let after = text.find("-- after/").expect("a reading at the end");
    text.truncate(after);
    let text = text
        .trim_end()
        .replace(" D ", " S ")
        .replace("place=", "was=")
        .replace("fuse/connections/39", "none");
    let before: Vec<&str> = text
        .split("\n-- ")
        .filter_map(|section| section.trim_start_matches("-- ").strip_prefix("before/"))
        .collect();
    let after: String = before
        .iter()
        .map(|section| format!("\n-- after/{section}"))
        .collect();
    let finding = why(&evidence(&format!("{text}{after}"), WhyScope::default())).finding;
    assert_eq!(
        (finding.cause, finding.certainty),
        (WhyCause::NotStorage, Certainty::Fact),
        "{name}: {}",
        finding.sentence
    );
}

use Certainty::{Fact, Likely, NotKnown};

#[test]
fn a_throttled_group_of_version_2() {
    let name = "throttled_v2";
    check(
        name,
        &[],
        WhyCause::ControlGroup,
        Fact,
        "Control group /system.slice/db.service is throttled: it may do 500 reads per second on sda, and postgres (pid 812) waits and used 100 % of that; sda itself is 5.0 % busy.",
    );
    check(
        name,
        &[
            ("rios=5000", "rios=4800"),
            ("5000 0 40000 500", "4800 0 38400 480"),
        ],
        WhyCause::NotKnown,
        NotKnown,
        "Not known from what was seen: postgres (pid 812) waits 90 % of the time for block I/O, and sda is 5.0 % busy, 100 us per I/O.",
    );
    // A device that is busy itself is a rival.
    check(
        name,
        &[(
            "40000 500 0 0 0 0 0 500 500",
            "40000 500 0 0 0 0 0 9000 9000",
        )],
        WhyCause::ControlGroup,
        Likely,
        "Control group /system.slice/db.service is throttled: it may do 500 reads per second on sda, and postgres (pid 812) waits and used 100 % of that; sda itself is 90 % busy.",
    );
    check_idle(name);
}

#[test]
fn a_throttled_group_of_version_1() {
    let name = "throttled_v1";
    check(
        name,
        &[],
        WhyCause::ControlGroup,
        Fact,
        "Control group /limited is throttled: it may do 10 MiB of reads per second on sda, and backup (pid 900) waits and used 100 % of that; sda itself is 8.0 % busy.",
    );
    // A program that wants just as much as it may is not held up.
    check(
        name,
        &[("backup D", "backup S")],
        WhyCause::ControlGroup,
        Likely,
        "Control group /limited is throttled: it may do 10 MiB of reads per second on sda, and its processes used 100 % of that; sda itself is 8.0 % busy.",
    );
    check(
        name,
        &[("Read 104857600", "Read 100000000")],
        WhyCause::NotKnown,
        NotKnown,
        "Not known from what was seen: backup (pid 900) waited in 2 of 2 looks, and sda is 8.0 % busy, 500 us per I/O.",
    );
}

#[test]
fn a_neighbour() {
    let name = "neighbour";
    check(
        name,
        &[],
        WhyCause::Neighbour,
        Fact,
        "dd (pid 812) keeps sda 89 % busy; postgres (pid 700) waits 5.70 ms per read because of it, 200 us without.",
    );
    // Asynchronous I/O shows in no state of a thread: 500 reads of 5.7 ms and 100 of 0.2 ms are 29 % of the time.
    let asleep = [
        ("postgres D delay=10 ", "postgres S delay=0 "),
        ("postgres D delay=300 ", "postgres S delay=0 "),
    ];
    check(
        name,
        &asleep,
        WhyCause::Neighbour,
        Fact,
        "dd (pid 812) keeps sda 89 % busy; postgres (pid 700) waits 5.70 ms per read because of it, 200 us without.",
    );
    let waits = answer(name, &asleep).waits;
    assert_eq!(
        waits[1],
        "postgres (pid 700) had I/Os in flight 29 % of the time"
    );
    // Without a trace it is not sure; 1000 MiB of 1000 MiB + 8,192,000 bytes are 99.22 %.
    check(
        name,
        &[(
            "-- requests --\n0 10000 890 812 R 0 10000 2048\n500 17800 500 700 R 100 5600\n8950000 10000 100 700 R 50 150",
            "-- after/none --",
        )],
        WhyCause::Neighbour,
        Likely,
        "dd (pid 812) keeps sda 89 % busy (99.22 % of the bytes); postgres (pid 700) probably waits because of it: an I/O of sda takes 7.50 ms.",
    );
    // Reads that are as slow without the neighbour are not its fault.
    check(
        name,
        &[("700 R 50 150", "700 R 50 2900")],
        WhyCause::DeviceBusy,
        Likely,
        "sda is 89 % busy with 1.2 in flight (160 I/Os per second, 106 MB/s, 7.50 ms each); dd (pid 812) has 99.73 % of the bytes.",
    );
    check(
        name,
        &[("8900 12000", "7900 12000")],
        WhyCause::NotKnown,
        NotKnown,
        "Not known from what was seen: dd (pid 812) waits 80 % of the time for block I/O, and sda is 79 % busy, 7.50 ms per I/O.",
    );
    check_idle(name);
}

/// What a shell's programs write to the page cache comes to the device from a thread of the kernel, and their counters to the shell.
#[test]
fn a_neighbour_that_writes_by_the_page_cache() {
    let name = "neighbour";
    let writer = [
        (
            "812 dd D delay=0 switches=1\n",
            "810 bash S own=0\n50 kworker/u8:1 S parent=2\n",
        ),
        (
            "812 dd D delay=800 switches=1001 read=1048576000",
            "810 bash S write=943718400 own=0\n812 dd D parent=810 write=104857600 own=104857600\n50 kworker/u8:1 S parent=2",
        ),
        ("890 812 R", "890 50 W"),
    ];
    let sentence = "bash (pid 810) with what it started keeps sda 89 % busy; postgres (pid 700) waits 5.70 ms per read because of it, 200 us without.";
    check(name, &writer, WhyCause::Neighbour, Fact, sentence);
    // 1000 MiB of 1000 MiB + 8,192,000 bytes.
    assert_eq!(
        answer(name, &writer).uses[0],
        "bash (pid 810) with what it started: 99.22 % of the bytes, 0 bytes read and 1000 MiB written"
    );
    // One that was there before stands for itself: 943,718,400 of 1,048,576,000 + 8,192,000 bytes are 89.30 %.
    let mut older = writer;
    older[0].1 = "810 bash S own=0\n812 dd D parent=810\n50 kworker/u8:1 S parent=2\n";
    let uses = answer(name, &older).uses;
    assert!(
        uses[0].starts_with("bash (pid 810) with what it started: 89 %"),
        "{uses:?}"
    );
    assert!(uses[1].starts_with("dd (pid 812): 9.9 %"), "{uses:?}");
    // Of the written bytes another program has a fifth: whose writes were in the way is not sure.
    let mut two = writer;
    two[1].1 =
        "810 bash S write=1048576000 own=0\n900 cp S write=262144000\n50 kworker/u8:1 S parent=2";
    check(
        name,
        &two,
        WhyCause::Neighbour,
        Likely,
        "the page cache keeps sda 89 % busy; postgres (pid 700) waits 5.70 ms per read because of it, 200 us without.",
    );
}

/// The bytes of a process are those of all devices: the trace shows whose I/Os the busy one has.
#[test]
fn a_program_that_uses_another_device_is_no_neighbour() {
    check(
        "neighbour",
        &[
            ("890 812 R", "890 900 R"),
            ("812 dd D", "900 cp S\n812 dd D"),
        ],
        WhyCause::Neighbour,
        Fact,
        "cp (pid 900) keeps sda 89 % busy; postgres (pid 700) waits 5.70 ms per read because of it, 200 us without.",
    );
}

#[test]
fn a_storm_of_fsyncs() {
    let name = "fsync_storm";
    check(
        name,
        &[],
        WhyCause::Flush,
        Fact,
        "postgres (pid 812) waits for flushes: sda did 180 per second of 5.30 ms each, 95 % of the time.",
    );
    check(
        name,
        &[(" call=fdatasync", "")],
        WhyCause::Flush,
        Likely,
        "postgres (pid 812) probably waits for flushes: sda did 180 per second of 5.30 ms each, 95 % of the time.",
    );
    check(
        name,
        &[(
            "9700 10260 0 0 0 0 1800 9540",
            "3600 3620 0 0 0 0 1800 2900",
        )],
        WhyCause::NotKnown,
        NotKnown,
        "Not known from what was seen: postgres (pid 812) waited in 2 of 2 looks, and sda is 36 % busy, 200 us per I/O.",
    );
    // A few flushes wait for the data that was written before them.
    check(
        name,
        &[("0 1800 9540", "0 19 9540")],
        WhyCause::DeviceBusy,
        Likely,
        "sda is 97 % busy with 1.0 in flight (360 I/Os per second, 1.5 MB/s, 200 us each, 1.9 flushes/s of 502 ms); postgres (pid 812) has 100 % of the bytes.",
    );
    check_idle(name);
}

#[test]
fn swap() {
    let name = "swap";
    check(
        name,
        &[],
        WhyCause::Swap,
        Fact,
        "The machine swaps: 1,200 pages per second (4.9 MB/s) come back from swap space on sda, and java (pid 900) has 1,150 major faults per second; tasks waited 35 % of the time for memory.",
    );
    // The faults of the process bring back 8 pages each at most: 100 of them explain 800 of 1,200.
    check(
        name,
        &[("faults=11500", "faults=1000")],
        WhyCause::Swap,
        Likely,
        "The machine swaps: 1,200 pages per second (4.9 MB/s) come back from swap space on sda, and java (pid 900) has 100 major faults per second; tasks waited 35 % of the time for memory.",
    );
    check(
        name,
        &[(
            "avg300=3.00 total=3500000\n-- after/processes",
            "avg300=3.00 total=900000\n-- after/processes",
        )],
        WhyCause::Swap,
        Fact,
        "The machine swaps: 1,200 pages per second (4.9 MB/s) come back from swap space on sda, and java (pid 900) has 1,150 major faults per second.",
    );
    check(
        name,
        &[("pswpin 12000", "pswpin 990")],
        WhyCause::NotKnown,
        NotKnown,
        "Not known from what was seen: java (pid 900) waited in 2 of 2 looks, and sda is 60 % busy, 500 us per I/O.",
    );
    check_idle(name);
}

#[test]
fn writeback_of_a_full_page_cache() {
    let name = "writeback";
    check(
        name,
        &[],
        WhyCause::Writeback,
        Fact,
        "The page cache is full of unwritten data: 3.05 GiB wait to be written, and from 2.29 GiB on the kernel slows writers down; cp (pid 812) waits in its writes, sda takes 105 MB/s.",
    );
    check(
        name,
        &[(" place=balance_dirty_pages", "")],
        WhyCause::Writeback,
        Likely,
        "The page cache is full of unwritten data: 3.05 GiB wait to be written, and from 2.29 GiB on the kernel slows writers down; cp (pid 812) waits in its writes, sda takes 105 MB/s.",
    );
    check(
        name,
        &[("nr_dirty 600000", "nr_dirty 300000")],
        WhyCause::Writeback,
        Fact,
        "The page cache is full of unwritten data: 1.91 GiB were to be written at the start or the end, and from 2.29 GiB on the kernel slows writers down; cp (pid 812) waits in its writes, sda takes 105 MB/s.",
    );
    check(
        name,
        &[
            ("nr_dirty 600000", "nr_dirty 399999"),
            (" place=balance_dirty_pages", ""),
        ],
        WhyCause::DeviceBusy,
        Likely,
        "sda is 98 % busy with 30.0 in flight (100 I/Os per second, 105 MB/s, 300 ms each); cp (pid 812) has 100 % of the bytes.",
    );
    check_idle(name);
}

#[test]
fn one_at_a_time() {
    let name = "depth_1";
    check(
        name,
        &[],
        WhyCause::OneAtATime,
        Likely,
        "postgres (pid 812) has one I/O at a time on sda: 0.98 in flight, 9,800 per second of 100 us each; it waits for each before the next.",
    );
    check(
        name,
        &[("delay=950", "delay=490")],
        WhyCause::DeviceBusy,
        Likely,
        "sda is 98 % busy with 1.0 in flight (9,800 I/Os per second, 40.1 MB/s, 100 us each); postgres (pid 812) has 100 % of the bytes.",
    );
    check_idle(name);
}

#[test]
fn a_slow_device() {
    let name = "slow_device";
    check(
        name,
        &[],
        WhyCause::SlowDevice,
        Fact,
        "sda is slow: it is busy 58.2 ms for each I/O of 4 KiB with 1.0 in flight; a device without moving parts needs less than 20.0 ms.",
    );
    check(
        name,
        &[(
            "-- requests --\n0 58235 170 812 R 50 58000",
            "-- after/none --",
        )],
        WhyCause::SlowDevice,
        Likely,
        "sda is slow: it is busy 58.2 ms for each I/O of 4 KiB with 1.0 in flight; a device without moving parts needs less than 20.0 ms.",
    );
    // The same of a disk that turns is nothing special.
    check(
        name,
        &[(
            "-- requests --",
            "-- all/sys/devices/sda/queue/rotational --\n1\n-- requests --",
        )],
        WhyCause::OneAtATime,
        Likely,
        "postgres (pid 812) has one I/O at a time on sda: 0.99 in flight, 17 per second of 58.2 ms each; it waits for each before the next.",
    );
    check_idle(name);
}

#[test]
fn a_slow_member_of_an_array() {
    let name = "slow_member";
    check(
        name,
        &[],
        WhyCause::ArrayMember,
        Fact,
        "sdc holds md0 back: it needs 45.0 ms per write, the other 2 members 5.00 ms at the same number of writes.",
    );
    // 2.9 times as long as the others.
    check(
        name,
        &[("135000 0 9900 135000", "43000 0 9900 43000")],
        WhyCause::DeviceBusy,
        Likely,
        "sdc is 99.00 % busy with 4.3 in flight (300 I/Os per second, 1.2 MB/s, 14.3 ms each); postgres (pid 812) has 100 % of the bytes.",
    );
    check_idle(name);
}

#[test]
fn an_idle_disk() {
    check(
        "idle",
        &[],
        WhyCause::NotStorage,
        Fact,
        "Storage is not the reason: in 10.0 s nothing was seen waiting for it (I/O pressure 0.3 %), and the busiest device, sda, is 3.0 % busy.",
    );
    // A device that is busy for a tenth of the time could explain as much.
    check(
        "idle",
        &[("300 300", "1000 1000")],
        WhyCause::NotStorage,
        Likely,
        "Storage is probably not the reason: in 10.0 s nothing was seen waiting for it (I/O pressure 0.3 %), and the busiest device, sda, is 10 % busy.",
    );
    let finding = answer("idle", &[]).finding;
    assert_eq!(
        finding.evidence_for,
        ["Tasks waited 45 % of the time for a CPU."]
    );
}

/// Too short to see a wait: one look in it is no evidence that nothing waits.
#[test]
fn a_moment_is_no_fact() {
    let counters = [
        ("300 0 2400 300 0 0 0 0 0 300 300", "0 0 0 0 0 0 0 0 0 0 0"),
        ("total=1030000", "total=1000000"),
        ("total=6500000", "total=2000000"),
    ];
    let mut evidence = evidence(&text("idle", &counters), WhyScope::default());
    evidence.after.time_ns = 20_000_000;
    let finding = why(&evidence).finding;
    assert_eq!(
        (finding.sentence.as_str(), finding.certainty),
        (
            "Storage is probably not the reason: in 20.0 ms nothing was seen waiting for it (I/O pressure 0 %), and no device had I/O.",
            Likely
        )
    );
}

#[test]
fn a_fuse_server_that_does_not_answer() {
    let name = "fuse_hang";
    check(
        name,
        &[],
        WhyCause::FileSystemHang,
        Fact,
        "cat (pid 812) hangs: for all of the 10.0 s it has waited for the file system at /mnt/remote (fuse.sshfs, host:/srv), in read of /mnt/remote/data.",
    );
    let stuck = answer(name, &[]).stuck;
    assert_eq!(stuck.len(), 1);
    assert_eq!(
        (stuck[0].pid, stuck[0].seconds, stuck[0].call),
        (812, 10.0, Some("read"))
    );
    assert_eq!(stuck[0].mount.as_deref(), Some("/mnt/remote"));
    // It ran in between: it waits often, and does not hang.
    let slow = text(name, &[]).replacen("switches=7", "switches=6", 1);
    let answer = why(&evidence(&slow, WhyScope::default()));
    assert_eq!(answer.stuck, []);
    assert_eq!(answer.finding.cause, WhyCause::NotKnown);
    check_idle(name);
}

#[test]
fn a_device_that_does_not_answer() {
    let name = "device_hang";
    check(
        name,
        &[],
        WhyCause::DeviceHang,
        Fact,
        "sda does not answer: 3 I/Os are in flight, none was completed in 10.0 s, and dd (pid 812) waits.",
    );
    let stuck = answer(name, &[]).stuck;
    assert_eq!(stuck[0].mount.as_deref(), Some("/"));
    // One I/O that completes: the device is slow, and does not hang.
    let slow = answer(
        name,
        &[(
            "8 0 sda 0 0 0 0 0 0 0 0 3 10000",
            "8 0 sda 1 0 8 9000 0 0 0 0 3 10000",
        )],
    );
    assert_eq!(slow.finding.cause, WhyCause::DeviceBusy);
    // dd did not run although another I/O completed: it is still named.
    assert_eq!(slow.stuck.len(), 1);
}

#[test]
fn memory_pressure() {
    let name = "memory_pressure";
    check(
        name,
        &[],
        WhyCause::Memory,
        Fact,
        "Memory is short in control group /system.slice/db.service: it uses 1 GiB of 1 GiB, tasks waited 40 % of the time for memory, and 2,300 pages of files per second are read again that had just been dropped.",
    );
    // Pages that come back are what makes it a matter of storage.
    check(
        name,
        &[(
            "workingset_refault_file 23000",
            "workingset_refault_file 900",
        )],
        WhyCause::Memory,
        Likely,
        "Memory is short in control group /system.slice/db.service: it uses 1 GiB of 1 GiB, tasks waited 40 % of the time for memory, and 90 pages of files per second are read again that had just been dropped.",
    );
    check(
        name,
        &[("total=4000000", "total=900000"), ("max 350", "max 0")],
        WhyCause::OneAtATime,
        Likely,
        "postgres (pid 812) has one I/O at a time on sda: 0.60 in flight, 2,400 per second of 250 us each; it waits for each before the next.",
    );
    // Little pressure, but 23,000 pages of 4 KiB are 96 % of the 98,304,000 bytes that were read.
    check(
        name,
        &[("total=4000000", "total=900000")],
        WhyCause::Memory,
        Likely,
        "Memory is short in control group /system.slice/db.service: it uses 1 GiB of 1 GiB, 2,300 pages of files per second are read again that had just been dropped, 96 % of what devices read for it.",
    );
    check_idle(name);
}

/// A group of version 1 has no pressure, and its name is not that of the groups of other controllers. The question may be about a process.
#[test]
fn memory_pressure_of_version_1() {
    let answer = |changes: &[(&str, &str)]| {
        let scope = WhyScope {
            name: "PID 812".to_owned(),
            pids: vec![812],
            ..WhyScope::default()
        };
        why(&evidence(&text("memory_v1", changes), scope)).finding
    };
    // 10,000 pages of 4 KiB of the 98,304,000 bytes that were read for it; another program reads as much.
    let finding = answer(&[]);
    assert_eq!(
        (finding.sentence.as_str(), finding.certainty),
        (
            "Memory is short in control group /small: it uses 64 MiB of 64 MiB, 1,000 pages of files per second are read again that had just been dropped, 42 % of what devices read for it.",
            Likely
        )
    );
    assert_eq!(finding.cause, WhyCause::Memory);
    // Where the limit was not reached, the kernel dropped the pages for another reason.
    let free = answer(&[("failcnt --\n700", "failcnt --\n0")]);
    assert_eq!(free.cause, WhyCause::OneAtATime);
    // A tenth of the reads explains little.
    let few = answer(&[("refault_file 10000", "refault_file 2400")]);
    assert_eq!(few.cause, WhyCause::OneAtATime);
    check_idle("memory_v1");
}

#[test]
fn burst_credits_that_are_used_up() {
    let name = "burst_credits";
    check(
        name,
        &[],
        WhyCause::BurstCredits,
        Likely,
        "sda probably has no burst credits left: it completes a constant 300 I/Os per second with 12.0 in flight, the base rate of gp2 of 100 GiB (AWS EBS) (300 per second); with credits it reaches 3,000.",
    );
    // A medium varies.
    check(
        name,
        &[("8 0 sda 1800 ", "8 0 sda 1850 ")],
        WhyCause::DeviceBusy,
        Likely,
        "sda is 100 % busy with 12.0 in flight (300 I/Os per second, 1.2 MB/s, 40.0 ms each); mysqld (pid 812) has 100 % of the bytes.",
    );
    // Another disk of the same size has no credits.
    let disk = "Amazon Elastic Block Store";
    let other = answer(name, &[(disk, "QEMU HARDDISK")]).finding;
    assert_eq!(other.cause, WhyCause::DeviceBusy);
    check_idle(name);
}

/// A question about one process is not answered with what others wait for.
#[test]
fn a_scope_leaves_out_other_processes() {
    let text = text("neighbour", &[]);
    let of = |pid: u32| {
        let scope = WhyScope {
            name: format!("PID {pid}"),
            pids: vec![pid],
            ..WhyScope::default()
        };
        why(&evidence(&text, scope)).finding
    };
    assert_eq!(of(700).cause, WhyCause::Neighbour);
    assert_eq!(of(812).cause, WhyCause::DeviceBusy);
    assert_eq!(of(1).cause, WhyCause::NotStorage);
}

/// A question about a device is not answered with what waits for another one, and its pressure is that of all devices: postgres has its
/// reads on sda, and nothing on sdb.
#[test]
fn a_scope_leaves_out_other_devices() {
    let of = |minor: u32, requests: bool| {
        let text = text(
            "neighbour",
            &[
                (
                    "8 0 sda 0",
                    "8 16 sdb 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n   8 0 sda 0",
                ),
                (
                    "8 0 sda 1600",
                    "8 16 sdb 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n   8 0 sda 1600",
                ),
            ],
        );
        let scope = WhyScope {
            name: "device".to_owned(),
            devices: vec![DeviceNumber::new(8, minor)],
            ..WhyScope::default()
        };
        let mut evidence = evidence(&text, scope);
        if !requests {
            evidence.requests = None;
        }
        let finding = why(&evidence).finding;
        (finding.cause, finding.certainty)
    };
    assert_eq!(of(0, true), (WhyCause::Neighbour, Fact));
    // Two looks are too few for a fact.
    assert_eq!(of(16, true), (WhyCause::NotStorage, Likely));
    assert_eq!(of(16, false), (WhyCause::NotKnown, NotKnown));
}

/// Another user's counters are unknown, not zero, and the answer says so.
#[test]
fn what_may_not_be_read_is_named() {
    let hidden = text("neighbour", &[("delay=", "io=hidden delay=")]);
    let mut evidence = evidence(&hidden, WhyScope::default());
    // Who may not read them has no trace either.
    evidence.requests = None;
    let answer = why(&evidence);
    let named = |text: &str| answer.not_looked_at.iter().any(|one| one.contains(text));
    assert!(
        named("the I/O of 2 processes, which this user may not read"),
        "{:?}",
        answer.not_looked_at
    );
    assert_eq!(answer.uses, Vec::<String>::new());
    assert_ne!(answer.finding.cause, WhyCause::Neighbour);
}
