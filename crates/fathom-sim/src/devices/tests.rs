//! Each kind against its arithmetic.

use crate::device::{SimCompletion, SimOp, SimRequest, closed_loop};
use crate::registry::{BUILT_IN, KINDS, Library};
use crate::spec::ModelSpec;
use crate::toml_file::ModelFile;

fn request(op: SimOp, offset: u64, bytes: u32) -> SimRequest {
    SimRequest {
        id: 0,
        op,
        offset,
        bytes,
        fua: false,
    }
}

/// Latencies of these requests, one at a time.
fn latencies(text: &str, requests: &[SimRequest]) -> Vec<u64> {
    let mut device = Library::new().build_text(text, 1).expect("a device");
    let (mut now, mut done, mut latencies) = (0, Vec::new(), Vec::new());
    for request in requests {
        device.submit(now, *request);
        let start = now;
        while done.is_empty() {
            now = device.next_event().expect("a request is in flight");
            device.advance(now, &mut done);
        }
        latencies.push(done.drain(..).next().map_or(0, |one: SimCompletion| one.at) - start);
    }
    latencies
}

fn iops(text: &str, depth: usize, count: u64, op: SimOp, bytes: u32, stride: u64) -> f64 {
    let mut device = Library::new().build_text(text, 1).expect("a device");
    let (mut number, blocks) = (0_u64, device.capacity() / u64::from(bytes));
    let next = || {
        number += stride;
        request(op, number % blocks * u64::from(bytes), bytes)
    };
    let end = closed_loop(&mut *device, depth, count, next, |_, _| {});
    count as f64 / end as f64 * 1e9
}

fn error(text: &str) -> String {
    Library::new()
        .build_text(text, 1)
        .expect_err("an error")
        .to_string()
}

#[test]
fn every_model_of_the_program_has_a_source_for_each_parameter() {
    for (name, text) in BUILT_IN {
        let file = ModelFile::parse(name, text).expect("a model");
        assert!(!file.summary.is_empty(), "{name}");
        let given: Vec<&str> = file
            .spec
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect();
        let sources: Vec<&str> = file.sources.iter().map(|(name, _)| name.as_str()).collect();
        for parameter in &given {
            assert!(sources.contains(parameter), "{name}: source of {parameter}");
        }
        for source in sources {
            assert!(
                given.contains(&source),
                "{name}: {source} is not a parameter"
            );
        }
        let members = KINDS
            .iter()
            .find(|kind| kind.name == file.spec.name)
            .map_or(0, |kind| kind.members.0);
        let text = match members {
            0 => (*name).to_owned(),
            n => format!("{name}({n} x servers(service=1ms))"),
        };
        Library::new().build_text(&text, 1).expect(name);
    }
}

/// The outer rate of the sheet, and half the time of a revolution is not lost between the tracks.
#[test]
fn a_disk_reads_sequentially_at_its_media_rate() {
    for depth in [1, 4] {
        let rate = iops("hdd-7200", depth, 20_000, SimOp::Read, 128 << 10, 1) * 131_072.0;
        assert!((0.9..=1.0).contains(&(rate / 175e6)), "{depth}: {rate}");
    }
    let rate = iops("hdd-7200", 1, 40_000, SimOp::Write, 128 << 10, 1) * 131_072.0;
    assert!((0.85..=1.02).contains(&(rate / 175e6)), "{rate}");
}

/// Without read-ahead each small sequential read waits for a whole revolution.
#[test]
fn without_read_ahead_a_revolution_is_lost() {
    let rate = iops("hdd-7200(read_ahead=0)", 1, 1000, SimOp::Read, 4096, 1);
    assert!((rate - 120.0).abs() < 1.0, "{rate}");
}

/// A write is acknowledged at once until the cache is full; a flush waits for the disk.
#[test]
fn a_write_cache_acknowledges_until_a_flush() {
    let write = request(SimOp::Write, 1 << 30, 4096);
    let times = latencies("hdd-7200", &[write, request(SimOp::Flush, 0, 0)]);
    assert_eq!(times[0], 200_000);
    assert!((1_000_000..40_000_000).contains(&times[1]), "{}", times[1]);
    let durable = SimRequest { fua: true, ..write };
    assert!(latencies("hdd-7200", &[durable])[0] > 1_000_000);
    // 64 MiB take 16,384 writes of 4 KiB. The next ones run at the speed of the disk.
    let fast = iops("hdd-7200", 1, 16_000, SimOp::Write, 4096, 777_777_777);
    let slow = iops("hdd-7200", 1, 50_000, SimOp::Write, 4096, 777_777_777);
    assert!(fast > 4_000.0 && slow < 300.0, "{fast} {slow}");
}

/// 4 KiB at 300 MB/s take 13.65 us, with 5.5 us for the command 52,200 a second.
#[test]
fn a_link_is_a_ceiling() {
    let text = "sata-300(servers(count=32, service=10us))";
    let rate = iops(text, 32, 100_000, SimOp::Read, 4096, 1);
    let expected = 1e9 / (4096.0 / 0.3 + 5500.0);
    assert!((rate / expected - 1.0).abs() < 0.001, "{rate}");
    // One at a time, the link adds its time and twice its latency.
    let hop = "link(servers(service=100us), rate=1GB/s, latency=15us)";
    assert_eq!(latencies(hop, &[request(SimOp::Read, 0, 4096)]), [134_096]);
    assert_eq!(latencies(hop, &[request(SimOp::Write, 0, 4096)]), [134_096]);
}

/// The survey of a device behind two links names the slower link, wherever it is: SATA at 300 MB/s below PCIe at 2 GB/s, and the other way round.
#[test]
fn the_narrowest_link_is_the_one_of_the_survey() {
    for (outer, inner) in [
        ("pcie, rate=2GB/s", "sata, rate=300MB/s"),
        ("sata, rate=300MB/s", "pcie, rate=2GB/s"),
    ] {
        let text = format!("link(link(servers(service=10us), kind={inner}), kind={outer})");
        let device = Library::new().build_text(&text, 1).expect("a device");
        let link = device.survey().link.expect("a link");
        let expected = (fathom_model::LinkKind::Sata, 300_000_000);
        assert_eq!((link.kind, link.bytes_per_s), expected, "{text}");
    }
}

/// At most 32 commands are at the device, although 64 servers are free.
#[test]
fn a_link_has_a_queue_depth() {
    let text = "link(servers(count=64, service=1ms), rate=100GB/s, queue_depth=32)";
    let rate = iops(text, 64, 64_000, SimOp::Read, 512, 1);
    assert!((rate / 32_000.0 - 1.0).abs() < 0.01, "{rate}");
}

/// 100 I/Os of burst at once, then 1,000 a second; 256 KiB count as four I/Os of 64 KiB.
#[test]
fn a_limit_grants_its_burst_first() {
    let text = "limit(servers(count=64, service=1us), iops=1000, burst=100)";
    let times = latencies(text, &vec![request(SimOp::Read, 0, 4096); 1100]);
    let total: u64 = times.iter().sum();
    assert!(times[..100].iter().all(|ns| *ns == 1000));
    assert!((999_000_000..=1_001_000_000).contains(&total), "{total}");
    let text = "limit(servers(service=1us), iops=1000, io_size=64k)";
    let rate = iops(text, 4, 2000, SimOp::Read, 256 << 10, 1);
    assert!((rate / 250.0 - 1.0).abs() < 0.01, "{rate}");
    let text = "limit(servers(service=1us), bandwidth=100MB/s)";
    let rate = iops(text, 4, 2000, SimOp::Read, 100_000, 1);
    assert!((rate / 1000.0 - 1.0).abs() < 0.01, "{rate}");
}

/// 4 sequential reads in flight at a device that takes one: three of them become one request.
#[test]
fn an_elevator_merges_what_waits() {
    let text = "elevator(servers(service=1ms))";
    let rate = iops(text, 4, 8000, SimOp::Read, 4096, 1);
    assert!(rate > 1900.0, "{rate}");
    let rate = iops(
        "elevator(servers(service=1ms), merge=off)",
        4,
        8000,
        SimOp::Read,
        4096,
        1,
    );
    assert!((rate / 1000.0 - 1.0).abs() < 0.01, "{rate}");
}

/// A CPU that needs 4 us for an I/O does 250,000 a second, two do twice as many.
#[test]
fn the_cpus_of_a_host_are_a_ceiling() {
    for cpus in [1_u32, 2] {
        let text =
            format!("host(servers(count=64, service=1us), submit=1us, complete=3us, cpus={cpus})");
        let rate = iops(&text, 32, 200_000, SimOp::Read, 4096, 1);
        assert!(
            (rate / (250_000.0 * f64::from(cpus)) - 1.0).abs() < 0.02,
            "{rate}"
        );
    }
}

#[test]
fn faults_have_their_rates() {
    let text = "faults(servers(service=1ms), read_errors=2%, stall_every=1s, stall_time=100ms)";
    let mut device = Library::new().build_text(text, 3).expect("a device");
    let (mut now, mut done, mut failed, mut longest) = (0, Vec::new(), 0, 0);
    for _ in 0..50_000 {
        let start = now;
        device.submit(now, request(SimOp::Read, 0, 512));
        while done.is_empty() {
            now = device.next_event().expect("a request is in flight");
            device.advance(now, &mut done);
        }
        failed += u32::from(done.drain(..).any(|one: SimCompletion| one.failed));
        longest = longest.max(now - start);
    }
    // The standard deviation of 1,000 is 31.
    assert!((900..1100).contains(&failed), "{failed}");
    assert!((95_000_000..=101_000_000).contains(&longest), "{longest}");
}

#[test]
fn the_same_seed_gives_the_same_completions() {
    let run = |seed: u64| {
        let text = "sata-600(faults(hdd-7200, slow=1%, slow_time=50ms))";
        let mut device = Library::new().build_text(text, seed).expect("a device");
        let mut number = 0_u64;
        let mut latencies = Vec::new();
        let next = || {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            request(SimOp::Read, number % 900_000_000 * 4096, 4096)
        };
        closed_loop(&mut *device, 8, 500, next, |_, ns| latencies.push(ns));
        latencies
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn errors_name_the_place_and_the_fix() {
    for (text, part) in [
        (
            "hdd-720",
            "device:1:1: unknown model 'hdd-720'; did you mean hdd-7200?",
        ),
        ("HDD7200", "did you mean hdd-7200?"),
        ("lightning", "unknown model 'lightning'; models: hdd-5400"),
        (
            "sata-600",
            "device:1:1: link needs one device in its parentheses, not 0",
        ),
        (
            "hdd-7200(rpm=0)",
            "device:1:14: hdd: rpm: impossible value '0'; it is 60 to 100000",
        ),
        (
            "hdd-7200(seek_average=8.2)",
            "device:1:23: hdd: seek_average: missing unit in '8.2'",
        ),
        ("hdd-7200(capacity=4XB)", "unknown unit 'XB'"),
        (
            "hdd-7200(seek_average=-8ms)",
            "seek_average: impossible value '-8ms'; it is 1ns to 24h",
        ),
        (
            "hdd-7200(capacity=8k)",
            "capacity: impossible value '8k'; it is 1MiB to 1000000TB",
        ),
        // Regression 1007: the limit in the message was that of a device, 1000000TB.
        (
            "raid5(3 x hdd-7200, chunk=3k)",
            "chunk: impossible value '3k'; it is 4KiB to 1GiB",
        ),
        (
            "hdd-7200(rpm=7200rpm)",
            "rpm: invalid number '7200rpm'; write it without a unit",
        ),
        (
            "raid6(3 x hdd-7200)",
            "device:1:1: raid6 needs 4 to 64 devices in its parentheses, not 3",
        ),
        (
            "raid10(5 x hdd-7200)",
            "raid10: members: raid10 of 5 members; it needs an even number",
        ),
        (
            "cache(hdd-7200)",
            "cache needs 2 devices in its parentheses, not 1",
        ),
        (
            "hdd-7200(chunk=64k)",
            "device:1:16: hdd: unknown parameter 'chunk'; it has age_limit",
        ),
        (
            "hdd-7200(rate_inner=1GB/s)",
            "the inner zone cannot be faster than the outer",
        ),
        (
            "hdd-7200(seek_average=90ms)",
            "seek_track <= seek_average <= seek_full",
        ),
        (
            "hdd-7200(",
            "device:1:10: expected the name of a model, such as hdd-7200; found the end",
        ),
        (
            "hdd-7200)",
            "device:1:9: unexpected text after the device; found ')'",
        ),
        (
            "link(0 x hdd-7200, rate=1MB/s)",
            "a number of members is 1 to 1024",
        ),
        ("limit(hdd-7200)", "give iops=, bandwidth= or both"),
        ("limit(hdd-7200, iops=many)", "invalid number 'many'"),
        (
            "limit(hdd-7200, iops=5, iops=6)",
            "parameter 'iops' is given twice",
        ),
        (
            "servers(service=1ms, count=1.5)",
            "1.5 is not a whole number",
        ),
        (
            "faults(hdd-7200, read_errors=150%)",
            "impossible value '150%'; it is 0 to 1",
        ),
        (
            "servers(service=1ms, distribution=normal)",
            "'normal' is not one of fixed, exponential",
        ),
        ("", "device:1:1: expected the name of a model"),
    ] {
        let error = error(text);
        assert!(error.contains(part), "{text}: {error}");
    }
    let nested = "limit(".repeat(40);
    assert!(error(&nested).contains("nested deeper than 16 levels"));
}

#[test]
fn files_have_the_same_errors_with_their_lines() {
    for (text, part) in [
        ("model = 5", "x.toml:1:9: expected a string"),
        (
            "summary = \"a disk\"",
            "x.toml:1:1: missing key: add model = \"KIND\"",
        ),
        (
            "model = \"hdd\"\nrpm = 7200",
            "x.toml:2:1: unknown key 'rpm'",
        ),
        (
            "model = \"hdd\"\n[parameters]\nrpm = 9e99",
            "x.toml:3:7: hdd: rpm: impossible value",
        ),
        ("model = \"hdd\"\n[parameters\n", "x.toml:2:"),
        (
            "compose = \"link(hdd-7200\"",
            "x.toml:1:11: expected ',' or ')'",
        ),
        (
            "compose = \"x\"",
            "nested deeper than 16 levels; does a model contain itself?",
        ),
        (
            "model = \"link\"\nmembers = [5]",
            "x.toml:2:12: expected a string",
        ),
    ] {
        let mut library = Library::new();
        library.add("x", "x.toml", text);
        let error = library.build_text("x", 1).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn a_file_and_a_composition_describe_the_same_device() {
    let text = "model = \"link\"\nmembers = [\"hdd-7200\"]\n[parameters]\nrate = \"300MB/s\"\n";
    let mut library = Library::new();
    library.add("mine", "mine.toml", text);
    let spec = library.get("mine").expect("known").expect("a model").spec;
    assert_eq!(spec.to_text(), "link(hdd-7200, rate=300MB/s)");
    let again = ModelSpec::parse(&spec.to_text()).expect("a composition");
    assert_eq!(again.to_text(), spec.to_text());
    assert!(library.build_text("limit(mine, iops=100)", 1).is_ok());
}
