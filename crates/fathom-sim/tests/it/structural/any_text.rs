//! Changed compositions and model files are built or refused, without a panic: what the fuzz target
//! `model` does, with seeded changes.

use std::time::{Duration, Instant};

use fathom_sim::{BUILT_IN, Library, SimOp, SimRequest};

use crate::structural::Random;

/// Texts that are changed: those of `every_device` and of the models.
const TEXTS: &[&str] = &[
    "raid5(4 x hdd-7200, chunk=64k, failed=1, rebuild=hdd-7200, rebuild_rate=100MB/s)",
    "tier(samsung-970-evo-plus-1tb(capacity=64M), limit(hdd-10k, iops=100, burst=3000), epoch=1s)",
    "host(split(elevator(faults(floppy-1440, slow=1%)), max_segments=128), submit=5us, cpus=2)",
    "cache(perc-1g(sata-ssd), raid10(4 x sata-600(samsung-f1)), block=4k, writes=back)",
    "servers(count=4, service=1ms, distribution=exponential, rate=1M/s, capacity=1T)",
    include_str!("../../../models/hdd-7200.toml"),
    include_str!("../../../models/nvme-ssd.toml"),
    include_str!("../../../models/p420i.toml"),
    "summary = \"a\"\nmodel = \"curve\"\n[parameters]\ncurves = [\n  \"randread bs=4096 reads=100 law=soft-minimum r0=0.000118 \
     xmax=53400 m=2 loads=1-32\",\n]\n[sources]\ncurves = \"a\"\n",
    "summary = \"a\"\ncompose = \"raid5(8 x hdd-7200, chunk=64k)\"\n",
];
/// Parts that replace others.
const PARTS: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "NaN",
    "18446744073709551616",
    "999999999999T",
    "0.0000001us",
    "ms",
    "%",
    "(",
    ")",
    ",",
    "=",
    " x ",
    "\"",
    "[",
    "]",
    "\n",
    "m",
    "hdd-7200",
    "raid6",
    "4096 x ",
    "\u{0}",
    "\u{fffd}",
    "ü",
];

/// One of the texts with up to four changes.
fn changed(random: &mut Random) -> String {
    let mut text: Vec<char> = TEXTS[random.below(TEXTS.len() as u64) as usize]
        .chars()
        .collect();
    for _ in 0..=random.below(4) {
        let at = random.below(text.len() as u64 + 1) as usize;
        let end = (at + random.below(12) as usize).min(text.len());
        let part = PARTS[random.below(PARTS.len() as u64) as usize];
        match random.below(3) {
            0 => drop(text.drain(at..end)),
            1 => drop(text.splice(at..end, part.chars())),
            _ => {
                let copy: Vec<char> = text[at..end].to_vec();
                drop(text.splice(at..at, copy));
            }
        }
    }
    text.into_iter().collect()
}

/// Builds the text as a composition and as a file; what can be built does a few I/Os.
fn build(text: &str) -> usize {
    let mut library = Library::new();
    library.add("m", "m.toml", text);
    let mut built = 0;
    for composition in [text, "m"] {
        let Ok(mut device) = library.build_text(composition, 1) else {
            continue;
        };
        built += 1;
        let mut done = Vec::new();
        let operations = [SimOp::Read, SimOp::Write, SimOp::Trim, SimOp::Flush];
        for (id, op) in (0..).zip(operations) {
            let request = SimRequest {
                id,
                op,
                offset: device.capacity() / 3 / 4096 * 4096,
                bytes: if op == SimOp::Flush { 0 } else { 4096 },
                fua: false,
            };
            device.submit(0, request);
        }
        for _ in 0..1000 {
            let Some(at) = device.next_event().filter(|_| done.len() < 4) else {
                break;
            };
            device.advance(at, &mut done);
        }
    }
    built
}

#[test]
fn changed_texts_are_built_or_refused() {
    let mut random = Random(16);
    let mut built = 0;
    let mut slowest = (Duration::ZERO, String::new());
    for _ in 0..1000 {
        let text = changed(&mut random);
        let start = Instant::now();
        built += build(&text);
        slowest = slowest.max((start.elapsed(), text));
    }
    // Some changes leave a device: those of spaces, sources and digits.
    assert!(built > 30, "{built}");
    // An order of magnitude more than any takes on a busy machine.
    assert!(slowest.0 < Duration::from_secs(60), "{slowest:?}");
}

/// Each parameter of each model of the program with a sign in front of its value, which makes it
/// impossible or unknown: the error has the line of the value.
#[test]
fn an_impossible_value_is_reported_with_its_line() {
    let mut changed = 0;
    for (name, text) in BUILT_IN {
        let build = |text: &str| {
            let mut library = Library::new();
            library.add("m", "m.toml", text);
            // Links and controllers need a device below them.
            match library.build_text("m", 1) {
                Err(error) if error.to_string().contains("in its parentheses") => {
                    library.build_text("m(hdd-7200)", 1)
                }
                built => built,
            }
        };
        assert!(build(text).is_ok(), "{name}");
        let mut section = "";
        for (number, line) in text.lines().enumerate() {
            if line.starts_with('[') {
                section = line;
            }
            let Some((key, value)) = line.split_once(" = ").filter(|_| section == "[parameters]")
            else {
                continue;
            };
            let value = match value.strip_prefix('"') {
                Some(rest) => format!("\"-{rest}"),
                None => format!("-{value}"),
            };
            let mut lines: Vec<&str> = text.lines().collect();
            let line = format!("{key} = {value}");
            lines[number] = &line;
            let error = build(&lines.join("\n"))
                .err()
                .unwrap_or_else(|| panic!("{name}: {line} was accepted"))
                .to_string();
            let place = format!("m.toml:{}:", number + 1);
            assert!(error.starts_with(&place), "{name}: {line}: {error}");
            assert!(error.contains(key), "{name}: {line}: {error}");
            changed += 1;
        }
    }
    assert!(changed >= 190, "{changed}");
}
