//! Creates the generator of a job from its pattern and the sizes of its files.

use fathom_model::{
    Access, BlockSizes, Bytes, Direction, Distribution, Job, Pattern, PerDirection, Personality,
    Traffic,
};

use super::file_pass::FilePass;
use super::files::Files;
use super::mixed::{Mix, Mixed, Streams, Syncs};
use super::shuffled_slabs::ShuffledSlabs;
use super::sizes::Sizes;
use super::steering::Steering;
use super::{GeneratorError, IoGenerator, Plain, Source, op_of};
use crate::arrivals::has_rates_by_direction;
use crate::offsets::{
    Aged, Blend, Burst, Fixed, Flash, Offsets, Permuted, RandomStrides, Sequential, Skewed, Span,
    Strides, Uniform, Zoned, physical,
};
use crate::rng::Rng;

/// The part of one file that a job may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// First byte.
    pub start: u64,
    /// First byte after it.
    pub end: u64,
}

/// Purposes of the generators, for a job's seed.
const SEED_OFFSETS: u64 = 1;
const SEED_MIX: u64 = 2;
const SEED_FILES: u64 = 3;
const SEED_BLEND: u64 = 4;

/// Creates the generator of a job over `regions`, one for each of its files.
///
/// # Errors
/// If a region holds no block or a distribution is not possible over it.
pub(crate) fn build(
    job: &Job,
    regions: &[Region],
    personality: Personality,
) -> Result<IoGenerator, GeneratorError> {
    let scatters = personality == Personality::Fio;
    if job.pace.replay.is_some() {
        return Ok(IoGenerator::nothing());
    }
    if job.engine.kind.file_operation().is_some() {
        let file_pass = FilePass::new(job, regions);
        let pass = file_pass.pass();
        return Ok(IoGenerator::new(Source::FilePass(file_pass), pass));
    }
    let pattern = &job.pattern;
    let mix = mix_of(pattern.traffic);
    let sizes = PerDirection::from_fn(|direction| {
        Sizes::new(generated_sizes(pattern, direction), pattern.unaligned)
    });
    let syncs = Syncs::new(&job.sync, regions.len());
    let align = smallest_align(pattern);
    let spans: Vec<Span> = regions
        .iter()
        .map(|region| Span {
            start: region.start,
            end: region.end,
            align,
        })
        .collect();
    if let Some(small) = spans
        .iter()
        .find(|span| span.end - span.start < u64::from(smallest_block(pattern)))
    {
        return Err(GeneratorError::RegionTooSmall {
            bytes: small.end - small.start,
            start: small.start,
            block: smallest_block(pattern),
        });
    }
    let whole: u64 = spans.iter().map(|span| span.end - span.start).sum();
    if tiled(pattern) {
        let largest = directions(pattern)
            .map(|d| generated_sizes(pattern, d).max())
            .max()
            .unwrap_or(1);
        let pass = spans.iter().map(|span| span.blocks() * align).sum();
        let mut slabs = ShuffledSlabs::new(spans, largest, mix, sizes, syncs, pattern.seed);
        slabs.steering = steering(job);
        return Ok(IoGenerator::new(
            Source::ShuffledSlabs(Box::new(slabs)),
            pass,
        ));
    }
    if let (Some(plain), [span]) = (plain_direction(job), &spans[..]) {
        let len = generated_sizes(pattern, plain).max();
        let offsets = stream(
            pattern,
            plain,
            with_align(*span, pattern, plain),
            0,
            scatters,
        )?;
        let source = Plain {
            offsets,
            len,
            op: op_of(plain),
            then_write: pattern.traffic == Traffic::TrimWrite,
            at_pass_start: true,
        };
        return Ok(IoGenerator::new(
            Source::Plain(source),
            pass_bytes(pattern, *span, len),
        ));
    }
    if matches!(
        pattern.distribution[Direction::Write],
        Distribution::Aged { .. }
    ) {
        return Err(GeneratorError::SprandomTargets);
    }
    let streams = spans
        .iter()
        .enumerate()
        .map(|(n, span)| streams_of(pattern, *span, n as u64, scatters))
        .collect::<Result<_, _>>()?;
    let files = Files::new(
        spans.len(),
        job.files.service,
        job.files.service_every,
        Rng::new(pattern.seed, SEED_FILES),
    );
    let mixed = Mixed {
        files,
        streams,
        mix,
        sizes,
        rng: Rng::new(pattern.seed, SEED_MIX),
        sequential_sizes: sizes_by_each_io(pattern)
            .then(|| Sizes::new(&pattern.block_size[Direction::Read], pattern.unaligned)),
        syncs,
        steering: steering(job),
    };
    Ok(IoGenerator::new(Source::Mixed(Box::new(mixed)), whole))
}

/// Directions that the clock decides, in a mix with planned rates.
fn steering(job: &Job) -> Option<Steering> {
    has_rates_by_direction(job).then(|| Steering::new(job.verify.is_some()))
}

fn mix_of(traffic: Traffic) -> Mix {
    match traffic {
        Traffic::Read => Mix::One(Direction::Read),
        Traffic::Write => Mix::One(Direction::Write),
        Traffic::Trim => Mix::One(Direction::Trim),
        // Replays have no mix.
        Traffic::TrimWrite | Traffic::Logged { .. } => Mix::TrimWrite,
        Traffic::ReadWrite { read_percent } => Mix::ReadWrite { read_percent },
    }
}

/// Directions whose blocks are drawn; the write of a trimwrite uses the range of its trim.
fn directions(pattern: &Pattern) -> impl Iterator<Item = Direction> + use<> {
    let traffic = pattern.traffic;
    Direction::ALL.into_iter().filter(move |d| match traffic {
        Traffic::TrimWrite => *d == Direction::Trim,
        _ => traffic.uses(*d),
    })
}

/// Block sizes of a direction: with `bs_is_seq_rand` they are those of the access.
fn generated_sizes(pattern: &Pattern, direction: Direction) -> &BlockSizes {
    match (pattern.sizes_by_access, pattern.access) {
        (false, _) => &pattern.block_size[direction],
        (true, Access::Sequential { .. }) => &pattern.block_size[Direction::Read],
        (true, Access::Random { .. }) => &pattern.block_size[Direction::Write],
    }
}

/// `bs_is_seq_rand` in a random job with sequential I/Os: each I/O has the size of its own access.
fn sizes_by_each_io(pattern: &Pattern) -> bool {
    let some_sequential = match pattern.access {
        Access::Sequential { .. } => false,
        Access::Random { every, .. } => {
            every > 1 || directions(pattern).any(|d| pattern.random_percent[d] < 100)
        }
    };
    pattern.sizes_by_access && some_sequential
}

/// All block sizes of a direction.
pub(crate) fn all_sizes(
    pattern: &Pattern,
    direction: Direction,
) -> impl Iterator<Item = &BlockSizes> {
    let sequential = &pattern.block_size[Direction::Read];
    let of_sequential = sizes_by_each_io(pattern).then_some(sequential);
    std::iter::once(generated_sizes(pattern, direction)).chain(of_sequential)
}

fn smallest_block(pattern: &Pattern) -> u32 {
    directions(pattern)
        .map(|d| generated_sizes(pattern, d).min())
        .min()
        .unwrap_or(1)
        .max(1)
}

fn smallest_align(pattern: &Pattern) -> u64 {
    directions(pattern)
        .map(|d| align_of(pattern, d))
        .min()
        .unwrap_or(1)
}

fn align_of(pattern: &Pattern, direction: Direction) -> u64 {
    match pattern.block_align[direction] {
        Bytes::ZERO => u64::from(generated_sizes(pattern, direction).min()).max(1),
        align => align.get(),
    }
}

fn with_align(span: Span, pattern: &Pattern, direction: Direction) -> Span {
    Span {
        align: align_of(pattern, direction),
        ..span
    }
}

fn is_uniform_map(pattern: &Pattern) -> bool {
    let plain = matches!(pattern.access, Access::Random { every: 0 | 1, .. })
        && directions(pattern).all(|d| {
            pattern.distribution[d] == Distribution::Uniform
                && pattern.random_percent[d] == 100
                && pattern.block_align[d].is_zero()
        });
    plain && pattern.without_replacement && pattern.zones.is_none()
}

/// Without replacement and more than one block size: see `shuffled_slabs`.
fn tiled(pattern: &Pattern) -> bool {
    let smallest = smallest_block(pattern);
    is_uniform_map(pattern)
        && directions(pattern).any(|d| generated_sizes(pattern, d).max() != smallest)
}

/// The only direction, if nothing else varies either.
fn plain_direction(job: &Job) -> Option<Direction> {
    let mut all = directions(&job.pattern);
    let first = all.next()?;
    let sizes = generated_sizes(&job.pattern, first);
    let plain = sizes.min() == sizes.max()
        && !job.sync.syncs_between_writes()
        && !sizes_by_each_io(&job.pattern);
    (all.next().is_none() && plain).then_some(first)
}

/// Bytes of one pass: the whole blocks where each is used once. As in fio, a pass with replacement
/// ends with the I/O that reaches the size of the region.
fn pass_bytes(pattern: &Pattern, span: Span, len: u32) -> u64 {
    match pattern.access {
        Access::Sequential { .. } => span.end - span.start,
        Access::Random { .. }
            if let Distribution::Aged { spare, .. } = pattern.distribution[Direction::Write] =>
        {
            physical(
                Span {
                    align: u64::from(len),
                    ..span
                },
                spare,
            )
        }
        Access::Random { .. } if is_uniform_map(pattern) => {
            (span.end - span.start) / u64::from(len) * u64::from(len)
        }
        Access::Random { .. } => span.end - span.start,
    }
}

fn streams_of(
    pattern: &Pattern,
    span: Span,
    file: u64,
    scatters: bool,
) -> Result<Streams, GeneratorError> {
    if is_uniform_map(pattern) {
        let seed = file_seed(pattern, file);
        return Ok(Streams::Shared(Box::new(Permuted::new(span, seed))));
    }
    let mut per_direction = PerDirection([None, None, None]);
    for direction in directions(pattern) {
        per_direction[direction] = Some(stream(
            pattern,
            direction,
            with_align(span, pattern, direction),
            file,
            scatters,
        )?);
    }
    Ok(Streams::PerDirection(per_direction))
}

fn file_seed(pattern: &Pattern, file: u64) -> u64 {
    pattern.seed ^ file.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// The stream of one direction in one file. `scatters`: hot blocks are scattered as by fio also
/// where the distribution has a center.
fn stream(
    pattern: &Pattern,
    direction: Direction,
    span: Span,
    file: u64,
    scatters: bool,
) -> Result<Box<dyn Offsets>, GeneratorError> {
    let (every, identical) = match pattern.access {
        Access::Sequential { skip } => return Ok(sequential(pattern, span, skip)),
        Access::Random { every, identical } => (every, identical),
    };
    let seed = file_seed(pattern, file);
    let mut offsets = random(pattern, direction, span, seed, scatters)?;
    if every > 1 {
        offsets = Box::new(Burst {
            span,
            starts: offsets,
            every,
            identical,
            left: 0,
            at: 0,
        });
    }
    if pattern.random_percent[direction] < 100 {
        let (percent, rng) = (
            pattern.random_percent[direction],
            Rng::new(
                seed,
                SEED_BLEND
                    + if directions(pattern).count() > 1 {
                        direction as u64
                    } else {
                        0
                    },
            ),
        );
        offsets = Box::new(Blend {
            span,
            random: offsets,
            percent,
            rng,
            next: span.start,
            drawn: None,
        });
    }
    Ok(offsets)
}

fn sequential(pattern: &Pattern, span: Span, skip: i64) -> Box<dyn Offsets> {
    match pattern.zones {
        Some(zone) => Box::new(Strides::new(span, zone)),
        None => Box::new(Sequential::new(span, skip)),
    }
}

fn random(
    pattern: &Pattern,
    direction: Direction,
    span: Span,
    seed: u64,
    scatters: bool,
) -> Result<Box<dyn Offsets>, GeneratorError> {
    // A job that only reads uses the stream that the same job would have written with, because it
    // may verify those writes (regression 0063).
    let stream = if directions(pattern).count() > 1 {
        direction as u64
    } else {
        0
    };
    let rng = Rng::new(seed, SEED_OFFSETS << 8 | stream);
    let impossible = |name| GeneratorError::Distribution {
        name,
        blocks: span.blocks(),
    };
    if span.blocks() == 0 {
        return Err(GeneratorError::NoAlignedBlock {
            bytes: span.end - span.start,
            align: span.align,
        });
    }
    if let Some(zone) = pattern.zones {
        return Ok(Box::new(RandomStrides::new(
            span,
            zone,
            seed,
            |span, seed| Box::new(Uniform::new(span, Rng::new(seed, SEED_OFFSETS))),
        )));
    }
    Ok(match &pattern.distribution[direction] {
        Distribution::Uniform
            if pattern.without_replacement && pattern.block_align[direction].is_zero() =>
        {
            Box::new(Permuted::new(span, seed))
        }
        Distribution::Uniform => Box::new(Uniform::new(span, rng)),
        Distribution::Zipf { theta, center } => Box::new(
            Skewed::zipf(span, *theta, *center, seed, rng)
                .ok_or_else(|| impossible("zipf"))?
                .scattered(scatters),
        ),
        Distribution::Pareto { power, center } => Box::new(
            Skewed::pareto(span, *power, *center, seed, rng)
                .ok_or_else(|| impossible("pareto"))?
                .scattered(scatters),
        ),
        Distribution::Normal { deviation, center } if scatters => Box::new(
            Skewed::normal(span, *deviation, None, rng)
                .ok_or_else(|| impossible("normal"))?
                .scattered_around(center.unwrap_or(0.5) - 0.5),
        ),
        Distribution::Normal { deviation, center } => Box::new(
            Skewed::normal(span, *deviation, *center, rng).ok_or_else(|| impossible("normal"))?,
        ),
        Distribution::Sequence { blocks, advances } => Box::new(
            Fixed::new(span, blocks.clone(), *advances).ok_or_else(|| impossible("sequence"))?,
        ),
        Distribution::Zoned(parts) => {
            let whole = u128::from(span.end - span.start);
            let parts: Vec<(u8, u64)> = parts
                .iter()
                .map(|(access, size)| (*access, (whole * u128::from(*size) / 100) as u64))
                .collect();
            Box::new(Zoned::new(span, &parts, rng).ok_or_else(|| impossible("zoned"))?)
        }
        Distribution::Aged {
            spare,
            regions,
            cache,
        } => {
            let flash = Flash {
                spare: *spare,
                regions: *regions,
                cache: cache.get(),
            };
            let no_room = || GeneratorError::SprandomRegions {
                blocks: span.blocks(),
                regions: *regions,
            };
            Box::new(Aged::new(span, flash, seed, rng).ok_or_else(no_room)?)
        }
        Distribution::ZonedAbs(parts) => {
            let parts: Vec<(u8, u64)> = parts
                .iter()
                .map(|(access, bytes)| (*access, bytes.get()))
                .collect();
            Box::new(Zoned::new(span, &parts, rng).ok_or_else(|| impossible("zoned_abs"))?)
        }
    })
}
