//! Synthetic loads with known parameters. The generators share no code with the crate.

use fathom_workload::{
    CaptureCounts, CaptureHeader, CaptureWriter, CapturedIo, IoFlags, IoKind, TraceIo,
};

pub const GIB: u64 = 1 << 30;
pub const MS: f64 = 1e6;
pub const US: f64 = 1e3;

/// xorshift64*.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.uniform() * limit as f64) as u64
    }
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

/// Draws from a zipf distribution by its distribution function.
pub struct ZipfTable(Vec<f64>);

impl ZipfTable {
    pub fn new(theta: f64, items: u64) -> Self {
        let mut sum = 0.0;
        let table: Vec<f64> = (1..=items)
            .map(|rank| {
                sum += (rank as f64).powf(-theta);
                sum
            })
            .collect();
        ZipfTable(table)
    }
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let x = rng.uniform() * self.0[self.0.len() - 1];
        let rank = self.0.partition_point(|sum| *sum < x) as u64;
        // Frequent blocks are anywhere: multiplication with an odd number is a permutation of a power of two.
        rank.wrapping_mul(0x9e37_79b1) % self.0.len() as u64
    }
}

pub fn io(time: f64, kind: IoKind, offset: u64, length: u32) -> TraceIo {
    TraceIo {
        time_ns: time as u64,
        latency_ns: None,
        offset,
        length,
        device: 0,
        process: 0,
        kind,
        flags: IoFlags::default(),
    }
}

/// Random reads of 8 KiB over 1 GiB, with these gaps.
pub fn reads(count: u64, seed: u64, mut gap: impl FnMut(&mut Rng) -> f64) -> Vec<TraceIo> {
    let (mut rng, mut now) = (Rng(seed), 0.0);
    (0..count)
        .map(|_| {
            now += gap(&mut rng);
            let offset = rng.below(131_072) * 8192;
            let latency = rng.exponential(100.0 * US) + 50.0 * US;
            TraceIo {
                latency_ns: Some(latency as u64),
                ..io(now, IoKind::Read, offset, 8192)
            }
        })
        .collect()
}

/// The same I/Os at other offsets.
pub fn at(
    mut ios: Vec<TraceIo>,
    seed: u64,
    mut offset: impl FnMut(&mut Rng) -> u64,
) -> Vec<TraceIo> {
    let mut rng = Rng(seed);
    for io in &mut ios {
        io.offset = offset(&mut rng);
    }
    ios
}

/// A log: writes with a flush after every `every`.
pub fn log(count: u64, size: u32, every: u64, gap: f64, seed: u64) -> Vec<TraceIo> {
    let (mut rng, mut now, mut ios) = (Rng(seed), 0.0, Vec::new());
    for n in 0..count {
        now += rng.exponential(gap);
        ios.push(TraceIo {
            latency_ns: Some(20_000),
            ..io(now, IoKind::Write, 100 * GIB + n * u64::from(size), size)
        });
        if (n + 1) % every == 0 {
            ios.push(TraceIo {
                latency_ns: Some(200_000),
                flags: IoFlags::DATA_ONLY,
                ..io(now + 20_000.0, IoKind::Flush, 0, 0)
            });
        }
    }
    ios.sort_by_key(|io| io.time_ns);
    ios
}

/// A closed loop: this many slots, each I/O then thinks.
pub fn closed(count: u64, slots: usize, latency: f64, think: f64, seed: u64) -> Vec<TraceIo> {
    let mut rng = Rng(seed);
    let mut free = vec![0.0_f64; slots];
    (0..count)
        .map(|_| {
            let slot = (0..slots)
                .min_by(|a, b| free[*a].total_cmp(&free[*b]))
                .expect("a slot");
            let now = free[slot];
            let took = latency * (0.5 + rng.uniform());
            free[slot] = now + took + think;
            TraceIo {
                latency_ns: Some(took as u64),
                ..io(now, IoKind::Read, rng.below(131_072) * 8192, 8192)
            }
        })
        .collect()
}

pub fn process(mut ios: Vec<TraceIo>, process: u32) -> Vec<TraceIo> {
    for io in &mut ios {
        io.process = process;
    }
    ios
}

pub fn merge(parts: Vec<Vec<TraceIo>>) -> Vec<TraceIo> {
    let mut all: Vec<TraceIo> = parts.into_iter().flatten().collect();
    all.sort_by_key(|io| io.time_ns);
    all
}

/// A file of I/Os that were given in the order of completion, in chunks of about `size`.
pub fn capture(ios: &[TraceIo], size: usize) -> Vec<u8> {
    let mut writer = CaptureWriter::default();
    let mut file = CaptureWriter::header(&CaptureHeader::default()).bytes;
    writer.name_device(7, "loop0", GIB);
    writer.name_process(1, "postgres");
    let complete = |io: &TraceIo| io.time_ns + io.latency_ns.unwrap_or(0);
    let mut order: Vec<&TraceIo> = ios.iter().collect();
    order.sort_by_key(|io| complete(io));
    for (n, one) in order.iter().enumerate() {
        writer.add(CapturedIo {
            io: TraceIo { device: 7, ..**one },
            waited_ns: Some(2000),
        });
        if n % size == size - 1 {
            // The earliest issue of those that are not complete.
            let open = order[n + 1..].iter().map(|io| io.time_ns).min();
            for chunk in writer.chunks(open.unwrap_or(u64::MAX)) {
                file.extend(chunk.bytes);
            }
        }
    }
    for chunk in writer.chunks(u64::MAX) {
        file.extend(chunk.bytes);
    }
    let counts = CaptureCounts {
        ios: ios.len() as u64,
        events: ios.len() as u64 * 4,
        ..CaptureCounts::default()
    };
    file.extend(CaptureWriter::end(counts).bytes);
    file
}
