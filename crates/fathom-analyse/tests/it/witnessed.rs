//! Findings about watched commands: the figures of each sentence are chosen by the test.

use fathom_analyse::findings;
use fathom_model::*;

use crate::sample::{MS, clean, command, fill};

const MIB: u64 = 1 << 20;

/// Ten seconds in which dd read a gibibyte of a file on vda.
fn recording(change: impl FnOnce(&mut Witnessed)) -> Recording {
    let mut recording = clean();
    recording.host.witnessed = command(|one| {
        one.io = ProcessIo {
            read_bytes: 1024 * MIB,
            read_calls: 1024,
            device_read_bytes: 1024 * MIB,
            ..ProcessIo::default()
        };
        one.files = vec![OpenedFile {
            path: "/data/file".into(),
            reads: true,
            disk: Some("vda".to_owned()),
            ..OpenedFile::default()
        }];
        change(one);
    });
    recording
}

fn disk(reads: u64, read_bytes: u64, read_ticks: u64, written_bytes: u64) -> DiskRecording {
    DiskRecording {
        name: "vda".to_owned(),
        before: DiskCounters::default(),
        after: DiskCounters {
            read_ios: reads,
            read_sectors: read_bytes / 512,
            read_ticks,
            write_ios: written_bytes / 4096,
            write_sectors: written_bytes / 512,
            ..DiskCounters::default()
        },
    }
}

fn evidence(recording: &Recording, code: &str) -> Option<String> {
    let found = findings(recording).findings;
    let finding = found.into_iter().find(|finding| finding.code == code)?;
    assert!(!finding.advice.is_empty());
    Some(finding.evidence)
}

#[test]
fn reads_that_memory_served() {
    let mut from_memory = recording(|one| one.io.device_read_bytes = 1024 * MIB / 250);
    from_memory.disks = vec![disk(100, 4 * MIB, 10, 0)];
    assert_eq!(
        evidence(&from_memory, "PAGE_CACHE").as_deref(),
        Some(
            "dd was served from memory: 0.4 % of the bytes that it read came from a device (4.1 MiB of 1 GiB)."
        )
    );
    assert_eq!(evidence(&recording(|_| {}), "PAGE_CACHE"), None);
    // What comes from pipes and sockets was not served from the page cache.
    let pipe = recording(|one| {
        one.io.device_read_bytes = 0;
        one.files.clear();
    });
    assert_eq!(evidence(&pipe, "PAGE_CACHE"), None);
}

#[test]
fn writes_that_stayed_in_memory() {
    let mut buffered = recording(|one| one.io.device_written_bytes = 100 * MIB);
    buffered.disks = vec![disk(0, 0, 0, 25 * MIB)];
    assert_eq!(
        evidence(&buffered, "PAGE_CACHE").as_deref(),
        Some(
            "75 % of the bytes that dd wrote to files stayed in memory: when it ended, the devices had received 25 MiB of 100 MiB."
        )
    );
    buffered.disks = vec![disk(0, 0, 0, 100 * MIB)];
    assert_eq!(evidence(&buffered, "PAGE_CACHE"), None);
}

#[test]
fn other_programs_on_the_device() {
    let mut beside = recording(|_| {});
    beside.disks = vec![disk(10_000, 2048 * MIB, 1000, 0)];
    assert_eq!(
        evidence(&beside, "FOREIGN_IO").as_deref(),
        Some(
            "50 % of the bytes read on vda were not from dd: the device transferred 2 GiB, the command 1 GiB."
        )
    );
    // Few bytes that take much time: 3,000 of 4,000 reads, which took 8 s of 10 s, so 6 s.
    let mut slow = recording(|one| {
        one.disks = vec![GroupDisk {
            name: "vda".to_owned(),
            reads: 1000,
            read_bytes: 1024 * MIB,
            ..GroupDisk::default()
        }];
    });
    slow.disks = vec![disk(4000, 1024 * MIB + 3000 * 4096, 8000, 0)];
    assert_eq!(
        evidence(&slow, "FOREIGN_IO").as_deref(),
        Some(
            "3,000 reads on vda were not from dd (300 per second), and took 60 % of the device's time."
        )
    );
    slow.disks = vec![disk(1010, 1024 * MIB, 8000, 0)];
    assert_eq!(evidence(&slow, "FOREIGN_IO"), None);
}

/// Regression 1446: of several devices with I/O of other programs, only the first one was named.
#[test]
fn other_programs_on_two_devices() {
    let mut beside = recording(|_| {});
    let mut second = disk(0, 0, 1000, 300 * MIB);
    second.name = "loop0".to_owned();
    beside.disks = vec![disk(10_000, 2048 * MIB, 1000, 0), second];
    assert_eq!(
        evidence(&beside, "FOREIGN_IO").as_deref(),
        Some(
            "50 % of the bytes read on vda were not from dd: the device transferred 2 GiB, the command 1 GiB. 100 % of the bytes written on loop0 were not from dd: the device transferred 300 MiB, the command 0 bytes."
        )
    );
}

/// Two seconds at 98 of 100 reads per second, and eight without any.
#[test]
fn a_limit_that_was_reached() {
    let mut limited = recording(|_| {});
    limited.conditions.limits = vec![IoLimit {
        disk: "vda".to_owned(),
        reads: true,
        ios: true,
        per_second: 100,
    }];
    let sample = |second: u64, reads: u64| Sample {
        start: Nanos::from_secs(second),
        length: Nanos::from_secs(1),
        disks: vec![DiskCounters {
            read_ios: reads,
            ..DiskCounters::default()
        }],
        ..Sample::default()
    };
    let samples = |reads: u64| {
        (0..10)
            .map(|second| sample(second, if second < 2 { reads } else { 0 }))
            .collect()
    };
    limited.conditions.telemetry.disks = vec!["vda".to_owned()];
    limited.conditions.telemetry.samples = samples(98);
    assert_eq!(
        evidence(&limited, "RATE_LIMITED").as_deref(),
        Some(
            "A control group limits the reads of dd on vda to 100 per second, and 98 per second were reached."
        )
    );
    limited.conditions.telemetry.samples = samples(50);
    assert_eq!(evidence(&limited, "RATE_LIMITED"), None);
}

#[test]
fn a_command_that_was_killed() {
    let killed = recording(|one| one.ended = ProgramEnd::Signal(9));
    assert_eq!(
        evidence(&killed, "INTERRUPTED").as_deref(),
        Some("dd was killed by SIGKILL after 10.00 s.")
    );
    assert_eq!(evidence(&killed, "COMMAND_FAILED"), None);
}

#[test]
fn files_that_are_all_in_memory() {
    let in_memory = recording(|one| {
        one.io.device_read_bytes = 0;
        one.files[0].memory_backed = true;
        one.files[0].disk = None;
    });
    assert_eq!(
        evidence(&in_memory, "MEMORY_BACKED").as_deref(),
        Some("/data/file is on a file system in memory, as are all files that dd had open.")
    );
    assert_eq!(evidence(&in_memory, "PAGE_CACHE"), None);
}

#[test]
fn detectors_of_loads_do_not_apply_to_commands() {
    // A load of 100 I/Os would have too few of them for its percentiles.
    let mut recording = recording(|_| {});
    fill(&mut recording, 0, Direction::Read, 100, MS);
    assert!(
        findings(&recording).findings.is_empty(),
        "{:?}",
        findings(&recording).findings
    );
}

#[test]
fn asynchronous_io_is_not_a_share_of_system_calls() {
    let recording = recording(|one| {
        one.io.read_bytes = MIB;
        one.io.device_read_bytes = 766 * MIB;
    });
    let summary = findings(&recording).entries[0].summary.join(" ");
    assert!(
        summary
            .contains("It read 766 MiB from devices: the kernel does not count asynchronous I/O"),
        "{summary}"
    );
}

#[test]
fn sentences_state_the_counters() {
    let recording = recording(|one| {
        one.user = Nanos::from_secs(1);
        one.system = Nanos::from_secs(4);
        one.disks = vec![GroupDisk {
            name: "vda".to_owned(),
            reads: 2048,
            read_bytes: 1024 * MIB,
            writes: 1,
            written_bytes: 4096,
        }];
    });
    let found = findings(&recording);
    assert_eq!(
        found.entries[0].summary,
        [
            "dd ended with exit code 0 after 10.00 s.",
            "It read 1 GiB in 1,024 system calls (107 MB/s) and wrote 0 bytes in 0 system calls (0 MB/s), pipes and sockets included.",
            "Of what it read, 100 % came from devices (1 GiB). It changed 0 bytes of files, in the page cache or directly.",
            "On vda its control group did 2,048 reads (1 GiB) and 1 write (4 KiB).",
            "It used 5.00 s of CPU time, 4.00 s of it in the kernel: 50 % of one CPU.",
            "dd had open: /data/file (read through the page cache, on vda).",
        ]
    );
}
