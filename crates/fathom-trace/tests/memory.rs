//! The memory of an observation is bounded, whatever the programs under watch do. In a program of its own, whose memory it looks at.

use std::collections::HashMap;

use fathom_trace::{
    BlockEvent, BlockEventKind, DeviceNumber, IoFlags, Observer, Processes, TraceConsumer,
};

const MIB: u64 = 1 << 20;
/// Of the 256 MiB of an observation 128 may be ring buffers of the kernel, and 28 events that wait for those of other CPUs.
const MOST: u64 = 100 * MIB;

/// Resident memory of this process, bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("the resident memory");
    let kib = line.split_whitespace().next().expect("a number");
    kib.parse::<u64>().expect("a number") * 1024
}

/// 600,000 I/Os, each of another thread, size and place, on several devices; half of them never complete.
#[test]
fn millions_of_different_events_take_bounded_memory() {
    let mut observer = Observer::new(0, HashMap::new(), Processes::of_tree("/nonexistent"), None);
    let before = resident();
    let mut peak = before;
    for n in 0..600_000u64 {
        let mut event = BlockEvent {
            time_ns: n * 100_000,
            cpu: (n % 4) as u16,
            thread: n as u32,
            device: DeviceNumber::new(8, (n % 3) as u32 * 16),
            sector: n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24,
            sectors: 1 + (n % 60_000) as u32,
            flags: IoFlags::parse(if n % 5 < 3 { "R" } else { "WS" }),
            kind: BlockEventKind::BioQueue,
        };
        observer.event(&event);
        if n % 2 == 0 {
            for kind in [
                BlockEventKind::Insert,
                BlockEventKind::Issue,
                BlockEventKind::Complete { error: 0 },
            ] {
                event.time_ns += 1 + n % 20_000;
                event.kind = kind;
                observer.event(&event);
            }
        }
        if n % 50_000 == 0 {
            peak = peak.max(resident());
        }
    }
    peak = peak.max(resident());
    let summary = observer.finish(60_000_000_000);
    let requests: u64 = summary.devices.values().map(|one| one.requests()).sum();
    assert_eq!(requests, 300_000);
    let used = peak.saturating_sub(before);
    assert!(used <= MOST, "{} MiB", used / MIB);
}
