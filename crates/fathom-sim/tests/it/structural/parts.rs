//! Parts of devices whose answer is arithmetic: the order of a disk, suspended erases, and each link.

use fathom_sim::{Flash, FlashParameters, Library, SimOp, SimRequest};

use crate::structural::flash::plain;
use crate::structural::{Random, assert_within, measure, one, request};

/// A disk with one track of 1 MB that takes 10 ms for a revolution has just read the first 4 KiB. Reads at three quarters, a
/// quarter and a half of the track then wait at the same time. By shortest access time the head takes them as they pass, all in
/// one revolution; in the order of arrival the quarter and the half wait for the next one. A byte passes in 10 ns.
#[test]
fn the_shortest_access_time_takes_what_passes_the_head() {
    let places = [749_568_u64, 249_856, 499_712];
    for (order, turns) in [("shortest-access", [0, 0, 0]), ("fifo", [0, 1, 1])] {
        let text = format!(
            "hdd(rpm=6000, capacity=1GB, heads=1, rate_outer=100MB/s, rate_inner=100MB/s, seek_track=1ms, seek_average=5ms, \
             head_switch=0ms, overhead=0.1ms, read_ahead=0k, order={order})"
        );
        let mut disk = Library::new().build_text(&text, 1).expect("a disk");
        let mut now = 0;
        one(&mut *disk, &mut now, request(SimOp::Read, 0, 4096));
        for (id, place) in (10..).zip(places) {
            let read = SimRequest {
                id,
                ..request(SimOp::Read, place, 4096)
            };
            disk.submit(now, read);
        }
        let mut done = Vec::new();
        while let Some(at) = disk.next_event() {
            disk.advance(at, &mut done);
        }
        for ((id, place), turns) in (10..).zip(places).zip(turns) {
            let found = done.iter().find(|one| one.id == id).expect("completed");
            let wanted = (place + turns * 1_000_000) * 10;
            let after = found.at - now;
            assert!(after.abs_diff(wanted) < 2000, "{order} {place}: {after}");
        }
    }
}

/// A read behind an erase of 20 ms waits for its end, up to 20 ms; with suspension it waits for 20 us. Programs are suspended
/// in both cases.
#[test]
fn reads_suspend_erases() {
    let slowest = |erase_suspend_ns: Option<u64>| {
        let parameters = FlashParameters {
            erase_ns: 20_000_000,
            program_suspend_ns: Some(20_000),
            erase_suspend_ns,
            ..plain()
        };
        let mut device = Flash::new(parameters, 1).expect("a device");
        let mut random = Random(5);
        let measured = measure(&mut device, 2, (5000, 60_000), 0, |job| {
            let op = if job == 0 { SimOp::Write } else { SimOp::Read };
            request(op, random.below(1 << 20) * 4096, 4096)
        });
        measured.percentile(SimOp::Read, 99.999)
    };
    let (waits, suspends) = (slowest(None), slowest(Some(20_000)));
    assert!((10_000.0..21_000.0).contains(&waits), "{waits} us");
    assert!(suspends < 2000.0, "{suspends} us");
}

/// Each link in front of a device that takes 100 us and has no limit: a large load gets the line rate after its coding and the
/// headers of full frames; a single read takes the device, both ways of the hop, the command and its data.
///
/// SATA, SAS and Fibre Channel code 8 bits as 10; frames of Fibre Channel carry 2,048 of 2,148 bytes. PCI Express codes 128 bits
/// as 130. Ethernet frames of 1,538 bytes with TCP carry 1,448.
#[test]
fn every_link_has_its_rate_and_its_latency() {
    let ethernet = 1448.0 / 1538.0 / 8.0;
    for (link, bytes_per_s, hop_us, command_us, tolerance) in [
        ("sata-300", 3e9 * 0.8 / 8.0, 0.0, 5.5, 0.01),
        ("sata-600", 6e9 * 0.8 / 8.0, 0.0, 6.7, 0.01),
        ("sas-6g", 6e9 * 0.8 / 8.0, 0.0, 3.0, 0.01),
        ("sas-12g", 12e9 * 0.8 / 8.0, 0.0, 2.0, 0.01),
        ("pcie3-x4", 4.0 * 8e9 * 128.0 / 130.0 / 8.0, 0.0, 0.5, 0.01),
        ("pcie4-x4", 4.0 * 16e9 * 128.0 / 130.0 / 8.0, 0.0, 0.5, 0.01),
        (
            "fc-8g",
            8.5e9 * 0.8 / 8.0 * 2048.0 / 2148.0,
            15.0,
            0.0,
            0.02,
        ),
        ("iscsi-10g", 10e9 * ethernet, 40.0, 0.0, 0.08),
        ("nvme-tcp-25g", 25e9 * ethernet, 15.0, 0.0, 0.02),
    ] {
        let text = format!("{link}(servers(count=256, service=100us, capacity=1GB))");
        let build = || Library::new().build_text(&text, 1).expect("a device");
        let mut device = build();
        let measured = measure(&mut *device, 32, (100, 2000), 0, |job| {
            request(SimOp::Read, (job as u64) << 20, 1 << 20)
        });
        let large = f64::from(1 << 20);
        // Each command occupies the link too.
        let expected = large / (large / bytes_per_s + command_us / 1e6);
        assert_within(link, measured.iops * large, expected, tolerance);
        let mut now = 0;
        let alone = one(&mut *build(), &mut now, request(SimOp::Read, 0, 4096));
        let expected = 100e3 + 2e3 * hop_us + 1e3 * command_us + 4096e9 / bytes_per_s;
        assert!(
            (alone as f64 - expected).abs() < 400.0,
            "{link}: {alone} {expected}"
        );
    }
}
