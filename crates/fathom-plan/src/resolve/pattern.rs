//! Which I/O a job does: directions, sizes, addresses.

use fathom_model::{
    Access, BlockSizes, Bytes, Distribution, Pattern, PerDirection, Strided, Traffic,
};

use super::bounds::{LARGEST_BLOCK, within};
use super::job::View;
use super::report::Report;
use super::settings::Settings;
use crate::options::Unit;
use crate::values::{Reading, Value, number};

/// fio's block size when none is given.
const BLOCK: u64 = 4096;
/// fio's seed when none is given.
const SEED: u64 = 0x89;
/// The factor with which fio spreads seeds, 2^32 divided by the golden ratio and rounded to a prime.
const SPREAD: u64 = 0x9e37_0001;

/// Resolves the pattern of the clone with this number.
pub(crate) fn resolve(view: &View<'_>, number: u32, report: &mut Report) -> Pattern {
    let settings = view.settings;
    let (traffic, random) = traffic(settings);
    let block_size = block_sizes(view, report);
    let distribution = distribution(settings);
    let distribution = if settings.switch("sprandom") {
        aged(view, traffic, random, report)
    } else {
        distribution
    };
    let align = alignments(view, &block_size, random, report);
    let uniform = distribution
        .0
        .iter()
        .all(|one| *one == Distribution::Uniform);
    Pattern {
        traffic,
        access: access(view, random, report),
        without_replacement: touches_each_once(settings) && uniform && !align.1,
        block_align: align.0,
        block_size,
        unaligned: settings.switch("bs_unaligned"),
        sizes_by_access: settings.switch("bs_is_seq_rand"),
        distribution,
        random_percent: PerDirection(
            settings
                .three("percentage_random", 100)
                .map(|share| share.min(100) as u8),
        ),
        seed: seed(view, number),
        zones: zones(view, report),
    }
}

/// fio's `lfsr` walks every block once even where `norandommap` gives up the map.
fn touches_each_once(settings: &Settings) -> bool {
    !settings.switch("norandommap") || settings.choice("random_generator", "tausworthe").0 == "lfsr"
}

fn traffic(settings: &Settings) -> (Traffic, bool) {
    let (word, _) = settings.choice("rw", "read");
    let random = word.starts_with("rand");
    let traffic = match word.strip_prefix("rand").unwrap_or(word) {
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

/// The later of `rwmixread` and `rwmixwrite` holds.
fn read_percent(settings: &Settings) -> u8 {
    let share = |name| settings.number(name, 50).min(100) as u8;
    if settings.position("rwmixwrite") > settings.position("rwmixread") {
        100 - share("rwmixwrite")
    } else {
        share("rwmixread")
    }
}

fn access(view: &View<'_>, random: bool, report: &mut Report) -> Access {
    let (_, rest) = view.settings.choice("rw", "read");
    let step = rest.map(|text| number(text, Unit::Bytes, &mut Reading::new(view.personality, 1)));
    let step = match step.transpose() {
        Ok(step) => step,
        Err(fault) => {
            report.push(view.error("rw", format!("what follows the colon: {}", fault.problem)));
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
        report.push(view.error(
            "rw",
            "the number of I/Os for each address must be from 1 to 4294967295",
        ));
    }
    Access::Random {
        every: every.unwrap_or(1),
        identical: view.settings.choice("rw_sequencer", "sequential").0 == "identical",
    }
}

/// `bssplit` before `bsrange` before `bs`, for each direction.
fn block_sizes(view: &View<'_>, report: &mut Report) -> PerDirection<BlockSizes> {
    let fixed = view.settings.three("bs", BLOCK);
    let mut sizes = fixed.map(|bytes| BlockSizes::Fixed(block(view, "bs", bytes, report)));
    for setting in view.settings.all("bsrange") {
        let Value::Ranges(ranges) = &setting.value else {
            continue;
        };
        for (size, range) in sizes.iter_mut().zip(ranges) {
            let Some((low, high)) = range else { continue };
            let (min, max) = (
                block(view, "bsrange", *low, report),
                block(view, "bsrange", *high, report),
            );
            *size = if min == max {
                BlockSizes::Fixed(min)
            } else {
                BlockSizes::Range { min, max }
            };
        }
    }
    for setting in view.settings.all("bssplit") {
        let Value::Split(splits) = &setting.value else {
            continue;
        };
        for (size, split) in sizes
            .iter_mut()
            .zip(splits)
            .filter(|(_, split)| !split.is_empty())
        {
            let parts = split
                .iter()
                .map(|(bytes, share)| (block(view, "bssplit", *bytes, report), *share));
            *size = BlockSizes::Split(parts.collect());
        }
    }
    PerDirection(sizes)
}

fn block(view: &View<'_>, option: &'static str, bytes: u64, report: &mut Report) -> u32 {
    within(view, option, bytes, LARGEST_BLOCK, "bytes", report) as u32
}

/// Alignments, and whether they differ from the smallest block and so exclude the random map.
fn alignments(
    view: &View<'_>,
    sizes: &PerDirection<BlockSizes>,
    random: bool,
    report: &mut Report,
) -> (PerDirection<Bytes>, bool) {
    let align = view.settings.three("ba", 0);
    let differs = random
        && sizes
            .iter()
            .zip(align)
            .any(|((_, size), align)| align != 0 && align != u64::from(size.min()));
    if differs && !view.settings.switch("norandommap") {
        let problem = "blocks may repeat: an alignment other than the block size excludes touching each block once";
        report.push(
            view.warning("ba", problem)
                .advise("set norandommap to say so"),
        );
    }
    (
        PerDirection(align.map(|align| Bytes::new(if random { align } else { 0 }))),
        differs,
    )
}

/// `sprandom`: writes only, at random, and without the map.
fn aged(
    view: &View<'_>,
    traffic: Traffic,
    random: bool,
    report: &mut Report,
) -> PerDirection<Distribution> {
    let settings = view.settings;
    let mut refuse =
        |option, problem: &str, way: &str| report.push(view.error(option, problem).advise(way));
    if traffic != Traffic::Write || !random {
        refuse("sprandom", "is about random writes", "set rw=randwrite");
    }
    if settings.is_set("random_generator")
        && settings.choice("random_generator", "lfsr").0 != "lfsr"
    {
        refuse(
            "random_generator",
            "sprandom writes each block once before it writes any again",
            "leave it out, or set lfsr",
        );
    }
    if settings.is_set("norandommap") && !settings.switch("norandommap") {
        refuse(
            "norandommap",
            "sprandom writes some blocks twice",
            "leave it out, or set norandommap=1",
        );
    }
    if settings.is_set("random_distribution")
        || settings.is_set("percentage_random")
        || settings.is_set("bsrange")
        || settings.is_set("bssplit")
    {
        refuse(
            "sprandom",
            "chooses the addresses itself, in blocks of one size",
            "leave out random_distribution, percentage_random, bsrange and bssplit",
        );
    }
    let spare = match settings.last("spr_op").map(|setting| &setting.value) {
        Some(Value::Floats(list)) => list.first().copied().unwrap_or(0.15),
        _ => 0.15,
    };
    if spare <= 0.0 || spare >= 1.0 {
        refuse(
            "spr_op",
            "is a share between 0 and 1",
            "set spr_op=0.07, for example",
        );
    }
    let regions = settings.small("spr_num_regions", 100).max(1);
    let one = Distribution::Aged {
        spare: spare.clamp(0.001, 0.999),
        regions,
        cache: Bytes::new(settings.number("spr_cs", 0)),
    };
    PerDirection::all(one)
}

fn distribution(settings: &Settings) -> PerDirection<Distribution> {
    match settings
        .last("random_distribution")
        .map(|setting| &setting.value)
    {
        Some(Value::Distribution(all)) => {
            let mut all = all.clone();
            for one in &mut all.0 {
                if let Distribution::Sequence { moves_on, .. } = one {
                    *moves_on = settings.switch("random_sequence_stride");
                }
            }
            all
        }
        _ => PerDirection::all(Distribution::Uniform),
    }
}

/// The same in every run unless `randrepeat=0`; `randseed` overrides that. As in fio, each worker has its own multiple.
fn seed(view: &View<'_>, number: u32) -> u64 {
    let repeatable = view.settings.switch("randrepeat") || view.settings.is_set("randseed");
    let seed = if repeatable {
        view.settings.number("randseed", SEED)
    } else {
        view.surroundings.entropy()
    };
    (0..4)
        .fold(seed, |seed, _| seed.wrapping_mul(SPREAD))
        .wrapping_mul(u64::from(number))
}

fn zones(view: &View<'_>, report: &mut Report) -> Option<Strided> {
    let settings = view.settings;
    let size = settings.number("zonesize", 0);
    let mode = settings
        .is_set("zonemode")
        .then(|| settings.choice("zonemode", "none").0);
    match mode {
        Some("zbd") => {
            report.push(
                view.error("zonemode", "zoned block devices are not driven")
                    .advise("use zonemode=strided, or none"),
            );
            None
        }
        Some("none") if size > 0 => {
            report.push(
                view.error("zonesize", "has no meaning with zonemode=none")
                    .advise("use zonemode=strided"),
            );
            None
        }
        Some("strided") if size == 0 => {
            report.push(
                view.error("zonemode", "needs the size of a zone")
                    .advise("set zonesize"),
            );
            None
        }
        Some("none") => None,
        _ if size == 0 => None,
        _ => Some(Strided {
            size: Bytes::new(size),
            range: Bytes::new(zone_range(settings, size)),
            skip: Bytes::new(zone_skip(view, report)),
        }),
    }
}

fn zone_range(settings: &Settings, size: u64) -> u64 {
    match settings.number("zonerange", 0) {
        0 => size,
        range => range,
    }
}

fn zone_skip(view: &View<'_>, report: &mut Report) -> u64 {
    match view.extent("zoneskip", report) {
        Some(fathom_model::Extent::Bytes(bytes)) => bytes.get(),
        _ => 0,
    }
}
