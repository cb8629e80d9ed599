//! The access pattern of a job: directions, sizes, addresses.

use fathom_model::{
    Access, BlockSizes, Bytes, Direction, Distribution, Pattern, PerDirection, Strided, Traffic,
};

use super::diagnostics::Diagnostics;
use super::files::touches_files;
use super::job::{JobView, within};
use super::settings::Settings;
use crate::limits::{MAX_BLOCK_SIZE, MAX_TRANSFER};
use crate::options::table as opt;
use crate::options::{JobOption, Number, OptionName};
use crate::values::{ParseContext, Unit, number};

/// The factor with which fio spreads seeds, 2^32 divided by the golden ratio and rounded to a prime.
const SPREAD: u64 = 0x9e37_0001;

/// Resolves the pattern of the clone with this number.
pub(crate) fn resolve(view: &JobView<'_>, number: u32, diagnostics: &mut Diagnostics) -> Pattern {
    let settings = view.settings;
    let (traffic, random) = traffic(settings);
    let block_size = block_sizes(view, diagnostics);
    let distribution = distribution(settings);
    let distribution = if settings.get(opt::SPRANDOM) {
        aged(view, traffic, random, diagnostics)
    } else {
        distribution
    };
    check_transfers(view, traffic, &block_size, diagnostics);
    let align = alignments(view, &block_size, random, diagnostics);
    let uniform = distribution
        .0
        .iter()
        .all(|one| *one == Distribution::Uniform);
    Pattern {
        traffic,
        access: access(view, random, diagnostics),
        without_replacement: touches_each_once(settings) && uniform && !align.1,
        block_align: align.0,
        block_size,
        unaligned: settings.get(opt::BS_UNALIGNED),
        sizes_by_access: settings.get(opt::BS_IS_SEQ_RAND),
        distribution,
        random_percent: PerDirection(
            settings
                .get(opt::PERCENTAGE_RANDOM)
                .map(|share| share.min(100) as u8),
        ),
        seed: seed(view, number),
        zones: zones(view, diagnostics),
    }
}

/// fio's `lfsr` walks every block once even where `norandommap` gives up the map.
fn touches_each_once(settings: &Settings) -> bool {
    !settings.get(opt::NORANDOMMAP) || settings.get(opt::RANDOM_GENERATOR) == "lfsr"
}

fn traffic(settings: &Settings) -> (Traffic, bool) {
    let (name, _) = settings.get(opt::RW);
    let random = name.starts_with("rand");
    let traffic = match name.strip_prefix("rand").unwrap_or(name) {
        "write" => Traffic::Write,
        "trim" => Traffic::Trim,
        "rw" | "readwrite" => Traffic::ReadWrite {
            read_percent: read_percent(settings),
        },
        "trimwrite" => Traffic::TrimWrite,
        _ => Traffic::Read,
    };
    (traffic, random)
}

/// The later of `rwmixread` and `rwmixwrite` counts.
fn read_percent(settings: &Settings) -> u8 {
    let share = |option: JobOption<Number>| settings.get(option).min(100) as u8;
    if settings.position(opt::RWMIXWRITE) > settings.position(opt::RWMIXREAD) {
        100 - share(opt::RWMIXWRITE)
    } else {
        share(opt::RWMIXREAD)
    }
}

fn access(view: &JobView<'_>, random: bool, diagnostics: &mut Diagnostics) -> Access {
    let (_, rest) = view.settings.get(opt::RW);
    let step = rest.map(|text| {
        number(
            text,
            Unit::Bytes,
            &mut ParseContext::new(view.personality, 1),
        )
    });
    let step = match step.transpose() {
        Ok(step) => step,
        Err(fault) => {
            diagnostics.push(view.error(opt::RW, format!("after the colon: {}", fault.problem)));
            None
        }
    };
    if !random {
        let skip = step.map_or(Some(0), |step| i64::try_from(step).ok());
        return Access::Sequential {
            skip: skip.unwrap_or(0),
        };
    }
    let every = step.map_or(Some(1), |step| u32::try_from(step).ok().filter(|n| *n > 0));
    if every.is_none() {
        diagnostics.push(view.error(
            opt::RW,
            "the number of I/Os per address must be from 1 to 4294967295",
        ));
    }
    Access::Random {
        every: every.unwrap_or(1),
        identical: view.settings.get(opt::RW_SEQUENCER) == "identical",
    }
}

/// `bssplit` takes precedence over `bsrange`, and that over `bs`, for each direction.
fn block_sizes(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> PerDirection<BlockSizes> {
    let fixed = view.settings.get(opt::BS);
    let mut sizes = fixed.map(|bytes| BlockSizes::Fixed(block(view, opt::BS, bytes, diagnostics)));
    let ranges = view.settings.given(opt::BSRANGE).unwrap_or_default();
    for (size, range) in sizes.iter_mut().zip(ranges) {
        let Some((low, high)) = range else { continue };
        let (min, max) = (
            block(view, opt::BSRANGE, low, diagnostics),
            block(view, opt::BSRANGE, high, diagnostics),
        );
        *size = if min == max {
            BlockSizes::Fixed(min)
        } else {
            BlockSizes::Range { min, max }
        };
    }
    let splits = view.settings.given(opt::BSSPLIT).unwrap_or_default();
    for (size, split) in sizes.iter_mut().zip(splits) {
        let Some(split) = split else { continue };
        let parts = split
            .iter()
            .map(|(bytes, share)| (block(view, opt::BSSPLIT, *bytes, diagnostics), *share));
        *size = BlockSizes::Split(parts.collect());
    }
    PerDirection(sizes)
}

/// Linux transfers at most [`MAX_TRANSFER`] bytes in one system call; a trim transfers none.
fn check_transfers(
    view: &JobView<'_>,
    traffic: Traffic,
    sizes: &PerDirection<BlockSizes>,
    diagnostics: &mut Diagnostics,
) {
    if !touches_files(view) || diagnostics.has_errors() {
        return;
    }
    let transfers =
        |d: &Direction| traffic == Traffic::TrimWrite || *d != Direction::Trim && traffic.uses(*d);
    let largest = Direction::ALL
        .into_iter()
        .filter(transfers)
        .map(|d| u64::from(sizes[d].max()))
        .max()
        .unwrap_or(0);
    within(view, opt::BS, largest, MAX_TRANSFER, "bytes", diagnostics);
}

fn block(
    view: &JobView<'_>,
    option: impl Into<OptionName>,
    bytes: u64,
    diagnostics: &mut Diagnostics,
) -> u32 {
    within(view, option, bytes, MAX_BLOCK_SIZE, "bytes", diagnostics) as u32
}

/// Alignments, and whether they differ from the smallest block and so exclude the random map.
fn alignments(
    view: &JobView<'_>,
    sizes: &PerDirection<BlockSizes>,
    random: bool,
    diagnostics: &mut Diagnostics,
) -> (PerDirection<Bytes>, bool) {
    let align = view.settings.get(opt::BA);
    let differs = random
        && sizes
            .iter()
            .zip(align)
            .any(|((_, size), align)| align != 0 && align != u64::from(size.min()));
    if differs && !view.settings.get(opt::NORANDOMMAP) {
        let problem =
            "blocks may repeat: with an alignment other than the block size there is no random map";
        diagnostics.push(
            view.warning(opt::BA, problem)
                .advise("set norandommap to confirm this"),
        );
    }
    (
        PerDirection(align.map(|align| Bytes::new(if random { align } else { 0 }))),
        differs,
    )
}

/// `sprandom`: random writes only, without the random map.
fn aged(
    view: &JobView<'_>,
    traffic: Traffic,
    random: bool,
    diagnostics: &mut Diagnostics,
) -> PerDirection<Distribution> {
    let settings = view.settings;
    let mut refuse = |option: OptionName, problem: &str, advice: &str| {
        diagnostics.push(view.error(option, problem).advise(advice));
    };
    if traffic != Traffic::Write || !random {
        refuse(
            opt::SPRANDOM.name(),
            "needs random writes",
            "set rw=randwrite",
        );
    }
    if settings
        .given(opt::RANDOM_GENERATOR)
        .is_some_and(|generator| generator != "lfsr")
    {
        refuse(
            opt::RANDOM_GENERATOR.name(),
            "sprandom writes each block once before it writes any block again",
            "leave it out, or set lfsr",
        );
    }
    if settings.given(opt::NORANDOMMAP) == Some(false) {
        refuse(
            opt::NORANDOMMAP.name(),
            "sprandom writes some blocks twice",
            "leave it out, or set norandommap=1",
        );
    }
    if settings.is_set(opt::RANDOM_DISTRIBUTION)
        || settings.is_set(opt::PERCENTAGE_RANDOM)
        || settings.is_set(opt::BSRANGE)
        || settings.is_set(opt::BSSPLIT)
    {
        refuse(
            opt::SPRANDOM.name(),
            "chooses the addresses itself, with one block size",
            "leave out random_distribution, percentage_random, bsrange and bssplit",
        );
    }
    let spare = settings.get(opt::SPR_OP)[0];
    if spare <= 0.0 || spare >= 1.0 {
        refuse(
            opt::SPR_OP.name(),
            "must be between 0 and 1",
            "for example spr_op=0.07",
        );
    }
    let regions = settings.get_u32(opt::SPR_NUM_REGIONS).max(1);
    let one = Distribution::Aged {
        spare: spare.clamp(0.001, 0.999),
        regions,
        cache: Bytes::new(settings.get(opt::SPR_CS)),
    };
    PerDirection::all(one)
}

fn distribution(settings: &Settings) -> PerDirection<Distribution> {
    match settings.given(opt::RANDOM_DISTRIBUTION) {
        Some(all) => {
            let mut all = all.clone();
            for one in &mut all.0 {
                if let Distribution::Sequence { advances, .. } = one {
                    *advances = settings.get(opt::RANDOM_SEQUENCE_STRIDE);
                }
            }
            all
        }
        None => PerDirection::all(Distribution::Uniform),
    }
}

/// The same in every run unless `randrepeat=0`; `randseed` overrides that. As in fio, each worker has its own multiple.
fn seed(view: &JobView<'_>, number: u32) -> u64 {
    let repeatable = view.settings.get(opt::RANDREPEAT) || view.settings.is_set(opt::RANDSEED);
    let seed = if repeatable {
        view.settings.get(opt::RANDSEED)
    } else {
        view.host.entropy()
    };
    (0..4)
        .fold(seed, |seed, _| seed.wrapping_mul(SPREAD))
        .wrapping_mul(u64::from(number))
}

fn zones(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> Option<Strided> {
    let settings = view.settings;
    let size = settings.get(opt::ZONESIZE);
    let mode = settings.given(opt::ZONEMODE);
    match mode {
        Some("zbd") => {
            diagnostics.push(
                view.error(opt::ZONEMODE, "zoned block devices are not supported")
                    .advise("use zonemode=strided, or none"),
            );
            None
        }
        Some("none") if size > 0 && !view.leaves_combinations() => {
            diagnostics.push(
                view.error(opt::ZONESIZE, "has no effect with zonemode=none")
                    .advise("use zonemode=strided"),
            );
            None
        }
        None if size > 0 && view.is_fio() && !view.leaves_combinations() => {
            diagnostics.push(
                view.error(
                    opt::ZONESIZE,
                    "has no effect without zonemode, and fio refuses it",
                )
                .advise("set zonemode=strided"),
            );
            None
        }
        Some("strided") if size == 0 && !view.leaves_combinations() => {
            diagnostics.push(
                view.error(opt::ZONEMODE, "needs a zone size")
                    .advise("set zonesize"),
            );
            None
        }
        Some("none") => None,
        _ if size == 0 => None,
        _ => Some(Strided {
            size: Bytes::new(size),
            range: Bytes::new(zone_range(settings, size)),
            skip: Bytes::new(zone_skip(view, diagnostics)),
        }),
    }
}

fn zone_range(settings: &Settings, size: u64) -> u64 {
    match settings.get(opt::ZONERANGE) {
        0 => size,
        range => range,
    }
}

fn zone_skip(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> u64 {
    match view.extent(opt::ZONESKIP, diagnostics) {
        Some(fathom_model::Extent::Bytes(bytes)) => bytes.get(),
        _ => 0,
    }
}
