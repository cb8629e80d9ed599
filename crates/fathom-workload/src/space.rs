//! Where I/Os go: popularity of blocks, density of regions, and the pattern that describes both.

use crate::hash::{NumberMap, mix};
use crate::reuse::BLOCK;

/// Blocks whose accesses are counted at most: 16 MiB of memory.
const BLOCKS: usize = 1 << 19;
/// A block with more than this share of the accesses is kept when the sample shrinks.
const HOT: u64 = 1 << 16;
/// Regions of a stream.
const REGIONS: usize = 4096;
/// Zones at most.
const ZONES: usize = 32;
/// Ranks used for the exponent of a zipf distribution.
const RANKS: usize = 20_000;
/// Accesses that a block of these ranks needs.
const FREQUENT: u32 = 16;
/// Hottest shares of the blocks at which a model is compared.
const SHARES: [f64; 9] = [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5];
/// By how much the error must shrink for a model with more parameters.
const GAIN: f64 = 0.015;

/// Counts accesses of blocks for all streams, in bounded memory: when full, half of the blocks are dropped by their hash. Blocks
/// with many accesses are kept.
pub(crate) struct Popularity {
    /// Stream and block plus one, and its accesses; 0 is empty.
    slots: Vec<(u64, u32)>,
    used: usize,
    /// Blocks whose hash is above are not counted, except these.
    threshold: u64,
    hot: NumberMap<u64, u32>,
    total: u64,
}

impl Default for Popularity {
    fn default() -> Self {
        Popularity {
            slots: vec![(0, 0); 1 << 12],
            used: 0,
            threshold: u64::MAX,
            hot: NumberMap::default(),
            total: 0,
        }
    }
}

impl Popularity {
    /// An access of this stream (below 4096) at this offset.
    pub fn add(&mut self, stream: usize, offset: u64) {
        let key = (((stream as u64) << 52) | (offset / BLOCK)) + 1;
        let hash = mix(key);
        self.total += 1;
        if hash > self.threshold {
            if !self.hot.is_empty()
                && let Some(count) = self.hot.get_mut(&key)
            {
                *count = count.saturating_add(1);
            }
            return;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let (found, count) = &mut self.slots[at];
            if *found == key {
                *count = count.saturating_add(1);
                return;
            }
            if *found == 0 {
                break;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = (key, 1);
        self.used += 1;
        if self.used * 5 > self.slots.len() * 3 {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let mut size = self.slots.len();
        if self.used > BLOCKS {
            self.threshold /= 2;
        } else {
            size *= 2;
        }
        let limit = self.limit();
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); size]);
        self.used = 0;
        for (key, count) in old {
            let hash = mix(key);
            if key == 0 {
                continue;
            }
            if hash > self.threshold {
                if count >= limit {
                    self.hot.insert(key, count);
                }
                continue;
            }
            let mut at = hash as usize & (size - 1);
            while self.slots[at].0 != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = (key, count);
            self.used += 1;
        }
    }

    /// Accesses from which on a block is kept.
    fn limit(&self) -> u32 {
        u32::try_from(self.total / HOT).unwrap_or(u32::MAX).max(64)
    }

    /// For each stream its blocks: accesses, and how many blocks it represents.
    pub fn finish(self, streams: usize) -> Vec<Vec<(u32, f64)>> {
        let factor = u64::MAX as f64 / self.threshold as f64;
        let limit = self.limit();
        let mut all = vec![Vec::new(); streams];
        for (key, count) in self.slots.into_iter().chain(self.hot) {
            if key == 0 {
                continue;
            }
            let weight = if count >= limit { 1.0 } else { factor };
            if let Some(list) = all.get_mut(((key - 1) >> 52) as usize) {
                list.push((count, weight));
            }
        }
        for list in &mut all {
            list.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.0));
        }
        all
    }
}

/// Accesses of regions of equal size; the size doubles as needed.
#[derive(Clone, Debug)]
pub(crate) struct Regions {
    shift: u32,
    counts: Vec<u32>,
}

impl Default for Regions {
    fn default() -> Self {
        Regions {
            shift: 12,
            counts: Vec::new(),
        }
    }
}

impl Regions {
    pub fn add(&mut self, offset: u64) {
        while offset >> self.shift >= REGIONS as u64 {
            self.shift += 1;
            let merged: Vec<u32> = self
                .counts
                .chunks(2)
                .map(|pair| pair.iter().fold(0, |sum, count| count.saturating_add(sum)))
                .collect();
            self.counts = merged;
        }
        let region = (offset >> self.shift) as usize;
        if region >= self.counts.len() {
            self.counts.resize(region + 1, 0);
        }
        self.counts[region] = self.counts[region].saturating_add(1);
    }

    /// Start and end without a few I/Os (0.05 %) that are far away from all others.
    pub fn trimmed(&self, start: u64, end: u64) -> (u64, u64) {
        let total: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let few = total / 2000;
        let edge = |counts: &mut dyn Iterator<Item = &u32>| {
            let mut sum = 0;
            counts
                .take_while(|count| {
                    sum += u64::from(**count);
                    sum <= few
                })
                .count() as u64
        };
        let far = (end - start) / 10;
        let first = edge(&mut self.counts.iter()) << self.shift;
        let last = (self.counts.len() as u64 - edge(&mut self.counts.iter().rev())) << self.shift;
        (
            if first > start + far { first } else { start },
            if last + far < end { last } else { end },
        )
    }

    /// Zones of even density between these bytes: regions are split where that explains the counts best.
    fn zones(&self, start: u64, end: u64) -> Vec<Zone> {
        let size = 1_u64 << self.shift;
        let first = (start >> self.shift) as usize;
        let last = self.counts.len().min(end.div_ceil(size) as usize);
        if first >= last {
            return Vec::new();
        }
        let bytes = |from: usize, to: usize| {
            let from = (from as u64 * size).max(start);
            ((to as u64).saturating_mul(size).min(end))
                .saturating_sub(from)
                .max(1) as f64
        };
        let mut sums = vec![0.0];
        for count in &self.counts {
            sums.push(sums[sums.len() - 1] + f64::from(*count));
        }
        let total = sums[last] - sums[first];
        let likelihood = |from: usize, to: usize| {
            let count = sums[to] - sums[from];
            if count > 0.0 {
                count * (count / bytes(from, to)).ln()
            } else {
                0.0
            }
        };
        let best_cut = |from: usize, to: usize| {
            let whole = likelihood(from, to);
            (from + 1..to)
                .map(|cut| (likelihood(from, cut) + likelihood(cut, to) - whole, cut))
                .max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let mut parts = vec![(first, last, best_cut(first, last))];
        // Counts vary by chance; a cut must explain more than that, and a visible part of all accesses.
        let gain = 20.0_f64.max(total * 0.002);
        while parts.len() < ZONES {
            let Some((index, cut)) = parts
                .iter()
                .enumerate()
                .filter_map(|(index, part)| Some((index, part.2?)))
                .max_by(|a, b| a.1.0.total_cmp(&b.1.0))
                .filter(|(_, (found, _))| *found > gain)
                .map(|(index, (_, cut))| (index, cut))
            else {
                break;
            };
            let (from, to, _) = parts[index];
            parts[index] = (from, cut, best_cut(from, cut));
            parts.insert(index + 1, (cut, to, best_cut(cut, to)));
        }
        parts
            .iter()
            .map(|(from, to, _)| Zone {
                offset: (*from as u64 * size).max(start),
                bytes: bytes(*from, *to) as u64,
                share: (sums[*to] - sums[*from]) / total.max(1.0),
            })
            .collect()
    }
}

/// A part of the span with an even density of accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// Its first byte.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its share of the accesses, 0 to 1.
    pub share: f64,
}

/// Where a stream goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Each I/O begins where an earlier one ended.
    Sequential {
        /// Places at which this goes on at the same time.
        places: f64,
        /// Mean number of I/Os of a run.
        run: f64,
    },
    /// Every block is equally likely.
    Uniform,
    /// Zones of different density.
    Zones(Vec<Zone>),
    /// The n-th most frequent block has a share proportional to 1/n^theta; these blocks are anywhere.
    Zipf {
        /// The exponent.
        theta: f64,
    },
}

/// The pattern of random I/O between these bytes, in units of `unit` bytes.
pub(crate) fn pattern(
    blocks: &[(u32, f64)],
    regions: &Regions,
    (start, end): (u64, u64),
    unit: u64,
) -> Pattern {
    let zones = regions.zones(start, end);
    let total: f64 = blocks
        .iter()
        .map(|(count, weight)| f64::from(*count) * weight)
        .sum();
    let unit = unit.max(BLOCK) as f64;
    let seen = lorenz(
        blocks
            .iter()
            .map(|(count, weight)| (f64::from(*count), *weight))
            .collect(),
    );
    let units = ((end - start) as f64 / unit).max(1.0);
    let error = |model: &[(f64, f64)]| {
        let predicted = lorenz(counts(model));
        let sum: f64 = seen
            .iter()
            .zip(&predicted)
            .map(|(seen, predicted)| (seen - predicted).abs())
            .sum();
        sum / SHARES.len() as f64
    };
    let mut best = (Pattern::Uniform, error(&[(units, total / units)]));
    // An uneven density along the device is visible as such, whatever the popularity of blocks says.
    if zones.len() > 1 {
        let model: Vec<(f64, f64)> = zones
            .iter()
            .map(|zone| {
                let units = (zone.bytes as f64 / unit).max(1.0);
                (units, zone.share * total / units)
            })
            .collect();
        let found = error(&model);
        if found < best.1 - GAIN / 3.0 || spread(&zones) > 0.1 && found < best.1 + GAIN {
            best = (Pattern::Zones(zones), found);
        }
    }
    if let Some(theta) = zipf_theta(blocks) {
        let found = error(&zipf_model(theta, units, total));
        if found < best.1 - GAIN {
            best = (Pattern::Zipf { theta }, found);
        }
    }
    best.0
}

/// How far the densities are from even: 0, to nearly 1 where all accesses are in a small part.
fn spread(zones: &[Zone]) -> f64 {
    let bytes: f64 = zones.iter().map(|zone| zone.bytes as f64).sum();
    zones
        .iter()
        .map(|zone| (zone.share - zone.bytes as f64 / bytes).max(0.0))
        .sum()
}

/// Shares of the accesses in the hottest parts of the blocks that are used, from pairs of count and number of blocks.
fn lorenz(mut counts: Vec<(f64, f64)>) -> [f64; SHARES.len()] {
    counts.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let blocks: f64 = counts.iter().map(|(_, number)| number).sum();
    let total: f64 = counts.iter().map(|(count, number)| count * number).sum();
    let mut result = [1.0; SHARES.len()];
    let (mut below, mut sum, mut next) = (0.0, 0.0, 0);
    for (count, number) in counts {
        while next < SHARES.len() && below + number >= SHARES[next] * blocks {
            result[next] = (sum + (SHARES[next] * blocks - below) * count) / total;
            next += 1;
        }
        below += number;
        sum += count * number;
    }
    result
}

/// How many blocks are accessed how often, of groups of blocks with a mean number of accesses (Poisson); blocks without access are
/// left out.
fn counts(groups: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut all = Vec::new();
    for (number, mean) in groups {
        let deviation = mean.sqrt();
        if *mean > 400.0 {
            // Normal, in steps of a quarter of the deviation.
            for step in -16..=16_i32 {
                let x = f64::from(step) / 4.0;
                let weight = (-x * x / 2.0).exp() * 0.25 / (std::f64::consts::TAU).sqrt();
                all.push(((mean + x * deviation).max(1.0), number * weight));
            }
            continue;
        }
        let mut term = (-mean).exp();
        for count in 1..=(mean + 8.0 * deviation + 8.0) as u32 {
            term *= mean / f64::from(count);
            if number * term > 1e-6 {
                all.push((f64::from(count), number * term));
            }
        }
    }
    all
}

/// The expected accesses of a zipf distribution, in groups of ranks.
fn zipf_model(theta: f64, units: f64, total: f64) -> Vec<(f64, f64)> {
    let mut groups: Vec<(f64, f64)> = Vec::new();
    let mut from = 1.0_f64;
    while from <= units {
        let to = (from * 1.1).floor().max(from + 1.0).min(units + 1.0);
        let middle = if to - from < 1.5 {
            from
        } else {
            (from * (to - 1.0)).sqrt()
        };
        groups.push((to - from, middle.powf(-theta)));
        from = to;
    }
    let sum: f64 = groups.iter().map(|(number, share)| number * share).sum();
    for (_, share) in &mut groups {
        *share *= total / sum;
    }
    groups
}

/// The exponent by maximum likelihood, from the blocks that are accessed often, given that an access is of one of them. Blocks must
/// be in the order of their counts.
fn zipf_theta(blocks: &[(u32, f64)]) -> Option<f64> {
    let frequent = blocks
        .iter()
        .take(RANKS)
        .take_while(|(count, _)| *count >= FREQUENT)
        .count();
    if frequent < 10 {
        return None;
    }
    let logs: Vec<f64> = (1..=frequent).map(|rank| (rank as f64).ln()).collect();
    let total: f64 = blocks[..frequent]
        .iter()
        .map(|block| f64::from(block.0))
        .sum();
    let weighted: f64 = blocks[..frequent]
        .iter()
        .zip(&logs)
        .map(|(block, log)| f64::from(block.0) * log)
        .sum();
    let target = weighted / total;
    // The mean logarithm of the rank falls as the exponent grows.
    let mean_log = |theta: f64| {
        let (mut sum, mut norm) = (0.0, 0.0);
        for log in &logs {
            let share = (-theta * log).exp();
            sum += share * log;
            norm += share;
        }
        sum / norm
    };
    let (mut low, mut high) = (0.0, 4.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if mean_log(middle) > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}
