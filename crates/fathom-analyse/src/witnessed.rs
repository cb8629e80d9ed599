//! What a watched command did, in sentences.

use std::path::Path;

use fathom_model::format::{duration, thousands};
use fathom_model::{GroupDisk, OpenedFile, ProgramEnd, Recording, Witnessed};

use crate::detectors::EntryContext;
use crate::figures::{bandwidth, bytes, counted, percent, share};

/// As many files are named.
const FILES: usize = 4;

/// The name of the program, without its directory.
pub(crate) fn program_name(witnessed: &Witnessed) -> &str {
    let program = witnessed.command.first().map_or("", String::as_str);
    Path::new(program)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(program)
}

/// The name of a signal, such as `SIGTERM`. Numbers are those of all architectures that Rust runs on under Linux but MIPS and
/// SPARC; others are named by their number. See signal(7).
pub(crate) fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// What the command read, wrote and used.
pub(crate) fn sentences(recording: &Recording, witnessed: &Witnessed) -> Vec<String> {
    let name = program_name(witnessed);
    let seconds = recording.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let groups = witnessed.disks.iter().map(group_sentence);
    // What an application reads and writes is in its own result.
    if !witnessed.application.is_empty() {
        return witnessed
            .application
            .iter()
            .cloned()
            .chain(groups)
            .collect();
    }
    let mut sentences = vec![ended(recording, witnessed)];
    let io = &witnessed.io;
    let moved = |bytes_moved: u64, calls: u64| {
        format!(
            "{} in {} ({})",
            bytes(bytes_moved),
            counted(calls, "system call"),
            bandwidth(bytes_moved as f64 / seconds)
        )
    };
    sentences.push(format!(
        "It read {} and wrote {}, pipes and sockets included.",
        moved(io.read_bytes, io.read_calls),
        moved(io.written_bytes, io.write_calls),
    ));
    // The pages of the program itself are read through a memory map.
    let mut devices = if io.device_read_bytes > io.read_bytes + io.read_bytes / 10 {
        format!(
            "It read {} from devices: the kernel does not count asynchronous I/O and memory maps as system calls.",
            bytes(io.device_read_bytes)
        )
    } else {
        format!(
            "Of what it read, {} came from devices ({}).",
            percent(share(io.device_read_bytes, io.read_bytes).min(100.0)),
            bytes(io.device_read_bytes),
        )
    };
    devices += &format!(
        " It changed {} of files, in the page cache or directly",
        bytes(io.device_written_bytes)
    );
    if io.cancelled_bytes > 0 {
        devices += &format!(
            "; {} were removed before they were written",
            bytes(io.cancelled_bytes)
        );
    }
    sentences.push(devices + ".");
    sentences.extend(groups);
    let cpu = witnessed.user + witnessed.system;
    sentences.push(format!(
        "It used {} of CPU time, {} of it in the kernel: {} of one CPU.",
        duration(cpu.get() as f64),
        duration(witnessed.system.get() as f64),
        percent(100.0 * cpu.as_secs_f64() / seconds),
    ));
    sentences.extend(files(name, &witnessed.files));
    if !witnessed.servers.is_empty() {
        let names: Vec<String> = witnessed
            .servers
            .iter()
            .map(|one| format!("{} (process {})", one.name, one.process))
            .collect();
        sentences.push(format!(
            "The figures include {}, with the processes that it started.",
            names.join(", ")
        ));
    }
    sentences
}

fn group_sentence(disk: &GroupDisk) -> String {
    format!(
        "On {} its control group did {} ({}) and {} ({}).",
        disk.name,
        counted(disk.reads, "read"),
        bytes(disk.read_bytes),
        counted(disk.writes, "write"),
        bytes(disk.written_bytes),
    )
}

/// The second entry: what the block layer did for the command.
pub(crate) fn block_sentences(entry: &EntryContext) -> Vec<String> {
    let mut sentences = Vec::new();
    for (direction, requests) in entry.figures.directions.iter() {
        if requests.ios == 0 {
            continue;
        }
        let device = entry
            .figures
            .name
            .rsplit_once(" on ")
            .map_or(String::new(), |(_, device)| format!(" on {device}"));
        let mut text = format!(
            "Block I/O{device}: {} of {} on average ({}), {}/s",
            counted(requests.ios, direction.name()),
            bytes(requests.bytes / requests.ios),
            bytes(requests.bytes),
            bytes(requests.bandwidth as u64),
        );
        let all = entry.direction_histogram(direction, |one| &one.clat);
        let before = entry.direction_histogram(direction, |one| &one.slat);
        if let (Some(median), Some(tail)) = (all.percentile(50.0), all.percentile(99.0)) {
            text += &format!(
                "; latency {} on average, p50 {}, p99 {}, and of it {} before the device",
                duration(all.mean()),
                duration(median),
                duration(tail),
                duration(before.mean()),
            );
        }
        sentences.push(text + ".");
    }
    let in_flight = entry.figures.little.in_flight;
    if in_flight > 0.0 {
        sentences.push(format!(
            "{in_flight:.2} of its requests were in the block layer on average."
        ));
    }
    sentences
}

fn ended(recording: &Recording, witnessed: &Witnessed) -> String {
    let how = match witnessed.ended {
        ProgramEnd::Code(code) => format!("ended with exit code {code}"),
        ProgramEnd::Signal(signal) => format!("was killed by {}", signal_name(signal)),
    };
    format!(
        "{} {how} after {}.",
        program_name(witnessed),
        duration(recording.elapsed.get() as f64)
    )
}

fn files(name: &str, files: &[OpenedFile]) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let mut texts: Vec<String> = files.iter().take(FILES).map(file).collect();
    if files.len() > FILES {
        let more = (files.len() - FILES) as u64;
        texts.push(format!("{} more", thousands(more)));
    }
    Some(format!("{name} had open: {}.", texts.join(", ")))
}

/// `/data/a (read and written through the page cache, on vda)`.
fn file(file: &OpenedFile) -> String {
    let used = match (file.reads, file.writes) {
        (true, true) => "read and written",
        (false, true) => "written",
        _ => "read",
    };
    let path = if file.direct {
        "with O_DIRECT"
    } else {
        "through the page cache"
    };
    let place = match &file.disk {
        _ if file.memory_backed => ", in memory".to_owned(),
        Some(disk) => format!(", on {disk}"),
        None => String::new(),
    };
    format!("{} ({used} {path}{place})", file.path.display())
}
