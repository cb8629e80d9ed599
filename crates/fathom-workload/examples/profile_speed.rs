//! Time and memory of the profile of ten million I/Os of blkparse text.
//!
//! `cargo run --release -p fathom-workload --example profile_speed`

use std::io::Read;
use std::time::Instant;

use fathom_workload::{Profile, ReadOptions, TraceReader, sentence};

/// Text of issues and completions, made as it is read.
struct Text {
    ios: u64,
    buffer: Vec<u8>,
    at: usize,
    state: u64,
    now: u64,
}

impl Text {
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

impl Read for Text {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            for _ in 0..self.ios.min(100) {
                self.ios -= 1;
                self.now += self.random() % 100_000;
                let sector = self.random() % (60 << 20) * 16 % (60 << 21);
                for (action, time) in [("D", self.now), ("C", self.now + 80_000)] {
                    let text = format!(
                        "8,0 1 1 {}.{:09} 4711 {action} R {sector} + 16 [postgres]\n",
                        time / 1_000_000_000,
                        time % 1_000_000_000
                    );
                    self.buffer.extend_from_slice(text.as_bytes());
                }
            }
        }
        let count = target.len().min(self.buffer.len() - self.at);
        target[..count].copy_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

fn text() -> Text {
    Text {
        ios: 10_000_000,
        buffer: Vec::new(),
        at: 0,
        state: 1,
        now: 0,
    }
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() {
    let start = Instant::now();
    let mut sink = vec![0; 1 << 18];
    while text_left(&mut sink) {}
    let made = start.elapsed();
    let start = Instant::now();
    let mut reader = TraceReader::open(text(), ReadOptions::default()).expect("a trace");
    let profile = Profile::of(&mut reader).expect("a trace");
    let took = start.elapsed();
    println!("{} I/Os: {}", profile.ios(), sentence(&profile));
    println!("{took:.2?}, of which {made:.2?} to make the text");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("{line}");
    }
}

/// Makes the text without reading it.
fn text_left(sink: &mut [u8]) -> bool {
    let mut text = text();
    while text.read(sink).is_ok_and(|count| count > 0) {}
    false
}
